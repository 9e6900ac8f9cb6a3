//! Tables of expressions with the server's answers, one for each family.

use bson::{Bson, DateTime, bson};

use super::super::super::document::decimal::Decimal;
use super::*;

/// Evaluates over a small document: the value, `None` for missing, or the error's code.
fn check(table: Vec<(Bson, Result<Option<Bson>, i32>)>) {
    let root =
        bson!({ "_id": 1, "a": 1, "s": "text", "arr": [1, 2, { "b": 3 }, [{ "b": 4 }]], "o": { "x": 1 } });
    let root = bson::serialize_to_vec(&root).unwrap();
    for (expression, expected) in table {
        let bytes = bson::serialize_to_vec(&bson!({ "e": expression.clone() })).unwrap();
        let value = Doc::Raw(&bytes).get("e").unwrap();
        let got = Expression::parse(&value, &[])
            .and_then(|expression| expression.evaluate(&Scope::new(Doc::Raw(&root), 0)))
            .map(|value| {
                value.map(|value| {
                    let bytes = Doc::Fields(&[("r".to_owned(), value)]).to_bytes();
                    bson::deserialize_from_slice::<bson::Document>(&bytes)
                        .unwrap()
                        .remove("r")
                        .unwrap()
                })
            })
            .map_err(|fault| fault.code());
        assert_eq!(got, expected, "{expression}");
    }
}

fn is(value: impl Into<Bson>) -> Result<Option<Bson>, i32> {
    Ok(Some(value.into()))
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(bson::Decimal128::from_bytes(
        Decimal::parse(text).unwrap().to_bytes(),
    ))
}

#[test]
fn paths_and_variables() {
    check(vec![
        (bson!("$a"), is(1)),
        (bson!("$zz"), Ok(None)),
        (bson!("$o.x"), is(1)),
        (bson!("$arr.b"), is(bson!([3]))),
        (bson!("$arr.0"), is(bson!([]))),
        (bson!("$$ROOT.o.x"), is(1)),
        (bson!("$$CURRENT.a"), is(1)),
        (bson!("$$REMOVE"), Ok(None)),
        (bson!("$"), Err(16872)),
        (bson!("$$"), Err(9)),
        (bson!("$a."), Err(40353)),
        (bson!("$a..b"), Err(15998)),
        (bson!("$a.$b"), Err(16410)),
        (bson!("$$nobody"), Err(17276)),
        (bson!({ "x": "$a", "y": "$zz" }), is(bson!({ "x": 1 }))),
        (bson!(["$a", "$zz"]), is(bson!([1, null]))),
        (bson!({ "$unknown": 1 }), Err(168)),
        (bson!({ "$add": [1], "$sum": [1] }), Err(15983)),
        (
            bson!({ "$let": { "vars": { "v": "$a" }, "in": { "$add": ["$$v", 1] } } }),
            is(2),
        ),
        (
            bson!({ "$let": { "vars": { "CURRENT": "$o" }, "in": "$x" } }),
            is(1),
        ),
        (bson!({ "$let": { "vars": { "V": 1 }, "in": 1 } }), Err(9)),
        (bson!({ "$literal": "$a" }), is("$a")),
    ]);
}

#[test]
fn deep_nesting_is_refused_or_evaluated() {
    let nest = |depth: usize| (0..depth).fold(bson!(1), |inner, _| bson!({ "$abs": inner }));
    check(vec![(nest(150), is(1)), (nest(201), Err(15))]);
    let growing =
        bson!({ "$reduce": { "input": { "$range": [0, 1000] }, "initialValue": [], "in": ["$$value"] } });
    check(vec![(growing, Err(15))]);
}

/// Once for each level around it, were it asked for again what an argument fails with.
#[test]
fn what_fails_deep_inside_is_evaluated_once() {
    for operator in ["$add", "$concatArrays", "$setUnion", "$range"] {
        let mut expression = bson!({ "$divide": ["$a", { "$subtract": ["$a", "$a"] }] });
        for _ in 0..40 {
            expression = match operator {
                "$add" => bson!({ operator: ["$a", expression] }),
                "$range" => bson!({ operator: ["$a", "$a", expression] }),
                _ => bson!({ operator: ["$arr", "$arr", expression] }),
            };
        }
        check(vec![(expression, Err(2))]);
    }
}

