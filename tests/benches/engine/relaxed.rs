//! P4: relaxed writes of one client: insert, increment, claiming a job from a queue.

use bson::doc;
use odm_tests::measure::{Job, Server, Settings, Thing, compare, count_fsyncs, per_operation};

use crate::{RELAXED, child, directory, faster, inserts, no_server, open, prepare};

const CLASS: &str = "durable within 100 ms, j: false";

pub(crate) async fn one_client(settings: &Settings, server: Option<&Server>) {
    let rounds = settings.choose(11, 41);
    let each = 100;
    if let Some(fsyncs) = per_operation(100, 5_100, |n| {
        count_fsyncs(&child::arguments("insert-relaxed", n))
    }) {
        println!("P4: {fsyncs:.4} fsyncs an operation");
    }
    let Some(server) = server else {
        return no_server("P4");
    };
    let directory = directory();
    let db = open::<Thing>(&directory, RELAXED).await;
    let collection = db.collection::<Thing>();
    prepare::<Thing>(server).await;
    let theirs = server.collection::<Thing>("things", false);
    let result = inserts(&collection, &theirs, 0, [rounds, each]).await;
    faster("P4 insert", "driver and mongod", CLASS, result, 8.0);

    let there = (rounds * each) as i64;
    let ids = |round: usize| (0..each).map(move |n| (round * each + n) as i64 * 7_919 % there);
    let result = compare(
        rounds,
        each,
        async |round| {
            for id in ids(round) {
                let done = collection.update_one(|t| t.id.eq(id), |t| t.count.inc(1)).await;
                assert_eq!(done.expect("an update").modified, 1);
            }
        },
        async |round| {
            for id in ids(round) {
                let done = theirs
                    .update_one(doc! { "_id": id }, doc! { "$inc": { "count": 1_i64 } })
                    .await;
                assert_eq!(done.expect("an update").modified_count, 1);
            }
        },
    )
    .await;
    faster("P4 inc", "driver and mongod", CLASS, result, 15.0);
    claim(rounds, server).await;
}

async fn claim(rounds: usize, server: &Server) {
    let each = 50;
    let directory = directory();
    let db = open::<Job>(&directory, RELAXED).await;
    let collection = db.collection::<Job>();
    prepare::<Job>(server).await;
    let theirs = server.collection::<Job>("jobs", false);
    let jobs: Vec<_> = (0..((rounds + 2) * each) as i64).map(Job::ready).collect();
    collection.insert_many(&jobs).await.expect("inserted");
    theirs.insert_many(&jobs).await.expect("inserted");
    let result = compare(
        rounds,
        each,
        async |_| {
            for _ in 0..each {
                let claimed = collection
                    .find_one_and_update(
                        |j| j.state.eq("ready"),
                        |j| j.state.set("running") & j.tries.inc(1),
                    )
                    .sort(|j| j.due.asc())
                    .return_new()
                    .await;
                assert!(claimed.expect("a claim").is_some());
            }
        },
        async |_| {
            for _ in 0..each {
                let claimed = theirs
                    .find_one_and_update(
                        doc! { "state": "ready" },
                        doc! { "$set": { "state": "running" }, "$inc": { "tries": 1 } },
                    )
                    .sort(doc! { "due": 1 })
                    .return_document(odm::mongodb::driver::options::ReturnDocument::After)
                    .await;
                assert!(claimed.expect("a claim").is_some());
            }
        },
    )
    .await;
    faster("P4 claim", "driver and mongod", CLASS, result, 15.0);
}
