//! P2 and P3: durable inserts, from one writer and from 64 at once.

use odm::Durability;
use odm_tests::measure::{
    Bare, Server, Settings, Thing, compare, compare_uneven, count_fsyncs, count_instructions, per_operation,
    verdict,
};

use crate::{child, describe, directory, faster, inserts, no_server, open, prepare, things};

const CLASS: &str = "immediate durability, j: true";
const TASKS: usize = 64;
/// How many inserts of a single writer stand against them.
const ALONE: usize = 16;

pub(crate) async fn one_writer(settings: &Settings, server: Option<&Server>) {
    let rounds = settings.choose(7, 31);
    let each = 20;
    let fsyncs = per_operation(500, 2_500, |n| count_fsyncs(&child::arguments("insert", n)));
    if let Some(fsyncs) = fsyncs {
        println!("P2: {fsyncs:.2} fsyncs an operation");
        verdict("P2 fsyncs", (fsyncs * 100.0).round() / 100.0, 1.0, false);
    }
    let counted = [20, 120];
    let [ours, bare] = ["insert", "bare-insert"].map(|kind| {
        per_operation(counted[0], counted[1], |n| {
            count_instructions(&child::arguments(kind, n))
        })
    });
    if let (Some(ours), Some(bare)) = (ours, bare) {
        println!("P2: native {ours:.0}, bare store {bare:.0} instructions an operation; {CLASS}");
        verdict("P2 instructions", ours / bare, 1.15, false);
    }

    let directory = directory();
    let db = open::<Thing>(&directory, Durability::Immediate).await;
    let collection = db.collection::<Thing>();
    let mut bare = Bare::create(directory.path());
    let own = things(0, rounds, each);
    let result = compare(
        rounds,
        each,
        async |round| {
            for thing in &own[round] {
                collection.insert(thing).await.expect("an insert");
            }
        },
        async |round| {
            for thing in &own[round] {
                bare.insert(std::slice::from_ref(thing), true);
            }
        },
    )
    .await;
    // The store's own cost is held to in instructions: these times are the disk's.
    describe("P2", "bare store", CLASS, result);

    let Some(server) = server else {
        return no_server("P2");
    };
    prepare::<Thing>(server).await;
    let theirs = server.collection::<Thing>("things", true);
    let result = inserts(&collection, &theirs, 1 << 40, [rounds, each]).await;
    faster("P2", "driver and mongod", CLASS, result, 1.0);
}

pub(crate) async fn many_writers(settings: &Settings, server: Option<&Server>) {
    let rounds = settings.choose(5, 15);
    let each = TASKS * settings.choose(8, 16);
    let class = format!("{TASKS} tasks, {CLASS}");
    let fsyncs = per_operation(640, 6_400, |n| count_fsyncs(&child::arguments("insert-64", n)));
    if let Some(fsyncs) = fsyncs {
        println!("P3: {fsyncs:.4} fsyncs an operation");
        verdict("P3 documents-per-fsync", 1.0 / fsyncs, 32.0, true);
    }

    let directory = directory();
    let db = open::<Thing>(&directory, Durability::Immediate).await;
    let collection = db.collection::<Thing>();
    let own = things(0, rounds, each);
    let alone = things(1 << 41, rounds, ALONE);
    let (mut at_once, mut single) = (own.clone().into_iter(), alone.iter());
    let result = compare_uneven(
        rounds,
        [each, ALONE],
        async |_| {
            child::insert_at_once(&db, at_once.next().unwrap_or_default(), TASKS).await;
        },
        async |_| {
            for thing in single.next().into_iter().flatten() {
                collection.insert(thing).await.expect("an insert");
            }
        },
    )
    .await;
    println!(
        "P3: {TASKS} tasks {:.2} us, one {:.2} us an operation; immediate durability",
        result.ours, result.theirs
    );
    verdict("P3 batching", result.speedup, 20.0, true);

    let Some(server) = server else {
        return no_server("P3");
    };
    prepare::<Thing>(server).await;
    let theirs = server.collection::<Thing>("things", true);
    let (mut ours_next, mut theirs_next) = (things(1 << 42, rounds, each).into_iter(), own.into_iter());
    let result = compare(
        rounds,
        each,
        async |_| child::insert_at_once(&db, ours_next.next().unwrap_or_default(), TASKS).await,
        async |_| {
            let mut things = theirs_next.next().unwrap_or_default();
            let mut running = Vec::new();
            while !things.is_empty() {
                let own = things.split_off(things.len().saturating_sub(each / TASKS));
                let theirs = theirs.clone();
                running.push(tokio::spawn(async move {
                    for thing in own {
                        theirs.insert_one(thing).await.expect("an insert");
                    }
                }));
            }
            for task in running {
                task.await.expect("no panic");
            }
        },
    )
    .await;
    faster("P3", "driver and mongod", &class, result, 3.0);
}
