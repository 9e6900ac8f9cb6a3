//! Document history: every version is kept, whoever dies where.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bson::{Bson, DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Embedded, Error, ErrorKind, Model, Ref};
use odm_patterns::history::{History, HistoryError, HistoryProblemKind};
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    every_version_is_kept_and_read,
    what_it_was_at_a_time,
    what_it_was_at_a_time_without_dates,
    deleted_documents_are_there_as_they_were,
    concurrent_writers_lose_no_version,
    a_crash_at_any_write_loses_no_version,
    a_history_is_part_of_a_transaction,
    versions_are_forgotten_by_age_and_number,
    what_went_around_the_history_is_found,
    softly_deleted_is_deleted,
    softly_deleted_around_the_history_is_deleted,
    a_crash_at_any_write_of_a_soft_deletion_loses_no_version,
    copies_that_follow_are_no_part_of_a_version,
    versions_keep_their_kind_and_shape,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "history_letters")]
struct Letter {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    #[odm(version)]
    version: i64,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

fn letter(text: &str) -> Letter {
    Letter {
        id: 1,
        text: text.into(),
        version: 0,
        deleted: None,
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "history_policies")]
struct Policy {
    #[serde(rename = "_id")]
    id: i32,
    insured: i64,
    words: Vec<String>,
    #[odm(version)]
    version: i64,
    #[odm(updated)]
    changed: DateTime,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "history_notes")]
struct Note {
    #[serde(rename = "_id")]
    id: String,
    text: String,
    #[odm(version)]
    version: i32,
}

fn clocked(db: &Db) -> (Db, Arc<AtomicI64>) {
    let seconds = Arc::new(AtomicI64::new(1_000));
    let hand = seconds.clone();
    (db.with_clock(move || at(hand.load(Ordering::SeqCst))), seconds)
}

fn at(seconds: i64) -> DateTime {
    DateTime::from_millis(seconds * 1000)
}

fn policy(insured: i64) -> Policy {
    Policy {
        id: 1,
        insured,
        words: vec!["a".into()],
        version: 0,
        changed: at(0),
    }
}

fn note(text: &str) -> Note {
    Note {
        id: "n".into(),
        text: text.into(),
        version: 0,
    }
}

