//! Updates.

use bson::{Bson, doc};

use super::super::{Door, array, door, field, is_one, listed, mixed, one, text, under, update};

pub(super) const DOORS: &[Door] = &[
    door(
        "update: set",
        |v| update(under("$set", under("z", v))),
        field,
        one,
    ),
    door(
        "update: set to arrays",
        |v| update(under("$set", under("z", v))),
        array,
        one,
    ),
    door(
        "update: push",
        |v| update(under("$push", under("p", v))),
        field,
        one,
    ),
    door(
        "update: addToSet",
        |v| update(under("$addToSet", under("p", v))),
        mixed,
        one,
    ),
    door(
        "update: pull",
        |v| update(under("$pull", under("p", v))),
        |f| listed("$and", f),
        is_one,
    ),
    door(
        "update: pullAll",
        |v| update(under("$pullAll", under("p", Bson::Array(vec![v])))),
        mixed,
        one,
    ),
    door(
        "update: min",
        |v| update(under("$min", under("m", v))),
        mixed,
        one,
    ),
    door(
        "update: pipeline",
        |e| update(Bson::Array(vec![under("$set", under("q", e))])),
        |e| listed("$not", e),
        text,
    ),
    door(
        "update: filters of arrays",
        |f| doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "p.$[e]": 1 } }, "arrayFilters": [{ "e": f }] }] },
        |f| under("$not", f),
        || under("$gt", one()),
    ),
    door(
        "update: upsert",
        |f| doc! { "update": "c", "updates": [{ "q": f, "u": { "$set": { "w": 1 } }, "upsert": true }] },
        |f| listed("$and", f),
        is_one,
    ),
    door(
        "findAndModify",
        |v| doc! { "findAndModify": "c", "query": { "_id": 1 }, "update": { "$set": { "n": v } }, "new": true },
        field,
        one,
    ),
];
