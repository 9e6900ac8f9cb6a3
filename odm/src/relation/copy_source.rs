//! Reading what copies are made of.

use std::collections::HashMap;

use bson::{RawArrayBuf, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::declared_copy::DeclaredCopy;
use super::fetch::{self, Keys};
use super::identity::Identity;
use super::plan::name;
use super::stored::{Steps, malformed};
use crate::backend::{Find, Operation};
use crate::collection::Target;
use crate::cursor;
use crate::error::Result;
use crate::lifecycle::narrow_kind;

/// Stored sources by what references hold.
#[derive(Default)]
pub(super) struct Sources(HashMap<Identity, RawDocumentBuf>);

impl Sources {
    /// Those of the copies in one place that these documents have.
    pub(super) async fn of(place: &'static DeclaredCopy, holder: &Target, keys: Keys) -> Result<Sources> {
        let mut sources = Sources::default();
        let source = place.copy.source;
        let target = (source.open)(holder, None, source.collection)?;
        let path = Steps::dotted(&place.copy.key);
        for keys in keys.chunks() {
            let mut filter = RawDocumentBuf::new();
            filter.append(name(&place.copy.key)?, rawdoc! { "$in": keys });
            for stored in read(&target, &[place], find(&target, filter)).await? {
                if let Some(key) = path.one(&stored)?.map(Identity::of) {
                    sources.0.insert(key, stored);
                }
            }
        }
        Ok(sources)
    }

    pub(super) fn get(&self, key: RawBsonRef<'_>) -> Option<&RawDocument> {
        self.0.get(&Identity::of(key)).map(|stored| &**stored)
    }
}

/// A find of all documents, deleted ones too.
pub(crate) fn find(target: &Target, filter: RawDocumentBuf) -> Find {
    fetch::find(target, filter, None, None)
}

/// Reads sources, with no more of them than these copies and `_id` need, in their present shape.
pub(crate) async fn read(
    target: &Target,
    places: &[&DeclaredCopy],
    mut find: Find,
) -> Result<Vec<RawDocumentBuf>> {
    let plan = target.plan();
    let versions = plan.and_then(|plan| plan.lifecycle.versions);
    if versions.is_none() {
        find.projection = Some(projection(places)?);
    }
    let mut operation = Operation::Find(find);
    if let Some(plan) = plan {
        narrow_kind(plan, &mut operation)?;
    }
    let cursor = target.execute(operation).await?.cursor()?;
    let mut stored = cursor::collect(target, "find", cursor, |stored| Ok(stored.to_owned())).await?;
    if let Some(versions) = versions {
        for document in &mut stored {
            if let Some(upgraded) = versions.upgraded(document)? {
                *document = upgraded;
            }
        }
    }
    Ok(stored)
}

fn projection(places: &[&DeclaredCopy]) -> Result<RawDocumentBuf> {
    let mut names = vec!["_id", crate::lifecycle::PENDING];
    for place in places {
        let copied = place.copy.fields.iter().map(|(from, _)| from.as_str());
        for path in copied.chain([place.copy.key.as_str(), place.copy.source_version]) {
            let root = path.split('.').next().unwrap_or(path);
            if !names.contains(&root) {
                names.push(root);
            }
        }
    }
    let mut projection = RawDocumentBuf::new();
    for field in names {
        projection.append(name(field)?, 1);
    }
    Ok(projection)
}

/// The `_id`s of documents.
pub(crate) fn ids<'a>(documents: impl IntoIterator<Item = &'a RawDocumentBuf>) -> Result<RawArrayBuf> {
    let mut ids = RawArrayBuf::new();
    for document in documents {
        if let Some(id) = document.get("_id").map_err(malformed)? {
            ids.push(id);
        }
    }
    Ok(ids)
}