#[test]
fn comparison_and_condition() {
    check(vec![
        (bson!({ "$eq": [1, 1.0] }), is(true)),
        (bson!({ "$cmp": ["$zz", null] }), is(-1)),
        (bson!({ "$lt": [null, 0] }), is(true)),
        (bson!({ "$gt": ["$s", 5] }), is(true)),
        (bson!({ "$eq": [1] }), Err(16020)),
        (bson!({ "$and": [{ "$divide": ["$a", 0] }, false] }), is(false)),
        (bson!({ "$or": [] }), is(false)),
        (bson!({ "$not": [0] }), is(true)),
        (bson!({ "$cond": ["$zz", 1, 2] }), is(2)),
        (bson!({ "$cond": { "if": true, "then": 1 } }), Err(17082)),
        (bson!({ "$cond": [true, 1, { "$divide": [1, 0] }] }), Err(2)),
        (bson!({ "$ifNull": ["$zz", null, 3] }), is(3)),
        (bson!({ "$ifNull": [1] }), Err(1257300)),
        (
            bson!({ "$switch": { "branches": [{ "case": "$zz", "then": 1 }], "default": "d" } }),
            is("d"),
        ),
        (
            bson!({ "$switch": { "branches": [{ "case": "$zz", "then": 1 }] } }),
            Err(40066),
        ),
    ]);
}

#[test]
fn arithmetic() {
    check(vec![
        (bson!({ "$add": [2147483647, 1] }), is(2_147_483_648i64)),
        (bson!({ "$add": [i64::MAX, 1] }), is(9_223_372_036_854_775_807.0)),
        (bson!({ "$add": [i64::MAX, 1, -5i64] }), is(i64::MAX - 4)),
        (bson!({ "$add": [0.1, 0.2, 0.3] }), is(0.6)),
        (
            bson!({ "$add": [decimal("1"), 0.1] }),
            is(decimal("1.100000000000000005551115123125783")),
        ),
        (
            bson!({ "$add": [DateTime::from_millis(5), 1.5] }),
            is(DateTime::from_millis(6)),
        ),
        (bson!({ "$add": [1, "x"] }), Err(16554)),
        (bson!({ "$add": [null, "x"] }), is(Bson::Null)),
        (
            bson!({ "$subtract": [DateTime::from_millis(5), DateTime::from_millis(3)] }),
            is(2i64),
        ),
        (
            bson!({ "$multiply": [i64::MAX, 2] }),
            is(18_446_744_073_709_551_614.0),
        ),
        (bson!({ "$divide": [1, 2] }), is(0.5)),
        (bson!({ "$divide": [1, 0] }), Err(2)),
        (bson!({ "$mod": [-5, 3] }), is(-2)),
        (bson!({ "$mod": [5, 2.0] }), is(1)),
        (bson!({ "$mod": [5, 2.5] }), is(0.0)),
        (bson!({ "$mod": [5, 0] }), Err(16610)),
        (bson!({ "$abs": i32::MIN }), is(2_147_483_648i64)),
        (bson!({ "$pow": [2, 31] }), is(2_147_483_648i64)),
        (bson!({ "$pow": [2, -1] }), is(0.5)),
        (bson!({ "$pow": [0, -1] }), Err(28764)),
        (bson!({ "$round": [2.5] }), is(2.0)),
        (bson!({ "$round": [25, -1] }), is(20)),
        (bson!({ "$round": [decimal("1.255"), 2] }), is(decimal("1.26"))),
        (bson!({ "$trunc": [-1.99, 1] }), is(-1.9)),
        (bson!({ "$sqrt": -1 }), Err(28714)),
        (bson!({ "$ceil": decimal("1.50") }), is(decimal("2"))),
        (bson!({ "$avg": [1, 2] }), is(1.5)),
        (bson!({ "$sum": [1, "x", 2] }), is(3)),
        (bson!({ "$acos": 2 }), Err(50989)),
    ]);
}

