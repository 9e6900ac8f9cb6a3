//! Who has a job: leases, their tokens, and what happens when they end.

use odm::Db;
use odm_patterns::queue::{Cancel, Failure, LeaseLost, State};

use super::queue_model::{START, Work, lost, number, queue, seconds};

crate::on_every_backend! {
    an_old_token_has_no_effect,
    a_lease_that_ended_is_valid_until_somebody_takes_the_job,
    signs_of_life_keep_a_lease,
    a_job_that_kills_its_workers_is_dead_in_the_end,
    a_clock_that_was_set_back_does_not_keep_a_dead_workers_job,
    saying_it_twice_is_no_error,
    jobs_are_called_off,
}

async fn an_old_token_has_no_effect(db: &Db) {
    let (queue, clock) = queue(db).await;
    queue.enqueue(Work::Number(1)).await.unwrap();
    let zombie = queue.owner("zombie").claim().await.unwrap().unwrap();
    clock.advance(seconds(10));
    let tended = queue.tend().await.unwrap();
    assert_eq!((tended.reclaimed, tended.found), (1, 1));

    // Nobody has it yet.
    lost(queue.ack(&zombie).await, Some(State::Ready));
    lost(queue.heartbeat(&zombie).await, Some(State::Ready));
    lost(queue.progress(&zombie, &1).await, Some(State::Ready));
    lost(queue.release(&zombie).await, Some(State::Ready));

    let owner = queue.owner("owner").claim().await.unwrap().unwrap();
    assert_eq!(
        (owner.id(), owner.lease.token, owner.lease.attempt),
        (zombie.id(), 2, 2)
    );
    let before = queue
        .db()
        .raw_collection("work")
        .find_one(bson::doc! {})
        .await
        .unwrap();
    lost(queue.ack(&zombie).await, Some(State::Running));
    lost(queue.ack_with(&zombie, &1).await, Some(State::Running));
    lost(
        queue.fail(&zombie, Failure::retry("late")).await,
        Some(State::Running),
    );
    lost(
        queue.fail(&zombie, Failure::dead("late")).await,
        Some(State::Running),
    );
    lost(queue.snooze(&zombie, seconds(1)).await, Some(State::Running));
    lost(queue.release(&zombie).await, Some(State::Running));
    lost(queue.heartbeat(&zombie).await, Some(State::Running));
    lost(queue.progress(&zombie, &1).await, Some(State::Running));
    let late = queue.ack_many([&zombie]).await.unwrap();
    assert_eq!(
        (late.len(), late[0].token, late[0].state),
        (1, 1, Some(State::Running))
    );
    let after = queue
        .db()
        .raw_collection("work")
        .find_one(bson::doc! {})
        .await
        .unwrap();
    assert_eq!(before, after);

    queue.ack(&owner).await.unwrap();
    lost(queue.ack(&zombie).await, Some(State::Done));
    lost(
        queue.fail(&zombie, Failure::dead("late")).await,
        Some(State::Done),
    );
    let text = LeaseLost::of(&queue.ack(&zombie).await.unwrap_err())
        .unwrap()
        .to_string();
    assert!(
        text.contains("token 1") && text.ends_with("the job is done"),
        "{text}"
    );
}

async fn a_lease_that_ended_is_valid_until_somebody_takes_the_job(db: &Db) {
    let (queue, clock) = queue(db).await;
    queue.enqueue(Work::Number(1)).await.unwrap();
    let slow = queue.claim().await.unwrap().unwrap();
    clock.advance(seconds(3600));
    // Only the token decides, not the clock.
    let beat = queue.heartbeat(&slow).await.unwrap();
    assert_eq!(beat.until.timestamp_millis(), START + 3_610_000);
    assert_eq!(queue.tend().await.unwrap().reclaimed, 0);
    clock.advance(seconds(3600));
    queue.ack(&slow).await.unwrap();
}

async fn signs_of_life_keep_a_lease(db: &Db) {
    let (queue, clock) = queue(db).await;
    queue.enqueue(Work::Number(1)).await.unwrap();
    let claimed = queue.claim().await.unwrap().unwrap();
    let (db, log) = queue.db().logged();
    let logged = queue.on(&db);
    for _ in 0..5 {
        clock.advance(seconds(9));
        log.take();
        assert!(!logged.heartbeat(&claimed).await.unwrap().canceled);
        assert_eq!(log.counts(), [("findAndModify", 1)]);
        assert_eq!(queue.tend().await.unwrap().found, 0);
        assert!(queue.claim().await.unwrap().is_none());
    }
    clock.step(9_999);
    assert!(queue.claim().await.unwrap().is_none());
    clock.step(1);
    // The claim finds it by itself.
    assert_eq!(queue.claim().await.unwrap().unwrap().lease.token, 2);
}

