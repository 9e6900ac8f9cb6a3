//! The queue as a whole: pause, rate, figures, indexes.

use bson::{Bson, Document, doc};
use odm::Db;
use odm_patterns::clock::ServerClock;
use odm_patterns::queue::{Failure, New, Options, Queue};

use super::queue_model::{Work, options, queue, queue_with, seconds};

crate::on_every_backend! {
    a_paused_queue_gives_nothing,
    a_rate_is_kept_by_all_together,
    permits_that_are_not_used_are_given_back,
    figures_tell_how_much_there_is_to_do,
    a_claim_reads_one_key_of_one_index_in_its_order,
    tending_to_nothing_takes_four_round_trips,
    the_servers_clock_is_the_databases,
}

async fn a_paused_queue_gives_nothing(db: &Db) {
    let (queue, clock) = queue(db).await;
    let elsewhere: Queue<Work> = Queue::with_options(queue.db(), "work", options());
    assert!(!elsewhere.is_paused().await.unwrap());
    queue.enqueue_many((0..3).map(Work::Number)).await.unwrap();
    let running = queue.claim().await.unwrap().unwrap();
    queue.pause().await.unwrap();
    assert!(queue.is_paused().await.unwrap());
    assert!(queue.claim().await.unwrap().is_none());
    assert!(queue.clone().claim_many(5).await.unwrap().is_empty());
    // What runs goes on, and what comes is taken in.
    queue.heartbeat(&running).await.unwrap();
    queue.ack(&running).await.unwrap();
    queue.enqueue(Work::Number(4)).await.unwrap();
    // Elsewhere it is known after a second.
    assert!(elsewhere.claim().await.unwrap().is_some());
    clock.advance(seconds(1));
    let (db, log) = elsewhere.db().logged();
    assert!(elsewhere.on(&db).claim().await.unwrap().is_none());
    assert_eq!(log.counts(), [("find", 1)]);
    assert!(elsewhere.on(&db).claim().await.unwrap().is_none());
    assert_eq!(log.round_trips(), 1);
    elsewhere.resume().await.unwrap();
    assert!(elsewhere.claim().await.unwrap().is_some());
    clock.step(-3_600_000);
    assert!(queue.claim().await.unwrap().is_some());
}

async fn a_rate_is_kept_by_all_together(db: &Db) {
    let options = options().rate_limit(10, seconds(10));
    let (queue, clock) = queue_with(db, options.clone()).await;
    let other: Queue<Work> = Queue::with_options(queue.db(), "work", options);
    queue.enqueue_many((0..100).map(Work::Number)).await.unwrap();
    assert_eq!(queue.claim_many(7).await.unwrap().len(), 7);
    assert_eq!(other.claim_many(7).await.unwrap().len(), 3);
    assert!(queue.claim().await.unwrap().is_none());
    for _ in 0..3 {
        clock.advance(seconds(1));
        let (db, log) = other.db().logged();
        let logged = other.on(&db);
        assert!(logged.claim().await.unwrap().is_some());
        assert!(log.round_trips() <= 3, "{:?}", log.counts());
        assert!(queue.claim().await.unwrap().is_none());
    }
    clock.advance(seconds(600));
    // A rest is worth a whole bucket, not more.
    assert_eq!(queue.claim_many(50).await.unwrap().len(), 10);
    // A clock that was ahead does not stop the queue for an hour.
    clock.step(3_600_000);
    assert_eq!(queue.claim_many(50).await.unwrap().len(), 10);
    clock.step(-3_600_000);
    assert_eq!(queue.claim_many(50).await.unwrap().len(), 10);
    assert!(queue.claim().await.unwrap().is_none());
}

async fn permits_that_are_not_used_are_given_back(db: &Db) {
    let (queue, _) = queue_with(db, options().rate_limit(5, seconds(100))).await;
    for _ in 0..20 {
        assert!(queue.claim().await.unwrap().is_none());
    }
    queue.enqueue_many((0..9).map(Work::Number)).await.unwrap();
    queue
        .db()
        .raw_collection("work")
        .delete_many(doc! { "message.Number": { "$gte": 3 } })
        .await
        .unwrap();
    assert_eq!(queue.claim_many(5).await.unwrap().len(), 3);
    queue.enqueue_many((0..9).map(Work::Number)).await.unwrap();
    assert_eq!(queue.claim_many(5).await.unwrap().len(), 2);
}

