//! What random pipelines found to differ: groups, joins, and what fills and divides documents.

use odm::Db;
use odm::bson::{Bson, DateTime, Document, Regex, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    a_group_by_one_field_takes_what_is_missing_for_null,
    graphs_follow_null_only_to_null_and_patterns_to_what_matches,
    positions_in_a_local_field_pick_elements,
    the_bottom_keeps_the_first_of_equals,
    merges_refuse_null_to_find_by,
    an_early_lookup_puts_its_field_last,
    a_late_lookup_leaves_its_field_in_its_place,
    filling_with_values_asks_for_no_partition,
    a_bucket_without_output_counts,
    samples_of_less_than_one_are_empty,
    stages_refuse_what_is_no_expression,
    a_stage_that_lets_all_through_may_stand_before_near,
    a_partition_below_the_bounds_enters_them_by_its_own_steps,
    months_of_bounds_begin_a_step_on_from_the_step_before,
    deviations_count_what_is_not_finite,
    what_is_wrong_with_a_stage_has_its_code,
}

/// The code of what one stage is refused for; 0 where it runs.
async fn refused(db: &Db, stage: Document) -> i32 {
    code(db, doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} }).await
}

/// The names of the first document's fields.
fn names(documents: &[Document]) -> Vec<&str> {
    documents
        .first()
        .into_iter()
        .flat_map(Document::keys)
        .map(String::as_str)
        .collect()
}

/// The `_id`s of the documents that a join gave the first document.
fn joined(documents: &[Document]) -> Vec<i32> {
    let mut found: Vec<i32> = documents
        .first()
        .and_then(|first| first.get_array("o").ok())
        .into_iter()
        .flatten()
        .filter_map(Bson::as_document)
        .filter_map(|document| document.get_i32("_id").ok())
        .collect();
    found.sort_unstable();
    found
}

async fn a_group_by_one_field_takes_what_is_missing_for_null(db: &Db) {
    let documents = vec![
        doc! { "_id": 1, "b": null },
        doc! { "_id": 2 },
        doc! { "_id": 3, "b": 1 },
    ];
    insert(db, "c", documents).await;
    let sort = doc! { "$sort": { "_id.a": 1 } };
    let expected = [
        doc! { "_id": { "a": null }, "n": 2 },
        doc! { "_id": { "a": 1 }, "n": 1 },
    ];
    let group = doc! { "$group": { "_id": { "a": "$b" }, "n": { "$sum": 1 } } };
    assert_eq!(
        aggregate(db, "c", vec![group.clone(), sort.clone()]).await,
        expected
    );
    let later = vec![doc! { "$set": { "z": 1 } }, group, sort];
    assert_eq!(aggregate(db, "c", later).await, expected);
    let below = doc! { "$group": { "_id": { "a": "$b.x" }, "n": { "$sum": 1 } } };
    assert_eq!(
        aggregate(db, "c", vec![below]).await,
        [doc! { "_id": { "a": null }, "n": 3 }]
    );
}

async fn graphs_follow_null_only_to_null_and_patterns_to_what_matches(db: &Db) {
    let pattern = Bson::RegularExpression(Regex {
        pattern: "a".try_into().unwrap(),
        options: "".try_into().unwrap(),
    });
    let documents = vec![
        doc! { "_id": 1, "x": null },
        doc! { "_id": 2 },
        doc! { "_id": 3, "x": "a" },
        doc! { "_id": 4, "x": pattern.clone() },
        doc! { "_id": 5, "x": "b" },
    ];
    insert(db, "c", documents).await;
    let search = async |start: Bson| {
        let stage = doc! { "$graphLookup": {
            "from": "c", "startWith": { "$literal": start }, "connectFromField": "none",
            "connectToField": "x", "as": "o",
        } };
        joined(&aggregate(db, "c", vec![stage]).await)
    };
    assert_eq!(search(Bson::Null).await, [1]);
    assert_eq!(search(bson!([null, "b"])).await, [1, 5]);
    assert_eq!(search(pattern).await, [3, 4]);
}

