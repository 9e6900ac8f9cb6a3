//! Writes. A single statement goes through the driver's own method, so that it is a retryable write; a batch of
//! updates or deletes is one command, one round trip, and not retried by the driver.

use ::mongodb::error::ErrorKind as DriverKind;
use ::mongodb::options::UpdateModifications;
use bson::raw::cstr;
use bson::{Bson, Document, RawBson, RawDocumentBuf};

use super::{Attempt, Failure, MongoBackend, SharedSession, collections, command, document, error};
use crate::backend::{
    BulkWrite, Delete, DeleteStatement, FindAndModify, Insert, Modification, ReadOptions, Response, Update,
    UpdateStatement, WriteResult, WriteStatement,
};
use crate::error::{Error, ErrorKind};

/// How many statements one command may carry.
const MAX_BATCH: usize = 100_000;

/// How many bytes of statements one command carries; the server takes 48,000,000 in a message.
const MAX_BATCH_BYTES: usize = 40_000_000;

/// Inserts raw documents; the driver splits what is too large for one message.
pub(super) async fn insert(
    backend: &MongoBackend,
    insert: Insert,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let result = insert_all(
        backend,
        &insert.namespace,
        &insert.documents,
        insert.ordered,
        insert.comment,
        session,
    )
    .await?;
    Ok(Response::Write(result))
}

async fn insert_all(
    backend: &MongoBackend,
    namespace: &crate::backend::Namespace,
    documents: &[RawDocumentBuf],
    ordered: bool,
    comment: Option<String>,
    session: Option<&SharedSession>,
) -> Attempt<WriteResult> {
    let mut result = WriteResult::default();
    if documents.is_empty() {
        return Ok(result);
    }
    let collection = backend.collection(namespace);
    let mut options = ::mongodb::options::InsertManyOptions::default();
    options.ordered = Some(ordered);
    options.comment = comment.map(Into::into);
    let action = collection.insert_many(documents).with_options(options);
    let outcome = match session {
        None => action.await,
        Some(shared) => {
            let mut session = shared.lock().await;
            action.session(&mut *session).await
        }
    };
    match outcome {
        Ok(_) => result.summary.inserted = documents.len() as u64,
        Err(failure) => {
            let reply = failure.server_response().cloned();
            match failure.kind.as_ref() {
                DriverKind::InsertMany(many) if many.write_concern_error.is_none() => {
                    let errors = many.write_errors.as_deref().unwrap_or_default();
                    let mut indexes = None;
                    for one in errors {
                        let mut own = error::from_code(one.code, one.message.clone(), reply.as_ref());
                        if let Some(details) = &one.details {
                            own = own.with_details(details.clone());
                        }
                        if own.is_duplicate_key() && own.key_pattern().is_none() {
                            if indexes.is_none() {
                                indexes = Some(collections::indexes_of(backend, namespace).await);
                            }
                            own = with_key(
                                own,
                                indexes.as_deref().unwrap_or_default(),
                                documents.get(one.index),
                            );
                        }
                        result.errors.push((one.index, own));
                    }
                    result.summary.inserted = match errors.first() {
                        Some(first) if ordered => first.index as u64,
                        _ => (documents.len() - errors.len()) as u64,
                    };
                }
                _ => return Err(failure.into()),
            }
        }
    }
    Ok(result)
}

/// The driver keeps neither the key pattern nor the key of a refused insert: the pattern is looked up by the
/// index's name, the key in the document.
fn with_key(error: Error, indexes: &[Document], document: Option<&RawDocumentBuf>) -> Error {
    let pattern = indexes
        .iter()
        .find(|index| index.get_str("name").ok() == error.index())
        .and_then(|index| index.get_document("key").ok());
    let (Some(pattern), Some(document)) = (pattern, document) else {
        return error;
    };
    let Ok(document) = Document::try_from(document.as_ref()) else {
        return error;
    };
    let value = pattern
        .keys()
        .map(|path| (path.clone(), at(&document, path)))
        .collect();
    error.with_key(pattern.clone(), value)
}

