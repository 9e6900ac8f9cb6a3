//! The aggregation language: expressions and pipeline stages.

pub(crate) mod expression;
