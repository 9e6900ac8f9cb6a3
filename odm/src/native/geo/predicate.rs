//! Which way three points turn, and whether two edges cross.
//!
//! Three different points always turn one way or the other: points in one plane with the center count as moved
//! by an infinitely small vector, the same for all. So every question has one answer, and the answers agree.

use super::vector::Vector;

/// A determinant nearer to zero than this may have the wrong sign.
const UNSURE: f64 = 1.6e-15;

/// 1 when `a`, `b`, `c` are counterclockwise, -1 when clockwise, 0 only when two of them are the same.
pub(super) fn turn(a: Vector, b: Vector, c: Vector) -> i32 {
    let determinant = a.cross(b).dot(c);
    if determinant > UNSURE {
        1
    } else if determinant < -UNSURE {
        -1
    } else {
        careful_turn(a, b, c)
    }
}

/// The same for points that are nearly in one plane with the center: from the vertex between the two shorter
/// edges, where the error is smallest.
fn careful_turn(a: Vector, b: Vector, c: Vector) -> i32 {
    if a == b || b == c || c == a {
        return 0;
    }
    // Of nearly opposite points one is mirrored, so that the edge is short.
    let toward = |p: Vector, q: Vector| if p.dot(q) > 0.0 { -1.0 } else { 1.0 };
    let (sign_ab, sign_bc, sign_ca) = (toward(a, b), toward(b, c), toward(c, a));
    let ab = a.plus(b.times(sign_ab));
    let bc = b.plus(c.times(sign_bc));
    let ca = c.plus(a.times(sign_ca));
    let (long_ab, long_bc, long_ca) = (ab.norm2(), bc.norm2(), ca.norm2());
    let before = |p: Vector, q: Vector| p.order(q).is_lt();
    let determinant = if long_ca < long_bc || (long_ca == long_bc && before(a, b)) {
        if long_ab < long_bc || (long_ab == long_bc && before(a, c)) {
            ab.cross(ca).dot(a) * sign_ab
        } else {
            ca.cross(bc).dot(c) * sign_ca
        }
    } else if long_ab < long_ca || (long_ab == long_ca && before(b, c)) {
        bc.cross(ab).dot(b) * sign_bc
    } else {
        ca.cross(bc).dot(c) * sign_ca
    };
    match sign(determinant) {
        0 => {}
        turn => return turn,
    }
    // In one plane: the order of the points around the center as seen along each axis.
    let planes: [fn(Vector) -> (f64, f64); 3] = [|v| (v.y, v.z), |v| (v.z, v.x), |v| (v.x, v.y)];
    planes
        .iter()
        .map(|seen| planar_order(seen(a), seen(b), seen(c)))
        .find(|turn| *turn != 0)
        .unwrap_or(0)
}

fn sign(x: f64) -> i32 {
    if x > 0.0 {
        1
    } else if x < 0.0 {
        -1
    } else {
        0
    }
}

fn planar_order(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> i32 {
    (planar_turn(a, b) + planar_turn(b, c) + planar_turn(c, a)).signum()
}

fn planar_turn(a: (f64, f64), b: (f64, f64)) -> i32 {
    let cross = |p: (f64, f64), q: (f64, f64)| p.0 * q.1 - p.1 * q.0;
    let dot = |p: (f64, f64), q: (f64, f64)| p.0 * q.0 + p.1 * q.1;
    let toward = if dot(a, b) > 0.0 { -1.0 } else { 1.0 };
    let edge = (a.0 + toward * b.0, a.1 + toward * b.1);
    let (near, far) = (dot(a, a), dot(b, b));
    let first = near < far || (near == far && (a.0 < b.0 || (a.0 == b.0 && a.1 < b.1)));
    sign(if first {
        cross(a, edge) * toward
    } else {
        cross(edge, b)
    })
}

/// Whether `a`, `b`, `c` come counterclockwise around `center`; true when `b` is `a` or `c`.
pub(super) fn ordered(a: Vector, b: Vector, c: Vector, center: Vector) -> bool {
    let turns = [
        turn(b, center, a) >= 0,
        turn(c, center, b) >= 0,
        turn(a, center, c) > 0,
    ];
    turns.iter().filter(|turn| **turn).count() >= 2
}

/// How two edges meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    Apart,
    /// They have an end in common.
    Vertex,
    Crossing,
}

/// How the edges `ab` and `cd` meet.
pub(super) fn meeting(a: Vector, b: Vector, c: Vector, d: Vector) -> Meeting {
    if apart(a, b, c, d) {
        return Meeting::Apart;
    }
    let acb = -turn(a, b, c);
    let bda = turn(a, b, d);
    if bda == -acb && bda != 0 {
        return Meeting::Apart;
    }
    if bda & acb == 0 {
        return Meeting::Vertex;
    }
    let cbd = -turn(c, d, b);
    if cbd != acb {
        return Meeting::Apart;
    }
    let dac = turn(c, d, a);
    if dac == acb {
        Meeting::Crossing
    } else {
        Meeting::Apart
    }
}

/// A quick answer for edges that are far from each other.
fn apart(a: Vector, b: Vector, c: Vector, d: Vector) -> bool {
    let (first, second) = (a.minus(b).norm2(), c.minus(d).norm2());
    // Short edges only: both lie in balls around their first ends.
    if first > 1.0 || second > 1.0 {
        return false;
    }
    let reach = first.sqrt() + second.sqrt() + 1e-9;
    a.minus(c).norm2() > reach * reach * 1.1
}

