//! Where reading by commands once differed from MongoDB: projections, keys, hints, schemas, cursors.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::code;

crate::on_every_backend! {
    projections_see_the_variables_of_let,
    variables_are_computed_before_any_document,
    projections_take_the_names_of_references,
    metadata_take_the_place_of_a_field,
    a_positional_projection_refuses_special_filters,
    a_list_of_all_holds_literals_with_unknown_operators,
    the_key_of_a_distinct_is_a_path,
    a_distinct_takes_a_number_as_an_index,
    a_getmore_of_an_ordinary_cursor_does_not_wait,
    schemas_ask_for_paths,
    schemas_refuse_what_the_server_cannot_divide_by,
    one_value_of_in_is_an_equality_for_a_text_index,
    capitals_lose_their_accents,
    an_open_edge_is_the_end_of_the_index,
    the_natural_order_has_one_direction,
    a_limit_has_an_amount,
    patterns_are_refused_that_repeat_nothing,
    letters_of_words_are_ascii_in_either_case,
}

async fn insert(db: &Db, documents: Vec<Document>) {
    assert_eq!(code(db, doc! { "insert": "c", "documents": documents }).await, 0);
}

async fn index(db: &Db, key: Document, name: &str) {
    let create = doc! { "createIndexes": "c", "indexes": [{ "key": key, "name": name }] };
    assert_eq!(code(db, create).await, 0);
}

/// The first batch of what a command finds.
async fn found(db: &Db, command: Document) -> Vec<Document> {
    let shown = command.to_string();
    let reply = db.run_command(command).await.expect(&shown);
    let cursor = reply.get_document("cursor").expect("the answer has a cursor");
    let batch = cursor.get_array("firstBatch").expect("the cursor has a batch");
    let documents = batch.iter().filter_map(Bson::as_document);
    documents.cloned().collect()
}

async fn ids(db: &Db, command: Document) -> Vec<i32> {
    let documents = found(db, command).await;
    documents
        .iter()
        .filter_map(|document| document.get_i32("_id").ok())
        .collect()
}

async fn distinct(db: &Db, key: &str) -> Vec<Bson> {
    let reply = db
        .run_command(doc! { "distinct": "c", "key": key })
        .await
        .expect("it is a key");
    reply.get_array("values").expect("the answer has values").clone()
}

fn projected(projection: Document) -> Document {
    doc! { "find": "c", "projection": projection }
}

async fn projections_see_the_variables_of_let(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "a": 1 }]).await;
    let find = doc! { "find": "c", "projection": { "v": { "$add": ["$$x", "$a"] } }, "let": { "x": 2 } };
    assert_eq!(found(db, find).await, [doc! { "_id": 1, "v": 3 }]);
    let modify = doc! {
        "findAndModify": "c", "query": {}, "update": { "$set": { "a": 2 } },
        "fields": { "v": "$$x.y" }, "let": { "x": { "y": 5 } },
    };
    let reply = db.run_command(modify).await.expect("it has a variable");
    let value = reply.get_document("value").expect("there was one");
    assert_eq!(value, &doc! { "_id": 1, "v": 5 });
    // What they are is known before there are documents.
    let wrong = doc! {
        "find": "nothing", "projection": { "v": { "$divide": [1, "$$x"] } }, "let": { "x": 0 },
    };
    assert_eq!(code(db, wrong).await, 2);
    assert_eq!(code(db, projected(doc! { "v": "$$x" })).await, 17276);
}

async fn variables_are_computed_before_any_document(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "a": 1 }]).await;
    for value in [bson!("$a"), bson!("$$ROOT"), bson!({ "$ifNull": [1, "$a"] })] {
        let find = doc! { "find": "c", "let": { "x": value.clone() } };
        assert_eq!(code(db, find).await, 4_890_500, "{value}");
        let aggregate =
            doc! { "aggregate": "c", "pipeline": [], "cursor": {}, "let": { "x": value.clone() } };
        assert_eq!(code(db, aggregate).await, 4_890_500, "{value}");
    }
    let bound = bson!({ "$let": { "vars": { "y": 1 }, "in": "$$y" } });
    assert_eq!(code(db, doc! { "find": "c", "let": { "x": bound } }).await, 0);
}

