//! Expressions and filters over extreme values, which random ones of small domains never are.

use std::cell::RefCell;

use bson::{Bson, DateTime, Document, doc};
use odm::Db;

use super::commands::{MAIN, Step};
use super::comparable::mapped;
use super::expressions::{self, Kind};
use super::filters::filter;
use super::machine::{Report, compare_scenarios};
use super::values::{decimal, document};
use crate::random::Random;

/// How many documents each question is asked of, one after the other.
const DOCUMENTS: i32 = 8;
/// How many questions meet the same documents.
const ROUND: usize = 12;

/// Asks both databases random questions over extreme values until `operations` are done or `most` differences are found.
pub async fn compare_varied(ours: &Db, theirs: &Db, seed: u64, operations: u64, most: usize) -> Report {
    compare_scenarios(ours, theirs, seed, operations, most, scenario).await
}

fn scenario(seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed.wrapping_mul(0x2000_000b));
    let documents: Vec<Document> = (0..DOCUMENTS)
        .map(|id| {
            let mut extreme = extremes(Bson::Document(document(&mut random, id)), &mut random);
            if let Bson::Document(fields) = &mut extreme {
                fields.insert("_id", id);
            }
            extreme.as_document().cloned().unwrap_or_default()
        })
        .collect();
    let mut steps = vec![Step::of(doc! { "insert": MAIN, "documents": documents })];
    for _ in 0..ROUND {
        if random.one_in(4) {
            let asked = filter(&mut random, 1);
            let asked = extremes(Bson::Document(asked), &mut random);
            if !goes_by_chance(&asked) {
                steps.push(Step::of(
                    doc! { "find": MAIN, "filter": asked, "sort": { "_id": 1 } },
                ));
            }
            continue;
        }
        let expression = expressions::expression(&mut random, Kind::Any, 2);
        let expression = extremes(expression, &mut random);
        if goes_by_chance(&expression) {
            continue;
        }
        // A first group has means of its own, and so has what computes before it.
        let stages = match random.below(4) {
            0 => vec![doc! { "$group": { "_id": "$_id", "v": { "$last": expression } } }],
            1 => vec![
                doc! { "$project": { "v": expression } },
                doc! { "$group": { "_id": "$_id", "v": { "$last": "$v" } } },
            ],
            _ => vec![doc! { "$project": { "v": expression } }],
        };
        for id in 0..DOCUMENTS {
            let one = doc! { "$match": { "_id": { "$gte": id, "$lte": id } } };
            let pipeline = [vec![one], stages.clone()].concat();
            steps.push(Step::of(doc! { "aggregate": MAIN, "pipeline": pipeline }));
        }
    }
    steps
}

fn goes_by_chance(asked: &Bson) -> bool {
    let text = asked.to_string();
    ["$rand", "$sampleRate"].iter().any(|name| text.contains(name))
}

/// The value with extreme numbers, texts and dates in the place of some of its own.
fn extremes(value: Bson, random: &mut Random) -> Bson {
    let random = RefCell::new(random);
    mapped(value, &|leaf| {
        let mut random = random.borrow_mut();
        if random.one_in(3) {
            return leaf;
        }
        match leaf {
            Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => number(&mut random),
            // Names of fields, variables, units, zones and types stay what they are.
            Bson::String(own) if own.is_empty() || TEXTS.contains(&own.as_str()) => {
                Bson::String((*random.pick(TEXTS)).to_owned())
            }
            Bson::DateTime(_) => Bson::DateTime(DateTime::from_millis(*random.pick(DATES))),
            other => other,
        }
    })
}

fn number(random: &mut Random) -> Bson {
    match random.below(4) {
        0 => Bson::Int32(*random.pick(INTEGERS)),
        1 => Bson::Int64(*random.pick(LONGS)),
        2 => Bson::Double(*random.pick(DOUBLES)),
        _ => decimal(random.pick::<&str>(DECIMALS)),
    }
}

const INTEGERS: &[i32] = &[
    0,
    -1,
    3,
    10,
    12,
    31,
    60,
    64,
    1000,
    -1000,
    65_536,
    i32::MAX,
    i32::MIN,
    1_000_000_007,
];

const LONGS: &[i64] = &[
    0,
    -7,
    63,
    1 << 31,
    -(1 << 31) - 1,
    1 << 32,
    (1 << 53) - 1,
    (1 << 53) + 1,
    -(1 << 53) - 1,
    1 << 62,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
    1_585_440_000_000,
];

const DOUBLES: &[f64] = &[
    0.0,
    -0.0,
    0.5,
    -2.5,
    1e-320,
    5e-324,
    1e308,
    -1e308,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    9_007_199_254_740_994.0,
    9_223_372_036_854_774_784.0,
    -9_223_372_036_854_775_808.0,
    0.1,
    1e21,
    123_456_789.123,
    -2_147_483_649.0,
    1.005,
    4_503_599_627_370_495.5,
];

const DECIMALS: &[&str] = &[
    "0",
    "-0",
    "0E+10",
    "1.00",
    "0.10",
    "1E+1",
    "10",
    "1E-6176",
    "9.999999999999999999999999999999999E+6144",
    "NaN",
    "-NaN",
    "Infinity",
    "-Infinity",
    "9223372036854775808",
    "-9223372036854775809",
    "9007199254740993",
    "-2.5",
    "1234567890.123456789012345678901234",
    "1E+20",
    "1.8E+308",
    "1E-400",
    "12.000",
];

const TEXTS: &[&str] = &[
    "",
    "a",
    "ab",
    "abc",
    "b",
    "B",
    "é",
    "a.b",
    "Ab",
    "10",
    "9",
    "a b",
    "e\u{301}",
    "日本語",
    "a\0b",
    "-1.5",
    "0x1F",
    "1e3",
    " 12 ",
    "NaN",
    "-Infinity",
    "9223372036854775808",
    "2020-01-02T03:04:05.678+02:00",
    "2020-02-30",
    "5f0f0f0f0f0f0f0f0f0f0f0f",
    "𝒳y",
    "ß",
    "a\r\nb",
    " \t x \u{2000}",
    "xyxyxy",
    "%Y-%m-%d",
    "[a-z]",
    "(a)(b)?",
    "\u{10FFFF}",
];

const DATES: &[i64] = &[
    0,
    -1,
    999,
    -86_400_000,
    1_585_443_599_999,
    1_603_587_600_000,
    951_782_400_000,
    4_102_444_800_000,
    -62_135_596_800_000,
    -62_167_219_200_001,
    253_402_300_799_999,
    253_402_300_800_000,
    8_640_000_000_000_000,
    -8_640_000_000_000_000,
    1_609_459_199_999,
];
