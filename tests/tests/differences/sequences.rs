//! What sequences of commands, and examples that users copy, were found to differ in.

use odm::Db;
use odm::bson::{Bson, Decimal128, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, figure, insert, run};

crate::on_every_backend! {
    merging_inserts_begin_with_what_they_looked_for,
    what_a_merging_pipeline_makes_begins_with_its_id,
    merging_takes_null_for_what_is_not_said,
    an_index_is_not_changed_by_a_pattern_of_several,
    a_missing_collection_keeps_no_cursor_open,
    validation_tells_of_documents_that_do_not_match,
    the_name_of_a_view_is_looked_at_before_its_pipeline,
    collections_to_be_unique_are_looked_for_first,
    infinity_is_a_member_of_every_series,
    buckets_without_a_default_fail_by_the_stage_that_they_are,
    longs_are_filled_in_as_doubles,
    taken_ids_of_clustered_collections_are_shown_plainly,
}

fn names(document: &Document) -> Vec<&str> {
    document.keys().map(String::as_str).collect()
}

async fn merging_inserts_begin_with_what_they_looked_for(db: &Db) {
    for key in [doc! { "q": 1 }, doc! { "r": 1, "q": 1 }, doc! { "x.y": 1 }] {
        let name = key.keys().cloned().collect::<Vec<_>>().join("_");
        let index = doc! { "key": key, "name": name, "unique": true };
        run(db, doc! { "createIndexes": "t", "indexes": [index] }).await;
    }
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "p": 1, "q": 2, "r": 3, "x": { "b": 1, "y": 1 }, "a": 5 }],
    )
    .await;
    let by = |names: &[&str]| bson!(names.to_vec());
    for (on, merged) in [
        (by(&["q"]), ["_id", "q", "a", "p", "r", "x"]),
        (by(&["r", "q"]), ["_id", "q", "r", "a", "p", "x"]),
        (by(&["x.y"]), ["_id", "x", "a", "p", "q", "r"]),
    ] {
        for (matched, expected) in [
            (bson!("merge"), merged),
            (bson!("keepExisting"), merged),
            (bson!("replace"), ["_id", "p", "q", "r", "x", "a"]),
            (bson!([{ "$set": { "n": 1 } }]), ["_id", "p", "q", "r", "x", "a"]),
        ] {
            run(db, doc! { "delete": "t", "deletes": [{ "q": {}, "limit": 0 }] }).await;
            let merge = doc! { "into": "t", "on": on.clone(), "whenMatched": matched.clone() };
            aggregate(
                db,
                "c",
                vec![doc! { "$project": { "_id": 0 } }, doc! { "$merge": merge }],
            )
            .await;
            let reply = run(db, doc! { "find": "t" }).await;
            assert_eq!(names(&batch(&reply)[0]), expected, "{on} {matched}");
        }
    }
}

async fn what_a_merging_pipeline_makes_begins_with_its_id(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    insert(db, "d", vec![doc! { "_id": 1, "a": 1 }]).await;
    let pipeline = bson!([{ "$replaceWith": { "w": 2, "_id": "$_id" } }]);
    aggregate(
        db,
        "c",
        vec![doc! { "$merge": { "into": "d", "whenMatched": pipeline } }],
    )
    .await;
    let reply = run(db, doc! { "find": "d" }).await;
    assert_eq!(names(&batch(&reply)[0]), ["_id", "w"]);
}

async fn merging_takes_null_for_what_is_not_said(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    aggregate(
        db,
        "c",
        vec![doc! { "$merge": { "into": "d", "whenNotMatched": null } }],
    )
    .await;
    let reply = run(db, doc! { "find": "d" }).await;
    assert_eq!(batch(&reply), [doc! { "_id": 1 }]);
}

