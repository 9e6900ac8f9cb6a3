//! Approximations: counters that are written less often than they count.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bson::DateTime;
use futures_util::future::{Either, select};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Model};
use odm_patterns::approximation::{Batched, InDoubt, Sampled};
use odm_tests::interrupted::interrupted;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

crate::on_every_backend! {
    sampled_counters_write_little,
    batched_counters_write_when_it_is_worth_it,
    batched_counters_of_a_collection_that_is_named_later,
    a_flush_that_is_dropped_keeps_what_it_did_not_try,
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

async fn a_flush_that_is_dropped_keeps_what_it_did_not_try(db: &Db) {
    /// The same, until one of its operations does not come back.
    async fn dropped<T>(
        db: &Db,
        nth: u64,
        in_doubt: InDoubt,
        work: impl AsyncFnOnce(&Batched<Page>) -> T,
    ) -> Batched<Page> {
        let (reached, reach) = oneshot::channel();
        let (db, _) = interrupted(db, nth, async move {
            reached.send(()).unwrap();
            pending().await
        });
        let views = Batched::<Page>::new(&db, |p| p.views, 10).when_in_doubt(in_doubt);
        for id in 1..=3 {
            views.add(id, 5).await.unwrap();
        }
        match select(pin!(work(&views)), reach).await {
            Either::Left(_) => panic!("it came back"),
            Either::Right((reached, _)) => reached.unwrap(),
        }
        views
    }
    let pages = db.collection::<Page>();
    for id in 1..=3 {
        pages.insert(Page { id, views: 0 }).await.unwrap();
    }
    let stored = async || {
        let pages = pages.find_all().await.unwrap();
        pages.iter().map(|page| page.views).sum::<i64>()
    };
    // One was written, one may have been, one was not tried.
    let views = dropped(db, 2, InDoubt::Drop, async |views: &Batched<Page>| {
        views.flush().await
    })
    .await;
    assert_eq!((stored().await, views.pending()), (5, 5));
    assert_eq!(views.flush().await.unwrap(), 1);
    assert_eq!((stored().await, views.pending()), (10, 0));
    let views = dropped(db, 2, InDoubt::Repeat, async |views: &Batched<Page>| {
        views.flush().await
    })
    .await;
    assert_eq!((stored().await, views.pending()), (15, 10));
    assert_eq!(views.flush().await.unwrap(), 2);
    assert_eq!((stored().await, views.pending()), (25, 0));
    // The same of one that is written because it is worth it.
    let views = dropped(db, 1, InDoubt::Repeat, async |views: &Batched<Page>| {
        views.add(1, 6).await
    })
    .await;
    assert_eq!((stored().await, views.pending()), (25, 21));
    let views = dropped(db, 1, InDoubt::Drop, async |views: &Batched<Page>| {
        views.add(1, 6).await
    })
    .await;
    assert_eq!((stored().await, views.pending()), (25, 10));
}
