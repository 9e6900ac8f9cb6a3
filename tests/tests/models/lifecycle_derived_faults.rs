//! Derived fields when writes fail, go around the model or meet each other.

use bson::{Document, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Filter, Update};
use odm_tests::plain::Plain;
use std::sync::Arc;

use super::lifecycle_derived::{Letter, check, is_in_step, letter, stored};

crate::on_every_backend! {
    raw_writes_are_mended,
    faults_leave_all_or_nothing,
    faults_without_transactions_leave_a_mark,
    writers_at_the_same_time_leave_it_in_step,
}

async fn raw_writes_are_mended(db: &Db) {
    let letters = db.collection::<Letter>();
    letters.insert_many((1..=25).map(letter)).await.unwrap();
    let raw = db.raw_collection("letters");
    raw.update_many(
        doc! { "_id": { "$gt": 5 } },
        doc! { "$set": { "title": "behind its back" } },
    )
    .await
    .unwrap();
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let progress = seen.clone();
    let done = letters
        .rederive(|l| l.title.eq("behind its back"))
        .batch_size(8)
        .on_progress(move |done| progress.lock().unwrap().push((done.examined, done.derived)))
        .await
        .unwrap();
    assert_eq!((done.examined, done.derived, done.failed.len()), (20, 20, 0));
    assert_eq!(*seen.lock().unwrap(), [(8, 8), (16, 16), (20, 20)]);
    check(db, "mended").await;
}

/// What is done while something fails.
async fn write(db: &Db, which: usize) -> odm::Result<()> {
    let letters = db.collection::<Letter>();
    match which {
        0 => letters
            .update_one(|l| l.id.eq(1), |l| l.title.set("new"))
            .await
            .map(|_| ()),
        1 => letters
            .update_many(|_| Filter::all(), |l| l.tags.push("new"))
            .await
            .map(|_| ()),
        2 => letters
            .upsert(|l| l.id.eq(9), |l| l.title.set("new"))
            .await
            .map(|_| ()),
        3 => letters
            .find_one_and_update(|l| l.id.eq(2), |l| l.body.unset())
            .await
            .map(|_| ()),
        4 => letters.save(letter(3)).await.map(|_| ()),
        5 => {
            let pipeline = [doc! { "$set": { "title": { "$concat": ["$title", "!"] } } }];
            letters
                .update_one(|l| l.id.eq(2), |_| Update::pipeline(pipeline))
                .await
                .map(|_| ())
        }
        6 => letters
            .rederive(|_| Filter::all())
            .batch_size(2)
            .await
            .map(|_| ()),
        _ => letters
            .bulk_write()
            .update_one(|l| l.id.eq(1), |l| l.title.set("bulk"))
            .insert(letter(8))
            .await
            .map(|_| ()),
    }
}

async fn with_faults(db: &Db, has_transactions: bool) {
    for which in 0..8 {
        for nth in 1..12 {
            let mut failed = false;
            for (way, name) in ["before", "after", "crash"].iter().enumerate() {
                db.raw_collection("letters").delete_many(doc! {}).await.unwrap();
                db.collection::<Letter>()
                    .insert_many((1..=4).map(letter))
                    .await
                    .unwrap();
                let (faulty, faults) = db.faulty();
                let lost = || Error::new(ErrorKind::Network, "connection reset");
                let fault = Fault::nth_write(nth);
                faults.add(match way {
                    0 => fault.before(lost()),
                    1 => fault.after(lost()),
                    _ => fault.crash(),
                });
                let _ = write(&faulty, which).await;
                failed |= faults.failures() > 0;
                let text = format!("write {which}, {name} {nth}");
                let left: Vec<Document> = stored(db).await;
                for letter in &left {
                    let waits = letter.contains_key("derived_pending");
                    assert!(waits || is_in_step(letter), "{text}: {letter}");
                    assert!(!waits || !has_transactions || which == 6, "{text}: {letter}");
                }
                let letters = db.collection::<Letter>();
                letters
                    .rederive(|_| Filter::raw(doc! { odm::DERIVED_PENDING: { "$exists": true } }))
                    .await
                    .unwrap();
                check(db, &text).await;
            }
            if !failed {
                break;
            }
        }
    }
}

async fn faults_leave_all_or_nothing(db: &Db) {
    with_faults(db, true).await;
}

async fn faults_without_transactions_leave_a_mark(db: &Db) {
    with_faults(&Plain::db(db), false).await;
}

async fn writers_at_the_same_time_leave_it_in_step(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.raw_collection("letters").delete_many(doc! {}).await.unwrap();
        let letters = db.collection::<Letter>();
        letters.insert_many((1..=3).map(letter)).await.unwrap();
        let tasks = (0..6).map(|task| {
            let db = db.clone();
            tokio::spawn(async move {
                let letters = db.collection::<Letter>();
                for round in 0..8 {
                    let id = 1 + (task + round) % 3;
                    let text = format!("{task} {round}");
                    let done = match task {
                        0 => letters
                            .update_one(|l| l.id.eq(id), |l| l.title.set(&text))
                            .await
                            .map(|_| ()),
                        1 => letters
                            .update_one(|l| l.id.eq(id), |l| l.body.set(text))
                            .await
                            .map(|_| ()),
                        2 => letters
                            .update_many(|_| Filter::all(), |l| l.tags.push(&text))
                            .await
                            .map(|_| ()),
                        3 => letters.save(letter(id)).await.map(|_| ()),
                        4 => letters.rederive(|_| Filter::all()).await.map(|_| ()),
                        _ => letters
                            .find_one_and_update(|l| l.id.eq(id), |l| l.sender.name.set(&text))
                            .await
                            .map(|_| ()),
                    };
                    // A conflict that was run again too often is none of the field's business.
                    assert!(
                        done.as_ref().is_ok_and(|()| true) || done.is_err_and(|error| error.is_conflict())
                    );
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        check(&db, "together").await;
    }
}
