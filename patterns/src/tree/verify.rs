//! Looking for what is wrong with a stored tree.

use std::collections::{HashMap, HashSet};

use odm::bson::{Bson, doc};

use super::core::Core;
use super::error::Result;
use super::forest::Forest;
use super::identity::{Identity, same};
use super::layout::{Layout, Shape};
use super::node::Node;
use super::options::{Numbering, PathStyle};
use super::path;
use super::problem::{TreeProblem, TreeProblemKind};
use crate::dotted::value_at;
use crate::identity::identity;

/// All nodes, as their links have them, and where the links go wrong.
#[derive(Debug)]
pub(super) struct Linked {
    pub(super) forest: Forest,
    /// How deep each node is, 0 for a root; `None` in and below circles.
    pub(super) depths: Vec<Option<usize>>,
    pub(super) circles: Vec<Vec<usize>>,
    /// Tops whose parent is not there.
    pub(super) orphans: Vec<usize>,
}

impl Linked {
    pub(super) fn of(layout: &Layout, nodes: Vec<Node>, roots: &[Bson]) -> Linked {
        let forest = Forest::arrange(layout, nodes, roots);
        let mut depths = vec![None; forest.nodes.len()];
        for (place, depth) in forest.preorder() {
            depths[place] = Some(depth);
        }
        let circles = circles(&forest, &depths);
        let parent_of = |place: &usize| forest.nodes[*place].parent.as_ref();
        let is_orphan = |place: &usize| {
            layout.shape != Shape::Children
                && parent_of(place).is_some_and(|parent| !same(parent, &forest.nodes[*place].id))
        };
        let orphans = forest.tops.iter().copied().filter(is_orphan).collect();
        Linked {
            forest,
            depths,
            circles,
            orphans,
        }
    }
}

fn circles(forest: &Forest, depths: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut circles = Vec::new();
    let mut done = vec![false; forest.nodes.len()];
    for start in 0..forest.nodes.len() {
        if depths[start].is_some() || done[start] {
            continue;
        }
        let mut way: Vec<usize> = Vec::new();
        let mut at = start;
        while !done[at] {
            done[at] = true;
            way.push(at);
            match forest.parents[at] {
                Some(parent) => at = parent,
                None => break,
            }
        }
        if let Some(begin) = way.iter().position(|place| *place == at) {
            circles.push(way.split_off(begin));
        }
    }
    circles
}

impl Core {
    pub(super) async fn verify(&self) -> Result<Vec<TreeProblem>> {
        let mut problems = Problems::default();
        let state = self.state().await?;
        if state.as_ref().is_some_and(|state| state.intent.is_some()) {
            problems.add(&Bson::Null, TreeProblemKind::PendingIntent);
        }
        if let Some(state) = &state {
            self.check_layout(state)?;
        }
        let nodes = self.everything().await?;
        let layout = &*self.layout;
        let roots = match layout.shape {
            Shape::Children => self.listed_roots().await?,
            _ => Vec::new(),
        };
        let linked = Linked::of(layout, nodes, &roots);
        links(layout, &linked, &mut problems);
        match layout.shape {
            Shape::Parent => {}
            Shape::Children => lists(&linked, &roots, &mut problems),
            Shape::Ancestors => ancestors(&linked, &mut problems),
            Shape::Paths => paths(layout, &linked, &mut problems),
            Shape::Nested => intervals(layout, &linked.forest, &mut problems),
        }
        if layout.positioned {
            positions(&linked.forest, &mut problems);
        }
        let ranks = self.ranks().await?;
        for siblings in linked.forest.children.iter().chain([&linked.forest.tops]) {
            for pair in siblings.windows(2) {
                let (one, two) = (&linked.forest.nodes[pair[0]], &linked.forest.nodes[pair[1]]);
                if ranks.get(&Identity::of(&one.id)) > ranks.get(&Identity::of(&two.id)) {
                    problems.add(
                        &two.id,
                        TreeProblemKind::OutOfOrder {
                            other: one.id.clone(),
                        },
                    );
                }
            }
        }
        Ok(problems.found)
    }

