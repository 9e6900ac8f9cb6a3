//! Writes of several kinds in one batch.

use std::borrow::Borrow;
use std::fmt;

use bson::{Document, RawDocumentBuf};

use super::insert_many::{key_to_bson, partial};
use super::insert_one::prepare;
use super::setters::{runs, setters};
use super::update::{decode_key, update_statement};
use super::{Draft, PreparedWrites, upserted_array, upserted_id};
use crate::backend::{self, DeleteStatement, ReadOptions, WriteResult, WriteStatement};
use crate::codec::Raw;
use crate::collection::encode::Asked;
use crate::collection::{RawUpdate, Record, Target, encode};
use crate::error::Result;
use crate::model::Model;
use crate::query::{BuiltUpdate, Filter, Operand, Update};

/// Inserts, updates, replaces and deletes in one batch. One round trip for the embedded engine; for MongoDB
/// one for each run of writes of the same kind, and for each 16 MB of updates or deletions and 47 MB of inserts of a
/// run. None without writes.
///
/// In order and up to the first failure, unless [`unordered`](BulkWrite::unordered). Not all or nothing: when
/// some fail, the error's [`partial_write`](crate::Error::partial_write) says which. In a transaction it is
/// all or nothing. When a later round trip fails as a whole, as by the network, the first write it carried is told as
/// failed; of an unordered batch all that it carried, and those behind, which were not sent.
#[must_use = "an action does nothing until it is awaited"]
pub struct BulkWrite<D: Record> {
    draft: Draft<backend::BulkWrite>,
    ids: Vec<(usize, D::Key)>,
}

/// What a batch of writes did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkResult<K> {
    /// Documents inserted, not counting upserts.
    pub inserted: u64,
    /// Documents that matched an update or replacement.
    pub matched: u64,
    /// Documents that an update or replacement changed.
    pub modified: u64,
    /// Documents deleted.
    pub deleted: u64,
    /// The `_id` of each inserted document, with the index of its write in the batch.
    pub inserted_ids: Vec<(usize, K)>,
    /// The `_id` of each upserted document, with the index of its write in the batch.
    pub upserted_ids: Vec<(usize, K)>,
}

impl<D: Record> BulkWrite<D> {
    pub(crate) fn new(target: &Target) -> BulkWrite<D> {
        let draft = Draft::new(
            target,
            backend::BulkWrite {
                namespace: target.namespace().clone(),
                statements: Vec::new(),
                ordered: true,
                options: ReadOptions::default(),
            },
        );
        BulkWrite {
            draft,
            ids: Vec::new(),
        }
    }

    /// Tries every write, even after a failure, in any order. Faster on a sharded collection.
    pub fn unordered(mut self) -> Self {
        self.draft.operation.ordered = false;
        self
    }

    /// How strings compare in the filters of the updates, replacements and deletions so far, in MongoDB's words:
    /// `{locale: "en", strength: 2}`.
    pub fn collation(mut self, collation: impl Into<Raw>) -> Self {
        let collation = self.draft.keep(encode::raw(collation));
        for statement in &mut self.draft.operation.statements {
            match statement {
                WriteStatement::Insert(_) => {}
                WriteStatement::Update(update) => update.collation.clone_from(&collation),
                WriteStatement::Delete(delete) => delete.collation.clone_from(&collation),
            }
        }
        self
    }

    /// How many writes there are so far.
    pub fn len(&self) -> usize {
        self.draft.operation.statements.len()
    }

    /// Whether there is no write yet.
    pub fn is_empty(&self) -> bool {
        self.draft.operation.statements.is_empty()
    }

    /// Deletions take documents out even where the model is deleted softly.
    ///
    /// Only the living are seen, unless the action says `with_deleted()` or `only_deleted()`.
    pub fn for_ever(mut self) -> Self {
        self.draft.settings.purge = true;
        self
    }

