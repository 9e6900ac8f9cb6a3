//! Typed filters that reach far: arrays in arrays, hostile values, deep ones.

use std::collections::BTreeMap;

use bson::{Bson, Document, doc};
use odm::{BsonType, Db, Embedded, ErrorKind, Filter, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    arrays_in_arrays,
    expressions_have_no_any,
    values_that_look_like_operators,
    nesting_is_limited,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "matrices")]
struct Matrix {
    #[serde(rename = "_id")]
    id: i32,
    rows: Vec<Vec<i32>>,
    cells: Vec<Vec<Cell>>,
    maybe: Option<Vec<Vec<i32>>>,
    named: BTreeMap<String, Vec<Vec<i32>>>,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
struct Cell {
    v: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Embedded)]
struct Part {
    grid: Vec<Vec<i32>>,
}

async fn arrays_in_arrays(db: &Db) {
    let matrices = db.collection::<Matrix>();
    let cells = |rows: &[&[i32]]| -> Vec<Vec<Cell>> {
        rows.iter()
            .map(|row| row.iter().map(|&v| Cell { v }).collect())
            .collect()
    };
    let matrix = |id, rows: &[&[i32]], held: &[&[i32]]| {
        let rows: Vec<Vec<i32>> = rows.iter().map(|row| row.to_vec()).collect();
        Matrix {
            id,
            maybe: (id != 3).then(|| rows.clone()),
            named: [("k".to_owned(), rows.clone())].into(),
            parts: vec![Part { grid: vec![] }, Part { grid: rows.clone() }],
            rows,
            cells: cells(held),
        }
    };
    let all = [
        matrix(1, &[&[1, 4], &[]], &[&[1]]),
        matrix(2, &[&[7, 8, 9]], &[]),
        matrix(3, &[], &[&[], &[5]]),
    ];
    matrices.insert_many(&all).await.unwrap();

    let m = Matrix::fields();
    for (filter, expected) in [
        (m.rows.any().has(4), vec![1]),
        (m.rows.any().any().eq(4), vec![1]),
        (m.rows.any().any().ne(4), vec![2, 3]),
        (!m.rows.any().has(4), vec![2, 3]),
        (m.rows.any().any().gt(5), vec![2]),
        (m.rows.any().any().is_in([4, 8]), vec![1, 2]),
        (m.rows.any().any().not_in([4, 8]), vec![3]),
        (m.rows.any().any().modulo(4, 0), vec![1, 2]),
        (m.rows.any().size(3), vec![2]),
        (m.rows.any().size(2), vec![1]),
        (m.rows.any().is_empty(), vec![1]),
        (!m.rows.any().is_empty(), vec![2, 3]),
        (m.rows.any().has_all([7, 9]), vec![2]),
        (m.rows.any().has_all([7, 4]), vec![]),
        (m.rows.any().has_any([7, 4]), vec![1, 2]),
        (m.rows.any().eq(vec![]), vec![1]),
        (m.rows.any().eq(vec![1, 4]), vec![1]),
        (m.rows.has(vec![]), vec![1]),
        (m.rows.has(vec![7, 8, 9]), vec![2]),
        (m.rows.has_any([vec![], vec![7, 8, 9]]), vec![1, 2]),
        (m.rows.has_all([vec![], vec![1, 4]]), vec![1]),
        (m.rows.any().is_in([vec![]]), vec![1]),
        (m.rows.any().at(1).eq(4), vec![1]),
        (m.rows.any().at(1).gt(4), vec![2]),
        (m.rows.at(0).any().eq(8), vec![2]),
        (m.rows.at(0).has(8), vec![2]),
        (m.rows.at(0).size(3), vec![2]),
        (m.rows.any().exists(), vec![1, 2, 3]),
        (m.rows.any().has_type(BsonType::Array), vec![1, 2]),
        (m.rows.any().any().has_type(BsonType::Int32), vec![1, 2]),
        (m.rows.any().elem_match(|v| v.gt(7) & v.lt(9)), vec![2]),
        (m.rows.elem_match(|r| r.has(4)), vec![1]),
        (m.rows.elem_match(|r| r.has(7) & r.has(9)), vec![2]),
        (m.rows.elem_match(|r| r.has(7) & r.has(4)), vec![]),
        (
            m.rows.elem_match(|r| r.has(7) & r.has(8) & r.has_all([9, 8])),
            vec![2],
        ),
        (m.rows.elem_match(|r| r.has(7) & r.size(3) & !r.has(4)), vec![2]),
        (m.rows.elem_match(|r| r.has(4) | r.has(9)), vec![1, 2]),
        (m.rows.elem_match(|r| r.has_all([7, 9])), vec![2]),
        (m.rows.elem_match(|r| r.has_any([4, 9])), vec![1, 2]),
        (m.rows.elem_match(|r| !r.has_any([4, 9])), vec![1]),
        (m.rows.elem_match(|r| r.any().gt(7)), vec![2]),
        (m.rows.elem_match(|r| r.any().gt(7) & r.any().lt(8)), vec![2]),
        (m.rows.elem_match(|r| r.at(1).eq(4)), vec![1]),
        (m.rows.elem_match(|r| r.is_empty()), vec![1]),
        (
            m.rows.elem_match(|r| r.elem_match(|v| v.gt(7) & v.lt(9))),
            vec![2],
        ),
        (m.cells.any().any().v.eq(5), vec![3]),
        (m.cells.any().any().v.ne(5), vec![1, 2]),
        (m.cells.any().at(0).v.eq(5), vec![3]),
        (m.cells.any().elem_match(|c| c.v.eq(5)), vec![3]),
        (m.cells.elem_match(|r| r.any().v.eq(5)), vec![3]),
        (m.cells.elem_match(|r| r.elem_match(|c| c.v.eq(5))), vec![3]),
        (m.maybe.any().any().eq(4), vec![1]),
        (m.maybe.any().size(3), vec![2]),
        (m.named.key("k").any().has(4), vec![1]),
        (m.named.key("k").any().any().gt(5), vec![2]),
        (m.parts.any().grid.any().has(4), vec![1]),
        (m.parts.any().grid.any().any().gt(5), vec![2]),
        (m.parts.any().grid.size(1), vec![2]),
        (m.parts.elem_match(|p| p.grid.any().has(4)), vec![1]),
        (m.parts.elem_match(|p| p.grid.is_empty()), vec![1, 2, 3]),
    ] {
        let text = format!("{filter:?}");
        let found = matrices.find(|_| filter).sort(|m| m.id.asc()).await;
        let found: Vec<i32> = found
            .unwrap_or_else(|e| panic!("{text}: {e:?}"))
            .iter()
            .map(|m| m.id)
            .collect();
        assert_eq!(found, expected, "{text}");
    }
    // Array filters and conditions of `pull` reach as far.
    let changed = matrices.update_many(|_| Filter::all(), |m| m.rows.filtered(|r| r.any().gt(8)).push(44));
    assert_eq!(changed.await.unwrap().modified, 1);
    let changed = matrices.update_many(
        |_| Filter::all(),
        |m| m.rows.filtered(|r| r.has(44) | r.is_empty()).push(45),
    );
    assert_eq!(changed.await.unwrap().modified, 2);
    let changed = matrices.update_many(
        |_| Filter::all(),
        |m| m.rows.pull_where(|r| r.has(44) & r.has_all([45, 9])),
    );
    assert_eq!(changed.await.unwrap().modified, 1);
    let changed = matrices.update_many(
        |_| Filter::all(),
        |m| m.cells.filtered(|r| r.any().v.eq(5)).each().v.inc(1),
    );
    assert_eq!(changed.await.unwrap().modified, 1);
    let stored: Vec<_> = matrices
        .find_all()
        .sort(|m| m.id.asc())
        .await
        .unwrap()
        .into_iter()
        .map(|m| m.rows)
        .collect();
    assert_eq!(stored, [vec![vec![1, 4], vec![45]], vec![], vec![]]);
    // What MongoDB cannot say is refused.
    let error = matrices
        .find_all()
        .sort(|m| m.rows.any().any().asc())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("rows"))
    );
    let error = matrices
        .update_many(|_| Filter::all(), |m| m.rows.any().any().set(1))
        .await
        .unwrap_err();
    assert!(error.message().contains("`any` is for filters"), "{error}");
    assert_eq!(error.path(), Some("rows"));
    let error = matrices
        .update_many(|_| Filter::all(), |m| m.parts.any().grid.set(vec![]))
        .await
        .unwrap_err();
    assert_eq!(error.path(), Some("parts.grid"));
}

