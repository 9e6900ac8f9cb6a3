//! What random commands found to differ when they began from yet other numbers.

use odm::Db;
use odm::bson::{Bson, DateTime, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    schemas_of_several_choices_do_not_keep_an_upsert_from_its_filter,
    early_groups_have_what_is_missing_below_the_least_key,
    nearness_has_no_natural_order_even_where_nothing_can_match,
    nothing_pushed_into_an_empty_array_changes_nothing,
    an_order_behind_a_join_stands_before_it,
    an_expression_of_a_view_is_asked_after_the_conditions_of_a_find,
    choices_of_one_value_in_an_element_are_found_by_a_wildcard_index,
    the_modes_of_a_merge_are_refused_before_what_a_join_lacks,
    a_constant_condition_has_decided_before_the_run,
    constants_are_computed_before_the_run_where_mongodb_does,
    what_is_wrong_with_the_first_argument_is_told_first,
    dates_are_added_to_in_the_order_of_mongodb,
    of_equal_numbers_a_group_behind_an_inclusion_keeps_the_last,
    what_is_neither_null_nor_missing_is_found_by_a_wildcard_index,
    early_groups_make_null_of_what_has_a_null,
    early_groups_multiply_large_integers_as_decimals,
    early_groups_see_the_faults_behind_the_first,
    a_filter_of_what_is_gone_makes_a_group_late,
}

async fn schemas_of_several_choices_do_not_keep_an_upsert_from_its_filter(db: &Db) {
    for (schema, is_seeded) in [
        (doc! { "bsonType": "int" }, false),
        (doc! { "oneOf": [{ "bsonType": "int" }] }, false),
        (
            doc! { "oneOf": [{ "bsonType": "int" }, { "bsonType": "string" }] },
            true,
        ),
        (
            doc! { "anyOf": [{ "bsonType": "int" }, { "bsonType": "string" }] },
            false,
        ),
        (
            doc! { "allOf": [{ "oneOf": [{ "bsonType": "int" }, { "bsonType": "string" }] }] },
            true,
        ),
    ] {
        let filter = doc! { "$jsonSchema": schema.clone(), "_id": 22 };
        let upsert = doc! { "q": filter, "u": { "$set": { "s": 1 } }, "upsert": true };
        run(db, doc! { "update": "c", "updates": [upsert] }).await;
        let found = run(db, doc! { "findAndModify": "c", "query": {}, "remove": true }).await;
        let stored = found.get_document("value").unwrap();
        assert_eq!(stored.get("_id") == Some(&Bson::Int32(22)), is_seeded, "{schema}");
    }
}

async fn early_groups_have_what_is_missing_below_the_least_key(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "n": null }]).await;
    for (arguments, early, otherwise) in [
        (bson!([Bson::MinKey, "$a"]), 1, -1),
        (bson!(["$a", Bson::MinKey]), -1, 1),
        (bson!(["$a", "$b"]), 0, 0),
        (bson!(["$a", "$n"]), -1, -1),
    ] {
        let compared = doc! { "$cmp": arguments.clone() };
        let group = doc! { "$group": { "_id": null, "x": { "$push": compared.clone() } } };
        let found = aggregate(db, "c", vec![group]).await;
        assert_eq!(found, vec![doc! { "_id": null, "x": [early] }], "{arguments}");
        let found = aggregate(db, "c", vec![doc! { "$project": { "x": compared } }]).await;
        assert_eq!(found, vec![doc! { "_id": 1, "x": otherwise }], "{arguments}");
        for (operator, of_early) in [
            ("$lt", early < 0),
            ("$lte", early <= 0),
            ("$gt", early > 0),
            ("$gte", early >= 0),
            ("$eq", early == 0),
            ("$ne", early != 0),
        ] {
            let pushed = doc! { "$push": { operator: arguments.clone() } };
            let found = aggregate(db, "c", vec![doc! { "$group": { "_id": null, "x": pushed } }]).await;
            assert_eq!(
                found,
                vec![doc! { "_id": null, "x": [of_early] }],
                "{operator} {arguments}"
            );
        }
    }
}

