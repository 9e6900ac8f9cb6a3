//! Sagas whose documents are deleted under way, and steps that keep their errors to themselves.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Model};
use odm_patterns::saga::{
    Definition, Effect, EventKind, Mark, MarkState, Outcome, Retry, SagaError, SagaProblemKind, Sagas,
    Started, Step, StepError, Undone,
};
use odm_tests::interrupted::interrupted;
use serde::{Deserialize, Serialize};

use super::saga_models::clocked;

crate::on_every_backend! {
    an_effect_on_a_document_that_is_deleted_since_is_undone,
    an_effect_that_comes_while_it_is_undone_is_undone,
    an_effect_that_was_made_is_found_in_a_deleted_document,
    a_deleted_document_gets_no_effect,
    a_document_that_is_gone_waits_for_somebody,
    a_document_that_may_have_had_the_effect_is_told_of,
    marks_of_deleted_documents_are_pruned,
    an_id_means_one_state,
    what_a_step_does_not_pass_on_is_its_error,
    what_a_transaction_does_not_pass_on_is_found_behind_its_end,
}

/// An account that can be closed, which deletes it softly.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "saga_closable")]
struct Closable {
    #[serde(rename = "_id")]
    id: String,
    balance: i64,
    marks: Vec<Mark>,
    #[odm(version)]
    version: i64,
    #[odm(soft_delete)]
    closed: Option<DateTime>,
}

async fn open(db: &Db) {
    let account = Closable {
        id: "ann".to_owned(),
        balance: 100,
        marks: Vec::new(),
        version: 0,
        closed: None,
    };
    db.collection::<Closable>().insert(account).await.unwrap();
}

async fn debit(effect: Effect, amount: i64) -> Result<i64, StepError> {
    let accounts = effect.db().collection::<Closable>();
    let enough = |a: ClosableFields| a.balance.gte(amount);
    effect
        .apply(&accounts, "ann", |a| a.marks, enough, |a| a.balance.inc(-amount))
        .await?;
    Ok(amount)
}

async fn undo(effect: &Effect, amount: i64) -> Result<Undone, StepError> {
    let accounts = effect.db().collection::<Closable>();
    effect
        .undo(&accounts, "ann", |a| a.marks, |a| a.balance.inc(amount))
        .await
}

async fn give_back(effect: Effect, amount: i64) -> Result<i64, StepError> {
    undo(&effect, amount).await?;
    Ok(amount)
}

fn debit_step() -> Step<i64> {
    Step::new("debit", debit)
        .compensate(give_back)
        .retry(Retry::times(3))
}

/// The balance, and the states of the marks.
async fn stored(db: &Db) -> (i64, Vec<MarkState>) {
    let accounts = db.collection::<Closable>();
    let account = accounts.get("ann").with_deleted().await.unwrap().unwrap();
    let states = account.marks.iter().map(|mark| mark.state);
    (account.balance, states.collect())
}

/// The money came back to an account that was closed in the meantime.
async fn an_effect_on_a_document_that_is_deleted_since_is_undone(db: &Db) {
    open(db).await;
    let close = async |effect: Effect, _: i64| {
        effect.db().collection::<Closable>().delete("ann").await?;
        Err(StepError::fatal("no such receiver"))
    };
    let definition = Definition::new("close")
        .step(debit_step())
        .step(Step::new("credit", close));
    let sagas = Sagas::new(db, definition).unwrap();
    sagas.start("s", &70).await.unwrap();
    let error = Some("no such receiver".to_owned());
    assert_eq!(
        sagas.run("s").await.unwrap(),
        Outcome::Compensated { state: 70, error }
    );
    assert_eq!(stored(db).await, (100, vec![MarkState::Undone]));
}

