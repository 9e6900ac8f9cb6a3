//! Outbox and inbox: what happened is published, in order, and handled once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Filter, Model};
use odm_patterns::outbox::{
    Delivery, Emit, EventLog, EventProblemKind, Inbox, Message, Outbox, Receive, Received, Relay,
};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_change_and_its_event_are_one_update,
    a_bounded_outbox_refuses_the_change,
    what_fails_is_sent_again_before_what_follows,
    a_late_relay_takes_nothing_out,
    a_crash_of_the_relay_repeats_and_loses_nothing,
    events_of_a_log_are_in_the_callers_transaction,
    many_writers_of_a_source_leave_no_gap,
    a_log_with_a_gap_waits_and_says_so,
    an_inbox_handles_each_event_once_and_in_order,
    a_crash_of_the_consumer_handles_once,
    a_consumers_own_document_can_be_its_inbox,
    relay_and_inbox_together_are_exactly_once,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "outbox_orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    total: i64,
    outbox: Outbox,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "outbox_reports")]
struct Report {
    #[serde(rename = "_id")]
    id: i32,
    total: i64,
    seen: BTreeMap<String, i64>,
}

fn clocked(db: &Db) -> (Db, Arc<AtomicI64>) {
    let seconds = Arc::new(AtomicI64::new(1_000_000));
    let hand = seconds.clone();
    let clock = move || DateTime::from_millis(hand.load(Ordering::SeqCst) * 1000);
    (db.with_clock(clock), seconds)
}

async fn order(db: &Db, id: i32) {
    let order = Order {
        id,
        total: 0,
        outbox: Outbox::default(),
    };
    db.collection::<Order>().insert(order).await.unwrap();
}

async fn add(db: &Db, id: i32, amount: i64) {
    let message = Message::new(db, "added", &amount).unwrap();
    let added = db
        .collection::<Order>()
        .update_one(|o| o.id.eq(id), |o| o.total.inc(amount) & o.outbox.emit(message));
    assert_eq!(added.await.unwrap().modified, 1);
}

fn relay(db: &Db) -> Relay<Order> {
    Relay::new(db, db.collection(), |o| o.outbox)
}

/// What was published, as `source#sequence=data`.
#[derive(Clone, Default)]
struct Wire(Arc<Mutex<Vec<String>>>);

