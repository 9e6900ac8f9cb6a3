//! What more was found to differ in the values of expressions, and in what the catalog's commands take.

use odm::Db;
use odm::bson::{Bson, DateTime, Decimal128, Document, bson, doc};
use odm_tests::command::{aggregate, batch, code, insert, run};

crate::on_every_backend! {
    a_negative_decimal_has_powers_of_whole_numbers_of_any_size,
    powers_beyond_decimals_have_no_sign,
    inverse_hyperbolic_functions_reach_the_largest_doubles,
    dates_wrap_where_they_are_taken_from_each_other,
    the_start_of_bins_beyond_all_dates_has_its_own_refusals,
    years_of_five_digits_are_not_forced_to_text,
    a_wrong_start_of_a_part_is_refused_before_its_length,
    options_of_patterns_end_at_no_null_byte,
    a_count_of_items_that_is_no_number_is_out_of_range,
    what_is_missing_is_found_where_an_undefined_value_is,
    variables_may_be_an_empty_array,
    indexes_are_listed_beside_their_builds,
    the_word_capped_may_be_said_of_a_time_series_where_it_is_false,
    forms_of_options_are_refused_before_their_combinations,
    a_number_of_documents_to_return_stands_alone,
    what_is_no_number_keeps_its_sign_and_payload,
    decimals_too_small_for_doubles_are_no_zeros,
    powers_near_those_of_ten_come_to_an_end,
    dates_for_null_are_computed_for_null_alone,
    clocks_go_beyond_the_last_date,
    the_first_double_beyond_integers_is_hashed_as_the_least,
    dates_are_added_with_all_digits,
    places_are_integers_of_32_bits,
    counts_of_items_are_whole_as_doubles,
    ten_has_no_decimal_power_of_zero,
    bounds_come_before_what_is_looked_for,
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse::<Decimal128>().unwrap())
}

fn date(milliseconds: i64) -> Bson {
    Bson::DateTime(DateTime::from_millis(milliseconds))
}

/// The value of an expression over the only document, `{_id: 1}`.
async fn value(db: &Db, expression: Bson) -> Bson {
    let found = aggregate(db, "c", vec![doc! { "$project": { "_id": 0, "r": expression } }]).await;
    found[0].get("r").cloned().unwrap()
}

async fn refused(db: &Db, expression: Bson) -> i32 {
    let pipeline = vec![doc! { "$project": { "r": expression } }];
    code(db, doc! { "aggregate": "c", "pipeline": pipeline, "cursor": {} }).await
}

async fn one(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
}

async fn power(db: &Db, base: &str, exponent: &str) -> Bson {
    value(db, bson!({ "$pow": [decimal(base), decimal(exponent)] })).await
}

async fn a_negative_decimal_has_powers_of_whole_numbers_of_any_size(db: &Db) {
    one(db).await;
    let (odd, even) = (
        "1234567890123456789012345678901235",
        "1234567890123456789012345678901234",
    );
    for (base, exponent, expected) in [
        ("-1", odd, "-1.000000000000000000000000000000000"),
        ("-1", even, "1.000000000000000000000000000000000"),
        ("-1", "Infinity", "1.000000000000000000000000000000000"),
        ("-1", "-1E+40", "1.000000000000000000000000000000000"),
        ("-Infinity", odd, "-Infinity"),
        ("-Infinity", even, "Infinity"),
        ("-1.5", "7001.5", "NaN"),
        ("-1.5", "3.0", "-3.375000000000000000000000000000000"),
    ] {
        assert_eq!(
            power(db, base, exponent).await,
            decimal(expected),
            "{base} {exponent}"
        );
    }
}

async fn powers_beyond_decimals_have_no_sign(db: &Db) {
    one(db).await;
    for (base, exponent, expected) in [
        ("-1.5", "1E+40", "Infinity"),
        ("-1.5", "2147483649", "Infinity"),
        ("-10", "20001", "Infinity"),
        ("-10", "-20001", "0E-6176"),
        ("-0.5", "Infinity", "0E-6176"),
        ("-0.5", "-Infinity", "Infinity"),
        ("2", "-30000", "0E-6176"),
    ] {
        assert_eq!(
            power(db, base, exponent).await,
            decimal(expected),
            "{base} {exponent}"
        );
    }
    let small = value(db, bson!({ "$exp": decimal("-20000") })).await;
    assert_eq!(small, decimal("0E-6176"));
}

