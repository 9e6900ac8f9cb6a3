//! Trees of all five models against the reference: recorded runs, random operations, a real taxonomy, many changers at
//! once, failures at every write.

use odm::Db;
use odm_patterns::tree::{ChildReference, MaterializedPaths, NestedSets, Numbering, PathStyle, TreeOptions};

use odm_tests::each_model;
use odm_tests::plain::Plain;
use odm_tests::tree::{Forest, Place, Run, Subject, agree, cross, random, replay, sweep, taxonomy, trace};

crate::on_every_backend! {
    recorded_runs_of_trees_end_as_recorded,
    recorded_runs_end_the_same_by_intents_and_other_shapes,
    random_operations_on_trees_agree_with_the_reference,
    random_operations_by_intents_agree_with_the_reference,
    many_changers_of_a_tree_lose_nothing,
    a_failure_at_any_write_of_a_tree_is_mended,
    a_taxonomy_agrees_with_its_intervals,
    places_and_intervals_never_run_out,
}

/// Whether each operation is a round trip to a server, so that there should be few.
fn is_far(db: &Db) -> bool {
    db.backend_name() == "mongodb"
}

/// Some of the runs: all, but on a server.
fn runs(db: &Db, first: usize) -> Vec<Run> {
    let step = if is_far(db) { 10 } else { 1 };
    let first = if is_far(db) { first } else { 0 };
    trace()
        .unwrap_or_default()
        .into_iter()
        .skip(first)
        .step_by(step)
        .collect()
}

async fn recorded_runs_of_trees_end_as_recorded(db: &Db) {
    let mut first = 0;
    each_model!(S => {
        for run in runs(db, first) {
            replay::<S>(db, &TreeOptions::new(), &run).await;
        }
        first += 1;
    });
}

async fn recorded_runs_end_the_same_by_intents_and_other_shapes(db: &Db) {
    for run in runs(db, 7).iter().take(3) {
        each_model!(S => replay::<S>(db, &TreeOptions::new().write_ahead(), run).await);
        each_model!(S => replay::<S>(&Plain::db(db), &TreeOptions::new(), run).await);
        for style in [PathStyle::Trailing, PathStyle::Threaded] {
            let options = TreeOptions::new().path_style(style);
            replay::<MaterializedPaths>(db, &options, run).await;
        }
        let dense = TreeOptions::new().numbering(Numbering::Dense);
        replay::<NestedSets>(db, &dense, run).await;
    }
}

async fn random_operations_on_trees_agree_with_the_reference(db: &Db) {
    let count = if is_far(db) { 40 } else { 300 };
    each_model!(S => random::<S>(db, &TreeOptions::new(), 7, count, 150).await);
}

async fn random_operations_by_intents_agree_with_the_reference(db: &Db) {
    let count = if is_far(db) { 30 } else { 150 };
    each_model!(S => random::<S>(db, &TreeOptions::new().write_ahead(), 11, count, 150).await);
}

async fn many_changers_of_a_tree_lose_nothing(db: &Db) {
    let rounds = if is_far(db) { 1 } else { 2 };
    each_model!(S => cross::<S>(db, &TreeOptions::new(), rounds).await);
    each_model!(S => cross::<S>(db, &TreeOptions::new().write_ahead(), rounds).await);
}

async fn a_failure_at_any_write_of_a_tree_is_mended(db: &Db) {
    if is_far(db) {
        // The same writes, in the models that make most of them; the long run makes all fail.
        sweep::<ChildReference>(db, &TreeOptions::new(), 5).await;
        sweep::<NestedSets>(db, &TreeOptions::new().write_ahead(), 5).await;
        return;
    }
    // Some of the operations; the long run takes all.
    let step = if db.backend_name() == "memory" { 3 } else { 7 };
    each_model!(S => {
        let failures = sweep::<S>(db, &TreeOptions::new(), step).await;
        assert!(failures > 10, "{failures}");
        sweep::<S>(&Plain::db(db), &TreeOptions::new(), step).await;
    });
}

async fn a_taxonomy_agrees_with_its_intervals(db: &Db) {
    let Some(mut categories) = taxonomy() else { return };
    let asked = if is_far(db) { 40 } else { 200 };
    if is_far(db) {
        // The whole of the first two top categories.
        let tops: Vec<i64> = categories
            .iter()
            .filter(|c| c.depth == 1)
            .map(|c| c.left)
            .collect();
        categories.retain(|category| category.left < tops[2]);
    }
    each_model!(S => agree::<S>(db, &categories, asked).await);
}

async fn places_and_intervals_never_run_out(db: &Db) {
    let count = if is_far(db) { 40 } else { 150 };
    each_model!(S => {
        let subject = Subject::<i64, S>::open(db, TreeOptions::new()).await;
        let mut forest = Forest::default();
        let mut insert = async |key: i64, place: Place<i64>| {
            forest.insert(key, &place).expect("inserted");
            subject.insert(key, &place).await.expect("inserted");
        };
        insert(1, Place::LastRoot).await;
        insert(2, Place::LastChild(1)).await;
        insert(3, Place::LastChild(1)).await;
        // Always into the same place, which halves what is left of it; and ever deeper.
        for key in 10..10 + count {
            insert(key, Place::Right(2)).await;
        }
        for key in 1_000..1_000 + count / 2 {
            let above = if key == 1_000 { 3 } else { key - 1 };
            insert(key, Place::LastChild(above)).await;
        }
        for key in 2_000..2_000 + count / 2 {
            insert(key, Place::Left(3)).await;
        }
        assert_eq!(subject.outline().await, Ok(forest.outline()));
        assert!(subject.problems().await.is_empty());
        subject.clear().await;
    });
}
