//! Typed functions of windows: ranks, shifts, rates, averages, gaps, deviations.

use odm::expr::{TimeUnit, avg, std_dev_pop, std_dev_samp, sum};
use odm::{Db, Embedded};
use serde::{Deserialize, Serialize};

use super::pipelines_windows::{Filled, hidden, sales};

crate::on_every_backend! {
    ranks_and_shifts_go_by_the_order,
    rates_and_averages_move,
    gaps_are_carried_over_and_filled,
    variances_and_covariances_of_windows,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Ranked {
    #[serde(rename = "_id")]
    id: i32,
    rank: i32,
    dense: u8,
    number: i64,
    before: Option<i32>,
    price_before: Option<f64>,
    behind: i32,
    note: Option<String>,
    #[serde(with = "hidden")]
    hidden: i32,
}

async fn ranks_and_shifts_go_by_the_order(db: &Db) {
    let sales = sales(db).await;
    let ranked = sales.aggregate().windows().sort_by_descending(|s| s.step);
    let ranked = ranked.output::<Ranked>(|s, r, w| {
        r.rank.over(w.rank())
            & r.dense.over(w.dense_rank())
            & r.number.over(w.document_number())
            & r.before.over(w.shift(&s.sold, -1))
            & r.price_before.over(w.shift(&s.price, -1))
            & r.behind.over(w.shift_or(s.step, 6, -7))
            & r.note.over(w.shift_or(s.note, 6, "none"))
            & r.hidden.over(w.shift_or(s.hidden, 6, 42))
    });
    let ranked = ranked.sort(|r| r.number.asc()).await.unwrap();
    let ranks: Vec<_> = ranked.iter().map(|r| (r.rank, r.dense, r.number)).collect();
    // 6, then 4 and 5, then 2 and 3, then 1.
    assert_eq!(
        ranks,
        [(1, 1, 1), (2, 2, 2), (2, 2, 3), (4, 3, 4), (4, 3, 5), (6, 4, 6)]
    );
    assert_eq!((ranked[0].before, ranked[1].before), (None, Some(60)));
    assert_eq!(
        (ranked[0].price_before, ranked[1].price_before),
        (None, Some(3.0))
    );
    assert!(ranked.iter().all(|r| (r.behind, r.hidden) == (-7, 42)));
    assert!(ranked.iter().all(|r| r.note.as_deref() == Some("none")));
    // By several fields there are shifts.
    let shifted = sales
        .aggregate()
        .windows()
        .sort(|s| s.step.asc() & s.id.desc())
        .output::<Shifted>(|s, out, w| out.next.over(w.shift(&s.id, 1)));
    let next: Vec<_> = shifted.await.unwrap().iter().map(|s| (s.id, s.next)).collect();
    let expected = [
        (1, Some(3)),
        (3, Some(2)),
        (2, Some(5)),
        (5, Some(4)),
        (4, Some(6)),
        (6, None),
    ];
    assert_eq!(next, expected);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Shifted {
    #[serde(rename = "_id")]
    id: i32,
    next: Option<i32>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Rates {
    #[serde(rename = "_id")]
    id: i32,
    slope: Option<f64>,
    area: f64,
    mean: f64,
    light: f64,
    priced: Option<f64>,
}

async fn rates_and_averages_move(db: &Db) {
    let sales = sales(db).await;
    let rates = sales
        .aggregate()
        .windows()
        .sort_by(|s| s.id)
        .output::<Rates>(|s, r, w| {
            let two = w.documents(-1, 0);
            r.slope.over(two.derivative(&s.sold))
                & r.area.over(two.integral(&s.sold))
                & r.mean.over(w.exp_moving_avg(&s.sold, 3))
                & r.light.over(w.exp_moving_avg_by(&s.sold, 0.25))
                & r.priced.over(w.exp_moving_avg(&s.price, 1))
        });
    let rates = rates.await.unwrap();
    let of = |id, slope, area, mean, light, priced| Rates {
        id,
        slope,
        area,
        mean,
        light,
        priced,
    };
    assert_eq!(rates[0], of(1, None, 0.0, 10.0, 10.0, Some(0.5)));
    assert_eq!(rates[1], of(2, Some(10.0), 15.0, 15.0, 12.5, Some(0.5)));
    assert_eq!(rates[2], of(3, Some(10.0), 25.0, 22.5, 16.875, Some(1.5)));
    let by_time = sales.aggregate().windows().sort_by_descending(|s| s.day);
    let by_time = by_time.output::<Rates>(|s, r, w| {
        let two = w.documents(-1, 0);
        let zero = s.sold.value() * 0;
        r.slope.over(two.derivative_per(&s.sold, TimeUnit::Week))
            & r.area.over(two.integral_per(&s.sold, TimeUnit::Hour))
            & r.mean.over(w.all().of(avg(&zero)))
            & r.light.over(w.all().of(sum(zero)))
    });
    let by_time = by_time.sort(|r| r.id.asc()).await.unwrap();
    assert_eq!((by_time[5].slope, by_time[5].area), (None, 0.0));
    assert!((by_time[0].slope.unwrap() - 70.0).abs() < 1e-9, "{by_time:?}");
    assert!((by_time[0].area + 360.0).abs() < 1e-9, "{by_time:?}");
}

async fn gaps_are_carried_over_and_filled(db: &Db) {
    let sales = sales(db).await;
    let filled = sales.aggregate().windows().sort_by_descending(|s| s.day);
    let filled = filled.output::<Filled>(|s, f, w| {
        f.line.over(w.linear_fill(&s.price)) & f.carried.over(w.locf(&s.price)) & f.note.over(w.locf(&s.note))
    });
    let filled = filled.sort(|f| f.id.asc()).await.unwrap();
    let lines: Vec<_> = filled.iter().map(|f| (f.line, f.carried)).collect();
    let same = |value| (Some(value), Some(value));
    assert_eq!(
        lines,
        [
            same(0.5),
            (Some(1.0), Some(1.5)),
            same(1.5),
            same(2.0),
            (Some(2.5), Some(3.0)),
            same(3.0)
        ]
    );
    assert_eq!(
        (filled[0].note.as_deref(), filled[1].note.as_deref()),
        (Some("first"), None)
    );
    let at_ends = sales
        .aggregate()
        .filter(|s| s.id.lte(5))
        .windows()
        .sort_by(|s| s.step)
        .output::<Filled>(|s, f, w| f.line.over(w.linear_fill(&s.price)))
        .await;
    // Two documents at the same place have no line between them.
    assert_eq!(at_ends.unwrap_err().code(), Some(6_050_106));
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Spread {
    #[serde(rename = "_id")]
    id: i32,
    pop: f64,
    samp: Option<f64>,
    both: f64,
    both_samp: Option<f64>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Deviation {
    #[serde(rename = "_id")]
    shop: String,
    pop: f64,
    samp: Option<f64>,
}

async fn variances_and_covariances_of_windows(db: &Db) {
    let sales = sales(db).await;
    let spread = sales
        .aggregate()
        .windows()
        .sort_by(|s| s.id)
        .output::<Spread>(|s, v, w| {
            let two = w.documents(-1, 0);
            v.pop.over(two.of(std_dev_pop(&s.sold)))
                & v.samp.over(two.of(std_dev_samp(&s.sold)))
                & v.both.over(two.covariance_pop(&s.sold, &s.id))
                & v.both_samp.over(two.covariance_samp(&s.sold, s.id.value() * 2))
        });
    let spread = spread.await.unwrap();
    assert_eq!(
        (spread[0].pop, spread[0].samp, spread[0].both, spread[0].both_samp),
        (0.0, None, 0.0, None)
    );
    assert_eq!(
        (spread[3].pop, spread[3].both, spread[3].both_samp),
        (5.0, 2.5, Some(10.0))
    );
    assert!((spread[3].samp.unwrap() - 50.0_f64.sqrt()).abs() < 1e-9);
    let groups = sales
        .aggregate()
        .filter(|s| s.id.lte(3))
        .group::<Deviation>(|s, d| {
            d.shop.by(&s.shop) & d.pop.is(std_dev_pop(&s.sold)) & d.samp.is(std_dev_samp(&s.sold))
        });
    let groups = groups.sort(|d| d.shop.asc()).await.unwrap();
    assert_eq!((groups[0].pop, groups[0].samp), (0.0, None));
    assert_eq!(groups[1].pop, 10.0);
}
