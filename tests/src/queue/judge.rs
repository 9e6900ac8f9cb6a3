//! Whether a history is one that a queue can have.

use std::collections::{BTreeMap, HashMap};

use bson::oid::ObjectId;
use odm_patterns::queue::State;

use super::{Event, History, LEASE, What};

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What cannot be.
    pub violations: Vec<String>,
    /// Jobs that were claimed, again and again included.
    pub claims: usize,
    /// What was refused because its token was old.
    pub refused: usize,
    /// Leases that ended without their workers saying so.
    pub recoveries: usize,
    /// The longest time, in milliseconds of the clock without its jumps, from a last sign of life to the next claim.
    pub slowest: i64,
    /// The same where the clock jumped meanwhile.
    pub slowest_set_back: i64,
}

/// Judges a history.
pub fn judge(history: &History) -> Verdict {
    let mut verdict = Verdict::default();
    let mut by_job: HashMap<ObjectId, Vec<&Event>> = HashMap::new();
    for event in &history.events {
        by_job.entry(event.job).or_default().push(event);
    }
    if history.jobs.len() != history.enqueued {
        let text = format!("{} jobs of {}", history.jobs.len(), history.enqueued);
        verdict.violations.push(text);
    }
    for job in &history.jobs {
        let events = by_job.get(&job.id).map(Vec::as_slice).unwrap_or_default();
        if job.state != State::Done {
            let text = format!(
                "job {} is {:?} after {} attempts",
                job.job.number, job.state, job.attempts
            );
            verdict.violations.push(text);
        }
        if job.attempts > job.max_attempts {
            verdict
                .violations
                .push(format!("job {} had too many attempts", job.job.number));
        }
        let token = job.lease.as_ref().map_or(0, |(_, token, _)| *token);
        tokens(job.job.number, token, events, &mut verdict);
        recovery(history, job.job.number, events, &mut verdict);
    }
    groups(history, &by_job, &mut verdict);
    verdict
}

