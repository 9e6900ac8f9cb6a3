//! Whether an index gives the order that is asked for, by one scan or by several.

use super::super::super::index::Order;
use super::super::PlanRequest;
use super::super::interval::Intervals;
use super::super::merge::{MOST_STREAMS, Stream};
use super::{Candidate, scan};

impl Candidate<'_> {
    /// Takes it apart by its first fields, as far as is needed to have the order that is asked for: each of their values
    /// has a scan of its own.
    pub(super) fn take_apart(&mut self, request: &PlanRequest<'_>) {
        if self.is_unordered || self.is_impossible() || self.is_of_paths() {
            return;
        }
        let mut scans = 1_usize;
        for field in 0..self.ranged {
            let bounds = &self.bounds[field];
            scans = scans.saturating_mul(bounds.as_slice().len());
            if !bounds.is_points() || scans > MOST_STREAMS {
                return;
            }
            if scans > 1
                && let Some(reverse) = self.order_for(request, field + 1)
            {
                (self.order, self.apart) = (Some(reverse), field + 1);
                return;
            }
        }
    }

    /// The scans that give the order together; `None` where they do not.
    pub(in super::super) fn streams(&self, request: &PlanRequest<'_>) -> Option<Vec<Stream>> {
        let reverse = self.order?;
        let mut all = vec![Vec::new()];
        for (bounds, key) in self
            .bounds
            .iter()
            .zip(&self.view.definition.keys)
            .take(self.apart)
        {
            // In the order in which one scan would come by them.
            let mut own: Vec<Intervals> = bounds.each().collect();
            if (key.order == Order::Descending) != reverse {
                own.reverse();
            }
            all = all
                .iter()
                .flat_map(|before: &Vec<Intervals>| {
                    own.iter()
                        .map(|one| [before.as_slice(), std::slice::from_ref(one)].concat())
                })
                .collect();
        }
        let scans = all.into_iter().map(|mut bounds| {
            bounds.extend_from_slice(&self.bounds[self.apart..]);
            scan(request, self.index, bounds, reverse)
        });
        scans.map(|scan| Stream::new(request, scan)).collect()
    }

    /// Whether the index gives the order that is asked for, with each of the first `apart` fields held to one of its
    /// values: `Some(true)` backwards.
    pub(super) fn order_for(&self, request: &PlanRequest<'_>, apart: usize) -> Option<bool> {
        let is_constant = |field: usize| field < apart || self.is_constant(field);
        let sort = request
            .sort
            .filter(|sort| !sort.fields.is_empty() && sort.wanted().is_empty())?;
        let keys = &self.view.definition.keys;
        // Without strings all collations have one order.
        let same = *sort.collation() == self.view.definition.collation;
        let mut reverse = None;
        let mut field = 0;
        for wanted in &sort.fields {
            // Fields of one value do not take part in the order.
            while field < keys.len() && keys[field].path != wanted.path && is_constant(field) {
                field += 1;
            }
            match keys.get(field) {
                Some(key) if key.path == wanted.path => {
                    if !same && self.bounds[field].has_text() {
                        return None;
                    }
                    if is_constant(field) && !self.is_multikey(field) {
                        field += 1;
                        continue;
                    }
                    let descending = match key.order {
                        Order::Ascending => false,
                        Order::Descending => true,
                        Order::Hashed | Order::Text | Order::Sphere | Order::Flat(_) => return None,
                    };
                    // A document's place is its least key of all, not its least key in the bounds.
                    if self.is_multikey(field)
                        && (0..keys.len())
                            .any(|other| self.is_multikey(other) && !self.bounds[other].is_all())
                    {
                        return None;
                    }
                    let against = descending != wanted.descending;
                    if *reverse.get_or_insert(against) != against {
                        return None;
                    }
                    field += 1;
                }
                _ => {
                    let constant = keys.iter().enumerate().any(|(other, key)| {
                        key.path == wanted.path && is_constant(other) && !self.is_multikey(other)
                    });
                    if !constant {
                        return None;
                    }
                }
            }
        }
        Some(reverse.unwrap_or(false))
    }
}
