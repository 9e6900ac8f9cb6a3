//! The life of a job.

use bson::doc;
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_patterns::queue::{Failure, New, Options, Queue, Retry, State};

use super::queue_model::{START, Work, lost, number, options, queue, queue_with, seconds};

crate::on_every_backend! {
    a_job_is_enqueued_claimed_and_done,
    the_stored_shape_is_the_books_and_more,
    jobs_are_claimed_by_priority_then_time,
    delayed_jobs_become_ready_when_they_are_due,
    a_job_that_fails_is_tried_again_later_until_it_is_dead,
    each_kind_has_its_own_policy,
    failures_say_what_becomes_of_the_job,
    dead_jobs_are_redriven,
    results_and_progress_are_kept,
    finished_jobs_are_pruned_in_time,
    an_acknowledgement_deletes_where_nothing_is_kept,
    a_deletion_whose_reply_was_lost_is_acknowledged_again,
    what_a_transaction_writes_needs_the_job,
    a_job_that_cannot_be_read_is_dead,
    many_jobs_are_enqueued_in_one_round_trip,
}

async fn a_job_is_enqueued_claimed_and_done(db: &Db) {
    let (queue, clock) = queue(db).await;
    let (db, log) = queue.db().logged();
    let queue = queue.on(&db).owner("ann");
    let mail = Work::Mail { to: "joe".to_owned() };
    let enqueued = queue.enqueue(mail.clone()).await.unwrap();
    assert!(enqueued.is_added());
    assert_eq!(log.take().len(), 1);

    let claimed = queue.claim().await.unwrap().unwrap();
    assert_eq!(log.counts(), [("findAndModify", 1)]);
    log.take();
    assert_eq!((&claimed.job, claimed.id()), (&mail, enqueued.id));
    assert_eq!(
        (
            claimed.lease.token,
            claimed.lease.attempt,
            claimed.lease.max_attempts
        ),
        (1, 1, 3)
    );
    assert_eq!(
        (claimed.lease.owner.as_str(), claimed.lease.kind.as_str()),
        ("ann", "mail")
    );
    assert_eq!(claimed.lease.until.timestamp_millis(), START + 10_000);
    assert!(queue.claim().await.unwrap().is_none());
    assert_eq!(log.counts(), [("findAndModify", 1), ("find", 1)]);
    log.take();

    clock.advance(seconds(3));
    queue.ack(&claimed).await.unwrap();
    assert_eq!(log.counts(), [("update", 1)]);
    let entry = queue.get(enqueued.id).await.unwrap().unwrap();
    assert_eq!((entry.state, entry.attempts, &entry.job), (State::Done, 1, &mail));
    assert_eq!(
        entry.finished.map(|at| at.timestamp_millis()),
        Some(START + 3_000)
    );
    assert_eq!(
        entry.lease.map(|(owner, token, _)| (owner, token)),
        Some(("ann".to_owned(), 1))
    );
    assert_eq!(
        queue
            .get(bson::oid::ObjectId::new())
            .await
            .unwrap()
            .map(|entry| entry.id),
        None
    );
}

async fn the_stored_shape_is_the_books_and_more(db: &Db) {
    let (queue, _) = queue(db).await;
    queue.owner("ann").enqueue(Work::Number(7)).await.unwrap();
    let claimed = queue.owner("ann").claim().await.unwrap().unwrap();
    let mut stored = queue
        .db()
        .raw_collection("work")
        .find_one(doc! {})
        .await
        .unwrap()
        .unwrap();
    let claim = stored.get_document_mut("lease").unwrap().remove("claim");
    assert!(claim.unwrap().as_object_id().is_some());
    let date = bson::DateTime::from_millis;
    // The fields of an upsert are sorted, those of an insertion are not.
    assert_eq!(
        stored,
        doc! {
            "_id": claimed.id(),
            "state": "running",
            "created": date(START),
            "kind": "number",
            "message": { "Number": 7 },
            "order": START + 10_000,
            "place": (127_i64 << 48) + START,
            "priority": 0,
            "due": date(START),
            "attempts": 1_i64,
            "max_attempts": 3_i64,
            "lease": { "owner": "ann", "token": 1_i64, "until": date(START + 10_000) },
        }
    );
}

