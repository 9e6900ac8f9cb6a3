//! The operations of databases and collections, as the commands that a driver makes of them.

use bson::oid::ObjectId;
use bson::{Bson, Document, doc};
use odm::{Db, Error};

use super::documents;

/// What came of an operation: its result, and the error that ended it, if one did.
pub type Outcome = Result<Option<Bson>, Failure>;

/// An error, with what had been done before it.
#[derive(Debug)]
pub struct Failure {
    /// The error as the backend gave it; `None` for one inside of a reply.
    pub error: Option<Error>,
    /// The server's code.
    pub code: Option<i32>,
    /// What it says of itself.
    pub details: Document,
    /// What was done before.
    pub partial: Option<Bson>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure {
            code: error.code(),
            error: Some(error),
            details: Document::new(),
            partial: None,
        }
    }
}

/// The command `name` on `target` with the arguments that are its fields as they are; those in `taken` are not.
fn command(name: &str, target: impl Into<Bson>, arguments: &Document, taken: &[&str]) -> Document {
    let mut command = doc! { name: target.into() };
    for (field, value) in arguments {
        // No driver sends `rawData` to a server before 8.2.
        if field != "rawData" && field != "session" && !taken.contains(&field.as_str()) {
            command.insert(field, value.clone());
        }
    }
    command
}

/// Runs an operation of a database.
///
/// # Errors
/// Those of the operation.
///
/// # Panics
/// For an operation that is not known here.
pub async fn on_database(db: &Db, name: &str, arguments: &Document) -> Outcome {
    let collection = arguments.get_str("collection").unwrap_or_default();
    let reply = match name {
        "aggregate" => return aggregate(db, Bson::Int32(1), arguments).await,
        "createCollection" => {
            db.run_command(command("create", collection, arguments, &["collection"]))
                .await
        }
        "modifyCollection" => {
            db.run_command(command("collMod", collection, arguments, &["collection"]))
                .await
        }
        "dropCollection" => {
            let dropped = db
                .run_command(command("drop", collection, arguments, &["collection"]))
                .await;
            match dropped {
                Err(error) if error.code() == Some(26) => Ok(Document::new()),
                other => other,
            }
        }
        "listCollections" => {
            let list = command("listCollections", 1, arguments, &[]);
            return Ok(Some(all(db, list, "$cmd.listCollections").await?.into()));
        }
        "runCommand" => {
            let command = arguments.get_document("command").cloned().unwrap_or_default();
            return Ok(Some(db.run_command(command).await?.into()));
        }
        other => panic!("the runner does not know {other}"),
    };
    reply.map(|_| None).map_err(Failure::from)
}

/// Runs an operation of a collection.
///
/// # Errors
/// Those of the operation.
///
/// # Panics
/// For an operation that is not known here.
pub async fn on_collection(db: &Db, collection: &str, name: &str, arguments: &Document) -> Outcome {
    let part = |name: &str| arguments.get_document(name).cloned().unwrap_or_default();
    let reply = match name {
        "find" | "findOne" => {
            let mut find = command("find", collection, arguments, &[]);
            if name == "findOne" {
                find.extend(doc! { "limit": 1, "singleBatch": true });
            }
            let mut found = all(db, find, collection).await?;
            return Ok(Some(match name {
                "findOne" if found.is_empty() => Bson::Null,
                "findOne" => found.swap_remove(0),
                _ => found.into(),
            }));
        }
        "aggregate" => return aggregate(db, collection.into(), arguments).await,
        "countDocuments" => {
            let mut pipeline = vec![doc! { "$match": part("filter") }];
            for (name, stage) in [("skip", "$skip"), ("limit", "$limit")] {
                if let Some(number) = arguments.get(name) {
                    pipeline.push(doc! { stage: number.clone() });
                }
            }
            pipeline.push(doc! { "$group": { "_id": 1, "n": { "$sum": 1 } } });
            let mut count = command("aggregate", collection, arguments, &["filter", "skip", "limit"]);
            count.extend(doc! { "pipeline": pipeline, "cursor": {} });
            let found = all(db, count, collection).await?;
            let n = found.first().and_then(|one| one.as_document()?.get("n").cloned());
            return Ok(Some(n.unwrap_or(Bson::Int32(0))));
        }
        "count" | "estimatedDocumentCount" => {
            let mut count = command("count", collection, arguments, &["filter"]);
            count.insert("query", part("filter"));
            db.run_command(count).await?.get("n").cloned()
        }
        "distinct" => {
            let mut distinct = command("distinct", collection, arguments, &["filter", "fieldName"]);
            let field = arguments.get_str("fieldName").unwrap_or_default();
            distinct.extend(doc! { "key": field, "query": part("filter") });
            db.run_command(distinct).await?.get("values").cloned()
        }
        "findOneAndDelete" | "findOneAndUpdate" | "findOneAndReplace" => {
            let taken = ["filter", "projection", "returnDocument", "replacement", "update"];
            let mut change = command("findAndModify", collection, arguments, &taken);
            change.insert("query", part("filter"));
            if let Some(fields) = arguments.get("projection") {
                change.insert("fields", fields.clone());
            }
            match arguments.get("update").or(arguments.get("replacement")) {
                Some(update) => {
                    change.insert("update", update.clone());
                    change.insert("new", arguments.get_str("returnDocument").ok() == Some("After"));
                }
                None => {
                    change.insert("remove", true);
                }
            }
            db.run_command(change).await?.get("value").cloned()
        }
        "insertOne" | "insertMany" | "updateOne" | "updateMany" | "replaceOne" | "deleteOne"
        | "deleteMany" => return write(db, collection, name, arguments).await,
        "bulkWrite" => return bulk_write(db, collection, arguments).await,
        "createIndex" => {
            let index_options = ["keys", "name", "unique"];
            let mut create = command("createIndexes", collection, arguments, &index_options);
            let keys = part("keys");
            let name = keys.iter().map(|(field, order)| format!("{field}_{order}"));
            let name = name.collect::<Vec<_>>().join("_");
            let mut index = doc! { "key": keys, "name": arguments.get_str("name").unwrap_or(&name) };
            if let Some(unique) = arguments.get("unique") {
                index.insert("unique", unique.clone());
            }
            create.insert("indexes", [index]);
            db.run_command(create).await?;
            None
        }
        "dropIndex" => {
            let mut drop = command("dropIndexes", collection, arguments, &["name"]);
            drop.insert("index", arguments.get_str("name").unwrap_or_default());
            db.run_command(drop).await?;
            None
        }
        "listIndexes" => {
            let list = command("listIndexes", collection, arguments, &[]);
            return Ok(Some(all(db, list, collection).await?.into()));
        }
        other => panic!("the runner does not know {other}"),
    };
    Ok(reply)
}

