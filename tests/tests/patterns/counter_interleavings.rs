//! All orders in which the operations of two who count, flush, pre-allocate and retire can follow each other.

use std::sync::{Arc, Mutex};

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_patterns::counter::{Counters, Event, Layout, Measure, Recorded, Shape};
use odm_patterns::period::Unit;
use odm_tests::interleavings::{every_interleaving_of, pairs};
use odm_tests::plain::Plain;

use super::counter::{at, page};

const FIRST: &str = "2026-11-01T10:00:00Z";
const SECOND: &str = "2026-11-02T11:00:00Z";
const THIRD: &str = "2026-11-03T12:00:00Z";

fn bytes() -> Measure<i64> {
    Measure::new("bytes").extremes().histogram([10, 100])
}

fn days() -> Shape {
    Shape::new(Layout::per(Unit::Day).by(Unit::Hour)).measure(bytes())
}

/// How many events of how many bytes there are, by days, hours and, where there are such documents, by months.
async fn counted(views: &Counters, has_months: bool) -> (i64, i64) {
    let range = at("2026-11-01T00:00:00Z")..at("2026-11-03T00:00:00Z");
    let total = async |unit| {
        let cell = views.total(&page("/"), range.clone(), unit).await.unwrap();
        (cell.count, cell.values["bytes"].sum)
    };
    let days = total(Unit::Day).await;
    assert_eq!(total(Unit::Hour).await, days);
    if has_months {
        assert_eq!(total(Unit::Month).await, days);
    }
    days
}

#[tokio::test]
async fn what_is_recorded_is_counted_once_in_every_order() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        Record,
        /// Both workers send the same one, if both do.
        RecordKnown,
        TakeBack,
        Preallocate,
        PreallocateAll,
        /// Adds two events up, of two hours.
        Flush,
    }
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Before {
        Nothing,
        Preallocated,
        /// The known event was sent, and its sender was told nothing.
        InDoubt,
    }
    let works = [
        Work::Record,
        Work::RecordKnown,
        Work::TakeBack,
        Work::Preallocate,
        Work::PreallocateAll,
        Work::Flush,
    ];
    let shapes = [
        (days(), false, true),
        (days().shards(2), false, false),
        (days().also(Layout::per(Unit::Month).by(Unit::Day)), true, false),
    ];
    let event = || Event::of(page("/")).at(at(FIRST)).value("bytes", 50);
    let mut orders = 0;
    for (shape, has_months, is_plain) in &shapes {
        let views = |db: &Db| Counters::new(db, "views", shape.clone()).unwrap();
        for before in [Before::Nothing, Before::Preallocated, Before::InDoubt] {
            for pair in pairs(works) {
                let told = Arc::new([const { Mutex::new(None) }; 2]);
                orders += every_interleaving_of(
                    if *has_months { 2 } else { 3 },
                    async || {
                        let db = Db::open("memory:").await.unwrap();
                        let db = if *is_plain { Plain::db(&db) } else { db };
                        db.create_collection("views").await.unwrap();
                        match before {
                            Before::Nothing => {}
                            Before::Preallocated => {
                                views(&db).preallocate(&page("/"), at(FIRST)).await.unwrap();
                            }
                            Before::InDoubt => {
                                let (faulty, faults) = db.faulty();
                                let lost = Error::new(ErrorKind::Network, "connection reset (injected)");
                                faults.add(Fault::nth_write(1).after(lost.clone()));
                                faults.add(Fault::nth_write(2).after(lost));
                                views(&faulty).record(event().id("known")).await.ok();
                            }
                        }
                        db
                    },
                    |db, n| {
                        let (views, told) = (views(db), told.clone());
                        Box::pin(async move {
                            let page = page("/");
                            let recorded = match pair[n] {
                                Work::Record => views.record(event()).await.unwrap(),
                                Work::RecordKnown => views.record(event().id("known")).await.unwrap(),
                                Work::TakeBack => views.record(event().taken_back()).await.unwrap(),
                                Work::Preallocate => {
                                    views.preallocate(&page, at(FIRST)).await.unwrap();
                                    Recorded::Before
                                }
                                Work::PreallocateAll => {
                                    views.preallocate_all([&page], at(FIRST)).await.unwrap();
                                    Recorded::Before
                                }
                                Work::Flush => {
                                    let writer = views.coalescer();
                                    writer.record(event()).await.unwrap();
                                    writer.record(event().at(at(SECOND))).await.unwrap();
                                    writer.close().await.unwrap();
                                    assert_eq!(writer.held(), 0);
                                    Recorded::Now
                                }
                            };
                            *told[n].lock().unwrap() = Some(recorded);
                        })
                    },
                    async |db, order| {
                        let told = told.each_ref().map(|told| told.lock().unwrap().take().unwrap());
                        let context = format!("{pair:?} {before:?} as {order:?}: {told:?}");
                        let views = views(db);
                        // Sent by two, and never counted before: one of them counted it.
                        let known = (0..2).filter(|n| pair[*n] == Work::RecordKnown);
                        let known: Vec<Recorded> = known.map(|n| told[n]).collect();
                        let (now, mut is_known) = (
                            known.iter().filter(|told| **told == Recorded::Now).count(),
                            !known.is_empty(),
                        );
                        if before == Before::InDoubt {
                            let sent = views.record(event().id("known")).await.unwrap();
                            is_known = true;
                            assert!(now == 0 || sent == Recorded::Before, "{context}");
                        } else if !known.is_empty() {
                            assert_eq!(now, 1, "{context}");
                        }
                        let expected = pair.map(|work| match work {
                            Work::Record => 1,
                            Work::TakeBack => -1,
                            Work::Flush => 2,
                            Work::RecordKnown | Work::Preallocate | Work::PreallocateAll => 0,
                        });
                        let expected = expected.iter().sum::<i64>() + i64::from(is_known);
                        assert_eq!(
                            counted(&views, *has_months).await,
                            (expected, expected * 50),
                            "{context}"
                        );
                        assert_eq!(views.verify().await.unwrap(), [], "{context}");
                    },
                )
                .await;
            }
        }
    }
    println!("{orders} orders of two who count");
}

