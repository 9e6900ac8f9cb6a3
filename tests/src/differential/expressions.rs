//! Random expressions: every operator, mostly with operands of the types that it takes.

use bson::{Bson, DateTime, Document, bson, doc};

use super::values::{self, value};
use super::zones::UNITS;
use crate::random::Random;

/// What an expression is to give; now and then it gives something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Any,
    Number,
    Text,
    Array,
    Date,
    Truth,
    Object,
}

use Kind::{Any, Array, Date, Number, Object, Text, Truth};

const KINDS: &[Kind] = &[Number, Text, Array, Date, Truth, Object];

/// A random expression.
pub(super) fn expression(random: &mut Random, kind: Kind, depth: usize) -> Bson {
    if depth == 0 || random.one_in(5) {
        return leaf(random, kind);
    }
    let kind = match kind {
        Any => *random.pick(KINDS),
        _ if random.one_in(25) => *random.pick(KINDS),
        kind => kind,
    };
    if random.one_in(8) {
        return Bson::Document(of_any(random, kind, depth - 1));
    }
    Bson::Document(match kind {
        Number => number(random, depth - 1),
        Text => text(random, depth - 1),
        Array => array(random, depth - 1),
        Date => date(random, depth - 1),
        Truth => truth(random, depth - 1),
        _ => object(random, depth - 1),
    })
}

fn leaf(random: &mut Random, kind: Kind) -> Bson {
    let field = |name: &str| Bson::String(format!("${name}"));
    match (random.below(12), kind) {
        (0, _) => field(random.pick::<&str>(&["a", "b", "c", "a.x", "b.y", "_id", "missing"])),
        (1, _) => Bson::Null,
        (2..=4, Number) => values::number(random),
        (2..=4, Text) => values::text(random),
        // What could be a path is one: said as a literal.
        (2..=4, Array) => bson!({ "$literal": values::array(random, 1) }),
        (2..=4, Date) => values::date(random),
        (2..=4, Truth) => Bson::Boolean(random.one_in(2)),
        (2..=4, Object) => bson!({ "x": values::number(random) }),
        (5, Object) => Bson::String("$$ROOT".to_owned()),
        (2..=3, Any) => value(random, 1),
        (4, Any) => Bson::String("$$CURRENT.n".to_owned()),
        (_, Any) => field(random.pick::<&str>(&["a", "b", "c", "n", "s", "l", "d", "o", "f", "_id"])),
        (_, Number) => field(random.pick::<&str>(&["n", "n", "_id", "o.x"])),
        (_, Text) => field("s"),
        (_, Array) => field("l"),
        (_, Date) => field("d"),
        (_, Truth) => field("f"),
        (_, Object) => field("o"),
    }
}

/// What gives whatever its operands give.
fn of_any(random: &mut Random, kind: Kind, depth: usize) -> Document {
    let of = |random: &mut Random| expression(random, kind, depth);
    let asked = |random: &mut Random| expression(random, Truth, depth);
    match random.below(10) {
        0 => doc! { "$cond": [asked(random), of(random), of(random)] },
        1 => doc! { "$cond": { "if": asked(random), "then": of(random), "else": of(random) } },
        2 => doc! { "$ifNull": [of(random), of(random)] },
        3 => doc! { "$switch": {
            "branches": [{ "case": asked(random), "then": of(random) }],
            "default": of(random),
        } },
        4 => {
            let inner = of(random);
            doc! { "$let": { "vars": { "v": of(random) }, "in": { "$ifNull": ["$$v", inner] } } }
        }
        5 => doc! { "$arrayElemAt": [[of(random), of(random)], random.below(4) as i32 - 2] },
        6 => doc! { *random.pick(&["$first", "$last"]): [[of(random), of(random)]] },
        7 => doc! { *random.pick(&["$min", "$max"]): [of(random), of(random)] },
        8 => doc! { "$getField": { "field": "v", "input": { "v": of(random) } } },
        _ => doc! { "$reduce": {
            "input": expression(random, Array, depth),
            "initialValue": of(random),
            "in": { "$cond": [{ "$eq": ["$$this", 1] }, of(random), "$$value"] },
        } },
    }
}

