//! What random commands on the engine and on MongoDB side by side found to differ, each as the smallest case of it.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};

crate::on_every_backend! {
    compound_hashed_indexes_refuse_arrays_in_every_field,
    constants_of_update_pipelines_fail_when_a_document_is_updated,
    updates_are_read_before_filters,
    a_rename_conflicts_before_its_target_is_looked_at,
    upserts_refuse_expressions_before_the_rest_of_the_filter,
    views_refuse_options_of_collections,
    an_aggregate_needs_a_pipeline,
    neighboring_matches_are_one_filter_for_a_hint,
    capped_collections_have_no_index_that_expires,
    a_text_search_without_an_index_is_told_before_its_order,
    some_operators_fail_only_when_they_run,
    a_subset_of_a_constant_has_its_own_error,
    an_expression_is_asked_last,
}

/// The code of what a command was refused for, or of its first write error; 0 when it was done.
async fn code(db: &Db, command: Document) -> i32 {
    match db.run_command(command).await {
        Ok(reply) => match reply.get_array("writeErrors") {
            Ok(errors) => errors.first().and_then(Bson::as_document).map_or(0, |error| {
                error.get_i32("code").expect("a write error has a code")
            }),
            Err(_) => 0,
        },
        Err(error) => error.code().expect("a refusal has a code"),
    }
}

async fn insert(db: &Db, documents: Vec<Document>) {
    assert_eq!(code(db, doc! { "insert": "c", "documents": documents }).await, 0);
}

fn update(filter: Document, change: Bson) -> Document {
    doc! { "update": "c", "updates": [{ "q": filter, "u": change }] }
}

fn project(expression: Document) -> Document {
    doc! { "aggregate": "c", "pipeline": [{ "$project": { "x": expression } }], "cursor": {} }
}

async fn compound_hashed_indexes_refuse_arrays_in_every_field(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "a": [] }]).await;
    for key in [doc! { "a.x": 1, "o": "hashed" }, doc! { "o": "hashed", "a": -1 }] {
        let index = doc! { "createIndexes": "c", "indexes": [{ "key": key, "name": "i" }] };
        assert_eq!(code(db, index).await, 16766);
    }
    let index = doc! { "createIndexes": "c", "indexes": [{ "key": { "b": 1, "o": "hashed" }, "name": "i" }] };
    assert_eq!(code(db, index).await, 0);
    assert_eq!(
        code(db, update(doc! {}, bson!({ "$set": { "b": [1] } }))).await,
        16766
    );
}

async fn constants_of_update_pipelines_fail_when_a_document_is_updated(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "n": 1 }]).await;
    let wrong = bson!([{ "$set": { "z": { "$setEquals": [Bson::Null, {}] } } }]);
    assert_eq!(code(db, update(doc! { "n": 5 }, wrong.clone())).await, 0);
    assert_eq!(code(db, update(doc! { "n": 1 }, wrong.clone())).await, 17044);
    let modify = |n: i32| doc! { "findAndModify": "c", "query": { "n": n }, "update": wrong.clone() };
    assert_eq!(code(db, modify(5)).await, 0);
    assert_eq!(code(db, modify(1)).await, 17044);
    // What cannot be read is refused all the same.
    let unknown = bson!([{ "$set": { "z": { "$unknown": 1 } } }]);
    assert_eq!(code(db, update(doc! { "n": 5 }, unknown)).await, 168);
}

