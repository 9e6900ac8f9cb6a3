//! Sagas: what is begun is ended, one way or the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Model};
use odm_patterns::saga::{
    Definition, Effect, EventKind, MarkState, Outcome, Retry, SagaError, SagaProblemKind, SagaStatus, Sagas,
    Started, Step, StepError, StepState,
};

use super::saga_models::{
    Account, Transfer, accounts, atomic, balance, clocked, credit, debit, fee, give_back, journaled, marked,
};

crate::on_every_backend! {
    a_transfer_is_made_once_with_a_write_for_each_step,
    what_cannot_be_done_is_undone,
    a_failed_step_is_tried_again_after_a_pause,
    when_tries_are_used_up_it_turns_around,
    behind_the_pivot_somebody_is_asked,
    a_pivot_that_may_have_happened_is_not_turned_back,
    a_pivot_that_somebody_is_at_is_not_aborted,
    a_compensation_that_is_stuck_is_decided_by_somebody,
    a_step_that_kills_its_worker_does_not_do_so_for_ever,
    a_late_worker_changes_nothing,
    an_abort_takes_the_lease_away,
    a_saga_is_started_with_what_it_is_about,
    a_saga_that_is_started_anew_happens_again,
    a_late_worker_of_an_earlier_saga_changes_nothing,
    effects_of_other_sagas_and_steps_have_other_keys,
    sagas_that_were_stored_without_a_run_keep_their_keys,
    definitions_are_held_to_what_is_stored,
    the_history_is_bounded,
    marks_of_sagas_are_told_by_their_bytes,
    sagas_are_documents,
}

async fn journal(db: &Db) -> String {
    let entries = db
        .raw_collection("journal")
        .find(doc! {})
        .sort_raw(doc! {"_id": 1})
        .await
        .unwrap();
    let texts: Vec<&str> = entries
        .iter()
        .map(|entry| entry.get_str("text").unwrap())
        .collect();
    texts.join(" ")
}

async fn a_transfer_is_made_once_with_a_write_for_each_step(db: &Db) {
    let (db, log) = db.logged();
    accounts(&db, &[("ann", 100), ("joe", 0)]).await;
    for (definition, round_trips) in [(marked(), 1 + 3 * 2), (atomic(), 1 + 3 * 3)] {
        let name = format!("{definition:?}");
        let sagas = Sagas::new(&db, definition).unwrap();
        let t = Transfer::new("ann", "joe", 20);
        log.take();
        assert_eq!(sagas.start(&name, &t).await.unwrap(), Started::Now);
        assert_eq!(log.take().len(), 1);
        assert_eq!(sagas.run(&name).await.unwrap(), Outcome::Completed(t.clone()));
        assert_eq!(log.take().len(), round_trips);
        // Over is over.
        assert_eq!(sagas.start(&name, &t).await.unwrap(), Started::Before);
        log.take();
        assert_eq!(sagas.run(&name).await.unwrap(), Outcome::Completed(t));
        assert_eq!(log.take().len(), 2);
        let record = sagas.get(&name).await.unwrap();
        assert!(record.steps.iter().all(|step| step.state == StepState::Done));
        assert_eq!((record.status, record.lease.token), (SagaStatus::Completed, 1));
        assert!(record.finished.is_some() && record.lease.owner.is_none());
    }
    assert_eq!((balance(&db, "ann").await, balance(&db, "joe").await), (60, 40));
}