/// The value at a dotted path; null where there is none.
fn at(document: &Document, path: &str) -> Bson {
    match path.split_once('.') {
        None => document.get(path).cloned().unwrap_or(Bson::Null),
        Some((first, rest)) => match document.get(first) {
            Some(Bson::Document(inner)) => at(inner, rest),
            _ => Bson::Null,
        },
    }
}

/// Updates by one or several statements.
pub(super) async fn update(
    backend: &MongoBackend,
    update: Update,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    if let ([statement], None) = (update.statements.as_slice(), update.options.max_time) {
        return Ok(Response::Write(
            update_single(backend, &update.namespace, statement, &update.options, session).await?,
        ));
    }
    let statements: Vec<_> = update.statements.iter().map(command::update_statement).collect();
    let batch = Batch {
        namespace: &update.namespace,
        ordered: update.ordered,
        options: &update.options,
    };
    Ok(Response::Write(
        batch.run(backend, Kind::Update, &statements, session).await?,
    ))
}

async fn update_single(
    backend: &MongoBackend,
    namespace: &crate::backend::Namespace,
    statement: &UpdateStatement,
    shared: &ReadOptions,
    session: Option<&SharedSession>,
) -> Attempt<WriteResult> {
    let collection = backend.collection(namespace);
    let filter = document::decode(&statement.filter)?;
    let hint = document::hint(statement.hint.as_ref())?;
    let collation = document::collation(statement.collation.as_ref())?;
    let variables = document::decode_optional(shared.variables.as_ref())?;
    let comment = shared.comment.clone().map(Bson::from);
    let outcome = match &statement.modification {
        Modification::Replacement(replacement) => {
            let mut options = ::mongodb::options::ReplaceOptions::default();
            options.upsert = statement.upsert.then_some(true);
            (options.hint, options.collation, options.let_vars, options.comment) =
                (hint, collation, variables, comment);
            let action = collection.replace_one(filter, replacement).with_options(options);
            match session {
                None => action.await,
                Some(session) => action.session(&mut *session.lock().await).await,
            }
        }
        Modification::Operators(_) | Modification::Pipeline(_) => {
            let mut options = ::mongodb::options::UpdateOptions::default();
            options.upsert = statement.upsert.then_some(true);
            options.array_filters = (!statement.array_filters.is_empty())
                .then_some(())
                .map(|()| document::decode_all(&statement.array_filters))
                .transpose()?;
            (options.hint, options.collation, options.let_vars, options.comment) =
                (hint, collation, variables, comment);
            let change = modifications(&statement.modification)?;
            let action = if statement.multi {
                collection.update_many(filter, change)
            } else {
                collection.update_one(filter, change)
            };
            let action = action.with_options(options);
            match session {
                None => action.await,
                Some(session) => action.session(&mut *session.lock().await).await,
            }
        }
    };
    let mut result = WriteResult::default();
    match outcome {
        Ok(done) => {
            result.summary.matched = done.matched_count;
            result.summary.modified = done.modified_count;
            if let Some(id) = done.upserted_id {
                result.summary.upserted = 1;
                result.upserted.push((0, raw_id(id)?));
            }
            Ok(result)
        }
        Err(failure) => statement_failed(failure, result),
    }
}

/// A write error of a single statement is a result, as in a batch; anything else fails the operation.
fn statement_failed(failure: ::mongodb::error::Error, mut result: WriteResult) -> Attempt<WriteResult> {
    match failure.kind.as_ref() {
        DriverKind::Write(::mongodb::error::WriteFailure::WriteError(write)) => {
            let reply = failure.server_response().cloned();
            if let Some(reply) = &reply {
                // An update of many that stops at an error keeps what it changed before.
                result.summary.modified = number(reply, "nModified");
                result.summary.matched = number(reply, "n");
            }
            let own = error::from_code(write.code, write.message.clone(), reply.as_ref());
            result.errors.push((0, own.with_source(failure)));
            Ok(result)
        }
        _ => Err(failure.into()),
    }
}