async fn an_index_is_not_changed_by_a_pattern_of_several(db: &Db) {
    let indexes = bson!([
        { "key": { "s": 1 }, "name": "a", "unique": true },
        { "key": { "s": 1 }, "name": "b" },
        { "key": { "s": 1 }, "name": "c", "partialFilterExpression": { "z": 1 } },
    ]);
    run(db, doc! { "createIndexes": "c", "indexes": indexes }).await;
    for change in [
        doc! { "hidden": true },
        doc! { "expireAfterSeconds": 5 },
        doc! { "prepareUnique": true },
    ] {
        let mut index = doc! { "keyPattern": { "s": 1 } };
        index.extend(change);
        let error = db
            .run_command(doc! { "collMod": "c", "index": index })
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some(181));
        let shown = "matches 3 indexes, must use index name. Conflicting indexes:{ v: 2, unique: true, key: { s: 1 }, \
                     name: \"a\" }, { v: 2, key: { s: 1 }, name: \"b\" }";
        assert!(error.message().contains(shown), "{error}");
    }
    let named = doc! { "collMod": "c", "index": { "name": "b", "hidden": true } };
    assert!(run(db, named).await.get_bool("hidden_new").unwrap());
}

async fn a_missing_collection_keeps_no_cursor_open(db: &Db) {
    let open = async |collection: &str| {
        let reply = run(db, doc! { "find": collection, "batchSize": 0 }).await;
        reply.get_document("cursor").unwrap().get_i64("id").unwrap() != 0
    };
    assert!(!open("nope").await);
    run(db, doc! { "create": "empty" }).await;
    assert!(open("empty").await);
}

async fn validation_tells_of_documents_that_do_not_match(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }, doc! { "_id": 2, "a": 1 }]).await;
    let strangers = bson!([
        "Detected one or more documents not compliant with the collection's schema. Check logs for log id 5363500."
    ]);
    let strangers = strangers.as_array().unwrap();
    let none: &Vec<Bson> = &Vec::new();
    for (change, valid, indexes, warnings, errors, count) in [
        (doc! { "validator": { "a": 1 } }, false, 0, none, strangers, 1),
        (doc! { "validationAction": "warn" }, true, 1, strangers, none, 1),
        (doc! { "validationLevel": "off" }, true, 1, none, none, 0),
    ] {
        let mut command = doc! { "collMod": "c" };
        command.extend(change);
        run(db, command.clone()).await;
        let reply = run(db, doc! { "validate": "c" }).await;
        assert_eq!(reply.get_bool("valid").unwrap(), valid, "{command}");
        assert_eq!(reply.get_array("warnings").unwrap(), warnings, "{command}");
        assert_eq!(reply.get_array("errors").unwrap(), errors, "{command}");
        let number = |name: &str| figure(&reply, name);
        assert_eq!(number("nIndexes"), indexes, "{command}");
        assert_eq!(number("nNonCompliantDocuments"), count, "{command}");
        assert_eq!(reply.contains_key("advice"), !valid, "{command}");
    }
}

async fn the_name_of_a_view_is_looked_at_before_its_pipeline(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    for (name, text) in [
        ("c", "Cannot create collection "),
        ("v", "Namespace already exists"),
    ] {
        for (view, expected) in [
            (doc! { "viewOn": "c" }, 48),
            (doc! { "viewOn": "c", "pipeline": [{ "$bad": 1 }] }, 48),
            (doc! { "viewOn": "c", "pipeline": [{ "$out": "x" }] }, 48),
            (doc! { "viewOn": "a$b" }, 48),
            (doc! { "viewOn": "c", "pipeline": [5] }, 14),
            (
                doc! { "viewOn": "c", "idIndex": { "key": { "_id": 1 }, "name": "_id_" } },
                72,
            ),
            (doc! { "viewOn": "" }, 2),
        ] {
            let mut command = doc! { "create": name };
            command.extend(view);
            let error = db.run_command(command.clone()).await.unwrap_err();
            assert_eq!(error.code(), Some(expected), "{command}");
            if expected == 48 {
                assert!(error.message().contains(text), "{command}: {error}");
            }
        }
    }
}

async fn collections_to_be_unique_are_looked_for_first(db: &Db) {
    let change = doc! { "collMod": "nope", "index": { "name": "a", "unique": true } };
    let error = db.run_command(change.clone()).await.unwrap_err();
    assert_eq!(error.code(), Some(26));
    assert!(error.message().contains("for unique index conversion"), "{error}");
    let mut tried = change;
    tried.insert("dryRun", true);
    assert_eq!(code(db, tried).await, 72);
}

