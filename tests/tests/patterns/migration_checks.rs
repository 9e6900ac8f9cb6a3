//! What a run of migrations refuses, and how somebody who knows better goes on.

use bson::doc;
use odm::{Db, ErrorKind};
use odm_patterns::migration::{MigrationErrorKind, Migrations, Standing, StepState};

use super::migration_model::{failing, notes, noting, record, refused, states, three};

crate::on_every_backend! {
    ids_are_checked,
    unknown_steps_are_refused,
    steps_out_of_order_are_refused,
    changed_steps_are_refused,
    steps_run_again_on_change_and_every_time,
    a_database_that_was_there_has_a_baseline,
    somebody_knows_better,
    what_is_no_database_for_it_is_refused,
}

async fn ids_are_checked(db: &Db) {
    let of = |ids: &[&'static str]| ids.iter().fold(Migrations::new(), |all, id| all.step(noting(id)));
    for hostile in [
        "",
        " ",
        "a b",
        "a\0b",
        "a\nb",
        "$where",
        "{\"$gt\":\"\"}",
        "a\u{202e}b",
    ] {
        let (kind, step) = refused(of(&["1", hostile]).run(db).await);
        assert!(matches!(kind, MigrationErrorKind::BadId(_)), "{hostile:?}");
        assert_eq!(step.as_deref(), Some(hostile));
    }
    let long: &'static str = "x".repeat(201).leak();
    assert!(of(&[long]).check().is_err());
    assert!(of(&[&long[1..]]).check().is_ok());
    for (ids, kind) in [
        (["a", "a"], "DuplicateId"),
        (["A", "a"], "DuplicateId"),
        (["10", "9"], "NotInOrder"),
    ] {
        let (found, _) = refused(of(&ids).run(db).await);
        assert!(format!("{found:?}").starts_with(kind), "{ids:?}: {found:?}");
    }
    assert!(refused(of(&["10", "9"]).status(db).await).1.is_some());
    // Nothing was asked of the database.
    assert!(db.list_collections().await.unwrap().is_empty());
    assert_eq!(
        of(&["10", "9"]).any_order().run(db).await.unwrap().ids(),
        ["10", "9"]
    );
    assert_eq!(
        of(&["größe.1", "größe.2"])
            .collection("other")
            .run(db)
            .await
            .unwrap()
            .ids()
            .len(),
        2
    );
    // None at all is nothing to do.
    assert!(of(&[]).collection("none").run(db).await.unwrap().steps.is_empty());
}

async fn unknown_steps_are_refused(db: &Db) {
    three().run(db).await.unwrap();
    let older = Migrations::new().step(noting("1"));
    let newer = Migrations::new().step(noting("1")).step(noting("4"));
    for migrations in [&older, &newer] {
        let unknown = |kind| matches!(kind, MigrationErrorKind::Unknown(ids) if ids == ["2", "3"]);
        assert!(unknown(refused(migrations.run(db).await).0));
        assert!(unknown(refused(migrations.plan(db).await).0));
        assert!(unknown(refused(migrations.revert(db, 1).await).0));
    }
    // It may start, though: its own are done.
    older.require_done(db).await.unwrap();
    assert_eq!(older.status(db).await.unwrap().unknown.len(), 2);
    let allowing = newer.clone().allow_unknown();
    assert_eq!(allowing.run(db).await.unwrap().ids(), ["4"]);
    // A failed one is as unknown as one that is done; one that was undone is not.
    three().revert_to(db, "1").await.unwrap_err();
    three().allow_unknown().revert_to(db, "1").await.unwrap();
    assert!(newer.run(db).await.unwrap().steps.is_empty());
    newer.mark_reverted(db, "2").await.unwrap();
}

async fn steps_out_of_order_are_refused(db: &Db) {
    let merged = || {
        Migrations::new()
            .step(noting("1"))
            .step(noting("2"))
            .step(noting("3"))
    };
    let branch = Migrations::new().step(noting("1")).step(noting("3"));
    branch.run(db).await.unwrap();
    for result in [merged().run(db).await, merged().run_to(db, "2").await] {
        assert!(matches!(refused(result).0, MigrationErrorKind::OutOfOrder(ids) if ids == ["2"]));
    }
    assert!(merged().run_to(db, "1").await.unwrap().steps.is_empty());
    let status = merged().status(db).await.unwrap();
    assert_eq!(status.standing("2"), Some(&Standing::OutOfOrder));
    assert_eq!(merged().pending(db).await.unwrap(), ["2"]);
    assert_eq!(merged().allow_out_of_order().run(db).await.unwrap().ids(), ["2"]);
    assert_eq!(notes(db).await, ["1", "3", "2"]);
    // Undone in the order of the list, not of the time.
    assert_eq!(merged().revert(db, 2).await.unwrap().ids(), ["3", "2"]);
    // One that has begun out of order goes on without being allowed again.
    let failing = |times| {
        Migrations::new()
            .step(noting("1"))
            .step(failing("2", times))
            .step(noting("3"))
    };
    branch.run(db).await.unwrap();
    failing(1).allow_out_of_order().run(db).await.unwrap_err();
    assert_eq!(failing(0).run(db).await.unwrap().ids(), ["2"]);
}

async fn changed_steps_are_refused(db: &Db) {
    let of = |one: &str, two: i32| {
        Migrations::new()
            .step(noting("1").fingerprint(one))
            .step(noting("2").fingerprint_of(&two))
            .step(noting("3"))
    };
    of("a", 1).run(db).await.unwrap();
    assert!(of("a", 1).run(db).await.unwrap().steps.is_empty());
    for (migrations, expected) in [(of("b", 1), vec!["1"]), (of("b", 2), vec!["1", "2"])] {
        let (kind, _) = refused(migrations.run(db).await);
        assert!(matches!(kind, MigrationErrorKind::Changed(ids) if ids == expected));
        assert_eq!(
            migrations.status(db).await.unwrap().standing("1"),
            Some(&Standing::Changed)
        );
        migrations.require_done(db).await.unwrap();
        assert!(
            migrations
                .clone()
                .allow_changed()
                .run(db)
                .await
                .unwrap()
                .steps
                .is_empty()
        );
    }
    // Without one on either side there is nothing to compare.
    assert!(three().run(db).await.unwrap().steps.is_empty());
    let own = Migrations::new()
        .step(noting("1"))
        .step(noting("2"))
        .step(noting("3").fingerprint("new"));
    assert!(own.run(db).await.unwrap().steps.is_empty());
    assert_eq!(of("b", 2).accept_changed(db).await.unwrap(), ["1", "2"]);
    assert!(of("b", 2).run(db).await.unwrap().steps.is_empty());
    assert!(of("b", 2).accept_changed(db).await.unwrap().is_empty());
    assert!(!record(db, "1").await.by_hand);
    assert_eq!(notes(db).await, ["1", "2", "3"]);
}

async fn steps_run_again_on_change_and_every_time(db: &Db) {
    let of = |text: &str| {
        Migrations::new()
            .step(noting("1").every_time())
            .step(noting("2").fingerprint(text).on_change())
            .step(noting("3"))
    };
    assert_eq!(of("a").pending(db).await.unwrap(), ["2", "3"]);
    assert_eq!(of("a").run(db).await.unwrap().ids(), ["1", "2", "3"]);
    of("a").require_done(db).await.unwrap();
    assert_eq!(of("a").run(db).await.unwrap().ids(), ["1"]);
    assert_eq!(of("b").pending(db).await.unwrap(), ["2"]);
    assert_eq!(of("b").run(db).await.unwrap().ids(), ["1", "2"]);
    let known = record(db, "2").await;
    assert_eq!((known.attempts, known.fingerprint.as_deref()), (1, Some("b")));
    // They are no part of what is undone.
    assert_eq!(of("b").revert(db, 9).await.unwrap().ids(), ["3"]);
    let status = of("b").status(db).await.unwrap();
    assert_eq!(status.standing("1"), Some(&Standing::EveryTime));
    assert_eq!(status.standing("2"), Some(&Standing::Done));
    let none = Migrations::new().step(noting("1").on_change());
    assert!(matches!(
        refused(none.run(db).await).0,
        MigrationErrorKind::BadStep(_)
    ));
    // What was recorded before it ran on change runs.
    let plain = Migrations::new().step(noting("1")).collection("other");
    plain.run(db).await.unwrap();
    let changing = Migrations::new()
        .step(noting("1").fingerprint("x").on_change())
        .collection("other");
    assert_eq!(changing.run(db).await.unwrap().ids(), ["1"]);
    assert!(changing.run(db).await.unwrap().steps.is_empty());
}

async fn a_database_that_was_there_has_a_baseline(db: &Db) {
    assert!(matches!(
        refused(three().baseline(db, "4").await).0,
        MigrationErrorKind::NoSuchStep
    ));
    assert_eq!(three().baseline(db, "2").await.unwrap(), ["1", "2"]);
    assert!(three().baseline(db, "2").await.unwrap().is_empty());
    let known = record(db, "1").await;
    assert_eq!(
        (known.state, known.by_hand, known.attempts),
        (StepState::Done, true, 0)
    );
    assert_eq!(three().run(db).await.unwrap().ids(), ["3"]);
    assert_eq!(notes(db).await, ["3"]);
    assert_eq!(three().baseline(db, "3").await.unwrap(), Vec::<String>::new());
    assert!(!record(db, "3").await.by_hand);
    // Not over a step that has begun.
    let failing = || three().step(failing("4", 9)).step(noting("5"));
    failing().run(db).await.unwrap_err();
    let (kind, step) = refused(failing().baseline(db, "5").await);
    assert!(matches!(kind, MigrationErrorKind::Begun));
    assert_eq!(step.as_deref(), Some("4"));
    assert_eq!(states(db).await.len(), 4);
}

async fn somebody_knows_better(db: &Db) {
    let migrations = || three().step(failing("4", 9)).step(noting("5"));
    migrations().run(db).await.unwrap_err();
    migrations().mark_done(db, "4").await.unwrap();
    assert_eq!(migrations().run(db).await.unwrap().ids(), ["5"]);
    let known = record(db, "4").await;
    assert_eq!(
        (known.state, known.by_hand, known.error),
        (StepState::Done, true, None)
    );
    migrations().mark_reverted(db, "5").await.unwrap();
    assert_eq!(migrations().run(db).await.unwrap().ids(), ["5"]);
    // Also where steps behind it are done: somebody asked for it.
    migrations().mark_reverted(db, "1").await.unwrap();
    assert_eq!(migrations().run(db).await.unwrap().ids(), ["1"]);
    assert!(!record(db, "1").await.by_hand);
    // One that the program no longer has is forgotten.
    assert!(matches!(
        refused(three().run(db).await).0,
        MigrationErrorKind::Unknown(_)
    ));
    three().mark_reverted(db, "4").await.unwrap();
    three().mark_reverted(db, "5").await.unwrap();
    assert!(three().run(db).await.unwrap().steps.is_empty());
    for result in [
        three().mark_reverted(db, "6").await,
        three().mark_done(db, "5").await,
    ] {
        assert!(matches!(refused(result).0, MigrationErrorKind::NoSuchStep));
    }
    let (kind, _) = refused(three().mark_reverted(db, "").await);
    assert!(matches!(kind, MigrationErrorKind::NoSuchStep));
}

async fn what_is_no_database_for_it_is_refused(db: &Db) {
    let inside = db.transaction(async |tx| {
        let error = three().run(&tx).await.unwrap_err();
        assert!(matches!(error.kind, MigrationErrorKind::InTransaction));
        three().revert(&tx, 1).await.unwrap_err();
        three().status(&tx).await.unwrap_err();
        Ok(())
    });
    inside.await.unwrap();
    for name in ["", "a\0b", "$x"] {
        let error = three().collection(name).run(db).await.unwrap_err();
        assert!(
            matches!(error.kind, MigrationErrorKind::Database(_)),
            "{name:?}: {error}"
        );
        assert_eq!(error.collection, name);
    }
    // A record that is none is an error, and no step is run.
    db.raw_collection("migrations")
        .insert(doc! { "_id": "1", "state": "odd" })
        .await
        .unwrap();
    let (kind, _) = refused(three().run(db).await);
    assert!(matches!(kind, MigrationErrorKind::Database(error) if error.kind() == ErrorKind::Decode));
    assert!(notes(db).await.is_empty());
}
