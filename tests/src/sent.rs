//! The commands that a client sends to MongoDB.

use std::sync::{Arc, Mutex};

use bson::Document;
use odm::Db;
use odm::mongodb::driver::Client;
use odm::mongodb::driver::event::EventHandler;
use odm::mongodb::driver::event::command::CommandEvent;
use odm::mongodb::driver::options::ClientOptions;

use crate::harness::mongodb_uri;

/// The same database by a client that keeps the commands it sends.
pub async fn recorded(db: &Db) -> Option<(Db, Sent)> {
    if db.backend_name() != "mongodb" {
        return None;
    }
    let mut options = ClientOptions::parse(mongodb_uri().expect("a server"))
        .await
        .unwrap();
    let sent = Sent::default();
    let kept = sent.clone();
    options.command_event_handler = Some(EventHandler::callback(move |event| {
        if let CommandEvent::Started(started) = event {
            kept.0.lock().unwrap().push(started.command);
        }
    }));
    let backend = odm::mongodb::backend(Client::with_options(options).unwrap());
    Some((Db::from_backend(backend, db.name()), sent))
}

/// The commands that were sent.
#[derive(Clone, Debug, Default)]
pub struct Sent(Arc<Mutex<Vec<Document>>>);

impl Sent {
    /// All commands since it was last asked.
    pub fn take_all(&self) -> Vec<Document> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// The commands of this name since it was last asked.
    pub fn take(&self, name: &str) -> Vec<Document> {
        let mut all = self.take_all();
        all.retain(|command| command.contains_key(name));
        all
    }

    /// The one command of this name since it was last asked.
    pub fn only(&self, name: &str) -> Document {
        let mut all = self.take(name);
        assert_eq!(all.len(), 1, "{name}: {all:?}");
        all.remove(0)
    }
}

/// The read concern of a command.
pub fn level(command: &Document) -> Option<&str> {
    let concern = command.get_document("readConcern").ok()?;
    concern.get_str("level").ok()
}
