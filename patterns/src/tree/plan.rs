//! A structural change as the writes that make it.

use std::collections::HashMap;

use odm::bson::{Bson, Document, doc};

use super::error::{Result, TreeError};
use super::identity::Identity;
use super::layout::equal;

/// One write. It can be made twice: each says what a document is to be, not what is to be done to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Write {
    Insert(Document),
    Set {
        id: Bson,
        set: Document,
        unset: Vec<String>,
    },
    Delete(Vec<Bson>),
}

/// The writes of a change, inserts first, deletions last.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) writes: Vec<Write>,
    /// The roots of child references, where they change.
    pub(super) roots: Option<Vec<Bson>>,
    /// Other fields of the state document.
    pub(super) state: Document,
    /// Which write is about which document; insertions and sets alone.
    pub(super) places: HashMap<Identity, usize>,
}

impl Plan {
    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.roots.is_none() && self.state.is_empty()
    }

    pub(super) fn insert(&mut self, document: Document) {
        if let Some(id) = document.get("_id") {
            self.places.insert(Identity::of(id), self.writes.len());
        }
        self.writes.push(Write::Insert(document));
    }

    /// Sets fields; in one write with what is set of the document already.
    pub(super) fn set(&mut self, id: &Bson, set: Document) {
        self.change(id, set, Vec::new());
    }

    /// Sets fields and takes others away.
    pub(super) fn change(&mut self, id: &Bson, set: Document, unset: Vec<String>) {
        if set.is_empty() && unset.is_empty() {
            return;
        }
        let next = self.writes.len();
        let place = *self.places.entry(Identity::of(id)).or_insert(next);
        match self.writes.get_mut(place) {
            Some(Write::Insert(document)) => document.extend(set),
            Some(Write::Set {
                set: fields,
                unset: names,
                ..
            }) => {
                fields.extend(set);
                names.extend(unset);
            }
            _ => self.writes.push(Write::Set {
                id: id.clone(),
                set,
                unset,
            }),
        }
    }

    /// Whether nodes are written to that are there already.
    pub(super) fn moves_nodes(&self) -> bool {
        self.writes.iter().any(|write| matches!(write, Write::Set { .. }))
    }

    /// What is set of a document so far.
    pub(super) fn pending(&self, id: &Bson) -> Option<&Document> {
        match self.writes.get(*self.places.get(&Identity::of(id))?)? {
            Write::Insert(document) => Some(document),
            Write::Set { set, .. } => Some(set),
            Write::Delete(_) => None,
        }
    }

    pub(super) fn delete(&mut self, ids: Vec<Bson>) {
        for ids in ids.chunks(1_000) {
            self.writes.push(Write::Delete(ids.to_vec()));
        }
    }

    /// Inserts first, so that what a unique index refuses is refused before anything else is changed.
    pub(super) fn in_order(mut self) -> Plan {
        self.writes.sort_by_key(|write| match write {
            Write::Insert(_) => 0,
            Write::Set { .. } => 1,
            Write::Delete(_) => 2,
        });
        self
    }
}

impl Write {
    /// The write as it stands in an intent.
    pub(super) fn to_document(&self) -> Document {
        match self {
            Write::Insert(document) => doc! { "insert": document },
            Write::Set { id, set, unset } => {
                // Names may begin with anything, so that they are values here.
                let unset: Vec<Bson> = unset.iter().map(Bson::from).collect();
                doc! { "id": id, "set": set, "unset": unset }
            }
            Write::Delete(ids) => doc! { "delete": ids },
        }
    }

    /// # Errors
    /// What is no write.
    pub(super) fn from_document(document: &Document) -> Result<Write> {
        if let Ok(insert) = document.get_document("insert") {
            return Ok(Write::Insert(insert.clone()));
        }
        if let Ok(ids) = document.get_array("delete") {
            return Ok(Write::Delete(ids.clone()));
        }
        match (
            document.get("id"),
            document.get_document("set"),
            document.get_array("unset"),
        ) {
            (Some(id), Ok(set), Ok(unset)) => Ok(Write::Set {
                id: id.clone(),
                set: set.clone(),
                unset: unset
                    .iter()
                    .filter_map(|name| name.as_str().map(str::to_owned))
                    .collect(),
            }),
            _ => Err(TreeError::Damaged {
                id: Bson::Null,
                reason: "an intended write cannot be read",
            }),
        }
    }

    /// The update of a `Set`.
    pub(super) fn update(set: &Document, unset: &[String]) -> Document {
        let mut update = Document::new();
        if !set.is_empty() {
            update.insert("$set", set.clone());
        }
        if !unset.is_empty() {
            let unset: Document = unset.iter().map(|name| (name.clone(), Bson::from(""))).collect();
            update.insert("$unset", unset);
        }
        update
    }

    pub(super) fn filter(id: &Bson) -> Document {
        doc! { "_id": equal(id) }
    }
}
