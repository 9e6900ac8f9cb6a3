//! Of several faults of a command, the one that is told: the server reads fields one by one.

use odm::Db;
use odm::bson::{self, Bson, Document, bson, doc};
use odm_tests::command::{batch, code, insert, run};

crate::on_every_backend! {
    statements_are_read_field_by_field,
    a_find_and_modify_is_read_field_by_field,
    the_fields_of_a_union_are_read_one_by_one,
    an_index_is_looked_for_by_its_name_first,
    a_limit_of_null_limits_nothing,
    what_a_projection_leaves_of_arrays_is_ordered,
    measurements_are_ordered_whole,
}

async fn statements_are_read_field_by_field(db: &Db) {
    let updates: [(Document, i32); 12] = [
        (doc! { "u": "x" }, 9),
        (doc! { "u": null, "q": 5 }, 9),
        (doc! { "q": 5, "u": "x" }, 14),
        (doc! { "u": "x", "unknown": 1 }, 9),
        (doc! { "unknown": 1, "u": "x" }, 40_415),
        (doc! { "u": ["x"] }, 14),
        (doc! { "u": [{ "$set": 5 }], "q": 5 }, 14),
        (doc! { "u": "x", "hint": 5 }, 9),
        (doc! { "q": {}, "u": "x", "multi": "x" }, 9),
        (doc! { "arrayFilters": [5], "u": "x" }, 14),
        (doc! { "u": "x", "arrayFilters": [5] }, 9),
        (doc! { "u": {} }, 40_414),
    ];
    for (update, expected) in updates {
        let command = doc! { "update": "c", "updates": [update.clone()] };
        assert_eq!(code(db, command).await, expected, "{update}");
    }
    let deletes: [(Document, i32); 6] = [
        (doc! { "limit": 3, "q": 5 }, 9),
        (doc! { "q": 5, "limit": 3 }, 14),
        (doc! { "limit": 3 }, 9),
        (doc! { "limit": 3, "unknown": 1 }, 9),
        (doc! { "limit": 3, "hint": 5 }, 9),
        (doc! { "limit": "x" }, 40_414),
    ];
    for (delete, expected) in deletes {
        let command = doc! { "delete": "c", "deletes": [delete.clone()] };
        assert_eq!(code(db, command).await, expected, "{delete}");
    }
}

async fn a_find_and_modify_is_read_field_by_field(db: &Db) {
    for (fields, expected) in [
        (doc! { "update": "x", "query": 5 }, 9),
        (doc! { "query": 5, "update": "x" }, 14),
        (doc! { "update": null, "query": 5 }, 9),
        (doc! { "update": "x", "unknown": 1 }, 9),
        (doc! { "unknown": 1, "update": "x" }, 40_415),
    ] {
        let mut command = doc! { "findAndModify": "c" };
        command.extend(fields.clone());
        assert_eq!(code(db, command).await, expected, "{fields}");
    }
}

async fn the_fields_of_a_union_are_read_one_by_one(db: &Db) {
    for (union, expected) in [
        (doc! { "coll": "d", "pipeline": null }, 10_065),
        (doc! { "pipeline": null }, 10_065),
        (doc! { "pipeline": null, "coll": 5 }, 10_065),
        (doc! { "pipeline": null, "unknown": 5 }, 10_065),
        (doc! { "coll": 5, "pipeline": null }, 14),
        (doc! { "unknown": 5, "pipeline": null }, 40_415),
        (doc! { "coll": "d", "pipeline": 5 }, 14),
    ] {
        for stage in [
            doc! { "$unionWith": union.clone() },
            doc! { "$facet": { "x": [{ "$unionWith": union.clone() }] } },
        ] {
            let command = doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
            assert_eq!(code(db, command).await, expected, "{union}");
        }
    }
}

async fn an_index_is_looked_for_by_its_name_first(db: &Db) {
    let index = |keys: Document, name: &str| doc! { "createIndexes": "c", "indexes": [{ "key": keys, "name": name }] };
    run(db, index(doc! { "a": 1 }, "by_a")).await;
    run(db, index(doc! { "b": 1 }, "by_b")).await;
    assert_eq!(code(db, index(doc! { "a": 1 }, "by_b")).await, 86);
    assert_eq!(code(db, index(doc! { "b": 1 }, "by_a")).await, 86);
    assert_eq!(code(db, index(doc! { "a": 1 }, "by_c")).await, 85);
    run(db, index(doc! { "a": 1 }, "by_a")).await;
}

async fn a_limit_of_null_limits_nothing(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }, doc! { "_id": 2 }]).await;
    let delete = doc! { "delete": "c", "deletes": [{ "q": {}, "limit": null }] };
    assert_eq!(run(db, delete).await.get("n"), Some(&bson!(2)));
}