#[test]
fn arrays() {
    check(vec![
        (bson!({ "$arrayElemAt": [[1, 2], -1] }), is(2)),
        (bson!({ "$arrayElemAt": [[1, 2], 5] }), Ok(None)),
        (bson!({ "$concatArrays": [[1], [2]] }), is(bson!([1, 2]))),
        (
            bson!({ "$filter": { "input": [1, 2, 3], "cond": { "$gt": ["$$this", 1] }, "limit": 1 } }),
            is(bson!([2])),
        ),
        (
            bson!({ "$map": { "input": [1, 2], "as": "x", "in": { "$add": ["$$x", "$a"] } } }),
            is(bson!([2, 3])),
        ),
        (
            bson!({ "$reduce": { "input": ["a", "b"], "initialValue": "", "in": { "$concat": ["$$value", "$$this"] } } }),
            is("ab"),
        ),
        (bson!({ "$range": [5, 0, -2] }), is(bson!([5, 3, 1]))),
        (bson!({ "$range": [0, 2147483647] }), Err(146)),
        (bson!({ "$slice": [[1, 2, 3], -5, 2] }), is(bson!([1, 2]))),
        (bson!({ "$slice": [[1, 2, 3], 1, 0] }), Err(28729)),
        (bson!({ "$indexOfArray": [[1, 2, 1], 1, 1] }), is(2)),
        (
            bson!({ "$sortArray": { "input": [3, 1, 2], "sortBy": -1 } }),
            is(bson!([3, 2, 1])),
        ),
        (
            bson!({ "$zip": { "inputs": [[1, 2], [3]], "useLongestLength": true, "defaults": [0, 9] } }),
            is(bson!([[1, 3], [2, 9]])),
        ),
        (
            bson!({ "$arrayToObject": [[["a", 1], ["b", 2], ["a", 3]]] }),
            is(bson!({ "a": 3, "b": 2 })),
        ),
        (
            bson!({ "$objectToArray": "$o" }),
            is(bson!([{ "k": "x", "v": 1 }])),
        ),
        (
            bson!({ "$maxN": { "n": 2, "input": [3, null, 1, 2] } }),
            is(bson!([3, 2])),
        ),
        (bson!({ "$size": "$a" }), Err(17124)),
        (bson!({ "$setUnion": [[3, 1], [1.0, 2]] }), is(bson!([1, 2, 3]))),
        (
            bson!({ "$setDifference": [[1, 2, 2, 3], [2]] }),
            is(bson!([1, 3])),
        ),
        (bson!({ "$setEquals": [[1], 2] }), Err(5887502)),
        (
            bson!({ "$mergeObjects": [{ "a": 1 }, null, { "a": 2, "b": 1 }] }),
            is(bson!({ "a": 2, "b": 1 })),
        ),
        (
            // No driver could read the document.
            bson!({ "$setField": { "field": "n\u{0}m", "input": "$o", "value": 5 } }),
            Err(4161107),
        ),
        (
            bson!({ "$setField": { "field": "n", "input": "$o", "value": 5 } }),
            is(bson!({ "x": 1, "n": 5 })),
        ),
        (bson!({ "$getField": "$s" }), Err(5654600)),
    ]);
}

#[test]
fn strings() {
    check(vec![
        (bson!({ "$concat": ["a", "$s"] }), is("atext")),
        (bson!({ "$substrBytes": ["h\u{e9}llo", 2, 2] }), Err(28656)),
        (bson!({ "$substrCP": ["h\u{e9}llo", 1, 2] }), is("\u{e9}l")),
        (bson!({ "$toUpper": 1e20 }), is("1E+20")),
        (bson!({ "$trim": { "input": "xxaxx", "chars": "x" } }), is("a")),
        (bson!({ "$split": [",a,", ","] }), is(bson!(["", "a", ""]))),
        (bson!({ "$indexOfBytes": ["h\u{e9}llo", "l", 2] }), is(3)),
        (bson!({ "$indexOfCP": ["h\u{e9}llo", "l"] }), is(2)),
        (
            bson!({ "$replaceAll": { "input": "aba", "find": "a", "replacement": "x" } }),
            is("xbx"),
        ),
        (
            bson!({ "$regexFind": { "input": "xabc", "regex": "(a)(z)?" } }),
            is(bson!({ "match": "a", "idx": 1, "captures": ["a", null] })),
        ),
        (
            bson!({ "$regexFindAll": { "input": "a\u{e9}", "regex": "" } }),
            is(bson!([
                { "match": "", "idx": 0, "captures": [] },
                { "match": "", "idx": 1, "captures": [] },
            ])),
        ),
        (
            bson!({ "$regexMatch": { "input": "a", "regex": "(" } }),
            Err(51111),
        ),
    ]);
}

