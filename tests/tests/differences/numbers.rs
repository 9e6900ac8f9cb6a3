//! What a million random commands found to differ: numbers, dates, groups and what filters say by their form.

use odm::Db;
use odm::bson::{Bson, DateTime, Decimal128, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    sums_with_dates_round_toward_the_epoch,
    sums_of_dates_and_decimals_round_to_even,
    units_before_the_epoch_begin_at_whole_seconds,
    decimal_logarithms_are_divided_by_their_base,
    covariances_are_made_of_running_sums,
    defaults_of_a_switch_are_always_computed,
    the_first_of_a_group_is_looked_at_once,
    of_equal_extremes_a_group_keeps_the_last,
    a_null_makes_a_sum_null_in_a_group,
    tops_compare_arrays_as_values,
    upserts_know_branches_that_match_nothing,
    nothing_is_near_where_nothing_matches,
    searches_want_an_index_where_there_is_no_collection,
    wildcard_indexes_may_be_hinted_for_remainders,
    each_document_gets_a_timestamp_of_its_own,
    angles_of_decimal_points_have_all_digits,
}

/// The value of an expression over one document.
async fn value(db: &Db, expression: impl Into<Bson>) -> Bson {
    let project = doc! { "$project": { "_id": 0, "r": expression.into() } };
    let found = aggregate(db, "c", vec![project]).await;
    found[0].get("r").cloned().expect("a value")
}

async fn sums_with_dates_round_toward_the_epoch(db: &Db) {
    let (before, behind) = (DateTime::from_millis(-1_000), DateTime::from_millis(1_000));
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "before": before, "behind": behind }],
    )
    .await;
    for (field, number, expected) in [
        ("$before", 0.5, -999),
        ("$before", -0.5, -1_000),
        ("$before", 1.5, -998),
        ("$before", 0.4, -1_000),
        ("$before", 0.6, -999),
        ("$before", -0.6, -1_001),
        ("$behind", 0.5, 1_000),
        ("$behind", -0.5, 999),
        ("$behind", -1.5, 998),
        ("$behind", 0.6, 1_001),
        ("$behind", -1_000.5, 0),
        ("$behind", -1_001.5, -1),
        ("$behind", -1_002.5, -2),
    ] {
        let sum = value(db, doc! { "$toLong": { "$add": [field, number] } }).await;
        assert_eq!(sum, Bson::Int64(expected), "{field} {number}");
    }
}

async fn sums_of_dates_and_decimals_round_to_even(db: &Db) {
    let (round, odd) = (
        DateTime::from_millis(1_000),
        DateTime::from_millis(1_072_915_200_007),
    );
    insert(db, "c", vec![doc! { "_id": 1, "round": round, "odd": odd }]).await;
    for (field, number, expected) in [
        ("$round", "-0.5", 1_000),
        ("$round", "0.5", 1_000),
        ("$round", "-1.5", 998),
        ("$round", "-0.6", 999),
        ("$round", "0.50000000000000000000001", 1_001),
        ("$odd", "-0.5", 1_072_915_200_006),
        ("$odd", "0.5", 1_072_915_200_008),
        ("$odd", "9.5", 1_072_915_200_016),
        ("$odd", "0.49999999999999999999999", 1_072_915_200_008),
    ] {
        let decimal = number.parse::<Decimal128>().expect("a decimal");
        let sum = value(db, doc! { "$toLong": { "$add": [field, decimal] } }).await;
        assert_eq!(sum, Bson::Int64(expected), "{field} {number}");
    }
    let beyond = "9.3E+18".parse::<Decimal128>().expect("a decimal");
    let least = value(db, doc! { "$toLong": { "$add": ["$odd", beyond] } }).await;
    assert_eq!(least, Bson::Int64(i64::MIN));
    let number = "-0.5".parse::<Decimal128>().expect("a decimal");
    let difference = value(db, doc! { "$toLong": { "$subtract": ["$odd", number] } }).await;
    assert_eq!(difference, Bson::Int64(1_072_915_200_007));
}

