//! Deletions.

use bson::Bson;

use super::super::{Attempt, MongoBackend, SharedSession, command, document};
use super::batch::{Batch, Kind, Parts, failed};
use super::{size, statement_failed};
use crate::backend::{Delete, DeleteStatement, Namespace, ReadOptions, Response, WriteResult};

/// Deletes by one or several statements.
pub(in crate::mongodb) async fn delete(
    backend: &MongoBackend,
    delete: Delete,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    if let ([statement], None) = (delete.statements.as_slice(), delete.options.max_time)
        && document::is_kept(&statement.filter)
    {
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
    let mut parts = Parts::new(statements.len(), delete.ordered, session);
    batch
        .run(backend, Kind::Delete, &statements, session, &mut parts)
        .await?;
    Ok(Response::Write(parts.into_result()))
}

pub(super) async fn delete_single(
    backend: &MongoBackend,
    namespace: &Namespace,
    statement: &DeleteStatement,
    shared: &ReadOptions,
    session: Option<&SharedSession>,
) -> Attempt<WriteResult> {
    if let Some(error) = size::refused(size::of_delete(statement)) {
        return Ok(failed(error));
    }
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
        Some(session) => action.session(&mut *session.enter().await?).await,
    };
    match outcome {
        Ok(done) => {
            let mut result = WriteResult::default();
            result.summary.deleted = done.deleted_count;
            Ok(result)
        }
        Err(failure) => statement_failed(failure, Kind::Delete),
    }
}
