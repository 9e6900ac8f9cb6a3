//! Stages that look at some fields of documents, take arrays apart, project and join: what comes out is what whole documents
//! give.

use odm::Db;
use odm::bson::{Bson, Decimal128, Document, Regex, doc};
use odm_tests::command::{aggregate, batch, index, insert, run};

crate::on_every_backend! {
    arrays_are_taken_apart_in_their_places,
    positions_stand_where_they_are_said,
    fields_stay_where_they_are,
    what_is_computed_in_arrays_is_computed_for_each_element,
    faults_show_what_was_looked_at,
    levels_are_kept_and_dropped,
    joins_without_an_index_find_what_an_index_finds,
}

fn show(documents: Vec<Document>) -> String {
    let documents: Vec<String> = documents.iter().map(Document::to_string).collect();
    documents.join(" ")
}

fn shown(expected: &[Document]) -> String {
    show(expected.to_vec())
}

async fn one(db: &Db, document: Document) {
    let _ = db.run_command(doc! { "drop": "c" }).await;
    insert(db, "c", vec![document]).await;
}

async fn arrays_are_taken_apart_in_their_places(db: &Db) {
    one(
        db,
        doc! { "_id": 1, "a": "x", "s": { "l": [1, "two", { "d": [3] }, []], "m": 4 }, "z": 5 },
    )
    .await;
    let unwind = doc! { "$unwind": "$s.l" };
    let of = |l: Bson| doc! { "_id": 1, "a": "x", "s": { "l": l, "m": 4 }, "z": 5 };
    let elements = [
        Bson::Int32(1),
        "two".into(),
        doc! { "d": [3] }.into(),
        Bson::Array(vec![]),
    ];
    let all = elements.map(of);
    assert_eq!(show(aggregate(db, "c", vec![unwind.clone()]).await), shown(&all));
    let lengths = vec![unwind.clone(), doc! { "$count": "n" }];
    assert_eq!(show(aggregate(db, "c", lengths).await), shown(&[doc! { "n": 4 }]));
    let group = vec![
        unwind,
        doc! { "$group": { "_id": "$s.m", "l": { "$push": "$s.l" } } },
    ];
    let expected = doc! { "_id": 4, "l": [1, "two", { "d": [3] }, []] };
    assert_eq!(show(aggregate(db, "c", group).await), shown(&[expected]));
    for (path, document, expected) in [
        ("$l", doc! { "_id": 1, "l": [] }, doc! { "_id": 1 }),
        (
            "$l",
            doc! { "_id": 1, "l": null, "n": 1 },
            doc! { "_id": 1, "l": null, "n": 1 },
        ),
        ("$l", doc! { "_id": 1, "n": 1 }, doc! { "_id": 1, "n": 1 }),
        ("$l", doc! { "_id": 1, "l": 7 }, doc! { "_id": 1, "l": 7 }),
        (
            "$l.k",
            doc! { "_id": 1, "l": [{ "k": [1, 2] }] },
            doc! { "_id": 1, "l": [{ "k": [1, 2] }] },
        ),
    ] {
        one(db, document).await;
        let keeping = doc! { "$unwind": { "path": path, "preserveNullAndEmptyArrays": true } };
        assert_eq!(show(aggregate(db, "c", vec![keeping]).await), shown(&[expected]));
    }
}

async fn positions_stand_where_they_are_said(db: &Db) {
    let document = || doc! { "_id": 1, "b": { "i": 9 }, "l": ["x", { "k": 1 }] };
    for (index, expected) in [
        (
            "i",
            [
                doc! { "_id": 1, "b": { "i": 9 }, "l": "x", "i": 0_i64 },
                doc! { "_id": 1, "b": { "i": 9 }, "l": { "k": 1 }, "i": 1_i64 },
            ],
        ),
        (
            "b.i",
            [
                doc! { "_id": 1, "b": { "i": 0_i64 }, "l": "x" },
                doc! { "_id": 1, "b": { "i": 1_i64 }, "l": { "k": 1 } },
            ],
        ),
        (
            "b",
            [
                doc! { "_id": 1, "b": 0_i64, "l": "x" },
                doc! { "_id": 1, "b": 1_i64, "l": { "k": 1 } },
            ],
        ),
        (
            "n.m",
            [
                doc! { "_id": 1, "b": { "i": 9 }, "l": "x", "n": { "m": 0_i64 } },
                doc! { "_id": 1, "b": { "i": 9 }, "l": { "k": 1 }, "n": { "m": 1_i64 } },
            ],
        ),
        (
            "l",
            [
                doc! { "_id": 1, "b": { "i": 9 }, "l": 0_i64 },
                doc! { "_id": 1, "b": { "i": 9 }, "l": 1_i64 },
            ],
        ),
        (
            "l.i",
            [
                doc! { "_id": 1, "b": { "i": 9 }, "l": { "i": 0_i64 } },
                doc! { "_id": 1, "b": { "i": 9 }, "l": { "k": 1, "i": 1_i64 } },
            ],
        ),
    ] {
        one(db, document()).await;
        let unwind = doc! { "$unwind": { "path": "$l", "includeArrayIndex": index } };
        assert_eq!(
            show(aggregate(db, "c", vec![unwind]).await),
            shown(&expected),
            "{index}"
        );
    }
}

