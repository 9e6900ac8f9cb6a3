//! What the keys of an index tell before documents are read: conditions, documents that are passed over, values of arrays.

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{Told, batch, ids, index, insert, run, told};

crate::on_every_backend! {
    conditions_are_asked_of_keys,
    what_is_passed_over_is_not_read,
    values_of_arrays_are_leaped_to,
    texts_are_indexed_anew_where_they_change,
}

async fn many(db: &Db) {
    let document = |id: i32| doc! { "_id": id, "a": id % 7, "b": id, "s": format!("t {id}"), "x": id % 3, "list": [id % 5, 9] };
    insert(db, "c", (0..300).map(document).collect()).await;
    insert(
        db,
        "c",
        vec![doc! { "_id": 900 }, doc! { "_id": 901, "b": "text", "s": 5 }],
    )
    .await;
    for key in [
        doc! { "a": 1, "b": -1 },
        doc! { "b": 1 },
        doc! { "s": 1 },
        doc! { "list": 1 },
    ] {
        index(db, "c", key).await;
    }
}

async fn conditions_are_asked_of_keys(db: &Db) {
    many(db).await;
    let by_b = || doc! { "b": 1 };
    let find = |filter: Document, hint: Document| doc! { "find": "c", "filter": filter, "hint": hint, "batchSize": 1000 };
    for (command, found, documents) in [
        (find(doc! { "b": { "$mod": [7, 3] } }, by_b()), 43, 43),
        (find(doc! { "b": { "$type": "string" } }, by_b()), 1, 1),
        (
            find(doc! { "b": { "$not": { "$mod": [2, 0] } } }, by_b()),
            152,
            302,
        ),
        (find(doc! { "s": { "$regex": "9$|8$" } }, doc! { "s": 1 }), 60, 60),
        (
            find(
                doc! { "a": 2, "b": { "$mod": [2, 0] }, "x": 1 },
                doc! { "a": 1, "b": -1 },
            ),
            7,
            22,
        ),
        // Elements of an array are not the array.
        (
            find(doc! { "list": { "$mod": [5, 3] } }, doc! { "list": 1 }),
            60,
            300,
        ),
    ] {
        let told = told(db, &command).await;
        assert_eq!(
            (batch(&run(db, command.clone()).await).len(), told.documents),
            (found, documents),
            "{command}"
        );
    }
    // To count them no document is read at all.
    for (query, found) in [
        (doc! { "b": { "$mod": [7, 3] } }, 43),
        (doc! { "s": { "$regex": "8$" } }, 30),
        (doc! { "a": { "$lt": 3 }, "b": { "$mod": [5, 3] } }, 25),
    ] {
        let count = doc! { "count": "c", "query": query.clone() };
        let Told { documents, .. } = told(db, &count).await;
        assert_eq!(
            (run(db, count).await.get_i32("n").unwrap(), documents),
            (found, 0),
            "{query}"
        );
    }
    // Writes find the same.
    let update = doc! { "update": "c", "updates": [{ "q": { "b": { "$mod": [7, 3] } }, "u": { "$set": { "m": 1 } }, "multi": true }] };
    assert_eq!(run(db, update).await.get_i32("nModified").unwrap(), 43);
    assert_eq!(
        run(db, doc! { "count": "c", "query": { "m": 1 } })
            .await
            .get_i32("n")
            .unwrap(),
        43
    );
}

