//! Where copies lead that are copied themselves.

use super::document::is_within;
use crate::relation::DeclaredCopy;
use crate::schema::ModelDescriptor;

/// Whether a change of the model's documents is followed by changes of documents of its collection.
pub(super) fn comes_back(model: &'static ModelDescriptor) -> bool {
    let mut reached: Vec<&'static ModelDescriptor> = Vec::new();
    let mut next = vec![model];
    while let Some(from) = next.pop() {
        for place in from.copied().iter().filter(|place| !place.copy.is_eventual) {
            if place.model.collection == model.collection {
                return true;
            }
            if !reached.iter().any(|other| other.is(place.model)) {
                reached.push(place.model);
                next.push(place.model);
            }
        }
    }
    false
}

/// The models with tenants that copies in documents of none are copied to, be it by way of others.
pub(super) fn beyond(places: &[&'static DeclaredCopy]) -> Vec<&'static ModelDescriptor> {
    let mut shared: Vec<&'static DeclaredCopy> = Vec::new();
    let mut found = Vec::new();
    let mut waiting: Vec<&'static DeclaredCopy> = places.to_vec();
    while let Some(place) = waiting.pop() {
        let is_known = |known: &&DeclaredCopy| known.model.is(place.model) && known.path == place.path;
        if place.model.tenant.is_some() || shared.iter().any(is_known) {
            continue;
        }
        shared.push(place);
        for next in place.model.copied() {
            let mut copied = next.copy.fields.iter();
            if !copied.any(|(from, _)| is_within(from, &place.path) || is_within(&place.path, from)) {
                continue;
            }
            match next.model.tenant {
                Some(_) => found.push(next.model),
                None => waiting.push(next),
            }
        }
    }
    found
}