async fn expressions_have_no_any(db: &Db) {
    let matrices = db.collection::<Matrix>();
    for filter in [
        Matrix::fields()
            .parts
            .any()
            .grid
            .value()
            .eq(odm::expr::literal(vec![vec![1, 4]]))
            .holds(),
        Matrix::fields()
            .rows
            .any()
            .value()
            .eq(odm::expr::literal(vec![1, 4]))
            .holds(),
    ] {
        let error = matrices.find(|_| filter).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("expressions have no `any`"), "{error}");
        assert!(matches!(error.path(), Some("rows" | "parts.grid")));
    }
    let found = matrices
        .find(|m| m.rows.value().eq(odm::expr::literal(vec![vec![1, 4]])).holds())
        .await
        .unwrap();
    assert_eq!(found.len(), 0);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "held")]
struct Held {
    #[serde(rename = "_id")]
    id: i32,
    d: Document,
    b: Bson,
    l: Vec<Document>,
    n: Vec<Vec<Document>>,
}

async fn values_that_look_like_operators(db: &Db) {
    let held = db.collection::<Held>();
    let hostile = [
        doc! { "$elemMatch": { "a": 1 } },
        doc! { "$gt": 0 },
        doc! { "$ne": 0 },
        doc! { "$exists": true },
        doc! { "$regex": "" },
        doc! { "$where": "true" },
        doc! { "$expr": true },
        doc! { "$not": { "$eq": 1 } },
        doc! { "$size": 1 },
        doc! { "$in": [{ "a": 1 }] },
        doc! { "$each": [1] },
    ];
    let harmless = doc! { "a": 1 };
    held.insert(Held {
        id: 1,
        d: harmless.clone(),
        b: Bson::Document(harmless.clone()),
        l: vec![harmless.clone()],
        n: vec![vec![harmless.clone()]],
    })
    .await
    .unwrap();
    for (at, h) in hostile.iter().enumerate() {
        let h = h.clone();
        let id = at as i32 + 2;
        let own = Held {
            id,
            d: h.clone(),
            b: Bson::Document(h.clone()),
            l: vec![harmless.clone(), h.clone()],
            n: vec![vec![], vec![h.clone()]],
        };
        let f = Held::fields();
        let b = || Bson::Document(h.clone());
        let filters = || {
            vec![
                f.d.eq(&h),
                f.d.is_in([&h]),
                f.d.is_in([&h, &doc! { "z": 1 }]),
                f.b.eq(b()),
                f.b.is_in([b()]),
                f.b.is_in([b(), Bson::Int32(7)]),
                f.b.has(b()),
                f.b.has_all([b()]),
                f.b.any().eq(b()),
                f.l.has(&h),
                f.l.has_any([&h]),
                f.l.has_any([&h, &doc! { "z": 1 }]),
                f.l.has_all([&h]),
                f.l.has_all([&h, &doc! { "a": 1 }]),
                f.l.any().eq(&h),
                f.l.any().is_in([&h]),
                f.l.eq(vec![doc! { "a": 1 }, h.clone()]),
                f.l.is_in([vec![doc! { "a": 1 }, h.clone()]]),
                f.n.any().has(&h),
                f.n.any().has_any([&h]),
                f.n.any().has_any([&h, &doc! { "z": 1 }]),
                f.n.any().has_all([&h]),
                f.n.any().any().is_in([&h]),
                f.n.has(vec![h.clone()]),
                f.n.has_all([vec![h.clone()]]),
                f.n.elem_match(|n| n.has(&h)),
                f.n.elem_match(|n| n.has_all([&h])),
                f.n.elem_match(|n| n.has_any([&h, &doc! { "z": 1 }])),
                f.l.elem_match_value(|v| v.eq(&h)),
                f.l.elem_match_value(|v| v.is_in([&h])),
                f.l.elem_match_value(|v| v.is_in([&h, &doc! { "z": 1 }])),
            ]
        };
        for filter in filters() {
            let text = format!("{filter:?}");
            let none = !filter.clone();
            assert_eq!(
                held.count(|_| filter)
                    .await
                    .unwrap_or_else(|e| panic!("{text} {e:?}")),
                0,
                "{text}"
            );
            assert_eq!(
                held.count(|_| none)
                    .await
                    .unwrap_or_else(|e| panic!("not {text} {e:?}")),
                1,
                "not {text}"
            );
        }
        held.insert(&own).await.unwrap();
        for filter in filters() {
            let text = format!("{filter:?}");
            let none = !filter.clone();
            let found = held.find(|_| filter).await.unwrap();
            assert_eq!(found, std::slice::from_ref(&own), "{text}");
            assert_eq!(held.count(|_| none).await.unwrap(), 1, "not {text}");
        }
        held.delete(id).await.unwrap();
    }
}

