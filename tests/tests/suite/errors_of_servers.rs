//! What is told of a MongoDB server that cannot be reached, refuses, or ends an operation.

use std::time::Duration;

use bson::{Bson, doc};
use odm::{Db, Error, ErrorKind, Filter, Model};
use odm_tests::harness::mongodb_uri;
use serde::{Deserialize, Serialize};

crate::on_backend! { mongodb MongoDb
    a_write_concern_that_is_not_satisfied_is_told_in_the_servers_words
    a_killed_operation_can_be_begun_anew
    a_cursor_that_is_gone_can_be_begun_anew
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    n: i32,
}

fn run(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.unwrap().block_on(case);
}

/// The test's server, by another URL.
fn server(user: &str, options: &str) -> Option<String> {
    let uri = mongodb_uri()?;
    let host = uri.strip_prefix("mongodb://")?.split(['/', '?']).next()?;
    Some(format!(
        "mongodb://{user}{host}/errors?serverSelectionTimeoutMS=700&{options}"
    ))
}

async fn errors(url: &str) -> [Error; 4] {
    let db = Db::open(url).await.unwrap();
    let notes = db.collection::<Note>();
    [
        notes.find_all().await.unwrap_err(),
        notes.insert(Note { id: 1, n: 1 }).await.unwrap_err(),
        match db.begin().await {
            Ok(tx) => tx.collection::<Note>().find_all().await.unwrap_err(),
            Err(error) => error,
        },
        notes
            .update_one(|n| n.id.eq(1), |n| n.n.inc(1))
            .await
            .unwrap_err(),
    ]
}

#[test]
fn a_server_that_is_down_is_named_by_transactions_too() {
    run(async {
        let url = "mongodb://127.0.0.1:1/x?serverSelectionTimeoutMS=300&replicaSet=none";
        for error in errors(url).await {
            assert_eq!(error.kind(), ErrorKind::Network);
            assert!(error.message().contains("127.0.0.1:1"), "{error}");
            assert!(error.message().contains("refused"), "{error}");
        }
    });
}

#[test]
fn what_keeps_a_server_from_being_used_is_told() {
    run(async {
        for (options, reason) in [("replicaSet=other", "other"), ("tls=true", "Error:")] {
            let Some(url) = server("", options) else { return };
            for error in errors(&url).await {
                assert_eq!(error.kind(), ErrorKind::Network, "{error}");
                assert!(error.message().contains(reason), "{error}");
            }
        }
    });
}

#[test]
fn refused_credentials_are_told_again_and_again() {
    run(async {
        let Some(url) = server("ann:hunter2@", "authSource=admin") else {
            return;
        };
        for error in errors(&url).await {
            assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
            assert!(!format!("{error:?} {error}").contains("hunter2"));
        }
    });
}

async fn a_write_concern_that_is_not_satisfied_is_told_in_the_servers_words(db: &Db) {
    let url = server("", "w=5&wtimeoutMS=100").unwrap();
    let strict = Db::open(&url.replace("/errors?", &format!("/{}?", db.name())))
        .await
        .unwrap();
    let notes = strict.collection::<Note>();
    let batch = notes.bulk_write().insert(Note { id: 3, n: 1 });
    for error in [
        notes.insert(Note { id: 1, n: 1 }).await.unwrap_err(),
        notes.insert_many([Note { id: 2, n: 1 }]).await.unwrap_err(),
        batch
            .update_many(|_| Filter::all(), |n| n.n.inc(1))
            .await
            .unwrap_err(),
        notes
            .update_one(|n| n.id.eq(1), |n| n.n.inc(1))
            .await
            .unwrap_err(),
    ] {
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::InDoubt, Some(100)),
            "{error}"
        );
        assert!(
            error.message().contains("Not enough data-bearing nodes"),
            "{error}"
        );
    }
}

async fn a_killed_operation_can_be_begun_anew(db: &Db) {
    let notes = db.collection::<Note>();
    notes
        .insert_many((0..300).map(|id| Note { id, n: 0 }))
        .await
        .unwrap();
    let slow = Filter::raw(doc! { "$where": "sleep(100); return true" });
    let comment = format!("killed in {}", db.name());
    let read = tokio::spawn(notes.find(|_| slow).comment(comment.clone()).into_future());
    let admin = db.database("admin").unwrap();
    loop {
        let asked = doc! { "currentOp": 1, "command.comment": &comment };
        let found = admin.run_command(asked).await.unwrap();
        let running = found.get_array("inprog").unwrap();
        if let Some(one) = running.first().and_then(Bson::as_document) {
            let kill = doc! { "killOp": 1, "op": one.get("opid").unwrap() };
            admin.run_command(kill).await.unwrap();
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let error = read.await.unwrap().unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Interrupted, Some(11_601))
    );
}

async fn a_cursor_that_is_gone_can_be_begun_anew(db: &Db) {
    let notes = db.collection::<Note>();
    for code in [43, 175] {
        notes
            .insert_many((0..300).map(|id| Note { id, n: 0 }))
            .await
            .unwrap();
        let mut found = notes.find_all().batch_size(2).stream();
        found.try_next().await.unwrap();
        if code == 43 {
            let namespace = format!("{}.notes", db.name());
            let idle = doc! { "$match": { "type": "idleCursor", "ns": namespace } };
            let all = doc! { "$currentOp": { "idleCursors": true } };
            let asked = doc! { "aggregate": 1, "pipeline": [all, idle], "cursor": {} };
            let admin = db.database("admin").unwrap();
            let answer = admin.run_command(asked).await.unwrap();
            let idle = answer
                .get_document("cursor")
                .unwrap()
                .get_array("firstBatch")
                .unwrap();
            let ids: Vec<Bson> = idle
                .iter()
                .map(|one| one.as_document().unwrap().get_document("cursor").unwrap())
                .map(|cursor| cursor.get("cursorId").unwrap().clone())
                .collect();
            let kill = doc! { "killCursors": "notes", "cursors": ids };
            db.run_command(kill).await.unwrap();
        }
        notes.drop().await.unwrap();
        let error = loop {
            match found.try_next().await {
                Ok(found) => assert!(found.is_some()),
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind(), error.code()), (ErrorKind::Interrupted, Some(code)));
    }
}
