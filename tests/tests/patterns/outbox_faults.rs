//! Outboxes beside what else happens to their documents: failures that stay, deletion, other shapes.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::{Db, Error, ErrorKind, Model};
use odm_patterns::outbox::{Delivery, Emit, EventLog, Inbox, Message, Outbox, Received, Relay};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    an_outbox_can_be_added_to_a_model_later,
    outboxes_and_sources_of_older_shapes_are_published_on,
    those_that_fail_do_not_keep_others_away,
    sources_that_fail_do_not_keep_others_away,
    pauses_grow_and_end_with_the_failure,
    an_event_can_be_given_up_after_some_tries,
    a_document_inserted_again_is_another_source,
    events_of_softly_deleted_documents_are_published,
    an_outbox_that_cannot_be_read_does_not_keep_others_back,
    a_document_without_room_for_a_lease_does_not_keep_others_back,
    publishing_counts_no_version,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "outbox_notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    n: i64,
    #[serde(default)]
    outbox: Outbox,
    #[odm(version)]
    #[serde(default)]
    version: i64,
    #[odm(updated)]
    changed: Option<DateTime>,
    #[odm(soft_delete)]
    #[serde(default)]
    gone: Option<DateTime>,
}

fn clocked(db: &Db) -> (Db, Arc<AtomicI64>) {
    let seconds = Arc::new(AtomicI64::new(1_000_000));
    let hand = seconds.clone();
    let clock = move || DateTime::from_millis(hand.load(Ordering::SeqCst) * 1000);
    (db.with_clock(clock), seconds)
}

async fn note(db: &Db, id: i32) {
    let note = Note {
        id,
        n: 0,
        outbox: Outbox::default(),
        version: 0,
        changed: None,
        gone: None,
    };
    db.collection::<Note>().insert(note).await.unwrap();
}

async fn emit(db: &Db, id: i32, data: i64) {
    let message = Message::new(db, "noted", &data).unwrap();
    let notes = db.collection::<Note>();
    let emitted = notes.update_one(|n| n.id.eq(id), |n| n.n.inc(1) & n.outbox.emit(message));
    assert_eq!(emitted.await.unwrap().modified, 1);
}

fn relay(db: &Db) -> Relay<Note> {
    Relay::new(db, db.collection(), |n| n.outbox)
}

/// Publishes all but the data below 0; gives what was published.
async fn run(relay: &Relay<Note>) -> Vec<(i64, i64)> {
    let sent = Mutex::new(Vec::new());
    let relayed = relay.run(async |delivery: Delivery| match delivery.data::<i64>().unwrap() {
        ..0 => Err("nobody is there"),
        data => {
            sent.lock().unwrap().push((delivery.sequence, data));
            Ok(())
        }
    });
    relayed.await.unwrap();
    sent.into_inner().unwrap()
}

/// What a consumer with an inbox makes of what is published.
async fn consume(db: &Db, inbox: &Inbox) -> Vec<(i64, Received<()>)> {
    let seen = Mutex::new(Vec::new());
    let publisher = relay(db);
    let relayed = publisher.run(async |delivery: Delivery| {
        let received = inbox.receive(&delivery.source, delivery.sequence, async |_| Ok(()));
        let received = (delivery.data::<i64>()?, received.await?);
        seen.lock().unwrap().push(received);
        Ok::<(), Error>(())
    });
    assert!(relayed.await.unwrap().failed.is_empty());
    seen.into_inner().unwrap()
}

async fn an_outbox_can_be_added_to_a_model_later(db: &Db) {
    let notes = db.collection::<Note>();
    notes.raw().insert(doc! {"_id": 1}).await.unwrap();
    assert_eq!(notes.get(1).required().await.unwrap().outbox, Outbox::default());
    emit(db, 1, 7).await;
    let read = notes.get(1).required().await.unwrap();
    assert_eq!((read.outbox.pruned, read.outbox.events.len()), (0, 1));
    assert_eq!(run(&relay(db)).await, [(1, 7)]);
    emit(db, 1, 8).await;
    assert_eq!(run(&relay(db)).await, [(2, 8)]);
    let read = notes.get(1).required().await.unwrap();
    assert_eq!((read.outbox.pruned, read.outbox.events.len()), (2, 0));
}

