//! Idempotency keys: done once, answered as often as asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_patterns::idempotency::{Begin, KeyRecord, Keys, Permit, Ran};

crate::on_every_backend! {
    a_key_is_fresh_then_in_progress_then_replayed,
    errors_are_replayed_as_errors,
    a_lease_that_is_over_is_taken_over,
    an_abandoned_key_is_fresh_at_once,
    a_forgotten_key_is_fresh_before_it_is_deleted,
    of_many_at_once_one_is_fresh,
    effect_and_result_are_one_transaction,
    of_many_runs_at_once_one_has_an_effect,
    a_crash_at_any_write_of_a_run_is_done_once,
    a_permit_is_completed_in_the_callers_transaction,
    a_refusal_is_given_to_all_who_come_at_once,
    a_crash_at_any_write_of_a_refusal_leaves_no_permit,
    a_refusal_in_the_callers_transaction_is_given_and_ends_it,
}

fn clocked(db: &Db) -> (Db, Arc<AtomicI64>) {
    let seconds = Arc::new(AtomicI64::new(4_000_000_000));
    let hand = seconds.clone();
    let clock = move || DateTime::from_millis(hand.load(Ordering::SeqCst) * 1000);
    (db.with_clock(clock), seconds)
}

async fn begin(keys: &Keys, request: i32) -> Begin<i32, String> {
    keys.begin("scope", "key", &request).await.unwrap()
}

async fn fresh(keys: &Keys) -> Permit {
    match begin(keys, 1).await {
        Begin::Fresh(permit) => permit,
        other => panic!("{other:?}"),
    }
}

/// Counts its effects in the collection `effects`.
async fn run(keys: &Keys, key: &str, request: i32) -> odm::Result<Ran<i32, String>> {
    keys.run("scope", key, &request, async |tx| {
        tx.raw_collection("effects")
            .insert(doc! {"request": request})
            .await?;
        match request {
            13 => Ok(Err("thirteen".to_owned())),
            99 => Err(Error::new(ErrorKind::Validation, "broken")),
            request => Ok(Ok(request * 2)),
        }
    })
    .await
}

async fn effects(db: &Db) -> u64 {
    db.raw_collection("effects").count(doc! {}).await.unwrap()
}

async fn a_key_is_fresh_then_in_progress_then_replayed(db: &Db) {
    let (db, log) = db.logged();
    let (db, seconds) = clocked(&db);
    let keys = Keys::new(&db);
    keys.sync_indexes().await.unwrap();
    log.take();
    let permit = fresh(&keys).await;
    assert_eq!(log.take().len(), 1);
    let until = DateTime::from_millis((seconds.load(Ordering::SeqCst) + 60) * 1000);
    assert!(matches!(begin(&keys, 1).await, Begin::InProgress { until: end } if end == until));
    assert!(matches!(begin(&keys, 2).await, Begin::Mismatch));
    log.take();
    permit.complete::<i32, String>(&Ok(7)).await.unwrap();
    assert_eq!(log.take().len(), 1);
    for _ in 0..2 {
        assert!(matches!(begin(&keys, 1).await, Begin::Replay(Ok(7))));
    }
    assert_eq!(log.take().len(), 2);
    assert!(matches!(begin(&keys, 2).await, Begin::Mismatch));
    // What is done is done.
    let again = permit.complete::<i32, String>(&Ok(8)).await.unwrap_err();
    assert!(again.is_conflict());
    assert!(permit.renew().await.unwrap_err().is_conflict());
    assert!(permit.abandon().await.unwrap_err().is_conflict());
    // The same key in another scope is another key.
    let other = keys.begin::<i32, String>("other", "key", &2).await.unwrap();
    assert!(matches!(other, Begin::Fresh(_)));
    let record = keys.get("scope", "key").await.unwrap().unwrap();
    assert_eq!((record.token, record.result), (1, Some(bson::bson!({"ok": 7}))));
    assert!(keys.get("scope", "x").await.unwrap().is_none());
}

async fn errors_are_replayed_as_errors(db: &Db) {
    let keys = Keys::new(db);
    let permit = fresh(&keys).await;
    permit
        .complete::<i32, String>(&Err("no".to_owned()))
        .await
        .unwrap();
    assert!(matches!(begin(&keys, 1).await, Begin::Replay(Err(error)) if error == "no"));
    let wrong = keys.begin::<String, i32>("scope", "key", &1).await.unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Decode);
}