async fn positions_in_a_local_field_pick_elements(db: &Db) {
    let foreign = [1, 2, 3].map(|n| doc! { "_id": n, "x": n });
    insert(db, "f", foreign.to_vec()).await;
    let join = async |local: &str, value: Bson| {
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
        insert(db, "c", vec![doc! { "_id": 1, "a": value }]).await;
        let lookup = doc! { "$lookup": {
            "from": "f", "localField": local, "foreignField": "x", "as": "o", "pipeline": [],
        } };
        joined(&aggregate(db, "c", vec![lookup]).await)
    };
    assert_eq!(join("a.0", bson!([1, 2])).await, [1]);
    assert_eq!(join("a.01", bson!([1, 2])).await, [2]);
    assert_eq!(join("a.0", bson!([[1, 2], 3])).await, [1, 2]);
    assert_eq!(join("a.0.y", bson!([{ "y": 3 }, { "y": 1 }])).await, [3]);
    assert_eq!(
        join("a.y.0", bson!([{ "y": [3, 2] }, { "y": [1] }])).await,
        [1, 3]
    );
    assert_eq!(join("a.-1", bson!([{ "-1": 2 }])).await, [2]);
}

async fn the_bottom_keeps_the_first_of_equals(db: &Db) {
    let keys = [1, 1, 2, 2, 2, 3, 3];
    let documents = (0..).zip(keys).map(|(id, k)| doc! { "_id": id, "k": k });
    insert(db, "c", documents.collect()).await;
    let bottom = doc! { "$bottom": { "sortBy": { "k": 1 }, "output": "$_id" } };
    let several = |by: &str, n: i32| doc! { "$bottomN": { "sortBy": { by: 1 }, "output": "$_id", "n": n } };
    let group = doc! { "$group": {
        "_id": null, "one": bottom, "none": several("none", 2), "three": several("k", 3),
    } };
    assert_eq!(
        aggregate(db, "c", vec![group]).await,
        [doc! { "_id": null, "one": 5, "none": [0, 1], "three": [4, 5, 6] }]
    );
}

async fn merges_refuse_null_to_find_by(db: &Db) {
    insert(db, "c", vec![doc! { "_id": null }]).await;
    assert_eq!(refused(db, doc! { "$merge": "t" }).await, 51132);
    assert!(batch(&run(db, doc! { "find": "t" }).await).is_empty());
    run(
        db,
        doc! { "createIndexes": "t", "indexes": [{ "key": { "n.x": 1 }, "name": "n", "unique": true }] },
    )
    .await;
    let on_way =
        doc! { "aggregate": "d", "pipeline": [{ "$merge": { "into": "t", "on": "n.x" } }], "cursor": {} };
    insert(db, "d", vec![doc! { "_id": 1, "n": [{ "x": 1 }] }]).await;
    assert_eq!(code(db, on_way).await, 51132);
}

fn lookup(into: &str) -> Document {
    doc! { "$lookup": { "from": "f", "localField": "a", "foreignField": "_id", "as": into } }
}

async fn fill_for_order(db: &Db) {
    insert(db, "f", vec![doc! { "_id": 1 }]).await;
    insert(db, "c", vec![doc! { "_id": 1, "a": 1, "b": 2, "k": 3 }]).await;
}

async fn an_early_lookup_puts_its_field_last(db: &Db) {
    fill_for_order(db).await;
    let early = [
        vec![],
        vec![doc! { "$match": { "k": 3 } }, doc! { "$sort": { "_id": 1 } }],
        vec![doc! { "$project": { "a": 1, "b": 1, "k": 1 } }],
    ];
    for mut pipeline in early {
        pipeline.push(lookup("a"));
        let found = aggregate(db, "c", pipeline.clone()).await;
        assert_eq!(names(&found), ["_id", "b", "k", "a"], "{pipeline:?}");
    }
    let found = aggregate(db, "c", vec![lookup("x"), lookup("b")]).await;
    assert_eq!(names(&found), ["_id", "a", "k", "x", "b"]);
    let found = aggregate(db, "c", vec![lookup("_id")]).await;
    assert_eq!(names(&found), ["a", "b", "k", "_id"]);
}

async fn a_late_lookup_leaves_its_field_in_its_place(db: &Db) {
    fill_for_order(db).await;
    let late = [
        vec![doc! { "$set": { "k": 4 } }, lookup("a")],
        vec![doc! { "$limit": 3 }, doc! { "$match": { "k": 3 } }, lookup("a")],
        vec![lookup("a"), doc! { "$unwind": "$a" }],
        vec![doc! { "$set": { "k": 4 } }, lookup("_id")],
    ];
    for pipeline in late {
        let found = aggregate(db, "c", pipeline.clone()).await;
        assert_eq!(names(&found), ["_id", "a", "b", "k"], "{pipeline:?}");
    }
}