async fn inverse_hyperbolic_functions_reach_the_largest_doubles(db: &Db) {
    one(db).await;
    for (operator, x, expected) in [
        ("$asinh", f64::MAX, 710.475_860_073_943_9),
        ("$asinh", -f64::MAX, -710.475_860_073_943_9),
        ("$acosh", f64::MAX, 710.475_860_073_943_9),
        ("$acosh", 2.5, 1.566_799_236_972_411),
        ("$asinh", f64::INFINITY, f64::INFINITY),
        ("$atanh", 0.5, 0.549_306_144_334_054_8),
    ] {
        assert_eq!(
            value(db, bson!({ operator: x })).await,
            Bson::Double(expected),
            "{operator} {x}"
        );
    }
}

async fn dates_wrap_where_they_are_taken_from_each_other(db: &Db) {
    one(db).await;
    let subtract = |a: Bson, b: Bson| bson!({ "$subtract": [a, b] });
    assert_eq!(
        value(db, subtract(date(i64::MAX), date(i64::MIN))).await,
        Bson::Int64(-1)
    );
    assert_eq!(
        value(db, subtract(date(0), date(i64::MIN))).await,
        Bson::Int64(i64::MIN)
    );
    for (from, taken) in [(i64::MIN, Bson::Int32(1)), (0, Bson::Int64(i64::MIN))] {
        assert_eq!(refused(db, subtract(date(from), taken)).await, 159, "{from}");
    }
}

async fn the_start_of_bins_beyond_all_dates_has_its_own_refusals(db: &Db) {
    one(db).await;
    for (unit, expected) in [
        ("year", 5_166_406),
        ("month", 5_166_406),
        ("hour", 5_439_000),
        ("second", 5_439_000),
    ] {
        let trunc = bson!({ "$dateTrunc": { "date": date(i64::MIN), "unit": unit } });
        assert_eq!(refused(db, trunc).await, expected, "{unit}");
    }
    let bins =
        |unit: &str, size: i64| bson!({ "$dateTrunc": { "date": date(0), "unit": unit, "binSize": size } });
    assert_eq!(refused(db, bins("hour", i64::MAX / 1_000)).await, 5_439_002);
    assert_eq!(refused(db, bins("day", i64::MAX / 1_000)).await, 5_439_006);
}

async fn years_of_five_digits_are_not_forced_to_text(db: &Db) {
    one(db).await;
    let late = date(253_402_300_800_000);
    for expression in [
        bson!({ "$toUpper": &late }),
        bson!({ "$toLower": date(-62_167_219_200_001) }),
        bson!({ "$strcasecmp": [&late, "a"] }),
        bson!({ "$substrBytes": [&late, 0, 4] }),
        bson!({ "$substrCP": [&late, 0, 4] }),
    ] {
        assert_eq!(refused(db, expression.clone()).await, 18537, "{expression}");
    }
    let last = value(db, bson!({ "$toLower": date(253_402_300_799_999) })).await;
    assert_eq!(last, Bson::from("9999-12-31t23:59:59.999z"));
}

async fn a_wrong_start_of_a_part_is_refused_before_its_length(db: &Db) {
    one(db).await;
    for (start, length, expected) in [
        (bson!(-1), bson!(f64::NAN), 50752),
        (bson!(f64::NAN), bson!("a"), 16035),
        (bson!(0), bson!(f64::NAN), 31109),
    ] {
        let part = bson!({ "$substrBytes": ["abc", start, length] });
        assert_eq!(refused(db, part.clone()).await, expected, "{part}");
    }
}

async fn options_of_patterns_end_at_no_null_byte(db: &Db) {
    one(db).await;
    for operator in ["$regexMatch", "$regexFind", "$regexFindAll"] {
        let found = bson!({ operator: { "input": "a", "regex": "a", "options": "i\0" } });
        assert_eq!(refused(db, found).await, 51110, "{operator}");
    }
}

