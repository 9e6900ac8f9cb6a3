//! What nodes store, from where they are.

use odm::bson::{Bson, Document};

use super::error::{Result, TreeError};
use super::identity::same;
use super::layout::{Layout, Shape};
use super::node::Node;
use super::options::PathStyle;
use super::path;

/// A node at its place among others: those before its children, children before the next sibling.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) id: Bson,
    /// The place of the parent in the list; `None` below the base.
    pub(super) parent: Option<usize>,
    pub(super) position: Option<i64>,
    pub(super) interval: Option<(i64, i64)>,
}

/// What the topmost nodes of a list are below.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    pub(super) id: Option<Bson>,
    pub(super) inside: Option<String>,
    pub(super) ancestors: Vec<Bson>,
    /// The depth of the parent; 0 above roots.
    pub(super) depth: usize,
}

impl Base {
    /// # Errors
    /// An `_id` that cannot be a part of a path.
    pub(super) fn of(layout: &Layout, parent: Option<&Node>, depth: usize) -> Result<Base> {
        let Some(parent) = parent else {
            return Ok(Base::default());
        };
        let mut ancestors = parent.ancestors.clone().unwrap_or_default();
        ancestors.push(parent.id.clone());
        Ok(Base {
            id: Some(parent.id.clone()),
            inside: match layout.shape {
                Shape::Paths => Some(path::inside(layout, parent.path.as_deref(), &parent.id)?),
                _ => None,
            },
            ancestors,
            depth,
        })
    }
}

/// The fields of the tree for each node.
///
/// # Errors
/// `TooDeep`, `PathTooLong`, `Segment`.
pub(super) fn fields(layout: &Layout, base: &Base, seats: &[Seat]) -> Result<Vec<Document>> {
    let mut bases: Vec<Base> = Vec::with_capacity(seats.len());
    let mut all: Vec<Document> = Vec::with_capacity(seats.len());
    let mut children: Vec<Vec<Bson>> = vec![Vec::new(); seats.len()];
    for seat in seats {
        if let Some(children) = seat.parent.and_then(|parent| children.get_mut(parent)) {
            children.push(seat.id.clone());
        }
    }
    for (place, seat) in seats.iter().enumerate() {
        let above = match seat.parent {
            Some(parent) => bases.get(parent).unwrap_or(base),
            None => base,
        };
        let depth = above.depth + 1;
        if let Some(limit) = layout.max_depth.filter(|limit| depth > *limit) {
            return Err(TreeError::TooDeep {
                id: seat.id.clone(),
                depth,
                limit,
            });
        }
        let mut fields = Document::new();
        let mut own = Base {
            id: Some(seat.id.clone()),
            depth,
            ..Base::default()
        };
        let parent = above.id.clone().unwrap_or(Bson::Null);
        if layout.shape == Shape::Children {
            fields.insert(&layout.children, std::mem::take(&mut children[place]));
        } else {
            fields.insert(&layout.parent, parent);
        }
        match layout.shape {
            Shape::Ancestors => {
                fields.insert(&layout.ancestors, above.ancestors.clone());
                own.ancestors = above.ancestors.clone();
                own.ancestors.push(seat.id.clone());
            }
            Shape::Paths => {
                let path = path::stored(layout, above.inside.as_deref(), &seat.id)?;
                own.inside = Some(path::inside(layout, path.as_deref(), &seat.id)?);
                fields.insert(&layout.path, path);
                if layout.style == PathStyle::Threaded {
                    fields.insert(&layout.depth, i32::try_from(depth).unwrap_or(i32::MAX));
                }
            }
            Shape::Nested => {
                if let Some((left, right)) = seat.interval {
                    fields.insert(&layout.left, left);
                    fields.insert(&layout.right, right);
                }
            }
            Shape::Parent | Shape::Children => {}
        }
        if layout.positioned
            && let Some(position) = seat.position
        {
            fields.insert(&layout.position, position);
        }
        bases.push(own);
        all.push(fields);
    }
    Ok(all)
}

/// Those of the fields that a stored node does not have yet.
pub(super) fn missing(node: &Node, fields: Document) -> Document {
    let differs = |name: &str, value: &Bson| match node.raw.get(name) {
        Ok(Some(stored)) => !Bson::try_from(stored).is_ok_and(|stored| same(&stored, value)),
        _ => true,
    };
    fields
        .into_iter()
        .filter(|(name, value)| differs(name, value))
        .collect()
}

/// The pairs of numbers of nodes in a list, out of twice as many numbers in order.
pub(super) fn intervals(seats: &mut [Seat], numbers: &[i64]) {
    let mut next = numbers.iter().copied();
    let mut open: Vec<usize> = Vec::new();
    let mut lefts = vec![0; seats.len()];
    for place in 0..seats.len() {
        let parent = seats[place].parent;
        while let Some(last) = open.last().copied() {
            if Some(last) == parent {
                break;
            }
            open.pop();
            seats[last].interval = next.next().map(|right| (lefts[last], right));
        }
        if let Some(left) = next.next() {
            lefts[place] = left;
        }
        open.push(place);
    }
    while let Some(last) = open.pop() {
        seats[last].interval = next.next().map(|right| (lefts[last], right));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_enclose_those_below() {
        let seat = |parent| Seat {
            id: Bson::Null,
            parent,
            position: None,
            interval: None,
        };
        let mut seats = [None, Some(0), Some(1), Some(0), None].map(seat);
        intervals(&mut seats, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let pairs = seats.map(|seat| seat.interval);
        assert_eq!(
            pairs,
            [
                Some((1, 8)),
                Some((2, 5)),
                Some((3, 4)),
                Some((6, 7)),
                Some((9, 10))
            ]
        );
    }
}