async fn filling_with_values_asks_for_no_partition(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let value = doc! { "a": { "value": 1 } };
    for names in [bson!(["q.r"]), bson!(["$p"]), bson!([""]), bson!([null])] {
        let stage = doc! { "$fill": { "sortBy": { "_id": 1 }, "partitionByFields": names.clone(), "output": value.clone() } };
        assert_eq!(refused(db, stage).await, 0, "{names}");
    }
    let by =
        doc! { "$fill": { "sortBy": { "_id": 1 }, "partitionBy": { "a.b": 1 }, "output": value.clone() } };
    assert_eq!(refused(db, by).await, 0);
    let null = doc! { "$fill": { "sortBy": { "_id": 1 }, "partitionByFields": null, "output": value } };
    assert_eq!(refused(db, null).await, 10065);
    let method = doc! { "$fill": { "sortBy": { "_id": 1 }, "partitionByFields": ["q.r"], "output": { "a": { "method": "locf" } } } };
    assert_eq!(refused(db, method).await, 16412);
}

async fn a_bucket_without_output_counts(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }, doc! { "_id": 2 }]).await;
    let stage = doc! { "$bucketAuto": { "groupBy": "$_id", "buckets": 1, "output": {} } };
    assert_eq!(
        aggregate(db, "c", vec![stage]).await,
        [doc! { "_id": { "min": 1, "max": 2 }, "count": 2 }]
    );
}

async fn samples_of_less_than_one_are_empty(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for size in [-0.5, f64::NAN] {
        let stage = doc! { "$sample": { "size": size } };
        assert!(aggregate(db, "c", vec![stage]).await.is_empty(), "{size}");
    }
    assert_eq!(refused(db, doc! { "$sample": { "size": -1.0 } }).await, 28747);
}

async fn stages_refuse_what_is_no_expression(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for by in [doc! {}, doc! { "a": 1 }, doc! { "a": "$b" }] {
        let bucket = doc! { "$bucket": { "groupBy": by.clone(), "boundaries": [0, 1], "default": 2 } };
        assert_eq!(refused(db, bucket).await, 40202, "{by}");
        let auto = doc! { "$bucketAuto": { "groupBy": by.clone(), "buckets": 1 } };
        assert_eq!(refused(db, auto).await, 40239, "{by}");
    }
    let merge =
        doc! { "$merge": { "into": "t", "let": { "Z": 1 }, "whenMatched": [{ "$set": { "n": 1 } }] } };
    assert_eq!(refused(db, merge).await, 9);
    let documents = bson!([{ "$documents": [{ "a": 1 }] }]);
    let inner = doc! { "$lookup": { "as": "o", "pipeline": documents } };
    assert_eq!(refused(db, doc! { "$facet": { "x": [inner] } }).await, 40600);
    let top = doc! { "$group": { "_id": null, "r": { "$top": { "sortBy": [], "output": "$_id" } } } };
    assert_eq!(refused(db, top).await, 0);
    let window =
        doc! { "$setWindowFields": { "output": { "r": { "$top": { "sortBy": [], "output": "$_id" } } } } };
    assert_eq!(refused(db, window).await, 5788604);
}

async fn a_stage_that_lets_all_through_may_stand_before_near(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "p": [1, 1] }]).await;
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "p": "2d" }, "name": "p" }] },
    )
    .await;
    let near = doc! { "$geoNear": { "near": [0, 0], "distanceField": "d" } };
    for idle in [doc! { "$match": {} }, doc! { "$skip": 0 }] {
        let found = aggregate(db, "c", vec![idle.clone(), near.clone()]).await;
        assert_eq!(ids(&found), [1], "{idle}");
    }
    let two = vec![doc! { "$match": {} }, doc! { "$match": {} }, near];
    let command = doc! { "aggregate": "c", "pipeline": two, "cursor": {} };
    assert_eq!(code(db, command).await, 40603);
}