async fn what_cannot_be_done_is_undone(db: &Db) {
    accounts(db, &[("ann", 100), ("joe", 0)]).await;
    for definition in [marked(), atomic()] {
        let name = format!("{definition:?}");
        let sagas = Sagas::new(db, definition).unwrap();
        // Too much at the first step, and a refusal at the last.
        for (amount, why) in [(101, "condition|enough"), (13, "thirteen")] {
            let id = format!("{name} {amount}");
            let t = Transfer::new("ann", "joe", amount);
            sagas.start(&id, &t).await.unwrap();
            match sagas.run(&id).await.unwrap() {
                Outcome::Compensated { state, error } => {
                    assert_eq!(state, t);
                    let error = error.unwrap();
                    assert!(why.split('|').any(|why| error.contains(why)), "{error}");
                }
                other => panic!("{other:?}"),
            }
            assert_eq!((balance(db, "ann").await, balance(db, "joe").await), (100, 0));
        }
        assert!(sagas.verify(Duration::ZERO).await.unwrap().is_empty());
    }
    // The marks keep late workers out.
    let ann = db.collection::<Account>().get("ann").required().await.unwrap();
    let states: Vec<MarkState> = ann.marks.iter().map(|mark| mark.state).collect();
    assert_eq!(states, [MarkState::Void, MarkState::Undone]);
    let before = DateTime::from_millis(i64::MAX);
    let pruned = Effect::prune_marks(&db.collection::<Account>(), |a| a.marks, before)
        .await
        .unwrap();
    assert_eq!(pruned, 2);
    let ann = db.collection::<Account>().get("ann").required().await.unwrap();
    assert!(ann.marks.is_empty());
}

async fn a_failed_step_is_tried_again_after_a_pause(db: &Db) {
    let (db, seconds) = clocked(db);
    let sagas = Sagas::new(&db, journaled("j", &[("a", 0, 0), ("b", 2, 0)], None)).unwrap();
    sagas.sync_indexes().await.unwrap();
    sagas.start("s", &0).await.unwrap();
    let start = seconds.load(Ordering::SeqCst);
    for pause in [10, 20] {
        let now = seconds.load(Ordering::SeqCst);
        let (id, outcome) = sagas.work().await.unwrap().unwrap();
        let until = DateTime::from_millis((now + pause) * 1000);
        let error = Some("+b failed".to_owned());
        assert_eq!((id.as_str(), outcome), ("s", Outcome::Waiting { until, error }));
        assert!(sagas.work().await.unwrap().is_none());
        assert!(matches!(sagas.run("s").await.unwrap(), Outcome::Waiting { .. }));
        seconds.fetch_add(pause, Ordering::SeqCst);
    }
    assert_eq!(sagas.work().await.unwrap().unwrap().1, Outcome::Completed(2));
    assert!(sagas.work().await.unwrap().is_none());
    assert_eq!(journal(&db).await, "+a +b");
    let record = sagas.get("s").await.unwrap();
    assert_eq!(record.created, DateTime::from_millis(start * 1000));
    let kinds: Vec<EventKind> = record.history.iter().map(|event| event.kind).collect();
    use EventKind::*;
    assert_eq!(kinds, [Started, Done, Failed, Failed, Done]);
    assert_eq!(record.lease.token, 3);
}

async fn when_tries_are_used_up_it_turns_around(db: &Db) {
    let (db, seconds) = clocked(db);
    let steps = [("a", 0, 0), ("b", 0, 1), ("c", 9, 0), ("d", 0, 0)];
    let sagas = Sagas::new(&db, journaled("j", &steps, None)).unwrap();
    sagas.start("s", &0).await.unwrap();
    let mut outcomes = Vec::new();
    while let Some((_, outcome)) = sagas.work().await.unwrap() {
        outcomes.push(outcome);
        seconds.fetch_add(100, Ordering::SeqCst);
    }
    let error = Some("+c failed".to_owned());
    // A step that may have happened is undone too: c, which was begun.
    assert_eq!(journal(&db).await, "+a +b -c -b -a");
    assert_eq!(outcomes.last(), Some(&Outcome::Compensated { state: -1, error }));
    let entries = db
        .raw_collection("journal")
        .find(doc! {"text": "-c"})
        .await
        .unwrap();
    assert!(!entries[0].get_bool("certain").unwrap());
    let record = sagas.get("s").await.unwrap();
    let key = format!("s/c/{}/undo", record.run.unwrap());
    assert_eq!(entries[0].get_str("key").unwrap(), key);
    let states: Vec<StepState> = record.steps.iter().map(|step| step.state).collect();
    use StepState::*;
    assert_eq!(states, [Compensated, Compensated, Compensated, Pending]);
}

