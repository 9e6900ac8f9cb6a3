//! What was loaded for a batch of documents.

use std::collections::{HashMap, HashSet};
use std::fmt;

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::identity::Identity;
use super::link::Pointer;
use crate::backend::Batch;
use crate::collection::Target;
use crate::error::Result;
use crate::lifecycle::{Versions, is_living};

/// What a plan's run left for each of the documents.
#[doc(hidden)]
#[derive(Debug)]
pub struct Shelf(pub(super) Kept);

#[derive(Debug)]
pub(super) enum Kept {
    Nothing,
    All(Vec<Shelf>),
    Inside(Box<Shelf>),
    Forward(HashMap<Place, Group>),
    Inverse(Box<Group>),
    Counts(HashMap<Identity, u64>),
}

/// The database, where it is another one, and the collection, where references name it.
pub(super) type Place = (Option<String>, Option<String>);

/// Documents of one collection by a key.
pub(super) struct Group {
    pub(super) target: Target,
    pub(super) batches: Vec<Box<dyn Batch>>,
    pub(super) found: HashMap<Identity, Vec<Position>>,
    /// The shapes of the model's documents, where those of older ones are to be what they are read as.
    versions: Option<Versions>,
    /// The documents of older shapes as they are read.
    upgraded: HashMap<(u32, u32), RawDocumentBuf>,
    /// What belongs to the documents.
    pub(super) nested: Box<Shelf>,
}

/// A batch, and where in it; whether the document is inside the one there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) batch: u32,
    pub(super) index: u32,
    pub(super) inside: bool,
}

impl Position {
    fn within(self, document: &RawDocument) -> Option<&RawDocument> {
        match self.inside {
            true => document.get_document(INSIDE).ok(),
            false => Some(document),
        }
    }
}

/// The name under which pipelines carry a document inside another.
pub(super) const INSIDE: &str = "c";

impl Shelf {
    /// What belongs to one of several relations.
    pub(super) fn part(&self, index: usize) -> &Shelf {
        match &self.0 {
            Kept::All(parts) => parts.get(index).unwrap_or(self),
            _ => self,
        }
    }

    /// What belongs to the embedded documents.
    pub(super) fn inside(&self) -> &Shelf {
        match &self.0 {
            Kept::Inside(inner) => inner,
            _ => self,
        }
    }

    /// The document that a reference points to, and the group that it is in: of several with the key a living one.
    pub(super) fn referred(&self, pointer: &Pointer<'_>) -> Option<(&Group, &RawDocument)> {
        let Kept::Forward(groups) = &self.0 else {
            return None;
        };
        let group = groups.get(&place(pointer))?;
        let positions = group.found.get(&Identity::of(pointer.key))?;
        let mut all = positions.iter().filter_map(|position| group.get(*position));
        let first = all.next()?;
        let living = match group.is_living(first) {
            true => None,
            false => all.find(|document| group.is_living(document)),
        };
        Some((group, living.unwrap_or(first)))
    }

    /// The documents that refer to this key.
    pub(super) fn referring(
        &self,
        key: Option<RawBsonRef<'_>>,
    ) -> impl Iterator<Item = (&Group, &RawDocument)> {
        let group = match &self.0 {
            Kept::Inverse(group) => Some(&**group),
            _ => None,
        };
        let positions = group.zip(key).and_then(|(group, key)| {
            let positions = group.found.get(&Identity::of(key))?;
            Some((group, positions))
        });
        positions.into_iter().flat_map(|(group, positions)| {
            let documents = positions.iter().filter_map(|position| group.get(*position));
            documents.map(move |document| (group, document))
        })
    }

    /// How many documents refer to this key.
    pub(super) fn count(&self, key: Option<RawBsonRef<'_>>) -> u64 {
        match (&self.0, key) {
            (Kept::Counts(counts), Some(key)) => counts.get(&Identity::of(key)).copied().unwrap_or(0),
            _ => 0,
        }
    }
}

