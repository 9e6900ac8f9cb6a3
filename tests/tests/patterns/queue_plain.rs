//! The book's queue, standard and capped.

use bson::{Bson, DateTime, doc};
use odm::{Db, ErrorKind};
use odm_patterns::queue::{PlainNames, PlainQueue};

use super::queue_model::{START, clocked};

crate::on_every_backend! {
    entries_are_taken_in_the_order_of_their_creation,
    existing_data_is_adopted_under_its_names,
    many_takers_take_each_entry_once,
    a_capped_queue_is_the_same_and_forgets,
}

async fn entries_are_taken_in_the_order_of_their_creation(db: &Db) {
    let (db, clock) = clocked(db);
    let (db, log) = db.logged();
    let queue: PlainQueue<String> = PlainQueue::new(&db, "queue");
    queue.prepare().await.unwrap();
    for (text, step) in [("second", -5), ("first", 10), ("third", 0)] {
        queue.push(&text.to_owned()).await.unwrap();
        clock.step(step);
    }
    log.take();
    let entry = queue.take().await.unwrap().unwrap();
    assert_eq!(
        (entry.message.as_str(), entry.created.timestamp_millis()),
        ("first", START - 5)
    );
    assert_eq!(log.counts(), [("findAndModify", 1)]);
    assert_eq!(queue.take_out().await.unwrap().unwrap().message, "second");
    assert_eq!(log.counts(), [("findAndModify", 2)]);
    assert_eq!(queue.statistics().await.unwrap(), (1, 1));
    let stored = queue
        .collection()
        .find(doc! { "_id": entry.id.clone() })
        .await
        .unwrap();
    let created = DateTime::from_millis(START - 5);
    assert_eq!(
        stored,
        [doc! { "_id": entry.id, "state": 0, "created": created, "message": "first" }]
    );
    let plan = format!("{:?}", queue.explain_take().await.unwrap());
    assert!(
        plan.contains("state_1_created_1") && !plan.contains("\"SORT\""),
        "{plan}"
    );
    assert_eq!(queue.take().await.unwrap().unwrap().message, "third");
    assert!(queue.take().await.unwrap().is_none() && queue.take_out().await.unwrap().is_none());
    assert_eq!(queue.prune(DateTime::from_millis(START)).await.unwrap(), 1);
    assert_eq!(queue.statistics().await.unwrap(), (0, 1));
}

async fn existing_data_is_adopted_under_its_names(db: &Db) {
    let rows = db.raw_collection("tasks");
    let at = DateTime::from_millis;
    rows.insert_many([
        doc! { "_id": 1, "status": "new", "at": at(2), "payload": { "to": "ann" } },
        doc! { "_id": 2, "status": "done", "at": at(0), "payload": { "to": "joe" } },
        doc! { "_id": 3, "status": "new", "at": at(1), "payload": { "to": "sue" } },
        doc! { "_id": 4, "status": "new", "at": at(3), "payload": "odd" },
        doc! { "_id": 5, "status": "new", "at": 4, "payload": {} },
    ])
    .await
    .unwrap();
    let names = PlainNames::fields("status", "at", "payload").states("new", "done");
    let queue: PlainQueue<bson::Document> = PlainQueue::with_names(db, "tasks", names);
    queue.prepare().await.unwrap();
    // A number is before all dates.
    let error = queue.take().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path(), error.id()),
        (ErrorKind::Decode, Some("at"), Some(&Bson::Int32(5)))
    );
    let entry = queue.take().await.unwrap().unwrap();
    assert_eq!((entry.id, entry.message), (Bson::Int32(3), doc! { "to": "sue" }));
    queue.push_many(&[doc! { "to": "tim" }]).await.unwrap();
    assert_eq!(queue.take().await.unwrap().unwrap().id, Bson::Int32(1));
    assert_eq!(queue.take().await.unwrap_err().kind(), ErrorKind::Decode);
    assert_eq!(queue.take().await.unwrap().unwrap().message, doc! { "to": "tim" });
    assert_eq!(queue.statistics().await.unwrap(), (0, 6));
}

async fn many_takers_take_each_entry_once(db: &Db) {
    let queue: PlainQueue<i32> = PlainQueue::new(db, "queue");
    queue.prepare().await.unwrap();
    queue.push_many(&(0..100).collect::<Vec<_>>()).await.unwrap();
    let takers = (0..6).map(|_| {
        let queue = queue.clone();
        tokio::spawn(async move {
            let mut mine = Vec::new();
            while let Some(entry) = queue.take().await.unwrap() {
                mine.push(entry.message);
            }
            mine
        })
    });
    let mut all = Vec::new();
    for taker in takers.collect::<Vec<_>>() {
        all.extend(taker.await.unwrap());
    }
    all.sort_unstable();
    assert_eq!(all, (0..100).collect::<Vec<_>>());
}

async fn a_capped_queue_is_the_same_and_forgets(db: &Db) {
    let (db, clock) = clocked(db);
    let queue: PlainQueue<String> = PlainQueue::new(&db, "queue");
    queue.prepare_capped(4_096).await.unwrap();
    assert_eq!(queue.prepare_capped(8_192).await.unwrap_err().code(), Some(48));
    for entry in 0..5 {
        queue.push(&format!("entry {entry}")).await.unwrap();
        clock.step(1);
    }
    let mut tail = queue.tail();
    for entry in 0..5 {
        let seen = tail.next().await.unwrap().unwrap();
        assert_eq!(seen.get_str("message").unwrap(), format!("entry {entry}"));
    }
    drop(tail);
    assert_eq!(queue.take().await.unwrap().unwrap().message, "entry 0");
    assert_eq!(queue.take_out().await.unwrap().unwrap().message, "entry 1");
    assert_eq!(queue.statistics().await.unwrap(), (3, 1));
    // Transactions cannot write to it.
    let refused = db.transaction(async |tx| {
        let queue: PlainQueue<String> = PlainQueue::new(&tx, "queue");
        queue.push(&"no".to_owned()).await
    });
    assert_eq!(refused.await.unwrap_err().code(), Some(263));
    // What nobody took makes room for what comes, without a word.
    for entry in 5..105 {
        queue
            .push(&format!("entry {entry} {}", "x".repeat(50)))
            .await
            .unwrap();
        clock.step(1);
    }
    let oldest = queue.take().await.unwrap().unwrap().message;
    assert!(oldest.as_str() > "entry 6" && oldest != "entry 2", "{oldest}");
    assert!(queue.statistics().await.unwrap().0 < 60);
}
