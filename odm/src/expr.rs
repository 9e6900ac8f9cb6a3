//! The language of pipelines: values computed of documents, and what is made of groups of them.
//!
//! [`Field::value`](crate::Field::value) begins most expressions; [`literal`] makes constants, [`cond`] and [`switch`]
//! choose. [`count`], [`sum`], [`avg`], [`min`], [`max`], [`first`], [`last`], [`push`] and [`add_to_set`] are for
//! [`Pipeline::group`](crate::Pipeline::group) and buckets.

pub use crate::query::expression::{
    ArrayTerm, DateTerm, Expr, Gives, Number, NumberTerm, Term, TextTerm, Valued, Zoned, cond, date, literal,
    now, switch,
};
pub use crate::query::pipeline::{
    Accumulator, Assignment, AutoBuckets, Buckets, Facet, Facets, Fits, Grouping, Joining, add_to_set, avg,
    count, first, last, max, min, push, sum,
};
pub use crate::query::{TimeUnit, Weekday};
