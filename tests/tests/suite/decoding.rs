//! What is read as what, and what is not: stored values of other types than the model stores.

use std::collections::BTreeMap;

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{
    Binary, Bson, DateTime, Decimal128, Document, RawBson, RawDocument, RawDocumentBuf, Uuid, doc, rawdoc,
};
use odm::backend::{Operation, RunCommand};
use odm::{Collection, Db, Embedded, Error, ErrorKind, Id, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    an_id_that_is_stored_as_another_value_is_refused,
    an_id_of_several_fields_is_read_as_it_is_stored_or_refused,
    ids_of_any_number_and_of_codecs_are_read,
    references_of_another_type_are_refused,
    arrays_are_not_read_as_documents,
    documents_that_look_like_extended_json_are_not_converted,
    errors_name_the_types_of_bson,
    failed_updates_name_their_document,
    text_that_is_not_utf_8_stands_in_nobodys_way,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "users")]
struct User {
    #[serde(rename = "_id")]
    id: Id<User>,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "users")]
struct Named {
    #[serde(rename = "_id")]
    id: String,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum AnyKey {
    Oid(ObjectId),
    Int(i64),
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "users")]
struct AnyUser {
    #[serde(rename = "_id")]
    id: AnyKey,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Pair {
    no: i32,
    tenant: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "users")]
struct PairUser {
    #[serde(rename = "_id")]
    id: Pair,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "users")]
struct NumberUser {
    #[serde(rename = "_id")]
    id: f64,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "users")]
struct UuidUser {
    #[serde(rename = "_id", with = "odm::as_bson")]
    id: uuid::Uuid,
    name: String,
}

const HEX: &str = "64b64b64b64b64b64b64b64b";

async fn put(db: &Db, id: impl Into<Bson>) -> Bson {
    let users = db.raw_collection("users");
    let id = id.into();
    users.delete_many(doc! {}).await.unwrap();
    users
        .insert(doc! { "_id": id.clone(), "name": "ann" })
        .await
        .unwrap();
    id
}

async fn store(all: &Collection<Document>, document: &Document) -> odm::Result<()> {
    all.delete_many(doc! {}).await?;
    all.insert(document.clone()).await.map(|_| ())
}

fn check_refused(error: &Error, path: &str, id: &Bson, words: &[&str]) {
    assert_eq!(error.kind(), ErrorKind::Decode, "{error}");
    assert_eq!((error.path(), error.id()), (Some(path), Some(id)), "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word}: {error}");
    }
}

async fn an_id_that_is_stored_as_another_value_is_refused(db: &Db) {
    let id = put(db, HEX).await;
    let users = db.collection::<User>();
    let error = users.find_all().await.unwrap_err();
    check_refused(&error, "_id", &id, &["invalid type: string", "objectId"]);
    let error = users.find_all().tracked().await.unwrap_err();
    check_refused(&error, "_id", &id, &[]);
    // Serde would read it as the first variant that takes it.
    let error = db.collection::<AnyUser>().find_all().await.unwrap_err();
    check_refused(&error, "_id", &id, &["invalid type: string", "objectId"]);
    assert!(db.collection::<Named>().get(HEX).await.unwrap().is_some());
    let bytes = |subtype, length| {
        Bson::Binary(Binary {
            subtype,
            bytes: vec![65; length],
        })
    };
    let id = put(db, bytes(BinarySubtype::Generic, 12)).await;
    check_refused(
        &users.find_all().await.unwrap_err(),
        "_id",
        &id,
        &["binData", "objectId"],
    );
    let error = db.collection::<Named>().find_all().await.unwrap_err();
    check_refused(&error, "_id", &id, &["binData", "string"]);
    let error = db.collection::<AnyUser>().find_all().await.unwrap_err();
    check_refused(&error, "_id", &id, &["binData"]);
    let id = put(db, bytes(BinarySubtype::Uuid, 16)).await;
    check_refused(
        &users.find_all().await.unwrap_err(),
        "_id",
        &id,
        &["binData", "objectId"],
    );
    let id = put(db, ObjectId::from_bytes([1; 12])).await;
    assert_eq!(users.find_all().await.unwrap().len(), 1);
    assert_eq!(db.collection::<AnyUser>().find_all().await.unwrap().len(), 1);
    check_refused(
        &db.collection::<Named>().find_all().await.unwrap_err(),
        "_id",
        &id,
        &["objectId"],
    );
}