impl Shelf {
    /// Adds what was left for other documents. What is there already stays.
    pub(super) fn add(&mut self, other: Shelf) {
        match (&mut self.0, other.0) {
            (Kept::All(parts), Kept::All(others)) => {
                for (part, other) in parts.iter_mut().zip(others) {
                    part.add(other);
                }
            }
            (Kept::Inside(inner), Kept::Inside(other)) => inner.add(*other),
            (Kept::Inverse(group), Kept::Inverse(other)) => group.add(*other),
            (Kept::Forward(groups), Kept::Forward(others)) => {
                for (place, other) in others {
                    match groups.get_mut(&place) {
                        Some(group) => group.add(other),
                        None => {
                            groups.insert(place, other);
                        }
                    }
                }
            }
            (Kept::Counts(counts), Kept::Counts(others)) => {
                for (key, count) in others {
                    counts.entry(key).or_insert(count);
                }
            }
            (kept @ Kept::Nothing, other) => *kept = other,
            _ => {}
        }
    }
}

impl Group {
    fn add(&mut self, other: Group) {
        let before = self.batches.len() as u32;
        for (key, mut positions) in other.found {
            self.found.entry(key).or_insert_with(|| {
                for position in &mut positions {
                    position.batch += before;
                }
                positions
            });
        }
        self.batches.extend(other.batches);
        let upgraded = other.upgraded.into_iter();
        self.upgraded
            .extend(upgraded.map(|((batch, index), document)| ((batch + before, index), document)));
        self.nested.add(*other.nested);
    }

    pub(super) fn new(target: Target) -> Group {
        Group {
            target,
            batches: Vec::new(),
            found: HashMap::new(),
            versions: None,
            upgraded: HashMap::new(),
            nested: Box::new(Shelf(Kept::Nothing)),
        }
    }

    /// Those that are read whole, where older shapes become the present one.
    pub(super) fn of_whole(target: Target, is_whole: bool) -> Group {
        let plan = target.plan().filter(|_| is_whole);
        Group {
            versions: plan.and_then(|plan| plan.lifecycle.versions),
            ..Group::new(target)
        }
    }

    /// Keeps a batch. `keys` gives for each document under which keys it is found, and whether it is inside.
    pub(super) fn keep(
        &mut self,
        batch: Box<dyn Batch>,
        mut keys: impl FnMut(&RawDocument, &mut dyn FnMut(RawBsonRef<'_>, bool)) -> Result<()>,
    ) -> Result<()> {
        let number = self.batches.len() as u32;
        for index in 0..batch.len() {
            let document = crate::cursor::document(&*batch, index)?;
            let mut last = None;
            keys(document, &mut |key, inside| {
                let position = Position {
                    batch: number,
                    index: index as u32,
                    inside,
                };
                last = Some(position);
                self.found.entry(Identity::of(key)).or_default().push(position);
            })?;
            if let (Some(versions), Some(position)) = (&self.versions, last)
                && let Some(document) = position.within(document)
            {
                let upgraded = versions.upgraded(document);
                if let Some(upgraded) = upgraded.map_err(|error| self.target.explain(error, "find"))? {
                    self.upgraded.insert((number, position.index), upgraded);
                }
            }
        }
        self.batches.push(batch);
        Ok(())
    }

    /// Leaves for each of the keys only some of its documents.
    pub(super) fn cut(&mut self, keys: &HashSet<Identity>, skip: u64, limit: u64) {
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        for key in keys {
            if let Some(found) = self.found.get_mut(key) {
                found.drain(..skip.min(found.len()));
                found.truncate(if limit == 0 { usize::MAX } else { limit });
            }
        }
    }

    /// Whether a document is not softly deleted, as far as what was read of it says.
    fn is_living(&self, document: &RawDocument) -> bool {
        let plan = self.target.plan();
        plan.is_none_or(|plan| is_living(plan, document))
    }

    pub(super) fn get(&self, position: Position) -> Option<&RawDocument> {
        if !self.upgraded.is_empty()
            && let Some(upgraded) = self.upgraded.get(&(position.batch, position.index))
        {
            return Some(upgraded);
        }
        let document = self
            .batches
            .get(position.batch as usize)?
            .get(position.index as usize)?;
        position.within(document)
    }

    /// All documents, each once.
    pub(super) fn documents(&self) -> Vec<&RawDocument> {
        let mut seen = HashSet::new();
        let positions = self.found.values().flatten();
        let positions = positions.filter(|position| seen.insert((position.batch, position.index)));
        positions.filter_map(|position| self.get(*position)).collect()
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("target", &self.target)
            .field("keys", &self.found.len())
            .finish_non_exhaustive()
    }
}

/// Where a reference points, without its key.
pub(super) fn place(pointer: &Pointer<'_>) -> Place {
    (
        pointer.database.map(str::to_owned),
        pointer.collection.map(str::to_owned),
    )
}
