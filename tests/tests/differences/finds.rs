//! What reading documents was found to differ in.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{batch, code, ids, insert, run};

crate::on_every_backend! {
    points_at_a_pole_are_found_by_an_index,
    lines_that_touch_polygons_end_at_their_vertices,
    lines_that_leave_polygons_and_come_back_are_not_within,
    polygons_by_their_winding_have_their_border,
    turkish_has_an_i_without_a_dot,
    ends_of_indexes_are_behind_what_lies_between_bounds,
    keys_of_indexes_come_with_what_the_order_goes_by,
    ends_of_indexes_are_compared_before_all_else_is_read,
}

async fn found(db: &Db, filter: Document) -> Vec<i32> {
    let sort = doc! { "_id": 1 };
    ids(&batch(
        &run(db, doc! { "find": "c", "filter": filter, "sort": sort }).await,
    ))
}

/// Asks with a collection scan, and with an index once there is one.
async fn places(db: &Db, cases: Vec<(&str, Bson, Vec<i32>)>) {
    for indexed in [false, true] {
        if indexed {
            let index = doc! { "key": { "g": "2dsphere" }, "name": "g" };
            run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
        }
        for (operator, geometry, expected) in &cases {
            let filter = doc! { "g": { *operator: { "$geometry": geometry } } };
            assert_eq!(found(db, filter.clone()).await, *expected, "{filter} {indexed}");
        }
    }
}

fn shape(kind: &str, coordinates: Bson) -> Bson {
    bson!({ "type": kind, "coordinates": coordinates })
}

async fn points_at_a_pole_are_found_by_an_index(db: &Db) {
    let at = |id: i32, place: Bson| doc! { "_id": id, "g": shape("Point", place) };
    insert(
        db,
        "c",
        vec![
            at(1, bson!([45, 90])),
            at(2, bson!([-90, 90])),
            at(3, bson!([10, -90])),
            at(4, bson!([3, 3])),
            at(5, bson!([3, 89])),
        ],
    )
    .await;
    let several = |pole: Bson| shape("MultiPoint", bson!([pole, [3, 3]]));
    let cases = vec![
        ("$geoIntersects", several(bson!([0, 90])), vec![1, 2, 4]),
        ("$geoIntersects", several(bson!([1, 90])), vec![1, 2, 4]),
        ("$geoIntersects", several(bson!([180, -90])), vec![3, 4]),
        ("$geoIntersects", shape("Point", bson!([7, 90])), vec![1, 2]),
    ];
    places(db, cases).await;
}

async fn lines_that_touch_polygons_end_at_their_vertices(db: &Db) {
    let boxes = bson!([
        [[[-5, 3], [-4, 3], [-5, 2], [-5, 3]]],
        [[[1, -2], [5, -2], [5, 0], [1, 0], [1, -2]]],
    ]);
    let lines = bson!([[[-1, -1], [-2, 8], [1, 5]]]);
    let triangle = bson!([[[90, -90], [91, -90], [90, 0], [90, -90]]]);
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 1, "g": shape("MultiPolygon", boxes) },
            doc! { "_id": 2, "g": shape("MultiLineString", lines) },
            doc! { "_id": 3, "g": shape("Polygon", triangle) },
        ],
    )
    .await;
    let equator = bson!([[2, 0], [89.5, 0], [-90, -10], [45, 60]]);
    let square = bson!([[[1, -1], [2, -1], [2, 7], [1, 7], [1, -1]]]);
    let over_the_pole = bson!([[2, 45], [1, 89], [180, -45], [45, 10]]);
    let cases = vec![
        ("$geoIntersects", shape("LineString", equator), vec![]),
        ("$geoIntersects", shape("Polygon", square), vec![1]),
        ("$geoIntersects", shape("LineString", over_the_pole), vec![]),
    ];
    places(db, cases).await;
}

