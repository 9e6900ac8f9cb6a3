//! Keys of encrypted fields: names, caches, deletion, transactions.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bson::{Bson, Uuid, doc};
use futures_util::future::join_all;
use odm::backend::{ReadConcern, WriteConcern};
use odm::{Db, ErrorKind, Filter};
use odm_patterns::encryption::{Algorithm, Encrypted, KeyMaterial, KeyRef, KeyVault, LocalKey, VaultOptions};

use super::encryption::vault;
use super::encryption_masters::Service;
use super::saga_models::clocked;
use odm_tests::sent::{level, recorded};

crate::on_every_backend! {
    keys_have_names,
    keys_are_stored_as_specified,
    all_that_ask_at_once_get_one_key,
    keys_are_found_by_indexes,
    keys_are_asked_for_once_a_minute,
    deleted_keys_shred_what_they_encrypted,
    a_key_that_is_rolled_back_encrypts_nothing,
    vaults_are_where_they_are_said_to_be,
    secrets_are_not_shown,
    keys_are_no_less_safe_than_their_handle,
}

async fn names(vault: &KeyVault, id: Uuid) -> Option<Vec<String>> {
    vault.key(id).await.unwrap().unwrap().names
}

async fn keys_have_names(db: &Db) {
    let vault = vault(db);
    let one = vault.create_key().name("a").name("b").name("a").await.unwrap();
    let two = vault.create_key().await.unwrap();
    let three = vault.create_key().await.unwrap();
    assert_eq!(names(&vault, one).await, Some(vec!["a".into(), "b".into()]));
    assert_eq!(
        (
            names(&vault, two).await,
            vault.keys().count(|_| Filter::all()).await.unwrap()
        ),
        (None, 3)
    );
    for hostile in ["$a", "$$REMOVE", "x.y", "", "\0", "ä"] {
        vault.add_name(two, hostile).await.unwrap();
        assert_eq!(
            vault.key_by_name(hostile).await.unwrap().unwrap().id,
            two,
            "{hostile}"
        );
        let before = vault.remove_name(two, hostile).await.unwrap();
        assert!(before.is_named(hostile));
        assert_eq!(names(&vault, two).await, None);
    }
    // A name is one key's.
    let taken = vault.create_key().name("b").await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::DuplicateKey);
    assert_eq!(
        vault.add_name(two, "b").await.unwrap_err().kind(),
        ErrorKind::DuplicateKey
    );
    // Until it is taken away; what it was before is given back, as other drivers do.
    assert_eq!(vault.remove_name(one, "b").await.unwrap().names.unwrap().len(), 2);
    assert_eq!(names(&vault, one).await, Some(vec!["a".into()]));
    assert_eq!(vault.add_name(two, "b").await.unwrap().names, None);
    assert_eq!(
        vault.add_name(two, "b").await.unwrap().names,
        Some(vec!["b".into()])
    );
    assert_eq!(names(&vault, two).await, Some(vec!["b".into()]));
    // Another's, or none.
    vault.remove_name(two, "a").await.unwrap();
    vault.remove_name(three, "a").await.unwrap();
    assert_eq!(
        (names(&vault, two).await, names(&vault, three).await),
        (Some(vec!["b".into()]), None)
    );
    let missing = Uuid::new();
    for error in [
        vault.add_name(missing, "c").await.unwrap_err(),
        vault.remove_name(missing, "c").await.unwrap_err(),
        vault
            .encrypt::<i32, odm_patterns::encryption::Random>(missing, 1)
            .await
            .unwrap_err(),
    ] {
        assert_eq!(
            error.to_string(),
            format!("there is no such key in the vault (key: {missing})")
        );
    }
    assert!(!vault.delete_key(missing).await.unwrap());
}

async fn keys_are_stored_as_specified(db: &Db) {
    let vault = vault(db);
    let named = vault.create_key().name("a").await.unwrap();
    vault.create_key().await.unwrap();
    let stored = db.raw_collection("__keyVault");
    let key = stored.find_one(doc! { "_id": named }).await.unwrap().unwrap();
    let fields: Vec<&str> = key.keys().map(String::as_str).collect();
    let expected = [
        "_id",
        "keyAltNames",
        "keyMaterial",
        "creationDate",
        "updateDate",
        "status",
        "masterKey",
    ];
    assert_eq!(fields, expected);
    assert_eq!(key.get_binary_generic("keyMaterial").unwrap().len(), 160);
    assert_eq!(
        key.get_document("masterKey").unwrap(),
        &doc! { "provider": "local" }
    );
    assert_eq!(
        stored
            .count(doc! { "keyAltNames": { "$exists": false } })
            .await
            .unwrap(),
        1
    );
    let indexes = vault.keys().list_indexes().await.unwrap();
    let index = indexes
        .iter()
        .find(|index| index.name == "keyAltNames_1")
        .unwrap();
    let index = format!("{index:?}");
    assert!(index.contains("unique") && index.contains("$exists"), "{index}");
    // Two keys of the same bytes are wrapped differently.
    let mut wrapped = HashSet::new();
    for _ in 0..3 {
        let id = vault
            .create_key()
            .material(KeyMaterial::from([7; 96]))
            .await
            .unwrap();
        wrapped.insert(vault.key(id).await.unwrap().unwrap().wrapped.bytes);
    }
    assert_eq!(wrapped.len(), 3);
}

