//! Runs one case: its entities, its operations, and what is there in the end.

use std::collections::BTreeMap;
use std::time::Duration;

use bson::{Bson, Document, doc};
use odm::backend::{ReadConcern, ReadPreference, TransactionOptions, WriteConcern};
use odm::{Db, Error, Tx};
use odm_tests::harness::{self, Target};
use odm_tests::spec::actions::{on_collection, on_database};
use odm_tests::spec::{documents, matches};

/// One case under way.
pub(super) struct Runner {
    target: Target,
    db: Db,
    places: BTreeMap<String, Place>,
    sessions: BTreeMap<String, Session>,
}

impl Runner {
    pub(super) async fn run(target: Target, db: &Db, file: &Document, case: &Document) -> Result<(), String> {
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

/// How `odm` says what a driver's client says of its session.
fn ours(text: &str) -> &str {
    match text {
        "transaction already in progress" => "cannot be started inside a transaction",
        "Cannot call commitTransaction after calling abortTransaction" => "the transaction was aborted",
        other => other,
    }
}

fn told(error: Error) -> String {
    error.to_string()
}