async fn units_before_the_epoch_begin_at_whole_seconds(db: &Db) {
    const DAY: i64 = 86_400_000;
    let date = DateTime::from_millis(-DAY + 3);
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "date": date, "whole": DateTime::from_millis(-DAY) }],
    )
    .await;
    for (unit, length) in [
        ("millisecond", 1),
        ("second", 1_000),
        ("minute", 60_000),
        ("hour", 3_600_000),
        ("day", DAY),
        ("week", 7 * DAY),
        ("month", 31 * DAY),
        ("quarter", 90 * DAY),
        ("year", 365 * DAY),
    ] {
        let early = if unit == "millisecond" { 0 } else { 1_000 };
        for (field, begin, early) in [("$date", -DAY + 3, early), ("$whole", -DAY, 0)] {
            let later = doc! { "$dateAdd": { "startDate": field, "unit": unit, "amount": 1 } };
            let sum = value(db, later).await;
            let expected = DateTime::from_millis(begin + length - early);
            assert_eq!(sum, Bson::DateTime(expected), "{unit} {field}");
        }
    }
    // A short month's end is counted from the day of the date, and the second that is missing from what that gives.
    for (begin, months, expected) in [
        (-DAY, -3, -93 * DAY),
        (-DAY, 2, 58 * DAY),
        (-31 * DAY, 2, 30 * DAY),
        (-31 * DAY, -1, -62 * DAY),
    ] {
        let begin = DateTime::from_millis(begin + 2);
        let later = doc! { "$dateAdd": { "startDate": begin, "unit": "month", "amount": months } };
        let expected = DateTime::from_millis(expected + 2 - 1_000);
        assert_eq!(
            value(db, later).await,
            Bson::DateTime(expected),
            "{begin} {months}"
        );
    }
    // Its second has to begin among all dates.
    let begin = DateTime::from_millis(i64::MIN);
    let after =
        |unit: &str, amount: i32| doc! { "$dateAdd": { "startDate": begin, "unit": unit, "amount": amount } };
    for (unit, amount, behind) in [("second", 2, 1_000), ("millisecond", 5, 5)] {
        let expected = DateTime::from_millis(i64::MIN + behind);
        assert_eq!(
            value(db, after(unit, amount)).await,
            Bson::DateTime(expected),
            "{unit}"
        );
    }
    for (unit, amount) in [("second", 1), ("day", 0), ("minute", 0)] {
        let pipeline = vec![doc! { "$project": { "later": after(unit, amount) } }];
        let refused = code(db, doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }).await;
        assert_eq!(refused, 5_166_406, "{unit}");
    }
}

async fn decimal_logarithms_are_divided_by_their_base(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let decimal = |text: &str| Bson::Decimal128(text.parse::<Decimal128>().expect("a decimal"));
    for (number, base, expected) in [
        ("8", bson!(2), "3"),
        ("1000", decimal("10"), "3"),
        ("0.5", bson!(2), "-1"),
        ("7", decimal("2.5"), "0.778364059622125322042141097377272"),
        ("9", bson!(3), "0.7324081924454064609301634912816837"),
    ] {
        let logarithm = value(db, doc! { "$log": [decimal(number), base] }).await;
        assert_eq!(logarithm, decimal(expected), "{number}");
    }
}

async fn covariances_are_made_of_running_sums(db: &Db) {
    for (pairs, window, expected) in [
        (
            vec![(1, 9), (1, 4), (-1, 3), (2, 2)],
            "unbounded",
            vec![
                None,
                Some(0.0),
                Some(2.333333333333333),
                Some(0.16666666666666638),
            ],
        ),
        (
            vec![(2, 2), (-1, 3), (1, 4), (1, 9)],
            "unbounded",
            vec![None, Some(-1.5), Some(-0.5), Some(0.16666666666666674)],
        ),
        (
            vec![(2, 4), (-1, 1), (-2, 0)],
            "unbounded",
            vec![None, Some(4.5), Some(4.333333333333334)],
        ),
    ] {
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
        let documents = pairs.iter().enumerate();
        let documents = documents.map(|(id, (x, y))| doc! { "_id": id as i32, "x": x, "y": y });
        insert(db, "c", documents.collect()).await;
        let output = doc! { "$covarianceSamp": ["$x", "$y"], "window": { "documents": [window, "current"] } };
        let stage = doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": { "r": output } } };
        let found = aggregate(db, "c", vec![stage]).await;
        let found: Vec<Option<f64>> = found.iter().map(|row| row.get_f64("r").ok()).collect();
        assert_eq!(found, expected, "{pairs:?}");
    }
}

