//! Writes of several kinds.

use super::super::document::is_kept;
use super::super::{Attempt, MongoBackend, SharedSession, command};
use super::batch::{Batch, Kind, Parts};
use super::delete::delete_single;
use super::insert::insert_all;
use super::update::update_single;
use crate::backend::{BulkWrite, Insert, Namespace, ReadOptions, Response, WriteStatement};

/// Writes of several kinds: neighbours of one kind share a round trip, since their order among themselves is kept
/// by the server.
pub(in crate::mongodb) async fn bulk(
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
    let mut parts = Parts::new(statements.len(), ordered, session);
    let mut rest = statements.as_slice();
    while let Some(first) = rest.first() {
        let length = rest
            .iter()
            .take_while(|s| std::mem::discriminant(*s) == std::mem::discriminant(first))
            .count();
        let (run, behind) = rest.split_at(length);
        let goes_on = match run {
            [WriteStatement::Update(one)] if options.max_time.is_none() && is_kept(&one.filter) => {
                let outcome = update_single(backend, &namespace, one, &options, session).await;
                parts.add(1, outcome)?
            }
            [WriteStatement::Delete(one)] if options.max_time.is_none() && is_kept(&one.filter) => {
                let outcome = delete_single(backend, &namespace, one, &options, session).await;
                parts.add(1, outcome)?
            }
            run => bulk_run(backend, &namespace, run, ordered, &options, session, &mut parts).await?,
        };
        if !goes_on {
            break;
        }
        rest = behind;
    }
    Ok(Response::Write(parts.into_result()))
}

async fn bulk_run(
    backend: &MongoBackend,
    namespace: &Namespace,
    run: &[WriteStatement],
    ordered: bool,
    options: &ReadOptions,
    session: Option<&SharedSession>,
    parts: &mut Parts,
) -> Attempt<bool> {
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
    let Some(kind) = kind else {
        let insert = Insert {
            namespace: namespace.clone(),
            documents,
            ordered,
            bypass_validation: false,
            comment: options.comment.clone(),
        };
        return insert_all(backend, insert, session, parts).await;
    };
    let batch = Batch {
        namespace,
        ordered,
        options,
    };
    batch.run(backend, kind, &documents, session, parts).await
}
