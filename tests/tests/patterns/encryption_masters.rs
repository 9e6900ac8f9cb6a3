//! Master keys of encrypted fields: their rotation, services that keep them, wrong ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bson::{Document, Uuid, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Filter};
use odm_patterns::encryption::{
    Algorithm, Encrypted, EncryptionError, KeyMaterial, KeyRef, KeyVault, LocalKey, MasterKey,
    MasterKeyError, VaultOptions,
};
use odm_tests::interrupted::interrupted;

use super::encryption::vault;
use super::saga_models::clocked;

crate::on_every_backend! {
    master_keys_are_rotated,
    a_rotation_survives_a_crash_at_every_write,
    a_rotation_takes_bounded_round_trips,
    a_rotation_passes_keys_that_others_change,
    wrong_and_missing_master_keys_are_told_apart,
    a_document_that_is_no_key_stands_in_no_others_way,
    other_services_keep_master_keys,
}

async fn master_keys_are_rotated(db: &Db) {
    let options = || VaultOptions::new().database(db.name());
    let (old, new) = (
        LocalKey::generate().unwrap(),
        LocalKey::generate().unwrap().named("new").unwrap(),
    );
    let vault = KeyVault::with(db, options(), old.clone()).unwrap();
    let mut secrets: Vec<Encrypted<i32>> = Vec::new();
    for n in 0..5 {
        let id = vault.create_key().name(format!("key {n}")).await.unwrap();
        secrets.push(vault.encrypt(id, n).await.unwrap());
    }
    let before = vault.key_by_name("key 3").await.unwrap().unwrap();
    let (later, seconds) = clocked(db);
    seconds.store(5_000_000_000, Ordering::SeqCst);
    let both = KeyVault::with(&later, options(), new.clone())
        .unwrap()
        .also(old.clone());
    // Some, then all.
    let some = both.rewrap().only(|k| k.names.has("key 3")).await.unwrap();
    assert_eq!((some.wrapped, some.passed), (1, 0));
    assert_eq!(both.decrypt_many(&secrets).await.unwrap(), [0, 1, 2, 3, 4]);
    let after = vault.key_by_name("key 3").await.unwrap().unwrap();
    assert_eq!(
        (after.provider(), after.id, &after.names),
        ("local:new", before.id, &before.names)
    );
    assert_eq!(
        (after.creation_date, after.update_date),
        (before.creation_date, later.now())
    );
    assert_ne!(after.wrapped, before.wrapped);
    let left = both
        .rewrap()
        .only(|_| Filter::raw(doc! { "masterKey.provider": "local" }))
        .await
        .unwrap();
    assert_eq!(left.wrapped, 4);
    // The new one alone reads everything, the old one nothing.
    let alone = KeyVault::with(db, options(), new).unwrap();
    assert_eq!(alone.decrypt_many(&secrets).await.unwrap(), [0, 1, 2, 3, 4]);
    let error = KeyVault::with(db, options(), old)
        .unwrap()
        .decrypt(&secrets[0])
        .await
        .unwrap_err();
    assert!(
        matches!(error, EncryptionError::NoMaster { ref provider, .. } if provider == "local:new"),
        "{error:?}"
    );
    // Once more is no harm; none are none.
    assert_eq!(alone.rewrap().await.unwrap().wrapped, 5);
    assert_eq!(
        alone.rewrap().only(|k| k.names.has("no")).await.unwrap().wrapped,
        0
    );
}

/// A vault of so many keys, and a value by each.
async fn filled(vault: &KeyVault, count: i32) -> Vec<Encrypted<i32>> {
    let mut secrets = Vec::new();
    for n in 0..count {
        let id = vault.create_key().await.unwrap();
        secrets.push(vault.encrypt(id, n).await.unwrap());
    }
    secrets
}

