//! What stages were found to differ in: documents between bounds by partition, how a merge compares what it writes to,
//! views as targets, and the order of refusals.

use odm::Db;
use odm::bson::{Bson, DateTime, Decimal128, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, insert, run};

crate::on_every_backend! {
    partitions_in_turn_come_into_bounds,
    a_value_at_a_bound_is_where_steps_go_on,
    documents_between_have_the_partition_of_the_next,
    a_partition_below_a_point_does_not_meet_it,
    bounds_of_all_partitions_step_from_before_them,
    a_partition_that_holds_the_field_is_refused,
    a_merge_finds_strings_as_its_target_compares_them,
    stages_of_a_merge_compare_as_its_target_does,
    a_merge_of_nothing_into_a_view_is_none,
    targets_that_compare_otherwise_are_refused,
    forms_of_a_merge_are_read_before_its_fields,
    where_stages_stand_is_looked_at_last,
    stages_are_looked_through_before_they_are_read,
    stages_are_looked_through_before_collations_and_concerns,
    buckets_may_be_called_by_what_is_computed,
    what_is_skipped_behind_a_graph_is_computed,
    indexes_of_a_view_are_those_of_its_collection,
    bounds_of_decimals_have_the_digits_of_doubles,
}

/// The partition and the value of each document that a `$densify` gives.
async fn densified(db: &Db, rows: &[(i32, i32)], bounds: [i32; 2], step: i32) -> Vec<(i32, i32)> {
    run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
    let rows = rows.iter().enumerate();
    let rows = rows.map(|(id, (q, n))| doc! { "_id": id as i32, "q": q, "n": n });
    insert(db, "c", rows.collect()).await;
    let range = doc! { "step": step, "bounds": [bounds[0], bounds[1]] };
    let stage = doc! { "field": "n", "partitionByFields": ["q"], "range": range };
    let number = |row: &Document, name| match row.get(name) {
        Some(Bson::Int64(number)) => *number as i32,
        Some(Bson::Int32(number)) => *number,
        other => panic!("{other:?}"),
    };
    let found = aggregate(db, "c", vec![doc! { "$densify": stage }]).await;
    found
        .iter()
        .map(|row| (number(row, "q"), number(row, "n")))
        .collect()
}

async fn partitions_in_turn_come_into_bounds(db: &Db) {
    // Of those that follow each other below the bounds, the first alone is filled at the end.
    let mut found = densified(db, &[(1, 3), (2, -2), (3, -2), (4, 3), (5, -1)], [2, 5], 2).await;
    let read = [(1, 2), (1, 3), (2, -2), (3, -2), (4, 2), (4, 3), (5, -1)];
    assert_eq!(found[..7], read);
    // At the end, partitions come in any order.
    found[7..].sort_unstable();
    assert_eq!(found[7..], [(1, 4), (2, 2), (2, 4), (4, 4), (5, 2), (5, 4)]);
}

async fn a_value_at_a_bound_is_where_steps_go_on(db: &Db) {
    let found = densified(db, &[(1, -3), (1, 2), (1, 10)], [2, 5], 2).await;
    assert_eq!(found, [(1, -3), (1, 2), (1, -1), (1, 1), (1, 3), (1, 10)]);
    let found = densified(db, &[(1, -3), (1, 0), (1, 10)], [2, 5], 2).await;
    assert_eq!(found, [(1, -3), (1, 0), (1, 2), (1, 4), (1, 10)]);

    run(db, doc! { "drop": "c" }).await;
    let rows = vec![
        doc! { "_id": 1, "n": -2 },
        doc! { "_id": 2, "n": -2.0 },
        doc! { "_id": 3, "n": 3 },
    ];
    insert(db, "c", rows).await;
    let range = doc! { "step": 2, "bounds": [-2, 1] };
    let stage = doc! { "$densify": { "field": "n", "range": range } };
    let found = aggregate(db, "c", vec![stage]).await;
    // The last value there says of which type the next is.
    assert_eq!(found[2], doc! { "n": 0.0 });
}

async fn documents_between_have_the_partition_of_the_next(db: &Db) {
    let rows = vec![
        doc! { "_id": 1, "p": { "z": 1 }, "n": 1 },
        doc! { "_id": 2, "p": { "z": 1.0 }, "n": 3 },
    ];
    insert(db, "c", rows).await;
    for bounds in [bson!("partition"), bson!([2, 3])] {
        let range = doc! { "step": 1, "bounds": bounds.clone() };
        let stage = doc! { "field": "n", "partitionByFields": ["p.z"], "range": range };
        let found = aggregate(db, "c", vec![doc! { "$densify": stage }]).await;
        assert_eq!(found.len(), 3, "{bounds}");
        assert_eq!(found[1], doc! { "p": { "z": 1.0 }, "n": 2 }, "{bounds}");
    }
}

