//! Unique keys: which jobs count as the same, and what happens to a second one.

use bson::doc;
use odm::Db;
use odm_patterns::queue::{Duplicates, Enqueued, Failure, New, Outcome, Policy, Queue, State};

use super::queue_model::{START, Work, number, queue, seconds};

crate::on_every_backend! {
    a_second_job_of_a_key_is_not_enqueued,
    many_at_once_enqueue_one,
    windows_allow_one_each,
    a_waiting_job_is_replaced,
    what_replaces_a_job_begins_anew,
    a_waiting_job_is_put_off,
    unique_jobs_mix_with_others,
}

async fn add(queue: &Queue<Work>, job: i32, duplicates: Duplicates) -> Enqueued {
    let new = New::job(Work::Number(job)).duplicates(duplicates);
    queue.enqueue(new).await.unwrap()
}

async fn a_second_job_of_a_key_is_not_enqueued(db: &Db) {
    let (queue, _) = queue(db).await;
    let (db, log) = queue.db().logged();
    let logged = queue.on(&db);
    let first = logged
        .enqueue(New::job(Work::Number(1)).unique("a"))
        .await
        .unwrap();
    assert_eq!(log.counts(), [("findAndModify", 1)]);
    assert_eq!(first.outcome, Outcome::Added);
    let second = logged
        .enqueue(New::job(Work::Number(2)).unique("a"))
        .await
        .unwrap();
    assert_eq!((second.id, second.outcome), (first.id, Outcome::Kept));
    assert_eq!(log.counts(), [("findAndModify", 2)]);
    assert!(
        queue
            .enqueue(New::job(Work::Number(3)).unique("b"))
            .await
            .unwrap()
            .is_added()
    );

    // While it runs too; not once it is finished.
    let claimed = queue.claim().await.unwrap().unwrap();
    assert_eq!(claimed.id(), first.id);
    assert_eq!(add(&queue, 4, Duplicates::of("a")).await.outcome, Outcome::Kept);
    queue.ack(&claimed).await.unwrap();
    log.take();
    let third = logged
        .enqueue(New::job(Work::Number(5)).unique("a"))
        .await
        .unwrap();
    assert!(third.is_added() && third.id != first.id);
    assert_eq!(log.counts(), [("findAndModify", 2), ("update", 1)]);
    assert_eq!(queue.get(first.id).await.unwrap().unwrap().unique, None);
    assert_eq!(
        queue.get(third.id).await.unwrap().unwrap().unique.as_deref(),
        Some("a")
    );
}

async fn many_at_once_enqueue_one(db: &Db) {
    let (queue, _) = queue(db).await;
    for round in 0..5 {
        let tasks = (0..8).map(|job| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let new = New::job(Work::Number(job)).unique(format!("round {round}"));
                queue.enqueue(new).await.unwrap()
            })
        });
        let mut enqueued = Vec::new();
        for task in tasks.collect::<Vec<_>>() {
            enqueued.push(task.await.unwrap());
        }
        assert_eq!(enqueued.iter().filter(|enqueued| enqueued.is_added()).count(), 1);
        assert!(enqueued.iter().all(|other| other.id == enqueued[0].id));
    }
    assert_eq!(queue.statistics().await.unwrap().ready, 5);
}

async fn windows_allow_one_each(db: &Db) {
    let (queue, clock) = queue(db).await;
    let hourly = || Duplicates::of("report").within(seconds(3600));
    assert!(add(&queue, 1, hourly()).await.is_added());
    let claimed = queue.claim().await.unwrap().unwrap();
    queue.ack(&claimed).await.unwrap();
    clock.advance(seconds(3599));
    // Done or not: there was one in this hour, which begins with the hour.
    assert_eq!(START % 3_600_000, 0);
    assert_eq!(add(&queue, 2, hourly()).await.outcome, Outcome::Kept);
    clock.advance(seconds(1));
    assert!(add(&queue, 3, hourly()).await.is_added());
    assert_eq!(add(&queue, 4, hourly()).await.outcome, Outcome::Kept);
}

