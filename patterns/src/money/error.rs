//! What can be wrong with money.

use std::fmt;

use odm::{Error, ErrorKind};

use super::currency::Currency;

/// What is wrong with an amount, or with what was to be done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MoneyError {
    /// Two amounts are of two currencies.
    CurrencyMismatch {
        /// The currency of the first, or the one that was asked for.
        expected: Currency,
        /// The other.
        found: Currency,
    },
    /// The amount is beyond what the form can hold.
    Overflow,
    /// The amount has more decimals than the form can hold: round it first.
    ExcessPrecision {
        /// How many there is room for.
        digits: u32,
    },
    /// The form counts minor units, and the currency has none.
    NoMinorUnit {
        /// The currency.
        currency: Currency,
    },
    /// ISO 4217 does not list the code.
    UnknownCurrency {
        /// The code.
        code: String,
    },
    /// The text is no amount.
    Malformed {
        /// The text, or its beginning.
        text: String,
    },
    /// A stored number is infinite or not a number.
    NotFinite,
    /// There is nobody to get a part: no weights, or all of them 0.
    NoWeights,
    /// A weight is below 0.
    NegativeWeight,
    /// The increment to round to, or the rate, is not above 0.
    NotPositive,
}

impl MoneyError {
    /// What the error is about, without its fields.
    pub fn message(&self) -> &'static str {
        match self {
            MoneyError::CurrencyMismatch { .. } => "the amounts are of different currencies",
            MoneyError::Overflow => "the amount is too large",
            MoneyError::ExcessPrecision { .. } => "the amount has too many decimals",
            MoneyError::NoMinorUnit { .. } => "the currency has no minor unit",
            MoneyError::UnknownCurrency { .. } => "the currency is not known",
            MoneyError::Malformed { .. } => "the text is no amount",
            MoneyError::NotFinite => "the number is not finite",
            MoneyError::NoWeights => "no part has a weight",
            MoneyError::NegativeWeight => "a weight is negative",
            MoneyError::NotPositive => "the increment or rate is not positive",
        }
    }

    pub(super) fn malformed(text: &str) -> MoneyError {
        MoneyError::Malformed {
            text: text.chars().take(64).collect(),
        }
    }
}

impl MoneyError {
    /// The same in the words of `odm`, without the cause.
    pub(super) fn told(&self) -> Error {
        let told = Error::new(ErrorKind::Validation, self.message());
        match self {
            MoneyError::CurrencyMismatch { expected, found } => {
                told.with_note("expected", expected).with_note("found", found)
            }
            MoneyError::ExcessPrecision { digits } => told.with_note("room for", digits),
            MoneyError::NoMinorUnit { currency } => told.with_note("currency", currency),
            MoneyError::UnknownCurrency { code } => told.with_note("code", format_args!("{code:?}")),
            MoneyError::Malformed { text } => told.with_note("text", format_args!("{text:?}")),
            _ => told,
        }
    }
}

impl fmt::Display for MoneyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told().fmt(f)
    }
}

impl std::error::Error for MoneyError {}

/// For programs that go on with the database's errors: kind `Validation`, with this as the source.
impl From<MoneyError> for Error {
    fn from(error: MoneyError) -> Error {
        error.told().with_source(error)
    }
}
