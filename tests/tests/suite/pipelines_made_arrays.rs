//! Arrays and documents that expressions make, and places of long arrays: the same as made by hand.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc, oid::ObjectId};
use odm_tests::command::{aggregate, insert};

crate::on_every_backend! {
    places_are_found_one_by_one,
    places_of_what_is_computed_are_found,
    items_of_all_kinds_are_carried_over,
    what_is_made_within_each_other_keeps_its_shape,
    arrays_that_grow_are_whole_at_every_step,
}

/// Items of many kinds, so many that they are not short.
fn items(count: i32) -> Vec<Bson> {
    (0..count)
        .map(|n| match n % 9 {
            0 => Bson::Int32(n),
            1 => Bson::String("x".repeat(n as usize % 40)),
            2 => bson!({ "n": n, "in": [n, { "deep": [] }] }),
            3 => bson!([n, [n], "y"]),
            4 => Bson::Null,
            5 => Bson::Double(f64::from(n) / 3.0),
            6 => Bson::ObjectId(ObjectId::from_bytes([n as u8; 12])),
            7 => Bson::Boolean(n % 2 == 0),
            _ => Bson::DateTime(odm::bson::DateTime::from_millis(i64::from(n))),
        })
        .collect()
}

const COUNT: i32 = 120;

async fn fill(db: &Db) -> Vec<Bson> {
    let items = items(COUNT);
    let numbers: Vec<i32> = (0..COUNT).map(|n| n * n).collect();
    let documents = vec![
        doc! { "_id": 1, "items": items.clone(), "numbers": numbers, "in": { "items": items.clone() } },
        doc! { "_id": 2, "items": items[..2].to_vec(), "numbers": [7], "in": { "items": [] } },
    ];
    insert(db, "c", documents).await;
    items
}

/// What the expression gives for the first document.
async fn value(db: &Db, expression: impl Into<Bson>) -> Option<Bson> {
    let stages = vec![
        doc! { "$match": { "_id": 1 } },
        doc! { "$project": { "_id": 0, "v": expression.into() } },
    ];
    let mut found = aggregate(db, "c", stages).await;
    assert_eq!(found.len(), 1);
    found.remove(0).remove("v")
}

fn for_each_place(body: impl Into<Bson>) -> Document {
    doc! { "$map": { "input": { "$range": [0, COUNT] }, "as": "at", "in": body.into() } }
}

async fn places_are_found_one_by_one(db: &Db) {
    let items = fill(db).await;
    let mut backwards = items.clone();
    backwards.reverse();
    let forward = for_each_place(doc! { "$arrayElemAt": ["$items", "$$at"] });
    assert_eq!(value(db, forward).await, Some(Bson::Array(items.clone())));
    let from_end = for_each_place(doc! { "$arrayElemAt": ["$in.items", { "$subtract": [-1, "$$at"] }] });
    assert_eq!(value(db, from_end).await, Some(Bson::Array(backwards)));
    // Beyond both ends there is nothing, which is null in an array.
    for beyond in [
        doc! { "$add": ["$$at", COUNT] },
        doc! { "$subtract": [-1 - COUNT, "$$at"] },
    ] {
        let beyond = for_each_place(doc! { "$arrayElemAt": ["$items", beyond] });
        let nulls = vec![Bson::Null; COUNT as usize];
        assert_eq!(value(db, beyond).await, Some(Bson::Array(nulls)));
    }
    assert_eq!(value(db, doc! { "$arrayElemAt": ["$items", COUNT] }).await, None);
    // Several arrays, in turns.
    let both = for_each_place(bson!([
        { "$arrayElemAt": ["$numbers", "$$at"] },
        { "$arrayElemAt": ["$in.items", "$$at"] },
        { "$arrayElemAt": [{ "$arrayElemAt": ["$items", 3] }, 0] },
    ]));
    let expected = (0..COUNT).map(|at| bson!([at * at, items[at as usize].clone(), 3]));
    assert_eq!(value(db, both).await, Some(Bson::Array(expected.collect())));
    // Each document has its own.
    let stages = vec![
        doc! { "$project": { "v": { "$map": {
            "input": [0, 1, 1, 2, -1], "in": { "$arrayElemAt": ["$items", "$$this"] },
        } } } },
        doc! { "$sort": { "_id": 1 } },
    ];
    let found = aggregate(db, "c", stages).await;
    let picked = |all: &[Bson]| -> Vec<Bson> {
        let at = |at: usize| all.get(at).cloned().unwrap_or(Bson::Null);
        vec![at(0), at(1), at(1), at(2), all[all.len() - 1].clone()]
    };
    assert_eq!(found[0], doc! { "_id": 1, "v": picked(&items) });
    assert_eq!(found[1], doc! { "_id": 2, "v": picked(&items[..2]) });
}

