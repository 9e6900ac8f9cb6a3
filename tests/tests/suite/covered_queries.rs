//! Queries whose answers the keys of an index have: no document is read, and the answers are those of the documents.

use odm::Db;
use odm::bson::oid::ObjectId;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, DateTime, Decimal128, Document, RawDocumentBuf, Regex, Timestamp, doc};
use odm_tests::command::{Told, batch, index, insert, run, told};

crate::on_every_backend! {
    what_an_index_has_is_not_read,
    filters_are_asked_of_keys_where_the_server_does,
    projections_and_orders_are_made_of_keys,
    stages_read_what_they_need,
    values_of_every_type_come_out_as_they_went_in,
    what_changes_its_type_alone_is_seen,
    what_keys_do_not_tell_is_read,
    arrays_are_read,
    batches_and_transactions_see_their_own_state,
    fields_come_as_they_stand_in_the_index,
}

const DOCUMENTS: i32 = 200;

fn document(id: i32) -> Document {
    doc! {
        "_id": id, "b": format!("b{}", id % 11), "a": id % 7, "rest": "x".repeat(40),
        "n": { "y": id % 3, "x": id % 5, "z": 1 },
    }
}

/// Documents, and indexes that have some of their fields each.
pub(super) async fn many(db: &Db) {
    insert(db, "c", (0..DOCUMENTS).map(document).collect()).await;
    for key in [
        doc! { "a": 1, "b": 1 },
        doc! { "n.x": 1, "a": -1, "n.y": 1 },
        doc! { "b": -1, "_id": 1 },
    ] {
        index(db, "c", key).await;
    }
}

fn find(filter: Document, projection: Document) -> Document {
    doc! { "find": "c", "filter": filter, "projection": projection, "batchSize": 1000 }
}

fn with(mut command: Document, more: Document) -> Document {
    command.extend(more);
    command
}

/// The answer, which is the same where documents are read.
async fn answer(db: &Db, command: Document) -> Vec<Document> {
    let found = batch(&run(db, command.clone()).await);
    let mut plain = command;
    let by_documents = match plain.remove("projection") {
        Some(Bson::Document(projection)) => {
            // An expression that needs a field of no index.
            let mut projection = projection;
            projection.insert("none", "$nowhere");
            plain.insert("projection", projection);
            batch(&run(db, plain).await)
        }
        _ => return found,
    };
    let sorted = |documents: &[Document]| documents.iter().map(in_order).collect::<Vec<_>>();
    assert_eq!(sorted(&found), sorted(&by_documents));
    found
}

/// The document with its fields by their names.
fn in_order(document: &Document) -> Document {
    let mut fields: Vec<_> = document.iter().collect();
    fields.sort_by(|a, b| a.0.cmp(b.0));
    let fields = fields.into_iter().map(|(name, value)| match value {
        Bson::Document(inner) => (name.clone(), Bson::Document(in_order(inner))),
        other => (name.clone(), other.clone()),
    });
    fields.collect()
}

