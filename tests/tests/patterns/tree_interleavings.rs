//! All orders in which the operations of two who change the same tree can follow each other: with transactions, by
//! intents, without transactions, and one in each of the first two ways.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use bson::doc;
use odm::Db;
use odm::backend::TransactionOptions;
use odm::backend::wrap::Fault;
use odm_patterns::tree::{
    ArrayOfAncestors, ChildReference, DeleteMode, KeepsOrder, MaterializedPaths, NestedSets, ParentReference,
    Tree, TreeError, TreeOptions,
};
use odm_tests::each_model;
use odm_tests::interleavings::every_interleaving_of;
use odm_tests::plain::Plain;
use odm_tests::tree::{Forest, Numbered, OnDelete, Operation, Place, Refusal, Stored, Subject};

/// How a tree is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Transactions,
    Intents,
    Plain,
}

const ALIKE: [[Way; 2]; 3] = [[Way::Transactions; 2], [Way::Intents; 2], [Way::Plain; 2]];
const MIXED: [Way; 2] = [Way::Transactions, Way::Intents];

impl Way {
    fn tree<S: KeepsOrder>(self, db: &Db) -> (Db, Tree<Numbered, S>) {
        let (db, options) = match self {
            Way::Transactions => (db.clone(), TreeOptions::new()),
            Way::Intents => (db.clone(), TreeOptions::new().write_ahead()),
            Way::Plain => (Plain::db(db), TreeOptions::new()),
        };
        let tree = Tree::new(&db, options);
        (db, tree)
    }
}

/// What the two begin with.
#[derive(Clone, Debug)]
enum Beginning {
    /// Nobody has opened the tree.
    Nothing,
    Sound,
    /// A process ended before this write of its operation, the first of which records it.
    Crashed(u64, Operation<i64>),
}

impl Beginning {
    /// The tree, and the reference: 1 (2 (3, 4), 5), 6 (7).
    async fn set_up<S: KeepsOrder>(&self, way: Way) -> (Db, Forest<i64>) {
        let db = Db::open("memory:").await.unwrap();
        let mut forest = Forest::default();
        let (own, tree) = way.tree::<S>(&db);
        if matches!(self, Beginning::Nothing) {
            return (db, forest);
        }
        tree.prepare().await.unwrap();
        let parents = [None, Some(1), Some(2), Some(2), Some(1), None, Some(6)];
        let nodes = (1..).zip(parents);
        let nodes: Vec<(i64, Option<i64>)> = nodes.collect();
        for (key, parent) in &nodes {
            let place = parent.map_or(Place::LastRoot, Place::LastChild);
            forest.insert(*key, &place).unwrap();
        }
        let nodes = nodes.into_iter().map(|(key, parent)| (key.node(), parent));
        tree.load_flat(nodes.collect()).await.unwrap();
        if let Beginning::Crashed(nth, operation) = self {
            let (faulty, faults) = own.faulty();
            let harmed = Tree::<Numbered, S>::new(&faulty, TreeOptions::new().write_ahead());
            faults.add(Fault::nth_write(*nth).crash());
            let ended = Subject::of(&faulty, harmed).apply(operation).await;
            ended.expect_err("the process ended");
            let pending = doc! { "intent": { "$exists": true } };
            let state = db.raw_collection("nodes_trees").find_one(pending).await.unwrap();
            assert!(state.is_some(), "{operation:?} is not under way at write {nth}");
            operation.apply(&mut forest).unwrap();
        }
        (db, forest)
    }
}

/// What a worker does.
#[derive(Clone, Debug)]
enum Task {
    Ask(Operation<i64>),
    Reorder(i64, Vec<i64>),
    Repair,
    Rebuild,
    Open,
    /// An insertion and a move, both or neither, in a transaction of the caller.
    Both((i64, i64), (i64, i64)),
}

