//! The place between two siblings where nodes go.

use odm::bson::{Bson, Document, doc};

use super::core::{Core, Scope};
use super::error::{Result, TreeError};
use super::identity::same;
use super::layout::{Shape, direction, equal};
use super::node::Node;
use super::position::Position;

/// Where nodes go.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// Behind the other roots, or where the sort key says.
    Root,
    /// Behind the other children of this node, or where the sort key says.
    Under(Bson),
    /// In relation to this node.
    At(Bson, Position),
}

/// A place between two siblings.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    pub(super) parent: Option<Node>,
    /// The sibling before, where siblings have places.
    pub(super) before: Option<Node>,
    /// The sibling behind, where siblings have places.
    pub(super) after: Option<Node>,
    /// The other siblings of child references, and the place among them.
    pub(super) siblings: Vec<Bson>,
    pub(super) index: usize,
}

/// What is inserted, by its topmost nodes, and where.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) tops: Vec<Bson>,
    pub(super) slot: Slot,
}

/// Where among the siblings.
enum Among {
    First,
    Last,
    At(usize),
    Before(Node),
    Behind(Node),
    Sorted,
}

impl Core {
    /// Finds the place. The nodes of `without` count as gone. `node` says what a sorted place is sorted by.
    ///
    /// # Errors
    /// `NotFound`, `InvalidPosition`.
    pub(super) async fn slot(
        &self,
        place: &Place,
        without: &[Bson],
        node: Option<&Document>,
    ) -> Result<Slot> {
        let default = match self.layout.sort_key {
            Some(_) => Among::Sorted,
            None => Among::Last,
        };
        let (parent, among) = match place {
            Place::Root => (None, default),
            Place::Under(parent) => (Some(self.need(parent).await?), default),
            Place::At(target, position) => {
                let target = self.need(target).await?;
                let among = match position {
                    Position::FirstChild | Position::FirstSibling => Among::First,
                    Position::LastChild | Position::LastSibling => Among::Last,
                    Position::ChildAt(index) | Position::SiblingAt(index) => Among::At(*index),
                    Position::SortedChild | Position::SortedSibling => Among::Sorted,
                    Position::Left => Among::Before(target.clone()),
                    Position::Right => Among::Behind(target.clone()),
                };
                match position.is_child() {
                    true => (Some(target), among),
                    false => (self.parent(&target).await?, among),
                }
            }
        };
        self.slot_among(parent, among, without, node).await
    }

    /// The place behind all other children of a node.
    pub(super) async fn last_slot(&self, parent: Option<Node>, without: &[Bson]) -> Result<Slot> {
        self.slot_among(parent, Among::Last, without, None).await
    }

    /// The place where a node stands, once it is gone.
    pub(super) async fn slot_of(&self, node: &Node, without: &[Bson]) -> Result<Slot> {
        let parent = self.parent(node).await?;
        self.slot_among(parent, Among::Behind(node.clone()), without, None)
            .await
    }

    async fn slot_among(
        &self,
        parent: Option<Node>,
        among: Among,
        without: &[Bson],
        node: Option<&Document>,
    ) -> Result<Slot> {
        if self.layout.shape == Shape::Children {
            return self.slot_in_list(parent, among, without, node).await;
        }
        if self.layout.order_field().is_none() {
            return Ok(Slot {
                parent,
                ..Slot::default()
            });
        }
        let (before, after) = match among {
            Among::First => (None, self.next_sibling(&parent, None, without, 1).await?),
            Among::Last => (self.next_sibling(&parent, None, without, -1).await?, None),
            Among::At(0) => (None, self.next_sibling(&parent, None, without, 1).await?),
            Among::At(index) => {
                let mut filter = self.siblings_but(&parent, without);
                self.only_seen(&mut filter);
                let skip = u64::try_from(index - 1).unwrap_or(u64::MAX >> 1);
                let sort = self.layout.order();
                let find = self.nodes.find(filter).sort_raw(sort).skip(skip).limit(2);
                let mut found = find.encoded().await?.into_iter().map(|raw| self.read(raw));
                match (found.next(), found.next()) {
                    (Some(before), _) if self.layout.deleted.is_some() => {
                        let after = self.next_sibling(&parent, Some(&before), without, 1).await?;
                        (Some(before), after)
                    }
                    (None, _) => (self.next_sibling(&parent, None, without, -1).await?, None),
                    (before, after) => (before, after),
                }
            }
            Among::Before(target) if is_in(without, &target.id) => {
                let before = self.next_sibling(&parent, Some(&target), without, -1).await?;
                (
                    before,
                    self.next_sibling(&parent, Some(&target), without, 1).await?,
                )
            }
            Among::Behind(target) if is_in(without, &target.id) => {
                let before = self.next_sibling(&parent, Some(&target), without, -1).await?;
                (
                    before,
                    self.next_sibling(&parent, Some(&target), without, 1).await?,
                )
            }
            Among::Before(target) => (
                self.next_sibling(&parent, Some(&target), without, -1).await?,
                Some(target),
            ),
            Among::Behind(target) => {
                let after = self.next_sibling(&parent, Some(&target), without, 1).await?;
                (Some(target), after)
            }
            Among::Sorted => {
                let mut filter = self.siblings_but(&parent, without);
                filter.insert("$or", self.greater_than(node)?);
                let find = self.nodes.find(filter).sort_raw(self.layout.order()).limit(1);
                let after = find.encoded().await?.into_iter().next().map(|raw| self.read(raw));
                let before = self.next_sibling(&parent, after.as_ref(), without, -1).await?;
                (before, after)
            }
        };
        Ok(Slot {
            parent,
            before,
            after,
            ..Slot::default()
        })
    }

