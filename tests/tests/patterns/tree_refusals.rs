//! Changes of trees of which the database refuses a write, in all five models, in transactions and without: they do not
//! happen, and the tree goes on.

use bson::{Bson, DateTime, Document, doc};
use odm::backend::wrap::Fault;
use odm::{Db, ErrorKind, Model};
use odm_patterns::tree::{
    ArrayOfAncestors, Branch, ChildReference, DeleteMode, KeepsOrder, NestedSets, ParentReference, Position,
    Result, Tree, TreeOptions,
};
use odm_tests::each_model;
use odm_tests::harness::{Target, run};
use odm_tests::interleavings::every_interleaving_of;
use odm_tests::interrupted::interrupted;
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

use super::tree_lifecycle_models::{clear, everywhere, grow, shown, sound, ways};

crate::on_every_backend! {
    a_move_to_where_the_name_is_taken_does_not_happen,
    a_change_of_which_a_write_is_refused_does_not_happen,
    a_conversion_of_which_a_write_is_refused_does_not_happen,
    a_change_in_many_steps_is_taken_back_from_each,
    whoever_comes_goes_on_taking_back,
    what_is_refused_meanwhile_is_told_to_whom_it_was_asked_by,
}

const WHOLE: &str = "1(2(3 4) 5)";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shelves")]
struct Shelf {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[odm(version)]
    version: i64,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

fn shelf(id: i32) -> Shelf {
    Shelf {
        id,
        name: format!("{id}"),
        version: 0,
        deleted: None,
    }
}

async fn validator(db: &Db, validator: Document) {
    let shelves = db.raw_collection("shelves");
    shelves.modify().validator(validator).await.expect("a validator");
}

/// Refuses every change of a node.
async fn refuse(db: &Db, id: i32) {
    validator(db, doc! { "$nor": [{ "_id": id, "version": { "$gte": 1 } }] }).await;
}

async fn allow_all(db: &Db) {
    validator(db, Document::new()).await;
}

/// All nodes, without what says when they were written, and how often.
async fn contents(db: &Db) -> Vec<Document> {
    let found = db
        .raw_collection("shelves")
        .find(doc! {})
        .sort_raw(doc! { "_id": 1 });
    let mut found = found.await.expect("a read");
    for node in &mut found {
        node.remove("tree_fence");
        node.remove("version");
        // In one order, whatever was taken away and put back.
        let mut fields: Vec<(String, Bson)> = std::mem::take(node).into_iter().collect();
        fields.sort_by(|one, other| one.0.cmp(&other.0));
        node.extend(fields);
    }
    found
}

/// What stands beside the nodes: the state alone, but for what is remembered of deletions.
async fn is_settled(db: &Db) {
    let pending = doc! { "$or": [{ "intent": { "$exists": true } }, { "attempt": { "$exists": true } }] };
    let left = db.raw_collection("shelves_trees").find(pending).await;
    assert_eq!(left.expect("a read"), Vec::<Document>::new());
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Move,
    Reorder,
    Insert,
    Rename,
    Delete,
    Adopt,
    Purge,
    Copy,
}

const CHANGES: [(Change, &str); 8] = [
    (Change::Move, "1(5(2(3 4)))"),
    (Change::Reorder, "1(2(4 3) 5)"),
    (Change::Insert, "1(2(3 6 4) 5)"),
    (Change::Rename, "1(20(3 4) 5)"),
    (Change::Delete, "1(5)"),
    (Change::Adopt, "1(3 4 5)"),
    (Change::Purge, "1(5)"),
    (Change::Copy, "1(2(3 4) 5(12(13 14)))"),
];

impl Change {
    async fn make<S: KeepsOrder>(self, tree: &Tree<Shelf, S>) -> Result<()> {
        match self {
            Change::Move => tree.move_under(2, 5).await,
            Change::Reorder => tree.reorder(2, [4, 3]).await,
            Change::Insert => tree.insert_at(shelf(6), 4, Position::Left).await,
            Change::Rename => tree.rename(2, 20).await,
            Change::Delete => tree.delete(2, DeleteMode::Cascade).await.map(drop),
            Change::Adopt => tree.delete(2, DeleteMode::Adopt).await.map(drop),
            Change::Purge => tree.purge(2, DeleteMode::Cascade).await.map(drop),
            Change::Copy => {
                let copy = |node: &Shelf| shelf(node.id + 10);
                tree.copy_under(2, 5, copy).await.map(drop)
            }
        }
    }
}

fn is_far(db: &Db) -> bool {
    db.backend_name() == "mongodb"
}

async fn a_move_to_where_the_name_is_taken_does_not_happen(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        let tree = grow::<Shelf, S>(db, options, shelf).await;
        let field = match tree.get(1).await.expect("a read").is_some() && is_listed::<S>() {
            // Children of two parents have no field of their own to be told by.
            true => return,
            false => "parent",
        };
        let index = doc! { "name": "in_one_place", "key": { field: 1, "name": 1 }, "unique": true };
        let raw = db.raw_collection("shelves");
        let command = doc! { "createIndexes": "shelves", "indexes": [index] };
        db.run_command(command).await.expect("an index");
        let taken = Shelf {
            name: "2".into(),
            ..shelf(6)
        };
        tree.insert_child(5, taken).await.expect("inserted");
        let before = contents(db).await;
        for _ in 0..2 {
            let error = tree.move_under(2, 5).await.expect_err("the name is taken");
            assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error:?}");
            assert_eq!(error.id(), Some(&Bson::Int32(2)), "{error:?}");
            let told = odm::Error::from(error);
            assert_eq!(told.index(), Some("in_one_place"), "{told:?}");
            sound(&tree, "1(2(3 4) 5(6))").await;
            assert_eq!(contents(db).await, before);
            is_settled(db).await;
        }
        tree.repair().await.expect("nothing to repair");
        tree.move_under(4, 5).await.expect("another one is moved");
        sound(&tree, "1(2(3) 5(6 4))").await;
        raw.drop_index("in_one_place").await.expect("dropped");
    }
    everywhere!(db, case, ["shelves", "shelves_trees"]);
}

