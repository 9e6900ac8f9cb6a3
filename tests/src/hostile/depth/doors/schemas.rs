//! JSON schemas and validators.

use bson::doc;

use super::super::{Door, door, empty, field, find, is_one, listed, mixed, one, under};

pub(super) const DOORS: &[Door] = &[
    door(
        "schema: properties",
        |s| find(under("$jsonSchema", s)),
        |s| under("properties", field(s)),
        empty,
    ),
    door(
        "schema: not",
        |s| find(under("$jsonSchema", s)),
        |s| under("not", s),
        empty,
    ),
    door(
        "schema: items",
        |s| find(under("$jsonSchema", s)),
        |s| under("items", s),
        empty,
    ),
    door(
        "schema: allOf",
        |s| find(under("$jsonSchema", s)),
        |s| listed("allOf", s),
        empty,
    ),
    door(
        "schema: additionalProperties",
        |s| find(under("$jsonSchema", s)),
        |s| under("additionalProperties", s),
        empty,
    ),
    door(
        "schema: dependencies",
        |s| find(under("$jsonSchema", s)),
        |s| under("dependencies", field(s)),
        empty,
    ),
    door(
        "schema: enum",
        |s| find(under("$jsonSchema", listed("enum", s))),
        mixed,
        one,
    ),
    door(
        "validator",
        |s| doc! { "create": "v", "validator": { "$jsonSchema": s } },
        |s| under("properties", field(s)),
        empty,
    ),
    door(
        "failing validator",
        |d| doc! { "insert": "w", "documents": [d] },
        field,
        is_one,
    ),
    door(
        "failing validator, nested",
        |s| doc! { "insert": "w2", "documents": [s] },
        field,
        is_one,
    ),
];