fn number(reply: &RawDocumentBuf, name: &str) -> u64 {
    reply
        .get_i32(name)
        .ok()
        .and_then(|n| u64::try_from(n).ok())
        .unwrap_or(0)
}

/// Deletes by one or several statements.
pub(super) async fn delete(
    backend: &MongoBackend,
    delete: Delete,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    if let ([statement], None) = (delete.statements.as_slice(), delete.options.max_time) {
        return Ok(Response::Write(
            delete_single(backend, &delete.namespace, statement, &delete.options, session).await?,
        ));
    }
    let statements: Vec<_> = delete.statements.iter().map(command::delete_statement).collect();
    let batch = Batch {
        namespace: &delete.namespace,
        ordered: delete.ordered,
        options: &delete.options,
    };
    Ok(Response::Write(
        batch.run(backend, Kind::Delete, &statements, session).await?,
    ))
}

async fn delete_single(
    backend: &MongoBackend,
    namespace: &crate::backend::Namespace,
    statement: &DeleteStatement,
    shared: &ReadOptions,
    session: Option<&SharedSession>,
) -> Attempt<WriteResult> {
    let collection = backend.collection(namespace);
    let filter = document::decode(&statement.filter)?;
    let mut options = ::mongodb::options::DeleteOptions::default();
    options.hint = document::hint(statement.hint.as_ref())?;
    options.collation = document::collation(statement.collation.as_ref())?;
    options.let_vars = document::decode_optional(shared.variables.as_ref())?;
    options.comment = shared.comment.clone().map(Bson::from);
    let action = if statement.multi {
        collection.delete_many(filter)
    } else {
        collection.delete_one(filter)
    };
    let action = action.with_options(options);
    let outcome = match session {
        None => action.await,
        Some(session) => action.session(&mut *session.lock().await).await,
    };
    let mut result = WriteResult::default();
    match outcome {
        Ok(done) => {
            result.summary.deleted = done.deleted_count;
            Ok(result)
        }
        Err(failure) => statement_failed(failure, result),
    }
}

/// Writes of several kinds: neighbours of one kind share a round trip, since their order among themselves is kept
/// by the server.
pub(super) async fn bulk(
    backend: &MongoBackend,
    bulk: BulkWrite,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let BulkWrite {
        namespace,
        statements,
        ordered,
        options,
    } = bulk;
    let mut total = WriteResult::default();
    let mut rest = statements.as_slice();
    let mut offset = 0;
    while let Some(first) = rest.first() {
        let length = rest
            .iter()
            .take_while(|s| std::mem::discriminant(*s) == std::mem::discriminant(first))
            .count();
        let (run, after) = rest.split_at(length);
        let outcome = match run {
            [WriteStatement::Update(one)] if options.max_time.is_none() => {
                update_single(backend, &namespace, one, &options, session).await
            }
            [WriteStatement::Delete(one)] if options.max_time.is_none() => {
                delete_single(backend, &namespace, one, &options, session).await
            }
            run => bulk_run(backend, &namespace, run, ordered, &options, session).await,
        };
        let part = outcome?;
        let failed = !part.errors.is_empty();
        absorb(&mut total, part, offset);
        if failed && ordered {
            break;
        }
        offset += length;
        rest = after;
    }
    Ok(Response::Write(total))
}

async fn bulk_run(
    backend: &MongoBackend,
    namespace: &crate::backend::Namespace,
    run: &[WriteStatement],
    ordered: bool,
    options: &ReadOptions,
    session: Option<&SharedSession>,
) -> Attempt<WriteResult> {
    let batch = Batch {
        namespace,
        ordered,
        options,
    };
    let mut documents = Vec::with_capacity(run.len());
    let mut kind = None;
    for statement in run {
        match statement {
            WriteStatement::Insert(document) => documents.push(document.clone()),
            WriteStatement::Update(update) => {
                kind = Some(Kind::Update);
                documents.push(command::update_statement(update));
            }
            WriteStatement::Delete(delete) => {
                kind = Some(Kind::Delete);
                documents.push(command::delete_statement(delete));
            }
        }
    }
    match kind {
        None => {
            insert_all(
                backend,
                namespace,
                &documents,
                ordered,
                options.comment.clone(),
                session,
            )
            .await
        }
        Some(kind) => batch.run(backend, kind, &documents, session).await,
    }
}