/// Functions of one number whose last bits are the platform's.
const TRANSCENDENTAL: &[&str] = &[
    "$exp",
    "$ln",
    "$log10",
    "$sin",
    "$cos",
    "$tan",
    "$asin",
    "$acos",
    "$atan",
    "$asinh",
    "$acosh",
    "$atanh",
    "$sinh",
    "$cosh",
    "$tanh",
    "$degreesToRadians",
    "$radiansToDegrees",
];

fn number(random: &mut Random, depth: usize) -> Document {
    let number = |random: &mut Random| expression(random, Number, depth);
    let text = |random: &mut Random| expression(random, Text, depth);
    let array = |random: &mut Random| expression(random, Array, depth);
    let date = |random: &mut Random| expression(random, Date, depth);
    match random.below(24) {
        0..=1 => doc! { *random.pick(&["$add", "$multiply"]): [number(random), number(random)] },
        2 => doc! { *random.pick(&["$subtract", "$divide", "$mod"]): [number(random), number(random)] },
        3 => doc! { *random.pick(&["$abs", "$ceil", "$floor", "$sqrt"]): number(random) },
        4 => doc! { *random.pick(&["$round", "$trunc"]): [number(random), random.below(4) as i32 - 1] },
        5 => {
            // A decimal that is made a double keeps what both sides agree on.
            let inner = doc! { "$toDouble": number(random) };
            doc! { "$round": [{ *random.pick(TRANSCENDENTAL): inner }, 9] }
        }
        6 => {
            let other = random.below(4) as i32;
            let inner = match random.below(3) {
                0 => doc! { "$pow": [number(random), other] },
                1 => doc! { "$log": [number(random), other] },
                _ => doc! { "$atan2": [{ "$toDouble": number(random) }, other] },
            };
            doc! { "$round": [inner, 9] }
        }
        7 => doc! { "$size": array(random) },
        8 => doc! { *random.pick(&["$sum", "$avg", "$min", "$max"]): array(random) },
        9 => doc! { "$round": [{ *random.pick(&["$stdDevPop", "$stdDevSamp"]): array(random) }, 6] },
        10 => doc! { "$cmp": [expression(random, Any, depth), expression(random, Any, depth)] },
        11 => doc! { *random.pick(&["$strLenBytes", "$strLenCP"]): text(random) },
        12 => doc! { "$strcasecmp": [text(random), text(random)] },
        13 => {
            let mut arguments = vec![text(random), text(random)];
            arguments.extend((0..random.below(3)).map(|at| Bson::Int32(at as i32)));
            doc! { *random.pick(&["$indexOfBytes", "$indexOfCP"]): arguments }
        }
        14 => {
            let mut arguments = vec![array(random), expression(random, Any, depth)];
            arguments.extend((0..random.below(3)).map(|at| Bson::Int32(at as i32)));
            doc! { "$indexOfArray": arguments }
        }
        15 => {
            let part = *random.pick(&[
                "$year",
                "$month",
                "$dayOfMonth",
                "$dayOfWeek",
                "$dayOfYear",
                "$hour",
                "$minute",
                "$second",
                "$millisecond",
                "$week",
                "$isoWeek",
                "$isoWeekYear",
                "$isoDayOfWeek",
            ]);
            match random.below(2) {
                0 => doc! { part: date(random) },
                _ => doc! { part: { "date": date(random), "timezone": zone(random) } },
            }
        }
        16 => doc! { "$dateDiff": {
            "startDate": date(random), "endDate": date(random), "unit": unit(random), "timezone": zone(random),
        } },
        17 => {
            doc! { *random.pick(&["$toInt", "$toLong", "$toDouble", "$toDecimal"]): expression(random, *random.clone().pick(&[Number, Text, Truth]), depth) }
        }
        18 => doc! { "$convert": {
            "input": expression(random, Any, depth),
            "to": *random.pick(&["int", "long", "double", "decimal"]),
            "onError": -1,
            "onNull": values::number(random),
        } },
        19 => doc! { "$bsonSize": expression(random, Object, depth) },
        20 => match random.below(2) {
            0 => doc! { "$binarySize": values::binary(random) },
            _ => doc! { "$binarySize": text(random) },
        },
        21 => {
            let stamp = bson::Timestamp {
                time: 7,
                increment: 3,
            };
            doc! { *random.pick(&["$tsSecond", "$tsIncrement"]): stamp }
        }
        22 => match random.below(2) {
            0 => doc! { "$floor": { "$rand": {} } },
            _ => doc! { "$toHashedIndexKey": expression(random, Any, depth) },
        },
        _ => doc! { "$subtract": [date(random), date(random)] },
    }
}

