//! `$changeStream`: what a stage that reads changes asks for.

use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result};
use super::declared::{Declared, Type};
use super::print;

/// The stage's name.
pub(crate) const NAME: &str = "$changeStream";

/// What stands in the stage's place where a server looks whether it may be there.
pub(crate) const READS: &str = "$_internalChangeStreamOplogMatch";

const IMAGES_AFTER: &[&str] = &["default", "updateLookup", "whenAvailable", "required"];

const IMAGES_BEFORE: &[&str] = &["off", "whenAvailable", "required"];

const FIELDS: &[(&str, Type)] = &[
    ("resumeAfter", Type::Document),
    ("startAfter", Type::Document),
    ("startAtOperationTime", Type::Timestamp),
    ("fullDocument", Type::OneOf(IMAGES_AFTER)),
    ("fullDocumentBeforeChange", Type::OneOf(IMAGES_BEFORE)),
    ("allChangesForCluster", Type::Flag),
    ("showMigrationEvents", Type::Flag),
    ("showSystemEvents", Type::Flag),
    ("showExpandedEvents", Type::Flag),
    ("showRawUpdateDescription", Type::Flag),
    ("allowToRunOnConfigDB", Type::Flag),
    ("allowToRunOnSystemNS", Type::Flag),
];

/// The fields of the stage, found to be of their types.
#[derive(Clone, Copy)]
pub(crate) struct ChangeStream<'a> {
    spec: Declared<'a>,
}

impl<'a> ChangeStream<'a> {
    /// Looks at the form of the stage alone.
    ///
    /// # Errors
    /// Code 6188500.
    pub(crate) fn document(value: &Value<'a>) -> Result<Doc<'a>> {
        value.as_document().ok_or_else(|| {
            Fault::new(
                6_188_500,
                format!(
                    "{NAME} must take a nested object but found: {NAME}: {}",
                    print::bson_value(value)
                ),
            )
        })
    }

    /// Looks at its fields.
    ///
    /// # Errors
    /// As a server: 40415 for other fields, 14 for other types, 2 for other words.
    pub(crate) fn parse(value: &Value<'a>) -> Result<ChangeStream<'a>> {
        let spec = Declared {
            path: NAME,
            spec: ChangeStream::document(value)?,
        };
        spec.only(FIELDS).map(|spec| ChangeStream { spec })
    }

    /// The text of a field, if it is there.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.spec.get(name).and_then(|value| value.as_str())
    }

    /// The document of a field, if it is there.
    pub(crate) fn part(&self, name: &str) -> Option<Doc<'a>> {
        self.spec.get(name).and_then(|value| value.as_document())
    }

    /// Seconds and increment of a field, if it is there.
    pub(crate) fn timestamp(&self, name: &str) -> Option<(u32, u32)> {
        match self.spec.get(name) {
            Some(Value::Timestamp { time, increment }) => Some((time, increment)),
            _ => None,
        }
    }

    /// Whether a field is there and true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.spec.get(name), Some(Value::Bool(true)))
    }
}