async fn fields_stay_where_they_are(db: &Db) {
    let document = doc! { "_id": 1, "a": 1, "l": [1, { "k": 2, "m": 3 }, [{ "k": 4 }, 5]], "s": { "k": 6, "t": { "u": 7 } }, "z": 8 };
    one(db, document).await;
    for (stage, expected) in [
        (
            doc! { "$addFields": { "a": "$z", "n": { "$add": ["$a", 1] } } },
            doc! { "_id": 1, "a": 8, "l": [1, { "k": 2, "m": 3 }, [{ "k": 4 }, 5]], "s": { "k": 6, "t": { "u": 7 } }, "z": 8, "n": 2 },
        ),
        (
            doc! { "$addFields": { "a": "$$REMOVE", "z": "$missing", "s": "$s.t" } },
            doc! { "_id": 1, "l": [1, { "k": 2, "m": 3 }, [{ "k": 4 }, 5]], "s": { "u": 7 } },
        ),
        (
            doc! { "$project": { "z": 1, "l.k": 1, "s.t": 1, "n": "$a", "a": "$s.k" } },
            doc! { "_id": 1, "l": [{ "k": 2 }, [{ "k": 4 }]], "s": { "t": { "u": 7 } }, "z": 8, "n": 1, "a": 6 },
        ),
        (
            doc! { "$project": { "_id": 0, "l.k": 0, "s.t.u": 0, "a.b": 0 } },
            doc! { "a": 1, "l": [1, { "m": 3 }, [{}, 5]], "s": { "k": 6, "t": {} }, "z": 8 },
        ),
        (
            doc! { "$unset": ["l", "s.k"] },
            doc! { "_id": 1, "a": 1, "s": { "t": { "u": 7 } }, "z": 8 },
        ),
        (doc! { "$replaceWith": "$s" }, doc! { "k": 6, "t": { "u": 7 } }),
    ] {
        assert_eq!(
            show(aggregate(db, "c", vec![stage.clone()]).await),
            shown(&[expected]),
            "{stage}"
        );
    }
}

async fn what_is_computed_in_arrays_is_computed_for_each_element(db: &Db) {
    let wrong = doc! { "$mergeObjects": ["$a", { "k": 1 }] };
    let stages = vec![doc! { "$addFields": { "l.n": wrong } }, doc! { "$count": "n" }];
    // In an empty array nothing is computed, so that nothing is wrong, whether or not the field is asked for.
    one(db, doc! { "_id": 1, "a": 5, "l": [] }).await;
    assert_eq!(
        show(aggregate(db, "c", stages.clone()).await),
        shown(&[doc! { "n": 1 }])
    );
    one(db, doc! { "_id": 1, "a": 5, "l": [1] }).await;
    let command = doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
    assert_eq!(db.run_command(command).await.unwrap_err().code(), Some(40400));
}

async fn faults_show_what_was_looked_at(db: &Db) {
    one(db, doc! { "_id": 1, "a": 1, "s": 4, "b": { "x": 1 }, "l": [1] }).await;
    for (stages, shown) in [
        (vec![doc! { "$replaceRoot": { "newRoot": "$s" } }], "{s: 4}"),
        (
            vec![
                doc! { "$match": { "a": 1 } },
                doc! { "$replaceRoot": { "newRoot": "$s" } },
            ],
            "{s: 4}",
        ),
        (
            vec![
                doc! { "$unwind": "$l" },
                doc! { "$replaceRoot": { "newRoot": "$s" } },
            ],
            "{s: 4, l: 1}",
        ),
        (
            vec![doc! { "$replaceRoot": { "newRoot": "$b.x" } }],
            "{b: {x: 1}}",
        ),
        (
            vec![doc! { "$replaceRoot": { "newRoot": { "$ifNull": ["$s", "$$ROOT"] } } }],
            "{_id: 1, a: 1, s: 4, b: {x: 1}, l: [1]}",
        ),
    ] {
        let command = doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
        let error = db.run_command(command).await.unwrap_err();
        assert_eq!(error.code(), Some(40228));
        assert!(
            error.message().ends_with(&format!("Input document: {shown}")),
            "{error}"
        );
    }
}

