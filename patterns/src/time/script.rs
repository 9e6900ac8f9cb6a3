//! The MongoDB manual's form.

use odm::Embedded;
use odm::bson::DateTime;
use serde::{Deserialize, Serialize};

use super::error::TimeError;
use super::happened::Happened;

/// The MongoDB manual's `{date, offset}`, as its JavaScript writes it: the offset is `getTimezoneOffset()`, in **minutes, and
/// west is positive**. For reading and writing existing data; declare it where the data are so, and convert.
///
/// ```
/// use odm_patterns::time::{Happened, ScriptTime};
///
/// let happened: Happened = "2026-07-01T09:30:00-04:00".parse()?;
/// let script = ScriptTime::try_from(&happened)?;
/// assert_eq!(script.offset, 240);
/// assert_eq!(Happened::try_from(&script)?, happened);
/// # Ok::<(), odm_patterns::time::TimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
pub struct ScriptTime {
    /// The instant.
    pub date: DateTime,
    /// By how much the clocks were behind UTC: minutes, west positive.
    #[serde(deserialize_with = "minutes")]
    pub offset: i32,
}

/// The shell writes its numbers as doubles.
fn minutes<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    use serde::de::Error as _;
    let number = f64::deserialize(deserializer)?;
    match number.fract() == 0.0 && number.abs() < 1_000_000.0 {
        true => Ok(number as i32),
        false => Err(D::Error::custom("the offset is no number of minutes")),
    }
}

impl TryFrom<&Happened> for ScriptTime {
    type Error = TimeError;

    /// Zone and nanoseconds have no place in it.
    ///
    /// # Errors
    /// `NotWholeMinutes`.
    fn try_from(happened: &Happened) -> Result<ScriptTime, TimeError> {
        let offset = happened.offset;
        match offset % 60 {
            0 => Ok(ScriptTime {
                date: happened.date,
                offset: -(offset / 60),
            }),
            _ => Err(TimeError::NotWholeMinutes { offset }),
        }
    }
}

impl TryFrom<&ScriptTime> for Happened {
    type Error = TimeError;

    /// # Errors
    /// `OutOfRange` for an offset that no clock has: seconds, say, taken for minutes.
    fn try_from(script: &ScriptTime) -> Result<Happened, TimeError> {
        let seconds = script.offset.checked_mul(-60).ok_or(TimeError::OutOfRange)?;
        if seconds.abs() >= 26 * 3600 {
            return Err(TimeError::OutOfRange);
        }
        Ok(Happened {
            date: script.date,
            offset: seconds,
            zone: None,
            nanos: 0,
        })
    }
}
