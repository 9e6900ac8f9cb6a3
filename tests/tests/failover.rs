//! A replica set whose primary is killed again and again: what was acknowledged by a majority stays, transactions happen
//! once, streams of changes have no gap.
//!
//! It runs where `ODM_TEST_MONGOD` names a mongod; `ODM_FAILOVERS` says how often the primary is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use odm::backend::{ReadConcern, WriteConcern};
use odm::{ChangeEvent, Db, ErrorKind, Id, Model};
use odm_tests::random::Random;
use odm_tests::replica_set::ReplicaSet;
use serde::{Deserialize, Serialize};

const ACCOUNTS: i64 = 10;
const EACH: i64 = 1_000;
const WRITERS: u64 = 3;

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: Id<Note>,
    number: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "accounts")]
struct Account {
    #[serde(rename = "_id")]
    id: i64,
    balance: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "transfers")]
struct Transfer {
    #[serde(rename = "_id")]
    id: Id<Transfer>,
    from: i64,
    to: i64,
    amount: i64,
}

/// What the writers know.
#[derive(Debug, Default)]
struct Known {
    over: AtomicBool,
    /// Written for certain.
    acknowledged: Mutex<BTreeSet<Id<Note>>>,
    transfers: Mutex<BTreeSet<Id<Transfer>>>,
    /// Not known to be written.
    in_doubt: AtomicU64,
    refused: AtomicU64,
}

impl Known {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The failures that a failover may cause, and no others.
    fn failed(&self, error: &odm::Error) {
        match error.kind() {
            ErrorKind::InDoubt => &self.in_doubt,
            ErrorKind::Network | ErrorKind::Timeout | ErrorKind::Conflict | ErrorKind::Server => {
                &self.refused
            }
            _ => panic!("no failover causes this: {error:?}"),
        }
        .fetch_add(1, Ordering::Relaxed);
    }
}

async fn take_notes(db: Db, known: Arc<Known>) {
    // Without a session a new primary may show what a majority had a moment before.
    let session = db.causal_session().await.expect("a session starts");
    let notes = session.collection::<Note>();
    for number in 0.. {
        if known.is_over() {
            return;
        }
        let note = Note {
            id: Id::new(),
            number,
        };
        match notes.insert(&note).await {
            Ok(_) => {
                // A session sees its acknowledged writes, whoever is the primary now.
                let found = notes.get(note.id).await;
                if let Ok(found) = found {
                    assert!(found.is_some(), "{} was acknowledged, and is not there", note.id);
                }
                known.acknowledged.lock().unwrap().insert(note.id);
            }
            Err(error) => known.failed(&error),
        }
    }
}

async fn transfer(db: Db, known: Arc<Known>, seed: u64) {
    let mut random = Random::new(seed);
    while !known.is_over() {
        let from = random.below(ACCOUNTS as usize) as i64;
        let to = (from + 1 + random.below(ACCOUNTS as usize - 1) as i64) % ACCOUNTS;
        let amount = 1 + random.below(20) as i64;
        let id = Id::new();
        let moved = db.transaction(async |tx| {
            let accounts = tx.collection::<Account>();
            accounts
                .update_one(|a| a.id.eq(from), |a| a.balance.inc(-amount))
                .await?;
            accounts
                .update_one(|a| a.id.eq(to), |a| a.balance.inc(amount))
                .await?;
            tx.collection::<Transfer>()
                .insert(Transfer { id, from, to, amount })
                .await
        });
        match moved.await {
            Ok(_) => {
                known.transfers.lock().unwrap().insert(id);
            }
            Err(error) => known.failed(&error),
        }
    }
}

/// Every note of the stream, each once, until the last one comes. One that finds no server for too long is resumed.
async fn follow(db: Db, last: i64) -> BTreeSet<Id<Note>> {
    let mut seen = BTreeSet::new();
    let mut changes = db.collection::<Note>().watch().await.expect("a stream opens");
    let mut token = None;
    loop {
        let change = match changes.next().await.expect("a stream does not end") {
            Ok(change) => change,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Network, "{error}");
                changes = loop {
                    let watch = db.collection::<Note>().watch();
                    match token.as_ref().map(|token| watch.resume_after(token)) {
                        None => panic!("nothing came before {error}"),
                        Some(watch) => match watch.await {
                            Ok(changes) => break changes,
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Network, "{error}"),
                        },
                    }
                };
                continue;
            }
        };
        token = changes.resume_token().cloned();
        let ChangeEvent::Insert { document, .. } = change.event else {
            panic!("nothing but inserts: {:?}", change.event)
        };
        if document.number == last {
            return seen;
        }
        assert!(seen.insert(document.id), "{} came twice", document.id);
    }
}