    /// Gives the writes as they would be sent, and sends nothing: with what the model's hooks, dates, version, kind and
    /// soft deletion make of them, held against its rules. For code that makes them together with other writes, or
    /// later; see [`PreparedWrites`].
    ///
    /// # Errors
    /// Those of the writes that need no round trip: `Validation`, `Encode`, and what hooks give.
    pub async fn prepared(self) -> Result<PreparedWrites> {
        let settings = self.draft.settings.clone();
        let (target, operation) = self.draft.ready()?;
        PreparedWrites::of(target, operation, settings).await
    }

    /// Inserts a document.
    pub fn insert(mut self, document: impl Borrow<D>) -> Self {
        if let Some((encoded, id)) = self.draft.keep(prepare(document.borrow())) {
            self.ids.push((self.len(), id));
            self.draft
                .operation
                .statements
                .push(WriteStatement::Insert(encoded));
        }
        self
    }

    /// Replaces the document with the same `_id`; changes nothing when there is none.
    pub fn replace(self, document: impl Borrow<D>) -> Self {
        let (filter, update) = encode::in_its_place(document.borrow());
        self.update(filter, update, How::One)
    }

    /// Deletes the document with this `_id`.
    pub fn delete(self, id: impl Operand<D::Key>) -> Self {
        self.deletion(id.with_operand(encode::by_key::<D>), false)
    }

    fn update(mut self, filter: Result<impl Into<Asked>>, update: Result<BuiltUpdate>, how: How) -> Self {
        let asked: Option<Asked> = self.draft.keep(filter.map(Into::into));
        let update = self.draft.keep(update);
        if let (Some(asked), Some(mut update)) = (asked, update) {
            let Asked {
                filter,
                seeded_arrays,
            } = asked;
            self.draft.settings.name_variants(self.len(), &mut update);
            let mut statement = update_statement(filter, update, how == How::Many);
            statement.upsert = how == How::Upsert;
            if statement.upsert {
                let checked = upserted_id::check::<D>(&statement.filter, &statement.modification)
                    .and_then(|()| upserted_array::check(&seeded_arrays, &statement.modification));
                self.draft.keep(checked);
            }
            self.draft
                .operation
                .statements
                .push(WriteStatement::Update(statement));
        }
        self
    }

    fn deletion(mut self, filter: Result<RawDocumentBuf>, multi: bool) -> Self {
        if let Some(filter) = self.draft.keep(filter) {
            let statement = DeleteStatement {
                filter,
                multi,
                hint: None,
                collation: None,
            };
            self.draft
                .operation
                .statements
                .push(WriteStatement::Delete(statement));
        }
        self
    }