async fn jobs_are_claimed_by_priority_then_time(db: &Db) {
    let (queue, clock) = queue(db).await;
    for (job, priority, time) in [
        (1, 0, 5),
        (2, 0, 3),
        (3, 9, 9),
        (4, -1, 0),
        (5, 9, 8),
        (6, 127, 9),
        (7, -128, 0),
    ] {
        let at = bson::DateTime::from_millis(START + time);
        queue
            .enqueue(New::job(Work::Number(job)).priority(priority).at(at))
            .await
            .unwrap();
    }
    clock.advance(seconds(1));
    queue.tend().await.unwrap();
    let ready = queue.list(State::Ready, 3).await.unwrap();
    assert_eq!(
        ready.iter().map(|entry| number(&entry.job)).collect::<Vec<_>>(),
        [6, 5, 3]
    );
    let mut order = Vec::new();
    while let Some(claimed) = queue.claim().await.unwrap() {
        order.push(number(&claimed.job));
        queue.ack(&claimed).await.unwrap();
    }
    assert_eq!(order, [6, 5, 3, 2, 1, 4, 7]);
}

async fn delayed_jobs_become_ready_when_they_are_due(db: &Db) {
    let (queue, clock) = queue(db).await;
    queue
        .enqueue(New::job(Work::Number(1)).delay(seconds(60)))
        .await
        .unwrap();
    queue
        .enqueue(New::job(Work::Number(2)).at(bson::DateTime::from_millis(START - 5)))
        .await
        .unwrap();
    let past = queue.claim().await.unwrap().unwrap();
    assert_eq!(number(&past.job), 2);
    queue.ack(&past).await.unwrap();
    clock.advance(seconds(5));
    assert!(queue.claim().await.unwrap().is_none());
    clock.advance(seconds(55));
    // Without anybody who tends to the queue: the claim itself looks for what is due.
    let (db, log) = queue.db().logged();
    let claimed = queue.on(&db).claim().await.unwrap().unwrap();
    assert_eq!(
        (number(&claimed.job), claimed.due.timestamp_millis()),
        (1, START + 60_000)
    );
    assert!(log.round_trips() <= 5, "{:?}", log.counts());
}

async fn a_job_that_fails_is_tried_again_later_until_it_is_dead(db: &Db) {
    let (queue, clock) = queue(db).await;
    let id = queue.enqueue(Work::Number(1)).await.unwrap().id;
    let (db, log) = queue.db().logged();
    let logged = queue.on(&db);
    for (attempt, wait) in [(1, 10), (2, 20)] {
        let claimed = queue.claim().await.unwrap().unwrap();
        assert_eq!(
            (claimed.lease.attempt, claimed.lease.token),
            (attempt, i64::from(attempt))
        );
        log.take();
        logged
            .fail(&claimed, Failure::retry(format!("no luck {attempt}")))
            .await
            .unwrap();
        assert_eq!(log.counts(), [("update", 1)]);
        let entry = queue.get(id).await.unwrap().unwrap();
        assert_eq!(entry.state, State::Failed);
        assert_eq!(entry.due.timestamp_millis(), clock.now() + wait * 1_000);
        clock.step(wait * 1_000 - 1);
        assert!(queue.claim().await.unwrap().is_none());
        clock.step(1);
    }
    let claimed = queue.claim().await.unwrap().unwrap();
    queue.fail(&claimed, Failure::retry("no luck 3")).await.unwrap();
    clock.advance(seconds(3600));
    assert!(queue.claim().await.unwrap().is_none());
    let entry = queue.get(id).await.unwrap().unwrap();
    assert_eq!((entry.state, entry.attempts), (State::Dead, 3));
    let errors: Vec<_> = entry
        .errors
        .iter()
        .map(|error| (error.attempt, error.error.as_str()))
        .collect();
    assert_eq!(errors, [(1, "no luck 1"), (2, "no luck 2"), (3, "no luck 3")]);
}

