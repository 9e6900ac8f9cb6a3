//! Why documents are refused by schemas: the rules that they break.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{batch, ids, insert, run};

use crate::details::refuses;

crate::on_every_backend! {
    what_is_never_true_has_a_reason_of_its_own,
    schemas_tell_their_titles,
    rules_of_items_tell_what_is_inside,
    rules_of_properties_tell_what_is_inside,
    rules_come_in_the_order_of_the_server,
    property_names_with_dots_are_paths,
    a_schema_for_a_path_may_be_satisfied_by_another_value_each,
}

/// The rules of a schema that a document breaks.
async fn breaks<const N: usize>(db: &Db, schema: Document, document: Document, rules: [Document; N]) {
    let details = doc! { "operatorName": "$jsonSchema", "schemaRulesNotSatisfied": rules.to_vec() };
    refuses(db, doc! { "$jsonSchema": schema }, document, details).await;
}

/// The rules of a schema that the value of a property breaks.
async fn property_breaks<const N: usize>(db: &Db, schema: Document, value: Bson, rules: [Document; N]) {
    let broken = doc! {
        "operatorName": "properties",
        "propertiesNotSatisfied": [{ "propertyName": "a", "details": rules.to_vec() }],
    };
    let schema = doc! { "properties": { "a": schema } };
    breaks(db, schema, doc! { "a": value }, [broken]).await;
}

async fn what_is_never_true_has_a_reason_of_its_own(db: &Db) {
    refuses(
        db,
        doc! { "a": { "$all": [] } },
        doc! { "a": 1 },
        doc! {
            "operatorName": "$all",
            "specifiedAs": { "a": { "$all": [] } },
            "reason": "expression always evaluates to false",
        },
    )
    .await;
    refuses(
        db,
        doc! { "$jsonSchema": { "type": "string", "title": "text" } },
        doc! {},
        doc! {
            "operatorName": "$jsonSchema",
            "specifiedAs": { "$jsonSchema": { "type": "string", "title": "text" } },
            "reason": "expression always evaluates to false",
        },
    )
    .await;
    breaks(
        db,
        doc! { "anyOf": [{ "type": "string", "title": "text" }] },
        doc! {},
        [doc! {
            "operatorName": "anyOf",
            "schemasNotSatisfied": [{
                "index": 0,
                "details": {
                    "operatorName": "$jsonSchema",
                    "specifiedAs": { "$jsonSchema": { "type": "string", "title": "text" } },
                    "reason": "expression always evaluates to false",
                },
            }],
        }],
    )
    .await;
    breaks(
        db,
        doc! { "enum": [3] },
        doc! {},
        [doc! {
            "operatorName": "enum",
            "specifiedAs": { "enum": [3] },
            "reason": "expression always evaluates to false",
        }],
    )
    .await;
}

