//! Counters of several layouts: what one of them counts, all do.

use bson::doc;
use odm::Db;
use odm_patterns::counter::{Counters, Event, Layout, Recorded, Shape};
use odm_patterns::period::Unit;

use super::counter::{at, clocked, page};

crate::on_every_backend! {
    an_event_that_one_layout_remembers_is_counted_in_none,
}

async fn an_event_that_one_layout_remembers_is_counted_in_none(db: &Db) {
    let (db, log) = db.logged();
    let (db, _) = clocked(&db, "2026-01-02T12:00:00Z");
    let shape = || Shape::<i64>::new(Layout::per(Unit::Day)).also(Layout::per(Unit::Year));
    let visits = Counters::new(&db, "visits", shape()).unwrap();
    let event = |id: &str, day: u32| {
        let time = at(&format!("2026-01-{day:02}T10:00:00Z"));
        Event::of(page("/")).id(id).at(time)
    };
    let totals = async || {
        let found = db.raw_collection("visits").find(doc! {});
        let found = found.sort_raw(doc! { "_id": 1 }).await.unwrap();
        let total = |document: &bson::Document| document.get_i64("total").unwrap();
        found.iter().map(total).collect::<Vec<_>>()
    };
    assert_eq!(visits.record(event("first", 1)).await.unwrap(), Recorded::Now);
    for other in 0..100 {
        let recorded = visits.record(event(&format!("other {other}"), 2)).await;
        assert_eq!(recorded.unwrap(), Recorded::Now);
    }
    // The year's document has forgotten it, that of the day has not.
    log.take();
    assert_eq!(visits.record(event("first", 1)).await.unwrap(), Recorded::Before);
    assert_eq!(log.take().len(), 2);
    assert_eq!(totals().await, [1, 100, 101]);
    log.take();
    // A new one takes as many round trips as before.
    assert_eq!(visits.record(event("new", 1)).await.unwrap(), Recorded::Now);
    assert_eq!(log.take().len(), 5);
    // The other way round, the day was let go.
    visits.retire(at("2026-01-02T00:00:00Z")).await.unwrap();
    let days = db.raw_collection("visits");
    days.delete_many(doc! { "span": "day" }).await.unwrap();
    assert_eq!(visits.record(event("new", 1)).await.unwrap(), Recorded::Before);
    assert_eq!(totals().await, [102]);
}
