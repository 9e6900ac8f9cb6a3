//! Encrypted fields: values of models, found by equality, never seen by the database.

use std::collections::BTreeMap;

use bson::spec::{BinarySubtype, ElementType};
use bson::{Binary, Bson, DateTime, doc};
use odm::{BsonType, Db, Embedded, ErrorKind, Model};
use odm_patterns::encryption::{
    Algorithm, Deterministic, Encrypted, EncryptionError, KeyVault, LocalKey, VaultOptions,
};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    models_hold_encrypted_values,
    deterministic_values_are_found_and_unique,
    an_id_can_be_encrypted,
    the_database_sees_no_plaintext,
    what_is_not_encrypted_is_refused_without_being_shown,
    models_are_decrypted_at_once,
    ciphertexts_are_exchanged_only_if_they_are_still_there,
    encrypted_fields_stand_anywhere,
    vaults_are_used_from_any_thread,
}

/// A vault in the case's own database.
pub fn vault(db: &Db) -> KeyVault {
    let options = VaultOptions::new().database(db.name());
    KeyVault::with(db, options, LocalKey::generate().unwrap()).unwrap()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "patients")]
struct Patient {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(unique)]
    ssn: Encrypted<String, Deterministic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Encrypted<Vec<String>>>,
    visits: Vec<Visit>,
    allergies: Vec<Encrypted<String, Deterministic>>,
    contacts: BTreeMap<String, Encrypted<Contact>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Visit {
    at: DateTime,
    weight: Encrypted<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Contact {
    name: String,
    phone: Option<String>,
}

fn contact() -> Contact {
    Contact {
        name: "Berta Blau".to_owned(),
        phone: Some("555-0199".to_owned()),
    }
}

async fn patient(vault: &KeyVault, id: i32, ssn: &str) -> Patient {
    let visit = Visit {
        at: DateTime::from_millis(7),
        weight: vault.encrypt("patients", 62.5).await.unwrap(),
    };
    let notes = ["sleeps badly".to_owned(), "penicillin".to_owned()];
    Patient {
        id,
        ssn: vault.encrypt("patients", ssn).await.unwrap(),
        notes: Some(vault.encrypt("patients", notes).await.unwrap()),
        visits: vec![visit],
        allergies: vault.encrypt_many("patients", ["nuts", "cats"]).await.unwrap(),
        contacts: [(
            "sister".to_owned(),
            vault.encrypt("patients", contact()).await.unwrap(),
        )]
        .into(),
    }
}

/// The same with a key named `patients`.
pub async fn with_key(db: &Db) -> KeyVault {
    let vault = vault(db);
    vault.create_key().name("patients").await.unwrap();
    vault
}

async fn models_hold_encrypted_values(db: &Db) {
    let vault = with_key(db).await;
    let patients = db.collection::<Patient>();
    let ann = patient(&vault, 1, "457-55-5462").await;
    patients.insert(&ann).await.unwrap();
    let found = patients.get(1).await.unwrap().unwrap();
    assert_eq!(found, ann);
    assert_eq!(vault.decrypt(&found.ssn).await.unwrap(), "457-55-5462");
    let notes = vault.decrypt(found.notes.as_ref().unwrap()).await.unwrap();
    assert_eq!(notes, ["sleeps badly", "penicillin"]);
    assert_eq!(vault.decrypt(&found.visits[0].weight).await.unwrap(), 62.5);
    assert_eq!(
        vault.decrypt_many(&found.allergies).await.unwrap(),
        ["nuts", "cats"]
    );
    assert_eq!(vault.decrypt(&found.contacts["sister"]).await.unwrap(), contact());

    // Each is a binary of subtype 6.
    let stored = patients.raw().find_one(doc! {}).await.unwrap().unwrap();
    let Some(Bson::Binary(ssn)) = stored.get("ssn") else {
        panic!("{stored:?}")
    };
    assert_eq!(
        (ssn.subtype, ssn),
        (BinarySubtype::Encrypted, ann.ssn.as_binary())
    );
    let is_binary = patients.count(|p| p.ssn.has_type(BsonType::Binary) & p.notes.has_type(BsonType::Binary));
    assert_eq!(is_binary.await.unwrap(), 1);

    // They are set and unset as any others, also inside.
    let weight: Encrypted<f64> = vault.encrypt("patients", 61.0).await.unwrap();
    let none = None::<Encrypted<Vec<String>>>;
    patients
        .update_one(
            |p| p.id.eq(1),
            |p| p.visits.at(0).weight.set(&weight) & p.notes.set(none),
        )
        .await
        .unwrap();
    let found = patients.get(1).await.unwrap().unwrap();
    assert_eq!((&found.visits[0].weight, found.notes), (&weight, None));
    assert_eq!(vault.decrypt(&weight).await.unwrap(), 61.0);
}

async fn deterministic_values_are_found_and_unique(db: &Db) {
    let vault = with_key(db).await;
    let patients = db.collection::<Patient>();
    patients.sync_indexes().await.unwrap();
    for (id, ssn) in [(1, "457-55-5462"), (2, "123-45-6789")] {
        patients.insert(patient(&vault, id, ssn).await).await.unwrap();
    }
    let error = patients
        .insert(patient(&vault, 3, "123-45-6789").await)
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.index()),
        (ErrorKind::DuplicateKey, Some("ssn_1"))
    );

    let ssn: Encrypted<String, Deterministic> = vault.encrypt("patients", "123-45-6789").await.unwrap();
    let by_ssn = patients.find(|p| p.ssn.eq(&ssn));
    by_ssn.must_use_index().await.unwrap();
    let found = patients.find(|p| p.ssn.eq(&ssn)).await.unwrap();
    assert_eq!((found.len(), found[0].id), (1, 2));
    assert_eq!(patients.count(|p| p.ssn.is_in([&ssn])).await.unwrap(), 1);
    assert_eq!(patients.count(|p| p.ssn.ne(&ssn)).await.unwrap(), 1);
    let cats: Encrypted<String, Deterministic> = vault.encrypt("patients", "cats").await.unwrap();
    assert_eq!(patients.count(|p| p.allergies.has(&cats)).await.unwrap(), 2);
    let distinct = patients.distinct(|p| p.ssn).await.unwrap();
    assert!(distinct.len() == 2 && distinct.contains(&ssn));
    // By another key it is another value.
    vault.create_key().name("other").await.unwrap();
    let other: Encrypted<String, Deterministic> = vault.encrypt("other", "123-45-6789").await.unwrap();
    assert_eq!(patients.count(|p| p.ssn.eq(&other)).await.unwrap(), 0);
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "logins")]
struct Login {
    #[serde(rename = "_id")]
    email: Encrypted<String, Deterministic>,
    times: i32,
}

