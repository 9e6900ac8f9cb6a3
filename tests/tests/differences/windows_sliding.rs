//! Functions over windows that documents leave, beside what they are by their definitions: which of equal values is the
//! least and which the greatest, and in which order several stand.

use std::cmp::Ordering;

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{aggregate, insert};

crate::on_every_backend! {
    windows_hold_what_is_in_them,
}

/// Values with many equals; `None` is a missing one.
fn values() -> Vec<Option<Bson>> {
    let pool = [
        Some(Bson::Int32(1)),
        Some(Bson::Double(1.0)),
        Some(Bson::Int64(2)),
        Some(Bson::Null),
        None,
        Some(Bson::Double(2.0)),
        Some(Bson::Int32(3)),
        Some(Bson::from("b")),
        Some(Bson::Int64(1)),
        Some(Bson::from("a")),
        Some(Bson::Double(-0.5)),
    ];
    let mut state = 7_u32;
    let drawn = std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        pool[(state >> 16) as usize % pool.len()].clone()
    });
    drawn.take(60).collect()
}

/// The order of values as the server has it: what is null or missing, numbers, texts.
fn order(a: &Bson, b: &Bson) -> Ordering {
    let key = |value: &Bson| match value {
        Bson::Int32(x) => (1, f64::from(*x), ""),
        Bson::Int64(x) => (1, *x as f64, ""),
        Bson::Double(x) => (1, *x, ""),
        Bson::String(text) => (2, 0.0, if text == "a" { "a" } else { "b" }),
        _ => (0, 0.0, ""),
    };
    key(a).partial_cmp(&key(b)).expect("no NaN")
}

/// What the functions give for a window of documents.
fn expected(window: &[(i32, Option<Bson>)]) -> Document {
    let there: Vec<Bson> = window.iter().filter_map(|(_, value)| value.clone()).collect();
    let mut sorted: Vec<Bson> = there
        .iter()
        .filter(|value| **value != Bson::Null)
        .cloned()
        .collect();
    sorted.sort_by(order);
    let mut set = there.clone();
    set.sort_by(order);
    set.dedup_by(|b, a| order(a, b).is_eq());
    let or_null = |(_, value): &(i32, Option<Bson>)| value.clone().unwrap_or(Bson::Null);
    let mut ranked: Vec<&(i32, Option<Bson>)> = window.iter().collect();
    ranked.sort_by(|a, b| order(&or_null(a), &or_null(b)));
    let ids = |ranked: &[&(i32, Option<Bson>)]| -> Vec<i32> { ranked.iter().map(|(id, _)| *id).collect() };
    doc! {
        "min": sorted.first().cloned().unwrap_or(Bson::Null),
        "max": sorted.last().cloned().unwrap_or(Bson::Null),
        "set": set,
        "push": there,
        "count": i32::try_from(window.len()).unwrap(),
        "firstN": window.iter().take(2).map(or_null).collect::<Vec<_>>(),
        "lastN": window.iter().skip(window.len().saturating_sub(2)).map(or_null).collect::<Vec<_>>(),
        "minN": sorted.iter().take(2).cloned().collect::<Vec<_>>(),
        "maxN": sorted.iter().rev().take(2).cloned().collect::<Vec<_>>(),
        "top": ranked.first().map_or(Bson::Null, |(id, _)| Bson::Int32(*id)),
        "topN": ids(&ranked[..ranked.len().min(2)]),
        "bottomN": ids(&ranked[ranked.len().saturating_sub(2)..]),
    }
}

async fn windows_hold_what_is_in_them(db: &Db) {
    let values: Vec<(i32, Option<Bson>)> = (0..).zip(values()).collect();
    let documents = values.iter().map(|(id, value)| {
        let mut document = doc! { "_id": id };
        document.extend(value.clone().map(|value| ("v".to_owned(), value)));
        document
    });
    insert(db, "c", documents.collect()).await;
    let count = values.len() as i64;
    for [low, high] in [
        [Bson::Int32(-3), Bson::Int32(0)],
        [Bson::Int32(-2), Bson::Int32(2)],
        [Bson::Int32(-20), Bson::Int32(-5)],
        [Bson::Int32(0), Bson::Int32(3)],
        [Bson::Int32(1), Bson::Int32(2)],
        [Bson::Int32(0), Bson::Int32(0)],
        [Bson::from("current"), Bson::from("unbounded")],
        [Bson::Int32(-4), Bson::from("unbounded")],
    ] {
        let window = doc! { "documents": [low.clone(), high.clone()] };
        let functions = [
            ("min", doc! { "$min": "$v" }),
            ("max", doc! { "$max": "$v" }),
            ("set", doc! { "$addToSet": "$v" }),
            ("push", doc! { "$push": "$v" }),
            ("count", doc! { "$count": {} }),
            ("firstN", doc! { "$firstN": { "n": 2, "input": "$v" } }),
            ("lastN", doc! { "$lastN": { "n": 2, "input": "$v" } }),
            ("minN", doc! { "$minN": { "n": 2, "input": "$v" } }),
            ("maxN", doc! { "$maxN": { "n": 2, "input": "$v" } }),
            ("top", doc! { "$top": { "sortBy": { "v": 1 }, "output": "$_id" } }),
            (
                "topN",
                doc! { "$topN": { "n": 2, "sortBy": { "v": 1 }, "output": "$_id" } },
            ),
            (
                "bottomN",
                doc! { "$bottomN": { "n": 2, "sortBy": { "v": 1 }, "output": "$_id" } },
            ),
        ];
        let output: Document = functions
            .into_iter()
            .map(|(name, mut function)| {
                function.insert("window", &window);
                (name.to_owned(), Bson::Document(function))
            })
            .collect();
        let stage = doc! { "$setWindowFields": { "sortBy": { "_id": 1 }, "output": output } };
        let found = aggregate(db, "c", vec![stage, doc! { "$sort": { "_id": 1 } }]).await;
        let end = |bound: &Bson, at: i64, unbounded: i64| match bound {
            Bson::Int32(by) => at + i64::from(*by),
            Bson::String(text) if text == "current" => at,
            _ => unbounded,
        };
        for (at, row) in (0..).zip(&found) {
            let from = end(&low, at, 0).clamp(0, count);
            let to = (end(&high, at, count - 1) + 1).clamp(from, count);
            let inside = &values[usize::try_from(from).unwrap()..usize::try_from(to).unwrap()];
            let mut expected = expected(inside);
            for (name, value) in expected.iter_mut() {
                assert_eq!(row.get(name), Some(&*value), "{name} of {at} in {window}");
            }
        }
        assert_eq!(found.len(), values.len());
    }
}