async fn schemas_tell_their_titles(db: &Db) {
    refuses(
        db,
        doc! { "$jsonSchema": { "title": "thing", "description": "of a kind", "required": ["a"] } },
        doc! {},
        doc! {
            "operatorName": "$jsonSchema",
            "title": "thing",
            "description": "of a kind",
            "schemaRulesNotSatisfied": [{
                "operatorName": "required",
                "specifiedAs": { "required": ["a"] },
                "missingProperties": ["a"],
            }],
        },
    )
    .await;
    refuses(
        db,
        doc! { "a": 1, "$jsonSchema": { "title": "thing", "required": ["b"] } },
        doc! {},
        doc! {
            "operatorName": "$and",
            "clausesNotSatisfied": [
                {
                    "index": 0,
                    "details": {
                        "operatorName": "$eq",
                        "specifiedAs": { "a": 1 },
                        "reason": "field was missing",
                    },
                },
                {
                    "index": 1,
                    "title": "thing",
                    "details": {
                        "operatorName": "$jsonSchema",
                        "title": "thing",
                        "schemaRulesNotSatisfied": [{
                            "operatorName": "required",
                            "specifiedAs": { "required": ["b"] },
                            "missingProperties": ["b"],
                        }],
                    },
                },
            ],
        },
    )
    .await;
    breaks(
        db,
        doc! { "properties": { "a": { "title": "number", "minimum": 3 } } },
        doc! { "a": 1 },
        [doc! {
            "operatorName": "properties",
            "propertiesNotSatisfied": [{
                "propertyName": "a",
                "title": "number",
                "details": [{
                    "operatorName": "minimum",
                    "specifiedAs": { "minimum": 3 },
                    "reason": "comparison failed",
                    "consideredValue": 1,
                }],
            }],
        }],
    )
    .await;
    property_breaks(
        db,
        doc! { "anyOf": [{ "title": "low", "maximum": 1 }, { "description": "high", "minimum": 9 }] },
        bson!(5),
        [doc! {
            "operatorName": "anyOf",
            "schemasNotSatisfied": [
                {
                    "index": 0,
                    "title": "low",
                    "details": [{
                        "operatorName": "maximum",
                        "specifiedAs": { "maximum": 1 },
                        "reason": "comparison failed",
                        "consideredValue": 5,
                    }],
                },
                {
                    "index": 1,
                    "description": "high",
                    "details": [{
                        "operatorName": "minimum",
                        "specifiedAs": { "minimum": 9 },
                        "reason": "comparison failed",
                        "consideredValue": 5,
                    }],
                },
            ],
        }],
    )
    .await;
    property_breaks(
        db,
        doc! { "items": { "title": "item", "type": "string" } },
        bson!([1]),
        [doc! {
            "operatorName": "items",
            "title": "item",
            "reason": "At least one item did not match the sub-schema",
            "itemIndex": 0,
            "details": [{
                "operatorName": "type",
                "specifiedAs": { "type": "string" },
                "reason": "type did not match",
                "consideredValue": 1,
                "consideredType": "int",
            }],
        }],
    )
    .await;
}

async fn rules_of_items_tell_what_is_inside(db: &Db) {
    property_breaks(
        db,
        doc! { "items": [{ "type": "string" }, { "minimum": 3 }], "additionalItems": false },
        bson!(["x", 1, 2]),
        [
            doc! {
                "operatorName": "items",
                "details": [{
                    "itemIndex": 1_i64,
                    "details": [{
                        "operatorName": "minimum",
                        "specifiedAs": { "minimum": 3 },
                        "reason": "comparison failed",
                        "consideredValue": 1,
                    }],
                }],
            },
            doc! {
                "operatorName": "additionalItems",
                "specifiedAs": { "additionalItems": false },
                "reason": "found additional items",
                "additionalItems": [2],
            },
        ],
    )
    .await;
    property_breaks(
        db,
        doc! { "items": [{}], "additionalItems": { "title": "more", "minimum": 3 } },
        bson!([1, 5, 2]),
        [doc! {
            "operatorName": "additionalItems",
            "title": "more",
            "reason": "At least one additional item did not match the sub-schema",
            "itemIndex": 2,
            "details": [{
                "operatorName": "minimum",
                "specifiedAs": { "minimum": 3 },
                "reason": "comparison failed",
                "consideredValue": 2,
            }],
        }],
    )
    .await;
    property_breaks(
        db,
        doc! { "uniqueItems": true },
        bson!([{ "x": 1, "y": 2 }, { "y": 2, "x": 1 }]),
        [doc! {
            "operatorName": "uniqueItems",
            "specifiedAs": { "uniqueItems": true },
            "reason": "found a duplicate item",
            "consideredValue": [{ "x": 1, "y": 2 }, { "y": 2, "x": 1 }],
            "duplicatedValue": { "y": 2, "x": 1 },
        }],
    )
    .await;
}