async fn a_partition_below_the_bounds_enters_them_by_its_own_steps(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "k": 0.25, "q": 1 }]).await;
    let range = doc! { "step": 1, "bounds": [1, 4] };
    let stage = doc! { "$densify": { "field": "k", "partitionByFields": ["q"], "range": range } };
    assert_eq!(
        aggregate(db, "c", vec![stage]).await,
        [
            doc! { "_id": 1, "k": 0.25, "q": 1 },
            doc! { "q": 1, "k": 1.25 },
            doc! { "q": 1, "k": 2.25 },
            doc! { "q": 1, "k": 3.25 },
        ]
    );
    for (bounds, expected) in [
        (bson!([null, 1]), 5946800),
        (bson!(["x", 1]), 5733402),
        (bson!([1, DateTime::from_millis(0)]), 5733406),
    ] {
        let stage = doc! { "$densify": { "field": "k", "range": { "step": 1, "bounds": bounds.clone() } } };
        assert_eq!(refused(db, stage).await, expected, "{bounds}");
    }
}

async fn months_of_bounds_begin_a_step_on_from_the_step_before(db: &Db) {
    let day = |text: &str| DateTime::parse_rfc3339_str(format!("{text}T00:00:00Z")).expect("it is a day");
    insert(db, "c", vec![doc! { "_id": 1, "t": day("2020-05-01") }]).await;
    let bounds = [day("2019-12-31"), day("2020-03-31")];
    let range = doc! { "step": 1, "unit": "month", "bounds": bounds.to_vec() };
    let stage = doc! { "$densify": { "field": "t", "range": range } };
    let expected = ["2019-12-30", "2020-01-30", "2020-02-29", "2020-03-29"];
    let mut expected: Vec<Document> = expected.map(|text| doc! { "t": day(text) }).to_vec();
    expected.push(doc! { "_id": 1, "t": day("2020-05-01") });
    assert_eq!(aggregate(db, "c", vec![stage]).await, expected);
}

async fn deviations_count_what_is_not_finite(db: &Db) {
    let values = [1.0, f64::NAN, 3.0, 4.5, 6.0];
    let documents = (0..).zip(values).map(|(id, k)| doc! { "_id": id, "k": k });
    insert(db, "c", documents.collect()).await;
    let output = doc! { "r": { "$stdDevPop": "$k", "window": { "documents": [-1, 1] } } };
    let stage = doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": output } };
    let found = aggregate(db, "c", vec![stage]).await;
    let deviations: Vec<Option<f64>> = found.iter().map(|row| row.get_f64("r").ok()).collect();
    assert_eq!(deviations.get(..3), Some([None, None, None].as_slice()));
    let fourth = deviations.get(3).copied().flatten().expect("it is a number");
    assert!((fourth - 2.5290).abs() < 1e-4, "{fourth}");
}

async fn what_is_wrong_with_a_stage_has_its_code(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let graph = |field: &str, value: Bson| {
        let mut spec = doc! {
            "from": "c", "startWith": 1, "connectFromField": "a", "connectToField": "b", "as": "o",
        };
        spec.insert(field, value);
        doc! { "$graphLookup": spec }
    };
    let cases = [
        (doc! { "$group": { "_id": null, "w": { "a": 1 } } }, 40234),
        (doc! { "$group": { "_id": null, "$a": 1 } }, 40234),
        (doc! { "$group": { "_id": null, "a.b": 1 } }, 40234),
        (doc! { "$group": { "_id": null, "w": { "$minN": 1 } } }, 5787900),
        (doc! { "$group": { "_id": null, "w": { "$firstN": 1 } } }, 5787801),
        (doc! { "$graphLookup": { "as": "o" } }, 9),
        (graph("as", bson!({})), 13111),
        (graph("as", bson!("")), 40105),
        (graph("connectFromField", bson!(1)), 40103),
        (graph("maxDepth", bson!(f64::NEG_INFINITY)), 40101),
        (lookup(""), 9),
        (doc! { "$setWindowFields": { "output": { "$a": 1 } } }, 9),
        (doc! { "$setWindowFields": { "output": { "": 1 } } }, 9),
        (
            doc! { "$lookup": { "from": "", "localField": "a", "foreignField": "b", "as": "o" } },
            73,
        ),
    ];
    for (stage, expected) in cases {
        assert_eq!(refused(db, stage.clone()).await, expected, "{stage}");
    }
    for (given, expected) in [
        (bson!({}), 51270),
        (bson!({ "$a": 1 }), 31325),
        (bson!({ "": 1 }), 40352),
    ] {
        let command = doc! { "aggregate": 1, "pipeline": [{ "$documents": given }], "cursor": {} };
        assert_eq!(code(db, command).await, expected);
    }
}
