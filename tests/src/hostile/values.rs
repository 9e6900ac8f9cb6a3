//! Hostile values as stored data: keys in order, patterns in bounded time.

use std::time::{Duration, Instant};

use bson::{Bson, Document, doc};
use odm::{Db, ResumeToken};

use super::{Budget, mutate};

/// Random values come out of an index in the order in which they are sorted without it; how many were stored.
pub async fn keys(budget: Budget) -> u64 {
    let mut count = 0;
    let mut stored = 0;
    let mut db = Db::open("memory:").await.expect("an engine in memory");
    for input in budget.seeds() {
        let random = &mut input.random();
        let values = db.raw_collection("values");
        let value = match mutate::value(random, 3) {
            Bson::Array(_) => Bson::Null,
            value => value,
        };
        if values
            .insert(doc! { "_id": count as i64, "v": value })
            .await
            .is_ok()
        {
            stored += 1;
        }
        count += 1;
        if count % 200 == 0 {
            let plain = values
                .find(doc! {})
                .sort_raw(doc! { "v": 1, "_id": 1 })
                .await
                .expect("it sorts");
            values
                .create_indexes()
                .index_raw(doc! { "key": { "v": 1, "_id": 1 }, "name": "v" })
                .await
                .expect("the index is built");
            let command =
                doc! { "find": "values", "sort": { "v": 1, "_id": 1 }, "hint": "v", "batchSize": 1000 };
            let indexed = db.run_command(command).await.expect("it sorts");
            let ids = |rows: Vec<&Document>| -> Vec<i64> {
                rows.iter().filter_map(|row| row.get_i64("_id").ok()).collect()
            };
            let batch = indexed
                .get_document("cursor")
                .and_then(|cursor| cursor.get_array("firstBatch"));
            let batch = batch
                .expect("a batch")
                .iter()
                .filter_map(Bson::as_document)
                .collect();
            assert_eq!(ids(plain.iter().collect()), ids(batch));
            assert!(db.check().await.expect("the check runs").is_clean());
            db = Db::open("memory:").await.expect("an engine in memory");
        }
    }
    stored
}

/// Patterns over 100 KB of text; how many. With `ODM_FUZZ_SECONDS` each must answer within a generous second; without
/// optimization, the ten million steps that a search with look-around or back references may take last longer. On a busy
/// machine so does all: what took too long must not have taken several times as long as a search of all those steps.
pub async fn patterns(budget: Budget) -> u64 {
    let most = if cfg!(debug_assertions) { 15 } else { 1 };
    let bound = std::env::var_os("ODM_FUZZ_SECONDS").map(|_| Duration::from_secs(most));
    let db = Db::open("memory:").await.expect("an engine in memory");
    let texts = db.raw_collection("texts");
    texts
        .insert(doc! { "t": "a".repeat(100_000) })
        .await
        .expect("a text goes in");
    let timed = async |pattern: Bson| {
        let start = Instant::now();
        drop(texts.count(doc! { "t": pattern }).await);
        start.elapsed()
    };
    let mut count = 0;
    for input in budget.seeds() {
        let pattern = mutate::pattern(&mut input.random());
        let shown = pattern.to_string();
        let took = timed(pattern).await;
        if bound.is_some_and(|bound| took >= bound) {
            let dearest = timed(doc! { "$regex": "(a|aa)+(?=b)" }.into()).await;
            assert!(took < 4 * dearest, "{shown} took {took:?}, all steps {dearest:?}");
        }
        count += 1;
    }
    count
}

/// Resume tokens of nonsense; how many.
pub async fn tokens(budget: Budget) -> u64 {
    let db = Db::open("memory:").await.expect("an engine in memory");
    let mut count = 0;
    for input in budget.seeds() {
        let random = &mut input.random();
        let length = random.below(80);
        let text: String = (0..length)
            .map(|_| match random.one_in(40) {
                true => 'x',
                false => *random.pick(&['0', '1', '2', '7', '8', 'A', 'F', 'f']),
            })
            .collect();
        if let Ok(token) = text.parse::<ResumeToken>() {
            let watch = db.watch().resume_after(&token);
            if let Ok(mut events) = watch.max_await_time(Duration::from_millis(1)).await {
                drop(events.next_if_any().await);
            }
        }
        count += 1;
    }
    count
}
