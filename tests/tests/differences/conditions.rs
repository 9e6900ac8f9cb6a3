//! In which order a server asks the conditions of a filter, which shows where one of them fails.

use odm::Db;
use odm::bson::{Document, doc};
use odm_tests::command::{code, insert, run};

use super::arranged::{all, answer, documents, fails};

crate::on_every_backend! {
    conditions_of_a_stage_are_asked_as_they_are_written,
    conditions_of_a_query_are_asked_by_their_kinds,
    expressions_are_asked_before_fields_behind_an_index,
    a_server_simplifies_conditions_first,
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
