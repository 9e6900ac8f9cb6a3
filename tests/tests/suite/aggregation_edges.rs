//! Pipelines at their edges: the moment of a command, numbers that are none, what only some versions have.

use bson::{Bson, Document, bson, doc};
use odm::Db;

crate::on_every_backend! {
    every_stage_sees_the_same_moment,
    covariances_beyond_numbers_are_the_servers,
    what_merge_keeps_is_inserted_in_the_order_of_names,
    a_pipeline_is_explained_by_its_command,
    the_stable_interface_leaves_stages_out,
}

async fn code(db: &Db, command: Document) -> Option<i32> {
    db.run_command(command).await.err().and_then(|error| error.code())
}

async fn rows(db: &Db, collection: &str, pipeline: Vec<Document>) -> Vec<Document> {
    db.raw_collection(collection)
        .aggregate_raw(pipeline)
        .await
        .unwrap()
}

async fn every_stage_sees_the_same_moment(db: &Db) {
    let documents = (0..200).map(|id| doc! { "_id": id });
    db.raw_collection("c").insert_many(documents).await.unwrap();
    let same = || doc! { "$match": { "$expr": { "$eq": ["$at", "$$NOW"] } } };
    let pipeline = vec![
        doc! { "$match": { "$expr": { "$lte": ["$_id", { "$year": "$$NOW" }] } } },
        doc! { "$addFields": { "at": "$$NOW" } },
        same(),
        doc! { "$facet": { "found": [same(), { "$count": "n" }] } },
    ];
    let found = rows(db, "c", pipeline).await;
    assert_eq!(found, [doc! { "found": [{ "n": 200 }] }]);
}

async fn covariances_beyond_numbers_are_the_servers(db: &Db) {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let from_start = bson!({ "documents": ["unbounded", "current"] });
    let sliding = bson!({ "documents": [-1, 0] });
    let ones = [(1.0, 2.0), (3.0, 6.0)];
    for (middle, window, expected) in [
        ((inf, -4.0), &from_start, [Some(0.0), Some(0.0), Some(inf)]),
        ((-inf, 4.0), &from_start, [Some(0.0), Some(0.0), Some(-inf)]),
        ((inf, -inf), &from_start, [Some(0.0), Some(0.0), Some(nan)]),
        ((nan, 1.0), &from_start, [Some(0.0), Some(0.0), Some(nan)]),
        ((2.0, inf), &sliding, [Some(0.0), Some(0.0), Some(0.0)]),
    ] {
        let pairs = [ones[0], middle, ones[1]];
        let documents: Vec<Document> = pairs
            .iter()
            .enumerate()
            .map(|(id, (x, y))| doc! { "_id": id as i32, "x": x, "y": y })
            .collect();
        let c = db.raw_collection("c");
        c.delete_many(doc! {}).await.unwrap();
        c.insert_many(documents).await.unwrap();
        let output = doc! { "r": { "$covariancePop": ["$x", "$y"], "window": window.clone() } };
        let stage = doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": output } };
        let found = rows(db, "c", vec![stage]).await;
        let found: Vec<Option<f64>> = found.iter().map(|row| row.get_f64("r").ok()).collect();
        // Of numbers that are none only that can be compared.
        let shown = |values: &[Option<f64>]| format!("{values:?}");
        assert_eq!(shown(&found), shown(&expected), "{middle:?}");
    }
    let only = db.raw_collection("only");
    only.insert(doc! { "_id": 0, "x": inf, "y": 1 }).await.unwrap();
    let all = doc! { "documents": ["unbounded", "unbounded"] };
    let output = doc! { "r": { "$covarianceSamp": ["$x", "$y"], "window": all } };
    let stage = doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": output } };
    assert_eq!(rows(db, "only", vec![stage]).await[0].get("r"), Some(&Bson::Null));
}

async fn what_merge_keeps_is_inserted_in_the_order_of_names(db: &Db) {
    let c = db.raw_collection("c");
    c.insert(doc! { "_id": 1, "z": 1, "a": 2, "m": 3 }).await.unwrap();
    for (matched, expected) in [
        ("keepExisting", ["_id", "a", "m", "z"]),
        ("replace", ["_id", "z", "a", "m"]),
    ] {
        let merge = doc! { "$merge": { "into": matched, "whenMatched": matched } };
        rows(db, "c", vec![merge]).await;
        let found = db.raw_collection(matched).find_all().await.unwrap();
        let names: Vec<&String> = found[0].keys().collect();
        assert_eq!(names, expected, "{matched}");
    }
}

async fn a_pipeline_is_explained_by_its_command(db: &Db) {
    db.raw_collection("c").insert(doc! { "_id": 1 }).await.unwrap();
    let aggregate = doc! { "aggregate": "c", "pipeline": [{ "$match": { "_id": 1 } }], "cursor": {} };
    for verbosity in ["queryPlanner", "executionStats"] {
        let explain = doc! { "explain": aggregate.clone(), "verbosity": verbosity };
        let reply = db.run_command(explain).await.unwrap();
        assert!(reply.contains_key("queryPlanner"), "{reply}");
        assert_eq!(
            reply.contains_key("executionStats"),
            verbosity == "executionStats",
            "{reply}"
        );
    }
    let wrong = doc! { "explain": { "aggregate": "c", "pipeline": 5, "cursor": {} } };
    assert_eq!(code(db, wrong).await, Some(14));
}

async fn the_stable_interface_leaves_stages_out(db: &Db) {
    db.raw_collection("c").insert(doc! { "_id": 1 }).await.unwrap();
    let strict = |stage: Document| {
        doc! {
            "aggregate": "c", "pipeline": [stage], "cursor": {}, "apiVersion": "1", "apiStrict": true,
        }
    };
    for (stage, expected) in [
        (doc! { "$match": { "_id": 1 } }, None),
        (doc! { "$collStats": { "count": {} } }, None),
        (doc! { "$collStats": { "storageStats": {} } }, Some(323)),
        (doc! { "$indexStats": {} }, Some(323)),
        (doc! { "$planCacheStats": {} }, Some(323)),
    ] {
        assert_eq!(code(db, strict(stage.clone())).await, expected, "{stage}");
    }
    let mut explained = strict(doc! { "$match": {} });
    explained.insert("explain", true);
    assert_eq!(code(db, explained).await, Some(323));
}
