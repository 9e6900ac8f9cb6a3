//! Groups: one after another, or a few at a time.

use odm::Db;
use odm::backend::wrap::Fault;
use odm_patterns::queue::{Failure, New, Queue, State};

use super::queue_model::{Work, number, options, queue, queue_with, seconds};

crate::on_every_backend! {
    jobs_of_a_group_run_one_after_another,
    a_job_that_is_not_finished_keeps_those_behind_it,
    a_redriven_job_takes_up_its_old_place,
    a_few_of_a_group_run_at_a_time,
    many_at_once_keep_to_the_limit,
    a_lower_limit_holds_as_soon_as_what_runs_is_done,
    what_was_forgotten_is_let_go,
    a_long_row_of_groups_is_looked_through_bit_by_bit,
}

fn of(group: &str, job: i32) -> New<Work> {
    New::job(Work::Number(job)).group(group)
}

async fn claim_all(queue: &Queue<Work>) -> Vec<i32> {
    let mut jobs = Vec::new();
    while let Some(claimed) = queue.claim().await.unwrap() {
        jobs.push(number(&claimed.job));
    }
    jobs.sort_unstable();
    jobs
}

async fn jobs_of_a_group_run_one_after_another(db: &Db) {
    let (queue, clock) = queue(db).await;
    let (db, log) = queue.db().logged();
    let logged: Queue<Work> = Queue::with_options(&db, "work", options());
    for job in 1..=4 {
        log.take();
        logged.enqueue(of("a", job)).await.unwrap();
        assert_eq!(log.round_trips(), 3, "{:?}", log.counts());
        // The clock goes back, the order does not.
        clock.step(-1_000);
    }
    queue.enqueue(of("b", 11)).await.unwrap();
    queue.enqueue(Work::Number(20)).await.unwrap();
    let statistics = queue.statistics().await.unwrap();
    assert_eq!((statistics.ready, statistics.waiting), (3, 3));
    for job in 1..=4 {
        let claimed = queue.claim_many(9).await.unwrap();
        let of_group: Vec<_> = claimed
            .iter()
            .filter(|claimed| claimed.group.as_deref() == Some("a"))
            .collect();
        assert_eq!(of_group.len(), 1);
        assert_eq!(number(&of_group[0].job), job);
        log.take();
        logged.ack(of_group[0]).await.unwrap();
        assert_eq!(log.counts(), [("update", 1), ("findAndModify", 1)]);
    }
    assert_eq!(queue.statistics().await.unwrap().waiting, 0);
}

async fn a_job_that_is_not_finished_keeps_those_behind_it(db: &Db) {
    let (queue, clock) = queue(db).await;
    queue.enqueue_many((1..=5).map(|job| of("a", job))).await.unwrap();
    queue.enqueue(of("late", 11).delay(seconds(50))).await.unwrap();
    queue.enqueue(of("late", 12).priority(100)).await.unwrap();

    let first = queue.claim().await.unwrap().unwrap();
    queue
        .fail(&first, Failure::retry("again").after(seconds(20)))
        .await
        .unwrap();
    assert!(claim_all(&queue).await.is_empty());
    clock.advance(seconds(20));
    let first = queue.claim().await.unwrap().unwrap();
    assert_eq!(number(&first.job), 1);
    // Nor does a worker's death let anybody pass.
    clock.advance(seconds(10));
    let first = queue.claim().await.unwrap().unwrap();
    assert_eq!((number(&first.job), first.lease.attempt), (1, 3));
    queue
        .fail(&first, Failure::retry("for the last time"))
        .await
        .unwrap();
    // Dead is finished, and so is canceled.
    let second = queue.claim().await.unwrap().unwrap();
    assert_eq!(number(&second.job), 2);
    let third = queue.list(State::Waiting, 1).await.unwrap()[0].id;
    queue.cancel(third).await.unwrap();
    queue.cancel(second.id()).await.unwrap();
    clock.advance(seconds(10));
    queue.tend().await.unwrap();
    assert_eq!(
        queue.get(second.id()).await.unwrap().unwrap().state,
        State::Canceled
    );
    let fourth = queue.claim().await.unwrap().unwrap();
    assert_eq!(number(&fourth.job), 4);
    queue.snooze(&fourth, seconds(1)).await.unwrap();
    assert!(claim_all(&queue).await.is_empty());
    clock.advance(seconds(1));
    let fourth = queue.claim().await.unwrap().unwrap();
    queue.ack(&fourth).await.unwrap();
    // The one that died takes up its place before those that nobody has claimed.
    assert!(queue.redrive(first.id()).await.unwrap());
    let again = queue.claim().await.unwrap().unwrap();
    assert_eq!(number(&again.job), 1);
    queue.ack(&again).await.unwrap();
    assert_eq!(number(&queue.claim().await.unwrap().unwrap().job), 5);
    // A delayed head delays its group.
    clock.advance(seconds(50));
    let eleventh = queue.claim_many(9).await.unwrap();
    let late: Vec<_> = eleventh.iter().map(|claimed| number(&claimed.job)).collect();
    assert!(late.contains(&11) && !late.contains(&12), "{late:?}");
}

