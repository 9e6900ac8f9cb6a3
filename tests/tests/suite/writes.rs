//! Inserting, replacing, saving, deleting, and what comes back.

use bson::doc;
use odm::{Db, ErrorKind};

use super::models::{Account, Item};

crate::on_every_backend! {
    an_inserted_document_comes_back_whole,
    a_second_document_with_the_same_id_is_refused,
    documents_of_megabytes_come_back_whole,
    insert_many_keeps_the_order_and_gives_every_id,
    an_ordered_insert_stops_at_the_first_error_and_says_what_was_written,
    an_unordered_insert_goes_on_after_errors,
    inserting_nothing_does_nothing,
    replace_changes_what_is_there_and_save_also_what_is_not,
    replacing_with_an_equal_document_modifies_nothing,
    an_id_never_changes,
    deletes_count_what_they_take,
    a_bulk_write_runs_in_order_and_counts_each_kind,
    a_bulk_write_names_every_statement_that_failed,
    find_one_and_gives_the_old_or_the_new_document,
    what_find_one_and_must_find_is_there_or_an_error,
    upsert_seeds_from_the_filter,
}

async fn an_inserted_document_comes_back_whole(db: &Db) {
    let items = db.collection::<Item>();
    let mut item = Item::new("a", 3)
        .tagged(&["x", "y"])
        .scored(&[1, 2])
        .reviewed(&[("ann", 5)]);
    item.labels.insert("color".to_owned(), "red".to_owned());
    item.note = Some("né\0e".to_owned());
    let key = items.insert(&item).await.unwrap();
    assert_eq!(key, "a");
    assert_eq!(items.get("a".to_owned()).await.unwrap(), Some(item));
    assert_eq!(items.get("b".to_owned()).await.unwrap(), None);
}

async fn a_second_document_with_the_same_id_is_refused(db: &Db) {
    let items = db.collection::<Item>();
    items.insert(Item::new("a", 1)).await.unwrap();
    let error = items.insert(Item::new("a", 2)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert_eq!(error.code(), Some(11000));
    assert_eq!(error.index(), Some("_id_"));
    assert_eq!(
        error.key_value().and_then(|key| key.get_str("_id").ok()),
        Some("a")
    );
    assert_eq!(
        items.get("a".to_owned()).await.unwrap().map(|item| item.stock),
        Some(1)
    );
}

async fn documents_of_megabytes_come_back_whole(db: &Db) {
    let items = db.collection::<Item>();
    let item = |key: &str, size: usize| {
        let mut item = Item::new(key, 1);
        item.note = Some("x".repeat(size));
        item
    };
    let large = item("large", 3 << 20);
    items.insert(&large).await.unwrap();
    let many = [item("a", 10), item("b", 400_000), item("c", 5 << 20)];
    items.insert_many(&many).await.unwrap();
    assert_eq!(items.get("large".to_owned()).await.unwrap(), Some(large.clone()));
    for item in many {
        assert_eq!(items.get(item.id.clone()).await.unwrap(), Some(item));
    }
    let error = items.insert(&large).await.unwrap_err();
    assert_eq!(error.index(), Some("_id_"));
    assert_eq!(error.key_value(), Some(&bson::doc! { "_id": "large" }));
    items.insert(item("too large", 17 << 20)).await.unwrap_err();
    assert_eq!(items.count(|_| odm::Filter::all()).await.unwrap(), 4);
}

async fn insert_many_keeps_the_order_and_gives_every_id(db: &Db) {
    let accounts = db.collection::<Account>();
    let many: Vec<Account> = (0..250)
        .map(|n| Account::new(&format!("{n}@example.org"), n))
        .collect();
    let result = accounts.insert_many(&many).await.unwrap();
    assert_eq!(
        result.ids,
        many.iter().map(|account| account.id).collect::<Vec<_>>()
    );
    let found = accounts.find_all().await.unwrap();
    assert_eq!(found, many);
    assert_eq!(accounts.estimated_count().await.unwrap(), 250);
}

async fn an_ordered_insert_stops_at_the_first_error_and_says_what_was_written(db: &Db) {
    let items = db.collection::<Item>();
    let many = [
        Item::new("a", 1),
        Item::new("b", 1),
        Item::new("a", 2),
        Item::new("c", 1),
    ];
    let error = items.insert_many(&many).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    let failed: Vec<usize> = error.write_errors().iter().map(|write| write.index).collect();
    assert_eq!(failed, [2]);
    assert_eq!(items.count(|_| odm::Filter::all()).await.unwrap(), 2);
}

async fn an_unordered_insert_goes_on_after_errors(db: &Db) {
    let items = db.collection::<Item>();
    let many = [
        Item::new("a", 1),
        Item::new("a", 2),
        Item::new("b", 1),
        Item::new("b", 2),
        Item::new("c", 1),
    ];
    let error = items.insert_many(&many).unordered().await.unwrap_err();
    let failed: Vec<usize> = error.write_errors().iter().map(|write| write.index).collect();
    assert_eq!(failed, [1, 3]);
    assert_eq!(items.count(|_| odm::Filter::all()).await.unwrap(), 3);
}

async fn inserting_nothing_does_nothing(db: &Db) {
    let items = db.collection::<Item>();
    assert!(
        items
            .insert_many(Vec::<Item>::new())
            .await
            .unwrap()
            .ids
            .is_empty()
    );
    assert_eq!(items.estimated_count().await.unwrap(), 0);
}

async fn replace_changes_what_is_there_and_save_also_what_is_not(db: &Db) {
    let items = db.collection::<Item>();
    let result = items.replace(Item::new("a", 1)).await.unwrap();
    assert_eq!((result.matched, result.modified), (0, 0));
    let result = items.save(Item::new("a", 1)).await.unwrap();
    assert_eq!(result.upserted_id.as_deref(), Some("a"));
    let result = items.save(Item::new("a", 2)).await.unwrap();
    assert_eq!(
        (result.matched, result.modified, result.upserted_id),
        (1, 1, None)
    );
    let result = items
        .replace_one(|i| i.stock.eq(2), Item::new("a", 3))
        .await
        .unwrap();
    assert_eq!((result.matched, result.modified), (1, 1));
    assert_eq!(
        items.get("a".to_owned()).await.unwrap().map(|item| item.stock),
        Some(3)
    );
}

async fn replacing_with_an_equal_document_modifies_nothing(db: &Db) {
    let items = db.collection::<Item>();
    items.insert(Item::new("a", 1)).await.unwrap();
    let result = items.replace(Item::new("a", 1)).await.unwrap();
    assert_eq!((result.matched, result.modified), (1, 0));
}

async fn an_id_never_changes(db: &Db) {
    let items = db.collection::<Item>();
    items.insert(Item::new("a", 1)).await.unwrap();
    let error = items
        .replace_one(|i| i.id.eq("a"), Item::new("b", 1))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(66));
    let error = items
        .update_one(|i| i.id.eq("a"), |i| i.id.set("b"))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(66));
}

