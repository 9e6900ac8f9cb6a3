//! The public specification cases of transactions, on every backend.
//!
//! A case that needs fail points, another server version or topology, or what `odm` or a backend does not have, is
//! listed with its reason instead. What goes over the wire is not looked at: results, errors and the documents in the
//! end are.

mod runner;

use std::collections::BTreeMap;

use bson::{Bson, Document, doc};
use odm_tests::harness::{Fixture, Target};
use odm_tests::spec::{documents, matches, suits};

use crate::runner::Runner;

/// How many of the cases can be run at the least, so that none is left out by mistake.
const RUN_ON_MONGODB: usize = 94;
const RUN_ON_NATIVE: usize = 83;

#[test]
fn the_matcher_knows_its_operators() {
    let found = Bson::from(doc! {"a": {"b": 1_i64}, "c": 2});
    let check = |expected: Document| matches(&Bson::from(expected), Some(&found), true).is_ok();
    assert!(check(doc! {"a": {"b": 1}}));
    assert!(!check(doc! {"a": {}}));
    assert!(check(doc! {"x": {"$$exists": false}, "c": {"$$exists": true}}));
    assert!(!check(doc! {"c": {"$$type": "string"}}));
}

#[test]
fn specification_cases_in_memory() {
    run_all(Target::Memory, RUN_ON_NATIVE);
}

#[test]
fn specification_cases_on_native() {
    run_all(Target::Native, RUN_ON_NATIVE);
}

#[test]
fn specification_cases_on_mongodb() {
    run_all(Target::MongoDb, RUN_ON_MONGODB);
}

fn run_all(target: Target, floor: usize) {
    let Some(folder) = odm_tests::data::path("transactions") else {
        return;
    };
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .expect("a readable folder")
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            Some(name.strip_suffix(".json")?.to_owned())
        })
        .collect();
    files.sort();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let Some(fixture) = Fixture::open(target).await else {
            return;
        };
        let (mut run, mut failures) = (0, Vec::new());
        let mut left: BTreeMap<&'static str, usize> = BTreeMap::new();
        for file in &files {
            // A database of this run's own, for all the names that the cases have.
            let own = format!("\"{}_s\"", fixture.db.name());
            let cases = odm_tests::spec::file(&folder, file, |text| {
                [
                    "transaction-tests",
                    "transactions-tests",
                    "database0",
                    "retryable-abort-tests",
                ]
                .iter()
                .fold(text.to_owned(), |text, name| {
                    text.replace(&format!("\"{name}\""), &own)
                })
            });
            for case in documents(&cases, "tests") {
                let name = format!("{file}: {}", case.get_str("description").unwrap_or_default());
                if let Some(reason) = left_out(target, &cases, &case) {
                    println!("not applicable: {name}: {reason}");
                    *left.entry(reason).or_default() += 1;
                    continue;
                }
                run += 1;
                if let Err(reason) = Runner::run(target, &fixture.db, &cases, &case).await {
                    failures.push(format!("{name}: {reason}"));
                }
            }
        }
        fixture.close().await;
        println!(
            "{target:?}: {run} specification cases of transactions ran, {} passed, {} are not applicable",
            run - failures.len(),
            left.values().sum::<usize>(),
        );
        for (reason, count) in &left {
            println!("  {count}: {reason}");
        }
        assert!(failures.is_empty(), "{failures:#?}");
        assert!(run >= floor, "only {run} cases ran");
    });
}

/// Why a case is not run.
fn left_out(target: Target, file: &Document, case: &Document) -> Option<&'static str> {
    if case.contains_key("skipReason") {
        return Some("is switched off by the specification");
    }
    let operations = documents(case, "operations");
    let text = Bson::from(operations.clone()).to_string();
    if operations.iter().any(|o| {
        o.get_str("name")
            .is_ok_and(|name| name == "failPoint" || name == "targetedFailPoint")
    }) {
        return Some("needs a fail point");
    }
    if !suits(file) || !suits(case) {
        return Some("is for another server version or topology than a replica set of 6.0");
    }
    if text.contains("no transaction started") {
        return Some("commits or aborts a session without a transaction, which odm does not have");
    }
    if ["calling commitTransaction", "cannot call abortTransaction twice"]
        .iter()
        .any(|error| text.contains(error))
    {
        return Some("expects an error of an abort, which never fails in odm");
    }
    if operations.iter().any(|operation| {
        operation.get_str("name").ok() == Some("runCommand")
            && operation.get_document("arguments").is_ok_and(|arguments| {
                arguments
                    .get_document("readPreference")
                    .is_ok_and(|own| own.get_str("mode").ok() != Some("primary"))
            })
    }) {
        return Some("gives a command a read preference of its own, which odm does not have");
    }
    if case.get_str("description").ok() == Some("readPreference inherited from client") {
        // Otherwise no delete with rules would work under such a URL.
        return Some(
            "expects a transaction to fail where the URL prefers secondaries: odm's read from the primary",
        );
    }
    if target == Target::MongoDb {
        return None;
    }
    let own = operations.iter().flat_map(|operation| {
        let arguments = operation.get_document("arguments").cloned().unwrap_or_default();
        documents(&arguments, "entities")
    });
    if documents(file, "createEntities")
        .into_iter()
        .chain(own)
        .any(|entity| {
            let client = entity.get_document("client");
            let options = client.and_then(|client| client.get_document("uriOptions"));
            options.is_ok_and(|options| {
                ["w", "readConcernLevel", "readPreference"]
                    .iter()
                    .any(|name| options.contains_key(name))
            })
        })
    {
        return Some("is about options in a server's URL");
    }
    if text.contains("\"w\": 10") {
        return Some("wants more members than the embedded engine is");
    }
    None
}
