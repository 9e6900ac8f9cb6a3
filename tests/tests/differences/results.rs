//! More of what random commands found to differ: results and the documents that are written.

use odm::Db;
use odm::bson::oid::ObjectId;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, DateTime, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    arguments_are_looked_at_in_order,
    merged_fields_come_in_the_order_of_their_names,
    bounds_without_room_hold_one_value,
    values_that_are_missing_begin_no_partition,
    sums_that_lose_documents_are_as_narrow_as_can_be,
    deviations_round_as_they_slide,
    old_binaries_count_their_inner_length,
    a_superset_that_is_no_array_is_found_at_once,
    hashed_fields_pass_through_no_array,
    natural_order_may_be_hinted_and_sorted_by,
    wildcard_indexes_may_be_hinted_for_positions,
    a_hidden_text_index_answers_nothing,
    upserts_take_nothing_from_what_matches_nothing,
    a_view_gives_one_document_in_a_single_batch,
    full_batches_of_a_sort_leave_the_cursor_open,
    arguments_are_gathered_before_the_run,
}

/// The expressions have the first argument that an operator stops at, and behind it one that fails with code 2.
async fn arguments_are_looked_at_in_order(db: &Db) {
    let document =
        doc! { "_id": 1, "text": "abc", "number": 3, "array": [1, 2], "object": { "a": 1 }, "zero": 0 };
    insert(db, "c", vec![document]).await;
    let fails = || bson!({ "$divide": [1, "$zero"] });
    let null = |operator: &str, rest: Vec<Bson>| (doc! { operator: rest }, 0);
    let refused = |operator: &str, rest: Vec<Bson>, code: i32| (doc! { operator: rest }, code);
    let mut cases = Vec::new();
    for (operator, wrong) in [
        ("$add", 16554),
        ("$multiply", 14),
        ("$concat", 16702),
        ("$concatArrays", 28664),
        ("$setUnion", 17043),
        ("$setIntersection", 17047),
        ("$indexOfCP", 40093),
        ("$indexOfBytes", 40091),
        ("$indexOfArray", 40090),
        ("$round", 51081),
        ("$trunc", 51081),
        ("$atan2", 51044),
    ] {
        cases.push(null(operator, vec![bson!("$missing"), fails()]));
        cases.push(refused(operator, vec![bson!("$object"), fails()], wrong));
    }
    // Of those whose order makes no difference, constants come last.
    for operator in ["$add", "$multiply", "$setUnion", "$setIntersection"] {
        cases.push(refused(operator, vec![Bson::Null, fails()], 2));
    }
    for operator in [
        "$subtract",
        "$divide",
        "$mod",
        "$pow",
        "$eq",
        "$in",
        "$setDifference",
        "$mergeObjects",
    ] {
        cases.push(refused(operator, vec![bson!("$missing"), fails()], 2));
    }
    cases.extend([
        refused("$mergeObjects", vec![bson!("$number"), fails()], 40400),
        refused("$setEquals", vec![bson!("$missing"), fails()], 17044),
        refused("$range", vec![bson!("$missing"), fails()], 2),
        refused(
            "$range",
            vec![bson!("$number"), bson!("$missing"), fails()],
            34445,
        ),
        refused("$slice", vec![bson!("$array"), fails()], 2),
        null("$slice", vec![bson!("$array"), bson!("$missing"), fails()]),
        refused("$slice", vec![bson!("$array"), bson!("$text"), fails()], 28725),
        (doc! { "$zip": { "inputs": ["$missing", fails()] } }, 0),
        (doc! { "$zip": { "inputs": ["$text", fails()] } }, 34468),
        (doc! { "$trim": { "input": "$missing", "chars": fails() } }, 0),
        (doc! { "$trim": { "input": "$number", "chars": fails() } }, 50699),
        (doc! { "$year": { "date": "$missing", "timezone": fails() } }, 0),
        (doc! { "$year": { "date": "$text", "timezone": fails() } }, 16006),
        (
            doc! { "$dateAdd": { "startDate": "$missing", "unit": "day", "amount": fails() } },
            0,
        ),
        (
            doc! { "$dateAdd": { "startDate": "$text", "unit": "day", "amount": fails() } },
            2,
        ),
        (
            doc! { "$dateDiff": { "startDate": "$missing", "endDate": fails(), "unit": "day" } },
            0,
        ),
        (doc! { "$dateTrunc": { "date": "$missing", "unit": fails() } }, 0),
        (
            doc! { "$dateToString": { "date": "$missing", "onNull": fails() } },
            2,
        ),
        (
            doc! { "$dateToString": { "date": "$text", "onNull": fails() } },
            16006,
        ),
        (
            doc! { "$dateFromParts": { "year": "$missing", "month": fails() } },
            0,
        ),
        (
            doc! { "$dateFromParts": { "year": 2000, "month": fails(), "timezone": "$missing" } },
            0,
        ),
        (
            doc! { "$dateFromParts": { "year": "$missing", "timezone": fails() } },
            2,
        ),
        (doc! { "$firstN": { "n": "$missing", "input": fails() } }, 5787902),
        (
            doc! { "$setField": { "field": "x", "input": "$missing", "value": fails() } },
            0,
        ),
        (
            doc! { "$setField": { "field": "x", "input": "$text", "value": fails() } },
            4161105,
        ),
    ]);
    for (expression, expected) in cases {
        let project =
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "x": &expression } }], "cursor": {} };
        if expected > 0 {
            assert_eq!(code(db, project).await, expected, "{expression}");
        } else {
            assert_eq!(
                batch(&run(db, project).await),
                [doc! { "_id": 1, "x": null }],
                "{expression}"
            );
        }
    }
}

