//! Power losses: every disk that could be found after one has every acknowledged commit, whole.

mod survivors;

use std::sync::Mutex;

use self::survivors::Survivors;
use super::log::SMALL;
use super::workload::{self, State, Step, stored};
use super::*;
use crate::native::storage::file::directory::{Identity, Place};

/// What is on a disk.
#[derive(Clone, Debug, Default)]
struct Files {
    /// Those that have no name any more are still there for whoever has them open.
    contents: Vec<Vec<u8>>,
    names: BTreeMap<String, usize>,
}

/// The number of what holds the names.
const DIRECTORY: usize = usize::MAX;

/// What a disk was told to do to one of the files, or to the directory.
#[derive(Clone, Debug)]
struct Event {
    file: usize,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Write(u64, Vec<u8>),
    Length(u64),
    /// A new file.
    Create(String, usize),
    Rename(String, String),
    Remove(String),
    /// A sync began when this many steps were acknowledged, and this many begun.
    Sync {
        acknowledged: usize,
        begun: usize,
    },
}

/// A disk in memory that keeps a log of what happens to it.
#[derive(Clone, Debug, Default)]
struct Recorder(Arc<Mutex<Recording>>);

#[derive(Debug, Default)]
struct Recording {
    files: Files,
    log: Vec<Event>,
    acknowledged: usize,
    begun: usize,
}

/// One file of a recorder.
#[derive(Clone, Debug)]
struct Recorded {
    recorder: Recorder,
    file: usize,
}

/// So small that what goes to redb without being durable reaches the file all the same.
const CACHE: usize = 64 * 1024;

impl Recorder {
    fn with(files: Files) -> Recorder {
        let recorder = Recorder::default();
        recorder.lock().files = files;
        recorder
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Recording> {
        self.0.lock().unwrap()
    }

    fn store(&self) -> Result<Arc<FileStore>> {
        let place = Arc::new(self.clone());
        view::shielded(|| FileStore::open_at(place, CACHE, SMALL)).map(Arc::new)
    }

    fn engine(&self, durability: Durability) -> Result<Engine> {
        Engine::with_store(self.store()?, Some(durability))
    }
}

impl Event {
    fn is_sync(&self) -> bool {
        matches!(self.what, What::Sync { .. })
    }

    /// Applies the event to a disk; of a write only the sectors that `keep` wants.
    fn apply(&self, files: &mut Files, mut keep: impl FnMut(u64) -> bool) {
        match &self.what {
            What::Create(name, file) => {
                let count = files.contents.len().max(file + 1);
                files.contents.resize(count, Vec::new());
                files.names.insert(name.clone(), *file);
            }
            What::Rename(from, to) => {
                if let Some(file) = files.names.remove(from) {
                    files.names.insert(to.clone(), file);
                }
            }
            What::Remove(name) => drop(files.names.remove(name)),
            What::Sync { .. } => {}
            What::Write(..) | What::Length(_) => self.apply_to_content(files, &mut keep),
        }
    }

    fn apply_to_content(&self, files: &mut Files, keep: &mut dyn FnMut(u64) -> bool) {
        let count = files.contents.len().max(self.file + 1);
        files.contents.resize(count, Vec::new());
        let content = &mut files.contents[self.file];
        match &self.what {
            What::Write(offset, data) => {
                for (at, byte) in data.chunk_by_sector(*offset) {
                    if keep(at / SECTOR) {
                        let end = at as usize + byte.len();
                        if content.len() < end {
                            content.resize(end, 0);
                        }
                        content[at as usize..end].copy_from_slice(byte);
                    }
                }
            }
            What::Length(length) => content.resize(*length as usize, 0),
            _ => {}
        }
    }
}

const SECTOR: u64 = 512;

trait BySector {
    /// The parts of a write at an offset that lie in one sector each, with their offsets.
    fn chunk_by_sector(&self, offset: u64) -> impl Iterator<Item = (u64, &[u8])>;
}

impl BySector for Vec<u8> {
    fn chunk_by_sector(&self, offset: u64) -> impl Iterator<Item = (u64, &[u8])> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = offset + at as u64;
            let end = ((start / SECTOR + 1) * SECTOR - offset).min(self.len() as u64) as usize;
            let chunk = (at < self.len()).then(|| (start, &self[at..end]));
            at = end;
            chunk
        })
    }
}

