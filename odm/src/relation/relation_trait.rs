//! What can be loaded for the documents of a model.

use bson::RawDocument;

use super::plan::{Node, Plan};
use super::shelf::Shelf;
use crate::error::Result;

/// What can be loaded for documents of `R`: a field that refers ([`Reference`](crate::Reference)), with what is
/// [nested](crate::Field::load) in it; what is in the elements of an array ([`every`](crate::Field::every)) or the
/// [values](crate::Field::values) of a map; the documents that refer back ([`HasMany`](crate::HasMany)); a tuple of
/// these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no relation of `{R}`",
    label = "cannot be loaded for `{R}`",
    note = "a closure picks a field that refers: `|b| b.publisher`; what refers back is loaded by `with(Book::by_publisher())`"
)]
pub trait Relation<R>: Send + Sync + 'static {
    /// What is given for one document.
    type Output: Send;

    /// What is to be fetched.
    #[doc(hidden)]
    fn plan(&self) -> Result<Plan>;

    /// A document's share of what was fetched.
    #[doc(hidden)]
    fn take(&self, shelf: &Shelf, document: &RawDocument) -> Result<Self::Output>;
}

/// A relation that one `$lookup` can reach, for [`join`](crate::action::Find::join): its target is one collection of
/// the same database.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be joined to `{R}`",
    label = "no `$lookup` gives this",
    note = "what is joined is in one collection: counts, references that name their collection, and what is in a map's values are loaded: `.load(..)`, `.with(..)`"
)]
pub trait Joinable<R>: Relation<R> {}

/// Nothing is loaded.
impl<R> Relation<R> for () {
    type Output = ();

    fn plan(&self) -> Result<Plan> {
        Ok(Plan(Node::Nothing))
    }

    fn take(&self, _shelf: &Shelf, _document: &RawDocument) -> Result<()> {
        Ok(())
    }
}

impl<R> Joinable<R> for () {}

macro_rules! tuples {
    ($(($($relation:ident $index:tt),+))*) => {$(
        impl<R, $($relation: Relation<R>),+> Relation<R> for ($($relation,)+) {
            type Output = ($($relation::Output,)+);

            fn plan(&self) -> Result<Plan> {
                Ok(Plan(Node::All(vec![$(self.$index.plan()?),+])))
            }

            fn take(&self, shelf: &Shelf, document: &RawDocument) -> Result<Self::Output> {
                Ok(($(self.$index.take(shelf.part($index), document)?,)+))
            }
        }

        impl<R, $($relation: Joinable<R>),+> Joinable<R> for ($($relation,)+) {}
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}
