//! Random operations on two backends at once: replies and final states must be equal.

mod generate;
mod machine;

pub use self::machine::{Report, compare};
