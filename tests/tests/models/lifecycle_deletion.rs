//! Soft deletion: documents that stay, unseen.

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, ErrorKind};

use super::lifecycle_models::{File, Note};

crate::on_every_backend! {
    deletions_leave_the_document,
    reads_and_updates_see_the_living,
    deleted_documents_come_back_or_go_for_ever,
    a_partial_unique_index_lets_a_name_be_used_again,
    a_failure_between_the_runs_of_a_batch_leaves_what_went_before,
}

async fn deletions_leave_the_document(db: &Db) {
    let db = db.with_clock(|| DateTime::from_millis(5));
    let files = db.collection::<File>();
    files
        .insert_many((1..=5).map(|id| File::new(id, &id.to_string())))
        .await
        .unwrap();
    assert_eq!(files.delete(1).await.unwrap().deleted, 1);
    assert_eq!(files.delete(1).await.unwrap().deleted, 0);
    assert_eq!(files.delete_many(|f| f.id.lte(2)).await.unwrap().deleted, 1);
    let taken = files.find_one_and_delete(|f| f.id.eq(3)).await.unwrap().unwrap();
    assert_eq!((taken.id, taken.deleted), (3, None));
    let bulk = files
        .bulk_write()
        .insert(File::new(6, "6"))
        .delete_one(|f| f.id.eq(4))
        .update_one(|f| f.id.eq(5), |f| f.name.set("five"))
        .delete_many(|f| f.id.eq(6))
        .await
        .unwrap();
    assert_eq!(
        (bulk.inserted, bulk.deleted, bulk.matched, bulk.modified),
        (1, 2, 1, 1)
    );
    let raw = files.raw().count(doc! {"deleted": DateTime::from_millis(5)});
    assert_eq!(raw.await.unwrap(), 5);
    assert_eq!(files.find_all().await.unwrap().len(), 1);
}

async fn reads_and_updates_see_the_living(db: &Db) {
    let files = db.collection::<File>();
    files
        .insert_many([File::new(1, "a"), File::new(2, "b")])
        .await
        .unwrap();
    files.delete(1).await.unwrap();
    assert_eq!(files.get(1).await.unwrap(), None);
    assert_eq!(files.find_all().await.unwrap().len(), 1);
    assert_eq!(files.find_all().with_deleted().await.unwrap().len(), 2);
    assert_eq!(files.find_all().only_deleted().await.unwrap()[0].id, 1);
    assert_eq!(files.get_many([1, 2]).await.unwrap().len(), 1);
    assert!(files.get(1).with_deleted().await.unwrap().is_some());
    assert_eq!(files.count(|f| f.id.gt(0)).await.unwrap(), 1);
    assert_eq!(files.count(|f| f.id.gt(0)).with_deleted().await.unwrap(), 2);
    assert_eq!(files.estimated_count().await.unwrap(), 1);
    assert!(!files.exists(|f| f.id.eq(1)).await.unwrap());
    assert!(files.exists(|f| f.id.eq(1)).only_deleted().await.unwrap());
    assert_eq!(files.distinct(|f| f.name.clone()).await.unwrap(), ["b"]);
    let names = files.distinct(|f| f.name.clone()).with_deleted().await.unwrap();
    assert_eq!(names.len(), 2);
    let counted = || files.aggregate_raw([doc! {"$count": "n"}]);
    assert_eq!(counted().await.unwrap(), [doc! {"n": 1}]);
    assert_eq!(counted().with_deleted().await.unwrap(), [doc! {"n": 2}]);
    let renamed = files.update_many(|f| f.id.gt(0), |f| f.name.set("c"));
    assert_eq!(renamed.await.unwrap().matched, 1);
    let renamed = files.update_one(|f| f.id.eq(1), |f| f.name.set("d"));
    assert_eq!(renamed.with_deleted().await.unwrap().matched, 1);
    assert_eq!(files.replace(File::new(1, "e")).await.unwrap().matched, 0);
    let mut stream = files.find_all().stream();
    let mut seen = 0;
    while stream.next().await.transpose().unwrap().is_some() {
        seen += 1;
    }
    assert_eq!(seen, 1);
}

