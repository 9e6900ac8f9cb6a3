//! Cursors of commands that follow a capped collection.

use std::time::Duration;

use futures_util::future::join;
use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{insert, run};

use super::refusals::{answer, check, with};

crate::on_every_backend! {
    a_cursor_goes_on_behind_the_last_document,
    options_hold_for_what_comes,
    what_cannot_be_followed_is_told,
    a_cursor_that_waits_is_woken,
    a_place_that_is_lost_is_told,
    a_cursor_ends_with_its_collection,
    nothing_is_followed_in_a_transaction,
}

/// A capped collection of three documents.
async fn capped(db: &Db) {
    let _ = db.run_command(doc! { "drop": "t" }).await;
    run(db, doc! { "create": "t", "capped": true, "size": 100_000 }).await;
    insert(
        db,
        "t",
        (0..3).map(|id| doc! { "_id": id, "a": id % 2 }).collect(),
    )
    .await;
}

fn cursor_of(reply: &Document) -> (i64, Vec<Bson>) {
    let cursor = reply.get_document("cursor").expect("a cursor");
    let batch = cursor
        .get_array("firstBatch")
        .or_else(|_| cursor.get_array("nextBatch"));
    (
        cursor.get_i64("id").expect("a number"),
        batch.expect("a batch").clone(),
    )
}

async fn follow(db: &Db, more: Document) -> (i64, Vec<Bson>) {
    cursor_of(&run(db, with(doc! { "find": "t", "tailable": true }, more)).await)
}

fn get_more(id: i64, more: Document) -> Document {
    with(doc! { "getMore": id, "collection": "t" }, more)
}

/// The next batch of a cursor that stays open.
async fn next(db: &Db, id: i64, more: Document) -> Vec<Bson> {
    let (same, batch) = cursor_of(&run(db, get_more(id, more)).await);
    assert_eq!(same, id);
    batch
}

fn ids(batch: &[Bson]) -> Vec<i32> {
    let id = |one: &Bson| one.as_document().and_then(|one| one.get_i32("_id").ok());
    batch.iter().map(|one| id(one).expect("an _id")).collect()
}

async fn a_cursor_goes_on_behind_the_last_document(db: &Db) {
    run(db, doc! { "create": "t", "capped": true, "size": 100_000 }).await;
    // It does not go on where there is nothing yet.
    for more in [doc! {}, doc! { "awaitData": true }, doc! { "batchSize": 0 }] {
        assert_eq!(follow(db, more).await, (0, vec![]));
    }
    capped(db).await;
    let (id, first) = follow(db, doc! {}).await;
    assert_eq!(ids(&first), [0, 1, 2]);
    assert_ne!(id, 0);
    assert!(next(db, id, doc! {}).await.is_empty());
    insert(db, "t", (3..8).map(|id| doc! { "_id": id }).collect()).await;
    assert_eq!(ids(&next(db, id, doc! { "batchSize": 2 }).await), [3, 4]);
    assert_eq!(ids(&next(db, id, doc! { "batchSize": 0 }).await), [5, 6, 7]);
    assert!(next(db, id, doc! { "batchSize": 1 }).await.is_empty());
    let other = doc! { "getMore": id, "collection": "other" };
    assert_eq!(answer(db, other, db.name()).await.0, 13);
    let timed = get_more(id, doc! { "maxTimeMS": 5 });
    let words = "cannot set maxTimeMS on getMore command for a non-awaitData cursor";
    check(db, vec![(timed, 2, words)]).await;
    assert!(next(db, id, doc! {}).await.is_empty());
    let killed = run(db, doc! { "killCursors": "t", "cursors": [id] }).await;
    assert_eq!(killed.get_array("cursorsKilled").unwrap(), &[Bson::Int64(id)]);
    assert_eq!(answer(db, get_more(id, doc! {}), db.name()).await.0, 43);
}

