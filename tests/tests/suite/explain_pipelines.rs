//! The stages that `explain` shows of pipelines: the same on every backend.

mod cases;

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{figure, insert, run};

use self::cases::PIPELINES;
use super::explain_stages::{prepare, read, shown, text};

crate::on_every_backend! {
    every_stage_is_shown_with_what_it_gave,
    stages_are_told_without_a_run,
    nothing_is_written_to_explain_it,
    reads_by_distance_are_stages,
    orders_give_what_is_taken_of_them,
    only_the_first_of_many_ranges_are_shown,
}

fn pipeline(json: &str) -> Document {
    let stages = read(&format!(r#"{{ "stages": {json} }}"#))
        .remove("stages")
        .unwrap();
    doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }
}

fn given(document: &Document) -> String {
    document
        .get("nReturned")
        .map_or_else(String::new, |given| format!(" = {}", text(given)))
}

fn stage(document: &Document) -> String {
    let (name, spec) = document.iter().next().unwrap();
    let given = given(document);
    match name.as_str() {
        "$cursor" => format!("{}{given}", read_of(spec.as_document().unwrap())),
        // Its plan goes by cells, of which each has its own.
        "$geoNearCursor" => format!("{name}{given}"),
        _ => format!("{name}: {}{given}", text(spec)),
    }
}

/// The plan of a read.
fn read_of(explained: &Document) -> String {
    let planner = explained.get_document("queryPlanner").unwrap();
    // The server has what is left of a skip where it was run.
    let is_run = explained.contains_key("executionStats");
    shown(planner.get_document("winningPlan").unwrap(), is_run)
}

/// All stages, or the plan where the read is all.
fn stages(explained: &Document) -> Vec<String> {
    match explained.get_array("stages") {
        Ok(stages) => stages
            .iter()
            .map(|own| stage(own.as_document().unwrap()))
            .collect(),
        Err(_) => {
            let figures = explained.get_document("executionStats");
            let given = figures.map_or_else(|_| String::new(), given);
            vec![format!("{}{given}", read_of(explained))]
        }
    }
}

async fn prepare_both(db: &Db) {
    prepare(db).await;
    let others = (0..12).map(|n| doc! { "_id": n, "k": n % 5, "z": n % 2 });
    insert(db, "o", others.collect()).await;
}

async fn every_stage_is_shown_with_what_it_gave(db: &Db) {
    prepare_both(db).await;
    for (given, expected) in PIPELINES {
        let command = doc! { "explain": pipeline(given), "verbosity": "executionStats" };
        let expected: Vec<String> = expected
            .iter()
            .map(|stage| stage.replace("\"main\"", &format!("{:?}", db.name())))
            .collect();
        assert_eq!(stages(&run(db, command).await), expected, "{given}");
    }
}

async fn stages_are_told_without_a_run(db: &Db) {
    prepare_both(db).await;
    let given =
        r#"[{ "$unwind": "$d" }, { "$sortByCount": "$a" }, { "$limit": 2 }, { "$match": { "x": 1 } }]"#;
    let command = doc! { "explain": pipeline(given), "verbosity": "queryPlanner" };
    let expected = [
        r#"PROJECTION_SIMPLE({ "a": 1, "d": 1, "_id": 0 }) < COLLSCAN"#,
        r#"$unwind: { "path": "$d" }"#,
        r#"$group: { "_id": "$a", "count": { "$sum": { "$const": 1 } } }"#,
        r#"$sort: { "sortKey": { "count": -1 }, "limit": 2 }"#,
        r#"$match: { "x": { "$eq": 1 } }"#,
    ];
    assert_eq!(stages(&run(db, command).await), expected);
    let with_view = doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$unwind": "$d" }] };
    run(db, with_view).await;
    let find = doc! { "explain": { "find": "v", "filter": { "a": 1 } }, "verbosity": "queryPlanner" };
    let shown = stages(&run(db, find).await);
    assert_eq!(shown[1..], [r#"$unwind: { "path": "$d" }"#]);
}

async fn nothing_is_written_to_explain_it(db: &Db) {
    prepare_both(db).await;
    for last in [doc! { "$out": "written" }, doc! { "$merge": { "into": "o" } }] {
        let aggregate = doc! { "aggregate": "c", "pipeline": [last], "cursor": {} };
        run(db, doc! { "explain": aggregate, "verbosity": "executionStats" }).await;
    }
    let count = |name: &str| doc! { "count": name };
    assert_eq!(run(db, count("written")).await.get("n"), Some(&Bson::Int32(0)));
    assert_eq!(run(db, count("o")).await.get("n"), Some(&Bson::Int32(12)));
}

async fn reads_by_distance_are_stages(db: &Db) {
    let places = (0..9).map(|n| doc! { "_id": n, "a": n % 3, "p": [n, n] });
    insert(db, "c", places.collect()).await;
    let index = doc! { "key": { "p": "2dsphere" }, "name": "p_2dsphere" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let given = r#"[{ "$geoNear": { "near": [0, 0], "distanceField": "d", "spherical": true } }, { "$match": { "a": 1 } }, { "$sort": { "a": 1 } }]"#;
    let command = doc! { "explain": pipeline(given), "verbosity": "executionStats" };
    let expected = [
        "$geoNearCursor = 9",
        r#"$match: { "a": { "$eq": 1 } } = 3"#,
        r#"$sort: { "sortKey": { "a": 1 } } = 3"#,
    ];
    assert_eq!(stages(&run(db, command).await), expected);
}

async fn orders_give_what_is_taken_of_them(db: &Db) {
    prepare(db).await;
    let given = r#"[{ "$sort": { "b": 1 } }, { "$unwind": "$d" }, { "$limit": 2 }]"#;
    let answer = run(
        db,
        doc! { "explain": pipeline(given), "verbosity": "executionStats" },
    )
    .await;
    let read = answer.get_array("stages").unwrap()[0].as_document().unwrap();
    let given = read.get_i64("nReturned").unwrap();
    if db.backend().name() != "mongodb" {
        // The server takes a batch.
        assert_eq!(given, 1);
        let stats = read
            .get_document("$cursor")
            .unwrap()
            .get_document("executionStats")
            .unwrap();
        assert_eq!(figure(stats, "nReturned"), given);
    }
    let given = r#"[{ "$project": { "x": { "$divide": [1, "$a"] } } }]"#;
    let command = doc! { "explain": pipeline(given), "verbosity": "executionStats" };
    match db.run_command(command).await {
        // The server tells it in the answer.
        Ok(answer) => {
            let stats = answer.get_document("executionStats").unwrap();
            assert_eq!(stats.get_bool("executionSuccess").ok(), Some(false));
        }
        Err(error) => assert!(error.to_string().contains("divide by zero"), "{error}"),
    }
}

async fn only_the_first_of_many_ranges_are_shown(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 5 }]).await;
    let boundaries: Vec<i32> = (0..3000).collect();
    let bucket = doc! { "$bucket": { "groupBy": "$a", "boundaries": boundaries } };
    let unwind = doc! { "$unwind": "$a" };
    let aggregate = doc! { "aggregate": "c", "pipeline": [unwind, bucket], "cursor": {} };
    let answer = run(db, doc! { "explain": aggregate, "verbosity": "executionStats" }).await;
    let stages = answer.get_array("stages").unwrap();
    let group = stages[2].as_document().unwrap();
    assert_eq!(group.get("nReturned"), Some(&Bson::Int64(1)));
    let switch = group.get_document("$group").unwrap().get_document("_id").unwrap();
    let shown = switch
        .get_document("$switch")
        .unwrap()
        .get_array("branches")
        .unwrap()
        .len();
    match db.backend().name() {
        "mongodb" => assert_eq!(shown, 2999),
        _ => assert!((100..2999).contains(&shown), "{shown}"),
    }
}
