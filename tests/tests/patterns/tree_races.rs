//! Trees that several change at the same moment, each in its own way: with transactions, by intents, without either.

use odm::Db;
use odm::backend::wrap::Fault;
use odm_patterns::tree::{KeepsOrder, NestedSets, Tree, TreeOptions};

use odm_tests::each_model;
use odm_tests::interrupted::interrupted;
use odm_tests::plain::Plain;
use odm_tests::tree::{Forest, OnDelete, Operation, Place, Subject, cross_ways};

crate::on_every_backend! {
    intents_and_transactions_take_turns,
    a_helper_that_was_held_up_does_no_harm,
    what_was_read_while_others_wrote_is_planned_anew,
    an_abandoned_change_is_finished_by_whoever_comes,
}

/// 1 (2 (3, 4), 5), 6 (7).
async fn seeded<S: KeepsOrder>(db: &Db) -> (Subject<i64, S>, Forest<i64>) {
    let subject = Subject::<i64, S>::open(db, TreeOptions::new()).await;
    let mut forest = Forest::default();
    for (key, place) in [
        (1, Place::LastRoot),
        (2, Place::LastChild(1)),
        (3, Place::LastChild(2)),
        (4, Place::LastChild(2)),
        (5, Place::LastChild(1)),
        (6, Place::LastRoot),
        (7, Place::LastChild(6)),
    ] {
        forest.insert(key, &place).expect("inserted");
        subject.insert(key, &place).await.expect("inserted");
    }
    (subject, forest)
}

async fn intents_and_transactions_take_turns(db: &Db) {
    let ways = [TreeOptions::new(), TreeOptions::new().write_ahead()];
    each_model!(S => cross_ways::<S>(db, &ways, 1).await);
}

/// Records a change and ends before it is carried out.
async fn abandon<S: KeepsOrder>(db: &Db, operation: &Operation<i64>) {
    let (faulty, faults) = db.faulty();
    let harmed = Subject::<i64, S>::open(&faulty, TreeOptions::new().write_ahead()).await;
    let pending = async || {
        let state = db.raw_collection("nodes_trees").find_one(bson::doc! {}).await;
        state
            .expect("a read")
            .is_some_and(|state| state.contains_key("intent"))
    };
    // The write that records it is the first of a small change.
    faults.add(Fault::nth_write(2).crash());
    harmed.apply(operation).await.expect_err("the process ended");
    assert!(pending().await, "{operation:?} is not recorded");
}

async fn a_helper_that_was_held_up_does_no_harm(db: &Db) {
    if is_far(db) {
        return in_all_ways::<NestedSets>(db).await;
    }
    each_model!(S => in_all_ways::<S>(db).await);
}

async fn in_all_ways<S: KeepsOrder>(db: &Db) {
    held_up::<S>(db, db, TreeOptions::new()).await;
    held_up::<S>(db, db, TreeOptions::new().write_ahead()).await;
    held_up::<S>(db, &Plain::db(db), TreeOptions::new()).await;
}

/// Whether each operation is a round trip to a server: then one model stands for all.
fn is_far(db: &Db) -> bool {
    db.backend_name() == "mongodb"
}

async fn held_up<S: KeepsOrder>(db: &Db, way: &Db, options: TreeOptions) {
    let first = Operation::Copy(2, Place::LastChild(6), 20);
    for nth in 1.. {
        let (subject, mut forest) = seeded::<S>(db).await;
        abandon::<S>(way, &first).await;
        first.apply(&mut forest).expect("a good one");
        let then = [
            Operation::Move(2, Place::FirstRoot),
            Operation::Rename(20, 30),
            Operation::Delete(21, OnDelete::Cascade),
            Operation::Insert(40, Place::Left(22)),
        ];
        for operation in &then {
            operation.apply(&mut forest).expect("a good one");
        }
        let (other, other_options) = (way.clone(), options.clone());
        let (held, moment) = interrupted(way, nth, async move {
            let other = Subject::<i64, S>::open(&other, other_options).await;
            for operation in &then {
                other
                    .apply(operation)
                    .await
                    .expect("done while the other was held up");
            }
        });
        // Opening it carries the change out.
        let helper = Subject::<i64, S>::open(&held, TreeOptions::new().write_ahead()).await;
        drop(helper);
        if !moment.has_come() {
            subject.clear().await;
            return;
        }
        assert_eq!(subject.problems().await, Vec::<String>::new(), "held up at {nth}");
        assert_eq!(subject.outline().await, Ok(forest.outline()), "held up at {nth}");
        assert_eq!(subject.stored().await.len(), forest.len(), "held up at {nth}");
        subject.clear().await;
    }
}

async fn what_was_read_while_others_wrote_is_planned_anew(db: &Db) {
    let plain = Plain::db(db);
    let own = [
        Operation::Move(3, Place::LastChild(1)),
        Operation::Reorder(Some(2), 10),
        Operation::Delete(2, OnDelete::Adopt),
        Operation::Insert(20, Place::Right(3)),
    ];
    if is_far(db) {
        for operation in &own {
            serial::<NestedSets>(db, &plain, operation).await;
        }
        return;
    }
    each_model!(S => {
        for operation in &own {
            serial::<S>(db, &plain, operation).await;
        }
    });
}

/// Whatever another does while an operation is under way, it comes before or behind.
async fn serial<S: KeepsOrder>(db: &Db, way: &Db, operation: &Operation<i64>) {
    let theirs = Operation::Move(3, Place::FirstChild(6));
    for nth in 1.. {
        let (subject, forest) = seeded::<S>(db).await;
        let (other, change) = (way.clone(), theirs.clone());
        let (held, moment) = interrupted(way, nth, async move {
            let other = Subject::<i64, S>::open(&other, TreeOptions::new()).await;
            other.apply(&change).await.ok();
        });
        let harmed = Subject::<i64, S>::of(&held, subject.tree.within(&held));
        harmed.apply(operation).await.ok();
        let mut expected = Vec::new();
        for order in [[operation, &theirs], [&theirs, operation]] {
            let mut forest = forest.clone();
            for operation in order {
                operation.apply(&mut forest).ok();
            }
            expected.push(forest.outline());
        }
        if !moment.has_come() {
            subject.clear().await;
            return;
        }
        let found = subject.outline().await.expect("the tree is read");
        assert!(
            expected.contains(&found),
            "{operation:?}, interrupted at {nth}: {found:?} is none of {expected:?}"
        );
        assert_eq!(subject.problems().await, Vec::<String>::new());
        subject.clear().await;
    }
}

async fn an_abandoned_change_is_finished_by_whoever_comes(db: &Db) {
    each_model!(S => {
        for (way, options) in [
            (db.clone(), TreeOptions::new()),
            (db.clone(), TreeOptions::new().write_ahead()),
            (Plain::db(db), TreeOptions::new()),
        ] {
            let (subject, mut forest) = seeded::<S>(db).await;
            let first = Operation::Move(2, Place::FirstChild(7));
            abandon::<S>(&way, &first).await;
            let second = Operation::Insert(50, Place::LastChild(2));
            let next = Subject::<i64, S>::of(&way, Tree::new(&way, options));
            next.apply(&second).await.expect("it comes behind the first");
            for operation in [first, second] {
                operation.apply(&mut forest).expect("a good one");
            }
            assert_eq!(subject.outline().await, Ok(forest.outline()));
            assert_eq!(subject.problems().await, Vec::<String>::new());
            subject.clear().await;
        }
    });
}
