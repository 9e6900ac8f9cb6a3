//! What stands at a path of a stored document.

use bson::{RawArray, RawBsonRef, RawDocument};

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
        let mut names = Vec::new();
        for segment in path.segments() {
            match segment {
                Segment::Name(_) | Segment::Key(_) | Segment::Index(_) => names.push(segment.to_string()),
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

    /// The dotted text.
    pub(super) fn text(&self) -> String {
        self.0.join(".")
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

fn positional(path: &Path) -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "a relation's path has no positions of updates; load each element's by `every`",
    )
    .with_path(path.to_string())
}
