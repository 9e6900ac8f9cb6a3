//! Durability and its neighbours: a process killed while it writes, a directory that is in use, damaged files.
//!
//! `ODM_CRASH_KILLS` sets the number of kills, 20 unless given; `ODM_CRASH_SEED` replays their times.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use odm::{Db, Error, ErrorKind, Filter};
use odm_tests::crash::{self, Account, Line, Parcel, Step, Transfer, WORKERS};
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

async fn open(directory: &Path) -> odm::Result<Db> {
    Db::open(&format!("native:{}", directory.display())).await
}

fn spawn(verb: &str, directory: &Path, run: u64) -> Child {
    Command::new(env!("CARGO_BIN_EXE_crash-writer"))
        .args([verb.as_ref(), directory.as_os_str()])
        .arg(run.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the writer starts")
}

/// What a killed writer said.
struct Said {
    acknowledged: Vec<Step>,
    in_doubt: Vec<Step>,
}

/// Lets a writer run for a while, kills it and reads what it said.
fn run_and_kill(directory: &Path, run: u64, random: &mut Random) -> Said {
    let mut child = spawn("write", directory, run);
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let (ready, wait_until_ready) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        for line in lines.map_while(Result::ok) {
            match line.parse() {
                Ok(Line::Ready) => drop(ready.send(())),
                Ok(line) => said.push(line),
                // Cut short: as if it had not been said.
                Err(_) => break,
            }
        }
        said
    });
    // Once in a while it is killed while it opens the database, which recovers then.
    let time = if random.one_in(6) {
        random.below(15)
    } else {
        wait_until_ready
            .recv_timeout(Duration::from_secs(60))
            .expect("the writer opens the directory");
        random.below(250)
    };
    std::thread::sleep(Duration::from_millis(time as u64));
    child.kill().expect("the writer is killed");
    let status = child.wait().expect("the writer ends");
    assert!(
        status.code().is_none(),
        "the writer ended by itself, with {status}"
    );
    let mut said = Said {
        acknowledged: Vec::new(),
        in_doubt: Vec::new(),
    };
    let mut begun = [None; WORKERS as usize];
    for line in reader.join().expect("the reader ends") {
        match line {
            Line::Ready => {}
            Line::Begun(worker, step) => begun[worker as usize] = Some(step),
            Line::Done(worker) => said.acknowledged.extend(begun[worker as usize].take()),
        }
    }
    said.in_doubt.extend(begun.into_iter().flatten());
    said
}

/// What must be in the database.
#[derive(Default)]
struct Expected {
    /// Each parcel's version.
    parcels: BTreeMap<i64, i64>,
    transfers: BTreeMap<i64, Transfer>,
}

impl Expected {
    fn apply(&mut self, step: Step) {
        match step {
            Step::Insert { id } => drop(self.parcels.insert(id, 1)),
            Step::Batch { first } => self
                .parcels
                .extend((first..first + crash::BATCH).map(|id| (id, 1))),
            Step::Update { id, version } => drop(self.parcels.insert(id, version)),
            Step::Delete { id } => drop(self.parcels.remove(&id)),
            Step::Transfer { id, from, to, amount } => {
                self.transfers.insert(id, Transfer { id, from, to, amount });
            }
        }
    }

    /// Adopts what steps in doubt may have done, where they did it whole.
    fn settle(&mut self, in_doubt: &[Step], parcels: &BTreeMap<i64, Parcel>, transfers: &BTreeSet<i64>) {
        for &step in in_doubt {
            match step {
                Step::Insert { id } if parcels.contains_key(&id) => self.apply(step),
                // Each document of a batch is a write by itself.
                Step::Batch { first } => {
                    let written = (first..first + crash::BATCH).filter(|id| parcels.contains_key(id));
                    self.parcels.extend(written.map(|id| (id, 1)));
                }
                Step::Update { id, version } if parcels.get(&id).is_some_and(|p| p.version == version) => {
                    self.apply(step);
                }
                Step::Delete { id } if !parcels.contains_key(&id) => self.apply(step),
                Step::Transfer { id, .. } if transfers.contains(&id) => self.apply(step),
                _ => {}
            }
        }
    }

    fn balances(&self) -> BTreeMap<i64, i64> {
        let mut balances: BTreeMap<_, _> = (0..crash::ACCOUNTS)
            .map(|id| (id, crash::OPENING_BALANCE))
            .collect();
        for transfer in self.transfers.values() {
            *balances.entry(transfer.from).or_default() -= transfer.amount;
            *balances.entry(transfer.to).or_default() += transfer.amount;
        }
        balances
    }
}

#[derive(Default)]
struct Totals {
    acknowledged: usize,
    lost: usize,
    torn: usize,
}