impl Task {
    /// Asks it of the reference.
    fn apply(&self, forest: &mut Forest<i64>) -> Result<(), Refusal> {
        match self {
            Task::Ask(operation) => operation.apply(forest),
            Task::Reorder(parent, order) => forest.reorder(Some(parent), order.clone()),
            Task::Repair | Task::Rebuild | Task::Open => Ok(()),
            Task::Both((new, above), (moved, under)) => {
                let before = forest.clone();
                let inserted = forest.insert(*new, &Place::LastChild(*above));
                let done = inserted.and_then(|()| forest.shift(moved, &Place::LastChild(*under)));
                if done.is_err() {
                    *forest = before;
                }
                done
            }
        }
    }

    async fn run<S: KeepsOrder>(&self, db: &Db, tree: Tree<Numbered, S>) -> Result<(), Refusal> {
        let done = match self {
            Task::Ask(operation) => return Subject::of(db, tree).apply(operation).await,
            Task::Reorder(parent, order) => tree.reorder(*parent, order.clone()).await,
            Task::Repair => tree.repair().await.map(drop),
            Task::Rebuild => tree.rebuild().await.map(drop),
            Task::Open => tree.prepare().await,
            Task::Both((new, above), (moved, under)) => {
                let both = async |tx: odm::Tx| {
                    let tree = tree.within(&tx);
                    tree.insert_child(*above, new.node()).await?;
                    tree.move_under(*moved, *under).await
                };
                db.transaction_with(TransactionOptions::new(), both).await
            }
        };
        done.map_err(|error| match error {
            TreeError::NotFound { .. } | TreeError::InvalidPosition { .. } => Refusal::Missing,
            TreeError::IntoOwnDescendant { .. } => Refusal::IntoDescendant,
            error => Refusal::Other(format!("{error:?}")),
        })
    }
}

/// Whatever two do to a tree, it is what comes out when one comes behind the other, and both are told so.
async fn one_behind_the_other<S: KeepsOrder>(
    interruptions: usize,
    beginning: &Beginning,
    ways: [Way; 2],
    tasks: [&Task; 2],
) -> usize {
    let reference = Mutex::new(Forest::default());
    let answers = Arc::new(Mutex::new([None, None]));
    every_interleaving_of(
        interruptions,
        async || {
            let (db, forest) = beginning.set_up::<S>(ways[1]).await;
            *reference.lock().unwrap() = forest;
            db
        },
        |db, n| {
            let (task, answers) = (tasks[n].clone(), answers.clone());
            Box::pin(async move {
                let (db, tree) = ways[n].tree::<S>(db);
                let answer = task.run(&db, tree).await;
                answers.lock().unwrap()[n] = Some(answer);
            })
        },
        async |db, order| {
            let begun = reference.lock().unwrap().clone();
            let expected = [[0, 1], [1, 0]].map(|turns| {
                let mut forest = begun.clone();
                let mut answers = [None, None];
                for n in turns {
                    answers[n] = Some(tasks[n].apply(&mut forest));
                }
                (answers, forest.outline())
            });
            let answers = std::mem::take(&mut *answers.lock().unwrap());
            let (db, tree) = Way::Transactions.tree::<S>(db);
            let subject = Subject::<i64, S>::of(&db, tree);
            let found = (answers, subject.outline().await.unwrap());
            let context = format!("{tasks:?} {ways:?} {beginning:?} as {order:?}");
            assert!(
                expected.contains(&found),
                "{context}: {found:?} is none of {expected:?}"
            );
            // An intent that is left would be one.
            assert_eq!(subject.problems().await, Vec::<String>::new(), "{context}");
            assert_eq!(subject.stored().await.len(), found.1.len(), "{context}");
        },
    )
    .await
}

/// Changes that are in each other's way.
fn changes() -> Vec<Task> {
    let operations = [
        Operation::Insert(50, Place::Left(4)),
        Operation::Move(2, Place::LastChild(7)),
        Operation::Move(6, Place::FirstChild(3)),
        Operation::Rename(2, 20),
        Operation::Delete(3, OnDelete::Refuse),
        Operation::Delete(2, OnDelete::Adopt),
    ];
    operations.into_iter().map(Task::Ask).collect()
}

