//! Counters: what is read is what a recount of the events says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::{Db, ErrorKind};
use odm_patterns::counter::{
    Cell, CounterProblemKind, Counters, Event, Key, Layout, Measure, Recorded, Shape,
};
use odm_patterns::period::{Unit, Zone};
use odm_tests::random::Random;

crate::on_every_backend! {
    figures_stand_where_the_manual_has_them,
    reports_equal_a_recount,
    preallocation_changes_no_count,
    an_event_sent_twice_is_counted_once,
    more_shards_keep_what_was_counted_but_not_all_ids,
    memory_of_events_is_bounded,
    measures_have_extremes_and_histograms,
    late_events_go_where_they_belong,
    a_transaction_of_the_caller_counts_or_does_not,
    figures_of_all_keys,
    wrong_figures_are_found_and_counted_anew,
    what_cannot_be_counted_is_refused,
}

pub(super) fn at(text: &str) -> DateTime {
    DateTime::parse_rfc3339_str(text).unwrap()
}

/// A database whose clock is moved by hand.
pub(super) fn clocked(db: &Db, start: &str) -> (Db, Arc<AtomicI64>) {
    let millis = Arc::new(AtomicI64::new(at(start).timestamp_millis()));
    let hand = millis.clone();
    (
        db.with_clock(move || DateTime::from_millis(hand.load(Ordering::SeqCst))),
        millis,
    )
}

pub(super) fn page(name: &str) -> Key {
    Key::of("page", name)
}

async fn figures_stand_where_the_manual_has_them(db: &Db) {
    let (db, log) = db.logged();
    let layout = Layout::per(Unit::Month).by(Unit::Day).by(Unit::Hour);
    let views = Counters::new(&db, "views", Shape::new(layout)).unwrap();
    for time in [
        "2026-11-02T13:59:59Z",
        "2026-11-02T14:00:00Z",
        "2026-11-30T23:00:00Z",
    ] {
        let event = Event::of(page("/a:b")).at(at(time));
        assert_eq!(views.record(event).await.unwrap(), Recorded::Now);
    }
    assert_eq!(log.take().len(), 3);
    let stored = db.raw_collection("views").find(doc! {}).await.unwrap();
    let expected = doc! {
        "_id": "month:2026-11:page=/a%3Ab",
        "by": {"page": "/a:b"},
        "days": {"2": 2_i64, "30": 1_i64},
        "from": at("2026-11-01T00:00:00Z"),
        "hours": {"2": {"13": 1_i64, "14": 1_i64}, "30": {"23": 1_i64}},
        "span": "month",
        "total": 3_i64,
    };
    assert_eq!(stored.len(), 1);
    let sorted = |document: &bson::Document| document.clone().into_iter().collect::<BTreeMap<_, _>>();
    assert_eq!(sorted(&stored[0]), sorted(&expected));

    // The names of the manual's report.
    let layout = Layout::per(Unit::Day)
        .total_named("daily")
        .by_named(Unit::Hour, "hourly")
        .by_named(Unit::Minute, "minute");
    let report = Counters::new(&db, "report", Shape::new(layout)).unwrap();
    let event = Event::of(page("/")).at(at("2026-11-02T13:59:59Z"));
    report.record(event.times(5)).await.unwrap();
    let stored = db
        .raw_collection("report")
        .find_one(doc! {})
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.get_i64("daily").unwrap(), 5);
    assert_eq!(stored.get_document("hourly").unwrap(), &doc! {"13": 5_i64});
    assert_eq!(
        stored.get_document("minute").unwrap(),
        &doc! {"13": {"59": 5_i64}}
    );
}

