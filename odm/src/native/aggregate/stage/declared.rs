//! Stages whose fields are declared: what is wrong with a field is said in one way.

use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};

/// The fields of a specification, by the name that leads to it (`$densify.range`).
#[derive(Clone, Copy)]
pub(super) struct Declared<'a> {
    pub(super) path: &'a str,
    pub(super) spec: Doc<'a>,
}

impl<'a> Declared<'a> {
    /// The specification of a stage, with no fields but these.
    pub(super) fn stage(path: &'a str, value: &Value<'a>, names: &[&str]) -> Result<Declared<'a>> {
        let Value::Document(spec) = *value else {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                format!(
                    "the {path} stage specification must be an object, found {}",
                    value.kind().alias()
                ),
            ));
        };
        Declared { path, spec }.only(names)
    }

    /// Refuses other fields.
    pub(super) fn only(self, names: &[&str]) -> Result<Declared<'a>> {
        match self
            .spec
            .elements()
            .find(|element| !names.contains(&element.name_str()))
        {
            Some(other) => Err(Fault::new(
                40415,
                format!(
                    "BSON field '{}.{}' is an unknown field.",
                    self.path,
                    other.name_str()
                ),
            )),
            None => Ok(self),
        }
    }

    /// A field that is there and not null.
    pub(super) fn get(&self, name: &str) -> Option<Value<'a>> {
        self.spec
            .get(name)
            .filter(|value| !matches!(value, Value::Null | Value::Undefined))
    }

    pub(super) fn required(&self, name: &str) -> Result<Value<'a>> {
        self.get(name).ok_or_else(|| {
            Fault::new(
                40414,
                format!(
                    "BSON field '{}.{name}' is missing but a required field",
                    self.path
                ),
            )
        })
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_type(name, &other, "type 'string'")),
        }
    }

    pub(super) fn document(&self, name: &str) -> Result<Option<Doc<'a>>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Document(doc)) => Ok(Some(doc)),
            Some(other) => Err(self.wrong_type(name, &other, "type 'object'")),
        }
    }

    /// An array of strings; null among them is passed over.
    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<&'a str>>> {
        let items = match self.spec.get(name) {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(Value::Null | Value::Undefined) => {
                return Err(Fault::new(
                    10065,
                    format!("invalid parameter: expected an object ({name})"),
                ));
            }
            Some(other) => return Err(self.wrong_type(name, &other, "type 'array'")),
        };
        let texts = items.values().enumerate().filter_map(|(index, item)| match item {
            Value::String(text) => Some(Ok(text)),
            Value::Null | Value::Undefined => None,
            other => Some(Err(self.wrong_type(
                &format!("{name}.{index}"),
                &other,
                "type 'string'",
            ))),
        });
        texts.collect::<Result<Vec<_>>>().map(Some)
    }

    pub(super) fn wrong_type(&self, name: &str, value: &Value<'_>, expected: &str) -> Fault {
        Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "BSON field '{}.{name}' is the wrong type '{}', expected {expected}",
                self.path,
                value.kind().alias()
            ),
        )
    }
}
