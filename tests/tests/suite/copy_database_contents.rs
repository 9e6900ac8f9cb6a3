//! A database with something of everything, and all that a database has, to be compared.

use bson::oid::ObjectId;
use bson::{Bson, DateTime, Document, RawDocumentBuf, Timestamp, doc};
use odm::Db;
use odm_tests::harness::fresh_name;
use odm_tests::raw::{RawCollection, raw};

const HOUR: i64 = 3_600_000;

/// Documents as they are stored, in their order.
pub async fn stored(db: &Db, name: &str) -> Vec<RawDocumentBuf> {
    let collection = RawCollection::new(db, name);
    collection.find(&doc! {}, None, None, 0, 0).await.unwrap()
}

/// What a collection is made with, without what each database has of its own.
fn portable(mut options: Document) -> Document {
    if let Ok(collation) = options.get_document_mut("collation") {
        collation.remove("version");
    }
    let sorted: std::collections::BTreeMap<_, _> = options
        .into_iter()
        .map(|(name, value)| match value {
            Bson::Int64(number) => (name, Bson::Int32(number.try_into().unwrap())),
            value => (name, value),
        })
        .collect();
    sorted.into_iter().collect()
}

pub async fn indexes(db: &Db, name: &str) -> Vec<Document> {
    let reply = db
        .run_command(doc! { "listIndexes": name, "cursor": {} })
        .await
        .unwrap();
    let found = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let mut found: Vec<Document> = found
        .iter()
        .map(|index| portable(index.as_document().unwrap().clone()))
        .collect();
    found.sort_by_key(|index| index.get_str("name").unwrap().to_owned());
    found
}

/// A measurement's fields in the order of their names: a time series keeps no other.
fn by_name(measurement: &RawDocumentBuf) -> String {
    portable(Document::try_from(measurement.as_ref()).unwrap()).to_string()
}

