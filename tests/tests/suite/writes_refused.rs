//! Which documents of a batch were refused, and what became of the others.

use bson::doc;
use odm::{Db, Embedded, Error, ErrorKind, Filter, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    one_document_that_breaks_rules_is_named,
    a_batch_in_order_is_refused_whole,
    a_batch_in_no_order_is_made_without_what_breaks_rules,
    in_a_transaction_nothing_of_a_batch_is_stored,
    documents_that_are_too_large_fail_alone,
    a_transaction_in_which_a_write_failed_is_over,
    an_upsert_does_not_make_an_id_of_another_type,
    an_upsert_does_not_make_an_element_of_an_array,
    a_document_that_cannot_be_stored_is_named,
    duplicates_can_be_left_out,
    replacements_of_a_batch_insert_what_is_not_there,
    what_is_not_found_is_inserted_once,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "items")]
struct Item {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(validate(min = 0))]
    n: i32,
}

fn item(id: i32, n: i32) -> Item {
    Item { id, n }
}

async fn count(db: &Db) -> u64 {
    db.collection::<Item>().count(|_| Filter::all()).await.unwrap()
}

/// Two break a rule, and one has the `_id` of another.
fn some_wrong() -> [Item; 5] {
    [item(1, 1), item(2, -1), item(3, 3), item(1, 4), item(5, -5)]
}

fn failed(error: &Error) -> Vec<(usize, ErrorKind)> {
    let failed = error.write_errors().iter();
    failed.map(|one| (one.index, one.error.kind())).collect()
}

async fn one_document_that_breaks_rules_is_named(db: &Db) {
    let items = db.collection::<Item>();
    let error = items.insert(item(7, -1)).await.unwrap_err();
    assert_eq!((error.id(), error.path()), (Some(&7.into()), Some("n")));
    let error = items.save(item(8, -1)).await.unwrap_err();
    assert_eq!((error.id(), error.path()), (Some(&8.into()), Some("n")));
}

async fn a_batch_in_order_is_refused_whole(db: &Db) {
    let error = db
        .collection::<Item>()
        .insert_many(some_wrong())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.id()),
        (ErrorKind::Validation, Some(&2.into()))
    );
    let statements = error.violations().iter().map(|violation| violation.statement);
    assert_eq!(statements.collect::<Vec<_>>(), [1, 4]);
    assert!(error.message().contains("(document 4 of the batch)"), "{error}");
    assert_eq!(count(db).await, 0);
}

async fn a_batch_in_no_order_is_made_without_what_breaks_rules(db: &Db) {
    let items = db.collection::<Item>();
    let error = items.insert_many(some_wrong()).unordered().await.unwrap_err();
    let (rule, key) = (ErrorKind::Validation, ErrorKind::DuplicateKey);
    assert_eq!(failed(&error), [(1, rule), (3, key), (4, rule)]);
    assert_eq!(error.write_errors()[2].error.id(), Some(&5.into()));
    let partial = error.partial_write().unwrap();
    assert_eq!(partial.summary.inserted, 2);
    assert_eq!(partial.inserted, [(0, 1.into()), (2, 3.into())]);
    assert_eq!(count(db).await, 2);

    let batch = items.bulk_write().insert(item(9, -9));
    let batch = batch.update_one(|i| i.id.eq(1), |i| i.n.set(-3));
    let batch = batch.update_one(|i| i.id.eq(3), |i| i.n.set(30));
    let batch = batch.upsert(|i| i.id.eq(4), |i| i.n.set(40));
    let error = batch.unordered().await.unwrap_err();
    assert_eq!(failed(&error), [(0, rule), (1, rule)]);
    assert_eq!(error.partial_write().unwrap().upserted, [(3, 4.into())]);
    assert_eq!(items.get(3).required().await.unwrap().n, 30);
    assert_eq!(items.get(4).required().await.unwrap().n, 40);

    let error = items.insert_many([item(20, -1)]).unordered().await.unwrap_err();
    assert_eq!(failed(&error), [(0, rule)]);
    assert_eq!(count(db).await, 3);
}

async fn in_a_transaction_nothing_of_a_batch_is_stored(db: &Db) {
    if !db.capabilities().transactions {
        return;
    }
    let error = db
        .transaction(async |tx| {
            let two = [item(30, 1), item(31, -1)];
            tx.collection::<Item>().insert_many(two).unordered().await
        })
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.id()),
        (ErrorKind::Validation, Some(&31.into()))
    );
    assert_eq!(count(db).await, 0);
}

