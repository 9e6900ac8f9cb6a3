//! Trees for longer than the suite has time for, on every backend: all recorded runs, random operations, the whole
//! taxonomy, many changers at once, a failure at every write.
//!
//! `ODM_TREE_OPS` says how many random operations each model gets, `ODM_TREE_ROUNDS` how many rounds of crossing
//! changes; without them, and on a server, there are few. `ODM_TREE_SEED` chooses which.

use odm::Db;
use odm_patterns::tree::TreeOptions;
use odm_tests::each_model;
use odm_tests::harness::{Target, run};
use odm_tests::plain::Plain;
use odm_tests::tree::{agree, cross, cross_ways, random, replay, sweep, taxonomy, trace};

fn number(name: &str, default: usize) -> usize {
    let given = std::env::var(name).ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The ways to write: transactions, intents where there are transactions, and where there are none.
fn ways(db: &Db) -> [(&'static str, Db, TreeOptions); 3] {
    [
        ("transactions", db.clone(), TreeOptions::new()),
        ("intents", db.clone(), TreeOptions::new().write_ahead()),
        ("no transactions", Plain::db(db), TreeOptions::new()),
    ]
}

async fn random_operations(db: Db) {
    let count = number("ODM_TREE_OPS", 100);
    let seed = number("ODM_TREE_SEED", 1) as u64;
    each_model!(S => {
        random::<S>(&db, &TreeOptions::new(), seed, count, 500).await;
        println!("{}: {count} random operations, 0 differences", std::any::type_name::<S>());
        random::<S>(&Plain::db(&db), &TreeOptions::new(), seed, count / 10, 500).await;
    });
}

async fn crossing_changes(db: Db) {
    let rounds = number("ODM_TREE_ROUNDS", 1);
    for (way, db, options) in ways(&db) {
        each_model!(S => {
            cross::<S>(&db, &options, rounds).await;
            println!("{}, {way}: {rounds} rounds, 0 problems", std::any::type_name::<S>());
        });
    }
    let both = [TreeOptions::new(), TreeOptions::new().write_ahead()];
    each_model!(S => {
        cross_ways::<S>(&db, &both, rounds).await;
        println!("{}, both: {rounds} rounds, 0 problems", std::any::type_name::<S>());
    });
}

/// The long runs alone: each of them is in the suite too, in part.
async fn everything_recorded(db: Db) {
    if std::env::var_os("ODM_TREE_OPS").is_none() {
        println!("skipped: set ODM_TREE_OPS to run everything");
        return;
    }
    each_model!(S => {
        for run in trace().unwrap_or_default() {
            replay::<S>(&db, &TreeOptions::new(), &run).await;
        }
    });
    for (way, db, options) in ways(&db) {
        each_model!(S => {
            let failures = sweep::<S>(&db, &options, 1).await;
            println!("{}, {way}: {failures} failures, all mended", std::any::type_name::<S>());
        });
    }
    if let Some(categories) = taxonomy() {
        each_model!(S => agree::<S>(&db, &categories, categories.len()).await);
    }
}

macro_rules! on {
    ($($name:ident: $target:ident;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn random_operations_agree_with_the_reference() {
                run(Target::$target, random_operations);
            }

            #[test]
            fn crossing_changes_lose_nothing() {
                run(Target::$target, crossing_changes);
            }

            #[test]
            fn everything_recorded_comes_out() {
                run(Target::$target, everything_recorded);
            }
        }
    )*};
}

on! {
    memory: Memory;
    native: Native;
    mongodb: MongoDb;
}
