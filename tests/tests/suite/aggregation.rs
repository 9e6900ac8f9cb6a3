//! Pipelines, from the first stage to what is written.

use bson::{Bson, Document, doc};
use odm::{Collection, Db};

crate::on_every_backend! {
    leading_stages_select_and_order,
    groups_and_counts,
    joins,
    a_joined_pipeline_that_draws_draws_for_each_document,
    facets_and_buckets,
    results_come_in_batches,
    variables_hints_and_limits,
    wrong_pipelines_are_the_servers_errors,
    out_replaces_a_collection,
    merge_follows_its_options,
    a_transaction_sees_its_writes_in_pipelines,
    the_first_of_a_group_is_the_first_of_the_sort,
}

/// Six patrons with what they borrowed, two shelves.
async fn library(db: &Db) -> Collection<Document> {
    let loans = db.raw_collection("loans");
    loans
        .insert_many([
            doc! { "_id": 1, "patron": "ann", "book": "b1", "days": 3, "tags": ["new", "red"] },
            doc! { "_id": 2, "patron": "bob", "book": "b2", "days": 7, "tags": ["red"] },
            doc! { "_id": 3, "patron": "ann", "book": "b3", "days": 1, "tags": [] },
            doc! { "_id": 4, "patron": "eve", "book": "b1", "days": 9 },
            doc! { "_id": 5, "patron": "bob", "book": "b1", "days": 2, "tags": ["blue", "new"] },
            doc! { "_id": 6, "patron": "ann", "book": Bson::Null, "days": 4, "tags": "red" },
        ])
        .await
        .unwrap();
    db.raw_collection("books")
        .insert_many([
            doc! { "_id": "b1", "title": "Moby-Dick", "sequel": "b3" },
            doc! { "_id": "b2", "title": "Emma" },
            doc! { "_id": "b3", "title": "Omoo", "sequel": "b2" },
        ])
        .await
        .unwrap();
    loans
}

async fn ids(loans: &Collection<Document>, pipeline: impl IntoIterator<Item = Document>) -> Vec<i32> {
    let found = loans.aggregate_raw(pipeline).await.unwrap();
    found.iter().map(|row| row.get_i32("_id").unwrap()).collect()
}

/// The code and the text of a pipeline that fails.
async fn failure(on: &Collection<Document>, pipeline: impl IntoIterator<Item = Document>) -> (i32, String) {
    let error = on.aggregate_raw(pipeline).await.unwrap_err();
    (error.code().unwrap_or(0), error.message().to_owned())
}

async fn leading_stages_select_and_order(db: &Db) {
    let loans = library(db).await;
    db.raw_collection("loans");
    for indexed in [false, true] {
        if indexed {
            let raw = odm_tests::raw::RawCollection::new(db, "loans");
            raw.create_index(&doc! { "key": { "days": 1 }, "name": "days_1" })
                .await
                .unwrap();
        }
        let found = ids(
            &loans,
            [
                doc! { "$match": { "days": { "$gt": 2 } } },
                doc! { "$sort": { "days": -1 } },
            ],
        );
        assert_eq!(found.await, [4, 2, 6, 1]);
        let found = ids(
            &loans,
            [
                doc! { "$match": { "patron": "ann" } },
                doc! { "$sort": { "days": 1 } },
                doc! { "$skip": 1 },
                doc! { "$limit": 1 },
            ],
        );
        assert_eq!(found.await, [1]);
        let found = ids(
            &loans,
            [
                doc! { "$sort": { "days": 1 } },
                doc! { "$limit": 2 },
                doc! { "$skip": 1 },
            ],
        );
        assert_eq!(found.await, [5]);
        let found = ids(
            &loans,
            [
                doc! { "$sort": { "days": 1 } },
                doc! { "$limit": 3 },
                doc! { "$match": { "patron": "bob" } },
            ],
        );
        assert_eq!(found.await, [5]);
    }
    let plan = loans
        .aggregate_raw([
            doc! { "$match": { "days": 7 } },
            doc! { "$group": { "_id": "$patron" } },
        ])
        .explain()
        .await
        .unwrap();
    assert!(format!("{plan:?}").contains("days_1"), "{plan:?}");
}

