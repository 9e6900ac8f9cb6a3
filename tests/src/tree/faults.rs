//! A failure at every write of every structural operation.

use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_patterns::tree::{KeepsOrder, TreeOptions};

use super::{Forest, OnDelete, Operation, Place, Subject};

/// How a write fails.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// It did not happen, and all goes well afterwards.
    Before,
    /// It happened, and the caller is not told.
    After,
    /// From it on nothing happens.
    Crash,
}

/// Who comes after the failure.
#[derive(Clone, Copy, Debug)]
enum Next {
    Repair,
    Change,
}

/// A tree in which every operation has something to do.
fn seeded() -> Vec<(i64, Place<i64>)> {
    vec![
        (1, Place::LastRoot),
        (2, Place::LastChild(1)),
        (3, Place::LastChild(2)),
        (4, Place::LastChild(2)),
        (5, Place::LastChild(1)),
        (6, Place::LastRoot),
        (7, Place::LastChild(6)),
        (8, Place::LastChild(7)),
    ]
}

fn operations() -> Vec<Operation<i64>> {
    vec![
        Operation::Insert(20, Place::LastChild(2)),
        Operation::Insert(20, Place::FirstRoot),
        Operation::Insert(20, Place::Left(5)),
        Operation::Move(2, Place::FirstChild(7)),
        Operation::Move(5, Place::Left(2)),
        Operation::Move(7, Place::LastRoot),
        Operation::Move(6, Place::LastChild(3)),
        Operation::Delete(1, OnDelete::Cascade),
        Operation::Delete(2, OnDelete::Adopt),
        Operation::Delete(1, OnDelete::Roots),
        Operation::Delete(8, OnDelete::Refuse),
        Operation::Rename(2, 20),
        Operation::Copy(2, Place::LastChild(7), 20),
        // The seed is one that changes both orders.
        Operation::Reorder(Some(1), 10),
        Operation::Reorder(Some(2), 10),
    ]
}

/// Makes every write of every operation fail, before it, after it, and for good. Afterwards the tree must be as it was
/// or as it should have become, once it was repaired or somebody changed it. Takes every `step`th operation, and gives how
/// many failures there were.
pub async fn sweep<S: KeepsOrder>(db: &Db, options: &TreeOptions, step: usize) -> usize {
    let mut failures = 0;
    for operation in operations().into_iter().step_by(step) {
        for moment in [Moment::Before, Moment::After, Moment::Crash] {
            for next in [Next::Repair, Next::Change] {
                let mut nth = 1;
                while fail::<S>(db, options, &operation, moment, next, nth).await {
                    failures += 1;
                    nth += 1;
                    assert!(nth < 500, "{operation:?} never ends");
                }
                assert!(nth > 1, "{operation:?} writes nothing");
            }
        }
    }
    failures
}

async fn fail<S: KeepsOrder>(
    db: &Db,
    options: &TreeOptions,
    operation: &Operation<i64>,
    moment: Moment,
    next: Next,
    nth: u64,
) -> bool {
    let place = format!("{operation:?}, {moment:?} write {nth}, then {next:?}");
    let (subject, mut forest) = seed::<S>(db, options).await;
    let before = forest.outline();
    operation.apply(&mut forest).expect("the operation is a good one");
    let after = forest.outline();

    let (faulty, faults) = db.faulty();
    let harmed = Subject::<i64, S>::open(&faulty, options.clone()).await;
    let lost = Error::new(ErrorKind::Network, "the connection was lost");
    faults.add(match moment {
        Moment::Before => Fault::nth_write(nth).before(lost),
        Moment::After => Fault::nth_write(nth).after(lost),
        Moment::Crash => Fault::nth_write(nth).crash(),
    });
    let outcome = harmed.apply(operation).await;
    let hit = faults.failures() > 0;
    faults.clear();

    let mut expected = vec![before, after.clone()];
    if outcome.is_ok() {
        expected.remove(0);
    }
    match next {
        Next::Repair => drop(subject.tree.repair().await.expect("the tree is repaired")),
        Next::Change => {
            let inserted = subject.insert(99, &Place::LastRoot).await;
            inserted.unwrap_or_else(|refusal| panic!("{place}: {refusal:?}"));
            for outline in &mut expected {
                outline.push((99, 0, 0));
            }
        }
    }
    let problems = subject.problems().await;
    assert!(problems.is_empty(), "{place}: {problems:?}");
    let outline = subject.outline().await.expect("the tree is read");
    assert!(
        expected.contains(&outline),
        "{place}: {outline:?} is none of {expected:?}"
    );
    assert_eq!(subject.stored().await.len(), outline.len(), "{place}");
    subject.clear().await;
    hit
}

async fn seed<S: KeepsOrder>(db: &Db, options: &TreeOptions) -> (Subject<i64, S>, Forest<i64>) {
    let subject = Subject::<i64, S>::open(db, options.clone()).await;
    let mut forest = Forest::default();
    for (key, place) in seeded() {
        forest.insert(key, &place).expect("inserted");
        subject.insert(key, &place).await.expect("inserted");
    }
    (subject, forest)
}
