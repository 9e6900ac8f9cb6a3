//! The choice that guesses cannot make: which of several indexes leads to least.

use std::fmt::Debug;

use super::super::fault::Result;
use super::candidate::Candidate;
use super::{Choice, Plan, PlanRequest};

/// Begins plans to find out what they read.
pub(crate) trait Trial: Debug {
    /// The position of the plan that reads least until it has `wanted` documents, or all where that is `None`. There is
    /// at least one plan; the first of equals is taken.
    ///
    /// # Errors
    /// What ends the operation; a plan that a document fails for is another's loser.
    fn cheapest(&self, plans: &[Plan], wanted: Option<u64>) -> Result<usize>;
}

/// The candidates between which a trial has to decide, in the order of what they are guessed to cost: one that no other can
/// beat alone, and the first where there is no trial.
pub(super) fn rivals<'a>(
    request: &PlanRequest<'_>,
    mut candidates: Vec<Candidate<'a>>,
) -> Vec<Candidate<'a>> {
    candidates.sort_by(Candidate::compare);
    let alone = candidates.iter().position(Candidate::is_unbeatable);
    if let Some(alone) = alone.or(request.trial.is_none().then_some(0)) {
        return candidates.into_iter().skip(alone).take(1).collect();
    }
    let mut rivals: Vec<Candidate<'a>> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        if rivals.iter().any(|rival| rival.is_within(&candidate)) {
            continue;
        }
        rivals.retain(|rival| !candidate.is_within(rival));
        rivals.push(candidate);
    }
    rivals
}

/// The plan that a trial finds to be the cheapest, and the others.
///
/// # Errors
/// As of a trial.
pub(super) fn decide(mut plans: Vec<Plan>, trial: Option<&dyn Trial>, wanted: Option<u64>) -> Result<Choice> {
    let best = match trial {
        Some(trial) if plans.len() > 1 => trial.cheapest(&plans, wanted)?,
        _ => 0,
    };
    let plan = plans.remove(best);
    Ok(Choice { plan, beaten: plans })
}
