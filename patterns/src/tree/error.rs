//! What can go wrong with a tree.

use std::borrow::Cow;
use std::fmt;

use odm::bson::Bson;
use odm::{Error, ErrorKind};

/// `Result` with [`TreeError`].
pub type Result<T, E = TreeError> = std::result::Result<T, E>;

/// Why a tree was not read or changed. Nothing was written; after an error of the way to the database, such as
/// [`ErrorKind::Network`], a change may still be made by whoever comes next.
///
/// It becomes an [`odm::Error`] by `?`, with the kind that fits and itself as the source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TreeError {
    /// There is no such node in this tree.
    NotFound {
        /// The Rust name of the model.
        model: &'static str,
        /// The `_id` that was asked for.
        id: Bson,
    },
    /// A node cannot become its own descendant.
    IntoOwnDescendant {
        /// The Rust name of the model.
        model: &'static str,
        /// The node that was to be moved.
        id: Bson,
        /// Where to.
        target: Bson,
    },
    /// A node with this `_id` is there already, or the key of a unique index.
    DuplicateKey {
        /// The Rust name of the model.
        model: &'static str,
        /// The `_id` of the node that was to be inserted.
        id: Bson,
        /// What the database said, where it was asked.
        source: Option<Error>,
    },
    /// The `_id` cannot be a part of a path: it is empty, or written like another one of another type.
    Segment {
        /// The `_id`.
        id: Bson,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The path would be longer than [`max_path_bytes`](super::TreeOptions::max_path_bytes) says.
    PathTooLong {
        /// The node whose path it is.
        id: Bson,
        /// How long it would be.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The tree would be deeper than [`max_depth`](super::TreeOptions::max_depth) says.
    TooDeep {
        /// A node that would be too deep.
        id: Bson,
        /// Its depth.
        depth: usize,
        /// The deepest that there may be.
        limit: usize,
    },
    /// The node has children, and they were to be spared.
    HasChildren {
        /// The Rust name of the model.
        model: &'static str,
        /// The node.
        id: Bson,
    },
    /// The node cannot be restored, because its parent is softly deleted.
    ParentDeleted {
        /// The Rust name of the model.
        model: &'static str,
        /// The node.
        id: Bson,
        /// Its parent, which is to be restored first.
        parent: Bson,
    },
    /// The position does not fit: sorted without a sort key, or a list of children that is not that of the node.
    InvalidPosition {
        /// What is wrong.
        reason: &'static str,
    },
    /// An option is wrong.
    InvalidOption {
        /// Which.
        option: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The tree was [converted](super::Tree::convert) since, and only handles of its new model and options change it.
    Converted {
        /// The model, its fields, and how paths are written.
        to: String,
    },
    /// The stored tree is damaged in a way that the operation cannot go on: [`verify`](super::Tree::verify) tells, and
    /// [`repair`](super::Tree::repair) mends.
    Damaged {
        /// The node at which it shows.
        id: Bson,
        /// What is wrong.
        reason: &'static str,
    },
    /// The database failed, or refuses a write: of kind `DuplicateKey` or `Validation` with the `_id` of the node.
    Database(Error),
}

impl TreeError {
    /// The tree's own error behind one of `odm`, if there is one.
    pub fn behind(error: &Error) -> Option<&TreeError> {
        let mut source = std::error::Error::source(error);
        while let Some(error) = source {
            if let Some(found) = error.downcast_ref::<TreeError>() {
                return Some(found);
            }
            source = error.source();
        }
        None
    }

    /// What the caller can do, in the words of `odm`.
    pub fn kind(&self) -> ErrorKind {
        match self {
            TreeError::NotFound { .. } => ErrorKind::NotFound,
            TreeError::DuplicateKey { .. } => ErrorKind::DuplicateKey,
            TreeError::HasChildren { .. } => ErrorKind::Referenced,
            TreeError::Segment { .. } | TreeError::PathTooLong { .. } | TreeError::TooDeep { .. } => {
                ErrorKind::Validation
            }
            TreeError::IntoOwnDescendant { .. }
            | TreeError::ParentDeleted { .. }
            | TreeError::InvalidPosition { .. }
            | TreeError::InvalidOption { .. }
            | TreeError::Converted { .. } => ErrorKind::InvalidArgument,
            TreeError::Damaged { .. } => ErrorKind::Corrupt,
            TreeError::Database(error) => error.kind(),
        }
    }

    /// The `_id` of the node that it is about.
    pub fn id(&self) -> Option<&Bson> {
        match self {
            TreeError::NotFound { id, .. }
            | TreeError::IntoOwnDescendant { id, .. }
            | TreeError::DuplicateKey { id, .. }
            | TreeError::Segment { id, .. }
            | TreeError::PathTooLong { id, .. }
            | TreeError::TooDeep { id, .. }
            | TreeError::HasChildren { id, .. }
            | TreeError::ParentDeleted { id, .. }
            | TreeError::Damaged { id, .. } => Some(id),
            TreeError::InvalidPosition { .. }
            | TreeError::InvalidOption { .. }
            | TreeError::Converted { .. } => None,
            TreeError::Database(error) => error.id(),
        }
    }

    /// What the error is about, without its fields.
    pub fn message(&self) -> Cow<'static, str> {
        match self {
            TreeError::NotFound { .. } => "there is no such node".into(),
            TreeError::IntoOwnDescendant { .. } => "a node cannot become its own descendant".into(),
            TreeError::DuplicateKey { .. } => "the node is there already".into(),
            TreeError::Segment { reason, .. } => {
                format!("the `_id` cannot be a part of a path: {reason}").into()
            }
            TreeError::PathTooLong { .. } => "the path is too long".into(),
            TreeError::TooDeep { .. } => "the tree becomes too deep".into(),
            TreeError::HasChildren { .. } => "the node has children".into(),
            TreeError::ParentDeleted { .. } => "the parent is deleted".into(),
            TreeError::InvalidPosition { reason } => format!("the position does not fit: {reason}").into(),
            TreeError::InvalidOption { reason, .. } => format!("an option is wrong: {reason}").into(),
            TreeError::Converted { .. } => "the tree is stored in another way by now".into(),
            TreeError::Damaged { reason, .. } => format!("the tree is damaged: {reason}").into(),
            TreeError::Database(error) => error.message().to_owned().into(),
        }
    }

    /// The same in the words of `odm`, without the cause.
    fn told(&self) -> Error {
        let told = Error::new(self.kind(), self.message());
        let told = match self.id() {
            Some(id) => told.with_id(id.clone()),
            None => told,
        };
        match self {
            TreeError::Database(error) => error.clone(),
            TreeError::NotFound { model, .. } | TreeError::HasChildren { model, .. } => {
                told.with_model(model)
            }
            TreeError::DuplicateKey { model, source, .. } => {
                let told = told.with_model(model);
                match source.as_ref().and_then(Error::index) {
                    Some(index) => told.with_index(index),
                    None => told,
                }
            }
            TreeError::IntoOwnDescendant { model, target, .. } => {
                told.with_model(model).with_note("target", target)
            }
            TreeError::ParentDeleted { model, parent, .. } => {
                told.with_model(model).with_note("parent", parent)
            }
            TreeError::PathTooLong { bytes, limit, .. } => {
                told.with_note("bytes", bytes).with_note("limit", limit)
            }
            TreeError::TooDeep { depth, limit, .. } => {
                told.with_note("depth", depth).with_note("limit", limit)
            }
            TreeError::InvalidOption { option, .. } => told.with_note("option", option),
            TreeError::Converted { to } => told.with_note("as", to),
            TreeError::Segment { .. } | TreeError::InvalidPosition { .. } | TreeError::Damaged { .. } => told,
        }
    }
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told().fmt(f)
    }
}

