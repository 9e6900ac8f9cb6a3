//! The driver's errors as the crate's own: kind by what the caller can do, code, labels, key.

use ::mongodb::error::{Error as DriverError, ErrorKind as DriverKind, WriteFailure};
use bson::{Bson, Document, RawDocumentBuf};

use super::{Failure, NAME};
use crate::error::{Error, ErrorKind};

/// Adds to a failure where it happened.
pub(super) fn located(
    failure: Failure,
    operation: &'static str,
    is_write: bool,
    namespace: Option<String>,
) -> Error {
    let error = match failure {
        Failure::Driver(error) => from_driver(error, is_write),
        Failure::Own(error) => error.with_backend(NAME),
    };
    let error = error.with_operation(operation);
    match namespace {
        Some(namespace) if error.namespace().is_none() => error.with_namespace(namespace),
        _ => error,
    }
}

/// The driver's error, as ours. After a network failure of a write it is not known whether it took effect.
pub(super) fn from_driver(error: DriverError, is_write: bool) -> Error {
    let reply = error.server_response().cloned();
    let labels: Vec<String> = error.labels().iter().cloned().collect();
    let mut own = match error.kind.as_ref() {
        DriverKind::Command(command) => from_code(command.code, command.message.clone(), reply.as_ref()),
        DriverKind::Write(WriteFailure::WriteError(write)) => {
            from_code(write.code, write.message.clone(), reply.as_ref())
        }
        DriverKind::Write(WriteFailure::WriteConcernError(concern)) => {
            unsatisfied(concern.code, &concern.message)
        }
        DriverKind::InsertMany(many) => match many.write_errors.as_ref().and_then(|errors| errors.first()) {
            Some(write) => from_code(write.code, write.message.clone(), reply.as_ref()),
            None => match &many.write_concern_error {
                Some(concern) => unsatisfied(concern.code, &concern.message),
                None => Error::new(
                    ErrorKind::Server,
                    "the server refused the insert without a reason",
                ),
            },
        },
        DriverKind::Io(_) | DriverKind::ConnectionPoolCleared { .. } if is_write => Error::new(
            ErrorKind::InDoubt,
            format!(
                "the connection failed before the server answered the write: {}",
                error.kind
            ),
        ),
        DriverKind::Io(_)
        | DriverKind::ConnectionPoolCleared { .. }
        | DriverKind::ServerSelection { .. }
        | DriverKind::DnsResolve { .. } => unreachable(&error.kind.to_string()),
        DriverKind::Authentication { message, .. } => refused(message),
        DriverKind::InvalidArgument { message, .. } => {
            Error::new(ErrorKind::InvalidArgument, message.clone())
        }
        DriverKind::InvalidTlsConfig { message, .. } => {
            Error::new(ErrorKind::InvalidArgument, message.clone())
        }
        DriverKind::Transaction { message, .. } => Error::new(ErrorKind::InvalidArgument, message.clone()),
        DriverKind::SessionsNotSupported => {
            Error::new(ErrorKind::Unsupported, "the deployment does not support sessions")
        }
        DriverKind::IncompatibleServer { message, .. } => Error::new(ErrorKind::Unsupported, message.clone()),
        other => Error::new(ErrorKind::Server, format!("the driver failed: {other}")),
    };
    for label in labels {
        own = own.with_label(label);
    }
    own.with_backend(NAME).with_source(error)
}

/// That a reply says so of its write concern.
pub(super) fn concern_of(reply: &Document) -> Option<Error> {
    let missed = reply.get_document("writeConcernError").ok()?;
    let code = missed.get_i32("code").unwrap_or_default();
    Some(unsatisfied(code, missed.get_str("errmsg").unwrap_or_default()))
}

/// A write that took effect where it was made, and not where its concern wants it too.
pub(super) fn unsatisfied(code: i32, message: &str) -> Error {
    let text = format!("write concern was not satisfied: {message}");
    Error::new(ErrorKind::InDoubt, text).with_code(code)
}