async fn a_partition_below_a_point_does_not_meet_it(db: &Db) {
    assert_eq!(densified(db, &[(1, 1)], [3, 3], 1).await, [(1, 1), (1, 3)]);
    assert_eq!(densified(db, &[(1, 1)], [3, 3], 2).await, [(1, 1)]);
    assert_eq!(densified(db, &[(1, 1)], [3, 3], 5).await, [(1, 1)]);
    let found = densified(db, &[(1, 1), (1, 3), (1, 9)], [3, 3], 2).await;
    assert_eq!(found, [(1, 1), (1, 3), (1, 9)]);
}

async fn bounds_of_all_partitions_step_from_before_them(db: &Db) {
    let day = |month: u8, day: u8| {
        let day = DateTime::builder().year(2019).month(month).day(day).build();
        Bson::DateTime(day.unwrap())
    };
    let rows = vec![
        doc! { "_id": 1, "q": 1, "n": day(10, 31) },
        doc! { "_id": 2, "q": 2, "n": day(12, 31) },
    ];
    insert(db, "c", rows).await;
    let range = doc! { "step": 1, "unit": "month", "bounds": "full" };
    let stage = doc! { "field": "n", "partitionByFields": ["q"], "range": range };
    let pipeline = vec![doc! { "$densify": stage }, doc! { "$match": { "q": 2 } }];
    let found = aggregate(db, "c", pipeline).await;
    // A month before the begin is the last of September.
    let expected = [
        doc! { "q": 2, "n": day(10, 30) },
        doc! { "q": 2, "n": day(11, 30) },
        doc! { "q": 2, "n": day(12, 30) },
        doc! { "_id": 2, "q": 2, "n": day(12, 31) },
    ];
    assert_eq!(found, expected);
}

async fn a_partition_that_holds_the_field_is_refused(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "p": { "n": 6 } }]).await;
    let densify = |names: Vec<&str>| {
        let range = doc! { "step": 2, "bounds": [1, 4] };
        let stage = doc! { "field": "p.n", "partitionByFields": names, "range": range };
        doc! { "aggregate": "c", "pipeline": [{ "$densify": stage }], "cursor": {} }
    };
    assert_eq!(code(db, densify(vec!["p"])).await, 5733306);
    assert_eq!(code(db, densify(vec!["q", "p"])).await, 5733306);
    assert_eq!(code(db, densify(vec!["p.q"])).await, 0);
}

fn by_letters() -> Document {
    doc! { "locale": "en", "strength": 2 }
}

fn collated(pipeline: Vec<Document>, collation: Document) -> Document {
    doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {}, "collation": collation }
}

async fn all(db: &Db, name: &str) -> Vec<Document> {
    batch(&run(db, doc! { "find": name, "sort": { "_id": 1 } }).await)
}

async fn a_merge_finds_strings_as_its_target_compares_them(db: &Db) {
    insert(db, "c", vec![doc! { "_id": "A", "n": 1 }]).await;
    insert(db, "t", vec![doc! { "_id": "a" }]).await;
    let merge = |matched: &str| vec![doc! { "$merge": { "into": "t", "whenMatched": matched } }];
    assert_eq!(code(db, collated(merge("merge"), by_letters())).await, 0);
    assert_eq!(
        all(db, "t").await,
        [doc! { "_id": "A", "n": 1 }, doc! { "_id": "a" }]
    );

    run(db, doc! { "drop": "t" }).await;
    run(db, doc! { "create": "t", "collation": by_letters() }).await;
    insert(db, "t", vec![doc! { "_id": "a" }]).await;
    for collation in [doc! { "locale": "simple" }, by_letters()] {
        assert_eq!(code(db, collated(merge("merge"), collation.clone())).await, 66);
        assert_eq!(code(db, collated(merge("replace"), collation.clone())).await, 66);
        assert_eq!(code(db, collated(merge("keepExisting"), collation)).await, 0);
    }
    assert_eq!(all(db, "t").await, [doc! { "_id": "a" }]);
}

