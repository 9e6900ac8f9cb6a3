//! Text search: words, their stems, and how well a document answers a search, with MongoDB's answers.
//!
//! Pure: an index asks for a document's terms, a filter whether the document matches, a sort for its score.

mod language;
mod met;
mod search;
mod spec;
mod tables;
mod term;

pub(crate) use self::language::Language;
pub(crate) use self::search::{TextQuery, TextSearch};
pub(crate) use self::spec::{MAX_WEIGHT, TextSpec, WILDCARD};