fn refused(reason: &str) -> Error {
    let text = format!("the server refused the credentials: {reason}");
    Error::new(ErrorKind::Unauthorized, text)
}

/// The driver tells of each server why it cannot be used. One that refused the credentials counts as unreachable to it
/// from then on.
fn unreachable(reason: &str) -> Error {
    // The driver's own errors stand in it whole.
    let reason = reason
        .replace(", source: None", "")
        .replace(", server response: None", "");
    let is_refused = reason.split("Error: Kind: ").skip(1).any(|error| {
        let mechanism = error.split_once(" failure: ").map(|(mechanism, _)| mechanism);
        mechanism.is_some_and(|mechanism| !mechanism.contains([' ', '}']))
    });
    match is_refused {
        true => refused(&reason),
        false => Error::new(
            ErrorKind::Network,
            format!("the server cannot be reached: {reason}"),
        ),
    }
}

/// An error that the server gave by code.
pub(super) fn from_code(code: i32, message: String, reply: Option<&RawDocumentBuf>) -> Error {
    let error = Error::new(ErrorKind::of_code(code), message.clone())
        .with_code(code)
        .with_backend(NAME);
    if code == 121 {
        let details = reply.and_then(refusal);
        return match details {
            Some(details) => error.with_details(details),
            None => error,
        };
    }
    if code == 280 && message.contains("resume token was not found") {
        let text = "the stream cannot resume at this token: its filter or its pipeline leaves out the event that the token \
                    is of, or the token is another server's; resume with the filter that gave it, where it was given";
        return Error::new(ErrorKind::InvalidArgument, text)
            .with_code(code)
            .with_backend(NAME)
            .with_source(error);
    }
    if code != 11000 {
        return error;
    }
    let error = match index_of(&message) {
        Some(index) => error.with_index(index),
        None => error,
    };
    match reply.and_then(|reply| duplicate_key(reply, &message)) {
        Some((pattern, Some(value))) => error.with_key(pattern, value),
        Some((pattern, None)) => error.with_key_pattern(pattern),
        None => error,
    }
}

/// The index's name in "... index: NAME dup key: ...".
fn index_of(message: &str) -> Option<String> {
    let rest = message.split_once(" index: ")?.1;
    Some(
        rest.split_once(" dup key:")
            .map_or(rest, |(name, _)| name)
            .split(" collation:")
            .next()?
            .to_owned(),
    )
}

/// Why a validator refused: in the reply itself, or in its only write error.
fn refusal(reply: &RawDocumentBuf) -> Option<Document> {
    let reply = Document::try_from(reply.as_ref()).ok()?;
    let entry = match reply.get_array("writeErrors").map(Vec::as_slice) {
        Ok([only]) => only.as_document()?,
        Ok(_) => return None,
        Err(_) => &reply,
    };
    entry.get_document("errInfo").ok().cloned()
}

/// The key pattern and value of the reply itself, or of its write error with this message. No value where a collation
/// made it: then it is what strings are sorted by.
fn duplicate_key(reply: &RawDocumentBuf, message: &str) -> Option<(Document, Option<Document>)> {
    let reply = Document::try_from(reply.as_ref()).ok()?;
    let entry = match reply.get_array("writeErrors") {
        Ok(errors) => errors
            .iter()
            .filter_map(|error| error.as_document())
            .find(|error| error.get_str("errmsg").is_ok_and(|text| text == message))?,
        Err(_) => &reply,
    };
    let value = entry.get_document("keyValue").ok()?;
    let is_shown = !entry.contains_key("collation") || value.values().all(is_uncollated);
    Some((
        entry.get_document("keyPattern").ok()?.clone(),
        is_shown.then(|| value.clone()),
    ))
}

/// Whether a value holds no text.
fn is_uncollated(value: &Bson) -> bool {
    !matches!(
        value,
        Bson::String(_) | Bson::Symbol(_) | Bson::Document(_) | Bson::Array(_)
    )
}
