//! All orders in which the operations of two who migrate can follow each other, each the other's zombie at any time.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bson::{DateTime, doc};
use futures_util::future::{BoxFuture, pending, ready};
use odm::Db;
use odm_patterns::migration::{Migrations, Step, StepError, StepRecord, StepState};
use odm_tests::interleavings::every_interleaving_of;

/// Goes on whenever somebody looks at it.
static CLOCK: AtomicI64 = AtomicI64::new(1_000_000_000);

/// How often a worker is interrupted, at the most.
const INTERRUPTIONS: usize = 3;

const HEARTBEAT: Duration = Duration::from_secs(3600);

fn ticking(db: &Db) -> Db {
    db.with_clock(|| DateTime::from_millis(CLOCK.fetch_add(1, Ordering::SeqCst)))
}

/// No sign of life ever; who waits for the lease looks again at once.
fn wait(length: Duration) -> BoxFuture<'static, ()> {
    match length == HEARTBEAT {
        true => Box::pin(pending()),
        false => Box::pin(ready(())),
    }
}

async fn add(db: &Db, id: &str, by: i32) -> Result<(), StepError> {
    let counts = db.raw_collection("counts");
    counts
        .update_one(doc! { "_id": id }, doc! { "$inc": { "n": by } })
        .await?;
    Ok(())
}

fn counting(id: &'static str) -> Step {
    Step::new(id, move |db: Db| async move { add(&db, id, 1).await })
        .down(move |db: Db| async move { add(&db, id, -1).await })
}

fn hasty(migrations: Migrations) -> Migrations {
    migrations
        .lease(Duration::ZERO)
        .heartbeat(HEARTBEAT)
        .wait_with(wait)
}

fn atomic() -> Migrations {
    hasty(
        Migrations::new()
            .step(counting("1").transactional())
            .step(counting("2").transactional()),
    )
}

fn plain() -> Migrations {
    hasty(Migrations::new().step(counting("1")).step(counting("2")))
}

async fn set_up() -> Db {
    let db = Db::open("memory:").await.unwrap();
    let counts = db.raw_collection("counts");
    counts
        .insert_many([doc! { "_id": "1", "n": 0 }, doc! { "_id": "2", "n": 0 }])
        .await
        .unwrap();
    db
}

async fn counted(db: &Db, id: &str) -> i32 {
    let count = db.raw_collection("counts").get(id).required().await.unwrap();
    count.get_i32("n").unwrap()
}

async fn state(db: &Db, id: &str) -> Option<StepState> {
    let record = db.collection::<StepRecord>().get(id).await.unwrap();
    record.map(|record| record.state)
}

#[tokio::test]
async fn two_who_run_transactions_do_each_once() {
    let orders = every_interleaving_of(
        INTERRUPTIONS,
        async || set_up().await,
        |db, _| {
            Box::pin(async move {
                if let Err(error) = atomic().run(&ticking(db)).await {
                    assert!(error.is_lease_lost(), "{error}");
                }
            })
        },
        async |db, order| {
            for id in ["1", "2"] {
                let is_done = state(db, id).await == Some(StepState::Done);
                assert_eq!(counted(db, id).await, i32::from(is_done), "{order:?}");
            }
            atomic().run(&ticking(db)).await.unwrap();
            assert_eq!(
                (counted(db, "1").await, counted(db, "2").await),
                (1, 1),
                "{order:?}"
            );
        },
    );
    let orders = orders.await;
    println!("{orders} orders of two who run transactions, none wrong");
    assert!(orders > 100);
}

#[tokio::test]
async fn one_who_runs_and_one_who_reverts_keep_records_and_effects_in_step() {
    let orders = every_interleaving_of(
        INTERRUPTIONS,
        async || {
            let db = set_up().await;
            atomic().run_to(&ticking(&db), "1").await.unwrap();
            db
        },
        |db, n| {
            Box::pin(async move {
                let db = ticking(db);
                let result = match n {
                    0 => atomic().run(&db).await,
                    _ => atomic().revert(&db, 9).await,
                };
                if let Err(error) = result {
                    let half = matches!(
                        error.kind,
                        odm_patterns::migration::MigrationErrorKind::HalfReverted
                            | odm_patterns::migration::MigrationErrorKind::OutOfOrder(_)
                    );
                    assert!(error.is_lease_lost() || half, "{error}");
                }
            })
        },
        async |db, order| {
            for id in ["1", "2"] {
                let is_there = matches!(state(db, id).await, Some(StepState::Done | StepState::Reverting));
                assert_eq!(counted(db, id).await, i32::from(is_there), "{order:?}");
            }
            // Never the second without the first.
            if state(db, "2").await == Some(StepState::Done) {
                assert_eq!(state(db, "1").await, Some(StepState::Done), "{order:?}");
            }
            atomic().revert(&ticking(db), 9).await.unwrap();
            assert_eq!(
                (counted(db, "1").await, counted(db, "2").await),
                (0, 0),
                "{order:?}"
            );
        },
    );
    let orders = orders.await;
    println!("{orders} orders of one who runs and one who reverts, none wrong");
    assert!(orders > 100);
}

#[tokio::test]
async fn two_who_run_plain_steps_do_each_at_least_once_in_order() {
    let orders = every_interleaving_of(
        INTERRUPTIONS,
        async || set_up().await,
        |db, _| {
            Box::pin(async move {
                if let Err(error) = plain().run(&ticking(db)).await {
                    assert!(error.is_lease_lost(), "{error}");
                }
            })
        },
        async |db, order| {
            let states = (state(db, "1").await, state(db, "2").await);
            assert!(
                states.1.is_none() || states.0 == Some(StepState::Done),
                "{order:?}: {states:?}"
            );
            for id in ["1", "2"] {
                let count = counted(db, id).await;
                assert!(count <= 2, "{order:?}");
                assert!(
                    count >= 1 || state(db, id).await != Some(StepState::Done),
                    "{order:?}"
                );
            }
            plain().run(&ticking(db)).await.unwrap();
        },
    );
    let orders = orders.await;
    println!("{orders} orders of two who run plain steps, none wrong");
    assert!(orders > 100);
}
