//! What was found to differ of time series: indexes of measurements, and distances from them.

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

use super::series::{at, create, in_order, inserted, of};

crate::on_every_backend! {
    indexed_measurements_are_no_arrays,
    a_bucket_takes_all_of_a_command_or_nothing,
    arrays_outside_of_an_index_are_taken,
    indexed_places_of_measurements_are_points,
    partial_filters_ask_for_bounds_of_measurements,
    options_of_indexes_of_measurements,
    a_series_may_have_an_index_on_its_ids,
    a_series_is_read_in_its_own_order_by_name,
    distances_of_measurements_need_no_index,
    what_distances_of_a_series_do_not_have,
}

async fn index(db: &Db, key: Document, more: Document) -> i32 {
    let mut spec = doc! { "key": key, "name": "i" };
    spec.extend(more);
    code(db, doc! { "createIndexes": "s", "indexes": [spec] }).await
}

async fn indexed_measurements_are_no_arrays(db: &Db) {
    let array = || Bson::from(vec![1]);
    for (key, value, is_refused) in [
        (doc! { "v": 1 }, array(), true),
        (doc! { "v": -1 }, Bson::Array(Vec::new()), true),
        (doc! { "v": 1 }, Bson::from(doc! { "a": [1] }), false),
        (doc! { "v.a": 1 }, Bson::from(doc! { "a": [1] }), true),
        (doc! { "v.a": 1 }, Bson::from(vec![doc! { "b": 1 }]), true),
        (doc! { "v.a": 1 }, Bson::from(doc! { "b": [1] }), false),
        (doc! { "v.0": 1 }, array(), true),
        (doc! { "m": 1, "v": 1 }, array(), true),
        (doc! { "t": 1, "m": 1 }, array(), false),
    ] {
        let expected = if is_refused { 5_930_501 } else { 0 };
        let document = || doc! { "insert": "s", "documents": [of(1, 1, doc! { "v": value.clone() })] };
        create(db).await;
        assert_eq!(index(db, key.clone(), doc! {}).await, 0);
        assert_eq!(code(db, document()).await, expected, "{key} {value}");
        run(db, doc! { "drop": "s" }).await;

        create(db).await;
        assert_eq!(code(db, document()).await, 0);
        assert_eq!(index(db, key.clone(), doc! {}).await, expected, "{key} {value}");
        run(db, doc! { "drop": "s" }).await;
    }
}

/// Documents, whether they are ordered, how many are counted, the places and codes of errors, and what is there then.
type Inserted = (Vec<Document>, bool, i32, Vec<(i32, i32)>, Vec<i32>);

async fn a_bucket_takes_all_of_a_command_or_nothing(db: &Db) {
    const ARRAY: i32 = 5_930_501;
    let plain = |id: i32| of(1, id, doc! {});
    let array = |id: i32| of(1, id, doc! { "v": [1] });
    let number = |id: i32| of(1, id, doc! { "v": 1 });
    let untimed = || doc! { "_id": 9 };
    let cases: Vec<Inserted> = vec![
        (
            vec![plain(1), array(2), plain(3)],
            true,
            1,
            vec![(1, ARRAY)],
            vec![1],
        ),
        (
            vec![array(1), untimed()],
            true,
            0,
            vec![(1, 2), (0, ARRAY)],
            vec![],
        ),
        (
            vec![plain(1), array(2), untimed()],
            true,
            0,
            vec![(2, 2)],
            vec![1],
        ),
        (
            vec![plain(1), array(2), plain(3)],
            false,
            0,
            vec![(0, ARRAY), (1, ARRAY), (2, ARRAY)],
            vec![],
        ),
        (
            vec![untimed(), array(2)],
            false,
            0,
            vec![(0, 2), (1, ARRAY)],
            vec![],
        ),
        // Another type is another bucket; those of the source behind one that fails do so too.
        (
            vec![number(1), array(2), number(3)],
            false,
            1,
            vec![(1, ARRAY), (2, ARRAY)],
            vec![1],
        ),
        (
            vec![plain(1), of(2, 2, doc! { "v": [1] }), plain(3)],
            false,
            2,
            vec![(1, ARRAY)],
            vec![1, 3],
        ),
    ];
    for (documents, is_ordered, count, errors, left) in cases {
        create(db).await;
        assert_eq!(index(db, doc! { "v": 1 }, doc! {}).await, 0);
        let shown = format!("{documents:?} {is_ordered}");
        assert_eq!(
            inserted(db, documents, is_ordered).await,
            (count, errors),
            "{shown}"
        );
        assert_eq!(in_order(db).await, left, "{shown}");
        run(db, doc! { "drop": "s" }).await;
    }
}

