//! Buckets: never two for one place, and no measurement lost.

use std::collections::BTreeSet;
use std::time::Duration;

use bson::{Bson, DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Embedded, Error, ErrorKind};
use odm_patterns::bucket::{BucketProblemKind, Buckets};
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    entries_go_into_the_bucket_of_their_time,
    entries_fill_buckets_one_after_another,
    what_is_sent_again_is_recorded_once,
    what_is_sent_twice_at_the_same_time_is_recorded_once,
    who_is_late_puts_no_key_into_a_bucket_that_was_full,
    what_is_there_twice_is_taken_out,
    keys_are_found_as_they_are_stored,
    what_is_no_number_has_figures,
    a_bucket_outlives_its_last_entry,
    sixty_four_tasks_open_no_bucket_twice,
    a_fault_at_any_write_loses_and_doubles_nothing,
    pages_give_every_entry_once,
    buckets_go_by_age_and_entries_by_key,
    an_entry_is_replaced_in_its_place,
    replacing_is_part_of_a_transaction,
    figures_that_cannot_hold_an_entry_keep_the_old_one,
    recording_is_part_of_a_transaction,
    drifting_buckets_are_found_and_mended,
    what_is_no_entry_is_an_error,
    buckets_by_count_are_full_by_size,
    a_large_key_is_recorded_once,
    an_entry_that_no_bucket_takes_is_refused,
    keys_that_a_collation_holds_for_the_same_are_one,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Reading {
    id: i64,
    at: DateTime,
    value: i64,
}

fn at(seconds: i64) -> DateTime {
    DateTime::from_millis(seconds * 1000)
}

fn reading(id: i64) -> Reading {
    Reading {
        id,
        at: at(id),
        value: id * 2,
    }
}

fn by_span(db: &Db) -> Buckets<String, Reading, i64, i64> {
    Buckets::<String, Reading>::by_span(db, "bucket_spans", Duration::from_secs(10), |r| r.at)
        .value(|r| r.value)
        .unique(|r| r.id)
}

fn by_count(db: &Db) -> Buckets<String, Reading, i64, i64> {
    Buckets::<String, Reading>::by_count(db, "bucket_counts", 5, |r| r.at)
        .value(|r| r.value)
        .unique(|r| r.id)
}

fn roof() -> String {
    "roof".to_owned()
}