async fn projections_take_the_names_of_references(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "a": { "$ref": "c", "$id": 5 } }]).await;
    for (projection, expected) in [
        (doc! { "a.$id": 1 }, doc! { "_id": 1, "a": { "$id": 5 } }),
        (doc! { "a.$id": 0 }, doc! { "_id": 1, "a": { "$ref": "c" } }),
        (doc! { "a.$id": "$_id" }, doc! { "_id": 1, "a": { "$id": 1 } }),
        (doc! { "a": { "$id": 1 } }, doc! { "_id": 1, "a": { "$id": 5 } }),
        (doc! { "$id": 1 }, doc! { "_id": 1 }),
        (doc! { "$recordId": 1 }, doc! { "_id": 1 }),
        (doc! { "$sortKey": 1 }, doc! { "_id": 1 }),
    ] {
        assert_eq!(
            found(db, projected(projection.clone())).await,
            [expected],
            "{projection}"
        );
    }
    let stage = doc! { "aggregate": "c", "pipeline": [{ "$project": { "a": { "$id": 1 } } }], "cursor": {} };
    assert_eq!(found(db, stage).await, [doc! { "_id": 1, "a": { "$id": 5 } }]);
    assert_eq!(code(db, projected(doc! { "a.$other": 1 })).await, 16410);
    assert_eq!(code(db, projected(doc! { "a": { "$other": 1 } })).await, 31325);
}

async fn metadata_take_the_place_of_a_field(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "a": 1, "b": 2 }]).await;
    let by_record = doc! { "$meta": "recordId" };
    let found_of = found(db, projected(doc! { "a": by_record.clone() })).await;
    let names: Vec<&String> = found_of.iter().flat_map(Document::keys).collect();
    assert_eq!(names, ["_id", "a", "b"]);
    let below = found(db, projected(doc! { "a.b": by_record.clone() })).await;
    let inner = below.first().and_then(|document| document.get_document("a").ok());
    assert!(inner.is_some_and(|inner| inner.contains_key("b")));
    let modify = doc! {
        "findAndModify": "c", "query": {}, "update": { "$set": { "b": 3 } },
        "fields": { "a": by_record.clone() },
    };
    let reply = db.run_command(modify).await.expect("it has metadata");
    let value = reply.get_document("value").expect("there was one");
    assert_eq!(value, &doc! { "_id": 1, "a": Bson::Null, "b": 2 });
    // A pipeline's exclusion may have metadata too.
    let stage = doc! { "$project": { "b": 0, "x": { "$meta": "indexKey" } } };
    let aggregate = doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
    assert_eq!(found(db, aggregate).await, [doc! { "_id": 1, "a": 1 }]);
}

async fn a_positional_projection_refuses_special_filters(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "a": [1, 2] }]).await;
    for (filter, expected) in [
        (doc! { "a": 1, "$expr": true }, 224),
        (doc! { "$or": [{ "a": 1 }, { "$jsonSchema": {} }] }, 224),
        (doc! { "a": 1, "g": { "$near": [1, 1] } }, 5_626_500),
        (doc! { "a": 1 }, 0),
    ] {
        let find = doc! { "find": "c", "filter": filter.clone(), "projection": { "a.$": 1 } };
        assert_eq!(code(db, find).await, expected, "{filter}");
    }
}

async fn a_list_of_all_holds_literals_with_unknown_operators(db: &Db) {
    insert(
        db,
        vec![doc! { "_id": 1, "a": { "$id": 1 } }, doc! { "_id": 2, "a": 1 }],
    )
    .await;
    let all = |operand: Document| doc! { "find": "c", "filter": { "a": { "$all": [operand] } } };
    assert_eq!(ids(db, all(doc! { "$id": 1 })).await, [1]);
    for operand in [
        doc! { "$a": 1 },
        doc! { "$ref": "c" },
        doc! { "$not": { "$gt": 1 } },
    ] {
        assert_eq!(ids(db, all(operand)).await, [0; 0]);
    }
    for operand in [doc! { "$gt": 1 }, doc! { "$in": [1] }, doc! { "$near": [1, 1] }] {
        assert_eq!(code(db, all(operand)).await, 2);
    }
}

