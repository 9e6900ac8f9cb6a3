//! Of several faults of a command the one that the server finds first is told.

use odm::Db;
use odm::bson::{Bson, doc};

use odm_tests::command::{insert, run};

use super::refusals::check;

crate::on_every_backend! {
    options_are_read_in_their_order,
    what_the_index_of_ids_is_told_to_be_is_read_between_others,
    specifications_of_indexes_are_looked_at_as_a_whole,
    updates_name_what_they_may_not_have,
    forms_are_looked_at_as_they_stand,
}

async fn options_are_read_in_their_order(db: &Db) {
    let rows = vec![
        (
            doc! { "find": "c", "filter": 0, "zzz": 1 },
            14,
            "Expected field filterto be of type object",
        ),
        (
            doc! { "find": "c", "max": "x", "showRecordId": {} },
            14,
            "Expected field maxto be of type object",
        ),
        (
            doc! { "find": "c", "hint": false, "batchSize": false },
            9,
            "Hint must be a string or an object",
        ),
        (
            doc! { "find": "c", "limit": -1, "awaitData": {} },
            51024,
            "BSON field 'limit' value must be >= 0, actual value '-1'",
        ),
        (
            doc! { "find": "c", "skip": -1, "zzz": 1 },
            51024,
            "BSON field 'skip' value must be >= 0, actual value '-1'",
        ),
        (
            doc! { "count": "c", "skip": -1, "zzz": 1 },
            51024,
            "BSON field 'skip' value must be >= 0, actual value '-1'",
        ),
        (
            doc! { "count": "c", "skip": -0.5, "zzz": 1 },
            40415,
            "BSON field 'count.zzz' is an unknown field.",
        ),
        (
            doc! { "create": "w", "viewOn": "$$q", "validator": { "a": 1 }, "pipeline": [{ "x.a": 1 }] },
            73,
            "invalid name for 'viewOn': $$q",
        ),
        (
            doc! { "create": "system.w", "viewOn": "$$q", "pipeline": [] },
            73,
            "Invalid system namespace: DB.system.w",
        ),
        (
            doc! { "find": "c", "filter": Bson::Null },
            14,
            "Expected field filterto be of type object",
        ),
        (
            doc! { "find": "c", "projection": Bson::Null, "sort": 5 },
            14,
            "Expected field projectionto be of type object",
        ),
        (
            doc! { "create": "v", "viewOn": "x", "pipeline": [{ "x.a": 1 }], "expireAfterSeconds": 0 },
            72,
            "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified",
        ),
        (
            doc! { "create": "v", "viewOn": "$a..b", "expireAfterSeconds": 1.5 },
            72,
            "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified",
        ),
        (
            doc! { "create": "v", "viewOn": "x", "validator": { "$nope": 1 }, "expireAfterSeconds": 5 },
            72,
            "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified",
        ),
        (
            doc! { "create": "v", "viewOn": "x", "collation": { "locale": "zz" }, "expireAfterSeconds": 5 },
            72,
            "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified",
        ),
        (
            doc! { "create": "v", "viewOn": "x", "changeStreamPreAndPostImages": { "enabled": true }, "expireAfterSeconds": 5 },
            72,
            "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified",
        ),
        (
            doc! { "create": "v", "viewOn": "x", "pipeline": [{ "$out": "q" }], "expireAfterSeconds": 5 },
            72,
            "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified",
        ),
        (
            doc! { "create": "v", "viewOn": "x", "pipeline": [{ "x.a": 1 }], "capped": true },
            72,
            "the 'size' field is required when 'capped' is true",
        ),
        (
            doc! { "create": "v", "viewOn": "x", "pipeline": [{ "x.a": 1 }], "collation": { "locale": "zz" } },
            2,
            "Field 'locale' is invalid in: { locale: \"zz\", caseLevel: false, caseFirst: \"off\", strength: 3, numericOrdering: false, alternate: \"non-ignorable\", maxVariable: \"punct\", normalization: false }",
        ),
        (
            doc! { "create": "v", "viewOn": "x", "pipeline": [{ "x.a": 1 }], "clusteredIndex": { "key": { "_id": 1 }, "unique": true } },
            6026500,
            "The 'clusteredIndex' option is not supported with views",
        ),
        (
            doc! { "create": "v", "viewOn": "x", "pipeline": [{ "x.a": 1 }], "validator": { "a": 1 } },
            40324,
            "Unrecognized pipeline stage name: 'x.a'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [-1], "cursor": 1 },
            14,
            "Each element of the 'pipeline' array must be an object",
        ),
        (
            doc! { "aggregate": "c", "cursor": 1, "pipeline": {} },
            14,
            "cursor field must be missing or an object",
        ),
        (
            doc! { "aggregate": "c", "cursor": { "a": 1 }, "bypassDocumentValidation": [], "pipeline": [] },
            40415,
            "BSON field 'cursor.a' is an unknown field.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [], "maxTimeMS": {}, "cursor": [] },
            14,
            "BSON field 'aggregate.maxTimeMS' is the wrong type 'object', expected types '[long, int, decimal, double']",
        ),
        (
            doc! { "aggregate": "c", "zzz": 1, "pipeline": Bson::Null },
            40415,
            "BSON field 'aggregate.zzz' is an unknown field.",
        ),
        (
            doc! { "aggregate": "c", "allowDiskUse": 1, "explain": 1, "pipeline": [], "cursor": {} },
            14,
            "Field 'allowDiskUse' should be a boolean value, but found: int",
        ),
        (
            doc! { "aggregate": "c", "writeConcern": [1], "cursor": -1, "pipeline": [] },
            14,
            "BSON field 'aggregate.writeConcern' is the wrong type 'array', expected type 'object'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [1.5] },
            14,
            "Each element of the 'pipeline' array must be an object",
        ),
        (
            doc! { "aggregate": "c", "hint": [], "allowDiskUse": 1.5, "cursor": {}, "pipeline": [] },
            9,
            "Hint must be a string or an object",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [], "cursor": { "batchSize": -1 }, "zzz": 1 },
            51024,
            "BSON field 'batchSize' value must be >= 0, actual value '-1'",
        ),
        (
            doc! { "aggregate": "c", "readConcern": { "a": 1 }, "pipeline": [] },
            9,
            "The 'cursor' option is required, except for aggregate with the explain argument",
        ),
        (
            doc! { "update": "c", "updates": [{ "q": [], "u": -1 }], "ordered": {} },
            14,
            "BSON field 'update.updates.q' is the wrong type 'array', expected type 'object'",
        ),
        (
            doc! { "update": "c", "updates": [{ "$nope": 1 }], "zzz": 1 },
            40415,
            "BSON field 'update.updates.$nope' is an unknown field.",
        ),
        (
            doc! { "update": "c", "updates": [{ "q": {}, "u": true }], "ordered": [] },
            9,
            "Update argument must be either an object or an array",
        ),
        (
            doc! { "update": "c", "updates": [{ "q": {}, "u": [{ "a": 1 }] }], "writeConcern": { "x": 1 } },
            40415,
            "BSON field 'WriteConcernOptions.x' is an unknown field.",
        ),
        (
            doc! { "delete": "c", "deletes": [{ "q": {}, "hint": false }], "zzz": 1 },
            9,
            "Hint must be a string or an object",
        ),
        (
            doc! { "delete": "c", "deletes": [{ "q": {} }], "let": 0 },
            40414,
            "BSON field 'delete.deletes.limit' is missing but a required field",
        ),
        (
            doc! { "findAndModify": "c", "hint": 5 },
            9,
            "Hint must be a string or an object",
        ),
        (
            doc! { "findAndModify": "c", "maxTimeMS": [5] },
            2,
            "maxTimeMS must be a number",
        ),
        (
            doc! { "findAndModify": "c", "writeConcern": { "a": 1 } },
            40415,
            "BSON field 'WriteConcernOptions.a' is an unknown field.",
        ),
        (
            doc! { "findAndModify": "c", "query": {}, "update": { "$set": 1.5 }, "hint": 5 },
            9,
            "Hint must be a string or an object",
        ),
        (
            doc! { "findAndModify": "c", "writeConcern": { "a": 1 }, "zzz": 1 },
            40415,
            "BSON field 'findAndModify.zzz' is an unknown field.",
        ),
        (
            doc! { "count": "c", "limit": true, "zzz": 1 },
            2,
            "limit value is not a valid number",
        ),
        (
            doc! { "count": "c", "hint": true, "collation": { "zz": 1 } },
            9,
            "Hint must be a string or an object",
        ),
        (
            doc! { "collMod": "c", "index": { "w": 1 }, "pipeline": 1 },
            40415,
            "BSON field 'collMod.index.w' is an unknown field.",
        ),
        (
            doc! { "collMod": "c", "validationAction": "x", "zzz": 1 },
            2,
            "Enumeration value 'x' for field 'collMod.validationAction' is not a valid value.",
        ),
        (
            doc! { "collMod": "c", "viewOn": "", "pipeline": "x" },
            2,
            "'viewOn' cannot be empty",
        ),
        (
            doc! { "collMod": "c", "expireAfterSeconds": [], "cappedSize": {} },
            14,
            "BSON field 'collMod.expireAfterSeconds' is the wrong type 'array', expected types '[string, long']",
        ),
        (
            doc! { "collMod": "c", "cappedSize": -1, "viewOn": {} },
            51024,
            "BSON field 'cappedSize' value must be >= 1, actual value '-1'",
        ),
        (
            doc! { "create": "n", "collation": { "locale": 5 }, "zzz": 1 },
            14,
            "BSON field 'create.collation.locale' is the wrong type 'int', expected type 'string'",
        ),
        (
            doc! { "create": "n", "viewOn": "v", "pipeline": [5], "max": {} },
            14,
            "BSON field 'create.pipeline.0' is the wrong type 'int', expected type 'object'",
        ),
        (
            doc! { "create": "n", "clusteredIndex": [], "pipeline": {} },
            14,
            "BSON field 'create.clusteredIndex' is the wrong type 'array', expected types '[bool']",
        ),
        (
            doc! { "create": "n", "validationLevel": "x", "size": 1000 },
            2,
            "Enumeration value 'x' for field 'create.validationLevel' is not a valid value.",
        ),
        (
            doc! { "create": "n", "size": -1, "pipeline": false },
            51024,
            "BSON field 'size' value must be >= 1, actual value '-1'",
        ),
        (
            doc! { "create": "n", "pipeline": [], "idIndex": { "a": 5 } },
            72,
            "'pipeline' requires 'viewOn' to also be specified",
        ),
        (
            doc! { "create": "n", "idIndex": { "a": 5 } },
            197,
            "The field 'a' is not valid for an index specification. Specification: { a: 5 }",
        ),
        (
            doc! { "create": "n", "max": 0, "pipeline": [{ "$match": {} }], "clusteredIndex": { "key": { "_id": 1 }, "unique": true } },
            6049204,
            "'max' field for capped collections is not allowed on clustered collections. Did you mean 'capped: true' with 'expireAfterSeconds'?",
        ),
        (
            doc! { "dropIndexes": "c", "index": 5, "zzz": 1 },
            14,
            "BSON field 'dropIndexes.index' is the wrong type 'int', expected types '[string, object']",
        ),
    ];
    check(db, rows).await;
}

