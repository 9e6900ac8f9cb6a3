//! What makes one document the other.

use bson::{RawBson, RawBsonRef, RawDocument};

use crate::error::Result;
use crate::lifecycle::declared::{Declared, Save};
use crate::lifecycle::place::Place;
use crate::lifecycle::validator::malformed;
use crate::query::update::{Action, Change, raw_path};

/// The changes that make `old` the same as `new`, without those of the fields in `kept`.
pub(super) fn of(
    declared: &'static Declared,
    old: &RawDocument,
    new: &RawDocument,
    kept: &[Option<&str>],
) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    fields(declared, "", old, new, &mut changes)?;
    changes.retain(|change| {
        let path = change.path.to_string();
        path != "_id" && !kept.contains(&Some(path.as_str()))
    });
    if old.get("_id").map_err(malformed)? != new.get("_id").map_err(malformed)? {
        // Not a change that can be made, but one that must be seen.
        let id = new.get("_id").map_err(malformed)?.map(RawBson::from);
        changes.push(change("_id".to_owned(), id.map_or(Action::Unset, Action::Set)));
    }
    Ok(changes)
}

fn fields(
    declared: &'static Declared,
    path: &str,
    old: &RawDocument,
    new: &RawDocument,
    changes: &mut Vec<Change>,
) -> Result<()> {
    for element in new {
        let (name, value) = element.map_err(malformed)?;
        let own = joined(path, name.as_str());
        match old.get(name).map_err(malformed)? {
            Some(before) if before == value => {}
            Some(before) => changed(declared, own, before, value, changes)?,
            None => changes.push(change(own, Action::Set(value.into()))),
        }
    }
    for element in old {
        let (name, _) = element.map_err(malformed)?;
        if new.get(name).map_err(malformed)?.is_none() {
            changes.push(change(joined(path, name.as_str()), Action::Unset));
        }
    }
    Ok(())
}

fn changed(
    declared: &'static Declared,
    path: String,
    old: RawBsonRef<'_>,
    new: RawBsonRef<'_>,
    changes: &mut Vec<Change>,
) -> Result<()> {
    let place = Place::find(declared, &path);
    let save = place.as_ref().map_or(Save::Replace, |place| place.save);
    let nested = place.map_or(Declared::nothing(), |place| place.nested);
    let whole = |value: RawBsonRef<'_>| Action::Set(value.into());
    let action = match (old, new) {
        (RawBsonRef::Document(old), RawBsonRef::Document(new))
            if matches!(nested, Declared::Document { .. } | Declared::Map(_))
                && reachable(old)
                && reachable(new) =>
        {
            return fields(declared, &path, old, new, changes);
        }
        (RawBsonRef::Array(before), RawBsonRef::Array(after)) if save == Save::Push => {
            let (before, mut after) = (values(before)?, values(after)?);
            match after.starts_with(&before) {
                true => push(after.split_off(before.len())),
                false => whole(new),
            }
        }
        (RawBsonRef::Array(before), RawBsonRef::Array(after)) if save == Save::AddToSet => {
            let (before, after) = (values(before)?, values(after)?);
            let gone: Vec<_> = before
                .iter()
                .filter(|value| !after.contains(value))
                .cloned()
                .collect();
            let come: Vec<_> = after
                .iter()
                .filter(|value| !before.contains(value))
                .cloned()
                .collect();
            match (gone.is_empty(), come.is_empty()) {
                (true, false) => Action::AddToSet(come),
                (false, true) => Action::PullAll(gone),
                // Another order is no change of a set.
                (true, true) => return Ok(()),
                (false, false) => whole(new),
            }
        }
        (old, new) if save == Save::Increment => match step(old, new) {
            Some(step) => Action::Increment(step),
            None => whole(new),
        },
        (_, new) => whole(new),
    };
    changes.push(change(path, action));
    Ok(())
}

/// What must be added to one number to make it the other.
fn step(old: RawBsonRef<'_>, new: RawBsonRef<'_>) -> Option<RawBson> {
    match (old, new) {
        (RawBsonRef::Int32(old), RawBsonRef::Int32(new)) => new.checked_sub(old).map(RawBson::Int32),
        (RawBsonRef::Int64(old), RawBsonRef::Int64(new)) => new.checked_sub(old).map(RawBson::Int64),
        (RawBsonRef::Double(old), RawBsonRef::Double(new)) => Some(RawBson::Double(new - old)),
        _ => None,
    }
}

/// Whether all names can be parts of a path.
fn reachable(document: &RawDocument) -> bool {
    document.iter().flatten().all(|(name, _)| {
        let name = name.as_str();
        !name.is_empty() && !name.starts_with('$') && !name.contains('.')
    })
}

fn values(array: &bson::RawArray) -> Result<Vec<RawBson>> {
    let values = array.into_iter();
    values.map(|value| Ok(value.map_err(malformed)?.into())).collect()
}

fn push(elements: Vec<RawBson>) -> Action {
    Action::Push(crate::query::update::Push {
        elements,
        ..Default::default()
    })
}

fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    }
}

fn change(path: String, action: Action) -> Change {
    Change {
        path: raw_path(&path),
        action,
    }
}
