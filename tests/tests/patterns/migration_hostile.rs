//! Migrations under odd circumstances: lists that differ, names and texts of every kind, clocks that jump, models that
//! hold their documents to something.

use std::time::Duration;

use bson::{Bson, DateTime, Document, doc};
use odm::backend::{Insert, Namespace, Operation};
use odm::{CollectionDeclaration, Db, Filter, Model};
use odm_patterns::encryption::{Encrypted, KeyVault, LocalKey, VaultOptions};
use odm_patterns::migration::{MigrationErrorKind, Migrations, Progress, Step, StepState};
use serde::{Deserialize, Serialize};

use super::migration_model::{names, note, notes, noting, people, record, refused, stored, three};
use super::queue_model::clocked;

crate::on_every_backend! {
    programs_with_other_lists_refuse_each_other,
    names_that_are_none_are_errors,
    texts_of_any_length_are_recorded_or_refused,
    a_clock_that_jumps_changes_nothing,
    a_step_may_drop_the_collection_that_it_changed,
    reverted_steps_have_other_fingerprints,
    tenants_are_migrated_alone_or_all_at_once,
    encrypted_fields_stay_encrypted,
    a_time_series_is_refused_or_left_as_it_is,
    documents_with_a_field_twice_are_refused_by_name,
    batches_of_any_size,
}

async fn programs_with_other_lists_refuse_each_other(db: &Db) {
    let of =
        |ids: &'static [&'static str]| ids.iter().fold(Migrations::new(), |all, id| all.step(noting(id)));
    let (one, other) = (of(&["1", "2"]), of(&["1", "3"]));
    let waiting = |migrations: &Migrations| migrations.clone().poll(Duration::from_millis(1));
    let (first, second) = (waiting(&one), waiting(&other));
    let (first, second) = tokio::join!(first.run(db), second.run(db));
    // Whoever comes second finds what it does not know, and runs nothing.
    let refusals = [first.is_err(), second.is_err()];
    assert_eq!(
        refusals.iter().filter(|refused| **refused).count(),
        1,
        "{refusals:?}"
    );
    for result in [first, second] {
        if let Err(error) = result {
            assert!(matches!(error.kind, MigrationErrorKind::Unknown(_)), "{error}");
        }
    }
    assert_eq!(notes(db).await.len(), 2);
    let (loser, behind) = match refusals[0] {
        true => (one, "2"),
        false => (other, "3"),
    };
    let report = loser.allow_unknown().run(db).await.unwrap();
    assert_eq!(report.ids(), [behind]);
    // Together they have all.
    assert!(of(&["1", "2", "3"]).run(db).await.unwrap().steps.is_empty());
}

async fn names_that_are_none_are_errors(db: &Db) {
    let long = "x".repeat(1_000_000);
    for id in [
        "",
        "a b",
        "$a",
        "a\0",
        "\u{202e}",
        "e\u{301}",
        "..\\",
        long.as_str(),
    ] {
        let (kind, _) = refused(
            Migrations::new()
                .step(noting("1"))
                .step(Step::new(id, async |_| Ok(())))
                .run(db)
                .await,
        );
        assert!(matches!(kind, MigrationErrorKind::BadId(_)), "{:?}", id.get(..9));
    }
    let odd = Migrations::new()
        .any_order()
        .step(Step::new("größe.1/ä#+:-", async |db: Db| {
            note(&db, "odd").await
        }))
        .step(Step::new("...", async |db: Db| note(&db, "dots").await))
        .step(Step::new("移行_2", async |db: Db| note(&db, "other").await));
    assert_eq!(
        odd.run(db).await.unwrap().ids(),
        ["größe.1/ä#+:-", "...", "移行_2"]
    );
    assert!(odd.run(db).await.unwrap().steps.is_empty());
    let status = odd.status(db).await.unwrap();
    assert!(status.is_settled() && status.to_string().contains("移行_2"));
    for name in ["", "$a", "a\0b", ".a", long.as_str()] {
        let migrations = three().collection(name);
        let error = migrations.run(db).await.unwrap_err();
        assert!(
            matches!(error.kind, MigrationErrorKind::Database(_)),
            "{:?}",
            name.get(..9)
        );
    }
    assert_eq!(notes(db).await, ["odd", "dots", "other"]);
}

