//! What the server says of names, specifications and texts that it refuses.

use odm::Db;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, Document, doc};
use odm_tests::command::{insert, run};

use super::messages::said;

crate::on_every_backend! {
    names_that_no_collection_has_are_told,
    indexes_are_shown_with_what_is_yes_or_no_first,
    all_that_is_wrong_with_a_date_is_told,
    stages_that_lack_something_tell_what,
    a_transaction_builds_no_index_of_what_was_there,
    what_updates_and_deletions_are_refused_for_is_told,
    collections_are_not_named_by_uuids,
    indexes_of_a_hint_are_told,
}

async fn names_that_no_collection_has_are_told(db: &Db) {
    let insert = |name: &str| doc! { "insert": name, "documents": [{ "_id": 1 }] };
    let create = |name: &str| doc! { "create": name };
    let indexes =
        |name: &str| doc! { "createIndexes": name, "indexes": [{ "key": { "a": 1 }, "name": "a" }] };
    let update = |name: &str| doc! { "update": name, "updates": [{ "q": {}, "u": { "$set": { "a": 1 } } }] };
    let writes: [&dyn Fn(&str) -> Document; 4] = [&insert, &create, &indexes, &update];
    let find = |name: &str| doc! { "find": name };
    let count = |name: &str| doc! { "count": name };
    let distinct = |name: &str| doc! { "distinct": name, "key": "a" };
    let reads: [&dyn Fn(&str) -> Document; 3] = [&find, &count, &distinct];
    for command in writes {
        assert_eq!(said(db, command("b$d")).await, "Invalid collection name: b$d");
        let long = "n".repeat(300);
        let expected = format!("Fully qualified namespace is too long. Namespace: DB.{long} Max: 255");
        assert_eq!(said(db, command(&long)).await, expected);
    }
    for command in reads {
        assert_eq!(
            said(db, command("b$d")).await,
            "Invalid collection name specified 'DB.b$d"
        );
    }
    for command in writes.into_iter().chain(reads) {
        assert_eq!(
            said(db, command(".a")).await,
            "Collection names cannot start with '.': .a"
        );
        assert_eq!(said(db, command("")).await, "Invalid namespace specified 'DB.'");
    }
}

async fn indexes_are_shown_with_what_is_yes_or_no_first(db: &Db) {
    let create = |index: Document| doc! { "createIndexes": "c", "indexes": [index] };
    let own =
        doc! { "key": { "u": 1 }, "name": "u", "sparse": true, "unique": true, "expireAfterSeconds": 5 };
    run(db, create(own)).await;
    const WHY: &str = "An existing index has the same name as the requested index. When index names are not specified, \
                       they are auto generated and can cause conflicts. Please refer to our documentation. ";
    const OWN: &str =
        r#"{ v: 2, unique: true, key: { u: 1 }, name: "u", sparse: true, expireAfterSeconds: 5 }"#;
    let other =
        doc! { "key": { "x": 1 }, "name": "u", "partialFilterExpression": { "a": 1 }, "hidden": true };
    let expected = format!(
        r#"{WHY}Requested index: {{ v: 2, hidden: true, key: {{ x: 1 }}, name: "u", partialFilterExpression: {{ a: 1 }} }}, existing index: {OWN}"#
    );
    assert_eq!(said(db, create(other)).await, expected);
    run(
        db,
        create(doc! { "key": { "u": 1 }, "name": "w", "partialFilterExpression": { "a": 1 } }),
    )
    .await;
    let drop = doc! { "dropIndexes": "c", "index": { "u": 1 } };
    let expected = format!(
        r#"2 indexes found for key: {{ u: 1 }}, identify by name instead. Conflicting indexes: {OWN}, {{ v: 2, key: {{ u: 1 }}, name: "w", partialFilterExpression: {{ a: 1 }} }}"#
    );
    assert_eq!(said(db, drop).await, expected);
}

