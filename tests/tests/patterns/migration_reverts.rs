//! Migrations that are undone.

use odm::Db;
use odm_patterns::migration::{MigrationErrorKind, Migrations, Standing, Step, StepError, StepState};

use super::migration_model::{
    Person, failing, join, note, notes, noting, people, record, refused, split, states, three,
};

crate::on_every_backend! {
    steps_are_undone_in_reverse_order,
    a_step_without_a_way_down_stops_it_before_it_begins,
    a_revert_that_fails_is_the_first_to_be_done,
    what_may_have_happened_is_undone,
    what_failed_before_it_was_a_transaction_is_undone,
    a_transaction_is_undone_with_its_record,
    batches_are_undone_in_batches,
}

async fn steps_are_undone_in_reverse_order(db: &Db) {
    assert!(three().revert(db, 1).await.unwrap().steps.is_empty());
    three().run(db).await.unwrap();
    let report = three().revert(db, 1).await.unwrap();
    assert_eq!(report.ids(), ["3"]);
    assert_eq!(report.skipped, ["1", "2"]);
    let known = record(db, "3").await;
    assert_eq!((known.state, known.attempts), (StepState::Reverted, 1));
    assert!(known.ended.is_some() && known.millis.is_some());
    let status = three().status(db).await.unwrap();
    assert_eq!(status.standing("3"), Some(&Standing::Reverted));
    assert_eq!(status.pending(), ["3"]);
    assert_eq!(three().revert_to(db, "1").await.unwrap().ids(), ["2"]);
    assert_eq!(three().run(db).await.unwrap().ids(), ["2", "3"]);
    assert_eq!(
        three().revert(db, usize::MAX).await.unwrap().ids(),
        ["3", "2", "1"]
    );
    assert!(three().revert(db, 0).await.unwrap().steps.is_empty());
    let expected = [
        "1", "2", "3", "not 3", "not 2", "2", "3", "not 3", "not 2", "not 1",
    ];
    assert_eq!(notes(db).await, expected);
    assert!(matches!(
        refused(three().revert_to(db, "4").await).0,
        MigrationErrorKind::NoSuchStep
    ));
}

async fn a_step_without_a_way_down_stops_it_before_it_begins(db: &Db) {
    let migrations = Migrations::new()
        .step(noting("1"))
        .step(failing("2", 0))
        .step(noting("3"));
    migrations.run(db).await.unwrap();
    let (kind, step) = refused(migrations.revert(db, 2).await);
    assert!(matches!(kind, MigrationErrorKind::NoDown));
    assert_eq!(step.as_deref(), Some("2"));
    assert_eq!(notes(db).await, ["1", "2", "3"]);
    assert_eq!(migrations.revert(db, 1).await.unwrap().ids(), ["3"]);
    // Somebody did it by hand.
    migrations.mark_reverted(db, "2").await.unwrap();
    assert_eq!(migrations.revert(db, 1).await.unwrap().ids(), ["1"]);
}

async fn a_revert_that_fails_is_the_first_to_be_done(db: &Db) {
    let of = |is_broken: bool| {
        let step = failing("2", 0).down(move |db: Db| async move {
            match is_broken {
                true => Err(StepError::new("no way back")),
                false => note(&db, "not 2").await,
            }
        });
        Migrations::new().step(noting("1")).step(step).step(noting("3"))
    };
    of(true).run(db).await.unwrap();
    let error = of(true).revert(db, 3).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"reverting the step failed: no way back (step: "2", collection: migrations)"#
    );
    assert!(matches!(error.kind, MigrationErrorKind::RevertFailed { .. }));
    let known = record(db, "2").await;
    assert_eq!(
        (known.state, known.error.as_deref()),
        (StepState::Reverting, Some("no way back"))
    );
    let error = Some("no way back".to_owned());
    assert_eq!(
        of(true).status(db).await.unwrap().standing("2"),
        Some(&Standing::Reverting { error })
    );
    // Nothing runs over it.
    for result in [of(true).run(db).await, of(true).run_to(db, "1").await] {
        let (kind, step) = refused(result);
        assert!(matches!(kind, MigrationErrorKind::HalfReverted));
        assert_eq!(step.as_deref(), Some("2"));
    }
    refused(of(true).plan(db).await);
    assert_eq!(of(false).revert(db, 1).await.unwrap().ids(), ["2"]);
    assert_eq!(record(db, "2").await.attempts, 2);
    assert_eq!(of(true).run(db).await.unwrap().ids(), ["2", "3"]);
    of(true).revert(db, 2).await.unwrap_err();
    of(true).mark_done(db, "2").await.unwrap();
    assert_eq!(of(true).run(db).await.unwrap().ids(), ["3"]);
    assert_eq!(
        notes(db).await,
        ["1", "2", "3", "not 3", "not 2", "2", "3", "not 3", "3"]
    );
}