impl Wire {
    fn send(&self, delivery: &Delivery) {
        let data: i64 = delivery.data().unwrap();
        // Without the id of the outbox's first event.
        let source = match (&delivery.document, delivery.source.rsplit_once('/')) {
            (Some(_), Some((document, _))) => document,
            _ => &delivery.source,
        };
        let text = format!("{source}#{}={data}", delivery.sequence);
        self.0.lock().unwrap().push(text);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// A sender that puts everything on the wire.
    async fn ok(&self, delivery: Delivery) -> Result<(), Error> {
        self.send(&delivery);
        Ok(())
    }
}

async fn a_change_and_its_event_are_one_update(db: &Db) {
    let (db, log) = db.logged();
    let (db, seconds) = clocked(&db);
    order(&db, 1).await;
    order(&db, 2).await;
    log.take();
    for (id, amount) in [(2, 5), (1, 6), (2, 7)] {
        seconds.fetch_add(1, Ordering::SeqCst);
        add(&db, id, amount).await;
    }
    assert_eq!(log.take().len(), 3);
    let wire = Wire::default();
    let relayed = relay(&db).run(|delivery| wire.ok(delivery)).await.unwrap();
    assert_eq!(
        (relayed.delivered, relayed.lost.len(), relayed.failed.len()),
        (3, 0, 0)
    );
    assert_eq!(log.take().len(), 1 + 2 * 2);
    // The document whose event is oldest comes first.
    let expected = [
        "outbox_orders/2#1=5",
        "outbox_orders/2#2=7",
        "outbox_orders/1#1=6",
    ];
    assert_eq!(wire.take(), expected);
    assert_eq!(
        relay(&db)
            .run(|delivery| wire.ok(delivery))
            .await
            .unwrap()
            .delivered,
        0
    );
    assert_eq!(log.take().len(), 1);
    add(&db, 2, 8).await;
    relay(&db).run(|delivery| wire.ok(delivery)).await.unwrap();
    assert_eq!(wire.take(), ["outbox_orders/2#3=8"]);
    let order = db.collection::<Order>().get(2).required().await.unwrap();
    assert_eq!(
        (order.total, order.outbox.pruned, order.outbox.events.len()),
        (20, 3, 0)
    );
}

async fn a_bounded_outbox_refuses_the_change(db: &Db) {
    order(db, 1).await;
    let orders = db.collection::<Order>();
    for expected in [1, 1, 0] {
        let message = Message::new(db, "added", &1).unwrap();
        let added = orders.update_one(
            |o| o.id.eq(1) & o.outbox.has_room(1, 2),
            |o| o.total.inc(1) & o.outbox.emit(message),
        );
        assert_eq!(added.await.unwrap().modified, expected);
    }
    let none = orders.count(|o| o.outbox.has_room(3, 2)).await.unwrap();
    let waiting = orders.count(|o| o.outbox.has_events()).await.unwrap();
    assert_eq!((none, waiting), (0, 1));
    assert_eq!(orders.get(1).required().await.unwrap().total, 2);
}

async fn what_fails_is_sent_again_before_what_follows(db: &Db) {
    let (db, seconds) = clocked(db);
    let db = &db;
    order(db, 1).await;
    for amount in 1..=3 {
        add(db, 1, amount).await;
    }
    let wire = Wire::default();
    let failing = relay(db);
    let relayed = failing.run(async |delivery: Delivery| match delivery.sequence {
        2 => Err("the broker is away"),
        _ => {
            wire.send(&delivery);
            Ok(())
        }
    });
    let relayed = relayed.await.unwrap();
    assert_eq!(relayed.delivered, 1);
    assert!(relayed.failed[0].0.starts_with("outbox_orders/1/"));
    assert_eq!(relayed.failed[0].1, "the broker is away");
    seconds.fetch_add(1, Ordering::SeqCst);
    relay(db)
        .batch(1)
        .run(|delivery| wire.ok(delivery))
        .await
        .unwrap();
    relay(db)
        .batch(1)
        .run(|delivery| wire.ok(delivery))
        .await
        .unwrap();
    let expected = [
        "outbox_orders/1#1=1",
        "outbox_orders/1#2=2",
        "outbox_orders/1#3=3",
    ];
    assert_eq!(wire.take(), expected);
}

async fn a_late_relay_takes_nothing_out(db: &Db) {
    let (db, seconds) = clocked(db);
    order(&db, 1).await;
    add(&db, 1, 1).await;
    let wire = Wire::default();
    let late = relay(&db);
    let relayed = late.run(async |delivery: Delivery| {
        // It sleeps, and another one is through with it and with one more.
        seconds.fetch_add(60, Ordering::SeqCst);
        let again = relay(&db).run(|delivery| wire.ok(delivery)).await?;
        assert_eq!(again.delivered, 1);
        add(&db, 1, 2).await;
        wire.send(&delivery);
        Ok::<(), Error>(())
    });
    let relayed = relayed.await.unwrap();
    assert_eq!((relayed.delivered, relayed.lost.len()), (0, 1));
    relay(&db).run(|delivery| wire.ok(delivery)).await.unwrap();
    let twice = [
        "outbox_orders/1#1=1",
        "outbox_orders/1#1=1",
        "outbox_orders/1#2=2",
    ];
    assert_eq!(wire.take(), twice);
    // Somebody who has the lease keeps others away.
    add(&db, 1, 3).await;
    let holder = relay(&db);
    let held = holder.run(async |_: Delivery| {
        let other = relay(&db).run(|delivery| wire.ok(delivery)).await?;
        assert_eq!(other.delivered, 0);
        Ok::<(), Error>(())
    });
    assert_eq!(held.await.unwrap().delivered, 1);
}

async fn a_crash_of_the_relay_repeats_and_loses_nothing(db: &Db) {
    let (db, seconds) = clocked(db);
    for n in 1..=3 {
        db.drop().await.unwrap();
        order(&db, 1).await;
        add(&db, 1, 1).await;
        add(&db, 1, 2).await;
        let wire = Wire::default();
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(n).crash());
        let first = relay(&faulty).run(|delivery| wire.ok(delivery)).await;
        assert_eq!(first.is_err(), n < 3);
        seconds.fetch_add(60, Ordering::SeqCst);
        relay(&db).run(|delivery| wire.ok(delivery)).await.unwrap();
        let sent = wire.take();
        let times = match n {
            2 => 2,
            _ => 1,
        };
        assert_eq!(sent.len(), 2 * times);
        assert_eq!(sent[..2], ["outbox_orders/1#1=1", "outbox_orders/1#2=2"]);
    }
}

