//! Closed rings on the sphere: the inside is on the left.

use super::line::Line;
use super::predicate::{Meeting, changes_side, meeting, neighbors, ordered, turn};
use super::vector::Vector;

/// The point from which crossings are counted.
const ORIGIN: (f64, f64, f64) = (0.00457, 1.0, 0.0321);

/// A closed ring of at least three vertices.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    vertices: Vec<Vector>,
    /// Whether the point from which crossings are counted is inside.
    origin_inside: bool,
}

/// What two rings have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The boundaries cross.
    Crosses,
    /// The other ring is inside this one.
    Contains,
    /// Neither crosses nor contains.
    Other,
}

impl Ring {
    /// A ring of these vertices, the first not repeated.
    pub(super) fn new(vertices: Vec<Vector>) -> Ring {
        let mut ring = Ring {
            vertices,
            origin_inside: false,
        };
        // A vertex is inside when a fixed direction from it lies in the wedge on the left of its edges.
        let (before, at, after) = (ring.at(0), ring.at(1), ring.at(2));
        let inside = ordered(at.across(), before, after, at);
        ring.origin_inside = inside != ring.contains_point(at);
        ring
    }

    /// The vertex at this position, which goes round.
    pub(super) fn at(&self, position: usize) -> Vector {
        self.vertices[position % self.vertices.len()]
    }

    pub(super) fn len(&self) -> usize {
        self.vertices.len()
    }

    /// The edges in order.
    pub(super) fn edges(&self) -> impl Iterator<Item = (Vector, Vector)> + '_ {
        (0..self.len()).map(|position| (self.at(position), self.at(position + 1)))
    }

    /// The boundary as a line that comes back to its start.
    pub(super) fn border(&self) -> Line {
        Line::new((0..=self.len()).map(|position| self.at(position)).collect())
    }

    /// What is outside becomes inside.
    pub(super) fn inverted(&self) -> Ring {
        Ring::new(self.vertices.iter().rev().copied().collect())
    }

    /// Why this is no ring, if so: it comes back to a vertex, or crosses itself.
    pub(super) fn fault(&self) -> Option<String> {
        let mut sorted: Vec<(usize, Vector)> = self.vertices.iter().copied().enumerate().collect();
        sorted.sort_by(|(_, a), (_, b)| a.order(*b));
        let twice = sorted.windows(2).find(|pair| pair[0].1 == pair[1].1);
        if let Some([(first, _), (second, _)]) = twice {
            return Some(format!("Duplicate vertices: {first} and {second}"));
        }
        let edges: Vec<(Vector, Vector)> = self.edges().collect();
        // Neighbors meet in their vertex, which is no crossing.
        let crossing = neighbors(&edges, |first, second| {
            let ((a, b), (c, d)) = (edges[first], edges[second]);
            meeting(a, b, c, d) == Meeting::Crossing
        });
        crossing.map(|(first, second)| {
            let shown = |(from, to): (Vector, Vector)| format!("{}-{}", from.in_degrees(), to.in_degrees());
            format!(
                "Edges {first} and {second} cross. Edge locations in degrees: {} and {}",
                shown(edges[first]),
                shown(edges[second])
            )
        })
    }

    /// Whether it covers at most half of the sphere.
    pub(super) fn is_small(&self) -> bool {
        // The turns of a small ring add up to more than nothing: a full turn, less what the area takes.
        let turns: f64 = (0..self.len())
            .map(|position| angle_at(self.at(position), self.at(position + 1), self.at(position + 2)))
            .sum();
        turns >= -1e-14
    }

    /// This ring or its inverse, whichever is small.
    pub(super) fn normalized(self) -> Ring {
        if self.is_small() { self } else { self.inverted() }
    }

    /// Whether the point is inside; of several rings that fill the sphere exactly one contains it.
    pub(super) fn contains_point(&self, point: Vector) -> bool {
        let (x, y, z) = ORIGIN;
        let origin = Vector::new(x, y, z).normalized();
        self.edges().fold(self.origin_inside, |inside, (c, d)| {
            inside ^ changes_side(origin, point, c, d)
        })
    }

    fn has_vertex(&self, vertex: Vector) -> bool {
        self.vertices.contains(&vertex)
    }

    /// Visits the places where the rings have a vertex in common: the neighbors on both. `None` when the
    /// boundaries cross or the visitor ends the walk.
    fn boundaries(&self, other: &Ring, mut wedge: impl FnMut(Wedge) -> bool) -> Option<()> {
        for (j, (c, d)) in other.edges().enumerate() {
            for (i, (a, b)) in self.edges().enumerate() {
                match meeting(c, d, a, b) {
                    Meeting::Apart => {}
                    Meeting::Crossing => return None,
                    Meeting::Vertex if b == d => {
                        let wedge_here = Wedge {
                            before: a,
                            vertex: b,
                            after: self.at(i + 2),
                            other_before: c,
                            other_after: other.at(j + 2),
                        };
                        if !wedge(wedge_here) {
                            return None;
                        }
                    }
                    Meeting::Vertex => {}
                }
            }
        }
        Some(())
    }

    /// Whether the other ring is inside, boundaries in common allowed.
    pub(super) fn contains(&self, other: &Ring) -> bool {
        let first = other.at(0);
        if !self.contains_point(first) && !self.has_vertex(first) {
            return false;
        }
        if self.boundaries(other, |wedge| wedge.contains()).is_none() {
            return false;
        }
        // Two rings that fill the sphere together contain each other's vertices.
        !other.contains_point(self.at(0)) || other.has_vertex(self.at(0))
    }

    /// Whether the insides have a part in common; a boundary in common is not enough.
    pub(super) fn intersects(&self, other: &Ring) -> bool {
        if other.len() > self.len() {
            return other.intersects(self);
        }
        let inside = |ring: &Ring, vertex: Vector| ring.contains_point(vertex) && !ring.has_vertex(vertex);
        inside(self, other.at(0))
            || self.boundaries(other, |wedge| !wedge.intersects()).is_none()
            || inside(other, self.at(0))
    }

    /// What this ring has to do with another, where together they do not fill the sphere.
    pub(super) fn relation(&self, other: &Ring) -> Relation {
        let (mut wider, mut narrower, mut apart, mut overlap) = (false, false, false, false);
        let crossing = self.boundaries(other, |wedge| {
            match wedge.relation() {
                WedgeRelation::Equal => {}
                WedgeRelation::Wider => wider = true,
                WedgeRelation::Narrower => narrower = true,
                WedgeRelation::Apart => apart = true,
                WedgeRelation::Overlaps => overlap = true,
            }
            true
        });
        if crossing.is_none() || overlap || (wider && narrower) {
            return Relation::Crosses;
        }
        let first = other.at(0);
        if narrower || apart || (!self.contains_point(first) && !self.has_vertex(first)) {
            return Relation::Other;
        }
        Relation::Contains
    }
}