async fn a_count_of_items_that_is_no_number_is_out_of_range(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "a": [3, 1, 2] }]).await;
    for operator in ["$firstN", "$lastN", "$maxN", "$minN"] {
        for (n, expected) in [(f64::NAN, 31109), (f64::INFINITY, 31109), (1.5, 5_787_903)] {
            let some = bson!({ operator: { "input": "$a", "n": n } });
            assert_eq!(refused(db, some).await, expected, "{operator} {n}");
        }
    }
}

async fn what_is_missing_is_found_where_an_undefined_value_is(db: &Db) {
    insert(
        db,
        "c",
        vec![doc! { "_id": 1, "a": [1, Bson::Undefined], "b": [1, Bson::Null] }],
    )
    .await;
    for (array, place) in [("$a", 1), ("$b", -1)] {
        let index = value(db, bson!({ "$indexOfArray": [array, "$missing"] })).await;
        assert_eq!(index, Bson::Int32(place), "{array}");
        let is_in = value(db, bson!({ "$in": ["$missing", array] })).await;
        assert_eq!(is_in, Bson::Boolean(place >= 0), "{array}");
    }
}

async fn variables_may_be_an_empty_array(db: &Db) {
    one(db).await;
    let body = value(db, bson!({ "$let": { "vars": [], "in": "$_id" } })).await;
    assert_eq!(body, Bson::Int32(1));
    assert_ne!(refused(db, bson!({ "$let": { "vars": [1], "in": 1 } })).await, 0);
}

async fn indexes_are_listed_beside_their_builds(db: &Db) {
    one(db).await;
    let listed = |option: Document| {
        let mut command = doc! { "listIndexes": "c" };
        command.extend(option);
        command
    };
    let plain = doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" };
    let found = run(db, listed(doc! { "includeIndexBuildInfo": true })).await;
    assert_eq!(batch(&found), [doc! { "spec": &plain }]);
    let found = run(db, listed(doc! { "includeIndexBuildInfo": 0 })).await;
    assert_eq!(batch(&found), [plain]);
    for (value, expected) in [(Bson::Boolean(false), 0), (Bson::Null, 0), (Bson::Int32(1), 14)] {
        let option = doc! { "isTimeseriesNamespace": value };
        assert_eq!(code(db, listed(option)).await, expected);
    }
}

fn series(option: Document) -> Document {
    let mut command = doc! { "create": "x", "timeseries": { "timeField": "t" } };
    command.extend(option);
    command
}

async fn the_word_capped_may_be_said_of_a_time_series_where_it_is_false(db: &Db) {
    for capped in [Bson::Boolean(false), Bson::Int32(0), Bson::Double(0.0)] {
        assert_eq!(code(db, series(doc! { "capped": &capped })).await, 0, "{capped}");
        run(db, doc! { "drop": "x" }).await;
    }
    assert_eq!(code(db, series(doc! { "capped": 1 })).await, 72);
}

async fn forms_of_options_are_refused_before_their_combinations(db: &Db) {
    for (option, expected) in [
        (doc! { "validationLevel": "" }, 2),
        (doc! { "validationLevel": "off" }, 72),
        (doc! { "validationAction": "a" }, 2),
        (doc! { "clusteredIndex": "" }, 14),
        (doc! { "clusteredIndex": {} }, 40414),
        (doc! { "clusteredIndex": { "a": 1 } }, 40415),
        (doc! { "idIndex": {} }, 72),
    ] {
        assert_eq!(code(db, series(option.clone())).await, expected, "{option}");
    }
    let index = doc! { "key": { "_id": 1 }, "name": "_id_" };
    let both = doc! { "create": "y", "idIndex": index, "autoIndexId": false };
    assert_eq!(code(db, both).await, 72);
}

async fn a_number_of_documents_to_return_stands_alone(db: &Db) {
    one(db).await;
    for other in ["limit", "batchSize"] {
        assert_eq!(
            code(db, doc! { "find": "c", "ntoreturn": 2, other: 1 }).await,
            2,
            "{other}"
        );
    }
}

/// NaN with a sign and a payload.
fn nan(negative: bool, payload: u64) -> Bson {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&payload.to_le_bytes());
    bytes[15] = if negative { 0xFC } else { 0x7C };
    Bson::Decimal128(Decimal128::from_bytes(bytes))
}

