//! The engine on disks that fail, lose what was not synced, or flip bits.

use super::workload::{self, State, stored};
use super::*;
use crate::native::storage::file::Limits;
use crate::native::storage::file::directory::{Identity, Place};
use crate::native::storage::file::{FILE_NAME, LOG_FILE_NAME};
use crate::native::storage::log::LogLimits;

pub(super) const EIO: i32 = 5;
pub(super) const ENOSPC: i32 = 28;

/// A disk in memory whose calls fail from a chosen one on.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<std::sync::Mutex<DiskState>>);

#[derive(Debug, Default)]
pub(super) struct DiskState {
    /// Those that have no name any more are still there for whoever has them open.
    files: Vec<Vec<u8>>,
    names: BTreeMap<String, usize>,
    changes: usize,
    fail_at: Option<usize>,
    /// Only this call fails.
    once: bool,
    /// The system's error number that a failing call gives.
    error: i32,
    /// Reads count as well.
    reads: bool,
    /// Each file at its last sync, when that is kept.
    synced: Option<BTreeMap<usize, Vec<u8>>>,
}

/// One file of a disk.
#[derive(Clone, Debug)]
struct DiskFile {
    disk: Disk,
    file: usize,
}

/// So small that a workload fills the log, makes it grow, starts it over and passes it by.
const LIMITS: Limits = Limits {
    log: LogLimits {
        first: 16 * 1024,
        step: 16 * 1024,
        most: 48 * 1024,
        largest: 24 * 1024,
    },
    recent: SMALL_RECENT,
};

impl Disk {
    fn state(&self) -> std::sync::MutexGuard<'_, DiskState> {
        self.0.lock().unwrap()
    }

    /// The bytes of the database file and its log.
    pub(super) fn files(&self) -> [Vec<u8>; 2] {
        let state = self.state();
        [FILE_NAME, LOG_FILE_NAME].map(|name| match state.names.get(name) {
            Some(file) => state.files[*file].clone(),
            None => Vec::new(),
        })
    }

    /// A disk with these files.
    pub(super) fn with(files: [Vec<u8>; 2]) -> Disk {
        Disk(Arc::new(std::sync::Mutex::new(DiskState {
            files: files.into(),
            names: [(FILE_NAME.to_owned(), 0), (LOG_FILE_NAME.to_owned(), 1)].into(),
            ..DiskState::default()
        })))
    }

    /// A disk with the same content that does not fail.
    pub(super) fn healthy(&self) -> Disk {
        let state = self.state();
        Disk(Arc::new(std::sync::Mutex::new(DiskState {
            files: state.files.clone(),
            names: state.names.clone(),
            ..DiskState::default()
        })))
    }

    /// Makes the calls fail, from this one on or only this one; the first is 1.
    pub(super) fn fail(&self, at: usize, once: bool, error: i32) {
        let mut state = self.state();
        (state.fail_at, state.once, state.error) = (Some(at), once, error);
    }

    /// From now on no call fails.
    pub(super) fn heal(&self) {
        self.state().fail_at = None;
    }

    /// Whether reads count among the calls that may fail.
    pub(super) fn count_reads(&self, reads: bool) {
        self.state().reads = reads;
    }

    /// How many calls there were that may fail.
    pub(super) fn changes(&self) -> usize {
        self.state().changes
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.state().names.contains_key(name)
    }

    pub(super) fn store(&self, limits: Limits) -> Result<FileStore> {
        self.store_with(limits, 1 << 20)
    }

    pub(super) fn store_with(&self, limits: Limits, cache_bytes: usize) -> Result<FileStore> {
        FileStore::open_at(Arc::new(self.clone()), cache_bytes, limits)
    }

    pub(super) fn engine(&self, durability: Durability) -> Result<Engine> {
        Engine::with_store(Arc::new(self.store(LIMITS)?), Some(durability))
    }
}

impl Place for Disk {
    fn open(&self, name: &str) -> std::io::Result<(Box<dyn redb::StorageBackend>, Identity)> {
        let mut state = self.state();
        let file = match state.names.get(name) {
            Some(file) => *file,
            None => {
                state.change()?;
                let file = state.files.len();
                state.files.push(Vec::new());
                state.names.insert(name.to_owned(), file);
                file
            }
        };
        let disk = self.clone();
        Ok((Box::new(DiskFile { disk, file }), Some((0, file as u64))))
    }

