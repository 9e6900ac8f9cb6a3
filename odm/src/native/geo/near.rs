//! `$near`, `$nearSphere` and `$geoNear`: a center, and how far from it.

use super::super::document::number::as_f64;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::parse::{Parsed, embedded, is_pair, pair, point, stored};
use super::query::cap_bounds;
use super::shape::{Cap, Shape};
use super::vector::{Pair, Vector};
use super::{EARTH_RADIUS, Grid, covering, ranges};

/// A place, and how far from it documents may be.
#[derive(Clone, Debug)]
pub(crate) struct Near {
    center: Center,
    min: f64,
    max: f64,
}

#[derive(Clone, Copy, Debug)]
enum Center {
    /// In the plane; distances are in its units.
    Flat(Pair),
    /// On the sphere; distances are in radians, or in meters.
    Sphere { at: Vector, place: Pair, radians: bool },
}

/// How near a document is.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) distance: f64,
    /// The geometry that is nearest.
    pub(crate) place: Owned,
}

fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::BAD_VALUE, message)
}

/// Whether the operator is one of these.
pub(crate) fn is_near(name: &str) -> bool {
    matches!(name, "$near" | "$nearSphere" | "$geoNear")
}

impl Near {
    /// Parses the operators of a field, of which the first is one of these.
    ///
    /// # Errors
    /// 2 for what is no such query, 16893 to 16896 and 18522 for distances, 34413 for other operators.
    pub(crate) fn parse(operators: Doc<'_>) -> Result<Near> {
        let (point, spherical, min, max) = match legacy(operators)? {
            Some(found) => found,
            None => modern(operators)?,
        };
        let place = point.place().unwrap_or(Pair { x: 0.0, y: 0.0 });
        let center = if point.legacy && !spherical {
            Center::Flat(place)
        } else if !place.is_on_sphere() {
            return Err(bad("Legacy point is out of bounds for spherical query"));
        } else {
            Center::Sphere {
                at: place.to_vector(),
                place,
                radians: point.legacy,
            }
        };
        Ok(Near { center, min, max })
    }

    /// Whether a `2dsphere` index can tell.
    pub(crate) fn is_spherical(&self) -> bool {
        matches!(self.center, Center::Sphere { .. })
    }

    /// Whether it asks for a pair of numbers on the sphere.
    pub(crate) fn is_legacy_sphere(&self) -> bool {
        matches!(self.center, Center::Sphere { radians: true, .. })
    }

    /// Whether a `2d` index can tell.
    pub(crate) fn is_for_pairs(&self) -> bool {
        !matches!(self.center, Center::Sphere { radians: false, .. })
    }

    /// Whether distances are from a pair of numbers in the plane, and which.
    pub(crate) fn flat_center(&self) -> Option<Pair> {
        match self.center {
            Center::Flat(place) => Some(place),
            Center::Sphere { .. } => None,
        }
    }

    /// The same within this distance.
    pub(crate) fn within(&self, distance: f64) -> Near {
        Near {
            max: self.max.min(distance),
            ..self.clone()
        }
    }

    /// The greatest distance.
    pub(crate) fn max(&self) -> f64 {
        self.max
    }

    /// A first guess of a distance that holds some documents, to be doubled; the last one holds all.
    pub(crate) fn radii(&self, start: f64) -> impl Iterator<Item = f64> {
        let (unit, limit) = match self.center {
            Center::Flat(_) => (1.0, f64::INFINITY),
            Center::Sphere { radians: true, .. } => (1.0, std::f64::consts::PI),
            Center::Sphere { radians: false, .. } => (EARTH_RADIUS, std::f64::consts::PI * EARTH_RADIUS),
        };
        let max = self.max;
        let steps = std::iter::successors(Some(start * unit), |radius| Some(radius * 4.0));
        steps
            .take(16)
            .take_while(move |radius| *radius < max && *radius < limit)
            .chain(std::iter::once(max))
    }

    /// The distance of one value of a document: a geometry, or an array of pairs of numbers.
    fn of_value(&self, value: &Value<'_>) -> Option<Hit> {
        if let Ok(shape) = stored("", value) {
            let distance = self.of_shape(&shape)?;
            return Some(Hit {
                distance,
                place: (*value).into(),
            });
        }
        let Value::Array(items) = value else {
            return None;
        };
        let hits = items.values().filter_map(|item| {
            let distance = self.of_shape(&stored("", &item).ok()?)?;
            Some(Hit {
                distance,
                place: item.into(),
            })
        });
        hits.reduce(nearer)
    }

    fn of_shape(&self, shape: &Shape) -> Option<f64> {
        if shape.is_strict() {
            return None;
        }
        match self.center {
            Center::Flat(center) => shape.place().map(|place| place.distance(center)),
            Center::Sphere { at, radians, .. } if shape.is_on_sphere() => {
                let angle = shape.distance(at);
                let meters = angle * EARTH_RADIUS;
                // Radians are made of meters, as on the server: that is not always the angle.
                Some(if radians { meters / EARTH_RADIUS } else { meters })
            }
            Center::Sphere { .. } => None,
        }
    }

