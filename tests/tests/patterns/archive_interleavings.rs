//! All orders in which the operations of two who move the same document can follow each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use bson::doc;
use odm::{Db, Model};
use odm_patterns::archive::Archive;
use odm_tests::interleavings::every_interleaving_of;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "archive_papers")]
struct Paper {
    #[serde(rename = "_id")]
    id: i32,
    edition: i32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Store,
    Restore,
    Repair,
    /// Changes what is not archived.
    Change,
}

#[derive(Clone, Copy, Debug)]
enum Start {
    Live,
    Archived,
    Both,
    /// The one in the archive is older.
    OlderBeside,
}

fn archive(db: &Db) -> Archive<Paper> {
    Archive::new(db, db)
}

async fn begin(start: Start) -> Db {
    let db = Db::open("memory:").await.unwrap();
    let archive = archive(&db);
    archive.live().create().await.unwrap();
    archive.archived().create().await.unwrap();
    let paper = |edition| Paper { id: 1, edition };
    if !matches!(start, Start::Archived) {
        archive.live().insert(paper(2)).await.unwrap();
    }
    match start {
        Start::Live => {}
        Start::OlderBeside => drop(archive.archived().insert(paper(1)).await.unwrap()),
        _ => drop(archive.archived().insert(paper(2)).await.unwrap()),
    }
    db
}

async fn run(db: &Db, work: Work, edition: &AtomicI32) {
    let archive = archive(db);
    match work {
        Work::Store => drop(archive.store(|p| p.id.eq(1)).await.unwrap()),
        Work::Restore => drop(archive.restore(|p| p.id.eq(1)).await.unwrap()),
        Work::Repair => drop(archive.repair().await.unwrap()),
        Work::Change => {
            let changed = archive.live().update_one(|p| p.id.eq(1), |p| p.edition.inc(1));
            let changed = i32::try_from(changed.await.unwrap().modified).unwrap();
            edition.fetch_add(changed, Ordering::SeqCst);
        }
    }
}

/// The document is somewhere as it was changed last, as it was but for that, and whoever stores it finds it.
async fn check(db: &Db, edition: i32, context: &str) {
    let archive = archive(db);
    let mut editions = Vec::new();
    for collection in [archive.live(), archive.archived()] {
        for stored in collection.raw().find(doc! {}).await.unwrap() {
            editions.push(stored.get_i32("edition").unwrap());
            assert_eq!(stored.len(), 2, "{context}: {stored}");
        }
    }
    assert_eq!(editions.iter().max(), Some(&edition), "{context}: {editions:?}");
    archive.store(|p| p.id.eq(1)).await.unwrap();
    let stored = archive.archived().get(1).await.unwrap();
    assert_eq!(stored, Some(Paper { id: 1, edition }), "{context}");
    assert_eq!(archive.live().get(1).await.unwrap(), None, "{context}");
}

#[tokio::test]
async fn whoever_moves_a_document_at_once_loses_none() {
    let pairs = [
        [Work::Store, Work::Restore],
        [Work::Store, Work::Store],
        [Work::Store, Work::Repair],
        [Work::Store, Work::Change],
        [Work::Restore, Work::Restore],
        [Work::Restore, Work::Repair],
        [Work::Restore, Work::Change],
    ];
    let mut orders = 0;
    for start in [Start::Live, Start::Archived, Start::Both, Start::OlderBeside] {
        for pair in pairs {
            let edition = Arc::new(AtomicI32::new(0));
            orders += every_interleaving_of(
                4,
                async || {
                    edition.store(2, Ordering::SeqCst);
                    begin(start).await
                },
                |db, n| {
                    let edition = edition.clone();
                    Box::pin(async move { run(db, pair[n], &edition).await })
                },
                async |db, order| {
                    let context = format!("{pair:?} of {start:?} as {order:?}");
                    check(db, edition.load(Ordering::SeqCst), &context).await;
                },
            )
            .await;
        }
    }
    assert!(orders > 1_000, "{orders}");
}
