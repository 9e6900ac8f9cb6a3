//! Random stages that look at many documents at once: windows, densified series, filled gaps, buckets.

use bson::{Bson, DateTime, Document, doc};

use super::pipelines::in_order;
use crate::random::Random;

/// Stages over a numeric field `k` and a date `t`, both set before; `_id` tells one document from another. The order
/// of the results is defined.
pub(super) fn series(random: &mut Random) -> Vec<Document> {
    let mut stages = vec![
        doc! { "$set": {
            "k": { "$multiply": ["$_id", if random.one_in(2) { 1.5 } else { 2.0 }] },
            "t": { "$dateAdd": {
                "startDate": DateTime::from_millis(1_585_440_000_000),
                "unit": *random.pick(&["hour", "day", "month"]),
                "amount": "$_id",
                "timezone": "Europe/Berlin",
            } },
            "p": { "$mod": ["$_id", 1 + random.below(3) as i32] },
            "v": number(random),
        } },
        doc! { "$sort": { "_id": 1 } },
    ];
    match random.below(7) {
        0..=2 => {
            stages.push(window(random));
            // As a set grows, its order is by chance.
            stages.push(doc! { "$set": { "w": in_order("$w") } });
        }
        3 => stages.push(densify(random)),
        4 => stages.push(fill(random)),
        _ => stages.push(buckets(random)),
    }
    stages.push(doc! { "$sort": { "_id": 1, "k": 1, "t": 1, "p": 1 } });
    stages
}

/// A field's value where it is a number, sometimes null or missing.
fn number(random: &mut Random) -> Bson {
    let field = format!("${}", random.pick(&["a", "b", "c"]));
    let other = match random.below(4) {
        0 => Bson::Null,
        1 => Bson::String("$$REMOVE".to_owned()),
        _ => Bson::Document(doc! { "$subtract": [{ "$mod": [{ "$multiply": ["$_id", 7] }, 5] }, 2] }),
    };
    let small = doc! { "$and": [
        { "$isNumber": &field },
        { "$lt": [{ "$abs": { "$cond": [{ "$isNumber": &field }, &field, 0] } }, 1000] },
        { "$ne": [{ "$type": &field }, "decimal"] },
        { "$gt": [&field, -1000] },
    ] };
    Bson::Document(doc! { "$cond": [small, &field, other] })
}

fn window(random: &mut Random) -> Document {
    // Several fields come in an order that the server does not define.
    let output = doc! { "w": function(random) };
    let mut stage = doc! {};
    match random.below(4) {
        0 => {}
        1 => {
            stage.insert("partitionBy", doc! { "$mod": ["$_id", 2] });
        }
        _ => {
            stage.insert("partitionBy", "$p");
        }
    }
    stage.insert(
        "sortBy",
        match random.below(6) {
            0 => doc! { "t": 1 },
            1 => doc! { "_id": -1 },
            2 => doc! { "v": 1, "_id": 1 },
            _ => doc! { "k": 1 },
        },
    );
    stage.insert("output", output);
    doc! { "$setWindowFields": stage }
}

fn function(random: &mut Random) -> Document {
    let n = 1 + random.below(3) as i32;
    let mut function = match random.below(18) {
        0 => return doc! { *random.pick(&["$rank", "$denseRank", "$documentNumber"]): {} },
        1 => {
            return doc! { "$shift": {
                "output": "$v", "by": random.below(5) as i32 - 2, "default": "none",
            } };
        }
        2 => return doc! { "$expMovingAvg": { "input": "$v", "N": n } },
        3 => return doc! { "$locf": "$v" },
        4 => return doc! { "$linearFill": "$v" },
        5 => {
            let input = doc! { "$ifNull": ["$v", 1] };
            let mut rate = doc! { "input": input };
            if random.one_in(3) {
                rate.insert("unit", "hour");
            }
            doc! { *random.pick(&["$derivative", "$integral"]): rate }
        }
        6 => doc! { *random.pick(&["$firstN", "$lastN", "$minN", "$maxN"]): { "input": "$v", "n": n } },
        7 => doc! { *random.pick(&["$topN", "$bottomN"]): {
            "output": "$v", "sortBy": { "v": -1, "_id": 1 }, "n": n,
        } },
        8 => {
            doc! { *random.pick(&["$top", "$bottom"]): { "output": "$_id", "sortBy": { "v": 1, "_id": 1 } } }
        }
        9 => match random.below(3) {
            0 => doc! { "$count": {} },
            1 => doc! { *random.pick(&["$covariancePop", "$covarianceSamp"]): ["$v", "$_id"] },
            _ => return doc! { "$expMovingAvg": { "input": "$v", "alpha": 0.5 } },
        },
        10..=11 => doc! { *random.pick(&["$first", "$last", "$stdDevPop", "$stdDevSamp"]): "$v" },
        _ => doc! { *random.pick(&["$sum", "$avg", "$min", "$max", "$push", "$addToSet"]): "$v" },
    };
    if !random.one_in(4) {
        function.insert("window", bounds(random));
    }
    function
}

