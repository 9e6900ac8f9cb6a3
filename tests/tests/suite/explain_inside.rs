//! What `explain` tells of the collections that stages read and of the pipelines inside of them: the same on every backend.

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{insert, run};

use super::explain_stages::{read, text};

crate::on_every_backend! {
    joins_tell_what_they_read,
    pipelines_inside_are_explained,
    pipelines_inside_are_told_without_a_run,
}

async fn prepare(db: &Db) {
    let documents = (0..6).map(|n| doc! { "_id": n, "a": n % 3, "d": [n, n + 1] });
    insert(db, "c", documents.collect()).await;
    let others = (0..12).map(|n| doc! { "_id": n, "k": n % 5, "z": n % 2 });
    insert(db, "o", others.collect()).await;
    let index = doc! { "key": { "k": 1 }, "name": "k_1" };
    run(db, doc! { "createIndexes": "o", "indexes": [index] }).await;
    let view = doc! { "create": "v", "viewOn": "o", "pipeline": [{ "$match": { "z": 1 } }] };
    run(db, view).await;
}

/// The stages but the first, which reads.
async fn stages(db: &Db, pipeline: &str, verbosity: &str) -> Vec<Bson> {
    let stages = read(&format!(r#"{{ "stages": {pipeline} }}"#))
        .remove("stages")
        .unwrap();
    let aggregate = doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
    let answer = run(db, doc! { "explain": aggregate, "verbosity": verbosity }).await;
    answer.get_array("stages").unwrap()[1..].to_vec()
}

/// The stages by their names and figures.
fn told(stages: &[Bson]) -> String {
    let stages = stages.iter().map(|stage| {
        let stage = stage.as_document().unwrap();
        let (name, spec) = stage.iter().next().unwrap();
        let inside = match (name.as_str(), spec.as_document()) {
            ("$cursor", Some(spec)) => format!("({})", read_of(spec)),
            ("$unionWith", Some(spec)) => {
                let collection = spec.get("coll").map_or_else(|| "-".to_owned(), text);
                format!("({collection}: {})", told(spec.get_array("pipeline").unwrap()))
            }
            ("$facet", Some(spec)) => {
                let facets = spec
                    .iter()
                    .map(|(name, stages)| format!("{name}: {}", told(stages.as_array().unwrap())));
                format!("({})", facets.collect::<Vec<_>>().join("; "))
            }
            _ => String::new(),
        };
        let given = stage
            .get("nReturned")
            .map_or_else(String::new, |given| format!(" = {}", text(given)));
        format!("{name}{inside}{given}")
    });
    stages.collect::<Vec<_>>().join(", ")
}

fn read_of(explained: &Document) -> String {
    let planner = explained.get_document("queryPlanner").unwrap();
    assert!(!planner.contains_key("optimizedPipeline"));
    let (_, collection) = planner.get_str("namespace").unwrap().split_once('.').unwrap();
    let plan = planner.get_document("winningPlan").unwrap();
    let examined = match explained.get_document("executionStats") {
        Ok(stats) => format!(" of {}", text(stats.get("totalDocsExamined").unwrap())),
        Err(_) => String::new(),
    };
    format!("{collection} by {}{examined}", plan.get_str("stage").unwrap())
}

async fn joins_tell_what_they_read(db: &Db) {
    prepare(db).await;
    // The join, the documents and keys that it examines, how often it scans, the indexes, and what it gives.
    type Case = (&'static str, [i64; 3], &'static [&'static str], i64);
    const JOINS: &[Case] = &[
        (
            r#"{ "localField": "a", "foreignField": "k" }"#,
            [32, 32, 0],
            &["k_1"],
            12,
        ),
        (
            r#"{ "localField": "d", "foreignField": "_id" }"#,
            [12, 12, 0],
            &["_id_"],
            12,
        ),
        (
            r#"{ "let": { "a": "$a" }, "pipeline": [{ "$match": { "$expr": { "$eq": ["$k", "$$a"] } } }] }"#,
            [32, 32, 0],
            &["k_1"],
            12,
        ),
        (
            r#"{ "localField": "a", "foreignField": "k", "pipeline": [{ "$match": { "z": 1 } }, { "$limit": 1 }] }"#,
            [20, 20, 0],
            &["k_1"],
            12,
        ),
        (
            r#"{ "let": { "a": "$a" }, "pipeline": [{ "$match": { "$expr": { "$eq": ["$z", "$$a"] } } }] }"#,
            [144, 0, 12],
            &[],
            12,
        ),
        (
            r#"{ "pipeline": [{ "$match": { "k": 3 } }] }"#,
            [2, 2, 0],
            &["k_1"],
            12,
        ),
        (
            r#"{ "from": "v", "localField": "a", "foreignField": "k" }"#,
            [32, 32, 0],
            &["k_1"],
            12,
        ),
        (
            r#"{ "from": "none", "localField": "a", "foreignField": "k" }"#,
            [0, 0, 0],
            &[],
            12,
        ),
        (
            r#"{ "localField": "a", "foreignField": "k",
                "pipeline": [{ "$lookup": { "from": "o", "as": "y", "localField": "z", "foreignField": "_id" } }] }"#,
            [64, 64, 0],
            &["_id_", "k_1"],
            12,
        ),
    ];
    for (given, [documents, keys, scans], indexes, count) in JOINS {
        let mut join = read(given);
        let from = join.get_str("from").unwrap_or("o").to_owned();
        join.insert("from", from);
        join.insert("as", "x");
        let pipeline = format!(
            r#"[{{ "$unwind": "$d" }}, {}]"#,
            text(&Bson::from(doc! { "$lookup": join }))
        );
        let stages = stages(db, &pipeline, "executionStats").await;
        let own = stages[1].as_document().unwrap();
        let figure = |name: &str| own.get_i64(name).unwrap();
        // The server counts each of them twice.
        let each = if db.backend().name() == "mongodb" { 2 } else { 1 };
        assert_eq!(figure("totalDocsExamined"), *documents, "{given}");
        assert_eq!(figure("totalKeysExamined"), *keys, "{given}");
        assert_eq!(figure("collectionScans"), scans * each, "{given}");
        let named: Vec<_> = own
            .get_array("indexesUsed")
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(named, *indexes, "{given}");
        assert_eq!(figure("nReturned"), *count, "{given}");
    }
    // As many as the documents behind it need.
    let pipeline = r#"[{ "$unwind": "$d" },
        { "$lookup": { "from": "o", "as": "x", "localField": "a", "foreignField": "k" } }, { "$unwind": "$x" }, { "$limit": 5 }]"#;
    let stages = stages(db, pipeline, "executionStats").await;
    let own = stages[1].as_document().unwrap();
    assert_eq!(own.get_i64("totalDocsExamined").unwrap(), 6);
    assert_eq!(own.get_i64("nReturned").unwrap(), 5);
}

/// Pipelines, and what is told of them.
const INSIDE: &[(&str, &str)] = &[
    (
        r#"[{ "$unwind": "$d" }, { "$unionWith": "o" }]"#,
        r#"$unwind = 12, $unionWith("o": $cursor(o by COLLSCAN of 12) = 12) = 24"#,
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$unionWith": { "coll": "o", "pipeline": [{ "$match": { "k": 2 } }] } }, { "$match": { "z": 1 } }]"#,
        r#"$unwind = 0, $unionWith("o": $cursor(o by FETCH of 2) = 1) = 1"#,
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$unionWith": { "coll": "v", "pipeline": [{ "$match": { "k": 1 } }] } }]"#,
        r#"$unwind = 12, $unionWith("o": $cursor(o by FETCH of 3) = 2) = 14"#,
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$unionWith": "none" }]"#,
        r#"$unwind = 12, $unionWith("none": $cursor(none by EOF of 0) = 0) = 12"#,
    ),
    (
        r#"[{ "$unwind": "$d" }, { "$unionWith": "o" }, { "$limit": 3 }]"#,
        r#"$unwind = 3, $unionWith("o": ) = 3, $limit = 3"#,
    ),
    (
        r#"[{ "$facet": {
            "x": [{ "$match": { "a": 1 } }, { "$limit": 1 }],
            "y": [{ "$unwind": "$d" },
                { "$lookup": { "from": "o", "as": "x", "localField": "a", "foreignField": "k" } }, { "$count": "n" }],
            "z": []
        } }]"#,
        "$facet(x: $internalFacetTeeConsumer = 2, $match = 1, $limit = 1; \
            y: $internalFacetTeeConsumer = 6, $unwind = 12, $lookup = 12, $group = 1, $project = 1; \
            z: $internalFacetTeeConsumer = 6) = 1",
    ),
    (
        r#"[{ "$facet": {
            "x": [{ "$unionWith": { "coll": "o", "pipeline": [{ "$match": { "k": 2 } }] } }, { "$group": { "_id": "$a" } }]
        } }]"#,
        "$facet(x: $internalFacetTeeConsumer = 6, $unionWith(\"o\": $cursor(o by FETCH of 2) = 2) = 8, $group = 4) = 1",
    ),
];

