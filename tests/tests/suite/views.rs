//! Views.

use bson::{Bson, Document, doc};
use odm::Db;

use super::collections_kinds::{all_ids, options_of};
use odm_tests::command::{batch, code as refusal, run};
use odm_tests::raw::RawCollection;

crate::on_every_backend! {
    a_view_is_read_like_a_collection,
    what_is_not_wanted_of_a_view_is_not_computed,
    views_do_not_stand_on_themselves,
    views_stand_so_high_and_no_higher,
    views_are_joined_by_their_own_collation_alone,
    the_figures_that_a_view_begins_with_are_of_what_it_is_on,
    a_circle_of_views_is_told_before_how_they_compare,
    where_nearness_stands_is_told_when_a_view_is_read,
    a_taken_name_is_told_before_what_a_view_would_stand_on,
    an_order_that_cannot_be_followed_is_told_before_that_a_view_is_not_followed,
    no_view_is_asked_for_what_is_near_not_even_in_vain,
    what_is_wrong_with_a_find_of_a_view_is_told_in_an_order,
    filters_of_views_that_compute_nothing_are_told,
}

async fn a_view_is_read_like_a_collection(db: &Db) {
    let loans = db.raw_collection("loans");
    loans
        .insert_many((0..8).map(|n| doc! { "_id": n, "a": n % 2, "b": n * 10 }))
        .await
        .unwrap();
    db.create_collection("odd")
        .view_on("loans", [doc! { "$match": { "a": 1 } }])
        .await
        .unwrap();
    db.create_collection("shown")
        .view_on(
            "odd",
            [doc! { "$project": { "b": 1, "c": { "$add": ["$b", 1] } } }],
        )
        .await
        .unwrap();
    let (kind, options) = options_of(db, "odd").await;
    assert_eq!(kind, "view");
    assert_eq!(
        options,
        doc! { "viewOn": "loans", "pipeline": [{ "$match": { "a": 1 } }] }
    );
    let (odd, shown) = (db.raw_collection("odd"), db.raw_collection("shown"));
    assert_eq!(all_ids(&odd).await, [1, 3, 5, 7]);
    assert_eq!(
        odd.find(doc! { "_id": { "$gt": 1 } })
            .sort_raw(doc! { "_id": -1 })
            .skip(1)
            .limit(1)
            .await
            .unwrap(),
        [doc! { "_id": 5, "a": 1, "b": 50 }]
    );
    assert_eq!(
        shown
            .find(doc! { "c": { "$gt": 31 } })
            .sort_raw(doc! { "c": -1 })
            .project_raw(doc! { "_id": 0 })
            .await
            .unwrap(),
        [doc! { "b": 70, "c": 71 }, doc! { "b": 50, "c": 51 }]
    );
    assert_eq!(shown.count(doc! { "c": { "$lt": 40 } }).await.unwrap(), 2);
    let mut values = RawCollection::new(db, "shown")
        .distinct("c", &doc! {})
        .await
        .unwrap();
    values.sort_by_key(|value| value.as_i32());
    assert_eq!(values, [11, 31, 51, 71].map(Bson::from));
    let sums = shown
        .aggregate_raw([doc! { "$group": { "_id": 1, "n": { "$sum": "$c" } } }])
        .await
        .unwrap();
    assert_eq!(sums, [doc! { "_id": 1, "n": 164 }]);
    let joined = loans
        .aggregate_raw([
            doc! { "$match": { "_id": 3 } },
            doc! { "$lookup": { "from": "shown", "localField": "_id", "foreignField": "_id", "as": "s" } },
            doc! { "$project": { "s.c": 1 } },
        ])
        .await
        .unwrap();
    assert_eq!(joined, [doc! { "_id": 3, "s": [{ "c": 31 }] }]);

    for refused in [
        odd.insert(doc! { "_id": 50 }).await.map(|_| ()),
        odd.update_one(doc! {}, doc! { "$set": { "x": 1 } })
            .await
            .map(|_| ()),
        odd.delete(Bson::from(1)).await.map(|_| ()),
        odd.find_one_and_update(doc! {}, doc! { "$set": { "x": 1 } })
            .await
            .map(|_| ()),
        RawCollection::new(db, "odd")
            .create_index(&doc! { "key": { "a": 1 }, "name": "a_1" })
            .await,
        odd.list_indexes().await.map(|_| ()),
        odd.rename("even").await,
        odd.stats().await.map(|_| ()),
        loans.aggregate_raw([doc! { "$out": "odd" }]).await.map(|_| ()),
        loans.aggregate_raw([doc! { "$merge": "odd" }]).await.map(|_| ()),
    ] {
        assert_eq!(refused.unwrap_err().code(), Some(166));
    }
    let error = db
        .create_collection("odd")
        .view_on("loans", [])
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(48));
    odd.modify()
        .view_on("loans", [doc! { "$match": { "a": 0 } }])
        .await
        .unwrap();
    assert_eq!(all_ids(&odd).await, [0, 2, 4, 6]);
    let error = odd.modify().view_on("shown", []).await.unwrap_err();
    assert_eq!(error.code(), Some(5));
    let error = loans.modify().view_on("odd", []).await.unwrap_err();
    assert_eq!(error.code(), Some(72));
    let error = odd.modify().validator(doc! {}).await.unwrap_err();
    assert_eq!(error.code(), Some(72));
    shown.drop().await.unwrap();
    odd.drop().await.unwrap();
    assert_eq!(loans.estimated_count().await.unwrap(), 8);
}

