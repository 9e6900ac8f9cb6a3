//! What operators say of values that they refuse, and of texts that are no dates by a format.

use odm::Db;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, DateTime, Decimal128, Document, bson, doc};
use odm_tests::command::insert;

use super::differences_messages::said;

crate::on_every_backend! {
    overflows_of_dates_are_told,
    ranges_that_are_too_large_are_told,
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