fn text(random: &mut Random, depth: usize) -> Document {
    let text = |random: &mut Random| expression(random, Text, depth);
    let at = |random: &mut Random| Bson::Int32(random.below(3) as i32);
    match random.below(13) {
        0 => doc! { "$concat": [text(random), text(random)] },
        1 => doc! { *random.pick(&["$toLower", "$toUpper"]): text(random) },
        2 => {
            doc! { *random.pick(&["$substr", "$substrBytes", "$substrCP"]): [text(random), at(random), at(random)] }
        }
        3 => {
            let mut trim = doc! { "input": text(random) };
            if random.one_in(2) {
                trim.insert("chars", *random.pick(&["a", " b", "é"]));
            }
            doc! { *random.pick(&["$trim", "$ltrim", "$rtrim"]): trim }
        }
        4 => doc! { *random.pick(&["$replaceOne", "$replaceAll"]): {
            "input": text(random), "find": *random.pick(&["a", "b", "."]), "replacement": text(random),
        } },
        5 => {
            doc! { "$toString": expression(random, *random.clone().pick(&[Number, Text, Truth, Date]), depth) }
        }
        6 => doc! { "$type": expression(random, Any, depth) },
        7 => {
            let mut form = doc! { "date": expression(random, Date, depth) };
            if random.one_in(2) {
                form.insert(
                    "format",
                    *random.pick(&["%Y-%m-%d", "%H:%M:%S.%L %z", "%G-%V-%u", "%j %U %Z %w"]),
                );
            }
            if random.one_in(2) {
                form.insert("timezone", zone(random));
            }
            if random.one_in(2) {
                form.insert("onNull", "none");
            }
            doc! { "$dateToString": form }
        }
        8 => doc! { "$arrayElemAt": [{ "$split": [text(random), *random.pick(&["a", "."])] }, 0] },
        9 => doc! { "$getField": { "field": "match", "input": {
            "$regexFind": { "input": text(random), "regex": values::regex(random) },
        } } },
        10 => {
            doc! { "$convert": { "input": expression(random, Any, depth), "to": "string", "onError": "failed" } }
        }
        11 => doc! { "$literal": *random.pick(&["$a", "a", "$$v"]) },
        _ => doc! { "$const": values::text(random) },
    }
}

