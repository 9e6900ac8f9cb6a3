//! The tokens of leases: what becomes of them, and what a record of progress costs.

use std::time::Duration;

use bson::{Bson, DateTime, doc};
use futures_util::future::{BoxFuture, pending};
use odm::backend::wrap::Fault;
use odm::{Db, ErrorKind};
use odm_patterns::migration::{
    MigrationErrorKind, MigrationLease, Migrations, Progress, Step, StepError, StepState,
};
use odm_tests::interrupted::interrupted;

use super::migration_model::{lost, note, notes, noting, record, refused, states, three};
use super::queue_model::{Clock, clocked, seconds};

crate::on_every_backend! {
    tokens_survive_the_document_of_the_lease,
    a_deleted_lease_is_lost,
    what_is_done_under_the_same_number_stays_done,
    holders_of_the_same_number_are_told_apart,
    who_lost_the_lease_marks_nothing_more,
    a_lease_behind_the_records_goes_on_behind_them,
    a_lease_is_given_back_where_it_cannot_begin,
    a_token_that_is_none_is_refused_by_name,
    what_a_zombie_ends_is_not_run_again,
    progress_renews_the_lease_when_it_is_time,
    a_step_that_drops_its_record_is_told_so,
    a_position_that_could_not_be_read_back_is_refused,
    a_lease_of_no_length_lasts_until_somebody_wants_it,
}

/// Never looks again: no signs of life.
fn never(_: Duration) -> BoxFuture<'static, ()> {
    Box::pin(pending())
}

async fn lease(db: &Db) -> Option<MigrationLease> {
    db.collection::<MigrationLease>().get("lease").await.unwrap()
}

async fn delete_lease(db: &Db) {
    let leases = db.collection::<MigrationLease>();
    assert_eq!(leases.delete("lease").await.unwrap().deleted, 1);
}

async fn tokens_survive_the_document_of_the_lease(db: &Db) {
    let some = |ids: &[&'static str]| ids.iter().fold(Migrations::new(), |all, id| all.step(noting(id)));
    some(&["1"]).run(db).await.unwrap();
    some(&["1", "2"]).run(db).await.unwrap();
    some(&["1", "2", "3"]).run(db).await.unwrap();
    assert_eq!(
        (lease(db).await.unwrap().token, record(db, "3").await.token),
        (3, 3)
    );
    delete_lease(db).await;
    let all = some(&["1", "2", "3", "4"]);
    assert_eq!(all.run(db).await.unwrap().ids(), ["4"]);
    assert_eq!(
        (lease(db).await.unwrap().token, record(db, "4").await.token),
        (4, 4)
    );
    // Whatever takes the lease.
    delete_lease(db).await;
    assert_eq!(all.revert(db, 1).await.unwrap().ids(), ["4"]);
    assert_eq!(record(db, "4").await.token, 5);
    delete_lease(db).await;
    all.mark_done(db, "4").await.unwrap();
    assert_eq!(record(db, "4").await.token, 6);
    delete_lease(db).await;
    all.mark_reverted(db, "1").await.unwrap();
    delete_lease(db).await;
    assert_eq!(all.baseline(db, "2").await.unwrap(), ["1"]);
    assert_eq!(
        (lease(db).await.unwrap().token, record(db, "1").await.token),
        (8, 8)
    );
    assert!(all.run(db).await.unwrap().steps.is_empty());
    assert_eq!(notes(db).await, ["1", "2", "3", "4", "not 4"]);
    // A lease that began anew before, and is behind the records.
    let leases = db.collection::<MigrationLease>();
    leases
        .update_one(|l| l.id.eq("lease"), |l| l.token.set(3))
        .await
        .unwrap();
    let all = all.step(noting("5"));
    assert_eq!(all.run(db).await.unwrap().ids(), ["5"]);
    assert_eq!(record(db, "5").await.token, 9);
}

/// A step of a process whose lease is deleted while it runs, and another process does all.
fn robbed(db: &Db, clock: &Clock) -> impl Fn(Db) -> BoxFuture<'static, Result<(), StepError>> + use<> {
    let (db, clock) = (db.clone(), clock.clone());
    move |own| {
        let (db, clock) = (db.clone(), clock.clone());
        Box::pin(async move {
            clock.advance(seconds(1));
            delete_lease(&db).await;
            three().owner("other").run(&db).await?;
            note(&own, "late").await
        })
    }
}

