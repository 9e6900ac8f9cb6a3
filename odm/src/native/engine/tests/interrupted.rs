//! Compactions on a disk that fails, and what is left of the log of changes when it is damaged.

use super::disk::{Disk, EIO, ENOSPC};
use super::workload::{self, State, stored};
use super::*;
use crate::native::storage::format::LogHead;

/// Runs the steps; the state that they make.
fn run(engine: &Engine, steps: &[workload::Step], state: &mut State) {
    for step in steps {
        step.run(engine).unwrap();
        *state = step.after(state);
    }
}

#[test]
fn any_call_of_a_compaction_may_fail() {
    let every: usize = match std::env::var("ODM_FAULT_EVERY") {
        Ok(every) => every.parse().unwrap(),
        Err(_) => 3,
    };
    let steps = workload::fixed();
    let (before, after) = steps.split_at(11);
    let (mut runs, mut refused, mut in_doubt, mut went_on) = (0, 0, 0, 0);
    for durability in [Durability::Immediate, Durability::None] {
        for (error, once, reads) in [
            (EIO, true, false),
            (ENOSPC, false, false),
            (EIO, true, true),
            (EIO, false, true),
        ] {
            for at in (1..).step_by(every) {
                let disk = Disk::default();
                let engine = disk.engine(durability).unwrap();
                let mut state = State::new();
                run(&engine, before, &mut state);
                disk.count_reads(reads);
                let fail_at = disk.changes() + at;
                disk.fail(fail_at, once, error);
                let compacted = engine.compact();
                let ended = disk.changes() < fail_at;
                match &compacted {
                    Ok(_) => {}
                    Err(fault) => {
                        assert!(matches!(fault.class(), Class::Io | Class::InDoubt), "{fault:?}");
                        refused += 1;
                        in_doubt += usize::from(fault.class() == Class::InDoubt);
                    }
                }
                match stored(&engine) {
                    Ok(found) => assert!(found == state, "call {at}: another state"),
                    Err(fault) => assert!(reads && fault.class() == Class::Io, "call {at}: {fault:?}"),
                }
                // The call that failed was none of the compaction's.
                let later = ended && disk.changes() >= fail_at;
                disk.heal();
                // What is written from now on is found, or refused.
                let mut possible = vec![state.clone()];
                for step in after {
                    let next = step.after(possible.last().unwrap());
                    match step.run(&engine) {
                        Ok(()) => possible = vec![next],
                        Err(fault) => {
                            assert!(matches!(fault.class(), Class::Io | Class::InDoubt), "{fault:?}");
                            possible.push(next);
                            break;
                        }
                    }
                }
                let whole = possible.len() == 1;
                assert!(whole || compacted.is_err() || later, "call {at}: {compacted:?}");
                went_on += usize::from(whole && compacted.is_err());
                if !whole && durability == Durability::None {
                    // What was not durable may be lost when the compaction's checkpoint failed.
                    possible.extend([State::new()].into_iter().chain(workload_states(before)));
                }
                let killed = match durability {
                    Durability::Immediate => disk.healthy(),
                    _ => {
                        drop(engine);
                        disk.healthy()
                    }
                };
                let engine = killed.engine(Durability::Immediate).unwrap();
                assert!(possible.contains(&stored(&engine).unwrap()), "call {at}: lost");
                assert_eq!(engine.check().unwrap().problems, []);
                assert!(!killed.has("odm.db.compact"));
                engine.compact().unwrap();
                assert!(possible.contains(&stored(&engine).unwrap()), "call {at}: lost");
                runs += 1;
                if ended {
                    break;
                }
            }
        }
    }
    println!("runs={runs} refused={refused} of them in doubt={in_doubt} went on={went_on}");
    assert!(refused > 20 && in_doubt > 0 && went_on > 0);
}

/// The state after each step.
fn workload_states(steps: &[workload::Step]) -> Vec<State> {
    let mut state = State::new();
    steps
        .iter()
        .map(|step| {
            state = step.after(&state);
            state.clone()
        })
        .collect()
}

/// A directory as a killed process leaves it.
fn killed(directory: &Directory) -> Directory {
    let copy = Directory::new();
    std::fs::create_dir(copy.path()).unwrap();
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

#[test]
fn a_backup_goes_on_as_a_database_of_its_own() {
    let directory = Directory::new();
    let engine = open(&directory);
    let c = collection(&engine, "c");
    for n in 0..20 {
        insert(&engine, &c, n).unwrap();
    }
    let copy = Directory::new();
    engine
        .backup(copy.path(), false, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let count = |engine: &Engine| entries(&*engine.view().unwrap(), c.records).len();

    // A log of the original is another database's.
    let mixed = killed(&copy);
    std::fs::copy(directory.path().join("odm.log"), mixed.path().join("odm.log")).unwrap();
    let fault = open_with(&mixed, Durability::Immediate).unwrap_err();
    assert_eq!(fault.class(), Class::Corrupt);
    assert!(fault.message().contains("another database"), "{fault:?}");

    // It takes writes, is killed, and opens again.
    let restored = open(&copy);
    assert_eq!(count(&restored), 20);
    for n in 20..30 {
        insert(&restored, &c, n).unwrap();
    }
    let again = killed(&copy);
    let again = open(&again);
    assert_eq!(count(&again), 30);
    assert_eq!(again.check().unwrap().problems, []);
    assert_eq!(count(&engine), 20);
}

#[test]
fn a_damaged_log_of_changes_can_be_given_up() {
    for key in [LogHead::KEY, &[0x70; 12]] {
        let directory = Directory::new();
        let engine = open(&directory);
        let c = collection(&engine, "c");
        wait(engine.begin_log()).unwrap();
        insert(&engine, &c, 1).unwrap();
        put(&engine, TreeId::CHANGES, key, b"damaged").unwrap();
        drop(engine);
        let fault = open_with(&directory, Durability::Immediate).unwrap_err();
        assert_eq!(fault.class(), Class::Corrupt, "{fault:?}");
        let options = EngineOptions {
            changes: ChangeWindow {
                enabled: false,
                ..ChangeWindow::default()
            },
            ..EngineOptions::default()
        };
        let location = Location::Directory(directory.path().to_owned());
        let engine = Engine::open(location, options).unwrap();
        assert_eq!(entries(&*engine.view().unwrap(), TreeId::CHANGES), []);
        insert(&engine, &c, 2).unwrap();
        assert_eq!(engine.check().unwrap().problems, []);
        drop(engine);
        let engine = open(&directory);
        assert_eq!(entries(&*engine.view().unwrap(), c.records).len(), 2);
        wait(engine.begin_log()).unwrap();
    }
}
