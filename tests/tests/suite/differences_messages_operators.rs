//! What operators say of values that they refuse, and of texts that are no dates by a format.

use odm::Db;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, DateTime, Decimal128, Document, bson, doc};
use odm_tests::command::insert;

use super::differences_messages::said;

crate::on_every_backend! {
    overflows_of_dates_are_told,
    ranges_that_are_too_large_are_told,
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
