//! Writes. A single statement goes through the driver's own method, so that it is a retryable write; a batch of
//! updates or deletes is one command, one round trip, and not retried by the driver.

mod batch;
mod bulk;
mod delete;
mod find_and_modify;
mod insert;
mod size;
mod update;

use ::mongodb::error::ErrorKind as DriverKind;
use ::mongodb::options::UpdateModifications;
use bson::{Bson, Document, RawBson};

pub(super) use self::bulk::bulk;
pub(super) use self::delete::delete;
pub(super) use self::find_and_modify::find_and_modify;
pub(super) use self::insert::insert;
pub(super) use self::update::update;
use super::{Attempt, document, error};
use crate::backend::{Modification, WriteResult};
use crate::error::{Error, ErrorKind};

/// A write error of a single statement is a result, as in a batch, and so is a write concern that is not met; anything
/// else fails the operation.
fn statement_failed(failure: ::mongodb::error::Error, kind: batch::Kind) -> Attempt<WriteResult> {
    let reply = match failure.kind.as_ref() {
        DriverKind::Write(_) => failure.server_response(),
        _ => None,
    };
    let Some(reply) = reply.and_then(|reply| Document::try_from(reply.as_ref()).ok()) else {
        return of_the_only(failure);
    };
    // An update of many that stops at an error keeps what it changed before.
    let mut result = batch::parse_reply(&reply, kind)?;
    let errors = result.errors.iter_mut().map(|(_, error)| error);
    for error in errors.chain(&mut result.concern) {
        *error = error.clone().with_source(failure.clone());
    }
    Ok(result)
}

/// A failure of a command with a single statement: that one is too large, or the command failed as a whole.
fn of_the_only(failure: ::mongodb::error::Error) -> Attempt<WriteResult> {
    match failure.kind.as_ref() {
        DriverKind::Command(command) if command.code == size::BSON_TOO_LARGE => {
            let own = error::from_code(command.code, command.message.clone(), None);
            Ok(batch::failed(own.with_source(failure)))
        }
        _ => Err(failure.into()),
    }
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