async fn what_is_no_number_keeps_its_sign_and_payload(db: &Db) {
    one(db).await;
    let (minus, five, plain) = (nan(true, 0), nan(false, 5), nan(false, 0));
    for (operator, operands, expected) in [
        // The first of two, and the one that is none beside a number, whichever comes first.
        ("$add", bson!([minus.clone(), five.clone()]), minus.clone()),
        ("$add", bson!([five.clone(), minus.clone()]), five.clone()),
        ("$add", bson!([1, minus.clone()]), minus.clone()),
        ("$subtract", bson!([1, minus.clone()]), minus.clone()),
        ("$multiply", bson!([decimal("-1"), five.clone()]), five.clone()),
        ("$divide", bson!([minus.clone(), decimal("-1")]), minus.clone()),
        ("$mod", bson!([decimal("2"), five.clone()]), five.clone()),
        ("$pow", bson!([decimal("2"), minus.clone()]), minus.clone()),
        ("$sqrt", minus.clone(), minus.clone()),
        ("$trunc", minus.clone(), minus.clone()),
        ("$exp", five.clone(), five.clone()),
        ("$abs", minus.clone(), plain.clone()),
        ("$toString", minus.clone(), Bson::from("NaN")),
        // What operations make of numbers has neither.
        (
            "$subtract",
            bson!([decimal("Infinity"), decimal("Infinity")]),
            plain,
        ),
    ] {
        assert_eq!(
            value(db, bson!({ operator: operands.clone() })).await,
            expected,
            "{operator} {operands}"
        );
    }
    let Bson::Double(logarithm) = value(db, bson!({ "$ln": minus.clone() })).await else {
        panic!("a double");
    };
    assert!(logarithm.is_nan() && logarithm.is_sign_negative());
    // An update hands on the second of two.
    insert(
        db,
        "u",
        vec![doc! { "_id": 1, "n": five.clone(), "m": five.clone() }],
    )
    .await;
    let change = doc! { "$inc": { "n": minus.clone() }, "$mul": { "m": 2 } };
    run(db, doc! { "update": "u", "updates": [{ "q": {}, "u": change }] }).await;
    let found = aggregate(db, "u", vec![]).await;
    assert_eq!(found, [doc! { "_id": 1, "n": minus.clone(), "m": five }]);
    let schema =
        doc! { "find": "c", "filter": { "$jsonSchema": { "properties": { "n": { "multipleOf": minus } } } } };
    assert_eq!(code(db, schema).await, 9);
}

async fn decimals_too_small_for_doubles_are_no_zeros(db: &Db) {
    one(db).await;
    let inverse = power(db, "1E-6100", "-1").await;
    assert_eq!(inverse, decimal("1.000000000000000000000000000000000E+6100"));
    assert_eq!(
        refused(db, bson!({ "$pow": [decimal("0E-10"), -1] })).await,
        28764
    );
}

async fn powers_near_those_of_ten_come_to_an_end(db: &Db) {
    one(db).await;
    for (base, exponent) in [
        ("1000.0000000000001", "-1"),
        ("1000.00000000000000000000000001", "-1"),
        ("10.00000000000001", "-3"),
        ("1000000.000000001", "-11"),
    ] {
        let Bson::Decimal128(power) = power(db, base, exponent).await else {
            panic!("a decimal");
        };
        let power: f64 = power.to_string().parse().unwrap();
        let [base, exponent] = [base, exponent].map(|text| text.parse::<f64>().unwrap());
        assert!(
            (power / base.powf(exponent) - 1.0).abs() < 1e-12,
            "{base} {exponent}"
        );
    }
}

async fn dates_for_null_are_computed_for_null_alone(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1, "zero": 0, "at": date(0) }]).await;
    let text = |of: &str| bson!({ "$dateToString": { "date": of, "format": "%Y", "onNull": { "$divide": [1, "$zero"] } } });
    assert_eq!(value(db, text("$at")).await, Bson::from("1970"));
    assert_eq!(refused(db, text("$none")).await, 2);
}