/// Where no more of documents is asked for than what the order goes by, the server orders what that leaves: of an array the
/// documents in it, so that there is no key of what else it has.
async fn what_a_projection_leaves_of_arrays_is_ordered(db: &Db) {
    let values = [
        bson!([{ "x": 2 }, 7]),
        bson!([{ "x": 1 }]),
        bson!([5]),
        bson!({ "x": 3 }),
        bson!([[{ "x": 0 }], 3]),
        bson!([{ "x": "text" }, null]),
    ];
    let documents = (0..)
        .zip(values)
        .map(|(id, value)| doc! { "_id": id, "b": value });
    insert(db, "c", documents.collect()).await;
    insert(db, "one", vec![doc! { "_id": 9 }]).await;
    let sorted = [
        doc! { "$addFields": { "q": 1 } },
        doc! { "$sort": { "b.x": 1, "_id": 1 } },
    ];
    let union = doc! { "$unionWith": { "coll": "c", "pipeline": sorted.to_vec() } };
    for (name, on, stages) in [
        ("v", "c", vec![doc! { "$addFields": { "q": 1 } }]),
        ("all", "c", vec![]),
        ("u", "one", vec![union]),
    ] {
        run(db, doc! { "create": name, "viewOn": on, "pipeline": stages }).await;
    }
    let (whole, left) = ([0, 2, 4, 5, 1, 3], [2, 4, 1, 0, 3, 5]);
    for (given, expected) in ORDERED {
        let given = given.replace("ORDER", r#"{ "b.x": 1, "_id": 1 }"#);
        let command: Document = serde_json::from_str(&given).unwrap();
        let found = batch(&run(db, command).await);
        // Of a join, or a facet.
        let found = match found.first().and_then(|first| first.get_array("j").ok()) {
            Some(joined) => joined
                .iter()
                .map(|own| own.as_document().unwrap().clone())
                .collect(),
            None => found,
        };
        let ids: Vec<i32> = found
            .iter()
            .map(|own| own.get_i32("_id").unwrap())
            .filter(|id| *id < 9)
            .collect();
        assert_eq!(
            ids,
            if *expected == Seen::Whole { whole } else { left },
            "{given}"
        );
    }
}

async fn measurements_are_ordered_whole(db: &Db) {
    run(db, doc! { "create": "s", "timeseries": { "timeField": "t" } }).await;
    let measured = |id: i32, value: Bson| doc! { "_id": id, "t": bson::DateTime::from_millis(0), "b": value };
    let values = [bson!([{ "x": 2 }, 7]), bson!([{ "x": 1 }])];
    let documents = (0..).zip(values).map(|(id, value)| measured(id, value));
    insert(db, "s", documents.collect()).await;
    let order = doc! { "b.x": 1 };
    let find = doc! { "find": "s", "sort": order.clone(), "projection": { "b.x": 1 } };
    let stages = [
        doc! { "$addFields": { "q": 1 } },
        doc! { "$sort": order },
        doc! { "$project": { "_id": 1 } },
    ];
    let aggregate = doc! { "aggregate": "s", "pipeline": stages.to_vec(), "cursor": {} };
    for command in [find, aggregate] {
        let found = batch(&run(db, command.clone()).await);
        let ids: Vec<i32> = found.iter().map(|own| own.get_i32("_id").unwrap()).collect();
        assert_eq!(ids, [0, 1], "{command}");
    }
}

/// What an order is of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    /// What is stored.
    Whole,
    /// What is left of it.
    Left,
}

