//! The public specification cases of transactions, on every backend.
//!
//! A case that needs fail points, another server version or topology, or what `odm` or a backend does not have, is
//! listed with its reason instead. What goes over the wire is not looked at: results, errors and the documents in the
//! end are.

use std::collections::BTreeMap;
use std::time::Duration;

use bson::{Bson, Document, doc};
use odm::backend::{ReadConcern, ReadPreference, TransactionOptions, WriteConcern};
use odm::{Collection, Db, Error, Tx};
use odm_tests::harness::{self, Fixture, Target};
use odm_tests::spec::{documents, matches, suits};

/// How many of the cases can be run at the least, so that none is left out by mistake.
const RUN_ON_MONGODB: usize = 95;
const RUN_ON_NATIVE: usize = 83;

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

/// A client's database or collection.
#[derive(Clone)]
struct Place {
    client: Db,
    database: Option<String>,
    collection: Option<String>,
}

struct Session {
    client: Db,
    defaults: Document,
    tx: Option<Tx>,
}

/// One case under way.
struct Runner {
    target: Target,
    db: Db,
    places: BTreeMap<String, Place>,
    sessions: BTreeMap<String, Session>,
}

impl Runner {
    async fn run(target: Target, db: &Db, file: &Document, case: &Document) -> Result<(), String> {
        let mut runner = Runner {
            target,
            db: db.clone(),
            places: BTreeMap::new(),
            sessions: BTreeMap::new(),
        };
        runner.create(&documents(file, "createEntities")).await?;
        for data in documents(file, "initialData") {
            let database = db
                .database(data.get_str("databaseName").unwrap_or_default())
                .map_err(told)?;
            let name = data.get_str("collectionName").unwrap_or_default();
            database.drop_collection(name).await.map_err(told)?;
            database.create_collection(name).await.map_err(told)?;
            let documents = documents(&data, "documents");
            if !documents.is_empty() {
                let insert = database.raw_collection(name).insert_many(documents);
                insert.await.map_err(told)?;
            }
        }
        for operation in documents(case, "operations") {
            runner
                .operate(&operation)
                .await
                .map_err(|reason| format!("{}: {reason}", operation.get_str("name").unwrap_or_default()))?;
        }
        for session in std::mem::take(&mut runner.sessions).into_values() {
            if let Some(tx) = session.tx {
                tx.abort().await;
            }
        }
        for data in documents(case, "outcome") {
            let database = db
                .database(data.get_str("databaseName").unwrap_or_default())
                .map_err(told)?;
            let name = data.get_str("collectionName").unwrap_or_default();
            let found = database
                .raw_collection(name)
                .find(doc! {})
                .sort_raw(doc! {"_id": 1});
            let found = Bson::from(found.await.map_err(told)?);
            matches(&Bson::from(documents(&data, "documents")), Some(&found), false)
                .map_err(|reason| format!("in the end: {reason}"))?;
        }
        Ok(())
    }

    async fn create(&mut self, entities: &[Document]) -> Result<(), String> {
        for entity in entities {
            let (kind, value) = entity.iter().next().ok_or("an empty entity")?;
            let value = value.as_document().ok_or("an entity is no document")?;
            let text = |name: &str| value.get_str(name).unwrap_or_default().to_owned();
            let place = match kind.as_str() {
                "client" => Place {
                    client: self.client(value.get_document("uriOptions").ok()).await?,
                    database: None,
                    collection: None,
                },
                "database" => Place {
                    database: Some(text("databaseName")),
                    ..self.place(&text("client"))?
                },
                "collection" => Place {
                    collection: Some(text("collectionName")),
                    ..self.place(&text("database"))?
                },
                "session" => {
                    let client = self.place(&text("client"))?.client;
                    let options = value.get_document("sessionOptions").cloned().unwrap_or_default();
                    let defaults = options.get_document("defaultTransactionOptions");
                    let session = Session {
                        client,
                        defaults: defaults.cloned().unwrap_or_default(),
                        tx: None,
                    };
                    self.sessions.insert(text("id"), session);
                    continue;
                }
                other => return Err(format!("unknown entity {other}")),
            };
            self.places.insert(text("id"), place);
        }
        Ok(())
    }

    /// A client with options of its own, where a URL can have them.
    async fn client(&self, options: Option<&Document>) -> Result<Db, String> {
        let (Some(options), Some(uri)) = (options, harness::mongodb_uri()) else {
            return Ok(self.db.clone());
        };
        if self.target != Target::MongoDb {
            return Ok(self.db.clone());
        }
        let more: Vec<String> = options
            .iter()
            .map(|(name, value)| match value {
                Bson::String(text) => format!("{name}={text}"),
                other => format!("{name}={other}"),
            })
            .collect();
        let uri = harness::with_database(&uri, self.db.name());
        Db::open(&format!("{uri}&{}", more.join("&"))).await.map_err(told)
    }

