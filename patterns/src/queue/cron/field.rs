//! One field of an expression: a set of small numbers.

use odm::{Error, ErrorKind, Result};

/// What a field can hold.
#[derive(Debug)]
pub(super) struct Kind {
    pub name: &'static str,
    pub least: u8,
    pub greatest: u8,
    pub names: &'static [&'static str],
}

pub(super) const MINUTE: Kind = Kind {
    name: "minute",
    least: 0,
    greatest: 59,
    names: &[],
};
pub(super) const HOUR: Kind = Kind {
    name: "hour",
    least: 0,
    greatest: 23,
    names: &[],
};
pub(super) const DAY: Kind = Kind {
    name: "day of the month",
    least: 1,
    greatest: 31,
    names: &[],
};
pub(super) const MONTH: Kind = Kind {
    name: "month",
    least: 1,
    greatest: 12,
    names: &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
};
/// 7 is another name of Sunday.
pub(super) const WEEKDAY: Kind = Kind {
    name: "day of the week",
    least: 0,
    greatest: 7,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
};

/// The numbers that a field allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    bits: u64,
    /// Whether it begins with an asterisk, which is not a restriction.
    pub starred: bool,
    /// The last day of the month.
    pub last: bool,
}

impl Field {
    pub(super) fn has(self, number: i8) -> bool {
        u32::try_from(number).is_ok_and(|number| number < 64 && self.bits >> number & 1 == 1)
    }

    /// The numbers, rising.
    pub(super) fn numbers(self) -> impl Iterator<Item = i8> {
        (0..64_i8).filter(move |number| self.has(*number))
    }

    pub(super) fn len(self) -> u32 {
        self.bits.count_ones()
    }

    /// Reads a list of numbers, ranges and steps.
    pub(super) fn parse(text: &str, kind: &Kind) -> Result<Field> {
        let mut field = Field {
            starred: text.starts_with('*'),
            ..Field::default()
        };
        for item in text.split(',') {
            if kind.name == DAY.name && item.eq_ignore_ascii_case("l") {
                field.last = true;
                continue;
            }
            let (range, step) = match item.split_once('/') {
                None => (item, None),
                Some((range, step)) => (range, Some(number(step, kind, item)?)),
            };
            let (from, to) = match range.split_once('-') {
                _ if range == "*" => (kind.least, kind.greatest),
                Some((from, to)) => (value(from, kind, item)?, value(to, kind, item)?),
                None if step.is_some() => (value(range, kind, item)?, kind.greatest),
                None => (value(range, kind, item)?, value(range, kind, item)?),
            };
            let step = step.unwrap_or(1);
            if from > to || step == 0 {
                return Err(wrong(kind, item));
            }
            for number in (from..=to).step_by(usize::from(step)) {
                field.bits |= 1 << number;
            }
        }
        if kind.name == WEEKDAY.name && field.has(7) {
            field.bits = field.bits & !(1 << 7) | 1;
        }
        Ok(field)
    }
}

fn value(text: &str, kind: &Kind, item: &str) -> Result<u8> {
    let named = kind.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    let value = match named.and_then(|at| u8::try_from(at).ok()) {
        Some(at) if kind.least == 1 => at + 1,
        Some(at) => at,
        None => number(text, kind, item)?,
    };
    match (kind.least..=kind.greatest).contains(&value) {
        true => Ok(value),
        false => Err(wrong(kind, item)),
    }
}

fn number(text: &str, kind: &Kind, item: &str) -> Result<u8> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits => Ok(number),
        _ => Err(wrong(kind, item)),
    }
}

fn wrong(kind: &Kind, item: &str) -> Error {
    let text = format!("a cron expression has {item:?} for its {}", kind.name);
    Error::new(ErrorKind::InvalidArgument, text).with_path(kind.name)
}