const ORDERED: &[(&str, Seen)] = &[
    (
        r#"{ "find": "c", "sort": ORDER, "projection": { "b.x": 1 } }"#,
        Seen::Left,
    ),
    (
        r#"{ "find": "c", "sort": ORDER, "projection": { "b": { "x": 1 } } }"#,
        Seen::Left,
    ),
    // A limit is of what is ordered.
    (
        r#"{ "find": "c", "sort": ORDER, "projection": { "b.x": 1 }, "limit": 8 }"#,
        Seen::Whole,
    ),
    (
        r#"{ "find": "c", "sort": ORDER, "projection": { "b": 1 } }"#,
        Seen::Whole,
    ),
    (
        r#"{ "find": "c", "sort": ORDER, "projection": { "_id": 1 } }"#,
        Seen::Whole,
    ),
    (
        r#"{ "find": "c", "sort": ORDER, "projection": { "b.y": 0 } }"#,
        Seen::Whole,
    ),
    (
        r#"{ "find": "c", "sort": ORDER, "projection": { "b.x": 1, "z": "$b" } }"#,
        Seen::Whole,
    ),
    (r#"{ "find": "v", "sort": ORDER }"#, Seen::Whole),
    (
        r#"{ "find": "v", "sort": ORDER, "projection": { "b.x": 1 } }"#,
        Seen::Left,
    ),
    (
        r#"{ "find": "v", "sort": ORDER, "projection": { "_id": 1 }, "limit": 8 }"#,
        Seen::Left,
    ),
    (
        r#"{ "find": "v", "sort": ORDER, "projection": { "b": 1 } }"#,
        Seen::Whole,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$sort": ORDER }] }"#,
        Seen::Whole,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$sort": ORDER }, { "$project": { "_id": 1 } }] }"#,
        Seen::Whole,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$sort": ORDER }, { "$project": { "b.x": 1 } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$sort": ORDER }, { "$project": { "b.x": 1, "z": { "$add": [1, 2] } } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$sort": ORDER }, { "$limit": 8 }, { "$project": { "b.x": 1 } }] }"#,
        Seen::Whole,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$addFields": { "q": 1 } }, { "$sort": ORDER }] }"#,
        Seen::Whole,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$addFields": { "q": 1 } }, { "$sort": ORDER }, { "$project": { "_id": 1 } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$addFields": { "q": 1 } }, { "$sort": ORDER }, { "$limit": 8 }, { "$project": { "_id": 1 } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$addFields": { "q": 1 } }, { "$sort": ORDER }, { "$project": { "b": 1 } }] }"#,
        Seen::Whole,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$addFields": { "b.z": 1 } }, { "$sort": ORDER }, { "$project": { "_id": 1 } }] }"#,
        Seen::Whole,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$limit": 8 }, { "$sort": ORDER }, { "$project": { "_id": 1 } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$facet": { "j": [{ "$sort": ORDER }, { "$project": { "b.x": 1 } }] } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$facet": { "j": [{ "$sort": ORDER }, { "$project": { "b": 1 } }] } }] }"#,
        Seen::Whole,
    ),
    (
        r#"{ "aggregate": "one", "cursor": {}, "pipeline": [{ "$unionWith": { "coll": "c", "pipeline": [{ "$sort": ORDER }, { "$project": { "b.x": 1 } }] } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "one", "cursor": {}, "pipeline": [{ "$unionWith": { "coll": "c", "pipeline": [{ "$addFields": { "q": 1 } }, { "$sort": ORDER }] } }] }"#,
        Seen::Whole,
    ),
    (
        r#"{ "aggregate": "one", "cursor": {}, "pipeline": [{ "$unionWith": { "coll": "c", "pipeline": [{ "$addFields": { "q": 1 } }, { "$sort": ORDER }] } }, { "$project": { "_id": 1 } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "one", "cursor": {}, "pipeline": [{ "$lookup": { "from": "c", "as": "j", "pipeline": [{ "$addFields": { "q": 1 } }, { "$sort": ORDER }, { "$project": { "_id": 1 } }] } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "one", "cursor": {}, "pipeline": [{ "$lookup": { "from": "c", "as": "j", "let": { "k": "$_id" }, "pipeline": [{ "$sort": ORDER }, { "$project": { "b.x": 1 } }] } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "one", "cursor": {}, "pipeline": [{ "$lookup": { "from": "c", "as": "j", "pipeline": [{ "$sort": ORDER }, { "$project": { "_id": 1 } }] } }] }"#,
        Seen::Whole,
    ),
    (
        r#"{ "find": "c", "sort": ORDER, "projection": { "b.x": 1 }, "showRecordId": true }"#,
        Seen::Whole,
    ),
    (
        r#"{ "find": "all", "sort": ORDER, "projection": { "b.x": 1, "z": { "$add": [1, 2] } } }"#,
        Seen::Left,
    ),
    (r#"{ "find": "u", "projection": { "_id": 1 } }"#, Seen::Left),
    (r#"{ "find": "u" }"#, Seen::Whole),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$sort": { "b": 1 } }, { "$addFields": { "q": 1 } }, { "$sort": ORDER }, { "$project": { "_id": 1 } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$setWindowFields": { "output": { "n": { "$sum": 1 } } } }, { "$sort": ORDER }, { "$project": { "_id": 1 } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": 1, "cursor": {}, "pipeline": [{ "$documents": [{}] }, { "$lookup": { "from": "c", "as": "j", "pipeline": [{ "$addFields": { "q": 1 } }, { "$sort": ORDER }, { "$project": { "_id": 1 } }] } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "one", "cursor": {}, "pipeline": [{ "$lookup": { "from": "c", "as": "j", "let": { "k": "$_id" }, "pipeline": [{ "$match": { "$expr": { "$gte": ["$$k", "$_id"] } } }, { "$addFields": { "q": 1 } }, { "$sort": ORDER }, { "$project": { "_id": 1 } }] } }] }"#,
        Seen::Left,
    ),
    // What comes before the first use of a variable is read once, and whole.
    (
        r#"{ "aggregate": "one", "cursor": {}, "pipeline": [{ "$lookup": { "from": "c", "as": "j", "let": { "k": "$_id" }, "pipeline": [{ "$addFields": { "q": 1 } }, { "$sort": ORDER }, { "$project": { "_id": 1, "r": "$$k" } }] } }] }"#,
        Seen::Whole,
    ),
    // The filter of what is found is taken for one of what is given.
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$graphLookup": { "from": "one", "startWith": "$n", "connectFromField": "l", "connectToField": "_id", "as": "g" } }, { "$sort": ORDER }, { "$project": { "_id": 1 } }] }"#,
        Seen::Left,
    ),
    (
        r#"{ "aggregate": "c", "cursor": {}, "pipeline": [{ "$graphLookup": { "from": "one", "startWith": "$n", "connectFromField": "l", "connectToField": "_id", "as": "g", "restrictSearchWithMatch": { "b": 1 } } }, { "$sort": ORDER }, { "$project": { "_id": 1 } }] }"#,
        Seen::Whole,
    ),
];