/// Whether moving a node writes its parents alone.
fn is_listed<S: KeepsOrder>() -> bool {
    std::any::TypeId::of::<S>() == std::any::TypeId::of::<ChildReference>()
}

/// Makes each change with each node that refuses to be written; gives how often it was refused.
async fn refused<S: KeepsOrder>(db: &Db, options: &TreeOptions) -> usize {
    let mut count = 0;
    for (change, after) in CHANGES {
        for id in 1..=5 {
            let tree = grow::<Shelf, S>(db, options.clone(), shelf).await;
            let before = contents(db).await;
            refuse(db, id).await;
            let made = change.make(&tree).await;
            allow_all(db).await;
            is_settled(db).await;
            match made {
                Ok(()) => sound(&tree, after).await,
                Err(error) => {
                    count += 1;
                    assert_eq!(error.kind(), ErrorKind::Validation, "{change:?} {id}: {error:?}");
                    assert_eq!(contents(db).await, before, "{change:?} {id}: {tree:?}");
                    sound(&tree, WHOLE).await;
                    change.make(&tree).await.expect("it is not refused now");
                    sound(&tree, after).await;
                }
            }
            clear(db, &["shelves", "shelves_trees"]).await;
        }
    }
    count
}

async fn a_change_of_which_a_write_is_refused_does_not_happen(db: &Db) {
    for (way, options) in ways(db) {
        if is_far(db) {
            let count = refused::<NestedSets>(&way, &options).await;
            assert!(count > 10, "{count}");
            continue;
        }
        each_model!(S => {
            let count = refused::<S>(&way, &options).await;
            assert!(count > 5, "{count}");
        });
    }
}

async fn a_conversion_of_which_a_write_is_refused_does_not_happen(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        for id in 1..=5 {
            let tree = grow::<Shelf, S>(db, options.clone(), shelf).await;
            let before = contents(db).await;
            refuse(db, id).await;
            let error = match std::any::TypeId::of::<S>() == std::any::TypeId::of::<NestedSets>() {
                true => tree.convert::<ChildReference>(options.clone()).await.err(),
                false => tree.convert::<NestedSets>(options.clone()).await.err(),
            };
            allow_all(db).await;
            let error = error.expect("it is refused");
            assert_eq!(error.kind(), ErrorKind::Validation, "{error:?}");
            assert_eq!(contents(db).await, before);
            is_settled(db).await;
            tree.prepare().await.expect("it opens");
            tree.move_under(2, 5).await.expect("it goes on");
            sound(&tree, "1(5(2(3 4)))").await;
            clear(db, &["shelves", "shelves_trees"]).await;
        }
    }
    everywhere!(db, case, ["shelves", "shelves_trees"]);
}

