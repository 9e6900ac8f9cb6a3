//! One changed value of a document, and how it is stored among the changes of others.

use bson::{RawArray, RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::alike::{Order, behind, has_alike, is_alike};
use super::elements::{Elements, array};
use super::guard::{self, Condition, value_at};
use super::number;
use crate::error::Result;
use crate::lifecycle::declared::Declared;
use crate::lifecycle::document;
use crate::lifecycle::place;
use crate::lifecycle::validator::malformed;
use crate::query::update::Action;

/// A value that is another than when it was loaded.
pub(super) struct Edit {
    pub(super) path: String,
    old: Option<RawBson>,
    new: Option<RawBson>,
    way: Way,
}

enum Way {
    /// By what it is now, whatever others made of it.
    Anyhow,
    /// By an operator where the value is of the kind that it takes. Else whole: if it is still what was seen, and if it is
    /// not, once more from what it is then.
    Merged { operator: Option<Action>, merge: Merge },
}

/// How a change is made of what others made of the value.
#[derive(Clone, Copy)]
pub(super) enum Merge {
    /// The difference is added; the sum keeps to the range.
    Number(Option<(i64, i64)>),
    /// What is new at the end of one array stays behind what is the other.
    List,
    /// What is gone is taken out, what has come is added.
    Set,
    /// Field by field, in documents of this type.
    Fields(&'static Declared),
}

/// A document that is another one by now.
pub(super) struct Seen {
    pub(super) stored: RawDocumentBuf,
    /// As the model would store it.
    pub(super) encoded: RawDocumentBuf,
    /// Makes the one of the other.
    pub(super) encode: fn(&RawDocument) -> Result<RawDocumentBuf>,
}

/// What a model means by a field that is not stored.
#[derive(Clone, Copy, PartialEq)]
enum Nothing {
    /// Zero, or what is empty.
    Empty,
    /// None.
    None,
    /// Something else.
    Unknown,
}

/// What is stored of an edit, and the condition of it.
pub(super) type Written = (Action, Option<Condition>);

impl Edit {
    pub(super) fn anyhow(path: String, new: Option<RawBsonRef<'_>>) -> Edit {
        Edit {
            path,
            old: None,
            new: new.map(RawBson::from),
            way: Way::Anyhow,
        }
    }

    pub(super) fn merged(
        path: String,
        old: Option<RawBsonRef<'_>>,
        new: Option<RawBsonRef<'_>>,
        operator: Option<Action>,
        merge: Merge,
    ) -> Edit {
        Edit {
            path,
            old: old.map(RawBson::from),
            new: new.map(RawBson::from),
            way: Way::Merged { operator, merge },
        }
    }

    /// What is stored where nobody else has changed the value.
    pub(super) fn first(&self) -> Written {
        match &self.way {
            Way::Anyhow => (put(self.new.clone()), None),
            Way::Merged {
                operator: Some(operator),
                merge,
            } => (operator.clone(), Some(self.takes(operator, *merge).into())),
            Way::Merged { .. } => {
                let condition = match &self.old {
                    None | Some(RawBson::Null) => guard::is_nothing(&self.path),
                    Some(old) => guard::is_still(&self.path, Some(old.as_raw_bson_ref())),
                };
                (put(self.new.clone()), Some(condition))
            }
        }
    }

    /// What is stored where somebody has, or where it is stored otherwise than the model stores it; none where the
    /// changes contradict each other. With the document as it was stored when it was loaded.
    pub(super) fn again(&self, seen: &Seen, was: &RawDocument) -> Result<Option<Written>> {
        let Way::Merged { operator, merge } = &self.way else {
            return Ok(Some(self.first()));
        };
        let current = value_at(&seen.stored, &self.path);
        if let (Some(Action::PullAll(gone)), Some(RawBsonRef::Array(stored))) = (operator, current) {
            let parted = self.elements(seen, was)?.parted(values(stored)?, gone)?;
            return Ok(parted.map(|parted| {
                let operator = Action::PullAll(parted.taken);
                let condition = self.takes(&operator, *merge);
                (operator, Some(condition.into()))
            }));
        }
        if let Some(operator) = operator
            && is_taken(operator, *merge, current)
        {
            return Ok(Some(self.first()));
        }
        let condition = guard::is_still(&self.path, current);
        let merged = self.merge(*merge, current, seen, was)?;
        Ok(merged.map(|value| (put(value), Some(condition))))
    }

    /// The stored elements, of which those that are gone are to be found.
    fn elements<'a>(&'a self, seen: &'a Seen, was: &'a RawDocument) -> Result<Elements<'a>> {
        Ok(Elements {
            seen,
            path: &self.path,
            was: value_at(was, &self.path),
            new: array(self.new.as_ref().map(RawBson::as_raw_bson_ref))?,
        })
    }

    /// The condition that the operator can be used.
    fn takes(&self, operator: &Action, merge: Merge) -> RawDocumentBuf {
        let path = || RawBson::String(format!("${}", self.path));
        let of = |operator, arguments: Vec<RawBson>| {
            document::single(operator, arguments.into_iter().collect::<RawArrayBuf>())
        };
        let Merge::Number(_) = merge else {
            let is_array = of(bson::cstr!("$isArray"), vec![path()]);
            let Action::PullAll(gone) = operator else {
                return is_array;
            };
            // What is taken out must be stored as it is known.
            let gone = document::single(
                bson::cstr!("$literal"),
                gone.iter().cloned().collect::<RawArrayBuf>(),
            );
            let holds = of(bson::cstr!("$setIsSubset"), vec![RawBson::Document(gone), path()]);
            let either = [is_array.into(), holds.into(), RawBson::Boolean(false)];
            return of(bson::cstr!("$cond"), either.to_vec());
        };
        let number = of(bson::cstr!("$isNumber"), vec![path()]);
        let bound = match limit(operator, merge) {
            Some(Limit::Most(most)) => of(bson::cstr!("$lte"), vec![path(), RawBson::Int64(most)]),
            Some(Limit::Least(least)) => of(bson::cstr!("$gte"), vec![path(), RawBson::Int64(least)]),
            None => return number,
        };
        document::single(bson::cstr!("$and"), guard::array([number, bound]))
    }

    /// What becomes of the stored value.
    fn merge(
        &self,
        merge: Merge,
        current: Option<RawBsonRef<'_>>,
        seen: &Seen,
        was: &RawDocument,
    ) -> Result<Option<Option<RawBson>>> {
        let known = value_at(&seen.encoded, &self.path);
        let old = self.old.as_ref().map(RawBson::as_raw_bson_ref);
        let has_parts = match merge {
            Merge::Fields(_) => true,
            // The elements that stay do so as they are stored.
            Merge::Set => matches!(
                (old, current),
                (Some(RawBsonRef::Array(_)), Some(RawBsonRef::Array(_)))
            ),
            Merge::Number(_) | Merge::List => false,
        };
        let is_unchanged = || match (known, old) {
            (Some(known), Some(old)) => {
                is_alike(known, old, Order::OfFields)
                    || current.is_some() && is_same(current, value_at(was, &self.path))
            }
            (known, old) => is_nothing(known) && is_nothing(old),
        };
        if !has_parts && is_unchanged() {
            return Ok(Some(self.new.clone()));
        }
        let empty = match merge {
            Merge::Number(_) => [&self.old, &self.new]
                .into_iter()
                .flatten()
                .find_map(|number| number::zero_like(number.as_raw_bson_ref())),
            Merge::List | Merge::Set => Some(RawBson::Array(RawArrayBuf::new())),
            Merge::Fields(_) => Some(RawBson::Document(RawDocumentBuf::new())),
        };
        let Some(empty) = empty else { return Ok(None) };
        let is_absent = self.old.is_none() || self.new.is_none() || known.is_none();
        let nothing = match is_absent {
            true => seen.nothing(&self.path, &empty)?,
            false => Nothing::Unknown,
        };
        if matches!(merge, Merge::Fields(_)) && self.new.is_none() && nothing != Nothing::Empty {
            // Not a map without keys, but no map.
            return Ok(Some(None));
        }
        if is_nothing(known) && self.new.as_ref().is_none_or(is_null) && nothing != Nothing::Empty {
            return Ok(Some(self.new.clone()));
        }
        let is_new = is_nothing(old);
        let old = match &self.old {
            None if nothing == Nothing::Unknown => return Ok(None),
            None | Some(RawBson::Null) => empty.clone(),
            Some(old) => old.clone(),
        };
        let new = match &self.new {
            None if nothing == Nothing::Empty => empty.clone(),
            None | Some(RawBson::Null) => return Ok(None),
            Some(new) => new.clone(),
        };
        let known = match known {
            None if nothing == Nothing::Empty || is_new => empty,
            Some(RawBsonRef::Null) if is_new => empty,
            None | Some(RawBsonRef::Null) => return Ok(None),
            Some(known) => known.into(),
        };
        let merged = match (merge, &old, &new, &known) {
            (Merge::Number(range), old, new, known) => {
                number::moved(known, old, new, range).map(|sum| (number::is_zero(&sum), sum))
            }
            (Merge::List, RawBson::Array(old), RawBson::Array(new), RawBson::Array(known)) => {
                let was = array(value_at(was, &self.path))?;
                list(
                    &values(old)?,
                    &values(new)?,
                    &values(known)?,
                    &was,
                    array(current)?,
                )
                .map(|list| (list.is_empty(), RawBson::Array(list.into_iter().collect())))
            }
            (Merge::Set, RawBson::Array(old), RawBson::Array(new), RawBson::Array(known)) => {
                let (old, new) = (values(old)?, values(new)?);
                let known = values(known)?;
                let stored = match current {
                    Some(RawBsonRef::Array(stored)) => values(stored)?,
                    _ => known.clone(),
                };
                let gone: Vec<RawBson> = old.iter().filter(|value| !new.contains(value)).cloned().collect();
                let Some(parted) = self.elements(seen, was)?.parted(stored, &gone)? else {
                    return Ok(None);
                };
                let mut set = parted.left;
                add(&mut set, &old, &new, &known);
                Some((set.is_empty(), RawBson::Array(set.into_iter().collect())))
            }
            (
                Merge::Fields(declared),
                RawBson::Document(old),
                RawBson::Document(new),
                RawBson::Document(known),
            ) => {
                let fields = match current {
                    Some(RawBsonRef::Document(stored)) => fields(declared, old, new, stored)?,
                    _ => fields(declared, old, new, known)?,
                };
                fields.map(|fields| (fields.is_empty(), RawBson::Document(fields)))
            }
            _ => None,
        };
        Ok(merged.map(|(is_empty, value)| (self.new.is_some() || !is_empty).then_some(value)))
    }
}