fn array(random: &mut Random, depth: usize) -> Document {
    let array = |random: &mut Random| expression(random, Array, depth);
    let any = |random: &mut Random| expression(random, Any, depth);
    let count = |random: &mut Random| Bson::Int32(1 + random.below(3) as i32);
    match random.below(17) {
        0 => doc! { "$concatArrays": [array(random), array(random)] },
        1 => {
            let mut filter = doc! { "input": array(random), "cond": { "$gt": ["$$this", any(random)] } };
            if random.one_in(2) {
                filter = doc! { "input": array(random), "as": "e", "cond": { "$ne": ["$$e", any(random)] } };
            }
            if random.one_in(3) {
                filter.insert("limit", count(random));
            }
            doc! { "$filter": filter }
        }
        2 => doc! { "$map": { "input": array(random), "as": "e", "in": { "k": "$$e", "v": any(random) } } },
        3 => doc! { "$reverseArray": array(random) },
        4 => doc! { "$slice": [array(random), random.below(5) as i32 - 2] },
        5 => doc! { "$slice": [array(random), random.below(5) as i32 - 2, count(random)] },
        6 => doc! { "$range": [random.below(3) as i32, random.below(5) as i32, *random.pick(&[1, 2, -1])] },
        7 => {
            let mut zip = doc! { "inputs": [array(random), array(random)] };
            if random.one_in(2) {
                zip.insert("useLongestLength", true);
                zip.insert("defaults", bson!([0, "none"]));
            }
            doc! { "$zip": zip }
        }
        8 => doc! { "$split": [expression(random, Text, depth), *random.pick(&["a", "b", "."])] },
        9 => doc! { "$objectToArray": expression(random, Object, depth) },
        10 => {
            doc! { *random.pick(&["$firstN", "$lastN", "$minN", "$maxN"]): { "input": array(random), "n": count(random) } }
        }
        11 => {
            let by = match random.below(2) {
                0 => bson!(*random.pick(&[1, -1])),
                _ => bson!({ *random.pick(&["x", "y"]): *random.pick(&[1, -1]) }),
            };
            doc! { "$sortArray": { "input": array(random), "sortBy": by } }
        }
        // Sets have no order.
        12 => {
            sorted(doc! { *random.pick(&["$setUnion", "$setIntersection"]): [array(random), array(random)] })
        }
        13 => sorted(doc! { "$setDifference": [array(random), array(random)] }),
        14 => {
            doc! { "$regexFindAll": { "input": expression(random, Text, depth), "regex": values::regex(random) } }
        }
        15 => doc! { "$ifNull": [array(random), []] },
        _ => doc! { "$reduce": {
            "input": array(random), "initialValue": [], "in": { "$concatArrays": [["$$this"], "$$value"] },
        } },
    }
}

fn sorted(set: Document) -> Document {
    doc! { "$sortArray": { "input": set, "sortBy": 1 } }
}

fn date(random: &mut Random, depth: usize) -> Document {
    let date = |random: &mut Random| expression(random, Date, depth);
    let number = |random: &mut Random| Bson::Int32(random.below(5) as i32 - 1);
    match random.below(8) {
        0..=1 => doc! { *random.pick(&["$dateAdd", "$dateSubtract"]): {
            "startDate": date(random), "unit": unit(random), "amount": number(random), "timezone": zone(random),
        } },
        2 => {
            let mut trunc = doc! { "date": date(random), "unit": unit(random), "timezone": zone(random) };
            if random.one_in(2) {
                trunc.insert("binSize", 1 + random.below(4) as i32);
            }
            if random.one_in(3) {
                trunc.insert("startOfWeek", *random.pick(&["monday", "sun"]));
            }
            doc! { "$dateTrunc": trunc }
        }
        3 => match random.below(2) {
            0 => doc! { "$dateFromParts": {
                "year": 2000 + random.below(30) as i32, "month": number(random), "day": number(random),
                "hour": number(random), "minute": number(random), "second": 5, "millisecond": 7,
                "timezone": zone(random),
            } },
            _ => doc! { "$dateFromParts": {
                "isoWeekYear": 2000 + random.below(30) as i32, "isoWeek": 1 + random.below(60) as i32,
                "isoDayOfWeek": 1 + random.below(7) as i32,
            } },
        },
        4 => {
            let texts = [
                "2020-02-29",
                "2020-02-29T12:30:00Z",
                "2020-02-29T12:30:00.123+02:00",
                "no date",
                "2020",
            ];
            let mut from = doc! { "dateString": *random.pick(&texts), "onError": DateTime::from_millis(1) };
            if random.one_in(3) {
                from.insert("format", "%Y-%m-%d");
            }
            if random.one_in(3) {
                from.insert("onNull", DateTime::from_millis(2));
            }
            doc! { "$dateFromString": from }
        }
        5 => doc! { "$toDate": match random.below(3) {
            0 => Bson::Int64(random.below(5) as i64 * 1_000_000_000),
            1 => Bson::String("2021-03-04T05:06:07Z".to_owned()),
            _ => date(random),
        } },
        6 => doc! { "$toDate": { "$toObjectId": "5f5e10000000000000000000" } },
        _ => doc! { "$add": [date(random), expression(random, Number, depth)] },
    }
}

