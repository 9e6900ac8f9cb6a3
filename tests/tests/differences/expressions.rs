//! What operators of expressions were found to differ in: which of their arguments they look at, and in what order; edges
//! of numbers, dates and names.

use odm::Db;
use odm::bson::{Bson, DateTime, Decimal128, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, insert, run};

crate::on_every_backend! {
    variables_of_a_command_are_not_computed_where_nothing_asks_for_them,
    an_item_of_a_range_takes_sixteen_bytes,
    the_first_sign_of_a_relative_date_counts,
    arrays_are_sorted_by_fields_with_dots_in_their_names,
    defaults_are_asked_for_where_lengths_differ,
    the_first_day_of_a_week_is_asked_for_before_the_zone,
    parts_of_dates_are_asked_for_behind_those_of_times,
    bases_that_doubles_take_for_one_have_logarithms,
    powers_of_decimal_zeros_heed_the_sign_of_zero,
    hexadecimal_numbers_are_rounded_once,
    dates_at_the_ends_are_truncated,
    a_format_ends_at_a_null,
    parts_are_not_mixed_before_they_are_read,
    names_in_added_documents_are_not_empty,
    what_is_counted_is_one_expression,
    names_of_fields_are_not_computed,
    constants_of_texts_of_dates_are_computed_in_order,
    what_runs_no_map_reduce_is_told_when_it_runs,
    subsets_of_constants_fail_differently_in_queries,
}

/// What the expression gives of the document, or the code of the refusal.
async fn given(db: &Db, expression: impl Into<Bson>) -> Result<Bson, i32> {
    let project = doc! { "$project": { "_id": 0, "r": expression.into() } };
    let command = doc! { "aggregate": "c", "pipeline": [project], "cursor": {} };
    match db.run_command(command).await {
        Ok(reply) => Ok(batch(&reply)[0].get("r").cloned().unwrap_or(Bson::Undefined)),
        Err(error) => Err(error.code().expect("a code")),
    }
}

async fn document(db: &Db) {
    let zero = DateTime::from_millis(0);
    let document = doc! { "_id": 1, "s": "x", "n": null, "dt": zero, "one": 1, "arr": [1] };
    insert(db, "c", vec![document]).await;
}

/// Fails with the code 28765.
fn fails() -> Bson {
    bson!({ "$abs": "$s" })
}

async fn variables_of_a_command_are_not_computed_where_nothing_asks_for_them(db: &Db) {
    document(db).await;
    let (abs, size) = (bson!({ "$abs": "x" }), bson!({ "$size": "x" }));
    for (variable, expected) in [
        (bson!({ "$cond": [false, size.clone(), true] }), 0),
        (bson!({ "$and": [false, size.clone()] }), 0),
        (bson!({ "$or": [true, size.clone()] }), 0),
        (bson!({ "$ifNull": [1, size.clone()] }), 0),
        (
            bson!({ "$convert": { "input": 1, "to": "int", "onError": size.clone() } }),
            0,
        ),
        (bson!({ "$map": { "input": [], "in": size.clone() } }), 0),
        (bson!({ "$add": [null, abs.clone()] }), 0),
        (bson!({ "$subtract": [abs.clone(), size.clone()] }), 17124),
        (bson!({ "$setEquals": [1, [1]] }), 17044),
        (abs.clone(), 28765),
    ] {
        let filter = doc! { "$expr": { "$ne": ["$$v", 17] } };
        let find = doc! { "find": "c", "filter": filter, "let": { "v": variable.clone() } };
        assert_eq!(code(db, find).await, expected, "{variable}");
    }
}

async fn an_item_of_a_range_takes_sixteen_bytes(db: &Db) {
    document(db).await;
    let size = |end: i32| doc! { "$size": { "$range": ["$one", end] } };
    assert_eq!(given(db, size(2_000_001)).await, Ok(Bson::Int32(2_000_000)));
    assert_eq!(given(db, size(6_553_599)).await, Err(146));
}

