//! Schemas as filters of queries: what they ask of fields is answered by indexes, and moved, as other conditions are.

use odm::Db;
use odm::bson::{Document, doc};
use odm_tests::command::{batch, code, ids, insert, run};

crate::on_every_backend! {
    what_a_schema_asks_of_fields_is_answered_by_indexes,
    what_a_schema_asks_of_fields_is_asked_before_stages_that_fail,
    a_schema_of_no_document_needs_no_index,
}

/// The bounds by which the winning plan reads the index of `n`.
async fn bounds(db: &Db, schema: Document) -> Option<Vec<String>> {
    let find = doc! { "find": "c", "filter": { "$jsonSchema": schema } };
    let explain = doc! { "explain": find, "verbosity": "queryPlanner" };
    let reply = run(db, explain).await;
    let planner = reply.get_document("queryPlanner").unwrap();
    let mut stage = planner.get_document("winningPlan").unwrap();
    while let Ok(inner) = stage.get_document("inputStage") {
        stage = inner;
    }
    let bounds = stage.get_document("indexBounds").ok()?.get_array("n").unwrap();
    Some(
        bounds
            .iter()
            .map(|one| one.as_str().unwrap().to_owned())
            .collect(),
    )
}

async fn what_a_schema_asks_of_fields_is_answered_by_indexes(db: &Db) {
    let point = |x: i32| doc! { "type": "Point", "coordinates": [x, 0] };
    let mut documents: Vec<Document> = (0..20)
        .map(|id| doc! { "_id": id, "n": id, "g": point(id) })
        .collect();
    documents.push(doc! { "_id": 20, "g": point(0) });
    documents.push(doc! { "_id": 21, "n": "text", "g": point(21) });
    insert(db, "c", documents).await;
    let index = doc! { "key": { "n": 1, "g": "2dsphere" }, "name": "n_g" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let nearest = |schema: Document| {
        let near = doc! { "$nearSphere": { "$geometry": point(0) } };
        doc! { "find": "c", "filter": { "$jsonSchema": schema, "g": near }, "limit": 3 }
    };
    for (schema, found) in [
        (doc! { "required": ["n"] }, vec![0, 1, 2]),
        (doc! { "allOf": [{ "required": ["n"] }] }, vec![0, 1, 2]),
        (
            doc! { "required": ["n"], "properties": { "n": { "bsonType": "string" } } },
            vec![21],
        ),
        (
            doc! { "required": ["n"], "properties": { "n": { "minimum": 18 } } },
            vec![18, 19, 21],
        ),
        (
            doc! { "required": ["n"], "properties": { "n": { "bsonType": "number", "minimum": 18 } } },
            vec![18, 19],
        ),
    ] {
        let reply = run(db, nearest(schema.clone())).await;
        assert_eq!(ids(&batch(&reply)), found, "{schema}");
    }
    for schema in [
        doc! { "properties": { "n": { "minimum": 5 } } },
        doc! { "not": { "required": ["n"] } },
        doc! { "anyOf": [{ "required": ["n"] }, { "required": ["g"] }] },
    ] {
        assert_eq!(code(db, nearest(schema.clone())).await, 291, "{schema}");
    }
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "n": 1 }, "name": "n" }] },
    )
    .await;
    let number = |rules: Document| {
        let mut whole = doc! { "bsonType": "number" };
        whole.extend(rules);
        doc! { "required": ["n"], "properties": { "n": whole } }
    };
    let schema = number(doc! { "minimum": 5, "maximum": 7, "exclusiveMaximum": true });
    assert_eq!(bounds(db, schema.clone()).await, Some(vec!["[5, 7)".to_owned()]));
    insert(db, "c", vec![doc! { "_id": 22, "n": [1, 6], "g": point(22) }]).await;
    let reply = run(
        db,
        doc! { "find": "c", "filter": { "$jsonSchema": schema }, "sort": { "n": 1 } },
    )
    .await;
    assert_eq!(ids(&batch(&reply)), [5, 6], "an array is no number");
    let without = doc! { "properties": { "n": { "bsonType": "number", "minimum": 18 } } };
    assert_eq!(bounds(db, without).await, None, "what is missing is in no bounds");
}

async fn what_a_schema_asks_of_fields_is_asked_before_stages_that_fail(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "l": "x" }, doc! { "_id": 2, "k": 1, "l": 3 }],
    )
    .await;
    let behind = |filter: Document| {
        let stages = vec![
            doc! { "$set": { "x": { "$toInt": "$l" } } },
            doc! { "$match": filter },
        ];
        doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }
    };
    for (schema, expected) in [
        (doc! { "required": ["k"] }, 0),
        (
            doc! { "allOf": [{ "required": ["k"] }], "properties": { "k": {} } },
            0,
        ),
        (doc! { "not": { "required": ["l"] } }, 0),
        (doc! { "required": ["x"] }, 241),
        (doc! { "properties": { "k": { "bsonType": "int" } } }, 241),
    ] {
        let found = code(db, behind(doc! { "$jsonSchema": schema.clone() })).await;
        assert_eq!(found, expected, "{schema}");
    }
}

async fn a_schema_of_no_document_needs_no_index(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "t": "text" }]).await;
    let index = doc! { "key": { "t": "text" }, "name": "t", "hidden": true };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let search = |beside: Document| {
        let mut filter = doc! { "$text": { "$search": "text" } };
        filter.extend(beside);
        doc! { "find": "c", "filter": filter }
    };
    assert_eq!(code(db, search(doc! {})).await, 291);
    for beside in [
        doc! { "$alwaysFalse": 1 },
        doc! { "$jsonSchema": { "enum": [1] } },
        doc! { "$jsonSchema": { "bsonType": "string" } },
        doc! { "$or": [{ "$alwaysFalse": 1 }, { "$jsonSchema": { "type": "array" } }] },
    ] {
        let reply = run(db, search(beside.clone())).await;
        assert_eq!(batch(&reply), [], "{beside}");
    }
}