/// Each with each, the first of which is interrupted once.
async fn each_with_each<S: KeepsOrder>(ways: [Way; 2]) {
    let changes = changes();
    let mut orders = 0;
    for first in &changes {
        for second in &changes {
            orders += one_behind_the_other::<S>(1, &Beginning::Sound, ways, [first, second]).await;
        }
    }
    println!("{orders} orders");
    assert!(orders > 200, "{orders}");
}

macro_rules! each_with_each {
    ($($module:ident $model:ident;)*) => {$(
        mod $module {
            use super::*;

            #[tokio::test]
            async fn changes_in_transactions_come_one_behind_the_other() {
                each_with_each::<$model>([Way::Transactions; 2]).await;
            }

            #[tokio::test]
            async fn changes_by_intents_come_one_behind_the_other() {
                each_with_each::<$model>([Way::Intents; 2]).await;
            }

            #[tokio::test]
            async fn changes_without_transactions_come_one_behind_the_other() {
                each_with_each::<$model>([Way::Plain; 2]).await;
            }

            #[tokio::test]
            async fn changes_in_both_ways_come_one_behind_the_other() {
                each_with_each::<$model>(MIXED).await;
            }
        }
    )*};
}

each_with_each! {
    parent_reference ParentReference;
    child_reference ChildReference;
    array_of_ancestors ArrayOfAncestors;
    materialized_paths MaterializedPaths;
    nested_sets NestedSets;
}

/// Two moves, each into what the other moves.
async fn moves_that_cross(ways: [Way; 2]) {
    let moves = [
        Task::Ask(Operation::Move(2, Place::LastChild(7))),
        Task::Ask(Operation::Move(6, Place::FirstChild(3))),
    ];
    each_model!(S => {
        one_behind_the_other::<S>(2, &Beginning::Sound, ways, moves.each_ref()).await;
    });
}

#[tokio::test]
async fn moves_that_cross_in_transactions_make_no_circle() {
    moves_that_cross([Way::Transactions; 2]).await;
}

#[tokio::test]
async fn moves_that_cross_without_transactions_make_no_circle() {
    moves_that_cross([Way::Plain; 2]).await;
}

#[tokio::test]
async fn moves_that_cross_in_both_ways_make_no_circle() {
    moves_that_cross(MIXED).await;
}

/// A subtree whose source is not changed meanwhile.
#[tokio::test]
async fn a_copy_is_where_the_other_change_leaves_its_place() {
    let copy = Task::Ask(Operation::Copy(6, Place::FirstChild(2), 80));
    let others = [
        Operation::Move(2, Place::FirstSibling(1)),
        Operation::Rename(2, 20),
        Operation::Delete(2, OnDelete::Cascade),
    ];
    each_model!(S => {
        for other in others.clone().map(Task::Ask) {
            for ways in [ALIKE[0], ALIKE[2], MIXED] {
                one_behind_the_other::<S>(1, &Beginning::Sound, ways, [&copy, &other]).await;
            }
        }
    });
}

/// One that somebody else changes, above and below.
#[tokio::test]
async fn a_copy_is_of_the_subtree_before_or_behind_the_other_change() {
    let copy = Task::Ask(Operation::Copy(2, Place::FirstChild(6), 70));
    let others = [
        Operation::Rename(2, 20),
        Operation::Rename(3, 50),
        Operation::Delete(2, OnDelete::Adopt),
        Operation::Delete(2, OnDelete::Cascade),
        Operation::Move(3, Place::FirstChild(6)),
        Operation::Copy(6, Place::FirstChild(2), 90),
    ];
    each_model!(S => {
        for other in others.clone().map(Task::Ask) {
            for ways in [ALIKE[0], ALIKE[1], ALIKE[2], MIXED] {
                one_behind_the_other::<S>(1, &Beginning::Sound, ways, [&copy, &other]).await;
            }
        }
    });
}