async fn a_rotation_survives_a_crash_at_every_write(db: &Db) {
    let options = || VaultOptions::new().database(db.name());
    // The same provider: only the bytes tell the master keys apart.
    let mut old = LocalKey::generate().unwrap();
    let secrets = filled(&KeyVault::with(db, options(), old.clone()).unwrap(), 4).await;
    let lost = || Error::new(ErrorKind::Network, "the connection was lost");
    for nth in 1..=3 {
        for fault in [
            Fault::nth_operation(nth).before(lost()),
            Fault::nth_operation(nth).after(lost()),
        ] {
            let new = LocalKey::generate().unwrap();
            let (faulty, faults) = db.faulty();
            faults.add(fault.crash());
            let both = KeyVault::with(&faulty, options(), new.clone())
                .unwrap()
                .also(old.clone());
            let crashed = both.rewrap().await;
            assert!(crashed.is_err());
            let both = both.on(db);
            assert_eq!(both.decrypt_many(&secrets).await.unwrap(), [0, 1, 2, 3]);
            assert_eq!(both.rewrap().await.unwrap().wrapped, 4);
            let alone = KeyVault::with(db, options(), new.clone()).unwrap();
            assert_eq!(alone.decrypt_many(&secrets).await.unwrap(), [0, 1, 2, 3]);
            old = new;
        }
    }
}

async fn a_rotation_takes_bounded_round_trips(db: &Db) {
    let vault = vault(db);
    let id = vault.create_key().await.unwrap();
    let stored = db.raw_collection("__keyVault");
    let key = stored.find_one(doc! { "_id": id }).await.unwrap().unwrap();
    let more = (0..1100).map(|_| {
        let mut key = key.clone();
        key.insert("_id", Uuid::new());
        key
    });
    stored.insert_many(more.collect::<Vec<Document>>()).await.unwrap();
    let (logged, log) = db.logged();
    let rewrapped = vault.on(&logged).rewrap().await.unwrap();
    assert_eq!((rewrapped.wrapped, rewrapped.passed), (1101, 0));
    // Two for each 500, and one that finds no more. Larger answers come in several parts.
    assert!(log.round_trips() <= 12, "{:?}", log.counts());
    assert_eq!(
        stored
            .count(doc! { "keyMaterial": &key.get("keyMaterial") })
            .await
            .unwrap(),
        0
    );
}

async fn a_rotation_passes_keys_that_others_change(db: &Db) {
    let vault = vault(db);
    let secrets = filled(&vault, 3).await;
    let (deleted, again) = (secrets[0].key(), secrets[1].key());
    let other = vault.clone();
    let (db, moment) = interrupted(db, 2, async move {
        other.delete_key(deleted).await.unwrap();
        other.rewrap().only(|k| k.id.eq(again)).await.unwrap();
    });
    let rewrapped = vault.on(&db).rewrap().await.unwrap();
    assert!(moment.has_come());
    assert_eq!((rewrapped.wrapped, rewrapped.passed), (1, 2));
    vault.forget();
    assert_eq!(vault.decrypt_many(&secrets[1..]).await.unwrap(), [1, 2]);
}

