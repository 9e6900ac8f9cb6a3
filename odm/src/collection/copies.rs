//! Copies of other models' fields in the documents of a model, and of its own fields in others.

use bson::RawDocumentBuf;

use super::{Collection, Record};
use crate::action::{FanOut, PropagateCopies, RepairReport, StaleCopies};
use crate::error::Result;
use crate::model::Model;
use crate::query;
use crate::relation;

impl<M: Model> Collection<M> {
    /// Fills the copies in documents that are about to be written from what their references refer to, as it is
    /// stored now. Says how many were filled (`repaired`), and how many refer to nothing (`left`), which stay as they
    /// are.
    ///
    /// A source that is changed between this and the write is missed: [`refresh_copies`](Collection::refresh_copies)
    /// after the write misses nothing.
    ///
    /// ```
    /// # use odm::{Db, Model, Embedded, Ref};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, Model)]
    /// #[odm(copied_to(Book))]
    /// struct Publisher {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     name: String,
    /// }
    ///
    /// #[derive(Serialize, Deserialize, Embedded)]
    /// #[odm(copy_of(Publisher))]
    /// struct PublisherCopy {
    ///     #[odm(source)]
    ///     id: Ref<Publisher>,
    ///     name: Option<String>,
    ///     #[odm(source_version)]
    ///     version: Option<i64>,
    /// }
    ///
    /// #[derive(Serialize, Deserialize, Model)]
    /// #[odm(index(keys(publisher.id)))]
    /// struct Book {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     publisher: PublisherCopy,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// db.collection::<Publisher>().insert(Publisher { id: 1, name: "Penguin".into() }).await?;
    /// let publisher = PublisherCopy { id: Ref::new(1), name: None, version: None };
    /// let mut new = [Book { id: 1, publisher }];
    /// assert_eq!(db.collection::<Book>().fill_copies(&mut new).await?.repaired, 1);
    /// assert_eq!(new[0].publisher.name.as_deref(), Some("Penguin"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Cost: one query for each place that holds copies, whatever the number of documents.
    ///
    /// # Errors
    /// As any read; `Encode` and `Decode` when a document cannot be taken apart and put together again. The documents
    /// are then as they were.
    pub async fn fill_copies(&self, documents: &mut [M]) -> Result<RepairReport> {
        let target = self.target();
        let explain = |error| target.explain(error, "find");
        if let Some(failure) = target.failure() {
            return Err(explain(failure));
        }
        let places = M::DESCRIPTOR.copies();
        let mut report = RepairReport::default();
        if places.is_empty() || documents.is_empty() {
            return Ok(report);
        }
        let encoded = documents.iter().map(Record::encode);
        let mut encoded: Vec<RawDocumentBuf> = encoded.collect::<Result<_>>().map_err(explain)?;
        (report.repaired, report.left) = relation::fill(places, target, &mut encoded)
            .await
            .map_err(explain)?;
        let filled = encoded.iter().map(|document| M::decode(document));
        let filled: Vec<M> = filled.collect::<Result<_>>().map_err(explain)?;
        for (document, filled) in documents.iter_mut().zip(filled) {
            *document = filled;
        }
        Ok(report)
    }

    /// Makes the copies in the matching documents what their sources are now. In a transaction it is done once more
    /// when that is committed, where a failure is not told.
    ///
    /// After a write that refers to something else, this leaves no gap: a change of the source before it is seen by
    /// it, one after it sees the documents.
    ///
    /// # Errors
    /// As any read and any write.
    pub async fn refresh_copies(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>,
    ) -> Result<RepairReport> {
        let filter = filter(M::fields()).to_document();
        let target = self.target();
        let copies = StaleCopies::new(M::DESCRIPTOR, target, filter.clone());
        let report = copies.repair().await?;
        let db = target.db();
        if let Some(guard) = db.guard() {
            let outer = target.within(db.outer().executor());
            let again = StaleCopies::new(M::DESCRIPTOR, &outer, filter);
            guard.after_commit(Box::pin(async move { drop(again.repair().await) }));
        }
        Ok(report)
    }

    /// Looks for copies in these documents that are not what their sources are. See [`StaleCopies`].
    ///
    /// # Errors
    /// As any read.
    pub fn stale_copies(&self) -> StaleCopies {
        StaleCopies::new(M::DESCRIPTOR, self.target(), Ok(RawDocumentBuf::new()))
    }

    /// How many documents of other models hold copies of the matching ones, place by place: what a change of them
    /// costs. Nothing of a model that nobody copies. See [`FanOut`].
    ///
    /// # Errors
    /// As any read.
    pub fn copy_fan_out(&self, filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>) -> FanOut {
        FanOut::new(M::DESCRIPTOR, self.target(), filter(M::fields()).to_document())
    }

    /// Makes the copies of these documents anew where that waits: those declared `eventual`, and what an interruption
    /// left of the others. See [`PropagateCopies`].
    ///
    /// # Errors
    /// As any read and any write. What was propagated before stays, and the rest waits on.
    pub fn propagate_pending(&self) -> PropagateCopies {
        PropagateCopies::new(M::DESCRIPTOR, self.target())
    }
}
