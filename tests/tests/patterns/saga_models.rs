//! The sagas of the saga cases.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use bson::{DateTime, doc};
use odm::{Db, Filter, Model};
use odm_patterns::saga::{Definition, Effect, Mark, Retry, Step, StepError};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "saga_accounts")]
pub struct Account {
    #[serde(rename = "_id")]
    pub id: String,
    pub balance: i64,
    #[serde(default)]
    pub marks: Vec<Mark>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    pub from: String,
    pub to: String,
    pub amount: i64,
}

impl Transfer {
    pub fn new(from: &str, to: &str, amount: i64) -> Transfer {
        Transfer {
            from: from.to_owned(),
            to: to.to_owned(),
            amount,
        }
    }
}

pub async fn debit(effect: Effect, t: Transfer) -> Result<Transfer, StepError> {
    let accounts = effect.db().collection::<Account>();
    effect
        .apply(
            &accounts,
            &t.from,
            |a| a.marks,
            |a| a.balance.gte(t.amount),
            |a| a.balance.inc(-t.amount),
        )
        .await?;
    Ok(t)
}

pub async fn give_back(effect: Effect, t: Transfer) -> Result<Transfer, StepError> {
    let accounts = effect.db().collection::<Account>();
    effect
        .undo(&accounts, &t.from, |a| a.marks, |a| a.balance.inc(t.amount))
        .await?;
    Ok(t)
}

pub async fn credit(effect: Effect, t: Transfer) -> Result<Transfer, StepError> {
    let accounts = effect.db().collection::<Account>();
    effect
        .apply(
            &accounts,
            &t.to,
            |a| a.marks,
            |_| Filter::all(),
            |a| a.balance.inc(t.amount),
        )
        .await?;
    Ok(t)
}

async fn take_back(effect: Effect, t: Transfer) -> Result<Transfer, StepError> {
    let accounts = effect.db().collection::<Account>();
    effect
        .undo(&accounts, &t.to, |a| a.marks, |a| a.balance.inc(-t.amount))
        .await?;
    Ok(t)
}

/// Where the fees of an account's transfers go.
pub fn fees_of(account: &str) -> String {
    format!("fees of {account}")
}

/// A fee of 1 that the bank grants, but not for transfers of 13.
pub async fn fee(effect: Effect, t: Transfer) -> Result<Transfer, StepError> {
    if t.amount == 13 {
        return Err(StepError::fatal("thirteen"));
    }
    let accounts = effect.db().collection::<Account>();
    effect
        .apply(
            &accounts,
            &fees_of(&t.from),
            |a| a.marks,
            |_| Filter::all(),
            |a| a.balance.inc(1),
        )
        .await?;
    Ok(t)
}

async fn plain_debit(effect: Effect, t: Transfer) -> Result<Transfer, StepError> {
    let accounts = effect.db().collection::<Account>();
    let enough = accounts.update_one(
        |a| a.id.eq(&t.from) & a.balance.gte(t.amount),
        |a| a.balance.inc(-t.amount),
    );
    match enough.await?.matched {
        1 => Ok(t),
        _ => Err(StepError::fatal("not enough money")),
    }
}

async fn plain_add(effect: Effect, id: &str, amount: i64) -> Result<(), StepError> {
    let accounts = effect.db().collection::<Account>();
    accounts
        .update_one(|a| a.id.eq(id), |a| a.balance.inc(amount))
        .await?;
    Ok(())
}

fn marked_steps() -> [Step<Transfer>; 3] {
    [
        Step::new("debit", debit).compensate(give_back),
        Step::new("credit", credit).compensate(take_back),
        Step::new("fee", fee),
    ]
}

