//! What the tests and benchmarks of `odm` stand on: backends for a test, generators, references, runners, measures.
//!
//! The cases themselves are in `tests/tests/suite/`.

pub mod command;
pub mod counted;
pub mod crash;
pub mod data;
pub mod differential;
pub mod harness;
pub mod hostile;
pub mod interleavings;
pub mod interrupted;
pub mod isolation;
pub mod measure;
pub mod plain;
pub mod queue;
pub mod random;
pub mod raw;
pub mod spec;
pub mod supported;
pub mod tree;
pub mod vectors;
