//! What random commands found to differ when they began elsewhere.

use odm::Db;
use odm::bson::{Bson, DateTime, Decimal128, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    the_second_argument_of_a_difference_fails_first,
    a_position_in_a_constant_that_is_no_array_is_refused_before_the_run,
    the_first_values_are_not_looked_for_behind_them,
    early_groups_add_doubles_to_decimals_with_fifteen_digits,
    what_is_not_in_null_alone_is_there,
    negative_integers_behind_fractions_are_added_exactly,
    means_of_integers_are_exact_in_early_groups_alone,
    all_matches_are_found_with_the_empty_ones_between_them,
    dates_by_a_format_may_have_fewer_digits,
    arrays_are_zipped_without_what_is_missing,
    the_limit_of_a_filter_of_nothing_is_not_looked_at,
    months_without_measure_are_out_of_range,
}

async fn refused(db: &Db, pipeline: Vec<Document>) -> i32 {
    code(db, doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }).await
}

async fn the_second_argument_of_a_difference_fails_first(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let (length, size) = (bson!({ "$strLenCP": "$missing" }), bson!({ "$size": "$missing" }));
    for (operator, first, second) in [
        ("$subtract", 17124, 34471),
        ("$divide", 17124, 34471),
        ("$mod", 34471, 17124),
        ("$pow", 34471, 17124),
    ] {
        let of = |arguments: [&Bson; 2]| {
            vec![doc! { "$project": { "x": { operator: arguments.map(Bson::clone).to_vec() } } }]
        };
        assert_eq!(refused(db, of([&length, &size])).await, first, "{operator}");
        assert_eq!(refused(db, of([&size, &length])).await, second, "{operator}");
        assert_eq!(refused(db, of([&length, &Bson::Null])).await, 34471, "{operator}");
    }
}

async fn a_position_in_a_constant_that_is_no_array_is_refused_before_the_run(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    for (array, expected) in [
        (bson!({}), 50809),
        (bson!("q"), 50809),
        (bson!(1), 50809),
        (Bson::Null, 0),
        (bson!({ "$literal": [] }), 0),
    ] {
        let position = doc! { "$indexOfArray": [array.clone(), "$a"] };
        assert_eq!(
            refused(db, vec![doc! { "$project": { "x": position } }]).await,
            expected,
            "{array}"
        );
    }
    let position = doc! { "$indexOfArray": [{ "$literal": {} }, 1] };
    assert_eq!(
        refused(db, vec![doc! { "$project": { "x": position } }]).await,
        40090
    );
}

async fn the_first_values_are_not_looked_for_behind_them(db: &Db) {
    let texts = [bson!("a"), bson!("b"), bson!({})];
    let documents = texts
        .into_iter()
        .zip(1..)
        .map(|(text, id)| doc! { "_id": id, "s": text });
    insert(db, "c", documents.collect()).await;
    let first = |count: i32| {
        let values = doc! { "$firstN": { "input": { "$strcasecmp": ["", "$s"] }, "n": count } };
        vec![
            doc! { "$sort": { "_id": 1 } },
            doc! { "$group": { "_id": Bson::Null, "w": values } },
        ]
    };
    assert_eq!(
        aggregate(db, "c", first(1)).await,
        [doc! { "_id": Bson::Null, "w": [-1] }]
    );
    // That there are more shows with the one behind them.
    assert_eq!(refused(db, first(2)).await, 16007);
}

async fn early_groups_add_doubles_to_decimals_with_fifteen_digits(db: &Db) {
    let decimal = |text: &str| Bson::Decimal128(text.parse::<Decimal128>().unwrap());
    insert(db, "c", vec![doc! { "_id": 1, "n": 1.0 }]).await;
    for (arguments, expected) in [
        (vec![bson!("$n"), decimal("3")], "4.00000000000000"),
        (vec![decimal("3"), bson!("$n")], "4.00000000000000"),
        (vec![bson!("$n"), bson!(3_i64), decimal("1")], "5.00000000000000"),
    ] {
        let sum = doc! { "$push": { "$add": arguments } };
        let groups = aggregate(db, "c", vec![doc! { "$group": { "_id": 0, "w": sum } }]).await;
        assert_eq!(groups, [doc! { "_id": 0, "w": [decimal(expected)] }]);
    }
}

