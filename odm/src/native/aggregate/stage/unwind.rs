//! `$unwind`.

use std::ops::Range;

use super::super::super::document::owned::fields_of;
use super::super::super::document::splice::{Splice, element};
use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::super::matcher::Changes;
use super::super::super::needs::Needs;
use super::{Row, Rows, path, write};

/// What precedes the first element of a document or an array: its length.
const FRAME: usize = 4;

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

    /// As `explain` shows it: without the path where it is part of the join that makes the array.
    pub(super) fn shown(&self, is_joined: bool) -> Owned {
        let mut spec = Fields::new();
        if !is_joined {
            let path = format!("${}", self.path.join("."));
            spec.push(("path".to_owned(), Owned::String(path)));
        }
        if is_joined || self.preserve {
            spec.push((
                "preserveNullAndEmptyArrays".to_owned(),
                Owned::Bool(self.preserve),
            ));
        }
        if let Some(index) = &self.index {
            spec.push(("includeArrayIndex".to_owned(), Owned::String(index.join("."))));
        }
        Owned::Document(spec)
    }

    /// Whether this is the array that it takes apart.
    pub(in super::super) fn is_of(&self, path: &[String]) -> bool {
        self.path == path
    }

    /// Adds the path of the array.
    pub(in super::super) fn add_needs(&self, needs: &mut Needs) {
        needs.add(&self.path.join("."));
    }

    /// What it does to the paths of a document.
    pub(in super::super) fn changes(&self) -> Changes {
        let paths = [Some(&self.path), self.index.as_ref()];
        Changes::only(paths.into_iter().flatten().map(|path| path.join(".")).collect())
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>) -> Rows<'a> {
        Box::new(input.flat_map(move |row| match row {
            Ok(row) => self.unwind(row),
            Err(fault) => Unwound::One(Some(Err(fault))),
        }))
    }

    fn unwind(&self, row: Row) -> Unwound {
        let doc = Doc::Raw(&row);
        match path::get(doc, &self.path) {
            None | Some(Value::Null | Value::Undefined) if !self.preserve => Unwound::One(None),
            Some(Value::Array(items)) if items.is_empty() => match self.preserve {
                true => Unwound::One(Some(self.alone(&row, true))),
                false => Unwound::One(None),
            },
            Some(Value::Array(items)) => match Places::of(self, &row) {
                Some(places) => Unwound::Items(Box::new(Items { row, places })),
                // One place is in the other.
                None => {
                    let mut fields = fields_of(doc);
                    let made = items.values().enumerate().map(|(index, item)| {
                        path::set(&mut fields, &self.path, Some(item.into()));
                        self.set_index(&mut fields, Owned::Int64(index as i64));
                        Ok(row.made(Doc::Fields(&fields).to_bytes()))
                    });
                    Unwound::Made(made.collect::<Vec<_>>().into_iter())
                }
            },
            _ if self.index.is_none() => Unwound::One(Some(Ok(row))),
            _ => Unwound::One(Some(self.alone(&row, false))),
        }
    }

    /// The document without an element of an array: what is no array or none, and an empty array.
    fn alone(&self, row: &Row, removed: bool) -> Result<Row> {
        let mut fields = fields_of(Doc::Raw(row));
        if removed {
            path::set(&mut fields, &self.path, None);
        }
        self.set_index(&mut fields, Owned::Null);
        Ok(row.made(write(Owned::Document(fields))?))
    }

    fn set_index(&self, fields: &mut Fields, index: Owned) {
        if let Some(path) = &self.index {
            path::set(fields, path, Some(index));
        }
    }
}

/// What becomes of one document.
enum Unwound {
    One(Option<Result<Row>>),
    Items(Box<Items>),
    Made(std::vec::IntoIter<Result<Row>>),
}

impl Iterator for Unwound {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        match self {
            Unwound::One(row) => row.take(),
            Unwound::Items(items) => items.next().map(Ok),
            Unwound::Made(rows) => rows.next(),
        }
    }
}

/// The elements of an array that are still to come, each in the place of the array.
struct Items {
    /// The document that holds the array.
    row: Row,
    places: Places,
}

/// Where things are in a document that holds an array.
struct Places {
    /// Where the next element begins.
    next: usize,
    /// The place of the array in the document, or in what stands for it.
    array: Splice,
    /// The document with room for the position of an element, and where that is.
    indexed: Option<(Vec<u8>, Range<usize>)>,
    /// The position of the next element.
    position: i64,
}

impl Places {
    /// Those of a document that has the array; none where the position is part of an element, or holds it.
    fn of(unwind: &Unwind, row: &Row) -> Option<Places> {
        let own = Splice::at(row, &unwind.path)?;
        let next = own.value().start + FRAME;
        let (array, indexed) = match &unwind.index {
            None => (own, None),
            Some(index) if index.starts_with(&unwind.path) || unwind.path.starts_with(index) => return None,
            Some(index) => {
                let mut fields = fields_of(Doc::Raw(row));
                path::set(&mut fields, &unwind.path, Some(Owned::Null));
                path::set(&mut fields, index, Some(Owned::Int64(0)));
                let document = Doc::Fields(&fields).to_bytes();
                let position = Splice::at(&document, index)?.value();
                (Splice::at(&document, &unwind.path)?, Some((document, position)))
            }
        };
        Some(Places {
            next,
            array,
            indexed,
            position: 0,
        })
    }
}

impl Iterator for Items {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let Places {
            next,
            array,
            indexed,
            position,
        } = &mut self.places;
        let (kind, value) = element(&self.row, *next)?;
        *next = value.end;
        let payload = &self.row[value];
        let document = match indexed {
            None => array.with(&self.row, kind, payload),
            Some((document, at)) => {
                // The array may stand before it, and then what is made of the document is moved, not this.
                document[at.clone()].copy_from_slice(&position.to_le_bytes());
                array.with(document, kind, payload)
            }
        };
        *position += 1;
        Some(self.row.made(document))
    }
}
