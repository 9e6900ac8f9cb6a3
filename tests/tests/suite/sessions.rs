//! Handles with concerns of their own, causally consistent sessions.

use std::time::Duration;

use bson::{Bson, Document, doc};
use odm::backend::{ReadConcern, ReadPreference, TransactionOptions, WriteConcern};
use odm::{CausalToken, Db, ErrorKind};
use odm_tests::sent::{level, recorded};

crate::on_every_backend! {
    a_handle_has_concerns_of_its_own,
    concerns_are_sent_with_what_they_are_about,
    concerns_that_cannot_be_had_are_refused,
    a_journaled_handle_flushes_each_write,
    a_transaction_has_the_concerns_of_its_handle,
    a_session_sees_what_came_before_in_it,
    a_session_sends_what_it_has_seen,
    a_session_goes_on_where_another_one_was,
    what_was_written_is_read_from_any_member,
    tokens_are_texts,
    sessions_and_concerns_are_not_of_transactions,
    wrapped_databases_pass_sessions_on,
    cursors_of_a_session_read_beside_its_writes,
}

async fn a_handle_has_concerns_of_its_own(db: &Db) {
    let safe = db
        .with_write_concern(WriteConcern::majority().timeout(Duration::from_secs(20)))
        .unwrap()
        .with_read_concern(ReadConcern::Majority)
        .unwrap()
        .with_read_preference(ReadPreference::PrimaryPreferred)
        .unwrap();
    assert_eq!((safe.name(), safe.backend_name()), (db.name(), db.backend_name()));
    let items = safe.raw_collection("items");
    items
        .insert_many((0..30).map(|n| doc! {"_id": n, "n": n % 3}))
        .await
        .unwrap();
    items
        .update_many(doc! {"n": 1}, doc! {"$inc": {"m": 1}})
        .await
        .unwrap();
    items.delete_one(doc! {"_id": 4}).await.unwrap();
    let found = items
        .find_one_and_update(doc! {"_id": 1}, doc! {"$set": {"x": 1}})
        .await;
    assert!(found.unwrap().is_some());
    assert_eq!(items.find(doc! {"m": 1}).batch_size(4).await.unwrap().len(), 9);
    assert_eq!(items.count(doc! {"n": 1}).await.unwrap(), 9);
    assert_eq!(items.estimated_count().await.unwrap(), 29);
    assert_eq!(items.distinct("n").await.unwrap().len(), 3);
    let sums = items
        .aggregate_raw([doc! {"$group": {"_id": null, "n": {"$sum": 1}}}])
        .await;
    assert_eq!(sums.unwrap()[0].get("n"), Some(&Bson::Int32(29)));
    drop(safe.raw_collection("items").watch().await.unwrap());
    // The database itself is as it was.
    assert_eq!(db.raw_collection("items").count(doc! {}).await.unwrap(), 29);
}