    fn place(&self, id: &str) -> Result<Place, String> {
        self.places
            .get(id)
            .cloned()
            .ok_or_else(|| format!("no entity {id}"))
    }

    async fn operate(&mut self, operation: &Document) -> Result<(), String> {
        let found = tokio::time::timeout(Duration::from_secs(30), self.perform(operation))
            .await
            .map_err(|_| "took too long")??;
        if let Ok(expected) = operation.get_document("expectError") {
            return match found {
                Ok(found) => Err(format!("no error but {found:?}")),
                Err(error) => self.check(expected, &error),
            };
        }
        let found = found.map_err(|error| format!("{error:?}"))?;
        match operation.get("expectResult") {
            Some(expected) => matches(expected, found.as_ref(), true),
            None => Ok(()),
        }
    }

    fn check(&self, expected: &Document, error: &Error) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{what}, but {error:?}"));
        if let Ok(text) = expected.get_str("errorContains") {
            let text = ours(text).to_lowercase();
            if !error.to_string().to_lowercase().contains(&text) {
                return wrong(&text);
            }
        }
        if let Ok(name) = expected.get_str("errorCodeName") {
            let code = match name {
                "NoSuchTransaction" => 251,
                "WriteConflict" => 112,
                "OperationNotSupportedInTransaction" => 263,
                other => return Err(format!("the runner does not know {other}")),
            };
            if error.code() != Some(code) {
                return wrong(name);
            }
        }
        // The embedded engine has no client.
        if expected.get_bool("isClientError").ok() == Some(true)
            && self.target == Target::MongoDb
            && error.code().is_some()
        {
            return wrong("an error of the client");
        }
        let labels = |name: &str| {
            let labels = expected.get_array(name).cloned().unwrap_or_default();
            labels
                .into_iter()
                .filter_map(|label| Some(label.as_str()?.to_owned()))
        };
        for label in labels("errorLabelsContain") {
            if !error.has_label(&label) {
                return wrong(&format!("the label {label}"));
            }
        }
        for label in labels("errorLabelsOmit") {
            if error.has_label(&label) {
                return wrong(&format!("not the label {label}"));
            }
        }
        Ok(())
    }

    /// Runs an operation; the outer error is the runner's.
    async fn perform(&mut self, operation: &Document) -> Result<Result<Option<Bson>, Error>, String> {
        let empty = Document::new();
        let arguments = operation.get_document("arguments").unwrap_or(&empty);
        let name = operation.get_str("name").unwrap_or_default();
        let object = operation.get_str("object").unwrap_or_default();
        if object == "testRunner" {
            return self.assert(name, arguments).await.map(|()| Ok(None));
        }
        if let Some(session) = self.sessions.get_mut(object) {
            return session.perform(name, arguments).await;
        }
        let place = self.place(object)?;
        let mut client = place.client;
        if let Ok(session) = arguments.get_str("session") {
            let session = self.sessions.get(session).ok_or("no such session")?;
            if let Some(tx) = session.tx.as_ref().filter(|tx| tx.is_running()) {
                client = (**tx).clone();
            }
        }
        let database = client.database(place.database.as_deref().unwrap_or_default());
        let database = database.map_err(told)?;
        Ok(match place.collection {
            None => on_database(&database, name, arguments).await,
            Some(collection) => {
                on_collection(&database.raw_collection(&collection), &database, name, arguments).await
            }
        })
    }

    async fn assert(&mut self, name: &str, arguments: &Document) -> Result<(), String> {
        let text = |name: &str| arguments.get_str(name).unwrap_or_default();
        match name {
            "createEntities" => self.create(&documents(arguments, "entities")).await,
            "assertSessionTransactionState" => {
                let session = self.sessions.get(text("session")).ok_or("no such session")?;
                let running = session.tx.as_ref().is_some_and(Tx::is_running);
                if running == matches!(text("state"), "starting" | "in_progress") {
                    Ok(())
                } else {
                    Err(format!("not {}", text("state")))
                }
            }
            "assertCollectionExists" | "assertCollectionNotExists" => {
                let database = self.db.database(text("databaseName")).map_err(told)?;
                let all = database.list_collections().await.map_err(told)?;
                let exists = all.iter().any(|one| one.name == text("collectionName"));
                (exists == (name == "assertCollectionExists"))
                    .then_some(())
                    .ok_or_else(|| format!("{} in {all:?}", text("collectionName")))
            }
            "assertIndexExists" | "assertIndexNotExists" => {
                let database = self.db.database(text("databaseName")).map_err(told)?;
                let all = database.raw_collection(text("collectionName")).list_indexes();
                let all = all.await.map_err(told)?;
                let exists = all.iter().any(|one| one.name == text("indexName"));
                (exists == (name == "assertIndexExists"))
                    .then_some(())
                    .ok_or_else(|| format!("{} in {all:?}", text("indexName")))
            }
            other => Err(format!("the runner does not know {other}")),
        }
    }
}