async fn the_first_sign_of_a_relative_date_counts(db: &Db) {
    document(db).await;
    for (signs, day) in [("--", 13), ("+-", 17), ("-+", 13), ("---", 13), ("++-", 17)] {
        let moved = doc! { "$toDate": format!("2000-01-15 {signs}2 days") };
        let expected = Ok(Bson::Int32(day));
        assert_eq!(
            given(db, doc! { "$dayOfMonth": moved }).await,
            expected,
            "{signs}"
        );
    }
}

async fn arrays_are_sorted_by_fields_with_dots_in_their_names(db: &Db) {
    document(db).await;
    let sorted = |items: Bson, by: &str| doc! { "$sortArray": { "input": { "$literal": items }, "sortBy": { by: 1 } } };
    for (by, first, second) in [
        ("a.b", bson!({ "a.b": 3 }), bson!({ "a": { "b": 2 } })),
        (
            "a.b",
            bson!({ "a.b": 3, "a": { "b": 1 } }),
            bson!({ "a": { "b": 2 } }),
        ),
        (
            "a.b.c",
            bson!({ "a": { "b.c": 3 } }),
            bson!({ "a": { "b": { "c": 2 } } }),
        ),
        (
            "a.0.b",
            bson!({ "a": [{ "b": 3 }] }),
            bson!({ "a": { "0": { "b": 2 } } }),
        ),
    ] {
        let found = given(db, sorted(bson!([first.clone(), second.clone()]), by)).await;
        assert_eq!(found, Ok(bson!([second, first])), "{by}");
    }
}

async fn defaults_are_asked_for_where_lengths_differ(db: &Db) {
    document(db).await;
    let zipped = |second: Bson| doc! { "$zip": { "inputs": ["$arr", second], "useLongestLength": true, "defaults": [fails(), 0] } };
    assert_eq!(given(db, zipped(bson!("$arr"))).await, Ok(bson!([[1, 1]])));
    assert_eq!(given(db, zipped(bson!([]))).await, Err(28765));
    assert_eq!(given(db, zipped(bson!([1, 2]))).await, Err(28765));
    assert_eq!(given(db, zipped(bson!("$n"))).await, Ok(Bson::Null));
}

async fn the_first_day_of_a_week_is_asked_for_before_the_zone(db: &Db) {
    document(db).await;
    let null = || bson!("$n");
    for (unit, zone, first, code) in [
        ("day", bson!("UTC"), fails(), None),
        ("day", null(), fails(), Some(0)),
        ("week", null(), fails(), Some(28765)),
        ("week", fails(), null(), Some(0)),
        ("week", fails(), bson!("monday"), Some(28765)),
        ("week", bson!({ "$size": "$s" }), fails(), Some(28765)),
        ("month", bson!({ "$size": "$s" }), fails(), Some(17124)),
    ] {
        let options = doc! { "unit": unit, "timezone": zone.clone(), "startOfWeek": first.clone() };
        let mut apart = doc! { "startDate": "$dt", "endDate": "$dt" };
        let mut part = doc! { "date": "$dt" };
        apart.extend(options.clone());
        part.extend(options);
        let expected = |value: Bson| match code {
            None => Ok(value),
            Some(0) => Ok(Bson::Null),
            Some(code) => Err(code),
        };
        let found = given(db, doc! { "$dateDiff": apart }).await;
        assert_eq!(found, expected(Bson::Int64(0)), "{unit} {zone} {first}");
        let found = given(db, doc! { "$dateTrunc": part }).await;
        let zero = DateTime::from_millis(0);
        assert_eq!(found, expected(zero.into()), "{unit} {zone} {first}");
    }
}

