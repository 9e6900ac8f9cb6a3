//! Documents that know what they were when they were loaded.

mod contested;
mod difference;

use std::fmt;
use std::ops::{Deref, DerefMut};

use bson::{RawDocument, RawDocumentBuf};

use self::difference::Difference;
use super::pipeline::{conflict, find_one};
use super::plan::Plan;
use super::scope::{Scope, Settings};
use super::versions::with_id;
use super::{document, narrow};
use crate::action::migrate_one;
use crate::backend::{self, Operation, ReadOptions};
use crate::codec;
use crate::collection::{Collection, Record, Target, encode};
use crate::cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::query::update::{Action, Change, Form};

const CHANGED: &str = "the document was changed since it was loaded";

/// How often a merged change is tried. Each time somebody else was faster.
const ATTEMPTS: usize = 100;

const GONE: &str = "the document is gone";

/// A document that was loaded with [`tracked`](crate::action::FindOne::tracked): it derefs to the model, and
/// [`save`](Tracked::save) sends only what was changed since.
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Debug, Serialize, Deserialize, odm::Model)]
/// # struct Book {
/// #     #[serde(rename = "_id")]
/// #     id: i32,
/// #     title: String,
/// #     lent: i32,
/// # }
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// # let books = odm::Db::open("memory:").await?.collection::<Book>();
/// # books.insert(Book { id: 1, title: "Emma".into(), lent: 0 }).await?;
/// let mut book = books.get(1).tracked().required().await?;
/// books.update_one(|b| b.id.eq(1), |b| b.lent.inc(1)).await?; // somebody else
/// book.title = "Emma, or: ..".to_owned();
/// book.save(&books).await?;
/// assert_eq!(book.lent, 1);
/// # Ok(())
/// # }
/// ```
pub struct Tracked<M> {
    value: M,
    /// The value as it would be stored, when it was loaded. Not what was stored: fields that the model does not
    /// know are none of its business.
    loaded: RawDocumentBuf,
    /// What was stored in an older shape, and what it becomes.
    outdated: Option<Box<(RawDocumentBuf, RawDocumentBuf)>>,
}

impl<M: Model> Tracked<M> {
    pub(crate) fn decode(stored: &RawDocument) -> Result<Tracked<M>> {
        let value = <M as Record>::decode(stored)?;
        let loaded = codec::encode_document(&value)?;
        let upgraded = match M::LIFECYCLE.versions {
            Some(versions) => versions.upgraded(stored)?,
            None => None,
        };
        Ok(Tracked {
            value,
            loaded,
            outdated: upgraded.map(|upgraded| Box::new((stored.to_owned(), upgraded))),
        })
    }

    /// Whether something was changed since loading.
    ///
    /// # Errors
    /// `Encode` when the value does not fit BSON.
    pub fn is_changed(&self) -> Result<bool> {
        let (difference, _) = self.difference()?;
        Ok(!difference.is_empty())
    }

    /// Stores what was changed: one update of the changed fields by their dotted paths, whose siblings stay as they
    /// are. How arrays and numbers change is the field's `#[odm(save = ..)]`. Gives `false`, without a round trip,
    /// when nothing was changed.
    ///
    /// The document comes back as it is stored then, with what others changed in the meantime. With a version field
    /// the document must still be the one that was loaded.
    ///
    /// A document of an older schema version is stored in the present shape first, if it is still what was loaded.
    ///
    /// Cost: one round trip; one more when the document was not found, was of an older schema version, or is changed
    /// again by what follows its change (derived fields, copies that come back to it); two more for each time that
    /// somebody else changed what is merged meanwhile: a set that lost and gained, a map with keys that are no paths.
    ///
    /// # Errors
    /// `Conflict` when the model has versions and the document was changed since it was loaded, or it had an older
    /// schema version and was; the error carries
    /// [`current`](Error::current). `NotFound` when it is gone. `Validation` before any round trip. `InvalidArgument` for
    /// a changed field of the document itself that no path leads to.
    pub async fn save(&mut self, collection: &Collection<M>) -> Result<bool> {
        let target = collection.target();
        let (difference, encoded) = self
            .difference()
            .map_err(|error| target.explain(error, "findAndModify"))?;
        if difference.is_empty() {
            target.executor().check_running()?;
            return Ok(false);
        }
        let by_id = encode::by_id_of(&self.loaded)?;
        if by_id != encode::by_id_of(&encoded)? {
            let error = Error::new(
                ErrorKind::InvalidArgument,
                "the `_id` of a document cannot change",
            );
            return Err(target.explain(error.with_path("_id"), "findAndModify"));
        }
        difference
            .check()
            .map_err(|error| target.explain(error, "findAndModify"))?;
        if let Some(outdated) = &self.outdated {
            let (stored, upgraded) = &**outdated;
            if !migrate_one(target, stored, upgraded.clone()).await? {
                let error = match find_one(target, &by_id).await? {
                    Some(stored) => conflict(CHANGED, stored),
                    None => with_id(Error::new(ErrorKind::NotFound, GONE), &self.loaded),
                };
                return Err(target.explain(error, "update"));
            }
            self.outdated = None;
        }
        let mut filter = by_id.clone();
        if let Some(version) = M::LIFECYCLE.version {
            let loaded = document::integer(&self.loaded, version).unwrap_or(0);
            let mut condition = RawDocumentBuf::new();
            match loaded {
                0 => {
                    let mut either = bson::RawArrayBuf::new();
                    either.push(0);
                    either.push(bson::RawBson::Null);
                    let any = document::single(bson::cstr!("$in"), either);
                    condition.append(document::key(version)?, any);
                }
                loaded => condition.append(document::key(version)?, loaded),
            }
            filter = document::narrowed(&filter, &condition)?;
        }
        if let Some(stored) = self.store(target, &filter, difference).await? {
            *self = Tracked::decode(&stored).map_err(|error| target.explain(error, "findAndModify"))?;
            return Ok(true);
        }
        let error = match find_one(target, &by_id).await? {
            Some(stored) => conflict(CHANGED, stored),
            None => with_id(Error::new(ErrorKind::NotFound, GONE), &self.loaded),
        };
        Err(target.explain(error, "findAndModify"))
    }

