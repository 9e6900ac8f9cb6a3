//! `$redact`.

use super::super::super::document::doc::{decimal, framed};
use super::super::super::document::raw::RawFields;
use super::super::super::document::{Doc, Kind, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::expression::{Expression, Scope};
use super::{Context, Row, Rows, mentions, print, row_scope};

/// Drops or keeps each level of a document by an expression.
#[derive(Clone, Debug)]
pub(crate) struct Redact {
    expression: Expression,
    /// Whether the whole document is asked for in the documents inside of it: these are a variable then.
    mentions_root: bool,
}

const KEEP: &str = "keep";
const DESCEND: &str = "descend";
const PRUNE: &str = "prune";
/// What the expression may give, by the names of its variables.
const DECISIONS: [(&str, &str); 3] = [("KEEP", KEEP), ("DESCEND", DESCEND), ("PRUNE", PRUNE)];
const CURRENT: &str = "CURRENT";

impl Redact {
    pub(super) fn parse(value: &Value<'_>, variables: &[String]) -> Result<Redact> {
        let mentions_root = mentions(value, "$$ROOT");
        let mut names = variables.to_vec();
        names.extend(DECISIONS.map(|(name, _)| name.to_owned()));
        if mentions_root {
            names.push(CURRENT.to_owned());
        }
        Ok(Redact {
            expression: Expression::parse_unfolded(value, &names)?,
            mentions_root,
        })
    }

    /// As `explain` shows it.
    pub(super) fn shown(&self) -> Owned {
        self.expression.described()
    }

    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.expression.fold(known)
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Rows<'a> {
        let mut variables = context.variables.clone();
        for (name, value) in DECISIONS {
            variables.push((name.to_owned(), Some(Owned::String(value.to_owned()))));
        }
        if self.mentions_root {
            variables.push((CURRENT.to_owned(), None));
        }
        Box::new(input.filter_map(move |row| {
            let redacted = row.and_then(|row| self.redacted(row, &mut variables, context));
            redacted.transpose()
        }))
    }

    fn redacted(
        &self,
        row: Row,
        variables: &mut Vec<(String, Option<Owned>)>,
        context: &Context<'_>,
    ) -> Result<Option<Row>> {
        let mut scope = row_scope(&row, context);
        scope.variables = std::mem::take(variables);
        let mut out = Vec::new();
        let decision = self.redact(&row, &mut scope, &mut out);
        *variables = std::mem::take(&mut scope.variables);
        drop(scope);
        Ok(match decision? {
            Decision::Keep => Some(row),
            Decision::Prune => None,
            Decision::Descend => Some(row.made(out)),
        })
    }

    /// Decides about a document; what is left of it is appended where that is not all or nothing.
    fn redact<'r>(&self, document: &'r [u8], scope: &mut Scope<'r>, out: &mut Vec<u8>) -> Result<Decision> {
        match scope.variables.last_mut() {
            Some((_, current)) if self.mentions_root => {
                *current = Some(Owned::RawDocument(document.to_vec()));
            }
            _ => scope.root = Doc::Raw(document),
        }
        let answer = self.expression.answer(scope)?;
        match answer.value() {
            Some(Value::String(KEEP)) => Ok(Decision::Keep),
            Some(Value::String(PRUNE)) => Ok(Decision::Prune),
            Some(Value::String(DESCEND)) => {
                drop(answer);
                let mut ended = Ok(());
                framed(out, |out| {
                    let mut fields = RawFields::new(document);
                    while let (Ok(()), Some(field)) = (&ended, fields.next()) {
                        ended = self
                            .redact_value((field.kind(), field.name, field.payload()), scope, out)
                            .map(|_| ());
                    }
                });
                ended.map(|()| Decision::Descend)
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

    /// Appends what is left of a value under its name; whether anything is.
    fn redact_value<'r>(
        &self,
        (kind, name, payload): (u8, &[u8], &'r [u8]),
        scope: &mut Scope<'r>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let start = out.len();
        out.push(kind);
        out.extend_from_slice(name);
        out.push(0);
        if kind == Kind::Document as u8 {
            match self.redact(payload, scope, out)? {
                Decision::Descend => {}
                Decision::Keep => out.extend_from_slice(payload),
                Decision::Prune => {
                    out.truncate(start);
                    return Ok(false);
                }
            }
        } else if kind == Kind::Array as u8 {
            let mut ended = Ok(());
            framed(out, |out| {
                let mut items = RawFields::new(payload);
                let (mut digits, mut next) = ([0; 20], 0);
                while let (Ok(()), Some(item)) = (&ended, items.next()) {
                    let named = (item.kind(), decimal(next, &mut digits), item.payload());
                    ended = self
                        .redact_value(named, scope, out)
                        .map(|is_left| next += usize::from(is_left));
                }
            });
            ended?;
        } else {
            out.extend_from_slice(payload);
        }
        Ok(true)
    }
}

/// What becomes of a document.
enum Decision {
    Keep,
    Prune,
    Descend,
}
