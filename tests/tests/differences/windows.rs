//! What `$setWindowFields`, `$bucketAuto`, `$densify` and `$fill` were found to differ in: the ends of windows, what is
//! computed and when, which order is left, and what is told first.

use odm::Db;
use odm::bson::{Bson, DateTime, Document, doc};
use odm_tests::command::{aggregate, batch, code, ids, insert, run};

crate::on_every_backend! {
    ends_of_ranges_are_added_as_decimals,
    partitions_have_the_order_of_their_field,
    a_bucket_ends_with_the_last_of_equal_values,
    counts_in_buckets_read_no_documents,
    documents_in_no_window_are_not_computed,
    later_partitions_are_not_computed_before_they_are_asked_for,
    a_sort_before_a_stage_that_sorts_is_left_out,
    first_steps_of_other_partitions_have_the_type_of_the_step,
    days_of_months_move_the_first_step_and_the_last,
    values_to_fill_are_looked_at_before_their_places,
    fields_are_refused_as_they_stand,
    windows_are_read_before_units,
    windows_of_no_values_are_refused_before_documents_are_read,
    nothing_is_looked_at_behind_bounds_of_all_documents,
    steps_of_decimals_come_to_decimals,
    covariances_of_decimals_shed_digits,
    averages_stay_decimals_in_later_partitions,
    powers_of_two_have_the_digits_of_decimals,
}

async fn windowed(db: &Db, order: Document, output: Document) -> Vec<Document> {
    let stage = doc! { "sortBy": order, "output": { "o": output } };
    let sort = doc! { "$sort": { "_id": 1 } };
    aggregate(db, "c", vec![doc! { "$setWindowFields": stage }, sort]).await
}

async fn refused(db: &Db, stages: Vec<Document>) -> i32 {
    code(db, doc! { "aggregate": "c", "pipeline": stages, "cursor": {} }).await
}

async fn ends_of_ranges_are_added_as_decimals(db: &Db) {
    let one = 0.1;
    let numbers = [1.0 / 3.0, 1e18, one, 0.1 + 0.2, 5.0];
    let documents = (1..).zip(numbers).map(|(id, n)| doc! { "_id": id, "n": n });
    insert(db, "c", documents.collect()).await;
    for (range, expected) in [
        (
            doc! { "range": [0, 0] },
            [vec![], vec![2], vec![], vec![], vec![5]],
        ),
        (doc! { "range": [1, 1] }, [vec![], vec![], vec![], vec![], vec![]]),
        (
            doc! { "range": [-1, -0.2] },
            [vec![3], vec![], vec![], vec![], vec![]],
        ),
    ] {
        let found = windowed(db, doc! { "n": 1 }, doc! { "$push": "$_id", "window": &range }).await;
        let windows: Vec<Vec<i32>> = found.iter().map(|row| numbers_of(row, "o")).collect();
        assert_eq!(windows, expected, "{range}");
    }
}

fn numbers_of(row: &Document, name: &str) -> Vec<i32> {
    let items = row.get_array(name).unwrap().iter();
    items.map(|item| item.as_i32().unwrap()).collect()
}

async fn partitions_have_the_order_of_their_field(db: &Db) {
    let documents = [(1, 1), (2, 2), (3, 1)].map(|(id, p)| doc! { "_id": id, "p": p });
    insert(db, "c", documents.to_vec()).await;
    for (order, expected) in [
        (doc! { "_id": 1 }, [1, 3, 2]),
        (doc! { "p": -1, "_id": 1 }, [2, 1, 3]),
        (doc! { "_id": -1, "p": -1 }, [2, 3, 1]),
        (doc! { "_id": -1, "p": 1 }, [3, 1, 2]),
    ] {
        let stage = doc! { "partitionBy": "$p", "sortBy": &order, "output": { "o": { "$sum": 1 } } };
        let found = aggregate(db, "c", vec![doc! { "$setWindowFields": stage }]).await;
        assert_eq!(ids(&found), expected, "{order}");
    }
}

