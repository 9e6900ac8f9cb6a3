//! The embedded engine's log of changes: across restarts, and at the end of its window.

use std::time::Duration;

use bson::{Bson, doc};
use odm::{ChangeLog, Db, ErrorKind, ResumeToken};

fn url(directory: &tempfile::TempDir) -> String {
    format!("native:{}", directory.path().join("db").display())
}

#[tokio::test]
async fn tokens_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let url = url(&directory);
    let text = {
        let db = Db::open(&url).await.unwrap();
        let c = db.raw_collection("c");
        let mut changes = c.watch().await.unwrap();
        for id in 0..3 {
            c.insert(doc! {"_id": id}).await.unwrap();
        }
        changes.try_next().await.unwrap();
        changes.resume_token().unwrap().to_string()
    };
    {
        // Nobody watches here, but the changes are logged.
        let db = Db::open(&url).await.unwrap();
        db.raw_collection("c").insert(doc! {"_id": 3}).await.unwrap();
    }
    let db = Db::open(&url).await.unwrap();
    let token: ResumeToken = text.parse().unwrap();
    let c = db.raw_collection("c");
    let mut changes = c
        .watch()
        .resume_after(&token)
        .max_await_time(Duration::ZERO)
        .await
        .unwrap();
    for id in 1..4 {
        let change = changes.try_next().await.unwrap().unwrap();
        assert_eq!(change.event.key(), Some(&Bson::Int32(id)));
    }
    assert!(changes.next_if_any().await.unwrap().is_none());
    c.insert(doc! {"_id": 4}).await.unwrap();
    let change = changes.try_next().await.unwrap().unwrap();
    assert_eq!(change.event.key(), Some(&Bson::Int32(4)));
    assert!(db.check().await.unwrap().is_clean());
}

#[tokio::test]
async fn a_reader_past_the_window_is_told() {
    for url in ["memory:".to_owned(), url(&tempfile::tempdir().unwrap())] {
        let log = ChangeLog::new().bytes(20_000);
        let db = Db::options()
            .change_log(log)
            .durability(odm::Durability::None)
            .open(&url)
            .await
            .unwrap();
        let c = db.raw_collection("c");
        let mut slow = c.watch().await.unwrap();
        let mut quick = c.watch().await.unwrap();
        let start = slow.resume_token().unwrap().clone();
        for id in 0..500 {
            c.insert(doc! {"_id": id, "text": "x".repeat(100)}).await.unwrap();
            let change = quick.try_next().await.unwrap().unwrap();
            assert_eq!(change.event.key(), Some(&Bson::Int32(id)));
        }
        let error = slow.try_next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HistoryLost, "{error}");
        assert_eq!(error.code(), Some(286));
        assert!(error.has_label("NonResumableChangeStreamError"));
        assert!(slow.is_over());
        let error = c.watch().resume_after(&start).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HistoryLost, "{error}");
        let long_ago = bson::Timestamp {
            time: 1_000_000,
            increment: 1,
        };
        let error = c.watch().start_at(long_ago).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HistoryLost, "{error}");

        // What is in the window is all there, from its first change to its last.
        let recent = quick.resume_token().unwrap().clone();
        for id in 500..520 {
            c.insert(doc! {"_id": id}).await.unwrap();
        }
        let mut resumed = c.watch().resume_after(&recent).await.unwrap();
        for id in 500..520 {
            let change = resumed.try_next().await.unwrap().unwrap();
            assert_eq!(change.event.key(), Some(&Bson::Int32(id)));
        }
        assert!(db.check().await.unwrap().is_clean());
    }
}

#[tokio::test]
async fn old_changes_leave_the_window_as_others_come() {
    let log = ChangeLog::new().age(Duration::ZERO);
    let db = Db::options().change_log(log).open("memory:").await.unwrap();
    let c = db.raw_collection("c");
    let mut slow = c.watch().await.unwrap();
    c.insert(doc! {"_id": 1}).await.unwrap();
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    c.insert(doc! {"_id": 2}).await.unwrap();
    let error = slow.try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HistoryLost, "{error}");
}

#[tokio::test]
async fn a_log_can_be_done_without() {
    let directory = tempfile::tempdir().unwrap();
    let url = url(&directory);
    let token = {
        let db = Db::open(&url).await.unwrap();
        let changes = db.watch().await.unwrap();
        db.raw_collection("c").insert(doc! {"_id": 1}).await.unwrap();
        changes.resume_token().unwrap().clone()
    };
    {
        let without = Db::options().change_log(ChangeLog::off());
        let db = without.open(&url).await.unwrap();
        let error = db.watch().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        db.raw_collection("c").insert(doc! {"_id": 2}).await.unwrap();
    }
    // The log that begins now is another one.
    let db = Db::open(&url).await.unwrap();
    let error = db.watch().resume_after(&token).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::InvalidArgument, Some(280)),
        "{error}"
    );
    let mut changes = db.watch().await.unwrap();
    db.raw_collection("c").insert(doc! {"_id": 3}).await.unwrap();
    let change = changes.try_next().await.unwrap().unwrap();
    assert_eq!(change.event.key(), Some(&Bson::Int32(3)));
}

#[tokio::test]
async fn a_transaction_that_began_before_the_log_is_run_again() {
    let db = Db::open("memory:").await.unwrap();
    let c = db.raw_collection("c");
    c.insert(doc! {"_id": 0}).await.unwrap();
    let tx = db.begin().await.unwrap();
    tx.raw_collection("c").insert(doc! {"_id": 1}).await.unwrap();
    let _changes = c.watch().await.unwrap();
    let error = tx.commit().await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert!(error.has_label("TransientTransactionError"));
}

/// Every change comes once and in order to many readers, while many write.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_see_every_commit_once_and_in_order() {
    let db = Db::open("memory:").await.unwrap();
    let c = db.raw_collection("c");
    let mut readers = Vec::new();
    for batch in [1, 7, 1_000] {
        let mut changes = c.watch().batch_size(batch).await.unwrap();
        readers.push(tokio::spawn(async move {
            let mut seen = Vec::new();
            while seen.len() < 800 {
                let change = changes.try_next().await.unwrap().unwrap();
                seen.push((
                    change.event.key().cloned(),
                    change.cluster_time,
                    change.token.to_string(),
                ));
            }
            seen
        }));
    }
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let c = c.clone();
            tokio::spawn(async move {
                for number in 0..200 {
                    c.insert(doc! {"_id": writer * 1_000 + number}).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let mut all = Vec::new();
    for reader in readers {
        let seen = tokio::time::timeout(Duration::from_secs(60), reader)
            .await
            .expect("the reader ends")
            .unwrap();
        all.push(seen);
    }
    let keys = |seen: &[(Option<Bson>, Option<bson::Timestamp>, String)]| {
        seen.iter().map(|(key, ..)| key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(keys(&all[0]), keys(&all[1]));
    assert_eq!(keys(&all[0]), keys(&all[2]));
    assert!(
        all[0]
            .windows(2)
            .all(|two| two[0].1 < two[1].1 && two[0].2 < two[1].2)
    );
    for writer in 0..4 {
        let own: Vec<i32> = all[0]
            .iter()
            .filter_map(|(key, ..)| key.as_ref()?.as_i32())
            .filter(|key| key / 1_000 == writer)
            .collect();
        assert_eq!(own.len(), 200);
        assert!(own.is_sorted());
    }
}
