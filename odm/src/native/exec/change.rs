//! Telling the log of changes what a write did.
//!
//! A change is kept as the fields of its event, with the names of the server's, and three more for the reader:
//! `uuid` of the collection, and `before` and `after`, the document's images where the collection keeps them.

use super::super::catalog::Collection;
use super::super::document::doc::{decimal, framed};
use super::super::document::{Doc, Value};
use super::super::fault::Result;
use super::super::plan::Plan;
use super::super::storage::Write;
use super::super::update::{Description, Updater};
use super::walk::{Flow, Walk};
use super::{Deadline, Namespace, temporary, view};

/// The collection option that keeps the images of changed documents.
pub(crate) const IMAGES: &str = "changeStreamPreAndPostImages";

/// How many bytes of documents are read before they are logged.
const MOST_COPIED: usize = 1 << 20;

/// Logs an inserted document.
pub(crate) fn inserted(write: &mut dyn Write, collection: &Collection, document: &[u8]) {
    if !is_followed(write, collection) {
        return;
    }
    let change = event("insert", collection, |out| {
        write_key(document, out);
        Value::Document(Doc::Raw(document)).write_element(b"fullDocument", out);
    });
    write.log(change);
}

/// Logs a document that was changed as the description says, or that another took the place of.
pub(crate) fn changed(
    write: &mut dyn Write,
    collection: &Collection,
    old: &[u8],
    new: &[u8],
    description: Option<&Description>,
) {
    let Some(description) = description else {
        return replaced(write, collection, old, new);
    };
    if !is_followed(write, collection) {
        return;
    }
    let change = event("update", collection, |out| {
        write_key(new, out);
        write_description(description, out);
        write_images(collection, Some(old), Some(new), out);
    });
    write.log(change);
}

fn replaced(write: &mut dyn Write, collection: &Collection, old: &[u8], new: &[u8]) {
    if !is_followed(write, collection) {
        return;
    }
    let change = event("replace", collection, |out| {
        write_key(new, out);
        Value::Document(Doc::Raw(new)).write_element(b"fullDocument", out);
        write_images(collection, Some(old), None, out);
    });
    write.log(change);
}

/// Logs a document that an update changed.
pub(crate) fn updated(
    write: &mut dyn Write,
    collection: &Collection,
    old: &[u8],
    new: &[u8],
    updater: &Updater,
    matched: Option<usize>,
) -> Result<()> {
    if !is_followed(write, collection) {
        return Ok(());
    }
    let description = updater.describe(old, new, matched)?;
    changed(write, collection, old, new, description.as_ref());
    Ok(())
}

/// Logs a removed document.
pub(crate) fn removed(write: &mut dyn Write, collection: &Collection, old: &[u8]) {
    if !is_followed(write, collection) {
        return;
    }
    let change = event("delete", collection, |out| {
        write_key(old, out);
        write_images(collection, Some(old), None, out);
    });
    write.log(change);
}

/// Logs a dropped collection.
pub(crate) fn dropped(write: &mut dyn Write, collection: &Collection) {
    if is_followed(write, collection) {
        write.log(event("drop", collection, |_| {}));
    }
}

/// Logs a collection that got another name.
pub(crate) fn renamed(write: &mut dyn Write, collection: &Collection, to: &Namespace) {
    if write.is_logging() {
        let change = event("rename", collection, |out| {
            write_namespace(b"to", &to.database, Some(&to.collection), out);
        });
        write.log(change);
    }
}

/// Logs a collection that went to another database under a new name: as on the server, which copies it, what is there
/// is inserted under a name of its own before it gets this one, and the source is dropped.
pub(crate) fn moved(write: &mut dyn Write, source: &Collection, to: &Namespace) -> Result<()> {
    if !write.is_logging() {
        return Ok(());
    }
    let Some(moved) = write.catalog().by_id(source.id).cloned() else {
        return Ok(());
    };
    let mut copy = (*moved).clone();
    copy.name = temporary::name("renameCollection").into();
    let forward = Plan::collection(false, true);
    let mut walk = Walk::uncounted(&forward, &moved, Deadline::default());
    loop {
        let (mut documents, mut bytes) = (Vec::new(), 0);
        let is_over = walk.documents(&*write, &moved, &mut |_, document| {
            bytes += document.len();
            documents.push(document.to_vec());
            Ok(match bytes < MOST_COPIED {
                true => Flow::Continue,
                false => Flow::Stop,
            })
        })?;
        for document in documents {
            inserted(write, &copy, &document);
        }
        if is_over {
            break;
        }
    }
    renamed(write, &copy, to);
    dropped(write, source);
    Ok(())
}