async fn a_bucket_ends_with_the_last_of_equal_values(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "n": 3 }, doc! { "_id": 2, "n": 3_i64 }],
    )
    .await;
    let found = aggregate(
        db,
        "c",
        vec![doc! { "$bucketAuto": { "groupBy": "$n", "buckets": 5 } }],
    )
    .await;
    assert_eq!(found, [doc! { "_id": { "min": 3, "max": 3_i64 }, "count": 2 }]);
}

async fn counts_in_buckets_read_no_documents(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": 2 }]).await;
    for (count, expected) in [
        (Bson::from("$a"), 4_544_714),
        (doc! { "$add": ["$a", 1] }.into(), 4_544_714),
        (doc! { "$add": [1, 1] }.into(), 0),
    ] {
        let first = doc! { "$firstN": { "input": "$a", "n": &count } };
        let top = doc! { "$topN": { "output": "$a", "sortBy": { "a": 1 }, "n": &count } };
        for taken in [first, top] {
            let stage = doc! { "groupBy": "$a", "buckets": 1, "output": { "x": taken } };
            let stage = doc! { "$bucketAuto": stage };
            assert_eq!(refused(db, vec![stage]).await, expected, "{count}");
        }
    }
}

async fn documents_in_no_window_are_not_computed(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "n": "x", "v": 1 }]).await;
    for (function, expected) in [
        ("$sum", Bson::Int32(0)),
        ("$avg", Bson::Null),
        ("$stdDevPop", Bson::Null),
    ] {
        for window in [doc! { "range": [1, 2] }, doc! { "documents": [1, 2] }] {
            let output = doc! { function: { "$add": ["$n", 1] }, "window": &window };
            let found = windowed(db, doc! { "v": 1 }, output).await;
            assert_eq!(found[0].get("o"), Some(&expected), "{function} {window}");
        }
    }
}

async fn later_partitions_are_not_computed_before_they_are_asked_for(db: &Db) {
    let documents = vec![
        doc! { "_id": 1, "a": 2, "p": 1 },
        doc! { "_id": 2, "a": "x", "p": 2 },
    ];
    insert(db, "c", documents).await;
    let stage = doc! { "partitionBy": "$p", "output": { "o": { "$sum": { "$add": ["$a", 1] } } } };
    let stages = vec![doc! { "$setWindowFields": stage }];
    assert_ne!(refused(db, stages.clone()).await, 0);
    let limited = [stages, vec![doc! { "$limit": 1 }]].concat();
    let found = aggregate(db, "c", limited).await;
    assert_eq!(found, [doc! { "_id": 1, "a": 2, "p": 1, "o": 3 }]);
    let stages = vec![doc! { "$densify": { "field": "a", "range": { "step": 1, "bounds": "full" } } }];
    assert_eq!(refused(db, stages.clone()).await, 5_733_201);
    let limited = [stages, vec![doc! { "$limit": 1 }]].concat();
    assert_eq!(ids(&aggregate(db, "c", limited).await), [1]);
}

async fn a_sort_before_a_stage_that_sorts_is_left_out(db: &Db) {
    // Two arrays beside each other cannot be sorted by.
    insert(db, "c", vec![doc! { "_id": 1, "a": [1], "b": [1] }]).await;
    let sort = doc! { "$sort": { "a": 1, "b": 1 } };
    let output = doc! { "o": { "$sum": 1 } };
    let window = |stage: Document| doc! { "$setWindowFields": stage };
    for (stage, expected) in [
        (window(doc! { "sortBy": { "_id": 1 }, "output": &output }), 0),
        (window(doc! { "partitionBy": "$p", "output": &output }), 0),
        (
            window(doc! { "partitionBy": { "$add": [1, 1] }, "sortBy": { "_id": 1 }, "output": &output }),
            0,
        ),
        (window(doc! { "output": &output }), 2),
        (
            window(doc! { "partitionBy": { "$add": ["$p", 1] }, "output": &output }),
            2,
        ),
        (
            doc! { "$densify": { "field": "x", "range": { "step": 1, "bounds": "full" } } },
            0,
        ),
        (
            doc! { "$fill": { "sortBy": { "_id": 1 }, "output": { "x": { "method": "locf" } } } },
            0,
        ),
        (doc! { "$fill": { "output": { "x": { "value": 1 } } } }, 2),
    ] {
        let found = refused(db, vec![sort.clone(), stage.clone()]).await;
        assert_eq!(found, expected, "{stage}");
    }
    let limited = vec![
        sort,
        doc! { "$limit": 1 },
        window(doc! { "sortBy": { "_id": 1 }, "output": output }),
    ];
    assert_eq!(refused(db, limited).await, 2);
}

