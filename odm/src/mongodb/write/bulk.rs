//! Writes of several kinds.

use super::super::{Attempt, MongoBackend, SharedSession, command};
use super::batch::{Batch, Kind, absorb};
use super::delete::delete_single;
use super::insert::insert_all;
use super::update::update_single;
use crate::backend::{BulkWrite, Insert, Namespace, ReadOptions, Response, WriteResult, WriteStatement};

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
    namespace: &Namespace,
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
            let insert = Insert {
                namespace: namespace.clone(),
                documents,
                ordered,
                comment: options.comment.clone(),
            };
            insert_all(backend, insert, session).await
        }
        Some(kind) => batch.run(backend, kind, &documents, session).await,
    }
}
