//! Dates as people write them, in the many forms that MongoDB reads without a format: a text is cut into tokens, each
//! the longest that any form takes, and each token sets or moves parts of the date.

mod forms;
mod offset;
mod relative;
mod token;

use super::super::super::super::fault::{Fault, Result};
use super::CONVERSION_FAILURE;
use super::calendar::days_in;

pub(super) use self::offset::{Offset, offset};
use self::relative::{MOST_YEARS, Relative};
use self::token::Token;

/// The fraction of a second, in microseconds, where a time is given by a form that says nothing of it. The server
/// forgets to clear it.
const FORGOTTEN: i64 = -99_999;

/// What was read of a date so far.
#[derive(Debug, Default)]
struct Written {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    /// Microseconds.
    fraction: Option<i64>,
    has_date: bool,
    /// How often a time was given; a second one without colons may be a year.
    times: u8,
    has_zone: bool,
    zone: Option<Offset>,
    relative: Relative,
}

/// A moment by the clock of a place.
#[derive(Debug)]
pub(super) struct Moment {
    /// Seconds since 1970 by that clock.
    pub(super) seconds: i128,
    pub(super) microseconds: i64,
    /// The place, if the text names one.
    pub(super) zone: Option<Offset>,
}

/// Reads a date in one of the usual forms; code 241 if it is none.
pub(super) fn read(text: &str) -> Result<Moment> {
    if text.is_empty() {
        return Err(wrong(text, 0, "Empty string"));
    }
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\x0B';
    let trimmed = match text.trim_matches(is_space) {
        // The server leaves the last byte.
        "" => &text[text.len() - 1..],
        trimmed => trimmed,
    };
    let Some(forms) = forms::FORMS.as_ref() else {
        return Err(wrong(text, 0, "Unexpected character"));
    };
    // The end of the text is a character of its own, which ends words.
    let mut bytes = trimmed.as_bytes().to_vec();
    bytes.push(0);
    let mut written = Written::default();
    // As on the server, all that is wrong is told: what comes behind it is read as if it were not there.
    let (mut problems, mut warnings, mut has_warned) = (String::new(), String::new(), false);
    let mut at = 0;
    while at < bytes.len() {
        let Some(found) = forms.longest(&bytes, at) else {
            note(&mut problems, trimmed, at, "Unexpected character");
            let unread = trimmed.get(at..).and_then(|rest| rest.chars().next());
            at += unread.map_or(1, char::len_utf8);
            continue;
        };
        let mut token = Token::new(bytes.get(at..found.end).unwrap_or_default());
        let read = found
            .parts
            .iter()
            .try_for_each(|part| part.read(&mut token, &mut written));
        match read {
            Ok(()) => {}
            // That there is another zone is a warning once, and an error from then on.
            Err(DOUBLE_ZONE) if !has_warned => {
                has_warned = true;
                note(&mut warnings, trimmed, at, DOUBLE_ZONE);
            }
            Err(problem) => note(&mut problems, trimmed, at, problem),
        }
        at = found.end;
    }
    if let Some(problem) = written.impossible() {
        note(&mut warnings, trimmed, trimmed.len() + 1, problem);
    }
    problems.push_str(&warnings);
    match problems.is_empty() {
        true => written.moment(text),
        false => Err(all_wrong(text, &problems)),
    }
}

const DOUBLE_ZONE: &str = "Double timezone specification";

/// Adds what is wrong at a place in the text.
pub(super) fn note(problems: &mut String, text: &str, at: usize, problem: &str) {
    let found = text.get(at..).and_then(|rest| rest.chars().next());
    let found = found.unwrap_or('\0');
    problems.push_str(&format!("; {at}: {problem} '{found}'"));
}

/// The refusal of a text for all that is wrong in it.
pub(super) fn all_wrong(text: &str, problems: &str) -> Fault {
    Fault::new(
        CONVERSION_FAILURE,
        format!("Error parsing date string '{text}'{problems}"),
    )
}

/// The refusal of a text that does not say all of a date.
pub(super) fn incomplete(text: &str) -> Fault {
    Fault::new(
        CONVERSION_FAILURE,
        format!("an incomplete date/time string has been found, with elements missing: \"{text}\""),
    )
}