async fn options_hold_for_what_comes(db: &Db) {
    let divided = doc! { "x": { "$divide": [1, "$z"] } };
    let equal = doc! { "$expr": { "$eq": ["$a", "$$v"] } };
    // With them the ids of the first batch, and of the next when two more came.
    for (more, first, then) in [
        (doc! { "limit": 2 }, vec![0, 1], vec![]),
        (doc! { "limit": 4 }, vec![0, 1, 2], vec![10]),
        (doc! { "skip": 2 }, vec![2], vec![10, 11]),
        (doc! { "skip": 4 }, vec![], vec![11]),
        (doc! { "batchSize": 0 }, vec![], vec![0, 1, 2, 10, 11]),
        (doc! { "batchSize": 1 }, vec![0], vec![1, 2, 10, 11]),
        (doc! { "batchSize": 3 }, vec![0, 1, 2], vec![10, 11]),
        (doc! { "sort": { "$natural": 1.0 } }, vec![0, 1, 2], vec![10, 11]),
        (doc! { "sort": {} }, vec![0, 1, 2], vec![10, 11]),
        (doc! { "hint": { "$natural": -1 } }, vec![2, 1, 0], vec![]),
        (
            doc! { "hint": { "$natural": -1 }, "batchSize": 1 },
            vec![2],
            vec![1, 0],
        ),
        (doc! { "hint": "none" }, vec![0, 1, 2], vec![10, 11]),
        (
            doc! { "hint": { "_id": 1 }, "min": { "_id": 1 } },
            vec![0, 1, 2],
            vec![10, 11],
        ),
        (doc! { "filter": { "a": 1 } }, vec![1], vec![10, 11]),
        (doc! { "filter": { "a": 7 } }, vec![], vec![]),
        (doc! { "filter": equal, "let": { "v": 1 } }, vec![1], vec![10, 11]),
        (doc! { "projection": { "a": 0 } }, vec![0, 1, 2], vec![10, 11]),
        (
            doc! { "noCursorTimeout": true, "maxTimeMS": 10_000 },
            vec![0, 1, 2],
            vec![10, 11],
        ),
    ] {
        capped(db).await;
        let (id, batch) = follow(db, more.clone()).await;
        assert_eq!(ids(&batch), first, "{more}");
        insert(db, "t", (10..12).map(|id| doc! { "_id": id, "a": 1 }).collect()).await;
        assert_eq!(ids(&next(db, id, doc! {}).await), then, "{more}");
        assert!(next(db, id, doc! {}).await.is_empty(), "{more}");
    }
    for (more, last) in [
        (
            doc! { "showRecordId": true },
            doc! { "_id": 9, "z": 0, "$recordId": 4_i64 },
        ),
        (doc! { "returnKey": true }, doc! {}),
        (
            doc! { "projection": { "_id": { "$meta": "recordId" } } },
            doc! { "_id": 4_i64, "z": 0 },
        ),
        (
            doc! { "sort": { "$natural": 1 }, "projection": { "z": { "$meta": "sortKey" } } },
            doc! { "_id": 9, "z": [] },
        ),
    ] {
        capped(db).await;
        let (id, first) = follow(db, more.clone()).await;
        assert_eq!(first.len(), 3);
        insert(db, "t", vec![doc! { "_id": 9, "z": 0 }]).await;
        assert_eq!(next(db, id, doc! {}).await, [Bson::Document(last)], "{more}");
    }
    capped(db).await;
    let (id, _) = follow(db, doc! { "projection": divided }).await;
    insert(db, "t", vec![doc! { "_id": 9, "z": 0 }]).await;
    let words = "Executor error during getMore :: caused by :: can't $divide by zero";
    check(db, vec![(get_more(id, doc! {}), 2, words)]).await;
    assert_eq!(answer(db, get_more(id, doc! {}), db.name()).await.0, 43);
}

