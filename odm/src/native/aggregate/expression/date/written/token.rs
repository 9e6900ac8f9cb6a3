//! A piece of a text that is a date, a time or a zone, and how its parts are read.

use super::Written;
use super::offset::offset;
use super::relative::{self, Anchor};

/// The bytes of a token, up to where they were read.
pub(super) struct Token<'a> {
    rest: &'a [u8],
}

/// A part of a token: what it sets of a date.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// There may be one date.
    StartDate,
    /// There may be one time; it is midnight to begin with.
    StartTime,
    /// A year of up to four digits; fewer than four are of the years around 2000.
    Year,
    /// The same where a slash comes before it, and the year that was read before where not.
    YearBehindSlash,
    /// A year of two digits.
    ShortYear,
    /// A year of up to so many digits with a sign.
    SignedYear(usize),
    Month,
    MonthName,
    Day,
    /// A day with `st`, `nd`, `rd` or `th`.
    DayOfText,
    FirstDay,
    /// A day as a number from the first of January.
    DayOfYear,
    IsoWeek,
    Hour,
    Minute,
    Second,
    SecondBehindColon,
    Fraction,
    Meridian,
    /// The rest of the token, if there is one.
    Zone,
    /// A token of its own; there may be one.
    OnlyZone,
    /// Four digits: a time, or a year where there is a time already.
    HourAndMinute,
    /// Midnight, and so many days later.
    Midnight(i64),
    Noon,
    Epoch,
    EpochWithFraction,
    AnchorOfMonth,
    BackOrFront,
    WeekdayOfMonth,
    Weekday,
    RelativeNumber,
    RelativeText,
    RelativeWeek,
    Ago,
}

type Outcome = Result<(), &'static str>;

impl<'a> Token<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Token<'a> {
        // A token may end with the end of the text, which is no character.
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Token {
            rest: bytes.get(..length).unwrap_or_default(),
        }
    }

    pub(super) fn next(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn is_next(&self, bytes: &[u8]) -> bool {
        self.next().is_some_and(|next| bytes.contains(&next))
    }

    pub(super) fn skip(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
    }

    pub(super) fn skip_any_of(&mut self, bytes: &[u8]) {
        while self.is_next(bytes) {
            self.skip(1);
        }
    }

    /// The bytes up to where the test fails.
    pub(super) fn take_while(&mut self, test: impl Fn(u8) -> bool) -> &'a [u8] {
        let length = self
            .rest
            .iter()
            .position(|byte| !test(*byte))
            .unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn skip_day_suffix(&mut self) {
        let next = self.rest.get(..2).map(<[u8]>::to_ascii_lowercase);
        if matches!(next.as_deref(), Some(b"st" | b"nd" | b"rd" | b"th")) {
            self.skip(2);
        }
    }

    pub(super) fn word(&mut self) -> String {
        let letters = self.take_while(|byte| byte.is_ascii_alphabetic());
        String::from_utf8_lossy(letters).to_ascii_lowercase()
    }

    /// The next digits, up to so many, behind whatever comes before them. Nothing is read where there are none.
    fn digits(&mut self, most: usize) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(u8::is_ascii_digit)?;
        self.skip(start);
        let mut room = most;
        let length = self
            .rest
            .iter()
            .position(|byte| {
                let ends = room == 0 || !byte.is_ascii_digit();
                room = room.saturating_sub(1);
                ends
            })
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(digits)
    }

    /// The next number of up to so many digits.
    pub(super) fn number(&mut self, most: usize) -> Option<i64> {
        self.digits(most).map(value)
    }

    /// The same with its signs, of which the first one counts.
    pub(super) fn signed_number(&mut self, most: usize) -> Result<i64, &'static str> {
        self.take_while(|byte| !byte.is_ascii_digit() && byte != b'+' && byte != b'-');
        let signs = self.take_while(|byte| byte == b'+' || byte == b'-');
        let number = self.number(most).ok_or("Found unexpected data")?;
        Ok(if signs.first() == Some(&b'-') {
            -number
        } else {
            number
        })
    }

    fn year(&mut self, most: usize) -> Option<i64> {
        let digits = self.digits(most)?;
        let year = value(digits);
        Some(match (digits.len(), year) {
            (..4, ..70) => year + 2000,
            (..4, ..100) => year + 1900,
            _ => year,
        })
    }

    fn month_name(&mut self) -> Option<i64> {
        const NAMES: [&str; 12] = [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ];
        const ROMAN: [&str; 12] = [
            "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii",
        ];
        self.skip_any_of(b" \t-./");
        let word = self.word();
        let index = NAMES
            .iter()
            .position(|name| *name == word || name.get(..3) == Some(word.as_str()))
            .or_else(|| ROMAN.iter().position(|roman| *roman == word))
            .or((word == "sept").then_some(8))?;
        Some(index as i64 + 1)
    }

    /// Microseconds of the digits behind a point.
    fn fraction(&mut self) -> i64 {
        self.skip(1);
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        let six = digits.iter().copied().chain(std::iter::repeat(b'0')).take(6);
        value(&six.collect::<Vec<_>>())
    }

    /// How many hours later the half of the day makes an hour.
    fn meridian(&mut self, hour: i64) -> i64 {
        self.take_while(|byte| !b"AaPp".contains(&byte));
        let half = self.next().map(|byte| byte.to_ascii_lowercase());
        self.skip(self.rest.len());
        match (half, hour) {
            (Some(b'a'), 12) => -12,
            (Some(b'p'), hour) if hour != 12 => 12,
            _ => 0,
        }
    }
}

