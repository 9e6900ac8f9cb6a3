//! The operations of databases and collections, through the public API.

use super::documents;
use bson::{Bson, Document, doc};
use odm::{Collection, Db, Error};

/// Runs an operation of a database.
///
/// # Errors
/// Those of the operation.
///
/// # Panics
/// For an operation that is not known here.
pub async fn on_database(db: &Db, name: &str, arguments: &Document) -> Result<Option<Bson>, Error> {
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

/// Runs an operation of a collection.
///
/// # Errors
/// Those of the operation.
///
/// # Panics
/// For an operation that is not known here.
pub async fn on_collection(
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
