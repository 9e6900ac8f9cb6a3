//! Who migrates: the lease, and those who wait for it or lost it. The clock is the case's.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::DateTime;
use futures_util::future::{BoxFuture, pending};
use odm::Db;
use odm::backend::wrap::Fault;
use odm_patterns::migration::{
    MigrationErrorKind, MigrationEvent, MigrationLease, Migrations, Progress, Step, StepError, StepState,
};
use odm_tests::interrupted::interrupted;
use tokio::sync::oneshot;

use super::migration_model::{lost, note, notes, noting, record, refused, three};
use super::queue_model::{Clock, clocked, seconds, until};

crate::on_every_backend! {
    a_lease_that_ended_is_taken_over,
    who_waits_finds_it_done,
    who_waits_too_long_is_told_who_is_busy,
    who_lost_the_lease_records_nothing,
    a_transaction_of_a_lost_lease_is_rolled_back,
    a_resumable_step_of_a_lost_lease_stops,
    a_long_step_keeps_the_lease,
    a_step_is_dropped_when_its_lease_is_lost,
    signs_of_life_that_fail_end_the_lease,
    a_sign_of_life_without_an_answer_ends_with_the_lease,
    a_lease_can_be_broken,
    a_run_that_is_dropped_is_interrupted,
}

/// Looks again by setting the clock; no signs of life.
fn looking(clock: &Clock) -> impl Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync + 'static {
    let clock = clock.clone();
    move |length| match length >= seconds(20) {
        true => never(length),
        false => hasty(&clock)(length),
    }
}

/// Waits by setting the clock.
fn hasty(clock: &Clock) -> impl Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync + 'static {
    let clock = clock.clone();
    move |length| {
        clock.advance(length);
        Box::pin(std::future::ready(()))
    }
}

/// Never looks again: no signs of life.
fn never(_: Duration) -> BoxFuture<'static, ()> {
    Box::pin(pending())
}

async fn lease(db: &Db) -> MigrationLease {
    let leases = db.collection::<MigrationLease>();
    leases.get("lease").required().await.unwrap()
}

async fn a_lease_that_ended_is_taken_over(db: &Db) {
    let (db, clock) = clocked(db);
    let (faulty, faults) = db.faulty();
    // Lease, the intents, the step's own write: the process dies before it records the end.
    faults.add(Fault::nth_write(5).crash());
    three()
        .wait_with(never)
        .owner("dead")
        .run(&faulty)
        .await
        .unwrap_err();
    assert_eq!(
        (record(&db, "1").await.state, lease(&db).await.token),
        (StepState::Running, 1)
    );
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = told.clone();
    let report = three()
        .wait_with(looking(&clock))
        .owner("next")
        .on_event(move |event| {
            if let MigrationEvent::Waiting { owner, at, .. } = event {
                kept.lock().unwrap().push((owner.clone(), at.clone()));
            }
        })
        .run(&db)
        .await
        .unwrap();
    assert_eq!((report.ids(), report.steps[0].attempt), (vec!["1", "2", "3"], 2));
    assert_eq!(report.waited, seconds(60));
    assert_eq!(
        *told.lock().unwrap(),
        [(Some("dead".to_owned()), Some("1".to_owned()))]
    );
    let known = record(&db, "1").await;
    assert_eq!((known.token, known.owner.as_deref()), (2, Some("next")));
    // At least once.
    assert_eq!(notes(&db).await, ["1", "1", "2", "3"]);
    let left = lease(&db).await;
    assert_eq!((left.owner, left.step, left.token), (None, None, 2));
}

