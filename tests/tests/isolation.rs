//! Isolation by replay: `ODM_ISOLATION_OPS` says how many operations, `ODM_ISOLATION_SEED` which.

use odm::{ChangeLog, Db, Durability};
use odm_tests::harness::{fresh_name, mongodb_uri, with_database};
use odm_tests::isolation::{Answer, Found, History, Load, Replayed, Step, Work, replay, run};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn load(operations: u64) -> Load {
    Load {
        tasks: 12,
        operations: operations as usize,
        documents: 40,
        seed: number("ODM_ISOLATION_SEED", 1),
    }
}

/// Room for every event of a long run.
fn log() -> ChangeLog {
    ChangeLog::new().bytes(16 << 30).any_age()
}

fn judge(name: &str, history: &History) -> Replayed {
    let report = replay(history);
    println!(
        "isolation on {name}: {} operations in {} units, {} commits; {} transactions committed ({} over changed reads), \
         {} not; {} violations",
        report.operations,
        history.units.len(),
        history.commits.len(),
        report.committed,
        report.skewed,
        report.aborted,
        report.violations.len()
    );
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    report
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_is_isolated() {
    let db = Db::options()
        .change_log(log())
        .open("memory:")
        .await
        .expect("the engine opens");
    let history = run(&db, load(number("ODM_ISOLATION_OPS", 20_000))).await;
    let report = judge("memory", &history);
    assert!(report.committed > 0 && report.aborted > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn files_are_isolated() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let db = Db::options()
        .change_log(log())
        .durability(Durability::None)
        .open(&format!("native:{}", directory.path().join("db").display()))
        .await
        .expect("the engine opens");
    let history = run(&db, load(number("ODM_ISOLATION_OPS", 20_000))).await;
    judge("files", &history);
}

/// Every write waits for the disk, so that commits are of many tasks at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn durable_files_are_isolated() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("native:{}", directory.path().join("db").display());
    let db = Db::options()
        .change_log(log())
        .open(&url)
        .await
        .expect("the engine opens");
    let history = run(&db, load(number("ODM_ISOLATION_OPS", 20_000) / 10)).await;
    judge("durable files", &history);
}

/// The checker believes the server, so that it can be believed itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn mongodb_is_isolated() {
    let Some(uri) = mongodb_uri() else { return };
    let db = Db::open(&with_database(&uri, &fresh_name()))
        .await
        .expect("the server answers");
    let history = run(&db, load(number("ODM_ISOLATION_OPS", 20_000).min(20_000) / 10)).await;
    db.drop().await.expect("the database is dropped");
    judge("mongodb", &history);
}

/// The checker notices what an engine without isolation would do.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_replay_notices_what_cannot_be() {
    let db = Db::open("memory:").await.expect("the engine opens");
    let history = run(&db, load(3_000)).await;
    judge("memory", &history);
    let spoil = |what: &str, change: &dyn Fn(&mut History) -> bool| {
        let mut spoiled = history.clone();
        assert!(change(&mut spoiled), "nothing to spoil: {what}");
        assert!(!replay(&spoiled).violations.is_empty(), "unnoticed: {what}");
    };
    spoil("a lost commit", &|history| {
        history.commits.remove(history.commits.len() / 2);
        true
    });
    spoil("commits in another order", &|history| {
        let two = history
            .commits
            .windows(2)
            .position(|two| two[0].changes[0].0 == two[1].changes[0].0);
        two.inspect(|at| history.commits.swap(*at, at + 1)).is_some()
    });
    spoil("a count of nobody's", &|history| {
        history.units.iter_mut().rev().any(|unit| match &mut unit.work {
            Work::Single(Step::Read(_, Found::Count(count))) => {
                *count += 50;
                true
            }
            _ => false,
        })
    });
    spoil("a read of something that never was", &|history| {
        history.units.iter_mut().rev().any(|unit| match &mut unit.work {
            Work::Single(Step::Read(_, Found::Rows(rows))) if !rows.is_empty() => {
                rows[0].1.count += 1;
                true
            }
            _ => false,
        })
    });
    spoil("a dirty read", &|history| {
        let wrote = |step: &Step| matches!(step, Step::Write(_, Answer::Done | Answer::After(_)));
        history.units.iter_mut().any(|unit| match &mut unit.work {
            Work::Transaction(steps, done) if *done && steps.iter().any(wrote) => {
                *done = false;
                true
            }
            _ => false,
        })
    });
    spoil("a read that is too old", &|history| {
        // As if the last reads had been made before anything was written.
        let first = history.units.iter().find_map(|unit| match &unit.work {
            Work::Single(Step::Read(query, found @ Found::Rows(rows))) if !rows.is_empty() => {
                Some((*query, found.clone()))
            }
            _ => None,
        });
        let Some((query, found)) = first else { return false };
        let last = history
            .units
            .iter_mut()
            .max_by_key(|unit| unit.start)
            .expect("units");
        last.work = Work::Single(Step::Read(query, found));
        true
    });
}
