//! The public specification cases of change streams, on every backend.
//!
//! A case that needs fail points, another server version or topology, or sees only what goes over the wire, is
//! listed with its reason instead. Of cases that check both, the events on the wire are left out.

use std::collections::BTreeMap;
use std::time::Duration;

use bson::{Bson, Document};
use odm::backend::{FullDocument, FullDocumentBeforeChange};
use odm::{ChangeStream, Db, Error};
use odm_tests::harness::{Fixture, Target};
use odm_tests::spec::{documents, matches, suits};

const FILES: &[&str] = &[
    "change-streams",
    "change-streams-clusterTime",
    "change-streams-disambiguatedPaths",
    "change-streams-errors",
    "change-streams-nsType",
    "change-streams-pre_and_post_images",
    "change-streams-resume-allowlist",
    "change-streams-resume-errorLabels",
    "change-streams-showExpandedEvents",
];

/// How many of the cases can be run, so that none is left out by mistake.
const RUN: usize = 31;
const RUN_ON_MONGODB: usize = RUN + 6;

#[test]
fn specification_cases_in_memory() {
    run_all(Target::Memory);
}

#[test]
fn specification_cases_on_native() {
    run_all(Target::Native);
}

#[test]
fn specification_cases_on_mongodb() {
    run_all(Target::MongoDb);
}

fn run_all(target: Target) {
    let Some(folder) = odm_tests::data::path("change-streams") else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let Some(fixture) = Fixture::open(target).await else {
            return;
        };
        let (mut run, mut failures) = (0, Vec::new());
        for file in FILES {
            // Databases of this run's own.
            let file_of_cases = odm_tests::spec::file(&folder, file, |text| {
                ["database0", "database1", "change-stream-tests"].iter().fold(
                    text.to_owned(),
                    |text, name| {
                        let own = format!("{}_{}", fixture.db.name(), &name[name.len() - 1..]);
                        text.replace(&format!("\"{name}\""), &format!("\"{own}\""))
                    },
                )
            });
            for case in documents(&file_of_cases, "tests") {
                let name = format!("{file}: {}", case.get_str("description").unwrap_or_default());
                if let Some(reason) = left_out(target, &file_of_cases, &case) {
                    println!("left out: {name}: {reason}");
                    continue;
                }
                run += 1;
                if let Err(reason) = Runner::run(&fixture.db, &file_of_cases, &case).await {
                    failures.push(format!("{name}: {reason}"));
                }
            }
        }
        fixture.close().await;
        println!(
            "{run} specification cases ran on {target:?}, {} failed",
            failures.len()
        );
        assert!(failures.is_empty(), "{failures:#?}");
        let wanted = if target == Target::MongoDb {
            RUN_ON_MONGODB
        } else {
            RUN
        };
        assert_eq!(run, wanted);
    });
}

/// Why a case is not run.
fn left_out(target: Target, file: &Document, case: &Document) -> Option<&'static str> {
    let operations = documents(case, "operations");
    let is = |name: &str| operations.iter().any(|o| o.get_str("name").ok() == Some(name));
    if is("failPoint") {
        return Some("needs a fail point");
    }
    if !suits(file) || !suits(case) {
        return Some("is for another server version or topology than a replica set of 6.0");
    }
    let expanded = operations.iter().any(|o| {
        o.get_document("arguments")
            .is_ok_and(|arguments| arguments.contains_key("showExpandedEvents"))
    });
    if expanded && target != Target::MongoDb {
        return Some("is about expanded events, which the embedded engine does not have");
    }
    let checked = |o: &Document| o.contains_key("expectResult") || o.contains_key("expectError");
    if !operations.iter().any(checked) {
        return Some("checks only what goes over the wire");
    }
    None
}

/// One case under way.
struct Runner {
    db: Db,
    /// Entity to database and collection.
    places: BTreeMap<String, (Option<String>, Option<String>)>,
    streams: BTreeMap<String, ChangeStream<Document>>,
}

impl Runner {
    async fn run(db: &Db, file: &Document, case: &Document) -> Result<(), String> {
        let mut runner = Runner {
            db: db.clone(),
            places: BTreeMap::new(),
            streams: BTreeMap::new(),
        };
        for entity in documents(file, "createEntities") {
            let (kind, value) = entity.iter().next().ok_or("an empty entity")?;
            let value = value.as_document().ok_or("an entity is no document")?;
            let text = |name: &str| value.get_str(name).unwrap_or_default().to_owned();
            let place = match kind.as_str() {
                "client" => (None, None),
                "database" => (Some(text("databaseName")), None),
                "collection" => {
                    let database = runner.places.get(&text("database")).cloned().unwrap_or_default();
                    (database.0, Some(text("collectionName")))
                }
                other => return Err(format!("unknown entity {other}")),
            };
            runner.places.insert(text("id"), place);
        }
        for database in runner.databases() {
            database.drop().await.map_err(told)?;
        }
        for data in documents(file, "initialData") {
            let database = runner
                .db
                .database(data.get_str("databaseName").unwrap_or_default())
                .map_err(told)?;
            let name = data.get_str("collectionName").unwrap_or_default();
            database.create_collection(name).await.map_err(told)?;
            for document in documents(&data, "documents") {
                database
                    .raw_collection(name)
                    .insert(document)
                    .await
                    .map_err(told)?;
            }
        }
        for operation in documents(case, "operations") {
            runner
                .operate(&operation)
                .await
                .map_err(|reason| format!("{}: {reason}", operation.get_str("name").unwrap_or_default()))?;
        }
        runner.streams.clear();
        for database in runner.databases() {
            database.drop().await.map_err(told)?;
        }
        Ok(())
    }

