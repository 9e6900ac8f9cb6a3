//! Which groups and lookups MongoDB runs by the means of its early stages, told by what those do otherwise: a missing value
//! is below the least key there, and a lookup puts its field last.

use odm::Db;
use odm::bson::{Bson, Document, bson, doc};
use odm_tests::command::{aggregate, code, insert, run};

crate::on_every_backend! {
    filters_by_positions_schemas_elements_and_geometries_make_all_late,
    orders_by_positions_make_all_late,
    a_group_behind_a_group_is_late_unless_nothing_stands_between,
    what_a_bound_lets_through_is_filtered_and_ordered_later,
    the_stages_of_a_union_are_early_and_those_of_a_lookup_are_not,
    a_filter_or_an_order_of_what_a_lookup_made_makes_the_group_late,
    nothing_is_early_in_a_clustered_collection,
    a_group_with_a_hash_or_with_metadata_is_late,
    a_whole_divisor_of_decimals_is_an_integer_in_early_groups_alone,
    the_best_by_documents_with_positions_for_fields_cannot_be_told,
    what_is_missing_is_null_in_the_order_of_an_array,
    symbols_compare_by_their_bytes_in_expressions,
}

/// Whether the group and the lookup behind these stages are early, in a collection made with these options.
async fn are_early(db: &Db, options: Document, stages: &[Document]) -> [bool; 2] {
    let _ = db.run_command(doc! { "drop": "c" }).await;
    let mut create = doc! { "create": "c" };
    create.extend(options);
    run(db, create).await;
    let own = doc! {
        "_id": 1, "b": Bson::MinKey, "s": "one", "j": 1, "z": 2, "a": [1, { "x": 2 }], "o": { "0": 5 }, "p": [0, 0],
    };
    insert(db, "c", vec![own]).await;
    let compared = doc! { "$cmp": ["$n", "$b"] };
    let group = doc! { "$group": { "_id": null, "v": { "$push": compared } } };
    let lookup =
        doc! { "$lookup": { "from": "other", "localField": "_id", "foreignField": "_id", "as": "j" } };
    let behind = |last: Document| [stages, &[last]].concat();
    let grouped = aggregate(db, "c", behind(group)).await;
    let joined = aggregate(db, "c", behind(lookup)).await;
    assert_eq!((grouped.len(), joined.len()), (1, 1), "{stages:?}");
    [
        grouped[0].get_array("v").unwrap() == &vec![Bson::Int32(-1)],
        joined[0].keys().last().map(String::as_str) == Some("j"),
    ]
}

async fn filters_by_positions_schemas_elements_and_geometries_make_all_late(db: &Db) {
    for (filter, early) in [
        (doc! {}, true),
        (doc! { "a.x": 2 }, true),
        (doc! { "a.00": null }, true),
        (doc! { "a": { "$elemMatch": { "x": 2 } } }, true),
        (doc! { "a": { "$size": 2 } }, true),
        (doc! { "a": { "$all": [1] } }, true),
        (doc! { "$expr": { "$eq": ["$o.0", 5] } }, true),
        (doc! { "a.0": 1 }, false),
        (doc! { "0": null }, false),
        (doc! { "$nor": [{ "a.1": 5 }] }, false),
        (doc! { "$or": [{ "s": "one" }, { "z.0": 1 }] }, false),
        (doc! { "a": { "$elemMatch": { "$gt": 0 } } }, false),
        (doc! { "a": { "$not": { "$elemMatch": { "$gt": 7 } } } }, false),
        (doc! { "a": { "$not": { "$elemMatch": { "0": 5 } } } }, false),
        (
            doc! { "p": { "$geoWithin": { "$box": [[-1, -1], [1, 1]] } } },
            false,
        ),
        (doc! { "$jsonSchema": {} }, false),
        (doc! { "$expr": { "$eq": [{ "$size": "$a" }, 2] } }, false),
        (doc! { "$expr": { "$eq": ["$a", [1, { "x": 2 }]] } }, false),
    ] {
        let found = are_early(db, doc! {}, &[doc! { "$match": filter.clone() }]).await;
        assert_eq!(found, [early; 2], "{filter}");
    }
}

async fn orders_by_positions_make_all_late(db: &Db) {
    for (order, early) in [
        (doc! { "a": 1 }, true),
        (doc! { "a.x": -1, "s": 1 }, true),
        (doc! { "a.01": 1 }, true),
        (doc! { "a.2": -1 }, false),
        (doc! { "0": 1 }, false),
        (doc! { "s": 1, "o.0": 1 }, false),
    ] {
        let found = are_early(db, doc! {}, &[doc! { "$sort": order.clone() }]).await;
        assert_eq!(found, [early; 2], "{order}");
    }
}

/// The code of what fails in a group behind these stages.
async fn failed(db: &Db, stages: &[Document], of: &str) -> i32 {
    let group = doc! { "$group": { "_id": null, "v": { "$push": { "$abs": of } } } };
    let pipeline = [stages, &[group]].concat();
    code(db, doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }).await
}

