//! Change streams: events, their order and scope, and what ends a stream.

use std::time::Duration;

use bson::{Bson, Document, doc};
use odm::backend::FullDocument;
use odm::{Change, ChangeEvent, ChangeKind, Db};
use odm_tests::changes::{next, watch};

use super::models::Account;

crate::on_every_backend! {
    every_kind_of_change_has_its_event,
    typed_events_carry_typed_documents,
    a_dropped_collection_ends_its_stream,
    a_renamed_collection_ends_its_stream,
    a_dropped_database_ends_its_stream,
    the_changes_of_a_transaction_come_together,
    what_is_rolled_back_is_never_seen,
    a_waiting_reader_is_woken,
    scopes_are_kept_apart,
    a_transaction_cannot_watch,
}

/// The event without what differs from run to run.
fn told(mut event: Document) -> String {
    for name in ["_id", "clusterTime", "wallTime"] {
        assert!(event.remove(name).is_some(), "{name} is missing: {event}");
    }
    event.to_string()
}

async fn every_kind_of_change_has_its_event(db: &Db) {
    let c = db.raw_collection("c");
    let mut changes = watch(db, "c").await;
    c.insert(doc! {"_id": 1, "a": 1}).await.unwrap();
    c.update_one(doc! {"_id": 1}, doc! {"$set": {"a": 2}, "$unset": {"b": 1}})
        .await
        .unwrap();
    // Changes nothing, so that there is no event.
    c.update_one(doc! {"_id": 1}, doc! {"$set": {"a": 2}})
        .await
        .unwrap();
    c.replace_one(doc! {"_id": 1}, doc! {"b": 5}).await.unwrap();
    c.upsert(doc! {"_id": 9}, doc! {"$set": {"a": 2}}).await.unwrap();
    c.find_one_and_update(doc! {"_id": 9}, doc! {"$inc": {"a": 1}})
        .await
        .unwrap();
    c.delete_one(doc! {"_id": 1}).await.unwrap();
    c.find_one_and_delete(doc! {"_id": 9}).await.unwrap();
    let ns = doc! {"db": db.name(), "coll": "c"};
    let none: [Bson; 0] = [];
    let update = |fields: Document| doc! {"updatedFields": fields, "removedFields": &none[..], "truncatedArrays": &none[..]};
    let (one, nine) = (doc! {"_id": 1}, doc! {"_id": 9});
    for expected in [
        doc! {"operationType": "insert", "fullDocument": {"_id": 1, "a": 1}, "ns": &ns, "documentKey": &one},
        doc! {"operationType": "update", "ns": &ns, "documentKey": &one, "updateDescription": update(doc! {"a": 2})},
        doc! {"operationType": "replace", "fullDocument": {"_id": 1, "b": 5}, "ns": &ns, "documentKey": &one},
        doc! {"operationType": "insert", "fullDocument": {"_id": 9, "a": 2}, "ns": &ns, "documentKey": &nine},
        doc! {"operationType": "update", "ns": &ns, "documentKey": &nine, "updateDescription": update(doc! {"a": 3})},
        doc! {"operationType": "delete", "ns": &ns, "documentKey": &one},
        doc! {"operationType": "delete", "ns": &ns, "documentKey": &nine},
    ] {
        assert_eq!(told(next(&mut changes).await), expected.to_string());
    }
}

async fn typed_events_carry_typed_documents(db: &Db) {
    let accounts = db.collection::<Account>();
    let mut changes = accounts
        .watch()
        .full_document(FullDocument::UpdateLookup)
        .await
        .unwrap();
    let account = Account::new("a@example.org", 100);
    accounts.insert(&account).await.unwrap();
    let change: Change<Account> = next(&mut changes).await;
    assert_eq!(change.event.kind(), Some(ChangeKind::Insert));
    assert_eq!(change.event.key(), Some(&account.id));
    assert_eq!(change.event.document().map(|found| found.balance), Some(100));
    assert_eq!(change.database.as_deref(), Some(db.name()));
    assert_eq!(change.collection.as_deref(), Some(accounts.name()));
    assert!(change.cluster_time.is_some() && change.wall_time.is_some() && change.transaction.is_none());
    accounts
        .update_one(|x| x.id.eq(account.id), |x| x.balance.inc(-30))
        .await
        .unwrap();
    let change = next(&mut changes).await;
    let ChangeEvent::Update {
        key,
        description,
        full_document,
        before,
        ..
    } = change.event
    else {
        panic!("{change:?}");
    };
    assert_eq!((key, before.is_none()), (account.id, true));
    assert_eq!(description.updated, doc! {"balance": 70_i64});
    assert_eq!(full_document.map(|found| found.balance), Some(70));
    accounts.delete_one(|x| x.id.eq(account.id)).await.unwrap();
    let change = next(&mut changes).await;
    assert!(matches!(change.event, ChangeEvent::Delete { key, .. } if key == account.id));
}

