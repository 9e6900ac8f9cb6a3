//! Bounds of indexes over arrays: which conditions one key has to satisfy, and which may be satisfied by several.

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{batch, figure, ids, index, insert, run};

crate::on_every_backend! {
    what_one_element_satisfies_bounds_together,
    arrays_inside_of_elements_part_the_bounds,
    fields_beside_an_array_keep_their_bounds,
    nested_arrays_are_told_apart,
    comparisons_with_arrays_are_bounded,
    the_paths_of_arrays_are_shown,
    what_is_in_the_bounds_is_what_matches,
    elements_without_the_fields_have_no_key_in_a_sparse_index,
}

fn scan(stage: &Document) -> Option<&Document> {
    if stage.contains_key("indexBounds") {
        return Some(stage);
    }
    scan(stage.get_document("inputStage").ok()?)
}

/// What the scan of an index shows of itself, and how many keys it looks at.
async fn shown(db: &Db, filter: Document, hint: &str) -> (Document, i64) {
    let find = doc! { "find": "c", "filter": filter, "hint": hint };
    let reply = run(db, doc! { "explain": find, "verbosity": "executionStats" }).await;
    let winning = reply
        .get_document("queryPlanner")
        .unwrap()
        .get_document("winningPlan")
        .unwrap();
    let winning = winning.get_document("queryPlan").unwrap_or(winning);
    let figures = reply.get_document("executionStats").unwrap();
    (
        scan(winning).expect("a scan").clone(),
        figure(figures, "totalKeysExamined"),
    )
}