async fn parts_of_dates_are_asked_for_behind_those_of_times(db: &Db) {
    document(db).await;
    let size = || bson!({ "$size": "$s" });
    for (parts, expected) in [
        (doc! { "year": fails(), "hour": "$n" }, Ok(Bson::Null)),
        (doc! { "year": fails(), "timezone": "$n" }, Ok(Bson::Null)),
        (doc! { "year": "$n", "timezone": fails() }, Err(28765)),
        (doc! { "year": fails(), "timezone": size() }, Err(17124)),
        (
            doc! { "year": 1, "hour": fails(), "timezone": size() },
            Err(28765),
        ),
        (doc! { "isoWeekYear": fails(), "minute": size() }, Err(17124)),
    ] {
        let found = given(db, doc! { "$dateFromParts": parts.clone() }).await;
        assert_eq!(found, expected, "{parts}");
    }
    for (zone, iso, expected) in [
        (bson!("$n"), fails(), Ok(Bson::Null)),
        (bson!("UTC"), fails(), Err(28765)),
        (size(), fails(), Err(17124)),
    ] {
        let parts = doc! { "date": "$dt", "timezone": zone.clone(), "iso8601": iso };
        assert_eq!(
            given(db, doc! { "$dateToParts": parts }).await,
            expected,
            "{zone}"
        );
    }
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse::<Decimal128>().unwrap())
}

const NEARLY_ONE: &str = "1.000000000000000000000000000000001";

async fn bases_that_doubles_take_for_one_have_logarithms(db: &Db) {
    document(db).await;
    let double = |expression: Document| doc! { "$toDouble": expression };
    let logarithm = |x: Bson, base: Bson| doc! { "$log": [x, base] };
    let found = given(db, double(logarithm(decimal(NEARLY_ONE), decimal("10")))).await;
    assert!(
        matches!(found, Ok(Bson::Double(x)) if x > 4e-34 && x < 5e-34),
        "{found:?}"
    );
    let found = given(db, double(logarithm(bson!(3), decimal(NEARLY_ONE)))).await;
    assert!(found.is_ok(), "{found:?}");
    for (x, base, expected) in [
        (decimal("1E-400"), decimal("NaN"), 28758),
        (bson!(f64::NAN), decimal("1E-400"), 28759),
        (bson!(f64::NAN), decimal(NEARLY_ONE), 28759),
        (decimal("-0"), decimal("2"), 28758),
        (decimal("2"), decimal("1.0"), 28759),
    ] {
        let found = given(db, logarithm(x.clone(), base.clone())).await;
        assert_eq!(found, Err(expected), "{x} {base}");
    }
    let found = given(db, logarithm(decimal("NaN"), decimal("2"))).await;
    assert!(matches!(found, Ok(Bson::Double(x)) if x.is_nan()), "{found:?}");
}

async fn powers_of_decimal_zeros_heed_the_sign_of_zero(db: &Db) {
    document(db).await;
    let power = |base: Bson, exponent: f64| doc! { "$toDouble": { "$pow": [base, exponent] } };
    assert_eq!(given(db, power(decimal("0"), -0.0)).await, Err(28764));
    assert_eq!(given(db, power(decimal("0"), 0.0)).await, Ok(bson!(1.0)));
    assert_eq!(given(db, power(bson!(0), -0.0)).await, Ok(bson!(1.0)));
}

async fn hexadecimal_numbers_are_rounded_once(db: &Db) {
    document(db).await;
    for (text, expected) in [
        ("-0x1p-1074", Ok(-5e-324)),
        ("0X1.8p1", Ok(3.0)),
        ("-0x0p99999", Ok(-0.0)),
        ("-0x1.000000000000080001p0", Ok(-1.000_000_000_000_000_2)),
        ("+0x1.00000000000008p0", Ok(1.0)),
        ("-0x1p1024", Err(241)),
        ("0X1p3007", Err(241)),
        ("-0x1p-1075", Err(241)),
        ("-0x1.8p-1074", Err(241)),
        ("+0x1p-99999999999999999999", Err(241)),
        ("0x1p0", Err(241)),
    ] {
        let found = given(db, doc! { "$toDouble": text }).await;
        match (found, expected) {
            (Ok(Bson::Double(found)), Ok(expected)) => {
                assert_eq!(found.to_bits(), f64::to_bits(expected), "{text}");
            }
            (found, expected) => assert_eq!(found, expected.map(Bson::Double), "{text}"),
        }
    }
}

