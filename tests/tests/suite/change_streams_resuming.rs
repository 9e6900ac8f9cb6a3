//! Change streams: resuming, and beginning at a time.

use std::time::Duration;

use bson::{Bson, doc};
use odm::{Db, ErrorKind, ResumeToken};
use odm_tests::changes::next;

crate::on_every_backend! {
    a_stream_resumes_after_every_token,
    tokens_of_empty_batches_resume_too,
    a_stream_begins_at_a_time,
    tokens_that_cannot_be_are_errors,
}

async fn a_stream_resumes_after_every_token(db: &Db) {
    let c = db.raw_collection("c");
    let mut changes = c.watch().await.unwrap();
    let mut tokens = vec![changes.resume_token().expect("a token at the beginning").clone()];
    for id in 0..6 {
        c.insert(doc! {"_id": id}).await.unwrap();
    }
    for _ in 0..6 {
        let change = next(&mut changes).await;
        tokens.push(changes.resume_token().unwrap().clone());
        if !matches!(change.event.key(), Some(Bson::Int32(5))) {
            assert_eq!(tokens.last(), Some(&change.token));
        }
    }
    for (seen, token) in tokens.iter().enumerate() {
        let json = serde_json::to_string(token).unwrap();
        let restored: ResumeToken = serde_json::from_str(&json).unwrap();
        assert_eq!(&restored, token);
        assert_eq!(&token.to_string().parse::<ResumeToken>().unwrap(), token);
        let mut resumed = c
            .watch()
            .resume_after(&restored)
            .batch_size(2)
            .max_await_time(Duration::from_millis(50))
            .await
            .unwrap();
        for id in seen as i32..6 {
            assert_eq!(next(&mut resumed).await.event.key(), Some(&Bson::Int32(id)));
        }
        assert!(resumed.next_if_any().await.unwrap().is_none());
    }
}

async fn tokens_of_empty_batches_resume_too(db: &Db) {
    let c = db.raw_collection("c");
    let mut changes = c.watch().max_await_time(Duration::from_millis(50)).await.unwrap();
    for id in 0..3 {
        db.raw_collection("other").insert(doc! {"_id": id}).await.unwrap();
    }
    assert!(changes.next_if_any().await.unwrap().is_none());
    assert!(!changes.is_over());
    let token = changes.resume_token().unwrap().clone();
    c.insert(doc! {"_id": 1}).await.unwrap();
    let mut resumed = c.watch().resume_after(&token).await.unwrap();
    assert_eq!(next(&mut resumed).await.event.key(), Some(&Bson::Int32(1)));
    assert_eq!(next(&mut changes).await.event.key(), Some(&Bson::Int32(1)));
}

async fn a_stream_begins_at_a_time(db: &Db) {
    let c = db.raw_collection("c");
    let mut changes = c.watch().await.unwrap();
    for id in 0..3 {
        c.insert(doc! {"_id": id}).await.unwrap();
    }
    next(&mut changes).await;
    let second = next(&mut changes).await;
    let mut again = c.watch().start_at(second.cluster_time.unwrap()).await.unwrap();
    for id in 1..3 {
        assert_eq!(next(&mut again).await.event.key(), Some(&Bson::Int32(id)));
    }
}

async fn tokens_that_cannot_be_are_errors(db: &Db) {
    let c = db.raw_collection("c");
    let changes = c.watch().await.unwrap();
    let token = changes.resume_token().unwrap().clone();
    let error = c
        .watch()
        .resume_after(&token)
        .start_after(&token)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let time = bson::Timestamp {
        time: 4_000_000_000,
        increment: 1,
    };
    let error = c.watch().resume_after(&token).start_at(time).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let cut = token.to_string()[..4].parse::<ResumeToken>().unwrap();
    let error = c.watch().resume_after(&cut).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!("not hex".parse::<ResumeToken>().is_err());
}
