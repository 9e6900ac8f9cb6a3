//! What can be encrypted, values of every type, and documents of any shape.

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Decimal128, Document, Timestamp, Uuid, doc};
use odm::{Db, ErrorKind};
use odm_patterns::encryption::{Algorithm, Deterministic, Encrypted, EncryptionError, Random as Randomly};
use odm_tests::random::Random;
use serde::Deserialize;

use super::encryption::with_key;

crate::on_every_backend! {
    types_that_an_algorithm_refuses,
    values_of_every_type_come_back,
    raw_documents_are_decrypted,
    damage_is_named_and_never_a_value,
    what_looks_like_extended_json_is_no_other_value,
}

fn every_type() -> Vec<(Bson, bool)> {
    let binary = |subtype, bytes: &[u8]| {
        Bson::Binary(Binary {
            subtype,
            bytes: bytes.to_vec(),
        })
    };
    let regex = bson::Regex {
        pattern: bson::raw::cstr!("a.b").into(),
        options: bson::raw::cstr!("im").into(),
    };
    let scoped = bson::JavaScriptCodeWithScope {
        code: "x()".into(),
        scope: doc! { "a": 1 },
    };
    vec![
        (Bson::Int32(i32::MIN), true),
        (Bson::Int64(i64::MAX), true),
        (Bson::from(""), true),
        (Bson::from("Ärger\0\u{10ffff}"), true),
        (Bson::ObjectId(ObjectId::from_bytes([7; 12])), true),
        (Bson::DateTime(DateTime::from_millis(-1)), true),
        (
            Bson::Timestamp(Timestamp {
                time: 1,
                increment: 2,
            }),
            true,
        ),
        (Bson::RegularExpression(regex), true),
        (Bson::JavaScriptCode("x()".into()), true),
        (Bson::Symbol("s".into()), true),
        (binary(BinarySubtype::Generic, b""), true),
        (binary(BinarySubtype::Uuid, &[1; 16]), true),
        (binary(BinarySubtype::UserDefined(200), b"abc"), true),
        (Bson::Double(-0.0), false),
        (Bson::Decimal128("1.50".parse::<Decimal128>().unwrap()), false),
        (Bson::Boolean(true), false),
        (Bson::Array(vec![Bson::Null, 1.into()]), false),
        (bson::bson!({}), false),
        (
            bson::bson!({ "a": { "b": [null, { "c": "" }] }, "$d.e": 1 }),
            false,
        ),
        (Bson::JavaScriptCodeWithScope(scoped), false),
    ]
}

async fn types_that_an_algorithm_refuses(db: &Db) {
    let vault = with_key(db).await;
    for (value, is_deterministic) in every_type() {
        for algorithm in [Algorithm::Deterministic, Algorithm::Random] {
            let encrypted = vault.encrypt_bson("patients", algorithm, &value).await;
            if is_deterministic || algorithm == Algorithm::Random {
                let encrypted = Bson::Binary(encrypted.unwrap());
                assert_eq!(vault.decrypt_bson(&encrypted).await.unwrap(), value);
                // What is encrypted is not encrypted again.
                let error = vault
                    .encrypt_bson("patients", algorithm, &encrypted)
                    .await
                    .unwrap_err();
                assert!(matches!(error, EncryptionError::Refused { .. }), "{error:?}");
            } else {
                let error = encrypted.unwrap_err();
                assert!(matches!(error, EncryptionError::Refused { .. }), "{error:?}");
                assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            }
        }
    }
    for never in [Bson::Null, Bson::Undefined, Bson::MinKey, Bson::MaxKey] {
        for algorithm in [Algorithm::Deterministic, Algorithm::Random] {
            let error = vault
                .encrypt_bson("patients", algorithm, &never)
                .await
                .unwrap_err();
            assert!(matches!(error, EncryptionError::Refused { .. }), "{error:?}");
        }
    }
    // The same by Rust types.
    let refused = vault
        .encrypt::<f64, Deterministic>("patients", 1.5)
        .await
        .unwrap_err();
    let text = "the algorithm does not take values of this type (type: Double, algorithm: \
                AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic)";
    assert_eq!(refused.to_string(), text);
    assert!(
        vault
            .encrypt::<bool, Deterministic>("patients", true)
            .await
            .is_err()
    );
    assert!(
        vault
            .encrypt::<Option<i32>, Randomly>("patients", None)
            .await
            .is_err()
    );
    let error = vault
        .encrypt::<u64, Deterministic>("patients", u64::MAX)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encode);
    // A value that is nested too deep is an error, and no end of the process.
    let nested = |depth| (0..depth).fold(Bson::from(1), |inner, _| Bson::Array(vec![inner]));
    let deep = nested(300);
    let error = vault.decrypt_document(doc! { "a": deep }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let nested = nested(5_000);
    let error = vault
        .encrypt_bson("patients", Algorithm::Random, &nested)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encode);
    let error = vault
        .encrypt::<Bson, Randomly>("patients", &nested)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encode);
    // To drop it takes as deep a stack as to clone it.
    std::mem::forget(nested);
}