async fn what_the_index_of_ids_is_told_to_be_is_read_between_others(db: &Db) {
    let ids = || doc! { "key": { "_id": 1 }, "name": "_id_" };
    let clustered = || doc! { "key": { "_id": 1 }, "unique": true };
    let beside = |other: &str, index: &str| format!("'idIndex' is not allowed with '{other}': {index}");
    let whole = "{ key: { _id: 1 }, name: \"_id_\" }";
    let unnamed = "The 'name' field is a required property of an index specification";
    let unknown = "The field 'locale' is not valid for an index specification. Specification: { locale: 1 }";
    let size = "'size' field for capped collections is not allowed on clustered collections. Did you mean 'capped: true' with 'expireAfterSeconds'?";
    let max = size.replacen("size", "max", 1);
    let capped = "Clustered capped collection only available with 'enableTestCommands' server parameter";
    let legacy = "The 'clusteredIndex' legacy format {clusteredIndex: <bool>} is only supported for specific internal collections and vice versa";
    let required = "the 'size' field is required when 'capped' is true";
    let wide = || doc! { "key": { "x": 1 } };
    for (options, code, words) in [
        (doc! { "idIndex": ids(), "viewOn": "" }, 2, "'viewOn' cannot be empty".to_owned()),
        (doc! { "idIndex": ids(), "viewOn": "x$" }, 72, beside("viewOn", whole)),
        (doc! { "idIndex": ids(), "viewOn": ".x" }, 72, beside("viewOn", whole)),
        (doc! { "idIndex": {}, "viewOn": "x\0" }, 72, beside("viewOn", "{}")),
        (
            doc! { "idIndex": wide(), "viewOn": "x", "pipeline": [{ "$x": 1 }] },
            72,
            beside("viewOn", "{ key: { x: 1 } }"),
        ),
        (doc! { "idIndex": ids(), "viewOn": "x", "capped": true }, 72, required.to_owned()),
        (
            doc! { "idIndex": ids(), "clusteredIndex": clustered() },
            72,
            "The 'clusteredIndex' option is not supported with the 'idIndex' option".to_owned(),
        ),
        (doc! { "idIndex": ids(), "clusteredIndex": true }, 5_979_703, legacy.to_owned()),
        (doc! { "idIndex": wide(), "clusteredIndex": true }, 9, unnamed.to_owned()),
        (doc! { "idIndex": { "locale": 1 }, "clusteredIndex": clustered() }, 197, unknown.to_owned()),
        (
            doc! { "idIndex": { "locale": 1 }, "clusteredIndex": { "x": 1 } },
            40415,
            "BSON field 'create.x' is an unknown field.".to_owned(),
        ),
        (
            doc! { "idIndex": { "locale": 1 }, "clusteredIndex": clustered(), "size": 5 },
            6_049_200,
            size.to_owned(),
        ),
        (
            doc! { "idIndex": ids(), "autoIndexId": false, "clusteredIndex": clustered() },
            72,
            beside("autoIndexId", whole),
        ),
        (
            doc! { "idIndex": wide(), "expireAfterSeconds": 5 },
            72,
            "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified".to_owned(),
        ),
        (doc! { "idIndex": wide(), "collation": { "locale": "xx" } }, 9, unnamed.to_owned()),
        (doc! { "idIndex": { "locale": 1 }, "validator": { "$x": 1 } }, 197, unknown.to_owned()),
        (doc! { "idIndex": { "locale": 1 }, "storageEngine": { "x": 1 } }, 197, unknown.to_owned()),
        (doc! { "capped": 1, "max": -1, "clusteredIndex": false }, 6_127_800, capped.to_owned()),
        (
            doc! { "size": 5, "max": 5, "clusteredIndex": clustered() },
            6_049_200,
            size.to_owned(),
        ),
        (doc! { "capped": false, "max": 5, "clusteredIndex": clustered() }, 6_049_204, max),
    ] {
        let mut command = doc! { "create": "n" };
        command.extend(options);
        check(db, vec![(command, code, &words)]).await;
    }
    for (value, shown) in [
        (Bson::Int32(0), "0"),
        (Bson::Boolean(false), "false"),
        (Bson::Double(0.0), "0.0"),
    ] {
        let words = format!(
            "Error in specification {{ key: {{ x: 1 }}, name: \"x\", clustered: {shown} }} :: caused by :: Value 'false' for field 'clustered' is invalid"
        );
        let index = doc! { "key": { "x": 1 }, "name": "x", "clustered": value };
        check(
            db,
            vec![(
                doc! { "createIndexes": "c", "indexes": [index] },
                6_492_800,
                &words,
            )],
        )
        .await;
    }
}

