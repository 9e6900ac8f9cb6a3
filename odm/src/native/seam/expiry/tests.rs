//! What the thread does, and what does not keep it from doing it.

use std::sync::Mutex;

use bson::{Bson, Document, RawDocumentBuf, doc};

use super::super::super::engine::{Durability, Location};
use super::super::super::storage::Write;
use super::super::{NativeBackend, Opening, open};
use super::*;
use crate::backend::{Backend, Operation, Response, RunCommand};
use crate::db;

static WARNED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn warn(error: &Error) {
    WARNED.lock().unwrap().push(format!("{error}"));
}

fn opened(every: Duration) -> NativeBackend {
    let opening = Opening {
        expiry: every,
        cache_bytes: 1 << 20,
        transaction_lifetime: Duration::from_secs(60),
        read_only: false,
        changes: db::ChangeLog::default(),
        warn,
    };
    open(Location::Memory, "memory", Durability::None, opening).unwrap()
}

fn command(backend: &dyn Backend, command: Document) -> Document {
    let command = RawDocumentBuf::try_from(&command).unwrap();
    let operation = Operation::from(RunCommand {
        database: "db".to_owned(),
        command,
    });
    match wait(backend.execute(operation)).unwrap() {
        Response::Document(Some(reply)) => reply.try_into().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// A collection with a TTL index and so many documents whose time is over.
fn expiring(backend: &NativeBackend, name: &str, count: i32) {
    let index = doc! { "key": { "at": 1 }, "name": "at", "expireAfterSeconds": 0 };
    command(backend, doc! { "createIndexes": name, "indexes": [index] });
    let at = bson::DateTime::from_millis(0);
    let documents: Vec<Bson> = (0..count).map(|n| doc! { "_id": n, "at": at }.into()).collect();
    if count > 0 {
        command(backend, doc! { "insert": name, "documents": documents });
    }
}

fn count(backend: &NativeBackend, name: &str) -> i32 {
    command(backend, doc! { "count": name }).get_i32("n").unwrap()
}

/// Waits until it is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Writes where a document should be what is none.
fn damage(backend: &NativeBackend, name: &'static str, record: u64) {
    let job = move |write: &mut dyn Write| {
        let records = write.catalog().collection("db", name).unwrap().records;
        write.put(records, &record.to_be_bytes(), b"damaged")
    };
    wait(backend.engine.write(job)).unwrap();
}

/// What the thread does when it is time.
fn round(backend: &NativeBackend) {
    let (mut keeper, _stop) = Keeper::new(&backend.engine, &backend.cursors, (warn, "memory"));
    keeper.delete_expired();
}

#[test]
fn one_round_deletes_all_that_has_expired() {
    let backend = opened(Duration::MAX);
    expiring(&backend, "c", 4_500);
    let options = doc! { "create": "s", "timeseries": { "timeField": "t", "metaField": "m" }, "expireAfterSeconds": 60 };
    command(&backend, options);
    let measures: Vec<Bson> = (0..2_500)
        .map(|n| doc! { "t": bson::DateTime::from_millis(1_600_000_000_000), "m": n % 7 }.into())
        .collect();
    command(&backend, doc! { "insert": "s", "documents": measures });
    assert_eq!((count(&backend, "c"), count(&backend, "s")), (4_500, 2_500));
    let commits = || backend.engine.statistics(false).unwrap().commits;
    let before = commits();
    round(&backend);
    assert_eq!((count(&backend, "c"), count(&backend, "s")), (0, 0));
    // Others write in between.
    assert_eq!(commits() - before, 5 + 3);
}

/// A damaged document, and more documents that a transaction holds than a run looks at.
#[test]
fn what_cannot_be_deleted_is_in_nobodys_way() {
    let backend = opened(Duration::MAX);
    for name in ["a", "b", "z"] {
        expiring(&backend, name, 0);
    }
    let at = bson::DateTime::from_millis(0);
    // The first half comes first, and is held when its time is over.
    let soon = bson::DateTime::now().timestamp_millis() + 3_000;
    let documents: Vec<Bson> = (0..3_000)
        .map(|n| doc! { "_id": n, "at": bson::DateTime::from_millis(soon + i64::from(n >= 1_500)) }.into())
        .collect();
    command(&backend, doc! { "insert": "b", "documents": documents });
    let held = wait(backend.begin(Default::default())).unwrap();
    let touch = doc! { "q": { "_id": { "$lt": 1_500 } }, "u": { "$set": { "x": 1 } }, "multi": true };
    command(&*held, doc! { "update": "b", "updates": [touch] });
    let documents = vec![doc! { "_id": 1, "at": at }, doc! { "_id": 2, "at": at }];
    command(&backend, doc! { "insert": "a", "documents": documents });
    damage(&backend, "a", 1);
    command(
        &backend,
        doc! { "insert": "z", "documents": [{ "_id": 1, "at": at }] },
    );
    while bson::DateTime::now().timestamp_millis() < soon + 10 {
        std::thread::sleep(Duration::from_millis(10));
    }
    round(&backend);
    assert_eq!((count(&backend, "b"), count(&backend, "z")), (1_500, 0));
    // A filter reads documents.
    let other = command(&backend, doc! { "find": "a", "filter": { "_id": 2 } });
    let other = other
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert!(other.is_empty());
    let warned = WARNED.lock().unwrap().clone();
    assert!(
        warned.iter().any(|text| text.contains("collection: db.a")),
        "{warned:?}"
    );
    wait(held.abort());
    round(&backend);
    assert_eq!(count(&backend, "b"), 0);
}

#[test]
fn idle_cursors_are_closed() {
    let backend = opened(Duration::MAX);
    let documents: Vec<Bson> = (0..10).map(|n| doc! { "_id": n }.into()).collect();
    command(&backend, doc! { "insert": "c", "documents": documents });
    let find = doc! { "find": "c", "batchSize": 2 };
    let reply = command(&backend, find);
    let id = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
    backend
        .cursors
        .close_idle(Instant::now() + Duration::from_secs(599));
    let more = command(
        &backend,
        doc! { "getMore": id, "collection": "c", "batchSize": 2 },
    );
    assert_eq!(more.get_document("cursor").unwrap().get_i64("id").unwrap(), id);
    assert_eq!(backend.cursors.count(), 1);
    // The documents that it reads are those of a state that it keeps.
    assert_eq!(backend.engine.statistics(false).unwrap().views, 1);
    let stays = doc! { "find": "c", "batchSize": 2, "noCursorTimeout": true };
    command(&backend, stays);
    backend
        .cursors
        .close_idle(Instant::now() + Duration::from_secs(601));
    assert_eq!(backend.cursors.count(), 1);
}

/// A handle with another write concern is enough for the engine to be open, and for its documents to expire.
#[test]
fn documents_expire_as_long_as_any_handle_is_there() {
    let backend = opened(Duration::from_millis(100));
    expiring(&backend, "c", 0);
    let other = backend.clone();
    let other = NativeBackend {
        engine: Arc::new(other.engine.acknowledging(true)),
        ..other
    };
    drop(backend);
    std::thread::sleep(Duration::from_millis(250));
    expiring(&other, "c", 5);
    until("they are deleted", || count(&other, "c") == 0);
}
