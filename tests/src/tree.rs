//! What the tree patterns are held against: a forest in memory, recorded runs, a real taxonomy, random operations.

mod forest;
mod generate;
mod operation;
mod shrink;
mod taxonomy;
mod trace;

pub use self::forest::{Forest, OnDelete, Place, Refusal};
pub use self::generate::Operations;
pub use self::operation::{Key, Operation, shuffled};
pub use self::shrink::shrink;
pub use self::taxonomy::{Category, taxonomy};
pub use self::trace::{Run, Step, trace};
