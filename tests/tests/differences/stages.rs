//! What further random commands found to differ: stages that write, constants, windows, hints and searches.

use odm::Db;
use odm::bson::{Bson, DateTime, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    merges_go_on_past_what_is_refused,
    merges_write_nothing_of_a_batch_that_cannot_be_made,
    merges_compare_by_id_without_an_on_however_strings_compare,
    what_is_wrong_with_a_target_is_said_first,
    updates_by_stages_compute_constants_where_they_stand,
    known_constants_are_computed_before_documents_are_read,
    redact_reads_fields_of_each_level,
    the_greatest_of_equal_values_keep_their_order,
    nothing_is_found_in_nothing,
    views_refuse_searches_and_nearness_by_their_own_codes,
    wildcard_indexes_hide_no_empty_arrays,
    hinted_wildcard_indexes_compare_strings_as_they_have_them,
    indexes_are_listed_with_their_fields_in_order,
    negated_words_count_among_those_left_out,
    groups_that_later_stages_alone_can_run_fail_late,
    nothing_is_near_in_a_stage_where_nothing_matches,
    upserts_that_a_hint_hides_end,
}

async fn refused(db: &Db, name: &str, pipeline: Vec<Document>) -> i32 {
    code(db, doc! { "aggregate": name, "pipeline": pipeline, "cursor": {} }).await
}

async fn all(db: &Db, name: &str) -> Vec<Document> {
    batch(&run(db, doc! { "find": name, "sort": { "_id": 1 } }).await)
}

fn numbered(numbers: impl IntoIterator<Item = i32>) -> Vec<Document> {
    numbers.into_iter().map(|n| doc! { "_id": n }).collect()
}

async fn merges_go_on_past_what_is_refused(db: &Db) {
    insert(db, "c", numbered(0..6)).await;
    insert(db, "t", numbered([1, 4])).await;
    let merge = vec![doc! { "$merge": { "into": "t", "whenMatched": "fail" } }];
    assert_eq!(refused(db, "c", merge).await, 11000);
    assert_eq!(ids(&all(db, "t").await), [0, 1, 2, 3, 4, 5]);

    run(
        db,
        doc! { "createIndexes": "u", "indexes": [{ "key": { "x": 1 }, "name": "x", "unique": true }] },
    )
    .await;
    insert(db, "u", vec![doc! { "_id": 100, "x": 2 }]).await;
    let set = doc! { "$set": { "x": "$_id" } };
    let taken = vec![set.clone(), doc! { "$merge": { "into": "u" } }];
    assert_eq!(refused(db, "c", taken).await, 11000);
    assert_eq!(ids(&all(db, "u").await), [0, 1, 3, 4, 5, 100]);

    // Updates that fail one by one, and rows without a match.
    let divided = doc! { "$set": { "y": { "$divide": [1, { "$subtract": ["$x", 3] }] } } };
    let fails = vec![doc! { "$merge": { "into": "u", "whenMatched": [divided], "whenNotMatched": "fail" } }];
    let error = refused(db, "c", fails).await;
    assert!([2, 13113].contains(&error), "{error}");
    let changed: Vec<i32> = all(db, "u")
        .await
        .iter()
        .filter(|row| row.contains_key("y"))
        .map(|row| row.get_i32("_id").unwrap())
        .collect();
    assert_eq!(changed, [0, 1, 4, 5]);

    let valid = doc! { "create": "v", "validator": { "_id": { "$ne": 1 } } };
    run(db, valid).await;
    let invalid = vec![doc! { "$merge": { "into": "v" } }];
    assert_eq!(refused(db, "c", invalid).await, 121);
    assert_eq!(ids(&all(db, "v").await), [0, 2, 3, 4, 5]);
}