async fn a_deleted_lease_is_lost(db: &Db) {
    let (db, clock) = clocked(db);
    let slow = Migrations::new()
        .step(Step::new("1", robbed(&db, &clock)).transactional())
        .wait_with(never);
    let (kind, step) = refused(slow.run(&db).await);
    assert!(matches!(kind, MigrationErrorKind::LeaseLost { token: 1 }));
    assert_eq!(step.as_deref(), Some("1"));
    // What it did is rolled back, as its number was nobody's any more.
    assert_eq!(notes(&db).await, ["1", "2", "3"]);
    assert_eq!(record(&db, "1").await.token, 2);
    let other = (db.clone(), clock.clone());
    let step = Step::resumable("4", move |progress: Progress| {
        let (db, clock) = other.clone();
        async move {
            progress.save(&1).await?;
            robbed(&db, &clock)(db.clone()).await?;
            progress.save(&2).await?;
            note(&db, "never").await
        }
    });
    let slow = three().step(step).wait_with(never).allow_unknown();
    let others = three().step(noting("4"));
    let (kind, _) = refused(slow.run(&db).await);
    // The other process does not have the step, and runs nothing; but whose it is it does not know either.
    assert!(
        matches!(kind, MigrationErrorKind::LeaseLost { token: 3 }),
        "{kind:?}"
    );
    assert_eq!(others.run(&db).await.unwrap().ids(), ["4"]);
    assert!(!notes(&db).await.contains(&"never".to_owned()));
}

async fn what_is_done_under_the_same_number_stays_done(db: &Db) {
    // The records, the lease, the records; then the name of the step in the lease, and its record.
    for nth in [4, 5] {
        let other = db.clone();
        let (slow, moment) = interrupted(db, nth, async move {
            delete_lease(&other).await;
            three().owner("other").run(&other).await.unwrap();
        });
        let result = three().owner("slow").wait_with(never).run(&slow).await;
        assert!(moment.has_come());
        let (kind, step) = refused(result);
        assert!(
            matches!(kind, MigrationErrorKind::LeaseLost { token: 1 }),
            "{kind:?}"
        );
        assert_eq!(step.as_deref(), Some("1"));
        assert_eq!(notes(db).await, ["1", "2", "3"], "{nth}");
        for id in ["1", "2", "3"] {
            let known = record(db, id).await;
            assert_eq!(
                (known.state, known.token, known.owner.as_deref()),
                (StepState::Done, 1, Some("other")),
                "{nth}"
            );
        }
        db.drop_database().await.unwrap();
    }
}

async fn holders_of_the_same_number_are_told_apart(db: &Db) {
    let (db, clock) = clocked(db);
    // Another process takes the lease under the same number, and keeps it.
    let other = db.clone();
    let (slow, moment) = interrupted(&db, 4, async move {
        delete_lease(&other).await;
        let (faulty, faults) = other.faulty();
        faults.add(Fault::nth_write(2).crash());
        let dead = three().owner("other").wait_with(never);
        dead.run(&faulty).await.unwrap_err();
    });
    let time = clock.clone();
    let slow = slow.with_clock(move || DateTime::from_millis(time.now()));
    let (kind, _) = refused(three().owner("slow").wait_with(never).run(&slow).await);
    assert!(moment.has_come());
    assert!(
        matches!(kind, MigrationErrorKind::LeaseLost { token: 1 }),
        "{kind:?}"
    );
    let held = lease(&db).await.unwrap();
    assert_eq!((held.token, held.owner.as_deref()), (1, Some("other")));
    assert!(held.holder.is_some() && states(&db).await.is_empty());
    // One that an older release took has none; whoever takes over gives it one, and takes it away at the end.
    let leases = db.collection::<MigrationLease>();
    let unnamed = leases.update_one(|l| l.id.eq("lease"), |l| l.holder.unset());
    unnamed.await.unwrap();
    clock.advance(seconds(60));
    assert_eq!(three().run(&db).await.unwrap().ids().len(), 3);
    let left = lease(&db).await.unwrap();
    assert_eq!((left.token, left.holder), (2, None));
}

