//! What was found to differ in the values of expressions: numbers, dates, and what windows add up.

use odm::Db;
use odm::bson::{Bson, DateTime, Decimal128, Document, bson, doc};
use odm_tests::command::{aggregate, code, insert};

crate::on_every_backend! {
    dates_are_read_in_many_forms,
    a_date_may_be_moved_by_words,
    a_text_that_is_no_date_is_caught,
    formats_of_dates_take_what_the_server_takes,
    a_null_hides_a_wrong_unit,
    dates_have_ends,
    a_window_keeps_the_errors_of_what_left_it,
    a_window_without_fractions_has_a_whole_sum,
    an_integral_is_of_the_points_in_its_window,
    rounding_wraps_and_pads,
    a_double_beside_an_int32_is_out_of_range,
    decimals_have_34_digits_of_functions,
    a_key_of_a_hashed_index_is_computed,
    a_sort_of_an_array_needs_names,
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse::<Decimal128>().unwrap())
}

fn project(expression: Bson) -> Document {
    doc! { "aggregate": "c", "pipeline": [{ "$project": { "_id": 0, "r": expression } }], "cursor": {} }
}

/// The value of an expression over the only document.
async fn value(db: &Db, expression: Bson) -> Option<Bson> {
    let found = aggregate(db, "c", vec![doc! { "$project": { "_id": 0, "r": expression } }]).await;
    found[0].get("r").cloned()
}

async fn one(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
}

fn date(seconds: i64) -> Option<Bson> {
    Some(Bson::DateTime(DateTime::from_millis(seconds * 1000)))
}

fn from_text(text: &str) -> Bson {
    bson!({ "$dateFromString": { "dateString": text } })
}

async fn dates_are_read_in_many_forms(db: &Db) {
    one(db).await;
    for (text, seconds) in [
        ("2017-07-04T11:56.02", 1_499_169_362),
        ("20170704T115602", 1_499_169_362),
        ("Tue Jul  4 11:56:02 UTC 2017", 1_499_169_362),
        ("04/Jul/2017:11:56:02 +0200", 1_499_162_162),
        ("2017-07-04 11:56 p.m.", 1_499_212_560),
        ("2017-07-04T11:56:02+1:30", 1_499_163_962),
        ("2017-07-04T11:56:02 IST", 1_499_162_162),
        ("2017-07-04T", 1_499_151_600),
        ("7/4/17", 1_499_126_400),
        ("04-07-2017", 1_499_126_400),
        ("4-VII-2017", 1_499_126_400),
        ("July 2017", 1_498_867_200),
        ("2017-Jul-04 noon", 1_499_169_600),
        ("@1234567890", 1_234_567_890),
        ("70-1-1", 0),
    ] {
        assert_eq!(value(db, from_text(text)).await, date(seconds), "{text}");
        assert_eq!(
            value(db, bson!({ "$toDate": text })).await,
            date(seconds),
            "{text}"
        );
    }
}

async fn a_date_may_be_moved_by_words(db: &Db) {
    one(db).await;
    for (text, seconds) in [
        ("monday 2017-07-04", 1_499_644_800),
        ("first monday of july 2017", 1_499_040_000),
        ("last day of february 2017", 1_488_240_000),
        ("2017-07-04 +1 week", 1_499_731_200),
        ("2017-07-04 12:00 next month", 1_501_848_000),
    ] {
        assert_eq!(value(db, from_text(text)).await, date(seconds), "{text}");
    }
}

async fn a_text_that_is_no_date_is_caught(db: &Db) {
    one(db).await;
    for text in [
        "2017-07-04 12:00:60",
        "2017-07-04 0am",
        "2017-07-04T11:56:02,813Z",
        "2017-07-04T11:56:02+99:99",
        "2017.185",
        "July 4th",
        "now",
    ] {
        let caught = bson!({ "$dateFromString": { "dateString": text, "onError": "none" } });
        assert_eq!(value(db, caught).await, Some("none".into()), "{text}");
        assert_eq!(code(db, project(from_text(text))).await, 241, "{text}");
    }
    // What is no text is wrong also where the zone is null.
    let no_text = bson!({ "$dateFromString": { "dateString": 5, "timezone": null, "onError": "none" } });
    assert_eq!(value(db, no_text).await, Some("none".into()));
    // A zone in the text beside an offset of nothing is none too many, but beside UTC by its name it is.
    let with =
        |zone: &str| bson!({ "$dateFromString": { "dateString": "2017-01-01 +01:00", "timezone": zone } });
    assert_eq!(value(db, with("+00:00")).await, date(1_483_225_200));
    assert_eq!(code(db, project(with("UTC"))).await, 241);
    // Microseconds do not reach so far.
    assert_eq!(code(db, project(from_text("@9223372036855"))).await, 159);
}

