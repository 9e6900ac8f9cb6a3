//! Which documents hold copies of a source, where the collation of their collection takes some keys for others.

use std::collections::HashMap;

use bson::{RawBsonRef, RawDocumentBuf, rawdoc};

use super::copy_write::Copied;
use super::declared_copy::DeclaredCopy;
use super::fetch;
use super::identity::Identity;
use super::keys::Keys;
use super::place::one;
use super::stored::malformed;
use crate::backend::Operation;
use crate::collection::Target;
use crate::cursor;
use crate::error::Result;
use crate::lifecycle::narrow_kind;

impl DeclaredCopy {
    /// For each of the values the filters that narrow their updates, each for a part of the holders.
    ///
    /// An index of the collection's own collation does not find keys by their bytes: what refers is found by the
    /// collation, told apart here, and written by `_id`. Other holders need no more than their keys.
    pub(crate) async fn holders(
        &self,
        holder: &Target,
        copied: &[Copied],
    ) -> Result<Vec<Vec<Option<RawDocumentBuf>>>> {
        let mut keys = Keys::default();
        for copied in copied.iter().filter(|copied| self.is_collated(&copied.key)) {
            keys.add(copied.key.as_raw_bson_ref());
        }
        let found = self.found(holder, keys).await?;
        let parts = copied.iter().map(|copied| {
            if !self.is_collated(&copied.key) {
                return vec![None];
            }
            let parts = found.get(&Identity::of(copied.key.as_raw_bson_ref()));
            parts.cloned().unwrap_or_default().into_iter().map(Some).collect()
        });
        Ok(parts.collect())
    }

    /// The documents that refer to the keys, as filters by their `_id`s.
    async fn found(&self, holder: &Target, keys: Keys) -> Result<HashMap<Identity, Vec<RawDocumentBuf>>> {
        let mut found: HashMap<Identity, Keys> = HashMap::new();
        for keys in keys.chunks() {
            let projection = self.root().map(|root| one(root, 1)).transpose()?;
            let filter = self.referring(keys)?;
            let mut find = Operation::Find(fetch::find(holder, filter, projection, None));
            if let Some(plan) = holder.plan() {
                narrow_kind(plan, &mut find)?;
            }
            let mut cursor = holder.execute(find).await?.cursor()?;
            while let Some(batch) = cursor::next_batch(holder, "find", &mut *cursor).await? {
                for document in cursor::documents(holder, "find", &*batch) {
                    let document = document?;
                    let id = document.get("_id").map_err(malformed)?;
                    let id = id.unwrap_or(RawBsonRef::Null);
                    self.each(document, &mut |_, _, key| {
                        found.entry(Identity::of(key)).or_default().add(id);
                        Ok(())
                    })?;
                }
            }
        }
        let by_id = |ids: Keys| {
            let parts = ids.chunks().into_iter();
            parts.map(|ids| rawdoc! { "_id": { "$in": ids } }).collect()
        };
        Ok(found.into_iter().map(|(key, ids)| (key, by_id(ids))).collect())
    }
}
