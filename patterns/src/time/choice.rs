//! Which instant a civil time is.

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::{AmbiguousOffset, Disambiguation, TimeZone};
use odm::Embedded;
use serde::{Deserialize, Serialize};

use super::error::TimeError;

/// Which instant a civil time is that the clocks skip, or show twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The first of two; a skipped one as much later as the clocks jump, which is what calendars do.
    #[default]
    Compatible,
    /// The first of two; a skipped one as much earlier as the clocks jump.
    Earlier,
    /// The second of two; a skipped one as much later as the clocks jump.
    Later,
    /// Neither: an error.
    Reject,
}

impl Choice {
    /// The instant at which the clocks of the zone show this time.
    ///
    /// ```
    /// use odm_patterns::time::{Choice, TimeError, Zones};
    ///
    /// let berlin = Zones::bundled().get("Europe/Berlin")?;
    /// let skipped = "2026-03-29T02:30".parse()?;
    /// assert_eq!(Choice::Earlier.instant(skipped, &berlin)?.to_string(), "2026-03-29T00:30:00Z");
    /// assert_eq!(Choice::Compatible.instant(skipped, &berlin)?.to_string(), "2026-03-29T01:30:00Z");
    /// assert!(matches!(Choice::Reject.instant(skipped, &berlin), Err(TimeError::Skipped { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Skipped` and `Repeated` by [`Reject`](Choice::Reject), `OutOfRange`.
    pub fn instant(self, civil: civil::DateTime, zone: &TimeZone) -> Result<Timestamp, TimeError> {
        let ambiguous = zone.to_ambiguous_timestamp(civil);
        let choice = match (self, ambiguous.offset()) {
            (Choice::Reject, AmbiguousOffset::Gap { .. }) => return Err(TimeError::Skipped { civil }),
            (Choice::Reject, AmbiguousOffset::Fold { .. }) => return Err(TimeError::Repeated { civil }),
            (Choice::Compatible | Choice::Reject, _) => Disambiguation::Compatible,
            (Choice::Earlier, _) => Disambiguation::Earlier,
            (Choice::Later, _) => Disambiguation::Later,
        };
        ambiguous.disambiguate(choice).map_err(|_| TimeError::OutOfRange)
    }
}
