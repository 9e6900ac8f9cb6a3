//! Every door at the depth that the engine lets through, and beyond.

mod doors;

use bson::{Bson, Document, RawDocumentBuf, doc};
use odm::Db;
use odm::backend::{Operation, RunCommand};

pub use self::doors::doors;

/// How deep a stored document may nest, itself counted.
pub const DEEPEST: usize = 180;

/// How deep a command may nest with all that it holds, itself counted.
pub const SENT: usize = 201;

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
    setup.push(
        doc! { "insert": "deep", "documents": [deep(1, field, DEEPEST - 1), deep(2, array, DEEPEST - 1)] },
    );
    for command in setup {
        run(&db, &command).await.expect("the setup runs");
    }
    db
}
