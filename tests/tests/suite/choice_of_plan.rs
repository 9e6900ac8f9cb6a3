//! Which of several indexes is read where only the documents tell which leads to least.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{aggregate, batch, ids, insert, run};

crate::on_every_backend! {
    a_condition_that_few_meet_goes_before_the_order,
    an_order_goes_before_a_condition_that_many_meet,
    of_two_conditions_the_rarer_is_looked_for,
    a_choice_of_conditions_goes_before_the_order_where_it_leads_to_less,
    a_plan_that_a_document_fails_for_is_not_taken,
    keys_behind_a_range_are_passed_over,
    keys_behind_a_range_find_what_reading_everything_finds,
    plans_that_do_worse_are_told,
    joins_of_the_last_find_it_by_either_index,
    writes_find_the_same_by_every_plan,
    what_is_not_null_is_among_what_exists,
}

const DOCUMENTS: i32 = 2_000;

/// `half` and `hundred` are one of two and of a hundred values, `few` is met by ten documents near the end, and `late`
/// by the last half.
async fn many(db: &Db) {
    for from in (0..DOCUMENTS).step_by(500) {
        let all = (from..from + 500).map(|id| {
            doc! {
                "_id": id, "half": id % 2, "hundred": id % 100, "few": i32::from((1900..1910).contains(&id)),
                "late": i32::from(id >= DOCUMENTS / 2), "down": -id,
            }
        });
        insert(db, "c", all.collect()).await;
    }
    let index = |name: &str| doc! { "key": { name: 1 }, "name": name };
    let indexes = ["half", "hundred", "few", "late", "down"].map(index).to_vec();
    run(db, doc! { "createIndexes": "c", "indexes": indexes }).await;
}

/// A figure of the plan that was chosen for a find or a count.
async fn figure(db: &Db, command: &Document, name: &str) -> i64 {
    let reply = run(
        db,
        doc! { "explain": command.clone(), "verbosity": "executionStats" },
    )
    .await;
    let told = reply.get_document("executionStats").expect("figures");
    let count = told.get(name).expect("a count");
    count
        .as_i64()
        .or_else(|| count.as_i32().map(i64::from))
        .expect("a whole number")
}

async fn examined(db: &Db, command: &Document) -> i64 {
    figure(db, command, "totalDocsExamined").await
}

/// Checks that the find gives these documents, of which it looks at no more than so many.
async fn check(db: &Db, find: Document, expected: &[i32], most: i64) {
    assert_eq!(ids(&batch(&run(db, find.clone()).await)), expected, "{find}");
    let examined = examined(db, &find).await;
    assert!(examined <= most, "{examined} of {most}: {find}");
}

async fn a_condition_that_few_meet_goes_before_the_order(db: &Db) {
    many(db).await;
    for (filter, sort, expected) in [
        (doc! { "few": 1 }, doc! { "_id": 1 }, 1900),
        (doc! { "few": { "$gt": 0 } }, doc! { "_id": 1 }, 1900),
        (
            doc! { "few": { "$in": [1, 2] }, "half": 1 },
            doc! { "_id": 1 },
            1901,
        ),
        (doc! { "few": 1 }, doc! { "down": -1 }, 1900),
        (doc! { "few": 1, "late": 1 }, doc! { "down": -1 }, 1900),
        (doc! { "$expr": { "$eq": ["$few", 1] } }, doc! { "_id": 1 }, 1900),
    ] {
        let find = doc! { "find": "c", "filter": filter, "sort": sort, "limit": 1 };
        check(db, find, &[expected], 10).await;
    }
    let find = doc! { "find": "c", "filter": { "few": 1 }, "sort": { "_id": 1 }, "skip": 8, "limit": 5 };
    check(db, find, &[1908, 1909], 10).await;
    let whole = doc! { "find": "c", "filter": { "few": 1 }, "sort": { "_id": -1 } };
    let expected: Vec<i32> = (1900..1910).rev().collect();
    check(db, whole, &expected, 10).await;
    // Nothing is found, and the whole order would be walked.
    let none = doc! { "find": "c", "filter": { "few": 7 }, "sort": { "_id": 1 }, "limit": 1 };
    check(db, none, &[], 0).await;
}