async fn an_id_of_several_fields_is_read_as_it_is_stored_or_refused(db: &Db) {
    let users = db.collection::<PairUser>();
    for id in [
        doc! { "no": 1, "tenant": "x" },
        doc! { "no": 1_i64, "tenant": "x" },
    ] {
        put(db, id).await;
        let mut user = users.find_all().await.unwrap().remove(0);
        user.name = "bob".to_owned();
        assert_eq!(users.save(&user).await.unwrap().matched, 1);
        assert_eq!(users.get(user.id).required().await.unwrap().name, "bob");
    }
    for id in [
        doc! { "tenant": "x", "no": 1 },
        doc! { "no": 1, "tenant": "x", "more": 1 },
    ] {
        let id = put(db, id).await;
        let error = users.find_all().await.unwrap_err();
        check_refused(&error, "_id", &id, &["in another order"]);
    }
}

async fn ids_of_any_number_and_of_codecs_are_read(db: &Db) {
    let users = db.collection::<NumberUser>();
    for id in [Bson::from(1), 1_i64.into(), 1.0.into()] {
        put(db, id).await;
        let user = users.find_all().await.unwrap().remove(0);
        assert!(users.get(user.id).await.unwrap().is_some());
    }
    // It is read as the number beside it.
    let id = put(db, (1_i64 << 53) + 1).await;
    check_refused(
        &users.find_all().await.unwrap_err(),
        "_id",
        &id,
        &["long", "double"],
    );
    let users = db.collection::<UuidUser>();
    put(db, Uuid::from_bytes([3; 16])).await;
    let user = users.find_all().await.unwrap().remove(0);
    assert!(users.get(user.id).await.unwrap().is_some());
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "posts")]
struct Post {
    #[serde(rename = "_id")]
    id: i32,
    by: Ref<User>,
    #[serde(default)]
    seen: Vec<Id<User>>,
}

async fn references_of_another_type_are_refused(db: &Db) {
    let posts = db.collection::<Post>();
    let user = ObjectId::parse_str(HEX).unwrap();
    posts.raw().insert(doc! { "_id": 1, "by": HEX }).await.unwrap();
    let error = posts.get(1).await.unwrap_err();
    check_refused(
        &error,
        "by",
        &1.into(),
        &["invalid type: string, expected objectId"],
    );
    posts
        .raw()
        .replace_one(doc! {}, doc! { "_id": 1, "by": user, "seen": [user, HEX] })
        .await
        .unwrap();
    check_refused(
        &posts.get(1).await.unwrap_err(),
        "seen.1",
        &1.into(),
        &["string", "objectId"],
    );
    posts
        .raw()
        .replace_one(doc! {}, doc! { "_id": 1, "by": user, "seen": [user] })
        .await
        .unwrap();
    assert_eq!(posts.get(1).required().await.unwrap().seen.len(), 1);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Contact {
    mail: String,
    phone: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(default)]
struct Theme {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "t")]
enum Inside {
    Click { x: i32 },
    Key { k: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "t", content = "c")]
