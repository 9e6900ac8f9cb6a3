//! Patterns that take part in transactions of other databases than their own: each stays in its own.

use bson::doc;
use odm::{Db, Error, ErrorKind};
use odm_patterns::counter::{Counters, Event, Key, Layout, Shape};
use odm_patterns::gridfs::Bucket;
use odm_patterns::idempotency::{Begin, Keys, Ran};
use odm_patterns::money::Accounts;
use odm_patterns::period::Unit;
use odm_patterns::queue::Queue;
use odm_patterns::saga::{Definition, Sagas, Started, Step};
use odm_patterns::sequence::{LedgerError, Sequence};

crate::on_every_backend! {
    a_queue_takes_part_in_a_transaction_of_another_database,
    numbers_are_those_of_one_sequence,
    keys_and_sagas_are_where_they_are_looked_for,
    counters_are_rolled_up_into_their_own_database,
    files_and_accounts_stay_in_their_database,
    another_engine_is_refused,
}

/// The database, and another one of the same server.
fn two(db: &Db) -> (Db, Db) {
    (db.clone(), db.database(&format!("{}_shop", db.name())).unwrap())
}

/// Nothing but what the case puts there is in the other database.
async fn holds(shop: Db, expected: &[&str]) {
    let mut names: Vec<String> = shop
        .list_collections()
        .await
        .unwrap()
        .into_iter()
        .map(|info| info.name)
        .collect();
    names.sort();
    assert_eq!(names, expected);
    shop.drop().await.unwrap();
}

fn never() -> Error {
    Error::new(ErrorKind::Validation, "never")
}

async fn a_queue_takes_part_in_a_transaction_of_another_database(db: &Db) {
    let (db, shop) = two(db);
    let queue: Queue<String> = Queue::new(&db, "mails");
    queue.prepare().await.unwrap();
    for is_kept in [false, true] {
        let queue = &queue;
        let stored = shop.transaction(async |tx| {
            tx.raw_collection("orders").insert(doc! { "_id": 1 }).await?;
            assert!(queue.on(&tx).enqueue("order 1".to_owned()).await?.is_added());
            if is_kept { Ok(()) } else { Err(never()) }
        });
        assert_eq!(stored.await.is_ok(), is_kept);
    }
    assert_eq!(queue.statistics().await.unwrap().ready, 1);
    let claimed = queue.claim().await.unwrap().unwrap();
    assert_eq!(claimed.job, "order 1");
    let (queue, claimed) = (&queue, &claimed);
    shop.transaction(async |tx| queue.on(&tx).ack(claimed).await)
        .await
        .unwrap();
    assert_eq!(queue.statistics().await.unwrap().done, 1);
    holds(shop, &["orders"]).await;
}

async fn numbers_are_those_of_one_sequence(db: &Db) {
    let (db, shop) = two(db);
    // A transaction need not create it.
    db.raw_collection("sequences")
        .insert(doc! { "_id": "x" })
        .await
        .unwrap();
    shop.raw_collection("invoices")
        .insert(doc! { "_id": 0 })
        .await
        .unwrap();
    let invoices = Sequence::new(&db, "invoices").gap_free();
    let loose = Sequence::new(&db, "loose").loose();
    let ledger = Sequence::new(&db, "ledger").ledger();
    let mut taken = Vec::new();
    for home in [&shop, &db, &shop] {
        let (invoices, loose, ledger) = (&invoices, &loose, &ledger);
        let number = home.transaction(async |tx| {
            let number = invoices.next(&tx).await?.value;
            assert_eq!(loose.on(&tx).next().await?.value, number);
            let key = format!("order {number}");
            let reserved = ledger.on(&tx).reserve(&key).await;
            let reserved = reserved.map_err(|error| match error {
                LedgerError::Database(error) => error,
                error => panic!("{error}"),
            })?;
            assert_eq!(reserved.value, number);
            tx.raw_collection("invoices")
                .insert(doc! { "_id": number })
                .await?;
            Ok(number)
        });
        taken.push(number.await.unwrap());
    }
    assert_eq!(taken, [1, 2, 3]);
    assert_eq!(invoices.last().await.unwrap().unwrap().value, 3);
    holds(shop, &["invoices"]).await;
}

