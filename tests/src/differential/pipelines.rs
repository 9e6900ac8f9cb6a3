//! Random pipelines over two collections: results must be equal, in any order unless the last sort decides it.

use bson::{Bson, Document, RawDocumentBuf, doc};
use odm::Db;
use odm::backend::{Aggregate, Operation, ReadOptions, Response};

use super::Report;
use super::generate;
use super::stages;
use crate::random::Random;
use crate::raw::{RawCollection, raw};

/// How many pipelines meet one pair of collections.
const ROUND: u64 = 30;

/// Runs random pipelines on both databases until `pipelines` are done or `most` differences are found.
pub async fn compare_pipelines(ours: &Db, theirs: &Db, seed: u64, pipelines: u64, most: usize) -> Report {
    let mut report = Report::default();
    let mut round = 0;
    while report.operations < pipelines && report.differences.len() < most {
        run_round(ours, theirs, seed.wrapping_add(round), &mut report).await;
        round += 1;
    }
    report
}

async fn run_round(ours: &Db, theirs: &Db, seed: u64, report: &mut Report) {
    let mut random = Random::new(seed.wrapping_mul(0x2000_0003));
    let names = [
        format!("p{}", seed % 1_000_000_007),
        format!("q{}", seed % 1_000_000_007),
    ];
    let mut history = Vec::new();
    for name in &names {
        let documents: Vec<Document> = (0..random.below(12))
            .map(|id| generate::document(&mut random, id as i32))
            .collect();
        let index = random.one_in(2).then(|| generate::index(&mut random));
        for db in [ours, theirs] {
            let collection = RawCollection::new(db, name);
            if !documents.is_empty() {
                collection
                    .insert(&documents)
                    .await
                    .expect("the documents are inserted");
            }
            if let Some(index) = &index {
                // Both refuse the same: that is looked at elsewhere.
                let _ = collection.create_index(index).await;
            }
        }
        history.push(format!("{name}: {documents:?} {index:?}"));
    }
    for _ in 0..ROUND {
        report.operations += 1;
        let (pipeline, ordered) = pipeline(&mut random, &names[1]);
        let mut own = run(ours, &names[0], &pipeline).await;
        let mut their = run(theirs, &names[0], &pipeline).await;
        if !ordered {
            for rows in [&mut own, &mut their].into_iter().flatten() {
                rows.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
            }
        }
        if own != their && !is_known(&pipeline, &own, &their) {
            report.differences.push(format!(
                "seed {seed}\n  {}\n  {pipeline:?}\n  ours   {own:?}\n  mongod {their:?}",
                history.join("\n  ")
            ));
            break;
        }
    }
    for name in &names {
        for db in [ours, theirs] {
            db.drop_collection(name).await.expect("the collection is dropped");
        }
    }
}

/// What the server is known to do otherwise, for reasons of its own.
fn is_known(pipeline: &[Document], own: &Rows, their: &Rows) -> bool {
    let text = format!("{pipeline:?}");
    // A `$match` that it moves or joins with another is parsed again from a text that it cannot read: code 2.
    let unreadable = text.contains("$elemMatch") && text.contains("$all") && *their == Err(Some(2));
    // A `$match` that it moves before a `$sort` removes the rows that cannot be sorted.
    let sort = pipeline.iter().position(|stage| stage.contains_key("$sort"));
    let spared = *own == Err(Some(2))
        && sort.is_some_and(|sort| pipeline[sort..].iter().any(|stage| stage.contains_key("$match")));
    // A group by MinKey or MaxKey comes out as `{"": MinKey}` when another stage stands beside it.
    let wrapped = their.as_ref().is_ok_and(|rows| {
        rows.iter().any(|row| {
            row.as_bytes()
                .windows(6)
                .any(|at| at == [7, 0, 0, 0, 0xFF, 0] || at == [7, 0, 0, 0, 0x7F, 0])
        })
    });
    unreadable || spared || wrapped
}

type Rows = Result<Vec<RawDocumentBuf>, Option<i32>>;

async fn run(db: &Db, name: &str, pipeline: &[Document]) -> Rows {
    let operation = Aggregate {
        namespace: RawCollection::new(db, name).namespace(),
        pipeline: pipeline.iter().map(raw).collect(),
        batch_size: None,
        allow_disk_use: false,
        options: ReadOptions::default(),
    };
    let answer = db.backend().execute(Operation::Aggregate(operation)).await;
    let mut cursor = match answer.map_err(|error| error.code())? {
        Response::Cursor(cursor) => cursor,
        other => panic!("an aggregate answers {other:?}"),
    };
    let mut rows = Vec::new();
    while let Some(batch) = cursor.next_batch().await.map_err(|error| error.code())? {
        for at in 0..batch.len() {
            rows.extend(batch.get(at).map(|row| row.to_owned()));
        }
    }
    Ok(rows)
}

