//! The history of a queue whose workers are killed while the clock jumps. `ODM_QUEUE_JOBS`, `ODM_QUEUE_WORKERS`,
//! `ODM_QUEUE_KILLS` and `ODM_QUEUE_JUMPS` say how much, `ODM_QUEUE_SEED` which.

use odm::{Db, Durability};
use odm_tests::harness::{fresh_name, mongodb_uri, with_database};
use odm_tests::queue::{Event, History, Load, Verdict, What, judge, run};

fn number(name: &str, default: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn load() -> Load {
    Load {
        jobs: number("ODM_QUEUE_JOBS", 400),
        workers: number("ODM_QUEUE_WORKERS", 16),
        kills: number("ODM_QUEUE_KILLS", 20),
        jumps: number("ODM_QUEUE_JUMPS", 6),
        seed: number("ODM_QUEUE_SEED", 1) as u64,
    }
}

fn check(name: &str, history: &History) -> Verdict {
    let verdict = judge(history);
    println!(
        "queue on {name}: {} jobs, {} claims, {} workers killed, {} jumps of the clock, {} recoveries (slowest {} ms, {} \
         ms over a jump), {} refused with an old token; {} violations",
        history.enqueued,
        verdict.claims,
        history.kills,
        history.jumps.len(),
        verdict.recoveries,
        verdict.slowest,
        verdict.slowest_set_back,
        verdict.refused,
        verdict.violations.len()
    );
    assert!(verdict.violations.is_empty(), "{:#?}", verdict.violations);
    assert!(history.jobs.len() == history.enqueued && history.enqueued > 0);
    verdict
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn in_memory() {
    let db = Db::open("memory:").await.expect("the engine opens");
    check("memory", &run(&db, load()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_files() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let db = Db::options()
        .durability(Durability::None)
        .open(&format!("native:{}", directory.path().join("db").display()))
        .await
        .expect("the engine opens");
    check("files", &run(&db, load()).await);
    assert!(db.check().await.expect("checked").is_clean());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_mongodb() {
    let Some(uri) = mongodb_uri() else { return };
    let db = Db::open(&with_database(&uri, &fresh_name()))
        .await
        .expect("the server answers");
    let history = run(&db, load()).await;
    db.drop().await.expect("the database is dropped");
    check("mongodb", &history);
}

/// The judge notices what a queue without fencing would do.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_judge_notices_what_cannot_be() {
    let db = Db::open("memory:").await.expect("the engine opens");
    let load = Load { jobs: 300, ..load() };
    let history = run(&db, load).await;
    check("memory", &history);
    let spoil = |what: &str, change: &dyn Fn(&mut History) -> bool| {
        let mut spoiled = history.clone();
        assert!(change(&mut spoiled), "nothing to spoil: {what}");
        assert!(!judge(&spoiled).violations.is_empty(), "unnoticed: {what}");
    };
    spoil("a lost job", &|history| history.jobs.pop().is_some());
    spoil("an unfinished job", &|history| {
        history.jobs[0].state = odm_patterns::queue::State::Ready;
        true
    });
    spoil("two leases of one token", &|history| {
        let claim = history
            .events
            .iter()
            .find(|event| matches!(event.what, What::Claimed(_)));
        let Some(claim) = claim.cloned() else { return false };
        history.events.push(claim);
        true
    });
    spoil("an old token that was accepted", &|history| {
        let newest = history
            .jobs
            .iter()
            .map(|job| (job.id, job.lease.as_ref().map_or(0, |lease| lease.1)));
        let newest: std::collections::HashMap<_, _> = newest.collect();
        let given = |event: &&Event| matches!(event.what, What::Claimed(_)) && event.end.is_some();
        let mut claims = history.events.iter().filter(given);
        let Some(old) = claims.find(|claim| claim.token < newest[&claim.job]) else {
            return false;
        };
        let late = Event {
            what: What::Acked(true),
            start: u64::MAX - 1,
            end: Some(u64::MAX),
            ..old.clone()
        };
        history.events.push(late);
        true
    });
    spoil("too many attempts", &|history| {
        history.jobs[0].attempts = 1_000;
        true
    });
    spoil("a group out of order", &|history| {
        let group = |at: usize| history.jobs[at].job.group;
        let pair = (0..history.jobs.len()).find_map(|first| {
            let second = (0..first).find(|second| group(*second).is_some() && group(*second) == group(first));
            second.map(|second| (first, second))
        });
        let Some((first, second)) = pair else { return false };
        let number = history.jobs[first].job.number;
        history.jobs[first].job.number = history.jobs[second].job.number;
        history.jobs[second].job.number = number;
        true
    });
    spoil("a lease that was taken while it was alive", &|history| {
        history.jumps.clear();
        let given: Vec<_> = history
            .events
            .iter()
            .map(|event| (event.job, event.token))
            .collect();
        let taken = history.events.iter_mut().filter(|event| {
            matches!(event.what, What::Claimed(_)) && given.contains(&(event.job, event.token + 1))
        });
        taken.map(|claim| claim.began += 1_000_000).count() > 0
    });
    spoil("late recoveries", &|history| {
        let claims = history
            .events
            .iter_mut()
            .filter(|event| matches!(event.what, What::Claimed(_)));
        claims
            .map(|claim| claim.steady += claim.token * 1_000_000)
            .count()
            > 0
    });
}