    fn databases(&self) -> Vec<Db> {
        let names: std::collections::BTreeSet<&String> = self
            .places
            .values()
            .filter_map(|(database, _)| database.as_ref())
            .filter(|name| *name != "admin")
            .collect();
        names
            .into_iter()
            .filter_map(|name| self.db.database(name).ok())
            .collect()
    }

    async fn operate(&mut self, operation: &Document) -> Result<(), String> {
        let found = tokio::time::timeout(Duration::from_secs(30), self.perform(operation))
            .await
            .map_err(|_| "took too long")?;
        if let Ok(expected) = operation.get_document("expectError") {
            let error = match found {
                Ok(found) => return Err(format!("no error but {found:?}")),
                Err(error) => error,
            };
            return match expected.get_i32("errorCode") {
                Ok(code) if error.code() != Some(code) => Err(format!("not code {code}: {error}")),
                _ => Ok(()),
            };
        }
        let found = found.map_err(told)?;
        match operation.get("expectResult") {
            Some(expected) => matches(expected, found.as_ref(), true),
            None => Ok(()),
        }
    }

    async fn perform(&mut self, operation: &Document) -> Result<Option<Bson>, Error> {
        let empty = Document::new();
        let arguments = operation.get_document("arguments").unwrap_or(&empty);
        let part = |name: &str| arguments.get_document(name).cloned().unwrap_or_default();
        let text = |name: &str| arguments.get_str(name).unwrap_or_default().to_owned();
        let object = operation.get_str("object").unwrap_or_default();
        if let Some(changes) = self.streams.get_mut(object) {
            return Ok(changes.try_next().await?.map(Bson::from));
        }
        let (database, collection) = self.places.get(object).cloned().unwrap_or_default();
        let db = match &database {
            Some(name) => self.db.database(name)?,
            None => self.db.clone(),
        };
        let c = db.raw_collection(collection.as_deref().unwrap_or_default());
        match operation.get_str("name").unwrap_or_default() {
            "createChangeStream" => {
                let action = match (&database, &collection) {
                    (None, _) => db.watch_everything(),
                    (Some(_), None) => db.watch(),
                    (Some(_), Some(_)) => c.watch(),
                };
                let mut action = action
                    .decode::<Document>()
                    .pipeline(documents(arguments, "pipeline"))
                    .full_document(match arguments.get_str("fullDocument") {
                        Ok("updateLookup") => FullDocument::UpdateLookup,
                        Ok("whenAvailable") => FullDocument::WhenAvailable,
                        Ok("required") => FullDocument::Required,
                        _ => FullDocument::Off,
                    })
                    .full_document_before_change(match arguments.get_str("fullDocumentBeforeChange") {
                        Ok("whenAvailable") => FullDocumentBeforeChange::WhenAvailable,
                        Ok("required") => FullDocumentBeforeChange::Required,
                        _ => FullDocumentBeforeChange::Off,
                    });
                if arguments.get_bool("showExpandedEvents").unwrap_or(false) {
                    action = action.expanded_events();
                }
                if let Ok(size) = arguments.get_i32("batchSize") {
                    action = action.batch_size(size.unsigned_abs());
                }
                let changes = action.await?;
                let name = operation.get_str("saveResultAsEntity").unwrap_or_default();
                self.streams.insert(name.to_owned(), changes);
            }
            "insertOne" => {
                c.insert(part("document")).await?;
            }
            "updateOne" => match arguments.get("update") {
                Some(Bson::Array(_)) => {
                    c.update_one(part("filter"), documents(arguments, "update"))
                        .await?;
                }
                _ => {
                    c.update_one(part("filter"), part("update")).await?;
                }
            },
            "replaceOne" => {
                c.replace_one(part("filter"), part("replacement")).await?;
            }
            "deleteOne" => {
                c.delete_one(part("filter")).await?;
            }
            "dropCollection" => db.drop_collection(&text("collection")).await?,
            "createCollection" if !arguments.contains_key("viewOn") => {
                db.create_collection(&text("collection")).await?
            }
            "rename" if arguments.get_bool("dropTarget").unwrap_or(false) => {
                c.rename(text("to")).drop_target().await?;
            }
            "rename" => c.rename(text("to")).await?,
            "createIndex" => {
                let index = bson::doc! { "key": part("keys"), "name": text("name") };
                let command = bson::doc! { "createIndexes": c.name(), "indexes": [index] };
                db.run_command(command).await?;
            }
            "dropIndex" => c.drop_index(&text("name")).await?,
            "createCollection" => {
                let command = bson::doc! { "create": text("collection"), "viewOn": text("viewOn") };
                db.run_command(command).await?;
            }
            "runCommand" => {
                db.run_command(part("command")).await?;
            }
            other => panic!("the runner does not know {other}"),
        }
        Ok(None)
    }
}

fn told(error: Error) -> String {
    error.to_string()
}
