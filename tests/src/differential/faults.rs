//! Commands with several faults at once: which of them is told, with which code and words.

use std::sync::LazyLock;

use bson::{Bson, Document, bson, doc};
use odm::Db;

use super::Report;
use crate::random::Random;

/// Options, stages and operators with the names of what they are given.
type Table = &'static [(&'static str, &'static [&'static str])];

const COMMANDS: Table = &[
    (
        "find",
        &[
            "filter",
            "projection",
            "sort",
            "hint",
            "skip",
            "limit",
            "batchSize",
            "singleBatch",
            "min",
            "max",
            "collation",
            "let",
            "returnKey",
            "showRecordId",
            "awaitData",
            "allowDiskUse",
            "noCursorTimeout",
            "zzz",
        ],
    ),
    (
        "aggregate",
        &[
            "pipeline",
            "cursor",
            "allowDiskUse",
            "bypassDocumentValidation",
            "hint",
            "collation",
            "let",
            "zzz",
        ],
    ),
    (
        "count",
        &["query", "limit", "skip", "hint", "collation", "fields", "zzz"],
    ),
    ("distinct", &["key", "query", "collation", "zzz"]),
    (
        "findAndModify",
        &[
            "query",
            "sort",
            "remove",
            "update",
            "new",
            "fields",
            "upsert",
            "bypassDocumentValidation",
            "collation",
            "arrayFilters",
            "hint",
            "let",
            "zzz",
        ],
    ),
    (
        "update",
        &["updates", "ordered", "bypassDocumentValidation", "let", "zzz"],
    ),
    ("delete", &["deletes", "ordered", "let", "zzz"]),
    (
        "create",
        &[
            "capped",
            "size",
            "max",
            "autoIndexId",
            "validator",
            "validationLevel",
            "validationAction",
            "viewOn",
            "pipeline",
            "collation",
            "expireAfterSeconds",
            "clusteredIndex",
            "changeStreamPreAndPostImages",
            "idIndex",
            "zzz",
        ],
    ),
    (
        "collMod",
        &[
            "validator",
            "validationLevel",
            "validationAction",
            "index",
            "viewOn",
            "pipeline",
            "expireAfterSeconds",
            "changeStreamPreAndPostImages",
            "cappedSize",
            "zzz",
        ],
    ),
    ("dropIndexes", &["index", "zzz"]),
    ("createIndexes", &["indexes", "zzz"]),
];

/// What the lists of commands are made of. What is said to a storage engine of an index is not supported.
const STATEMENTS: Table = &[
    (
        "updates",
        &[
            "q",
            "u",
            "upsert",
            "multi",
            "collation",
            "arrayFilters",
            "hint",
            "zzz",
        ],
    ),
    ("deletes", &["q", "limit", "collation", "hint", "zzz"]),
    (
        "indexes",
        &[
            "key",
            "name",
            "unique",
            "sparse",
            "partialFilterExpression",
            "expireAfterSeconds",
            "hidden",
            "collation",
            "weights",
            "default_language",
            "language_override",
            "2dsphereIndexVersion",
            "bits",
            "v",
            "prepareUnique",
            "clustered",
            "zzz",
        ],
    ),
];

const STAGES: Table = &[
    ("$bucket", &["groupBy", "boundaries", "default", "output", "zzz"]),
    (
        "$bucketAuto",
        &["groupBy", "buckets", "granularity", "output", "zzz"],
    ),
    (
        "$lookup",
        &[
            "from",
            "localField",
            "foreignField",
            "as",
            "let",
            "pipeline",
            "zzz",
        ],
    ),
    (
        "$graphLookup",
        &[
            "from",
            "startWith",
            "connectFromField",
            "connectToField",
            "as",
            "maxDepth",
            "depthField",
            "zzz",
        ],
    ),
    (
        "$unwind",
        &["path", "includeArrayIndex", "preserveNullAndEmptyArrays", "zzz"],
    ),
    (
        "$fill",
        &["sortBy", "partitionBy", "partitionByFields", "output", "zzz"],
    ),
    ("$densify", &["field", "partitionByFields", "range", "zzz"]),
    ("$group", &["_id", "a", "b.c", "x"]),
    ("$project", &["_id", "a", "b.c", "x", "a.b"]),
    ("$addFields", &["_id", "a", "b.c", "x", "a.b"]),
    ("$setWindowFields", &["partitionBy", "sortBy", "output", "zzz"]),
];

