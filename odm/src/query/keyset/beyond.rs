//! The filter of what is behind a place.
//!
//! Comparisons in filters stay within a type's class, so that "greater in the order" is several conditions: greater in
//! the class, of a class above, null or missing where that is above. An array has a place for each element, and is
//! where its least one is, or its greatest where the order descends: it is behind a place if none of its elements is at
//! or before the place, and before one if any of them is.

use bson::raw::{CStr, CString, cstr};
use bson::{RawArrayBuf, RawBson, RawDocumentBuf};

use super::class::Class;
use super::order::is_nan;
use crate::error::Result;
use crate::query::encode::path_text;

/// One field of an order, and where in it.
pub(super) struct Stand<'p> {
    pub(super) path: &'p str,
    pub(super) value: &'p RawBson,
    pub(super) descending: bool,
}

/// The documents that are behind, or before; with `inclusive` also the one there.
///
/// One alternative for each field that may differ first, so that the alternatives are disjoint parts of an index over
/// the order.
pub(super) fn filter(stands: &[Stand<'_>], before: bool, inclusive: bool) -> Result<RawDocumentBuf> {
    let alternatives = alternatives(stands, before, inclusive)?;
    let all: RawArrayBuf = alternatives.into_iter().collect();
    Ok(match all.is_empty() {
        // Nothing is beyond the end.
        true => single(
            cstr!("$nor"),
            [RawDocumentBuf::new()].into_iter().collect::<RawArrayBuf>(),
        ),
        false => single(cstr!("$or"), all),
    })
}

fn alternatives(stands: &[Stand<'_>], before: bool, inclusive: bool) -> Result<Vec<RawDocumentBuf>> {
    let Some((stand, rest)) = stands.split_first() else {
        return Ok(match inclusive {
            true => vec![RawDocumentBuf::new()],
            false => Vec::new(),
        });
    };
    let inner = alternatives(rest, before, inclusive)?;
    let mut all = Vec::new();
    if !inner.is_empty() {
        for equal in stand.equal()? {
            match Class::of(stand.value.as_raw_bson_ref()) {
                // MongoDB merges the parts of an index by what documents hold, and takes missing to be before null:
                // they are one part then, whose other conditions its planner cannot turn into parts again.
                Class::Null if inner.len() > 1 => {
                    let mut both = equal;
                    if let Some(next) = rest.first() {
                        both.extend(next.narrow(before)?);
                    }
                    let inner = single(cstr!("$nor"), inner.iter().cloned().collect::<RawArrayBuf>());
                    both.push((
                        cstr!("$nor").to_owned(),
                        [inner].into_iter().collect::<RawArrayBuf>().into(),
                    ));
                    all.push(joined(both));
                }
                _ => {
                    for inner in &inner {
                        let mut both = equal.clone();
                        for element in inner {
                            let (name, value) = element.map_err(super::malformed)?;
                            both.push((name.to_owned(), value.into()));
                        }
                        all.push(joined(both));
                    }
                }
            }
        }
    }
    all.extend(stand.beyond(before)?);
    Ok(all)
}

/// Conditions on fields, and operators beside them.
type Conditions = Vec<(CString, RawBson)>;

/// All of them as one document. What is there twice is put together.
fn joined(conditions: Conditions) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    let mut none = RawArrayBuf::new();
    let mut seen: Vec<CString> = Vec::new();
    let mut more = RawArrayBuf::new();
    for (name, value) in conditions {
        match value {
            RawBson::Array(array) if name == *cstr!("$nor") => {
                for condition in array.into_iter().flatten() {
                    none.push(RawBson::from(condition));
                }
            }
            value if seen.contains(&name) || name.as_str().starts_with('$') => {
                let mut other = RawDocumentBuf::new();
                other.append(&name, value);
                more.push(other);
            }
            value => {
                document.append(&name, value);
                seen.push(name);
            }
        }
    }
    if !none.is_empty() {
        document.append(cstr!("$nor"), none);
    }
    if !more.is_empty() {
        document.append(cstr!("$and"), more);
    }
    document
}

impl Stand<'_> {
    fn is_id(&self) -> bool {
        self.path == "_id"
    }

    fn name(&self) -> Result<CString> {
        path_text(self.path.to_owned())
    }

    /// What is at this place: an array if it has the value, and none before it.
    fn equal(&self) -> Result<Vec<Conditions>> {
        let name = self.name()?;
        let none = match self.is_id() {
            true => Vec::new(),
            false => keys_beyond(self.value, !self.descending, false),
        };
        let equals = keys_equal(self.value).into_iter();
        Ok(equals
            .map(|equal| with_none(&name, equal, none.clone()))
            .collect())
    }

    fn beyond(&self, before: bool) -> Result<Vec<RawDocumentBuf>> {
        let name = self.name()?;
        let less = self.descending != before;
        let none = match before || self.is_id() {
            true => Vec::new(),
            false => {
                let mut none = keys_beyond(self.value, !less, false);
                none.extend(keys_equal(self.value));
                none
            }
        };
        let found = keys_beyond(self.value, less, self.is_id()).into_iter();
        Ok(found
            .map(|found| joined(with_none(&name, found, none.clone())))
            .collect())
    }

    /// What is true of all that is at this place or beyond it, and bounds an index.
    fn narrow(&self, before: bool) -> Result<Conditions> {
        let is_plain = Class::of(self.value.as_raw_bson_ref()).least().is_some() && !is_nan(self.value);
        // An array that is before a place may have elements behind it.
        if !is_plain || (before && !self.is_id()) {
            return Ok(Vec::new());
        }
        let wrong = single(
            match self.descending == before {
                true => cstr!("$lt"),
                false => cstr!("$gt"),
            },
            self.value.clone(),
        );
        Ok(vec![(self.name()?, single(cstr!("$not"), wrong).into())])
    }
}

