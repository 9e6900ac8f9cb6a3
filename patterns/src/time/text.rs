//! RFC 3339 and RFC 9557.

use std::fmt;
use std::str::FromStr;

use jiff::fmt::temporal::{Pieces, TimeZoneAnnotationKind};
use jiff::tz::Offset;

use super::error::TimeError;
use super::happened::Happened;
use super::zones::Zones;

/// `2026-10-25T02:30:00.5+02:00`, and `[Europe/Berlin]` behind it where the zone is known.
///
/// Offsets of seconds, which some zones had, are written with them: `-00:44:30`.
impl fmt::Display for Happened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Ok(timestamp), Ok(offset)) = (self.timestamp(), Offset::from_seconds(self.offset)) else {
            return write!(f, "{} ({} s)", self.date, self.offset);
        };
        write!(f, "{}", offset.to_datetime(timestamp))?;
        let (sign, seconds) = match self.offset < 0 {
            true => ('-', -self.offset),
            false => ('+', self.offset),
        };
        write!(f, "{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60)?;
        if seconds % 60 != 0 {
            write!(f, ":{:02}", seconds % 60)?;
        }
        match &self.zone {
            Some(zone) => write!(f, "[{zone}]"),
            None => Ok(()),
        }
    }
}

impl FromStr for Happened {
    type Err = TimeError;

    /// The offset counts, also where the zone has another by today's rules, unless the text marks the zone as critical:
    /// `[!Europe/Berlin]`. `Z` is the offset 0.
    fn from_str(text: &str) -> Result<Happened, TimeError> {
        let malformed = || TimeError::malformed(text);
        let pieces = Pieces::parse(text).map_err(|_| malformed())?;
        let time = pieces.time().ok_or_else(malformed)?;
        let offset = pieces.to_numeric_offset().ok_or_else(malformed)?;
        let civil = pieces.date().to_datetime(time);
        let timestamp = offset.to_timestamp(civil).map_err(|_| TimeError::OutOfRange)?;
        let mut happened = Happened::at_offset(timestamp, offset);
        if let Some(annotation) = pieces.time_zone_annotation() {
            match annotation.kind() {
                TimeZoneAnnotationKind::Named(name) => happened.zone = Some(name.as_str().to_owned()),
                TimeZoneAnnotationKind::Offset(annotated) if *annotated != offset => {
                    return Err(malformed());
                }
                _ => {}
            }
            if annotation.is_critical()
                && let Some(name) = &happened.zone
                && Zones::bundled().get(name)?.to_offset(timestamp) != offset
            {
                return Err(TimeError::OffsetMismatch { zone: name.clone() });
            }
        }
        Ok(happened)
    }
}
