//! Jobs that fill their documents: they hold up nobody.

use bson::doc;
use bson::oid::ObjectId;
use odm::{Db, ErrorKind};
use odm_patterns::queue::{New, Queue, State};

use super::queue_model::{Clock, Work, number, options, queue, queue_with, seconds};

crate::on_every_backend! {
    a_job_that_leaves_no_room_is_not_enqueued,
    a_claim_passes_over_a_full_job,
    a_batch_passes_over_full_jobs,
    full_jobs_keep_nobody_from_tending,
}

/// What a document holds.
const MOST: usize = 16 << 20;

fn mail(length: usize) -> Work {
    Work::Mail {
        to: "x".repeat(length),
    }
}

/// Enqueues a mail, and then makes it so long that so many bytes are left in its document.
async fn fill(queue: &Queue<Work>, id: ObjectId, left: usize) {
    let raw = queue.db().raw_collection("work");
    let stored = raw.get(bson::Bson::from(id)).required().await.unwrap();
    let size = bson::serialize_to_vec(&stored).unwrap().len();
    let to = "x".repeat(MOST - left - size);
    raw.update_one(doc! { "_id": id }, doc! { "$set": { "message.Mail.to": to } })
        .await
        .unwrap();
}

async fn full(queue: &Queue<Work>, clock: &Clock, left: usize) -> ObjectId {
    let id = queue.enqueue(New::job(mail(0)).priority(5)).await.unwrap().id;
    clock.step(1);
    fill(queue, id, left).await;
    id
}

async fn states(queue: &Queue<Work>, jobs: &[ObjectId]) -> Vec<State> {
    let mut states = Vec::new();
    for id in jobs {
        states.push(queue.get(*id).await.unwrap().unwrap().state);
    }
    states
}

async fn a_job_that_leaves_no_room_is_not_enqueued(db: &Db) {
    let (queue, _) = queue(db).await;
    let fits = MOST - (64 << 10) - 200;
    queue.enqueue(mail(fits)).await.unwrap();
    for too_long in [fits + 200, MOST - 1_000, MOST + 1] {
        let error = queue.enqueue(mail(too_long)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let grouped = New::job(mail(too_long)).group("group").unique("key");
        queue.enqueue(grouped).await.unwrap_err();
        let error = queue.enqueue_many([mail(1), mail(too_long)]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(queue.statistics().await.unwrap().unfinished(), 1);
    let claimed = queue.claim().await.unwrap().unwrap();
    queue.ack_with(&claimed, &"done").await.unwrap();
}

async fn a_claim_passes_over_a_full_job(db: &Db) {
    let (queue, clock) = queue(db).await;
    let mut jobs = Vec::new();
    for left in [0, 10] {
        jobs.push(full(&queue, &clock, left).await);
    }
    queue.enqueue(Work::Number(1)).await.unwrap();
    assert_eq!(number(&queue.claim().await.unwrap().unwrap().job), 1);
    assert_eq!(states(&queue, &jobs).await, [State::Dead; 2]);
    assert!(queue.claim().await.unwrap().is_none());
    // It can be seen, made shorter, and tried again.
    queue
        .db()
        .raw_collection("work")
        .update_one(
            doc! { "_id": jobs[0] },
            doc! { "$set": { "message.Mail.to": "ann" } },
        )
        .await
        .unwrap();
    assert!(queue.redrive(jobs[0]).await.unwrap());
    let claimed = queue.claim().await.unwrap().unwrap();
    assert_eq!(claimed.id(), jobs[0]);
}

async fn a_batch_passes_over_full_jobs(db: &Db) {
    let (queue, clock) = queue(db).await;
    for unique in [false, true] {
        let mut jobs = vec![full(&queue, &clock, 0).await];
        for number in 1..=2 {
            let new = New::job(Work::Number(number)).priority(5);
            queue
                .enqueue(if unique {
                    new.unique(number.to_string())
                } else {
                    new
                })
                .await
                .unwrap();
            clock.step(1);
        }
        jobs.push(full(&queue, &clock, 5).await);
        queue.enqueue(Work::Number(3)).await.unwrap();
        // The first batch is nothing but a full job.
        let claimed = queue.claim_many(1).await.unwrap();
        assert_eq!(number(&claimed[0].job), 1);
        queue.release(&claimed[0]).await.unwrap();
        jobs.push(full(&queue, &clock, 90).await);
        let claimed = queue.claim_many(4).await.unwrap();
        let numbers: Vec<i32> = claimed.iter().map(|claimed| number(&claimed.job)).collect();
        assert_eq!(numbers, [1, 2]);
        assert_eq!(states(&queue, &jobs).await, [State::Dead; 3]);
        assert_eq!(queue.ack_many(&claimed).await.unwrap(), []);
        let last = queue.claim_many(4).await.unwrap();
        assert_eq!((last.len(), number(&last[0].job)), (1, 3));
        assert_eq!(queue.ack_many(&last).await.unwrap(), []);
    }
}

async fn full_jobs_keep_nobody_from_tending(db: &Db) {
    let (queue, clock) = queue_with(db, options().keep_done(seconds(1))).await;
    for number in 1..=2 {
        queue.enqueue(Work::Number(number)).await.unwrap();
        clock.step(1);
    }
    let done = queue.claim().await.unwrap().unwrap();
    queue.ack(&done).await.unwrap();
    let grouped = New::job(mail(0)).group("group");
    let full = queue.enqueue(grouped).await.unwrap().id;
    queue
        .enqueue(New::job(Work::Number(3)).group("group"))
        .await
        .unwrap();
    // Their workers die.
    assert_eq!(queue.claim_many(3).await.unwrap().len(), 2);
    fill(&queue, full, 20).await;
    clock.advance(seconds(11));
    let tended = queue.tend().await.unwrap();
    assert_eq!(
        (tended.found, tended.died, tended.reclaimed, tended.pruned),
        (2, 1, 1, 1)
    );
    assert_eq!(states(&queue, &[full]).await, [State::Dead]);
    // The next of its group is let go.
    let claimed = queue.claim_many(3).await.unwrap();
    let mut numbers: Vec<i32> = claimed.iter().map(|claimed| number(&claimed.job)).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [2, 3]);
}