async fn specifications_of_indexes_are_looked_at_as_a_whole(db: &Db) {
    let rows = vec![
        (
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": [], "b": "x" }, "name": "i" }] },
            67,
            "Error in specification { key: { a: [], b: \"x\" }, name: \"i\" } :: caused by :: Unknown index plugin 'x'",
        ),
        (
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": "text" }, "name": "i", "weights": [] }] },
            67,
            "Error in specification { key: { a: \"text\" }, name: \"i\", weights: [], v: 2 } :: caused by :: text index option 'weights' must be an object",
        ),
        (
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": "2d" }, "name": "i", "min": 1e+19 }] },
            72,
            "region for hash must be valid and have positive area, but [1e+19, 180] was specified",
        ),
        (
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "storageEngine": { "x": 1 } }] },
            9,
            "Error in specification { key: { a: 1 }, storageEngine: { x: 1 } } :: caused by :: The 'name' field is a required property of an index specification",
        ),
        (
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "i", "storageEngine": 5 }] },
            67,
            "Error in specification { key: { a: 1 }, name: \"i\", storageEngine: 5, v: 2 } :: caused by :: \"storageEngine\" options must be a document if present",
        ),
        (
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "weights": ["a"] }] },
            9,
            "Error in specification { key: { a: 1 }, weights: [ \"a\" ] } :: caused by :: The 'name' field is a required property of an index specification",
        ),
        (
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "i", "collation": { "locale": "en", "strength": [] } }] },
            14,
            "failed to add collation information to index spec for index creation: { key: { a: 1 }, name: \"i\", collation: { locale: \"en\", strength: [] }, v: 2 } :: caused by :: BSON field 'collation.strength' is the wrong type 'array', expected types '[long, int, decimal, double']",
        ),
        (
            doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "i", "expireAfterSeconds": -1 }, { "key": { "b": 1 }, "name": "j", "zzz": 1 }] },
            197,
            "Error in specification { key: { b: 1 }, name: \"j\", zzz: 1 } :: caused by :: The field 'zzz' is not valid for an index specification. Specification: { key: { b: 1 }, name: \"j\", zzz: 1 }",
        ),
        (
            doc! { "createIndexes": "c", "indexes": [{ "key": { "_id": -1 }, "name": "i" }, { "key": { "a": "x" }, "name": "j" }] },
            2,
            "The field 'key' for an _id index must be {_id: 1}, but got { _id: -1 }",
        ),
        (
            doc! { "createIndexes": "c", "indexes": [{ "key": { "_id": -1 }, "name": "i", "ns": "x", "min": -180 }] },
            197,
            "The field 'min' is not valid for an _id index specification. Specification: { key: { _id: -1 }, name: \"i\", min: -180, v: 2 }",
        ),
        (
            doc! { "createIndexes": "c", "indexes": [{ "partialFilterExpression": { "$nope": 1 }, "key": 5, "name": "i" }] },
            2,
            "Error in specification { partialFilterExpression: { $nope: 1 }, key: 5, name: \"i\" } :: caused by :: unknown top level operator: $nope. If you have a field name that starts with a '$' symbol, consider using $getField or $setField.",
        ),
        (
            doc! { "createIndexes": "c", "indexes": [{ "name": "i", "clustered": false }] },
            9,
            "Error in specification { name: \"i\", clustered: false } :: caused by :: The 'key' field is a required property of an index specification",
        ),
    ];
    check(db, rows).await;
}

