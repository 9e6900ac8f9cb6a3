//! Which nodes intents deleted, remembered for a while: for whoever was held up, and puts one of them back.

use odm::bson::{Bson, Document, doc};

use super::core::Core;
use super::error::Result;
use super::intent::{BATCH, FENCE};
use super::layout::equal;

/// For how many changes a deletion is remembered.
const REMEMBERED: i64 = 1_000;

impl Core {
    /// Takes back what was inserted too late: others carried the intent out meanwhile, and the node was deleted since.
    pub(super) async fn take_back(&self, documents: &[Document], fence: i64) -> Result<()> {
        let ids = documents.iter().filter_map(|document| document.get("_id"));
        let ids: Vec<Document> = ids.map(|id| self.grave(id)).collect();
        let later = doc! { "_id": { "$in": ids }, "fence": { "$gt": fence } };
        for grave in self.states.find(later).await? {
            if let Some(id) = grave.get("gone") {
                self.nodes
                    .delete_one(doc! { "_id": equal(id), FENCE: fence })
                    .await?;
            }
        }
        Ok(())
    }

    /// The `_id` of the document that says by which intent a node was deleted.
    fn grave(&self, id: &Bson) -> Document {
        let mut grave = self.layout.state_id();
        grave.insert("gone", id);
        grave
    }

    /// Remembers which nodes an intent deletes, for a while.
    pub(super) async fn bury(&self, gone: &[&Bson], fence: i64) -> Result<()> {
        for some in gone.chunks(BATCH) {
            let mut bulk = self.states.bulk_write();
            for id in some {
                let set = doc! { "of": self.layout.state_id(), "gone": *id };
                let grave = doc! { "$set": set, "$max": { "fence": fence } };
                bulk = bulk.upsert(doc! { "_id": self.grave(id) }, grave);
            }
            bulk.await?;
        }
        match gone.is_empty() {
            true => Ok(()),
            false => self.forget_long_ago(fence).await,
        }
    }

    /// Forgets which nodes were deleted, and which intents were taken back, a while ago.
    pub(super) async fn forget_long_ago(&self, fence: i64) -> Result<()> {
        let of = doc! { "$eq": self.layout.state_id() };
        let forgotten = doc! { "of": of, "fence": { "$lt": fence - REMEMBERED } };
        self.states.delete_many(forgotten).await?;
        Ok(())
    }
}
