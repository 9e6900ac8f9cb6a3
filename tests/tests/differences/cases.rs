//! What was found to differ where the cases of MongoDB's own tests were asked of both.

use odm::Db;
use odm::bson::{Bson, DateTime, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    what_many_writes_did_before_a_condition_failed_stays,
    an_empty_name_at_the_end_stands_for_the_elements,
    documents_of_a_join_that_it_makes_itself_are_joined,
    int32_are_added_in_one_step_and_int64_in_two,
    a_product_is_carried_as_a_double_from_its_first_factor,
    a_time_series_is_read_by_any_collation,
    an_explain_that_is_not_asked_for_needs_no_cursor,
    a_search_without_a_collection_is_refused,
    orders_take_the_names_of_references,
    a_hint_may_say_that_it_is_one,
    angle_brackets_are_themselves_behind_a_backslash,
    indexes_are_created_for_the_collection_that_was_meant,
    cursors_are_closed_by_whatever_name,
    a_repetition_behind_nothing_is_of_the_character_before_it,
    edges_of_an_index_are_taken_as_they_are_written,
    a_view_in_natural_order_reads_its_collection_in_it,
}

fn set(filter: Document, is_multi: bool) -> Document {
    doc! { "update": "c", "updates": [{ "q": filter, "u": { "$set": { "x": 1 } }, "multi": is_multi }] }
}

async fn what_many_writes_did_before_a_condition_failed_stays(db: &Db) {
    // The third is no number.
    let documents = || {
        (1..=4)
            .map(|id| match id {
                3 => doc! { "_id": id, "a": "x" },
                _ => doc! { "_id": id, "a": id },
            })
            .collect()
    };
    let fails = || doc! { "$expr": { "$add": ["$a", 1] } };
    insert(db, "c", documents()).await;
    let reply = run(db, set(fails(), true)).await;
    assert_eq!(reply.get_i32("n").unwrap(), 0);
    assert_eq!(reply.get_i32("nModified").unwrap(), 0);
    assert_eq!(code(db, set(fails(), true)).await, 16554);
    let changed = batch(
        &run(
            db,
            doc! { "find": "c", "filter": { "x": 1 }, "sort": { "_id": 1 } },
        )
        .await,
    );
    assert_eq!(ids(&changed), [1, 2]);

    let delete = |limit: i32| doc! { "delete": "c", "deletes": [{ "q": fails(), "limit": limit }] };
    assert_eq!(code(db, delete(1)).await, 0);
    let reply = run(db, delete(0)).await;
    assert_eq!(reply.get_i32("n").unwrap(), 0);
    let left = batch(&run(db, doc! { "find": "c", "sort": { "_id": 1 } }).await);
    assert_eq!(ids(&left), [3, 4]);

    // Nothing is inserted instead of what could not be looked for.
    let mut upsert = set(fails(), true);
    let updates = upsert.get_array_mut("updates").unwrap();
    let first = updates[0].as_document_mut().unwrap();
    first.insert("q", doc! { "a": "x", "$expr": { "$add": ["$a", 1] } });
    assert_eq!(code(db, upsert).await, 16554);
    assert_eq!(
        aggregate(db, "c", vec![doc! { "$count": "n" }]).await,
        [doc! { "n": 2 }]
    );
}

async fn an_empty_name_at_the_end_stands_for_the_elements(db: &Db) {
    let documents = vec![
        doc! { "_id": 1, "a": [1, 2] },
        doc! { "_id": 2, "a": [[1]] },
        doc! { "_id": 3, "a": 1 },
        doc! { "_id": 4, "a": [{ "": 1 }] },
        doc! { "_id": 5, "a": { "": 1 } },
        doc! { "_id": 6, "a": [] },
        doc! { "_id": 7, "a": { "b": [1] } },
    ];
    insert(db, "c", documents).await;
    let cases = [
        (doc! { "a.": 1 }, vec![1, 5]),
        (doc! { "a.": [1] }, vec![2]),
        (doc! { "a.": [1, 2] }, vec![1]),
        (doc! { "a.": { "$size": 1 } }, vec![2, 4]),
        (doc! { "a.": { "$exists": true } }, vec![1, 2, 4, 5, 6]),
        (doc! { "a.": { "$elemMatch": { "": 1 } } }, vec![4]),
        (doc! { "a.b.": 1 }, vec![7]),
    ];
    for (filter, expected) in cases {
        let find = doc! { "find": "c", "filter": filter.clone(), "sort": { "_id": 1 } };
        assert_eq!(ids(&batch(&run(db, find).await)), expected, "{filter}");
    }
    let update = doc! { "update": "c", "updates": [{
        "q": { "_id": 2 }, "u": { "$set": { "a.$[i]": 9 } }, "arrayFilters": [{ "i.": 1 }],
    }] };
    run(db, update).await;
    let changed = batch(&run(db, doc! { "find": "c", "filter": { "_id": 2 } }).await);
    assert_eq!(changed, [doc! { "_id": 2, "a": [9] }]);
}

