//! Sequences: what the table of guarantees says.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind};
use odm_patterns::period::{Unit, Zone};
use odm_patterns::sequence::{LedgerError, LedgerProblem, Number, Sequence};
use odm_tests::plain::Plain;

use super::counter::clocked;

crate::on_every_backend! {
    loose_numbers_are_unique_and_ordered_and_lost_with_their_users,
    blocks_are_unique_across_programs_and_lose_their_rest,
    gap_free_numbers_come_back,
    gap_free_numbers_follow_the_commits,
    a_ledger_accounts_for_every_number,
    a_void_number_is_never_used,
    scopes_and_periods_begin_anew,
    a_sequence_keeps_its_kind,
    gap_free_sequences_have_no_gap_after_crashes,
    a_ledger_has_no_gap_after_crashes,
    a_key_has_one_number_when_the_period_turns,
    the_last_number_is_known_at_the_end,
}

fn lost() -> Error {
    Error::new(ErrorKind::Network, "connection reset (injected)")
}

fn sequence(db: &Db) -> Sequence {
    Sequence::new(db, "invoices")
}

async fn loose_numbers_are_unique_and_ordered_and_lost_with_their_users(db: &Db) {
    let (db, log) = db.logged();
    let numbers = sequence(&db).first(100).loose();
    assert_eq!(numbers.last().await.unwrap(), None);
    log.take();
    assert_eq!(numbers.next().await.unwrap().value, 100);
    assert_eq!(log.take().len(), 1);
    assert_eq!(numbers.next_many(5).await.unwrap().value, 101);
    assert_eq!(numbers.next().await.unwrap().to_string(), "106");
    assert_eq!(numbers.last().await.unwrap().unwrap().value, 106);
    // Taken outside of the transaction that uses it, the number survives the rollback, as a gap.
    let tx = db.begin().await.unwrap();
    let number = numbers.next().await.unwrap();
    tx.raw_collection("used")
        .insert(doc! {"_id": number.value})
        .await
        .unwrap();
    tx.abort().await;
    assert_eq!((number.value, numbers.next().await.unwrap().value), (107, 108));
    // A lost reply is a gap, too.
    let (faulty, faults) = db.faulty();
    faults.add(Fault::nth_write(1).after(lost()));
    assert!(sequence(&faulty).loose().next().await.is_err());
    assert_eq!(numbers.next().await.unwrap().value, 110);
    let error = numbers.next_many(0).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);

    // Many at once, who begin it together: each number once, and those of one asker rise.
    let mut tasks = Vec::new();
    for _ in 0..32 {
        let numbers = Sequence::new(&db, "many").loose();
        tasks.push(tokio::spawn(async move {
            let mut taken = Vec::new();
            for _ in 0..4 {
                taken.push(numbers.next().await.unwrap().value);
            }
            taken
        }));
    }
    let mut all = BTreeSet::new();
    for task in tasks {
        let taken = task.await.unwrap();
        assert!(taken.is_sorted());
        all.extend(taken);
    }
    assert_eq!(all, (1..=128).collect());
    // Without transactions.
    let plain = Plain::db(&db);
    assert_eq!(
        Sequence::new(&plain, "many").loose().next().await.unwrap().value,
        129
    );
}

async fn blocks_are_unique_across_programs_and_lose_their_rest(db: &Db) {
    let (db, log) = db.logged();
    let (one, two) = (sequence(&db).blocks(10), sequence(&db).blocks(10));
    log.take();
    let mut taken = Vec::new();
    for _ in 0..12 {
        taken.push(one.next().await.unwrap().value);
    }
    assert_eq!((log.take().len(), one.left().await), (2, 8));
    assert_eq!(two.next().await.unwrap().value, 21);
    for _ in 0..9 {
        taken.push(one.next().await.unwrap().value);
    }
    // Ordered within one handle, not among several; 21 to 30 are the other's.
    assert!(taken.is_sorted());
    assert_eq!(taken.last(), Some(&31));
    // The rest of a block goes with its program.
    drop(two);
    assert_eq!(sequence(&db).blocks(10).next().await.unwrap().value, 41);
    // Several tasks share one.
    let shared = Arc::new(Sequence::new(&db, "shared").blocks(7));
    let mut tasks = Vec::new();
    for _ in 0..30 {
        let shared = shared.clone();
        tasks.push(tokio::spawn(async move { shared.next().await.unwrap().value }));
    }
    let mut all = BTreeSet::new();
    for task in tasks {
        all.insert(task.await.unwrap());
    }
    assert_eq!(all, (1..=30).collect());
}