async fn keys_and_sagas_are_where_they_are_looked_for(db: &Db) {
    let (db, shop) = two(db);
    let keys = Keys::new(&db);
    keys.sync_indexes().await.unwrap();
    let step = Step::new("one", async |_, state: i32| Ok(state + 1));
    let sagas = Sagas::new(&db, Definition::new("counting").step(step)).unwrap();
    sagas.sync_indexes().await.unwrap();
    let (keys, sagas) = (&keys, &sagas);
    for expected in [Started::Now, Started::Before] {
        let started = shop.transaction(async |tx| {
            let started = sagas.on(&tx).start("s", &1).await?;
            tx.raw_collection("orders")
                .upsert(doc! { "_id": 1 }, doc! { "$inc": { "n": 1 } })
                .await?;
            Ok(started)
        });
        assert_eq!(started.await.unwrap(), expected);
    }
    assert!(sagas.work().await.unwrap().is_some());

    let ran = shop.transaction(async |tx| {
        keys.on(&tx)
            .run("pay", "k", &5, async |_| Ok::<_, Error>(Ok::<i32, i32>(7)))
            .await
    });
    assert_eq!(ran.await.unwrap(), Ran::Now(Ok(7)));
    let again = keys.run("pay", "k", &5, async |_| Ok::<_, Error>(Ok::<i32, i32>(8)));
    assert_eq!(again.await.unwrap(), Ran::Replayed(Ok(7)));
    let Begin::Fresh(permit) = keys.begin::<i32, i32>("pay", "l", &5).await.unwrap() else {
        panic!("the key is known");
    };
    let permit = &permit;
    shop.transaction(async |tx| permit.on(&tx).complete(&Ok::<_, i32>(9)).await)
        .await
        .unwrap();
    holds(shop, &["orders"]).await;
}

async fn counters_are_rolled_up_into_their_own_database(db: &Db) {
    let (db, reports) = two(db);
    let fine = Counters::<i64>::new(
        &db,
        "minutes",
        Shape::new(Layout::per(Unit::Hour).by(Unit::Minute)),
    )
    .unwrap();
    let coarse = Counters::<i64>::new(&reports, "days", Shape::new(Layout::per(Unit::Day))).unwrap();
    let at = |text| bson::DateTime::parse_rfc3339_str(text).unwrap();
    let page = Key::of("page", "/");
    let event = Event::of(page.clone()).at(at("2026-11-02T13:59:59Z"));
    fine.record(event.times(3)).await.unwrap();
    let rolled = fine.roll_up(&coarse, at("2026-11-03T00:00:00Z")).await.unwrap();
    assert_eq!(rolled.documents, 1);
    let days = reports.raw_collection("days").find(doc! {}).await.unwrap();
    assert_eq!((days.len(), days[0].get_i64("total").ok()), (1, Some(3)));
    assert!(db.raw_collection("days").find(doc! {}).await.unwrap().is_empty());
    let fine = &fine;
    reports
        .transaction(async |tx| fine.on(&tx).record(Event::of(page.clone())).await)
        .await
        .unwrap();
    assert_eq!(db.raw_collection("minutes").count(doc! {}).await.unwrap(), 1);
    holds(reports, &["days"]).await;
}

async fn files_and_accounts_stay_in_their_database(db: &Db) {
    let (db, shop) = two(db);
    let bucket = Bucket::new(&db);
    let accounts = Accounts::new(&db);
    accounts.sync_indexes().await.unwrap();
    shop.raw_collection("orders")
        .insert(doc! { "_id": 1 })
        .await
        .unwrap();
    let accounts = &accounts;
    shop.transaction(async |tx| {
        tx.raw_collection("orders").insert(doc! { "_id": 2 }).await?;
        tx.raw_collection("orders").insert(doc! { "_id": 3 }).await
    })
    .await
    .unwrap();
    assert_eq!(accounts.on(&shop).verify().await.unwrap(), []);
    let files = bucket.on(&shop).files().namespace();
    assert!(files.starts_with(&format!("{}.", db.name())), "{files}");
    holds(shop, &["orders"]).await;
}

async fn another_engine_is_refused(db: &Db) {
    let other = Db::open("memory:?database=elsewhere").await.unwrap();
    let queue: Queue<String> = Queue::new(db, "mails");
    queue.prepare().await.unwrap();
    let invoices = Sequence::new(db, "invoices").gap_free();
    let (queue, invoices) = (&queue, &invoices);
    let jobs = other.transaction(async |tx| queue.on(&tx).enqueue("x".to_owned()).await);
    let numbers = other.transaction(async |tx| invoices.next(&tx).await);
    for error in [jobs.await.unwrap_err(), numbers.await.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert_eq!(error.note("database"), Some(db.name()), "{error}");
        assert_eq!(error.note("handle"), Some("elsewhere"), "{error}");
    }
    assert_eq!(other.list_collections().await.unwrap().len(), 0);
    assert_eq!(queue.statistics().await.unwrap().ready, 0);
}