async fn nearness_has_no_natural_order_even_where_nothing_can_match(db: &Db) {
    let near = doc! { "g": { "$near": [1, 1] } };
    let never = doc! { "$alwaysFalse": 1, "g": { "$near": [1, 1] } };
    for exists in [false, true] {
        if exists {
            insert(db, "c", vec![doc! { "_id": 1 }]).await;
        }
        for filter in [&near, &never] {
            for (option, value) in [
                ("hint", doc! { "$natural": 1 }),
                ("hint", doc! { "$natural": -1 }),
                ("sort", doc! { "$natural": 1 }),
            ] {
                let find = doc! { "find": "c", "filter": filter.clone(), option: value };
                assert_eq!(code(db, find.clone()).await, 2, "{find}");
            }
        }
        assert_eq!(code(db, doc! { "find": "c", "filter": never.clone() }).await, 0);
    }
    assert_eq!(code(db, doc! { "find": "c", "filter": near }).await, 291);
    // As the first stage too, with an index.
    let index = doc! { "key": { "g": "2d" }, "name": "g" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let stage = doc! { "$geoNear": { "near": [1, 1], "distanceField": "d" } };
    for direction in [1, -1] {
        let hint = doc! { "$natural": direction };
        let command = doc! { "aggregate": "c", "pipeline": [stage.clone()], "cursor": {}, "hint": hint };
        assert_eq!(code(db, command).await, 2);
    }
}

async fn nothing_pushed_into_an_empty_array_changes_nothing(db: &Db) {
    let documents = [bson!([]), bson!([1]), bson!([2, 1])].into_iter().zip(0..);
    insert(
        db,
        "c",
        documents.map(|(c, id)| doc! { "_id": id, "c": c }).collect(),
    )
    .await;
    for (modifiers, modified) in [
        (doc! { "$each": [], "$sort": 1 }, [0, 1, 1]),
        (doc! { "$each": [], "$sort": { "a": 1 } }, [0, 1, 1]),
        (doc! { "$each": [], "$sort": -1, "$slice": 3 }, [0, 1, 1]),
        (doc! { "$each": [], "$slice": 3 }, [0, 0, 0]),
        (doc! { "$each": [], "$position": 0 }, [0, 0, 0]),
    ] {
        for (id, modified) in (0..).zip(modified) {
            let update = doc! { "q": { "_id": id }, "u": { "$push": { "c": modifiers.clone() } } };
            let reply = run(db, doc! { "update": "c", "updates": [update] }).await;
            assert_eq!(reply.get_i32("nModified").unwrap(), modified, "{id} {modifiers}");
        }
    }
}

async fn an_order_behind_a_join_stands_before_it(db: &Db) {
    let documents = vec![
        doc! { "_id": 2, "a": [1], "c": [1] },
        doc! { "_id": 1, "a": [], "c": [] },
    ];
    insert(db, "c", documents).await;
    // By two arrays at once nothing can be sorted.
    let wrong = doc! { "$sort": { "a": 1, "c": 1 } };
    let join = doc! { "$lookup": { "from": "o", "as": "j", "localField": "a", "foreignField": "b" } };
    let right = doc! { "$sort": { "_id": 1 } };
    let found = aggregate(db, "c", vec![wrong.clone(), join.clone(), right]).await;
    assert_eq!(ids(&found), [1, 2]);
    // An order by what is joined stays behind it.
    let by_joined = doc! { "$sort": { "j.b": 1 } };
    let pipeline = vec![wrong, join, by_joined];
    assert_eq!(
        code(db, doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }).await,
        2
    );
}

async fn an_expression_of_a_view_is_asked_after_the_conditions_of_a_find(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let fails = doc! { "$expr": { "$in": [1, "$missing"] } };
    run(
        db,
        doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$match": fails }] },
    )
    .await;
    assert_eq!(code(db, doc! { "find": "v" }).await, 40081);
    assert_eq!(
        code(db, doc! { "find": "v", "filter": { "_id": 1 } }).await,
        40081
    );
    assert_eq!(code(db, doc! { "find": "v", "filter": { "b": 1 } }).await, 0);
}