impl Recorder {
    /// Remembers a change, and makes it.
    fn change(&self, file: usize, what: What) {
        let mut recording = self.lock();
        let event = Event { file, what };
        event.apply(&mut recording.files, |_| true);
        recording.log.push(event);
    }

    fn sync(&self, file: usize) {
        let (acknowledged, begun) = {
            let recording = self.lock();
            (recording.acknowledged, recording.begun)
        };
        self.change(file, What::Sync { acknowledged, begun });
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.lock().files.names.get(name).copied()
    }
}

impl Place for Recorder {
    fn open(&self, name: &str) -> std::io::Result<(Box<dyn redb::StorageBackend>, Identity)> {
        let file = match self.number(name) {
            Some(file) => file,
            None => {
                let file = {
                    let contents = &mut self.lock().files.contents;
                    contents.push(Vec::new());
                    contents.len() - 1
                };
                self.change(DIRECTORY, What::Create(name.to_owned(), file));
                file
            }
        };
        let recorder = self.clone();
        Ok((Box::new(Recorded { recorder, file }), Some((0, file as u64))))
    }

    fn identity(&self, name: &str) -> Identity {
        self.number(name).map(|file| (0, file as u64))
    }

    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.change(DIRECTORY, What::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, name: &str) -> std::io::Result<()> {
        if self.number(name).is_some() {
            self.change(DIRECTORY, What::Remove(name.to_owned()));
        }
        Ok(())
    }

    fn sync(&self) -> std::io::Result<()> {
        self.sync(DIRECTORY);
        Ok(())
    }
}