async fn all_that_is_wrong_with_a_date_is_told(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    const ZONE: &str = "passing a time zone identifier as part of the string is not allowed";
    for (text, problems) in [
        (
            "1679790600",
            "8: Unexpected character '0'; 9: Unexpected character '0'".to_owned(),
        ),
        ("2023032", "8: The parsed date was invalid '\0'".to_owned()),
        (
            "16797906001234567",
            "16: Unexpected character '7'; 18: The parsed date was invalid '\0'".to_owned(),
        ),
        ("2023-03-26T01:30:00 Europe/Vienna", format!("20: {ZONE} 'E'")),
        (
            "2023-02-30 Foo",
            format!("11: {ZONE} 'F'; 15: The parsed date was invalid '\0'"),
        ),
        (
            "2023-01-01 2023-01-02 @ 12:00",
            "11: Double date specification '2'; 22: Unexpected character '@'".to_owned(),
        ),
        ("12:00 13:00", "6: Double time specification '1'".to_owned()),
        (
            "!!",
            "0: Unexpected character '!'; 1: Unexpected character '!'".to_owned(),
        ),
        (
            "2023-13-45 ! 25:61",
            "6: Unexpected character '3'; 11: Unexpected character '!'; 13: Unexpected character '2'; \
             17: Unexpected character '1'"
                .to_owned(),
        ),
    ] {
        let stage = doc! { "$project": { "x": { "$toDate": text } } };
        let command = doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
        let expected = format!(
            "Failed to optimize pipeline :: caused by :: Error parsing date string '{text}'; {problems}"
        );
        assert_eq!(said(db, command).await, expected);
    }
}

async fn stages_that_lack_something_tell_what(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (stage, expected) in [
        (
            doc! { "$lookup": {} },
            "must specify 'pipeline' when 'from' is empty",
        ),
        (
            doc! { "$lookup": { "as": "x" } },
            "must specify 'pipeline' when 'from' is empty",
        ),
        (
            doc! { "$lookup": { "from": "x" } },
            "must specify 'as' field for a $lookup",
        ),
        (
            doc! { "$documents": [{ "a": 1 }] },
            "'$documents' can only be run with {aggregate: 1}",
        ),
    ] {
        let command = doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
        assert_eq!(said(db, command.clone()).await, expected, "{command}");
    }
}

async fn a_transaction_builds_no_index_of_what_was_there(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    run(db, doc! { "create": "empty" }).await;
    let index = |name: &str| doc! { "createIndexes": name, "indexes": [{ "key": { "a": 1 }, "name": "a" }] };
    for (name, what) in [("c", "existing"), ("empty", "existing"), ("new", "non-empty")] {
        let refused = db
            .transaction(async |tx| {
                if name == "new" {
                    tx.run_command(doc! { "insert": "new", "documents": [{ "_id": 1 }] })
                        .await?;
                }
                tx.run_command(index(name)).await
            })
            .await
            .expect_err("no index is built");
        assert_eq!(refused.code(), Some(263), "{name}: {refused}");
        let expected = format!(
            "Cannot create new indexes on {what} collection {}.{name} in a",
            db.name()
        );
        assert!(refused.message().starts_with(&expected), "{refused}");
    }
    db.transaction(async |tx| {
        tx.run_command(index("made")).await?;
        tx.run_command(doc! { "insert": "made", "documents": [{ "_id": 1 }] })
            .await
    })
    .await
    .expect("an index of a new collection");
    let same = db
        .transaction(async |tx| tx.run_command(index("made")).await)
        .await;
    same.expect("nothing is to be built");
}

