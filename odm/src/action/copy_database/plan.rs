//! What is to be done for each collection, found before anything is written.

use bson::{Document, RawDocumentBuf};

use super::inventory::{self, Listed, is_expiring, is_same};
use super::{Choice, Existing, about, trial};
use crate::backend::Find;
use crate::collection::Target;
use crate::cursor;
use crate::db::Db;
use crate::error::{Error, ErrorKind, Result};

/// A collection or view to copy.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) source: Listed,
    /// As they are to be built.
    pub(super) indexes: Vec<Document>,
    pub(super) step: Step,
}

#[derive(Debug)]
pub(super) enum Step {
    /// The target has none of the name.
    Create,
    /// What the target has is dropped.
    Replace,
    /// The target has it, and gets what is missing.
    Fill(Present),
    /// The target has all of it.
    Leave,
}

/// What the target has.
#[derive(Debug)]
pub(super) struct Present {
    pub(super) indexes: Vec<Document>,
    pub(super) has_documents: bool,
    /// Whether the collection itself makes its documents expire.
    pub(super) expires: bool,
}

impl Present {
    /// Whether the target has this index.
    pub(super) fn has(&self, index: &Document) -> bool {
        self.indexes.iter().any(|own| is_same_index(own, index))
    }
}

/// Compares both sides.
///
/// # Errors
/// Whatever speaks against the copy.
pub(super) async fn make(
    source: &Db,
    target: &Db,
    choice: &Choice,
    existing: Existing,
) -> Result<Vec<Planned>> {
    let chosen = chosen(source, choice).await?;
    let there = inventory::collections(target).await?;
    let mut plan = Vec::with_capacity(chosen.len());
    for listed in chosen {
        let from = Target::untyped(source, &listed.name);
        let to = Target::untyped(target, &listed.name);
        let indexes = inventory::indexes(&from, &listed).await?;
        let step = match there.iter().find(|there| there.name == listed.name) {
            None => Step::Create,
            Some(there) if listed.uuid.is_some() && listed.uuid == there.uuid => {
                return Err(same(target, Some(&to)));
            }
            Some(_) if existing == Existing::Drop => Step::Replace,
            Some(there) => compare(&listed, &indexes, there, &to, existing).await?,
        };
        plan.push(Planned {
            source: listed,
            indexes,
            step,
        });
    }
    Ok(plan)
}

async fn chosen(source: &Db, choice: &Choice) -> Result<Vec<Listed>> {
    let mut listed = inventory::collections(source).await?;
    listed.retain(|listed| listed.name != trial::NAME);
    match choice {
        Choice::All => {}
        Choice::Except(names) => listed.retain(|listed| !names.contains(&listed.name)),
        Choice::Only(names) => {
            let missing = names
                .iter()
                .find(|name| !listed.iter().any(|listed| &listed.name == *name));
            if let Some(missing) = missing {
                let text = "there is no such collection to copy";
                return Err(about(
                    ErrorKind::NotFound,
                    text,
                    &Target::untyped(source, missing),
                ));
            }
            listed.retain(|listed| names.contains(&listed.name));
        }
    }
    Ok(listed)
}

/// What is left to do where the target has a collection of the name.
async fn compare(
    listed: &Listed,
    indexes: &[Document],
    there: &Listed,
    target: &Target,
    existing: Existing,
) -> Result<Step> {
    if let Some(option) = listed.difference(there) {
        let text = "the target has a collection of this name with other options";
        return Err(about(ErrorKind::Schema, text, target).with_path(format!("options.{option}")));
    }
    if listed.is_view() {
        return Ok(Step::Leave);
    }
    let present = Present {
        indexes: inventory::indexes(target, there).await?,
        has_documents: has_documents(target).await?,
        expires: there.options.contains_key("expireAfterSeconds"),
    };
    if present.has_documents && existing == Existing::Refuse {
        let text = "the target has documents in a collection of this name";
        return Err(about(ErrorKind::InvalidArgument, text, target));
    }
    let name = |index: &Document| index.get_str("name").unwrap_or_default().to_owned();
    for own in &present.indexes {
        let theirs = indexes.iter().find(|index| name(index) == name(own));
        let text = match theirs {
            Some(theirs) if !is_same_index(theirs, own) => "the target has another index of this name",
            None if is_expiring(own) => "the target has an index of its own by which documents expire",
            _ => continue,
        };
        return Err(about(ErrorKind::Schema, text, target).with_index(name(own)));
    }
    let expires = listed.options.contains_key("expireAfterSeconds");
    let is_complete = present.has_documents
        && (expires || indexes.iter().any(is_expiring))
        && expires == present.expires
        && indexes.iter().all(|index| present.has(index));
    Ok(match is_complete {
        true => Step::Leave,
        false => Step::Fill(present),
    })
}

async fn has_documents(target: &Target) -> Result<bool> {
    let find = Find {
        limit: 1,
        ..Find::new(target.namespace().clone(), RawDocumentBuf::new())
    };
    let cursor = target.execute(find.into()).await?.cursor()?;
    Ok(cursor::first(target, "find", cursor, |_| Ok(())).await?.is_some())
}

/// Whether two indexes are one: the order of the keys counts, that of the options does not.
fn is_same_index(a: &Document, b: &Document) -> bool {
    let keys = |index: &Document| -> Vec<String> {
        let key = index.get_document("key");
        key.map(|key| key.keys().cloned().collect()).unwrap_or_default()
    };
    keys(a) == keys(b) && is_same(&a.clone().into(), &b.clone().into())
}

/// The error of a copy onto itself.
pub(super) fn same(target: &Db, collection: Option<&Target>) -> Error {
    let text = "source and target of the copy are the same database";
    match collection {
        Some(collection) => about(ErrorKind::InvalidArgument, text, collection),
        None => Error::new(ErrorKind::InvalidArgument, text)
            .with_namespace(target.name())
            .with_backend(target.backend_name()),
    }
}
