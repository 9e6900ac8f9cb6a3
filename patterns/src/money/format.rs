//! Amounts for people.

use super::amount::Money;
use super::currency::Currency;
use super::error::MoneyError;
use super::form::Form;

/// How amounts are written and read: marks, groups, and where the currency stands. Not a locale's data, which a program
/// takes from where it takes its other texts.
///
/// ```
/// use odm_patterns::money::{Currency, Format, Money};
///
/// let german = Format::new().decimal_mark(',').group_mark('.').symbol_behind("€");
/// let price: Money = "-1234567.89 EUR".parse()?;
/// assert_eq!(german.show(&price), "-1.234.567,89 €");
/// assert_eq!(german.read::<_>("-1.234.567,89 €", Currency::EUR)?, price);
/// # Ok::<(), odm_patterns::money::MoneyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    decimal: char,
    group: Option<char>,
    before: String,
    behind: String,
    parentheses: bool,
}

impl Default for Format {
    fn default() -> Format {
        Format::new()
    }
}

impl Format {
    /// `-1234.50`, with a point and nothing else.
    pub fn new() -> Format {
        Format {
            decimal: '.',
            group: None,
            before: String::new(),
            behind: String::new(),
            parentheses: false,
        }
    }

    /// What stands between whole units and parts of them: a point unless said otherwise.
    #[must_use]
    pub fn decimal_mark(mut self, mark: char) -> Format {
        self.decimal = mark;
        self
    }

    /// What stands between groups of three digits: nothing unless said otherwise.
    #[must_use]
    pub fn group_mark(mut self, mark: char) -> Format {
        self.group = Some(mark);
        self
    }

    /// What stands directly before the digits: `$`.
    #[must_use]
    pub fn symbol_before(mut self, symbol: &str) -> Format {
        self.before = symbol.to_owned();
        self
    }

    /// What stands behind the digits and a space: `€`.
    #[must_use]
    pub fn symbol_behind(mut self, symbol: &str) -> Format {
        self.behind = format!(" {symbol}");
        self
    }

    /// Amounts below 0 stand in parentheses instead of behind a minus.
    #[must_use]
    pub fn negative_in_parentheses(mut self) -> Format {
        self.parentheses = true;
        self
    }

    /// The amount as text.
    pub fn show<F>(&self, money: &Money<F>) -> String {
        let text = money.amount().abs().to_string();
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (text.as_str(), None),
        };
        let mut shown = self.before.clone();
        for (at, digit) in whole.chars().enumerate() {
            if let Some(mark) = self.group
                && at > 0
                && (whole.len() - at).is_multiple_of(3)
            {
                shown.push(mark);
            }
            shown.push(digit);
        }
        if let Some(fraction) = fraction {
            shown.push(self.decimal);
            shown.push_str(fraction);
        }
        shown.push_str(&self.behind);
        match (money.side().is_lt(), self.parentheses) {
            (false, _) => shown,
            (true, false) => format!("-{shown}"),
            (true, true) => format!("({shown})"),
        }
    }

    /// The amount that such a text means. Group marks may be left out, but not stand in the wrong place, since a comma for
    /// a point is a factor of a thousand.
    ///
    /// # Errors
    /// `Malformed` for any other text; `ExcessPrecision`, `Overflow` and `NoMinorUnit` by the form.
    pub fn read<F: Form>(&self, text: &str, currency: Currency) -> Result<Money<F>, MoneyError> {
        let malformed = || MoneyError::malformed(text);
        let (is_negative, rest) = match self.parentheses {
            true => match text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
                Some(rest) => (true, rest),
                None => (false, text),
            },
            false => match text.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, text),
            },
        };
        let rest = rest
            .strip_prefix(self.before.as_str())
            .and_then(|rest| rest.strip_suffix(self.behind.as_str()))
            .ok_or_else(malformed)?;
        let (whole, fraction) = match rest.split_once(self.decimal) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (rest, None),
        };
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if fraction.is_some_and(|fraction| !digits(fraction)) {
            return Err(malformed());
        }
        let whole = match self.group.filter(|mark| whole.contains(*mark)) {
            Some(mark) => {
                let groups: Vec<&str> = whole.split(mark).collect();
                let right = groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3);
                match right && groups.iter().all(|group| digits(group)) {
                    true => groups.concat(),
                    false => return Err(malformed()),
                }
            }
            None if digits(whole) => whole.to_owned(),
            None => return Err(malformed()),
        };
        let sign = if is_negative { "-" } else { "" };
        let plain = format!("{sign}{whole}.{}", fraction.unwrap_or_default());
        Money::new(plain.parse()?, currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_go_there_and_back() {
        let formats = [
            Format::new(),
            Format::new().group_mark(','),
            Format::new()
                .decimal_mark(',')
                .group_mark('\u{202f}')
                .symbol_behind("€"),
            Format::new()
                .group_mark(',')
                .symbol_before("$")
                .negative_in_parentheses(),
        ];
        for format in formats {
            for units in [0, 1, -1, 99, 100, -12345, 123_456_789, i64::MIN, i64::MAX] {
                let money: Money = Money::of_units(units, Currency::USD).unwrap();
                let shown = format.show(&money);
                assert_eq!(format.read(&shown, Currency::USD), Ok(money), "{shown}");
            }
        }
        let dollars = Format::new()
            .group_mark(',')
            .symbol_before("$")
            .negative_in_parentheses();
        assert_eq!(
            dollars.show(&"-1234.5 USD".parse::<Money>().unwrap()),
            "($1,234.50)"
        );
    }

    #[test]
    fn a_comma_in_the_wrong_place_is_no_thousand() {
        let format = Format::new().group_mark(',');
        for text in [
            "9,99",
            "1,2345",
            "12345,678",
            ",123",
            "1,,000",
            "1.",
            ".5",
            "",
            "-",
            "1 000",
            "$5",
            "1.2.3",
            "--1",
            "١",
        ] {
            assert!(
                format.read::<crate::money::Minor>(text, Currency::USD).is_err(),
                "{text}"
            );
        }
        for text in ["1,234.50", "1234.50", "1,234,567"] {
            assert!(
                format.read::<crate::money::Minor>(text, Currency::USD).is_ok(),
                "{text}"
            );
        }
    }
}