/// How `odm` says what a driver's client says of its session.
fn ours(text: &str) -> &str {
    match text {
        "transaction already in progress" => "cannot be started inside a transaction",
        "Cannot call commitTransaction after calling abortTransaction" => "the transaction was aborted",
        other => other,
    }
}

impl Session {
    async fn perform(
        &mut self,
        name: &str,
        arguments: &Document,
    ) -> Result<Result<Option<Bson>, Error>, String> {
        let running = self.tx.as_ref().filter(|tx| tx.is_running());
        let done = match name {
            "startTransaction" => {
                let mut given = self.defaults.clone();
                given.extend(arguments.clone());
                let options = options(&given)?;
                match running {
                    Some(tx) => tx.begin_with(options).await.map(drop),
                    None => self.client.begin_with(options).await.map(|tx| self.tx = Some(tx)),
                }
            }
            "commitTransaction" => self.tx.as_ref().ok_or("no transaction")?.commit().await,
            "abortTransaction" => {
                self.tx.as_ref().ok_or("no transaction")?.abort().await;
                Ok(())
            }
            "endSession" => {
                self.tx = None;
                Ok(())
            }
            other => return Err(format!("the runner does not know {other}")),
        };
        Ok(done.map(|()| None))
    }
}

fn options(given: &Document) -> Result<TransactionOptions, String> {
    let mut options = TransactionOptions::new();
    for (name, value) in given {
        let part = |name: &str| value.as_document().and_then(|own| own.get(name)).cloned();
        options = match name.as_str() {
            "readConcern" => match part("level").as_ref().and_then(Bson::as_str) {
                Some("local") => options.read_concern(ReadConcern::Local),
                Some("majority") => options.read_concern(ReadConcern::Majority),
                Some("snapshot") => options.read_concern(ReadConcern::Snapshot),
                other => return Err(format!("no read concern {other:?}")),
            },
            "writeConcern" => options.write_concern(match part("w") {
                Some(Bson::Int32(count)) => WriteConcern::members(count.unsigned_abs()),
                _ => WriteConcern::majority(),
            }),
            "readPreference" => options.read_preference(match part("mode").as_ref().and_then(Bson::as_str) {
                Some("primaryPreferred") => ReadPreference::PrimaryPreferred,
                Some("secondary") => ReadPreference::Secondary,
                Some("secondaryPreferred") => ReadPreference::SecondaryPreferred,
                Some("nearest") => ReadPreference::Nearest,
                _ => ReadPreference::Primary,
            }),
            "maxCommitTimeMS" => {
                let millis = value.as_i32().unwrap_or_default().unsigned_abs();
                options.max_commit_time(Duration::from_millis(millis.into()))
            }
            "session" => options,
            other => return Err(format!("no option {other}")),
        };
    }
    Ok(options)
}

async fn on_database(db: &Db, name: &str, arguments: &Document) -> Result<Option<Bson>, Error> {
    let text = |name: &str| arguments.get_str(name).unwrap_or_default();
    match name {
        "runCommand" => {
            let command = arguments.get_document("command").cloned().unwrap_or_default();
            db.run_command(command).await.map(|reply| Some(reply.into()))
        }
        "dropCollection" => db.drop_collection(text("collection")).await.map(|()| None),
        "createCollection" => db.create_collection(text("collection")).await.map(|()| None),
        other => panic!("the runner does not know {other}"),
    }
}

