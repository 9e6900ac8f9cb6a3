//! Keys of `2d` and `2dsphere` indexes: the squares and cells that geometries lie in.
//!
//! Each field of the index is looked at by itself, and a document has a key for each combination of what its
//! fields have. A document without a geometry in any of the fields is not in the index.

use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result};
use super::super::geo::{self, Grid};
use super::super::matcher::ast::FieldPath;
use super::super::matcher::near::collect;
use super::{IndexField, Order};

/// The most keys of one document.
const MOST_KEYS: usize = 100_000;

/// What a document has in each field of a geo index.
#[derive(Debug)]
pub(super) struct GeoValues {
    /// Per field; each combination is a key.
    pub(super) values: Vec<Vec<Owned>>,
    /// Per field, whether it may have several.
    pub(super) several: Vec<bool>,
}

/// The values of a document; `None` when it is not in the index.
pub(super) fn values(fields: &[IndexField], doc: Doc<'_>) -> Result<Option<GeoValues>> {
    let mut found = GeoValues {
        values: Vec::with_capacity(fields.len()),
        several: Vec::with_capacity(fields.len()),
    };
    let mut located = false;
    for field in fields {
        let path = FieldPath::parse(&field.path);
        let mut at_path = Vec::new();
        collect(Value::Document(doc), path.segments(), &mut at_path);
        let (values, several) = match field.order {
            Order::Sphere => sphere(&field.path, doc, &at_path)?,
            Order::Flat(grid) => flat(grid, doc, &at_path)?,
            _ => literal(&at_path),
        };
        if matches!(field.order, Order::Sphere | Order::Flat(_)) {
            located |= !values.is_empty();
        }
        found.several.push(several || values.len() > 1);
        found.values.push(if values.is_empty() {
            vec![Owned::Null]
        } else {
            values
        });
    }
    let keys: usize = found.values.iter().map(Vec::len).fold(1, usize::saturating_mul);
    if keys > MOST_KEYS {
        return Err(Fault::unsupported(
            "a document with so many keys in one geo index",
        ));
    }
    Ok(located.then_some(found))
}

impl GeoValues {
    /// Visits each combination of the fields' values.
    pub(super) fn each(&self, visit: &mut dyn FnMut(&[&Owned])) {
        let mut chosen = Vec::with_capacity(self.values.len());
        self.choose(&mut chosen, visit);
    }

    fn choose<'a>(&'a self, chosen: &mut Vec<&'a Owned>, visit: &mut dyn FnMut(&[&Owned])) {
        let Some(values) = self.values.get(chosen.len()) else {
            visit(chosen);
            return;
        };
        for value in values {
            chosen.push(value);
            self.choose(chosen, visit);
            chosen.pop();
        }
    }
}

/// The numbers of the cells of the geometries.
fn sphere(path: &str, doc: Doc<'_>, values: &[Value<'_>]) -> Result<(Vec<Owned>, bool)> {
    if let [only] = values
        && is_nothing(only)
    {
        return Ok((Vec::new(), false));
    }
    let name = path.rsplit('.').next().unwrap_or(path);
    let mut cells = Vec::new();
    for value in values {
        let refused = |reason: String| Fault::new(16755, format!("Can't extract geo keys: {doc}  {reason}"));
        let shape = geo::stored(name, value).map_err(refused)?;
        if shape.is_strict() {
            return Err(refused(format!(
                "can't index geometry with strict winding order: {value}"
            )));
        }
        if !shape.is_on_sphere() {
            return Err(refused(format!(
                "can't project geometry into spherical CRS: {value}"
            )));
        }
        cells.extend(shape.index_cells());
    }
    cells.sort_unstable();
    cells.dedup();
    let numbers = cells
        .into_iter()
        .map(|cell| Owned::Int64(cell.number() as i64))
        .collect();
    Ok((numbers, values.len() > 1))
}

