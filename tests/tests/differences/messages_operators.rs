//! What operators say of values that they refuse, and of texts that are no dates by a format.

use odm::Db;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, DateTime, Decimal128, Document, bson, doc};
use odm_tests::command::insert;

use super::messages::said;

crate::on_every_backend! {
    dates_and_bytes_are_printed,
    arguments_of_functions_are_printed_as_doubles,
    overflows_of_dates_are_told,
    ranges_that_are_too_large_are_told,
    arguments_that_are_refused_are_told,
    names_that_are_refused_are_told,
    numbers_are_read_before_what_stands_behind_them,
    all_that_is_wrong_by_a_format_is_told,
    texts_of_dates_are_told_whole,
}

async fn told(db: &Db, stage: Document) -> String {
    said(db, doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} }).await
}

/// What is said of each expression ends as expected.
async fn check(db: &Db, cases: impl IntoIterator<Item = (Bson, &str)>) {
    insert(db, "c", vec![doc! { "_id": 1, "s": "x" }]).await;
    for (expression, expected) in cases {
        tell(db, expression, expected).await;
    }
}

async fn tell(db: &Db, expression: Bson, expected: &str) {
    let found = told(db, doc! { "$project": { "r": expression.clone() } }).await;
    assert!(found.ends_with(expected), "{expression}: {found}");
}

fn date(ms: i64) -> Bson {
    DateTime::from_millis(ms).into()
}