async fn arrays_outside_of_an_index_are_taken(db: &Db) {
    create(db).await;
    let partial = doc! { "partialFilterExpression": { "w": 1 } };
    assert_eq!(index(db, doc! { "v": 1 }, partial).await, 0);
    let array = |id: i32, more: Document| {
        let mut document = of(id, id, doc! { "v": [9] });
        document.extend(more);
        doc! { "insert": "s", "documents": [document] }
    };
    assert_eq!(code(db, array(1, doc! {})).await, 0);
    assert_eq!(code(db, array(2, doc! { "w": 0 })).await, 0);
    assert_eq!(code(db, array(3, doc! { "w": 1 })).await, 5_930_501);

    // Sources may be arrays, of which an index has the elements.
    run(
        db,
        doc! { "createIndexes": "s", "indexes": [{ "key": { "m.a": 1 }, "name": "j" }] },
    )
    .await;
    insert(db, "s", vec![doc! { "_id": 4, "t": at(0), "m": { "a": [1, 2] } }]).await;
    let find = doc! { "find": "s", "filter": { "m.a": 2 }, "hint": { "m.a": 1 } };
    assert_eq!(ids(&batch(&run(db, find).await)), [4]);
}

async fn indexed_places_of_measurements_are_points(db: &Db) {
    create(db).await;
    assert_eq!(index(db, doc! { "p": "2dsphere" }, doc! {}).await, 0);
    let line = doc! { "type": "LineString", "coordinates": [[0, 0], [1, 1]] };
    for (place, expected) in [
        (Bson::from(doc! { "type": "Point", "coordinates": [1, 1] }), 0),
        (Bson::from(vec![1, 1]), 0),
        (Bson::from(doc! { "x": 1, "y": 2 }), 0),
        (Bson::Null, 0),
        (Bson::Array(Vec::new()), 0),
        (Bson::from(line), 183_493),
        (Bson::from("x"), 183_934),
        (Bson::from(vec![1]), 183_934),
        (
            Bson::from(doc! { "type": "Point", "coordinates": [200, 1] }),
            183_934,
        ),
        (Bson::from(vec![200, 1]), 167_551),
    ] {
        let insert = doc! { "insert": "s", "documents": [of(1, 1, doc! { "p": place.clone() })] };
        assert_eq!(code(db, insert).await, expected, "{place}");
    }
    let listed = batch(&run(db, doc! { "listIndexes": "s" }).await);
    assert_eq!(listed, [doc! { "v": 2, "key": { "p": "2dsphere" }, "name": "i" }]);
    let other = |more: Document| {
        let mut spec = doc! { "key": { "q": "2dsphere" }, "name": "j" };
        spec.extend(more);
        doc! { "createIndexes": "s", "indexes": [spec] }
    };
    assert_eq!(code(db, other(doc! { "2dsphereIndexVersion": 2 })).await, 67);
    // Of sources, it is an index like others.
    assert_eq!(
        code(
            db,
            doc! { "createIndexes": "s", "indexes": [{ "key": { "m.p": "2dsphere" }, "name": "k" }] }
        )
        .await,
        0
    );
    let line = doc! { "type": "LineString", "coordinates": [[0, 0], [1, 1]] };
    insert(db, "s", vec![doc! { "_id": 5, "t": at(0), "m": { "p": line } }]).await;
}

