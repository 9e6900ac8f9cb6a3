//! Mending a tree by its parent references.

use std::collections::{HashMap, HashSet};

use odm::bson::{Bson, Document, RawDocumentBuf};
use odm::{Error, ErrorKind};

use super::arrangement::Arrangement;
use super::core::Core;
use super::derive;
use super::error::Result;
use super::forest::Forest;
use super::identity::{Identity, same};
use super::layout::{Layout, Shape};
use super::node::Node;
use super::options::Orphans;
use super::plan::{Plan, Write};
use super::position::Order;
use super::slot::Placed;
use super::verify::Linked;

impl Core {
    pub(super) async fn roll_forward_first(&self) -> Result<()> {
        if !self.db.in_transaction() {
            self.roll_forward().await?;
            self.forget_strays().await?;
        }
        Ok(())
    }

    /// The writes that make everything what the links say; of a subtree only, if one is named.
    pub(super) async fn plan_repair(&self, below: Option<&Bson>, plan: &mut Plan) -> Result<()> {
        let nodes = self.everything().await?;
        let roots = match self.layout.shape {
            Shape::Children => self.listed_roots().await?,
            _ => Vec::new(),
        };
        let mut linked = Linked::of(&self.layout, nodes, &roots);
        self.place_orphans(&mut linked)?;
        let ranks = self.ranks().await?;
        sort(&mut linked, &ranks);
        let forest = &linked.forest;
        let wanted = match below {
            None => None,
            Some(below) => {
                let top = forest.place(below).ok_or_else(|| self.layout.not_found(below))?;
                let mut wanted = vec![false; forest.nodes.len()];
                for (place, _) in forest.walk(&[top], Order::Preorder) {
                    wanted[place] = true;
                }
                Some(wanted)
            }
        };
        // What is there is not lost for being too deep or too long.
        let boundless = Layout {
            max_depth: None,
            max_path: usize::MAX,
            ..(*self.layout).clone()
        };
        let arrangement = Arrangement::of(&boundless, forest)?;
        for (place, fields) in arrangement.places.iter().zip(arrangement.fields) {
            if wanted.as_ref().is_none_or(|wanted| wanted[*place]) {
                let node = &forest.nodes[*place];
                plan.set(&node.id, derive::missing(node, fields));
            }
        }
        if self.layout.shape == Shape::Children && arrangement.roots != roots && below.is_none() {
            plan.roots = Some(arrangement.roots);
        }
        Ok(())
    }

    /// Puts nodes whose parent is not there, and one of each circle, where the option says.
    fn place_orphans(&self, linked: &mut Linked) -> Result<()> {
        let mut lost = std::mem::take(&mut linked.orphans);
        for circle in &linked.circles {
            let first = circle
                .iter()
                .min_by_key(|place| Identity::of(&linked.forest.nodes[**place].id));
            let Some(first) = first.copied() else { continue };
            if let Some(parent) = linked.forest.parents[first].take() {
                linked.forest.children[parent].retain(|child| *child != first);
            }
            lost.push(first);
        }
        let forest = &mut linked.forest;
        let is_own_parent = |place: &usize| {
            let node = &forest.nodes[*place];
            node.parent.as_ref().is_some_and(|parent| same(parent, &node.id))
        };
        lost.extend(forest.tops.iter().copied().filter(is_own_parent));
        forest.tops.retain(|top| !lost.contains(top));
        let under = match &self.layout.orphans {
            Orphans::BecomeRoots => None,
            Orphans::GoUnder(id) if lost.is_empty() => forest.place(id),
            Orphans::GoUnder(id) => Some(forest.place(id).ok_or_else(|| self.layout.not_found(id))?),
        };
        for place in lost {
            // The place for what is lost may itself be below one of them.
            let is_above = under.is_some_and(|under| {
                forest
                    .walk(&[place], Order::Preorder)
                    .iter()
                    .any(|(below, _)| *below == under)
            });
            match under.filter(|_| !is_above) {
                Some(under) => {
                    forest.children[under].push(place);
                    forest.parents[place] = Some(under);
                }
                None => forest.tops.push(place),
            }
        }
        Ok(())
    }

