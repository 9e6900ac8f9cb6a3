//! Where the periods are reckoned.

use odm::bson::DateTime;
use odm::{Error, ErrorKind, Result};

use super::calendar::{Date, date, days, monday};
use super::unit::Unit;

const DAY: i64 = 86_400_000;

/// The clock on the wall that periods go by: UTC, a fixed offset from it, or, with the feature `zones`, a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Fixed(i64),
    #[cfg(feature = "zones")]
    Named(jiff::tz::TimeZone),
}

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Zone = Zone(Kind::Fixed(0));

    /// So many seconds ahead of UTC (east), or behind it when negative.
    ///
    /// # Errors
    /// `InvalidArgument` for more than 26 hours.
    pub fn fixed(seconds: i32) -> Result<Zone> {
        match seconds.abs() <= 26 * 3600 {
            true => Ok(Zone(Kind::Fixed(i64::from(seconds) * 1000))),
            false => Err(Error::new(
                ErrorKind::InvalidArgument,
                "no clock is more than 26 hours from utc",
            )),
        }
    }

    /// The zone of this name in the time zone database: `Europe/Berlin`.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown name.
    #[cfg(feature = "zones")]
    pub fn named(name: &str) -> Result<Zone> {
        let zone = jiff::tz::TimeZone::get(name).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, "the time zone is not known")
                .with_path(name)
                .with_source(error)
        })?;
        Ok(Zone(Kind::Named(zone)))
    }

    /// When the period that a time falls in began.
    ///
    /// # Errors
    /// `InvalidArgument` for times outside of the years 1 to 9998.
    pub fn start(&self, unit: Unit, time: DateTime) -> Result<DateTime> {
        let day = self.day(time)?;
        if let Some(length) = unit.millis() {
            let midnight = self.midnight(day)?;
            let passed = time.timestamp_millis() - midnight;
            return Ok(DateTime::from_millis(
                midnight + passed - passed.rem_euclid(length),
            ));
        }
        self.midnight(first_day(unit, day)).map(DateTime::from_millis)
    }

    /// When the period after the one that a time falls in begins.
    ///
    /// # Errors
    /// As [`start`](Zone::start).
    pub fn next(&self, unit: Unit, time: DateTime) -> Result<DateTime> {
        let day = self.day(time)?;
        if let Some(length) = unit.millis() {
            // The last hour of a day may be a shorter one.
            let tomorrow = self.midnight(day + 1)?;
            let end = self.start(unit, time)?.timestamp_millis() + length;
            return Ok(DateTime::from_millis(end.min(tomorrow)));
        }
        let Date { year, month, .. } = date(day);
        let first = match unit {
            Unit::Week => monday(day) + 7,
            Unit::Month => days(year, month + 1, 1),
            Unit::Year => days(year + 1, 1, 1),
            _ => day + 1,
        };
        self.midnight(first).map(DateTime::from_millis)
    }

    /// The period that a time falls in, as text that sorts by time: `2026`, `2026-11`, a week by its Monday, a day by its
    /// date, an hour as `2026-11-21+13`, a minute as `2026-11-21+13:07`.
    ///
    /// # Errors
    /// As [`start`](Zone::start).
    pub fn label(&self, unit: Unit, time: DateTime) -> Result<String> {
        let day = self.day(time)?;
        let Date {
            year,
            month,
            day: of_month,
        } = date(first_day(unit, day));
        let minutes = || self.slot(Some(Unit::Day), Unit::Minute, time);
        Ok(match unit {
            Unit::Year => format!("{year:04}"),
            Unit::Month => format!("{year:04}-{month:02}"),
            Unit::Week | Unit::Day => format!("{year:04}-{month:02}-{of_month:02}"),
            Unit::Hour => format!("{year:04}-{month:02}-{of_month:02}+{:02}", minutes()? / 60),
            Unit::Minute => {
                let minutes = minutes()?;
                format!(
                    "{year:04}-{month:02}-{of_month:02}+{:02}:{:02}",
                    minutes / 60,
                    minutes % 60
                )
            }
        })
    }

    /// Which of the periods that an outer one is made of a time falls in: months and days by their numbers in the
    /// calendar, hours and minutes by how many have passed. Years are in no other.
    pub(crate) fn slot(&self, outer: Option<Unit>, unit: Unit, time: DateTime) -> Result<i64> {
        let day = self.day(time)?;
        let Date {
            year,
            month,
            day: of_month,
        } = date(day);
        Ok(match (outer, unit) {
            (_, Unit::Year) => year,
            (_, Unit::Month) => month,
            (Some(outer @ (Unit::Week | Unit::Year)), Unit::Day) => day - first_day(outer, day) + 1,
            (_, Unit::Day) => of_month,
            (_, Unit::Week) => (day - monday(days(year, 1, 1))) / 7 + 1,
            (outer, unit) => {
                let start = self.start(outer.unwrap_or(Unit::Day), time)?;
                (time.timestamp_millis() - start.timestamp_millis()) / unit.millis().unwrap_or(DAY)
            }
        })
    }

    /// The local day of a time: the last that has begun. Where midnight comes twice, the clock shows the day before once more
    /// after that.
    fn day(&self, time: DateTime) -> Result<i64> {
        let millis = time.timestamp_millis();
        let bounds = (days(1, 1, 1) + 2) * DAY..(days(9999, 1, 1) - 2) * DAY;
        if !bounds.contains(&millis) {
            return Err(out_of_range());
        }
        match &self.0 {
            Kind::Fixed(offset) => Ok((millis + offset).div_euclid(DAY)),
            #[cfg(feature = "zones")]
            Kind::Named(zone) => {
                let time = jiff::Timestamp::from_millisecond(millis).map_err(|_| out_of_range())?;
                let offset = i64::from(zone.to_offset(time).seconds()) * 1000;
                let shown = (millis + offset).div_euclid(DAY);
                let has_next_begun = self.midnight(shown + 1)? <= millis;
                Ok(shown + i64::from(has_next_begun))
            }
        }
    }

    /// When a local day begins: when its midnight comes first, or, where there is none, when the clock jumps over it.
    fn midnight(&self, day: i64) -> Result<i64> {
        match &self.0 {
            Kind::Fixed(offset) => Ok(day * DAY - offset),
            #[cfg(feature = "zones")]
            Kind::Named(zone) => {
                let Date { year, month, day } = date(day);
                let parts = (i16::try_from(year), i8::try_from(month), i8::try_from(day));
                let (Ok(year), Ok(month), Ok(day)) = parts else {
                    return Err(out_of_range());
                };
                let date = jiff::civil::Date::new(year, month, day).map_err(|_| out_of_range())?;
                let start = date.to_zoned(zone.clone()).map_err(|_| out_of_range())?;
                let is_shown = start.date() == date && start.time() == jiff::civil::Time::midnight();
                if !is_shown {
                    // It is later by as much as the clock jumps.
                    let behind = start.timestamp().checked_add(jiff::SignedDuration::from_nanos(1));
                    let behind = behind.map_err(|_| out_of_range())?;
                    if let Some(jump) = zone.preceding(behind).next() {
                        return Ok(jump.timestamp().as_millisecond());
                    }
                }
                Ok(start.timestamp().as_millisecond())
            }
        }
    }
}