async fn documents_that_are_too_large_fail_alone(db: &Db) {
    const MIB: usize = 1 << 20;
    let raw = db.raw_collection("large");
    let filled = |id: i32, bytes: usize| doc! { "_id": id, "x": "x".repeat(bytes) };
    let some = |first: i32| {
        [
            filled(first, 1),
            filled(first + 1, 17 * MIB),
            filled(first + 2, 1),
            filled(first + 3, 16 * MIB),
        ]
    };
    let error = raw.insert_many(some(0)).unordered().await.unwrap_err();
    let codes = error
        .write_errors()
        .iter()
        .map(|one| (one.index, one.error.code()));
    assert_eq!(codes.collect::<Vec<_>>(), [(1, Some(10334)), (3, Some(2))]);
    assert_eq!(error.partial_write().unwrap().summary.inserted, 2);
    let error = raw.insert_many(some(10)).await.unwrap_err();
    let codes = error
        .write_errors()
        .iter()
        .map(|one| (one.index, one.error.code()));
    assert_eq!(codes.collect::<Vec<_>>(), [(1, Some(10334))]);
    assert_eq!(error.partial_write().unwrap().summary.inserted, 1);
    for (bytes, code) in [(16 * MIB, 2), (17 * MIB, 10334)] {
        let error = raw.insert(filled(20, bytes)).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{error}");
    }
    let ids = raw.find(doc! {}).sort_raw(doc! { "_id": 1 }).await.unwrap();
    let ids: Vec<i32> = ids.iter().map(|found| found.get_i32("_id").unwrap()).collect();
    assert_eq!(ids, [0, 2, 10]);
}

async fn a_transaction_in_which_a_write_failed_is_over(db: &Db) {
    if !db.capabilities().transactions {
        return;
    }
    let raw = db.raw_collection("large");
    raw.insert(doc! { "_id": 1 }).await.unwrap();
    let large = || doc! { "_id": 3, "x": "x".repeat(17 << 20) };
    for (second, code) in [(large(), 10334), (doc! { "_id": 1 }, 11000)] {
        let swallowed = db.transaction(async |tx| {
            let raw = tx.raw_collection("large");
            let two = [doc! { "_id": 2 }, second.clone()];
            let error = raw.insert_many(two).unordered().await.unwrap_err();
            assert_eq!(error.write_errors()[0].error.code(), Some(code));
            Ok::<_, Error>(())
        });
        let error = swallowed.await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{error}");
        assert_eq!(raw.find_all().await.unwrap(), [doc! { "_id": 1 }]);
    }
}

async fn an_upsert_does_not_make_an_id_of_another_type(db: &Db) {
    let items = db.collection::<Item>();
    let refused = |error: Error| {
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::InvalidArgument, Some("_id"))
        );
        assert_eq!(error.model(), Some("Item"));
    };
    refused(
        items
            .update_one(|i| i.n.eq(1), |i| i.n.set(2))
            .upsert()
            .await
            .unwrap_err(),
    );
    refused(
        items
            .update_one(|i| i.id.gt(1), |i| i.n.inc(2))
            .upsert()
            .await
            .unwrap_err(),
    );
    let changed = items.find_one_and_update(|i| i.n.eq(1), |i| i.n.set(2));
    refused(changed.upsert().return_new().await.unwrap_err());
    let batch = items
        .bulk_write()
        .insert(item(1, 1))
        .upsert(|i| i.n.eq(2), |i| i.n.set(3));
    refused(batch.await.unwrap_err());
    assert_eq!(count(db).await, 0);
    // The filter says it, or the update.
    items
        .update_one(|i| i.id.eq(4), |i| i.n.set(4))
        .upsert()
        .await
        .unwrap();
    items
        .update_one(|i| i.n.eq(5), |i| i.id.set_on_insert(5))
        .upsert()
        .await
        .unwrap();
    items
        .bulk_write()
        .upsert(|i| i.id.is_in([6]) & i.n.exists(), |i| i.n.set(6))
        .await
        .unwrap();
    // Found, so that nothing is inserted; but that is not known before.
    refused(
        items
            .update_one(|i| i.n.eq(4), |i| i.n.set(7))
            .upsert()
            .await
            .unwrap_err(),
    );
    assert_eq!(
        items.find_all().sort(|i| i.id.asc()).await.unwrap(),
        [item(4, 4), item(5, 5), item(6, 6)]
    );
    // An untyped document and one with such an `_id` get theirs.
    let made = items
        .raw()
        .update_one(doc! { "n": 9 }, doc! { "$set": { "n": 9 } });
    assert!(made.upsert().await.unwrap().upserted_id.is_some());
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "counts")]
struct Count {
    #[serde(rename = "_id")]
    id: String,
    n: u64,
}