async fn wrong_and_missing_master_keys_are_told_apart(db: &Db) {
    let vault = vault(db);
    let id = vault.create_key().name("a").await.unwrap();
    let secret: Encrypted<i32> = vault.encrypt("a", 1).await.unwrap();
    let options = || VaultOptions::new().database(db.name());
    let wrong = KeyVault::with(db, options(), LocalKey::generate().unwrap()).unwrap();
    let error = wrong.decrypt(&secret).await.unwrap_err();
    assert!(
        matches!(error, EncryptionError::WrongMaster { key, .. } if key == id),
        "{error:?}"
    );
    let text =
        format!("the key was wrapped by another master key, or is damaged (key: {id}, provider: local)");
    assert_eq!((error.to_string(), error.kind()), (text, ErrorKind::Corrupt));
    assert!(wrong.rewrap().await.is_err());
    let named = LocalKey::generate().unwrap().named("n").unwrap();
    let missing = KeyVault::with(db, options(), named).unwrap();
    let error = missing
        .encrypt_bson("a", Algorithm::Random, &1.into())
        .await
        .unwrap_err();
    assert!(matches!(error, EncryptionError::NoMaster { .. }), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Unauthorized);
    // Damaged, of the wrong size, and of no master key at all.
    let keys = db.raw_collection("__keyVault");
    let wrapped = vault.key(id).await.unwrap().unwrap().wrapped;
    for at in [0, 20, 159] {
        let mut damaged = wrapped.clone();
        damaged.bytes[at] ^= 1;
        keys.update_one(doc! {}, doc! { "$set": { "keyMaterial": damaged } })
            .await
            .unwrap();
        vault.forget();
        let error = vault.decrypt(&secret).await.unwrap_err();
        assert!(
            error.is_damaged() && error.to_string().contains(&id.to_string()),
            "{error}"
        );
    }
    let mut cut = wrapped.clone();
    cut.bytes.truncate(7);
    keys.update_one(doc! {}, doc! { "$set": { "keyMaterial": cut } })
        .await
        .unwrap();
    assert!(vault.decrypt(&secret).await.unwrap_err().is_damaged());
    let back = doc! { "$set": { "keyMaterial": wrapped, "masterKey": {} } };
    keys.update_one(doc! {}, back).await.unwrap();
    let error = vault.decrypt(&secret).await.unwrap_err();
    assert!(
        matches!(error, EncryptionError::NoMaster { ref provider, .. } if provider.is_empty()),
        "{error:?}"
    );
    // A document that is no key says so, with its id.
    keys.update_one(doc! {}, doc! { "$set": { "masterKey": 7 } })
        .await
        .unwrap();
    let error = vault.decrypt(&secret).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode, "{error:?}");
}

async fn a_document_that_is_no_key_stands_in_no_others_way(db: &Db) {
    let options = || VaultOptions::new().database(db.name());
    let (old, new) = (LocalKey::generate().unwrap(), LocalKey::generate().unwrap());
    let vault = KeyVault::with(db, options(), old.clone()).unwrap();
    let secrets = filled(&vault, 5).await;
    let broken = secrets[2].key();
    vault.add_name(broken, "broken").await.unwrap();
    let keys = db.raw_collection("__keyVault");
    keys.update_one(doc! { "_id": broken }, doc! { "$set": { "masterKey": 7 } })
        .await
        .unwrap();
    // And some that have no key's id.
    keys.insert(doc! { "_id": 7, "keyAltNames": ["odd"] })
        .await
        .unwrap();
    keys.insert(doc! { "_id": bson::oid::ObjectId::new(), "what": "is this" })
        .await
        .unwrap();
    let (logged, log) = db.logged();
    let asked = secrets.iter().map(|secret| KeyRef::from(secret.key()));
    let asked = asked.chain(["broken", "odd"].map(KeyRef::from));
    let keyring = vault.on(&logged).keyring(asked).await.unwrap();
    assert_eq!(log.round_trips(), 1);
    for (n, secret) in secrets.iter().enumerate() {
        match keyring.decrypt(secret) {
            Ok(value) => assert_eq!((value, n != 2), (n as i32, true)),
            Err(error) => {
                assert_eq!((n, error.kind()), (2, ErrorKind::Decode), "{error:?}");
                assert!(error.to_string().contains("masterKey"), "{error}");
            }
        }
    }
    for (name, id) in [("broken", Some(broken)), ("odd", None)] {
        let error = keyring
            .encrypt_bson(name, Algorithm::Random, &1.into())
            .unwrap_err();
        assert_eq!(
            (error.kind(), keyring.id(name)),
            (ErrorKind::Decode, id),
            "{error:?}"
        );
    }
    // All others are wrapped anew before it is told of the first that is none.
    let both = KeyVault::with(db, options(), new.clone()).unwrap().also(old);
    let error = Error::from(both.rewrap().await.unwrap_err());
    assert_eq!(
        (error.kind(), error.id()),
        (ErrorKind::Decode, Some(&bson::Bson::Int32(7)))
    );
    let alone = KeyVault::with(db, options(), new).unwrap();
    for n in [0, 1, 3, 4] {
        assert_eq!(alone.decrypt(&secrets[n]).await.unwrap(), n as i32);
    }
    let error = alone.rewrap().only(|k| k.id.eq(broken)).await.unwrap_err();
    assert_eq!(Error::from(error).id(), Some(&bson::Bson::from(broken)));
}

