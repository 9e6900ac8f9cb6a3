//! Updates.

use bson::Bson;

use super::super::{Attempt, MongoBackend, SharedSession, command, document};
use super::batch::{Batch, Kind, Parts, failed};
use super::{modifications, raw_id, size, statement_failed};
use crate::backend::{Modification, Namespace, ReadOptions, Response, Update, UpdateStatement, WriteResult};

/// Updates by one or several statements.
pub(in crate::mongodb) async fn update(
    backend: &MongoBackend,
    update: Update,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    if let ([statement], None) = (update.statements.as_slice(), update.options.max_time)
        && document::is_kept(&statement.filter)
    {
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
    let mut parts = Parts::new(statements.len(), update.ordered, session);
    batch
        .run(backend, Kind::Update, &statements, session, &mut parts)
        .await?;
    Ok(Response::Write(parts.into_result()))
}

pub(super) async fn update_single(
    backend: &MongoBackend,
    namespace: &Namespace,
    statement: &UpdateStatement,
    shared: &ReadOptions,
    session: Option<&SharedSession>,
) -> Attempt<WriteResult> {
    if let Some(error) = size::refused(size::of_update(statement)) {
        return Ok(failed(error));
    }
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
                Some(session) => action.session(&mut *session.enter().await?).await,
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
                Some(session) => action.session(&mut *session.enter().await?).await,
            }
        }
    };
    match outcome {
        Ok(done) => {
            let mut result = WriteResult::default();
            result.summary.matched = done.matched_count;
            result.summary.modified = done.modified_count;
            if let Some(id) = done.upserted_id {
                result.summary.upserted = 1;
                result.upserted.push((0, raw_id(id)?));
            }
            Ok(result)
        }
        Err(failure) => statement_failed(failure, Kind::Update),
    }
}
