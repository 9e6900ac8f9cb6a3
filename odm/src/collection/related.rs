//! Asking by what documents refer to, and by what refers to them.

use super::Collection;
use crate::action::Whose;
use crate::model::Model;
use crate::relation::RelatedCondition;

impl<M: Model> Collection<M> {
    /// The documents whose related documents meet a condition: what a field refers to, [`some`](crate::Field::some),
    /// [`none`](crate::Field::none) or [`all`](crate::Field::all) of it, or what
    /// [refers to them](crate::HasMany::some).
    ///
    /// It has the collection's actions, for these documents alone, and `.await` gives the [`Filter`](crate::Filter) that
    /// says which they are, to be combined with others anywhere:
    ///
    /// ```
    /// # use odm::{Db, Model, Ref};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Publisher {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     city: String,
    /// # }
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Book {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     year: i32,
    /// #     #[odm(index, inverse = by_publisher)]
    /// #     publisher: Ref<Publisher>,
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// # let (books, publishers) = (db.collection::<Book>(), db.collection::<Publisher>());
    /// # publishers.insert(Publisher { id: 7, city: "Oslo".into() }).await?;
    /// # books.insert(Book { id: 1, year: 2010, publisher: Ref::new(7) }).await?;
    /// let in_oslo = books.whose(|b| b.publisher.some(|p| p.city.eq("Oslo")));
    /// assert_eq!(in_oslo.find(|b| b.year.gt(2000)).sort(|b| b.year.asc()).await?.len(), 1);
    /// let in_oslo = in_oslo.await?;
    /// assert_eq!(books.count(|b| b.year.lt(1900) | in_oslo).await?, 1);
    /// let recent = publishers.whose(|_| Book::by_publisher().some(|b| b.year.gt(2000)));
    /// assert_eq!(recent.find_all().await?[0].id, 7);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Cost: one query for each related condition, nested ones first, then the action. It asks for the keys of all
    /// documents that meet the condition, whatever else the action says; they are in memory, and in the action's filter.
    /// More than a filter holds, 16 MiB, are cut down to those that are referred to, by one query for each 50,000. A
    /// condition that no document meets ends the asking. The keys of what refers are grouped by the backend, and read
    /// where the collection that refers has a declared collation or references in lists name their collection. References
    /// in a map's values are searched by an expression, which an index does not help. Of references in lists that name
    /// their collection an index finds those with the keys, and an expression those of the collection among them.
    ///
    /// The keys are asked first, so that a document that changes in between counts by what it was: in a transaction all
    /// is of one state.
    ///
    /// Keys are the same by their values: strings by their bytes, also where this collection's model declares a
    /// collation; there one query more asks which documents hold keys with strings, and the filter is by their `_id`s.
    /// The condition on the related documents compares as a find of their collection does.
    ///
    /// # Errors
    /// `InvalidArgument` when the keys are more than one filter holds; for an upsert, which takes the awaited filter and
    /// stores nothing of it; for a relation with `skip` or
    /// `limit`; for keys with strings when the action has a collation that is not the collection's own and the `_id`s
    /// hold strings.
    pub fn whose<W: RelatedCondition<M>>(&self, condition: impl FnOnce(M::Fields<M>) -> W) -> Whose<M> {
        Whose::new(self, condition(M::fields()).into_related())
    }
}