/// Compares the database with what was acknowledged.
async fn look(db: &Db, expected: &mut Expected, in_doubt: &[Step], totals: &mut Totals) {
    let report = db.check().await.expect("the check runs");
    assert!(report.is_clean(), "{report:?}");
    let parcels = db
        .collection::<Parcel>()
        .find_all()
        .await
        .expect("parcels are read");
    for parcel in &parcels {
        if *parcel != Parcel::new(parcel.id, parcel.version) {
            eprintln!("torn: {parcel:?}");
            totals.torn += 1;
        }
    }
    let parcels: BTreeMap<_, _> = parcels.into_iter().map(|parcel| (parcel.id, parcel)).collect();
    let transfers = db
        .collection::<Transfer>()
        .find_all()
        .await
        .expect("transfers are read");
    let transfers: BTreeMap<_, _> = transfers.into_iter().map(|t| (t.id, t)).collect();
    expected.settle(in_doubt, &parcels, &transfers.keys().copied().collect());
    for (id, version) in &expected.parcels {
        if parcels.get(id).is_none_or(|parcel| parcel.version != *version) {
            eprintln!(
                "lost: version {version} of parcel {id}; there is {:?}",
                parcels.get(id)
            );
            totals.lost += 1;
        }
    }
    for id in parcels.keys().filter(|id| !expected.parcels.contains_key(id)) {
        eprintln!("lost: the deletion of parcel {id}, or it was never inserted");
        totals.lost += 1;
    }
    for (id, transfer) in &expected.transfers {
        if transfers.get(id) != Some(transfer) {
            eprintln!("lost: {transfer:?}");
            totals.lost += 1;
        }
    }
    for transfer in transfers.values() {
        if !expected.transfers.contains_key(&transfer.id) {
            eprintln!("torn: {transfer:?} was never begun");
            totals.torn += 1;
        }
    }
    let accounts = db
        .collection::<Account>()
        .find_all()
        .await
        .expect("accounts are read");
    let balances: BTreeMap<_, _> = accounts.into_iter().map(|a| (a.id, a.balance)).collect();
    if balances != expected.balances() {
        eprintln!("torn: {balances:?} instead of {:?}", expected.balances());
        totals.torn += 1;
    }
}

#[test]
fn no_acknowledged_write_is_lost_to_a_kill() {
    let kills = number("ODM_CRASH_KILLS").unwrap_or(20);
    let seed = number("ODM_CRASH_SEED").unwrap_or_else(|| {
        let since = SystemTime::UNIX_EPOCH.elapsed().expect("a clock");
        since.as_nanos() as u64
    });
    println!("ODM_CRASH_SEED={seed}");
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    let runtime = runtime();
    let mut random = Random::new(seed);
    let mut expected = Expected::default();
    let mut totals = Totals::default();
    runtime.block_on(async {
        let db = open(directory).await.expect("the directory opens");
        db.collection::<Parcel>()
            .create_indexes()
            .await
            .expect("indexes are built");
        let accounts = (0..crash::ACCOUNTS).map(|id| Account {
            id,
            balance: crash::OPENING_BALANCE,
        });
        let accounts: Vec<_> = accounts.collect();
        db.collection::<Account>()
            .insert_many(&accounts)
            .await
            .expect("accounts are opened");
    });
    for run in 1..=kills {
        let said = run_and_kill(directory, run, &mut random);
        totals.acknowledged += said.acknowledged.len();
        said.acknowledged.iter().for_each(|step| expected.apply(*step));
        runtime.block_on(async {
            let db = open(directory).await.expect("the directory opens again");
            look(&db, &mut expected, &said.in_doubt, &mut totals).await;
            if expected.parcels.len() > 2_000 {
                db.collection::<Parcel>()
                    .delete_many(|_| Filter::all())
                    .await
                    .expect("parcels are deleted");
                expected.parcels.clear();
            }
        });
        assert!(
            totals.lost + totals.torn == 0,
            "after kill {run} of seed {seed}: lost={} torn={}",
            totals.lost,
            totals.torn
        );
    }
    println!(
        "kills={kills} acknowledged={} lost={} torn={}",
        totals.acknowledged, totals.lost, totals.torn
    );
    assert!(totals.acknowledged > 0);
}

fn assert_locked(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    assert!(error.message().contains("open"), "{error}");
}