async fn behind_the_pivot_somebody_is_asked(db: &Db) {
    let (db, log) = db.logged();
    let (db, seconds) = clocked(&db);
    let sagas = Sagas::new(
        &db,
        journaled("j", &[("a", 0, 0), ("p", 0, 0), ("c", 7, 0)], Some("p")),
    )
    .unwrap();
    sagas.start("s", &0).await.unwrap();
    let until_stuck = async || loop {
        seconds.fetch_add(100, Ordering::SeqCst);
        match sagas.run("s").await.unwrap() {
            Outcome::Waiting { .. } => {}
            other => break other,
        }
    };
    let error = Some("+c failed".to_owned());
    let step = "c".to_owned();
    assert_eq!(
        until_stuck().await,
        Outcome::Stuck {
            step,
            error: error.clone()
        }
    );
    assert!(sagas.work().await.unwrap().is_none());
    assert_eq!(sagas.stuck().await.unwrap().len(), 1);
    assert_eq!(sagas.counts().await.unwrap(), [(SagaStatus::Stuck, 1)].into());
    let problems = sagas.verify(Duration::ZERO).await.unwrap();
    assert_eq!(problems[0].kind, SagaProblemKind::Stuck(error));
    assert!(matches!(
        sagas.abort("s", "ops").await.unwrap_err(),
        SagaError::PastPivot { .. }
    ));

    log.take();
    sagas.retry("s", "ops: the printer has paper").await.unwrap();
    assert_eq!(log.take().len(), 2);
    assert!(matches!(
        sagas.retry("s", "ops").await.unwrap_err(),
        SagaError::NotStuck { .. }
    ));
    assert!(matches!(until_stuck().await, Outcome::Stuck { .. }));
    sagas.skip("s", "ops: done by hand").await.unwrap();
    assert_eq!(sagas.run("s").await.unwrap(), Outcome::Completed(2));
    assert!(matches!(
        sagas.skip("s", "ops").await.unwrap_err(),
        SagaError::Finished { .. }
    ));
    assert!(matches!(
        sagas.abort("s", "ops").await.unwrap_err(),
        SagaError::Finished { .. }
    ));
    let record = sagas.get("s").await.unwrap();
    assert_eq!(record.steps[2].state, StepState::Skipped);
    let last = record.history.last().unwrap();
    assert_eq!(
        (last.kind, last.note.as_deref()),
        (EventKind::Skipped, Some("ops: done by hand"))
    );
    assert_eq!(journal(&db).await, "+a +p");
    for act in [
        sagas.retry("x", "").await,
        sagas.skip("x", "").await,
        sagas.abort("x", "").await,
    ] {
        assert!(matches!(act.unwrap_err(), SagaError::NotFound { .. }));
    }
}

async fn a_pivot_that_may_have_happened_is_not_turned_back(db: &Db) {
    let charge = |name: &str, error: fn() -> StepError| {
        let pay = Step::new("charge", move |_: Effect, _: i32| {
            std::future::ready(Err(error()))
        });
        let definition = Definition::new(name).step(pay.retry(Retry::times(1)).pivot());
        Sagas::new(db, definition).unwrap()
    };
    let unknown = charge("unknown", || StepError::retry("no reply"));
    unknown.start("s", &0).await.unwrap();
    assert!(matches!(unknown.run("s").await.unwrap(), Outcome::Stuck { step, .. } if step == "charge"));
    unknown.abort("s", "ops: the bank says it was not").await.unwrap();
    assert!(matches!(
        unknown.run("s").await.unwrap(),
        Outcome::Compensated { .. }
    ));
    let refused = charge("refused", || StepError::fatal("no such card"));
    refused.start("t", &0).await.unwrap();
    assert!(matches!(
        refused.run("t").await.unwrap(),
        Outcome::Compensated { .. }
    ));
}

