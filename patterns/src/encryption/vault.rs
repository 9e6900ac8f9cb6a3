//! A vault: the keys of a database.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use odm::backend::{ReadConcern, WriteConcern};
use odm::bson::{DateTime, RawBsonRef, RawDocument, Uuid, doc};
use odm::{Collection, Db, Error, ErrorKind, Update};

use super::cache::Cache;
use super::create::CreateKey;
use super::master::{AnyMasterKey, MasterKey, MasterKeyError};
use super::{EncryptionError, KeyMaterial, KeyRef, Keyring, Rewrap, StoredKey};
use crate::newest::newest;

/// How many keys are asked of master keys at once.
pub(super) const AT_ONCE: usize = 8;
/// How many keys are read at once.
const BATCH: usize = 1000;

/// Where a vault is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VaultOptions {
    /// The database: `encryption` unless said otherwise.
    pub database: String,
    /// The collection: `__keyVault` unless said otherwise.
    pub collection: String,
    /// For how long unwrapped keys are used: 60 seconds unless said otherwise.
    pub cache: Duration,
}

impl Default for VaultOptions {
    fn default() -> VaultOptions {
        VaultOptions {
            database: "encryption".to_owned(),
            collection: "__keyVault".to_owned(),
            cache: Duration::from_secs(60),
        }
    }
}

impl VaultOptions {
    /// The collection `__keyVault` of the database `encryption`.
    pub fn new() -> VaultOptions {
        VaultOptions::default()
    }

    /// Says in which database the keys are, on the same server or engine.
    pub fn database(mut self, name: impl Into<String>) -> VaultOptions {
        self.database = name.into();
        self
    }

    /// Says in which collection the keys are.
    pub fn collection(mut self, name: impl Into<String>) -> VaultOptions {
        self.collection = name.into();
        self
    }

    /// Says for how long unwrapped keys are used before they are asked for anew: not at all for zero, always for
    /// `Duration::MAX`. Those that are too old stay in memory until others are asked for, or all are
    /// [forgotten](KeyVault::forget).
    pub fn cache(mut self, keep: Duration) -> VaultOptions {
        self.cache = keep;
        self
    }
}

/// A key that a failover takes back would take along what it encrypted, and one that a member does not have yet is none.
/// What the handle asks for beyond that stays. A transaction, and a backend without concerns, is left as it is.
fn by_majority(db: &Db) -> Db {
    let asked = db.concerns();
    let written = db.with_write_concern(acknowledged(asked.write_concern));
    let db = written.unwrap_or_else(|_| db.clone());
    let level = match asked.read_concern {
        Some(ReadConcern::Linearizable) => ReadConcern::Linearizable,
        _ => ReadConcern::Majority,
    };
    newest(&db.with_read_concern(level).unwrap_or(db))
}

/// By a majority, since a number of members may be fewer; on the disk, and for so long, as is asked.
fn acknowledged(asked: Option<WriteConcern>) -> WriteConcern {
    let mut concern = WriteConcern::majority();
    if asked.and_then(|asked| asked.wants_journal()) == Some(true) {
        concern = concern.journal(true);
    }
    match asked.and_then(|asked| asked.wait()) {
        Some(wait) => concern.timeout(wait),
        None => concern,
    }
}

/// Puts why a document is no key where it is asked for: under its id, and under its names.
fn unread(document: &RawDocument, error: &EncryptionError, asked: &HashSet<&str>, keyring: &mut Keyring) {
    let id = match document.get("_id") {
        Ok(Some(RawBsonRef::Binary(id))) => id.to_binary().to_uuid().ok(),
        _ => None,
    };
    if let Some(id) = id {
        keyring.put(id, Err(error.clone()));
    }
    let names: Vec<&str> = match document.get("keyAltNames") {
        Ok(Some(RawBsonRef::String(name))) => vec![name],
        Ok(Some(RawBsonRef::Array(names))) => {
            let names = names.into_iter().flatten();
            names.filter_map(RawBsonRef::as_str).collect()
        }
        _ => Vec::new(),
    };
    for name in names.into_iter().filter(|name| asked.contains(name)) {
        match id {
            Some(id) => keyring.name(name, id),
            None => keyring.unknown(name, error.clone()),
        }
    }
}

