//! Budgets of round trips, and queries held against the declared indexes.

use bson::doc;
use odm::{Db, ErrorKind, Filter, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_budget_ends_what_asks_too_often,
    a_budget_counts_further_batches,
    a_budget_counts_transactions,
    queries_are_held_against_the_declared_indexes,
    scans_are_found,
    scans_are_refused,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(index(keys(shelf, desc(year))))]
struct Tome {
    #[serde(rename = "_id")]
    id: i32,
    shelf: String,
    year: i32,
    #[odm(unique)]
    code: String,
    pages: i32,
}

fn tome(id: i32) -> Tome {
    Tome {
        id,
        shelf: format!("s{}", id % 3),
        year: 1900 + id,
        code: format!("c{id}"),
        pages: id * 10,
    }
}

async fn a_budget_ends_what_asks_too_often(db: &Db) {
    db.collection::<Tome>()
        .insert_many((0..10).map(tome))
        .await
        .unwrap();
    let cheap = db.budget(3);
    let tomes = cheap.collection::<Tome>();
    tomes.get(1).await.unwrap();
    tomes
        .update_one(|t| t.id.eq(1), |t| t.pages.inc(1))
        .await
        .unwrap();
    // Clones and other handles share it.
    cheap.clone().raw_collection("other").find(doc! {}).await.unwrap();
    let error = tomes
        .update_one(|t| t.id.eq(1), |t| t.pages.inc(1))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.operation(), error.model()),
        (ErrorKind::Budget, Some("update"), Some("Tome"))
    );
    let name = db.name();
    let done = format!("after find {name}.tomes, update {name}.tomes, find {name}.other");
    assert!(error.message().ends_with(&done), "{error}");
    assert!(error.message().contains("(3)"));
    // What was refused was not sent.
    assert_eq!(db.collection::<Tome>().get(1).required().await.unwrap().pages, 11);
    // Another budget is another one; none at all is one too.
    assert!(db.budget(1).collection::<Tome>().get(1).await.is_ok());
    assert_eq!(
        db.budget(0).collection::<Tome>().get(1).await.unwrap_err().kind(),
        ErrorKind::Budget
    );
    // A budget inside a budget is bound by both.
    let inner = db.budget(1).budget(5);
    assert!(inner.collection::<Tome>().get(1).await.is_ok());
    assert_eq!(
        inner.collection::<Tome>().get(1).await.unwrap_err().kind(),
        ErrorKind::Budget
    );
}

async fn a_budget_counts_further_batches(db: &Db) {
    db.collection::<Tome>()
        .insert_many((0..10).map(tome))
        .await
        .unwrap();
    let cheap = db.budget(2);
    let mut cursor = cheap.collection::<Tome>().find_all().batch_size(4).stream();
    for _ in 0..8 {
        cursor.try_next().await.unwrap().unwrap();
    }
    let error = cursor.try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Budget);
    assert!(error.message().contains("getMore"), "{error}");
    // A result that fits is read to its end.
    let all = db
        .budget(1)
        .collection::<Tome>()
        .find_all()
        .batch_size(20)
        .await
        .unwrap();
    assert_eq!(all.len(), 10);
}

async fn a_budget_counts_transactions(db: &Db) {
    if !db.capabilities().transactions {
        return;
    }
    db.collection::<Tome>().insert(tome(1)).await.unwrap();
    let read = async |tx: odm::Tx| tx.collection::<Tome>().get(1).await;
    assert!(db.budget(2).transaction(read).await.unwrap().is_some());
    let error = db.budget(1).transaction(read).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.message().contains("commitTransaction")),
        (ErrorKind::Budget, true)
    );
    // Loading relations or pages is held to it too: two round trips.
    assert!(
        db.budget(1)
            .collection::<Tome>()
            .find_all()
            .page_number(1, 5)
            .await
            .is_err()
    );
}