async fn formats_of_dates_take_what_the_server_takes(db: &Db) {
    one(db).await;
    let by =
        |format: &str, text: &str| bson!({ "$dateFromString": { "dateString": text, "format": format } });
    for (format, text, seconds) in [
        ("%G", "abc2017", 1_483_315_200),
        ("%Y-%m-%d %Z", "2017-01-01 +", 1_483_228_800),
        ("%Y-%m-%d %z", "2017-01-01 (EST)", 1_483_246_800),
        ("%Y-%m-%d %z", "2017-01-01 +01:02:03", 1_483_225_077),
        ("%Y-%m-%d %z %H", "2017-01-01 EST 05", 1_483_264_800),
    ] {
        assert_eq!(
            value(db, by(format, text)).await,
            date(seconds),
            "{format} {text}"
        );
    }
    assert_eq!(code(db, project(by("%Y-%m-%d %Z", "2017-01-01 30"))).await, 241);
    assert_eq!(code(db, project(by("%Y-%m-%d %z", "2017-01-01 EST5"))).await, 241);
}

async fn a_null_hides_a_wrong_unit(db: &Db) {
    one(db).await;
    let now = DateTime::from_millis(0);
    for expression in [
        bson!({ "$dateTrunc": { "date": "x", "unit": "day", "timezone": null } }),
        bson!({ "$dateTrunc": { "date": now, "unit": "bad", "binSize": null } }),
        bson!({ "$dateTrunc": { "date": now, "unit": "week", "timezone": 5, "startOfWeek": null } }),
        bson!({ "$dateDiff": { "startDate": now, "endDate": now, "unit": "bad", "timezone": null } }),
        bson!({ "$dateDiff": { "startDate": "x", "endDate": now, "unit": "week", "timezone": null, "startOfWeek": 5 } }),
    ] {
        assert_eq!(value(db, expression).await, Some(Bson::Null));
    }
    let refused = bson!({ "$dateDiff": { "startDate": "x", "endDate": now, "unit": "bad" } });
    assert_eq!(code(db, project(refused)).await, 5166307);
}

async fn dates_have_ends(db: &Db) {
    one(db).await;
    let start = DateTime::from_millis(0);
    let added = |amount: i64, unit: &str| {
        project(bson!({ "$dateAdd": { "startDate": start, "amount": amount, "unit": unit } }))
    };
    assert_eq!(code(db, added(584_942_417, "year")).await, 5166406);
    assert_eq!(code(db, added(584_942_418, "year")).await, 5976500);
    assert_eq!(code(db, added(5_124_095_576_039, "hour")).await, 5166406);
    assert_eq!(code(db, added(5_124_095_576_040, "hour")).await, 5976500);
    let bin = |size: i64| project(bson!({ "$dateTrunc": { "date": start, "unit": "day", "binSize": size } }));
    assert_eq!(code(db, bin(100_000_000_000)).await, 0);
    assert_eq!(code(db, bin(100_000_000_001)).await, 5439006);
    let of = |ms: i64| project(bson!({ "$dateFromParts": { "year": 1970, "millisecond": ms } }));
    assert_eq!(code(db, of(9_223_372_036_854_775)).await, 0);
    assert_eq!(code(db, of(9_223_372_036_854_776)).await, 159);
    // Integers are added to a date exactly.
    let sum = bson!({ "$add": [-1, i64::MIN, DateTime::from_millis(1_577_836_800_000)] });
    assert_eq!(
        value(db, sum).await,
        Some(Bson::DateTime(DateTime::from_millis(-9_223_370_459_017_975_809)))
    );
}

/// What a function gives over the windows of `v`, in the order of the documents.
async fn over(db: &Db, function: Document, documents: Bson) -> Vec<Bson> {
    let mut output = function;
    output.insert("window", doc! { "documents": documents });
    let stages = vec![
        doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": { "r": output } } },
        doc! { "$sort": { "_id": 1 } },
    ];
    let found = aggregate(db, "c", stages).await;
    found
        .iter()
        .map(|found| found.get("r").cloned().unwrap())
        .collect()
}

async fn fill(db: &Db, values: Vec<Bson>) {
    let documents = values
        .into_iter()
        .zip(0..)
        .map(|(value, id)| doc! { "_id": id, "v": value });
    insert(db, "c", documents.collect()).await;
}

async fn a_window_keeps_the_errors_of_what_left_it(db: &Db) {
    fill(
        db,
        vec![
            0.2.into(),
            1.1.into(),
            0.1.into(),
            9_007_199_254_740_993_i64.into(),
        ],
    )
    .await;
    assert_eq!(
        over(db, doc! { "$sum": "$v" }, bson!(["current", "current"])).await,
        [
            Bson::Double(0.2),
            Bson::Double(1.1),
            Bson::Double(0.10000000000000009),
            Bson::Int64(9_007_199_254_740_992)
        ]
    );
    assert_eq!(
        over(db, doc! { "$avg": "$v" }, bson!(["current", "unbounded"])).await,
        [
            2251799813685248.5,
            3002399751580331.5,
            4503599627370497.0,
            9007199254740994.0
        ]
        .map(Bson::Double)
    );
}

