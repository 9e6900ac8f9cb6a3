//! What makes one document another.

use bson::{RawBson, RawBsonRef, RawDocument};

use super::contested::{Contested, values};
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::declared::{Declared, Save};
use crate::lifecycle::place::Place;
use crate::lifecycle::validator::malformed;
use crate::query::update::{Action, Change, raw_path};

/// What makes one document the other.
#[derive(Default)]
pub(super) struct Difference {
    pub(super) changes: Vec<Change>,
    /// Changes that are merged into what others made of the same value.
    pub(super) contested: Vec<Contested>,
    /// A changed field of the document itself that no path leads to.
    unreachable: Option<String>,
}

impl Difference {
    /// What makes `old` the same as `new`, without the fields in `kept`.
    pub(super) fn of(
        declared: &'static Declared,
        old: &RawDocument,
        new: &RawDocument,
        kept: &[Option<&str>],
    ) -> Result<Difference> {
        let mut difference = Difference::default();
        difference.fields(declared, "", old, new)?;
        difference.changes.retain(|change| {
            let path = change.path.to_string();
            path != "_id" && !kept.contains(&Some(path.as_str()))
        });
        if old.get("_id").map_err(malformed)? != new.get("_id").map_err(malformed)? {
            // Not a change that can be made, but one that must be seen.
            let id = new.get("_id").map_err(malformed)?.map(RawBson::from);
            let action = id.map_or(Action::Unset, Action::Set);
            difference.changes.push(change("_id".to_owned(), action));
        }
        Ok(difference)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.contested.is_empty() && self.unreachable.is_none()
    }

    /// That an update can make all of it.
    pub(super) fn check(&self) -> Result<()> {
        match &self.unreachable {
            None => Ok(()),
            Some(name) => {
                let message = "a field whose name is empty, begins with `$` or holds a dot cannot be saved by its \
                               path; save the whole document";
                Err(Error::new(ErrorKind::InvalidArgument, message).with_path(name))
            }
        }
    }

    fn fields(
        &mut self,
        declared: &'static Declared,
        path: &str,
        old: &RawDocument,
        new: &RawDocument,
    ) -> Result<()> {
        if let Some(name) = unreachable(old, new)? {
            self.unreachable = Some(name);
            return Ok(());
        }
        for element in new {
            let (name, value) = element.map_err(malformed)?;
            let own = joined(path, name.as_str());
            match old.get(name).map_err(malformed)? {
                Some(before) if before == value => {}
                Some(before) => self.changed(declared, own, before, value)?,
                None => self.changes.push(change(own, Action::Set(value.into()))),
            }
        }
        for element in old {
            let (name, _) = element.map_err(malformed)?;
            if new.get(name).map_err(malformed)?.is_none() {
                let own = joined(path, name.as_str());
                self.changes.push(change(own, Action::Unset));
            }
        }
        Ok(())
    }

    fn changed(
        &mut self,
        declared: &'static Declared,
        path: String,
        old: RawBsonRef<'_>,
        new: RawBsonRef<'_>,
    ) -> Result<()> {
        let place = Place::find(declared, &path);
        let save = place.as_ref().map_or(Save::Replace, |place| place.save);
        let nested = place.map_or(Declared::nothing(), |place| place.nested);
        let whole = |value: RawBsonRef<'_>| Action::Set(value.into());
        let action = match (old, new) {
            (RawBsonRef::Document(before), RawBsonRef::Document(after))
                if matches!(nested, Declared::Document { .. } | Declared::Map(_)) =>
            {
                match unreachable(before, after)? {
                    None => return self.fields(declared, &path, before, after),
                    Some(_) => {
                        self.contested.push(Contested::new(path, old, new));
                        return Ok(());
                    }
                }
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
                    // No operator does both.
                    (false, false) => {
                        self.contested.push(Contested::new(path, old, new));
                        return Ok(());
                    }
                }
            }
            (old, new) if save == Save::Increment => match step(old, new) {
                Some(step) => Action::Increment(step),
                None => whole(new),
            },
            (_, new) => whole(new),
        };
        self.changes.push(change(path, action));
        Ok(())
    }
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

/// A name that differs between the documents and cannot be a part of a path.
fn unreachable(old: &RawDocument, new: &RawDocument) -> Result<Option<String>> {
    for (document, other) in [(old, new), (new, old)] {
        for element in document {
            let (name, value) = element.map_err(malformed)?;
            let text = name.as_str();
            let is_reachable = !text.is_empty() && !text.starts_with('$') && !text.contains('.');
            if !is_reachable && other.get(name).map_err(malformed)? != Some(value) {
                return Ok(Some(text.to_owned()));
            }
        }
    }
    Ok(None)
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

pub(super) fn change(path: String, action: Action) -> Change {
    Change {
        path: raw_path(&path),
        action,
    }
}
