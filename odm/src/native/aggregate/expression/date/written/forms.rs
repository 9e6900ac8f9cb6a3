//! The forms of dates: which tokens there are, and of what parts.

use std::sync::LazyLock;

use regex_automata::meta::{Config, Regex};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use super::token::Part::{self, *};

/// All forms, as one machine that finds the longest token.
pub(super) struct Forms {
    machine: Regex,
    parts: Vec<&'static [Part]>,
}

/// A token that was found.
pub(super) struct Found {
    pub(super) end: usize,
    pub(super) parts: &'static [Part],
}

/// The forms; made at the first text that asks for them.
pub(super) static FORMS: LazyLock<Option<Forms>> = LazyLock::new(|| {
    let (patterns, parts): (Vec<_>, Vec<_>) = rules().into_iter().unzip();
    let machine = Regex::builder()
        .configure(Config::new().match_kind(MatchKind::All).utf8_empty(false))
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .build_many(&patterns)
        .ok()?;
    Some(Forms { machine, parts })
});

impl Forms {
    /// The longest token from here on; the first form of it, if it has several.
    pub(super) fn longest(&self, text: &[u8], at: usize) -> Option<Found> {
        let input = Input::new(text).range(at..).anchored(Anchored::Yes);
        let found = self.machine.search_half(&input)?;
        Some(Found {
            end: found.offset(),
            parts: self.parts.get(found.pattern().as_usize()).copied()?,
        })
    }
}

const SPACE: &str = r"[ \t]+";
const HOUR: &str = "(?:[01]?[0-9]|2[0-4])";
const HOUR_OF_TWO: &str = "(?:[01][0-9]|2[0-4])";
const HOUR_OF_HALF: &str = "(?:0?[1-9]|1[0-2])";
const MINUTE: &str = "[0-5]?[0-9]";
const MINUTE_OF_TWO: &str = "[0-5][0-9]";
const SECOND: &str = "(?:[0-5]?[0-9]|60)";
const SECOND_OF_TWO: &str = "(?:[0-5][0-9]|60)";
const MERIDIAN: &str = r"[AaPp]\.?[Mm]\.?[\x00\t ]";
const MONTH: &str = "(?:0?[0-9]|1[0-2])";
const MONTH_OF_TWO: &str = "(?:0[0-9]|1[0-2])";
const DAY: &str = "(?:(?:[0-2]?[0-9]|3[01])(?:st|nd|rd|th)?)";
const DAY_OF_TWO: &str = "(?:0[0-9]|[1-2][0-9]|3[01])";
const MONTH_SHORT: &str = "(?i:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)";
const MONTH_LONG: &str =
    "(?i:january|february|march|april|may|june|july|august|september|october|november|december)";
const MONTH_ROMAN: &str = "(?:I|II|III|IV|V|VI|VII|VIII|IX|X|XI|XII)";
const WEEKDAY: &str = "(?i:(?:sun|mon|tues|wednes|thurs|fri|satur)days?|sun|mon|tue|wed|thu|fri|sat)";
const WEEK: &str = "(?:0[1-9]|[1-4][0-9]|5[0-3])";
const ORDINAL: &str =
    "(?i:first|second|third|fourth|fifth|sixth|seventh|eighth?|ninth|tenth|eleventh|twelfth)";
const WHICH: &str = "(?i:next|last|previous|this)";

/// The patterns, the earlier of two that are as long first, with the parts of their tokens.
fn rules() -> Vec<(String, &'static [Part])> {
    let mut rules = special();
    rules.extend(times());
    rules.extend(dates());
    rules.extend(dates_with_times());
    rules.extend(words());
    rules
}

fn special() -> Vec<(String, &'static [Part])> {
    vec![
        ("(?i:yesterday)".into(), &[Midnight(-1)]),
        ("(?i:now)".into(), &[]),
        ("(?i:noon)".into(), &[Noon]),
        ("(?i:midnight|today)".into(), &[Midnight(0)]),
        ("(?i:tomorrow)".into(), &[Midnight(1)]),
        ("@-?[0-9]+".into(), &[Epoch]),
        (r"@-?[0-9]+\.[0-9]{0,6}".into(), &[EpochWithFraction]),
        ("(?i:first day of|last day of)".into(), &[AnchorOfMonth]),
        (
            format!("(?i:back of |front of ){HOUR}(?:(?:{SPACE})?{MERIDIAN})?"),
            &[BackOrFront],
        ),
        (
            format!("(?:{ORDINAL}|{WHICH}){SPACE}{WEEKDAY}{SPACE}(?i:of)"),
            &[WeekdayOfMonth],
        ),
    ]
}