async fn a_window_without_fractions_has_a_whole_sum(db: &Db) {
    fill(
        db,
        vec![decimal("1E+6000"), decimal("2.5"), 0.25.into(), 3.into()],
    )
    .await;
    assert_eq!(
        over(db, doc! { "$sum": "$v" }, bson!(["current", "unbounded"])).await,
        [
            decimal("1.000000000000000000000000000000000E+6000"),
            decimal("3.25"),
            Bson::Double(0.75),
            Bson::Int32(0),
        ]
    );
}

async fn an_integral_is_of_the_points_in_its_window(db: &Db) {
    // The first is in no window.
    fill(db, vec!["x".into(), 2.into(), 3.into()]).await;
    let integral = doc! { "$integral": { "input": "$v" } };
    assert_eq!(
        over(db, integral.clone(), bson!([1, 2])).await,
        [Bson::Double(2.5), Bson::Int32(0), Bson::Null]
    );
    let stage = doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": { "r": {
        "$derivative": { "input": "$v" }, "window": { "documents": ["current", "current"] },
    } } } };
    assert_eq!(
        code(db, doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} }).await,
        14
    );
}

async fn rounding_wraps_and_pads(db: &Db) {
    one(db).await;
    for (expression, expected) in [
        (bson!({ "$round": [i32::MIN, -5] }), Bson::Int32(2_147_467_296)),
        (bson!({ "$round": [i32::MAX, -5] }), Bson::Int64(2_147_500_000)),
        (
            bson!({ "$round": [decimal("2.5"), 50] }),
            decimal("2.500000000000000000000000000000000"),
        ),
        (
            bson!({ "$trunc": [decimal("1E+400"), 3] }),
            decimal("1.000000000000000000000000000000000E+400"),
        ),
        (bson!({ "$multiply": [i32::MAX, i32::MAX, 0] }), Bson::Int32(0)),
    ] {
        assert_eq!(
            value(db, expression.clone()).await,
            Some(expected),
            "{expression}"
        );
    }
}

async fn a_double_beside_an_int32_is_out_of_range(db: &Db) {
    one(db).await;
    for expression in [
        bson!({ "$toInt": 2147483647.5 }),
        bson!({ "$toInt": -2147483648.9 }),
        bson!({ "$toDouble": decimal("2.2E-308") }),
        bson!({ "$toDouble": decimal("1E-400") }),
        bson!({ "$toDouble": "1e-310" }),
    ] {
        assert_eq!(code(db, project(expression.clone())).await, 241, "{expression}");
    }
    let whole = bson!({ "$toInt": decimal("2147483647.5") });
    assert_eq!(value(db, whole).await, Some(Bson::Int32(i32::MAX)));
}

async fn decimals_have_34_digits_of_functions(db: &Db) {
    one(db).await;
    for (name, x, expected) in [
        ("$sin", "1.5", "0.9974949866040544309417233711414873"),
        ("$tan", "1", "1.557407724654902230506974807458360"),
        ("$asin", "-1", "-1.570796326794896619231321691639751"),
        ("$atan", "Infinity", "1.570796326794896619231321691639751"),
        ("$sinh", "1", "1.175201193643801456882381850595601"),
        ("$tanh", "0.5", "0.4621171572600097585023184836436726"),
        ("$acosh", "10", "2.993222846126380897912667713774183"),
        ("$degreesToRadians", "45", "0.7853981633974483096156608458198758"),
        ("$radiansToDegrees", "2.5", "143.2394487827058021919953870352629"),
    ] {
        let found = value(db, bson!({ name: decimal(x) })).await;
        assert_eq!(found, Some(decimal(expected)), "{name}");
    }
    let Some(Bson::Double(logarithm)) = value(db, bson!({ "$ln": decimal("NaN") })).await else {
        panic!("the logarithm of a decimal NaN is a double");
    };
    assert!(logarithm.is_nan());
}

async fn a_key_of_a_hashed_index_is_computed(db: &Db) {
    one(db).await;
    for (expression, expected) in [
        (bson!({ "$toHashedIndexKey": "x" }), -5_169_800_095_944_007_213),
        (bson!({ "$toHashedIndexKey": [] }), 8_849_948_234_993_459_283),
        (bson!({ "$toHashedIndexKey": [1] }), 2_057_342_063_119_257_436),
        (
            bson!({ "$toHashedIndexKey": "$missing" }),
            2_338_878_944_348_059_895,
        ),
    ] {
        assert_eq!(
            value(db, expression.clone()).await,
            Some(Bson::Int64(expected)),
            "{expression}"
        );
    }
}

async fn a_sort_of_an_array_needs_names(db: &Db) {
    one(db).await;
    for name in ["", "a.", ".a", "a..b"] {
        let sorted = bson!({ "$sortArray": { "input": [1], "sortBy": { name: 1 } } });
        assert_eq!(code(db, project(sorted)).await, 2942505, "{name}");
    }
}