async fn what_cannot_be_followed_is_told(db: &Db) {
    capped(db).await;
    insert(db, "p", vec![doc! { "_id": 1 }]).await;
    run(db, doc! { "create": "w", "viewOn": "t" }).await;
    let find = |name: &str, more: Document| with(doc! { "find": name, "tailable": true }, more);
    let order = "cannot use tailable option with a sort other than {$natural: 1}";
    let single = "cannot use tailable option with the 'singleBatch' option";
    let view = "Tailable cursors are not supported in aggregation.";
    let near = "Tailable cursors and geo $near cannot be used together";
    let text = "text index required for $text query";
    let search = || doc! { "filter": { "$text": { "$search": "x" } } };
    let rows = vec![
        (
            find("t", doc! { "sort": { "a": 1 }, "singleBatch": true }),
            2,
            order,
        ),
        (find("t", doc! { "sort": { "$natural": -1 } }), 2, order),
        (find("t", doc! { "sort": { "$natural": 2 } }), 2, order),
        (find("t", doc! { "sort": { "$natural": 1, "a": 1 } }), 2, order),
        (
            find("t", doc! { "filter": { "$zz": 1 }, "sort": { "a": 1 } }),
            2,
            order,
        ),
        (
            find("t", doc! { "filter": { "$zz": 1 }, "singleBatch": true }),
            2,
            single,
        ),
        (find("t", doc! { "singleBatch": true, "limit": 2 }), 2, single),
        (find("none", doc! { "singleBatch": true }), 2, single),
        (find("w", doc! { "singleBatch": true }), 2, single),
        (
            find("t", doc! { "hint": 5, "singleBatch": true }),
            9,
            "Hint must be a string or an object",
        ),
        (find("w", doc! {}), 168, view),
        (
            find("t", doc! { "filter": { "a": { "$near": [1, 1] } } }),
            2,
            near,
        ),
        (
            find("p", doc! { "filter": { "a": { "$near": [1, 1] } } }),
            2,
            near,
        ),
        (find("t", search()), 27, text),
        (find("p", search()), 27, text),
        (
            find(
                "t",
                doc! { "hint": { "$natural": -1 }, "sort": { "$natural": 1 } },
            ),
            2,
            "$natural hint must be in the same direction as $natural sort order",
        ),
    ];
    check(db, rows).await;
    let capped = "tailable cursor requested on non capped collection";
    for (more, asked) in [
        (doc! {}, "Tree: $and\nSort: {}\nProj: {}\n"),
        (
            doc! { "sort": { "$natural": 1 } },
            "Tree: $and\nSort: {}\nProj: {}\n",
        ),
        (
            doc! { "hint": "none", "awaitData": true },
            "Tree: $and\nSort: {}\nProj: {}\n",
        ),
        (
            doc! { "filter": { "a": 1 }, "projection": { "a": 1 }, "limit": 5 },
            " limit=5Tree: a $eq 1\nSort: {}\nProj: { a: 1 }\n",
        ),
    ] {
        let words = format!("error processing query: ns=DB.p{asked} {capped}");
        check(db, vec![(find("p", more), 2, &words)]).await;
    }
    let both = doc! { "find": "p", "sort": { "$natural": 1 }, "min": { "a": 1 } };
    let words = "error processing query: ns=DB.pTree: $and\nSort: {}\nProj: {}\n planner returned error :: caused by :: min and max are incompatible with $natural";
    check(db, vec![(both, 291, words)]).await;
    let index = doc! { "key": { "s": "text" }, "name": "s" };
    run(db, doc! { "createIndexes": "t", "indexes": [index] }).await;
    let both = "text and tailable cursor not allowed in same query";
    check(db, vec![(find("t", search()), 2, both)]).await;
}

async fn later<T>(then: impl Future<Output = T>) -> T {
    tokio::time::sleep(Duration::from_millis(100)).await;
    then.await
}

async fn a_cursor_that_waits_is_woken(db: &Db) {
    capped(db).await;
    let (id, first) = follow(db, doc! { "awaitData": true }).await;
    assert_eq!(ids(&first), [0, 1, 2]);
    for time in [0, 50] {
        assert!(next(db, id, doc! { "maxTimeMS": time }).await.is_empty());
    }
    for (time, code) in [(Bson::Int32(-1), 2), ("x".into(), 14), (Bson::Int64(1 << 31), 2)] {
        let more = get_more(id, doc! { "maxTimeMS": time });
        assert_eq!(answer(db, more, db.name()).await.0, code);
    }
    // A wait that nothing ends takes longer than the test may.
    let long = || doc! { "maxTimeMS": 60_000 };
    let come = later(insert(db, "t", vec![doc! { "_id": 5 }]));
    let (batch, ()) = join(next(db, id, long()), come).await;
    assert_eq!(ids(&batch), [5]);
    // Only one reads it. On MongoDB the other waits for the session, which is the same.
    if db.backend_name() != "mongodb" {
        let meanwhile = later(async {
            let refused = answer(db, get_more(id, doc! {}), db.name()).await;
            insert(db, "t", vec![doc! { "_id": 6 }]).await;
            refused
        });
        let (batch, refused) = join(next(db, id, long()), meanwhile).await;
        assert_eq!(ids(&batch), [6]);
        assert_eq!(refused, (143, format!("cursor id {id} is already in use")));
        // A wait that is given up leaves it as it was.
        let given_up = tokio::time::timeout(Duration::from_millis(50), next(db, id, long()));
        assert!(given_up.await.is_err());
        assert!(next(db, id, doc! { "maxTimeMS": 0 }).await.is_empty());
    }
    // It waits behind what does not match, and for the time that is the server's unless another is said.
    let (other, first) = follow(db, doc! { "awaitData": true, "filter": { "a": 7 } }).await;
    assert!(first.is_empty());
    let come = later(insert(db, "t", vec![doc! { "_id": 7 }]));
    let (batch, ()) = join(next(db, other, doc! {}), come).await;
    assert!(batch.is_empty());
    // What is killed meanwhile tells it at the end.
    let interrupted = "Executor error during getMore :: caused by :: operation was interrupted";
    let kill = later(run(db, doc! { "killCursors": "t", "cursors": [other] }));
    let more = get_more(other, doc! { "maxTimeMS": 400 });
    let (told, killed) = join(answer(db, more, db.name()), kill).await;
    assert_eq!(killed.get_array("cursorsKilled").unwrap(), &[Bson::Int64(other)]);
    assert_eq!(told, (237, interrupted.to_owned()));
    assert_eq!(answer(db, get_more(other, doc! {}), db.name()).await.0, 43);
}