async fn each_kind_has_its_own_policy(db: &Db) {
    let options = options()
        .retry_for("mail", Retry::times(2).backoff(seconds(1), 1.0).jitter(0.0))
        .errors(1);
    let (queue, clock) = queue_with(db, options).await;
    let mail = queue
        .enqueue(Work::Mail { to: "ann".to_owned() })
        .await
        .unwrap()
        .id;
    clock.step(1);
    let own = queue
        .enqueue(New::job(Work::Number(1)).attempts(1))
        .await
        .unwrap()
        .id;
    let claimed = queue.claim().await.unwrap().unwrap();
    queue.fail(&claimed, Failure::retry("busy")).await.unwrap();
    let other = queue.claim().await.unwrap().unwrap();
    assert_eq!(
        (claimed.id(), claimed.lease.max_attempts, other.id()),
        (mail, 2, own)
    );
    queue.fail(&other, Failure::retry("busy")).await.unwrap();
    assert_eq!(queue.get(own).await.unwrap().unwrap().state, State::Dead);
    clock.advance(seconds(1));
    let again = queue.claim().await.unwrap().unwrap();
    queue.fail(&again, Failure::retry("busy again")).await.unwrap();
    let entry = queue.get(mail).await.unwrap().unwrap();
    assert_eq!((entry.state, entry.errors.len()), (State::Dead, 1));
    assert_eq!(entry.errors[0].error, "busy again");
}

async fn failures_say_what_becomes_of_the_job(db: &Db) {
    let (queue, clock) = queue(db).await;
    for job in 1..=5 {
        queue.enqueue(Work::Number(job)).await.unwrap();
        clock.step(1);
    }
    let claimed = queue.claim_many(5).await.unwrap();
    let jobs: Vec<i32> = claimed.iter().map(|claimed| number(&claimed.job)).collect();
    assert_eq!(jobs, [1, 2, 3, 4, 5]);
    queue.fail(&claimed[0], Failure::dead("never")).await.unwrap();
    queue
        .fail(&claimed[1], Failure::retry("later").after(seconds(99)))
        .await
        .unwrap();
    queue
        .fail(&claimed[2], Failure::snooze(seconds(7)))
        .await
        .unwrap();
    queue.fail(&claimed[3], Failure::canceled()).await.unwrap();
    queue.release(&claimed[4]).await.unwrap();
    let now = clock.now();
    let mut seen = Vec::new();
    for claimed in &claimed {
        let entry = queue.get(claimed.id()).await.unwrap().unwrap();
        seen.push((
            entry.state,
            entry.attempts,
            entry.due.timestamp_millis() - now,
            entry.errors.len(),
        ));
    }
    assert_eq!(seen[0], (State::Dead, 1, seen[0].2, 1));
    assert_eq!(seen[1], (State::Failed, 1, 99_000, 1));
    assert_eq!(seen[2], (State::Scheduled, 0, 7_000, 0));
    assert_eq!(seen[3], (State::Canceled, 1, seen[3].2, 0));
    assert_eq!(seen[4], (State::Ready, 0, -1, 0));
    let again = queue.claim().await.unwrap().unwrap();
    assert_eq!(
        (again.id(), again.lease.attempt, again.lease.token),
        (claimed[4].id(), 1, 2)
    );
}

async fn dead_jobs_are_redriven(db: &Db) {
    let (queue, clock) = queue(db).await;
    let mut ids = Vec::new();
    for job in 1..=3 {
        ids.push(queue.enqueue(Work::Number(job)).await.unwrap().id);
        let claimed = queue.claim().await.unwrap().unwrap();
        queue.fail(&claimed, Failure::dead("never")).await.unwrap();
        clock.step(10);
    }
    assert!(queue.redrive(ids[1]).await.unwrap());
    assert!(!queue.redrive(ids[1]).await.unwrap());
    assert!(!queue.redrive(bson::oid::ObjectId::new()).await.unwrap());
    assert_eq!(queue.redrive_dead(0).await.unwrap(), 0);
    assert_eq!(queue.redrive_dead(9).await.unwrap(), 2);
    let claimed = queue.claim_many(9).await.unwrap();
    assert_eq!(claimed.len(), 3);
    // All attempts anew, but the token goes on, and the errors stay.
    assert!(
        claimed
            .iter()
            .all(|claimed| (claimed.lease.attempt, claimed.lease.token) == (1, 2))
    );
    assert_eq!(queue.get(ids[0]).await.unwrap().unwrap().errors.len(), 1);
    assert_eq!(queue.ack_many(&claimed).await.unwrap(), []);
}