/// The bounds of each field, as text.
async fn bounds(db: &Db, filter: Document, hint: &str) -> Vec<String> {
    let (scan, _) = shown(db, filter, hint).await;
    let bounds = scan.get_document("indexBounds").unwrap();
    bounds
        .values()
        .map(|intervals| {
            let intervals = intervals.as_array().unwrap().iter();
            intervals
                .map(|interval| interval.as_str().unwrap())
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

const ALL: &str = "[MinKey, MaxKey]";

/// Elements without arrays in them.
async fn orders(db: &Db) {
    let all = (0..500).map(|id| {
        doc! {
            "_id": id, "k": id % 4,
            "o": [{ "x": id % 13, "y": id % 3 }, { "x": id % 17, "y": id % 5 }],
        }
    });
    insert(db, "c", all.collect()).await;
}

async fn what_one_element_satisfies_bounds_together(db: &Db) {
    orders(db).await;
    let x = index(db, "c", doc! { "o.x": 1 }).await;
    let xy = index(db, "c", doc! { "o.x": 1, "o.y": 1 }).await;
    let kx = index(db, "c", doc! { "k": 1, "o.x": -1 }).await;
    let some = doc! { "$gte": 2, "$lt": 4 };
    let one = |condition: Document| doc! { "o": { "$elemMatch": condition } };
    assert_eq!(bounds(db, one(doc! { "x": some.clone() }), &x).await, ["[2, 4)"]);
    let (_, keys) = shown(db, one(doc! { "x": some.clone() }), &x).await;
    assert!((131..=133).contains(&keys), "{keys}");
    let both = one(doc! { "x": some.clone(), "y": 2 });
    assert_eq!(bounds(db, both.clone(), &xy).await, ["[2, 4)", "[2, 2]"]);
    let (_, keys) = shown(db, both, &xy).await;
    assert!(keys < 100, "{keys}");
    let not = one(doc! { "x": { "$gt": 1, "$not": { "$gte": 3 } } });
    assert_eq!(bounds(db, not, &x).await, ["(1, 3)"]);
    let beside = with(doc! { "k": 1 }, one(doc! { "x": some.clone() }));
    assert_eq!(bounds(db, beside, &kx).await, ["[1, 1]", "(4, 2]"]);
    // Elsewhere each may be satisfied by another element.
    let apart = bounds(db, doc! { "o.x": some }, &x).await;
    assert!(
        ["[2, inf.0]", "[-inf.0, 4)"].contains(&apart[0].as_str()),
        "{apart:?}"
    );
    let apart = bounds(db, doc! { "o.x": 3, "o.y": 2 }, &xy).await;
    assert_eq!(apart, ["[3, 3]", ALL]);
    let apart = doc! { "$and": [one(doc! { "x": { "$gte": 2 } }), one(doc! { "x": { "$lt": 4 } })] };
    assert_ne!(bounds(db, apart, &x).await, ["[2, 4)"]);
}

fn with(mut filter: Document, more: Document) -> Document {
    filter.extend(more);
    filter
}

async fn arrays_inside_of_elements_part_the_bounds(db: &Db) {
    orders(db).await;
    let x = index(db, "c", doc! { "o.x": 1 }).await;
    let filter = doc! { "o": { "$elemMatch": { "x": { "$gte": 20, "$lt": 30 } } } };
    assert_eq!(bounds(db, filter.clone(), &x).await, ["[20, 30)"]);
    insert(db, "c", vec![doc! { "_id": 1000, "o": [{ "x": [10, 40] }] }]).await;
    let apart = bounds(db, filter.clone(), &x).await;
    assert!(
        ["[20, inf.0]", "[-inf.0, 30)"].contains(&apart[0].as_str()),
        "{apart:?}"
    );
    let found = run(db, doc! { "find": "c", "filter": filter, "hint": x }).await;
    assert_eq!(ids(&batch(&found)), [1000]);
}

async fn fields_beside_an_array_keep_their_bounds(db: &Db) {
    let all = (0..200)
        .map(|id| doc! { "_id": id, "p": { "a": [id % 7, id % 5], "b": id % 3, "c": { "d": id % 4 } } });
    insert(db, "c", all.collect()).await;
    let ab = index(db, "c", doc! { "p.a": 1, "p.b": 1 }).await;
    let filter = doc! { "p.a": 3, "p.b": { "$gte": 1, "$lt": 2 } };
    assert_eq!(bounds(db, filter.clone(), &ab).await, ["[3, 3]", "[1, 2)"]);
    let found = run(
        db,
        doc! { "find": "c", "filter": filter.clone(), "hint": &ab, "sort": { "_id": 1 }, "batchSize": 500 },
    )
    .await;
    let expected = (0..200).filter(|id| (id % 7 == 3 || id % 5 == 3) && id % 3 == 1);
    assert_eq!(ids(&batch(&found)), expected.collect::<Vec<i32>>());
    // Until the document around both is an array itself.
    insert(db, "c", vec![doc! { "_id": 1000, "p": [{ "a": 3 }, { "b": 1 }] }]).await;
    assert_eq!(bounds(db, filter.clone(), &ab).await, ["[3, 3]", ALL]);
    let found = run(
        db,
        doc! { "find": "c", "filter": filter, "hint": ab, "sort": { "_id": -1 }, "limit": 1 },
    )
    .await;
    assert_eq!(ids(&batch(&found)), [1000]);
}

async fn nested_arrays_are_told_apart(db: &Db) {
    let all = (0..100)
        .map(|id| doc! { "_id": id, "a": [{ "b": [{ "x": id, "y": id % 3 }, { "x": id + 50, "y": 5 }] }] });
    insert(db, "c", all.collect()).await;
    let xy = index(db, "c", doc! { "a.b.x": 1, "a.b.y": 1 }).await;
    let range = doc! { "$gte": 60, "$lt": 62 };
    let inner = doc! { "a.b": { "$elemMatch": { "x": range.clone(), "y": 5 } } };
    assert_eq!(bounds(db, inner.clone(), &xy).await, ["[60, 62)", "[5, 5]"]);
    let found = run(db, doc! { "find": "c", "filter": inner, "hint": &xy }).await;
    assert_eq!(ids(&batch(&found)), [10, 11]);
    // One element of the outer array has several of the inner.
    let outer = doc! { "a": { "$elemMatch": { "b.x": range, "b.y": 5 } } };
    let apart = bounds(db, outer.clone(), &xy).await;
    assert_eq!(apart[1], ALL);
    assert!(
        ["[60, inf.0]", "[-inf.0, 62)"].contains(&apart[0].as_str()),
        "{apart:?}"
    );
    let found = run(
        db,
        doc! { "find": "c", "filter": outer, "hint": xy, "sort": { "_id": 1 }, "batchSize": 100 },
    )
    .await;
    assert_eq!(ids(&batch(&found)), (10..62).collect::<Vec<i32>>());
}

/// They read the index, and so find documents in its order; of an update the first one is what counts.
async fn comparisons_with_arrays_are_bounded(db: &Db) {
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 1, "l": [{}] },
            doc! { "_id": 2, "l": ["a"] },
            doc! { "_id": 3, "l": [5, 1] },
            doc! { "_id": 4, "l": [] },
            doc! { "_id": 5, "l": 7 },
            doc! { "_id": 6, "l": [2, [9]] },
        ],
    )
    .await;
    index(db, "c", doc! { "l": 1 }).await;
    let array = |items: Vec<Bson>| Bson::Array(items);
    for (operator, operand, expected) in [
        ("$gt", array(vec![]), vec![3, 6, 2, 1]),
        ("$gte", array(vec![]), vec![4, 3, 6, 2, 1]),
        ("$gt", array(vec![3.into()]), vec![3, 2, 1, 6]),
        ("$gte", array(vec!["a".into()]), vec![2, 1]),
        ("$lt", array(vec![3.into()]), vec![4, 6]),
        ("$lte", array(vec![5.into(), 1.into()]), vec![4, 3, 6]),
        ("$lt", array(vec![]), vec![]),
    ] {
        let filter = doc! { "l": { operator: operand.clone() } };
        let found = run(db, doc! { "find": "c", "filter": filter.clone() }).await;
        assert_eq!(ids(&batch(&found)), expected, "{filter}");
        let reply = run(db, doc! { "explain": { "find": "c", "filter": filter.clone() } }).await;
        let planner = reply.get_document("queryPlanner").unwrap();
        assert!(
            scan(planner.get_document("winningPlan").unwrap()).is_some(),
            "{filter}"
        );
    }
}

