//! What the conditions of a filter leave of each field of an index.

use super::super::super::index::Order;
use super::super::IndexView;
use super::super::bounds::{Bounds, Place, bounds};
use super::super::imply;
use super::super::interval::Intervals;
use super::Conjunct;

/// What the conjuncts leave of each field; marks those that are taken into account completely.
pub(super) fn field_bounds(
    view: &IndexView<'_>,
    is_foreign: bool,
    conjuncts: &[Conjunct<'_>],
    used: &mut [bool],
) -> Vec<Bounds> {
    let keys = &view.definition.keys;
    let mut found: Vec<Bounds> = Vec::with_capacity(keys.len());
    // The conjunct that bounds each field, where several keys per document make it matter.
    let mut chosen: Vec<Option<&Conjunct<'_>>> = Vec::with_capacity(keys.len());
    for (field, key) in keys.iter().enumerate() {
        let arrays = view.arrays(field);
        let place = Place {
            multikey: arrays.is_any(),
            positional: key
                .path
                .split('.')
                .any(|name| name.starts_with(|first: char| first.is_ascii_digit())),
            only_present: view.definition.has_present_alone(),
            element: false,
            collation: &view.definition.collation,
            is_foreign,
        };
        let own = conjuncts.iter().enumerate();
        let own = own.filter(|(_, conjunct)| conjunct.path == key.path && key.order != Order::Text);
        // An element of an array that has none of its fields has no key in a sparse index.
        let may_lack = view.definition.sparse && place.multikey;
        let own = own.filter(|(_, conjunct)| !(may_lack && imply::takes_missing(conjunct.predicate)));
        if !place.multikey {
            let mut all = Bounds {
                intervals: Intervals::all(),
                exact: true,
            };
            for (position, conjunct) in own {
                let bounds = bounds(conjunct.predicate, key.order, place);
                all.intervals = all.intervals.intersect(&bounds.intervals);
                all.exact &= bounds.exact && conjunct.group == 0;
                used[position] = true;
            }
            chosen.push(None);
            found.push(all);
            continue;
        }
        let names = names(&key.path);
        let mut joined: Vec<Joined<'_, '_>> = Vec::new();
        for (position, conjunct) in own.filter(|(_, conjunct)| may_join(view, field, conjunct, &chosen)) {
            // What one element satisfies, and no array in it, is satisfied by one key.
            let is_one = conjunct.group != 0 && !arrays.may_be_in(conjunct.depth()..names);
            let mut bounds = bounds(
                conjunct.predicate,
                key.order,
                Place {
                    multikey: !is_one,
                    ..place
                },
            );
            bounds.exact &= conjunct.group == 0;
            let same = joined
                .iter_mut()
                .find(|joined| is_one && joined.by.group == conjunct.group);
            match same {
                Some(joined) => {
                    joined.bounds.intervals = joined.bounds.intervals.intersect(&bounds.intervals);
                    joined.positions.push(position);
                }
                None => joined.push(Joined {
                    bounds,
                    positions: vec![position],
                    by: conjunct,
                }),
            }
        }
        // Each may be satisfied by another key: only one of them bounds.
        let narrowest = joined.into_iter().reduce(|best, next| {
            match next.bounds.intervals.fraction() < best.bounds.intervals.fraction() {
                true => next,
                false => best,
            }
        });
        if let Some(narrowest) = &narrowest {
            narrowest
                .positions
                .iter()
                .for_each(|position| used[*position] = true);
        }
        chosen.push(narrowest.as_ref().map(|narrowest| narrowest.by));
        found.push(narrowest.map_or_else(
            || Bounds {
                intervals: Intervals::all(),
                exact: true,
            },
            |narrowest| narrowest.bounds,
        ));
    }
    found
}

/// Conditions that one key satisfies.
struct Joined<'c, 'n> {
    bounds: Bounds,
    positions: Vec<usize>,
    by: &'c Conjunct<'n>,
}

/// How many names a path has.
fn names(path: &str) -> usize {
    path.split('.').count()
}

/// Whether a condition on a field under an array may bound it besides those on the fields before: fields of
/// the same array may be satisfied by different elements, unless one `$elemMatch` holds them together.
fn may_join(
    view: &IndexView<'_>,
    field: usize,
    conjunct: &Conjunct<'_>,
    chosen: &[Option<&Conjunct<'_>>],
) -> bool {
    let keys = &view.definition.keys;
    chosen.iter().enumerate().all(|(other, by)| {
        let Some(by) = by else { return true };
        let pairs = keys[other].path.split('.').zip(keys[field].path.split('.'));
        let common = pairs.take_while(|(one, another)| one == another).count();
        let arrays = view.arrays(other);
        if !arrays.may_be_in(0..common) {
            return true;
        }
        let is_one_group = conjunct.group != 0 && conjunct.group == by.group;
        is_one_group
            && (conjunct.first_name() != by.first_name() || !arrays.may_be_in(conjunct.depth()..common))
    })
}