fn atomic_steps() -> [Step<Transfer>; 3] {
    let debit = Step::new("debit", plain_debit).compensate(async |effect: Effect, t: Transfer| {
        plain_add(effect, &t.from, t.amount).await?;
        Ok(t)
    });
    let credit = Step::new("credit", async |effect: Effect, t: Transfer| {
        plain_add(effect, &t.to, t.amount).await?;
        Ok(t)
    });
    let credit = credit.compensate(async |effect: Effect, t: Transfer| {
        plain_add(effect, &t.to, -t.amount).await?;
        Ok(t)
    });
    let fee = Step::new("fee", async |effect: Effect, t: Transfer| {
        if t.amount == 13 {
            return Err(StepError::fatal("thirteen"));
        }
        plain_add(effect, &fees_of(&t.from), 1).await?;
        Ok(t)
    });
    [debit.atomic(), credit.atomic(), fee.atomic()]
}

fn definition(name: &str, steps: [Step<Transfer>; 3]) -> Definition<Transfer> {
    steps.into_iter().fold(Definition::new(name), Definition::step)
}

/// Three steps with marks in the accounts.
pub fn marked() -> Definition<Transfer> {
    definition("marked", marked_steps())
}

/// The same with transactions, and accounts that know nothing of it.
pub fn atomic() -> Definition<Transfer> {
    definition("atomic", atomic_steps())
}

/// An atomic step between two with marks.
pub fn mixed() -> Definition<Transfer> {
    let [debit, _, fee] = marked_steps();
    let [_, credit, _] = atomic_steps();
    definition("mixed", [debit, credit, fee])
}

/// Whether a transfer from an account with 100 can be made at all.
pub fn is_possible(amount: i64) -> bool {
    amount != 13 && amount <= 100
}

/// Opens accounts, and those of their fees.
pub async fn accounts(db: &Db, balances: &[(&str, i64)]) {
    let account = |id: String, balance| Account {
        id,
        balance,
        marks: Vec::new(),
    };
    let all = balances
        .iter()
        .flat_map(|(id, balance)| [account((*id).to_owned(), *balance), account(fees_of(id), 0)]);
    db.collection::<Account>().insert_many(all).await.unwrap();
}

pub async fn balance(db: &Db, id: &str) -> i64 {
    db.collection::<Account>()
        .get(id)
        .required()
        .await
        .unwrap()
        .balance
}

/// A clock that stands at a second until it is moved.
pub fn clocked(db: &Db) -> (Db, Arc<AtomicI64>) {
    let seconds = Arc::new(AtomicI64::new(1_000_000));
    let hand = seconds.clone();
    let clock = move || DateTime::from_millis(hand.load(Ordering::SeqCst) * 1000);
    (db.with_clock(clock), seconds)
}

/// Steps a, b, .. that note what they do in the collection `journal`; each fails as often as its number says.
pub fn journaled(name: &str, steps: &[(&'static str, u32, u32)], pivot: Option<&str>) -> Definition<i32> {
    let mut definition = Definition::new(name);
    for &(step, failures, undo_failures) in steps {
        let (left, undo_left) = (
            Arc::new(AtomicU32::new(failures)),
            Arc::new(AtomicU32::new(undo_failures)),
        );
        let act = move |effect: Effect, text: String, left: Arc<AtomicU32>| async move {
            let fails = left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
                .is_ok();
            if fails {
                return Err(StepError::retry(format!("{text} failed")));
            }
            let entry = doc! {"text": text, "key": effect.key(), "certain": effect.is_certain()};
            effect.db().raw_collection("journal").insert(entry).await?;
            Ok(())
        };
        let mut made = Step::new(step, move |effect, state: i32| {
            let done = act(effect, format!("+{step}"), left.clone());
            async move { done.await.map(|()| state + 1) }
        })
        .compensate(move |effect, state: i32| {
            let undone = act(effect, format!("-{step}"), undo_left.clone());
            async move { undone.await.map(|()| state - 1) }
        })
        .retry(Retry::times(3).first_pause(Duration::from_secs(10)));
        if pivot == Some(step) {
            made = made.pivot();
        }
        definition = definition.step(made);
    }
    definition
}
