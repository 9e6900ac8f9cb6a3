//! Leaving out of a search what cannot be among the best.

use std::cmp::Ordering;

use odm::bson::RawDocumentBuf;

use super::super::error::Result;
use super::super::scheme::Searchable;
use super::{Plan, RankedFind, score_of};

/// At least so many documents for each that is wanted are looked at before it is said what one must reach.
const LEAST: f64 = 2.0;

/// Up to so many are looked at where the terms are rare enough: they raise what a document must reach, and spare others.
const MOST: f64 = 15.0;

/// The terms that documents are searched by: any of these, and none of those.
#[derive(Clone, Copy)]
pub(super) struct Terms<'t> {
    pub(super) any: &'t [&'t str],
    pub(super) none: &'t [&'t str],
}

impl<'t> Terms<'t> {
    pub(super) fn any(any: &'t [&'t str]) -> Terms<'t> {
        Terms { any, none: &[] }
    }
}

impl<M: Searchable> RankedFind<M> {
    /// The rarest terms of a query of which any is enough, so many that they find the wanted documents in all
    /// likelihood; `None` where that would save nothing.
    pub(super) fn first_terms<'p>(&self, plan: &'p Plan, wanted: usize) -> Option<Vec<&'p str>> {
        let mut terms = plan.clause.any_of()?;
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
        let found = self.ranked(plan, Some(Terms::any(first)), wanted).await?;
        let least = match found.last() {
            Some(last) if found.len() == wanted => score_of(last),
            _ => return self.ranked(plan, None, wanted).await,
        };
        let mut terms = plan.clause.any_of().unwrap_or_default();
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
        // The best of those with the first terms are known.
        let of_rest = Terms {
            any: &rest,
            none: first,
        };
        let others = self.ranked(plan, Some(of_rest), wanted).await?;
        match merged(found, others, wanted) {
            Some(best) => Ok(best),
            None => self.ranked(plan, Some(Terms::any(&needed)), wanted).await,
        }
    }
}

/// The best of both, each of which is in order; `None` where the scores alone do not tell the order.
fn merged(
    one: Vec<RawDocumentBuf>,
    other: Vec<RawDocumentBuf>,
    wanted: usize,
) -> Option<Vec<RawDocumentBuf>> {
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
