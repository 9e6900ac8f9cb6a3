//! Changes of one document that give it back.

use ::mongodb::error::{Error as DriverError, ErrorKind as DriverKind};
use bson::{Bson, RawBsonRef, RawDocumentBuf};

use super::super::{Attempt, MongoBackend, SharedSession, document, limit};
use super::{modifications, size};
use crate::backend::{FindAndModify, Modification, Response};

/// Changes or removes one document through the driver, so that it is a retryable write.
pub(in crate::mongodb) async fn find_and_modify(
    backend: &MongoBackend,
    change: FindAndModify,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let modification = change.modification.as_ref().map_or(0, size::of_modification);
    if let Some(error) = size::refused(change.filter.as_bytes().len() + modification) {
        return Err(error.into());
    }
    let collection = backend.collection(&change.namespace);
    let filter = document::decode(&change.filter)?;
    let sort = document::decode_optional(change.sort.as_ref())?;
    let projection = document::decode_optional(change.projection.as_ref())?;
    let hint = document::hint(change.options.hint.as_ref())?;
    let collation = document::collation(change.options.collation.as_ref())?;
    let variables = document::decode_optional(change.options.variables.as_ref())?;
    let comment = change.options.comment.clone().map(Bson::from);
    let max_time = limit::time(change.options.max_time);
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
            let done = match session {
                None => action.await,
                Some(session) => action.session(&mut *session.enter().await?).await,
            };
            done.or_else(unread)?
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

/// The document of an answer that the driver did not read, because it holds text that is not UTF-8: the change was made.
fn unread(error: DriverError) -> Result<Option<RawDocumentBuf>, DriverError> {
    let answer = match error.kind.as_ref() {
        DriverKind::InvalidResponse { .. } => error.server_response(),
        _ => None,
    };
    let is_done = |answer: &&RawDocumentBuf| {
        let is_ok = match answer.get("ok") {
            Ok(Some(RawBsonRef::Double(ok))) => ok == 1.0,
            Ok(Some(RawBsonRef::Int32(ok))) => ok == 1,
            _ => false,
        };
        is_ok && matches!(answer.get("writeConcernError"), Ok(None))
    };
    match answer.filter(is_done).map(|answer| answer.get("value")) {
        Some(Ok(Some(RawBsonRef::Document(document)))) => Ok(Some(document.to_owned())),
        Some(Ok(Some(RawBsonRef::Null))) => Ok(None),
        _ => Err(error),
    }
}
