//! All orders in which the operations of two who change figures and balances, make them anew and hold them against their
//! sources can follow each other.

use std::sync::{Arc, Mutex};

use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Model, Tx};
use odm_patterns::computed::{Accumulate, Figures, Running};
use odm_patterns::hold::Answered;
use odm_patterns::money::{Accounts, Currency, Money, TransferError};
use odm_tests::interleavings::{every_interleaving_of, pairs};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "plays")]
struct Play {
    #[serde(rename = "_id")]
    id: i32,
    stars: Running<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "votes")]
struct Vote {
    #[serde(rename = "_id")]
    id: i32,
    play: i32,
    stars: i64,
}

async fn votes(tx: Tx) -> odm::Result<Vec<i64>> {
    let all = tx.collection::<Vote>().find(|v| v.play.eq(1)).await?;
    Ok(all.into_iter().map(|vote| vote.stars).collect())
}

async fn vote(db: &Db, id: i32, stars: i64) {
    db.transaction(async |tx| {
        let vote = Vote { id, play: 1, stars };
        tx.collection::<Vote>().insert(vote).await?;
        let plays = tx.collection::<Play>();
        plays
            .update_one(|p| p.id.eq(1), |p| p.stars.record(stars))
            .await
            .map(drop)
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn figures_are_those_of_their_values_whoever_changes_them() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        Record,
        /// The least and the greatest of before, if it is there.
        Remove,
        Correct,
        Rebuild,
        Verify,
    }
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Before {
        Nothing,
        Right,
        Wrong,
    }
    let works = [
        Work::Record,
        Work::Remove,
        Work::Correct,
        Work::Rebuild,
        Work::Verify,
    ];
    let figures = |db: &Db| Figures::of(db, &db.collection::<Play>(), 1, |p| p.stars);
    let mut orders = 0;
    for before in [Before::Nothing, Before::Right, Before::Wrong] {
        for pair in pairs(works) {
            orders += every_interleaving_of(
                3,
                async || {
                    let db = Db::open("memory:").await.unwrap();
                    db.collection::<Vote>().create().await.unwrap();
                    let play = Play {
                        id: 1,
                        stars: Running::default(),
                    };
                    db.collection::<Play>().insert(play).await.unwrap();
                    if before != Before::Nothing {
                        vote(&db, 1, 1).await;
                        vote(&db, 2, 9).await;
                    }
                    if before == Before::Wrong {
                        let plays = db.collection::<Play>();
                        plays
                            .update_one(|p| p.id.eq(1), |p| p.stars.record(50))
                            .await
                            .unwrap();
                    }
                    db
                },
                |db, n| {
                    Box::pin(async move {
                        let figures = figures(db);
                        match pair[n] {
                            Work::Record => vote(db, 10 + n as i32, 4 + n as i64).await,
                            Work::Remove | Work::Correct => {
                                let id = n as i32 + 1;
                                let changed = db.transaction(|tx: Tx| async move {
                                    let (plays, votes) = (tx.collection::<Play>(), tx.collection::<Vote>());
                                    let Some(vote) = votes.get(id).await? else {
                                        return Ok(());
                                    };
                                    let p = Play::fields();
                                    let update = match pair[n] {
                                        Work::Remove => {
                                            votes.delete(id).await?;
                                            p.stars.remove(vote.stars)
                                        }
                                        _ => {
                                            votes.update_one(|v| v.id.eq(id), |v| v.stars.set(5)).await?;
                                            p.stars.correct(vote.stars, 5)
                                        }
                                    };
                                    plays.update_one(|p| p.id.eq(1), |_| update).await.map(drop)
                                });
                                changed.await.unwrap();
                            }
                            Work::Rebuild => drop(figures.rebuild(votes).await.unwrap()),
                            Work::Verify => {
                                let found = figures.verify(votes).await.unwrap();
                                assert!(before == Before::Wrong || found.is_empty(), "{found:?}");
                            }
                        }
                    })
                },
                async |db, order| {
                    let context = format!("{pair:?} {before:?} as {order:?}");
                    let found = figures(db).verify(votes).await.unwrap();
                    let is_right = before != Before::Wrong || pair.contains(&Work::Rebuild);
                    assert_eq!(found.is_empty(), is_right, "{context}: {found:?}");
                    // What is wrong is so by what was wrong before.
                    let all = db.transaction(votes).await.unwrap();
                    let stored = db.collection::<Play>().get(1).required().await.unwrap().stars;
                    let (count, sum) = (all.len() as i64, all.iter().sum::<i64>());
                    let more = if is_right { (0, 0) } else { (1, 50) };
                    assert_eq!(
                        (stored.count, stored.sum),
                        (count + more.0, sum + more.1),
                        "{context}"
                    );
                    let kept = pair.map(|work| match work {
                        Work::Record => 1,
                        Work::Remove if before != Before::Nothing => -1,
                        _ => 0,
                    });
                    let expected = kept.iter().sum::<i64>() + if before == Before::Nothing { 0 } else { 2 };
                    assert_eq!(count, expected, "{context}");
                    figures(db).rebuild(votes).await.unwrap();
                    let stored = db.collection::<Play>().get(1).required().await.unwrap().stars;
                    assert!(
                        stored.minimum().is_exact && stored.maximum().is_exact,
                        "{context}"
                    );
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two at figures");
}

fn usd(text: &str) -> Money {
    format!("{text} USD").parse().unwrap()
}

#[tokio::test]
async fn money_is_moved_once_and_conserved_whoever_moves_it() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Work {
        /// Both send the same one, if both do.
        Known,
        /// Of another amount under the same key.
        Other,
        /// 7 of 10.
        Give,
        GiveElsewhere,
        GiveBack,
        /// More than there is.
        TooMuch,
        OpenAndGive,
        Verify,
    }
    let works = [
        Work::Known,
        Work::Other,
        Work::Give,
        Work::GiveElsewhere,
        Work::GiveBack,
        Work::TooMuch,
        Work::OpenAndGive,
        Work::Verify,
    ];
    let mut orders = 0;
    let purse = || Some(usd("0"));
    for is_in_doubt in [false, true] {
        for pair in pairs(works) {
            let is_known = pair.iter().any(|work| matches!(work, Work::Known | Work::Other));
            if is_in_doubt && !is_known {
                continue;
            }
            let told = Arc::new([const { Mutex::new(None) }; 2]);
            orders += every_interleaving_of(
                2,
                async || {
                    let db = Db::open("memory:").await.unwrap();
                    let accounts = Accounts::new(&db);
                    accounts.sync_indexes().await.unwrap();
                    accounts.open("bank", Currency::USD, None).await.unwrap();
                    for name in ["ann", "joe", "eve"] {
                        accounts.open(name, Currency::USD, purse()).await.unwrap();
                        let key = format!("deposit-{name}");
                        accounts.transfer(&key, "bank", name, &usd("10")).await.unwrap();
                    }
                    if is_in_doubt {
                        let (faulty, faults) = db.faulty();
                        let lost = Error::new(ErrorKind::Network, "connection reset (injected)");
                        faults.add(Fault::nth("commitTransaction", 1).after(lost));
                        let accounts = Accounts::new(&faulty);
                        accounts.transfer("known", "ann", "joe", &usd("3")).await.ok();
                    }
                    db
                },
                |db, n| {
                    let (accounts, told) = (Accounts::new(db), told.clone());
                    Box::pin(async move {
                        let key = format!("key-{n}");
                        let done = match pair[n] {
                            Work::Known => accounts.transfer("known", "ann", "joe", &usd("3")).await,
                            Work::Other => accounts.transfer("known", "ann", "joe", &usd("4")).await,
                            Work::Give => accounts.transfer(&key, "ann", "joe", &usd("7")).await,
                            Work::GiveElsewhere => accounts.transfer(&key, "ann", "eve", &usd("7")).await,
                            Work::GiveBack => accounts.transfer(&key, "joe", "ann", &usd("7")).await,
                            Work::TooMuch => accounts.transfer(&key, "ann", "joe", &usd("100")).await,
                            Work::OpenAndGive => {
                                accounts.open("new", Currency::USD, purse()).await.unwrap();
                                accounts.transfer(&key, "joe", "new", &usd("5")).await
                            }
                            Work::Verify => {
                                assert_eq!(accounts.verify().await.unwrap(), []);
                                Ok(Answered::Before)
                            }
                        };
                        *told[n].lock().unwrap() = Some(done);
                    })
                },
                async |db, order| {
                    let told = told.each_ref().map(|told| told.lock().unwrap().take().unwrap());
                    let context = format!("{pair:?} {is_in_doubt} as {order:?}: {told:?}");
                    let accounts = Accounts::new(db);
                    assert_eq!(accounts.verify().await.unwrap(), [], "{context}");
                    let mut expected = [1000, 1000, 1000, 0];
                    let mut give = |from: usize, to: usize, units: i64| {
                        expected[from] -= units;
                        expected[to] += units;
                    };
                    if is_in_doubt {
                        give(0, 1, 300);
                    }
                    for (work, told) in pair.iter().zip(&told) {
                        match (work, told) {
                            (Work::Known, Ok(Answered::Now)) => give(0, 1, 300),
                            (Work::Other, Ok(Answered::Now)) => give(0, 1, 400),
                            (Work::Give, Ok(Answered::Now)) => give(0, 1, 700),
                            (Work::GiveElsewhere, Ok(Answered::Now)) => give(0, 2, 700),
                            (Work::GiveBack, Ok(Answered::Now)) => give(1, 0, 700),
                            (Work::OpenAndGive, Ok(Answered::Now)) => {
                                give(1, 3, 500);
                            }
                            (Work::Known | Work::Other | Work::Verify, Ok(Answered::Before)) => {}
                            (Work::Known | Work::Other, Err(TransferError::Taken { .. })) => {}
                            (_, Err(TransferError::Insufficient { .. })) => {}
                            other => panic!("{other:?}: {context}"),
                        }
                    }
                    let mut found = Vec::new();
                    accounts.open("new", Currency::USD, purse()).await.unwrap();
                    for name in ["ann", "joe", "eve", "new"] {
                        found.push(accounts.balance(name).await.unwrap().units());
                    }
                    assert_eq!(found, expected, "{context}");
                    // One of two wins: a key is taken once, and both are refused only where there was too little.
                    let now = told
                        .iter()
                        .filter(|told| matches!(told, Ok(Answered::Now)))
                        .count();
                    if pair.iter().all(|work| matches!(work, Work::Known | Work::Other)) {
                        assert_eq!(now, usize::from(!is_in_doubt), "{context}");
                    }
                    if pair == [Work::Give, Work::GiveElsewhere] || pair == [Work::Give, Work::Give] {
                        assert_eq!(now, 1, "{context}");
                    }
                },
            )
            .await;
        }
    }
    println!("{orders} orders of two who move money");
}