enum Apart {
    Click { x: i32 },
    Pair(i32, String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
enum Outside {
    Click { x: i32 },
    Pair(i32, String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Point(f64, f64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shapes")]
struct Shape {
    #[serde(rename = "_id")]
    id: i32,
    contact: Contact,
    theme: Option<Theme>,
    inside: Inside,
    apart: Apart,
    outside: Outside,
    list: Vec<Contact>,
    pair: (i32, String),
    #[odm(opaque)]
    point: Point,
    three: [u8; 3],
}

async fn arrays_are_not_read_as_documents(db: &Db) {
    let shapes = db.collection::<Shape>();
    let good = Shape {
        id: 1,
        contact: Contact {
            mail: "a".to_owned(),
            phone: None,
        },
        theme: Some(Theme::default()),
        inside: Inside::Click { x: 1 },
        apart: Apart::Pair(1, "x".to_owned()),
        outside: Outside::Pair(1, "x".to_owned()),
        list: vec![Contact {
            mail: "a".to_owned(),
            phone: Some("1".to_owned()),
        }],
        pair: (1, "x".to_owned()),
        point: Point(1.0, 2.0),
        three: [1, 2, 3],
    };
    shapes.insert(&good).await.unwrap();
    assert_eq!(shapes.get(1).required().await.unwrap(), good);
    let stored = shapes.raw().find_one(doc! {}).await.unwrap().unwrap();
    for (path, field, value) in [
        ("contact", "contact", Bson::from(vec!["a", "b", "c"])),
        ("theme", "theme", Bson::Array(Vec::new())),
        ("inside", "inside", vec![Bson::from("Click"), 5.into()].into()),
        (
            "apart",
            "apart",
            vec![Bson::from("Click"), doc! { "x": 5 }.into()].into(),
        ),
        ("apart.c", "apart", doc! { "t": "Click", "c": [5] }.into()),
        ("outside.Click", "outside", doc! { "Click": [5] }.into()),
        ("list.0", "list", vec![vec!["a", "b"]].into()),
    ] {
        let mut other = stored.clone();
        other.insert(field, value);
        shapes.raw().replace_one(doc! {}, other).await.unwrap();
        let error = shapes.get(1).await.unwrap_err();
        check_refused(&error, path, &1.into(), &["invalid type: array, expected "]);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "anything")]
struct Anything {
    #[serde(rename = "_id")]
    id: i32,
    doc: Document,
    bson: Bson,
    map: BTreeMap<String, Bson>,
    raw: RawBson,
    #[odm(opaque)]
    raw_doc: RawDocumentBuf,
}

async fn documents_that_look_like_extended_json_are_not_converted(db: &Db) {
    let all = db.collection::<Anything>();
    // What is no extended JSON stays, and so do names like these in between.
    let plain = doc! { "$ref": "c", "$id": 1, "x": { "oid": HEX }, "date": DateTime::from_millis(1) };
    let looks = [
        doc! { "$oid": HEX },
        doc! { "$numberLong": "5" },
        doc! { "$date": { "$numberLong": "1" } },
        doc! { "$symbol": "x" },
        doc! { "$code": "x" },
        doc! { "$uuid": "x" },
        doc! { "a": 1, "$undefined": true },
    ];
    let stored = |doc: &Document, bson: &Document, map: &Document, raw: &Document| {
        doc! {
            "_id": 1, "doc": { "v": doc.clone() }, "bson": { "v": [bson.clone()] }, "map": { "v": map.clone() },
            "raw": raw.clone(), "raw_doc": { "v": raw.clone() },
        }
    };
    for looks in &looks {
        for (path, document) in [
            ("doc.v", stored(looks, &plain, &plain, &plain)),
            ("bson.v.0", stored(&plain, looks, &plain, &plain)),
            ("map.v", stored(&plain, &plain, looks, &plain)),
        ] {
            store(&all.raw(), &document).await.unwrap();
            let error = all.get(1).await.unwrap_err();
            let name = looks.keys().last().unwrap();
            check_refused(&error, path, &1.into(), &[name, "RawBson"]);
            assert_eq!(all.raw().find_one(doc! {}).await.unwrap().unwrap(), document);
        }
        // These take it as it is.
        let document = stored(&plain, &plain, &plain, looks);
        store(&all.raw(), &document).await.unwrap();
        let one = all.get(1).required().await.unwrap();
        all.save(&one).await.unwrap();
        assert_eq!(all.raw().find_one(doc! {}).await.unwrap().unwrap(), document);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "typed")]
struct Typed {
    #[serde(rename = "_id")]
    id: i32,
    n: i64,
    text: String,
    list: Vec<i32>,
}

async fn errors_name_the_types_of_bson(db: &Db) {
    let all = db.collection::<Typed>();
    let decimal = Bson::Decimal128("1".parse::<Decimal128>().unwrap());
    for (path, field, value, words) in [
        ("n", "n", decimal, "invalid type: decimal, expected i64"),
        (
            "n",
            "n",
            ObjectId::new().into(),
            "invalid type: objectId, expected i64",
        ),
        ("n", "n", doc! {}.into(), "invalid type: map, expected i64"),
        ("n", "n", Bson::Null, "invalid type: null, expected i64"),
        (
            "text",
            "text",
            DateTime::now().into(),
            "invalid type: date, expected a string",
        ),
        (
            "text",
            "text",
            Bson::Symbol("x".to_owned()),
            "invalid type: symbol, expected a string",
        ),
        (
            "text",
            "text",
            Bson::Undefined,
            "invalid type: undefined, expected a string",
        ),
        (
            "list.0",
            "list",
            vec![Bson::from(ObjectId::new())].into(),
            "invalid type: objectId, expected i32",
        ),
    ] {
        let mut document = doc! { "_id": 1, "n": 1, "text": "x", "list": [] };
        document.insert(field, value);
        if store(&all.raw(), &document).await.is_err() {
            continue; // Not every value can be sent.
        }
        check_refused(&all.get(1).await.unwrap_err(), path, &1.into(), &[words]);
    }
}

async fn failed_updates_name_their_document(db: &Db) {
    let all = db.collection::<Typed>();
    all.insert(Typed {
        id: 1,
        n: i64::MAX,
        text: "x".to_owned(),
        list: vec![],
    })
    .await
    .unwrap();
    let id = || Some(Bson::from(1));
    let error = all.update_one(|t| t.id.eq(1), |t| t.n.inc(1)).await.unwrap_err();
    assert_eq!(error.id().cloned(), id(), "{error}");
    let error = all
        .find_one_and_update(|t| t.id.eq(1), |t| t.n.inc(1))
        .await
        .unwrap_err();
    assert_eq!(error.id().cloned(), id(), "{error}");
    let large = Typed {
        id: 1,
        n: 1,
        text: "x".repeat(17 << 20),
        list: vec![],
    };
    let error = all.save(&large).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.id().cloned()),
        (ErrorKind::InvalidArgument, id())
    );
    let error = all.replace(&large).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.id().cloned()),
        (ErrorKind::InvalidArgument, id())
    );
}

/// A document whose field `old` holds text that is no UTF-8.
fn latin_1(id: i32) -> RawDocumentBuf {
    let mut bytes = rawdoc! { "_id": id, "n": 1_i64, "text": "x", "list": [], "old": "M?ller" }.into_bytes();
    let at = bytes.windows(2).position(|pair| pair == b"M?").unwrap();
    bytes[at + 1] = 0xfc;
    RawDocumentBuf::from_bytes(bytes).unwrap()
}

/// The command that inserts it, made of bytes.
fn insertion(collection: &str, document: &RawDocument) -> RawDocumentBuf {
    fn framed(elements: Vec<u8>) -> Vec<u8> {
        let length = i32::try_from(elements.len() + 5).unwrap();
        [length.to_le_bytes().to_vec(), elements, vec![0]].concat()
    }
    let documents = framed([b"\x030\0", document.as_bytes()].concat());
    let named = rawdoc! { "insert": collection }.into_bytes();
    let name = &named[4..named.len() - 1];
    let command = framed([name, b"\x04documents\0", &documents].concat());
    RawDocumentBuf::from_bytes(command).unwrap()
}

async fn text_that_is_not_utf_8_stands_in_nobodys_way(db: &Db) {
    let all = db.collection::<Typed>();
    for id in 1..=2 {
        let insert = Operation::RunCommand(RunCommand {
            database: db.name().to_owned(),
            command: insertion("typed", &latin_1(id)),
        });
        if db.backend().execute(insert).await.is_err() {
            return; // Such text is not stored here.
        }
    }
    let mut one = all.get(1).tracked().required().await.unwrap();
    one.n = 2;
    one.save(&all).await.unwrap();
    assert_eq!(one.n, 2);
    let one = all
        .find_one_and_update(|t| t.id.eq(1), |t| t.n.inc(1))
        .return_new()
        .required()
        .await
        .unwrap();
    assert_eq!(one.n, 3);
    let deleted = all.find_one_and_delete(|t| t.id.eq(2)).await.unwrap().unwrap();
    assert_eq!((deleted.id, all.estimated_count().await.unwrap()), (2, 1));
    // What no type looks at is read; a text is not made of it.
    let error = all.raw().find_one(doc! { "_id": 1 }).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Corrupt, Some("old")),
        "{error}"
    );
    assert_eq!(error.id(), Some(&Bson::from(1)));
    assert!(error.to_string().contains("not UTF-8"), "{error}");
}
