//! Text.

use bson::RawBson;
use bson::raw::{CStr, cstr};

use super::{Expr, Number, call, call_all, call_named, constant};
use crate::error::Result;
use crate::model::Text;

/// A text in an expression over `R`: a field or expression that is stored as a string, or a constant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no text in an expression over `{R}`",
    label = "expected a field or expression of text, or a string",
    note = "other values become text by `value().to_text()`"
)]
pub trait TextTerm<R> {
    /// The value.
    #[doc(hidden)]
    fn text(self) -> Result<RawBson>;
}

super::terms!(TextTerm text Text);

impl<R> TextTerm<R> for &str {
    fn text(self) -> Result<RawBson> {
        Ok(constant(RawBson::String(self.to_owned())))
    }
}

impl<R> TextTerm<R> for String {
    fn text(self) -> Result<RawBson> {
        Ok(constant(RawBson::String(self)))
    }
}

impl<R, T: Text> Expr<R, T> {
    /// This text and then the other; null where one of them is null or missing.
    pub fn concat(self, other: impl TextTerm<R>) -> Expr<R, String> {
        Expr::new(call_all(cstr!("$concat"), [self.value, other.text()]))
    }

    /// In capital letters, those of ASCII.
    pub fn to_uppercase(self) -> Expr<R, String> {
        self.unary_text(cstr!("$toUpper"))
    }

    /// In small letters, those of ASCII.
    pub fn to_lowercase(self) -> Expr<R, String> {
        self.unary_text(cstr!("$toLower"))
    }

    /// How many characters (code points).
    pub fn chars(self) -> Expr<R, Number> {
        Expr::new(self.value.map(|value| call(cstr!("$strLenCP"), value)))
    }

    /// So many characters from a position on, both counted in code points from 0.
    pub fn substring(self, from: u32, count: u32) -> Expr<R, String> {
        let number = |number: u32| Ok(constant(RawBson::Int64(number.into())));
        Expr::new(call_all(
            cstr!("$substrCP"),
            [self.value, number(from), number(count)],
        ))
    }

    /// Without white space at both ends.
    pub fn trim(self) -> Expr<R, String> {
        Expr::new(call_named(cstr!("$trim"), [(cstr!("input"), self.value)]))
    }

    /// This text with the other in the place of each part that is found, from left to right; null where one of the texts is
    /// null or missing.
    pub fn replaced(self, found: impl TextTerm<R>, other: impl TextTerm<R>) -> Expr<R, String> {
        self.replace(cstr!("$replaceAll"), found, other)
    }

    /// The same for the first part alone that is found.
    pub fn replaced_once(self, found: impl TextTerm<R>, other: impl TextTerm<R>) -> Expr<R, String> {
        self.replace(cstr!("$replaceOne"), found, other)
    }

    /// Where the other text is found first, counted in characters from 0; -1 where it is not, null where this is null or
    /// missing.
    pub fn position_of(self, other: impl TextTerm<R>) -> Expr<R, Number> {
        Expr::new(call_all(cstr!("$indexOfCP"), [self.value, other.text()]))
    }

    /// Whether it begins with the other text. Null does not.
    pub fn starts_with(self, other: impl TextTerm<R>) -> Expr<R, bool> {
        self.position_of(other).equals(0)
    }

    /// The parts between the separators.
    pub fn split(self, separator: impl TextTerm<R>) -> Expr<R, Vec<String>> {
        Expr::new(call_all(cstr!("$split"), [self.value, separator.text()]))
    }

    /// Whether the pattern is found in it. Null is not.
    pub fn matches(self, pattern: &str) -> Expr<R, bool> {
        let pattern = Ok(constant(RawBson::String(pattern.to_owned())));
        Expr::new(call_named(
            cstr!("$regexMatch"),
            [(cstr!("input"), self.value), (cstr!("regex"), pattern)],
        ))
    }

    fn replace(
        self,
        operator: &'static CStr,
        found: impl TextTerm<R>,
        other: impl TextTerm<R>,
    ) -> Expr<R, String> {
        Expr::new(call_named(
            operator,
            [
                (cstr!("input"), self.value),
                (cstr!("find"), found.text()),
                (cstr!("replacement"), other.text()),
            ],
        ))
    }

    fn unary_text(self, operator: &'static CStr) -> Expr<R, String> {
        Expr::new(self.value.map(|value| call(operator, value)))
    }
}