async fn lines_that_leave_polygons_and_come_back_are_not_within(db: &Db) {
    let line = |id: i32, vertices: Bson| doc! { "_id": id, "g": shape("LineString", vertices) };
    insert(
        db,
        "c",
        vec![
            line(1, bson!([[2, -90], [180, -1], [-180, -90]])),
            line(2, bson!([[2, -90], [180, -85], [-180, -90]])),
            line(3, bson!([[8, 0], [8, 4]])),
            line(4, bson!([[7, 2], [7, 4], [6.5, 8]])),
        ],
    )
    .await;
    let south = bson!([[[0, -80], [90, -80], [180, -80], [-90, -80], [0, -80]]]);
    let square = bson!([[[6, 1], [8, 1], [8, 9], [6, 9], [6, 1]]]);
    let cases = vec![
        ("$geoWithin", shape("Polygon", south), vec![2]),
        ("$geoWithin", shape("Polygon", square), vec![4]),
    ];
    places(db, cases).await;
}

async fn polygons_by_their_winding_have_their_border(db: &Db) {
    let line = |id: i32, vertices: Bson| doc! { "_id": id, "g": shape("LineString", vertices) };
    insert(
        db,
        "c",
        vec![
            line(1, bson!([[8, 0], [8, 4]])),
            line(2, bson!([[-2, 1], [-10, -7]])),
            line(3, bson!([[10, -1], [11, -2]])),
            line(4, bson!([[7, 0], [7, 4]])),
        ],
    )
    .await;
    let strict = |ring: Bson| {
        let name = "urn:x-mongodb:crs:strictwinding:EPSG:4326";
        bson!({
            "type": "Polygon",
            "coordinates": [ring],
            "crs": { "type": "name", "properties": { "name": name } },
        })
    };
    let small = strict(bson!([[8, -4], [16, -4], [16, 0], [8, 0], [8, -4]]));
    let large = strict(bson!([[-2, 0], [-2, 2], [1, 2], [1, 0], [-2, 0]]));
    let cases = vec![
        ("$geoIntersects", small.clone(), vec![1, 3]),
        ("$geoWithin", small, vec![3]),
        ("$geoIntersects", large.clone(), vec![1, 2, 3, 4]),
        ("$geoWithin", large, vec![1, 2, 3, 4]),
    ];
    places(db, cases).await;
}

async fn turkish_has_an_i_without_a_dot(db: &Db) {
    let index = doc! { "key": { "t": "text" }, "name": "t", "default_language": "none" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let words = [
        (1, "İstanbul", "turkish"),
        (2, "IŞIK", "tr"),
        (3, "ışık", "turkish"),
        (4, "istanbul", "none"),
        (5, "İstanbul", "none"),
        (6, "Istanbul", "turkish"),
    ];
    let documents = words.map(|(id, text, language)| doc! { "_id": id, "t": text, "language": language });
    insert(db, "c", documents.to_vec()).await;
    for (search, language, expected) in [
        ("istanbul", "none", vec![1, 4]),
        ("İstanbul", "none", vec![5]),
        ("İstanbul", "turkish", vec![1, 4]),
        ("ISTANBUL", "turkish", vec![6]),
        ("ışık", "turkish", vec![2, 3]),
        ("IŞIK", "tr", vec![2, 3]),
        ("\"IŞIK\"", "turkish", vec![2, 3]),
        ("istanbul ışık -\"Işık\"", "turkish", vec![1, 4]),
    ] {
        let filter = doc! { "$text": { "$search": search, "$language": language } };
        assert_eq!(found(db, filter).await, expected, "{search} {language}");
    }
}

async fn ends_of_indexes_are_behind_what_lies_between_bounds(db: &Db) {
    let indexes = [
        doc! { "key": { "a": 1 }, "name": "up" },
        doc! { "key": { "a": -1 }, "name": "down" },
        doc! { "key": { "a": 1, "b": -1 }, "name": "both" },
    ];
    run(db, doc! { "createIndexes": "c", "indexes": indexes.to_vec() }).await;
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 0, "a": Bson::MinKey, "b": Bson::MaxKey },
            doc! { "_id": 1, "a": Bson::MaxKey, "b": Bson::MinKey },
            doc! { "_id": 2, "a": 2 },
            doc! { "_id": 3, "a": Bson::MaxKey, "b": 1 },
        ],
    )
    .await;
    for (hint, min, expected) in [
        ("up", doc! { "a": 1 }, vec![2]),
        ("down", doc! { "a": 2 }, vec![2]),
        ("both", doc! { "a": 2, "b": 1 }, vec![2, 3]),
    ] {
        let find = doc! { "find": "c", "hint": hint, "min": min, "sort": { "_id": 1 } };
        assert_eq!(ids(&batch(&run(db, find).await)), expected, "{hint}");
    }
    let whole = doc! { "find": "c", "hint": "up", "max": { "a": Bson::MaxKey }, "sort": { "_id": 1 } };
    assert_eq!(ids(&batch(&run(db, whole).await)), [0, 2]);
}

