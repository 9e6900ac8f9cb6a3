//! Pipelines that an index can answer, though not by their first stage alone: filters behind other stages, filters and
//! orders of the pipelines in joins and unions, and what several indexes answer; and pipelines that look at all documents.
//! None is to be slower than on the server.

use bson::{Bson, Document, doc};
use odm::Db;
use odm_tests::measure::{Server, Settings, compare_uneven};

use crate::{RELAXED, directory, faster, no_server};

const CLASS: &str = "reads; 0 fsyncs an operation";
const DOCUMENTS: i32 = 20_000;
/// Every value of `k` is that of ten documents.
const VALUES: i32 = DOCUMENTS / 10;

pub(crate) async fn beside_the_server(settings: &Settings, server: Option<&Server>) {
    let Some(server) = server else {
        return no_server("pipelines");
    };
    let rounds = settings.choose(5, 15);
    let directory = directory();
    let ours = odm_tests::measure::open(&directory, RELAXED).await;
    let theirs = server.open().await;
    for db in [&ours, &theirs] {
        fill(db).await;
    }
    for (name, expected, pipeline) in pipelines().into_iter().chain(whole()) {
        let run = async |db: &Db| {
            let aggregate =
                doc! { "aggregate": "a", "pipeline": pipeline.clone(), "cursor": { "batchSize": 100_000 } };
            let reply = db.run_command(aggregate).await.expect("a read");
            let cursor = reply.get_document("cursor").expect("a cursor");
            assert_eq!(
                cursor.get_array("firstBatch").expect("a batch").len(),
                expected,
                "{name}"
            );
        };
        let result = compare_uneven(
            rounds,
            [1, 1],
            async |_| run(&ours).await,
            async |_| run(&theirs).await,
        )
        .await;
        faster(
            &format!("pipeline {name}"),
            "driver and mongod",
            CLASS,
            result,
            1.0,
        );
    }
}

async fn fill(db: &Db) {
    for name in ["a", "b"] {
        let _ = db.run_command(doc! { "drop": name }).await;
        for first in (0..DOCUMENTS).step_by(1_000) {
            let documents: Vec<Document> = (first..first + 1_000)
                .map(|n| {
                    doc! {
                        "_id": n, "k": n % VALUES, "n": n, "tags": ["x", "y", n % 7],
                        "half": n % 2, "tenth": n % 10,
                        "text": "0123456789".repeat(15),
                    }
                })
                .collect();
            let insert = doc! { "insert": name, "documents": documents };
            db.run_command(insert).await.expect("inserted");
        }
        let indexes = vec![
            doc! { "key": { "k": 1 }, "name": "k" },
            doc! { "key": { "half": 1 }, "name": "half" },
            doc! { "key": { "tenth": 1, "n": 1 }, "name": "tenth_n" },
        ];
        let create = doc! { "createIndexes": name, "indexes": indexes };
        db.run_command(create).await.expect("an index");
    }
}