async fn groups_and_counts(db: &Db) {
    let loans = library(db).await;
    let groups = loans
        .aggregate_raw([
            doc! { "$group": { "_id": "$patron", "n": { "$sum": 1 }, "days": { "$sum": "$days" }, "most": { "$max": "$days" } } },
            doc! { "$sort": { "_id": 1 } },
        ])
        .await
        .unwrap();
    assert_eq!(
        groups,
        [
            doc! { "_id": "ann", "n": 3, "days": 8, "most": 4 },
            doc! { "_id": "bob", "n": 2, "days": 9, "most": 7 },
            doc! { "_id": "eve", "n": 1, "days": 9, "most": 9 },
        ]
    );
    let count = loans
        .aggregate_raw([doc! { "$match": { "patron": "ann" } }, doc! { "$count": "n" }])
        .await
        .unwrap();
    assert_eq!(count, [doc! { "n": 3 }]);
    let none = loans
        .aggregate_raw([doc! { "$match": { "patron": "zoe" } }, doc! { "$count": "n" }])
        .await
        .unwrap();
    assert!(none.is_empty());
    let sorted = loans
        .aggregate_raw([
            doc! { "$unwind": "$tags" },
            doc! { "$sortByCount": "$tags" },
            doc! { "$limit": 1 },
        ])
        .await
        .unwrap();
    assert_eq!(sorted, [doc! { "_id": "red", "count": 3 }]);
    let nothing = db
        .raw_collection("nothing")
        .aggregate_raw([doc! { "$group": { "_id": Bson::Null, "n": { "$sum": 1 } } }])
        .await
        .unwrap();
    assert!(nothing.is_empty());
}

async fn joins(db: &Db) {
    let loans = library(db).await;
    let joined = loans
        .aggregate_raw([
            doc! { "$match": { "_id": { "$in": [1, 6] } } },
            doc! { "$lookup": { "from": "books", "localField": "book", "foreignField": "_id", "as": "book" } },
            doc! { "$project": { "book.title": 1 } },
        ])
        .await
        .unwrap();
    assert_eq!(
        joined,
        [
            doc! { "_id": 1, "book": [{ "title": "Moby-Dick" }] },
            doc! { "_id": 6, "book": [] }
        ]
    );
    let correlated = db
        .raw_collection("books")
        .aggregate_raw([
            doc! { "$lookup": {
                "from": "loans",
                "let": { "book": "$_id" },
                "pipeline": [
                    { "$match": { "$expr": { "$eq": ["$book", "$$book"] } } },
                    { "$sort": { "days": -1 } },
                    { "$limit": 1 },
                    { "$project": { "_id": 0, "days": 1 } },
                ],
                "as": "longest",
            } },
            doc! { "$project": { "longest": 1 } },
            doc! { "$sort": { "_id": 1 } },
        ])
        .await
        .unwrap();
    assert_eq!(
        correlated,
        [
            doc! { "_id": "b1", "longest": [{ "days": 9 }] },
            doc! { "_id": "b2", "longest": [{ "days": 7 }] },
            doc! { "_id": "b3", "longest": [{ "days": 1 }] },
        ]
    );
    let chain = db
        .raw_collection("books")
        .aggregate_raw([
            doc! { "$match": { "_id": "b1" } },
            doc! { "$graphLookup": {
                "from": "books", "startWith": "$sequel", "connectFromField": "sequel", "connectToField": "_id",
                "depthField": "step", "as": "sequels",
            } },
            doc! { "$unwind": "$sequels" },
            doc! { "$sort": { "sequels.step": 1 } },
            doc! { "$project": { "_id": 0, "title": "$sequels.title", "step": "$sequels.step" } },
        ])
        .await
        .unwrap();
    assert_eq!(
        chain,
        [
            doc! { "title": "Omoo", "step": 0_i64 },
            doc! { "title": "Emma", "step": 1_i64 }
        ]
    );
    let both = loans
        .aggregate_raw([
            doc! { "$project": { "_id": 1 } },
            doc! { "$unionWith": { "coll": "books", "pipeline": [{ "$match": { "sequel": { "$exists": true } } }] } },
            doc! { "$count": "n" },
        ])
        .await
        .unwrap();
    assert_eq!(both, [doc! { "n": 8 }]);
}