/// As they were stored before outboxes knew their first event, and sources their lease.
async fn outboxes_and_sources_of_older_shapes_are_published_on(db: &Db) {
    let message = |data: i64| Message::new(db, "noted", &data).unwrap();
    let notes = db.collection::<Note>();
    let at = DateTime::from_millis(0);
    let outbox = doc! {"pruned": 3_i64, "lease": {"token": 5_i64, "until": at}, "events": []};
    notes
        .raw()
        .insert(doc! {"_id": 1, "outbox": outbox})
        .await
        .unwrap();
    emit(db, 1, 7).await;
    let sources = Mutex::new(Vec::new());
    let publisher = relay(db);
    let relayed = publisher.run(async |delivery: Delivery| {
        sources.lock().unwrap().push((delivery.source, delivery.sequence));
        Ok::<(), Error>(())
    });
    assert_eq!(relayed.await.unwrap().delivered, 1);
    assert_eq!(sources.into_inner().unwrap(), [("outbox_notes/1".to_owned(), 4)]);

    let log = EventLog::new(db);
    log.sync_indexes().await.unwrap();
    log.append("a", [message(1)]).await.unwrap();
    let raw = db.raw_collection("outbox_sources");
    let older = doc! {"$unset": {"lease": 1, "delivered": 1}};
    raw.update_one(doc! {"_id": "a"}, older).await.unwrap();
    let all = async |_: Delivery| Ok::<(), Error>(());
    assert_eq!(log.relay(all).await.unwrap().delivered, 1);
    assert!(log.verify().await.unwrap().is_empty());
}

async fn those_that_fail_do_not_keep_others_away(db: &Db) {
    let (db, seconds) = clocked(db);
    for id in 0..105 {
        note(&db, id).await;
        emit(&db, id, if id < 102 { -1 } else { id.into() }).await;
    }
    let relay = relay(&db).pauses(Duration::from_secs(10), Duration::from_secs(10));
    assert_eq!(run(&relay).await, []);
    assert_eq!(run(&relay).await, [(1, 102), (1, 103), (1, 104)]);
    assert_eq!(run(&relay).await, []);
    // They have no pause any more, and are the oldest.
    seconds.fetch_add(100, Ordering::SeqCst);
    emit(&db, 104, 7).await;
    assert_eq!(run(&relay).await, [(2, 7)]);
}

async fn sources_that_fail_do_not_keep_others_away(db: &Db) {
    let (db, seconds) = clocked(db);
    let log = EventLog::new(&db).pauses(Duration::from_secs(10), Duration::from_secs(10));
    log.sync_indexes().await.unwrap();
    for n in 0..105 {
        let data: i64 = if n < 102 { -1 } else { n };
        let message = Message::new(&db, "noted", &data).unwrap();
        log.append(&format!("s{n:03}"), [message]).await.unwrap();
    }
    let run = async || {
        let relayed = log.relay(async |delivery: Delivery| match delivery.data::<i64>().unwrap() {
            ..0 => Err("nobody is there"),
            _ => Ok(()),
        });
        relayed.await.unwrap().delivered
    };
    assert_eq!(run().await + run().await, 3);
    seconds.fetch_add(100, Ordering::SeqCst);
    let message = |data: i64| Message::new(&db, "noted", &data).unwrap();
    log.append("s104", [message(7), message(8)]).await.unwrap();
    // Of all that are due those come first that were looked at longest ago: none waits longer than the others.
    assert_eq!(run().await + run().await, 2);
}

