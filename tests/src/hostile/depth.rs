//! Every door at the depth that the engine lets through, and beyond.

use bson::{Bson, Document, RawDocumentBuf, doc};
use odm::Db;
use odm::backend::{Operation, RunCommand};

/// How deep a whole command may nest.
pub const DEEPEST: usize = 180;

/// A door: commands of which one holds what nests.
#[derive(Clone, Copy, Debug)]
pub struct Door {
    /// What nests in it.
    pub name: &'static str,
    command: fn(Bson) -> Document,
    wrap: fn(Bson) -> Bson,
    core: fn() -> Bson,
}

const fn door(
    name: &'static str,
    command: fn(Bson) -> Document,
    wrap: fn(Bson) -> Bson,
    core: fn() -> Bson,
) -> Door {
    Door {
        name,
        command,
        wrap,
        core,
    }
}

impl Door {
    /// The command with its part nested `levels` times.
    pub fn command(&self, levels: usize) -> Document {
        let part = (0..levels).fold((self.core)(), |inner, _| (self.wrap)(inner));
        (self.command)(part)
    }

    /// The most levels with which the command is not deeper than `depth`.
    pub fn levels(&self, depth: usize) -> usize {
        let fits = |levels: usize| nesting(&Bson::Document(self.command(levels))) <= depth;
        let (mut least, mut beyond) = (0, depth + 1);
        while beyond - least > 1 {
            let middle = least.midpoint(beyond);
            if fits(middle) {
                least = middle;
            } else {
                beyond = middle;
            }
        }
        least
    }
}

/// How deep a value nests.
pub fn nesting(value: &Bson) -> usize {
    match value {
        Bson::Document(inner) => 1 + inner.values().map(nesting).max().unwrap_or(0),
        Bson::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or(0),
        _ => 0,
    }
}

fn one() -> Bson {
    Bson::Int32(1)
}

fn is_one() -> Bson {
    Bson::Document(doc! { "a": 1 })
}

fn empty() -> Bson {
    Bson::Document(Document::new())
}

fn text() -> Bson {
    Bson::String("$a".to_owned())
}

fn under(name: &'static str, inner: Bson) -> Bson {
    Bson::Document(doc! { name: inner })
}

fn listed(name: &'static str, inner: Bson) -> Bson {
    Bson::Document(doc! { name: [inner] })
}

fn field(inner: Bson) -> Bson {
    under("a", inner)
}

fn array(inner: Bson) -> Bson {
    Bson::Array(vec![inner])
}

fn mixed(inner: Bson) -> Bson {
    Bson::Document(doc! { "b": 1, "a": [inner], "c": "x" })
}

fn find(filter: Bson) -> Document {
    doc! { "find": "c", "filter": filter }
}

fn value(operand: Bson) -> Document {
    find(field(operand))
}

fn project(expression: Bson) -> Document {
    doc! { "aggregate": "c", "pipeline": [{ "$project": { "x": expression } }], "cursor": {} }
}

fn stage(stage: Bson) -> Document {
    doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} }
}

fn pipeline(stages: Bson) -> Document {
    doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }
}

fn update(change: Bson) -> Document {
    doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": change }] }
}

