//! `$unwind`.

use super::super::super::document::owned::fields_of;
use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::super::matcher::Changes;
use super::{Row, Rows, path, write};

/// One document for each element of an array.
#[derive(Clone, Debug)]
pub(crate) struct Unwind {
    path: Vec<String>,
    index: Option<Vec<String>>,
    preserve: bool,
}

impl Unwind {
    pub(super) fn parse(value: &Value<'_>) -> Result<Unwind> {
        let (mut given, mut index, mut preserve) = (None, None, false);
        match *value {
            Value::String(text) => given = Some(text),
            Value::Document(doc) => {
                for element in doc.elements() {
                    let value = element.value();
                    let found = value.kind().alias();
                    match element.name_str() {
                        "path" => match value {
                            Value::String(text) => given = Some(text),
                            _ => {
                                return Err(Fault::new(
                                    28808,
                                    format!("expected a string as the path for $unwind stage, got {found}"),
                                ));
                            }
                        },
                        "preserveNullAndEmptyArrays" => match value {
                            Value::Bool(given) => preserve = given,
                            _ => {
                                return Err(Fault::new(
                                    28809,
                                    format!(
                                        "expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got {found}"
                                    ),
                                ));
                            }
                        },
                        "includeArrayIndex" => match value {
                            Value::String(text) if !text.is_empty() => {
                                if text.starts_with('$') {
                                    return Err(Fault::new(
                                        28822,
                                        format!(
                                            "includeArrayIndex option to $unwind stage should not be prefixed with a '$': {text}"
                                        ),
                                    ));
                                }
                                index = Some(path::parse(text)?);
                            }
                            _ => {
                                return Err(Fault::new(
                                    28810,
                                    format!(
                                        "expected a non-empty string for the includeArrayIndex  option to $unwind stage, got {found}"
                                    ),
                                ));
                            }
                        },
                        other => {
                            return Err(Fault::new(
                                28811,
                                format!("unrecognized option to $unwind stage: {other}"),
                            ));
                        }
                    }
                }
            }
            other => {
                return Err(Fault::new(
                    15981,
                    format!(
                        "expected either a string or an object as specification for $unwind stage, got {}",
                        other.kind().alias()
                    ),
                ));
            }
        }
        let given = given
            .filter(|text| !text.is_empty())
            .ok_or_else(|| Fault::new(28812, "no path specified to $unwind stage"))?;
        let text = given.strip_prefix('$').ok_or_else(|| {
            Fault::new(
                28818,
                format!("path option to $unwind stage should be prefixed with a '$': {given}"),
            )
        })?;
        if text.contains('\0') {
            return Err(Fault::new(
                16419,
                "field path must not contain embedded null characters",
            ));
        }
        Ok(Unwind {
            path: path::parse(text)?,
            index,
            preserve,
        })
    }

    /// Whether this is the array that it takes apart.
    pub(in super::super) fn is_of(&self, path: &[String]) -> bool {
        self.path == path
    }

    /// What it does to the paths of a document.
    pub(in super::super) fn changes(&self) -> Changes {
        let paths = [Some(&self.path), self.index.as_ref()];
        Changes::only(paths.into_iter().flatten().map(|path| path.join(".")).collect())
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>) -> Rows<'a> {
        Box::new(input.flat_map(move |row| match row {
            Ok(row) => self.unwind(row),
            Err(fault) => vec![Err(fault)],
        }))
    }

    fn unwind(&self, row: Row) -> Vec<Result<Row>> {
        let doc = Doc::Raw(&row);
        let value = path::get(doc, &self.path);
        let unchanged = |removed: bool| {
            let mut fields = fields_of(doc);
            if removed {
                path::set(&mut fields, &self.path, None);
            }
            self.with_index(&mut fields, Owned::Null);
            vec![write(Owned::Document(fields)).map(|document| row.made(document))]
        };
        match value {
            None | Some(Value::Null | Value::Undefined) if self.preserve => unchanged(false),
            None | Some(Value::Null | Value::Undefined) => Vec::new(),
            Some(Value::Array(items)) => {
                if items.is_empty() {
                    return if self.preserve {
                        unchanged(true)
                    } else {
                        Vec::new()
                    };
                }
                let mut fields = fields_of(doc);
                items
                    .values()
                    .enumerate()
                    .map(|(index, item)| {
                        path::set(&mut fields, &self.path, Some(item.into()));
                        self.with_index(&mut fields, Owned::Int64(index as i64));
                        Ok(row.made(Doc::Fields(&fields).to_bytes()))
                    })
                    .collect()
            }
            Some(_) => unchanged(false),
        }
    }

    fn with_index(&self, fields: &mut Fields, index: Owned) {
        if let Some(path) = &self.index {
            path::set(fields, path, Some(index));
        }
    }
}