async fn a_place_that_is_lost_is_told(db: &Db) {
    let filled = async |batch: i32| {
        let _ = db.run_command(doc! { "drop": "t" }).await;
        run(
            db,
            doc! { "create": "t", "capped": true, "size": 100_000, "max": 3 },
        )
        .await;
        insert(db, "t", (0..3).map(|id| doc! { "_id": id }).collect()).await;
        let (id, first) = follow(db, doc! { "batchSize": batch }).await;
        assert_eq!(first.len(), batch.min(3) as usize);
        id
    };
    let behind = "Executor error during getMore :: caused by :: CollectionScan died due to failure to restore tailable cursor position. Last seen record id: RecordId(3)";
    let within = "CollectionScan died due to position in capped collection being deleted. Last seen record id: RecordId(1)";
    for (batch, words) in [(5, behind), (1, within)] {
        let id = filled(batch).await;
        insert(db, "t", (10..15).map(|id| doc! { "_id": id }).collect()).await;
        check(db, vec![(get_more(id, doc! {}), 136, words)]).await;
        assert_eq!(answer(db, get_more(id, doc! {}), db.name()).await.0, 43);
    }
    let id = filled(5).await;
    run(
        db,
        doc! { "delete": "t", "deletes": [{ "q": { "_id": 1 }, "limit": 1 }] },
    )
    .await;
    insert(db, "t", vec![doc! { "_id": 10 }]).await;
    assert_eq!(ids(&next(db, id, doc! {}).await), [10]);
}

async fn a_cursor_ends_with_its_collection(db: &Db) {
    let uuid_of = async || {
        let listed = run(db, doc! { "listCollections": 1, "filter": { "name": "t" } }).await;
        let (_, batch) = cursor_of(&listed);
        let info = batch[0]
            .as_document()
            .and_then(|own| own.get_document("info").ok());
        match info.and_then(|info| info.get("uuid")) {
            Some(Bson::Binary(uuid)) => uuid.to_uuid().unwrap().to_string(),
            other => panic!("{other:?}"),
        }
    };
    capped(db).await;
    let (id, _) = follow(db, doc! { "awaitData": true }).await;
    let uuid = uuid_of().await;
    run(db, doc! { "drop": "t" }).await;
    let words = format!("collection dropped. UUID {uuid}");
    check(db, vec![(get_more(id, doc! {}), 175, &words)]).await;
    assert_eq!(answer(db, get_more(id, doc! {}), db.name()).await.0, 43);
    capped(db).await;
    let (id, _) = follow(db, doc! { "awaitData": true }).await;
    let words = format!(
        "Executor error during getMore :: caused by :: collection dropped. UUID {}",
        uuid_of().await
    );
    let more = get_more(id, doc! { "maxTimeMS": 400 });
    let (told, _) = join(answer(db, more, db.name()), later(run(db, doc! { "drop": "t" }))).await;
    assert_eq!(told, (175, words));
    capped(db).await;
    let (id, _) = follow(db, doc! {}).await;
    let uuid = uuid_of().await;
    let own = |name: &str| format!("{}.{name}", db.name());
    let rename = doc! { "renameCollection": own("t"), "to": own("u") };
    run(&db.database("admin").unwrap(), rename).await;
    let words = format!("collection renamed from 'DB.t' to 'DB.u'. UUID {uuid}");
    check(db, vec![(get_more(id, doc! {}), 175, &words)]).await;
}

async fn nothing_is_followed_in_a_transaction(db: &Db) {
    capped(db).await;
    let tx = db.begin().await.unwrap();
    let refused = tx
        .run_command(doc! { "find": "t", "tailable": true })
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Some(72));
    assert_eq!(
        refused.message(),
        "It is illegal to open a tailable cursor in a transaction"
    );
}
