//! What a document or a query holds: points, lines and polygons, alone or together.

use super::cell::CellId;
use super::covering::Region;
use super::line::Line;
use super::polygon::Polygon;
use super::predicate::nearest;
use super::vector::{Pair, Vector};

/// A geometry; each GeoJSON type is some parts of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// On the sphere; empty for a place that is not on it.
    pub(super) parts: Vec<Part>,
    /// The place, when it is a single point.
    pub(super) place: Option<Pair>,
    /// Written as a pair of numbers, not as GeoJSON.
    pub(super) legacy: bool,
    /// A polygon that is all on the left of its ring.
    pub(super) strict: bool,
}

/// One part of a geometry.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Point { at: Vector, cell: CellId },
    Line(Line),
    Polygon(Polygon),
}

/// A circle on the sphere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cap {
    pub(super) center: Vector,
    /// In radians.
    pub(super) radius: f64,
}

impl Shape {
    /// The place of a pair of numbers.
    pub(super) fn of_pair(place: Pair) -> Shape {
        let parts = if place.is_on_sphere() {
            vec![Part::at(place.to_vector())]
        } else {
            Vec::new()
        };
        Shape {
            parts,
            place: Some(place),
            legacy: true,
            strict: false,
        }
    }

    pub(super) fn of_parts(parts: Vec<Part>) -> Shape {
        Shape {
            parts,
            place: None,
            legacy: false,
            strict: false,
        }
    }

    /// The place, when it is a single point.
    pub(crate) fn place(&self) -> Option<Pair> {
        self.place
    }

    /// Whether it can be found on the sphere.
    pub(crate) fn is_on_sphere(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Whether it is a polygon that is all on the left of its ring, which is not stored.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    pub(super) fn has_polygon(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Polygon(_)))
    }

    /// Whether each part of the other is inside a polygon of this.
    pub(super) fn contains(&self, other: &Shape) -> bool {
        other.parts.iter().all(|inner| {
            self.parts.iter().any(|part| match (part, inner) {
                (Part::Polygon(own), Part::Point { at, .. }) => own.contains_point(*at),
                (Part::Polygon(own), Part::Line(line)) => own.contains_line(line),
                (Part::Polygon(own), Part::Polygon(polygon)) => own.contains(polygon),
                _ => false,
            })
        })
    }

    /// Whether they have a point in common.
    pub(super) fn intersects(&self, other: &Shape) -> bool {
        self.parts
            .iter()
            .any(|part| other.parts.iter().any(|inner| part.intersects(inner)))
    }

    /// The distance of a point in radians, zero inside.
    pub(crate) fn distance(&self, point: Vector) -> f64 {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Point { at, .. } => point.angle(*at),
                Part::Line(line) => line.distance(point),
                Part::Polygon(polygon) => polygon.distance(point),
            })
            .fold(f64::INFINITY, f64::min)
    }

    /// The cells of an index that stand for it: the smallest for points.
    pub(crate) fn index_cells(&self) -> Vec<CellId> {
        let mut cells = Vec::new();
        for part in &self.parts {
            match part {
                Part::Point { cell, .. } => cells.push(*cell),
                other => cells.extend(super::covering(other)),
            }
        }
        cells.sort_unstable();
        cells.dedup();
        cells
    }
}

impl Part {
    pub(super) fn at(point: Vector) -> Part {
        Part::Point {
            at: point,
            cell: CellId::of_point(point),
        }
    }

    fn intersects(&self, other: &Part) -> bool {
        match (self, other) {
            (Part::Point { cell, .. }, Part::Point { cell: other, .. }) => cell == other,
            (Part::Point { cell, .. }, Part::Line(line)) | (Part::Line(line), Part::Point { cell, .. }) => {
                line.intersects_cell(*cell)
            }
            (Part::Point { cell, .. }, Part::Polygon(polygon))
            | (Part::Polygon(polygon), Part::Point { cell, .. }) => polygon.intersects_cell(*cell),
            (Part::Line(line), Part::Line(other)) => line.intersects(other),
            (Part::Line(line), Part::Polygon(polygon)) | (Part::Polygon(polygon), Part::Line(line)) => {
                polygon.intersects_line(line)
            }
            (Part::Polygon(polygon), Part::Polygon(other)) => polygon.intersects(other),
        }
    }
}

impl Region for Part {
    fn meets(&self, cell: CellId) -> bool {
        match self {
            // Rounding may put a point beside its own cell.
            Part::Point { at, cell: own } => cell.holds(*own) || cell.has(*at),
            Part::Line(line) => line.intersects_cell(cell),
            Part::Polygon(polygon) => polygon.intersects_cell(cell),
        }
    }

    fn covers(&self, cell: CellId) -> bool {
        matches!(self, Part::Polygon(polygon) if polygon.contains_cell(cell))
    }
}

impl Region for Shape {
    fn meets(&self, cell: CellId) -> bool {
        self.parts.iter().any(|part| part.meets(cell))
    }

    fn covers(&self, cell: CellId) -> bool {
        self.parts.iter().any(|part| part.covers(cell))
    }
}

impl Cap {
    /// Whether the point is inside; twice the height of the cap is the square of its widest chord.
    fn has(&self, point: Vector) -> bool {
        let height = if self.radius >= std::f64::consts::PI {
            2.0
        } else {
            let sine = (0.5 * self.radius).sin();
            2.0 * sine * sine
        };
        self.center.minus(point).norm2() <= 2.0 * height
    }

    fn complement(&self) -> Cap {
        Cap {
            center: self.center.opposite(),
            radius: std::f64::consts::PI - self.radius,
        }
    }

    /// Whether each part of the shape is inside.
    pub(super) fn contains(&self, shape: &Shape) -> bool {
        let outside = self.complement();
        shape.parts.iter().all(|part| match part {
            Part::Point { cell, .. } => self.meets(*cell),
            Part::Line(line) => line.distance(outside.center) >= outside.radius,
            Part::Polygon(polygon) => polygon.distance(outside.center) >= outside.radius,
        })
    }
}

impl Region for Cap {
    fn meets(&self, cell: CellId) -> bool {
        let corners = cell.corners();
        let edges = (0..4).map(|side| (corners[side], corners[(side + 1) % 4]));
        corners.iter().any(|corner| self.has(*corner))
            || cell.has(self.center)
            || nearest(self.center, edges).is_some_and(|nearest| self.has(nearest))
    }

    fn covers(&self, cell: CellId) -> bool {
        // A cell reaches no further than its farthest corner while both are less than a hemisphere.
        let least = std::f64::consts::FRAC_PI_2;
        self.radius < least && cell.level() > 0 && cell.corners().iter().all(|corner| self.has(*corner))
    }
}