async fn clocks_go_beyond_the_last_date(db: &Db) {
    one(db).await;
    let last = date(i64::MAX);
    let hour = bson!({ "$hour": { "date": last.clone(), "timezone": "+05:30" } });
    assert_eq!(value(db, hour).await, Bson::Int32(12));
    let text =
        bson!({ "$dateToString": { "date": last.clone(), "timezone": "+05:30", "format": "%H:%M:%S.%L" } });
    assert_eq!(value(db, text).await, Bson::from("12:42:55.807"));
    let apart = bson!({ "$dateDiff": {
        "startDate": last.clone(), "endDate": date(0), "unit": "hour", "timezone": "Asia/Kolkata",
    } });
    assert_eq!(value(db, apart).await, Bson::Int64(-2_562_047_788_015));
    let later = bson!({ "$dateAdd": { "startDate": last, "unit": "millisecond", "amount": 1 } });
    assert_eq!(refused(db, later).await, 159);
    // On the way, too: the day before, a month behind the first date, the start of the year.
    let zone = "Asia/Kolkata";
    for (expression, expected) in [
        (
            bson!({ "$dateAdd": { "startDate": date(i64::MAX), "unit": "day", "amount": -1, "timezone": zone } }),
            i64::MAX - 86_400_000,
        ),
        (
            bson!({ "$dateAdd": { "startDate": date(i64::MIN), "unit": "month", "amount": 1, "timezone": zone } }),
            -9_223_372_034_176_376_808,
        ),
        (
            bson!({ "$dateTrunc": { "date": date(i64::MAX), "unit": "year", "timezone": zone } }),
            9_223_372_017_109_800_000,
        ),
        (
            bson!({ "$dateTrunc": { "date": date(i64::MAX), "unit": "day", "timezone": zone } }),
            9_223_372_036_809_000_000,
        ),
        (
            bson!({ "$dateTrunc": { "date": date(i64::MIN + 21_600_000), "unit": "day", "timezone": zone } }),
            -9_223_372_036_850_008_000,
        ),
    ] {
        assert_eq!(
            value(db, expression.clone()).await,
            date(expected),
            "{expression}"
        );
    }
    let day = bson!({ "$dateTrunc": { "date": date(i64::MIN), "unit": "day", "timezone": zone } });
    assert_eq!(refused(db, day).await, 5_166_406);
}

async fn the_first_double_beyond_integers_is_hashed_as_the_least(db: &Db) {
    one(db).await;
    let limit = -(i64::MIN as f64);
    let hash =
        async |value_of: Bson| value(db, bson!({ "$toHashedIndexKey": { "$literal": value_of } })).await;
    assert_eq!(hash(Bson::Double(limit)).await, hash(Bson::Int64(i64::MIN)).await);
    assert_eq!(
        hash(Bson::Double(2.0 * limit)).await,
        hash(Bson::Int64(i64::MAX)).await
    );
}

async fn dates_are_added_with_all_digits(db: &Db) {
    one(db).await;
    let beyond = (1_i64 << 53) + 1;
    for (terms, expected) in [
        (bson!([date(1), beyond, 5e-324]), beyond + 1),
        (bson!([date(999), 4_503_599_627_370_495.5]), 4_503_599_627_371_495),
        (bson!([date(999), 0.5]), 999),
        (bson!([date(-1), 0.5]), 0),
        (bson!([date(0), -0.6]), -1),
        (bson!([date(999), decimal("0.5")]), 1000),
        (bson!([date(-2000), 9_223_372_036_854_775_808.0]), i64::MAX - 1999),
        (bson!([date(1), decimal("NaN")]), i64::MIN),
        (bson!([date(1), decimal("9223372036854775807")]), i64::MIN),
    ] {
        let sum = value(db, bson!({ "$add": terms.clone() })).await;
        assert_eq!(sum, date(expected), "{terms}");
    }
    for terms in [
        bson!([date(0), 9_223_372_036_854_775_808.0]),
        bson!([date(1), f64::NAN]),
        bson!([date(1), i64::MAX]),
    ] {
        assert_eq!(refused(db, bson!({ "$add": terms })).await, 15);
    }
    // What the sum comes to is found when all terms are there.
    let fails = bson!({ "$tsSecond": { "$toString": "$_id" } });
    let sum = bson!({ "$add": [{ "$toDate": { "$toLong": "$_id" } }, i64::MAX, fails.clone()] });
    assert_eq!(refused(db, sum).await, 5_687_301);
    let sum = bson!({ "$add": [{ "$toDate": { "$toLong": "$_id" } }, { "$toString": "$_id" }, fails] });
    assert_eq!(refused(db, sum).await, 16_554);
    // A difference that no integer is has its terms rounded before.
    let (a, b) = (i64::MAX - 1, -8_866_510_364_242_409_194_i64);
    assert_eq!(
        value(db, bson!({ "$subtract": [a, b] })).await,
        Bson::Double(a as f64 - b as f64)
    );
}

