//! Copies of copies that go in a circle: a change of one would never end.

use super::declared_copy::DeclaredCopy;
use super::place::names;
use crate::schema::ModelDescriptor;

/// A stored field of a model.
type Place = (&'static ModelDescriptor, String);

/// Whether what is copied here is, in the end, copied from here.
pub(super) fn is_circular(copy: &'static DeclaredCopy) -> bool {
    fields(copy).any(|(held, from)| {
        let mut seen: Vec<Place> = vec![(copy.model, held)];
        reaches(copy.copy.source, from, &mut seen)
    })
}

/// Whether the field is copied from something that was seen on the way to it.
fn reaches(model: &'static ModelDescriptor, path: &str, seen: &mut Vec<Place>) -> bool {
    model.copies().iter().any(|copy| {
        fields(copy).any(|(held, from)| {
            if !overlaps(&held, path) {
                return false;
            }
            if seen
                .iter()
                .any(|(known, known_path)| known.is(model) && *known_path == held)
            {
                return true;
            }
            seen.push((model, held));
            let found = reaches(copy.copy.source, from, seen);
            seen.pop();
            found
        })
    })
}

/// Where the copied fields are held, and what they are copied from.
fn fields(copy: &'static DeclaredCopy) -> impl Iterator<Item = (String, &'static str)> {
    copy.copy.fields.iter().map(|(from, to)| {
        let mut held = names(&copy.steps);
        held.push(to);
        (held.join("."), from.as_str())
    })
}

fn overlaps(one: &str, other: &str) -> bool {
    let within = |path: &str, outer: &str| {
        path.strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    within(one, other) || within(other, one)
}
