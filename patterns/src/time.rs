//! Local time: what the clock on the wall showed when something happened, and what it is to show when something will.
//!
//! # The problem
//! A date in the database is an instant. At what hour people buy, or on which day a loan is due, is a question to a clock on
//! a wall somewhere; and whether that wall's clock will be changed next year is not known yet.
//!
//! # The stored shapes
//! There are two kinds of local time, and they are not the same.
//!
//! | kind | stored | the fact |
//! |---|---|---|
//! | [`Happened`]: it was so | `{date, offset}`, and `zone`, `nanos` where they are known | the instant, and the offset from UTC in **seconds, east positive** |
//! | [`Appointment`]: it shall be so | `{civil, zone, choose, date, offset, tzdb}` | the civil time and the zone; `date` and `offset` are what follows from them by the rules of version `tzdb`, and [`revalidate`] computes them anew |
//! | [`ScriptTime`]: the MongoDB manual's | `{date, offset}` | the instant, and JavaScript's `getTimezoneOffset()`: **minutes, west positive** |
//!
//! `civil` is a date as if the clock showed UTC, so that it sorts and groups by itself. Dates have milliseconds; what is
//! finer stands in `nanos`.
//!
//! # Days, weeks, months
//! A [`Period`] is a local hour, day, week, month, quarter or year as a range of instants, 23 or 25 hours long where clocks
//! change: [`in_period`](LocalTime::in_period) is a plain range of dates that any index on the date answers.
//! [`truncated_in`](LocalTime::truncated_in) groups by it in a pipeline, and [`Period::covering`] gives the groups that there
//! should be, but for the few that begin elsewhere.
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | rules | [`Zones::bundled`]: the IANA database that is compiled in, the same on every machine; [`Zones::version`] names it |
//! | what does not exist, or exists twice | decided by a [`Choice`] that is stored with the appointment; [`Choice::Reject`] is a typed error |
//! | [`revalidate`] | 1 round trip for each batch to read, 1 for each appointment; a change in between is not lost; it can be stopped and run again |
//! | a local day | begins when its midnight comes first, and lasts until the next one does: the periods of a zone cover all time, without gap or overlap |
//! | sharded | ranges and groups as any date's; `revalidate` writes by `_id` |
//!
//! # Example
//! ```
//! use odm::{Db, Model};
//! use odm_patterns::time::{Appointment, Choice, Happened, LocalTime, Period, Unit, Zones};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Model)]
//! #[odm(index(keys(lent.date)))]
//! struct Loan {
//!     #[serde(rename = "_id")]
//!     id: i32,
//!     lent: Happened,
//!     due: Appointment,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let zones = Zones::bundled();
//! let berlin = zones.get("Europe/Berlin")?;
//! let loans = Db::open("memory:").await?.collection::<Loan>();
//! let lent: Happened = "2026-10-25T02:30:00+02:00[Europe/Berlin]".parse()?;
//! let due = Appointment::new("2026-11-25T18:00".parse()?, "Europe/Berlin", Choice::Compatible, &zones)?;
//! loans.insert(Loan { id: 1, lent, due }).await?;
//!
//! let day = Period::of(Unit::Day, "2026-10-25T12:00:00Z".parse()?, &berlin)?;
//! assert_eq!((day.key(), day.hours()), ("2026-10-25".to_owned(), 25.0));
//! assert_eq!(loans.count(|l| l.lent.date.in_period(&day)).await?, 1);
//! # Ok(())
//! # }
//! ```

mod appointment;
mod choice;
mod error;
mod happened;
mod local;
mod period;
mod revalidate;
mod script;
mod text;
mod unit;
mod zones;

pub use self::appointment::Appointment;
pub use self::choice::Choice;
pub use self::error::TimeError;
pub use self::happened::Happened;
pub use self::local::{LocalTime, OwnOffset};
pub use self::period::Period;
pub use self::revalidate::{Moved, Revalidation, revalidate};
pub use self::script::ScriptTime;
pub use self::unit::Unit;
pub use self::zones::Zones;
pub use jiff;