/// More writes than are made at once, of which the last is refused; and the process ends before each of them.
async fn a_change_in_many_steps_is_taken_back_from_each(db: &Db) {
    for (way, options) in &ways(db)[1..] {
        let tree = Tree::<Shelf, ArrayOfAncestors>::open(way, options.clone()).await;
        let tree = tree.expect("it opens");
        let many = Branch::new(shelf(2), (10..1_200).map(|id| Branch::leaf(shelf(id))));
        let two = vec![Branch::new(shelf(1), [many]), Branch::leaf(shelf(5))];
        tree.load(two).await.expect("loaded");
        let before = contents(db).await;
        refuse(db, 1_199).await;
        // Where each write takes its time, no process ends.
        let first = if db.backend_name() == "memory" { 1 } else { 1_000 };
        for nth in first.. {
            let (faulty, faults) = way.faulty();
            faults.add(Fault::nth_write(nth).crash());
            let error = tree
                .within(&faulty)
                .move_under(2, 5)
                .await
                .expect_err("it is refused");
            tree.prepare().await.expect("it opens");
            is_settled(db).await;
            assert_eq!(contents(db).await, before, "ended at {nth}");
            if faults.failures() == 0 {
                assert_eq!(error.kind(), ErrorKind::Validation, "{error:?}");
                assert_eq!(error.id(), Some(&Bson::Int32(1_199)), "{error:?}");
                break;
            }
        }
        allow_all(db).await;
        tree.move_under(2, 5).await.expect("it is not refused now");
        assert_eq!(tree.verify().await.expect("verified"), []);
        assert_eq!(tree.descendant_count(5).await.expect("a count"), 1_191);
        clear(db, &["shelves", "shelves_trees"]).await;
    }
}

/// The process ends before each write of a change that is refused; the next one comes while it would be refused still, or
/// not any more.
async fn ended<S: KeepsOrder>(way: &Db, options: &TreeOptions, change: (Change, &str), id: i32) {
    let tree = grow::<Shelf, S>(way, options.clone(), shelf).await;
    refuse(way, id).await;
    let made = change.0.make(&tree).await;
    allow_all(way).await;
    clear(way, &["shelves", "shelves_trees"]).await;
    if made.is_ok() {
        // It writes other nodes.
        return;
    }
    for still in [true, false] {
        for nth in 1.. {
            let tree = grow::<Shelf, S>(way, options.clone(), shelf).await;
            let before = contents(way).await;
            refuse(way, id).await;
            let (faulty, faults) = way.faulty();
            faults.add(Fault::nth_write(nth).crash());
            let made = change.0.make(&tree.within(&faulty)).await;
            let has_ended = faults.failures() > 0;
            if !still {
                allow_all(way).await;
            }
            tree.prepare().await.expect("it opens");
            is_settled(way).await;
            let context = format!("{change:?} {id} ended at {nth}: {made:?}, {tree:?}");
            let now = shown(&tree).await;
            assert!(now == WHOLE || (!still && now == change.1), "{context}: {now}");
            if now == WHOLE {
                assert_eq!(contents(way).await, before, "{context}");
            }
            let problems = tree.verify().await.expect("verified");
            assert_eq!(problems, [], "{context}");
            allow_all(way).await;
            tree.insert_child(5, shelf(7)).await.expect("it goes on");
            clear(way, &["shelves", "shelves_trees"]).await;
            if !has_ended {
                break;
            }
        }
    }
}

async fn whoever_comes_goes_on_taking_back(db: &Db) {
    for (way, options) in ways(db) {
        if db.backend_name() != "memory" {
            ended::<NestedSets>(&way, &options, CHANGES[0], 4).await;
            continue;
        }
        each_model!(S => {
            for (change, id) in [(CHANGES[0], 4), (CHANGES[0], 5), (CHANGES[3], 4), (CHANGES[5], 4), (CHANGES[2], 2)] {
                ended::<S>(&way, &options, change, id).await;
            }
        });
    }
}