async fn deletes_count_what_they_take(db: &Db) {
    let items = db.collection::<Item>();
    let many: Vec<Item> = (0..10).map(|n| Item::new(&n.to_string(), n)).collect();
    items.insert_many(&many).await.unwrap();
    assert_eq!(items.delete("3".to_owned()).await.unwrap().deleted, 1);
    assert_eq!(items.delete("3".to_owned()).await.unwrap().deleted, 0);
    assert_eq!(items.delete_one(|i| i.stock.gte(5)).await.unwrap().deleted, 1);
    assert_eq!(items.delete_many(|i| i.stock.gte(5)).await.unwrap().deleted, 4);
    assert_eq!(
        items.delete_many(|_| odm::Filter::all()).await.unwrap().deleted,
        4
    );
    assert_eq!(items.estimated_count().await.unwrap(), 0);
}

async fn a_bulk_write_runs_in_order_and_counts_each_kind(db: &Db) {
    let items = db.collection::<Item>();
    let result = items
        .bulk_write()
        .insert(Item::new("a", 1))
        .insert(Item::new("b", 2))
        .update_one(|i| i.id.eq("a"), |i| i.stock.inc(10))
        .update_many(|_| odm::Filter::all(), |i| i.sold.inc(1))
        .upsert(|i| i.id.eq("c"), |i| i.stock.set(7))
        .delete_one(|i| i.id.eq("b"))
        .save(Item::new("d", 4))
        .await
        .unwrap();
    assert_eq!(result.inserted, 2);
    assert_eq!((result.matched, result.modified), (3, 3));
    assert_eq!(result.upserted_ids, [(4, "c".to_owned()), (6, "d".to_owned())]);
    assert_eq!(result.deleted, 1);
    assert_eq!(
        items
            .get("a".to_owned())
            .await
            .unwrap()
            .map(|item| (item.stock, item.sold)),
        Some((11, 1))
    );
    assert_eq!(items.count(|_| odm::Filter::all()).await.unwrap(), 3);

    // By `_id`, what is not there stays away.
    let result = items
        .bulk_write()
        .replace(Item::new("a", 20))
        .replace(Item::new("z", 1))
        .delete("c")
        .delete("y".to_owned())
        .await
        .unwrap();
    assert_eq!((result.matched, result.modified, result.deleted), (1, 1, 1));
    assert_eq!(result.upserted_ids, []);
    let left = items.find_all().sort(|i| i.id.asc()).await.unwrap();
    assert_eq!(left, [Item::new("a", 20), Item::new("d", 4)]);
    let raw = db.raw_collection(items.name());
    let batch = raw.bulk_write().replace(doc! { "_id": "d", "n": 1 }).delete("a");
    assert_eq!(batch.await.unwrap().modified, 1);
    assert_eq!(raw.find_all().await.unwrap(), [doc! { "_id": "d", "n": 1 }]);
    let error = raw.bulk_write().replace(doc! { "n": 1 }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("no `_id`"), "{error}");
}

