//! What can go wrong with a tree.

use std::fmt;

use odm::bson::Bson;
use odm::{Error, ErrorKind};

/// `Result` with [`TreeError`].
pub type Result<T, E = TreeError> = std::result::Result<T, E>;

/// Why a tree was not read or changed. Nothing was written.
///
/// It becomes an [`odm::Error`] by `?`, with the kind that fits and itself as the source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TreeError {
    /// There is no such node in this tree.
    NotFound {
        /// The `_id` that was asked for.
        id: Bson,
    },
    /// A node cannot become its own descendant.
    IntoOwnDescendant {
        /// The node that was to be moved.
        id: Bson,
        /// Where to.
        target: Bson,
    },
    /// A node with this `_id` is there already, or the key of a unique index.
    DuplicateKey {
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
        /// The node.
        id: Bson,
    },
    /// The node cannot be restored, because its parent is softly deleted.
    ParentDeleted {
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
    /// The database failed.
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
            TreeError::NotFound { id }
            | TreeError::IntoOwnDescendant { id, .. }
            | TreeError::DuplicateKey { id, .. }
            | TreeError::Segment { id, .. }
            | TreeError::PathTooLong { id, .. }
            | TreeError::TooDeep { id, .. }
            | TreeError::HasChildren { id }
            | TreeError::ParentDeleted { id, .. }
            | TreeError::Damaged { id, .. } => Some(id),
            TreeError::InvalidPosition { .. }
            | TreeError::InvalidOption { .. }
            | TreeError::Converted { .. } => None,
            TreeError::Database(error) => error.id(),
        }
    }
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeError::NotFound { id } => write!(f, "there is no such node (_id: {id})"),
            TreeError::IntoOwnDescendant { id, target } => {
                write!(
                    f,
                    "a node cannot become its own descendant (_id: {id}, target: {target})"
                )
            }
            TreeError::DuplicateKey { id, .. } => write!(f, "the node is there already (_id: {id})"),
            TreeError::Segment { id, reason } => {
                write!(f, "the `_id` cannot be a part of a path: {reason} (_id: {id})")
            }
            TreeError::PathTooLong { id, bytes, limit } => {
                write!(
                    f,
                    "the path is too long (_id: {id}, bytes: {bytes}, limit: {limit})"
                )
            }
            TreeError::TooDeep { id, depth, limit } => {
                write!(
                    f,
                    "the tree becomes too deep (_id: {id}, depth: {depth}, limit: {limit})"
                )
            }
            TreeError::HasChildren { id } => write!(f, "the node has children (_id: {id})"),
            TreeError::ParentDeleted { id, parent } => {
                write!(f, "the parent is deleted (_id: {id}, parent: {parent})")
            }
            TreeError::InvalidPosition { reason } => write!(f, "the position does not fit: {reason}"),
            TreeError::InvalidOption { option, reason } => {
                write!(f, "an option is wrong: {reason} (option: {option})")
            }
            TreeError::Converted { to } => {
                write!(f, "the tree is stored in another way by now (as {to})")
            }
            TreeError::Damaged { id, reason } => write!(f, "the tree is damaged: {reason} (_id: {id})"),
            TreeError::Database(error) => error.fmt(f),
        }
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
            own => {
                let id = own.id().cloned();
                let error = Error::new(own.kind(), "the tree could not be read or changed");
                let error = match id {
                    Some(id) => error.with_id(id),
                    None => error,
                };
                error.with_source(own)
            }
        }
    }
}
