//! What special collections, and the limits of commands, were found to differ in.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    capped_copies_keep_the_last_document,
    capped_copies_pass_over_a_last_document_that_is_far_too_large,
    documents_in_arrays_are_no_filters_of_sources,
    writes_to_views_and_series_are_not_explained,
    parts_of_clustered_collections_are_read_forward,
    parts_of_clustered_collections_may_be_empty,
    indexes_of_capped_collections_do_not_expire,
    indexes_of_views_are_not_made_unique,
    the_index_of_ids_is_not_hidden_with_anything_else,
    merging_what_exists_is_validated_first,
    pipelines_have_a_thousand_stages_at_most,
    stages_count_as_what_they_are_made_of,
    pipelines_inside_of_others_have_a_thousand_stages_at_most,
    update_pipelines_have_a_thousand_stages_at_most,
    databases_are_dropped_by_one,
    series_may_have_names_that_their_buckets_have_no_room_for,
}

async fn sizes(db: &Db, name: &str) -> Vec<i32> {
    let size = doc! { "$project": { "n": { "$bsonSize": "$$ROOT" } } };
    let rows = aggregate(db, name, vec![size]).await;
    rows.iter().map(|row| row.get_i32("n").unwrap()).collect()
}

/// Documents with strings of these lengths, of 22 bytes more than that.
async fn texts(db: &Db, lengths: &[usize]) {
    let documents = lengths.iter().enumerate().map(|(id, length)| {
        let id = i32::try_from(id).unwrap();
        doc! { "_id": id, "s": "x".repeat(*length) }
    });
    insert(db, "c", documents.collect()).await;
}

async fn clone_as_capped(db: &Db, to: &str, size: i32) -> Vec<i32> {
    run(
        db,
        doc! { "cloneCollectionAsCapped": "c", "toCollection": to, "size": size },
    )
    .await;
    sizes(db, to).await
}

async fn capped_copies_keep_the_last_document(db: &Db) {
    texts(db, &[1000, 100, 4000]).await;
    assert_eq!(clone_as_capped(db, "d", 256).await, [4022]);
    assert_eq!(clone_as_capped(db, "e", 4200).await, [122, 4022]);
    run(db, doc! { "convertToCapped": "c", "size": 1 }).await;
    assert_eq!(sizes(db, "c").await, [4022]);
    // The next one takes its place.
    insert(db, "c", vec![doc! { "_id": 9 }]).await;
    assert_eq!(sizes(db, "c").await, [14]);
}

async fn capped_copies_pass_over_a_last_document_that_is_far_too_large(db: &Db) {
    texts(db, &[8192]).await;
    assert!(clone_as_capped(db, "d", 3000).await.is_empty());
    assert_eq!(clone_as_capped(db, "e", 5000).await, [8214]);
    db.raw_collection("c").drop().await.unwrap();
    texts(db, &[1000, 12000]).await;
    assert!(clone_as_capped(db, "f", 3000).await.is_empty());
    assert_eq!(clone_as_capped(db, "g", 5000).await, [12022]);
    run(db, doc! { "convertToCapped": "c", "size": 256 }).await;
    assert!(sizes(db, "c").await.is_empty());
}

/// How many documents a command found.
async fn count_of(db: &Db, command: Document) -> i32 {
    run(db, command).await.get_i32("n").unwrap()
}

async fn create_series(db: &Db) {
    let series = doc! { "timeField": "t", "metaField": "m" };
    run(db, doc! { "create": "c", "timeseries": series }).await;
    let time = odm::bson::DateTime::from_millis(0);
    let sources = [bson!(1), bson!({ "a": 1 }), bson!([{ "a": 1 }]), bson!([1, 2])];
    let documents = sources
        .into_iter()
        .zip(0..)
        .map(|(source, id)| doc! { "_id": id, "t": time, "m": source });
    insert(db, "c", documents.collect()).await;
}

