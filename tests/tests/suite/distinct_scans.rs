//! Which values there are: scans that leap from one to the next.

use super::covered_queries::many;
use odm::Db;
use odm::bson::{Bson, DateTime, Document, doc};
use odm_tests::command::{Told, batch, index, insert, run, told};

crate::on_every_backend! {
    distinct_values_are_those_of_the_documents,
    scans_leap_from_one_value_to_the_next,
    groups_of_nothing_but_a_value_leap_too,
    the_first_of_each_group_is_found_without_the_others,
    firsts_are_those_of_all_documents,
}

async fn distinct_values_are_those_of_the_documents(db: &Db) {
    many(db).await;
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 900, "a": 3.0, "b": "b1" },
            doc! { "_id": 901, "a": 8_i64, "b": "b1" },
            doc! { "_id": 902, "a": "text" },
        ],
    )
    .await;
    let distinct = async |key: &str, query: Document| {
        let command = doc! { "distinct": "c", "key": key, "query": query };
        let reply = run(db, command).await;
        format!("{:?}", reply.get_array("values").unwrap())
    };
    let values = |values: Vec<Bson>| format!("{values:?}");
    let numbers = (0..7).map(Bson::Int32);
    let all: Vec<Bson> = numbers
        .chain([Bson::Int64(8), Bson::String("text".to_owned())])
        .collect();
    assert_eq!(distinct("a", doc! {}).await, values(all.clone()));
    assert_eq!(
        distinct("a", doc! { "a": { "$gte": 3 } }).await,
        values(all[3..8].to_vec())
    );
    assert_eq!(
        distinct("b", doc! { "a": 8 }).await,
        values(vec![Bson::String("b1".to_owned())])
    );
    let names: Vec<Bson> = ["b0", "b1", "b10", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9"]
        .map(Bson::from)
        .to_vec();
    assert_eq!(distinct("b", doc! { "a": { "$lt": 4 } }).await, values(names));
    assert_eq!(
        distinct("n.x", doc! { "n.x": { "$gt": 2 } }).await,
        values(vec![Bson::Int32(3), Bson::Int32(4)])
    );
    assert_eq!(
        distinct("n.y", doc! { "n.x": 2, "a": { "$gt": 2 } }).await,
        values((0..3).map(Bson::Int32).collect())
    );
    assert_eq!(
        distinct("_id", doc! { "_id": { "$gt": 900 } }).await,
        values(vec![Bson::Int32(901), Bson::Int32(902)])
    );
}

