//! Batches that are transactions: one write for all documents of one, and the position with it.

use bson::{Bson, Document, doc};
use odm::{Db, ErrorKind, Filter, Model};
use odm_patterns::migration::{Migrations, Step, StepError, StepState};
use serde::{Deserialize, Serialize};

use super::migration_model::{Person, names, people, record, split, stored};

crate::on_every_backend! {
    a_batch_is_one_write,
    what_is_refused_is_named,
    what_a_model_refuses_is_named,
    changes_of_others_are_kept,
    documents_that_fit_no_condition_are_changed,
    documents_that_are_gone_do_not_count,
}

async fn a_batch_is_one_write(db: &Db) {
    people(db, 7).await;
    let (logged, log) = db.logged();
    let step = names(3).transactional();
    let report = Migrations::new().step(step).run(&logged).await.unwrap();
    assert_eq!((report.steps[0].examined, report.steps[0].changed), (7, 7));
    assert_eq!((log.count("find"), log.count("bulkWrite")), (2 + 3, 3));
    let expected = doc! { "_id": 6, "note": "kept", "first": "Ann", "last": "Lee6", "version": 1 };
    assert_eq!(stored(db, 6).await, expected);
    // Where all are left as they are, nothing is written but the position.
    let none = Step::each::<Person>("2", |_| Filter::all(), split).batch_size(3);
    let (logged, log) = db.logged();
    let migrations = Migrations::new().step(names(3)).step(none.transactional());
    let report = migrations.run(&logged).await.unwrap();
    assert_eq!((report.steps[0].examined, report.steps[0].changed), (7, 0));
    assert_eq!(log.count("bulkWrite"), 0);
    assert_eq!(stored(db, 6).await, expected);
}

/// A step that says what becomes of the documents' field `n`, together or one by one.
fn numbers(is_together: bool, number: fn(i32) -> Bson) -> Migrations {
    let step = Step::each::<Ruled>(
        "1",
        |_| Filter::all(),
        move |document| {
            let id = document.get_i32("_id")?;
            document.insert("n", number(id));
            Ok(())
        },
    );
    let step = step.batch_size(4);
    Migrations::new().step(match is_together {
        true => step.transactional(),
        false => step.concurrency(1),
    })
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "migrated_ruled")]
struct Ruled {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(unique, validate(max = 100))]
    n: i32,
}

async fn ruled(db: &Db) {
    let all: Vec<_> = (0..8).map(|id| Ruled { id, n: id }).collect();
    let documents = db.collection::<Ruled>();
    documents.delete_many(|_| Filter::all()).await.unwrap();
    documents.sync_indexes().await.unwrap();
    documents.insert_many(&all).await.unwrap();
    db.raw_collection("migrations")
        .delete_many(doc! {})
        .await
        .unwrap();
}

async fn what_is_refused_is_named(db: &Db) {
    for is_together in [true, false] {
        ruled(db).await;
        // The third of the second batch takes the number of the one before it.
        let twice = numbers(is_together, |id| Bson::Int32(if id == 6 { 55 } else { 50 + id }));
        let error = twice.run(db).await.unwrap_err();
        let text = error.to_string();
        let error = odm::Error::from(error);
        assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{text}");
        for part in ["_id: 6", "migrated_ruled", "model: Ruled", "step: \"1\""] {
            assert!(text.contains(part), "{text}");
        }
        let known = record(db, "1").await;
        assert_eq!((known.state, known.examined), (StepState::Failed, 4));
        assert!(known.error.unwrap().contains("_id: 6"));
        let changed = db.collection::<Ruled>().count(|r| r.n.gte(50)).await.unwrap();
        assert_eq!(changed, if is_together { 4 } else { 6 });
        // Mended, it goes on behind the last batch.
        let report = numbers(is_together, |id| Bson::Int32(50 + id))
            .run(db)
            .await
            .unwrap();
        assert_eq!(report.steps[0].attempt, 2);
        let changed = db.collection::<Ruled>().count(|r| r.n.gte(50)).await.unwrap();
        assert_eq!(changed, 8);
        // So is one that the function refuses, or panics at.
        for fails in [true, false] {
            ruled(db).await;
            let step = Step::each::<Ruled>(
                "1",
                |_| Filter::all(),
                move |document| match document.get_i32("_id")? {
                    5 if fails => Err(StepError::new("not this one")),
                    5 => panic!("not this one either"),
                    _ => Ok(()),
                },
            );
            let step = match is_together {
                true => step.transactional(),
                false => step,
            };
            let text = Migrations::new()
                .step(step)
                .run(db)
                .await
                .unwrap_err()
                .to_string();
            let part = if fails { "not this one" } else { "panicked" };
            assert!(text.contains("_id: 5") && text.contains(part), "{text}");
        }
    }
}

