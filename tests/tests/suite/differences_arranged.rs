//! Where a server asks the filters of a pipeline, in which order it asks conditions, and what it has indexes for then.

use odm::Db;
use odm::bson::{Bson, DateTime, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    filters_are_asked_before_stages_that_fail,
    parts_of_filters_are_asked_before_stages_that_fail,
    filters_of_renamed_fields_ask_for_the_old_ones,
    filters_stay_behind_what_they_ask_for,
    conditions_of_a_stage_are_asked_as_they_are_written,
    conditions_of_a_query_are_asked_by_their_kinds,
    expressions_are_asked_before_fields_behind_an_index,
    a_server_simplifies_conditions_first,
    filters_of_groups_choose_the_documents,
    filters_behind_other_stages_have_an_index,
    comparisons_in_expressions_have_an_index,
    comparisons_in_expressions_find_the_same_by_an_index,
    pipelines_of_joins_and_unions_give_the_same_by_an_index,
    orders_are_made_before_arrays_are_taken_apart,
    samples_are_taken_before_what_fails,
}

async fn documents(db: &Db) {
    let all = vec![
        doc! { "_id": 1, "k": 1, "n": 2, "l": [1, 2], "a": { "x": 1 } },
        doc! { "_id": 2, "k": [1, 3], "n": null, "l": [], "a": [{ "x": 1 }, { "y": 2 }] },
        doc! { "_id": 3, "k": "a", "n": 5.5, "a": 5 },
        doc! { "_id": 4, "n": 2, "l": 3, "a": [] },
    ];
    insert(db, "c", all).await;
}

/// What fails for the first document alone.
fn fails() -> Document {
    doc! { "$toInt": "$l" }
}

/// The ids that the pipeline gives, or the code of its error.
async fn answer(db: &Db, pipeline: Vec<Document>) -> Result<Vec<i32>, i32> {
    let command = doc! { "aggregate": "c", "pipeline": pipeline.clone(), "cursor": {} };
    match code(db, command).await {
        0 => {
            let mut found = ids(&aggregate(db, "c", pipeline).await);
            found.sort_unstable();
            Ok(found)
        }
        code => Err(code),
    }
}

/// A pipeline, and the ids that it gives or the code of its error.
type Case = (Vec<Document>, Result<Vec<i32>, i32>);

async fn all(db: &Db, cases: Vec<Case>) {
    for (pipeline, expected) in cases {
        let shown = format!("{pipeline:?}");
        assert_eq!(answer(db, pipeline).await, expected, "{shown}");
    }
}

async fn filters_are_asked_before_stages_that_fail(db: &Db) {
    documents(db).await;
    let set = || doc! { "$set": { "x": fails() } };
    let other = || doc! { "$match": { "k": "a" } };
    let mut cases = vec![
        (vec![set()], Err(241)),
        (vec![set(), other()], Ok(vec![3])),
        (vec![set(), doc! { "$sort": { "n": 1 } }, other()], Ok(vec![3])),
        (vec![set(), doc! { "$unset": "n" }, other()], Ok(vec![3])),
        (vec![set(), doc! { "$unionWith": "none" }, other()], Ok(vec![3])),
        (
            vec![doc! { "$project": { "k": 1, "x": fails() } }, other()],
            Ok(vec![3]),
        ),
        (
            vec![doc! { "$project": { "n": 1, "x": fails() } }, other()],
            Err(241),
        ),
        // What comes through a `$redact` has matched before, but for what may have been taken away.
        (
            vec![
                doc! { "$redact": { "$cond": [{ "$eq": [fails(), 1] }, "$$PRUNE", "$$KEEP"] } },
                other(),
            ],
            Ok(vec![3]),
        ),
        (
            vec![
                doc! { "$redact": { "$cond": [{ "$eq": [fails(), 1] }, "$$PRUNE", "$$KEEP"] } },
                doc! { "$match": { "k": { "$ne": 1 } } },
            ],
            Err(241),
        ),
        (vec![set(), doc! { "$redact": "$$KEEP" }, other()], Ok(vec![3])),
    ];
    // They are not asked before what they do not let through alone.
    for stage in [
        doc! { "$limit": 9 },
        doc! { "$skip": 1 },
        doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": { "r": { "$documentNumber": {} } } } },
        doc! { "$replaceWith": "$$ROOT" },
    ] {
        let expected = match stage.contains_key("$skip") || stage.contains_key("$limit") {
            // It is done before anything is computed.
            true => Ok(vec![3]),
            false => Err(241),
        };
        cases.push((vec![set(), stage, other()], expected));
    }
    // Those that ask about a whole array stay where they are.
    for condition in [doc! { "$size": 2 }, doc! { "$elemMatch": { "$gt": 1 } }] {
        cases.push((vec![set(), doc! { "$match": { "k": condition } }], Err(241)));
    }
    all(db, cases).await;
}

