//! Document history beside other patterns in the same documents, and changes of the version itself.

use std::sync::Mutex;

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Model, Update};
use odm_patterns::history::{History, HistoryError, HistoryProblemKind};
use odm_patterns::outbox::{Delivery, Emit, Inbox, Message, Outbox, Received, Relay};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    publishing_is_no_version,
    a_relay_between_copy_and_change_is_no_clash,
    going_back_leaves_the_outbox,
    a_restored_document_goes_on_with_its_events,
    a_change_does_not_set_the_version,
    what_was_before_the_first_entry_is_not_known,
    deletions_take_no_place_of_a_version_that_is_kept,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "history_accounts")]
struct Account {
    #[serde(rename = "_id")]
    id: i32,
    owner: String,
    balance: i64,
    outbox: Outbox,
    #[odm(version)]
    version: i64,
    #[odm(updated)]
    changed: DateTime,
}

async fn open(history: &History<Account>) {
    let account = Account {
        id: 1,
        owner: "ann".to_owned(),
        balance: 0,
        outbox: Outbox::default(),
        version: 0,
        changed: DateTime::from_millis(0),
    };
    history.insert(&account).await.unwrap();
}

async fn pay(db: &Db, amount: i64) -> i64 {
    let message = Message::new(db, "paid", &amount).unwrap();
    let history = History::<Account>::new(db);
    let paid = history.update(1, |a| a.balance.inc(amount) & a.outbox.emit(message));
    paid.await.unwrap()
}

/// What a consumer with an inbox makes of what is published.
async fn relay(db: &Db) -> Vec<(i64, Received<()>)> {
    let inbox = Inbox::new(db, "ledger");
    let seen = Mutex::new(Vec::new());
    let relay = Relay::new(db, db.collection::<Account>(), |a| a.outbox);
    let relayed = relay.run(async |delivery: Delivery| {
        let received = inbox.receive(&delivery.source, delivery.sequence, async |_| Ok(()));
        let received = (delivery.data::<i64>()?, received.await?);
        seen.lock().unwrap().push(received);
        Ok::<(), Error>(())
    });
    assert!(relayed.await.unwrap().failed.is_empty());
    seen.into_inner().unwrap()
}

async fn publishing_is_no_version(db: &Db) {
    let history = History::<Account>::new(db);
    open(&history).await;
    for amount in 1..=3 {
        assert_eq!(pay(db, amount).await, amount);
        assert_eq!(relay(db).await, [(amount, Received::Now(()))]);
    }
    let versions = history.versions(1).await.unwrap();
    let versions: Vec<i64> = versions.iter().map(|version| version.version).collect();
    assert_eq!(versions, [0, 1, 2, 3]);
    assert!(history.verify().await.unwrap().is_empty());
    let paths: Vec<String> = history
        .diff(1, 0, 2)
        .await
        .unwrap()
        .into_iter()
        .map(|d| d.path)
        .collect();
    assert_eq!(paths, ["balance"]);
}

/// The copy of a current version was made by a writer that died, and its events are published since.
async fn a_relay_between_copy_and_change_is_no_clash(db: &Db) {
    let history = History::<Account>::new(db);
    open(&history).await;
    pay(db, 1).await;
    let refused = history.change(1, |_| Err::<(), _>(Error::new(ErrorKind::Validation, "no")));
    assert!(refused.await.is_err());
    // What the code refuses is not copied at all.
    assert_eq!(history.records().count(doc! {}).await.unwrap(), 1);
    let dies = async || {
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(2).crash());
        let change = History::<Account>::new(&faulty)
            .update(1, |a| a.balance.inc(1))
            .await;
        change.unwrap_err();
    };
    dies().await;
    assert_eq!(history.records().count(doc! {}).await.unwrap(), 2);
    assert_eq!(relay(db).await, [(1, Received::Now(()))]);
    assert!(history.verify().await.unwrap().is_empty());
    assert_eq!(pay(db, 2).await, 2);
    // What else goes around it does clash.
    dies().await;
    let around = doc! {"$set": {"balance": 99_i64}};
    history
        .collection()
        .raw()
        .update_one(doc! {"_id": 1}, around)
        .await
        .unwrap();
    let problems = history.verify().await.unwrap();
    assert_eq!(problems[0].kind, HistoryProblemKind::Changed { version: 2 });
    let clash = history.update(1, |a| a.balance.inc(1)).await;
    assert!(matches!(clash, Err(HistoryError::Clash { version: 2, .. })));
}