/// The first two edges, of those that come near each other, for which the question is answered with yes.
///
/// Edges are taken in order along one axis, so that those far apart on it are never compared.
pub(super) fn neighbors(
    edges: &[(Vector, Vector)],
    mut question: impl FnMut(usize, usize) -> bool,
) -> Option<(usize, usize)> {
    let mut spans: Vec<(f64, f64, usize)> = edges
        .iter()
        .enumerate()
        .map(|(position, (a, b))| {
            // An edge bends away from its chord by less than this.
            let bend = a.minus(*b).norm2() / 4.0 + 1e-12;
            (a.x.min(b.x) - bend, a.x.max(b.x) + bend, position)
        })
        .collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (at, (_, end, first)) in spans.iter().enumerate() {
        let rest = spans[at + 1..].iter().take_while(|(start, _, _)| start <= end);
        for (_, _, second) in rest {
            let pair = (*first.min(second), *first.max(second));
            if question(pair.0, pair.1) {
                return Some(pair);
            }
        }
    }
    None
}

/// For edges that share an end: whether going along `ab` crosses `cd` there. Of all edges around a vertex this
/// picks so many that counting them tells inside from outside.
pub(super) fn vertex_crossing(a: Vector, b: Vector, c: Vector, d: Vector) -> bool {
    if a == b || c == d {
        false
    } else if a == d {
        ordered(a.across(), c, b, a)
    } else if b == c {
        ordered(b.across(), d, a, b)
    } else if a == c {
        ordered(a.across(), d, b, a)
    } else if b == d {
        ordered(b.across(), c, a, b)
    } else {
        false
    }
}

/// Whether going along `ab` changes the side of `cd`.
pub(super) fn changes_side(a: Vector, b: Vector, c: Vector, d: Vector) -> bool {
    match meeting(a, b, c, d) {
        Meeting::Apart => false,
        Meeting::Crossing => true,
        Meeting::Vertex => vertex_crossing(a, b, c, d),
    }
}

/// The point of the edges that is nearest to `point`; `None` without edges.
pub(super) fn nearest(point: Vector, edges: impl Iterator<Item = (Vector, Vector)>) -> Option<Vector> {
    let mut best: Option<(f64, Vector)> = None;
    for (a, b) in edges {
        let on_edge = nearest_on_edge(point, a, b);
        let distance = point.minus(on_edge).norm2();
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, on_edge));
        }
    }
    best.map(|(_, nearest)| nearest)
}

fn nearest_on_edge(point: Vector, a: Vector, b: Vector) -> Vector {
    let normal = a.plus(b).cross(b.minus(a));
    if normal.norm2() > 0.0 {
        let on_circle = point.minus(normal.times(point.dot(normal) / normal.norm2()));
        // On the inner side of both ends.
        if on_circle.cross(normal).dot(a) > 0.0 && normal.cross(on_circle).dot(b) > 0.0 {
            return on_circle.normalized();
        }
    }
    if point.minus(a).norm2() <= point.minus(b).norm2() {
        a
    } else {
        b
    }
}

/// A vector at a right angle to both points, also where they are nearly or wholly the same.
fn normal(p: Vector, q: Vector) -> Vector {
    let normal = p.plus(q).cross(q.minus(p));
    if normal.norm2() == 0.0 { p.across() } else { normal }
}

/// Where the crossing edges `ab` and `cd` cross: between the ends of both. Edges on nearly one circle cross at
/// an end.
pub(super) fn crossing_point(a: Vector, b: Vector, c: Vector, d: Vector) -> Vector {
    let (first, second) = (normal(a, b).normalized(), normal(c, d).normalized());
    let point = normal(first, second).normalized();
    let point = if point.dot(a.plus(b).plus(c.plus(d))) < 0.0 {
        point.opposite()
    } else {
        point
    };
    if ordered(a, point, b, first) && ordered(c, point, d, second) {
        return point;
    }
    let mut best: Option<(f64, Vector)> = None;
    for (end, (from, to), center) in [
        (a, (c, d), second),
        (b, (c, d), second),
        (c, (a, b), first),
        (d, (a, b), first),
    ] {
        if !ordered(from, end, to, center) {
            continue;
        }
        let distance = point.minus(end).norm2();
        // Of ends that are equally near, the first in the order of vectors.
        let nearer = best.is_none_or(|(least, chosen)| {
            distance < least || (distance == least && end.order(chosen).is_lt())
        });
        if nearer {
            best = Some((distance, end));
        }
    }
    best.map_or(point, |(_, end)| end)
}

#[cfg(test)]
mod tests {
    use super::super::vector::Pair;
    use super::{Meeting, meeting, turn};

    fn at(x: f64, y: f64) -> super::Vector {
        Pair { x, y }.to_vector()
    }

    #[test]
    fn three_points_always_turn() {
        let (a, b, c) = (at(0.0, 0.0), at(1.0, 0.0), at(2.0, 0.0));
        assert_ne!(turn(a, b, c), 0);
        assert_eq!(turn(a, b, c), turn(b, c, a));
        assert_eq!(turn(a, b, c), -turn(c, b, a));
        assert_eq!(turn(a, b, b), 0);
    }

    #[test]
    fn edges_meet() {
        let cross = meeting(at(-1.0, 0.0), at(1.0, 0.0), at(0.0, -1.0), at(0.0, 1.0));
        assert_eq!(cross, Meeting::Crossing);
        let apart = meeting(at(-1.0, 0.0), at(1.0, 0.0), at(0.0, 1.0), at(0.0, 2.0));
        assert_eq!(apart, Meeting::Apart);
        let vertex = meeting(at(-1.0, 0.0), at(1.0, 0.0), at(1.0, 0.0), at(0.0, 2.0));
        assert_eq!(vertex, Meeting::Vertex);
    }
}
