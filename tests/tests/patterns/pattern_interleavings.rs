//! All orders in which the operations of two who work on the same documents can follow each other, for the patterns that
//! write more than one document and need no transaction for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::{Db, Embedded, Model};
use odm_patterns::bucket::Buckets;
use odm_patterns::history::History;
use odm_patterns::outlier::Outlier;
use odm_tests::interleavings::{every_interleaving_of, pairs};
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

use super::outlier::{self, Book};
use super::subset::{best, product, review, shown};

async fn memory(collections: &[&str]) -> Db {
    let db = Db::open("memory:").await.unwrap();
    for name in collections {
        db.create_collection(name).await.unwrap();
    }
    Plain::db(&db)
}

fn buyers(db: &Db) -> Outlier<Book, i64> {
    outlier::buyers(db).threshold(2).low(2).page(1)
}

#[tokio::test]
async fn an_outlier_that_goes_and_comes_loses_no_element() {
    #[derive(Clone, Copy, Debug)]
    enum Work {
        Add(i64),
        AddAndRemove(i64),
        Remove(i64),
        Settle,
    }
    let works = [Work::Add(8), Work::AddAndRemove(9), Work::Remove(0), Work::Settle];
    for (before, interruptions) in [(2, 3), (3, 2)] {
        let pairs =
            (0..works.len()).flat_map(|first| (first..works.len()).map(move |second| (first, second)));
        for (first, second) in pairs.map(|(first, second)| (works[first], works[second])) {
            every_interleaving_of(
                interruptions,
                async || {
                    let db = memory(&["outlier_books", "outlier_books_overflow"]).await;
                    outlier::book(&db).await;
                    for item in 0..before {
                        buyers(&db).add(1, &item).await.unwrap();
                    }
                    // So few that it comes back.
                    for item in 2..before {
                        buyers(&db).remove(1, &item).await.unwrap();
                    }
                    db
                },
                |db, n| {
                    Box::pin(async move {
                        let buyers = buyers(db);
                        match [first, second][n] {
                            Work::Add(item) => buyers.add(1, &(item + 100 * n as i64)).await.unwrap(),
                            Work::AddAndRemove(item) => {
                                let item = item + 100 * n as i64;
                                buyers.add(1, &item).await.unwrap();
                                assert!(buyers.remove(1, &item).await.unwrap());
                                buyers.settle(1).await.unwrap();
                            }
                            Work::Remove(item) => drop(buyers.remove(1, &item).await.unwrap()),
                            Work::Settle => drop(buyers.settle(1).await.unwrap()),
                        }
                    })
                },
                async |db, order| {
                    let mut expected = vec![0, 1];
                    for (n, work) in [first, second].into_iter().enumerate() {
                        match work {
                            Work::Add(item) => expected.push(item + 100 * n as i64),
                            Work::Remove(item) => expected.retain(|other| *other != item),
                            Work::AddAndRemove(_) | Work::Settle => {}
                        }
                    }
                    let mut items = buyers(db).items(1).await.unwrap();
                    items.sort_unstable();
                    let context = format!("{first:?} and {second:?} of {before} as {order:?}");
                    assert_eq!(items, expected, "{context}");
                    assert_eq!(buyers(db).verify().await.unwrap(), [], "{context}");
                },
            )
            .await;
        }
    }
}

#[tokio::test]
async fn a_subset_is_in_step_whoever_writes_its_children() {
    #[derive(Clone, Copy, Debug)]
    enum Work {
        Insert,
        Update,
        Delete,
        Refresh,
        Resume,
    }
    let works = [
        Work::Insert,
        Work::Update,
        Work::Delete,
        Work::Refresh,
        Work::Resume,
    ];
    for (first, second) in works
        .iter()
        .flat_map(|first| works.map(|second| (*first, second)))
    {
        every_interleaving_of(
            4,
            async || {
                let db = memory(&["subset_products", "subset_reviews"]).await;
                product(&db).await;
                for id in 1..=4 {
                    best(&db).insert(1, &review(id, id)).await.unwrap();
                }
                db
            },
            |db, n| {
                Box::pin(async move {
                    let best = best(db);
                    match [first, second][n] {
                        Work::Insert => drop(best.insert(1, &review(10 + n as i32, 9)).await.unwrap()),
                        Work::Update => drop(best.update(1, 1, |r| r.stars.inc(5)).await.unwrap()),
                        Work::Delete => drop(best.delete(1, 4).await.unwrap()),
                        Work::Refresh => best.refresh(1).await.unwrap(),
                        Work::Resume => {
                            let far = DateTime::from_millis(db.now().timestamp_millis() + 60_000);
                            best.resume(far).await.unwrap();
                        }
                    }
                })
            },
            async |db, order| {
                let context = format!("{first:?} and {second:?} as {order:?}");
                assert_eq!(best(db).verify().await.unwrap(), [], "{context}");
                assert_eq!(shown(db).await.len(), 3, "{context}");
            },
        )
        .await;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "policies")]