/// Stores something under a number in one transaction.
async fn invoice(db: &Db, is_aborted: bool) -> odm::Result<Number> {
    db.transaction(async |tx| {
        let numbers = sequence(&tx).gap_free();
        let number = numbers.next(&tx).await?;
        tx.raw_collection("used").insert(doc! {"n": number.value}).await?;
        match is_aborted {
            true => Err(Error::new(ErrorKind::Validation, "no")),
            false => Ok(number),
        }
    })
    .await
}

async fn used(db: &Db) -> Vec<i64> {
    let found = db
        .raw_collection("used")
        .find(doc! {})
        .sort_raw(doc! {"_id": 1})
        .await
        .unwrap();
    found
        .iter()
        .map(|document| document.get_i64("n").unwrap())
        .collect()
}

async fn gap_free_numbers_come_back(db: &Db) {
    assert_eq!(invoice(db, false).await.unwrap().value, 1);
    assert!(invoice(db, true).await.is_err());
    assert_eq!(invoice(db, false).await.unwrap().value, 2);
    assert_eq!(used(db).await, [1, 2]);
    let numbers = sequence(db).gap_free();
    assert_eq!(numbers.last().await.unwrap().unwrap().value, 2);
    let error = numbers.next(db).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = invoice(&Plain::db(db), false).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

async fn gap_free_numbers_follow_the_commits(db: &Db) {
    db.raw_collection("used").create().await.unwrap();
    let mut tasks = Vec::new();
    for task in 0..24 {
        let db = db.clone();
        tasks.push(tokio::spawn(async move {
            // A third of them give up.
            let number = invoice(&db, task % 3 == 0).await;
            number.ok().map(|number| number.value)
        }));
    }
    let mut taken = BTreeSet::new();
    for task in tasks {
        taken.extend(task.await.unwrap());
    }
    assert_eq!(taken, (1..=16).collect());
    let mut stored = used(db).await;
    stored.sort_unstable();
    assert_eq!(stored, (1..=16).collect::<Vec<_>>());
    // One after another is in order.
    let next = invoice(db, false).await.unwrap();
    assert_eq!(next.value, 17);
}

async fn a_ledger_accounts_for_every_number(db: &Db) {
    let (db, millis) = clocked(db, "2026-11-02T10:00:00Z");
    let (db, log) = db.logged();
    let numbers = sequence(&db).first(1000).ledger().most_open(3);
    log.take();
    let first = numbers.reserve("a").await.unwrap();
    assert_eq!((log.take().len(), first.value), (1, 1000));
    // The same key has the same number while it is open.
    assert_eq!(numbers.reserve("a").await.unwrap(), first);
    numbers.used(&first).await.unwrap();
    numbers.used(&first).await.unwrap();
    let second = numbers.reserve("a").await.unwrap();
    let third = numbers.reserve("$b").await.unwrap();
    let fourth = numbers.reserve("c").await.unwrap();
    assert_eq!((second.value, third.value, fourth.value), (1001, 1002, 1003));
    let full = numbers.reserve("d").await.unwrap_err();
    assert!(matches!(full, LedgerError::TooManyOpen { most: 3 }));
    let open = numbers.open().await.unwrap();
    assert_eq!(
        open.iter()
            .map(|open| (open.n, open.key.as_str()))
            .collect::<Vec<_>>(),
        [(1001, "a"), (1002, "$b"), (1003, "c")]
    );
    numbers.void(&third, "torn").await.unwrap();
    numbers.void(&third, "torn again").await.unwrap();
    let voids = numbers.voids_of(None).await.unwrap();
    assert_eq!(
        (voids.len(), voids[0].number.value, voids[0].reason.as_str()),
        (1, 1002, "torn")
    );
    // What died is settled by what the data says.
    millis.fetch_add(60_000, Ordering::SeqCst);
    let fifth = numbers.reserve("e").await.unwrap();
    let settled = numbers
        .settle(Duration::from_secs(30), async |number| Ok(number.value == 1001))
        .await
        .unwrap();
    assert_eq!(settled, 2);
    assert_eq!(numbers.open().await.unwrap().len(), 1);
    let voids = numbers.voids_of(None).await.unwrap();
    assert_eq!(
        voids.iter().map(|void| void.number.value).collect::<Vec<_>>(),
        [1002, 1003]
    );
    assert_eq!(numbers.audit(None, [1000, 1001]).await.unwrap(), []);
    let problems = numbers.audit(None, [1001, 1001, 1002, 1006]).await.unwrap();
    assert_eq!(
        problems,
        [
            LedgerProblem::Missing(1000),
            LedgerProblem::UsedTwice(1001),
            LedgerProblem::UsedAndVoid(1002),
            LedgerProblem::NeverGiven(1006),
        ]
    );
    assert_eq!(numbers.last().await.unwrap(), Some(fifth));
}

async fn a_void_number_is_never_used(db: &Db) {
    db.raw_collection("used").create().await.unwrap();
    let numbers = sequence(db).ledger();
    let slow = numbers.reserve("slow").await.unwrap();
    numbers.settle(Duration::ZERO, async |_| Ok(false)).await.unwrap();
    // The slow program's document goes with its transaction.
    let stored = db
        .transaction(async |tx| {
            tx.raw_collection("used").insert(doc! {"n": slow.value}).await?;
            numbers.on(&tx).used(&slow).await.map_err(Error::from)
        })
        .await;
    assert_eq!(stored.unwrap_err().kind(), ErrorKind::Validation);
    assert_eq!(used(db).await, Vec::<i64>::new());
    assert!(matches!(numbers.used(&slow).await, Err(LedgerError::Void { reason }) if reason == "abandoned"));
    let quick = numbers.reserve("quick").await.unwrap();
    numbers.used(&quick).await.unwrap();
    assert!(matches!(
        numbers.void(&quick, "late").await,
        Err(LedgerError::NotOpen)
    ));
    let mut never = quick;
    never.value = 7;
    assert!(matches!(numbers.used(&never).await, Err(LedgerError::NeverGiven)));
}

async fn scopes_and_periods_begin_anew(db: &Db) {
    let (db, millis) = clocked(db, "2026-12-31T23:30:00Z");
    let yearly = |scope: &str, zone: Zone| sequence(&db).scope(scope).per(Unit::Year, zone);
    let (ann, joe) = (
        yearly("ann", Zone::UTC).loose(),
        yearly("joe", Zone::named("Europe/Berlin").unwrap()).loose(),
    );
    let odd = yearly("ann:2026", Zone::UTC).loose();
    let blocks = yearly("blocks", Zone::UTC).blocks(10);
    let ledger = yearly("ledger", Zone::UTC).ledger();
    for expected in ["2026-1", "2026-2"] {
        assert_eq!(ann.next().await.unwrap().to_string(), expected);
    }
    assert_eq!(joe.next().await.unwrap().to_string(), "2027-1");
    assert_eq!(odd.next().await.unwrap().to_string(), "2026-1");
    assert_eq!(blocks.next().await.unwrap().to_string(), "2026-1");
    let old = ledger.reserve("a").await.unwrap();
    millis.fetch_add(3_600_000, Ordering::SeqCst);
    assert_eq!(ann.next().await.unwrap().to_string(), "2027-1");
    assert_eq!(joe.next().await.unwrap().to_string(), "2027-2");
    assert_eq!(blocks.next().await.unwrap().to_string(), "2027-1");
    let new = ledger.reserve("b").await.unwrap();
    assert_eq!(
        (old.to_string(), new.to_string()),
        ("2026-1".into(), "2027-1".into())
    );
    // Numbers of all periods are settled.
    assert_eq!(
        ledger.settle(Duration::ZERO, async |_| Ok(false)).await.unwrap(),
        2
    );
    for year in ["2026", "2027"] {
        assert_eq!(ledger.voids_of(Some(year)).await.unwrap().len(), 1);
        assert_eq!(ledger.audit(Some(year), []).await.unwrap(), []);
    }
}

async fn a_sequence_keeps_its_kind(db: &Db) {
    sequence(db).loose().next().await.unwrap();
    let error = sequence(db).blocks(5).next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let error = sequence(db).ledger().reserve("a").await.unwrap_err();
    assert!(matches!(error, LedgerError::Database(error) if error.kind() == ErrorKind::InvalidArgument));
    let error = invoice(db, false).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(sequence(db).loose().next().await.unwrap().value, 2);
    // Numbers end with 64 bits.
    let last = Sequence::new(db, "last").first(i64::MAX).loose();
    assert_eq!(last.next().await.unwrap().value, i64::MAX);
    assert!(last.next().await.is_err());
}

/// `ODM_TEST_CRASHES` says how many programs die; 60 unless it does, 1,000 for the figure.
fn crashes() -> u64 {
    std::env::var("ODM_TEST_CRASHES").map_or(60, |text| text.parse().unwrap())
}

/// How a program dies at its `n`th write, or lives and does not know.
fn death(number: u64, writes: u64) -> Vec<Fault> {
    let nth = number / 3 % writes + 1;
    match number % 3 {
        0 => vec![Fault::nth_write(nth).crash()],
        1 => vec![
            Fault::nth_write(nth).after(lost()),
            Fault::nth_write(nth + 1).crash(),
        ],
        _ => vec![Fault::nth_write(nth).after(lost())],
    }
}

async fn gap_free_sequences_have_no_gap_after_crashes(db: &Db) {
    let mut died = 0;
    for number in 0.. {
        let (faulty, faults) = db.faulty();
        for fault in death(number, 3) {
            faults.add(fault);
        }
        let taken = invoice(&faulty, false).await;
        died += u64::from(faults.failures() > 0);
        if number % 10 == 0 || died == crashes() {
            let used = used(db).await;
            let last = sequence(db)
                .gap_free()
                .last()
                .await
                .unwrap()
                .map_or(0, |last| last.value);
            assert_eq!(
                used,
                (1..=last).collect::<Vec<_>>(),
                "after {died} crashes: {taken:?}"
            );
        }
        if died == crashes() {
            break;
        }
    }
    let next = invoice(db, false).await.unwrap();
    assert_eq!(used(db).await.last(), Some(&next.value));
}

async fn a_ledger_has_no_gap_after_crashes(db: &Db) {
    let (db, millis) = clocked(db, "2026-11-02T10:00:00Z");
    let used_numbers = db.raw_collection("used");
    used_numbers.create().await.unwrap();
    let mut died = 0;
    for number in 0.. {
        let (faulty, faults) = db.faulty();
        for fault in death(number, 5) {
            faults.add(fault);
        }
        let numbers = sequence(&faulty).ledger();
        let run = async {
            let reserved = numbers.reserve(&format!("order {number}")).await?;
            if number % 5 == 4 {
                return numbers.void(&reserved, "cancelled").await;
            }
            if number % 2 == 0 {
                // With a transaction, and without.
                faulty
                    .transaction(async |tx| {
                        tx.raw_collection("used")
                            .insert(doc! {"n": reserved.value})
                            .await?;
                        numbers.on(&tx).used(&reserved).await.map_err(Error::from)
                    })
                    .await?;
                return Ok(());
            }
            faulty
                .raw_collection("used")
                .insert(doc! {"n": reserved.value})
                .await?;
            numbers.used(&reserved).await
        };
        run.await.ok();
        died += u64::from(faults.failures() > 0);
        millis.fetch_add(1_000, Ordering::SeqCst);
        let numbers = sequence(&db).ledger();
        if number % 10 == 0 || died == crashes() {
            assert_eq!(numbers.audit(None, used(&db).await).await.unwrap(), []);
            let is_used = async |number: Number| used_numbers.exists(doc! {"n": number.value}).await;
            numbers.settle(Duration::ZERO, is_used).await.unwrap();
            assert_eq!(numbers.open().await.unwrap(), []);
            assert_eq!(numbers.audit(None, used(&db).await).await.unwrap(), []);
        }
        if died == crashes() {
            break;
        }
    }
    let numbers = sequence(&db).ledger();
    let last = numbers.last().await.unwrap().unwrap().value;
    let accounted = used(&db).await.len() + numbers.voids_of(None).await.unwrap().len();
    assert_eq!(accounted as i64, last);
}

/// The reply was lost on New Year's Eve, and asked for again in the new year.
async fn a_key_has_one_number_when_the_period_turns(db: &Db) {
    let at = |text: &str| DateTime::parse_rfc3339_str(text).unwrap();
    let (before, after) = (at("2026-12-31T23:59:59Z"), at("2027-01-01T00:00:01Z"));
    let ledger = |now: DateTime| {
        let db = db.with_clock(move || now);
        sequence(&db).per(Unit::Year, Zone::UTC).ledger()
    };
    let first = ledger(before).reserve("order 7").await.unwrap();
    assert_eq!(first.to_string(), "2026-1");
    assert_eq!(ledger(after).reserve("order 7").await.unwrap(), first);
    let other = ledger(after).reserve("order 8").await.unwrap();
    assert_eq!(other.to_string(), "2027-1");
    assert_eq!(ledger(after).open().await.unwrap().len(), 1);
    let open = ledger(after).open_of_all().await.unwrap();
    let open: Vec<_> = open
        .iter()
        .map(|(number, open)| (number.to_string(), &*open.key))
        .collect();
    assert_eq!(
        open,
        [("2026-1".to_owned(), "order 7"), ("2027-1".to_owned(), "order 8")]
    );
    // Once it is used, the key begins anew.
    ledger(after).used(&first).await.unwrap();
    assert_eq!(
        ledger(after).reserve("order 7").await.unwrap().to_string(),
        "2027-2"
    );
    assert!(ledger(after).audit(Some("2026"), [1]).await.unwrap().is_empty());
}

async fn the_last_number_is_known_at_the_end(db: &Db) {
    let numbers = sequence(db).first(i64::MAX - 1).loose();
    assert_eq!(numbers.next().await.unwrap().value, i64::MAX - 1);
    let error = numbers.next_many(5).await.unwrap_err();
    assert!(error.to_string().contains("invoices"), "{error}");
    assert_eq!(numbers.last().await.unwrap().unwrap().value, i64::MAX - 1);
    assert_eq!(numbers.next().await.unwrap().value, i64::MAX);
    for _ in 0..2 {
        assert!(numbers.next().await.is_err());
    }
    assert_eq!(numbers.last().await.unwrap().unwrap().value, i64::MAX);
}