async fn choices_of_one_value_in_an_element_are_found_by_a_wildcard_index(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "o": [{ "x": 3 }] }, doc! { "_id": 2 }],
    )
    .await;
    let index = doc! { "key": { "$**": 1 }, "name": "w", "wildcardProjection": { "o.x": 1 } };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    for (condition, is_answered) in [
        (doc! { "$or": [{ "x": 3 }] }, true),
        (doc! { "$or": [{ "x": 3 }, { "x": 4 }] }, true),
        (doc! { "$or": [{ "x": 3 }, { "y": 4 }] }, false),
        (doc! { "$nor": [{ "x": 4 }] }, false),
    ] {
        let find = doc! { "find": "c", "filter": { "o": { "$elemMatch": condition } }, "hint": "w" };
        match is_answered {
            true => assert_eq!(ids(&batch(&run(db, find.clone()).await)), [1], "{find}"),
            false => assert_eq!(code(db, find.clone()).await, 291, "{find}"),
        }
    }
}

async fn the_modes_of_a_merge_are_refused_before_what_a_join_lacks(db: &Db) {
    let modes = doc! { "into": "t", "whenMatched": "keepExisting", "whenNotMatched": "discard" };
    for (stage, expected) in [
        (doc! { "$graphLookup": { "from": "o" } }, 51181),
        (doc! { "$lookup": { "from": "o" } }, 51181),
        (doc! { "$graphLookup": {} }, 9),
        (doc! { "$unionWith": { "coll": "o", "other": 1 } }, 40415),
    ] {
        let pipeline = vec![stage.clone(), doc! { "$merge": modes.clone() }];
        let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        assert_eq!(code(db, command).await, expected, "{stage}");
    }
}

async fn a_constant_condition_has_decided_before_the_run(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    let yes = bson!({ "$eq": [1, 1] });
    for (value, is_null) in [
        (bson!({ "$cond": [true, null, "$l"] }), true),
        (bson!({ "$cond": [false, "$l", null] }), true),
        (bson!({ "$cond": [yes, null, "$l"] }), true),
        (
            bson!({ "$cond": { "if": null, "then": "$l", "else": null } }),
            true,
        ),
        (bson!({ "$cond": [{ "$or": ["$l", true] }, null, "$l"] }), true),
        (bson!({ "$indexOfArray": [null, "$l"] }), true),
        (bson!({ "$cond": [true, "$l", null] }), false),
        (bson!({ "$cond": ["$l", null, null] }), false),
        (bson!({ "$indexOfArray": [[null], "$l"] }), false),
    ] {
        let find = doc! { "find": "c", "projection": { "e": { "$strLenBytes": value.clone() } } };
        assert_eq!(code(db, find).await, if is_null { 34473 } else { 0 }, "{value}");
    }
    // What is not chosen is wrong all the same.
    let divided = doc! { "$cond": [true, "$l", { "$divide": [1, 0] }] };
    assert_eq!(
        code(db, doc! { "find": "c", "projection": { "e": divided } }).await,
        2
    );
}