async fn scans_leap_from_one_value_to_the_next(db: &Db) {
    let all = (0..3_000).map(|id| {
        let mut document = doc! { "_id": id, "a": id % 7, "b": id % 3, "z": id };
        if id % 2 == 0 {
            document.insert("s", ["x", "y"][(id / 2 % 2) as usize]);
        }
        document
    });
    insert(db, "c", all.collect()).await;
    index(db, "c", doc! { "a": 1, "b": -1 }).await;
    index(db, "c", doc! { "b": -1, "z": 1 }).await;
    index(db, "c", doc! { "s": 1 }).await;
    let figures = async |key: &str, query: Document| {
        let command = doc! { "distinct": "c", "key": key, "query": query };
        let values = run(db, command.clone()).await.get_array("values").unwrap().len();
        let Told {
            stages,
            keys,
            documents,
        } = told(db, &command).await;
        let name = stages.last().cloned().unwrap();
        (name, values, keys, documents)
    };
    for (key, query, values, most) in [
        ("a", doc! {}, 7, 40),
        ("b", doc! {}, 3, 20),
        ("a", doc! { "a": { "$gt": 2 } }, 4, 25),
        ("b", doc! { "a": 1 }, 3, 20),
        ("b", doc! { "a": { "$gte": 5 } }, 3, 40),
        ("a", doc! { "a": { "$in": [1, 3] } }, 2, 15),
        ("z", doc! { "b": 1 }, 1000, 1010),
    ] {
        let (stage, found, keys, documents) = figures(key, query.clone()).await;
        assert_eq!(
            (stage.as_str(), found, documents),
            ("DISTINCT_SCAN", values, 0),
            "{key} {query}"
        );
        assert!(keys <= most, "{key} {query}: {keys}");
    }
    // What is missing is at the same place as null: a server gives null for it, wherever it is in the index.
    let (_, found, _, documents) = figures("s", doc! { "s": { "$gt": "" } }).await;
    assert_eq!((found, documents), (2, 0));
    // Without the document around it a field is missing all the same.
    index(db, "c", doc! { "n.x": 1 }).await;
    let n = |id: i32, n: Bson| doc! { "_id": id, "n": n };
    let some = [doc! { "x": 1 }, doc! { "x": 2 }, doc! {}].map(Bson::Document);
    let some = (5_000..).zip(some).map(|(id, own)| n(id, own));
    insert(db, "c", some.chain([n(6_000, Bson::Int32(5))]).collect()).await;
    let (stage, found, _, documents) = figures("n.x", doc! {}).await;
    let with_null = usize::from(db.backend_name() == "mongodb");
    assert_eq!(
        (stage.as_str(), found, documents),
        ("DISTINCT_SCAN", 2 + with_null, 0)
    );
    // What other fields ask is asked of documents.
    let (_, found, _, documents) = figures("a", doc! { "z": { "$lt": 100 } }).await;
    assert_eq!(found, 7);
    assert!(documents > 0);
    // A null behind what is missing, and numbers of which the first stands for all.
    insert(db, "d", (0..20).map(|id| doc! { "_id": id }).collect()).await;
    let v = |id: i32, v: Bson| doc! { "_id": id, "v": v };
    insert(
        db,
        "d",
        vec![
            v(90, Bson::Double(2.0)),
            v(91, Bson::Int32(2)),
            v(92, Bson::Int64(2)),
            v(93, Bson::Null),
        ],
    )
    .await;
    index(db, "d", doc! { "v": 1 }).await;
    for query in [doc! {}, doc! { "v": { "$in": [Bson::Null, Bson::Int32(2)] } }] {
        let reply = run(db, doc! { "distinct": "d", "key": "v", "query": query.clone() }).await;
        assert_eq!(
            format!("{:?}", reply.get_array("values").unwrap()),
            format!("{:?}", [Bson::Null, Bson::Double(2.0)]),
            "{query}"
        );
    }
    // In transactions, with what they changed.
    let tx = db.begin().await.unwrap();
    let raw = tx.raw_collection("c");
    raw.update_many(doc! { "a": 3 }, doc! { "$set": { "a": 33 } })
        .await
        .unwrap();
    raw.delete_many(doc! { "a": 4 }).await.unwrap();
    let mut values = raw.distinct("a").await.unwrap();
    values.retain(|value| *value != Bson::Null);
    assert_eq!(values, [0, 1, 2, 5, 6, 33].map(Bson::Int32));
    tx.abort().await;
}

