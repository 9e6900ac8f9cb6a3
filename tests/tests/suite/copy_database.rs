//! Databases copied to other backends: all that a database holds, and what speaks against it.

use bson::{Bson, doc};
use odm::backend::wrap::Fault;
use odm::backend::{DropDatabase, Find, Operation, Response, WriteConcern};
use odm::{Db, Error, ErrorKind};
use odm_tests::interrupted::interrupted;
use odm_tests::raw::{RawCollection, raw};

use super::copy_database_contents::{
    beside, contents, create, fill, index, indexes, insert, memory, same, stored,
};

crate::on_every_backend! {
    everything_is_copied_to_memory_and_back,
    everything_is_copied_from_memory_and_back,
    chosen_collections_are_copied,
    a_large_document_is_copied,
    documents_that_the_target_has_are_an_error,
    collections_that_differ_are_errors,
    empty_collections_are_filled,
    what_the_target_cannot_have_is_known_before_anything_is_written,
    a_copy_has_a_source_and_a_target,
    the_embedded_engine_is_copied_as_one_commit_left_it,
    a_snapshot_stays_as_it_is,
    a_database_is_copied_to_another_of_its_engine,
    a_target_that_others_write_to_is_a_conflict,
    a_target_is_dropped_for_a_copy,
    a_copy_tells_how_far_it_is,
    a_copy_costs_what_it_says,
}

async fn everything_is_copied_to_memory_and_back(db: &Db) {
    fill(db).await;
    let (between, back) = (memory().await, beside(db));
    let report = db.copy_to(&between).verify().await.unwrap();
    assert_eq!(report.is_snapshot, db.backend_name() != "mongodb");
    let odd = report.collection("odd").unwrap();
    assert_eq!(
        (odd.documents, odd.documents_skipped, odd.created, odd.verified),
        (18, 0, true, true)
    );
    assert_eq!(report.collection("indexed").unwrap().indexes, 10);
    assert_eq!(report.collection("a view").unwrap().kind, "view");
    assert_eq!(report.collection("bare").unwrap().documents, 20);
    let there = contents(db).await;
    assert_eq!(there.len(), 18);
    same(&there, &contents(&between).await);
    between.copy_to(&back).verify().batch_size(3).await.unwrap();
    same(&there, &contents(&back).await);
    back.drop().await.unwrap();
}

async fn everything_is_copied_from_memory_and_back(db: &Db) {
    let (source, back) = (memory().await, memory().await);
    fill(&source).await;
    source.copy_to(db).verify().await.unwrap();
    let there = contents(&source).await;
    same(&there, &contents(db).await);
    db.copy_to(&back).verify().await.unwrap();
    same(&there, &contents(&back).await);
}

async fn names(db: &Db) -> Vec<String> {
    let listed = db.list_collections().await.unwrap();
    let mut names: Vec<String> = listed.into_iter().map(|info| info.name).collect();
    names.retain(|name| !name.starts_with("system."));
    names.sort();
    names
}

async fn chosen_collections_are_copied(db: &Db) {
    let source = memory().await;
    for name in ["a", "b", "c"] {
        insert(&source, name, vec![raw(&doc! { "_id": 1 })]).await;
    }
    source.create_collection("d").view_on("a", []).await.unwrap();
    let error = source.copy_to(db).only(["a", "e"]).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.namespace()),
        (ErrorKind::NotFound, Some("main.e"))
    );
    let error = source.copy_to(db).only(["system.views"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(names(db).await.is_empty());
    source.copy_to(db).only(["b"]).await.unwrap();
    assert_eq!(names(db).await, ["b"]);
    source.copy_to(db).except(["b", "d", "nothing"]).await.unwrap();
    assert_eq!(names(db).await, ["a", "b", "c"]);
    let report = source.copy_to(db).only(Vec::<String>::new()).await.unwrap();
    assert!(report.collections.is_empty());
}

async fn a_large_document_is_copied(db: &Db) {
    const MOST: usize = 16 * 1024 * 1024;
    let source = memory().await;
    let around = raw(&doc! { "_id": 1, "s": "" }).as_bytes().len();
    let large = |id: i32, size: usize| raw(&doc! { "_id": id, "s": "x".repeat(size - around) });
    insert(
        &source,
        "large",
        vec![large(2, MOST), large(1, 1000), large(3, MOST / 2), large(4, MOST)],
    )
    .await;
    source.copy_to(db).verify().await.unwrap();
    assert_eq!(stored(&source, "large").await, stored(db, "large").await);
}

async fn documents_that_the_target_has_are_an_error(db: &Db) {
    let source = memory().await;
    for name in ["a", "b"] {
        insert(&source, name, vec![raw(&doc! { "_id": 1 })]).await;
    }
    insert(db, "b", vec![raw(&doc! { "_id": 2 })]).await;
    let error = source.copy_to(db).await.unwrap_err();
    let expected = format!("{}.b", db.name());
    assert_eq!(
        (error.kind(), error.namespace()),
        (ErrorKind::InvalidArgument, Some(expected.as_str()))
    );
    assert_eq!(error.backend(), Some(db.backend_name()));
    // Nothing was written.
    assert_eq!(names(db).await, ["b"]);
    let error = source.copy_to(db).resume().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.namespace()),
        (ErrorKind::Conflict, Some(expected.as_str()))
    );
    assert_eq!(error.id(), Some(&Bson::Int32(2)));
    assert_eq!(stored(db, "b").await, [raw(&doc! { "_id": 2 })]);
    // Other collections of the target are nobody's business.
    source.copy_to(db).only(["a"]).resume().await.unwrap();
}