async fn documents_of_a_join_that_it_makes_itself_are_joined(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": [1, 2] }, doc! { "_id": 2 }]).await;
    let lookup = |pipeline: Bson| {
        doc! { "$lookup": { "localField": "a", "foreignField": "a", "as": "x", "pipeline": pipeline } }
    };
    let made = bson!({ "$documents": [{ "a": 1 }, { "a": 2 }, { "b": 1 }, { "a": 3 }] });
    let joined = aggregate(db, "c", vec![lookup(bson!([made.clone()]))]).await;
    assert_eq!(
        joined,
        [
            doc! { "_id": 1, "a": [1, 2], "x": [{ "a": 1 }, { "a": 2 }] },
            doc! { "_id": 2, "x": [{ "b": 1 }] },
        ]
    );
    // What changes them comes later.
    let changed = lookup(bson!([made, { "$match": { "a": { "$ne": 2 } } }, { "$set": { "a": 7 } }]));
    let joined = aggregate(db, "c", vec![changed, doc! { "$match": { "_id": 1 } }]).await;
    assert_eq!(joined, [doc! { "_id": 1, "a": [1, 2], "x": [{ "a": 7 }] }]);
}

async fn int32_are_added_in_one_step_and_int64_in_two(db: &Db) {
    let numbers = [
        (bson!([1, 0.1, -1]), 0.10000000000000009),
        (bson!([1, 0.2, -1]), 0.19999999999999996),
        (bson!([1, 0.1, -1_i64]), 0.1),
        (bson!([0.1, -1]), -0.9),
    ];
    for (at, (given, expected)) in numbers.into_iter().enumerate() {
        let name = format!("c{at}");
        let given = given.as_array().unwrap().clone();
        let rows = given.iter().enumerate();
        insert(
            db,
            &name,
            rows.map(|(id, a)| doc! { "_id": id as i32, "a": a.clone() })
                .collect(),
        )
        .await;
        let group = doc! { "$group": { "_id": null, "sum": { "$sum": "$a" }, "mean": { "$avg": "$a" } } };
        let mean = expected / given.len() as f64;
        let sums = aggregate(db, &name, vec![group]).await;
        assert_eq!(
            sums,
            [doc! { "_id": null, "sum": expected, "mean": mean }],
            "{given:?}"
        );
        let project =
            doc! { "$project": { "_id": 0, "sum": { "$sum": given.clone() }, "add": { "$add": given } } };
        let sums = aggregate(db, &name, vec![project, doc! { "$limit": 1 }]).await;
        assert_eq!(sums, [doc! { "sum": expected, "add": expected }]);
    }
}

async fn a_product_is_carried_as_a_double_from_its_first_factor(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let cases = [
        (bson!([9007199254740993_i64, 2, 5, -0.3]), -2.7021597764222976e16),
        (
            bson!([3, 4611686018427387904_i64, 9007199254740993_i64]),
            1.2461512460483587e35,
        ),
    ];
    for (factors, expected) in cases {
        let project = doc! { "$project": { "_id": 0, "x": { "$multiply": factors } } };
        assert_eq!(aggregate(db, "c", vec![project]).await, [doc! { "x": expected }]);
    }
    let project = doc! { "$project": { "_id": 0, "x": { "$multiply": [-1, 0, 1.5] } } };
    let zero = aggregate(db, "c", vec![project]).await;
    assert!(zero[0].get_f64("x").unwrap().is_sign_negative());
}