async fn merged_fields_come_in_the_order_of_their_names(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "z": 1, "b": { "y": 1, "x": 1 }, "a": 2 }],
    )
    .await;
    let found = async |mode: &str, there: Vec<Document>| {
        run(db, doc! { "delete": "t", "deletes": [{ "q": {}, "limit": 0 }] }).await;
        if !there.is_empty() {
            insert(db, "t", there).await;
        }
        aggregate(
            db,
            "c",
            vec![doc! { "$merge": { "into": "t", "whenMatched": mode } }],
        )
        .await;
        let found = batch(&run(db, doc! { "find": "t" }).await);
        found[0].keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found("merge", vec![]).await, "_id a b z");
    assert_eq!(found("keepExisting", vec![]).await, "_id a b z");
    assert_eq!(found("replace", vec![]).await, "_id z b a");
    assert_eq!(
        found("merge", vec![doc! { "_id": 1, "q": 1, "b": 3 }]).await,
        "_id q b a z"
    );
}

fn densify(bounds: [i32; 2], partition: &[&str]) -> Document {
    let range = doc! { "step": 1, "bounds": bounds.to_vec() };
    doc! { "$densify": { "field": "k", "partitionByFields": partition, "range": range } }
}

async fn bounds_without_room_hold_one_value(db: &Db) {
    for (there, expected) in [
        (vec![], vec![0]),
        (vec![-2, -1], vec![-2, -1]),
        (vec![-1, 5], vec![-1, 0, 5]),
        (vec![0, 5], vec![0, 5]),
        (vec![1, 2], vec![0, 1, 2]),
    ] {
        run(db, doc! { "create": "c" }).await;
        if !there.is_empty() {
            let documents = there.iter().map(|k| doc! { "k": k }).collect();
            insert(db, "c", documents).await;
        }
        let found = aggregate(db, "c", vec![densify([0, 0], &[])]).await;
        let found: Vec<i32> = found.iter().map(|row| row.get_i32("k").unwrap()).collect();
        assert_eq!(found, expected, "{there:?}");
        run(db, doc! { "drop": "c" }).await;
    }
}

async fn values_that_are_missing_begin_no_partition(db: &Db) {
    let documents = vec![doc! { "_id": 1, "p": 1 }, doc! { "_id": 2, "p": 2, "k": 5 }];
    insert(db, "c", documents.clone()).await;
    assert_eq!(
        aggregate(db, "c", vec![densify([0, 2], &["p"])]).await,
        [
            documents[0].clone(),
            doc! { "p": 2, "k": 0 },
            doc! { "p": 2, "k": 1 },
            documents[1].clone(),
        ]
    );
}

fn window(function: &str, bounds: [Bson; 2]) -> Document {
    let window = doc! { "documents": bounds.to_vec() };
    doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": { "w": { function: "$v", "window": window } } } }
}

async fn results(db: &Db, function: &str, bounds: [Bson; 2]) -> Vec<Bson> {
    let found = aggregate(db, "c", vec![window(function, bounds)]).await;
    found
        .into_iter()
        .map(|mut row| row.remove("w").unwrap())
        .collect()
}

async fn sums_that_lose_documents_are_as_narrow_as_can_be(db: &Db) {
    let values = [bson!(7_i64), bson!(i64::from(i32::MAX)), bson!(1.5), bson!(2)];
    let documents = values
        .iter()
        .zip(0..)
        .map(|(v, id)| doc! { "_id": id, "v": v })
        .collect();
    insert(db, "c", documents).await;
    assert_eq!(
        results(db, "$sum", [bson!(0), bson!(0)]).await,
        [bson!(7), bson!(i32::MAX), bson!(1.5), bson!(2)]
    );
    assert_eq!(
        results(db, "$sum", [bson!("unbounded"), bson!(0)]).await[..2],
        [bson!(7_i64), bson!(i64::from(i32::MAX) + 7)]
    );
}