/// The partition and the value of each document that a `$densify` between the ends of all gives.
async fn densified(db: &Db, rows: &[(i32, Bson)], range: Document) -> Vec<(i32, Bson)> {
    run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
    let rows = (1..).zip(rows);
    let rows = rows.map(|(id, (p, n))| doc! { "_id": id, "p": p, "n": n });
    insert(db, "c", rows.collect()).await;
    let stage = doc! { "field": "n", "partitionByFields": ["p"], "range": range };
    let found = aggregate(db, "c", vec![doc! { "$densify": stage }]).await;
    let pair = |row: &Document| (row.get_i32("p").unwrap(), row.get("n").unwrap().clone());
    found.iter().map(pair).collect()
}

async fn first_steps_of_other_partitions_have_the_type_of_the_step(db: &Db) {
    for (step, first) in [
        (Bson::Int32(1), Bson::Int32(3)),
        (Bson::Int64(1), Bson::Int64(3)),
        (Bson::Double(1.5), Bson::Double(3.0)),
    ] {
        let rows = [(1, Bson::Int32(3)), (2, Bson::Int32(4))];
        let range = doc! { "step": step, "bounds": "full" };
        let found = densified(db, &rows, range).await;
        assert_eq!(found[..2], [(1, Bson::Int32(3)), (2, first)]);
    }
}

async fn days_of_months_move_the_first_step_and_the_last(db: &Db) {
    let day = |month: u8, day: u8| {
        let built = DateTime::builder().year(2021).month(month).day(day).build();
        Bson::DateTime(built.unwrap())
    };
    let range = |step: i32| doc! { "step": step, "unit": "month", "bounds": "full" };
    let found = densified(db, &[(1, day(1, 31)), (2, day(1, 31))], range(2)).await;
    assert_eq!(found, [(1, day(1, 31)), (2, day(1, 30)), (2, day(1, 31))]);
    let found = densified(db, &[(1, day(3, 30)), (2, day(6, 30))], range(1)).await;
    assert_eq!(found[found.len() - 2..], [(1, day(4, 30)), (1, day(5, 30))]);
    let found = densified(db, &[(1, day(3, 15)), (2, day(6, 15))], range(1)).await;
    assert_eq!(found[found.len() - 2..], [(1, day(5, 15)), (1, day(6, 15))]);
}

async fn values_to_fill_are_looked_at_before_their_places(db: &Db) {
    let documents = vec![
        doc! { "_id": 1, "t": 1, "n": "x" },
        doc! { "_id": 2, "t": 2, "s": 1 },
        doc! { "_id": 3, "t": 3 },
        doc! { "_id": 4, "t": 4, "s": "x" },
    ];
    insert(db, "c", documents).await;
    for (order, field, expected) in [
        (
            "missing",
            "$n",
            "Value to be filled must be numeric or nullish, but found string",
        ),
        (
            "missing",
            "$s",
            "Value of the sortBy field must be numeric or a date, but found missing",
        ),
        ("t", "$s", "can't $subtract int from string"),
    ] {
        let stage = doc! { "sortBy": { order: 1 }, "output": { "o": { "$linearFill": field } } };
        let pipeline = vec![doc! { "$setWindowFields": stage }];
        let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
        let error = db.run_command(command).await.unwrap_err();
        assert!(error.message().ends_with(expected), "{}", error.message());
    }
}