async fn a_pivot_that_somebody_is_at_is_not_aborted(db: &Db) {
    accounts(db, &[("ann", 100), ("joe", 0)]).await;
    let paying = |credit: Step<Transfer>| {
        let debit = Step::new("debit", debit).compensate(give_back);
        Definition::new("paying").step(debit).step(credit.pivot())
    };
    let asked = Sagas::new(db, paying(Step::new("credit", credit))).unwrap();
    let crediting = move |effect: Effect, t: Transfer| {
        let asked = asked.clone();
        async move {
            let t = credit(effect, t).await?;
            let error = asked.abort("s", "the customer called").await.unwrap_err();
            assert!(matches!(error, SagaError::PastPivot { .. }), "{error}");
            Ok(t)
        }
    };
    let sagas = Sagas::new(db, paying(Step::new("credit", crediting))).unwrap();
    let t = Transfer::new("ann", "joe", 30);
    sagas.start("s", &t).await.unwrap();
    assert_eq!(sagas.run("s").await.unwrap(), Outcome::Completed(t.clone()));
    assert_eq!((balance(db, "ann").await, balance(db, "joe").await), (70, 30));

    // What nobody claimed yet has not happened.
    let gift = Definition::new("gift").step(Step::new("credit", credit).pivot());
    let sagas = Sagas::new(db, gift).unwrap();
    sagas.start("g", &t).await.unwrap();
    sagas.abort("g", "not this year").await.unwrap();
    let ended = sagas.run("g").await.unwrap();
    assert!(matches!(ended, Outcome::Compensated { .. }));
    assert_eq!(balance(db, "joe").await, 30);
}

async fn a_compensation_that_is_stuck_is_decided_by_somebody(db: &Db) {
    let (db, seconds) = clocked(db);
    let steps = [("a", 0, 0), ("b", 0, 9), ("c", 9, 0)];
    let sagas = Sagas::new(&db, journaled("j", &steps, None)).unwrap();
    let until_stuck = async |id: &str| loop {
        seconds.fetch_add(100, Ordering::SeqCst);
        match sagas.run(id).await.unwrap() {
            Outcome::Waiting { .. } => {}
            other => break other,
        }
    };
    sagas.start("s", &0).await.unwrap();
    assert!(matches!(until_stuck("s").await, Outcome::Stuck { step, .. } if step == "b"));
    sagas.retry("s", "ops").await.unwrap();
    assert!(matches!(until_stuck("s").await, Outcome::Stuck { step, .. } if step == "b"));
    sagas.skip("s", "ops").await.unwrap();
    assert!(matches!(until_stuck("s").await, Outcome::Compensated { .. }));
    assert_eq!(journal(&db).await, "+a +b -c -a");

    sagas.start("t", &0).await.unwrap();
    assert!(matches!(until_stuck("t").await, Outcome::Stuck { step, .. } if step == "b"));
    sagas.abort("t", "ops").await.unwrap();
    assert_eq!(sagas.run("t").await.unwrap(), Outcome::Abandoned(1));
    let counts = [(SagaStatus::Compensated, 1), (SagaStatus::Abandoned, 1)];
    assert_eq!(sagas.counts().await.unwrap(), counts.into());
    assert_eq!(sagas.prune(DateTime::from_millis(0)).await.unwrap(), 0);
    assert_eq!(sagas.prune(DateTime::MAX).await.unwrap(), 2);
    assert!(matches!(
        sagas.get("t").await.unwrap_err(),
        SagaError::NotFound { .. }
    ));
}

