//! Change streams: events, descriptions, images, filters, resuming.

use std::time::Duration;

use bson::{Bson, Document, doc};
use odm::backend::{FullDocument, FullDocumentBeforeChange};
use odm::{Change, ChangeEvent, ChangeKind, ChangeStream, Db, ErrorKind, ResumeToken};

use super::models::Account;

/// A stream of the raw events of a collection.
async fn watch(db: &Db, collection: &str) -> ChangeStream<Document> {
    db.raw_collection(collection)
        .watch()
        .decode::<Document>()
        .await
        .unwrap()
}

/// The next event, which must come soon.
async fn next<T>(changes: &mut ChangeStream<T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), changes.try_next())
        .await
        .expect("an event comes")
        .expect("the stream goes on")
        .expect("the stream has not ended")
}

/// The event without what differs from run to run.
fn told(mut event: Document) -> String {
    for name in ["_id", "clusterTime", "wallTime"] {
        assert!(event.remove(name).is_some(), "{name} is missing: {event}");
    }
    event.to_string()
}

pub async fn every_kind_of_change_has_its_event(db: &Db) {
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

/// A document, an update, and what the event says of it: updated, removed, truncated.
type Described = (Document, Document, Document, &'static [&'static str]);

async fn check_descriptions(db: &Db, cases: Vec<Described>) {
    let c = db.raw_collection("c");
    let mut changes = c.watch().only([ChangeKind::Update]).await.unwrap();
    for (at, (before, update, updated, removed)) in cases.into_iter().enumerate() {
        let id = at as i32;
        let mut document = doc! {"_id": id};
        document.extend(before.clone());
        c.insert(document).await.unwrap();
        c.update_one(doc! {"_id": id}, update.clone()).await.unwrap();
        let ChangeEvent::Update { key, description, .. } = next(&mut changes).await.event else {
            panic!("not an update");
        };
        assert_eq!(key, Bson::Int32(id));
        let case = format!("{before} {update}");
        assert_eq!(description.updated.to_string(), updated.to_string(), "{case}");
        assert_eq!(description.removed, removed, "{case}");
        assert!(description.truncated.is_empty(), "{case}");
    }
}