    /// Gives all nodes of nested sets new numbers, with the new ones of a plan in the places that were found for them.
    pub(super) async fn number_anew(&self, placed: &[Placed], plan: &mut Plan) -> Result<()> {
        let mut nodes = self.everything().await?;
        let mut new = Vec::new();
        for write in std::mem::take(plan).writes {
            let Write::Insert(document) = write else { continue };
            let mut node = self.read(encoded(&document)?);
            // In the order in which they came.
            node.left = Some(i64::MAX / 2 + new.len() as i64);
            node.right = None;
            nodes.push(node);
            new.push(document);
        }
        for document in new {
            plan.insert(document);
        }
        let mut forest = Linked::of(&self.layout, nodes, &[]).forest;
        let places = forest.nodes.iter().enumerate();
        let places: HashMap<Identity, usize> = places
            .map(|(place, node)| (Identity::of(&node.id), place))
            .collect();
        for placed in placed {
            put(&mut forest, &places, placed);
        }
        let arrangement = Arrangement::of(&self.layout, &forest)?;
        for (place, fields) in arrangement.places.iter().zip(arrangement.fields) {
            let node = &forest.nodes[*place];
            plan.set(&node.id, derive::missing(node, fields));
        }
        Ok(())
    }

    /// Numbers nested sets from 1 to twice the number of nodes, as they will be after the writes of a plan.
    pub(super) async fn number_densely(&self, plan: &mut Plan) -> Result<()> {
        if plan.writes.is_empty() {
            return Ok(());
        }
        let mut nodes: HashMap<Identity, Node> = self
            .everything()
            .await?
            .into_iter()
            .map(|node| (Identity::of(&node.id), node))
            .collect();
        for write in &plan.writes {
            match write {
                Write::Insert(document) => {
                    let node = self.read(encoded(document)?);
                    nodes.insert(Identity::of(&node.id), node);
                }
                Write::Set { id, set, .. } => {
                    if let Some(node) = nodes.get_mut(&Identity::of(id)) {
                        node.left = set.get_i64(&self.layout.left).ok().or(node.left);
                        node.right = set.get_i64(&self.layout.right).ok().or(node.right);
                    }
                }
                Write::Delete(ids) => {
                    // Those that are softly deleted keep their numbers.
                    for id in ids
                        .iter()
                        .filter(|_| self.layout.deleted.is_none() || plan.for_ever)
                    {
                        nodes.remove(&Identity::of(id));
                    }
                }
                Write::Rename { from, new, .. } => {
                    nodes.remove(&Identity::of(from));
                    let node = self.read(encoded(new)?);
                    nodes.insert(Identity::of(&node.id), node);
                }
                Write::Made { .. } => {}
            }
        }
        let mut ends: Vec<(i64, bool, Bson)> = Vec::with_capacity(nodes.len() * 2);
        for node in nodes.into_values() {
            if let (Some(left), Some(right)) = (node.left, node.right) {
                ends.push((left, true, node.id.clone()));
                ends.push((right, false, node.id));
            }
        }
        ends.sort_by_key(|(number, _, _)| *number);
        for (at, (number, is_left, id)) in ends.into_iter().enumerate() {
            let dense = at as i64 + 1;
            let field = if is_left {
                &self.layout.left
            } else {
                &self.layout.right
            };
            let is_pending = plan.pending(&id).is_some_and(|set| set.contains_key(field));
            if number != dense || is_pending {
                let mut set = Document::new();
                set.insert(field, dense);
                plan.set(&id, set);
            }
        }
        Ok(())
    }
}

pub(super) fn encoded(document: &Document) -> Result<RawDocumentBuf> {
    let encoded = RawDocumentBuf::try_from(document);
    Ok(encoded
        .map_err(|error| Error::new(ErrorKind::Encode, "the node does not fit bson").with_source(error))?)
}

/// Puts the topmost nodes of what is inserted between the siblings of its slot.
fn put(forest: &mut Forest, places: &HashMap<Identity, usize>, Placed { tops, slot }: &Placed) {
    let place = |id: &Bson| places.get(&Identity::of(id)).copied();
    let place_of = |node: &Option<Node>| node.as_ref().and_then(|node| place(&node.id));
    let (before, after) = (place_of(&slot.before), place_of(&slot.after));
    let tops: Vec<usize> = tops.iter().filter_map(place).collect();
    let siblings = match place_of(&slot.parent) {
        Some(parent) => &mut forest.children[parent],
        None => &mut forest.tops,
    };
    let moved: HashSet<usize> = tops.iter().copied().collect();
    siblings.retain(|place| !moved.contains(place));
    let place_of = |node: Option<usize>| siblings.iter().position(|place| Some(*place) == node);
    let at = place_of(after).or_else(|| place_of(before).map(|before| before + 1));
    let at = at.unwrap_or(siblings.len());
    siblings.splice(at..at, tops);
}

/// Puts siblings into the order of the sort key, where there is one and they keep places.
fn sort(linked: &mut Linked, ranks: &HashMap<Identity, usize>) {
    if ranks.is_empty() {
        return;
    }
    let forest = &mut linked.forest;
    let nodes = &forest.nodes;
    for siblings in forest.children.iter_mut().chain([&mut forest.tops]) {
        siblings.sort_by_cached_key(|place| ranks.get(&Identity::of(&nodes[*place].id)).copied());
    }
}