async fn all_that_ask_at_once_get_one_key(db: &Db) {
    let vault = vault(db);
    let asked = (0..10).map(|_| {
        let vault = vault.clone();
        async move { vault.find_or_create_key("people").await.unwrap() }
    });
    let ids: HashSet<Uuid> = join_all(asked).await.into_iter().collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(vault.keys().count(|_| Filter::all()).await.unwrap(), 1);
}

async fn keys_are_found_by_indexes(db: &Db) {
    let vault = vault(db);
    let id = vault.create_key().name("a").await.unwrap();
    let other = vault.create_key().name("b").await.unwrap();
    let vault = vault.on(&db.refuse_scans());
    assert!(vault.key(id).await.unwrap().is_some() && vault.key_by_name("a").await.unwrap().is_some());
    let both = [KeyRef::from("a"), other.into()];
    let keyring = vault.keyring(&both).await.unwrap();
    assert_eq!((keyring.id("a"), keyring.id(other)), (Some(id), Some(other)));
    vault.forget();
    assert_eq!(vault.keyring(["a", "b"]).await.unwrap().id("b"), Some(other));
    vault.forget();
    assert!(vault.keyring([id, other]).await.unwrap().id("b").is_none());
    vault.add_name(id, "c").await.unwrap();
    vault.remove_name(id, "c").await.unwrap();
    assert_eq!(vault.rewrap().await.unwrap().wrapped, 2);
    vault.delete_key(id).await.unwrap();
}

async fn keys_are_asked_for_once_a_minute(db: &Db) {
    let vault = vault(db);
    let id = vault.create_key().name("a").name("b").await.unwrap();
    let (clocked, seconds) = clocked(db);
    let (logged, log) = clocked.logged();
    let vault = vault.on(&logged);
    let encrypt = async |key: &str| -> usize {
        vault
            .encrypt_bson(key, Algorithm::Random, &1.into())
            .await
            .unwrap();
        log.take().len()
    };
    assert_eq!(
        (encrypt("a").await, encrypt("a").await, encrypt("b").await),
        (1, 0, 0)
    );
    let by_id = vault
        .encrypt_bson(id, Algorithm::Random, &1.into())
        .await
        .unwrap();
    vault.decrypt_bson(&by_id.into()).await.unwrap();
    assert_eq!(log.take().len(), 0);
    seconds.fetch_add(59, Ordering::SeqCst);
    assert_eq!(encrypt("a").await, 0);
    seconds.fetch_add(1, Ordering::SeqCst);
    assert_eq!((encrypt("a").await, encrypt("b").await), (1, 0));
    // A clock that goes back.
    seconds.fetch_sub(10, Ordering::SeqCst);
    assert_eq!((encrypt("a").await, encrypt("a").await), (1, 0));
    vault.forget();
    assert_eq!(encrypt("a").await, 1);
    // By its own changes it asks anew.
    vault.remove_name(id, "b").await.unwrap();
    log.take();
    let error = vault
        .encrypt_bson("b", Algorithm::Random, &1.into())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "there is no such key in the vault (key: b)");
    assert_eq!((log.take().len(), encrypt("a").await), (1, 1));
    // Without a cache.
    let options = VaultOptions::new().database(db.name()).cache(Duration::ZERO);
    let other = KeyVault::with(&logged, options, LocalKey::generate().unwrap()).unwrap();
    let id = other.create_key().await.unwrap();
    log.take();
    for _ in 0..2 {
        other
            .encrypt_bson(id, Algorithm::Random, &1.into())
            .await
            .unwrap();
        assert_eq!(log.take().len(), 1);
    }
    // Many keys at once; those that are not there are so when they are used.
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(other.create_key().name(format!("n{n}")).await.unwrap());
    }
    log.take();
    let keyring = other.keyring(ids.iter().chain([&Uuid::new()])).await.unwrap();
    assert_eq!(log.take().len(), 1);
    assert!(keyring.encrypt_bson(ids[3], Algorithm::Random, &1.into()).is_ok());
    assert!(
        keyring
            .encrypt_bson("n3", Algorithm::Random, &1.into())
            .unwrap_err()
            .is_not_found()
    );
    assert!(
        other
            .keyring(Vec::<Uuid>::new())
            .await
            .unwrap()
            .id("n3")
            .is_none()
    );
    assert_eq!(log.take().len(), 0);
}

