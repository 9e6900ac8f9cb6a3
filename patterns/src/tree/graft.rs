//! Nodes put into a place: what is written for it.

use odm::bson::{Bson, Document, doc};

use super::core::Core;
use super::derive::{self, Base, Seat};
use super::error::{Result, TreeError};
use super::identity::same;
use super::labels::{self, Gap};
use super::layout::{Layout, Shape};
use super::node::Node;
use super::plan::Plan;
use super::slot::{Slot, is_in};

/// A node that goes to a place, those before its children, children before the next sibling.
#[derive(Clone, Debug)]
pub(super) struct Graft {
    pub(super) id: Bson,
    /// The place of the parent in the list; `None` for the topmost.
    pub(super) parent: Option<usize>,
    pub(super) what: What,
}

/// What a node is before.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// To be inserted.
    New(Document),
    /// Stored elsewhere in the tree.
    Stored(Box<Node>),
}

impl Core {
    /// Puts nodes into a slot. Of stored nodes, those whose fields change must all be in the list; the slot leaves
    /// them out already.
    ///
    /// # Errors
    /// `TooDeep`, `PathTooLong`, `Segment`.
    pub(super) async fn graft(&self, grafts: Vec<Graft>, slot: &Slot, plan: &mut Plan) -> Result<()> {
        let layout = &*self.layout;
        let depth = match (&slot.parent, layout.max_depth.is_some()) {
            (Some(parent), true) => self.ancestors(parent).await?.len() + 1,
            (Some(_), false) if layout.shape == Shape::Paths => self.path_depth(slot),
            _ => 0,
        };
        let base = Base::of(layout, slot.parent.as_ref(), depth)?;
        let mut seats: Vec<Seat> = grafts
            .iter()
            .map(|graft| Seat {
                id: graft.id.clone(),
                parent: graft.parent,
                position: None,
                interval: None,
            })
            .collect();
        if layout.shape == Shape::Nested {
            let numbers = self.nested_numbers(&grafts, slot, plan).await?;
            derive::intervals(&mut seats, &numbers);
        }
        if layout.positioned {
            self.number_siblings(&grafts, &mut seats, slot, plan).await?;
        }
        let fields = derive::fields(layout, &base, &seats)?;
        for (graft, fields) in grafts.into_iter().zip(fields) {
            match graft.what {
                What::New(document) => plan.insert(whole(layout, document, fields)),
                What::Stored(node) => {
                    let mut changed = derive::missing(&node, fields);
                    if layout.shape == Shape::Children {
                        // Its own children stay as they are.
                        changed.remove(&layout.children);
                    }
                    if graft.parent.is_some() && layout.positioned && !matches!(layout.shape, Shape::Nested) {
                        changed.remove(&layout.position);
                    }
                    plan.set(&node.id, changed);
                }
            }
        }
        Ok(())
    }

    fn path_depth(&self, slot: &Slot) -> usize {
        let Some(parent) = &slot.parent else { return 0 };
        match self.layout.style {
            super::options::PathStyle::Threaded => self.depth_of_path(parent) + 1,
            _ => 0,
        }
    }

    /// Lists the topmost nodes of grafts with the parent, or among the roots; child references only.
    pub(super) fn list_children(&self, tops: Vec<Bson>, slot: &Slot, plan: &mut Plan) {
        let mut list = slot.siblings.clone();
        let at = slot.index.min(list.len());
        list.splice(at..at, tops);
        match &slot.parent {
            Some(parent) => plan.set(&parent.id, doc! { &self.layout.children: list }),
            None => plan.roots = Some(list),
        }
    }

    /// Takes nodes out of the list of their parent, or of the roots; child references only.
    pub(super) async fn unlist_child(&self, node: &Node, plan: &mut Plan) -> Result<()> {
        match self.parent(node).await? {
            Some(parent) => {
                let children = parent.children.iter().filter(|id| !same(id, &node.id));
                let children: Vec<Bson> = children.cloned().collect();
                plan.set(&parent.id, doc! { &self.layout.children: children });
            }
            None => {
                let roots = match plan.roots.take() {
                    Some(roots) => roots,
                    None => self.listed_roots().await?,
                };
                plan.roots = Some(roots.into_iter().filter(|id| !same(id, &node.id)).collect());
            }
        }
        Ok(())
    }

    /// Gives places to the topmost nodes, and to new ones below them.
    async fn number_siblings(
        &self,
        grafts: &[Graft],
        seats: &mut [Seat],
        slot: &Slot,
        plan: &mut Plan,
    ) -> Result<()> {
        let mut counts = vec![0_i64; grafts.len()];
        for place in 0..grafts.len() {
            if let Some(parent) = grafts[place].parent {
                seats[place].position = Some(counts[parent] * labels::STRIDE);
                counts[parent] += 1;
            }
        }
        let tops: Vec<usize> = (0..grafts.len())
            .filter(|place| grafts[*place].parent.is_none())
            .collect();
        let place_of = |node: &Option<Node>| node.as_ref().map(|node| node.position);
        let numbers = match (place_of(&slot.before), place_of(&slot.after)) {
            (Some(None), _) | (_, Some(None)) => None,
            (before, after) => labels::between(before.flatten(), after.flatten(), tops.len()),
        };
        let numbers = match numbers {
            Some(numbers) => numbers,
            None => {
                let moved: Vec<Bson> = tops.iter().map(|top| grafts[*top].id.clone()).collect();
                self.make_room(slot, &moved, plan).await?
            }
        };
        for (top, number) in tops.into_iter().zip(numbers) {
            seats[top].position = Some(number);
        }
        Ok(())
    }

