//! The wrappers, over a scripted backend.

use bson::doc;

use super::Fault;
use crate::backend::fake::{Fake, block_on};
use crate::error::{Error, ErrorKind, Result};

fn lost() -> Error {
    Error::new(ErrorKind::Network, "lost")
}

#[test]
fn the_log_counts_round_trips_with_batches_and_transactions() {
    let fake = Fake::default();
    fake.batches([vec![doc! {"_id": 1}], vec![doc! {"_id": 2}], vec![]])
        .written(|s| s.inserted = 1);
    let (db, log) = fake.db().logged();
    block_on(db.raw_collection("a").find(doc! {}).into_future()).unwrap();
    assert_eq!(log.counts(), [("find", 1), ("getMore", 2)]);
    assert_eq!(log.round_trips(), 3);
    assert!(log.entries().iter().all(|entry| !entry.in_transaction));
    log.take();
    block_on(db.transaction(async |tx| {
        tx.raw_collection("b").insert(doc! {"_id": 1}).await?;
        Ok(())
    }))
    .unwrap();
    assert_eq!(log.counts(), [("insert", 1), ("commitTransaction", 1)]);
    assert!(log.entries().iter().all(|entry| entry.in_transaction));
    assert_eq!(log.count("insert"), 1);
}

#[test]
fn faults_fail_before_or_after_and_only_where_planned() {
    let fake = Fake::default();
    for _ in 0..9 {
        fake.written(|s| s.inserted = 1);
    }
    let (db, faults) = fake.db().faulty();
    let insert = || block_on(db.raw_collection("a").insert(doc! {"_id": 1}).into_future());
    faults.add(Fault::nth_write(2).before(lost()));
    faults.add(Fault::nth("insert", 3).after(lost()));
    assert!(insert().is_ok());
    assert!(insert().is_err());
    assert_eq!(fake.asked().len(), 1);
    assert!(insert().is_err());
    assert_eq!(fake.asked().len(), 2);
    assert!(insert().is_ok());
    assert_eq!(
        (faults.operations(), faults.writes(), faults.failures()),
        (4, 4, 2)
    );

    faults.add(Fault::nth_operation(1).before(lost()).times(2));
    assert!(insert().is_err() && insert().is_err() && insert().is_ok());
    faults.add(Fault::nth_write(1).crash());
    assert!((0..5).all(|_| insert().is_err()));
    faults.clear();
    assert!(insert().is_ok());
}

#[test]
fn faults_reach_into_transactions() {
    let fake = Fake::default();
    fake.written(|s| s.inserted = 1);
    let (db, faults) = fake.db().faulty();
    let (db, log) = db.logged();
    faults.add(Fault::nth("commitTransaction", 1).before(lost()));
    let result: Result<()> = block_on(db.transaction(async |tx| {
        tx.raw_collection("b").insert(doc! {"_id": 1}).await?;
        Ok(())
    }));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Network);
    assert_eq!((fake.transactions(), faults.writes()), ((1, 0, 0), 2));
    assert_eq!(log.count("commitTransaction"), 1);
    faults.add(Fault::nth("startTransaction", 1).before(lost()));
    assert!(block_on(db.begin()).is_err());
}