async fn concerns_are_sent_with_what_they_are_about(db: &Db) {
    let Some((db, sent)) = recorded(db).await else {
        return;
    };
    let items = db.raw_collection("items");
    items.insert(doc! {"_id": 1}).await.unwrap();
    items.find(doc! {}).await.unwrap();
    let plain = sent.take_all();
    assert!(
        plain
            .iter()
            .all(|command| !command.contains_key("writeConcern") && level(command).is_none())
    );

    let safe = db
        .with_write_concern(WriteConcern::members(1).journal(true))
        .unwrap()
        .with_read_concern(ReadConcern::Majority)
        .unwrap()
        .with_read_preference(ReadPreference::SecondaryPreferred)
        .unwrap();
    let concern = doc! {"w": 1, "j": true};
    let items = safe.raw_collection("items");
    items.insert(doc! {"_id": 2}).await.unwrap();
    assert_eq!(
        sent.only("insert").get_document("writeConcern").unwrap(),
        &concern
    );
    items
        .update_one(doc! {"_id": 2}, doc! {"$set": {"a": 1}})
        .await
        .unwrap();
    assert_eq!(
        sent.only("update").get_document("writeConcern").unwrap(),
        &concern
    );
    items
        .update_one(doc! {"_id": 2}, doc! {"$set": {"a": 2}})
        .max_time(Duration::from_secs(9))
        .await
        .unwrap();
    assert_eq!(
        sent.only("update").get_document("writeConcern").unwrap(),
        &concern
    );
    items.delete_many(doc! {"_id": 7}).await.unwrap();
    assert_eq!(
        sent.only("delete").get_document("writeConcern").unwrap(),
        &concern
    );
    items.find_one_and_delete(doc! {"_id": 2}).await.unwrap();
    assert_eq!(
        sent.only("findAndModify").get_document("writeConcern").unwrap(),
        &concern
    );
    items.find(doc! {}).await.unwrap();
    let find = sent.only("find");
    assert_eq!(level(&find), Some("majority"));
    let preference = find.get_document("$readPreference").unwrap();
    assert_eq!(preference.get_str("mode").unwrap(), "secondaryPreferred");
    items.count(doc! {}).await.unwrap();
    assert_eq!(level(&sent.only("aggregate")), Some("majority"));
    items.distinct("a").await.unwrap();
    assert_eq!(level(&sent.only("distinct")), Some("majority"));
    let index = doc! {"key": {"a": 1}, "name": "a"};
    safe.raw_collection("items")
        .create_indexes()
        .index_raw(index)
        .await
        .unwrap();
    assert_eq!(
        sent.only("createIndexes").get_document("writeConcern").unwrap(),
        &concern
    );
    safe.create_collection("others").await.unwrap();
    assert_eq!(
        sent.only("create").get_document("writeConcern").unwrap(),
        &concern
    );
    safe.drop_collection("others").await.unwrap();
    assert_eq!(sent.only("drop").get_document("writeConcern").unwrap(), &concern);
    // Changes are told by majority, whatever else is read.
    let local = db.with_read_concern(ReadConcern::Local).unwrap();
    drop(local.raw_collection("items").watch().await.unwrap());
    assert_eq!(level(&sent.only("aggregate")), Some("majority"));
    for (concern, expected) in [
        (ReadConcern::Local, "local"),
        (ReadConcern::Available, "available"),
        (ReadConcern::Linearizable, "linearizable"),
        (ReadConcern::Snapshot, "snapshot"),
    ] {
        db.with_read_concern(concern)
            .unwrap()
            .raw_collection("items")
            .find(doc! {"_id": 1})
            .await
            .unwrap();
        assert_eq!(level(&sent.only("find")), Some(expected));
    }
}

async fn concerns_that_cannot_be_had_are_refused(db: &Db) {
    let nobody = db.with_write_concern(WriteConcern::members(0)).unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::InvalidArgument, "{nobody}");
    let several = db.with_write_concern(WriteConcern::members(50));
    match db.backend_name() {
        "mongodb" => {
            // The server knows how many it has.
            let error = several
                .unwrap()
                .raw_collection("items")
                .insert(doc! {"_id": 1})
                .await
                .unwrap_err();
            assert_eq!(
                (error.kind(), error.code()),
                (ErrorKind::InDoubt, Some(100)),
                "{error}"
            );
            assert_eq!(db.raw_collection("items").count(doc! {}).await.unwrap(), 1);
        }
        _ => assert_eq!(several.unwrap_err().kind(), ErrorKind::Unsupported),
    }
    let journaled = db.with_write_concern(WriteConcern::members(1).journal(true));
    assert_eq!(journaled.is_err(), db.backend_name() == "memory");
}