async fn updates_are_read_before_filters(db: &Db) {
    insert(db, vec![doc! { "_id": 1 }]).await;
    let (filter, conflict) = (
        doc! { "$or": [] },
        bson!({ "$inc": { "a.b": 2 }, "$set": { "a": {} } }),
    );
    assert_eq!(code(db, update(filter.clone(), conflict.clone())).await, 40);
    assert_eq!(
        code(db, update(filter.clone(), bson!({ "$inc": { "a": 1 } }))).await,
        2
    );
    let modify = |change: Bson| doc! { "findAndModify": "c", "query": filter.clone(), "update": change };
    assert_eq!(code(db, modify(conflict)).await, 40);
    assert_eq!(code(db, modify(bson!({ "$inc": { "a": 1 } }))).await, 2);
    let typed = db
        .raw_collection("c")
        .update_one(filter.clone(), doc! { "$inc": { "a.b": 2 }, "$set": { "a": {} } });
    assert_eq!(typed.await.expect_err("it conflicts").code(), Some(40));
}

async fn a_rename_conflicts_before_its_target_is_looked_at(db: &Db) {
    for target in ["c.e", "", "c.$[]", "c.d.x"] {
        let change = bson!({ "$set": { "c.d": 1 }, "$rename": { "c.d": target } });
        assert_eq!(code(db, update(doc! {}, change)).await, 40, "{target}");
    }
    let alone = |from: &str, to: &str| update(doc! {}, bson!({ "$rename": { from: to } }));
    assert_eq!(code(db, alone("c", "c")).await, 2);
    assert_eq!(code(db, alone("c", "c.d")).await, 2);
    assert_eq!(code(db, alone("c.e", "c..d")).await, 56);
}

async fn upserts_refuse_expressions_before_the_rest_of_the_filter(db: &Db) {
    let filter = doc! { "$expr": true, "a": { "$gt": odm::bson::Regex { pattern: "^a".try_into().unwrap(), options: "".try_into().unwrap() } } };
    let upsert = doc! { "update": "c", "updates": [{ "q": filter.clone(), "u": { "$set": { "a": 1 } }, "upsert": true }] };
    assert_eq!(code(db, upsert).await, 224);
    assert_eq!(code(db, update(filter, bson!({ "$set": { "a": 1 } }))).await, 2);
}

async fn views_refuse_options_of_collections(db: &Db) {
    insert(db, vec![doc! { "_id": 1 }]).await;
    assert_eq!(
        code(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await,
        0
    );
    for option in ["allowPartialResults", "noCursorTimeout", "singleBatch"] {
        assert_eq!(
            code(db, doc! { "find": "v", option: true }).await,
            168,
            "{option}"
        );
        assert_eq!(code(db, doc! { "find": "c", option: true }).await, 0, "{option}");
    }
}

async fn an_aggregate_needs_a_pipeline(db: &Db) {
    assert_eq!(code(db, doc! { "aggregate": "c", "cursor": {} }).await, 40414);
    assert_eq!(
        code(
            db,
            doc! { "aggregate": "c", "pipeline": Bson::Null, "cursor": {} }
        )
        .await,
        14
    );
}

async fn neighboring_matches_are_one_filter_for_a_hint(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "a": 1 }, doc! { "_id": 2, "a": 2 }]).await;
    let index = doc! { "createIndexes": "c", "indexes": [{ "key": { "$**": 1 }, "name": "all" }] };
    assert_eq!(code(db, index).await, 0);
    let hinted = |stages: Bson| doc! { "aggregate": "c", "pipeline": stages, "hint": "all", "cursor": {} };
    let found = db
        .run_command(hinted(bson!([{ "$match": {} }, { "$match": { "a": 2 } }])))
        .await;
    let found = found.expect("the index answers");
    let rows = found
        .get_document("cursor")
        .and_then(|cursor| cursor.get_array("firstBatch"));
    assert_eq!(rows.expect("rows"), &[bson!({ "_id": 2, "a": 2 })]);
    assert_eq!(code(db, hinted(bson!([{ "$match": {} }]))).await, 291);
}

async fn capped_collections_have_no_index_that_expires(db: &Db) {
    assert_eq!(
        code(db, doc! { "create": "c", "capped": true, "size": 4096 }).await,
        0
    );
    let index = doc! { "key": { "d": 1 }, "name": "d", "expireAfterSeconds": 100 };
    assert_eq!(
        code(db, doc! { "createIndexes": "c", "indexes": [index] }).await,
        67
    );
}

