//! Collections with encrypted fields: what the server holds clients to.

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, doc};
use odm::Db;

use super::collections_kinds::options_of;
use super::time_series::code;

crate::on_every_backend! {
    encrypted_fields_are_listed_with_their_collections,
    encrypted_fields_must_go_together,
    values_must_be_encrypted,
    encrypted_fields_have_no_indexes,
}

fn key(id: u8) -> Bson {
    Bson::Binary(Binary {
        subtype: BinarySubtype::Uuid,
        bytes: vec![id; 16],
    })
}

/// How a client encrypts, the type of what was encrypted, and the rest.
fn encrypted(how: u8, kind: u8) -> Bson {
    let mut bytes = vec![how];
    bytes.extend([1; 16]);
    bytes.push(kind);
    bytes.extend([7; 40]);
    Bson::Binary(Binary {
        subtype: BinarySubtype::Encrypted,
        bytes,
    })
}

async fn create(db: &Db, fields: Vec<Document>) -> Option<i32> {
    code(
        db,
        doc! { "create": "c", "encryptedFields": { "fields": fields } },
    )
    .await
}

async fn encrypted_fields_are_listed_with_their_collections(db: &Db) {
    let fields = doc! { "fields": [
        null,
        { "path": "ssn", "keyId": key(1) },
        { "queries": { "queryType": "equality" }, "bsonType": "string", "path": "n.x", "keyId": key(2) },
    ] };
    let create = doc! { "create": "c", "encryptedFields": fields, "validator": { "q": 1 } };
    db.run_command(create).await.unwrap();
    let (_, options) = options_of(db, "c").await;
    assert_eq!(
        options,
        doc! {
            "validator": { "q": 1 },
            "encryptedFields": {
                "escCollection": "enxcol_.c.esc",
                "eccCollection": "enxcol_.c.ecc",
                "ecocCollection": "enxcol_.c.ecoc",
                "fields": [
                    { "keyId": key(1), "path": "ssn" },
                    { "keyId": key(2), "path": "n.x", "bsonType": "string",
                      "queries": { "queryType": "equality", "contention": 4_i64 } },
                ],
            },
        }
    );
    let named = doc! { "fields": [], "escCollection": "a", "eccCollection": "b", "ecocCollection": "c" };
    db.run_command(doc! { "create": "d", "encryptedFields": named })
        .await
        .unwrap();
    let (_, options) = options_of(db, "d").await;
    let kept = options.get_document("encryptedFields").unwrap();
    assert_eq!(
        kept,
        &doc! { "escCollection": "a", "eccCollection": "b", "ecocCollection": "c", "fields": [] }
    );
}

async fn encrypted_fields_must_go_together(db: &Db) {
    let field = |path: &str, id: u8| doc! { "path": path, "keyId": key(id) };
    let of = |kind: &str, equality: bool| {
        let mut field = doc! { "path": "a", "keyId": key(1), "bsonType": kind };
        if equality {
            field.insert("queries", doc! { "queryType": "equality" });
        }
        vec![field]
    };
    for (fields, expected) in [
        (vec![field("a", 1), field("b", 1)], 6_338_401),
        (vec![field("a", 1), field("a", 2)], 6_338_402),
        (vec![field("a", 1), field("a.b", 2)], 6_338_403),
        (vec![field("a.b", 1), field("a", 2)], 6_338_403),
        (of("double", true), 6_338_405),
        (of("object", true), 6_338_405),
        (of("decimal", true), 6_338_405),
        (of("minKey", false), 6_338_406),
        (of("null", false), 6_338_406),
        (
            vec![doc! { "path": "a", "keyId": key(1), "queries": [{ "queryType": "equality" }] }],
            6_412_601,
        ),
    ] {
        assert_eq!(create(db, fields.clone()).await, Some(expected), "{fields:?}");
    }
    for (other, expected) in [
        (doc! { "viewOn": "b" }, 6_346_401),
        (doc! { "timeseries": { "timeField": "t" } }, 6_346_401),
        (doc! { "capped": true, "size": 100 }, 6_367_301),
    ] {
        let mut command = doc! { "create": "c", "encryptedFields": { "fields": [] } };
        command.extend(other);
        assert_eq!(code(db, command.clone()).await, Some(expected), "{command}");
    }
    assert_eq!(
        create(db, vec![field("a", 1), field("ab", 2), field("b.a", 3)]).await,
        None
    );
    let convert = doc! { "convertToCapped": "c", "size": 1000 };
    assert_eq!(code(db, convert).await, Some(6_367_302));
    let modify = doc! { "collMod": "c", "encryptedFields": { "fields": [] } };
    assert_eq!(code(db, modify).await, Some(40415));
}

