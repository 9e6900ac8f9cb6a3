//! What pipelines over mixed documents found to differ: what merges run and refuse, paths that collide, partitions by
//! paths, and orders by arrays.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    the_stages_of_a_merge_are_read_where_they_run,
    the_stages_of_a_merge_know_the_variables_of_the_command,
    variables_of_a_merge_without_a_value_are_not_defined,
    a_merge_that_may_not_insert_defines_the_new_document_or_a_let,
    what_a_target_refuses_is_told_before_what_it_lacks,
    modes_of_a_merge_are_refused_before_its_variables,
    paths_collide_before_modes_do,
    what_a_document_was_found_by_is_asked_for_when_all_is_read,
    partitions_by_paths_have_their_documents,
    tops_refuse_two_arrays,
    graphs_go_on_by_the_depth_that_they_set,
}

async fn refused(db: &Db, pipeline: Vec<Document>) -> i32 {
    code(db, doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }).await
}

async fn all(db: &Db, name: &str) -> Vec<Document> {
    batch(&run(db, doc! { "find": name, "sort": { "_id": 1 } }).await)
}

fn merge(matched: Vec<Document>, others: Document) -> Vec<Document> {
    let mut merge = doc! { "into": "t", "whenMatched": matched };
    merge.extend(others);
    vec![doc! { "$merge": merge }]
}

async fn the_stages_of_a_merge_know_the_variables_of_the_command(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "n": 5 }]).await;
    let matched = |value: Bson| vec![doc! { "$set": { "n": value } }];
    let cases = [
        (matched(bson!("$$v")), doc! {}, bson!(7)),
        (matched(bson!("$$w")), doc! { "let": { "w": "$$v" } }, bson!(7)),
        // The merge's own come before them.
        (matched(bson!("$$v")), doc! { "let": { "v": 1 } }, bson!(1)),
        (
            matched(bson!(["$$w", "$$v", "$$new.n"])),
            doc! { "let": { "w": { "$add": ["$n", "$$v"] }, "new": "$$ROOT" } },
            bson!([12, 7, 5]),
        ),
        (matched(bson!("$$v")), doc! { "let": { "v": "$none" } }, bson!(7)),
    ];
    for (stages, others, expected) in cases {
        let replacement = doc! { "q": { "_id": 1 }, "u": { "n": 1 }, "upsert": true };
        run(db, doc! { "update": "t", "updates": [replacement] }).await;
        let shown = format!("{stages:?} {others:?}");
        let pipeline = merge(stages, others);
        run(
            db,
            doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {}, "let": { "v": 7 } },
        )
        .await;
        let found = batch(&run(db, doc! { "find": "t" }).await);
        assert_eq!(found[0].get("n"), Some(&expected), "{shown}");
    }
}

async fn the_stages_of_a_merge_are_read_where_they_run(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    insert(db, "t", vec![doc! { "_id": 1 }]).await;
    let cases = [
        (doc! { "$match": {} }, 72),
        (doc! { "$set": { "x": "$$nothing" } }, 17276),
        (doc! { "$set": { "x": { "$nothing": 1 } } }, 168),
        (doc! { "$project": { "x": 1, "x.y": 1 } }, 31249),
    ];
    for (stage, _) in &cases {
        let merge = merge(vec![stage.clone()], doc! {});
        assert_eq!(refused(db, merge).await, 0, "{stage}");
    }
    let unknown = merge(vec![doc! { "$nothing": 1 }], doc! {});
    assert_eq!(refused(db, unknown.clone()).await, 40324);

    insert(db, "c", vec![doc! { "_id": 1 }, doc! { "_id": 2 }]).await;
    for (stage, expected) in cases {
        let merge = merge(vec![stage.clone()], doc! {});
        assert_eq!(refused(db, merge).await, expected, "{stage}");
    }
    assert_eq!(refused(db, unknown).await, 40324);
    // Nor is what would have been inserted.
    assert_eq!(all(db, "t").await, [doc! { "_id": 1 }]);
}

async fn variables_of_a_merge_without_a_value_are_not_defined(db: &Db) {
    let rows = vec![
        doc! { "_id": 1, "v": 7 },
        doc! { "_id": 2 },
        doc! { "_id": 3, "v": null },
    ];
    insert(db, "c", rows).await;
    insert(
        db,
        "t",
        vec![doc! { "_id": 1 }, doc! { "_id": 2 }, doc! { "_id": 3 }],
    )
    .await;
    let merge = merge(
        vec![doc! { "$set": { "type": { "$type": "$$x" } } }],
        doc! { "let": { "x": "$v" } },
    );
    assert_eq!(refused(db, merge).await, 17276);
    assert_eq!(
        all(db, "t").await,
        [
            doc! { "_id": 1, "type": "int" },
            doc! { "_id": 2 },
            doc! { "_id": 3, "type": "null" },
        ]
    );
}