async fn places_of_what_is_computed_are_found(db: &Db) {
    fill(db).await;
    let added = doc! { "$map": { "input": "$numbers", "in": { "$add": ["$$this", 1] } } };
    let by_place = doc! { "$let": {
        "vars": { "added": added, "one": 1 },
        "in": for_each_place(doc! { "$arrayElemAt": ["$$added", "$$at"] }),
    } };
    let expected: Vec<i32> = (0..COUNT).map(|n| n * n + 1).collect();
    assert_eq!(value(db, by_place).await, Some(bson!(expected)));
    let pairs = doc! { "$zip": { "inputs": ["$numbers", { "$reverseArray": "$numbers" }] } };
    let sums = doc! { "$map": { "input": pairs, "as": "pair", "in": { "$add": [
        { "$arrayElemAt": ["$$pair", 0] }, { "$arrayElemAt": ["$$pair", -1] },
    ] } } };
    let expected: Vec<i32> = (0..COUNT)
        .map(|n| n * n + (COUNT - 1 - n) * (COUNT - 1 - n))
        .collect();
    assert_eq!(value(db, sums).await, Some(bson!(expected)));
    // A matrix, by rows and columns.
    let stages = vec![
        doc! { "$match": { "_id": 1 } },
        doc! { "$set": { "rows": { "$map": {
            "input": { "$range": [0, 30] }, "as": "row",
            "in": { "$slice": ["$numbers", "$$row", 30] },
        } } } },
        doc! { "$project": { "_id": 0, "column": { "$map": {
            "input": { "$range": [0, 30] }, "as": "at",
            "in": { "$arrayElemAt": [{ "$arrayElemAt": ["$rows", "$$at"] }, 29] },
        } } } },
    ];
    let expected: Vec<i32> = (0..30).map(|row| (row + 29) * (row + 29)).collect();
    assert_eq!(aggregate(db, "c", stages).await, [doc! { "column": expected }]);
}

async fn items_of_all_kinds_are_carried_over(db: &Db) {
    let items = fill(db).await;
    let mut backwards = items.clone();
    backwards.reverse();
    let part = |from: usize, to: usize| Bson::Array(items[from..to].to_vec());
    for (expression, expected) in [
        (
            doc! { "$concatArrays": [{ "$slice": ["$items", 50] }, { "$slice": ["$in.items", 50, 100] }] },
            Bson::Array(items.clone()),
        ),
        (doc! { "$slice": ["$items", -11] }, part(109, 120)),
        (doc! { "$slice": ["$items", -11, 3] }, part(109, 112)),
        (
            doc! { "$filter": { "input": "$items", "cond": true } },
            Bson::Array(items.clone()),
        ),
        (
            doc! { "$filter": { "input": "$items", "cond": { "$ne": ["$$this", { "$first": "$items" }] }, "limit": 20 } },
            part(1, 21),
        ),
        (
            doc! { "$reverseArray": { "$reverseArray": "$items" } },
            Bson::Array(items.clone()),
        ),
        (doc! { "$reverseArray": "$items" }, Bson::Array(backwards)),
        (doc! { "$firstN": { "n": 12, "input": "$items" } }, part(0, 12)),
        (doc! { "$lastN": { "n": 12, "input": "$items" } }, part(108, 120)),
        (
            doc! { "$map": { "input": { "$zip": { "inputs": ["$items"] } }, "in": { "$first": "$$this" } } },
            Bson::Array(items.clone()),
        ),
        (
            doc! { "$reduce": {
                "input": "$items", "initialValue": "$in.items",
                "in": { "$concatArrays": ["$$value", ["$$this"]] },
            } },
            Bson::Array([items.clone(), items.clone()].concat()),
        ),
        (
            doc! { "$zip": {
                "inputs": [["a", "b", "c"], { "$slice": ["$items", 2] }],
                "defaults": ["none", "$missing"], "useLongestLength": true,
            } },
            bson!([["a", 0], ["b", "x"], ["c"]]),
        ),
        (doc! { "$split": ["a--b-", "-"] }, bson!(["a", "", "b", ""])),
        (doc! { "$concatArrays": [] }, bson!([])),
    ] {
        assert_eq!(
            value(db, expression.clone()).await,
            Some(expected),
            "{expression}"
        );
    }
    // An object of its entries, and back.
    let entries = doc! { "$objectToArray": { "a": "$items", "b": { "$arrayElemAt": ["$items", 2] }, "none": "$missing" } };
    let expected = bson!([
        { "k": "a", "v": items.clone() },
        { "k": "b", "v": items[2].clone() },
    ]);
    assert_eq!(value(db, entries.clone()).await, Some(expected));
    let object = bson!({ "a": items.clone(), "b": items[2].clone() });
    assert_eq!(value(db, doc! { "$arrayToObject": entries }).await, Some(object));
    // Of equal names the last value stands where the first one stood.
    let twice = bson!([{ "k": "a", "v": 1 }, { "k": "b", "v": 2 }, { "k": "a", "v": [3] }]);
    assert_eq!(
        value(db, doc! { "$arrayToObject": { "$literal": twice } }).await,
        Some(bson!({ "a": [3], "b": 2 }))
    );
}