async fn a_document_that_cannot_be_stored_is_named(db: &Db) {
    let counts = db.collection::<Count>();
    let count = |id: &str, n| Count { id: id.to_owned(), n };
    let documents = [count("a", 1), count("b", u64::MAX)];
    let named = |error: Error| {
        assert_eq!((error.kind(), error.path()), (ErrorKind::Encode, Some("n")));
        assert_eq!(error.id(), Some(&"b".into()));
    };
    named(counts.insert(&documents[1]).await.unwrap_err());
    named(counts.insert_many(&documents).await.unwrap_err());
    named(counts.bulk_write().save(&documents[1]).await.unwrap_err());
    named(counts.replace(&documents[1]).await.unwrap_err());
    assert_eq!(counts.count(|_| Filter::all()).await.unwrap(), 0);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "codes")]
struct Code {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(unique)]
    code: String,
}

fn code(id: i32, code: &str) -> Code {
    Code {
        id,
        code: code.to_owned(),
    }
}

async fn codes(db: &Db) -> Vec<Code> {
    db.collection()
        .find_all()
        .sort(|c: CodeFields| c.id.asc())
        .await
        .unwrap()
}

async fn duplicates_can_be_left_out(db: &Db) {
    let collection = db.collection::<Code>();
    collection.sync_indexes().await.unwrap();
    collection.insert(code(1, "a")).await.unwrap();
    let all = [
        code(1, "x"),
        code(2, "a"),
        code(3, "b"),
        code(4, "b"),
        code(5, "c"),
    ];
    let stored = collection.insert_many(&all).ignore_duplicates().await.unwrap();
    assert_eq!(stored.ids, [3, 5]);
    assert_eq!(codes(db).await, [code(1, "a"), code(3, "b"), code(5, "c")]);
    let none = collection.insert_many(&all).ignore_duplicates().await.unwrap();
    assert_eq!(none.ids, [0_i32; 0]);
    // Other errors stay errors.
    let items = db.collection::<Item>();
    let error = items
        .insert_many(some_wrong())
        .ignore_duplicates()
        .await
        .unwrap_err();
    let kinds = [
        (1, ErrorKind::Validation),
        (3, ErrorKind::DuplicateKey),
        (4, ErrorKind::Validation),
    ];
    assert_eq!(failed(&error), kinds);
    let tx = db.begin().await.unwrap();
    let inside = tx
        .collection::<Code>()
        .insert_many([code(6, "a")])
        .ignore_duplicates();
    assert!(inside.await.is_err());
    drop(tx);
    assert_eq!(codes(db).await.len(), 3);
}

async fn replacements_of_a_batch_insert_what_is_not_there(db: &Db) {
    let collection = db.collection::<Code>();
    collection.insert(code(1, "a")).await.unwrap();
    let result = collection
        .bulk_write()
        .upsert_replacement(|c| c.code.eq("a"), code(1, "b"))
        .upsert_replacement(|c| c.code.eq("z"), code(2, "z"))
        .await
        .unwrap();
    assert_eq!((result.matched, result.upserted_ids), (1, vec![(1, 2)]));
    assert_eq!(codes(db).await, [code(1, "b"), code(2, "z")]);
}

