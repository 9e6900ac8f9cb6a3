//! The end of data: expiry, capped logs, collections for periods.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, ErrorKind, Model};
use odm_patterns::lifecycle::{CappedLog, Expiry, ExpiryProblem, Period, Periods};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    what_has_expired_is_not_alive_before_it_is_gone,
    a_ttl_index_is_built_changed_and_checked,
    a_capped_log_is_followed_and_goes_on,
    a_reader_that_is_too_slow_is_told,
    a_capped_log_is_made_of_another_size,
    documents_go_into_the_period_of_their_date,
    what_has_no_period_is_named,
    a_range_over_periods_is_one_stream,
    old_periods_are_dropped_and_stay_away,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "expiry_sessions")]
struct Session {
    #[serde(rename = "_id")]
    id: i32,
    ends: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "expiry_logs")]
struct Entry {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index)]
    at: DateTime,
    text: String,
}

fn clocked(db: &Db, start: DateTime) -> (Db, Arc<AtomicI64>) {
    let millis = Arc::new(AtomicI64::new(start.timestamp_millis()));
    let hand = millis.clone();
    (
        db.with_clock(move || DateTime::from_millis(hand.load(Ordering::SeqCst))),
        millis,
    )
}

fn day(year: i32, month: u8, day: u8) -> DateTime {
    DateTime::builder()
        .year(year)
        .month(month)
        .day(day)
        .build()
        .unwrap()
}

fn entry(id: i32, at: DateTime) -> Entry {
    Entry {
        id,
        at,
        text: "x".repeat(20),
    }
}

async fn what_has_expired_is_not_alive_before_it_is_gone(db: &Db) {
    // Far ahead, so that no server deletes anything by its own clock.
    let start = day(2100, 1, 1);
    let (db, clock) = clocked(db, start);
    let later = |seconds: i64| DateTime::from_millis(start.timestamp_millis() + seconds * 1000);
    let sessions = db.collection::<Session>();
    let expiry = Expiry::<Session>::new(&db, |s| s.ends);
    for (id, ends) in [(1, Some(later(10))), (2, Some(later(20))), (3, None)] {
        sessions.insert(Session { id, ends }).await.unwrap();
    }
    sessions
        .raw()
        .insert(doc! { "_id": 4, "ends": "never" })
        .await
        .unwrap();
    let alive = async || sessions.count(|_| expiry.alive()).await.unwrap();
    assert_eq!(alive().await, 4);
    clock.fetch_add(9_999, Ordering::SeqCst);
    assert_eq!(alive().await, 4);
    assert!(expiry.extend(1, later(15)).await.unwrap());
    clock.fetch_add(5_001, Ordering::SeqCst);
    // At its date it has expired, and nobody brings it back.
    assert_eq!(alive().await, 3);
    assert!(!expiry.extend(1, later(99)).await.unwrap());
    assert!(!expiry.extend(77, later(99)).await.unwrap());
    assert_eq!(sessions.count(|_| expiry.expired()).await.unwrap(), 1);
    assert_eq!(expiry.sweep().await.unwrap(), 1);
    let longer = expiry.clone().after(Duration::from_secs(60));
    clock.fetch_add(60_000, Ordering::SeqCst);
    assert_eq!(
        (alive().await, sessions.count(|_| longer.alive()).await.unwrap()),
        (2, 3)
    );
}

async fn a_ttl_index_is_built_changed_and_checked(db: &Db) {
    let expiry = Expiry::<Session>::new(db, |s| s.ends);
    db.collection::<Session>().create().await.unwrap();
    assert_eq!(expiry.verify().await.unwrap(), [ExpiryProblem::NoIndex]);
    expiry.prepare().await.unwrap();
    expiry.prepare().await.unwrap();
    assert!(expiry.verify().await.unwrap().is_empty());
    let hour = expiry.clone().after(Duration::from_secs(3600));
    assert_eq!(
        hour.verify().await.unwrap(),
        [ExpiryProblem::OtherTime { seconds: 0 }]
    );
    hour.prepare().await.unwrap();
    assert!(hour.verify().await.unwrap().is_empty());
    db.raw_collection("expiry_sessions")
        .insert(doc! { "_id": 4, "ends": "never" })
        .await
        .unwrap();
    assert_eq!(
        hour.verify().await.unwrap(),
        [ExpiryProblem::NotADate { id: 4.into() }]
    );
}

