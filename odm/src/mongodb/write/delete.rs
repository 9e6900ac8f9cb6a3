//! Deletions.

use bson::Bson;

use super::super::{Attempt, MongoBackend, SharedSession, command, document};
use super::batch::{Batch, Kind};
use super::statement_failed;
use crate::backend::{Delete, DeleteStatement, Namespace, ReadOptions, Response, WriteResult};

/// Deletes by one or several statements.
pub(in crate::mongodb) async fn delete(
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

pub(super) async fn delete_single(
    backend: &MongoBackend,
    namespace: &Namespace,
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