async fn what_an_index_has_is_not_read(db: &Db) {
    many(db).await;
    let only_a = doc! { "a": 1, "_id": 0 };
    let command = with(
        find(doc! { "a": { "$gte": 2, "$lt": 4 } }, only_a.clone()),
        doc! { "hint": { "a": 1, "b": 1 } },
    );
    let Told {
        stages,
        keys,
        documents,
    } = told(db, &command).await;
    assert_eq!(stages, ["PROJECTION_COVERED", "IXSCAN"]);
    assert_eq!((keys, documents), (58, 0));
    let found = answer(db, command).await;
    assert_eq!(found.len(), 58);
    assert!(
        found
            .iter()
            .all(|found| found.len() == 1 && matches!(found.get("a"), Some(Bson::Int32(2 | 3))))
    );

    // In the order of the key, whatever that of the documents is.
    let both = with(
        find(doc! { "a": 3, "b": "b4" }, doc! { "b": 1, "a": 1, "_id": 0 }),
        doc! { "hint": { "a": 1, "b": 1 } },
    );
    assert_eq!(answer(db, both.clone()).await[0], doc! { "a": 3, "b": "b4" });
    assert_eq!(told(db, &both).await.documents, 0);

    // One field more, and they are read.
    let more = with(
        find(doc! { "a": 3 }, doc! { "a": 1, "rest": 1, "_id": 0 }),
        doc! { "hint": { "a": 1, "b": 1 } },
    );
    let Told {
        stages, documents, ..
    } = told(db, &more).await;
    assert_eq!(
        (stages, documents),
        (
            ["PROJECTION_SIMPLE", "FETCH", "IXSCAN"]
                .map(String::from)
                .to_vec(),
            29
        )
    );
    let id = with(
        find(doc! { "a": 3 }, doc! { "a": 1 }),
        doc! { "hint": { "a": 1, "b": 1 } },
    );
    assert_eq!(told(db, &id).await.documents, 29);
    // Of an index that has it too, not.
    let id = with(
        find(doc! { "b": "b4" }, doc! { "b": 1 }),
        doc! { "hint": { "b": -1, "_id": 1 } },
    );
    assert_eq!(told(db, &id).await.documents, 0);
    assert_eq!(answer(db, id).await[0], doc! { "b": "b4", "_id": 4 });

    let ids = find(doc! { "_id": { "$in": [3, 5, 1000] } }, doc! { "_id": 1 });
    assert_eq!(told(db, &ids).await.documents, 0);
    assert_eq!(answer(db, ids).await, [doc! { "_id": 3 }, doc! { "_id": 5 }]);
    let range = find(doc! { "_id": { "$gte": 190 } }, doc! { "_id": 1 });
    let told = told(db, &range).await;
    assert_eq!(told.stages, ["PROJECTION_COVERED", "IXSCAN"]);
    assert_eq!((told.keys, told.documents), (10, 0));
}

async fn filters_are_asked_of_keys_where_the_server_does(db: &Db) {
    many(db).await;
    let hint = doc! { "hint": { "a": 1, "b": 1 } };
    let covered = [
        doc! { "b": "b4" },
        doc! { "b": { "$gt": "b2", "$lt": "b5" } },
        doc! { "b": { "$in": ["b1", "b2"] } },
        doc! { "b": { "$nin": ["b1", Bson::Null] } },
        doc! { "b": { "$ne": Bson::Null } },
        doc! { "b": { "$regex": "4$" } },
        doc! { "b": { "$type": "string" } },
        doc! { "b": { "$type": ["int", "object"] } },
        doc! { "a": { "$mod": [2, 1] } },
        doc! { "b": { "$not": { "$gt": "b3" } } },
        doc! { "$or": [{ "b": "b1" }, { "b": "b2" }] },
        doc! { "$nor": [{ "b": "b1" }] },
        doc! { "b": { "$all": ["b1"] } },
        doc! { "b": { "$eq": { "x": 1 } } },
    ];
    for filter in covered {
        let command = with(
            find(
                doc! { "$and": [{ "a": { "$gte": 1 } }, filter.clone()] },
                doc! { "a": 1, "_id": 0 },
            ),
            hint.clone(),
        );
        let Told {
            stages, documents, ..
        } = told(db, &command).await;
        assert!(
            !stages.iter().any(|stage| stage == "FETCH"),
            "{filter} {stages:?}"
        );
        assert_eq!(documents, 0, "{filter}");
        answer(db, command).await;
    }
    let read = [
        doc! { "b": Bson::Null },
        doc! { "b": { "$exists": true } },
        doc! { "b": { "$in": ["b1", Bson::Null] } },
        doc! { "b": { "$type": "null" } },
        doc! { "b": { "$not": { "$regex": "4$" } } },
        doc! { "b": { "$not": { "$type": "int" } } },
        doc! { "a": { "$bitsAllSet": 1 } },
        doc! { "b": { "$size": 1 } },
        doc! { "b": [1] },
        doc! { "$expr": { "$gt": ["$b", "b3"] } },
        doc! { "$or": [{ "b": "b1" }, { "rest": "y" }] },
        doc! { "rest": "y" },
    ];
    for filter in read {
        let command = with(
            find(
                doc! { "$and": [{ "a": { "$gte": 1 } }, filter.clone()] },
                doc! { "a": 1, "_id": 0 },
            ),
            hint.clone(),
        );
        let Told { stages, .. } = told(db, &command).await;
        assert!(stages.iter().any(|stage| stage == "FETCH"), "{filter} {stages:?}");
        answer(db, command).await;
    }
}

