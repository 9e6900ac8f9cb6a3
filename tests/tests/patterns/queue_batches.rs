//! Several jobs at once, and several workers at once.

use std::collections::HashMap;

use odm::Db;
use odm_patterns::queue::{Claimed, Failure, New, Queue, State};

use super::queue_model::{Work, clear, number, options, queue, queue_with, seconds};

crate::on_every_backend! {
    a_batch_takes_two_round_trips_whatever_its_size,
    a_batch_that_may_have_changed_is_read_again,
    a_batch_is_claimed_in_order,
    a_batch_with_lost_leases_names_them,
    no_job_is_claimed_twice,
    lanes_hold_all_jobs_and_are_looked_at_own_first,
    everybody_may_tend_at_once,
}

async fn a_batch_takes_two_round_trips_whatever_its_size(db: &Db) {
    let (queue, _) = queue(db).await;
    queue.enqueue_many((0..120).map(Work::Number)).await.unwrap();
    let (db, log) = queue.db().logged();
    let logged = queue.on(&db);
    for count in [1, 20, 99] {
        log.take();
        let claimed = logged.claim_many(count).await.unwrap();
        assert_eq!(claimed.len(), count as usize);
        assert_eq!(log.counts(), [("find", 1), ("update", 1)]);
        for claimed in &claimed {
            is_stored(&queue, claimed).await;
            assert_eq!((claimed.lease.token, claimed.lease.attempt), (1, 1));
        }
        log.take();
        assert_eq!(logged.ack_many(&claimed).await.unwrap(), []);
        assert_eq!(log.counts(), [("update", 1)]);
    }
    assert!(queue.claim_many(5).await.unwrap().is_empty());
    assert!(queue.claim_many(0).await.unwrap().is_empty());
    assert_eq!(queue.statistics().await.unwrap().done, 120);
}

/// What a claim says is what is stored.
async fn is_stored(queue: &Queue<Work>, claimed: &Claimed<Work>) {
    let lease = claimed.lease.clone();
    let entry = queue.get(lease.id).await.unwrap().expect("the job is there");
    assert_eq!(
        (entry.state, entry.attempts, entry.due),
        (State::Running, lease.attempt, claimed.due)
    );
    assert_eq!(entry.lease, Some((lease.owner, lease.token, lease.until)));
}

async fn a_batch_that_may_have_changed_is_read_again(db: &Db) {
    let (queue, clock) = queue(db).await;
    let (db, log) = queue.db().logged();
    let logged = queue.on(&db);
    let claim = async |finds: usize| {
        log.take();
        let claimed = logged.claim_many(10).await.unwrap();
        assert_eq!(log.counts(), [("find", finds), ("update", 1)]);
        for claimed in &claimed {
            is_stored(&queue, claimed).await;
        }
        claimed
    };
    // All were claimed once before.
    queue.enqueue_many((0..3).map(Work::Number)).await.unwrap();
    for claimed in claim(1).await {
        logged.release(&claimed).await.unwrap();
    }
    let claimed = claim(1).await;
    assert!(claimed.iter().all(|claimed| claimed.lease.token == 2));
    logged.release(&claimed[1]).await.unwrap();
    clock.step(1);
    // One of the two was claimed before.
    queue.enqueue(Work::Number(3)).await.unwrap();
    let tokens: Vec<i64> = claim(2).await.iter().map(|claimed| claimed.lease.token).collect();
    assert_eq!(tokens, [3, 1]);
    // A unique job can get another message until it is claimed.
    let unique = New::job(Work::Number(4)).unique("once");
    queue.enqueue(unique).await.unwrap();
    assert_eq!(claim(2).await.len(), 1);
    let grouped = New::job(Work::Number(5)).group("together");
    queue.enqueue(grouped).await.unwrap();
    assert_eq!(claim(2).await.len(), 1);
}

async fn a_batch_is_claimed_in_order(db: &Db) {
    let (queue, clock) = queue(db).await;
    for job in 0..20 {
        queue.enqueue(Work::Number(job)).await.unwrap();
        clock.step(1);
    }
    let mut jobs = Vec::new();
    for count in [7, 7, 7] {
        let claimed = queue.claim_many(count).await.unwrap();
        jobs.extend(claimed.iter().map(|claimed| number(&claimed.job)));
    }
    assert_eq!(jobs, (0..20).collect::<Vec<_>>());
}

