//! Relations side by side, as `load` after `load` collects them.

use bson::RawDocument;

use super::relation_trait::Relation;
use super::shelf::Shelf;
use crate::error::Result;

/// The relations of a load, whose results stand beside the document in one tuple.
pub trait Loads<R>: Relation<R> {
    /// The document and what was loaded for it.
    type Row<P: Send>: Send;

    /// Puts the document before what was loaded.
    #[doc(hidden)]
    fn row<P: Send>(&self, document: P, shelf: &Shelf, stored: &RawDocument) -> Result<Self::Row<P>>;
}

/// The relations and one more.
pub trait With<L> {
    /// Both.
    type Both;

    /// Adds the relation.
    #[doc(hidden)]
    fn and(self, relation: L) -> Self::Both;
}

macro_rules! loads {
    ($(($($relation:ident $index:tt),+);)*) => {$(
        impl<R, $($relation: Relation<R>),+> Loads<R> for ($($relation,)+) {
            type Row<P: Send> = (P, $($relation::Output),+);

            fn row<P: Send>(&self, document: P, shelf: &Shelf, stored: &RawDocument) -> Result<Self::Row<P>> {
                Ok((document, $(self.$index.take(shelf.part($index), stored)?),+))
            }
        }
    )*};
}

loads! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

macro_rules! grows {
    ($(($($relation:ident $index:tt),+);)*) => {$(
        impl<$($relation,)+ More> With<More> for ($($relation,)+) {
            type Both = ($($relation,)+ More);

            fn and(self, relation: More) -> Self::Both {
                ($(self.$index,)+ relation)
            }
        }
    )*};
}

grows! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
}
