//! Periods of the calendar in a time zone: what [counters](crate::counter) count by, and
//! [sequences](crate::sequence) begin anew with.
//!
//! ```
//! use odm::bson::DateTime;
//! use odm_patterns::period::{Unit, Zone};
//!
//! # fn main() -> odm::Result<()> {
//! let time = DateTime::parse_rfc3339_str("2026-11-21T23:30:00Z").expect("a date");
//! let zone = Zone::fixed(3600)?;
//! assert_eq!(zone.label(Unit::Day, time)?, "2026-11-22");
//! let month = zone.start(Unit::Month, time)?;
//! assert_eq!(month.to_string(), "2026-10-31 23:00:00.0 +00:00:00");
//! # Ok(())
//! # }
//! ```

mod calendar;
mod unit;
mod zone;

pub use self::unit::Unit;
pub use self::zone::Zone;