async fn an_order_goes_before_a_condition_that_many_meet(db: &Db) {
    many(db).await;
    let find = doc! { "find": "c", "filter": { "half": 1 }, "sort": { "_id": -1 }, "limit": 3 };
    check(db, find, &[1999, 1997, 1995], 6).await;
    let find = doc! { "find": "c", "filter": { "half": 0, "late": 1 }, "sort": { "down": 1 }, "limit": 2 };
    check(db, find, &[1998, 1996], 4).await;
    // What half of them meet is half of them away: neither is better by much.
    let find = doc! { "find": "c", "filter": { "late": 1 }, "sort": { "_id": 1 }, "limit": 1 };
    check(db, find, &[1000], 1001).await;
    // The nearest that one in a hundred meets.
    let find = doc! { "find": "c", "filter": { "hundred": 99 }, "sort": { "_id": -1 }, "limit": 1 };
    check(db, find, &[1999], 20).await;
}

async fn of_two_conditions_the_rarer_is_looked_for(db: &Db) {
    many(db).await;
    for filter in [
        doc! { "half": 1, "hundred": 7 },
        doc! { "hundred": 7, "half": 1 },
        doc! { "late": { "$gte": 0 }, "hundred": 7 },
    ] {
        let find = doc! { "find": "c", "filter": filter.clone() };
        let expected: Vec<i32> = (0..20).map(|n| n * 100 + 7).collect();
        check(db, find, &expected, 20).await;
        let count = doc! { "count": "c", "query": filter };
        let counted = run(db, count.clone()).await;
        assert_eq!(counted.get_i32("n").ok(), Some(20), "{count}");
        assert!(examined(db, &count).await <= 20, "{count}");
    }
    let find = doc! { "find": "c", "filter": { "half": 1, "few": 1, "hundred": { "$lt": 50 } } };
    check(db, find, &[1901, 1903, 1905, 1907, 1909], 10).await;
    let find = doc! { "find": "c", "filter": { "half": 1, "few": 0, "late": 1, "hundred": 3 }, "limit": 1 };
    check(db, find, &[1003], 20).await;
}

async fn a_choice_of_conditions_goes_before_the_order_where_it_leads_to_less(db: &Db) {
    many(db).await;
    let either = doc! { "$or": [{ "few": 1 }, { "down": -1_999 }] };
    let find = doc! { "find": "c", "filter": either, "sort": { "_id": 1 }, "limit": 12 };
    let expected: Vec<i32> = (1900..1910).chain([1999]).collect();
    check(db, find, &expected, 11).await;
    let either = doc! { "$or": [{ "half": 1 }, { "late": 1 }] };
    let find = doc! { "find": "c", "filter": either, "sort": { "_id": 1 }, "limit": 2 };
    check(db, find, &[1, 3], 4).await;
    // Each branch has its own choice.
    let either = doc! { "$or": [{ "half": 1, "few": 1 }, { "late": 1, "hundred": 5 }] };
    let find = doc! { "find": "c", "filter": either };
    let mut found: Vec<i32> = ids(&batch(&run(db, find.clone()).await));
    found.sort_unstable();
    let expected: Vec<i32> = (0..DOCUMENTS)
        .filter(|id| (id % 2 == 1 && (1900..1910).contains(id)) || (*id >= 1000 && id % 100 == 5))
        .collect();
    assert_eq!(found, expected);
    assert!(examined(db, &find).await <= 30);
}

async fn a_plan_that_a_document_fails_for_is_not_taken(db: &Db) {
    many(db).await;
    // What divides by zero in the first half of the order.
    let computed = doc! { "$gt": [{ "$divide": [1, "$late"] }, 0] };
    for filter in [
        doc! { "few": 1, "$expr": computed.clone() },
        doc! { "$expr": computed.clone(), "few": { "$in": [1, 2] } },
    ] {
        let find = doc! { "find": "c", "filter": filter, "sort": { "_id": 1 }, "limit": 1 };
        assert_eq!(ids(&batch(&run(db, find).await)), [1900]);
    }
    let find = doc! { "find": "c", "filter": { "half": 1, "hundred": 7, "$expr": computed }, "limit": 1 };
    let refused = db.run_command(find).await.expect_err("every plan fails");
    assert_eq!(refused.code(), Some(2), "{refused}");
}

