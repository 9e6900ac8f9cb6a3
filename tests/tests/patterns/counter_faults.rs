//! Counters whose programs die, and their upkeep.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bson::doc;
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_patterns::counter::{Coalesced, Counters, Event, Layout, Measure, Recorded, Shape};
use odm_patterns::period::Unit;

use super::counter::{at, clocked, page};

crate::on_every_backend! {
    many_tasks_with_faults_lose_nothing_and_add_nothing,
    many_tasks_with_ids_and_faults_count_exactly,
    day_and_month_never_disagree,
    a_roll_up_is_resumed_after_a_crash_at_any_write,
    old_figures_are_let_go,
    a_coalescer_writes_by_count_time_and_close,
    a_coalescer_counts_once_what_it_flushes_twice,
    a_dropped_coalescer_loses_what_it_held_and_no_more,
    what_is_sent_again_after_a_roll_up_is_not_counted_again,
}

const TASKS: usize = 64;

fn lost() -> Error {
    Error::new(ErrorKind::Network, "connection reset (injected)")
}

/// `ODM_TEST_COUNTS` says how many events each task counts; 6 unless it does.
fn rounds() -> usize {
    std::env::var("ODM_TEST_COUNTS").map_or(6, |text| text.parse().unwrap())
}

fn day_of_hours() -> Shape {
    Shape::new(Layout::per(Unit::Day).by(Unit::Hour)).shards(4)
}

async fn counted(views: &Counters) -> i64 {
    let day = at("2026-11-02T00:00:00Z")..at("2026-11-03T00:00:00Z");
    let total = views
        .total(&page("/"), day.clone(), Unit::Day)
        .await
        .unwrap()
        .count;
    let hours = views.report(&page("/"), day, Unit::Hour).await.unwrap();
    assert_eq!(hours.total().unwrap().count, total);
    total
}

fn hit(n: usize) -> Event {
    let hour = at("2026-11-02T00:00:00Z").saturating_add_millis(n as i64 % 24 * 3_600_000);
    Event::of(page("/")).at(hour)
}

/// Some writes fail before they happen, some after, some programs die, and some tasks are killed in the middle.
async fn many_tasks_with_faults_lose_nothing_and_add_nothing(db: &Db) {
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let (faulty, faults) = db.faulty();
        let nth = (task % 5 + 1) as u64;
        match task % 4 {
            0 => faults.add(Fault::nth_write(nth).crash()),
            1 => faults.add(Fault::nth_write(nth).after(lost())),
            2 => faults.add(Fault::nth_write(nth).before(lost())),
            _ => {}
        }
        let views = Counters::new(&faulty, "views", day_of_hours()).unwrap();
        let counts = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
        let (begun, done) = counts.clone();
        let handle = tokio::spawn(async move {
            for round in 0..rounds() {
                begun.fetch_add(1, Ordering::SeqCst);
                if views.record(hit(task + round)).await.is_ok() {
                    done.fetch_add(1, Ordering::SeqCst);
                }
                tokio::task::yield_now().await;
            }
        });
        tasks.push((handle, counts));
    }
    for (handle, _) in tasks.iter().skip(3).step_by(4).take(TASKS / 8) {
        handle.abort();
    }
    let (mut acknowledged, mut in_doubt) = (0, 0);
    for (handle, (begun, done)) in tasks {
        handle.await.ok();
        acknowledged += done.load(Ordering::SeqCst);
        in_doubt += begun.load(Ordering::SeqCst) - done.load(Ordering::SeqCst);
    }
    let views = Counters::new(db, "views", day_of_hours()).unwrap();
    // A killed task's last write may still be on its way.
    let mut value = counted(&views).await;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let next = counted(&views).await;
        if next == value {
            break;
        }
        value = next;
    }
    assert!(acknowledged > 0 && in_doubt > 0);
    assert!(
        (acknowledged..=acknowledged + in_doubt).contains(&value),
        "{acknowledged} <= {value} <= {acknowledged} + {in_doubt}"
    );
    assert_eq!(views.verify().await.unwrap(), []);
}

