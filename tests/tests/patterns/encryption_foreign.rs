//! Keys and values that are exchanged with another driver.

use bson::{Bson, Document, doc};
use odm::{Db, Model};
use odm_patterns::encryption::{
    Algorithm, Deterministic, Encrypted, KeyMaterial, KeyVault, LocalKey, VaultOptions,
};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    values_are_exchanged_with_pymongo,
}

/// What the other driver does with ours, and what it leaves.
const PYTHON: &str = r#"
import datetime, sys
import pymongo
from bson import Binary, Code, Decimal128, Int64, ObjectId, Regex, Timestamp
from bson.codec_options import CodecOptions
from pymongo.encryption import ClientEncryption
from pymongo.encryption_options import AutoEncryptionOpts
uri, name = sys.argv[1:]
kms = {"local": {"key": bytes(range(96))}, "local:second": {"key": bytes(reversed(range(96)))}}
client = pymongo.MongoClient(uri)
db = client[name]
driver = ClientEncryption(kms, name + ".__keyVault", client, CodecOptions())
random, same = ["AEAD_AES_256_CBC_HMAC_SHA_512-" + kind for kind in ("Random", "Deterministic")]

# Ours, decrypted by hand, made again to the byte, and decrypted automatically.
ours = driver.get_key_by_alt_name("ours")
for found in db.ours.find():
    for algorithm in ("random", "same"):
        if algorithm in found:
            assert driver.decrypt(found[algorithm]) == found["plain"], found
    if "same" in found:
        assert driver.encrypt(found["plain"], same, ours["_id"]) == found["same"], found
automatic = pymongo.MongoClient(uri, auto_encryption_opts=AutoEncryptionOpts(
    kms, name + ".__keyVault", bypass_auto_encryption=True))
for found in automatic[name].ours.find():
    assert found["random"] == found["plain"], found
automatic.close()
assert dict(driver.get_key_by_alt_name("second")["masterKey"]) == {"provider": "local:second"}
driver.decrypt(db.second.find_one()["v"])

# Theirs: a key, values of every type, names, and our key wrapped by another master key.
theirs = driver.create_data_key("local:second", key_alt_names=["theirs", "more"])
plain = [1, Int64(2), 1.5, "x", True, {"a": [1, {"b": None}]}, [1, "two"], Decimal128("1.50"), ObjectId(),
    datetime.datetime(2026, 1, 2), Regex("a", "i"), Code("x"), Code("x", {"a": 1}), Timestamp(1, 2),
    Binary(b"abc", 128), Binary(bytes(16), 4)]
for number, value in enumerate(plain):
    document = {"_id": number, "plain": value, "random": driver.encrypt(value, random, theirs)}
    if not isinstance(value, (float, bool, dict, list, Decimal128)) and number != 12:
        document["same"] = driver.encrypt(value, same, key_alt_name="more")
    db.theirs.insert_one(document)
driver.add_key_alt_name(ours["_id"], "added")
driver.remove_key_alt_name(ours["_id"], "ours")
result = driver.rewrap_many_data_key({"_id": ours["_id"]}, provider="local:second")
assert result.bulk_write_result.modified_count == 1
"#;

fn every_type() -> Vec<(Bson, bool)> {
    vec![
        (Bson::Int32(5), true),
        (Bson::Int64(5), true),
        ("457-55-5462".into(), true),
        (bson::oid::ObjectId::from_bytes([7; 12]).into(), true),
        (bson::DateTime::from_millis(1_000).into(), true),
        (
            bson::Timestamp {
                time: 1,
                increment: 2,
            }
            .into(),
            true,
        ),
        (Bson::JavaScriptCode("x()".into()), true),
        (bson::Uuid::from_bytes([4; 16]).into(), true),
        (1.5.into(), false),
        (true.into(), false),
        (bson::bson!({ "a": [1, { "b": null }] }), false),
        (bson::bson!([1, "two", []]), false),
        (Bson::Decimal128("1.50".parse().unwrap()), false),
    ]
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "theirs")]
struct Theirs {
    #[serde(rename = "_id")]
    id: i32,
    same: Encrypted<String, Deterministic>,
    random: Encrypted<String>,
}