async fn keys_of_indexes_come_with_what_the_order_goes_by(db: &Db) {
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 1, "a": 1, "b": 3, "l": { "v": 7 } },
            doc! { "_id": 2, "a": 2, "b": 5, "l": { "v": 14 } },
        ],
    )
    .await;
    let indexes = [
        doc! { "key": { "l.v": 1 }, "name": "lv" },
        doc! { "key": { "a": 1, "b": 1 }, "name": "ab" },
    ];
    run(db, doc! { "createIndexes": "c", "indexes": indexes.to_vec() }).await;
    let key = || doc! { "$meta": "sortKey" };
    for (hint, sort, projection, expected) in [
        (
            "ab",
            doc! { "a": -1 },
            doc! { "k": key() },
            doc! { "a": 2, "b": 5, "k": [2] },
        ),
        (
            "lv",
            doc! { "a": -1, "b": 1 },
            doc! { "k": key() },
            doc! { "l.v": 14, "k": [2, 5] },
        ),
        (
            "lv",
            doc! { "b": -1 },
            doc! { "l.v": key(), "l.x": key() },
            doc! { "l.v": 14, "l": { "v": [5], "x": [5] } },
        ),
        (
            "lv",
            doc! { "b": -1 },
            doc! { "l": { "v": key() } },
            doc! { "l.v": 14, "l": { "v": [5] } },
        ),
        (
            "ab",
            doc! { "b": -1 },
            doc! { "a": key() },
            doc! { "a": [5], "b": 5 },
        ),
        (
            "ab",
            doc! { "b": -1 },
            doc! { "a.x": key() },
            doc! { "a": { "x": [5] }, "b": 5 },
        ),
        // The rest does nothing.
        (
            "ab",
            doc! { "b": -1 },
            doc! { "k": key(), "a": 0, "r": { "$meta": "recordId" }, "i": { "$meta": "indexKey" } },
            doc! { "a": 2, "b": 5, "k": [5] },
        ),
        (
            "lv",
            doc! { "b": -1 },
            doc! { "x": [key()], "b": 1 },
            doc! { "l.v": 14 },
        ),
    ] {
        let find = doc! {
            "find": "c", "hint": hint, "sort": sort, "projection": projection.clone(), "limit": 1, "returnKey": true,
            "showRecordId": true,
        };
        assert_eq!(batch(&run(db, find).await), [expected], "{projection}");
    }
    // Without an index there is nothing but that.
    let find = doc! {
        "find": "c", "sort": { "$natural": 1 }, "projection": { "k": key() }, "limit": 1, "returnKey": true,
    };
    assert_eq!(batch(&run(db, find).await), [doc! { "k": [] }]);
}

async fn ends_of_indexes_are_compared_before_all_else_is_read(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 1 }]).await;
    for (options, expected) in [
        (doc! { "projection": { "a": {} } }, 51176),
        (doc! { "filter": { "$nothing": 1 } }, 51176),
        (doc! { "sort": { "a": 5 } }, 51176),
        (doc! { "let": { "v": "$a" } }, 51176),
        (doc! { "collation": { "locale": "zz" } }, 51176),
        (doc! { "hint": { "$natural": 1 }, "sort": { "a": 1 } }, 51176),
        (doc! { "hint": "nothing" }, 51176),
        (doc! { "hint": 5 }, 9),
        (doc! { "skip": -1 }, 51024),
        (doc! { "batchSize": -1 }, 51024),
        (doc! { "returnKey": 5 }, 14),
    ] {
        let mut find = doc! { "find": "c", "min": { "a": 1 }, "max": { "b": 1 } };
        find.extend(options.clone());
        assert_eq!(code(db, find).await, expected, "{options}");
    }
    let natural = doc! { "find": "c", "min": { "a": 1 }, "sort": { "$natural": 1 } };
    assert_eq!(code(db, natural).await, 291);
    let no_hint = doc! { "find": "c", "min": { "a": 1 }, "sort": { "a": 1 } };
    assert_eq!(code(db, no_hint).await, 51173);
}
