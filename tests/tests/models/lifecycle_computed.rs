//! Updates by pipelines that set dates or the version themselves.

use bson::{DateTime, Document, doc};
use odm::{Db, Model, Update};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_computed_update_that_sets_a_date_or_the_version_wins,
    pipelines_that_set_a_date_or_the_version_win,
    pipelines_that_make_another_document_are_stamped,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "notes")]
struct Memo {
    #[serde(rename = "_id")]
    id: i32,
    count: i32,
    #[odm(created)]
    created: DateTime,
    #[odm(updated)]
    updated: Option<DateTime>,
    #[odm(version)]
    version: i32,
}

const NOW: i64 = 50;

const THEN: DateTime = DateTime::from_millis(7);

fn clocked(db: &Db) -> Db {
    db.with_clock(|| DateTime::from_millis(NOW))
}

async fn noted(db: &Db) {
    let memo = Memo {
        id: 1,
        count: 1,
        created: THEN,
        updated: None,
        version: 0,
    };
    db.collection::<Memo>().raw().delete_many(doc! {}).await.unwrap();
    db.collection::<Memo>().insert(memo).await.unwrap();
}

async fn kept(db: &Db) -> (i32, Option<i64>, i32) {
    let memo = db.collection::<Memo>().get(1).required().await.unwrap();
    (
        memo.count,
        memo.updated.map(DateTime::timestamp_millis),
        memo.version,
    )
}

async fn a_computed_update_that_sets_a_date_or_the_version_wins(db: &Db) {
    let db = clocked(db);
    let memos = db.collection::<Memo>();
    noted(&db).await;
    let more = |m: &MemoFields| m.count.set_to(m.count.value() + 1);
    let set = memos.update_one(|m| m.id.eq(1), |m| m.updated.set(THEN) & more(&m));
    set.await.unwrap();
    assert_eq!(kept(&db).await, (2, Some(7), 1));
    let set = memos.update_many(|m| m.id.gt(0), |m| m.version.set(9) & more(&m));
    set.await.unwrap();
    assert_eq!(kept(&db).await, (3, Some(NOW), 9));
    let computed = memos.update_one(|m| m.id.eq(1), |m| m.updated.set_to(m.created.value()));
    computed.await.unwrap();
    assert_eq!(kept(&db).await, (3, Some(NOW), 10));
    memos
        .update_one(|m| m.id.eq(1), |m| m.updated.unset() & more(&m))
        .await
        .unwrap();
    assert_eq!(kept(&db).await, (4, None, 11));
    // Beside others as before.
    memos.update_one(|m| m.id.eq(1), |m| more(&m)).await.unwrap();
    assert_eq!(kept(&db).await, (5, Some(NOW), 12));
    let upsert = memos.upsert(
        |m| m.id.eq(2),
        |m| m.count.set_to(4) & m.created.set(THEN) & m.updated.set(THEN),
    );
    upsert.await.unwrap();
    let memo = memos.get(2).required().await.unwrap();
    assert_eq!((memo.created, memo.updated, memo.version), (THEN, Some(THEN), 1));
}

async fn piped(db: &Db, stages: Vec<Document>) -> (i32, Option<i64>, i32) {
    noted(db).await;
    let memos = db.collection::<Memo>();
    memos
        .update_one(|m| m.id.eq(1), |_| Update::pipeline(stages))
        .await
        .unwrap();
    kept(db).await
}

async fn pipelines_that_set_a_date_or_the_version_win(db: &Db) {
    let db = clocked(db);
    for set in ["$set", "$addFields"] {
        let stages = vec![doc! {set: {"updated": THEN}}, doc! {set: {"count": 2}}];
        assert_eq!(piped(&db, stages).await, (2, Some(7), 1));
        let stages = vec![doc! {set: {"version": 5, "count": 3}}];
        assert_eq!(piped(&db, stages).await, (3, Some(NOW), 5));
    }
    for unset in [
        doc! {"$unset": "updated"},
        doc! {"$unset": ["updated", "x"]},
        doc! {"$project": {"updated": 0}},
    ] {
        assert_eq!(piped(&db, vec![unset]).await, (1, None, 1));
    }
    let stages = vec![
        doc! {"$set": {"updated": THEN}},
        doc! {"$project": {"count": 1, "created": 1, "updated": 1}},
    ];
    assert_eq!(piped(&db, stages).await, (1, Some(7), 1));
    let stages = vec![doc! {"$project": {"count": 1, "created": 1, "updated": {"$literal": THEN}}}];
    assert_eq!(piped(&db, stages).await, (1, Some(7), 1));
}

async fn pipelines_that_make_another_document_are_stamped(db: &Db) {
    let db = clocked(db);
    let made = doc! {"_id": 1, "count": 3, "created": "$created", "updated": THEN, "version": 70};
    let stages = vec![doc! {"$replaceWith": &made}];
    assert_eq!(piped(&db, stages).await, (3, Some(NOW), 1));
    let stages = vec![
        doc! {"$set": {"updated": THEN, "version": 5}},
        doc! {"$replaceRoot": {"newRoot": &made}},
    ];
    assert_eq!(piped(&db, stages).await, (3, Some(NOW), 5));
    let stages = vec![
        doc! {"$set": {"updated": THEN}},
        doc! {"$project": {"count": 1, "created": 1}},
    ];
    assert_eq!(piped(&db, stages).await, (1, Some(NOW), 1));
    let stages = vec![doc! {"$project": {"count": 1, "created": 1, "updated": 1}}];
    assert_eq!(piped(&db, stages).await, (1, Some(NOW), 1));
}
