//! Steps that are transactions: once, or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use bson::doc;
use odm::backend::wrap::Fault;
use odm::{Db, ErrorKind};
use odm_patterns::migration::{MigrationErrorKind, Migrations, Step, StepError, StepState};
use odm_tests::plain::Plain;

use super::migration_model::{failing, lost, note, notes, noting, record, refused, states};

crate::on_every_backend! {
    a_step_and_its_record_are_one,
    a_lost_reply_of_the_commit_is_no_failure,
    a_conflict_runs_the_step_again,
    without_transactions_nothing_is_run,
    a_resumable_step_is_no_transaction,
}

async fn a_step_and_its_record_are_one(db: &Db) {
    let half = Step::new("1", async |db: Db| {
        note(&db, "1").await?;
        Err(StepError::new("half way"))
    });
    Migrations::new()
        .step(half.transactional())
        .run(db)
        .await
        .unwrap_err();
    assert!(notes(db).await.is_empty());
    let known = record(db, "1").await;
    assert_eq!(
        (known.state, known.error.as_deref()),
        (StepState::Failed, Some("half way"))
    );
    let migrations = Migrations::new().step(noting("1").transactional());
    assert_eq!(migrations.run(db).await.unwrap().steps[0].attempt, 2);
    assert_eq!(notes(db).await, ["1"]);
}

async fn a_lost_reply_of_the_commit_is_no_failure(db: &Db) {
    let (faulty, faults) = db.faulty();
    faults.add(Fault::nth("commitTransaction", 1).after(lost()));
    let migrations = Migrations::new()
        .step(noting("1").transactional())
        .step(noting("2"));
    assert_eq!(migrations.run(&faulty).await.unwrap().ids(), ["1", "2"]);
    assert_eq!(faults.failures(), 1);
    assert_eq!(notes(db).await, ["1", "2"]);
    // So is one of the record of a plain step: lease, intents, own, then the end of it.
    faults.add(Fault::nth_write(5).after(lost()));
    let migrations = migrations.step(noting("3"));
    assert_eq!(migrations.run(&faulty).await.unwrap().ids(), ["3"]);
    assert_eq!(faults.failures(), 2);
    assert_eq!(notes(db).await, ["1", "2", "3"]);
}

async fn a_conflict_runs_the_step_again(db: &Db) {
    db.raw_collection("sums")
        .insert(doc! { "_id": 1, "sum": 0 })
        .await
        .unwrap();
    let outside = db.clone();
    let tries = Arc::new(AtomicI32::new(0));
    let counted = tries.clone();
    let step = Step::new("1", move |db: Db| {
        let (outside, tries) = (outside.clone(), tries.clone());
        async move {
            db.raw_collection("sums").find_one(doc! { "_id": 1 }).await?;
            if tries.fetch_add(1, Ordering::SeqCst) == 0 {
                outside
                    .raw_collection("sums")
                    .update_one(doc! { "_id": 1 }, doc! { "$inc": { "sum": 10 } })
                    .await?;
            }
            db.raw_collection("sums")
                .update_one(doc! { "_id": 1 }, doc! { "$inc": { "sum": 1 } })
                .await?;
            Ok(())
        }
    });
    let report = Migrations::new()
        .step(step.transactional())
        .run(db)
        .await
        .unwrap();
    assert_eq!(report.steps[0].attempt, 1);
    assert_eq!(counted.load(Ordering::SeqCst), 2);
    let sum = db
        .raw_collection("sums")
        .get(bson::Bson::Int32(1))
        .required()
        .await
        .unwrap();
    assert_eq!(sum.get_i32("sum").unwrap(), 11);
}

async fn without_transactions_nothing_is_run(db: &Db) {
    let without = Plain::db(db);
    let migrations = Migrations::new()
        .step(noting("1"))
        .step(noting("2").transactional());
    for result in [
        migrations.run(&without).await.map(drop),
        migrations.plan(&without).await.map(drop),
    ] {
        let error = odm::Error::from(result.clone().unwrap_err());
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let (kind, step) = refused(result);
        assert!(matches!(kind, MigrationErrorKind::NoTransactions));
        assert_eq!(step.as_deref(), Some("2"));
    }
    assert!(states(db).await.is_empty() && notes(db).await.is_empty());
    assert_eq!(migrations.run_to(&without, "1").await.unwrap().ids(), ["1"]);
    assert_eq!(migrations.run(db).await.unwrap().ids(), ["2"]);
    assert!(matches!(
        refused(migrations.revert(&without, 2).await).0,
        MigrationErrorKind::NoTransactions
    ));
    assert_eq!(notes(db).await, ["1", "2"]);
}

async fn a_resumable_step_is_no_transaction(db: &Db) {
    let step = Step::resumable("1", async |_| Ok(())).transactional();
    assert!(matches!(
        refused(Migrations::new().step(step).run(db).await).0,
        MigrationErrorKind::BadStep(_)
    ));
    Migrations::new().step(failing("1", 0)).run(db).await.unwrap();
}