async fn places_are_integers_of_32_bits(db: &Db) {
    one(db).await;
    for operator in ["$round", "$trunc"] {
        for (places, code) in [
            (bson!(101), 51_083),
            (bson!(-2_147_483_648.0), 51_083),
            (bson!(2_147_483_648_i64), 51_082),
            (bson!(1e18), 51_082),
            (decimal("1E+30"), 51_082),
            (bson!(1e19), 31_109),
        ] {
            assert_eq!(
                refused(db, bson!({ operator: ["$_id", places.clone()] })).await,
                code,
                "{places}"
            );
        }
    }
}

async fn counts_of_items_are_whole_as_doubles(db: &Db) {
    one(db).await;
    for operator in ["$firstN", "$lastN", "$minN", "$maxN"] {
        let of = |count: &str| bson!({ operator: { "n": decimal(count), "input": ["$_id"] } });
        for count in ["0.9999999999999999999999999999", "1.0000000000000000000000000001"] {
            assert_eq!(value(db, of(count)).await, bson!([1]), "{count}");
        }
        for (count, code) in [
            ("1E-323", 5_787_903),
            ("1E-325", 5_787_908),
            ("-9223372036854775810", 5_787_908),
            ("9223372036854775808", 5_787_903),
            ("-1E+19", 5_787_903),
        ] {
            assert_eq!(refused(db, of(count)).await, code, "{count}");
        }
    }
}

async fn ten_has_no_decimal_power_of_zero(db: &Db) {
    one(db).await;
    for exponent in ["0", "-0", "0E+3", "0.0"] {
        for base in ["10", "1E+1", "10.00"] {
            assert_eq!(
                power(db, base, exponent).await,
                decimal("0E-6176"),
                "{base}^{exponent}"
            );
        }
        for base in ["-10", "100", "9.999"] {
            let one = decimal("1.000000000000000000000000000000000");
            assert_eq!(power(db, base, exponent).await, one, "{base}^{exponent}");
        }
    }
    let log = bson!({ "$log": [decimal("1E-400"), -2] });
    assert_eq!(refused(db, log).await, 28_758);
    // Nor has a number an inverse hyperbolic sine that is too small for the means of the library.
    for (of, expected) in [
        ("1E-6176", "0"),
        ("-1E-4966", "-0"),
        ("0", "0E-6176"),
        ("1E-4000", "1.000000000000000000000000000000000E-4000"),
    ] {
        let sine = value(db, bson!({ "$asinh": decimal(of) })).await;
        assert_eq!(sine, decimal(expected), "{of}");
    }
}

async fn bounds_come_before_what_is_looked_for(db: &Db) {
    one(db).await;
    let fails = bson!({ "$tsSecond": { "$toString": "$_id" } });
    let within = |bounds: [Bson; 2]| {
        let [start, end] = bounds;
        bson!({ "$indexOfArray": [["$_id"], fails.clone(), start, end] })
    };
    assert_eq!(refused(db, within([bson!(-1), bson!(5)])).await, 40_097);
    assert_eq!(refused(db, within([bson!(0), bson!("x")])).await, 40_096);
    assert_eq!(refused(db, within([bson!(0), bson!(1)])).await, 5_687_301);
    let other = bson!({ "$tsIncrement": { "$toString": "$_id" } });
    assert_eq!(refused(db, within([bson!(0), other.clone()])).await, 5_687_302);
    let nowhere = bson!({ "$indexOfArray": ["$missing", fails, other] });
    assert_eq!(value(db, nowhere).await, Bson::Null);
}
