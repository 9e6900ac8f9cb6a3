//! Small changes of encoded documents.

use bson::raw::{CStr, CString};
use bson::{RawBson, RawDocument, RawDocumentBuf};

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

/// The integer in a field.
pub(crate) fn integer(document: &RawDocument, name: &str) -> Option<i64> {
    match document.get(name) {
        Ok(Some(bson::RawBsonRef::Int32(value))) => Some(value.into()),
        Ok(Some(bson::RawBsonRef::Int64(value))) => Some(value),
        _ => None,
    }
}

/// The value at a dotted path through documents.
pub(crate) fn at<'d>(document: &'d RawDocument, path: &str) -> Option<bson::RawBsonRef<'d>> {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = document.get(first).ok().flatten()?;
    match (rest, value) {
        (None, value) => Some(value),
        (Some(rest), bson::RawBsonRef::Document(inner)) => at(inner, rest),
        (Some(_), _) => None,
    }
}
