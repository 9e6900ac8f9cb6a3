//! Checks values against what is declared of them.

use bson::{RawBsonRef, RawDocument};

use super::declared::{Check, Declare, Declared};
use super::place;
use super::rule::Rule;
use super::violation::{self, Message, Violation};
use crate::error::{Error, ErrorKind, Result};

/// Collects what is wrong with values.
#[derive(Debug, Default)]
pub(crate) struct Validator {
    path: String,
    statement: usize,
    violations: Vec<Violation>,
}

impl Validator {
    /// The values to come belong to this document or statement of the batch.
    pub(crate) fn statement(&mut self, statement: usize) {
        self.statement = statement;
    }

    pub(crate) fn finish(self) -> Result<()> {
        violation::finish(self.violations)
    }

    /// Another one for the same document or statement.
    pub(super) fn beside(&self) -> Validator {
        Validator {
            statement: self.statement,
            ..Validator::default()
        }
    }

    /// Takes what another one found.
    pub(super) fn take(&mut self, violations: Vec<Violation>) {
        self.violations.extend(violations);
    }

    pub(super) fn into_violations(self) -> Vec<Violation> {
        self.violations
    }

    /// The values to come are at this path.
    pub(crate) fn at(&mut self, path: &str) {
        path.clone_into(&mut self.path);
    }

    pub(crate) fn found(&mut self, message: Message) {
        self.violations.push(Violation {
            path: self.path.clone(),
            rule: message.rule,
            message: message.text,
            statement: self.statement,
        });
    }

    /// Checks a value with rules of its own.
    ///
    /// # Errors
    /// What keeps a rule from being asked: malformed bytes, a wrong pattern.
    pub(crate) fn value<'r>(
        &mut self,
        rules: impl IntoIterator<Item = &'r Rule> + Clone,
        nested: &'static Declared,
        value: RawBsonRef<'_>,
    ) -> Result<()> {
        for rule in rules.clone() {
            if let Some(message) = rule.broken(value)? {
                self.found(message);
            }
        }
        for rule in rules {
            match (rule, value) {
                (Rule::Each(rules), RawBsonRef::Array(array)) => {
                    for (position, element) in array.into_iter().enumerate() {
                        let element = element.map_err(malformed)?;
                        self.within(&position.to_string(), |this| {
                            this.value(*rules, Declared::nothing(), element)
                        })?;
                    }
                }
                (Rule::Values(rules), RawBsonRef::Document(map)) => {
                    for element in map {
                        let (key, value) = element.map_err(malformed)?;
                        self.within(key.as_str(), |this| {
                            this.value(*rules, Declared::nothing(), value)
                        })?;
                    }
                }
                _ => {}
            }
        }
        self.node(nested, value)
    }

    /// Checks a value of a type that declares this.
    ///
    /// # Errors
    /// As [`value`](Validator::value).
    pub(crate) fn node(&mut self, declared: &'static Declared, value: RawBsonRef<'_>) -> Result<()> {
        match (declared, value) {
            (Declared::Document { fields, check, .. }, RawBsonRef::Document(document)) => {
                self.fields(fields, document)?;
                match check {
                    Some(check) => self.whole(*check, value),
                    None => Ok(()),
                }
            }
            (Declared::Array(inner), RawBsonRef::Array(array)) => {
                let inner = inner();
                if inner.is_plain() {
                    return Ok(());
                }
                for (position, element) in array.into_iter().enumerate() {
                    let element = element.map_err(malformed)?;
                    self.within(&position.to_string(), |this| this.node(inner, element))?;
                }
                Ok(())
            }
            (Declared::Map(inner), RawBsonRef::Document(map)) => {
                let inner = inner();
                if inner.is_plain() {
                    return Ok(());
                }
                for element in map {
                    let (key, value) = element.map_err(malformed)?;
                    self.within(key.as_str(), |this| this.node(inner, value))?;
                }
                Ok(())
            }
            (
                Declared::Variants {
                    tag,
                    content,
                    variants,
                },
                RawBsonRef::Document(document),
            ) => {
                let Ok(Some(RawBsonRef::String(name))) = document.get(tag) else {
                    return Ok(());
                };
                let Some(variant) = variants.iter().find(|variant| variant.name == name) else {
                    return Ok(());
                };
                match *content {
                    "" => self.node(variant.nested(), value),
                    content => match document.get(content).map_err(malformed)? {
                        Some(inner) => self.within(content, |this| this.node(variant.nested(), inner)),
                        None => Ok(()),
                    },
                }
            }
            _ => Ok(()),
        }
    }

    fn fields(&mut self, fields: &'static [Declare], document: &RawDocument) -> Result<()> {
        for element in document {
            let (name, value) = element.map_err(malformed)?;
            if let Some(field) = fields.iter().find(|field| field.name == name.as_str()) {
                self.within(name.as_str(), |this| {
                    this.value(field.rules, field.nested(), value)
                })?;
            }
        }
        for flattened in fields.iter().filter(|field| field.name.is_empty()) {
            match flattened.nested() {
                // Its keys stand among the fields.
                Declared::Map(inner) => {
                    let inner = inner();
                    if inner.is_plain() {
                        continue;
                    }
                    for element in document {
                        let (name, value) = element.map_err(malformed)?;
                        if !place::is_field(fields, name.as_str()) {
                            self.within(name.as_str(), |this| this.node(inner, value))?;
                        }
                    }
                }
                nested => self.node(nested, RawBsonRef::Document(document))?,
            }
        }
        Ok(())
    }

    fn whole(&mut self, check: Check, value: RawBsonRef<'_>) -> Result<()> {
        if let Some(text) = check(value)? {
            self.found(Message {
                rule: "custom",
                text: text.into(),
            });
        }
        Ok(())
    }

    pub(super) fn within<T>(&mut self, name: &str, check: impl FnOnce(&mut Validator) -> T) -> T {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        let result = check(self);
        self.path.truncate(length);
        result
    }
}

pub(super) fn malformed(error: bson::error::Error) -> Error {
    Error::new(ErrorKind::Encode, "the document is malformed").with_source(error)
}
