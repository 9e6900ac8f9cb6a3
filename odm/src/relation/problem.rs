//! What can be wrong with stored references.

use std::fmt;

use bson::Bson;

/// A stored reference that is not as it was declared. Found by
/// [`verify_relations`](crate::Collection::verify_relations).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RelationProblem {
    /// What is wrong.
    pub kind: RelationProblemKind,
    /// The model that refers, by its Rust name.
    pub model: &'static str,
    /// The collection of the document that refers.
    pub collection: String,
    /// The `_id` of the document that refers.
    pub id: Bson,
    /// The field that refers, by its stored name; of a copy its path ([`DeclaredCopy::path`](crate::DeclaredCopy)).
    pub field: &'static str,
    /// What the reference holds.
    pub key: Bson,
}

/// What is wrong with a stored reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RelationProblemKind {
    /// What it refers to is not there. Where the reference has a rule that deletes or lets go
    /// ([`DeleteRule`](crate::DeleteRule)), it is not there either when it is softly deleted.
    Dangling,
    /// What it refers to does not refer back, though the reference is two-way.
    OneSided,
    /// A copy of its fields is not what it is. [`stale_copies`](crate::Collection::stale_copies) says more.
    StaleCopy,
}

impl fmt::Display for RelationProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RelationProblemKind::Dangling => "what is referred to is not there",
            RelationProblemKind::OneSided => "what is referred to does not refer back",
            RelationProblemKind::StaleCopy => "what is copied is not what it was when it was copied",
        })
    }
}

impl fmt::Display for RelationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RelationProblem {
            kind,
            model,
            collection,
            id,
            field,
            key,
        } = self;
        write!(
            f,
            "{kind} (model: {model}, collection: {collection}, _id: {id}, field: {field}, key: {key})"
        )
    }
}
