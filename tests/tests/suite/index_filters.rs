//! Commands about plans: index filters, and that nothing is cached is what they say.

use bson::{Bson, Document, doc};
use odm::Db;

use super::time_series::code;

crate::on_every_backend! {
    an_index_filter_decides_for_its_shape,
    index_filters_are_listed_and_cleared,
    index_filters_are_checked,
    plans_are_cleared,
}

async fn prepare(db: &Db) {
    let c = db.raw_collection("c");
    c.insert_many((0..10).map(|id| doc! { "_id": id, "a": id, "b": -id }))
        .await
        .unwrap();
    for (key, name, hidden) in [
        (doc! { "a": 1 }, "a_1", false),
        (doc! { "b": 1 }, "b_1", false),
        (doc! { "h": 1 }, "h_1", true),
    ] {
        let index = doc! { "key": key, "name": name, "hidden": hidden };
        db.run_command(doc! { "createIndexes": "c", "indexes": [index] })
            .await
            .unwrap();
    }
}

fn query() -> Document {
    doc! { "a": { "$gte": 0 }, "b": { "$gte": 0 } }
}

async fn set(db: &Db, query: Document, indexes: Vec<Bson>) {
    let command = doc! { "planCacheSetFilter": "c", "query": query, "indexes": indexes };
    assert_eq!(code(db, command).await, None);
}

/// Whether a filter was used, and the index.
async fn plan(db: &Db, find: Document) -> (bool, Option<String>) {
    let mut command = doc! { "find": "c" };
    command.extend(find);
    let reply = db
        .run_command(doc! { "explain": command, "verbosity": "queryPlanner" })
        .await
        .unwrap();
    let planner = reply.get_document("queryPlanner").unwrap();
    let mut stage = planner.get_document("winningPlan").unwrap();
    while let Ok(inner) = stage.get_document("inputStage") {
        stage = inner;
    }
    let name = stage.get_str("indexName").ok().map(str::to_owned);
    (planner.get_bool("indexFilterSet").unwrap(), name)
}

async fn an_index_filter_decides_for_its_shape(db: &Db) {
    prepare(db).await;
    for (index, expected) in [
        (Bson::from(doc! { "b": 1 }), Some("b_1")),
        (Bson::from("a_1"), Some("a_1")),
        (Bson::from("h_1"), None),
        (Bson::from("none"), None),
    ] {
        set(db, query(), vec![index.clone()]).await;
        let expected = (true, expected.map(str::to_owned));
        assert_eq!(plan(db, doc! { "filter": query() }).await, expected, "{index}");
        let other_values = doc! { "b": { "$gte": 3 }, "a": { "$gte": 1 } };
        assert_eq!(
            plan(db, doc! { "filter": other_values }).await,
            expected,
            "{index}"
        );
        // A filter is stronger than a hint.
        assert_eq!(
            plan(db, doc! { "filter": query(), "hint": { "a": 1 } }).await,
            expected
        );
        let found = db
            .raw_collection("c")
            .find(doc! { "a": { "$gte": 0 }, "b": { "$gte": -1 } })
            .await
            .unwrap();
        assert_eq!(found.len(), 2);
    }
    for other in [
        doc! { "filter": { "a": { "$gte": 0 } } },
        doc! { "filter": { "a": { "$gt": 0 }, "b": { "$gte": 0 } } },
        doc! { "filter": { "a": 0, "b": 0 } },
        doc! { "filter": query(), "sort": { "a": 1 } },
        doc! { "filter": query(), "projection": { "a": 1 } },
        doc! { "filter": query(), "collation": { "locale": "en" } },
    ] {
        assert!(!plan(db, other.clone()).await.0, "{other}");
    }
    db.run_command(doc! { "planCacheClearFilters": "c" })
        .await
        .unwrap();
    assert!(!plan(db, doc! { "filter": query() }).await.0);
}

async fn filters(db: &Db) -> Vec<Document> {
    let reply = db
        .run_command(doc! { "planCacheListFilters": "c" })
        .await
        .unwrap();
    let filters = reply.get_array("filters").unwrap();
    filters
        .iter()
        .map(|filter| filter.as_document().unwrap().clone())
        .collect()
}

