//! Small changes of encoded documents.

use bson::raw::{CStr, CString};
use bson::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::validator::malformed;
use crate::error::{Error, ErrorKind, Result};

/// The document with this value in this field, where the field was or at the end.
pub(crate) fn with_field(document: &RawDocument, name: &str, value: RawBson) -> Result<RawDocumentBuf> {
    let mut changed = RawDocumentBuf::new();
    let mut value = Some(value);
    for element in document {
        let (key, old) = element.map_err(malformed)?;
        match (key.as_str() == name, value.take()) {
            (true, Some(new)) => changed.append(key, new),
            (true, None) => {}
            (false, kept) => {
                value = kept;
                changed.append(key, old);
            }
        }
    }
    if let Some(value) = value {
        changed.append(key(name)?, value);
    }
    Ok(changed)
}

/// The document without this field.
pub(crate) fn without(document: &RawDocument, name: &str) -> RawDocumentBuf {
    let mut changed = RawDocumentBuf::new();
    for (key, value) in document.iter().flatten().filter(|(key, _)| key.as_str() != name) {
        changed.append(key, value);
    }
    changed
}

/// A name as BSON takes it.
pub(crate) fn key(name: &str) -> Result<CString> {
    CString::try_from(name).map_err(|error| {
        Error::new(ErrorKind::InvalidArgument, "a field name holds a nul").with_source(error)
    })
}

/// A document of one field.
pub(crate) fn single(name: &CStr, value: impl Into<RawBson>) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    document.append(name, value.into());
    document
}

/// The schema of what is this very value: strings by their bytes, fields in any order.
pub(crate) fn one_of(value: impl Into<bson::RawBson>) -> RawDocumentBuf {
    let mut values = bson::RawArrayBuf::new();
    values.push(value.into());
    single(bson::cstr!("enum"), values)
}

/// The filter with another condition, all fields of which must hold too.
pub(crate) fn narrowed(filter: &RawDocument, condition: &RawDocument) -> Result<RawDocumentBuf> {
    let mut all = filter.to_owned();
    for element in condition {
        let (name, value) = element.map_err(malformed)?;
        if filter.get(name).map_err(malformed)?.is_some() {
            let mut both = bson::RawArrayBuf::new();
            both.push(filter.to_owned());
            both.push(condition.to_owned());
            return Ok(single(bson::cstr!("$and"), both));
        }
        all.append(name, value);
    }
    Ok(all)
}

/// Whether a path is the same as another, or goes on from it.
pub(crate) fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The integer in a field.
pub(crate) fn integer(document: &RawDocument, name: &str) -> Option<i64> {
    match document.get(name) {
        Ok(Some(bson::RawBsonRef::Int32(value))) => Some(value.into()),
        Ok(Some(bson::RawBsonRef::Int64(value))) => Some(value),
        _ => None,
    }
}

/// The value at a dotted path through documents, and through arrays by positions.
pub(crate) fn at<'d>(document: &'d RawDocument, path: &str) -> Option<RawBsonRef<'d>> {
    within(RawBsonRef::Document(document), path)
}

/// The value at a dotted path in a value; the value itself by an empty one.
pub(super) fn within<'d>(value: RawBsonRef<'d>, path: &str) -> Option<RawBsonRef<'d>> {
    if path.is_empty() {
        return Some(value);
    }
    path.split('.').try_fold(value, |value, segment| match value {
        RawBsonRef::Document(document) => document.get(segment).ok().flatten(),
        RawBsonRef::Array(array) => array.get(segment.parse().ok()?).ok().flatten(),
        _ => None,
    })
}

/// The document with this value at a dotted path through documents.
pub(super) fn with_path(document: &RawDocument, path: &str, value: RawBson) -> Result<RawDocumentBuf> {
    let Some((first, rest)) = path.split_once('.') else {
        return with_field(document, path, value);
    };
    let inner = match document.get(first) {
        Ok(Some(RawBsonRef::Document(inner))) => inner.to_owned(),
        _ => RawDocumentBuf::new(),
    };
    with_field(
        document,
        first,
        RawBson::Document(with_path(&inner, rest, value)?),
    )
}