fn wrong(text: &str, at: usize, problem: &str) -> Fault {
    let mut problems = String::new();
    note(&mut problems, text, at, problem);
    all_wrong(text, &problems)
}

impl Written {
    /// Starts a date; there may be one.
    fn start_date(&mut self) -> Result<(), &'static str> {
        if self.has_date {
            return Err("Double date specification");
        }
        self.has_date = true;
        Ok(())
    }

    /// Starts a time; there may be one.
    fn start_time(&mut self) -> Result<(), &'static str> {
        if self.times > 0 {
            return Err("Double time specification");
        }
        self.clear_time();
        self.times = 1;
        Ok(())
    }

    fn start_zone(&mut self) -> Result<(), &'static str> {
        if self.has_zone {
            return Err(DOUBLE_ZONE);
        }
        self.has_zone = true;
        Ok(())
    }

    /// Midnight, whatever was read.
    fn clear_time(&mut self) {
        self.times = 0;
        (self.hour, self.minute, self.second, self.fraction) = (Some(0), Some(0), Some(0), Some(0));
    }

    /// What is no time or no date of what was read.
    fn impossible(&self) -> Option<&'static str> {
        if self.times > 0
            && let (Some(hour), Some(minute), Some(second)) = (self.hour, self.minute, self.second)
            && !((0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second))
        {
            return Some("The parsed time was invalid");
        }
        if self.has_date
            && let (Some(year), Some(month), Some(day)) = (self.year, self.month, self.day)
        {
            let is_day = |month| (1..=days_in(year.rem_euclid(400), month)).contains(&day);
            if !((1..=12).contains(&month) && is_day(month)) {
                return Some("The parsed date was invalid");
            }
        }
        None
    }

    /// The moment that was read, of a text that says all that is needed for one.
    fn moment(self, text: &str) -> Result<Moment> {
        let (mut time, mut fraction) = (
            (self.hour, self.minute, self.second),
            self.fraction.unwrap_or(FORGOTTEN),
        );
        if let (None, None, None) = time {
            (time, fraction) = ((Some(0), Some(0), Some(0)), 0);
        }
        let ((Some(year), Some(month), Some(day)), (Some(hour), Some(minute), Some(second))) =
            ((self.year, self.month, self.day), time)
        else {
            return Err(incomplete(text));
        };
        let relative = &self.relative;
        // Far beyond any date, and far from where arithmetic ends.
        let days = relative.day_of(year.clamp(-MOST_YEARS, MOST_YEARS), month, day);
        let seconds = i128::from(days) * 86_400
            + (i128::from(hour) + i128::from(relative.hours)) * 3600
            + (i128::from(minute) + i128::from(relative.minutes)) * 60
            + i128::from(second)
            + i128::from(relative.seconds);
        let working_days = relative.working_days(seconds.div_euclid(86_400));
        Ok(Moment {
            seconds: seconds + i128::from(working_days) * 86_400,
            microseconds: fraction.saturating_add(relative.microseconds),
            zone: self.zone,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<i128> {
        let moment = read(text).ok()?;
        let zone = moment.zone.map_or(0, |zone| zone.seconds);
        Some(moment.seconds - i128::from(zone))
    }

    #[test]
    fn many_forms_are_dates() {
        for (text, expected) in [
            ("2017-07-04", 1_499_126_400),
            ("2017-07-04T11:56:02Z", 1_499_169_362),
            ("20170704T115602", 1_499_169_362),
            ("Tue Jul  4 11:56:02 UTC 2017", 1_499_169_362),
            ("04/Jul/2017:11:56:02 +0200", 1_499_162_162),
            ("July 4th, 2017 3pm", 1_499_180_400),
            ("4-VII-2017", 1_499_126_400),
            ("2017W273", 1_499_212_800),
            ("@1234567890", 1_234_567_890),
            ("first monday of july 2017", 1_499_040_000),
            ("last day of february 2017", 1_488_240_000),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in [
            "",
            "July 4th",
            "2017-02-30",
            "2017-07-04 24:00",
            "2017-07-04 x1",
            "now",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