    /// Makes the changes of the document that matches the filter, and gives it as it is then.
    async fn store(
        &self,
        target: &Target,
        filter: &RawDocumentBuf,
        difference: Difference,
    ) -> Result<Option<RawDocumentBuf>> {
        let mut seen: Option<(RawDocumentBuf, RawDocumentBuf)> = None;
        for _ in 0..ATTEMPTS {
            let mut changes = difference.changes.clone();
            let mut exact = filter.clone();
            for contested in &difference.contested {
                let (value, condition) = match &seen {
                    None => contested.expected()?,
                    Some((stored, encoded)) => contested.merged(stored, encoded)?,
                };
                changes.push(difference::change(contested.path.clone(), Action::Set(value)));
                exact = document::narrowed(&exact, &condition)?;
            }
            let operation = update::<M>(target, exact, changes)?;
            let answer = target.write(operation, Settings::default()).await?;
            if let Some(stored) = answer.document()? {
                return Ok(Some(stored));
            }
            if difference.contested.is_empty() {
                return Ok(None);
            }
            // Somebody else was faster, or it is stored otherwise than the model stores it.
            let mut find = Operation::Find(backend::Find {
                limit: 1,
                ..backend::Find::new(target.namespace().clone(), filter.clone())
            });
            if let Some(plan) = Plan::of::<M>() {
                narrow(plan, &mut find, Scope::Living)?;
            }
            let cursor = target.execute(find).await?.cursor()?;
            let Some(stored) = cursor::first(target, "find", cursor, |found| Ok(found.to_owned())).await?
            else {
                return Ok(None);
            };
            let value =
                <M as Record>::decode(&stored).map_err(|error| target.explain(error, "findAndModify"))?;
            seen = Some((stored, codec::encode_document(&value)?));
        }
        Ok(None)
    }

    /// The document itself.
    pub fn into_inner(self) -> M {
        self.value
    }

    fn difference(&self) -> Result<(Difference, RawDocumentBuf)> {
        let encoded = codec::encode_document(&self.value)?;
        let lifecycle = &M::LIFECYCLE;
        let kept = [
            lifecycle.created.map(|stamp| stamp.name),
            lifecycle.updated.map(|stamp| stamp.name),
            lifecycle.version,
        ];
        let difference = Difference::of(M::declared(), &self.loaded, &encoded, &kept)?;
        Ok((difference, encoded))
    }
}

/// The operation that makes the changes, and gives the document as it is then.
fn update<M: Model>(target: &Target, filter: RawDocumentBuf, changes: Vec<Change>) -> Result<Operation> {
    let form = Form::Changes {
        changes,
        array_filters: Vec::new(),
    };
    let built = form.build()?;
    let mut operation = Operation::FindAndModify(backend::FindAndModify {
        namespace: target.namespace().clone(),
        filter,
        sort: None,
        projection: None,
        modification: Some(built.modification),
        return_new: true,
        upsert: false,
        array_filters: built.array_filters,
        options: ReadOptions::default(),
    });
    if let Some(plan) = Plan::of::<M>() {
        narrow(plan, &mut operation, Scope::Living)?;
    }
    Ok(operation)
}

impl<M> Deref for Tracked<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.value
    }
}

impl<M> DerefMut for Tracked<M> {
    fn deref_mut(&mut self) -> &mut M {
        &mut self.value
    }
}

impl<M: fmt::Debug> fmt::Debug for Tracked<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tracked").field(&self.value).finish()
    }
}
