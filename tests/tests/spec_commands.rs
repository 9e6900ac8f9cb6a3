//! The public specification cases of documents, collections and indexes, on every backend.
//!
//! Each operation becomes the command that a driver sends for it. A case that needs fail points, another server
//! version or topology, or what `odm` or a backend does not have, is listed with its reason instead. What goes over
//! the wire is not looked at: results, errors and the documents in the end are.

use odm_tests::harness::Target;
use odm_tests::spec::suite;

/// The folders, and how many of their cases can be run at the least: on the embedded engine, on MongoDB.
const FOLDERS: &[(&str, usize, usize)] = &[
    ("crud", 260, 286),
    ("collection-management", 6, 9),
    ("index-management", 1, 1),
];

#[test]
fn cases_in_memory() {
    run_all(Target::Memory);
}

#[test]
fn cases_on_native() {
    run_all(Target::Native);
}

#[test]
fn cases_on_mongodb() {
    run_all(Target::MongoDb);
}

fn run_all(target: Target) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        for (folder, embedded, server) in FOLDERS {
            let Some(path) = odm_tests::data::path(folder) else {
                continue;
            };
            let Some(summary) = suite::run(&path, target).await else {
                continue;
            };
            let floor = if target == Target::MongoDb {
                server
            } else {
                embedded
            };
            summary.judge(folder, target, *floor);
        }
    });
}
