//! Time zones: UTC and fixed offsets.

use super::super::super::super::document::Value;
use super::super::super::super::fault::{Fault, Result};
use super::super::Answer;

/// Milliseconds that local time is ahead of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Zone(pub(super) i64);

const UTC: [&str; 12] = [
    "UTC",
    "GMT",
    "UCT",
    "Zulu",
    "Universal",
    "Greenwich",
    "Etc/UTC",
    "Etc/GMT",
    "Etc/UCT",
    "Etc/Zulu",
    "Etc/Universal",
    "Etc/Greenwich",
];

/// Names of the time zone database that stand for one offset, in hours.
const FIXED: [(&str, i64); 3] = [("EST", -5), ("MST", -7), ("HST", -10)];

impl Zone {
    pub(super) const UTC: Zone = Zone(0);

    /// The zone of an optional argument: UTC when not given, `None` when null.
    pub(super) fn of(argument: &Answer<'_>) -> Result<Option<Zone>> {
        if argument.is_absent() {
            return Ok(Some(Zone::UTC));
        }
        match argument.value() {
            None | Some(Value::Null | Value::Undefined) => Ok(None),
            Some(Value::String(name)) => Zone::parse(name).map(Some),
            Some(_) => Err(Fault::new(
                40517,
                format!(
                    "timezone must evaluate to a string, found {}",
                    argument.type_name()
                ),
            )),
        }
    }

    /// A name of UTC, or `+hh`, `+hhmm`, `+hh:mm`.
    pub(super) fn parse(name: &str) -> Result<Zone> {
        if UTC.contains(&name) {
            return Ok(Zone::UTC);
        }
        if let Some(minutes) = offset_minutes(name) {
            return Ok(Zone(minutes * 60_000));
        }
        if let Some((_, hours)) = FIXED.iter().find(|(other, _)| *other == name) {
            return Ok(Zone(hours * 3_600_000));
        }
        // A name as the time zone database has them.
        let named = name.split('/').count() > 1
            && name
                .split('/')
                .all(|part| part.starts_with(|c: char| c.is_ascii_uppercase()));
        if named {
            return Err(Fault::unsupported(format!(
                "the native engine knows UTC and fixed offsets, not the time zone {name}"
            )));
        }
        Err(Fault::new(
            40485,
            format!("unrecognized time zone identifier: \"{name}\""),
        ))
    }
}

/// Minutes of `+hh`, `+hhmm` or `+hh:mm`.
pub(super) fn offset_minutes(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes() {
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let number = |digits: &[u8]| {
        digits.iter().all(u8::is_ascii_digit).then(|| {
            digits
                .iter()
                .fold(0i64, |n, digit| n * 10 + i64::from(digit - b'0'))
        })
    };
    let (hours, minutes) = match digits {
        [a, b] => (number(&[*a, *b])?, 0),
        [a, b, c, d] | [a, b, b':', c, d] => (number(&[*a, *b])?, number(&[*c, *d])?),
        _ => return None,
    };
    Some(sign * (hours * 60 + minutes))
}
