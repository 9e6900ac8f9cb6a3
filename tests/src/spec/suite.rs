//! Running folders of specification cases whose operations are commands.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bson::{Bson, Document, doc};
use odm::{Db, ErrorKind};

use super::commands::{self, Failure, Outcome};
use super::{actions, documents, file, matches, suits};
use crate::harness::{Fixture, Target};

/// How a folder went on one backend.
#[derive(Debug, Default)]
pub struct Summary {
    /// The cases that ran.
    pub run: usize,
    /// Those that did not go as they should, with why.
    pub failures: Vec<String>,
    /// Why cases were not run, and how many each time.
    pub left: BTreeMap<String, usize>,
}

impl Summary {
    /// A case that went well or not.
    pub fn note(&mut self, well: bool, name: impl FnOnce() -> String) {
        self.run += 1;
        if !well {
            self.failures.push(name());
        }
    }

    /// Prints the counts.
    ///
    /// # Panics
    /// When a case failed, or fewer than `floor` ran.
    pub fn judge(&self, what: &str, target: Target, floor: usize) {
        println!(
            "{target:?}: {} specification cases of {what} ran, {} passed, {} are not applicable",
            self.run,
            self.run - self.failures.len(),
            self.left.values().sum::<usize>(),
        );
        for (reason, count) in &self.left {
            println!("  {count}: {reason}");
        }
        assert!(self.failures.is_empty(), "{:#?}", self.failures);
        assert!(self.run >= floor, "only {} cases ran", self.run);
    }

    /// A case that is not run.
    pub fn leave(&mut self, reason: impl Into<String>) {
        *self.left.entry(reason.into()).or_default() += 1;
    }
}

/// Runs the cases of a folder in databases of the run's own; `None` where there is no server.
///
/// # Panics
/// When the folder cannot be read.
pub async fn run(folder: &Path, target: Target) -> Option<Summary> {
    let fixture = Fixture::open(target).await?;
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a readable folder")
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            Some(name.strip_suffix(".json")?.to_owned())
        })
        .collect();
    names.sort();
    let mut summary = Summary::default();
    for name in &names {
        let cases = renamed(folder, name, fixture.db.name());
        for case in documents(&cases, "tests") {
            let title = format!("{name}: {}", case.get_str("description").unwrap_or_default());
            if let Some(reason) = left_out(&cases, &case) {
                summary.leave(reason);
                continue;
            }
            match Case::run(&fixture.db, &cases, &case).await {
                Ok(()) => summary.run += 1,
                Err(Trouble::NotThere(reason)) => summary.leave(reason),
                Err(Trouble::Failed(reason)) => {
                    summary.run += 1;
                    summary.failures.push(format!("{title}: {reason}"));
                }
            }
        }
        for database in databases(&cases) {
            let own = fixture.db.database(&database).expect("a name of the run's own");
            own.drop().await.expect("the database is dropped");
        }
    }
    fixture.close().await;
    Some(summary)
}

/// A file with databases of the run's own.
fn renamed(folder: &Path, name: &str, own: &str) -> Document {
    let plain = file(folder, name, str::to_owned);
    file(folder, name, |text| {
        let names = databases(&plain).into_iter().enumerate();
        names.fold(text.to_owned(), |text, (index, database)| {
            text.replace(&format!("\"{database}\""), &format!("\"{own}_{index}\""))
        })
    })
}

/// The databases that a file names, but `admin`.
fn databases(cases: &Document) -> Vec<String> {
    let mut names: Vec<String> = documents(cases, "createEntities")
        .iter()
        .filter_map(|entity| {
            let database = entity.get_document("database").ok()?;
            database.get_str("databaseName").ok().map(str::to_owned)
        })
        .filter(|name| name != "admin")
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Why a case is not run.
fn left_out(file: &Document, case: &Document) -> Option<&'static str> {
    if file.contains_key("skipReason") || case.contains_key("skipReason") {
        return Some("is switched off by the specification");
    }
    if !suits(file) || !suits(case) {
        return Some("is for another server version or topology than a replica set of 6.0");
    }
    let operations = documents(case, "operations");
    let has = |name: &str| {
        operations
            .iter()
            .any(|own| own.get_str("name").ok() == Some(name))
    };
    if has("failPoint") {
        return Some("needs a fail point");
    }
    if has("clientBulkWrite") {
        return Some("is about bulk writes over many collections, which begin with 8.0");
    }
    if operations
        .iter()
        .any(|own| own.get_str("name").is_ok_and(|name| name.contains("SearchIndex")))
    {
        return Some("is about search indexes of Atlas");
    }
    let text = Bson::from(documents(file, "createEntities")).to_string();
    if text.contains("\"writeConcern\": { \"w\": 0") {
        return Some("is about unacknowledged writes, which odm does not have");
    }
    if text.contains("readPreference") {
        return Some("is about read preferences in a URL: only the command that is sent is looked at");
    }
    None
}