async fn going_back_leaves_the_outbox(db: &Db) {
    let history = History::<Account>::new(db);
    open(&history).await;
    pay(db, 1).await;
    pay(db, 2).await;
    assert_eq!(relay(db).await.len(), 2);
    pay(db, 3).await;
    // Back to before there was an event: one waits still, and the next is the fourth.
    assert_eq!(history.revert(1, 0).await.unwrap(), 4);
    let account = history.collection().get(1).required().await.unwrap();
    assert_eq!((account.balance, account.outbox.pruned), (0, 2));
    assert_eq!(relay(db).await, [(3, Received::Now(()))]);
    pay(db, 4).await;
    assert_eq!(relay(db).await, [(4, Received::Now(()))]);
    assert!(history.verify().await.unwrap().is_empty());
}

async fn a_restored_document_goes_on_with_its_events(db: &Db) {
    let history = History::<Account>::new(db);
    open(&history).await;
    pay(db, 1).await;
    assert_eq!(relay(db).await, [(1, Received::Now(()))]);
    pay(db, 2).await;
    history.delete(1).await.unwrap();
    assert_eq!(relay(db).await, []);
    history.restore(1).await.unwrap();
    assert_eq!(relay(db).await, [(2, Received::Now(()))]);
    pay(db, 3).await;
    assert_eq!(relay(db).await, [(3, Received::Now(()))]);
}

async fn a_change_does_not_set_the_version(db: &Db) {
    let history = History::<Account>::new(db);
    open(&history).await;
    let changes: [Update<Account>; 5] = [
        Account::fields().version.set(50) & Account::fields().balance.inc(1),
        Account::fields().version.inc(1),
        Update::raw(doc! {"$rename": {"balance": "version"}}),
        Update::pipeline([doc! {"$set": {"version": 50}}]),
        Update::pipeline([doc! {"$unset": ["version"]}]),
    ];
    for change in changes {
        let error = history.update(1, |_| change).await.unwrap_err();
        let error = Error::from(error);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let text = error.to_string();
        assert!(
            text.contains("Account") && text.contains("_id: 1") && text.contains("version"),
            "{text}"
        );
    }
    assert_eq!(history.records().count(doc! {}).await.unwrap(), 0);
    // Values are no names.
    history.update(1, |a| a.owner.set("version")).await.unwrap();
    let change = Update::pipeline([doc! {"$set": {"owner": {"$concat": ["$owner", "version"]}}}]);
    assert_eq!(history.update(1, |_| change).await.unwrap(), 2);
    let account = history.collection().get(1).required().await.unwrap();
    assert_eq!((account.owner.as_str(), account.version), ("versionversion", 2));
}

/// A gap is between versions that the history has: what is before them may have been forgotten.
async fn what_was_before_the_first_entry_is_not_known(db: &Db) {
    let history = History::<Account>::new(db);
    open(&history).await;
    let around = async || {
        let accounts = db.collection::<Account>();
        accounts
            .update_one(|a| a.id.eq(1), |a| a.balance.inc(1))
            .await
            .unwrap();
    };
    around().await;
    pay(db, 1).await;
    assert!(history.verify().await.unwrap().is_empty());
    let error = history.get(1, 0).await.unwrap_err();
    assert!(matches!(error, HistoryError::NoSuchVersion { version: 0, .. }));
    around().await;
    pay(db, 1).await;
    let problems = history.verify().await.unwrap();
    assert_eq!(problems[0].kind, HistoryProblemKind::Gap { from: 2, to: 2 });
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "history_mails")]
struct Mail {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    #[odm(version)]
    version: i64,
    #[odm(soft_delete)]
    deleted: Option<DateTime>,
}

async fn deletions_take_no_place_of_a_version_that_is_kept(db: &Db) {
    let history = History::<Mail>::new(db);
    for id in [1, 2] {
        let mail = Mail {
            id,
            text: "0".into(),
            version: 0,
            deleted: None,
        };
        history.insert(&mail).await.unwrap();
    }
    // 1 and 4 are what was left of it while it was deleted.
    history.delete(1).await.unwrap();
    history.restore(1).await.unwrap();
    history.update(1, |m| m.text.set("3")).await.unwrap();
    history.delete(1).await.unwrap();
    history.restore(1).await.unwrap();
    let readable = async |id: i32| -> Vec<i64> {
        let mut readable = Vec::new();
        for version in 0..=9 {
            if history.get(id, version).await.is_ok() {
                readable.push(version);
            }
        }
        readable
    };
    let all = readable(1).await;
    assert_eq!(all.len(), 4, "{all:?}");
    for kept in [3, 2, 1] {
        history.keep_last(kept).await.unwrap();
        // The current one is no replaced one.
        assert_eq!(readable(1).await, all[3 - kept..], "{kept}");
        history.diff(1, all[3 - kept], all[3]).await.unwrap();
    }
    assert!(history.verify().await.unwrap().is_empty());
    assert!(history.keep_last(0).await.unwrap() > 0);
    assert_eq!(readable(1).await, all[3..]);
    assert_eq!(history.keep_last(0).await.unwrap(), 0);
    assert_eq!(readable(2).await, [0]);
}