/// All that a database has, to be compared.
pub async fn contents(db: &Db) -> Vec<(String, String, Document, Vec<Document>, Vec<String>)> {
    let mut all = Vec::new();
    for info in db.list_collections().await.unwrap() {
        if info.name.starts_with("system.") {
            continue;
        }
        let found = stored(db, &info.name).await;
        let (indexes, documents) = match info.kind.as_str() {
            "view" => (
                Vec::new(),
                found.iter().map(|found| format!("{found:?}")).collect(),
            ),
            "timeseries" => {
                let mut measurements: Vec<String> = found.iter().map(by_name).collect();
                measurements.sort();
                (indexes(db, &info.name).await, measurements)
            }
            _ => {
                let bytes = found.iter().map(|found| format!("{:?}", found.as_bytes()));
                (indexes(db, &info.name).await, bytes.collect())
            }
        };
        all.push((info.name, info.kind, portable(info.options), indexes, documents));
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// Another database of the same server or engine.
pub fn beside(db: &Db) -> Db {
    db.database(&fresh_name()).unwrap()
}

pub async fn memory() -> Db {
    Db::open("memory:").await.unwrap()
}

pub async fn create(db: &Db, name: &str, options: Document) {
    let create = db.create_collection(name);
    let create = options
        .into_iter()
        .fold(create, |create, (option, value)| create.option(option, value));
    create.await.unwrap();
}

pub async fn index(db: &Db, name: &str, spec: Document) {
    RawCollection::new(db, name).create_index(&spec).await.unwrap();
}

pub async fn insert(db: &Db, name: &str, documents: Vec<RawDocumentBuf>) {
    let result = RawCollection::new(db, name).insert_raw(documents).await.unwrap();
    assert!(result.errors.is_empty(), "{:?}", result.errors);
}

/// Fields one after another, whatever their names.
fn fields(fields: &[(&str, Bson)]) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    for (name, value) in fields {
        let name = bson::raw::CString::try_from(*name).unwrap();
        document.append(name, bson::RawBson::try_from(value.clone()).unwrap());
    }
    document
}

/// Documents of every type, with names of every kind, in no order.
async fn odd_documents(db: &Db) {
    let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
    let ids = vec![
        Bson::Int32(7),
        Bson::Int64(8),
        Bson::Double(-0.5),
        decimal("9.10"),
        "text".into(),
        ObjectId::new().into(),
        Bson::Boolean(true),
        Bson::Null,
        Bson::DateTime(DateTime::from_millis(-5)),
        Bson::Timestamp(Timestamp {
            time: 0,
            increment: 0,
        }),
        doc! { "b": 1, "a": { "c": [1, 2] } }.into(),
        Bson::Binary(bson::Binary {
            subtype: bson::spec::BinarySubtype::Uuid,
            bytes: vec![3; 16],
        }),
        Bson::MinKey,
        Bson::MaxKey,
        Bson::Symbol("symbol".into()),
        Bson::Int32(-1),
    ];
    let empty = Bson::Timestamp(Timestamp {
        time: 0,
        increment: 0,
    });
    let mut documents: Vec<_> = ids
        .into_iter()
        .map(|id| {
            fields(&[
                ("_id", id),
                ("z", 1.into()),
                ("a", Bson::Int64(1)),
                ("n", Bson::Double(1.0)),
            ])
        })
        .collect();
    documents.push(fields(&[
        ("_id", 100.into()),
        ("twice", 1.into()),
        ("twice", 2.into()),
        ("", 3.into()),
        ("a.b", 4.into()),
        ("$set", 5.into()),
        ("nan", Bson::Double(f64::from_bits(0xfff8_0000_0000_0001))),
        ("zero", Bson::Double(-0.0)),
        ("decimal", decimal("1.000E+3")),
        ("undefined", Bson::Undefined),
        ("code", Bson::JavaScriptCode("f()".into())),
        (
            "regex",
            Bson::RegularExpression(bson::Regex {
                pattern: bson::raw::cstr!("a").into(),
                options: bson::raw::cstr!("ix").into(),
            }),
        ),
        (
            "inner",
            doc! { "empty": { "t": empty.clone() }, "list": [{}, [], empty.clone()] }.into(),
        ),
    ]));
    insert(db, "odd", documents).await;
    // Inserts put the time in the place of an empty timestamp; what keeps one was updated.
    let odd = db.raw_collection("odd");
    odd.update_one(
        doc! { "_id": 8 },
        doc! { "$set": { "z": empty.clone(), "later": empty } },
    )
    .await
    .unwrap();
    insert(db, "odd", vec![raw(&doc! { "_id": "last", "a": 0 })]).await;
}

/// Collections, indexes and views of all kinds.
pub async fn fill(db: &Db) {
    odd_documents(db).await;
    db.create_collection("empty").await.unwrap();
    create(db, "ring", doc! { "capped": true, "size": 1000, "max": 5 }).await;
    let ring = (0..9).map(|n| raw(&doc! { "_id": 9 - n, "n": n })).collect();
    insert(db, "ring", ring).await;
    create(db, "full", doc! { "capped": true, "size": 4096 }).await;
    let full = (0..100).map(|n| raw(&doc! { "_id": n, "text": "x".repeat(60 + n as usize % 7) }));
    insert(db, "full", full.collect()).await;
    create(
        db,
        "clustered",
        doc! { "clusteredIndex": { "key": { "_id": 1 }, "unique": true, "name": "way" }, "expireAfterSeconds": 1_000_000_000 },
    )
    .await;
    let now = DateTime::now().timestamp_millis();
    let clustered = [5, 3, 4].map(|id| raw(&doc! { "_id": DateTime::from_millis(now + id) }));
    insert(db, "clustered", clustered.to_vec()).await;
    insert(db, "rules", vec![raw(&doc! { "_id": 1, "a": "no number" })]).await;
    let rules = db
        .raw_collection("rules")
        .modify()
        .validator(doc! { "a": { "$type": "int" } });
    rules.validation_level("moderate").await.unwrap();
    create(
        db,
        "warned",
        doc! { "validator": { "$jsonSchema": { "required": ["b", "a"] } }, "validationAction": "warn" },
    )
    .await;
    insert(db, "warned", vec![raw(&doc! { "_id": 1 })]).await;
    create(
        db,
        "images",
        doc! { "changeStreamPreAndPostImages": { "enabled": true } },
    )
    .await;
    create(
        db,
        "words",
        doc! { "collation": { "locale": "de", "strength": 2 } },
    )
    .await;
    insert(
        db,
        "words",
        vec![
            raw(&doc! { "_id": "b", "w": "Zoo" }),
            raw(&doc! { "_id": "A", "w": "Ähre" }),
        ],
    )
    .await;
    index(db, "words", doc! { "key": { "w": 1 }, "name": "same" }).await;
    index(
        db,
        "words",
        doc! { "key": { "w": 1 }, "name": "plain", "collation": { "locale": "simple" } },
    )
    .await;
    index(
        db,
        "words",
        doc! { "key": { "w": 1 }, "name": "other", "collation": { "locale": "fr" }, "unique": true },
    )
    .await;
    series(db).await;
    indexed(db).await;
    // A program's files, and names that need care.
    insert(
        db,
        "fs.files",
        vec![raw(&doc! { "_id": 1, "length": 3_i64, "chunkSize": 255 })],
    )
    .await;
    let chunk = Bson::Binary(bson::Binary {
        subtype: bson::spec::BinarySubtype::Generic,
        bytes: vec![1, 2, 3],
    });
    insert(
        db,
        "fs.chunks",
        vec![raw(&doc! { "_id": 1, "files_id": 1, "n": 0, "data": chunk })],
    )
    .await;
    index(
        db,
        "fs.chunks",
        doc! { "key": { "files_id": 1, "n": 1 }, "name": "files_id_1_n_1", "unique": true },
    )
    .await;
    insert(db, "a name, \"quoted\" ☃", vec![raw(&doc! { "_id": 1 })]).await;
    db.create_collection("a view")
        .view_on("z view", [doc! { "$match": { "a": { "$gt": 0 } } }])
        .await
        .unwrap();
    db.create_collection("z view")
        .view_on("odd", [doc! { "$project": { "a": 1 } }])
        .await
        .unwrap();
    create(
        db,
        "words in view",
        doc! { "viewOn": "words", "pipeline": [], "collation": { "locale": "de", "strength": 2 } },
    )
    .await;
}

async fn series(db: &Db) {
    create(
        db,
        "weather",
        doc! { "timeseries": { "timeField": "t", "metaField": "m", "granularity": "minutes" }, "expireAfterSeconds": 1_000_000_000 },
    )
    .await;
    let now = DateTime::now().timestamp_millis();
    let measured = |n: i64| doc! { "x": n, "m": { "at": n % 2 }, "t": DateTime::from_millis(now + (n % 5) * HOUR), "_id": n };
    db.run_command(doc! { "insert": "weather", "documents": (0..40).map(measured).collect::<Vec<_>>() })
        .await
        .unwrap();
    let bare = |n: i64| doc! { "t": DateTime::from_millis(now + n / 4), "z": 1, "a": if n % 2 == 0 { Bson::Null } else { n.into() } };
    create(db, "bare", doc! { "timeseries": { "timeField": "t" } }).await;
    db.run_command(doc! { "insert": "bare", "documents": (0..20).map(bare).collect::<Vec<_>>() })
        .await
        .unwrap();
    index(
        db,
        "weather",
        doc! { "key": { "m.at": 1, "t": -1 }, "name": "place" },
    )
    .await;
}

async fn indexed(db: &Db) {
    for spec in [
        doc! { "key": { "b": 1, "a": -1 }, "name": "two", "unique": true },
        doc! { "key": { "s": 1 }, "name": "sparse", "sparse": true, "unique": true },
        doc! { "key": { "p": 1 }, "name": "part", "partialFilterExpression": { "p": { "$gt": 5 } }, "hidden": true },
        doc! { "key": { "at": 1 }, "name": "goes", "expireAfterSeconds": 1_000_000_000 },
        doc! { "key": { "k": 1, "title": "text", "body": "text" }, "name": "t", "weights": { "title": 5 }, "default_language": "german" },
        doc! { "key": { "place": "2dsphere" }, "name": "sphere" },
        doc! { "key": { "flat": "2d" }, "name": "flat", "bits": 20, "min": -10.0, "max": 10.0 },
        doc! { "key": { "h": "hashed" }, "name": "hash" },
        doc! { "key": { "$**": 1 }, "name": "wild", "wildcardProjection": { "a": 1, "b.c": 1 } },
        doc! { "key": { "deep.$**": 1 }, "name": "deep" },
    ] {
        index(db, "indexed", spec).await;
    }
    let row = |n: i32| {
        raw(
            &doc! { "_id": -n, "b": n, "a": [1, n], "at": DateTime::now(), "title": "Haus", "k": n, "place": [n, n], "flat": [n, 1], "h": n },
        )
    };
    insert(db, "indexed", (0..5).map(row).collect()).await;
}

/// Compares collection by collection, so that a difference can be read.
pub fn same<T: std::fmt::Debug + PartialEq>(expected: &[T], found: &[T]) {
    for (expected, found) in expected.iter().zip(found) {
        assert_eq!(expected, found);
    }
    assert_eq!(expected.len(), found.len());
}