async fn pauses_grow_and_end_with_the_failure(db: &Db) {
    let (db, seconds) = clocked(db);
    note(&db, 1).await;
    emit(&db, 1, -1).await;
    emit(&db, 1, 5).await;
    let relay = relay(&db);
    let tries = Mutex::new(Vec::new());
    for second in 0..20 {
        let relayed = relay.run(async |delivery: Delivery| {
            tries.lock().unwrap().push((second, delivery.attempt));
            Err::<(), _>("nobody is there")
        });
        assert_eq!(relayed.await.unwrap().delivered, 0);
        seconds.fetch_add(1, Ordering::SeqCst);
    }
    assert_eq!(*tries.lock().unwrap(), [(0, 1), (1, 2), (3, 3), (7, 4), (15, 5)]);
    seconds.fetch_add(20, Ordering::SeqCst);
    // What follows waits for it, and begins anew.
    let relayed = relay.run(async |delivery: Delivery| {
        tries.lock().unwrap().push((0, delivery.attempt));
        match delivery.sequence {
            1 => Ok(()),
            _ => Err("nobody is there"),
        }
    });
    assert_eq!(relayed.await.unwrap().delivered, 1);
    seconds.fetch_add(1, Ordering::SeqCst);
    let relayed = relay.run(async |delivery: Delivery| {
        tries.lock().unwrap().push((0, delivery.attempt));
        Ok::<(), Error>(())
    });
    assert_eq!(relayed.await.unwrap().delivered, 1);
    assert_eq!(tries.into_inner().unwrap()[5..], [(0, 6), (0, 1), (0, 2)]);
    let stored = db.collection::<Note>().get(1).required().await.unwrap();
    assert_eq!((stored.outbox.lease.tries, stored.outbox.pruned), (0, 2));
}

async fn an_event_can_be_given_up_after_some_tries(db: &Db) {
    let (db, seconds) = clocked(db);
    note(&db, 1).await;
    for data in [-1, 5] {
        emit(&db, 1, data).await;
    }
    let dead = db.raw_collection("dead_letters");
    let mut delivered = 0;
    for _ in 0..10 {
        let publisher = relay(&db);
        let relayed = publisher.run(async |delivery: Delivery| {
            let result = match delivery.data::<i64>()? {
                ..0 => Err(Error::new(ErrorKind::Network, "nobody is there")),
                _ => Ok(()),
            };
            match result {
                Err(error) if delivery.attempt >= 3 => {
                    let letter = doc! {"_id": format!("{}#{}", delivery.source, delivery.sequence), "error": error.to_string()};
                    dead.insert(letter).await.map(drop)
                }
                result => result,
            }
        });
        delivered += relayed.await.unwrap().delivered;
        seconds.fetch_add(1, Ordering::SeqCst);
    }
    assert_eq!((delivered, dead.count(doc! {}).await.unwrap()), (2, 1));
}

/// A consumer must not take the events of the second for those of the first.
async fn a_document_inserted_again_is_another_source(db: &Db) {
    let inbox = Inbox::new(db, "ledger");
    for round in 0..3 {
        note(db, 1).await;
        emit(db, 1, round).await;
        emit(db, 1, 10 + round).await;
        let expected = [(round, Received::Now(())), (10 + round, Received::Now(()))];
        assert_eq!(consume(db, &inbox).await, expected);
        emit(db, 1, 20 + round).await;
        assert_eq!(consume(db, &inbox).await, [(20 + round, Received::Now(()))]);
        let notes = db.collection::<Note>();
        notes.delete_one(|n| n.id.eq(1)).for_ever().await.unwrap();
    }
}

async fn events_of_softly_deleted_documents_are_published(db: &Db) {
    note(db, 1).await;
    emit(db, 1, 1).await;
    db.collection::<Note>().delete(1).await.unwrap();
    assert_eq!(run(&relay(db)).await, [(1, 1)]);
    let stored = db
        .collection::<Note>()
        .get(1)
        .with_deleted()
        .await
        .unwrap()
        .unwrap();
    assert_eq!((stored.outbox.events.len(), stored.gone.is_some()), (0, true));
}