async fn documents_in_arrays_are_no_filters_of_sources(db: &Db) {
    create_series(db).await;
    let remove = |filter: Document| doc! { "delete": "c", "deletes": [{ "q": filter, "limit": 0 }] };
    let change = |filter: Document| {
        let update = doc! { "$set": { "m": 5 } };
        doc! { "update": "c", "updates": [{ "q": filter, "u": update, "multi": true }] }
    };
    for filter in [
        doc! { "m": { "$in": [1, { "a": 1 }] } },
        doc! { "m": { "$nin": [{ "a": 1 }] } },
        doc! { "m": [{ "a": 1 }] },
        doc! { "m": { "$ne": [[{ "a": 1 }]] } },
        doc! { "m": { "x": [{ "a": 1 }] } },
        doc! { "m": { "$not": { "$all": [{ "a": 1 }] } } },
        doc! { "m": { "$elemMatch": { "$or": [{ "a": 1 }] } } },
        doc! { "$or": [{ "m": { "$in": [{ "a": 1 }] } }] },
        doc! { "$comment": [{ "a": 1 }] },
        doc! { "m": { "$eq": { "$expr": 1 } } },
    ] {
        assert_eq!(code(db, remove(filter.clone())).await, 72, "{filter}");
        assert_eq!(code(db, change(filter.clone())).await, 72, "{filter}");
    }
    // In no array they are values.
    let element = doc! { "m": { "$elemMatch": { "a": 1 } } };
    assert_eq!(count_of(db, remove(element)).await, 1);
    assert_eq!(count_of(db, remove(doc! { "m": { "a": 1 } })).await, 1);
    let values = doc! { "m": { "$in": [1, [1, 2], {}] } };
    assert_eq!(count_of(db, change(values)).await, 2);
}

async fn writes_to_views_and_series_are_not_explained(db: &Db) {
    create_series(db).await;
    let view: [Document; 0] = [];
    run(db, doc! { "create": "v", "viewOn": "b", "pipeline": view }).await;
    for name in ["c", "v"] {
        let writes = [
            doc! { "delete": name, "deletes": [{ "q": { "m": 1 }, "limit": 0 }] },
            doc! { "update": name, "updates": [{ "q": {}, "u": { "$set": { "m": 1 } }, "multi": true }] },
            doc! { "findAndModify": name, "query": {}, "remove": true },
        ];
        for write in writes {
            assert_eq!(code(db, doc! { "explain": &write }).await, 166, "{write}");
        }
        let read = doc! { "find": name };
        assert_eq!(code(db, doc! { "explain": read }).await, 0, "{name}");
    }
}

async fn create_clustered(db: &Db) {
    let index = doc! { "key": { "_id": 1 }, "unique": true };
    run(db, doc! { "create": "c", "clusteredIndex": index }).await;
    insert(db, "c", (1..=4).map(|id| doc! { "_id": id }).collect()).await;
}

/// A find in a part of a clustered collection.
fn part(edges: Document) -> Document {
    let mut find = doc! { "find": "c", "hint": { "_id": 1 } };
    find.extend(edges);
    find
}

async fn parts_of_clustered_collections_are_read_forward(db: &Db) {
    create_clustered(db).await;
    let edges = doc! { "min": { "_id": 2 }, "max": { "_id": 4 } };
    let sorted = |sort: Document| {
        let mut edges = edges.clone();
        edges.insert("sort", sort);
        part(edges)
    };
    assert_eq!(ids(&batch(&run(db, part(edges.clone())).await)), [2, 3]);
    assert_eq!(ids(&batch(&run(db, sorted(doc! { "_id": 1 })).await)), [2, 3]);
    assert_eq!(
        ids(&batch(&run(db, sorted(doc! { "_id": -1, "a": 1 })).await)),
        [3, 2]
    );
    assert_eq!(code(db, sorted(doc! { "_id": -1 })).await, 6_137_402);
    let open = doc! { "min": { "_id": 2 }, "sort": { "_id": -1 } };
    assert_eq!(code(db, part(open)).await, 6_137_402);
}