/// A service far away that can fail.
#[derive(Clone, Default)]
pub struct Service {
    fails: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
}

impl Service {
    async fn ask(&self, bytes: &[u8]) -> Result<Vec<u8>, MasterKeyError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        match self.fails.load(Ordering::SeqCst) {
            true => Err(std::io::Error::other("the line went dead").into()),
            false => Ok(bytes.iter().map(|byte| byte ^ 0x5a).collect()),
        }
    }
}

impl MasterKey for Service {
    fn provider(&self) -> &str {
        "service"
    }

    fn details(&self) -> Document {
        doc! { "region": "north", "provider": "not this" }
    }

    async fn wrap(&self, material: &KeyMaterial) -> Result<Vec<u8>, MasterKeyError> {
        self.ask(material.expose()).await
    }

    async fn unwrap(&self, wrapped: &[u8], master_key: &Document) -> Result<KeyMaterial, MasterKeyError> {
        if master_key.get_str("region").ok() != Some("north") {
            return Err(MasterKeyError::Refused);
        }
        let bytes = self.ask(wrapped).await?;
        KeyMaterial::from_slice(&bytes).map_err(|_| MasterKeyError::Refused)
    }
}

async fn other_services_keep_master_keys(db: &Db) {
    let service = Service::default();
    let options = || VaultOptions::new().database(db.name());
    let vault = KeyVault::with(db, options(), service.clone()).unwrap();
    let id = vault.create_key().name("a").await.unwrap();
    let stored = vault.key(id).await.unwrap().unwrap();
    assert_eq!(
        stored.master_key,
        doc! { "provider": "service", "region": "north" }
    );
    let secret: Encrypted<i32> = vault.encrypt("a", 1).await.unwrap();
    assert_eq!(
        (
            vault.decrypt(&secret).await.unwrap(),
            service.asked.load(Ordering::SeqCst)
        ),
        (1, 2)
    );
    // It fails: nothing is made, nothing is decrypted, and what is cached is still there.
    service.fails.store(true, Ordering::SeqCst);
    assert_eq!(vault.decrypt(&secret).await.unwrap(), 1);
    vault.forget();
    let error = vault.decrypt(&secret).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the master key could not be asked (key: {id}, provider: service)")
    );
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(
        (cause.as_str(), error.kind()),
        ("the line went dead", ErrorKind::Network)
    );
    let error = vault.create_key().name("b").await.unwrap_err();
    assert!(
        matches!(error, EncryptionError::Master { key: None, .. }),
        "{error:?}"
    );
    assert!(vault.key_by_name("b").await.unwrap().is_none());
    // And is well again: failures are not remembered.
    service.fails.store(false, Ordering::SeqCst);
    assert_eq!(vault.decrypt(&secret).await.unwrap(), 1);
    // From there to a master key of one's own.
    let local = LocalKey::generate().unwrap();
    let both = KeyVault::with(db, options(), local.clone())
        .unwrap()
        .also(service);
    assert_eq!(both.rewrap().await.unwrap().wrapped, 1);
    let alone = KeyVault::with(db, options(), Arc::new(local)).unwrap();
    assert_eq!(alone.decrypt(&secret).await.unwrap(), 1);
    assert_eq!(
        alone.key(id).await.unwrap().unwrap().master_key,
        doc! { "provider": "local" }
    );
}
