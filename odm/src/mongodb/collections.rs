//! Collections and indexes.

use bson::raw::{CString, cstr};
use bson::{Document, RawBson, RawDocumentBuf, doc, rawdoc};

use super::{Attempt, Failure, MongoBackend, SharedSession, document, read};
use crate::backend::{
    CreateCollection, CreateIndexes, DropCollection, DropDatabase, DropIndexes, ListCollections, ListIndexes,
    ModifyCollection, Namespace, RenameCollection, Response,
};

/// The server's code for a collection that does not exist.
const NAMESPACE_NOT_FOUND: i32 = 26;

pub(super) async fn create_indexes(
    backend: &MongoBackend,
    create: CreateIndexes,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let indexes: bson::RawArrayBuf = create.indexes.iter().map(|index| index.0.as_ref()).collect();
    let command = rawdoc! { "createIndexes": create.namespace.collection.as_str(), "indexes": indexes };
    backend
        .change(&create.namespace.database, command, session)
        .await?;
    Ok(Response::Done)
}

pub(super) async fn drop_indexes(
    backend: &MongoBackend,
    drop: DropIndexes,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let mut command = rawdoc! { "dropIndexes": drop.namespace.collection.as_str() };
    command.append(cstr!("index"), drop.index);
    backend.change(&drop.namespace.database, command, session).await?;
    Ok(Response::Done)
}

pub(super) async fn list_indexes(
    backend: &MongoBackend,
    list: ListIndexes,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    // One batch holds every index a collection can have.
    let command =
        rawdoc! { "listIndexes": list.namespace.collection.as_str(), "cursor": { "batchSize": 1000 } };
    match backend.command(&list.namespace.database, command, session).await {
        Ok(reply) => Ok(Response::Documents(first_batch(&reply)?)),
        Err(failure) if code(&failure) == Some(NAMESPACE_NOT_FOUND) => Ok(Response::Documents(Vec::new())),
        Err(failure) => Err(failure),
    }
}

/// The specifications of a collection's indexes; none where they cannot be had.
pub(super) async fn indexes_of(backend: &MongoBackend, namespace: &Namespace) -> Vec<Document> {
    let command = rawdoc! { "listIndexes": namespace.collection.as_str(), "cursor": { "batchSize": 1000 } };
    let reply = backend.command(&namespace.database, command, None).await;
    let documents = reply.ok().and_then(|reply| {
        let batch = reply
            .get_document("cursor")
            .and_then(|cursor| cursor.get_array("firstBatch"))
            .ok()?;
        Some(
            batch
                .iter()
                .filter_map(|index| index.as_document().cloned())
                .collect(),
        )
    });
    documents.unwrap_or_default()
}

pub(super) async fn create(
    backend: &MongoBackend,
    create: CreateCollection,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let command = rawdoc! { "create": create.namespace.collection.as_str() };
    let command = with_fields(command, &create.options)?;
    backend
        .change(&create.namespace.database, command, session)
        .await?;
    Ok(Response::Done)
}

pub(super) async fn modify(
    backend: &MongoBackend,
    modify: ModifyCollection,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let command = rawdoc! { "collMod": modify.namespace.collection.as_str() };
    let command = with_fields(command, &modify.changes)?;
    let reply = backend
        .change(&modify.namespace.database, command, session)
        .await?;
    Ok(Response::Document(Some(read::raw(&reply)?)))
}

pub(super) async fn rename(
    backend: &MongoBackend,
    rename: RenameCollection,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let command = rawdoc! {
        "renameCollection": rename.namespace.to_string(),
        "to": rename.to.to_string(),
        "dropTarget": rename.drop_target,
    };
    backend.change("admin", command, session).await?;
    Ok(Response::Done)
}

/// The command with more fields behind its own.
fn with_fields(mut command: RawDocumentBuf, fields: &RawDocumentBuf) -> Attempt<RawDocumentBuf> {
    for (name, value) in document::decode(fields)? {
        let name = CString::try_from(name).map_err(malformed)?;
        command.append(name, RawBson::try_from(value).map_err(malformed)?);
    }
    Ok(command)
}

pub(super) async fn drop(
    backend: &MongoBackend,
    drop: DropCollection,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let command = rawdoc! { "drop": drop.namespace.collection.as_str() };
    match backend.change(&drop.namespace.database, command, session).await {
        Err(failure) if code(&failure) == Some(NAMESPACE_NOT_FOUND) => Ok(Response::Done),
        Err(failure) => Err(failure),
        Ok(_) => Ok(Response::Done),
    }
}

/// Lists collections; a database may have more than one batch of them.
pub(super) async fn list(
    backend: &MongoBackend,
    list: ListCollections,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    // The rest of a list is had from the session that began it.
    let own = match session {
        Some(_) => None,
        None => {
            let own = backend.client.start_session().causal_consistency(false).await?;
            Some(SharedSession::of(own))
        }
    };
    let session = session.or(own.as_ref());
    let command = rawdoc! { "listCollections": 1, "filter": list.filter, "cursor": { "batchSize": 1000 } };
    let reply = backend.command(&list.database, command, session).await?;
    let mut found = first_batch(&reply)?;
    let mut cursor = reply
        .get_document("cursor")
        .and_then(|c| c.get_i64("id"))
        .unwrap_or(0);
    while cursor != 0 {
        let more = rawdoc! { "getMore": cursor, "collection": "$cmd.listCollections", "batchSize": 1000 };
        let reply = backend.command(&list.database, more, session).await?;
        found.extend(batch(&reply, "nextBatch")?);
        cursor = reply
            .get_document("cursor")
            .and_then(|c| c.get_i64("id"))
            .unwrap_or(0);
    }
    Ok(Response::Documents(found))
}

pub(super) async fn drop_database(
    backend: &MongoBackend,
    drop: DropDatabase,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    backend
        .change(&drop.database, rawdoc! { "dropDatabase": 1 }, session)
        .await?;
    Ok(Response::Done)
}

fn first_batch(reply: &Document) -> Attempt<Vec<RawDocumentBuf>> {
    batch(reply, "firstBatch")
}

fn batch(reply: &Document, name: &str) -> Attempt<Vec<RawDocumentBuf>> {
    let empty = doc! {};
    let cursor = reply.get_document("cursor").unwrap_or(&empty);
    let documents = cursor.get_array(name).map(Vec::as_slice).unwrap_or_default();
    documents
        .iter()
        .filter_map(|value| value.as_document())
        .map(read::raw)
        .collect()
}

fn code(failure: &Failure) -> Option<i32> {
    match failure {
        Failure::Driver(error) => match error.kind.as_ref() {
            ::mongodb::error::ErrorKind::Command(command) => Some(command.code),
            _ => None,
        },
        Failure::Own(error) => error.code(),
    }
}

fn malformed(error: bson::error::Error) -> Failure {
    crate::error::Error::new(
        crate::error::ErrorKind::InvalidArgument,
        "malformed collection options",
    )
    .with_source(error)
    .into()
}