async fn constants_are_computed_before_the_run_where_mongodb_does(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    let wrong = bson!({ "$divide": [1, 0] });
    let no_text = |value: Bson| bson!({ "$strLenBytes": value });
    for (expression, expected) in [
        // These wait for a document, with what is in them.
        (bson!({ "$firstN": { "n": 1, "input": wrong.clone() } }), 0),
        (bson!({ "$lastN": { "n": wrong.clone(), "input": "$l" } }), 0),
        (bson!({ "$minN": { "n": 1, "input": wrong.clone() } }), 0),
        (
            bson!({ "$maxN": { "n": 1, "input": { "$bsonSize": [true] } } }),
            0,
        ),
        (no_text(bson!({ "$let": { "vars": { "v": 1 }, "in": 2 } })), 0),
        // These do not.
        (no_text(bson!({ "$let": { "vars": {}, "in": 2 } })), 34473),
        (bson!({ "$let": { "vars": { "v": wrong.clone() }, "in": 2 } }), 2),
        (no_text(bson!({ "$cmp": [[1, "a"], "abc"] })), 34473),
        (no_text(bson!({ "$gt": [["a", "b"], ["a", "b"]] })), 34473),
        (no_text(bson!({ "$lt": [["a", "b"], "$$REMOVE"] })), 34473),
        (no_text(bson!({ "$in": [{ "k": 1 }, ["a", "b"]] })), 34473),
        (no_text(bson!({ "$max": [{ "$literal": "x" }, [1, "a"]] })), 34473),
        (bson!({ "$setEquals": [[1], "$$REMOVE"] }), 5887502),
        (bson!({ "$setEquals": ["$$REMOVE", "$a"] }), 5887502),
    ] {
        let find = doc! { "find": "c", "projection": { "e": expression.clone() } };
        assert_eq!(code(db, find).await, expected, "{expression}");
    }
}

async fn what_is_wrong_with_the_first_argument_is_told_first(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (expression, expected) in [
        (bson!({ "$round": ["a", "b"] }), 51081),
        (bson!({ "$trunc": ["a", null] }), 51081),
        (bson!({ "$round": [true, "$missing"] }), 51081),
        (bson!({ "$round": [1, "b"] }), 16004),
        (bson!({ "$round": [null, "b"] }), 0),
        (bson!({ "$atan2": [[1], "$missing"] }), 51044),
        (bson!({ "$atan2": ["$missing", [1]] }), 0),
        (bson!({ "$atan2": [1, [1]] }), 51045),
    ] {
        let find = doc! { "find": "c", "projection": { "e": expression.clone() } };
        assert_eq!(code(db, find).await, expected, "{expression}");
    }
}

async fn dates_are_added_to_in_the_order_of_mongodb(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let (text, bad_zone) = (bson!("a"), bson!("nowhere"));
    for (start, unit, amount, zone, expected) in [
        (&text, bson!(""), bson!("x"), &bad_zone, 40485),
        (&text, bson!(""), bson!("x"), &bson!(1), 40517),
        (&text, bson!(""), bson!("x"), &bson!("UTC"), 5166403),
        (&text, bson!(""), Bson::Null, &bad_zone, 0),
        (&text, bson!(0), bson!(1), &Bson::Null, 0),
        (
            &bson!(DateTime::MAX),
            bson!(0),
            bson!("x"),
            &bson!("UTC"),
            5166404,
        ),
        (&bson!(DateTime::MAX), bson!(""), bson!("x"), &bson!("UTC"), 9),
        (
            &bson!(DateTime::MAX),
            bson!("day"),
            bson!("x"),
            &bson!("UTC"),
            5166405,
        ),
    ] {
        for operator in ["$dateAdd", "$dateSubtract"] {
            let arguments = doc! { "startDate": start, "unit": &unit, "amount": &amount, "timezone": zone };
            let find = doc! { "find": "c", "projection": { "e": { operator: arguments } } };
            assert_eq!(code(db, find.clone()).await, expected, "{find}");
        }
    }
}