async fn stages_of_a_merge_compare_as_its_target_does(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": "X" }]).await;
    run(db, doc! { "create": "t", "collation": by_letters() }).await;
    let found = doc! { "_id": 1, "a": "x" };
    for (target, is_same, of_source) in [("t", true, false), ("plain", false, true)] {
        insert(db, target, vec![found.clone()]).await;
        let merge = doc! {
            "into": target,
            "let": { "own": { "$eq": ["$a", "x"] }, "new": "$$ROOT" },
            "whenMatched": [{ "$set": { "same": { "$eq": ["$a", "X"] }, "own": "$$own" } }],
        };
        let collation = if of_source {
            by_letters()
        } else {
            doc! { "locale": "simple" }
        };
        assert_eq!(
            code(db, collated(vec![doc! { "$merge": merge }], collation)).await,
            0
        );
        let expected = doc! { "_id": 1, "a": "x", "own": of_source, "same": is_same };
        assert_eq!(all(db, target).await, [expected], "{target}");
    }
}

fn plain(name: &str, pipeline: Vec<Document>) -> Document {
    doc! { "aggregate": name, "pipeline": pipeline, "cursor": {} }
}

async fn a_merge_of_nothing_into_a_view_is_none(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    insert(db, "unnamed", vec![doc! { "_id": 1, "a": null }]).await;
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    run(db, doc! { "create": "s", "timeseries": { "timeField": "t" } }).await;
    for target in ["v", "s"] {
        let merge = vec![doc! { "$merge": target }];
        assert_eq!(code(db, plain("none", merge.clone())).await, 0, "{target}");
        assert_eq!(code(db, plain("c", merge.clone())).await, 166, "{target}");
        // What a document is found by is asked for first.
        let grouped = vec![doc! { "$group": { "_id": "$a" } }, merge[0].clone()];
        assert_eq!(code(db, plain("unnamed", grouped)).await, 51132, "{target}");
    }
}

async fn targets_that_compare_otherwise_are_refused(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    run(
        db,
        doc! { "create": "w", "viewOn": "c", "pipeline": [], "collation": by_letters() },
    )
    .await;
    for stage in ["$out", "$merge"] {
        let into = |target: &str| vec![doc! { stage: target }];
        assert_eq!(code(db, plain("c", into("v"))).await, 166, "{stage}");
        assert_eq!(code(db, plain("c", into("w"))).await, 167, "{stage}");
        assert_eq!(code(db, collated(into("v"), by_letters())).await, 167, "{stage}");
        assert_eq!(code(db, collated(into("w"), by_letters())).await, 166, "{stage}");
    }
    let on = |field: &str| vec![doc! { "$merge": { "into": "w", "on": [field] } }];
    assert_eq!(code(db, plain("c", on("a"))).await, 51183);
    assert_eq!(code(db, plain("c", on("_id"))).await, 167);
}

async fn forms_of_a_merge_are_read_before_its_fields(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let modes = doc! { "whenMatched": "fail", "whenNotMatched": "fail" };
    let cases = [
        (doc! { "into": "t", "on": ["a", "a"] }, 31465, 51181),
        (doc! { "into": "t", "on": "$a" }, 16410, 51181),
        (doc! { "into": "system.x" }, 31319, 51181),
        (doc! { "into": "system.x", "on": "" }, 40352, 51181),
        (doc! { "into": "system.x", "on": 5 }, 51186, 51186),
        (doc! { "into": "system.x", "on": "a" }, 51183, 51181),
        (doc! { "into": "t", "on": "a", "let": { "x": 1 } }, 51183, 51181),
        (doc! { "into": "t", "let": { "x": 1 } }, 51199, 51181),
        (doc! { "into": "system.x", "let": { "x": 1 } }, 31319, 51181),
    ];
    for (merge, alone, with_modes) in cases {
        let stage = vec![doc! { "$merge": merge.clone() }];
        assert_eq!(code(db, plain("c", stage)).await, alone, "{merge}");
        let mut both = merge.clone();
        both.extend(modes.clone());
        let stage = vec![doc! { "$merge": both }];
        assert_eq!(code(db, plain("c", stage)).await, with_modes, "{merge}");
    }
}

async fn where_stages_stand_is_looked_at_last(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for stage in [doc! { "$out": "t" }, doc! { "$merge": "t" }] {
        for (after, expected) in [
            (doc! { "$match": {} }, 40601),
            (doc! { "$nothing": {} }, 40324),
            (doc! { "$project": {} }, 51272),
        ] {
            let pipeline = vec![stage.clone(), after.clone()];
            assert_eq!(code(db, plain("c", pipeline)).await, expected, "{stage} {after}");
        }
    }
    let statistics = [
        (doc! { "$collStats": { "count": 1 } }, 14),
        (doc! { "$collStats": { "nothing": {} } }, 40415),
        (doc! { "$indexStats": 1 }, 28803),
    ];
    for (stage, expected) in statistics {
        let behind = vec![doc! { "$match": {} }, stage.clone()];
        assert_eq!(code(db, plain("c", behind)).await, expected, "{stage}");
        let within = vec![doc! { "$facet": { "x": [stage.clone()] } }];
        assert_eq!(code(db, plain("c", within)).await, expected, "{stage}");
    }
    let near = |distance: i32| {
        let near = doc! { "near": [0, 0], "distanceField": "d", "maxDistance": distance };
        vec![doc! { "$facet": { "x": [{ "$geoNear": near }] } }]
    };
    assert_eq!(code(db, plain("c", near(1))).await, 40600);
    assert_eq!(code(db, plain("c", near(-1))).await, 2);
}