async fn values_are_exchanged_with_pymongo(db: &Db) {
    if db.backend_name() != "mongodb" {
        return;
    }
    let python = |arguments: &[&str]| std::process::Command::new("python3").args(arguments).output();
    if !python(&["-c", "import pymongo.encryption, pymongocrypt"]).is_ok_and(|output| output.status.success())
    {
        assert!(
            std::env::var_os("ODM_TEST_REQUIRE_PYMONGO").is_none(),
            "ODM_TEST_REQUIRE_PYMONGO is set, but python3 has no pymongo with encryption"
        );
        eprintln!("skipped: python3 with pymongo[encryption] is needed to exchange values with it");
        return;
    }
    let mut bytes: [u8; 96] = std::array::from_fn(|at| at as u8);
    let first = LocalKey::new(bytes.into());
    bytes.reverse();
    let second = LocalKey::new(bytes.into()).named("second").unwrap();
    let options = || VaultOptions::new().database(db.name());
    let vault = KeyVault::with(db, options(), first).unwrap().also(second.clone());
    let material = KeyMaterial::from([9; 96]);
    let ours = vault.create_key().name("ours").material(material).await.unwrap();
    for (id, (plain, is_deterministic)) in every_type().into_iter().enumerate() {
        let random = vault
            .encrypt_bson("ours", Algorithm::Random, &plain)
            .await
            .unwrap();
        let mut document = doc! { "_id": id as i32, "plain": &plain, "random": random };
        if is_deterministic {
            let same = vault
                .encrypt_bson("ours", Algorithm::Deterministic, &plain)
                .await
                .unwrap();
            document.insert("same", same);
        }
        db.raw_collection("ours").insert(document).await.unwrap();
    }
    let other = KeyVault::with(db, options(), second).unwrap();
    other.create_key().name("second").await.unwrap();
    let value = other
        .encrypt_bson("second", Algorithm::Random, &1.into())
        .await
        .unwrap();
    db.raw_collection("second")
        .insert(doc! { "_id": 1, "v": value })
        .await
        .unwrap();
    vault.rewrap().only(|k| k.id.eq(ours)).await.unwrap();

    let uri = odm_tests::harness::mongodb_uri().unwrap();
    let output = python(&["-c", PYTHON, &uri, db.name()]).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let stored = db.raw_collection("theirs").find_all().await.unwrap();
    assert_eq!(stored.len(), 16);
    let decrypted: Vec<Document> = vault.decrypt_documents(stored.clone()).await.unwrap();
    for (decrypted, stored) in decrypted.iter().zip(&stored) {
        let plain = decrypted.get("plain").unwrap();
        assert_eq!(decrypted.get("random"), Some(plain));
        let Some(Bson::Binary(same)) = stored.get("same") else {
            continue;
        };
        assert_eq!(decrypted.get("same"), Some(plain));
        let made = vault
            .encrypt_bson("theirs", Algorithm::Deterministic, plain)
            .await
            .unwrap();
        assert_eq!(&made, same);
    }
    // Typed, found by equality.
    let x: Encrypted<String, Deterministic> = vault.encrypt("more", "x").await.unwrap();
    let found = db.collection::<Theirs>().find(|t| t.same.eq(&x)).await.unwrap();
    assert_eq!((found.len(), found[0].id), (1, 3));
    assert_eq!(vault.decrypt(&found[0].random).await.unwrap(), "x");
    // Our key has another name and another master key, and is the same.
    let key = vault.key(ours).await.unwrap().unwrap();
    assert_eq!(
        (key.names, key.master_key),
        (Some(vec!["added".into()]), doc! { "provider": "local:second" })
    );
    let read = db.raw_collection("ours").find_all().await.unwrap();
    for decrypted in other.decrypt_documents(read).await.unwrap() {
        assert_eq!(decrypted.get("random"), decrypted.get("plain"));
    }
}
