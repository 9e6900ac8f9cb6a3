//! Units of measure.

use std::collections::BTreeMap;

/// How units convert: the user's own table.
///
/// ```
/// use odm_patterns::attributes::Units;
///
/// let units = Units::new()
///     .unit("kg", "mass", 1.0)
///     .unit("g", "mass", 0.001)
///     .shifted("°C", "temperature", 1.0, 273.15)
///     .unit("K", "temperature", 1.0);
/// assert_eq!(units.convert(1500.0, "g", "kg"), Some(1.5));
/// assert_eq!(units.convert(20.0, "°C", "K"), Some(293.15));
/// assert_eq!(units.convert(20.0, "°C", "kg"), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Units {
    by_name: BTreeMap<String, Unit>,
}

#[derive(Clone, Debug, PartialEq)]
struct Unit {
    dimension: String,
    factor: f64,
    offset: f64,
}

impl Units {
    /// No units.
    pub fn new() -> Units {
        Units::default()
    }

    /// A unit of a dimension (`mass`), of which one is so much of the dimension's base unit, whose factor is 1.
    pub fn unit(self, name: impl Into<String>, dimension: impl Into<String>, factor: f64) -> Units {
        self.shifted(name, dimension, factor, 0.0)
    }

    /// A unit whose zero is elsewhere: x of it are x · factor + offset of the base unit.
    pub fn shifted(
        mut self,
        name: impl Into<String>,
        dimension: impl Into<String>,
        factor: f64,
        offset: f64,
    ) -> Units {
        let dimension = dimension.into();
        self.by_name.insert(
            name.into(),
            Unit {
                dimension,
                factor,
                offset,
            },
        );
        self
    }

    /// A number of one unit in another; `None` for unknown units, those of another dimension, and results that are no
    /// numbers.
    pub fn convert(&self, number: f64, from: &str, to: &str) -> Option<f64> {
        let (from, to) = (self.by_name.get(from)?, self.by_name.get(to)?);
        if from.dimension != to.dimension {
            return None;
        }
        if from == to {
            return Some(number).filter(|number| number.is_finite());
        }
        let base = number * from.factor + from.offset;
        Some((base - to.offset) / to.factor).filter(|number| number.is_finite())
    }

    /// How far from zero, in this unit, a conversion from any other of its dimension comes: what it may be wrong by is a part
    /// of that, however small the result is.
    pub(super) fn reach(&self, unit: &str) -> f64 {
        let Some(own) = self.by_name.get(unit) else {
            return 0.0;
        };
        let alike = self
            .by_name
            .values()
            .filter(|other| other.dimension == own.dimension);
        let farthest = alike.map(|other| other.offset.abs()).fold(0.0, f64::max);
        let reach = (own.offset.abs() + farthest) / own.factor.abs();
        if reach.is_finite() { reach } else { 0.0 }
    }

    /// Whether numbers of one unit are numbers of the other.
    pub(super) fn are_of_one_dimension(&self, one: &str, other: &str) -> bool {
        let dimension = |name| self.by_name.get(name).map(|unit: &Unit| &unit.dimension);
        dimension(one).is_some_and(|own| dimension(other) == Some(own))
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }
}
