//! All orders in which the operations of two who emit, publish and receive events can follow each other.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, Model};
use odm_patterns::outbox::{Delivery, Emit, EventLog, Inbox, Message, Outbox, Received, Relay, Relayed};
use odm_tests::interleavings::{every_interleaving_of, pairs};
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

use super::inbox_interleavings::{bills, receive};

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "parcels")]
struct Parcel {
    #[serde(rename = "_id")]
    id: i32,
    total: i64,
    outbox: Outbox,
}

/// Goes on whenever somebody looks at it.
static CLOCK: AtomicI64 = AtomicI64::new(1_000_000_000);

/// A lease of no time is over as soon as it is had: each relay is the other's zombie at any time.
fn ticking(db: &Db) -> Db {
    db.with_clock(|| DateTime::from_millis(CLOCK.fetch_add(1, Ordering::SeqCst)))
}

/// The time stands still, until all leases are over.
fn standing(db: &Db, is_later: bool) -> Db {
    db.with_clock(move || DateTime::from_millis(if is_later { 2_000_000 } else { 1_000_000 }))
}

/// What was published: by whom, as which of the events, and what.
#[derive(Clone, Default)]
struct Wire(Arc<Mutex<Vec<(usize, i64, i64)>>>);

impl Wire {
    async fn send(&self, who: usize, delivery: Delivery) -> Result<(), Error> {
        let sent = (who, delivery.sequence, delivery.data::<i64>()?);
        self.0.lock().unwrap().push(sent);
        Ok(())
    }

    /// Looks at all that was published, and forgets it: every event of a source, at least once, in order, with a sum.
    fn check(&self, count: i64, total: i64, is_once: bool, context: &str) {
        let sent = std::mem::take(&mut *self.0.lock().unwrap());
        let context = format!("{context}: {sent:?}");
        let mut events = BTreeMap::new();
        for (who, sequence, data) in &sent {
            let first = *events.entry(*sequence).or_insert(*data);
            assert_eq!(first, *data, "{context}");
            // Nothing is published before what comes before it.
            assert!(
                *sequence == 1 || events.contains_key(&(sequence - 1)),
                "{context}"
            );
            let before = sent.iter().filter(|(other, ..)| other == who);
            assert!(
                before.clone().is_sorted_by_key(|(_, sequence, _)| *sequence),
                "{context}"
            );
        }
        assert!(events.keys().copied().eq(1..=count), "{count} {context}");
        assert_eq!(events.values().sum::<i64>(), total, "{context}");
        assert!(!is_once || sent.len() == events.len(), "{context}");
    }
}

/// Who publishes in the end, and who did before it died.
const LAST: usize = 2;
const DEAD: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    Nothing,
    Waiting,
    /// A relay died behind publishing, and its lease is over.
    Dead,
}

const BEFORES: [Before; 3] = [Before::Nothing, Before::Waiting, Before::Dead];

async fn emit(db: &Db, amounts: &[i64]) {
    let messages: Vec<Message> = amounts
        .iter()
        .map(|amount| Message::new(db, "added", amount).unwrap())
        .collect();
    let sum: i64 = amounts.iter().sum();
    let emitted = db
        .collection::<Parcel>()
        .update_one(|p| p.id.eq(1), |p| p.total.inc(sum) & p.outbox.emit_all(messages));
    assert_eq!(emitted.await.unwrap().modified, 1);
}

async fn publish(db: &Db, wire: &Wire, who: usize, lease: Duration, batch: u32) -> Relayed<Error> {
    let relay = Relay::new(db, db.collection::<Parcel>(), |p| p.outbox);
    let relay = relay.lease(lease).batch(batch);
    relay.run(|delivery| wire.send(who, delivery)).await.unwrap()
}

