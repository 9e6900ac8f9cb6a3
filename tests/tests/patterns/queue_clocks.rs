//! Clocks that disagree: one that is wrong harms whoever goes by it, and not the others.

use bson::doc;
use odm::Db;
use odm_patterns::queue::{New, Queue, Schedule, State};

use super::queue_model::{Clock, START, Work, clocked, options, queue};

crate::on_every_backend! {
    a_handle_whose_clock_is_behind_ends_no_leases,
    what_a_dead_worker_with_a_clock_ahead_held_comes_back,
    a_clock_that_was_ahead_does_not_stop_a_schedule,
}

/// The same queue by a clock of its own.
fn elsewhere(db: &Db, millis: i64) -> (Queue<Work>, Clock) {
    let (db, clock) = clocked(db);
    clock.step(millis);
    (Queue::with_options(&db, "work", options()), clock)
}

async fn a_handle_whose_clock_is_behind_ends_no_leases(db: &Db) {
    let (queue, clock) = queue(db).await;
    let (behind, its_clock) = elsewhere(db, -300_000);
    queue.enqueue_many((0..3).map(Work::Number)).await.unwrap();
    let held = queue.claim_many(3).await.unwrap();
    for second in 1..60 {
        clock.step(1_000);
        its_clock.step(1_000);
        if second % 3 == 0 {
            for claimed in &held {
                queue.heartbeat(claimed).await.unwrap();
            }
        }
        assert_eq!(behind.tend().await.unwrap().shortened, 0, "after {second}");
        assert_eq!(queue.tend().await.unwrap().found, 0, "after {second}");
    }
    assert_eq!(queue.ack_many(&held).await.unwrap(), []);
}

async fn what_a_dead_worker_with_a_clock_ahead_held_comes_back(db: &Db) {
    let (queue, clock) = queue(db).await;
    let (ahead, its_clock) = elsewhere(db, 3_600_000);
    queue.enqueue_many((0..2).map(Work::Number)).await.unwrap();
    let held = ahead.claim_many(2).await.unwrap();
    let (living, dead) = (&held[0], &held[1]);
    let mut tended = Vec::new();
    for _ in 1..=12 {
        let did = queue.tend().await.unwrap();
        tended.push((did.shortened, did.reclaimed));
        clock.step(1_000);
        its_clock.step(1_000);
        ahead.heartbeat(living).await.unwrap();
    }
    // Nobody gave a sign of life for it during a lease.
    let mut expected = vec![(0, 0); 12];
    expected[10] = (1, 1);
    assert_eq!(tended, expected);
    let again = queue.claim().await.unwrap().unwrap();
    assert_eq!((again.id(), again.lease.token), (dead.id(), 2));
    ahead.ack(living).await.unwrap();
}

async fn a_clock_that_was_ahead_does_not_stop_a_schedule(db: &Db) {
    let (queue, clock) = queue(db).await;
    let hourly = Schedule::new("hourly", "0 * * * *", "UTC", |_| New::job(Work::Number(1))).unwrap();
    queue.tick(&hourly).await.unwrap();
    clock.step(3_600_000);
    assert_eq!(queue.tick(&hourly).await.unwrap(), 1);
    let (ahead, _) = elsewhere(db, 365 * 86_400_000);
    assert_eq!(ahead.tick(&hourly).await.unwrap(), 1);
    let last = async || {
        let control = db.raw_collection("work.control");
        let stored = control.find_one(doc! { "_id": "schedule/hourly" }).await.unwrap();
        let last = *stored.unwrap().get_datetime("last").unwrap();
        last.timestamp_millis() - START
    };
    assert!(last().await > 364 * 86_400_000);
    // It goes on from now, and what it enqueued before it does not enqueue again.
    assert_eq!(queue.tick(&hourly).await.unwrap(), 0);
    assert_eq!(last().await, 3_600_000);
    assert_eq!(queue.tick(&hourly).await.unwrap(), 0);
    for _ in 0..2 {
        clock.step(3_600_000);
        assert_eq!(queue.tick(&hourly).await.unwrap(), 1);
        assert_eq!(queue.tick(&hourly).await.unwrap(), 0);
    }
    assert_eq!(queue.list(State::Ready, 0).await.unwrap().len(), 4);
    // A clock that is a little behind moves nothing.
    clock.step(-7_200_000);
    let before = last().await;
    assert_eq!(queue.tick(&hourly).await.unwrap(), 0);
    assert_eq!(last().await, before);
}
