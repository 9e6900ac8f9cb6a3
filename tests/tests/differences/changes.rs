//! What systematic updates found to differ.

use odm::Db;
use odm::bson::{Bson, Decimal128, Document, doc};
use odm_tests::command::{code, insert, run};

crate::on_every_backend! {
    conflicts_go_before_missing_array_filters,
    pops_of_no_number_are_not_integers,
    names_of_constants_are_refused_as_such,
    failures_of_found_and_modified_documents_name_their_executor,
    new_documents_have_no_place_of_a_match_where_there_is_a_collection,
    orders_are_read_where_an_id_alone_is_not_enough,
}

/// The code and the message of a command that fails.
async fn failure(db: &Db, command: Document) -> (i32, String) {
    let error = db.run_command(command).await.unwrap_err();
    (error.code().unwrap_or(-1), error.message().to_owned())
}

/// The code and the message of an update's first error.
async fn refused(db: &Db, statement: Document) -> (i32, String) {
    let reply = run(db, doc! { "update": "c", "updates": [statement] }).await;
    let errors = reply.get_array("writeErrors").unwrap();
    let error = errors[0].as_document().unwrap();
    (
        error.get_i32("code").unwrap(),
        error.get_str("errmsg").unwrap().to_owned(),
    )
}

async fn conflicts_go_before_missing_array_filters(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": [[1], [2]] }]).await;
    let update = doc! { "$inc": { "a.5": 2 }, "$set": { "a.$[x].$[y]": 1 } };
    let statement = doc! { "q": {}, "u": update, "arrayFilters": [{ "x": 1 }] };
    let conflict = "Updating the path 'a.$[x].$[y]' would create a conflict at 'a'";
    assert_eq!(refused(db, statement).await, (40, conflict.to_owned()));
    let update = doc! { "$inc": { "b": 2 }, "$set": { "a.$[x].$[y]": 1 } };
    let statement = doc! { "q": {}, "u": update, "arrayFilters": [{ "x": 1 }] };
    let missing = "No array filter found for identifier 'y' in path 'a.$[x].$[y]'";
    assert_eq!(refused(db, statement).await, (2, missing.to_owned()));
}

async fn pops_of_no_number_are_not_integers(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": [1] }]).await;
    let decimal: Decimal128 = "NaN".parse().unwrap();
    for (value, expected) in [
        (
            Bson::Decimal128(decimal),
            "Cannot represent as a 64-bit integer: a: NaN",
        ),
        (
            Bson::Double(f64::NAN),
            "Expected an integer, but found NaN in: a: nan.0",
        ),
    ] {
        let statement = doc! { "q": {}, "u": { "$pop": { "a": value } } };
        assert_eq!(refused(db, statement).await, (9, expected.to_owned()));
    }
}

async fn names_of_constants_are_refused_as_such(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let expected = "Invalid 'let' parameter :: caused by :: 'V' starts with an invalid character for a user variable name";
    for command in [
        doc! { "find": "c", "let": { "V": 1 } },
        doc! { "findAndModify": "c", "remove": true, "let": { "V": 1 } },
        doc! { "aggregate": "c", "pipeline": [], "cursor": {}, "let": { "V": 1 } },
    ] {
        assert_eq!(failure(db, command).await, (9, expected.to_owned()));
    }
}

async fn failures_of_found_and_modified_documents_name_their_executor(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "s": "x" }]).await;
    let sum = doc! { "$add": ["$s", 1] };
    for command in [
        doc! { "findAndModify": "c", "query": { "$expr": { "$gt": [sum.clone(), 0] } }, "remove": true },
        doc! { "findAndModify": "c", "query": {}, "remove": true, "fields": { "q": sum.clone() } },
        doc! {
            "findAndModify": "c", "query": { "a": 7 }, "upsert": true,
            "update": [{ "$set": { "z": { "$add": ["$a", { "$concat": ["x", "y"] }] } } }],
        },
        doc! { "findAndModify": "c", "query": { "q": "x" }, "update": { "$inc": { "q": 1 } }, "upsert": true },
    ] {
        let (_, message) = failure(db, command).await;
        assert!(
            message.starts_with("Plan executor error during findAndModify :: caused by :: "),
            "{message}"
        );
    }
}

async fn new_documents_have_no_place_of_a_match_where_there_is_a_collection(db: &Db) {
    let command = doc! {
        "findAndModify": "c", "query": { "b": 2 }, "update": { "$set": { "z": 1 } }, "fields": { "b.$": 1 }, "new": true,
    };
    let reply = run(db, command.clone()).await;
    assert_eq!(reply.get("value"), Some(&Bson::Null));
    insert(db, "c", vec![doc! { "_id": 1, "b": [1, 2] }]).await;
    let expected = "cannot use a positional projection and return the new document";
    assert_eq!(failure(db, command).await, (2, expected.to_owned()));
}

async fn orders_are_read_where_an_id_alone_is_not_enough(db: &Db) {
    let of = |update: Document, fields: Document| {
        doc! {
            "findAndModify": "c", "query": { "_id": 9 }, "update": update, "sort": { "a": "x" }, "fields": fields,
        }
    };
    let (plain, placed) = (doc! { "$set": { "s": 1 } }, doc! { "$set": { "s.$": 1 } });
    assert_eq!(code(db, of(plain.clone(), doc! { "a": 1 })).await, 0);
    assert_eq!(code(db, of(placed.clone(), doc! {})).await, 15974);
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    assert_eq!(code(db, of(plain.clone(), doc! {})).await, 0);
    assert_eq!(code(db, of(plain, doc! { "a": 1 })).await, 15974);
    assert_eq!(code(db, of(placed, doc! {})).await, 15974);
}