async fn who_waits_finds_it_done(db: &Db) {
    let (release, released) = oneshot::channel::<()>();
    let held = Arc::new(Mutex::new(Some(released)));
    let waiting = Arc::new(AtomicBool::new(false));
    let begun = waiting.clone();
    let slow = Step::new("1", move |db: Db| {
        let (held, begun) = (held.clone(), begun.clone());
        async move {
            begun.store(true, Ordering::SeqCst);
            let held = held.lock().unwrap().take();
            if let Some(held) = held {
                held.await.ok();
            }
            note(&db, "1").await
        }
    });
    let migrations = Migrations::new()
        .step(slow)
        .step(noting("2"))
        .poll(Duration::from_millis(1));
    let (first, second) = (migrations.clone().owner("first"), migrations);
    let own = db.clone();
    let running = tokio::spawn(async move { first.run(&own).await.unwrap() });
    until(async || waiting.load(Ordering::SeqCst)).await;
    let (told, tell) = oneshot::channel::<()>();
    let told = Mutex::new(Some(told));
    let second = second.on_event(move |event| {
        if let MigrationEvent::Waiting { owner, .. } = event {
            assert_eq!(owner.as_deref(), Some("first"));
            told.lock().unwrap().take().map(|told| told.send(()));
        }
    });
    let own = db.clone();
    let waits = tokio::spawn(async move { second.run(&own).await.unwrap() });
    tell.await.unwrap();
    release.send(()).unwrap();
    assert_eq!(running.await.unwrap().ids(), ["1", "2"]);
    let report = waits.await.unwrap();
    assert!(report.waited > Duration::ZERO);
    assert_eq!(
        (report.steps.len(), report.skipped),
        (0, vec!["1".to_owned(), "2".to_owned()])
    );
    assert_eq!(lease(db).await.token, 1);
}

