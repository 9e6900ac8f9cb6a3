//! Of several faults the one that the server finds first is told.

use odm::Db;
use odm::bson::{Bson, doc};

use odm_tests::command::{insert, run};

use super::refusals::check;

crate::on_every_backend! {
    options_are_read_in_their_order,
    specifications_of_indexes_are_looked_at_as_a_whole,
    dates_are_asked_for_names_before_values,
    arguments_are_read_before_their_names,
    windows_are_read_in_their_order,
    stages_are_looked_at_before_what_they_compute,
    updates_name_what_they_may_not_have,
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

async fn dates_are_asked_for_names_before_values(db: &Db) {
    let rows = vec![
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateToString": { "timezone": { "$nope2": 1 }, "date": { "$nope1": 1 } } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope1'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateToString": { "timezone": { "$nope": 1 } } } } }], "cursor": {} },
            18628,
            "Invalid $project :: caused by :: Missing 'date' parameter to $dateToString",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateToString": { "format": { "$nope": 1 }, "zzz": 1 } } } }], "cursor": {} },
            18534,
            "Invalid $project :: caused by :: Unrecognized argument to $dateToString: zzz",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateDiff": { "startDate": { "$nope1": 1 }, "endDate": { "$nope2": 1 }, "unit": { "$nope3": 1 } } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope3'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateDiff": { "unit": { "$nope": 1 }, "zzz": 1 } } } }], "cursor": {} },
            5166302,
            "Invalid $project :: caused by :: Unrecognized argument to $dateDiff: zzz",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateTrunc": { "date": { "$nope1": 1 }, "unit": { "$nope2": 1 } } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope2'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateFromString": { "onError": { "$nope": 1 } } } } }], "cursor": {} },
            40542,
            "Invalid $project :: caused by :: Missing 'dateString' parameter to $dateFromString",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateFromString": { "onError": { "$nope1": 1 }, "onNull": { "$nope2": 1 }, "dateString": "$a" } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope2'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateToParts": { "iso8601": { "$nope2": 1 }, "date": { "$nope1": 1 } } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope1'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$dateFromParts": { "day": { "$nope2": 1 }, "year": { "$nope1": 1 } } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope1'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$toDate": "not-a-date" } } }], "cursor": {} },
            241,
            "Failed to optimize pipeline :: caused by :: Error parsing date string 'not-a-date'; 0: passing a time zone identifier as part of the string is not allowed 'n'; 3: Unexpected character '-'; 5: Unexpected character '-'; 6: Double timezone specification 'd'; 4: Double timezone specification 'a'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$toDate": "EST PDT CET x9" } } }], "cursor": {} },
            241,
            "Failed to optimize pipeline :: caused by :: Error parsing date string 'EST PDT CET x9'; 8: Double timezone specification 'C'; 12: Double timezone specification 'x'; 13: Unexpected character '9'; 4: Double timezone specification 'P'",
        ),
    ];
    check(db, rows).await;
}

async fn arguments_are_read_before_their_names(db: &Db) {
    let rows = vec![
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$let": { "vars": { "$x": { "$nope": 1 } }, "in": 1 } } } }], "cursor": {} },
            168,
            "Invalid $project :: caused by :: Unrecognized expression '$nope'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$sortArray": { "sortBy": "x", "zzz": 1 } } } }], "cursor": {} },
            2942507,
            "Invalid $project :: caused by :: The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": { "$sortArray": { "sortBy": { "a": 5 }, "input": { "$nope": 1 } } } } }], "cursor": {} },
            2942505,
            "Invalid $project :: caused by :: BadValue: The sort element value must be either 1 or -1",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "$ceil": {} } }], "cursor": {} },
            51270,
            "Invalid $project :: caused by :: An empty sub-projection is not a valid value. Found empty object at path",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "$gte": ["$$q", 1] } }], "cursor": {} },
            17276,
            "Invalid $project :: caused by :: Use of undefined variable: q",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$project": { "$literal": "$$" } }], "cursor": {} },
            9,
            "Invalid $project :: caused by :: empty variable names are not allowed",
        ),
        (
            doc! { "find": "c", "projection": { "a": { "$slice": { "$gte": 3 } } } },
            16020,
            "Invalid $slice syntax. The given syntax { $slice: { $gte: 3 } } did not match the find() syntax because :: Location31273: $slice only supports numbers and [skip, limit] arrays :: The given syntax did not match the expression $slice syntax. :: caused by :: Expression $gte takes exactly 2 arguments. 1 were passed in.",
        ),
        (
            doc! { "find": "c", "projection": { "$sqrt": { "$slice": 1 } } },
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ),
        (
            doc! { "find": "c", "projection": { "a.": { "$elemMatch": { "b": 1 } } } },
            40353,
            "FieldPath must not end with a '.'.",
        ),
        (
            doc! { "find": "c", "projection": { "a": { "$elemMatch": { "$gte": 2 }, "b": 0 } } },
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ),
        (
            doc! { "find": "c", "filter": { "$jsonSchema": { "exclusiveMaximum": 5, "maximum": "x" } } },
            14,
            "$jsonSchema keyword 'exclusiveMaximum' must be a boolean",
        ),
        (
            doc! { "find": "c", "filter": { "a": { "$geoWithin": { "$centerSphere": [[1e+19, 0]] } } } },
            2,
            "longitude/latitude is out of bounds, lng: 1e+19 lat: 0",
        ),
    ];
    check(db, rows).await;
}