async fn collections_that_differ_are_errors(db: &Db) {
    let source = memory().await;
    create(&source, "x", doc! { "capped": true, "size": 1024 }).await;
    let cases = [
        (doc! { "capped": true, "size": 2048 }, "options.size"),
        (doc! {}, "options.capped"),
        (doc! { "viewOn": "y", "pipeline": [] }, "options.type"),
        (doc! { "capped": true, "size": 1024, "max": 5 }, "options.max"),
        (
            doc! { "capped": true, "size": 1024, "validator": { "a": 1 } },
            "options.validator",
        ),
    ];
    for (options, path) in cases {
        create(db, "x", options.clone()).await;
        let error = source.copy_to(db).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Schema, Some(path)),
            "{options}"
        );
        db.drop_collection("x").await.unwrap();
    }
    index(&source, "y", doc! { "key": { "a": 1, "b": 1 }, "name": "i" }).await;
    for spec in [
        doc! { "key": { "b": 1, "a": 1 }, "name": "i" },
        doc! { "key": { "a": 1, "b": 1 }, "name": "i", "unique": true },
        doc! { "key": { "at": 1 }, "name": "t", "expireAfterSeconds": 5 },
    ] {
        index(db, "y", spec.clone()).await;
        let error = source.copy_to(db).only(["y"]).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.index()),
            (ErrorKind::Schema, spec.get_str("name").ok())
        );
        db.drop_collection("y").await.unwrap();
    }
    assert!(names(db).await.is_empty());
}

async fn empty_collections_are_filled(db: &Db) {
    let source = memory().await;
    fill(&source).await;
    // As a program that starts leaves them: everything is there but the documents.
    source.copy_to(db).await.unwrap();
    for name in ["rules", "indexed", "words", "odd"] {
        db.raw_collection(name).delete_many(doc! {}).await.unwrap();
    }
    index(db, "odd", doc! { "key": { "more": 1 }, "name": "more" }).await;
    let chosen = ["rules", "indexed", "words", "odd", "a view"];
    let report = source.copy_to(db).only(chosen).verify().await.unwrap();
    let indexed = report.collection("indexed").unwrap();
    assert_eq!((indexed.created, indexed.documents), (false, 5));
    assert_eq!((indexed.indexes, indexed.indexes_skipped), (1, 9));
    for name in chosen {
        assert_eq!(stored(&source, name).await, stored(db, name).await);
    }
    assert_eq!(indexes(&source, "indexed").await, indexes(db, "indexed").await);
    assert_eq!(indexes(db, "odd").await.len(), 2);
}

async fn what_the_target_cannot_have_is_known_before_anything_is_written(db: &Db) {
    let source = memory().await;
    insert(&source, "a", vec![raw(&doc! { "_id": 1 })]).await;
    index(&source, "z", doc! { "key": { "a": 1 }, "name": "i" }).await;
    let (target, faults) = db.faulty();
    faults.add(Fault::nth("createIndexes", 1).before(Error::new(ErrorKind::Unsupported, "not here")));
    let error = source.copy_to(&target).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Unsupported, "not here")
    );
    assert_eq!(error.namespace(), Some(format!("{}.z", db.name()).as_str()));
    assert!(names(db).await.is_empty());
    // What this leaves is never copied.
    db.create_collection("odm.copying").await.unwrap();
    let other = memory().await;
    db.copy_to(&other).await.unwrap();
    assert!(names(&other).await.is_empty());
    source.copy_to(db).await.unwrap();
    assert_eq!(names(db).await, ["a", "z"]);
}