async fn deleted_keys_shred_what_they_encrypted(db: &Db) {
    let vault = vault(db);
    let (one, two) = (
        vault.create_key().await.unwrap(),
        vault.create_key().await.unwrap(),
    );
    let secrets: Vec<Encrypted<i32>> = vec![
        vault.encrypt(one, 1).await.unwrap(),
        vault.encrypt(two, 2).await.unwrap(),
    ];
    assert_eq!(vault.decrypt_many(&secrets).await.unwrap(), [1, 2]);
    assert!(vault.delete_key(one).await.unwrap());
    assert!(!vault.delete_key(one).await.unwrap());
    let error = vault.decrypt_many(&secrets).await.unwrap_err();
    assert!(error.is_not_found(), "{error:?}");
    // The others are still there.
    let keyring = vault.keyring(secrets.iter().map(Encrypted::key)).await.unwrap();
    let decrypted: Vec<Option<i32>> = secrets
        .iter()
        .map(|secret| keyring.decrypt(secret).ok())
        .collect();
    assert_eq!(decrypted, [None, Some(2)]);
}

async fn a_key_that_is_rolled_back_encrypts_nothing(db: &Db) {
    let vault = vault(db);
    vault.create_indexes().await.unwrap();
    let tx = db.begin().await.unwrap();
    let inside = vault.on(&tx);
    let id = inside.create_key().name("a").await.unwrap();
    let secret: Encrypted<i32> = inside.encrypt("a", 1).await.unwrap();
    assert_eq!(inside.decrypt(&secret).await.unwrap(), 1);
    tx.abort().await;
    assert!(
        vault
            .encrypt_bson(id, Algorithm::Random, &1.into())
            .await
            .unwrap_err()
            .is_not_found()
    );
    assert!(vault.decrypt(&secret).await.unwrap_err().is_not_found());
    // One that is committed does.
    let made = db
        .transaction(async |tx| {
            let inside = vault.on(&tx);
            inside.create_key().name("a").await?;
            Ok(inside
                .encrypt::<i32, odm_patterns::encryption::Random>("a", 2)
                .await?)
        })
        .await
        .unwrap();
    assert_eq!(vault.decrypt(&made).await.unwrap(), 2);
}

async fn vaults_are_where_they_are_said_to_be(db: &Db) {
    let master = LocalKey::generate().unwrap();
    let bad = VaultOptions::new().database("a.b");
    let error = KeyVault::with(db, bad, master.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        KeyVault::new(db, master.clone()).keys().namespace(),
        "encryption.__keyVault"
    );
    let name = format!("{}_keys", db.name());
    let elsewhere = VaultOptions::new().database(&name).collection("keys");
    let vault = KeyVault::with(db, elsewhere, master).unwrap();
    let id = vault.create_key().await.unwrap();
    let keys = db.database(&name).unwrap();
    assert_eq!(
        keys.raw_collection("keys")
            .count(doc! { "_id": id })
            .await
            .unwrap(),
        1
    );
    let secret: Encrypted<String> = vault.encrypt(id, "x").await.unwrap();
    assert_eq!(vault.decrypt(&secret).await.unwrap(), "x");
    keys.drop().await.unwrap();
}

async fn secrets_are_not_shown(db: &Db) {
    let material: [u8; 96] = std::array::from_fn(|at| 100 + (at as u8 % 100));
    let master = LocalKey::new(material.into());
    let options = VaultOptions::new().database(db.name());
    let vault = KeyVault::with(db, options, master.clone())
        .unwrap()
        .also(Service::default());
    let action = vault.create_key().name("a").material(material.into());
    let shown = format!(
        "{action:?} {vault:?} {master:?} {:?}",
        KeyMaterial::from(material)
    );
    action.await.unwrap();
    let keyring = vault.keyring(["a"]).await.unwrap();
    let shown = format!("{shown} {keyring:?} {vault:?} {:?}", vault.rewrap());
    for secret in ["100, 101", "101, 102", "6465", "defg"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(master.clone().named("").is_err() && master.clone().named("a b").is_err());
    assert!(LocalKey::from_slice(&[1; 95]).is_err() && KeyMaterial::from_slice(&[1; 97]).is_err());
    assert!(
        "AEAD_AES_256_CBC_HMAC_SHA_512-random"
            .parse::<Algorithm>()
            .is_err()
    );
}

async fn keys_are_no_less_safe_than_their_handle(db: &Db) {
    let Some((db, sent)) = recorded(db).await else {
        return;
    };
    let handle = db
        .with_write_concern(
            WriteConcern::members(1)
                .journal(true)
                .timeout(Duration::from_secs(9)),
        )
        .unwrap()
        .with_read_concern(ReadConcern::Linearizable)
        .unwrap();
    let vault = vault(&handle);
    let id = vault.create_key().await.unwrap();
    let insert = sent.only("insert");
    let concern = insert.get_document("writeConcern").unwrap();
    assert_eq!(concern.get_str("w").unwrap(), "majority");
    assert!(concern.get_bool("j").unwrap(), "{concern}");
    let wait = concern.get("wtimeout");
    assert!(
        matches!(wait, Some(Bson::Int32(9_000) | Bson::Int64(9_000))),
        "{concern}"
    );
    assert!(vault.key(id).await.unwrap().is_some());
    for find in sent.take("find") {
        assert_eq!(level(&find), Some("linearizable"));
    }
}