/// A pipeline, and whether its results' order is defined.
fn pipeline(random: &mut Random, other: &str) -> (Vec<Document>, bool) {
    let mut made = Vec::new();
    // Whether `_id` still tells one row from another; whether the rows are in a defined order.
    let (mut unique, mut ordered) = (true, false);
    if random.one_in(4) {
        return (stages::series(random), true);
    }
    // A field that a projection left out keeps its place on the server when it is set again.
    let mut projected = false;
    for _ in 0..1 + random.below(5) {
        match random.below(16) {
            0..=2 => made.push(doc! { "$match": generate::filter(random, 2) }),
            3..=4 if unique => {
                let mut sort = generate::sort(random);
                sort.insert("_id", 1);
                made.push(doc! { "$sort": sort });
                ordered = true;
            }
            5 if ordered => made.push(doc! { "$skip": random.below(3) as i32 }),
            6 if ordered => made.push(doc! { "$limit": 1 + random.below(4) as i32 }),
            7 if unique && random.one_in(3) => {
                made.push(doc! { "$set": { "e": stages::date(random) } });
            }
            7 if !projected => {
                made.push(doc! { "$set": { *random.pick(&["a", "d", "b.x"]): expression(random, 2) } })
            }
            8 => {
                made.push(
                    doc! { "$project": { *random.pick(&["a", "b.x", "c"]): 1, "e": expression(random, 2) } },
                );
                projected = true;
            }
            9 => {
                made.push(doc! { "$unset": *random.pick(&["a", "b.x", "c"]) });
                projected = true;
            }
            10 => {
                let path = format!("${}", random.pick(&["a", "b", "c", "a.x"]));
                made.push(match random.below(2) {
                    0 => doc! { "$unwind": path },
                    _ => doc! { "$unwind": { "path": path, "preserveNullAndEmptyArrays": true } },
                });
                unique = false;
            }
            11 if unique => {
                // Accumulators that look at the order get a defined one.
                if !ordered {
                    made.push(doc! { "$sort": { "_id": 1 } });
                }
                let accumulator = *random.pick(&["$sum", "$min", "$max", "$avg", "$push", "$first", "$last"]);
                made.push(doc! { "$group": {
                    "_id": operand(random),
                    "n": { "$sum": 1 },
                    "v": { accumulator: operand(random) },
                } });
                (unique, ordered) = (false, false);
            }
            12 => {
                made.push(doc! { "$lookup": {
                    "from": other,
                    "localField": *random.pick(&["a", "b", "a.x", "_id"]),
                    "foreignField": *random.pick(&["a", "b", "a.x", "_id"]),
                    "pipeline": [{ "$sort": { "_id": 1 } }],
                    "as": if projected { "j" } else { *random.pick(&["j", "a", "b.x"]) },
                } });
            }
            13 => {
                made.push(doc! { "$unionWith": { "coll": other, "pipeline": [{ "$match": generate::filter(random, 1) }] } });
                (unique, ordered) = (false, false);
            }
            14 if random.one_in(3) => {
                made.push(doc! { "$count": "n" });
                (unique, ordered) = (false, true);
            }
            15 if unique => {
                made.push(doc! { "$facet": {
                    "one": [{ "$sort": { "_id": 1 } }, { "$match": generate::filter(random, 1) }, { "$limit": 3 }],
                    "two": [{ "$match": generate::filter(random, 1) }, { "$count": "n" }],
                } });
                (unique, ordered) = (false, true);
            }
            _ => made.push(doc! { "$match": generate::filter(random, 1) }),
        }
    }
    (made, ordered)
}

fn operand(random: &mut Random) -> Bson {
    match random.below(6) {
        0..=3 => Bson::String(format!("${}", random.pick(&["a", "b", "c", "a.x", "b.y", "_id"]))),
        4 => Bson::Int32(random.below(4) as i32),
        _ => Bson::Null,
    }
}

fn expression(random: &mut Random, depth: usize) -> Bson {
    if depth == 0 {
        return operand(random);
    }
    let inner = |random: &mut Random| expression(random, depth - 1);
    let made = match random.below(14) {
        0 => doc! { "$eq": [inner(random), inner(random)] },
        1 => doc! { "$gt": [inner(random), inner(random)] },
        2 => doc! { "$cond": [inner(random), inner(random), inner(random)] },
        3 => doc! { "$ifNull": [inner(random), inner(random)] },
        4 => doc! { "$type": inner(random) },
        5 => doc! { "$isArray": [inner(random)] },
        6 => doc! { "$and": [inner(random), inner(random)] },
        7 => doc! { "$cmp": [inner(random), inner(random)] },
        8 => doc! { "$isNumber": inner(random) },
        9 => doc! { "$cond": [{ "$isArray": ["$a"] }, { "$size": "$a" }, inner(random)] },
        10 => doc! { "$cond": [{ "$isNumber": "$a" }, { "$add": ["$a", 1] }, inner(random)] },
        11 => doc! { "$mergeObjects": [{ "k": inner(random) }, { "l": 1 }] },
        12 => doc! { "$not": [inner(random)] },
        _ => return operand(random),
    };
    Bson::Document(made)
}