async fn texts_of_any_length_are_recorded_or_refused(db: &Db) {
    let million = "ß".repeat(500_000);
    let step = noting("1").describe(&*million).fingerprint(&*million);
    let migrations = Migrations::new().step(step).owner(&*million).version(&*million);
    migrations.run(db).await.unwrap();
    let known = record(db, "1").await;
    assert_eq!(
        (known.owner.as_ref(), known.description.as_ref()),
        (Some(&million), Some(&million))
    );
    assert!(migrations.run(db).await.unwrap().steps.is_empty());
    // What no record holds is an error, and the lease is free behind it.
    let huge = "x".repeat(17_000_000);
    let with = |text: &str| {
        Migrations::new()
            .step(noting("1").fingerprint(&*million))
            .step(noting("2").describe(text))
    };
    let error = with(&huge).run(db).await.unwrap_err();
    assert!(matches!(error.kind, MigrationErrorKind::Database(_)));
    assert_eq!(error.step.as_deref(), Some("2"));
    let hasty = with("short").patience(Duration::ZERO);
    assert_eq!(hasty.run(db).await.unwrap().ids(), ["2"]);
    let far = Step::resumable("3", move |progress: Progress| {
        let huge = huge.clone();
        async move { progress.save(&huge).await }
    });
    let error = hasty.clone().step(far).run(db).await.unwrap_err();
    assert!(matches!(error.kind, MigrationErrorKind::StepFailed { .. }));
    assert_eq!(record(db, "3").await.state, StepState::Failed);
    assert_eq!(hasty.step(noting("3")).run(db).await.unwrap().ids(), ["3"]);
}

async fn a_clock_that_jumps_changes_nothing(db: &Db) {
    let (db, clock) = clocked(db);
    let jumping = |id: &'static str, millis: i64| {
        let clock = clock.clone();
        Step::new(id, move |db: Db| {
            let clock = clock.clone();
            async move {
                clock.step(millis);
                note(&db, id).await
            }
        })
    };
    let year = 365 * 86_400_000;
    let migrations = Migrations::new()
        .step(jumping("1", -year))
        .step(jumping("2", 3 * year))
        .step(jumping("3", -year));
    assert_eq!(migrations.run(&db).await.unwrap().ids(), ["1", "2", "3"]);
    let known = record(&db, "1").await;
    assert_eq!((known.millis, known.state), (Some(0), StepState::Done));
    // Set back behind the end of the last lease, whoever comes is not kept waiting for a year.
    clock.step(-year);
    let next = migrations.step(noting("4")).patience(Duration::ZERO);
    let (kind, _) = refused(next.run(&db).await);
    let MigrationErrorKind::Busy { owner, at, .. } = kind else {
        panic!("{kind:?}");
    };
    assert_eq!((owner, at), (None, None));
    assert!(next.break_lease(&db).await.unwrap());
    assert_eq!(next.run(&db).await.unwrap().ids(), ["4"]);
    assert_eq!(notes(&db).await, ["1", "2", "3", "4"]);
}

async fn a_step_may_drop_the_collection_that_it_changed(db: &Db) {
    people(db, 3).await;
    let dropping = Step::new("2", async |db: Db| {
        Ok(db.raw_collection("migrated_people").drop().await?)
    });
    let again = Step::each::<super::migration_model::Person>("3", |_| Filter::all(), |_| Ok(()));
    let migrations = Migrations::new()
        .step(names(2))
        .step(dropping)
        .step(again.transactional());
    let report = migrations.run(db).await.unwrap();
    let figures: Vec<_> = report
        .steps
        .iter()
        .map(|step| (step.examined, step.changed))
        .collect();
    assert_eq!(figures, [(3, 3), (0, 0), (0, 0)]);
}