async fn a_joined_pipeline_that_draws_draws_for_each_document(db: &Db) {
    let many = (0..500).map(|id| doc! { "_id": id });
    db.raw_collection("many").insert_many(many).await.unwrap();
    let few = db.raw_collection("few");
    few.insert_many((0..8).map(|id| doc! { "_id": id }))
        .await
        .unwrap();
    let different = async |stages: Vec<Document>| {
        let lookup = doc! { "$lookup": { "from": "many", "pipeline": stages, "as": "found" } };
        let found = few.aggregate_raw([lookup]).await.unwrap();
        let mut found: Vec<String> = found
            .iter()
            .map(|row| row.get("found").unwrap().to_string())
            .collect();
        assert_eq!(found.len(), 8);
        found.sort_unstable();
        found.dedup();
        found.len()
    };
    let first = || doc! { "$limit": 1 };
    // That all eight are one by chance is less likely than any other fault.
    assert!(different(vec![doc! { "$sample": { "size": 1 } }]).await > 1);
    assert!(different(vec![first(), doc! { "$addFields": { "r": { "$rand": {} } } }]).await > 1);
    assert!(different(vec![doc! { "$match": { "$sampleRate": 0.3 } }]).await > 1);
    let chance = doc! { "$expr": { "$lt": [{ "$rand": {} }, 0.3] } };
    assert!(different(vec![doc! { "$match": chance }]).await > 1);
    // What chance has no part in is found once.
    assert_eq!(
        different(vec![doc! { "$match": { "_id": { "$lt": 3 } } }]).await,
        1
    );
    let inner = doc! { "$facet": { "a": [{ "$sample": { "size": 1 } }] } };
    assert_eq!(different(vec![inner]).await, 1);
    // Of a join within it, what is handed on counts.
    let join = |bound: Document, stage: Document| {
        let pipeline = vec![first(), stage];
        doc! { "$lookup": { "from": "many", "let": bound, "pipeline": pipeline, "as": "more" } }
    };
    let handed = join(
        doc! { "r": { "$rand": {} } },
        doc! { "$addFields": { "r": "$$r" } },
    );
    assert!(different(vec![first(), handed]).await > 1);
    let within = join(doc! {}, doc! { "$addFields": { "r": { "$rand": {} } } });
    assert_eq!(different(vec![first(), within]).await, 1);
}

async fn facets_and_buckets(db: &Db) {
    let loans = library(db).await;
    let facets = loans
        .aggregate_raw([doc! { "$facet": {
            "long": [{ "$match": { "days": { "$gte": 5 } } }, { "$count": "n" }],
            "buckets": [{ "$bucket": { "groupBy": "$days", "boundaries": [0, 3, 6], "default": "more" } }],
        } }])
        .await
        .unwrap();
    assert_eq!(
        facets,
        [doc! {
            "long": [{ "n": 2 }],
            "buckets": [{ "_id": 0, "count": 2 }, { "_id": 3, "count": 2 }, { "_id": "more", "count": 2 }],
        }]
    );
}

async fn results_come_in_batches(db: &Db) {
    let many = db.raw_collection("many");
    many.insert_many((0..250).map(|n| doc! { "_id": n }))
        .await
        .unwrap();
    let mut cursor = many
        .aggregate_raw([doc! { "$set": { "twice": { "$multiply": ["$_id", 2] } } }])
        .batch_size(40)
        .stream();
    let mut seen = 0;
    while let Some(row) = cursor.next().await {
        let row = row.unwrap();
        assert_eq!(row.get_i32("twice").unwrap(), seen * 2);
        seen += 1;
        if seen == 60 {
            // What is deleted meanwhile may or may not be seen on a server; what comes is whole.
            many.insert(doc! { "_id": 1000 }).await.unwrap();
        }
    }
    assert!(seen >= 250);
    let unwound = many
        .aggregate_raw([
            doc! { "$match": { "_id": { "$lt": 3 } } },
            doc! { "$set": { "x": { "$range": [0, 200] } } },
            doc! { "$unwind": "$x" },
        ])
        .batch_size(7)
        .await
        .unwrap();
    assert_eq!(unwound.len(), 600);
}

async fn variables_hints_and_limits(db: &Db) {
    let loans = library(db).await;
    let found = loans
        .aggregate_raw([doc! { "$match": { "$expr": { "$eq": ["$days", "$$wanted"] } } }])
        .variables(doc! { "wanted": { "$add": [3, 4] } })
        .await
        .unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].get_i32("_id").unwrap(), 2);
    let shown = loans
        .aggregate_raw([
            doc! { "$limit": 1 },
            doc! { "$project": { "_id": 0, "x": "$$wanted" } },
        ])
        .variables(doc! { "wanted": "text" })
        .await
        .unwrap();
    assert_eq!(shown, [doc! { "x": "text" }]);
    let error = loans
        .aggregate_raw([doc! { "$match": {} }])
        .hint("nosuch")
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(2));
    let hinted = loans
        .aggregate_raw([doc! { "$match": { "days": 7 } }])
        .hint(doc! { "_id": 1 });
    assert_eq!(hinted.await.unwrap().len(), 1);
}

