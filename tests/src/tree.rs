//! What the tree patterns are held against: a forest in memory, recorded runs, a real taxonomy, random operations.

mod faults;
mod forest;
mod generate;
mod operation;
mod replay;
mod rounds;
mod shrink;
mod subject;
mod taxonomy;
mod trace;

pub use self::faults::sweep;
pub use self::forest::{Forest, OnDelete, Place, Refusal};
pub use self::generate::Operations;
pub use self::operation::{Key, Operation, shuffled};
pub use self::replay::{compare, random, replay};
pub use self::rounds::{cross, cross_ways};
pub use self::shrink::shrink;
pub use self::subject::{Named, Numbered, Stored, Subject};
pub use self::taxonomy::{Category, agree, load, taxonomy};
pub use self::trace::{Run, Step, trace};

/// Runs an expression once for each of the five models, which it knows by the name given. Each is a future of its own, so
/// that five of them, or five times five, need no more stack than one.
#[macro_export]
macro_rules! each_model {
    ($model:ident => $body:expr) => {{
        {
            type $model = odm_patterns::tree::ParentReference;
            Box::pin(async { $body }).await
        };
        {
            type $model = odm_patterns::tree::ChildReference;
            Box::pin(async { $body }).await
        };
        {
            type $model = odm_patterns::tree::ArrayOfAncestors;
            Box::pin(async { $body }).await
        };
        {
            type $model = odm_patterns::tree::MaterializedPaths;
            Box::pin(async { $body }).await
        };
        {
            type $model = odm_patterns::tree::NestedSets;
            Box::pin(async { $body }).await
        };
    }};
}