async fn what_is_not_found_is_inserted_once(db: &Db) {
    let collection = db.collection::<Code>();
    collection.sync_indexes().await.unwrap();
    let at_once = (0..12).map(|id| {
        let collection = collection.clone();
        async move {
            collection
                .find_or_insert(|c| c.code.eq("a"), || code(id, "a"))
                .await
        }
    });
    let found = futures_util::future::try_join_all(at_once).await.unwrap();
    assert_eq!(found.iter().filter(|(_, inserted)| *inserted).count(), 1);
    assert!(found.iter().all(|(document, _)| document == &found[0].0));
    assert_eq!(codes(db).await, [found[0].0.clone()]);
    // Another document has the key.
    let other = code(found[0].0.id, "b");
    let error = collection
        .find_or_insert(|c| c.code.eq("b"), || other)
        .await
        .unwrap_err();
    assert!(error.is_duplicate_key());
    db.transaction(async |tx| {
        let inside = tx.collection::<Code>();
        let (made, inserted) = inside
            .find_or_insert(|c| c.code.eq("t"), || code(50, "t"))
            .await?;
        assert!(inserted && made == code(50, "t"));
        let (_, inserted) = inside
            .find_or_insert(|c| c.code.eq("t"), || code(51, "t"))
            .await?;
        assert!(!inserted);
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(codes(db).await.len(), 2);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Line {
    sku: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Basket {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    lines: Vec<Line>,
    #[serde(default)]
    total: i32,
}

async fn an_upsert_does_not_make_an_element_of_an_array(db: &Db) {
    let baskets = db.collection::<Basket>();
    let refused = |error: Error, path: &str| {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert_eq!(
            (error.path(), error.model()),
            (Some(path), Some("Basket")),
            "{error}"
        );
    };
    let set = |b: BasketFields| b.total.set(1);
    refused(
        baskets
            .upsert(|b| b.id.eq(1) & b.tags.has("a"), set)
            .await
            .unwrap_err(),
        "tags",
    );
    refused(
        baskets
            .upsert(|b| b.id.eq(1) & b.tags.has_all(["a"]), set)
            .await
            .unwrap_err(),
        "tags",
    );
    refused(
        baskets
            .upsert(|b| b.id.eq(1) & b.tags.has_any(["a"]), set)
            .await
            .unwrap_err(),
        "tags",
    );
    refused(
        baskets
            .upsert(|b| b.id.eq(1) & b.tags.any().eq("a"), set)
            .await
            .unwrap_err(),
        "tags",
    );
    refused(
        baskets
            .upsert(|b| b.id.eq(1) & b.lines.any().sku.eq("a"), set)
            .await
            .unwrap_err(),
        "lines",
    );
    refused(
        baskets
            .upsert(|b| b.id.eq(1) & b.lines.at(0).sku.eq("a"), set)
            .await
            .unwrap_err(),
        "lines",
    );
    let pushed = baskets
        .upsert(|b| b.id.eq(1) & b.tags.has("a"), |b| b.tags.push("b"))
        .await;
    refused(pushed.unwrap_err(), "tags");
    let found = baskets
        .find_one_and_update(|b| b.id.eq(1) & b.tags.has("a"), set)
        .upsert();
    refused(found.return_new().await.unwrap_err(), "tags");
    let batch = baskets.bulk_write().upsert(|b| b.id.eq(1) & b.tags.has("a"), set);
    refused(batch.await.unwrap_err(), "tags");
    assert_eq!(baskets.count(|_| Filter::all()).await.unwrap(), 0);

    // What puts nothing there, and what the update sets, is made.
    let several = baskets
        .upsert(|b| b.id.eq(2) & b.tags.has_any(["a", "b"]), set)
        .await
        .unwrap();
    assert_eq!(several.upserted_id, Some(2));
    let other = |b: BasketFields| b.id.eq(3) & b.lines.elem_match(|l| l.sku.eq("a")) & !b.tags.has("c");
    assert_eq!(baskets.upsert(other, set).await.unwrap().upserted_id, Some(3));
    let tags = vec!["a".to_owned()];
    let made = baskets
        .upsert(|b| b.id.eq(4) & b.tags.has("a"), |b| b.tags.set_on_insert(&tags))
        .await
        .unwrap();
    assert_eq!(made.upserted_id, Some(4));
    assert_eq!(baskets.get(4).required().await.unwrap().tags, tags);
    let whole = baskets
        .upsert(|b| b.id.eq(5) & b.tags.eq(["a"]), set)
        .await
        .unwrap();
    assert_eq!(whole.upserted_id, Some(5));
    assert_eq!(baskets.find_all().await.unwrap().len(), 4);
    // Without an upsert they are conditions as any other.
    assert_eq!(
        baskets
            .update_one(|b| b.tags.has("a"), set)
            .await
            .unwrap()
            .matched,
        1
    );
}