async fn projections_and_orders_are_made_of_keys(db: &Db) {
    many(db).await;
    let by_a = doc! { "hint": { "a": 1, "b": 1 } };
    let by_n = doc! { "hint": { "n.x": 1, "a": -1, "n.y": 1 } };
    let cases = [
        (
            doc! { "a": 1, "sum": { "$concat": ["$b", "!"] }, "_id": 0 },
            &by_a,
            "PROJECTION_DEFAULT",
        ),
        (
            doc! { "only": { "$literal": 1 }, "_id": 0 },
            &by_a,
            "PROJECTION_DEFAULT",
        ),
        (doc! { "n": "$$CURRENT.b", "_id": 0 }, &by_a, "PROJECTION_DEFAULT"),
        (
            doc! { "n": { "$let": { "vars": { "q": "$a" }, "in": "$$q" } }, "_id": 0 },
            &by_a,
            "PROJECTION_DEFAULT",
        ),
        (doc! { "n.y": 1, "n.x": 1, "_id": 0 }, &by_n, "PROJECTION_DEFAULT"),
        (
            doc! { "n": { "x": 1 }, "a": 1, "_id": 0 },
            &by_n,
            "PROJECTION_DEFAULT",
        ),
        (doc! { "a": true, "_id": false }, &by_n, "PROJECTION_COVERED"),
    ];
    for (projection, hint, stage) in cases {
        let filter = match hint == &by_a {
            true => doc! { "a": { "$gte": 1 } },
            false => doc! { "n.x": { "$gte": 1 } },
        };
        let command = with(find(filter, projection.clone()), hint.clone());
        let Told {
            stages, documents, ..
        } = told(db, &command).await;
        assert_eq!((stages[0].as_str(), documents), (stage, 0), "{projection}");
        assert!(!answer(db, command).await.is_empty());
    }
    let read = [
        doc! { "a": 0 },
        doc! { "_id": 0 },
        doc! { "a.x": 1, "_id": 0 },
        doc! { "a": { "$slice": 1 }, "_id": 0 },
        doc! { "all": "$$ROOT", "_id": 0 },
        doc! { "a": 1, "n": { "q": "$a" }, "_id": 0 },
    ];
    for projection in read {
        let command = with(find(doc! { "a": 3 }, projection.clone()), by_a.clone());
        let Told {
            stages, documents, ..
        } = told(db, &command).await;
        assert!(stages.iter().any(|stage| stage == "FETCH"), "{projection}");
        assert_eq!(documents, 29, "{projection}");
    }
    // Orders: by the index, against it, by what is sorted, of several scans.
    let ordered = [
        (doc! { "a": 1, "b": 1 }, 0),
        (doc! { "a": -1, "b": -1 }, 0),
        (doc! { "b": 1 }, 0),
        (doc! { "rest": 1 }, 1),
    ];
    for (order, reads) in ordered {
        let command = with(
            find(doc! { "a": { "$gte": 2 } }, doc! { "a": 1, "b": 1, "_id": 0 }),
            with(by_a.clone(), doc! { "sort": order.clone() }),
        );
        assert_eq!(
            i32::from(told(db, &command).await.documents > 0),
            reads,
            "{order}"
        );
        let found = answer(db, command).await;
        let key = |found: &Document| match order.keys().next().map(String::as_str) {
            Some("b") => (0, found.get_str("b").unwrap().to_owned()),
            _ => (
                found.get_i32("a").unwrap(),
                found.get_str("b").unwrap().to_owned(),
            ),
        };
        match (order.contains_key("rest"), order.get_i32("a")) {
            (true, _) => {}
            (_, Ok(-1)) => assert!(found.is_sorted_by(|a, b| key(a) >= key(b))),
            _ => assert!(found.is_sorted_by(|a, b| key(a) <= key(b))),
        }
    }
    let merged = with(
        find(doc! { "a": { "$in": [1, 4] } }, doc! { "a": 1, "b": 1, "_id": 0 }),
        with(by_a.clone(), doc! { "sort": { "b": 1 }, "limit": 20 }),
    );
    let Told {
        stages, documents, ..
    } = told(db, &merged).await;
    assert!(stages.iter().any(|stage| stage == "SORT_MERGE"), "{stages:?}");
    assert_eq!(documents, 0);
    assert!(
        answer(db, merged)
            .await
            .is_sorted_by_key(|found| found.get_str("b").unwrap().to_owned())
    );
    // Pages of it.
    let page = with(
        find(doc! { "a": { "$gte": 2 } }, doc! { "a": 1, "b": 1, "_id": 0 }),
        with(by_a, doc! { "skip": 5, "limit": 3, "sort": { "a": 1, "b": 1 } }),
    );
    let Told { keys, documents, .. } = told(db, &page).await;
    assert_eq!((keys, documents), (8, 0));
    assert_eq!(answer(db, page).await.len(), 3);
}