async fn the_paths_of_arrays_are_shown(db: &Db) {
    orders(db).await;
    let xy = index(db, "c", doc! { "o.x": 1, "k": 1 }).await;
    let deep = index(db, "c", doc! { "a.b.c": 1 }).await;
    let paths = async |hint: &str| {
        let (scan, _) = shown(db, doc! {}, hint).await;
        let is_multikey = scan.get_bool("isMultiKey").unwrap();
        (is_multikey, scan.get_document("multiKeyPaths").unwrap().clone())
    };
    assert_eq!(paths(&xy).await, (true, doc! { "o.x": ["o"], "k": [] }));
    assert_eq!(paths(&deep).await, (false, doc! { "a.b.c": [] }));
    insert(db, "c", vec![doc! { "_id": 1000, "a": { "b": { "c": [1] } } }]).await;
    assert_eq!(paths(&deep).await, (true, doc! { "a.b.c": ["a.b.c"] }));
    insert(
        db,
        "c",
        vec![doc! { "_id": 1001, "a": [{ "b": { "c": 1 } }], "o": { "x": [] } }],
    )
    .await;
    assert_eq!(paths(&deep).await, (true, doc! { "a.b.c": ["a", "a.b.c"] }));
    assert_eq!(paths(&xy).await, (true, doc! { "o.x": ["o", "o.x"], "k": [] }));
    // They stay when the documents go.
    run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
    assert_eq!(paths(&deep).await, (true, doc! { "a.b.c": ["a", "a.b.c"] }));
    // An index that is built later finds them.
    insert(db, "c", vec![doc! { "_id": 1, "a": [{ "b": [1] }] }]).await;
    let later = index(db, "c", doc! { "a.b": 1 }).await;
    assert_eq!(paths(&later).await, (true, doc! { "a.b": ["a", "a.b"] }));
}