async fn dates_at_the_ends_are_truncated(db: &Db) {
    document(db).await;
    let trunc = |ms: i64, unit: &str, size: i64| {
        let date = DateTime::from_millis(ms);
        doc! { "$dateTrunc": { "date": date, "unit": unit, "binSize": size, "timezone": "Europe/Berlin" } }
    };
    const NEAR: i64 = i64::MIN + 946_684_800_001;
    for (ms, unit, size, expected) in [
        (i64::MIN, "millisecond", 1, Err(5_439_000)),
        (i64::MIN + 700_000_000, "hour", 1, Err(5_439_000)),
        (NEAR, "second", 7, Ok(-9_223_371_090_169_982_000)),
        (NEAR, "second", 1 << 53, Err(5_439_001)),
        (0, "hour", 1 << 53, Err(5_439_002)),
        (1_000_000_000_000, "week", 100_000_000_000, Ok(946_767_600_000)),
        (0, "week", 100_000_000_000, Err(5_976_500)),
        (0, "day", 100_000_000_001, Err(5_439_006)),
    ] {
        let expected = expected.map(|ms| Bson::from(DateTime::from_millis(ms)));
        assert_eq!(
            given(db, trunc(ms, unit, size)).await,
            expected,
            "{ms} {unit} {size}"
        );
    }
}

async fn a_format_ends_at_a_null(db: &Db) {
    document(db).await;
    let read =
        |text: &str, format: &str| doc! { "$dateFromString": { "dateString": text, "format": format } };
    let expected = DateTime::parse_rfc3339_str("2000-01-02T00:00:00Z").unwrap();
    let read_all = read("2000-01-02", "%Y-%m-%d\0%q");
    assert_eq!(given(db, read_all).await, Err(18536));
    assert_eq!(
        given(db, read("2000-01-02", "%Y-%m-%d\0%%")).await,
        Ok(expected.into())
    );
    assert_eq!(given(db, read("29", "%V%\0")).await, Err(241));
    assert_eq!(given(db, read("29", "%V%")).await, Err(18535));
    let told = doc! { "$dateToString": { "date": "$dt", "format": "%\0" } };
    assert_eq!(given(db, told).await, Err(18536));
}

async fn parts_are_not_mixed_before_they_are_read(db: &Db) {
    document(db).await;
    for (parts, expected) in [
        (doc! { "year": 2000, "isoWeekYear": "$$x" }, 40489),
        (doc! { "isoWeekYear": "$$x", "day": 1 }, 40525),
        (doc! { "month": "$$x" }, 40516),
        (doc! { "year": "$$x", "q": 1 }, 40518),
        (doc! { "year": "$$x" }, 17276),
    ] {
        let found = given(db, doc! { "$dateFromParts": parts.clone() }).await;
        assert_eq!(found, Err(expected), "{parts}");
    }
}

async fn refused(db: &Db, stage: Document) -> i32 {
    code(db, doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} }).await
}

async fn names_in_added_documents_are_not_empty(db: &Db) {
    document(db).await;
    for (fields, expected) in [
        (doc! { "r": { "": 1 } }, 40353),
        (doc! { "r": { "a": { "": { "b": 1 } } } }, 40353),
        (doc! { "a.b": { "": 1 } }, 40353),
        (doc! { "": 1 }, 40352),
        (doc! { "r": { "b.": 1 } }, 40183),
    ] {
        let found = refused(db, doc! { "$addFields": fields.clone() }).await;
        assert_eq!(found, expected, "{fields}");
    }
}