async fn a_merge_that_may_not_insert_defines_the_new_document_or_a_let(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "v": 7 }]).await;
    insert(db, "t", vec![doc! { "_id": 1 }]).await;
    for (variables, not_matched, expected) in [
        (bson!({ "x": 1 }), "discard", 17276),
        (bson!({ "x": 1 }), "fail", 17276),
        (bson!({}), "discard", 17276),
        (bson!({ "x": 1 }), "insert", 0),
        (bson!({ "x": 1, "new": "$$ROOT" }), "discard", 0),
        (Bson::Null, "discard", 0),
    ] {
        let merge = merge(
            vec![doc! { "$set": { "v": "$$new.v" } }],
            doc! { "let": variables.clone(), "whenNotMatched": not_matched },
        );
        assert_eq!(refused(db, merge).await, expected, "{variables} {not_matched}");
    }
}

async fn what_a_target_refuses_is_told_before_what_it_lacks(db: &Db) {
    run(
        db,
        doc! { "createIndexes": "t", "indexes": [{ "key": { "k": 1 }, "name": "k", "unique": true }] },
    )
    .await;
    insert(
        db,
        "t",
        vec![doc! { "_id": 2, "k": 1 }, doc! { "_id": 3, "k": 2 }],
    )
    .await;
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "k": 9 }, doc! { "_id": 2, "k": 2 }],
    )
    .await;
    let merge = |stages: Vec<Document>| {
        let mut stages = stages;
        stages.push(doc! { "$merge": { "into": "t", "whenNotMatched": "fail" } });
        stages
    };
    assert_eq!(refused(db, merge(vec![])).await, 11000);
    assert_eq!(
        refused(db, merge(vec![doc! { "$match": { "_id": 1 } }])).await,
        13113
    );
}

async fn modes_of_a_merge_are_refused_before_its_variables(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    for (matched, not_matched, expected) in [
        ("fail", "discard", 51181),
        ("keepExisting", "fail", 51181),
        ("fail", "insert", 51199),
        ("merge", "discard", 51199),
    ] {
        let merge =
            doc! { "into": "t", "whenMatched": matched, "whenNotMatched": not_matched, "let": { "x": 1 } };
        assert_eq!(
            refused(db, vec![doc! { "$merge": merge }]).await,
            expected,
            "{matched} {not_matched}"
        );
    }
}

async fn paths_collide_before_modes_do(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": { "x": 1, "y": 2 }, "a": { "b": { "c": 1 } } }],
    )
    .await;
    for (projection, expected) in [
        (doc! { "_id": 0, "_id.x": 1 }, 31249),
        (doc! { "_id.x": 1, "_id": 0 }, 31250),
        (doc! { "_id": 1, "a": 1, "_id.x": 1 }, 31249),
        (doc! { "a": "$x", "a.b": 0 }, 31249),
        (doc! { "a.b": [], "a": 0 }, 31250),
        (doc! { "b": 0, "a.b": 0, "a": { "b": { "c": 1 } } }, 31250),
        (doc! { "a.b": 1, "a": { "b": { "c": {} } } }, 31250),
        (doc! { "a": 1, "a.b": { "c": {} } }, 31249),
        (doc! { "a": { "b": 0 }, "a.b": { "x": 1 } }, 31250),
        (doc! { "a": 0, "b": 0, "c": "$x" }, 31310),
        (doc! { "a": 1, "b": 0 }, 31254),
    ] {
        let found = refused(db, vec![doc! { "$project": projection.clone() }]).await;
        assert_eq!(found, expected, "{projection}");
        let found = code(db, doc! { "find": "c", "projection": projection.clone() }).await;
        assert_eq!(found, expected, "{projection}");
    }
    let kept = aggregate(db, "c", vec![doc! { "$project": { "_id.x": 1 } }]).await;
    assert_eq!(kept, [doc! { "_id": { "x": 1 } }]);
    let kept = aggregate(db, "c", vec![doc! { "$project": { "a.b.c": 0, "_id": 1 } }]).await;
    assert_eq!(kept, [doc! { "_id": { "x": 1, "y": 2 }, "a": { "b": {} } }]);
    let kept = aggregate(db, "c", vec![doc! { "$project": { "_id": 0, "a.b": 1 } }]).await;
    assert_eq!(kept, [doc! { "a": { "b": { "c": 1 } } }]);
}

