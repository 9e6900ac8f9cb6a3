//! A process that is killed at each of its write-side system calls, in a row.

use std::process::{Command, Stdio};

use super::workload::{self, State, Step, stored};
use super::*;
use crate::native::storage::file::Limits;
use crate::native::storage::log::LogLimits;

/// The child's directory.
const CHILD: &str = "ODM_KILL_CHILD";

/// What changes a file or makes a change durable.
const CALLS: &str = "pwrite64,pwritev,fdatasync,fsync,ftruncate,fallocate";

/// So small that the log grows, starts over and is passed by.
const LIMITS: Limits = Limits {
    log: LogLimits {
        first: 16 * 1024,
        step: 16 * 1024,
        most: 64 * 1024,
        largest: 40 * 1024,
    },
    recent: SMALL_RECENT,
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

/// Runs the child with something done to one of its calls; gives whether it came to its end, and how many steps
/// it acknowledged.
fn run(directory: &Directory, child: &str, calls: &str, inject: &str) -> Option<(bool, usize)> {
    let status = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e"])
        .arg(format!("trace={calls}"))
        .arg("-e")
        .arg(format!("inject={calls}:{inject}"))
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

/// Not a test: what the process runs whose calls fail.
#[test]
fn failing_child() {
    let Some(directory) = std::env::var_os(CHILD) else {
        return;
    };
    let path = PathBuf::from(&directory);
    let typed = |fault: Fault| {
        assert!(matches!(fault.class(), Class::Io | Class::InDoubt), "{fault:?}");
    };
    let location = Location::Directory(directory.into());
    let engine = match Engine::open(location, EngineOptions::default()) {
        Ok(engine) => engine,
        Err(fault) => return typed(fault),
    };
    for (at, step) in steps().into_iter().enumerate() {
        if let Err(fault) = step.run(&engine) {
            return typed(fault);
        }
        std::fs::File::create(path.with_extension(format!("ack{}", at + 1))).unwrap();
        if at % 4 == 3 {
            let _ = engine.compact().map_err(typed);
        }
        if at == 9 {
            let copied = engine.backup(&copy_of(&path), false, &mut |_| ControlFlow::Continue(()));
            let _ = copied.map_err(typed);
        }
    }
}

#[test]
fn a_failed_call_of_a_compaction_or_a_backup_loses_nothing() {
    if !can_trace() {
        return;
    }
    let mut states = vec![State::new()];
    for step in steps() {
        states.push(step.after(states.last().unwrap()));
    }
    let calls = format!("{CALLS},{MORE_CALLS}");
    let (mut runs, mut lost, mut torn) = (0, 0, 0);
    // Some calls come after the last one that is reached: they change nothing.
    for (at, error) in (1..200)
        .step_by(every())
        .flat_map(|at| [(at, "EIO"), (at, "ENOSPC"), (at, "ENOSPC+")])
    {
        let directory = Directory::new();
        let (error, when) = match error.strip_suffix('+') {
            Some(error) => (error, format!("{at}+")),
            None => (error, at.to_string()),
        };
        let inject = format!("error={error}:when={when}");
        let child = "native::engine::tests::kill::failing_child";
        let (ended, acknowledged) = run(&directory, child, &calls, &inject).unwrap();
        assert!(ended, "call {at}, {error}: not a typed error");
        let copy = Directory(copy_of(directory.path()));
        let _partial = partial_of(&copy);
        let engine = open(&directory);
        let state = stored(&engine).unwrap();
        if !states[acknowledged..].contains(&state) {
            println!("call {at}, {error}: {acknowledged} acknowledged, another state");
            lost += 1;
        }
        torn += engine.check().unwrap().problems.len();
        torn += usize::from(directory.path().join("odm.db.compact").exists());
        if copy.path().exists() {
            let engine = open(&copy);
            torn += usize::from(stored(&engine).unwrap() != states[10]);
            torn += engine.check().unwrap().problems.len();
        }
        runs += 1;
    }
    println!("runs={runs} lost={lost} torn={torn}");
    assert_eq!((lost, torn), (0, 0));
}

/// Each of so many calls is chosen.
fn every() -> usize {
    match std::env::var("ODM_KILL_EVERY") {
        Ok(every) => every.parse().unwrap(),
        Err(_) => 17,
    }
}

/// What a copy that is not whole is called.
fn partial_of(copy: &Directory) -> Directory {
    let name = copy.path().file_name().unwrap().display();
    Directory(copy.path().with_file_name(format!(".{name}.partial")))
}

fn can_trace() -> bool {
    let works = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "-e", "trace=none", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        println!("skipped: there is no strace, or it may not trace");
    }
    works
}

fn kill_at_every_call(child: &str, calls: &str) {
    if !can_trace() {
        return;
    }
    let mut states = vec![State::new()];
    for step in steps() {
        states.push(step.after(states.last().unwrap()));
    }
    let (mut kills, mut lost, mut torn) = (0, 0, 0);
    let mut at = 1;
    loop {
        let directory = Directory::new();
        let inject = format!("signal=KILL:when={at}");
        let (ended, acknowledged) = run(&directory, child, calls, &inject).unwrap();
        let copy = Directory(copy_of(directory.path()));
        let partial = partial_of(&copy);
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
        at += every();
    }
    println!("kills={kills} of the calls 1 to {at} lost={lost} torn={torn}");
    assert!(kills > 3);
    assert_eq!((lost, torn), (0, 0));
}
