//! What was found to differ in situations that MongoDB's own tests are about: searches in choices, texts that are equal to a
//! collation, types that an `_id` keeps, names, numbers and bounds at their edges.

use odm::Db;
use odm::bson::{Bson, Decimal128, Document, bson, doc};
use odm_tests::command::{aggregate, batch, insert, run};

use crate::messages::said;

crate::on_every_backend! {
    only_what_a_search_found_has_a_score,
    of_equal_texts_in_one_array_the_first_by_its_bytes_is_distinct,
    a_merge_changes_no_type_of_an_id,
    positions_may_begin_with_any_number_of_zeros,
    a_constant_set_is_what_others_are_compared_with,
    zeros_keep_their_exponents_in_functions_of_angles,
    windows_of_units_are_of_32_bits,
    areas_are_of_doubles,
    a_union_passes_over_stages_that_are_null,
    fields_without_a_name_are_told_by_what_they_are_in,
    a_type_of_what_is_missing_is_none,
    a_variable_is_looked_for_before_what_is_behind_it,
    a_geometry_stands_alone,
    coordinates_are_arrays_of_arrays,
    equal_edges_are_told_in_their_order,
    what_is_near_is_a_constant,
    circles_of_views_are_told_from_what_is_read,
    the_natural_order_of_a_view_has_no_keys,
    a_text_is_split_at_each_character,
}

async fn found(db: &Db, command: Document) -> Vec<Document> {
    batch(&run(db, command).await)
}

