//! Documents that are stored.

use bson::doc;

use super::super::{Door, array, door, field, mixed, one, under, update};

pub(super) const DOORS: &[Door] = &[
    door(
        "insert of documents",
        |d| doc! { "insert": "d", "documents": [{ "a": d }] },
        field,
        one,
    ),
    door(
        "insert of arrays",
        |d| doc! { "insert": "d", "documents": [{ "a": d }] },
        array,
        one,
    ),
    door(
        "insert of an _id",
        |d| doc! { "insert": "d", "documents": [{ "_id": d }] },
        field,
        one,
    ),
    door(
        "insert of an indexed field",
        |d| doc! { "insert": "c", "documents": [{ "i": d }] },
        mixed,
        one,
    ),
    door("replacement", |d| update(under("z", d)), field, one),
];