async fn the_key_of_a_distinct_is_a_path(db: &Db) {
    let long = ["a"; 201].join(".");
    for (key, expected) in [
        ("", 40352),
        ("a.", 40353),
        (".", 40353),
        (".a", 15998),
        ("a..b", 15998),
        ("$a", 16410),
        ("a.$b", 16410),
        (".$", 5_392_900),
        (long.as_str(), 15),
        ("a.$id", 0),
    ] {
        for collection in ["c", "nothing"] {
            assert_eq!(
                code(db, doc! { "distinct": collection, "key": key }).await,
                expected,
                "{key}"
            );
        }
    }
}

async fn a_distinct_takes_a_number_as_an_index(db: &Db) {
    insert(db, vec![doc! { "_id": 1, "a": [{ "0": 5 }, 7] }]).await;
    assert_eq!(distinct(db, "a.0").await, [bson!({ "0": 5 })]);
    assert_eq!(distinct(db, "a.1").await, [bson!(7)]);
    insert(db, vec![doc! { "_id": 2, "b": [Bson::Undefined] }]).await;
    assert_eq!(distinct(db, "b.0").await, [Bson::Undefined]);
}

async fn a_getmore_of_an_ordinary_cursor_does_not_wait(db: &Db) {
    insert(db, (0..3).map(|id| doc! { "_id": id }).collect()).await;
    let reply = db
        .run_command(doc! { "find": "c", "batchSize": 1 })
        .await
        .expect("there are documents");
    let id = reply
        .get_document("cursor")
        .and_then(|cursor| cursor.get_i64("id"));
    let id = id.expect("the cursor has a number");
    for limit in [bson!(0), bson!(100), Bson::Null] {
        let more = doc! { "getMore": id, "collection": "c", "maxTimeMS": limit };
        assert_eq!(code(db, more).await, 2);
    }
    assert_eq!(code(db, doc! { "getMore": id, "collection": "c" }).await, 0);
}

fn by_schema(schema: Document) -> Document {
    doc! { "find": "c", "filter": { "$jsonSchema": schema }, "sort": { "_id": 1 } }
}

async fn schemas_ask_for_paths(db: &Db) {
    insert(
        db,
        vec![
            doc! { "_id": 1, "a": { "b": 1 } },
            doc! { "_id": 2, "a": [{ "b": 1 }], "c": 1 },
            doc! { "_id": 3 },
        ],
    )
    .await;
    assert_eq!(ids(db, by_schema(doc! { "required": ["a.b"] })).await, [1, 2]);
    let needs = doc! { "dependencies": { "a.b": ["c"] } };
    assert_eq!(ids(db, by_schema(needs)).await, [2, 3]);
}

async fn schemas_refuse_what_the_server_cannot_divide_by(db: &Db) {
    insert(db, vec![doc! { "_id": 1 }]).await;
    for divisor in [f64::NAN, f64::INFINITY] {
        let schema = doc! { "properties": { "a": { "multipleOf": divisor } } };
        assert_eq!(code(db, by_schema(schema)).await, 2);
    }
    assert_eq!(code(db, by_schema(doc! { "bsonType": "integer" })).await, 9);
    assert_eq!(code(db, by_schema(doc! { "type": ["integer"] })).await, 9);
    // The document is no text.
    assert_eq!(ids(db, by_schema(doc! { "pattern": "(" })).await, [1]);
    let inside = doc! { "properties": { "a": { "pattern": "(" } } };
    assert_ne!(code(db, by_schema(inside)).await, 0);
}

async fn one_value_of_in_is_an_equality_for_a_text_index(db: &Db) {
    insert(
        db,
        vec![
            doc! { "_id": 1, "k": 1, "a": "x" },
            doc! { "_id": 2, "k": 2, "a": "x" },
        ],
    )
    .await;
    index(db, doc! { "k": 1, "a": "text", "z": -1 }, "t").await;
    let find = |values: Vec<i32>| {
        doc! { "find": "c", "filter": { "$text": { "$search": "x" }, "k": { "$in": values } } }
    };
    assert_eq!(ids(db, find(vec![1])).await, [1]);
    assert_eq!(ids(db, find(vec![2, 2])).await, [2]);
    assert_eq!(code(db, find(vec![1, 2])).await, 291);
}