async fn results_and_progress_are_kept(db: &Db) {
    let (queue, clock) = queue(db).await;
    let id = queue.enqueue(Work::Number(1)).await.unwrap().id;
    let claimed = queue.claim().await.unwrap().unwrap();
    clock.advance(seconds(4));
    let (db, log) = queue.db().logged();
    let beat = queue.on(&db).progress(&claimed, &("half", 50)).await.unwrap();
    assert_eq!(log.round_trips(), 1);
    assert_eq!(
        (beat.until.timestamp_millis(), beat.canceled),
        (START + 14_000, false)
    );
    let entry = queue.get(id).await.unwrap().unwrap();
    assert_eq!(
        entry.progress::<(String, i32)>().unwrap(),
        Some(("half".to_owned(), 50))
    );
    assert_eq!(entry.result::<i32>().unwrap(), None);
    // The next attempt sees how far the last one was.
    queue
        .fail(&claimed, Failure::retry("tired").after(seconds(0)))
        .await
        .unwrap();
    let claimed = queue.claim().await.unwrap().unwrap();
    assert!(claimed.progress.is_some());
    queue.ack_with(&claimed, &vec![1, 2, 3]).await.unwrap();
    let entry = queue.get(id).await.unwrap().unwrap();
    assert_eq!(entry.result::<Vec<i32>>().unwrap(), Some(vec![1, 2, 3]));
    let error = entry.result::<String>().unwrap_err();
    assert_eq!(error.kind(), odm::ErrorKind::Decode);
    let error = queue.ack_with(&claimed, &u64::MAX).await.unwrap_err();
    assert_eq!(error.kind(), odm::ErrorKind::Encode);
}

async fn finished_jobs_are_pruned_in_time(db: &Db) {
    let options = options()
        .keep_done(seconds(100))
        .keep_dead(seconds(1_000))
        .batch(2);
    let (queue, clock) = queue_with(db, options).await;
    for job in 1..=6 {
        queue.enqueue(Work::Number(job)).await.unwrap();
    }
    let claimed = queue.claim_many(5).await.unwrap();
    for done in &claimed[..3] {
        queue.ack(done).await.unwrap();
    }
    queue.fail(&claimed[3], Failure::dead("never")).await.unwrap();
    queue.cancel(claimed[4].id()).await.unwrap();
    queue.fail(&claimed[4], Failure::retry("stop")).await.unwrap();
    clock.advance(seconds(99));
    assert_eq!(queue.prune().await.unwrap(), 0);
    clock.advance(seconds(1));
    // By two at a time, as the options say.
    assert_eq!(queue.tend().await.unwrap().pruned, 2);
    assert_eq!(queue.prune().await.unwrap(), 2);
    assert_eq!(queue.prune().await.unwrap(), 0);
    clock.advance(seconds(900));
    let (db, log) = queue.db().logged();
    assert_eq!(queue.on(&db).prune().await.unwrap(), 1);
    assert_eq!(log.counts(), [("find", 1), ("delete", 1)]);
    let statistics = queue.statistics().await.unwrap();
    assert_eq!(
        (
            statistics.ready,
            statistics.unfinished(),
            statistics.done + statistics.dead
        ),
        (1, 1, 0)
    );
}

async fn an_acknowledgement_deletes_where_nothing_is_kept(db: &Db) {
    let (queue, _) = queue_with(db, options().keep_done(seconds(0))).await;
    for job in 1..=4 {
        queue.enqueue(Work::Number(job)).await.unwrap();
    }
    let claimed = queue.claim_many(4).await.unwrap();
    let (db, log) = queue.db().logged();
    let queue = queue.on(&db);
    queue.ack(&claimed[0]).await.unwrap();
    assert_eq!(log.counts(), [("delete", 1)]);
    assert!(queue.get(claimed[0].id()).await.unwrap().is_none());
    // Said twice, as far as can be told.
    queue.ack(&claimed[0]).await.unwrap();
    assert_eq!(queue.ack_many(&claimed[1..3]).await.unwrap(), []);
    // What has a result stays for somebody to read it, until it is pruned.
    queue.ack_with(&claimed[3], &5).await.unwrap();
    assert_eq!(queue.statistics().await.unwrap().done, 1);
    assert_eq!(queue.prune().await.unwrap(), 1);
}

