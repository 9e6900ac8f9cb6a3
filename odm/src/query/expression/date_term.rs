//! What can stand where a date is asked for.

use bson::RawBson;

use super::{Expr, constant};
use crate::error::Result;
use crate::model::{Date, Field};

/// A date in an expression over `R`: a field or expression that is stored as a date, or a constant: a
/// [`bson::DateTime`], or a date of `chrono`, `jiff` or `time` with that feature.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no date in an expression over `{R}`",
    label = "expected a field or expression of a date, or a `bson::DateTime`",
    note = "a text becomes a date by `value().to_date()`"
)]
pub trait DateTerm<R> {
    /// The value.
    #[doc(hidden)]
    fn date(self) -> Result<RawBson>;
}

impl<R, T: Date> DateTerm<R> for Expr<R, T> {
    fn date(self) -> Result<RawBson> {
        self.value
    }
}

impl<R, T: Date> DateTerm<R> for &Expr<R, T> {
    fn date(self) -> Result<RawBson> {
        self.value.clone()
    }
}

impl<R, T: Date> DateTerm<R> for Field<R, T> {
    fn date(self) -> Result<RawBson> {
        self.value().value
    }
}

impl<R, T: Date> DateTerm<R> for &Field<R, T> {
    fn date(self) -> Result<RawBson> {
        self.value().value
    }
}

impl<R> DateTerm<R> for bson::DateTime {
    fn date(self) -> Result<RawBson> {
        Ok(constant(RawBson::DateTime(self)))
    }
}