async fn index_filters_are_listed_and_cleared(db: &Db) {
    prepare(db).await;
    assert_eq!(filters(db).await, []);
    set(db, query(), vec![doc! { "b": 1 }.into()]).await;
    set(db, query(), vec!["a_1".into()]).await;
    let only = doc! { "query": query(), "sort": {}, "projection": {}, "indexes": ["a_1"] };
    assert_eq!(filters(db).await, std::slice::from_ref(&only));
    let sorted = doc! {
        "planCacheSetFilter": "c", "query": query(), "sort": { "a": 1 }, "projection": { "a": 1 },
        "indexes": ["a_1", { "b": 1 }],
    };
    db.run_command(sorted).await.unwrap();
    assert_eq!(filters(db).await.len(), 2);
    let clear = doc! { "planCacheClearFilters": "c", "query": query() };
    db.run_command(clear).await.unwrap();
    let left = filters(db).await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].get_document("sort").unwrap(), &doc! { "a": 1 });
    let unknown = doc! { "planCacheClearFilters": "c", "query": { "zz": 1 } };
    assert_eq!(code(db, unknown).await, None);
    db.run_command(doc! { "planCacheClearFilters": "c" })
        .await
        .unwrap();
    assert_eq!(filters(db).await, []);
    set(db, query(), vec!["a_1".into()]).await;
    db.raw_collection("c").drop().await.unwrap();
    assert_eq!(filters(db).await, []);
}

async fn index_filters_are_checked(db: &Db) {
    prepare(db).await;
    let q = || doc! { "a": 1 };
    for (more, expected) in [
        (doc! { "query": q() }, Some(2)),
        (doc! { "indexes": [{ "a": 1 }] }, Some(2)),
        (doc! { "query": q(), "indexes": [] }, Some(2)),
        (doc! { "query": q(), "indexes": {} }, Some(2)),
        (doc! { "query": q(), "indexes": [1] }, Some(2)),
        (doc! { "query": q(), "indexes": [{}] }, Some(2)),
        (doc! { "query": 5, "indexes": [{ "a": 1 }] }, Some(2)),
        (doc! { "query": q(), "indexes": [{ "a": 1 }], "sort": 5 }, Some(2)),
        (
            doc! { "query": q(), "indexes": [{ "a": 1 }], "sort": { "a": 2 } },
            Some(15975),
        ),
        (doc! { "query": { "$bad": 1 }, "indexes": [{ "a": 1 }] }, Some(2)),
        (doc! { "query": q(), "indexes": [""], "other": 5 }, None),
    ] {
        let mut command = doc! { "planCacheSetFilter": "c" };
        command.extend(more);
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
    let missing = doc! { "planCacheSetFilter": "none", "query": q(), "indexes": ["a_1"] };
    assert_eq!(code(db, missing).await, Some(2));
    db.run_command(doc! { "create": "w", "viewOn": "c" })
        .await
        .unwrap();
    for command in ["planCacheClear", "planCacheListFilters", "planCacheClearFilters"] {
        assert_eq!(code(db, doc! { command: "w" }).await, Some(166), "{command}");
        assert_eq!(code(db, doc! { command: "none" }).await, None, "{command}");
        assert_eq!(code(db, doc! { command: 5 }).await, Some(73), "{command}");
    }
}

async fn plans_are_cleared(db: &Db) {
    prepare(db).await;
    for (more, expected) in [
        (doc! {}, None),
        (
            doc! { "query": { "a": 1 }, "sort": { "a": 1 }, "projection": { "a": 1 } },
            None,
        ),
        (doc! { "query": { "$bad": 1 } }, Some(2)),
        (doc! { "query": 5 }, Some(2)),
        (doc! { "sort": { "a": 1 } }, Some(2)),
        (doc! { "projection": { "a": 1 } }, Some(2)),
    ] {
        let mut command = doc! { "planCacheClear": "c" };
        command.extend(more);
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
    let stage = |stage: Document| doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
    let reply = db
        .run_command(stage(doc! { "$planCacheStats": {} }))
        .await
        .unwrap();
    assert_eq!(
        reply
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap(),
        &[]
    );
    assert_eq!(
        code(db, stage(doc! { "$planCacheStats": { "a": 1 } })).await,
        Some(9)
    );
}
