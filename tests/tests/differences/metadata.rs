//! What `$meta` shows in finds and pipelines, on every backend.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, insert, run};

crate::on_every_backend! {
    the_values_of_an_order_are_shown,
    an_order_that_there_is_not_has_no_values,
    values_of_an_order_pass_through_stages_until_a_group,
    distances_are_shown_and_sorted_by,
    scores_go_with_their_documents,
    a_document_that_another_condition_found_has_no_score,
    filters_know_nothing_of_how_documents_are_found,
    unions_ask_the_other_collection,
    random_values_are_those_of_a_sample,
    keys_of_indexes_are_shown,
    names_of_other_products_have_no_values,
    a_projection_of_metadata_alone_keeps_the_id_of_a_view,
    orders_by_metadata_may_have_any_name,
}

fn meta(name: &str) -> Document {
    doc! { "$meta": name }
}

/// The field `k` of documents.
fn values(documents: &[Document]) -> Vec<Option<Bson>> {
    documents
        .iter()
        .map(|document| document.get("k").cloned())
        .collect()
}

async fn find(db: &Db, rest: Document) -> Vec<Document> {
    let mut command = doc! { "find": "c" };
    command.extend(rest);
    batch(&run(db, command).await)
}

async fn numbers(db: &Db) {
    let documents = vec![
        doc! { "_id": 1, "a": 3, "l": [5, 6] },
        doc! { "_id": 2, "a": 1, "l": [2] },
        doc! { "_id": 3, "a": 2 },
    ];
    insert(db, "c", documents).await;
}

async fn places(db: &Db) {
    let documents = vec![
        doc! { "_id": 1, "a": 3, "p": [0, 0] },
        doc! { "_id": 2, "a": 1, "p": [1, 1] },
        doc! { "_id": 3, "a": 2, "p": [2, 2] },
    ];
    insert(db, "c", documents).await;
    let index = doc! { "key": { "p": "2dsphere" }, "name": "p" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
}

async fn texts(db: &Db) {
    let documents = vec![
        doc! { "_id": 1, "t": "apple pie", "n": 1 },
        doc! { "_id": 2, "t": "apple apple tart", "n": 2 },
        doc! { "_id": 3, "t": "pear", "n": 1 },
    ];
    insert(db, "c", documents).await;
    let indexes = vec![
        doc! { "key": { "t": "text" }, "name": "t" },
        doc! { "key": { "n": 1 }, "name": "n" },
    ];
    run(db, doc! { "createIndexes": "c", "indexes": indexes }).await;
}

async fn the_values_of_an_order_are_shown(db: &Db) {
    numbers(db).await;
    let shown = doc! { "_id": 0, "k": meta("sortKey") };
    for indexed in [false, true] {
        if indexed {
            let index = doc! { "key": { "a": 1 }, "name": "a" };
            run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
        }
        let project = doc! { "k": meta("sortKey") };
        let found = find(db, doc! { "sort": { "a": 1 }, "projection": &project }).await;
        assert_eq!(
            values(&found),
            [Some(bson!([1])), Some(bson!([2])), Some(bson!([3]))]
        );
        let stages = vec![doc! { "$sort": { "a": 1 } }, doc! { "$project": &shown }];
        let found = aggregate(db, "c", stages).await;
        assert_eq!(found, [doc! { "k": [1] }, doc! { "k": [2] }, doc! { "k": [3] }]);
    }
    let found = find(
        db,
        doc! { "sort": { "l": -1, "a": 1 }, "projection": { "a": 1, "k": meta("sortKey") } },
    )
    .await;
    let expected = [Some(bson!([6, 3])), Some(bson!([2, 1])), Some(bson!([null, 2]))];
    assert_eq!(values(&found), expected);
    let found = find(
        db,
        doc! { "sort": { "$natural": 1 }, "limit": 1, "projection": { "k": meta("sortKey") } },
    )
    .await;
    assert_eq!(values(&found), [Some(bson!([]))]);
    let added = doc! { "$concatArrays": [meta("sortKey"), [7]] };
    let found = find(
        db,
        doc! { "sort": { "a": 1 }, "limit": 1, "projection": { "k": added } },
    )
    .await;
    assert_eq!(values(&found), [Some(bson!([1, 7]))]);
}

async fn an_order_that_there_is_not_has_no_values(db: &Db) {
    numbers(db).await;
    let shown = doc! { "k": meta("sortKey") };
    assert_eq!(code(db, doc! { "find": "c", "projection": &shown }).await, 2);
    let modify =
        doc! { "findAndModify": "c", "sort": { "a": 1 }, "update": { "$set": { "z": 1 } }, "fields": &shown };
    assert_eq!(code(db, modify).await, 2);
    for stages in [
        vec![doc! { "$project": &shown }],
        vec![doc! { "$project": &shown }, doc! { "$sort": { "a": 1 } }],
        vec![
            doc! { "$sort": { "a": 1 } },
            doc! { "$unionWith": "c" },
            doc! { "$project": &shown },
        ],
    ] {
        assert_eq!(
            code(db, doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }).await,
            2
        );
    }
    for stages in [
        vec![doc! { "$addFields": &shown }],
        vec![
            doc! { "$limit": 9 },
            doc! { "$sort": { "a": 1 } },
            doc! { "$addFields": &shown },
        ],
        vec![
            doc! { "$project": { "a": 1 } },
            doc! { "$sort": { "a": 1 } },
            doc! { "$addFields": &shown },
        ],
    ] {
        let found = aggregate(db, "c", stages).await;
        assert_eq!(values(&found), vec![Some(bson!([])); 3]);
    }
}

