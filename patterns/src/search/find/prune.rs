//! Leaving out of a search what cannot be among the best.

use std::cmp::Ordering;
use std::collections::HashMap;

use odm::bson::raw::cstr;
use odm::bson::{RawDocument, RawDocumentBuf};

use super::super::error::Result;
use super::super::scheme::Searchable;
use super::{Plan, RankedFind, score_of};

/// At least so many documents for each that is wanted are looked at before it is said what one must reach.
const LEAST: f64 = 2.0;

/// Up to so many are looked at where the terms are rare enough: they raise what a document must reach, and spare others.
const MOST: f64 = 15.0;

impl<M: Searchable> RankedFind<M> {
    /// The rarest of the terms that documents are found by, so many that they find the wanted documents in all likelihood;
    /// `None` where that would save nothing.
    pub(super) fn first_terms<'p>(&self, plan: &'p Plan, wanted: usize) -> Option<Vec<&'p str>> {
        let mut terms = plan.cover()?;
        terms.sort_by(|a, b| self.most(plan, b).total_cmp(&self.most(plan, a)));
        terms.dedup();
        let all: f64 = terms.iter().map(|term| plan.counts.of(term)).sum();
        let [least, most] = [LEAST, MOST].map(|each| wanted as f64 * each);
        let mut sum = 0.0;
        let first: Vec<&str> = terms
            .iter()
            .copied()
            .take_while(|term| {
                let before = sum;
                sum += plan.counts.of(term);
                before < least || sum <= most
            })
            .collect();
        let found: f64 = first.iter().map(|term| plan.counts.of(term)).sum();
        (first.len() < terms.len() && found * 2.0 < all).then_some(first)
    }

    /// The most that a term can give to a score.
    fn most(&self, plan: &Plan, term: &str) -> f64 {
        let worth = plan.worth.iter().find(|(known, _)| known == term);
        worth.map_or(0.0, |(_, worth)| self.formula.most(&plan.counts, term, *worth))
    }

    /// The best documents. Those with the first terms say what a document must reach; terms that cannot reach it all
    /// together find nothing that is wanted, and the index is not asked for them.
    pub(super) async fn pruned(
        &self,
        plan: &Plan,
        first: &[&str],
        wanted: usize,
    ) -> Result<Vec<RawDocumentBuf>> {
        let found = self.ranked(plan, Some(first), wanted).await?;
        let least = match found.last() {
            Some(last) if found.len() == wanted => score_of(last),
            _ => return self.ranked(plan, None, wanted).await,
        };
        let mut terms = plan.cover().unwrap_or_default();
        terms.sort_by(|a, b| self.most(plan, a).total_cmp(&self.most(plan, b)));
        terms.dedup();
        // What may count beside the terms that are searched for counts in any case.
        let beside = plan
            .worth
            .iter()
            .filter(|(term, _)| !terms.contains(&term.as_str()));
        let mut sum: f64 = beside.map(|(term, _)| self.most(plan, term)).sum();
        let needed: Vec<&str> = terms
            .into_iter()
            .skip_while(|term| {
                sum += self.most(plan, term);
                // Sums of floats are not quite exact.
                sum * (1.0 + 1e-9) < least
            })
            .collect();
        let rest: Vec<&str> = needed
            .iter()
            .copied()
            .filter(|term| !first.contains(term))
            .collect();
        if rest.is_empty() {
            return Ok(found);
        }
        // The best of those with the first terms are known. To leave these out costs more than to read them again.
        let others = self.ranked(plan, Some(&rest), wanted).await?;
        match merged(found, others, wanted) {
            Some(best) => Ok(best),
            None => self.ranked(plan, Some(&needed), wanted).await,
        }
    }
}

/// The best of both, each of which is in order; `None` where the scores alone do not tell the order, or a document that
/// changed between the two searches came in both.
fn merged(
    one: Vec<RawDocumentBuf>,
    mut other: Vec<RawDocumentBuf>,
    wanted: usize,
) -> Option<Vec<RawDocumentBuf>> {
    let known: HashMap<_, _> = one
        .iter()
        .map(|found| (id_of(found), score_of(found).to_bits()))
        .collect();
    let mut changed = false;
    other.retain(|found| match known.get(&id_of(found)) {
        Some(score) => {
            changed |= *score != score_of(found).to_bits();
            false
        }
        None => true,
    });
    if changed {
        return None;
    }
    let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
    let mut best = Vec::with_capacity(wanted);
    while best.len() < wanted {
        let order = match (one.peek(), other.peek()) {
            (Some(one), Some(other)) => score_of(one).partial_cmp(&score_of(other))?,
            (Some(_), None) => Ordering::Greater,
            (None, Some(_)) => Ordering::Less,
            (None, None) => break,
        };
        best.extend(match order {
            Ordering::Greater => one.next(),
            Ordering::Less => other.next(),
            // Then the order is that of the `_id`s, which the database knows.
            Ordering::Equal => return None,
        });
    }
    Some(best)
}

/// The bytes of a document's `_id`, with its type.
fn id_of(found: &RawDocument) -> Option<Vec<u8>> {
    let mut id = RawDocumentBuf::new();
    id.append(cstr!(""), found.get("_id").ok()??);
    Some(id.into_bytes())
}

#[cfg(test)]
mod tests {
    use odm::bson::rawdoc;

    use super::*;

    fn found(all: &[(i32, f64)]) -> Vec<RawDocumentBuf> {
        let document = |(id, score): &(i32, f64)| rawdoc! { "_id": *id, "score": *score };
        all.iter().map(document).collect()
    }

    #[test]
    fn the_best_of_both_are_taken_in_their_order() {
        let best = merged(found(&[(1, 4.0), (2, 1.0)]), found(&[(3, 3.0), (4, 2.0)]), 3);
        assert_eq!(best, Some(found(&[(1, 4.0), (3, 3.0), (4, 2.0)])));
        let best = merged(found(&[(1, 4.0)]), found(&[(3, 5.0)]), 3);
        assert_eq!(best, Some(found(&[(3, 5.0), (1, 4.0)])));
    }

    #[test]
    fn equal_scores_do_not_tell_the_order() {
        assert_eq!(merged(found(&[(1, 4.0)]), found(&[(3, 4.0)]), 2), None);
    }

    #[test]
    fn a_document_that_both_found_comes_once() {
        let (one, other) = (
            found(&[(1, 4.0), (2, 3.0)]),
            found(&[(1, 4.0), (3, 3.5), (2, 3.0)]),
        );
        assert_eq!(
            merged(one, other, 3),
            Some(found(&[(1, 4.0), (3, 3.5), (2, 3.0)]))
        );
    }

    #[test]
    fn a_document_that_changed_between_the_searches_does_not_come_twice() {
        assert_eq!(merged(found(&[(1, 4.0), (2, 3.0)]), found(&[(2, 3.5)]), 3), None);
    }
}