async fn a_dropped_collection_ends_its_stream(db: &Db) {
    let c = db.raw_collection("c");
    c.insert(doc! {"_id": 1}).await.unwrap();
    let mut changes = c.watch().await.unwrap();
    db.drop_collection("c").await.unwrap();
    let dropped = next(&mut changes).await;
    assert!(matches!(dropped.event, ChangeEvent::Drop));
    let end = next(&mut changes).await;
    assert!(matches!(end.event, ChangeEvent::Invalidate));
    assert!(end.database.is_none());
    assert!(changes.try_next().await.unwrap().is_none());
    assert!(changes.is_over());
    assert_eq!(changes.resume_token(), Some(&end.token));

    let error = c.watch().resume_after(&end.token).await.unwrap_err();
    assert_eq!(error.code(), Some(260), "{error}");
    c.insert(doc! {"_id": 2}).await.unwrap();
    let mut again = c.watch().start_after(&end.token).await.unwrap();
    assert_eq!(next(&mut again).await.event.key(), Some(&Bson::Int32(2)));
    // After the drop comes the end, also for who comes back.
    let mut again = c.watch().resume_after(&dropped.token).await.unwrap();
    assert!(matches!(next(&mut again).await.event, ChangeEvent::Invalidate));
    assert!(again.try_next().await.unwrap().is_none());
}

async fn a_renamed_collection_ends_its_stream(db: &Db) {
    let c = db.raw_collection("c");
    c.insert(doc! {"_id": 1}).await.unwrap();
    db.raw_collection("taken").insert(doc! {"_id": 5}).await.unwrap();
    let mut source = c.watch().await.unwrap();
    let mut target = db.raw_collection("taken").watch().await.unwrap();
    let mut all = db.watch().await.unwrap();
    c.rename("taken").drop_target().await.unwrap();
    for changes in [&mut source, &mut target] {
        let change = next(changes).await;
        let ChangeEvent::Rename { to, .. } = &change.event else {
            panic!("{change:?}");
        };
        assert_eq!(
            (to.database.as_str(), to.collection.as_str()),
            (db.name(), "taken")
        );
        assert_eq!(change.collection.as_deref(), Some("c"));
        assert!(matches!(next(changes).await.event, ChangeEvent::Invalidate));
        assert!(changes.try_next().await.unwrap().is_none());
    }
    db.raw_collection("taken").insert(doc! {"_id": 6}).await.unwrap();
    assert!(matches!(next(&mut all).await.event, ChangeEvent::Rename { .. }));
    assert_eq!(next(&mut all).await.event.key(), Some(&Bson::Int32(6)));
}

async fn a_dropped_database_ends_its_stream(db: &Db) {
    db.raw_collection("c").insert(doc! {"_id": 1}).await.unwrap();
    let mut changes = db.watch().await.unwrap();
    db.drop().await.unwrap();
    let mut kinds = Vec::new();
    while let Some(change) = changes.try_next().await.unwrap() {
        kinds.push(change.event.kind().unwrap());
    }
    let expected = [ChangeKind::Drop, ChangeKind::DropDatabase, ChangeKind::Invalidate];
    assert_eq!(kinds, expected);
}