async fn defaults_of_a_switch_are_always_computed(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let wrong = || doc! { "$in": [1, null] };
    let command = |expression: Document| doc! { "aggregate": "c", "pipeline": [{ "$project": { "r": expression } }], "cursor": {} };
    let taken = doc! { "$switch": { "branches": [{ "case": true, "then": 1 }], "default": wrong() } };
    assert_eq!(code(db, command(taken)).await, 40081);
    let behind = [
        doc! { "case": true, "then": 1 },
        doc! { "case": wrong(), "then": 1 },
    ];
    let spared = doc! { "$switch": { "branches": behind.to_vec() } };
    assert_eq!(value(db, spared).await, bson!(1));
}

async fn the_first_of_a_group_is_looked_at_once(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "l": [], "n": 1 }, doc! { "_id": 2, "n": "x" }],
    )
    .await;
    let group = |accumulator: Document| doc! { "$group": { "_id": null, "r": accumulator } };
    let found = aggregate(db, "c", vec![group(doc! { "$first": { "$size": "$l" } })]).await;
    assert_eq!(found[0].get("r"), Some(&bson!(0)));
    let refused = |stages: Vec<Document>| doc! { "aggregate": "c", "pipeline": stages, "cursor": {} };
    let last = group(doc! { "$last": { "$size": "$l" } });
    assert_eq!(code(db, refused(vec![last])).await, 17124);
    // Where a server has other means it looks at all.
    let sum = || group(doc! { "$first": { "$add": [1, "$n"] } });
    assert_eq!(code(db, refused(vec![sum()])).await, 4_974_201);
    let found = aggregate(db, "c", vec![doc! { "$set": { "x": 1 } }, sum()]).await;
    assert_eq!(found[0].get("r"), Some(&bson!(2)));
}

async fn of_equal_extremes_a_group_keeps_the_last(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "n": 3_i32 }, doc! { "_id": 2, "n": 3_i64 }],
    )
    .await;
    for operator in ["$min", "$max"] {
        let group = || doc! { "$group": { "_id": null, "r": { operator: "$n" } } };
        let found = aggregate(db, "c", vec![group()]).await;
        assert_eq!(found[0].get("r"), Some(&bson!(3_i64)), "{operator}");
        let found = aggregate(db, "c", vec![doc! { "$set": { "x": 1 } }, group()]).await;
        assert_eq!(found[0].get("r"), Some(&bson!(3_i32)), "{operator}");
    }
}

async fn a_null_makes_a_sum_null_in_a_group(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "n": {} }]).await;
    for operator in ["$add", "$multiply"] {
        for arguments in [bson!([null, "$n"]), bson!(["$n", null]), bson!(["$n", "$none"])] {
            let group = doc! { "$group": { "_id": null, "r": { "$push": { operator: &arguments } } } };
            let found = aggregate(db, "c", vec![group]).await;
            assert_eq!(found[0].get("r"), Some(&bson!([null])), "{operator} {arguments}");
        }
    }
}

async fn tops_compare_arrays_as_values(db: &Db) {
    let values = [
        bson!([3]),
        bson!("b"),
        bson!([1, 9]),
        bson!(5),
        bson!([]),
        bson!([null]),
    ];
    let documents = values.iter().enumerate();
    let mut documents: Vec<Document> = documents
        .map(|(at, n)| doc! { "_id": at as i32 + 1, "n": n })
        .collect();
    documents.push(doc! { "_id": 7 });
    insert(db, "c", documents).await;
    for (direction, expected) in [(1, [5, 7, 4, 2, 6, 3, 1]), (-1, [1, 3, 6, 2, 4, 7, 5])] {
        for operator in ["$topN", "$bottomN"] {
            let top = doc! { operator: { "output": "$_id", "sortBy": { "n": direction }, "n": 9 } };
            let found = aggregate(db, "c", vec![doc! { "$group": { "_id": null, "r": top } }]).await;
            let order: Vec<Bson> = expected.iter().map(|id| bson!(*id)).collect();
            assert_eq!(
                found[0].get("r"),
                Some(&Bson::Array(order)),
                "{operator} {direction}"
            );
        }
    }
    run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
    let inside = vec![
        doc! { "_id": 1, "a": [{ "b": 3 }, { "b": 1 }] },
        doc! { "_id": 2, "a": { "b": 2 } },
        doc! { "_id": 3, "a": [{ "b": 9 }] },
        doc! { "_id": 4 },
    ];
    insert(db, "c", inside).await;
    let top = doc! { "$topN": { "output": "$_id", "sortBy": { "a.b": 1 }, "n": 9 } };
    let found = aggregate(db, "c", vec![doc! { "$group": { "_id": null, "r": top } }]).await;
    assert_eq!(found[0].get("r"), Some(&bson!([4, 2, 1, 3])));
}

