//! Deleting the chunks of an id that has no file, or has one no longer.

use odm::bson::oid::ObjectId;
use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Collection, Result};

use super::Bucket;

/// So many chunks are deleted at once: some 25 MiB of them.
const CHUNKS: usize = 100;

/// Holds ids whose chunks are deleted. The document of such an id stands where that of a file would: no file is stored
/// under it before the chunks are gone, and no chunks are deleted under a file.
///
/// Who takes an id over from another one, to delete all of its chunks, stops that one, who may be late: it deletes chunks
/// by their own `_id`s, and those alone that it read before it saw that it held the id. None of them is there when the id
/// is free again.
#[derive(Debug)]
pub(super) struct Discard<'a> {
    bucket: &'a Bucket,
    mark: ObjectId,
}

impl<'a> Discard<'a> {
    pub(super) fn new(bucket: &'a Bucket) -> Discard<'a> {
        Discard {
            bucket,
            mark: ObjectId::new(),
        }
    }

    fn files(&self) -> Collection<Document> {
        self.bucket.files().raw()
    }

    fn chunks(&self) -> Collection<Document> {
        self.bucket.chunks().raw()
    }

    /// Holds an id, unless it has a file. One round trip, in a transaction two.
    pub(super) async fn hold(&self, id: &Bson) -> Result<bool> {
        let file = doc! { "_id": { "$eq": id }, "discarding": null };
        let free_or_held = doc! { "_id": { "$eq": id }, "discarding": { "$exists": true } };
        let change = doc! {
            "$set": { "uploadDate": self.bucket.db().now(), "discarding": self.mark },
            "$setOnInsert": { "length": 0_i64, "chunkSize": i64::from(self.bucket.options().chunk_size) },
        };
        let files = self.files();
        self.if_possible(file, async || files.upsert(free_or_held, change).await.map(drop))
            .await
    }

    /// Holds an id that has no file and is not held either: for whoever does not delete all of its chunks.
    pub(super) async fn hold_free(&self, id: &Bson) -> Result<bool> {
        let document = doc! {
            "_id": id,
            "length": 0_i64,
            "chunkSize": i64::from(self.bucket.options().chunk_size),
            "uploadDate": self.bucket.db().now(),
            "discarding": self.mark,
        };
        let files = self.files();
        self.if_possible(doc! { "_id": { "$eq": id } }, async || {
            files.insert(document).await.map(drop)
        })
        .await
    }

    /// Whether a write that `other` is in the way of was made. In a transaction none may fail.
    async fn if_possible(&self, other: Document, write: impl AsyncFnOnce() -> Result<()>) -> Result<bool> {
        if self.bucket.db().in_transaction() && self.files().exists(other).await? {
            return Ok(false);
        }
        match write().await {
            Ok(()) => Ok(true),
            Err(error) if error.is_duplicate_key() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Holds the ids of those of these files that are there: from then on they are none. One round trip, two if some are
    /// not there.
    pub(super) async fn hold_files(&self, ids: &[Bson]) -> Result<Vec<Bson>> {
        let files = doc! { "_id": { "$in": ids }, "discarding": null };
        let change = doc! {
            "$set": { "length": 0_i64, "uploadDate": self.bucket.db().now(), "discarding": self.mark },
            "$unset": { "filename": 1, "sha256": 1, "md5": 1, "metadata": 1, "contentType": 1, "aliases": 1 },
        };
        match self.files().update_many(files, change).await?.matched {
            0 => Ok(Vec::new()),
            all if all == ids.len() as u64 => Ok(ids.to_vec()),
            _ => self.held().await,
        }
    }

    /// Takes over what others have held since before then, and did not come back to.
    pub(super) async fn take_over(&self, before: DateTime) -> Result<Vec<Bson>> {
        let left = doc! { "discarding": { "$exists": true }, "uploadDate": { "$lte": before } };
        let change = doc! { "$set": { "uploadDate": self.bucket.db().now(), "discarding": self.mark } };
        match self.files().update_many(left, change).await?.matched {
            0 => Ok(Vec::new()),
            _ => self.held().await,
        }
    }

    async fn held(&self) -> Result<Vec<Bson>> {
        let held = self.files().find(doc! { "discarding": self.mark });
        Ok(ids(held.project_raw(doc! { "_id": 1 }).await?))
    }

    /// The document that stands for an id that is held.
    pub(super) fn document_of(&self, id: &Bson) -> Document {
        doc! { "_id": { "$eq": id }, "discarding": self.mark }
    }

    /// Whether a chunk of an id was written after a time, given in milliseconds.
    pub(super) async fn is_younger(&self, id: &Bson, than: i64) -> Result<bool> {
        let Ok(next) = u32::try_from(than.div_euclid(1000).saturating_add(1).max(0)) else {
            return Ok(false);
        };
        let mut first = [0; 12];
        first[..4].copy_from_slice(&next.to_be_bytes());
        let younger = doc! { "files_id": { "$eq": id }, "_id": { "$gte": ObjectId::from_bytes(first) } };
        self.chunks().exists(younger).await
    }

    /// Deletes the chunks of ids that are held, and holds these no longer; how many chunks. Two round trips for each
    /// hundred, and one if there are none, or no more behind a hundred; one more.
    pub(super) async fn finish(&self, held: &[Bson]) -> Result<u64> {
        let deleted = self.delete(doc! { "files_id": { "$in": held } }).await?;
        self.release(held).await?;
        Ok(deleted)
    }

    /// Deletes the chunks from `n` on of an id that is held.
    pub(super) async fn delete_behind(&self, held: &Bson, n: i64) -> Result<u64> {
        let behind = doc! { "files_id": { "$eq": held }, "n": { "$gte": n } };
        self.delete(behind).await
    }

    /// Deletes the chunks of an id that [no document can have](is_possible), so that there is no file of it to come, and
    /// nothing to be held. Should the server take more than is known here, its file stays.
    pub(super) async fn delete_impossible(&self, id: &Bson) -> Result<u64> {
        if self.files().exists(doc! { "_id": { "$eq": id } }).await? {
            return Ok(0);
        }
        let these = doc! { "files_id": { "$eq": id } };
        Ok(self.chunks().delete_many(these).await?.deleted)
    }

    async fn delete(&self, which: Document) -> Result<u64> {
        let mut deleted = 0;
        loop {
            // Each is read before it is seen that its file's id is held.
            let some = self.chunks().aggregate_raw([
                doc! { "$match": &which },
                doc! { "$limit": CHUNKS as i64 },
                doc! { "$project": { "files_id": 1 } },
                doc! { "$lookup": {
                    "from": self.bucket.files().name(),
                    "localField": "files_id",
                    "foreignField": "_id",
                    "as": "of",
                } },
                doc! { "$match": { "of.discarding": self.mark } },
                doc! { "$project": { "_id": 1 } },
            ]);
            let some = ids(some.naming(&self.bucket.files()).await?);
            let is_last = some.len() < CHUNKS;
            if !some.is_empty() {
                let these = doc! { "_id": { "$in": some } };
                deleted += self.chunks().delete_many(these).await?.deleted;
            }
            if is_last {
                return Ok(deleted);
            }
        }
    }

    /// Holds ids no longer.
    pub(super) async fn release(&self, held: &[Bson]) -> Result<()> {
        let held = doc! { "_id": { "$in": held }, "discarding": self.mark };
        self.files().delete_many(held).await?;
        Ok(())
    }
}

/// Whether a document can have this `_id`.
pub(super) fn is_possible(id: &Bson) -> bool {
    let is_of_this_kind = !matches!(id, Bson::Array(_) | Bson::RegularExpression(_) | Bson::Undefined);
    is_of_this_kind && has_plain_names(id)
}

/// Whether no name in it begins with `$`, but for those that a DBRef begins with.
fn has_plain_names(value: &Bson) -> bool {
    match value {
        Bson::Array(values) => values.iter().all(has_plain_names),
        Bson::Document(document) => {
            let mut behind = document.iter().skip(reference(document));
            behind.all(|(name, value)| !name.starts_with('$') && has_plain_names(value))
        }
        _ => true,
    }
}

/// How many fields at the beginning make a document a DBRef.
fn reference(document: &Document) -> usize {
    let mut fields = document.iter().map(|(name, value)| (name.as_str(), value));
    match (fields.next(), fields.next(), fields.next()) {
        (Some(("$ref", Bson::String(_))), Some(("$id", _)), Some(("$db", Bson::String(_)))) => 3,
        (Some(("$ref", Bson::String(_))), Some(("$id", _)), _) => 2,
        _ => 0,
    }
}

fn ids(documents: Vec<Document>) -> Vec<Bson> {
    let ids = documents.into_iter().map(|mut document| document.remove("_id"));
    ids.flatten().collect()
}
