//! Counters in time zones: days of other lengths than 24 hours, and days that begin twice or without a midnight.

use bson::doc;
use odm::Db;
use odm_patterns::counter::{Counters, Event, Layout, Shape};
use odm_patterns::period::{Unit, Zone};

use super::counter::{at, page};

crate::on_every_backend! {
    local_days_have_23_and_25_hours,
    what_is_in_a_day_is_in_an_hour_of_it,
}

async fn local_days_have_23_and_25_hours(db: &Db) {
    let zone = Zone::named("Europe/Berlin").unwrap();
    let shape = Shape::new(Layout::per(Unit::Day).by(Unit::Hour)).zone(zone);
    let views = Counters::new(db, "views", shape).unwrap();
    for (from, to, hours) in [
        ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", 23),
        ("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", 25),
    ] {
        let (from, to) = (at(from), at(to));
        let mut time = from;
        while time < to {
            views.record(Event::of(page("/")).at(time)).await.unwrap();
            time = time.saturating_add_millis(1_800_000);
        }
        let report = views.report(&page("/"), from..to, Unit::Hour).await.unwrap();
        assert_eq!(report.counts(), vec![2; hours]);
        let day = views.report(&page("/"), from..to, Unit::Day).await.unwrap();
        assert_eq!(day.counts(), [hours as i64 * 2]);
    }
    let stored = db
        .raw_collection("views")
        .find(doc! {})
        .sort_raw(doc! {"_id": 1})
        .await
        .unwrap();
    let ids: Vec<&str> = stored.iter().map(|day| day.get_str("_id").unwrap()).collect();
    assert_eq!(ids, ["day:2026-03-29:page=/", "day:2026-10-25:page=/"]);
    assert_eq!(views.verify().await.unwrap(), []);
}

async fn what_is_in_a_day_is_in_an_hour_of_it(db: &Db) {
    // Clocks that went from 00:01 back to 23:01, and from 23:30 to 00:30: what is in a day is in an hour of it.
    for (number, (name, from, to, hours)) in [
        (
            "America/St_Johns",
            "2010-11-06T02:30:00Z",
            "2010-11-08T03:30:00Z",
            [24, 25],
        ),
        (
            "America/Toronto",
            "1919-03-30T05:00:00Z",
            "1919-04-01T04:00:00Z",
            [24, 24],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let shape = Shape::new(Layout::per(Unit::Day).by(Unit::Hour));
        let shape = shape.zone(Zone::named(name).unwrap());
        let views = Counters::new(db, &format!("views_{number}"), shape).unwrap();
        let (from, to) = (at(from), at(to));
        let mut time = from;
        while time < to {
            views.record(Event::of(page("/")).at(time)).await.unwrap();
            time = time.saturating_add_millis(600_000);
        }
        let by_day = views.report(&page("/"), from..to, Unit::Day).await.unwrap();
        let by_hour = views.report(&page("/"), from..to, Unit::Hour).await.unwrap();
        let all = (to.timestamp_millis() - from.timestamp_millis()) / 600_000;
        assert_eq!(by_day.counts().iter().sum::<i64>(), all, "{name}");
        assert_eq!(by_hour.counts().iter().sum::<i64>(), all, "{name}");
        if number == 0 {
            assert_eq!(by_day.counts(), hours.map(|hours| hours * 6));
            assert_eq!(by_hour.counts(), [6; 49]);
        }
    }
}