fn any_value(random: &mut Random, depth: usize) -> Bson {
    let kinds = every_type();
    match random.below(if depth == 0 { 4 } else { 6 }) {
        0 => Bson::Double(f64::from_bits(random.bits())),
        1 => Bson::Int64(random.bits() as i64),
        2 => Bson::String("x".repeat(random.below(40))),
        3 => random.pick(&kinds).0.clone(),
        4 => (0..random.below(4))
            .map(|_| any_value(random, depth - 1))
            .collect::<Vec<_>>()
            .into(),
        _ => {
            let fields = (0..random.below(4)).map(|at| (format!("f{at}"), any_value(random, depth - 1)));
            Bson::Document(fields.collect())
        }
    }
}

async fn values_of_every_type_come_back(db: &Db) {
    let vault = with_key(db).await;
    let keyring = vault.keyring(["patients"]).await.unwrap();
    let values = db.raw_collection("values");
    let mut random = Random::new(7);
    let mut plain = Vec::new();
    for id in 0..300 {
        let value = any_value(&mut random, 4);
        let encrypted = keyring
            .encrypt_bson("patients", Algorithm::Random, &value)
            .unwrap();
        values.insert(doc! { "_id": id, "v": encrypted }).await.unwrap();
        plain.push(doc! { "_id": id, "v": value });
    }
    let stored = values.find(doc! {}).sort_raw(doc! { "_id": 1 }).await.unwrap();
    let decrypted = vault.decrypt_documents(stored).await.unwrap();
    for (decrypted, plain) in decrypted.iter().zip(&plain) {
        // To the bit: a number that is none is not equal to itself.
        assert_eq!(decrypted.to_vec().unwrap(), plain.to_vec().unwrap(), "{plain}");
    }
    assert_eq!(decrypted.len(), plain.len());
}

async fn raw_documents_are_decrypted(db: &Db) {
    let vault = with_key(db).await;
    let other = vault.create_key().await.unwrap();
    let seal = async |value: Bson| {
        vault
            .encrypt_bson("patients", Algorithm::Random, &value)
            .await
            .unwrap()
    };
    let (one, two) = (seal(1.into()).await, seal("two".into()).await);
    let three = vault
        .encrypt_bson(other, Algorithm::Deterministic, &3.into())
        .await
        .unwrap();
    let unknown = Binary {
        subtype: BinarySubtype::Encrypted,
        bytes: vec![7, 1, 2, 3],
    };
    // What is encrypted inside of what is encrypted stays so.
    let inner = seal(bson::bson!({ "inner": &one })).await;
    let stored = doc! {
        "_id": 1, "a": &one, "list": [{ "b": &two }, [&three]], "unknown": &unknown, "empty": {}, "none": null, "d": inner,
    };
    db.raw_collection("c").insert(&stored).await.unwrap();
    let found = db.raw_collection("c").find_one(doc! {}).await.unwrap().unwrap();
    let expected = doc! {
        "_id": 1, "a": 1, "list": [{ "b": "two" }, [3]], "unknown": unknown, "empty": {}, "none": null,
        "d": { "inner": &one },
    };
    assert_eq!(vault.decrypt_document(found).await.unwrap(), expected);
    assert_eq!(vault.decrypt_document(Document::new()).await.unwrap(), doc! {});

    // One round trip for all keys of many documents; the field is named where a key is gone.
    let (db, log) = db.logged();
    let fresh = vault.on(&db);
    fresh.decrypt_documents(vec![stored.clone(); 20]).await.unwrap();
    assert_eq!(log.round_trips(), 1);
    vault.delete_key(other).await.unwrap();
    fresh.forget();
    let error = fresh.decrypt_document(stored).await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(
        error.to_string(),
        format!("there is no such key in the vault (field: list.1.0, key: {other})")
    );
    assert_eq!(odm::Error::from(error).path(), Some("list.1.0"));
}