/// The code of a command that fails.
/// Orders, bounds and filters of a find or a count go into the stages of the view.
async fn what_is_not_wanted_of_a_view_is_not_computed(db: &Db) {
    let loans = db.raw_collection("loans");
    let all = (0..200).map(|n| doc! { "_id": n, "a": n % 2, "left": n - 100 });
    loans.insert_many(all).await.unwrap();
    // Of the loan 100 it cannot be computed.
    let share = doc! { "$set": { "share": { "$divide": [1, "$left"] } } };
    db.create_collection("shares")
        .view_on("loans", [share])
        .await
        .unwrap();
    let shares = db.raw_collection("shares");
    let ids = async |find: Document| -> Option<Vec<i32>> {
        let reply = db.run_command(find).await.ok()?;
        let found = reply
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap();
        let ids = found
            .iter()
            .map(|row| row.as_document().unwrap().get_i32("_id").unwrap());
        Some(ids.collect())
    };
    for (find, expected) in [
        (doc! { "limit": 2 }, Some(vec![0, 1])),
        (doc! { "skip": 98, "limit": 2 }, Some(vec![98, 99])),
        (doc! { "skip": 101, "limit": 1 }, Some(vec![101])),
        (doc! { "skip": 100, "limit": 1 }, None),
        // As on the server, which brings in order what is computed.
        (doc! { "sort": { "_id": -1 }, "limit": 2 }, None),
        (doc! { "sort": { "share": 1 }, "limit": 1 }, None),
        (
            doc! { "filter": { "_id": { "$lt": 100 } }, "sort": { "share": -1, "_id": 1 }, "limit": 2 },
            Some(vec![0, 1]),
        ),
    ] {
        let mut command = doc! { "find": "shares" };
        command.extend(find);
        assert_eq!(ids(command.clone()).await, expected, "{command}");
    }
    let count = doc! { "count": "shares", "skip": 101, "limit": 5 };
    assert_eq!(db.run_command(count).await.unwrap().get_i32("n").unwrap(), 5);
    // Of equal ones the order is that of the view's stages no more.
    db.create_collection("sorted")
        .view_on("loans", [doc! { "$sort": { "left": -1 } }, doc! { "$limit": 6 }])
        .await
        .unwrap();
    let sorted = db.raw_collection("sorted");
    let found = sorted
        .find(doc! {})
        .sort_raw(doc! { "a": 1, "_id": 1 })
        .limit(2)
        .await
        .unwrap();
    assert_eq!(
        found,
        [
            doc! { "_id": 194, "a": 0, "left": 94 },
            doc! { "_id": 196, "a": 0, "left": 96 }
        ]
    );
    assert_eq!(
        shares
            .find(doc! { "_id": { "$gt": 197 } })
            .sort_raw(doc! { "_id": 1 })
            .await
            .unwrap()
            .len(),
        2
    );
}

async fn code(db: &Db, command: Document) -> Option<i32> {
    db.run_command(command).await.err().and_then(|error| error.code())
}

