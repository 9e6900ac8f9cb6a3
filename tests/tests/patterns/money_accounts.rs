//! Accounts: money is conserved, whatever happens.

use std::sync::Arc;

use bson::{Bson, DateTime};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_patterns::hold::Answered;
use odm_patterns::money::{
    Account, Accounts, Currency, LedgerProblem, Money, MoneyError, Transfer, TransferError,
};
use odm_tests::plain::Plain;
use odm_tests::random::Random;

crate::on_every_backend! {
    a_transfer_happens_once,
    refusals_change_nothing,
    accounts_are_opened_once,
    many_at_once_conserve_the_sum,
    one_key_from_many_tasks_moves_once,
    a_fault_at_any_write_is_mended_by_sending_again,
    transfers_are_parts_of_transactions,
    without_transactions_it_is_unsupported,
    wrong_books_are_found,
    history_goes_by_its_indexes,
    a_page_of_the_history_reads_a_page,
    the_limit_of_64_bits_is_an_overflow,
}

fn usd(text: &str) -> Money {
    format!("{text} USD").parse().unwrap()
}

/// A bank without a limit, and purses with 10 dollars each.
async fn purses(db: &Db, names: &[&str]) -> Accounts {
    let accounts = Accounts::new(db);
    accounts.sync_indexes().await.unwrap();
    accounts.open("bank", Currency::USD, None).await.unwrap();
    for name in names {
        accounts.open(name, Currency::USD, Some(usd("0"))).await.unwrap();
        let key = format!("deposit-{name}");
        accounts.transfer(&key, "bank", name, &usd("10")).await.unwrap();
    }
    accounts
}

async fn balances(accounts: &Accounts, names: &[&str]) -> Vec<i64> {
    let mut all = Vec::new();
    for name in names {
        all.push(accounts.balance(name).await.unwrap().units());
    }
    all
}

async fn a_transfer_happens_once(db: &Db) {
    let (db, log) = db.logged();
    let accounts = purses(&db, &["ann", "joe"]).await;
    log.take();
    let first = accounts.transfer("k", "ann", "joe", &usd("2.50")).await.unwrap();
    assert_eq!((first, log.round_trips()), (Answered::Now, 4));
    let again = accounts.transfer("k", "ann", "joe", &usd("2.5")).await.unwrap();
    assert_eq!(again, Answered::Before);
    for (from, to, amount) in [
        ("ann", "joe", "2.51"),
        ("joe", "ann", "2.50"),
        ("bank", "joe", "2.50"),
    ] {
        let other = accounts.transfer("k", from, to, &usd(amount)).await;
        assert!(matches!(&other, Err(TransferError::Taken { key }) if key == "k"));
        let text = other.unwrap_err().to_string();
        assert!(text.contains("key: \"k\""), "{text}");
    }
    assert_eq!(
        balances(&accounts, &["bank", "ann", "joe"]).await,
        [-2000, 750, 1250]
    );
    let history = accounts.history("ann").await.unwrap();
    let keys: Vec<&str> = history.iter().map(|transfer| transfer.key.as_str()).collect();
    assert_eq!(keys, ["k", "deposit-ann"]);
    assert!(accounts.verify().await.unwrap().is_empty());
}