async fn an_id_can_be_encrypted(db: &Db) {
    let vault = with_key(db).await;
    let logins = db.collection::<Login>();
    let email: Encrypted<String, Deterministic> = vault.encrypt("patients", "ann@example.org").await.unwrap();
    for _ in 0..2 {
        let counted = logins.upsert(|l| l.email.eq(&email), |l| l.times.inc(1));
        counted.await.unwrap();
    }
    assert_eq!(logins.get(&email).await.unwrap().unwrap().times, 2);
}

async fn the_database_sees_no_plaintext(db: &Db) {
    let vault = with_key(db).await;
    let patients = db.collection::<Patient>();
    patients.sync_indexes().await.unwrap();
    let ann = patient(&vault, 1, "457-55-5462").await;
    patients.insert(&ann).await.unwrap();
    let secrets = [
        "457-55-5462",
        "sleeps badly",
        "penicillin",
        "nuts",
        "Berta",
        "555-0199",
    ];
    for name in ["patients", "__keyVault"] {
        for stored in db.raw_collection(name).find_all().await.unwrap() {
            let bytes = stored.to_vec().unwrap();
            for secret in secrets {
                let secret = secret.as_bytes();
                assert!(
                    !bytes.windows(secret.len()).any(|part| part == secret),
                    "{stored:?}"
                );
            }
        }
    }
    let shown = format!(
        "{ann:?} {vault:?} {} {:?}",
        ann.ssn,
        vault.keyring(["patients"]).await.unwrap()
    );
    for secret in secrets {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains(&ann.ssn.key().to_string()), "{shown}");
}