/// Their names, how many documents they give, and their stages.
fn pipelines() -> Vec<(&'static str, usize, Vec<Document>)> {
    let by_k = || doc! { "$match": { "k": 5 } };
    let twenty = || doc! { "$match": { "_id": { "$lt": 20 } } };
    let join = || doc! { "$lookup": { "from": "b", "localField": "n", "foreignField": "k", "as": "j" } };
    let joining = |pipeline: Vec<Document>| {
        let same = doc! { "$match": { "$expr": { "$eq": ["$k", "$$k"] } } };
        let stages: Vec<Document> = std::iter::once(same).chain(pipeline).collect();
        doc! { "$lookup": { "from": "b", "let": { "k": "$k" }, "pipeline": stages, "as": "j" } }
    };
    let last = || vec![doc! { "$sort": { "_id": -1 } }, doc! { "$limit": 1 }];
    let union = |pipeline: Vec<Document>| doc! { "$unionWith": { "coll": "b", "pipeline": pipeline } };
    vec![
        ("match", 10, vec![by_k()]),
        ("sort, match", 10, vec![doc! { "$sort": { "n": 1 } }, by_k()]),
        (
            "addFields, match",
            10,
            vec![doc! { "$addFields": { "x": { "$add": ["$n", 1] } } }, by_k()],
        ),
        ("unwind, match", 30, vec![doc! { "$unwind": "$tags" }, by_k()]),
        ("lookup, match", 10, vec![join(), by_k()]),
        (
            "group, match",
            1,
            vec![
                doc! { "$group": { "_id": "$k", "n": { "$sum": 1 } } },
                doc! { "$match": { "_id": 5 } },
            ],
        ),
        (
            "renaming project, match",
            10,
            vec![doc! { "$project": { "q": "$k" } }, doc! { "$match": { "q": 5 } }],
        ),
        (
            "unwind, sort, limit",
            3,
            vec![
                doc! { "$unwind": "$tags" },
                doc! { "$sort": { "_id": 1 } },
                doc! { "$limit": 3 },
            ],
        ),
        (
            "expr",
            10,
            vec![doc! { "$match": { "$expr": { "$eq": ["$k", 5] } } }],
        ),
        ("lookup by expr", 20, vec![twenty(), joining(Vec::new())]),
        ("lookup of the last", 20, vec![twenty(), joining(last())]),
        (
            "lookup by fields, match",
            20,
            vec![
                twenty(),
                doc! { "$lookup": {
                    "from": "b", "localField": "k", "foreignField": "k",
                    "pipeline": [{ "$match": { "n": { "$gt": 3000 } } }], "as": "j",
                } },
            ],
        ),
        ("union with match", 30, vec![twenty(), union(vec![by_k()])]),
        ("union, match", 11, vec![twenty(), union(Vec::new()), by_k()]),
        ("union with the last", 21, vec![twenty(), union(last())]),
        (
            "the rarer of two",
            10,
            vec![doc! { "$match": { "half": 1, "k": 5 } }],
        ),
        (
            "two of many",
            2_000,
            vec![doc! { "$match": { "half": 1, "tenth": 3 } }],
        ),
        ("the last of few", 1, [vec![by_k()], last()].concat()),
        (
            "the last of many",
            1,
            [vec![doc! { "$match": { "half": 1 } }], last()].concat(),
        ),
        (
            "a range behind a range",
            16,
            vec![doc! { "$match": { "tenth": { "$gte": 2 }, "n": { "$lt": 20 } } }],
        ),
    ]
}

/// A stage that sets a hundred fields.
fn many(each: impl Fn(String) -> (String, Bson)) -> Document {
    doc! { "$set": (0..100).map(|at| each(format!("field{at}"))).collect::<Document>() }
}