async fn parts_of_clustered_collections_may_be_empty(db: &Db) {
    create_clustered(db).await;
    for edges in [
        doc! { "max": { "_id": Bson::MinKey } },
        doc! { "min": { "_id": Bson::MaxKey } },
    ] {
        assert!(batch(&run(db, part(edges)).await).is_empty());
    }
    for (min, max) in [(3, 1), (3, 3)] {
        let edges = doc! { "min": { "_id": min }, "max": { "_id": max } };
        assert_eq!(code(db, part(edges.clone())).await, 6_137_401);
        let mut backward = edges;
        backward.insert("sort", doc! { "_id": -1 });
        assert_eq!(code(db, part(backward)).await, 6_137_401);
    }
}

async fn indexes_of_capped_collections_do_not_expire(db: &Db) {
    run(db, doc! { "create": "c", "capped": true, "size": 4096 }).await;
    let index = doc! { "key": { "a": 1 }, "name": "a" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    for index in [
        doc! { "name": "a", "expireAfterSeconds": 5 },
        doc! { "name": "a", "expireAfterSeconds": -1 },
        doc! { "name": "none", "expireAfterSeconds": 5 },
        doc! { "keyPattern": { "a": 1 }, "expireAfterSeconds": 5, "hidden": true },
    ] {
        let change = doc! { "collMod": "c", "index": &index };
        assert_eq!(code(db, change).await, 72, "{index}");
    }
    let hide = doc! { "collMod": "c", "index": { "name": "a", "hidden": true } };
    assert_eq!(code(db, hide).await, 0);
}

async fn indexes_of_views_are_not_made_unique(db: &Db) {
    let view: [Document; 0] = [];
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": view }).await;
    let change = |index: Document| doc! { "collMod": "v", "index": index };
    let unique = doc! { "name": "a", "unique": true };
    assert_eq!(code(db, change(unique)).await, 166);
    let hidden = doc! { "name": "a", "hidden": true };
    assert_eq!(code(db, change(hidden)).await, 72);
}

async fn the_index_of_ids_is_not_hidden_with_anything_else(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    let index = doc! { "name": "_id_", "hidden": true, "prepareUnique": true };
    assert_eq!(code(db, doc! { "collMod": "c", "index": index }).await, 2);
}

async fn merging_what_exists_is_validated_first(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 1 }]).await;
    run(db, doc! { "create": "d", "validator": { "a": { "$gt": 5 } } }).await;
    let existing = doc! { "insert": "d", "documents": [{ "_id": 1, "a": 9 }] };
    run(db, existing).await;
    let merge = |a: i32, unvalidated: bool| {
        let into = doc! { "$merge": { "into": "d", "whenMatched": "fail" } };
        doc! {
            "aggregate": "c",
            "pipeline": [{ "$set": { "a": a } }, into],
            "cursor": {},
            "bypassDocumentValidation": unvalidated,
        }
    };
    assert_eq!(code(db, merge(1, false)).await, 121);
    assert_eq!(code(db, merge(1, true)).await, 11000);
    assert_eq!(code(db, merge(7, false)).await, 11000);
}

fn stages(count: usize) -> Vec<Document> {
    vec![doc! { "$limit": 5 }; count]
}

fn pipeline(name: &str, stages: Vec<Document>) -> Document {
    doc! { "aggregate": name, "pipeline": stages, "cursor": {} }
}

async fn pipelines_have_a_thousand_stages_at_most(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    assert_eq!(code(db, pipeline("c", stages(1000))).await, 0);
    assert_eq!(code(db, pipeline("c", stages(1001))).await, 9);
    let create =
        |name: &str, stages: Vec<Document>| doc! { "create": name, "viewOn": "c", "pipeline": stages };
    assert_eq!(code(db, create("v", stages(1001))).await, 9);
    run(db, create("v", stages(1000))).await;
    // A view's stages are the first of those that read it.
    assert_eq!(code(db, doc! { "find": "v" }).await, 0);
    assert_eq!(code(db, pipeline("v", stages(1))).await, 9);
    let explain = doc! { "explain": pipeline("c", stages(1001)) };
    assert_eq!(code(db, explain).await, 9);
}