fn claims<'a>(events: &'a [&'a Event]) -> impl Iterator<Item = &'a Event> {
    events
        .iter()
        .copied()
        .filter(|event| matches!(event.what, What::Claimed(_)))
}

/// Each token is one claim's; tokens grow; nothing is accepted with one when a greater one was given before.
fn tokens(number: i64, last: i64, events: &[&Event], verdict: &mut Verdict) {
    let mut given: BTreeMap<i64, &Event> = BTreeMap::new();
    for claim in claims(events) {
        verdict.claims += 1;
        if given.insert(claim.token, claim).is_some() {
            verdict
                .violations
                .push(format!("job {number}: two leases of token {}", claim.token));
        }
        if claim.token > last {
            verdict
                .violations
                .push(format!("job {number}: token {} went back to {last}", claim.token));
        }
    }
    let ordered: Vec<&&Event> = given.values().collect();
    for two in ordered.windows(2) {
        if two[1].end.is_some_and(|end| end < two[0].start) {
            verdict.violations.push(format!(
                "job {number}: token {} came after a greater one",
                two[0].token
            ));
        }
    }
    let mut acked = 0;
    for event in events {
        let accepted = matches!(
            event.what,
            What::Alive | What::Acked(true) | What::GivenBack(true)
        );
        if matches!(event.what, What::Acked(false) | What::GivenBack(false)) && event.end.is_some() {
            verdict.refused += 1;
        }
        if !accepted || event.end.is_none() {
            continue;
        }
        let newer = given.range(event.token + 1..).map(|(_, claim)| claim);
        for newer in newer {
            if newer.end.is_some_and(|end| end < event.start) {
                let text = format!(
                    "job {number}: {:?} was accepted with token {}",
                    event.what, event.token
                );
                verdict
                    .violations
                    .push(format!("{text} when token {} had been given", newer.token));
            }
        }
        if event.what == What::Acked(true) {
            acked += 1;
            if event.token != last {
                let text = format!(
                    "job {number}: an acknowledgement of token {} of {last}",
                    event.token
                );
                verdict.violations.push(text);
            }
        }
    }
    if acked > 1 {
        verdict
            .violations
            .push(format!("job {number}: {acked} acknowledgements were accepted"));
    }
    // What comes after the acknowledgement is nobody's.
    let done = events.iter().find(|event| event.what == What::Acked(true));
    if let Some(end) = done.and_then(|done| done.end)
        && claims(events).any(|claim| claim.start > end)
    {
        verdict
            .violations
            .push(format!("job {number} was claimed when it was done"));
    }
}

/// A job whose worker gave no more sign of life is claimed again in time, and not before its lease is over, unless the
/// clock jumped meanwhile.
fn recovery(history: &History, number: i64, events: &[&Event], verdict: &mut Verdict) {
    let mut by_token: BTreeMap<i64, Vec<&Event>> = BTreeMap::new();
    for event in events {
        by_token.entry(event.token).or_default().push(event);
    }
    let all: Vec<_> = by_token.into_iter().collect();
    for two in all.windows(2) {
        // A token in between is that of a claim whose worker was killed before it knew.
        let ((token, before), (next_token, after)) = (&two[0], &two[1]);
        if *next_token != token + 1 {
            continue;
        }
        let gave_back = before.iter().any(|event| {
            matches!(event.what, What::GivenBack(true)) || (event.end.is_none() && event.what != What::Alive)
        });
        if gave_back {
            continue;
        }
        let alive = || {
            let alive = |event: &&&Event| matches!(event.what, What::Claimed(_) | What::Alive);
            before.iter().filter(alive)
        };
        let next = after.iter().find(|event| matches!(event.what, What::Claimed(_)));
        let (Some(last), Some(next)) = (alive().map(|event| event.steady).max(), next) else {
            continue;
        };
        verdict.recoveries += 1;
        let skips = history.skips.iter();
        let skipped = skips.filter(|skip| last <= skip[0] && skip[1] <= next.steady);
        let taken = next.steady - last - skipped.map(|skip| skip[1] - skip[0]).sum::<i64>();
        let lease = LEASE.as_millis() as i64;
        // A clock that was set back gives one lease more, and no more than one.
        let since = alive().map(|event| event.start).max().unwrap_or(0);
        let until = next.end.unwrap_or(u64::MAX);
        let within = |jump: &[u64; 2]| jump[1] > since && jump[0] < until;
        let is_set_back = history.jumps.iter().any(within);
        let (slowest, most) = match is_set_back {
            true => (&mut verdict.slowest_set_back, 2 * lease),
            false => (&mut verdict.slowest, lease),
        };
        *slowest = taken.max(*slowest);
        if taken > most + 1_000 {
            let text = format!("job {number} was recovered only after {taken} ms");
            verdict.violations.push(text);
        }
        let known = alive().filter(|event| event.end.is_some());
        let Some(sign) = known.max_by_key(|event| event.began) else {
            continue;
        };
        if next.steady >= sign.began + lease {
            continue;
        }
        let end = next.end.unwrap_or(u64::MAX);
        // Whoever took it may have read the clock before the sign of life was given.
        let meanwhile = history
            .looks
            .iter()
            .filter(|look| look[1] > sign.start && look[0] < end);
        let start = meanwhile.map(|look| look[0]).fold(sign.start, u64::min);
        let jumped = |jump: &[u64; 2]| jump[1] > start && jump[0] < end;
        if !history.jumps.iter().any(jumped) {
            let text = format!("job {number}: token {next_token} was given while token {token} was alive");
            verdict.violations.push(text);
        }
    }
}

/// No job of a group is claimed before the one in front of it is done.
fn groups(history: &History, by_job: &HashMap<ObjectId, Vec<&Event>>, verdict: &mut Verdict) {
    let mut groups: BTreeMap<i64, Vec<(i64, ObjectId)>> = BTreeMap::new();
    for job in &history.jobs {
        if let Some(group) = job.job.group {
            groups.entry(group).or_default().push((job.job.number, job.id));
        }
    }
    for (group, mut jobs) in groups {
        jobs.sort_unstable();
        for two in jobs.windows(2) {
            let events = |at: usize| by_job.get(&two[at].1).map(Vec::as_slice).unwrap_or_default();
            let (front, behind) = (events(0), events(1));
            let first = claims(behind).filter_map(|claim| claim.end).min();
            let Some(first) = first else { continue };
            // The front one may have been acknowledged by a worker that was killed before it knew.
            let done = front
                .iter()
                .filter(|event| {
                    matches!(
                        (event.what, event.end),
                        (What::Acked(true), _) | (What::Acked(_), None)
                    )
                })
                .map(|event| event.start)
                .min();
            if done.is_none_or(|done| done > first) || claims(front).any(|claim| claim.start > first) {
                let text = format!(
                    "group {group}: job {} was claimed before job {} was done",
                    two[1].0, two[0].0
                );
                verdict.violations.push(text);
            }
        }
    }
}