async fn a_redriven_job_takes_up_its_old_place(db: &Db) {
    let (queue, clock) = queue(db).await;
    let mut ids = Vec::new();
    for job in 1..=4 {
        ids.push(queue.enqueue(of("a", job)).await.unwrap().id);
    }
    for job in 1..=2 {
        let claimed = queue.claim().await.unwrap().unwrap();
        assert_eq!(number(&claimed.job), job);
        queue.fail(&claimed, Failure::dead("no")).await.unwrap();
    }
    // Whichever comes back first.
    for dead in [ids[0], ids[1]] {
        assert!(queue.redrive(dead).await.unwrap());
    }
    // Behind one that somebody has claimed, it waits.
    let first = queue.claim().await.unwrap().unwrap();
    assert_eq!((number(&first.job), first.id()), (1, ids[0]));
    assert!(queue.claim().await.unwrap().is_none());
    queue.fail(&first, Failure::dead("no")).await.unwrap();
    let second = queue.claim().await.unwrap().unwrap();
    assert_eq!(number(&second.job), 2);
    assert!(queue.redrive(ids[0]).await.unwrap());
    assert!(queue.claim().await.unwrap().is_none());
    queue.ack(&second).await.unwrap();
    for job in [1, 3, 4] {
        let claimed = queue.claim().await.unwrap().unwrap();
        assert_eq!(number(&claimed.job), job);
        queue.ack(&claimed).await.unwrap();
    }
    // One that is to be done later comes back at its time.
    let now = queue.enqueue(of("b", 10)).await.unwrap().id;
    queue.enqueue(of("b", 11).delay(seconds(30))).await.unwrap();
    let claimed = queue.claim().await.unwrap().unwrap();
    queue.fail(&claimed, Failure::dead("no")).await.unwrap();
    assert!(queue.redrive(now).await.unwrap());
    let again = queue.claim().await.unwrap().unwrap();
    assert_eq!(number(&again.job), 10);
    queue.ack(&again).await.unwrap();
    assert!(queue.claim().await.unwrap().is_none());
    clock.advance(seconds(30));
    assert_eq!(number(&queue.claim().await.unwrap().unwrap().job), 11);
}

async fn a_few_of_a_group_run_at_a_time(db: &Db) {
    let (queue, _) = queue_with(db, options().group_limit(3)).await;
    queue.enqueue_many((1..=7).map(|job| of("a", job))).await.unwrap();
    let first = queue.claim_many(9).await.unwrap();
    let mut jobs: Vec<_> = first.iter().map(|claimed| number(&claimed.job)).collect();
    jobs.sort_unstable();
    assert_eq!(jobs, [1, 2, 3]);
    queue.ack(&first[1]).await.unwrap();
    assert_eq!(claim_all(&queue).await, [4]);
    assert_eq!(queue.ack_many([&first[0], &first[2]]).await.unwrap(), []);
    assert_eq!(claim_all(&queue).await, [5, 6]);
    assert_eq!(queue.statistics().await.unwrap().waiting, 1);
}

