//! The stored documents of a model: those of its kind alone where several models share a collection, softly deleted ones
//! too.
//!
//! [`Collection::raw`] sees the documents of all kinds, and its changes are none of the model's: use it only where that is
//! meant.

use odm::action::{Count, Find, Update};
use odm::bson::Document;
use odm::{Collection, Error, ErrorKind, Filter, Model, Update as Change};

/// The documents that a condition in MongoDB's words finds, as they are stored.
pub(crate) fn find<M: Model>(collection: &Collection<M>, filter: Document) -> Find<M, Document> {
    collection
        .find(|_| Filter::raw(filter))
        .with_deleted()
        .unscoped()
        .untyped()
}

/// How many there are.
pub(crate) fn count<M: Model>(collection: &Collection<M>, filter: Document) -> Count {
    collection
        .count(|_| Filter::raw(filter))
        .with_deleted()
        .unscoped()
}

/// Changes one as a change of the model does: the version is counted, derived fields and copies follow.
pub(crate) fn update_one<M: Model>(
    collection: &Collection<M>,
    filter: Document,
    change: Document,
) -> Update<M> {
    let filter = Filter::raw(filter);
    collection
        .update_one(|_| filter, |_| Change::raw(change))
        .with_deleted()
        .unscoped()
}

/// A condition, of the documents of the model's kind alone: for [`Collection::raw`].
pub(crate) fn of_kind<M: Model>(mut filter: Document) -> Document {
    if let Some(kind) = M::DESCRIPTOR.kind {
        filter.insert(kind.tag, kind.name);
    }
    filter
}

/// Whether a stored document is of the model's kind.
pub(crate) fn is_of_kind<M: Model>(document: &Document) -> bool {
    let kind = M::DESCRIPTOR.kind;
    kind.is_none_or(|kind| document.get_str(kind.tag).is_ok_and(|name| name == kind.name))
}

/// Whether a change was refused because of what it is, and not because of the way to the database: by a unique index, a
/// rule of the model, or a reference.
pub(crate) fn is_refused(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::DuplicateKey | ErrorKind::Validation | ErrorKind::Referenced
    )
}

/// Whether what must be unique is the `_id`.
pub(crate) fn is_of_id(error: &Error) -> bool {
    error.is_duplicate_key()
        && (error.index() == Some("_id_") || error.key_pattern().is_some_and(|key| key.keys().eq(["_id"])))
}

/// Says which document an error is of, and where in it, unless the error says where.
#[cfg(any(feature = "money", feature = "time"))]
pub(crate) fn located<M: Model>(error: Error, id: &odm::bson::Bson, path: &str) -> Error {
    let error = error.with_model(M::DESCRIPTOR.name).with_id(id.clone());
    match error.path() {
        Some(_) => error,
        None => error.with_path(path),
    }
}