    /// How the sort key orders the nodes, where siblings keep places; keys that are equal to the collection have equal ranks.
    pub(super) async fn ranks(&self) -> Result<HashMap<Identity, usize>> {
        let keeps_order = self.layout.order_field().is_some() || self.layout.shape == Shape::Children;
        let Some(key) = self.layout.sort_key.clone().filter(|_| keeps_order) else {
            return Ok(HashMap::new());
        };
        let mut projection: odm::bson::Document =
            key.keys().map(|field| (field.clone(), Bson::Int32(1))).collect();
        projection.insert("_id", 1);
        let fields: Vec<String> = key.keys().cloned().collect();
        let groups = self.groups(&key).await?;
        let find = self.nodes.find(self.layout.scoped(doc! {}));
        let sorted = find.sort_raw(key).project_raw(projection).await?;
        let mut ranks = HashMap::with_capacity(sorted.len());
        let mut rank = 0;
        let mut last: Option<(Vec<u8>, Option<usize>)> = None;
        for document in sorted {
            let id = Identity::of(document.get("_id").unwrap_or(&Bson::Null));
            let group = groups.get(&id).copied();
            // As the order takes them: what is missing for null, and numbers of all types for one.
            let values = fields
                .iter()
                .map(|field| value_at(&document, field).unwrap_or(&Bson::Null));
            let place = identity(&Bson::Array(values.cloned().collect()));
            let is_equal = last
                .as_ref()
                .is_some_and(|(last, of)| *last == place || (group.is_some() && *of == group));
            if !is_equal {
                rank += 1;
            }
            ranks.insert(id, rank);
            last = Some((place, group));
        }
        Ok(ranks)
    }

    /// Which nodes have keys that the collation of the collection takes for the same, where the model declares one.
    async fn groups(&self, key: &odm::bson::Document) -> Result<HashMap<Identity, usize>> {
        if !self.layout.has_collation || !self.db.capabilities().aggregation {
            return Ok(HashMap::new());
        }
        let parts: Vec<Bson> = key.keys().map(|field| Bson::from(format!("${field}"))).collect();
        let stages = [
            doc! { "$match": self.layout.scoped(doc! {}) },
            doc! { "$group": { "_id": parts, "ids": { "$push": "$_id" } } },
        ];
        let found = self.nodes.aggregate_raw(stages).allow_disk_use().await?;
        let mut groups = HashMap::new();
        for (group, found) in found.iter().enumerate() {
            let ids = found.get_array("ids").map(Vec::as_slice).unwrap_or_default();
            groups.extend(ids.iter().map(|id| (Identity::of(id), group)));
        }
        Ok(groups)
    }
}

#[derive(Debug, Default)]
struct Problems {
    found: Vec<TreeProblem>,
}

impl Problems {
    fn add(&mut self, id: &Bson, kind: TreeProblemKind) {
        self.found.push(TreeProblem { id: id.clone(), kind });
    }
}

fn links(layout: &Layout, linked: &Linked, problems: &mut Problems) {
    let nodes = &linked.forest.nodes;
    for circle in &linked.circles {
        let ids = circle.iter().map(|place| nodes[*place].id.clone()).collect();
        problems.add(&nodes[circle[0]].id, TreeProblemKind::Cycle { nodes: ids });
    }
    for node in nodes {
        let own = match layout.shape {
            Shape::Children => node.children.iter().any(|child| same(child, &node.id)),
            _ => node.parent.as_ref().is_some_and(|parent| same(parent, &node.id)),
        };
        if own {
            problems.add(
                &node.id,
                TreeProblemKind::Cycle {
                    nodes: vec![node.id.clone()],
                },
            );
        }
    }
    for place in &linked.orphans {
        if let Some(parent) = nodes[*place].parent.clone() {
            problems.add(&nodes[*place].id, TreeProblemKind::Orphan { parent });
        }
    }
    if let Some(limit) = layout.max_depth {
        for (node, depth) in nodes.iter().zip(&linked.depths) {
            if let Some(depth) = depth.map(|depth| depth + 1).filter(|depth| *depth > limit) {
                problems.add(&node.id, TreeProblemKind::TooDeep { depth });
            }
        }
    }
}

