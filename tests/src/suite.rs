//! The cases: plain async functions over `&Db`. Each theme is a module; `registry` lists the cases.

mod consistency_models;
mod library;
mod lifecycle_models;
mod models;

pub mod aggregation;
pub mod aggregation_series;
pub mod change_streams;
pub mod collections;
pub mod collections_kinds;
pub mod consistency_deletion;
pub mod consistency_two_way;
pub mod consistency_verify;
pub mod conversions;
pub mod embedded;
pub mod filters;
pub mod geo;
pub mod indexes;
pub mod lifecycle_bounds;
pub mod lifecycle_deletion;
pub mod lifecycle_hooks;
pub mod lifecycle_rules;
pub mod lifecycle_times;
pub mod lifecycle_tracked;
pub mod lifecycle_versions;
pub mod reads;
pub mod relations;
pub mod relations_inverse;
pub mod transactions;
pub mod traps;
pub mod updates;
pub mod writes;