/// The angle by which a path turns left at `b`.
fn angle_at(a: Vector, b: Vector, c: Vector) -> f64 {
    // Normals of the edges, taken so that they are good for short ones too.
    let normal = |p: Vector, q: Vector| q.plus(p).cross(q.minus(p));
    let angle = normal(a, b).angle(normal(b, c));
    if turn(a, b, c) > 0 { angle } else { -angle }
}

/// A vertex of two rings, with its neighbors on both.
struct Wedge {
    before: Vector,
    vertex: Vector,
    after: Vector,
    other_before: Vector,
    other_after: Vector,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WedgeRelation {
    Equal,
    Wider,
    Narrower,
    Apart,
    Overlaps,
}

impl Wedge {
    /// Whether the other's wedge is within this one's.
    fn contains(&self) -> bool {
        ordered(self.after, self.other_after, self.other_before, self.vertex)
            && ordered(self.other_before, self.before, self.after, self.vertex)
    }

    fn intersects(&self) -> bool {
        !(ordered(self.before, self.other_after, self.other_before, self.vertex)
            && ordered(self.other_before, self.after, self.before, self.vertex))
    }

    fn relation(&self) -> WedgeRelation {
        if self.before == self.other_before && self.after == self.other_after {
            return WedgeRelation::Equal;
        }
        if ordered(self.before, self.after, self.other_after, self.vertex) {
            if ordered(self.other_after, self.other_before, self.before, self.vertex) {
                return WedgeRelation::Wider;
            }
            return if self.after == self.other_after {
                WedgeRelation::Narrower
            } else {
                WedgeRelation::Overlaps
            };
        }
        if ordered(self.before, self.other_before, self.other_after, self.vertex) {
            return WedgeRelation::Narrower;
        }
        if ordered(self.before, self.other_before, self.after, self.vertex) {
            WedgeRelation::Apart
        } else {
            WedgeRelation::Overlaps
        }
    }
}
