//! What becomes of documents when one that they refer to is deleted.

use std::fmt;

use bson::Bson;

use super::db_ref::DbRef;
use super::key::ReferenceKey;
use super::link::Link;
use super::reference::Ref;
use super::shape::{Reference, Searchable};
use crate::model::Model;

/// What becomes of a document when one that it refers to is deleted: `#[odm(on_delete = cascade)]` on the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeleteRule {
    /// It is deleted too.
    Cascade,
    /// Its reference becomes null.
    Nullify,
    /// The reference is taken out of its list; one in an embedded document, with that out of its array or map.
    Pull,
    /// The deletion is refused as long as it is there.
    Deny,
}

/// Which documents deny a deletion: part of an error of kind [`Referenced`](crate::ErrorKind::Referenced).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Referring {
    /// The model that refers, by its Rust name.
    pub model: &'static str,
    /// The field that refers, by its stored name.
    pub field: &'static str,
    /// How many documents of the model refer to what was to be deleted, without those that are deleted with it.
    pub count: u64,
    /// The `_id` of one of them.
    pub id: Bson,
}

impl fmt::Display for Referring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {}.{}, as that with _id {}",
            self.count, self.model, self.field, self.id
        )
    }
}

/// A model whose deletions know of the references in `C`: `#[odm(referred_by(C))]` on it implements this, and
/// `#[odm(on_delete = ..)]` on a reference of `C` asks for it, so that no rule can be forgotten. An enum that derives
/// [`Reference`](macro@crate::Reference) is referred to so when all models of its variants are.
#[diagnostic::on_unimplemented(
    message = "a deletion of a `{Self}` does not know of the references in `{C}`",
    label = "`{Self}` does not name `{C}`",
    note = "name it on `{Self}`: `#[odm(referred_by({C}))]`"
)]
pub trait ReferredBy<C> {}

/// A field's type that can have a delete rule: references to models, an option, list or set of them.
pub trait RuledReference: Searchable {
    /// What is referred to: the model, or the enum of references to several.
    type Target;
}

impl<X: Searchable + Reference<Link: RuledLink>> RuledReference for X {
    type Target = <X::Link as RuledLink>::Target;
}

/// A reference to documents of models that are known: `Ref<T>`, `DbRef<T>`, an enum that derives
/// [`Reference`](macro@crate::Reference).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot have a delete rule",
    label = "not a reference to a model",
    note = "a rule is for `Ref<T>`, `DbRef<T>`, enums that derive `odm::Reference`, and options, lists and sets of these; of a map, for its values: `reference(map.any_value(): Ref<T>, on_delete = ..)`"
)]
pub trait RuledLink: Link {
    /// What is referred to: the model, or the enum itself.
    type Target;
}

impl<T: Model, K: ReferenceKey<T>> RuledLink for Ref<T, K> {
    type Target = T;
}

#[diagnostic::do_not_recommend]
impl<T: Model> RuledLink for DbRef<T> {
    // `T`, said so that of a `DbRef` to anything nobody is told to name a model on what is none.
    type Target = <Ref<T> as Link>::Document;
}

/// A reference that can be null.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot become null",
    label = "not an `Option` of a reference",
    note = "`nullify` is for an `Option` of a reference; for a list there is `pull`, for a reference that is always there `cascade` and `deny`"
)]
pub trait NullableReference: RuledReference {}

impl<L: Link> NullableReference for Option<L> where Option<L>: RuledReference {}

/// A list or set of references, out of which one can be taken.
#[diagnostic::on_unimplemented(
    message = "nothing can be taken out of `{Self}`",
    label = "not a list of references",
    note = "`pull` is for lists and sets of references; for an `Option` of one there is `nullify`"
)]
pub trait ReferenceList: RuledReference {}