async fn a_lower_limit_holds_as_soon_as_what_runs_is_done(db: &Db) {
    let (many, _) = queue_with(db, options().group_limit(3)).await;
    many.enqueue_many((1..=9).map(|job| of("a", job))).await.unwrap();
    let mut running = many.claim_many(9).await.unwrap();
    assert_eq!(running.len(), 3);
    let one: Queue<Work> = Queue::with_options(many.db(), "work", options().group_limit(1));
    let mut done = Vec::new();
    // The first slot is given back last.
    running.sort_by_key(|claimed| std::cmp::Reverse(number(&claimed.job)));
    for claimed in running {
        one.ack(&claimed).await.unwrap();
        done.push(number(&claimed.job));
        one.tend().await.unwrap();
        let ready = one.statistics().await.unwrap().ready;
        assert_eq!(ready, u64::from(done.len() == 3));
    }
    while let Some(claimed) = one.claim().await.unwrap() {
        assert!(one.claim().await.unwrap().is_none());
        done.push(number(&claimed.job));
        one.ack(&claimed).await.unwrap();
    }
    assert_eq!(done, [3, 2, 1, 4, 5, 6, 7, 8, 9]);
}

async fn many_at_once_keep_to_the_limit(db: &Db) {
    let (queue, _) = queue(db).await;
    let tasks = (0..6).map(|worker| {
        let queue = queue.clone();
        tokio::spawn(async move {
            for job in 0..5 {
                queue
                    .enqueue(of(&format!("group {}", job % 2), worker * 5 + job))
                    .await
                    .unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let statistics = queue.statistics().await.unwrap();
    assert_eq!((statistics.ready, statistics.waiting), (2, 28));
    let mut done = 0;
    while done < 30 {
        let claimed = queue.claim_many(30).await.unwrap();
        assert!(claimed.len() <= 2 && !claimed.is_empty());
        done += claimed.len();
        let acks = claimed.into_iter().map(|claimed| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.ack(&claimed).await.unwrap() })
        });
        for ack in acks.collect::<Vec<_>>() {
            ack.await.unwrap();
        }
    }
}

async fn what_was_forgotten_is_let_go(db: &Db) {
    let (queue, _) = queue(db).await;
    for group in 0..7 {
        queue
            .enqueue_many((0..3).map(|job| of(&format!("g{group}"), group * 3 + job)))
            .await
            .unwrap();
    }
    let claimed = queue.claim_many(9).await.unwrap();
    assert_eq!(claimed.len(), 7);
    let (faulty, faults) = queue.db().faulty();
    // The process dies between the acknowledgement and letting the next one go.
    for claimed in &claimed[..4] {
        faults.clear();
        faults.add(Fault::nth("findAndModify", 1).crash());
        let doomed: Queue<Work> = Queue::with_options(&faulty, "work", options());
        doomed.ack(claimed).await.unwrap();
    }
    // Or while it enqueues.
    faults.clear();
    faults.add(Fault::nth("findAndModify", 2).crash());
    let doomed: Queue<Work> = Queue::with_options(&faulty, "work", options());
    doomed.enqueue(of("new", 99)).await.unwrap();
    assert_eq!(queue.statistics().await.unwrap().ready, 0);
    let tended = queue.tend().await.unwrap();
    assert_eq!(tended.admitted, 5);
    assert_eq!(queue.tend().await.unwrap().admitted, 0);
    assert_eq!(claim_all(&queue).await.len(), 5);
}

async fn a_long_row_of_groups_is_looked_through_bit_by_bit(db: &Db) {
    let (queue, _) = queue_with(db, options().batch(4)).await;
    for group in 0..9 {
        queue
            .enqueue_many((0..2).map(|job| of(&format!("g{group}"), job)))
            .await
            .unwrap();
    }
    // As if nobody had let any go.
    let raw = queue.db().raw_collection("work");
    let back = bson::doc! { "$set": { "state": "waiting" }, "$unset": { "slot": 1 } };
    raw.update_many(bson::doc! {}, back).await.unwrap();
    let mut admitted = 0;
    for _ in 0..12 {
        admitted += queue.tend().await.unwrap().admitted;
    }
    assert_eq!(admitted, 9);
}