async fn dates_and_bytes_are_printed(db: &Db) {
    let bytes = |subtype| {
        Bson::Binary(Binary {
            subtype,
            bytes: b"abc".to_vec(),
        })
    };
    let zip = |value: Bson| bson!({ "$zip": { "inputs": [{ "$literal": value }] } });
    check(
        db,
        [
            (zip(date(253_402_300_799_999)), ": 9999-12-31T23:59:59.999Z"),
            (zip(date(253_402_300_800_000)), ": illegal date"),
            (zip(date(-62_167_219_200_000)), ": 0000-01-01T00:00:00.000Z"),
            (zip(date(-62_167_219_200_001)), ": illegal date"),
            (zip(bson!({ "a": date(i64::MIN) })), ": {a: illegal date}"),
            (
                zip(bytes(BinarySubtype::BinaryOld)),
                r#": BinData(2, "03000000616263")"#,
            ),
            (zip(bytes(BinarySubtype::Generic)), r#": BinData(0, "616263")"#),
            (zip(Bson::Symbol("abc".into())), r#": Symbol("abc")"#),
        ],
    )
    .await;
}

async fn arguments_of_functions_are_printed_as_doubles(db: &Db) {
    let infinity = || Bson::Decimal128("-Infinity".parse::<Decimal128>().unwrap());
    check(
        db,
        [
            (bson!({ "$ln": i32::MIN }), ", but is -2.14748e+09"),
            (bson!({ "$log10": infinity() }), ", but is -inf"),
            (bson!({ "$log": [infinity(), 2] }), ", but is -inf"),
            (bson!({ "$log": [2, -1_234_567] }), ", but is -1.23457e+06"),
            (
                bson!({ "$asin": 1_234_567 }),
                "cannot apply $asin to 1.23457e+06, value must be in [-1,1]",
            ),
            (
                bson!({ "$acosh": infinity() }),
                "cannot apply $acosh to -Infinity, value must be in [1,inf]",
            ),
        ],
    )
    .await;
}

async fn overflows_of_dates_are_told(db: &Db) {
    let add = |start: i64, unit: &str, amount: i64| bson!({ "$dateAdd": { "startDate": date(start), "unit": unit, "amount": amount } });
    let subtract = |unit: &str, amount: i64| bson!({ "$dateSubtract": { "startDate": date(0), "unit": unit, "amount": amount } });
    check(
        db,
        [
            (
                add(0, "year", 2_147_483_647),
                "invalid dateAdd 'amount' parameter value: 2147483647 year",
            ),
            (
                subtract("year", 2_147_483_647),
                "invalid dateAdd 'amount' parameter value: -2147483647 year",
            ),
            (
                subtract("day", i64::MIN),
                "invalid $dateSubtract 'amount' parameter value: -9223372036854775808",
            ),
            (
                add(i64::MIN, "millisecond", -1970),
                "Overflow while adding -1970ms to 9223372036854773838ms",
            ),
            (
                bson!({ "$dateTrunc": { "date": "$s", "unit": "day", "timezone": "nowhere" } }),
                "$dateTrunc parameter 'timezone' value parsing failed :: caused by :: unrecognized time zone identifier: \"nowhere\"",
            ),
            (
                bson!({ "$dateTrunc": { "date": date(0), "unit": "day", "binSize": 100_000_000_001_i64 } }),
                "dateTrunc unsupported binSize value",
            ),
        ],
    )
    .await;
}

async fn ranges_that_are_too_large_are_told(db: &Db) {
    let range = |end: i32| bson!({ "$range": [0, end] });
    check(
        db,
        [
            (range(6_553_598), "would use too much memory (104857608 bytes) and cannot spill to disk. Memory limit: 104857600 bytes"),
            (range(i32::MAX), "would use too much memory (34359738392 bytes) and cannot spill to disk. Memory limit: 104857600 bytes"),
        ],
    )
    .await;
}

async fn arguments_that_are_refused_are_told(db: &Db) {
    let zone = || bson!({ "$abs": "$s" });
    check(
        db,
        [
            (
                bson!({ "$dateDiff": { "startDate": date(0), "endDate": date(0), "unit": "day", "timezone": zone() } }),
                ":: $dateDiff parameter 'timezone' value parsing failed :: caused by :: $abs only supports numeric types, not string",
            ),
            (
                bson!({ "$tsSecond": "$s" }),
                "::  Argument to $tsSecond must be a timestamp, but is string",
            ),
            (
                bson!({ "$tsIncrement": "$s" }),
                "::  Argument to $tsIncrement must be a timestamp, but is string",
            ),
            (
                bson!({ "$filter": { "input": [1], "cond": true, "limit": -0.0 } }),
                "limit must be greater than 0: -0",
            ),
            (
                bson!({ "$zip": { "inputs": [[1]], "useLongestLength": 1 } }),
                "useLongestLength must be a bool, found object",
            ),
            (
                bson!({ "$convert": { "input": "$s", "to": i64::MAX } }),
                "In $convert, numeric 'to' argument is not an integer",
            ),
            (
                bson!({ "$regexMatch": { "input": "$s", "regex": r"[\N{U+41}" } }),
                r"PCRE does not support \L, \l, \N{name}, \U, or \u",
            ),
        ],
    )
    .await;
}

async fn names_that_are_refused_are_told(db: &Db) {
    let path = |name: &str| {
        format!(
            "'{name}' is a field path reference which is not allowed in this context. Did you mean {{$literal: '{name}'}}?"
        )
    };
    let cases = [
        ("$s", path("$CURRENT.s")),
        ("$$REMOVE", path("$REMOVE")),
        ("$$ROOT.s", path("$ROOT.s")),
    ];
    let cases = cases
        .iter()
        .map(|(name, expected)| (bson!({ "$getField": *name }), expected.as_str()));
    check(db, cases).await;
    tell(db, bson!("$a\0b"), "FieldPath field names may not contain '").await;
    let stage = doc! { "$addFields": { "r": { "a": { "b.": 1 } } } };
    let found = told(db, stage).await;
    assert!(
        found.ends_with("cannot use dotted field name 'b.' in a sub object: { r: { a: { b.: 1 } } }"),
        "{found}"
    );
}

async fn numbers_are_read_before_what_stands_behind_them(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    for (to, text, problem) in [
        ("double", "1e309x", "Out of range"),
        ("double", "-1e-400 ", "Out of range"),
        ("double", "1.5x", "Did not consume whole string."),
        ("double", "1e", "Did not consume whole string."),
        ("double", ".", "Did not consume any digits"),
        ("double", "\x0B1", "Leading whitespace"),
        ("long", "99999999999999999999x", "Overflow"),
        ("int", "2147483648x", "Did not consume whole string."),
        ("int", "2147483648", "Overflow"),
        (
            "decimal",
            "21474836471e-7000",
            "Conversion from string to decimal would underflow",
        ),
        (
            "decimal",
            "15e-6177",
            "Conversion from string to decimal would underflow",
        ),
        (
            "decimal",
            "1e7000",
            "Conversion from string to decimal would overflow",
        ),
    ] {
        let expected =
            format!("Failed to parse number '{text}' in $convert with no onError value: {problem}");
        let convert = bson!({ "$convert": { "input": text, "to": to } });
        tell(db, convert, &expected).await;
    }
}

async fn all_that_is_wrong_by_a_format_is_told(db: &Db) {
    insert(db, "c", vec![doc! { "_id": 1 }]).await;
    const LITERAL: &str = "Format literal not found";
    const SHORT: &str = "Not enough data available to satisfy format";
    const ZONE: &str = "passing a time zone identifier as part of the string is not allowed";
    const MIXED: &str = "Mixing of ISO dates with natural dates is not allowed";
    for (text, format, problems) in [
        (
            "2000/01/01",
            "%Y-%m-%d",
            format!("4: {LITERAL} '/'; 7: {LITERAL} '/'"),
        ),
        ("2000/01", "%Y", "4: Trailing data '/'".to_owned()),
        (
            "x",
            "%Y",
            "0: Unexpected data found. 'x'; 0: A four digit year could not be found 'x'".to_owned(),
        ),
        (
            "ab-cd",
            "%Y-%m",
            format!(
                "0: Unexpected data found. 'a'; 0: A four digit year could not be found 'a'; 5: {SHORT} '\0'"
            ),
        ),
        ("-1", "%Y", "0: Unexpected data found. '-'".to_owned()),
        (
            "20 1",
            "%H %M",
            "3: A two digit minute could not be found '1'".to_owned(),
        ),
        (
            "2000 99",
            "%G %V",
            "5: ISO Week must be between 1 and 53 '9'".to_owned(),
        ),
        (
            "2000 ab c",
            "%Y %z",
            format!("5: {ZONE} 'a'; 7: Trailing data ' '"),
        ),
        (
            "2000 x",
            "%Y %Z",
            "5: Invalid timezone offset in minutes 'x'; 5: Trailing data 'x'".to_owned(),
        ),
        (
            "2000 01 99x",
            "%Y %V %H",
            format!(
                "10: Trailing data 'x'; 10: {MIXED} 'x'; 10: The parsed date was invalid 'x'; 10: The parsed time was invalid 'x'"
            ),
        ),
        (
            "2000-13-41 25",
            "%Y-%m-%d %H",
            "13: The parsed time was invalid '\0'; 13: The parsed date was invalid '\0'".to_owned(),
        ),
    ] {
        let read = doc! { "$dateFromString": { "dateString": text, "format": format } };
        let expected = format!("Error parsing date string '{text}'; {problems}");
        let found = told(db, doc! { "$project": { "r": read } }).await;
        assert!(found.ends_with(&expected), "{text} {format}: {found}");
    }
}

async fn texts_of_dates_are_told_whole(db: &Db) {
    check(
        db,
        [
            (
                bson!({ "$toDate": "\x0B12:00" }),
                "with elements missing: \"\x0B12:00\"",
            ),
            (
                bson!({ "$toDate": " ! " }),
                "Error parsing date string ' ! '; 0: Unexpected character '!'",
            ),
            (
                bson!({ "$toDate": "\x0B" }),
                "Error parsing date string '\x0B'; 0: Unexpected character '\x0B'",
            ),
        ],
    )
    .await;
}