async fn of_equal_numbers_a_group_behind_an_inclusion_keeps_the_last(db: &Db) {
    let documents = vec![doc! { "_id": 1, "n": 4, "l": [1] }, doc! { "_id": 2, "n": 4.0 }];
    insert(db, "c", documents).await;
    let (first, last) = (bson!(4), bson!(4.0));
    let keep = doc! { "$project": { "n": 1 } };
    for (stages, expected) in [
        (vec![], &last),
        (vec![keep.clone()], &last),
        (vec![doc! { "$project": { "n": 1, "_id": 0 } }], &last),
        (vec![doc! { "$match": { "n": 4 } }, keep.clone()], &last),
        (vec![keep.clone(), doc! { "$limit": 9 }], &last),
        (vec![keep.clone(), doc! { "$sort": { "_id": 1 } }], &first),
        (vec![keep.clone(), keep], &first),
        (vec![doc! { "$project": { "l": 0 } }], &first),
    ] {
        let mut pipeline = stages.clone();
        pipeline.push(doc! { "$group": { "_id": null, "v": { "$max": "$n" } } });
        let found = aggregate(db, "c", pipeline).await;
        assert_eq!(found, vec![doc! { "_id": null, "v": expected }], "{stages:?}");
    }
    // An array among the expressions keeps the group from being early.
    let of_array = doc! { "$max": { "$arrayElemAt": [[1], 0] } };
    let group = doc! { "$group": { "_id": null, "v": { "$max": "$n" }, "w": of_array } };
    let found = aggregate(db, "c", vec![group]).await;
    assert_eq!(found, vec![doc! { "_id": null, "v": first, "w": 1 }]);
}

async fn what_is_neither_null_nor_missing_is_found_by_a_wildcard_index(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "n": 3 }, doc! { "_id": 2 }]).await;
    let index = doc! { "key": { "$**": 1 }, "name": "w" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    for (filter, is_answered) in [
        (doc! { "$nor": [{ "n": null }] }, true),
        (doc! { "$nor": [{ "n": { "$exists": false } }] }, false),
        (doc! { "$nor": [{ "n": 4 }] }, false),
        (doc! { "$nor": [{ "n": null }, { "m": null }] }, false),
    ] {
        let find = doc! { "find": "c", "filter": filter, "hint": "w" };
        match is_answered {
            true => assert_eq!(ids(&batch(&run(db, find.clone()).await)), [1], "{find}"),
            false => assert_eq!(code(db, find.clone()).await, 291, "{find}"),
        }
    }
}

/// The result in a group that reads the collection, and as a field of its only document.
async fn early_and_late(db: &Db, expression: &Bson) -> (Result<Bson, i32>, Result<Bson, i32>) {
    let mut answers = Vec::new();
    for stage in [
        doc! { "$group": { "_id": null, "v": { "$max": expression } } },
        doc! { "$project": { "v": expression } },
    ] {
        let command = doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
        answers.push(match code(db, command.clone()).await {
            0 => Ok(batch(&run(db, command).await)
                .remove(0)
                .remove("v")
                .unwrap_or(Bson::Null)),
            code => Err(code),
        });
    }
    let late = answers.pop().unwrap();
    (answers.pop().unwrap(), late)
}

async fn early_groups_make_null_of_what_has_a_null(db: &Db) {
    let document = doc! { "_id": 1, "n": -3.5, "s": "Ab", "l": [1], "d": DateTime::from_millis(0) };
    insert(db, "c", vec![document]).await;
    let null = || Ok(Bson::Null);
    for (expression, early, late) in [
        (bson!({ "$concat": ["$n", "$missing"] }), null(), Err(16702)),
        (bson!({ "$concat": ["$n", "$s"] }), Err(5073001), Err(16702)),
        (bson!({ "$concatArrays": ["$s", "$missing"] }), null(), Err(28664)),
        (bson!({ "$setUnion": ["$s", "$missing"] }), null(), Err(17043)),
        (
            bson!({ "$setIntersection": ["$s", "$missing"] }),
            null(),
            Err(17047),
        ),
        (bson!({ "$atan2": ["$s", "$missing"] }), null(), Err(51044)),
        (bson!({ "$range": ["$missing", "$s"] }), null(), Err(34443)),
        (bson!({ "$range": ["$s", "$missing"] }), Err(5154300), Err(34443)),
        (bson!({ "$abs": "$s" }), Err(4903700), Err(28765)),
        (bson!({ "$cosh": "$s" }), Err(4995501), Err(28765)),
        (bson!({ "$ln": "$n" }), Err(4903706), Err(28766)),
        (bson!({ "$mod": ["$s", 2] }), Err(5154000), Err(16611)),
        (bson!({ "$divide": ["$s", 2] }), Err(5073101), Err(14)),
        (bson!({ "$indexOfCP": ["$s", null] }), Err(5075301), Err(40094)),
        (bson!({ "$indexOfCP": ["$s", "$n"] }), Err(5075302), Err(40094)),
        (bson!({ "$first": "$s" }), Err(5126704), Err(28689)),
        (bson!({ "$arrayElemAt": ["$s", 1] }), Err(5126701), Err(28689)),
        (bson!({ "$add": ["$d", "$d"] }), Err(4974202), Err(16612)),
    ] {
        assert_eq!(
            early_and_late(db, &expression).await,
            (early, late),
            "{expression}"
        );
    }
}

