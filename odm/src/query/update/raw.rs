//! Updates in MongoDB's own words.

use bson::RawBson;
use bson::{RawBsonRef, RawDocument};

use super::change::{Action, Change};
use super::raw_path;
use crate::error::{Error, ErrorKind, Result};

/// The changes of `{"$operator": {"path": operand}}`.
pub(super) fn changes(update: &RawDocument) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for element in update.iter() {
        let (operator, paths) = element.map_err(malformed)?;
        let (true, RawBsonRef::Document(paths)) = (operator.as_str().starts_with('$'), paths) else {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "a raw update is made of operators with a document each; to replace a document use `replace`",
            )
            .with_path(operator.as_str()));
        };
        for element in paths.iter() {
            let (path, operand) = element.map_err(malformed)?;
            let value = RawBson::from(operand);
            let action = match (operator.as_str(), value) {
                ("$set", value) => Action::Set(value),
                ("$setOnInsert", value) => Action::SetOnInsert(value),
                ("$unset", _) => Action::Unset,
                ("$inc", value) => Action::Increment(value),
                ("$mul", value) => Action::Multiply(value),
                ("$min", value) => Action::Minimum(value),
                ("$max", value) => Action::Maximum(value),
                ("$rename", RawBson::String(to)) => Action::Rename(raw_path(&to)),
                (_, value) => Action::Raw {
                    operator: operator.into(),
                    value,
                },
            };
            changes.push(Change {
                path: raw_path(path.as_str()),
                action,
            });
        }
    }
    Ok(changes)
}

fn malformed(error: bson::error::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "malformed bson").with_source(error)
}
