//! What moves a date: numbers of units, days of the week, the first and the last day of a month.

use super::super::calendar::{civil, days_of, iso_week_start};
use super::Written;
use super::token::Token;

/// How far a date is moved, and to what.
#[derive(Debug, Default)]
pub(super) struct Relative {
    years: i64,
    months: i64,
    pub(super) days: i64,
    pub(super) hours: i64,
    pub(super) minutes: i64,
    pub(super) seconds: i64,
    pub(super) microseconds: i64,
    weekday: Option<i64>,
    stay: Stay,
    pub(super) anchor: Option<Anchor>,
    special: Option<Special>,
}

/// Where a date goes that is on the day of the week it is moved to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stay {
    #[default]
    AWeekOn,
    Stays,
    /// It goes to the day in its own week.
    InItsWeek,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    FirstDay,
    LastDay,
}

/// What a text says last of these; there is one.
#[derive(Clone, Copy, Debug)]
enum Special {
    /// So many days from Monday to Friday.
    WorkingDays(i64),
    /// A day of the week counted from the start of the month.
    WeekdayFromStart,
    /// The same from its end.
    WeekdayFromEnd,
}

/// A unit of time in a text.
enum Unit {
    Microseconds(i64),
    Seconds,
    Minutes,
    Hours,
    Days(i64),
    Months,
    Years,
    Weekday(i64),
    WorkingDays,
}

fn weekday_of(word: &str) -> Option<i64> {
    let (short, rest) = word.split_at_checked(3)?;
    let (index, ends) = match short {
        "sun" => (0, ["", "day", "days"]),
        "mon" => (1, ["", "day", "days"]),
        "tue" => (2, ["", "sday", "sdays"]),
        "wed" => (3, ["", "nesday", "nesdays"]),
        "thu" => (4, ["", "rsday", "rsdays"]),
        "fri" => (5, ["", "day", "days"]),
        "sat" => (6, ["", "urday", "urdays"]),
        _ => return None,
    };
    ends.contains(&rest).then_some(index)
}

impl Unit {
    fn read(token: &mut Token<'_>) -> Option<Unit> {
        let word = token.take_while(|byte| !b" ,\t;:/.-()".contains(&byte));
        let word = std::str::from_utf8(word).ok()?.to_ascii_lowercase();
        Some(match word.as_str() {
            "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => Unit::Microseconds(1000),
            "µs" | "usec" | "usecs" | "µsec" | "µsecs" | "microsecond" | "microseconds" => {
                Unit::Microseconds(1)
            }
            "sec" | "secs" | "second" | "seconds" => Unit::Seconds,
            "min" | "mins" | "minute" | "minutes" => Unit::Minutes,
            "hour" | "hours" => Unit::Hours,
            "day" | "days" => Unit::Days(1),
            "week" | "weeks" => Unit::Days(7),
            "fortnight" | "fortnights" | "forthnight" | "forthnights" => Unit::Days(14),
            "month" | "months" => Unit::Months,
            "year" | "years" => Unit::Years,
            "weekday" | "weekdays" => Unit::WorkingDays,
            day => Unit::Weekday(weekday_of(day)?),
        })
    }
}

/// The number of a word such as `third`, and whether it is `this`.
fn number_of(token: &mut Token<'_>) -> (i64, bool) {
    token.skip_any_of(b" \t-/");
    let number = match token.word().as_str() {
        "first" | "next" => 1,
        "second" => 2,
        "third" => 3,
        "fourth" => 4,
        "fifth" => 5,
        "sixth" => 6,
        "seventh" => 7,
        "eight" | "eighth" => 8,
        "ninth" => 9,
        "tenth" => 10,
        "eleventh" => 11,
        "twelfth" => 12,
        "last" | "previous" => -1,
        "this" => return (0, true),
        _ => 0,
    };
    (number, false)
}

impl Written {
    /// Moves the date by so many of the unit that comes next.
    fn move_by(&mut self, amount: i64, stays: bool, keeps_time: bool, token: &mut Token<'_>) {
        let relative = &mut self.relative;
        let add = |part: &mut i64, factor: i64| *part = part.saturating_add(amount.saturating_mul(factor));
        match Unit::read(token) {
            Some(Unit::Microseconds(factor)) => add(&mut relative.microseconds, factor),
            Some(Unit::Seconds) => add(&mut relative.seconds, 1),
            Some(Unit::Minutes) => add(&mut relative.minutes, 1),
            Some(Unit::Hours) => add(&mut relative.hours, 1),
            Some(Unit::Days(factor)) => add(&mut relative.days, factor),
            Some(Unit::Months) => add(&mut relative.months, 1),
            Some(Unit::Years) => add(&mut relative.years, 1),
            Some(Unit::Weekday(day)) => {
                let weeks = if amount > 0 { amount - 1 } else { amount };
                relative.days = relative.days.saturating_add(weeks.saturating_mul(7));
                relative.weekday = Some(day);
                relative.stay = if stays { Stay::Stays } else { Stay::AWeekOn };
                if !keeps_time {
                    self.clear_time();
                }
            }
            Some(Unit::WorkingDays) => {
                relative.special = Some(Special::WorkingDays(amount));
                if !keeps_time {
                    self.clear_time();
                }
            }
            None => {}
        }
    }
}