async fn what_is_passed_over_is_not_read(db: &Db) {
    many(db).await;
    let by_b = doc! { "b": { "$gte": 5 } };
    let one = |more: Document| {
        let mut command = doc! { "find": "c", "skip": 100, "limit": 5 };
        command.extend(more);
        command
    };
    for (command, first, read) in [
        (one(doc! { "sort": { "_id": 1 } }), 100, 5),
        (one(doc! { "sort": { "_id": -1 } }), 201, 5),
        (one(doc! { "filter": by_b.clone(), "sort": { "b": 1 } }), 105, 5),
        (
            one(doc! { "filter": by_b.clone(), "sort": { "b": 1 }, "projection": { "b": 1, "_id": 1 } }),
            105,
            5,
        ),
        (one(doc! {}), 100, 105),
    ] {
        let found = ids(&batch(&run(db, command.clone()).await));
        let sign = match command.get_document("sort") {
            Ok(sort) => sort.get_i32("_id").unwrap_or(1),
            Err(_) => 1,
        };
        let expected: Vec<i32> = (0..5).map(|at| first + sign * at).collect();
        assert_eq!(
            (found, told(db, &command).await.documents),
            (expected, read),
            "{command}"
        );
    }
    // What else is asked is asked of documents.
    let command = one(doc! { "filter": { "b": { "$gte": 5 }, "x": 1 }, "sort": { "b": 1 } });
    assert!(told(db, &command).await.documents > 100);
    let page = vec![
        doc! { "$match": by_b },
        doc! { "$sort": { "b": 1 } },
        doc! { "$skip": 290 },
        doc! { "$limit": 20 },
    ];
    let pipeline = doc! { "aggregate": "c", "pipeline": page, "cursor": {} };
    assert_eq!(ids(&batch(&run(db, pipeline).await)), [295, 296, 297, 298, 299]);
    let beyond = doc! { "find": "c", "sort": { "_id": 1 }, "skip": 1_000 };
    assert_eq!(batch(&run(db, beyond).await), Vec::<Document>::new());
}

async fn values_of_arrays_are_leaped_to(db: &Db) {
    let lists = (0..400).map(|id| doc! { "_id": id, "v": [id % 10, id % 3, format!("t{}", id % 4)], "p": [{ "q": id % 6 }, { "q": 7.0 }] });
    insert(db, "c", lists.collect()).await;
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 900, "v": 11 },
            doc! { "_id": 901, "v": [11.0, 2.0] },
        ],
    )
    .await;
    let distinct = async |key: &str| {
        let command = doc! { "distinct": "c", "key": key };
        let values = run(db, command.clone())
            .await
            .get_array("values")
            .unwrap()
            .clone();
        (values, told(db, &command).await)
    };
    let (before, of_p) = (distinct("v").await.0, distinct("p.q").await.0);
    assert_eq!(before.len(), 15);
    index(db, "c", doc! { "v": 1 }).await;
    index(db, "c", doc! { "p.q": -1, "_id": 1 }).await;
    for (key, expected) in [("v", before), ("p.q", of_p)] {
        let (values, told) = distinct(key).await;
        // Where a field is missing, a server gives null for it.
        let values: Vec<Bson> = match db.backend_name() {
            "mongodb" => values.into_iter().filter(|value| *value != Bson::Null).collect(),
            _ => values,
        };
        assert_eq!(values, expected, "{key}");
        assert!(told.keys <= 100, "{key}: {}", told.keys);
        assert!(told.stages.iter().any(|stage| stage == "DISTINCT_SCAN"), "{key}");
    }
    // Elements of the documents that a condition finds are not all in its bounds.
    let some = doc! { "distinct": "c", "key": "v", "query": { "v": { "$gte": 9 } } };
    let values = run(db, some).await.get_array("values").unwrap().clone();
    assert!(
        values.contains(&Bson::Int32(0)) && values.contains(&Bson::from("t3")),
        "{values:?}"
    );
}

async fn texts_are_indexed_anew_where_they_change(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "t": "running dogs", "in": { "t": "cats" }, "n": 0 }],
    )
    .await;
    let key = doc! { "t": "text", "in.t": "text" };
    let create =
        doc! { "createIndexes": "c", "indexes": [{ "key": key, "name": "t", "weights": { "t": 2 } }] };
    run(db, create).await;
    let found = async |text: &str| {
        let find = doc! { "find": "c", "filter": { "$text": { "$search": text } } };
        batch(&run(db, find).await).len()
    };
    let update = async |change: Document| {
        let update = doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": change }] };
        assert_eq!(run(db, update).await.get_i32("nModified").unwrap(), 1);
    };
    update(doc! { "$inc": { "n": 1 } }).await;
    assert_eq!((found("run").await, found("cat").await), (1, 1));
    // In no language words are as they are written.
    update(doc! { "$set": { "language": "none" } }).await;
    assert_eq!((found("run").await, found("cat").await), (0, 0));
    update(doc! { "$unset": { "language": 1 }, "$set": { "in.t": "birds" } }).await;
    assert_eq!(
        (found("run").await, found("cat").await, found("bird").await),
        (1, 0, 1)
    );
}
