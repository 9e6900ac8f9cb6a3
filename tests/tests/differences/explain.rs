//! What is explained, and what is not.

use odm::Db;
use odm::bson::{Document, doc};
use odm_tests::command::{code, insert, run};

crate::on_every_backend! {
    what_cannot_run_is_not_explained,
    variables_are_known_where_a_command_is_explained,
    commands_are_checked_before_they_are_explained,
    typed_changes_that_cannot_be_made_are_not_explained,
}

async fn what_cannot_run_is_not_explained(db: &Db) {
    let bad = doc! { "a": { "$ln": -1 } };
    for name in ["c", "nothing"] {
        let find = |projection: Document| doc! { "find": name, "projection": projection };
        let commands = [
            (find(doc! { "a": 1, "b": 0 }), 31_254),
            (find(doc! { "a": { "$zz": 1 } }), 31_325),
            (find(bad.clone()), 28_766),
            (find(doc! { "a": { "$meta": "sortKey" } }), 2),
            (doc! { "find": name, "let": bad.clone() }, 28_766),
            (
                doc! { "find": name, "filter": { "$expr": { "$ln": -1 } } },
                28_766,
            ),
            (doc! { "findAndModify": name, "update": { "$zz": 1 } }, 9),
            (
                doc! { "update": name, "updates": [{ "q": {}, "u": { "$zz": 1 } }] },
                9,
            ),
            (
                doc! { "update": name, "updates": [{ "q": {}, "u": [{ "$set": 1 }] }] },
                40_272,
            ),
            (
                doc! { "delete": name, "deletes": [{ "q": { "$zz": 1 }, "limit": 1 }] },
                2,
            ),
        ];
        for (command, expected) in commands {
            assert_eq!(code(db, command.clone()).await, expected, "{command}");
            assert_eq!(
                code(db, doc! { "explain": command.clone() }).await,
                expected,
                "{command}"
            );
        }
        run(db, doc! { "insert": "c", "documents": [{ "_id": 1 }] }).await;
        // Unlike the command, which reads it where there is something to show.
        let remove = doc! { "findAndModify": name, "remove": true, "fields": { "a": 1, "b": 0 } };
        let expected = if name == "c" { 31_254 } else { 0 };
        assert_eq!(code(db, doc! { "explain": remove }).await, expected);
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
    }
}

async fn variables_are_known_where_a_command_is_explained(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let filter = doc! { "$expr": { "$eq": ["$_id", "$$v"] } };
    let write = |change: &str, statement: Document| {
        doc! { change: "c", format!("{change}s"): [statement], "let": { "v": 1 } }
    };
    for command in [
        write(
            "update",
            doc! { "q": filter.clone(), "u": { "$set": { "a": 1 } } },
        ),
        write("delete", doc! { "q": filter.clone(), "limit": 1 }),
        doc! { "findAndModify": "c", "query": filter.clone(), "remove": true, "let": { "v": 1 } },
        doc! { "find": "c", "filter": filter, "let": { "v": 1 } },
    ] {
        assert_eq!(
            code(db, doc! { "explain": command.clone() }).await,
            0,
            "{command}"
        );
    }
}

async fn commands_are_checked_before_they_are_explained(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    run(
        db,
        doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$match": { "a": 1 } }] },
    )
    .await;
    let near = doc! { "a": { "$near": [1, 1] } };
    let text = doc! { "$text": { "$search": "x" } };
    for (command, expected) in [
        (doc! { "find": 1 }, 73),
        (doc! { "find": "c", "$db": "another" }, 73),
        (doc! { "find": "c", "tailable": true }, 2),
        (doc! { "find": "v", "tailable": true }, 168),
        (doc! { "find": "v", "filter": near }, 5_626_500),
        (doc! { "find": "v", "filter": text.clone() }, 27),
        (doc! { "find": "nothing", "filter": text }, 27),
        (doc! { "count": "c", "limit": "x" }, 2),
        (doc! { "distinct": "c", "key": "a\0b" }, 31_032),
        (doc! { "update": "c" }, 40_414),
        (doc! { "delete": "c" }, 40_414),
        (doc! { "update": "c", "updates": [] }, 16),
        (
            doc! { "update": "c", "updates": [{ "q": {}, "u": {} }, { "q": {}, "u": {} }] },
            16,
        ),
        (doc! { "delete": "c", "deletes": [] }, 16),
        (doc! { "aggregate": "c", "pipeline": [] }, 9),
        (doc! { "aggregate": "c", "pipeline": [], "explain": true }, 9),
        (doc! { "insert": "c", "documents": [{}] }, 20),
        (doc! { "listIndexes": "c" }, 20),
        (doc! { "ping": 1 }, 20),
        (doc! { "explain": { "find": "c" } }, 20),
        (doc! { "nothing": 1 }, 59),
    ] {
        assert_eq!(
            code(db, doc! { "explain": command.clone() }).await,
            expected,
            "{command}"
        );
    }
}

async fn typed_changes_that_cannot_be_made_are_not_explained(db: &Db) {
    let c = db.raw_collection("c");
    c.insert(&doc! { "_id": 1 }).await.unwrap();
    let refused = c.update_one(doc! {}, doc! { "$zz": 1 }).explain().await;
    assert_eq!(refused.unwrap_err().code(), Some(9));
    let refused = c.find_one_and_update(doc! {}, doc! { "$zz": 1 }).explain().await;
    assert_eq!(refused.unwrap_err().code(), Some(9));
    c.update_one(doc! {}, doc! { "$set": { "a": 1 } })
        .explain()
        .await
        .unwrap();
}