#[test]
fn a_directory_in_use_is_locked() {
    let directory = tempfile::tempdir().expect("a directory");
    let runtime = runtime();
    let mut child = spawn("hold", directory.path(), 0);
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe"))
        .read_line(&mut line)
        .expect("a line");
    assert_eq!(line.trim().parse(), Ok(Line::Ready));
    runtime.block_on(async {
        let error = open(directory.path()).await.expect_err("another process has it");
        assert_locked(&error);
        println!("{error}");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(b"x").expect("the holder listens");
        assert!(child.wait().expect("the holder ends").success());
        let db = open(directory.path())
            .await
            .expect("it opens once the holder has gone");
        assert_locked(
            &open(directory.path())
                .await
                .expect_err("this process has it open"),
        );
        drop(db);
        for round in 0..40 {
            let db = open(directory.path()).await.expect("it opens right after a drop");
            let parcels = db.collection::<Parcel>();
            let next = parcels.count(|_| Filter::all()).await.expect("a count") as i64;
            let insert = async |db: &Db| db.collection::<Parcel>().insert(Parcel::new(next, 1)).await;
            // Whatever was done last, nothing holds the directory once it is done.
            match round % 4 {
                0 => drop(insert(&db).await.expect("an insert")),
                1 => {
                    let committed = db.transaction(async |tx| insert(&tx).await);
                    committed.await.expect("a transaction");
                }
                2 => {
                    insert(&db).await.expect("an insert");
                    db.begin().await.expect("a transaction, dropped");
                }
                _ => {
                    insert(&db).await.expect("an insert");
                    assert!(db.check().await.expect("a check").is_clean());
                }
            }
        }
        let db = open(directory.path()).await.expect("it opens");
        assert_eq!(
            db.collection::<Parcel>()
                .count(|_| Filter::all())
                .await
                .expect("a count"),
            40
        );
    });
}

/// What reading a damaged file came to.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Intact,
    Refused,
    ReadError,
    FoundByCheck,
    Silent,
}

async fn read_damaged(directory: &Path, parcels: &[Parcel]) -> Verdict {
    let known = |error: &Error| {
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Corrupt | ErrorKind::Io | ErrorKind::Unsupported
            ),
            "{error:?}"
        );
    };
    let db = match open(directory).await {
        Ok(db) => db,
        Err(error) => {
            known(&error);
            return Verdict::Refused;
        }
    };
    let collection = db.collection::<Parcel>();
    let mut same = true;
    for parcel in parcels {
        match collection.get(parcel.id).await {
            Ok(found) => same &= found.as_ref() == Some(parcel),
            Err(error) => {
                known(&error);
                return Verdict::ReadError;
            }
        }
    }
    match collection.find(|p| p.label.gte("")).await {
        Ok(found) => same &= found.len() == parcels.len(),
        Err(error) => {
            known(&error);
            return Verdict::ReadError;
        }
    }
    match db.check().await {
        Ok(report) if !report.is_clean() => Verdict::FoundByCheck,
        Ok(_) if same => Verdict::Intact,
        Ok(_) => Verdict::Silent,
        Err(error) => {
            known(&error);
            Verdict::FoundByCheck
        }
    }
}

#[test]
fn a_damaged_file_is_an_error_and_never_a_panic() {
    let original = tempfile::tempdir().expect("a directory");
    let runtime = runtime();
    let parcels: Vec<_> = (0..300).map(|id| Parcel::new(id, 1)).collect();
    runtime.block_on(async {
        let db = open(original.path()).await.expect("the directory opens");
        let collection = db.collection::<Parcel>();
        collection.create_indexes().await.expect("indexes are built");
        collection
            .insert_many(&parcels)
            .await
            .expect("parcels are inserted");
    });
    let file = std::fs::read_dir(original.path())
        .expect("the directory is listed")
        .next()
        .expect("there is a file")
        .expect("it is listed");
    let bytes = std::fs::read(file.path()).expect("the file is read");
    // Only pages in use are worth damaging.
    let used = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(1, |last| last + 1);
    let mut random = Random::new(number("ODM_CRASH_SEED").unwrap_or(1));
    let mut verdicts = BTreeMap::<Verdict, u32>::new();
    for _ in 0..number("ODM_CRASH_DAMAGES").unwrap_or(60) {
        let mut damaged = bytes.clone();
        let at = random.below(used);
        match random.below(8) {
            0 => damaged.truncate(at),
            1 => damaged[at..(at + 512).min(used)].fill(0),
            2 => damaged[at..(at + 64).min(used)]
                .iter_mut()
                .for_each(|byte| *byte = random.below(256) as u8),
            _ => damaged[at] ^= 1 << random.below(8),
        }
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join(file.file_name()), damaged).expect("the file is written");
        let verdict = {
            let (directory, parcels) = (directory.path().to_owned(), parcels.clone());
            let read = runtime.spawn(async move { read_damaged(&directory, &parcels).await });
            runtime.block_on(read).expect("no panic reaches the caller")
        };
        *verdicts.entry(verdict).or_default() += 1;
    }
    println!("{verdicts:?}");
    assert!(!verdicts.contains_key(&Verdict::Silent), "{verdicts:?}");
}