async fn merges_write_nothing_of_a_batch_that_cannot_be_made(db: &Db) {
    run(
        db,
        doc! { "createIndexes": "t", "indexes": [{ "key": { "k": 1 }, "name": "k", "unique": true }] },
    )
    .await;
    let rows = vec![
        doc! { "_id": 0, "k": 0 },
        doc! { "_id": 1 },
        doc! { "_id": 2, "k": 2 },
    ];
    insert(db, "c", rows).await;
    let missing = vec![doc! { "$merge": { "into": "t", "on": "k" } }];
    assert_eq!(refused(db, "c", missing).await, 51132);
    assert!(all(db, "t").await.is_empty());

    let quotient = doc! { "q": { "$divide": [1, { "$subtract": ["$_id", 1] }] } };
    let of_let = vec![doc! { "$merge": { "into": "n", "let": quotient, "whenMatched": [] } }];
    assert_eq!(refused(db, "c", of_let).await, 2);
    assert!(all(db, "n").await.is_empty());

    // A pipeline that cannot be read is refused where there is nothing to merge, too.
    let unread = vec![doc! { "$merge": { "into": "t", "whenMatched": [{ "$nope": 1 }] } }];
    assert_eq!(refused(db, "nothing", unread).await, 40324);
}

async fn merges_compare_by_id_without_an_on_however_strings_compare(db: &Db) {
    let english = doc! { "locale": "en" };
    run(db, doc! { "create": "en", "collation": &english }).await;
    run(db, doc! { "create": "plain" }).await;
    insert(db, "en", numbered([1])).await;
    for (into, on, expected) in [
        ("plain", Bson::Null, 0),
        ("plain", bson!("_id"), 51183),
        ("plain", bson!(["_id"]), 51183),
        ("other", Bson::Null, 0),
        ("missing", bson!("_id"), 0),
        ("missing", bson!("_id"), 51183),
        ("en", bson!("_id"), 0),
    ] {
        let mut merge = doc! { "into": into };
        if on != Bson::Null {
            merge.insert("on", on.clone());
        }
        let found = refused(db, "en", vec![doc! { "$merge": merge }]).await;
        assert_eq!(found, expected, "{into} {on}");
    }
}

async fn what_is_wrong_with_a_target_is_said_first(db: &Db) {
    let bad = doc! { "$match": { "a": { "$bad": 1 } } };
    for (stage, expected) in [
        (
            doc! { "$merge": { "into": "t", "whenMatched": "fail", "whenNotMatched": "discard" } },
            51181,
        ),
        (doc! { "$merge": {} }, 40414),
        (doc! { "$merge": 1 }, 14),
        (doc! { "$merge": { "into": "t", "whenMatched": "x" } }, 2),
        (doc! { "$merge": { "into": "t", "on": [] } }, 51187),
        (doc! { "$merge": { "into": "t", "zz": 1 } }, 40415),
        (
            doc! { "$merge": { "into": "t", "whenMatched": [{ "$nope": 1 }] } },
            40324,
        ),
        (doc! { "$out": 1 }, 16990),
        (doc! { "$out": {} }, 16994),
        (doc! { "$out": { "db": "x" } }, 16994),
        (doc! { "$out": { "db": "x", "coll": "y", "z": 1 } }, 16994),
        (doc! { "$out": { "db": 1, "coll": 2 } }, 13111),
    ] {
        for before in [bad.clone(), doc! { "$project": {} }, doc! { "$group": {} }] {
            let found = refused(db, "c", vec![before.clone(), stage.clone()]).await;
            assert_eq!(found, expected, "{before} {stage}");
        }
        let unknown = refused(db, "c", vec![doc! { "$nope": 1 }, stage.clone()]).await;
        assert_eq!(unknown, 40324, "{stage}");
        let followed = refused(db, "c", vec![stage.clone(), doc! { "$match": {} }]).await;
        assert_eq!(followed, expected, "{stage}");
    }
    // These the server finds in their turn.
    for stage in [
        doc! { "$merge": { "into": "t", "let": { "a": 1 } } },
        doc! { "$merge": { "into": "system.x" } },
        doc! { "$merge": { "into": "t", "on": ["a", "a"] } },
        doc! { "$out": { "db": "admin", "coll": "x" } },
    ] {
        let found = refused(db, "c", vec![bad.clone(), stage.clone()]).await;
        assert_eq!(found, 2, "{stage}");
    }
}