    /// Moves siblings apart, as few as are needed, and gives numbers between them.
    async fn make_room(&self, slot: &Slot, moved: &[Bson], plan: &mut Plan) -> Result<Vec<i64>> {
        let field = &self.layout.position;
        let count = moved.len();
        let children = self.children_filter(slot.parent.as_ref());
        let has_gaps = |node: &Option<Node>| node.as_ref().is_none_or(|node| node.position.is_some());
        let mut width = 16_u64;
        while has_gaps(&slot.before) && has_gaps(&slot.after) && width < 1 << 20 {
            let (Some(before), Some(after)) = (&slot.before, &slot.after) else {
                break;
            };
            let mut filter = children.clone();
            filter.insert(field, doc! { "$lte": before.position });
            let mut low = self.find(filter, Some(doc! { field: -1 }), width).await?;
            let mut filter = children.clone();
            filter.insert(field, doc! { "$gte": after.position });
            let mut high = self.find(filter, Some(doc! { field: 1 }), width).await?;
            if (low.len() as u64) < width && (high.len() as u64) < width {
                break;
            }
            low.reverse();
            let border = |node: Option<Node>| node.and_then(|node| node.position);
            let first = border((low.len() as u64 == width).then(|| low.remove(0)));
            let last = border((high.len() as u64 == width).then(|| high.pop()).flatten());
            low.retain(|node| !is_in(moved, &node.id));
            high.retain(|node| !is_in(moved, &node.id));
            let inner = low.len() + count + high.len();
            if let Some(numbers) = labels::between(first, last, inner)
                && numbers.windows(2).all(|pair| pair[1] - pair[0] >= 1 << 8)
            {
                return Ok(renumber(field, low, count, high, &numbers, plan));
            }
            width *= 8;
        }
        let mut all = self.children(slot.parent.as_ref(), 0, 0).await?;
        all.retain(|node| !is_in(moved, &node.id));
        let at = match (&slot.before, &slot.after) {
            (_, Some(after)) => all.iter().position(|node| same(&node.id, &after.id)),
            (Some(before), None) => all
                .iter()
                .position(|node| same(&node.id, &before.id))
                .map(|place| place + 1),
            (None, None) => None,
        };
        let mut low = all;
        let high = low.split_off(at.unwrap_or(low.len()));
        let numbers = labels::between(None, None, low.len() + count + high.len()).ok_or_else(full)?;
        Ok(renumber(field, low, count, high, &numbers, plan))
    }

    /// Twice as many numbers as there are nodes, for their intervals.
    async fn nested_numbers(&self, grafts: &[Graft], slot: &Slot, plan: &mut Plan) -> Result<Vec<i64>> {
        let low = match (&slot.before, &slot.parent) {
            (Some(before), _) => Some(before.right),
            (None, Some(parent)) => Some(parent.left),
            (None, None) => None,
        };
        let high = match (&slot.after, &slot.parent) {
            (Some(after), _) => Some(after.left),
            (None, Some(parent)) => Some(parent.right),
            (None, None) => None,
        };
        if low == Some(None) || high == Some(None) {
            let near = [&slot.before, &slot.after, &slot.parent]
                .into_iter()
                .flatten()
                .next();
            return Err(TreeError::Damaged {
                id: near.map_or(Bson::Null, |node| node.id.clone()),
                reason: "it has no interval",
            });
        }
        let gap = Gap {
            low: low.flatten(),
            high: high.flatten(),
            is_last: slot.after.is_none(),
            width_before: slot
                .before
                .as_ref()
                .and_then(|node| node.right?.checked_sub(node.left?)),
        };
        match gap.take(grafts.len() * 2) {
            Some(numbers) => Ok(numbers),
            None => self.make_room_on_line(gap, grafts, plan).await,
        }
    }
}

/// Gives numbers to nodes before and behind a place, and returns those of the place.
fn renumber(
    field: &str,
    low: Vec<Node>,
    count: usize,
    high: Vec<Node>,
    numbers: &[i64],
    plan: &mut Plan,
) -> Vec<i64> {
    let start = low.len();
    let behind = low
        .into_iter()
        .zip(numbers)
        .chain(high.into_iter().zip(&numbers[start + count..]));
    for (node, number) in behind {
        if node.position != Some(*number) {
            plan.set(&node.id, doc! { field: *number });
        }
    }
    numbers[start..start + count].to_vec()
}

pub(super) fn full() -> TreeError {
    TreeError::InvalidPosition {
        reason: "there are no numbers left between its neighbours",
    }
}

/// A new document with the fields of the tree, which win over the model's own.
pub(super) fn whole(layout: &Layout, mut document: Document, fields: Document) -> Document {
    document.extend(fields);
    document.extend(layout.own().map(|(field, value)| (field.to_owned(), value)));
    document
}