/// An offset from UTC.
fn correction() -> String {
    format!(
        "(?:GMT)?[+-](?:{HOUR}(?::?{MINUTE})?|{HOUR_OF_TWO}{MINUTE_OF_TWO}{SECOND_OF_TWO}|{HOUR_OF_TWO}:{MINUTE_OF_TWO}:{SECOND_OF_TWO})"
    )
}

fn zone() -> String {
    r"\(?[A-Za-z]{1,6}\)?|[A-Z][a-z]+(?:[_/-][A-Za-z]+)+".into()
}

/// A time with a half of the day.
fn half_time() -> String {
    format!(
        "{HOUR_OF_HALF}[:.]{MINUTE_OF_TWO}(?:{SPACE})?{MERIDIAN}|{HOUR_OF_HALF}[:.]{MINUTE}[:.]{SECOND_OF_TWO}(?:{SPACE})?{MERIDIAN}"
    )
}

fn whole_time() -> String {
    format!("[tT]?{HOUR}[:.]{MINUTE}|[tT]?{HOUR}[:.]{MINUTE}[:.]{SECOND}")
}

fn times() -> Vec<(String, &'static [Part])> {
    vec![
        (
            format!("{HOUR_OF_HALF}(?:{SPACE})?{MERIDIAN}|{}", half_time()),
            &[StartTime, Hour, Minute, Second, Meridian],
        ),
        (
            format!("{HOUR_OF_HALF}:{MINUTE_OF_TWO}:{SECOND_OF_TWO}[:.][0-9]+{MERIDIAN}"),
            &[StartTime, Hour, Minute, Second, Fraction, Meridian],
        ),
        (
            format!(
                r"[tT]{HOUR}|{}|[tT]?{HOUR}[:.]{MINUTE}[:.]{SECOND}\.[0-9]+",
                whole_time()
            ),
            &[StartTime, Hour, Minute, Second, Fraction, Zone],
        ),
        (format!("[tT]?{HOUR_OF_TWO}{MINUTE_OF_TWO}"), &[HourAndMinute]),
        (
            format!("[tT]?{HOUR_OF_TWO}{MINUTE_OF_TWO}{SECOND_OF_TWO}"),
            &[StartTime, Hour, Minute, Second, Zone],
        ),
    ]
}

fn month() -> String {
    format!("(?:{MONTH_LONG}|{MONTH_SHORT}|{MONTH_ROMAN})")
}

/// A month and a day, and what separates them from what comes next.
fn day_of_month() -> String {
    format!(r"{}[ .\t-]*{DAY}(?:[,.stndrh\t ]+|\x00)", month())
}

fn dates() -> Vec<(String, &'static [Part])> {
    let month = month();
    vec![
        (
            format!("{MONTH}/{DAY}|{MONTH}/{DAY}/[0-9]{{1,4}}"),
            &[StartDate, Month, Day, YearBehindSlash],
        ),
        (
            format!(
                "[+-]?[0-9]{{4}}-{MONTH_OF_TWO}-{DAY_OF_TWO}|[0-9]{{4}}/{MONTH_OF_TWO}/{DAY_OF_TWO}/?|[0-9]{{4}}/{MONTH}/{DAY}"
            ),
            &[StartDate, SignedYear(4), Month, Day],
        ),
        (
            format!("[0-9]{{2}}-{MONTH_OF_TWO}-{DAY_OF_TWO}"),
            &[StartDate, Year, Month, Day],
        ),
        (
            format!("[+-][0-9]{{5,19}}-{MONTH_OF_TWO}-{DAY_OF_TWO}"),
            &[StartDate, SignedYear(19), Month, Day],
        ),
        (format!("[0-9]{{4}}-{MONTH}"), &[StartDate, Year, Month, FirstDay]),
        (
            format!("[0-9]{{1,4}}-{MONTH}-{DAY}"),
            &[StartDate, Year, Month, Day],
        ),
        (
            format!(r"{DAY}[ \t.-]*{month}[ \t.-]*[0-9]{{1,4}}"),
            &[StartDate, DayOfText, MonthName, Year],
        ),
        (
            format!(r"{DAY}[.\t-]{MONTH}[.-][0-9]{{4}}"),
            &[StartDate, Day, Month, Year],
        ),
        (
            format!(r"{DAY}[.\t]{MONTH}\.[0-9]{{2}}"),
            &[StartDate, Day, Month, ShortYear],
        ),
        (
            format!(r"{month}[ .\t-]*[0-9]{{4}}"),
            &[StartDate, MonthName, Year, FirstDay],
        ),
        (
            format!(r"[0-9]{{4}}[ .\t-]*{month}"),
            &[StartDate, Year, MonthName, FirstDay],
        ),
        (
            format!(
                r"{month}[ .\t-]*{DAY}[,.stndrh\t ]+[0-9]{{1,4}}|{}",
                day_of_month()
            ),
            &[StartDate, MonthName, Day, Year],
        ),
        (
            format!(r"{DAY}[ .\t-]*{month}"),
            &[StartDate, DayOfText, MonthName],
        ),
        (
            format!("[0-9]{{4}}{MONTH_OF_TWO}{DAY_OF_TWO}"),
            &[StartDate, Year, Month, Day],
        ),
    ]
}

