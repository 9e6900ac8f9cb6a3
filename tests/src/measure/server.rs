//! The MongoDB that the benches compare with.

use odm::Db;
use odm::mongodb::driver::options::{Acknowledgment, CollectionOptions, WriteConcern};
use odm::mongodb::driver::{Client, Collection, Database};

use crate::harness::{fresh_name, mongodb_uri, with_database};

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
