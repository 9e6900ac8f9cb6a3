//! `$geoWithin` and `$geoIntersects`.

use std::f64::consts::{FRAC_PI_2, PI};

use super::super::document::display::significant;
use super::super::document::number::as_f64;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::covering::Region;
use super::flat::Flat;
use super::parse::{Parsed, embedded, geo_json, is_pair, pair, stored};
use super::shape::{Cap, Shape};
use super::vector::Pair;
use super::{CellId, Grid, covering, ranges};

/// What a place is asked.
#[derive(Clone, Debug)]
pub(crate) struct GeoQuery {
    within: bool,
    target: Target,
    /// As it was given, BSON bytes.
    written: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Target {
    Flat(Flat),
    Cap { cap: Cap, center: Pair },
    Shape(Shape),
}

impl GeoQuery {
    /// Parses the operators of a field, of which the first is `$geoWithin`, `$within` or `$geoIntersects`.
    ///
    /// # Errors
    /// 2 for anything that is no such query.
    pub(crate) fn parse(operators: Doc<'_>) -> Result<GeoQuery> {
        parse(operators).map_err(|message| Fault::new(code::BAD_VALUE, message))
    }

    /// The operators as they were given, BSON bytes.
    pub(crate) fn written(&self) -> &[u8] {
        &self.written
    }

    /// Whether a value of a document satisfies it. What is no geometry does not.
    pub(crate) fn accepts(&self, value: &Value<'_>) -> bool {
        // What nobody reads is not said of each number of a pair.
        if embedded(value).is_none() {
            return false;
        }
        let Ok(shape) = stored("", value) else {
            return false;
        };
        if shape.is_strict() {
            return false;
        }
        match &self.target {
            Target::Flat(flat) => shape.place().is_some_and(|place| flat.contains(place)),
            _ if !shape.is_on_sphere() => false,
            Target::Cap { cap, .. } => self.within && cap.contains(&shape),
            Target::Shape(own) if self.within => own.contains(&shape),
            Target::Shape(own) => own.intersects(&shape),
        }
    }

    /// The numbers of the cells of a `2dsphere` index in which what satisfies it lies; `None` when that index is
    /// of no use.
    pub(crate) fn cells(&self) -> Option<Vec<(i64, i64)>> {
        let region: &dyn Region = match &self.target {
            Target::Flat(_) => return None,
            Target::Cap { cap, .. } => cap,
            Target::Shape(shape) => shape,
        };
        let mut cells: Vec<CellId> = covering(region);
        if let Target::Shape(shape) = &self.target
            && shape.place().is_some()
        {
            cells = shape.index_cells();
        }
        Some(ranges(&cells))
    }