async fn a_text_search_without_an_index_is_told_before_its_order(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "t": "cat" }]).await;
    let search = doc! { "$text": { "$search": "cat" } };
    let sorted = doc! { "find": "c", "filter": search.clone(), "sort": { "$natural": 1 } };
    let hinted = doc! { "find": "c", "filter": search, "hint": { "$natural": 1 } };
    assert_eq!(code(db, sorted.clone()).await, 27);
    assert_eq!(code(db, hinted).await, 27);
    let index = doc! { "createIndexes": "c", "indexes": [{ "key": { "t": "text" }, "name": "t" }] };
    assert_eq!(code(db, index).await, 0);
    assert_eq!(code(db, sorted).await, 2);
}

async fn some_operators_fail_only_when_they_run(db: &Db) {
    let late = [
        (doc! { "$firstN": { "input": {}, "n": 1 } }, 5788200),
        (doc! { "$minN": { "input": {}, "n": 1 } }, 5788200),
        (doc! { "$sortArray": { "input": 1, "sortBy": 1 } }, 2942504),
        (doc! { "$filter": { "input": 1, "cond": true } }, 28651),
        (doc! { "$map": { "input": 1, "in": 1 } }, 16883),
        (
            doc! { "$reduce": { "input": 1, "initialValue": 1, "in": 1 } },
            40080,
        ),
        (doc! { "$zip": { "inputs": [1] } }, 34468),
        (
            doc! { "$getField": { "field": "a", "input": { "a": { "$divide": [1, 0] } } } },
            2,
        ),
        (
            doc! { "$setField": { "field": "a", "input": 1, "value": 1 } },
            4161105,
        ),
        (doc! { "$regexMatch": { "input": 1, "regex": "a" } }, 51104),
        (
            doc! { "$replaceOne": { "input": 1, "find": "a", "replacement": "b" } },
            51746,
        ),
    ];
    let early = [
        (doc! { "$size": 1 }, 17124),
        (doc! { "$in": [1, 2] }, 40081),
        (doc! { "$regexMatch": { "input": "a", "regex": "(" } }, 51111),
        (
            doc! { "$map": { "input": { "$size": 1 }, "in": "$$this" } },
            17124,
        ),
    ];
    for (expression, _) in &late {
        assert_eq!(code(db, project(expression.clone())).await, 0, "{expression}");
    }
    for (expression, wanted) in &early {
        assert_eq!(
            code(db, project(expression.clone())).await,
            *wanted,
            "{expression}"
        );
    }
    insert(db, vec![doc! { "_id": 1 }]).await;
    for (expression, wanted) in late.iter().chain(&early) {
        assert_eq!(
            code(db, project(expression.clone())).await,
            *wanted,
            "{expression}"
        );
    }
}

async fn a_subset_of_a_constant_has_its_own_error(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "a": [1] }]).await;
    assert_eq!(
        code(db, project(doc! { "$setIsSubset": ["$l", [1]] })).await,
        17310
    );
    assert_eq!(
        code(db, project(doc! { "$setIsSubset": ["$l", "$l"] })).await,
        17046
    );
    assert_eq!(code(db, project(doc! { "$setIsSubset": [1, [1]] })).await, 17046);
    assert_eq!(
        code(db, project(doc! { "$setIsSubset": ["$a", [1, 2]] })).await,
        0
    );
}

async fn an_expression_is_asked_last(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "f": 1 }]).await;
    let fails = bson!({ "$anyElementTrue": ["$l"] });
    assert_eq!(
        code(db, doc! { "find": "c", "filter": { "$expr": fails.clone() } }).await,
        17041
    );
    assert_eq!(
        code(db, doc! { "find": "c", "filter": { "$expr": fails, "a.1": {} } }).await,
        0
    );
}