async fn stages_read_what_they_need(db: &Db) {
    many(db).await;
    let bounded = doc! { "$match": { "a": { "$gte": 3 } } };
    let covered = [
        vec![
            doc! { "$group": { "_id": "$a", "n": { "$sum": 1 } } },
            doc! { "$sort": { "_id": 1 } },
        ],
        vec![
            doc! { "$group": { "_id": "$a", "least": { "$min": "$b" }, "most": { "$max": "$b" } } },
            doc! { "$sort": { "_id": 1 } },
        ],
        vec![
            doc! { "$project": { "a": 1, "_id": 0 } },
            doc! { "$sort": { "a": 1 } },
        ],
        vec![
            doc! { "$project": { "_id": 0, "up": { "$toUpper": "$b" } } },
            doc! { "$sort": { "up": 1 } },
        ],
        vec![
            doc! { "$sort": { "b": 1, "a": 1 } },
            doc! { "$limit": 7 },
            doc! { "$project": { "a": 1, "b": 1, "_id": 0 } },
        ],
        vec![doc! { "$sortByCount": "$b" }, doc! { "$sort": { "_id": 1 } }],
        vec![
            doc! { "$bucket": { "groupBy": "$a", "boundaries": [0, 4, 10], "output": { "n": { "$sum": 1 } } } },
        ],
    ];
    let read = [
        vec![
            doc! { "$group": { "_id": "$a", "all": { "$addToSet": { "$type": "$$ROOT" } } } },
            doc! { "$sort": { "_id": 1 } },
        ],
        vec![
            doc! { "$group": { "_id": "$a", "n": { "$sum": "$n.z" } } },
            doc! { "$sort": { "_id": 1 } },
        ],
        vec![doc! { "$project": { "a": 1 } }, doc! { "$sort": { "_id": 1 } }],
        vec![
            doc! { "$set": { "k": 1 } },
            doc! { "$group": { "_id": "$k", "n": { "$sum": "$a" } } },
        ],
    ];
    for (all, is_covered) in [(covered.to_vec(), true), (read.to_vec(), false)] {
        for rest in all {
            let stages: Vec<Document> = std::iter::once(bounded.clone()).chain(rest).collect();
            let hinted = |hint: Document| doc! { "aggregate": "c", "pipeline": stages.clone(), "cursor": {}, "hint": hint };
            let by_keys = hinted(doc! { "a": 1, "b": 1 });
            let Told { documents, .. } = told(db, &by_keys).await;
            assert_eq!(documents == 0, is_covered, "{stages:?}");
            let found = batch(&run(db, by_keys).await);
            assert!(!found.is_empty());
            assert_eq!(
                found,
                batch(&run(db, hinted(doc! { "$natural": 1 })).await),
                "{stages:?}"
            );
        }
    }
}