async fn a_time_series_is_read_by_any_collation(db: &Db) {
    let folds = || doc! { "locale": "en", "strength": 2 };
    run(
        db,
        doc! { "create": "c", "timeseries": { "timeField": "t", "metaField": "m" } },
    )
    .await;
    let at = |minute: i64| DateTime::from_millis(minute * 60_000);
    let rows = vec![
        doc! { "_id": 1, "t": at(1), "m": "a", "v": "X" },
        doc! { "_id": 2, "t": at(2), "m": "B", "v": "x" },
    ];
    insert(db, "c", rows).await;
    let find = doc! { "find": "c", "filter": { "v": "x" }, "sort": { "_id": 1 }, "collation": folds() };
    assert_eq!(ids(&batch(&run(db, find).await)), [1, 2]);
    let count = run(
        db,
        doc! { "count": "c", "query": { "m": "A" }, "collation": folds() },
    )
    .await;
    assert_eq!(count.get_i32("n").unwrap(), 1);
    let distinct = doc! { "distinct": "c", "key": "v", "query": { "v": "x" }, "collation": folds() };
    assert_eq!(run(db, distinct).await.get_array("values").unwrap().len(), 1);
    let group = doc! { "aggregate": "c", "pipeline": [{ "$group": { "_id": "$v" } }], "cursor": {}, "collation": folds() };
    assert_eq!(batch(&run(db, group).await).len(), 1);
    // It is joined as a view is.
    let lookup = doc! { "$lookup": { "from": "c", "localField": "a", "foreignField": "m", "as": "x" } };
    let mut join = doc! { "aggregate": "o", "pipeline": [lookup], "cursor": {} };
    assert_eq!(code(db, join.clone()).await, 0);
    join.insert("collation", folds());
    assert_eq!(code(db, join).await, 167);
    // A view of it is a view.
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    assert_eq!(code(db, doc! { "find": "v", "collation": folds() }).await, 167);
}

async fn an_explain_that_is_not_asked_for_needs_no_cursor(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let found = run(db, doc! { "aggregate": "c", "pipeline": [], "explain": false }).await;
    assert_eq!(batch(&found), [doc! { "_id": 1 }]);
    assert_eq!(code(db, doc! { "aggregate": "c", "pipeline": [] }).await, 9);
}

async fn a_search_without_a_collection_is_refused(db: &Db) {
    let search = || doc! { "$text": { "$search": "word" } };
    for command in [
        doc! { "find": "c", "filter": search() },
        doc! { "distinct": "c", "key": "a", "query": search() },
        set(search(), false),
        set(search(), true),
        doc! { "delete": "c", "deletes": [{ "q": search(), "limit": 0 }] },
        doc! { "findAndModify": "c", "query": search(), "remove": true },
    ] {
        assert_eq!(code(db, command.clone()).await, 27, "{command}");
    }
}

async fn orders_take_the_names_of_references(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }, doc! { "_id": 2 }]).await;
    for (name, expected) in [("$id", 0), ("$ref", 0), ("$db", 0), ("a.$id", 0), ("$x", 16410)] {
        let mut order = Document::new();
        order.insert(name, 1);
        assert_eq!(
            code(db, doc! { "find": "c", "sort": order.clone() }).await,
            expected,
            "{name}"
        );
        let sort = doc! { "aggregate": "c", "pipeline": [{ "$sort": order }], "cursor": {} };
        assert_eq!(code(db, sort).await, expected, "{name}");
    }
}

async fn a_hint_may_say_that_it_is_one(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "b": 1 }]).await;
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "b": 1 }, "name": "i" }] },
    )
    .await;
    for (name, expected) in [("i", 0), ("none", 2)] {
        let hint = doc! { "$hint": name };
        let asked = doc! { "b": 1 };
        for command in [
            doc! { "find": "c", "filter": asked.clone(), "hint": hint.clone() },
            doc! { "count": "c", "query": asked.clone(), "hint": hint.clone() },
            doc! { "aggregate": "c", "pipeline": [{ "$match": asked.clone() }], "cursor": {}, "hint": hint.clone() },
            doc! { "update": "c", "updates": [{ "q": asked.clone(), "u": { "$set": { "x": 1 } }, "hint": hint.clone() }] },
            doc! { "delete": "c", "deletes": [{ "q": { "b": 2 }, "limit": 1, "hint": hint.clone() }] },
            doc! { "findAndModify": "c", "query": asked, "update": { "$set": { "x": 2 } }, "hint": hint },
        ] {
            assert_eq!(code(db, command.clone()).await, expected, "{command}");
        }
    }
}

async fn angle_brackets_are_themselves_behind_a_backslash(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "a": "a" }, doc! { "_id": 2, "a": "<a>" }],
    )
    .await;
    for pattern in ["\\<", "\\>", "\\<a\\>", "[\\<]"] {
        let find = doc! { "find": "c", "filter": { "a": { "$regex": pattern } } };
        assert_eq!(ids(&batch(&run(db, find).await)), [2], "{pattern}");
    }
}

async fn indexes_are_created_for_the_collection_that_was_meant(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let listed = batch(&run(db, doc! { "listCollections": 1, "filter": { "name": "c" } }).await);
    let own = listed[0]
        .get_document("info")
        .unwrap()
        .get("uuid")
        .unwrap()
        .clone();
    let create = |name: &str, meant: Bson| {
        doc! {
            "createIndexes": name, "indexes": [{ "key": { "a": 1 }, "name": "i" }], "collectionUUID": meant,
        }
    };
    let other = Bson::from(odm::bson::Uuid::new());
    assert_eq!(code(db, create("c", other)).await, 361);
    assert_eq!(code(db, create("none", own.clone())).await, 361);
    assert_eq!(code(db, create("c", own)).await, 0);
}