impl redb::StorageBackend for Recorded {
    fn len(&self) -> std::io::Result<u64> {
        Ok(self.recorder.lock().files.contents[self.file].len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        let recording = self.recorder.lock();
        let bytes = recording.files.contents[self.file].get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(bytes.ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> std::io::Result<()> {
        self.recorder.change(self.file, What::Length(length));
        Ok(())
    }

    fn sync_data(&self) -> std::io::Result<()> {
        self.recorder.sync(self.file);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.recorder
            .change(self.file, What::Write(offset, data.to_vec()));
        Ok(())
    }
}

/// What became of the images.
#[derive(Debug, Default)]
struct Tally {
    images: usize,
    in_recovery: usize,
    lost: usize,
    torn: usize,
}

impl Tally {
    /// Opens an image and compares it with the states that it may have; gives what opening it changed.
    fn look(
        &mut self,
        image: Files,
        states: &[State],
        allowed: std::ops::RangeInclusive<usize>,
        what: &dyn std::fmt::Debug,
    ) -> Vec<Event> {
        self.images += 1;
        let recorder = Recorder::with(image);
        let opened = recorder.engine(Durability::Immediate);
        let found = opened
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|engine| Ok((stored(engine)?, engine.check()?)));
        match found {
            Err(fault) => {
                self.lost += 1;
                println!("{what:?}: {fault:?}");
            }
            Ok((state, _)) if states[*allowed.start()..*allowed.start()].contains(&state) => {
                self.lost += 1;
                println!("{what:?}: an older state");
            }
            Ok((state, report)) => {
                if !states[allowed.clone()].contains(&state) {
                    match states[..*allowed.start()].contains(&state) {
                        true => self.lost += 1,
                        false => self.torn += 1,
                    }
                    println!("{what:?}: not a state in {allowed:?}");
                }
                if !report.problems.is_empty() {
                    self.torn += 1;
                    println!("{what:?}: {:?}", report.problems);
                }
            }
        }
        let log = std::mem::take(&mut recorder.lock().log);
        if self.images.is_multiple_of(16)
            && let Ok(engine) = &opened
        {
            let added = collection(engine, "after");
            drop(opened);
            let again = recorder.engine(Durability::Immediate).unwrap();
            assert_eq!(found_id(&again, "after"), Some(added.id));
        }
        log
    }
}

fn found_id(engine: &Engine, name: &str) -> Option<crate::native::catalog::CollectionId> {
    let view = engine.view().unwrap();
    view.catalog()
        .collection("db", name)
        .map(|collection| collection.id)
}

/// Runs the steps and looks at about `budget` images of the disk.
fn images(steps: &[Step], durability: Durability, budget: usize, seed: u64, tally: &mut Tally) {
    let recorder = Recorder::default();
    let mut states = vec![State::new()];
    {
        let engine = recorder.engine(durability).unwrap();
        for (at, step) in steps.iter().enumerate() {
            recorder.lock().begun = states.len();
            states.push(step.after(states.last().unwrap()));
            step.run(&engine).unwrap();
            recorder.lock().acknowledged = states.len() - 1;
            if at % 13 == 7 {
                engine.0.shared.store().checkpoint().unwrap();
            }
            if at % 9 == 5 {
                engine.compact().unwrap();
            }
            if at % 5 == 2 {
                engine.0.shared.store().flush().unwrap();
            }
        }
        assert!(stored(&engine).unwrap() == *states.last().unwrap());
    }
    let log = std::mem::take(&mut recorder.lock().log);
    let mut random = Random(seed);
    let points = log.iter().filter(|event| event.is_sync()).count();
    // Half for what comes after, in recovery.
    let each = (budget / 2).div_ceil(points);
    let mut durable = Files::default();
    let mut changes: Vec<Event> = Vec::new();
    for event in log {
        let What::Sync { acknowledged, begun } = event.what else {
            changes.push(event);
            continue;
        };
        let first = match durability {
            Durability::Immediate => acknowledged,
            _ => 0,
        };
        let mut kinds = Survivors::kinds(changes.len(), &mut random);
        while kinds.len() > each {
            // The first is: nothing of it.
            let one = 1 + random.below(kinds.len() as u64 - 1) as usize;
            kinds.swap_remove(one);
        }
        for kind in kinds {
            let image = kind.apply(&durable, &changes);
            let recovery = tally.look(image.clone(), &states, first..=begun, &kind);
            again(image, recovery, &states, first..=begun, &kind, &mut random, tally);
        }
        sync(event.file, &mut changes, &mut durable);
    }
}

/// Makes the changes of a file durable; those of the other stay as they are.
fn sync(file: usize, changes: &mut Vec<Event>, durable: &mut Files) {
    changes.retain(|change| {
        if change.file == file {
            change.apply(durable, |_| true);
        }
        change.file != file
    });
}

/// Looks at a disk whose recovery was interrupted.
fn again(
    mut durable: Files,
    recovery: Vec<Event>,
    states: &[State],
    allowed: std::ops::RangeInclusive<usize>,
    first: &Survivors,
    random: &mut Random,
    tally: &mut Tally,
) {
    let points: Vec<usize> = (0..recovery.len()).filter(|at| recovery[*at].is_sync()).collect();
    let Some(chosen) = points.get(random.below(points.len().max(1) as u64) as usize) else {
        return;
    };
    let mut changes = Vec::new();
    for event in &recovery[..*chosen] {
        match event.is_sync() {
            true => sync(event.file, &mut changes, &mut durable),
            false => changes.push(event.clone()),
        }
    }
    let kinds = Survivors::kinds(changes.len(), random);
    let kind = &kinds[random.below(kinds.len() as u64) as usize];
    tally.in_recovery += 1;
    tally.look(
        kind.apply(&durable, &changes),
        states,
        allowed,
        &(first, *chosen, kind),
    );
}

/// How many images: `ODM_CRASH_IMAGES`, or a few.
fn budget() -> usize {
    std::env::var("ODM_CRASH_IMAGES")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(150)
}

#[test]
fn a_power_loss_loses_and_tears_nothing() {
    let budget = budget();
    let mut tally = Tally::default();
    images(
        &workload::fixed(),
        Durability::Immediate,
        budget / 3,
        1,
        &mut tally,
    );
    let mut seed = 1;
    while tally.images < budget {
        seed += 1;
        let durability = match seed % 4 {
            0 => Durability::None,
            1 => Durability::Interval(Duration::from_millis(2)),
            _ => Durability::Immediate,
        };
        let part = (budget - tally.images).min(600);
        images(&workload::random(seed, 40), durability, part, seed, &mut tally);
    }
    println!(
        "images={} (of these {} in recovery) lost={} torn={}",
        tally.images, tally.in_recovery, tally.lost, tally.torn
    );
    assert_eq!((tally.lost, tally.torn), (0, 0));
}
