//! Wrapping keys by another master key.

use std::future::IntoFuture;
use std::pin::Pin;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use odm::bson::{Binary, Bson, RawDocument, doc};
use odm::{Embedded, Error, ErrorKind, Filter, Model as _};

use super::stored::binary;
use super::vault::AT_ONCE;
use super::{EncryptionError, KeyVault, StoredKey};

/// How many keys are wrapped anew by one batch of writes.
const BATCH: u32 = 500;

/// Keys that are to be wrapped by the vault's first master key: `.await` does it, and says of how many. The keys stay the
/// same, so do all values that they encrypted.
///
/// Each key is wrapped by the old master key or by the new one at any time, and is read by a vault that has both. Begin it
/// again after a crash: it does some again. A key that was deleted or wrapped by somebody else meanwhile is left as it is.
///
/// Keys that others make meanwhile may be missed: let all programs have the new master key as their first one before, and
/// destroy the old one after.
///
/// Two round trips for each 500 keys, one more at the end, and what the master keys ask for each.
///
/// # Errors
/// [`NoMaster`](EncryptionError::NoMaster), [`WrongMaster`](EncryptionError::WrongMaster) and
/// [`Master`](EncryptionError::Master) name the key; what was wrapped before stays so. `Decode` of the
/// [database](EncryptionError::Database) names the first document that is stored as no key is: all others are wrapped by
/// then.
///
/// ```
/// # use odm::Db;
/// use odm_patterns::encryption::{Encrypted, KeyVault, LocalKey};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let db = Db::open("memory:").await?;
/// let (old, new) = (LocalKey::generate()?, LocalKey::generate()?);
/// let vault = KeyVault::new(&db, old.clone());
/// vault.create_key().name("patients").await?;
/// let secret: Encrypted<i32> = vault.encrypt("patients", 42).await?;
///
/// let vault = KeyVault::new(&db, new.clone()).also(old);
/// assert_eq!(vault.rewrap().await?.wrapped, 1);
///
/// // The old one can be destroyed.
/// assert_eq!(KeyVault::new(&db, new).decrypt(&secret).await?, 42);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "no key is wrapped before `.await`"]
pub struct Rewrap {
    vault: KeyVault,
    only: Filter<StoredKey>,
}

/// What a [`Rewrap`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rewrapped {
    /// How many keys it wrapped.
    pub wrapped: u64,
    /// How many were deleted, or wrapped by somebody else, meanwhile.
    pub passed: u64,
}

impl Rewrap {
    pub(super) fn new(vault: &KeyVault) -> Rewrap {
        Rewrap {
            vault: vault.clone(),
            only: Filter::all(),
        }
    }

    /// Only these keys: all unless said otherwise.
    ///
    /// ```
    /// # use odm::{Db, Filter, bson::doc};
    /// # use odm_patterns::encryption::{KeyVault, LocalKey};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let db = Db::open("memory:").await?;
    /// # let old = LocalKey::generate()?;
    /// # let new = LocalKey::generate()?.named("y2027")?;
    /// # KeyVault::new(&db, old.clone()).create_key().name("a").await?;
    /// let vault = KeyVault::new(&db, new).also(old);
    /// let rewrapped = vault.rewrap().only(|_| Filter::raw(doc! { "masterKey.provider": "local" })).await?;
    /// assert_eq!(rewrapped.wrapped, 1);
    /// assert_eq!(vault.key_by_name("a").await?.unwrap().provider(), "local:y2027");
    /// # Ok(())
    /// # }
    /// ```
    pub fn only(
        mut self,
        filter: impl FnOnce(<StoredKey as Embedded>::Fields<StoredKey>) -> Filter<StoredKey>,
    ) -> Rewrap {
        self.only = filter(StoredKey::fields());
        self
    }

    async fn run(self) -> Result<Rewrapped, EncryptionError> {
        let keys = self.vault.keys();
        let mut done = Rewrapped::default();
        let (mut last, mut unread) = (None, None);
        loop {
            let only = self.only.clone();
            let page = keys.find(|_| match last.take() {
                Some(last) => only & behind(last),
                None => only,
            });
            let page = page.sort(|k| k.id.asc()).limit(BATCH.into());
            let page = page.encoded().await?;
            let Some(end) = page.last() else {
                return unread.map_or(Ok(done), Err);
            };
            last = Some(id_of(end)?);
            let mut stored = Vec::with_capacity(page.len());
            for document in &page {
                match keys.decode(document) {
                    Ok(key) => stored.push(key),
                    Err(error) => unread = unread.or(Some(error.into())),
                }
            }
            if stored.is_empty() {
                continue;
            }
            let (count, vault) = (stored.len() as u64, &self.vault);
            let wrapped: Vec<(StoredKey, Binary)> = stream::iter(stored)
                .map(|key| async move { vault.wrap_anew(&key).await.map(|wrapped| (key, wrapped)) })
                .buffered(AT_ONCE)
                .try_collect()
                .await?;
            let (now, master_key) = (self.vault.now(), self.vault.master().stored());
            let mut batch = keys.bulk_write().unordered();
            for (key, wrapped) in wrapped {
                batch = batch.update_one(
                    |k| k.id.eq(key.id) & k.wrapped.eq(&key.wrapped),
                    |k| k.wrapped.set(wrapped) & k.master_key.set(&master_key) & k.update_date.set(now),
                );
            }
            let matched = batch.await?.matched;
            done.wrapped += matched;
            done.passed += count.saturating_sub(matched);
        }
    }
}

/// What is behind a document in the order of ids.
fn behind(id: Bson) -> Filter<StoredKey> {
    Filter::raw(match id {
        // A range of the index has values of one type, and keys have no others.
        Bson::Binary(_) => doc! { "_id": { "$gt": id } },
        id => doc! { "$expr": { "$gt": ["$_id", { "$literal": id }] } },
    })
}

fn id_of(document: &RawDocument) -> odm::Result<Bson> {
    let corrupt =
        |error| Error::new(ErrorKind::Corrupt, "the `_id` of a document is no bson").with_source(error);
    match document.get("_id").map_err(corrupt)? {
        Some(id) => Bson::try_from(id).map_err(corrupt),
        None => Ok(Bson::Null),
    }
}

impl KeyVault {
    async fn wrap_anew(&self, key: &StoredKey) -> Result<Binary, EncryptionError> {
        let material = self.unwrap(key).await?;
        let wrapped = self.master().wrap(&material).await;
        wrapped
            .map(binary)
            .map_err(|error| self.failed(Some(key.id), error))
    }
}

impl IntoFuture for Rewrap {
    type Output = Result<Rewrapped, EncryptionError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
