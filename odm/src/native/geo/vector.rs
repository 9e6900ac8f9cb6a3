//! Points of the unit sphere as 3D vectors.

use std::cmp::Ordering;

use super::super::document::Value;
use super::super::document::number::as_f64;

/// A vector; a point of the sphere when its length is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vector {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) z: f64,
}

/// A place in the plane, or a longitude and a latitude in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// The place of two numbers.
pub(crate) fn pair_of(x: &Value<'_>, y: &Value<'_>) -> Option<Pair> {
    Some(Pair {
        x: as_f64(x)?,
        y: as_f64(y)?,
    })
}

impl Pair {
    /// Whether this can be a longitude and a latitude.
    pub(crate) fn is_on_sphere(self) -> bool {
        self.x.abs() <= 180.0 && self.y.abs() <= 90.0
    }

    /// The point of the sphere with this longitude and latitude.
    pub(crate) fn to_vector(self) -> Vector {
        let radians = std::f64::consts::PI / 180.0;
        let (longitude, latitude) = (self.x * radians, self.y * radians);
        let around = latitude.cos();
        Vector {
            x: longitude.cos() * around,
            y: longitude.sin() * around,
            z: latitude.sin(),
        }
    }

    /// The distance in the plane.
    pub(crate) fn distance(self, other: Pair) -> f64 {
        let (a, b) = (self.x - other.x, self.y - other.y);
        // Exact where the places differ in one coordinate only.
        if a == 0.0 {
            b.abs()
        } else if b == 0.0 {
            a.abs()
        } else {
            (a * a + b * b).sqrt()
        }
    }
}

impl Vector {
    /// The latitude and the longitude, as messages show them.
    pub(super) fn in_degrees(self) -> String {
        let latitude = self.z.atan2(self.x.hypot(self.y)).to_degrees();
        let longitude = self.y.atan2(self.x).to_degrees();
        format!("[{latitude:.7}, {longitude:.7}]")
    }

    pub(super) fn new(x: f64, y: f64, z: f64) -> Vector {
        Vector { x, y, z }
    }

    pub(super) fn dot(self, other: Vector) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    pub(super) fn cross(self, other: Vector) -> Vector {
        Vector {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    pub(super) fn plus(self, other: Vector) -> Vector {
        Vector::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }

    pub(super) fn minus(self, other: Vector) -> Vector {
        Vector::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }

    pub(super) fn times(self, factor: f64) -> Vector {
        Vector::new(self.x * factor, self.y * factor, self.z * factor)
    }

    pub(super) fn opposite(self) -> Vector {
        self.times(-1.0)
    }

    pub(super) fn norm2(self) -> f64 {
        self.dot(self)
    }

    pub(super) fn norm(self) -> f64 {
        self.norm2().sqrt()
    }

    pub(super) fn normalized(self) -> Vector {
        let norm = self.norm();
        if norm == 0.0 { self } else { self.times(1.0 / norm) }
    }

    /// The angle between two vectors in radians.
    pub(crate) fn angle(self, other: Vector) -> f64 {
        self.cross(other).norm().atan2(self.dot(other))
    }

    /// The axis with the largest part: 0, 1 or 2.
    pub(super) fn main_axis(self) -> usize {
        let (x, y, z) = (self.x.abs(), self.y.abs(), self.z.abs());
        if x > y {
            if x > z { 0 } else { 2 }
        } else if y > z {
            1
        } else {
            2
        }
    }

    /// A unit vector at a right angle to this one, always the same.
    pub(super) fn across(self) -> Vector {
        let mut parts = [0.012, 0.0053, 0.00457];
        parts[(self.main_axis() + 2) % 3] = 1.0;
        let [x, y, z] = parts;
        self.cross(Vector::new(x, y, z)).normalized()
    }

    /// An order of vectors, by their parts.
    pub(super) fn order(self, other: Vector) -> Ordering {
        self.x
            .total_cmp(&other.x)
            .then(self.y.total_cmp(&other.y))
            .then(self.z.total_cmp(&other.z))
    }
}
