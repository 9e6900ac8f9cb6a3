//! A logged change as the server's event.

use super::super::super::catalog::Collection;
use super::super::super::document::doc::framed;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result};
use super::super::super::storage::Read;
use super::super::super::storage::format::{self, ChangeKey, StoredChange};
use super::super::record;
use super::{After, Before};

/// A change of the log.
#[derive(Debug)]
pub(super) struct Change<'a> {
    key: ChangeKey,
    stored: StoredChange<'a>,
    body: Doc<'a>,
}

impl<'a> Change<'a> {
    pub(super) fn new(key: ChangeKey, stored: StoredChange<'a>) -> Change<'a> {
        Change {
            key,
            stored,
            body: Doc::Raw(stored.body),
        }
    }

    pub(super) fn key(&self) -> ChangeKey {
        self.key
    }

    pub(super) fn kind(&self) -> &'a str {
        match self.body.get("operationType") {
            Some(Value::String(kind)) => kind,
            _ => "",
        }
    }

    /// Whether it happened in this database, and in this collection if one is given.
    pub(super) fn is_in(&self, database: &str, collection: Option<&str>) -> bool {
        self.names("ns", database, collection)
    }

    /// Whether it gave a collection this name.
    pub(super) fn goes_to(&self, database: &str, collection: &str) -> bool {
        self.names("to", database, Some(collection))
    }

    /// Whether it happened in the server's own databases and collections, of which only streams of a collection that got
    /// its name from one tell.
    pub(super) fn is_internal(&self) -> bool {
        !["ns", "to"].into_iter().any(|field| {
            let Some(Value::Document(ns)) = self.body.get(field) else {
                return false;
            };
            let is_own = matches!(ns.get("db"), Some(Value::String("admin" | "config" | "local")));
            let is_system =
                matches!(ns.get("coll"), Some(Value::String(name)) if name.starts_with("system."));
            !is_own && !is_system
        })
    }

    fn names(&self, field: &str, database: &str, collection: Option<&str>) -> bool {
        let Some(Value::Document(ns)) = self.body.get(field) else {
            return false;
        };
        let is = |name: &str, text: &str| matches!(ns.get(name), Some(Value::String(own)) if own == text);
        is("db", database) && collection.is_none_or(|collection| is("coll", collection))
    }

    /// The event, in the server's order of fields.
    pub(super) fn event(
        &self,
        read: &dyn Read,
        token: &[u8],
        after: After,
        before: Before,
    ) -> Result<Vec<u8>> {
        let kind = self.kind();
        let changes_document = matches!(kind, "update" | "replace" | "delete");
        let image = match before {
            Before::Nothing => None,
            _ if !changes_document => None,
            _ => Some(self.body.get("before").unwrap_or(Value::Null)),
        };
        if before == Before::Required && matches!(image, Some(Value::Null)) {
            return Err(self.no_image("pre-image for all update, delete and replace events", "pre-image"));
        }
        let current;
        let full = match (kind, after) {
            ("update", After::Nothing) => None,
            ("update", After::Lookup) => {
                current = self.look_up(read)?;
                Some(match &current {
                    Some(document) => Value::Document(Doc::Raw(document)),
                    None => Value::Null,
                })
            }
            ("update", _) => match self.body.get("after") {
                None if after == After::Required => {
                    return Err(self.no_image("post-image for all update events", "post-image"));
                }
                image => Some(image.unwrap_or(Value::Null)),
            },
            _ => self.body.get("fullDocument"),
        };
        let mut bytes = Vec::new();
        framed(&mut bytes, |out| {
            self.write_transaction(out);
            let copy = |name: &str, out: &mut Vec<u8>| {
                if let Some(value) = self.body.get(name) {
                    value.write_element(name.as_bytes(), out);
                }
            };
            copy("to", out);
            self.write_head(token, kind, out);
            if let Some(full) = full {
                full.write_element(b"fullDocument", out);
            }
            copy("ns", out);
            copy("documentKey", out);
            copy("updateDescription", out);
            if let Some(image) = image {
                image.write_element(b"fullDocumentBeforeChange", out);
            }
        });
        Ok(bytes)
    }

    /// The event that ends a stream after this change.
    pub(super) fn invalidate(&self, token: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        framed(&mut bytes, |out| self.write_head(token, "invalidate", out));
        bytes
    }

    /// The engine has no sessions: the `lsid` is the transaction's own, and its number is 1.
    fn write_transaction(&self, out: &mut Vec<u8>) {
        if self.stored.transaction == [0; 16] {
            return;
        }
        Value::Int64(1).write_element(b"txnNumber", out);
        let mut session = Vec::new();
        framed(&mut session, |out| {
            let id = Value::Binary {
                subtype: 4,
                bytes: &self.stored.transaction,
            };
            id.write_element(b"id", out);
            let user = Value::Binary {
                subtype: 0,
                bytes: &[],
            };
            user.write_element(b"uid", out);
        });
        Value::Document(Doc::Raw(&session)).write_element(b"lsid", out);
    }

    fn write_head(&self, token: &[u8], kind: &str, out: &mut Vec<u8>) {
        Value::Document(Doc::Raw(token)).write_element(b"_id", out);
        Value::String(kind).write_element(b"operationType", out);
        let time = Value::Timestamp {
            time: self.key.seconds,
            increment: self.key.increment,
        };
        time.write_element(b"clusterTime", out);
        Value::DateTime(self.stored.wall).write_element(b"wallTime", out);
    }

    /// The document as it is now, wherever its collection is now.
    fn look_up(&self, read: &dyn Read) -> Result<Option<Vec<u8>>> {
        let (Some(collection), Some(Value::Document(key))) =
            (self.collection(read), self.body.get("documentKey"))
        else {
            return Ok(None);
        };
        let Some(index) = collection.indexes.first() else {
            return Ok(None);
        };
        let keys = index.definition.keys(key)?;
        let Some(record) = keys
            .keys
            .first()
            .map(|key| record::holder(read, index, key, None))
            .transpose()?
            .flatten()
        else {
            return Ok(None);
        };
        let place = record.to_be_bytes();
        let Some(stored) = read.get(collection.records, &place)? else {
            return Ok(None);
        };
        Ok(Some(
            format::unseal(collection.records, &place, &stored)?.to_vec(),
        ))
    }

    fn collection<'r>(&self, read: &'r dyn Read) -> Option<&'r Collection> {
        let Some(Value::Binary { bytes: uuid, .. }) = self.body.get("uuid") else {
            return None;
        };
        let found = read.catalog().all().find(|collection| collection.uuid == uuid);
        found.map(|collection| &**collection)
    }

    fn no_image(&self, wanted: &str, image: &str) -> Fault {
        const NO_MATCHING_DOCUMENT: i32 = 47;
        let ns = self.body.get("ns").map_or_else(String::new, |ns| ns.to_string());
        Fault::new(
            NO_MATCHING_DOCUMENT,
            format!(
                "Change stream was configured to require a {wanted}, but the {image} was not found for event: \
                 {{operationType: \"{}\", ns: {ns}, clusterTime: Timestamp({}, {})}}",
                self.kind(),
                self.key.seconds,
                self.key.increment
            ),
        )
    }
}