async fn entries_go_into_the_bucket_of_their_time(db: &Db) {
    let (db, log) = db.logged();
    let readings = by_span(&db);
    readings.prepare().await.unwrap();
    log.take();
    // Late ones too, and before 1970.
    for id in [12, 3, 19, 25, -1, 10] {
        let recorded = readings.record(&roof(), [reading(id)]).await.unwrap();
        assert_eq!((recorded.recorded, recorded.repeated), (1, 0));
    }
    assert_eq!(log.take().len(), 6);
    readings
        .record(&"cellar".to_owned(), [reading(12), reading(13)])
        .await
        .unwrap();
    let buckets = readings.buckets(&roof(), at(-100)..at(100)).await.unwrap();
    let shape: Vec<_> = buckets
        .iter()
        .map(|b| (b.key.number, b.count, b.from, b.to))
        .collect();
    let expected = [
        (-1, 1, at(-1), at(-1)),
        (0, 1, at(3), at(3)),
        (1, 3, at(10), at(19)),
        (2, 1, at(25), at(25)),
    ];
    assert_eq!(shape, expected);
    let figures = buckets[2].figures.as_ref().unwrap();
    assert_eq!(
        (figures.count, figures.sum, figures.min, figures.max),
        (3, 82, Some(20), Some(38))
    );
    log.take();
    let range = readings.range(&roof(), at(3)..at(19)).await.unwrap();
    assert_eq!(range.iter().map(|r| r.id).collect::<Vec<_>>(), [3, 10, 12]);
    assert_eq!(log.take().len(), 1);
    assert!(
        readings
            .range(&"attic".to_owned(), at(0)..at(99))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(readings.verify().await.unwrap().is_empty());
}

async fn entries_fill_buckets_one_after_another(db: &Db) {
    let (db, log) = db.logged();
    let readings = Buckets::<i32, Reading>::by_count(&db, "bucket_plain", 5, |r| r.at);
    readings.prepare().await.unwrap();
    log.take();
    for id in 0..6 {
        readings.record(&1, [reading(id)]).await.unwrap();
    }
    assert_eq!(log.take().len(), 6 * 2);
    readings.record(&1, (6..23).map(reading)).await.unwrap();
    readings.record(&2, [reading(1)]).await.unwrap();
    let buckets = readings.buckets(&1, at(0)..at(100)).await.unwrap();
    let counts: Vec<_> = buckets
        .iter()
        .map(|bucket| (bucket.key.number, bucket.count))
        .collect();
    assert_eq!(counts, [(0, 5), (1, 5), (2, 5), (3, 5), (4, 3)]);
    assert!(buckets[0].figures.is_none());
    // What comes late is in the newest bucket, and in its place in a range.
    readings
        .record(
            &1,
            [Reading {
                at: at(2),
                ..reading(50)
            }],
        )
        .await
        .unwrap();
    let range = readings.range(&1, at(1)..at(4)).await.unwrap();
    assert_eq!(range.iter().map(|r| r.id).collect::<Vec<_>>(), [1, 2, 50, 3]);
    assert!(readings.verify().await.unwrap().is_empty());
    assert_eq!(readings.forget(&1).await.unwrap(), 5);
}

async fn what_is_sent_again_is_recorded_once(db: &Db) {
    for readings in [by_span(db), by_count(db)] {
        let first = readings.record(&roof(), (0..12).map(reading)).await.unwrap();
        assert_eq!((first.recorded, first.repeated), (12, 0));
        let again = readings
            .record(&roof(), [reading(3), reading(12), reading(12)])
            .await
            .unwrap();
        assert_eq!((again.recorded, again.repeated), (1, 2));
        let again = readings.record(&roof(), (0..13).map(reading)).await.unwrap();
        assert_eq!((again.recorded, again.repeated), (0, 13));
        assert_eq!(readings.range(&roof(), at(0)..at(99)).await.unwrap().len(), 13);
        assert!(readings.verify().await.unwrap().is_empty());
    }
}

/// Two that sent the same both saw that it was not there, and both put it.
async fn what_is_sent_twice_at_the_same_time_is_recorded_once(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.drop_collection("bucket_spans").await.ok();
        db.drop_collection("bucket_counts").await.ok();
        for readings in [by_span(&db), by_count(&db)] {
            readings.prepare().await.unwrap();
            let (mut recorded, mut repeated) = (0, 0);
            for id in 0..64 {
                let send = || {
                    let readings = readings.clone();
                    // Each into a bucket of its own, too.
                    tokio::spawn(async move { readings.record(&roof(), (id..id + 3).map(reading)).await })
                };
                for task in [send(), send(), send()] {
                    let outcome = task.await.unwrap().unwrap();
                    recorded += outcome.recorded;
                    repeated += outcome.repeated;
                }
            }
            assert_eq!((recorded, repeated), (66, 64 * 9 - 66));
            let range = readings.range(&roof(), at(0)..at(99)).await.unwrap();
            assert!(range.iter().map(|r| r.id).eq(0..66), "{range:?}");
            assert_eq!(readings.verify().await.unwrap(), []);
        }
    }
    let (db, log) = db.logged();
    let readings = by_count(&db);
    let count = async |ids: std::ops::Range<i64>| {
        log.take();
        readings.record(&roof(), ids.map(reading)).await.unwrap();
        log.take().len()
    };
    assert_eq!(count(0..66).await, 1);
    assert_eq!(count(65..68).await, 2);
    // 67 are there, in 14 buckets.
    assert_eq!(count(68..70).await, 2);
    assert_eq!(count(70..76).await, 4);
}

async fn who_is_late_puts_no_key_into_a_bucket_that_was_full(db: &Db) {
    let readings = by_count(db);
    readings.record(&roof(), (0..5).map(reading)).await.unwrap();
    readings.record(&roof(), [reading(5)]).await.unwrap();
    assert!(readings.remove(&roof(), 2).await.unwrap());
    // What was taken out of the bucket before makes no room.
    readings.record(&roof(), [reading(6), reading(2)]).await.unwrap();
    let buckets = readings.buckets(&roof(), at(0)..at(99)).await.unwrap();
    let ids = |n: usize| {
        let entries = buckets[n].entries.iter();
        entries.map(|entry| entry.id).collect::<Vec<_>>()
    };
    assert_eq!((ids(0), ids(1)), (vec![0, 1, 3, 4], vec![5, 6, 2]));
    // Nor where it is the newest.
    readings.record(&roof(), [reading(7), reading(8)]).await.unwrap();
    assert!(readings.remove(&roof(), 8).await.unwrap());
    readings.record(&roof(), [reading(9)]).await.unwrap();
    let buckets = readings.buckets(&roof(), at(0)..at(99)).await.unwrap();
    assert_eq!(buckets.iter().map(|b| b.count).collect::<Vec<_>>(), [4, 4, 1]);
    // Of one that was not full it does.
    assert!(readings.remove(&roof(), 9).await.unwrap());
    readings.record(&roof(), (10..15).map(reading)).await.unwrap();
    assert_eq!(readings.buckets(&roof(), at(0)..at(99)).await.unwrap().len(), 3);
    assert_eq!(readings.verify().await.unwrap(), []);
}