async fn what_is_not_in_null_alone_is_there(db: &Db) {
    insert(
        db,
        "c",
        vec![
            doc! { "_id": 1, "a": 1 },
            doc! { "_id": 2, "a": Bson::Null },
            doc! { "_id": 3 },
        ],
    )
    .await;
    let index = doc! { "key": { "$**": 1 }, "name": "all" };
    run(db, doc! { "createIndexes": "c", "indexes": [index] }).await;
    for filter in [
        doc! { "a": { "$nin": [Bson::Null] } },
        doc! { "a": { "$not": { "$in": [Bson::Null] } } },
    ] {
        let found = run(db, doc! { "find": "c", "filter": filter, "hint": "all" }).await;
        assert_eq!(ids(&batch(&found)), [1]);
    }
    let two = doc! { "find": "c", "filter": { "a": { "$nin": [Bson::Null, 1] } }, "hint": "all" };
    assert_eq!(code(db, two).await, 291);
}

/// The value of an expression over the document.
async fn value(db: &Db, document: Document, expression: Bson) -> Bson {
    run(db, doc! { "delete": "v", "deletes": [{ "q": {}, "limit": 0 }] }).await;
    insert(db, "v", vec![document]).await;
    let pipeline = [doc! { "$project": { "_id": 0, "x": expression } }];
    let found = batch(
        &run(
            db,
            doc! { "aggregate": "v", "pipeline": pipeline.to_vec(), "cursor": {} },
        )
        .await,
    );
    found[0].get("x").cloned().unwrap_or(Bson::Undefined)
}

async fn negative_integers_behind_fractions_are_added_exactly(db: &Db) {
    for least in [bson!(-1), bson!(-1_i64)] {
        let document = doc! { "_id": 1, "n": least };
        for (operator, expected) in [("$add", -0.9), ("$sum", -0.9), ("$avg", -0.45)] {
            let sum = bson!({ operator: [0.1, "$n"] });
            assert_eq!(
                value(db, document.clone(), sum).await,
                Bson::Double(expected),
                "{operator}"
            );
        }
    }
    let document = doc! { "_id": 1, "a": -9_223_372_036_854_775_808.0, "n": i64::MAX };
    assert_eq!(
        value(db, document, bson!({ "$add": ["$a", "$n"] })).await,
        Bson::Double(0.0)
    );
    let document = doc! { "_id": 1, "a": -831_397_637, "b": -32.64, "c": -67.53, "d": -89 };
    let sum = value(db, document, bson!({ "$add": ["$a", "$b", "$c", "$d"] })).await;
    assert_eq!(sum, Bson::Double(-831_397_826.17));
}

async fn means_of_integers_are_exact_in_early_groups_alone(db: &Db) {
    let numbers = [4_799_622_476_061_411_342_i64, -7_954_274_809_144_084_225];
    insert(
        db,
        "c",
        (1..)
            .zip(numbers)
            .map(|(id, n)| doc! { "_id": id, "n": n })
            .collect(),
    )
    .await;
    let group = doc! { "$group": { "_id": Bson::Null, "mean": { "$avg": "$n" } } };
    let early = aggregate(db, "c", vec![group.clone()]).await;
    assert_eq!(early[0].get_f64("mean").unwrap(), -1.5773261665413363e18);
    let late = aggregate(db, "c", vec![doc! { "$set": { "z": 1 } }, group]).await;
    assert_eq!(late[0].get_f64("mean").unwrap(), -1.5773261665413366e18);
}