/// The same of pipelines that look at all documents.
fn whole() -> Vec<(&'static str, usize, Vec<Document>)> {
    let count = || doc! { "$count": "n" };
    let unwind = || doc! { "$unwind": "$tags" };
    let ranked = doc! {
        "partitionBy": "$tenth", "sortBy": { "n": 1 },
        "output": {
            "rank": { "$rank": {} },
            "sum": { "$sum": "$n", "window": { "documents": [-5, 0] } },
        },
    };
    let multiplied = doc! { "$map": { "input": "$tags", "in": { "$eq": ["$$this", "y"] } } };
    vec![
        ("unwind, count", 1, vec![unwind(), count()]),
        (
            "unwind, group",
            9,
            vec![
                unwind(),
                doc! { "$group": { "_id": "$tags", "n": { "$sum": "$n" } } },
            ],
        ),
        (
            "addFields, match of them",
            1,
            vec![
                doc! { "$addFields": { "x": { "$add": ["$n", "$half"] } } },
                doc! { "$match": { "x": { "$gt": 100 } } },
                count(),
            ],
        ),
        (
            "redact",
            1,
            vec![
                doc! { "$redact": { "$cond": [{ "$lt": ["$n", 500] }, "$$KEEP", "$$PRUNE"] } },
                count(),
            ],
        ),
        (
            "windows",
            10,
            vec![
                doc! { "$setWindowFields": ranked },
                doc! { "$match": { "rank": 1 } },
                doc! { "$project": { "sum": 1 } },
            ],
        ),
        (
            "long windows",
            1,
            vec![
                doc! { "$setWindowFields": {
                    "sortBy": { "n": 1 },
                    "output": {
                        "least": { "$min": "$k", "window": { "documents": [-500, 0] } },
                        "set": { "$addToSet": "$tenth", "window": { "documents": [-50, 0] } },
                        "last": { "$topN": {
                            "n": 2, "sortBy": { "k": -1 }, "output": "$n",
                        }, "window": { "documents": [-50, 0] } },
                    },
                } },
                doc! { "$group": { "_id": null, "sum": { "$sum": "$least" } } },
            ],
        ),
        (
            "reduce to an array",
            10,
            vec![
                doc! { "$limit": 10 },
                doc! { "$project": { "all": { "$reduce": {
                    "input": { "$range": [0, 2000] }, "initialValue": [],
                    "in": { "$concatArrays": ["$$value", ["$$this"]] },
                } } } },
                doc! { "$project": { "all": { "$size": "$all" } } },
            ],
        ),
        (
            "set in elements",
            500,
            vec![
                doc! { "$limit": 500 },
                doc! { "$project": { "all": { "$map": {
                    "input": { "$range": [0, 100] }, "in": { "at": "$$this", "text": "copper" },
                } } } },
                doc! { "$set": { "all.more": 1 } },
                doc! { "$project": { "all": { "$size": "$all" } } },
            ],
        ),
        (
            "places of arrays",
            20,
            vec![
                doc! { "$limit": 20 },
                doc! { "$project": { "all": { "$range": [0, 2000] } } },
                doc! { "$project": { "sum": { "$sum": { "$map": {
                    "input": { "$range": [0, 2000] }, "in": { "$arrayElemAt": ["$all", "$$this"] },
                } } } } },
            ],
        ),
        (
            "choice of values",
            500,
            vec![
                doc! { "$match": { "$or": (0..50).map(|n| doc! { "k": n }).collect::<Vec<_>>(), "text": { "$ne": "" } } },
            ],
        ),
        (
            "choice without an index",
            50,
            vec![doc! { "$match": { "$or": (0..50).map(|n| doc! { "n": n * 100 }).collect::<Vec<_>>() } }],
        ),
        (
            "objects of elements",
            1,
            vec![
                doc! { "$project": { "all": { "$map": {
                    "input": "$tags", "as": "tag", "in": { "tag": "$$tag", "of": { "n": "$n", "k": "$k" } },
                } } } },
                doc! { "$group": { "_id": null, "n": { "$sum": { "$size": "$all" } } } },
            ],
        ),
        (
            "many fields",
            500,
            vec![
                doc! { "$limit": 500 },
                many(|name| (name, 1.into())),
                many(|name| (name.clone(), doc! { "$add": [format!("${name}"), 1] }.into())),
            ],
        ),
        (
            "fill",
            1,
            vec![
                doc! { "$fill": { "sortBy": { "_id": 1 }, "output": { "none": { "method": "locf" }, "k": { "value": 0 } } } },
                doc! { "$group": { "_id": null, "k": { "$sum": "$k" } } },
            ],
        ),
        (
            "map",
            1,
            vec![
                doc! { "$project": { "x": multiplied } },
                doc! { "$group": { "_id": null, "x": { "$first": "$x" } } },
            ],
        ),
        (
            "filter of numbers",
            500,
            vec![
                doc! { "$limit": 500 },
                doc! { "$project": { "kept": { "$size": { "$filter": {
                    "input": { "$range": [0, 500] }, "cond": { "$and": [{ "$gt": ["$$this", 100] }, { "$lt": ["$$this", "$n"] }] },
                } } } } },
            ],
        ),
        (
            "sum of numbers",
            500,
            vec![
                doc! { "$limit": 500 },
                doc! { "$project": { "sum": { "$reduce": {
                    "input": { "$range": [0, 500] }, "initialValue": 0,
                    "in": { "$add": ["$$value", { "$multiply": ["$$this", 2] }] },
                } } } },
            ],
        ),
        (
            "parts of a text",
            20_000,
            vec![doc! { "$project": { "parts": { "$size": { "$split": ["$text", "5"] } } } }],
        ),
        (
            "lookup without an index",
            100,
            vec![
                doc! { "$match": { "_id": { "$lt": 100 } } },
                doc! { "$lookup": { "from": "b", "localField": "n", "foreignField": "tags", "as": "j" } },
                doc! { "$project": { "j": { "$size": "$j" } } },
            ],
        ),
        (
            "skip behind an order",
            1,
            vec![
                doc! { "$sort": { "k": 1 } },
                doc! { "$skip": DOCUMENTS - 1 },
                doc! { "$project": { "k": 1 } },
            ],
        ),
        (
            "condition on keys",
            1,
            vec![doc! { "$match": { "k": { "$mod": [500, 3] } } }, count()],
        ),
    ]
}