async fn who_lost_the_lease_marks_nothing_more(db: &Db) {
    let broken_at = |nth: u64| {
        let other = db.clone();
        interrupted(db, nth, async move {
            assert!(three().break_lease(&other).await.unwrap());
        })
    };
    // The lease, the records; then two for each step.
    let (slow, moment) = broken_at(5);
    let (kind, step) = refused(three().baseline(&slow, "3").await);
    assert!(moment.has_come());
    assert!(matches!(kind, MigrationErrorKind::LeaseLost { .. }), "{kind:?}");
    assert_eq!(step.as_deref(), Some("2"));
    let one = [("1".to_owned(), StepState::Done)];
    assert_eq!(states(db).await, one);
    for is_done in [true, false] {
        let (slow, _) = broken_at(3);
        let id = if is_done { "3" } else { "1" };
        let marked = match is_done {
            true => three().mark_done(&slow, id).await,
            false => three().mark_reverted(&slow, id).await,
        };
        let (kind, step) = refused(marked);
        assert!(matches!(kind, MigrationErrorKind::LeaseLost { .. }), "{kind:?}");
        assert_eq!(step.as_deref(), Some(id));
        assert_eq!(states(db).await, one);
    }
    let of = |fingerprint: &str| Migrations::new().step(noting("1").fingerprint(fingerprint));
    of("a").mark_done(db, "1").await.unwrap();
    let (slow, _) = broken_at(3);
    let (kind, _) = refused(of("b").accept_changed(&slow).await);
    assert!(matches!(kind, MigrationErrorKind::LeaseLost { .. }), "{kind:?}");
    assert_eq!(record(db, "1").await.fingerprint.as_deref(), Some("a"));
    // A step that is taken for reverted because its transaction left nothing.
    let failing = || {
        let step = Step::new("2", async |_: Db| Err(StepError::new("never")));
        of("a").step(step.transactional())
    };
    failing().run(db).await.unwrap_err();
    let (slow, _) = broken_at(3);
    let (kind, _) = refused(failing().revert(&slow, 1).await);
    assert!(matches!(kind, MigrationErrorKind::LeaseLost { .. }), "{kind:?}");
    assert_eq!(record(db, "2").await.state, StepState::Failed);
}

/// Writes the token of a record, as a copy of the records from another time does.
async fn set_token(db: &Db, id: &str, token: i64) {
    let records = db.raw_collection("migrations");
    let set = records.update_one(doc! { "_id": id }, doc! { "$set": { "token": token } });
    set.await.unwrap();
}

/// Writes that a process died at a step.
async fn die_at(db: &Db, id: &str) {
    let leases = db.collection::<MigrationLease>();
    let died = leases.update_one(|l| l.id.eq("lease"), |l| l.step.set(Some(id.to_owned())));
    assert_eq!(died.await.unwrap().matched, 1);
}

async fn a_lease_behind_the_records_goes_on_behind_them(db: &Db) {
    three().run_to(db, "2").await.unwrap();
    die_at(db, "2").await;
    set_token(db, "2", 9).await;
    let hasty = three().patience(Duration::ZERO);
    assert_eq!(hasty.run(db).await.unwrap().ids(), ["3"]);
    let left = lease(db).await.unwrap();
    assert_eq!((left.token, left.step), (10, None));
    assert_eq!(
        (record(db, "2").await.token, record(db, "3").await.token),
        (10, 10)
    );
    assert_eq!(record(db, "2").await.state, StepState::Done);
}

async fn a_lease_is_given_back_where_it_cannot_begin(db: &Db) {
    three().run_to(db, "2").await.unwrap();
    die_at(db, "3").await;
    let (faulty, faults) = db.faulty();
    // The lease, and the record of the step that the one before was at.
    faults.add(Fault::nth_write(2).before(lost()));
    let hasty = three().patience(Duration::ZERO);
    let (kind, _) = refused(hasty.run(&faulty).await);
    assert!(matches!(kind, MigrationErrorKind::Database(_)), "{kind:?}");
    let left = lease(db).await.unwrap();
    // The next one keeps late writes from that record all the same.
    assert_eq!((left.owner, left.step.as_deref()), (None, Some("3")));
    assert_eq!(hasty.run(db).await.unwrap().ids(), ["3"]);
    assert_eq!(lease(db).await.unwrap().step, None);
}

async fn a_token_that_is_none_is_refused_by_name(db: &Db) {
    three().run_to(db, "2").await.unwrap();
    let hasty = three().patience(Duration::ZERO);
    for is_under_way in [false, true] {
        for token in [i64::MAX, i64::MAX - (1 << 32)] {
            if is_under_way {
                die_at(db, "1").await;
            }
            set_token(db, "1", token).await;
            let (kind, _) = refused(hasty.run(db).await);
            let MigrationErrorKind::Database(error) = kind else {
                panic!("{kind:?}");
            };
            assert_eq!(
                (error.kind(), error.id()),
                (ErrorKind::Corrupt, Some(&Bson::from("1")))
            );
            assert!(lease(db).await.unwrap().token < 10);
        }
    }
    set_token(db, "1", 1).await;
    assert_eq!(hasty.run(db).await.unwrap().ids(), ["3"]);
}

