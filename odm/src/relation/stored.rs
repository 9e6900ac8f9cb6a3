//! What stands at a path of a stored document.

use bson::{RawArray, RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::place;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Path, Segment};
use crate::schema::EVERY;

/// The step to all values of a map: no name of a field holds a NUL.
const VALUES: &str = "\0";

/// The names of a path, outermost first.
#[derive(Clone, Debug)]
pub(super) struct Steps(Vec<String>);

impl Steps {
    /// The names of a field's path.
    ///
    /// # Errors
    /// `InvalidArgument` for a path with positions that only updates have.
    pub(super) fn of(path: &Path) -> Result<Steps> {
        let steps = Steps::searched(path)?;
        match steps.has_values() {
            true => Err(positional(path)),
            false => Ok(steps),
        }
    }

    /// The names of a field's path, on which may be all values of a map.
    ///
    /// # Errors
    /// As [`Steps::of`].
    pub(super) fn searched(path: &Path) -> Result<Steps> {
        let mut names = Vec::new();
        for segment in path.segments() {
            match segment {
                Segment::Name(_) | Segment::Key(_) | Segment::Index(_) => names.push(segment.to_string()),
                Segment::Any => {}
                Segment::Where(condition) if condition.is_every_value() => names.push(VALUES.to_owned()),
                Segment::Where(condition) => {
                    condition.document("f0")?;
                    return Err(positional(path));
                }
                Segment::Matched | Segment::All | Segment::Filtered(_) => return Err(positional(path)),
            }
        }
        Ok(Steps(names))
    }

    /// The names of a dotted path.
    pub(super) fn dotted(path: &str) -> Steps {
        Steps(path.split('.').map(str::to_owned).collect())
    }

    /// The path of a declared reference, in which a map's values are reached by [`EVERY`].
    pub(super) fn declared(path: &str) -> Steps {
        let names = path.split('.').map(|name| match name {
            EVERY => VALUES.to_owned(),
            name => name.to_owned(),
        });
        Steps(names.collect())
    }

    /// Whether a map's values are on the way, which filters do not reach.
    pub(super) fn has_values(&self) -> bool {
        self.0.iter().any(|name| name == VALUES)
    }

    /// All that is at the path, arrays in arrays and maps included, as an expression that gives a flat array.
    pub(super) fn collected(&self) -> RawBson {
        collected(&self.0, "$$ROOT".to_owned())
    }

    /// The dotted text.
    pub(super) fn text(&self) -> String {
        self.0.join(".")
    }

    /// The text for people: a map's values by [`EVERY`].
    pub(super) fn shown(&self) -> String {
        self.text().replace(VALUES, EVERY)
    }

    /// Whether it is the name of a field of the document itself.
    pub(super) fn is_plain(&self) -> bool {
        self.0.len() == 1
    }

    /// The outermost name: the field that must be fetched.
    pub(super) fn root(&self) -> Option<&str> {
        self.0.first().map(String::as_str)
    }

    /// The only value at the path.
    ///
    /// # Errors
    /// `InvalidArgument` when an array of documents is on the way.
    pub(super) fn one<'a>(&self, document: &'a RawDocument) -> Result<Option<RawBsonRef<'a>>> {
        let mut value = RawBsonRef::Document(document);
        for name in &self.0 {
            let next = match value {
                RawBsonRef::Document(document) => document.get(name).map_err(malformed)?,
                RawBsonRef::Array(array) => match name.parse::<usize>() {
                    Ok(index) => array.get(index).map_err(malformed)?,
                    Err(_) => {
                        let message =
                            "the relation's path leads through an array; load each element's by `every`";
                        return Err(Error::new(ErrorKind::InvalidArgument, message).with_path(self.text()));
                    }
                },
                _ => None,
            };
            match next {
                Some(next) => value = next,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }

    /// Every value at the path, arrays on the way entered as MongoDB's filters do.
    pub(super) fn each<'a>(
        &self,
        document: &'a RawDocument,
        give: &mut dyn FnMut(RawBsonRef<'a>) -> Result<()>,
    ) -> Result<()> {
        walk(RawBsonRef::Document(document), &self.0, give)
    }
}

fn collected(names: &[String], mut base: String) -> RawBson {
    let Some(values) = names.iter().position(|name| name == VALUES) else {
        for name in names {
            base.push('.');
            base.push_str(name);
        }
        return RawBson::Document(flat(base));
    };
    for name in &names[..values] {
        base.push('.');
        base.push_str(name);
    }
    let entries = rawdoc! { "$map": { "input": { "$objectToArray": "$$this" }, "as": "e", "in": "$$e.v" } };
    let is_document = rawdoc! { "$eq": [{ "$type": "$$this" }, "object"] };
    let entries = place::when(is_document, entries, RawArrayBuf::new());
    let inside = rawdoc! { "$reduce": {
        "input": flat(base),
        "initialValue": [],
        "in": { "$concatArrays": ["$$value", entries] },
    } };
    // A name on an array of documents gives those of its elements.
    let rest = collected(&names[values + 1..], "$$inside".to_owned());
    RawBson::Document(rawdoc! { "$let": { "vars": { "inside": inside }, "in": rest } })
}

/// The elements at `base`, those of arrays in them too; a single value as the only one.
fn flat(base: String) -> RawDocumentBuf {
    let listed = |value: &str| place::when(rawdoc! { "$isArray": [value] }, value, rawarray(value));
    rawdoc! { "$reduce": {
        "input": listed(&base),
        "initialValue": [],
        "in": { "$concatArrays": ["$$value", listed("$$this")] },
    } }
}

fn rawarray(value: &str) -> RawArrayBuf {
    let mut array = RawArrayBuf::new();
    array.push(value);
    array
}

fn walk<'a>(
    value: RawBsonRef<'a>,
    names: &[String],
    give: &mut dyn FnMut(RawBsonRef<'a>) -> Result<()>,
) -> Result<()> {
    let Some((name, rest)) = names.split_first() else {
        return give(value);
    };
    match value {
        RawBsonRef::Document(document) if name == VALUES => {
            for field in document {
                walk(field.map_err(malformed)?.1, rest, give)?;
            }
            Ok(())
        }
        RawBsonRef::Document(document) => match document.get(name).map_err(malformed)? {
            Some(value) => walk(value, rest, give),
            None => Ok(()),
        },
        RawBsonRef::Array(array) => match name.parse::<usize>() {
            Ok(index) => match array.get(index).map_err(malformed)? {
                Some(value) => walk(value, rest, give),
                None => Ok(()),
            },
            Err(_) => elements(array, &mut |element| walk(element, names, give)),
        },
        _ => Ok(()),
    }
}

/// Gives the elements of an array.
pub(super) fn elements<'a>(
    array: &'a RawArray,
    give: &mut dyn FnMut(RawBsonRef<'a>) -> Result<()>,
) -> Result<()> {
    for element in array {
        give(element.map_err(malformed)?)?;
    }
    Ok(())
}

/// The error of bytes that cannot be walked.
pub(super) fn malformed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Corrupt, "the stored document is malformed").with_source(error)
}

pub(super) fn positional(path: &Path) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "a relation's path has no positions of updates; load each element's by `every`, each value's by `values`",
    )
    .with_path(path.to_string())
}
