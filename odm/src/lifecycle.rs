//! The life of documents: what every write of a typed collection goes through.
//!
//! `declared`, `rule` and `plan` are what models declare; `write` is the one form of every write; `stages` makes it
//! what is sent; `pipeline` sends it and says what came of it. A model that declares nothing has no plan, and its
//! writes go straight to the database.

mod again;
mod checked_change;
mod condition;
mod confinement;
mod copies;
mod copy_chain;
mod decimal;
mod declared;
mod deletion;
mod derivation;
mod derived;
mod derived_field;
mod document;
mod hooks;
mod insertion;
mod joins;
mod kind;
mod literal;
mod merge;
mod newer;
mod own_stages;
mod pattern;
mod pipeline;
mod place;
mod plan;
mod probe;
mod ready;
mod rule;
mod schema;
mod scope;
mod stages;
mod sum;
mod taken;
mod tenant;
mod timestamp;
mod tracked;
mod unasked;
mod validator;
mod versions;
mod violation;
mod write;

pub(crate) use self::confinement::Confinement;
pub(crate) use self::copies::{Copied, PENDING, STAMP, mark_of, mark_unmarked, unmark, write_copies};
pub use self::declared::{Declare, Declared, Save};
pub use self::derivation::DERIVED_PENDING;
pub(crate) use self::derivation::{DerivedFields, mark};
pub use self::derived::{Derivation, Derived};
pub use self::derived_field::DerivedField;
pub(crate) use self::document::{is_within, narrowed, with_field};
pub use self::hooks::{DeleteWrite, HookContext, HookTable, Hooks, UpdateWrite};
pub(crate) use self::insertion::equal_values;
pub(crate) use self::joins::Joins;
pub use self::kind::{Kind, KindOf};
pub use self::literal::Literal;
pub(crate) use self::merge::explained;
pub(crate) use self::pipeline::write;
pub use self::plan::Lifecycle;
pub(crate) use self::plan::Plan;
pub(crate) use self::probe::Untyped;
pub use self::probe::{
    OfAny, OfArray, OfArrayOfArrays, OfField, OfMap, OfMapOfArrays, OfMapOfMaps, OfMapOfMapsOfMaps,
    OfMapOfMapsOfUntyped, OfMapOfUntyped, OfUntyped, Probe,
};
pub(crate) use self::ready::{After, Ready, Ruling, copied, rule};
pub use self::rule::{Measured, Rule, checked};
pub(crate) use self::schema::of as schema_of;
pub use self::scope::scope_of;
pub(crate) use self::scope::{
    Life, Scope, Settings, conditions, conditions_of, is_living, narrow, narrow_kind, narrow_stages,
    narrow_to,
};
pub(crate) use self::tenant::Tenant;
pub use self::tenant::{tenant, tenant_opaque, tenant_with};
pub use self::timestamp::{Deletion, Timestamp, Version, deletion, stamp, stamp_with};
pub use self::tracked::Tracked;
pub use self::versions::Versions;
pub(crate) use self::versions::{Unchanged, with_id};
pub use self::violation::Violation;