async fn cursors_are_closed_by_whatever_name(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }, doc! { "_id": 2 }]).await;
    let opened = run(db, doc! { "find": "c", "batchSize": 1 }).await;
    let id = opened.get_document("cursor").unwrap().get_i64("id").unwrap();
    let closed = run(db, doc! { "killCursors": "other", "cursors": [id] }).await;
    assert_eq!(closed.get_array("cursorsKilled").unwrap(), &vec![Bson::Int64(id)]);
    assert_eq!(code(db, doc! { "getMore": id, "collection": "c" }).await, 43);
}

async fn a_repetition_behind_nothing_is_of_the_character_before_it(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "a": "b" }, doc! { "_id": 2, "a": "ab" }],
    )
    .await;
    for indexed in [false, true] {
        if indexed {
            let index = doc! { "key": { "a": 1 }, "name": "a" };
            run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
        }
        for pattern in ["^a\\Q\\E*", "^a\\E*", "^a(?#c)*"] {
            let filter = doc! { "a": { "$regex": pattern } };
            let found = batch(&run(db, doc! { "find": "c", "filter": filter, "sort": { "_id": 1 } }).await);
            assert_eq!(ids(&found), [1, 2], "{pattern}, indexed: {indexed}");
        }
    }
}

async fn edges_of_an_index_are_taken_as_they_are_written(db: &Db) {
    let documents = vec![
        doc! { "_id": 1, "a": 1 },
        doc! { "_id": 2, "a": [] },
        doc! { "_id": 3, "a": [[]] },
        doc! { "_id": 4, "a": true },
        doc! { "_id": 5, "a": {} },
    ];
    insert(db, "c", documents).await;
    let indexes = vec![
        doc! { "key": { "a": 1 }, "name": "a" },
        doc! { "key": { "a": -1 }, "name": "e", "collation": { "locale": "en" } },
    ];
    run(db, doc! { "createIndexes": "c", "indexes": indexes }).await;
    let find = |edges: Document| {
        let mut command = doc! { "find": "c", "hint": "a" };
        command.extend(edges);
        command
    };
    // An empty array is an array here, not what an index has for it.
    for (edges, expected) in [
        (doc! { "min": { "a": [] } }, vec![3, 4]),
        (doc! { "max": { "a": [] } }, vec![2, 1, 5]),
        (doc! { "min": { "a": 1 }, "max": { "a": [] } }, vec![1, 5]),
    ] {
        assert_eq!(
            ids(&batch(&run(db, find(edges.clone())).await)),
            expected,
            "{edges}"
        );
    }
    assert_eq!(
        code(db, find(doc! { "min": { "a": [] }, "max": { "a": 1 } })).await,
        51175
    );
    // What could hold strings is no edge of an index that compares them otherwise.
    for value in [bson!([]), bson!([1]), bson!({}), bson!({ "b": 1 }), bson!("x")] {
        let edges = doc! { "min": { "a": value }, "hint": "e" };
        assert_eq!(code(db, find(edges.clone())).await, 51174, "{edges}");
    }
    assert_eq!(code(db, find(doc! { "min": { "a": 1 }, "hint": "e" })).await, 0);
}

async fn a_view_in_natural_order_reads_its_collection_in_it(db: &Db) {
    insert(
        db,
        "c",
        (1..=3).map(|id| doc! { "_id": id, "l": [id, id] }).collect(),
    )
    .await;
    for (stages, expected) in [
        (vec![], vec![3, 2, 1]),
        (vec![doc! { "$addFields": { "z": 1 } }], vec![3, 2, 1]),
        (vec![doc! { "$limit": 2 }], vec![3, 2]),
        (vec![doc! { "$skip": 1 }], vec![2, 1]),
        (vec![doc! { "$unwind": "$l" }], vec![3, 3, 2, 2, 1, 1]),
        (
            vec![doc! { "$limit": 2 }, doc! { "$sort": { "_id": 1 } }],
            vec![2, 3],
        ),
    ] {
        run(db, doc! { "create": "v", "viewOn": "c", "pipeline": &stages }).await;
        let found = run(db, doc! { "find": "v", "sort": { "$natural": -1 } }).await;
        assert_eq!(ids(&batch(&found)), expected, "{stages:?}");
        run(db, doc! { "drop": "v" }).await;
    }
}