async fn a_copy_has_a_source_and_a_target(db: &Db) {
    let source = memory().await;
    insert(&source, "a", vec![raw(&doc! { "_id": 1 })]).await;
    insert(db, "a", vec![raw(&doc! { "_id": 1 })]).await;
    let error = db.copy_to(db).drop_target().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    // Whatever is around it.
    let (same, _) = db.faulty();
    let safe = db.with_write_concern(WriteConcern::majority()).unwrap();
    for (from, to) in [(db, &same), (&same, db), (&safe, db), (&same, &safe)] {
        let error = from.copy_to(to).drop_target().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(
            error.message(),
            "source and target of the copy are the same database"
        );
    }
    assert_eq!(stored(db, "a").await.len(), 1);
    create(db, "series", doc! { "timeseries": { "timeField": "t" } }).await;
    let copy = db.copy_to(&same).only(["series"]).drop_target();
    assert_eq!(copy.await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    db.drop_collection("series").await.unwrap();
    let tx = db.begin().await.unwrap();
    for error in [
        tx.copy_to(&source).await.unwrap_err(),
        source.copy_to(&tx).drop_target().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    tx.abort().await;
    // An empty database is copied, too.
    let nothing = memory().await;
    assert!(nothing.copy_to(db).await.unwrap().collections.is_empty());

    let directory = tempfile::tempdir().unwrap();
    let url = format!("native:{}", directory.path().join("db").display());
    db.copy_to(&Db::open(&url).await.unwrap()).await.unwrap();
    let read_only = Db::open(&format!("{url}?readOnly=true")).await.unwrap();
    let error = source.copy_to(&read_only).drop_target().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let report = read_only.copy_to(&nothing).verify().await.unwrap();
    assert_eq!(report.documents(), 1);
}

async fn the_embedded_engine_is_copied_as_one_commit_left_it(db: &Db) {
    for name in ["a", "b"] {
        insert(db, name, (0..10).map(|id| raw(&doc! { "_id": id })).collect()).await;
    }
    let mut reached = 0;
    for nth in 1..40 {
        let other = db.clone();
        let (target, moment) = interrupted(&memory().await, nth, async move {
            other
                .raw_collection("a")
                .delete_one(doc! { "_id": 3 })
                .await
                .unwrap();
            other
                .raw_collection("b")
                .insert(doc! { "_id": 100 })
                .await
                .unwrap();
            other.raw_collection("c").insert(doc! { "_id": 1 }).await.unwrap();
        });
        let report = db.copy_to(&target).batch_size(4).verify().await;
        if !moment.has_come() {
            break;
        }
        reached += 1;
        if db.backend_name() != "mongodb" {
            let report = report.unwrap();
            assert!(report.is_snapshot);
            assert_eq!((report.documents(), report.collections.len()), (20, 2));
            assert_eq!(stored(&target, "a").await.len(), 10);
        }
        db.drop_collection("c").await.unwrap();
        db.raw_collection("b")
            .delete_one(doc! { "_id": 100 })
            .await
            .unwrap();
        db.drop_collection("a").await.unwrap();
        insert(db, "a", (0..10).map(|id| raw(&doc! { "_id": id })).collect()).await;
    }
    assert!(reached > 10, "{reached}");
}

async fn a_snapshot_stays_as_it_is(db: &Db) {
    insert(db, "a", vec![raw(&doc! { "_id": 1 })]).await;
    let lasts = db.capabilities().lasting_snapshots;
    assert_eq!(lasts, db.backend_name() != "mongodb");
    let snapshot = db.backend().snapshot(db.name()).await.unwrap();
    let Some(snapshot) = snapshot.filter(|_| lasts) else {
        return;
    };
    insert(db, "a", vec![raw(&doc! { "_id": 2 })]).await;
    db.drop_collection("a").await.unwrap();
    let snapshot = Db::from_backend(snapshot, db.name());
    assert_eq!(stored(&snapshot, "a").await, [raw(&doc! { "_id": 1 })]);
    let a = snapshot.raw_collection("a");
    assert_eq!(a.count(doc! {}).await.unwrap(), 1);
    assert_eq!(a.aggregate_raw([doc! { "$match": {} }]).await.unwrap().len(), 1);
    // Nothing else is done with it.
    let database = db.name().to_owned();
    let follow = Find {
        tail: Some(odm::backend::Tail::Poll),
        ..Find::new(
            RawCollection::new(db, "a").namespace(),
            bson::RawDocumentBuf::new(),
        )
    };
    for operation in [
        Operation::DropDatabase(DropDatabase { database }),
        Operation::Find(follow),
    ] {
        let refused: odm::Result<Response> = snapshot.backend().execute(operation).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    }
    assert!(a.insert(doc! {}).await.unwrap_err().is_unsupported());
    assert!(snapshot.begin().await.unwrap_err().is_unsupported());
}

async fn a_database_is_copied_to_another_of_its_engine(db: &Db) {
    fill(db).await;
    let other = beside(db);
    db.copy_to(&other).verify().batch_size(1).await.unwrap();
    same(&contents(db).await, &contents(&other).await);
    other.drop().await.unwrap();
}

async fn a_target_that_others_write_to_is_a_conflict(db: &Db) {
    let source = memory().await;
    insert(&source, "a", (0..10).map(|id| raw(&doc! { "_id": id })).collect()).await;
    let other = db.clone();
    // The list, the creation, two batches.
    let (target, moment) = interrupted(db, 4, async move {
        other
            .raw_collection("a")
            .insert(doc! { "_id": "mine" })
            .await
            .unwrap();
    });
    let error = source.copy_to(&target).batch_size(4).await.unwrap_err();
    assert!(moment.has_come());
    assert_eq!(
        (error.kind(), error.note("found")),
        (ErrorKind::Conflict, Some("11"))
    );
    let error = source.copy_to(db).resume().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.id()),
        (ErrorKind::Conflict, Some(&Bson::from("mine")))
    );

    // As many, but not the same.
    let other = db.clone();
    db.drop_collection("a").await.unwrap();
    let (target, moment) = interrupted(db, 5, async move {
        let change = doc! { "$set": { "x": 1 } };
        other
            .raw_collection("a")
            .update_one(doc! { "_id": 1 }, change)
            .await
            .unwrap();
    });
    let error = source.copy_to(&target).batch_size(4).verify().await.unwrap_err();
    assert!(moment.has_come());
    assert_eq!(
        (error.kind(), error.id()),
        (ErrorKind::Conflict, Some(&Bson::Int32(1)))
    );
}

