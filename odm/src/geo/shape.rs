//! The GeoJSON objects.

use serde::{Deserialize, Serialize};

use super::position::Position;

/// A GeoJSON object with `coordinates`: a struct that is written with its `type`, and read only with it.
macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident($coordinates:ty) as $kind:ident;)*) => {$(
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        enum $kind {
            #[default]
            $name,
        }

        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            #[serde(rename = "type")]
            kind: $kind,
            coordinates: $coordinates,
        }

        impl $name {
            fn of(coordinates: $coordinates) -> $name {
                $name { kind: $kind::$name, coordinates }
            }

            /// The coordinates as they are stored.
            pub fn coordinates(&self) -> &$coordinates {
                &self.coordinates
            }
        }

        impl From<$name> for Geometry {
            fn from(shape: $name) -> Geometry {
                Geometry::$name(shape)
            }
        }

        impl From<&$name> for Geometry {
            fn from(shape: &$name) -> Geometry {
                Geometry::$name(shape.clone())
            }
        }
    )*};
}

shapes! {
    /// One place.
    ///
    /// ```
    /// use odm::geo::Point;
    ///
    /// let point = Point::new(-0.128, 51.507);
    /// assert_eq!(point.longitude(), -0.128);
    /// assert_eq!(odm::bson::serialize_to_bson(&point)?, odm::bson::bson!({ "type": "Point", "coordinates": [-0.128, 51.507] }));
    /// # Ok::<(), odm::bson::error::Error>(())
    /// ```
    Point(Position) as PointKind;
    /// A path over at least two places. Edges are great circles.
    LineString(Vec<Position>) as LineStringKind;
    /// An area within a ring, without the areas within further rings.
    ///
    /// MongoDB takes the smaller of the two areas that a ring bounds, however it is wound.
    ///
    /// ```
    /// use odm::geo::Polygon;
    ///
    /// let square = Polygon::new([(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)])
    ///     .hole([(4.0, 4.0), (6.0, 4.0), (6.0, 6.0)]);
    /// let rings = square.coordinates();
    /// assert_eq!(rings.len(), 2);
    /// assert_eq!(rings[0].first(), rings[0].last());
    /// ```
    Polygon(Vec<Vec<Position>>) as PolygonKind;
    /// Several places.
    MultiPoint(Vec<Position>) as MultiPointKind;
    /// Several paths.
    MultiLineString(Vec<Vec<Position>>) as MultiLineStringKind;
    /// Several areas.
    MultiPolygon(Vec<Vec<Vec<Position>>>) as MultiPolygonKind;
}

impl Copy for Point {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
enum CollectionKind {
    #[default]
    GeometryCollection,
}

/// Several shapes of any kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeometryCollection {
    #[serde(rename = "type")]
    kind: CollectionKind,
    geometries: Vec<Geometry>,
}

/// A shape of any kind.
///
/// ```
/// use odm::bson;
/// use odm::geo::{Geometry, Point};
///
/// let stored = bson::bson!({ "type": "Point", "coordinates": [1, 2] });
/// assert_eq!(bson::deserialize_from_bson::<Geometry>(stored)?, Point::new(1.0, 2.0).into());
/// # Ok::<(), bson::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Geometry {
    /// One place.
    Point(Point),
    /// A path.
    LineString(LineString),
    /// An area.
    Polygon(Polygon),
    /// Several places.
    MultiPoint(MultiPoint),
    /// Several paths.
    MultiLineString(MultiLineString),
    /// Several areas.
    MultiPolygon(MultiPolygon),
    /// Several shapes.
    GeometryCollection(GeometryCollection),
}

impl Point {
    /// The place at a longitude and a latitude, in degrees.
    pub fn new(longitude: f64, latitude: f64) -> Point {
        Point::of(Position::new(longitude, latitude))
    }

    /// From -180 to 180 degrees, east is positive.
    pub fn longitude(&self) -> f64 {
        self.coordinates.longitude
    }

    /// From -90 to 90 degrees, north is positive.
    pub fn latitude(&self) -> f64 {
        self.coordinates.latitude
    }
}

impl From<Position> for Point {
    fn from(position: Position) -> Point {
        Point::of(position)
    }
}

impl LineString {
    /// The path over these places.
    pub fn new<P: Into<Position>>(positions: impl IntoIterator<Item = P>) -> LineString {
        LineString::of(positions.into_iter().map(Into::into).collect())
    }
}

impl Polygon {
    /// The area within this ring, which is closed if it is not.
    pub fn new<P: Into<Position>>(ring: impl IntoIterator<Item = P>) -> Polygon {
        Polygon::of(vec![closed(ring)])
    }

    /// Leaves out the area within this ring, which is closed if it is not.
    pub fn hole<P: Into<Position>>(mut self, ring: impl IntoIterator<Item = P>) -> Polygon {
        self.coordinates.push(closed(ring));
        self
    }
}

impl MultiPoint {
    /// These places.
    pub fn new<P: Into<Position>>(positions: impl IntoIterator<Item = P>) -> MultiPoint {
        MultiPoint::of(positions.into_iter().map(Into::into).collect())
    }
}

impl MultiLineString {
    /// These paths.
    pub fn new(lines: impl IntoIterator<Item = LineString>) -> MultiLineString {
        MultiLineString::of(lines.into_iter().map(|line| line.coordinates).collect())
    }
}

impl MultiPolygon {
    /// These areas.
    pub fn new(polygons: impl IntoIterator<Item = Polygon>) -> MultiPolygon {
        MultiPolygon::of(polygons.into_iter().map(|polygon| polygon.coordinates).collect())
    }
}

impl GeometryCollection {
    /// These shapes, none of them a collection itself.
    pub fn new<G: Into<Geometry>>(geometries: impl IntoIterator<Item = G>) -> GeometryCollection {
        GeometryCollection {
            kind: CollectionKind::GeometryCollection,
            geometries: geometries.into_iter().map(Into::into).collect(),
        }
    }

    /// The shapes.
    pub fn geometries(&self) -> &[Geometry] {
        &self.geometries
    }
}

impl From<GeometryCollection> for Geometry {
    fn from(collection: GeometryCollection) -> Geometry {
        Geometry::GeometryCollection(collection)
    }
}

fn closed<P: Into<Position>>(ring: impl IntoIterator<Item = P>) -> Vec<Position> {
    let mut ring: Vec<Position> = ring.into_iter().map(Into::into).collect();
    if let (Some(first), Some(last)) = (ring.first().copied(), ring.last().copied())
        && first != last
    {
        ring.push(first);
    }
    ring
}