async fn early_groups_multiply_large_integers_as_decimals(db: &Db) {
    let large = 1_i64 << 62;
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "a": large, "b": 2, "m": i64::MIN }],
    )
    .await;
    let decimal = |text: &str| Ok(Bson::Decimal128(text.parse().unwrap()));
    for (expression, early, late) in [
        (
            bson!({ "$multiply": ["$a", "$b"] }),
            decimal("9223372036854775808"),
            Ok(bson!(2f64.powi(63))),
        ),
        (
            bson!({ "$multiply": [2.0, "$a"] }),
            Ok(bson!(2f64.powi(63))),
            Ok(bson!(2f64.powi(63))),
        ),
        (
            bson!({ "$add": ["$m", "$m"] }),
            decimal("-18446744073709551616"),
            Ok(bson!(-2f64.powi(64))),
        ),
        (
            bson!({ "$add": ["$a", "$a", "$a"] }),
            Ok(bson!(3.0 * 2f64.powi(62))),
            Ok(bson!(3.0 * 2f64.powi(62))),
        ),
        (
            bson!({ "$add": ["$a", "$b"] }),
            Ok(bson!(large + 2)),
            Ok(bson!(large + 2)),
        ),
    ] {
        assert_eq!(
            early_and_late(db, &expression).await,
            (early, late),
            "{expression}"
        );
    }
}

async fn early_groups_see_the_faults_behind_the_first(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 0 }, doc! { "_id": 1, "s": "Ab" }]).await;
    let group = |accumulator: &str, expression: Bson| {
        doc! { "aggregate": "c", "cursor": {}, "pipeline": [
            { "$sort": { "_id": 1 } },
            { "$group": { "_id": null, "v": { accumulator: expression } } },
        ] }
    };
    for (expression, expected) in [
        (bson!({ "$indexOfBytes": ["$s", null] }), 5075301),
        (bson!({ "$abs": "$s" }), 4903700),
        // What no early group has is asked of the first alone.
        (bson!({ "$size": { "$ifNull": ["$s", []] } }), 0),
    ] {
        assert_eq!(
            code(db, group("$first", expression.clone())).await,
            expected,
            "{expression}"
        );
    }
    // Groups behind other stages are not early.
    for (stages, expected) in [(vec![], 5911200), (vec![doc! { "$unwind": "$_id" }], 40400)] {
        let mut pipeline: Vec<Document> = stages;
        pipeline.push(doc! { "$group": { "_id": null, "v": { "$mergeObjects": "$s" } } });
        let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        assert_eq!(code(db, command.clone()).await, expected, "{command}");
    }
}

async fn a_filter_of_what_is_gone_makes_a_group_late(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "n": 4 }, doc! { "_id": 2, "n": 4.0 }],
    )
    .await;
    for (filter, expected) in [
        (doc! { "n": 4 }, bson!(4.0)),
        (doc! { "z": null }, bson!(4)),
        (doc! { "n": 4, "z": null }, bson!(4)),
    ] {
        let pipeline = vec![
            doc! { "$project": { "n": 1 } },
            doc! { "$match": filter.clone() },
            doc! { "$group": { "_id": null, "v": { "$max": "$n" } } },
        ];
        let found = aggregate(db, "c", pipeline).await;
        assert_eq!(found, vec![doc! { "_id": null, "v": expected }], "{filter}");
    }
}
