//! Cells: the faces of a cube around the sphere, each divided in four again and again along a Hilbert curve.
//!
//! Cells of level 30 are about a centimeter wide; one of them stands for a point. The order of cell numbers is
//! that of the curve, so a cell and all in it are one range.

use super::ring::Ring;
use super::vector::Vector;

/// How often a face is divided.
pub(super) const DEEPEST: u32 = 30;
/// How many of the smallest cells lie along one side of a face.
const SIDE: i64 = 1 << DEEPEST;

/// For each way that a cell is turned, which quarter (2 bits: across, along) comes at which place of the curve.
const QUARTERS: [[u8; 4]; 4] = [[0, 1, 3, 2], [0, 2, 3, 1], [3, 2, 0, 1], [3, 1, 0, 2]];
/// How the quarter at each place is turned against its parent.
const TURNS: [u8; 4] = [1, 0, 0, 3];
/// The same from the quarter: for each way that a cell is turned, the place of each quarter, and how that is turned.
const PLACES: [[(u8, u8); 4]; 4] = {
    let mut places = [[(0, 0); 4]; 4];
    let mut turned = 0;
    while turned < 4 {
        let mut place = 0;
        while place < 4 {
            let quarter = QUARTERS[turned][place] as usize;
            places[turned][quarter] = (place as u8, turned as u8 ^ TURNS[place]);
            place += 1;
        }
        turned += 1;
    }
    places
};

/// The number of a cell: face, place on the curve, and a one that tells the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CellId(u64);

/// A cell as a part of its face.
#[derive(Clone, Copy, Debug)]
struct Square {
    face: u8,
    /// The corner with the least coordinates, in smallest cells.
    i: i64,
    j: i64,
    size: i64,
}

impl CellId {
    /// The smallest cell around a point.
    pub(crate) fn of_point(point: Vector) -> CellId {
        let face = face_of(point);
        let (u, v) = on_face(face, point);
        CellId::of_square(face, grid(to_side(u)), grid(to_side(v)))
    }

    /// The six faces.
    pub(super) fn faces() -> impl Iterator<Item = CellId> {
        (0..6u64).map(|face| CellId((face << 61) + (1 << 60)))
    }

    fn of_square(face: u8, i: i64, j: i64) -> CellId {
        let mut turned = face & 1;
        let mut id = u64::from(face);
        for level in (0..DEEPEST).rev() {
            let quarter = ((i >> level & 1) << 1 | (j >> level & 1)) as usize;
            let (place, inside) = PLACES[usize::from(turned & 3)][quarter & 3];
            id = id << 2 | u64::from(place);
            turned = inside;
        }
        CellId(id << 1 | 1)
    }

    fn square(self) -> Square {
        let face = (self.0 >> 61) as u8;
        let (mut i, mut j, mut turned) = (0i64, 0i64, face & 1);
        let level = self.level();
        for step in 0..level {
            let place = (self.0 >> (59 - 2 * step) & 3) as usize;
            let quarter = QUARTERS[usize::from(turned)][place];
            i = i << 1 | i64::from(quarter >> 1);
            j = j << 1 | i64::from(quarter & 1);
            turned ^= TURNS[place];
        }
        let size = SIDE >> level;
        Square {
            face,
            i: i * size,
            j: j * size,
            size,
        }
    }

    /// The cell's number; the order of numbers is the order along the curve.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// How often its face was divided.
    pub(super) fn level(self) -> u32 {
        DEEPEST - self.0.trailing_zeros() / 2
    }

    fn lowest_bit(self) -> u64 {
        self.0 & self.0.wrapping_neg()
    }

    /// The first and the last of the smallest cells in it.
    pub(crate) fn range(self) -> (CellId, CellId) {
        let bit = self.lowest_bit();
        (CellId(self.0 - (bit - 1)), CellId(self.0 + (bit - 1)))
    }

    /// Whether the other cell is this one or lies in it.
    pub(super) fn holds(self, other: CellId) -> bool {
        let (first, last) = self.range();
        first <= other && other <= last
    }

    /// The four cells that it is divided into.
    pub(super) fn children(self) -> impl Iterator<Item = CellId> {
        let bit = self.lowest_bit() >> 2;
        (0..4).map(move |place| CellId(self.0 - 3 * bit + 2 * place * bit))
    }

    /// The cells that it lies in, without itself, the smallest first.
    pub(super) fn parents(self) -> impl Iterator<Item = CellId> {
        (0..self.level()).rev().map(move |level| {
            let bit = 1u64 << (2 * (DEEPEST - level));
            CellId(self.0 & bit.wrapping_neg() | bit)
        })
    }