async fn deviations_round_as_they_slide(db: &Db) {
    let documents = [-2, 1, 0, -1]
        .iter()
        .zip(0..)
        .map(|(v, id)| doc! { "_id": id, "v": v })
        .collect();
    insert(db, "c", documents).await;
    assert_eq!(
        results(db, "$stdDevPop", [bson!(0), bson!(1)]).await,
        [bson!(1.5), bson!(0.5), bson!(0.4999999999999999), bson!(0)]
    );
}

async fn old_binaries_count_their_inner_length(db: &Db) {
    let binary = Bson::Binary(Binary {
        subtype: BinarySubtype::BinaryOld,
        bytes: vec![7, 7],
    });
    insert(db, "c", vec![doc! { "_id": 1, "b": binary }]).await;
    let found = aggregate(
        db,
        "c",
        vec![doc! { "$project": { "n": { "$binarySize": "$b" } } }],
    )
    .await;
    assert_eq!(found, [doc! { "_id": 1, "n": 6 }]);
}

async fn a_superset_that_is_no_array_is_found_at_once(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    for wrong in [Bson::Null, bson!(3), bson!("x")] {
        let stage = doc! { "$project": { "x": { "$setIsSubset": ["$l", wrong] } } };
        let command = doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
        assert_eq!(code(db, command).await, 17311);
    }
}

async fn hashed_fields_pass_through_no_array(db: &Db) {
    for key in [doc! { "c.1.y": "hashed" }, doc! { "c.0.y": -1, "o": "hashed" }] {
        let index = doc! { "createIndexes": "c", "indexes": [{ "key": key, "name": "i" }] };
        run(db, index).await;
        for value in [bson!([{}, 4]), bson!([]), bson!([{ "y": 1 }])] {
            let insert = doc! { "insert": "c", "documents": [{ "c": value }] };
            assert_eq!(code(db, insert).await, 16766);
        }
        insert(db, "c", vec![doc! { "c": { "y": [1] } }]).await;
        run(db, doc! { "drop": "c" }).await;
    }
}

async fn natural_order_may_be_hinted_and_sorted_by(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }, doc! { "_id": 2 }]).await;
    let find = |sort: i32, hint: i32| doc! { "find": "c", "sort": { "$natural": sort }, "hint": { "$natural": hint } };
    assert_eq!(ids(&batch(&run(db, find(1, 1)).await)), [1, 2]);
    assert_eq!(ids(&batch(&run(db, find(-1, -1)).await)), [2, 1]);
    assert_eq!(code(db, find(1, -1)).await, 2);
    let by_index = doc! { "find": "c", "sort": { "$natural": 1 }, "hint": "_id_" };
    assert_eq!(code(db, by_index).await, 2);
}

async fn wildcard_indexes_may_be_hinted_for_positions(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": [5, { "b": 6 }], "e": {} }]).await;
    let index = doc! { "createIndexes": "c", "indexes": [{ "key": { "$**": 1 }, "name": "w" }] };
    run(db, index).await;
    let find = |filter: Document| doc! { "find": "c", "filter": filter, "hint": "w" };
    for (filter, found) in [
        (doc! { "a.0": 5 }, 1),
        (doc! { "a.0": 6 }, 0),
        (doc! { "a.1.b": 6 }, 1),
        (doc! { "$or": [{ "e": {} }] }, 1),
        (doc! { "e": { "$in": [{}, 1] } }, 1),
        (doc! { "e": { "$type": "object" } }, 1),
    ] {
        assert_eq!(
            batch(&run(db, find(filter.clone())).await).len(),
            found,
            "{filter}"
        );
    }
    for filter in [doc! { "a": null }, doc! { "e": { "$in": [{ "b": 1 }] } }, doc! {}] {
        assert_eq!(code(db, find(filter)).await, 291);
    }
}

async fn a_hidden_text_index_answers_nothing(db: &Db) {
    let index = doc! { "key": { "t": "text" }, "name": "t", "hidden": true };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let find = doc! { "find": "c", "filter": { "$text": { "$search": "a" } } };
    assert_eq!(code(db, find).await, 291);
}

