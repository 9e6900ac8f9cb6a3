//! What is left to `bson`.

use std::fmt;

use serde::{de, ser};

/// A value, or bytes, of another kind than those that are treated here, or wrong: why does not matter, as `bson` is asked
/// then and says it.
#[derive(Debug)]
pub(super) struct Unfit;

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("left to others")
    }
}

impl std::error::Error for Unfit {}

impl de::Error for Unfit {
    fn custom<T: fmt::Display>(_: T) -> Unfit {
        Unfit
    }
}

impl ser::Error for Unfit {
    fn custom<T: fmt::Display>(_: T) -> Unfit {
        Unfit
    }
}