async fn figures_tell_how_much_there_is_to_do(db: &Db) {
    let (queue, clock) = queue(db).await;
    assert_eq!(queue.statistics().await.unwrap(), Default::default());
    queue
        .enqueue(New::job(Work::Number(0)).priority(-100))
        .await
        .unwrap();
    clock.advance(seconds(30));
    let mail = Work::Mail { to: "ann".to_owned() };
    for new in [
        New::job(mail.clone()).priority(100),
        New::job(mail.clone()).priority(90),
        New::job(mail.clone()).priority(80),
        New::job(mail.clone()).priority(70),
        New::job(mail.clone()),
        New::job(mail.clone()).delay(seconds(1)),
        New::job(mail.clone()).group("g"),
        New::job(mail.clone()).group("g"),
    ] {
        queue.enqueue(new).await.unwrap();
    }
    let claimed = queue.claim_many(4).await.unwrap();
    queue.ack(&claimed[0]).await.unwrap();
    queue.fail(&claimed[1], Failure::retry("no")).await.unwrap();
    queue.fail(&claimed[2], Failure::dead("no")).await.unwrap();
    let (db, log) = queue.db().logged();
    let statistics = queue.on(&db).statistics().await.unwrap();
    assert_eq!(log.round_trips(), 1);
    let counts = [
        statistics.ready,
        statistics.scheduled,
        statistics.failed,
        statistics.waiting,
        statistics.running,
        statistics.done,
        statistics.dead,
        statistics.canceled,
    ];
    assert_eq!(counts, [3, 1, 1, 1, 1, 1, 1, 0]);
    assert_eq!(statistics.unfinished(), 7);
    // That of the least priority, which was due first.
    assert_eq!(statistics.oldest_ready, Some(seconds(30)));
    let kinds = queue.statistics_by_kind().await.unwrap();
    assert_eq!((kinds["number"].ready, kinds["number"].unfinished()), (1, 1));
    assert_eq!(
        (kinds["mail"].ready, kinds["mail"].done, kinds["mail"].failed),
        (2, 1, 1)
    );
    assert_eq!(kinds["mail"].oldest_ready, Some(seconds(0)));
    clock.step(-3_600_000);
    assert_eq!(queue.statistics().await.unwrap().oldest_ready, Some(seconds(0)));
}

/// The stages of a plan, and the indexes that it reads.
fn stages(plan: &Document, found: &mut Vec<String>) {
    for (name, value) in plan {
        match value {
            Bson::String(text) if name == "stage" || name == "indexName" => found.push(text.clone()),
            Bson::Document(inner) if name != "indexBounds" && name != "keyPattern" => stages(inner, found),
            _ => {}
        }
    }
}

async fn a_claim_reads_one_key_of_one_index_in_its_order(db: &Db) {
    let (queue, _) = queue(db).await;
    queue.enqueue_many((0..300).map(Work::Number)).await.unwrap();
    let claimed = queue.claim_many(100).await.unwrap();
    queue.ack_many(&claimed).await.unwrap();
    let plan = queue.explain_claim().await.unwrap();
    let mut found = Vec::new();
    stages(
        plan.get_document("queryPlanner")
            .unwrap()
            .get_document("winningPlan")
            .unwrap(),
        &mut found,
    );
    assert!(
        found.iter().any(|stage| stage == "IXSCAN") && found.iter().any(|stage| stage == "order"),
        "{found:?}"
    );
    assert!(
        !found
            .iter()
            .any(|stage| stage.contains("SORT") || stage == "COLLSCAN"),
        "{found:?}"
    );
    let executed = plan.get_document("executionStats").unwrap();
    let examined = |name: &str| {
        executed
            .get(name)
            .and_then(|count| count.as_i64().or(count.as_i32().map(i64::from)))
    };
    assert_eq!(
        (examined("totalKeysExamined"), examined("totalDocsExamined")),
        (Some(1), Some(1))
    );
    // Nothing was changed.
    assert_eq!(queue.statistics().await.unwrap().ready, 200);
}

async fn tending_to_nothing_takes_four_round_trips(db: &Db) {
    let (queue, clock) = queue(db).await;
    queue.enqueue_many((0..5).map(Work::Number)).await.unwrap();
    queue.claim_many(2).await.unwrap();
    let (db, log) = queue.db().logged();
    assert_eq!(queue.on(&db).tend().await.unwrap(), Default::default());
    assert_eq!(log.counts(), [("find", 3), ("aggregate", 1)]);
    log.take();
    clock.advance(seconds(10));
    queue.on(&db).tend().await.unwrap();
    assert_eq!(log.counts(), [("find", 3), ("bulkWrite", 1), ("aggregate", 1)]);
}

async fn the_servers_clock_is_the_databases(db: &Db) {
    let clock = ServerClock::of(db).await.unwrap();
    assert!(clock.offset().abs() < 5_000, "{clock:?}");
    assert!(clock.age() < seconds(60) && clock.error() < seconds(5));
    let skewed = db.with_clock(|| bson::DateTime::from_millis(0));
    let clock = ServerClock::of(&skewed).await.unwrap();
    let timed = clock.db();
    let before = timed.now();
    assert!(before.timestamp_millis() > 1_700_000_000_000);
    clock.refresh().await.unwrap();
    assert!(timed.now() >= bson::DateTime::from_millis(before.timestamp_millis() - 1_000));
    let queue: Queue<Work> = Queue::with_options(&timed, "work", Options::new());
    queue.prepare().await.unwrap();
    queue.enqueue(Work::Number(1)).await.unwrap();
    assert!(queue.claim().await.unwrap().unwrap().created.timestamp_millis() > 1_700_000_000_000);
}
