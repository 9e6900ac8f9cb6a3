//! Asking a change stream, where it resumes, and what it says of an update.

use std::time::Duration;

use odm::{ChangeEvent, Db, Embedded, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_fresh_stream_asks_the_first_time,
    a_stream_resumed_with_another_filter_says_so,
    several_chosen_elements_stand_where_the_field_does,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "listed")]
struct Listed {
    #[serde(rename = "_id")]
    id: i32,
    t: String,
    v: Vec<Pair>,
    z: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
struct Pair {
    x: i32,
    y: i32,
}

fn listed(id: i32) -> Listed {
    Listed {
        id,
        t: "t".into(),
        v: (1..4).map(|x| Pair { x, y: 0 }).collect(),
        z: id % 2,
    }
}

async fn a_fresh_stream_asks_the_first_time(db: &Db) {
    let all = db.collection::<Listed>();
    all.insert(listed(0)).await.unwrap();
    let patience = Duration::from_millis(500);
    let mut changes = all.watch().max_await_time(patience).await.unwrap();
    all.insert(listed(1)).await.unwrap();
    let first = changes.next_if_any().await.unwrap();
    assert_eq!(first.and_then(|change| change.event.key().copied()), Some(1));
    assert!(changes.next_if_any().await.unwrap().is_none());
    let token = changes.resume_token().unwrap().clone();
    all.insert(listed(2)).await.unwrap();
    let again = all.watch().resume_after(&token).max_await_time(patience);
    let first = again.await.unwrap().next_if_any().await.unwrap();
    assert_eq!(first.and_then(|change| change.event.key().copied()), Some(2));
}

async fn a_stream_resumed_with_another_filter_says_so(db: &Db) {
    let all = db.collection::<Listed>();
    all.insert(listed(0)).await.unwrap();
    let mut changes = all.watch().await.unwrap();
    all.insert_many((1..4).map(listed)).await.unwrap();
    let first = changes.try_next().await.unwrap().unwrap();
    let resumed = all.watch().filter(|l| l.z.eq(0)).resume_after(&first.token);
    let found = match resumed.await {
        Ok(mut changes) => changes.try_next().await,
        Err(error) => Err(error),
    };
    match found {
        Ok(change) => assert_eq!(change.unwrap().event.key(), Some(&2)),
        Err(error) => {
            assert_eq!(
                (error.kind(), error.code()),
                (ErrorKind::InvalidArgument, Some(280))
            );
            assert!(error.message().contains("its filter"), "{error}");
        }
    }
}

async fn several_chosen_elements_stand_where_the_field_does(db: &Db) {
    let all = db.collection::<Listed>();
    all.insert(listed(1)).await.unwrap();
    let mut changes = all.watch().await.unwrap();
    for (t, from, z) in [("a", 1, 2), ("b", 2, 3)] {
        let update = all.update_one(
            |l| l.id.eq(1),
            |l| l.t.set(t) & l.v.filtered(|v| v.x.gt(from)).y.set(z + 5) & l.z.set(z),
        );
        update.await.unwrap();
    }
    let mut names = Vec::new();
    while names.len() < 2 {
        let change = changes.try_next().await.unwrap().unwrap();
        if let ChangeEvent::Update { description, .. } = change.event {
            names.push(description.updated.keys().cloned().collect::<Vec<_>>());
        }
    }
    assert_eq!(names, [vec!["t", "v", "z"], vec!["t", "z", "v.2.y"]]);
}
