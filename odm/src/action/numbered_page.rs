//! Pages by their number, with totals.

use std::fmt;

use serde::Serialize;

use super::Find;
use super::page::documents;
use super::setters::runs;
use crate::backend::{self, Batch, Operation};
use crate::collection::Target;
use crate::cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::query::is_by_distance;

/// Finds the page of this number: `.await` gives a [`NumberedPage`].
///
/// Two round trips, one after the other: the count of all that match, and the page; one where the number is behind the
/// last page. The count reads every match (of an index, where one covers the filter), and the page all before it, so
/// that deep pages of long lists are better walked by [`Find::page`]. Documents that are inserted or deleted between
/// two pages move the others.
#[must_use = "an action does nothing until it is awaited"]
pub struct FindNumberedPage<D, P = D> {
    pub(super) find: Find<D, P>,
    number: u64,
    size: u32,
}

/// A page of a list whose length is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NumberedPage<T> {
    /// The documents; none behind the last page.
    pub items: Vec<T>,
    /// Which page, counted from 1.
    pub number: u64,
    /// How many documents a page has at the most.
    pub size: u32,
    /// How many documents match in all.
    pub total: u64,
    /// How many pages there are.
    pub pages: u64,
}

impl<D, P> Find<D, P> {
    /// The page of this number, counted from 1, with the number of all documents and pages.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// # let books = odm::Db::open("memory:").await?.raw_collection("books");
    /// # books.insert_many((0..25).map(|id| doc! {"_id": id})).await?;
    /// let page = books.find_all().sort_raw(doc! {"_id": 1}).page_number(3, 10).await?;
    /// assert_eq!((page.items.len(), page.total, page.pages), (5, 25, 3));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Errors of `.await`: `InvalidArgument` for page 0, for a page of no documents, and for a `skip` or `limit`
    /// beside it.
    pub fn page_number(self, number: u64, size: u32) -> FindNumberedPage<D, P> {
        FindNumberedPage {
            find: self,
            number,
            size,
        }
    }
}

impl<D, P> FindNumberedPage<D, P> {
    async fn run(self) -> Result<NumberedPage<P>> {
        let decode = self.find.decode();
        let (target, mut page, batches) = self.found().await?;
        let items = documents(&batches).map(decode).collect::<Result<_>>();
        page.items = items.map_err(|error| target.explain(error, "find"))?;
        Ok(page)
    }

    /// The page without its documents, and those.
    pub(super) async fn found<T>(self) -> Result<(Target, NumberedPage<T>, Vec<Box<dyn Batch>>)> {
        let (number, size) = (self.number, self.size);
        let mut draft = self.find.into_draft().settled().await?;
        let wrong = match &draft.operation {
            _ if number == 0 => Err("pages are counted from 1"),
            _ if size == 0 => Err("a page has one document at least"),
            find if find.skip > 0 || find.limit > 0 => {
                Err("a page takes no skip and no limit: it has its number and its size")
            }
            find if is_by_distance(&find.filter) => {
                Err("the order of `near` is not counted: ask by `within_circle`, or take `limit`")
            }
            _ => Ok(()),
        };
        draft.keep(wrong.map_err(|message| Error::new(ErrorKind::InvalidArgument, message)));
        let count = draft.clone().map(|find| backend::Count {
            namespace: find.namespace,
            filter: find.filter,
            skip: 0,
            limit: 0,
            estimated: false,
            options: find.options,
        });
        let (target, operation) = count.map(Operation::Count).ready()?;
        let total = target.execute(operation).await?.count()?;
        let page = NumberedPage {
            items: Vec::new(),
            number,
            size,
            total,
            pages: total.div_ceil(size.into()),
        };
        if number > page.pages {
            return Ok((target, page, Vec::new()));
        }
        draft.operation.skip = (number - 1).saturating_mul(size.into());
        draft.operation.limit = size.into();
        draft.operation.batch_size = draft.operation.batch_size.or(Some(size));
        let (target, operation) = draft.ready()?;
        let cursor = target.execute(operation).await?.cursor()?;
        let batches = cursor::batches(&target, "find", cursor).await?;
        Ok((target, page, batches))
    }
}

runs!([D: 'static, P: Send + 'static] FindNumberedPage<D, P> => NumberedPage<P>);

impl<D, P> fmt::Debug for FindNumberedPage<D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FindNumberedPage")
            .field("find", &self.find)
            .field("number", &self.number)
            .field("size", &self.size)
            .finish()
    }
}
