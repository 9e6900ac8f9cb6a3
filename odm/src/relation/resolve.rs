//! Asking related documents for their keys, so that a condition on them becomes a filter.

use bson::raw::cstr;
use bson::{Document, RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};
use futures_core::future::BoxFuture;

use super::comparing::hold_text;
use super::fetch::{aggregate, find, seen, wanted};
use super::identity::Identity;
use super::keys::Keys;
use super::link::Pointer;
use super::place::{self, Step};
use super::plan::{Inverse, Links, and, name};
use super::related::{Asked, Holder, Referred, Refers};
use super::sought::Sought;
use super::stored::malformed;
use crate::backend::{Operation, ReadOptions};
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{Life, Scope};
use crate::query::{self, is_by_distance};

/// About how many bytes of keys one filter takes, beside what else it says: MongoDB's limit of a document is 16 MiB.
const BYTES: usize = 15 << 20;

/// Of which collection a condition is asked, and how.
pub(crate) struct Asking<'a> {
    pub(crate) target: &'a Target,
    /// By what strings compare there; nothing for their bytes.
    pub(crate) collation: Option<Document>,
    /// Whether that is another one than the collection's own.
    pub(crate) is_stated: bool,
    /// What holds for each query: comment, time.
    pub(crate) options: &'a ReadOptions,
}

impl Asked {
    /// The condition with the keys of what it asks of related documents: one query for each part that does.
    pub(crate) fn resolve<'a>(&'a self, at: &'a Asking<'a>) -> BoxFuture<'a, Result<query::Node>> {
        Box::pin(async move {
            Ok(match self {
                Asked::Plain(node) => node.clone()?,
                Asked::All(parts) => {
                    let mut nodes = Vec::with_capacity(parts.len());
                    for part in parts {
                        match part.resolve(at).await? {
                            query::Node::Never => return Ok(query::Node::Never),
                            node => nodes.push(node),
                        }
                    }
                    query::Node::and(nodes)
                }
                Asked::Any(parts) => {
                    let mut nodes = Vec::with_capacity(parts.len());
                    for part in parts {
                        match part.resolve(at).await? {
                            query::Node::All => return Ok(query::Node::All),
                            node => nodes.push(node),
                        }
                    }
                    query::Node::or(nodes)
                }
                Asked::Not(asked) => asked.resolve(at).await?.not(),
                Asked::Refers(refers) => refers.resolve(at).await?,
                Asked::Referred(referred) => match &**referred {
                    Ok(referred) => referred.resolve(at).await?,
                    Err(error) => return Err(error.clone()),
                },
            })
        })
    }
}

impl Refers {
    async fn resolve(&self, at: &Asking<'_>) -> Result<query::Node> {
        let (steps, holder) = match (&self.steps, &self.holder) {
            (Ok(steps), Ok(holder)) => (steps, holder),
            (Err(error), _) | (_, Err(error)) => return Err(error.clone()),
        };
        let target = (self.open)(at.target, None, &self.collection)?;
        let asking = Asking {
            target: &target,
            collation: self.collation.clone(),
            is_stated: false,
            options: at.options,
        };
        let condition = self.condition.resolve(&asking).await?;
        if condition == query::Node::Never {
            return Ok(query::Node::Never);
        }
        let mut keys = self.keys(&target, condition.document(), at.options).await?;
        if keys.bytes() > BYTES {
            keys = self.held(at, steps, holder, keys).await?;
        }
        let keys = one_filter(keys).map_err(|error| error.with_path(self.path.as_str()))?;
        if keys.is_empty() {
            return Ok(query::Node::Never);
        }
        let node = self.node(at, steps, &keys)?;
        if at.collation.is_none() || !hold_text(&keys) {
            return Ok(node);
        }
        let wanted = wanted(&keys)?;
        let mut needed = Vec::new();
        needed.extend(holder.field.root());
        at.exactly(node, &needed, |document| {
            let mut meets = false;
            self.pointers(at, holder, document, &mut |key| {
                meets |= wanted.contains(&Identity::of(key));
                Ok(())
            })?;
            Ok(meets)
        })
        .await
    }

    /// What references to the documents that meet the condition hold.
    async fn keys(&self, target: &Target, condition: RawDocumentBuf, options: &ReadOptions) -> Result<Keys> {
        let plan = target.plan();
        let is_shared = self.key.text() != "_id"
            && self.scope.life == Life::All
            && plan.is_some_and(|plan| plan.lifecycle.soft_delete_field().is_some());
        if !is_shared {
            return self.keys_of(target, condition, self.scope, options).await;
        }
        // Of several documents with one key, references are to the living one.
        let mut keys = self
            .keys_of(target, condition.clone(), self.scope.of(Life::Living), options)
            .await?;
        let deleted = self
            .keys_of(target, condition, self.scope.of(Life::Deleted), options)
            .await?;
        let deleted = deleted.without(&keys);
        let mut living = Keys::default();
        for chunk in deleted.clone().chunks() {
            let among = place::one(&self.key.text(), rawdoc! { "$in": chunk })?;
            living.extend(
                self.keys_of(target, among, self.scope.of(Life::Living), options)
                    .await?,
            );
        }
        keys.extend(deleted.without(&living));
        Ok(keys)
    }