/// All of them.
pub const DOORS: &[Door] = &[
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

/// Commands that read stored documents of the greatest depth.
pub fn over_deep_documents() -> Vec<Document> {
    let dotted = vec!["a"; DEEPEST - 1].join(".");
    vec![
        doc! { "find": "deep", "filter": {} },
        doc! { "find": "deep", "sort": { "a": 1, "_id": -1 } },
        doc! { "find": "deep", "filter": { &dotted: 1 } },
        doc! { "find": "deep", "filter": { "$expr": { "$eq": ["$$ROOT", "$a"] } } },
        doc! { "find": "deep", "filter": { "$expr": { "$eq": [format!("${dotted}"), 1] } } },
        doc! { "find": "deep", "projection": { &dotted: 1 } },
        doc! { "find": "deep", "projection": { &dotted: 0 } },
        doc! { "find": "deep", "projection": { "x": "$$ROOT" } },
        doc! { "distinct": "deep", "key": "a" },
        doc! { "distinct": "deep", "key": &dotted },
        doc! { "aggregate": "deep", "pipeline": [{ "$group": { "_id": "$a", "n": { "$min": "$$ROOT" } } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$redact": { "$cond": [true, "$$DESCEND", "$$KEEP"] } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$project": { &dotted: "$b" } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$addFields": { &dotted: { "x": "$$ROOT" } } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$unset": &dotted }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$unwind": format!("${dotted}") }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$sort": { "a": 1 } }, { "$group": { "_id": null, "all": { "$addToSet": "$$ROOT" } } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$lookup": { "from": "deep", "localField": "a", "foreignField": "a", "as": "j" } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$lookup": { "from": "deep", "localField": &dotted, "foreignField": &dotted, "as": "j" } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$graphLookup": { "from": "deep", "startWith": "$a", "connectFromField": "a", "connectToField": "a", "as": "j" } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$project": { "x": { "$toString": "$a" } } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$project": { "x": { "$setUnion": [["$a"], ["$$ROOT"]] } } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$project": { "x": { "$mergeObjects": ["$a", "$$ROOT"] } } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$replaceWith": { "a": { "a": "$$ROOT" } } }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$out": "copy" }], "cursor": {} },
        doc! { "aggregate": "deep", "pipeline": [{ "$merge": { "into": "copy", "on": "_id" } }], "cursor": {} },
        doc! { "createIndexes": "deep", "indexes": [{ "key": { "a": 1 }, "name": "a" }, { "key": { &dotted: 1 }, "name": "dotted" }, { "key": { "a": "hashed" }, "name": "h" }] },
        doc! { "find": "deep", "sort": { "a": 1 }, "hint": "a" },
        doc! { "find": "deep", "filter": { "$jsonSchema": { "properties": { "a": { "properties": { "a": { "uniqueItems": true } } } } } } },
        doc! { "update": "deep", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { &dotted: 2 } } }] },
        doc! { "update": "deep", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { format!("{dotted}.b"): { "c": 2 } } } }] },
        doc! { "update": "deep", "updates": [{ "q": { "_id": 1 }, "u": { "$unset": { &dotted: 2 } } }] },
        doc! { "update": "deep", "updates": [{ "q": { "_id": 1 }, "u": { "$rename": { &dotted: "b" } } }] },
        doc! { "update": "deep", "updates": [{ "q": { "_id": 2 }, "u": [{ "$set": { "a.x": "$$ROOT" } }] }] },
        doc! { "update": "deep", "updates": [{ "q": { "_id": 2 }, "u": [{ "$set": { "a": { "$toString": "$a" } } }] }] },
        doc! { "validate": "deep" },
        doc! { "delete": "deep", "deletes": [{ "q": {}, "limit": 0 }] },
    ]
}

