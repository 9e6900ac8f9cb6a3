//! How deep documents may nest: what is stored, and what is sent.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{code, insert, run};

crate::on_every_backend! {
    documents_nest_so_deep_and_no_deeper,
    changed_documents_nest_no_deeper,
    documents_of_an_upsert_nest_no_deeper,
    written_results_nest_no_deeper,
    commands_nest_deeper_than_documents,
}

/// What is stored may nest so deep, the document itself counted.
const STORED: usize = 180;

/// What a command holds may nest so deep, the command itself not counted.
const SENT: usize = 200;

fn documents(depth: usize) -> Bson {
    (0..depth).fold(Bson::Int32(1), |inner, _| bson!({ "a": inner }))
}

fn arrays(depth: usize) -> Bson {
    (0..depth).fold(Bson::Int32(1), |inner, _| Bson::Array(vec![inner]))
}

const FORMS: [fn(usize) -> Bson; 2] = [documents, arrays];

fn update(filter: Document, update: impl Into<Bson>, upsert: bool) -> Document {
    doc! { "update": "c", "updates": [{ "q": filter, "u": update.into(), "upsert": upsert }] }
}

async fn documents_nest_so_deep_and_no_deeper(db: &Db) {
    for nested in FORMS {
        let of = |depth| doc! { "insert": "c", "documents": [{ "a": nested(depth - 1) }] };
        assert_eq!(code(db, of(STORED)).await, 0);
        assert_eq!(code(db, of(STORED + 1)).await, 15);
    }
    // Before what is wrong with the `_id`.
    let of = |depth| doc! { "insert": "c", "documents": [{ "_id": arrays(depth - 1) }] };
    assert_eq!(code(db, of(STORED)).await, 53);
    assert_eq!(code(db, of(STORED + 1)).await, 15);
    let found = run(db, doc! { "count": "c" }).await;
    assert_eq!(found.get("n").and_then(Bson::as_i32), Some(2));
    let by = doc! { "count": "c", "query": { "a": documents(STORED - 1) } };
    assert_eq!(run(db, by).await.get("n").and_then(Bson::as_i32), Some(1));
}

async fn changed_documents_nest_no_deeper(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "l": [] }]).await;
    for nested in FORMS {
        let changes: [(&dyn Fn(usize) -> Bson, usize); 5] = [
            (&|depth| bson!({ "$set": { "a": nested(depth - 1) } }), STORED),
            (&|depth| bson!({ "$set": { "b.c.d": nested(depth - 3) } }), STORED),
            (&|depth| bson!({ "$push": { "l": nested(depth - 2) } }), STORED),
            (
                &|depth| bson!([{ "$set": { "a": { "$literal": nested(depth - 1) } } }]),
                STORED,
            ),
            (&|depth| bson!({ "l": [], "a": nested(depth - 1) }), STORED),
        ];
        for (change, most) in changes {
            assert_eq!(code(db, update(doc! { "_id": 1 }, change(most), false)).await, 0);
            assert_eq!(
                code(db, update(doc! { "_id": 1 }, change(most + 1), false)).await,
                15
            );
            let find = |depth| doc! { "findAndModify": "c", "query": { "_id": 1 }, "update": change(depth) };
            assert_eq!(code(db, find(most)).await, 0);
            assert_eq!(code(db, find(most + 1)).await, 15);
        }
    }
    // By what is there already.
    run(
        db,
        update(doc! { "_id": 1 }, doc! { "a": documents(STORED - 1) }, false),
    )
    .await;
    let into = |path| update(doc! { "_id": 1 }, doc! { "$rename": { "a": path } }, false);
    assert_eq!(code(db, into("b.c")).await, 15);
    assert_eq!(code(db, into("b")).await, 0);
    let around = bson!([{ "$set": { "c": { "d": "$b" } } }]);
    assert_eq!(code(db, update(doc! { "_id": 1 }, around, false)).await, 15);
}

async fn documents_of_an_upsert_nest_no_deeper(db: &Db) {
    for nested in FORMS {
        for change in [bson!({ "$set": { "x": 1 } }), bson!([{ "$set": { "x": 1 } }])] {
            let by = |depth| {
                update(
                    doc! { "a": nested(depth - 1), "y": Bson::MaxKey },
                    change.clone(),
                    true,
                )
            };
            assert_eq!(code(db, by(STORED + 1)).await, 15);
            assert_eq!(code(db, by(STORED)).await, 0);
            run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
        }
        let on_insert = |depth| {
            let change = doc! { "$setOnInsert": { "a": nested(depth - 1) } };
            update(doc! { "_id": 1 }, change, true)
        };
        assert_eq!(code(db, on_insert(STORED + 1)).await, 15);
        assert_eq!(code(db, on_insert(STORED)).await, 0);
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
        let whole = |depth| update(doc! { "_id": 1 }, doc! { "a": nested(depth - 1) }, true);
        assert_eq!(code(db, whole(STORED + 1)).await, 15);
        assert_eq!(code(db, whole(STORED)).await, 0);
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
    }
}

async fn written_results_nest_no_deeper(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for nested in FORMS {
        for to in [doc! { "$out": "o" }, doc! { "$merge": "m" }] {
            let write = |depth: usize| {
                let set = doc! { "$set": { "a": { "$literal": nested(depth - 1) } } };
                doc! { "aggregate": "c", "pipeline": [set, to.clone()], "cursor": {} }
            };
            assert_eq!(code(db, write(STORED)).await, 0);
            assert_eq!(code(db, write(STORED + 1)).await, 15);
        }
    }
}

async fn commands_nest_deeper_than_documents(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for nested in FORMS {
        let commands: [(&dyn Fn(usize) -> Document, usize); 6] = [
            (&|depth| doc! { "count": "c", "query": { "a": nested(depth) } }, 1),
            (
                &|depth| doc! { "find": "c", "filter": { "a": { "$in": [nested(depth)] } } },
                3,
            ),
            (
                &|depth| {
                    let projection = doc! { "a": { "$literal": nested(depth) } };
                    doc! { "find": "c", "filter": { "_id": 2 }, "projection": projection }
                },
                2,
            ),
            (
                &|depth| doc! { "distinct": "c", "key": "a", "query": { "a": nested(depth) } },
                1,
            ),
            (
                &|depth| doc! { "delete": "c", "deletes": [{ "q": { "a": nested(depth) }, "limit": 0 }] },
                3,
            ),
            (
                &|depth| {
                    let add = doc! { "$set": { "a": { "$literal": nested(depth) } } };
                    let pipeline = [add, doc! { "$project": { "b": 1 } }];
                    doc! { "aggregate": "c", "pipeline": pipeline.to_vec(), "cursor": {} }
                },
                4,
            ),
        ];
        for (command, around) in commands {
            let name = command(0);
            assert_eq!(code(db, command(SENT - around)).await, 0, "{name}");
            assert_eq!(code(db, command(SENT - around + 1)).await, 15, "{name}");
        }
        let create = |name: &str, depth| doc! { "create": name, "validator": { "a": nested(depth) } };
        code(db, doc! { "drop": "v" }).await;
        assert_eq!(code(db, create("v", SENT - 1)).await, 0);
        assert_eq!(code(db, create("w", SENT)).await, 15);
        assert_eq!(
            code(db, doc! { "insert": "v", "documents": [{ "a": 1 }] }).await,
            121
        );
    }
}