async fn deleted_documents_come_back_or_go_for_ever(db: &Db) {
    let files = db.collection::<File>();
    files
        .insert_many([File::new(1, "a"), File::new(2, "b")])
        .await
        .unwrap();
    files.delete_many(|f| f.id.gt(0)).await.unwrap();
    assert_eq!(files.restore(|f| f.id.eq(1)).await.unwrap().matched, 1);
    assert_eq!(files.restore(|f| f.id.eq(1)).await.unwrap().matched, 0);
    assert_eq!(files.get(1).required().await.unwrap().deleted, None);
    assert_eq!(files.purge(|f| f.id.gt(0)).await.unwrap().deleted, 2);
    assert_eq!(files.raw().count(doc! {}).await.unwrap(), 0);
    files.insert(File::new(3, "c")).await.unwrap();
    assert_eq!(files.delete(3).for_ever().await.unwrap().deleted, 1);
    assert_eq!(files.raw().count(doc! {}).await.unwrap(), 0);
    files.insert(File::new(4, "d")).await.unwrap();
    let gone = files.find_one_and_delete(|f| f.id.eq(4)).for_ever();
    assert!(gone.await.unwrap().is_some());
    assert_eq!(files.raw().count(doc! {}).await.unwrap(), 0);
    // Of those that are softly deleted already only who asks for them.
    files.insert(File::new(5, "e")).await.unwrap();
    files.delete(5).await.unwrap();
    assert_eq!(files.delete(5).for_ever().await.unwrap().deleted, 0);
    let gone = files.delete(5).for_ever().with_deleted();
    assert_eq!(gone.await.unwrap().deleted, 1);
    let error = db.collection::<Note>().restore(|n| n.id.eq(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

async fn a_partial_unique_index_lets_a_name_be_used_again(db: &Db) {
    let files = db.collection::<File>();
    files.sync_indexes().await.unwrap();
    files.insert(File::new(1, "a")).await.unwrap();
    assert!(
        files
            .insert(File::new(2, "a"))
            .await
            .unwrap_err()
            .is_duplicate_key()
    );
    files.delete(1).await.unwrap();
    files.insert(File::new(2, "a")).await.unwrap();
    assert!(
        files
            .restore(|f| f.id.eq(1))
            .await
            .unwrap_err()
            .is_duplicate_key()
    );
}

async fn a_failure_between_the_runs_of_a_batch_leaves_what_went_before(db: &Db) {
    let (faulty, faults) = db.faulty();
    let files = db.collection::<File>();
    files
        .insert_many([File::new(1, "a"), File::new(2, "b")])
        .await
        .unwrap();
    let batch = || {
        let files = faulty.collection::<File>();
        files
            .bulk_write()
            .update_one(|f| f.id.eq(2), |f| f.name.set("c"))
            .delete_one(|f| f.id.eq(1))
            .save(File::new(3, "d"))
    };
    let seen = async || {
        let all = files.find_all().sort(|f| f.id.asc()).await.unwrap();
        all.into_iter()
            .map(|file| (file.id, file.name))
            .collect::<Vec<_>>()
    };
    let name = |id: i32, name: &str| (id, name.to_owned());
    let states = [
        vec![name(1, "a"), name(2, "b")],
        vec![name(1, "a"), name(2, "c")],
        vec![name(2, "c")],
    ];
    for (before, state) in states.into_iter().enumerate() {
        faults.add(Fault::nth_write(before as u64 + 1).crash());
        assert!(batch().await.is_err());
        assert_eq!(seen().await, state);
        faults.clear();
    }
    // All of it can be run again.
    let result = batch().await.unwrap();
    assert_eq!((result.deleted, result.upserted_ids), (0, vec![(2, 3)]));
    assert_eq!(seen().await, [name(2, "c"), name(3, "d")]);
}