async fn what_is_not_encrypted_is_refused_without_being_shown(db: &Db) {
    let vault = with_key(db).await;
    let patients = db.collection::<Patient>();
    let ann = patient(&vault, 1, "457-55-5462").await;
    patients.insert(&ann).await.unwrap();
    let random = vault
        .encrypt_bson("patients", Algorithm::Random, &"x".into())
        .await
        .unwrap();
    let bytes = |subtype, bytes: &[u8]| {
        Bson::Binary(Binary {
            subtype,
            bytes: bytes.to_vec(),
        })
    };
    for (stored, reason) in [
        (
            Bson::from("457-55-5462"),
            "the value is not encrypted (found: string)",
        ),
        (
            Bson::from(457_555_462),
            "the value is not encrypted (found: number)",
        ),
        (
            bson::bson!({ "secret": "457-55-5462" }),
            "the value is not encrypted (found: document)",
        ),
        (
            bytes(BinarySubtype::Generic, b"457-55-5462"),
            "(found: binary of another subtype)",
        ),
        (
            bytes(BinarySubtype::Encrypted, b"\x01"),
            "the encrypted value is not whole (length: 1)",
        ),
        (
            bytes(BinarySubtype::Encrypted, b""),
            "the encrypted value is not whole (length: 0)",
        ),
        (
            bytes(BinarySubtype::Encrypted, b"\x07secret"),
            "an unknown algorithm (algorithm: 7)",
        ),
        (random.into(), "by another algorithm"),
        (Bson::Null, "(found: null)"),
    ] {
        let set = doc! { "$set": { "ssn": stored } };
        patients.raw().update_one(doc! {}, set).await.unwrap();
        let error = patients.get(1).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.path(), error.id()),
            (ErrorKind::Decode, Some("ssn"), Some(&1.into()))
        );
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(reason), "{shown}");
        // Three digits alone may be those of the database's name.
        let secrets = ["457-55", "457555", "secret"];
        assert!(!secrets.iter().any(|secret| shown.contains(secret)), "{shown}");
    }
    // What was encrypted is of another type than it should be.
    let number = vault
        .encrypt_bson("patients", Algorithm::Deterministic, &457_555_462.into())
        .await
        .unwrap();
    let number = Encrypted::<String, Deterministic>::from_binary(number).unwrap();
    let error = vault.decrypt(&number).await.unwrap_err();
    assert!(
        matches!(
            error,
            EncryptionError::WrongType {
                found: ElementType::Int32,
                ..
            }
        ),
        "{error:?}"
    );
    let shown = format!("{error} {error:?} {:?}", odm::Error::from(error.clone()));
    assert!(!shown.contains("457555462"), "{shown}");
    #[derive(Debug, Deserialize)]
    struct Wrong {
        #[serde(rename = "ssn")]
        _ssn: i32,
    }
    let error = vault.decrypt_as::<Wrong>(&ann).await.unwrap_err();
    let shown = format!("{error} {error:?} {:?}", odm::Error::from(error.clone()));
    assert!(!shown.contains("457-55-5462"), "{shown}");
}