async fn fields_are_refused_as_they_stand(db: &Db) {
    let output = doc! { "x": { "value": 1 } };
    let steps = |step: &str, other: &str| doc! { step: "x", other: 1 };
    for (stage, expected) in [
        (
            doc! { "$fill": { "partitionBy": "$p", "output": &output, "z": 1 } },
            14,
        ),
        (
            doc! { "$fill": { "z": 1, "partitionBy": "$p", "output": output } },
            40_415,
        ),
        (
            doc! { "$setWindowFields": { "sortBy": 1, "z": 1, "output": 1 } },
            14,
        ),
        (
            doc! { "$setWindowFields": { "z": 1, "sortBy": 1, "output": 1 } },
            40_415,
        ),
        (
            doc! { "$densify": { "range": steps("step", "z"), "field": 1 } },
            14,
        ),
        (
            doc! { "$densify": { "range": steps("z", "step"), "field": 1 } },
            40_415,
        ),
        (
            doc! { "$densify": { "range": { "step": 1 }, "field": 1 } },
            40_414,
        ),
        (doc! { "$densify": { "field": 1, "range": { "step": 1 } } }, 14),
    ] {
        assert_eq!(refused(db, vec![stage.clone()]).await, expected, "{stage}");
    }
}

async fn windows_are_read_before_units(db: &Db) {
    let rate = |unit: &str, window: Option<Document>| {
        let mut output = doc! { "$derivative": { "input": "$a", "unit": unit } };
        output.extend(window.map(|window| ("window".to_owned(), Bson::Document(window))));
        output
    };
    let upside_down = || Some(doc! { "documents": [1, 0] });
    let average = |argument: Document| doc! { "$expMovingAvg": argument };
    for (output, expected) in [
        (rate("month", upside_down()), 5_339_900),
        (rate("eon", upside_down()), 5_339_900),
        (rate("month", None), 5_490_710),
        (rate("day", None), 9),
        (average(doc! { "input": "$a", "N": 0 }), 9),
    ] {
        let stage = doc! { "sortBy": { "a": 1 }, "output": { "o": &output } };
        let found = refused(db, vec![doc! { "$setWindowFields": stage }]).await;
        assert_eq!(found, expected, "{output}");
    }
}

async fn windows_of_no_values_are_refused_before_documents_are_read(db: &Db) {
    let windows = |name: &str, argument: Document| {
        doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": { "w": { name: argument } } } }
    };
    let first = |n: Bson| windows("$firstN", doc! { "input": "$a", "n": n });
    let top = |n: i32| windows("$topN", doc! { "output": "$a", "sortBy": { "a": 1 }, "n": n });
    let none = || first(0.into());
    let fails = || doc! { "$toInt": { "$concat": ["x", { "$toString": "$a" }] } };
    let grouped = || doc! { "$group": { "_id": fails() } };
    for (stages, expected) in [
        (vec![none()], 5787908),
        (vec![first("x".into())], 5787902),
        (vec![first("$a".into())], 5787902),
        (vec![first(1.5.into())], 5787903),
        (vec![top(0)], 5787908),
        (vec![windows("$minN", doc! { "input": "$a", "n": 0 })], 5787908),
        (vec![doc! { "$match": { "_id": 99 } }, none()], 5787908),
        (vec![none(), doc! { "$limit": 1 }], 5787908),
        (vec![doc! { "$facet": { "x": [none()] } }], 5787908),
        // They are made ready from the last to the first.
        (vec![none(), first("x".into())], 5787902),
    ] {
        assert_eq!(refused(db, stages.clone()).await, expected, "{stages:?}");
    }
    let joined = |from: &str| {
        vec![doc! { "$lookup": { "from": from, "as": "j", "let": { "v": 1 }, "pipeline": [none()] } }]
    };
    assert_eq!(refused(db, joined("d")).await, 0);
    insert(db, "c", vec![doc! { "_id": 1, "a": 1 }]).await;
    for (stages, expected) in [
        (joined("d"), 5787908),
        (vec![grouped(), none()], 5787908),
        (vec![none(), grouped()], 5787908),
        (vec![grouped(), doc! { "$facet": { "x": [none()] } }], 5787908),
        (vec![doc! { "$match": { "$expr": fails() } }, none()], 5787908),
        // Documents are asked for by the first pipeline of a facet.
        (vec![doc! { "$facet": { "x": [grouped()], "y": [none()] } }], 241),
        (vec![first(2.into())], 0),
    ] {
        assert_eq!(refused(db, stages.clone()).await, expected, "{stages:?}");
    }
}

