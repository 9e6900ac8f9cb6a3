//! How things stand with migrations, what a run would do, and what it tells.

use std::sync::{Arc, Mutex};

use odm::{Db, ErrorKind};
use odm_patterns::migration::{
    MigrationErrorKind, MigrationEvent, Migrations, Standing, Step, StepKind, StepRecord, StepState,
};

use super::migration_model::{failing, noting, refused, three};
use super::queue_model::{clocked, seconds};

crate::on_every_backend! {
    status_says_how_things_stand,
    a_plan_changes_nothing,
    a_gate_is_cheap,
    what_is_pending_is_so_in_either_list,
    runs_are_told_of,
}

async fn status_says_how_things_stand(db: &Db) {
    let (db, clock) = clocked(db);
    let migrations = || {
        Migrations::new()
            .step(noting("1"))
            .step(failing("2_long_name", 1))
            .step(noting("3"))
    };
    let status = migrations().status(&db).await.unwrap();
    assert_eq!(
        (status.pending().len(), status.is_settled(), status.lease),
        (3, false, None)
    );
    migrations().run(&db).await.unwrap_err();
    let status = migrations().status(&db).await.unwrap();
    let error = Some("not yet".to_owned());
    assert_eq!(status.standing("2_long_name"), Some(&Standing::Failed { error }));
    assert_eq!(status.pending(), ["2_long_name", "3"]);
    let lines: Vec<String> = status.to_string().lines().map(str::to_owned).collect();
    assert!(
        lines[0].starts_with("1            plain          done          "),
        "{lines:?}"
    );
    assert!(
        lines[1].ends_with("not yet") && lines[1].contains("failed"),
        "{lines:?}"
    );
    assert_eq!(lines[2].trim_end(), "3            plain          pending");

    // While a step runs, and after its process died.
    let seen = Arc::new(Mutex::new(None));
    let (kept, checked) = (seen.clone(), migrations());
    let looking = Step::new("4", move |db: Db| {
        let (kept, checked) = (kept.clone(), checked.clone());
        async move {
            *kept.lock().unwrap() = Some(checked.step(noting("4")).status(&db).await?);
            Ok(())
        }
    });
    let running = Migrations::new()
        .step(noting("1"))
        .step(failing("2_long_name", 0))
        .step(noting("3"))
        .step(looking)
        .owner("there");
    running.run(&db).await.unwrap();
    let status = seen.lock().unwrap().take().unwrap();
    let until = status.lease.as_ref().unwrap().until;
    assert_eq!(until.timestamp_millis() - db.now().timestamp_millis(), 60_000);
    let owner = Some("there".to_owned());
    assert_eq!(status.standing("4"), Some(&Standing::Running { owner, until }));
    let records = db.collection::<StepRecord>();
    records
        .update_one(|r| r.id.eq("4"), |r| r.state.set(StepState::Running))
        .await
        .unwrap();
    clock.advance(seconds(60));
    let status = migrations().step(noting("4")).status(&db).await.unwrap();
    assert_eq!(status.standing("4"), Some(&Standing::Interrupted));
}

async fn a_plan_changes_nothing(db: &Db) {
    let migrations = || three().step(noting("4").describe("the last").transactional());
    let plan = migrations().plan(db).await.unwrap();
    assert_eq!(plan.len(), 4);
    assert_eq!(
        (plan[3].kind, plan[3].description.as_deref()),
        (StepKind::Transactional, Some("the last"))
    );
    assert_eq!((plan[0].attempt, plan[0].documents), (1, None));
    assert!(db.list_collections().await.unwrap().is_empty());
    migrations().run(db).await.unwrap();
    assert!(migrations().plan(db).await.unwrap().is_empty());
    let later = migrations().step(failing("5", 1));
    later.run(db).await.unwrap_err();
    assert_eq!(later.plan(db).await.unwrap()[0].attempt, 2);
}

async fn a_gate_is_cheap(db: &Db) {
    let cheap = || db.budget(1);
    let (kind, _) = refused(three().require_done(&cheap()).await);
    assert!(matches!(kind, MigrationErrorKind::Pending(ids) if ids == ["1", "2", "3"]));
    three().run_to(db, "2").await.unwrap();
    assert_eq!(three().pending(&cheap()).await.unwrap(), ["3"]);
    three().run(db).await.unwrap();
    three().require_done(&cheap()).await.unwrap();
    let error = odm::Error::from(three().step(noting("4")).require_done(db).await.unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(
        std::error::Error::source(&error)
            .unwrap()
            .to_string()
            .contains("steps: 4")
    );
}

async fn what_is_pending_is_so_in_either_list(db: &Db) {
    // One that runs in every run is none that a program waits for, even where it failed.
    let migrations = || {
        Migrations::new()
            .step(noting("1"))
            .step(failing("2", 1).every_time())
            .step(failing("3", 1).fingerprint("new").on_change())
    };
    migrations().run(db).await.unwrap_err();
    let status = migrations().status(db).await.unwrap();
    let error = Some("not yet".to_owned());
    assert_eq!(status.standing("2"), Some(&Standing::Failed { error }));
    assert_eq!(status.pending(), ["3"]);
    assert_eq!(migrations().pending(db).await.unwrap(), status.pending());
    assert!(!status.is_settled() && !status.steps[1].is_pending);
}

async fn runs_are_told_of(db: &Db) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = told.clone();
    let migrations = Migrations::new()
        .step(noting("1"))
        .step(failing("2", 1))
        .on_event(move |event| {
            let text = match event {
                MigrationEvent::Begun {
                    id,
                    attempt,
                    reverting,
                } => format!("begun {id} {attempt} {reverting}"),
                MigrationEvent::Done(step) => format!("done {}", step.id),
                MigrationEvent::Reverted(step) => format!("reverted {}", step.id),
                MigrationEvent::Failed { id, error } => format!("failed {id}: {error}"),
                other => panic!("{other:?}"),
            };
            kept.lock().unwrap().push(text);
        });
    migrations.run(db).await.unwrap_err();
    migrations.run_to(db, "2").await.unwrap();
    assert_eq!(
        *told.lock().unwrap(),
        [
            "begun 1 1 false",
            "done 1",
            "begun 2 1 false",
            "failed 2: not yet",
            "begun 2 2 false",
            "done 2"
        ]
    );
}