async fn wrong_pipelines_are_the_servers_errors(db: &Db) {
    let loans = library(db).await;
    assert_eq!(failure(&loans, [doc! { "$nosuch": 1 }]).await.0, 40324);
    assert_eq!(failure(&loans, [doc! { "$limit": 0 }]).await.0, 15958);
    assert_eq!(failure(&loans, [doc! { "$project": {} }]).await.0, 51272);
    assert_eq!(
        failure(&loans, [doc! { "$out": "x" }, doc! { "$match": {} }])
            .await
            .0,
        40601
    );
    assert_eq!(
        failure(&loans, [doc! { "$match": { "a": { "$zz": 1 } } }])
            .await
            .0,
        2
    );
    let (code, text) = failure(&loans, [doc! { "$set": { "x": { "$add": ["$patron", 1] } } }]).await;
    assert_eq!(code, 16554, "{text}");
    assert!(
        text.starts_with("PlanExecutor error during aggregation :: caused by :: "),
        "{text}"
    );
}

async fn out_replaces_a_collection(db: &Db) {
    let loans = library(db).await;
    let target = odm_tests::raw::RawCollection::new(db, "long");
    target
        .insert_raw(vec![odm_tests::raw::raw(&doc! { "_id": 99 })])
        .await
        .unwrap();
    target
        .create_index(&doc! { "key": { "patron": 1 }, "name": "patron_1" })
        .await
        .unwrap();
    let results = loans
        .aggregate_raw([
            doc! { "$match": { "days": { "$gte": 7 } } },
            doc! { "$out": "long" },
        ])
        .await
        .unwrap();
    assert!(results.is_empty());
    let long = db.raw_collection("long");
    let found: Vec<i32> = long
        .find_all()
        .sort_raw(doc! { "_id": 1 })
        .await
        .unwrap()
        .iter()
        .map(|row| row.get_i32("_id").unwrap())
        .collect();
    assert_eq!(found, [2, 4]);
    assert_eq!(long.list_indexes().await.unwrap().len(), 2);
    // Without an `_id` each gets one.
    loans
        .aggregate_raw([
            doc! { "$project": { "_id": 0, "days": 1 } },
            doc! { "$out": "long" },
        ])
        .await
        .unwrap();
    assert_eq!(long.estimated_count().await.unwrap(), 6);
    // A key twice: the old collection stays.
    let error = loans
        .aggregate_raw([doc! { "$set": { "_id": 1 } }, doc! { "$out": "long" }])
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(11000));
    assert_eq!(long.estimated_count().await.unwrap(), 6);
    db.create_collection("ring").capped(1000).await.unwrap();
    let error = loans.aggregate_raw([doc! { "$out": "ring" }]).await.unwrap_err();
    assert_eq!(error.code(), Some(17152));
    // Onto its own source.
    loans
        .aggregate_raw([doc! { "$match": { "patron": "eve" } }, doc! { "$out": "loans" }])
        .await
        .unwrap();
    assert_eq!(loans.estimated_count().await.unwrap(), 1);
}

