//! What is left to `bson`.

use std::fmt;

use serde::{de, ser};

/// A value, or bytes, of another kind than those that are treated here, or wrong: why does not matter, as `bson` is asked
/// then and says it.
#[derive(Debug)]
pub(super) enum Unfit {
    /// `bson` is asked.
    Left,
    /// It is wrong, though `bson` might take it: a value of another kind where a document is expected, which it would
    /// show as extended JSON; two fields of the same name, which it would write.
    Refused,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unfit::Left => "left to others",
            Unfit::Refused => "a value of another kind is stored where a document is expected",
        })
    }
}

impl std::error::Error for Unfit {}

impl de::Error for Unfit {
    fn custom<T: fmt::Display>(_: T) -> Unfit {
        Unfit::Left
    }
}

impl ser::Error for Unfit {
    fn custom<T: fmt::Display>(_: T) -> Unfit {
        Unfit::Left
    }
}