async fn a_lease_that_is_over_is_taken_over(db: &Db) {
    let (db, log) = db.logged();
    let (db, seconds) = clocked(&db);
    let keys = Keys::new(&db).lease(Duration::from_secs(10));
    let late = fresh(&keys).await;
    seconds.fetch_add(9, Ordering::SeqCst);
    late.renew().await.unwrap();
    seconds.fetch_add(9, Ordering::SeqCst);
    assert!(matches!(begin(&keys, 1).await, Begin::InProgress { .. }));
    seconds.fetch_add(1, Ordering::SeqCst);
    log.take();
    let permit = fresh(&keys).await;
    assert_eq!(log.take().len(), 2);
    assert_eq!((late.token(), permit.token()), (1, 2));
    // The first one wakes up.
    for error in [
        late.complete::<i32, String>(&Ok(1)).await.unwrap_err(),
        late.renew().await.unwrap_err(),
        late.abandon().await.unwrap_err(),
    ] {
        assert!(error.is_conflict(), "{error}");
    }
    permit.complete::<i32, String>(&Ok(2)).await.unwrap();
    assert!(matches!(begin(&keys, 1).await, Begin::Replay(Ok(2))));
}

async fn an_abandoned_key_is_fresh_at_once(db: &Db) {
    let (db, _) = clocked(db);
    let keys = Keys::new(&db);
    fresh(&keys).await.abandon().await.unwrap();
    // Another request may have it no more than before.
    assert!(matches!(begin(&keys, 2).await, Begin::Mismatch));
    assert_eq!(fresh(&keys).await.token(), 2);
}

async fn a_forgotten_key_is_fresh_before_it_is_deleted(db: &Db) {
    let (db, seconds) = clocked(db);
    let keys = Keys::new(&db).keep(Duration::from_secs(100));
    let permit = fresh(&keys).await;
    seconds.fetch_add(50, Ordering::SeqCst);
    permit.complete::<i32, String>(&Ok(1)).await.unwrap();
    seconds.fetch_add(99, Ordering::SeqCst);
    assert!(matches!(begin(&keys, 1).await, Begin::Replay(Ok(1))));
    seconds.fetch_add(1, Ordering::SeqCst);
    match begin(&keys, 2).await {
        Begin::Fresh(permit) => permit.complete::<i32, String>(&Ok(5)).await.unwrap(),
        other => panic!("{other:?}"),
    }
    assert!(matches!(begin(&keys, 2).await, Begin::Replay(Ok(5))));
}

