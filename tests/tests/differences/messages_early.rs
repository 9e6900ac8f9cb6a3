//! What the server says in a first `$group`, which computes by other means than later stages: it shows no values.

use odm::Db;
use odm::bson::{DateTime, doc};
use odm_tests::command::insert;

use super::messages::said;

crate::on_every_backend! {
    first_groups_have_words_of_their_own,
}

async fn first_groups_have_words_of_their_own(db: &Db) {
    let fields = doc! {
        "_id": 1, "s": "x", "n": 5, "f": 1.5, "z": 0, "l": [1], "d": DateTime::from_millis(0), "bad": "(", "nul": "a\0b",
    };
    insert(db, "c", vec![fields]).await;
    let days = |name: &str, value: &str| {
        let mut parts = doc! { "startDate": "$d", "unit": "day", "amount": 1 };
        parts.insert(name, value);
        doc! { "$dateAdd": parts }
    };
    let between = |name: &str, value: &str| {
        let mut parts = doc! { "startDate": "$d", "endDate": "$d", "unit": "week", "startOfWeek": "monday" };
        parts.insert(name, value);
        doc! { "$dateDiff": parts }
    };
    for (expression, expected) in [
        (doc! { "$abs": "$s" }, "$abs only supports numeric types"),
        (doc! { "$ceil": "$s" }, "$ceil only supports numeric types"),
        (
            doc! { "$divide": ["$s", 1] },
            "$divide only supports numeric types",
        ),
        (doc! { "$sin": "$s" }, "$sin supports only numeric types"),
        (doc! { "$atan": "$s" }, "$atan supports only numeric types"),
        (
            doc! { "$acos": "$n" },
            "Cannot apply $acos, value must be in [-1, 1]",
        ),
        (doc! { "$ln": "$z" }, "$ln's argument must be a positive number"),
        (
            doc! { "$add": ["$s", 1] },
            "only numbers and dates are allowed in an $add expression",
        ),
        (
            doc! { "$add": ["$n", "$s", 1] },
            "only numbers and dates are allowed in an $add expression",
        ),
        (
            doc! { "$add": ["$d", "$d", 1] },
            "only one date allowed in an $add expression",
        ),
        (
            doc! { "$multiply": ["$s", 2] },
            "only numbers are allowed in an $multiply expression",
        ),
        (doc! { "$concat": ["$n"] }, "$concat supports only strings"),
        (
            doc! { "$concatArrays": ["$s", "$l"] },
            "$concatArrays only supports arrays",
        ),
        (
            doc! { "$arrayElemAt": ["$s", 0] },
            "$arrayElemAt first argument must be an array",
        ),
        (
            doc! { "$arrayElemAt": ["$l", "$f"] },
            "$arrayElemAt second argument cannot be represented as a 32-bit integer",
        ),
        (doc! { "$first": "$s" }, "$first argument must be an array"),
        (
            doc! { "$setUnion": ["$s", "$l"] },
            "All operands of $setUnion must be arrays.",
        ),
        (
            doc! { "$filter": { "input": "$s", "cond": true } },
            "input to $filter must be an array",
        ),
        (
            doc! { "$filter": { "input": "$l", "cond": true, "limit": "$z" } },
            "'$filter.limit' must be greater than 0",
        ),
        (
            doc! { "$range": ["$n", "$s"] },
            "$range only supports numeric types for end",
        ),
        (
            doc! { "$range": [1, "$n", "$f"] },
            "$range step argument cannot be represented as a 32-bit integer",
        ),
        (
            doc! { "$range": [1, "$n", "$z"] },
            "$range requires a non-zero step value",
        ),
        (
            doc! { "$indexOfCP": ["$n", "x"] },
            "$indexOfCP string must resolve to a string or null",
        ),
        (
            doc! { "$indexOfCP": ["$s", "$n"] },
            "$indexOfCP substring must resolve to a string",
        ),
        (
            doc! { "$indexOfBytes": ["$s", "x", 0, "$s"] },
            "$indexOfBytes end index must resolve to a number",
        ),
        (doc! { "$toLower": "$l" }, "$toLower input type is not supported"),
        (
            doc! { "$tsSecond": "$s" },
            "$tsSecond expects argument of type timestamp",
        ),
        (
            doc! { "$dayOfYear": "$s" },
            "$dayOfYear date must have a format of a date",
        ),
        (
            doc! { "$dayOfYear": { "date": "$d", "timezone": "$n" } },
            "$dayOfYear timezone must be a string",
        ),
        (
            doc! { "$dateToParts": { "date": "$d", "timezone": "$s" } },
            "$dateToParts timezone must be a valid timezone",
        ),
        (
            doc! { "$dateFromParts": { "year": "$n", "month": "$f" } },
            "'month' must evaluate to an integer",
        ),
        (
            days("startDate", "$s"),
            "$dateAdd must have startDate argument convertable to date",
        ),
        (days("amount", "$f"), "invalid $dateAdd 'amount' argument value"),
        (days("unit", "$s"), "$dateAdd expects a valid time unit"),
        (
            days("timezone", "$n"),
            "$dateAdd expects timezone argument of type string",
        ),
        (
            between("endDate", "$s"),
            "$dateDiff parameter 'endDate' must be coercible to date",
        ),
        (
            between("startOfWeek", "$s"),
            "$dateDiff parameter 'startOfWeek' must be a valid day of the week",
        ),
        (
            doc! { "$regexFind": { "input": "$n", "regex": "x" } },
            "$regexFind: input must be of type string",
        ),
        (
            doc! { "$regexMatch": { "input": "$s", "regex": "$n" } },
            "$regexMatch: regex pattern must have either string or BSON RegEx type",
        ),
        (
            doc! { "$regexMatch": { "input": "$s", "regex": "$nul" } },
            "$regexMatch: regex pattern must not have embedded null bytes",
        ),
        (
            doc! { "$regexFindAll": { "input": "$s", "regex": "$bad" } },
            "Invalid Regex: missing )",
        ),
        (
            doc! { "$replaceOne": { "input": "$s", "find": "$n", "replacement": "y" } },
            "$replaceOne requires that 'find' be a string",
        ),
        // What an inner operator says is not another's.
        (
            doc! { "$abs": { "$toLower": "$l" } },
            "$toLower input type is not supported",
        ),
        (
            doc! { "$cond": [{ "$first": "$s" }, 1, 2] },
            "$first argument must be an array",
        ),
    ] {
        let stages = [
            doc! { "$match": { "_id": { "$gte": 0 } } },
            doc! { "$group": { "_id": "$_id", "v": { "$last": expression.clone() } } },
        ];
        let command = doc! { "aggregate": "c", "pipeline": stages.to_vec(), "cursor": {} };
        let expected = format!("PlanExecutor error during aggregation :: caused by :: {expected}");
        assert_eq!(said(db, command).await, expected, "{expression}");
    }
}