/// The value of digits; the greatest there is if it is beyond that.
fn value(digits: &[u8]) -> i64 {
    digits.iter().fold(0_i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    })
}

impl Part {
    /// Reads it from the token.
    pub(super) fn read(self, token: &mut Token<'_>, written: &mut Written) -> Outcome {
        match self {
            Part::StartDate => written.start_date()?,
            Part::StartTime => written.start_time()?,
            Part::Year => written.year = token.year(4),
            Part::YearBehindSlash => {
                if token.next() == Some(b'/') {
                    written.year = token.year(4);
                }
            }
            Part::ShortYear => written.year = token.year(2),
            Part::SignedYear(most) => written.year = Some(token.signed_number(most)?),
            Part::Month => written.month = token.number(2),
            Part::MonthName => written.month = Some(token.month_name().unwrap_or(0)),
            Part::Day => written.day = token.number(2),
            Part::DayOfText => {
                written.day = token.number(2);
                token.skip_day_suffix();
            }
            Part::FirstDay => written.day = Some(1),
            Part::DayOfYear => (written.month, written.day) = (Some(1), token.number(3)),
            Part::IsoWeek => relative::iso_week(token, written),
            Part::Hour => written.hour = token.number(2).or(written.hour),
            Part::Minute => written.minute = token.number(2).or(written.minute),
            Part::Second => written.second = token.number(2).or(written.second),
            Part::SecondBehindColon => {
                if token.next() == Some(b':') {
                    written.second = token.number(2).or(written.second);
                }
            }
            Part::Fraction => {
                if token.is_next(b".:") {
                    written.fraction = Some(token.fraction());
                }
            }
            Part::Meridian => {
                let hour = written.hour.unwrap_or(0);
                written.hour = Some(hour + token.meridian(hour));
            }
            Part::Zone => {
                if token.next().is_some() {
                    return zone(token, written);
                }
            }
            Part::OnlyZone => {
                written.start_zone()?;
                return zone(token, written);
            }
            Part::HourAndMinute => return hour_and_minute(token, written),
            Part::Midnight(days) => {
                written.clear_time();
                if days != 0 {
                    written.relative.days = days;
                }
            }
            Part::Noon => {
                written.clear_time();
                written.start_time()?;
                written.hour = Some(12);
            }
            Part::Epoch => return epoch(token, written),
            Part::EpochWithFraction => return epoch_with_fraction(token, written),
            Part::AnchorOfMonth => {
                written.clear_time();
                let is_last = token.is_next(b"lL");
                written.relative.anchor = Some(if is_last {
                    Anchor::LastDay
                } else {
                    Anchor::FirstDay
                });
            }
            Part::BackOrFront => return back_or_front(token, written),
            Part::WeekdayOfMonth => relative::weekday_of_month(token, written),
            Part::Weekday => relative::weekday(token, written),
            Part::RelativeNumber => return relative::number(token, written),
            Part::RelativeText => relative::text(token, written),
            Part::RelativeWeek => relative::week(token, written),
            Part::Ago => written.relative.turn(),
        }
        Ok(())
    }
}

fn zone(token: &mut Token<'_>, written: &mut Written) -> Outcome {
    let (zone, _) = offset(token.rest);
    let zone = zone.ok_or("passing a time zone identifier as part of the string is not allowed")?;
    written.zone = Some(zone);
    Ok(())
}

fn hour_and_minute(token: &mut Token<'_>, written: &mut Written) -> Outcome {
    match written.times {
        0 => {
            (written.hour, written.minute) = (token.number(2), token.number(2));
            written.second = Some(0);
        }
        1 => written.year = token.number(4),
        _ => return Err("Double time specification"),
    }
    written.times += 1;
    Ok(())
}

/// Seconds since 1970.
fn epoch(token: &mut Token<'_>, written: &mut Written) -> Outcome {
    written.start_zone()?;
    written.clear_time();
    written.has_date = false;
    (written.year, written.month, written.day) = (Some(1970), Some(1), Some(1));
    written.zone = Some(super::Offset::from_seconds(0));
    let seconds = token.signed_number(24)?;
    written.relative.seconds = written.relative.seconds.saturating_add(seconds);
    Ok(())
}

fn epoch_with_fraction(token: &mut Token<'_>, written: &mut Written) -> Outcome {
    let is_negative = token.rest.get(1) == Some(&b'-');
    epoch(token, written)?;
    if token.rest.len() < 2 {
        return Err("Found unexpected data");
    }
    let microseconds = token.fraction();
    written.relative.microseconds = if is_negative { -microseconds } else { microseconds };
    Ok(())
}

/// `back of 7pm` is a quarter past seven, `front of 7pm` a quarter to.
fn back_or_front(token: &mut Token<'_>, written: &mut Written) -> Outcome {
    let is_back = token.next() == Some(b'b');
    written.clear_time();
    written.start_time()?;
    let hour = token.number(2).unwrap_or(0);
    let (hour, minute) = if is_back { (hour, 15) } else { (hour - 1, 45) };
    written.minute = Some(minute);
    written.hour = Some(match token.next() {
        Some(_) => hour + token.meridian(hour),
        None => hour,
    });
    Ok(())
}
