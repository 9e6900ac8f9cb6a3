//! Stages whose fields are declared: what is wrong with a field is said in one way.

use super::super::super::document::number::as_f64;
use super::super::super::document::{Doc, Once, Value};
use super::super::super::fault::{Fault, Result, code};

/// What a field may be; `null` stands for one that is not there.
#[derive(Clone, Copy)]
pub(super) enum Type {
    Any,
    Number,
    /// A number that is not below 1.
    Scale,
    Text,
    Texts,
    Document,
    Timestamp,
    /// A bool, and not `null` either.
    Flag,
    /// One of these words.
    OneOf(&'static [&'static str]),
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

    /// Refuses other fields, those of other types, and those that stand there twice, in their order.
    pub(super) fn only(self, fields: &[(&str, Type)]) -> Result<Declared<'a>> {
        self.looked_at(fields, |name| Err(Fault::unknown_field(self.path, name)))
    }

    /// The same, where there may be others.
    pub(super) fn beside_others(self, fields: &[(&str, Type)]) -> Result<Declared<'a>> {
        self.looked_at(fields, |_| Ok(()))
    }

    fn looked_at(
        self,
        fields: &[(&str, Type)],
        unknown: impl Fn(&str) -> Result<()>,
    ) -> Result<Declared<'a>> {
        let mut once = Once::within(self.path);
        for element in self.spec.elements() {
            let name = element.name_str();
            match fields.iter().find(|(own, _)| *own == name) {
                Some((_, wanted)) => self.check(name, element.value(), *wanted)?,
                None => unknown(name)?,
            }
            once.see(&element)?;
        }
        Ok(self)
    }

    /// Refuses a value of another type.
    fn check(&self, name: &str, value: Value<'a>, wanted: Type) -> Result<()> {
        match wanted {
            Type::Flag => return flag(name, &value),
            Type::Texts => return self.texts_in(name, value).map(|_| ()),
            _ if matches!(value, Value::Null | Value::Undefined) => return Ok(()),
            _ => {}
        }
        match (wanted, value) {
            (Type::Number, value) if !value.is_number() => {
                Err(self.wrong_type(name, &value, "types '[int, decimal, double, long']"))
            }
            (Type::Scale, value) => self.check_scale(name, &value),
            (Type::Text | Type::OneOf(_), value) if value.as_str().is_none() => {
                Err(self.wrong_type(name, &value, "type 'string'"))
            }
            (Type::OneOf(words), Value::String(word)) if !words.contains(&word) => Err(Fault::new(
                code::BAD_VALUE,
                format!(
                    "Enumeration value '{word}' for field '{}.{name}' is not a valid value.",
                    self.path
                ),
            )),
            (Type::Document | Type::Part(_), value) if value.as_document().is_none() => {
                Err(self.wrong_type(name, &value, "type 'object'"))
            }
            (Type::Timestamp, value) if !matches!(value, Value::Timestamp { .. }) => {
                Err(self.wrong_type(name, &value, "type 'timestamp'"))
            }
            (Type::Part(part), Value::Document(spec)) => {
                let path = part.path;
                let inner = Declared { path, spec }.only(part.fields)?;
                part.required
                    .iter()
                    .try_for_each(|name| inner.required(name).map(|_| ()))?;
                let missing = part.given.iter().find(|name| inner.spec.get(name).is_none());
                missing.map_or(Ok(()), |name| inner.required(name).map(|_| ()))
            }
            _ => Ok(()),
        }
    }

    fn check_scale(&self, name: &str, value: &Value<'_>) -> Result<()> {
        match as_f64(value) {
            None => Err(self.wrong_type(name, value, "types '[long, int, decimal, double']")),
            Some(number) if number.is_nan() || number < 1.0 => Err(Fault::new(
                51024,
                format!(
                    "BSON field '{name}' value must be >= 1, actual value '{}'",
                    number as i64
                ),
            )),
            Some(_) => Ok(()),
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
        let given = self.spec.get(name);
        given.map(|value| self.texts_in(name, value)).transpose()
    }

    fn texts_in(&self, name: &str, value: Value<'a>) -> Result<Vec<&'a str>> {
        let items = match value {
            Value::Array(items) => items,
            Value::Null | Value::Undefined => {
                return Err(Fault::new(
                    10065,
                    format!("invalid parameter: expected an object ({name})"),
                ));
            }
            other => return Err(self.wrong_type(name, &other, "type 'array'")),
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
        texts.collect()
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

/// Refuses what is no bool.
fn flag(name: &str, value: &Value<'_>) -> Result<()> {
    match value {
        Value::Bool(_) => Ok(()),
        other => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "Field '{name}' should be a boolean value, but found: {}",
                other.kind().alias()
            ),
        )),
    }
}
