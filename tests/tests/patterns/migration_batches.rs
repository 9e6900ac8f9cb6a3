//! Steps that change the documents of a model, batch by batch.

use std::sync::{Arc, Mutex};

use bson::{Bson, Document, doc};
use odm::backend::wrap::Fault;
use odm::{Db, ErrorKind, Filter};
use odm_patterns::migration::{MigrationEvent, Migrations, Progress, Step, StepError, StepKind, StepState};
use odm_tests::interrupted::interrupted;

use super::migration_model::{Person, lost, names, people, record, split, stored};
use super::queue_model::{clocked, seconds};

crate::on_every_backend! {
    documents_are_changed_in_their_order,
    a_crash_is_resumed_behind_the_last_batch,
    what_cannot_be_changed_is_named,
    changes_of_others_are_kept,
    a_document_that_keeps_changing_is_a_conflict,
    batches_can_be_transactions,
    a_step_can_say_itself_how_far_it_is,
}

async fn documents_are_changed_in_their_order(db: &Db) {
    people(db, 7).await;
    let person = Person {
        id: 7,
        first: "Joe".into(),
        last: "Ray".into(),
        version: 0,
    };
    db.collection::<Person>().insert(person).await.unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = told.clone();
    let migrations = Migrations::new().step(names(3)).on_event(move |event| {
        if let MigrationEvent::Progress {
            examined, changed, ..
        } = event
        {
            kept.lock().unwrap().push((*examined, *changed));
        }
    });
    assert_eq!(migrations.plan(db).await.unwrap()[0].documents, Some(7));
    let report = migrations.run(db).await.unwrap();
    assert_eq!((report.steps[0].examined, report.steps[0].changed), (7, 7));
    assert_eq!(*told.lock().unwrap(), [(3, 3), (6, 6), (7, 7)]);
    // As an update of the model: its version is counted, and what it does not know is kept.
    let expected = doc! { "_id": 6, "note": "kept", "first": "Ann", "last": "Lee6", "version": 1 };
    assert_eq!(stored(db, 6).await, expected);
    let known = record(db, "1").await;
    assert_eq!(
        (known.kind, known.examined, known.changed),
        (StepKind::Batched, 7, 7)
    );
    assert_eq!((known.reached, known.position), (Some(Bson::Int32(6)), None));
    // What is left as it is is not written.
    let none = Step::each::<Person>("2", |_| Filter::all(), split);
    let (logged, log) = db.logged();
    let report = Migrations::new()
        .step(names(3))
        .step(none)
        .run(&logged)
        .await
        .unwrap();
    assert_eq!((report.steps[0].examined, report.steps[0].changed), (8, 0));
    assert_eq!(stored(db, 6).await.get_i32("version").unwrap(), 1);
    assert_eq!(log.count("find"), 3);
}

async fn a_crash_is_resumed_behind_the_last_batch(db: &Db) {
    let (db, clock) = clocked(db);
    people(&db, 9).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    // It does not tell whether it was there before.
    let step = Step::each::<Person>(
        "1",
        |_| Filter::all(),
        move |person| {
            let id = person.get_i32("_id")?;
            kept.lock().unwrap().push(id);
            person.insert("seen", id);
            Ok(())
        },
    );
    let migrations = Migrations::new().step(step.batch_size(2).concurrency(1));
    let (faulty, faults) = db.faulty();
    // Lease, intents, two batches of two and their positions, one document.
    faults.add(Fault::nth_write(3 + 2 * 3 + 2).crash());
    migrations.run(&faulty).await.unwrap_err();
    let known = record(&db, "1").await;
    assert_eq!(
        (known.state, known.examined, known.changed),
        (StepState::Running, 4, 4)
    );
    assert_eq!(known.reached, Some(Bson::Int32(3)));
    clock.advance(seconds(60));
    let report = migrations.run(&db).await.unwrap();
    assert_eq!((report.steps[0].attempt, report.steps[0].examined), (2, 9));
    assert_eq!(report.steps[0].changed, 8);
    assert_eq!(*seen.lock().unwrap(), [0, 1, 2, 3, 4, 5, 4, 5, 6, 7, 8]);
}