async fn only_what_a_search_found_has_a_score(db: &Db) {
    let documents = vec![
        doc! { "_id": 0, "n": 1, "b": "lorem ipsum" },
        doc! { "_id": 1, "n": 2, "b": "lorem" },
        doc! { "_id": 2, "n": 1, "b": "dolor" },
        doc! { "_id": 3, "n": 1, "b": "lorem lorem" },
    ];
    insert(db, "c", documents).await;
    let index = doc! { "key": { "n": 1, "b": "text" }, "name": "t" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let search = || doc! { "$text": { "$search": "lorem" }, "n": 1 };
    for other in [doc! { "_id": 1 }, doc! { "_id": { "$in": [1, 3] } }] {
        let filter = doc! { "$or": [search(), other] };
        let score = doc! { "s": { "$meta": "textScore" } };
        let expected = [
            doc! { "_id": 0, "s": 0.75 },
            doc! { "_id": 1 },
            doc! { "_id": 3, "s": 1.5 },
        ];
        let find = doc! {
            "find": "c", "filter": filter.clone(), "projection": { "_id": 1, "s": { "$meta": "textScore" } },
            "sort": { "_id": 1 },
        };
        assert_eq!(found(db, find.clone()).await, expected);
        let stages = vec![
            doc! { "$match": filter.clone() },
            doc! { "$project": score.clone() },
            doc! { "$sort": { "_id": 1 } },
        ];
        assert_eq!(aggregate(db, "c", stages).await, expected);
        let mut by_score = find;
        by_score.insert("sort", score);
        let order: Vec<i32> = odm_tests::command::ids(&found(db, by_score).await);
        assert_eq!(order, [3, 0, 1]);
    }
}

async fn of_equal_texts_in_one_array_the_first_by_its_bytes_is_distinct(db: &Db) {
    let documents = vec![
        doc! { "_id": 0, "a": ["x", "X", "y"] },
        doc! { "_id": 1, "a": ["Y"], "b": ["é", "e"], "k": [{ "k": "b" }, { "k": "B" }], "n": [1.0, 1] },
    ];
    insert(db, "c", documents).await;
    for (key, strength, expected) in [
        ("a", 2, bson!(["X", "y"])),
        ("b", 1, bson!(["e"])),
        ("k.k", 2, bson!(["B"])),
        ("n", 2, bson!([1.0])),
    ] {
        let collation = doc! { "locale": "en", "strength": strength };
        let reply = run(db, doc! { "distinct": "c", "key": key, "collation": collation }).await;
        assert_eq!(reply.get("values"), Some(&expected), "{key}");
    }
}

async fn a_merge_changes_no_type_of_an_id(db: &Db) {
    const REFUSED: &str = "PlanExecutor error during aggregation :: caused by :: $merge failed to update the matching \
        document, did you attempt to modify the _id or the shard key? :: caused by :: Performing an update on the path \
        '_id' would modify the immutable field '_id'";
    insert(db, "s", vec![doc! { "_id": 5 }]).await;
    let merge = |id: Bson, into: Document| {
        let project = doc! { "_id": { "$literal": id }, "x": { "$literal": 1 } };
        let mut merge = doc! { "into": "t" };
        merge.extend(into);
        doc! { "aggregate": "s", "pipeline": [{ "$project": project }, { "$merge": merge }], "cursor": {} }
    };
    insert(db, "t", vec![doc! { "_id": 1, "x": 0 }]).await;
    for id in [bson!(1_i64), bson!(1.0)] {
        assert_eq!(said(db, merge(id.clone(), doc! {})).await, REFUSED, "{id}");
        let discarding = doc! { "whenMatched": "merge", "whenNotMatched": "discard" };
        assert_eq!(said(db, merge(id.clone(), discarding)).await, REFUSED, "{id}");
    }
    let all = || doc! { "find": "t" };
    assert_eq!(found(db, all()).await, [doc! { "_id": 1, "x": 0 }]);
    run(db, merge(bson!(1), doc! {})).await;
    assert_eq!(found(db, all()).await, [doc! { "_id": 1, "x": 1 }]);
}

async fn positions_may_begin_with_any_number_of_zeros(db: &Db) {
    let update = |change: Document| doc! { "update": "c", "updates": [{ "q": {}, "u": change }] };
    for (change, expected) in [
        (doc! { "$set": { "a.00000000000": 7 } }, bson!([7, [2], 3])),
        (
            doc! { "$inc": { format!("a.{}2", "0".repeat(40)): 1 } },
            bson!([1, [2], 4]),
        ),
        (doc! { "$push": { "a.000000000001": 5 } }, bson!([1, [2, 5], 3])),
        (doc! { "$unset": { "a.00000000000": 1 } }, bson!([null, [2], 3])),
    ] {
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
        insert(db, "c", vec![doc! { "_id": 1, "a": [1, [2], 3] }]).await;
        run(db, update(change.clone())).await;
        let all = found(db, doc! { "find": "c" }).await;
        assert_eq!(all[0].get("a"), Some(&expected), "{change}");
    }
}

async fn a_constant_set_is_what_others_are_compared_with(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "e": [], "n": null, "a": [1, 2] }]).await;
    for sets in [bson!(["$e", "$n", [1, 2]]), bson!(["$a", "$e", [1, 2], "$n"])] {
        let rows = aggregate(
            db,
            "c",
            vec![doc! { "$project": { "_id": 0, "r": { "$setEquals": sets } } }],
        )
        .await;
        assert_eq!(rows, [doc! { "r": false }]);
    }
    let fails = doc! { "$project": { "r": { "$setEquals": ["$a", "$n", [1, 2]] } } };
    let fails = doc! { "aggregate": "c", "pipeline": [fails], "cursor": {} };
    assert!(said(db, fails).await.ends_with("2-th argument is of type: null"));
}

async fn zeros_keep_their_exponents_in_functions_of_angles(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let decimal = |text: &str| Bson::Decimal128(text.parse::<Decimal128>().unwrap());
    for (function, zero, expected) in [
        ("$sin", "0E+3", "0E+3"),
        ("$atan", "0.00", "0.00"),
        ("$tanh", "-0E-6150", "-0E-6150"),
        ("$asin", "0E+3", "0E-37"),
        ("$tan", "0.00", "0E-42"),
        ("$sinh", "0E-6150", "0E-6176"),
        ("$asinh", "0E+3", "0E-6176"),
    ] {
        let rows = aggregate(
            db,
            "c",
            vec![doc! { "$project": { "_id": 0, "r": { function: decimal(zero) } } }],
        )
        .await;
        assert_eq!(rows, [doc! { "r": decimal(expected) }], "{function} {zero}");
    }
}

fn window(sort_by: &str, function: Document) -> Document {
    doc! { "$setWindowFields": { "sortBy": { sort_by: 1 }, "output": { "r": function } } }
}