async fn a_capped_log_is_followed_and_goes_on(db: &Db) {
    let log = CappedLog::<Entry>::new(db, 1 << 16).named("expiry_capped");
    log.prepare().await.unwrap();
    log.prepare().await.unwrap();
    let mut tail = log.tail().pause(Duration::from_millis(20));
    let waiting = tokio::spawn(async move {
        let mut seen = Vec::new();
        for _ in 0..20 {
            seen.push(tail.next().await.unwrap().id);
        }
        seen
    });
    for id in 0..20 {
        log.push(&entry(id, day(2026, 1, 1))).await.unwrap();
    }
    assert_eq!(waiting.await.unwrap(), (0..20).collect::<Vec<_>>());
    // Another program goes on where the first stopped.
    let mut tail = log.tail().after(17);
    assert_eq!(
        (tail.next().await.unwrap().id, tail.next().await.unwrap().id),
        (18, 19)
    );
    let newest = log.newest(2).await.unwrap();
    assert_eq!((newest[0].id, newest[1].id), (19, 18));
}

async fn a_reader_that_is_too_slow_is_told(db: &Db) {
    let log = CappedLog::<Entry>::new(db, 1 << 16)
        .max_documents(5)
        .named("expiry_capped");
    log.prepare().await.unwrap();
    for id in 0..12 {
        log.push(&entry(id, day(2026, 1, 1))).await.unwrap();
    }
    assert_eq!(log.collection().find_all().await.unwrap().len(), 5);
    let error = log.tail().after(3).next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::HistoryLost);
    assert_eq!(log.tail().after(7).next().await.unwrap().id, 8);
    // What is no capped collection cannot be followed.
    let plain = CappedLog::<Entry>::new(db, 1 << 16).named("expiry_plain");
    plain.push(&entry(1, day(2026, 1, 1))).await.unwrap();
    assert_eq!(plain.tail().next().await.unwrap_err().code(), Some(2));
    assert_eq!(plain.prepare().await.unwrap_err().kind(), ErrorKind::Validation);
}

async fn a_capped_log_is_made_of_another_size(db: &Db) {
    let log = CappedLog::<Entry>::new(db, 1 << 16).named("expiry_capped");
    log.prepare().await.unwrap();
    let smaller = CappedLog::<Entry>::new(db, 1 << 12)
        .max_documents(3)
        .named("expiry_capped");
    smaller.prepare().await.unwrap();
    let listed = db.list_collections().await.unwrap();
    let options = &listed
        .iter()
        .find(|info| info.name == "expiry_capped")
        .unwrap()
        .options;
    let number = |field: &str| options.get(field).map(ToString::to_string);
    assert_eq!(
        (number("size"), number("max")),
        (Some("4096".into()), Some("3".into()))
    );
}

async fn documents_go_into_the_period_of_their_date(db: &Db) {
    let (db, log) = db.logged();
    let months = Periods::<Entry>::new(&db, Period::Month, |e| e.at);
    months.insert(&entry(1, day(2026, 11, 30))).await.unwrap();
    months.insert(&entry(2, day(2026, 12, 1))).await.unwrap();
    log.take();
    let many: Vec<Entry> = (3..9)
        .map(|id| entry(id, day(2026, 10 + (id % 3) as u8, 5)))
        .collect();
    assert_eq!(months.insert_many(&many).await.unwrap(), 6);
    assert_eq!(log.take().len(), 3);
    db.create_collection("expiry_logs_2026_99").await.unwrap();
    db.create_collection("expiry_logs_2026_11_x").await.unwrap();
    let names: Vec<String> = months
        .collections()
        .await
        .unwrap()
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    assert_eq!(
        names,
        [
            "expiry_logs_2026_10",
            "expiry_logs_2026_11",
            "expiry_logs_2026_12"
        ]
    );
    let december = months.collection_of(day(2026, 12, 24)).unwrap();
    assert_eq!(december.count(|_| odm::Filter::all()).await.unwrap(), 3);

    let (db, _) = clocked(&db, day(2027, 12, 31));
    Periods::<Entry>::new(&db, Period::Month, |e| e.at)
        .prepare(1)
        .await
        .unwrap();
    let next = months.collection_of(day(2028, 1, 1)).unwrap();
    assert!(
        next.list_indexes()
            .await
            .unwrap()
            .iter()
            .any(|index| index.keys == doc! { "at": 1 })
    );
    let days = Periods::<Entry>::new(&db, Period::Day, |e| e.at).named("expiry_days");
    days.insert(&entry(1, day(2026, 1, 2))).await.unwrap();
    assert_eq!(days.collections().await.unwrap()[0].1, "expiry_days_2026_01_02");
}