async fn rules_of_properties_tell_what_is_inside(db: &Db) {
    breaks(
        db,
        doc! {
            "additionalProperties": { "title": "other", "type": "string" },
            "properties": { "_id": {} },
        },
        doc! { "a": 1 },
        [doc! {
            "operatorName": "additionalProperties",
            "title": "other",
            "reason": "at least one additional property did not match the subschema",
            "failingProperty": "a",
            "details": [{
                "operatorName": "type",
                "specifiedAs": { "type": "string" },
                "reason": "type did not match",
                "consideredValue": 1,
                "consideredType": "int",
            }],
        }],
    )
    .await;
    breaks(
        db,
        doc! {
            "patternProperties": { "^a": { "minimum": 5 } },
            "additionalProperties": false,
            "properties": { "_id": {} },
        },
        doc! { "a": 1, "ab": 2, "b": 3 },
        [
            doc! {
                "operatorName": "additionalProperties",
                "specifiedAs": { "additionalProperties": false },
                "additionalProperties": ["b"],
            },
            doc! {
                "operatorName": "patternProperties",
                "details": [{
                    "propertyName": "a",
                    "regexMatched": "^a",
                    "details": [{
                        "operatorName": "minimum",
                        "specifiedAs": { "minimum": 5 },
                        "reason": "comparison failed",
                        "consideredValue": 1,
                    }],
                }],
            },
        ],
    )
    .await;
    breaks(
        db,
        doc! { "dependencies": { "a": ["c", "b"], "b": { "required": ["d"] } } },
        doc! { "a": 1, "b": 1 },
        [doc! {
            "operatorName": "dependencies",
            "failingDependencies": [
                { "conditionalProperty": "a", "missingProperties": ["c"] },
                {
                    "conditionalProperty": "b",
                    "details": [{
                        "operatorName": "required",
                        "specifiedAs": { "required": ["d"] },
                        "missingProperties": ["d"],
                    }],
                },
            ],
        }],
    )
    .await;
    breaks(
        db,
        doc! { "required": ["c", "b"] },
        doc! {},
        [doc! {
            "operatorName": "required",
            "specifiedAs": { "required": ["c", "b"] },
            "missingProperties": ["b", "c"],
        }],
    )
    .await;
    breaks(
        db,
        doc! {
            "required": ["a"],
            "properties": { "a": { "not": { "type": "string" } }, "b": { "not": {} } },
        },
        doc! {},
        [doc! {
            "operatorName": "required",
            "specifiedAs": { "required": ["a"] },
            "missingProperties": ["a"],
        }],
    )
    .await;
    breaks(
        db,
        doc! { "required": ["a"], "properties": { "a": { "not": { "minimum": 3 } } } },
        doc! {},
        [
            doc! {
                "operatorName": "properties",
                "propertiesNotSatisfied": [{
                    "propertyName": "a",
                    "details": [{ "operatorName": "not", "reason": "child expression matched" }],
                }],
            },
            doc! {
                "operatorName": "required",
                "specifiedAs": { "required": ["a"] },
                "missingProperties": ["a"],
            },
        ],
    )
    .await;
}

