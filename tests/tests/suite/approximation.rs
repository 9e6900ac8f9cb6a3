//! Approximations: counters that are written less often than they count.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bson::DateTime;
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Model};
use odm_patterns::approximation::{Batched, InDoubt, Sampled};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    sampled_counters_write_little,
    batched_counters_write_when_it_is_worth_it,
    batched_counters_of_a_collection_that_is_named_later,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "approximation_pages")]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
    views: i64,
}

fn lost() -> Error {
    Error::new(ErrorKind::Network, "connection reset (injected)")
}

async fn sampled_counters_write_little(db: &Db) {
    let (db, log) = db.logged();
    let pages = db.collection::<Page>();
    pages.insert(Page { id: 1, views: 0 }).await.unwrap();
    log.take();
    let state = AtomicI64::new(0);
    // Two of ten draws are low enough.
    let views = Sampled::with_chance(10, move || {
        (state.fetch_add(1, Ordering::SeqCst) as u64 % 10) << 60
    });
    for _ in 0..1_000 {
        if let Some(amount) = views.hit() {
            pages
                .update_one(|p| p.id.eq(1), |p| p.views.inc(amount))
                .await
                .unwrap();
        }
    }
    let writes = log.take().len() as i64;
    let counted = pages.get(1).required().await.unwrap().views;
    assert_eq!(counted, writes * 10);
    assert_eq!(writes, 200);
}

async fn batched_counters_write_when_it_is_worth_it(db: &Db) {
    let millis = Arc::new(AtomicI64::new(0));
    let hand = millis.clone();
    let db = db.with_clock(move || DateTime::from_millis(hand.load(Ordering::SeqCst)));
    let (faulty, faults) = db.faulty();
    let pages = db.collection::<Page>();
    for id in [1, 2] {
        pages.insert(Page { id, views: 0 }).await.unwrap();
    }
    let stored = async |id: i32| pages.get(id).required().await.unwrap().views;
    let views = Batched::<Page>::new(&faulty, |p| p.views, 10).max_age(Duration::from_secs(60));
    for _ in 0..9 {
        assert!(!views.add(1, 1).await.unwrap());
    }
    views.add(2, 4).await.unwrap();
    assert_eq!((stored(1).await, views.pending(), faults.writes()), (0, 13, 0));
    assert!(views.clone().add(1, 3).await.unwrap());
    assert_eq!((stored(1).await, views.pending(), faults.writes()), (12, 4, 1));
    millis.store(59_999, Ordering::SeqCst);
    assert_eq!(views.flush_old().await.unwrap(), 0);
    millis.store(60_000, Ordering::SeqCst);
    assert!(views.add(2, 1).await.unwrap());
    assert_eq!(stored(2).await, 5);
    // What did not happen is kept; what may have happened is not written again, unless that is wanted.
    views.add(1, 2).await.unwrap();
    faults.add(Fault::nth_write(1).before(Error::new(ErrorKind::Validation, "refused")));
    views.flush().await.unwrap_err();
    assert_eq!(views.pending(), 2);
    assert_eq!(views.flush().await.unwrap(), 1);
    views.add(1, 2).await.unwrap();
    faults.add(Fault::nth_write(1).after(lost()));
    views.flush().await.unwrap_err();
    assert_eq!((views.pending(), stored(1).await), (0, 16));
    let views = views.when_in_doubt(InDoubt::Repeat);
    views.add(1, -20).await.unwrap();
    views.add(2, 1).await.unwrap();
    faults.add(Fault::nth_write(1).before(lost()));
    views.flush().await.unwrap_err();
    views.flush().await.unwrap();
    assert_eq!((stored(1).await, stored(2).await), (-4, 6));
}

async fn batched_counters_of_a_collection_that_is_named_later(db: &Db) {
    let pages = db.collection_named::<Page>("approximation_t1");
    pages.insert(Page { id: 1, views: 0 }).await.unwrap();
    let views = Batched::<Page>::named(db, "approximation_t1", |p| p.views, 3);
    for _ in 0..7 {
        views.add(1, 1).await.unwrap();
    }
    assert_eq!(
        (pages.get(1).required().await.unwrap().views, views.pending()),
        (6, 1)
    );
    views.flush().await.unwrap();
    assert_eq!(pages.get(1).required().await.unwrap().views, 7);
    assert!(db.collection::<Page>().find_all().await.unwrap().is_empty());
}