/// `ODM_TEST_EVENTS` says how many events; 400 unless it does.
async fn reports_equal_a_recount(db: &Db) {
    let count: usize = std::env::var("ODM_TEST_EVENTS").map_or(400, |text| text.parse().unwrap());
    let mut random = Random::new(7);
    let shapes = [
        Shape::new(Layout::per(Unit::Month).by(Unit::Day).by(Unit::Hour)).shards(3),
        Shape::new(Layout::per(Unit::Day).by(Unit::Hour).by(Unit::Minute))
            .zone(Zone::fixed(-34_200).unwrap()),
        Shape::new(Layout::per(Unit::Week).by(Unit::Day))
            .also(Layout::per(Unit::Month).by(Unit::Day))
            .zone(Zone::named("Europe/Berlin").unwrap()),
        Shape::new(Layout::per(Unit::Day).by(Unit::Hour)).collection_per(Unit::Month),
        Shape::new(Layout::all_time().by(Unit::Year).by(Unit::Month)),
    ];
    let zones = [
        Zone::UTC,
        Zone::fixed(-34_200).unwrap(),
        Zone::named("Europe/Berlin").unwrap(),
        Zone::UTC,
        Zone::UTC,
    ];
    let range = at("2026-09-20T00:00:00Z")..at("2026-11-10T00:00:00Z");
    let first = range.start.timestamp_millis();
    let length = (range.end.timestamp_millis() - first) as usize;
    for (number, (shape, zone)) in shapes.into_iter().zip(zones).enumerate() {
        let counters = Counters::new(db, &format!("random_{number}"), shape).unwrap();
        let mut events = Vec::new();
        for _ in 0..count / 5 {
            let time = DateTime::from_millis(first + random.below(length) as i64);
            let key = page(random.pick::<&str>(&["/", "/a", "/b"])).and("status", random.below(2) as i64);
            let times = random.below(7) as i64 - 2;
            counters
                .record(Event::of(key.clone()).at(time).times(times))
                .await
                .unwrap();
            events.push((key, time, times));
        }
        let key = page("/a").and("status", 1_i64);
        for unit in Unit::ALL {
            let span = match unit {
                Unit::Minute => at("2026-10-25T00:00:00Z")..at("2026-10-25T03:00:00Z"),
                Unit::Hour => at("2026-10-24T00:00:00Z")..at("2026-10-27T00:00:00Z"),
                _ => range.clone(),
            };
            let report = match counters.report(&key, span.clone(), unit).await {
                Ok(report) => report,
                Err(error) => {
                    assert_eq!(
                        (error.kind(), error.path()),
                        (ErrorKind::InvalidArgument, Some(unit.name()))
                    );
                    assert!(unit < Unit::Day || number == 4, "{unit:?} of {number}");
                    continue;
                }
            };
            let mut expected = Vec::new();
            let mut start = zone.start(unit, span.start).unwrap();
            while start < span.end {
                let end = zone.next(unit, start).unwrap();
                let of_cell = events
                    .iter()
                    .filter(|(own, time, _)| *own == key && (start..end).contains(time));
                expected.push((start, of_cell.map(|(.., times)| times).sum::<i64>()));
                start = end;
            }
            let found: Vec<_> = report
                .cells
                .iter()
                .map(|(start, cell)| (*start, cell.count))
                .collect();
            assert_eq!(found, expected, "{unit:?} of {number}");
        }
        assert_eq!(counters.verify().await.unwrap(), []);
    }
}