async fn stages_count_as_what_they_are_made_of(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 1 }]).await;
    let total = doc! { "x": { "$sum": 1 } };
    let held = doc! { "a": { "method": "locf" } };
    let full = doc! { "step": 1, "bounds": "full" };
    for (stage, length) in [
        (doc! { "$bucketAuto": { "groupBy": "$a", "buckets": 1 } }, 1),
        (doc! { "$count": "n" }, 2),
        (doc! { "$sortByCount": "$a" }, 2),
        (doc! { "$bucket": { "groupBy": "$a", "boundaries": [0, 5] } }, 2),
        (doc! { "$densify": { "field": "a", "range": full } }, 2),
        (doc! { "$fill": { "output": { "a": { "value": 1 } } } }, 1),
        (doc! { "$fill": { "sortBy": { "_id": 1 }, "output": held } }, 2),
        (doc! { "$setWindowFields": { "output": &total } }, 1),
        (
            doc! { "$setWindowFields": { "sortBy": { "a": 1 }, "output": &total } },
            2,
        ),
        (
            doc! { "$setWindowFields": { "partitionBy": "$a", "output": &total } },
            2,
        ),
        (
            doc! { "$setWindowFields": {
                "partitionBy": { "$add": ["$a", 1] }, "sortBy": { "_id": 1 }, "output": &total,
            } },
            4,
        ),
    ] {
        for (others, expected) in [(1000 - length, 0), (1001 - length, 9)] {
            let mut stages = stages(others);
            stages.push(stage.clone());
            assert_eq!(code(db, pipeline("c", stages)).await, expected, "{stage}");
        }
    }
}

async fn pipelines_inside_of_others_have_a_thousand_stages_at_most(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (count, expected) in [(1000, 0), (1001, 9)] {
        for stage in [
            doc! { "$facet": { "a": stages(count) } },
            doc! { "$lookup": { "from": "c", "pipeline": stages(count), "as": "l" } },
            doc! { "$unionWith": { "coll": "c", "pipeline": stages(count) } },
        ] {
            assert_eq!(code(db, pipeline("c", vec![stage])).await, expected);
        }
    }
}

async fn update_pipelines_have_a_thousand_stages_at_most(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let set = |count: usize| vec![doc! { "$set": { "a": 1 } }; count];
    for (count, expected) in [(1000, 0), (1001, 9)] {
        let update = doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": set(count) }] };
        assert_eq!(code(db, update).await, expected);
        let modify = doc! { "findAndModify": "c", "query": { "_id": 1 }, "update": set(count) };
        assert_eq!(code(db, modify).await, expected);
        let merge = doc! { "$merge": { "into": "c", "whenMatched": set(count) } };
        assert_eq!(code(db, pipeline("c", vec![merge])).await, expected);
    }
}

async fn databases_are_dropped_by_one(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (value, expected) in [
        (bson!(0), 5_255_100),
        (bson!(2), 5_255_100),
        (bson!(0.9), 5_255_100),
        (bson!(true), 14),
        (bson!("1"), 14),
        (Bson::Null, 40_414),
    ] {
        let drop = doc! { "dropDatabase": &value };
        assert_eq!(code(db, drop).await, expected, "{value}");
    }
    assert_eq!(count_of(db, doc! { "count": "c" }).await, 1);
    let reply = run(db, doc! { "dropDatabase": 1.9 }).await;
    assert!(!reply.contains_key("dropped"), "{reply}");
    assert_eq!(count_of(db, doc! { "count": "c" }).await, 0);
}

async fn series_may_have_names_that_their_buckets_have_no_room_for(db: &Db) {
    let name = "s".repeat(250 - db.name().len());
    run(db, doc! { "create": &name, "timeseries": { "timeField": "t" } }).await;
    let time = odm::bson::DateTime::from_millis(0);
    insert(db, &name, vec![doc! { "_id": 1, "t": time }]).await;
    assert_eq!(ids(&batch(&run(db, doc! { "find": &name }).await)), [1]);
}