    async fn run(self) -> Result<BulkResult<D::Key>> {
        let ordered = self.draft.operation.ordered;
        let Some((target, result)) = write(self.draft).await? else {
            return Ok(BulkResult {
                inserted: 0,
                matched: 0,
                modified: 0,
                deleted: 0,
                inserted_ids: Vec::new(),
                upserted_ids: Vec::new(),
            });
        };
        if !result.errors.is_empty() || result.concern.is_some() {
            let ids = self
                .ids
                .iter()
                .filter_map(|(index, id)| Some((*index, key_to_bson::<D>(id)?)))
                .collect();
            return Err(partial(&target, "bulkWrite", ordered, result, ids));
        }
        let upserted = result.upserted.into_iter();
        let upserted = upserted.map(|(index, id)| Ok((index, decode_key::<D>(&target, "bulkWrite", id)?)));
        Ok(BulkResult {
            inserted: result.summary.inserted,
            matched: result.summary.matched,
            modified: result.summary.modified,
            deleted: result.summary.deleted,
            inserted_ids: self.ids,
            upserted_ids: upserted.collect::<Result<_>>()?,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    One,
    Many,
    Upsert,
}

impl<M: Model> BulkWrite<M> {
    /// Changes the first document that matches.
    pub fn update_one(
        self,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        update: impl FnOnce(M::Fields<M>) -> Update<M>,
    ) -> Self {
        self.update(encode::filter(filter), encode::update(update), How::One)
    }

    /// Changes every document that matches.
    pub fn update_many(
        self,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        update: impl FnOnce(M::Fields<M>) -> Update<M>,
    ) -> Self {
        self.update(encode::filter(filter), encode::update(update), How::Many)
    }

    /// Changes the first document that matches, or inserts one.
    pub fn upsert(
        self,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        update: impl FnOnce(M::Fields<M>) -> Update<M>,
    ) -> Self {
        self.update(encode::asked(filter), encode::update(update), How::Upsert)
    }

    /// Replaces the first document that matches.
    pub fn replace_one(
        self,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        document: impl Borrow<M>,
    ) -> Self {
        self.update(
            encode::filter(filter),
            encode::replacement(document.borrow()),
            How::One,
        )
    }

    /// Replaces the first document that matches, or inserts this one.
    pub fn upsert_replacement(
        self,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        document: impl Borrow<M>,
    ) -> Self {
        self.update(
            encode::filter(filter),
            encode::replacement(document.borrow()),
            How::Upsert,
        )
    }

    /// Replaces the document with the same `_id`, or inserts it.
    pub fn save(self, document: impl Borrow<M>) -> Self {
        let (filter, update) = encode::in_its_place(document.borrow());
        self.update(filter, update, How::Upsert)
    }

    /// Deletes the first document that matches.
    pub fn delete_one(self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Self {
        self.deletion(encode::filter(filter), false)
    }

    /// Deletes every document that matches.
    pub fn delete_many(self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Self {
        self.deletion(encode::filter(filter), true)
    }
}

impl BulkWrite<Document> {
    /// Changes the first document that matches, in MongoDB's words.
    pub fn update_one(self, filter: impl Into<Raw>, update: impl Into<RawUpdate>) -> Self {
        self.update(encode::raw(filter), encode::raw_update(update.into()), How::One)
    }

    /// Changes every document that matches, in MongoDB's words.
    pub fn update_many(self, filter: impl Into<Raw>, update: impl Into<RawUpdate>) -> Self {
        self.update(encode::raw(filter), encode::raw_update(update.into()), How::Many)
    }

    /// Changes the first document that matches, or inserts one, in MongoDB's words.
    pub fn upsert(self, filter: impl Into<Raw>, update: impl Into<RawUpdate>) -> Self {
        self.update(
            encode::raw(filter),
            encode::raw_update(update.into()),
            How::Upsert,
        )
    }

    /// Replaces the first document that matches.
    pub fn replace_one(self, filter: impl Into<Raw>, document: impl Borrow<Document>) -> Self {
        self.update(
            encode::raw(filter),
            encode::replacement(document.borrow()),
            How::One,
        )
    }

    /// Deletes the first document that matches.
    pub fn delete_one(self, filter: impl Into<Raw>) -> Self {
        self.deletion(encode::raw(filter), false)
    }

    /// Deletes every document that matches.
    pub fn delete_many(self, filter: impl Into<Raw>) -> Self {
        self.deletion(encode::raw(filter), true)
    }
}

setters!([D: Record] BulkWrite<D>: comment, max_time, variables, scope, timeless);
runs!([D: Record] BulkWrite<D> => BulkResult<D::Key>);

/// Sends the writes; gives nothing when there are none.
async fn write(draft: Draft<backend::BulkWrite>) -> Result<Option<(Target, WriteResult)>> {
    if draft.is_sound() && draft.operation.statements.is_empty() {
        draft.target.executor().check_running()?;
        return Ok(None);
    }
    let settings = draft.settings.clone();
    let (target, operation) = draft.ready()?;
    let answer = target.write(operation, settings).await?;
    Ok(Some((target, answer.outcome()?)))
}

impl<D: Record> fmt::Debug for BulkWrite<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BulkWrite").field(&self.draft).finish()
    }
}
