//! All orders in which the operations of two who bring the same events to a consumer can follow each other.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use bson::doc;
use odm::backend::wrap::Fault;
use odm::{Db, Model, Tx};
use odm_patterns::outbox::{Inbox, Receive, Received};
use odm_tests::interleavings::{every_interleaving_of, pairs};
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

/// The effect of an event, and that it was seen.
pub(super) async fn receive(db: &Db, sequence: i64) -> Received<()> {
    let inbox = Inbox::new(db, "billing");
    let body = move |tx: Tx| async move {
        tx.raw_collection("bills")
            .insert(doc! {"sequence": sequence})
            .await
            .map(drop)
    };
    inbox.receive("a", sequence, body).await.unwrap()
}

pub(super) async fn bills(db: &Db) -> Vec<i64> {
    let all = db.raw_collection("bills").find(doc! {}).await.unwrap();
    let mut bills: Vec<i64> = all.iter().map(|bill| bill.get_i64("sequence").unwrap()).collect();
    bills.sort_unstable();
    bills
}

#[tokio::test]
async fn an_event_is_received_once_and_in_order_whoever_brings_it() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        First,
        Second,
        Both,
        StartLater,
    }
    let works = [Work::First, Work::Second, Work::Both, Work::StartLater];
    let mut orders = 0;
    for before in 0..2 {
        for pair in pairs(works) {
            let told = Arc::new(Mutex::new(Vec::new()));
            orders += every_interleaving_of(
                3,
                async || {
                    let db = Db::open("memory:").await.unwrap();
                    for name in ["inbox", "bills"] {
                        db.create_collection(name).await.unwrap();
                    }
                    if before == 1 {
                        // By a program that was not told.
                        let (faulty, faults) = db.faulty();
                        faults.add(Fault::nth("commitTransaction", 1).crash());
                        Inbox::new(&faulty, "billing")
                            .receive("a", 1, async |_| Ok(()))
                            .await
                            .unwrap_err();
                        assert_eq!(receive(&db, 1).await, Received::Now(()));
                    }
                    told.lock().unwrap().clear();
                    db
                },
                |db, n| {
                    let told = told.clone();
                    Box::pin(async move {
                        let sequences: &[i64] = match pair[n] {
                            Work::First => &[1],
                            Work::Second => &[2],
                            Work::Both => &[1, 2],
                            Work::StartLater => {
                                return Inbox::new(db, "billing").start_after("a", 1).await.unwrap();
                            }
                        };
                        for sequence in sequences {
                            let received = receive(db, *sequence).await;
                            told.lock().unwrap().push((*sequence, received));
                            // What is to come first has not come.
                            assert!(*sequence == 2 || !matches!(received, Received::Gap { .. }));
                        }
                    })
                },
                async |db, order| {
                    let told = std::mem::take(&mut *told.lock().unwrap());
                    let context = format!("{pair:?} behind {before} as {order:?}: {told:?}");
                    let now = told.iter().filter(|(_, received)| *received == Received::Now(()));
                    let mut handled: Vec<i64> = now.map(|(sequence, _)| *sequence).collect();
                    handled.extend(1..=before);
                    handled.sort_unstable();
                    assert_eq!(bills(db).await, handled, "{context}");
                    assert!(handled.is_sorted_by(|a, b| a < b), "{context}");
                    let last = Inbox::new(db, "billing").last("a").await.unwrap();
                    let started = i64::from(pair.contains(&Work::StartLater));
                    let most = handled.last().copied().unwrap_or(0);
                    assert_eq!(last, most.max(started), "{context}");
                    if pair.contains(&Work::Both) {
                        assert_eq!(last, 2, "{context}");
                    }
                    // Sent again, all are handled once.
                    for sequence in 1..=3 {
                        let received = receive(db, sequence).await;
                        assert_eq!(received == Received::Before, sequence <= last, "{context}");
                    }
                    let all = bills(db).await;
                    let skipped = started == 1 && !handled.contains(&1);
                    let expected: Vec<i64> = (if skipped { 2 } else { 1 }..=3).collect();
                    assert_eq!(all, expected, "{context}");
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two who receive");
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "sums")]
struct Sum {
    #[serde(rename = "_id")]
    id: i32,
    total: i64,
    seen: BTreeMap<String, i64>,
}

#[tokio::test]
async fn a_document_that_is_its_own_inbox_handles_each_event_once() {
    let mut orders = 0;
    for (first, second) in [(&[1, 2], &[1, 2]), (&[1, 2], &[2, 3]), (&[2, 1], &[1, 2])] {
        let handled = Arc::new(AtomicI64::new(0));
        orders += every_interleaving_of(
            usize::MAX,
            async || {
                handled.store(0, Ordering::SeqCst);
                let db = Plain::db(&Db::open("memory:").await.unwrap());
                let sum = Sum {
                    id: 1,
                    total: 0,
                    seen: BTreeMap::new(),
                };
                db.collection::<Sum>().insert(sum).await.unwrap();
                db
            },
            |db, n| {
                let handled = handled.clone();
                Box::pin(async move {
                    for sequence in [first, second][n] {
                        let update = db.collection::<Sum>().update_one(
                            |s| s.id.eq(1) & s.seen.is_next("shop", *sequence),
                            |s| {
                                s.total.inc(10_i64.pow(*sequence as u32)) & s.seen.set_seen("shop", *sequence)
                            },
                        );
                        let is_new = update.await.unwrap().matched == 1;
                        handled.fetch_add(i64::from(is_new) * 10_i64.pow(*sequence as u32), Ordering::SeqCst);
                    }
                })
            },
            async |db, order| {
                let context = format!("{first:?} and {second:?} as {order:?}");
                let sum = db.collection::<Sum>().get(1).required().await.unwrap();
                assert_eq!(sum.total, handled.load(Ordering::SeqCst), "{context}");
                let last = sum.seen.values().copied().next().unwrap_or(0);
                let expected: i64 = (1..=last).map(|sequence| 10_i64.pow(sequence as u32)).sum();
                assert_eq!(sum.total, expected, "{context}");
                assert!(last >= 1, "{context}");
            },
        )
        .await;
    }
    println!("{orders} orders of two who bring events to a document");
}