/// Stages of an update are not optimized, those of an aggregate are: what fails first may be another.
async fn updates_by_stages_compute_constants_where_they_stand(db: &Db) {
    let document = doc! { "_id": 1, "n": DateTime::from_millis(0), "l": [1], "s": "x" };
    insert(db, "c", vec![document]).await;
    let fails = doc! { "$divide": [1, 0] };
    for (expression, in_update, in_aggregate) in [
        (doc! { "$multiply": [null, "$n"] }, 0, 14),
        (doc! { "$multiply": ["$n", null] }, 14, 14),
        (doc! { "$add": [null, "$s"] }, 0, 16554),
        (doc! { "$setIsSubset": ["$nope", ["B"]] }, 17046, 17310),
        (doc! { "$and": [false, &fails] }, 0, 2),
        (doc! { "$and": [&fails, false] }, 2, 2),
        (doc! { "$cond": [true, 1, &fails] }, 0, 2),
        (doc! { "$add": ["$s", &fails] }, 16554, 2),
        (doc! { "$setUnion": [null, "$s"] }, 0, 17043),
        (doc! { "$setIntersection": [null, "$s"] }, 0, 17047),
        (
            doc! { "$regexMatch": { "input": "$n", "regex": "(" } },
            51104,
            51111,
        ),
        (doc! { "$ifNull": [1, &fails] }, 0, 2),
        (doc! { "$ifNull": [null, &fails, 1] }, 2, 2),
    ] {
        let set = doc! { "$set": { "r": &expression } };
        let update = doc! { "update": "c", "updates": [{ "q": {}, "u": [&set] }] };
        assert_eq!(code(db, update).await, in_update, "{expression}");
        assert_eq!(refused(db, "c", vec![set]).await, in_aggregate, "{expression}");
    }
}

async fn known_constants_are_computed_before_documents_are_read(db: &Db) {
    for (expression, expected) in [
        (doc! { "$abs": { "$eq": [{}, "missing"] } }, 28765),
        (doc! { "$abs": { "$eq": ["missing", "missing"] } }, 28765),
        (doc! { "$toDecimal": { "$ifNull": ["Ab", "$s"] } }, 241),
        (doc! { "$toDecimal": { "$ifNull": [null, "Ab"] } }, 241),
        (
            doc! { "$toDecimal": { "$ifNull": ["$$REMOVE", "Ab", "$s"] } },
            241,
        ),
        (doc! { "$toDecimal": { "$ifNull": [null, "$s", "Ab"] } }, 0),
        (doc! { "$toDecimal": { "$ifNull": ["$s", "Ab", "$q"] } }, 0),
        (doc! { "$toDecimal": { "$ifNull": [null, null] } }, 0),
        (doc! { "$setIsSubset": [{}, { "$split": ["a.b", "b"] }] }, 17046),
        (doc! { "$abs": { "$setEquals": [[], []] } }, 0),
        (doc! { "$setEquals": [[1], 5] }, 5_887_502),
    ] {
        let project = doc! { "$project": { "r": &expression } };
        assert_eq!(
            refused(db, "nothing", vec![project]).await,
            expected,
            "{expression}"
        );
    }
    insert(db, "c", numbered([1])).await;
    let missing = doc! { "$eq": [{ "$type": "$$REMOVE" }, "missing"] };
    let either = doc! { "$or": [{ "$allElementsTrue": ["$l"] }, missing] };
    let found = aggregate(db, "c", vec![doc! { "$project": { "r": either } }]).await;
    assert_eq!(found, [doc! { "_id": 1, "r": true }]);
}

async fn redact_reads_fields_of_each_level(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": [{}, { "n": 1 }], "n": 2 }]).await;
    let redact = doc! { "$redact": { "$cond": [{ "$getField": "n" }, "$$DESCEND", "$$PRUNE"] } };
    let found = aggregate(db, "c", vec![redact]).await;
    assert_eq!(found, [doc! { "_id": 1, "a": [{ "n": 1 }], "n": 2 }]);
}

