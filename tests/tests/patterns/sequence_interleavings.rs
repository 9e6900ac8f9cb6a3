//! All orders in which the operations of two who take numbers can follow each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::doc;
use futures_util::future::BoxFuture;
use odm::backend::TransactionOptions;
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Tx};
use odm_patterns::sequence::{Ledger, LedgerError, Number, Sequence};
use odm_tests::interleavings::every_interleaving_of;
use odm_tests::plain::Plain;

fn sequence(db: &Db) -> Sequence {
    Sequence::new(db, "numbers")
}

async fn memory() -> Db {
    let db = Db::open("memory:").await.unwrap();
    for name in ["sequences", "sequences_void", "used"] {
        db.create_collection(name).await.unwrap();
    }
    db
}

fn lost() -> Error {
    Error::new(ErrorKind::Network, "connection reset (injected)")
}

/// What each worker was told, taken out.
fn taken<T: Default>(told: &[Mutex<T>; 2]) -> [T; 2] {
    told.each_ref()
        .map(|told| std::mem::take(&mut *told.lock().unwrap()))
}

#[tokio::test]
async fn loose_numbers_and_blocks_are_unique_and_rise_in_every_order() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        Next,
        NextMany,
        Blocks,
    }
    /// Takes numbers one after another.
    async fn take(db: &Db, work: Work) -> Vec<i64> {
        let mut taken = Vec::new();
        let (loose, blocks) = (sequence(db).loose(), sequence(db).blocks(2));
        for _ in 0..3 {
            let number = match work {
                Work::Next => loose.next().await.unwrap(),
                Work::NextMany => loose.next_many(2).await.unwrap(),
                Work::Blocks => blocks.next().await.unwrap(),
            };
            taken.push(number.value);
            if work == Work::NextMany {
                taken.push(number.value + 1);
            }
        }
        taken
    }
    let pairs = [
        [Work::Next, Work::Next],
        [Work::Next, Work::NextMany],
        [Work::NextMany, Work::NextMany],
        [Work::Blocks, Work::Blocks],
    ];
    let mut orders = 0;
    for is_plain in [false, true] {
        for (pair, before) in pairs.into_iter().flat_map(|pair| [(pair, 0), (pair, 1)]) {
            let told = Arc::new([const { Mutex::new(Vec::new()) }; 2]);
            let is_block = pair[0] == Work::Blocks;
            orders += every_interleaving_of(
                usize::MAX,
                async || {
                    let db = memory().await;
                    let db = if is_plain { Plain::db(&db) } else { db };
                    for _ in 0..before {
                        // Of a program that died.
                        let (faulty, faults) = db.faulty();
                        faults.add(Fault::nth_write(1).after(lost()));
                        match is_block {
                            true => drop(sequence(&faulty).blocks(2).next().await.unwrap_err()),
                            false => drop(sequence(&faulty).loose().next().await.unwrap_err()),
                        }
                    }
                    db
                },
                |db, n| {
                    let told = told.clone();
                    Box::pin(async move {
                        *told[n].lock().unwrap() = take(db, pair[n]).await;
                    })
                },
                async |db, order| {
                    let told = taken(&told);
                    let context = format!("{pair:?} behind {before} as {order:?}: {told:?}");
                    for taken in &told {
                        assert!(taken.is_sorted_by(|a, b| a < b), "{context}");
                    }
                    let all: BTreeSet<i64> = told.iter().flatten().copied().collect();
                    assert_eq!(all.len(), told[0].len() + told[1].len(), "{context}");
                    let given = match is_block {
                        true => 2 * (before + 4),
                        false => before + all.len() as i64,
                    };
                    // Nothing is given but once, and nothing is left out.
                    let next = match is_block {
                        true => sequence(db).blocks(2).next().await.unwrap(),
                        false => sequence(db).loose().next().await.unwrap(),
                    };
                    assert_eq!(next.value, given + 1, "{context}");
                    if !is_block {
                        assert_eq!(all, (before + 1..=given).collect(), "{context}");
                    }
                    assert!(all.iter().all(|n| (1..=given).contains(n)), "{context}");
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two who take numbers");
}

#[tokio::test]
async fn a_sequence_is_of_one_kind_whoever_begins_it() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Kind {
        Loose,
        Blocks,
        GapFree,
        Ledger,
    }
    async fn take(db: &Db, kind: Kind) -> odm::Result<i64> {
        let number = match kind {
            Kind::Loose => sequence(db).loose().next().await?,
            Kind::Blocks => sequence(db).blocks(2).next().await?,
            Kind::GapFree => {
                db.transaction(async |tx| sequence(&tx).gap_free().next(&tx).await)
                    .await?
            }
            Kind::Ledger => sequence(db).ledger().reserve("a").await?,
        };
        Ok(number.value)
    }
    let kinds = [Kind::Loose, Kind::Blocks, Kind::GapFree, Kind::Ledger];
    let mut orders = 0;
    for pair in kinds
        .iter()
        .flat_map(|first| kinds.map(|second| [*first, second]))
    {
        let told = Arc::new([const { Mutex::new(None) }; 2]);
        orders += every_interleaving_of(
            usize::MAX,
            async || memory().await,
            |db, n| {
                let told = told.clone();
                Box::pin(async move {
                    *told[n].lock().unwrap() = Some(take(db, pair[n]).await);
                })
            },
            async |_, order| {
                let told = taken(&told).map(Option::unwrap);
                let context = format!("{pair:?} as {order:?}: {told:?}");
                if pair[0] != pair[1] {
                    let refused = told.iter().filter_map(|told| told.as_ref().err());
                    let refused: Vec<ErrorKind> = refused.map(Error::kind).collect();
                    assert_eq!(refused, [ErrorKind::InvalidArgument], "{context}");
                    return;
                }
                let mut values = told.map(|told| told.unwrap_or_else(|error| panic!("{error}: {context}")));
                values.sort_unstable();
                let expected = match pair[0] {
                    Kind::Loose | Kind::GapFree => [1, 2],
                    Kind::Blocks => [1, 3],
                    // The key's number.
                    Kind::Ledger => [1, 1],
                };
                assert_eq!(values, expected, "{context}");
            },
        )
        .await;
    }
    println!("{orders} orders of two who begin a sequence");
}

/// Stores something under each of so many numbers in one transaction.
async fn invoice(db: &Db, numbers: u32, is_given_up: bool) -> odm::Result<Number> {
    db.transaction(async |tx| {
        let first = sequence(&tx).gap_free().next_many(&tx, numbers).await?;
        for n in first.value..first.value + i64::from(numbers) {
            tx.raw_collection("used").insert(doc! {"n": n}).await?;
        }
        match is_given_up {
            true => Err(Error::new(ErrorKind::Validation, "no")),
            false => Ok(first),
        }
    })
    .await
}

async fn used(db: &Db) -> Vec<i64> {
    let found = db.raw_collection("used").find(doc! {}).await.unwrap();
    found
        .iter()
        .map(|document| document.get_i64("n").unwrap())
        .collect()
}

#[tokio::test]
async fn gap_free_numbers_have_no_gap_in_every_order() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        One,
        Two,
        /// One after another.
        OneAndOne,
        GiveUp,
        /// Its reply is lost.
        LoseReply,
        DieBeforeCommit,
    }
    let works = [
        Work::One,
        Work::Two,
        Work::OneAndOne,
        Work::GiveUp,
        Work::LoseReply,
        Work::DieBeforeCommit,
    ];
    let mut orders = 0;
    for before in [0, 1] {
        let pairs =
            (0..works.len()).flat_map(|first| (first..works.len()).map(move |second| [first, second]));
        for pair in pairs.map(|pair| pair.map(|n| works[n])) {
            let told = Arc::new([const { Mutex::new(Vec::new()) }; 2]);
            orders += every_interleaving_of(
                3,
                async || {
                    let db = memory().await;
                    for _ in 0..before {
                        invoice(&db, 1, false).await.unwrap();
                        let (faulty, faults) = db.faulty();
                        faults.add(Fault::nth("commitTransaction", 1).crash());
                        invoice(&faulty, 1, false).await.unwrap_err();
                    }
                    db
                },
                |db, n| {
                    let told = told.clone();
                    Box::pin(async move {
                        let (faulty, faults) = db.faulty();
                        match pair[n] {
                            Work::LoseReply => faults.add(Fault::nth("commitTransaction", 1).after(lost())),
                            Work::DieBeforeCommit => faults.add(Fault::nth("commitTransaction", 1).crash()),
                            _ => {}
                        }
                        let mut own = Vec::new();
                        match pair[n] {
                            Work::One | Work::LoseReply => own.push(invoice(&faulty, 1, false).await),
                            Work::Two => own.push(invoice(&faulty, 2, false).await),
                            Work::OneAndOne => {
                                own.push(invoice(&faulty, 1, false).await);
                                own.push(invoice(&faulty, 1, false).await);
                            }
                            Work::GiveUp => own.push(invoice(&faulty, 1, true).await),
                            Work::DieBeforeCommit => own.push(invoice(&faulty, 1, false).await),
                        }
                        *told[n].lock().unwrap() = own;
                    })
                },
                async |db, order| {
                    let told = taken(&told);
                    let context = format!("{pair:?} behind {before} as {order:?}: {told:?}");
                    let mut stored = used(db).await;
                    stored.sort_unstable();
                    let last = sequence(db).gap_free().last().await.unwrap();
                    let last = last.map_or(0, |last| last.value);
                    assert_eq!(stored, (1..=last).collect::<Vec<_>>(), "{context}");
                    let mut least = before;
                    for (told, work) in told.iter().zip(pair) {
                        let values: Vec<i64> = told.iter().flatten().map(|number| number.value).collect();
                        assert!(values.is_sorted_by(|a, b| a < b), "{context}");
                        assert!(values.iter().all(|value| stored.contains(value)), "{context}");
                        least += values.len() as i64 * if work == Work::Two { 2 } else { 1 };
                        match work {
                            Work::GiveUp | Work::DieBeforeCommit => assert_eq!(values.len(), 0, "{context}"),
                            Work::LoseReply => {}
                            _ => assert_eq!(values.len(), told.len(), "{context}"),
                        }
                    }
                    let in_doubt = told.iter().flatten().filter(|told| told.is_err()).count() as i64;
                    assert!((least..=least + in_doubt).contains(&last), "{context}");
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two who take numbers in transactions");
}

#[tokio::test]
async fn a_ledger_accounts_for_every_number_in_every_order() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        /// Reserves, and stores what uses the number in the transaction that notes it.
        UseInTransaction,
        /// The same without a transaction: what was stored under a void number is taken out again.
        Use,
        Void,
        ReserveAndDie,
        Settle,
        /// Of the number that was open before.
        UseOpen,
        VoidOpen,
        /// Reads what is used, and audits, at one point of time.
        Audit,
    }
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Before {
        Nothing,
        /// A program died behind its reservation.
        Open,
        /// A program died between storing and noting.
        Stored,
    }
    type Told = Vec<(i64, Result<(), LedgerError>)>;

    async fn note(numbers: Ledger, db: Db, number: Number, is_transaction: bool) -> Result<(), LedgerError> {
        let document = doc! {"_id": number.value, "n": number.value};
        if is_transaction {
            let body = move |tx: Tx| {
                let (numbers, number, document) = (numbers.on(&tx), number.clone(), document.clone());
                async move {
                    tx.raw_collection("used").save(document).await?;
                    numbers.used(&number).await
                }
            };
            return db.transaction_with(TransactionOptions::default(), body).await;
        }
        let stored = db.raw_collection("used");
        if let Err(error) = stored.insert(document).await {
            assert!(error.is_duplicate_key());
        }
        let noted = numbers.used(&number).await;
        if matches!(noted, Err(LedgerError::Void { .. })) {
            stored.delete_one(doc! {"_id": number.value}).await.unwrap();
        }
        noted
    }

    fn settle(numbers: Ledger, db: Db) -> BoxFuture<'static, u64> {
        let used = db.raw_collection("used");
        let is_used = move |number: Number| {
            let (used, filter) = (used.clone(), doc! {"n": number.value});
            async move { used.exists(filter).await }
        };
        Box::pin(async move { numbers.settle(Duration::ZERO, is_used).await.unwrap() })
    }

    async fn work(db: Db, work: Work, key: String, open: Option<Number>) -> Told {
        let numbers = sequence(&db).ledger();
        match work {
            Work::UseInTransaction | Work::Use => {
                let number = numbers.reserve(&key).await.unwrap();
                let is_transaction = work == Work::UseInTransaction;
                vec![(
                    number.value,
                    note(numbers, db, number.clone(), is_transaction).await,
                )]
            }
            Work::Void => {
                let number = numbers.reserve(&key).await.unwrap();
                numbers.void(&number, "torn").await.unwrap();
                Vec::new()
            }
            Work::ReserveAndDie => {
                numbers.reserve(&key).await.unwrap();
                Vec::new()
            }
            Work::Settle => {
                settle(numbers, db).await;
                Vec::new()
            }
            Work::UseOpen => match open {
                Some(number) => vec![(number.value, note(numbers, db, number.clone(), true).await)],
                None => Vec::new(),
            },
            Work::VoidOpen => {
                if let Some(number) = open {
                    let done = numbers.void(&number, "torn").await;
                    assert!(matches!(done, Ok(()) | Err(LedgerError::NotOpen)), "{done:?}");
                }
                Vec::new()
            }
            Work::Audit => {
                let found = db.transaction(move |tx: Tx| {
                    let numbers = numbers.on(&tx);
                    async move {
                        let all = tx.raw_collection("used").find(doc! {}).await?;
                        let used = all.iter().map(|document| document.get_i64("n").unwrap());
                        numbers.audit(None, used.collect::<Vec<_>>()).await
                    }
                });
                assert_eq!(found.await.unwrap(), []);
                Vec::new()
            }
        }
    }

    let works = [
        Work::UseInTransaction,
        Work::Use,
        Work::Void,
        Work::ReserveAndDie,
        Work::Settle,
        Work::UseOpen,
        Work::VoidOpen,
        Work::Audit,
    ];
    let mut orders = 0;
    for before in [Before::Nothing, Before::Open, Before::Stored] {
        let pairs =
            (0..works.len()).flat_map(|first| (first..works.len()).map(move |second| [first, second]));
        for pair in pairs.map(|pair| pair.map(|n| works[n])) {
            let with_open = [Work::UseOpen, Work::VoidOpen];
            if before == Before::Nothing && pair.iter().any(|work| with_open.contains(work)) {
                continue;
            }
            // Nobody stores under a number of which something is stored.
            if before == Before::Stored && pair.contains(&Work::VoidOpen) {
                continue;
            }
            // What is stored without a transaction is not noted yet when it is audited.
            if pair == [Work::Use, Work::Audit] {
                continue;
            }
            let told = Arc::new([const { Mutex::new(Vec::new()) }; 2]);
            let open = Arc::new(Mutex::new(None));
            orders += every_interleaving_of(
                2,
                async || {
                    let db = memory().await;
                    if before != Before::Nothing {
                        let number = sequence(&db).ledger().reserve("dead").await.unwrap();
                        if before == Before::Stored {
                            let document = doc! {"_id": number.value, "n": number.value};
                            db.raw_collection("used").insert(document).await.unwrap();
                        }
                        *open.lock().unwrap() = Some(number);
                    }
                    db
                },
                |db, n| {
                    let (told, open) = (told.clone(), open.lock().unwrap().clone());
                    Box::pin(async move {
                        let done = work(db.clone(), pair[n], ["a", "b"][n].to_owned(), open).await;
                        *told[n].lock().unwrap() = done;
                    })
                },
                async |db, order| {
                    let told = taken(&told);
                    let context = format!("{pair:?} {before:?} as {order:?}: {told:?}");
                    let numbers = sequence(db).ledger();
                    assert_eq!(
                        numbers.audit(None, used(db).await).await.unwrap(),
                        [],
                        "{context}"
                    );
                    for (value, done) in told.iter().flatten() {
                        let voids = numbers.voids_of(None).await.unwrap();
                        let is_void = voids.iter().any(|void| void.number.value == *value);
                        match done {
                            Ok(()) => {
                                assert!(used(db).await.contains(value), "{context}");
                                let open = numbers.open().await.unwrap();
                                assert!(open.iter().all(|open| open.n != *value), "{context}");
                                assert!(!is_void, "{context}");
                            }
                            Err(LedgerError::Void { .. }) => {
                                assert!(is_void && !used(db).await.contains(value), "{context}");
                                assert!(
                                    pair.contains(&Work::Settle) || pair.contains(&Work::VoidOpen),
                                    "{context}"
                                );
                            }
                            Err(error) => panic!("{error}: {context}"),
                        }
                    }
                    settle(numbers.clone(), db.clone()).await;
                    assert_eq!(numbers.open().await.unwrap(), [], "{context}");
                    let used = used(db).await;
                    assert_eq!(numbers.audit(None, used.clone()).await.unwrap(), [], "{context}");
                    let last = numbers.last().await.unwrap().map_or(0, |last| last.value);
                    let voids = numbers.voids_of(None).await.unwrap().len();
                    assert_eq!(used.len() + voids, last as usize, "{context}");
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two at a ledger");
}

#[tokio::test]
async fn a_key_has_one_number_and_no_more_are_open_than_may_be() {
    let mut orders = 0;
    for is_plain in [false, true] {
        for (keys, open) in [
            (["a", "a"], 0),
            (["a", "b"], 0),
            (["a", "b"], 1),
            (["a", "old"], 1),
        ] {
            let told = Arc::new([const { Mutex::new(None) }; 2]);
            orders += every_interleaving_of(
                usize::MAX,
                async || {
                    let db = memory().await;
                    let db = if is_plain { Plain::db(&db) } else { db };
                    for _ in 0..open {
                        sequence(&db).ledger().reserve("old").await.unwrap();
                    }
                    db
                },
                |db, n| {
                    let told = told.clone();
                    Box::pin(async move {
                        let numbers = sequence(db).ledger().most_open(2);
                        let mut reserved = numbers.reserve(keys[n]).await;
                        // Asked again it is the same.
                        if let Ok(number) = &reserved {
                            assert_eq!(numbers.reserve(keys[n]).await.unwrap(), *number);
                        }
                        if matches!(reserved, Err(LedgerError::TooManyOpen { .. })) {
                            reserved = numbers.reserve(keys[n]).await;
                        }
                        *told[n].lock().unwrap() = Some(reserved);
                    })
                },
                async |db, order| {
                    let told = taken(&told).map(Option::unwrap);
                    let context = format!("{keys:?} behind {open} as {order:?}: {told:?}");
                    let numbers = sequence(db).ledger();
                    let found = numbers.open().await.unwrap();
                    let stored: BTreeMap<&str, i64> =
                        found.iter().map(|open| (open.key.as_str(), open.n)).collect();
                    assert_eq!(stored.len(), found.len(), "{context}");
                    assert!(found.len() <= 2, "{context}");
                    for (key, told) in keys.iter().zip(&told) {
                        match told {
                            Ok(number) => assert_eq!(stored.get(key), Some(&number.value), "{context}"),
                            Err(LedgerError::TooManyOpen { most: 2 }) => {
                                assert!(found.len() == 2 && !stored.contains_key(key), "{context}");
                            }
                            Err(error) => panic!("{error}: {context}"),
                        }
                    }
                    let numbers: Vec<i64> = found.iter().map(|open| open.n).collect();
                    assert_eq!(numbers, (1..=found.len() as i64).collect::<Vec<_>>(), "{context}");
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two who reserve");
}