#[tokio::test]
async fn siblings_are_in_the_new_order_or_their_change_was_first() {
    let reorder = Task::Reorder(2, vec![4, 3]);
    let others = [
        Operation::Insert(50, Place::LastChild(2)),
        Operation::Move(3, Place::Right(4)),
        Operation::Rename(3, 30),
    ];
    each_model!(S => {
        for other in others.clone().map(Task::Ask) {
            for ways in [ALIKE[0], ALIKE[2], MIXED] {
                one_behind_the_other::<S>(1, &Beginning::Sound, ways, [&reorder, &other]).await;
            }
        }
    });
}

#[tokio::test]
async fn who_mends_a_tree_that_others_change_harms_nothing() {
    let others = [
        Operation::Move(2, Place::LastChild(7)),
        Operation::Rename(2, 20),
        Operation::Delete(2, OnDelete::Adopt),
    ];
    each_model!(S => {
        for other in others.clone().map(Task::Ask) {
            for (ways, mends) in [(ALIKE[1], Task::Rebuild), (ALIKE[2], Task::Repair)] {
                one_behind_the_other::<S>(1, &Beginning::Sound, ways, [&other, &mends]).await;
                one_behind_the_other::<S>(1, &Beginning::Sound, ways, [&mends, &other]).await;
            }
        }
    });
}

#[tokio::test]
async fn a_transaction_of_the_caller_comes_as_a_whole() {
    let both = Task::Both((50, 2), (7, 50));
    let others = [
        Operation::Move(2, Place::FirstChild(7)),
        Operation::Rename(7, 70),
        Operation::Delete(2, OnDelete::Cascade),
    ];
    each_model!(S => {
        for other in others.clone().map(Task::Ask) {
            for ways in [ALIKE[0], MIXED] {
                one_behind_the_other::<S>(1, &Beginning::Sound, ways, [&both, &other]).await;
                one_behind_the_other::<S>(1, &Beginning::Sound, ways, [&other, &both]).await;
            }
        }
    });
}

/// A tree that two open and plant at once.
#[tokio::test]
async fn a_tree_that_two_begin_has_both_roots() {
    let tasks = [
        Task::Open,
        Task::Ask(Operation::Insert(1, Place::LastRoot)),
        Task::Ask(Operation::Insert(2, Place::LastRoot)),
    ];
    each_model!(S => {
        for ways in ALIKE.into_iter().chain([MIXED]) {
            for [first, second] in [[0, 1], [1, 1], [1, 2]] {
                let tasks = [&tasks[first], &tasks[second]];
                one_behind_the_other::<S>(1, &Beginning::Nothing, ways, tasks).await;
            }
        }
    });
}

/// One process has ended, and two come: before anything is written, or in the middle of it.
async fn after_a_crash(ways: [Way; 2], first: &Task, second: &Task) {
    let abandoned = [
        Operation::Move(2, Place::FirstChild(7)),
        Operation::Copy(2, Place::LastChild(6), 60),
        Operation::Rename(2, 20),
        Operation::Delete(2, OnDelete::Adopt),
    ];
    each_model!(S => {
        for operation in &abandoned {
            // Where there are transactions, what comes behind the recording is one write.
            let last = if ways[0] == Way::Plain { 3 } else { 2 };
            for nth in 2..=last {
                let beginning = Beginning::Crashed(nth, operation.clone());
                one_behind_the_other::<S>(1, &beginning, ways, [first, second]).await;
            }
        }
    });
}

#[tokio::test]
async fn two_find_a_change_that_was_recorded_in_transactions() {
    let insert = Task::Ask(Operation::Insert(50, Place::LastChild(6)));
    let other = Task::Ask(Operation::Move(4, Place::FirstChild(5)));
    after_a_crash([Way::Transactions; 2], &insert, &other).await;
}

#[tokio::test]
async fn two_find_a_change_that_was_recorded_by_intents() {
    let insert = Task::Ask(Operation::Insert(50, Place::LastChild(6)));
    after_a_crash([Way::Intents; 2], &Task::Open, &insert).await;
}

#[tokio::test]
async fn two_find_a_change_that_was_recorded_without_transactions() {
    let other = Task::Ask(Operation::Move(4, Place::FirstChild(5)));
    after_a_crash([Way::Plain; 2], &Task::Repair, &other).await;
}

