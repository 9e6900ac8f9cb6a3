//! Indexes: declared, listed, compared, enforced.

use bson::{Bson, doc};
use odm::{Db, ErrorKind};

use super::models::{Account, Item};

crate::on_every_backend! {
    declared_indexes_are_created_and_listed,
    a_unique_index_refuses_the_second,
    a_unique_index_is_not_built_over_duplicates,
    drift_is_reported_and_sync_never_drops_unasked,
    index_options_are_checked_with_the_servers_codes,
    sparse_and_partial_indexes_enforce_only_their_documents,
    parallel_arrays_are_refused,
    a_taken_id_is_found_before_what_is_wrong_with_a_later_index,
    a_change_is_looked_at_index_by_index,
    unknown_options_are_left_out_when_asked,
    a_foreign_uuid_is_never_passed_over,
}

async fn declared_indexes_are_created_and_listed(db: &Db) {
    let items = db.collection::<Item>();
    assert!(items.list_indexes().await.unwrap().is_empty());
    items.create_indexes().await.unwrap();
    items.create_indexes().await.unwrap();
    let mut names: Vec<String> = items
        .list_indexes()
        .await
        .unwrap()
        .into_iter()
        .map(|index| index.name)
        .collect();
    names.sort();
    assert_eq!(names, ["_id_", "category_1_price_-1", "name_1"]);
}

