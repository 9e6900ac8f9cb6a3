//! The options of geo indexes.

use super::super::document::display::significant;
use super::super::document::{Value, number};
use super::super::fault::{Fault, Result, code};
use super::super::geo::Grid;
use super::{IndexField, Order, Origin};

/// The options of geo indexes as written; any index may have them, without effect.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GeoOptions {
    pub(super) version: Option<i32>,
    pub(super) bits: Option<i32>,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) coarsest: Option<i32>,
    pub(super) finest: Option<i32>,
    /// Whether the version or a level has a fraction, which an index on the sphere refuses.
    inexact: bool,
    /// Whether a bound is no number, which an index of the plane refuses.
    unbounded: bool,
    /// The level that is a bool, which an index on the sphere refuses.
    no_level: Option<&'static str>,
    /// The levels as they are checked.
    levels: (Option<i32>, Option<i32>),
}

/// The levels of cells on the sphere that an index has if it does not say: of about 2000 km, and of 100 m.
const COARSEST: i32 = 2;
const FINEST: i32 = 16;

impl GeoOptions {
    pub(super) const NAMES: [&str; 6] = [
        "min",
        "max",
        "2dsphereIndexVersion",
        "bits",
        "coarsestIndexedLevel",
        "finestIndexedLevel",
    ];

    /// Takes an option, if it is one of these.
    pub(super) fn take(&mut self, name: &str, value: &Value<'_>) -> Result<bool> {
        let slot = match name {
            "min" | "max" => {
                let bound = bound(value).ok_or_else(|| no_number(name, value))?;
                let slot = if name == "min" {
                    &mut self.min
                } else {
                    &mut self.max
                };
                *slot = Some(bound);
                self.unbounded |= number::as_f64(value).is_some_and(f64::is_nan);
                return Ok(true);
            }
            "2dsphereIndexVersion" => &mut self.version,
            "bits" => &mut self.bits,
            "coarsestIndexedLevel" => &mut self.coarsest,
            "finestIndexedLevel" => &mut self.finest,
            _ => return Ok(false),
        };
        let is_level = matches!(name, "coarsestIndexedLevel" | "finestIndexedLevel");
        if is_level && !value.is_number() {
            // The server asks whether it is like a bool, and only an index on the sphere for a number.
            return match value {
                Value::Bool(_) => {
                    // That of the finest is looked at first.
                    self.no_level = match name {
                        "finestIndexedLevel" => Some("finestIndexedLevel"),
                        _ => self.no_level.or(Some("coarsestIndexedLevel")),
                    };
                    Ok(true)
                }
                other => Err(no_truth(name, other)),
            };
        }
        *slot = Some(number::as_i32_whole(value).ok_or_else(|| no_number(name, value))?);
        if is_level && let Some(number) = number::as_i64_exact(value) {
            let level = match name {
                "coarsestIndexedLevel" => &mut self.levels.0,
                _ => &mut self.levels.1,
            };
            // The server looks at the lowest bits alone.
            *level = Some(number as i32);
        }
        self.inexact |= name != "bits" && number::as_i64_exact(value).is_none();
        Ok(true)
    }

