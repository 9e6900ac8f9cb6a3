//! What can stand where a date is asked for.

use bson::RawBson;

use super::constant;
use crate::error::Result;
use crate::model::Date;

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

super::terms!(DateTerm date Date);

impl<R> DateTerm<R> for bson::DateTime {
    fn date(self) -> Result<RawBson> {
        Ok(constant(RawBson::DateTime(self)))
    }
}