async fn of_many_at_once_one_is_fresh(db: &Db) {
    for key in ["a", "b", "c"] {
        let keys = Keys::new(db);
        let fresh = Arc::new(AtomicU32::new(0));
        let tasks: Vec<_> = (0..16)
            .map(|_| {
                let (keys, fresh) = (keys.clone(), fresh.clone());
                tokio::spawn(async move {
                    match keys.begin::<i32, String>("scope", key, &1).await.unwrap() {
                        Begin::Fresh(_) => drop(fresh.fetch_add(1, Ordering::SeqCst)),
                        Begin::InProgress { .. } => {}
                        other => panic!("{other:?}"),
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(fresh.load(Ordering::SeqCst), 1);
    }
}

async fn effect_and_result_are_one_transaction(db: &Db) {
    let (db, log) = db.logged();
    let keys = Keys::new(&db);
    // Collections that are made inside a transaction would be a round trip of their own to some.
    db.raw_collection("effects")
        .insert(doc! {"_id": 0})
        .await
        .unwrap();
    run(&keys, "warm", 1).await.unwrap();
    log.take();
    assert_eq!(run(&keys, "k", 4).await.unwrap(), Ran::Now(Ok(8)));
    assert_eq!(log.take().len(), 3 + 1);
    assert_eq!(run(&keys, "k", 4).await.unwrap(), Ran::Replayed(Ok(8)));
    assert_eq!(run(&keys, "k", 5).await.unwrap(), Ran::Mismatch);
    assert_eq!(effects(&db).await, 3);
    // A refusal leaves nothing but itself.
    log.take();
    assert_eq!(
        run(&keys, "r", 13).await.unwrap(),
        Ran::Now(Err("thirteen".to_owned()))
    );
    assert_eq!(log.take().len(), 3 + 1);
    assert_eq!(
        run(&keys, "r", 13).await.unwrap(),
        Ran::Replayed(Err("thirteen".to_owned()))
    );
    // An error leaves not even that.
    for _ in 0..2 {
        assert_eq!(run(&keys, "e", 99).await.unwrap_err().message(), "broken");
    }
    assert_eq!(effects(&db).await, 3);
    let (db, _) = clocked(&db);
    let keys = keys.on(&db);
    let _permit = keys.begin::<i32, String>("scope", "p", &1).await.unwrap();
    assert!(matches!(
        run(&keys, "p", 1).await.unwrap(),
        Ran::InProgress { .. }
    ));
}

async fn of_many_runs_at_once_one_has_an_effect(db: &Db) {
    let keys = Keys::new(db);
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let keys = keys.clone();
            tokio::spawn(async move { run(&keys, "k", 4).await.unwrap() })
        })
        .collect();
    let mut now = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ran::Now(Ok(8)) => now += 1,
            Ran::Replayed(Ok(8)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((now, effects(db).await), (1, 1));
}

async fn a_crash_at_any_write_of_a_run_is_done_once(db: &Db) {
    for after in [false, true] {
        for n in 1.. {
            db.drop().await.unwrap();
            let (faulty, faults) = db.faulty();
            let lost = Error::new(ErrorKind::Network, "connection reset (injected)");
            match after {
                false => faults.add(Fault::nth_write(n).crash()),
                true => faults.add(Fault::nth_write(n).after(lost)),
            }
            let first = run(&Keys::new(&faulty), "k", 4).await;
            let failed = faults.failures() > 0;
            assert_eq!(first.is_err(), failed);
            let again = run(&Keys::new(db), "k", 4).await.unwrap();
            assert!(
                matches!(again, Ran::Now(Ok(8)) | Ran::Replayed(Ok(8))),
                "{again:?}"
            );
            assert_eq!(effects(db).await, 1);
            if !failed {
                assert!(n > 3);
                break;
            }
        }
    }
}

async fn a_permit_is_completed_in_the_callers_transaction(db: &Db) {
    let keys = Keys::new(db);
    let outcome: odm::Result<()> = db
        .transaction(async |tx| {
            let permit = fresh(&keys.on(&tx)).await;
            permit.complete::<i32, String>(&Ok(1)).await?;
            Err(Error::new(ErrorKind::Validation, "changed my mind"))
        })
        .await;
    assert!(outcome.is_err());
    let permit = fresh(&keys).await;
    db.transaction(async |tx| permit.on(&tx).complete::<i32, String>(&Ok(3)).await)
        .await
        .unwrap();
    assert!(matches!(begin(&keys, 1).await, Begin::Replay(Ok(3))));
    assert_eq!(db.collection::<KeyRecord>().find_all().await.unwrap().len(), 1);
}

async fn a_refusal_is_given_to_all_who_come_at_once(db: &Db) {
    for round in 0..5 {
        let keys = Keys::new(db);
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let keys = keys.clone();
                tokio::spawn(async move { run(&keys, &format!("k{round}"), 13).await.unwrap() })
            })
            .collect();
        let mut now = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ran::Now(Err(refusal)) if refusal == "thirteen" => now += 1,
                Ran::Replayed(Err(refusal)) if refusal == "thirteen" => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((now, effects(db).await), (1, 0));
    }
}

async fn a_crash_at_any_write_of_a_refusal_leaves_no_permit(db: &Db) {
    for after in [false, true] {
        for n in 1.. {
            db.drop().await.unwrap();
            let (faulty, faults) = db.faulty();
            let lost = Error::new(ErrorKind::Network, "connection reset (injected)");
            match after {
                false => faults.add(Fault::nth_write(n).crash()),
                true => faults.add(Fault::nth_write(n).after(lost)),
            }
            run(&Keys::new(&faulty), "k", 13).await.ok();
            let failed = faults.failures() > 0;
            let again = run(&Keys::new(db), "k", 13).await.unwrap();
            assert!(
                matches!(&again, Ran::Now(Err(refusal)) | Ran::Replayed(Err(refusal)) if refusal == "thirteen"),
                "{again:?}"
            );
            assert_eq!(effects(db).await, 0);
            if !failed {
                assert!(n > 3);
                break;
            }
        }
    }
}

async fn a_refusal_in_the_callers_transaction_is_given_and_ends_it(db: &Db) {
    enum Stop {
        Refused(String),
        Database(Error),
    }
    impl From<Error> for Stop {
        fn from(error: Error) -> Stop {
            Stop::Database(error)
        }
    }
    let keys = Keys::new(db);
    run(&keys, "warm", 1).await.unwrap();
    let options = odm::backend::TransactionOptions::default();
    let passed_on = db.transaction_with(options, async |tx| match run(&keys.on(&tx), "k", 13).await? {
        Ran::Now(Err(refusal)) => Err(Stop::Refused(refusal)),
        other => panic!("{other:?}"),
    });
    let passed_on: Result<(), Stop> = passed_on.await;
    match passed_on {
        Err(Stop::Refused(refusal)) => assert_eq!(refusal, "thirteen"),
        Err(Stop::Database(error)) => panic!("{error}"),
        Ok(()) => panic!("it was committed"),
    }
    // What was written before it must not be kept.
    let swallowed = db.transaction(async |tx| run(&keys.on(&tx), "k", 13).await).await;
    assert_eq!(swallowed.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(effects(db).await, 1);
    assert!(keys.get("scope", "k").await.unwrap().is_none());
    // What is not refused is committed with the rest.
    let done = db
        .transaction(async |tx| run(&keys.on(&tx), "k", 4).await)
        .await
        .unwrap();
    assert_eq!((done, effects(db).await), (Ran::Now(Ok(8)), 2));
    assert_eq!(run(&keys, "k", 4).await.unwrap(), Ran::Replayed(Ok(8)));
}