pub async fn updates_are_described_by_what_they_touched(db: &Db) {
    let items = || doc! {"l": [{"a": 1}, {"a": 2}]};
    let list = || doc! {"l": [1, 2, 3]};
    check_descriptions(
        db,
        vec![
            (doc! {}, doc! {"$set": {"n.x": 1}}, doc! {"n": {"x": 1}}, &[]),
            (
                doc! {"a": {"b": 1}},
                doc! {"$set": {"a.b": 2, "a.c": 3}},
                doc! {"a.b": 2, "a.c": 3},
                &[],
            ),
            (list(), doc! {"$push": {"l": 9}}, doc! {"l.3": 9}, &[]),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7, 8]}}},
                doc! {"l.3": 7, "l.4": 8},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$position": 0}}},
                doc! {"l": [7, 1, 2, 3]},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$position": 3}}},
                doc! {"l": [1, 2, 3, 7]},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$position": 9}}},
                doc! {"l.3": 7},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$slice": -3}}},
                doc! {"l": [2, 3, 7]},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$slice": 4}}},
                doc! {"l.3": 7},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [7], "$sort": 1}}},
                doc! {"l": [1, 2, 3, 7]},
                &[],
            ),
            (
                list(),
                doc! {"$push": {"l": {"$each": [], "$slice": 2}}},
                doc! {"l": [1, 2]},
                &[],
            ),
            (doc! {"l": []}, doc! {"$push": {"l": 1}}, doc! {"l": [1]}, &[]),
            (doc! {}, doc! {"$push": {"x.l": 1}}, doc! {"x": {"l": [1]}}, &[]),
            (
                list(),
                doc! {"$addToSet": {"l": 4}},
                doc! {"l": [1, 2, 3, 4]},
                &[],
            ),
            (list(), doc! {"$pop": {"l": 1}}, doc! {"l": [1, 2]}, &[]),
            (list(), doc! {"$pull": {"l": 2}}, doc! {"l": [1, 3]}, &[]),
            (list(), doc! {"$set": {"l": [1, 2]}}, doc! {"l": [1, 2]}, &[]),
            (list(), doc! {"$set": {"l.1": 5}}, doc! {"l.1": 5}, &[]),
            (list(), doc! {"$set": {"l.5": 5}}, doc! {"l.5": 5}, &[]),
            (
                list(),
                doc! {"$set": {"l.0": 9, "l.4": 8}},
                doc! {"l.0": 9, "l.4": 8},
                &[],
            ),
            (list(), doc! {"$unset": {"l.1": 1}}, doc! {"l.1": Bson::Null}, &[]),
            (items(), doc! {"$set": {"l.1.a": 5}}, doc! {"l.1.a": 5}, &[]),
            (
                items(),
                doc! {"$set": {"l.1.b.c": 5}},
                doc! {"l.1.b": {"c": 5}},
                &[],
            ),
            (
                items(),
                doc! {"$set": {"l.$[].a": 7}},
                doc! {"l": [{"a": 7}, {"a": 7}]},
                &[],
            ),
            (
                items(),
                doc! {"$set": {"l.$[].a": 1}},
                doc! {"l.1": {"a": 1}},
                &[],
            ),
            (
                doc! {"l": [{"m": [1, 2]}]},
                doc! {"$push": {"l.$[].m": 1}},
                doc! {"l.0.m.2": 1},
                &[],
            ),
            (
                doc! {"l": [{"m": [1, 2]}, {"m": [1]}]},
                doc! {"$pop": {"l.0.m": 1}, "$inc": {"z": 1}},
                doc! {"z": 1, "l.0.m": [1]},
                &[],
            ),
            (
                doc! {"a": 1, "b": 2, "c": {"d": 1, "e": 2}},
                doc! {"$unset": {"a": 1, "c.d": 1, "zz": 1}},
                doc! {},
                &["a", "c.d"],
            ),
            (
                doc! {"a": 1, "d": {"x": 1, "y": 1}},
                doc! {"$unset": {"d.x": 1, "a": 1}, "$set": {"d.z": 3, "d.y": 2, "q": 1}},
                doc! {"q": 1, "d.y": 2, "d.z": 3},
                &["a", "d.x"],
            ),
            (
                doc! {"a": 1, "c": {"x": 1}},
                doc! {"$rename": {"a": "c.y"}},
                doc! {"c.y": 1},
                &["a"],
            ),
            (
                doc! {"b": 1, "a": 1},
                doc! {"$set": {"b": 2, "z": 1, "a": 2, "y": 3}},
                doc! {"a": 2, "b": 2, "y": 3, "z": 1},
                &[],
            ),
            (doc! {"a": 1}, doc! {"$set": {"a": 1.0}}, doc! {"a": 1.0}, &[]),
            (
                doc! {"a": {"x": {"l": [1, [2, 3]]}}},
                doc! {"$set": {"a.x.l.1.0": 4, "a.x.m.n": 1}},
                doc! {"a.x.m": {"n": 1}, "a.x.l.1.0": 4},
                &[],
            ),
            (
                doc! {"a": {"0": 1}},
                doc! {"$set": {"a.0": 2}},
                doc! {"a.0": 2},
                &[],
            ),
        ],
    )
    .await;
}

