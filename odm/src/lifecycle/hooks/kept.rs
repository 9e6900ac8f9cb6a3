//! What a document holds that its model does not read: fields that are written and never read, and those of others.
//!
//! A hook gets the document as the model reads it. What it changes there is changed in the document; the rest of the
//! document stays.

use std::collections::{BTreeSet, HashMap, VecDeque};

use bson::raw::CStr;
use bson::{RawArray, RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use crate::error::Result;
use crate::lifecycle::document::single;
use crate::lifecycle::validator::malformed;

/// The document with what a hook made of `seen`, which is how the model reads the document.
pub(super) fn with_changes(
    document: &RawDocument,
    seen: &RawDocument,
    left: RawDocumentBuf,
) -> Result<RawDocumentBuf> {
    match document.as_bytes() == seen.as_bytes() {
        true => Ok(left),
        false => merged(document, seen, &left),
    }
}

fn merged(document: &RawDocument, seen: &RawDocument, left: &RawDocument) -> Result<RawDocumentBuf> {
    let mut merged = RawDocumentBuf::new();
    for element in document {
        let (name, stored) = element.map_err(malformed)?;
        let seen = seen.get(name).map_err(malformed)?;
        match left.get(name).map_err(malformed)? {
            Some(left) => merged.append(name, value(stored, seen, left)?),
            None if seen.is_none() => merged.append(name, stored),
            None => {}
        }
    }
    for element in left {
        let (name, left) = element.map_err(malformed)?;
        let is_new = document.get(name).map_err(malformed)?.is_none();
        if is_new && seen.get(name).map_err(malformed)? != Some(left) {
            merged.append(name, left);
        }
    }
    Ok(merged)
}

fn value(stored: RawBsonRef<'_>, seen: Option<RawBsonRef<'_>>, left: RawBsonRef<'_>) -> Result<RawBson> {
    Ok(match (stored, seen, left) {
        (stored, Some(seen), left) if seen == left => stored.into(),
        (RawBsonRef::Document(stored), Some(RawBsonRef::Document(seen)), RawBsonRef::Document(left)) => {
            RawBson::Document(merged(stored, seen, left)?)
        }
        (RawBsonRef::Array(stored), Some(RawBsonRef::Array(seen)), RawBsonRef::Array(left)) => {
            RawBson::Array(elements(stored, seen, left)?)
        }
        (_, _, left) => left.into(),
    })
}

/// Elements that are still there, wherever they are now, are as they were. In an array of the same length, what is another
/// is what the element in its place became, unless that one is elsewhere now.
fn elements(stored: &RawArray, seen: &RawArray, array: &RawArray) -> Result<RawArrayBuf> {
    let (stored, seen, left) = (all(stored)?, all(seen)?, all(array)?);
    if !are_in_order(&stored, &seen) {
        return Ok(array.to_owned());
    }
    let mut origins: Vec<Option<usize>> = (left.iter().enumerate())
        .map(|(place, left)| (seen.get(place) == Some(left)).then_some(place))
        .collect();
    let mut is_taken = vec![false; seen.len()];
    for place in origins.iter().flatten() {
        is_taken[*place] = true;
    }
    let mut free: HashMap<Vec<u8>, VecDeque<usize>> = HashMap::new();
    for (place, seen) in seen.iter().enumerate().filter(|(place, _)| !is_taken[*place]) {
        free.entry(bytes(*seen)).or_default().push_back(place);
    }
    for (origin, left) in origins
        .iter_mut()
        .zip(&left)
        .filter(|(origin, _)| origin.is_none())
    {
        *origin = free.get_mut(&bytes(*left)).and_then(VecDeque::pop_front);
        if let Some(place) = *origin {
            is_taken[place] = true;
        }
    }
    let is_in_place = seen.len() == left.len();
    let mut merged = RawArrayBuf::new();
    for (place, (origin, left)) in origins.into_iter().zip(left).enumerate() {
        let origin = origin.or_else(|| (is_in_place && !is_taken[place]).then_some(place));
        merged.push(
            match origin.and_then(|place| Some((stored.get(place)?, seen.get(place)?))) {
                Some((stored, seen)) => value(*stored, Some(*seen), left)?,
                None => left.into(),
            },
        );
    }
    Ok(merged)
}

/// Whether the elements were read in their order, which those of a hash set are not.
fn are_in_order(stored: &[RawBsonRef<'_>], seen: &[RawBsonRef<'_>]) -> bool {
    let pairs = stored.iter().copied().map(Some).zip(seen.iter().copied());
    stored.len() == seen.len() && agree(&pairs.collect::<Vec<_>>())
}

/// Whether what was seen is what is stored, but for fields that are the same in all that was seen: those that are not read
/// are at their default.
fn agree(pairs: &[(Option<RawBsonRef<'_>>, RawBsonRef<'_>)]) -> bool {
    if pairs.iter().all(|(stored, seen)| *stored == Some(*seen)) {
        return true;
    }
    let documents: Option<Vec<(&RawDocument, &RawDocument)>> = (pairs.iter())
        .map(|pair| match pair {
            (Some(RawBsonRef::Document(stored)), RawBsonRef::Document(seen)) => Some((*stored, *seen)),
            _ => None,
        })
        .collect();
    let Some(documents) = documents else {
        return pairs.windows(2).all(|two| two[0].1 == two[1].1);
    };
    let names: BTreeSet<&CStr> = (documents.iter())
        .flat_map(|(_, seen)| seen.iter().flatten().map(|(name, _)| name))
        .collect();
    names.into_iter().all(|name| {
        let fields = documents.iter().filter_map(|(stored, seen)| {
            let seen = seen.get(name).ok().flatten()?;
            Some((stored.get(name).ok().flatten(), seen))
        });
        agree(&fields.collect::<Vec<_>>())
    })
}

fn all(array: &RawArray) -> Result<Vec<RawBsonRef<'_>>> {
    array.into_iter().collect::<Result<_, _>>().map_err(malformed)
}

fn bytes(value: RawBsonRef<'_>) -> Vec<u8> {
    single(bson::cstr!("v"), value).into_bytes()
}