async fn on_collection(
    c: &Collection<Document>,
    db: &Db,
    name: &str,
    arguments: &Document,
) -> Result<Option<Bson>, Error> {
    let part = |name: &str| arguments.get_document(name).cloned().unwrap_or_default();
    let upsert = arguments.get_bool("upsert").unwrap_or_default();
    let new = arguments.get_str("returnDocument").ok() == Some("After");
    let found = |document: Option<Document>| document.map_or(Bson::Null, Bson::from);
    let updated = |result: odm::action::UpdateResult<Bson>| {
        let mut answer = doc! {
            "matchedCount": result.matched as i64,
            "modifiedCount": result.modified as i64,
            "upsertedCount": i32::from(result.upserted_id.is_some()),
        };
        if let Some(id) = result.upserted_id {
            answer.insert("upsertedId", id);
        }
        Bson::from(answer)
    };
    Ok(Some(match name {
        "insertOne" => {
            c.insert(part("document")).await?;
            return Ok(None);
        }
        "insertMany" => {
            c.insert_many(documents(arguments, "documents")).await?;
            return Ok(None);
        }
        "find" => {
            let mut find = c.find(part("filter"));
            if let Ok(size) = arguments.get_i32("batchSize") {
                find = find.batch_size(size.unsigned_abs());
            }
            find.await?.into()
        }
        "aggregate" => {
            let mut aggregate = c.aggregate_raw(documents(arguments, "pipeline"));
            if let Ok(size) = arguments.get_i32("batchSize") {
                aggregate = aggregate.batch_size(size.unsigned_abs());
            }
            aggregate.await?.into()
        }
        "distinct" => {
            let field = arguments.get_str("fieldName").unwrap_or_default();
            let values: Vec<Bson> = c.distinct(field).filter_raw(part("filter")).await?;
            values.into()
        }
        "countDocuments" => (c.count(part("filter")).await? as i64).into(),
        "count" => {
            let command = doc! { "count": c.name(), "query": part("filter") };
            db.run_command(command).await?.into()
        }
        "updateOne" if upsert => updated(c.upsert(part("filter"), part("update")).await?),
        "updateOne" => updated(c.update_one(part("filter"), part("update")).await?),
        "updateMany" if upsert => updated(c.update_many(part("filter"), part("update")).upsert().await?),
        "updateMany" => updated(c.update_many(part("filter"), part("update")).await?),
        "replaceOne" => {
            let replace = c.replace_one(part("filter"), part("replacement"));
            updated(if upsert {
                replace.upsert().await?
            } else {
                replace.await?
            })
        }
        "deleteOne" => doc! { "deletedCount": c.delete_one(part("filter")).await?.deleted as i64 }.into(),
        "deleteMany" => doc! { "deletedCount": c.delete_many(part("filter")).await?.deleted as i64 }.into(),
        "findOneAndDelete" => found(c.find_one_and_delete(part("filter")).await?),
        "findOneAndUpdate" | "findOneAndReplace" => {
            let mut change = match name {
                "findOneAndUpdate" => c.find_one_and_update(part("filter"), part("update")),
                _ => c.find_one_and_replace(part("filter"), part("replacement")),
            };
            if new {
                change = change.return_new();
            }
            if upsert {
                change = change.upsert();
            }
            found(change.await?)
        }
        "bulkWrite" => bulk_write(c, &documents(arguments, "requests")).await?.into(),
        "createIndex" => {
            let name = arguments.get_str("name").unwrap_or_default();
            let index = doc! { "key": part("keys"), "name": name };
            let command = doc! { "createIndexes": c.name(), "indexes": [index] };
            db.run_command(command).await?;
            return Ok(None);
        }
        other => panic!("the runner does not know {other}"),
    }))
}

async fn bulk_write(c: &Collection<Document>, requests: &[Document]) -> Result<Document, Error> {
    let mut bulk = c.bulk_write();
    for request in requests {
        for (name, own) in request {
            let own = own.as_document().cloned().unwrap_or_default();
            let part = |name: &str| own.get_document(name).cloned().unwrap_or_default();
            let upsert = own.get_bool("upsert").unwrap_or_default();
            bulk = match name.as_str() {
                "insertOne" => bulk.insert(part("document")),
                "updateOne" if upsert => bulk.upsert(part("filter"), part("update")),
                "updateOne" => bulk.update_one(part("filter"), part("update")),
                "updateMany" => bulk.update_many(part("filter"), part("update")),
                "replaceOne" => bulk.replace_one(part("filter"), part("replacement")),
                "deleteOne" => bulk.delete_one(part("filter")),
                "deleteMany" => bulk.delete_many(part("filter")),
                other => panic!("the runner does not know {other}"),
            };
        }
    }
    let result = bulk.await?;
    let ids = |all: &[(usize, Bson)]| -> Document {
        all.iter()
            .map(|(index, id)| (index.to_string(), id.clone()))
            .collect()
    };
    let (inserted, upserted) = (ids(&result.inserted_ids), ids(&result.upserted_ids));
    Ok(doc! {
        "insertedCount": result.inserted as i64,
        "matchedCount": result.matched as i64,
        "modifiedCount": result.modified as i64,
        "deletedCount": result.deleted as i64,
        "upsertedCount": upserted.len() as i64,
        "upsertedIds": upserted,
        "insertedIds": inserted,
    })
}

fn told(error: Error) -> String {
    error.to_string()
}