/// What came in a case's way.
enum Trouble {
    /// The backend says that it does not have what is asked for.
    NotThere(String),
    Failed(String),
}

impl From<String> for Trouble {
    fn from(reason: String) -> Trouble {
        Trouble::Failed(reason)
    }
}

/// One case under way: its entities.
struct Case {
    db: Db,
    /// Databases, with a collection's name and options where it is one.
    places: BTreeMap<String, (String, Option<String>, Document)>,
}

impl Case {
    async fn run(db: &Db, file: &Document, case: &Document) -> Result<(), Trouble> {
        let mut own = Case {
            db: db.clone(),
            places: BTreeMap::new(),
        };
        own.create(file);
        own.fill(file).await?;
        for operation in documents(case, "operations") {
            let name = operation.get_str("name").unwrap_or_default();
            let done = tokio::time::timeout(Duration::from_secs(30), own.operate(&operation)).await;
            match done.map_err(|_| format!("{name} took too long"))? {
                Err(Trouble::Failed(reason)) => return Err(Trouble::Failed(format!("{name}: {reason}"))),
                other => other?,
            }
        }
        own.check_outcome(case).await
    }

    fn create(&mut self, file: &Document) {
        for entity in documents(file, "createEntities") {
            for (kind, own) in &entity {
                let own = own.as_document().cloned().unwrap_or_default();
                let text = |name: &str| own.get_str(name).unwrap_or_default().to_owned();
                let options = |name: &str| own.get_document(name).cloned().unwrap_or_default();
                let place = match kind.as_str() {
                    "database" => (text("databaseName"), None, options("databaseOptions")),
                    "collection" => {
                        let database = self.places.get(&text("database")).cloned().unwrap_or_default();
                        (
                            database.0,
                            Some(text("collectionName")),
                            options("collectionOptions"),
                        )
                    }
                    _ => continue,
                };
                self.places.insert(text("id"), place);
            }
        }
    }

    async fn fill(&self, file: &Document) -> Result<(), String> {
        for data in documents(file, "initialData") {
            let database = self.database(data.get_str("databaseName").unwrap_or_default())?;
            let name = data.get_str("collectionName").unwrap_or_default();
            database.drop_collection(name).await.map_err(told)?;
            let options = data.get_document("createOptions").cloned().unwrap_or_default();
            let mut create = doc! { "create": name };
            create.extend(options);
            database.run_command(create).await.map_err(told)?;
            let documents = documents(&data, "documents");
            if !documents.is_empty() {
                let insert = database.raw_collection(name).insert_many(documents);
                insert.await.map_err(told)?;
            }
        }
        Ok(())
    }

    fn is_embedded(&self) -> bool {
        self.db.backend_name() != "mongodb"
    }

    fn database(&self, name: &str) -> Result<Db, String> {
        self.db.database(name).map_err(told)
    }

    async fn operate(&self, operation: &Document) -> Result<(), Trouble> {
        let found = self.perform(operation).await?;
        let expected = operation.get_document("expectError");
        let found = match (found, expected) {
            (Ok(found), Ok(_)) => return Err(format!("no error but {found:?}").into()),
            (Ok(found), Err(_)) => found,
            (Err(failure), expected) => {
                let unsupported = failure
                    .error
                    .as_ref()
                    .filter(|error| error.kind() == ErrorKind::Unsupported);
                // In the errors of a batch only the code says it.
                if self.is_embedded() && failure.error.is_none() && failure.code == Some(115) {
                    let reason = failure.details.get_str("errmsg").unwrap_or_default();
                    return Err(Trouble::NotThere(reason.to_owned()));
                }
                return match (unsupported, expected) {
                    (Some(error), _) => Err(Trouble::NotThere(error.message().to_owned())),
                    (None, Ok(expected)) => check_failure(expected, &failure).map_err(Trouble::Failed),
                    (None, Err(_)) => Err(format!("{failure:?}").into()),
                };
            }
        };
        match operation.get("expectResult") {
            Some(Bson::Array(expected)) => {
                let found = found
                    .as_ref()
                    .and_then(Bson::as_array)
                    .cloned()
                    .unwrap_or_default();
                if expected.len() != found.len() {
                    return Err(format!("expected {expected:?}, found {found:?}").into());
                }
                let pairs = expected.iter().zip(&found);
                for (expected, found) in pairs {
                    matches(expected, Some(found), true)?;
                }
                Ok(())
            }
            Some(expected) => Ok(matches(expected, found.as_ref(), true)?),
            None => Ok(()),
        }
    }

