//! Operations on a stored tree and on the reference, side by side.

use odm::Db;
use odm_patterns::tree::{KeepsOrder, TreeOptions};

use super::{Forest, Operation, Operations, Run, Subject, shrink};

/// Replays a recorded run; outcome and pre-order must be the recorded ones after every step.
pub async fn replay<S: KeepsOrder>(db: &Db, options: &TreeOptions, run: &Run) {
    let subject = Subject::<String, S>::open(db, options.clone()).await;
    for (at, step) in run.steps.iter().enumerate() {
        let place = format!("seed {}, step {at}: {:?}", run.seed, step.operation);
        let outcome = subject.apply(&step.operation).await;
        assert_eq!(outcome.err(), step.refusal, "{place}");
        assert_eq!(subject.outline().await.as_ref(), Ok(&step.after), "{place}");
    }
    assert_eq!(
        subject.problems().await,
        Vec::<String>::new(),
        "seed {}",
        run.seed
    );
    subject.clear().await;
}

/// Asks random operations of a stored tree and of the reference, in runs of `length` from an empty tree, until `count`
/// are done. A difference is made short, and is a panic.
pub async fn random<S: KeepsOrder>(db: &Db, options: &TreeOptions, seed: u64, count: usize, length: usize) {
    let mut done = 0;
    let mut seed = seed;
    while done < count {
        let length = length.min(count - done);
        let operations: Vec<_> = Operations::new(seed).take(length).collect();
        if let Err(difference) = compare::<S>(db, options, &operations).await {
            let fails = async |some: &[Operation<i64>]| compare::<S>(db, options, some).await.is_err();
            let few = shrink(&operations, fails).await;
            let shortest = compare::<S>(db, options, &few).await;
            panic!("seed {seed}: {difference}\nshrunk to {few:#?}\n{shortest:?}");
        }
        done += length;
        seed += 1;
    }
}

/// Does operations from an empty tree, and says where the stored tree differs from the reference.
///
/// # Errors
/// The first difference.
pub async fn compare<S: KeepsOrder>(
    db: &Db,
    options: &TreeOptions,
    operations: &[Operation<i64>],
) -> Result<(), String> {
    let subject = Subject::<i64, S>::open(db, options.clone()).await;
    let compared = compare_all(&subject, operations).await;
    subject.clear().await;
    compared
}

async fn compare_all<S: KeepsOrder>(
    subject: &Subject<i64, S>,
    operations: &[Operation<i64>],
) -> Result<(), String> {
    let mut forest = Forest::default();
    for (at, operation) in operations.iter().enumerate() {
        let place = format!("step {at}: {operation:?}");
        let expected = operation.apply(&mut forest);
        let outcome = subject.apply(operation).await;
        if outcome != expected {
            return Err(format!("{place}: {outcome:?} instead of {expected:?}"));
        }
        let (found, expected) = (subject.outline().await, Ok(forest.outline()));
        if found != expected {
            return Err(format!("{place}: {found:?} instead of {expected:?}"));
        }
        if at % 16 == 0 || at + 1 == operations.len() {
            let problems = subject.problems().await;
            if !problems.is_empty() {
                return Err(format!("{place}: {problems:?}"));
            }
        }
        // Asking everything about two nodes takes longer than a change.
        if at % 8 != 7 {
            continue;
        }
        let keys: Vec<i64> = forest.keys().copied().collect();
        if let Some(key) = keys.get(at % keys.len().max(1)) {
            let other = keys[(at * 7 + 3) % keys.len()];
            subject
                .reads(&forest, key, &other)
                .await
                .map_err(|text| format!("{place}: {text}"))?;
        }
    }
    Ok(())
}
