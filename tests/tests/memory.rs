//! Every case of the suite on `memory`.

odm_tests::for_every_case!(Memory);

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
