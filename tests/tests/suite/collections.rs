//! Collections and databases.

use bson::doc;
use odm::Db;

use super::models::Item;

crate::on_every_backend! {
    collections_are_created_listed_and_dropped,
    one_model_lives_in_several_collections,
    databases_are_apart,
    wrong_names_are_errors,
    limits_are_the_servers,
    hostile_nesting_is_refused_not_fatal,
    the_engine_checks_itself,
    round_trips_are_counted,
}

async fn collections_are_created_listed_and_dropped(db: &Db) {
    db.create_collection("plain").await.unwrap();
    db.collection::<Item>().insert(Item::new("a", 1)).await.unwrap();
    let mut names: Vec<String> = db
        .list_collections()
        .await
        .unwrap()
        .into_iter()
        .map(|info| info.name)
        .collect();
    names.sort();
    assert_eq!(names, ["items", "plain"]);
    let error = db.create_collection("plain").await.unwrap_err();
    assert_eq!(error.code(), Some(48));
    db.drop_collection("plain").await.unwrap();
    db.drop_collection("plain").await.unwrap();
    assert_eq!(db.list_collections().await.unwrap().len(), 1);
    db.collection::<Item>().drop().await.unwrap();
    assert_eq!(db.collection::<Item>().estimated_count().await.unwrap(), 0);
}

async fn one_model_lives_in_several_collections(db: &Db) {
    let (first, second) = (
        db.collection_named::<Item>("first"),
        db.collection_named::<Item>("second"),
    );
    first.insert(Item::new("a", 1)).await.unwrap();
    second.insert(Item::new("a", 2)).await.unwrap();
    assert_eq!(
        first.get("a".to_owned()).await.unwrap().map(|item| item.stock),
        Some(1)
    );
    assert_eq!(
        second.get("a".to_owned()).await.unwrap().map(|item| item.stock),
        Some(2)
    );
}

async fn databases_are_apart(db: &Db) {
    let other = db.database(&format!("{}_b", db.name())).unwrap();
    db.collection::<Item>().insert(Item::new("a", 1)).await.unwrap();
    assert_eq!(other.collection::<Item>().estimated_count().await.unwrap(), 0);
    other
        .collection::<Item>()
        .insert(Item::new("a", 2))
        .await
        .unwrap();
    other.drop().await.unwrap();
    assert_eq!(db.collection::<Item>().estimated_count().await.unwrap(), 1);
}

async fn wrong_names_are_errors(db: &Db) {
    for name in ["", "a$b", "a\0b", ".a"] {
        let error = db
            .raw_collection(name)
            .insert(doc! { "_id": 1 })
            .await
            .unwrap_err();
        assert_eq!(error.kind(), odm::ErrorKind::InvalidArgument, "{name:?}: {error}");
    }
}

async fn limits_are_the_servers(db: &Db) {
    let raw = db.raw_collection("limits");
    let big = "x".repeat(16 * 1024 * 1024);
    assert!(raw.insert(doc! { "_id": 1, "s": &big }).await.is_err());
    raw.insert(doc! { "_id": 2, "s": &big[..16 * 1024 * 1024 - 100] })
        .await
        .unwrap();
    assert!(
        raw.update_one(doc! { "_id": 2 }, doc! { "$set": { "t": &big[..200] } })
            .await
            .is_err()
    );
    let mut deep = doc! {};
    for _ in 0..170 {
        deep = doc! { "a": deep };
    }
    raw.insert(doc! { "_id": 3, "d": deep.clone() }).await.unwrap();
    for _ in 0..20 {
        deep = doc! { "a": deep };
    }
    assert!(raw.insert(doc! { "_id": 4, "d": deep }).await.is_err());
    for id in [bson::bson!([1]), bson::bson!({ "$a": 1 })] {
        assert!(raw.insert(doc! { "_id": id }).await.is_err());
    }
}

async fn hostile_nesting_is_refused_not_fatal(db: &Db) {
    // 1,000 levels: decoding this recursively would exhaust the stack.
    let mut bytes: Vec<u8> = vec![5, 0, 0, 0, 0];
    for _ in 0..1000 {
        let mut outer = Vec::with_capacity(bytes.len() + 8);
        outer.extend_from_slice(&(bytes.len() as i32 + 8).to_le_bytes());
        outer.extend_from_slice(&[3, b'a', 0]);
        outer.extend_from_slice(&bytes);
        outer.push(0);
        bytes = outer;
    }
    let document = bson::RawDocumentBuf::from_bytes(bytes).expect("a document");
    let raw = odm_tests::raw::RawCollection::new(db, "hostile");
    let refused = match raw.insert_raw(vec![document]).await {
        Ok(result) => !result.errors.is_empty(),
        Err(_) => true,
    };
    assert!(refused);
}

async fn the_engine_checks_itself(db: &Db) {
    let items = db.collection::<Item>();
    items.create_indexes().await.unwrap();
    items
        .insert_many((0..50).map(|n| Item::new(&n.to_string(), n)))
        .await
        .unwrap();
    items
        .update_many(|i| i.stock.lt(20), |i| i.name.set("same"))
        .await
        .unwrap();
    items.delete_many(|i| i.stock.gt(40)).await.unwrap();
    match db.check().await {
        Ok(report) => {
            assert!(report.is_clean(), "{:?}", report.problems);
            assert_eq!(report.documents, 41);
        }
        Err(error) => assert!(
            error.is_unsupported() && db.backend_name() == "mongodb",
            "{error}"
        ),
    }
}

async fn round_trips_are_counted(db: &Db) {
    let (db, log) = db.logged();
    let items = db.collection::<Item>();
    items
        .insert_many((0..20).map(|n| Item::new(&n.to_string(), n)))
        .await
        .unwrap();
    items.get("3".to_owned()).await.unwrap();
    items.count(|i| i.stock.gt(3)).await.unwrap();
    assert_eq!(log.count("insert"), 1);
    assert_eq!(log.count("find"), 1);
    assert_eq!(log.round_trips(), 3);
}