/// Documents of which `v` is each a value that keys may know too little of.
fn every_type() -> Vec<Bson> {
    let decimal = |text: &str| Bson::Decimal128(text.parse::<Decimal128>().unwrap());
    let binary = |subtype, bytes: &[u8]| {
        Bson::Binary(Binary {
            subtype,
            bytes: bytes.to_vec(),
        })
    };
    vec![
        Bson::MinKey,
        Bson::Null,
        Bson::Int32(0),
        Bson::Int32(-7),
        Bson::Int32(i32::MAX),
        Bson::Int64(0),
        Bson::Int64(7),
        Bson::Int64(i64::MIN),
        Bson::Int64(i64::MAX),
        Bson::Int64((1 << 53) + 1),
        Bson::Double(0.0),
        Bson::Double(-0.0),
        Bson::Double(7.0),
        Bson::Double(-2.5),
        Bson::Double(f64::NAN),
        Bson::Double(f64::INFINITY),
        Bson::Double(f64::NEG_INFINITY),
        decimal("7"),
        decimal("7.00"),
        decimal("-0.10"),
        decimal("NaN"),
        decimal("Infinity"),
        decimal("1E+6000"),
        Bson::String(String::new()),
        Bson::String("a\0b".to_owned()),
        Bson::String("ä😀".to_owned()),
        Bson::Symbol("a".to_owned()),
        Bson::Document(doc! { "x": 1, "y": { "z": 2.0 } }),
        Bson::Document(doc! {}),
        binary(BinarySubtype::Generic, &[0, 255, 0]),
        binary(BinarySubtype::Uuid, &[7; 16]),
        binary(BinarySubtype::BinaryOld, &[1, 2]),
        binary(BinarySubtype::UserDefined(200), &[]),
        Bson::ObjectId(ObjectId::from_bytes([9; 12])),
        Bson::Boolean(false),
        Bson::Boolean(true),
        Bson::DateTime(DateTime::from_millis(-1)),
        Bson::DateTime(DateTime::from_millis(1_700_000_000_123)),
        Bson::Timestamp(Timestamp {
            time: 4_000_000_000,
            increment: 5,
        }),
        Bson::RegularExpression(Regex {
            pattern: bson_text("^a.b"),
            options: bson_text("im"),
        }),
        Bson::JavaScriptCode("f()".to_owned()),
        Bson::MaxKey,
    ]
}

fn bson_text(text: &str) -> odm::bson::raw::CString {
    text.to_owned().try_into().unwrap()
}

async fn values_of_every_type_come_out_as_they_went_in(db: &Db) {
    for order in [1, -1] {
        let name = format!("types{}", order + 1);
        let values = every_type();
        let all = values.iter().enumerate();
        let all = all.map(|(id, value)| doc! { "_id": id as i32, "v": value.clone() });
        insert(db, &name, all.collect()).await;
        index(db, &name, doc! { "v": order, "_id": 1 }).await;
        let raw = db.raw_collection(&name);
        let command = doc! {
            "find": &name, "filter": {}, "projection": { "v": 1 }, "hint": { "v": order, "_id": 1 }, "batchSize": 1000,
        };
        let found = batch(&run(db, command.clone()).await);
        assert_eq!(found.len(), values.len());
        for found in found {
            let id = found.get_i32("_id").unwrap();
            let stored = raw.find(doc! { "_id": id }).await.unwrap().remove(0);
            let bytes = |document: &Document| RawDocumentBuf::try_from(document).unwrap();
            assert_eq!(
                bytes(&doc! { "v": found.get("v").unwrap().clone() }),
                bytes(&doc! { "v": stored.get("v").unwrap().clone() }),
                "{found}"
            );
        }
        // All but those that keys cannot tell come of keys alone.
        let told = told(db, &command).await;
        assert_eq!(told.stages, ["PROJECTION_COVERED", "IXSCAN"]);
        assert!(told.documents <= 3, "{told:?}");
    }
}

