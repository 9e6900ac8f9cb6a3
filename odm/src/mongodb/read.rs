//! Reads: find, aggregate, count, distinct, explain, and the command door.

use ::mongodb::Collection;
use ::mongodb::options::{AggregateOptions, CursorType, FindOptions};
use bson::{Document, RawBson, RawDocumentBuf, doc, rawdoc};
use futures_core::future::BoxFuture;

use super::cursor::MongoCursor;
use super::{
    Attempt, MongoBackend, SharedSession, command, cursors, document, in_transaction, limit, session,
};
use crate::backend::{
    Aggregate, Backend, Count, Distinct, Explain, Find, Namespace, ReadConcern, ReadOptions, Response,
    RunCommand, Tail,
};
use crate::error::{Error, ErrorKind};

/// Runs an action, which is of another type for each verb, to a cursor of raw batches.
macro_rules! opened {
    ($action:ident, $session:expr, $namespace:expr) => {
        match $session {
            None => MongoCursor::plain($action.batch().await?, $namespace).await?,
            Some(shared) => {
                let mut session = shared.enter().await?;
                let cursor = $action.session(&mut *session).batch().await?;
                MongoCursor::of_session(cursor, shared, &mut session, $namespace).await?
            }
        }
    };
}

/// Runs a find with the driver's cursor of raw batches.
pub(super) async fn find(
    backend: &MongoBackend,
    find: Find,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let collection = backend.collection(&find.namespace);
    let mut options = FindOptions::default();
    options.sort = document::decode_optional(find.sort.as_ref())?;
    options.projection = document::decode_optional(find.projection.as_ref())?;
    options.cursor_type = find.tail.map(|tail| match tail {
        Tail::Poll => CursorType::Tailable,
        Tail::Await => CursorType::TailableAwait,
    });
    options.skip = limit::count(find.skip);
    options.limit = match find.limit {
        // A negative limit is a single batch, as the driver's own `find_one` asks: no cursor is kept for it.
        1 => Some(-1),
        other => limit::count(other).map(u64::cast_signed),
    };
    options.batch_size = limit::batch(find.batch_size);
    options.hint = document::hint(find.options.hint.as_ref())?;
    options.comment = find.options.comment.map(Into::into);
    options.max_time = limit::time(find.options.max_time);
    options.collation = document::collation(find.options.collation.as_ref())?;
    options.let_vars = document::decode_optional(find.options.variables.as_ref())?;
    let filter: Document = document::decode(&find.filter)?;
    if find.tail.is_some() && !in_transaction(session) {
        // It waits for documents: in the session itself all else would wait with it.
        let own = match session {
            None => None,
            Some(session) => Some(session::behind(&backend.client, session).await?),
        };
        return tail(collection, filter, options, find.namespace, own).await;
    }
    let action = collection.find(filter).with_options(options);
    let cursor = opened!(action, session, find.namespace);
    Ok(Response::Cursor(Box::new(cursor)))
}

/// Opens a tailable cursor that goes on. A future of its own: it would make that of every other find larger.
///
/// The server ends the cursor of an empty collection at once. But it looks whether the collection is empty after it has
/// read it: a first document that is inserted in between leaves a cursor that is open, and stays at its end for ever. So
/// a cursor without documents is kept only if the collection had some before it was opened: two more round trips, and
/// only where there is nothing to read yet.
fn tail(
    collection: Collection<RawDocumentBuf>,
    filter: Document,
    options: FindOptions,
    namespace: Namespace,
    session: Option<SharedSession>,
) -> BoxFuture<'static, Attempt<Response>> {
    Box::pin(async move {
        let open = async || -> Attempt<MongoCursor> {
            let action = collection.find(filter.clone()).with_options(options.clone());
            Ok(opened!(action, &session, namespace.clone()))
        };
        let mut cursor = open().await?;
        if cursor.waits_at_once() {
            let any = collection.find_one(Document::new()).projection(doc! { "_id": 1 });
            let any = match &session {
                None => any.await?,
                Some(shared) => any.session(&mut *shared.enter().await?).await?,
            };
            cursor = match any {
                Some(_) => open().await?,
                None => cursor.ended(),
            };
        }
        Ok(Response::Cursor(Box::new(cursor)))
    })
}

/// Runs a pipeline with the driver's cursor of raw batches.
pub(super) async fn aggregate(
    backend: &MongoBackend,
    aggregate: Aggregate,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let collection = backend.collection(&aggregate.namespace);
    let mut options = aggregate_options(&aggregate.options)?;
    options.batch_size = limit::batch(aggregate.batch_size);
    options.allow_disk_use = aggregate.allow_disk_use.then_some(true);
    let action = collection
        .aggregate(document::decode_all(&aggregate.pipeline)?)
        .with_options(options);
    let cursor = opened!(action, session, aggregate.namespace);
    Ok(Response::Cursor(Box::new(cursor)))
}

fn aggregate_options(own: &ReadOptions) -> Attempt<AggregateOptions> {
    let mut options = AggregateOptions::default();
    options.hint = document::hint(own.hint.as_ref())?;
    options.comment = own.comment.clone().map(Into::into);
    options.max_time = limit::time(own.max_time);
    options.collation = document::collation(own.collation.as_ref())?;
    options.let_vars = document::decode_optional(own.variables.as_ref())?;
    Ok(options)
}

