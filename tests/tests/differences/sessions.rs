//! What commands may say of their sessions and transactions, as MongoDB 6.0.5 answers it.

use odm::Db;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, Document, bson, doc};
use odm_tests::command::{code, insert, run};

// MongoDB's driver names a session of its own in each command: what was asked of the server is told here.
crate::on_backend! { memory Memory
    sessions_have_names_of_their_form
    numbers_of_transactions_need_a_session
    only_writes_are_sent_again
    writes_that_may_be_sent_again_are_refused
    no_transaction_begins_by_the_fields_of_a_command
}

crate::on_backend! { native Native
    sessions_have_names_of_their_form
    numbers_of_transactions_need_a_session
    only_writes_are_sent_again
    writes_that_may_be_sent_again_are_refused
    no_transaction_begins_by_the_fields_of_a_command
}

fn bytes(subtype: BinarySubtype, length: usize) -> Binary {
    Binary {
        subtype,
        bytes: vec![7; length],
    }
}

fn session() -> Document {
    let id = odm::bson::Uuid::new().bytes().to_vec();
    doc! { "id": Binary { subtype: BinarySubtype::Uuid, bytes: id } }
}

/// The code that a command gets with these fields.
async fn with(db: &Db, command: &Document, fields: Document) -> i32 {
    let mut command = command.clone();
    command.extend(fields);
    code(db, command).await
}

async fn sessions_have_names_of_their_form(db: &Db) {
    let uuid = || bytes(BinarySubtype::Uuid, 16);
    for command in [
        doc! { "find": "c" },
        doc! { "ping": 1 },
        doc! { "listCollections": 1 },
    ] {
        for (session, expected) in [
            (Bson::Document(doc! { "id": uuid() }), 0),
            (bson!(1), 14),
            (bson!([]), 14),
            (bson!({}), 40414),
            (bson!({ "id": null }), 40414),
            (bson!({ "id": 1 }), 14),
            (bson!({ "x": 1 }), 40415),
            (bson!({ "id": (uuid()), "x": 1 }), 40415),
            (bson!({ "id": (bytes(BinarySubtype::Generic, 16)) }), 14),
            (bson!({ "id": (bytes(BinarySubtype::Uuid, 15)) }), 207),
            (bson!({ "id": (uuid()), "uid": 1 }), 14),
            (
                bson!({ "id": (uuid()), "uid": (bytes(BinarySubtype::Generic, 3)) }),
                12,
            ),
            (bson!({ "id": (uuid()), "txnNumber": 1 }), 14),
            (bson!({ "id": (uuid()), "txnNumber": 1_i64 }), 72),
            (bson!({ "id": (uuid()), "txnUUID": (uuid()) }), 72),
        ] {
            let found = with(db, &command, doc! { "lsid": session.clone() }).await;
            assert_eq!(found, expected, "{command} {session}");
        }
    }
}

async fn numbers_of_transactions_need_a_session(db: &Db) {
    let find = doc! { "find": "c" };
    let own = session();
    for (fields, expected) in [
        (doc! { "txnNumber": 1_i64 }, 72),
        (doc! { "lsid": &own, "txnNumber": 1 }, 14),
        (doc! { "lsid": &own, "txnNumber": -1_i64 }, 72),
        (doc! { "lsid": &own, "txnNumber": Bson::Null }, 0),
        (doc! { "lsid": &own, "autocommit": false }, 72),
        (doc! { "lsid": &own, "startTransaction": true }, 72),
        (doc! { "lsid": &own, "txnNumber": 1_i64, "autocommit": true }, 72),
        (
            doc! { "lsid": &own, "txnNumber": 1_i64, "startTransaction": true },
            72,
        ),
        (
            doc! { "lsid": &own, "txnNumber": 1_i64, "autocommit": false, "startTransaction": false },
            72,
        ),
        (doc! { "txnRetryCounter": 1 }, 0),
        (doc! { "txnRetryCounter": 1_i64 }, 14),
        (
            doc! { "lsid": &own, "txnNumber": 1_i64, "txnRetryCounter": 1 },
            72,
        ),
    ] {
        assert_eq!(with(db, &find, fields.clone()).await, expected, "{fields}");
    }
}

async fn only_writes_are_sent_again(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let index = doc! { "key": { "a": 1 }, "name": "a" };
    for (command, expected) in [
        (doc! { "find": "c" }, 50768),
        (doc! { "count": "c" }, 50768),
        (doc! { "drop": "c" }, 50768),
        (doc! { "createIndexes": "c", "indexes": [index] }, 50768),
        (doc! { "ping": 1 }, 50889),
    ] {
        let fields = doc! { "lsid": session(), "txnNumber": 1_i64 };
        assert_eq!(with(db, &command, fields).await, expected, "{command}");
    }
    assert_eq!(run(db, doc! { "count": "c" }).await.get_i32("n").unwrap(), 1);
}

// The server keeps what a write did, answers the second of the same number from that, with `retriedStmtIds`, and refuses a
// lower number (225). To do such a write again would be wrong, so that here none is done at all.
async fn writes_that_may_be_sent_again_are_refused(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let inc = doc! { "$inc": { "n": 1 } };
    for command in [
        doc! { "insert": "c", "documents": [{ "_id": 2 }] },
        doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": &inc }] },
        doc! { "update": "c", "updates": [{ "q": {}, "u": &inc, "multi": true }] },
        doc! { "delete": "c", "deletes": [{ "q": { "_id": 1 }, "limit": 1 }] },
        doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] },
        doc! { "findAndModify": "c", "query": { "_id": 1 }, "update": &inc },
        doc! { "findandmodify": "c", "query": { "_id": 1 }, "remove": true },
    ] {
        let own = session();
        for number in [0, 1, i64::MAX] {
            let fields = doc! { "lsid": &own, "txnNumber": number };
            assert_eq!(with(db, &command, fields).await, 115, "{command}");
        }
    }
    let kept = run(db, doc! { "find": "c" }).await;
    let kept = kept.get_document("cursor").unwrap();
    assert_eq!(kept.get_array("firstBatch").unwrap(), &vec![bson!({ "_id": 1 })]);
    // Of a session alone it is done as ever.
    for (number, expected) in [(0, 1), (1, 2)] {
        let update = doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": &inc }] };
        assert_eq!(with(db, &update, doc! { "lsid": session() }).await, 0, "{number}");
        let found = db.raw_collection("c").get(Bson::Int32(1)).await.unwrap().unwrap();
        assert_eq!(found.get_i32("n").unwrap(), expected);
    }
}

async fn no_transaction_begins_by_the_fields_of_a_command(db: &Db) {
    let begin =
        || doc! { "lsid": session(), "txnNumber": 1_i64, "autocommit": false, "startTransaction": true };
    for command in [
        doc! { "count": "c" },
        doc! { "drop": "c" },
        doc! { "ping": 1 },
        doc! { "killCursors": "c", "cursors": [] },
    ] {
        assert_eq!(with(db, &command, begin()).await, 263, "{command}");
    }
    let insert = doc! { "insert": "c", "documents": [{ "_id": 1 }] };
    let mut command = insert.clone();
    command.extend(begin());
    let error = db.run_command(command).await.unwrap_err();
    assert_eq!(error.code(), Some(115));
    assert_eq!(error.kind(), odm::ErrorKind::Unsupported);
    let go_on = doc! { "lsid": session(), "txnNumber": 1_i64, "autocommit": false };
    assert_eq!(with(db, &insert, go_on).await, 115);
    assert_eq!(run(db, doc! { "count": "c" }).await.get_i32("n").unwrap(), 0);
}
