//! Processes that are killed while they migrate, on the embedded engine.
//!
//! `ODM_CRASH_KILLS` sets the number of kills at least, 24 unless given; `ODM_CRASH_SEED` replays their times.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use odm::Db;
use odm_tests::killed_migrations::{check, look, migrations, prepare};
use odm_tests::random::Random;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

async fn open(directory: &Path) -> Db {
    let db = Db::open(&format!("native:{}", directory.display())).await;
    db.expect("the directory opens")
}

fn spawn(way: &str, lease: &str, directory: &Path) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_crash-migrator"))
        .args([way, lease])
        .arg(directory)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the migrator starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe"))
        .read_line(&mut line)
        .expect("the migrator opens the directory");
    child
}

/// Lets a migrator run to its end, or for so long.
fn run(way: &str, lease: &str, directory: &Path, time: Option<Duration>) -> ExitStatus {
    let mut child = spawn(way, lease, directory);
    if let Some(time) = time {
        std::thread::sleep(time);
        child.kill().expect("the migrator is killed");
    }
    child.wait().expect("the migrator ends")
}

#[test]
fn killed_migrations_are_done_once() {
    let wanted = number("ODM_CRASH_KILLS").unwrap_or(24);
    let seed = number("ODM_CRASH_SEED").unwrap_or_else(|| {
        let since = SystemTime::UNIX_EPOCH.elapsed().expect("a clock");
        since.as_nanos() as u64
    });
    println!("ODM_CRASH_SEED={seed}");
    let runtime = runtime();
    let mut random = Random::new(seed);
    let (mut kills, mut rounds, mut amid) = (0, 0, 0);
    // How long it takes without a kill.
    let mut whole = None;
    while kills < wanted {
        rounds += 1;
        assert!(rounds < 20 + wanted * 10, "no process is killed in time");
        let directory = tempfile::tempdir().expect("a directory");
        let directory = directory.path();
        runtime.block_on(async { prepare(&open(directory).await).await.expect("people") });
        for (way, is_up) in [("up", true), ("down", false)] {
            let begun = Instant::now();
            let killed_before = kills;
            loop {
                let lease = if random.one_in(4) { "wait" } else { "break" };
                let time = whole
                    .filter(|_| kills - killed_before < 12)
                    .map(|whole: Duration| whole.mul_f64(random.below(1000) as f64 / 1000.0));
                let status = run(way, lease, directory, time);
                if status.success() {
                    break;
                }
                assert!(status.code().is_none(), "the migrator failed: {status}");
                kills += 1;
                runtime.block_on(async {
                    let db = open(directory).await;
                    look(&db, is_up).await.expect("the database is read");
                    let status = migrations().status(&db).await.expect("the records are read");
                    amid += u64::from(status.lease.is_some());
                });
            }
            runtime.block_on(async {
                let db = open(directory).await;
                check(&db, is_up).await.expect("the database is read");
            });
            // The first round is killed nowhere.
            whole = whole.or(is_up.then(|| begun.elapsed()));
        }
    }
    println!("kills={kills} rounds={rounds} while a step ran={amid}");
    assert!(amid > 0);
}