async fn capitals_lose_their_accents(db: &Db) {
    insert(
        db,
        vec![doc! { "_id": 1, "a": "CAFÉ" }, doc! { "_id": 2, "a": "café" }],
    )
    .await;
    index(db, doc! { "a": "text" }, "t").await;
    let find = |text: &str| {
        doc! { "find": "c", "filter": { "$text": { "$search": text, "$caseSensitive": true } } }
    };
    assert_eq!(ids(db, find("CAFE")).await, [1]);
    assert_eq!(ids(db, find("CAFÉ")).await, [1]);
    assert_eq!(ids(db, find("cafe")).await, [2]);
}

async fn an_open_edge_is_the_end_of_the_index(db: &Db) {
    insert(db, (0..4).map(|id| doc! { "_id": id, "a": id / 2 }).collect()).await;
    index(db, doc! { "a": 1 }, "up").await;
    index(db, doc! { "a": -1 }, "down").await;
    let max = doc! { "find": "c", "hint": "up", "max": { "a": Bson::MinKey } };
    assert_eq!(code(db, max).await, 51175);
    let min = doc! { "find": "c", "hint": "down", "min": { "a": Bson::MinKey } };
    assert_eq!(code(db, min).await, 51175);
    // Equal ones come as the index has them.
    let find = doc! { "find": "c", "hint": "up", "min": { "a": 0 }, "sort": { "a": -1 } };
    assert_eq!(ids(db, find).await, [3, 2, 1, 0]);
}

async fn the_natural_order_has_one_direction(db: &Db) {
    insert(db, vec![doc! { "_id": 1 }]).await;
    let find = |collection: &str, sort: i32, hint: Bson| {
        doc! { "find": collection, "sort": { "$natural": sort }, "hint": { "$natural": hint } }
    };
    for collection in ["c", "nothing"] {
        assert_eq!(code(db, find(collection, 1, bson!(-1))).await, 2);
        assert_eq!(code(db, find(collection, -1, bson!(1))).await, 2);
        assert_eq!(code(db, find(collection, 1, bson!(2))).await, 2);
        assert_eq!(code(db, find(collection, 1, bson!(1.0))).await, 0);
        let by_index = doc! { "find": collection, "sort": { "$natural": 1 }, "hint": "_id_" };
        assert_eq!(code(db, by_index).await, 2);
        let compound = doc! { "find": collection, "hint": { "$natural": 1, "a": 1 } };
        assert_eq!(code(db, compound).await, 2);
    }
}

async fn a_limit_has_an_amount(db: &Db) {
    assert_eq!(code(db, doc! { "count": "c", "limit": i64::MIN }).await, 2);
    assert_eq!(code(db, doc! { "count": "c", "limit": i64::MIN + 1 }).await, 0);
}

fn by_pattern(pattern: &str, options: &str) -> Document {
    doc! { "find": "c", "filter": { "a": { "$regex": pattern, "$options": options } }, "sort": { "_id": 1 } }
}

async fn patterns_are_refused_that_repeat_nothing(db: &Db) {
    for pattern in [
        "^*",
        "^+",
        "$*",
        "\\b*",
        "\\A?",
        "{2}",
        "a{2}{3}",
        "[a-\\d]",
        "[:alpha:]",
        "[[.a.]]",
        "[=a=]",
    ] {
        assert_eq!(code(db, by_pattern(pattern, "")).await, 51091, "{pattern}");
    }
    for pattern in [
        "^a*",
        "a{2}?",
        "{",
        "[\\d-a]",
        "[a-]",
        "[-a]",
        "[:]",
        "[[:alpha:]-]",
        "x{,2}",
    ] {
        assert_eq!(code(db, by_pattern(pattern, "")).await, 0, "{pattern}");
    }
    assert_eq!(code(db, by_pattern("a # to the end", "x")).await, 51091);
    assert_eq!(code(db, by_pattern("a # to the line\n", "x")).await, 0);
}

async fn letters_of_words_are_ascii_in_either_case(db: &Db) {
    insert(
        db,
        vec![
            doc! { "_id": 1, "a": "s" },
            doc! { "_id": 2, "a": "\u{17f}" },
            doc! { "_id": 3, "a": "\u{212a}" },
        ],
    )
    .await;
    assert_eq!(ids(db, by_pattern("\\w", "i")).await, [1]);
    assert_eq!(ids(db, by_pattern("\\W", "i")).await, [2, 3]);
}