async fn what_changes_its_type_alone_is_seen(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "v": 1 }, doc! { "_id": 2, "v": 5 }],
    )
    .await;
    index(db, "c", doc! { "v": 1 }).await;
    let seen = async || {
        let command = with(
            find(doc! { "v": { "$lt": 3 } }, doc! { "v": 1, "_id": 0 }),
            doc! { "hint": { "v": 1 } },
        );
        assert_eq!(told(db, &command).await.documents, 0);
        batch(&run(db, command).await).remove(0).remove("v").unwrap()
    };
    assert_eq!(seen().await, Bson::Int32(1));
    let set = async |value: Bson| {
        let update = doc! { "q": { "_id": 1 }, "u": { "$set": { "v": value } } };
        run(db, doc! { "update": "c", "updates": [update] }).await;
    };
    for value in [
        Bson::Int64(1),
        Bson::Double(1.0),
        Bson::Int32(0),
        Bson::Double(-0.0),
        Bson::Double(0.0),
        Bson::Decimal128("1.00".parse().unwrap()),
        Bson::Decimal128("1.0".parse().unwrap()),
        Bson::Int32(1),
    ] {
        set(value.clone()).await;
        assert_eq!(format!("{:?}", seen().await), format!("{value:?}"));
    }
    // What an update computes, and a replacement.
    let update = doc! { "q": { "_id": 1 }, "u": { "$mul": { "v": 1.0 } } };
    run(db, doc! { "update": "c", "updates": [update] }).await;
    assert_eq!(seen().await, Bson::Double(1.0));
    let update = doc! { "q": { "_id": 1 }, "u": { "v": 1_i64 } };
    run(db, doc! { "update": "c", "updates": [update] }).await;
    assert_eq!(seen().await, Bson::Int64(1));
}

async fn what_keys_do_not_tell_is_read(db: &Db) {
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 1, "b": 1, "a": { "x": 1 }, "n": { "x": 1, "y": 2 } },
            doc! { "_id": 2, "b": 2, "a": Bson::Symbol("s".to_owned()), "n": {} },
            doc! { "_id": 3, "b": 3, "a": "s", "n": 5 },
            doc! { "_id": 4, "b": 4, "a": 4 },
        ],
    )
    .await;
    index(db, "c", doc! { "a": 1, "b": 1 }).await;
    index(db, "c", doc! { "n.x": 1, "b": 1 }).await;
    let by_a = with(
        find(doc! { "b": { "$gte": 1 } }, doc! { "b": 1, "a": 1, "_id": 0 }),
        doc! { "hint": { "a": 1, "b": 1 } },
    );
    assert_eq!(
        batch(&run(db, by_a).await),
        [
            doc! { "a": 4, "b": 4 },
            doc! { "a": Bson::Symbol("s".to_owned()), "b": 2 },
            doc! { "a": "s", "b": 3 },
            doc! { "a": { "x": 1 }, "b": 1 },
        ]
    );
    // A null that the server makes of what is missing is not asserted: where the field is, both agree.
    let by_n = with(
        find(doc! { "n.x": 1 }, doc! { "n.x": 1, "_id": 0 }),
        doc! { "hint": { "n.x": 1, "b": 1 } },
    );
    assert_eq!(batch(&run(db, by_n).await), [doc! { "n": { "x": 1 } }]);
    if db.backend_name() != "mongodb" {
        let by_n = with(
            find(doc! { "b": { "$gte": 1 } }, doc! { "n.x": 1, "_id": 0 }),
            doc! { "hint": { "n.x": 1, "b": 1 } },
        );
        assert_eq!(
            batch(&run(db, by_n).await),
            [doc! { "n": {} }, doc! {}, doc! {}, doc! { "n": { "x": 1 } }]
        );
    }
}