async fn a_journaled_handle_flushes_each_write(db: &Db) {
    if db.backend_name() != "native" {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let url = format!("native:{}?durability=none", directory.path().display());
    let db = Db::open(&url).await.unwrap();
    let fsyncs = async || db.store_statistics().await.unwrap().file.unwrap().fsyncs;
    let items = db.raw_collection("items");
    items.insert(doc! {"_id": 1}).await.unwrap();
    let before = fsyncs().await;
    items.insert(doc! {"_id": 2}).await.unwrap();
    assert_eq!(fsyncs().await, before);
    let safe = db
        .with_write_concern(WriteConcern::majority().journal(true))
        .unwrap();
    let items = safe.raw_collection("items");
    let mut last = before;
    let mut flushed = async || {
        let now = fsyncs().await;
        std::mem::replace(&mut last, now) < now
    };
    items.insert(doc! {"_id": 3}).await.unwrap();
    assert!(flushed().await);
    items.find(doc! {}).await.unwrap();
    assert!(!flushed().await);
    let change = items.find_one_and_update(doc! {"_id": 3}, doc! {"$set": {"a": 1}});
    change.await.unwrap();
    assert!(flushed().await);
    let limited = items.update_one(doc! {"_id": 3}, doc! {"$set": {"a": 2}});
    limited.max_time(Duration::from_secs(9)).await.unwrap();
    assert!(flushed().await);
    let write = async |tx: odm::Tx| tx.raw_collection("items").insert(doc! {"_id": 4}).await;
    safe.transaction(write).await.unwrap();
    assert!(flushed().await);
    let plain = safe.with_write_concern(WriteConcern::majority().journal(false));
    let plain = plain.unwrap();
    plain
        .raw_collection("items")
        .insert(doc! {"_id": 5})
        .await
        .unwrap();
    assert!(!flushed().await);
    // What a refused write leaves is nothing, and is told as it is.
    let error = items.insert(doc! {"_id": 3}).await.unwrap_err();
    assert!(error.is_duplicate_key());
}

async fn a_transaction_has_the_concerns_of_its_handle(db: &Db) {
    let Some((db, sent)) = recorded(db).await else {
        return;
    };
    let safe = db
        .with_write_concern(WriteConcern::majority())
        .unwrap()
        .with_read_concern(ReadConcern::Snapshot)
        .unwrap();
    safe.transaction(async |tx| {
        let items = tx.raw_collection("items");
        items.insert(doc! {"_id": 1}).await?;
        items.count(doc! {}).await
    })
    .await
    .unwrap();
    let all = sent.take_all();
    let of = |name: &str| all.iter().find(|command| command.contains_key(name)).unwrap();
    assert_eq!(level(of("insert")), Some("snapshot"));
    assert!(!of("insert").contains_key("writeConcern"));
    assert_eq!(
        of("commitTransaction")
            .get_document("writeConcern")
            .unwrap()
            .get_str("w")
            .unwrap(),
        "majority"
    );
    // What its own options say goes before.
    let options = TransactionOptions::new()
        .read_concern(ReadConcern::Majority)
        .write_concern(WriteConcern::members(1));
    let write = async |tx: odm::Tx| tx.raw_collection("items").insert(doc! {"_id": 2}).await;
    safe.transaction_with(options, write).await.unwrap();
    let all = sent.take_all();
    let of = |name: &str| all.iter().find(|command| command.contains_key(name)).unwrap();
    assert_eq!(level(of("insert")), Some("majority"));
    assert_eq!(
        of("commitTransaction")
            .get_document("writeConcern")
            .unwrap()
            .get_i32("w")
            .unwrap(),
        1
    );
}

async fn a_session_sees_what_came_before_in_it(db: &Db) {
    let session = db.causal_session().await.unwrap();
    let items = session.raw_collection("items");
    for n in 0..20_i64 {
        items.insert(doc! {"_id": n}).await.unwrap();
        assert_eq!(items.count(doc! {}).await.unwrap(), n.unsigned_abs() + 1);
    }
    items
        .update_many(doc! {"_id": {"$lt": 5}}, doc! {"$set": {"a": 1}})
        .await
        .unwrap();
    assert_eq!(items.find(doc! {"a": 1}).batch_size(2).await.unwrap().len(), 5);
    assert_eq!(items.distinct("a").await.unwrap(), [Bson::Int32(1)]);
    assert!(
        items
            .find_one_and_delete(doc! {"_id": 0})
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(items.estimated_count().await.unwrap(), 19);
    // A transaction sees the session, and the session its transaction.
    let seen = session.transaction(async |tx| {
        let items = tx.raw_collection("items");
        items.insert(doc! {"_id": 100}).await?;
        items.count(doc! {}).await
    });
    assert_eq!(seen.await.unwrap(), 20);
    assert_eq!(items.count(doc! {}).await.unwrap(), 20);
    // So do other databases, clones and handles with concerns.
    let other = session.database(&format!("{}_2", db.name())).unwrap();
    other
        .raw_collection("items")
        .insert(doc! {"_id": 1})
        .await
        .unwrap();
    assert_eq!(other.raw_collection("items").count(doc! {}).await.unwrap(), 1);
    other.drop().await.unwrap();
    let majority = session.clone().with_read_concern(ReadConcern::Majority).unwrap();
    assert_eq!(majority.raw_collection("items").count(doc! {}).await.unwrap(), 20);
    // Many at once wait for each other.
    let all = (200..240).map(|n| {
        let items = session.raw_collection("items");
        tokio::spawn(async move { items.insert(doc! {"_id": n}).await })
    });
    for one in all.collect::<Vec<_>>() {
        one.await.unwrap().unwrap();
    }
    assert_eq!(items.count(doc! {}).await.unwrap(), 60);
    let reply = session.run_command(doc! {"ping": 1}).await.unwrap();
    assert_eq!(reply.get_f64("ok").unwrap(), 1.0);
}

async fn a_session_sends_what_it_has_seen(db: &Db) {
    let Some((db, sent)) = recorded(db).await else {
        return;
    };
    let after = |command: &Document| {
        let concern = command.get_document("readConcern").ok()?;
        concern.get_timestamp("afterClusterTime").ok()
    };
    let session = db.causal_session().await.unwrap();
    let items = session.raw_collection("items");
    items.find(doc! {}).await.unwrap();
    assert_eq!(after(&sent.only("find")), None);
    items.insert(doc! {"_id": 1}).await.unwrap();
    items.find(doc! {}).await.unwrap();
    let first = after(&sent.only("find")).expect("what was written is seen");
    session
        .transaction(async |tx| tx.raw_collection("items").insert(doc! {"_id": 2}).await)
        .await
        .unwrap();
    let begun = sent.only("insert");
    assert!(after(&begun).expect("a transaction begins behind its session") >= first);
    items.count(doc! {}).await.unwrap();
    assert!(after(&sent.only("aggregate")).unwrap() > first);
    // Without a session nothing is waited for.
    db.raw_collection("items").find(doc! {}).await.unwrap();
    assert_eq!(after(&sent.only("find")), None);
}

async fn a_session_goes_on_where_another_one_was(db: &Db) {
    let first = db.causal_session().await.unwrap();
    assert!(first.token().await.unwrap().is_none());
    first
        .raw_collection("items")
        .insert(doc! {"_id": 1})
        .await
        .unwrap();
    let token = first.token().await.unwrap();
    assert_eq!(token.is_some(), db.backend_name() == "mongodb");
    let second = db.causal_session().await.unwrap();
    let Some(token) = token else {
        // A token of a server means nothing to the engine.
        let text = "CgAAAAphAGI";
        assert_eq!(
            text.parse::<CausalToken>().unwrap_err().kind(),
            ErrorKind::InvalidArgument
        );
        return;
    };
    let read: CausalToken = token.to_string().parse().unwrap();
    assert_eq!(read, token);
    second.advance_to(&read).await.unwrap();
    assert_eq!(second.token().await.unwrap(), Some(token.clone()));
    assert_eq!(second.raw_collection("items").count(doc! {}).await.unwrap(), 1);
    // An older one takes nothing back.
    second
        .raw_collection("items")
        .insert(doc! {"_id": 2})
        .await
        .unwrap();
    let newer = second.token().await.unwrap().unwrap();
    second.advance_to(&token).await.unwrap();
    assert_eq!(second.token().await.unwrap(), Some(newer));
    // One session of another goes on behind it.
    let third = second.causal_session().await.unwrap();
    assert!(third.token().await.unwrap().is_some());
}

/// On a replica set of several members the reads go to secondaries, which are behind.
async fn what_was_written_is_read_from_any_member(db: &Db) {
    let elsewhere = db
        .with_read_preference(ReadPreference::SecondaryPreferred)
        .unwrap();
    let own = elsewhere.causal_session().await.unwrap();
    for n in 0..100_i32 {
        own.raw_collection("items").insert(doc! {"_id": n}).await.unwrap();
        assert!(own.raw_collection("items").exists(doc! {"_id": n}).await.unwrap());
        let other = elsewhere.causal_session().await.unwrap();
        if let Some(token) = own.token().await.unwrap() {
            other.advance_to(&token).await.unwrap();
        }
        let found = other
            .raw_collection("items")
            .find(doc! {})
            .batch_size(30)
            .await
            .unwrap();
        assert_eq!(found.len(), n as usize + 1);
        let then = other.snapshot().await.unwrap();
        assert!(
            then.raw_collection("items")
                .exists(doc! {"_id": n})
                .await
                .unwrap()
        );
    }
}

async fn tokens_are_texts(db: &Db) {
    let session = db.causal_session().await.unwrap();
    for wrong in ["", "?", "zzzz", "AAAA", "BQAAAAA=", "äöü", "CgAAAAphAGIAA"] {
        let error = wrong.parse::<CausalToken>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong}");
    }
    // An empty document is none of a session's.
    let empty: CausalToken = "BQAAAAA".parse().unwrap();
    let advanced = session.advance_to(&empty).await;
    match db.backend_name() {
        "mongodb" => assert_eq!(advanced.unwrap_err().kind(), ErrorKind::InvalidArgument),
        _ => advanced.unwrap(),
    }
    let json = serde_json::to_string(&empty).unwrap();
    assert_eq!(json, "\"BQAAAAA\"");
    assert_eq!(serde_json::from_str::<CausalToken>(&json).unwrap(), empty);
    assert_eq!(format!("{empty:?}"), "CausalToken(BQAAAAA)");
}

async fn sessions_and_concerns_are_not_of_transactions(db: &Db) {
    let tx = db.begin().await.unwrap();
    let errors = [
        tx.causal_session().await.map(drop).unwrap_err(),
        tx.snapshot().await.map(drop).unwrap_err(),
        tx.with_read_preference(ReadPreference::Primary)
            .map(drop)
            .unwrap_err(),
        tx.with_read_concern(ReadConcern::Local).map(drop).unwrap_err(),
        tx.with_write_concern(WriteConcern::majority())
            .map(drop)
            .unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    tx.raw_collection("items").insert(doc! {"_id": 1}).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(db.raw_collection("items").count(doc! {}).await.unwrap(), 1);
}

async fn wrapped_databases_pass_sessions_on(db: &Db) {
    let (logged, log) = db.logged();
    let session = logged.causal_session().await.unwrap();
    session
        .raw_collection("items")
        .insert(doc! {"_id": 1})
        .await
        .unwrap();
    let safe = logged.with_read_concern(ReadConcern::Majority).unwrap();
    assert_eq!(safe.raw_collection("items").count(doc! {}).await.unwrap(), 1);
    let then = logged.snapshot().await.unwrap();
    assert_eq!(then.raw_collection("items").count(doc! {}).await.unwrap(), 1);
    assert_eq!((log.count("insert"), log.count("count")), (1, 2));
    let (faulty, faults) = db.faulty();
    let session = faulty.causal_session().await.unwrap();
    faults.add(odm::backend::wrap::Fault::nth_write(1));
    let error = session
        .raw_collection("items")
        .insert(doc! {"_id": 2})
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network);
    let (watched, scans) = db.watch_scans();
    let session = watched.causal_session().await.unwrap();
    session.raw_collection("items").find(doc! {"a": 1}).await.unwrap();
    assert_eq!(scans.entries().len(), 1);
}

async fn cursors_of_a_session_read_beside_its_writes(db: &Db) {
    let session = db.causal_session().await.unwrap();
    let items = session.raw_collection("items");
    items.insert_many((0..50).map(|n| doc! {"_id": n})).await.unwrap();
    let mut cursor = items.find(doc! {"_id": {"$lt": 50}}).batch_size(7).stream();
    let mut read = 0;
    while let Some(found) = cursor.next().await {
        let id = found.unwrap().get_i32("_id").unwrap();
        items.insert(doc! {"_id": 1_000 + id}).await.unwrap();
        read += 1;
    }
    assert_eq!(read, 50);
    assert_eq!(items.count(doc! {}).await.unwrap(), 100);
}