async fn preallocation_changes_no_count(db: &Db) {
    let shape = Shape::new(Layout::per(Unit::Month).by(Unit::Day))
        .measure(Measure::new("bytes").histogram([10, 100]))
        .shards(2);
    let views = Counters::new(db, "views", shape).unwrap();
    let home = page("/");
    let (day, next) = (at("2026-02-03T00:00:00Z"), at("2026-02-04T00:00:00Z"));
    // Before the first count, after it, and again.
    for round in 1..=3 {
        views.preallocate(&home, day).await.unwrap();
        views
            .record(Event::of(home.clone()).at(day).value("bytes", 50))
            .await
            .unwrap();
        views
            .preallocate_all([&home, &page("/other")], day)
            .await
            .unwrap();
        let report = views.report(&home, day..next, Unit::Day).await.unwrap();
        assert_eq!(report.counts(), [round]);
        assert_eq!(report.cells[0].1.values["bytes"].histogram, [0, round, 0]);
    }
    let stored = db
        .raw_collection("views")
        .find(doc! {"by.page": "/"})
        .await
        .unwrap();
    assert_eq!(stored.len(), 2);
    for document in &stored {
        let days = document.get_document("days").unwrap();
        assert_eq!(days.len(), 28);
        let names: Vec<String> = (1..=28).map(|day| day.to_string()).collect();
        assert_eq!(days.keys().cloned().collect::<Vec<_>>(), names);
    }
    // Counting changes no document's size.
    let size = |documents: &[bson::Document]| -> usize {
        documents
            .iter()
            .map(|document| bson::RawDocumentBuf::try_from(document).unwrap().as_bytes().len())
            .sum()
    };
    views
        .record(Event::of(home.clone()).at(next).value("bytes", 5))
        .await
        .unwrap();
    let after = db
        .raw_collection("views")
        .find(doc! {"by.page": "/"})
        .await
        .unwrap();
    assert_eq!(size(&after), size(&stored));
    // The zeros of a document that somebody made without them.
    let bare = page("/bare");
    views
        .record(Event::of(bare.clone()).at(day).times(9))
        .await
        .unwrap();
    views.preallocate(&bare, day).await.unwrap();
    assert_eq!(views.total(&bare, day..next, Unit::Day).await.unwrap().count, 9);
    assert_eq!(views.verify().await.unwrap(), []);
}

async fn an_event_sent_twice_is_counted_once(db: &Db) {
    let (db, log) = db.logged();
    let time = at("2026-11-02T13:00:00Z");
    let one = Shape::new(Layout::per(Unit::Day).by(Unit::Hour)).shards(4);
    let two = Shape::new(Layout::per(Unit::Day).by(Unit::Hour)).also(Layout::per(Unit::Year));
    for (name, shape, trips) in [("one", one, [1, 2]), ("two", two, [5, 2])] {
        let views = Counters::new(&db, name, shape).unwrap();
        let event = Event::of(page("/")).at(time).times(3).id("e1");
        log.take();
        assert_eq!(views.record(event.clone()).await.unwrap(), Recorded::Now);
        assert_eq!(log.take().len(), trips[0]);
        assert_eq!(views.record(event.clone()).await.unwrap(), Recorded::Before);
        assert_eq!(log.take().len(), trips[1]);
        // Also from another program, and within a transaction.
        let again = db
            .transaction(async |tx| views.on(&tx).record(event.clone()).await)
            .await;
        assert_eq!(again.unwrap(), Recorded::Before);
        views.record(event.clone().id("e2")).await.unwrap();
        let total = views.total(&page("/"), time..time, Unit::Day).await.unwrap();
        assert_eq!(total.count, 0, "an empty range has no figures");
        let hour = time..at("2026-11-02T14:00:00Z");
        assert_eq!(views.total(&page("/"), hour, Unit::Hour).await.unwrap().count, 6);
    }
}

async fn more_shards_keep_what_was_counted_but_not_all_ids(db: &Db) {
    let time = at("2026-11-02T13:00:00Z");
    let day = time..at("2026-11-02T14:00:00Z");
    let views =
        |shards| Counters::new(db, "views", Shape::new(Layout::per(Unit::Day)).shards(shards)).unwrap();
    let event = |id: i32| Event::of(page("/")).at(time).id(format!("e{id}"));
    let (few, more) = (views(2), views(4));
    for id in 0..20 {
        assert_eq!(few.record(event(id)).await.unwrap(), Recorded::Now);
    }
    let total = async || {
        more.total(&page("/"), day.clone(), Unit::Day)
            .await
            .unwrap()
            .count
    };
    assert_eq!(total().await, 20);
    // Those that are known by another shard now are counted again, once.
    let mut again = 0;
    for id in 0..20 {
        again += i64::from(more.record(event(id)).await.unwrap() == Recorded::Now);
        assert_eq!(more.record(event(id)).await.unwrap(), Recorded::Before);
    }
    assert!(0 < again && again < 20, "{again}");
    assert_eq!(total().await, 20 + again);
    assert_eq!(more.verify().await.unwrap(), []);
}