const EARLY: i32 = 4_903_700;
const LATE: i32 = 28_765;

async fn a_group_behind_a_group_is_late_unless_nothing_stands_between(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "s": "one" }]).await;
    let by_field = doc! { "$group": { "_id": "$s", "n": { "$sum": 1 } } };
    for (between, expected) in [
        (vec![], EARLY),
        (vec![doc! { "$match": { "_id": { "$ne": 7 } } }], EARLY),
        (vec![doc! { "$match": { "n": 1 } }], LATE),
        (vec![doc! { "$sort": { "_id": 1 } }], LATE),
        (vec![doc! { "$limit": 2 }], LATE),
        (vec![doc! { "$project": { "n": 1 } }], LATE),
    ] {
        let stages = [std::slice::from_ref(&by_field), between.as_slice()].concat();
        assert_eq!(failed(db, &stages, "$_id").await, expected, "{between:?}");
    }
    // No filter of the documents is one of these keys.
    let by_document = doc! { "$group": { "_id": { "a": "$s" } } };
    let stages = [by_document, doc! { "$match": { "_id": { "$ne": 7 } } }];
    assert_eq!(failed(db, &stages, "$_id.a").await, LATE);
    // A stage of its own orders these.
    let counted = doc! { "$sortByCount": "$s" };
    assert_eq!(failed(db, &[counted], "$_id").await, LATE);
}

async fn what_a_bound_lets_through_is_filtered_and_ordered_later(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "s": "one" }]).await;
    let (bound, nothing) = (doc! { "$limit": 1 }, doc! { "$skip": 0 });
    let filter = doc! { "$match": { "s": "one" } };
    let order = doc! { "$sort": { "s": 1 } };
    for (stages, expected) in [
        (vec![bound.clone()], EARLY),
        (vec![nothing, filter.clone()], EARLY),
        (vec![order.clone(), bound.clone()], EARLY),
        (vec![bound.clone(), filter], LATE),
        (vec![bound, order], LATE),
    ] {
        assert_eq!(failed(db, &stages, "$s").await, expected, "{stages:?}");
    }
}

async fn the_stages_of_a_union_are_early_and_those_of_a_lookup_are_not(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "s": "one" }]).await;
    let group = doc! { "$group": { "_id": null, "v": { "$push": { "$abs": "$s" } } } };
    for (stage, expected) in [
        (
            doc! { "$unionWith": { "coll": "c", "pipeline": [group.clone()] } },
            EARLY,
        ),
        (
            doc! { "$lookup": { "from": "c", "pipeline": [group], "as": "j" } },
            LATE,
        ),
    ] {
        let command = doc! { "aggregate": "c", "pipeline": [stage.clone()], "cursor": {} };
        assert_eq!(code(db, command).await, expected, "{stage}");
    }
}

async fn a_filter_or_an_order_of_what_a_lookup_made_makes_the_group_late(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "s": "one" }]).await;
    let lookup =
        doc! { "$lookup": { "from": "other", "localField": "_id", "foreignField": "_id", "as": "j" } };
    for (behind, expected) in [
        (doc! { "$match": { "s": "one" } }, EARLY),
        (doc! { "$sort": { "s": 1 } }, EARLY),
        (doc! { "$match": { "j": [] } }, LATE),
        (doc! { "$sort": { "j": 1 } }, LATE),
        (doc! { "$project": { "s": 1 } }, LATE),
    ] {
        let found = failed(db, &[lookup.clone(), behind.clone()], "$s").await;
        assert_eq!(found, expected, "{behind}");
    }
}

async fn nothing_is_early_in_a_clustered_collection(db: &Db) {
    let clustered = doc! { "clusteredIndex": { "key": { "_id": 1 }, "unique": true } };
    let capped = doc! { "capped": true, "size": 10_000 };
    for stages in [vec![], vec![doc! { "$match": { "s": "one" } }]] {
        assert_eq!(are_early(db, clustered.clone(), &stages).await, [false; 2]);
        assert_eq!(are_early(db, capped.clone(), &stages).await, [true; 2]);
    }
}

async fn a_group_with_a_hash_or_with_metadata_is_late(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "n": 1, "b": Bson::MinKey }]).await;
    for (beside, expected) in [
        (doc! { "$add": ["$n", 1] }, -1),
        (doc! { "$toHashedIndexKey": "$n" }, 1),
        (doc! { "$meta": "indexKey" }, 1),
    ] {
        let compared = doc! { "$push": { "$cmp": ["$q", "$b"] } };
        let group = doc! { "_id": null, "v": compared, "w": { "$push": beside.clone() } };
        let stages = vec![
            doc! { "$group": group },
            doc! { "$project": { "_id": 0, "v": 1 } },
        ];
        let found = aggregate(db, "c", stages).await;
        assert_eq!(found, vec![doc! { "v": [expected] }], "{beside}");
    }
}