async fn windows_of_units_are_of_32_bits(db: &Db) {
    for bound in [bson!(2_147_483_648_i64), bson!(1e300), bson!(i64::MIN)] {
        let range = doc! { "$sum": "$a", "window": { "range": ["unbounded", bound], "unit": "day" } };
        let command = doc! { "aggregate": "c", "pipeline": [window("t", range)], "cursor": {} };
        assert_eq!(
            said(db, command).await,
            "With 'unit', range-based bounds must be an integer"
        );
    }
}

async fn areas_are_of_doubles(db: &Db) {
    let documents = vec![
        doc! { "_id": 0, "y": 0.3 },
        doc! { "_id": 1, "y": 9_007_199_254_740_993_i64 },
    ];
    insert(db, "c", documents).await;
    let area = doc! { "$integral": { "input": "$y" }, "window": { "documents": [-1, 0] } };
    let rows = aggregate(
        db,
        "c",
        vec![window("_id", area), doc! { "$project": { "_id": 0, "r": 1 } }],
    )
    .await;
    assert_eq!(rows[1], doc! { "r": 4_503_599_627_370_496.0 });
}

async fn a_union_passes_over_stages_that_are_null(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    insert(db, "d", vec![doc! { "_id": 2 }, doc! { "_id": 3 }]).await;
    let union = |stages: Bson| vec![doc! { "$unionWith": { "coll": "d", "pipeline": stages } }];
    let rows = aggregate(db, "c", union(bson!([{ "$match": { "_id": 3 } }, null]))).await;
    assert_eq!(rows, [doc! { "_id": 1 }, doc! { "_id": 3 }]);
    let wrong = doc! { "aggregate": "c", "pipeline": union(bson!([null, "x"])), "cursor": {} };
    assert_eq!(
        said(db, wrong).await,
        "BSON field '$unionWith.pipeline.1' is the wrong type 'string', expected type 'object'"
    );
}

async fn fields_without_a_name_are_told_by_what_they_are_in(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let stage = |stage: Document| doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
    for (command, within) in [
        (
            doc! { "aggregate": "c", "pipeline": [], "cursor": { "": 1 } },
            "cursor",
        ),
        (doc! { "find": "c", "collation": { "": 1 } }, "collation"),
        (
            doc! { "update": "c", "updates": [{ "q": {}, "u": {}, "": 1 }] },
            "update.updates",
        ),
        (doc! { "create": "d", "": 1 }, "create"),
        (doc! { "collMod": "c", "index": { "": 1 } }, "collMod.index"),
        (stage(doc! { "$unionWith": { "coll": "x", "": 1 } }), "$unionWith"),
        (
            stage(doc! { "$fill": { "output": { "a": { "value": 1 } }, "": 1 } }),
            "$fill",
        ),
        (stage(doc! { "$merge": { "into": "x", "": 1 } }), "$merge"),
    ] {
        let expected = format!("BSON field '{within}' is an unknown field.");
        assert_eq!(said(db, command.clone()).await, expected, "{command}");
    }
}

async fn a_type_of_what_is_missing_is_none(db: &Db) {
    const NONE: &str =
        "'missing' is not a legal type name. To query for non-existence of a field, use {$exists:false}.";
    let schema = |of: Document| doc! { "$jsonSchema": { "properties": { "a": of } } };
    for filter in [
        doc! { "a": { "$type": "missing" } },
        doc! { "a": { "$not": { "$type": ["int", "missing"] } } },
        schema(doc! { "bsonType": "missing" }),
        schema(doc! { "type": "missing" }),
    ] {
        let find = doc! { "find": "c", "filter": filter };
        assert_eq!(said(db, find.clone()).await, NONE, "{find}");
    }
}

async fn a_variable_is_looked_for_before_what_is_behind_it(db: &Db) {
    for path in ["$$a.", "$$a..b", "$$a.$b"] {
        let command = doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": path } }], "cursor": {} };
        assert_eq!(
            said(db, command).await,
            "Invalid $project :: caused by :: Use of undefined variable: a",
            "{path}"
        );
    }
    let known = doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": "$$ROOT." } }], "cursor": {} };
    assert_eq!(
        said(db, known).await,
        "Invalid $project :: caused by :: FieldPath must not end with a '.'."
    );
}

