//! Places and shapes: reading them from documents and queries, and what they have to do with each other.
//!
//! Flat shapes (`$box`, `$center`, `$polygon`) live in a plane of plain coordinates. All others live on the unit
//! sphere, where edges are great circles and points are 3D unit vectors. A point counts as the cell of about a
//! centimetre around it, so that points on a boundary are inside. Everything here is pure.

mod cell;
mod covering;
mod flat;
mod hash;
mod line;
mod near;
mod parse;
mod polygon;
mod predicate;
mod query;
mod ring;
mod shape;
#[cfg(test)]
mod tests;
mod vector;

use self::cell::CellId;
use self::covering::{covering, ranges};
pub(crate) use self::hash::Grid;
pub(crate) use self::near::{Hit, Near, is_near};
pub(crate) use self::parse::stored;
pub(crate) use self::query::GeoQuery;
pub(crate) use self::vector::pair_of;

/// The Earth's radius in meters, as MongoDB has it.
pub(crate) const EARTH_RADIUS: f64 = 6_378_100.0;
