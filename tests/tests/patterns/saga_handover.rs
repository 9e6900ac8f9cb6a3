//! Sagas among workers of different programs: who cannot work on one leaves it to the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use odm::{Db, Error, ErrorKind};
use odm_patterns::saga::{Definition, Outcome, Retry, SagaError, SagaStatus, Sagas, Started, Step};

use super::saga_models::{clocked, journaled};

crate::on_every_backend! {
    who_has_other_steps_uses_up_no_tries,
    who_cannot_read_the_state_uses_up_no_tries,
    an_id_of_another_definition_is_taken_in_a_transaction_too,
}

async fn who_has_other_steps_uses_up_no_tries(db: &Db) {
    let (db, seconds) = clocked(db);
    let old = Sagas::new(&db, journaled("j", &[("a", 0, 0), ("b", 0, 0)], None)).unwrap();
    let new = Sagas::new(&db, journaled("j", &[("a", 0, 0), ("c", 0, 0)], None)).unwrap();
    for saga in 0..20 {
        old.start(&format!("old {saga:02}"), &0).await.unwrap();
    }
    seconds.fetch_add(1, Ordering::SeqCst);
    new.start("new", &0).await.unwrap();
    let before = old.get("old 00").await.unwrap();
    // Those that it can work on are behind all the others.
    let (id, outcome) = new.work().await.unwrap().unwrap();
    assert_eq!(id, "new");
    assert!(matches!(outcome, Outcome::Completed(_)));
    for _ in 0..10 {
        // And it says that there are others.
        assert!(matches!(
            new.work().await.unwrap_err(),
            SagaError::OtherSteps { .. }
        ));
        assert!(matches!(
            new.run("old 00").await.unwrap_err(),
            SagaError::OtherSteps { .. }
        ));
    }
    let after = old.get("old 00").await.unwrap();
    assert_eq!((after.attempt, after.lease.owner.as_deref()), (0, None));
    assert!(after.due <= db.now() && after.steps == before.steps && after.status == before.status);
    // Tokens never go back.
    assert_eq!(after.lease.token, 10);
    let mut done = 0;
    while let Some((_, outcome)) = old.work().await.unwrap_or_default() {
        assert!(matches!(outcome, Outcome::Completed(_)), "{outcome:?}");
        done += 1;
    }
    assert_eq!(done, 20);
}

async fn who_cannot_read_the_state_uses_up_no_tries(db: &Db) {
    let (db, _) = clocked(db);
    let tried = Arc::new(AtomicU32::new(0));
    let counted = tried.clone();
    let step = Step::new("one", move |_, state: i32| {
        let counted = counted.clone();
        async move {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(state + 1)
        }
    });
    let right = Sagas::new(&db, Definition::new("n").step(step.retry(Retry::times(2)))).unwrap();
    let step = Step::new("one", async |_, state: String| Ok(state));
    let wrong = Sagas::new(&db, Definition::new("n").step(step)).unwrap();
    right.start("s", &1).await.unwrap();
    for _ in 0..5 {
        for error in [wrong.work().await.unwrap_err(), wrong.run("s").await.unwrap_err()] {
            let SagaError::Database(error) = error else {
                panic!("{error}");
            };
            assert_eq!((error.kind(), error.path()), (ErrorKind::Decode, Some("state")));
        }
    }
    let saga = right.get("s").await.unwrap();
    assert_eq!((saga.status, saga.attempt), (SagaStatus::Running, 0));
    assert!(right.verify(Duration::ZERO).await.unwrap().is_empty());
    assert_eq!(right.run("s").await.unwrap(), Outcome::Completed(2));
    assert_eq!(tried.load(Ordering::SeqCst), 1);
}

async fn an_id_of_another_definition_is_taken_in_a_transaction_too(db: &Db) {
    let (db, _) = clocked(db);
    let one = Sagas::new(&db, journaled("one", &[("a", 0, 0)], None)).unwrap();
    let other = Sagas::new(&db, journaled("other", &[("a", 0, 0)], None)).unwrap();
    assert_eq!(one.start("s", &0).await.unwrap(), Started::Now);
    let other = &other;
    let options = odm::backend::TransactionOptions::default().retry_for(Duration::from_secs(5));
    let started = db.transaction_with(options, |tx| async move { other.on(&tx).start("s", &0).await });
    assert!(matches!(started.await.unwrap_err(), SagaError::Taken { id } if id == "s"));
    // As an error of the database it is none that goes away.
    let error = db.transaction(async |tx| Ok::<_, Error>(other.on(&tx).start("s", &0).await?));
    assert_eq!(error.await.unwrap_err().kind(), ErrorKind::Validation);
}