/// Neither by what they are on nor by a collection that a stage of theirs reads, however deep.
async fn views_do_not_stand_on_themselves(db: &Db) {
    let view =
        |name: &str, pipeline: Vec<Document>| doc! { "create": name, "viewOn": "base", "pipeline": pipeline };
    let look =
        |from: &str| doc! { "$lookup": { "from": from, "localField": "a", "foreignField": "a", "as": "x" } };
    db.run_command(doc! { "create": "base" }).await.unwrap();
    // What is not there yet can be read.
    db.run_command(view("v", vec![look("w")])).await.unwrap();
    for stage in [
        doc! { "$unionWith": "v" },
        doc! { "$unionWith": { "coll": "v", "pipeline": [] } },
        doc! { "$facet": { "z": [{ "$unionWith": "v" }] } },
        doc! { "$lookup": { "from": "base", "as": "x", "pipeline": [{ "$unionWith": "v" }] } },
        doc! { "$graphLookup": {
            "from": "v", "startWith": "$a", "connectFromField": "a", "connectToField": "a", "as": "x",
        } },
        doc! { "$unionWith": "w" },
    ] {
        assert_eq!(code(db, view("w", vec![stage.clone()])).await, Some(5), "{stage}");
    }
    let on_itself = doc! { "create": "w", "viewOn": "v", "pipeline": [] };
    assert_eq!(code(db, on_itself).await, Some(5));
    db.run_command(view("w", vec![look("base")])).await.unwrap();
    let change = doc! { "collMod": "w", "viewOn": "base", "pipeline": [look("v")] };
    assert_eq!(code(db, change).await, Some(5));
    assert_eq!(db.raw_collection("v").count(doc! {}).await.unwrap(), 0);
    // Other things that no view can be.
    for (pipeline, expected) in [
        (vec![Bson::Document(doc! { "$documents": [] })], Some(73)),
        (
            vec![Bson::Null, Bson::Document(doc! { "$match": {} }), Bson::Null],
            None,
        ),
        (vec![Bson::Int32(1)], Some(14)),
    ] {
        let create = doc! { "create": "other", "viewOn": "base", "pipeline": &pipeline };
        assert_eq!(code(db, create).await, expected, "{pipeline:?}");
    }
    for on in [".x", "a$b"] {
        let change = doc! { "collMod": "w", "viewOn": on, "pipeline": [] };
        assert_eq!(code(db, change).await, Some(73), "{on}");
    }
}

async fn views_stand_so_high_and_no_higher(db: &Db) {
    db.run_command(doc! { "create": "v0" }).await.unwrap();
    db.raw_collection("v0").insert(doc! { "_id": 1 }).await.unwrap();
    let create = |n: i32| doc! { "create": format!("v{n}"), "viewOn": format!("v{}", n - 1), "pipeline": [] };
    for n in 1..=20 {
        db.run_command(create(n)).await.unwrap();
    }
    assert_eq!(db.raw_collection("v19").count(doc! {}).await.unwrap(), 1);
    // It can be made, and not be read.
    let unread = db.raw_collection("v20").find_all().await.unwrap_err();
    assert_eq!(unread.code(), Some(165));
    assert_eq!(code(db, create(21)).await, Some(165));
}

