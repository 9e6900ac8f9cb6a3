//! Where a server asks the filters of a pipeline: before stages that may fail, and behind those that make what they ask for.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{aggregate, code, ids, insert};

crate::on_every_backend! {
    filters_are_asked_before_stages_that_fail,
    parts_of_filters_are_asked_before_stages_that_fail,
    filters_of_renamed_fields_ask_for_the_old_ones,
    filters_of_positions_ask_for_the_whole_array,
    filters_stay_behind_what_they_ask_for,
    filters_of_groups_choose_the_documents,
    samples_are_taken_before_what_fails,
    documents_are_passed_over_before_what_fails,
}

pub(super) async fn documents(db: &Db) {
    let all = vec![
        doc! { "_id": 1, "k": 1, "n": 2, "l": [1, 2], "a": { "x": 1 } },
        doc! { "_id": 2, "k": [1, 3], "n": null, "l": [], "a": [{ "x": 1 }, { "y": 2 }] },
        doc! { "_id": 3, "k": "a", "n": 5.5, "a": 5 },
        doc! { "_id": 4, "n": 2, "l": 3, "a": [] },
    ];
    insert(db, "c", all).await;
}

/// What fails for the first document alone.
pub(super) fn fails() -> Document {
    doc! { "$toInt": "$l" }
}

/// The ids that the pipeline gives, or the code of its error.
pub(super) async fn answer(db: &Db, pipeline: Vec<Document>) -> Result<Vec<i32>, i32> {
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
pub(super) type Case = (Vec<Document>, Result<Vec<i32>, i32>);

pub(super) async fn all(db: &Db, cases: Vec<Case>) {
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

async fn filters_of_positions_ask_for_the_whole_array(db: &Db) {
    let both = vec![
        doc! { "_id": 1, "l": [1], "k": 1, "a": 5 },
        doc! { "_id": 2, "k": [1, 3], "a": [{ "x": 1 }, { "y": 2 }] },
    ];
    insert(db, "c", both).await;
    let after =
        |set: &str, filter: Document| vec![doc! { "$set": { set: fails() } }, doc! { "$match": filter }];
    all(
        db,
        vec![
            (after("a.z", doc! { "a.y": 2 }), Ok(vec![2])),
            (after("a.z", doc! { "a.1": { "y": 2 } }), Err(241)),
            (after("a.z", doc! { "a.1.y": 2 }), Err(241)),
            (
                after("a.z", doc! { "$or": [{ "a.1.y": 2 }, { "k": 3 }] }),
                Err(241),
            ),
            // No position, or not of that array.
            (after("a.z", doc! { "a.01": 2 }), Ok(vec![])),
            (after("a.z", doc! { "a.y.1": 2 }), Ok(vec![])),
            (after("z", doc! { "a.1.y": 2 }), Ok(vec![2])),
            (after("a.z", doc! { "$expr": { "$eq": ["$a.1", 2] } }), Ok(vec![])),
            // What is set makes an element of what was none.
            (
                vec![doc! { "$set": { "k.z": 1 } }, doc! { "$match": { "k.1": null } }],
                Ok(vec![1, 2]),
            ),
            (
                vec![
                    doc! { "$set": { "x": fails(), "n": "$a" } },
                    doc! { "$match": { "n.1.y": 2 } },
                ],
                Ok(vec![2]),
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

async fn documents_are_passed_over_before_what_fails(db: &Db) {
    documents(db).await;
    let set = || doc! { "$set": { "x": fails() } };
    let join = || doc! { "$lookup": { "from": "c", "localField": "k", "foreignField": "n", "as": "j" } };
    let unwound = || doc! { "$unwind": "$j" };
    let graph = || doc! { "$graphLookup": { "from": "c", "startWith": "$k", "connectFromField": "k", "connectToField": "n", "as": "g" } };
    let skip = || doc! { "$skip": 9 };
    let limit = || doc! { "$limit": 20 };
    let group = || doc! { "$group": { "_id": "$_id", "l": { "$first": "$l" } } };
    let (sort, filter) = (
        || doc! { "$sort": { "n": 1 } },
        || doc! { "$match": { "_id": { "$gt": 0 } } },
    );
    let mut cases = Vec::new();
    for (pipeline, read, inside) in [
        // By the read of a collection, which a `$facet` does not do.
        (vec![set(), skip()], true, true),
        (vec![set(), join(), skip()], true, false),
        (vec![join(), set(), limit(), join(), skip()], true, false),
        (vec![filter(), sort(), set(), join(), skip()], true, false),
        (vec![sort(), limit(), set(), join(), skip()], true, false),
        (
            vec![limit(), doc! { "$match": {} }, set(), join(), skip()],
            true,
            false,
        ),
        (vec![set(), join(), unwound(), skip()], false, false),
        (vec![set(), graph(), skip()], false, false),
        (vec![limit(), filter(), set(), join(), skip()], false, false),
        (vec![limit(), sort(), set(), join(), skip()], false, false),
        (
            vec![doc! { "$sample": { "size": 9 } }, set(), join(), skip()],
            false,
            false,
        ),
        // Behind other stages, before what computes alone.
        (vec![group(), set(), skip()], true, true),
        (vec![group(), set(), join(), skip()], false, false),
        (vec![group(), join(), set(), skip()], true, true),
        (vec![group(), set(), limit(), skip()], false, false),
        (vec![group(), sort(), set(), limit(), skip()], true, true),
        // What becomes of both is computed before they are united.
        (vec![doc! { "$unionWith": "none" }, set(), skip()], false, false),
        (
            vec![doc! { "$unionWith": "none" }, graph(), set(), skip()],
            true,
            true,
        ),
    ] {
        let expected = |is_computed| if is_computed { Err(241) } else { Ok(vec![]) };
        let facet = doc! { "$facet": { "f": bson!(pipeline.clone()) } };
        let none = doc! { "$match": { "f.0": 1 } };
        cases.push((vec![facet, none], expected(!inside)));
        cases.push((pipeline, expected(!read)));
    }
    all(db, cases).await;
}
