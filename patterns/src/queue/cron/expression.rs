//! Cron expressions, and when they are next.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan as _};
use odm::{Error, ErrorKind, Result};

use super::field::{DAY, Field, HOUR, MINUTE, MONTH, WEEKDAY};

/// How many days are looked through for a next tick: the 29th of February can be eight years away.
const DAYS: usize = 366 * 9;

/// A cron expression of five fields: minute, hour, day of the month, month, day of the week.
///
/// Each is `*`, a number, a range `1-5`, a step `*/10` or `8-18/2`, or a list of such. Months and days of the week have
/// English names of three letters; Sunday is 0 or 7; `L` is the last day of the month. Where both days are restricted, one
/// of them is enough, as cron has it. `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` and `@annually` are
/// expressions too.
///
/// **Summer time**: an expression that allows every hour (`*/10 * * * *`) goes by time that really passes. Any other means
/// times on the wall: one that is skipped is made up for at the moment of the change, one that comes twice counts the first
/// time.
///
/// ```
/// use jiff::{Timestamp, tz::TimeZone};
/// use odm_patterns::queue::Cron;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cron = Cron::parse("30 2 * * *")?;
/// let berlin = TimeZone::get("Europe/Berlin")?;
/// // 02:30 is skipped on 29 March 2026: 02:00 is 03:00.
/// let next = cron.next_after("2026-03-28T12:00:00Z".parse()?, &berlin);
/// assert_eq!(next, Some("2026-03-29T01:00:00Z".parse::<Timestamp>()?));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    minutes: Field,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
}

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    /// `InvalidArgument`, with the field that is wrong, or when there is no such day.
    pub fn parse(expression: &str) -> Result<Cron> {
        let text = match expression.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            text => text,
        };
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return Err(invalid("a cron expression has five fields", expression));
        };
        let cron = Cron {
            text: expression.trim().to_owned(),
            minutes: Field::parse(minutes, &MINUTE)?,
            hours: Field::parse(hours, &HOUR)?,
            days: Field::parse(days, &DAY)?,
            months: Field::parse(months, &MONTH)?,
            weekdays: Field::parse(weekdays, &WEEKDAY)?,
        };
        match cron.next_after(Timestamp::UNIX_EPOCH, &TimeZone::UTC) {
            Some(_) => Ok(cron),
            None => Err(invalid(
                "a cron expression names a day that there is never",
                expression,
            )),
        }
    }

    /// The first tick after a time, in a zone; none behind the end of all calendars.
    pub fn next_after(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self.hours.len() {
            24 => self.next_by_time(time, zone),
            _ => self.next_on_the_wall(time, zone),
        }
    }

    /// Minute by minute of the days that are allowed.
    fn next_by_time(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let second = i64::from(zone.to_datetime(time).second());
        let mut at = Timestamp::from_second(time.as_second() - second).ok()?;
        let mut days = 0;
        while days < DAYS {
            at = at.checked_add(1.minute()).ok()?;
            let mut local = zone.to_datetime(at);
            if !self.allows(local.date()) {
                days += 1;
                let midnight = local.date().tomorrow().ok()?.at(0, 0, 0, 0);
                at = instant(midnight, zone)?;
                local = zone.to_datetime(at);
                if !self.allows(local.date()) {
                    continue;
                }
            }
            if self.minutes.has(local.minute()) && at > time {
                return Some(at);
            }
        }
        None
    }

    /// Time by time as the wall shows them.
    fn next_on_the_wall(&self, time: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let local = zone.to_datetime(time);
        let (mut date, mut from) = (local.date(), local.time());
        for _ in 0..DAYS {
            if self.allows(date) {
                for (hour, minute) in self.times() {
                    let wall = Time::new(hour, minute, 0, 0).ok()?;
                    // Seconds are cut off by the comparison of instants below.
                    if (hour, minute) < (from.hour(), from.minute()) {
                        continue;
                    }
                    let tick = instant(date.to_datetime(wall), zone)?;
                    if tick > time {
                        return Some(tick);
                    }
                }
            }
            date = date.tomorrow().ok()?;
            from = Time::midnight();
        }
        None
    }

    fn times(&self) -> impl Iterator<Item = (i8, i8)> {
        let minutes = self.minutes;
        self.hours
            .numbers()
            .flat_map(move |hour| minutes.numbers().map(move |minute| (hour, minute)))
    }

    fn allows(&self, date: Date) -> bool {
        if !self.months.has(date.month()) {
            return false;
        }
        let day = self.days.has(date.day()) || (self.days.last && date.day() == date.days_in_month());
        let weekday = self.weekdays.has(date.weekday().to_sunday_zero_offset());
        match self.days.starred || self.weekdays.starred {
            true => day && weekday,
            false => day || weekday,
        }
    }
}

/// When the wall shows this: the first time if it does twice, the moment of the change if it never does.
fn instant(wall: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(wall);
    match ambiguous.offset() {
        AmbiguousOffset::Gap { before, .. } => {
            let behind = before.to_timestamp(wall).ok()?.checked_add(1.second()).ok()?;
            zone.preceding(behind).next().map(|change| change.timestamp())
        }
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => ambiguous.earlier().ok(),
    }
}

fn invalid(message: &'static str, expression: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, message).with_path(expression)
}

impl FromStr for Cron {
    type Err = Error;

