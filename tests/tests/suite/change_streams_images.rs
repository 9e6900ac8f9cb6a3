//! Change streams: documents as they are, were, and became.

use bson::{Bson, Document, doc};
use odm::Db;
use odm::backend::{FullDocument, FullDocumentBeforeChange};
use odm_tests::changes::{next, watch};

crate::on_every_backend! {
    full_documents_are_looked_up_on_demand,
    images_are_kept_where_the_collection_says_so,
    required_images_that_are_missing_are_errors,
}

async fn full_documents_are_looked_up_on_demand(db: &Db) {
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

async fn images_are_kept_where_the_collection_says_so(db: &Db) {
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

async fn required_images_that_are_missing_are_errors(db: &Db) {
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