async fn queries_are_held_against_the_declared_indexes(db: &Db) {
    // No index is there, and none is built: the declaration counts.
    let tomes = db.collection::<Tome>();
    let used = tomes
        .find(|t| t.shelf.eq("s1") & t.year.gt(1905))
        .must_use_index()
        .await
        .unwrap();
    assert_eq!(used.indexes, ["shelf_1_year_-1"]);
    assert!(!used.reads_everything && !used.sorts_in_memory && used.suggestion.is_none());
    let used = tomes
        .find(|t| t.shelf.eq("s1"))
        .sort(|t| t.year.asc())
        .must_use_index()
        .await
        .unwrap();
    assert!(!used.sorts_in_memory);
    assert!(tomes.find(|t| t.id.eq(1)).must_use_index().await.is_ok());
    assert!(
        tomes
            .find(|t| t.code.eq("x") | t.id.eq(4))
            .must_use_index()
            .await
            .is_ok()
    );
    assert!(tomes.find(|_| Filter::none()).must_use_index().await.is_ok());
    assert!(
        tomes
            .find_all()
            .sort(|t| t.code.asc())
            .limit(10)
            .must_use_index()
            .await
            .is_ok()
    );

    let refused = async |find: odm::action::Find<Tome>| {
        let error = find.must_use_index().await.unwrap_err();
        assert_eq!(
            (error.kind(), error.model()),
            (ErrorKind::Unindexed, Some("Tome"))
        );
        error.message().to_owned()
    };
    let message = refused(tomes.find(|t| t.pages.eq(5))).await;
    assert!(message.contains("{ \"pages\": 1 }"), "{message}");
    let message = refused(
        tomes
            .find(|t| t.pages.gt(5) & t.year.eq(1900))
            .sort(|t| t.code.desc()),
    )
    .await;
    assert!(
        message.contains("{ \"year\": 1, \"code\": -1, \"pages\": 1 }"),
        "{message}"
    );
    refused(tomes.find(|t| t.code.eq("x") | t.pages.eq(4))).await;
    refused(tomes.find_all()).await;
    refused(tomes.find_all().sort(|t| t.pages.asc()).limit(10)).await;

    let used = tomes
        .find(|t| t.shelf.eq("s1"))
        .sort(|t| t.pages.asc())
        .index_use()
        .await
        .unwrap();
    assert!(used.sorts_in_memory && !used.reads_everything);
    assert_eq!(used.suggestion, Some(doc! { "shelf": 1, "pages": 1 }));
    assert_eq!(tomes.estimated_count().await.unwrap(), 0);
    assert_eq!(tomes.list_indexes().await.unwrap().len(), 0);
}

