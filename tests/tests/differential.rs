//! Random operations: the embedded engine against a real MongoDB. `ODM_DIFF_OPS` and `ODM_DIFF_SEED` choose how
//! many and which; with `ODM_DIFF_EXPLAINED` the differences that are explained are shown too.

use odm::Db;
use odm_tests::differential::{
    Coverage, Report, compare, compare_faults, compare_pipelines, compare_refusals, compare_shapes,
    compare_varied, compare_zones,
};
use odm_tests::harness::{fresh_name, mongodb_uri, with_database};
use odm_tests::supported;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// How many databases are compared at the same time: what a run waits for is mostly the way to the server.
const LANES: u64 = 8;

/// Compares so many operations, each lane with databases and seeds of its own.
async fn in_lanes(operations: u64, compare: impl AsyncFn(&Db, &Db, u64, u64) -> Report) -> Option<Report> {
    let uri = mongodb_uri()?;
    let seed = number("ODM_DIFF_SEED", 1);
    let compare = &compare;
    let lanes = (0..LANES).map(|lane| {
        let uri = uri.clone();
        async move {
            let ours = Db::open("memory:").await.expect("the engine opens");
            let theirs = Db::open(&with_database(&uri, &fresh_name()))
                .await
                .expect("the server answers");
            // Far enough apart for any number of rounds.
            let report = compare(&ours, &theirs, seed + lane * 1_000_000_000, operations / LANES).await;
            theirs.drop().await.expect("the database is dropped");
            report
        }
    });
    let reports = futures_util::future::join_all(lanes).await;
    let mut whole = Report::default();
    for report in reports {
        whole.add(report);
    }
    Some(whole)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_engine_answers_like_mongodb() {
    let compared = in_lanes(
        number("ODM_DIFF_OPS", 10_000),
        async |ours, theirs, seed, operations| compare(ours, theirs, seed, operations, 20).await,
    );
    let Some(report) = compared.await else { return };
    report.expect_none("differential", "operations");
}

/// What the page of the guide lists and no random command can hold, with the reason.
const NOT_GENERATED: &[(&str, &str)] = &[
    (
        "$geoNear",
        "as an operator of queries it is `$near` by an older name",
    ),
    ("$each", "among the modifiers, of which it is the first"),
    (
        "tailable",
        "a cursor that waits: `tailing` of the differences has it",
    ),
    ("awaitData", "the same"),
    ("prepareUnique", "a step of a migration: the suite has it"),
    (
        "originalSpec",
        "it finds nothing: the suite's `indexes_options` have it",
    ),
    ("background", "without effect"),
    ("dropDups", "without effect"),
    (
        "storageEngine",
        "how an index is stored on a server, not what it finds",
    ),
    ("coarsestIndexedLevel", "how an index is built, not what it finds"),
    ("finestIndexedLevel", "how an index is built, not what it finds"),
    (
        "$changeStream",
        "what comes while it waits: `change_streams` of the differences has it",
    ),
    ("changeStreamPreAndPostImages", "seen in change streams alone"),
    ("size", "beside `capped`"),
    ("min", "wants a hint of its own: the suite's `find_edges` has it"),
    ("max", "wants a hint of its own: the suite's `find_edges` has it"),
    (
        "returnKey",
        "what it gives depends on the plan: the suite's `find_edges` has it",
    ),
    (
        "showRecordId",
        "numbers of what was refused before: the suite's `find_edges` has it",
    ),
    (
        "encryptedFields",
        "values that a client has encrypted: the suite's `encrypted_fields` have it",
    ),
    (
        "timeseries",
        "a kind with rules of its own: the suite's `time_series` have it",
    ),
];

#[test]
fn every_supported_operator_is_generated() {
    let coverage = Coverage::of(0..400);
    let mut missing = Vec::new();
    for row in supported::rows().into_iter().filter(|row| row.is_supported) {
        let section = match (row.section.as_str(), row.table.as_str()) {
            ("Commands", "commands") => continue,
            ("Commands", _) => "options of find",
            ("Expressions", "variables") => "Variables",
            ("Update operators", "modifiers") => "Modifiers",
            (section, _) => section,
        };
        for name in row.names {
            if !coverage.has(section, &name) && !NOT_GENERATED.iter().any(|(other, _)| *other == name) {
                missing.push(format!("{section}: {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "never generated: {missing:?}");
    for part in ["$", "$[]", "$[e]"] {
        assert!(coverage.has("Paths", part), "no path has {part}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipelines_give_what_mongodb_gives() {
    let compared = in_lanes(
        number("ODM_DIFF_PIPELINES", 3_000),
        async |ours, theirs, seed, pipelines| compare_pipelines(ours, theirs, seed, pipelines, 20).await,
    );
    let Some(report) = compared.await else { return };
    report.expect_none("differential", "pipelines");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extreme_values_give_what_mongodb_gives() {
    let compared = in_lanes(
        number("ODM_DIFF_VARIED", 4_000),
        async |ours, theirs, seed, operations| compare_varied(ours, theirs, seed, operations, 20).await,
    );
    let Some(report) = compared.await else { return };
    report.expect_none("differential", "questions of extreme values");
}

/// Which of several faults is told, with its words.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_faults_that_of_mongodb_is_told() {
    let compared = in_lanes(
        number("ODM_DIFF_FAULTS", 4_000),
        async |ours, theirs, seed, commands| compare_faults(ours, theirs, seed, commands, 20).await,
    );
    let Some(report) = compared.await else { return };
    report.expect_none("differential", "commands with faults");
}

/// The rules come with the program, a server has its own: the places are those whose rules no release has changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dates_in_time_zones_are_those_of_mongodb() {
    let Some(uri) = mongodb_uri() else { return };
    let (dates, seed) = (number("ODM_DIFF_DATES", 1_000), number("ODM_DIFF_SEED", 1));
    let ours = Db::open("memory:").await.expect("the engine opens");
    let theirs = Db::open(&with_database(&uri, &fresh_name()))
        .await
        .expect("the server answers");
    let report = compare_zones(&ours, &theirs, seed, dates, 20).await;
    report.expect_none("differential", "dates");
}

#[tokio::test]
async fn validators_say_why_as_mongodb_does() {
    let Some(uri) = mongodb_uri() else { return };
    let ours = Db::open("memory:").await.expect("the engine opens");
    let theirs = Db::open(&with_database(&uri, &fresh_name()))
        .await
        .expect("the server answers");
    let differences = compare_refusals(&ours, &theirs).await;
    theirs.drop().await.expect("the database is dropped");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

/// Where shapes touch within rounding, the order of single additions decides: one of a hundred questions to a
/// thousand shapes may differ.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shapes_lie_where_mongodb_sees_them() {
    let Some(uri) = mongodb_uri() else { return };
    let (shapes, seed) = (number("ODM_DIFF_SHAPES", 1_000), number("ODM_DIFF_SEED", 1));
    let ours = Db::open("memory:").await.expect("the engine opens");
    let theirs = Db::open(&with_database(&uri, &fresh_name()))
        .await
        .expect("the server answers");
    let report = compare_shapes(&ours, &theirs, seed, shapes as usize, 150).await;
    theirs.drop().await.expect("the database is dropped");
    println!(
        "differential: {} shapes, {} questions, {} differences",
        report.shapes,
        report.questions,
        report.differences.len()
    );
    assert!(
        report.differences.len() * 100 <= report.questions,
        "{}",
        report.differences.join("\n\n")
    );
}