async fn parts_of_filters_are_asked_before_stages_that_fail(db: &Db) {
    documents(db).await;
    let set = || doc! { "$set": { "x": { "$toInt": "$l" } } };
    let filtered = |filter: Document| vec![set(), doc! { "$match": filter }];
    all(
        db,
        vec![
            (filtered(doc! { "k": "a", "x": null }), Ok(vec![3])),
            (
                filtered(doc! { "$and": [{ "x": null }, { "k": "a" }] }),
                Ok(vec![3]),
            ),
            (filtered(doc! { "x": null }), Err(241)),
            (
                filtered(doc! { "$or": [{ "k": "a" }, { "n": 5.5 }] }),
                Ok(vec![3]),
            ),
            (filtered(doc! { "$or": [{ "k": "a" }, { "x": null }] }), Err(241)),
            (filtered(doc! { "$nor": [{ "k": 1 }, { "x": 3 }] }), Ok(vec![3])),
            (filtered(doc! { "$nor": [{ "k": 1, "x": 3 }] }), Err(241)),
            (filtered(doc! { "k": { "$gte": "a", "$size": 1 } }), Ok(vec![])),
            (filtered(doc! { "$expr": { "$eq": ["$k", "a"] } }), Ok(vec![3])),
            (
                filtered(doc! { "$expr": { "$eq": ["$$ROOT.k", "a"] } }),
                Ok(vec![3]),
            ),
            (
                filtered(doc! { "$expr": { "$ne": ["$$ROOT", "$k"] }, "k": 1 }),
                Err(241),
            ),
            (filtered(doc! { "x.y": 1 }), Err(241)),
        ],
    )
    .await;
}

async fn filters_of_renamed_fields_ask_for_the_old_ones(db: &Db) {
    documents(db).await;
    let project =
        |fields: Document, filter: Document| vec![doc! { "$project": fields }, doc! { "$match": filter }];
    all(
        db,
        vec![
            (
                project(doc! { "q": "$k", "x": fails() }, doc! { "q": "a" }),
                Ok(vec![3]),
            ),
            (
                project(doc! { "q": "$$ROOT.k", "x": fails() }, doc! { "q": "a" }),
                Ok(vec![3]),
            ),
            (
                project(doc! { "q": "$a", "x": fails() }, doc! { "q": 5 }),
                Ok(vec![3]),
            ),
            (
                project(
                    doc! { "q": "$k", "x": fails() },
                    doc! { "$expr": { "$eq": ["$q", "a"] } },
                ),
                Ok(vec![3]),
            ),
            (
                project(doc! { "q": "$a.x", "x": fails() }, doc! { "q": 1 }),
                Err(241),
            ),
            // The name may be that of another field by then.
            (
                vec![
                    doc! { "$set": { "k": "$n", "n": "$k", "x": { "$ifNull": ["$n", 0] } } },
                    doc! { "$match": { "k": 2, "n": 1 } },
                ],
                Ok(vec![1]),
            ),
            (
                vec![
                    doc! { "$set": { "q": "$k", "k": 9 } },
                    doc! { "$match": { "q": 1, "k": 9 } },
                ],
                Ok(vec![1, 2]),
            ),
        ],
    )
    .await;
}