async fn all_matches_are_found_with_the_empty_ones_between_them(db: &Db) {
    for (text, pattern, expected) in [
        ("12,3", r"\d*", &[("12", 0), ("", 2), ("3", 3)][..]),
        ("ab", "a*", &[("a", 0), ("", 1)]),
        ("abc", "x*", &[("", 0), ("", 1), ("", 2)]),
        ("", "x*", &[("", 0)]),
        ("äb", "ä*", &[("ä", 0), ("", 1)]),
    ] {
        let document = doc! { "_id": 1, "s": text };
        let found = value(
            db,
            document,
            bson!({ "$regexFindAll": { "input": "$s", "regex": pattern } }),
        )
        .await;
        let found: Vec<(String, i32)> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                let one = one.as_document().unwrap();
                (
                    one.get_str("match").unwrap().to_owned(),
                    one.get_i32("idx").unwrap(),
                )
            })
            .collect();
        let expected: Vec<(String, i32)> = expected
            .iter()
            .map(|(text, at)| ((*text).to_owned(), *at))
            .collect();
        assert_eq!(found, expected, "{text} {pattern}");
    }
}

async fn dates_by_a_format_may_have_fewer_digits(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    let text =
        |text: &str, format: &str| bson!({ "$dateFromString": { "dateString": text, "format": format } });
    for (given, format, expected) in [
        ("2020-1-2", "%Y-%m-%d", "2020-01-02T00:00:00Z"),
        ("2/1/2020", "%d/%m/%Y", "2020-01-02T00:00:00Z"),
        ("99-01-02", "%Y-%m-%d", "0099-01-02T00:00:00Z"),
        ("2020-01-02 3", "%Y-%m-%d %H", "2020-01-02T03:00:00Z"),
        (
            "2020-01-02T03:04:05.67Z",
            "%Y-%m-%dT%H:%M:%S.%L%z",
            "2020-01-02T03:04:05.67Z",
        ),
        ("2020-01-02 5", "%Y-%m-%d %L", "2020-01-02T00:00:00.5Z"),
        ("2020-01-02 +3", "%Y-%m-%d %z", "2020-01-01T21:00:00Z"),
        ("2020-01-02 GMT+3", "%Y-%m-%d %z", "2020-01-01T21:00:00Z"),
        ("2020-01-02 +0300", "%Y-%m-%d%z", "2020-01-01T21:00:00Z"),
        ("2020-01-02 EST", "%Y-%m-%d%z", "2020-01-02T05:00:00Z"),
    ] {
        let date = value(db, doc! { "_id": 1 }, text(given, format)).await;
        assert_eq!(
            date,
            Bson::DateTime(DateTime::parse_rfc3339_str(expected).unwrap()),
            "{given}"
        );
    }
    for (given, format) in [
        ("2020-01-02 03:4", "%Y-%m-%d %H:%M"),
        ("2020-W00", "%G-W%V"),
        ("2020-W54", "%G-W%V"),
        ("2020-10-8", "%G-%V-%u"),
        ("2020-10-08", "%G-%V-%d"),
        ("2020-10", "%G-%m"),
    ] {
        assert_eq!(
            refused(db, vec![doc! { "$project": { "x": text(given, format) } }]).await,
            241,
            "{given}"
        );
    }
}

async fn arrays_are_zipped_without_what_is_missing(db: &Db) {
    let zip = |first: Bson| bson!({ "$zip": { "inputs": [[], [1]], "useLongestLength": true, "defaults": [first, 1] } });
    assert_eq!(
        value(db, doc! { "_id": 1 }, zip(bson!("$missing"))).await,
        bson!([[1]])
    );
    assert_eq!(
        value(db, doc! { "_id": 1 }, zip(Bson::Null)).await,
        bson!([[Bson::Null, 1]])
    );
}

async fn the_limit_of_a_filter_of_nothing_is_not_looked_at(db: &Db) {
    let filter = bson!({ "$filter": { "input": "$a", "cond": true, "limit": 0 } });
    assert_eq!(
        value(db, doc! { "_id": 1, "a": [] }, filter.clone()).await,
        bson!([])
    );
    insert(db, "c", vec![doc! { "_id": 1, "a": [1] }]).await;
    assert_eq!(
        refused(db, vec![doc! { "$project": { "x": filter } }]).await,
        327392
    );
}

async fn months_without_measure_are_out_of_range(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "d": DateTime::from_millis(0), "n": i64::MIN }],
    )
    .await;
    let later = doc! { "$dateAdd": { "startDate": "$d", "unit": "month", "amount": "$n" } };
    assert_eq!(
        refused(db, vec![doc! { "$project": { "x": later } }]).await,
        5976500
    );
}