async fn a_unique_index_refuses_the_second(db: &Db) {
    let accounts = db.collection::<Account>();
    accounts.create_indexes().await.unwrap();
    accounts.insert(Account::new("a@example.org", 1)).await.unwrap();
    let other = Account::new("b@example.org", 1);
    accounts.insert(&other).await.unwrap();
    let error = accounts
        .insert(Account::new("a@example.org", 2))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert_eq!(error.index(), Some("email_1"));
    assert_eq!(error.key_pattern(), Some(&doc! { "email": 1 }));
    assert_eq!(error.key_value(), Some(&doc! { "email": "a@example.org" }));
    assert!(
        error.message().contains("dup key: { email: \"a@example.org\" }"),
        "{}",
        error.message()
    );
    let error = accounts
        .update_one(|a| a.id.eq(other.id), |a| a.email.set("a@example.org"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert_eq!(accounts.count(|_| odm::Filter::all()).await.unwrap(), 2);
}

async fn a_unique_index_is_not_built_over_duplicates(db: &Db) {
    let accounts = db.collection::<Account>();
    accounts.insert(Account::new("a@example.org", 1)).await.unwrap();
    accounts.insert(Account::new("a@example.org", 2)).await.unwrap();
    let error = accounts.create_indexes().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    let names: Vec<String> = accounts
        .list_indexes()
        .await
        .unwrap()
        .into_iter()
        .map(|index| index.name)
        .collect();
    assert_eq!(names, ["_id_"]);
}

async fn drift_is_reported_and_sync_never_drops_unasked(db: &Db) {
    let items = db.collection::<Item>();
    let raw = odm_tests::raw::RawCollection::new(db, "items");
    raw.create_index(&doc! { "key": { "extra": 1 }, "name": "extra_1" })
        .await
        .unwrap();
    assert!(!items.index_drift().await.unwrap().is_empty());
    items.sync_indexes().await.unwrap();
    let mut names: Vec<String> = items
        .list_indexes()
        .await
        .unwrap()
        .into_iter()
        .map(|index| index.name)
        .collect();
    names.sort();
    assert_eq!(names, ["_id_", "category_1_price_-1", "extra_1", "name_1"]);
    items.sync_indexes().drop_unknown(true).await.unwrap();
    assert_eq!(items.list_indexes().await.unwrap().len(), 3);
    assert!(items.index_drift().await.unwrap().is_empty());
}

async fn index_options_are_checked_with_the_servers_codes(db: &Db) {
    let raw = odm_tests::raw::RawCollection::new(db, "checked");
    raw.create_index(&doc! { "key": { "a": 1 }, "name": "a_1" })
        .await
        .unwrap();
    for (spec, code) in [
        (doc! { "key": { "a": 1 }, "name": "other" }, 85),
        (doc! { "key": { "b": 1 }, "name": "a_1" }, 86),
        (doc! { "key": { "a": 1 }, "name": "a_1", "unique": true }, 86),
        (
            doc! { "key": { "a": 1 }, "name": "a_1", "expireAfterSeconds": 5 },
            85,
        ),
        (doc! { "key": { "b": 0 }, "name": "b_0" }, 67),
        (doc! { "key": { "b": "nope" }, "name": "b_nope" }, 67),
        (doc! { "key": { "b": 1 }, "name": "b", "nope": 1 }, 197),
        (
            doc! { "key": { "b": 1 }, "name": "b", "expireAfterSeconds": -1 },
            67,
        ),
        (
            doc! { "key": { "b": 1 }, "name": "b", "sparse": true, "partialFilterExpression": { "x": 1 } },
            67,
        ),
    ] {
        let error = raw.create_index(&spec).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{spec}: {error}");
    }
}

async fn sparse_and_partial_indexes_enforce_only_their_documents(db: &Db) {
    let raw = odm_tests::raw::RawCollection::new(db, "partly");
    raw.create_index(&doc! { "key": { "s": 1 }, "name": "s", "unique": true, "sparse": true })
        .await
        .unwrap();
    let partial =
        doc! { "key": { "p": 1 }, "name": "p", "unique": true, "partialFilterExpression": { "on": true } };
    raw.create_index(&partial).await.unwrap();
    let inserted = raw
        .insert(&[
            doc! { "_id": 1, "p": 1, "on": true },
            doc! { "_id": 2, "p": 1, "on": false },
            doc! { "_id": 3, "p": 1 },
            doc! { "_id": 4, "s": 1 },
        ])
        .await
        .unwrap();
    assert!(inserted.errors.is_empty(), "{:?}", inserted.errors);
    let refused = raw
        .insert(&[doc! { "_id": 5, "p": 1, "on": true }])
        .await
        .unwrap();
    assert_eq!(refused.errors.len(), 1);
    let refused = raw.insert(&[doc! { "_id": 6, "s": 1 }]).await.unwrap();
    assert_eq!(refused.errors.len(), 1);
    // A query that the partial index does not cover still finds everything.
    assert_eq!(
        raw.find(&doc! { "p": 1 }, None, None, 0, 0).await.unwrap().len(),
        3
    );
}

async fn parallel_arrays_are_refused(db: &Db) {
    let raw = odm_tests::raw::RawCollection::new(db, "parallel");
    raw.create_index(&doc! { "key": { "a": 1, "b": 1 }, "name": "a_1_b_1" })
        .await
        .unwrap();
    let result = raw
        .insert(&[doc! { "_id": 1, "a": [1], "b": [2] }])
        .await
        .unwrap();
    assert_eq!(result.errors[0].1.code(), Some(171));
}

async fn a_taken_id_is_found_before_what_is_wrong_with_a_later_index(db: &Db) {
    let raw = odm_tests::raw::RawCollection::new(db, "order");
    raw.create_index(&doc! { "key": { "a": 1, "b": 1 }, "name": "a_1_b_1" })
        .await
        .unwrap();
    raw.insert(&[doc! { "_id": 1 }]).await.unwrap();
    let result = raw
        .insert(&[doc! { "_id": 1, "a": [1], "b": [2] }])
        .await
        .unwrap();
    assert_eq!(result.errors[0].1.code(), Some(11000));
}

async fn a_change_is_looked_at_index_by_index(db: &Db) {
    let unique = || doc! { "key": { "u": 1 }, "name": "u", "unique": true };
    let plane = || doc! { "key": { "g": "2d" }, "name": "g" };
    let arrays = || doc! { "key": { "a": 1, "b": 1 }, "name": "ab" };
    let lines = || doc! { "g": { "type": "Point" } };
    let both = || doc! { "a": [1], "b": [2] };
    for (indexes, fields, code) in [
        ([unique(), plane()], lines(), 11000),
        ([plane(), unique()], lines(), 16804),
        ([unique(), arrays()], both(), 11000),
        ([arrays(), unique()], both(), 171),
    ] {
        let _ = db.run_command(doc! { "drop": "c" }).await;
        let raw = db.raw_collection("c");
        raw.insert_many([doc! { "_id": 1, "u": 1 }, doc! { "_id": 2, "u": 2 }])
            .await
            .unwrap();
        for index in indexes.clone() {
            db.run_command(doc! { "createIndexes": "c", "indexes": [index] })
                .await
                .unwrap();
        }
        let mut taken = doc! { "u": 2 };
        taken.extend(fields);
        for update in [doc! { "$set": taken.clone() }, taken.clone()] {
            let changed = raw
                .update_one(doc! { "_id": 1 }, doc! { "$set": taken.clone() })
                .await;
            assert_eq!(changed.unwrap_err().code(), Some(code), "{indexes:?}");
            let modify = doc! { "findAndModify": "c", "query": { "_id": 1 }, "update": update };
            let error = db.run_command(modify).await.unwrap_err();
            assert_eq!(error.code(), Some(code), "{indexes:?}");
        }
        assert_eq!(
            raw.get(Bson::Int32(1)).await.unwrap(),
            Some(doc! { "_id": 1, "u": 1 })
        );
    }
}

async fn unknown_options_are_left_out_when_asked(db: &Db) {
    let create = |lenient: bool| {
        let index = doc! { "key": { "a": 1 }, "name": "a", "sparse": true, "bogus": 3 };
        doc! { "createIndexes": "c", "indexes": [index], "ignoreUnknownIndexOptions": lenient }
    };
    let error = db.run_command(create(false)).await.unwrap_err();
    assert_eq!(error.code(), Some(197), "{error}");
    db.run_command(create(true)).await.unwrap();
    let listed = db.run_command(doc! { "listIndexes": "c" }).await.unwrap();
    let batch = listed.get_document("cursor").unwrap().get_array("firstBatch");
    let expected = doc! { "v": 2, "key": { "a": 1 }, "name": "a", "sparse": true };
    assert_eq!(batch.unwrap()[1].as_document(), Some(&expected));
}

async fn a_foreign_uuid_is_never_passed_over(db: &Db) {
    db.raw_collection("c").insert(doc! { "_id": 1 }).await.unwrap();
    let bytes = vec![7; 16];
    let uuid = bson::Binary {
        subtype: bson::spec::BinarySubtype::Uuid,
        bytes,
    };
    for command in [
        doc! { "aggregate": "c", "pipeline": [], "cursor": {}, "collectionUUID": &uuid },
        doc! { "drop": "c", "collectionUUID": &uuid },
    ] {
        let error = db.run_command(command).await.unwrap_err();
        let is_refused = error.kind() == ErrorKind::Unsupported || error.code() == Some(361);
        assert!(is_refused, "{error}");
    }
}
