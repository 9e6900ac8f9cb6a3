//! Places in the plane as numbers: the bits of both coordinates in turn.

use super::vector::Pair;

/// How many ranges a covering has at most.
const MOST: usize = 32;

/// The grid of a `2d` index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// How often each side is halved, at most 32.
    pub(crate) bits: u32,
}

impl Default for Grid {
    fn default() -> Grid {
        Grid {
            min: -180.0,
            max: 180.0,
            bits: 26,
        }
    }
}

impl Grid {
    /// Whether the place is in the grid, its edges included.
    pub(crate) fn has(self, place: Pair) -> bool {
        let inside = |x: f64| self.min <= x && x <= self.max;
        inside(place.x) && inside(place.y)
    }

    /// What is said of a place that is not in it.
    pub(crate) fn outside(self) -> String {
        format!("point not in interval of [ {}, {} ]", self.min, self.max)
    }

    /// The number of the square that the place is in.
    pub(crate) fn hash(self, place: Pair) -> [u8; 8] {
        let (x, y) = (self.line(place.x), self.line(place.y));
        let kept = u32::MAX.checked_shl(32 - self.bits).unwrap_or(0);
        interleave(x & kept, y & kept).to_be_bytes()
    }

    /// The 32 bits of a coordinate; beyond an edge counts as at it.
    fn line(self, x: f64) -> u32 {
        let scale = 4_294_967_296.0 / (self.max - self.min);
        ((x - self.min) * scale) as u32
    }

    /// Ranges, first and last, of the numbers in a box, in order.
    pub(crate) fn ranges(self, low: Pair, high: Pair) -> Vec<([u8; 8], [u8; 8])> {
        let (low, high) = (
            (self.line(low.x), self.line(low.y)),
            (self.line(high.x), self.line(high.y)),
        );
        let mut open = vec![Square { x: 0, y: 0, level: 0 }];
        let mut done = Vec::new();
        // Level by level: the number of squares grows until there are enough.
        while !open.is_empty() {
            let mut next = Vec::new();
            for square in &open {
                if square.level >= self.bits || square.is_within(low, high) {
                    done.push(*square);
                } else {
                    next.extend(square.quarters().into_iter().filter(|q| q.meets(low, high)));
                }
            }
            if done.len() + next.len() > MOST {
                done.extend(
                    open.iter()
                        .filter(|square| square.level < self.bits && !square.is_within(low, high)),
                );
                break;
            }
            open = next;
        }
        let mut ranges: Vec<(u64, u64)> = done.iter().map(|square| square.range()).collect();
        ranges.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match joined.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        joined
            .into_iter()
            .map(|(first, last)| (first.to_be_bytes(), last.to_be_bytes()))
            .collect()
    }
}

/// A square of the grid: its first line each way.
#[derive(Clone, Copy)]
struct Square {
    x: u32,
    y: u32,
    level: u32,
}

impl Square {
    /// All the bits below the square's own.
    fn rest(self) -> u32 {
        u32::MAX.checked_shr(self.level).unwrap_or(0)
    }

    fn meets(self, low: (u32, u32), high: (u32, u32)) -> bool {
        let rest = self.rest();
        self.x | rest >= low.0 && self.x <= high.0 && self.y | rest >= low.1 && self.y <= high.1
    }

    fn is_within(self, low: (u32, u32), high: (u32, u32)) -> bool {
        let rest = self.rest();
        low.0 <= self.x && self.x | rest <= high.0 && low.1 <= self.y && self.y | rest <= high.1
    }

    fn quarters(self) -> [Square; 4] {
        let half = 1u32 << (31 - self.level);
        [(0, 0), (0, half), (half, 0), (half, half)].map(|(x, y)| Square {
            x: self.x | x,
            y: self.y | y,
            level: self.level + 1,
        })
    }

    fn range(self) -> (u64, u64) {
        let rest = self.rest();
        (
            interleave(self.x, self.y),
            interleave(self.x | rest, self.y | rest),
        )
    }
}

fn interleave(x: u32, y: u32) -> u64 {
    spread(x) << 1 | spread(y)
}

/// The bits of a number at every second place.
fn spread(x: u32) -> u64 {
    let mut x = u64::from(x);
    for (shift, mask) in [
        (16, 0x0000_FFFF_0000_FFFF),
        (8, 0x00FF_00FF_00FF_00FF),
        (4, 0x0F0F_0F0F_0F0F_0F0F),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        x = (x | x << shift) & mask;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::super::vector::Pair;
    use super::Grid;

    #[test]
    fn a_box_holds_its_places() {
        let grid = Grid::default();
        let (low, high) = (Pair { x: -3.0, y: 10.0 }, Pair { x: 7.5, y: 11.0 });
        let ranges = grid.ranges(low, high);
        assert!(ranges.len() <= 32);
        for x in 0..20 {
            for y in 0..20 {
                let place = Pair {
                    x: -3.0 + 10.5 * f64::from(x) / 19.0,
                    y: 10.0 + f64::from(y) / 19.0,
                };
                let hash = grid.hash(place);
                assert!(ranges.iter().any(|(first, last)| *first <= hash && hash <= *last));
            }
        }
        let far = grid.hash(Pair { x: 90.0, y: -40.0 });
        assert!(!ranges.iter().any(|(first, last)| *first <= far && far <= *last));
    }

    #[test]
    fn hashes_take_the_bits_in_turn() {
        let grid = Grid {
            min: 0.0,
            max: 4.0,
            bits: 2,
        };
        let hash = |x: f64, y: f64| u64::from_be_bytes(grid.hash(Pair { x, y })) >> 60;
        assert_eq!(hash(0.0, 0.0), 0b0000);
        assert_eq!(hash(0.0, 1.0), 0b0001);
        assert_eq!(hash(1.0, 0.0), 0b0010);
        assert_eq!(hash(3.0, 2.5), 0b1110);
        assert_eq!(hash(4.0, 4.0), 0b1111);
    }
}