async fn views_are_joined_by_their_own_collation_alone(db: &Db) {
    let own = || doc! { "locale": "en", "strength": 1 };
    for create in [
        doc! { "create": "base" },
        doc! { "create": "collated", "collation": own() },
        doc! { "create": "of_base", "viewOn": "base", "pipeline": [] },
        doc! { "create": "of_collated", "viewOn": "collated", "pipeline": [], "collation": own() },
    ] {
        run(db, create).await;
    }
    // There is nothing to join: whether the view may be read does not depend on it.
    let join = |from: &str| {
        let joined = doc! { "from": from, "localField": "a", "foreignField": "a", "as": "x" };
        let stages = [
            doc! { "$lookup": joined },
            doc! { "$lookup": { "from": from, "pipeline": [], "as": "x" } },
            doc! { "$unionWith": from },
            doc! { "$graphLookup": {
                "from": from, "startWith": "$a", "connectFromField": "a", "connectToField": "a", "as": "x",
            } },
        ];
        let facets = stages
            .iter()
            .map(|stage| doc! { "$facet": { "z": [stage.clone()] } });
        let within = stages
            .iter()
            .map(|stage| doc! { "$lookup": { "from": "base", "pipeline": [stage.clone()], "as": "y" } });
        facets.chain(within).chain(stages.clone()).collect::<Vec<_>>()
    };
    let over =
        |name: &str, stage: &Document| doc! { "aggregate": name, "pipeline": [stage.clone()], "cursor": {} };
    for stage in join("of_collated") {
        for name in ["base", "of_base", "none"] {
            assert_eq!(refusal(db, over(name, &stage)).await, 167, "{name}: {stage}");
        }
        for name in ["collated", "of_collated"] {
            assert_eq!(refusal(db, over(name, &stage)).await, 0, "{name}: {stage}");
        }
        let mut alike = over("base", &stage);
        alike.insert("collation", own());
        assert_eq!(refusal(db, alike.clone()).await, 0, "{alike}");
        alike.insert("collation", doc! { "locale": "en", "strength": 2 });
        assert_eq!(refusal(db, alike.clone()).await, 167, "{alike}");
    }
    for stage in join("of_base") {
        assert_eq!(refusal(db, over("base", &stage)).await, 0, "{stage}");
        assert_eq!(refusal(db, over("collated", &stage)).await, 167, "{stage}");
    }
    // Collections have no say in it.
    for stage in join("collated") {
        assert_eq!(refusal(db, over("base", &stage)).await, 0, "{stage}");
    }
}

async fn the_figures_that_a_view_begins_with_are_of_what_it_is_on(db: &Db) {
    run(db, doc! { "insert": "c", "documents": [{ "_id": 1 }] }).await;
    let view =
        |name: &str, on: &str, stage: Document| doc! { "create": name, "viewOn": on, "pipeline": [stage] };
    run(db, view("upper", "c", doc! { "$set": { "a": 1 } })).await;
    run(db, view("lower", "c", doc! { "$collStats": { "count": {} } })).await;
    run(
        db,
        view("counted", "upper", doc! { "$collStats": { "count": {} } }),
    )
    .await;
    run(db, view("named", "upper", doc! { "$collStats": {} })).await;
    let read = |name: &str| doc! { "aggregate": name, "pipeline": [], "cursor": {} };
    assert_eq!(refusal(db, read("counted")).await, 166);
    for (name, on) in [("named", "upper"), ("lower", "c")] {
        let found = batch(&run(db, read(name)).await);
        assert_eq!(found[0].get_str("ns").unwrap(), format!("{}.{on}", db.name()));
    }
}

async fn a_circle_of_views_is_told_before_how_they_compare(db: &Db) {
    let english = doc! { "locale": "en" };
    run(
        db,
        doc! { "create": "u", "viewOn": "c", "pipeline": [{ "$unionWith": "v" }], "collation": english },
    )
    .await;
    let create = |on: &str| doc! { "create": "v", "viewOn": on, "pipeline": [] };
    assert_eq!(refusal(db, create("v")).await, 5);
    assert_eq!(refusal(db, create("u")).await, 167);
    assert_eq!(refusal(db, create("c")).await, 167);
}

async fn where_nearness_stands_is_told_when_a_view_is_read(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    let near = doc! { "$geoNear": { "near": [0, 0], "distanceField": "d" } };
    run(
        db,
        doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$limit": 5 }, near] },
    )
    .await;
    assert_eq!(refusal(db, doc! { "find": "v" }).await, 40_603);
}

async fn a_taken_name_is_told_before_what_a_view_would_stand_on(db: &Db) {
    run(db, doc! { "create": "taken" }).await;
    let german = doc! { "locale": "de" };
    run(
        db,
        doc! { "create": "v", "viewOn": "c", "pipeline": [], "collation": german },
    )
    .await;
    let create = |name: &str| doc! { "create": name, "viewOn": "v", "pipeline": [] };
    assert_eq!(refusal(db, create("taken")).await, 48);
    assert_eq!(refusal(db, create("free")).await, 167);
}