impl std::error::Error for TreeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TreeError::Database(error) => std::error::Error::source(error),
            TreeError::DuplicateKey { source, .. } => source.as_ref().map(|error| error as _),
            _ => None,
        }
    }
}

impl From<Error> for TreeError {
    fn from(error: Error) -> TreeError {
        match TreeError::behind(&error) {
            Some(own) => own.clone(),
            None => TreeError::Database(error),
        }
    }
}

impl From<TreeError> for Error {
    fn from(error: TreeError) -> Error {
        match error {
            TreeError::Database(error) => error,
            own => own.told().with_source(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_kept_in_the_words_of_odm() {
        let model = "Category";
        let (id, target) = (Bson::Int32(2), Bson::Int32(3));
        let into = TreeError::IntoOwnDescendant {
            model,
            id: id.clone(),
            target,
        };
        let deep = TreeError::TooDeep {
            id: id.clone(),
            depth: 5,
            limit: 4,
        };
        let database = Error::new(ErrorKind::DuplicateKey, "a key").with_index("title_1");
        let duplicate = TreeError::DuplicateKey {
            model,
            id: id.clone(),
            source: Some(database),
        };
        let missing = TreeError::NotFound {
            model,
            id: id.clone(),
        };
        for (own, kind, text) in [
            (
                into,
                ErrorKind::InvalidArgument,
                "a node cannot become its own descendant (model: Category, _id: 2, target: 3)",
            ),
            (
                deep,
                ErrorKind::Validation,
                "the tree becomes too deep (_id: 2, depth: 5, limit: 4)",
            ),
            (
                duplicate,
                ErrorKind::DuplicateKey,
                "the node is there already (model: Category, _id: 2, index: title_1)",
            ),
            (
                missing,
                ErrorKind::NotFound,
                "there is no such node (model: Category, _id: 2)",
            ),
        ] {
            assert_eq!(own.to_string(), text);
            let told = Error::from(own);
            assert_eq!((told.to_string().as_str(), told.kind()), (text, kind));
            assert_eq!(told.id(), Some(&id));
            assert!(TreeError::behind(&told).is_some());
        }
    }
}