async fn what_is_made_within_each_other_keeps_its_shape(db: &Db) {
    let items = fill(db).await;
    for (expression, expected) in [
        // No value is null in an array, and no field in a document.
        (
            bson!(["$missing", "$$REMOVE", "$_id", { "x": "$missing", "y": ["$$REMOVE"] }]),
            bson!([null, null, 1, { "y": [null] }]),
        ),
        (
            bson!({ "$mergeObjects": [{ "a": { "b": { "c": ["$_id", { "d": "$missing" }] } }, "e": {} }] }),
            bson!({ "a": { "b": { "c": [1, {}] } }, "e": {} }),
        ),
        (
            bson!({ "$map": {
                "input": [1, 2], "as": "n",
                "in": { "n": "$$n", "next": { "$map": { "input": [10, 20], "in": [{ "$add": ["$$this", "$$n"] }] } } },
            } }),
            bson!([
                { "n": 1, "next": [[11], [21]] },
                { "n": 2, "next": [[12], [22]] },
            ]),
        ),
        (
            bson!({ "$mergeObjects": [{ "a": 1, "b": { "c": "$_id" } }, { "b": { "d": ["$_id"] } }] }),
            bson!({ "a": 1, "b": { "d": [1] } }),
        ),
        (
            bson!({ "$let": { "vars": { "o": { "a": [{ "b": "$_id" }, { "b": 2 }] } }, "in": "$$o.a.b" } }),
            bson!([1, 2]),
        ),
        (
            bson!({ "$reduce": {
                "input": { "$slice": ["$numbers", 5] }, "initialValue": { "sum": 0, "all": [] },
                "in": { "sum": { "$add": ["$$value.sum", "$$this"] }, "all": { "$concatArrays": ["$$value.all", ["$$this"]] } },
            } }),
            bson!({ "sum": 30, "all": [0, 1, 4, 9, 16] }),
        ),
        (
            bson!({ "$setField": { "field": "x", "input": { "a": "$_id" }, "value": ["$_id"] } }),
            bson!({ "a": 1, "x": [1] }),
        ),
        (
            bson!({ "$eq": [{ "a": ["$_id", { "b": 1 }] }, { "$literal": { "a": [1, { "b": 1 }] } }] }),
            Bson::Boolean(true),
        ),
        (
            bson!({ "$in": [{ "a": "$_id" }, [{ "a": 2 }, { "a": 1 }]] }),
            Bson::Boolean(true),
        ),
        (
            bson!({ "$size": { "$setUnion": [[{ "a": "$_id" }], [{ "a": 1 }, ["$_id"]], [[1]]] } }),
            Bson::Int32(2),
        ),
    ] {
        assert_eq!(
            value(db, expression.clone()).await,
            Some(expected),
            "{expression}"
        );
    }
    // Stages go on with what one before them made.
    let stages = vec![
        doc! { "$match": { "_id": 1 } },
        doc! { "$project": { "all": { "$map": { "input": { "$slice": ["$items", 3] }, "in": { "at": "$$this" } } } } },
        doc! { "$set": { "all.more": ["$_id"], "other.all": "$all.at" } },
        doc! { "$unwind": "$all" },
        doc! { "$replaceWith": { "$mergeObjects": ["$all", { "n": { "$size": "$other.all" } }] } },
    ];
    let expected = items[..3]
        .iter()
        .map(|item| doc! { "at": item, "more": [1], "n": 3 });
    assert_eq!(
        aggregate(db, "c", stages).await,
        expected.collect::<Vec<Document>>()
    );
    // Documents of computed shape make groups.
    let stages = vec![
        doc! { "$unwind": "$numbers" },
        doc! { "$group": {
            "_id": { "last": { "$mod": ["$numbers", 2] }, "of": ["$_id"] },
            "n": { "$sum": 1 }, "some": { "$firstN": { "n": 1, "input": { "a": ["$numbers"] } } },
        } },
        doc! { "$sort": { "_id": 1 } },
    ];
    assert_eq!(
        aggregate(db, "c", stages).await,
        [
            doc! { "_id": { "last": 0, "of": [1] }, "n": 60, "some": [{ "a": [0] }] },
            doc! { "_id": { "last": 1, "of": [1] }, "n": 60, "some": [{ "a": [1] }] },
            doc! { "_id": { "last": 1, "of": [2] }, "n": 1, "some": [{ "a": [7] }] },
        ]
    );
}

