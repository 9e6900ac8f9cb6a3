//! Filters.

use super::super::{Door, array, door, field, find, is_one, listed, mixed, one, text, under, value};

pub(super) const DOORS: &[Door] = &[
    door("filter: and", find, |f| listed("$and", f), is_one),
    door("filter: or", find, |f| listed("$or", f), is_one),
    door("filter: nor", find, |f| listed("$nor", f), is_one),
    door(
        "filter: elemMatch of documents",
        find,
        |f| field(under("$elemMatch", f)),
        is_one,
    ),
    door(
        "filter: elemMatch of values",
        value,
        |f| under("$elemMatch", f),
        || under("$gt", one()),
    ),
    door("filter: not", value, |f| under("$not", f), || under("$gt", one())),
    door("filter: equality", find, field, one),
    door("filter: equality of arrays", value, array, one),
    door("filter: in", |f| find(field(listed("$in", f))), mixed, one),
    door(
        "filter: indexed",
        |f| find(under("i", under("$gte", f))),
        mixed,
        one,
    ),
    door(
        "filter: all",
        |f| find(field(listed("$all", under("$elemMatch", f)))),
        |f| field(listed("$all", under("$elemMatch", f))),
        is_one,
    ),
    door(
        "filter: expression",
        |e| find(under("$expr", e)),
        |e| listed("$not", e),
        text,
    ),
];