async fn the_greatest_of_equal_values_keep_their_order(db: &Db) {
    let values = [
        bson!(2_i64),
        bson!(2),
        bson!(2.0),
        bson!(1),
        bson!(1_i64),
        bson!(3),
        bson!(2),
    ];
    let rows = values.iter().enumerate();
    let rows = rows.map(|(id, v)| doc! { "_id": id as i32, "v": v.clone() });
    insert(db, "c", rows.collect()).await;
    let by_id = doc! { "$sort": { "_id": 1 } };
    for (n, expected) in [
        (1, bson!([3])),
        (2, bson!([3, 2])),
        (3, bson!([3, 2.0, 2])),
        (5, bson!([3, 2, 2.0, 2, 2_i64])),
    ] {
        let group = doc! { "$group": { "_id": null, "r": { "$maxN": { "input": "$v", "n": n } } } };
        let found = aggregate(db, "c", vec![by_id.clone(), group]).await;
        assert_eq!(found[0].get("r"), Some(&expected), "{n}");
        let project = doc! { "$project": { "r": { "$maxN": { "input": values.to_vec(), "n": n } } } };
        let found = aggregate(db, "c", vec![project]).await;
        assert_eq!(found[0].get("r"), Some(&expected), "{n} of an array");
    }
    let window = async |n: i32, documents: Bson| {
        let output =
            doc! { "r": { "$maxN": { "input": "$v", "n": n }, "window": { "documents": documents } } };
        let windows = doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": output } };
        let found = aggregate(db, "c", vec![windows, by_id.clone()]).await;
        let found: Vec<Bson> = found.iter().map(|row| row.get("r").unwrap().clone()).collect();
        found
    };
    // One that only grows keeps the first of equal values, one that documents leave the last.
    let growing = window(2, bson!(["unbounded", "current"])).await;
    let two = || bson!([2, 2_i64]);
    assert_eq!(
        growing,
        [
            bson!([2_i64]),
            two(),
            two(),
            two(),
            two(),
            bson!([3, 2]),
            bson!([3, 2])
        ]
    );
    let sliding = window(2, bson!([-2, 0])).await;
    assert_eq!(
        sliding,
        [
            bson!([2_i64]),
            two(),
            bson!([2.0, 2]),
            bson!([2.0, 2]),
            bson!([2.0, 1_i64]),
            bson!([3, 1_i64]),
            bson!([3, 2]),
        ]
    );
}

async fn nothing_is_found_in_nothing(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "s": "", "q": "ab" }]).await;
    for (expression, expected) in [
        (doc! { "$indexOfCP": ["$s", "$s"] }, 0),
        (doc! { "$indexOfCP": ["$s", "$s", 1] }, -1),
        (doc! { "$indexOfCP": ["$q", "$s"] }, 0),
        (doc! { "$indexOfCP": ["$q", "$s", 1] }, 1),
        (doc! { "$indexOfCP": ["$q", "$s", 2] }, -1),
        (doc! { "$indexOfBytes": ["$s", "$s"] }, 0),
        (doc! { "$indexOfBytes": ["$q", "$s", 2] }, 2),
    ] {
        let found = aggregate(db, "c", vec![doc! { "$project": { "r": &expression } }]).await;
        assert_eq!(found[0].get_i32("r").unwrap(), expected, "{expression}");
    }
}

async fn views_refuse_searches_and_nearness_by_their_own_codes(db: &Db) {
    let indexes = vec![
        doc! { "key": { "t": "text" }, "name": "t" },
        doc! { "key": { "g": "2dsphere" }, "name": "g" },
    ];
    run(db, doc! { "createIndexes": "c", "indexes": indexes }).await;
    insert(db, "c", vec![doc! { "_id": 1, "t": "run", "g": [1, 1] }]).await;
    run(db, doc! { "create": "plain", "viewOn": "c" }).await;
    run(
        db,
        doc! { "create": "staged", "viewOn": "c", "pipeline": [{ "$match": {} }] },
    )
    .await;
    run(
        db,
        doc! { "create": "empty", "viewOn": "nothing", "pipeline": [{ "$match": {} }] },
    )
    .await;
    let search = doc! { "$text": { "$search": "run" } };
    for (view, counted) in [("plain", 0), ("staged", 17313), ("empty", 17313)] {
        let count = doc! { "count": view, "query": &search };
        assert_eq!(code(db, count).await, counted, "{view}");
        let find = doc! { "find": view, "filter": &search };
        assert_eq!(code(db, find).await, 27, "{view}");
        let distinct = doc! { "distinct": view, "key": "t", "query": &search };
        assert_eq!(code(db, distinct).await, 27, "{view}");
    }
    let counted = run(db, doc! { "count": "plain", "query": &search }).await;
    assert_eq!(counted.get_i32("n").unwrap(), 1);
    let near = doc! { "g": { "$nearSphere": [1, 1] } };
    for (hint, expected) in [(bson!({ "$natural": 1 }), 2), (bson!({ "_id": 1 }), 5_626_500)] {
        let find = doc! { "find": "plain", "filter": &near, "hint": hint.clone() };
        assert_eq!(code(db, find).await, expected, "{hint}");
    }
}

