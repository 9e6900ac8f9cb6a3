//! The language of pipelines: values computed of documents, and what is made of groups of them.
//!
//! [`Field::value`](crate::Field::value) begins most expressions; [`literal`] makes constants, [`cond`] and [`switch`]
//! choose. [`count`], [`sum`], [`avg`], [`min`], [`max`], [`first`], [`last`], [`push`], [`add_to_set`],
//! [`std_dev_pop`] and [`std_dev_samp`] are for [`Pipeline::group`](crate::Pipeline::group), buckets and
//! [windows](crate::Pipeline::windows).

pub use crate::query::expression::{
    ArrayTerm, DateTerm, Expr, Gives, Number, NumberTerm, Term, TextTerm, Valued, Zoned, cond, date, literal,
    now, switch,
};
pub use crate::query::pipeline::{
    Accumulator, Ascending, Assignment, AutoBuckets, Buckets, Computed, Densify, Descending, Distance, Edge,
    Facet, Facets, Filler, Filling, Fits, Following, Frame, GeoNear, Grouping, InOrder, InOrderOfOne,
    Joining, Merge, Nearness, Series, Sorted, Steps, Unordered, WhenMatched, WhenNotMatched, Window,
    Windowed, Windows, add_to_set, avg, count, first, last, max, min, push, std_dev_pop, std_dev_samp, sum,
};
pub use crate::query::{TimeUnit, Weekday};
