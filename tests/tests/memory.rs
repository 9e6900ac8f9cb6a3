//! What only a database in memory can be asked: expiry by a clock of its own, and no disk to spill to.

#[tokio::test]
async fn documents_expire_by_their_dates() {
    use bson::{Bson, DateTime, doc};
    use std::time::Duration;

    let db = odm::Db::options()
        .expiry_interval(Duration::from_millis(20))
        .open("memory:")
        .await
        .unwrap();
    let sessions = db.raw_collection("sessions");
    let raw = odm_tests::raw::RawCollection::new(&db, "sessions");
    raw.create_index(&doc! { "key": { "at": 1 }, "name": "at_1", "expireAfterSeconds": 3600 })
        .await
        .unwrap();
    let now = DateTime::now().timestamp_millis();
    let (old, new) = (
        DateTime::from_millis(now - 7_200_000),
        DateTime::from_millis(now + 7_200_000),
    );
    sessions
        .insert_many([
            doc! { "_id": "old", "at": old },
            doc! { "_id": "any old", "at": [new, old] },
            doc! { "_id": "in an array with others", "at": ["x", 5, old] },
            doc! { "_id": "new", "at": new },
            doc! { "_id": "fresh", "at": DateTime::now() },
            doc! { "_id": "a number", "at": 5 },
            doc! { "_id": "a text", "at": "1970-01-01" },
            doc! { "_id": "a timestamp", "at": Bson::Timestamp(bson::Timestamp { time: 1, increment: 1 }) },
            doc! { "_id": "nothing" },
            doc! { "_id": "null", "at": Bson::Null },
        ])
        .await
        .unwrap();
    for _ in 0..500 {
        if sessions.estimated_count().await.unwrap() <= 7 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_millis(60)).await;
    let mut left: Vec<String> = sessions
        .find_all()
        .await
        .unwrap()
        .iter()
        .map(|row| row.get_str("_id").unwrap().to_owned())
        .collect();
    left.sort();
    assert_eq!(
        left,
        [
            "a number",
            "a text",
            "a timestamp",
            "fresh",
            "new",
            "nothing",
            "null"
        ]
    );
    sessions.modify().expire_after_seconds("at_1", 0).await.unwrap();
    for _ in 0..500 {
        if sessions.estimated_count().await.unwrap() == 6 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(sessions.estimated_count().await.unwrap(), 6);
    assert!(db.check().await.unwrap().is_clean());
}

/// A server of version 6 spills to disk unless told not to; the engine has no disk to spill to, so that more than
/// 100 MB is an error unless the program allows it.
#[tokio::test]
async fn a_sort_of_more_than_100_mb_must_be_allowed() {
    use bson::doc;

    let db = odm::Db::open("memory:").await.unwrap();
    let large = db.raw_collection("large");
    let text = "x".repeat(15 << 20);
    for id in 0..8 {
        large
            .insert(doc! { "_id": id, "k": -id, "s": &text })
            .await
            .unwrap();
    }
    let sort = || large.aggregate_raw([doc! { "$sort": { "k": 1 } }, doc! { "$project": { "s": 0 } }]);
    assert_eq!(sort().await.unwrap_err().code(), Some(292));
    assert_eq!(sort().allow_disk_use().await.unwrap().len(), 8);
    // An index has the order, and the first few are few.
    let first = large.aggregate_raw([
        doc! { "$sort": { "_id": -1 } },
        doc! { "$limit": 2 },
        doc! { "$project": { "s": 0 } },
    ]);
    assert_eq!(first.await.unwrap().len(), 2);
    // A find may use a disk where nobody says that it must not.
    let find = doc! { "find": "large", "sort": { "k": 1 }, "batchSize": 1 };
    db.run_command(find.clone()).await.unwrap();
    let mut find = find;
    find.insert("allowDiskUse", false);
    assert_eq!(db.run_command(find).await.unwrap_err().code(), Some(292));
    let of_view = doc! { "create": "seen", "viewOn": "large", "pipeline": [{ "$set": { "q": 1 } }] };
    db.run_command(of_view).await.unwrap();
    let find = doc! { "find": "seen", "sort": { "k": 1 }, "batchSize": 1, "allowDiskUse": false };
    assert_eq!(db.run_command(find).await.unwrap_err().code(), Some(292));
    // What several pipelines get a server gives to them a part at a time.
    let several =
        doc! { "first": [{ "$limit": 2 }, { "$project": { "_id": 1 } }], "count": [{ "$count": "n" }] };
    let found = large.aggregate_raw([doc! { "$facet": several }]).await.unwrap();
    let expected = doc! { "first": [{ "_id": 0 }, { "_id": 1 }], "count": [{ "n": 8 }] };
    assert_eq!(found, [expected]);
}

#[tokio::test]
async fn clustered_documents_expire_by_their_ids() {
    use bson::{DateTime, doc};
    use std::time::Duration;

    let db = odm::Db::options()
        .expiry_interval(Duration::from_millis(20))
        .open("memory:")
        .await
        .unwrap();
    let spec = doc! { "key": { "_id": 1 }, "unique": true };
    let create = doc! { "create": "log", "clusteredIndex": spec, "expireAfterSeconds": 3600 };
    db.run_command(create).await.unwrap();
    let log = db.raw_collection("log");
    let now = DateTime::now().timestamp_millis();
    for id in [now - 7_200_000, now - 3_700_000, now, now + 7_200_000] {
        log.insert(doc! { "_id": DateTime::from_millis(id) })
            .await
            .unwrap();
    }
    log.insert(doc! { "_id": 5 }).await.unwrap();
    for _ in 0..500 {
        if log.estimated_count().await.unwrap() <= 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let left = log.find_all().await.unwrap();
    assert_eq!(left.len(), 3, "{left:?}");
    assert_eq!(left[0], doc! { "_id": 5 });
    assert_eq!(left[1], doc! { "_id": DateTime::from_millis(now) });
}

#[tokio::test]
async fn series_expire_by_whole_buckets() {
    use bson::{DateTime, doc};
    use std::time::Duration;

    let db = odm::Db::options()
        .expiry_interval(Duration::from_millis(20))
        .open("memory:")
        .await
        .unwrap();
    let create = doc! { "create": "s", "timeseries": { "timeField": "t", "metaField": "m" }, "expireAfterSeconds": 60 };
    let series = db.raw_collection("s");
    let now = DateTime::now().timestamp_millis();
    let ago = |minutes: i64| DateTime::from_millis(now - minutes * 60_000);
    let documents = [
        doc! { "_id": "hours ago", "t": ago(180), "m": 1 },
        doc! { "_id": "as long as its bucket", "t": ago(180 - 50), "m": 1 },
        doc! { "_id": "an hour and more ago", "t": ago(70), "m": 2 },
        doc! { "_id": "expired with it", "t": ago(30), "m": 2 },
        doc! { "_id": "expired alone", "t": ago(40), "m": 3 },
        doc! { "_id": "now", "t": ago(0), "m": 4 },
        doc! { "_id": "later", "t": ago(-60), "m": 4 },
        doc! { "_id": "much later", "t": DateTime::from_millis(7_258_118_400_000), "m": 4 },
    ];
    db.run_command(create).await.unwrap();
    series.insert_many(documents).await.unwrap();
    for _ in 0..500 {
        if series.estimated_count().await.unwrap() <= 4 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let left = series.find_all().await.unwrap();
    let mut left: Vec<&str> = left.iter().map(|one| one.get_str("_id").unwrap()).collect();
    left.sort_unstable();
    assert_eq!(left, ["expired alone", "later", "much later", "now"]);
    assert!(db.check().await.unwrap().is_clean());
}