/// A late worker's write came between the two of the compensation, which took it for undone before.
async fn an_effect_that_comes_while_it_is_undone_is_undone(db: &Db) {
    open(db).await;
    let late = Arc::new(Mutex::new(None));
    let (kept, taken) = (late.clone(), late);
    let slow = move |effect: Effect, _: i64| {
        *kept.lock().unwrap() = Some(effect);
        std::future::ready(Err(StepError::fatal("given up")))
    };
    let undo_meanwhile = move |effect: Effect, amount: i64| {
        let late: Effect = taken.lock().unwrap().take().unwrap();
        async move {
            let writes = async move { assert!(debit(late, amount).await.is_ok()) };
            let (db, moment) = interrupted(effect.db(), 2, writes);
            let accounts = db.collection::<Closable>();
            let undone = effect.undo(&accounts, "ann", |a| a.marks, |a| a.balance.inc(amount));
            assert_eq!(undone.await?, Undone::Now);
            assert!(moment.has_come());
            assert_eq!(undo(&effect, amount).await?, Undone::Before);
            Ok(amount)
        }
    };
    let step = Step::new("debit", slow).compensate(undo_meanwhile);
    let sagas = Sagas::new(db, Definition::new("slow").step(step)).unwrap();
    sagas.start("s", &70).await.unwrap();
    assert!(matches!(
        sagas.run("s").await.unwrap(),
        Outcome::Compensated { .. }
    ));
    assert_eq!(stored(db).await, (100, vec![MarkState::Undone]));
}

/// A worker died after the effect; for the next one the account is closed.
async fn an_effect_that_was_made_is_found_in_a_deleted_document(db: &Db) {
    let (db, seconds) = clocked(db);
    open(&db).await;
    let (faulty, faults) = db.faulty();
    let kill = faults.clone();
    let dying = move |effect: Effect, amount: i64| {
        let kill = kill.clone();
        async move {
            let amount = debit(effect, amount).await?;
            kill.add(Fault::nth_operation(1).crash());
            Ok(amount)
        }
    };
    let step = Step::new("debit", dying).compensate(give_back);
    let dying = Sagas::new(&faulty, Definition::new("die").step(step)).unwrap();
    dying.start("s", &70).await.unwrap();
    assert!(dying.run("s").await.is_err());
    faults.clear();
    db.collection::<Closable>().delete("ann").await.unwrap();
    seconds.fetch_add(100, Ordering::SeqCst);
    let sagas = Sagas::new(&db, Definition::new("die").step(debit_step())).unwrap();
    assert_eq!(sagas.run("s").await.unwrap(), Outcome::Completed(70));
    assert_eq!(stored(&db).await, (30, vec![MarkState::Done]));
}

/// What it did not get before it was deleted, it never gets: not even when it is restored.
async fn a_deleted_document_gets_no_effect(db: &Db) {
    open(db).await;
    let accounts = db.collection::<Closable>();
    accounts.delete("ann").await.unwrap();
    let sagas = Sagas::new(db, Definition::new("late").step(debit_step())).unwrap();
    sagas.start("s", &70).await.unwrap();
    let error = match sagas.run("s").await.unwrap() {
        Outcome::Compensated { error, .. } => error.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        error,
        r#"the document is deleted (collection: saga_closable, _id: "ann")"#
    );
    assert_eq!(stored(db).await, (100, vec![MarkState::Void]));
}

/// Nothing can be given back to an account that is not there any more: somebody has to know.
async fn a_document_that_is_gone_waits_for_somebody(db: &Db) {
    open(db).await;
    let drop = async |effect: Effect, _: i64| {
        let accounts = effect.db().collection::<Closable>();
        accounts.delete_one(|a| a.id.eq("ann")).for_ever().await?;
        Err(StepError::fatal("no such receiver"))
    };
    let definition = Definition::new("drop")
        .step(debit_step())
        .step(Step::new("credit", drop));
    let sagas = Sagas::new(db, definition).unwrap();
    sagas.start("s", &70).await.unwrap();
    let text = r#"the document that is to be undone is gone (collection: saga_closable, _id: "ann")"#;
    let (step, error) = ("debit".to_owned(), Some(text.to_owned()));
    assert_eq!(sagas.run("s").await.unwrap(), Outcome::Stuck { step, error });
    let problems = sagas.verify(Duration::from_secs(60)).await.unwrap();
    assert_eq!(problems[0].kind, SagaProblemKind::Stuck(Some(text.to_owned())));
    sagas.skip("s", "paid out in cash").await.unwrap();
    assert!(matches!(
        sagas.run("s").await.unwrap(),
        Outcome::Compensated { .. }
    ));
}