async fn values_of_an_order_pass_through_stages_until_a_group(db: &Db) {
    numbers(db).await;
    let sort = doc! { "$sort": { "a": 1 } };
    let shown = doc! { "$addFields": { "k": meta("sortKey") } };
    let all = [Some(bson!([1])), Some(bson!([2])), Some(bson!([3]))];
    for between in [
        doc! { "$addFields": { "a": 9 } },
        doc! { "$limit": 3 },
        doc! { "$replaceWith": { "x": 1 } },
        doc! { "$redact": "$$KEEP" },
        doc! { "$lookup": { "from": "c", "localField": "_id", "foreignField": "_id", "as": "o" } },
        doc! { "$graphLookup": { "from": "c", "startWith": "$_id", "connectFromField": "x", "connectToField": "_id", "as": "g" } },
        doc! { "$match": { "_id": { "$gt": 0 } } },
    ] {
        let found = aggregate(db, "c", vec![sort.clone(), between.clone(), shown.clone()]).await;
        assert_eq!(values(&found), all, "{between}");
    }
    let unwound = aggregate(
        db,
        "c",
        vec![sort.clone(), doc! { "$unwind": "$l" }, shown.clone()],
    )
    .await;
    assert_eq!(
        values(&unwound),
        [Some(bson!([1])), Some(bson!([3])), Some(bson!([3]))]
    );
    let pushed = doc! { "$group": { "_id": null, "k": { "$push": meta("sortKey") } } };
    assert_eq!(
        values(&aggregate(db, "c", vec![sort.clone(), pushed]).await),
        [Some(bson!([[1], [2], [3]]))]
    );
    for lost in [
        doc! { "$group": { "_id": "$a" } },
        doc! { "$bucketAuto": { "groupBy": "$a", "buckets": 3 } },
    ] {
        let found = aggregate(db, "c", vec![sort.clone(), lost, shown.clone()]).await;
        assert_eq!(values(&found), [None, None, None]);
    }
    let facet = doc! { "$facet": { "x": [&shown] } };
    let found = aggregate(
        db,
        "c",
        vec![
            sort.clone(),
            facet,
            doc! { "$unwind": "$x" },
            doc! { "$replaceWith": "$x" },
        ],
    )
    .await;
    assert_eq!(values(&found), [None, None, None]);
    let carried = doc! { "$lookup": {
        "from": "c", "let": { "k": meta("sortKey") },
        "pipeline": [{ "$limit": 1 }, { "$project": { "_id": 0, "k": "$$k" } }], "as": "o",
    } };
    let found = aggregate(
        db,
        "c",
        vec![
            sort.clone(),
            carried,
            doc! { "$replaceWith": { "k": { "$first": "$o.k" } } },
        ],
    )
    .await;
    assert_eq!(values(&found), all);
    let inner = doc! { "$lookup": { "from": "c", "pipeline": [&sort, { "$project": { "_id": 0, "k": meta("sortKey") } }], "as": "o" } };
    let found = aggregate(db, "c", vec![doc! { "$limit": 1 }, inner]).await;
    assert_eq!(
        found[0].get("o"),
        Some(&bson!([{ "k": [1] }, { "k": [2] }, { "k": [3] }]))
    );
}