impl Seen {
    /// What the model means by nothing at the path.
    fn nothing(&self, path: &str, empty: &RawBson) -> Result<Nothing> {
        let with = document::with_path(&self.stored, path, empty.clone())?;
        if let Ok(encoded) = (self.encode)(&with)
            && value_at(&encoded, path).is_none()
        {
            return Ok(Nothing::Empty);
        }
        let with = document::with_path(&self.stored, path, RawBson::Null)?;
        Ok(match (self.encode)(&with) {
            Ok(_) => Nothing::None,
            Err(_) => Nothing::Unknown,
        })
    }
}

/// What a number must keep to so that its sum is in the range.
enum Limit {
    Most(i64),
    Least(i64),
}

fn limit(operator: &Action, merge: Merge) -> Option<Limit> {
    let (Action::Increment(step), Merge::Number(Some((least, most)))) = (operator, merge) else {
        return None;
    };
    let step = number::integer(step.as_raw_bson_ref())?;
    match step > 0 {
        true => most.checked_sub(step).map(Limit::Most),
        false => least.checked_sub(step).map(Limit::Least),
    }
}

/// Whether the operator takes the value.
fn is_taken(operator: &Action, merge: Merge, value: Option<RawBsonRef<'_>>) -> bool {
    let Some(value) = value else { return false };
    if !matches!(merge, Merge::Number(_)) {
        return matches!(value, RawBsonRef::Array(_));
    }
    let keeps = |number: i64| match limit(operator, merge) {
        Some(Limit::Most(most)) => number <= most,
        Some(Limit::Least(least)) => number >= least,
        None => true,
    };
    match value {
        RawBsonRef::Double(_) | RawBsonRef::Decimal128(_) => limit(operator, merge).is_none(),
        value => number::integer(value).is_some_and(keeps),
    }
}