async fn upserts_take_nothing_from_what_matches_nothing(db: &Db) {
    let nothing = || doc! { "$alwaysFalse": 1 };
    for (filter, taken) in [
        (doc! { "_id": 1, "$alwaysFalse": 1 }, false),
        (doc! { "_id": 1, "$and": [nothing()] }, false),
        (doc! { "_id": 1, "$or": [nothing(), nothing()] }, false),
        (doc! { "_id": 1, "a": { "$all": [] } }, false),
        (doc! { "_id": 1, "$jsonSchema": { "type": "string" } }, false),
        (
            doc! { "_id": 1, "$jsonSchema": { "anyOf": [{ "enum": [2] }] } },
            false,
        ),
        (doc! { "_id": 1, "$or": [nothing(), { "a": 1 }] }, true),
        (doc! { "_id": 1, "$jsonSchema": { "enum": [{ "a": 1 }] } }, true),
        (doc! { "_id": 1, "a": { "$in": [] } }, true),
    ] {
        let update = doc! { "q": &filter, "u": { "$set": { "z": 1 } }, "upsert": true };
        run(db, doc! { "update": "c", "updates": [update] }).await;
        let found = batch(&run(db, doc! { "find": "c" }).await);
        assert_eq!(found[0].get("_id") == Some(&bson!(1)), taken, "{filter}");
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
    }
}

async fn a_view_gives_one_document_in_a_single_batch(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }, doc! { "_id": 2 }]).await;
    run(db, doc! { "create": "v", "viewOn": "c" }).await;
    let one = doc! { "find": "v", "limit": 1, "singleBatch": true };
    assert_eq!(ids(&batch(&run(db, one).await)).len(), 1);
    let two = doc! { "find": "v", "limit": 2, "singleBatch": true };
    assert_eq!(code(db, two).await, 168);
}

async fn full_batches_of_a_sort_leave_the_cursor_open(db: &Db) {
    let id = ObjectId::new();
    insert(db, "c", vec![doc! { "_id": id }, doc! { "_id": ObjectId::new() }]).await;
    for (size, is_open) in [(1, true), (2, true), (3, false)] {
        let find = doc! { "find": "c", "sort": { "a.b": -1 }, "limit": 2, "batchSize": size };
        let reply = run(db, find).await;
        let cursor = reply.get_document("cursor").unwrap().get_i64("id").unwrap();
        assert_eq!(cursor != 0, is_open, "{size}");
        if is_open {
            let more = run(db, doc! { "getMore": cursor, "collection": "c" }).await;
            assert_eq!(more.get_document("cursor").unwrap().get_i64("id").unwrap(), 0);
        }
    }
}

async fn arguments_are_gathered_before_the_run(db: &Db) {
    let date = DateTime::from_millis(1_000_000);
    let document = doc! {
        "_id": 1, "date": date, "x": 1e308, "minus": -1e308, "items": [5, 6], "text": "a", "one": 1.0,
    };
    insert(db, "c", vec![document]).await;
    let later = |ms: i64| bson!(DateTime::from_millis(1_000_000 + ms));
    for (expression, expected) in [
        (doc! { "$add": [{ "$add": ["$date", 1.5] }, 1.5] }, later(3)),
        (doc! { "$add": [1.5, { "$add": ["$date", 1.5] }] }, later(3)),
        (doc! { "$add": [0.5, { "$subtract": ["$date", 0.5] }] }, later(0)),
        (doc! { "$add": ["$x", 1e308, "$minus"] }, bson!(1e308)),
        (doc! { "$add": [1e308, "$minus", 1e308] }, bson!(f64::INFINITY)),
        (
            doc! { "$multiply": ["$x", 10, { "$multiply": [1e-200, 1e-100] }] },
            bson!(1e9),
        ),
        (doc! { "$sum": ["$x", 1e308, "$minus"] }, bson!(1e308)),
        (doc! { "$sum": [1, { "$sum": "$items" }] }, bson!(12)),
        (doc! { "$max": [1, "$one"] }, bson!(1.0)),
        (doc! { "$concat": ["$none", 1] }, Bson::Null),
        (doc! { "$setUnion": [1, "$none"] }, Bson::Null),
    ] {
        let found = aggregate(db, "c", vec![doc! { "$project": { "r": &expression } }]).await;
        assert_eq!(found[0].get("r"), Some(&expected), "{expression}");
    }
    for (expression, expected) in [
        (doc! { "$concat": ["$none", 1, 2] }, 16702),
        (doc! { "$concat": [1, "$none"] }, 16702),
        (doc! { "$concatArrays": ["$none", [1], 2] }, 28664),
        (doc! { "$setUnion": [1, "$none", [2]] }, 17043),
    ] {
        let pipeline = vec![doc! { "$project": { "r": &expression } }];
        let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        assert_eq!(code(db, command).await, expected, "{expression}");
    }
}
