//! Migrations: named steps, each run once, in their order.

use std::time::Duration;

use bson::doc;
use odm::{Db, ErrorKind};
use odm_patterns::migration::{MigrationErrorKind, Migrations, Step, StepError, StepKind, StepState};

use super::migration_model::{failing, note, notes, noting, record, refused, three};
use super::queue_model::{clocked, seconds};

crate::on_every_backend! {
    steps_run_once_in_their_order,
    eight_runners_run_each_step_once,
    a_failed_step_stops_the_run,
    a_panic_is_a_failure,
    steps_run_up_to_one,
    parts_of_a_program_migrate_on_their_own,
    a_round_trip_is_all_where_nothing_is_to_be_done,
}

async fn steps_run_once_in_their_order(db: &Db) {
    let (db, clock) = clocked(db);
    let slow = {
        let clock = clock.clone();
        Step::new("2", move |db: Db| {
            let clock = clock.clone();
            async move {
                clock.advance(seconds(3));
                note(&db, "2").await
            }
        })
    };
    let migrations = Migrations::new()
        .step(noting("1").describe("the first"))
        .step(slow)
        .step(noting("10"))
        .version("1.4.0")
        .owner("here");
    let report = migrations.run(&db).await.unwrap();
    assert_eq!((report.ids(), report.skipped.len()), (vec!["1", "2", "10"], 0));
    assert_eq!(
        (report.steps[1].duration, report.duration),
        (seconds(3), seconds(3))
    );
    assert_eq!(notes(&db).await, ["1", "2", "10"]);

    let again = migrations.run(&db).await.unwrap();
    assert!(again.steps.is_empty());
    assert_eq!(again.skipped, ["1", "2", "10"]);
    assert_eq!(notes(&db).await.len(), 3);

    let first = record(&db, "1").await;
    assert_eq!(
        (first.order, first.state, first.attempts),
        (0, StepState::Done, 1)
    );
    assert_eq!(
        (first.kind, first.token, first.by_hand),
        (StepKind::Plain, 1, false)
    );
    assert_eq!(first.description.as_deref(), Some("the first"));
    assert_eq!(
        (first.version.as_deref(), first.owner.as_deref()),
        (Some("1.4.0"), Some("here"))
    );
    assert_eq!((first.error, first.position), (None, None));
    let second = record(&db, "2").await;
    assert_eq!((second.order, second.duration()), (1, Some(seconds(3))));
    assert_eq!(
        second.ended.unwrap().timestamp_millis() - second.started.timestamp_millis(),
        3000
    );
    // What is stored is what the guide says.
    let stored = db.raw_collection("migrations").get("2").required().await.unwrap();
    assert_eq!(
        (
            stored.get_str("state").unwrap(),
            stored.get_i64("millis").unwrap()
        ),
        ("done", 3000)
    );
}

async fn eight_runners_run_each_step_once(db: &Db) {
    let mut runners = Vec::new();
    for number in 0..8 {
        let db = db.clone();
        runners.push(tokio::spawn(async move {
            let yielding = |id: &'static str| {
                Step::new(id, move |db: Db| async move {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    note(&db, id).await
                })
            };
            let migrations = Migrations::new()
                .step(yielding("1"))
                .step(noting("2").transactional())
                .step(yielding("3"))
                .owner(format!("runner {number}"))
                .poll(Duration::from_millis(2));
            migrations.run(&db).await.unwrap()
        }));
    }
    let mut ran = 0;
    for runner in runners {
        let report = runner.await.unwrap();
        ran += report.steps.len();
        assert_eq!(report.steps.len() + report.skipped.len(), 3);
    }
    assert_eq!(ran, 3);
    assert_eq!(notes(db).await, ["1", "2", "3"]);
}

