//! Copies that did not come to their end, and are gone on with.

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_tests::raw::raw;

use super::copy_database_contents::{beside, contents, insert, memory, same, stored};

crate::on_every_backend! {
    a_crash_at_any_write_is_resumed,
    a_crash_on_the_way_into_empty_collections_is_resumed,
    a_finished_copy_is_left_alone,
    a_source_that_grew_is_gone_on_with,
    a_source_that_changed_is_a_conflict,
    measurements_that_are_missing_are_found,
}

const FAR: i64 = 1_000_000_000;

/// Little of each kind.
async fn fill(db: &Db) {
    let now = DateTime::now().timestamp_millis();
    let plain = db.raw_collection("plain");
    insert(
        db,
        "plain",
        [5, 1, 4, 2, 3]
            .map(|id| raw(&doc! { "_id": id, "at": DateTime::now() }))
            .to_vec(),
    )
    .await;
    let empty = bson::Timestamp {
        time: 0,
        increment: 0,
    };
    plain
        .update_one(doc! { "_id": 4 }, doc! { "$set": { "ts": empty } })
        .await
        .unwrap();
    index_plain(db).await;
    db.create_collection("ring").capped(1024).await.unwrap();
    insert(db, "ring", [3, 1, 2].map(|id| raw(&doc! { "_id": id })).to_vec()).await;
    create_series(db).await;
    // Some of them twice.
    let measured = |n: i64| doc! { "b": 1, "m": n % 2, "t": DateTime::from_millis(now + n / 4), "a": n / 3 };
    let measured: Vec<_> = (0..9).chain(0..3).map(measured).collect();
    db.run_command(doc! { "insert": "series", "documents": measured })
        .await
        .unwrap();
    db.create_collection("view")
        .view_on("plain", [doc! { "$match": { "_id": 1 } }])
        .await
        .unwrap();
}

async fn index_plain(db: &Db) {
    db.raw_collection("plain")
        .create_indexes()
        .index_raw(doc! { "key": { "at": 1 }, "name": "goes", "expireAfterSeconds": FAR })
        .index_raw(doc! { "key": { "at": 1, "_id": 1 }, "name": "unique", "unique": true })
        .await
        .unwrap();
}

async fn create_series(db: &Db) {
    let series = doc! { "timeField": "t", "metaField": "m" };
    let create = db.create_collection("series").option("timeseries", series);
    create.option("expireAfterSeconds", FAR).await.unwrap();
}

/// As a program leaves a new database that has told it its models.
async fn prepare(db: &Db) {
    index_plain(db).await;
    create_series(db).await;
    db.create_collection("ring").capped(1024).await.unwrap();
}

fn lost() -> Error {
    Error::new(ErrorKind::Network, "connection reset (injected)")
}

/// How a program dies at its `n`th write: before it, or after it.
const DEATHS: [fn(u64) -> Vec<Fault>; 2] = [
    |n| vec![Fault::nth_write(n).crash()],
    |n| vec![Fault::nth_write(n).after(lost()), Fault::nth_write(n + 1).crash()],
];

async fn a_crash_at_any_write_is_resumed(db: &Db) {
    let crashes = crash_everywhere(db, false).await;
    assert!(crashes > 50, "{crashes}");
}

async fn a_crash_on_the_way_into_empty_collections_is_resumed(db: &Db) {
    let crashes = crash_everywhere(db, true).await;
    assert!(crashes > 30, "{crashes}");
}

/// Dies at each write in turn, into a new database or one that has all but the documents.
async fn crash_everywhere(db: &Db, is_prepared: bool) -> u64 {
    let source = memory().await;
    fill(&source).await;
    let expected = contents(&source).await;
    let mut crashes = 0;
    for death in DEATHS {
        for n in 1.. {
            let target = beside(db);
            if is_prepared {
                prepare(&target).await;
            }
            let (faulty, faults) = target.faulty();
            death(n).into_iter().for_each(|fault| faults.add(fault));
            let first = source.copy_to(&faulty).batch_size(2).await;
            let is_over = faults.failures() == 0;
            if is_over {
                first.unwrap();
            } else {
                crashes += 1;
                assert_eq!(first.unwrap_err().kind(), ErrorKind::Network);
                // Once more the same, in the middle of going on.
                let (faulty, faults) = target.faulty();
                faults.add(Fault::nth_write(3).crash());
                let _ = source.copy_to(&faulty).batch_size(2).resume().await;
                let report = source.copy_to(&target).resume().verify().await.unwrap();
                let plain = report.collection("plain").unwrap();
                assert_eq!(plain.documents + plain.documents_skipped, 5);
            }
            same(&expected, &contents(&target).await);
            target.drop().await.unwrap();
            if is_over {
                break;
            }
        }
    }
    crashes
}

