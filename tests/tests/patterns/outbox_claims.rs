//! What a relay publishes is what its claim found, and an inbox forgets what is over.

use std::sync::{Arc, Mutex};

use bson::{DateTime, doc};
use odm::{Db, Error, Model};
use odm_patterns::outbox::{Delivery, Emit, EventLog, Inbox, Message, Outbox, Received, Relay};
use odm_tests::interrupted::interrupted;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_relay_of_a_log_publishes_what_its_claim_found,
    a_relay_publishes_what_its_claim_found,
    an_inbox_forgets_what_is_over,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "claimed_orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    total: i64,
    #[serde(default)]
    outbox: Outbox,
}

/// The numbers that were published.
type Sent = Arc<Mutex<Vec<(i64, i64)>>>;

fn note(sent: &Sent, delivery: &Delivery) -> Result<(), String> {
    let data: i64 = delivery.data().unwrap();
    sent.lock().unwrap().push((delivery.sequence, data));
    Ok(())
}

async fn a_relay_of_a_log_publishes_what_its_claim_found(db: &Db) {
    let log = EventLog::new(db);
    log.sync_indexes().await.unwrap();
    let message = |db: &Db, number: i64| Message::new(db, "counted", &number).unwrap();
    log.append("a", [message(db, 1)]).await.unwrap();
    // Between the claim and the reading: a majority may not have it yet, so that it can be taken back.
    let (late, its) = (log.clone(), message(db, 2));
    let append = async move {
        late.append("a", [its]).await.unwrap();
    };
    let (changed, moment) = interrupted(db, 3, append);
    let sent = Sent::default();
    let relay = EventLog::new(&changed);
    let relayed = relay
        .relay(async |delivery| note(&sent, &delivery))
        .await
        .unwrap();
    assert!(moment.has_come());
    assert_eq!(
        (relayed.delivered, sent.lock().unwrap().as_slice()),
        (1, &[(1, 1)][..])
    );
    let relayed = log.relay(async |delivery| note(&sent, &delivery)).await.unwrap();
    assert_eq!(
        (relayed.delivered, sent.lock().unwrap().as_slice()),
        (1, &[(1, 1), (2, 2)][..])
    );
    assert!(log.verify().await.unwrap().is_empty());
}

async fn a_relay_publishes_what_its_claim_found(db: &Db) {
    let orders = db.collection::<Order>();
    let order = Order {
        id: 1,
        total: 0,
        outbox: Outbox::default(),
    };
    orders.insert(order).await.unwrap();
    let emit = async |db: &Db, number: i64| {
        let message = Message::new(db, "counted", &number).unwrap();
        let orders = db.collection::<Order>();
        let emitted = orders.update_one(|o| o.id.eq(1), |o| o.outbox.emit(message));
        assert_eq!(emitted.await.unwrap().modified, 1);
    };
    emit(db, 1).await;
    // What a failover does between the look and the claim: the event was never there, another one is.
    let failover = |number: i64| {
        let (db, raw) = (db.clone(), orders.raw());
        async move {
            let none = doc! { "$set": { "outbox.events": [] } };
            raw.update_one(doc! { "_id": 1 }, none).await.unwrap();
            let message = Message::new(&db, "counted", &number).unwrap();
            let orders = db.collection::<Order>();
            let emitted = orders.update_one(|o| o.id.eq(1), |o| o.outbox.emit(message));
            assert_eq!(emitted.await.unwrap().modified, 1);
        }
    };
    let sent = Sent::default();
    let (changed, moment) = interrupted(db, 2, failover(2));
    let relay = Relay::new(&changed, changed.collection::<Order>(), |o| o.outbox);
    let relayed = relay.run(async |delivery| note(&sent, &delivery)).await.unwrap();
    // Its source would be called after the event that never was.
    assert!(moment.has_come() && relayed.delivered == 0 && sent.lock().unwrap().is_empty());
    relay.run(async |delivery| note(&sent, &delivery)).await.unwrap();
    assert_eq!(sent.lock().unwrap().as_slice(), [(1, 2)]);
    emit(db, 5).await;
    let (changed, moment) = interrupted(db, 2, failover(6));
    let relay = Relay::new(&changed, changed.collection::<Order>(), |o| o.outbox);
    let relayed = relay.run(async |delivery| note(&sent, &delivery)).await.unwrap();
    assert!(moment.has_come());
    assert_eq!(
        (relayed.delivered, sent.lock().unwrap().as_slice()),
        (1, &[(1, 2), (2, 6)][..])
    );
    let left = orders.count(|o| o.outbox.has_events());
    assert_eq!(left.await.unwrap(), 0);
    // What is emitted meanwhile belongs to the claim, or to the next one.
    emit(db, 3).await;
    emit(db, 4).await;
    relay.run(async |delivery| note(&sent, &delivery)).await.unwrap();
    assert_eq!(sent.lock().unwrap().as_slice(), [(1, 2), (2, 6), (3, 3), (4, 4)]);
}

async fn an_inbox_forgets_what_is_over(db: &Db) {
    let inbox = |consumer: &str, second: i64| {
        let db = db.with_clock(move || DateTime::from_millis(second * 1000));
        Inbox::new(&db, consumer)
    };
    inbox("billing", 0).sync_indexes().await.unwrap();
    let receive = async |inbox: Inbox, source: &str, sequence: i64| {
        let received = inbox.receive(source, sequence, async |_| Ok::<_, Error>(()));
        received.await.unwrap()
    };
    for (second, source) in [(10, "a"), (20, "b"), (30, "c")] {
        for consumer in ["billing", "mailing"] {
            for sequence in 1..=2 {
                let received = receive(inbox(consumer, second), source, sequence).await;
                assert_eq!(received, Received::Now(()));
            }
        }
    }
    let billing = inbox("billing", 40);
    assert_eq!(billing.prune(DateTime::from_millis(20_000)).await.unwrap(), 1);
    assert!(billing.forget("b").await.unwrap());
    assert!(!billing.forget("b").await.unwrap());
    let mut lasts = Vec::new();
    for consumer in ["billing", "mailing"] {
        for source in ["a", "b", "c"] {
            lasts.push(inbox(consumer, 40).last(source).await.unwrap());
        }
    }
    assert_eq!(lasts, [0, 0, 2, 2, 2, 2]);
    // One that goes on all the same waits for the first, until it is told where it was.
    let gap = receive(inbox("billing", 40), "a", 3).await;
    assert_eq!(gap, Received::Gap { expected: 1 });
    billing.start_after("a", 2).await.unwrap();
    assert_eq!(receive(inbox("billing", 40), "a", 3).await, Received::Now(()));
    // And what is sent again is handled again.
    assert_eq!(receive(inbox("billing", 40), "b", 1).await, Received::Now(()));
}
