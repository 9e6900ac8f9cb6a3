//! Streams and operations of sessions and transactions that nobody asks for a while.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bson::{Document, doc};
use futures_util::FutureExt;
use odm::{Cursor, Db};

use odm_tests::sent::recorded;

crate::on_every_backend! {
    a_stream_that_waits_is_in_nobodys_way,
    a_stream_that_waits_is_in_nobodys_way_in_a_transaction,
    a_transaction_ends_beside_a_stream_that_waits,
    an_operation_that_waits_is_in_nobodys_way,
    a_stream_that_is_dropped_while_it_waits_is_in_nobodys_way,
    a_tailing_find_begins_behind_its_session,
}

const COUNT: i32 = 20;

/// It was for ever.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    let work = tokio::time::timeout(Duration::from_secs(10), work);
    work.await.expect("nothing is in the way")
}

async fn fill(db: &Db) {
    let items = db.raw_collection("items");
    items
        .insert_many((0..COUNT).map(|n| doc! {"_id": n}))
        .await
        .unwrap();
    db.raw_collection("others")
        .insert(doc! {"_id": -1})
        .await
        .unwrap();
}

fn stream(db: &Db) -> Cursor<Document> {
    let all = db.raw_collection("items").find(doc! {}).sort_raw(doc! {"_id": 1});
    all.batch_size(3).stream()
}

/// Reads all, and does something else whenever there is nothing yet.
async fn read_beside(db: &Db, mut other: impl AsyncFnMut(i32)) {
    let mut stream = stream(db);
    for id in 0..COUNT {
        let next = match stream.next().now_or_never() {
            Some(next) => next,
            None => {
                soon(other(id)).await;
                soon(stream.next()).await
            }
        };
        assert_eq!(next.unwrap().unwrap().get_i32("_id").unwrap(), id);
    }
    assert!(soon(stream.next()).await.is_none());
}

async fn a_stream_that_waits_is_in_nobodys_way(db: &Db) {
    fill(db).await;
    let session = db.causal_session().await.unwrap();
    read_beside(&session, async |id| {
        let others = session.raw_collection("others");
        others.insert(doc! {"_id": id}).await.unwrap();
        assert!(others.exists(doc! {"_id": id}).await.unwrap());
        let token = session.token().await.unwrap();
        if let Some(token) = token {
            session.advance_to(&token).await.unwrap();
        }
        let then = session.snapshot().await.unwrap();
        assert!(
            then.raw_collection("others")
                .exists(doc! {"_id": id})
                .await
                .unwrap()
        );
        let update = async |tx: odm::Tx| {
            let others = tx.raw_collection("others");
            others.update_one(doc! {"_id": id}, doc! {"$set": {"a": 1}}).await
        };
        assert_eq!(session.transaction(update).await.unwrap().modified, 1);
    })
    .await;
}

async fn a_stream_that_waits_is_in_nobodys_way_in_a_transaction(db: &Db) {
    fill(db).await;
    for is_known in [false, true] {
        let tx = db.begin().await.unwrap();
        if is_known {
            assert!(tx.raw_collection("items").exists(doc! {"_id": 0}).await.unwrap());
        }
        read_beside(&tx, async |id| {
            let others = tx.raw_collection("others");
            let insert = others.insert(doc! {"_id": id + if is_known { 1_000 } else { 0 }});
            insert.await.unwrap();
        })
        .await;
        soon(tx.commit()).await.unwrap();
    }
}

async fn a_transaction_ends_beside_a_stream_that_waits(db: &Db) {
    fill(db).await;
    for is_committed in [false, true] {
        let tx = db.begin().await.unwrap();
        let insert = tx.raw_collection("others").insert(doc! {"_id": 1});
        insert.await.unwrap();
        let mut stream = stream(&tx);
        let first = stream.next().now_or_never();
        match is_committed {
            true => soon(tx.commit()).await.unwrap(),
            false => soon(tx.abort()).await,
        }
        if first.is_none() {
            // It was asked before the end, and may have been answered.
            drop(soon(stream.next()).await);
        }
        let there = db.raw_collection("others").exists(doc! {"_id": 1}).await;
        assert_eq!(there.unwrap(), is_committed);
    }
}

async fn an_operation_that_waits_is_in_nobodys_way(db: &Db) {
    fill(db).await;
    let session = db.causal_session().await.unwrap();
    let tx = db.begin().await.unwrap();
    assert!(tx.raw_collection("items").exists(doc! {"_id": 0}).await.unwrap());
    for (own, id) in [(&*session, 1), (&*tx, 2)] {
        let others = own.raw_collection("others");
        let mut waiting = pin!(async { others.insert(doc! {"_id": id}).await });
        let is_done = poll_fn(|ctx| Poll::Ready(waiting.as_mut().poll(ctx).is_ready())).await;
        let other = own.raw_collection("others");
        assert!(
            soon(async { other.exists(doc! {"_id": -1}).await })
                .await
                .unwrap()
        );
        if !is_done {
            soon(waiting).await.unwrap();
        }
    }
    soon(tx.commit()).await.unwrap();
    assert_eq!(db.raw_collection("others").count(doc! {}).await.unwrap(), 3);
}

async fn a_stream_that_is_dropped_while_it_waits_is_in_nobodys_way(db: &Db) {
    fill(db).await;
    let session = db.causal_session().await.unwrap();
    for n in 0..10 {
        let mut stream = stream(&session);
        for _ in 0..n {
            soon(stream.next()).await.unwrap().unwrap();
        }
        drop(stream.next().now_or_never());
        drop(stream);
        let insert = session.raw_collection("others").insert(doc! {"_id": n});
        soon(async { insert.await }).await.unwrap();
    }
}

async fn a_tailing_find_begins_behind_its_session(db: &Db) {
    let create = doc! {"create": "log", "capped": true, "size": 100_000};
    db.run_command(create).await.unwrap();
    let recorded = recorded(db).await;
    let db = recorded.as_ref().map_or(db, |(db, _)| db);
    let session = db.causal_session().await.unwrap();
    let log = session.raw_collection("log");
    log.insert(doc! {"_id": 0}).await.unwrap();
    if let Some((_, sent)) = &recorded {
        sent.take("find");
    }
    let mut entries = log.find(doc! {}).tail();
    for id in 0..5 {
        let entry = entries.next().await.unwrap().unwrap();
        assert_eq!(entry.get_i32("_id").unwrap(), id);
        // It waits beside the session.
        let waiting = tokio::time::timeout(Duration::from_millis(20), entries.next());
        assert!(waiting.await.is_err());
        let insert = async { log.insert(doc! {"_id": id + 1}).await };
        let insert = tokio::time::timeout(Duration::from_millis(700), insert);
        insert.await.expect("nothing is in the way").unwrap();
    }
    if let Some((_, sent)) = &recorded {
        let find = sent.only("find");
        let concern = find.get_document("readConcern").unwrap();
        assert!(concern.get_timestamp("afterClusterTime").is_ok(), "{find}");
    }
    let mut nothing = log.find(doc! {"_id": -1}).tail();
    let waiting = tokio::time::timeout(Duration::from_millis(20), nothing.next());
    assert!(waiting.await.is_err());
}