#[tokio::test]
async fn two_find_a_change_that_was_recorded_in_both_ways() {
    let delete = Task::Ask(Operation::Delete(6, OnDelete::Roots));
    let other = Task::Ask(Operation::Move(4, Place::FirstChild(5)));
    after_a_crash(MIXED, &delete, &other).await;
}

#[tokio::test]
async fn a_chain_that_two_look_for_is_made_once() {
    let names = ["node 6", "new", "newer"].map(str::to_owned);
    each_model!(S => {
        for ways in ALIKE.into_iter().chain([MIXED]) {
            for beginning in [Beginning::Nothing, Beginning::Sound] {
                let found = Arc::new(Mutex::new([0, 0]));
                every_interleaving_of(
                    1,
                    async || beginning.set_up::<S>(ways[1]).await.0,
                    |db, n| {
                        let (names, found) = (names.clone(), found.clone());
                        Box::pin(async move {
                            let (_, tree) = ways[n].tree::<S>(db);
                            let next = AtomicI64::new(100 * (n as i64 + 1));
                            let make = |name: &String| Numbered {
                                id: next.fetch_add(1, Ordering::SeqCst),
                                name: name.clone(),
                            };
                            let last = tree.find_or_create(&names, |node| node.name, make).await;
                            found.lock().unwrap()[n] = last.unwrap().unwrap().id;
                        })
                    },
                    async |db, order| {
                        let context = format!("{ways:?} {beginning:?} as {order:?}");
                        let (db, tree) = Way::Transactions.tree::<S>(db);
                        let subject = Subject::<i64, S>::of(&db, tree);
                        let [one, other] = std::mem::take(&mut *found.lock().unwrap());
                        assert_eq!(one, other, "{context}");
                        let expected = if matches!(beginning, Beginning::Nothing) { 3 } else { 9 };
                        assert_eq!(subject.outline().await.unwrap().len(), expected, "{context}");
                        assert_eq!(subject.stored().await.len(), expected, "{context}");
                        assert_eq!(subject.problems().await, Vec::<String>::new(), "{context}");
                    },
                )
                .await;
            }
        }
    });
}

#[tokio::test]
async fn a_chain_whose_end_another_deletes_is_given_as_it_was_made() {
    each_model!(S => {
        for ways in ALIKE.into_iter().chain([MIXED]) {
            for end in ["node 5", "new"] {
                let deleted = Arc::new(Mutex::new(None));
                every_interleaving_of(
                    2,
                    async || Beginning::Sound.set_up::<S>(ways[1]).await.0,
                    |db, n| {
                        let deleted = deleted.clone();
                        Box::pin(async move {
                            let (_, tree) = ways[n].tree::<S>(db);
                            if n == 0 {
                                let names = ["node 1", end].map(str::to_owned);
                                let make = |name: &String| Numbered {
                                    id: 100 + name.len() as i64,
                                    name: name.clone(),
                                };
                                let last = tree.find_or_create(&names, |node| node.name, make).await;
                                assert_eq!(last.unwrap().unwrap().name, end);
                                return;
                            }
                            let nodes = db.raw_collection("nodes");
                            let there = nodes.find_one(doc! { "name": end }).await.unwrap();
                            let there = there.map(|node| node.get_i64("_id").unwrap());
                            if let Some(id) = there {
                                tree.delete(id, DeleteMode::Cascade).await.unwrap();
                            }
                            *deleted.lock().unwrap() = there;
                        })
                    },
                    async |db, order| {
                        let context = format!("{ways:?} {end} as {order:?}");
                        let (db, tree) = Way::Transactions.tree::<S>(db);
                        let subject = Subject::<i64, S>::of(&db, tree);
                        let deleted = deleted.lock().unwrap().take();
                        let stored = subject.stored().await;
                        let left = stored.len() - 6;
                        match (end, deleted) {
                            // Found and deleted, or deleted and made anew.
                            ("node 5", Some(5)) => assert!(left <= 1, "{context}"),
                            ("new", None) => assert_eq!(left, 2, "{context}"),
                            ("new", Some(103)) => assert_eq!(left, 1, "{context}"),
                            other => panic!("{other:?}: {context}"),
                        }
                        assert_eq!(subject.problems().await, Vec::<String>::new(), "{context}");
                    },
                )
                .await;
            }
        }
    });
}