/// At each moment of a change that is refused, the reason goes, and somebody else opens the tree.
async fn what_is_refused_meanwhile_is_told_to_whom_it_was_asked_by(db: &Db) {
    async fn case<S: KeepsOrder>(db: &Db, options: TreeOptions) {
        for ((change, after), id) in [(CHANGES[0], 4), (CHANGES[3], 4), (CHANGES[7], 5), (CHANGES[6], 4)] {
            for nth in 1.. {
                let tree = grow::<Shelf, S>(db, options.clone(), shelf).await;
                refuse(db, id).await;
                let (other, theirs) = (db.clone(), options.clone());
                let (held, moment) = interrupted(db, nth, async move {
                    let tree = Tree::<Shelf, S>::new(&other, theirs);
                    // Whoever comes now is refused the same; then the reason goes.
                    tree.prepare().await.expect("it opens");
                    allow_all(&other).await;
                });
                let made = change.make(&tree.within(&held)).await;
                allow_all(db).await;
                is_settled(db).await;
                let expected = if made.is_ok() { after } else { WHOLE };
                let context = format!("{change:?} {id} at {nth}: {made:?}, {tree:?}");
                assert_eq!(shown(&tree).await, expected, "{context}");
                assert_eq!(tree.verify().await.expect("verified"), [], "{context}");
                clear(db, &["shelves", "shelves_trees"]).await;
                if !moment.has_come() {
                    break;
                }
            }
        }
    }
    if is_far(db) {
        for (way, options) in ways(db) {
            case::<NestedSets>(&way, options).await;
        }
        return;
    }
    everywhere!(db, case, ["shelves", "shelves_trees"]);
}

/// Two come to a change that ended before one of its writes, of which another is refused until, at some moment, it is not.
async fn two_who_come<S: KeepsOrder>(plain: bool, nth: u64, id: i32) -> usize {
    let way = move |db: &Db| if plain { Plain::db(db) } else { db.clone() };
    let options = || TreeOptions::new().write_ahead();
    every_interleaving_of(
        1,
        async || {
            let db = Db::open("memory:").await.expect("a database");
            let own = way(&db);
            let tree = grow::<Shelf, S>(&own, options(), shelf).await;
            refuse(&db, id).await;
            let (faulty, faults) = own.faulty();
            faults.add(Fault::nth_write(nth).crash());
            let made = CHANGES[0].0.make(&tree.within(&faulty)).await;
            made.expect_err("it is refused, or the process ended");
            db
        },
        |db, n| {
            let own = way(db);
            Box::pin(async move {
                let tree = Tree::<Shelf, S>::new(&own, options());
                tree.prepare().await.expect("it opens");
                if n == 1 {
                    allow_all(&own).await;
                    tree.insert_child(5, shelf(9)).await.expect("it goes on");
                }
            })
        },
        async |db, order| {
            let tree = Tree::<Shelf, S>::new(db, options());
            let context = format!("ended at {nth}: {order:?} {tree:?}");
            let now = shown(&tree).await;
            let moved = if is_listed::<S>() {
                "1(5(2(3 4) 9))"
            } else {
                "1(5(9 2(3 4)))"
            };
            let behind = "1(5(2(3 4) 9))";
            assert!(
                now == "1(2(3 4) 5(9))" || now == moved || now == behind,
                "{context}: {now}"
            );
            assert_eq!(tree.verify().await.expect("verified"), [], "{context}");
            is_settled(db).await;
        },
    )
    .await
}

#[test]
fn two_who_come_take_it_back_together() {
    run(Target::Memory, |_| async move {
        let mut orders = 0;
        // Before the write that is refused, and on the way back.
        for nth in [2, 5] {
            orders += two_who_come::<ParentReference>(true, nth, 2).await;
        }
        orders += two_who_come::<NestedSets>(false, 4, 4).await;
        println!("{orders} orders");
        assert!(orders > 20, "{orders}");
    });
}