async fn wildcard_indexes_hide_no_empty_arrays(db: &Db) {
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "$**": 1 }, "name": "all" }] },
    )
    .await;
    let rows = vec![
        doc! { "_id": 1, "b": [] },
        doc! { "_id": 2, "b": [1] },
        doc! { "_id": 3, "b": { "x": 1 } },
        doc! { "_id": 4, "b": { "x": null } },
        doc! { "_id": 5 },
    ];
    insert(db, "c", rows).await;
    for (filter, expected) in [
        (doc! { "b.x": { "$ne": null } }, vec![1, 2, 3]),
        (doc! { "b": { "$ne": null } }, vec![1, 2, 3, 4]),
        (doc! { "b.x": { "$exists": true } }, vec![3, 4]),
    ] {
        let find = doc! { "find": "c", "filter": &filter, "sort": { "_id": 1 } };
        assert_eq!(ids(&batch(&run(db, find).await)), expected, "{filter}");
    }

    // By the index of a view's collection, too.
    let index = doc! { "key": { "o.$**": 1 }, "name": "o" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    run(db, doc! { "create": "plain", "viewOn": "c" }).await;
    for (filter, expected) in [
        (doc! { "o": {} }, 0),
        (doc! { "$and": [{ "o": {} }] }, 0),
        (doc! { "o.a": { "$gt": 1 } }, 0),
        (doc! { "o": [] }, 0),
        (doc! { "o.a": null }, 291),
        (doc! { "o": { "a": 1 } }, 291),
        (doc! { "_id": 1 }, 291),
    ] {
        for name in ["c", "plain"] {
            let find = doc! { "find": name, "filter": &filter, "hint": { "o.$**": 1 } };
            assert_eq!(code(db, find).await, expected, "{name} {filter}");
        }
    }
}

async fn hinted_wildcard_indexes_compare_strings_as_they_have_them(db: &Db) {
    run(db, doc! { "create": "en", "collation": { "locale": "en" } }).await;
    for name in ["plain", "en"] {
        let index = doc! { "key": { "o.$**": 1 }, "name": "o" };
        run(db, doc! { "createIndexes": name, "indexes": [index] }).await;
    }
    for (filter, has_text) in [
        (doc! { "o": { "$gt": "" } }, true),
        (doc! { "o.a": "x" }, true),
        (doc! { "o": { "$in": ["x"] } }, true),
        (doc! { "o": { "$elemMatch": { "$gt": "" } } }, true),
        (doc! { "o.a": { "$elemMatch": { "b": "x" } } }, true),
        (doc! { "o.0": "x" }, true),
        (doc! { "$or": [{ "o": "x" }, { "o": 1 }] }, true),
        (doc! { "o": { "$regex": "x" } }, false),
        (doc! { "o": 1 }, false),
        (doc! { "o": { "$gte": "x", "$type": "string" } }, false),
    ] {
        for (name, locale, same) in [
            ("plain", None, true),
            ("plain", Some("en"), false),
            ("plain", Some("simple"), true),
            ("en", None, true),
            ("en", Some("en"), true),
            ("en", Some("simple"), false),
            ("en", Some("fr"), false),
        ] {
            let mut find = doc! { "find": name, "filter": &filter, "hint": { "o.$**": 1 } };
            if let Some(locale) = locale {
                find.insert("collation", doc! { "locale": locale });
            }
            let expected = if same || !has_text { 0 } else { 291 };
            assert_eq!(code(db, find).await, expected, "{name} {locale:?} {filter}");
        }
    }
}