async fn a_job_that_kills_its_workers_is_dead_in_the_end(db: &Db) {
    let (queue, clock) = queue(db).await;
    let id = queue.enqueue(Work::Number(1)).await.unwrap().id;
    for attempt in 1..=3 {
        let claimed = queue.owner("victim").claim().await.unwrap().unwrap();
        assert_eq!(claimed.lease.attempt, attempt);
        clock.advance(seconds(10));
    }
    assert!(queue.claim().await.unwrap().is_none());
    let entry = queue.get(id).await.unwrap().unwrap();
    assert_eq!(
        (entry.state, entry.attempts, entry.errors.len()),
        (State::Dead, 3, 3)
    );
    assert_eq!(entry.errors[2].owner, "victim");
    assert_eq!(entry.finished.map(|at| at.timestamp_millis()), Some(clock.now()));
}

async fn a_clock_that_was_set_back_does_not_keep_a_dead_workers_job(db: &Db) {
    let (queue, clock) = queue(db).await;
    queue.enqueue(Work::Number(1)).await.unwrap();
    clock.step(3_600_000);
    queue.claim().await.unwrap().unwrap();
    clock.step(-3_600_000);
    // A living one would renew it.
    assert_eq!(queue.tend().await.unwrap().shortened, 0);
    clock.advance(seconds(9));
    assert_eq!(queue.tend().await.unwrap().shortened, 0);
    assert!(queue.claim().await.unwrap().is_none());
    clock.advance(seconds(1));
    let tended = queue.tend().await.unwrap();
    assert_eq!((tended.shortened, tended.reclaimed), (1, 1));
    assert_eq!(queue.claim().await.unwrap().unwrap().lease.token, 2);
    // And one that jumps ahead takes it from a living one, whose token is worth nothing then.
    let living = queue.claim().await.unwrap();
    assert!(living.is_none());
    clock.step(3_600_000);
    assert_eq!(queue.claim().await.unwrap().unwrap().lease.token, 3);
}

async fn saying_it_twice_is_no_error(db: &Db) {
    let (queue, _) = queue(db).await;
    for job in 1..=4 {
        queue.enqueue(Work::Number(job)).await.unwrap();
    }
    let claimed = queue.claim_many(4).await.unwrap();
    let (db, log) = queue.db().logged();
    let queue = queue.on(&db);
    for _ in 0..2 {
        queue.ack_with(&claimed[0], &7).await.unwrap();
        queue.fail(&claimed[1], Failure::dead("never")).await.unwrap();
        assert_eq!(queue.ack_many(&claimed[2..]).await.unwrap(), []);
    }
    assert_eq!(log.counts(), [("update", 6), ("find", 3)]);
    let entry = queue.get(claimed[0].id()).await.unwrap().unwrap();
    assert_eq!(entry.result::<i32>().unwrap(), Some(7));
    assert_eq!(queue.get(claimed[1].id()).await.unwrap().unwrap().errors.len(), 1);
    // Something else cannot be said any more.
    lost(queue.ack(&claimed[1]).await, Some(State::Dead));
    lost(
        queue.fail(&claimed[0], Failure::retry("no")).await,
        Some(State::Done),
    );
}

async fn jobs_are_called_off(db: &Db) {
    let (queue, clock) = queue(db).await;
    let mut ids = Vec::new();
    for job in 1..=5 {
        ids.push(queue.enqueue(Work::Number(job)).await.unwrap().id);
        clock.step(1);
    }
    let (db, log) = queue.db().logged();
    let logged = queue.on(&db);
    assert_eq!(logged.cancel(ids[4]).await.unwrap(), Cancel::Canceled);
    assert_eq!(log.take().len(), 1);
    assert_eq!(
        logged.cancel(ids[4]).await.unwrap(),
        Cancel::Finished(State::Canceled)
    );
    assert_eq!(log.take().len(), 3);
    assert_eq!(
        queue.cancel(bson::oid::ObjectId::new()).await.unwrap(),
        Cancel::NotFound
    );

    let claimed = queue.claim_many(9).await.unwrap();
    assert_eq!(
        claimed
            .iter()
            .map(|claimed| number(&claimed.job))
            .collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    log.take();
    for claimed in &claimed {
        assert_eq!(logged.cancel(claimed.id()).await.unwrap(), Cancel::Asked);
        assert!(queue.heartbeat(claimed).await.unwrap().canceled);
    }
    assert_eq!(log.take().len(), 8);
    // Done is done; but there is no other attempt.
    queue.ack(&claimed[0]).await.unwrap();
    queue.fail(&claimed[1], Failure::retry("stopped")).await.unwrap();
    queue.release(&claimed[2]).await.unwrap();
    clock.advance(seconds(10));
    assert_eq!(queue.tend().await.unwrap().canceled, 1);
    let mut states = Vec::new();
    for id in &ids {
        states.push(queue.get(*id).await.unwrap().unwrap().state);
    }
    use State::{Canceled, Done};
    assert_eq!(states, [Done, Canceled, Canceled, Canceled, Canceled]);
    assert!(queue.claim().await.unwrap().is_none());
    // What was called off can be redriven.
    assert!(queue.redrive(ids[1]).await.unwrap());
    let again = queue.claim().await.unwrap().unwrap();
    assert!(!queue.heartbeat(&again).await.unwrap().canceled);
}
