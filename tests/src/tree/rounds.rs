//! Many changers at once: crossing moves, inserts under one parent, new roots.

use std::collections::BTreeSet;

use odm::Db;
use odm_patterns::tree::{KeepsOrder, TreeOptions};

use super::{Place, Refusal, Subject};

/// How many roots come at once in a round.
const ROOTS: usize = 6;
/// How many nodes each of two tasks puts under one parent.
const INSERTED: i64 = 5;

/// Two chains under one root each, whose parts eight tasks move into each other, insert under and put roots beside, all
/// at once; `rounds` times. After each, no node may be missing, doubled or its own ancestor.
///
/// Each task has a handle of its own, as separate processes would.
pub async fn cross<S: KeepsOrder>(db: &Db, options: &TreeOptions, rounds: usize) {
    cross_ways::<S>(db, std::slice::from_ref(options), rounds).await;
}

/// The same where the tasks write in several ways, one after the other.
pub async fn cross_ways<S: KeepsOrder>(db: &Db, ways: &[TreeOptions], rounds: usize) {
    for round in 0..rounds {
        let way = |task: usize| ways[task % ways.len()].clone();
        let subject = Subject::<i64, S>::open(db, way(0)).await;
        for (key, place) in [
            (1, Place::LastRoot),
            (2, Place::LastChild(1)),
            (3, Place::LastChild(2)),
            (4, Place::LastChild(3)),
            (11, Place::LastRoot),
            (12, Place::LastChild(11)),
            (13, Place::LastChild(12)),
            (14, Place::LastChild(13)),
        ] {
            subject.insert(key, &place).await.expect("inserted");
        }
        let mut tasks = Vec::new();
        for task in 0..8 {
            // Of two moves that cross, and of two that insert, each is made in another way.
            let subject = Subject::<i64, S>::open(db, way(task)).await;
            tasks.push(tokio::spawn(async move {
                run(&subject, task, round).await;
            }));
        }
        for task in tasks {
            task.await.expect("a task ends well");
        }
        check(&subject, round).await;
        subject.clear().await;
    }
}

async fn run<S: KeepsOrder>(subject: &Subject<i64, S>, task: usize, round: usize) {
    // Which of two crossing moves is refused depends on which comes second.
    let moves: &[(i64, Place<i64>)] = match task {
        0 => &[
            (2, Place::LastChild(14)),
            (3, Place::FirstChild(1)),
            (12, Place::Left(2)),
        ],
        1 => &[
            (12, Place::LastChild(4)),
            (13, Place::Left(3)),
            (2, Place::LastChild(11)),
        ],
        2 => &[
            (1, Place::FirstChild(13)),
            (4, Place::LastRoot),
            (3, Place::Right(4)),
        ],
        3 => &[
            (11, Place::FirstChild(3)),
            (14, Place::FirstRoot),
            (13, Place::LastChild(4)),
        ],
        _ => &[],
    };
    for (key, place) in moves {
        match subject.shift(key, place).await {
            Ok(()) | Err(Refusal::IntoDescendant) => {}
            Err(refusal) => panic!("round {round}: moving {key} to {place:?}: {refusal:?}"),
        }
    }
    match task {
        4 | 5 => {
            for n in 0..INSERTED {
                let key = 100 + task as i64 * 20 + n;
                let place = match n % 3 {
                    0 => Place::LastChild(4),
                    1 => Place::FirstChild(4),
                    _ => Place::ChildAt(4, 1),
                };
                let inserted = subject.insert(key, &place).await;
                inserted.unwrap_or_else(|refusal| panic!("round {round}: inserting {key}: {refusal:?}"));
            }
        }
        6 | 7 => {
            for n in 0..ROOTS / 2 {
                let key = 300 + (task * ROOTS + n) as i64;
                let place = if n == 1 { Place::FirstRoot } else { Place::LastRoot };
                let inserted = subject.insert(key, &place).await;
                inserted.unwrap_or_else(|refusal| panic!("round {round}: inserting {key}: {refusal:?}"));
            }
        }
        _ => {}
    }
}

async fn check<S: KeepsOrder>(subject: &Subject<i64, S>, round: usize) {
    let problems = subject.problems().await;
    assert!(problems.is_empty(), "round {round}: {problems:?}");
    let outline = subject.outline().await.expect("the tree is read");
    let found: BTreeSet<i64> = outline.iter().map(|(key, ..)| *key).collect();
    let mut expected: BTreeSet<i64> = [1, 2, 3, 4, 11, 12, 13, 14].into();
    for task in [4, 5] {
        expected.extend((0..INSERTED).map(|n| 100 + task * 20 + n));
    }
    for task in [6, 7] {
        expected.extend((0..ROOTS / 2).map(|n| 300 + (task * ROOTS + n) as i64));
    }
    assert_eq!(found, expected, "round {round}: nodes were lost or made up");
    assert_eq!(
        outline.len(),
        expected.len(),
        "round {round}: nodes are there twice"
    );
    for task in [4, 5] {
        for n in 0..INSERTED {
            let key = 100 + task * 20 + n;
            assert_eq!(
                subject.parent(key).await,
                Some(4),
                "round {round}: {key} is under another node"
            );
        }
    }
    let stored = subject.stored().await;
    let mut numbers = BTreeSet::new();
    for document in &stored {
        for field in ["left", "right"] {
            if let Ok(number) = document.get_i64(field) {
                assert!(numbers.insert(number), "round {round}: {number} is there twice");
            }
        }
    }
    assert_eq!(
        stored.len(),
        expected.len(),
        "round {round}: more is stored than is in the trees"
    );
}
