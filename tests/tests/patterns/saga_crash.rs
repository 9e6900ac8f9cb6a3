//! Sagas whose workers die: the books balance.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_patterns::saga::{Definition, Outcome, SagaError, SagaStatus, Sagas};

use super::saga_models::{Transfer, accounts, atomic, balance, clocked, fees_of, is_possible, marked, mixed};

crate::on_every_backend! {
    a_crash_at_any_write_is_resumed,
    a_crash_on_the_way_back_is_resumed,
    a_crash_in_a_transaction_is_resumed,
    a_crash_among_steps_of_both_kinds_is_resumed,
    many_transfers_with_faults_conserve_the_money,
}

const LEASE: i64 = 60;

fn lost() -> Error {
    Error::new(ErrorKind::Network, "connection reset (injected)")
}

/// How a worker dies at its `n`th write.
type Death = fn(u64) -> Vec<Fault>;

const DEATHS: [Death; 3] = [
    // Before it.
    |n| vec![Fault::nth_write(n).crash()],
    // After it.
    |n| vec![Fault::nth_write(n).after(lost()), Fault::nth_write(n + 1).crash()],
    // It lives, and does not know.
    |n| vec![Fault::nth_write(n).after(lost())],
];

async fn begin(sagas: &Sagas<Transfer>, id: &str, t: &Transfer) -> Result<Outcome<Transfer>, SagaError> {
    sagas.start(id, t).await?;
    sagas.run(id).await
}

/// Crashes at each write in turn, in one database: each crash is of a saga and of accounts of its own.
async fn crash_everywhere(db: &Db, definition: fn() -> Definition<Transfer>, amount: i64) -> u64 {
    let (db, seconds) = clocked(db);
    let mut crashes = 0;
    for (kind, death) in DEATHS.iter().enumerate() {
        for n in 1.. {
            let name = |what: &str| format!("{what} of {amount}, death {kind} at write {n}");
            let (id, from, to) = (name("saga"), name("from"), name("to"));
            accounts(&db, &[(&from, 100), (&to, 0)]).await;
            let t = Transfer::new(&from, &to, amount);
            let (faulty, faults) = db.faulty();
            for fault in death(n) {
                faults.add(fault);
            }
            let first = begin(&Sagas::new(&faulty, definition()).unwrap(), &id, &t).await;
            if faults.failures() == 0 {
                assert!(!matches!(first.unwrap(), Outcome::Waiting { .. }));
                break;
            }
            crashes += 1;
            // Another worker, later.
            let sagas = Sagas::new(&db, definition()).unwrap();
            let outcome = loop {
                match begin(&sagas, &id, &t).await.unwrap() {
                    Outcome::Waiting { .. } => seconds.fetch_add(LEASE, Ordering::SeqCst),
                    outcome => break outcome,
                };
            };
            let is_made = match outcome {
                Outcome::Completed(_) => true,
                Outcome::Compensated { .. } => false,
                other => panic!("{other:?}"),
            };
            assert_eq!(is_made, is_possible(amount), "{id}");
            let moved = if is_made { amount } else { 0 };
            let books = (balance(&db, &from).await, balance(&db, &to).await);
            assert_eq!(books, (100 - moved, moved), "{id}");
            assert_eq!(balance(&db, &fees_of(&from)).await, i64::from(is_made), "{id}");
        }
    }
    let sagas = Sagas::new(&db, definition()).unwrap();
    assert_eq!(sagas.verify(Duration::ZERO).await.unwrap(), []);
    crashes
}

async fn a_crash_at_any_write_is_resumed(db: &Db) {
    assert!(crash_everywhere(db, marked, 20).await >= 3 * 8);
}

async fn a_crash_on_the_way_back_is_resumed(db: &Db) {
    assert!(crash_everywhere(db, marked, 13).await >= 3 * 10);
    assert!(crash_everywhere(db, marked, 500).await >= 3 * 6);
}

async fn a_crash_in_a_transaction_is_resumed(db: &Db) {
    assert!(crash_everywhere(db, atomic, 20).await >= 3 * 10);
    assert!(crash_everywhere(db, atomic, 13).await >= 3 * 10);
    assert!(crash_everywhere(db, atomic, 500).await >= 3 * 4);
}

async fn a_crash_among_steps_of_both_kinds_is_resumed(db: &Db) {
    assert!(crash_everywhere(db, mixed, 20).await >= 3 * 8);
    assert!(crash_everywhere(db, mixed, 13).await >= 3 * 10);
}

/// `ODM_TEST_TRANSFERS` says how many; 60 unless it does.
async fn many_transfers_with_faults_conserve_the_money(db: &Db) {
    let count: usize = std::env::var("ODM_TEST_TRANSFERS").map_or(60, |text| text.parse().unwrap());
    let (db, seconds) = clocked(db);
    let names: Vec<String> = (0..8).map(|n| format!("account {n}")).collect();
    let balances: Vec<(&str, i64)> = names.iter().map(|name| (name.as_str(), 1000)).collect();
    accounts(&db, &balances).await;
    let names = Arc::new(names);
    let definitions: [fn() -> Definition<Transfer>; 2] = [marked, atomic];
    for definition in definitions {
        Sagas::new(&db, definition())
            .unwrap()
            .sync_indexes()
            .await
            .unwrap();
    }
    let mut tasks = Vec::new();
    for n in 0..count {
        let (db, names) = (db.clone(), names.clone());
        tasks.push(tokio::spawn(async move {
            let (from, to) = (n % 8, (n * 3 + 1) % 8);
            let to = if from == to { (to + 1) % 8 } else { to };
            let t = Transfer::new(&names[from], &names[to], (n as i64 * 7) % 40 + 1);
            let (faulty, faults) = db.faulty();
            let nth = (n as u64 * 5) % 14 + 1;
            match n % 4 {
                0 => faults.add(Fault::nth_operation(nth).crash()),
                1 => faults.add(Fault::nth_write(nth).after(lost())),
                2 => faults.add(Fault::nth_operation(nth).before(lost())),
                _ => {}
            }
            let sagas = Sagas::new(&faulty, definitions[n % 2]()).unwrap();
            let id = format!("transfer {n}");
            let begun = async {
                sagas.start(&id, &t).await?;
                sagas.run(&id).await
            };
            begun.await.is_ok()
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    for definition in definitions {
        let sagas = Sagas::new(&db, definition()).unwrap();
        for _ in 0..count * 20 {
            if sagas.work().await.unwrap().is_none() {
                seconds.fetch_add(LEASE, Ordering::SeqCst);
                if sagas
                    .counts()
                    .await
                    .unwrap()
                    .keys()
                    .all(|status| status.is_finished())
                {
                    break;
                }
            }
        }
        assert_eq!(sagas.verify(Duration::ZERO).await.unwrap(), []);
    }
    let (mut sum, mut fees) = (0, 0);
    for name in names.iter() {
        sum += balance(&db, name).await;
        fees += balance(&db, &fees_of(name)).await;
    }
    assert_eq!(sum, 8000);
    // One fee for each transfer that was made.
    let mut made = 0;
    for definition in definitions {
        let counts = Sagas::new(&db, definition()).unwrap().counts().await.unwrap();
        made += counts.get(&SagaStatus::Completed).copied().unwrap_or(0);
    }
    assert_eq!(u64::try_from(fees), Ok(made));
}