async fn levels_are_kept_and_dropped(db: &Db) {
    let document = doc! { "_id": 1, "v": 1, "in": { "v": 2, "in": { "v": 3 }, "x": 1 }, "l": [{ "v": 9 }, { "v": 1, "y": 2 }, 7, [{ "v": 9 }]] };
    one(db, document).await;
    let redact = |condition: Document, then: &str, otherwise: &str| {
        vec![doc! { "$redact": { "$cond": [condition, then, otherwise] } }]
    };
    let small = || doc! { "$lt": ["$v", 3] };
    let expected = doc! { "_id": 1, "v": 1, "in": { "v": 2, "x": 1 }, "l": [{ "v": 1, "y": 2 }, 7, []] };
    assert_eq!(
        show(aggregate(db, "c", redact(small(), "$$DESCEND", "$$PRUNE")).await),
        shown(&[expected])
    );
    let all = aggregate(db, "c", redact(small(), "$$KEEP", "$$PRUNE")).await;
    assert_eq!(all[0].len(), 4);
    assert_eq!(
        show(aggregate(db, "c", redact(small(), "$$PRUNE", "$$KEEP")).await),
        ""
    );
    // The whole document is another than that of the level.
    let whole = doc! { "$and": [{ "$eq": ["$$ROOT.v", 1] }, { "$ne": ["$$CURRENT.v", 9] }] };
    let expected = doc! { "_id": 1, "v": 1, "in": { "v": 2, "in": { "v": 3 }, "x": 1 }, "l": [{ "v": 1, "y": 2 }, 7, []] };
    assert_eq!(
        show(aggregate(db, "c", redact(whole, "$$DESCEND", "$$PRUNE")).await),
        shown(&[expected])
    );
}

async fn joins_without_an_index_find_what_an_index_finds(db: &Db) {
    let values = || {
        vec![
            Bson::Int32(1),
            Bson::Int64(1),
            Bson::Double(1.0),
            Bson::Double(f64::NAN),
            Bson::Decimal128("1.0".parse::<Decimal128>().unwrap()),
            Bson::Int32(2),
            Bson::Null,
            Bson::from("a"),
            Bson::from("A"),
            Bson::Boolean(true),
            Bson::Document(doc! { "k": 1 }),
            Bson::Document(doc! { "k": 1.0 }),
            Bson::Array(vec![1.into(), "a".into()]),
            Bson::Array(vec![]),
            Bson::Array(vec![Bson::Array(vec![1.into()])]),
            Bson::Array(vec![Bson::Null]),
            Bson::RegularExpression(Regex {
                pattern: "a".try_into().unwrap(),
                options: "".try_into().unwrap(),
            }),
        ]
    };
    let many = || {
        (0..)
            .zip(values())
            .map(|(id, v)| doc! { "_id": id, "v": v.clone(), "d": { "v": v } })
    };
    insert(db, "c", many().chain([doc! { "_id": 99 }]).collect()).await;
    insert(
        db,
        "o",
        many()
            .chain([
                doc! { "_id": 99 },
                doc! { "_id": 100, "d": [{ "v": 1 }, { "v": 2 }] },
            ])
            .collect(),
    )
    .await;
    let join = |local: &str, foreign: &str| {
        vec![
            doc! { "$sort": { "_id": 1 } },
            doc! { "$lookup": { "from": "o", "localField": local, "foreignField": foreign, "as": "j" } },
            doc! { "$project": { "j": { "$sortArray": { "input": "$j._id", "sortBy": 1 } } } },
        ]
    };
    for collation in [doc! {}, doc! { "collation": { "locale": "en", "strength": 2 } }] {
        for (local, foreign) in [
            ("v", "v"),
            ("d.v", "v"),
            ("v", "d.v"),
            ("v", "nothing"),
            ("nothing", "v"),
        ] {
            let command = || {
                let mut command = doc! { "aggregate": "c", "pipeline": join(local, foreign), "cursor": { "batchSize": 1000 } };
                command.extend(collation.clone());
                command
            };
            let _ = db.run_command(doc! { "dropIndexes": "o", "index": "*" }).await;
            let without = batch(&run(db, command()).await);
            index(db, "o", doc! { foreign: 1 }).await;
            let with = batch(&run(db, command()).await);
            assert_eq!(show(without.clone()), show(with), "{local} {foreign} {collation}");
            assert_eq!(without.len(), 18);
        }
    }
}