    fn identity(&self, name: &str) -> Identity {
        self.state().names.get(name).map(|file| (0, *file as u64))
    }

    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        let mut state = self.state();
        state.change()?;
        let file = state.names.remove(from).ok_or(std::io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> std::io::Result<()> {
        let mut state = self.state();
        if state.names.contains_key(name) {
            state.change()?;
            state.names.remove(name);
        }
        Ok(())
    }

    fn sync(&self) -> std::io::Result<()> {
        self.state().change()
    }
}

impl DiskState {
    fn change(&mut self) -> std::io::Result<()> {
        self.changes += 1;
        match self.fail_at {
            Some(at) if self.changes == at || (self.changes > at && !self.once) => {
                Err(std::io::Error::from_raw_os_error(self.error))
            }
            _ => Ok(()),
        }
    }
}

impl redb::StorageBackend for DiskFile {
    fn len(&self) -> std::io::Result<u64> {
        Ok(self.disk.state().files[self.file].len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        let mut state = self.disk.state();
        if state.reads {
            state.change()?;
        }
        let bytes = state.files[self.file].get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(bytes.ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        let mut state = self.disk.state();
        state.change()?;
        state.files[self.file].resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> std::io::Result<()> {
        let mut guard = self.disk.state();
        let state = &mut *guard;
        state.change()?;
        if let Some(synced) = &mut state.synced {
            synced.insert(self.file, state.files[self.file].clone());
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        let mut state = self.disk.state();
        state.change()?;
        state.files[self.file][offset as usize..offset as usize + data.len()].copy_from_slice(data);
        Ok(())
    }
}

#[test]
fn after_any_failed_call_nothing_acknowledged_is_lost() {
    for durability in [
        Durability::Immediate,
        Durability::Interval(Duration::from_millis(1)),
        Durability::None,
    ] {
        for (once, error) in [(true, EIO), (false, ENOSPC)] {
            let mut fail_at = 1;
            loop {
                let disk = Disk::default();
                let engine = disk.engine(durability).unwrap();
                let tree = collection(&engine, "c").indexes[0].tree;
                let begun = disk.state().changes;
                disk.fail(begun + fail_at, once, error);
                let mut acknowledged = 0u32;
                let mut failure = None;
                for n in 0..40u32 {
                    let written = wait(engine.write(move |writer| {
                        for copy in 0..2u8 {
                            let key = [&[copy], &n.to_be_bytes()[..]].concat();
                            writer.put(tree, &key, &vec![n as u8; 20 << (n % 9)])?;
                        }
                        Ok(())
                    }));
                    match (written, &failure) {
                        (Ok(()), None) => acknowledged = n + 1,
                        (Ok(()), Some(_)) => panic!("written after a failure"),
                        (Err(fault), None) => {
                            assert!(matches!(fault.class(), Class::InDoubt | Class::Io), "{fault:?}");
                            failure = Some(fault);
                        }
                        (Err(fault), Some(_)) => assert_eq!(fault.class(), Class::Io, "{fault:?}"),
                    }
                }
                let whole = |read: &dyn Read| {
                    let entries = entries(read, tree);
                    assert_eq!(entries.len() % 2, 0, "both copies or none");
                    let count = entries.len() / 2;
                    for at in 0..count {
                        assert_eq!(entries[at].0, [&[0], &(at as u32).to_be_bytes()[..]].concat());
                        assert_eq!(entries[at].1, entries[at + count].1);
                        assert_eq!(entries[at].1, vec![at as u8; 20 << (at % 9)]);
                    }
                    count as u32
                };
                // Reads go on, and know what was acknowledged.
                assert!(whole(&*engine.view().unwrap()) >= acknowledged);
                drop(engine);
                let reopened = disk.healthy().engine(durability).unwrap();
                let found = whole(&*reopened.view().unwrap());
                assert!(found <= acknowledged + 1);
                if durability == Durability::Immediate
                    || failure.is_none() && disk.state().changes < begun + fail_at
                {
                    assert!(found >= acknowledged, "found {found} of {acknowledged}");
                }
                let problems = reopened.check().unwrap().problems;
                assert!(
                    problems.iter().all(|problem| problem.namespace.is_some()),
                    "{problems:?}"
                );
                if disk.state().changes < begun + fail_at {
                    break;
                }
                fail_at += 1;
            }
            assert!(fail_at > 10, "{fail_at} calls");
        }
    }
}

#[test]
fn relaxed_commits_become_durable_in_time() {
    for (durability, closes) in [
        (Durability::Interval(Duration::from_millis(20)), false),
        (Durability::Interval(Duration::from_secs(3600)), true),
        (Durability::None, true),
    ] {
        let disk = Disk::default();
        disk.state().synced = Some(Default::default());
        let engine = disk.engine(durability).unwrap();
        let tree = collection(&engine, "c").indexes[0].tree;
        put(&engine, tree, b"a", b"1").unwrap();
        let is_synced = || {
            let synced = disk.state().synced.clone().unwrap();
            let found = Disk::with([0, 1].map(|file| synced.get(&file).cloned().unwrap_or_default()));
            let engine = found.engine(durability).unwrap();
            value(&*engine.view().unwrap(), tree, b"a").is_some()
        };
        if closes {
            assert!(!is_synced());
            drop(engine);
        }
        let start = std::time::Instant::now();
        while !is_synced() {
            assert!(start.elapsed() < Duration::from_secs(20), "never synced");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_durable_commit_is_one_write_and_one_sync() {
    let disk = Disk::default();
    let engine = Engine::with_store(
        Arc::new(disk.store(Limits::default()).unwrap()),
        Some(Durability::Immediate),
    )
    .unwrap();
    let id = collection(&engine, "c").id;
    let collection = engine.view().unwrap().catalog().by_id(id).unwrap().clone();
    let before = disk.state().changes;
    for n in 0..100 {
        insert(&engine, &collection, n).unwrap();
    }
    // The first one also writes the second copy of the log's header.
    assert!((200..=201).contains(&(disk.state().changes - before)));
}

#[test]
fn a_failed_sync_is_in_doubt() {
    let disk = Disk::default();
    let engine = disk.engine(Durability::Immediate).unwrap();
    let tree = collection(&engine, "c").records;
    put(&engine, tree, b"12345678", b"1").unwrap();
    // The last change of a commit is its sync.
    let before = disk.state().changes;
    put(&engine, tree, b"12345678", b"2").unwrap();
    let each = disk.state().changes - before;
    disk.fail(disk.changes() + each, true, EIO);
    let fault = put(&engine, tree, b"12345678", b"3").unwrap_err();
    assert_eq!(fault.class(), Class::InDoubt, "{fault:?}");
    let fault = put(&engine, tree, b"12345678", b"4").unwrap_err();
    assert_eq!(fault.class(), Class::Io, "{fault:?}");
    assert!(fault.message().contains("opened again"));
    assert!(engine.view().unwrap().get(tree, b"12345678").unwrap().is_some());
}

#[test]
fn any_call_of_a_workload_may_fail() {
    let every: usize = match std::env::var("ODM_FAULT_EVERY") {
        Ok(every) => every.parse().unwrap(),
        Err(_) => 23,
    };
    let steps = workload::fixed();
    let (mut runs, mut lost, mut torn) = (0, 0, 0);
    for (error, once, reads) in [
        (EIO, true, false),
        (EIO, false, false),
        (ENOSPC, true, false),
        (ENOSPC, false, false),
        (EIO, true, true),
        (EIO, false, true),
    ] {
        for fail_at in (1..).step_by(every) {
            let disk = Disk::default();
            {
                let mut state = disk.state();
                (state.fail_at, state.once, state.error, state.reads) = (Some(fail_at), once, error, reads);
            }
            let mut states = vec![State::new()];
            let mut acknowledged = 0;
            let failing = |fault: &Fault| {
                assert!(
                    matches!(fault.class(), Class::Io | Class::InDoubt),
                    "call {fail_at}: {fault:?}"
                );
            };
            let mut failed = false;
            match disk.engine(Durability::Immediate) {
                Err(fault) => failing(&fault),
                Ok(engine) => {
                    for step in &steps {
                        states.push(step.after(states.last().unwrap()));
                        match step.run(&engine) {
                            Ok(()) if failed => panic!("call {fail_at}: written after a failure"),
                            Ok(()) => acknowledged = states.len() - 1,
                            Err(fault) => {
                                failing(&fault);
                                failed = true;
                                break;
                            }
                        }
                    }
                    match stored(&engine) {
                        Ok(state) => assert!(states[acknowledged..].contains(&state)),
                        Err(fault) => {
                            assert!(reads, "call {fail_at}: reads go on: {fault:?}");
                            failing(&fault);
                        }
                    }
                    if failed {
                        let fault = put(&engine, TreeId(9), b"a", b"b").unwrap_err();
                        assert_eq!(fault.class(), Class::Io, "{fault:?}");
                    }
                }
            }
            runs += 1;
            let ended = disk.state().changes < fail_at;
            let engine = disk.healthy().engine(Durability::Immediate).unwrap();
            let state = stored(&engine).unwrap();
            if !states[acknowledged..].contains(&state) {
                println!("call {fail_at}: {acknowledged} acknowledged, another state");
                match states[..acknowledged].contains(&state) {
                    true => lost += 1,
                    false => torn += 1,
                }
            }
            let problems = engine.check().unwrap().problems;
            if !problems.is_empty() {
                println!("call {fail_at}: {problems:?}");
                torn += 1;
            }
            if ended {
                break;
            }
        }
    }
    println!("runs={runs} lost={lost} torn={torn}");
    assert_eq!((lost, torn), (0, 0));
}