    async fn keys_of(
        &self,
        target: &Target,
        filter: RawDocumentBuf,
        scope: Scope,
        options: &ReadOptions,
    ) -> Result<Keys> {
        let mut keys = Keys::default();
        let projection = only(&[&self.key.text()])?;
        read(target, filter, projection, scope, options, |document| {
            match self.key.one(document)? {
                // An array is no key: in a field that refers it is a list.
                None | Some(RawBsonRef::Array(_)) => {}
                Some(key) => keys.add_reference(key),
            }
            Ok(())
        })
        .await?;
        Ok(keys)
    }

    /// Those of many keys to which something refers.
    async fn held(&self, at: &Asking<'_>, steps: &[Step], holder: &Holder, keys: Keys) -> Result<Keys> {
        let mut held = Keys::default();
        let root = holder.field.root().unwrap_or("_id");
        for chunk in keys.chunks() {
            let filter = self.node(at, steps, &chunk)?.document();
            let wanted = wanted(&chunk)?;
            let projection = only(&[root])?;
            read(
                at.target,
                filter,
                projection,
                Scope::ALL,
                at.options,
                |document| {
                    self.pointers(at, holder, document, &mut |key| {
                        if wanted.contains(&Identity::of(key)) {
                            held.add(key);
                        }
                        Ok(())
                    })
                },
            )
            .await?;
        }
        Ok(held)
    }

    /// Gives the keys of a stored document's references to the collection.
    fn pointers(
        &self,
        at: &Asking<'_>,
        holder: &Holder,
        document: &RawDocument,
        give: &mut dyn FnMut(RawBsonRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let there = at.target.namespace().beside(&self.collection);
        let is_there = |pointer: &Pointer<'_>| !self.named || pointer.leads_to(&there);
        holder.each(document, &mut |pointer| match is_there(&pointer) {
            true => give(pointer.key),
            false => Ok(()),
        })
    }

    /// The condition that one of the references is to one of the keys.
    fn node(&self, at: &Asking<'_>, steps: &[Step], keys: &RawArrayBuf) -> Result<query::Node> {
        let needs_expressions = place::needs_expressions(steps);
        let needs_all = needs_expressions || (self.named && steps.contains(&Step::Each));
        if needs_all && self.has_position {
            let message = "a position in an array, beside arrays in arrays, a map's values or references in lists that \
                           name their collection, is not searched for related documents";
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_path(self.path.as_str()));
        }
        if !self.named && !needs_expressions {
            return query::Node::one_of(&place::names(steps).join("."), values(keys)?);
        }
        let there = at.target.namespace().beside(&self.collection);
        let sought = Sought::to(keys.clone(), self.named, &there);
        expression(place::referring(steps, &sought)?)
    }
}

