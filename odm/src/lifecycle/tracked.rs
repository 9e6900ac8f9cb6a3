//! Documents that know what they were when they were loaded.

mod alike;
mod difference;
mod edit;
mod elements;
mod guard;
mod number;

use std::fmt;
use std::ops::{Deref, DerefMut};

use bson::{RawDocument, RawDocumentBuf};

use self::difference::Difference;
use self::edit::Seen;
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
use crate::model::{Model, Path};
use crate::query::update::{Action, Change, Form};

const CHANGED: &str = "the document was changed since it was loaded";

const APART: &str = "what was changed is a part of something that others took out, or made another kind of, since the \
                     document was loaded";

const CONTRARY: &str = "the field was changed since the document was loaded, and both changes cannot be kept";

/// How often a merged change is tried. Each time somebody else was faster.
const ATTEMPTS: usize = 100;

const GONE: &str = "the document is gone";

const OTHER_VERSION: &str = "the document is of another version";

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
    /// What was stored, where that is something else and has arrays whose elements are saved one by one: these stay as
    /// they are stored, and are taken out as they are.
    stored: Option<RawDocumentBuf>,
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
        let present = upgraded.as_deref().unwrap_or(stored);
        let is_other = present.as_bytes() != loaded.as_bytes() && M::declared().saves_elements();
        Ok(Tracked {
            value,
            stored: is_other.then(|| present.to_owned()),
            loaded,
            outdated: upgraded.map(|upgraded| Box::new((stored.to_owned(), upgraded))),
        })
    }

    /// Whether something was changed since loading.
    ///
    /// # Errors
    /// `Encode` when the value does not fit BSON.
    pub fn is_changed(&self) -> Result<bool> {
        Ok(!self.difference()?.is_empty())
    }

    /// Stores what was changed: one update of the changed fields by their dotted paths, whose siblings stay as they
    /// are. How arrays and numbers change is the field's `#[odm(save = ..)]`. Gives `false`, without a round trip,
    /// when nothing was changed.
    ///
    /// The document comes back as it is stored then, with what others changed in the meantime. With a version field
    /// the document must still be the one that was loaded. A part of a nested document is stored if the nested document
    /// is still there, and the same variant. A softly deleted document is saved as it is, if it was one when it was
    /// loaded.
    ///
    /// A document of an older schema version is stored in the present shape first, if it is still what was loaded.
    ///
    /// Cost: one round trip; one more when the document was not found, was of an older schema version, or is changed
    /// again by what follows its change (derived fields, copies that come back to it); two more for each time that
    /// somebody else changed what is merged meanwhile: see the guide. A document that is stored otherwise than the model
    /// stores it is kept beside the loaded one where the model has fields with `save = push` or `add_to_set`; where
    /// elements of a set were taken out of it, those that differ are read by themselves to find out which they are.
    ///
    /// # Errors
    /// `Conflict` when the model has versions and the document was changed since it was loaded, it had an older
    /// schema version and was, or its changes and ours cannot both be kept, with the path of the field; the error
    /// carries [`current`](Error::current). `NotFound` when it is gone. `Validation` before any round trip.
    /// `InvalidArgument` for a changed `_id`, date of the document's life or version, and for a changed field of the
    /// document itself that no path leads to.
    pub async fn save(&mut self, collection: &Collection<M>) -> Result<bool> {
        let saved = self.save_changes(collection).await;
        saved.map_err(|error| self.located(error, collection))
    }

    /// As [`save`](Tracked::save), of the document in this version and in no other: for a version that came back from
    /// outside, as in the `If-Match` of a request.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Debug, Serialize, Deserialize, odm::Model)]
    /// # struct Page {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     text: String,
    /// #     #[odm(version)]
    /// #     version: i64,
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let pages = odm::Db::open("memory:").await?.collection::<Page>();
    /// # pages.insert(Page { id: 1, text: "a".into(), version: 0 }).await?;
    /// # pages.update_one(|p| p.id.eq(1), |p| p.text.set("b")).await?;
    /// let mut page = pages.get(1).tracked().required().await?;
    /// page.text = "mine".to_owned();
    /// let seen_by_the_client = 0;
    /// assert!(page.save_if(seen_by_the_client, &pages).await.unwrap_err().is_conflict());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`save`](Tracked::save); `Conflict`, without a round trip, when the document was loaded in another version,
    /// with what was loaded as the [`current`](Error::current) document; `InvalidArgument` for a model without versions.
    pub async fn save_if(&mut self, version: i64, collection: &Collection<M>) -> Result<bool> {
        let loaded = M::LIFECYCLE.version.map(|name| self.loaded_version(name));
        let error = match loaded {
            Some(loaded) if loaded == version => return self.save(collection).await,
            Some(_) => conflict(OTHER_VERSION, self.loaded.clone()),
            None => Error::new(ErrorKind::InvalidArgument, "the model has no versions"),
        };
        Err(self.located(error, collection))
    }

    /// The error with the document and what else is known of where it happened.
    fn located(&self, error: Error, collection: &Collection<M>) -> Error {
        let error = match error.id() {
            None => with_id(error, &self.loaded),
            Some(_) => error,
        };
        collection.target().explain(error, "findAndModify")
    }

    fn loaded_version(&self, name: &str) -> i64 {
        document::integer(&self.loaded, name).unwrap_or(0)
    }

    async fn save_changes(&mut self, collection: &Collection<M>) -> Result<bool> {
        let target = collection.target();
        let difference = self.difference()?;
        if difference.is_empty() {
            target.executor().check_running()?;
            return Ok(false);
        }
        difference.check()?;
        let by_id = encode::by_id_of(&self.loaded)?;
        if let Some(outdated) = &self.outdated {
            let (stored, upgraded) = &**outdated;
            if !migrate_one(target, stored, upgraded.clone()).await? {
                let error = self.missed(target, &by_id).await?;
                return Err(target.explain(error, "update"));
            }
            self.outdated = None;
        }
        let mut filter = by_id.clone();
        if let Some(version) = M::LIFECYCLE.version {
            let loaded = self.loaded_version(version);
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
        match self.store(target, &filter, difference).await? {
            Some(stored) => {
                *self = Tracked::decode(&stored)?;
                Ok(true)
            }
            None => Err(self.missed(target, &by_id).await?),
        }
    }

    /// Why the document was not found as it was loaded.
    async fn missed(&self, target: &Target, by_id: &RawDocumentBuf) -> Result<Error> {
        Ok(match find_one(target, by_id).await? {
            Some(stored) => {
                let versions = M::LIFECYCLE.versions;
                let newer = versions.and_then(|versions| versions.refusal(&stored));
                newer.unwrap_or_else(|| conflict(CHANGED, stored))
            }
            None => Error::new(ErrorKind::NotFound, GONE),
        })
    }

    /// Makes the changes of the document that matches the filter, and gives it as it is then.
    async fn store(
        &self,
        target: &Target,
        filter: &RawDocumentBuf,
        difference: Difference,
    ) -> Result<Option<RawDocumentBuf>> {
        let scope = self.scope();
        let was = self.stored.as_deref().unwrap_or(&self.loaded);
        let mut seen = self.stored.as_ref().map(|stored| Seen {
            stored: stored.clone(),
            encoded: self.loaded.clone(),
            encode: encoded::<M>,
        });
        for _ in 0..ATTEMPTS {
            let mut changes = Vec::with_capacity(difference.edits.len());
            let mut conditions = Vec::new();
            let mut wholes: Vec<&str> = Vec::new();
            for guard in &difference.guards {
                if let Some(seen) = &seen
                    && !guard.holds(&seen.stored)
                {
                    let whole = guard.to_store(&self.loaded, &seen.stored, &seen.encoded);
                    wholes.push(whole.ok_or_else(|| {
                        conflict(APART, seen.stored.clone()).with_path(guard.path.as_str())
                    })?);
                }
            }
            let is_in_whole = |path: &str| wholes.iter().any(|whole| guard::is_in(path, whole));
            let guards = difference.guards.iter();
            for guard in guards.filter(|guard| !is_in_whole(&guard.path)) {
                conditions.push(guard.condition());
            }
            for (place, whole) in wholes.iter().enumerate() {
                let mut others = wholes.iter().enumerate();
                let is_stored = others
                    .any(|(other, outer)| guard::is_in(whole, outer) && (whole != outer || other < place));
                if let (Some(seen), false) = (&seen, is_stored) {
                    conditions.push(guard::is_still(whole, guard::value_at(&seen.stored, whole)));
                    let value = guard::value_at(&difference.new, whole);
                    let action = value.map_or(Action::Unset, |value| Action::Set(value.into()));
                    changes.push(difference.change(whole, action));
                }
            }
            let edits = difference.edits.iter();
            for edit in edits.filter(|edit| !is_in_whole(&edit.path)) {
                let (action, condition) = match &seen {
                    None => edit.first(),
                    Some(seen) => edit.again(seen, was)?.ok_or_else(|| {
                        conflict(CONTRARY, seen.stored.clone()).with_path(edit.path.as_str())
                    })?,
                };
                changes.push(difference.change(&edit.path, action));
                conditions.extend(condition);
            }
            let is_plain = conditions.is_empty();
            let exact = match is_plain {
                true => filter.clone(),
                false => document::narrowed(filter, &guard::all(conditions))?,
            };
            let (operation, of_variants) = update::<M>(target, exact, changes, scope)?;
            let settings = Settings {
                of_variants,
                gives_model: true,
                ..Settings::default()
            };
            let answer = target.write(operation, settings).await?;
            if let Some(stored) = answer.document()? {
                return Ok(Some(stored));
            }
            if is_plain {
                return Ok(None);
            }
            // Somebody else was faster, or it is stored otherwise than the model stores it.
            let mut find = Operation::Find(backend::Find {
                limit: 1,
                ..backend::Find::new(target.namespace().clone(), filter.clone())
            });
            if let Some(plan) = Plan::of::<M>() {
                narrow(plan, &mut find, scope)?;
            }
            let cursor = target.execute(find).await?.cursor()?;
            let Some(stored) = cursor::first(target, "find", cursor, |found| Ok(found.to_owned())).await?
            else {
                return Ok(None);
            };
            seen = Some(Seen {
                encoded: encoded::<M>(&stored)?,
                stored,
                encode: encoded::<M>,
            });
        }
        Ok(None)
    }

    /// The living, unless the document was loaded as a deleted one.
    fn scope(&self) -> Scope {
        let deleted = M::LIFECYCLE.soft_delete_field();
        let date = deleted.and_then(|name| self.loaded.get(name).ok().flatten());
        match date {
            None | Some(bson::RawBsonRef::Null) => Scope::LIVING,
            Some(_) => Scope::ALL,
        }
    }

    /// The document itself.
    pub fn into_inner(self) -> M {
        self.value
    }

    fn difference(&self) -> Result<Difference> {
        let encoded = codec::encode_document(&self.value)?;
        let lifecycle = &M::LIFECYCLE;
        let own = [
            lifecycle.created_name(),
            lifecycle.updated_name(),
            lifecycle.version,
        ];
        let own = own.into_iter().flatten().collect();
        Difference::of(M::declared(), &self.loaded, encoded, own)
    }
}

/// A stored document as the model would store it.
fn encoded<M: Model>(stored: &RawDocument) -> Result<RawDocumentBuf> {
    codec::encode_document(&<M as Record>::decode(stored)?)
}

/// The operation that makes the changes, and gives the document as it is then; with the paths that name variants.
fn update<M: Model>(
    target: &Target,
    filter: RawDocumentBuf,
    changes: Vec<Change>,
    scope: Scope,
) -> Result<(Operation, Vec<(usize, Path)>)> {
    let form = Form::Changes {
        changes,
        array_filters: Vec::new(),
    };
    let built = form.build()?;
    let of_variants = built.of_variants.into_iter().map(|path| (0, path)).collect();
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
        narrow(plan, &mut operation, scope)?;
    }
    Ok((operation, of_variants))
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
