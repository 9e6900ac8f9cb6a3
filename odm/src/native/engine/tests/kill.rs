//! A process that is killed at each of its write-side system calls, in a row.

use std::process::{Command, Stdio};

use super::workload::{self, State, Step, stored};
use super::*;

/// The child's directory.
const CHILD: &str = "ODM_KILL_CHILD";

/// What changes a file or makes a change durable.
const CALLS: &str = "pwrite64,pwritev,fdatasync,fsync,ftruncate,fallocate";

fn steps() -> Vec<Step> {
    // The first calls of the engine's thread are not reached: strace counts per thread, and the thread that
    // opens the file comes first. They go to steps of which there are more.
    workload::fixed()
        .into_iter()
        .take(11)
        .chain(workload::bulk(300))
        .collect()
}

/// What a compaction and a backup do besides.
const MORE_CALLS: &str = "mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir";

/// Where the child that is maintained copies itself to.
fn copy_of(directory: &Path) -> PathBuf {
    directory.with_extension("copy")
}

/// Not a test: what the killed process runs in the second case.
#[test]
fn maintained_child() {
    let Some(directory) = std::env::var_os(CHILD) else {
        return;
    };
    let path = PathBuf::from(&directory);
    let engine = Engine::open(Location::Directory(directory.into()), EngineOptions::default()).unwrap();
    for (at, step) in steps().into_iter().enumerate() {
        step.run(&engine).unwrap();
        std::fs::File::create(path.with_extension(format!("ack{}", at + 1))).unwrap();
        if at % 4 == 3 {
            engine.compact().unwrap();
        }
        if at == 9 {
            let copied = engine.backup(&copy_of(&path), false, &mut |_| ControlFlow::Continue(()));
            copied.unwrap();
        }
    }
}

/// Not a test: what the killed process runs.
#[test]
fn child() {
    let Some(directory) = std::env::var_os(CHILD) else {
        return;
    };
    let location = Location::Directory(directory.into());
    let engine = Engine::open(location, EngineOptions::default()).unwrap();
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
fn run(directory: &Directory, child: &str, calls: &str, at: usize) -> Option<(bool, usize)> {
    let status = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("trace={calls}"))
        .arg("-e")
        .arg(format!("inject={calls}:signal=KILL:when={at}"))
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", child, "--test-threads=1"])
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
    kill_at_every_call("native::engine::tests::kill::child", CALLS);
}

#[test]
fn a_kill_at_any_call_of_a_compaction_or_a_backup_loses_nothing() {
    let calls = format!("{CALLS},{MORE_CALLS}");
    kill_at_every_call("native::engine::tests::kill::maintained_child", &calls);
}

fn kill_at_every_call(child: &str, calls: &str) {
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
        Err(_) => 37,
    };
    let mut states = vec![State::new()];
    for step in steps() {
        states.push(step.after(states.last().unwrap()));
    }
    let (mut kills, mut lost, mut torn) = (0, 0, 0);
    let mut at = 1;
    loop {
        let directory = Directory::new();
        let (ended, acknowledged) = run(&directory, child, calls, at).unwrap();
        let copy = Directory(copy_of(directory.path()));
        let partial = Directory(
            copy.path()
                .with_file_name(format!(".{}.partial", copy.path().file_name().unwrap().display())),
        );
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
        // A backup is whole or not there; what is left of one that is not is no hindrance.
        if copy.path().exists() {
            let engine = open(&copy);
            torn += usize::from(!states.contains(&stored(&engine).unwrap()));
            torn += engine.check().unwrap().problems.len();
        } else if partial.path().exists() {
            let copied = engine.backup(copy.path(), false, &mut |_| ControlFlow::Continue(()));
            copied.unwrap();
            torn += usize::from(partial.path().exists());
            torn += usize::from(stored(&open(&copy)).unwrap() != state);
        }
        torn += usize::from(directory.path().join("odm.db.compact").exists());
        at += every;
    }
    println!("kills={kills} of the calls 1 to {at} lost={lost} torn={torn}");
    assert!(kills > 3);
    assert_eq!((lost, torn), (0, 0));
}