    /// How near the nearest of these values is; `None` when none is a geometry or it is too near or too far.
    pub(crate) fn of_values<'a>(&self, values: impl Iterator<Item = Value<'a>>) -> Option<Hit> {
        values
            .filter_map(|value| self.of_value(&value))
            .reduce(nearer)
            .filter(|hit| self.min <= hit.distance && hit.distance <= self.max)
    }

    /// The numbers of the cells of a `2dsphere` index within the greatest distance; `None` without one.
    pub(crate) fn cells(&self) -> Option<Vec<(i64, i64)>> {
        let Center::Sphere { at, radians, .. } = self.center else {
            return None;
        };
        let radius = if radians {
            self.max
        } else {
            self.max / EARTH_RADIUS
        };
        if radius >= std::f64::consts::PI {
            return None;
        }
        // A little more, for rounding and the cells around points.
        let cap = Cap {
            center: at,
            radius: radius * (1.0 + 1e-9) + 1e-8,
        };
        Some(ranges(&covering(&cap)))
    }

    /// The numbers in a `2d` index within the greatest distance; `None` without one.
    pub(crate) fn hashes(&self, grid: Grid) -> Option<Vec<([u8; 8], [u8; 8])>> {
        let (low, high) = match self.center {
            Center::Flat(center) if self.max.is_finite() => {
                let corner = |side: f64| Pair {
                    x: center.x + side * self.max,
                    y: center.y + side * self.max,
                };
                (corner(-1.0), corner(1.0))
            }
            Center::Sphere {
                place, radians: true, ..
            } => cap_bounds(place, self.max)?,
            _ => return None,
        };
        Some(grid.ranges(low, high))
    }
}

fn nearer(one: Hit, other: Hit) -> Hit {
    if other.distance < one.distance { other } else { one }
}

/// The point, whether on the sphere, and the least and the greatest distance.
type Parts = (Shape, bool, f64, f64);

/// A pair of numbers or a GeoJSON point, distances beside it; `None` when it is not written so.
fn legacy(operators: Doc<'_>) -> Result<Option<Parts>> {
    let (mut found, mut spherical) = (None, false);
    let (mut min, mut max) = (0.0, f64::MAX);
    for element in operators.elements() {
        let value = element.value();
        match element.name_str() {
            name if is_near(name) => {
                let Some(doc) = embedded(&value) else {
                    return Ok(None);
                };
                if let Ok(point) = query_point(&value, doc) {
                    (found, spherical) = (Some(point), name == "$nearSphere");
                } else if let Some((point, distance)) = point_with_distance(doc) {
                    if distance.is_nan() || distance < 0.0 {
                        return Err(Fault::new(18522, "max distance must be non-negative"));
                    }
                    (found, spherical, max) = (Some(point), name == "$nearSphere", distance);
                }
            }
            "$minDistance" => {
                min = as_f64(&value).ok_or_else(|| Fault::new(16893, "$minDistance must be a number"))?;
                if min.is_nan() || min < 0.0 {
                    return Err(Fault::new(16894, "$minDistance must be non-negative"));
                }
            }
            "$maxDistance" => {
                max = as_f64(&value).ok_or_else(|| Fault::new(16895, "$maxDistance must be a number"))?;
                if max.is_nan() || max < 0.0 {
                    return Err(Fault::new(16896, "$maxDistance must be non-negative"));
                }
            }
            "$uniqueDocs" => {}
            other => {
                return Err(Fault::new(
                    34413,
                    format!("invalid argument in geo near query: {other}"),
                ));
            }
        }
    }
    Ok(found.map(|point| (point, spherical, min, max)))
}

fn query_point(value: &Value<'_>, doc: Doc<'_>) -> Parsed<Shape> {
    if is_pair(value, doc) {
        pair(Some(*value), false).map(Shape::of_pair)
    } else {
        point(doc)
    }
}

/// Three numbers: a place and the greatest distance.
fn point_with_distance(doc: Doc<'_>) -> Option<(Shape, f64)> {
    let numbers: Vec<f64> = doc.values().map(|value| as_f64(&value)).collect::<Option<_>>()?;
    match numbers.as_slice() {
        &[x, y, distance] => Some((Shape::of_pair(Pair { x, y }), distance)),
        _ => None,
    }
}

/// `$geometry` with distances inside.
fn modern(operators: Doc<'_>) -> Result<Parts> {
    let mut elements = operators.elements();
    let Some(first) = elements.next() else {
        return Err(bad("empty geo near query object"));
    };
    if let Some(extra) = elements.next() {
        return Err(bad(format!(
            "geo near accepts just one argument when querying for a GeoJSON point. Extra field found: {}: {}",
            extra.name_str(),
            extra.value()
        )));
    }
    let Some(options) = embedded(&first.value()) else {
        return Err(bad(format!("near must be first in: {operators}")));
    };
    let mut found = None;
    let (mut min, mut max) = (0.0, f64::MAX);
    for option in options.elements() {
        let value = option.value();
        let distance = |name: &str| {
            let distance = as_f64(&value).ok_or_else(|| bad(format!("{name} must be a number")))?;
            if !distance.is_finite() || distance < 0.0 {
                return Err(bad(format!("{name} must be non-negative")));
            }
            Ok(distance)
        };
        match option.name_str() {
            "$geometry" => {
                let Some(doc) = embedded(&value) else { continue };
                let point = query_point(&value, doc).map_err(|reason| {
                    bad(format!(
                        "invalid point in geo near query $geometry argument: {doc}  {reason}"
                    ))
                })?;
                if point.legacy {
                    return Err(bad(format!("$near requires geojson point, given {doc}")));
                }
                found = Some(point);
            }
            "$minDistance" => min = distance("$minDistance")?,
            "$maxDistance" => max = distance("$maxDistance")?,
            other => return Err(bad(format!("invalid argument in geo near query: {other}"))),
        }
    }
    match found {
        Some(point) => Ok((point, true, min, max)),
        None => Err(bad("$geometry is required for geo near query")),
    }
}