async fn upserts_know_branches_that_match_nothing(db: &Db) {
    let never = || doc! { "$alwaysFalse": 1 };
    let upsert = async |filter: Document, update: Document| {
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
        run(
            db,
            doc! { "update": "c", "updates": [{ "q": filter, "u": update, "upsert": true }] },
        )
        .await;
        let mut found = batch(&run(db, doc! { "find": "c" }).await);
        found.pop().expect("it was inserted")
    };
    for filter in [
        doc! { "$and": [never()], "_id": 21, "a": 3 },
        doc! { "_id": 21, "a": 3, "$or": [never()] },
        doc! { "_id": 21, "a": 3, "$jsonSchema": { "enum": [2] } },
        doc! { "_id": 21, "b": { "$all": [] } },
    ] {
        for update in [doc! {}, doc! { "$set": { "z": 1 } }] {
            let inserted = upsert(filter.clone(), update).await;
            assert!(inserted.get_object_id("_id").is_ok(), "{filter}: {inserted}");
            assert!(!inserted.contains_key("a"), "{filter}: {inserted}");
        }
    }
    let one = doc! { "$or": [{ "_id": 9, "c": -1 }, never(), { "$jsonSchema": { "enum": [2] } }] };
    assert_eq!(
        upsert(one.clone(), doc! { "$set": { "z": 1 } }).await,
        doc! { "_id": 9, "c": -1, "z": 1 }
    );
    assert_eq!(upsert(one, doc! {}).await, doc! { "_id": 9 });
    let clash = doc! { "$or": [{ "c": -1, "c.y": 1 }, never()] };
    let reply = run(
        db,
        doc! { "update": "c", "updates": [{ "q": clash, "u": { "$set": { "z": 1 } }, "upsert": true }] },
    )
    .await;
    let errors = reply.get_array("writeErrors").expect("it is refused");
    assert_eq!(errors[0].as_document().unwrap().get("code"), Some(&bson!(54)));
}

async fn nothing_is_near_where_nothing_matches(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for never in [
        doc! { "$alwaysFalse": 1 },
        doc! { "$jsonSchema": { "type": "number" } },
        doc! { "$jsonSchema": { "oneOf": [{ "bsonType": "int" }] } },
    ] {
        let mut filter = never;
        filter.insert("g", doc! { "$near": [1, 3] });
        let found = batch(&run(db, doc! { "find": "c", "filter": &filter }).await);
        assert!(found.is_empty(), "{filter}");
    }
    assert_eq!(
        code(db, doc! { "find": "c", "filter": { "g": { "$near": [1, 3] } } }).await,
        291
    );
}

async fn searches_want_an_index_where_there_is_no_collection(db: &Db) {
    let search = || doc! { "$text": { "$search": "x" } };
    assert_eq!(code(db, doc! { "find": "none", "filter": search() }).await, 27);
    let counted = run(db, doc! { "count": "none", "query": search() }).await;
    assert_eq!(counted.get("n"), Some(&bson!(0)));
    insert(db, "c", vec![doc! { "_id": 1, "t": "x" }]).await;
    run(
        db,
        doc! { "createIndexes": "c", "indexes": [{ "key": { "t": "text" }, "name": "t" }] },
    )
    .await;
    run(db, doc! { "create": "v", "viewOn": "c" }).await;
    assert_eq!(code(db, doc! { "find": "v", "filter": search() }).await, 27);
}