async fn reverted_steps_have_other_fingerprints(db: &Db) {
    let of = |text: &str| {
        Migrations::new()
            .step(noting("1").fingerprint(text))
            .step(noting("2"))
    };
    of("a").run(db).await.unwrap();
    assert!(matches!(
        refused(of("b").run(db).await).0,
        MigrationErrorKind::Changed(_)
    ));
    // Undone by the way back of the new one: it is the program's.
    assert_eq!(of("b").revert(db, 2).await.unwrap().ids(), ["2", "1"]);
    assert_eq!(of("c").accept_changed(db).await.unwrap(), [""; 0]);
    assert_eq!(of("c").run(db).await.unwrap().ids(), ["1", "2"]);
    assert_eq!(record(db, "1").await.fingerprint.as_deref(), Some("c"));
    assert_eq!(of("d").accept_changed(db).await.unwrap(), ["1"]);
    assert!(of("d").run(db).await.unwrap().steps.is_empty());
    // Without one nothing is compared, and the record keeps what it had.
    let none = Migrations::new().step(noting("1")).step(noting("2"));
    assert!(none.run(db).await.unwrap().steps.is_empty());
    assert_eq!(record(db, "1").await.fingerprint.as_deref(), Some("d"));
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "migrated_bills")]
struct Bill {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    company: Option<String>,
    n: i32,
}

async fn tenants_are_migrated_alone_or_all_at_once(db: &Db) {
    for id in 0..6 {
        let company = if id % 2 == 0 { "acme" } else { "wayne" };
        let bill = Bill {
            id,
            company: None,
            n: 0,
        };
        db.for_tenant(company)
            .collection::<Bill>()
            .insert(bill)
            .await
            .unwrap();
    }
    let of = |records: &str, is_together: bool| {
        let step = Step::each::<Bill>(
            "1",
            |b| b.n.lt(9),
            |bill| {
                let n = bill.get_i32("n")?;
                bill.insert("n", n + 1);
                Ok(())
            },
        );
        let step = step.batch_size(2);
        Migrations::new().collection(records).step(match is_together {
            true => step.transactional(),
            false => step,
        })
    };
    let ns = async || {
        let all = db
            .raw_collection("migrated_bills")
            .find(doc! {})
            .sort_raw(doc! { "_id": 1 });
        let all = all.await.unwrap();
        all.iter()
            .map(|bill| bill.get_i32("n").unwrap())
            .collect::<Vec<_>>()
    };
    for (is_together, before) in [(false, 0), (true, 2)] {
        let records = |what: &str| format!("{what}_{is_together}");
        let none = of(&records("none"), is_together).run(db).await.unwrap_err();
        assert!(odm::Error::from(none).is_tenant());
        let acme = db.for_tenant("acme");
        let report = of(&records("acme"), is_together).run(&acme).await.unwrap();
        assert_eq!(report.steps[0].changed, 3);
        let (one, other) = (before + 1, before);
        assert_eq!(ns().await, [one, other, one, other, one, other]);
        let all = db.across_tenants();
        assert_eq!(
            of(&records("all"), is_together).run(&all).await.unwrap().steps[0].changed,
            6
        );
        let wayne = db.for_tenant("wayne");
        of(&records("wayne"), is_together).run(&wayne).await.unwrap();
        assert_eq!(ns().await, [before + 2; 6]);
        // No step gives a document to another tenant.
        let step = Step::each::<Bill>(
            "2",
            |_| Filter::all(),
            |bill| {
                bill.insert("company", "wayne");
                Ok(())
            },
        );
        let migrations = Migrations::new().step(match is_together {
            true => step.transactional(),
            false => step,
        });
        let error = migrations.run(&acme).await.unwrap_err();
        assert!(error.to_string().contains("_id: 0"), "{is_together}: {error}");
        assert!(odm::Error::from(error).is_tenant());
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "migrated_patients")]
struct Patient {
    #[serde(rename = "_id")]
    id: i32,
    secret: Encrypted<String>,
    #[serde(default)]
    seen: bool,
}

