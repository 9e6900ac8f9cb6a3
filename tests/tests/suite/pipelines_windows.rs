//! Typed windows: `$setWindowFields`.

use odm::bson::{DateTime, Decimal128, doc};
use odm::expr::{
    Accumulator, Edge, TimeUnit, Windowed, add_to_set, avg, count, first, last, literal, max, min, push, sum,
};
use odm::{Collection, Db, Embedded, Error, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    accumulators_run_over_windows,
    windows_can_be_empty,
    ranges_go_by_numbers_and_by_time,
    partitions_go_by_several_values,
    what_is_refused_is_a_typed_error,
    nothing_and_much_come_through,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "sales")]
pub struct Sale {
    #[serde(rename = "_id")]
    pub id: i32,
    pub shop: String,
    pub day: DateTime,
    pub step: i32,
    pub sold: i32,
    pub price: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default, with = "hidden")]
    pub hidden: i32,
}

/// Numbers that are stored as texts.
pub mod hidden {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(number: &i32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("<{number}>"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.trim_matches(['<', '>'])
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

const HOUR: i64 = 3_600_000;

fn sale(id: i32) -> Sale {
    Sale {
        id,
        shop: if id % 2 == 0 { "even" } else { "odd" }.to_owned(),
        day: DateTime::from_millis(i64::from(id) * 24 * HOUR),
        step: id / 2,
        sold: id * 10,
        price: (id != 2 && id != 5).then_some(f64::from(id) / 2.0),
        note: (id == 1).then(|| "first".to_owned()),
        hidden: id,
    }
}

pub async fn sales(db: &Db) -> Collection<Sale> {
    let sales = db.collection::<Sale>();
    sales.insert_many((1..=6).map(sale)).await.unwrap();
    sales
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Totals {
    #[serde(rename = "_id")]
    id: i32,
    total: i64,
    so_far: i64,
    mean: f64,
    least: i32,
    greatest: i32,
    opened: i32,
    closed: i32,
    all: Vec<i32>,
    different: Vec<i32>,
    n: u32,
    raw: i32,
}

async fn accumulators_run_over_windows(db: &Db) {
    let sales = sales(db).await;
    let totals = sales
        .aggregate()
        .windows()
        .partition_by(|s| s.shop)
        .sort_by(|s| s.id);
    let totals = totals.output::<Totals>(|s, t, w| {
        let two = w.documents(-1, 0);
        let whole = w.all();
        t.total.over(whole.of(sum(&s.sold)))
            & t.so_far
                .over(w.documents(Edge::Unbounded, Edge::Current).of(sum(&s.sold)))
            & t.mean.over(two.of(avg(&s.sold)))
            & t.least.over(two.of(min(&s.sold)))
            & t.greatest
                .over(w.documents(Edge::Current, Edge::Unbounded).of(max(&s.sold)))
            & t.opened.over(whole.of(first(&s.sold)))
            & t.closed.over(whole.of(last(&s.sold)))
            & t.all.over(two.of(push(&s.sold)))
            & t.different.over(two.of(add_to_set(s.sold.value())))
            & t.n.over(two.of(count()))
            & t.raw
                .over(two.of(Accumulator::<_, i32>::raw(doc! { "$max": "$_id" })))
    });
    let mut totals = totals.sort(|t| t.id.asc()).await.unwrap();
    assert_eq!(totals.len(), 6);
    totals[3].different.sort_unstable();
    assert_eq!(
        totals[3],
        Totals {
            id: 4,
            total: 120,
            so_far: 60,
            mean: 30.0,
            least: 20,
            greatest: 60,
            opened: 20,
            closed: 60,
            all: vec![20, 40],
            different: vec![20, 40],
            n: 2,
            raw: 4,
        }
    );
    assert_eq!((totals[0].n, totals[0].so_far, totals[5].so_far), (1, 10, 120));
    // In no order, over everything; into the documents' own fields.
    let same = sales
        .aggregate()
        .windows()
        .output::<Sale>(|s, out, w| out.sold.over(w.all().of(max(&s.sold))))
        .await
        .unwrap();
    assert_eq!(same.len(), 6);
    assert!(same.iter().all(|sale| sale.sold == 60));
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Ahead {
    #[serde(rename = "_id")]
    id: i32,
    total: i64,
    n: i64,
    least: Option<i32>,
    mean: Option<f64>,
    all: Vec<i32>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Always {
    #[serde(rename = "_id")]
    id: i32,
    least: i32,
}

async fn windows_can_be_empty(db: &Db) {
    let sales = sales(db).await;
    let ahead = sales
        .aggregate()
        .windows()
        .sort_by(|s| s.id)
        .output::<Ahead>(|s, a, w| {
            let ahead = w.documents(1, 2);
            a.total.over(ahead.of(sum(&s.sold)))
                & a.n.over(ahead.of(count()))
                & a.least.over(ahead.of(min(&s.sold)))
                & a.mean.over(ahead.of(avg(&s.sold)))
                & a.all.over(ahead.of(push(&s.sold)))
        });
    let ahead = ahead.await.unwrap();
    let of = |id, total, n, least, mean, all: &[i32]| Ahead {
        id,
        total,
        n,
        least,
        mean,
        all: all.to_vec(),
    };
    assert_eq!(ahead[3], of(4, 110, 2, Some(50), Some(55.0), &[50, 60]));
    assert_eq!(ahead[5], of(6, 0, 0, None, None, &[]));
    let always = sales
        .aggregate()
        .windows()
        .sort_by(|s| s.id)
        .output::<Always>(|s, a, w| a.least.over(w.documents(1, 2).of(min(&s.sold))));
    assert_eq!(always.await.unwrap_err().kind(), ErrorKind::Decode);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Ranges {
    #[serde(rename = "_id")]
    id: i32,
    near: Vec<i32>,
    peers: Vec<i32>,
    current: u32,
    half: u32,
    decimal: u32,
    long: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Times {
    #[serde(rename = "_id")]
    id: i32,
    days: u32,
    hours: u32,
    month: u32,
    to_here: u32,
}

async fn ranges_go_by_numbers_and_by_time(db: &Db) {
    let sales = sales(db).await;
    let ranges = sales
        .aggregate()
        .windows()
        .sort_by(|s| s.step)
        .output::<Ranges>(|s, r, w| {
            r.near.over(w.range(-1, 0).of(push(&s.id)))
                & r.peers.over(w.range(0, 0).of(push(&s.id)))
                & r.current
                    .over(w.range(Edge::Unbounded, Edge::Current).of(count()))
                & r.half.over(w.range(-0.5, 0.5).of(count()))
                & r.decimal
                    .over(w.range("-1.0".parse::<Decimal128>().unwrap(), 1).of(count()))
                & r.long.over(w.range(0, 5_000_000_000_i64).of(count()))
        });
    let ranges = ranges.sort(|r| r.id.asc()).await.unwrap();
    let near = |at: usize| {
        let mut near = ranges[at].near.clone();
        near.sort_unstable();
        near
    };
    assert_eq!(
        (near(0), near(2), near(3)),
        (vec![1], vec![1, 2, 3], vec![2, 3, 4, 5])
    );
    assert_eq!((ranges[1].peers.len(), ranges[5].peers.len()), (2, 1));
    assert_eq!(ranges[0].current, 1);
    let halves: Vec<_> = ranges.iter().map(|r| (r.half, r.decimal, r.long)).collect();
    assert_eq!(
        halves,
        [(1, 3, 6), (2, 5, 5), (2, 5, 5), (2, 5, 3), (2, 5, 3), (1, 3, 1)]
    );
    let times = sales
        .aggregate()
        .windows()
        .sort_by(|s| s.day)
        .output::<Times>(|_, t, w| {
            t.days.over(w.time(-2, 0, TimeUnit::Day).of(count()))
                & t.hours.over(w.time(-24, 23, TimeUnit::Hour).of(count()))
                & t.month.over(w.time(-1, 1, TimeUnit::Month).of(count()))
                & t.to_here.over(
                    w.time(Edge::Unbounded, Edge::Current, TimeUnit::Millisecond)
                        .of(count()),
                )
        });
    let times: Vec<_> = times
        .await
        .unwrap()
        .iter()
        .map(|t| (t.days, t.hours, t.month, t.to_here))
        .collect();
    assert_eq!(
        times,
        [
            (1, 1, 6, 1),
            (2, 2, 6, 2),
            (3, 2, 6, 3),
            (3, 2, 6, 4),
            (3, 2, 6, 5),
            (3, 2, 6, 6)
        ]
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Counted {
    #[serde(rename = "_id")]
    id: i32,
    n: u32,
}

async fn partitions_go_by_several_values(db: &Db) {
    let sales = sales(db).await;
    let counted = async |windows: odm::Pipeline<Counted, _>| -> Vec<u32> {
        let found = windows.sort(|c| c.id.asc()).await.unwrap();
        found.iter().map(|c| c.n).collect()
    };
    let all = || sales.aggregate().windows();
    let two = all()
        .partition_by(|s| s.shop)
        .partition_by(|s| s.id.value().gt(3));
    let two = two.output::<Counted>(|_, c, w| c.n.over(w.all().of(count())));
    assert_eq!(counted(two).await, [2, 1, 2, 2, 1, 2]);
    // Null and missing are the same, alone and beside others.
    sales
        .raw()
        .update_many(doc! { "_id": 2 }, doc! { "$set": { "note": null } })
        .await
        .unwrap();
    let one = all()
        .partition_by(|s| s.note)
        .output::<Counted>(|_, c, w| c.n.over(w.all().of(count())));
    assert_eq!(counted(one).await, [1, 5, 5, 5, 5, 5]);
    let two = all().partition_by(|s| s.note).partition_by(|_| literal(1));
    let two = two.output::<Counted>(|_, c, w| c.n.over(w.all().of(count())));
    assert_eq!(counted(two).await, [1, 5, 5, 5, 5, 5]);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Filled {
    #[serde(rename = "_id")]
    pub id: i32,
    pub line: Option<f64>,
    pub carried: Option<f64>,
    pub note: Option<String>,
}

async fn what_is_refused_is_a_typed_error(db: &Db) {
    let sales = sales(db).await;
    let check = |error: Error, code: i32| {
        assert_eq!(error.code(), Some(code), "{error}");
        assert_eq!(
            error.namespace().map(|name| name.ends_with(".sales")),
            Some(true),
            "{error}"
        );
        assert_eq!(error.model(), Some("Sale"), "{error}");
    };
    macro_rules! run {
        ($windows:expr, $function:expr) => {
            $windows.output::<Filled>($function).await.unwrap_err()
        };
    }
    let all = || sales.aggregate().windows();
    let by_id = || all().sort_by(|s| s.id);
    let by_day = || all().sort_by(|s| s.day);
    check(
        run!(by_id(), |s, f, w| f.line.over(w.documents(1, 0).of(avg(&s.sold)))),
        5_339_900,
    );
    check(
        run!(by_id(), |s, f, w| f.line.over(w.range(1, 0).of(avg(&s.sold)))),
        5_339_900,
    );
    check(
        run!(by_id(), |s, f, w| f.line.over(w.exp_moving_avg(&s.sold, 0))),
        9,
    );
    check(
        run!(by_id(), |s, f, w| f.line.over(w.exp_moving_avg_by(&s.sold, 1.0))),
        9,
    );
    check(
        run!(by_id(), |s, f, w| f.line.over(w.shift_or(&s.price, 1, &s.price))),
        9,
    );
    let per_month = |s: SaleFields<Sale>, f: FilledFields<Filled>, w: odm::expr::Window<Sale, _>| {
        f.line
            .over(w.documents(-1, 0).derivative_per(&s.sold, TimeUnit::Month))
    };
    check(run!(by_day(), per_month), 5_490_710);
    let raw = Windowed::<Sale, f64>::raw(doc! { "$rank": {}, "window": { "documents": [0, 1] } });
    check(run!(by_id(), |_, f, _| f.line.over(raw)), 5_371_601);
    let unordered = Windowed::<Sale, f64>::raw(doc! { "$sum": 1, "window": { "range": [0, 1] } });
    check(run!(all(), |_, f, _| f.line.over(unordered)), 5_339_902);
    // Before the round trip.
    let invalid = |error: Error, path: Option<&str>| {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert_eq!(error.path(), path, "{error}");
    };
    let twice = run!(all(), |s, f, w| f.line.over(w.locf(&s.price))
        & f.line.over(w.locf(&s.price)));
    invalid(twice, Some("line"));
    let nowhere = run!(all().sort(|s| s.id.asc() & s.id.desc()), |s, f, w| f
        .line
        .over(w.locf(&s.price)));
    invalid(nowhere, Some("_id"));
    // Values that do not fit.
    sales
        .raw()
        .update_many(
            doc! { "_id": 3 },
            doc! { "$set": { "step": "three", "shop": ["a"] } },
        )
        .await
        .unwrap();
    let by_step = all().sort_by(|s| s.step);
    check(
        run!(by_step, |s, f, w| f.line.over(w.range(-1, 0).of(avg(&s.sold)))),
        5_429_414,
    );
    let by_shop = all().partition_by(|s| s.shop);
    check(run!(by_shop, |s, f, w| f.line.over(w.all().of(avg(&s.sold)))), 14);
}

async fn nothing_and_much_come_through(db: &Db) {
    let sales = db.collection::<Sale>();
    let running = || {
        sales
            .aggregate()
            .windows()
            .sort_by(|s| s.id)
            .output::<Counted>(|_, c, w| c.n.over(w.documents(Edge::Unbounded, Edge::Current).of(count())))
    };
    assert_eq!(running().await.unwrap(), []);
    sales.insert_many((0..3000).map(sale)).await.unwrap();
    let found = running().batch_size(100).await.unwrap();
    let numbers = found.iter().zip(1..).filter(|(found, n)| found.n == *n);
    assert_eq!((found.len(), numbers.count()), (3000, 3000));
    // No output at all, and the stages behind see the new shape.
    let none = sales
        .aggregate()
        .windows()
        .output::<Sale>(|s, out, w| out.sold.over(w.all().of(min(&s.sold))));
    assert_eq!(none.filter(|s| s.sold.eq(0)).count().await.unwrap(), 3000);
    let inside = sales.aggregate().limit(1).facet::<Overview>(|docs, o| {
        let numbered = docs.stages().windows().sort_by(|s| s.id);
        o.numbered
            .results(numbered.output::<Counted>(|_, c, w| c.n.over(w.document_number())))
    });
    assert_eq!(inside.first().await.unwrap().unwrap().numbered.len(), 1);
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Overview {
    numbered: Vec<Counted>,
}