async fn partial_filters_ask_for_bounds_of_measurements(db: &Db) {
    create(db).await;
    const BOUNDS: i32 = 5_916_301;
    for (filter, expected) in [
        (doc! { "v": { "$gt": 1 } }, 0),
        (doc! { "v": "x" }, 0),
        (doc! { "v": { "$in": [1, 2] } }, 0),
        (doc! { "v": { "$exists": true } }, 0),
        (doc! { "v": { "$gt": 1, "$lt": 5 } }, 0),
        (doc! { "_id": { "$gt": 1 } }, 0),
        (doc! { "t": { "$gt": at(0) } }, 0),
        (doc! { "m": null }, 0),
        (doc! { "m": { "$type": "int" } }, 0),
        (doc! { "$or": [{ "v": 1 }, { "m": 1 }] }, 0),
        (doc! { "v": null }, BOUNDS),
        (doc! { "v": [1] }, BOUNDS),
        (doc! { "v": { "$gt": { "a": 1 } } }, BOUNDS),
        (doc! { "v": { "$in": [1, null] } }, BOUNDS),
        (doc! { "v": { "$type": "int" } }, BOUNDS),
        (doc! { "v": { "$gt": 1, "$type": "int" } }, BOUNDS),
        (doc! { "v": { "$regex": "a" } }, BOUNDS),
        (doc! { "v": { "$exists": false } }, BOUNDS),
        (doc! { "t": { "$gt": 1 } }, BOUNDS),
        (doc! { "$or": [{ "v": null }, { "m": 1 }] }, BOUNDS),
        (doc! { "m": { "$exists": false } }, 67),
    ] {
        let partial = doc! { "partialFilterExpression": filter.clone() };
        assert_eq!(index(db, doc! { "w": 1 }, partial).await, expected, "{filter}");
        run(db, doc! { "dropIndexes": "s", "index": "*" }).await;
    }
}

async fn options_of_indexes_of_measurements(db: &Db) {
    create(db).await;
    for (key, options, expected) in [
        (doc! { "v": "hashed" }, doc! { "unique": true }, 67),
        (doc! { "v": 1 }, doc! { "unique": true }, 72),
        (doc! { "v": 1 }, doc! { "sparse": false }, 72),
        (doc! { "m": 1 }, doc! { "sparse": false }, 0),
    ] {
        assert_eq!(
            index(db, key.clone(), options.clone()).await,
            expected,
            "{key} {options}"
        );
    }
}

async fn a_series_may_have_an_index_on_its_ids(db: &Db) {
    create(db).await;
    assert_eq!(index(db, doc! { "_id": 1 }, doc! { "name": "_id_" }).await, 2);
    assert_eq!(index(db, doc! { "_id": 1 }, doc! { "name": "q" }).await, 0);
    let listed = batch(&run(db, doc! { "listIndexes": "s" }).await);
    assert_eq!(listed, [doc! { "v": 2, "key": { "_id": 1 }, "name": "q" }]);
    insert(
        db,
        "s",
        vec![of(1, 1, doc! {}), of(1, 2, doc! {}), of(1, 2, doc! {})],
    )
    .await;
    for hint in [Bson::from("q"), Bson::from(doc! { "_id": 1 })] {
        let find = doc! { "find": "s", "filter": { "_id": 2 }, "hint": hint };
        assert_eq!(ids(&batch(&run(db, find).await)), [2, 2]);
    }
    let array = doc! { "insert": "s", "documents": [{ "_id": [1], "t": at(0) }] };
    assert_eq!(code(db, array).await, 5_930_501);
    let hide = doc! { "collMod": "s", "index": { "keyPattern": { "_id": 1 }, "hidden": true } };
    assert!(run(db, hide).await.get_bool("hidden_new").unwrap());
    run(db, doc! { "dropIndexes": "s", "index": { "_id": 1 } }).await;
    assert_eq!(
        batch(&run(db, doc! { "listIndexes": "s" }).await),
        Vec::<Document>::new()
    );
}

async fn a_series_is_read_in_its_own_order_by_name(db: &Db) {
    create(db).await;
    insert(
        db,
        "s",
        vec![of(1, 1, doc! {}), of(1, 2, doc! {}), of(1, 3, doc! {})],
    )
    .await;
    let find = doc! { "find": "s", "filter": { "_id": { "$gt": 1 } }, "hint": "_id_" };
    assert_eq!(ids(&batch(&run(db, find).await)), [2, 3]);
    let reply = run(db, doc! { "count": "s", "hint": "_id_" }).await;
    assert_eq!(reply.get_i32("n").unwrap(), 3);
    let update = doc! { "update": "s", "updates": [
        { "q": { "m": 1 }, "u": { "$set": { "m": 5 } }, "multi": true, "hint": "_id_" },
    ] };
    assert_eq!(run(db, update).await.get_i32("nModified").unwrap(), 3);
    assert_eq!(code(db, doc! { "find": "s", "hint": { "_id": 1 } }).await, 2);
}