async fn a_waiting_job_is_replaced(db: &Db) {
    let (queue, clock) = queue(db).await;
    let replace = || Duplicates::of("a").policy(Policy::Replace);
    let first = add(&queue, 1, replace()).await;
    clock.step(5);
    let new = New::job(Work::Mail { to: "ann".into() })
        .duplicates(replace())
        .priority(3)
        .delay(seconds(60));
    let (db, log) = queue.db().logged();
    let second = queue.on(&db).enqueue(new).await.unwrap();
    assert_eq!((second.id, second.outcome), (first.id, Outcome::Replaced));
    assert_eq!(log.round_trips(), 2);
    let entry = queue.get(first.id).await.unwrap().unwrap();
    assert_eq!(
        (entry.state, entry.priority, entry.kind.as_str()),
        (State::Scheduled, 3, "mail")
    );
    assert_eq!(entry.due.timestamp_millis(), START + 60_005);
    assert_eq!(entry.created.timestamp_millis(), START);
    assert!(queue.claim().await.unwrap().is_none());
    // Back to now, with all attempts anew.
    clock.advance(seconds(60));
    let claimed = queue.claim().await.unwrap().unwrap();
    queue.fail(&claimed, Failure::retry("no")).await.unwrap();
    assert_eq!(add(&queue, 7, replace()).await.outcome, Outcome::Replaced);
    let claimed = queue.claim().await.unwrap().unwrap();
    assert_eq!(
        (number(&claimed.job), claimed.lease.attempt, claimed.lease.token),
        (7, 1, 2)
    );
    // One that runs is not touched.
    assert_eq!(add(&queue, 8, replace()).await.outcome, Outcome::Kept);
    // Unless one that runs does not count: then the new one is behind it.
    let behind = add(&queue, 9, replace().states(State::QUEUED)).await;
    assert!(behind.is_added());
    assert_eq!(
        add(&queue, 10, replace().states(State::QUEUED)).await.outcome,
        Outcome::Replaced
    );
    queue.ack(&claimed).await.unwrap();
    let claimed = queue.claim().await.unwrap().unwrap();
    assert_eq!((number(&claimed.job), claimed.id()), (10, behind.id));
}

async fn what_replaces_a_job_begins_anew(db: &Db) {
    let (queue, clock) = queue(db).await;
    let replace = || Duplicates::of("a").policy(Policy::Replace);
    let id = add(&queue, 1, replace()).await.id;
    let claimed = queue.claim().await.unwrap().unwrap();
    queue.progress(&claimed, &500).await.unwrap();
    queue.fail(&claimed, Failure::retry("tired")).await.unwrap();
    let entry = queue.get(id).await.unwrap().unwrap();
    assert_eq!((entry.progress().unwrap(), entry.errors.len()), (Some(500), 1));
    assert_eq!(add(&queue, 2, replace()).await.outcome, Outcome::Replaced);
    let entry = queue.get(id).await.unwrap().unwrap();
    assert_eq!((entry.progress::<i32>().unwrap(), entry.errors.len()), (None, 0));
    clock.step(1);
    let claimed = queue.claim().await.unwrap().unwrap();
    assert_eq!((number(&claimed.job), claimed.lease.token), (2, 2));
    assert!(claimed.progress.is_none());
    // One that is put off is the same job still.
    queue.progress(&claimed, &7).await.unwrap();
    queue.fail(&claimed, Failure::retry("tired")).await.unwrap();
    let later = Duplicates::of("a").policy(Policy::Reschedule);
    assert_eq!(add(&queue, 3, later).await.outcome, Outcome::Rescheduled);
    let entry = queue.get(id).await.unwrap().unwrap();
    assert_eq!((entry.progress().unwrap(), entry.errors.len()), (Some(7), 1));
}

async fn a_waiting_job_is_put_off(db: &Db) {
    let (queue, clock) = queue(db).await;
    let quiet = |job| {
        New::job(Work::Number(job))
            .duplicates(Duplicates::of("index").policy(Policy::Reschedule))
            .delay(seconds(2))
    };
    let first = queue.enqueue(quiet(1)).await.unwrap();
    for job in 2..=5 {
        clock.advance(seconds(1));
        let again = queue.enqueue(quiet(job)).await.unwrap();
        assert_eq!((again.id, again.outcome), (first.id, Outcome::Rescheduled));
        assert!(queue.claim().await.unwrap().is_none());
    }
    clock.advance(seconds(2));
    let claimed = queue.claim().await.unwrap().unwrap();
    // The time is the last one's, the message the first one's.
    assert_eq!(number(&claimed.job), 1);
    assert_eq!(queue.enqueue(quiet(6)).await.unwrap().outcome, Outcome::Kept);
}

async fn unique_jobs_mix_with_others(db: &Db) {
    let (queue, _) = queue(db).await;
    let jobs = (0..6).map(|job| {
        let new = New::job(Work::Number(job));
        match job % 3 {
            0 => new,
            kind => new.unique(format!("key {kind}")),
        }
    });
    let enqueued = queue.enqueue_many(jobs).await.unwrap();
    let added: Vec<bool> = enqueued.iter().map(|enqueued| enqueued.is_added()).collect();
    assert_eq!(added, [true, true, true, true, false, false]);
    assert_eq!((enqueued[4].id, enqueued[5].id), (enqueued[1].id, enqueued[2].id));
    assert_eq!(queue.db().raw_collection("work").count(doc! {}).await.unwrap(), 4);
}