async fn groups_of_nothing_but_a_value_leap_too(db: &Db) {
    let all = (0..2_000).map(|id| {
        let mut document = doc! { "_id": id, "a": id % 7, "n": { "x": id % 5 }, "k": id % 2 };
        match id % 3 {
            0 => document.insert("s", ["x", "y"][(id / 3 % 2) as usize]),
            1 if id > 1_000 => document.insert("s", Bson::Null),
            _ => None,
        };
        document
    });
    insert(db, "c", all.collect()).await;
    for key in [doc! { "a": 1, "s": 1 }, doc! { "n.x": -1 }, doc! { "s": 1 }] {
        index(db, "c", key).await;
    }
    let by = async |path: &str, before: Vec<Document>| {
        let group = doc! { "$group": { "_id": format!("${path}") } };
        let stages: Vec<Document> = before.into_iter().chain([group]).collect();
        let command = doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
        let found = batch(&run(db, command.clone()).await);
        let mut found: Vec<String> = found
            .iter()
            .map(|group| group.get("_id").unwrap().to_string())
            .collect();
        found.sort();
        let Told { stages, keys, .. } = told(db, &command).await;
        (found, stages.last().cloned().unwrap(), keys)
    };
    let bound = |field: &str, condition: Document| vec![doc! { "$match": { field: condition } }];
    let (found, stage, keys) = by("a", vec![]).await;
    assert_eq!((found.len(), stage.as_str()), (7, "DISTINCT_SCAN"));
    assert!(keys < 50, "{keys}");
    let (found, stage, keys) = by("n.x", bound("n.x", doc! { "$gt": 1 })).await;
    assert_eq!((found.len(), stage.as_str()), (3, "DISTINCT_SCAN"));
    assert!(keys < 20, "{keys}");
    // What is missing and what is null are one group.
    let (found, _, _) = by("s", vec![]).await;
    assert_eq!(found, ["\"x\"", "\"y\"", "null"]);
    let (found, _, keys) = by("s", bound("a", doc! { "$eq": 3 })).await;
    assert_eq!(found, ["\"x\"", "\"y\"", "null"]);
    assert!(keys < 300, "{keys}");
    // What another field says is asked of documents.
    let (found, stage, _) = by("a", bound("k", doc! { "$eq": 1 })).await;
    assert_eq!(found.len(), 7);
    assert_ne!(stage, "DISTINCT_SCAN");
    // Arrays are not groups of their elements.
    insert(db, "c", vec![doc! { "_id": 9_000, "a": [1, 2] }]).await;
    let (found, stage, _) = by("a", vec![]).await;
    assert_eq!(found.len(), 8);
    assert_ne!(stage, "DISTINCT_SCAN");
    // A sparse index does not know what is missing.
    run(db, doc! { "dropIndexes": "c", "index": "s_1" }).await;
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "s": 1 }, "name": "sparse", "sparse": true }] },
    )
    .await;
    let (found, _, _) = by("s", vec![]).await;
    assert_eq!(found, ["\"x\"", "\"y\"", "null"]);
    let values = run(
        db,
        doc! { "distinct": "c", "key": "s", "query": { "s": { "$gte": "" } } },
    )
    .await;
    assert_eq!(values.get_array("values").unwrap().len(), 2);
}

/// The answer of stages, sorted by `_id`, and how it was found.
async fn grouped(db: &Db, stages: Vec<Document>) -> (Vec<Document>, Told) {
    let command = doc! { "aggregate": "c", "pipeline": &stages, "cursor": {} };
    let told = told(db, &command).await;
    let ordered: Vec<Document> = stages
        .into_iter()
        .chain([doc! { "$sort": { "_id": 1 } }])
        .collect();
    let command = doc! { "aggregate": "c", "pipeline": ordered, "cursor": {} };
    (batch(&run(db, command).await), told)
}

