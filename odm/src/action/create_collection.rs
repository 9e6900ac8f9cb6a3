//! Creating a collection with options.

use bson::{Bson, Document};

use super::Draft;
use super::setters::runs;
use crate::backend;
use crate::collection::{Target, encode};
use crate::error::Result;

/// Creates a collection. One round trip.
///
/// Fails with code 48 when it exists with other options; does nothing when it exists with the same.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct CreateCollection {
    target: Target,
    options: Document,
}

impl CreateCollection {
    pub(crate) fn new(target: Target) -> CreateCollection {
        CreateCollection {
            target,
            options: Document::new(),
        }
    }

    /// Bounds the collection to this many bytes: the oldest documents make room for the newest.
    pub fn capped(self, size: u64) -> CreateCollection {
        self.option("capped", true).option("size", integer(size))
    }

    /// Bounds a capped collection to this many documents as well.
    pub fn max_documents(self, count: u64) -> CreateCollection {
        self.option("max", integer(count))
    }

    /// The filter that documents must match to be stored, in MongoDB's words.
    pub fn validator(self, validator: Document) -> CreateCollection {
        self.option("validator", validator)
    }

    /// How strings compare, in MongoDB's words: `{locale: "en", strength: 2}`.
    pub fn collation(self, collation: Document) -> CreateCollection {
        self.option("collation", collation)
    }

    /// Any field of MongoDB's command `create`.
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Bson>) -> CreateCollection {
        self.options.insert(name, value);
        self
    }

    async fn run(self) -> Result<()> {
        let namespace = self.target.namespace().clone();
        let mut draft = Draft::new(&self.target, ());
        let options = draft.keep(encode::raw(&self.options)).unwrap_or_default();
        let draft = draft.map(|()| backend::CreateCollection { namespace, options });
        let (target, operation) = draft.ready()?;
        target.execute(operation).await?.done()
    }
}

runs!([] CreateCollection => ());

fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
