//! Typed pipelines that fill gaps: `$densify` and `$fill`.

use odm::bson::{DateTime, Document, doc};
use odm::expr::{TimeUnit, count};
use odm::{Collection, Db, Embedded, Error, ErrorKind, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    numbers_get_their_steps,
    dates_get_their_steps,
    steps_that_cannot_be_are_typed_errors,
    fields_are_filled,
    partitions_are_filled_by_themselves,
    what_cannot_be_filled_is_a_typed_error,
    gaps_are_found_and_filled,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "readings")]
struct Reading {
    #[serde(rename = "_id")]
    id: i32,
    meter: String,
    floor: i32,
    hour: f64,
    at: DateTime,
    watts: Option<f64>,
    note: Option<String>,
}

fn reading(id: i32, hour: i32, watts: Option<f64>) -> Reading {
    Reading {
        id,
        meter: ["a", "b"][usize::from(id > 3)].to_owned(),
        floor: 1,
        hour: f64::from(hour),
        at: DateTime::from_millis(i64::from(hour) * 3_600_000),
        watts,
        note: (id == 2).then(|| "two".to_owned()),
    }
}

async fn readings(db: &Db) -> Collection<Reading> {
    let readings = db.collection::<Reading>();
    let all = [
        reading(1, 1, Some(10.0)),
        reading(2, 2, None),
        reading(3, 5, Some(50.0)),
        reading(4, 2, None),
        reading(5, 4, Some(4.0)),
    ];
    readings.insert_many(all).await.unwrap();
    readings
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Step {
    #[serde(rename = "_id")]
    id: Option<i32>,
    meter: Option<String>,
    floor: Option<i32>,
    hour: f64,
}

async fn hours(steps: odm::Pipeline<Document, odm::action::PipelineSource>) -> Vec<(String, f64)> {
    let steps = steps.into::<Step>().await.unwrap().into_iter();
    let mut hours: Vec<_> = steps.map(|s| (s.meter.unwrap_or_default(), s.hour)).collect();
    hours.sort_by(|a, b| a.partial_cmp(b).unwrap());
    hours
}

fn of(meter: &str, hours: &[f64]) -> Vec<(String, f64)> {
    hours.iter().map(|hour| (meter.to_owned(), *hour)).collect()
}

async fn numbers_get_their_steps(db: &Db) {
    let readings = readings(db).await;
    let all = || readings.aggregate().densify(|r| r.hour);
    let each = || all().partition_by(|r| r.meter);
    assert_eq!(
        hours(all().every(1).full()).await,
        [of("", &[3.0]), of("a", &[1.0, 2.0, 5.0]), of("b", &[2.0, 4.0])].concat()
    );
    assert_eq!(
        hours(each().every(1.0).full()).await,
        [
            of("a", &[1.0, 2.0, 3.0, 4.0, 5.0]),
            of("b", &[1.0, 2.0, 3.0, 4.0, 5.0])
        ]
        .concat()
    );
    assert_eq!(hours(each().every(0.5).of_partitions()).await.len(), 9 + 5);
    assert_eq!(
        hours(each().every(2).between(3, 9.0)).await,
        [
            of("a", &[1.0, 2.0, 3.0, 5.0, 7.0]),
            of("b", &[2.0, 3.0, 4.0, 5.0, 7.0])
        ]
        .concat()
    );
    // By several fields.
    let both = each()
        .partition_by(|r| r.floor)
        .every(2)
        .of_partitions()
        .into::<Step>();
    let made: Vec<Step> = both.filter(|s| s.id.missing()).await.unwrap();
    let step = |meter: &str, hour| Step {
        id: None,
        meter: Some(meter.into()),
        floor: Some(1),
        hour,
    };
    assert_eq!(made, [step("a", 3.0)]);
    // Nothing comes of nothing, not even between bounds.
    let none = readings.aggregate().filter(|r| r.id.gt(100)).densify(|r| r.hour);
    assert_eq!(hours(none.every(1).full()).await, []);
    let none = readings.aggregate().filter(|r| r.id.gt(100)).densify(|r| r.hour);
    assert_eq!(hours(none.every(1).between(1, 3)).await, of("", &[1.0, 2.0]));
}

async fn dates_get_their_steps(db: &Db) {
    let readings = readings(db).await;
    let steps = readings.aggregate().filter(|r| r.meter.eq("a")).densify(|r| r.at);
    let steps = steps
        .every_unit(90, TimeUnit::Minute)
        .full()
        .into::<At>()
        .sort(|a| a.at.asc());
    let minutes: Vec<i64> = steps
        .await
        .unwrap()
        .iter()
        .map(|a| a.at.timestamp_millis() / 60_000)
        .collect();
    assert_eq!(minutes, [60, 120, 150, 240, 300]);
    let at = |hour: i64| DateTime::from_millis(hour * 3_600_000);
    let steps = readings.aggregate().densify(|r| r.at).partition_by(|r| r.meter);
    let steps = steps.every_unit(1, TimeUnit::Hour).between(at(0), at(2));
    assert_eq!(steps.into::<At>().count().await.unwrap(), 5 + 3);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct At {
    at: DateTime,
}

async fn steps_that_cannot_be_are_typed_errors(db: &Db) {
    let readings = readings(db).await;
    let all = || readings.aggregate().densify(|r| r.hour);
    let check = |error: Error, code: i32| {
        assert_eq!(error.code(), Some(code), "{error}");
        assert_eq!(error.model(), Some("Reading"), "{error}");
    };
    check(all().every(0).full().await.unwrap_err(), 5_733_401);
    check(all().every(-1).full().await.unwrap_err(), 5_733_401);
    check(all().every(1).of_partitions().await.unwrap_err(), 5_733_408);
    check(all().every(1).between(3, 1).await.unwrap_err(), 5_733_402);
    check(all().every(1e-9).full().await.unwrap_err(), 5_897_900);
    let dates = readings
        .aggregate()
        .densify(|r| r.at)
        .every_unit(0, TimeUnit::Day)
        .full();
    check(dates.await.unwrap_err(), 5_733_401);
    let itself = all().partition_by(|r| r.hour).every(1).full();
    check(itself.await.unwrap_err(), 5_733_306);
    readings
        .raw()
        .update_many(doc! { "_id": 1 }, doc! { "$set": { "hour": "one" } })
        .await
        .unwrap();
    check(all().every(1).full().await.unwrap_err(), 5_733_201);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Whole {
    #[serde(rename = "_id")]
    id: i32,
    watts: f64,
    note: String,
}

async fn fields_are_filled(db: &Db) {
    let readings = readings(db).await;
    let whole = readings
        .aggregate()
        .fill()
        .output::<Whole>(|r, w, f| f.value(&w.watts, r.hour.value() * -1) & f.value(&w.note, "$meter"))
        .sort(|w| w.id.asc())
        .await
        .unwrap();
    let filled: Vec<_> = whole.iter().map(|w| (w.watts, w.note.as_str())).collect();
    assert_eq!(
        filled,
        [
            (10.0, "$meter"),
            (-2.0, "two"),
            (50.0, "$meter"),
            (-2.0, "$meter"),
            (4.0, "$meter")
        ]
    );
    let by_hour = readings
        .aggregate()
        .filter(|r| r.id.lte(3))
        .fill()
        .sort_by(|r| r.hour);
    let filled = by_hour
        .output::<Reading>(|_, r, f| f.linear(&r.watts) & f.locf(&r.note))
        .await
        .unwrap();
    let filled: Vec<_> = filled.into_iter().map(|r| (r.watts, r.note)).collect();
    let two = || Some("two".to_owned());
    assert_eq!(
        filled,
        [(Some(10.0), None), (Some(20.0), two()), (Some(50.0), two())]
    );
    let by_time = readings
        .aggregate()
        .filter(|r| r.id.lte(3))
        .fill()
        .sort_by_descending(|r| r.at);
    let filled = by_time
        .output::<Reading>(|_, r, f| f.linear(&r.watts))
        .await
        .unwrap();
    let watts: Vec<_> = filled.into_iter().map(|r| r.watts).collect();
    assert_eq!(watts, [Some(50.0), Some(20.0), Some(10.0)]);
}

async fn partitions_are_filled_by_themselves(db: &Db) {
    let readings = readings(db).await;
    for by_two in [false, true] {
        let fill = readings.aggregate().fill().partition_by(|r| r.meter);
        let fill = match by_two {
            true => fill.partition_by(|r| r.floor.value() + 1),
            false => fill,
        };
        let fill = fill.sort(|r| r.hour.asc() & r.id.asc());
        let filled = fill
            .output::<Reading>(|_, r, f| f.locf(&r.watts))
            .sort(|r| r.id.asc());
        let watts: Vec<_> = filled.await.unwrap().into_iter().map(|r| r.watts).collect();
        assert_eq!(watts, [Some(10.0), Some(10.0), Some(50.0), None, Some(4.0)]);
    }
}

async fn what_cannot_be_filled_is_a_typed_error(db: &Db) {
    let readings = readings(db).await;
    let all = || readings.aggregate().fill();
    let twice = all().output::<Whole>(|_, w, f| f.value(&w.watts, 1.0) & f.value(&w.watts, 2.0));
    let error = twice.await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("watts"))
    );
    let by_text = all().sort_by(|r| r.meter);
    let by_text = by_text.output::<Reading>(|_, r, f| f.linear(&r.watts));
    assert_eq!(by_text.await.unwrap_err().code(), Some(14));
    // What stays null does not fit.
    let null = all().partition_by(|r| r.meter).sort_by(|r| r.hour);
    let null = null
        .output::<Reading>(|_, r, f| f.linear(&r.watts))
        .into::<Whole>();
    assert_eq!(null.await.unwrap_err().kind(), ErrorKind::Decode);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Hour {
    meter: String,
    hour: f64,
    watts: Option<f64>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Tally {
    #[serde(rename = "_id")]
    meter: String,
    n: u32,
}

async fn gaps_are_found_and_filled(db: &Db) {
    let readings = readings(db).await;
    let hours = readings
        .aggregate()
        .densify(|r| r.hour)
        .partition_by(|r| r.meter)
        .every(1)
        .of_partitions()
        .into::<Hour>()
        .fill()
        .partition_by(|h| h.meter)
        .sort_by(|h| h.hour)
        .output::<Hour>(|_, h, f| f.linear(&h.watts));
    let found: Vec<_> = hours
        .clone()
        .await
        .unwrap()
        .into_iter()
        .map(|h| (h.meter, h.hour, h.watts))
        .collect();
    let of = |meter: &str, hour, watts| (meter.to_owned(), hour, watts);
    assert_eq!(
        found,
        [
            of("a", 1.0, Some(10.0)),
            of("a", 2.0, Some(20.0)),
            of("a", 3.0, Some(30.0)),
            of("a", 4.0, Some(40.0)),
            of("a", 5.0, Some(50.0)),
            of("b", 2.0, None),
            of("b", 3.0, None),
            of("b", 4.0, Some(4.0)),
        ]
    );
    let tally = hours
        .group::<Tally>(|h, t| t.meter.by(h.meter) & t.n.is(count()))
        .sort(|t| t.meter.asc());
    let tally: Vec<u32> = tally.await.unwrap().iter().map(|t| t.n).collect();
    assert_eq!(tally, [5, 3]);
}
