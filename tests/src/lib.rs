//! The test suite of `odm`: plain async functions over `&Db`, run on every backend.
//!
//! [`for_every_case`] is the registry. Each file in `tests/tests/` named after a backend turns it into tests.

pub mod counted;
pub mod crash;
pub mod data;
pub mod differential;
pub mod harness;
pub mod hostile;
pub mod isolation;
pub mod measure;
pub mod plain;
pub mod queue;
pub mod random;
pub mod raw;
pub mod spec;
pub mod suite;
pub mod tree;
pub mod vectors;

mod registry;
