//! What an operation did to find its documents.

/// What an operation did to find its documents, where a backend can say it: see
/// [`Backend::measure`](super::Backend::measure).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// The plans in short, as MongoDB's log has them: `COLLSCAN`, `IXSCAN { a: 1 }`, `IDHACK`. Empty where nothing was
    /// looked for.
    pub plan: String,
    /// How many index entries were read.
    pub keys_examined: u64,
    /// How many documents were read.
    pub documents_examined: u64,
}

impl Footprint {
    /// A footprint of these plans and counts.
    pub fn new(plan: impl Into<String>, keys_examined: u64, documents_examined: u64) -> Footprint {
        Footprint {
            plan: plan.into(),
            keys_examined,
            documents_examined,
        }
    }
}