async fn what_cannot_be_changed_is_named(db: &Db) {
    people(db, 6).await;
    let raw = db.collection::<Person>().raw();
    raw.update_one(doc! { "_id": 4 }, doc! { "$set": { "name": "Cher" } })
        .await
        .unwrap();
    let migrations = Migrations::new().step(names(2));
    let error = migrations.run(db).await.unwrap_err();
    let text = error.to_string();
    for part in [
        "the name is one word",
        "_id: 4",
        "migrated_people",
        "model: Person",
        "step: \"1\"",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let known = record(db, "1").await;
    assert_eq!((known.state, known.examined), (StepState::Failed, 4));
    assert!(known.error.unwrap().contains("the name is one word"));
    assert!(stored(db, 3).await.contains_key("first"));
    raw.update_one(doc! { "_id": 4 }, doc! { "$set": { "name": "Cher Sarkisian" } })
        .await
        .unwrap();
    let report = migrations.run(db).await.unwrap();
    assert_eq!((report.steps[0].attempt, report.steps[0].examined > 4), (2, true));
    assert_eq!(stored(db, 4).await.get_str("last").unwrap(), "Sarkisian");
    assert_eq!(raw.count(doc! { "name": { "$exists": true } }).await.unwrap(), 0);
    // What the database or the model refuses is named too.
    let twice = Step::each::<Person>(
        "2",
        |_| Filter::all(),
        |person| {
            person.insert("_id", 9);
            Ok(())
        },
    );
    let error = Migrations::new()
        .step(names(2))
        .step(twice)
        .run(db)
        .await
        .unwrap_err();
    assert_eq!(odm::Error::from(error).kind(), ErrorKind::InvalidArgument);
}

async fn changes_of_others_are_kept(db: &Db) {
    people(db, 1).await;
    // Lease, records, intents, page: the write of the document is the seventh.
    let rename = |db: &Db, change: Document| {
        let raw = db.collection::<Person>().raw();
        async move {
            raw.update_one(doc! { "_id": 0 }, change).await.unwrap();
        }
    };
    let (slow, moment) = interrupted(
        db,
        7,
        rename(db, doc! { "$set": { "name": "Joe Ray", "age": 7 } }),
    );
    let report = Migrations::new().step(names(5)).run(&slow).await.unwrap();
    assert!(moment.has_come());
    assert_eq!((report.steps[0].examined, report.steps[0].changed), (1, 1));
    let found = stored(db, 0).await;
    assert_eq!(
        (found.get_str("first").unwrap(), found.get_i32("age").unwrap()),
        ("Joe", 7)
    );
    // One that is not to be changed any more, or is gone, is left alone.
    for change in [true, false] {
        let raw = db.collection::<Person>().raw();
        raw.delete_many(doc! {}).await.unwrap();
        people(db, 2).await;
        let action = async move {
            match change {
                true => raw
                    .update_one(doc! { "_id": 1 }, doc! { "$set": { "first": "X" } })
                    .await
                    .map(drop)
                    .unwrap(),
                false => raw.delete_one(doc! { "_id": 1 }).await.map(drop).unwrap(),
            }
        };
        let (slow, moment) = interrupted(db, 7, action);
        let name = format!("other_{change}");
        let step = names(5).concurrency(1);
        let report = Migrations::new()
            .step(step)
            .collection(name)
            .run(&slow)
            .await
            .unwrap();
        assert!(moment.has_come());
        assert_eq!(
            (report.steps[0].examined, report.steps[0].changed),
            (2, 1),
            "{change}"
        );
    }
}

async fn a_document_that_keeps_changing_is_a_conflict(db: &Db) {
    people(db, 1).await;
    // Lease, records, intents and page come before the first write, and a look before each further one.
    let mut busy = db.clone();
    for n in 0..9 {
        let raw = db.collection::<Person>().raw();
        let action = async move {
            raw.update_one(doc! { "_id": 0 }, doc! { "$set": { "n": n as i64 } })
                .await
                .unwrap();
        };
        busy = interrupted(&busy, 7 + 2 * n, action).0;
    }
    let error = Migrations::new().step(names(2)).run(&busy).await.unwrap_err();
    assert!(
        error.to_string().contains("the document kept changing"),
        "{error}"
    );
    assert!(odm::Error::from(error).is_conflict());
    let kept = stored(db, 0).await;
    assert!(
        kept.contains_key("name") && kept.get_i64("n").unwrap() == 8,
        "{kept}"
    );
    assert_eq!(
        Migrations::new().step(names(2)).run(db).await.unwrap().steps[0].changed,
        1
    );
}

async fn batches_can_be_transactions(db: &Db) {
    people(db, 5).await;
    let raw = db.collection::<Person>().raw();
    raw.update_many(doc! {}, doc! { "$set": { "n": 0 } })
        .await
        .unwrap();
    // Nothing tells whether a document was changed before.
    let counting = |broken: i32| {
        let step = Step::each::<Person>(
            "1",
            |_| Filter::all(),
            move |person| {
                if person.get_i32("_id")? == broken {
                    return Err(StepError::new("broken"));
                }
                let n = person.get_i32("n")?;
                person.insert("n", n + 1);
                Ok(())
            },
        );
        Migrations::new().step(step.batch_size(2).transactional())
    };
    assert_eq!(counting(0).plan(db).await.unwrap()[0].kind, StepKind::Batched);
    counting(3).run(db).await.unwrap_err();
    // The third document was changed in the batch of the fourth, and is as it was.
    let ns = async || {
        let all = raw.find(doc! {}).sort_raw(doc! { "_id": 1 }).await.unwrap();
        all.iter()
            .map(|person| person.get_i32("n").unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(ns().await, [1, 1, 0, 0, 0]);
    assert_eq!(record(db, "1").await.changed, 2);
    let (faulty, faults) = db.faulty();
    faults.add(Fault::nth("commitTransaction", 1).after(lost()));
    // It does not know that the batch is committed: the next run does.
    counting(-1).run(&faulty).await.unwrap_err();
    let report = counting(-1).run(db).await.unwrap();
    assert_eq!(ns().await, [1; 5]);
    assert_eq!((report.steps[0].examined, report.steps[0].changed), (5, 5));
}

async fn a_step_can_say_itself_how_far_it_is(db: &Db) {
    let (db, clock) = clocked(db);
    let db = &db;
    let (faulty, faults) = db.faulty();
    let kill = faults.clone();
    let of = move |dies: bool| {
        let kill = kill.clone();
        Step::resumable("1", move |progress: Progress| {
            let kill = kill.clone();
            async move {
                let first = progress.position::<i32>()?.unwrap_or(0);
                for n in first..5 {
                    progress
                        .db()
                        .raw_collection("numbers")
                        .insert(doc! { "n": n })
                        .await?;
                    progress.save(&(n + 1)).await?;
                    if n == 2 && dies {
                        assert_eq!((progress.attempt(), progress.token()), (1, 1));
                        kill.add(Fault::nth_operation(1).crash());
                    }
                }
                Ok(())
            }
        })
    };
    let migrations = |dies| Migrations::new().step(of(dies));
    migrations(true).run(&faulty).await.unwrap_err();
    assert_eq!(record(db, "1").await.position, Some(Bson::Int32(3)));
    clock.advance(seconds(60));
    assert_eq!(migrations(false).run(db).await.unwrap().steps[0].attempt, 2);
    assert_eq!(db.raw_collection("numbers").count(doc! {}).await.unwrap(), 5);
    let known = record(db, "1").await;
    assert_eq!((known.kind, known.position), (StepKind::Resumable, None));
    // A position of another type is an error, and one that no document holds too.
    let odd = Step::resumable("2", async |progress: Progress| {
        progress.save(&u64::MAX).await?;
        Ok(())
    });
    Migrations::new()
        .step(of(false))
        .step(odd)
        .run(db)
        .await
        .unwrap_err();
    assert_eq!(record(db, "2").await.state, StepState::Failed);
}
