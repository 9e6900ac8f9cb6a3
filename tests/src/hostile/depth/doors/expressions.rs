//! Expressions.

use bson::{Bson, doc};

use super::super::{Door, array, door, field, listed, mixed, one, project, text, under};

pub(super) const DOORS: &[Door] = &[
    door("expression: not", project, |e| listed("$not", e), text),
    door(
        "expression: not without array",
        project,
        |e| under("$not", e),
        text,
    ),
    door(
        "expression: add",
        project,
        |e| Bson::Document(doc! { "$add": [1, e] }),
        text,
    ),
    door(
        "expression: concatArrays",
        project,
        |e| Bson::Document(doc! { "$concatArrays": [[1], e] }),
        || Bson::Array(Vec::new()),
    ),
    door(
        "expression: and",
        project,
        |e| Bson::Document(doc! { "$and": ["$b", e] }),
        text,
    ),
    door(
        "expression: cond",
        project,
        |e| Bson::Document(doc! { "$cond": { "if": true, "then": e, "else": 1 } }),
        text,
    ),
    door(
        "expression: cond's condition",
        project,
        |e| Bson::Document(doc! { "$cond": { "if": e, "then": 1, "else": 0 } }),
        text,
    ),
    door(
        "expression: ifNull",
        project,
        |e| Bson::Document(doc! { "$ifNull": ["$none", e] }),
        text,
    ),
    door(
        "expression: switch",
        project,
        |e| Bson::Document(doc! { "$switch": { "branches": [{ "case": e, "then": 1 }], "default": 0 } }),
        text,
    ),
    door(
        "expression: switch's default",
        project,
        |e| {
            Bson::Document(doc! { "$switch": { "branches": [{ "case": "$none", "then": 1 }], "default": e } })
        },
        text,
    ),
    door(
        "expression: let",
        project,
        |e| Bson::Document(doc! { "$let": { "vars": { "v": 1 }, "in": e } }),
        text,
    ),
    door(
        "expression: let's variables",
        project,
        |e| Bson::Document(doc! { "$let": { "vars": { "v": e }, "in": { "a": "$$v" } } }),
        text,
    ),
    door(
        "expression: map",
        project,
        |e| Bson::Document(doc! { "$map": { "input": [1], "in": e } }),
        text,
    ),
    door(
        "expression: map's input",
        project,
        |e| Bson::Document(doc! { "$map": { "input": e, "in": "$$this" } }),
        || Bson::Array(vec![one()]),
    ),
    door(
        "expression: filter",
        project,
        |e| Bson::Document(doc! { "$filter": { "input": [1], "cond": e } }),
        text,
    ),
    door(
        "expression: reduce",
        project,
        |e| Bson::Document(doc! { "$reduce": { "input": [1], "initialValue": 0, "in": e } }),
        text,
    ),
    door("expression: object", project, field, text),
    door("expression: array", project, array, text),
    door(
        "expression: literal",
        |e| project(under("$literal", e)),
        mixed,
        one,
    ),
    door(
        "expression: mergeObjects",
        project,
        |e| Bson::Document(doc! { "$mergeObjects": ["$$ROOT", e] }),
        || Bson::Null,
    ),
    door(
        "expression: setField",
        project,
        |e| Bson::Document(doc! { "$setField": { "field": "f", "input": {}, "value": e } }),
        text,
    ),
    door(
        "expression: getField",
        project,
        |e| Bson::Document(doc! { "$getField": { "field": "f", "input": e } }),
        || Bson::String("$$ROOT".to_owned()),
    ),
    door(
        "expression: concat",
        project,
        |e| Bson::Document(doc! { "$concat": ["a", e] }),
        || Bson::String("b".to_owned()),
    ),
    door("expression: toString", project, |e| under("$toString", e), text),
    door(
        "expression: eq",
        project,
        |e| Bson::Document(doc! { "$eq": [e, 1] }),
        text,
    ),
    door("expression: sum", project, |e| under("$sum", e), text),
    door(
        "expression: regexMatch",
        project,
        |e| Bson::Document(doc! { "$regexMatch": { "input": { "$toString": e }, "regex": "a" } }),
        text,
    ),
    door(
        "expression: dateToString",
        project,
        |e| Bson::Document(doc! { "$dateToString": { "date": { "$toDate": "$none" }, "onNull": e } }),
        text,
    ),
    door(
        "expression: convert",
        project,
        |e| Bson::Document(doc! { "$convert": { "input": e, "to": "string", "onError": 1 } }),
        text,
    ),
    door(
        "expression: zip",
        project,
        |e| Bson::Document(doc! { "$zip": { "inputs": [e] } }),
        || Bson::Array(vec![one()]),
    ),
    door(
        "expression: sortArray",
        project,
        |e| Bson::Document(doc! { "$sortArray": { "input": [e], "sortBy": 1 } }),
        text,
    ),
    door(
        "expression: objectToArray",
        project,
        |e| Bson::Document(doc! { "$objectToArray": { "k": e } }),
        text,
    ),
    door(
        "expression: setUnion",
        project,
        |e| Bson::Document(doc! { "$setUnion": [[1], e] }),
        || Bson::Array(Vec::new()),
    ),
];
