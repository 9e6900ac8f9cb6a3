//! The elements of a stored array as the model takes them, whatever form they are stored in.

use bson::{RawArrayBuf, RawBson, RawBsonRef};

use super::alike::{Order, has_alike, is_alike};
use super::edit::{Seen, values};
use super::guard::value_at;
use crate::error::Result;
use crate::lifecycle::document;

/// A stored array whose elements are taken out as they are stored.
pub(super) struct Elements<'a> {
    pub(super) seen: &'a Seen,
    pub(super) path: &'a str,
    /// The array as it was stored when it was loaded.
    pub(super) was: Option<RawBsonRef<'a>>,
    /// The elements that the document has now.
    pub(super) new: Vec<RawBson>,
}

/// The stored elements: those that were taken out, and the others.
pub(super) struct Parted {
    pub(super) taken: Vec<RawBson>,
    pub(super) left: Vec<RawBson>,
}

impl Elements<'_> {
    /// Parts the stored elements by whether they are among those that are gone. None where one is gone and nobody can
    /// say of a stored element whether it is that one.
    pub(super) fn parted(&self, stored: Vec<RawBson>, gone: &[RawBson]) -> Result<Option<Parted>> {
        let known = array(value_at(&self.seen.encoded, self.path))?;
        let was = array(self.was)?;
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        let mut found = vec![false; gone.len()];
        let mut doubtful = Vec::new();
        for element in stored {
            let Some(own) = self.known(&element, &known) else {
                doubtful.push(None);
                left.push(element);
                continue;
            };
            let own = own.as_raw_bson_ref();
            let mut place = place_of(gone, own, Order::OfFields);
            if place.is_none() && !has_alike(&self.new, own, Order::OfFields) {
                let like = place_of(gone, own, Order::OfElements);
                // What was loaded is one of the elements that were there then.
                match was.contains(&element) {
                    true => place = like,
                    false => doubtful.extend(like.map(Some)),
                }
            }
            match place {
                Some(place) => {
                    for (at, (gone, found)) in gone.iter().zip(&mut found).enumerate() {
                        *found |= at == place || is_alike(gone.as_raw_bson_ref(), own, Order::OfFields);
                    }
                    taken.push(element);
                }
                None => left.push(element),
            }
        }
        let is_missed = |place: Option<usize>| match place {
            Some(place) => !found.get(place).copied().unwrap_or_default(),
            None => found.contains(&false),
        };
        let is_doubtful = doubtful.into_iter().any(is_missed);
        Ok((!is_doubtful).then_some(Parted { taken, left }))
    }

    /// A stored element as the model would store it.
    fn known(&self, element: &RawBson, known: &[RawBson]) -> Option<RawBson> {
        if known.contains(element) {
            return Some(element.clone());
        }
        let only: RawArrayBuf = [element.clone()].into_iter().collect();
        let with = document::with_path(&self.seen.stored, self.path, RawBson::Array(only)).ok()?;
        let encoded = (self.seen.encode)(&with).ok()?;
        let mut own = array(value_at(&encoded, self.path)).ok()?;
        match own.len() {
            1 => own.pop(),
            _ => None,
        }
    }
}

pub(super) fn array(value: Option<RawBsonRef<'_>>) -> Result<Vec<RawBson>> {
    match value {
        Some(RawBsonRef::Array(array)) => values(array),
        _ => Ok(Vec::new()),
    }
}

fn place_of(values: &[RawBson], value: RawBsonRef<'_>, order: Order) -> Option<usize> {
    let mut values = values.iter().map(RawBson::as_raw_bson_ref);
    values.position(|one| is_alike(one, value, order))
}