async fn distances_are_shown_and_sorted_by(db: &Db) {
    places(db).await;
    let near = doc! { "$geoNear": { "near": [0, 1], "distanceField": "d", "distanceMultiplier": 2, "spherical": true } };
    let shown = doc! { "$addFields": { "k": meta("geoNearDistance"), "place": meta("geoNearPoint") } };
    let found = aggregate(db, "c", vec![near.clone(), shown.clone()]).await;
    assert_eq!(found.len(), 3);
    for document in &found {
        let (own, told) = (document.get_f64("k").unwrap(), document.get_f64("d").unwrap());
        assert_eq!(own * 2.0, told);
        assert_eq!(document.get("place"), document.get("p"));
    }
    // The farthest come first.
    let by_distance = doc! { "x": meta("geoNearDistance") };
    let found = aggregate(db, "c", vec![near.clone(), doc! { "$sort": &by_distance }]).await;
    let ids: Vec<i32> = found
        .iter()
        .map(|document| document.get_i32("_id").unwrap())
        .collect();
    assert_eq!(ids, [3, 1, 2]);
    let sorted = aggregate(
        db,
        "c",
        vec![near.clone(), doc! { "$sort": { "a": 1 } }, shown.clone()],
    )
    .await;
    let mut distances: Vec<f64> = sorted
        .iter()
        .map(|document| document.get_f64("k").unwrap())
        .collect();
    assert_eq!(distances.len(), 3);
    distances.sort_by(f64::total_cmp);

    let filter = doc! { "p": { "$nearSphere": [0, 1] } };
    let project = doc! { "k": meta("geoNearDistance"), "place": meta("geoNearPoint") };
    let found = find(db, doc! { "filter": &filter, "projection": &project }).await;
    let told: Vec<f64> = found
        .iter()
        .map(|document| document.get_f64("k").unwrap())
        .collect();
    assert_eq!(told, distances);
    assert!(
        found
            .iter()
            .all(|document| document.get("place") == document.get("p"))
    );
    let found = find(
        db,
        doc! { "filter": &filter, "sort": &by_distance, "projection": { "k": meta("sortKey") } },
    )
    .await;
    let expected: Vec<Option<Bson>> = distances
        .iter()
        .rev()
        .map(|distance| Some(bson!([*distance])))
        .collect();
    assert_eq!(values(&found), expected);
    let modify =
        doc! { "findAndModify": "c", "query": &filter, "update": { "$set": { "z": 1 } }, "fields": &project };
    let reply = run(db, modify).await;
    assert_eq!(
        reply.get_document("value").unwrap().get_f64("k").unwrap(),
        distances[0]
    );

    // Where nothing is near.
    for command in [
        doc! { "find": "c", "projection": &project },
        doc! { "find": "c", "sort": &by_distance },
        doc! { "aggregate": "c", "pipeline": [&shown], "cursor": {} },
        doc! { "aggregate": "c", "pipeline": [{ "$sort": &by_distance }], "cursor": {} },
    ] {
        assert_eq!(code(db, command).await, 40218);
    }
}

async fn scores_go_with_their_documents(db: &Db) {
    texts(db).await;
    let search = doc! { "$match": { "$text": { "$search": "apple" } } };
    let shown = doc! { "$addFields": { "k": meta("textScore") } };
    let by_id = doc! { "$sort": { "_id": 1 } };
    let both = [Some(bson!(0.75)), Some(bson!(1.25))];
    for between in [
        doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": { "s": { "$sum": 1 } } } },
        doc! { "$fill": { "sortBy": { "_id": 1 }, "output": { "q": { "method": "locf" } } } },
        doc! { "$sample": { "size": 2 } },
        doc! { "$match": { "_id": { "$lt": 9 } } },
    ] {
        let found = aggregate(
            db,
            "c",
            vec![search.clone(), between.clone(), shown.clone(), by_id.clone()],
        )
        .await;
        assert_eq!(values(&found), both, "{between}");
    }
    let dense = doc! { "$densify": { "field": "n", "range": { "step": 0.5, "bounds": "full" } } };
    let found = aggregate(db, "c", vec![search.clone(), dense, shown.clone()]).await;
    assert_eq!(values(&found), [Some(bson!(0.75)), None, Some(bson!(1.25))]);
    let window = doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": { "k": { "$push": meta("textScore") } } } };
    let found = aggregate(db, "c", vec![search.clone(), window]).await;
    assert_eq!(values(&found), vec![Some(bson!([0.75, 1.25])); 2]);
    let facet = doc! { "$facet": { "k": [&by_id, { "$project": { "_id": 0, "k": meta("textScore") } }] } };
    let found = aggregate(db, "c", vec![search.clone(), facet]).await;
    assert_eq!(values(&found), [Some(bson!([{ "k": 0.75 }, { "k": 1.25 }]))]);
    // Those of another collection.
    let join = doc! { "$lookup": { "from": "c", "pipeline": [&search, &by_id, { "$project": { "_id": 0, "k": meta("textScore") } }], "as": "k" } };
    let found = aggregate(db, "c", vec![doc! { "$limit": 1 }, join]).await;
    assert_eq!(values(&found), [Some(bson!([{ "k": 0.75 }, { "k": 1.25 }]))]);
    let carried = doc! { "$lookup": {
        "from": "c", "let": { "k": meta("textScore") },
        "pipeline": [{ "$limit": 1 }, { "$project": { "_id": 0, "k": "$$k" } }], "as": "k",
    } };
    let found = aggregate(db, "c", vec![search.clone(), by_id.clone(), carried.clone()]).await;
    assert_eq!(
        values(&found),
        [Some(bson!([{ "k": 0.75 }])), Some(bson!([{ "k": 1.25 }]))]
    );
    for stages in [
        vec![carried],
        vec![shown.clone()],
        vec![doc! { "$lookup": { "from": "c", "pipeline": [&shown], "as": "o" } }],
    ] {
        assert_eq!(
            code(db, doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }).await,
            40218
        );
    }
}

