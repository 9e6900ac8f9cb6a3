//! Areas that hold places.

use bson::raw::{CStr, cstr};
use bson::{RawArrayBuf, RawBson};

use super::shape::{Geometry, MultiPolygon, Polygon};
use super::{EARTH_RADIUS, Point};
use crate::codec::encode_value;
use crate::error::Result;

/// An area to be within: on the globe, or in the plane of plain coordinates.
///
/// Areas in the plane hold points only. They do not know that 180 degrees east is 180 degrees west, and their edges
/// are straight lines on a map.
#[derive(Clone, Debug)]
pub struct Area {
    name: &'static CStr,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Geometry(Geometry),
    /// A center and a radius.
    Circle([f64; 2], f64),
    Corners(Vec<[f64; 2]>),
}

impl Area {
    /// A circle on the globe; the radius is in meters.
    pub fn circle(center: Point, meters: f64) -> Area {
        let center = [center.longitude(), center.latitude()];
        Area {
            name: cstr!("$centerSphere"),
            shape: Shape::Circle(center, meters / EARTH_RADIUS),
        }
    }

    /// A circle in the plane.
    pub fn flat_circle(center: [f64; 2], radius: f64) -> Area {
        Area {
            name: cstr!("$center"),
            shape: Shape::Circle(center, radius),
        }
    }

    /// A box in the plane, by two opposite corners.
    pub fn flat_box(corner: [f64; 2], opposite: [f64; 2]) -> Area {
        Area {
            name: cstr!("$box"),
            shape: Shape::Corners(vec![corner, opposite]),
        }
    }

    /// A polygon in the plane; its last corner is joined to its first.
    pub fn flat_polygon(corners: impl IntoIterator<Item = [f64; 2]>) -> Area {
        Area {
            name: cstr!("$polygon"),
            shape: Shape::Corners(corners.into_iter().collect()),
        }
    }

    pub(crate) fn name(&self) -> &'static CStr {
        self.name
    }

    pub(crate) fn encode(&self) -> Result<RawBson> {
        Ok(match &self.shape {
            Shape::Geometry(geometry) => encode_value(geometry)?,
            Shape::Circle(center, radius) => {
                let mut circle = RawArrayBuf::new();
                circle.push(pair(*center));
                circle.push(*radius);
                RawBson::Array(circle)
            }
            Shape::Corners(corners) => {
                let corners: RawArrayBuf = corners.iter().copied().map(pair).collect();
                RawBson::Array(corners)
            }
        })
    }
}

fn pair(numbers: [f64; 2]) -> RawBson {
    RawBson::Array(numbers.into_iter().collect())
}

impl From<Polygon> for Area {
    fn from(polygon: Polygon) -> Area {
        Area {
            name: cstr!("$geometry"),
            shape: Shape::Geometry(polygon.into()),
        }
    }
}

impl From<MultiPolygon> for Area {
    fn from(polygons: MultiPolygon) -> Area {
        Area {
            name: cstr!("$geometry"),
            shape: Shape::Geometry(polygons.into()),
        }
    }
}

impl From<&Polygon> for Area {
    fn from(polygon: &Polygon) -> Area {
        polygon.clone().into()
    }
}

impl From<&MultiPolygon> for Area {
    fn from(polygons: &MultiPolygon) -> Area {
        polygons.clone().into()
    }
}