async fn filters_stay_behind_what_they_ask_for(db: &Db) {
    documents(db).await;
    insert(db, "o", vec![doc! { "_id": 7, "m": 2 }]).await;
    let join = || doc! { "$lookup": { "from": "o", "localField": "n", "foreignField": "m", "as": "j" } };
    all(
        db,
        vec![
            (vec![join(), doc! { "$match": { "j.m": 2 } }], Ok(vec![1, 4])),
            (
                vec![join(), doc! { "$match": { "j": [], "k": "a" } }],
                Ok(vec![3]),
            ),
            (
                vec![
                    join(),
                    doc! { "$unwind": "$j" },
                    doc! { "$match": { "j.m": 2, "k": 1 } },
                ],
                Ok(vec![1]),
            ),
            (
                vec![
                    doc! { "$unwind": { "path": "$l", "includeArrayIndex": "i" } },
                    doc! { "$match": { "i": 1 } },
                ],
                Ok(vec![1]),
            ),
            (
                vec![doc! { "$unwind": "$l" }, doc! { "$match": { "l": 2 } }],
                Ok(vec![1]),
            ),
            (
                vec![doc! { "$unset": "k" }, doc! { "$match": { "k": null } }],
                Ok(vec![1, 2, 3, 4]),
            ),
            (
                vec![doc! { "$project": { "n": 1 } }, doc! { "$match": { "k": 1 } }],
                Ok(vec![]),
            ),
            (
                vec![doc! { "$project": { "a.x": 1 } }, doc! { "$match": { "a.x": 1 } }],
                Ok(vec![1, 2]),
            ),
            (
                vec![doc! { "$project": { "a.x": 1 } }, doc! { "$match": { "a.y": 2 } }],
                Ok(vec![]),
            ),
            (
                vec![
                    doc! { "$set": { "a.x": { "$add": [1, 1] } } },
                    doc! { "$match": { "a": { "x": 2 } } },
                ],
                Ok(vec![1, 2, 3]),
            ),
            (
                vec![
                    doc! { "$unionWith": { "coll": "o", "pipeline": [{ "$set": { "k": "$m" } }] } },
                    doc! { "$match": { "k": { "$in": ["a", 2] } } },
                ],
                Ok(vec![3, 7]),
            ),
            (
                vec![
                    doc! { "$fill": { "output": { "n": { "value": 9 } } } },
                    doc! { "$match": { "n": 9 } },
                ],
                Ok(vec![2]),
            ),
        ],
    )
    .await;
}

/// A filter of what fails and of what does not hold, in two orders.
fn two(condition: Document) -> [Document; 2] {
    let fails = doc! { "$expr": fails() };
    [
        doc! { "$and": [condition.clone(), fails.clone()] },
        doc! { "$and": [fails, condition] },
    ]
}

/// Conditions that do not hold for the first document.
fn conditions() -> Vec<Document> {
    vec![
        doc! { "k": 2 },
        doc! { "l": { "$size": 3 } },
        doc! { "l": { "$elemMatch": { "$gt": 5 } } },
        doc! { "k": { "$nin": [1] } },
        doc! { "$nor": [{ "k": 1 }, { "z": 1 }] },
        doc! { "$or": [{ "k": 2 }, { "z": 3 }] },
        doc! { "z": { "$exists": true } },
        doc! { "k": { "$type": "string" } },
        doc! { "$jsonSchema": { "required": ["z"] } },
    ]
}

async fn conditions_of_a_stage_are_asked_as_they_are_written(db: &Db) {
    documents(db).await;
    for condition in conditions() {
        let [last, first] = two(condition.clone());
        for stages in [
            |filter: Document| vec![doc! { "$limit": 1 }, doc! { "$match": filter }],
            |filter: Document| {
                vec![
                    doc! { "$limit": 1 },
                    doc! { "$replaceWith": "$$ROOT" },
                    doc! { "$match": filter },
                ]
            },
        ] {
            assert_eq!(answer(db, stages(last.clone())).await, Ok(vec![]), "{condition}");
            assert_eq!(answer(db, stages(first.clone())).await, Err(241), "{condition}");
        }
        let within = |filter: Document| {
            let facet = doc! { "$facet": { "f": [{ "$limit": 1 }, { "$match": filter }] } };
            doc! { "aggregate": "c", "pipeline": [facet], "cursor": {} }
        };
        assert_eq!(code(db, within(last)).await, 0, "{condition}");
        assert_eq!(code(db, within(first)).await, 241, "{condition}");
    }
}