async fn what_a_model_refuses_is_named(db: &Db) {
    for is_together in [true, false] {
        ruled(db).await;
        let large = numbers(is_together, |id| Bson::Int32(if id == 2 { 101 } else { 50 + id }));
        let error = large.run(db).await.unwrap_err();
        let text = error.to_string();
        assert_eq!(odm::Error::from(error).kind(), ErrorKind::Validation, "{text}");
        assert!(text.contains("_id: 2"), "{is_together}: {text}");
    }
}

async fn changes_of_others_are_kept(db: &Db) {
    let raw = db.raw_collection("migrated_people");
    raw.insert_many((0..30).map(|id| doc! { "_id": id, "n": 0 }))
        .await
        .unwrap();
    let step = Step::each::<Person>(
        "1",
        |_| Filter::all(),
        |document: &mut Document| {
            let n = document.get_i32("n")?;
            document.insert("n", n + 1000);
            Ok(())
        },
    );
    let migrations = Migrations::new().step(step.batch_size(5).transactional());
    let other = raw.clone();
    let writer = tokio::spawn(async move {
        for round in 0..3 {
            for at in 0..30 {
                let id = (at * 7 + round) % 30;
                let written = other.update_one(doc! { "_id": id }, doc! { "$inc": { "n": 1 } });
                written.await.unwrap();
            }
        }
    });
    let report = migrations.run(db).await.unwrap();
    writer.await.unwrap();
    assert_eq!(report.steps[0].changed, 30);
    for document in raw.find(doc! {}).await.unwrap() {
        assert_eq!(document.get_i32("n").unwrap(), 1003, "{document}");
    }
}

async fn documents_that_fit_no_condition_are_changed(db: &Db) {
    let raw = db.collection::<Person>().raw();
    let large = "x".repeat(15_000_000);
    for id in 0..3 {
        raw.insert(doc! { "_id": id, "name": "Ann Lee", "large": &large })
            .await
            .unwrap();
    }
    let report = Migrations::new()
        .step(names(2).transactional())
        .run(db)
        .await
        .unwrap();
    assert_eq!(report.steps[0].changed, 3);
    assert_eq!(stored(db, 2).await.get_str("large").unwrap().len(), large.len());
    assert_eq!(stored(db, 2).await.get_str("last").unwrap(), "Lee");
    // One that would be too large is named, and the others of its batch stay as they are.
    let grow = Step::each::<Person>(
        "2",
        |_| Filter::all(),
        |person| {
            let more = if person.get_i32("_id")? == 1 { 3_000_000 } else { 3 };
            person.insert("more", "y".repeat(more));
            Ok(())
        },
    );
    let migrations = Migrations::new().step(names(2)).step(grow.transactional());
    let text = migrations.run(db).await.unwrap_err().to_string();
    assert!(text.contains("_id: 1"), "{text}");
    assert_eq!(raw.count(doc! { "more": { "$exists": true } }).await.unwrap(), 0);
}

async fn documents_that_are_gone_do_not_count(db: &Db) {
    people(db, 4).await;
    db.collection::<Person>()
        .delete_many(|p| p.id.gte(2))
        .await
        .unwrap();
    let migrations = Migrations::new().step(names(9).transactional().in_collection("nowhere"));
    let report = migrations.run(db).await.unwrap();
    assert_eq!((report.steps[0].examined, report.steps[0].changed), (0, 0));
    let migrations = Migrations::new()
        .step(names(9).transactional())
        .collection("other_records");
    assert_eq!(migrations.run(db).await.unwrap().steps[0].changed, 2);
}