fn truth(random: &mut Random, depth: usize) -> Document {
    let any = |random: &mut Random| expression(random, Any, depth);
    let array = |random: &mut Random| expression(random, Array, depth);
    let truth = |random: &mut Random| expression(random, Truth, depth);
    match random.below(14) {
        0..=3 => {
            let name = *random.pick(&["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]);
            match random.below(3) {
                // What an index could answer.
                0 => {
                    let field = format!("${}", random.pick(&["a", "n", "s", "b.x", "_id"]));
                    doc! { name: [field, values::scalar(random)] }
                }
                _ => doc! { name: [any(random), any(random)] },
            }
        }
        4 => doc! { *random.pick(&["$and", "$or"]): [truth(random), truth(random)] },
        5 => doc! { "$not": [truth(random)] },
        6 => doc! { "$in": [any(random), array(random)] },
        7 => doc! { *random.pick(&["$isArray", "$isNumber"]): any(random) },
        8 => doc! { *random.pick(&["$allElementsTrue", "$anyElementTrue"]): [array(random)] },
        9 => doc! { *random.pick(&["$setEquals", "$setIsSubset"]): [array(random), array(random)] },
        10 => doc! { "$regexMatch": {
            "input": expression(random, Text, depth), "regex": "A", "options": *random.pick(&["", "i"]),
        } },
        11 => doc! { "$toBool": any(random) },
        12 => match random.below(3) {
            0 => doc! { "$lt": [{ "$rand": {} }, 2] },
            1 => doc! { "$gt": ["$$NOW", expression(random, Date, depth)] },
            _ => doc! { "$eq": [{ "$type": "$$CLUSTER_TIME" }, "timestamp"] },
        },
        _ => doc! { "$eq": [{ "$type": "$$REMOVE" }, "missing"] },
    }
}

fn object(random: &mut Random, depth: usize) -> Document {
    let any = |random: &mut Random| expression(random, Any, depth);
    match random.below(9) {
        0 => doc! { "$mergeObjects": [expression(random, Object, depth), { "k": any(random) }] },
        1 => doc! { "$arrayToObject": [[{ "k": "x", "v": any(random) }]] },
        2 => doc! { "$arrayToObject": { "$literal": [["x", 1], ["y", values::number(random)]] } },
        3 => {
            doc! { "$setField": { "field": "x", "input": expression(random, Object, depth), "value": any(random) } }
        }
        4 => doc! { "$unsetField": { "field": "x", "input": expression(random, Object, depth) } },
        5 => {
            let mut parts = doc! { "date": expression(random, Date, depth) };
            if random.one_in(2) {
                parts.insert("iso8601", true);
            }
            doc! { "$dateToParts": parts }
        }
        6 => {
            doc! { "$regexFind": { "input": expression(random, Text, depth), "regex": values::regex(random) } }
        }
        7 => doc! { "$getField": *random.pick(&["o", "n", "a"]) },
        _ => doc! { "x": any(random), "y": any(random) },
    }
}

fn unit(random: &mut Random) -> &'static str {
    random.pick::<&str>(UNITS)
}

fn zone(random: &mut Random) -> &'static str {
    random.pick::<&str>(&[
        "UTC",
        "America/New_York",
        "Asia/Kolkata",
        "+03:00",
        "Europe/London",
    ])
}