async fn who_waits_too_long_is_told_who_is_busy(db: &Db) {
    let (db, clock) = clocked(db);
    let other = (db.clone(), clock.clone());
    let step = Step::new("1", move |_: Db| {
        let (db, clock) = other.clone();
        async move {
            let begun = clock.now();
            let waiting = three()
                .wait_with(hasty(&clock))
                .patience(seconds(7))
                .poll(seconds(3));
            for result in [
                waiting.run(&db).await.map(drop),
                waiting.revert(&db, 1).await.map(drop),
            ] {
                let error = result.unwrap_err();
                assert!(
                    error.to_string().starts_with("somebody else is migrating"),
                    "{error}"
                );
                match error.kind {
                    MigrationErrorKind::Busy { owner, at, until } => {
                        assert_eq!((owner.as_deref(), at.as_deref()), (Some("first"), Some("1")));
                        assert_eq!(until.timestamp_millis(), begun + 60_000);
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(clock.now() - begun, 14_000);
            let none = three().patience(Duration::ZERO).mark_done(&db, "2").await;
            assert!(matches!(refused(none).0, MigrationErrorKind::Busy { .. }));
            Ok(())
        }
    });
    let migrations = Migrations::new().step(step).owner("first").wait_with(never);
    assert_eq!(migrations.run(&db).await.unwrap().ids(), ["1"]);
}

/// A step of a process that is only slow: another one takes over, and does all of it, while it runs.
fn overtaken(db: &Db, clock: &Clock) -> impl Fn(Db) -> BoxFuture<'static, Result<(), StepError>> + use<> {
    let (db, clock) = (db.clone(), clock.clone());
    move |own| {
        let (db, clock) = (db.clone(), clock.clone());
        Box::pin(async move {
            clock.advance(seconds(61));
            three().owner("other").run(&db).await?;
            note(&own, "late").await
        })
    }
}

async fn who_lost_the_lease_records_nothing(db: &Db) {
    let (db, clock) = clocked(db);
    let slow = Migrations::new()
        .step(Step::new("1", overtaken(&db, &clock)))
        .step(noting("2"))
        .step(noting("3"))
        .wait_with(never)
        .owner("slow");
    let error = slow.run(&db).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"the lease of the migrations is lost (step: "1", collection: migrations, token: 1)"#
    );
    assert!(odm::Error::from(error).is_conflict());
    for id in ["1", "2", "3"] {
        let known = record(&db, id).await;
        assert_eq!(
            (known.state, known.token, known.owner.as_deref()),
            (StepState::Done, 2, Some("other"))
        );
    }
    // A plain step happens at least once, and what a zombie does of it nobody can stop.
    assert_eq!(notes(&db).await, ["1", "2", "3", "late"]);
    assert!(slow.run(&db).await.unwrap().steps.is_empty());
}

async fn a_transaction_of_a_lost_lease_is_rolled_back(db: &Db) {
    let (db, clock) = clocked(db);
    let slow = Migrations::new()
        .step(Step::new("1", overtaken(&db, &clock)).transactional())
        .wait_with(never);
    let (kind, step) = refused(slow.clone().run(&db).await);
    assert!(matches!(kind, MigrationErrorKind::LeaseLost { token: 1 }));
    assert_eq!(step.as_deref(), Some("1"));
    assert_eq!(notes(&db).await, ["1", "2", "3"]);
}

async fn a_resumable_step_of_a_lost_lease_stops(db: &Db) {
    let (db, clock) = clocked(db);
    let other = (db.clone(), clock.clone());
    let step = Step::resumable("1", move |progress: Progress| {
        let (db, clock) = other.clone();
        async move {
            progress.save(&1).await?;
            clock.advance(seconds(61));
            three().run(&db).await?;
            progress.save(&2).await?;
            note(&db, "late").await
        }
    });
    let slow = Migrations::new().step(step).wait_with(never);
    assert!(is_lost(&refused(slow.run(&db).await).0));
    assert_eq!(notes(&db).await, ["1", "2", "3"]);
    assert_eq!(record(&db, "1").await.position, None);
}

fn is_lost(kind: &MigrationErrorKind) -> bool {
    matches!(kind, MigrationErrorKind::LeaseLost { .. })
}

async fn a_long_step_keeps_the_lease(db: &Db) {
    let (db, clock) = clocked(db);
    let beats = Arc::new(AtomicU32::new(0));
    let (counted, own) = (beats.clone(), clock.clone());
    let wait = move |length: Duration| {
        // The pauses, and not the ends of the lease.
        counted.fetch_add(u32::from(length == seconds(20)), Ordering::SeqCst);
        odm_patterns::queue::Wait::wait(&own, length)
    };
    let other = (db.clone(), clock.clone());
    let step = Step::new("1", move |_: Db| {
        let ((db, clock), beats) = (other.clone(), beats.clone());
        async move {
            for round in 1..=6 {
                while beats.load(Ordering::SeqCst) < round {
                    tokio::task::yield_now().await;
                }
                if round < 6 {
                    clock.advance(seconds(20));
                }
            }
            let found = lease(&db).await;
            assert_eq!(found.until.timestamp_millis() - clock.now(), 60_000);
            assert_eq!(found.since.timestamp_millis(), clock.now() - 100_000);
            let none = three().patience(Duration::ZERO).run(&db).await;
            assert!(matches!(refused(none).0, MigrationErrorKind::Busy { .. }));
            Ok(())
        }
    });
    let report = Migrations::new()
        .step(step)
        .wait_with(wait)
        .run(&db)
        .await
        .unwrap();
    assert_eq!(report.steps[0].duration, seconds(100));
}

/// Says that it was dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

async fn a_step_is_dropped_when_its_lease_is_lost(db: &Db) {
    let (db, clock) = clocked(db);
    let dropped = Arc::new(AtomicBool::new(false));
    let (flag, other) = (dropped.clone(), db.clone());
    let step = Step::new("1", move |_: Db| {
        let (flag, db) = (flag.clone(), other.clone());
        async move {
            let _held = Dropped(flag);
            assert!(three().break_lease(&db).await?);
            pending::<()>().await;
            Ok(())
        }
    });
    let slow = Migrations::new().step(step).wait_with(hasty(&clock));
    assert!(is_lost(&refused(slow.run(&db).await).0));
    assert!(dropped.load(Ordering::SeqCst));
    assert_eq!(record(&db, "1").await.state, StepState::Running);
    assert_eq!(three().run(&db).await.unwrap().steps[0].attempt, 2);
}

async fn signs_of_life_that_fail_end_the_lease(db: &Db) {
    let (db, clock) = clocked(db);
    let (faulty, faults) = db.faulty();
    let step = Step::new("1", move |_: Db| {
        faults.add(Fault::nth_operation(1).before(lost()).times(100));
        pending()
    });
    let failed = Arc::new(AtomicU32::new(0));
    let counted = failed.clone();
    let slow = Migrations::new()
        .step(step)
        .wait_with(hasty(&clock))
        .on_event(move |event| {
            counted.fetch_add(
                u32::from(matches!(event, MigrationEvent::HeartbeatFailed(_))),
                Ordering::SeqCst,
            );
        });
    assert!(is_lost(&refused(slow.run(&faulty).await).0));
    // After 20 and 40 seconds; then it is over.
    assert_eq!(failed.load(Ordering::SeqCst), 2);
    assert_eq!(three().run(&db).await.unwrap().ids().len(), 3);
}

async fn a_sign_of_life_without_an_answer_ends_with_the_lease(db: &Db) {
    let (db, clock) = clocked(db);
    // The records, the lease, the records, the name of the step, its record; then the sign of life.
    let (deaf, moment) = interrupted(&db, 6, pending());
    let time = clock.clone();
    let deaf = deaf.with_clock(move || DateTime::from_millis(time.now()));
    let lengths = Arc::new(Mutex::new(Vec::new()));
    let (noted, own) = (lengths.clone(), clock.clone());
    let wait = move |length: Duration| {
        let waiting = odm_patterns::queue::Wait::wait(&own, length);
        noted.lock().unwrap().push(length);
        waiting
    };
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = dropped.clone();
    let step = Step::new("1", move |_: Db| {
        let held = Dropped(flag.clone());
        async move {
            let _held = held;
            pending::<()>().await;
            Ok(())
        }
    });
    let slow = Migrations::new().step(step).wait_with(wait);
    let running = tokio::spawn(async move { slow.run(&deaf).await.map(drop) });
    let waits = async |count: usize| until(async || lengths.lock().unwrap().len() >= count).await;
    waits(1).await;
    clock.advance(seconds(20));
    waits(2).await;
    assert!(moment.has_come());
    assert_eq!(*lengths.lock().unwrap(), [seconds(20), seconds(40)]);
    clock.advance(seconds(39));
    tokio::task::yield_now().await;
    assert!(!dropped.load(Ordering::SeqCst) && !running.is_finished());
    clock.advance(seconds(1));
    assert!(is_lost(&refused(running.await.unwrap()).0));
    assert!(dropped.load(Ordering::SeqCst));
    assert_eq!(three().run(&db).await.unwrap().steps[0].attempt, 2);
}

async fn a_lease_can_be_broken(db: &Db) {
    let (db, _) = clocked(db);
    assert!(!three().break_lease(&db).await.unwrap());
    let (faulty, faults) = db.faulty();
    faults.add(Fault::nth_write(4).crash());
    three().wait_with(never).run(&faulty).await.unwrap_err();
    let busy = three().patience(Duration::ZERO).run(&db).await;
    assert!(matches!(refused(busy).0, MigrationErrorKind::Busy { .. }));
    assert!(three().break_lease(&db).await.unwrap());
    assert!(!three().break_lease(&db).await.unwrap());
    assert_eq!(
        three()
            .patience(Duration::ZERO)
            .run(&db)
            .await
            .unwrap()
            .ids()
            .len(),
        3
    );
    assert_eq!(record(&db, "1").await.token, 3);
}

async fn a_run_that_is_dropped_is_interrupted(db: &Db) {
    let (db, clock) = clocked(db);
    let step = Step::new("1", |_: Db| pending());
    let stopped = Migrations::new().step(step).wait_with(never);
    let own = db.clone();
    let task = tokio::spawn(async move { stopped.run(&own).await.map(drop) });
    let begun = db.raw_collection("migrations");
    until(async || begun.count(bson::doc! {}).await.unwrap() == 1).await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    clock.advance(seconds(60));
    let report = three().run(&db).await.unwrap();
    assert_eq!((report.steps[0].attempt, report.steps[1].attempt), (2, 1));
}