async fn events_of_a_log_are_in_the_callers_transaction(db: &Db) {
    let (db, log) = db.logged();
    let events = EventLog::new(&db);
    events.sync_indexes().await.unwrap();
    let message = |data: i64| Message::new(&db, "added", &data).unwrap();
    events.append("a", [message(1)]).await.unwrap();
    log.take();
    let last = db
        .transaction(async |tx| EventLog::new(&tx).append("a", [message(2), message(3)]).await)
        .await
        .unwrap();
    assert_eq!(last, 3);
    assert_eq!(log.take().len(), 2 + 1);
    let refused: Result<(), Error> = db
        .transaction(async |tx| {
            EventLog::new(&tx).append("a", [message(9)]).await?;
            Err(Error::new(ErrorKind::Validation, "changed my mind"))
        })
        .await;
    assert!(refused.is_err());
    assert_eq!(events.append("b", [message(7)]).await.unwrap(), 1);
    assert_eq!(events.append("a", [message(4)]).await.unwrap(), 4);
    let empty = events.append("a", []).await.unwrap_err();
    assert_eq!(empty.kind(), ErrorKind::InvalidArgument);
    let read = events.read("a", 1, 2).await.unwrap();
    let read: Vec<i64> = read.iter().map(|delivery| delivery.sequence).collect();
    assert_eq!(read, [2, 3]);

    let wire = Wire::default();
    log.take();
    let relayed = events.relay(|delivery| wire.ok(delivery)).await.unwrap();
    assert_eq!(relayed.delivered, 5);
    assert_eq!(log.take().len(), 1 + 2 * 3);
    let mut sent = wire.take();
    sent.sort_by_key(|text| text.starts_with('b'));
    assert_eq!(sent, ["a#1=1", "a#2=2", "a#3=3", "a#4=4", "b#1=7"]);
    assert_eq!(
        events
            .relay(|delivery| wire.ok(delivery))
            .await
            .unwrap()
            .delivered,
        0
    );
    assert!(events.verify().await.unwrap().is_empty());
    assert_eq!(events.prune(DateTime::from_millis(0)).await.unwrap(), 0);
    events.append("b", [message(8)]).await.unwrap();
    assert_eq!(events.prune(DateTime::MAX).await.unwrap(), 5);
    assert_eq!(events.read("b", 0, 9).await.unwrap().len(), 1);
}

async fn many_writers_of_a_source_leave_no_gap(db: &Db) {
    let events = EventLog::new(db);
    events.sync_indexes().await.unwrap();
    let tasks: Vec<_> = (0..12)
        .map(|n: i64| {
            let (db, events) = (db.clone(), events.clone());
            tokio::spawn(async move {
                let message = Message::new(&db, "added", &n).unwrap();
                events.append("a", [message]).await.unwrap()
            })
        })
        .collect();
    let mut sequences = Vec::new();
    for task in tasks {
        sequences.push(task.await.unwrap());
    }
    sequences.sort_unstable();
    assert_eq!(sequences, (1..=12).collect::<Vec<i64>>());
    let wire = Wire::default();
    while events
        .clone()
        .batch(5)
        .relay(|delivery| wire.ok(delivery))
        .await
        .unwrap()
        .delivered
        > 0
    {}
    assert_eq!(wire.take().len(), 12);
    assert!(events.verify().await.unwrap().is_empty());
}