async fn a_whole_divisor_of_decimals_is_an_integer_in_early_groups_alone(db: &Db) {
    let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
    for (left, right, early, late) in [
        (decimal("7"), Bson::Double(2.0), "1", "1.00000000000000"),
        (decimal("1E+2"), Bson::Double(7.0), "2", "2.00000000000000"),
        (
            decimal("7.5"),
            Bson::Double(2.25),
            "0.75000000000000",
            "0.75000000000000",
        ),
        (
            Bson::Double(7.0),
            decimal("2"),
            "1.00000000000000",
            "1.00000000000000",
        ),
    ] {
        let _ = db.run_command(doc! { "drop": "c" }).await;
        insert(db, "c", vec![doc! { "_id": 1, "a": left, "b": right }]).await;
        let rest = doc! { "$mod": ["$a", "$b"] };
        let group = doc! { "$group": { "_id": null, "v": { "$last": rest.clone() } } };
        for (stage, expected) in [(group, early), (doc! { "$project": { "v": rest } }, late)] {
            let found = aggregate(db, "c", vec![stage]).await;
            assert_eq!(found[0].get("v"), Some(&decimal(expected)));
        }
    }
}

async fn the_best_by_documents_with_positions_for_fields_cannot_be_told(db: &Db) {
    let own = doc! { "_id": 1, "n": { "0": { "x": {} } }, "k": { "1": 5 }, "m": [{ "0": 1 }], "o": 5 };
    insert(db, "c", vec![own]).await;
    for (order, expected) in [
        (doc! { "n": 1 }, 16_746),
        (doc! { "o": 1, "k": 1 }, 16_746),
        (doc! { "o": 1, "n": 1 }, 16_746),
        (doc! { "k": 1, "o": 1 }, 16_746),
        (doc! { "k": 1 }, 0),
        (doc! { "m": 1 }, 0),
        (doc! { "n.0": 1 }, 0),
    ] {
        let best = doc! { "output": "$o", "sortBy": order.clone() };
        let several = doc! { "output": "$o", "sortBy": order.clone(), "n": 2 };
        for stage in [
            doc! { "$group": { "_id": null, "v": { "$top": best.clone() } } },
            doc! { "$group": { "_id": null, "v": { "$bottomN": several } } },
            doc! { "$setWindowFields": { "output": { "v": { "$bottom": best } } } },
        ] {
            let found = code(
                db,
                doc! { "aggregate": "c", "pipeline": [stage.clone()], "cursor": {} },
            )
            .await;
            assert_eq!(found, expected, "{stage}");
        }
    }
}

async fn what_is_missing_is_null_in_the_order_of_an_array(db: &Db) {
    let list = bson!([
        { "y": null, "k": 1 }, { "k": 2 }, { "y": Bson::Undefined, "k": 3 }, { "y": Bson::MinKey, "k": 4 },
        { "k": 5 }, 3, { "y": [], "k": 7 },
    ]);
    insert(db, "c", vec![doc! { "_id": 1, "l": list }]).await;
    let sorted = |direction: i32| doc! { "$sortArray": { "input": "$l", "sortBy": { "y": direction } } };
    let project = doc! { "$project": { "_id": 0, "up": sorted(1), "down": sorted(-1) } };
    let found = aggregate(db, "c", vec![project]).await;
    let keys = |name: &str| -> Vec<i32> {
        let items = found[0].get_array(name).unwrap().iter();
        items
            .map(|item| match item {
                Bson::Document(item) => item.get_i32("k").unwrap(),
                _ => 0,
            })
            .collect()
    };
    assert_eq!(keys("up"), [4, 3, 1, 2, 5, 0, 7]);
    assert_eq!(keys("down"), [7, 1, 2, 5, 0, 3, 4]);
}

async fn symbols_compare_by_their_bytes_in_expressions(db: &Db) {
    let symbol = |text: &str| Bson::Symbol(text.to_owned());
    insert(db, "c", vec![doc! { "_id": 1, "a": symbol("a"), "t": "a" }]).await;
    for (operator, values, expected) in [
        ("$lte", bson!(["$a", "B"]), false),
        ("$lte", bson!(["$t", "B"]), true),
        ("$lte", bson!(["$t", { "$literal": symbol("B") }]), true),
        ("$lt", bson!(["$a", { "$literal": symbol("B") }]), false),
        ("$gt", bson!(["$a", "B"]), true),
        ("$gte", bson!(["B", "$a"]), true),
    ] {
        let shown = format!("{operator} {values}");
        let project = doc! { "$project": { "_id": 0, "v": { operator: values } } };
        let command = doc! {
            "aggregate": "c", "pipeline": [project], "cursor": {}, "collation": { "locale": "en" },
        };
        let found = odm_tests::command::batch(&run(db, command).await);
        assert_eq!(found, vec![doc! { "v": expected }], "{shown}");
    }
}
