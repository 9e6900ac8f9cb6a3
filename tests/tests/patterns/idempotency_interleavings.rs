//! All orders in which the operations of two who come with the same key can follow each other.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::backend::TransactionOptions;
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Tx};
use odm_patterns::idempotency::{Begin, Keys, Ran};
use odm_tests::interleavings::every_interleaving_of;
use odm_tests::plain::Plain;

/// Goes on whenever somebody looks at it.
static CLOCK: AtomicI64 = AtomicI64::new(1_000_000_000);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lease {
    /// Is never over.
    Long,
    /// Is over as soon as it is had: each is the other's zombie at any time.
    None,
}

fn keys(db: &Db, lease: Lease) -> Keys {
    match lease {
        Lease::Long => Keys::new(&db.with_clock(|| DateTime::from_millis(1_000_000))),
        Lease::None => {
            let db = db.with_clock(|| DateTime::from_millis(CLOCK.fetch_add(1, Ordering::SeqCst)));
            Keys::new(&db).lease(Duration::ZERO)
        }
    }
}

async fn memory() -> Db {
    let db = Db::open("memory:").await.unwrap();
    for name in ["idempotency_keys", "effects"] {
        db.create_collection(name).await.unwrap();
    }
    db
}

async fn effects(db: &Db) -> usize {
    db.raw_collection("effects").count(doc! {}).await.unwrap() as usize
}

/// 13 is refused, 99 fails.
async fn run(keys: Keys, request: i32) -> odm::Result<Ran<i32, String>> {
    keys.run("scope", "key", &request, move |tx: Tx| async move {
        tx.raw_collection("effects")
            .insert(doc! {"request": request})
            .await?;
        match request {
            13 => Ok(Err("thirteen".to_owned())),
            99 => Err(Error::new(ErrorKind::Validation, "broken")),
            request => Ok(Ok(request * 2)),
        }
    })
    .await
}

/// Gets a permit, and stores effect and result in one transaction; whether it was so.
async fn permitted(keys: Keys, db: Db, request: i32) -> odm::Result<Ran<i32, String>> {
    let permit = match keys.begin::<i32, String>("scope", "key", &request).await? {
        Begin::Fresh(permit) => permit,
        Begin::InProgress { until } => return Ok(Ran::InProgress { until }),
        Begin::Replay(result) => return Ok(Ran::Replayed(result)),
        Begin::Mismatch => return Ok(Ran::Mismatch),
        other => panic!("{other:?}"),
    };
    let result = Ok(request * 2);
    let stored = db.transaction_with(TransactionOptions::default(), |tx: Tx| {
        let (permit, result) = (permit.on(&tx), result.clone());
        async move {
            tx.raw_collection("effects")
                .insert(doc! {"request": request})
                .await?;
            permit.complete::<i32, String>(&result).await
        }
    });
    stored.await.map(|()| Ran::Now(result))
}