async fn a_log_with_a_gap_waits_and_says_so(db: &Db) {
    let (db, seconds) = clocked(db);
    let events = EventLog::new(&db);
    let message = |data: i64| Message::new(&db, "added", &data).unwrap();
    events.append("a", (1..=4).map(message)).await.unwrap();
    let raw = db.raw_collection("outbox_events");
    raw.delete_one(doc! {"_id": {"source": "a", "sequence": 2_i64}})
        .await
        .unwrap();
    raw.insert(doc! {"_id": {"source": "a", "sequence": 6_i64}, "at": db.now(), "kind": "x", "data": 6})
        .await
        .unwrap();
    let sources = db.raw_collection("outbox_sources");
    sources
        .update_one(doc! {"_id": "a"}, doc! {"$set": {"pending": 9_i64}})
        .await
        .unwrap();
    let wire = Wire::default();
    for _ in 0..2 {
        events.relay(|delivery| wire.ok(delivery)).await.unwrap();
    }
    assert_eq!(wire.take(), ["a#1=1"]);
    let problems: Vec<_> = events
        .verify()
        .await
        .unwrap()
        .into_iter()
        .map(|problem| problem.kind)
        .collect();
    let expected = [
        EventProblemKind::WrongPending {
            stored: 8,
            counted: 3,
        },
        EventProblemKind::Gap { missing: 2 },
        EventProblemKind::Beyond { sequence: 6 },
    ];
    assert_eq!(problems, expected);
    let left: Vec<_> = events
        .repair()
        .await
        .unwrap()
        .into_iter()
        .map(|problem| problem.kind)
        .collect();
    assert_eq!(left, expected[1..]);
    assert_eq!(events.verify().await.unwrap().len(), 2);

    // A late relay notes nothing.
    events.append("b", [message(1)]).await.unwrap();
    let late = events.relay(async |delivery: Delivery| {
        if delivery.source == "b" {
            seconds.fetch_add(60, Ordering::SeqCst);
            assert_eq!(events.relay(|delivery| wire.ok(delivery)).await?.delivered, 1);
        }
        Ok::<(), Error>(())
    });
    let late = late.await.unwrap();
    assert!(
        late.lost.contains(&"b".to_owned()) && late.delivered == 0,
        "{late:?}"
    );
}

async fn an_inbox_handles_each_event_once_and_in_order(db: &Db) {
    let (db, log) = db.logged();
    let inbox = Inbox::new(&db, "billing");
    db.raw_collection("bills").insert(doc! {"_id": 0}).await.unwrap();
    let handle = async |source: &str, sequence: i64| {
        let received = inbox.receive(source, sequence, async |tx| {
            tx.raw_collection("bills")
                .insert(doc! {"sequence": sequence})
                .await?;
            Ok(sequence * 10)
        });
        received.await.unwrap()
    };
    let bills = async || db.raw_collection("bills").count(doc! {}).await.unwrap() - 1;
    assert_eq!(handle("a", 2).await, Received::Gap { expected: 1 });
    assert_eq!(handle("a", 1).await, Received::Now(10));
    assert_eq!(handle("a", 1).await, Received::Before);
    log.take();
    assert_eq!(handle("a", 2).await, Received::Now(20));
    assert_eq!(log.take().len(), 2 + 1);
    assert_eq!(handle("a", 2).await, Received::Before);
    assert_eq!(log.take().len(), 3);
    assert_eq!(handle("a", 5).await, Received::Gap { expected: 3 });
    assert_eq!(handle("b", 1).await, Received::Now(10));
    assert_eq!((bills().await, inbox.last("a").await.unwrap()), (3, 2));

    // What the body refuses was not handled.
    let refused = inbox.receive::<(), _, _>("a", 3, async |tx| {
        tx.raw_collection("bills").insert(doc! {"sequence": 3}).await?;
        Err(Error::new(ErrorKind::Validation, "not yet"))
    });
    assert!(refused.await.is_err());
    assert_eq!((bills().await, inbox.last("a").await.unwrap()), (3, 2));
    assert_eq!(handle("a", 3).await, Received::Now(30));

    // Others have their own, and may begin later.
    let other = Inbox::new(&db, "mailing");
    assert_eq!(other.last("a").await.unwrap(), 0);
    other.start_after("a", 2).await.unwrap();
    other.start_after("a", 1).await.unwrap();
    let nothing = async |_| Ok(());
    for sequence in [0, -1] {
        other.start_after("b", sequence).await.unwrap();
    }
    assert_eq!(other.receive("b", 1, nothing).await.unwrap(), Received::Now(()));
    assert_eq!(other.receive("b", 1, nothing).await.unwrap(), Received::Before);
    assert_eq!(other.receive("b", 2, nothing).await.unwrap(), Received::Now(()));
    assert_eq!(other.receive("a", 1, nothing).await.unwrap(), Received::Before);
    assert_eq!(other.receive("a", 3, nothing).await.unwrap(), Received::Now(()));
    let wrong = other.receive("a", 0, nothing).await.unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::InvalidArgument);
}

