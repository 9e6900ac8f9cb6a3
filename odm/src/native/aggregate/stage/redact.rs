//! `$redact`.

use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::expression::{Expression, Scope};
use super::{Context, Rows, print, write};

/// Drops or keeps each level of a document by an expression.
#[derive(Clone, Debug)]
pub(crate) struct Redact {
    expression: Expression,
}

const KEEP: &str = "keep";
const DESCEND: &str = "descend";
const PRUNE: &str = "prune";

impl Redact {
    pub(super) fn parse(value: &Value<'_>, variables: &[String]) -> Result<Redact> {
        let mut names = variables.to_vec();
        names.extend(["KEEP", "DESCEND", "PRUNE", "CURRENT"].map(str::to_owned));
        Ok(Redact {
            expression: Expression::parse_unfolded(value, &names)?,
        })
    }

    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.expression.fold(known)
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Rows<'a> {
        Box::new(input.filter_map(move |row| {
            let row = match row {
                Ok(row) => row,
                Err(fault) => return Some(Err(fault)),
            };
            let mut scope = super::row_scope(&row, context);
            for (name, value) in [("KEEP", KEEP), ("DESCEND", DESCEND), ("PRUNE", PRUNE)] {
                scope
                    .variables
                    .push((name.to_owned(), Some(Owned::String(value.to_owned()))));
            }
            scope.variables.push(("CURRENT".to_owned(), None));
            match self.redact(Doc::Raw(&row), &mut scope) {
                Ok(Some(fields)) => Some(write(Owned::Document(fields)).map(|document| row.made(document))),
                Ok(None) => None,
                Err(fault) => Some(Err(fault)),
            }
        }))
    }

    fn redact(&self, doc: Doc<'_>, scope: &mut Scope<'_>) -> Result<Option<Fields>> {
        if let Some((_, current)) = scope.variables.last_mut() {
            *current = Some(Owned::from(Value::Document(doc)));
        }
        let answer = self.expression.answer(scope)?;
        match answer.value() {
            Some(Value::String(KEEP)) => Ok(Some(super::super::super::document::owned::fields_of(doc))),
            Some(Value::String(PRUNE)) => Ok(None),
            Some(Value::String(DESCEND)) => {
                drop(answer);
                let mut fields = Vec::new();
                for element in doc.elements() {
                    if let Some(value) = self.redact_value(element.value(), scope)? {
                        fields.push((element.name_str().to_owned(), value));
                    }
                }
                Ok(Some(fields))
            }
            _ => Err(Fault::new(
                17053,
                format!(
                    "$redact's expression should not return anything aside from the variables $$KEEP, $$DESCEND, and $$PRUNE, but returned {}",
                    print::answer(&answer)
                ),
            )),
        }
    }

    fn redact_value(&self, value: Value<'_>, scope: &mut Scope<'_>) -> Result<Option<Owned>> {
        Ok(match value {
            Value::Document(doc) => self.redact(doc, scope)?.map(Owned::Document),
            Value::Array(items) => {
                let mut kept = Vec::new();
                for item in items.values() {
                    kept.extend(self.redact_value(item, scope)?);
                }
                Some(Owned::Array(kept))
            }
            other => Some(other.into()),
        })
    }
}
