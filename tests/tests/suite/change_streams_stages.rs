//! Change streams: what filters and stages make of the events.

use bson::{Bson, Document, doc};
use odm::backend::FullDocument;
use odm::{ChangeKind, Db, ErrorKind};
use odm_tests::changes::next;

use super::models::Account;

crate::on_every_backend! {
    typed_filters_choose_by_the_document,
    stages_filter_and_reshape,
    stages_that_cannot_be_are_the_servers_errors,
}

async fn typed_filters_choose_by_the_document(db: &Db) {
    let accounts = db.collection::<Account>();
    let rich = || accounts.watch().full_document(FullDocument::UpdateLookup);
    let mut changes = rich().filter(|x| x.balance.gte(100)).await.unwrap();
    let mut poor = rich().filter(|x| !x.balance.gte(100)).await.unwrap();
    let (a, b) = (
        Account::new("a@example.org", 100),
        Account::new("b@example.org", 50),
    );
    accounts.insert_many([&a, &b]).await.unwrap();
    accounts
        .update_one(|x| x.id.eq(b.id), |x| x.balance.inc(70))
        .await
        .unwrap();
    accounts.delete_one(|x| x.id.eq(a.id)).await.unwrap();
    accounts
        .update_one(|x| x.id.eq(b.id), |x| x.balance.inc(1))
        .await
        .unwrap();
    let mut token = None;
    for (kind, balance) in [
        (ChangeKind::Insert, 100),
        (ChangeKind::Update, 120),
        (ChangeKind::Update, 121),
    ] {
        let change = next(&mut changes).await;
        assert_eq!(change.event.kind(), Some(kind));
        // A lookup sees the document as it is by now.
        assert!(
            change
                .event
                .document()
                .is_some_and(|found| found.balance >= balance)
        );
        token.get_or_insert(change.token);
    }
    let first = next(&mut poor).await;
    assert_eq!(first.event.document().map(|found| found.balance), Some(50));
    let mut again = rich()
        .filter(|x| x.balance.gte(100))
        .resume_after(&token.unwrap())
        .await
        .unwrap();
    assert_eq!(next(&mut again).await.event.kind(), Some(ChangeKind::Update));
    let error = accounts
        .watch()
        .filter(|_| odm::Filter::raw(doc! { "balance": 5 }))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

async fn stages_filter_and_reshape(db: &Db) {
    let c = db.raw_collection("c");
    let mut deletes = c.watch().only([ChangeKind::Delete]).await.unwrap();
    let mut reshaped = c
        .watch()
        .pipeline([
            doc! {"$match": {"fullDocument.a": {"$gt": 1}}},
            doc! {"$set": {"twice": {"$multiply": ["$fullDocument.a", 2]}}},
            doc! {"$project": {"twice": 1, "documentKey": 1}},
        ])
        .decode::<Document>()
        .await
        .unwrap();
    c.insert_many([
        doc! {"_id": 1, "a": 1},
        doc! {"_id": 2, "a": 2},
        doc! {"_id": 3, "a": 3},
    ])
    .await
    .unwrap();
    c.delete_one(doc! {"_id": 2}).await.unwrap();
    assert_eq!(next(&mut deletes).await.event.key(), Some(&Bson::Int32(2)));
    for id in [2, 3] {
        let mut event = next(&mut reshaped).await;
        assert!(event.remove("_id").is_some());
        let expected = doc! {"documentKey": {"_id": id}, "twice": 2 * id};
        assert_eq!(event.to_string(), expected.to_string());
    }
    // What a typed event needs is not there.
    let mut lacking = c
        .watch()
        .pipeline([doc! {"$project": {"documentKey": 1}}])
        .await
        .unwrap();
    c.insert(doc! {"_id": 4}).await.unwrap();
    let error = lacking.try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    // The others come all the same, though the stream is for another type.
    c.insert(doc! {"_id": 5}).await.unwrap();
    assert_eq!(lacking.try_next().await.unwrap_err().kind(), ErrorKind::Decode);
}

async fn stages_that_cannot_be_are_the_servers_errors(db: &Db) {
    let c = db.raw_collection("c");
    for (stage, code) in [
        (doc! {"$limit": 1}, 20),
        (doc! {"$group": {"_id": 1}}, 20),
        (
            doc! {"$lookup": {"from": "a", "localField": "a", "foreignField": "b", "as": "c"}},
            20,
        ),
        (doc! {"$out": "q"}, 20),
        (doc! {"$count": "x"}, 20),
        (doc! {"$nosuch": 1}, 40324),
        (doc! {}, 40323),
        (doc! {"$match": {"$bad": 1}}, 2),
    ] {
        let error = c.watch().pipeline([stage.clone()]).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{stage}: {error}");
    }
    for stage in [
        doc! {"$project": {"_id": 0}},
        doc! {"$unset": "_id"},
        doc! {"$replaceRoot": {"newRoot": "$fullDocument"}},
    ] {
        let mut changes = c.watch().pipeline([stage.clone()]).await.unwrap();
        c.insert(doc! {"a": 1}).await.unwrap();
        let error = changes.try_next().await.unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::InvalidArgument, Some(280)),
            "{stage}: {error}"
        );
        assert!(error.has_label("NonResumableChangeStreamError"), "{error}");
    }
    for name in ["system.views", "system.x"] {
        let error = db.raw_collection(name).watch().await.unwrap_err();
        assert_eq!(error.code(), Some(73), "{error}");
    }
}
