//! The reference: a forest as an adjacency list in memory. What it does is too simple to be wrong, and the recorded
//! runs hold it to two other implementations.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;

/// Trees of ordered nodes, by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forest<K> {
    parents: BTreeMap<K, Option<K>>,
    children: BTreeMap<Option<K>, Vec<K>>,
}

/// Where a node is put. The names are django-treebeard's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place<K> {
    FirstRoot,
    LastRoot,
    RootAt(usize),
    FirstChild(K),
    LastChild(K),
    ChildAt(K, usize),
    FirstSibling(K),
    LastSibling(K),
    Left(K),
    Right(K),
}

/// What becomes of the children of a node that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDelete {
    /// The whole subtree goes.
    Cascade,
    /// They take their parent's place.
    Adopt,
    /// They become the last roots.
    Roots,
    /// A node that has any is not deleted.
    Refuse,
}

/// Why an operation was refused; the forest is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Missing,
    Duplicate,
    IntoDescendant,
    HasChildren,
    /// What the reference never says.
    Other(String),
}

impl<K> Default for Forest<K> {
    fn default() -> Forest<K> {
        Forest {
            parents: BTreeMap::new(),
            children: BTreeMap::new(),
        }
    }
}

impl<K> Place<K> {
    /// The node that the place is about, unless it is about the roots.
    pub fn target(&self) -> Option<&K> {
        match self {
            Place::FirstRoot | Place::LastRoot | Place::RootAt(_) => None,
            Place::FirstChild(key) | Place::LastChild(key) | Place::ChildAt(key, _) => Some(key),
            Place::FirstSibling(key) | Place::LastSibling(key) | Place::Left(key) | Place::Right(key) => {
                Some(key)
            }
        }
    }

    fn is_below_target(&self) -> bool {
        matches!(
            self,
            Place::FirstChild(_) | Place::LastChild(_) | Place::ChildAt(..)
        )
    }
}

impl<K: Clone + Ord + Debug> Forest<K> {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// Whether there is such a node.
    pub fn contains(&self, key: &K) -> bool {
        self.parents.contains_key(key)
    }