async fn a_document_that_may_have_had_the_effect_is_told_of(db: &Db) {
    let back = async |effect: Effect, amount: i64| {
        assert!(!effect.is_certain());
        assert_eq!(undo(&effect, amount).await?, Undone::Gone);
        Ok(amount)
    };
    let step = Step::new("debit", debit).compensate(back);
    let sagas = Sagas::new(db, Definition::new("never").step(step)).unwrap();
    sagas.start("s", &70).await.unwrap();
    let error = match sagas.run("s").await.unwrap() {
        Outcome::Compensated { error, .. } => error.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        error,
        r#"there is no such document (collection: saga_closable, _id: "ann")"#
    );
    let history = sagas.get("s").await.unwrap().history;
    let note = history.iter().find(|event| event.kind == EventKind::Compensated);
    assert!(
        note.unwrap().note.as_ref().unwrap().contains("is gone"),
        "{history:?}"
    );
}

async fn marks_of_deleted_documents_are_pruned(db: &Db) {
    open(db).await;
    let sagas = Sagas::new(db, Definition::new("prune").step(debit_step())).unwrap();
    sagas.start("s", &70).await.unwrap();
    assert_eq!(sagas.run("s").await.unwrap(), Outcome::Completed(70));
    let accounts = db.collection::<Closable>();
    accounts.delete("ann").await.unwrap();
    let pruned = Effect::prune_marks(&accounts, |a| a.marks, DateTime::MAX)
        .await
        .unwrap();
    assert_eq!((pruned, stored(db).await), (1, (30, Vec::new())));
    let raw = accounts.raw().find_one(doc! {}).await.unwrap().unwrap();
    assert!(raw.get_datetime("closed").is_ok());
}

/// Whoever asks for another amount under the same id must hear that it is not paid.
async fn an_id_means_one_state(db: &Db) {
    let add = async |_: Effect, mut state: HashMap<String, i64>| {
        state.insert("done".to_owned(), 1);
        Ok(state)
    };
    let sagas = Sagas::new(db, Definition::new("pay").step(Step::new("add", add))).unwrap();
    let amounts = |n: i64| -> HashMap<String, i64> { (0..20).map(|key| (format!("k{key}"), n)).collect() };
    assert_eq!(sagas.start("s", &amounts(1)).await.unwrap(), Started::Now);
    let other = sagas.start("s", &amounts(2)).await.unwrap_err();
    assert!(matches!(&other, SagaError::OtherState { id } if id == "s"));
    assert!(other.to_string().contains("\"s\""), "{other}");
    assert_eq!(Error::from(other).kind(), ErrorKind::Validation);
    // What the steps make of the state is none of it.
    assert!(matches!(sagas.run("s").await.unwrap(), Outcome::Completed(_)));
    assert_eq!(sagas.start("s", &amounts(1)).await.unwrap(), Started::Before);
    assert!(sagas.start("s", &amounts(2)).await.is_err());
    // As it was stored before sagas knew what they were started with.
    let raw = db.raw_collection("sagas");
    raw.update_one(doc! {}, doc! {"$unset": {"fingerprint": 1}})
        .await
        .unwrap();
    assert_eq!(sagas.start("s", &amounts(2)).await.unwrap(), Started::Before);
}

async fn what_a_step_does_not_pass_on_is_its_error(db: &Db) {
    db.raw_collection("taken").insert(doc! {"_id": 1}).await.unwrap();
    let swallow = async |effect: Effect, state: i64| {
        let taken = effect.db().raw_collection("taken");
        assert!(taken.insert(doc! {"_id": 1}).await.is_err());
        Ok(state)
    };
    let definition = Definition::new("swallow").step(Step::new("a", swallow).atomic());
    let sagas = Sagas::new(db, definition).unwrap();
    sagas.start("s", &1).await.unwrap();
    let error = match sagas.run("s").await.unwrap() {
        Outcome::Compensated { error, .. } => error.unwrap(),
        other => panic!("{other:?}"),
    };
    assert!(error.contains("duplicate") && error.contains("taken"), "{error}");
}

async fn what_a_transaction_does_not_pass_on_is_found_behind_its_end(db: &Db) {
    db.raw_collection("taken").insert(doc! {"_id": 1}).await.unwrap();
    let result = db.transaction(async |tx| {
        let taken = tx.raw_collection("taken");
        assert!(
            taken
                .insert(doc! {"_id": 1})
                .await
                .unwrap_err()
                .is_duplicate_key()
        );
        taken.insert(doc! {"_id": 2}).await.map(drop)
    });
    let error = result.await.unwrap_err();
    let cause = error.source().unwrap().downcast_ref::<Error>().unwrap();
    assert!(cause.is_duplicate_key(), "{error} {cause}");
    assert_eq!(db.raw_collection("taken").count(doc! {}).await.unwrap(), 1);
}
