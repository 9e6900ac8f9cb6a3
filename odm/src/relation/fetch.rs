//! Running a plan: one query for each relation and each batch of documents.

use std::collections::HashMap;

use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};
use futures_core::future::BoxFuture;

use super::comparing::{self, hold_text};
use super::identity::Identity;
use super::join::refine;
use super::keys::Keys;
use super::place;
use super::plan::{Forward, Inverse, Node, Plan, and, scoped, with_needed};
use super::shelf::{Group, INSIDE, Kept, Place, Shelf, place};
use super::stored::{elements, malformed};
use crate::backend::{self, Namespace, Operation, ReadOptions};
use crate::collection::Target;
use crate::error::Result;
use crate::lifecycle::{Life, Scope, narrow};

impl Plan {
    /// Fetches what belongs to the documents of a collection, with what holds for each query (comment, time).
    pub(crate) fn fetch<'a>(
        &'a self,
        parents: &'a Target,
        documents: &'a [&'a RawDocument],
        options: &'a ReadOptions,
    ) -> BoxFuture<'a, Result<Shelf>> {
        Box::pin(async move {
            Ok(Shelf(match &self.0 {
                Node::Nothing => Kept::Nothing,
                Node::All(plans) => {
                    let mut shelves = Vec::with_capacity(plans.len());
                    for plan in plans {
                        shelves.push(plan.fetch(parents, documents, options).await?);
                    }
                    Kept::All(shelves)
                }
                Node::Inside { path, map, inner } => {
                    let mut embedded = Vec::new();
                    for document in documents {
                        inside(path.one(document)?, *map, &mut |value| {
                            embedded.extend(value.as_document());
                            Ok(())
                        })?;
                    }
                    Kept::Inside(Box::new(inner.fetch(parents, &embedded, options).await?))
                }
                Node::Forward(forward) => forward.fetch(parents, documents, options).await?,
                Node::Inverse(inverse) if inverse.counted => {
                    inverse.count(parents, documents, options).await?
                }
                Node::Inverse(inverse) => inverse.fetch(parents, documents, options).await?,
            }))
        })
    }
}

impl Plan {
    /// Fetches what belongs to the documents of a group.
    async fn fetch_into(&self, group: &mut Group, options: &ReadOptions) -> Result<()> {
        if !matches!(self.0, Node::Nothing) {
            let nested = self.fetch(&group.target, &group.documents(), options).await?;
            *group.nested = nested;
        }
        Ok(())
    }
}