async fn merge_follows_its_options(db: &Db) {
    let cases = [
        (
            doc! { "into": "d" },
            Ok(vec![
                doc! { "_id": 1, "z": 1, "k": "x", "a": 1 },
                doc! { "_id": 2, "a": 2, "k": "y" },
                doc! { "_id": 9, "z": 9 },
            ]),
        ),
        (
            doc! { "into": "d", "whenMatched": "replace" },
            Ok(vec![
                doc! { "_id": 1, "a": 1, "k": "x" },
                doc! { "_id": 2, "a": 2, "k": "y" },
                doc! { "_id": 9, "z": 9 },
            ]),
        ),
        (
            doc! { "into": "d", "whenMatched": "keepExisting" },
            Ok(vec![
                doc! { "_id": 1, "z": 1, "k": "x" },
                doc! { "_id": 2, "a": 2, "k": "y" },
                doc! { "_id": 9, "z": 9 },
            ]),
        ),
        (
            doc! { "into": "d", "whenMatched": "keepExisting", "whenNotMatched": "discard" },
            Err(51181),
        ),
        (
            doc! { "into": "d", "whenMatched": "fail", "whenNotMatched": "fail" },
            Err(51181),
        ),
        (doc! { "into": "d", "whenMatched": "fail" }, Err(11000)),
        (doc! { "into": "d", "whenNotMatched": "fail" }, Err(13113)),
        (
            doc! { "into": "d", "whenMatched": [{ "$set": { "q": "$$new.a", "w": "$z" } }], "whenNotMatched": "discard" },
            Ok(vec![
                doc! { "_id": 1, "z": 1, "k": "x", "q": 1, "w": 1 },
                doc! { "_id": 9, "z": 9 },
            ]),
        ),
        (
            doc! { "into": "d", "let": { "v": "$a" }, "whenMatched": [{ "$set": { "q": "$$v" } }], "whenNotMatched": "discard" },
            Ok(vec![
                doc! { "_id": 1, "z": 1, "k": "x", "q": 1 },
                doc! { "_id": 9, "z": 9 },
            ]),
        ),
        (doc! { "into": "d", "on": "k" }, Err(51183)),
        (doc! { "into": "d", "on": [] }, Err(51187)),
        (doc! { "into": "d", "on": 5 }, Err(51186)),
        (doc! { "into": "d", "whenMatched": "zz" }, Err(2)),
        (doc! { "into": "d", "zz": 1 }, Err(40415)),
        (doc! {}, Err(40414)),
        (doc! { "into": 5 }, Err(51178)),
        (doc! { "into": "" }, Err(5_786_800)),
        (
            doc! { "into": "d", "let": { "v": 1 }, "whenMatched": "replace" },
            Err(51199),
        ),
    ];
    let (source, target) = (db.raw_collection("s"), db.raw_collection("d"));
    source
        .insert_many([
            doc! { "_id": 1, "a": 1, "k": "x" },
            doc! { "_id": 2, "a": 2, "k": "y" },
        ])
        .await
        .unwrap();
    for (merge, expected) in cases {
        target.drop().await.unwrap();
        target
            .insert_many([doc! { "_id": 1, "z": 1, "k": "x" }, doc! { "_id": 9, "z": 9 }])
            .await
            .unwrap();
        let done = source.aggregate_raw([doc! { "$merge": merge.clone() }]).await;
        match expected {
            Ok(expected) => {
                done.unwrap_or_else(|error| panic!("{merge}: {error}"));
                let found = target.find_all().sort_raw(doc! { "_id": 1 }).await.unwrap();
                assert_eq!(found, expected, "{merge}");
            }
            Err(code) => assert_eq!(done.unwrap_err().code(), Some(code), "{merge}"),
        }
    }
    // By another unique field, the `_id` of what is there stays.
    target.drop().await.unwrap();
    target.insert(doc! { "_id": 7, "k": "x" }).await.unwrap();
    let raw = odm_tests::raw::RawCollection::new(db, "d");
    raw.create_index(&doc! { "key": { "k": 1 }, "name": "k_1", "unique": true })
        .await
        .unwrap();
    source
        .aggregate_raw([
            doc! { "$project": { "_id": 0 } },
            doc! { "$merge": { "into": "d", "on": "k", "whenNotMatched": "discard" } },
        ])
        .await
        .unwrap();
    assert_eq!(
        target.find_all().await.unwrap(),
        [doc! { "_id": 7, "k": "x", "a": 1 }]
    );
    let (code, _) = failure(
        &source,
        [
            doc! { "$unset": "k" },
            doc! { "$merge": { "into": "d", "on": "k" } },
        ],
    )
    .await;
    assert_eq!(code, 51132);
}

async fn a_transaction_sees_its_writes_in_pipelines(db: &Db) {
    let loans = library(db).await;
    let tx = db.begin().await.unwrap();
    tx.raw_collection("loans").delete(Bson::from(4)).await.unwrap();
    let inside = tx
        .raw_collection("loans")
        .aggregate_raw([doc! { "$group": { "_id": Bson::Null, "days": { "$sum": "$days" } } }])
        .await
        .unwrap();
    assert_eq!(inside, [doc! { "_id": Bson::Null, "days": 17 }]);
    let error = tx
        .raw_collection("loans")
        .aggregate_raw([doc! { "$out": "x" }])
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(263));
    drop(tx);
    assert_eq!(loans.estimated_count().await.unwrap(), 6);
}

async fn the_first_of_a_group_is_the_first_of_the_sort(db: &Db) {
    let items = db.raw_collection("items");
    items
        .insert_many([
            doc! { "_id": 0, "b": [] },
            doc! { "_id": 1 },
            doc! { "_id": 2, "c": 4 },
        ])
        .await
        .unwrap();
    let mut found = items
        .aggregate_raw([
            doc! { "$sort": { "_id": 1 } },
            doc! { "$group": { "_id": "$c", "first": { "$first": "$_id" }, "last": { "$last": "$_id" } } },
        ])
        .await
        .unwrap();
    found.sort_by_key(|row| row.get_i32("first").unwrap());
    assert_eq!(
        found,
        [
            doc! { "_id": Bson::Null, "first": 0, "last": 1 },
            doc! { "_id": 4, "first": 2, "last": 2 },
        ]
    );
}