async fn aggregate(db: &Db, target: Bson, arguments: &Document) -> Outcome {
    let collection = target.as_str().unwrap_or("$cmd.aggregate").to_owned();
    let mut aggregate = command("aggregate", target, arguments, &["batchSize"]);
    let mut cursor = Document::new();
    if let Some(size) = arguments.get("batchSize") {
        // What writes has no batches.
        let stages = documents(arguments, "pipeline");
        let writes = |stage: &Document| stage.contains_key("$out") || stage.contains_key("$merge");
        if !stages.last().is_some_and(writes) {
            cursor.insert("batchSize", size.clone());
        }
    }
    aggregate.insert("cursor", cursor);
    Ok(Some(all(db, aggregate, &collection).await?.into()))
}

/// Every document of a command's cursor.
async fn all(db: &Db, command: Document, collection: &str) -> Result<Vec<Bson>, Failure> {
    let mut reply = db.run_command(command).await?;
    let mut found = Vec::new();
    loop {
        let cursor = reply.get_document("cursor").cloned().unwrap_or_default();
        for name in ["firstBatch", "nextBatch"] {
            found.extend(cursor.get_array(name).cloned().unwrap_or_default());
        }
        match cursor.get_i64("id") {
            Ok(id) if id != 0 => {
                let more = doc! { "getMore": id, "collection": collection };
                reply = db.run_command(more).await?;
            }
            _ => return Ok(found),
        }
    }
}

/// What a write says of itself, beside its statement.
const SHARED: &[&str] = &["bypassDocumentValidation", "comment", "let", "ordered"];

