//! What the tests and benchmarks of `odm` stand on: backends for a test, generators, references, runners, measures.
//!
//! The cases themselves are in `tests/tests/suite/`, those of models, of differences found and of the patterns in the directories
//! beside it.

mod cases;
pub mod changes;
pub mod command;
pub mod counted;
pub mod crash;
pub mod data;
pub mod differential;
pub mod harness;
pub mod hostile;
pub mod inferred;
pub mod interleavings;
pub mod interrupted;
pub mod isolation;
pub mod killed_migrations;
pub mod measure;
pub mod plain;
pub mod queue;
pub mod random;
pub mod raw;
pub mod replica_set;
pub mod sent;
pub mod spec;
pub mod supported;
pub mod tree;
pub mod vectors;
pub mod witness;
