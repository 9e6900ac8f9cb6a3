//! The other commands and their options.

use bson::{Bson, doc};

use super::super::{Door, door, field, is_one, listed, mixed, one, text};

pub(super) const DOORS: &[Door] = &[
    door(
        "delete",
        |f| doc! { "delete": "c", "deletes": [{ "q": f, "limit": 1 }] },
        |f| listed("$and", f),
        || Bson::Document(doc! { "a": "nothing" }),
    ),
    door(
        "distinct",
        |f| doc! { "distinct": "c", "key": "a.a.a", "query": f },
        |f| listed("$nor", f),
        is_one,
    ),
    door(
        "count",
        |f| doc! { "count": "c", "query": f },
        |f| listed("$or", f),
        is_one,
    ),
    door(
        "partial index",
        |f| doc! { "createIndexes": "c", "indexes": [{ "key": { "k": 1 }, "name": "k", "partialFilterExpression": f }] },
        |f| listed("$and", f),
        is_one,
    ),
    door(
        "explain of a filter",
        |f| doc! { "explain": { "find": "c", "filter": f } },
        |f| listed("$or", f),
        is_one,
    ),
    door(
        "explain of a pipeline",
        |e| doc! { "explain": { "aggregate": "c", "pipeline": [{ "$project": { "x": e } }], "cursor": {} } },
        |e| listed("$not", e),
        text,
    ),
    door(
        "an unknown field",
        |v| doc! { "find": "c", "nothing": v },
        field,
        one,
    ),
    door("hint", |v| doc! { "find": "c", "hint": v }, field, one),
    door(
        "let",
        |v| doc! { "find": "c", "let": { "v": v }, "filter": { "$expr": { "$eq": ["$$v", "$a"] } } },
        mixed,
        text,
    ),
    door("sort", |v| doc! { "find": "c", "sort": { "a": v } }, field, one),
];