    /// Whether the cell's square has the point, its edges included.
    pub(super) fn has(self, point: Vector) -> bool {
        let square = self.square();
        let toward = [point.x, point.y, point.z][usize::from(square.face % 3)];
        if (square.face < 3 && toward <= 0.0) || (square.face >= 3 && toward >= 0.0) {
            return false;
        }
        let (u, v) = on_face(square.face, point);
        let [low_u, high_u] = square.across();
        let [low_v, high_v] = square.along();
        low_u <= u && u <= high_u && low_v <= v && v <= high_v
    }

    /// Its corners, counterclockwise.
    pub(super) fn corners(self) -> [Vector; 4] {
        let square = self.square();
        let [low_u, high_u] = square.across();
        let [low_v, high_v] = square.along();
        [(low_u, low_v), (high_u, low_v), (high_u, high_v), (low_u, high_v)]
            .map(|(u, v)| from_face(square.face, u, v).normalized())
    }

    /// Its boundary.
    pub(super) fn ring(self) -> Ring {
        Ring::new(self.corners().to_vec())
    }
}

impl Square {
    fn across(&self) -> [f64; 2] {
        [self.i, self.i + self.size].map(place)
    }

    fn along(&self) -> [f64; 2] {
        [self.j, self.j + self.size].map(place)
    }
}

/// Where a line of the grid lies on the face, -1 to 1.
fn place(line: i64) -> f64 {
    let side = (1.0 / SIDE as f64) * (2 * line - SIDE) as f64;
    // Cells near the edges of a face are drawn larger there than in its middle, so that all are about the same.
    if side >= 0.0 {
        (1.0 / 3.0) * ((1.0 + side) * (1.0 + side) - 1.0)
    } else {
        (1.0 / 3.0) * (1.0 - (1.0 - side) * (1.0 - side))
    }
}

/// The inverse of what [`place`] does to a side's length.
fn to_side(u: f64) -> f64 {
    if u >= 0.0 {
        (1.0 + 3.0 * u).sqrt() - 1.0
    } else {
        1.0 - (1.0 - 3.0 * u).sqrt()
    }
}

fn grid(side: f64) -> i64 {
    let half = (SIDE / 2) as f64;
    let line = (half * side + (half - 0.5)).round_ties_even();
    (line as i64).clamp(0, SIDE - 1)
}

fn face_of(point: Vector) -> u8 {
    let axis = point.main_axis();
    let part = [point.x, point.y, point.z][axis];
    axis as u8 + if part < 0.0 { 3 } else { 0 }
}

fn on_face(face: u8, p: Vector) -> (f64, f64) {
    match face {
        0 => (p.y / p.x, p.z / p.x),
        1 => (-p.x / p.y, p.z / p.y),
        2 => (-p.x / p.z, -p.y / p.z),
        3 => (p.z / p.x, p.y / p.x),
        4 => (p.z / p.y, -p.x / p.y),
        _ => (-p.y / p.z, -p.x / p.z),
    }
}

fn from_face(face: u8, u: f64, v: f64) -> Vector {
    match face {
        0 => Vector::new(1.0, u, v),
        1 => Vector::new(-u, 1.0, v),
        2 => Vector::new(-u, -v, 1.0),
        3 => Vector::new(-1.0, -v, -u),
        4 => Vector::new(v, -1.0, -u),
        _ => Vector::new(v, u, -1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::vector::Pair;
    use super::CellId;

    #[test]
    fn a_point_is_in_its_cell_and_that_in_its_parents() {
        for (x, y) in [
            (0.0, 0.0),
            (12.5, 41.9),
            (-180.0, 0.0),
            (77.0, -90.0),
            (179.99, 45.0),
        ] {
            let point = Pair { x, y }.to_vector();
            let cell = CellId::of_point(point);
            assert!(cell.has(point), "{x} {y}");
            assert_eq!(cell.level(), 30);
            for parent in cell.parents() {
                let (first, last) = parent.range();
                assert!(first <= cell && cell <= last);
                assert!(parent.has(point), "{x} {y} {}", parent.level());
            }
            assert_eq!(cell.parents().count(), 30);
        }
    }

    #[test]
    fn children_fill_their_parent() {
        let face = CellId::faces().nth(2).expect("a face");
        let (first, last) = face.range();
        let children: Vec<CellId> = face.children().collect();
        assert_eq!(children[0].range().0, first);
        assert_eq!(children[3].range().1, last);
        assert!(children.windows(2).all(|pair| pair[0] < pair[1]));
    }

    /// As the server numbers it: `db.c.find({l: {$geoWithin: ..}}).explain()` shows the cells.
    #[test]
    fn numbers_are_those_of_the_curve() {
        let cell = CellId::of_point(Pair { x: 0.0, y: 0.0 }.to_vector());
        assert_eq!(cell.number() >> 61, 0);
    }
}