async fn a_batch_with_lost_leases_names_them(db: &Db) {
    let (queue, clock) = queue(db).await;
    queue.enqueue_many((0..5).map(Work::Number)).await.unwrap();
    let zombie = queue.claim_many(5).await.unwrap();
    queue.heartbeat(&zombie[0]).await.unwrap();
    clock.advance(seconds(4));
    queue.heartbeat(&zombie[1]).await.unwrap();
    clock.advance(seconds(6));
    assert_eq!(queue.tend().await.unwrap().reclaimed, 4);
    let taken = queue.claim_many(2).await.unwrap();
    queue.ack(&taken[0]).await.unwrap();
    let lost = queue.ack_many(&zombie).await.unwrap();
    let states: Vec<_> = lost.iter().map(|lost| lost.state.unwrap()).collect();
    assert_eq!(states.len(), 4);
    for state in [State::Done, State::Running, State::Ready] {
        assert!(states.contains(&state), "{states:?}");
    }
    assert!(!lost.iter().any(|lost| lost.id == zombie[1].id()));
    // Tokens differ by now, and are acknowledged together all the same.
    let rest = queue.claim_many(9).await.unwrap();
    let mut all = vec![taken[1].lease.clone()];
    all.extend(rest.iter().map(|claimed| claimed.lease.clone()));
    queue.enqueue(Work::Number(9)).await.unwrap();
    all.push(queue.claim().await.unwrap().unwrap().lease);
    assert_eq!(queue.ack_many(&all).await.unwrap(), []);
    assert_eq!(queue.statistics().await.unwrap().done, 6);
}

async fn no_job_is_claimed_twice(db: &Db) {
    for lanes in [1, 4] {
        let (queue, _) = queue_with(db, options().lanes(lanes)).await;
        queue.enqueue_many((0..200).map(Work::Number)).await.unwrap();
        let workers = (0..8).map(|worker| {
            let queue = queue.owner(format!("worker {worker}"));
            tokio::spawn(async move {
                let mut mine = Vec::new();
                loop {
                    let claimed = match worker % 2 {
                        0 => queue.claim_many(7).await.unwrap(),
                        _ => queue.claim().await.unwrap().into_iter().collect(),
                    };
                    if claimed.is_empty() && queue.statistics().await.unwrap().ready == 0 {
                        return mine;
                    }
                    assert_eq!(queue.ack_many(&claimed).await.unwrap(), []);
                    mine.extend(claimed.iter().map(|claimed| number(&claimed.job)));
                }
            })
        });
        let mut times: HashMap<i32, u32> = HashMap::new();
        for worker in workers.collect::<Vec<_>>() {
            for job in worker.await.unwrap() {
                *times.entry(job).or_default() += 1;
            }
        }
        assert_eq!(times.len(), 200);
        assert!(times.values().all(|times| *times == 1));
        clear(&queue).await;
    }
}

async fn lanes_hold_all_jobs_and_are_looked_at_own_first(db: &Db) {
    let (queue, clock) = queue_with(db, options().lanes(8)).await;
    queue.enqueue_many((0..64).map(Work::Number)).await.unwrap();
    let (db, log) = queue.db().logged();
    let owner = queue.on(&db).owner("somebody");
    let mut most = 0;
    for _ in 0..64 {
        log.take();
        let claimed = owner.claim().await.unwrap().unwrap();
        most = most.max(log.round_trips());
        owner
            .fail(&claimed, Failure::retry("again").after(seconds(1)))
            .await
            .unwrap();
    }
    assert_eq!(most, 2);
    assert!(owner.claim().await.unwrap().is_none());
    clock.advance(seconds(1));
    assert_eq!(queue.tend().await.unwrap().promoted, 64);
    let mut batches = 0;
    loop {
        let claimed = owner.claim_many(64).await.unwrap();
        if claimed.is_empty() {
            break;
        }
        batches += 1;
        assert_eq!(owner.ack_many(&claimed).await.unwrap(), []);
    }
    assert!(batches <= 4, "{batches}");
    assert_eq!(queue.statistics().await.unwrap().done, 64);
}

async fn everybody_may_tend_at_once(db: &Db) {
    let (queue, clock) = queue(db).await;
    for job in 0..40 {
        let delay = seconds(u64::from(job % 2 == 0) * 5);
        let new = odm_patterns::queue::New::job(Work::Number(job)).delay(delay);
        queue.enqueue(new).await.unwrap();
    }
    assert_eq!(queue.claim_many(20).await.unwrap().len(), 20);
    clock.advance(seconds(10));
    let tending = (0..6).map(|_| {
        let queue = queue.clone();
        tokio::spawn(async move { queue.tend().await.unwrap() })
    });
    for tended in tending.collect::<Vec<_>>() {
        tended.await.unwrap();
    }
    let statistics = queue.statistics().await.unwrap();
    assert_eq!(
        (statistics.ready, statistics.running, statistics.scheduled),
        (40, 0, 0)
    );
    let claimed = queue.claim_many(40).await.unwrap();
    assert_eq!(
        claimed
            .iter()
            .filter(|claimed| claimed.lease.attempt == 2)
            .count(),
        20
    );
    // A reclaim is noted once, however many saw it.
    for claimed in &claimed {
        let entry = queue.get(claimed.id()).await.unwrap().unwrap();
        assert_eq!(entry.errors.len() as u32, claimed.lease.attempt - 1);
    }
}