async fn rules_come_in_the_order_of_the_server(db: &Db) {
    property_breaks(
        db,
        doc! {
            "bsonType": "int",
            "enum": [1],
            "minimum": 5,
            "exclusiveMinimum": false,
            "maximum": 1,
            "exclusiveMaximum": true,
            "multipleOf": 7,
            "allOf": [{ "minimum": 9 }],
        },
        bson!(3),
        [
            doc! {
                "operatorName": "multipleOf",
                "specifiedAs": { "multipleOf": 7 },
                "reason": "considered value is not a multiple of the specified value",
                "consideredValue": 3,
            },
            doc! {
                "operatorName": "maximum",
                "specifiedAs": { "maximum": 1, "exclusiveMaximum": true },
                "reason": "comparison failed",
                "consideredValue": 3,
            },
            doc! {
                "operatorName": "minimum",
                "specifiedAs": { "minimum": 5 },
                "reason": "comparison failed",
                "consideredValue": 3,
            },
            doc! {
                "operatorName": "allOf",
                "schemasNotSatisfied": [{
                    "index": 0,
                    "details": [{
                        "operatorName": "minimum",
                        "specifiedAs": { "minimum": 9 },
                        "reason": "comparison failed",
                        "consideredValue": 3,
                    }],
                }],
            },
            doc! {
                "operatorName": "enum",
                "specifiedAs": { "enum": [1] },
                "reason": "value was not found in enum",
                "consideredValue": 3,
            },
        ],
    )
    .await;
    property_breaks(
        db,
        doc! { "minLength": 5, "maxLength": 1, "pattern": "z" },
        bson!("xyz "),
        [
            doc! {
                "operatorName": "maxLength",
                "specifiedAs": { "maxLength": 1 },
                "reason": "specified string length was not satisfied",
                "consideredValue": "xyz ",
            },
            doc! {
                "operatorName": "minLength",
                "specifiedAs": { "minLength": 5 },
                "reason": "specified string length was not satisfied",
                "consideredValue": "xyz ",
            },
        ],
    )
    .await;
    property_breaks(
        db,
        doc! { "minimum": 5, "type": "string" },
        bson!(3),
        [doc! {
            "operatorName": "type",
            "specifiedAs": { "type": "string" },
            "reason": "type did not match",
            "consideredValue": 3,
            "consideredType": "int",
        }],
    )
    .await;
}

async fn property_names_with_dots_are_paths(db: &Db) {
    breaks(
        db,
        doc! { "properties": { "a.b": { "minimum": 8 } } },
        doc! { "a": { "b": 1 } },
        [doc! {
            "operatorName": "properties",
            "propertiesNotSatisfied": [{
                "propertyName": "a.b",
                "details": [{
                    "operatorName": "minimum",
                    "specifiedAs": { "minimum": 8 },
                    "reason": "comparison failed",
                    "consideredValue": 1,
                }],
            }],
        }],
    )
    .await;
    breaks(
        db,
        doc! { "properties": { "a.b": { "type": "string" } } },
        doc! { "a": [{ "b": 1 }, { "b": 2 }] },
        [doc! {
            "operatorName": "properties",
            "propertiesNotSatisfied": [{
                "propertyName": "a.b",
                "details": [{
                    "operatorName": "type",
                    "specifiedAs": { "type": "string" },
                    "reason": "type did not match",
                    "consideredValues": [1, 2],
                    "consideredType": "int",
                }],
            }],
        }],
    )
    .await;
}

async fn a_schema_for_a_path_may_be_satisfied_by_another_value_each(db: &Db) {
    let documents = vec![
        doc! { "_id": 1, "a.b": 1 },
        doc! { "_id": 2, "a": { "b": 1 } },
        doc! { "_id": 3, "a": { "b": 9 } },
        doc! { "_id": 4, "a": [{ "b": 1 }, { "b": 9 }] },
        doc! { "_id": 5, "a": [{ "b": "x" }, { "b": 5 }] },
        doc! { "_id": 6, "a": [{ "c": 1 }] },
        doc! { "_id": 7, "a": { "b": [9] } },
    ];
    insert(db, "c", documents).await;
    for (schema, found) in [
        (doc! { "minimum": 8 }, vec![1, 3, 4, 6, 7]),
        (doc! { "minimum": 8, "maximum": 3 }, vec![1, 4, 6, 7]),
        (doc! { "type": "string" }, vec![1, 5, 6]),
        (doc! { "not": { "type": "string" } }, vec![1, 2, 3, 4, 6, 7]),
        (doc! { "enum": [9] }, vec![1, 3, 4, 6]),
    ] {
        let filter = doc! { "$jsonSchema": { "properties": { "a.b": schema.clone() } } };
        let reply = run(db, doc! { "find": "c", "filter": filter, "sort": { "_id": 1 } }).await;
        assert_eq!(ids(&batch(&reply)), found, "{schema}");
    }
}