async fn an_order_that_cannot_be_followed_is_told_before_that_a_view_is_not_followed(db: &Db) {
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    let find = |order: Document| doc! { "find": "v", "tailable": true, "sort": order };
    assert_eq!(refusal(db, find(doc! { "_id": 1 })).await, 2);
    assert_eq!(refusal(db, find(doc! { "$natural": -1 })).await, 2);
    assert_eq!(refusal(db, find(doc! { "$natural": 1 })).await, 168);
}

async fn no_view_is_asked_for_what_is_near_not_even_in_vain(db: &Db) {
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    let near = doc! { "$nearSphere": { "$geometry": { "type": "Point", "coordinates": [3, 5] } } };
    let filter = doc! { "$alwaysFalse": 1, "g": near };
    assert_eq!(
        refusal(db, doc! { "find": "v", "filter": filter.clone() }).await,
        5_626_500
    );
    assert_eq!(
        refusal(db, doc! { "count": "v", "query": filter }).await,
        5_626_500
    );
}

/// An expression that fails with this code, wherever it is computed.
fn failing(code: i32) -> Document {
    match code {
        28_656 => doc! { "$toBool": { "$substr": ["é", 1, 0] } },
        _ => doc! { "$divide": [2, 0] },
    }
}

async fn what_is_wrong_with_a_find_of_a_view_is_told_in_an_order(db: &Db) {
    let stages = [
        doc! { "$match": { "$expr": failing(28_656) } },
        doc! { "$project": { "x": failing(28_656) } },
        doc! { "$group": { "_id": failing(28_656) } },
    ];
    let own = doc! { "$expr": failing(2) };
    let (sliced, skipped) = (doc! { "l": { "$slice": -1 } }, doc! { "l": { "$slice": [1, 2] } });
    for stage in stages {
        run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [stage] }).await;
        let find = |filter: Document, projection: Document| {
            doc! { "find": "v", "filter": filter, "projection": projection }
        };
        let near = doc! { "a": { "$near": [1, 1] } };
        let finds = [
            (find(own.clone(), sliced.clone()), 2),
            (find(doc! {}, sliced.clone()), 28_667),
            (find(doc! {}, doc! { "l.$": 1 }), 31_324),
            (find(doc! {}, doc! { "l": { "$elemMatch": { "x": 1 } } }), 168),
            (find(doc! {}, skipped.clone()), 28_656),
            (find(doc! {}, doc! { "l": failing(2) }), 2),
        ];
        for (find, expected) in finds {
            assert_eq!(refusal(db, find.clone()).await, expected, "{find}");
            assert_eq!(
                refusal(db, doc! { "explain": find.clone() }).await,
                expected,
                "{find}"
            );
        }
        assert_eq!(refusal(db, find(near, sliced.clone())).await, 5_626_500);
        let mut other = find(doc! {}, sliced.clone());
        other.insert("collation", doc! { "locale": "de" });
        assert_eq!(refusal(db, other).await, 167);
        let mut other = find(own.clone(), doc! {});
        other.insert("returnKey", true);
        assert_eq!(refusal(db, other).await, 2);
        assert_eq!(
            refusal(db, doc! { "distinct": "v", "key": "a", "query": own.clone() }).await,
            2
        );
        run(db, doc! { "drop": "v" }).await;
    }
}

async fn filters_of_views_that_compute_nothing_are_told(db: &Db) {
    let own = doc! { "$expr": failing(2) };
    run(
        db,
        doc! { "create": "v", "viewOn": "c", "pipeline": [{ "$match": { "a": 1 } }] },
    )
    .await;
    for _ in 0..2 {
        assert_eq!(refusal(db, doc! { "find": "v", "filter": own.clone() }).await, 2);
        assert_eq!(refusal(db, doc! { "count": "v", "query": own.clone() }).await, 2);
        assert_eq!(
            refusal(db, doc! { "distinct": "v", "key": "a", "query": own.clone() }).await,
            2
        );
        let find = doc! { "find": "v", "projection": { "l": { "$slice": [1, 2] } } };
        assert_eq!(refusal(db, find.clone()).await, 28_724);
        assert_eq!(refusal(db, doc! { "explain": find }).await, 28_724);
        run(db, doc! { "insert": "c", "documents": [{ "_id": 1, "a": 1 }] }).await;
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
    }
}