async fn conditions_of_a_query_are_asked_by_their_kinds(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "k": 1, "l": [1, 2] }]).await;
    let find = |filter: Document| doc! { "find": "c", "filter": filter };
    let count = |filter: Document| doc! { "count": "c", "query": filter };
    for condition in conditions() {
        for filter in two(condition) {
            assert_eq!(code(db, find(filter.clone())).await, 0, "{filter}");
            assert_eq!(
                answer(db, vec![doc! { "$match": filter.clone() }]).await,
                Ok(vec![]),
                "{filter}"
            );
        }
    }
    // A choice comes before what is equal, what is negated before what is of a type; equal kinds go by what is in them.
    let choice = || doc! { "$or": [{ "$expr": fails() }, { "z": 1 }] };
    let negation = || doc! { "$nor": [{ "$expr": fails() }] };
    for (failing, condition, expected) in [
        (choice(), doc! { "k": 2 }, 241),
        (choice(), doc! { "l": { "$size": 3 } }, 241),
        (choice(), doc! { "$or": [{ "k": 2 }, { "z": 3 }] }, 0),
        (negation(), doc! { "k": 2 }, 0),
        (negation(), doc! { "k": { "$ne": 1 } }, 0),
        (negation(), doc! { "$nor": [{ "k": 1 }, { "z": 1 }] }, 241),
        (negation(), doc! { "k": { "$type": "string" } }, 241),
    ] {
        for both in [[&failing, &condition], [&condition, &failing]] {
            let both: Vec<Document> = both.into_iter().cloned().collect();
            let filter = doc! { "$and": both };
            assert_eq!(code(db, count(filter.clone())).await, expected, "{filter}");
        }
    }
}

async fn expressions_are_asked_before_fields_behind_an_index(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "k": 1, "l": [1, 2], "s": 5 }]).await;
    let index = doc! { "key": { "s": 1 }, "name": "s" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    for (condition, expected) in [
        (doc! { "k": 2 }, 241),
        (doc! { "l": { "$size": 3 } }, 241),
        (doc! { "l": { "$elemMatch": { "$gt": 5 } } }, 241),
        (doc! { "z": { "$exists": true } }, 241),
        (doc! { "k": { "$ne": 1 } }, 0),
        (doc! { "$nor": [{ "k": 1 }, { "z": 1 }] }, 0),
        (doc! { "$or": [{ "k": 2 }, { "z": 3 }] }, 0),
    ] {
        for filter in two(condition) {
            for bound in [
                doc! { "s": 5 },
                doc! { "_id": 1 },
                doc! { "_id": { "$in": [1, 2] } },
            ] {
                let mut bounded = bound;
                bounded.extend(filter.clone());
                let find = doc! { "find": "c", "filter": bounded.clone() };
                assert_eq!(code(db, find).await, expected, "{bounded}");
                let delete = doc! { "q": bounded.clone(), "limit": 1 };
                let delete = doc! { "delete": "c", "deletes": [delete] };
                assert_eq!(code(db, delete).await, expected, "{bounded}");
            }
            for choice in ["$or", "$nor"] {
                let nested = doc! { "_id": 1, choice: [filter.clone(), { "z": 1 }] };
                let find = doc! { "find": "c", "filter": nested.clone() };
                assert_eq!(code(db, find).await, expected, "{nested}");
            }
            // An index that gives the order alone changes nothing.
            let sorted = doc! { "find": "c", "filter": filter, "sort": { "s": 1 } };
            assert_eq!(code(db, sorted).await, 0);
        }
    }
}

async fn a_server_simplifies_conditions_first(db: &Db) {
    documents(db).await;
    let later = |filter: Document| vec![doc! { "$limit": 1 }, doc! { "$match": filter }];
    let fails = || doc! { "$expr": fails() };
    all(
        db,
        vec![
            // What is never so takes the others with it.
            (
                later(doc! { "$and": [fails(), { "$alwaysFalse": 1 }] }),
                Ok(vec![]),
            ),
            (
                later(doc! { "$or": [fails(), { "$alwaysTrue": 1 }] }),
                Ok(vec![1]),
            ),
            // Conditions of an inner `$and`, of `$all` and of a comparison come last.
            (
                later(doc! { "$and": [{ "$and": [{ "k": 2 }, { "n": 7 }] }, fails()] }),
                Err(241),
            ),
            (
                later(doc! { "$and": [{ "k": { "$all": [3, 4] } }, fails()] }),
                Err(241),
            ),
            (
                later(doc! { "$and": [{ "$expr": { "$eq": ["$k", 2] } }, fails()] }),
                Err(241),
            ),
            (
                later(doc! { "$and": [{ "$expr": { "$not": ["$k"] } }, fails()] }),
                Ok(vec![]),
            ),
            // Two stages become one.
            (
                vec![
                    doc! { "$limit": 1 },
                    doc! { "$match": { "k": 2 } },
                    doc! { "$match": { "$and": [fails(), { "n": 7 }] } },
                ],
                Ok(vec![]),
            ),
        ],
    )
    .await;
}