async fn windows_are_read_in_their_order(db: &Db) {
    let rows = vec![
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$sum": { "$nope": 1 }, "window": 5 } } } }], "cursor": {} },
            168,
            "Unrecognized expression '$nope'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "window": 5, "$sum": { "$nope": 1 } } } } }], "cursor": {} },
            9,
            "'window' field must be an object",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "sortBy": { "a": 1 }, "output": { "r": { "$min": "$x", "window": { "documents": [1.5, 1] }, "k": 1 } } } }], "cursor": {} },
            9,
            "Numeric document-based bounds must be an integer",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "k": 1, "$sum": "$x" } } } }], "cursor": {} },
            9,
            "Window function found an unknown argument: k",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$min": "$x", "$toDouble": 1 } } } }], "cursor": {} },
            9,
            "Window function found an unknown argument: $toDouble",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$sum": "$x", "$shift": 1 } } } }], "cursor": {} },
            9,
            "Cannot specify two functions in window function spec",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$count": {}, "$shift": 1 } } } }], "cursor": {} },
            9,
            "Cannot specify multiple functions in window function spec",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$first": "$x", "k": 1 } } } }], "cursor": {} },
            9,
            "$first got unexpected argument: k",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "k": 1, "$topN": 5 } } } }], "cursor": {} },
            9,
            "$topN got unexpected argument: k",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$topN": { "by": 1 }, "window": 5 } } } }], "cursor": {} },
            5788002,
            "Unknown argument to $topN 'by'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$topN": { "sortBy": { "x": 5 }, "output": { "$nope": 1 }, "n": 1 } } } } }], "cursor": {} },
            15975,
            "$sort key ordering must be 1 (for ascending) or -1 (for descending)",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$shift": { "zz": 1 }, "k": 1 } } } }], "cursor": {} },
            9,
            "Unknown argument in $shift",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "sortBy": { "a": 1 }, "output": { "r": { "$shift": { "output": "$x", "by": 1 }, "$rank": 1 } } } }], "cursor": {} },
            9,
            "Cannot specify multiple functions in window function spec",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$locf": "$x", "window": {}, "k": 1 } } } }], "cursor": {} },
            9,
            "Window function found an unknown argument: k",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$locf": "$x", "window": {} } } } }], "cursor": {} },
            9,
            "'window' field is not allowed in $locf",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "window": {}, "$linearFill": { "$nope": 1 } } } } }], "cursor": {} },
            168,
            "Unrecognized expression '$nope'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$linearFill": "$x" } } } }], "cursor": {} },
            605001,
            "$linearFill must be specified with a top level sortBy expression with exactly one element",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$derivative": { "input": "$x" }, "k": 1 } } } }], "cursor": {} },
            9,
            "$derivative requires a sortBy",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "sortBy": { "a": 1 }, "output": { "r": { "$derivative": "x", "k": 1 } } } }], "cursor": {} },
            9,
            "$derivative got unexpected argument: k",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "k": 1, "$rank": [] } } } }], "cursor": {} },
            5371601,
            "Rank style window functions take no other arguments",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "sortBy": { "a": 1 }, "output": { "r": { "$expMovingAvg": { "input": { "$nope": 1 }, "alpha": 5 } } } } }], "cursor": {} },
            168,
            "Unrecognized expression '$nope'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$sum": "$x", "window": { "range": [-1, 1], "unit": "day", "k": 1 } } } } }], "cursor": {} },
            9,
            "'window' field that specifies unit cannot have other fields besides 'range'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$sum": "$x", "window": { "range": [-1, 1], "k": 1 } } } } }], "cursor": {} },
            9,
            "'window' field that specifies range cannot have other fields besides 'unit'",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "$sum": "$x", "window": { "documents": [{ "$max": "$v" }, 1] } } } } }], "cursor": {} },
            9,
            "Window bounds expression must be a constant.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "sortBy": { "a": 1 }, "output": { "r": { "$sum": "$x", "window": { "range": [[1], 1], "unit": "day" } } } } }], "cursor": {} },
            9,
            "With 'unit', range-based bounds must be an integer",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$setWindowFields": { "output": { "r": { "k": 1 } } } }], "cursor": {} },
            9,
            "Expected a $-prefixed window function, k",
        ),
    ];
    check(db, rows).await;
}