async fn arrays_are_read(db: &Db) {
    many(db).await;
    insert(db, "c", vec![doc! { "_id": 1000, "a": [3, 3.0, 9], "b": "b0" }]).await;
    let command = with(
        find(doc! { "a": { "$gte": 3 } }, doc! { "a": 1, "_id": 0 }),
        doc! { "hint": { "a": 1, "b": 1 } },
    );
    let Told {
        stages, documents, ..
    } = told(db, &command).await;
    assert!(stages.iter().any(|stage| stage == "FETCH"));
    let found = answer(db, command).await;
    assert_eq!(documents, found.len() as i64);
    assert!(found.contains(&doc! { "a": [3, 3.0, 9] }));
    // Positions.
    index(db, "c", doc! { "p.0": 1 }).await;
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 2000, "p": [5, 6] },
            doc! { "_id": 2001, "p": { "0": 5 } },
        ],
    )
    .await;
    let by_place = with(
        find(doc! { "p.0": 5 }, doc! { "p.0": 1, "_id": 0 }),
        doc! { "hint": { "p.0": 1 } },
    );
    let found = batch(&run(db, by_place).await);
    assert_eq!(found.len(), 2);
    assert!(found.contains(&doc! { "p": { "0": 5 } }), "{found:?}");
}

async fn batches_and_transactions_see_their_own_state(db: &Db) {
    many(db).await;
    let raw = db.raw_collection("c");
    let read = |size: u32| {
        let found = raw
            .find(doc! { "a": { "$gte": 2 } })
            .project_raw(doc! { "a": 1, "b": 1, "_id": 0 });
        found.hint(doc! { "a": 1, "b": 1 }).batch_size(size).stream()
    };
    let whole: Vec<Document> = read(1000).try_collect().await.unwrap();
    assert!(whole.len() > 100);
    assert_eq!(read(4).try_collect::<Vec<Document>>().await.unwrap(), whole);

    let tx = db.begin().await.unwrap();
    let raw = tx.raw_collection("c");
    raw.update_one(doc! { "_id": 3 }, doc! { "$set": { "a": 3_i64 } })
        .await
        .unwrap();
    raw.insert(doc! { "_id": 5000, "a": 3, "b": "zz" }).await.unwrap();
    raw.delete_one(doc! { "_id": 10 }).await.unwrap();
    let found = raw
        .find(doc! { "a": 3 })
        .project_raw(doc! { "a": 1, "b": 1, "_id": 0 });
    let found = found.hint(doc! { "a": 1, "b": 1 }).await.unwrap();
    assert_eq!(found.len(), 29);
    let long = found
        .iter()
        .filter(|found| found.get("a") == Some(&Bson::Int64(3)));
    assert_eq!(long.count(), 1);
    assert!(found.contains(&doc! { "a": 3, "b": "zz" }));
    tx.abort().await;
    let after: Vec<Document> = read(1000).try_collect().await.unwrap();
    assert_eq!(after, whole);
}

async fn fields_come_as_they_stand_in_the_index(db: &Db) {
    let b = |x: Bson| doc! { "y": 2, "x": x };
    let documents = vec![
        doc! { "_id": 1, "k": 1, "b": b(Bson::Int32(4)), "c": 3 },
        // What keys do not tell is read, and comes in the same order.
        doc! { "_id": 2, "k": 1, "b": b(Bson::Document(doc! { "z": 1 })), "c": 3 },
    ];
    insert(db, "c", documents).await;
    index(db, "c", doc! { "k": 1, "b.x": 1, "c": 1, "b.y": 1 }).await;
    for (projection, expected) in [
        (
            doc! { "c": 1, "b.y": 1, "b.x": 1, "_id": 0 },
            [
                doc! { "b": { "x": 4, "y": 2 }, "c": 3 },
                doc! { "b": { "x": { "z": 1 }, "y": 2 }, "c": 3 },
            ],
        ),
        (
            doc! { "b.y": 1, "c": 1, "_id": 0 },
            [doc! { "b": { "y": 2 }, "c": 3 }, doc! { "b": { "y": 2 }, "c": 3 }],
        ),
    ] {
        let find = doc! { "find": "c", "filter": { "k": 1 }, "projection": projection };
        assert_eq!(batch(&run(db, find).await), expected);
    }
}