struct Policy {
    #[serde(rename = "_id")]
    id: i32,
    insured: i64,
    #[odm(version)]
    version: i64,
}

#[tokio::test]
async fn a_history_has_every_version_whoever_writes() {
    #[derive(Clone, Copy, Debug)]
    enum Work {
        Update,
        Change,
        Delete,
        Revert,
        Repair,
    }
    let works = [
        Work::Update,
        Work::Change,
        Work::Delete,
        Work::Revert,
        Work::Repair,
    ];
    for (first, second) in works
        .iter()
        .flat_map(|first| works.map(|second| (*first, second)))
    {
        let added = Arc::new(AtomicI64::new(0));
        every_interleaving_of(
            4,
            async || {
                added.store(0, Ordering::SeqCst);
                let db = memory(&["policies", "policies_history"]).await;
                let policy = Policy {
                    id: 1,
                    insured: 0,
                    version: 0,
                };
                let history = History::<Policy>::new(&db);
                history.insert(&policy).await.unwrap();
                history.update(1, |p| p.insured.inc(1)).await.unwrap();
                db
            },
            |db, n| {
                let added = added.clone();
                Box::pin(async move {
                    let history = History::<Policy>::new(db);
                    match [first, second][n] {
                        Work::Update => {
                            let done = history.update(1, |p| p.insured.inc(1)).await;
                            added.fetch_add(i64::from(done.is_ok()), Ordering::SeqCst);
                        }
                        Work::Change => {
                            let done = history.change(1, |policy| {
                                policy.insured += 1;
                                Ok(())
                            });
                            added.fetch_add(i64::from(done.await.is_ok()), Ordering::SeqCst);
                        }
                        Work::Delete => drop(history.delete(1).await),
                        Work::Revert => drop(history.revert(1, 0).await),
                        Work::Repair => drop(history.repair().await.unwrap()),
                    }
                })
            },
            async |db, order| {
                let context = format!("{first:?} and {second:?} as {order:?}");
                let history = History::<Policy>::new(db);
                assert_eq!(history.verify().await.unwrap(), [], "{context}");
                let versions = history.versions(1).await.unwrap();
                let mut last = -1;
                for version in (0..).take(versions.len()) {
                    // One of a deletion has no document.
                    if let Ok(policy) = history.get(1, version).await {
                        assert_eq!(policy.version, version, "{context}");
                        last = version;
                    }
                }
                let current = history.collection().get(1).await.unwrap();
                let is_deleted = [first, second].iter().any(|work| matches!(work, Work::Delete));
                let is_reverted = [first, second].iter().any(|work| matches!(work, Work::Revert));
                assert_eq!(current.is_none(), is_deleted, "{context}");
                let newest = history.get(1, last).await.unwrap();
                if let Some(current) = current {
                    assert_eq!(current, newest, "{context}");
                }
                if !is_reverted {
                    assert_eq!(newest.insured, 1 + added.load(Ordering::SeqCst), "{context}");
                }
            },
        )
        .await;
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Reading {
    id: i64,
    at: DateTime,
    value: i64,
}

fn reading(id: i64) -> Reading {
    Reading {
        id,
        at: DateTime::from_millis(id * 1000),
        value: id,
    }
}

#[tokio::test]
async fn buckets_are_full_and_lose_nothing_whoever_records() {
    let buckets = |db: &Db| Buckets::<i32, Reading>::by_count(db, "readings", 2, |r| r.at).value(|r| r.value);
    let batches: [&[i64]; 3] = [&[10], &[10, 11], &[10, 11, 12]];
    for before in 0..3_i64 {
        for (first, second) in batches
            .iter()
            .flat_map(|first| batches.map(|second| (*first, second)))
        {
            every_interleaving_of(
                4,
                async || {
                    let db = memory(&["readings"]).await;
                    buckets(&db).record(&1, (0..before).map(reading)).await.unwrap();
                    db
                },
                |db, n| {
                    let own: Vec<Reading> = [first, second][n]
                        .iter()
                        .map(|id| reading(id + 100 * n as i64))
                        .collect();
                    let buckets = buckets(db);
                    Box::pin(async move {
                        let count = own.len() as u64;
                        assert_eq!(buckets.record(&1, own).await.unwrap().recorded, count);
                    })
                },
                async |db, order| {
                    let context = format!("{first:?} and {second:?} behind {before} as {order:?}");
                    let page = buckets(db).page(&1, 100, None).await.unwrap();
                    let mut ids: Vec<i64> = page.entries.iter().map(|entry| entry.id).collect();
                    ids.sort_unstable();
                    let mut expected: Vec<i64> = (0..before).chain(first.iter().copied()).collect();
                    expected.extend(second.iter().map(|id| id + 100));
                    assert_eq!(ids, expected, "{context}");
                    assert!(buckets(db).verify().await.unwrap().is_empty(), "{context}");
                    let stored = db.raw_collection("readings").find(doc! {}).await.unwrap();
                    let full = stored
                        .iter()
                        .filter(|bucket| bucket.get_array("entries").unwrap().len() == 2);
                    assert!(full.count() + 1 >= stored.len(), "{context}");
                },
            )
            .await;
        }
    }
}

/// What one of two does to the entry of key 2.
#[derive(Clone, Copy, Debug)]
enum Edit {
    Replace,
    Remove,
    Record,
    RecordOthers,
}

#[tokio::test]
async fn an_edited_entry_is_what_one_of_two_made_it() {
    let by_count = |db: &Db| Buckets::<i32, Reading>::by_count(db, "readings", 3, |r| r.at);
    let by_span =
        |db: &Db| Buckets::<i32, Reading>::by_span(db, "readings", Duration::from_secs(4), |r| r.at);
    for spans in [false, true] {
        let buckets = |db: &Db| {
            let buckets = if spans { by_span(db) } else { by_count(db) };
            buckets.value(|r| r.value).unique(|r| r.id)
        };
        for works in pairs([Edit::Replace, Edit::Remove, Edit::Record, Edit::RecordOthers]) {
            every_interleaving_of(
                4,
                async || {
                    let db = memory(&["readings"]).await;
                    buckets(&db).record(&1, (0..4).map(reading)).await.unwrap();
                    db
                },
                |db, n| {
                    let buckets = buckets(db);
                    Box::pin(async move {
                        let value = 100 + n as i64;
                        let edited = Reading { value, ..reading(2) };
                        match works[n] {
                            Edit::Replace => {
                                buckets.replace(&1, &edited).await.unwrap();
                            }
                            Edit::Remove => {
                                buckets.remove(&1, &2_i64).await.unwrap();
                            }
                            Edit::Record => {
                                buckets.record(&1, [edited]).await.unwrap();
                            }
                            Edit::RecordOthers => {
                                let others = [4, 5].map(|id| reading(id + 10 * n as i64));
                                buckets.record(&1, others).await.unwrap();
                            }
                        }
                    })
                },
                async |db, order| {
                    let context = format!("{works:?}, by span: {spans}, as {order:?}");
                    assert_eq!(buckets(db).verify().await.unwrap(), [], "{context}");
                    let page = buckets(db).page(&1, 100, None).await.unwrap();
                    let found: Vec<i64> = page
                        .entries
                        .iter()
                        .filter(|entry| entry.id == 2)
                        .map(|entry| entry.value)
                        .collect();
                    let removes = works.iter().any(|work| matches!(work, Edit::Remove));
                    let replaced = (0..2).filter(|n| matches!(works[*n], Edit::Replace));
                    let mut values: Vec<i64> = replaced.map(|n| 100 + n as i64).collect();
                    match (removes, values.is_empty()) {
                        // It may be recorded anew behind the removal, but not replaced.
                        (true, _) => {
                            let recorded = (0..2).filter(|n| matches!(works[*n], Edit::Record));
                            let recorded: Vec<i64> = recorded.map(|n| 100 + n as i64).collect();
                            assert!(found.is_empty() || found == recorded, "{found:?}: {context}");
                        }
                        (false, true) => assert_eq!(found, [2], "{context}"),
                        (false, false) => {
                            values.retain(|value| found == [*value]);
                            assert_eq!(values.len(), 1, "{found:?}: {context}");
                        }
                    }
                    let others = page.entries.iter().filter(|entry| entry.id != 2);
                    assert!(
                        others.clone().all(|entry| *entry == reading(entry.id)),
                        "{context}"
                    );
                    let more = works
                        .iter()
                        .filter(|work| matches!(work, Edit::RecordOthers))
                        .count();
                    assert_eq!(others.count(), 3 + 2 * more, "{context}");
                },
            )
            .await;
        }
    }
}
