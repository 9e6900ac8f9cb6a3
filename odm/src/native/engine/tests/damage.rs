//! Files that were changed behind the engine's back: no wrong answer, nothing that a check misses, no panic.

use std::panic::PanicHookInfo;
use std::sync::Mutex;

use super::disk::Disk;
use super::workload::{self, State, Step, stored};
use super::*;
use crate::native::storage::file::Limits;
use crate::native::storage::log::LogLimits;

/// The size of what is damaged: redb's page with its checksum.
const STRIDE: usize = 4104;
const PREAMBLE: usize = 8192;

/// What happened to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Damage {
    Flip,
    ZeroedSector,
    ZeroedPage,
    SwappedPages,
    SwappedBlocks,
    Truncated,
    Garbage,
}

const KINDS: [Damage; 7] = [
    Damage::Flip,
    Damage::ZeroedSector,
    Damage::ZeroedPage,
    Damage::SwappedPages,
    Damage::SwappedBlocks,
    Damage::Truncated,
    Damage::Garbage,
];

/// Swaps two parts of the same size.
fn swap(content: &mut [u8], first: usize, second: usize, size: usize) {
    let (from, to) = (first.min(second), first.max(second));
    let size = size.min(to - from).min(content.len() - to);
    let (left, right) = content.split_at_mut(to);
    left[from..from + size].swap_with_slice(&mut right[..size]);
}

impl Damage {
    fn on(self, content: &mut Vec<u8>, random: &mut Random) {
        let length = content.len();
        let used = |content: &[u8], random: &mut Random, size: usize| loop {
            let at = random.below((length / size) as u64) as usize * size;
            if content[at..(at + size).min(length)].iter().any(|byte| *byte != 0) {
                return at;
            }
        };
        let page = |random: &mut Random| {
            PREAMBLE + random.below(((length - PREAMBLE) / STRIDE) as u64) as usize * STRIDE
        };
        match self {
            Damage::Flip => {
                let at = used(content, random, 512) + random.below(512) as usize;
                content[at.min(length - 1)] ^= 1 << random.below(8);
            }
            Damage::ZeroedSector => {
                let at = used(content, random, 512);
                content[at..(at + 512).min(length)].fill(0);
            }
            Damage::ZeroedPage => {
                let at = page(random);
                content[at..at + STRIDE].fill(0);
            }
            Damage::SwappedPages => {
                let (first, second) = (page(random), page(random));
                swap(content, first, second, STRIDE);
            }
            Damage::SwappedBlocks => {
                let (first, second) = (used(content, random, 4096), used(content, random, 4096));
                swap(content, first, second, 4096);
            }
            Damage::Truncated => content.truncate(random.below(length as u64) as usize),
            Damage::Garbage => {
                let at = used(content, random, 4096);
                let size = random.below(9000) as usize;
                for byte in content.iter_mut().skip(at).take(size) {
                    *byte = random.below(256) as u8;
                }
            }
        }
    }
}

/// What became of one kind of damage.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    tried: usize,
    refused: usize,
    faulty: usize,
    harmless: usize,
    /// The last commit is not there; only in the log of a database that was not closed.
    rolled_back: usize,
    /// More than the last commit is not there: the damage began before the last record, and went to its end.
    cut_short: usize,
    silent: usize,
    missed: usize,
}

/// Counts the panics of this process's store while it lives.
struct Panics(Arc<AtomicUsize>);

impl Panics {
    fn count() -> Panics {
        type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let before: Mutex<Hook> = Mutex::new(std::panic::take_hook());
        std::panic::set_hook(Box::new(move |info| {
            let inside = info.location().is_some_and(|at| {
                at.file().contains("redb")
                    || at.file().contains("/storage/")
                    || at.file().contains("/engine/view")
            });
            if inside {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            (before.lock().unwrap_or_else(std::sync::PoisonError::into_inner))(info);
        }));
        Panics(count)
    }
}

/// So large that the last commits are in the log, after it has grown and started over.
const LIMITS: Limits = Limits {
    log: LogLimits {
        first: 64 * 1024,
        step: 64 * 1024,
        most: 256 * 1024,
        largest: 128 * 1024,
    },
    recent: SMALL_RECENT,
};

/// How the work on a disk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Closed,
    /// The process was killed; the log has the last commits.
    Logged,
    /// The same after a commit that is too large for the log.
    PastLog,
    /// The same after the first commit of an opened database.
    First,
}

