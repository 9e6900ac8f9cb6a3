//! Why documents are refused by filters: the details that users read.

use odm::Db;
use odm::bson::{Bson, Document, Regex, doc};
use odm_tests::command::{insert, run};

crate::on_every_backend! {
    the_types_of_several_values_are_told_once,
    values_that_an_operator_does_not_look_at_are_told_by_their_types,
    values_are_counted_up_to_where_a_path_leads_nowhere,
    at_most_ten_values_are_told,
    geometries_are_told_from_other_values,
    a_negated_filter_tells_all_that_is_so,
    an_expression_that_fails_is_told_with_its_code,
    what_looks_at_nothing_cannot_be_explained,
    large_explanations_are_shortened,
    a_refused_find_and_modify_is_explained,
    a_pattern_is_asked_of_patterns_where_a_string_may_be,
}

/// What the error of a refused document tells.
async fn info(db: &Db, validator: Document, document: Document) -> Document {
    let _ = db.run_command(doc! { "drop": "c" }).await;
    run(db, doc! { "create": "c", "validator": validator }).await;
    let mut refused = doc! { "_id": 1 };
    refused.extend(document);
    let reply = run(db, doc! { "insert": "c", "documents": [refused] }).await;
    let error = reply.get_array("writeErrors").unwrap()[0].as_document().unwrap();
    assert_eq!(error.get_i32("code").unwrap(), 121);
    error.get_document("errInfo").unwrap().clone()
}

/// What the error of a refused document tells by its details.
pub(crate) async fn refuses(db: &Db, validator: Document, document: Document, details: Document) {
    let shown = format!("{validator} {document}");
    let info = info(db, validator, document).await;
    assert_eq!(info.get_i32("failingDocumentId").unwrap(), 1);
    assert_eq!(info.get_document("details").unwrap(), &details, "{shown}");
}