    /// Sets the version that is stored of an index on the sphere.
    pub(super) fn settle_version(&mut self, keys: &[IndexField], origin: Origin) -> Result<()> {
        if !is_spherical(keys) {
            return Ok(());
        }
        let version = match origin {
            Origin::Given | Origin::GivenToSeries => *self.version.get_or_insert(3),
            // That of a time series may have been left out on purpose.
            Origin::Stored => self.version.unwrap_or(3),
        };
        if (1..=3).contains(&version) {
            return Ok(());
        }
        Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            format!(
                "unsupported geo index version {{ 2dsphereIndexVersion : 2dsphereIndexVersion: {version} }}, \
                 only versions: [1,2,3] are supported"
            ),
        ))
    }

    /// Sets the fields' grids.
    pub(super) fn apply(&self, keys: &mut [IndexField], origin: Origin) -> Result<()> {
        if is_spherical(keys) && origin.is_given() {
            self.check_levels()?;
        }
        let flat = keys
            .iter()
            .filter(|key| matches!(key.order, Order::Flat(_)))
            .count();
        if flat == 0 {
            return Ok(());
        }
        if flat > 1 {
            return Err(Fault::new(16800, "can't have 2 geo fields"));
        }
        let Some(Order::Flat(grid)) = keys.first_mut().map(|key| &mut key.order) else {
            return Err(Fault::new(16801, "2d has to be first in index"));
        };
        *grid = self.grid(origin)?;
        Ok(())
    }

    fn grid(&self, origin: Origin) -> Result<Grid> {
        let default = Grid::default();
        let (min, max) = (self.min.unwrap_or(default.min), self.max.unwrap_or(default.max));
        let bits = match self.bits {
            None => default.bits,
            Some(bits @ 1..=32) => bits.unsigned_abs(),
            Some(bits) => {
                return Err(Fault::new(
                    code::INVALID_OPTIONS,
                    format!("bits for hash must be > 0 and <= 32, but {bits} bits were specified"),
                ));
            }
        };
        if self.unbounded || min >= max || !(max - min).is_finite() {
            return Err(Fault::new(
                code::INVALID_OPTIONS,
                format!(
                    "region for hash must be valid and have positive area, but [{}, {}] was specified",
                    significant(min, 6),
                    significant(max, 6)
                ),
            ));
        }
        if origin.is_given() {
            check_scale(min, max, bits)?;
        }
        Ok(Grid { min, max, bits })
    }

    fn check_levels(&self) -> Result<()> {
        if let Some(name) = self.no_level {
            return Err(Fault::new(
                code::TYPE_MISMATCH,
                format!("Expected field \"{name}\" to have numeric type, but found bool"),
            ));
        }
        if self.inexact {
            return Err(Fault::new(
                code::BAD_VALUE,
                "Expected the version and the levels to be exactly representable as 64-bit integers",
            ));
        }
        let (coarsest, finest) = self.levels;
        let (coarsest, finest) = (coarsest.unwrap_or(COARSEST), finest.unwrap_or(FINEST));
        if coarsest < 0 {
            return Err(Fault::new(16747, "coarsestIndexedLevel must be >= 0"));
        }
        if finest > 30 {
            return Err(Fault::new(16748, "finestIndexedLevel must be <= 30"));
        }
        if finest < coarsest {
            return Err(Fault::new(
                16749,
                "finestIndexedLevel must be >= coarsestIndexedLevel",
            ));
        }
        Ok(())
    }
}

fn is_spherical(keys: &[IndexField]) -> bool {
    keys.iter().any(|key| key.order == Order::Sphere)
}

/// A bound of the plane as the server keeps it: no decimal is below the least positive double, and what is no number is
/// zero.
fn bound(value: &Value<'_>) -> Option<f64> {
    let bound = number::as_f64(value)?;
    Some(match value {
        _ if bound.is_nan() => 0.0,
        Value::Decimal128(_) => bound.clamp(f64::MIN_POSITIVE, f64::MAX),
        _ => bound,
    })
}

/// A region can be too small to be divided, and too large for the distance of two of its parts.
fn check_scale(min: f64, max: f64, bits: u32) -> Result<()> {
    if !(2f64.powi(32) / (max - min)).is_finite() {
        return Err(Fault::new(
            code::INVALID_OPTIONS,
            format!("range [{min}, {max}] is too small."),
        ));
    }
    let side = (max - min) / 2f64.powf(bits.into());
    if !(2.0 * side * side).is_finite() {
        return Err(Fault::new(4_799_400, "Invalid GeoHashConverter parameters"));
    }
    Ok(())
}

fn no_number(name: &str, value: &Value<'_>) -> Fault {
    Fault::new(
        code::TYPE_MISMATCH,
        format!(
            "The field '{name}' must be a number, but got {}",
            value.kind().alias()
        ),
    )
}

/// What is told of a value that is to be a bool, or a number.
pub(super) fn no_truth(field: &str, value: &Value<'_>) -> Fault {
    Fault::new(
        code::TYPE_MISMATCH,
        format!("The field '{field} has value {field}: {value}, which is not convertible to bool"),
    )
}