    /// Leaves out those that are softly deleted, unless they are asked for.
    pub(super) fn only_seen(&self, filter: &mut Document) {
        if let Some(field) = self.layout.deleted.filter(|_| self.scope != Scope::All) {
            filter.insert(field, Bson::Null);
        }
    }

    fn siblings_but(&self, parent: &Option<Node>, without: &[Bson]) -> Document {
        let mut filter = self.layout.scoped(self.children_filter(parent.as_ref()));
        if !without.is_empty() {
            filter.insert("_id", doc! { "$nin": without });
        }
        filter
    }

    /// The sibling next to one, in this direction; the first from this end when there is none.
    async fn next_sibling(
        &self,
        parent: &Option<Node>,
        from: Option<&Node>,
        without: &[Bson],
        direction: i32,
    ) -> Result<Option<Node>> {
        let Some(field) = self.layout.order_field() else {
            return Ok(None);
        };
        let mut filter = self.siblings_but(parent, without);
        if let Some(from) = from {
            let Some(order) = from.order(&self.layout) else {
                return Err(TreeError::Damaged {
                    id: from.id.clone(),
                    reason: "it has no place among its siblings",
                });
            };
            let operator = if direction > 0 { "$gt" } else { "$lt" };
            filter.insert(field, doc! { operator: order });
        }
        let find = self
            .nodes
            .find(filter)
            .sort_raw(doc! { field: direction })
            .limit(1);
        Ok(find.encoded().await?.into_iter().next().map(|raw| self.read(raw)))
    }

    /// The conditions of which one holds for siblings that the sort key puts behind a node.
    fn greater_than(&self, node: Option<&Document>) -> Result<Vec<Document>> {
        let (Some(key), Some(node)) = (&self.layout.sort_key, node) else {
            return Err(TreeError::InvalidPosition {
                reason: "a sorted place needs the option `sort_key`",
            });
        };
        let mut conditions = Vec::new();
        let mut equals = Document::new();
        for (field, order) in key {
            let value = node.get(field).cloned().unwrap_or(Bson::Null);
            let rising = direction(order) != Some(-1);
            let mut condition = equals.clone();
            let beyond = match (&value, rising) {
                (Bson::Null, true) => doc! { "$ne": Bson::Null },
                (Bson::Null, false) => doc! { "$in": [] },
                (value, true) => doc! { "$gt": value },
                // What is missing comes last when values fall.
                (value, false) => doc! { "$not": { "$gte": value } },
            };
            condition.insert(field, beyond);
            conditions.push(condition);
            equals.insert(field, equal(&value));
        }
        Ok(conditions)
    }

    async fn slot_in_list(
        &self,
        parent: Option<Node>,
        among: Among,
        without: &[Bson],
        node: Option<&Document>,
    ) -> Result<Slot> {
        let all = match &parent {
            Some(parent) => parent.children.clone(),
            None => self.listed_roots().await?,
        };
        let place_of = |target: &Bson| all.iter().position(|id| same(id, target));
        let others_before = |place: usize| all[..place].iter().filter(|id| !is_in(without, id)).count();
        let siblings: Vec<Bson> = all.iter().filter(|id| !is_in(without, id)).cloned().collect();
        let index = match among {
            Among::First => 0,
            Among::Last => siblings.len(),
            Among::At(index) if self.layout.deleted.is_some() => {
                let mut filter = self.layout.scoped(doc! { "_id": { "$in": &siblings } });
                self.only_seen(&mut filter);
                let seen = self.nodes.find(filter).encoded().await?;
                let seen: Vec<Bson> = seen.into_iter().map(|raw| self.read(raw).id).collect();
                let mut places = siblings.iter().enumerate().filter(|(_, id)| is_in(&seen, id));
                match index.checked_sub(1) {
                    None => 0,
                    Some(last) => places.nth(last).map_or(siblings.len(), |(place, _)| place + 1),
                }
            }
            Among::At(index) => index.min(siblings.len()),
            Among::Before(target) => place_of(&target.id).map_or(siblings.len(), others_before),
            Among::Behind(target) => {
                let place = place_of(&target.id);
                place.map_or(siblings.len(), |place| others_before((place + 1).min(all.len())))
            }
            Among::Sorted => {
                let mut filter = self.layout.scoped(doc! { "$or": self.greater_than(node)? });
                filter.insert("_id", doc! { "$in": &siblings });
                let behind = self.nodes.find(filter).encoded().await?;
                let behind: Vec<Bson> = behind.into_iter().map(|raw| self.read(raw).id).collect();
                siblings
                    .iter()
                    .position(|id| is_in(&behind, id))
                    .unwrap_or(siblings.len())
            }
        };
        Ok(Slot {
            parent,
            siblings,
            index,
            ..Slot::default()
        })
    }
}

pub(super) fn is_in(ids: &[Bson], id: &Bson) -> bool {
    ids.iter().any(|own| same(own, id))
}
