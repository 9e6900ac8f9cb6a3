//! Queries whose answers the keys of an index have: no document is read, and the answers are those of the documents.

use odm::Db;
use odm::bson::oid::ObjectId;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, DateTime, Decimal128, Document, RawDocumentBuf, Regex, Timestamp, doc};
use odm_tests::command::{batch, figure, insert, run, stages};

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
    distinct_values_are_those_of_the_documents,
    scans_leap_from_one_value_to_the_next,
    groups_of_nothing_but_a_value_leap_too,
}

const DOCUMENTS: i32 = 200;

fn document(id: i32) -> Document {
    doc! {
        "_id": id, "b": format!("b{}", id % 11), "a": id % 7, "rest": "x".repeat(40),
        "n": { "y": id % 3, "x": id % 5, "z": 1 },
    }
}

async fn index(db: &Db, of: &str, key: Document) {
    let name: Vec<String> = key
        .iter()
        .map(|(path, order)| format!("{path}_{order}"))
        .collect();
    let index = doc! { "key": key, "name": name.join("_") };
    run(db, doc! { "createIndexes": of, "indexes": [index] }).await;
}

async fn many(db: &Db) {
    insert(db, "c", (0..DOCUMENTS).map(document).collect()).await;
    for key in [
        doc! { "a": 1, "b": 1 },
        doc! { "n.x": 1, "a": -1, "n.y": 1 },
        doc! { "b": -1, "_id": 1 },
    ] {
        index(db, "c", key).await;
    }
}

/// The names of the stages, and how many keys and documents were looked at.
async fn told(db: &Db, command: &Document) -> (Vec<String>, i64, i64) {
    let explain = doc! { "explain": command.clone(), "verbosity": "executionStats" };
    let reply = run(db, explain).await;
    let reply = match reply.get_array("stages") {
        Ok(stages) => stages[0]
            .as_document()
            .unwrap()
            .get_document("$cursor")
            .unwrap()
            .clone(),
        Err(_) => reply,
    };
    let planner = reply.get_document("queryPlanner").unwrap();
    let winning = planner.get_document("winningPlan").unwrap();
    let winning = winning.get_document("queryPlan").unwrap_or(winning);
    let figures = reply.get_document("executionStats").unwrap();
    let figure = |name| figure(figures, name);
    (
        stages(winning),
        figure("totalKeysExamined"),
        figure("totalDocsExamined"),
    )
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
    let (stages, keys, documents) = told(db, &command).await;
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
    assert_eq!(told(db, &both).await.2, 0);

    // One field more, and they are read.
    let more = with(
        find(doc! { "a": 3 }, doc! { "a": 1, "rest": 1, "_id": 0 }),
        doc! { "hint": { "a": 1, "b": 1 } },
    );
    let (stages, _, documents) = told(db, &more).await;
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
    assert_eq!(told(db, &id).await.2, 29);
    // Of an index that has it too, not.
    let id = with(
        find(doc! { "b": "b4" }, doc! { "b": 1 }),
        doc! { "hint": { "b": -1, "_id": 1 } },
    );
    assert_eq!(told(db, &id).await.2, 0);
    assert_eq!(answer(db, id).await[0], doc! { "b": "b4", "_id": 4 });

    let ids = find(doc! { "_id": { "$in": [3, 5, 1000] } }, doc! { "_id": 1 });
    assert_eq!(told(db, &ids).await.2, 0);
    assert_eq!(answer(db, ids).await, [doc! { "_id": 3 }, doc! { "_id": 5 }]);
    let range = find(doc! { "_id": { "$gte": 190 } }, doc! { "_id": 1 });
    assert_eq!(
        told(db, &range).await,
        (["PROJECTION_COVERED", "IXSCAN"].map(String::from).to_vec(), 10, 0)
    );
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
        let (stages, _, documents) = told(db, &command).await;
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
        let (stages, _, _) = told(db, &command).await;
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
        let (stages, _, documents) = told(db, &command).await;
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
        let (stages, _, documents) = told(db, &command).await;
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
        assert_eq!(i32::from(told(db, &command).await.2 > 0), reads, "{order}");
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
    let (stages, _, documents) = told(db, &merged).await;
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
    let (_, keys, documents) = told(db, &page).await;
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
            let (_, _, documents) = told(db, &by_keys).await;
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
        assert_eq!(told.0, ["PROJECTION_COVERED", "IXSCAN"]);
        assert!(told.2 <= 3, "{told:?}");
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
        assert_eq!(told(db, &command).await.2, 0);
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
    let (stages, _, documents) = told(db, &command).await;
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
        let (stages, keys, documents) = told(db, &command).await;
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
        let (stages, keys, _) = told(db, &command).await;
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