/// A disk after some work, and the states after each commit.
fn worked(ended: Ended) -> (Disk, Vec<State>) {
    let disk = Disk::default();
    let engine =
        Engine::with_store(Arc::new(disk.store(LIMITS).unwrap()), Some(Durability::Immediate)).unwrap();
    let steps: Vec<Step> = workload::fixed()
        .into_iter()
        .take(10)
        .chain(workload::bulk(1500))
        .collect();
    let mut states = vec![State::new()];
    for step in steps {
        step.run(&engine).unwrap();
        states.push(step.after(states.last().unwrap()));
    }
    let mut go_on = |engine: &Engine, step: Step| {
        step.run(engine).unwrap();
        states.push(step.after(states.last().unwrap()));
    };
    let engine = match ended {
        Ended::Closed | Ended::Logged => engine,
        Ended::PastLog => {
            go_on(&engine, workload::large(1_000));
            engine
        }
        Ended::First => {
            drop(engine);
            let store = Arc::new(disk.store(LIMITS).unwrap());
            let engine = Engine::with_store(store, Some(Durability::Immediate)).unwrap();
            go_on(&engine, workload::large(20));
            engine
        }
    };
    let running = disk.healthy();
    drop(engine);
    (if ended == Ended::Closed { disk } else { running }, states)
}

fn hurt(ended: Ended, file: usize, each: usize, random: &mut Random) -> BTreeMap<Damage, Tally> {
    let (disk, states) = worked(ended);
    let (after, older) = states.split_last().unwrap();
    let (before, older) = older.split_last().unwrap();
    let in_log = ended == Ended::Logged && file == 1;
    let mut tallies = BTreeMap::new();
    for kind in KINDS {
        let tally: &mut Tally = tallies.entry(kind).or_default();
        let tries = if kind == Damage::Flip { each * 4 } else { each };
        for _ in 0..tries {
            tally.tried += 1;
            let mut files = disk.files();
            kind.on(&mut files[file], random);
            let damaged = Disk::with(files);
            let typed = |fault: &Fault| {
                let class = fault.class();
                assert!(
                    matches!(class, Class::Corrupt | Class::Unsupported),
                    "{kind:?}: {fault:?}"
                );
                assert!(!fault.message().contains("panicked"), "{fault:?}");
            };
            let engine = match damaged.engine(Durability::Immediate) {
                Err(fault) => {
                    typed(&fault);
                    tally.refused += 1;
                    continue;
                }
                Ok(engine) => engine,
            };
            let read = stored(&engine);
            let problems = match engine.check() {
                Ok(report) => report.problems.len(),
                Err(fault) => {
                    typed(&fault);
                    1
                }
            };
            match read {
                Err(fault) => {
                    typed(&fault);
                    tally.faulty += 1;
                    tally.missed += usize::from(problems == 0);
                }
                Ok(state) if state == *after => {
                    tally.harmless += usize::from(problems == 0);
                    tally.faulty += usize::from(problems > 0);
                }
                Ok(state) if in_log && state == *before && problems == 0 => tally.rolled_back += 1,
                Ok(state) if in_log && kind != Damage::Flip && older.contains(&state) && problems == 0 => {
                    tally.cut_short += 1;
                }
                Ok(_) => {
                    tally.silent += 1;
                    tally.missed += usize::from(problems == 0);
                }
            }
        }
    }
    tallies
}

/// Each bit of the headers, by itself: what they say last is in one copy or the other.
#[test]
fn a_flipped_bit_of_a_header_loses_nothing() {
    for ended in [Ended::Closed, Ended::Logged, Ended::PastLog, Ended::First] {
        let (disk, states) = worked(ended);
        for at in (0..512).chain(4096..4608).step_by(31) {
            let mut files = disk.files();
            files[0][at] ^= 1 << (at % 8);
            match Disk::with(files).engine(Durability::Immediate) {
                Ok(engine) => assert!(
                    stored(&engine).is_ok_and(|state| state == *states.last().unwrap()),
                    "{ended:?}: byte {at}"
                ),
                Err(fault) => assert!(
                    matches!(fault.class(), Class::Corrupt | Class::Unsupported),
                    "{ended:?}: byte {at}: {fault:?}"
                ),
            }
        }
    }
}

#[test]
fn damage_is_never_silent() {
    let tries = std::env::var("ODM_DAMAGED_FILES")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(60);
    let panics = Panics::count();
    let mut random = Random(4711);
    let (mut silent, mut missed) = (0, 0);
    for (ended, file, share) in [
        (Ended::Closed, 0, 15),
        (Ended::Logged, 0, 30),
        (Ended::Closed, 1, 120),
        (Ended::Logged, 1, 30),
        (Ended::PastLog, 0, 30),
        (Ended::PastLog, 1, 60),
        (Ended::First, 0, 30),
        (Ended::First, 1, 60),
    ] {
        let tallies = hurt(ended, file, (tries / share).max(1), &mut random);
        for (kind, tally) in &tallies {
            let name = ["database", "log"][file];
            println!("{name} {ended:?} {kind:?}: {tally:?}");
            silent += tally.silent;
            missed += tally.missed;
        }
    }
    let panics = panics.0.load(Ordering::Relaxed);
    println!("silent={silent} missed={missed} panics={panics}");
    assert_eq!((silent, missed, panics), (0, 0, 0));
}