async fn a_geometry_stands_alone(db: &Db) {
    let circle = doc! { "$center": [[0, 0], 1] };
    for (operators, extra) in [
        (
            doc! { "$exists": true, "$geoWithin": circle.clone() },
            "$geoWithin: { $center: [ [ 0, 0 ], 1 ] }",
        ),
        (doc! { "$geoWithin": circle, "$exists": true }, "$exists: true"),
        (doc! { "$geoWithin": 1, "$exists": true }, "$exists: true"),
        (doc! { "$gt": 1, "$lt": 5, "$geoWithin": 5 }, "$lt: 5"),
    ] {
        let find = doc! { "find": "c", "filter": { "a": operators } };
        let expected = format!("can't parse extra field: {extra}");
        assert_eq!(said(db, find.clone()).await, expected, "{find}");
    }
}

async fn on_sphere(db: &Db) {
    let index = doc! { "key": { "a": "2dsphere" }, "name": "a" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
}

async fn coordinates_are_arrays_of_arrays(db: &Db) {
    on_sphere(db).await;
    for (kind, coordinates) in [
        ("LineString", bson!([5, 5])),
        ("LineString", bson!([{ "x": 1, "y": 2 }, { "x": 1, "y": 3 }])),
        ("MultiPoint", bson!([[1, 2], "x"])),
        ("Polygon", bson!([[5, 5], [6, 6], [7, 7], [5, 5]])),
    ] {
        let shape = doc! { "type": kind, "coordinates": coordinates };
        let insert = doc! { "insert": "c", "documents": [{ "_id": 1, "a": shape }] };
        let said = said(db, insert).await;
        assert!(said.ends_with("  GeoJSON coordinates must be an array"), "{said}");
    }
}

async fn equal_edges_are_told_in_their_order(db: &Db) {
    on_sphere(db).await;
    let shell = [[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]];
    let turned = [[9, 9], [0, 9], [0, 0], [9, 0], [9, 9]];
    for (hole, edge) in [(shell, 0), (turned, 2)] {
        let coordinates: Vec<Vec<Vec<i32>>> = [shell, hole].map(|ring| ring.map(Vec::from).to_vec()).to_vec();
        let shape = doc! { "type": "Polygon", "coordinates": coordinates };
        let insert = doc! { "insert": "c", "documents": [{ "_id": 1, "a": shape }] };
        let said = said(db, insert).await;
        let expected = format!("Duplicate edge: loop 1, edge 0 and loop 0, edge {edge} ");
        assert!(said.contains(&expected), "{said}");
    }
}

async fn what_is_near_is_a_constant(db: &Db) {
    on_sphere(db).await;
    insert(db, "c", vec![doc! { "_id": 1, "a": [1, 1] }]).await;
    for near in ["$a", "$$ROOT"] {
        let stage = doc! { "$geoNear": { "near": near, "distanceField": "d" } };
        let command = doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
        assert_eq!(
            said(db, command).await,
            "$geoNear requires a constant near argument",
            "{near}"
        );
    }
}

async fn circles_of_views_are_told_from_what_is_read(db: &Db) {
    run(db, doc! { "create": "v1", "viewOn": "c", "pipeline": [] }).await;
    run(db, doc! { "create": "v2", "viewOn": "v1", "pipeline": [] }).await;
    assert_eq!(
        said(db, doc! { "create": "c", "viewOn": "v2", "pipeline": [] }).await,
        "View cycle detected: DB.c => DB.c => DB.v1 => DB.v2 => DB.c"
    );
}

async fn the_natural_order_of_a_view_has_no_keys(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
    for natural in [1, -1] {
        let find = doc! {
            "find": "v", "sort": { "$natural": natural }, "projection": { "k": { "$meta": "sortKey" } },
        };
        assert_eq!(
            said(db, find).await,
            "cannot use sortKey $meta projection without a sort"
        );
    }
}

async fn a_text_is_split_at_each_character(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (text, separator, parts) in [
        ("a,b,,c,", ",", vec!["a", "b", "", "c", ""]),
        ("ünö", "n", vec!["ü", "ö"]),
        ("aéébé", "é", vec!["a", "", "b", ""]),
        ("a, b, c", ", ", vec!["a", "b", "c"]),
        ("", ",", vec![""]),
        ("aaa", "aa", vec!["", "a"]),
    ] {
        let split = doc! { "$split": [text, separator] };
        let rows = aggregate(db, "c", vec![doc! { "$project": { "_id": 0, "r": split } }]).await;
        assert_eq!(rows, [doc! { "r": parts }], "{text} {separator}");
    }
}