/// The keys of a database, and what is encrypted by them. Cheap to clone; clones share their unwrapped keys. See the
/// [module](self::super) for what is promised.
#[derive(Clone, Debug)]
pub struct KeyVault {
    db: Db,
    options: Arc<VaultOptions>,
    master: Arc<dyn AnyMasterKey>,
    others: Arc<Vec<Arc<dyn AnyMasterKey>>>,
    cache: Arc<Cache>,
    indexed: Arc<AtomicBool>,
}

impl KeyVault {
    /// The vault `encryption.__keyVault` of a server or an engine. New keys are wrapped by this master key.
    pub fn new(db: &Db, master: impl MasterKey + 'static) -> KeyVault {
        KeyVault::named(db, VaultOptions::default(), master)
    }

    /// Another vault.
    ///
    /// # Errors
    /// `InvalidArgument` for the name of a database that cannot be.
    ///
    /// ```
    /// # use odm::Db;
    /// use odm_patterns::encryption::{KeyVault, LocalKey, VaultOptions};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let db = Db::open("memory:").await?;
    /// let options = VaultOptions::new().database("clinic").collection("keys");
    /// let vault = KeyVault::with(&db, options, LocalKey::generate()?)?;
    /// assert_eq!(vault.keys().namespace(), "clinic.keys");
    /// # Ok(())
    /// # }
    /// ```
    pub fn with(
        db: &Db,
        options: VaultOptions,
        master: impl MasterKey + 'static,
    ) -> Result<KeyVault, EncryptionError> {
        db.database(&options.database)?;
        Ok(KeyVault::named(db, options, master))
    }

    fn named(db: &Db, options: VaultOptions, master: impl MasterKey + 'static) -> KeyVault {
        KeyVault {
            db: by_majority(db),
            options: Arc::new(options),
            master: Arc::new(master),
            others: Arc::default(),
            cache: Arc::default(),
            indexed: Arc::default(),
        }
    }

    /// Has one more master key, by which keys are unwrapped: of other providers, or older ones of the same.
    #[must_use]
    pub fn also(mut self, master: impl MasterKey + 'static) -> KeyVault {
        Arc::make_mut(&mut self.others).push(Arc::new(master));
        self.cache = Arc::default();
        self
    }

    /// The same vault through another handle: a transaction's, a test's. It keeps its own unwrapped keys, so that a key
    /// that is rolled back encrypts nothing outside of its transaction.
    #[must_use]
    pub fn on(&self, db: &Db) -> KeyVault {
        KeyVault {
            db: by_majority(&self.db.through(db)),
            cache: Arc::default(),
            indexed: Arc::default(),
            ..self.clone()
        }
    }

    /// The keys as they are stored: to be found and counted. Write them by the methods of the vault.
    pub fn keys(&self) -> Collection<StoredKey> {
        match self.db.database(&self.options.database) {
            Ok(db) => db.collection_named(&self.options.collection),
            Err(_) => unreachable!("the name was checked when the vault was made"),
        }
    }

    /// Begins to make a key. Nothing is written yet.
    pub fn create_key(&self) -> CreateKey {
        CreateKey::new(self)
    }

    /// The id of the key of this name, which is made if there is none: all that ask at once get the same. One round trip,
    /// and as [`create_key`](KeyVault::create_key) where there is none.
    ///
    /// # Errors
    /// As of [`create_key`](KeyVault::create_key).
    pub async fn find_or_create_key(&self, name: &str) -> Result<Uuid, EncryptionError> {
        if let Some(key) = self.key_by_name(name).await? {
            return Ok(key.id);
        }
        let error = match self.create_key().name(name).await {
            Err(EncryptionError::Database(error)) if error.is_duplicate_key() => error,
            made => return made,
        };
        match self.key_by_name(name).await? {
            Some(key) => Ok(key.id),
            None => Err(error.into()),
        }
    }

    /// The key with this id. One round trip.
    ///
    /// # Errors
    /// The database's.
    pub async fn key(&self, id: Uuid) -> Result<Option<StoredKey>, EncryptionError> {
        Ok(self.keys().get(id).await?)
    }