fn deep(levels: usize) -> Bson {
    let mut value = Bson::Int32(1);
    for level in 0..levels {
        value = match level % 2 {
            0 => Bson::Array(vec![value]),
            _ => Bson::Document(doc! { "a": value }),
        };
    }
    value
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "deeps")]
struct Deep {
    #[serde(rename = "_id")]
    id: i32,
    d: Bson,
    r: Option<bson::Regex>,
    t: Vec<Bson>,
}

async fn nesting_is_limited(db: &Db) {
    let deeps = db.collection::<Deep>();
    let make = |levels, r: bool| Deep {
        id: 1,
        d: deep(levels),
        r: r.then(|| bson::Regex {
            pattern: "a".try_into().unwrap(),
            options: "".try_into().unwrap(),
        }),
        t: vec![],
    };
    let fits = make(150, false);
    deeps.insert(&fits).await.unwrap();
    assert_eq!(deeps.get(1).await.unwrap(), Some(fits));
    assert_eq!(deeps.count(|d| d.d.eq(deep(150))).await.unwrap(), 1);
    macro_rules! refused { ($($action:expr),* $(,)?) => {$(
        let error = $action.await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::InvalidArgument, Some(15)), "{}: {error}", stringify!($action));
    )*} }
    for levels in [250, 600, 1_000] {
        for r in [false, true] {
            refused!(
                deeps.insert(make(levels, r)),
                deeps.insert_many([make(levels, r)]),
                deeps.save(make(levels, r)),
                deeps.replace(make(levels, r)),
            );
        }
        refused!(
            deeps.count(|d| d.d.eq(deep(levels))),
            deeps.find(|d| d.d.is_in([deep(levels)])),
            deeps.find(|d| d.t.has(deep(levels))),
            deeps.find(|d| d.t.has_all([deep(levels)])),
            deeps.find(|d| d.d.gt(deep(levels))),
            deeps.find(|d| d.t.value().contains(odm::expr::literal(deep(levels))).holds()),
            deeps.update_one(|d| d.id.eq(1), |d| d.d.set(deep(levels))),
            deeps.update_one(|d| d.id.eq(1), |d| d.t.push(deep(levels))),
            deeps.update_one(|d| d.id.eq(1), |d| d.t.pull(deep(levels))),
            deeps.upsert(|d| d.d.eq(deep(levels)), |d| d.t.push(deep(2))),
            deeps.delete_one(|d| d.d.eq(deep(levels))),
        );
    }
}