async fn the_types_of_several_values_are_told_once(db: &Db) {
    refuses(
        db,
        doc! { "a": { "$type": "string" } },
        doc! { "a": [1, 2] },
        doc! {
            "operatorName": "$type",
            "specifiedAs": { "a": { "$type": "string" } },
            "reason": "type did not match",
            "consideredValues": [1, 2],
            "consideredType": "int",
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": { "$type": "string" } },
        doc! { "a": [1, 2.5] },
        doc! {
            "operatorName": "$type",
            "specifiedAs": { "a": { "$type": "string" } },
            "reason": "type did not match",
            "consideredValues": [1, 2.5],
            "consideredTypes": ["double", "int"],
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": { "$type": "string" } },
        doc! { "a": [] },
        doc! {
            "operatorName": "$type",
            "specifiedAs": { "a": { "$type": "string" } },
            "reason": "type did not match",
            "consideredValues": [],
        },
    )
    .await;
}

async fn values_that_an_operator_does_not_look_at_are_told_by_their_types(db: &Db) {
    refuses(
        db,
        doc! { "a": { "$mod": [4, 1] } },
        doc! { "a": [] },
        doc! {
            "operatorName": "$mod",
            "specifiedAs": { "a": { "$mod": [4, 1] } },
            "reason": "type did not match",
            "expectedTypes": ["decimal", "double", "int", "long"],
            "consideredValues": [],
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": { "$regex": "x" } },
        doc! { "a": [1, true] },
        doc! {
            "operatorName": "$regex",
            "specifiedAs": { "a": { "$regex": "x" } },
            "reason": "type did not match",
            "consideredTypes": ["bool", "int"],
            "expectedTypes": ["regex", "string", "symbol"],
            "consideredValues": [1, true],
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": { "$bitsAllSet": 1 } },
        doc! { "a": ["x", "y"] },
        doc! {
            "operatorName": "$bitsAllSet",
            "specifiedAs": { "a": { "$bitsAllSet": 1 } },
            "reason": "type did not match",
            "consideredType": "string",
            "expectedTypes": ["binData", "decimal", "double", "int", "long"],
            "consideredValues": ["x", "y"],
        },
    )
    .await;
    refuses(
        db,
        doc! { "a.b": { "$size": 2 } },
        doc! { "a": [{ "b": 1 }, { "b": 4 }] },
        doc! {
            "operatorName": "$size",
            "specifiedAs": { "a.b": { "$size": 2 } },
            "reason": "type did not match",
            "consideredType": "int",
            "expectedType": "array",
            "consideredValues": [1, 4],
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": { "$all": [1, 2] } },
        doc! { "a": 3 },
        doc! {
            "operatorName": "$all",
            "specifiedAs": { "a": { "$all": [1, 2] } },
            "reason": "array did not contain all specified values",
            "consideredValue": 3,
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": { "$regex": "^x", "$ne": "x" } },
        doc! { "a": 1 },
        doc! {
            "operatorName": "$and",
            "clausesNotSatisfied": [{
                "index": 0,
                "details": {
                    "operatorName": "$regex",
                    "specifiedAs": { "a": { "$regex": "^x", "$ne": "x" } },
                    "reason": "type did not match",
                    "consideredType": "int",
                    "expectedTypes": ["regex", "string", "symbol"],
                    "consideredValue": 1,
                },
            }],
        },
    )
    .await;
}

async fn values_are_counted_up_to_where_a_path_leads_nowhere(db: &Db) {
    refuses(
        db,
        doc! { "a.b": { "$gt": 9 } },
        doc! { "a": [{ "b": 1 }, { "c": 2 }, { "b": 3 }] },
        doc! {
            "operatorName": "$gt",
            "specifiedAs": { "a.b": { "$gt": 9 } },
            "reason": "comparison failed",
            "consideredValue": 1,
        },
    )
    .await;
    refuses(
        db,
        doc! { "a.0": { "$gt": 9 } },
        doc! { "a": [{ "b": 1 }] },
        doc! {
            "operatorName": "$gt",
            "specifiedAs": { "a.0": { "$gt": 9 } },
            "reason": "field was missing",
        },
    )
    .await;
    refuses(
        db,
        doc! { "a.0": { "$gt": 9 } },
        doc! { "a": [7, { "0": 5 }] },
        doc! {
            "operatorName": "$gt",
            "specifiedAs": { "a.0": { "$gt": 9 } },
            "reason": "comparison failed",
            "consideredValues": [7, 5],
        },
    )
    .await;
    refuses(
        db,
        doc! { "a.0.b": { "$gt": 9 } },
        doc! { "a": [[{ "b": 1 }]] },
        doc! {
            "operatorName": "$gt",
            "specifiedAs": { "a.0.b": { "$gt": 9 } },
            "reason": "comparison failed",
            "consideredValue": 1,
        },
    )
    .await;
    refuses(
        db,
        doc! { "": 1 },
        doc! { "a": 1 },
        doc! {
            "operatorName": "$eq",
            "specifiedAs": { "": 1 },
            "reason": "comparison failed",
            "consideredValue": { "_id": 1, "a": 1 },
        },
    )
    .await;
}

async fn at_most_ten_values_are_told(db: &Db) {
    refuses(
        db,
        doc! { "a": { "$type": "string" } },
        doc! { "a": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, true] },
        doc! {
            "operatorName": "$type",
            "specifiedAs": { "a": { "$type": "string" } },
            "reason": "type did not match",
            "consideredValues": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
            "consideredValuesTruncated": true,
            "consideredType": "int",
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": { "$elemMatch": { "$gt": 20 } } },
        doc! { "a": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
        doc! {
            "operatorName": "$elemMatch",
            "specifiedAs": { "a": { "$elemMatch": { "$gt": 20 } } },
            "reason": "array did not satisfy the child predicate",
            "consideredValue": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        },
    )
    .await;
}

async fn geometries_are_told_from_other_values(db: &Db) {
    refuses(
        db,
        doc! { "a": { "$geoWithin": { "$box": [[0, 0], [1, 1]] } } },
        doc! { "a": 3 },
        doc! {
            "operatorName": "$geoWithin",
            "specifiedAs": { "a": { "$geoWithin": { "$box": [[0, 0], [1, 1]] } } },
            "reason": "could not find a valid geometry at the given path",
            "consideredValue": 3,
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": { "$geoWithin": { "$box": [[0, 0], [1, 1]] } } },
        doc! { "a": [5, 5] },
        doc! {
            "operatorName": "$geoWithin",
            "specifiedAs": { "a": { "$geoWithin": { "$box": [[0, 0], [1, 1]] } } },
            "reason": "none of the considered geometries were contained within the expression’s geometry",
            "consideredValues": [5, 5],
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": { "$not": { "$geoWithin": { "$box": [[0, 0], [1, 1]] } } } },
        doc! { "a": { "x": 0.5, "y": 0.5 } },
        doc! {
            "operatorName": "$not",
            "details": {
                "operatorName": "$geoWithin",
                "specifiedAs": { "a": { "$geoWithin": { "$box": [[0, 0], [1, 1]] } } },
                "reason": "at least one of considered geometries was contained within the expression’s geometry",
                "consideredValue": { "x": 0.5, "y": 0.5 },
            },
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": { "$geoIntersects": { "$geometry": { "type": "Point", "coordinates": [1, 1] } } } },
        doc! { "a": { "type": "Point", "coordinates": [2, 2] } },
        doc! {
            "operatorName": "$geoIntersects",
            "specifiedAs": {
                "a": { "$geoIntersects": { "$geometry": { "type": "Point", "coordinates": [1, 1] } } },
            },
            "reason": "none of the considered geometries intersected the expression’s geometry",
            "consideredValue": { "type": "Point", "coordinates": [2, 2] },
        },
    )
    .await;
}

async fn a_negated_filter_tells_all_that_is_so(db: &Db) {
    refuses(
        db,
        doc! { "$nor": [{ "$jsonSchema": { "required": ["a"] } }, { "a": 2 }] },
        doc! { "a": 1 },
        doc! {
            "operatorName": "$nor",
            "clausesSatisfied": [{
                "index": 0,
                "details": { "operatorName": "$jsonSchema", "reason": "schema matched" },
            }],
        },
    )
    .await;
    refuses(
        db,
        doc! { "$nor": [{ "a": 1, "b": 2 }, { "a": 1, "b": { "$exists": false } }] },
        doc! { "a": 1 },
        doc! {
            "operatorName": "$nor",
            "clausesSatisfied": [{
                "index": 1,
                "details": {
                    "operatorName": "$and",
                    "clausesSatisfied": [
                        {
                            "index": 0,
                            "details": {
                                "operatorName": "$eq",
                                "specifiedAs": { "a": 1 },
                                "reason": "comparison succeeded",
                                "consideredValue": 1,
                            },
                        },
                        {
                            "index": 1,
                            "details": {
                                "operatorName": "$exists",
                                "specifiedAs": { "b": { "$exists": false } },
                                "reason": "path does not exist",
                            },
                        },
                    ],
                },
            }],
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": { "$not": { "$gt": 0, "$lt": 5 } } },
        doc! { "a": 1 },
        doc! {
            "operatorName": "$not",
            "details": {
                "operatorName": "$and",
                "clausesSatisfied": [
                    {
                        "index": 0,
                        "details": {
                            "operatorName": "$gt",
                            "specifiedAs": { "a": { "$gt": 0 } },
                            "reason": "comparison succeeded",
                            "consideredValue": 1,
                        },
                    },
                    {
                        "index": 1,
                        "details": {
                            "operatorName": "$lt",
                            "specifiedAs": { "a": { "$lt": 5 } },
                            "reason": "comparison succeeded",
                            "consideredValue": 1,
                        },
                    },
                ],
            },
        },
    )
    .await;
    refuses(
        db,
        doc! { "$nor": [{ "$comment": "all" }] },
        doc! {},
        doc! {
            "operatorName": "$nor",
            "clausesSatisfied": [{
                "index": 0,
                "details": { "operatorName": "$and", "clausesSatisfied": [] },
            }],
        },
    )
    .await;
}

async fn an_expression_that_fails_is_told_with_its_code(db: &Db) {
    refuses(
        db,
        doc! { "$expr": { "$add": ["$a", 1] } },
        doc! { "a": "x" },
        doc! {
            "operatorName": "$expr",
            "specifiedAs": { "$expr": { "$add": ["$a", 1] } },
            "reason": "failed to evaluate aggregation expression",
            "details": {
                "code": 16554,
                "codeName": "Location16554",
                "errmsg": "$add only supports numeric or date types, not string",
            },
        },
    )
    .await;
    refuses(
        db,
        doc! { "$nor": [{ "$expr": { "$toInt": "$a" }, "b": 1 }] },
        doc! { "a": "x" },
        doc! {
            "operatorName": "$nor",
            "clausesSatisfied": [{
                "index": 0,
                "details": {
                    "operatorName": "$and",
                    "clausesSatisfied": [
                        {
                            "index": 0,
                            "details": {
                                "operatorName": "$expr",
                                "specifiedAs": { "$expr": { "$toInt": "$a" } },
                                "reason": "failed to evaluate aggregation expression",
                                "details": {
                                    "code": 241,
                                    "codeName": "ConversionFailure",
                                    "errmsg": "Failed to parse number 'x' in $convert with no onError value: Did not consume whole string.",
                                },
                            },
                        },
                        {
                            "index": 1,
                            "details": {
                                "operatorName": "$eq",
                                "specifiedAs": { "b": 1 },
                                "reason": "field was missing",
                            },
                        },
                    ],
                },
            }],
        },
    )
    .await;
}

async fn what_looks_at_nothing_cannot_be_explained(db: &Db) {
    let info = info(db, doc! { "$alwaysFalse": 1 }, doc! {}).await;
    let message =
        "Cannot generate validation error details: no annotation found for expression { $alwaysFalse: 1 }";
    assert_eq!(
        info,
        doc! {
            "failingDocumentId": 1,
            "note": "failed to generate document validation error",
            "details": { "code": 4_994_600, "codeName": "Location4994600", "errmsg": message },
        }
    );
}

async fn large_explanations_are_shortened(db: &Db) {
    let large = "x".repeat(13_000_000);
    let short = info(db, doc! { "a": 1 }, doc! { "a": &large }).await;
    assert_eq!(
        short,
        doc! {
            "failingDocumentId": 1,
            "truncated": true,
            "details": { "operatorName": "$eq", "reason": "comparison failed" },
        }
    );
    let closed = doc! { "$jsonSchema": { "additionalProperties": false } };
    let mut document = Document::new();
    document.insert(large, 1);
    let shorter = info(db, closed, document).await;
    assert_eq!(
        shorter,
        doc! { "failingDocumentId": 1, "note": "detailed error was too large" }
    );

    let mut deep = doc! { "a": 1 };
    for _ in 0..70 {
        deep = doc! { "$and": [deep] };
    }
    assert_eq!(
        info(db, deep, doc! {}).await,
        doc! { "reason": "generated error was too deeply nested", "truncated": true }
    );
}

async fn a_refused_find_and_modify_is_explained(db: &Db) {
    run(db, doc! { "create": "c", "validator": { "a": { "$gt": 3 } } }).await;
    insert(db, "c", vec![doc! { "_id": 1, "a": 5 }]).await;
    let command = doc! { "findAndModify": "c", "query": { "_id": 1 }, "update": { "$set": { "a": 1 } } };
    let error = db.run_command(command).await.unwrap_err();
    assert_eq!(error.code(), Some(121));
    assert_eq!(
        error.details().unwrap(),
        &doc! {
            "failingDocumentId": 1,
            "details": {
                "operatorName": "$gt",
                "specifiedAs": { "a": { "$gt": 3 } },
                "reason": "comparison failed",
                "consideredValue": 1,
            },
        }
    );
}

async fn a_pattern_is_asked_of_patterns_where_a_string_may_be(db: &Db) {
    let regex = |pattern: &str| {
        Bson::RegularExpression(Regex {
            pattern: pattern.try_into().unwrap(),
            options: "".try_into().unwrap(),
        })
    };
    let schema = doc! { "bsonType": "string", "pattern": "^b", "minLength": 2 };
    let validator = doc! { "$jsonSchema": { "properties": { "x": schema } } };
    for (value, is_matched) in [(regex("b"), false), (regex("^b"), true)] {
        let pattern = doc! {
            "operatorName": "pattern",
            "specifiedAs": { "pattern": "^b" },
            "reason": "regular expression did not match",
            "consideredValue": value.clone(),
        };
        let kind = doc! {
            "operatorName": "bsonType",
            "specifiedAs": { "bsonType": "string" },
            "reason": "type did not match",
            "consideredValue": value.clone(),
            "consideredType": "regex",
        };
        let broken = match is_matched {
            true => vec![kind],
            false => vec![pattern, kind],
        };
        refuses(
            db,
            validator.clone(),
            doc! { "x": value },
            doc! {
                "operatorName": "$jsonSchema",
                "schemaRulesNotSatisfied": [{
                    "operatorName": "properties",
                    "propertiesNotSatisfied": [{ "propertyName": "x", "details": broken }],
                }],
            },
        )
        .await;
    }
}