/// Counts: exactly by an aggregation, or from the collection's metadata.
pub(super) async fn count(
    backend: &MongoBackend,
    count: Count,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let collection = backend.collection(&count.namespace);
    // Nobody estimates of a moment.
    let is_of_a_moment = backend.concerns().read_concern == Some(ReadConcern::Snapshot);
    if count.estimated && !in_transaction(session) && !is_of_a_moment {
        let mut options = ::mongodb::options::EstimatedDocumentCountOptions::default();
        options.max_time = limit::time(count.options.max_time);
        options.comment = count.options.comment.map(Into::into);
        return Ok(Response::Count(
            collection
                .estimated_document_count()
                .with_options(options)
                .await?,
        ));
    }
    if count.options.variables.is_some() {
        return count_with_variables(backend, count, session).await;
    }
    let mut options = ::mongodb::options::CountOptions::default();
    options.skip = limit::count(count.skip);
    options.limit = limit::count(count.limit);
    options.hint = document::hint(count.options.hint.as_ref())?;
    options.comment = count.options.comment.map(Into::into);
    options.max_time = limit::time(count.options.max_time);
    options.collation = document::collation(count.options.collation.as_ref())?;
    let action = collection
        .count_documents(document::decode(&count.filter)?)
        .with_options(options);
    let total = match session {
        None => action.await?,
        Some(shared) => {
            let mut session = shared.enter().await?;
            action.session(&mut *session).await?
        }
    };
    Ok(Response::Count(total))
}

/// The pipeline that counts: what the driver counts by, which gives no variables.
pub(super) fn counting(count: &Count) -> Vec<RawDocumentBuf> {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let mut stages = vec![rawdoc! { "$match": count.filter.clone() }];
    if count.skip > 0 {
        stages.push(rawdoc! { "$skip": number(count.skip) });
    }
    if count.limit > 0 {
        stages.push(rawdoc! { "$limit": number(count.limit) });
    }
    stages.push(rawdoc! { "$group": { "_id": 1, "n": { "$sum": 1_i64 } } });
    stages
}

/// Counts with variables: by an aggregation of our own. A future of its own: it would make that of every other count
/// larger.
fn count_with_variables<'a>(
    backend: &'a MongoBackend,
    count: Count,
    session: Option<&'a SharedSession>,
) -> BoxFuture<'a, Attempt<Response>> {
    Box::pin(async move {
        let options = aggregate_options(&count.options)?;
        let collection = backend.collection(&count.namespace);
        let action = collection
            .aggregate(document::decode_all(&counting(&count))?)
            .with_options(options);
        // Nothing comes where nothing is found.
        let total = match session {
            None => {
                let mut cursor = action.await?;
                match cursor.advance().await? {
                    true => cursor.current().get_i64("n"),
                    false => Ok(0),
                }
            }
            Some(shared) => {
                let mut session = shared.enter().await?;
                let mut cursor = action.session(&mut *session).await?;
                match cursor.advance(&mut session).await? {
                    true => cursor.current().get_i64("n"),
                    false => Ok(0),
                }
            }
        };
        let total = total.map(i64::cast_unsigned).map_err(|error| {
            Error::new(ErrorKind::Decode, "the server's count is no number").with_source(error)
        })?;
        Ok(Response::Count(total))
    })
}

/// The distinct values of a path.
pub(super) async fn distinct(
    backend: &MongoBackend,
    distinct: Distinct,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let collection = backend.collection(&distinct.namespace);
    let mut options = ::mongodb::options::DistinctOptions::default();
    options.max_time = limit::time(distinct.options.max_time);
    options.comment = distinct.options.comment.map(Into::into);
    options.collation = document::collation(distinct.options.collation.as_ref())?;
    options.hint = document::hint(distinct.options.hint.as_ref())?;
    let action = collection
        .distinct(&distinct.key, document::decode(&distinct.filter)?)
        .with_options(options);
    let values = match session {
        None => action.await?,
        Some(shared) => {
            let mut session = shared.enter().await?;
            action.session(&mut *session).await?
        }
    };
    let values: Result<Vec<RawBson>, _> = values.into_iter().map(RawBson::try_from).collect();
    let values = values.map_err(|e| Error::new(ErrorKind::Server, "malformed reply").with_source(e))?;
    Ok(Response::Values(values))
}

/// The server's plan.
pub(super) async fn explain(
    backend: &MongoBackend,
    explain: Explain,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let inner = command::explainable(&explain.operation)?;
    let database = match explain.operation.namespace() {
        Some(namespace) => namespace.database.clone(),
        None => {
            return Err(Error::new(ErrorKind::Unsupported, "this operation has no plan to explain").into());
        }
    };
    let verbosity = if explain.execute {
        "executionStats"
    } else {
        "queryPlanner"
    };
    let reply = backend
        .command(
            &database,
            rawdoc! { "explain": inner, "verbosity": verbosity },
            session,
        )
        .await?;
    Ok(Response::Document(Some(raw(&reply)?)))
}

/// Any command; the reply as it is. The driver neither retries it nor adds a concern.
pub(super) async fn run_command(
    backend: &MongoBackend,
    run: RunCommand,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    crate::codec::check_depth(run.command.as_bytes())?;
    let own = match session {
        Some(_) => None,
        None => backend.cursors.of(&run.command, &backend.client).await?,
    };
    let asked = cursors::asked(&run.command);
    let reply = backend
        .command(&run.database, run.command, session.or(own.as_ref()))
        .await?;
    if let Some(own) = own {
        backend.cursors.keep(asked, &reply, own);
    }
    Ok(Response::Document(Some(raw(&reply)?)))
}

/// A reply as raw bytes.
pub(super) fn raw(reply: &bson::Document) -> Attempt<RawDocumentBuf> {
    RawDocumentBuf::try_from(reply).map_err(|e| {
        Error::new(ErrorKind::Server, "malformed reply")
            .with_source(e)
            .into()
    })
}