async fn updates_name_what_they_may_not_have(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 1 }]).await;
    let range = doc! { "step": 1, "bounds": "full" };
    for (stage, name) in [
        (
            doc! { "$bucket": { "groupBy": "$a", "boundaries": [0, 10] } },
            "$group",
        ),
        (
            doc! { "$bucketAuto": { "groupBy": "$a", "buckets": 2 } },
            "$bucketAuto",
        ),
        (doc! { "$count": "n" }, "$group"),
        (doc! { "$sortByCount": "$a" }, "$group"),
        (doc! { "$densify": { "field": "a", "range": range } }, "$sort"),
        (
            doc! { "$setWindowFields": { "output": {} } },
            "$_internalSetWindowFields",
        ),
        (
            doc! { "$setWindowFields": { "sortBy": { "a": 1 }, "output": {} } },
            "$sort",
        ),
        (
            doc! { "$setWindowFields": { "partitionBy": "$a", "output": {} } },
            "$sort",
        ),
        (
            doc! { "$setWindowFields": { "partitionBy": 5, "output": {} } },
            "$_internalSetWindowFields",
        ),
        (doc! { "$limit": 1 }, "$limit"),
    ] {
        let update = doc! { "q": {}, "u": [stage.clone()] };
        let reply = run(db, doc! { "update": "c", "updates": [update] }).await;
        let told = reply.get_array("writeErrors").unwrap()[0].as_document().unwrap();
        let expected = format!("{name} is not allowed to be used within an update");
        assert_eq!(told.get_str("errmsg").unwrap(), expected, "{stage}");
    }
    let update = doc! { "q": {}, "u": { "a": 1 }, "multi": true, "arrayFilters": [{ "X": 1 }] };
    let reply = run(db, doc! { "update": "c", "updates": [update] }).await;
    let told = reply.get_array("writeErrors").unwrap()[0].as_document().unwrap();
    assert!(told.get_str("errmsg").unwrap().contains("found 'X'"), "{told}");
}