async fn every_version_is_kept_and_read(db: &Db) {
    let (db, log) = db.logged();
    let history = History::<Policy>::new(&db);
    history.prepare().await.unwrap();
    history.insert(&policy(1)).await.unwrap();
    log.take();
    assert_eq!(history.update(1, |p| p.insured.inc(1)).await.unwrap(), 1);
    assert_eq!(log.take().len(), 3);
    let words = history.change(1, |policy| {
        policy.words.push("b".into());
        Ok(policy.words.len())
    });
    assert_eq!(words.await.unwrap(), 2);
    assert_eq!(log.take().len(), 3);
    let mut loaded = history.collection().get(1).required().await.unwrap();
    loaded.insured = 10;
    assert_eq!(history.replace(&loaded).await.unwrap(), 3);
    let stale = history.replace(&loaded).await.unwrap_err();
    assert!(matches!(stale, HistoryError::Conflict { attempts: 1, .. }));

    let mut seen = Vec::new();
    for version in 0..=3 {
        let policy = history.get(1, version).await.unwrap();
        assert_eq!(policy.version, version);
        seen.push((policy.insured, policy.words.len()));
    }
    assert_eq!(seen, [(1, 1), (2, 1), (2, 2), (10, 2)]);
    assert!(matches!(
        history.get(1, 4).await,
        Err(HistoryError::NoSuchVersion { version: 4, .. })
    ));
    let difference = history.diff(1, 1, 3).await.unwrap();
    assert_eq!(difference.len(), 2);
    assert_eq!(
        (difference[0].path.as_str(), &difference[0].after),
        ("insured", &Some(Bson::Int64(10)))
    );
    assert_eq!(
        (difference[1].path.as_str(), &difference[1].before),
        ("words.1", &None)
    );
    let versions = history.versions(1).await.unwrap();
    assert_eq!(
        versions.iter().map(|v| v.version).collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    assert!(versions[3].is_current && versions[3].until.is_none());

    assert_eq!(history.revert(1, 1).await.unwrap(), 4);
    let reverted = history.collection().get(1).required().await.unwrap();
    assert_eq!(
        (reverted.insured, reverted.words.len(), reverted.version),
        (2, 1, 4)
    );
    assert!(matches!(
        history.revert(1, 77).await,
        Err(HistoryError::NoSuchVersion { version: 77, .. })
    ));
    assert!(matches!(
        history.update(2, |p| p.insured.inc(1)).await,
        Err(HistoryError::NotFound { .. })
    ));
    let refused = history.change(1, |_| Err::<(), _>(Error::new(ErrorKind::Validation, "no")));
    assert!(
        matches!(refused.await, Err(HistoryError::Database(error)) if error.kind() == ErrorKind::Validation)
    );
    assert!(history.verify().await.unwrap().is_empty());
}

async fn what_it_was_at_a_time(db: &Db) {
    let (db, seconds) = clocked(db);
    let history = History::<Policy>::new(&db);
    history.insert(&policy(0)).await.unwrap();
    for insured in 1..=3 {
        seconds.fetch_add(10, Ordering::SeqCst);
        history.update(1, |p| p.insured.set(insured)).await.unwrap();
    }
    let insured = async |time: i64| {
        let policy = history.as_of(1, at(time)).await;
        policy.map(|policy| policy.map(|policy| policy.insured))
    };
    assert_eq!(insured(999).await.unwrap(), None);
    for (time, expected) in [
        (1_000, 0),
        (1_009, 0),
        (1_010, 1),
        (1_029, 2),
        (1_030, 3),
        (9_999, 3),
    ] {
        assert_eq!(insured(time).await.unwrap(), Some(expected), "{time}");
    }
    // A writer that died after the copy does not change what was.
    seconds.fetch_add(100, Ordering::SeqCst);
    let (faulty, faults) = db.faulty();
    faults.add(Fault::nth_write(2).crash());
    let dying = History::<Policy>::new(&faulty);
    dying.update(1, |p| p.insured.set(4)).await.unwrap_err();
    seconds.fetch_add(100, Ordering::SeqCst);
    history.update(1, |p| p.insured.set(5)).await.unwrap();
    assert_eq!(insured(1_200).await.unwrap(), Some(3));
    assert_eq!(insured(1_230).await.unwrap(), Some(5));
    assert!(matches!(
        history.as_of(7, at(1)).await,
        Err(HistoryError::NotFound { .. })
    ));
}

async fn what_it_was_at_a_time_without_dates(db: &Db) {
    let (db, seconds) = clocked(db);
    let history = History::<Note>::new(&db);
    history.insert(&note("0")).await.unwrap();
    for text in ["1", "2"] {
        seconds.fetch_add(10, Ordering::SeqCst);
        history.update("n", |n| n.text.set(text)).await.unwrap();
    }
    let text = async |time: i64| history.as_of("n", at(time)).await.unwrap().map(|note| note.text);
    for (time, expected) in [(1_009, "0"), (1_010, "1"), (1_019, "1"), (1_020, "2")] {
        assert_eq!(text(time).await.as_deref(), Some(expected), "{time}");
    }
    assert_eq!(history.forget_before(at(1_015)).await.unwrap(), 1);
    assert!(matches!(
        history.as_of("n", at(1_001)).await,
        Err(HistoryError::Forgotten { .. })
    ));
    assert_eq!(text(1_020).await.as_deref(), Some("2"));
}

async fn deleted_documents_are_there_as_they_were(db: &Db) {
    let (db, seconds) = clocked(db);
    let history = History::<Policy>::new(&db);
    history.insert(&policy(0)).await.unwrap();
    assert!(matches!(
        history.restore(1).await,
        Err(HistoryError::NotFound { .. })
    ));
    seconds.store(1_010, Ordering::SeqCst);
    history.update(1, |p| p.insured.set(1)).await.unwrap();
    assert!(matches!(
        history.restore(1).await,
        Err(HistoryError::AlreadyThere { .. })
    ));
    seconds.store(1_020, Ordering::SeqCst);
    history.delete(1).await.unwrap();
    assert!(matches!(
        history.delete(1).await,
        Err(HistoryError::NotFound { .. })
    ));
    assert_eq!(history.collection().find_all().await.unwrap().len(), 0);
    let insured = async |time: i64| {
        history
            .as_of(1, at(time))
            .await
            .unwrap()
            .map(|policy| policy.insured)
    };
    assert_eq!(
        (insured(1_005).await, insured(1_019).await, insured(1_020).await),
        (Some(0), Some(1), None)
    );
    assert!(history.versions(1).await.unwrap()[1].was_deleted);
    let again = history.insert(&policy(9)).await.unwrap_err();
    assert!(matches!(again, HistoryError::Clash { version: 1, .. }));

    seconds.store(1_030, Ordering::SeqCst);
    assert_eq!(history.restore(1).await.unwrap(), 2);
    let restored = history.collection().get(1).required().await.unwrap();
    assert_eq!(
        (restored.insured, restored.version, restored.changed),
        (1, 2, at(1_030))
    );
    assert_eq!((insured(1_025).await, insured(1_030).await), (None, Some(1)));
    history.update(1, |p| p.insured.set(2)).await.unwrap();
    assert!(history.verify().await.unwrap().is_empty());
    history.delete(1).await.unwrap();
    assert_eq!(history.forget(1).await.unwrap(), 4);
    history.insert(&policy(9)).await.unwrap();
}

async fn concurrent_writers_lose_no_version(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.drop_collection("history_policies").await.ok();
        db.drop_collection("history_policies_history").await.ok();
        let history = History::<Policy>::new(&db).attempts(10_000);
        history.insert(&policy(0)).await.unwrap();
        let tasks: Vec<_> = (0..16)
            .map(|task| {
                let history = history.clone();
                tokio::spawn(async move {
                    for n in 0..4 {
                        if (task + n) % 2 == 0 {
                            history.update(1, |p| p.insured.inc(1)).await.unwrap();
                        } else {
                            let changed = history.change(1, |policy| {
                                policy.insured += 1;
                                Ok(())
                            });
                            changed.await.unwrap();
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        for version in 0..=64 {
            assert_eq!(history.get(1, version).await.unwrap().insured, version);
        }
        assert!(history.verify().await.unwrap().is_empty());
    }
}

async fn a_crash_at_any_write_loses_no_version(db: &Db) {
    let lost = || Error::new(ErrorKind::Network, "connection reset (injected)");
    let mut crashes = 0;
    for after in [false, true] {
        for n in 1.. {
            db.drop().await.unwrap();
            let (faulty, faults) = db.faulty();
            let writer = History::<Policy>::new(&faulty);
            let history = History::<Policy>::new(db);
            history.insert(&policy(0)).await.unwrap();
            match after {
                false => faults.add(Fault::nth_write(n).crash()),
                true => {
                    faults.add(Fault::nth_write(n).after(lost()));
                    faults.add(Fault::nth_write(n + 1).crash());
                }
            }
            let work = async {
                writer.update(1, |p| p.insured.set(1)).await?;
                writer.revert(1, 0).await?;
                writer.delete(1).await?;
                writer.restore(1).await?;
                writer
                    .change(1, |policy| {
                        policy.insured = 7;
                        Ok(())
                    })
                    .await
            };
            let outcome = work.await;
            let done = faults.failures() == 0;
            assert_eq!(outcome.is_ok(), done);
            // Whatever was the current version once is there, and work goes on.
            assert!(history.verify().await.unwrap().is_empty(), "write {n}");
            let current = history.collection().get(1).await.unwrap();
            let known = history.versions(1).await.unwrap();
            assert!(current.is_some() || known.last().is_some_and(|last| last.was_deleted));
            if current.is_none() {
                history.restore(1).await.unwrap();
            }
            history.update(1, |p| p.insured.inc(100)).await.unwrap();
            let versions = history.versions(1).await.unwrap();
            for (index, version) in versions.iter().enumerate() {
                assert_eq!(version.version, index as i64);
                history.get(1, version.version).await.unwrap();
            }
            assert!(history.verify().await.unwrap().is_empty());
            if done {
                break;
            }
            crashes += 1;
        }
    }
    assert!(crashes >= 18, "{crashes}");
}

async fn a_history_is_part_of_a_transaction(db: &Db) {
    let history = History::<Policy>::new(db);
    history.insert(&policy(0)).await.unwrap();
    history.update(1, |p| p.insured.set(1)).await.unwrap();
    let aborted: Result<(), Error> = db
        .transaction(async |tx| {
            History::<Policy>::new(&tx)
                .update(1, |p| p.insured.set(2))
                .await?;
            Err(Error::new(ErrorKind::Validation, "no"))
        })
        .await;
    assert!(aborted.is_err());
    assert_eq!(history.versions(1).await.unwrap().len(), 2);
    db.transaction(async |tx| {
        let history = History::<Policy>::new(&tx);
        history.update(1, |p| p.insured.set(2)).await?;
        history.update(1, |p| p.insured.set(3)).await?;
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(history.get(1, 2).await.unwrap().insured, 2);
    assert_eq!(history.versions(1).await.unwrap().len(), 4);
}

async fn versions_are_forgotten_by_age_and_number(db: &Db) {
    let (db, seconds) = clocked(db);
    let history = History::<Policy>::new(&db);
    history.prepare().await.unwrap();
    for id in 1..=3 {
        history.insert(&Policy { id, ..policy(0) }).await.unwrap();
        for n in 0..5 {
            seconds.fetch_add(1, Ordering::SeqCst);
            history.update(id, |p| p.insured.set(n)).await.unwrap();
        }
    }
    assert_eq!(history.keep_last(3).await.unwrap(), 6);
    assert_eq!(history.keep_last(3).await.unwrap(), 0);
    assert_eq!(history.versions(2).await.unwrap()[0].version, 2);
    assert!(matches!(
        history.get(1, 1).await,
        Err(HistoryError::NoSuchVersion { version: 1, .. })
    ));
    assert!(matches!(
        history.as_of(1, at(1_000)).await,
        Err(HistoryError::Forgotten { .. })
    ));
    assert_eq!(history.forget_before(at(1_010)).await.unwrap(), 3 + 2);
    assert_eq!(history.versions(1).await.unwrap().len(), 1);
    assert!(history.verify().await.unwrap().is_empty());
}

async fn what_went_around_the_history_is_found(db: &Db) {
    let history = History::<Policy>::new(db);
    history.insert(&policy(0)).await.unwrap();
    history.update(1, |p| p.insured.set(1)).await.unwrap();
    let policies = history.collection();
    // With the version counted, but without a copy.
    policies
        .update_one(|p| p.id.eq(1), |p| p.insured.set(2))
        .await
        .unwrap();
    policies
        .update_one(|p| p.id.eq(1), |p| p.insured.set(3))
        .await
        .unwrap();
    history.update(1, |p| p.insured.set(4)).await.unwrap();
    let kinds = async || {
        let problems = history.verify().await.unwrap();
        problems
            .into_iter()
            .map(|problem| problem.kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds().await, [HistoryProblemKind::Gap { from: 1, to: 2 }]);
    policies
        .update_one(|p| p.id.eq(1), |p| p.insured.set(5))
        .await
        .unwrap();
    policies
        .update_one(|p| p.id.eq(1), |p| p.insured.set(6))
        .await
        .unwrap();
    assert_eq!(kinds().await[1], HistoryProblemKind::Gap { from: 4, to: 5 });

    // A copy that its writer did not use, and a change that did not count the version.
    let (faulty, faults) = db.faulty();
    faults.add(Fault::nth_write(2).crash());
    History::<Policy>::new(&faulty)
        .update(1, |p| p.insured.set(7))
        .await
        .unwrap_err();
    assert_eq!(kinds().await.len(), 2);
    policies
        .raw()
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "insured": 70_i64 } })
        .await
        .unwrap();
    let clash = history.update(1, |p| p.insured.set(8)).await.unwrap_err();
    assert!(matches!(clash, HistoryError::Clash { version: 6, .. }));
    assert!(
        kinds()
            .await
            .contains(&HistoryProblemKind::Changed { version: 6 })
    );
    let left = history.repair().await.unwrap();
    assert!(
        left.iter()
            .all(|problem| matches!(problem.kind, HistoryProblemKind::Gap { .. }))
    );
    history.update(1, |p| p.insured.set(8)).await.unwrap();

    // Set back.
    policies
        .raw()
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "version": 2_i64 } })
        .await
        .unwrap();
    assert!(kinds().await.contains(&HistoryProblemKind::Ahead { version: 6 }));
    let wrong = doc! { "$set": { "document._id": 2 } };
    history
        .records()
        .update_one(doc! { "_id.version": 0 }, wrong)
        .await
        .unwrap();
    assert!(
        kinds()
            .await
            .contains(&HistoryProblemKind::Misplaced { version: 0 })
    );
}

async fn softly_deleted_is_deleted(db: &Db) {
    let (db, seconds) = clocked(db);
    let history = History::<Letter>::new(&db);
    let text = |found: Option<Letter>| found.map(|letter| letter.text);
    history.insert(&letter("a")).await.unwrap();
    seconds.store(2_000, Ordering::SeqCst);
    assert_eq!(history.update(1, |l| l.text.set("b")).await.unwrap(), 1);
    seconds.store(3_000, Ordering::SeqCst);
    history.delete(1).await.unwrap();
    for gone in [
        history.delete(1).await.map(|()| 0),
        history.update(1, |l| l.text.set("c")).await,
        history.revert(1, 0).await,
        history.change(1, |_| Ok(0)).await,
        history.replace(&letter("c")).await,
    ] {
        assert!(matches!(gone, Err(HistoryError::NotFound { .. })), "{gone:?}");
    }
    assert!(matches!(
        history.insert(&letter("c")).await,
        Err(HistoryError::Clash { .. })
    ));
    assert_eq!(text(history.as_of(1, at(1_999)).await.unwrap()), Some("a".into()));
    assert_eq!(text(history.as_of(1, at(2_999)).await.unwrap()), Some("b".into()));
    for time in [3_000, 9_000] {
        assert_eq!(history.as_of(1, at(time)).await.unwrap(), None);
    }
    let versions = history.versions(1).await.unwrap();
    assert_eq!(versions.len(), 2);
    let last = &versions[1];
    assert_eq!((last.version, last.until), (1, Some(at(3_000))));
    assert!(last.was_deleted && !last.is_current);
    // What stays of it is no version.
    assert!(matches!(
        history.get(1, 2).await,
        Err(HistoryError::NoSuchVersion { version: 2, .. })
    ));
    assert_eq!(history.verify().await.unwrap(), []);

    seconds.store(4_000, Ordering::SeqCst);
    assert_eq!(history.restore(1).await.unwrap(), 3);
    assert!(matches!(
        history.restore(1).await,
        Err(HistoryError::AlreadyThere { .. })
    ));
    let restored = Letter {
        version: 3,
        ..letter("b")
    };
    assert_eq!(history.collection().get(1).await.unwrap(), Some(restored.clone()));
    assert_eq!(history.as_of(1, at(3_999)).await.unwrap(), None);
    assert_eq!(history.as_of(1, at(4_000)).await.unwrap(), Some(restored));
    assert_eq!(text(history.as_of(1, at(2_999)).await.unwrap()), Some("b".into()));
    for missing in [
        history.get(1, 2).await.map(drop),
        history.revert(1, 2).await.map(drop),
    ] {
        assert!(matches!(
            missing,
            Err(HistoryError::NoSuchVersion { version: 2, .. })
        ));
    }
    let versions = history.versions(1).await.unwrap();
    let shown: Vec<_> = versions
        .iter()
        .map(|v| (v.version, v.from, v.was_deleted, v.is_current))
        .collect();
    assert_eq!(
        shown,
        [
            (0, None, false, false),
            (1, Some(at(2_000)), true, false),
            (3, Some(at(4_000)), false, true)
        ]
    );
    assert_eq!(history.revert(1, 0).await.unwrap(), 4);
    assert_eq!(history.verify().await.unwrap(), []);

    // Again, and for good: the last version can still be brought back.
    seconds.store(5_000, Ordering::SeqCst);
    history.delete(1).await.unwrap();
    assert_eq!(history.restore(1).await.unwrap(), 6);
    history.delete(1).await.unwrap();
    history.collection().purge(|l| l.id.eq(1)).await.unwrap();
    assert_eq!(history.as_of(1, at(9_000)).await.unwrap(), None);
    history.restore(1).await.unwrap();
    assert_eq!(text(history.collection().get(1).await.unwrap()), Some("a".into()));
    assert!(matches!(
        history.restore(2).await,
        Err(HistoryError::NotFound { .. })
    ));
}

async fn softly_deleted_around_the_history_is_deleted(db: &Db) {
    let (db, seconds) = clocked(db);
    let history = History::<Letter>::new(&db);
    history.insert(&letter("a")).await.unwrap();
    seconds.store(2_000, Ordering::SeqCst);
    history.update(1, |l| l.text.set("b")).await.unwrap();
    seconds.store(3_000, Ordering::SeqCst);
    history.collection().delete(1).await.unwrap();
    assert_eq!(history.as_of(1, at(3_000)).await.unwrap(), None);
    let problems = history.verify().await.unwrap();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].kind, HistoryProblemKind::Gap { from: 1, to: 1 });
    seconds.store(4_000, Ordering::SeqCst);
    assert_eq!(history.restore(1).await.unwrap(), 3);
    assert_eq!(history.as_of(1, at(3_999)).await.unwrap(), None);
    let restored = history
        .as_of(1, at(4_000))
        .await
        .unwrap()
        .map(|letter| letter.text);
    assert_eq!(restored, Some("b".into()));
}

async fn a_crash_at_any_write_of_a_soft_deletion_loses_no_version(db: &Db) {
    for restores in [false, true] {
        for n in 1.. {
            db.drop().await.unwrap();
            let history = History::<Letter>::new(db);
            history.insert(&letter("a")).await.unwrap();
            history.update(1, |l| l.text.set("b")).await.unwrap();
            if restores {
                history.delete(1).await.unwrap();
            }
            let (faulty, faults) = db.faulty();
            faults.add(Fault::nth_write(n).crash());
            let crashing = History::<Letter>::new(&faulty);
            match restores {
                false => drop(crashing.delete(1).await),
                true => drop(crashing.restore(1).await),
            }
            let failed = faults.failures() > 0;
            // It is as it was, and goes on.
            let is_there = history.collection().get(1).await.unwrap().is_some();
            assert_eq!(is_there, restores != failed);
            assert_eq!(
                history.as_of(1, DateTime::now()).await.unwrap().is_some(),
                is_there
            );
            match is_there {
                true => history.delete(1).await.unwrap(),
                false => drop(history.restore(1).await.unwrap()),
            }
            assert_eq!(history.get(1, 0).await.unwrap().text, "a");
            assert_eq!(history.get(1, 1).await.unwrap().text, "b");
            assert_eq!(history.verify().await.unwrap(), []);
            if !failed {
                break;
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "history_authors", copied_to(Column))]
struct Author {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[odm(version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Author, eventual))]
struct Byline {
    #[odm(source)]
    id: Ref<Author>,
    name: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "history_columns")]
struct Column {
    #[serde(rename = "_id")]
    id: i32,
    by: Byline,
}

async fn copies_that_follow_are_no_part_of_a_version(db: &Db) {
    let by = Byline {
        id: Ref::new(1),
        name: "a".into(),
        version: 0,
    };
    db.collection::<Column>()
        .insert(Column { id: 1, by })
        .await
        .unwrap();
    let authors = History::<Author>::new(db);
    let first = Author {
        id: 1,
        name: "a".into(),
        version: 0,
    };
    authors.insert(&first).await.unwrap();
    authors.update(1, |a| a.name.set("b")).await.unwrap();
    // Copied into the history while its copies wait, and changed when they have followed.
    let refused = authors.change(1, |_| {
        Err::<(), _>(Error::new(ErrorKind::Validation, "not today"))
    });
    assert!(refused.await.is_err());
    db.collection::<Author>().propagate_pending().await.unwrap();
    authors.update(1, |a| a.name.set("c")).await.unwrap();
    let names = async |authors: &History<Author>| {
        let versions = authors.versions(1).await.unwrap();
        let mut names = Vec::new();
        for version in versions {
            names.push(authors.get(1, version.version).await.unwrap().name);
        }
        names
    };
    assert_eq!(names(&authors).await, ["a", "b", "c"]);
    assert!(authors.verify().await.unwrap().is_empty());
    authors.delete(1).await.unwrap();
    assert_eq!(db.collection::<Author>().get(1).await.unwrap(), None);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "history_acts",
    kind = "deed",
    schema_version = 2,
    migrate(doubled)
)]
struct Deed {
    #[serde(rename = "_id")]
    id: i32,
    amount: i32,
    #[odm(version)]
    version: i64,
}

/// It shows when it is done once more.
fn doubled(stored: &mut bson::Document) -> odm::Result<()> {
    let amount = stored.get_i32("amount").unwrap_or_default();
    stored.insert("amount", 2 * amount);
    Ok(())
}

async fn versions_keep_their_kind_and_shape(db: &Db) {
    let deeds = History::<Deed>::new(db);
    let first = Deed {
        id: 1,
        amount: 10,
        version: 0,
    };
    deeds.insert(&first).await.unwrap();
    deeds.update(1, |d| d.amount.set(11)).await.unwrap();
    assert_eq!(deeds.get(1, 0).await.unwrap().amount, 10);
    deeds.revert(1, 0).await.unwrap();
    assert_eq!(
        db.collection::<Deed>().get(1).required().await.unwrap().amount,
        10
    );
    deeds.delete(1).await.unwrap();
    deeds.restore(1).await.unwrap();
    let restored = db.collection::<Deed>().get(1).required().await.unwrap();
    assert_eq!(restored.amount, 10);
    let stored = db
        .raw_collection("history_acts")
        .find_one(doc! {"_id": 1})
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.get_str("kind").unwrap(), "deed");
    assert_eq!(stored.get_i32("schema_version").unwrap(), 2);
}
