//! The aggregation language: expressions and pipeline stages.
//!
//! Pure: a stage that reads another collection is given a [`pipeline::Source`].

pub(crate) mod constants;
pub(crate) mod expression;
mod names;
pub(crate) mod path;
pub(crate) mod pipeline;
pub(super) mod print;
mod row;
pub(crate) mod stage;
mod sum;
pub(crate) mod transform;

pub(crate) use self::names::Names;
pub(crate) use self::row::Row;
#[cfg(test)]
pub(crate) use self::stage::{ACCUMULATORS, KNOWN as STAGES, WINDOW_FUNCTIONS};
pub(crate) use self::stage::{GeoNear, Group, Statistics};