/// What is flushed again has the id of the first try.
#[tokio::test]
async fn two_who_add_up_lose_nothing_when_replies_are_lost() {
    let mut orders = 0;
    let event = |time: &str| Event::of(page("/")).at(at(time)).value("bytes", 50);
    for nth in 1..=3 {
        let shape = || days().also(Layout::per(Unit::Month).by(Unit::Day));
        for (shape, has_months) in [(days(), false), (shape(), true)] {
            let views = |db: &Db| Counters::new(db, "views", shape.clone()).unwrap();
            orders += every_interleaving_of(
                if has_months { 1 } else { 2 },
                async || {
                    let db = Db::open("memory:").await.unwrap();
                    db.create_collection("views").await.unwrap();
                    db
                },
                |db, _| {
                    let (faulty, faults) = db.faulty();
                    let lost = Error::new(ErrorKind::Network, "connection reset (injected)");
                    faults.add(Fault::nth_write(nth).after(lost));
                    let views = views(&faulty);
                    Box::pin(async move {
                        let writer = views.coalescer();
                        writer.record(event(FIRST)).await.unwrap();
                        writer.record(event(SECOND)).await.unwrap();
                        while writer.flush().await.is_err() {}
                        writer.record(event(FIRST)).await.unwrap();
                        while writer.close().await.is_err() {}
                    })
                },
                async |db, order| {
                    let context = format!("{nth} as {order:?}");
                    assert_eq!(counted(&views(db), has_months).await, (6, 300), "{context}");
                    assert_eq!(views(db).verify().await.unwrap(), [], "{context}");
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two who flush");
}

#[tokio::test]
async fn letting_go_takes_nothing_that_is_not_over() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        Retire,
        RecordOld,
        Record,
        Preallocate,
    }
    let works = [Work::Retire, Work::RecordOld, Work::Record, Work::Preallocate];
    let event = |time: &str| Event::of(page("/")).at(at(time));
    let (old, new) = ("2026-10-31T10:00:00Z", THIRD);
    let shapes = [
        Shape::new(Layout::per(Unit::Day).by(Unit::Hour)),
        Shape::new(Layout::per(Unit::Day).by(Unit::Hour)).collection_per(Unit::Month),
        Shape::new(Layout::per(Unit::Day)).also(Layout::per(Unit::Hour)),
    ];
    let mut orders = 0;
    for (number, shape) in shapes.iter().enumerate() {
        let views = |db: &Db| Counters::new(db, "views", shape.clone()).unwrap();
        for (is_plain, second) in [false, true]
            .into_iter()
            .flat_map(|is_plain| works.map(|work| (is_plain, work)))
        {
            // Several layouts need transactions.
            if is_plain && number == 2 {
                continue;
            }
            orders += every_interleaving_of(
                3,
                async || {
                    let db = Db::open("memory:").await.unwrap();
                    let db = if is_plain { Plain::db(&db) } else { db };
                    db.create_collection("views").await.unwrap();
                    for time in [old, old, new] {
                        views(&db).record(event(time)).await.unwrap();
                    }
                    db
                },
                |db, n| {
                    let views = views(db);
                    Box::pin(async move {
                        match [Work::Retire, second][n] {
                            Work::Retire => drop(views.retire(at(THIRD)).await.unwrap()),
                            Work::RecordOld => drop(views.record(event(old)).await.unwrap()),
                            Work::Record => drop(views.record(event(new)).await.unwrap()),
                            Work::Preallocate => views.preallocate(&page("/"), at(new)).await.unwrap(),
                        }
                    })
                },
                async |db, order| {
                    let context = format!("{second:?} of {shape:?} as {order:?}");
                    let total = async |from: DateTime, to: DateTime| {
                        let day = views(db).total(&page("/"), from..to, Unit::Day).await.unwrap();
                        let hours = views(db).total(&page("/"), from..to, Unit::Hour).await.unwrap();
                        // Documents of several layouts go one after the other.
                        assert!(
                            day == hours || (number == 2 && from == at("2026-10-31T00:00:00Z")),
                            "{context}"
                        );
                        day.count.max(hours.count)
                    };
                    let kept = total(at("2026-11-03T00:00:00Z"), at("2026-11-04T00:00:00Z")).await;
                    assert_eq!(kept, 1 + i64::from(second == Work::Record), "{context}");
                    // What came late is there whole, or went with the others.
                    let late = total(at("2026-10-31T00:00:00Z"), at("2026-11-01T00:00:00Z")).await;
                    assert!(late <= i64::from(second == Work::RecordOld), "{context}");
                    assert_eq!(views(db).verify().await.unwrap(), [], "{context}");
                    views(db).retire(at(THIRD)).await.unwrap();
                    assert_eq!(
                        total(at("2026-10-31T00:00:00Z"), at("2026-11-01T00:00:00Z")).await,
                        0,
                        "{context}"
                    );
                },
            )
            .await;
        }
    }
    println!("{orders} orders of letting go and another");
}

#[tokio::test]
async fn what_is_counted_beside_a_recount_stays_counted() {
    let views = |db: &Db| Counters::new(db, "views", Shape::<i64>::new(Layout::per(Unit::Day))).unwrap();
    let event = |id: &str| Event::of(page("/")).at(at(FIRST)).id(id);
    let range = at("2026-11-01T00:00:00Z")..at("2026-11-02T00:00:00Z");
    for is_empty in [false, true] {
        let told = Arc::new(Mutex::new(None));
        let orders = every_interleaving_of(
            3,
            async || {
                let db = Db::open("memory:").await.unwrap();
                db.create_collection("views").await.unwrap();
                db.create_collection("visits").await.unwrap();
                if !is_empty {
                    db.raw_collection("visits")
                        .insert(doc! { "_id": "a" })
                        .await
                        .unwrap();
                    views(&db).record(event("a")).await.unwrap();
                }
                db
            },
            |db, n| {
                let told = told.clone();
                Box::pin(async move {
                    if n == 1 {
                        db.raw_collection("visits")
                            .insert(doc! { "_id": "b" })
                            .await
                            .unwrap();
                        *told.lock().unwrap() = Some(views(db).record(event("b")).await.unwrap());
                        return;
                    }
                    let read = async |tx: odm::Tx| {
                        let visits = tx.raw_collection("visits").find(doc! {}).await?;
                        let ids = visits.iter().filter_map(|visit| visit.get_str("_id").ok());
                        Ok(ids.map(event).collect())
                    };
                    let day = at(FIRST)..at(FIRST);
                    views(db).recount(&page("/"), day, read).await.unwrap();
                })
            },
            async |db, order| {
                let told = told.lock().unwrap().take().unwrap();
                let expected = if is_empty { 1 } else { 2 };
                let count = async || {
                    views(db)
                        .total(&page("/"), range.clone(), Unit::Day)
                        .await
                        .unwrap()
                        .count
                };
                assert_eq!(count().await, expected, "{order:?}: {told:?}");
                assert_eq!(
                    views(db).record(event("b")).await.unwrap(),
                    Recorded::Before,
                    "{order:?}"
                );
                assert_eq!(count().await, expected, "{order:?}");
            },
        )
        .await;
        assert!(orders > 5, "{orders}");
    }
}

/// Without shards: with which one a program begins is by chance.
#[tokio::test]
async fn a_roll_up_loses_nothing_and_counts_nothing_twice_in_every_order() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        RollUp,
        /// Of a day that is over.
        RecordLate,
        /// Of the day that goes on.
        Record,
        /// Straight into the coarse ones.
        RecordCoarse,
        Preallocate,
        /// Of both, at one point of time.
        Read,
    }
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Before {
        Nothing,
        Days,
        /// A run that stopped between two documents.
        Stopped,
    }
    let works = [
        Work::RollUp,
        Work::RecordLate,
        Work::Record,
        Work::RecordCoarse,
        Work::Preallocate,
        Work::Read,
    ];
    let fine = |db: &Db| Counters::new(db, "fine", days()).unwrap();
    let coarse = |db: &Db| {
        let shape = Shape::new(Layout::per(Unit::Month).by(Unit::Day)).measure(bytes());
        Counters::new(db, "coarse", shape).unwrap()
    };
    let event = |time: &str| Event::of(page("/")).at(at(time)).value("bytes", 50);
    let range = at("2026-11-01T00:00:00Z")..at("2026-11-04T00:00:00Z");
    let report = async |db: &Db| {
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
    let mut orders = 0;
    for before in [Before::Nothing, Before::Days, Before::Stopped] {
        for second in works {
            let seen = Arc::new(Mutex::new(None));
            orders += every_interleaving_of(
                2,
                async || {
                    let db = Db::open("memory:").await.unwrap();
                    db.create_collection("fine").await.unwrap();
                    db.create_collection("coarse").await.unwrap();
                    if before != Before::Nothing {
                        for time in [FIRST, FIRST, SECOND, THIRD] {
                            fine(&db).record(event(time)).await.unwrap();
                        }
                    }
                    if before == Before::Stopped {
                        let (faulty, faults) = db.faulty();
                        faults.add(Fault::nth("commitTransaction", 2).crash());
                        let rolled = fine(&faulty).roll_up(&coarse(&faulty), at(THIRD)).await;
                        rolled.unwrap_err();
                    }
                    db
                },
                |db, n| {
                    let seen = seen.clone();
                    let range = range.clone();
                    Box::pin(async move {
                        match [Work::RollUp, second][n] {
                            Work::RollUp => {
                                fine(db).roll_up(&coarse(db), at(THIRD)).await.unwrap();
                            }
                            Work::RecordLate => drop(fine(db).record(event(FIRST)).await.unwrap()),
                            Work::Record => drop(fine(db).record(event(THIRD)).await.unwrap()),
                            Work::RecordCoarse => drop(coarse(db).record(event(FIRST)).await.unwrap()),
                            Work::Preallocate => {
                                fine(db).preallocate(&page("/"), at(FIRST)).await.unwrap();
                                coarse(db).preallocate(&page("/"), at(FIRST)).await.unwrap();
                            }
                            Work::Read => {
                                let counts = db.transaction(async |tx| {
                                    let (key, day) = (page("/"), Unit::Day);
                                    let mut read = fine(&tx).report(&key, range.clone(), day).await?;
                                    read.add(&coarse(&tx).report(&key, range.clone(), day).await?)?;
                                    Ok(read.counts())
                                });
                                *seen.lock().unwrap() = Some(counts.await.unwrap());
                            }
                        }
                    })
                },
                async |db, order| {
                    let context = format!("{second:?} {before:?} as {order:?}");
                    let mut expected = match before {
                        Before::Nothing => [0, 0, 0],
                        _ => [2, 1, 1],
                    };
                    if let Some(seen) = seen.lock().unwrap().take() {
                        assert_eq!(seen, expected, "{context}");
                    }
                    match second {
                        Work::RecordLate | Work::RecordCoarse => expected[0] += 1,
                        Work::Record => expected[2] += 1,
                        Work::RollUp | Work::Preallocate | Work::Read => {}
                    }
                    assert_eq!(report(db).await.counts(), expected, "{context}");
                    let sum = report(db).await.total().unwrap().values["bytes"].sum;
                    assert_eq!(sum, expected.iter().sum::<i64>() * 50, "{context}");
                    // The next run moves what came late.
                    fine(db).roll_up(&coarse(db), at(THIRD)).await.unwrap();
                    assert_eq!(report(db).await.counts(), expected, "{context}");
                    let left = db.raw_collection("fine").find(doc! {}).await.unwrap();
                    for left in &left {
                        let id = left.get_str("_id").unwrap();
                        assert!(id.starts_with("day:2026-11-03"), "{id}: {context}");
                    }
                    for views in [fine(db), coarse(db)] {
                        assert_eq!(views.verify().await.unwrap(), [], "{context}");
                    }
                },
            )
            .await;
        }
    }
    println!("{orders} orders of a roll-up and another");
}
