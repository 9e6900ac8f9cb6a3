//! The MongoDB that the benches compare with.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use odm::Db;
use odm::mongodb::driver::event::EventHandler;
use odm::mongodb::driver::event::command::CommandEvent;
use odm::mongodb::driver::options::{Acknowledgment, ClientOptions, CollectionOptions, WriteConcern};
use odm::mongodb::driver::{Client, Collection, Database};

use crate::harness::{fresh_name, mongodb_uri, with_database};

/// How many commands a client sent.
#[derive(Clone, Debug, Default)]
pub struct Sent(Arc<AtomicUsize>);

impl Sent {
    /// The number since it was last asked.
    pub fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// A database of its own on the server, by the bare driver.
#[derive(Debug)]
pub struct Server {
    url: String,
    database: Database,
}

impl Server {
    /// Connects to the server that `ODM_TEST_MONGODB_URI` names; `None` when there is none.
    pub async fn connect() -> Option<Server> {
        let uri = mongodb_uri()?;
        let client = Client::with_uri_str(&uri).await.expect("the driver connects");
        let name = fresh_name().replace("odm_test", "odm_bench");
        Some(Server {
            url: with_database(&uri, &name),
            database: client.database(&name),
        })
    }

    /// A client of the driver that counts the commands it sends.
    pub async fn counted(&self) -> (Client, Sent) {
        let mut options = ClientOptions::parse(&self.url).await.expect("the URL is read");
        let sent = Sent::default();
        let counter = sent.clone();
        options.command_event_handler = Some(EventHandler::callback(move |event| {
            if let CommandEvent::Started(_) = event {
                counter.0.fetch_add(1, Ordering::Relaxed);
            }
        }));
        (Client::with_options(options).expect("the driver connects"), sent)
    }

    /// The database by the driver.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The same database by our API, with a client of its own.
    pub async fn open(&self) -> Db {
        Db::open(&self.url).await.expect("the server is opened")
    }

    /// A collection whose writes wait for the journal, or do not.
    pub fn collection<T: Send + Sync>(&self, name: &str, journal: bool) -> Collection<T> {
        let concern = WriteConcern::builder()
            .w(Acknowledgment::Nodes(1))
            .journal(journal)
            .build();
        let options = CollectionOptions::builder().write_concern(concern).build();
        self.database.collection_with_options(name, options)
    }

    /// Drops the database.
    pub async fn drop(&self) {
        self.database.drop().await.expect("the database is dropped");
    }
}
