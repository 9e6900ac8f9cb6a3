//! Shapes in the plane: they hold places only.

use super::vector::Pair;

/// A box, a circle or a polygon of plain coordinates.
#[derive(Clone, Debug)]
pub(crate) enum Flat {
    /// Between two corners, the edges included.
    Box {
        low: Pair,
        high: Pair,
    },
    Circle {
        center: Pair,
        radius: f64,
    },
    /// The vertices; the last is joined to the first.
    Polygon(Vec<Pair>),
}

impl Flat {
    pub(crate) fn contains(&self, place: Pair) -> bool {
        match self {
            Flat::Box { low, high } => {
                (low.x..=high.x).contains(&place.x) && (low.y..=high.y).contains(&place.y)
            }
            Flat::Circle { center, radius } => place.distance(*center) <= *radius,
            Flat::Polygon(vertices) => polygon_contains(vertices, place),
        }
    }

    /// The corners of the least box around it.
    pub(crate) fn bounds(&self) -> (Pair, Pair) {
        match self {
            Flat::Box { low, high } => (*low, *high),
            Flat::Circle { center, radius } => {
                let corner = |radius: f64| Pair {
                    x: center.x + radius,
                    y: center.y + radius,
                };
                (corner(-radius), corner(*radius))
            }
            Flat::Polygon(vertices) => {
                let start = vertices.first().copied().unwrap_or(Pair { x: 0.0, y: 0.0 });
                vertices.iter().fold((start, start), |(low, high), vertex| {
                    let low = Pair {
                        x: low.x.min(vertex.x),
                        y: low.y.min(vertex.y),
                    };
                    let high = Pair {
                        x: high.x.max(vertex.x),
                        y: high.y.max(vertex.y),
                    };
                    (low, high)
                })
            }
        }
    }
}

/// Counts the edges to the right of the place. Vertices and edges along an axis are inside.
fn polygon_contains(vertices: &[Pair], place: Pair) -> bool {
    let mut inside = false;
    let ends = vertices.iter().zip(vertices.iter().cycle().skip(1));
    for (from, to) in ends {
        if place == *from {
            return true;
        }
        if place.y == from.y && from.y == to.y {
            if (from.x.min(to.x)..=from.x.max(to.x)).contains(&place.x) {
                return true;
            }
            continue;
        }
        let reaches = place.y > from.y.min(to.y) && place.y <= from.y.max(to.y);
        if !reaches || place.x > from.x.max(to.x) {
            continue;
        }
        let at = (place.y - from.y) * (to.x - from.x) / (to.y - from.y) + from.x;
        if from.x == to.x && place.x == from.x {
            return true;
        }
        if from.x == to.x || place.x <= at {
            inside = !inside;
        }
    }
    inside
}