async fn what_a_document_was_found_by_is_asked_for_when_all_is_read(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 1 }]).await;
    let score = doc! { "$meta": "textScore" };
    for (projection, expected) in [
        (doc! { "s": score.clone() }, 40218),
        (doc! { "s": score.clone(), "a": {} }, 51270),
        (doc! { "s": score.clone(), "s.x": 1 }, 31249),
        (doc! { "s": score.clone(), "a": { "$nothing": 1 } }, 31325),
        (doc! { "s": score, "a": 1 }, 40218),
    ] {
        let found = code(db, doc! { "find": "c", "projection": projection.clone() }).await;
        assert_eq!(found, expected, "{projection}");
    }
}

async fn partitions_by_paths_have_their_documents(db: &Db) {
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 0, "n": 1 },
            doc! { "_id": 1, "n": 3, "p": "x" },
            doc! { "_id": 2, "n": 1, "p": [{ "z": 1 }, { "z": 2 }] },
            doc! { "_id": 3, "n": 3, "p": { "z": [1, 2] } },
        ],
    )
    .await;
    let made = |names: Vec<&str>| {
        vec![
            doc! { "$densify": {
                "field": "n",
                "partitionByFields": names,
                "range": { "step": 1, "bounds": "partition" },
            } },
            doc! { "$match": { "n": 2 } },
            doc! { "$sort": { "p": 1 } },
        ]
    };
    assert_eq!(
        aggregate(db, "c", made(vec!["p.z"])).await,
        [doc! { "p": {}, "n": 2 }, doc! { "p": { "z": [1, 2] }, "n": 2 },]
    );
    let first = vec![doc! { "$match": { "_id": { "$lt": 2 } } }];
    assert_eq!(
        aggregate(db, "c", [first, made(vec!["p.z", "p.y"])].concat()).await,
        [doc! { "p": {}, "n": 2 }]
    );
}

async fn tops_refuse_two_arrays(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "a": [1], "b": [], "c": [{ "d": 1 }] }],
    )
    .await;
    for (order, expected) in [
        (doc! { "a": 1, "b": 1 }, 2),
        (doc! { "b": -1, "c.d": 1 }, 2),
        // Fields of one array, too, since the accumulators are given their values.
        (doc! { "c": 1, "c.d": 1 }, 2),
        (doc! { "a": 1, "_id": 1 }, 0),
        (doc! { "a": 1, "b.x.y": 1 }, 2),
        (doc! { "a": 1, "_id.x": 1 }, 0),
    ] {
        for (operator, count) in [("$top", None), ("$bottomN", Some(2))] {
            let mut spec = doc! { "sortBy": order.clone(), "output": "$_id" };
            spec.extend(count.map(|count| ("n".to_owned(), Bson::Int32(count))));
            let group = doc! { "$group": { "_id": null, "r": { operator: spec.clone() } } };
            assert_eq!(refused(db, vec![group]).await, expected, "{order} {operator}");
            let windows = doc! { "$setWindowFields": { "output": { "r": { operator: spec } } } };
            assert_eq!(refused(db, vec![windows]).await, expected, "{order} {operator}");
        }
    }
}

async fn graphs_go_on_by_the_depth_that_they_set(db: &Db) {
    let rows = (0..4).map(|n| doc! { "_id": n, "to": 3 }).collect();
    insert(db, "c", rows).await;
    let graph = |field: &str| {
        vec![
            doc! { "$match": { "_id": 2 } },
            doc! { "$graphLookup": {
                "from": "c",
                "startWith": "$_id",
                "connectFromField": "to",
                "connectToField": "_id",
                "as": "found",
                "depthField": field,
            } },
            doc! { "$unwind": "$found" },
            doc! { "$replaceWith": "$found" },
            doc! { "$sort": { "_id": 1 } },
        ]
    };
    assert_eq!(ids(&aggregate(db, "c", graph("depth")).await), [2, 3]);
    // From the second to the depth of none, and from there to that of one.
    let found = aggregate(db, "c", graph("to")).await;
    assert_eq!(ids(&found), [0, 1, 2]);
    let depths: Vec<i64> = found.iter().map(|row| row.get_i64("to").unwrap()).collect();
    assert_eq!(depths, [1, 2, 0]);
}