#[tokio::test]
async fn events_of_documents_are_published_in_order_whoever_publishes() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        Emit,
        EmitTwo,
        Relay,
        RelayOne,
    }
    let works = [Work::Emit, Work::EmitTwo, Work::Relay, Work::RelayOne];
    let mut orders = 0;
    for (is_standing, before) in [true, false]
        .into_iter()
        .flat_map(|is_standing| BEFORES.map(|before| (is_standing, before)))
    {
        let clocked = |db: &Db| match is_standing {
            true => standing(db, false),
            false => ticking(db),
        };
        let lease = Duration::from_secs(if is_standing { 60 } else { 0 });
        for pair in pairs(works) {
            let (wire, delivered) = (Wire::default(), Arc::new(AtomicI64::new(0)));
            orders += every_interleaving_of(
                usize::MAX,
                async || {
                    let db = Db::open("memory:").await.unwrap();
                    let db = clocked(&Plain::db(&db));
                    let parcel = Parcel {
                        id: 1,
                        total: 0,
                        outbox: Outbox::default(),
                    };
                    db.collection::<Parcel>().insert(parcel).await.unwrap();
                    if before != Before::Nothing {
                        emit(&db, &[1, 2]).await;
                    }
                    if before == Before::Dead {
                        let (faulty, faults) = db.faulty();
                        faults.add(Fault::nth_write(2).crash());
                        let relay = Relay::new(&faulty, faulty.collection::<Parcel>(), |p| p.outbox);
                        let relay = relay.lease(Duration::ZERO);
                        let died = relay.run(|delivery| wire.send(DEAD, delivery)).await;
                        died.unwrap_err();
                    }
                    delivered.store(0, Ordering::SeqCst);
                    db
                },
                |db, n| {
                    let (db, wire, delivered) = (clocked(db), wire.clone(), delivered.clone());
                    Box::pin(async move {
                        let amount = 10 * (n as i64 + 1);
                        let batch = match pair[n] {
                            Work::Emit => return emit(&db, &[amount]).await,
                            Work::EmitTwo => return emit(&db, &[amount, amount + 1]).await,
                            Work::Relay => 100,
                            Work::RelayOne => 1,
                        };
                        let relayed = publish(&db, &wire, n, lease, batch).await;
                        delivered.fetch_add(relayed.delivered as i64, Ordering::SeqCst);
                        assert!(!is_standing || relayed.lost.is_empty(), "{relayed:?}");
                    })
                },
                async |db, order| {
                    let context = format!("{pair:?} {before:?} {is_standing} as {order:?}");
                    let later = match is_standing {
                        true => standing(db, true),
                        false => ticking(db),
                    };
                    let relayed = publish(&later, &wire, LAST, Duration::ZERO, 100).await;
                    let delivered = delivered.load(Ordering::SeqCst) + relayed.delivered as i64;
                    let parcel = db.collection::<Parcel>().get(1).required().await.unwrap();
                    let emitted = pair.map(|work| match work {
                        Work::Emit => 1,
                        Work::EmitTwo => 2,
                        Work::Relay | Work::RelayOne => 0,
                    });
                    let count = emitted.iter().sum::<i64>() + if before == Before::Nothing { 0 } else { 2 };
                    assert_eq!((delivered, parcel.outbox.pruned), (count, count), "{context}");
                    assert_eq!(parcel.outbox.events, [], "{context}");
                    let is_once = is_standing && before != Before::Dead;
                    wire.check(count, parcel.total, is_once, &context);
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two at an outbox");
}

fn log(db: &Db, lease: Duration, batch: u32) -> EventLog {
    EventLog::new(db).lease(lease).batch(batch)
}

async fn append(db: &Db, amounts: &[i64]) -> i64 {
    let messages: Vec<Message> = amounts
        .iter()
        .map(|amount| Message::new(db, "added", amount).unwrap())
        .collect();
    EventLog::new(db).append("a", messages).await.unwrap()
}

#[tokio::test]
async fn events_of_a_log_are_published_in_order_whoever_publishes() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        Append,
        AppendTwo,
        Relay,
        RelayOne,
        Prune,
        Repair,
    }
    let works = [
        Work::Append,
        Work::AppendTwo,
        Work::Relay,
        Work::RelayOne,
        Work::Prune,
        Work::Repair,
    ];
    let mut orders = 0;
    for (is_standing, before) in [true, false]
        .into_iter()
        .flat_map(|is_standing| BEFORES.map(|before| (is_standing, before)))
    {
        let clocked = |db: &Db| match is_standing {
            true => standing(db, false),
            false => ticking(db),
        };
        let lease = Duration::from_secs(if is_standing { 60 } else { 0 });
        for pair in pairs(works) {
            let (wire, delivered) = (Wire::default(), Arc::new(AtomicI64::new(0)));
            let lasts = Arc::new(Mutex::new(Vec::new()));
            orders += every_interleaving_of(
                3,
                async || {
                    let db = Db::open("memory:").await.unwrap();
                    let db = clocked(&db);
                    for name in ["outbox_events", "outbox_sources"] {
                        db.create_collection(name).await.unwrap();
                    }
                    if before != Before::Nothing {
                        append(&db, &[1, 2]).await;
                    }
                    if before == Before::Dead {
                        let (faulty, faults) = db.faulty();
                        faults.add(Fault::nth_write(2).crash());
                        let log = log(&faulty, Duration::ZERO, 100);
                        let died = log.relay(|delivery| wire.send(DEAD, delivery));
                        died.await.unwrap_err();
                    }
                    delivered.store(0, Ordering::SeqCst);
                    lasts.lock().unwrap().clear();
                    db
                },
                |db, n| {
                    let (db, wire, delivered, lasts) =
                        (clocked(db), wire.clone(), delivered.clone(), lasts.clone());
                    Box::pin(async move {
                        let amount = 10 * (n as i64 + 1);
                        let batch = match pair[n] {
                            Work::Append | Work::AppendTwo => {
                                let amounts = [amount, amount + 1];
                                let count = if pair[n] == Work::Append { 1 } else { 2 };
                                let last = append(&db, &amounts[..count]).await;
                                lasts.lock().unwrap().push(last);
                                return;
                            }
                            Work::Relay => 100,
                            Work::RelayOne => 1,
                            Work::Prune => {
                                EventLog::new(&db).prune(DateTime::MAX).await.unwrap();
                                return;
                            }
                            Work::Repair => {
                                EventLog::new(&db).repair().await.unwrap();
                                return;
                            }
                        };
                        let relayed = log(&db, lease, batch)
                            .relay(|delivery| wire.send(n, delivery))
                            .await;
                        let relayed = relayed.unwrap();
                        delivered.fetch_add(relayed.delivered as i64, Ordering::SeqCst);
                        assert!(!is_standing || relayed.lost.is_empty(), "{relayed:?}");
                    })
                },
                async |db, order| {
                    let context = format!("{pair:?} {before:?} {is_standing} as {order:?}");
                    assert_eq!(EventLog::new(db).verify().await.unwrap(), [], "{context}");
                    let later = match is_standing {
                        true => standing(db, true),
                        false => ticking(db),
                    };
                    let last = log(&later, Duration::ZERO, 100);
                    let relayed = last.relay(|delivery| wire.send(LAST, delivery)).await.unwrap();
                    let delivered = delivered.load(Ordering::SeqCst) + relayed.delivered as i64;
                    let (mut count, mut total) = match before {
                        Before::Nothing => (0, 0),
                        Before::Waiting | Before::Dead => (2, 3),
                    };
                    for (n, work) in (1..).zip(pair) {
                        let own = match work {
                            Work::Append => (1, 10 * n),
                            Work::AppendTwo => (2, 20 * n + 1),
                            _ => (0, 0),
                        };
                        (count, total) = (count + own.0, total + own.1);
                    }
                    assert_eq!(delivered, count, "{context}");
                    let lasts = lasts.lock().unwrap().clone();
                    assert!(lasts.is_empty() || lasts.contains(&count), "{context}: {lasts:?}");
                    let is_once = is_standing && before != Before::Dead;
                    wire.check(count, total, is_once, &context);
                    assert_eq!(last.verify().await.unwrap(), [], "{context}");
                    last.prune(DateTime::MAX).await.unwrap();
                    let left = db.raw_collection("outbox_events").count(doc! {}).await.unwrap();
                    assert_eq!(left, 0, "{context}");
                    assert_eq!(last.verify().await.unwrap(), [], "{context}");
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two at a log");
}

#[tokio::test]
async fn two_relays_and_an_inbox_are_exactly_once_in_every_order() {
    let mut orders = 0;
    for before in [Before::Waiting, Before::Dead] {
        orders += every_interleaving_of(
            3,
            async || {
                let db = Db::open("memory:").await.unwrap();
                let db = ticking(&db);
                for name in ["inbox", "bills"] {
                    db.create_collection(name).await.unwrap();
                }
                let parcel = Parcel {
                    id: 1,
                    total: 0,
                    outbox: Outbox::default(),
                };
                db.collection::<Parcel>().insert(parcel).await.unwrap();
                emit(&db, &[1, 2]).await;
                if before == Before::Dead {
                    let (faulty, faults) = db.faulty();
                    // Behind the first event.
                    faults.add(Fault::nth("commitTransaction", 2).crash());
                    let relay = Relay::new(&faulty, faulty.collection::<Parcel>(), |p| p.outbox);
                    let relay = relay.lease(Duration::ZERO).pauses(Duration::ZERO, Duration::ZERO);
                    let died = relay.run(async |delivery: Delivery| {
                        Inbox::new(&faulty, "billing")
                            .receive("a", delivery.sequence, async |tx| {
                                let bill = doc! {"sequence": delivery.sequence};
                                tx.raw_collection("bills").insert(bill).await.map(drop)
                            })
                            .await
                            .map(drop)
                    });
                    died.await.ok();
                }
                db
            },
            |db, _| {
                let db = ticking(db);
                Box::pin(async move {
                    let relay = Relay::new(&db, db.collection::<Parcel>(), |p| p.outbox);
                    let relay = relay.lease(Duration::ZERO);
                    let relayed = relay.run(|delivery: Delivery| {
                        let db = db.clone();
                        async move {
                            let received = receive(&db, delivery.sequence).await;
                            assert!(!matches!(received, Received::Gap { .. }));
                            Ok::<(), Error>(())
                        }
                    });
                    relayed.await.unwrap();
                })
            },
            async |db, order| {
                let context = format!("{before:?} as {order:?}");
                assert_eq!(bills(db).await, [1, 2], "{context}");
            },
        )
        .await;
    }
    println!("{orders} orders of two relays and an inbox");
}

/// Neither what is appended nor what is published meanwhile is a problem.
#[tokio::test]
async fn a_log_is_sound_at_any_time() {
    for is_relay in [false, true] {
        let found = Arc::new(Mutex::new(Vec::new()));
        let orders = every_interleaving_of(
            3,
            async || {
                let db = Db::open("memory:").await.unwrap();
                let message = Message::new(&db, "added", &1_i64).unwrap();
                EventLog::new(&db).append("a", [message]).await.unwrap();
                db
            },
            |db, n| {
                let found = found.clone();
                Box::pin(async move {
                    let log = EventLog::new(db);
                    if n == 0 {
                        *found.lock().unwrap() = log.verify().await.unwrap();
                    } else if is_relay {
                        log.relay(async |_| Ok::<(), Error>(())).await.unwrap();
                        log.prune(DateTime::MAX).await.unwrap();
                    } else {
                        let message = Message::new(db, "added", &1_i64).unwrap();
                        log.append("a", [message]).await.unwrap();
                    }
                })
            },
            async |_, order| {
                let found = std::mem::take(&mut *found.lock().unwrap());
                assert_eq!(found, [], "{is_relay} as {order:?}");
            },
        )
        .await;
        assert!(orders > 3, "{orders}");
    }
}