async fn indexes_of_a_view_are_those_of_its_collection(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let index = doc! { "key": { "a": 1 }, "name": "a" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    run(db, doc! { "create": "w", "viewOn": "v", "pipeline": [] }).await;
    let stages = vec![
        doc! { "$indexStats": {} },
        doc! { "$sort": { "name": 1 } },
        doc! { "$project": { "name": 1 } },
    ];
    for name in ["c", "v", "w"] {
        let found = aggregate(db, name, stages.clone()).await;
        assert_eq!(found, [doc! { "name": "_id_" }, doc! { "name": "a" }], "{name}");
    }
    let matching = vec![doc! { "$match": {} }];
    run(db, doc! { "create": "x", "viewOn": "c", "pipeline": matching }).await;
    assert_eq!(code(db, plain("x", stages)).await, 40602);
}

async fn bounds_of_decimals_have_the_digits_of_doubles(db: &Db) {
    let decimal = |text: &str| text.parse::<Decimal128>().unwrap();
    let rows = ["2.5", "10", "0.3"].map(|text| doc! { "v": decimal(text) });
    insert(db, "c", rows.to_vec()).await;
    for (granularity, expected) in [
        ("E6", ["0.220000000000000", "15.0000000000000"]),
        ("R10", ["0.250000000000000", "12.5000000000000"]),
    ] {
        let stage = doc! { "groupBy": "$v", "buckets": 1, "granularity": granularity };
        let found = aggregate(db, "c", vec![doc! { "$bucketAuto": stage }]).await;
        let id = found[0].get_document("_id").unwrap();
        for (side, expected) in ["min", "max"].into_iter().zip(expected) {
            assert_eq!(
                id.get(side),
                Some(&Bson::Decimal128(decimal(expected))),
                "{granularity}"
            );
        }
    }
}

async fn stages_are_looked_through_before_they_are_read(db: &Db) {
    let wrong = doc! { "$match": { "$nothing": 1 } };
    let unknown = doc! { "$nothing": 1 };
    let two = doc! { "$match": {}, "$limit": 1 };
    let modes = doc! { "$merge": { "into": "t", "whenMatched": "fail", "whenNotMatched": "discard" } };
    let joined = |pipeline: Bson| doc! { "$lookup": { "from": "o", "pipeline": pipeline, "as": "x" } };
    for (stage, expected) in [
        (unknown.clone(), 40_324),
        (two.clone(), 40_323),
        (modes.clone(), 51_181),
        (doc! { "$lookup": 5 }, 9),
        (doc! { "$lookup": { "from": 5, "as": "x" } }, 9),
        (doc! { "$lookup": { "from": "", "as": "x" } }, 73),
        (joined(bson!(5)), 14),
        (joined(bson!([5])), 14),
        (joined(bson!([unknown.clone()])), 40_324),
        (joined(bson!([modes.clone()])), 51_181),
        (
            doc! { "$lookup": { "pipeline": [unknown.clone()], "as": "x" } },
            9,
        ),
        (doc! { "$graphLookup": { "from": "" } }, 73),
        (doc! { "$graphLookup": {} }, 9),
        (doc! { "$unionWith": 5 }, 9),
        (doc! { "$unionWith": {} }, 9),
        (doc! { "$unionWith": { "coll": 5 } }, 14),
        (doc! { "$unionWith": { "coll": "o", "pipeline": 5 } }, 14),
        (doc! { "$unionWith": { "coll": "o", "nothing": 5 } }, 40_415),
        (
            doc! { "$unionWith": { "coll": "o", "pipeline": [two.clone()] } },
            40_323,
        ),
        (doc! { "$facet": {} }, 40_169),
        (doc! { "$facet": { "a": 5 } }, 40_170),
        (doc! { "$facet": { "a": [5] } }, 40_171),
        (doc! { "$facet": { "$a": [unknown.clone()] } }, 16_410),
        (
            doc! { "$facet": { "a": [{ "$facet": { "b": [unknown] } }] } },
            40_324,
        ),
        // What is wrong inside of other stages is found as they are read.
        (joined(bson!([{ "$limit": "x" }])), 2),
        (doc! { "$unionWith": "" }, 2),
        (doc! { "$limit": "x" }, 2),
    ] {
        let pipeline = vec![wrong.clone(), stage.clone()];
        let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        assert_eq!(code(db, command).await, expected, "{stage}");
        let pipeline = vec![stage.clone(), modes.clone()];
        let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        let first = if expected == 2 { 51_181 } else { expected };
        assert_eq!(code(db, command).await, first, "{stage} before a merge");
    }
}

async fn stages_are_looked_through_before_collations_and_concerns(db: &Db) {
    for (stage, expected) in [
        (doc! { "a": 1 }, Some(40324)),
        (doc! { "a": 1, "b": 2 }, Some(40323)),
        (doc! {}, Some(40323)),
        (doc! { "$lookup": 5 }, Some(9)),
        (
            doc! { "$lookup": { "from": "x", "pipeline": [{ "$nope": 1 }] } },
            Some(40324),
        ),
        (doc! { "$unionWith": {} }, Some(9)),
        (doc! { "$out": 5 }, Some(16990)),
        (doc! { "$merge": 5 }, Some(14)),
        (doc! { "$facet": { "a": 5 } }, Some(40170)),
        (doc! { "$graphLookup": {} }, Some(9)),
        (doc! { "$collStats": 5 }, Some(5_447_000)),
        (doc! { "$match": 5 }, None),
        (doc! { "$indexStats": 5 }, None),
        (doc! { "$geoNear": 5 }, None),
    ] {
        for (name, value, other) in [
            ("collation", doc! { "locale": "zz" }, 2),
            ("readConcern", doc! { "zz": 1 }, 72),
            ("readConcern", doc! { "level": 5 }, 14),
        ] {
            let mut command = doc! { "aggregate": "c", "pipeline": [stage.clone()], "cursor": {} };
            command.insert(name, value);
            assert_eq!(
                code(db, command.clone()).await,
                expected.unwrap_or(other),
                "{command}"
            );
        }
    }
}

async fn buckets_may_be_called_by_what_is_computed(db: &Db) {
    insert(db, "c", (1..=3).map(|n| doc! { "a": n }).collect()).await;
    let stage = |output: Document| {
        let spec = doc! { "groupBy": "$a", "buckets": 2, "output": output };
        vec![doc! { "$bucketAuto": spec }]
    };
    let found = aggregate(
        db,
        "c",
        stage(doc! { "a": { "$sum": 1 }, "_id": { "$sum": "$a" } }),
    )
    .await;
    assert_eq!(found, [doc! { "_id": 3, "a": 2 }, doc! { "_id": 3, "a": 1 }]);
    let found = aggregate(db, "c", stage(doc! { "_id": { "$push": "$a" } })).await;
    assert_eq!(found, [doc! { "_id": [1, 2] }, doc! { "_id": [3] }]);
    for (output, expected) in [
        (doc! { "_id": 1 }, 40234),
        (doc! { "_id": { "$nope": 1 } }, 15952),
        (doc! { "_id": { "$sum": 1, "a": 1 } }, 40238),
    ] {
        let command = doc! { "aggregate": "c", "pipeline": stage(output), "cursor": {} };
        assert_eq!(code(db, command).await, expected);
    }
    // A `$bucket` is a group, which has a key.
    let group = doc! { "groupBy": "$a", "boundaries": [0, 5], "output": { "_id": { "$sum": 1 } } };
    let command = doc! { "aggregate": "c", "pipeline": [{ "$bucket": group }], "cursor": {} };
    assert_eq!(code(db, command).await, 15948);
}

async fn what_is_skipped_behind_a_graph_is_computed(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "n": [] }]).await;
    let fails = doc! { "$set": { "v": { "$multiply": ["$n", 2] } } };
    let joined = |kind: &str| match kind {
        "$lookup" => doc! { kind: { "from": "o", "localField": "n", "foreignField": "_id", "as": "x" } },
        _ => doc! { kind: {
            "from": "o", "startWith": "$n", "connectFromField": "n", "connectToField": "_id", "as": "x",
        } },
    };
    let stages = |kind: &str| vec![fails.clone(), joined(kind), doc! { "$skip": 2 }];
    assert!(aggregate(db, "c", stages("$lookup")).await.is_empty());
    let command = doc! { "aggregate": "c", "pipeline": stages("$graphLookup"), "cursor": {} };
    assert_eq!(code(db, command).await, 14);
}