async fn what_has_no_period_is_named(db: &Db) {
    let (db, _) = clocked(db, day(2026, 11, 27));
    let months = Periods::<Entry>::new(&db, Period::Month, |e| e.at).keep(3);
    let batch = [entry(60, day(2026, 11, 1)), entry(61, day(2026, 1, 1))];
    let error = months.insert_many(&batch).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.model(), error.path()),
        (ErrorKind::Validation, Some("Entry"), Some("at"))
    );
    assert_eq!(error.id(), Some(&bson::Bson::Int32(61)));
    assert!(
        error.namespace().unwrap().ends_with(".expiry_logs_2026_01"),
        "{error}"
    );
    assert!(error.to_string().contains("position in the batch: 1"), "{error}");
    let error = months.insert(&batch[1]).await.unwrap_err();
    assert_eq!(
        (error.model(), error.id()),
        (Some("Entry"), Some(&bson::Bson::Int32(61)))
    );
    assert_eq!(months.collections().await.unwrap(), []);
}

async fn a_range_over_periods_is_one_stream(db: &Db) {
    let months = Periods::<Entry>::new(db, Period::Month, |e| e.at);
    let dates: Vec<DateTime> = (1..=12)
        .flat_map(|month| [day(2026, month, 3), day(2026, month, 20)])
        .collect();
    let mut entries: Vec<Entry> = dates.iter().zip(0..).map(|(at, id)| entry(id, *at)).collect();
    entries.reverse();
    months.insert_many(&entries).await.unwrap();
    let (db, log) = db.logged();
    let months = Periods::<Entry>::new(&db, Period::Month, |e| e.at);
    let range = months.range(day(2026, 2, 10)..day(2026, 5, 20)).await.unwrap();
    let ids: Vec<i32> = range
        .try_collect()
        .await
        .unwrap()
        .iter()
        .map(|entry| entry.id)
        .collect();
    assert_eq!(ids, [3, 4, 5, 6, 7, 8]);
    assert_eq!(log.take().len(), 1 + 4);
    let found = months
        .find(day(2026, 2, 10)..day(2027, 5, 20), |e| e.id.gte(6))
        .await
        .unwrap();
    let mut newest = found.newest_first();
    assert_eq!(newest.try_next().await.unwrap().unwrap().id, 23);
    assert_eq!(newest.try_collect().await.unwrap().len(), 17);
    // Everything until then, and from then on.
    for (times, count) in [
        (DateTime::MIN..day(2026, 5, 20), None),
        (DateTime::MIN..DateTime::MAX, None),
        (day(2026, 2, 10)..DateTime::MAX, None),
        (DateTime::MIN..day(2020, 1, 1), Some(0)),
        (DateTime::MAX..DateTime::MAX, Some(0)),
    ] {
        let found = months
            .range(times.clone())
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        let is_within = |entry: &&Entry| times.contains(&entry.at);
        assert!(found.iter().all(|entry| is_within(&entry)));
        match count {
            Some(count) => assert_eq!(found.len(), count),
            None => assert!(found.len() >= ids.len()),
        }
    }
    let none = months.range(day(2030, 1, 1)..day(2031, 1, 1)).await.unwrap();
    assert!(none.try_collect().await.unwrap().is_empty());
}

async fn old_periods_are_dropped_and_stay_away(db: &Db) {
    let (db, clock) = clocked(db, day(2026, 3, 15));
    let months = Periods::<Entry>::new(&db, Period::Month, |e| e.at);
    assert_eq!(
        months.retain().await.unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    for month in 1..=3 {
        months.insert(&entry(1, day(2026, month, 1))).await.unwrap();
    }
    months.insert(&entry(1, day(2025, 12, 1))).await.unwrap();
    let kept = months.clone().keep(3);
    assert_eq!(kept.retain().await.unwrap(), ["expiry_logs_2025_12"]);
    clock.store(day(2026, 5, 31).timestamp_millis(), Ordering::SeqCst);
    let refused = kept.insert(&entry(2, day(2026, 2, 28))).await.unwrap_err();
    assert_eq!(
        (refused.kind(), refused.path()),
        (ErrorKind::Validation, Some("at"))
    );
    // Dropped in part, and then the rest.
    let (faulty, faults) = db.faulty();
    faults.add(Fault::nth("drop", 2).crash());
    let dying = Periods::<Entry>::new(&faulty, Period::Month, |e| e.at).keep(3);
    dying.retain().await.unwrap_err();
    assert_eq!(kept.collections().await.unwrap().len(), 2);
    assert_eq!(kept.retain().await.unwrap(), ["expiry_logs_2026_02"]);
    assert!(kept.retain().await.unwrap().is_empty());
    assert_eq!(kept.collections().await.unwrap()[0].1, "expiry_logs_2026_03");
}