fn with_none(name: &CStr, found: RawDocumentBuf, none: Vec<RawDocumentBuf>) -> Conditions {
    let mut conditions = vec![(name.to_owned(), RawBson::Document(found))];
    if !none.is_empty() {
        let none: RawArrayBuf = none.into_iter().map(|none| single(name, none)).collect();
        conditions.push((cstr!("$nor").to_owned(), none.into()));
    }
    conditions
}

/// Less (or greater) in the order, of a value or any element of an array.
///
/// An `_id` is never missing and no array: null is one more type, and neither it nor NaN an equality, for which MongoDB
/// would leave the index over the order for that on `_id`, and sort in memory.
fn keys_beyond(value: &RawBson, less: bool, is_id: bool) -> Vec<RawDocumentBuf> {
    let class = Class::of(value.as_raw_bson_ref());
    let comparison = match less {
        true => cstr!("$lt"),
        false => cstr!("$gt"),
    };
    let mut conditions = Vec::new();
    match class {
        class if class.is_single() => {}
        // NaN is the least number, and no comparison finds it.
        Class::Number if is_nan(value) && less => {}
        Class::Number if is_nan(value) => conditions.push(single(cstr!("$gte"), f64::NEG_INFINITY)),
        Class::Number if less => {
            conditions.push(single(comparison, value.clone()));
            conditions.push(match is_id {
                true => {
                    let mut nan = single(cstr!("$type"), "number");
                    nan.append(cstr!("$not"), single(cstr!("$gte"), f64::NEG_INFINITY));
                    nan
                }
                false => single(cstr!("$eq"), f64::NAN),
            });
        }
        // What is ordered as an array is an element of one; the whole would be compared, too.
        Class::Array => conditions.push(single(cstr!("$elemMatch"), single(comparison, value.clone()))),
        _ => conditions.push(single(comparison, value.clone())),
    }
    let mut others = class.others(less);
    if class.has(Class::Null, less) {
        match is_id {
            true => others.push("null"),
            false => conditions.push(null()),
        }
    }
    if class.has(Class::Undefined, less) && !is_id {
        conditions.push(empty());
    }
    if class.has(Class::Array, less) && !is_id {
        conditions.push(nested());
    }
    if !others.is_empty() {
        conditions.push(single(
            cstr!("$type"),
            others.into_iter().collect::<RawArrayBuf>(),
        ));
    }
    conditions
}

/// Equal in the order, of a value or any element of an array.
fn keys_equal(value: &RawBson) -> Vec<RawDocumentBuf> {
    match value {
        RawBson::Null => vec![null()],
        RawBson::Undefined => vec![single(cstr!("$type"), "undefined"), empty()],
        RawBson::Array(_) => vec![single(cstr!("$elemMatch"), single(cstr!("$eq"), value.clone()))],
        value => vec![single(cstr!("$eq"), value.clone())],
    }
}

/// Equality with null finds undefined too, which comes before it in the order.
fn null() -> RawDocumentBuf {
    let mut condition = single(cstr!("$eq"), RawBson::Null);
    condition.append(cstr!("$not"), single(cstr!("$type"), "undefined"));
    condition
}

/// The empty array, which is ordered as undefined. The equality gives the index its bounds.
fn empty() -> RawDocumentBuf {
    let mut condition = single(cstr!("$eq"), RawArrayBuf::new());
    condition.append(cstr!("$size"), 0);
    condition
}

/// An array that has an array as an element. That such an element is no null, and no value of the classes that fields
/// have, says nothing more, but keeps the index from being read where there are only those.
fn nested() -> RawDocumentBuf {
    let conditions = Class::COMPARED
        .iter()
        .filter_map(|class| class.least())
        .map(|least| {
            let mut element = single(cstr!("$type"), "array");
            element.append(cstr!("$ne"), RawBson::Null);
            element.append(cstr!("$not"), single(cstr!("$gte"), least));
            single(cstr!("$elemMatch"), element)
        });
    single(cstr!("$all"), conditions.collect::<RawArrayBuf>())
}

fn single(name: &CStr, value: impl Into<RawBson>) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    document.append(name, value.into());
    document
}
