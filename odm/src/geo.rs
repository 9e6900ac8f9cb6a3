//! Places and shapes: GeoJSON as field types and as operands.
//!
//! All types are stored exactly as GeoJSON, `{type: "Point", coordinates: [longitude, latitude]}`, so that a
//! `2dsphere` index takes them. Longitudes come first.
//!
//! ```
//! use odm::geo::{Point, Polygon};
//! use odm::{Db, Id, Model};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Serialize, Deserialize, Model)]
//! struct Library {
//!     #[serde(rename = "_id")]
//!     id: Id<Library>,
//!     name: String,
//!     #[odm(index(geo_2dsphere))]
//!     place: Point,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let libraries = Db::open("memory:").await?.collection::<Library>();
//! libraries.sync_indexes().await?;
//! for (name, place) in [("Bodleian", Point::new(-1.254, 51.754)), ("Wren", Point::new(0.117, 52.207))] {
//!     libraries.insert(Library { id: Id::new(), name: name.into(), place }).await?;
//! }
//!
//! let london = Point::new(-0.128, 51.507);
//! let nearest = libraries.find(|l| l.place.near(london, ..=100_000.0)).await?;
//! assert_eq!(nearest[0].name, "Wren");
//!
//! let oxford = Polygon::new([(-1.4, 51.7), (-1.1, 51.7), (-1.1, 51.8), (-1.4, 51.8)]);
//! let within = libraries.find(|l| l.place.within(oxford)).await?;
//! assert_eq!(within[0].name, "Bodleian");
//! # Ok(())
//! # }
//! ```

mod area;
mod located;
mod position;
mod shape;

pub use self::area::Area;
pub use self::located::Located;
pub use self::position::Position;
pub use self::shape::{
    Geometry, GeometryCollection, LineString, MultiLineString, MultiPoint, MultiPolygon, Point, Polygon,
};

/// The Earth's radius in meters by which MongoDB turns meters into angles.
pub const EARTH_RADIUS: f64 = 6_378_100.0;
