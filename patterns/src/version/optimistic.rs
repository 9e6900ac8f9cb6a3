//! The operations.

use std::fmt;

use futures_util::future::BoxFuture;
use odm::bson::{Bson, doc};
use odm::{Collection, Error, ErrorKind, Filter, Model, Operand, Update};

use super::error::{CHANGED, VersionError};

/// Changes that hold only for the version that they were made for.
pub trait Optimistic<M: Model> {
    /// Loads a document, lets `change` change it, and stores it if it still is of the same version; otherwise runs
    /// `change` again on the document as it is by then. What `change` gives in the end is given.
    ///
    /// The document is stored whole, by [`Collection::replace`]: what is stored in it and the model does not declare is
    /// gone then. Nodes of a tree are edited by [`Tree::edit`](crate::tree::Tree::edit).
    fn update_with_retry<T, E, F>(&self, id: impl Operand<M::Key>, change: F) -> UpdateWithRetry<M, F>
    where
        F: FnMut(&mut M) -> Result<T, E>;

    /// Changes a document if it is of this version.
    ///
    /// # Errors
    /// `Conflict` when it is of another version, `NotFound`, `NoVersion`.
    fn update_if(
        &self,
        id: impl Operand<M::Key>,
        version: i64,
        change: impl FnOnce(M::Fields<M>) -> Update<M>,
    ) -> impl Future<Output = Result<(), VersionError>> + Send;
}

impl<M: Model> Optimistic<M> for Collection<M> {
    fn update_with_retry<T, E, F>(&self, id: impl Operand<M::Key>, change: F) -> UpdateWithRetry<M, F>
    where
        F: FnMut(&mut M) -> Result<T, E>,
    {
        UpdateWithRetry {
            collection: self.clone(),
            id: id.with_operand(Clone::clone),
            change,
            attempts: 10,
        }
    }

    fn update_if(
        &self,
        id: impl Operand<M::Key>,
        version: i64,
        change: impl FnOnce(M::Fields<M>) -> Update<M>,
    ) -> impl Future<Output = Result<(), VersionError>> + Send {
        let id = id.with_operand(Clone::clone);
        let prepared = M::version_field().map(|field| {
            let known = match version {
                // Stored before the model had versions.
                0 => doc! { field: { "$in": [0, Bson::Null] } },
                version => doc! { field: version },
            };
            let filter = M::key_field().eq(&id) & Filter::raw(known);
            let this = M::key_field().eq(&id);
            (
                self.update_one(|_| filter, change),
                self.find(|_| this).limit(1).encoded(),
            )
        });
        let missing = missing::<M, _>(self, &id);
        let (namespace, key) = (self.namespace(), self.encode_key(&id));
        async move {
            let (update, stored) = prepared.ok_or(unversioned::<M>())?;
            if update.await?.matched == 1 {
                return Ok(());
            }
            let Some(stored) = stored.await?.pop() else {
                return Err(missing);
            };
            let refused = Error::new(ErrorKind::Conflict, CHANGED)
                .with_model(M::DESCRIPTOR.name)
                .with_namespace(namespace)
                .with_id(key?)
                .with_current(stored);
            Err(too_often(missing, 1, Some(refused)))
        }
    }
}

fn unversioned<M: Model>() -> VersionError {
    VersionError::NoVersion {
        model: M::DESCRIPTOR.name,
    }
}

/// The error that others were first, of the document that another error would say is missing.
fn too_often<E>(missing: VersionError<E>, attempts: u32, last: Option<Error>) -> VersionError<E> {
    match missing {
        VersionError::NotFound { model, id } => {
            // It is tried at least once.
            let refused = || {
                Error::new(ErrorKind::Conflict, CHANGED)
                    .with_model(model)
                    .with_id(id.clone())
            };
            let source = last.unwrap_or_else(refused);
            VersionError::Conflict {
                model,
                id,
                attempts,
                source,
            }
        }
        error => error,
    }
}

fn missing<M: Model, E>(collection: &Collection<M>, id: &M::Key) -> VersionError<E> {
    match collection.encode_key(id) {
        Ok(id) => VersionError::NotFound {
            model: M::DESCRIPTOR.name,
            id,
        },
        Err(error) => error.into(),
    }
}

/// Changes a document by code until it meets no conflict: `.await` gives what the code gave last.
#[must_use = "an action does nothing until it is awaited"]
pub struct UpdateWithRetry<M: Model, F> {
    collection: Collection<M>,
    id: M::Key,
    change: F,
    attempts: u32,
}

impl<M: Model, F> UpdateWithRetry<M, F> {
    /// How often it is tried at the most: 10 times unless said otherwise.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    async fn run<T, E>(mut self) -> Result<T, VersionError<E>>
    where
        F: FnMut(&mut M) -> Result<T, E>,
    {
        if M::version_field().is_none() {
            return Err(VersionError::NoVersion {
                model: M::DESCRIPTOR.name,
            });
        }
        let mut document = self
            .collection
            .get(&self.id)
            .await?
            .ok_or_else(|| missing(&self.collection, &self.id))?;
        let mut last = None;
        for _ in 0..self.attempts {
            let value = (self.change)(&mut document).map_err(VersionError::Refused)?;
            match self.collection.replace(&document).await {
                Ok(result) if result.matched == 1 => return Ok(value),
                Ok(_) => return Err(missing(&self.collection, &self.id)),
                // The conflict of a version carries the document; that of a transaction does not, and is the caller's.
                Err(error) if error.is_conflict() => match error.current::<M>()? {
                    Some(current) => {
                        document = current;
                        last = Some(error);
                    }
                    None => return Err(error.into()),
                },
                Err(error) => return Err(error.into()),
            }
        }
        let place = missing(&self.collection, &self.id);
        Err(too_often(place, self.attempts, last))
    }
}

impl<M, T, E, F> IntoFuture for UpdateWithRetry<M, F>
where
    M: Model,
    T: Send + 'static,
    E: Send + 'static,
    F: FnMut(&mut M) -> Result<T, E> + Send + 'static,
{
    type Output = Result<T, VersionError<E>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<M: Model, F> fmt::Debug for UpdateWithRetry<M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdateWithRetry")
            .field("collection", &self.collection)
            .field("attempts", &self.attempts)
            .finish()
    }
}