pub async fn pipeline_updates_are_described_where_that_is_shorter(db: &Db) {
    let pad = "x".repeat(300);
    let c = db.raw_collection("c");
    let mut changes = watch(db, "c").await;
    let long = || doc! {"l": [1, 2, 3, 4, 5, 6, 7, 8]};
    let cases: Vec<(Document, Document, Bson)> = vec![
        (doc! {"a": 1}, doc! {"$set": {"a": 2}}, Bson::Null),
        (
            doc! {"a": 1, "pad": &pad},
            doc! {"$set": {"a": 2}},
            Bson::from(doc! {"updatedFields": {"a": 2}, "removedFields": [], "truncatedArrays": []}),
        ),
        (
            doc! {"a": 1, "pad": &pad},
            doc! {"$unset": "a"},
            Bson::from(doc! {"updatedFields": {}, "removedFields": ["a"], "truncatedArrays": []}),
        ),
        (
            doc! {"c": {"x": 1, "y": 2}, "pad": &pad},
            doc! {"$set": {"c.x": 5, "c.z": 1}},
            Bson::from(
                doc! {"updatedFields": {"c": {"x": 5, "y": 2, "z": 1}}, "removedFields": [], "truncatedArrays": []},
            ),
        ),
        (doc! {"l": [1, 2, 3]}, doc! {"$set": {"l": [1, 2]}}, Bson::Null),
        (
            long(),
            doc! {"$set": {"l": {"$slice": ["$l", 5]}}},
            Bson::from(
                doc! {"updatedFields": {}, "removedFields": [], "truncatedArrays": [{"field": "l", "newSize": 5}]},
            ),
        ),
        (
            long(),
            doc! {"$set": {"l": {"$concatArrays": ["$l", [9]]}}},
            Bson::from(doc! {"updatedFields": {"l.8": 9}, "removedFields": [], "truncatedArrays": []}),
        ),
        (
            long(),
            doc! {"$set": {"l": [1, 2, 33, 4]}},
            Bson::from(
                doc! {"updatedFields": {"l.2": 33}, "removedFields": [], "truncatedArrays": [{"field": "l", "newSize": 4}]},
            ),
        ),
        (
            doc! {"l": [{"a": 1, "b": "yyyyyyyyyyyyyyyyyyyyyy"}, {"a": 2}]},
            doc! {"$set": {"l.a": 9}},
            Bson::from(
                doc! {"updatedFields": {"l.0.a": 9, "l.1": {"a": 9}}, "removedFields": [], "truncatedArrays": []},
            ),
        ),
        (
            doc! {"a": 1, "pad": &pad},
            doc! {"$replaceWith": {"q": 1}},
            Bson::Null,
        ),
    ];
    for (at, (before, stage, expected)) in cases.into_iter().enumerate() {
        let id = at as i32;
        let mut document = doc! {"_id": id};
        document.extend(before.clone());
        c.insert(document).await.unwrap();
        c.update_one(doc! {"_id": id}, vec![stage.clone()]).await.unwrap();
        next(&mut changes).await;
        let event = next(&mut changes).await;
        let kind = if expected == Bson::Null {
            "replace"
        } else {
            "update"
        };
        assert_eq!(event.get_str("operationType").unwrap(), kind, "{before} {stage}");
        let description = event.get("updateDescription").unwrap_or(&Bson::Null);
        assert_eq!(description.to_string(), expected.to_string(), "{before} {stage}");
    }
}

