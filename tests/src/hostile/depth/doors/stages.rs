//! Projections and stages.

use bson::{Bson, doc};

use super::super::{Door, array, door, field, is_one, listed, one, pipeline, stage, text, under};

pub(super) const DOORS: &[Door] = &[
    door(
        "projection",
        |p| doc! { "find": "c", "projection": p },
        field,
        one,
    ),
    door(
        "projection: elemMatch",
        |p| doc! { "find": "c", "projection": { "a": { "$elemMatch": p } } },
        |f| field(under("$elemMatch", f)),
        is_one,
    ),
    door(
        "projection: expression",
        |p| doc! { "find": "c", "projection": { "x": p } },
        |e| listed("$not", e),
        text,
    ),
    door("stage: project", |p| stage(under("$project", p)), field, one),
    door(
        "stage: project to exclude",
        |p| stage(under("$project", p)),
        field,
        || Bson::Int32(0),
    ),
    door(
        "stage: project in place",
        |p| stage(under("$project", p)),
        field,
        text,
    ),
    door("stage: addFields", |p| stage(under("$addFields", p)), field, text),
    door(
        "stage: match",
        |f| stage(under("$match", f)),
        |f| listed("$and", f),
        is_one,
    ),
    door(
        "stage: group",
        |e| {
            stage(under(
                "$group",
                Bson::Document(doc! { "_id": e, "n": { "$push": "$$ROOT" } }),
            ))
        },
        field,
        text,
    ),
    door(
        "stage: replaceRoot",
        |e| stage(under("$replaceWith", e)),
        field,
        || Bson::Document(doc! { "a": "$$ROOT" }),
    ),
    door(
        "stage: facet",
        |e| stage(under("$facet", field(Bson::Array(vec![e])))),
        |e| under("$project", field(listed("$not", e))),
        || under("$limit", one()),
    ),
    door(
        "stage: lookup",
        pipeline,
        |p| {
            array(under(
                "$lookup",
                Bson::Document(doc! { "from": "c", "pipeline": p, "as": "x" }),
            ))
        },
        || Bson::Array(Vec::new()),
    ),
    door(
        "stage: unionWith",
        pipeline,
        |p| {
            array(under(
                "$unionWith",
                Bson::Document(doc! { "coll": "c", "pipeline": p }),
            ))
        },
        || Bson::Array(Vec::new()),
    ),
    door(
        "stage: redact",
        |e| stage(under("$redact", e)),
        |e| Bson::Document(doc! { "$cond": [true, e, "$$PRUNE"] }),
        || Bson::String("$$DESCEND".to_owned()),
    ),
];