fn place(x: i32, y: i32) -> Document {
    doc! { "type": "Point", "coordinates": [x, y] }
}

async fn with_places(db: &Db) {
    create(db).await;
    insert(
        db,
        "s",
        vec![
            of(1, 1, doc! { "p": place(3, 0) }),
            of(2, 2, doc! { "p": [1, 0] }),
            of(1, 3, doc! {}),
            of(1, 4, doc! { "p": "none" }),
            of(2, 5, doc! { "p": [place(9, 0), place(2, 0)] }),
            of(1, 6, doc! { "q": [{ "p": place(1, 1) }] }),
        ],
    )
    .await;
}

fn near(more: Document) -> Document {
    let mut options = doc! { "near": place(0, 0), "distanceField": "d", "spherical": true };
    options.extend(more);
    doc! { "$geoNear": options }
}

async fn distances_of_measurements_need_no_index(db: &Db) {
    with_places(db).await;
    let key = || doc! { "key": "p" };
    for (stages, expected) in [
        (vec![near(key())], vec![2, 5, 1]),
        (vec![near(key()), doc! { "$limit": 1 }], vec![2]),
        (vec![near(doc! { "key": "q.p" })], vec![6]),
        (vec![near(doc! { "key": "none" })], vec![]),
        (
            vec![near(doc! { "key": "p", "maxDistance": 230_000 })],
            vec![2, 5],
        ),
        (vec![near(doc! { "key": "p", "minDistance": 230_000 })], vec![1]),
        (
            vec![near(doc! { "key": "p", "near": [0, 0], "spherical": false })],
            vec![2, 5, 1],
        ),
        // The sources that are asked for before it are found first.
        (vec![doc! { "$match": { "m": 2 } }, near(key())], vec![2, 5]),
    ] {
        let found = aggregate(db, "s", stages.clone()).await;
        assert_eq!(ids(&found), expected, "{stages:?}");
    }
    let flat = near(doc! { "key": "p", "near": [0, 0], "spherical": false, "distanceMultiplier": 10 });
    let found = aggregate(db, "s", vec![flat]).await;
    let distances: Vec<f64> = found.iter().map(|one| one.get_f64("d").unwrap()).collect();
    assert_eq!(distances, [10.0, 20.0, 30.0]);
    run(
        db,
        doc! { "create": "w", "viewOn": "s", "pipeline": [{ "$match": { "m": 2 } }] },
    )
    .await;
    assert_eq!(ids(&aggregate(db, "w", vec![near(key())]).await), [2, 5]);
}

async fn what_distances_of_a_series_do_not_have(db: &Db) {
    with_places(db).await;
    let asked = |stages: Vec<Document>| code(db, doc! { "aggregate": "s", "pipeline": stages, "cursor": {} });
    for (stages, expected) in [
        (vec![near(doc! {})], 5_892_921),
        (vec![near(doc! { "key": "p", "query": { "m": 1 } })], 1_938_439),
        (vec![near(doc! { "key": "p", "includeLocs": "l" })], 5_860_208),
        (vec![near(doc! { "key": "p", "near": [200, 0] })], 6_330_900),
        (vec![near(doc! { "key": "m" })], 291),
        (
            vec![doc! { "$match": { "_id": 1 } }, near(doc! { "key": "p" })],
            40_603,
        ),
        (vec![doc! { "$limit": 1 }, near(doc! { "key": "p" })], 40_603),
        (
            vec![
                doc! { "$match": { "m": 1 } },
                near(doc! { "key": "p" }),
                doc! { "$bad": 1 },
            ],
            40_324,
        ),
    ] {
        assert_eq!(asked(stages.clone()).await, expected, "{stages:?}");
    }
}