pub async fn typed_events_carry_typed_documents(db: &Db) {
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

pub async fn typed_filters_choose_by_the_document(db: &Db) {
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

pub async fn a_dropped_collection_ends_its_stream(db: &Db) {
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

pub async fn a_renamed_collection_ends_its_stream(db: &Db) {
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

pub async fn a_dropped_database_ends_its_stream(db: &Db) {
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

pub async fn full_documents_are_looked_up_on_demand(db: &Db) {
    let c = db.raw_collection("c");
    c.insert(doc! {"_id": 1, "a": 0}).await.unwrap();
    c.insert(doc! {"_id": 2, "a": 0}).await.unwrap();
    let mut plain = watch(db, "c").await;
    let mut looked_up = c
        .watch()
        .full_document(FullDocument::UpdateLookup)
        .decode::<Document>()
        .await
        .unwrap();
    c.update_many(doc! {}, doc! {"$inc": {"a": 1}}).await.unwrap();
    c.update_one(doc! {"_id": 1}, doc! {"$inc": {"a": 1}})
        .await
        .unwrap();
    c.delete_one(doc! {"_id": 2}).await.unwrap();
    let mut found = Vec::new();
    for _ in 0..4 {
        assert!(!next(&mut plain).await.contains_key("fullDocument"));
        found.push(next(&mut looked_up).await.get("fullDocument").cloned());
    }
    let now = Some(Bson::from(doc! {"_id": 1, "a": 2}));
    assert_eq!(found, [now.clone(), Some(Bson::Null), now, None]);
}

pub async fn images_are_kept_where_the_collection_says_so(db: &Db) {
    db.create_collection("c")
        .option("changeStreamPreAndPostImages", doc! {"enabled": true})
        .await
        .unwrap();
    let c = db.raw_collection("c");
    let mut changes = c
        .watch()
        .full_document(FullDocument::Required)
        .full_document_before_change(FullDocumentBeforeChange::Required)
        .decode::<Document>()
        .await
        .unwrap();
    c.insert(doc! {"_id": 1}).await.unwrap();
    c.update_one(doc! {"_id": 1}, doc! {"$set": {"a": 1}})
        .await
        .unwrap();
    c.update_one(doc! {"_id": 1}, doc! {"$set": {"a": 2}})
        .await
        .unwrap();
    c.replace_one(doc! {"_id": 1}, doc! {"b": 2}).await.unwrap();
    c.delete_one(doc! {"_id": 1}).await.unwrap();
    let some = |document: Document| Some(Bson::from(document));
    let (first, second) = (some(doc! {"_id": 1, "a": 1}), some(doc! {"_id": 1, "a": 2}));
    for (after, before) in [
        (some(doc! {"_id": 1}), None),
        (first.clone(), some(doc! {"_id": 1})),
        (second.clone(), first),
        (some(doc! {"_id": 1, "b": 2}), second),
        (None, some(doc! {"_id": 1, "b": 2})),
    ] {
        let event = next(&mut changes).await;
        assert_eq!(event.get("fullDocument"), after.as_ref());
        assert_eq!(event.get("fullDocumentBeforeChange"), before.as_ref());
    }
}

pub async fn required_images_that_are_missing_are_errors(db: &Db) {
    let c = db.raw_collection("c");
    c.insert(doc! {"_id": 1}).await.unwrap();
    let mut when_available = c
        .watch()
        .full_document(FullDocument::WhenAvailable)
        .full_document_before_change(FullDocumentBeforeChange::WhenAvailable)
        .decode::<Document>()
        .await
        .unwrap();
    let mut after = c.watch().full_document(FullDocument::Required).await.unwrap();
    let mut before = c
        .watch()
        .full_document_before_change(FullDocumentBeforeChange::Required)
        .await
        .unwrap();
    c.update_one(doc! {"_id": 1}, doc! {"$set": {"a": 1}})
        .await
        .unwrap();
    let event = next(&mut when_available).await;
    assert_eq!(event.get("fullDocument"), Some(&Bson::Null));
    assert_eq!(event.get("fullDocumentBeforeChange"), Some(&Bson::Null));
    for (changes, image) in [(&mut after, "post-image"), (&mut before, "pre-image")] {
        let error = changes.try_next().await.unwrap_err();
        assert_eq!(error.code(), Some(47), "{error}");
        assert!(error.to_string().contains(image), "{error}");
        assert!(changes.is_over());
    }
}

pub async fn stages_filter_and_reshape(db: &Db) {
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

pub async fn stages_that_cannot_be_are_the_servers_errors(db: &Db) {
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
        assert_eq!(error.code(), Some(280), "{stage}: {error}");
        assert!(error.has_label("NonResumableChangeStreamError"), "{error}");
    }
    for name in ["system.views", "system.x"] {
        let error = db.raw_collection(name).watch().await.unwrap_err();
        assert_eq!(error.code(), Some(73), "{error}");
    }
}

pub async fn a_stream_resumes_after_every_token(db: &Db) {
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

pub async fn tokens_of_empty_batches_resume_too(db: &Db) {
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

pub async fn a_stream_begins_at_a_time(db: &Db) {
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

pub async fn tokens_that_cannot_be_are_errors(db: &Db) {
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

pub async fn the_changes_of_a_transaction_come_together(db: &Db) {
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

pub async fn what_is_rolled_back_is_never_seen(db: &Db) {
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

pub async fn a_waiting_reader_is_woken(db: &Db) {
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

pub async fn scopes_are_kept_apart(db: &Db) {
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

pub async fn a_transaction_cannot_watch(db: &Db) {
    db.raw_collection("c").insert(doc! {"_id": 0}).await.unwrap();
    let tx = db.begin().await.unwrap();
    let error = tx.raw_collection("c").watch().await.unwrap_err();
    assert_eq!(error.code(), Some(263), "{error}");
    tx.abort().await;
}