async fn a_document_that_another_condition_found_has_no_score(db: &Db) {
    texts(db).await;
    let filter = doc! { "$or": [{ "$text": { "$search": "apple" } }, { "n": 1 }] };
    let expected = [Some(bson!(0.75)), Some(bson!(1.25)), None];
    let project = doc! { "k": meta("textScore") };
    let found = find(
        db,
        doc! { "filter": &filter, "sort": { "_id": 1 }, "projection": &project },
    )
    .await;
    assert_eq!(values(&found), expected);
    let stages = vec![
        doc! { "$match": filter },
        doc! { "$sort": { "_id": 1 } },
        doc! { "$addFields": project },
    ];
    assert_eq!(values(&aggregate(db, "c", stages).await), expected);
}

async fn filters_know_nothing_of_how_documents_are_found(db: &Db) {
    texts(db).await;
    let is = |name: &str| doc! { "$expr": { "$gt": [meta(name), 0] } };
    for name in ["recordId", "sortKey", "indexKey", "randVal", "textScore"] {
        assert_eq!(find(db, doc! { "filter": is(name) }).await, [], "{name}");
        for stages in [
            vec![doc! { "$match": is(name) }],
            vec![doc! { "$limit": 3 }, doc! { "$match": is(name) }],
            vec![doc! { "$lookup": { "from": "c", "pipeline": [{ "$match": is(name) }], "as": "o" } }],
        ] {
            let command = doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
            assert_eq!(code(db, command).await, 40218, "{name}");
        }
    }
    let search = doc! { "$match": { "$text": { "$search": "apple" } } };
    let command =
        doc! { "aggregate": "c", "pipeline": [&search, { "$match": is("textScore") }], "cursor": {} };
    assert_eq!(code(db, command).await, 40218);
}

async fn unions_ask_the_other_collection(db: &Db) {
    texts(db).await;
    let search = doc! { "$match": { "$text": { "$search": "apple" } } };
    let shown = doc! { "$project": { "k": meta("textScore") } };
    let union = doc! { "$unionWith": "c" };
    for stages in [
        vec![search.clone(), union.clone(), shown.clone()],
        vec![
            search.clone(),
            union.clone(),
            doc! { "$match": { "_id": 1 } },
            shown.clone(),
        ],
    ] {
        assert_eq!(
            code(db, doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }).await,
            40218
        );
    }
    let found = aggregate(
        db,
        "c",
        vec![search.clone(), union, doc! { "$limit": 9 }, shown.clone()],
    )
    .await;
    let scored = found.iter().filter(|document| document.contains_key("k")).count();
    assert_eq!((found.len(), scored), (5, 2));
    let searched = doc! { "$unionWith": { "coll": "c", "pipeline": [&search] } };
    let stages = vec![
        search.clone(),
        searched,
        shown.clone(),
        doc! { "$sort": { "_id": 1 } },
    ];
    let found = aggregate(db, "c", stages).await;
    assert_eq!(
        values(&found),
        [
            Some(bson!(0.75)),
            Some(bson!(0.75)),
            Some(bson!(1.25)),
            Some(bson!(1.25))
        ]
    );
    let own =
        doc! { "$unionWith": { "coll": "c", "pipeline": [&search, { "$sort": { "_id": 1 } }, &shown] } };
    let found = aggregate(db, "c", vec![doc! { "$match": { "_id": 3 } }, own]).await;
    assert_eq!(values(&found), [None, Some(bson!(0.75)), Some(bson!(1.25))]);
}