async fn nothing_is_looked_at_behind_bounds_of_all_documents(db: &Db) {
    let values = [1.into(), 3.into(), 11.into(), "s".into(), Bson::Null];
    let documents = (0..).zip(values).map(|(id, k)| doc! { "_id": id, "k": k });
    insert(db, "c", documents.collect()).await;
    let dense = |bounds: [i32; 2], fields: Vec<&str>| {
        let range = doc! { "step": 1, "bounds": bounds.to_vec() };
        doc! { "$densify": { "field": "k", "partitionByFields": fields, "range": range } }
    };
    let made = |from: i32, to: i32| (from..to).map(Bson::from).collect::<Vec<Bson>>();
    for (bounds, expected) in [
        (
            [0, 10],
            [vec![Bson::Null], made(0, 10), vec![11.into(), "s".into()]].concat(),
        ),
        (
            [0, 11],
            [vec![Bson::Null], made(0, 12), vec!["s".into()]].concat(),
        ),
        (
            [2, 4],
            [vec![Bson::Null], made(1, 4), vec![11.into(), "s".into()]].concat(),
        ),
        (
            [5, 5],
            [Bson::Null, 1.into(), 3.into(), 5.into(), 11.into(), "s".into()].to_vec(),
        ),
    ] {
        let found = aggregate(db, "c", vec![dense(bounds, vec![])]).await;
        let found: Vec<Bson> = found.iter().map(|row| row.get("k").cloned().unwrap()).collect();
        assert_eq!(found, expected, "{bounds:?}");
    }
    let pairs = |bounds: [i32; 2]| {
        let range = doc! { "step": 2, "bounds": bounds.to_vec() };
        doc! { "$densify": { "field": "k", "range": range } }
    };
    // Steps that have ended before pass any value; others those that they would come to.
    assert_eq!(refused(db, vec![pairs([1, 5])]).await, 0);
    assert_eq!(refused(db, vec![pairs([2, 4])]).await, 0);
    for stage in [
        dense([0, 12], vec![]),
        dense([11, 11], vec![]),
        dense([0, 10], vec!["p"]),
        pairs([0, 6]),
    ] {
        assert_eq!(refused(db, vec![stage.clone()]).await, 5733201, "{stage}");
    }
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse().unwrap())
}

async fn covariances_of_decimals_shed_digits(db: &Db) {
    let documents =
        [(0, "0.5"), (1, "1.5"), (2, "2.5")].map(|(n, k)| doc! { "_id": n, "n": n, "k": decimal(k) });
    insert(db, "c", documents.to_vec()).await;
    let third = || decimal("0.6666666666666666666666666666666667");
    let later = |x: Bson, y: Bson| doc! { "x": { "$cond": [{ "$gt": ["$_id", 1] }, x, y] } };
    for (name, first, pair, expected) in [
        (
            "$covariancePop",
            Bson::from("unbounded"),
            Bson::from(vec!["$n", "$k"]),
            [0.0.into(), decimal("0.25"), third()],
        ),
        (
            "$covariancePop",
            "unbounded".into(),
            vec![Bson::from(1), "$k".into()].into(),
            [0.0.into(), decimal("0E+13"), decimal("0E+13")],
        ),
        (
            "$covarianceSamp",
            (-1).into(),
            vec!["$k", "$k"].into(),
            [Bson::Null, decimal("0.5"), decimal("0.5")],
        ),
        // Where the last decimal goes, the result is a double.
        (
            "$covarianceSamp",
            (-1).into(),
            vec![
                later("$k".into(), "$n".into()).get("x").cloned().unwrap(),
                "$n".into(),
            ]
            .into(),
            [Bson::Null, 0.5.into(), 0.75.into()],
        ),
    ] {
        let output = doc! { name: pair.clone(), "window": { "documents": [first, "current"] } };
        let found = windowed(db, doc! { "_id": 1 }, output).await;
        let found: Vec<Bson> = found.iter().map(|row| row.get("o").cloned().unwrap()).collect();
        assert_eq!(found, expected, "{name} {pair}");
    }
}