const OPERATORS: Table = &[
    (
        "$dateDiff",
        &["startDate", "endDate", "unit", "timezone", "startOfWeek", "zzz"],
    ),
    ("$dateAdd", &["startDate", "unit", "amount", "timezone", "zzz"]),
    (
        "$dateTrunc",
        &["date", "unit", "binSize", "timezone", "startOfWeek", "zzz"],
    ),
    (
        "$dateFromParts",
        &["year", "month", "day", "hour", "isoWeek", "timezone", "zzz"],
    ),
    ("$dateToParts", &["date", "timezone", "iso8601", "zzz"]),
    ("$dateToString", &["date", "format", "timezone", "onNull", "zzz"]),
    (
        "$dateFromString",
        &["dateString", "format", "timezone", "onError", "onNull", "zzz"],
    ),
    ("$hour", &["date", "timezone", "zzz"]),
    ("$trim", &["input", "chars", "zzz"]),
    ("$regexFind", &["input", "regex", "options", "zzz"]),
    ("$replaceOne", &["input", "find", "replacement", "zzz"]),
    ("$convert", &["input", "to", "onError", "onNull", "zzz"]),
    ("$filter", &["input", "cond", "as", "limit", "zzz"]),
    ("$map", &["input", "in", "as", "zzz"]),
    ("$reduce", &["input", "initialValue", "in", "zzz"]),
    ("$zip", &["inputs", "useLongestLength", "defaults", "zzz"]),
    ("$sortArray", &["input", "sortBy", "zzz"]),
    ("$getField", &["field", "input", "zzz"]),
    ("$setField", &["field", "input", "value", "zzz"]),
    ("$switch", &["branches", "default", "zzz"]),
    ("$cond", &["if", "then", "else", "zzz"]),
    ("$let", &["vars", "in", "zzz"]),
    ("$firstN", &["input", "n", "zzz"]),
    ("$top", &["output", "sortBy", "n", "zzz"]),
    ("$shift", &["output", "by", "default", "zzz"]),
    ("$expMovingAvg", &["input", "N", "alpha", "zzz"]),
    ("$derivative", &["input", "unit", "zzz"]),
];

/// What may be anywhere.
static ANYTHING: LazyLock<Vec<Bson>> = LazyLock::new(|| {
    let values = bson!([
        0, 1, -1, 1.5, "x", "", "$a", "$$q", "$a..b", null, true, false, [], {}, [5], ["a"],
        { "a": 1 }, { "a": 5 }, { "a": "x" }, { "$nope": 1 }, { "a": { "$nope": 1 } }, { "b": { "$nope": 2 } },
        { "locale": "zz" }, { "locale": 5 }, { "locale": "en", "zz": 1 }, { "batchSize": -1 }, [{ "$match": {} }],
        [{ "$nope": 1 }], { "$set": { "a": 1 } }, { "$set": 5 }, [{ "$set": { "b": 1 } }], [{ "a": 1 }], [{ "x.a": 1 }],
        { "_id": 1 }, { "x": { "$expr": 5 } }, { "$date": { "$numberLong": "x" } }, [1, 2],
    ]);
    match values {
        Bson::Array(values) => values,
        other => vec![other],
    }
});

/// What this option may be.
fn fitting(option: &str) -> Option<Bson> {
    Some(match option {
        "filter" | "query" | "q" | "validator" | "partialFilterExpression" => bson!({ "a": 1 }),
        "pipeline" => bson!([{ "$match": {} }]),
        "cursor" | "let" | "vars" => bson!({}),
        "update" | "u" => bson!({ "$set": { "a": 1 } }),
        "key" => bson!({ "a": 1 }),
        "name" => bson!("i"),
        "limit" | "skip" | "by" => bson!(1),
        "collation" => bson!({ "locale": "en" }),
        "index" => bson!({ "name": "i", "hidden": true }),
        "clusteredIndex" => bson!({ "key": { "_id": 1 }, "unique": true }),
        "groupBy" | "input" | "startWith" | "path" | "date" | "startDate" => bson!("$a"),
        "boundaries" => bson!([1, 2, 3]),
        "buckets" | "n" | "N" => bson!(2),
        "from" | "localField" | "foreignField" | "connectFromField" | "connectToField" | "as" | "field" => {
            bson!("f")
        }
        "sortBy" | "sort" | "projection" => bson!({ "a": 1 }),
        "range" => bson!({ "step": 1, "bounds": "full" }),
        "unit" => bson!("day"),
        "branches" => bson!([{ "case": true, "then": 1 }]),
        _ => return None,
    })
}

