//! Tables of pipelines with the server's answers.

use bson::{Bson, bson};

use super::*;

/// One collection, "other".
struct Others(Vec<Vec<u8>>);

impl Source for Others {
    fn find<'a>(&'a self, collection: &str, asked: Asked<'_>) -> Result<(Rows<'a>, usize)> {
        let matcher = Matcher::parse(asked.filter)?;
        let known = collection == "other";
        let rows: Rows<'a> = Box::new(self.0.iter().filter(move |_| known).filter_map(move |row| {
            match matcher.matches(Doc::Raw(row)) {
                Ok(true) => Some(Ok(Row::from(row.clone()))),
                Ok(false) => None,
                Err(fault) => Some(Err(fault)),
            }
        }));
        Ok((rows, 0))
    }
}

fn rows(docs: &Bson) -> Vec<Vec<u8>> {
    docs.as_array()
        .unwrap()
        .iter()
        .map(|doc| bson::serialize_to_vec(doc).unwrap())
        .collect()
}

fn run(stages: &Bson, memory: Memory) -> Result<Bson, i32> {
    let input = rows(&bson!([
        { "_id": 1, "k": "a", "v": 1, "tags": ["x", "y"] },
        { "_id": 2, "k": "b", "v": 2.5, "tags": [] },
        { "_id": 3, "k": "a", "v": null },
        { "_id": 4, "v": 4, "tags": "z" },
    ]));
    let others = Others(rows(&bson!([
        { "_id": 1, "key": "a", "next": "b" },
        { "_id": 2, "key": "b", "next": "c" },
        { "_id": 3, "key": "c", "next": "a" },
        { "_id": 4 },
    ])));
    let stages = rows(stages);
    let docs: Vec<Doc<'_>> = stages.iter().map(|bytes| Doc::Raw(bytes)).collect();
    let run = || {
        let mut pipeline = Pipeline::parse(&docs, &[])?;
        pipeline.settle(&Scope::new(Doc::empty(), 0))?;
        let context = Context {
            source: &others,
            variables: Vec::new(),
            now: 0,
            memory,
            collation: Default::default(),
            wanted: Wanted::default(),
        };
        let rows = pipeline.run(
            Box::new(input.into_iter().map(|row| Ok(Row::from(row)))),
            &context,
        )?;
        rows.map(|row| row.map(|row| Bson::Document(bson::deserialize_from_slice(&row).unwrap())))
            .collect::<Result<Vec<Bson>>>()
    };
    run().map(Bson::Array).map_err(|fault| fault.code())
}

fn check(table: Vec<(Bson, Result<Bson, i32>)>) {
    for (stages, expected) in table {
        assert_eq!(run(&stages, Memory::Usual), expected, "{stages}");
    }
}

#[test]
fn selecting_and_ordering() {
    check(vec![
        (
            bson!([{ "$match": { "v": { "$gt": 1 } } }, { "$project": { "v": 1 } }]),
            Ok(bson!([{ "_id": 2, "v": 2.5 }, { "_id": 4, "v": 4 }])),
        ),
        (
            bson!([{ "$sort": { "v": -1 } }, { "$skip": 1 }, { "$limit": 1 }, { "$project": { "v": 1 } }]),
            Ok(bson!([{ "_id": 2, "v": 2.5 }])),
        ),
        (
            bson!([{ "$unwind": { "path": "$tags", "includeArrayIndex": "i" } }, { "$project": { "tags": 1, "i": 1 } }]),
            Ok(bson!([
                { "_id": 1, "tags": "x", "i": 0i64 },
                { "_id": 1, "tags": "y", "i": 1i64 },
                { "_id": 4, "tags": "z", "i": null },
            ])),
        ),
        (
            bson!([{ "$sample": { "size": 9 } }, { "$count": "n" }]),
            Ok(bson!([{ "n": 4 }])),
        ),
        (
            bson!([{ "$match": { "v": 99 } }, { "$count": "n" }]),
            Ok(bson!([])),
        ),
        (bson!([{ "$limit": 0 }]), Err(15958)),
        (bson!([{ "$skip": -1 }]), Err(5107200)),
        (bson!([{ "$sort": {} }]), Err(15976)),
        (bson!([{ "$nothing": 1 }]), Err(40324)),
        (bson!([{ "$out": "x" }, { "$limit": 1 }]), Err(40601)),
    ]);
}