async fn what_is_in_the_bounds_is_what_matches(db: &Db) {
    let item = |x: i32| match x % 6 {
        0 => doc! { "x": x % 5 },
        1 => doc! { "x": x % 7, "y": x % 3 },
        2 => doc! { "y": x % 4 },
        3 => doc! { "x": Bson::Null, "y": 1 },
        4 => doc! { "x": { "y": x % 3 } },
        _ => doc! {},
    };
    let all = (0..240).map(|id| {
        let o: Bson = match id % 5 {
            0 => Bson::Array(vec![]),
            1 => Bson::Document(item(id / 5)),
            2 => Bson::Array(vec![Bson::Int32(id % 3), Bson::Document(item(id / 3))]),
            3 => Bson::Array(vec![Bson::Document(item(id)), Bson::Document(item(id / 2))]),
            _ => Bson::Array(vec![
                Bson::Array(vec![Bson::Document(item(id))]),
                Bson::Document(item(id / 4)),
            ]),
        };
        doc! { "_id": id, "o": o }
    });
    insert(db, "c", all.collect()).await;
    let names = [
        index(db, "c", doc! { "o.x": 1 }).await,
        index(db, "c", doc! { "o.x": 1, "o.y": -1 }).await,
        index(db, "c", doc! { "o.y": 1, "o.x.y": 1 }).await,
    ];
    let conditions = [
        doc! { "x": { "$gte": 1, "$lt": 4 } },
        doc! { "x": { "$gte": 1, "$not": { "$gt": 2 } }, "y": { "$lt": 2 } },
        doc! { "x": Bson::Null, "y": { "$gte": 0 } },
        doc! { "x": { "$ne": 3, "$lte": 4 } },
        doc! { "x": { "$exists": false }, "y": { "$in": [1, 2] } },
        doc! { "x.y": { "$gte": 1, "$lte": 1 } },
        doc! { "y": { "$gt": 0, "$lt": 3, "$ne": 1 }, "x.y": { "$exists": false } },
        doc! { "x": { "$nin": [1, 2], "$gte": 0 } },
    ];
    for condition in conditions {
        for filter in [
            doc! { "o": { "$elemMatch": condition.clone() } },
            doc! { "o": { "$not": { "$elemMatch": condition.clone() } } },
            condition
                .iter()
                .map(|(name, value)| (format!("o.{name}"), value.clone()))
                .collect(),
        ] {
            let found = async |hint: Bson| {
                let find = doc! { "find": "c", "filter": filter.clone(), "hint": hint, "sort": { "_id": 1 }, "batchSize": 1000 };
                ids(&batch(&run(db, find).await))
            };
            let all = found(Bson::Document(doc! { "$natural": 1 })).await;
            for name in &names {
                assert_eq!(found(Bson::String(name.clone())).await, all, "{filter} by {name}");
            }
        }
    }
}

async fn elements_without_the_fields_have_no_key_in_a_sparse_index(db: &Db) {
    let o = |id: i32, elements: Vec<Document>| doc! { "_id": id, "o": elements };
    let all = vec![
        o(1, vec![doc! { "x": 3, "y": 5 }, doc! {}]),
        o(2, vec![doc! { "x": 3, "y": 5 }]),
        o(3, vec![doc! { "x": Bson::Null, "y": 1 }, doc! { "x": 3 }]),
        o(4, vec![doc! { "y": 5 }, doc! { "z": 1 }]),
    ];
    insert(db, "c", all).await;
    let sparse = async |key: Document, name: &str| {
        let index = doc! { "key": key, "name": name, "sparse": true };
        run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    };
    sparse(doc! { "o.x": 1 }, "x").await;
    sparse(doc! { "o.x": 1, "o.y": 1 }, "xy").await;
    let none = Bson::Null;
    for (filter, expected) in [
        (doc! { "o.x": { "$eq": none.clone(), "$gte": 0 } }, vec![1, 3]),
        (
            doc! { "o.x": { "$in": [none.clone(), 9], "$exists": true } },
            vec![1, 3],
        ),
        (
            doc! { "o": { "$elemMatch": { "x": none.clone() } }, "o.x": 3 },
            vec![1, 3],
        ),
        (doc! { "o.x": none.clone(), "o.y": 5 }, vec![1, 4]),
        (doc! { "o.x": { "$in": [none.clone(), 7] }, "o.y": 5 }, vec![1, 4]),
        (
            doc! { "o.x": { "$ne": 7 }, "o.y": { "$ne": none.clone() } },
            vec![2],
        ),
    ] {
        let natural = Bson::Document(doc! { "$natural": 1 });
        for hint in [natural, "xy".into()] {
            let find =
                doc! { "find": "c", "filter": filter.clone(), "hint": hint.clone(), "sort": { "_id": 1 } };
            assert_eq!(ids(&batch(&run(db, find).await)), expected, "{filter} by {hint}");
        }
        let find = doc! { "find": "c", "filter": filter.clone(), "sort": { "_id": 1 } };
        assert_eq!(ids(&batch(&run(db, find).await)), expected, "{filter}");
    }
    // By a hint it is all that the index has.
    let find = doc! { "find": "c", "filter": { "o.x": none }, "hint": "x", "sort": { "_id": 1 } };
    assert_eq!(ids(&batch(&run(db, find).await)), [1, 3]);
}