impl Holder {
    fn each(&self, document: &RawDocument, give: &mut dyn FnMut(Pointer<'_>) -> Result<()>) -> Result<()> {
        let links: &Links = &self.links;
        self.field
            .each(document, &mut |value| links.each(Some(value), give))
    }
}

impl Referred {
    async fn resolve(&self, at: &Asking<'_>) -> Result<query::Node> {
        let inverse = &self.inverse;
        let target = (inverse.open)(at.target, None, &inverse.collection)?;
        let asking = Asking {
            target: &target,
            collation: inverse.collation.clone(),
            is_stated: false,
            options: at.options,
        };
        let condition = self.condition.resolve(&asking).await?;
        if condition == query::Node::Never {
            return Ok(query::Node::Never);
        }
        let mut conditions = inverse.conditions(at.target.namespace())?;
        conditions.extend(Some(condition.document()).filter(|condition| !condition.is_empty()));
        let keys = held_by(inverse, at, &target, and(conditions)).await?;
        let path = inverse.key.text();
        let keys = one_filter(keys).map_err(|error| error.with_path(inverse.field.shown()))?;
        if keys.is_empty() {
            return Ok(query::Node::Never);
        }
        let node = query::Node::one_of(&path, values(&keys)?)?;
        if at.collation.is_none() || !hold_text(&keys) {
            return Ok(node);
        }
        let wanted = wanted(&keys)?;
        at.exactly(node, &[&path], |document| {
            let key = inverse.key.one(document)?;
            Ok(key.is_some_and(|key| wanted.contains(&Identity::of(key))))
        })
        .await
    }
}

/// What the documents hold that meet the condition and refer.
async fn held_by(
    inverse: &Inverse,
    at: &Asking<'_>,
    target: &Target,
    filter: RawDocumentBuf,
) -> Result<Keys> {
    let mut keys = Keys::default();
    if inverse.is_loose() || inverse.collation.is_some() || is_by_distance(&filter) {
        // A group would take some keys for others, or refuses the order.
        let here = at.target.namespace();
        let projection = only(&[inverse.field.root().unwrap_or("_id")])?;
        read(
            target,
            filter,
            projection,
            inverse.scope,
            at.options,
            |document| inverse.referred(document, here, &mut |key| keys.add_reference(key)),
        )
        .await?;
        return Ok(keys);
    }
    let mut pipeline = vec![rawdoc! { "$match": filter }];
    let key: RawBson = match inverse.field.has_values() {
        true => inverse.field.collected(),
        false => format!("${}", inverse.foreign()).into(),
    };
    pipeline.push(rawdoc! { "$project": { "k": key } });
    // A value that is no array is its own only element, and a key never is an array.
    pipeline.extend([(); 3].map(|()| rawdoc! { "$unwind": "$k" }));
    pipeline.push(rawdoc! { "$group": { "_id": "$k" } });
    let mut operation = aggregate(target, pipeline, at.options);
    if let Operation::Aggregate(aggregate) = &mut operation {
        aggregate.allow_disk_use = true;
    }
    each(target, "aggregate", operation, inverse.scope, |document| {
        if let Some(key) = document.get("_id").map_err(malformed)? {
            keys.add_reference(key);
        }
        Ok(())
    })
    .await?;
    Ok(keys)
}

impl Asking<'_> {
    /// The condition by the `_id`s of the documents that meet it, where the collation takes some keys for others.
    async fn exactly(
        &self,
        node: query::Node,
        needed: &[&str],
        meets: impl Fn(&RawDocument) -> Result<bool>,
    ) -> Result<query::Node> {
        let mut ids = Keys::default();
        let mut fields = vec!["_id"];
        fields.extend(needed.iter().filter(|name| **name != "_id"));
        let filter = node.document();
        let projection = only(&fields)?;
        read(
            self.target,
            filter,
            projection,
            Scope::ALL,
            self.options,
            |document| {
                if meets(document)?
                    && let Some(id) = document.get("_id").map_err(malformed)?
                {
                    ids.add(id);
                }
                Ok(())
            },
        )
        .await?;
        let ids = one_filter(ids)?;
        if ids.is_empty() {
            return Ok(query::Node::Never);
        }
        if self.is_stated && hold_text(&ids) {
            let message = "related documents with keys that hold strings cannot be asked with a collation of the action";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        query::Node::one_of("_id", values(&ids)?)
    }
}

/// The keys as one array.
///
/// # Errors
/// `InvalidArgument` when one filter does not hold them.
fn one_filter(keys: Keys) -> Result<RawArrayBuf> {
    if keys.bytes() > BYTES {
        let message =
            "the keys of the related documents are more than one filter holds (16 MiB); ask by a pipeline";
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    Ok(keys.into_array())
}

fn values(keys: &RawArrayBuf) -> Result<Vec<RawBson>> {
    let keys = keys.into_iter();
    keys.map(|key| key.map(RawBson::from).map_err(malformed))
        .collect()
}

fn expression(filter: RawDocumentBuf) -> Result<query::Node> {
    match filter.get("$expr").map_err(malformed)? {
        Some(value) => Ok(query::Node::Operator {
            name: cstr!("$expr"),
            value: value.into(),
        }),
        None => Ok(query::Node::Raw(filter)),
    }
}

/// The projection that leaves these fields alone.
fn only(fields: &[&str]) -> Result<RawDocumentBuf> {
    let mut projection = RawDocumentBuf::new();
    for field in fields {
        projection.append(name(field)?, 1);
    }
    if !fields.contains(&"_id") {
        projection.append(cstr!("_id"), 0);
    }
    Ok(projection)
}

async fn read(
    target: &Target,
    filter: RawDocumentBuf,
    projection: RawDocumentBuf,
    scope: Scope,
    options: &ReadOptions,
    give: impl FnMut(&RawDocument) -> Result<()>,
) -> Result<()> {
    let mut find = find(target, filter, Some(projection), None);
    find.options = options.clone();
    each(target, "find", Operation::Find(find), scope, give).await
}

/// Gives the documents that an operation answers with.
async fn each(
    target: &Target,
    called: &'static str,
    operation: Operation,
    scope: Scope,
    mut give: impl FnMut(&RawDocument) -> Result<()>,
) -> Result<()> {
    let operation = seen(target, operation, scope)?;
    let mut cursor = target.execute(operation).await?.cursor()?;
    while let Some(batch) = crate::cursor::next_batch(target, called, &mut *cursor).await? {
        for document in crate::cursor::documents(target, called, &*batch) {
            give(document?).map_err(|error| target.explain(error, called))?;
        }
    }
    Ok(())
}
