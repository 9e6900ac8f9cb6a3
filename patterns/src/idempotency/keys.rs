//! The keys.

use std::time::Duration;

use odm::backend::TransactionOptions;
use odm::bson::oid::ObjectId;
use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Collection, Db, Error, ErrorKind, Model, Result, Tx, Update};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fingerprint::fingerprint;
use super::permit::Permit;
use super::record::{KeyId, KeyRecord};
use crate::later::later;

/// How often a key is looked at again when others change it at the same time.
const TRIES: usize = 5;

/// The idempotency keys of a database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Keys {
    pub(super) db: Db,
    pub(super) collection: Collection<KeyRecord>,
    pub(super) lease: Duration,
    pub(super) keep: Duration,
}

/// What there is to do for a key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Begin<T, E> {
    /// Nobody has done it: do it, and store the result.
    Fresh(Permit),
    /// Somebody is at it.
    InProgress {
        /// When the lease is over.
        until: DateTime,
    },
    /// It was done: this is what came of it.
    Replay(Result<T, E>),
    /// The key is that of another request.
    Mismatch,
}

/// What came of [`Keys::run`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Ran<T, E> {
    /// It was done, or refused, just now.
    Now(Result<T, E>),
    /// It was done, or refused, before.
    Replayed(Result<T, E>),
    /// Somebody has a permit of [`Keys::begin`] for it. Of several `run`s none sees another so: they wait for its
    /// transaction.
    InProgress {
        /// When the lease is over.
        until: DateTime,
    },
    /// The key is that of another request.
    Mismatch,
}

impl Keys {
    /// The keys in the collection `idempotency_keys`. Run [`sync_indexes`](Keys::sync_indexes) once, or they stay for
    /// ever.
    pub fn new(db: &Db) -> Keys {
        Keys {
            db: db.clone(),
            collection: db.collection(),
            lease: Duration::from_secs(60),
            keep: Duration::from_secs(24 * 3600),
        }
    }