async fn what_is_there_twice_is_taken_out(db: &Db) {
    for readings in [by_span(db), by_count(db)] {
        readings.record(&roof(), (0..12).map(reading)).await.unwrap();
        readings
            .record(&"attic".to_owned(), (0..12).map(reading))
            .await
            .unwrap();
        let by_count = readings.collection().name() == "bucket_counts";
        let push = async |number: i64, ids: &[i64]| {
            let key = doc! { "_id": { "series": "roof", "number": number } };
            let entries: Vec<Bson> = ids
                .iter()
                .map(|id| bson::serialize_to_bson(&reading(*id)).unwrap())
                .collect();
            let push = doc! { "$push": { "entries": { "$each": entries } } };
            assert_eq!(
                readings
                    .collection()
                    .update_one(key, push)
                    .await
                    .unwrap()
                    .modified,
                1
            );
        };
        if by_count {
            push(1, &[8, 8]).await;
            // In a bucket before, twice; and once more in this one.
            push(2, &[3, 3, 11]).await;
        } else {
            push(1, &[11, 11]).await;
        }
        let found = readings.verify().await.unwrap();
        let repeated = found
            .iter()
            .filter(|problem| matches!(problem.kind, BucketProblemKind::Repeated { .. }));
        assert_eq!(repeated.count(), if by_count { 5 } else { 2 });
        assert_eq!(readings.repair().await.unwrap(), []);
        assert_eq!(readings.verify().await.unwrap(), []);
        for series in [roof(), "attic".to_owned()] {
            let range = readings.range(&series, at(0)..at(99)).await.unwrap();
            assert_eq!(range, (0..12).map(reading).collect::<Vec<_>>());
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Encoded {
    #[serde(with = "odm::as_bson")]
    uid: uuid::Uuid,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    number: Option<f64>,
    at: DateTime,
}

async fn keys_are_found_as_they_are_stored(db: &Db) {
    let uid = uuid::Uuid::from_u128;
    let entry = |n: u128| Encoded {
        uid: uid(n),
        number: None,
        at: at(1),
    };
    let spans = Buckets::<i32, Encoded>::by_span(db, "encoded_spans", Duration::from_secs(10), |r| r.at);
    let counts = Buckets::<i32, Encoded>::by_count(db, "encoded_counts", 5, |r| r.at);
    for entries in [spans.clone().unique(|r| r.uid), counts.clone().unique(|r| r.uid)] {
        for _ in 0..2 {
            entries.record(&1, (0..7).map(entry)).await.unwrap();
        }
        assert!(entries.remove(&1, uid(3)).await.unwrap());
        assert!(!entries.remove(&1, &uid(3)).await.unwrap());
        let changed = Encoded {
            number: Some(1.5),
            ..entry(4)
        };
        assert!(entries.replace(&1, &changed).await.unwrap());
        let range = entries.range(&1, at(0)..at(9)).await.unwrap();
        assert_eq!(range.len(), 6);
        assert!(range.contains(&changed));
        assert_eq!(entries.verify().await.unwrap(), []);
        entries.forget(&1).await.unwrap();
    }
    // Numbers that are no numbers are alike, and zeros; what has no key is not looked for.
    for entries in [spans.unique(|r| r.number), counts.unique(|r| r.number)] {
        for _ in 0..2 {
            let keys = [Some(f64::NAN), Some(0.0), Some(-0.0), Some(1.5), None, None];
            let keyed = keys.map(|number| Encoded { number, ..entry(1) });
            entries.record(&1, keyed).await.unwrap();
        }
        let range = entries.range(&1, at(0)..at(9)).await.unwrap();
        let keyless = range.iter().filter(|entry| entry.number.is_none()).count();
        assert_eq!((range.len(), keyless), (7, 4));
        assert!(entries.remove(&1, f64::NAN).await.unwrap());
        let refused = entries.remove(&1, None).await.unwrap_err();
        assert_eq!(
            (refused.kind(), refused.path()),
            (ErrorKind::InvalidArgument, Some("number"))
        );
        assert_eq!(entries.verify().await.unwrap(), []);
    }
}

async fn what_is_no_number_has_figures(db: &Db) {
    #[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
    struct Measured {
        id: i64,
        at: DateTime,
        value: f64,
    }
    let buckets = Buckets::<i32, Measured>::by_count(db, "bucket_measured", 4, |r| r.at)
        .value(|r| r.value)
        .unique(|r| r.id);
    let values = [
        f64::NAN,
        1.0,
        f64::INFINITY,
        -2.0,
        f64::NEG_INFINITY,
        f64::NAN,
        3.0,
    ];
    for (id, value) in (0..).zip(values) {
        let entry = Measured {
            id,
            at: at(id),
            value,
        };
        buckets.record(&1, [entry]).await.unwrap();
        assert_eq!(buckets.verify().await.unwrap(), []);
    }
    let first = &buckets.buckets(&1, at(0)..at(2)).await.unwrap()[0];
    let figures = first.figures.as_ref().unwrap();
    assert!(figures.sum.is_nan() && figures.min.unwrap().is_nan());
    assert_eq!(figures.max, Some(f64::INFINITY));
    for id in 0..7 {
        assert!(buckets.remove(&1, id).await.unwrap());
        assert_eq!(buckets.verify().await.unwrap(), []);
    }
    let drifts = doc! { "$set": { "figures.sum": f64::INFINITY } };
    let any = doc! { "_id.series": 1 };
    buckets.collection().update_many(any, drifts).await.unwrap();
    assert_eq!(buckets.verify().await.unwrap().len(), 2);
    assert_eq!(buckets.repair().await.unwrap(), []);
}

async fn a_bucket_outlives_its_last_entry(db: &Db) {
    for readings in [by_span(db), by_count(db)] {
        readings.record(&roof(), [reading(1), reading(2)]).await.unwrap();
        for id in [1, 2] {
            assert!(readings.remove(&roof(), id).await.unwrap());
        }
        assert_eq!(readings.verify().await.unwrap(), []);
        assert!(readings.buckets(&roof(), at(0)..at(9)).await.unwrap().is_empty());
        assert!(readings.range(&roof(), at(0)..at(9)).await.unwrap().is_empty());
        assert_eq!(readings.collection().count(doc! { "count": 0 }).await.unwrap(), 1);
        // What comes into it has the times and figures to itself.
        readings.record(&roof(), [reading(4)]).await.unwrap();
        let buckets = readings.buckets(&roof(), at(0)..at(9)).await.unwrap();
        let figures = buckets[0].figures.as_ref().unwrap();
        assert_eq!((figures.min, figures.max), (Some(8), Some(8)));
        assert_eq!(readings.verify().await.unwrap(), []);
        assert!(readings.remove(&roof(), 4).await.unwrap());
        assert_eq!(readings.forget_before(at(-9)).await.unwrap(), 1);
    }
}

async fn sixty_four_tasks_open_no_bucket_twice(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.drop_collection("bucket_spans").await.ok();
        db.drop_collection("bucket_counts").await.ok();
        for readings in [by_span(&db), by_count(&db)] {
            let tasks: Vec<_> = (0..64)
                .map(|task| {
                    let readings = readings.clone();
                    tokio::spawn(async move {
                        for n in 0..4 {
                            readings.record(&roof(), [reading(task * 4 + n)]).await.unwrap();
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            let buckets = readings.buckets(&roof(), at(0)..at(1_000)).await.unwrap();
            let numbers: BTreeSet<i64> = buckets.iter().map(|bucket| bucket.key.number).collect();
            assert_eq!(numbers.len(), buckets.len());
            let full = buckets.iter().filter(|bucket| bucket.count == 5).count();
            match readings.collection().name() {
                "bucket_counts" => assert!(buckets.len() == 52 && full == 51, "{}", buckets.len()),
                _ => assert_eq!(buckets.len(), 26),
            }
            let ids: BTreeSet<i64> = buckets.iter().flat_map(|b| &b.entries).map(|r| r.id).collect();
            assert_eq!(ids, (0..256).collect());
            assert_eq!(buckets.iter().map(|bucket| bucket.count).sum::<i64>(), 256);
            assert!(readings.verify().await.unwrap().is_empty());
        }
    }
}

async fn a_fault_at_any_write_loses_and_doubles_nothing(db: &Db) {
    let lost = || Error::new(ErrorKind::Network, "connection reset (injected)");
    for kind in [by_span, by_count] {
        let mut faults_met = 0;
        for after in [false, true] {
            for n in 1.. {
                db.drop().await.unwrap();
                let (faulty, faults) = db.faulty();
                faults.add(match after {
                    true => Fault::nth_write(n).after(lost()),
                    false => Fault::nth_write(n).before(lost()),
                });
                let readings = kind(&faulty);
                for chunk in [0..4, 4..9, 9..13] {
                    // Whoever gets an error sends it again.
                    while readings
                        .record(&roof(), chunk.clone().map(reading))
                        .await
                        .is_err()
                    {}
                }
                let range = readings.range(&roof(), at(0)..at(99)).await.unwrap();
                assert_eq!(
                    range.iter().map(|r| r.id).collect::<Vec<_>>(),
                    (0..13).collect::<Vec<_>>()
                );
                assert!(readings.verify().await.unwrap().is_empty());
                if faults.failures() == 0 {
                    break;
                }
                faults_met += 1;
            }
        }
        assert!(faults_met >= 2 * 4, "{faults_met}");
    }
}

async fn pages_give_every_entry_once(db: &Db) {
    for readings in [by_span(db), by_count(db)] {
        readings.record(&roof(), (0..23).map(reading)).await.unwrap();
        let (mut seen, mut place) = (Vec::new(), None);
        loop {
            let page = readings.page(&roof(), 4, place).await.unwrap();
            assert!(page.entries.len() <= 4);
            seen.extend(page.entries.iter().map(|reading| reading.id));
            // What comes meanwhile is in front.
            let newer = 100 + seen.len() as i64;
            readings.record(&roof(), [reading(newer)]).await.unwrap();
            place = page.next;
            if place.is_none() {
                break;
            }
            // Tokens travel.
            let text = serde_json::to_string(&place).unwrap();
            place = serde_json::from_str(&text).unwrap();
        }
        assert_eq!(seen, (0..23).rev().collect::<Vec<_>>());
        let all = readings.page(&roof(), 1_000, None).await.unwrap();
        assert!(all.next.is_none() && all.entries.len() > 23);
        // A number that nobody has room for is all of them.
        for most in [usize::MAX, usize::MAX / 1_000] {
            assert_eq!(readings.page(&roof(), most, None).await.unwrap(), all);
        }
    }
    let none = by_span(db).page(&"attic".to_owned(), 5, None).await.unwrap();
    assert!(none.entries.is_empty() && none.next.is_none());
}

async fn buckets_go_by_age_and_entries_by_key(db: &Db) {
    let readings = by_span(db);
    readings.record(&roof(), (0..30).map(reading)).await.unwrap();
    assert!(readings.remove(&roof(), &25_i64).await.unwrap());
    assert!(!readings.remove(&roof(), &25_i64).await.unwrap());
    assert!(readings.verify().await.unwrap().is_empty());
    assert_eq!(
        readings.buckets(&roof(), at(20)..at(30)).await.unwrap()[0].count,
        9
    );
    assert_eq!(readings.forget_before(at(15)).await.unwrap(), 1);
    assert_eq!(readings.forget_before(at(20)).await.unwrap(), 1);
    assert_eq!(readings.range(&roof(), at(0)..at(99)).await.unwrap().len(), 9);
}

async fn an_entry_is_replaced_in_its_place(db: &Db) {
    for kind in [by_span, by_count] {
        let readings = kind(db);
        readings.prepare().await.unwrap();
        readings.record(&roof(), (0..23).map(reading)).await.unwrap();
        readings
            .record(&"attic".to_owned(), (0..3).map(reading))
            .await
            .unwrap();
        let edited = |id: i64, value: i64| Reading { value, ..reading(id) };
        let mut expected: Vec<Reading> = (0..23).map(reading).collect();
        // In the middle, first and last; the least and the greatest; the same again.
        for (id, value) in [(12, -7), (0, 500), (22, 1), (12, 44), (12, 44), (22, 44)] {
            assert!(readings.replace(&roof(), &edited(id, value)).await.unwrap());
            expected[id as usize].value = value;
            let range = readings.range(&roof(), at(0)..at(99)).await.unwrap();
            assert_eq!(range, expected);
            let page = readings.page(&roof(), 99, None).await.unwrap();
            assert!(page.entries.iter().rev().eq(&expected), "{page:?}");
            assert_eq!(readings.verify().await.unwrap(), []);
        }
        let buckets = readings.buckets(&roof(), at(12)..at(13)).await.unwrap();
        let figures = buckets[0].figures.as_ref().unwrap();
        let values = buckets[0].entries.iter().map(|entry| entry.value);
        assert_eq!(figures.sum, values.clone().sum::<i64>());
        assert_eq!((figures.min, figures.max), (values.clone().min(), values.max()));
        // Nothing is put where nothing was, and other series keep theirs.
        assert!(!readings.replace(&roof(), &reading(23)).await.unwrap());
        assert!(!readings.replace(&"cellar".to_owned(), &reading(1)).await.unwrap());
        let attic = readings.range(&"attic".to_owned(), at(0)..at(99)).await.unwrap();
        assert_eq!(attic, (0..3).map(reading).collect::<Vec<_>>());
        readings.remove(&roof(), &12_i64).await.unwrap();
        assert!(!readings.replace(&roof(), &reading(12)).await.unwrap());
        // One round trip.
        let (logged, log) = db.logged();
        assert!(kind(&logged).replace(&roof(), &edited(3, 3)).await.unwrap());
        assert_eq!(log.counts(), [("update", 1)]);
        assert_eq!(readings.verify().await.unwrap(), []);
    }
    // By count another time is no other bucket; by span it is, and there it is not.
    let late = Reading {
        at: at(999),
        ..reading(3)
    };
    assert!(!by_span(db).replace(&roof(), &late).await.unwrap());
    assert!(by_count(db).replace(&roof(), &late).await.unwrap());
    assert_eq!(
        by_count(db).range(&roof(), at(900)..at(1000)).await.unwrap(),
        [late]
    );
    assert_eq!(by_count(db).verify().await.unwrap(), []);
    let plain = Buckets::<String, Reading>::by_count(db, "bucket_plain", 5, |r| r.at);
    let refused = plain.replace(&roof(), &reading(1)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert_eq!(refused.namespace(), Some("bucket_plain"));
    let keyed = Buckets::<String, Keyed>::by_count(db, "bucket_keyed", 5, |r| r.at).unique(|r| r.key);
    let entry = Keyed { key: None, at: at(1) };
    keyed.record(&roof(), [&entry]).await.unwrap();
    let refused = keyed.replace(&roof(), &entry).await.unwrap_err();
    assert_eq!(
        (refused.kind(), refused.path()),
        (ErrorKind::InvalidArgument, Some("key"))
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Keyed {
    key: Option<i64>,
    at: DateTime,
}

async fn replacing_is_part_of_a_transaction(db: &Db) {
    for kind in [by_span, by_count] {
        kind(db).record(&roof(), (0..4).map(reading)).await.unwrap();
        let edited = Reading {
            value: -1,
            ..reading(2)
        };
        for commits in [false, true] {
            let outcome = db
                .transaction(async |tx| {
                    assert!(kind(&tx).replace(&roof(), &edited).await?);
                    match commits {
                        true => Ok(()),
                        false => Err(Error::new(ErrorKind::Validation, "no")),
                    }
                })
                .await;
            assert_eq!(outcome.is_ok(), commits);
            let stored = kind(db).range(&roof(), at(2)..at(3)).await.unwrap();
            assert_eq!(stored[0].value == -1, commits);
        }
        assert_eq!(kind(db).verify().await.unwrap(), []);
    }
}

async fn figures_that_cannot_hold_an_entry_keep_the_old_one(db: &Db) {
    for kind in [by_span, by_count] {
        let readings = kind(db);
        let large = |id: i64| Reading {
            value: 3_000_000_000,
            ..reading(id)
        };
        readings
            .record(&roof(), [large(0), reading(1), reading(2)])
            .await
            .unwrap();
        // The squares of two of them are more than 64 bits hold.
        readings.replace(&roof(), &large(1)).await.unwrap_err();
        let too_large = Reading {
            value: i64::MAX,
            ..reading(1)
        };
        let refused = readings.replace(&roof(), &too_large).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Encode);
        let stored = readings.range(&roof(), at(0)..at(9)).await.unwrap();
        assert_eq!(stored, [large(0), reading(1), reading(2)]);
        assert_eq!(readings.verify().await.unwrap(), []);
        assert!(readings.replace(&roof(), &reading(0)).await.unwrap());
        assert!(readings.replace(&roof(), &large(1)).await.unwrap());
        assert_eq!(readings.verify().await.unwrap(), []);
    }
}

async fn recording_is_part_of_a_transaction(db: &Db) {
    db.create_collection("bucket_spans").await.unwrap();
    db.create_collection("bucket_counts").await.unwrap();
    for kind in [by_span, by_count] {
        kind(db).record(&roof(), (0..4).map(reading)).await.unwrap();
        for commits in [false, true] {
            let outcome = db
                .transaction(async |tx| {
                    let recorded = kind(&tx).record(&roof(), (2..17).map(reading)).await?;
                    assert_eq!((recorded.recorded, recorded.repeated), (13, 2));
                    let again = kind(&tx).record(&roof(), (2..17).map(reading)).await?;
                    assert_eq!((again.recorded, again.repeated), (0, 15));
                    match commits {
                        true => Ok(()),
                        false => Err(Error::new(ErrorKind::Validation, "no")),
                    }
                })
                .await;
            assert_eq!(outcome.is_ok(), commits);
            let expected = if commits { 17 } else { 4 };
            assert_eq!(
                kind(db).range(&roof(), at(0)..at(99)).await.unwrap().len(),
                expected
            );
        }
        assert!(kind(db).verify().await.unwrap().is_empty());
    }
}

async fn drifting_buckets_are_found_and_mended(db: &Db) {
    let readings = by_span(db);
    readings.record(&roof(), (0..30).map(reading)).await.unwrap();
    let raw = readings.collection();
    let set = async |number: i64, change: bson::Document| {
        let key = doc! { "_id": { "series": "roof", "number": number } };
        assert_eq!(raw.update_one(key, change).await.unwrap().modified, 1);
    };
    set(0, doc! { "$set": { "count": 3_i64, "to": at(1) } }).await;
    set(1, doc! { "$set": { "figures.sum": 3_i64 } }).await;
    set(2, doc! { "$pull": { "entries": {} } }).await;
    let kinds = async || {
        let problems = readings.verify().await.unwrap();
        problems
            .into_iter()
            .map(|problem| (problem.number, problem.kind))
            .collect::<Vec<_>>()
    };
    let expected = [
        (
            0,
            BucketProblemKind::WrongCount {
                stored: 3,
                actual: 10,
            },
        ),
        (0, BucketProblemKind::WrongTimes),
        (1, BucketProblemKind::WrongFigures),
        (
            2,
            BucketProblemKind::WrongCount {
                stored: 10,
                actual: 0,
            },
        ),
        (2, BucketProblemKind::WrongTimes),
        (2, BucketProblemKind::WrongFigures),
    ];
    assert_eq!(kinds().await, expected);
    assert!(readings.repair().await.unwrap().is_empty());
    assert_eq!(kinds().await, []);
    let figures = readings.buckets(&roof(), at(0)..at(20)).await.unwrap();
    assert_eq!(
        figures[1].figures.as_ref().unwrap().sum,
        (10..20).map(|n| n * 2).sum::<i64>()
    );

    set(
        0,
        doc! { "$push": { "entries": bson::serialize_to_bson(&reading(15)).unwrap() } },
    )
    .await;
    set(
        1,
        doc! { "$push": { "entries": bson::serialize_to_bson(&reading(15)).unwrap() } },
    )
    .await;
    let left = readings.repair().await.unwrap();
    let left: Vec<_> = left
        .into_iter()
        .map(|problem| (problem.number, problem.kind))
        .collect();
    assert_eq!(left, [(0, BucketProblemKind::Misplaced { at: at(15) })]);
    let range = readings.range(&roof(), at(10)..at(20)).await.unwrap();
    assert_eq!(range.iter().filter(|r| r.id == 15).count(), 1);
    assert!(readings.remove(&roof(), 15).await.unwrap());
    assert!(readings.remove(&roof(), 15).await.unwrap());
    assert_eq!(readings.verify().await.unwrap(), []);
    set(1, doc! { "$push": { "entries": 5 } }).await;
    assert!(kinds().await.contains(&(1, BucketProblemKind::Malformed)));

    let counts = by_count(db);
    counts.record(&roof(), (0..5).map(reading)).await.unwrap();
    let smaller = Buckets::<String, Reading>::by_count(db, "bucket_counts", 3, |r| r.at);
    let kind = smaller.verify().await.unwrap().pop().unwrap().kind;
    assert_eq!(kind, BucketProblemKind::Overfull { entries: 5 });
}

async fn what_is_no_entry_is_an_error(db: &Db) {
    #[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
    struct Odd {
        at: DateTime,
        value: i64,
    }
    let buckets =
        Buckets::<i32, Odd>::by_span(db, "bucket_odd", Duration::from_secs(10), |o| o.at).value(|o| o.value);
    let odd = |value| Odd { at: at(1), value };
    let error = buckets
        .record(&1, [odd(1), odd(4_000_000_000)])
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encode);
    assert!(buckets.range(&1, at(0)..at(99)).await.unwrap().is_empty());
    buckets.record(&1, [odd(1)]).await.unwrap();
    let strange = doc! { "_id": { "series": 1, "number": 0_i64 } };
    buckets
        .collection()
        .update_one(strange, doc! { "$set": { "entries.0.value": "x" } })
        .await
        .unwrap();
    assert_eq!(
        buckets.range(&1, at(0)..at(99)).await.unwrap_err().kind(),
        ErrorKind::Decode
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Post {
    id: String,
    at: DateTime,
    text: String,
}

const MIB: usize = 1 << 20;

fn post(id: i64, bytes: usize) -> Post {
    Post {
        id: id.to_string(),
        at: at(id),
        text: "x".repeat(bytes),
    }
}

fn posts(db: &Db) -> Buckets<String, Post, i64, String> {
    Buckets::<String, Post>::by_count(db, "bucket_posts", 50, |p| p.at).unique(|p| p.id)
}

/// How many entries are in the buckets of a series.
async fn counts(posts: &Buckets<String, Post, i64, String>) -> Vec<i64> {
    let all = posts.buckets(&roof(), at(-1)..at(1_000)).await.unwrap();
    all.into_iter().map(|bucket| bucket.count).collect()
}

async fn buckets_by_count_are_full_by_size(db: &Db) {
    let posts = posts(db);
    posts.prepare().await.unwrap();
    for id in 0..3 {
        let recorded = posts.record(&roof(), [post(id, 7 * MIB)]).await.unwrap();
        assert_eq!(recorded.recorded, 1);
    }
    // Together more than a document holds.
    let many = (3..6).map(|id| post(id, 7 * MIB));
    assert_eq!(posts.record(&roof(), many).await.unwrap().recorded, 3);
    assert_eq!(counts(&posts).await, [2, 2, 2]);
    // In a transaction no error may come first.
    let inside = db.transaction(async |tx| self::posts(&tx).record(&roof(), [post(6, 2 * MIB)]).await);
    assert_eq!(inside.await.unwrap().recorded, 1);
    // What is taken out of a bucket that was left makes no room in it.
    assert!(posts.remove(&roof(), &"4".to_owned()).await.unwrap());
    let again = posts.record(&roof(), [post(5, 10), post(7, 10)]).await.unwrap();
    assert_eq!((again.recorded, again.repeated), (1, 1));
    assert_eq!(counts(&posts).await, [2, 2, 1, 2]);
    assert!(posts.verify().await.unwrap().is_empty());
}

async fn a_large_key_is_recorded_once(db: &Db) {
    let posts = posts(db);
    posts.prepare().await.unwrap();
    let tasks = (0..3).map(|task| {
        let posts = posts.clone();
        tokio::spawn(async move {
            for id in 0..3 {
                let id = (id + task) % 3;
                posts.record(&roof(), [post(id, 8 * MIB)]).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(counts(&posts).await, [1, 1, 1]);
    assert!(posts.verify().await.unwrap().is_empty());
}

async fn an_entry_that_no_bucket_takes_is_refused(db: &Db) {
    let by_count = posts(db);
    let by_span =
        Buckets::<String, Post>::by_span(db, "bucket_posts_spans", Duration::from_secs(1000), |p| p.at);
    by_count.record(&roof(), [post(1, 10)]).await.unwrap();
    let all = [post(2, 10), post(3, 17 * MIB)];
    let refused = by_count.record(&roof(), &all).await.unwrap_err();
    let series = bson::Bson::Document(doc! { "series": "roof" });
    let namespace = by_count.collection().namespace();
    assert_eq!(
        (refused.kind(), refused.namespace(), refused.id()),
        (
            ErrorKind::InvalidArgument,
            Some(namespace.as_str()),
            Some(&series)
        )
    );
    // With what is beside it.
    let refused = by_count
        .record(&roof(), [post(3, 16 * MIB - 100)])
        .await
        .unwrap_err();
    assert_eq!(
        (refused.kind(), refused.path(), refused.id().is_some()),
        (ErrorKind::InvalidArgument, Some("entries"), true)
    );
    // Nothing of it is there, and what is smaller goes on.
    by_count.record(&roof(), [post(2, 10)]).await.unwrap();
    assert_eq!(counts(&by_count).await.iter().sum::<i64>(), 2);
    assert!(by_count.verify().await.unwrap().is_empty());
    // A span that has too much in it.
    by_span.record(&roof(), [post(1, 9 * MIB)]).await.unwrap();
    let refused = by_span.record(&roof(), [post(2, 9 * MIB)]).await.unwrap_err();
    let bucket = bson::Bson::Document(doc! { "series": "roof", "number": 0_i64 });
    assert_eq!(
        (refused.kind(), refused.path(), refused.id()),
        (ErrorKind::InvalidArgument, Some("entries"), Some(&bucket)),
        "{refused}"
    );
}

async fn keys_that_a_collation_holds_for_the_same_are_one(db: &Db) {
    let caseless = doc! {"locale": "en", "strength": 2};
    for name in ["bucket_posts", "bucket_posts_spans"] {
        db.create_collection(name)
            .collation(caseless.clone())
            .await
            .unwrap();
    }
    let by_span =
        Buckets::<String, Post>::by_span(db, "bucket_posts_spans", Duration::from_secs(1000), |p| p.at)
            .unique(|p| p.id);
    for posts in [posts(db), by_span] {
        posts.prepare().await.unwrap();
        let named = |id: &str| Post {
            id: id.to_owned(),
            ..post(1, 10)
        };
        posts.record(&roof(), [named("a"), named("b")]).await.unwrap();
        let again = posts
            .record(&roof(), [named("A"), named("b"), named("c")])
            .await
            .unwrap();
        assert_eq!((again.recorded, again.repeated), (1, 2));
        let again = posts.record(&roof(), [named("C")]).await.unwrap();
        assert_eq!((again.recorded, again.repeated), (0, 1));
        // Behind full buckets too, beside one that is there byte by byte.
        let others = (0..60).map(|number| named(&format!("d{number}")));
        posts.record(&roof(), others).await.unwrap();
        let again = posts
            .record(&roof(), [named("b"), named("A"), named("1")])
            .await
            .unwrap();
        assert_eq!((again.recorded, again.repeated), (1, 2));
        assert_eq!(posts.verify().await.unwrap(), []);
    }
}
