//! What was loaded for a batch of documents.

use std::collections::{HashMap, HashSet};
use std::fmt;

use bson::{RawBsonRef, RawDocument};

use super::identity::Identity;
use super::link::Pointer;
use crate::backend::Batch;
use crate::collection::Target;
use crate::error::Result;

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

    /// The document that a reference points to, and the group that it is in.
    pub(super) fn referred(&self, pointer: &Pointer<'_>) -> Option<(&Group, &RawDocument)> {
        let Kept::Forward(groups) = &self.0 else {
            return None;
        };
        let group = groups.get(&place(pointer))?;
        let position = group.found.get(&Identity::of(pointer.key))?.first()?;
        Some((group, group.get(*position)?))
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
        self.nested.add(*other.nested);
    }

    pub(super) fn new(target: Target) -> Group {
        Group {
            target,
            batches: Vec::new(),
            found: HashMap::new(),
            nested: Box::new(Shelf(Kept::Nothing)),
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
            let Some(document) = batch.get(index) else { break };
            keys(document, &mut |key, inside| {
                let position = Position {
                    batch: number,
                    index: index as u32,
                    inside,
                };
                self.found.entry(Identity::of(key)).or_default().push(position);
            })?;
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

    pub(super) fn get(&self, position: Position) -> Option<&RawDocument> {
        let document = self
            .batches
            .get(position.batch as usize)?
            .get(position.index as usize)?;
        match position.inside {
            true => document.get_document(INSIDE).ok(),
            false => Some(document),
        }
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
