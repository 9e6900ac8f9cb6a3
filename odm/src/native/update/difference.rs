//! The difference of two documents, for updates that say only what comes out.
//!
//! Fields are taken in order: one that stays in its place is compared, one that is gone or has moved is
//! removed, and what then is left is added at the end. A part is described by its parts where that takes
//! fewer bytes than its new value; a document that would not be described more briefly is a replacement.

use super::super::document::{Doc, Value};
use super::describe::{Description, join, same};

/// The bytes by which a description must be shorter than the document.
const OVERHEAD: usize = 15;

/// The frame of a document: its length and its end.
const FRAME: usize = 5;

enum Edit<'a> {
    Set(String, Value<'a>),
    Insert(String, Value<'a>),
    Remove(String),
    Within(String, Difference<'a>),
}

enum Difference<'a> {
    Fields(Vec<Edit<'a>>),
    /// The new length, when the array got shorter.
    Items(Vec<Edit<'a>>, Option<usize>),
}

/// What changed from `old` to `new`; `None` when that is best told by the new document.
pub(super) fn describe(old: &[u8], new: &[u8]) -> Option<Description> {
    let edits = fields(Doc::Raw(old), Doc::Raw(new));
    let difference = Difference::Fields(edits);
    if size(&difference) + OVERHEAD >= new.len() {
        return None;
    }
    let mut description = Description::default();
    flatten(difference, "", &mut description);
    Some(description)
}

fn fields<'a>(old: Doc<'a>, new: Doc<'a>) -> Vec<Edit<'a>> {
    let mut edits = Vec::new();
    let mut later = new.elements().peekable();
    let (mut removed, mut last): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for element in old.elements() {
        let name = element.name_str();
        if later.peek().is_none() {
            last.push(name.to_owned());
            continue;
        }
        match later.next_if(|next| next.name_str() == name) {
            Some(next) => edits.extend(edit(name.to_owned(), element.value(), next.value())),
            None => removed.push(name.to_owned()),
        }
    }
    let added: Vec<(String, Value<'a>)> = later
        .map(|element| (element.name_str().to_owned(), element.value()))
        .collect();
    removed.retain(|name| added.iter().all(|(other, _)| other != name));
    // As on the server: what is gone at the end first, the others by their names.
    removed.sort_unstable();
    let removed = last.into_iter().chain(removed);
    edits.extend(removed.map(Edit::Remove));
    edits.extend(added.into_iter().map(|(name, value)| Edit::Insert(name, value)));
    edits
}

fn items<'a>(old: Doc<'a>, new: Doc<'a>) -> Difference<'a> {
    let (before, after) = (old.count(), new.count());
    let mut edits: Vec<Edit<'a>> = old
        .values()
        .zip(new.values())
        .enumerate()
        .filter_map(|(index, (a, b))| edit(index.to_string(), a, b))
        .collect();
    let added = new.values().enumerate().skip(before);
    edits.extend(added.map(|(index, value)| Edit::Set(index.to_string(), value)));
    Difference::Items(edits, (after < before).then_some(after))
}

fn edit<'a>(name: String, old: Value<'a>, new: Value<'a>) -> Option<Edit<'a>> {
    if same(&old, &new) {
        return None;
    }
    let within = match (&old, &new) {
        (Value::Document(old), Value::Document(new)) => Difference::Fields(fields(*old, *new)),
        (Value::Array(old), Value::Array(new)) => items(*old, *new),
        _ => return Some(Edit::Set(name, new)),
    };
    let whole = new.as_document().or_else(|| new.as_array()).map_or(0, payload);
    Some(match size(&within) < whole {
        true => Edit::Within(name, within),
        false => Edit::Set(name, new),
    })
}

fn payload(doc: Doc<'_>) -> usize {
    let mut out = Vec::new();
    Value::Document(doc).write_payload(&mut out);
    out.len()
}

fn element(name: usize, value: usize) -> usize {
    1 + name + 1 + value
}

fn value_size(value: &Value<'_>) -> usize {
    let mut out = Vec::new();
    value.write_payload(&mut out);
    out.len()
}

/// The bytes of the difference in the form that the server logs: a document with a section of each kind of edit.
fn size(difference: &Difference<'_>) -> usize {
    let mut total = FRAME;
    let (edits, is_items) = match difference {
        Difference::Fields(edits) => (edits, false),
        Difference::Items(edits, length) => {
            // A flag, and the new length.
            total += element(1, 1) + length.map_or(0, |_| element(1, 4));
            (edits, true)
        }
    };
    let (mut set, mut inserted, mut removed) = (0, 0, 0);
    for edit in edits {
        match edit {
            Edit::Within(name, within) => total += element(1 + name.len(), size(within)),
            Edit::Set(name, value) if is_items => total += element(1 + name.len(), value_size(value)),
            Edit::Set(name, value) => set += element(name.len(), value_size(value)),
            Edit::Insert(name, value) => inserted += element(name.len(), value_size(value)),
            Edit::Remove(name) => removed += element(name.len(), 1),
        }
    }
    for section in [set, inserted, removed] {
        if section > 0 {
            total += element(1, FRAME + section);
        }
    }
    total
}

fn flatten(difference: Difference<'_>, path: &str, out: &mut Description) {
    let edits = match difference {
        Difference::Fields(edits) => {
            let (within, flat): (Vec<_>, Vec<_>) = edits
                .into_iter()
                .partition(|edit| matches!(edit, Edit::Within(..)));
            flat.into_iter().chain(within).collect()
        }
        Difference::Items(edits, length) => {
            if let Some(length) = length {
                out.truncated.push((path.to_owned(), length));
            }
            edits
        }
    };
    for edit in edits {
        match edit {
            Edit::Set(name, value) | Edit::Insert(name, value) => {
                out.updated.push((join(path, &name), value.into()));
            }
            Edit::Remove(name) => out.removed.push(join(path, &name)),
            Edit::Within(name, within) => flatten(within, &join(path, &name), out),
        }
    }
}
