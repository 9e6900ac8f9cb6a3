//! Geometries from documents: GeoJSON and pairs of numbers, with MongoDB's rules and words.

use super::super::document::display::significant;
use super::super::document::number::as_f64;
use super::super::document::{Doc, Value};
use super::line::Line;
use super::polygon::Polygon;
use super::ring::Ring;
use super::shape::{Part, Shape};
use super::vector::{Pair, Vector};

/// What was read, or why it could not be: the caller gives the code.
pub(crate) type Parsed<T> = Result<T, String>;

/// The name of coordinates of which a polygon's ring has its inside on the left, however large that is.
const STRICT: &str = "urn:x-mongodb:crs:strictwinding:EPSG:4326";

/// The geometry of a value in a document.
pub(crate) fn stored(name: &str, value: &Value<'_>) -> Parsed<Shape> {
    let Some(doc) = embedded(value) else {
        return Err(format!("geo element must be an array or object: {name}: {value}"));
    };
    if is_pair(value, doc) {
        pair(Some(*value), true).map(Shape::of_pair)
    } else {
        geo_json(doc)
    }
}

/// The fields of a document or the items of an array.
pub(super) fn embedded<'a>(value: &Value<'a>) -> Option<Doc<'a>> {
    match value {
        Value::Document(doc) | Value::Array(doc) => Some(*doc),
        _ => None,
    }
}

/// Whether a value is a pair of numbers rather than GeoJSON.
pub(super) fn is_pair(value: &Value<'_>, doc: Doc<'_>) -> bool {
    matches!(value, Value::Array(_)) || doc.values().next().is_some_and(|first| first.is_number())
}

/// Two numbers; whether more may follow.
pub(super) fn pair(value: Option<Value<'_>>, more: bool) -> Parsed<Pair> {
    let Some(doc) = value.as_ref().and_then(embedded) else {
        return Err("Point must be an array or object".to_owned());
    };
    let mut values = doc.values();
    let mut number = || {
        let value = values.next();
        value
            .and_then(|value| as_f64(&value))
            .ok_or_else(|| "Point must only contain numeric elements".to_owned())
    };
    let place = Pair {
        x: number()?,
        y: number()?,
    };
    if !more && values.next().is_some() {
        return Err("Point must only contain two numeric elements".to_owned());
    }
    if !place.x.is_finite() || !place.y.is_finite() {
        return Err("Point coordinates must be finite numbers".to_owned());
    }
    Ok(place)
}

/// A GeoJSON object.
pub(super) fn geo_json(doc: Doc<'_>) -> Parsed<Shape> {
    let coordinates = doc.get("coordinates");
    match doc.get("type") {
        Some(Value::String("Point")) => point(doc),
        Some(Value::String("LineString")) => {
            plain_crs(doc)?;
            Ok(Shape::of_parts(vec![Part::Line(line(coordinates)?)]))
        }
        Some(Value::String("Polygon")) => {
            let strict = is_strict(doc)?;
            let polygon = polygon(coordinates, strict)?;
            Ok(Shape {
                strict,
                ..Shape::of_parts(vec![Part::Polygon(polygon)])
            })
        }
        Some(Value::String("MultiPoint")) => {
            plain_crs(doc)?;
            let points = coordinate_list(coordinates)?;
            if points.is_empty() {
                return Err("MultiPoint coordinates must have at least 1 element".to_owned());
            }
            Ok(Shape::of_parts(points.into_iter().map(Part::at).collect()))
        }
        Some(Value::String("MultiLineString")) => {
            plain_crs(doc)?;
            let lines = several("MultiLineString", coordinates)?;
            let parts = lines.values().map(|value| line(Some(value)).map(Part::Line));
            Ok(Shape::of_parts(parts.collect::<Parsed<_>>()?))
        }
        Some(Value::String("MultiPolygon")) => {
            plain_crs(doc)?;
            let polygons = several("MultiPolygon", coordinates)?;
            let parts = polygons
                .values()
                .map(|value| polygon(Some(value), false).map(Part::Polygon));
            Ok(Shape::of_parts(parts.collect::<Parsed<_>>()?))
        }
        Some(Value::String("GeometryCollection")) => collection(doc),
        _ => Err(format!("unknown GeoJSON type: {doc}")),
    }
}

/// A GeoJSON `Point`; its type is not looked at.
pub(super) fn point(doc: Doc<'_>) -> Parsed<Shape> {
    plain_crs(doc)?;
    let place = pair(doc.get("coordinates"), true)?;
    Ok(Shape {
        legacy: false,
        parts: vec![Part::at(on_sphere(place)?)],
        ..Shape::of_pair(place)
    })
}

fn on_sphere(place: Pair) -> Parsed<Vector> {
    if !place.is_on_sphere() {
        return Err(format!(
            "longitude/latitude is out of bounds, lng: {} lat: {}",
            significant(place.x, 6),
            significant(place.y, 6)
        ));
    }
    Ok(place.to_vector())
}