async fn forms_are_looked_at_as_they_stand(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 1 }]).await;
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a" }] },
    )
    .await;
    let series = "BSON field 'create.timeseries.x' is an unknown field.";
    let encrypted = "BSON field 'create.encryptedFields.x' is an unknown field.";
    let plugins = "Can't use more than one index plugin for a single index.";
    let projection = "The field 'wildcardProjection' is only allowed in an 'wildcard' index";
    let specification =
        |spec: &str, words: &str| format!("Error in specification {spec} :: caused by :: {words}");
    let index = |spec| doc! { "createIndexes": "c", "indexes": [spec] };
    for (command, code, words) in [
        (doc! { "create": "n", "capped": true, "timeseries": { "x": 1 } }, 40415, series.to_owned()),
        (doc! { "create": "n", "timeseries": { "x": 1 }, "noSuch": 1 }, 40415, series.to_owned()),
        (doc! { "create": "n", "size": 5, "encryptedFields": { "x": 1 } }, 40415, encrypted.to_owned()),
        (doc! { "create": "n", "encryptedFields": { "x": 1 }, "maxTimeMS": -1 }, 40415, encrypted.to_owned()),
        (
            doc! { "create": "n", "idIndex": { "x": 1 }, "encryptedFields": { "x": 1 } },
            40415,
            encrypted.to_owned(),
        ),
        (
            doc! { "create": "n", "temp": true, "capped": true },
            72,
            "the 'size' field is required when 'capped' is true".to_owned(),
        ),
        (
            doc! { "create": "n", "temp": true, "maxTimeMS": -1 },
            2,
            "-1 value for maxTimeMS is out of range".to_owned(),
        ),
        (
            doc! { "create": "n", "temp": true, "validator": { "$nope": 1 } },
            72,
            "the 'temp' field is an invalid option".to_owned(),
        ),
        (
            doc! { "collMod": "c", "timeseries": { "x": 1 }, "noSuch": 1 },
            40415,
            "BSON field 'collMod.timeseries.x' is an unknown field.".to_owned(),
        ),
        (
            doc! { "collMod": "c", "validator": { "$nope": 1 }, "index": { "name": "zz", "hidden": true } },
            27,
            "cannot find index zz for ns DB.c".to_owned(),
        ),
        (
            doc! { "collMod": "c", "viewOn": "x$", "index": { "name": "a" } },
            72,
            "no expireAfterSeconds, hidden, unique, or prepareUnique field".to_owned(),
        ),
        (
            index(doc! { "key": { "a": "text", "b": "text2" }, "name": "i" }),
            67,
            specification("{ key: { a: \"text\", b: \"text2\" }, name: \"i\" }", plugins),
        ),
        (
            index(doc! { "key": { "z": 1 }, "name": "i", "wildcardProjection": {}, "weights": 5 }),
            2,
            specification("{ key: { z: 1 }, name: \"i\", wildcardProjection: {}, weights: 5 }", projection),
        ),
        (
            doc! { "explain": { "find": "c", "filter": { "$nope": 1 } }, "maxTimeMS": -1 },
            2,
            "-1 value for maxTimeMS is out of range".to_owned(),
        ),
        (
            doc! { "explain": { "find": 5 }, "readConcern": { "level": "x" } },
            9,
            "readConcern.level must be either 'local', 'majority', 'linearizable', 'available', or 'snapshot'".to_owned(),
        ),
        (
            doc! { "explain": { "find": "c" }, "verbosity": "x", "noSuch": 1 },
            2,
            "Enumeration value 'x' for field 'explain.verbosity' is not a valid value.".to_owned(),
        ),
    ] {
        check(db, vec![(command, code, &words)]).await;
    }
    let collated = doc! { "create": "n", "validator": { "$nope": 1 }, "collation": { "locale": "zz" } };
    let (code, words) = super::refusals::answer(db, collated, db.name()).await;
    assert_eq!(
        (code, words.starts_with("Field 'locale' is invalid")),
        (2, true),
        "{words}"
    );
    let unique = index(doc! { "key": { "a": "hashed", "b": "hashed" }, "name": "i", "unique": true });
    assert_eq!(super::refusals::answer(db, unique, db.name()).await.0, 16764);
}
