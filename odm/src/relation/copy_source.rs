//! Reading what copies are made of.

use std::collections::{HashMap, HashSet};

use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::declared_copy::DeclaredCopy;
use super::fetch;
use super::identity::Identity;
use super::keys::Keys;
use super::place::one;
use super::plan::{name, with_needed};
use super::stored::{Steps, malformed};
use crate::backend::{Find, Operation};
use crate::collection::Target;
use crate::cursor;
use crate::error::{Error, Result};
use crate::lifecycle::{Scope, Versions, is_living, narrow, narrow_kind};

/// Stored sources by what references hold.
#[derive(Default)]
pub(super) struct Sources(HashMap<Identity, RawDocumentBuf>);

impl Sources {
    /// Those of the copies in one place that these documents have: of several with one key a living one.
    pub(super) async fn of(place: &'static DeclaredCopy, holder: &Target, keys: Keys) -> Result<Sources> {
        let mut sources = Sources::default();
        let source = place.copy.source;
        let target = (source.open)(holder, None, source.collection)?;
        let path = Steps::dotted(&place.copy.key);
        let is_living = |stored: &RawDocument| target.plan().is_none_or(|plan| is_living(plan, stored));
        for keys in keys.chunks() {
            let filter = one(&place.copy.key, rawdoc! { "$in": keys })?;
            for stored in read(&target, &[place], find(&target, filter)).await?.all()? {
                let Some(key) = path.one(&stored)?.map(Identity::of) else {
                    continue;
                };
                if is_living(&stored) || !sources.0.contains_key(&key) {
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

/// Sources as they were read.
#[derive(Default)]
pub(crate) struct Read {
    /// In their present shape.
    pub(crate) sources: Vec<RawDocumentBuf>,
    /// The `_id`s of those that this program cannot bring into it, and why.
    pub(crate) refused: Vec<(RawBson, Error)>,
    /// The `_id` of the last one.
    pub(crate) last: Option<RawBson>,
}

impl Read {
    /// # Errors
    /// That of the first one that was refused.
    pub(crate) fn all(self) -> Result<Vec<RawDocumentBuf>> {
        match self.refused.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(self.sources),
        }
    }

    fn add(&mut self, stored: &RawDocument, versions: Option<Versions>) {
        let id = stored.get("_id").ok().flatten();
        let id = id.map_or(RawBson::Null, RawBson::from);
        self.last = Some(id.clone());
        match versions.map(|versions| versions.upgraded(stored)) {
            None | Some(Ok(None)) => self.sources.push(stored.to_owned()),
            Some(Ok(Some(upgraded))) => self.sources.push(upgraded),
            Some(Err(error)) => self.refused.push((id, error)),
        }
    }
}

/// Reads sources, with no more of them than these copies and `_id` need, in their present shape.
pub(crate) async fn read(target: &Target, places: &[&DeclaredCopy], mut find: Find) -> Result<Read> {
    let plan = target.plan();
    let versions = plan.and_then(|plan| plan.lifecycle.versions);
    if versions.is_none() {
        find.projection = Some(projection(target, places)?);
    }
    let mut operation = Operation::Find(find);
    if let Some(plan) = plan {
        narrow_kind(plan, &mut operation)?;
    }
    let mut cursor = target.execute(operation).await?.cursor()?;
    let mut found = Read::default();
    while let Some(batch) = cursor::next_batch(target, "find", &mut *cursor).await? {
        for stored in cursor::documents(target, "find", &*batch) {
            found.add(stored?, versions);
        }
    }
    Ok(found)
}

/// Those of the sources that copies in a place are of: not the softly deleted ones whose key a living one has.
pub(crate) async fn followed<'s>(
    place: &DeclaredCopy,
    target: &Target,
    sources: &'s [RawDocumentBuf],
) -> Result<Vec<&'s RawDocument>> {
    let all = sources.iter().map(|source| &**source);
    let plan = target.plan().filter(|_| place.copy.key != "_id");
    let Some(plan) = plan else {
        return Ok(all.collect());
    };
    let path = Steps::dotted(&place.copy.key);
    let mut keys = Keys::default();
    for source in sources.iter().filter(|source| !is_living(plan, source)) {
        if let Some(key) = path.one(source)? {
            keys.add(key);
        }
    }
    let mut living = HashSet::new();
    for keys in keys.chunks() {
        let projection = with_needed(
            Some(rawdoc! { "_id": 0 }),
            &Vec::from_iter(path.root().map(str::to_owned)),
        )?;
        let filter = one(&place.copy.key, rawdoc! { "$in": keys })?;
        let mut operation = Operation::Find(fetch::find(target, filter, projection, None));
        narrow(plan, &mut operation, Scope::LIVING)?;
        let mut cursor = target.execute(operation).await?.cursor()?;
        while let Some(batch) = cursor::next_batch(target, "find", &mut *cursor).await? {
            for stored in cursor::documents(target, "find", &*batch) {
                living.extend(path.one(stored?)?.map(Identity::of));
            }
        }
    }
    let mut left = Vec::with_capacity(sources.len());
    for source in all {
        let key = path.one(source)?.map(Identity::of);
        if is_living(plan, source) || key.is_none_or(|key| !living.contains(&key)) {
            left.push(source);
        }
    }
    Ok(left)
}

fn projection(target: &Target, places: &[&DeclaredCopy]) -> Result<RawDocumentBuf> {
    let mut names = vec!["_id", crate::lifecycle::PENDING];
    names.extend(target.plan().and_then(|plan| plan.lifecycle.soft_delete_field()));
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
