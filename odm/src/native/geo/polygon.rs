//! Polygons on the sphere: an outer ring and holes.

use std::collections::HashMap;

use super::super::document::Value;
use super::cell::CellId;
use super::line::Line;
use super::predicate::{Meeting, crossing_point, meeting, nearest, neighbors, vertex_crossing};
use super::ring::{Relation, Ring};
use super::vector::Vector;

/// Two points nearer than this are one.
const SAME: f64 = 1.5e-15;
/// How far in radians a line inside a polygon may seem to leave it.
const NEARLY: f64 = 1.8e-12;

/// An outer ring, and holes within it.
#[derive(Clone, Debug)]
pub(crate) struct Polygon {
    outer: Ring,
    /// With their own insides on the left.
    holes: Vec<Ring>,
    /// Whether its one ring was taken as it was written.
    strict: bool,
    /// For a polygon of one ring that covers more than half of the sphere: what it leaves out.
    outside: Option<Box<Polygon>>,
}

impl Polygon {
    /// A polygon of rings that are small.
    pub(super) fn new(outer: Ring, holes: Vec<Ring>) -> Polygon {
        Polygon {
            outer,
            holes,
            strict: false,
            outside: None,
        }
    }

    /// All on the left of the ring, however much that is.
    pub(super) fn on_the_left(ring: Ring) -> Polygon {
        let outside = (!ring.is_small()).then(|| Box::new(Polygon::new(ring.inverted(), Vec::new())));
        Polygon {
            outer: ring,
            holes: Vec::new(),
            strict: true,
            outside,
        }
    }