/// Refuses values at a path that are no points.
///
/// # Errors
/// As [`IndexDefinition::check_points`](super::IndexDefinition::check_points).
pub(super) fn check_points(path: &str, doc: Doc<'_>) -> Result<()> {
    let own = FieldPath::parse(path);
    let mut values = Vec::new();
    collect(Value::Document(doc), own.segments(), &mut values);
    if let [only] = &values[..]
        && is_nothing(only)
    {
        return Ok(());
    }
    let name = path.rsplit('.').next().unwrap_or(path);
    for value in &values {
        let refused =
            |code: i32, reason: String| Fault::new(code, format!("Can't extract geo keys: {reason}"));
        let shape = geo::stored(name, value).map_err(|reason| refused(183_934, reason))?;
        if shape.place().is_none() {
            return Err(Fault::new(
                183_493,
                "Time-series collections '2dsphere' indexes only support point data",
            ));
        }
        if !shape.is_on_sphere() {
            let is_typed = value.as_document().is_some_and(|doc| doc.get("type").is_some());
            let number = if is_typed { 183_934 } else { 167_551 };
            return Err(refused(
                number,
                format!("longitude/latitude is out of bounds: {value}"),
            ));
        }
    }
    Ok(())
}

fn is_nothing(value: &Value<'_>) -> bool {
    match value {
        Value::Null | Value::Undefined => true,
        Value::Document(doc) | Value::Array(doc) => doc.is_empty(),
        _ => false,
    }
}

/// The numbers of the squares of the places.
fn flat(grid: Grid, doc: Doc<'_>, values: &[Value<'_>]) -> Result<(Vec<Owned>, bool)> {
    let mut squares = Vec::new();
    let mut add = |place: Doc<'_>| -> Result<()> {
        squares.push(square(grid, doc, place)?);
        Ok(())
    };
    for value in values {
        let (Value::Document(place) | Value::Array(place)) = value else {
            continue;
        };
        match place.values().next() {
            None => {}
            Some(first) if first.is_number() => add(*place)?,
            Some(_) => {
                for item in place.values() {
                    match item {
                        Value::Document(place) | Value::Array(place) if place.is_empty() => {}
                        Value::Document(place) | Value::Array(place) => add(place)?,
                        _ => {
                            return Err(Fault::new(
                                16804,
                                "location object expected, location array not in correct format",
                            ));
                        }
                    }
                }
            }
        }
    }
    let several = values.len() > 1 || squares.len() > 1;
    squares.sort_unstable();
    squares.dedup();
    let numbers = squares.into_iter().map(|hash| square_value(&hash)).collect();
    Ok((numbers, several))
}

/// The number of a square as it is stored.
pub(crate) fn square_value(hash: &[u8; 8]) -> Owned {
    Owned::Binary {
        subtype: 128,
        bytes: hash.to_vec(),
    }
}

fn square(grid: Grid, doc: Doc<'_>, place: Doc<'_>) -> Result<[u8; 8]> {
    let mut numbers = place.values();
    let (Some(x), Some(y)) = (numbers.next(), numbers.next()) else {
        return Err(Fault::new(
            13068,
            format!("geo field only has 1 element :: caused by :: {doc}"),
        ));
    };
    let Some(place) = geo::pair_of(&x, &y) else {
        return Err(Fault::new(
            13026,
            format!("geo values must be 'legacy coordinate pairs' for 2d indexes :: caused by :: {doc}"),
        ));
    };
    if !grid.has(place) {
        return Err(Fault::new(
            13027,
            format!("{} :: caused by :: {doc}", grid.outside()),
        ));
    }
    Ok(grid.hash(place))
}

/// The values of a field that is no geometry: the elements of arrays.
fn literal(values: &[Value<'_>]) -> (Vec<Owned>, bool) {
    let mut found = Vec::new();
    let mut several = values.len() > 1;
    for value in values {
        match value {
            Value::Array(items) if items.is_empty() => {
                several = true;
                found.push(Owned::Undefined);
            }
            Value::Array(items) => {
                several = true;
                found.extend(items.values().map(Owned::from));
            }
            other => found.push(Owned::from(*other)),
        }
    }
    (found, several)
}