    /// How long a permit lasts: 60 seconds unless said otherwise.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Keys {
        self.lease = lease;
        self
    }

    /// How long a result is kept: 24 hours unless said otherwise, and never shorter than a lease.
    #[must_use]
    pub fn keep(mut self, keep: Duration) -> Keys {
        self.keep = keep;
        self
    }

    /// The same keys through another handle of the database, such as a transaction. They stay in their own database,
    /// whichever the transaction was begun on: see [`Db::through`].
    #[must_use]
    pub fn on(&self, db: &Db) -> Keys {
        let db = self.db.through(db);
        Keys {
            collection: db.collection_named(self.collection.name()),
            db,
            ..self.clone()
        }
    }

    /// Builds the index by which old keys are deleted.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn sync_indexes(&self) -> Result<()> {
        self.collection.sync_indexes().await.map(drop)
    }

    /// Asks what there is to do for a key, and gets a permit when it is fresh. `T` and `E` are the types of the result.
    ///
    /// Cost: 1 round trip; 2 when a lease that is over, or a result that should be forgotten, is taken over.
    ///
    /// # Errors
    /// `Encode` for a request, and `Decode` for a stored result, of another type; `Conflict` when others kept changing
    /// the key.
    pub async fn begin<T: DeserializeOwned, E: DeserializeOwned>(
        &self,
        scope: &str,
        key: &str,
        request: &impl Serialize,
    ) -> Result<Begin<T, E>> {
        self.enter(scope, key, request, None).await
    }

    /// Begins a key, or stores a result under it in the same write, unless somebody has it.
    async fn enter<T: DeserializeOwned, E: DeserializeOwned>(
        &self,
        scope: &str,
        key: &str,
        request: &impl Serialize,
        result: Option<&Document>,
    ) -> Result<Begin<T, E>> {
        let fingerprint = fingerprint(request)?;
        let id = KeyId {
            scope: scope.to_owned(),
            key: key.to_owned(),
        };
        for _ in 0..TRIES {
            let permit = ObjectId::new();
            let fresh = |token| self.fresh(&fingerprint, permit, token, result);
            let found = match self.insert(&id, fresh(1)).await {
                // Another one inserted it at the same time.
                Err(error) if error.is_duplicate_key() => continue,
                found => found?,
            };
            let Some(found) = found else {
                return Ok(Begin::Fresh(self.permit(id, permit, 1)));
            };
            let now = self.db.now();
            let is_forgotten = found.expires <= now;
            if !is_forgotten {
                if found.fingerprint != fingerprint {
                    return Ok(Begin::Mismatch);
                }
                if let Some(result) = found.result {
                    return Ok(Begin::Replay(decoded(result)?));
                }
                if found.until > now {
                    return Ok(Begin::InProgress { until: found.until });
                }
            }
            let token = found.token + 1;
            if self.take_over(&found, fresh(token)).await? {
                return Ok(Begin::Fresh(self.permit(id, permit, token)));
            }
        }
        Err(Error::new(
            ErrorKind::Conflict,
            "the idempotency key kept changing",
        ))
    }

    /// Does something once for a key: in one transaction, with its result. The body gives `Ok(Err(..))` to refuse: what it
    /// wrote is rolled back, and the refusal is the result. After a database error nothing is stored, and the key is as
    /// it was. As the body of any transaction it may run several times.
    ///
    /// In a transaction of the caller's, by [`on`](Keys::on), a refusal cannot be rolled back by itself: it is given as
    /// [`Ran::Now`] and not stored, and the transaction can only be aborted. Pass it on as the error of the transaction.
    ///
    /// Cost: 3 round trips beside the body's: key, result, commit. A refusal takes 3 too: key, abort, key with result.
    ///
    /// # Errors
    /// Those of the body and of the database.
    pub async fn run<T, E, F, Fut>(
        &self,
        scope: &str,
        key: &str,
        request: &impl Serialize,
        mut body: F,
    ) -> Result<Ran<T, E>>
    where
        T: Serialize + DeserializeOwned,
        E: Serialize + DeserializeOwned,
        F: FnMut(Tx) -> Fut,
        Fut: Future<Output = Result<Result<T, E>>>,
    {
        let options = TransactionOptions::default();
        let attempt = |tx: Tx| {
            let keys = self.on(&tx);
            // The future does nothing until it is awaited.
            let effect = body(tx);
            async move {
                let permit = match keys.begin(scope, key, request).await? {
                    Begin::Fresh(permit) => permit,
                    other => return Ok(other.into_ran()),
                };
                match effect.await? {
                    Ok(value) => {
                        let result = Ok(value);
                        permit.complete::<T, E>(&result).await?;
                        Ok(Some(Ran::Now(result)))
                    }
                    Err(refusal) => Err(Stop::Refused(refusal)),
                }
            }
        };
        match self.db.transaction_with(options, attempt).await {
            Ok(Some(ran)) => Ok(ran),
            Ok(None) => Err(Error::new(
                ErrorKind::Conflict,
                "the idempotency key kept changing",
            )),
            Err(Stop::Database(error)) => Err(error),
            Err(Stop::Refused(refusal)) => self.refuse(scope, key, request, refusal).await,
        }
    }

    /// Stores a refusal by itself, since what belonged to it was rolled back: the key with its result, in one write.
    async fn refuse<T: Serialize + DeserializeOwned, E: Serialize + DeserializeOwned>(
        &self,
        scope: &str,
        key: &str,
        request: &impl Serialize,
        refusal: E,
    ) -> Result<Ran<T, E>> {
        let refused = Err(refusal);
        // The caller's transaction has the key and what was written, and is to be aborted.
        if self.db.in_transaction() {
            return Ok(Ran::Now(refused));
        }
        let result = encoded::<T, E>(&refused)?;
        match self.enter(scope, key, request, Some(&result)).await? {
            Begin::Fresh(_) => Ok(Ran::Now(refused)),
            other => other
                .into_ran()
                .ok_or_else(|| Error::new(ErrorKind::Conflict, "the idempotency key kept changing")),
        }
    }

    /// Looks at a key. One round trip.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn get(&self, scope: &str, key: &str) -> Result<Option<KeyRecord>> {
        let id = KeyId {
            scope: scope.to_owned(),
            key: key.to_owned(),
        };
        self.collection.get(id).await
    }

    /// Inserts the key, or gives the one that is there.
    async fn insert(&self, id: &KeyId, fields: Document) -> Result<Option<KeyRecord>> {
        let insert = Update::raw(doc! { "$setOnInsert": fields });
        self.collection
            .find_one_and_update(|k| k.id.eq(id), |_| insert)
            .upsert()
            .await
    }

    async fn take_over(&self, found: &KeyRecord, fields: Document) -> Result<bool> {
        let mut update = doc! {};
        if !fields.contains_key("result") {
            update.insert("$unset", doc! { "result": "" });
        }
        update.insert("$set", fields);
        let k = KeyRecord::fields();
        let unchanged = k.id.eq(&found.id)
            & k.permit.eq(found.permit)
            & k.until.eq(found.until)
            & match found.result {
                None => k.result.is_none(),
                Some(_) => k.expires.eq(found.expires),
            };
        let update = self.collection.update_one(|_| unchanged, |_| Update::raw(update));
        Ok(update.await?.matched == 1)
    }

    fn fresh(&self, fingerprint: &str, permit: ObjectId, token: i64, result: Option<&Document>) -> Document {
        let (until, expires) = self.times();
        let mut fields = doc! {
            "fingerprint": fingerprint,
            "token": token,
            "permit": permit,
            "until": until,
            "created": self.db.now(),
            "expires": expires,
        };
        if let Some(result) = result {
            fields.insert("result", result.clone());
            fields.insert("expires", later(self.db.now(), self.keep));
        }
        fields
    }

    /// The ends of a lease that begins now, and of the key.
    pub(super) fn times(&self) -> (DateTime, DateTime) {
        let now = self.db.now();
        (later(now, self.lease), later(now, self.keep.max(self.lease)))
    }

    fn permit(&self, id: KeyId, permit: ObjectId, token: i64) -> Permit {
        Permit {
            keys: self.clone(),
            id,
            permit,
            token,
        }
    }
}