async fn encrypted_fields_stay_encrypted(db: &Db) {
    let options = VaultOptions::new().database(db.name());
    let vault = KeyVault::with(db, options, LocalKey::generate().unwrap()).unwrap();
    vault.find_or_create_key("patients").await.unwrap();
    let patients = db.collection::<Patient>();
    for id in 0..5 {
        let secret = vault.encrypt("patients", &format!("secret {id}")).await.unwrap();
        patients
            .insert(Patient {
                id,
                secret,
                seen: false,
            })
            .await
            .unwrap();
    }
    let seen = |document: &mut Document| {
        // What is stored, and no more.
        let is_hidden = matches!(document.get("secret"), Some(Bson::Binary(_)));
        document.insert("seen", is_hidden);
        Ok(())
    };
    let migrations = Migrations::new()
        .step(Step::each::<Patient>("1", |p| p.id.lt(3), seen).batch_size(2))
        .step(Step::each::<Patient>("2", |p| p.id.gte(3), seen).transactional());
    let report = migrations.run(db).await.unwrap();
    assert_eq!((report.steps[0].changed, report.steps[1].changed), (3, 2));
    for patient in patients.find_all().await.unwrap() {
        assert!(patient.seen);
        let secret: String = vault.decrypt(&patient.secret).await.unwrap();
        assert_eq!(secret, format!("secret {}", patient.id));
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "migrated_measured", options = over_time)]
struct Measured {
    #[serde(rename = "_id")]
    id: i32,
    at: DateTime,
    sensor: String,
    celsius: f64,
}

fn over_time() -> CollectionDeclaration {
    let fields = Measured::fields();
    CollectionDeclaration::new().time_series_of(&fields.at, &fields.sensor)
}

async fn a_time_series_is_refused_or_left_as_it_is(db: &Db) {
    let measured = db.collection::<Measured>();
    measured.create_declared().await.unwrap();
    // Nothing keeps the `_id`s of measurements apart.
    for id in [1, 1, 1, 2] {
        let at = DateTime::from_millis(i64::from(id) * 1000);
        let one = Measured {
            id,
            at,
            sensor: "a".into(),
            celsius: 1.0,
        };
        measured.insert(one).await.unwrap();
    }
    for is_together in [false, true] {
        let step = Step::each::<Measured>(
            "1",
            |_| Filter::all(),
            |document| {
                document.insert("celsius", 2.0);
                Ok(())
            },
        );
        let step = step.batch_size(1);
        let step = match is_together {
            true => step.transactional(),
            false => step,
        };
        let error = Migrations::new().step(step).run(db).await.unwrap_err();
        assert!(error.to_string().contains("migrated_measured"), "{error}");
    }
    assert_eq!(measured.count(|m| m.celsius.eq(1.0)).await.unwrap(), 4);
}

async fn documents_with_a_field_twice_are_refused_by_name(db: &Db) {
    let mut twice = bson::RawDocumentBuf::new();
    twice.append(bson::cstr!("_id"), 1);
    twice.append(bson::cstr!("name"), "Ann Lee");
    twice.append(bson::cstr!("name"), "Joe Ray");
    let insert = Insert {
        namespace: Namespace {
            database: db.name().to_owned(),
            collection: "migrated_people".to_owned(),
        },
        documents: vec![twice],
        ordered: true,
        bypass_validation: false,
        comment: None,
    };
    db.backend().execute(Operation::Insert(insert)).await.unwrap();
    let error = Migrations::new().step(names(2)).run(db).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("a field may stand in it twice") && text.contains("_id: 1"),
        "{text}"
    );
    assert!(stored(db, 1).await.contains_key("name"));
}

async fn batches_of_any_size(db: &Db) {
    people(db, 5).await;
    for (size, records) in [(0, "zero"), (u32::MAX, "most")] {
        let step = names(size).concurrency(usize::MAX);
        let migrations = Migrations::new().step(step).collection(records);
        let report = migrations.run(db).await.unwrap();
        assert_eq!(report.steps[0].changed, if size == 0 { 5 } else { 0 });
    }
    people_again(db).await;
    let migrations = Migrations::new()
        .step(names(u32::MAX))
        .lease(Duration::MAX)
        .patience(Duration::MAX);
    assert_eq!(
        migrations.poll(Duration::MAX).run(db).await.unwrap().steps[0].changed,
        5
    );
}

async fn people_again(db: &Db) {
    db.raw_collection("migrated_people")
        .delete_many(doc! {})
        .await
        .unwrap();
    people(db, 5).await;
}