async fn a_finished_copy_is_left_alone(db: &Db) {
    let source = memory().await;
    fill(&source).await;
    source.copy_to(db).await.unwrap();
    let (target, faults) = db.faulty();
    let report = source.copy_to(&target).resume().await.unwrap();
    assert_eq!((report.documents(), faults.writes()), (0, 0));
    for (name, documents, indexes) in [("plain", 5, 2), ("ring", 3, 0), ("series", 12, 0), ("view", 0, 0)] {
        let done = report.collection(name).unwrap();
        assert_eq!(
            (done.documents_skipped, done.indexes_skipped),
            (documents, indexes),
            "{name}"
        );
        assert!(!done.created);
    }
    // What has expired there since is not copied again.
    db.raw_collection("plain")
        .delete_one(doc! { "_id": 1 })
        .await
        .unwrap();
    let report = source.copy_to(db).resume().verify().await.unwrap();
    assert_eq!(report.documents(), 0);
    assert!(!report.collection("plain").unwrap().verified);
}

async fn a_source_that_grew_is_gone_on_with(db: &Db) {
    let source = memory().await;
    insert(
        &source,
        "a",
        [3, 1, 2].map(|id| raw(&doc! { "_id": id })).to_vec(),
    )
    .await;
    source.copy_to(db).await.unwrap();
    insert(&source, "a", [0, 9].map(|id| raw(&doc! { "_id": id })).to_vec()).await;
    let report = source.copy_to(db).resume().verify().await.unwrap();
    let done = report.collection("a").unwrap();
    assert_eq!(
        (done.documents, done.documents_skipped, done.verified),
        (2, 3, true)
    );
    assert_eq!(stored(&source, "a").await, stored(db, "a").await);
}

async fn a_source_that_changed_is_a_conflict(db: &Db) {
    let source = memory().await;
    insert(
        &source,
        "a",
        [3, 1, 2].map(|id| raw(&doc! { "_id": id, "x": 1 })).to_vec(),
    )
    .await;
    source.copy_to(db).await.unwrap();
    // The same number in another type is another document.
    source
        .raw_collection("a")
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "x": 1.0 } })
        .await
        .unwrap();
    let error = source.copy_to(db).resume().await.unwrap_err();
    assert_eq!((error.kind(), error.id()), (ErrorKind::Conflict, Some(&1.into())));
    source.raw_collection("a").delete_many(doc! {}).await.unwrap();
    let error = source.copy_to(db).resume().await.unwrap_err();
    assert_eq!((error.kind(), error.id()), (ErrorKind::Conflict, Some(&3.into())));
}

async fn measurements_that_are_missing_are_found(db: &Db) {
    let source = memory().await;
    let at = |n: i64| DateTime::from_millis(1_700_000_000_000 + n);
    let rows = |rows: &[(i64, i64)]| -> Vec<_> {
        rows.iter()
            .map(|(t, x)| doc! { "t": at(*t), "x": *x, "y": 1 })
            .collect()
    };
    for (of, measured) in [
        (&source, rows(&[(3, 1), (1, 1), (1, 1), (1, 2), (90_000_000, 5)])),
        (db, rows(&[(1, 1), (3, 1)])),
    ] {
        of.create_collection("s")
            .option("timeseries", doc! { "timeField": "t" })
            .await
            .unwrap();
        of.run_command(doc! { "insert": "s", "documents": measured })
            .await
            .unwrap();
    }
    let report = source.copy_to(db).resume().verify().await.unwrap();
    let done = report.collection("s").unwrap();
    assert_eq!(
        (done.documents, done.documents_skipped, done.verified),
        (3, 2, true)
    );
    same(&contents(&source).await, &contents(db).await);
    // One that the source does not have.
    let extra = rows(&[(1, 1)]);
    db.run_command(doc! { "insert": "s", "documents": extra })
        .await
        .unwrap();
    let error = source.copy_to(db).resume().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.namespace(), Some(format!("{}.s", db.name()).as_str()));
}
