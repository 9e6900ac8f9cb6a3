//! Schedules: each tick once, whoever looks after it.

use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_patterns::queue::{Misfire, New, Queue, Schedule, State, Worker};
use tokio::sync::oneshot;

use super::queue_model::{START, Work, clear, number, options, queue, seconds, until};

crate::on_every_backend! {
    each_tick_is_enqueued_once,
    missed_ticks_are_dealt_with_as_the_schedule_says,
    the_last_tick_of_years_is_found_at_once,
    a_crash_neither_loses_nor_repeats_a_tick,
    a_worker_looks_after_schedules,
    wrong_schedules_are_refused,
}

fn every_minute(misfire: Misfire) -> Schedule<Work> {
    let make =
        |tick: bson::DateTime| New::job(Work::Number(((tick.timestamp_millis() - START) / 60_000) as i32));
    Schedule::new("minutely", "* * * * *", "UTC", make)
        .unwrap()
        .misfire(misfire)
}

async fn jobs(queue: &Queue<Work>) -> Vec<i32> {
    let mut jobs: Vec<i32> = queue
        .list(State::Ready, 0)
        .await
        .unwrap()
        .iter()
        .map(|entry| number(&entry.job))
        .collect();
    jobs.sort_unstable();
    jobs
}

async fn each_tick_is_enqueued_once(db: &Db) {
    let (queue, clock) = queue(db).await;
    let other: Queue<Work> = Queue::with_options(queue.db(), "work", options());
    let schedule = every_minute(Misfire::All);
    // The first look notes the time.
    assert_eq!(queue.tick(&schedule).await.unwrap(), 0);
    assert_eq!(
        schedule
            .next_after(bson::DateTime::from_millis(START))
            .unwrap()
            .timestamp_millis(),
        START + 60_000
    );
    for minute in 1..=5_u64 {
        clock.advance(seconds(59));
        let (logged, log) = queue.db().logged();
        assert_eq!(queue.on(&logged).tick(&schedule).await.unwrap(), 0);
        assert_eq!(log.round_trips(), 1);
        clock.advance(seconds(1));
        let looks = (0..4).map(|look| {
            let (queue, schedule) = ([&queue, &other][look % 2].clone(), schedule.clone());
            tokio::spawn(async move { queue.tick(&schedule).await.unwrap() })
        });
        let mut added = 0;
        for look in looks.collect::<Vec<_>>() {
            added += look.await.unwrap();
        }
        assert_eq!(added, 1, "minute {minute}");
    }
    assert_eq!(jobs(&queue).await, [1, 2, 3, 4, 5]);
    // A clock that goes back enqueues nothing again.
    clock.step(-180_000);
    assert_eq!(queue.tick(&schedule).await.unwrap(), 0);
    clock.step(180_000);
    assert_eq!(queue.tick(&schedule).await.unwrap(), 0);
}

async fn missed_ticks_are_dealt_with_as_the_schedule_says(db: &Db) {
    for (misfire, expected) in [
        (Misfire::Once, vec![10]),
        (Misfire::All, (1..=10).collect::<Vec<_>>()),
        (Misfire::Skip(seconds(150)), vec![8, 9, 10]),
        (Misfire::Skip(seconds(10)), vec![]),
    ] {
        let (queue, clock) = queue(db).await;
        let schedule = every_minute(misfire);
        queue.tick(&schedule).await.unwrap();
        clock.advance(seconds(630));
        assert_eq!(queue.tick(&schedule).await.unwrap(), expected.len() as u64);
        assert_eq!(jobs(&queue).await, expected);
        assert_eq!(queue.tick(&schedule).await.unwrap(), 0);
        clock.advance(seconds(30));
        assert_eq!(queue.tick(&schedule).await.unwrap(), 1);
        clear(&queue).await;
    }
}

async fn the_last_tick_of_years_is_found_at_once(db: &Db) {
    let (queue, clock) = queue(db).await;
    let schedule = every_minute(Misfire::Once);
    queue.tick(&schedule).await.unwrap();
    clock.advance(seconds(60 * 60 * 24 * 365 * 20));
    let begun = std::time::Instant::now();
    assert_eq!(queue.tick(&schedule).await.unwrap(), 1);
    assert!(begun.elapsed() < seconds(5), "{:?}", begun.elapsed());
    assert_eq!(jobs(&queue).await, [60 * 24 * 365 * 20]);
    assert_eq!(queue.tick(&schedule).await.unwrap(), 0);
}

async fn a_crash_neither_loses_nor_repeats_a_tick(db: &Db) {
    for nth in 1.. {
        let (queue, clock) = queue(db).await;
        let schedule = every_minute(Misfire::All);
        queue.tick(&schedule).await.unwrap();
        clock.advance(seconds(120));
        let (faulty, faults) = queue.db().faulty();
        let doomed: Queue<Work> = Queue::with_options(&faulty, "work", options());
        let lost = Error::new(ErrorKind::Network, "connection reset");
        faults.add(if nth % 2 == 0 {
            Fault::nth_write(nth / 2).crash()
        } else {
            Fault::nth_write(nth / 2 + 1).after(lost)
        });
        doomed.tick(&schedule).await.ok();
        let hit = faults.failures() > 0;
        queue.tick(&schedule).await.unwrap();
        assert_eq!(jobs(&queue).await, [1, 2], "at {nth}");
        clear(&queue).await;
        if !hit {
            assert!(nth > 6);
            break;
        }
    }
}

async fn a_worker_looks_after_schedules(db: &Db) {
    let (queue, clock) = queue(db).await;
    let (end, asked) = oneshot::channel();
    let worker = Worker::new(&queue)
        .wait_with(clock.clone())
        .watch(false)
        .schedule(every_minute(Misfire::Once));
    let run = worker.run(async |_| Ok(()), async {
        asked.await.ok();
    });
    let drive = async {
        until(async || {
            let statistics = queue.statistics().await.unwrap();
            // A handler has all the time it needs.
            if statistics.running == 0 {
                clock.step(500);
            }
            statistics.done >= 3
        })
        .await;
        end.send(()).unwrap();
    };
    let (summary, ()) = futures_util::future::join(run, drive).await;
    assert!(summary.done >= 3 && summary.errors == 0);
}

async fn wrong_schedules_are_refused(db: &Db) {
    let make = |_| New::job(Work::Number(1));
    let error = Schedule::new("a", "* * * *", "UTC", make).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = Schedule::new("a", "* * * * *", "Europe/Atlantis", make).unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("Europe/Atlantis"))
    );
    let (queue, _) = queue(db).await;
    let control = queue.db().raw_collection("work.control");
    control
        .insert(bson::doc! { "_id": "schedule/minutely", "last": 5 })
        .await
        .unwrap();
    let error = queue.tick(&every_minute(Misfire::Once)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
}