async fn values_must_be_encrypted(db: &Db) {
    let fields = vec![
        doc! { "path": "ssn", "keyId": key(1) },
        doc! { "path": "n.x", "keyId": key(2), "bsonType": "string", "queries": { "queryType": "equality" } },
    ];
    assert_eq!(create(db, fields).await, None);
    let c = db.raw_collection("c");
    let mut id = 0;
    for (document, expected) in [
        (doc! {}, None),
        (doc! { "other": 5 }, None),
        (doc! { "ssn": "x" }, Some(121)),
        (doc! { "ssn": null }, Some(121)),
        (doc! { "ssn": [encrypted(6, 2)] }, Some(121)),
        (doc! { "ssn": encrypted(1, 2) }, Some(121)),
        (doc! { "ssn": encrypted(6, 2) }, None),
        (doc! { "ssn": encrypted(7, 16) }, None),
        (doc! { "n": { "x": "s" } }, Some(121)),
        (doc! { "n": { "x": encrypted(7, 16) } }, Some(121)),
        (doc! { "n": { "x": encrypted(7, 2) } }, None),
        (doc! { "n": [{ "x": encrypted(7, 2) }] }, Some(121)),
        (doc! { "n": 5 }, None),
        (doc! { "n": { "y": 5 } }, None),
        (doc! { "__safeContent__": [] }, Some(2)),
    ] {
        id += 1;
        let mut own = doc! { "_id": id };
        own.extend(document);
        let found = c.insert(own.clone()).await.err().and_then(|error| error.code());
        assert_eq!(found, expected, "{own}");
    }
    for (update, expected) in [
        (doc! { "$set": { "ssn": "y" } }, Some(121)),
        (doc! { "$set": { "z": "y" } }, None),
        (doc! { "$set": { "__safeContent__": [] } }, Some(2)),
        (doc! { "$set": { "ssn": encrypted(6, 2) } }, None),
    ] {
        let updated = c.update_one(doc! { "_id": 1 }, update.clone()).await;
        assert_eq!(updated.err().and_then(|error| error.code()), expected, "{update}");
    }
    let insert = doc! { "insert": "c", "documents": [{ "_id": 99, "ssn": 5 }] };
    let reply = db.run_command(insert.clone()).await.unwrap();
    let error = reply.get_array("writeErrors").unwrap()[0].as_document().unwrap();
    assert_eq!(
        error
            .get_document("errInfo")
            .unwrap()
            .get_document("details")
            .unwrap(),
        &doc! {
            "operatorName": "implicitFLESchema",
            "schemaRulesNotSatisfied": [{
                "operatorName": "properties",
                "propertiesNotSatisfied": [{
                    "propertyName": "ssn",
                    "details": [{ "operatorName": "fle2Encrypt", "reason": "value was not encrypted" }],
                }],
            }],
        }
    );
    let mut bypass = insert;
    bypass.insert("bypassDocumentValidation", true);
    assert_eq!(code(db, bypass).await, None);
}

async fn encrypted_fields_have_no_indexes(db: &Db) {
    let fields = vec![
        doc! { "path": "ssn", "keyId": key(1) },
        doc! { "path": "n.x", "keyId": key(2) },
    ];
    assert_eq!(create(db, fields).await, None);
    for (keys, expected) in [
        (doc! { "ssn": 1 }, Some(6_346_502)),
        (doc! { "ssn": "hashed" }, Some(6_346_502)),
        (doc! { "n": 1 }, Some(6_346_502)),
        (doc! { "n.x.y": 1 }, Some(6_346_502)),
        (doc! { "z": 1, "n.x": 1 }, Some(6_346_502)),
        (doc! { "n.y": 1 }, None),
        (doc! { "ss": 1 }, None),
    ] {
        let name = keys.to_string();
        let command = doc! { "createIndexes": "c", "indexes": [{ "key": keys, "name": &name }] };
        assert_eq!(code(db, command).await, expected, "{name}");
    }
}