    /// The key of this name. One round trip.
    ///
    /// # Errors
    /// The database's.
    pub async fn key_by_name(&self, name: &str) -> Result<Option<StoredKey>, EncryptionError> {
        Ok(self.keys().find_one(|k| k.names.has(name)).await?)
    }

    /// Gives a key one more name, and says what it was before. One round trip; two more for the first of a handle, to make
    /// the index.
    ///
    /// # Errors
    /// [`NoKey`](EncryptionError::NoKey); `DuplicateKey` of the database when another key has the name.
    pub async fn add_name(&self, id: Uuid, name: &str) -> Result<StoredKey, EncryptionError> {
        self.prepare().await?;
        let keys = self.keys();
        let changed = keys.find_one_and_update(|k| k.id.eq(id), |k| k.names.add_to_set(name));
        let changed = changed.await?;
        self.cache.forget(Some(&id));
        changed.ok_or(EncryptionError::NoKey { key: id.into() })
    }

    /// Takes a name from a key, if it has it, and says what it was before. One round trip. Other vaults that have the key
    /// in their caches know it by the name until they ask anew.
    ///
    /// # Errors
    /// [`NoKey`](EncryptionError::NoKey).
    pub async fn remove_name(&self, id: Uuid, name: &str) -> Result<StoredKey, EncryptionError> {
        let keys = self.keys();
        // Without any name there is no list of them: empty lists are one and the same to a unique index.
        let only = doc! { "$eq": ["$keyAltNames", { "$literal": [name] }] };
        let others = doc! { "$filter": {
            "input": "$keyAltNames",
            "cond": { "$ne": ["$$this", { "$literal": name }] },
        } };
        let names = doc! { "$cond": [only, "$$REMOVE", others] };
        let has_names = doc! { "$cond": [{ "$isArray": "$keyAltNames" }, names, "$keyAltNames"] };
        let set = doc! { "$set": { "keyAltNames": has_names } };
        let changed = keys.find_one_and_update(|k| k.id.eq(id), |_| Update::pipeline([set]));
        let changed = changed.await?;
        self.cache.forget(Some(&id));
        changed.ok_or(EncryptionError::NoKey { key: id.into() })
    }

    /// Deletes a key, and says whether it was there. What it encrypted can never be decrypted again, by nobody: this
    /// shreds the values, in every copy of the data that has no copy of the vault. One round trip.
    ///
    /// Vaults that have it in their caches use it until they ask anew, 60 seconds at most; backups of the vault have it
    /// for as long as they are kept.
    ///
    /// # Errors
    /// The database's.
    pub async fn delete_key(&self, id: Uuid) -> Result<bool, EncryptionError> {
        let deleted = self.keys().delete(id).await;
        self.cache.forget(Some(&id));
        Ok(deleted?.deleted > 0)
    }

    /// Begins to wrap keys by the vault's first master key. Nothing is written yet.
    pub fn rewrap(&self) -> Rewrap {
        Rewrap::new(self)
    }

    /// These keys, unwrapped, to encrypt and decrypt without round trips. One round trip for each thousand that are not
    /// in the cache, and what the master keys ask.
    ///
    /// A key that is not there, cannot be unwrapped, or is stored as no key is, is an error when it is used, not before: the
    /// others can be used.
    ///
    /// # Errors
    /// The database's.
    pub async fn keyring<K>(&self, keys: impl IntoIterator<Item = K>) -> Result<Keyring, EncryptionError>
    where
        K: Into<KeyRef>,
    {
        let (mut keyring, now) = (Keyring::default(), self.db.now());
        let mut missing = Vec::new();
        let keys: HashSet<KeyRef> = keys.into_iter().map(Into::into).collect();
        for key in keys {
            let Some((id, material)) = self.cache.get(&key, now, self.options.cache) else {
                missing.push(key);
                continue;
            };
            if let KeyRef::Name(name) = &key {
                keyring.name(name, id);
            }
            keyring.put(id, Ok(material));
        }
        for some in missing.chunks(BATCH) {
            self.fetch(some, &mut keyring).await?;
        }
        Ok(keyring)
    }

