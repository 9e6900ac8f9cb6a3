//! A process that is killed at each of its write-side system calls, in a row.

use std::process::{Command, Stdio};

use super::workload::{self, State, Step, stored};
use super::*;
use crate::native::storage::log::LogLimits;

/// The child's directory.
const CHILD: &str = "ODM_KILL_CHILD";

/// What changes a file or makes a change durable.
const CALLS: &str = "pwrite64,pwritev,fdatasync,fsync,ftruncate,fallocate";

/// So small that the log grows, starts over and is passed by.
const LIMITS: LogLimits = LogLimits {
    first: 16 * 1024,
    step: 16 * 1024,
    most: 64 * 1024,
    largest: 40 * 1024,
};

fn steps() -> Vec<Step> {
    // The first calls of the engine's thread are not reached: strace counts per thread, and the thread that
    // opens the file comes first. They go to steps of which there are more.
    workload::fixed()
        .into_iter()
        .take(11)
        .chain(workload::bulk(300))
        .collect()
}

/// Not a test: what the killed process runs.
#[test]
fn child() {
    let Some(directory) = std::env::var_os(CHILD) else {
        return;
    };
    let store = FileStore::open_with(Path::new(&directory), 64 << 20, LIMITS).unwrap();
    let engine = Engine::with_store(Arc::new(store), Some(Durability::Immediate)).unwrap();
    for (at, step) in steps().into_iter().enumerate() {
        step.run(&engine).unwrap();
        // A whole file per acknowledgement: standard output is the test harness's.
        let path = std::env::var_os(CHILD).unwrap();
        let acknowledged = std::path::PathBuf::from(path).with_extension(format!("ack{}", at + 1));
        std::fs::File::create(acknowledged).unwrap();
    }
}

/// Runs the child until its call number `at`; gives whether it came to its end, and how many steps it
/// acknowledged.
fn run(directory: &Directory, at: usize) -> Option<(bool, usize)> {
    let status = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("trace={CALLS}"))
        .arg("-e")
        .arg(format!("inject={CALLS}:signal=KILL:when={at}"))
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "native::engine::tests::kill::child",
            "--test-threads=1",
        ])
        .env(CHILD, directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    let mut acknowledged = 0;
    loop {
        let file = directory
            .path()
            .with_extension(format!("ack{}", acknowledged + 1));
        if std::fs::remove_file(file).is_err() {
            return Some((status.success(), acknowledged));
        }
        acknowledged += 1;
    }
}

#[test]
fn a_kill_at_any_call_loses_nothing() {
    let works = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "-e", "trace=none", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        println!("skipped: there is no strace, or it may not trace");
        return;
    }
    let every: usize = match std::env::var("ODM_KILL_EVERY") {
        Ok(every) => every.parse().unwrap(),
        Err(_) => 17,
    };
    let mut states = vec![State::new()];
    for step in steps() {
        states.push(step.after(states.last().unwrap()));
    }
    let (mut kills, mut lost, mut torn) = (0, 0, 0);
    let mut at = 1;
    loop {
        let directory = Directory::new();
        let (ended, acknowledged) = run(&directory, at).unwrap();
        if ended {
            assert_eq!(acknowledged, states.len() - 1);
            break;
        }
        kills += 1;
        assert!(kills < 10_000, "the child does not come to its end");
        let engine = open(&directory);
        let state = stored(&engine).unwrap();
        let problems = engine.check().unwrap().problems;
        let next = (acknowledged + 1).min(states.len() - 1);
        if !states[acknowledged..=next].contains(&state) {
            println!("call {at}: {acknowledged} acknowledged, another state");
            match states[..acknowledged].contains(&state) {
                true => lost += 1,
                false => torn += 1,
            }
        }
        if !problems.is_empty() {
            println!("call {at}: {problems:?}");
            torn += 1;
        }
        at += every;
    }
    println!("kills={kills} of the calls 1 to {at} lost={lost} torn={torn}");
    assert!(kills > 3);
    assert_eq!((lost, torn), (0, 0));
}
