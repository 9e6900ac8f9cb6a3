//! References between documents, and loading what they refer to.
//!
//! What a relation is (its fields, its target, its filter) becomes a [`Plan`], which knows no type; [`fetch`] runs
//! a plan for a whole batch of parents and leaves a [`Shelf`]; the typed side takes each parent's share from it.

mod audit;
mod comparing;
mod copy_circle;
mod copy_holder;
mod copy_of;
mod copy_source;
mod copy_write;
mod db_ref;
mod declared_copy;
mod delete_rule;
mod doom;
mod every;
mod fetch;
mod has_many;
mod identity;
mod inverse;
mod join;
mod key;
mod keys;
mod link;
mod loads;
mod place;
mod plan;
mod polymorphic;
mod problem;
mod quantified;
mod reference;
mod related;
mod relation_trait;
mod resolve;
mod shape;
mod shelf;
mod sought;
mod stale_copy;
mod stored;
mod target_id;
mod to;
mod two_way;

pub(crate) use self::audit::Audit;
pub(crate) use self::comparing::{declared as declared_collation, said as said_collation};
pub use self::copy_of::{CopiedValue, CopyDeclaration, CopyOf, SourceReference, SourceVersion};
pub(crate) use self::copy_source::{find as find_sources, followed, ids, read as read_sources};
pub(crate) use self::copy_write::Copied as CopiedFrom;
pub use self::db_ref::DbRef;
pub use self::declared_copy::DeclaredCopy;
pub use self::delete_rule::{
    DeleteRule, NullableReference, ReferenceList, ReferredBy, Referring, RuledLink, RuledReference,
};
pub(crate) use self::doom::{Doom, has_rules};
pub use self::every::{Every, Values};
pub use self::has_many::{CountOf, HasMany, HasOne};
pub use self::inverse::LinksTo;
pub(crate) use self::join::{DOCUMENT, Joining};
pub use self::key::{ById, ReferenceKey};
pub(crate) use self::keys::Keys as CopyKeys;
pub use self::link::Link;
pub(crate) use self::link::{Aim, Open};
pub use self::loads::{Loads, With};
pub(crate) use self::place::Step;
pub(crate) use self::plan::{Links, Plan, with_needed};
pub use self::polymorphic::{
    HasVariant, ReferenceEnum, ReferenceVariant, ReferredVariant, read_key, read_variant, write_variant,
};
pub use self::problem::{RelationProblem, RelationProblemKind};
pub use self::reference::Ref;
pub(crate) use self::related::Asked;
pub use self::related::{RelatedCondition, RelatedFilter};
pub use self::relation_trait::{Joinable, Relation};
pub(crate) use self::resolve::Asking;
pub use self::shape::{Reference, Searchable};
pub(crate) use self::shelf::Shelf;
pub use self::stale_copy::StaleCopy;
pub(crate) use self::stale_copy::{Found as FoundCopy, fill};
pub use self::target_id::NamedLink;
pub(crate) use self::to::links;
pub use self::to::{Alone, Extra, Nested, To};
pub use self::two_way::{LinkedReference, TwoWayReference, link_element, partner};
pub(crate) use self::two_way::{Relink, TwoWay};