#[derive(Debug, PartialEq, Deserialize)]
struct Shown {
    ssn: String,
    notes: Option<Vec<String>>,
    visits: Vec<ShownVisit>,
    contacts: BTreeMap<String, Contact>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct ShownVisit {
    weight: f64,
}

async fn models_are_decrypted_at_once(db: &Db) {
    let vault = with_key(db).await;
    let patients = db.collection::<Patient>();
    for id in 0..10 {
        patients
            .insert(patient(&vault, id, &format!("{id}")).await)
            .await
            .unwrap();
    }
    let found = patients.find(|p| p.id.gte(0)).sort(|p| p.id.asc()).await.unwrap();
    let (db, log) = db.logged();
    let shown: Vec<Shown> = vault.on(&db).decrypt_all_as(&found).await.unwrap();
    assert_eq!((shown.len(), log.round_trips()), (10, 1));
    assert_eq!((shown[7].ssn.as_str(), shown[7].visits[0].weight), ("7", 62.5));
    assert_eq!(shown[7].contacts["sister"], contact());
    let one: Shown = vault.decrypt_as(&found[7]).await.unwrap();
    assert_eq!(one, shown[7]);
    assert_eq!(
        vault.decrypt_as::<Shown>(&1).await.unwrap_err().kind(),
        ErrorKind::Encode
    );
}

async fn ciphertexts_are_exchanged_only_if_they_are_still_there(db: &Db) {
    let vault = with_key(db).await;
    let patients = db.collection::<Patient>();
    let ann = patient(&vault, 1, "1").await;
    patients.insert(&ann).await.unwrap();
    let new = vault.create_key().name("new").await.unwrap();
    let plain = vault.decrypt(ann.notes.as_ref().unwrap()).await.unwrap();
    let again: Encrypted<Vec<String>> = vault.encrypt(new, plain).await.unwrap();
    for modified in [1, 0] {
        let old = ann.notes.clone();
        let exchanged = patients.update_one(|p| p.id.eq(1) & p.notes.eq(old), |p| p.notes.set(&again));
        assert_eq!(exchanged.await.unwrap().modified, modified);
    }
}

type Word = Encrypted<String, Deterministic>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "places")]
struct Place {
    #[serde(rename = "_id")]
    id: i32,
    kind: Kind,
    #[serde(flatten)]
    extra: Extra,
    words: Vec<Word>,
    pair: (Word, Encrypted<i32>),
    boxed: Option<Box<Word>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "type")]
enum Kind {
    Home { street: Word },
    Office,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Extra {
    door: Word,
    note: Option<Encrypted<i64>>,
}

async fn encrypted_fields_stand_anywhere(db: &Db) {
    let vault = with_key(db).await;
    let keyring = vault.keyring(["patients"]).await.unwrap();
    let word = |text: &str| -> Word { keyring.encrypt("patients", text).unwrap() };
    let place = Place {
        id: 1,
        kind: Kind::Home { street: word("elm") },
        extra: Extra {
            door: word("blue"),
            note: Some(keyring.encrypt("patients", 7).unwrap()),
        },
        words: vec![word("a")],
        pair: (word("b"), keyring.encrypt("patients", 8).unwrap()),
        boxed: Some(Box::new(word("c"))),
    };
    let places = db.collection::<Place>();
    places.insert(&place).await.unwrap();
    assert_eq!(places.get(1).await.unwrap().as_ref(), Some(&place));
    let found = places.count(|p| p.extra.door.eq(word("blue")) & p.kind.home.street.eq(word("elm")));
    assert_eq!(found.await.unwrap(), 1);
    let changed = places.update_one(
        |p| p.words.has(word("a")),
        |p| p.words.push_each([word("d"), word("e")]),
    );
    assert_eq!(changed.await.unwrap().modified, 1);
    places
        .update_one(|p| p.id.eq(1), |p| p.words.pull(word("a")))
        .await
        .unwrap();
    let found = places.get(1).await.unwrap().unwrap();
    let words: Vec<String> = found
        .words
        .iter()
        .map(|word| keyring.decrypt(word).unwrap())
        .collect();
    assert_eq!(words, ["d", "e"]);
    // Texts of JSON are those of its extended form, and are read again.
    let json = serde_json::to_value(&place).unwrap();
    assert_eq!(json["extra"], serde_json::Value::Null);
    assert_eq!(json["door"]["$binary"]["subType"], "06");
    assert_eq!(serde_json::from_value::<Place>(json).unwrap(), place);
}

async fn vaults_are_used_from_any_thread(db: &Db) {
    let vault = with_key(db).await;
    let patients = db.collection::<Patient>();
    let tasks = (0..8).map(|id| {
        let (vault, patients) = (vault.clone(), patients.clone());
        tokio::spawn(async move {
            vault.forget();
            vault.find_or_create_key("patients").await.unwrap();
            let ann = patient(&vault, id, &id.to_string()).await;
            patients.insert(&ann).await.unwrap();
            vault.rewrap().await.unwrap();
            vault
                .decrypt_documents(patients.raw().find_all().await.unwrap())
                .await
                .unwrap();
            vault.decrypt_all_as::<bson::Document>([&ann]).await.unwrap();
            vault.decrypt(&ann.ssn).await.unwrap()
        })
    });
    for (id, task) in tasks.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), id.to_string());
    }
}