async fn an_outbox_that_cannot_be_read_does_not_keep_others_back(db: &Db) {
    for id in [1, 2] {
        note(db, id).await;
        emit(db, id, id.into()).await;
    }
    let wrong = doc! {"$set": {"outbox.pruned": "three"}};
    db.raw_collection("outbox_notes")
        .update_one(doc! {"_id": 1}, wrong)
        .await
        .unwrap();
    let sent = Mutex::new(Vec::new());
    let publisher = relay(db);
    let relayed = publisher.run(async |delivery: Delivery| {
        sent.lock().unwrap().push(delivery.data::<i64>()?);
        Ok::<(), Error>(())
    });
    let error = relayed.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    let text = error.to_string();
    assert!(
        text.contains("Note") && text.contains("_id: 1") && text.contains("outbox"),
        "{text}"
    );
    assert_eq!(sent.into_inner().unwrap(), [2]);
}

async fn a_document_without_room_for_a_lease_does_not_keep_others_back(db: &Db) {
    for id in [1, 2] {
        note(db, id).await;
        emit(db, id, id.into()).await;
    }
    let raw = db.raw_collection("outbox_notes");
    raw.update_one(doc! {"_id": 1}, doc! {"$set": {"pad": ""}})
        .await
        .unwrap();
    let stored = raw.get(bson::Bson::Int32(1)).required().await.unwrap();
    let left = (16 << 20) - bson::serialize_to_vec(&stored).unwrap().len();
    raw.update_one(doc! {"_id": 1}, doc! {"$set": {"pad": "x".repeat(left)}})
        .await
        .unwrap();
    let sent = Mutex::new(Vec::new());
    for _ in 0..2 {
        let publisher = relay(db);
        let relayed = publisher.run(async |delivery: Delivery| {
            sent.lock().unwrap().push(delivery.data::<i64>()?);
            Ok::<(), Error>(())
        });
        let error = relayed.await.unwrap_err();
        assert_eq!(error.id(), Some(&bson::Bson::Int32(1)));
        assert!(error.to_string().contains("Note"), "{error}");
    }
    assert_eq!(*sent.lock().unwrap(), [2]);
    raw.update_one(doc! {"_id": 1}, doc! {"$unset": {"pad": ""}})
        .await
        .unwrap();
    assert_eq!(run(&relay(db)).await, [(1, 1)]);
}

/// It changes nothing that users of the document see.
async fn publishing_counts_no_version(db: &Db) {
    let (db, seconds) = clocked(db);
    note(&db, 1).await;
    emit(&db, 1, 1).await;
    let notes = db.collection::<Note>();
    let before = notes.get(1).required().await.unwrap();
    seconds.fetch_add(10, Ordering::SeqCst);
    assert_eq!(run(&relay(&db)).await, [(1, 1)]);
    let after = notes.get(1).required().await.unwrap();
    assert_eq!((after.version, after.changed), (before.version, before.changed));
    // Stored whole as it was read before, the document has its event again: under the same number of the same source.
    let inbox = Inbox::new(&db, "ledger");
    emit(&db, 1, 2).await;
    let read = notes.get(1).required().await.unwrap();
    assert_eq!(consume(&db, &inbox).await, [(2, Received::Gap { expected: 1 })]);
    let source = format!("outbox_notes/1/{}", read.outbox.first.unwrap());
    inbox.start_after(&source, 2).await.unwrap();
    notes.replace(&read).await.unwrap();
    assert_eq!(consume(&db, &inbox).await, [(2, Received::Before)]);
    emit(&db, 1, 3).await;
    assert_eq!(consume(&db, &inbox).await, [(3, Received::Now(()))]);
}
