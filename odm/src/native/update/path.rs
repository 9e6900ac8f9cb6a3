//! Update paths: their rules, the order of field names, and where an error happened.

use std::cmp::Ordering;
use std::fmt;

use super::super::fault::{Fault, Result, code};

/// The most segments a path may have; a deeper document could not be stored.
const MAX_SEGMENTS: usize = 255;

/// Splits a path, refusing empty names.
pub(super) fn split(path: &str) -> Result<Vec<&str>> {
    if path.is_empty() {
        return Err(Fault::new(
            code::EMPTY_FIELD_NAME,
            "An empty update path is not valid.",
        ));
    }
    let segments: Vec<&str> = path.split('.').collect();
    if segments.iter().any(|segment| segment.is_empty()) {
        return Err(Fault::new(
            code::EMPTY_FIELD_NAME,
            format!("The update path '{path}' contains an empty field name, which is not allowed."),
        ));
    }
    if segments.len() > MAX_SEGMENTS {
        return Err(super::too_deep());
    }
    Ok(segments)
}

/// Splits a path that may have `$`, `$[]` and `$[id]`.
pub(super) fn split_dynamic(path: &str) -> Result<Vec<&str>> {
    let segments = split(path)?;
    let refused = |message| Err(Fault::new(code::BAD_VALUE, message));
    if segments.iter().filter(|segment| is_positional(segment)).count() > 1 {
        return refused(format!(
            "Too many positional (i.e. '$') elements found in path '{path}'"
        ));
    }
    if is_positional(segments[0]) {
        return refused(format!(
            "Cannot have positional (i.e. '$') element in the first position in path '{path}'"
        ));
    }
    Ok(segments)
}

/// Refuses a path that begins with `$[id]`: what is wrong with its operand is told before.
pub(super) fn check_start(path: &str, segments: &[&str]) -> Result<()> {
    if identifier(segments[0]).is_none() {
        return Ok(());
    }
    Err(Fault::new(
        code::BAD_VALUE,
        format!(
            "Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '{path}'"
        ),
    ))
}

/// Whether the segment is the positional `$`.
pub(super) fn is_positional(segment: &str) -> bool {
    segment == "$"
}

/// The identifier of `$[identifier]`; empty for `$[]`.
pub(super) fn identifier(segment: &str) -> Option<&str> {
    segment.strip_prefix("$[")?.strip_suffix(']')
}

/// The array position that a name stands for. Leading zeros are allowed here, unlike in filters.
pub(super) fn array_index(name: &str) -> Option<usize> {
    let digits = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    if !digits {
        return None;
    }
    // However many zeros there are.
    name.parse::<u32>().ok()?.try_into().ok()
}

/// The order in which the server applies fields and creates new ones: by name, whole numbers by value.
pub(super) fn compare_names(a: &str, b: &str) -> Ordering {
    if is_number(a) && is_number(b) {
        a.len().cmp(&b.len()).then_with(|| a.cmp(b))
    } else {
        a.cmp(b)
    }
}

fn is_number(name: &str) -> bool {
    name == "0"
        || (name.as_bytes().first().is_some_and(|b| (b'1'..=b'9').contains(b))
            && name.bytes().all(|b| b.is_ascii_digit()))
}

/// A place in the document, as a chain to the root; cheap to make, printed only in errors.
#[derive(Clone, Copy)]
pub(super) struct Location<'a> {
    parent: Option<&'a Location<'a>>,
    name: Name<'a>,
}

/// A field name or an array position.
#[derive(Clone, Copy)]
pub(super) enum Name<'a> {
    Field(&'a str),
    Index(usize),
}

impl<'a> Location<'a> {
    /// A field of the document itself.
    pub(super) fn root(name: &'a str) -> Location<'a> {
        Location {
            parent: None,
            name: Name::Field(name),
        }
    }

    pub(super) fn field(&'a self, name: &'a str) -> Location<'a> {
        Location {
            parent: Some(self),
            name: Name::Field(name),
        }
    }

    pub(super) fn index(&'a self, index: usize) -> Location<'a> {
        Location {
            parent: Some(self),
            name: Name::Index(index),
        }
    }

    /// The last name alone.
    pub(super) fn name(&self) -> Name<'a> {
        self.name
    }

    /// Whether this is the document's `_id`.
    pub(super) fn is_id(&self) -> bool {
        self.parent.is_none() && matches!(self.name, Name::Field("_id"))
    }

    /// The location that contains this one.
    pub(super) fn parent(&self) -> Option<&'a Location<'a>> {
        self.parent
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Field(name) => f.write_str(name),
            Name::Index(index) => write!(f, "{index}"),
        }
    }
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}.")?;
        }
        self.name.fmt(f)
    }
}
