//! Pages of documents with what they refer to.

use std::fmt;

use bson::RawDocument;

use super::load::{Source, shared};
use super::page::documents;
use super::page_projection::Added;
use super::setters::{loads_more, runs};
use super::{FindNumberedPage, FindPage, NumberedPage, Page};
use crate::error::Result;
use crate::model::Model;
use crate::relation::{Loads, Relation, With};

/// Finds one page of documents and loads what belongs to them: `.await` gives a [`Page`] of tuples.
///
/// Round trips: those of the page, and one query for each relation.
#[must_use = "an action does nothing until it is awaited"]
pub struct LoadPage<M, P, L> {
    page: FindPage<M, P>,
    relations: L,
}

impl<M: Model, P> FindPage<M, P> {
    /// Loads what a field of each document of the page refers to; as [`Find::load`](super::Find::load).
    ///
    /// ```
    /// # use odm::{Db, Model, Ref};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Publisher {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// # }
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Book {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     publisher: Ref<Publisher>,
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// # db.collection::<Publisher>().insert(Publisher { id: 1 }).await?;
    /// # let books = db.collection::<Book>();
    /// # books.insert_many((0..5).map(|id| Book { id, publisher: Ref::new(1) })).await?;
    /// let page = books.find_all().sort(|b| b.id.asc()).page(2).load(|b| b.publisher).await?;
    /// let (book, publisher) = &page.items[1];
    /// assert_eq!((book.id, publisher.as_ref().map(|publisher| publisher.id)), (1, Some(1)));
    /// assert!(page.has_more);
    /// # Ok(())
    /// # }
    /// ```
    pub fn load<L: Relation<M>>(self, relation: impl FnOnce(M::Fields<M>) -> L) -> LoadPage<M, P, (L,)> {
        self.with(relation(M::fields()))
    }

    /// Loads what refers to each document of the page; as [`Find::with`](super::Find::with).
    pub fn with<L: Relation<M>>(self, relation: L) -> LoadPage<M, P, (L,)> {
        LoadPage {
            page: self,
            relations: (relation,),
        }
    }
}

impl<M: Model, P, L> LoadPage<M, P, L> {
    /// The page that follows the place of this token.
    pub fn after(mut self, token: impl AsRef<str>) -> Self {
        self.page = self.page.after(token);
        self
    }

    /// The page that comes before the place of this token.
    pub fn before(mut self, token: impl AsRef<str>) -> Self {
        self.page = self.page.before(token);
        self
    }
}

loads_more!(LoadPage, page, Relation, load, with, "Loads");

impl<M: Model, P: Send + 'static, L: Loads<M>> LoadPage<M, P, L> {
    async fn run(self) -> Result<Page<L::Row<P>>> {
        let mut page = self.page;
        let (find, plan) = page.find.planned(self.relations.plan());
        let options = shared(&find.draft().operation.options);
        let versions = find.versions();
        page.find = find;
        let (target, walk, batches) = page.found().await?;
        let source = Source {
            target,
            plan,
            options,
            decode: walk.decode,
            added: walk.added.clone(),
            versions,
            relations: self.relations,
        };
        let size = usize::try_from(walk.size).unwrap_or(usize::MAX);
        let stored: Vec<&RawDocument> = documents(&batches).take(size).collect();
        let (shelf, upgraded) = source.fetch(&stored).await?;
        let page = walk.page(&batches, |stored| source.row::<M>(stored, &shelf, &upgraded));
        page.map_err(|error| source.target.explain(error, "find"))
    }
}

runs!([M: Model, P: Send + 'static, L: Loads<M>] LoadPage<M, P, L> => Page<L::Row<P>>);

/// Finds the page of a number and loads what belongs to its documents: `.await` gives a [`NumberedPage`] of tuples.
///
/// Round trips: those of the page, and one query for each relation.
#[must_use = "an action does nothing until it is awaited"]
pub struct LoadNumberedPage<M, P, L> {
    page: FindNumberedPage<M, P>,
    relations: L,
}

impl<M: Model, P> FindNumberedPage<M, P> {
    /// Loads what a field of each document of the page refers to; as [`Find::load`](super::Find::load).
    pub fn load<L: Relation<M>>(
        self,
        relation: impl FnOnce(M::Fields<M>) -> L,
    ) -> LoadNumberedPage<M, P, (L,)> {
        self.with(relation(M::fields()))
    }

    /// Loads what refers to each document of the page; as [`Find::with`](super::Find::with).
    pub fn with<L: Relation<M>>(self, relation: L) -> LoadNumberedPage<M, P, (L,)> {
        LoadNumberedPage {
            page: self,
            relations: (relation,),
        }
    }
}

loads_more!(LoadNumberedPage, page, Relation, load, with, "Loads");

impl<M: Model, P: Send + 'static, L: Loads<M>> LoadNumberedPage<M, P, L> {
    async fn run(self) -> Result<NumberedPage<L::Row<P>>> {
        let mut page = self.page;
        let (find, plan) = page.find.planned(self.relations.plan());
        let options = shared(&find.draft().operation.options);
        let decode = find.decode();
        let versions = find.versions();
        page.find = find;
        let (target, mut page, batches) = page.found().await?;
        let source = Source {
            target,
            plan,
            options,
            decode,
            added: Added::default(),
            versions,
            relations: self.relations,
        };
        page.items = source.rows::<M>(batches).await?;
        Ok(page)
    }
}

runs!([M: Model, P: Send + 'static, L: Loads<M>] LoadNumberedPage<M, P, L> => NumberedPage<L::Row<P>>);

impl<M, P, L> fmt::Debug for LoadPage<M, P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoadPage").field(&self.page).finish()
    }
}

impl<M, P, L> fmt::Debug for LoadNumberedPage<M, P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoadNumberedPage").field(&self.page).finish()
    }
}
