//! All nodes of a tree at the places that they should have, and what they store there.

use odm::bson::{Bson, Document};

use super::derive::{self, Base, Seat};
use super::error::Result;
use super::forest::Forest;
use super::labels;
use super::layout::{Layout, Shape};
use super::options::Numbering;

/// How far apart the ends of intervals are when all are numbered anew.
const SPACING: i64 = 1 << 24;

/// The nodes of a forest in preorder, with what each stores.
#[derive(Debug)]
pub(super) struct Arrangement {
    /// The place of each node in the forest.
    pub(super) places: Vec<usize>,
    pub(super) fields: Vec<Document>,
    pub(super) roots: Vec<Bson>,
}

impl Arrangement {
    /// What nodes store in a layout, wherever they come from. Numbers that are stored, in order and apart, are kept.
    ///
    /// # Errors
    /// What cannot be stored in this layout: `Segment`, `PathTooLong`, `TooDeep`.
    pub(super) fn of(layout: &Layout, forest: &Forest) -> Result<Arrangement> {
        let mut places = Vec::with_capacity(forest.nodes.len());
        let mut seats: Vec<Seat> = Vec::with_capacity(forest.nodes.len());
        let mut seat_of = vec![None; forest.nodes.len()];
        let mut parent_of = vec![None; forest.nodes.len()];
        for (place, children) in forest.children.iter().enumerate() {
            for child in children {
                parent_of[*child] = Some(place);
            }
        }
        for (place, _) in forest.preorder() {
            seat_of[place] = Some(seats.len());
            seats.push(Seat {
                id: forest.nodes[place].id.clone(),
                parent: parent_of[place].and_then(|parent: usize| seat_of[parent]),
                position: None,
                interval: None,
            });
            places.push(place);
        }
        if layout.positioned {
            for siblings in forest.children.iter().chain([&forest.tops]) {
                for (place, position) in positions(forest, siblings) {
                    if let Some(seat) = seat_of[place] {
                        seats[seat].position = Some(position);
                    }
                }
            }
        }
        if layout.shape == Shape::Nested {
            number(layout, forest, &places, &mut seats);
        }
        let fields = derive::fields(layout, &Base::default(), &seats)?;
        let roots = forest
            .tops
            .iter()
            .map(|top| forest.nodes[*top].id.clone())
            .collect();
        Ok(Arrangement {
            places,
            fields,
            roots,
        })
    }
}

/// The places of siblings: those that they have, if these are in order.
fn positions(forest: &Forest, siblings: &[usize]) -> Vec<(usize, i64)> {
    let stored: Vec<Option<i64>> = siblings
        .iter()
        .map(|place| forest.nodes[*place].position)
        .collect();
    let is_sound = stored.iter().all(Option::is_some) && stored.windows(2).all(|pair| pair[0] < pair[1]);
    let numbered = siblings.iter().zip(stored).enumerate();
    numbered
        .map(|(index, (place, stored))| match stored.filter(|_| is_sound) {
            Some(stored) => (*place, stored),
            None => (*place, index as i64 * labels::STRIDE),
        })
        .collect()
}

/// Gives intervals: those that the nodes have, if these are in order.
fn number(layout: &Layout, forest: &Forest, places: &[usize], seats: &mut [Seat]) {
    let count = i64::try_from(seats.len()).unwrap_or(i64::MAX).saturating_mul(2);
    if layout.numbering == Numbering::Dense {
        let numbers: Vec<i64> = (1..=count).collect();
        return derive::intervals(seats, &numbers);
    }
    for (seat, place) in seats.iter_mut().zip(places) {
        let node = &forest.nodes[*place];
        seat.interval = node.left.zip(node.right);
    }
    if is_in_order(seats) {
        return;
    }
    let high = count.saturating_add(1).saturating_mul(SPACING);
    if let Some(numbers) = labels::spread(0, high, seats.len() * 2) {
        derive::intervals(seats, &numbers);
    }
}

/// Whether each interval is inside that of its parent, behind that of the sibling before.
pub(super) fn is_in_order(seats: &[Seat]) -> bool {
    let mut last = None;
    let mut open: Vec<(usize, i64)> = Vec::new();
    for (at, seat) in seats.iter().enumerate() {
        let Some((left, right)) = seat.interval else {
            return false;
        };
        while let Some((above, end)) = open.last().copied() {
            if Some(above) == seat.parent {
                break;
            }
            if Some(end) <= last {
                return false;
            }
            last = Some(end);
            open.pop();
        }
        if Some(left) <= last || right <= left {
            return false;
        }
        last = Some(left);
        open.push((at, right));
    }
    while let Some((_, end)) = open.pop() {
        if Some(end) <= last {
            return false;
        }
        last = Some(end);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(intervals: &[(Option<usize>, i64, i64)], expected: bool) {
        let seats: Vec<Seat> = intervals
            .iter()
            .map(|(parent, left, right)| Seat {
                id: Bson::Null,
                parent: *parent,
                position: None,
                interval: Some((*left, *right)),
            })
            .collect();
        assert_eq!(is_in_order(&seats), expected, "{intervals:?}");
    }

    #[test]
    fn intervals_are_in_order_or_not() {
        check(
            &[
                (None, 1, 8),
                (Some(0), 2, 5),
                (Some(1), 3, 4),
                (Some(0), 6, 7),
                (None, 9, 10),
            ],
            true,
        );
        check(&[(None, 1, 8), (Some(0), 2, 9)], false);
        check(&[(None, 1, 8), (Some(0), 2, 5), (Some(0), 5, 7)], false);
        check(&[(None, 4, 1)], false);
        check(&[(None, 1, 4), (None, 3, 6)], false);
    }
}