async fn memory_of_events_is_bounded(db: &Db) {
    let shape = Shape::new(Layout::per(Unit::Day)).remember(3);
    let views = Counters::new(db, "views", shape).unwrap();
    let event = |id: i32| {
        Event::of(page("/"))
            .at(at("2026-11-02T13:00:00Z"))
            .id(format!("e{id}"))
    };
    for id in 1..=4 {
        views.record(event(id)).await.unwrap();
    }
    let stored = db
        .raw_collection("views")
        .find_one(doc! {})
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.get_array("seen").unwrap().len(), 3);
    // Within the window, and beyond it.
    assert_eq!(views.record(event(2)).await.unwrap(), Recorded::Before);
    assert_eq!(views.record(event(1)).await.unwrap(), Recorded::Now);
}

async fn measures_have_extremes_and_histograms(db: &Db) {
    for bounds in [vec![f64::NAN], vec![0.1, f64::NAN], vec![1.0, 0.1]] {
        let odd =
            Shape::measuring(Layout::per(Unit::Month)).measure(Measure::new("seconds").histogram(bounds));
        let error = Counters::<f64>::new(db, "calls", odd).unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::InvalidArgument, Some("seconds"))
        );
    }
    let shape = Shape::measuring(Layout::per(Unit::Month).by(Unit::Day))
        .measure(Measure::new("seconds").extremes().histogram([0.1, 1.0]))
        .measure(Measure::new("bytes"))
        .shards(2);
    let calls = Counters::<f64>::new(db, "calls", shape).unwrap();
    let day = at("2026-11-02T00:00:00Z");
    let event = |seconds: f64| Event::of(Key::none()).at(day).value("seconds", seconds);
    for seconds in [0.05, 0.1, 0.5, 4.0] {
        calls.record(event(seconds).value("bytes", 2.0)).await.unwrap();
    }
    let read = async || -> Cell<f64> {
        let next = at("2026-11-03T00:00:00Z");
        calls.total(&Key::none(), day..next, Unit::Day).await.unwrap()
    };
    let cell = read().await;
    let seconds = &cell.values["seconds"];
    assert_eq!((cell.count, seconds.count), (4, 4));
    assert!((seconds.sum - 4.65).abs() < 1e-12 && (seconds.mean().unwrap() - 1.1625).abs() < 1e-12);
    assert_eq!(
        (seconds.min, seconds.max, seconds.is_exact),
        (Some(0.05), Some(4.0), true)
    );
    assert_eq!(seconds.histogram, [2, 1, 1]);
    assert_eq!((cell.values["bytes"].sum, cell.values["bytes"].min), (8.0, None));
    // Taken back: all but the extremes are as before.
    calls
        .record(event(4.0).value("bytes", 2.0).taken_back())
        .await
        .unwrap();
    let cell = read().await;
    let seconds = &cell.values["seconds"];
    assert_eq!(
        (cell.count, seconds.count, seconds.histogram.as_slice()),
        (3, 3, &[2, 1, 0][..])
    );
    assert_eq!((seconds.max, seconds.is_exact), (Some(4.0), false));
    for wrong in [event(f64::NAN), event(1.0).value("colour", 1.0)] {
        let error = calls.record(wrong).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

async fn late_events_go_where_they_belong(db: &Db) {
    let (db, _) = clocked(db, "2026-11-20T12:00:00Z");
    let shape = Shape::new(Layout::per(Unit::Day)).closed_after(Duration::from_secs(48 * 3600));
    let views = Counters::new(&db, "views", shape).unwrap();
    let days = at("2026-11-18T00:00:00Z")..at("2026-11-21T00:00:00Z");
    for (time, outcome) in [
        (None, Recorded::Now),
        (Some("2026-11-18T12:00:00Z"), Recorded::Now),
        (Some("2026-11-18T11:59:59Z"), Recorded::TooLate),
    ] {
        let event = Event::of(page("/"));
        let event = time.map_or(event.clone(), |time| event.at(at(time)));
        assert_eq!(views.record(event).await.unwrap(), outcome);
    }
    let report = views.report(&page("/"), days, Unit::Day).await.unwrap();
    assert_eq!(report.counts(), [1, 0, 1]);
}

async fn a_transaction_of_the_caller_counts_or_does_not(db: &Db) {
    let shape = Shape::new(Layout::per(Unit::Day)).also(Layout::per(Unit::Month));
    let views = Counters::new(db, "views", shape).unwrap();
    let time = at("2026-11-02T00:00:00Z");
    let tx = db.begin().await.unwrap();
    views
        .on(&tx)
        .record(Event::of(page("/")).at(time).id("a"))
        .await
        .unwrap();
    tx.abort().await;
    let day = time..at("2026-11-03T00:00:00Z");
    assert_eq!(
        views
            .total(&page("/"), day.clone(), Unit::Day)
            .await
            .unwrap()
            .count,
        0
    );
    db.transaction(async |tx| {
        let views = views.on(&tx);
        views.record(Event::of(page("/")).at(time).id("a")).await?;
        views.record(Event::of(page("/")).at(time)).await
    })
    .await
    .unwrap();
    for unit in [Unit::Day, Unit::Month] {
        assert_eq!(views.total(&page("/"), day.clone(), unit).await.unwrap().count, 2);
    }
}

async fn figures_of_all_keys(db: &Db) {
    let shape = Shape::new(Layout::per(Unit::Day))
        .collection_per(Unit::Month)
        .shards(2);
    let views = Counters::new(db, "views", shape).unwrap();
    for (name, time, times) in [
        ("/a", "2026-10-30T10:00:00Z", 1),
        ("/a", "2026-10-31T10:00:00Z", 2),
        ("/b", "2026-11-01T10:00:00Z", 4),
        ("/a", "2026-11-01T10:00:00Z", 8),
        ("/a", "2026-11-02T10:00:00Z", 16),
    ] {
        let event = Event::of(page(name)).at(at(time));
        views.record(event.times(times)).await.unwrap();
        views
            .record(Event::of(page(name)).at(at(time)).times(100))
            .await
            .unwrap();
    }
    let days = at("2026-10-31T23:00:00Z")..at("2026-11-02T00:00:00Z");
    let found = views.by_key(days).await.unwrap();
    let found: Vec<_> = found.into_iter().map(|(key, cell)| (key, cell.count)).collect();
    assert_eq!(found, [(page("/a"), 210), (page("/b"), 104)]);
}

async fn wrong_figures_are_found_and_counted_anew(db: &Db) {
    let shape = || {
        Shape::new(Layout::per(Unit::Month).by(Unit::Day))
            .also(Layout::per(Unit::Day).by(Unit::Hour))
            .measure(Measure::new("bytes").extremes())
            .shards(2)
    };
    let views = Counters::new(db, "views", shape()).unwrap();
    let event = |day: i64, bytes: i64| {
        let time =
            DateTime::from_millis(at("2026-11-01T05:00:00Z").timestamp_millis() + (day - 1) * 86_400_000);
        Event::of(page("/")).at(time).value("bytes", bytes)
    };
    let events = [event(1, 7), event(2, 9), event(2, 1), event(30, 5)];
    for (at, event) in events.iter().enumerate() {
        views.record(event.clone().id(format!("e{at}"))).await.unwrap();
    }
    assert_eq!(views.verify().await.unwrap(), []);
    let month = at("2026-11-01T00:00:00Z")..at("2026-12-01T00:00:00Z");
    let before = views.report(&page("/"), month.clone(), Unit::Day).await.unwrap();
    let raw = db.raw_collection("views");
    let wrong = doc! {"$inc": {"days.2": 1_i64, "bytes.total.sum": 1_i64}};
    raw.update_many(doc! {"span": "month"}, wrong).await.unwrap();
    let wrong = doc! {"$set": {"total": "many"}};
    raw.update_one(doc! {"span": "day"}, wrong).await.unwrap();
    let problems = views.verify().await.unwrap();
    let has =
        |wanted: &dyn Fn(&CounterProblemKind) -> bool| problems.iter().any(|problem| wanted(&problem.kind));
    assert!(has(
        &|kind| matches!(kind, CounterProblemKind::Disagreement { level, .. } if level == "days")
    ));
    assert!(has(
        &|kind| matches!(kind, CounterProblemKind::MeasureDisagreement { measure, .. } if measure == "bytes")
    ));
    assert!(has(
        &|kind| matches!(kind, CounterProblemKind::NotANumber { path } if path == "total")
    ));

    let named = (events.iter().cloned().enumerate()).map(|(at, event)| event.id(format!("e{at}")));
    let named: Vec<_> = named.collect();
    views
        .recount(&page("/"), month.clone(), async |_| Ok(named.clone()))
        .await
        .unwrap();
    assert_eq!(views.verify().await.unwrap(), []);
    let after = views.report(&page("/"), month.clone(), Unit::Day).await.unwrap();
    assert_eq!(after, before);
    // What was counted is remembered.
    let again = views.record(named[3].clone()).await.unwrap();
    assert_eq!(again, Recorded::Before);
    let error = views
        .recount(&page("/b"), month.clone(), async |_| Ok(named.clone()))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    // Those that were not recorded yet are too.
    raw.delete_many(doc! {}).await.unwrap();
    views
        .recount(&page("/"), month.clone(), async |_| Ok(named.clone()))
        .await
        .unwrap();
    for event in named {
        assert_eq!(views.record(event).await.unwrap(), Recorded::Before);
    }
    let after = views.report(&page("/"), month, Unit::Day).await.unwrap();
    assert_eq!(after, before);
}

async fn what_cannot_be_counted_is_refused(db: &Db) {
    let refused = |shape: Shape| Counters::new(db, "views", shape).unwrap_err().kind();
    let day = || Layout::per(Unit::Day).by(Unit::Hour);
    for shape in [
        Shape::new(Layout::per(Unit::Month).by(Unit::Hour)),
        Shape::new(day()).also(Layout::per(Unit::Day)),
        Shape::new(day()).shards(0),
        Shape::new(day()).measure(Measure::new("total")),
        Shape::new(day()).measure(Measure::new("bytes").histogram([2, 1])),
        Shape::new(Layout::per(Unit::Week)).collection_per(Unit::Month),
        Shape::new(Layout::all_time()).collection_per(Unit::Year),
    ] {
        assert_eq!(refused(shape), ErrorKind::InvalidArgument);
    }
    let views = Counters::new(db, "views", Shape::new(day())).unwrap();
    for event in [
        Event::of(Key::of("page", 1.5)),
        Event::of(Key::of("a.b", 1)),
        Event::of(page("/")).at(DateTime::MAX),
        Event::of(page("/")).value("bytes", 1),
    ] {
        let error = views.record(event).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    // Beyond 64 bits nothing is counted, whole or in part.
    let time = at("2026-11-02T10:00:00Z");
    views
        .record(Event::of(page("/")).at(time).times(i64::MAX))
        .await
        .unwrap();
    assert!(views.record(Event::of(page("/")).at(time)).await.is_err());
    assert_eq!(views.verify().await.unwrap(), []);
    let years = at("2000-01-01T00:00:00Z")..at("2100-01-01T00:00:00Z");
    let error = views.report(&page("/"), years, Unit::Hour).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}