async fn infinity_is_a_member_of_every_series(db: &Db) {
    let infinity = f64::INFINITY;
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "v": 1 }, doc! { "_id": 2, "v": infinity }],
    )
    .await;
    let bounds = async |granularity: &str| {
        let stage = doc! { "groupBy": "$v", "buckets": 2, "granularity": granularity };
        let buckets = aggregate(db, "c", vec![doc! { "$bucketAuto": stage }]).await;
        let bound = |bucket: &Document, name: &str| bucket.get_document("_id").unwrap().get(name).cloned();
        let bounds = |bucket: &Document| (bound(bucket, "min").unwrap(), bound(bucket, "max").unwrap());
        buckets.iter().map(bounds).collect::<Vec<_>>()
    };
    assert_eq!(
        bounds("R5").await,
        [(0.63.into(), 1.6.into()), (1.6.into(), infinity.into())]
    );
    assert_eq!(
        bounds("POWERSOF2").await,
        [(0.5.into(), 2.into()), (2.into(), 0.0.into())]
    );
    let infinity: Decimal128 = "Infinity".parse().unwrap();
    let zero: Decimal128 = "0E-6176".parse().unwrap();
    run(
        db,
        doc! { "update": "c", "updates": [{ "q": { "_id": 2 }, "u": { "$set": { "v": infinity } } }] },
    )
    .await;
    assert_eq!(bounds("E6").await[1].1, infinity.into());
    assert_eq!(bounds("POWERSOF2").await[1].1, zero.into());
}

async fn buckets_without_a_default_fail_by_the_stage_that_they_are(db: &Db) {
    insert(db, "c", (0..3).map(|n| doc! { "_id": n, "v": n }).collect()).await;
    let top = doc! { "$topN": { "n": 1, "output": "$v", "sortBy": { "v": 1 } } };
    for (before, made, expected) in [
        (None, doc! { "$sum": 1 }, 4_934_200),
        (
            Some(doc! { "$match": { "v": { "$gte": 0 } } }),
            doc! { "$sum": 1 },
            4_934_200,
        ),
        (Some(doc! { "$unwind": "$v" }), doc! { "$sum": 1 }, 40_066),
        (None, top, 40_066),
    ] {
        let bucket = doc! { "groupBy": "$v", "boundaries": [0, 2], "output": { "x": made.clone() } };
        let mut pipeline = Vec::from_iter(before);
        pipeline.push(doc! { "$bucket": bucket });
        let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
}

async fn longs_are_filled_in_as_doubles(db: &Db) {
    let (from, to) = (9_007_199_254_740_993_i64, 18_014_398_509_481_987_i64);
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 0, "t": 0, "v": from },
            doc! { "_id": 1, "t": 1, "v": null },
            doc! { "_id": 2, "t": 3, "v": to },
        ],
    )
    .await;
    let fill = doc! { "sortBy": { "t": 1 }, "output": { "v": { "method": "linear" } } };
    let filled = aggregate(
        db,
        "c",
        vec![doc! { "$fill": fill }, doc! { "$match": { "_id": 1 } }],
    )
    .await;
    let slope = (to - from) as f64 / 3.0;
    assert_eq!(filled[0].get("v"), Some(&Bson::Double(from as f64 + slope)));
}

async fn taken_ids_of_clustered_collections_are_shown_plainly(db: &Db) {
    let clustered = doc! { "key": { "_id": 1 }, "unique": true };
    run(
        db,
        doc! { "create": "k", "clusteredIndex": clustered, "collation": { "locale": "en" } },
    )
    .await;
    insert(db, "k", vec![doc! { "_id": 9 }]).await;
    let reply = db
        .run_command(doc! { "insert": "k", "documents": [{ "_id": 9 }] })
        .await
        .unwrap();
    let error = &reply.get_array("writeErrors").unwrap()[0];
    let message = error.as_document().unwrap().get_str("errmsg").unwrap();
    assert!(message.ends_with("k dup key: { _id: 9 }"), "{message}");
}