fn collection(doc: Doc<'_>) -> Parsed<Shape> {
    let Some(Value::Array(geometries)) = doc.get("geometries") else {
        return Err("GeometryCollection geometries must be an array".to_owned());
    };
    if geometries.is_empty() {
        return Err("GeometryCollection geometries must have at least 1 element".to_owned());
    }
    let mut parts = Vec::new();
    for (position, geometry) in geometries.values().enumerate() {
        let Value::Document(geometry) = geometry else {
            return Err(format!("Element {position} of \"geometries\" is not an object"));
        };
        if let Some(Value::String("GeometryCollection")) = geometry.get("type") {
            return Err(format!("GeometryCollections cannot be nested: {geometry}"));
        }
        parts.extend(geo_json(geometry)?.parts);
    }
    Ok(Shape::of_parts(parts))
}

fn several<'a>(kind: &str, coordinates: Option<Value<'a>>) -> Parsed<Doc<'a>> {
    match coordinates {
        Some(Value::Array(items)) if items.is_empty() => {
            Err(format!("{kind} coordinates must have at least 1 element"))
        }
        Some(Value::Array(items)) => Ok(items),
        _ => Err(format!("{kind} coordinates must be an array")),
    }
}

fn coordinate_list(value: Option<Value<'_>>) -> Parsed<Vec<Vector>> {
    let Some(Value::Array(items)) = value else {
        return Err("GeoJSON coordinates must be an array of coordinates".to_owned());
    };
    items
        .values()
        .map(|item| match item {
            Value::Array(_) => on_sphere(pair(Some(item), true)?),
            _ => Err("GeoJSON coordinates must be an array".to_owned()),
        })
        .collect()
}

fn line(coordinates: Option<Value<'_>>) -> Parsed<Line> {
    let mut vertices = coordinate_list(coordinates)?;
    vertices.dedup();
    if vertices.len() < 2 {
        return Err(format!(
            "GeoJSON LineString must have at least 2 vertices: {}",
            coordinates.unwrap_or(Value::Null)
        ));
    }
    if let Some(position) = vertices.windows(2).position(|pair| pair[0] == pair[1].opposite()) {
        return Err(format!(
            "GeoJSON LineString is not valid: vertices {position} and {} are antipodal",
            position + 1
        ));
    }
    Ok(Line::new(vertices))
}

fn polygon(coordinates: Option<Value<'_>>, strict: bool) -> Parsed<Polygon> {
    let Some(Value::Array(loops)) = coordinates else {
        return Err("Polygon coordinates must be an array".to_owned());
    };
    let mut rings: Vec<Ring> = Vec::new();
    let mut outer_text = None;
    for value in loops.values() {
        let ring = ring(&value)?;
        if strict {
            if loops.count() > 1 {
                return Err(format!(
                    "Only one simple loop is allowed in a big polygon: {}",
                    Value::Array(loops)
                ));
            }
            return Ok(Polygon::on_the_left(ring));
        }
        let ring = ring.normalized();
        if let Some(outer) = rings.first()
            && !outer.contains(&ring)
        {
            return Err(format!(
                "Secondary loops not contained by first exterior loop - secondary loops must be holes: {value} \
                 first loop: {}",
                outer_text.unwrap_or(Value::Null)
            ));
        }
        outer_text.get_or_insert(value);
        rings.push(ring);
    }
    if rings.is_empty() {
        return Err("Polygon has no loops.".to_owned());
    }
    let holes = rings.split_off(1);
    let outer = rings.swap_remove(0);
    match Polygon::fault(&outer, &holes, &Value::Array(loops)) {
        Some(fault) => Err(fault),
        None => Ok(Polygon::new(outer, holes)),
    }
}

fn ring(value: &Value<'_>) -> Parsed<Ring> {
    let mut vertices = coordinate_list(Some(*value))?;
    match (vertices.first(), vertices.last()) {
        (None, _) => return Err(format!("Loop has no vertices: {value}")),
        (first, last) if first != last => return Err(format!("Loop is not closed: {value}")),
        _ => {}
    }
    vertices.dedup();
    vertices.pop();
    if vertices.len() < 3 {
        return Err(format!("Loop must have at least 3 different vertices: {value}"));
    }
    let ring = Ring::new(vertices);
    match ring.fault() {
        Some(fault) => Err(format!("Loop is not valid: {value} {fault}")),
        None => Ok(ring),
    }
}

fn plain_crs(doc: Doc<'_>) -> Parsed<()> {
    if is_strict(doc)? {
        return Err("Strict winding order is only supported by polygon".to_owned());
    }
    Ok(())
}

/// Reads the name of the coordinates: whether they are the ones of large polygons.
fn is_strict(doc: Doc<'_>) -> Parsed<bool> {
    let Some(crs) = doc.get("crs") else {
        return Ok(false);
    };
    let Value::Document(crs) = crs else {
        return Err("GeoJSON CRS must be an object".to_owned());
    };
    if crs.get("type").and_then(|kind| kind.as_str()) != Some("name") {
        return Err("GeoJSON CRS must have field \"type\": \"name\"".to_owned());
    }
    let Some(Value::Document(properties)) = crs.get("properties") else {
        return Err("CRS must have field \"properties\" which is an object".to_owned());
    };
    match properties.get("name") {
        Some(Value::String("urn:ogc:def:crs:OGC:1.3:CRS84" | "EPSG:4326")) => Ok(false),
        Some(Value::String(STRICT)) => Ok(true),
        Some(Value::String(name)) => Err(format!("Unknown CRS name: {name}")),
        _ => Err("In CRS, \"properties.name\" must be a string".to_owned()),
    }
}
