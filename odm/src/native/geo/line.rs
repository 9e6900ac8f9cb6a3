//! Lines on the sphere.

use super::cell::CellId;
use super::predicate::{Meeting, meeting, nearest};
use super::vector::Vector;

/// A path over at least two points.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    vertices: Vec<Vector>,
}

impl Line {
    pub(super) fn new(vertices: Vec<Vector>) -> Line {
        Line { vertices }
    }

    pub(super) fn vertices(&self) -> &[Vector] {
        &self.vertices
    }

    pub(super) fn edges(&self) -> impl Iterator<Item = (Vector, Vector)> + '_ {
        self.vertices.windows(2).map(|pair| (pair[0], pair[1]))
    }

    pub(super) fn intersects_cell(&self, cell: CellId) -> bool {
        if self.vertices.iter().any(|vertex| cell.has(*vertex)) {
            return true;
        }
        let corners = cell.corners();
        (0..4).any(|side| {
            let (c, d) = (corners[side], corners[(side + 1) % 4]);
            self.edges().any(|(a, b)| meeting(c, d, a, b) != Meeting::Apart)
        })
    }

    pub(super) fn intersects(&self, other: &Line) -> bool {
        self.edges()
            .any(|(a, b)| other.edges().any(|(c, d)| meeting(a, b, c, d) != Meeting::Apart))
    }

    /// The distance of a point in radians.
    pub(super) fn distance(&self, point: Vector) -> f64 {
        nearest(point, self.edges()).map_or(f64::INFINITY, |nearest| point.angle(nearest))
    }
}