fn bounds(random: &mut Random) -> Document {
    let end = |random: &mut Random, low: bool| match random.below(5) {
        0 => Bson::String("unbounded".to_owned()),
        1 => Bson::String("current".to_owned()),
        _ if low => Bson::Int32(-(random.below(3) as i32)),
        _ => Bson::Int32(random.below(3) as i32),
    };
    let ends = vec![end(random, true), end(random, false)];
    match random.below(5) {
        0..=2 => doc! { "documents": ends },
        3 => doc! { "range": ends },
        _ => doc! { "range": ends, "unit": *random.pick(&["hour", "day", "month"]) },
    }
}

fn densify(random: &mut Random) -> Document {
    let bounds = match random.below(4) {
        0 => Bson::String("full".to_owned()),
        1 => Bson::String("partition".to_owned()),
        _ => Bson::Array(vec![Bson::Double(0.0), Bson::Double(random.below(9) as f64)]),
    };
    let mut stage = match random.below(3) {
        0 => doc! { "field": "t", "range": {
            "step": 1 + random.below(3) as i32,
            "unit": *random.pick(&["day", "week", "month"]),
            "bounds": "full",
        } },
        _ => doc! { "field": "k", "range": { "step": 0.5 + random.below(4) as f64, "bounds": bounds } },
    };
    if random.one_in(2) {
        stage.insert("partitionByFields", vec!["p"]);
    }
    doc! { "$densify": stage }
}

fn fill(random: &mut Random) -> Document {
    let how = match random.below(4) {
        0 => doc! { "value": { "$add": ["$_id", 1] } },
        1 => doc! { "method": "linear" },
        _ => doc! { "method": "locf" },
    };
    let mut stage = doc! {};
    match random.below(3) {
        0 => stage.insert("partitionByFields", vec!["p"]),
        1 => stage.insert("partitionBy", doc! { "q": "$p" }),
        _ => None,
    };
    stage.insert("sortBy", doc! { "k": if random.one_in(2) { 1 } else { -1 } });
    stage.insert("output", doc! { "v": how });
    doc! { "$fill": stage }
}

fn buckets(random: &mut Random) -> Document {
    let mut stage = doc! {
        "groupBy": if random.one_in(2) { "$k" } else { "$p" },
        "buckets": 1 + random.below(4) as i32,
        "output": {
            "n": { "$sum": 1 },
            "m": { *random.pick(&["$stdDevPop", "$stdDevSamp", "$avg", "$sum"]): "$_id" },
            "f": { *random.pick(&["$firstN", "$lastN", "$minN", "$maxN"]): { "n": 2, "input": "$_id" } },
            "u": { *random.pick(&["$top", "$bottom"]): { "output": "$v", "sortBy": { "_id": -1 } } },
        },
    };
    if random.one_in(2) {
        let names = [
            "R5",
            "R10",
            "R20",
            "R40",
            "R80",
            "1-2-5",
            "E6",
            "E12",
            "E24",
            "E48",
            "E96",
            "E192",
            "POWERSOF2",
        ];
        stage.insert("granularity", *random.pick(&names));
    }
    doc! { "$bucketAuto": stage }
}