    async fn fetch(&self, keys: &[KeyRef], keyring: &mut Keyring) -> Result<(), EncryptionError> {
        let (mut ids, mut names) = (Vec::new(), Vec::new());
        for key in keys {
            match key {
                KeyRef::Id(id) => ids.push(*id),
                KeyRef::Name(name) => names.push(name.clone()),
            }
        }
        let ticket = self.cache.ticket();
        let since = self.db.now();
        let found = self.keys();
        let found = found.find(|k| match (ids.is_empty(), names.is_empty()) {
            (_, true) => k.id.is_in(ids),
            (true, false) => k.names.has_any(&names),
            (false, false) => k.id.is_in(ids) | k.names.has_any(&names),
        });
        let names: HashSet<&str> = names.iter().map(String::as_str).collect();
        let mut stored = Vec::new();
        for document in found.encoded().await? {
            match self.keys().decode(&document) {
                Ok(key) => stored.push(key),
                Err(error) => unread(&document, &error.into(), &names, keyring),
            }
        }
        let unwrapped = stream::iter(stored)
            .map(|key| async move { (self.unwrap(&key).await, key) })
            .buffered(AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        let mut kept = Vec::with_capacity(unwrapped.len());
        for (material, key) in unwrapped {
            let own = key.names.iter().flatten();
            for name in own.filter(|name| names.contains(name.as_str())) {
                keyring.name(name, key.id);
            }
            if let Ok(material) = &material {
                kept.push((key.id, key.names.unwrap_or_default(), material.clone()));
            }
            keyring.put(key.id, material);
        }
        self.cache.put(ticket, kept, (since, self.options.cache));
        Ok(())
    }

    /// Unwraps a key by whichever master key can.
    pub(super) async fn unwrap(&self, key: &StoredKey) -> Result<KeyMaterial, EncryptionError> {
        let provider = key.provider();
        let mut error = EncryptionError::NoMaster {
            key: key.id,
            provider: provider.to_owned(),
        };
        let masters = std::iter::once(&self.master).chain(self.others.iter());
        for master in masters.filter(|master| master.provider() == provider) {
            match master.unwrap(&key.wrapped.bytes, &key.master_key).await {
                Ok(material) => return Ok(material),
                // That one could not be asked says more than that another one refused.
                Err(MasterKeyError::Refused) if matches!(error, EncryptionError::Master { .. }) => {}
                Err(MasterKeyError::Refused) => {
                    error = EncryptionError::WrongMaster {
                        key: key.id,
                        provider: provider.to_owned(),
                    };
                }
                Err(MasterKeyError::Failed(cause)) => {
                    error = EncryptionError::Master {
                        key: Some(key.id),
                        provider: provider.to_owned(),
                        cause,
                    };
                }
            }
        }
        Err(error)
    }

    /// The error of the first master key that does not wrap a key.
    pub(super) fn failed(&self, key: Option<Uuid>, error: MasterKeyError) -> EncryptionError {
        EncryptionError::Master {
            key,
            provider: self.master().provider().to_owned(),
            cause: match error {
                MasterKeyError::Failed(cause) => cause,
                MasterKeyError::Refused => Arc::new(Error::new(
                    ErrorKind::Unauthorized,
                    "the master key refuses to wrap a key",
                )),
            },
        }
    }

    /// Drops all unwrapped keys: the next use of each asks for it.
    pub fn forget(&self) {
        self.cache.forget(None);
    }

    /// Makes the index by which each name is one key's. The first [`create_key`](KeyVault::create_key) or
    /// [`add_name`](KeyVault::add_name) of a handle does so itself, outside of transactions. One round trip.
    ///
    /// # Errors
    /// The database's, if two keys have one name.
    pub async fn create_indexes(&self) -> Result<(), EncryptionError> {
        self.keys().create_indexes().await?;
        // A transaction may be rolled back.
        if !self.db.in_transaction() {
            self.indexed.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    pub(super) async fn prepare(&self) -> Result<(), EncryptionError> {
        match self.indexed.load(Ordering::Relaxed) || self.db.in_transaction() {
            true => Ok(()),
            false => self.create_indexes().await,
        }
    }

    /// By which new keys are wrapped.
    pub(super) fn master(&self) -> &dyn AnyMasterKey {
        &*self.master
    }

    pub(super) fn now(&self) -> DateTime {
        self.db.now()
    }
}