async fn what_is_counted_is_one_expression(db: &Db) {
    document(db).await;
    for (counted, expected) in [
        (doc! { "$add": 1, "x": 2 }, 15983),
        (doc! { "x": 1, "$add": 2 }, 40147),
        (doc! {}, 40147),
        (doc! { "$add": 1 }, 0),
    ] {
        let found = refused(db, doc! { "$sortByCount": counted.clone() }).await;
        assert_eq!(found, expected, "{counted}");
    }
}

async fn names_of_fields_are_not_computed(db: &Db) {
    document(db).await;
    for (name, got, set) in [
        (bson!("$$REMOVE"), 5_654_600, 4_161_108),
        (bson!("$s"), 5_654_600, 4_161_108),
        (bson!({ "$add": ["", 1] }), 5_654_601, 4_161_106),
        (
            bson!({ "$cond": [false, { "$size": "x" }, "a"] }),
            5_654_601,
            4_161_106,
        ),
        (bson!(5), 5_654_602, 4_161_107),
    ] {
        assert_eq!(
            given(db, doc! { "$getField": name.clone() }).await,
            Err(got),
            "{name}"
        );
        let with = doc! { "field": name.clone(), "input": "$$ROOT", "value": 1 };
        assert_eq!(given(db, doc! { "$setField": with }).await, Err(set), "{name}");
        let without = doc! { "field": name.clone(), "input": "$$ROOT" };
        assert_eq!(
            given(db, doc! { "$unsetField": without }).await,
            Err(set),
            "{name}"
        );
    }
    let found = given(db, doc! { "$getField": { "$literal": "s" } }).await;
    assert_eq!(found, Ok(bson!("x")));
}

async fn constants_of_texts_of_dates_are_computed_in_order(db: &Db) {
    document(db).await;
    let (first, second) = (bson!({ "$abs": "x" }), bson!({ "$size": "x" }));
    for (operator, own, order) in [
        (
            "$dateToString",
            "date",
            vec!["date", "timezone", "onNull", "format"],
        ),
        (
            "$dateFromString",
            "dateString",
            vec!["dateString", "timezone", "format", "onNull", "onError"],
        ),
    ] {
        for pair in order.windows(2) {
            let mut arguments = doc! { own: "$dt" };
            // However they are given.
            arguments.insert(pair[1], second.clone());
            arguments.insert(pair[0], first.clone());
            let found = given(db, doc! { operator: arguments }).await;
            assert_eq!(found, Err(28765), "{operator} {pair:?}");
        }
    }
}

async fn what_runs_no_map_reduce_is_told_when_it_runs(db: &Db) {
    run(db, doc! { "create": "c" }).await;
    let project = doc! { "$project": { "r": "$$IS_MR" } };
    assert!(aggregate(db, "c", vec![project]).await.is_empty());
    document(db).await;
    assert_eq!(given(db, "$$IS_MR").await, Err(51144));
}

async fn subsets_of_constants_fail_differently_in_queries(db: &Db) {
    document(db).await;
    let subset = |set: Bson| doc! { "$setIsSubset": ["$one", set] };
    for (set, in_stage) in [(bson!([1]), 17310), (bson!("$arr"), 17046)] {
        let filter = doc! { "$expr": subset(set.clone()) };
        let matching = doc! { "$match": filter.clone() };
        for command in [
            doc! { "find": "c", "filter": filter.clone() },
            doc! { "count": "c", "query": filter.clone() },
            doc! { "distinct": "c", "key": "s", "query": filter.clone() },
            doc! { "aggregate": "c", "pipeline": [matching.clone()], "cursor": {} },
            doc! { "findAndModify": "c", "query": filter.clone(), "remove": true },
        ] {
            assert_eq!(code(db, command.clone()).await, 17046, "{command}");
        }
        for stage in [matching, doc! { "$project": { "r": subset(set.clone()) } }] {
            let pipeline = vec![doc! { "$limit": 1 }, stage];
            let command = doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} };
            assert_eq!(code(db, command.clone()).await, in_stage, "{command}");
        }
    }
}
