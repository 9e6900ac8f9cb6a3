//! Nodes in memory, arranged as trees.

use std::collections::{HashMap, VecDeque};

use odm::bson::Bson;

use super::identity::Identity;
use super::layout::{Layout, Shape};
use super::node::Node;
use super::position::Order;

/// Nodes, and which of them are children of which. A node that no other of them has as its child is a top.
#[derive(Clone, Debug)]
pub(super) struct Forest {
    pub(super) nodes: Vec<Node>,
    pub(super) children: Vec<Vec<usize>>,
    pub(super) parents: Vec<Option<usize>>,
    pub(super) tops: Vec<usize>,
}

impl Forest {
    /// Arranges nodes by what they store. Siblings come in the order of their field, or else in the order given.
    /// `roots` orders the tops of child references.
    pub(super) fn arrange(layout: &Layout, nodes: Vec<Node>, roots: &[Bson]) -> Forest {
        let places: HashMap<Identity, usize> = nodes
            .iter()
            .enumerate()
            .map(|(place, node)| (Identity::of(&node.id), place))
            .collect();
        let mut children = vec![Vec::new(); nodes.len()];
        let mut parents = vec![None; nodes.len()];
        for (place, node) in nodes.iter().enumerate() {
            if layout.shape == Shape::Children {
                for child in &node.children {
                    if let Some(child) = places.get(&Identity::of(child))
                        && *child != place
                        && parents[*child].is_none()
                    {
                        parents[*child] = Some(place);
                        children[place].push(*child);
                    }
                }
            } else if let Some(parent) = &node.parent
                && let Some(parent) = places.get(&Identity::of(parent))
                && *parent != place
            {
                parents[place] = Some(*parent);
                children[*parent].push(place);
            }
        }
        let mut tops: Vec<usize> = (0..nodes.len())
            .filter(|place| parents[*place].is_none())
            .collect();
        if layout.order_field().is_some() {
            let order = |place: &usize| (nodes[*place].order(layout), Identity::of(&nodes[*place].id));
            tops.sort_by_cached_key(order);
            for children in &mut children {
                children.sort_by_cached_key(order);
            }
        } else if layout.shape == Shape::Children {
            let places: HashMap<Identity, usize> = roots
                .iter()
                .enumerate()
                .map(|(place, id)| (Identity::of(id), place))
                .collect();
            let unlisted = usize::MAX;
            tops.sort_by_cached_key(|place| {
                places
                    .get(&Identity::of(&nodes[*place].id))
                    .copied()
                    .unwrap_or(unlisted)
            });
        }
        Forest {
            nodes,
            children,
            parents,
            tops,
        }
    }

    /// The nodes below these and themselves, each with how deep it is below its top, which has 0.
    pub(super) fn walk(&self, tops: &[usize], order: Order) -> Vec<(usize, usize)> {
        let mut walked = Vec::with_capacity(self.nodes.len());
        let mut seen = vec![false; self.nodes.len()];
        let mut open: VecDeque<(usize, usize)> = tops.iter().map(|top| (*top, 0)).collect();
        while let Some((place, depth)) = open.pop_front() {
            if std::mem::replace(&mut seen[place], true) {
                continue;
            }
            walked.push((place, depth));
            let below = self.children[place].iter().map(|child| (*child, depth + 1));
            match order {
                Order::BreadthFirst => open.extend(below),
                Order::Preorder | Order::Unordered => {
                    for child in below.rev() {
                        open.push_front(child);
                    }
                }
            }
        }
        walked
    }

    /// All nodes, each before its children.
    pub(super) fn preorder(&self) -> Vec<(usize, usize)> {
        self.walk(&self.tops, Order::Preorder)
    }

    /// The place of a node.
    pub(super) fn place(&self, id: &Bson) -> Option<usize> {
        let identity = Identity::of(id);
        self.nodes
            .iter()
            .position(|node| Identity::of(&node.id) == identity)
    }
}