fn lists(linked: &Linked, roots: &[Bson], problems: &mut Problems) {
    let nodes = &linked.forest.nodes;
    let known: HashSet<Identity> = nodes.iter().map(|node| Identity::of(&node.id)).collect();
    let mut parents: HashMap<Identity, Vec<Bson>> = HashMap::new();
    for node in nodes {
        let mut own = HashSet::new();
        for child in &node.children {
            let identity = Identity::of(child);
            if !known.contains(&identity) {
                problems.add(&node.id, TreeProblemKind::MissingChild { child: child.clone() });
            }
            if own.insert(identity.clone()) {
                parents.entry(identity).or_default().push(node.id.clone());
            } else {
                problems.add(&node.id, TreeProblemKind::DuplicateChild { child: child.clone() });
            }
        }
    }
    for node in nodes {
        if let Some(parents) = parents
            .get(&Identity::of(&node.id))
            .filter(|parents| parents.len() > 1)
        {
            problems.add(
                &node.id,
                TreeProblemKind::SeveralParents {
                    parents: parents.clone(),
                },
            );
        }
    }
    let mut listed = HashSet::new();
    for root in roots {
        let identity = Identity::of(root);
        let is_root = known.contains(&identity) && !parents.contains_key(&identity);
        if !listed.insert(identity) || !is_root {
            problems.add(root, TreeProblemKind::WrongRoot);
        }
    }
    for top in &linked.forest.tops {
        let node = &nodes[*top];
        if !listed.contains(&Identity::of(&node.id)) {
            problems.add(&node.id, TreeProblemKind::WrongRoot);
        }
    }
}

/// The nodes above each, the root first; `None` for orphans, circles, and what is below them.
fn chains(linked: &Linked) -> Vec<Option<Vec<usize>>> {
    let forest = &linked.forest;
    let mut chains: Vec<Option<Vec<usize>>> = vec![None; forest.nodes.len()];
    for (place, _) in forest.preorder() {
        chains[place] = match forest.parents[place] {
            None if linked.orphans.contains(&place) => None,
            None => Some(Vec::new()),
            Some(parent) => chains[parent].clone().map(|mut chain| {
                chain.push(parent);
                chain
            }),
        };
    }
    chains
}

fn ancestors(linked: &Linked, problems: &mut Problems) {
    let nodes = &linked.forest.nodes;
    for (node, chain) in nodes.iter().zip(chains(linked)) {
        let Some(chain) = chain else { continue };
        let expected: Vec<Bson> = chain.iter().map(|place| nodes[*place].id.clone()).collect();
        let stored = node.ancestors.as_deref().unwrap_or(&[]);
        let is_same = stored.len() == expected.len()
            && stored
                .iter()
                .zip(&expected)
                .all(|(stored, expected)| same(stored, expected))
            && node.ancestors.is_some();
        if is_same {
            continue;
        }
        let parent = node.parent.clone().unwrap_or(Bson::Null);
        let other = stored.last().cloned().unwrap_or(Bson::Null);
        match same(&parent, &other) {
            true => problems.add(&node.id, TreeProblemKind::WrongAncestors { expected }),
            false => problems.add(&node.id, TreeProblemKind::ParentDisagrees { parent, other }),
        }
    }
}