async fn keys_behind_a_range_are_passed_over(db: &Db) {
    let all = (0..1_000).map(|id| doc! { "_id": id, "a": id / 100, "b": id % 100, "c": id % 3 });
    insert(db, "c", all.collect()).await;
    let index = doc! { "key": { "a": 1, "b": -1 }, "name": "a_b" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    for (filter, sort, expected, most_keys) in [
        (
            doc! { "a": { "$gte": 2, "$lte": 4 }, "b": 7 },
            doc! {},
            vec![207, 307, 407],
            40,
        ),
        (
            doc! { "a": { "$gte": 2 }, "b": 7, "c": 0 },
            doc! { "a": 1 },
            vec![207, 507, 807],
            100,
        ),
        (
            doc! { "a": { "$gt": 7 }, "b": { "$in": [3, 90] } },
            doc! { "a": -1, "b": 1 },
            vec![903, 990, 803, 890],
            60,
        ),
        (
            doc! { "a": { "$lt": 2 }, "b": { "$gt": 97 } },
            doc! { "a": 1, "b": -1 },
            vec![99, 98, 199, 198],
            30,
        ),
    ] {
        let mut find = doc! { "find": "c", "filter": filter, "sort": sort };
        if find.get_document("sort").is_ok_and(Document::is_empty) {
            find.remove("sort");
        }
        check(db, find.clone(), &expected, 10).await;
        let keys = figure(db, &find, "totalKeysExamined").await;
        assert!(keys <= most_keys, "{keys} of {most_keys}: {find}");
    }
    let count = doc! { "count": "c", "query": { "a": { "$gte": 0 }, "b": { "$lt": 2 } } };
    assert_eq!(run(db, count).await.get_i32("n").ok(), Some(20));
}

async fn keys_behind_a_range_find_what_reading_everything_finds(db: &Db) {
    let values = [
        bson!(0),
        bson!(1.5),
        bson!(2),
        bson!("x"),
        bson!("y\0"),
        bson!(null),
        bson!({ "k": 1 }),
        bson!([1, "x"]),
        bson!(true),
        bson!([]),
        Bson::MinKey,
        Bson::MaxKey,
        bson!(f64::NAN),
    ];
    for name in ["indexed", "plain"] {
        let pairs = (0..values.len() * values.len()).map(|at| {
            let (a, b) = (&values[at / values.len()], &values[at % values.len()]);
            doc! { "_id": at as i32, "a": a.clone(), "b": b.clone(), "c": at as i32 % 5 }
        });
        // Arrays in one of the fields alone.
        let pairs = pairs.filter(|pair| pair.get_array("a").is_err() || pair.get_array("b").is_err());
        insert(db, name, pairs.collect()).await;
    }
    let indexes = [doc! { "a": 1, "b": -1, "c": 1 }, doc! { "c": -1, "b": 1 }];
    let indexes = indexes.map(|key| doc! { "name": key.keys().cloned().collect::<String>(), "key": key });
    run(
        db,
        doc! { "createIndexes": "indexed", "indexes": indexes.to_vec() },
    )
    .await;
    let conditions = [
        bson!({ "$gt": 0 }),
        bson!({ "$lte": "x" }),
        bson!({ "$ne": 2 }),
        bson!(1.5),
        bson!({ "$in": [null, "x", 2] }),
        bson!({ "$exists": true }),
        bson!({ "$type": "object" }),
        bson!({ "$gte": [] }),
        bson!({ "$nin": [0, true] }),
    ];
    for first in &conditions {
        for second in &conditions {
            for (filter, sort) in [
                (
                    doc! { "a": first, "b": second },
                    doc! { "a": 1, "b": -1, "_id": 1 },
                ),
                (
                    doc! { "c": { "$gt": 1 }, "b": second, "a": first },
                    doc! { "c": 1, "_id": 1 },
                ),
                (doc! { "a": first, "c": 3 }, doc! { "a": -1, "_id": 1 }),
            ] {
                let found = async |name: &str| {
                    let find = doc! { "find": name, "filter": filter.clone(), "sort": sort.clone(), "batchSize": 500 };
                    ids(&batch(&run(db, find).await))
                };
                assert_eq!(found("indexed").await, found("plain").await, "{filter} {sort}");
            }
        }
    }
}

async fn plans_that_do_worse_are_told(db: &Db) {
    many(db).await;
    let plans = async |find: Document| {
        let reply = run(db, doc! { "explain": find, "verbosity": "queryPlanner" }).await;
        let planner = reply.get_document("queryPlanner").expect("plans").clone();
        let rejected = planner.get_array("rejectedPlans").expect("plans").clone();
        (planner.get("winningPlan").expect("a plan").to_string(), rejected)
    };
    let find = doc! { "find": "c", "filter": { "few": 1 }, "sort": { "_id": 1 }, "limit": 1 };
    let (taken, beaten) = plans(find).await;
    assert!(taken.contains("\"few\"") && taken.contains("SORT"), "{taken}");
    assert_eq!(beaten.len(), 1);
    assert!(beaten[0].to_string().contains("_id_"), "{beaten:?}");
    let (taken, beaten) = plans(doc! { "find": "c", "filter": { "half": 1, "hundred": 7 } }).await;
    assert!(taken.contains("\"hundred\""), "{taken}");
    assert!(
        beaten.iter().any(|plan| plan.to_string().contains("\"half\"")),
        "{beaten:?}"
    );
    let (_, beaten) = plans(doc! { "find": "c", "filter": { "hundred": 7 } }).await;
    assert!(beaten.is_empty(), "{beaten:?}");
}

async fn joins_of_the_last_find_it_by_either_index(db: &Db) {
    many(db).await;
    let asked = (0..5).map(|id| doc! { "_id": id, "of": id });
    insert(db, "asked", asked.collect()).await;
    let last = vec![
        doc! { "$match": { "$expr": { "$eq": ["$hundred", "$$of"] } } },
        doc! { "$sort": { "_id": -1 } },
        doc! { "$limit": 1 },
        doc! { "$project": { "_id": 1 } },
    ];
    let pipeline = vec![
        doc! { "$lookup": { "from": "c", "let": { "of": "$of" }, "pipeline": last, "as": "last" } },
        doc! { "$sort": { "_id": 1 } },
    ];
    let expected: Vec<Document> = (0..5)
        .map(|id| doc! { "_id": id, "of": id, "last": [{ "_id": 1900 + id }] })
        .collect();
    assert_eq!(aggregate(db, "asked", pipeline).await, expected);
}

async fn writes_find_the_same_by_every_plan(db: &Db) {
    many(db).await;
    let modify = doc! {
        "findAndModify": "c", "query": { "few": 1, "half": 1 }, "sort": { "_id": -1 },
        "update": { "$set": { "few": 2 } }, "new": true,
    };
    let modified = run(db, modify).await;
    let value = modified.get_document("value").expect("a document");
    assert_eq!(
        value,
        &doc! { "_id": 1909, "half": 1, "hundred": 9, "few": 2, "late": 1, "down": -1909 }
    );
    let update = doc! { "q": { "half": 0, "few": 1 }, "u": { "$set": { "few": 3 } }, "multi": true };
    let updated = run(db, doc! { "update": "c", "updates": [update] }).await;
    assert_eq!(updated.get_i32("nModified").ok(), Some(5));
    let delete = doc! { "q": { "half": 1, "few": 1 }, "limit": 0 };
    let deleted = run(db, doc! { "delete": "c", "deletes": [delete] }).await;
    assert_eq!(deleted.get_i32("n").ok(), Some(4));
    let left = doc! { "find": "c", "filter": { "few": { "$gt": 0 }, "late": 1 }, "sort": { "_id": 1 } };
    assert_eq!(
        ids(&batch(&run(db, left).await)),
        [1900, 1902, 1904, 1906, 1908, 1909]
    );
}

async fn what_is_not_null_is_among_what_exists(db: &Db) {
    let all = (0..200).map(|id| match id % 20 {
        0 => doc! { "_id": id, "x": 1, "a": id },
        1 => doc! { "_id": id, "x": 1, "a": null },
        2 => doc! { "_id": id, "x": 1, "a": [] },
        _ => doc! { "_id": id, "x": 1 },
    });
    insert(db, "c", all.collect()).await;
    let index =
        doc! { "key": { "x": 1 }, "name": "x", "partialFilterExpression": { "a": { "$exists": true } } };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let filters = [
        doc! { "x": 1, "a": { "$ne": null } },
        doc! { "x": 1, "a": { "$not": { "$eq": null } } },
        doc! { "x": 1, "a": { "$nin": [null, 3] } },
        doc! { "x": 1, "$nor": [{ "a": null }] },
        doc! { "x": 1, "$nor": [{ "a": { "$in": [null, 1] } }] },
    ];
    for filter in filters {
        let command = doc! { "find": "c", "filter": filter.clone() };
        assert_eq!(figure(db, &command, "totalDocsExamined").await, 30, "{filter}");
        assert_eq!(batch(&run(db, command).await).len(), 20, "{filter}");
    }
    let unsure = [
        doc! { "x": 1, "a": { "$ne": 1 } },
        doc! { "x": 1, "a": { "$not": { "$gt": 3 } } },
        doc! { "x": 1, "$nor": [{ "a": 1 }] },
        doc! { "x": 1, "$nor": [{ "y": 1 }, { "a": { "$in": [null] } }] },
    ];
    for filter in unsure {
        let command = doc! { "find": "c", "filter": filter.clone() };
        assert_eq!(figure(db, &command, "totalDocsExamined").await, 200, "{filter}");
    }
}