async fn averages_stay_decimals_in_later_partitions(db: &Db) {
    let values = [
        (1, decimal("1.5")),
        (1, decimal("2")),
        (2, 3.into()),
        (2, 4.into()),
        (3, 1.5.into()),
    ];
    let documents = (0..)
        .zip(values)
        .map(|(id, (p, v))| doc! { "_id": id, "p": p, "v": v });
    insert(db, "c", documents.collect()).await;
    let averages = doc! { "w": { "$expMovingAvg": { "input": "$v", "N": 2 } } };
    let windows = doc! { "partitionBy": "$p", "sortBy": { "_id": 1 }, "output": averages };
    let found = aggregate(db, "c", vec![doc! { "$setWindowFields": windows.clone() }]).await;
    let of = |found: &[Document]| -> Vec<Bson> {
        let values = found.iter().map(|row| row.get("w").cloned().unwrap());
        values.collect()
    };
    let decimals = [
        "1.5",
        "1.833333333333333333333333333333333",
        "3",
        "3.666666666666666666666666666666667",
        "1.50000000000000",
    ];
    assert_eq!(of(&found), decimals.map(decimal));
    let later = doc! { "$match": { "p": { "$gt": 1 } } };
    let found = aggregate(db, "c", vec![later, doc! { "$setWindowFields": windows }]).await;
    assert_eq!(of(&found), [3.0, 3.6666666666666665, 1.5].map(Bson::from));
}

async fn powers_of_two_have_the_digits_of_decimals(db: &Db) {
    for (low, high, ends) in [
        (
            "0.1",
            "1E+40",
            [
                "0.06250000000000000000000000000000000",
                "1.088903574147003083082798743781658E+40",
            ],
        ),
        (
            "7",
            "8",
            [
                "4.000000000000000000000000000000000",
                "16.00000000000000000000000000000000",
            ],
        ),
        ("0", "1.5", ["0", "2.000000000000000000000000000000000"]),
    ] {
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
        insert(
            db,
            "c",
            vec![doc! { "v": decimal(low) }, doc! { "v": decimal(high) }],
        )
        .await;
        let stage = doc! { "groupBy": "$v", "buckets": 1, "granularity": "POWERSOF2" };
        let found = aggregate(db, "c", vec![doc! { "$bucketAuto": stage }]).await;
        let [least, greatest] = ends.map(decimal);
        let expected = doc! { "_id": { "min": least, "max": greatest }, "count": 2 };
        assert_eq!(found, [expected]);
    }
}

async fn steps_of_decimals_come_to_decimals(db: &Db) {
    let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
    let dense = doc! { "$densify": {
        "field": "k",
        "range": { "step": decimal("0.1"), "bounds": [decimal("0.1"), decimal("1")] },
    } };
    // Steps of a tenth come to 1.1, so that what is behind it is not looked at; they do not come to 1.15.
    for (last, expected) in [("1.1", Some(11)), ("1.15", None)] {
        run(db, doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] }).await;
        let values = [decimal("0.1"), decimal(last), "s".into()];
        let documents = (0..).zip(values).map(|(id, k)| doc! { "_id": id, "k": k });
        insert(db, "c", documents.collect()).await;
        let command = doc! { "aggregate": "c", "pipeline": [dense.clone()], "cursor": {} };
        match (db.run_command(command).await, expected) {
            (Ok(reply), Some(expected)) => assert_eq!(batch(&reply).len(), expected),
            (Err(error), None) => assert_eq!(error.code(), Some(5_733_201)),
            (other, _) => panic!("{last}: {other:?}"),
        }
    }
}