    fn from_str(text: &str) -> Result<Cron> {
        Cron::parse(text)
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cron").field(&self.text).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(expression: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
        let cron = Cron::parse(expression).unwrap();
        let zone = TimeZone::get(zone).unwrap();
        let mut time: Timestamp = from.parse().unwrap();
        let mut found = Vec::new();
        for _ in 0..count {
            time = cron.next_after(time, &zone).unwrap();
            found.push(time.to_string());
        }
        found
    }

    #[test]
    fn fields_are_lists_of_numbers_ranges_and_steps() {
        assert_eq!(
            ticks("0,30 8-10/2 * * mon-FRI", "UTC", "2026-11-20T08:10:00Z", 5),
            [
                "2026-11-20T08:30:00Z",
                "2026-11-20T10:00:00Z",
                "2026-11-20T10:30:00Z",
                "2026-11-23T08:00:00Z",
                "2026-11-23T08:30:00Z"
            ]
        );
        assert_eq!(
            ticks("5/20 * * dec 7", "UTC", "2026-11-20T08:10:00Z", 3),
            [
                "2026-12-06T00:05:00Z",
                "2026-12-06T00:25:00Z",
                "2026-12-06T00:45:00Z"
            ]
        );
        assert_eq!(
            ticks("@hourly", "Asia/Kolkata", "2026-11-20T08:10:00Z", 1),
            ["2026-11-20T08:30:00Z"]
        );
    }

    #[test]
    fn days_are_cron_s() {
        // One of two restricted days is enough; a starred one is no restriction.
        assert_eq!(
            ticks("0 12 13 * 5", "UTC", "2026-11-01T00:00:00Z", 4),
            [
                "2026-11-06T12:00:00Z",
                "2026-11-13T12:00:00Z",
                "2026-11-20T12:00:00Z",
                "2026-11-27T12:00:00Z"
            ]
        );
        assert_eq!(
            ticks("0 12 */10 * 5", "UTC", "2026-11-01T00:00:00Z", 1),
            ["2026-12-11T12:00:00Z"]
        );
        assert_eq!(
            ticks("0 0 L * *", "UTC", "2026-11-21T00:00:00Z", 4),
            [
                "2026-11-30T00:00:00Z",
                "2026-12-31T00:00:00Z",
                "2027-01-31T00:00:00Z",
                "2027-02-28T00:00:00Z"
            ]
        );
        assert_eq!(
            ticks("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", 1),
            ["2104-02-29T00:00:00Z"]
        );
    }

    #[test]
    fn skipped_times_are_made_up_for_once() {
        assert_eq!(
            ticks("0,15,30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", 4),
            [
                "2026-03-29T01:00:00Z",
                "2026-03-29T01:15:00Z",
                "2026-03-29T01:30:00Z",
                "2026-03-30T00:00:00Z"
            ]
        );
    }

    #[test]
    fn times_that_come_twice_count_once() {
        assert_eq!(
            ticks("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        );
        // Asked between the two.
        assert_eq!(
            ticks("30 2 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z", 1),
            ["2026-10-26T01:30:00Z"]
        );
    }

    #[test]
    fn every_hour_goes_by_time_that_passes() {
        assert_eq!(
            ticks("30 * * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", 4),
            [
                "2026-10-24T23:30:00Z",
                "2026-10-25T00:30:00Z",
                "2026-10-25T01:30:00Z",
                "2026-10-25T02:30:00Z"
            ]
        );
        assert_eq!(
            ticks("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", 2),
            ["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]
        );
        assert_eq!(
            ticks("0 * 1 1 *", "Europe/Berlin", "2026-03-29T00:30:00Z", 2),
            ["2026-12-31T23:00:00Z", "2027-01-01T00:00:00Z"]
        );
    }

    #[test]
    fn a_year_of_ticks_is_what_each_minute_says() {
        for expression in ["7 3 * * *", "*/17 1-4 * * 0", "0 2 L * *", "59 23 * 2,3 6"] {
            let cron = Cron::parse(expression).unwrap();
            let zone = TimeZone::get("America/New_York").unwrap();
            let start: Timestamp = "2026-01-01T05:00:00Z".parse().unwrap();
            let mut time = start;
            let mut previous = start;
            for minute in 1..=(366 * 1_440) {
                let at = start.checked_add((minute as i64).minutes()).unwrap();
                let local = zone.to_datetime(at);
                let shown = cron.allows(local.date())
                    && cron.hours.has(local.hour())
                    && cron.minutes.has(local.minute());
                let first = zone.to_ambiguous_timestamp(local).earlier().unwrap() == at;
                let next = if previous >= at {
                    previous
                } else {
                    cron.next_after(time, &zone).unwrap()
                };
                previous = next;
                if shown && first {
                    assert_eq!(next, at, "{expression}");
                }
                if next == at {
                    let change = zone
                        .preceding(at.checked_add(1.second()).unwrap())
                        .next()
                        .unwrap()
                        .timestamp()
                        == at;
                    assert!((shown && first) || change, "{expression} at {at}");
                    time = at;
                    previous = start;
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        for expression in [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "5-1 * * * *",
            "*/0 * * * *",
            "a * * * *",
            "+5 * * * *",
            "1- * * * *",
            "-1 * * * *",
            ", * * * *",
            "* * 30 2 *",
            "L * * * *",
            "@reboot",
            "1/ * * * *",
            "999 * * * *",
        ] {
            let error = Cron::parse(expression).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{expression}");
        }
        assert_eq!("*/5 * * * *".parse::<Cron>().unwrap().to_string(), "*/5 * * * *");
    }
}