async fn filters_of_groups_choose_the_documents(db: &Db) {
    documents(db).await;
    let group = |id: Bson, filter: Document| {
        vec![
            doc! { "$group": { "_id": id, "n": { "$sum": 1 }, "x": { "$push": fails() } } },
            doc! { "$match": filter },
            doc! { "$project": { "_id": "$n" } },
        ]
    };
    let one = || doc! { "k": "$k" };
    let several = || doc! { "k": "$k", "n": "$n" };
    all(
        db,
        vec![
            (group(bson!("$k"), doc! { "_id": "a" }), Ok(vec![1])),
            (group(bson!("$k"), doc! { "_id": null }), Ok(vec![1])),
            (
                group(bson!("$k"), doc! { "_id": { "$in": ["a", null] }, "n": 1 }),
                Ok(vec![1, 1]),
            ),
            (group(bson!("$k"), doc! { "n": 1 }), Err(241)),
            // There is one for what is missing too.
            (group(bson!("$k"), doc! { "_id": { "$exists": true } }), Err(241)),
            (group(bson!(one()), doc! { "_id.k": "a" }), Ok(vec![1])),
            (group(bson!(one()), doc! { "_id": { "k": "a" } }), Err(241)),
            (group(bson!(several()), doc! { "_id.n": 5.5 }), Ok(vec![1])),
            (
                group(bson!({ "a": { "b": "$k" } }), doc! { "_id.a.b": "a" }),
                Ok(vec![1]),
            ),
            (group(bson!({ "$toUpper": "$s" }), doc! { "_id": "A" }), Err(241)),
        ],
    )
    .await;
}

/// Whether the read is by an index.
async fn is_by_index(db: &Db, explained: Document) -> bool {
    let reply = run(db, doc! { "explain": explained, "verbosity": "queryPlanner" }).await;
    let reply = reply.to_string();
    ["IXSCAN", "DISTINCT_SCAN"]
        .iter()
        .any(|stage| reply.contains(stage))
}

async fn many(db: &Db) {
    for name in ["c", "o"] {
        let all = (0..200).map(|id| doc! { "_id": id, "k": id % 20, "n": id, "l": [id, 1] });
        insert(db, name, all.collect()).await;
        let index = doc! { "key": { "k": 1 }, "name": "k" };
        run(db, doc! { "createIndexes": name, "indexes": [index] }).await;
    }
}

async fn filters_behind_other_stages_have_an_index(db: &Db) {
    many(db).await;
    let filter = || doc! { "$match": { "k": 5 } };
    for stage in [
        doc! { "$sort": { "n": 1 } },
        doc! { "$set": { "x": { "$add": ["$n", 1] } } },
        doc! { "$unset": "n" },
        doc! { "$project": { "k": 1 } },
        doc! { "$unwind": "$l" },
        doc! { "$lookup": { "from": "o", "localField": "n", "foreignField": "k", "as": "j" } },
        doc! { "$graphLookup": {
            "from": "o", "startWith": "$n", "connectFromField": "z", "connectToField": "k", "as": "g",
        } },
        doc! { "$redact": "$$KEEP" },
        doc! { "$unionWith": "none" },
    ] {
        let pipeline = vec![stage.clone(), filter()];
        let found = aggregate(db, "c", pipeline.clone()).await;
        assert_eq!(
            found.len(),
            if stage.contains_key("$unwind") { 20 } else { 10 },
            "{stage}"
        );
        let explained = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        assert!(is_by_index(db, explained).await, "{stage}");
    }
    for (stage, filter) in [
        (doc! { "$group": { "_id": "$k" } }, doc! { "_id": 5 }),
        (doc! { "$project": { "q": "$k" } }, doc! { "q": 5 }),
        (
            doc! { "$set": { "q": "$k" } },
            doc! { "$expr": { "$eq": ["$q", 5] } },
        ),
    ] {
        let pipeline = vec![stage.clone(), doc! { "$match": filter }];
        let explained = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        assert!(is_by_index(db, explained).await, "{stage}");
    }
    let view =
        doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$set": { "x": { "$add": ["$n", 1] } } }] };
    run(db, view).await;
    assert!(is_by_index(db, doc! { "find": "v", "filter": { "k": 5 } }).await);
    let found = run(
        db,
        doc! { "find": "v", "filter": { "k": 5, "x": { "$gt": 100 } }, "sort": { "_id": 1 } },
    )
    .await;
    assert_eq!(ids(&batch(&found)), [105, 125, 145, 165, 185]);
    let count = run(
        db,
        doc! { "count": "v", "query": { "k": 5, "x": { "$gt": 100 } } },
    )
    .await;
    assert_eq!(count.get_i32("n").unwrap(), 5);
}