async fn what_may_have_happened_is_undone(db: &Db) {
    let plain = failing("2", 9).down(async |db: Db| note(&db, "not 2").await);
    let migrations = Migrations::new().step(noting("1")).step(plain);
    migrations.run(db).await.unwrap_err();
    assert_eq!(migrations.revert(db, 1).await.unwrap().ids(), ["2"]);
    assert_eq!(notes(db).await, ["1", "not 2"]);
    // Of a transaction that failed nothing has happened.
    let atomic = failing("2", 9).transactional();
    let migrations = Migrations::new().step(noting("1")).step(atomic);
    migrations.run(db).await.unwrap_err();
    assert_eq!(migrations.revert(db, 2).await.unwrap().ids(), ["2", "1"]);
    assert_eq!(notes(db).await, ["1", "not 2", "not 1"]);
    let expected = [
        ("1".to_owned(), StepState::Reverted),
        ("2".to_owned(), StepState::Reverted),
    ];
    assert_eq!(states(db).await, expected);
}

async fn what_failed_before_it_was_a_transaction_is_undone(db: &Db) {
    let half = || {
        Step::new("1", async |db: Db| {
            note(&db, "half").await?;
            Err(StepError::new("half way"))
        })
    };
    let plain = Migrations::new().step(half());
    plain.run(db).await.unwrap_err();
    assert!(!record(db, "1").await.partial);
    let atomic = || half().transactional();
    // However often it is a transaction since.
    for attempts in [1, 2] {
        Migrations::new().step(atomic()).run(db).await.unwrap_err();
        let known = record(db, "1").await;
        assert_eq!((known.attempts, known.partial), (attempts, true));
    }
    let (kind, _) = refused(Migrations::new().step(atomic()).revert(db, 1).await);
    assert!(matches!(kind, MigrationErrorKind::NoDown), "{kind:?}");
    let down = || atomic().down(async |db: Db| note(&db, "not 1").await);
    let reverted = Migrations::new().step(down()).revert(db, 1).await.unwrap();
    assert_eq!(reverted.ids(), ["1"]);
    assert_eq!(notes(db).await, ["half", "not 1"]);
    // From here on nothing is left of it.
    let known = record(db, "1").await;
    assert_eq!((known.state, known.partial), (StepState::Reverted, false));
    Migrations::new().step(down()).run(db).await.unwrap_err();
    assert!(!record(db, "1").await.partial);
    assert_eq!(
        Migrations::new()
            .step(atomic())
            .revert(db, 1)
            .await
            .unwrap()
            .ids(),
        ["1"]
    );
    // So it is of one that somebody takes for done.
    plain.run(db).await.unwrap_err();
    Migrations::new().step(atomic()).run(db).await.unwrap_err();
    assert!(record(db, "1").await.partial);
    plain.mark_done(db, "1").await.unwrap();
    assert!(!record(db, "1").await.partial);
}

async fn a_transaction_is_undone_with_its_record(db: &Db) {
    let of = |is_broken: bool| {
        let step = Step::new("1", async |db: Db| note(&db, "1").await)
            .down(move |db: Db| async move {
                note(&db, "not 1").await?;
                match is_broken {
                    true => Err(StepError::new("broken")),
                    false => Ok(()),
                }
            })
            .transactional();
        Migrations::new().step(step)
    };
    of(true).run(db).await.unwrap();
    of(true).revert(db, 1).await.unwrap_err();
    assert_eq!(notes(db).await, ["1"]);
    assert_eq!(of(false).revert(db, 1).await.unwrap().ids(), ["1"]);
    assert_eq!(notes(db).await, ["1", "not 1"]);
}

async fn batches_are_undone_in_batches(db: &Db) {
    people(db, 5).await;
    let step = Step::each::<Person>("1", |p| p.first.missing(), split)
        .down_each::<Person>(|p| p.first.exists(), join)
        .batch_size(2);
    let migrations = Migrations::new().step(step);
    let report = migrations.run(db).await.unwrap();
    assert_eq!((report.steps[0].examined, report.steps[0].changed), (5, 5));
    let report = migrations.revert(db, 1).await.unwrap();
    assert_eq!((report.steps[0].examined, report.steps[0].changed), (5, 5));
    let stored = db
        .collection::<Person>()
        .raw()
        .get(bson::Bson::Int32(4))
        .required()
        .await
        .unwrap();
    assert_eq!(
        stored,
        bson::doc! { "_id": 4, "note": "kept", "version": 2, "name": "Ann Lee4" }
    );
    assert_eq!(migrations.run(db).await.unwrap().steps[0].changed, 5);
}