/// Commands whose results grow deeper than any document.
pub fn that_grow() -> Vec<Document> {
    let reduce = |count: i32, inner: Document| {
        let grow = doc! { "$reduce": { "input": { "$range": [0, count] }, "initialValue": { "a": 1 }, "in": inner } };
        Bson::Document(grow)
    };
    let towers = |count| {
        vec![
            reduce(count, doc! { "a": "$$value" }),
            reduce(count, doc! { "$concatArrays": [["$$value"]] }),
            reduce(count, doc! { "$mergeObjects": [{ "b": "$$value" }] }),
            reduce(
                count,
                doc! { "$setField": { "field": "a", "input": {}, "value": "$$value" } },
            ),
            reduce(count, doc! { "$arrayToObject": [[{ "k": "a", "v": "$$value" }]] }),
            reduce(
                count,
                doc! { "$let": { "vars": { "v": "$$value" }, "in": { "a": { "b": "$$v" } } } },
            ),
            reduce(count, doc! { "$map": { "input": ["$$value"], "in": "$$this" } }),
        ]
    };
    let mut commands = Vec::new();
    for count in [150, 20_000] {
        for tower in towers(count) {
            commands.push(project(tower.clone()));
            commands.push(project(under("$size", under("$objectToArray", tower.clone()))));
            commands.push(find(under("$expr", tower.clone())));
            commands.push(project(Bson::Document(doc! { "$eq": [tower.clone(), tower] })));
        }
    }
    let stages = |count: usize, stage: Document| Bson::Array(vec![Bson::Document(stage); count]);
    commands.push(pipeline(stages(900, doc! { "$replaceWith": { "a": "$$ROOT" } })));
    commands.push(pipeline(stages(900, doc! { "$addFields": { "a": "$$ROOT" } })));
    commands.push(pipeline(stages(
        300,
        doc! { "$group": { "_id": { "a": "$_id" } } },
    )));
    commands.push(pipeline(stages(
        300,
        doc! { "$group": { "_id": null, "all": { "$push": "$$ROOT" } } },
    )));
    commands.push(pipeline(stages(
        15,
        doc! { "$facet": { "a": [{ "$limit": 1 }] } },
    )));
    let mut lets = Bson::String("$$v".to_owned());
    for _ in 0..40 {
        let tower = (0..60).fold(Bson::String("$$v".to_owned()), |inner, _| field(inner));
        lets = Bson::Document(doc! { "$let": { "vars": { "v": tower }, "in": lets } });
    }
    commands.push(project(Bson::Document(
        doc! { "$let": { "vars": { "v": 1 }, "in": lets } },
    )));
    commands
}

/// A command's reply or error code; panics and overflows are the caller's to see.
pub async fn run(db: &Db, command: &Document) -> Result<(), i32> {
    let command = RawDocumentBuf::try_from(command).expect("a document encodes");
    run_raw(db, command).await
}

/// The same of bytes.
pub async fn run_raw(db: &Db, command: RawDocumentBuf) -> Result<(), i32> {
    let operation = Operation::RunCommand(RunCommand {
        database: db.name().to_owned(),
        command,
    });
    match db.backend().execute(operation).await {
        Ok(_) => Ok(()),
        Err(error) => Err(error.code().unwrap_or(0)),
    }
}

/// An engine with what the commands are about.
pub async fn prepared() -> Db {
    let db = Db::open("memory:").await.expect("an engine in memory");
    let deep = |id: i32, wrap: fn(Bson) -> Bson, levels: usize| {
        let value = (0..levels).fold(one(), |inner, _| wrap(inner));
        doc! { "_id": id, "a": value }
    };
    let mut setup = vec![
        doc! { "insert": "c", "documents": [{ "_id": 1, "a": [{ "a": [[1]] }, 1], "b": 1, "p": [{ "a": 1 }, 2], "i": [1, { "b": 1, "a": [1] }] }] },
        doc! { "createIndexes": "c", "indexes": [{ "key": { "i": 1 }, "name": "i" }] },
        doc! { "create": "w", "validator": { "$jsonSchema": { "properties": { "a": { "bsonType": "int" } } } } },
    ];
    let schema = (0..40).fold(Bson::Document(doc! { "bsonType": "string" }), |s, _| {
        under("properties", field(s))
    });
    setup.push(doc! { "create": "w2", "validator": { "$jsonSchema": schema } });
    // Inside a command a document has less room: the deepest one goes in by updates.
    setup.push(doc! { "insert": "deep", "documents": [deep(1, field, DEEPEST - 4), deep(2, array, DEEPEST - 4), deep(3, field, DEEPEST - 4)] });
    setup.push(doc! { "update": "deep", "updates": [{ "q": { "_id": 3 }, "u": [{ "$replaceWith": { "_id": 3, "a": { "a": { "a": "$a" } } } }] }] });
    for command in setup {
        run(&db, &command).await.expect("the setup runs");
    }
    db
}