fn put(value: Option<RawBson>) -> Action {
    value.map_or(Action::Unset, Action::Set)
}

fn is_null(value: &RawBson) -> bool {
    matches!(value, RawBson::Null)
}

fn is_nothing(value: Option<RawBsonRef<'_>>) -> bool {
    matches!(value, None | Some(RawBsonRef::Null))
}

/// What stood at the end of one array behind the other; none where both changed what was there before. With the array
/// as it was stored when it was loaded, and as it is.
fn list(
    old: &[RawBson],
    new: &[RawBson],
    known: &[RawBson],
    was: &[RawBson],
    mut stored: Vec<RawBson>,
) -> Option<Vec<RawBson>> {
    if let Some(come) = new.strip_prefix(old) {
        stored.extend_from_slice(come);
        return Some(stored);
    }
    if known.len() == new.len() && behind(known, new).is_some() {
        return Some(stored);
    }
    let theirs = match was.len() == old.len() && stored.starts_with(was) {
        true => stored.split_off(was.len()),
        false => {
            let theirs = behind(known, old)?;
            // As they are stored, if these are they.
            match stored.len() == known.len() {
                true => stored.split_off(old.len()),
                false => theirs.to_vec(),
            }
        }
    };
    Some([new, &theirs].concat())
}

/// Adds what has come, where others have not.
fn add(set: &mut Vec<RawBson>, old: &[RawBson], new: &[RawBson], known: &[RawBson]) {
    let mut come: Vec<RawBson> = Vec::new();
    for value in new {
        let is_there = |values: &[RawBson]| has_alike(values, value.as_raw_bson_ref(), Order::OfFields);
        if !is_there(old) && !is_there(known) && !is_there(&come) {
            come.push(value.clone());
        }
    }
    set.extend(come);
}

