//! Stages whose fields are declared: what is wrong with a field is said in one way.

use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};

/// What a field may be; `null` stands for one that is not there.
#[derive(Clone, Copy)]
pub(super) enum Type {
    Any,
    Number,
    Text,
    Texts,
    Document,
    /// A document with fields of its own.
    Part(&'static Part),
}

/// The fields of a document within a specification, and those that it must have.
pub(super) struct Part {
    pub(super) path: &'static str,
    pub(super) fields: &'static [(&'static str, Type)],
    pub(super) required: &'static [&'static str],
    /// Those that it must have too, be they null.
    pub(super) given: &'static [&'static str],
}

/// The fields of a specification, by the name that leads to it (`$densify.range`).
#[derive(Clone, Copy)]
pub(super) struct Declared<'a> {
    pub(super) path: &'a str,
    pub(super) spec: Doc<'a>,
}

impl<'a> Declared<'a> {
    /// The specification of a stage, with no fields but these.
    pub(super) fn stage(path: &'a str, value: &Value<'a>, fields: &[(&str, Type)]) -> Result<Declared<'a>> {
        let Value::Document(spec) = *value else {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                format!(
                    "the {path} stage specification must be an object, found {}",
                    value.kind().alias()
                ),
            ));
        };
        Declared { path, spec }.only(fields)
    }

    /// Refuses other fields, and those of other types, as they stand.
    pub(super) fn only(self, fields: &[(&str, Type)]) -> Result<Declared<'a>> {
        for element in self.spec.elements() {
            let name = element.name_str();
            let declared = fields.iter().find(|(own, _)| *own == name);
            let (_, wanted) = declared.ok_or_else(|| Fault::unknown_field(self.path, name))?;
            match wanted {
                Type::Any => {}
                Type::Number => self.number(name)?,
                Type::Text => self.text(name).map(|_| ())?,
                Type::Texts => self.texts(name).map(|_| ())?,
                Type::Document => self.document(name).map(|_| ())?,
                Type::Part(part) => {
                    if let Some(spec) = self.document(name)? {
                        let path = part.path;
                        let inner = Declared { path, spec }.only(part.fields)?;
                        part.required
                            .iter()
                            .try_for_each(|name| inner.required(name).map(|_| ()))?;
                        let missing = part.given.iter().find(|name| inner.spec.get(name).is_none());
                        missing.map_or(Ok(()), |name| inner.required(name).map(|_| ()))?;
                    }
                }
            }
        }
        Ok(self)
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

    fn number(&self, name: &str) -> Result<()> {
        match self.get(name) {
            Some(other) if !other.is_number() => {
                Err(self.wrong_type(name, &other, "types '[int, decimal, double, long']"))
            }
            _ => Ok(()),
        }
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