/// The change is made before the conversion, or its handle is told that it is one of the old model.
async fn converted<S: KeepsOrder, T: KeepsOrder>(ways: [Way; 2], task: &Task) {
    let reference = Mutex::new(Forest::default());
    let answer = Arc::new(Mutex::new(None));
    every_interleaving_of(
        1,
        async || {
            let (db, forest) = Beginning::Sound.set_up::<S>(ways[1]).await;
            *reference.lock().unwrap() = forest;
            db
        },
        |db, n| {
            let (task, answer) = (task.clone(), answer.clone());
            Box::pin(async move {
                let (db, tree) = ways[n].tree::<S>(db);
                if n == 0 {
                    tree.convert::<T>(TreeOptions::new()).await.unwrap();
                } else {
                    *answer.lock().unwrap() = Some(task.run(&db, tree).await);
                }
            })
        },
        async |db, order| {
            let context = format!("{task:?} {ways:?} as {order:?}");
            let mut forest = reference.lock().unwrap().clone();
            match answer.lock().unwrap().take().unwrap() {
                Ok(()) => task.apply(&mut forest).unwrap(),
                Err(Refusal::Other(error)) => assert!(error.contains("Converted"), "{context}: {error}"),
                Err(other) => panic!("{context}: {other:?}"),
            }
            let (db, tree) = Way::Transactions.tree::<T>(db);
            let subject = Subject::<i64, T>::of(&db, tree);
            assert_eq!(subject.outline().await, Ok(forest.outline()), "{context}");
            assert_eq!(subject.problems().await, Vec::<String>::new(), "{context}");
        },
    )
    .await;
}

#[tokio::test]
async fn a_handle_of_the_old_model_changes_no_converted_tree() {
    let tasks = [
        Task::Ask(Operation::Insert(50, Place::Left(4))),
        Task::Ask(Operation::Delete(2, OnDelete::Adopt)),
    ];
    for ways in ALIKE.into_iter().chain([MIXED]) {
        for task in &tasks {
            converted::<ParentReference, NestedSets>(ways, task).await;
            converted::<NestedSets, ChildReference>(ways, task).await;
            converted::<ChildReference, MaterializedPaths>(ways, task).await;
            converted::<MaterializedPaths, ArrayOfAncestors>(ways, task).await;
            converted::<ArrayOfAncestors, ParentReference>(ways, task).await;
        }
    }
}

/// Where there are transactions, what is read by one query.
#[tokio::test]
async fn a_reader_sees_a_change_as_a_whole() {
    each_model!(S => {
        for way in [Way::Transactions, Way::Intents] {
            for task in changes() {
                let reference = Mutex::new(Forest::default());
                let seen = Arc::new(Mutex::new(Vec::new()));
                every_interleaving_of(
                    2,
                    async || {
                        let (db, forest) = Beginning::Sound.set_up::<S>(way).await;
                        *reference.lock().unwrap() = forest;
                        db
                    },
                    |db, n| {
                        let (task, seen) = (task.clone(), seen.clone());
                        Box::pin(async move {
                            let (db, tree) = way.tree::<S>(db);
                            if n == 0 {
                                task.run(&db, tree).await.unwrap();
                            } else {
                                let outline = Subject::of(&db, tree).outline().await;
                                *seen.lock().unwrap() = outline.unwrap();
                            }
                        })
                    },
                    async |_, order| {
                        let before = reference.lock().unwrap().clone();
                        let mut behind = before.clone();
                        task.apply(&mut behind).unwrap();
                        let seen = std::mem::take(&mut *seen.lock().unwrap());
                        let whole = [before, behind].map(|forest| forest.outline());
                        assert!(whole.contains(&seen), "{task:?} {way:?} as {order:?}: {seen:?}");
                    },
                )
                .await;
            }
        }
    });
}
