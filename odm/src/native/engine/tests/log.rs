//! The log beside the database file: what opening makes of every combination of the two.

use super::disk::Disk;
use super::workload::{self, State, stored};
use super::*;
use crate::native::storage::file::Limits;
use crate::native::storage::log::LogLimits;
use crate::native::storage::{Finish, Pending, Store};

/// So small that a workload fills the log, makes it grow, starts it over and passes it by.
pub(super) const SMALL: Limits = Limits {
    log: LogLimits {
        first: 16 * 1024,
        step: 16 * 1024,
        most: 64 * 1024,
        largest: 24 * 1024,
    },
    recent: SMALL_RECENT,
};

/// Commits one put.
fn write(store: &dyn Store, finish: Finish, key: &[u8], value: &[u8]) {
    store
        .write(&mut |transaction| {
            let mut pending = Pending::default();
            pending.put(TreeId(9), key, value);
            transaction.apply(&mut pending)?;
            Ok(finish)
        })
        .unwrap();
}

/// How many keys of [`keys`] there are, which must be the first ones.
fn count(disk: &Disk) -> Result<u32> {
    let store = disk.healthy().store(SMALL)?;
    let snapshot = store.snapshot()?;
    let mut found = 0u32;
    snapshot.scan(TreeId(9), ALL, false, &mut |key, value| {
        assert_eq!(key, found.to_be_bytes());
        assert_eq!(value, vec![found as u8; 300]);
        found += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Commits the keys `range`.
fn keys(store: &dyn Store, finish: Finish, range: std::ops::Range<u32>) {
    for n in range {
        write(store, finish, &n.to_be_bytes(), &vec![n as u8; 300]);
    }
}

/// The disk as a killed process leaves it after that many durable commits.
fn killed(commits: u32) -> Disk {
    let disk = Disk::default();
    let store = disk.store(SMALL).unwrap();
    keys(&store, Finish::Durable, 0..commits);
    disk.healthy()
}

fn refused(files: [Vec<u8>; 2], expected: &str) {
    let fault = count(&Disk::with(files)).unwrap_err();
    assert_eq!(fault.class(), Class::Corrupt, "{fault:?}");
    assert!(fault.message().contains(expected), "{fault:?}");
}

#[test]
fn commits_are_found_in_the_log_and_after_each_checkpoint() {
    for commits in [0, 1, 2, 3, 30, 100, 300] {
        let disk = killed(commits);
        assert_eq!(count(&disk).unwrap(), commits);
        // Again and again: each opening is a process that was killed.
        let mut disk = disk;
        for more in 0..3 {
            let store = disk.store(SMALL).unwrap();
            keys(&store, Finish::Durable, commits + more..commits + more + 1);
            disk = disk.healthy();
            assert_eq!(count(&disk).unwrap(), commits + more + 1);
        }
    }
}

#[test]
fn a_closed_database_needs_no_log() {
    let disk = Disk::default();
    let store = disk.store(SMALL).unwrap();
    keys(&store, Finish::Durable, 0..20);
    drop(store);
    let [database, log] = disk.files();
    assert_eq!(count(&Disk::with([database.clone(), log.clone()])).unwrap(), 20);
    let without = Disk::with([database.clone(), Vec::new()]);
    assert_eq!(count(&without).unwrap(), 20);
    keys(&without.store(SMALL).unwrap(), Finish::Durable, 20..40);
    assert_eq!(count(&without).unwrap(), 40);
    // Part of a log is as good as none.
    let part = Disk::with([database, log[..9000].to_vec()]);
    keys(&part.store(SMALL).unwrap(), Finish::Durable, 20..40);
    assert_eq!(count(&part.healthy()).unwrap(), 40);
}

#[test]
fn a_checkpoint_leaves_everything_in_the_database_file() {
    let disk = Disk::default();
    let store = disk.store(SMALL).unwrap();
    keys(&store, Finish::Durable, 0..20);
    store.checkpoint().unwrap();
    let [database, log] = disk.files();
    assert_eq!(count(&Disk::with([database, log])).unwrap(), 20);
    keys(&store, Finish::Durable, 20..30);
    assert_eq!(count(&disk).unwrap(), 30);
}

#[test]
fn a_log_that_is_missing_or_cut_is_found_out() {
    let [database, log] = killed(20).files();
    refused([database.clone(), Vec::new()], "is missing");
    refused([database.clone(), vec![0; log.len()]], "is missing");
    for length in [8191, 8192, 9000, 12_288, log.len() - 1] {
        refused([database.clone(), log[..length].to_vec()], "has lost its end");
    }
    let mut damaged = log.clone();
    (damaged[20], damaged[4116]) = (1, 1);
    refused([database.clone(), damaged], "header");
    // One copy of the header is enough.
    let mut damaged = log;
    damaged[4116] ^= 1;
    assert_eq!(count(&Disk::with([database, damaged])).unwrap(), 20);
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let [database, log] = killed(20).files();
    let [_, foreign] = killed(20).files();
    refused([database.clone(), foreign.clone()], "another database");
    refused([Vec::new(), log.clone()], "another database");
    let closed = Disk::default();
    let store = closed.store(SMALL).unwrap();
    keys(&store, Finish::Durable, 0..20);
    drop(store);
    let [closed, _] = closed.files();
    refused([closed, foreign], "another database");

    // Two checkpoints later.
    let disk = Disk::with([database.clone(), log.clone()]);
    let store = disk.store(SMALL).unwrap();
    keys(&store, Finish::Durable, 20..400);
    let [later, later_log] = disk.files();
    refused([database, later_log], "older than its log");
    refused([later, log], "older than the database file");
}

/// A backup of the database file from before the last checkpoint has everything with a log that has it still.
#[test]
fn a_database_file_from_before_a_checkpoint_is_found_out() {
    let disk = Disk::default();
    let store = disk.store(SMALL).unwrap();
    keys(&store, Finish::Durable, 0..20);
    let [before, _] = disk.files();
    store.checkpoint().unwrap();
    let [_, log] = disk.files();
    assert_eq!(count(&Disk::with([before.clone(), log])).unwrap(), 20);
    keys(&store, Finish::Durable, 20..21);
    let [_, log] = disk.files();
    refused([before, log], "older than its log");
}

#[test]
fn a_damaged_record_that_was_synced_is_no_end() {
    let [database, log] = killed(20).files();
    let mut bit = Random(99);
    let value = |log: &[u8], n: u8| {
        let run = [n; 300];
        log.windows(300).position(|window| window == run).unwrap()
    };
    for n in 1..19 {
        let mut damaged = log.clone();
        damaged[value(&log, n) + bit.below(300) as usize] ^= 1;
        refused([database.clone(), damaged], "of the log is damaged");
    }
    // The last one may be torn.
    let mut damaged = log.clone();
    damaged[value(&log, 19)] ^= 1;
    let torn = Disk::with([database, damaged]);
    assert_eq!(count(&torn).unwrap(), 19);
    // Its remains are not taken for a record later.
    let store = torn.store(SMALL).unwrap();
    keys(&store, Finish::Durable, 19..20);
    assert_eq!(count(&torn).unwrap(), 20);
}

#[test]
fn large_commits_go_past_the_log() {
    let disk = Disk::default();
    let store = disk.store(SMALL).unwrap();
    write(&store, Finish::Durable, b"a", b"small");
    write(&store, Finish::Durable, b"b", &vec![7; 3_000_000]);
    write(&store, Finish::Durable, b"c", b"small");
    assert!(disk.files()[1].len() <= 64 * 1024);
    let again = disk.healthy().store(SMALL).unwrap();
    let snapshot = again.snapshot().unwrap();
    assert_eq!(
        snapshot.get(TreeId(9), b"b").unwrap().unwrap(),
        vec![7; 3_000_000]
    );
    assert_eq!(snapshot.get(TreeId(9), b"c").unwrap().unwrap(), b"small");
}

#[test]
fn logged_commits_survive_the_process_and_unlogged_ones_its_close() {
    let disk = Disk::default();
    let store = disk.store(SMALL).unwrap();
    // The first one begins the log, after every opening.
    keys(&store, Finish::Logged, 0..1);
    assert_eq!(count(&disk).unwrap(), 1);
    keys(&store, Finish::Logged, 1..10);
    assert_eq!(count(&disk).unwrap(), 10);
    drop(store);
    let store = disk.store(SMALL).unwrap();
    assert!(!store.is_roomy(), "the next commit waits for the disk");
    keys(&store, Finish::Logged, 10..11);
    assert_eq!(count(&disk).unwrap(), 11);
    keys(&store, Finish::Logged, 11..15);
    assert_eq!(count(&disk).unwrap(), 15);
    keys(&store, Finish::Relaxed, 15..20);
    // What comes after an unlogged commit cannot be logged before the next checkpoint.
    keys(&store, Finish::Logged, 20..22);
    assert_eq!(count(&disk).unwrap(), 15);
    keys(&store, Finish::Durable, 22..23);
    assert_eq!(count(&disk).unwrap(), 23);
    // When the log is full, it is grown and begun anew.
    for n in 23..300 {
        keys(&store, Finish::Logged, n..n + 1);
        assert_eq!(count(&disk).unwrap(), n + 1);
    }
    // What is too large for it waits for the sync, and what comes behind it too.
    write(&store, Finish::Logged, b"large", &[0; 30_000]);
    keys(&store, Finish::Logged, 300..301);
    assert_eq!(count(&disk).unwrap(), 300);
    store
        .write(&mut |transaction| {
            let mut pending = Pending::default();
            pending.remove(TreeId(9), b"large");
            transaction.apply(&mut pending)?;
            Ok(Finish::Durable)
        })
        .unwrap();
    assert_eq!(count(&disk).unwrap(), 301);
    keys(&store, Finish::Relaxed, 301..310);
    drop(store);
    assert_eq!(count(&disk).unwrap(), 310);
}

/// The default log has room for a while when it is begun, so that whoever writes does not wait for the disk.
#[test]
fn a_log_that_is_begun_is_roomy() {
    let store = Disk::default().store(Limits::default()).unwrap();
    keys(&store, Finish::Logged, 0..1);
    assert!(store.is_roomy());
    let mut n = 1;
    while store.is_roomy() {
        keys(&store, Finish::Logged, n..n + 1);
        n += 1;
    }
    assert!(n > 300, "{n}");
    keys(&store, Finish::Logged, n..n + 1000);
    assert!(store.is_roomy());
    // Whoever syncs sees to it that there is room again.
    store.write(&mut |_| Ok(Finish::Durable)).unwrap();
    assert!(store.is_roomy());
}

#[test]
fn cleared_trees_and_drops_are_replayed() {
    let disk = Disk::default();
    let engine = Engine::with_store(
        Arc::new(disk.store(Limits::default()).unwrap()),
        Some(Durability::Immediate),
    )
    .unwrap();
    let mut state = State::new();
    for step in workload::fixed().into_iter().chain(workload::bulk(300)) {
        step.run(&engine).unwrap();
        state = step.after(&state);
        let killed = disk.healthy();
        let reopened = killed.engine(Durability::None).unwrap();
        assert!(stored(&reopened).unwrap() == state);
        assert_eq!(reopened.check().unwrap().problems, []);
    }
}

#[test]
fn a_log_of_a_later_format_is_refused() {
    let [database, mut log] = killed(3).files();
    (log[8], log[4104]) = (9, 9);
    let fault = count(&Disk::with([database, log])).unwrap_err();
    assert_eq!(fault.class(), Class::Unsupported, "{fault:?}");
    assert!(fault.message().contains("format 9"), "{fault:?}");
}

#[test]
fn a_log_of_before_a_compaction_is_not_replayed_after_it() {
    let disk = Disk::default();
    let store = disk.store(SMALL).unwrap();
    keys(&store, Finish::Durable, 0..20);
    let [before, old_log] = disk.files();
    let store = store.compacted().unwrap().unwrap();
    assert!(!disk.has("odm.db.compact"));
    let [after, log] = disk.files();
    // The old file with the log as it is now, the new one with the log as it was: nobody knows which of these a
    // crash finds.
    for database in [&before, &after] {
        for log in [&old_log, &log] {
            assert_eq!(count(&Disk::with([database.clone(), log.clone()])).unwrap(), 20);
        }
    }
    assert_eq!(count(&Disk::with([after.clone(), Vec::new()])).unwrap(), 20);

    keys(&*store, Finish::Durable, 20..23);
    assert_eq!(count(&disk).unwrap(), 23);
    let [later, later_log] = disk.files();
    refused([before, later_log.clone()], "older than its log");
    refused([after, later_log], "older than its log");
    refused([later, old_log], "older than the database file");

    // It goes on, and is compacted again.
    let store = store.compacted().unwrap().unwrap();
    keys(&*store, Finish::Logged, 23..40);
    keys(&*store, Finish::Durable, 40..300);
    assert_eq!(count(&disk).unwrap(), 300);
    drop(store);
    assert_eq!(count(&disk).unwrap(), 300);
}

#[test]
fn a_compaction_takes_what_the_log_does_not_have() {
    for finish in [Finish::Relaxed, Finish::Logged] {
        let disk = Disk::default();
        let store = disk.store(SMALL).unwrap();
        keys(&store, finish, 0..50);
        let compacted = store.compacted().unwrap().unwrap();
        assert_eq!(count(&disk).unwrap(), 50);
        // The old store is closed later than its successor writes.
        keys(&*compacted, Finish::Durable, 50..60);
        drop(store);
        assert_eq!(count(&disk).unwrap(), 60);
        keys(&*compacted, Finish::Durable, 60..70);
        assert_eq!(count(&disk).unwrap(), 70);
    }
}