    /// The numbers in a `2d` index of what satisfies it; `None` when that index is of no use.
    pub(crate) fn hashes(&self, grid: Grid) -> Option<Vec<([u8; 8], [u8; 8])>> {
        let (low, high) = match &self.target {
            Target::Flat(flat) => flat.bounds(),
            Target::Cap { cap, center } if self.within => cap_bounds(*center, cap.radius)?,
            _ => return None,
        };
        Some(grid.ranges(low, high))
    }
}

/// The corners of a box of longitudes and latitudes around a circle; `None` when it reaches a pole or the
/// date line.
pub(super) fn cap_bounds(center: Pair, radius: f64) -> Option<(Pair, Pair)> {
    let degrees = 180.0 / PI;
    let latitude = center.y / degrees;
    // A little more, for what rounding and the cells around points take.
    let radius = radius * (1.0 + 1e-9) + 1e-8;
    if radius.is_nan() || latitude.abs() + radius >= FRAC_PI_2 {
        return None;
    }
    let width = (radius.sin() / latitude.cos()).asin() * degrees;
    let height = radius * degrees;
    if center.x.abs() + width > 180.0 {
        return None;
    }
    let corner = |side: f64| Pair {
        x: center.x + side * width,
        y: center.y + side * height,
    };
    Some((corner(-1.0), corner(1.0)))
}

fn parse(operators: Doc<'_>) -> Parsed<GeoQuery> {
    let Some(operator) = operators.elements().next() else {
        return Err("invalid geo query predicate".to_owned());
    };
    let within = operator.name_str() != "$geoIntersects";
    let whole = || {
        let (name, value) = (operator.name_str().to_owned(), Owned::from(operator.value()));
        Owned::Document(vec![(name, value)])
    };
    let value = operator.value();
    let geometry = match value {
        Value::Document(doc) => doc,
        _ => return Err("geometry must be an object".to_owned()),
    };
    let mut target = None;
    for element in geometry.elements().filter(|e| e.name_str() != "$uniqueDocs") {
        let value = element.value();
        target = Some(specifier(element.name_str(), &value)?);
    }
    let Some(mut target) = target else {
        return Err("geo query doesn't have any geometry".to_owned());
    };
    let supported = match &mut target {
        Target::Shape(shape) if within => shape.has_polygon(),
        Target::Shape(shape) => shape.is_on_sphere(),
        Target::Flat(_) => within,
        Target::Cap { .. } => true,
    };
    if !supported {
        let name = if within { "$within" } else { "$geoIntersect" };
        return Err(format!(
            "{name} not supported with provided geometry: {}",
            whole().as_value()
        ));
    }
    Ok(GeoQuery {
        within,
        target,
        written: operators.to_bytes(),
    })
}

fn specifier(name: &str, value: &Value<'_>) -> Parsed<Target> {
    let unknown = || format!("unknown geo specifier: {name}: {value}");
    let doc = embedded(value).ok_or_else(unknown)?;
    match name {
        "$box" => {
            let mut corners = doc.values();
            let (one, other) = (pair(corners.next(), false)?, pair(corners.next(), false)?);
            Ok(Target::Flat(Flat::Box {
                low: Pair {
                    x: one.x.min(other.x),
                    y: one.y.min(other.y),
                },
                high: Pair {
                    x: one.x.max(other.x),
                    y: one.y.max(other.y),
                },
            }))
        }
        "$center" => {
            let (center, radius) = circle(doc)?;
            Ok(Target::Flat(Flat::Circle { center, radius }))
        }
        "$centerSphere" => {
            let mut values = doc.values();
            let center = pair(values.next(), false)?;
            if !center.is_on_sphere() {
                return Err(format!(
                    "longitude/latitude is out of bounds, lng: {} lat: {}",
                    significant(center.x, 6),
                    significant(center.y, 6)
                ));
            }
            let (_, radius) = circle(doc)?;
            let cap = Cap {
                center: center.to_vector(),
                radius,
            };
            Ok(Target::Cap { cap, center })
        }
        "$polygon" => {
            let vertices: Vec<Pair> = doc
                .values()
                .map(|vertex| pair(Some(vertex), false))
                .collect::<Parsed<_>>()?;
            if vertices.len() < 3 {
                return Err("Polygon must have at least 3 points".to_owned());
            }
            Ok(Target::Flat(Flat::Polygon(vertices)))
        }
        "$geometry" if is_pair(value, doc) => {
            pair(Some(*value), false).map(|place| Target::Shape(Shape::of_pair(place)))
        }
        "$geometry" => geo_json(doc).map(Target::Shape),
        _ => Err(unknown()),
    }
}

/// A center and a radius.
fn circle(doc: Doc<'_>) -> Parsed<(Pair, f64)> {
    let mut values = doc.values();
    let center = pair(values.next(), false)?;
    let radius = values.next().and_then(|value| as_f64(&value));
    let Some(radius) = radius.filter(|radius| *radius >= 0.0) else {
        return Err("radius must be a non-negative number".to_owned());
    };
    if values.next().is_some() {
        return Err("Only 2 fields allowed for circular region".to_owned());
    }
    Ok((center, radius))
}