    /// The edges with the inside on the left.
    fn edges(&self) -> impl Iterator<Item = (Vector, Vector)> + '_ {
        let holes = self
            .holes
            .iter()
            .flat_map(|hole| hole.edges().map(|(a, b)| (b, a)));
        self.outer.edges().chain(holes)
    }

    fn rings(&self) -> impl Iterator<Item = &Ring> {
        std::iter::once(&self.outer).chain(&self.holes)
    }

    fn contains_exactly(&self, point: Vector) -> bool {
        self.rings()
            .fold(false, |inside, ring| inside ^ ring.contains_point(point))
    }

    /// Whether the point, or the cell around it in part, is inside.
    pub(super) fn contains_point(&self, point: Vector) -> bool {
        self.contains_exactly(point) || self.intersects_cell(CellId::of_point(point))
    }

    pub(super) fn intersects_cell(&self, cell: CellId) -> bool {
        if self.holes.is_empty() {
            return cell.ring().intersects(&self.outer);
        }
        self.intersects(&Polygon::new(cell.ring(), Vec::new()))
    }

    /// Whether the cell is inside as a whole.
    pub(super) fn contains_cell(&self, cell: CellId) -> bool {
        self.contains(&Polygon::new(cell.ring(), Vec::new()))
    }

    /// Whether the other polygon is inside; boundaries in common are allowed.
    pub(super) fn contains(&self, other: &Polygon) -> bool {
        if let Some(outside) = &self.outside {
            return !outside.intersects(other);
        }
        if self.holes.is_empty() && other.holes.is_empty() {
            return self.outer.contains(&other.outer);
        }
        // Every outer ring inside an odd number of rings of this, no hole of this inside the other.
        self.place(&other.outer) == Place::Inside
            && self.holes.iter().all(|hole| other.place(hole) == Place::Outside)
    }

    /// Whether the insides have a part in common.
    pub(super) fn intersects(&self, other: &Polygon) -> bool {
        if let Some(outside) = &self.outside {
            return !outside.contains(other);
        }
        if self.holes.is_empty() && other.holes.is_empty() {
            return self.outer.intersects(&other.outer);
        }
        self.place(&other.outer) != Place::Outside || other.place(&self.outer) != Place::Outside
    }

    fn place(&self, ring: &Ring) -> Place {
        let mut inside = false;
        for own in self.rings() {
            match own.relation(ring) {
                Relation::Crosses => return Place::Crossing,
                Relation::Contains => inside = !inside,
                Relation::Other => {}
            }
        }
        if inside { Place::Inside } else { Place::Outside }
    }

    /// The parts of a line that are inside, or outside; parts that touch are one.
    fn parts(&self, line: &Line, side: Side) -> Vec<Vec<Vector>> {
        let mut parts: Vec<Vec<Vector>> = Vec::new();
        let Some(first) = line.vertices().first() else {
            return parts;
        };
        let mut within = self.contains_exactly(*first) == (side == Side::Inside);
        for (a, b) in line.edges() {
            let mut changes = self.changes(a, b);
            if within {
                changes.push((0.0, a));
            }
            within = changes.len() % 2 == 1;
            if within {
                changes.push((1.0, b));
            }
            changes.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.order(y.1)));
            for pair in changes.chunks_exact(2) {
                if pair[0] != pair[1] {
                    lengthen(&mut parts, pair[0].1, pair[1].1);
                }
            }
        }
        parts
    }

    /// Where an edge goes in or out, with the share of it that lies before.
    fn changes(&self, a: Vector, b: Vector) -> Vec<(f64, Vector)> {
        let mut changes = Vec::new();
        for (c, d) in self.edges() {
            match meeting(a, b, c, d) {
                Meeting::Apart => {}
                Meeting::Crossing => {
                    let at = crossing_point(a, b, c, d);
                    let (before, after) = (at.angle(a), at.angle(b));
                    changes.push((before / (before + after), at));
                }
                Meeting::Vertex if vertex_crossing(a, b, c, d) => {
                    let at_start = a == c || a == d;
                    changes.push(if at_start { (0.0, a) } else { (1.0, b) });
                }
                Meeting::Vertex => {}
            }
        }
        changes
    }

    pub(super) fn intersects_line(&self, line: &Line) -> bool {
        if self.strict {
            let starts_inside = line
                .vertices()
                .first()
                .is_some_and(|first| self.contains_exactly(*first));
            return starts_inside || self.outer.border().intersects(line);
        }
        !self.parts(line, Side::Inside).is_empty()
    }

    pub(super) fn contains_line(&self, line: &Line) -> bool {
        if let Some(outside) = &self.outside {
            return outside.parts(line, Side::Inside).is_empty();
        }
        if self.strict {
            return self.parts(line, Side::Outside).is_empty();
        }
        match self.parts(line, Side::Inside).as_slice() {
            [part] => passes(part, line),
            _ => false,
        }
    }

    /// The distance of a point in radians, zero inside.
    pub(super) fn distance(&self, point: Vector) -> f64 {
        if self.contains_exactly(point) {
            return 0.0;
        }
        nearest(point, self.edges()).map_or(f64::INFINITY, |nearest| point.angle(nearest))
    }

    /// Why these rings make no polygon, if so; `shown` are their coordinates.
    pub(super) fn fault(outer: &Ring, holes: &[Ring], shown: &Value<'_>) -> Option<String> {
        let rings: Vec<&Ring> = std::iter::once(outer).chain(holes).collect();
        let mut edges = Vec::new();
        let mut owners = Vec::new();
        for (owner, ring) in rings.iter().enumerate() {
            edges.extend(ring.edges());
            owners.extend((0..edges.len() - owners.len()).map(|edge| (owner, edge)));
        }
        let invalid = |fault: &str| format!("Polygon isn't valid: {fault} {shown}");
        let mut known: HashMap<[u64; 6], (usize, usize)> = HashMap::new();
        for ((a, b), (owner, edge)) in edges.iter().zip(&owners) {
            // Both zeros are one.
            let bits = [a.x, a.y, a.z, b.x, b.y, b.z].map(|part| (part + 0.0).to_bits());
            if let Some((other, its)) = known.insert(bits, (*owner, *edge)) {
                return Some(invalid(&format!(
                    "Duplicate edge: loop {owner}, edge {edge} and loop {other}, edge {its}"
                )));
            }
        }
        let mut fault = None;
        let mut common: HashMap<(usize, usize), usize> = HashMap::new();
        neighbors(&edges, |first, second| {
            let ((one, own), (other, its)) = (owners[first], owners[second]);
            if one == other {
                return false;
            }
            let ((a, b), (c, d)) = (edges[first], edges[second]);
            let meeting = meeting(a, b, c, d);
            if (a, b) == (d, c) {
                fault = Some(invalid(&format!(
                    "Duplicate edge: loop {other}, edge {its} and loop {one}, edge {own}"
                )));
            } else if meeting == Meeting::Crossing {
                fault = Some(invalid(&format!("Loop {one} crosses loop {other}")));
            } else if meeting == Meeting::Vertex && b == d {
                let vertices = common.entry((one, other)).or_default();
                *vertices += 1;
                if *vertices > 1 {
                    fault = Some(match one {
                        0 => format!(
                            "Loop {other} shares more than one vertex with its parent loop 0: {shown}"
                        ),
                        _ => invalid(&format!("Loop {one} crosses loop {other}")),
                    });
                }
            }
            fault.is_some()
        });
        if fault.is_some() {
            return fault;
        }
        let nested = holes.iter().enumerate().any(|(position, hole)| {
            let mut earlier = holes[..position].iter();
            earlier.any(|other| other.contains(hole) || hole.contains(other))
        });
        nested.then(|| format!("Polygon interior loops cannot be nested: {shown}"))
    }
}

/// Adds the way between two points to the last part, or begins a new one.
fn lengthen(parts: &mut Vec<Vec<Vector>>, from: Vector, to: Vector) {
    let touches = parts
        .last()
        .and_then(|part| part.last())
        .is_some_and(|end| end.angle(from) <= SAME);
    if !touches {
        parts.push(vec![from]);
    }
    if let Some(part) = parts.last_mut()
        && part.last().is_some_and(|end| end.angle(to) > SAME)
    {
        part.push(to);
    }
}

/// Whether the part of a line goes through all of the line's vertices, from the first to the last.
fn passes(part: &[Vector], line: &Line) -> bool {
    let mut rest = part;
    line.vertices().iter().all(|vertex| {
        let at = rest.iter().position(|own| own.angle(*vertex) <= NEARLY);
        rest = at.map_or(rest, |at| &rest[at..]);
        at.is_some()
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Inside,
    Outside,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Inside,
    Outside,
    Crossing,
}