/// A document of two thirds of these if they are few, else of about two, in their order or in any.
fn some(random: &mut Random, names: &[&str], depth: usize) -> Document {
    let among = if names.len() > 8 { names.len() } else { 3 };
    let mut names: Vec<&str> = names.to_vec();
    names.retain(|name| match *name {
        "zzz" => random.one_in(20),
        "key" | "name" | "q" | "u" | "pipeline" | "cursor" | "updates" | "deletes" | "indexes" => {
            !random.one_in(16)
        }
        _ => random.below(among) < 2,
    });
    if random.one_in(2) {
        for last in (1..names.len()).rev() {
            names.swap(last, random.below(last + 1));
        }
    }
    let mut made = Document::new();
    for name in names {
        made.insert(name, value(random, name, depth));
    }
    made
}

fn value(random: &mut Random, name: &str, depth: usize) -> Bson {
    if let Some((_, names)) = STATEMENTS.iter().find(|(list, _)| *list == name)
        && !random.one_in(8)
    {
        let count = 1 + random.below(2);
        let statements = (0..count).map(|_| some(random, names, depth));
        return statements.collect::<Vec<_>>().into();
    }
    if name == "output" && depth > 0 && !random.one_in(4) {
        return bson!({ "r": called(random, depth - 1) });
    }
    match fitting(name) {
        Some(value) if random.one_in(2) => value,
        _ if depth > 0 && random.one_in(4) => called(random, depth - 1),
        _ => random.pick(&ANYTHING).clone(),
    }
}

/// An operator with some of its arguments.
fn called(random: &mut Random, depth: usize) -> Bson {
    let (name, names) = random.pick(OPERATORS);
    bson!({ *name: some(random, names, depth) })
}

fn command(random: &mut Random, collection: &str) -> Document {
    match random.below(3) {
        0 => {
            let (name, names) = random.pick(COMMANDS);
            let mut command = doc! { *name: collection };
            command.extend(some(random, names, 0));
            command
        }
        1 => {
            let (name, names) = random.pick(STAGES);
            let stage = doc! { *name: some(random, names, 1) };
            doc! { "aggregate": collection, "pipeline": [stage], "cursor": {} }
        }
        _ => {
            let stage = doc! { "$project": { "r": called(random, 1) } };
            doc! { "aggregate": collection, "pipeline": [stage], "cursor": {} }
        }
    }
}

/// Asks both databases commands with several faults, until so many are asked or `most` differences are found.
pub async fn compare_faults(ours: &Db, theirs: &Db, seed: u64, commands: u64, most: usize) -> Report {
    let mut report = Report::default();
    let mut random = Random::new(seed.wrapping_mul(0x2000_000b));
    while report.operations < commands && report.differences.len() < most {
        // None is there before.
        let collection = format!("f{}", report.operations);
        let command = command(&mut random, &collection);
        report.operations += 1;
        let (own, their) = (told(ours, &command).await, told(theirs, &command).await);
        if let Some(reason) = known(&own, &their) {
            *report.explained.entry(reason).or_default() += 1;
        } else if own != their {
            report
                .differences
                .push(format!("{command}\n  ours   {own}\n  mongod {their}"));
        }
    }
    report
}

/// Why a server tells another fault, where the guide says it.
fn known(own: &str, their: &str) -> Option<&'static str> {
    let [own, their] = [own, their].map(|told| told.split(' ').next().unwrap_or_default());
    match (own, their) {
        // A server that has its commands for tests says the same.
        ("6049200", "6127800") => Some("a clustered collection that is capped and has a size"),
        _ => None,
    }
}

/// The code and the words of what a command, or its first statement that fails, is told.
async fn told(db: &Db, command: &Document) -> String {
    let own = format!("{}.", db.name());
    match db.run_command(command.clone()).await {
        Err(error) => {
            let code = error.code().unwrap_or(-1);
            // Two specifications that conflict are shown.
            let words = match code {
                85 | 86 => "",
                _ => error.message(),
            };
            format!("{code} {}", words.replace(&own, "DB."))
        }
        Ok(reply) => match reply.get_array("writeErrors") {
            Ok(errors) => Bson::Array(errors.clone()).to_string().replace(&own, "DB."),
            Err(_) => "is done".to_owned(),
        },
    }
}