#[test]
fn conversions() {
    check(vec![
        (bson!({ "$toInt": "1.5" }), Err(241)),
        (bson!({ "$toInt": -1.9 }), is(-1)),
        (bson!({ "$toLong": "9223372036854775808" }), Err(241)),
        (bson!({ "$toString": 123_456_789.123 }), is("1.23457e+08")),
        (bson!({ "$toDecimal": 0.1 }), is(decimal("0.100000000000000"))),
        (
            bson!({ "$convert": { "input": "x", "to": "int", "onError": "E" } }),
            is("E"),
        ),
        (
            bson!({ "$convert": { "input": null, "to": "int", "onNull": "N" } }),
            is("N"),
        ),
        (bson!({ "$convert": { "input": 1, "to": "foo" } }), Err(2)),
        (
            bson!({ "$toDate": "2020-01-02" }),
            is(DateTime::from_millis(1_577_923_200_000)),
        ),
        (bson!({ "$toObjectId": "x" }), Err(241)),
        (bson!({ "$type": "$zz" }), is("missing")),
    ]);
}

#[test]
fn dates() {
    // 2020-01-02T03:04:05.678Z
    let date = || DateTime::from_millis(1_577_934_245_678);
    let at = |ms: i64| is(DateTime::from_millis(ms));
    check(vec![
        (
            bson!({ "$hour": { "date": date(), "timezone": "+05:30" } }),
            is(8),
        ),
        (
            bson!({ "$hour": { "date": date(), "timezone": "nowhere" } }),
            Err(40485),
        ),
        (
            bson!({ "$hour": { "date": date(), "timezone": "Europe/Paris" } }),
            is(4),
        ),
        (bson!({ "$week": date() }), is(0)),
        (bson!({ "$isoWeek": date() }), is(1)),
        (bson!({ "$isoWeekYear": date() }), is(2020i64)),
        (
            bson!({ "$dateToString": { "date": date(), "format": "%Y-%j %U %u %V %w %G %z %Z %%" } }),
            is("2020-002 00 4 01 5 2020 +0000 0 %"),
        ),
        (
            bson!({ "$dateFromParts": { "year": 2020, "month": 0, "day": -5, "hour": 30, "minute": -1 } }),
            at(1_574_747_940_000),
        ),
        (
            bson!({ "$dateFromString": { "dateString": "Jan 2, 2020" } }),
            at(1_577_923_200_000),
        ),
        (
            bson!({ "$dateFromString": { "dateString": "2020-02-30" } }),
            Err(241),
        ),
        (
            bson!({ "$dateFromString": { "dateString": "02-01-2020", "format": "%d-%m-%Y" } }),
            at(1_577_923_200_000),
        ),
        (
            bson!({ "$dateAdd": { "startDate": DateTime::from_millis(1_580_428_800_000), "unit": "month", "amount": 1 } }),
            at(1_582_934_400_000),
        ),
        (
            bson!({ "$dateDiff": { "startDate": date(), "endDate": DateTime::from_millis(1_614_556_800_000), "unit": "month" } }),
            is(14i64),
        ),
        (
            bson!({ "$dateTrunc": { "date": date(), "unit": "week", "binSize": 2, "startOfWeek": "mon" } }),
            at(1_577_059_200_000),
        ),
        (
            bson!({ "$dateTrunc": { "date": date(), "unit": "hour", "binSize": 0 } }),
            Err(5439018),
        ),
    ]);
}
