//! How large strings, documents, answers and paths may become on the way.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{batch, code, insert, run};

crate::on_every_backend! {
    strings_of_sixteen_mebibytes_are_not_made,
    documents_that_cannot_be_built_are_not_given,
    an_answer_holds_sixteen_mebibytes,
    distinct_values_fit_into_one_answer,
    paths_are_so_long_and_no_longer,
}

const MIB: usize = 1 << 20;

fn text(bytes: usize) -> String {
    "x".repeat(bytes)
}

fn pipeline(stage: Document) -> Document {
    doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} }
}

async fn strings_of_sixteen_mebibytes_are_not_made(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "a": text(8 * MIB - 1), "b": text(MIB) }],
    )
    .await;
    let length = |made: Document| pipeline(doc! { "$project": { "n": { "$strLenBytes": made } } });
    let found = run(db, length(doc! { "$concat": ["$a", "$a", "z"] })).await;
    assert_eq!(batch(&found)[0].get_i32("n").unwrap(), 16 * MIB as i32 - 1);
    for made in [
        doc! { "$concat": ["$a", "$a", "zz"] },
        doc! { "$replaceAll": { "input": "$b", "find": "x", "replacement": text(16) } },
        doc! {
            "$reduce": {
                "input": [1, 2, 3], "initialValue": "", "in": { "$concat": ["$$value", "$a"] },
            },
        },
    ] {
        assert_eq!(code(db, length(made)).await, 16_493);
    }
    let tripled = bson!({ "$concat": ["$a", "$a", "$a"] });
    for command in [
        doc! { "find": "c", "projection": { "n": tripled.clone() } },
        doc! { "find": "c", "filter": { "$expr": { "$eq": [1, tripled.clone()] } } },
        doc! { "findAndModify": "c", "query": {}, "update": [{ "$set": { "n": tripled } }] },
    ] {
        assert_eq!(code(db, command).await, 16_493);
    }
}

async fn documents_that_cannot_be_built_are_not_given(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": text(8 * MIB) }]).await;
    let shown = doc! { "x": "$a", "y": "$a", "z": "$a" };
    for command in [
        doc! { "find": "c", "projection": shown.clone() },
        pipeline(doc! { "$project": shown.clone() }),
        pipeline(doc! { "$project": { "n": { "$bsonSize": shown } } }),
    ] {
        assert_eq!(code(db, command).await, 10_334);
    }
    let held = doc! { "$project": { "n": { "$size": [["$a", "$a", "$a"]] } } };
    assert_eq!(code(db, pipeline(held)).await, 0);
}

async fn an_answer_holds_sixteen_mebibytes(db: &Db) {
    for (id, bytes) in [(1, 9 * MIB), (2, 8 * MIB), (3, 1)] {
        insert(db, "c", vec![doc! { "_id": id, "a": text(bytes) }]).await;
    }
    let ordered = |direction: i32| {
        [
            doc! { "find": "c", "sort": { "_id": direction } },
            pipeline(doc! { "$sort": { "_id": direction } }),
        ]
    };
    for (direction, batches) in [(1, [vec![1], vec![2, 3]]), (-1, [vec![3, 2], vec![1]])] {
        for command in ordered(direction) {
            let first = run(db, command).await;
            let ids = |documents: &[Document]| odm_tests::command::ids(documents);
            assert_eq!(ids(&batch(&first)), batches[0]);
            let id = first.get_document("cursor").unwrap().get_i64("id").unwrap();
            let next = run(db, doc! { "getMore": id, "collection": "c" }).await;
            let cursor = next.get_document("cursor").unwrap();
            let rest: Vec<i32> = cursor
                .get_array("nextBatch")
                .unwrap()
                .iter()
                .map(|document| document.as_document().unwrap().get_i32("_id").unwrap())
                .collect();
            assert_eq!(rest, batches[1]);
            assert_eq!(cursor.get_i64("id").unwrap(), 0);
        }
    }
    let single = run(
        db,
        doc! { "find": "c", "sort": { "_id": 1 }, "singleBatch": true },
    )
    .await;
    assert_eq!(batch(&single).len(), 1);
    assert_eq!(
        single.get_document("cursor").unwrap().get("id"),
        Some(&Bson::Int64(0))
    );
}

async fn distinct_values_fit_into_one_answer(db: &Db) {
    for (id, bytes) in [(1, 9 * MIB), (2, 8 * MIB), (3, 9 * MIB)] {
        insert(db, "c", vec![doc! { "_id": id, "a": text(bytes) }]).await;
    }
    assert_eq!(code(db, doc! { "distinct": "c", "key": "a" }).await, 17_217);
    let some = doc! { "distinct": "c", "key": "a", "query": { "_id": { "$ne": 2 } } };
    assert_eq!(run(db, some).await.get_array("values").unwrap().len(), 1);
}

async fn paths_are_so_long_and_no_longer(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let path = |names: usize| vec!["a"; names].join(".");
    let filter = |names: usize| doc! { path(names): 1 };
    for (names, expected) in [(180, 0), (181, 5_729_100)] {
        let count = doc! { "count": "c", "query": filter(names) };
        assert_eq!(code(db, count).await, expected, "{names}");
        let upsert = doc! { "q": filter(names), "u": { "$set": { "x": 1 } } };
        assert_eq!(
            code(db, doc! { "update": "c", "updates": [upsert] }).await,
            expected
        );
    }
    for (names, expected) in [(200, 0), (201, 15)] {
        let find = doc! { "find": "c", "sort": { path(names): 1 } };
        assert_eq!(code(db, find).await, expected, "{names}");
    }
    for (names, expected) in [(199, 0), (200, 15)] {
        let group = doc! { "$group": { "_id": format!("${}", path(names)) } };
        assert_eq!(code(db, pipeline(group)).await, expected, "{names}");
    }
}
