//! Handles, values and futures cross threads; the embedded engine runs on any executor.

use std::fmt::Debug;
use std::future::IntoFuture;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use bson::doc;
use odm::action::{
    Aggregate, BulkWrite, Count, CreateCollection, CreateIndexes, Delete, Distinct, Exists, Explain, Find,
    FindOne, FindOneAnd, Insert, InsertMany, InsertOne, ListIndexes, Required, Update as UpdateAction,
};
use odm::backend::{Backend, BatchCursor, Capabilities, Operation, Response, Transaction};
use odm::{
    Collection, Cursor, Db, Error, ErrorKind, Field, Filter, Id, IndexInfo, Model, OpenOptions, Raw,
    RawUpdate, Sort, Tx, Update,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
struct Item {
    #[serde(rename = "_id")]
    id: String,
    names: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
struct Account {
    #[serde(rename = "_id")]
    id: Id<Account>,
    #[odm(unique)]
    owner: String,
    balance: i64,
}

impl Account {
    fn new(owner: &str, balance: i64) -> Account {
        let owner = owner.to_owned();
        Account {
            id: Id::new(),
            owner,
            balance,
        }
    }
}

fn send_and_sync<T: Send + Sync>() {}
fn send<T: Send>() {}
fn cloneable<T: Clone>() {}
fn debug<T: Debug>() {}
fn unpin<T: Unpin>() {}

/// An action that can be awaited on any thread and passed to `tokio::spawn`.
fn action<A>()
where
    A: IntoFuture<IntoFuture: Send + 'static, Output: Send> + Send + Debug + 'static,
{
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

#[test]
fn handles_and_values_are_send_and_sync() {
    send_and_sync::<Db>();
    send_and_sync::<Tx>();
    send_and_sync::<Collection<Item>>();
    send_and_sync::<Collection<bson::Document>>();
    send_and_sync::<OpenOptions>();
    send_and_sync::<Filter<Item>>();
    send_and_sync::<Update<Item>>();
    send_and_sync::<Sort<Item>>();
    send_and_sync::<Field<Item, String>>();
    send_and_sync::<<Item as odm::Embedded>::Fields<Item>>();
    send_and_sync::<Id<Account>>();
    send_and_sync::<Raw>();
    send_and_sync::<RawUpdate>();
    send_and_sync::<IndexInfo>();
    send_and_sync::<Error>();
    send_and_sync::<ErrorKind>();
    send_and_sync::<Operation>();
    send_and_sync::<Capabilities>();
    send_and_sync::<Arc<dyn Backend>>();
    send_and_sync::<Arc<dyn Transaction>>();
    // A cursor is polled by one task at a time; it moves between threads.
    send::<Cursor<Item>>();
    send::<Response>();
    send::<Box<dyn BatchCursor>>();
    unpin::<Cursor<Item>>();
}

#[test]
fn handles_are_cloneable_and_everything_can_be_printed() {
    cloneable::<Db>();
    cloneable::<Tx>();
    cloneable::<Collection<Item>>();
    cloneable::<Filter<Item>>();
    cloneable::<Update<Item>>();
    cloneable::<Sort<Item>>();
    cloneable::<Error>();
    debug::<Db>();
    debug::<Tx>();
    debug::<Collection<Item>>();
    debug::<Cursor<Item>>();
    debug::<Filter<Item>>();
    debug::<Update<Item>>();
    debug::<Sort<Item>>();
}

#[test]
fn an_error_is_one_word() {
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    assert_eq!(size_of::<odm::Result<()>>(), size_of::<usize>());
}

#[test]
fn futures_of_actions_are_send() {
    action::<Find<Item>>();
    action::<FindOne<Item>>();
    action::<Required<Item>>();
    action::<Insert<Item>>();
    action::<InsertOne<Item>>();
    action::<InsertMany<Item>>();
    action::<UpdateAction<Item>>();
    action::<Delete>();
    action::<FindOneAnd<Item>>();
    action::<Count>();
    action::<Exists>();
    action::<Distinct<Item, String>>();
    action::<BulkWrite<Item>>();
    action::<Aggregate>();
    action::<Explain>();
    action::<ListIndexes>();
    action::<CreateIndexes>();
    action::<CreateCollection>();
}

/// Never run: that it compiles is the test.
#[allow(dead_code)]
fn futures_of_methods_are_send(db: Db, tx: Tx, mut cursor: Cursor<Item>) {
    drop(is_send(Db::open("memory:")));
    drop(is_send(db.begin()));
    drop(is_send(db.check()));
    drop(is_send(db.drop()));
    drop(is_send(db.list_collections()));
    drop(is_send(db.run_command(doc! {})));
    drop(is_send(db.collection::<Item>().index_drift().into_future()));
    drop(is_send(db.collection::<Item>().sync_indexes().into_future()));
    drop(is_send(tx.commit()));
    drop(is_send(tx.abort()));
    drop(is_send(cursor.next()));
    drop(is_send(cursor.try_collect::<Vec<Item>>()));
}

async fn everything(db: &Db) {
    let accounts = db.collection::<Account>();
    accounts.create_indexes().await.expect("indexes");
    let (a, b) = (Account::new("a", 10), Account::new("b", 0));
    accounts.insert_many([&a, &b]).await.expect("inserted");
    let amount = 3;
    // Borrows from around it, and the future is still `Send`.
    let transfer = is_send(db.transaction(async |tx| {
        let accounts = tx.collection::<Account>();
        accounts
            .update_one(|x| x.id.eq(a.id), |x| x.balance.inc(-amount))
            .await?;
        accounts
            .update_one(|x| x.id.eq(b.id), |x| x.balance.inc(amount))
            .await?;
        Ok(())
    }));
    transfer.await.expect("committed");
    let mut cursor = accounts.find_all().batch_size(1).stream();
    let mut total = 0;
    while let Some(account) = cursor.next().await {
        total += account.expect("an account").balance;
    }
    assert_eq!(total, 10);
    assert_eq!(accounts.count(|x| x.balance.lte(7)).await.expect("a count"), 2);
}

#[test]
fn everything_runs_in_spawned_tasks() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                tokio::spawn(async {
                    let db = Db::open("memory:").await.expect("it opens");
                    everything(&db).await;
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
    });
}

/// Unparks the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// An executor of the standard library alone.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut ctx = Context::from_waker(&waker);
    let mut future: Pin<&mut F> = pin!(future);
    loop {
        match future.as_mut().poll(&mut ctx) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn the_engine_needs_no_runtime() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = format!("native:{}", directory.path().display());
    for url in ["memory:", &file] {
        block_on(async {
            let db = Db::open(url).await.expect("it opens");
            everything(&db).await;
        });
    }
}

#[test]
fn conflicts_are_retried_without_a_runtime() {
    let directory = tempfile::tempdir().expect("a directory");
    let db = block_on(Db::open(&format!("native:{}", directory.path().display()))).expect("it opens");
    let account = Account::new("a", 0);
    block_on(db.collection::<Account>().insert(&account).into_future()).expect("inserted");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let raise = db.transaction(async |tx| {
                        let accounts = tx.collection::<Account>();
                        let now = accounts.get(account.id).await?.map_or(0, |x| x.balance);
                        accounts
                            .update_one(|x| x.id.eq(account.id), |x| x.balance.set(now + 1))
                            .await
                            .map(drop)
                    });
                    block_on(raise).expect("committed in the end");
                }
            });
        }
    });
    let after = block_on(db.collection::<Account>().get(account.id).into_future()).expect("read");
    assert_eq!(after.map(|x| x.balance), Some(40));
}