#[tokio::test]
async fn a_request_is_done_once_whoever_sends_it() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        Run(i32),
        Permitted(i32),
        /// Its holder dies.
        Begin,
    }
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Before {
        Nothing,
        /// Of a holder that died, whose lease is over.
        Begun,
        /// A run that died before its commit.
        Died,
        /// A run whose reply was lost.
        Done,
    }
    let works = [
        Work::Run(1),
        Work::Run(2),
        Work::Run(13),
        Work::Run(99),
        Work::Permitted(1),
        Work::Begin,
    ];
    let mut orders = 0;
    for (lease, before) in [Lease::Long, Lease::None].iter().flat_map(|lease| {
        [Before::Nothing, Before::Begun, Before::Died, Before::Done].map(|before| (*lease, before))
    }) {
        let pairs =
            (0..works.len()).flat_map(|first| (first..works.len()).map(move |second| [first, second]));
        for pair in pairs.map(|pair| pair.map(|n| works[n])) {
            let told = Arc::new([const { Mutex::new(None) }; 2]);
            orders += every_interleaving_of(
                2,
                async || {
                    let db = memory().await;
                    let (faulty, faults) = db.faulty();
                    match before {
                        Before::Nothing => {}
                        Before::Begun => {
                            let keys = keys(&db, lease).lease(Duration::ZERO);
                            let begun = keys.begin::<i32, String>("scope", "key", &1).await.unwrap();
                            assert!(matches!(begun, Begin::Fresh(_)));
                        }
                        Before::Died => {
                            faults.add(Fault::nth("commitTransaction", 1).crash());
                            run(keys(&faulty, lease), 1).await.unwrap_err();
                        }
                        Before::Done => {
                            let lost = Error::new(ErrorKind::Network, "connection reset (injected)");
                            faults.add(Fault::nth("commitTransaction", 1).after(lost));
                            run(keys(&faulty, lease), 1).await.ok();
                        }
                    }
                    db
                },
                |db, n| {
                    let (keys, told) = (keys(db, lease), told.clone());
                    Box::pin(async move {
                        let done = match pair[n] {
                            Work::Run(request) => Some(run(keys, request).await),
                            Work::Permitted(request) => Some(permitted(keys, db.clone(), request).await),
                            Work::Begin => {
                                keys.begin::<i32, String>("scope", "key", &1).await.unwrap();
                                None
                            }
                        };
                        *told[n].lock().unwrap() = done;
                    })
                },
                async |db, order| {
                    let told = told.each_ref().map(|told| told.lock().unwrap().take());
                    let context = format!("{pair:?} {lease:?} {before:?} as {order:?}: {told:?}");
                    let done = usize::from(before == Before::Done);
                    let now = told.iter().flatten().flatten();
                    let now: Vec<_> = now
                        .filter_map(|ran| match ran {
                            Ran::Now(result) => Some(result.clone()),
                            _ => None,
                        })
                        .collect();
                    // As often as somebody was told so, and that is once.
                    let is_done = now.iter().filter(|result| result.is_ok()).count();
                    assert_eq!(effects(db).await, is_done + done, "{context}");
                    assert!(now.len() + done <= 1, "{context}");
                    // Who runs waits for who runs.
                    if before != Before::Begun && pair.iter().all(|work| matches!(work, Work::Run(_))) {
                        let busy = |told: &Option<_>| matches!(told, Some(Ok(Ran::InProgress { .. })));
                        assert!(!told.iter().any(busy), "{context}");
                    }
                    let mut expected: Option<Result<i32, String>> = now.first().cloned();
                    if before == Before::Done {
                        expected = Some(Ok(2));
                    }
                    for (work, told) in pair.iter().zip(&told) {
                        match told {
                            None | Some(Ok(Ran::Now(_) | Ran::InProgress { .. } | Ran::Mismatch)) => {}
                            Some(Ok(Ran::Replayed(result))) => {
                                assert_eq!(Some(result), expected.as_ref(), "{context}");
                            }
                            Some(Err(error)) if error.kind() == ErrorKind::Validation => {
                                assert_eq!(*work, Work::Run(99), "{context}");
                            }
                            // Somebody else has a permit by now.
                            Some(Err(error)) => {
                                assert!(error.is_conflict() && lease == Lease::None, "{error}: {context}");
                            }
                            other => panic!("{other:?}: {context}"),
                        }
                    }
                    let stored = keys(db, lease).get("scope", "key").await.unwrap();
                    let stored = stored.and_then(|record| record.result);
                    assert_eq!(stored.is_some(), expected.is_some(), "{context}");
                    // Sent again it is answered as it was.
                    if let Some(expected) = expected {
                        let request = match &expected {
                            Ok(double) => double / 2,
                            Err(_) => 13,
                        };
                        let again = run(keys(db, lease), request).await.unwrap();
                        assert_eq!(again, Ran::Replayed(expected), "{context}");
                        assert_eq!(effects(db).await, is_done + done, "{context}");
                    }
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two with a key");
}

#[tokio::test]
async fn a_permit_is_one_at_a_time_whoever_takes_it_over() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        Complete,
        RenewAndComplete,
        Abandon,
    }
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Before {
        Nothing,
        Begun,
        Forgotten,
    }
    let works = [Work::Complete, Work::RenewAndComplete, Work::Abandon];
    let mut orders = 0;
    for (lease, before) in [Lease::Long, Lease::None]
        .iter()
        .flat_map(|lease| [Before::Nothing, Before::Begun, Before::Forgotten].map(|before| (*lease, before)))
    {
        for pair in works
            .iter()
            .flat_map(|first| works.map(|second| [*first, second]))
        {
            let told = Arc::new(Mutex::new(Vec::new()));
            orders += every_interleaving_of(
                usize::MAX,
                async || {
                    let db = Plain::db(&memory().await);
                    if before != Before::Nothing {
                        let keys = keys(&db, lease).lease(Duration::ZERO).keep(Duration::ZERO);
                        let begun = keys.begin::<i32, String>("scope", "key", &9).await.unwrap();
                        let Begin::Fresh(permit) = begun else { panic!() };
                        if before == Before::Forgotten {
                            permit.complete::<i32, String>(&Ok(9)).await.unwrap();
                        }
                    }
                    told.lock().unwrap().clear();
                    db
                },
                |db, n| {
                    let (keys, told) = (keys(db, lease), told.clone());
                    Box::pin(async move {
                        let permit = match keys.begin::<i32, String>("scope", "key", &1).await.unwrap() {
                            Begin::Fresh(permit) => permit,
                            Begin::Mismatch => panic!("{:?}", pair[n]),
                            other => return told.lock().unwrap().push((n, 0, format!("{other:?}"), false)),
                        };
                        let token = permit.token();
                        let done = match pair[n] {
                            Work::Complete => permit.complete::<i32, String>(&Ok(n as i32)).await,
                            Work::RenewAndComplete => match permit.renew().await {
                                Ok(()) => permit.complete::<i32, String>(&Ok(n as i32)).await,
                                lost => lost,
                            },
                            Work::Abandon => permit.abandon().await,
                        };
                        let is_done = done.is_ok();
                        assert!(is_done || done.unwrap_err().is_conflict());
                        let text = format!("{:?}", pair[n]);
                        told.lock().unwrap().push((n, token, text, is_done));
                    })
                },
                async |db, order| {
                    let told = std::mem::take(&mut *told.lock().unwrap());
                    let context = format!("{pair:?} {lease:?} {before:?} as {order:?}: {told:?}");
                    let tokens: Vec<i64> = told
                        .iter()
                        .map(|told| told.1)
                        .filter(|token| *token > 0)
                        .collect();
                    assert!(!tokens.is_empty(), "{context}");
                    assert!(tokens.len() == 1 || tokens[0] != tokens[1], "{context}");
                    let completed = told.iter().filter(|told| told.3 && pair[told.0] != Work::Abandon);
                    let completed: Vec<usize> = completed.map(|told| told.0).collect();
                    assert!(completed.len() <= 1, "{context}");
                    if lease == Lease::Long {
                        // Nobody loses what is not over.
                        assert!(told.iter().all(|told| told.3 || told.1 == 0), "{context}");
                    }
                    let record = keys(db, lease).get("scope", "key").await.unwrap().unwrap();
                    let expected = completed.first().map(|n| bson::bson!({"ok": *n as i32}));
                    assert_eq!(record.result, expected, "{context}");
                    assert_eq!(record.token, tokens.iter().copied().max().unwrap(), "{context}");
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two with a permit");
}