fn absorb(total: &mut WriteResult, part: WriteResult, offset: usize) {
    total.summary.inserted += part.summary.inserted;
    total.summary.matched += part.summary.matched;
    total.summary.modified += part.summary.modified;
    total.summary.upserted += part.summary.upserted;
    total.summary.deleted += part.summary.deleted;
    total
        .upserted
        .extend(part.upserted.into_iter().map(|(index, id)| (index + offset, id)));
    total.errors.extend(
        part.errors
            .into_iter()
            .map(|(index, error)| (index + offset, error)),
    );
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Update,
    Delete,
}

/// Statements of one kind, sent as few commands.
struct Batch<'a> {
    namespace: &'a crate::backend::Namespace,
    ordered: bool,
    options: &'a ReadOptions,
}

impl Batch<'_> {
    async fn run(
        &self,
        backend: &MongoBackend,
        kind: Kind,
        statements: &[RawDocumentBuf],
        session: Option<&SharedSession>,
    ) -> Attempt<WriteResult> {
        let mut total = WriteResult::default();
        let mut start = 0;
        while start < statements.len() {
            let mut bytes = 0;
            let fitting = statements[start..]
                .iter()
                .take(MAX_BATCH)
                .take_while(|statement| {
                    bytes += statement.as_bytes().len();
                    bytes <= MAX_BATCH_BYTES
                })
                .count();
            let end = start + fitting.max(1);
            let part = self.send(backend, kind, &statements[start..end], session).await?;
            let failed = !part.errors.is_empty();
            absorb(&mut total, part, start);
            if failed && self.ordered {
                break;
            }
            start = end;
        }
        Ok(total)
    }

    async fn send(
        &self,
        backend: &MongoBackend,
        kind: Kind,
        statements: &[RawDocumentBuf],
        session: Option<&SharedSession>,
    ) -> Attempt<WriteResult> {
        let (verb, list) = match kind {
            Kind::Update => (cstr!("update"), cstr!("updates")),
            Kind::Delete => (cstr!("delete"), cstr!("deletes")),
        };
        let mut message = command::batch(
            verb,
            list,
            &self.namespace.collection,
            statements,
            self.ordered,
            self.options,
        );
        // The driver adds the client's write concern to its own methods only; inside a transaction none is allowed.
        if session.is_none()
            && let Some(concern) = backend.client.write_concern()
            && let Ok(concern) = bson::serialize_to_raw_document_buf(concern)
            && !concern.is_empty()
        {
            message.append(cstr!("writeConcern"), concern);
        }
        let reply = backend
            .command(&self.namespace.database, message, session)
            .await?;
        parse_reply(&reply, kind)
    }
}

fn parse_reply(reply: &Document, kind: Kind) -> Attempt<WriteResult> {
    let count = |name: &str| -> u64 {
        match reply.get(name) {
            Some(Bson::Int32(n)) => u64::try_from(*n).unwrap_or(0),
            Some(Bson::Int64(n)) => u64::try_from(*n).unwrap_or(0),
            Some(Bson::Double(n)) => *n as u64,
            _ => 0,
        }
    };
    let mut result = WriteResult::default();
    for entry in documents(reply, "upserted") {
        let index = entry
            .get_i32("index")
            .ok()
            .and_then(|i| usize::try_from(i).ok())
            .unwrap_or(0);
        if let Some(id) = entry.get("_id") {
            result.upserted.push((index, raw_id(id.clone())?));
        }
    }
    match kind {
        Kind::Update => {
            result.summary.upserted = result.upserted.len() as u64;
            result.summary.matched = count("n").saturating_sub(result.summary.upserted);
            result.summary.modified = count("nModified");
        }
        Kind::Delete => result.summary.deleted = count("n"),
    }
    for entry in documents(reply, "writeErrors") {
        let index = entry
            .get_i32("index")
            .ok()
            .and_then(|i| usize::try_from(i).ok())
            .unwrap_or(0);
        let message = entry.get_str("errmsg").unwrap_or_default().to_owned();
        let code = entry.get_i32("code").unwrap_or_default();
        let whole = RawDocumentBuf::try_from(entry).ok();
        result
            .errors
            .push((index, error::from_code(code, message, whole.as_ref())));
    }
    if let Ok(concern) = reply.get_document("writeConcernError") {
        let message = concern.get_str("errmsg").unwrap_or_default();
        return Err(Failure::Own(
            Error::new(
                ErrorKind::InDoubt,
                format!("write concern was not satisfied: {message}"),
            )
            .with_code(concern.get_i32("code").unwrap_or_default()),
        ));
    }
    Ok(result)
}