async fn stages_are_looked_at_before_what_they_compute(db: &Db) {
    let rows = vec![
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucket": { "output": { "a.b": { "$sum": 1 } }, "groupBy": 0 } }], "cursor": {} },
            40202,
            "The $bucket 'groupBy' field must be defined as a $-prefixed path or an expression, but found: 0.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucket": { "groupBy": "$$q" } }], "cursor": {} },
            40198,
            "$bucket requires 'groupBy' and 'boundaries' to be specified.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucket": { "groupBy": { "$nope": 1 }, "boundaries": [1, 2], "default": 1 } }], "cursor": {} },
            40199,
            "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest boundary.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucket": { "output": { "r": 5 }, "boundaries": [1, 2], "groupBy": { "$nope": 1 } } }], "cursor": {} },
            40234,
            "The field 'r' must be an accumulator object",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucketAuto": { "buckets": 0 } }], "cursor": {} },
            40246,
            "$bucketAuto requires 'groupBy' and 'buckets' to be specified",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucketAuto": { "buckets": -1, "groupBy": 5 } }], "cursor": {} },
            40239,
            "The $bucketAuto 'groupBy' field must be defined as a $-prefixed path or an expression object, but found: 5",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$bucketAuto": { "buckets": 0, "groupBy": "$a" } }], "cursor": {} },
            40243,
            "The $bucketAuto 'buckets' field must be greater than 0, but found: 0",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "from": "" } }], "cursor": {} },
            73,
            "invalid $lookup namespace: DB.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "let": 5, "from": 5 } }], "cursor": {} },
            9,
            "$lookup 'from' field must be a string, but found int",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "pipeline": 5 } }], "cursor": {} },
            14,
            "'pipeline' option must be specified as an array",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "pipeline": [5], "from": "c", "let": 5 } }], "cursor": {} },
            14,
            "Each element of the 'pipeline' array must be an object",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "from": "c", "foreignField": "$b" } }], "cursor": {} },
            9,
            "must specify 'as' field for a $lookup",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$lookup": { "from": "c", "localField": "$a", "foreignField": "b", "as": "x" } }], "cursor": {} },
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$graphLookup": { "depthField": "$d", "from": "" } }], "cursor": {} },
            73,
            "invalid $graphLookup namespace: DB.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$graphLookup": { "maxDepth": -1, "from": 5 } }], "cursor": {} },
            9,
            "$graphLookup 'from' field must be a string, but found int",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$graphLookup": { "as": "$o", "from": "c" } }], "cursor": {} },
            40105,
            "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and 'connectToField' to be specified.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$graphLookup": { "maxDepth": 1.5, "from": "c" } }], "cursor": {} },
            40102,
            "maxDepth could not be represented as a long long: 1",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$graphLookup": { "as": "x" } }], "cursor": {} },
            9,
            "missing 'from' option to $graphLookup stage specification: { as: \"x\" }",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$addFields": { "a": { "$nope": 1 }, "a.b": 5 } }], "cursor": {} },
            40176,
            "Invalid $addFields :: caused by :: specification contains two conflicting paths. Cannot specify both 'a.b' and 'a': { a: { $nope: 1 }, a.b: 5 }",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$addFields": { "a": "$$q", "b": { "$nope": 1, "c": 1 } } }], "cursor": {} },
            40181,
            "Invalid $addFields :: caused by :: an expression specification must contain exactly one field, the name of the expression. Found 2 fields in { $nope: 1, c: 1 }, while parsing object { a: \"$$q\", b: { $nope: 1, c: 1 } }",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$densify": { "field": "", "partitionByFields": ["$a"], "range": { "step": 1, "bounds": "full" } } }], "cursor": {} },
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ),
        (
            doc! { "aggregate": "c", "pipeline": [{ "$group": { "_id": 1, "r": { "$topN": { "output": { "$nope": 1 }, "sortBy": { "a": 1 } } } } }], "cursor": {} },
            5788003,
            "Missing value for 'n'",
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