/// The first day of the period that a day is in.
fn first_day(unit: Unit, day: i64) -> i64 {
    let Date { year, month, .. } = date(day);
    match unit {
        Unit::Year => days(year, 1, 1),
        Unit::Month => days(year, month, 1),
        Unit::Week => monday(day),
        _ => day,
    }
}

fn out_of_range() -> Error {
    Error::new(ErrorKind::InvalidArgument, "the time is out of the calendar")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime {
        DateTime::parse_rfc3339_str(text).unwrap()
    }

    #[test]
    fn periods_in_utc() {
        let time = at("2024-02-29T13:07:59Z");
        for (unit, start, next, label) in [
            (
                Unit::Minute,
                "2024-02-29T13:07:00Z",
                "2024-02-29T13:08:00Z",
                "2024-02-29+13:07",
            ),
            (
                Unit::Hour,
                "2024-02-29T13:00:00Z",
                "2024-02-29T14:00:00Z",
                "2024-02-29+13",
            ),
            (
                Unit::Day,
                "2024-02-29T00:00:00Z",
                "2024-03-01T00:00:00Z",
                "2024-02-29",
            ),
            (
                Unit::Week,
                "2024-02-26T00:00:00Z",
                "2024-03-04T00:00:00Z",
                "2024-02-26",
            ),
            (
                Unit::Month,
                "2024-02-01T00:00:00Z",
                "2024-03-01T00:00:00Z",
                "2024-02",
            ),
            (Unit::Year, "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z", "2024"),
        ] {
            assert_eq!(Zone::UTC.start(unit, time).unwrap(), at(start));
            assert_eq!(Zone::UTC.next(unit, time).unwrap(), at(next));
            assert_eq!(Zone::UTC.label(unit, time).unwrap(), label);
        }
        let slot = |outer, unit| Zone::UTC.slot(outer, unit, time).unwrap();
        assert_eq!(slot(Some(Unit::Year), Unit::Day), 60);
        assert_eq!(slot(Some(Unit::Week), Unit::Day), 4);
        assert_eq!(slot(Some(Unit::Month), Unit::Day), 29);
        assert_eq!(slot(Some(Unit::Day), Unit::Minute), 787);
        assert_eq!(slot(Some(Unit::Hour), Unit::Minute), 7);
        assert_eq!(slot(None, Unit::Year), 2024);
    }

    #[test]
    fn times_beyond_the_calendar_are_refused() {
        for time in [DateTime::MIN, DateTime::MAX] {
            assert!(Zone::UTC.start(Unit::Day, time).is_err());
        }
        assert!(Zone::fixed(100_000).is_err());
        assert!(Zone::fixed(-12 * 3600).is_ok());
    }

    #[cfg(feature = "zones")]
    #[test]
    fn days_of_23_and_25_hours() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        for (noon, hours) in [
            ("2026-03-29T12:00:00Z", 23),
            ("2026-10-25T12:00:00Z", 25),
            ("2026-06-01T12:00:00Z", 24),
        ] {
            let mut hour = berlin.start(Unit::Day, at(noon)).unwrap();
            let end = berlin.next(Unit::Day, at(noon)).unwrap();
            let mut slots = Vec::new();
            while hour < end {
                slots.push(berlin.slot(Some(Unit::Day), Unit::Hour, hour).unwrap());
                hour = berlin.next(Unit::Hour, hour).unwrap();
            }
            assert_eq!(slots, (0..hours).collect::<Vec<_>>());
        }
        assert!(Zone::named("Europe/Nowhere").is_err());
    }

    /// Walks through all periods of a unit from one time to another: each begins where the one before it ends, and all that
    /// is in it has its beginning, its end and its label.
    #[cfg(feature = "zones")]
    fn walk(zone: &Zone, unit: Unit, from: &str, to: &str) -> Vec<String> {
        let (mut start, to) = (zone.start(unit, at(from)).unwrap(), at(to));
        let mut labels = Vec::new();
        while start < to {
            let end = zone.next(unit, start).unwrap();
            let label = zone.label(unit, start).unwrap();
            assert!(end > start, "{label}");
            let step = (end.timestamp_millis() - start.timestamp_millis()).min(60_000);
            let mut time = start.timestamp_millis();
            while time < end.timestamp_millis() {
                let within = DateTime::from_millis(time);
                assert_eq!(zone.start(unit, within).unwrap(), start, "{label} {within}");
                assert_eq!(zone.next(unit, within).unwrap(), end, "{label} {within}");
                assert_eq!(zone.label(unit, within).unwrap(), label, "{within}");
                time += step;
            }
            labels.push(label);
            start = end;
        }
        labels
    }

    #[cfg(feature = "zones")]
    #[test]
    fn periods_do_not_overlap_where_midnight_comes_twice() {
        for (name, from, to, days) in [
            // From 00:01 back to 23:01.
            (
                "America/St_Johns",
                "2010-11-06T02:30:00Z",
                "2010-11-09T03:30:00Z",
                &[24, 25, 24][..],
            ),
            (
                "America/Moncton",
                "2005-10-29T03:00:00Z",
                "2005-11-01T04:00:00Z",
                &[24, 25, 24],
            ),
            // From 02:00 back to 23:00.
            (
                "Antarctica/Casey",
                "2010-03-03T13:00:00Z",
                "2010-03-06T16:00:00Z",
                &[24, 27, 24],
            ),
            // From 01:00 back to midnight.
            (
                "America/Havana",
                "1999-10-30T04:00:00Z",
                "1999-11-02T05:00:00Z",
                &[24, 25, 24],
            ),
        ] {
            let zone = Zone::named(name).unwrap();
            let hours = walk(&zone, Unit::Hour, from, to);
            let of_days = walk(&zone, Unit::Day, from, to);
            let expected = of_days
                .iter()
                .zip(days)
                .flat_map(|(day, hours)| (0..*hours).map(move |hour| format!("{day}+{hour:02}")));
            assert_eq!(hours, expected.collect::<Vec<_>>(), "{name}");
            assert_eq!(of_days.len(), days.len(), "{name}");
            walk(&zone, Unit::Minute, from, to);
            for unit in [Unit::Week, Unit::Month, Unit::Year] {
                let mut start = zone.start(unit, at(from)).unwrap();
                while start < at(to) {
                    let next = zone.next(unit, start).unwrap();
                    assert!(next > start);
                    assert_eq!(zone.start(unit, start).unwrap(), start);
                    start = next;
                }
            }
        }
        // What was counted a minute behind the first midnight is in a day, in an hour of it, and in no other.
        let zone = Zone::named("America/St_Johns").unwrap();
        let time = at("2010-11-07T02:40:00Z");
        assert_eq!(zone.label(Unit::Hour, time).unwrap(), "2010-11-07+00");
        assert_eq!(zone.slot(Some(Unit::Day), Unit::Hour, time).unwrap(), 0);
        assert_eq!(zone.slot(Some(Unit::Month), Unit::Day, time).unwrap(), 7);
        assert_eq!(zone.next(Unit::Day, time).unwrap(), at("2010-11-08T03:30:00Z"));
    }

    #[cfg(feature = "zones")]
    #[test]
    fn a_day_without_midnight_begins_with_the_jump() {
        // From 23:30 to 00:30.
        let toronto = Zone::named("America/Toronto").unwrap();
        let jump = at("1919-03-31T04:30:00Z");
        assert_eq!(
            toronto.start(Unit::Day, at("1919-03-31T04:40:00Z")).unwrap(),
            jump
        );
        let days = walk(
            &toronto,
            Unit::Day,
            "1919-03-30T05:00:00Z",
            "1919-04-02T04:00:00Z",
        );
        assert_eq!(days, ["1919-03-30", "1919-03-31", "1919-04-01"]);
        walk(
            &toronto,
            Unit::Hour,
            "1919-03-30T05:00:00Z",
            "1919-04-02T04:00:00Z",
        );
        // From midnight to 01:00.
        let cairo = Zone::named("Africa/Cairo").unwrap();
        let start = cairo.start(Unit::Day, at("2024-04-26T12:00:00Z")).unwrap();
        assert_eq!(start, at("2024-04-25T22:00:00Z"));
        walk(&cairo, Unit::Hour, "2024-04-25T00:00:00Z", "2024-04-27T00:00:00Z");
    }

    #[cfg(feature = "zones")]
    #[test]
    fn a_day_that_was_left_out_has_no_periods() {
        // Samoa had no 30 December 2011.
        let apia = Zone::named("Pacific/Apia").unwrap();
        let day = apia.start(Unit::Day, at("2011-12-30T09:00:00Z")).unwrap();
        assert_eq!(apia.label(Unit::Day, day).unwrap(), "2011-12-29");
        let next = apia.next(Unit::Day, day).unwrap();
        assert_eq!(apia.label(Unit::Day, next).unwrap(), "2011-12-31");
    }
}