fn documents<'a>(reply: &'a Document, name: &str) -> impl Iterator<Item = &'a Document> {
    reply
        .get_array(name)
        .ok()
        .into_iter()
        .flatten()
        .filter_map(Bson::as_document)
}

/// Changes or removes one document through the driver, so that it is a retryable write.
pub(super) async fn find_and_modify(
    backend: &MongoBackend,
    change: FindAndModify,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let collection = backend.collection(&change.namespace);
    let filter = document::decode(&change.filter)?;
    let sort = document::decode_optional(change.sort.as_ref())?;
    let projection = document::decode_optional(change.projection.as_ref())?;
    let hint = document::hint(change.options.hint.as_ref())?;
    let collation = document::collation(change.options.collation.as_ref())?;
    let variables = document::decode_optional(change.options.variables.as_ref())?;
    let comment = change.options.comment.clone().map(Bson::from);
    let max_time = change.options.max_time;
    let return_document = if change.return_new {
        ::mongodb::options::ReturnDocument::After
    } else {
        ::mongodb::options::ReturnDocument::Before
    };
    // The three actions have the same setters but no common trait.
    macro_rules! run {
        ($action:expr, $options:ident { $($name:ident = $value:expr),* }) => {{
            let mut options = ::mongodb::options::$options::default();
            options.sort = sort;
            options.projection = projection;
            options.hint = hint;
            options.collation = collation;
            options.let_vars = variables;
            options.comment = comment;
            options.max_time = max_time;
            $(options.$name = $value;)*
            let action = $action.with_options(options);
            match session {
                None => action.await?,
                Some(session) => action.session(&mut *session.lock().await).await?,
            }
        }};
    }
    let upsert = change.upsert.then_some(true);
    let found: Option<RawDocumentBuf> = match &change.modification {
        None => run!(collection.find_one_and_delete(filter), FindOneAndDeleteOptions {}),
        Some(Modification::Replacement(replacement)) => run!(
            collection.find_one_and_replace(filter, replacement),
            FindOneAndReplaceOptions { upsert = upsert, return_document = Some(return_document) }
        ),
        Some(other) => {
            let filters = match change.array_filters.as_slice() {
                [] => None,
                filters => Some(document::decode_all(filters)?),
            };
            run!(
                collection.find_one_and_update(filter, modifications(other)?),
                FindOneAndUpdateOptions {
                    upsert = upsert,
                    return_document = Some(return_document),
                    array_filters = filters
                }
            )
        }
    };
    Ok(Response::Document(found))
}

fn modifications(modification: &Modification) -> Attempt<UpdateModifications> {
    Ok(match modification {
        Modification::Operators(update) | Modification::Replacement(update) => {
            UpdateModifications::Document(document::decode(update)?)
        }
        Modification::Pipeline(stages) => UpdateModifications::Pipeline(document::decode_all(stages)?),
    })
}

fn raw_id(id: Bson) -> Attempt<RawBson> {
    RawBson::try_from(id).map_err(|e| {
        Error::new(ErrorKind::Server, "malformed reply")
            .with_source(e)
            .into()
    })
}
