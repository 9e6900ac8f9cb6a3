//! Random operations on two backends at once: replies and final states must be equal.

mod generate;
mod machine;
mod pipelines;

pub use self::machine::{Report, compare};
pub use self::pipelines::compare_pipelines;
