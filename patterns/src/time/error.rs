//! What can be wrong with a local time.

use std::fmt;

use jiff::civil;
use odm::{Error, ErrorKind};

/// What is wrong with a local time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeError {
    /// No zone has this name.
    UnknownZone {
        /// The name, or its beginning.
        zone: String,
    },
    /// The clocks of the zone skip this time.
    Skipped {
        /// The time.
        civil: civil::DateTime,
    },
    /// The clocks of the zone show this time twice.
    Repeated {
        /// The time.
        civil: civil::DateTime,
    },
    /// The time is beyond the years -9999 to 9999, or the offset beyond 26 hours.
    OutOfRange,
    /// The civil time is finer than a millisecond, which is all that a date has.
    TooFine,
    /// JavaScript's offset is in whole minutes, and this one is not. In seconds, east positive.
    NotWholeMinutes {
        /// The offset.
        offset: i32,
    },
    /// The text is no time with an offset.
    Malformed {
        /// The text, or its beginning.
        text: String,
    },
    /// The text marks its zone as critical, and that has another offset then.
    OffsetMismatch {
        /// The zone.
        zone: String,
    },
}

impl TimeError {
    /// What the error is about, without its fields.
    pub fn message(&self) -> &'static str {
        match self {
            TimeError::UnknownZone { .. } => "the time zone is not known",
            TimeError::Skipped { .. } => "the clocks skip this time",
            TimeError::Repeated { .. } => "the clocks show this time twice",
            TimeError::OutOfRange => "the time is out of range",
            TimeError::TooFine => "the civil time is finer than a millisecond",
            TimeError::NotWholeMinutes { .. } => "the offset is not in whole minutes",
            TimeError::Malformed { .. } => "the text is no time with an offset",
            TimeError::OffsetMismatch { .. } => "the offset is not that of the zone",
        }
    }

    pub(super) fn malformed(text: &str) -> TimeError {
        TimeError::Malformed {
            text: text.chars().take(64).collect(),
        }
    }
}

impl TimeError {
    /// The same in the words of `odm`, without the cause.
    fn told(&self) -> Error {
        let told = Error::new(ErrorKind::Validation, self.message());
        match self {
            TimeError::UnknownZone { zone } | TimeError::OffsetMismatch { zone } => {
                told.with_note("zone", format_args!("{zone:?}"))
            }
            TimeError::Skipped { civil } | TimeError::Repeated { civil } => told.with_note("time", civil),
            TimeError::NotWholeMinutes { offset } => told.with_note("offset", format_args!("{offset} s")),
            TimeError::Malformed { text } => told.with_note("text", format_args!("{text:?}")),
            _ => told,
        }
    }
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told().fmt(f)
    }
}

impl std::error::Error for TimeError {}

/// For programs that go on with the database's errors: kind `Validation`, with this as the source.
impl From<TimeError> for Error {
    fn from(error: TimeError) -> Error {
        error.told().with_source(error)
    }
}