/// Logs a dropped database.
pub(crate) fn database_dropped(write: &mut dyn Write, database: &str) {
    if write.is_logging() {
        let mut change = Vec::new();
        framed(&mut change, |out| {
            Value::String("dropDatabase").write_element(b"operationType", out);
            write_namespace(b"ns", database, None, out);
        });
        write.log(change);
    }
}

/// Whether changes of the collection are logged: those of time series and of the collection of views are not, as on the
/// server.
fn is_followed(write: &dyn Write, collection: &Collection) -> bool {
    write.is_logging() && collection.rules.series.is_none() && !view::list::is_list_of(collection)
}

fn event(kind: &str, collection: &Collection, rest: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    framed(&mut bytes, |out| {
        Value::String(kind).write_element(b"operationType", out);
        write_namespace(b"ns", &collection.database, Some(&collection.name), out);
        let uuid = Value::Binary {
            subtype: 4,
            bytes: &collection.uuid,
        };
        uuid.write_element(b"uuid", out);
        rest(out);
    });
    bytes
}

fn write_namespace(name: &[u8], database: &str, collection: Option<&str>, out: &mut Vec<u8>) {
    let mut ns = Vec::new();
    framed(&mut ns, |out| {
        Value::String(database).write_element(b"db", out);
        if let Some(collection) = collection {
            Value::String(collection).write_element(b"coll", out);
        }
    });
    Value::Document(Doc::Raw(&ns)).write_element(name, out);
}

fn write_key(document: &[u8], out: &mut Vec<u8>) {
    let mut key = Vec::new();
    framed(&mut key, |out| {
        if let Some(id) = Doc::Raw(document).get("_id") {
            id.write_element(b"_id", out);
        }
    });
    Value::Document(Doc::Raw(&key)).write_element(b"documentKey", out);
}

fn write_images(collection: &Collection, old: Option<&[u8]>, new: Option<&[u8]>, out: &mut Vec<u8>) {
    if !keeps_images(collection) {
        return;
    }
    for (name, image) in [(&b"before"[..], old), (&b"after"[..], new)] {
        if let Some(image) = image {
            Value::Document(Doc::Raw(image)).write_element(name, out);
        }
    }
}

fn keeps_images(collection: &Collection) -> bool {
    let images = Doc::Raw(&collection.options).get(IMAGES);
    let enabled = images.and_then(|images| images.as_document()?.get("enabled"));
    matches!(enabled, Some(Value::Bool(true)))
}

fn write_description(description: &Description, out: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    framed(&mut bytes, |out| {
        let mut updated = Vec::new();
        framed(&mut updated, |out| {
            for (path, value) in &description.updated {
                value.as_value().write_element(path.as_bytes(), out);
            }
        });
        Value::Document(Doc::Raw(&updated)).write_element(b"updatedFields", out);
        let removed = array(&description.removed, |path, name, out| {
            Value::String(path).write_element(name, out);
        });
        Value::Array(Doc::Raw(&removed)).write_element(b"removedFields", out);
        let truncated = array(&description.truncated, |(path, length), name, out| {
            let mut entry = Vec::new();
            framed(&mut entry, |out| {
                Value::String(path).write_element(b"field", out);
                let length = i32::try_from(*length).unwrap_or(i32::MAX);
                Value::Int32(length).write_element(b"newSize", out);
            });
            Value::Document(Doc::Raw(&entry)).write_element(name, out);
        });
        Value::Array(Doc::Raw(&truncated)).write_element(b"truncatedArrays", out);
    });
    Value::Document(Doc::Raw(&bytes)).write_element(b"updateDescription", out);
}

fn array<T>(items: &[T], write: impl Fn(&T, &[u8], &mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    framed(&mut bytes, |out| {
        let mut buffer = [0u8; 20];
        for (index, item) in items.iter().enumerate() {
            write(item, decimal(index, &mut buffer), out);
        }
    });
    bytes
}