async fn comparisons_in_expressions_have_an_index(db: &Db) {
    many(db).await;
    for (expression, expected) in [
        (doc! { "$eq": ["$k", 5] }, true),
        (doc! { "$eq": [5, "$k"] }, true),
        (doc! { "$lt": ["$k", 2] }, true),
        (doc! { "$gte": [2, "$k"] }, true),
        (
            doc! { "$and": [{ "$gt": ["$k", 2] }, { "$lt": ["$k", 4] }, { "$ne": ["$n", 3] }] },
            true,
        ),
        (doc! { "$eq": ["$k", { "$add": [2, 3] }] }, true),
        (doc! { "$eq": ["$k", "$n"] }, false),
        (doc! { "$ne": ["$k", 5] }, false),
        (doc! { "$in": ["$k", [5]] }, false),
        (doc! { "$eq": ["$n", 5] }, false),
    ] {
        let find = doc! { "find": "c", "filter": { "$expr": expression.clone() } };
        assert_eq!(is_by_index(db, find).await, expected, "{expression}");
    }
    let by_variable =
        doc! { "find": "c", "filter": { "$expr": { "$eq": ["$k", "$$v"] } }, "let": { "v": 5 } };
    assert!(is_by_index(db, by_variable).await);
    // Of a field that has been an array an index does not hold the whole.
    let of_arrays = doc! { "key": { "l": 1 }, "name": "l" };
    run(db, doc! { "createIndexes": "c", "indexes": [of_arrays] }).await;
    let find = doc! { "find": "c", "filter": { "$expr": { "$eq": ["$l", [5, 1]] } } };
    assert!(!is_by_index(db, find.clone()).await);
    assert_eq!(ids(&batch(&run(db, find).await)), [5]);
}

/// Values of many types, one of which is no value.
fn values() -> Vec<Option<Bson>> {
    vec![
        None,
        Some(Bson::Null),
        Some(Bson::MinKey),
        Some(Bson::MaxKey),
        Some(bson!(f64::NAN)),
        Some(bson!(1)),
        Some(bson!(1.5)),
        Some(bson!(2_i64)),
        Some(bson!("a")),
        Some(bson!("")),
        Some(bson!(true)),
        Some(bson!({})),
        Some(bson!({ "x": 1 })),
        Some(Bson::DateTime(DateTime::from_millis(0))),
    ]
}

async fn comparisons_in_expressions_find_the_same_by_an_index(db: &Db) {
    for (id, value) in (0..).zip(values()) {
        let mut document = doc! { "_id": id };
        document.extend(value.map(|value| ("k".to_owned(), value)));
        insert(db, "plain", vec![document.clone()]).await;
        insert(db, "indexed", vec![document]).await;
    }
    let index = doc! { "key": { "k": 1 }, "name": "k" };
    run(db, doc! { "createIndexes": "indexed", "indexes": [index] }).await;
    for value in values().into_iter().flatten() {
        for operator in ["$eq", "$lt", "$lte", "$gt", "$gte"] {
            let literal = doc! { "$literal": value.clone() };
            for sides in [bson!(["$k", literal.clone()]), bson!([literal.clone(), "$k"])] {
                let pipeline = vec![
                    doc! { "$match": { "$expr": { operator: sides } } },
                    doc! { "$sort": { "_id": 1 } },
                ];
                let [plain, indexed] = ["plain", "indexed"].map(|name| aggregate(db, name, pipeline.clone()));
                let (plain, indexed) = (ids(&plain.await), ids(&indexed.await));
                // MongoDB loses what is missing where it looks for what is less than null or MinKey.
                let is_lost = matches!(value, Bson::Null | Bson::MinKey) && plain.contains(&0);
                assert!(plain == indexed || is_lost, "{pipeline:?}: {plain:?} {indexed:?}");
            }
        }
    }
}

