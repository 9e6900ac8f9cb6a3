//! What a document of counters holds.

use odm::{Error, ErrorKind, Result};

use crate::period::Unit;

/// The most numbers that one document may hold of one figure.
const MOST_SLOTS: u64 = 12_000;

/// The fields beside the figures.
const RESERVED: [&str; 6] = ["_id", "by", "from", "span", "shard", "seen"];

/// The documents of one granularity: one for each period, with a total and with figures of the periods within.
///
/// `Layout::per(Unit::Month).by(Unit::Day)` is the manual's page view document: `{total: 31, days: {"1": 7, "2": 24}}`.
/// Every further level is one deeper: with `.by(Unit::Hour)` too, `hours: {"1": {"0": 3, ..}, ..}`.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Layout {
    pub(super) span: Option<Unit>,
    pub(super) total: String,
    pub(super) levels: Vec<Level>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) unit: Unit,
    pub(super) name: String,
}

impl Layout {
    /// A document for each of these periods.
    pub fn per(span: Unit) -> Layout {
        Layout {
            span: Some(span),
            total: "total".to_owned(),
            levels: Vec::new(),
        }
    }

    /// One document for all time.
    pub fn all_time() -> Layout {
        Layout {
            span: None,
            total: "total".to_owned(),
            levels: Vec::new(),
        }
    }

    /// Figures of the periods within, too, in the field `days` (`hours`, ..).
    pub fn by(self, unit: Unit) -> Layout {
        self.by_named(unit, unit.plural())
    }

    /// Figures of the periods within, in a field of this name: `daily`.
    pub fn by_named(mut self, unit: Unit, field: impl Into<String>) -> Layout {
        let name = field.into();
        self.levels.push(Level { unit, name });
        self
    }

    /// The name of the field with the total, unless it is to be `total`.
    pub fn total_named(mut self, field: impl Into<String>) -> Layout {
        self.total = field.into();
        self
    }

    /// What the documents are called in their `_id`.
    pub(super) fn name(&self) -> &'static str {
        self.span.map_or("all", Unit::name)
    }

    /// The shortest periods that it tells apart.
    pub(super) fn finest(&self) -> Option<Unit> {
        self.levels.last().map(|level| level.unit).or(self.span)
    }

    pub(super) fn check(&self, measures: &[String]) -> Result<()> {
        let mut outer = self.span;
        let mut slots = 1;
        for level in &self.levels {
            let is_within = match outer {
                None => level.unit == Unit::Year,
                Some(outer) => outer.holds(level.unit),
            };
            if !is_within {
                return Err(wrong("a level is not within the one before it", &level.name));
            }
            // What a day is made of is counted from the day's beginning.
            if level.unit < Unit::Day && outer.is_some_and(|outer| outer > Unit::Day) {
                return Err(wrong("hours and minutes need the level of days", &level.name));
            }
            slots *= most(outer, level.unit);
            outer = Some(level.unit);
        }
        if slots > MOST_SLOTS {
            return Err(wrong("a document would hold too many figures", self.name()));
        }
        let fields = self.levels.iter().map(|level| &level.name);
        let mut names: Vec<&String> = fields.chain([&self.total]).chain(measures).collect();
        for name in &names {
            let is_plain = !name.is_empty() && !name.contains(['.', '\0']) && !name.starts_with('$');
            if !is_plain || RESERVED.contains(&name.as_str()) {
                return Err(wrong("the name cannot be that of a figure", name));
            }
        }
        names.sort();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(wrong("two figures have the same name", pair[0])),
            None => Ok(()),
        }
    }
}

/// How many periods of a kind there can be in another.
fn most(outer: Option<Unit>, unit: Unit) -> u64 {
    match (outer, unit) {
        (Some(Unit::Year), Unit::Month) => 12,
        (Some(Unit::Year), Unit::Day) => 366,
        (Some(Unit::Month), Unit::Day) => 31,
        (Some(Unit::Week), Unit::Day) => 7,
        (Some(Unit::Day), Unit::Hour) => 25,
        (Some(Unit::Day), Unit::Minute) => 1_500,
        (Some(Unit::Hour), Unit::Minute) => 60,
        _ => 200,
    }
}

fn wrong(text: &'static str, name: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, text).with_path(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_nest() {
        for (layout, is_right) in [
            (Layout::per(Unit::Month).by(Unit::Day).by(Unit::Hour), true),
            (Layout::per(Unit::Day).by(Unit::Hour).by(Unit::Minute), true),
            (Layout::per(Unit::Day).by(Unit::Minute), true),
            (Layout::all_time(), true),
            (Layout::all_time().by(Unit::Year).by(Unit::Month), true),
            (Layout::all_time().by(Unit::Month), false),
            (Layout::per(Unit::Month).by(Unit::Week), false),
            (Layout::per(Unit::Month).by(Unit::Hour), false),
            (Layout::per(Unit::Day).by(Unit::Day), false),
            (
                Layout::per(Unit::Month)
                    .by(Unit::Day)
                    .by(Unit::Hour)
                    .by(Unit::Minute),
                false,
            ),
            (Layout::per(Unit::Day).by_named(Unit::Hour, "total"), false),
            (Layout::per(Unit::Day).by_named(Unit::Hour, "a.b"), false),
            (Layout::per(Unit::Day).total_named("seen"), false),
        ] {
            assert_eq!(layout.check(&[]).is_ok(), is_right, "{layout:?}");
        }
        assert!(Layout::per(Unit::Day).check(&["total".to_owned()]).is_err());
    }
}