impl<T, E> Begin<T, E> {
    /// What it means for somebody without a permit.
    fn into_ran(self) -> Option<Ran<T, E>> {
        match self {
            Begin::Fresh(_) => None,
            Begin::InProgress { until } => Some(Ran::InProgress { until }),
            Begin::Replay(result) => Some(Ran::Replayed(result)),
            Begin::Mismatch => Some(Ran::Mismatch),
        }
    }
}

/// A result as it is stored.
pub(super) fn encoded<T: Serialize, E: Serialize>(result: &Result<T, E>) -> Result<Document> {
    let stored = |value: odm::bson::error::Result<Bson>| {
        value
            .map_err(|error| Error::new(ErrorKind::Encode, "the result does not fit BSON").with_source(error))
    };
    Ok(match result {
        Ok(value) => doc! { "ok": stored(odm::bson::serialize_to_bson(value))? },
        Err(error) => doc! { "err": stored(odm::bson::serialize_to_bson(error))? },
    })
}

enum Stop<E> {
    Refused(E),
    Database(Error),
}

impl<E> From<Error> for Stop<E> {
    fn from(error: Error) -> Stop<E> {
        Stop::Database(error)
    }
}

fn decoded<T: DeserializeOwned, E: DeserializeOwned>(result: Bson) -> Result<Result<T, E>> {
    let unfit = |error| {
        Error::new(ErrorKind::Decode, "the stored result does not fit its type")
            .with_path("result")
            .with_source(error)
    };
    let mut result = match result {
        Bson::Document(result) => result,
        _ => Document::new(),
    };
    if let Some(value) = result.remove("ok") {
        return odm::bson::deserialize_from_bson(value).map(Ok).map_err(unfit);
    }
    let error = result.remove("err").unwrap_or(Bson::Null);
    odm::bson::deserialize_from_bson(error).map(Err).map_err(unfit)
}