/// `+2 weeks`.
pub(super) fn number(token: &mut Token<'_>, written: &mut Written) -> Result<(), &'static str> {
    let amount = token.signed_number(24)?;
    token.skip_any_of(b" \t");
    written.move_by(amount, true, true, token);
    Ok(())
}

/// `third day`, `next month`.
pub(super) fn text(token: &mut Token<'_>, written: &mut Written) {
    let (amount, stays) = number_of(token);
    token.skip_any_of(b" \t");
    written.move_by(amount, stays, false, token);
}

/// `next week`: the days of the week are those of that week.
pub(super) fn week(token: &mut Token<'_>, written: &mut Written) {
    text(token, written);
    written.relative.stay = Stay::InItsWeek;
    written.relative.weekday.get_or_insert(1);
}

/// `monday`: the next one, or the day itself.
pub(super) fn weekday(token: &mut Token<'_>, written: &mut Written) {
    written.clear_time();
    written.relative.weekday = Some(match Unit::read(token) {
        Some(Unit::Weekday(day)) => day,
        _ => 0,
    });
    if written.relative.stay != Stay::InItsWeek {
        written.relative.stay = Stay::Stays;
    }
}

/// `second monday of`.
pub(super) fn weekday_of_month(token: &mut Token<'_>, written: &mut Written) {
    let (amount, stays) = number_of(token);
    token.skip_any_of(b" \t");
    written.move_by(amount, stays || amount > 0, false, token);
    written.relative.special = Some(match amount {
        1.. => Special::WeekdayFromStart,
        _ => Special::WeekdayFromEnd,
    });
}

/// `2020-W05-3`: so many days from the first of January.
pub(super) fn iso_week(token: &mut Token<'_>, written: &mut Written) {
    let year = token.number(4).unwrap_or(0);
    let week = token.number(2).unwrap_or(0);
    let day = token.number(1).unwrap_or(1);
    (written.year, written.month, written.day) = (Some(year), Some(1), Some(1));
    written.relative.days = iso_week_start(year, week) + day - 1 - days_of(year, 1, 1);
}

impl Relative {
    /// `ago`: the other way.
    pub(super) fn turn(&mut self) {
        for part in [
            &mut self.years,
            &mut self.months,
            &mut self.days,
            &mut self.hours,
            &mut self.minutes,
            &mut self.seconds,
        ] {
            *part = part.saturating_neg();
        }
        self.weekday = self.weekday.map(|day| if day == 0 { -7 } else { -day });
        if let Some(Special::WorkingDays(days)) = &mut self.special {
            *days = -*days;
        }
    }

    /// The day a date is moved to, in days since 1970, before what is left of it in days from Monday to Friday.
    pub(super) fn day_of(&self, year: i64, month: i64, day: i64) -> i64 {
        let (mut month, mut day, mut months) = (month, day, self.months);
        if let Some(special @ (Special::WeekdayFromStart | Special::WeekdayFromEnd)) = self.special {
            let next = i64::from(matches!(special, Special::WeekdayFromEnd));
            let moved = months.clamp(-MOST_YEARS, MOST_YEARS);
            (month, day, months) = (month + moved + next, 1, 0);
        }
        (month, day) = self.anchored(month, day);
        let days = self.at_weekday(days_of(year, month, day));
        let (year, month, day) = civil(days);
        let year = year.saturating_add(self.years).clamp(-MOST_YEARS, MOST_YEARS);
        let month = i64::from(month)
            .saturating_add(months)
            .clamp(-MOST_YEARS, MOST_YEARS);
        let day = i64::from(day)
            .saturating_add(self.days)
            .clamp(-MOST_DAYS, MOST_DAYS);
        let (month, day) = self.anchored(month, day);
        days_of(year, month, day)
    }

    fn anchored(&self, month: i64, day: i64) -> (i64, i64) {
        match self.anchor {
            None => (month, day),
            Some(Anchor::FirstDay) => (month, 1),
            Some(Anchor::LastDay) => (month + 1, 0),
        }
    }

    /// The day moved to the day of the week.
    fn at_weekday(&self, days: i64) -> i64 {
        let Some(mut weekday) = self.weekday else {
            return days;
        };
        // 1970-01-01 was a Thursday.
        let today = (days + 4).rem_euclid(7);
        if self.stay == Stay::InItsWeek {
            if today == 0 && weekday != 0 {
                weekday -= 7;
            } else if weekday == 0 && today != 0 {
                weekday = 7;
            }
            return days - today + weekday;
        }
        if weekday < 0 {
            return days - (7 - (weekday.abs() - today));
        }
        let mut distance = weekday - today;
        let least = if self.stay == Stay::Stays { 0 } else { 1 };
        if (self.days < 0 && distance < 0) || (self.days >= 0 && distance < least) {
            distance += 7;
        }
        days + distance
    }

    /// How many days there are from a day to the one so many days from Monday to Friday later.
    pub(super) fn working_days(&self, days: i128) -> i64 {
        let Some(Special::WorkingDays(count)) = self.special else {
            return 0;
        };
        let today = (days + 4).rem_euclid(7) as i64;
        let (weeks, rest) = (count / 5, count % 5);
        let over_weekend = match (count > 0, rest, today) {
            (true, 0, 0) => -2,
            (true, 0, 6) => -1,
            (true, 0, _) => 0,
            (true, _, 6) => 1,
            (true, rest, today) if today + rest > 5 => 2,
            (false, 0, 6) => 2,
            (false, 0, 0) => 1,
            (false, 0, _) => 0,
            (false, _, 0) => -1,
            (false, rest, today) if today + rest < 1 => -2,
            _ => 0,
        };
        weeks * 7 + over_weekend + rest
    }
}

/// Beyond any year and any day of a date, and far from where arithmetic ends.
pub(super) const MOST_YEARS: i64 = 1 << 40;
const MOST_DAYS: i64 = 1 << 50;