#[test]
fn a_killed_primary_takes_nothing_with_it() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(kill_primaries());
}

async fn kill_primaries() {
    let Some(mut set) = ReplicaSet::start().await else {
        return;
    };
    let failovers: usize = std::env::var("ODM_FAILOVERS").map_or(2, |n| n.parse().expect("a number"));
    let db = Db::open(&set.url("failover")).await.unwrap();
    let db = db.with_write_concern(WriteConcern::majority()).unwrap();
    let db = db.with_read_concern(ReadConcern::Majority).unwrap();
    db.collection::<Note>().create().await.unwrap();
    db.collection::<Transfer>().create().await.unwrap();
    let accounts = (0..ACCOUNTS).map(|id| Account { id, balance: EACH });
    db.collection::<Account>()
        .insert_many(accounts.collect::<Vec<_>>())
        .await
        .unwrap();

    let known = Arc::<Known>::default();
    let following = tokio::spawn(follow(db.clone(), -1));
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut writing = Vec::new();
    for seed in 0..WRITERS {
        writing.push(tokio::spawn(take_notes(db.clone(), known.clone())));
        writing.push(tokio::spawn(transfer(db.clone(), known.clone(), seed)));
    }
    let mut random = Random::new(7);
    let mut longest = Duration::ZERO;
    for _ in 0..failovers {
        tokio::time::sleep(Duration::from_millis(500 + random.below(1_500) as u64)).await;
        let primary = set.primary().await;
        set.kill(primary);
        let begun = Instant::now();
        set.primary().await;
        longest = longest.max(begun.elapsed());
        set.restart(primary).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    known.over.store(true, Ordering::Relaxed);
    for one in writing {
        one.await.expect("no writer panics");
    }
    set.primary().await;
    let last = Note {
        id: Id::new(),
        number: -1,
    };
    db.collection::<Note>().insert(&last).await.unwrap();
    let seen = tokio::time::timeout(Duration::from_secs(60), following).await;
    let seen = seen.expect("the stream comes to its end").expect("no panic");

    let acknowledged = known.acknowledged.lock().unwrap().clone();
    let transfers = known.transfers.lock().unwrap().clone();
    let stored: BTreeSet<_> = db
        .collection::<Note>()
        .find_all()
        .await
        .unwrap()
        .into_iter()
        .map(|n| n.id)
        .collect();
    let lost = acknowledged.difference(&stored).count();
    let missed = stored
        .iter()
        .filter(|id| **id != last.id && !seen.contains(id))
        .count();
    println!(
        "{failovers} failovers, the longest {longest:?}: {} notes and {} transfers acknowledged, {} in doubt, {} refused; {lost} lost, {missed} missed by the stream",
        acknowledged.len(),
        transfers.len(),
        known.in_doubt.load(Ordering::Relaxed),
        known.refused.load(Ordering::Relaxed),
    );
    assert_eq!((lost, missed), (0, 0));
    assert!(acknowledged.len() > 10 && transfers.len() > 10);

    // Each transfer happened once, whole or not at all.
    let done = db.collection::<Transfer>().find_all().await.unwrap();
    let ids: BTreeSet<_> = done.iter().map(|transfer| transfer.id).collect();
    assert!(transfers.is_subset(&ids));
    let mut expected: BTreeMap<i64, i64> = (0..ACCOUNTS).map(|id| (id, EACH)).collect();
    for transfer in done {
        *expected.entry(transfer.from).or_default() -= transfer.amount;
        *expected.entry(transfer.to).or_default() += transfer.amount;
    }
    let accounts = db.collection::<Account>().find_all().await.unwrap();
    let balances: BTreeMap<i64, i64> = accounts
        .into_iter()
        .map(|account| (account.id, account.balance))
        .collect();
    assert_eq!(balances, expected);
}