async fn a_failed_step_stops_the_run(db: &Db) {
    let migrations = Migrations::new()
        .step(noting("1"))
        .step(failing("2", 2))
        .step(noting("3"));
    for attempt in 1..=2 {
        let error = migrations.run(db).await.unwrap_err();
        let text =
            format!(r#"the step failed: not yet (step: "2", collection: migrations, attempt: {attempt})"#);
        assert_eq!(error.to_string(), text);
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "not yet");
        let known = record(db, "2").await;
        assert_eq!((known.state, known.attempts), (StepState::Failed, attempt));
        assert_eq!(known.error.as_deref(), Some("not yet"));
        assert!(known.ended.is_some());
        assert_eq!(notes(db).await, ["1"]);
    }
    let report = migrations.run(db).await.unwrap();
    assert_eq!((report.ids(), report.steps[0].attempt), (vec!["2", "3"], 3));
    assert_eq!(report.skipped, ["1"]);
    let known = record(db, "2").await;
    assert_eq!(
        (known.state, known.error, known.attempts),
        (StepState::Done, None, 3)
    );
    // The record has room for as much of it as anybody reads.
    let long = Step::new("4", async |_: Db| Err(StepError::new("ä".repeat(20_000_000))));
    migrations.clone().step(long).run(db).await.unwrap_err();
    assert_eq!(record(db, "4").await.error, Some("ä".repeat(5_000)));
    // As an error of the database it keeps the kind of its cause, and says where.
    let taken = Step::new("4", async |db: Db| {
        db.raw_collection("taken")
            .insert_many([doc! { "_id": 1 }, doc! { "_id": 1 }])
            .await?;
        Ok(())
    });
    let error = odm::Error::from(migrations.step(taken).run(db).await.unwrap_err());
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert_eq!(
        (error.id(), error.namespace()),
        (Some(&"4".into()), Some("migrations"))
    );
}

async fn a_panic_is_a_failure(db: &Db) {
    let early = Step::new("2", |_: Db| -> std::future::Ready<Result<(), StepError>> {
        panic!("early")
    });
    let late = Step::new("2", async |_: Db| -> Result<(), StepError> { panic!("late") });
    for step in [early, late] {
        let migrations = Migrations::new().step(noting("1")).step(step);
        let (kind, step) = refused(migrations.run(db).await);
        assert_eq!(step.as_deref(), Some("2"));
        assert!(
            matches!(kind, MigrationErrorKind::StepFailed { error, .. } if error.to_string() == "the step panicked")
        );
        assert_eq!(record(db, "2").await.state, StepState::Failed);
    }
    assert_eq!(notes(db).await, ["1"]);
}

async fn steps_run_up_to_one(db: &Db) {
    assert_eq!(three().run_to(db, "2").await.unwrap().ids(), ["1", "2"]);
    assert!(three().run_to(db, "1").await.unwrap().steps.is_empty());
    let (kind, step) = refused(three().run_to(db, "4").await);
    assert!(matches!(kind, MigrationErrorKind::NoSuchStep));
    assert_eq!(step.as_deref(), Some("4"));
    assert_eq!(three().run(db).await.unwrap().ids(), ["3"]);
}

async fn parts_of_a_program_migrate_on_their_own(db: &Db) {
    three().collection("migrations_of_one").run(db).await.unwrap();
    assert_eq!(three().run(db).await.unwrap().ids().len(), 3);
    let mut names: Vec<String> = db
        .list_collections()
        .await
        .unwrap()
        .into_iter()
        .map(|c| c.name)
        .collect();
    names.sort();
    let expected = [
        "migrations",
        "migrations.lease",
        "migrations_of_one",
        "migrations_of_one.lease",
        "notes",
    ];
    assert_eq!(names, expected);
}

async fn a_round_trip_is_all_where_nothing_is_to_be_done(db: &Db) {
    let (logged, log) = db.logged();
    three().run(&logged).await.unwrap();
    // 1 to look, 1 for the lease, 1 for the records, 3 and its own for each step, 1 at the end.
    assert_eq!(log.round_trips(), 4 + 3 * 4);
    log.take();
    three().run(&logged).await.unwrap();
    assert_eq!(log.round_trips(), 1);
}