async fn a_crash_of_the_consumer_handles_once(db: &Db) {
    let lost = || Error::new(ErrorKind::Network, "connection reset (injected)");
    for n in 1.. {
        let source = format!("source {n}");
        let (faulty, faults) = db.faulty();
        match n % 2 {
            0 => faults.add(Fault::nth_write(n / 2).crash()),
            _ => faults.add(Fault::nth_write(n / 2 + 1).after(lost())),
        }
        let handle = async |db: &Db| {
            let inbox = Inbox::new(db, "billing");
            let body = async |tx: odm::Tx| {
                tx.raw_collection("bills")
                    .insert(doc! {"source": &source})
                    .await
                    .map(drop)
            };
            inbox.receive(&source, 1, body).await
        };
        let first = handle(&faulty).await;
        assert_eq!(first.is_err(), faults.failures() > 0);
        assert!(matches!(
            handle(db).await.unwrap(),
            Received::Now(()) | Received::Before
        ));
        assert_eq!(
            db.raw_collection("bills")
                .count(doc! {"source": &source})
                .await
                .unwrap(),
            1
        );
        if n > 8 {
            assert_eq!(faults.failures(), 0);
            break;
        }
    }
}

async fn a_consumers_own_document_can_be_its_inbox(db: &Db) {
    let (db, log) = db.logged();
    let reports = db.collection::<Report>();
    let report = Report {
        id: 1,
        total: 0,
        seen: BTreeMap::new(),
    };
    reports.insert(report).await.unwrap();
    log.take();
    for source in ["shop.orders", "$x", "50%", "50%2e", "s:"] {
        for (sequence, expected) in [(2, 0), (1, 1), (1, 0), (2, 1), (4, 0), (0, 0)] {
            let update = reports.update_one(
                |r| r.id.eq(1) & r.seen.is_next(source, sequence),
                |r| r.total.inc(sequence) & r.seen.set_seen(source, sequence),
            );
            assert_eq!(update.await.unwrap().matched, expected, "{source} {sequence}");
        }
    }
    assert_eq!(log.take().len(), 5 * 6);
    let report = reports.find_one(|_| Filter::all()).required().await.unwrap();
    assert_eq!((report.total, report.seen.len()), (15, 5));
    type Seen = odm::Field<Report, BTreeMap<String, i64>>;
    assert_eq!(Seen::judge(&report.seen, "$x", 2), Received::Before);
    assert_eq!(Seen::judge(&report.seen, "$x", 3), Received::Now(()));
    assert_eq!(Seen::judge(&report.seen, "new", 2), Received::Gap { expected: 1 });
}

/// From the change to its effect elsewhere, with lost replies on the way.
async fn relay_and_inbox_together_are_exactly_once(db: &Db) {
    let (db, seconds) = clocked(db);
    order(&db, 1).await;
    for amount in 1..=10 {
        add(&db, 1, amount).await;
    }
    let (faulty, faults) = db.faulty();
    let lost = || Error::new(ErrorKind::Network, "connection reset (injected)");
    for round in 1..=40 {
        faults.clear();
        faults.add(Fault::nth_write(round % 7 + 1).after(lost()));
        let inbox = Inbox::new(&faulty, "totals");
        let relay = relay(&faulty).batch(3).lease(Duration::from_secs(5));
        let relayed = relay.run(async |delivery: Delivery| {
            let amount: i64 = delivery.data()?;
            let received = inbox.receive(&delivery.source, delivery.sequence, async |tx| {
                let totals = tx.raw_collection("totals");
                totals
                    .upsert(doc! {"_id": 1}, doc! {"$inc": {"total": amount}})
                    .await
                    .map(drop)
            });
            match received.await? {
                Received::Gap { .. } => panic!("a gap"),
                _ => Ok::<(), Error>(()),
            }
        });
        relayed.await.ok();
        seconds.fetch_add(5, Ordering::SeqCst);
    }
    let totals = db.raw_collection("totals").find(doc! {}).await.unwrap();
    let total = totals[0].get("total").cloned();
    assert!(matches!(total, Some(bson::Bson::Int64(55))), "{total:?}");
    let order = db.collection::<Order>().get(1).required().await.unwrap();
    assert_eq!((order.outbox.pruned, order.outbox.events.len()), (10, 0));
}