fn dates_with_times() -> Vec<(String, &'static [Part])> {
    let correction = correction();
    let time_of_two = format!("{HOUR_OF_TWO}:{MINUTE_OF_TWO}:{SECOND_OF_TWO}");
    let forms = [
        format!("[0-9]{{4}}{MONTH_OF_TWO}{DAY_OF_TWO}T{HOUR}:{MINUTE_OF_TWO}:{SECOND_OF_TWO}"),
        format!("[0-9]{{4}}{MONTH_OF_TWO}{DAY_OF_TWO}[tT]{HOUR}{MINUTE_OF_TWO}{SECOND_OF_TWO}"),
        format!(r"[0-9]{{4}}-{MONTH_OF_TWO}-{DAY_OF_TWO}T{time_of_two}\.[0-9]+(?:{correction})?"),
        format!("[0-9]{{4}}-{MONTH}-{DAY}T{HOUR}:{MINUTE}:{SECOND}"),
        format!("[0-9]{{4}}:{MONTH_OF_TWO}:{DAY_OF_TWO} {time_of_two}"),
    ];
    vec![
        (
            forms.join("|"),
            &[
                StartTime, StartDate, Year, Month, Day, Hour, Minute, Second, Fraction, Zone,
            ],
        ),
        (
            r"[0-9]{4}[.-]?(?:00[1-9]|0[1-9][0-9]|[1-2][0-9][0-9]|3[0-5][0-9]|36[0-6])".into(),
            &[StartDate, Year, DayOfYear],
        ),
        (format!("[0-9]{{4}}-?W{WEEK}-?[0-7]"), &[StartDate, IsoWeek]),
        (format!("[0-9]{{4}}-?W{WEEK}"), &[StartDate, IsoWeek]),
        (
            format!("{MONTH_SHORT}-{DAY_OF_TWO}-[0-9]{{1,4}}"),
            &[StartDate, MonthName, Day, Year],
        ),
        (
            format!("[0-9]{{1,4}}-{MONTH_SHORT}-{DAY_OF_TWO}"),
            &[StartDate, Year, MonthName, Day],
        ),
        (
            format!("{DAY}/{MONTH_SHORT}/[0-9]{{4}}:{time_of_two}{SPACE}{correction}"),
            &[
                StartTime, StartDate, Day, MonthName, Year, Hour, Minute, Second, Zone,
            ],
        ),
    ]
}

fn words() -> Vec<(String, &'static [Part])> {
    let correction = correction();
    let day_of_month = day_of_month();
    let any_weekday = format!("(?:{WEEKDAY}|(?i:weekdays?))");
    // The two bytes of µ.
    let micro = r"\xC2\xB5";
    let unit = format!(
        "(?:(?i:ms|{micro}s|(?:msec|millisecond|{micro}sec|microsecond|usec|sec|second|min|minute|hour|day|fortnight|forthnight|month|year)s?|weeks)|{any_weekday})"
    );
    vec![
        ("[0-9]{4}".into(), &[Year]),
        ("(?i:ago)".into(), &[Ago]),
        (any_weekday, &[Weekday]),
        (format!("{WHICH}{SPACE}(?i:week)"), &[RelativeWeek]),
        (format!("(?:{ORDINAL}|{WHICH}){SPACE}{unit}"), &[RelativeText]),
        (format!("{MONTH_LONG}|{MONTH_SHORT}"), &[StartDate, MonthName]),
        (format!("{correction}|{}", zone()), &[OnlyZone]),
        (
            format!("{day_of_month}(?:{})", half_time()),
            &[
                StartDate, MonthName, Day, StartTime, Hour, Minute, Second, Fraction, Meridian,
            ],
        ),
        (
            format!(
                "{day_of_month}(?:{}|[tT]?{HOUR}[:.]{MINUTE}[:.]{SECOND_OF_TWO}(?:{SPACE})?(?:{correction}|{}))",
                whole_time(),
                zone()
            ),
            &[
                StartDate,
                MonthName,
                Day,
                StartTime,
                Hour,
                Minute,
                SecondBehindColon,
                Fraction,
                Zone,
            ],
        ),
        (
            format!(r"[+-]*[ \t]*[0-9]{{1,13}}(?:{SPACE})?(?:{unit}|(?i:week))"),
            &[RelativeNumber],
        ),
        (r"[ .,\t\n\x00]".into(), &[]),
    ]
}