async fn indexes_are_listed_with_their_fields_in_order(db: &Db) {
    run(db, doc! { "create": "c", "collation": { "locale": "en" } }).await;
    let spec = doc! {
        "partialFilterExpression": { "b": 1 }, "wildcardProjection": { "b": 1 }, "key": { "$**": 1 }, "name": "x",
        "hidden": true,
    };
    run(db, doc! { "createIndexes": "c", "indexes": [spec] }).await;
    let listed = batch(&run(db, doc! { "listIndexes": "c" }).await);
    let names: Vec<&str> = listed[1].keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "v",
            "key",
            "name",
            "hidden",
            "partialFilterExpression",
            "collation",
            "wildcardProjection"
        ]
    );
}

async fn negated_words_count_among_those_left_out(db: &Db) {
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "t": "text" }, "name": "t" }] },
    )
    .await;
    insert(db, "c", vec![doc! { "_id": 1, "t": "dog running The cat" }]).await;
    for (search, language, expected) in [
        ("run cats dog -The", "none", 0),
        ("run cats dog -The", "english", 1),
        ("run cats dog -cat", "english", 0),
    ] {
        let text = doc! { "$text": { "$search": search, "$language": language } };
        let found = batch(&run(db, doc! { "find": "c", "filter": text }).await);
        assert_eq!(found.len(), expected, "{search} {language}");
    }
}

async fn groups_that_later_stages_alone_can_run_fail_late(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "e": [] }, doc! { "_id": 2, "b": "a b" }],
    )
    .await;
    let group = doc! { "$group": { "_id": "$a.x", "v": { "$first": { "$multiply": ["$b"] } } } };
    let by_pipeline = doc! { "$lookup": { "from": "other", "as": "a", "pipeline": [] } };
    let found = aggregate(db, "c", vec![by_pipeline, group]).await;
    assert_eq!(found, [doc! { "_id": [], "v": null }]);

    // A sum of what is missing and an array is null in a group that runs early, and a fault in another.
    for (other, expected) in [
        (doc! { "$sum": { "$abs": "$n" } }, 0),
        (doc! { "$sum": { "$indexOfCP": ["a", "a"] } }, 0),
        (doc! { "$sum": { "$hour": null } }, 16554),
        (doc! { "$push": { "x": { "$toString": "$n" } } }, 16554),
        (doc! { "$firstN": { "input": "$n", "n": 1 } }, 16554),
    ] {
        let sum = doc! { "$max": { "$add": ["$e.x", "$n"] } };
        let group = doc! { "$group": { "_id": null, "v": sum, "w": &other } };
        assert_eq!(refused(db, "c", vec![group]).await, expected, "{other}");
    }
}

async fn nothing_is_near_in_a_stage_where_nothing_matches(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "g": [1, 1] }]).await;
    let near = |query: Document| {
        let point = doc! { "type": "Point", "coordinates": [1, 1] };
        doc! { "$geoNear": { "near": point, "distanceField": "d", "key": "g", "query": query } }
    };
    assert_eq!(refused(db, "c", vec![near(doc! {})]).await, 291);
    assert_eq!(refused(db, "c", vec![near(doc! { "$alwaysFalse": 1 })]).await, 0);
}

/// By an index that leaves the document out it is inserted, and its `_id` is taken: a server then tries again.
async fn upserts_that_a_hint_hides_end(db: &Db) {
    let index = doc! { "key": { "c": 1 }, "name": "c", "sparse": true };
    run(db, doc! { "createIndexes": "t", "indexes": [index] }).await;
    insert(db, "t", numbered([1])).await;
    let upsert = doc! { "q": { "_id": 1 }, "u": { "$set": { "x": 1 } }, "upsert": true, "hint": { "c": 1 } };
    let update = doc! { "update": "t", "updates": [upsert], "maxTimeMS": 300 };
    let found = code(db, update).await;
    assert!([11000, 50].contains(&found), "{found}");
    assert_eq!(all(db, "t").await, [doc! { "_id": 1 }]);
}