async fn the_changes_of_a_transaction_come_together(db: &Db) {
    let (a, b) = (db.raw_collection("a"), db.raw_collection("b"));
    a.insert(doc! {"_id": 0}).await.unwrap();
    b.insert(doc! {"_id": 0}).await.unwrap();
    let mut changes = db.watch().await.unwrap();
    db.transaction(async |tx| {
        tx.raw_collection("a").insert(doc! {"_id": 1}).await?;
        // Commits first, so that it comes first.
        a.insert(doc! {"_id": 100}).await?;
        tx.raw_collection("b").insert(doc! {"_id": 2}).await?;
        tx.raw_collection("a").delete_one(doc! {"_id": 0}).await?;
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(next(&mut changes).await.event.key(), Some(&Bson::Int32(100)));
    let mut seen = Vec::new();
    let mut transaction = None;
    for id in [1, 2, 0] {
        let change = next(&mut changes).await;
        assert_eq!(change.event.key(), Some(&Bson::Int32(id)));
        let own = change.transaction.clone().expect("it was part of a transaction");
        assert_eq!(&own, transaction.get_or_insert_with(|| own.clone()));
        seen.push(change);
    }
    assert!(
        seen.windows(2)
            .all(|two| two[0].cluster_time == two[1].cluster_time)
    );
    // Also from the middle of the transaction.
    let mut resumed = db.watch().resume_after(&seen[0].token).await.unwrap();
    assert_eq!(next(&mut resumed).await.event.key(), Some(&Bson::Int32(2)));
}

async fn what_is_rolled_back_is_never_seen(db: &Db) {
    let c = db.raw_collection("c");
    c.insert(doc! {"_id": 0}).await.unwrap();
    let mut changes = c.watch().await.unwrap();
    let tx = db.begin().await.unwrap();
    tx.raw_collection("c").insert(doc! {"_id": 1}).await.unwrap();
    tx.abort().await;
    c.insert_many([doc! {"_id": 2}, doc! {"_id": 0}, doc! {"_id": 3}])
        .await
        .unwrap_err();
    c.insert(doc! {"_id": 4}).await.unwrap();
    for id in [2, 4] {
        assert_eq!(next(&mut changes).await.event.key(), Some(&Bson::Int32(id)));
    }
}

async fn a_waiting_reader_is_woken(db: &Db) {
    let c = db.raw_collection("c");
    let mut changes = c.watch().max_await_time(Duration::from_secs(30)).await.unwrap();
    let reader = tokio::spawn(async move {
        let change = changes.try_next().await.unwrap().unwrap();
        (change, std::time::Instant::now())
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    c.insert(doc! {"_id": 1}).await.unwrap();
    let written = std::time::Instant::now();
    let (change, read) = reader.await.unwrap();
    assert_eq!(change.event.key(), Some(&Bson::Int32(1)));
    assert!(read.saturating_duration_since(written) < Duration::from_secs(5));
}

async fn scopes_are_kept_apart(db: &Db) {
    let other = db.database(&format!("{}_b", db.name())).unwrap();
    let mut one = db.raw_collection("a").watch().await.unwrap();
    let mut own = db.watch().await.unwrap();
    let mut all = db.watch_everything().await.unwrap();
    other.raw_collection("a").insert(doc! {"_id": 1}).await.unwrap();
    db.raw_collection("b").insert(doc! {"_id": 2}).await.unwrap();
    db.raw_collection("a").insert(doc! {"_id": 3}).await.unwrap();
    let three = Bson::Int32(3);
    assert_eq!(next(&mut one).await.event.key(), Some(&three));
    assert_eq!(next(&mut own).await.event.key(), Some(&Bson::Int32(2)));
    assert_eq!(next(&mut own).await.event.key(), Some(&three));
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let change = next(&mut all).await;
        // A server may be in use by others.
        if change.database.is_some_and(|name| name.starts_with(db.name())) {
            seen.push(change.event.key().cloned());
        }
    }
    assert_eq!(seen, [1, 2, 3].map(|id| Some(Bson::Int32(id))));
    other.drop().await.unwrap();
}

async fn a_transaction_cannot_watch(db: &Db) {
    db.raw_collection("c").insert(doc! {"_id": 0}).await.unwrap();
    let tx = db.begin().await.unwrap();
    let error = tx.raw_collection("c").watch().await.unwrap_err();
    assert_eq!(error.code(), Some(263), "{error}");
    tx.abort().await;
}