async fn pipelines_of_joins_and_unions_give_the_same_by_an_index(db: &Db) {
    many(db).await;
    let plain = (0..200).map(|id| doc! { "_id": id, "k": id % 20, "n": id, "l": [id, 1] });
    insert(db, "plain", plain.collect()).await;
    let same = || doc! { "$match": { "$expr": { "$eq": ["$k", "$$v"] } } };
    let pipelines = [
        vec![same(), doc! { "$sort": { "_id": 1 } }],
        vec![same(), doc! { "$sort": { "_id": -1 } }, doc! { "$limit": 2 }],
        vec![
            same(),
            doc! { "$sort": { "n": 1 } },
            doc! { "$skip": 3 },
            doc! { "$limit": 4 },
        ],
        vec![doc! { "$sort": { "_id": 1 } }, same(), doc! { "$skip": 8 }],
        vec![
            doc! { "$set": { "x": "$n" } },
            same(),
            doc! { "$sort": { "k": 1, "_id": 1 } },
        ],
        vec![
            doc! { "$match": { "$expr": { "$lt": ["$k", "$$v"] }, "n": { "$gt": 150 } } },
            doc! { "$sort": { "_id": 1 } },
        ],
        vec![same(), doc! { "$group": { "_id": "$k", "n": { "$sum": "$n" } } }],
        vec![doc! { "$sort": { "k": 1, "_id": 1 } }, doc! { "$limit": 3 }],
    ];
    for pipeline in pipelines {
        for by_fields in [false, true] {
            let joined = async |from: &str| {
                let mut lookup =
                    doc! { "from": from, "let": { "v": "$k" }, "pipeline": pipeline.clone(), "as": "j" };
                if by_fields {
                    lookup.extend(doc! { "localField": "k", "foreignField": "k" });
                }
                let first = doc! { "$match": { "_id": { "$lt": 30 } } };
                aggregate(db, "c", vec![first, doc! { "$lookup": lookup }]).await
            };
            assert_eq!(joined("o").await, joined("plain").await, "{pipeline:?}");
        }
    }
    for pipeline in [
        vec![doc! { "$match": { "k": 5 } }, doc! { "$sort": { "_id": 1 } }],
        vec![doc! { "$sort": { "_id": -1 } }, doc! { "$limit": 3 }],
        vec![
            doc! { "$sort": { "k": 1, "_id": 1 } },
            doc! { "$skip": 7 },
            doc! { "$limit": 3 },
        ],
        vec![
            doc! { "$set": { "x": 1 } },
            doc! { "$match": { "k": { "$in": [3, 4] } } },
            doc! { "$sort": { "_id": 1 } },
        ],
    ] {
        let added = async |name: &str| {
            let union = doc! { "$unionWith": { "coll": name, "pipeline": pipeline.clone() } };
            aggregate(db, "none", vec![union]).await
        };
        let found = added("o").await;
        assert!(found.len() >= 3, "{pipeline:?}");
        assert_eq!(found, added("plain").await, "{pipeline:?}");
    }
}

async fn orders_are_made_before_arrays_are_taken_apart(db: &Db) {
    many(db).await;
    let by_index = async |order: Document| {
        let pipeline = vec![doc! { "$unwind": "$l" }, doc! { "$sort": order }];
        is_by_index(db, doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }).await
    };
    assert!(by_index(doc! { "k": 1 }).await);
    assert!(!by_index(doc! { "l": 1, "k": 1 }).await);
    let given = async |order: Document| {
        let stages = vec![
            doc! { "$match": { "_id": { "$in": [3, 1, 2] } } },
            doc! { "$unwind": "$l" },
            doc! { "$sort": order },
            doc! { "$limit": 4 },
        ];
        ids(&aggregate(db, "c", stages).await)
    };
    assert_eq!(given(doc! { "k": -1 }).await, [3, 3, 2, 2]);
    assert_eq!(given(doc! { "l": 1, "k": -1 }).await, [3, 2, 1, 1]);
}

async fn samples_are_taken_before_what_fails(db: &Db) {
    documents(db).await;
    let sample = || doc! { "$sample": { "size": 9 } };
    all(
        db,
        vec![
            (vec![doc! { "$set": { "x": fails() } }, sample()], Err(241)),
            (
                vec![
                    doc! { "$set": { "x": fails() } },
                    sample(),
                    doc! { "$match": { "k": "a" } },
                ],
                Ok(vec![3]),
            ),
            (
                vec![
                    sample(),
                    doc! { "$set": { "x": fails() } },
                    doc! { "$match": { "k": "a" } },
                ],
                Ok(vec![3]),
            ),
        ],
    )
    .await;
}