async fn what_updates_and_deletions_are_refused_for_is_told(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": {} }]).await;
    let update = |change: Document| doc! { "update": "c", "updates": [{ "q": {}, "u": change }] };
    let delete = |limit: f64| doc! { "delete": "c", "deletes": [{ "q": {}, "limit": limit }] };
    let limited = |limit: &str| format!("The limit field in delete objects must be 0 or 1. Got {limit}");
    let first = |path: &str| {
        format!("Cannot have positional (i.e. '$') element in the first position in path '{path}'")
    };
    let many = |path: &str| format!("Too many positional (i.e. '$') elements found in path '{path}'");
    run(db, doc! { "create": "f", "collation": { "locale": "fr" } }).await;
    let hinted = doc! { "q": {}, "u": { "$set": { "a": 1 } }, "hint": "none" };
    let deep = doc! { "$set": { vec!["a"; 181].join("."): 1 } };
    let concern = doc! { "findAndModify": "c", "remove": true, "writeConcern": 1 };
    let clash = doc! { "a": {}, "$and": [{ "a.b.c": 1 }, { "a.b": 1 }] };
    for (command, expected) in [
        (
            doc! { "update": "f", "updates": [hinted] },
            "error processing query: ns=DB.fTree: $and\nSort: {}\nProj: {}\nCollation: { locale: \"simple\" }\n planner \
             returned error :: caused by :: hint provided does not correspond to an existing index"
                .to_owned(),
        ),
        (delete(f64::NAN), limited("nan")),
        (delete(1e300), limited("1e+300")),
        (delete(1_099_511_627_776.0), limited("1.09951e+12")),
        (delete(2.5), limited("2.5")),
        (update(doc! { "$set": { "$.a.$": 1 } }), many("$.a.$")),
        (update(doc! { "$set": { "$": 1 } }), first("$")),
        (update(doc! { "$rename": { "a": "$.b.$" } }), many("$.b.$")),
        (update(doc! { "$rename": { "a": "$" } }), first("$")),
        (
            update(doc! { "$rename": { "a": "b.$" } }),
            "The destination field for $rename may not be dynamic: b.$".to_owned(),
        ),
        (
            doc! { "update": "c", "updates": [{ "q": {}, "u": [deep] }] },
            "Document exceeds maximum nesting depth of 180".to_owned(),
        ),
        (
            concern,
            "BSON field 'findAndModify.writeConcern' is the wrong type 'int', expected type 'object'".to_owned(),
        ),
        (
            doc! { "update": "c", "updates": [{ "q": clash, "u": { "$set": { "z": 1 } }, "upsert": true }] },
            "cannot infer query fields to set, both paths 'a.b' and 'a' are matched".to_owned(),
        ),
    ] {
        assert_eq!(said(db, command.clone()).await, expected, "{command}");
    }
}

async fn collections_are_not_named_by_uuids(db: &Db) {
    let uuid = || {
        Bson::Binary(Binary {
            subtype: BinarySubtype::Uuid,
            bytes: vec![7; 16],
        })
    };
    for command in [
        doc! { "insert": uuid(), "documents": [{ "_id": 1 }] },
        doc! { "drop": uuid() },
        doc! { "collMod": uuid() },
        doc! { "collStats": uuid() },
    ] {
        let expected = "Collection name must be provided. UUID is not valid in this context";
        assert_eq!(said(db, command.clone()).await, expected, "{command}");
    }
}

async fn indexes_of_a_hint_are_told(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": [1] }]).await;
    let partial = doc! { "a": { "$gt": 1 } };
    let indexes = vec![
        doc! { "key": { "a": 1 }, "name": "x", "unique": true },
        doc! { "key": { "a": 1 }, "name": "y", "partialFilterExpression": partial },
    ];
    run(db, doc! { "createIndexes": "c", "indexes": indexes }).await;
    let expected = "error processing query: ns=DB.cTree: $and\nSort: {}\nProj: {}\n planner returned error :: caused by \
                    :: Hint matched multiple indexes, must hint by index name. Matched: kp: { a: 1 } multikey unique \
                    name: '(x, )' io: { v: 2, unique: true, key: { a: 1 }, name: \"x\" } and kp: { a: 1 } name: '(y, )' \
                    filterExpr: a $gt 1\n io: { v: 2, key: { a: 1 }, name: \"y\", partialFilterExpression: { a: { $gt: 1 \
                    } } }";
    assert_eq!(said(db, doc! { "find": "c", "hint": { "a": 1 } }).await, expected);
}