async fn pipelines_inside_are_explained(db: &Db) {
    prepare(db).await;
    for (pipeline, expected) in INSIDE {
        let stages = stages(db, pipeline, "executionStats").await;
        assert_eq!(told(&stages), *expected, "{pipeline}");
    }
    // The answers are those of a run without it.
    let (pipeline, _) = INSIDE[1];
    let pipeline = read(&format!(r#"{{ "stages": {pipeline} }}"#));
    let stages = pipeline.get("stages").unwrap().clone();
    let answer = run(db, doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }).await;
    let found = answer
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert_eq!(found.len(), 1);
}

async fn pipelines_inside_are_told_without_a_run(db: &Db) {
    prepare(db).await;
    let cases = [
        (
            r#"[{ "$unwind": "$d" }, { "$unionWith": { "coll": "v", "pipeline": [{ "$match": { "k": 1 } }, { "$set": { "y": 1 } }] } }, { "$limit": 3 }]"#,
            r#"$unwind, $unionWith("o": $cursor(o by FETCH), $set), $limit"#,
        ),
        (
            r#"[{ "$facet": { "x": [{ "$unionWith": "o" }], "y": [{ "$lookup": { "from": "o", "as": "x", "localField": "a", "foreignField": "k" } }] } }]"#,
            r#"$facet(x: $internalFacetTeeConsumer, $unionWith("o": $cursor(o by COLLSCAN)); y: $internalFacetTeeConsumer, $lookup)"#,
        ),
    ];
    for (pipeline, expected) in cases {
        let stages = stages(db, pipeline, "queryPlanner").await;
        assert_eq!(told(&stages), expected, "{pipeline}");
        let shown = text(&Bson::from(stages));
        assert!(!shown.contains("totalDocsExamined"), "{shown}");
    }
}