async fn a_deletion_whose_reply_was_lost_is_acknowledged_again(db: &Db) {
    let (queue, _) = queue_with(db, options().keep_done(seconds(0))).await;
    let (db, faults) = queue.db().faulty();
    let faulty = queue.on(&db);
    for job in 1..=2 {
        let new = New::job(Work::Number(job)).group("group");
        queue.enqueue(new).await.unwrap();
    }
    let first = queue.claim().await.unwrap().unwrap();
    faults.add(Fault::nth("delete", 1).after(Error::new(ErrorKind::Network, "lost (injected)")));
    faulty.ack(&first).await.unwrap_err();
    assert!(queue.get(first.id()).await.unwrap().is_none());
    assert!(queue.claim().await.unwrap().is_none());
    faulty.ack(&first).await.unwrap();
    // And the next of its group is let go.
    let second = queue.claim().await.unwrap().unwrap();
    assert_eq!(number(&second.job), 2);
    // A job that is there, and somebody else's, is lost all the same.
    queue.release(&second).await.unwrap();
    lost(queue.ack(&second).await, Some(State::Ready));
    // Whether it is dead is to be seen: it is not deleted.
    let again = queue.claim().await.unwrap().unwrap();
    queue.ack(&again).await.unwrap();
    lost(queue.fail(&again, Failure::dead("late")).await, None);
    lost(queue.ack_with(&again, &1).await, None);
}

/// Nothing is kept that says whose acknowledgement deleted a job: where writes hang on it, it was another's.
async fn what_a_transaction_writes_needs_the_job(db: &Db) {
    let (queue, clock) = queue_with(db, options().keep_done(seconds(0))).await;
    queue.db().raw_collection("orders").create().await.unwrap();
    queue.enqueue(Work::Number(1)).await.unwrap();
    let slow = queue.claim().await.unwrap().unwrap();
    clock.advance(seconds(11));
    let fast = queue.claim().await.unwrap().unwrap();
    for (claimed, many) in [(&fast, false), (&slow, false), (&slow, true)] {
        let done = queue.db().transaction(async |tx| {
            let order = tx.raw_collection("orders");
            order.insert(doc! { "token": claimed.lease.token }).await?;
            match many {
                false => queue.on(&tx).ack(claimed).await.map(|()| 0),
                true => Ok(queue.on(&tx).ack_many([claimed]).await?.len()),
            }
        });
        match (claimed.lease.token, many) {
            (2, _) => assert_eq!(done.await.unwrap(), 0),
            (_, false) => lost(done.await, None),
            (_, true) => assert_eq!(done.await.unwrap(), 1),
        }
    }
    // The last one was told, and committed all the same.
    let orders = queue.db().raw_collection("orders").count(doc! {}).await.unwrap();
    assert_eq!(orders, 2);
}

async fn a_job_that_cannot_be_read_is_dead(db: &Db) {
    let (queue, clock) = queue(db).await;
    let other: Queue<bson::Document> = Queue::with_options(queue.db(), "work", Options::new());
    other.enqueue(doc! { "Song": "la" }).await.unwrap();
    clock.step(1);
    queue.enqueue(Work::Number(2)).await.unwrap();
    assert_eq!(number(&queue.claim().await.unwrap().unwrap().job), 2);
    let dead = other.list(State::Dead, 0).await.unwrap();
    assert_eq!(dead.len(), 1);
    assert!(
        dead[0].errors[0].error.contains("does not fit"),
        "{:?}",
        dead[0].errors
    );
    let error = queue.list(State::Dead, 0).await.unwrap_err();
    assert_eq!(error.kind(), odm::ErrorKind::Decode);
    assert_eq!(error.id(), Some(&bson::Bson::ObjectId(dead[0].id)));
}

async fn many_jobs_are_enqueued_in_one_round_trip(db: &Db) {
    let (queue, _) = queue(db).await;
    let (db, log) = queue.db().logged();
    let queue = queue.on(&db);
    let enqueued = queue.enqueue_many((0..500).map(Work::Number)).await.unwrap();
    assert_eq!((enqueued.len(), log.round_trips()), (500, 1));
    assert!(enqueued.iter().all(|enqueued| enqueued.is_added()));
    assert_eq!(queue.statistics().await.unwrap().ready, 500);
    assert_eq!(queue.enqueue_many(Vec::<Work>::new()).await.unwrap(), []);
    // Of one mind with single ones: later jobs come later, in any number.
    let jobs = queue.list(State::Ready, 3).await.unwrap();
    assert_eq!(jobs.len(), 3);
}