fn paths(layout: &Layout, linked: &Linked, problems: &mut Problems) {
    let forest = &linked.forest;
    let mut inside: Vec<Option<String>> = vec![None; forest.nodes.len()];
    let chains = chains(linked);
    let mut seen: HashMap<&str, &Bson> = HashMap::new();
    for (place, depth) in forest.preorder() {
        let node = &forest.nodes[place];
        if layout.style == PathStyle::Threaded
            && let Some(path) = &node.path
            && let Some(other) = seen.insert(path, &node.id)
        {
            problems.add(&node.id, TreeProblemKind::DuplicatePath { other: other.clone() });
        }
        if chains[place].is_none() {
            continue;
        }
        let above = forest.parents[place].and_then(|parent| inside[parent].clone());
        // What is too long or no segment was refused when it was written.
        let Ok(expected) = path::stored(layout, above.as_deref(), &node.id) else {
            continue;
        };
        inside[place] = path::inside(layout, expected.as_deref(), &node.id).ok();
        if node.path != expected {
            let parent = node.parent.clone().unwrap_or(Bson::Null);
            let other = node.parent_of_path(layout).unwrap_or(Bson::Null);
            match same(&parent, &other) {
                true => problems.add(
                    &node.id,
                    TreeProblemKind::WrongPath {
                        path: node.path.clone(),
                        expected,
                    },
                ),
                false => problems.add(&node.id, TreeProblemKind::ParentDisagrees { parent, other }),
            }
        }
        // By the manual there is only the path; children are found by their parents.
        if let Some(other) = node.parent.clone().filter(|_| !node.has_parent) {
            let parent = Bson::Null;
            problems.add(&node.id, TreeProblemKind::ParentDisagrees { parent, other });
        }
        let expected = depth as i64 + 1;
        if layout.style == PathStyle::Threaded && node.depth != Some(expected) {
            problems.add(
                &node.id,
                TreeProblemKind::WrongDepth {
                    depth: node.depth,
                    expected,
                },
            );
        }
    }
}

fn intervals(layout: &Layout, forest: &Forest, problems: &mut Problems) {
    let mut sound: Vec<(i64, i64, &Node)> = Vec::with_capacity(forest.nodes.len());
    for node in &forest.nodes {
        match node.left.zip(node.right) {
            None => problems.add(&node.id, TreeProblemKind::MissingInterval),
            Some((left, right)) if left >= right => {
                problems.add(&node.id, TreeProblemKind::InvertedInterval { left, right });
            }
            Some((left, right)) => sound.push((left, right, node)),
        }
    }
    sound.sort_by_key(|(left, right, _)| (*left, std::cmp::Reverse(*right)));
    let mut open: Vec<(i64, i64, &Node)> = Vec::new();
    for (left, right, node) in &sound {
        while open.last().is_some_and(|(_, end, _)| end < left) {
            open.pop();
        }
        let around = open.last().copied();
        open.push((*left, *right, node));
        if let Some((start, end, other)) = around
            && (start == *left || end <= *right)
        {
            problems.add(
                &node.id,
                TreeProblemKind::IntervalOverlap {
                    other: other.id.clone(),
                },
            );
            continue;
        }
        let other = around.map_or(Bson::Null, |(_, _, other)| other.id.clone());
        let parent = node.parent.clone().unwrap_or(Bson::Null);
        if same(&parent, &other) {
            continue;
        }
        let stored = sound.iter().find(|(_, _, own)| same(&own.id, &parent));
        match stored {
            Some((start, end, _)) if !(start < left && right < end) => {
                problems.add(&node.id, TreeProblemKind::OutsideParent { parent });
            }
            _ => problems.add(&node.id, TreeProblemKind::ParentDisagrees { parent, other }),
        }
    }
    if layout.numbering == Numbering::Dense {
        let mut numbers: Vec<i64> = sound
            .iter()
            .flat_map(|(left, right, _)| [*left, *right])
            .collect();
        numbers.sort_unstable();
        let is_dense = numbers
            .iter()
            .enumerate()
            .all(|(at, number)| *number == at as i64 + 1);
        if !is_dense {
            problems.add(&Bson::Null, TreeProblemKind::Gap);
        }
    }
}

fn positions(forest: &Forest, problems: &mut Problems) {
    for siblings in forest.children.iter().chain([&forest.tops]) {
        let mut last: Option<&Node> = None;
        for place in siblings {
            let node = &forest.nodes[*place];
            match (node.position, last) {
                (None, _) => problems.add(&node.id, TreeProblemKind::MissingPosition),
                (Some(position), Some(before)) if before.position == Some(position) => {
                    problems.add(
                        &node.id,
                        TreeProblemKind::DuplicatePosition {
                            other: before.id.clone(),
                        },
                    );
                }
                _ => {}
            }
            last = Some(node);
        }
    }
}