async fn refusals_change_nothing(db: &Db) {
    let accounts = purses(db, &["ann", "joe"]).await;
    accounts.open("yen", Currency::JPY, None).await.unwrap();
    accounts
        .open("credit", Currency::USD, Some(usd("-5")))
        .await
        .unwrap();
    let refused = async |from: &str, to: &str, money: Money| {
        accounts.transfer("r", from, to, &money).await.unwrap_err()
    };
    match refused("ann", "joe", usd("10.01")).await {
        TransferError::Insufficient { account, balance } => {
            assert_eq!((account.as_str(), balance), ("ann", usd("10")));
        }
        other => panic!("{other}"),
    }
    assert!(
        matches!(refused("ann", "nobody", usd("1")).await, TransferError::NoAccount { account } if account == "nobody")
    );
    assert!(matches!(
        refused("nobody", "ann", usd("1")).await,
        TransferError::NoAccount { .. }
    ));
    assert!(matches!(
        refused("ann", "ann", usd("1")).await,
        TransferError::SameAccount { .. }
    ));
    assert!(matches!(
        refused("ann", "joe", usd("0")).await,
        TransferError::NotPositive { .. }
    ));
    assert!(matches!(
        refused("ann", "joe", usd("-1")).await,
        TransferError::NotPositive { .. }
    ));
    let mismatch = |error| matches!(error, TransferError::Money(MoneyError::CurrencyMismatch { .. }));
    assert!(mismatch(refused("ann", "yen", usd("1")).await));
    assert!(mismatch(refused("yen", "ann", usd("1")).await));
    assert!(matches!(
        refused("credit", "ann", usd("5.01")).await,
        TransferError::Insufficient { .. }
    ));
    let most = Money::of_units(i64::MAX, Currency::USD).unwrap();
    assert!(matches!(
        refused("bank", "ann", most).await,
        TransferError::Money(MoneyError::Overflow)
    ));
    assert_eq!(
        balances(&accounts, &["bank", "ann", "joe", "yen", "credit"]).await,
        [-2000, 1000, 1000, 0, 0]
    );
    // A refusal is not kept: the same key works once there is enough.
    accounts.transfer("r", "credit", "ann", &usd("5")).await.unwrap();
    assert_eq!(balances(&accounts, &["ann", "credit"]).await, [1500, -500]);
    assert!(accounts.verify().await.unwrap().is_empty());
}