async fn random_values_are_those_of_a_sample(db: &Db) {
    numbers(db).await;
    let shown = doc! { "$addFields": { "k": { "$type": meta("randVal") } } };
    let found = aggregate(db, "c", vec![doc! { "$sample": { "size": 3 } }, shown.clone()]).await;
    assert_eq!(values(&found), vec![Some(bson!("double")); 3]);
    let found = aggregate(db, "c", vec![shown]).await;
    assert_eq!(values(&found), vec![Some(bson!("missing")); 3]);
    let random = doc! { "x": meta("randVal") };
    let found = find(
        db,
        doc! { "sort": &random, "projection": { "k": { "$type": meta("randVal") } } },
    )
    .await;
    assert_eq!(values(&found), vec![Some(bson!("missing")); 3]);
    assert_eq!(aggregate(db, "c", vec![doc! { "$sort": random }]).await.len(), 3);
}

async fn keys_of_indexes_are_shown(db: &Db) {
    numbers(db).await;
    let index = doc! { "key": { "a": 1 }, "name": "a" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let shown = doc! { "$addFields": { "k": meta("indexKey") } };
    let filter = doc! { "$match": { "a": { "$gt": 1 } } };
    let expected = [Some(bson!({ "a": 2 })), Some(bson!({ "a": 3 }))];
    let found = aggregate(db, "c", vec![filter.clone(), shown.clone()]).await;
    assert_eq!(values(&found), expected);
    let grouped = doc! { "$group": { "_id": null, "k": { "$push": meta("indexKey") } } };
    let found = aggregate(db, "c", vec![filter, grouped]).await;
    assert_eq!(values(&found), [Some(bson!([{ "a": 2 }, { "a": 3 }]))]);
    assert_eq!(values(&aggregate(db, "c", vec![shown]).await), [None, None, None]);
}

async fn names_of_other_products_have_no_values(db: &Db) {
    numbers(db).await;
    for name in [
        "searchScore",
        "searchHighlights",
        "searchScoreDetails",
        "timeseriesBucketMinTime",
    ] {
        let found = find(db, doc! { "projection": { "_id": 1, "k": meta(name) } }).await;
        assert_eq!(
            found,
            [doc! { "_id": 1 }, doc! { "_id": 2 }, doc! { "_id": 3 }],
            "{name}"
        );
    }
    assert_eq!(
        code(db, doc! { "find": "c", "projection": { "k": meta("score") } }).await,
        17308
    );
    assert_eq!(
        code(db, doc! { "find": "c", "sort": { "k": meta("searchScore") } }).await,
        31218
    );
    assert_eq!(
        code(
            db,
            doc! { "find": "c", "sort": { "k": meta("searchHighlights") } }
        )
        .await,
        31219
    );
    assert_eq!(
        code(db, doc! { "find": "c", "sort": { "k": meta("indexKey") } }).await,
        31138
    );
}

async fn a_projection_of_metadata_alone_keeps_the_id_of_a_view(db: &Db) {
    numbers(db).await;
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    let command = doc! { "find": "v", "sort": { "a": 1 }, "projection": { "k": meta("sortKey") } };
    let found = batch(&run(db, command).await);
    let expected = [(2, 1), (3, 2), (1, 3)].map(|(id, key)| doc! { "_id": id, "k": [key] });
    assert_eq!(found, expected);
    assert_eq!(
        code(db, doc! { "find": "v", "projection": { "k": meta("sortKey") } }).await,
        2
    );
}

async fn orders_by_metadata_may_have_any_name(db: &Db) {
    texts(db).await;
    let filter = doc! { "$text": { "$search": "apple" } };
    for name in ["$s", "a.$s", "a..b"] {
        let sort = doc! { name: meta("textScore") };
        let found = find(db, doc! { "filter": &filter, "sort": &sort }).await;
        assert_eq!(found[0].get_i32("_id").unwrap(), 2, "{name}");
        let found = aggregate(db, "c", vec![doc! { "$match": &filter }, doc! { "$sort": sort }]).await;
        assert_eq!(found[0].get_i32("_id").unwrap(), 2, "{name}");
    }
    let more = doc! { "x": { "$meta": "textScore", "y": 1 } };
    assert_eq!(
        code(db, doc! { "find": "c", "filter": &filter, "sort": &more }).await,
        9
    );
    let stages = vec![doc! { "$match": &filter }, doc! { "$sort": more }];
    assert_eq!(
        code(db, doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }).await,
        9
    );
}