async fn wildcard_indexes_may_be_hinted_for_remainders(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "b": 3, "c": [{ "x": 6 }] }]).await;
    let all = doc! { "key": { "$**": 1 }, "name": "all" };
    let some = doc! { "key": { "c.$**": 1 }, "name": "some" };
    run(db, doc! { "createIndexes": "c", "indexes": [all, some] }).await;
    for filter in [
        doc! { "b": { "$mod": [3, 0] } },
        doc! { "c": { "$elemMatch": { "$or": [{ "x": 6 }] } } },
        doc! { "$jsonSchema": { "required": ["b"] } },
    ] {
        let found = run(db, doc! { "find": "c", "filter": &filter, "hint": "all" }).await;
        assert_eq!(ids(&batch(&found)), [1], "{filter}");
    }
    let find = |condition: Bson| doc! { "find": "c", "filter": { "c.0": condition }, "hint": "some" };
    for condition in [
        bson!({ "x": 6 }),
        bson!({ "$gt": { "a": 1 } }),
        bson!(null),
        bson!({ "$size": 1 }),
    ] {
        assert_eq!(code(db, find(condition.clone())).await, 291, "{condition}");
    }
    for condition in [
        bson!(2),
        bson!([]),
        bson!({ "$lt": Bson::MinKey }),
        bson!({ "$gt": null }),
    ] {
        assert!(
            batch(&run(db, find(condition.clone())).await).is_empty(),
            "{condition}"
        );
    }
}

async fn each_document_gets_a_timestamp_of_its_own(db: &Db) {
    insert(db, "c", (1..=5).map(|id| doc! { "_id": id, "a": id }).collect()).await;
    let index = doc! { "key": { "a": 1 }, "name": "a", "unique": true };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    let update = || doc! { "$currentDate": { "a": { "$type": "timestamp" } } };
    let updates = [
        doc! { "q": { "_id": { "$lt": 4 } }, "u": update(), "multi": true },
        doc! { "q": { "_id": 4 }, "u": update() },
        doc! { "q": { "_id": 5 }, "u": update() },
        doc! { "q": { "_id": 6 }, "u": update(), "upsert": true },
    ];
    let reply = run(db, doc! { "update": "c", "updates": updates.to_vec() }).await;
    assert_eq!(reply.get("writeErrors"), None);
    assert_eq!(reply.get("n"), Some(&bson!(6)));
    let found = batch(&run(db, doc! { "find": "c", "sort": { "_id": 1 } }).await);
    let stamps: Vec<_> = found
        .iter()
        .map(|row| row.get_timestamp("a").expect("a timestamp"))
        .collect();
    assert!(
        stamps.len() == 6 && stamps.is_sorted_by(|one, other| one < other),
        "{stamps:?}"
    );
}

async fn angles_of_decimal_points_have_all_digits(db: &Db) {
    let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (y, x, expected) in [
        (decimal("1"), decimal("0"), "1.570796326794896619231321691639751"),
        (bson!(1), decimal("0"), "1.570796326794896619231321691639751"),
        (decimal("0"), decimal("-1"), "3.141592653589793238462643383279503"),
        (decimal("-0"), decimal("1"), "-0E-6176"),
        (decimal("1"), decimal("Infinity"), "0E-6176"),
        (
            decimal("Infinity"),
            decimal("-Infinity"),
            "2.356194490192344928846982537459627",
        ),
        (
            decimal("1"),
            decimal("1E+12"),
            "9.999999999999999999999996666666667E-13",
        ),
        (
            decimal("1"),
            decimal("1E+17"),
            "1.000000000000000000000000000000000E-17",
        ),
        (
            decimal("3"),
            decimal("7E+30"),
            "4.285714285714285714285714285714286E-31",
        ),
        (decimal("-2"), decimal("8E+50"), "-2.5E-51"),
        (decimal("1"), decimal("1E+6000"), "1E-6000"),
        (
            decimal("3"),
            decimal("-7E+20"),
            "3.141592653589793238458357668993789",
        ),
        (
            decimal("7E+20"),
            decimal("3"),
            "1.570796326794896619227035977354037",
        ),
        (
            decimal("7E-100"),
            decimal("-3E-100"),
            "1.975688113079980042543394620649194",
        ),
    ] {
        let angle = value(db, doc! { "$atan2": [y.clone(), x.clone()] }).await;
        assert_eq!(angle, decimal(expected), "{y} {x}");
    }
}