async fn accounts_are_opened_once(db: &Db) {
    let accounts = purses(db, &["ann"]).await;
    assert_eq!(
        accounts.open("ann", Currency::USD, Some(usd("0"))).await.unwrap(),
        Answered::Before
    );
    for (currency, least) in [
        (Currency::USD, None),
        (Currency::USD, Some(usd("-1"))),
        (Currency::EUR, None),
    ] {
        let other = accounts.open("ann", currency, least).await;
        assert!(matches!(other, Err(TransferError::Taken { .. })));
    }
    assert_eq!(accounts.balance("ann").await.unwrap(), usd("10"));
    let gold = accounts.open("gold", Currency::XAU, None).await.unwrap_err();
    assert!(matches!(
        gold,
        TransferError::Money(MoneyError::NoMinorUnit { .. })
    ));
    // There is nothing in it yet.
    match accounts.open("pledge", Currency::USD, Some(usd("5"))).await {
        Err(TransferError::Insufficient { account, balance }) => {
            assert_eq!((account.as_str(), balance), ("pledge", usd("0")));
        }
        other => panic!("{other:?}"),
    }
    assert!(
        accounts
            .open("pledge", Currency::USD, Some(usd("0")))
            .await
            .is_ok()
    );
    let mixed = accounts
        .open("mixed", Currency::EUR, Some(usd("0")))
        .await
        .unwrap_err();
    assert!(matches!(
        mixed,
        TransferError::Money(MoneyError::CurrencyMismatch { .. })
    ));
    assert!(matches!(
        accounts.balance("nobody").await,
        Err(TransferError::NoAccount { .. })
    ));
    let error = Error::from(accounts.balance("nobody").await.unwrap_err());
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

async fn many_at_once_conserve_the_sum(db: &Db) {
    let transfers: usize = match std::env::var("ODM_TEST_MONEY_TRANSFERS") {
        Ok(transfers) => transfers.parse().unwrap(),
        Err(_) => 120,
    };
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let accounts = Arc::new(purses(db, &names).await);
    let tasks: Vec<_> = (0..6_usize)
        .map(|task| {
            let accounts = accounts.clone();
            tokio::spawn(async move {
                let mut random = Random::new(task as u64);
                let mut moved = 0;
                for n in 0..transfers / 6 {
                    let (from, to) = (random.pick(&names), random.pick(&names));
                    let money = Money::of_units(1 + random.below(700) as i64, Currency::USD).unwrap();
                    // Now and then a key is sent again.
                    let key = format!("{task}-{}", n - usize::from(n > 0 && random.one_in(10)));
                    match accounts.transfer(&key, from, to, &money).await {
                        Ok(Answered::Now) => moved += 1,
                        Ok(_) => {}
                        Err(
                            TransferError::Insufficient { .. }
                            | TransferError::SameAccount { .. }
                            | TransferError::Taken { .. },
                        ) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
                moved
            })
        })
        .collect();
    let mut moved = 0;
    for task in tasks {
        moved += task.await.unwrap();
    }
    assert!(moved > transfers / 10);
    assert_eq!(accounts.verify().await.unwrap(), []);
    let sum: i64 = balances(&accounts, &names).await.iter().sum();
    assert_eq!(sum, 1000 * names.len() as i64);
    assert_eq!(
        db.collection::<Transfer>()
            .count(|_| odm::Filter::all())
            .await
            .unwrap(),
        moved as u64 + names.len() as u64
    );
}

async fn one_key_from_many_tasks_moves_once(db: &Db) {
    let accounts = Arc::new(purses(db, &["ann", "joe"]).await);
    for key in ["x", "y"] {
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let accounts = accounts.clone();
                tokio::spawn(async move { accounts.transfer(key, "ann", "joe", &usd("1")).await.unwrap() })
            })
            .collect();
        let mut now = 0;
        for task in tasks {
            now += usize::from(task.await.unwrap() == Answered::Now);
        }
        assert_eq!(now, 1);
    }
    assert_eq!(balances(&accounts, &["ann", "joe"]).await, [800, 1200]);
}

async fn a_fault_at_any_write_is_mended_by_sending_again(db: &Db) {
    let accounts = purses(db, &["ann", "joe"]).await;
    let mut expected = 1000;
    for after in [false, true] {
        for n in 1.. {
            let (faulty, faults) = db.faulty();
            let lost = Error::new(ErrorKind::Network, "connection reset (injected)");
            match after {
                false => faults.add(Fault::nth_write(n).crash()),
                true => faults.add(Fault::nth_write(n).after(lost)),
            }
            let key = format!("{after}-{n}");
            let first = Accounts::new(&faulty)
                .transfer(&key, "ann", "joe", &usd("0.10"))
                .await;
            let failed = faults.failures() > 0;
            assert!(failed || first.is_ok());
            // Nothing is half done, before it is sent again and after.
            assert_eq!(accounts.verify().await.unwrap(), []);
            accounts.transfer(&key, "ann", "joe", &usd("0.10")).await.unwrap();
            expected -= 10;
            assert_eq!(accounts.balance("ann").await.unwrap().units(), expected);
            if !failed {
                assert!(n > 3);
                break;
            }
        }
    }
    assert_eq!(accounts.verify().await.unwrap(), []);
}

async fn transfers_are_parts_of_transactions(db: &Db) {
    let accounts = purses(db, &["ann", "joe"]).await;
    let both = db.transaction(|tx| {
        let accounts = accounts.on(&tx);
        async move {
            for _ in 0..2 {
                accounts.transfer("one", "ann", "joe", &usd("1")).await?;
            }
            accounts.transfer("two", "joe", "ann", &usd("3")).await?;
            Ok(())
        }
    });
    both.await.unwrap();
    assert_eq!(balances(&accounts, &["ann", "joe"]).await, [1200, 800]);
    let refused = db.transaction(|tx| {
        let accounts = accounts.on(&tx);
        async move {
            accounts.transfer("three", "ann", "joe", &usd("1")).await?;
            accounts.transfer("four", "joe", "ann", &usd("300")).await?;
            Ok(())
        }
    });
    assert_eq!(refused.await.unwrap_err().kind(), ErrorKind::Validation);
    assert_eq!(balances(&accounts, &["ann", "joe"]).await, [1200, 800]);
    assert_eq!(accounts.verify().await.unwrap(), []);
}

async fn without_transactions_it_is_unsupported(db: &Db) {
    let accounts = purses(db, &["ann"]).await;
    let plain = Accounts::new(&Plain::db(db));
    match plain.transfer("k", "bank", "ann", &usd("1")).await {
        Err(TransferError::Database(error)) => assert!(error.is_unsupported()),
        other => panic!("{other:?}"),
    }
    assert_eq!(accounts.balance("ann").await.unwrap(), usd("10"));
}

async fn wrong_books_are_found(db: &Db) {
    let accounts = purses(db, &["ann", "joe"]).await;
    let stored = db.collection::<Account>();
    stored
        .update_one(|a| a.id.eq("joe"), |a| a.balance.amount.inc(-1001))
        .await
        .unwrap();
    stored.delete("ann").await.unwrap();
    let text = str::to_owned;
    let expected = [
        LedgerProblem::NoAccount {
            transfer: text("deposit-ann"),
            account: text("ann"),
        },
        LedgerProblem::Unbalanced {
            account: text("joe"),
            balance: -1,
            expected: 1000,
        },
        LedgerProblem::BelowLeast {
            account: text("joe"),
            balance: -1,
            least: 0,
        },
        LedgerProblem::NotConserved {
            currency: Currency::USD,
            sum: -2001,
        },
    ];
    assert_eq!(accounts.verify().await.unwrap(), expected);
    stored
        .update_one(|a| a.id.eq("joe"), |a| a.balance.currency.set(Currency::EUR))
        .await
        .unwrap();
    let found = accounts.verify().await.unwrap();
    assert!(found.contains(&LedgerProblem::OtherCurrency {
        transfer: text("deposit-joe"),
        account: text("joe")
    }));
}

async fn history_goes_by_its_indexes(db: &Db) {
    let accounts = purses(db, &["ann", "joe"]).await;
    for n in 0..5 {
        accounts
            .transfer(&format!("{n}"), "ann", "joe", &usd("0.01"))
            .await
            .unwrap();
    }
    let (watched, scans) = db.watch_scans();
    let page = accounts.on(&watched).history("joe").limit(3).await.unwrap();
    assert_eq!(page.len(), 3);
    assert!(scans.entries().is_empty());
}

async fn a_page_of_the_history_reads_a_page(db: &Db) {
    let accounts = purses(db, &[]).await;
    let transfers = (0..2_000).map(|n: i64| Transfer {
        key: format!("k{n:04}"),
        from: if n % 3 == 0 { "ann" } else { "bank" }.into(),
        to: if n % 3 == 0 { "bank" } else { "ann" }.into(),
        money: usd("0.01"),
        // Many at the same time, which the key puts in order.
        at: DateTime::from_millis(n / 100),
    });
    db.collection::<Transfer>().insert_many(transfers).await.unwrap();
    let keys = |found: &[Transfer]| -> Vec<String> { found.iter().map(|found| found.key.clone()).collect() };
    let expected: Vec<String> = (0..2_000).rev().map(|n| format!("k{n:04}")).collect();
    let first = accounts.history("ann").page(10).await.unwrap();
    assert_eq!(keys(&first.items), expected[..10]);
    let second = accounts
        .history("ann")
        .page(10)
        .after(first.next.as_ref().unwrap())
        .await
        .unwrap();
    assert_eq!(keys(&second.items), expected[10..20]);
    let plan = accounts
        .history("ann")
        .limit(10)
        .explain()
        .executed()
        .await
        .unwrap();
    let statistics = plan.get_document("executionStats").unwrap();
    for counted in ["totalDocsExamined", "totalKeysExamined"] {
        let examined = statistics.get(counted).and_then(|count| match count {
            Bson::Int32(count) => Some(i64::from(*count)),
            Bson::Int64(count) => Some(*count),
            _ => None,
        });
        assert!(examined.unwrap() <= 24, "{counted}: {statistics}");
    }
}

async fn the_limit_of_64_bits_is_an_overflow(db: &Db) {
    let accounts = purses(db, &["ann"]).await;
    let units = |units| Money::of_units(units, Currency::USD).unwrap();
    for (deep, least) in [("free", None), ("deep", Some(units(i64::MIN)))] {
        accounts.open(deep, Currency::USD, least).await.unwrap();
        let (one, two) = (format!("{deep}-1"), format!("{deep}-2"));
        for name in [&one, &two] {
            accounts.open(name, Currency::USD, None).await.unwrap();
        }
        accounts
            .transfer(&one, deep, &one, &units(i64::MAX))
            .await
            .unwrap();
        accounts.transfer(&two, deep, &two, &units(1)).await.unwrap();
        assert_eq!(accounts.balance(deep).await.unwrap(), units(i64::MIN));
        for more in [1, i64::MAX] {
            let refused = accounts.transfer("more", deep, &two, &units(more)).await;
            assert!(
                matches!(refused, Err(TransferError::Money(MoneyError::Overflow))),
                "{refused:?}"
            );
        }
        let refused = accounts.transfer("more", "ann", &one, &units(1)).await;
        assert!(
            matches!(refused, Err(TransferError::Money(MoneyError::Overflow))),
            "{refused:?}"
        );
    }
    assert!(accounts.verify().await.unwrap().is_empty());
}
