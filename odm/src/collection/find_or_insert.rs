//! A document that is there, or is made.

use super::Collection;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::query::Filter;

impl<M: Model> Collection<M> {
    /// The first document that matches; where none does, this one is inserted. Gives it as it is stored, and whether it was
    /// inserted.
    ///
    /// Callers at the same time get the same document if a unique index covers the filter (the `_id`'s does): only one of
    /// them inserts then. Without such an index there may be two. One round trip where there is one, three where not. In
    /// a transaction, somebody else's insertion at the same time is a conflict, after which that is run again.
    ///
    /// # Errors
    /// Those of finding and inserting; `DuplicateKey` when another document than one that matches has a key of this one, be
    /// it one that is softly deleted or out of the model's scope, which no find sees.
    ///
    /// # Example
    /// ```
    /// # use odm::{Db, Id, Model};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Debug, Serialize, Deserialize, Model)]
    /// # struct Tag {
    /// #     #[serde(rename = "_id")]
    /// #     id: Id<Tag>,
    /// #     #[odm(unique)]
    /// #     name: String,
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let tags = Db::open("memory:").await?.collection::<Tag>();
    /// tags.sync_indexes().await?;
    /// let tag = || Tag { id: Id::new(), name: "sea".into() };
    /// let (first, inserted) = tags.find_or_insert(|t| t.name.eq("sea"), tag).await?;
    /// assert!(inserted);
    /// let (again, inserted) = tags.find_or_insert(|t| t.name.eq("sea"), tag).await?;
    /// assert!(!inserted && again.id == first.id);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn find_or_insert(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        document: impl FnOnce() -> M,
    ) -> Result<(M, bool)> {
        let filter = filter(M::fields());
        let find = || self.find_one(|_| filter.clone());
        if let Some(found) = find().await? {
            return Ok((found, false));
        }
        let id = match self.insert(document()).await {
            Ok(id) => id,
            Err(error) if error.is_duplicate_key() && self.target.db().guard().is_none() => {
                // Somebody was quicker, unless it is another document that has the key.
                return match find().await? {
                    Some(found) => Ok((found, false)),
                    None => Err(error),
                };
            }
            Err(error) => return Err(error),
        };
        let stored = self.get(id).with_deleted().unscoped().await?;
        let gone = || {
            Error::new(
                ErrorKind::NotFound,
                "the document was deleted as soon as it was inserted",
            )
        };
        stored
            .map(|stored| (stored, true))
            .ok_or_else(|| self.target.explain(gone(), "find"))
    }
}
