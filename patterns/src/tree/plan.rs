//! A structural change as the writes that make it.

use std::collections::HashMap;

use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, Document, RawDocument, doc};

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
    /// The same document under another `_id`.
    Rename {
        from: Bson,
        old: Document,
        new: Document,
    },
    /// As the model made it: an update, or else a deletion. A soft deletion is a deletion by an update.
    Made {
        ids: Vec<Bson>,
        filter: Document,
        update: Option<Document>,
        is_deletion: bool,
    },
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
    /// Whether deletions are for ever, whatever the model says.
    pub(super) for_ever: bool,
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

    /// Gives a document another `_id`.
    pub(super) fn rename(&mut self, from: Bson, old: Document, new: Document) {
        if let Some(id) = new.get("_id") {
            self.places.insert(Identity::of(id), self.writes.len());
        }
        self.writes.push(Write::Rename { from, old, new });
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
            Some(Write::Insert(document) | Write::Rename { new: document, .. }) => document.extend(set),
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
            Write::Insert(document) | Write::Rename { new: document, .. } => Some(document),
            Write::Set { set, .. } => Some(set),
            Write::Delete(_) | Write::Made { .. } => None,
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
            Write::Rename { .. } | Write::Insert(_) => 0,
            Write::Delete(_) => 2,
            Write::Made {
                is_deletion: true, ..
            } => 2,
            Write::Set { .. } | Write::Made { .. } => 1,
        });
        self
    }

    /// The nodes that are to be deleted.
    pub(super) fn gone(&self) -> Vec<Bson> {
        self.writes.iter().flat_map(Write::gone).cloned().collect()
    }

    /// The node that is to have another `_id`.
    pub(super) fn renamed(&self) -> Option<&Bson> {
        self.writes.iter().find_map(|write| match write {
            Write::Rename { from, .. } => Some(from),
            _ => None,
        })
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
            Write::Rename { from, old, new } => doc! { "rename": from, "old": old, "new": new },
            Write::Made {
                ids,
                filter,
                update,
                is_deletion,
            } => {
                // Operators are no names of fields: as bytes they are stored by every version of the server.
                let update = update.as_ref().map_or(Bson::Null, bytes);
                doc! { "made": bytes(filter), "update": update, "ids": ids, "deletes": *is_deletion }
            }
        }
    }

    /// The nodes that it deletes, softly or for ever; not the one that it renames.
    pub(super) fn gone(&self) -> &[Bson] {
        match self {
            Write::Delete(ids)
            | Write::Made {
                ids,
                is_deletion: true,
                ..
            } => ids,
            _ => &[],
        }
    }

    /// Whether nodes are gone after it.
    pub(super) fn is_for_ever(&self) -> bool {
        matches!(
            self,
            Write::Delete(_)
                | Write::Made {
                    is_deletion: true,
                    update: None,
                    ..
                }
        )
    }

    /// The node that it is about, if it is about one.
    pub(super) fn node(&self) -> Option<&Bson> {
        match self {
            Write::Insert(document) => document.get("_id"),
            Write::Set { id, .. } => Some(id),
            Write::Rename { new, .. } => new.get("_id"),
            Write::Delete(ids) | Write::Made { ids, .. } => match ids.as_slice() {
                [id] => Some(id),
                _ => None,
            },
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
        if let (Some(from), Ok(old), Ok(new)) = (
            document.get("rename"),
            document.get_document("old"),
            document.get_document("new"),
        ) {
            return Ok(Write::Rename {
                from: from.clone(),
                old: old.clone(),
                new: new.clone(),
            });
        }
        if let Some(filter) = document.get("made") {
            return Write::made_from(filter, document);
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
            _ => Err(unreadable()),
        }
    }

    fn made_from(filter: &Bson, document: &Document) -> Result<Write> {
        let update = match document.get("update") {
            None | Some(Bson::Null) => None,
            Some(update) => Some(document_of(update)?),
        };
        match (document.get_array("ids"), document.get_bool("deletes")) {
            (Ok(ids), Ok(is_deletion)) => Ok(Write::Made {
                ids: ids.clone(),
                filter: document_of(filter)?,
                update,
                is_deletion,
            }),
            _ => Err(unreadable()),
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

    pub(super) fn filter_all(ids: &[Bson]) -> Document {
        doc! { "_id": { "$in": ids } }
    }
}

fn bytes(document: &Document) -> Bson {
    Bson::Binary(Binary {
        subtype: BinarySubtype::Generic,
        bytes: odm::bson::serialize_to_vec(document).unwrap_or_default(),
    })
}

fn document_of(bytes: &Bson) -> Result<Document> {
    let Bson::Binary(binary) = bytes else {
        return Err(unreadable());
    };
    let raw = RawDocument::from_bytes(&binary.bytes).map_err(|_| unreadable())?;
    Document::try_from(raw).map_err(|_| unreadable())
}

fn unreadable() -> TreeError {
    TreeError::Damaged {
        id: Bson::Null,
        reason: "an intended write cannot be read",
    }
}