    /// The keys, in their own order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.parents.keys()
    }

    /// The roots, in order.
    pub fn roots(&self) -> &[K] {
        self.of(&None)
    }

    /// The children of a node, in order.
    pub fn children(&self, key: &K) -> &[K] {
        self.of(&Some(key.clone()))
    }

    /// The parent of a node; `None` for roots.
    pub fn parent(&self, key: &K) -> Option<&K> {
        self.parents.get(key).and_then(Option::as_ref)
    }

    /// A node's siblings with itself, in order.
    pub fn siblings(&self, key: &K) -> &[K] {
        self.of(&self.parents[key])
    }

    /// The nodes above a node, the root first.
    pub fn ancestors(&self, key: &K) -> Vec<K> {
        let mut above = Vec::new();
        let mut at = self.parent(key);
        while let Some(key) = at {
            above.push(key.clone());
            at = self.parent(key);
        }
        above.reverse();
        above
    }

    /// The root above a node, or the node itself.
    pub fn root_of(&self, key: &K) -> K {
        self.ancestors(key).first().unwrap_or(key).clone()
    }

    /// How many nodes stand above a node.
    pub fn depth(&self, key: &K) -> usize {
        self.ancestors(key).len()
    }

    /// The nodes below a node in pre-order.
    pub fn descendants(&self, key: &K) -> Vec<K> {
        let mut found = Vec::new();
        self.walk(key, &mut found);
        found
    }

    /// The nodes below a node, the nearer ones first.
    pub fn breadth_first(&self, key: &K) -> Vec<K> {
        let mut found = Vec::new();
        let mut waiting = VecDeque::from([key.clone()]);
        while let Some(key) = waiting.pop_front() {
            found.extend(self.children(&key).iter().cloned());
            waiting.extend(self.children(&key).iter().cloned());
        }
        found
    }

    /// The nodes below a node that have no children, in pre-order.
    pub fn leaves(&self, key: &K) -> Vec<K> {
        let mut found = self.descendants(key);
        found.retain(|key| self.children(key).is_empty());
        found
    }

    /// The lowest node that is both nodes' ancestor or one of them.
    pub fn common_ancestor(&self, a: &K, b: &K) -> Option<K> {
        let [a, b] = [a, b].map(|key| {
            let mut line = self.ancestors(key);
            line.push(key.clone());
            line
        });
        let both = a.iter().zip(&b).take_while(|(a, b)| a == b);
        both.last().map(|(key, _)| key.clone())
    }

    /// Whether a node stands above another.
    pub fn is_ancestor(&self, above: &K, below: &K) -> bool {
        self.ancestors(below).contains(above)
    }

    /// All nodes in pre-order.
    pub fn preorder(&self) -> Vec<K> {
        let mut found = Vec::new();
        for root in self.roots() {
            found.push(root.clone());
            self.walk(root, &mut found);
        }
        found
    }

    /// All nodes in pre-order, with their depths counted from 0 and the numbers of their children.
    pub fn outline(&self) -> Vec<(K, usize, usize)> {
        let row = |key: K| {
            let (depth, children) = (self.depth(&key), self.children(&key).len());
            (key, depth, children)
        };
        self.preorder().into_iter().map(row).collect()
    }

    /// Adds a node.
    ///
    /// # Errors
    /// `Duplicate`, `Missing`.
    pub fn insert(&mut self, key: K, place: &Place<K>) -> Result<(), Refusal> {
        if self.contains(&key) {
            return Err(Refusal::Duplicate);
        }
        let (parent, at) = self.resolve(place)?;
        self.put(key, parent, at);
        Ok(())
    }

    /// Moves a node with all below it. An index counts the siblings as they are without the node.
    ///
    /// # Errors
    /// `Missing`, `IntoDescendant`.
    pub fn shift(&mut self, key: &K, place: &Place<K>) -> Result<(), Refusal> {
        if !self.contains(key) {
            return Err(Refusal::Missing);
        }
        if let Some(target) = place.target() {
            if !self.contains(target) {
                return Err(Refusal::Missing);
            }
            if self.is_ancestor(key, target) || (target == key && place.is_below_target()) {
                return Err(Refusal::IntoDescendant);
            }
            if target == key && matches!(place, Place::Left(_) | Place::Right(_)) {
                return Ok(());
            }
        }
        let own = match place.target() {
            Some(target) if target == key => Some(self.parents[key].clone()),
            _ => None,
        };
        self.detach(key);
        let (parent, at) = match (own, place) {
            (Some(parent), Place::FirstSibling(_)) => (parent, 0),
            (Some(parent), _) => (parent, usize::MAX),
            (None, place) => self.resolve(place)?,
        };
        self.put(key.clone(), parent, at);
        Ok(())
    }

    /// Deletes a node and gives how many went.
    ///
    /// # Errors
    /// `Missing`, `HasChildren`.
    pub fn delete(&mut self, key: &K, rule: OnDelete) -> Result<usize, Refusal> {
        if !self.contains(key) {
            return Err(Refusal::Missing);
        }
        let children = self.children(key).to_vec();
        match rule {
            OnDelete::Refuse if !children.is_empty() => return Err(Refusal::HasChildren),
            OnDelete::Refuse => {}
            OnDelete::Cascade => {
                let below = self.descendants(key);
                self.detach(key);
                for gone in &below {
                    self.parents.remove(gone);
                    self.children.remove(&Some(gone.clone()));
                }
                self.parents.remove(key);
                self.children.remove(&Some(key.clone()));
                return Ok(below.len() + 1);
            }
            OnDelete::Adopt => {
                let parent = self.parents[key].clone();
                for child in children {
                    self.detach(&child);
                    let at = self.position(key);
                    self.put(child, parent.clone(), at);
                }
            }
            OnDelete::Roots => {
                for child in children {
                    self.detach(&child);
                    self.put(child, None, usize::MAX);
                }
            }
        }
        self.detach(key);
        self.parents.remove(key);
        self.children.remove(&Some(key.clone()));
        Ok(1)
    }

    /// Gives a node another key; its own changes nothing.
    ///
    /// # Errors
    /// `Missing`, `Duplicate`.
    pub fn rename(&mut self, key: &K, new: K) -> Result<(), Refusal> {
        if !self.contains(key) {
            return Err(Refusal::Missing);
        }
        if *key == new {
            return Ok(());
        }
        if self.contains(&new) {
            return Err(Refusal::Duplicate);
        }
        let parent = self.parents.remove(key).unwrap_or_default();
        let at = self.of(&parent).iter().position(|sibling| sibling == key);
        if let (Some(siblings), Some(at)) = (self.children.get_mut(&parent), at) {
            siblings[at] = new.clone();
        }
        self.parents.insert(new.clone(), parent);
        if let Some(children) = self.children.remove(&Some(key.clone())) {
            for child in &children {
                self.parents.insert(child.clone(), Some(new.clone()));
            }
            self.children.insert(Some(new), children);
        }
        Ok(())
    }

    /// Copies a node with all below it; `name` gives the key of each copy.
    ///
    /// # Errors
    /// `Missing`, `Duplicate`.
    pub fn copy(&mut self, key: &K, place: &Place<K>, mut name: impl FnMut(&K) -> K) -> Result<K, Refusal> {
        if !self.contains(key) {
            return Err(Refusal::Missing);
        }
        self.resolve(place)?;
        let mut names = BTreeMap::from([(key.clone(), name(key))]);
        let below = self.descendants(key);
        for key in &below {
            names.insert(key.clone(), name(key));
        }
        if names.values().any(|new| self.contains(new)) {
            return Err(Refusal::Duplicate);
        }
        let parents: Vec<_> = below.iter().map(|key| self.parent(key).cloned()).collect();
        let top = names[key].clone();
        self.insert(top.clone(), place)?;
        for (key, parent) in below.iter().zip(parents) {
            let parent = names[&parent.ok_or(Refusal::Missing)?].clone();
            self.insert(names[key].clone(), &Place::LastChild(parent))?;
        }
        Ok(top)
    }

    /// Puts the children of a node, or the roots, into another order.
    ///
    /// # Errors
    /// `Missing` where the node is missing or `order` is not exactly the children.
    pub fn reorder(&mut self, parent: Option<&K>, order: Vec<K>) -> Result<(), Refusal> {
        if parent.is_some_and(|key| !self.contains(key)) {
            return Err(Refusal::Missing);
        }
        let parent = parent.cloned();
        let (mut old, mut new) = (self.of(&parent).to_vec(), order.clone());
        old.sort();
        new.sort();
        if old != new {
            return Err(Refusal::Missing);
        }
        if !order.is_empty() {
            self.children.insert(parent, order);
        }
        Ok(())
    }

    fn of(&self, parent: &Option<K>) -> &[K] {
        self.children.get(parent).map_or(&[], Vec::as_slice)
    }

    fn position(&self, key: &K) -> usize {
        let siblings = self.siblings(key).iter();
        siblings.take_while(|sibling| *sibling != key).count()
    }

    fn walk(&self, key: &K, found: &mut Vec<K>) {
        for child in self.children(key) {
            found.push(child.clone());
            self.walk(child, found);
        }
    }

    /// The parent and the index of a place; an index beyond the end is the end.
    fn resolve(&self, place: &Place<K>) -> Result<(Option<K>, usize), Refusal> {
        if place.target().is_some_and(|key| !self.contains(key)) {
            return Err(Refusal::Missing);
        }
        Ok(match place {
            Place::FirstRoot => (None, 0),
            Place::LastRoot => (None, usize::MAX),
            Place::RootAt(index) => (None, *index),
            Place::FirstChild(key) => (Some(key.clone()), 0),
            Place::LastChild(key) => (Some(key.clone()), usize::MAX),
            Place::ChildAt(key, index) => (Some(key.clone()), *index),
            Place::FirstSibling(key) => (self.parents[key].clone(), 0),
            Place::LastSibling(key) => (self.parents[key].clone(), usize::MAX),
            Place::Left(key) => (self.parents[key].clone(), self.position(key)),
            Place::Right(key) => (self.parents[key].clone(), self.position(key) + 1),
        })
    }

    fn put(&mut self, key: K, parent: Option<K>, at: usize) {
        let siblings = self.children.entry(parent.clone()).or_default();
        siblings.insert(at.min(siblings.len()), key.clone());
        self.parents.insert(key, parent);
    }

    fn detach(&mut self, key: &K) {
        let parent = self.parents[key].clone();
        if let Some(siblings) = self.children.get_mut(&parent) {
            siblings.retain(|sibling| sibling != key);
            if siblings.is_empty() {
                self.children.remove(&parent);
            }
        }
    }
}