async fn damage_is_named_and_never_a_value(db: &Db) {
    let vault = with_key(db).await;
    let key = vault.key_by_name("patients").await.unwrap().unwrap().id;
    let other = vault.create_key().await.unwrap();
    let sealed = vault
        .encrypt_bson(key, Algorithm::Random, &"secret".into())
        .await
        .unwrap();
    for at in [0, 5, 17, 18, 40, sealed.bytes.len() - 1] {
        let mut damaged = sealed.clone();
        damaged.bytes[at] ^= 4;
        let error = vault
            .decrypt_document(doc! { "a": { "b": damaged.clone() } })
            .await;
        match at {
            // An unknown algorithm is passed over in documents.
            0 => assert_eq!(error.unwrap(), doc! { "a": { "b": damaged.clone() } }),
            5 => assert!(error.unwrap_err().is_not_found()),
            _ => {
                let error = odm::Error::from(error.unwrap_err());
                assert_eq!(
                    (error.kind(), error.path()),
                    (ErrorKind::Corrupt, Some("a.b")),
                    "{at}"
                );
                let key = key.to_string();
                assert_eq!(error.note("key"), Some(key.as_str()));
            }
        }
        assert!(vault.decrypt_bson(&damaged.into()).await.is_err());
    }
    // The id of another key that is there.
    let mut swapped = sealed.clone();
    swapped.bytes[1..17].copy_from_slice(&other.bytes());
    let error = vault.decrypt_bson(&swapped.into()).await.unwrap_err();
    assert!(
        matches!(error, EncryptionError::Damaged { key } if key == other),
        "{error:?}"
    );
    let error = vault.decrypt_bson(&Uuid::new().into()).await.unwrap_err();
    assert!(matches!(error, EncryptionError::NotEncrypted { .. }), "{error:?}");
}

#[derive(Debug, Deserialize)]
struct Shown<T> {
    v: T,
}

async fn what_looks_like_extended_json_is_no_other_value(db: &Db) {
    let vault = with_key(db).await;
    for value in [
        doc! { "a": { "$numberLong": "5" } },
        doc! { "a": [{ "$date": { "$numberLong": "7" } }] },
        doc! { "$oid": "6553f1000000000000000000" },
    ] {
        let value = Bson::Document(value);
        let sealed = vault
            .encrypt_bson("patients", Algorithm::Random, &value)
            .await
            .unwrap();
        let stored = doc! { "v": &sealed };
        // As it is, where no type is asked for.
        assert_eq!(vault.decrypt_bson(&sealed.clone().into()).await.unwrap(), value);
        let encrypted: Encrypted<Document> = Encrypted::from_binary(sealed.clone()).unwrap();
        let any: Encrypted<Bson> = Encrypted::from_binary(sealed).unwrap();
        for error in [
            vault.decrypt(&encrypted).await.map(drop).unwrap_err(),
            vault.decrypt(&any).await.map(drop).unwrap_err(),
            vault
                .decrypt_as::<Shown<Bson>>(&stored)
                .await
                .map(drop)
                .unwrap_err(),
        ] {
            assert!(
                matches!(error, EncryptionError::WrongType { .. }),
                "{value}: {error:?}"
            );
            // The reason shows nothing of the value.
            assert!(!format!("{error} {error:?}").contains('$'), "{error:?}");
        }
    }
    let plain = vault
        .encrypt_bson("patients", Algorithm::Random, &5_i64.into())
        .await
        .unwrap();
    let shown: Shown<Bson> = vault.decrypt_as(&doc! { "v": plain }).await.unwrap();
    assert_eq!(shown.v, Bson::Int64(5));
}
