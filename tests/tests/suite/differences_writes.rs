//! What writes on the engine and on MongoDB side by side found to differ, each as the smallest case of it.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};

crate::on_every_backend! {
    the_last_condition_by_kind_tells_the_position,
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

/// Makes these the documents of the collection `c`.
async fn fill(db: &Db, documents: Vec<Document>) {
    let every = doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] };
    assert_eq!(code(db, every).await, 0);
    assert_eq!(code(db, doc! { "insert": "c", "documents": documents }).await, 0);
}

/// All documents of the collection `c`, in the order of `_id`.
async fn all(db: &Db) -> Vec<Document> {
    let reply = db.run_command(doc! { "find": "c", "sort": { "_id": 1 } }).await;
    let reply = reply.expect("the collection is read");
    let batch = reply
        .get_document("cursor")
        .and_then(|cursor| cursor.get_array("firstBatch"))
        .expect("a batch");
    batch
        .iter()
        .filter_map(|one| one.as_document().cloned())
        .collect()
}

fn update(filter: Document, change: Bson) -> Document {
    doc! { "update": "c", "updates": [{ "q": filter, "u": change }] }
}

async fn the_last_condition_by_kind_tells_the_position(db: &Db) {
    let stored = doc! { "_id": 1, "a": [{ "b": 1 }, { "b": 2 }, { "b": 3 }], "n": [1, 5, 10], "m": [1, [5, 6]], "t": [0, 0, 0] };
    for (filter, position) in [
        (doc! { "n": { "$gt": 7, "$lt": 3 } }, 2),
        (doc! { "n": 5, "a.b": 1 }, 1),
        (
            doc! { "$and": [{ "n": { "$type": "int" } }, { "a.b": { "$gt": 2 } }] },
            0,
        ),
        (
            doc! { "$and": [{ "n": { "$in": [5, 6] } }, { "n": { "$lt": 3 } }] },
            1,
        ),
        (
            doc! { "$and": [{ "n": { "$in": [5] } }, { "n": { "$lt": 3 } }] },
            0,
        ),
        (doc! { "$and": [{ "n": { "$all": [10, 5] } }, { "n": 1 }] }, 1),
        (doc! { "$or": [{ "n": 10 }] }, 2),
        (doc! { "$or": [{ "n": 77 }, { "n": 10 }] }, 2),
        (
            doc! { "$and": [{ "n": { "$gt": 7 } }, { "$or": [{ "a.b": 1 }, { "m": 1 }] }] },
            2,
        ),
    ] {
        fill(db, vec![stored.clone()]).await;
        let changed = code(db, update(filter.clone(), bson!({ "$set": { "t.$": 9 } }))).await;
        assert_eq!(changed, 0, "{filter}");
        let mut expected = [0, 0, 0];
        expected[position] = 9;
        let found = all(db).await.remove(0);
        let found = found.get_array("t").expect("an array");
        let found: Vec<i32> = found.iter().filter_map(Bson::as_i32).collect();
        assert_eq!(found, expected, "{filter}");
    }
    for filter in [
        doc! { "$or": [{ "a.b": 2 }, { "n": 10 }] },
        doc! { "$or": [{ "n": { "$gt": 4 } }, { "n": { "$gt": 9 } }] },
        doc! { "n.1": 5 },
        doc! { "m.1": [5, 6] },
    ] {
        let changed = code(db, update(filter.clone(), bson!({ "$set": { "t.$": 9 } }))).await;
        assert_eq!(changed, 2, "{filter}");
        let find = doc! { "find": "c", "filter": filter.clone(), "projection": { "t.$": 1 } };
        assert_eq!(code(db, find).await, 51246, "{filter}");
    }
    // A projection takes the conditions as they are written.
    fill(db, vec![stored]).await;
    let find =
        doc! { "find": "c", "filter": { "n": { "$gt": 7, "$lt": 3 } }, "projection": { "_id": 0, "n.$": 1 } };
    let reply = db.run_command(find).await.expect("it is found");
    let batch = reply
        .get_document("cursor")
        .and_then(|cursor| cursor.get_array("firstBatch"));
    assert_eq!(batch.expect("a batch"), &[bson!({ "n": [1] })]);
}
