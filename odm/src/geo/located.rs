//! Fields that hold geometries.

use super::shape::{
    Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon,
};
use crate::model::{Field, FieldType, Newtype};

/// A type stored as a geometry: what geospatial operators and indexes need.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not stored as a geometry",
    label = "is nowhere on the map",
    note = "use a type of `odm::geo`, such as `odm::geo::Point`, or a pair of numbers `[f64; 2]`"
)]
pub trait Located {}

macro_rules! located {
    ($($type:ty)*) => {$(
        impl FieldType for $type {
            type Handle<R> = Field<R, $type>;
            type Optional<R> = Field<R, Option<$type>>;
        }

        impl Located for $type {}
    )*};
}

located! {
    Geometry GeometryCollection LineString MultiLineString MultiPoint MultiPolygon Point Polygon
}

impl Located for [f64; 2] {}
impl Located for (f64, f64) {}
impl Located for bson::Bson {}
impl Located for bson::Document {}
#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: Located>> Located for T {}
impl<T: Located> Located for Option<T> {}