async fn many_tasks_with_ids_and_faults_count_exactly(db: &Db) {
    let shape = || day_of_hours().remember(2_000);
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let (faulty, faults) = db.faulty();
        for nth in [2, 3, 5] {
            faults.add(Fault::nth_write(nth + task as u64 % 3).after(lost()));
            faults.add(Fault::nth_operation(nth + 4).before(lost()));
        }
        let views = Counters::new(&faulty, "views", shape()).unwrap();
        tasks.push(tokio::spawn(async move {
            for round in 0..rounds() {
                let event = hit(task + round).id(format!("{task}/{round}"));
                // Sent until it is acknowledged.
                while views.record(event.clone()).await.is_err() {}
                assert_eq!(
                    views.record(event).await.unwrap_or(Recorded::Before),
                    Recorded::Before
                );
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let views = Counters::new(db, "views", shape()).unwrap();
    assert_eq!(counted(&views).await, (TASKS * rounds()) as i64);
}

async fn day_and_month_never_disagree(db: &Db) {
    let shape =
        || Shape::new(Layout::per(Unit::Day).by(Unit::Hour)).also(Layout::per(Unit::Month).by(Unit::Day));
    let day = at("2026-11-02T00:00:00Z")..at("2026-11-03T00:00:00Z");
    let views = Counters::new(db, "views", shape()).unwrap();
    let mut counted = 0;
    for is_after in [false, true] {
        for nth in 1.. {
            let (faulty, faults) = db.faulty();
            let fault = Fault::nth_write(nth);
            faults.add(if is_after {
                fault.after(lost())
            } else {
                fault.crash()
            });
            let event = hit(nth as usize).id(format!("{is_after}{nth}"));
            let sent = Counters::new(&faulty, "views", shape())
                .unwrap()
                .record(event.clone())
                .await;
            for unit in [Unit::Hour, Unit::Day] {
                // By days from the documents of months, by hours from those of days.
                let total = views.total(&page("/"), day.clone(), unit).await.unwrap().count;
                let month = views
                    .total(&page("/"), day.clone(), Unit::Month)
                    .await
                    .unwrap()
                    .count;
                assert_eq!(total, month);
                assert!((counted..=counted + 1).contains(&total));
            }
            // Sent again, to whoever is alive.
            views.record(event).await.unwrap();
            counted += 1;
            assert_eq!(
                views
                    .total(&page("/"), day.clone(), Unit::Day)
                    .await
                    .unwrap()
                    .count,
                counted
            );
            if faults.failures() == 0 {
                sent.unwrap();
                break;
            }
        }
    }
    assert!(counted >= 2 * 4);
}

async fn a_roll_up_is_resumed_after_a_crash_at_any_write(db: &Db) {
    let fine = |db: &Db| {
        let shape =
            Shape::new(Layout::per(Unit::Day).by(Unit::Hour)).measure(Measure::new("bytes").extremes());
        Counters::new(db, "fine", shape.shards(2)).unwrap()
    };
    let coarse = |db: &Db| {
        let shape =
            Shape::new(Layout::per(Unit::Month).by(Unit::Day)).measure(Measure::new("bytes").extremes());
        Counters::new(db, "coarse", shape).unwrap()
    };
    let range = at("2026-10-30T00:00:00Z")..at("2026-11-03T00:00:00Z");
    let before = at("2026-11-02T12:00:00Z");
    let mut crashes = 0;
    for is_after in [false, true] {
        for nth in 1.. {
            db.drop_collection("fine").await.unwrap();
            db.drop_collection("coarse").await.unwrap();
            for day in 0..4_i64 {
                for n in 0..=day {
                    let time = range
                        .start
                        .saturating_add_millis(day * 86_400_000 + n * 7_200_000);
                    let event = Event::of(page("/")).at(time).value("bytes", 10 * day + n);
                    fine(db).record(event).await.unwrap();
                }
            }
            let report = async || {
                let mut report = fine(db)
                    .report(&page("/"), range.clone(), Unit::Day)
                    .await
                    .unwrap();
                let other = coarse(db)
                    .report(&page("/"), range.clone(), Unit::Day)
                    .await
                    .unwrap();
                report.add(&other).unwrap();
                report
            };
            let expected = report().await;
            assert_eq!(expected.counts(), [1, 2, 3, 4]);
            let (faulty, faults) = db.faulty();
            let fault = Fault::nth_write(nth);
            faults.add(if is_after {
                fault.after(lost())
            } else {
                fault.crash()
            });
            let rolled = fine(&faulty).roll_up(&coarse(&faulty), before).await;
            assert_eq!(report().await, expected);
            // By another program, and with something that came late.
            let late = Event::of(page("/")).at(range.start).value("bytes", 3);
            fine(db).record(late).await.unwrap();
            fine(db).roll_up(&coarse(db), before).await.unwrap();
            assert_eq!(report().await.counts(), [2, 2, 3, 4]);
            let left = db.raw_collection("fine").find(doc! {}).await.unwrap();
            assert!(
                left.iter()
                    .all(|left| left.get_str("_id").unwrap().starts_with("day:2026-11-02"))
            );
            assert_eq!(coarse(db).verify().await.unwrap(), []);
            if faults.failures() == 0 {
                assert!(rolled.unwrap().documents >= 3);
                break;
            }
            crashes += 1;
        }
    }
    assert!(crashes >= 2 * 9, "{crashes}");
    let error = coarse(db).roll_up(&fine(db), before).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

async fn old_figures_are_let_go(db: &Db) {
    let layouts = || Shape::new(Layout::per(Unit::Day)).also(Layout::per(Unit::Hour));
    let times = [
        "2026-09-30T23:00:00Z",
        "2026-10-31T23:00:00Z",
        "2026-11-01T10:00:00Z",
        "2026-11-02T10:00:00Z",
    ];
    let before = at("2026-11-02T10:30:00Z");
    // A collection that only sounds like one of them.
    db.raw_collection("many_years_ago")
        .insert(doc! {"_id": 1})
        .await
        .unwrap();
    for (name, shape) in [
        ("one", layouts()),
        ("many", layouts().collection_per(Unit::Month)),
    ] {
        let views = Counters::new(db, name, shape).unwrap();
        for time in times {
            views.record(Event::of(page("/")).at(at(time))).await.unwrap();
        }
        let retired = views.retire(before).await.unwrap();
        assert_eq!(retired.documents, 6);
        let collections = if name == "many" {
            vec!["many_2026_09", "many_2026_10"]
        } else {
            Vec::new()
        };
        assert_eq!(retired.collections, collections);
        assert_eq!(views.retire(before).await.unwrap().documents, 0);
        let range = at(times[0])..at("2026-11-03T00:00:00Z");
        assert_eq!(views.total(&page("/"), range, Unit::Day).await.unwrap().count, 1);
    }
    assert_eq!(
        db.raw_collection("many_years_ago").count(doc! {}).await.unwrap(),
        1
    );
}

async fn a_coalescer_writes_by_count_time_and_close(db: &Db) {
    let (db, millis) = clocked(db, "2026-11-02T10:00:00Z");
    let (db, log) = db.logged();
    let views = Counters::new(&db, "views", Shape::new(Layout::per(Unit::Day).by(Unit::Hour))).unwrap();
    let writer = views.coalescer().every(100).after(Duration::from_secs(5));
    for n in 0..99 {
        assert!(matches!(writer.record(hit(n)).await.unwrap(), Coalesced::Held));
    }
    assert_eq!(
        (log.take().len(), writer.held(), counted(&views).await),
        (0, 99, 0)
    );
    log.take();
    assert!(matches!(writer.record(hit(0)).await.unwrap(), Coalesced::Flushed));
    assert_eq!(
        (log.take().len(), writer.held(), counted(&views).await),
        (1, 0, 100)
    );
    // By time.
    assert!(matches!(writer.record(hit(0)).await.unwrap(), Coalesced::Held));
    millis.fetch_add(5_000, Ordering::SeqCst);
    assert!(matches!(writer.record(hit(0)).await.unwrap(), Coalesced::Flushed));
    assert_eq!(counted(&views).await, 102);
    // By hand, and at the end.
    writer.record(hit(1)).await.unwrap();
    writer.flush().await.unwrap();
    assert_eq!(counted(&views).await, 103);
    writer.record(hit(1)).await.unwrap();
    writer.close().await.unwrap();
    assert_eq!(counted(&views).await, 104);
    let error = writer.record(hit(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = views.coalescer().record(hit(1).id("e")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

async fn a_coalescer_counts_once_what_it_flushes_twice(db: &Db) {
    let one = || Shape::new(Layout::per(Unit::Day).by(Unit::Hour)).shards(2);
    let two = || one().also(Layout::per(Unit::Month));
    for (name, shape) in [("one", one()), ("two", two())] {
        let views = Counters::new(db, name, shape.clone()).unwrap();
        let mut expected = 0;
        for is_after in [false, true] {
            for nth in 1.. {
                let (faulty, faults) = db.faulty();
                let fault = Fault::nth_write(nth);
                faults.add(if is_after {
                    fault.after(lost())
                } else {
                    fault.before(lost())
                });
                let writer = Counters::new(&faulty, name, shape.clone())
                    .unwrap()
                    .coalescer()
                    .every(10);
                for n in 0..25 {
                    // A flush that fails delays, and the next one sends the same again.
                    writer.record(hit(n)).await.unwrap();
                }
                let closed = writer.close().await;
                if closed.is_err() {
                    writer.close().await.unwrap();
                }
                expected += 25;
                assert_eq!(
                    (writer.held(), counted(&views).await),
                    (0, expected),
                    "{name} {is_after} {nth}"
                );
                if faults.failures() == 0 {
                    break;
                }
            }
        }
        assert_eq!(views.verify().await.unwrap(), []);
    }
}

async fn a_dropped_coalescer_loses_what_it_held_and_no_more(db: &Db) {
    let views = Counters::new(db, "views", day_of_hours()).unwrap();
    let writer = Arc::new(views.coalescer().every(7));
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        let writer = writer.clone();
        tasks.push(tokio::spawn(async move {
            for round in 0..rounds() {
                writer.record(hit(task + round)).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let held = writer.held() as i64;
    drop(writer);
    assert!(held < 7);
    assert_eq!(counted(&views).await, (TASKS * rounds()) as i64 - held);
}

/// The ids go with the document, and so must what still may come.
async fn what_is_sent_again_after_a_roll_up_is_not_counted_again(db: &Db) {
    let closing = |now: &str| {
        let (db, _) = clocked(db, now);
        let day = Shape::new(Layout::per(Unit::Day)).closed_after(Duration::from_secs(48 * 3600));
        let fine: Counters = Counters::new(&db, "closing_fine", day).unwrap();
        let year = Shape::new(Layout::per(Unit::Year).by(Unit::Day));
        let coarse: Counters = Counters::new(&db, "closing_coarse", year).unwrap();
        (fine, coarse)
    };
    let event = || Event::of(page("/")).at(at("2026-11-02T12:00:00Z")).id("a");
    let (fine, coarse) = closing("2026-11-04T11:00:00Z");
    assert_eq!(fine.record(event()).await.unwrap(), Recorded::Now);
    // It may still come again.
    let end = at("2026-11-04T00:00:00Z");
    assert_eq!(fine.roll_up(&coarse, end).await.unwrap().documents, 0);
    assert_eq!(fine.record(event()).await.unwrap(), Recorded::Before);
    let (fine, coarse) = closing("2026-11-05T00:00:00Z");
    assert_eq!(fine.roll_up(&coarse, end).await.unwrap().documents, 1);
    assert_eq!(fine.record(event()).await.unwrap(), Recorded::TooLate);
    assert_eq!(fine.roll_up(&coarse, end).await.unwrap().documents, 0);
    let year = at("2026-01-01T00:00:00Z")..at("2027-01-01T00:00:00Z");
    assert_eq!(coarse.total(&page("/"), year, Unit::Day).await.unwrap().count, 1);
}