async fn a_bulk_write_names_every_statement_that_failed(db: &Db) {
    let items = db.collection::<Item>();
    let error = items
        .bulk_write()
        .unordered()
        .insert(Item::new("a", 1))
        .insert(Item::new("a", 2))
        .update_one(|i| i.id.eq("a"), |i| i.id.set("z"))
        .insert(Item::new("b", 1))
        .await
        .unwrap_err();
    let failed: Vec<(usize, Option<i32>)> = error
        .write_errors()
        .iter()
        .map(|write| (write.index, write.error.code()))
        .collect();
    assert_eq!(failed, [(1, Some(11000)), (2, Some(66))]);
    assert_eq!(items.count(|_| odm::Filter::all()).await.unwrap(), 2);
}

async fn find_one_and_gives_the_old_or_the_new_document(db: &Db) {
    let items = db.collection::<Item>();
    items
        .insert_many([Item::new("a", 1), Item::new("b", 2), Item::new("c", 3)])
        .await
        .unwrap();
    let old = items
        .find_one_and_update(|i| i.id.eq("a"), |i| i.stock.inc(5))
        .await
        .unwrap();
    assert_eq!(old.map(|item| item.stock), Some(1));
    let new = items
        .find_one_and_update(|i| i.id.eq("a"), |i| i.stock.inc(5))
        .return_new()
        .await
        .unwrap();
    assert_eq!(new.map(|item| item.stock), Some(11));
    let part = items
        .find_one_and_update(|i| i.id.eq("a"), |i| i.stock.inc(0))
        .return_new()
        .project_raw(bson::doc! { "_id": 0, "stock": 1 });
    assert_eq!(part.await.unwrap(), Some(bson::doc! { "stock": 11 }));
    let most = items
        .find_one_and_delete(|i| i.stock.gt(0))
        .sort(|i| i.stock.desc())
        .await
        .unwrap();
    assert_eq!(most.map(|item| item.id), Some("a".to_owned()));
    let replaced = items
        .find_one_and_replace(|i| i.id.eq("b"), Item::new("b", 9))
        .return_new()
        .await
        .unwrap();
    assert_eq!(replaced.map(|item| item.stock), Some(9));
    let none = items
        .find_one_and_update(|i| i.id.eq("zz"), |i| i.stock.inc(5))
        .await
        .unwrap();
    assert_eq!(none, None);
}

async fn what_find_one_and_must_find_is_there_or_an_error(db: &Db) {
    let items = db.collection::<Item>();
    items
        .insert_many([Item::new("a", 1), Item::new("b", 2)])
        .await
        .unwrap();
    let old = items
        .find_one_and_update(|i| i.id.eq("a"), |i| i.stock.inc(5))
        .required();
    assert_eq!(old.await.unwrap().stock, 1);
    let new = items.find_one_and_replace(|i| i.id.eq("a"), Item::new("a", 9));
    assert_eq!(new.return_new().required().await.unwrap().stock, 9);
    let gone = items
        .find_one_and_delete(|i| i.stock.gt(0))
        .sort(|i| i.stock.desc());
    assert_eq!(gone.required().await.unwrap().id, "a");

    let asked = items.get("a").required().await.unwrap_err();
    let errors = [
        items
            .find_one_and_update(|i| i.id.eq("a"), |i| i.stock.inc(5))
            .required()
            .await,
        items
            .find_one_and_replace(|i| i.id.eq("a"), Item::new("a", 9))
            .required()
            .await,
        items.find_one_and_delete(|i| i.id.eq("a")).required().await,
    ];
    for error in errors.map(Result::unwrap_err) {
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.message(), asked.message());
        assert_eq!(
            (error.model(), error.namespace()),
            (asked.model(), asked.namespace())
        );
        assert_eq!(error.id(), Some(&bson::Bson::from("a")));
        assert_eq!(error.operation(), Some("findAndModify"));
    }
    let error = items
        .find_one_and_delete(|i| i.stock.gt(99))
        .required()
        .await
        .unwrap_err();
    assert_eq!((error.kind(), error.id()), (ErrorKind::NotFound, None));

    // What an upsert inserts is the new document, or nothing: then nothing is written.
    let upsert = || {
        items
            .find_one_and_update(|i| i.id.eq("c"), |i| i.stock.inc(5))
            .upsert()
            .untyped()
    };
    let error = upsert().required().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(items.get("c").await.unwrap(), None);
    let new = upsert().return_new().required().await.unwrap();
    assert_eq!(new.get("_id"), Some(&bson::Bson::from("c")));
    let raw = db.raw_collection("none_of_these");
    let error = raw
        .find_one_and_delete(bson::doc! { "_id": 7 })
        .required()
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.id()),
        (ErrorKind::NotFound, Some(&bson::Bson::Int32(7)))
    );
}

async fn upsert_seeds_from_the_filter(db: &Db) {
    let items = db.raw_collection("seeds");
    let result = items
        .upsert(
            bson::doc! { "_id": 1, "a.b": 2, "c": { "$gt": 1 } },
            bson::doc! { "$set": { "d": 3 } },
        )
        .await
        .unwrap();
    assert_eq!(result.upserted_id, Some(bson::Bson::Int32(1)));
    let found = items.find_one(bson::doc! {}).await.unwrap();
    assert_eq!(found, Some(bson::doc! { "_id": 1, "a": { "b": 2 }, "d": 3 }));
}