async fn arrays_that_grow_are_whole_at_every_step(db: &Db) {
    let documents = (0..15).map(|n| doc! { "_id": n, "k": n % 3, "v": items(15)[n as usize].clone() });
    insert(db, "c", documents.collect()).await;
    let growing = doc! { "documents": ["unbounded", "current"] };
    let stages = vec![
        doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": {
            "all": { "$push": "$v", "window": growing.clone() },
            "kinds": { "$addToSet": "$k", "window": growing },
            "last": { "$push": { "v": "$v" }, "window": { "documents": [-1, 0] } },
        } } },
        doc! { "$set": { "kinds": { "$sortArray": { "input": "$kinds", "sortBy": 1 } } } },
        doc! { "$sort": { "_id": 1 } },
    ];
    let found = aggregate(db, "c", stages).await;
    let values = items(15);
    for (n, document) in found.iter().enumerate() {
        assert_eq!(document.get_array("all").unwrap(), &values[..=n]);
        let kinds: Vec<Bson> = (0..=n.min(2) as i32).map(Bson::Int32).collect();
        assert_eq!(document.get_array("kinds").unwrap(), &kinds);
        let last = values[n.saturating_sub(1)..=n]
            .iter()
            .map(|value| bson!({ "v": value.clone() }));
        assert_eq!(document.get_array("last").unwrap(), &last.collect::<Vec<_>>());
    }
    // The same of groups, a facet, and a join.
    let stages = vec![
        doc! { "$sort": { "_id": 1 } },
        doc! { "$facet": {
            "pushed": [{ "$group": { "_id": "$k", "all": { "$push": "$v" } } }, { "$sort": { "_id": 1 } }],
            "ids": [{ "$match": { "_id": { "$lt": 3 } } }, { "$project": { "k": 1 } }],
        } },
    ];
    let pushed = (0..3).map(|k| {
        let all: Vec<Bson> = values.iter().skip(k).step_by(3).cloned().collect();
        bson!({ "_id": k as i32, "all": all })
    });
    let expected = doc! {
        "pushed": pushed.collect::<Vec<_>>(),
        "ids": [{ "_id": 0, "k": 0 }, { "_id": 1, "k": 1 }, { "_id": 2, "k": 2 }],
    };
    assert_eq!(aggregate(db, "c", stages).await, [expected]);
}