/// Gives what is in an array, or a map's values.
pub(super) fn inside<'a>(
    value: Option<RawBsonRef<'a>>,
    map: bool,
    give: &mut dyn FnMut(RawBsonRef<'a>) -> Result<()>,
) -> Result<()> {
    match value {
        Some(RawBsonRef::Array(array)) if !map => elements(array, give),
        Some(RawBsonRef::Document(document)) if map => {
            for field in document {
                give(field.map_err(malformed)?.1)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

impl Forward {
    async fn fetch(
        &self,
        parents: &Target,
        documents: &[&RawDocument],
        options: &ReadOptions,
    ) -> Result<Kept> {
        let mut places: HashMap<Place, Keys> = HashMap::new();
        let mut order = Vec::new();
        for document in documents {
            self.path.each(document, &mut |value| {
                self.links.each(Some(value), &mut |pointer| {
                    let place = place(&pointer);
                    let keys = places.entry(place).or_insert_with_key(|place| {
                        order.push(place.clone());
                        Keys::default()
                    });
                    keys.add(pointer.key);
                    Ok(())
                })
            })?;
        }
        let mut groups = HashMap::new();
        for at in order {
            let keys = places.remove(&at).unwrap_or_default();
            groups.insert(at.clone(), self.group(parents, &at, keys, options).await?);
        }
        Ok(Kept::Forward(groups))
    }

    async fn group(&self, parents: &Target, at: &Place, keys: Keys, options: &ReadOptions) -> Result<Group> {
        let (database, named) = at;
        let aim = (self.aim)(named.as_deref())?;
        let collection = self.collection.as_deref().unwrap_or(&aim.collection);
        let target = (aim.open)(parents, database.as_deref(), collection)?;
        let mut group = Group::of_whole(target, self.projection.is_none());
        let key = self.key.text();
        let mut projection = self.projection()?;
        if key != "_id"
            && self.scope.life == Life::All
            && let Some(deleted) = group
                .target
                .plan()
                .and_then(|plan| plan.lifecycle.soft_delete_field())
        {
            // By which a living document is told from deleted ones with its key.
            projection = with_needed(projection, &[deleted.to_owned()])?;
        }
        for chunk in keys.chunks() {
            let count = (&chunk).into_iter().count();
            let filter = place::one(&key, rawdoc! { "$in": chunk })?;
            let mut find = find(&group.target, filter, projection.clone(), Some(count + 1));
            find.options = options.clone();
            read(find, self.scope, &mut group, |document, found| {
                found_at(self.key.one(document)?, found);
                Ok(())
            })
            .await?;
        }
        self.nested.fetch_into(&mut group, options).await?;
        Ok(group)
    }

    pub(super) fn projection(&self) -> Result<Option<RawDocumentBuf>> {
        let mut needed = Vec::from_iter(self.key.root().map(str::to_owned));
        self.nested.needs(&mut needed);
        with_needed(self.projection.clone(), &needed)
    }
}

/// What leaves only some of what refers for each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// Nothing: all are wanted.
    None,
    /// The query for the only key.
    OfOne,
    /// A pipeline for all keys.
    OfEach,
    /// What is read is cut.
    InMemory,
}

impl Inverse {
    async fn fetch(
        &self,
        parents: &Target,
        documents: &[&RawDocument],
        options: &ReadOptions,
    ) -> Result<Kept> {
        let keys = self.keys(documents)?;
        let target = (self.open)(parents, None, &self.collection)?;
        let mut group = Group::of_whole(target, self.projection.is_none());
        for chunk in keys.chunks() {
            match self.cut_by(&chunk) {
                Cut::None | Cut::OfOne | Cut::InMemory => {
                    self.fetch_all(parents, chunk, &mut group, options).await?
                }
                Cut::OfEach => self.fetch_some(parents, chunk, &mut group, options).await?,
            }
        }
        self.nested.fetch_into(&mut group, options).await?;
        Ok(Kept::Inverse(Box::new(group)))
    }

    /// What leaves only some for each of the keys.
    fn cut_by(&self, keys: &RawArrayBuf) -> Cut {
        let is_one = keys.into_iter().nth(1).is_none();
        let hold_text = hold_text(keys);
        if !self.is_cut() {
            Cut::None
        } else if self.is_loose() || (hold_text && self.collation.is_some()) {
            // What refers to something else is among what the backend finds.
            Cut::InMemory
        } else if is_one {
            Cut::OfOne
        } else if self.field.has_values() || self.embedded {
            // No index finds what is in a map's values, and no pipeline begins with embedded documents.
            Cut::InMemory
        } else if self.collation == self.parents_collation
            || (self.filter.is_none() && self.sort.is_none() && !hold_text)
        {
            Cut::OfEach
        } else {
            // A pipeline on the parents compares by their collation.
            Cut::InMemory
        }
    }

    /// All that refer, or those of a single parent: a find by the field that refers.
    async fn fetch_all(
        &self,
        parents: &Target,
        keys: RawArrayBuf,
        group: &mut Group,
        options: &ReadOptions,
    ) -> Result<()> {
        let filter = self.filter(parents, &keys)?;
        let mut find = find(&group.target, filter, self.projection()?, None);
        find.sort = self.sort.clone();
        find.options = options.clone();
        let cut = self.cut_by(&keys);
        if cut == Cut::OfOne {
            (find.skip, find.limit) = (self.skip, self.limit);
            find.options.collation = comparing::for_keys(&keys);
        }
        let wanted = wanted(&keys)?;
        let here = parents.namespace();
        read(find, self.scope, group, |document, found| {
            self.referred(document, here, &mut |key| {
                if wanted.contains(&Identity::of(key)) {
                    found(key, false);
                }
            })
        })
        .await?;
        if cut == Cut::InMemory {
            group.cut(&wanted, self.skip, self.limit);
        }
        Ok(())
    }

    /// Some for each parent: a `$lookup` from the parents, whose inner sort and limit an index on the field that
    /// refers and the sort's fields answers.
    async fn fetch_some(
        &self,
        parents: &Target,
        keys: RawArrayBuf,
        group: &mut Group,
        options: &ReadOptions,
    ) -> Result<()> {
        let mut options = options.clone();
        options.collation = comparing::for_keys(&keys);
        let by_key = place::one(&self.key.text(), rawdoc! { "$in": keys })?;
        let key = format!("${}", self.key.text());
        let mut pipeline = vec![
            rawdoc! { "$match": by_key },
            // Softly deleted documents, and those of other kinds, may have the same keys.
            rawdoc! { "$group": { "_id": key } },
        ];
        let (mut lookup, inner) = self.lookup("_id", INSIDE, parents, &group.target, true)?;
        refine(&mut lookup, inner);
        pipeline.push(rawdoc! { "$lookup": lookup });
        pipeline.push(rawdoc! { "$unwind": format!("${INSIDE}") });
        let answer = aggregate(parents, pipeline, &options);
        let target = group.target.clone();
        let mut cursor = parents.execute(answer).await.and_then(|answer| answer.cursor())?;
        while let Some(batch) = crate::cursor::next_batch(&target, "aggregate", &mut *cursor).await? {
            group.keep(batch, |document, found| {
                if let Some(key) = document.get("_id").map_err(malformed)? {
                    found(key, true);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// What a `$lookup` says that joins what refers to the value at `local`, and its own stages.
    pub(super) fn lookup(
        &self,
        local: &str,
        into: &str,
        parents: &Target,
        target: &Target,
        cuts: bool,
    ) -> Result<(RawDocumentBuf, Vec<RawDocumentBuf>)> {
        let mut inner = Vec::new();
        let mut conditions = self.conditions(parents.namespace())?;
        conditions.extend(scoped(target, self.scope)?);
        let conditions = and(conditions);
        if !conditions.is_empty() {
            inner.push(rawdoc! { "$match": conditions });
        }
        if let Some(sort) = &self.sort {
            inner.push(rawdoc! { "$sort": sort.clone() });
        }
        if cuts && self.skip > 0 {
            inner.push(rawdoc! { "$skip": i64::try_from(self.skip).unwrap_or(i64::MAX) });
        }
        if cuts && self.limit > 0 {
            inner.push(rawdoc! { "$limit": i64::try_from(self.limit).unwrap_or(i64::MAX) });
        }
        if let Some(projection) = self.projection()? {
            inner.push(rawdoc! { "$project": projection });
        }
        let lookup = rawdoc! {
            "from": self.collection.as_str(),
            "localField": local,
            "foreignField": self.foreign(),
            "as": into,
        };
        Ok((lookup, inner))
    }

    async fn count(
        &self,
        parents: &Target,
        documents: &[&RawDocument],
        options: &ReadOptions,
    ) -> Result<Kept> {
        let target = (self.open)(parents, None, &self.collection)?;
        let mut counts = HashMap::new();
        for chunk in self.keys(documents)?.chunks() {
            let wanted = wanted(&chunk)?;
            if self.is_loose() || (self.collation.is_some() && hold_text(&chunk)) {
                self.count_read(parents, &target, &chunk, options, &mut counts)
                    .await?;
                continue;
            }
            let mut options = options.clone();
            options.collation = comparing::for_keys(&chunk);
            let mut pipeline = vec![rawdoc! { "$match": self.filter(parents, &chunk)? }];
            let key: RawBson = match self.field.has_values() {
                true => self.field.collected(),
                false => format!("${}", self.foreign()).into(),
            };
            match self.links.single && self.field.is_plain() {
                true => pipeline.push(rawdoc! { "$group": { "_id": key, "n": { "$sum": 1 } } }),
                false => {
                    // A value that is no array is its own only element, and a key never is an array.
                    pipeline.push(rawdoc! { "$project": { "k": key } });
                    pipeline.extend([(); 3].map(|()| rawdoc! { "$unwind": "$k" }));
                    pipeline.push(rawdoc! { "$group": { "_id": { "k": "$k", "d": "$_id" } } });
                    pipeline.push(rawdoc! { "$group": { "_id": "$_id.k", "n": { "$sum": 1 } } });
                }
            }
            let answer = target
                .execute(seen(&target, aggregate(&target, pipeline, &options), self.scope)?)
                .await;
            let mut cursor = answer.and_then(|answer| answer.cursor())?;
            while let Some(batch) = crate::cursor::next_batch(&target, "aggregate", &mut *cursor).await? {
                for document in crate::cursor::documents(&target, "aggregate", &*batch) {
                    let document = document?;
                    let (key, count) = (document.get("_id"), document.get("n"));
                    let (Some(key), Some(count)) = (key.map_err(malformed)?, count.map_err(malformed)?)
                    else {
                        continue;
                    };
                    let count = count.as_i64().or(count.as_i32().map(i64::from)).unwrap_or(0);
                    let identity = Identity::of(key);
                    if wanted.contains(&identity) {
                        *counts.entry(identity).or_insert(0) += u64::try_from(count).unwrap_or(0);
                    }
                }
            }
        }
        Ok(Kept::Counts(counts))
    }

    /// Counts by reading what refers: where a group of the backend would take some keys for others.
    async fn count_read(
        &self,
        parents: &Target,
        target: &Target,
        keys: &RawArrayBuf,
        options: &ReadOptions,
        counts: &mut HashMap<Identity, u64>,
    ) -> Result<()> {
        let wanted = wanted(keys)?;
        let needed = Vec::from_iter(self.field.root().map(str::to_owned));
        let projection = with_needed(Some(rawdoc! { "_id": 0 }), &needed)?;
        let mut find = find(target, self.filter(parents, keys)?, projection, None);
        find.options = options.clone();
        let here = parents.namespace();
        let operation = seen(target, Operation::Find(find), self.scope)?;
        let mut cursor = target.execute(operation).await?.cursor()?;
        while let Some(batch) = crate::cursor::next_batch(target, "find", &mut *cursor).await? {
            for document in crate::cursor::documents(target, "find", &*batch) {
                self.referred(document?, here, &mut |key| {
                    let identity = Identity::of(key);
                    if wanted.contains(&identity) {
                        *counts.entry(identity).or_insert(0) += 1;
                    }
                })?;
            }
        }
        Ok(())
    }

    /// What references to the documents hold. To a document without a key nothing refers.
    fn keys(&self, documents: &[&RawDocument]) -> Result<Keys> {
        let mut keys = Keys::default();
        for document in documents {
            if let Some(key) = self.key.one(document)? {
                keys.add_reference(key);
            }
        }
        Ok(keys)
    }

    fn filter(&self, parents: &Target, keys: &RawArrayBuf) -> Result<RawDocumentBuf> {
        let refers = match self.field.has_values() {
            true => {
                let held = self.field.collected();
                let both = rawdoc! { "$setIntersection": [held, { "$literal": keys.clone() }] };
                rawdoc! { "$expr": { "$gt": [{ "$size": both }, 0] } }
            }
            false => place::one(&self.foreign(), rawdoc! { "$in": keys.clone() })?,
        };
        let mut conditions = vec![refers];
        conditions.extend(self.conditions(parents.namespace())?);
        Ok(and(conditions))
    }

    fn projection(&self) -> Result<Option<RawDocumentBuf>> {
        let mut needed = Vec::from_iter(self.field.root().map(str::to_owned));
        self.nested.needs(&mut needed);
        with_needed(self.projection.clone(), &needed)
    }

    /// The keys that a document refers to in the collection of the parents, each once.
    pub(super) fn referred(
        &self,
        document: &RawDocument,
        parents: &Namespace,
        give: &mut dyn FnMut(RawBsonRef<'_>),
    ) -> Result<()> {
        let mut seen = Vec::new();
        self.field.each(document, &mut |value| {
            self.links.each(Some(value), &mut |pointer| {
                let identity = Identity::of(pointer.key);
                if pointer.leads_to(parents) && !seen.contains(&identity) {
                    seen.push(identity);
                    give(pointer.key);
                }
                Ok(())
            })
        })
    }
}

/// The keys as what they are told apart by.
pub(super) fn wanted(keys: &RawArrayBuf) -> Result<std::collections::HashSet<Identity>> {
    let keys = keys
        .into_iter()
        .map(|key| key.map(Identity::of).map_err(malformed));
    keys.collect()
}

fn found_at(key: Option<RawBsonRef<'_>>, found: &mut dyn FnMut(RawBsonRef<'_>, bool)) {
    if let Some(key) = key {
        found(key, false);
    }
}

pub(super) fn find(
    target: &Target,
    filter: RawDocumentBuf,
    projection: Option<RawDocumentBuf>,
    at_most: Option<usize>,
) -> backend::Find {
    backend::Find {
        projection,
        batch_size: at_most.and_then(|count| u32::try_from(count).ok()),
        ..backend::Find::new(target.namespace().clone(), filter)
    }
}

/// The operation on the documents of the target's kind and of the scope alone.
pub(super) fn seen(target: &Target, mut operation: Operation, scope: Scope) -> Result<Operation> {
    if let Some(plan) = target.plan() {
        narrow(plan, &mut operation, scope)?;
    }
    Ok(operation)
}

pub(super) fn aggregate(target: &Target, pipeline: Vec<RawDocumentBuf>, options: &ReadOptions) -> Operation {
    Operation::Aggregate(backend::Aggregate {
        namespace: target.namespace().clone(),
        pipeline,
        batch_size: None,
        allow_disk_use: false,
        options: options.clone(),
    })
}

async fn read(
    find: backend::Find,
    scope: Scope,
    group: &mut Group,
    mut keys: impl FnMut(&RawDocument, &mut dyn FnMut(RawBsonRef<'_>, bool)) -> Result<()>,
) -> Result<()> {
    let target = group.target.clone();
    let operation = seen(&target, Operation::Find(find), scope)?;
    let mut cursor = target.execute(operation).await?.cursor()?;
    while let Some(batch) = crate::cursor::next_batch(&target, "find", &mut *cursor).await? {
        group.keep(batch, &mut keys)?;
    }
    Ok(())
}
