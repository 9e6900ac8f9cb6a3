//! Random operations on two backends at once: replies and final states must be equal.

mod commands;
mod comparable;
mod coverage;
mod expressions;
mod faults;
mod filters;
mod indexes;
mod known;
mod machine;
mod partitions;
mod pipelines;
mod projections;
mod refusals;
mod shapes;
mod shrink;
mod stages;
mod updates;
mod values;
mod varied;
mod zones;

pub use self::commands::Step;
pub use self::coverage::Coverage;
pub use self::faults::compare_faults;
pub use self::machine::{Report, compare, replay};
pub use self::partitions::check_partitions;
pub use self::pipelines::compare_pipelines;
pub use self::refusals::compare_refusals;
pub use self::shapes::{ShapeReport, compare_shapes};
pub use self::varied::compare_varied;
pub use self::zones::compare_zones;