async fn scans_are_found(db: &Db) {
    let (db, scans) = db.watch_scans();
    let tomes = db.collection::<Tome>();
    tomes.create_indexes().await.unwrap();
    tomes.insert_many((0..30).map(tome)).await.unwrap();
    // What goes by an index, and what asks for everything.
    tomes.get(1).await.unwrap();
    tomes.get_many([1, 2]).await.unwrap();
    tomes
        .find(|t| t.shelf.eq("s1"))
        .sort(|t| t.year.desc())
        .await
        .unwrap();
    tomes.find_all().await.unwrap();
    tomes.find_all().limit(3).await.unwrap();
    tomes.find_all().sort(|t| t.id.desc()).page(5).await.unwrap();
    tomes
        .find(|t| t.code.starts_with("c1"))
        .stream()
        .try_collect::<Vec<_>>()
        .await
        .unwrap();
    tomes.count(|t| t.shelf.is_in(["s1", "s2"])).await.unwrap();
    tomes.estimated_count().await.unwrap();
    tomes.distinct(|t| t.year.clone()).await.unwrap();
    tomes
        .update_many(|t| t.shelf.eq("s2"), |t| t.pages.inc(1))
        .await
        .unwrap();
    tomes
        .find_one_and_update(|t| t.code.eq("c3"), |t| t.pages.inc(1))
        .await
        .unwrap();
    tomes.delete(29).await.unwrap();
    tomes
        .aggregate_raw([doc! { "$match": { "shelf": "s1" } }, doc! { "$count": "n" }])
        .await
        .unwrap();
    let bulk = tomes
        .bulk_write()
        .insert(tome(40))
        .update_one(|t| t.id.eq(1), |t| t.pages.inc(1));
    bulk.delete_one(|t| t.code.eq("c40")).await.unwrap();
    assert_eq!(scans.entries(), []);

    let found = |operation: &str, suggestion: bson::Document| {
        let found = scans.take();
        assert_eq!(found.len(), 1, "{operation}: {found:?}");
        assert_eq!(found[0].operation, operation);
        assert_eq!(found[0].namespace.collection, "tomes");
        assert_eq!(found[0].suggestion, Some(suggestion), "{operation}");
    };
    tomes
        .find(|t| t.pages.gt(100))
        .sort(|t| t.year.asc())
        .await
        .unwrap();
    found("find", doc! { "year": 1, "pages": 1 });
    tomes.find(|t| t.pages.eq(100)).first().await.unwrap();
    found("find", doc! { "pages": 1 });
    tomes.find_all().sort(|t| t.pages.asc()).await.unwrap();
    found("find", doc! { "pages": 1 });
    tomes.count(|t| t.year.eq(1903)).await.unwrap();
    found("count", doc! { "year": 1 });
    tomes.exists(|t| t.year.eq(1903)).await.unwrap();
    assert_eq!(scans.take().len(), 1);
    tomes
        .distinct(|t| t.shelf.clone())
        .filter(|t| t.pages.gt(5))
        .await
        .unwrap();
    found("distinct", doc! { "pages": 1 });
    tomes
        .update_one(|t| t.pages.eq(3), |t| t.pages.inc(1))
        .await
        .unwrap();
    found("update", doc! { "pages": 1 });
    tomes.delete_many(|t| t.pages.eq(3)).await.unwrap();
    found("delete", doc! { "pages": 1 });
    tomes.find_one_and_delete(|t| t.pages.eq(3)).await.unwrap();
    found("findAndModify", doc! { "pages": 1 });
    tomes
        .aggregate_raw([doc! { "$match": { "pages": 3 } }, doc! { "$count": "n" }])
        .await
        .unwrap();
    found("aggregate", doc! { "pages": 1 });
    // What is asked of groups is not asked of the collection.
    let by_shelf = || doc! { "$group": { "_id": "$shelf", "n": { "$sum": 1 } } };
    let many = || doc! { "$match": { "n": { "$gt": 1 } } };
    tomes.aggregate_raw([by_shelf(), many()]).await.unwrap();
    assert_eq!(scans.take(), []);
    tomes
        .aggregate_raw([doc! { "$match": { "year": 1903 } }, by_shelf(), many()])
        .await
        .unwrap();
    found("aggregate", doc! { "year": 1 });
    let bulk = tomes.bulk_write().update_one(|t| t.id.eq(1), |t| t.pages.inc(1));
    bulk.delete_one(|t| t.year.eq(1)).await.unwrap();
    assert_eq!(scans.take()[0].suggestion, Some(doc! { "year": 1 }));

    // In a transaction, and of what a relation or a rule asks.
    db.transaction(async |tx| {
        let tomes = tx.collection::<Tome>();
        tomes.get(1).await?;
        tomes.find(|t| t.pages.eq(1)).await
    })
    .await
    .unwrap();
    found("find", doc! { "pages": 1 });
}

async fn scans_are_refused(db: &Db) {
    db.collection::<Tome>().create_indexes().await.unwrap();
    let (logged, log) = db.logged();
    let tomes = logged.refuse_scans().collection::<Tome>();
    tomes.insert_many((0..5).map(tome)).await.unwrap();
    assert_eq!(tomes.find(|t| t.code.eq("c1")).await.unwrap().len(), 1);
    log.take();
    let error = tomes
        .update_many(|t| t.pages.gt(1), |t| t.pages.set(0))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.operation(), error.model()),
        (ErrorKind::Unindexed, Some("update"), Some("Tome"))
    );
    assert!(error.message().contains("{ \"pages\": 1 }"), "{error}");
    // It was explained, and not sent.
    assert_eq!(log.counts(), [("explain", 1)]);
    assert_eq!(db.collection::<Tome>().get(4).required().await.unwrap().pages, 40);
}