#[test]
fn grouping() {
    check(vec![
        (
            bson!([{ "$group": {
                "_id": "$k", "n": { "$sum": 1 }, "s": { "$sum": "$v" }, "a": { "$avg": "$v" },
                "ids": { "$push": "$_id" }, "first": { "$first": "$v" }, "max": { "$max": "$v" },
            } }]),
            Ok(bson!([
                { "_id": "a", "n": 2, "s": 1, "a": 1.0, "ids": [1, 3], "first": 1, "max": 1 },
                { "_id": "b", "n": 1, "s": 2.5, "a": 2.5, "ids": [2], "first": 2.5, "max": 2.5 },
                { "_id": null, "n": 1, "s": 4, "a": 4.0, "ids": [4], "first": 4, "max": 4 },
            ])),
        ),
        (
            bson!([{ "$group": {
                "_id": null,
                "top": { "$top": { "output": "$_id", "sortBy": { "v": -1 } } },
                "bottom": { "$bottomN": { "n": 2, "output": "$_id", "sortBy": { "v": -1 } } },
                "least": { "$minN": { "n": 2, "input": "$v" } },
                "last": { "$lastN": { "n": 2, "input": "$v" } },
            } }]),
            Ok(bson!([{ "_id": null, "top": 4, "bottom": [1, 3], "least": [1, 2.5], "last": [null, 4] }])),
        ),
        (
            bson!([{ "$sortByCount": "$k" }, { "$limit": 1 }]),
            Ok(bson!([{ "_id": "a", "count": 2 }])),
        ),
        (
            bson!([{ "$bucket": { "groupBy": "$_id", "boundaries": [1, 3], "default": "rest" } }]),
            Ok(bson!([{ "_id": 1, "count": 2 }, { "_id": "rest", "count": 2 }])),
        ),
        (
            bson!([{ "$bucketAuto": { "groupBy": "$_id", "buckets": 2 } }]),
            Ok(bson!([
                { "_id": { "min": 1, "max": 3 }, "count": 2 },
                { "_id": { "min": 3, "max": 4 }, "count": 2 },
            ])),
        ),
        (
            bson!([{ "$facet": { "n": [{ "$count": "n" }], "one": [{ "$limit": 1 }, { "$project": { "v": 1 } }] } }]),
            Ok(bson!([{ "n": [{ "n": 4 }], "one": [{ "_id": 1, "v": 1 }] }])),
        ),
        (bson!([{ "$group": { "n": { "$sum": 1 } } }]), Err(15955)),
        (
            bson!([{ "$group": { "_id": null, "n": { "$foo": 1 } } }]),
            Err(15952),
        ),
        (
            bson!([{ "$group": { "_id": null, "n": { "$sum": ["$v", 1] } } }]),
            Err(40237),
        ),
    ]);
}

#[test]
fn joining() {
    check(vec![
        (
            bson!([
                { "$lookup": { "from": "other", "localField": "k", "foreignField": "key", "as": "r" } },
                { "$project": { "r._id": 1 } },
            ]),
            Ok(bson!([
                { "_id": 1, "r": [{ "_id": 1 }] },
                { "_id": 2, "r": [{ "_id": 2 }] },
                { "_id": 3, "r": [{ "_id": 1 }] },
                { "_id": 4, "r": [{ "_id": 4 }] },
            ])),
        ),
        (
            bson!([
                { "$limit": 1 },
                { "$lookup": {
                    "from": "other", "let": { "k": "$k" },
                    "pipeline": [{ "$match": { "$expr": { "$gt": ["$key", "$$k"] } } }, { "$project": { "key": 1 } }],
                    "as": "o.r",
                } },
                { "$project": { "o": 1 } },
            ]),
            Ok(bson!([{ "_id": 1, "o": { "r": [{ "_id": 2, "key": "b" }, { "_id": 3, "key": "c" }] } }])),
        ),
        (
            bson!([
                { "$limit": 1 },
                { "$graphLookup": {
                    "from": "other", "startWith": "$k", "connectFromField": "next", "connectToField": "key",
                    "as": "r", "depthField": "d", "maxDepth": 1,
                } },
                { "$project": { "r": 1 } },
            ]),
            Ok(bson!([{ "_id": 1, "r": [
                { "_id": 1, "key": "a", "next": "b", "d": 0i64 },
                { "_id": 2, "key": "b", "next": "c", "d": 1i64 },
            ] }])),
        ),
        (
            bson!([{ "$unionWith": { "coll": "other", "pipeline": [{ "$limit": 1 }] } }, { "$count": "n" }]),
            Ok(bson!([{ "n": 5 }])),
        ),
        (bson!([{ "$lookup": { "from": "other", "as": "r" } }]), Err(9)),
    ]);
}

#[test]
fn memory_is_limited_without_disk_use() {
    assert_eq!(
        run(&bson!([{ "$sort": { "v": 1 } }]), Memory::Bytes(100)),
        Err(292)
    );
    assert_eq!(
        run(
            &bson!([{ "$group": { "_id": "$_id", "all": { "$push": "$$ROOT" } } }]),
            Memory::Bytes(100)
        ),
        Err(292)
    );
}