/// A write of one statement, or of many documents.
async fn write(db: &Db, collection: &str, name: &str, arguments: &Document) -> Outcome {
    let shared: Document = arguments
        .iter()
        .filter(|(name, _)| SHARED.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut totals = Totals::default();
    let done = match name {
        "insertMany" => {
            let mut failure = None;
            let requests = documents(arguments, "documents");
            let ordered = arguments.get_bool("ordered").unwrap_or(true);
            for (index, document) in requests.into_iter().enumerate() {
                let request = doc! { "document": document };
                if let Err(error) = totals
                    .run(db, collection, "insertOne", &request, &shared, index)
                    .await
                {
                    failure.get_or_insert(error);
                    if ordered {
                        break;
                    }
                }
            }
            failure.map_or(Ok(()), Err)
        }
        _ => totals.run(db, collection, name, arguments, &shared, 0).await,
    };
    let result = totals.of(name);
    match done {
        Ok(()) => Ok(Some(result)),
        Err(failure) => Err(Failure {
            partial: Some(totals.of("bulkWrite")),
            ..failure
        }),
    }
}

async fn bulk_write(db: &Db, collection: &str, arguments: &Document) -> Outcome {
    let shared = command("x", 1, arguments, &["requests", "ordered"]);
    let shared: Document = shared.into_iter().filter(|(name, _)| name != "x").collect();
    let ordered = arguments.get_bool("ordered").unwrap_or(true);
    let mut totals = Totals::default();
    let mut failure: Option<Failure> = None;
    for (index, request) in documents(arguments, "requests").into_iter().enumerate() {
        for (name, own) in &request {
            let own = own.as_document().cloned().unwrap_or_default();
            if let Err(error) = totals.run(db, collection, name, &own, &shared, index).await {
                failure.get_or_insert(error);
            }
        }
        if failure.is_some() && ordered {
            break;
        }
    }
    match failure {
        None => Ok(Some(totals.of("bulkWrite"))),
        Some(failure) => Err(Failure {
            partial: Some(totals.of("bulkWrite")),
            ..failure
        }),
    }
}

/// What writes did, added up.
#[derive(Debug, Default)]
struct Totals {
    inserted: i64,
    matched: i64,
    modified: i64,
    deleted: i64,
    inserted_ids: Document,
    upserted_ids: Document,
}

impl Totals {
    /// Runs one statement as a command of its own.
    async fn run(
        &mut self,
        db: &Db,
        collection: &str,
        name: &str,
        request: &Document,
        shared: &Document,
        index: usize,
    ) -> Result<(), Failure> {
        let mut statement = Document::new();
        let mut id = Bson::Null;
        let (verb, list) = match name {
            "insertOne" => {
                let document = request.get_document("document").cloned().unwrap_or_default();
                id = document
                    .get("_id")
                    .cloned()
                    .unwrap_or_else(|| ObjectId::new().into());
                statement.insert("_id", id.clone());
                statement.extend(document);
                ("insert", "documents")
            }
            "deleteOne" | "deleteMany" => {
                statement.insert("q", request.get_document("filter").cloned().unwrap_or_default());
                statement.insert("limit", i32::from(name == "deleteOne"));
                ("delete", "deletes")
            }
            "updateOne" | "updateMany" | "replaceOne" => {
                statement.insert("q", request.get_document("filter").cloned().unwrap_or_default());
                if let Some(change) = request.get("update").or(request.get("replacement")) {
                    statement.insert("u", change.clone());
                }
                statement.insert("multi", name == "updateMany");
                ("update", "updates")
            }
            other => panic!("the runner does not know {other}"),
        };
        if verb != "insert" {
            for (name, value) in request {
                let taken = ["filter", "update", "replacement", "rawData"];
                if !SHARED.contains(&name.as_str()) && !taken.contains(&name.as_str()) {
                    statement.insert(name, value.clone());
                }
            }
        }
        let mut command = doc! { verb: collection, list: [statement] };
        // Inserts have no variables.
        let shared = shared
            .iter()
            .filter(|(name, _)| verb != "insert" || *name != "let");
        command.extend(shared.map(|(name, value)| (name.clone(), value.clone())));
        let reply = db.run_command(command).await?;
        let n = i64::from(reply.get_i32("n").unwrap_or_default());
        match verb {
            "insert" => {
                self.inserted += n;
                if n > 0 {
                    self.inserted_ids.insert(index.to_string(), id);
                }
            }
            "delete" => self.deleted += n,
            _ => {
                let upserted = documents(&reply, "upserted");
                self.matched += n - upserted.len() as i64;
                self.modified += i64::from(reply.get_i32("nModified").unwrap_or_default());
                for one in upserted {
                    let id = one.get("_id").cloned().unwrap_or(Bson::Null);
                    self.upserted_ids.insert(index.to_string(), id);
                }
            }
        }
        match documents(&reply, "writeErrors").into_iter().next() {
            None => Ok(()),
            Some(details) => Err(Failure {
                error: None,
                code: details.get_i32("code").ok(),
                details,
                partial: None,
            }),
        }
    }

    /// The result as the specification has it.
    fn of(&self, name: &str) -> Bson {
        let first = |ids: &Document| ids.values().next().cloned();
        Bson::from(match name {
            "insertOne" => doc! { "insertedId": first(&self.inserted_ids).unwrap_or(Bson::Null) },
            "insertMany" => doc! {
                "insertedIds": self.inserted_ids.clone(),
                "insertedCount": self.inserted,
            },
            "deleteOne" | "deleteMany" => doc! { "deletedCount": self.deleted },
            "bulkWrite" => doc! {
                "insertedCount": self.inserted,
                "matchedCount": self.matched,
                "modifiedCount": self.modified,
                "deletedCount": self.deleted,
                "upsertedCount": self.upserted_ids.len() as i64,
                "upsertedIds": self.upserted_ids.clone(),
                "insertedIds": self.inserted_ids.clone(),
            },
            _ => {
                let mut result = doc! {
                    "matchedCount": self.matched,
                    "modifiedCount": self.modified,
                    "upsertedCount": self.upserted_ids.len() as i64,
                };
                if let Some(id) = first(&self.upserted_ids) {
                    result.insert("upsertedId", id);
                }
                result
            }
        })
    }
}