    /// Runs an operation; the outer error is the runner's.
    async fn perform(&self, operation: &Document) -> Result<Outcome, String> {
        let mut arguments = operation.get_document("arguments").cloned().unwrap_or_default();
        let name = operation.get_str("name").unwrap_or_default();
        let object = operation.get_str("object").unwrap_or_default();
        if object == "testRunner" {
            self.assert(name, &arguments).await?;
            return Ok(Ok(None));
        }
        let (database, collection, options) = self
            .places
            .get(object)
            .cloned()
            .ok_or_else(|| format!("no entity {object}"))?;
        let db = self.database(&database)?;
        // What a driver itself refuses is asked of odm's own actions.
        let by_client = operation
            .get_document("expectError")
            .is_ok_and(|expected| expected.get_bool("isClientError").ok() == Some(true));
        if let (true, Some(collection)) = (by_client, &collection) {
            let collection = db.raw_collection(collection);
            let done = actions::on_collection(&collection, &db, name, &arguments).await;
            return Ok(done.map_err(Failure::from));
        }
        if name == "aggregate" {
            for (name, value) in options {
                arguments.insert(name, value);
            }
        }
        Ok(match collection {
            None => commands::on_database(&db, name, &arguments).await,
            Some(collection) => commands::on_collection(&db, &collection, name, &arguments).await,
        })
    }

    async fn assert(&self, name: &str, arguments: &Document) -> Result<(), String> {
        let text = |name: &str| arguments.get_str(name).unwrap_or_default();
        match name {
            "assertCollectionExists" | "assertCollectionNotExists" => {
                let all = self.database(text("databaseName"))?.list_collections().await;
                let all = all.map_err(told)?;
                let exists = all.iter().any(|one| one.name == text("collectionName"));
                (exists == (name == "assertCollectionExists"))
                    .then_some(())
                    .ok_or_else(|| format!("{} in {all:?}", text("collectionName")))
            }
            other => Err(format!("the runner does not know {other}")),
        }
    }

    async fn check_outcome(&self, case: &Document) -> Result<(), Trouble> {
        for data in documents(case, "outcome") {
            let database = self.database(data.get_str("databaseName").unwrap_or_default())?;
            let name = data.get_str("collectionName").unwrap_or_default();
            let collection = database.raw_collection(name);
            let found = collection.find(doc! {}).sort_raw(doc! {"_id": 1}).await;
            let found = Bson::from(found.map_err(told)?);
            matches(&Bson::from(documents(&data, "documents")), Some(&found), false)
                .map_err(|reason| format!("in the end: {reason}"))?;
        }
        Ok(())
    }
}

fn check_failure(expected: &Document, failure: &Failure) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{what} expected: {failure:?}"));
    if let Ok(code) = expected.get_i32("errorCode")
        && failure.code != Some(code)
    {
        return wrong(&format!("code {code}"));
    }
    if let Ok(text) = expected.get_str("errorContains") {
        let error = failure
            .error
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let said = format!("{error} {}", failure.details).to_lowercase();
        if !said.contains(&text.to_lowercase()) {
            return wrong(text);
        }
    }
    // A driver's own error has no code of the server.
    if expected.get_bool("isClientError").ok() == Some(false) && failure.code.is_none() {
        return wrong("an error of the server");
    }
    match expected.get("expectResult") {
        Some(result) => matches(result, failure.partial.as_ref(), true),
        None => Ok(()),
    }
}

fn told(error: odm::Error) -> String {
    error.to_string()
}