async fn a_step_that_kills_its_worker_does_not_do_so_for_ever(db: &Db) {
    let (db, seconds) = clocked(db);
    let calls = Arc::new(AtomicU32::new(0));
    let (faulty, faults) = db.faulty();
    let (seen, kill) = (calls.clone(), faults.clone());
    let definition = Definition::new("killer").step(
        Step::new("a", move |_: Effect, state: i32| {
            seen.fetch_add(1, Ordering::SeqCst);
            kill.add(Fault::nth_operation(1).crash());
            async move { Ok(state) }
        })
        .retry(Retry::times(3)),
    );
    let sagas = Sagas::new(&faulty, definition).unwrap();
    sagas.start("s", &0).await.unwrap();
    for _ in 0..3 {
        assert!(sagas.run("s").await.is_err());
        faults.clear();
        assert!(matches!(sagas.run("s").await.unwrap(), Outcome::Waiting { .. }));
        seconds.fetch_add(60, Ordering::SeqCst);
    }
    assert!(matches!(
        sagas.run("s").await.unwrap(),
        Outcome::Compensated { .. }
    ));
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

async fn a_late_worker_changes_nothing(db: &Db) {
    let (db, seconds) = clocked(db);
    accounts(&db, &[("ann", 100), ("joe", 0)]).await;
    // The first worker sleeps in its step until the second is through.
    let (other, hand) = (db.clone(), seconds.clone());
    let is_first = Arc::new(AtomicU32::new(0));
    let definition = |name: &str, other: Option<Db>| {
        let (hand, is_first) = (hand.clone(), is_first.clone());
        Definition::new(name)
            .step(
                Step::new("debit", move |effect: Effect, t: Transfer| {
                    let (other, hand, is_first) = (other.clone(), hand.clone(), is_first.clone());
                    async move {
                        if let Some(other) = other.filter(|_| is_first.fetch_add(1, Ordering::SeqCst) == 0) {
                            hand.fetch_add(61, Ordering::SeqCst);
                            let sagas = Sagas::new(&other, two_steps("late")).unwrap();
                            let outcome = Box::pin(sagas.run("s")).await.unwrap();
                            assert!(matches!(outcome, Outcome::Completed(_)));
                            let error = effect.renew().await.unwrap_err();
                            assert!(matches!(error, StepError::LeaseLost));
                        }
                        debit(effect, t).await
                    }
                })
                .compensate(give_back),
            )
            .step(Step::new("credit", credit))
    };
    let sagas = Sagas::new(&db, definition("late", Some(other))).unwrap();
    sagas.start("s", &Transfer::new("ann", "joe", 30)).await.unwrap();
    assert!(matches!(
        sagas.run("s").await.unwrap_err(),
        SagaError::LeaseLost { .. }
    ));
    assert_eq!((balance(&db, "ann").await, balance(&db, "joe").await), (70, 30));
    assert_eq!(sagas.get("s").await.unwrap().lease.token, 2);
}

fn two_steps(name: &str) -> Definition<Transfer> {
    Definition::new(name)
        .step(Step::new("debit", debit).compensate(give_back))
        .step(Step::new("credit", credit))
}

async fn an_abort_takes_the_lease_away(db: &Db) {
    let (db, _) = clocked(db);
    accounts(&db, &[("ann", 100), ("joe", 0)]).await;
    let other = db.clone();
    let definition = two_steps("aborted").step(Step::new("wait", move |_: Effect, t: Transfer| {
        let other = other.clone();
        async move {
            let sagas = Sagas::new(&other, two_steps("aborted").step(Step::new("wait", fee))).unwrap();
            sagas.abort("s", "the customer called").await.unwrap();
            Ok(t)
        }
    }));
    let sagas = Sagas::new(&db, definition).unwrap();
    sagas.start("s", &Transfer::new("ann", "joe", 30)).await.unwrap();
    assert!(matches!(
        sagas.run("s").await.unwrap_err(),
        SagaError::LeaseLost { .. }
    ));
    // Credit has no compensation here: it is what the definition says.
    assert!(matches!(
        sagas.run("s").await.unwrap(),
        Outcome::Compensated { .. }
    ));
    assert_eq!((balance(&db, "ann").await, balance(&db, "joe").await), (100, 30));
    assert!(matches!(
        sagas.abort("s", "again").await.unwrap_err(),
        SagaError::Finished { .. }
    ));
}

async fn a_saga_is_started_with_what_it_is_about(db: &Db) {
    let sagas = Sagas::new(db, marked()).unwrap();
    let t = Transfer::new("ann", "joe", 1);
    let refused: Result<(), Error> = db
        .transaction(async |tx| {
            sagas.on(&tx).start("s", &t).await?;
            Err(Error::new(ErrorKind::Validation, "changed my mind"))
        })
        .await;
    assert!(refused.is_err());
    assert!(matches!(
        sagas.get("s").await.unwrap_err(),
        SagaError::NotFound { .. }
    ));
    assert!(matches!(
        sagas.run("s").await.unwrap_err(),
        SagaError::NotFound { .. }
    ));
    db.transaction(async |tx| Ok(sagas.on(&tx).start("s", &t).await?))
        .await
        .unwrap();
    assert_eq!(sagas.get("s").await.unwrap().status, SagaStatus::Running);
    let other = Sagas::new(db, atomic()).unwrap();
    assert!(matches!(
        other.start("s", &t).await.unwrap_err(),
        SagaError::Taken { .. }
    ));
    assert!(matches!(
        other.get("s").await.unwrap_err(),
        SagaError::NotFound { .. }
    ));
}

async fn a_saga_that_is_started_anew_happens_again(db: &Db) {
    accounts(db, &[("ann", 100), ("joe", 0)]).await;
    let sagas = Sagas::new(db, marked()).unwrap();
    for (id, amount) in [("made", 30), ("undone", 13)] {
        let t = Transfer::new("ann", "joe", amount);
        for _ in 0..2 {
            assert_eq!(sagas.start(id, &t).await.unwrap(), Started::Now);
            match sagas.run(id).await.unwrap() {
                Outcome::Completed(_) => assert_eq!(id, "made"),
                Outcome::Compensated { .. } => assert_eq!(id, "undone"),
                other => panic!("{other:?}"),
            }
            assert_eq!(sagas.prune(DateTime::MAX).await.unwrap(), 1);
        }
    }
    assert_eq!((balance(db, "ann").await, balance(db, "joe").await), (40, 60));
}

/// Its token is the one of the saga that was started anew.
async fn a_late_worker_of_an_earlier_saga_changes_nothing(db: &Db) {
    let (db, seconds) = clocked(db);
    accounts(&db, &[("ann", 100), ("joe", 0)]).await;
    let (other, hand) = (db.clone(), seconds.clone());
    let slow = move |effect: Effect, t: Transfer| {
        let (other, hand) = (other.clone(), hand.clone());
        async move {
            hand.fetch_add(61, Ordering::SeqCst);
            let sagas = Sagas::new(&other, two_steps("late")).unwrap();
            let outcome = Box::pin(sagas.run("s")).await.unwrap();
            assert!(matches!(outcome, Outcome::Completed(_)));
            assert_eq!(sagas.prune(DateTime::MAX).await.unwrap(), 1);
            assert_eq!(sagas.start("s", &t).await.unwrap(), Started::Now);
            let busy = async |_: Effect, _: Transfer| Err(StepError::retry("busy"));
            let busy = Definition::new("late")
                .step(Step::new("debit", busy))
                .step(Step::new("credit", credit));
            let outcome = Box::pin(Sagas::new(&other, busy).unwrap().run("s")).await;
            assert!(matches!(outcome.unwrap(), Outcome::Waiting { .. }));
            assert!(matches!(effect.renew().await, Err(StepError::LeaseLost)));
            debit(effect, t).await
        }
    };
    let late = Definition::new("late")
        .step(Step::new("debit", slow).compensate(give_back))
        .step(Step::new("credit", credit));
    let late = Sagas::new(&db, late).unwrap();
    late.start("s", &Transfer::new("ann", "joe", 30)).await.unwrap();
    assert!(matches!(
        late.run("s").await.unwrap_err(),
        SagaError::LeaseLost { .. }
    ));
    assert_eq!(balance(&db, "ann").await, 70);
    seconds.fetch_add(61, Ordering::SeqCst);
    let sagas = Sagas::new(&db, two_steps("late")).unwrap();
    let outcome = sagas.run("s").await.unwrap();
    assert!(matches!(outcome, Outcome::Completed(_)));
    assert_eq!((balance(&db, "ann").await, balance(&db, "joe").await), (40, 60));
}

async fn effects_of_other_sagas_and_steps_have_other_keys(db: &Db) {
    accounts(db, &[("ann", 100)]).await;
    let t = Transfer::new("ann", "ann", 10);
    for (id, step) in [("a/b", "c"), ("a", "b/c")] {
        let definition = Definition::new(step).step(Step::new(step, debit));
        let sagas = Sagas::new(db, definition).unwrap();
        sagas.start(id, &t).await.unwrap();
        assert_eq!(sagas.run(id).await.unwrap(), Outcome::Completed(t.clone()));
    }
    assert_eq!(balance(db, "ann").await, 80);

    let steps = [("a", 0, 0), ("a/undo", 0, 0), ("b", 9, 0)];
    let (db, seconds) = clocked(db);
    let sagas = Sagas::new(&db, journaled("j", &steps, None)).unwrap();
    sagas.start("s", &0).await.unwrap();
    while sagas.work().await.unwrap().is_some() {
        seconds.fetch_add(100, Ordering::SeqCst);
    }
    let entries = db.raw_collection("journal").find(doc! {}).await.unwrap();
    let mut keys: Vec<&str> = entries
        .iter()
        .map(|entry| entry.get_str("key").unwrap())
        .collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((entries.len(), keys.len()), (5, 5));
}

async fn sagas_that_were_stored_without_a_run_keep_their_keys(db: &Db) {
    accounts(db, &[("ann", 100), ("joe", 0)]).await;
    let sagas = Sagas::new(db, marked()).unwrap();
    let records = db.raw_collection("sagas");
    for amount in [30, 13] {
        let id = format!("s{amount}");
        sagas
            .start(&id, &Transfer::new("ann", "joe", amount))
            .await
            .unwrap();
        let stored = records.update_one(doc! {"_id": &id}, doc! {"$unset": {"run": ""}});
        assert_eq!(stored.await.unwrap().modified, 1);
        let is_made = matches!(sagas.run(&id).await.unwrap(), Outcome::Completed(_));
        assert_eq!(is_made, amount == 30);
    }
    let ann = db.collection::<Account>().get("ann").required().await.unwrap();
    let keys: Vec<&str> = ann.marks.iter().map(|mark| mark.key.as_str()).collect();
    assert_eq!((ann.balance, keys), (70, vec!["s30/debit", "s13/debit"]));
}

async fn definitions_are_held_to_what_is_stored(db: &Db) {
    let (db, seconds) = clocked(db);
    let sagas = Sagas::new(&db, journaled("j", &[("a", 0, 0), ("b", 0, 0)], None)).unwrap();
    sagas.start("s", &0).await.unwrap();
    let changed = Sagas::new(&db, journaled("j", &[("b", 0, 0), ("a", 0, 0)], None)).unwrap();
    match changed.run("s").await.unwrap_err() {
        SagaError::OtherSteps { stored, .. } => assert_eq!(stored, ["a", "b"]),
        other => panic!("{other}"),
    }
    seconds.fetch_add(100, Ordering::SeqCst);
    let problems = changed.verify(Duration::from_secs(30)).await.unwrap();
    let due = sagas.get("s").await.unwrap().due;
    let kinds: Vec<_> = problems.into_iter().map(|problem| problem.kind).collect();
    let stored = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(
        kinds,
        [SagaProblemKind::OtherSteps(stored), SagaProblemKind::Overdue(due)]
    );
    assert!(sagas.verify(Duration::from_secs(100)).await.unwrap().is_empty());

    let sagas = db.raw_collection("sagas");
    let wrong = doc! {"$set": {"status": "completed", "state": "x"}};
    sagas.update_one(doc! {"_id": "s"}, wrong).await.unwrap();
    let problems = Sagas::new(&db, journaled("j", &[("a", 0, 0), ("b", 0, 0)], None)).unwrap();
    let problems = problems.verify(Duration::ZERO).await.unwrap();
    assert!(matches!(problems[0].kind, SagaProblemKind::BadState(_)));
    let step = |step: &str, state| SagaProblemKind::WrongEnd {
        step: step.to_owned(),
        state,
    };
    assert_eq!(problems[1].kind, step("a", StepState::Begun));
    assert_eq!(problems[2].kind, step("b", StepState::Pending));

    for definition in [
        Definition::<i32>::new("none"),
        journaled("twice", &[("a", 0, 0), ("a", 0, 0)], None),
    ] {
        assert!(matches!(
            Sagas::new(&db, definition).unwrap_err(),
            SagaError::BadDefinition(_)
        ));
    }
}

async fn the_history_is_bounded(db: &Db) {
    let (db, _) = clocked(db);
    let steps = [("a", 0, 0), ("b", 0, 0), ("c", 0, 0), ("d", 0, 0)];
    let sagas = Sagas::new(&db, journaled("j", &steps, None)).unwrap().remember(2);
    sagas.start("s", &0).await.unwrap();
    assert_eq!(sagas.run("s").await.unwrap(), Outcome::Completed(4));
    let steps: Vec<i32> = sagas
        .get("s")
        .await
        .unwrap()
        .history
        .iter()
        .map(|event| event.step)
        .collect();
    assert_eq!(steps, [2, 3]);
}

/// A model is a model: sagas can be asked for by its fields.
async fn marks_of_sagas_are_told_by_their_bytes(db: &Db) {
    let caseless = doc! {"locale": "en", "strength": 2};
    db.create_collection("saga_accounts")
        .collation(caseless)
        .await
        .unwrap();
    accounts(db, &[("ann", 100), ("joe", 0), ("eve", 0)]).await;
    let sagas = Sagas::new(db, marked()).unwrap();
    for (id, to) in [("t-a", "joe"), ("t-A", "eve")] {
        sagas.start(id, &Transfer::new("ann", to, 30)).await.unwrap();
        let ended = sagas.run(id).await.unwrap();
        assert_eq!(ended, Outcome::Completed(Transfer::new("ann", to, 30)));
    }
    // One that is undone undoes its own.
    for id in ["u-a", "u-A"] {
        sagas
            .start(
                id,
                &Transfer::new("ann", "joe", if id == "u-a" { 10 } else { 99 }),
            )
            .await
            .unwrap();
        sagas.run(id).await.unwrap();
    }
    let mut balances = Vec::new();
    for account in ["ann", "joe", "eve"] {
        balances.push(balance(db, account).await);
    }
    assert_eq!(balances, [30, 40, 30]);
    let ann = db
        .raw_collection("saga_accounts")
        .get("ann")
        .required()
        .await
        .unwrap();
    let states: Vec<_> = ann
        .get_array("marks")
        .unwrap()
        .iter()
        .map(|mark| {
            let mark = mark.as_document().unwrap();
            let (effect, _run) = mark.get_str("key").unwrap().rsplit_once('/').unwrap();
            (effect, mark.get_str("state").unwrap())
        })
        .collect();
    let done = ["t-a/debit", "t-A/debit", "u-a/debit"].map(|key| (key, "done"));
    assert_eq!(states[..3], done);
}

async fn sagas_are_documents(db: &Db) {
    let sagas = Sagas::new(db, marked()).unwrap();
    sagas.start("s", &Transfer::new("ann", "joe", 7)).await.unwrap();
    let collection = db.collection::<odm_patterns::saga::SagaRecord>();
    let found = collection
        .find_one(|s| s.status.eq(SagaStatus::Running))
        .required()
        .await
        .unwrap();
    assert_eq!(found.state::<Transfer>().unwrap().amount, 7);
    assert_eq!(found.state::<i32>().unwrap_err().kind(), ErrorKind::Decode);
    assert_eq!(odm_patterns::saga::SagaRecord::DESCRIPTOR.collection, "sagas");
}