async fn a_target_is_dropped_for_a_copy(db: &Db) {
    let source = memory().await;
    fill(&source).await;
    insert(db, "a view", vec![raw(&doc! { "_id": "a collection" })]).await;
    insert(db, "weather", vec![raw(&doc! { "_id": "a collection" })]).await;
    db.create_collection("odd").view_on("mine", []).await.unwrap();
    insert(db, "mine", vec![raw(&doc! { "_id": 1 })]).await;
    for _ in 0..2 {
        let report = source.copy_to(db).drop_target().await.unwrap();
        assert!(report.collections.iter().all(|collection| collection.created));
        let mut there = contents(db).await;
        there.retain(|collection| collection.0 != "mine");
        same(&contents(&source).await, &there);
        assert_eq!(stored(db, "mine").await.len(), 1);
    }
}

async fn a_copy_tells_how_far_it_is(db: &Db) {
    let source = memory().await;
    insert(&source, "a", (0..10).map(|id| raw(&doc! { "_id": id })).collect()).await;
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = told.clone();
    source
        .copy_to(db)
        .batch_size(4)
        .on_progress(move |report| heard.lock().unwrap().push(report.documents()))
        .await
        .unwrap();
    let mut told = told.lock().unwrap().clone();
    told.dedup();
    assert_eq!(told, [4, 8, 10]);
}

async fn a_copy_costs_what_it_says(db: &Db) {
    let source = memory().await;
    insert(&source, "a", (0..10).map(|id| raw(&doc! { "_id": id })).collect()).await;
    insert(&source, "b", vec![raw(&doc! { "_id": 1 })]).await;
    index(&source, "b", doc! { "key": { "a": 1 }, "name": "i" }).await;
    let (source, reads) = source.logged();
    let (target, writes) = db.logged();
    source.copy_to(&target).batch_size(4).await.unwrap();
    let count = |name: &str| writes.count(name);
    assert_eq!(
        (
            count("listCollections"),
            count("insert"),
            count("count"),
            count("flush")
        ),
        (1, 4, 2, 1)
    );
    // One of two is tried: dropped before, made, dropped.
    assert_eq!(
        (count("create"), count("createIndexes"), count("drop")),
        (3, 2, 2)
    );
    assert_eq!(writes.entries().len(), 15);
    assert_eq!(
        (
            reads.count("listIndexes"),
            reads.count("find"),
            reads.count("getMore")
        ),
        (2, 2, 2)
    );
}
