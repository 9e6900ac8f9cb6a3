//! Insertions.

use std::borrow::Borrow;
use std::collections::HashSet;

use ::mongodb::error::ErrorKind as DriverKind;
use bson::{Bson, Document, RawDocument, RawDocumentBuf};

use super::super::{Attempt, MongoBackend, SharedSession, collections, error};
use super::batch::{Parts, failed, fitting};
use super::size::too_large;
use crate::backend::{Insert, Response, WriteResult};
use crate::error::Error;

/// Inserts raw documents.
pub(in crate::mongodb) async fn insert(
    backend: &MongoBackend,
    insert: Insert,
    session: Option<&SharedSession>,
) -> Attempt<Response> {
    let mut parts = Parts::new(insert.documents.len(), insert.ordered, session);
    insert_all(backend, insert, session, &mut parts).await?;
    Ok(Response::Write(parts.into_result()))
}

/// Inserts in parts that fit into one message each: the driver, which would split too, forgets what was stored when a
/// later message fails as a whole. It also refuses all for one document that is too large. Here that one fails, as it
/// does on the server. Gives whether what is behind is to be tried.
pub(super) async fn insert_all(
    backend: &MongoBackend,
    mut insert: Insert,
    session: Option<&SharedSession>,
    parts: &mut Parts,
) -> Attempt<bool> {
    while !insert.documents.is_empty() {
        let refused = insert.documents.iter().position(|d| too_large(d).is_some());
        let fit = &insert.documents[..refused.unwrap_or(insert.documents.len())];
        let count = fitting(
            fit.iter().map(|document| document.as_bytes().len()),
            MESSAGE_BYTES,
        );
        let behind = insert.documents.split_off(count.max(1));
        let part = Insert {
            namespace: insert.namespace.clone(),
            documents: std::mem::replace(&mut insert.documents, behind),
            ordered: insert.ordered,
            bypass_validation: insert.bypass_validation,
            comment: insert.comment.clone(),
        };
        let length = part.documents.len();
        let outcome = match part.documents.first().and_then(too_large) {
            Some(error) => Ok(failed(error)),
            None => insert_fitting(backend, part, session).await,
        };
        if !parts.add(length, outcome)? {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn insert_fitting(
    backend: &MongoBackend,
    insert: Insert,
    session: Option<&SharedSession>,
) -> Attempt<WriteResult> {
    let Insert {
        namespace,
        mut documents,
        ordered,
        bypass_validation,
        comment,
    } = insert;
    let namespace = &namespace;
    let mut result = WriteResult::default();
    if documents.is_empty() {
        return Ok(result);
    }
    let collection = backend.collection(namespace);
    let mut options = ::mongodb::options::InsertManyOptions::default();
    options.ordered = Some(ordered);
    options.bypass_document_validation = bypass_validation.then_some(true);
    options.comment = comment.map(Into::into);
    let is_large = |document: &RawDocumentBuf| document.as_bytes().len() > LARGE;
    let large: HashSet<usize> = (0..documents.len())
        .filter(|index| documents.get(*index).is_some_and(is_large))
        .collect();
    let given = documents.iter_mut().map(|document| match is_large(document) {
        true => Given::Passed(std::mem::replace(document, small_fields(document))),
        false => Given::Kept(document),
    });
    let action = collection.insert_many(given);
    let action = action.with_options(options);
    let outcome = match session {
        None => action.await,
        Some(shared) => {
            let mut session = shared.enter().await?;
            action.session(&mut *session).await
        }
    };
    match outcome {
        Ok(_) => result.summary.inserted = documents.len() as u64,
        Err(failure) => {
            let reply = failure.server_response().cloned();
            match failure.kind.as_ref() {
                DriverKind::InsertMany(many) => {
                    let missed = many.write_concern_error.as_ref();
                    result.concern = missed.map(|missed| error::unsatisfied(missed.code, &missed.message));
                    let errors = many.write_errors.as_deref().unwrap_or_default();
                    let mut indexes = None;
                    for one in errors {
                        let mut own = error::from_code(one.code, one.message.clone(), reply.as_ref());
                        if let Some(details) = &one.details {
                            own = own.with_details(details.clone());
                        }
                        if own.is_duplicate_key() && own.key_value().is_none() {
                            if indexes.is_none() {
                                indexes = Some(collections::indexes_of(backend, namespace).await);
                            }
                            own = with_key(
                                own,
                                indexes.as_deref().unwrap_or_default(),
                                documents.get(one.index),
                                large.contains(&one.index),
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

/// How many bytes of documents one message carries; the server takes 48,000,000 with what is around them.
const MESSAGE_BYTES: usize = 47_000_000;

/// The driver encodes each document once more. What is larger than this is not kept until the reply comes.
const LARGE: usize = 256 * 1024;

/// Of a large document the fields are kept that are no larger: an index's keys are among them, as a rule.
const SMALL: usize = 4 * 1024;

/// A document for the driver.
enum Given<'d> {
    Kept(&'d RawDocumentBuf),
    Passed(RawDocumentBuf),
}

impl Borrow<RawDocumentBuf> for Given<'_> {
    fn borrow(&self) -> &RawDocumentBuf {
        match self {
            Given::Kept(document) => document,
            Given::Passed(document) => document,
        }
    }
}

fn small_fields(document: &RawDocument) -> RawDocumentBuf {
    let mut small = RawDocumentBuf::new();
    let fields = document.iter_elements().map_while(Result::ok);
    for field in fields.filter(|field| field.size() <= SMALL) {
        if let Ok(value) = field.value() {
            small.append(field.key(), value);
        }
    }
    small
}

/// The driver keeps neither the key pattern nor the key of a refused insert: the pattern is looked up by the
/// index's name, the key in the document.
fn with_key(error: Error, indexes: &[Document], document: Option<&RawDocumentBuf>, is_large: bool) -> Error {
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
    // Of a large document what is missing may have been left out.
    let is_there = |path: &String| document.contains_key(path.split('.').next().unwrap_or_default());
    if is_large && !pattern.keys().all(is_there) {
        return error;
    }
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