async fn what_a_zombie_ends_is_not_run_again(db: &Db) {
    let (db, _) = clocked(db);
    three().run_to(&db, "1").await.unwrap();
    // Another process ends a step between this one's look at the records and its beginning of the step.
    let other = db.clone();
    let first = Step::new("2", move |_: Db| {
        let db = other.clone();
        async move {
            let records = db.raw_collection("migrations");
            let mut done = records.get("1").required().await?;
            done.insert("_id", "3");
            records.insert(done).await?;
            Ok(())
        }
    });
    let migrations = Migrations::new()
        .step(noting("1"))
        .step(first)
        .step(noting("3"))
        .wait_with(never);
    let (kind, step) = refused(migrations.run(&db).await);
    assert!(matches!(kind, MigrationErrorKind::LeaseLost { .. }), "{kind:?}");
    assert_eq!(step.as_deref(), Some("3"));
    assert_eq!(record(&db, "3").await.state, StepState::Done);
    assert_eq!(notes(&db).await, ["1"]);
}

async fn progress_renews_the_lease_when_it_is_time(db: &Db) {
    let (db, clock) = clocked(db);
    let (logged, log) = db.logged();
    let other = (db.clone(), clock.clone(), log.clone());
    let step = Step::resumable("1", move |progress: Progress| {
        let (db, clock, log) = other.clone();
        async move {
            let until = async || lease(&db).await.unwrap().until.timestamp_millis() - clock.now();
            let before = log.count("update");
            for n in 0..10 {
                progress.save(&n).await?;
            }
            assert_eq!(log.count("update"), before + 10);
            clock.advance(seconds(19));
            progress.save(&10).await?;
            assert_eq!((log.count("update"), until().await), (before + 11, 41_000));
            clock.advance(seconds(1));
            progress.save(&11).await?;
            assert_eq!((log.count("update"), until().await), (before + 13, 60_000));
            progress.save(&12).await?;
            assert_eq!(log.count("update"), before + 14);
            // The fence is looked at each time: somebody else has the record, and the lease is not asked.
            let records = db.raw_collection("migrations");
            let taken = records.update_one(doc! { "_id": "1" }, doc! { "$inc": { "token": 1 } });
            taken.await?;
            progress.save(&13).await?;
            Ok(())
        }
    });
    let migrations = Migrations::new().step(step).wait_with(never);
    let (kind, _) = refused(migrations.run(&logged).await);
    assert!(matches!(kind, MigrationErrorKind::LeaseLost { token: 1 }));
    assert_eq!(record(&db, "1").await.position, Some(12.into()));
}

async fn a_step_that_drops_its_record_is_told_so(db: &Db) {
    let dropping = |whole: bool| {
        Step::new("2", move |db: Db| async move {
            match whole {
                true => db.drop_database().await?,
                false => db.raw_collection("migrations").drop().await?,
            }
            Ok(())
        })
    };
    for whole in [false, true] {
        let migrations = Migrations::new().step(noting("1")).step(dropping(whole));
        let error = migrations.run(db).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("the record of the step is gone"), "{text}");
        let (kind, step) = (error.kind, error.step);
        assert!(matches!(kind, MigrationErrorKind::StepFailed { attempt: 1, .. }));
        assert_eq!(step.as_deref(), Some("2"));
        // The lease is free, and nothing is recorded: the next run begins anew.
        assert_eq!(
            three()
                .patience(Duration::ZERO)
                .run(db)
                .await
                .unwrap()
                .ids()
                .len(),
            3
        );
        db.drop_database().await.unwrap();
    }
    // The same of one that says how far it is.
    let step = Step::resumable("1", async |progress: Progress| {
        progress.db().raw_collection("migrations").drop().await?;
        progress.save(&1).await
    });
    let text = Migrations::new()
        .step(step)
        .run(db)
        .await
        .unwrap_err()
        .to_string();
    assert!(text.contains("the record of the step is gone"), "{text}");
}

async fn a_lease_of_no_length_lasts_until_somebody_wants_it(db: &Db) {
    let step = Step::new("2", async |_: Db| {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Ok(())
    });
    let migrations = Migrations::new()
        .step(noting("1"))
        .step(step)
        .lease(Duration::ZERO);
    assert_eq!(migrations.run(db).await.unwrap().ids(), ["1", "2"]);
}

async fn a_position_that_could_not_be_read_back_is_refused(db: &Db) {
    let step = Step::resumable("1", async |progress: Progress| {
        progress.save(&doc! { "at": { "$id": 1 } }).await?;
        let shown = doc! { "at": { "$numberLong": "5" } };
        progress.save(&shown).await?;
        Ok(())
    });
    let migrations = Migrations::new().step(step);
    let error = migrations.run(db).await.unwrap_err();
    assert!(error.to_string().contains("1"), "{error}");
    // The record is as it was, and every run can read it.
    assert_eq!(
        record(db, "1").await.position,
        Some(Bson::Document(doc! { "at": { "$id": 1 } }))
    );
    assert!(!migrations.status(db).await.unwrap().is_settled());
}