/// The stored fields with the changes of ours; none where a part of a value was changed that is gone.
fn fields(
    declared: &'static Declared,
    old: &RawDocument,
    new: &RawDocument,
    stored: &RawDocument,
) -> Result<Option<RawDocumentBuf>> {
    let mut merged = RawDocumentBuf::new();
    for element in stored {
        let (name, value) = element.map_err(malformed)?;
        let (before, after) = (
            old.get(name).map_err(malformed)?,
            new.get(name).map_err(malformed)?,
        );
        if is_same(before, after) {
            merged.append(name, value);
            continue;
        }
        let Some(after) = after else { continue };
        let nested = place::inside(declared, name.as_str(), old).nested;
        match before.and_then(|before| parts(nested, before, after)) {
            None => merged.append(name, after),
            Some((before, after)) => {
                let RawBsonRef::Document(value) = value else {
                    return Ok(None);
                };
                if !is_one_variant(nested, value, before) {
                    return Ok(None);
                }
                match fields(nested, before, after, value)? {
                    Some(whole) => merged.append(name, whole),
                    None => return Ok(None),
                }
            }
        }
    }
    for element in new {
        let (name, value) = element.map_err(malformed)?;
        let before = old.get(name).map_err(malformed)?;
        if is_same(before, Some(value)) || stored.get(name).map_err(malformed)?.is_some() {
            continue;
        }
        let nested = place::inside(declared, name.as_str(), old).nested;
        if before.is_some_and(|before| parts(nested, before, value).is_some()) {
            return Ok(None);
        }
        merged.append(name, value);
    }
    Ok(Some(merged))
}

/// The two documents, where the change from one to the other is one of their parts.
pub(super) fn parts<'d>(
    declared: &'static Declared,
    old: RawBsonRef<'d>,
    new: RawBsonRef<'d>,
) -> Option<(&'d RawDocument, &'d RawDocument)> {
    let (RawBsonRef::Document(old), RawBsonRef::Document(new)) = (old, new) else {
        return None;
    };
    let has_parts = match declared {
        Declared::Map(_) | Declared::Untyped | Declared::Document { .. } => true,
        // Where nothing names a variant, it is one without a tag.
        Declared::Variants { tag, .. } => tag_of(tag, old).is_some(),
        _ => false,
    };
    (has_parts && is_one_variant(declared, old, new)).then_some((old, new))
}

/// Whether two documents of this type are the same variant of it, if it is an enum.
fn is_one_variant(declared: &'static Declared, one: &RawDocument, other: &RawDocument) -> bool {
    match declared {
        Declared::Variants { tag, .. } => tag_of(tag, one) == tag_of(tag, other),
        declared if declared.is_choice() => only_name(one).is_some() && only_name(one) == only_name(other),
        _ => true,
    }
}

/// The name of a variant.
fn tag_of<'d>(tag: &str, document: &'d RawDocument) -> Option<&'d str> {
    match document.get(tag) {
        Ok(Some(RawBsonRef::String(name))) => Some(name),
        _ => None,
    }
}

/// The name of the only field.
pub(super) fn only_name(document: &RawDocument) -> Option<&str> {
    let mut names = document
        .iter()
        .map(|element| element.map(|(name, _)| name.as_str()));
    match (names.next(), names.next()) {
        (Some(Ok(name)), None) => Some(name),
        _ => None,
    }
}

/// Whether the values are one, of which what is no number is one too.
pub(super) fn is_same(one: Option<RawBsonRef<'_>>, other: Option<RawBsonRef<'_>>) -> bool {
    match (one, other) {
        (Some(RawBsonRef::Double(one)), Some(RawBsonRef::Double(other))) => {
            one == other || one.is_nan() && other.is_nan()
        }
        (one, other) => one == other,
    }
}

pub(super) fn values(array: &RawArray) -> Result<Vec<RawBson>> {
    let values = array.into_iter();
    values.map(|value| Ok(value.map_err(malformed)?.into())).collect()
}
