//! Random operations on two backends at once: replies and final states must be equal.

mod generate;
mod machine;
mod pipelines;
mod refusals;
mod shapes;
mod stages;
mod zones;

pub use self::machine::{Report, compare};
pub use self::pipelines::compare_pipelines;
pub use self::refusals::compare_refusals;
pub use self::shapes::{ShapeReport, compare_shapes};
pub use self::zones::compare_zones;