async fn the_first_of_each_group_is_found_without_the_others(db: &Db) {
    let all = (0..3_000).map(|id| {
        let mut document = doc! { "_id": id, "device": id % 6, "at": id / 6, "value": id * 2 };
        match id % 6 {
            4 => document.insert("device", Bson::Null),
            5 => document.remove("device"),
            _ => None,
        };
        document
    });
    insert(db, "c", all.collect()).await;
    index(db, "c", doc! { "device": 1, "at": 1 }).await;
    let latest = doc! { "$group": { "_id": "$device", "value": { "$first": "$value" } } };
    let order = doc! { "$sort": { "device": -1, "at": -1 } };
    let values =
        |found: &[Document]| -> Vec<i32> { found.iter().map(|own| own.get_i32("value").unwrap()).collect() };
    let (found, told) = grouped(db, vec![order.clone(), latest.clone()]).await;
    // What is missing is null: the last one without a device.
    let [first, rest @ ..] = values(&found).try_into().unwrap_or([0; 5]);
    assert!([5_996, 5_998].contains(&first), "{first}");
    assert_eq!(rest, [5_988, 5_990, 5_992, 5_994]);
    assert_eq!(told.stages, ["FETCH", "DISTINCT_SCAN"]);
    assert!(told.keys < 40 && told.documents <= 6, "{told:?}");
    // Forward, with a part of the index, and with whole documents.
    let oldest = doc! { "$group": { "_id": { "own": "$device" }, "all": { "$first": "$$ROOT" } } };
    let stages = vec![
        doc! { "$match": { "device": { "$in": [1, 3] }, "at": { "$gte": 100 } } },
        doc! { "$sort": { "device": 1, "at": 1 } },
        oldest,
    ];
    let (found, told) = grouped(db, stages).await;
    let ids: Vec<i32> = found
        .iter()
        .map(|own| own.get_document("all").unwrap().get_i32("_id").unwrap())
        .collect();
    assert_eq!(ids, [601, 603]);
    assert!(told.documents <= 1_000);
    // With nothing but what keys have.
    let stages = vec![
        doc! { "$match": { "device": { "$gt": 1 } } },
        doc! { "$sort": { "device": 1, "at": 1 } },
        doc! { "$group": { "_id": "$device", "at": { "$first": "$at" }, "next": { "$first": { "$add": ["$at", 1] } } } },
    ];
    let (found, told) = grouped(db, stages).await;
    let expected: Vec<Document> = (2..4)
        .map(|device| doc! { "_id": device, "at": 0, "next": 1 })
        .collect();
    assert_eq!(found, expected);
    assert_eq!(told.stages, ["PROJECTION_COVERED", "DISTINCT_SCAN"]);
    assert!(told.keys < 20 && told.documents == 0, "{told:?}");
    // What asks for more than the first, or of other fields, sees all.
    let last = doc! { "$group": { "_id": "$device", "value": { "$last": "$value" } } };
    for stages in [
        vec![order.clone(), last],
        vec![
            doc! { "$match": { "value": { "$gte": 0 } } },
            order.clone(),
            latest.clone(),
        ],
        vec![order, doc! { "$limit": 2_900 }, latest.clone()],
        vec![doc! { "$sort": { "at": 1, "device": 1 } }, latest],
    ] {
        let (found, told) = grouped(db, stages.clone()).await;
        assert_eq!(found.len(), 5, "{stages:?}");
        assert_ne!(told.stages.last().unwrap(), "DISTINCT_SCAN", "{stages:?}");
        assert!(told.documents >= 2_900, "{told:?}");
    }
}

async fn firsts_are_those_of_all_documents(db: &Db) {
    let values = [
        Bson::Int32(1),
        Bson::Int32(2),
        Bson::String("x".to_owned()),
        Bson::Null,
        Bson::Boolean(true),
        Bson::Document(doc! { "k": 1 }),
        Bson::Double(f64::NAN),
        Bson::DateTime(DateTime::from_millis(0)),
    ];
    let all = (0..400_usize).map(|id| {
        let mut document = doc! { "_id": id as i32, "n": { "x": (id * 7 % 5) as i32 } };
        if id % 9 != 0 {
            document.insert("a", values[id * 5 % values.len()].clone());
        }
        document.insert("b", (id * 11 % 13) as i32);
        document
    });
    let all: Vec<Document> = all.collect();
    insert(db, "c", all).await;
    for key in [
        doc! { "a": 1, "b": -1, "_id": 1 },
        doc! { "n.x": 1, "a": 1, "_id": 1 },
    ] {
        index(db, "c", key).await;
    }
    let orders = [
        doc! { "a": 1, "b": -1, "_id": 1 },
        doc! { "a": -1, "b": 1, "_id": -1 },
        doc! { "n.x": 1, "a": 1, "_id": 1 },
        doc! { "n.x": -1, "a": -1, "_id": -1 },
    ];
    for order in orders {
        for path in ["$a", "$n.x"] {
            for filter in [
                doc! {},
                doc! { "a": { "$gte": 1 } },
                doc! { "n.x": 3 },
                doc! { "a": { "$in": [Bson::Null, Bson::Int32(2)] } },
            ] {
                let group = doc! { "$group": {
                    "_id": path, "id": { "$first": "$_id" }, "b": { "$first": "$b" }, "x": { "$first": "$n.x" },
                } };
                let head = [doc! { "$match": filter }, doc! { "$sort": order.clone() }];
                let by_index: Vec<Document> = head.iter().cloned().chain([group.clone()]).collect();
                // A stage between them has all documents read.
                let between = doc! { "$set": { "between": { "$add": ["$b", 1] } } };
                let by_all = head.into_iter().chain([between, group]).collect();
                let (found, _) = grouped(db, by_index.clone()).await;
                let (expected, _) = grouped(db, by_all).await;
                assert!(!found.is_empty());
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{by_index:?}");
            }
        }
    }
}
