//! Pages by the place of their first or last document.

use std::fmt;

use bson::{RawDocument, RawDocumentBuf};
use serde::Serialize;

use super::page_projection::Added;
use super::page_token::{Order, PageToken};
use super::setters::runs;
use super::{Draft, Explain, Find};
use crate::backend::{self, Batch, ListCollections, Operation};
use crate::collection::Target;
use crate::cursor::{self, Decode};
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::narrowed;
use crate::query::{Keyset, Place, is_by_distance};

/// Finds one page of documents: `.await` gives a [`Page`].
///
/// Pages follow each other by the place of their documents in the order, not by their number, so that none is given
/// twice and none is left out when others are inserted or deleted between two pages. Documents that are equal in the
/// sort are ordered by their `_id`. Missing and null are one value, and values of different types are in MongoDB's
/// order of types; an array is where its least element is, or its greatest where the sort descends.
///
/// One round trip; two on the way back where the page has an array in a field of the sort, and one more to ask for the
/// collection's own collation where that decides which element of an array is the least. With an index over the
/// filter's equalities, the sort's fields and `_id`, only the page is read, however deep it is; without one, and where
/// MongoDB's index has arrays, all that match are sorted.
#[must_use = "an action does nothing until it is awaited"]
pub struct FindPage<D, P = D> {
    pub(super) find: Find<D, P>,
    size: u32,
    from: Option<From>,
}

/// Where the page begins or ends.
#[derive(Clone, Debug)]
struct From {
    token: String,
    before: bool,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Page<T> {
    /// The documents, in the order of the sort, also on the way back.
    pub items: Vec<T>,
    /// For [`after`](FindPage::after): the page that follows, if there is one.
    pub next: Option<PageToken>,
    /// For [`before`](FindPage::before): the page that comes before, if there is one. After a token there is one
    /// unless its documents were deleted meanwhile.
    pub previous: Option<PageToken>,
    /// Whether there are more documents in the direction of the walk: behind the page, or before it on the way back.
    pub has_more: bool,
}

impl<D, P> Find<D, P> {
    /// One page of this many documents: the first, or the one [`after`](FindPage::after) or
    /// [`before`](FindPage::before) a token of another page.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, odm::Model)]
    /// # struct Book {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     year: i32,
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let books = odm::Db::open("memory:").await?.collection::<Book>();
    /// # books.insert_many((0..7).map(|id| Book { id, year: 1900 + id / 3 })).await?;
    /// let list = books.find_all().sort(|b| b.year.desc());
    /// let first = list.clone().page(3).await?;
    /// let token = first.next.expect("there are seven");
    /// let second = list.clone().page(3).after(&token).await?;
    /// let ids: Vec<i32> = second.items.iter().map(|book| book.id).collect();
    /// assert_eq!((ids, second.has_more), (vec![3, 2, 1], true));
    ///
    /// let back = list.page(3).before(second.previous.unwrap()).await?;
    /// assert_eq!(back.items[0].id, first.items[0].id);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Errors of `.await`: `InvalidArgument` for a page of no documents, for a `skip` or `limit` beside it, for a sort
    /// that is not by fields, for `near` without a sort, whose order is that of distance, and where the place of one of the page's documents cannot be told, naming document and field:
    /// it leads through an array of documents, is a pattern, or an array of several texts under a collation, be it the
    /// collection's own;
    /// `PageToken` for a token that is damaged or of another sort.
    pub fn page(self, size: u32) -> FindPage<D, P> {
        FindPage {
            find: self,
            size,
            from: None,
        }
    }
}

impl<D, P> FindPage<D, P> {
    /// The page that follows the place of this token.
    pub fn after(mut self, token: impl AsRef<str>) -> Self {
        self.from = Some(From {
            token: token.as_ref().to_owned(),
            before: false,
        });
        self
    }

    /// The page that comes before the place of this token.
    pub fn before(mut self, token: impl AsRef<str>) -> Self {
        self.from = Some(From {
            token: token.as_ref().to_owned(),
            before: true,
        });
        self
    }

    /// How the page would be found.
    pub fn explain(self) -> Explain {
        let (draft, _) = self.prepare();
        Explain::new(draft.map(Operation::Find))
    }

    /// The find of the page and of one document more.
    fn prepare(self) -> (Draft<backend::Find>, Option<Walk<P>>) {
        let decode = self.find.decode();
        let mut draft = self.find.into_draft();
        let walk = walk(&draft.operation, self.size, self.from, decode);
        let walk = draft.keep(walk);
        let walk = walk.and_then(|mut walk| {
            let prepared = walk.narrow(&mut draft.operation);
            draft.keep(prepared).map(|()| walk)
        });
        (draft, walk)
    }

    async fn run(self) -> Result<Page<P>> {
        let (target, walk, batches) = self.found().await?;
        let page = walk.page(&batches, |stored| (walk.decode)(&walk.added.without(stored)));
        page.map_err(|error| target.explain(error, "find"))
    }

    /// The page's documents and one more.
    pub(super) async fn found(self) -> Result<(Target, Walk<P>, Vec<Box<dyn Batch>>)> {
        let (draft, walk) = self.prepare();
        let draft = draft.settled().await?;
        let whole = draft.clone();
        let (target, operation) = draft.ready()?;
        // Without a walk the draft has failed.
        let mut walk = walk.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "the page has no order"))?;
        let cursor = target.execute(operation).await?.cursor()?;
        let mut batches = cursor::batches(&target, "find", cursor).await?;
        let spreads = documents(&batches).any(|document| walk.order.keyset.spreads(document));
        if spreads && walk.order.collation.is_none() && walk.depends_on_collation(&batches) {
            walk.is_collated = is_collated(&target).await?;
        }
        if walk.is_backward() && spreads {
            let nearest = walk.nearest(whole).await;
            let nearest = nearest.map_err(|error| target.explain(error, "find"))?;
            batches = vec![Box::new(nearest)];
        }
        Ok((target, walk, batches))
    }
}

/// The documents of batches that are read through.
pub(super) fn documents(batches: &[Box<dyn Batch>]) -> impl Iterator<Item = &RawDocument> {
    batches
        .iter()
        .flat_map(|batch| (0..batch.len()).filter_map(|index| batch.get(index)))
}

/// From where, in which direction and how far.
pub(super) struct Walk<P> {
    order: Order,
    pub(super) size: u32,
    start: Option<Start>,
    pub(super) decode: Decode<P>,
    /// What is read for the tokens and not asked for.
    pub(super) added: Added,
    /// Whether strings compare by a collation.
    is_collated: bool,
}

struct Start {
    place: Place,
    before: bool,
    inclusive: bool,
}

fn walk<P>(find: &backend::Find, size: u32, from: Option<From>, decode: Decode<P>) -> Result<Walk<P>> {
    let refuse = |message: &'static str| Err(Error::new(ErrorKind::InvalidArgument, message));
    if size == 0 {
        return refuse("a page has one document at least");
    }
    if find.skip > 0 || find.limit > 0 {
        return refuse("a page takes no skip and no limit: it has its size, and begins at a token");
    }
    if find.sort.is_none() && is_by_distance(&find.filter) {
        return refuse("the order of `near` has no places for pages: sort by fields, or take `limit`");
    }
    let order = Order {
        keyset: Keyset::new(find.sort.as_deref())?,
        collation: find.options.collation.clone(),
    };
    let start = match from {
        Some(from) => {
            let (place, inclusive) = PageToken::read(&from.token, &order)?;
            Some(Start {
                place,
                before: from.before,
                inclusive,
            })
        }
        None => None,
    };
    let collation = order.collation.as_ref();
    let is_simple = collation.is_some_and(|own| own.get_str("locale").is_ok_and(|locale| locale == "simple"));
    Ok(Walk {
        is_collated: collation.is_some() && !is_simple,
        order,
        size,
        start,
        decode,
        added: Added::default(),
    })
}

/// Whether the collection has a collation of its own. What lists collections is not asked in a transaction.
async fn is_collated(target: &Target) -> Result<bool> {
    let target = target.within(target.db().outer().executor());
    let mut filter = RawDocumentBuf::new();
    filter.append(bson::cstr!("name"), target.namespace().collection.as_str());
    let operation = Operation::ListCollections(ListCollections {
        database: target.namespace().database.clone(),
        filter,
    });
    let listed = target.execute(operation).await?.documents()?;
    Ok(listed.iter().any(|collection| {
        let options = collection.get_document("options").ok();
        options.is_some_and(|options| matches!(options.get("collation"), Ok(Some(_))))
    }))
}

impl<P> Walk<P> {
    fn is_backward(&self) -> bool {
        self.start.as_ref().is_some_and(|start| start.before)
    }

    /// Whether a collation can decide where one of the documents is; or one that is read behind them.
    fn depends_on_collation(&self, batches: &[Box<dyn Batch>]) -> bool {
        let keyset = &self.order.keyset;
        self.is_backward() || documents(batches).any(|document| keyset.place(document, true).is_err())
    }

    fn narrow(&mut self, find: &mut backend::Find) -> Result<()> {
        let count = self.size.saturating_add(1);
        find.limit = count.into();
        find.batch_size = find.batch_size.or(Some(count));
        find.sort = Some(self.order.keyset.sort(self.is_backward())?);
        self.added = Added::to(&mut find.projection, &self.order.keyset)?;
        if let Some(start) = &self.start {
            let beyond = self
                .order
                .keyset
                .beyond(&start.place, start.before, start.inclusive)?;
            find.filter = narrowed(&find.filter, &beyond)?;
        }
        Ok(())
    }

    /// The last documents before the place, nearest first, where arrays are among them: the opposite sort has those by
    /// their other end, and so too early, so that it is read until what comes cannot be nearer.
    async fn nearest(&self, mut draft: Draft<backend::Find>) -> Result<Vec<RawDocumentBuf>> {
        draft.operation.limit = 0;
        let wanted = usize::try_from(self.size).unwrap_or(usize::MAX).saturating_add(1);
        let keyset = &self.order.keyset;
        let (target, operation) = draft.ready()?;
        let mut cursor = target.execute(operation).await?.cursor()?;
        let mut nearest: Vec<(Place, RawDocumentBuf)> = Vec::new();
        while let Some(batch) = cursor::next_batch(&target, "find", &mut *cursor).await? {
            let mut edge = None;
            for document in cursor::documents(&target, "find", &*batch) {
                let document = document?;
                nearest.push((self.place(document)?, document.to_owned()));
                edge = Some(document);
            }
            nearest.sort_by(|(left, _), (right, _)| keyset.compare(right, left));
            nearest.truncate(wanted);
            if let (true, Some((farthest, _)), Some(edge)) = (nearest.len() == wanted, nearest.last(), edge)
                && keyset.compare(farthest, &keyset.reverse_place(edge)?).is_ge()
            {
                break;
            }
        }
        Ok(nearest.into_iter().map(|(_, document)| document).collect())
    }

    fn place(&self, document: &RawDocument) -> Result<Place> {
        self.order.keyset.place(document, self.is_collated)
    }

    /// The page, of documents that become something by `take`.
    pub(super) fn page<T>(
        &self,
        batches: &[Box<dyn Batch>],
        mut take: impl FnMut(&RawDocument) -> Result<T>,
    ) -> Result<Page<T>> {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let mut items = Vec::new();
        let mut places = Vec::new();
        let mut has_more = false;
        for document in documents(batches) {
            has_more = items.len() == size;
            if has_more {
                break;
            }
            places.push(self.place(document)?);
            items.push(take(document)?);
        }
        let token = |place: Option<&Place>| {
            place
                .map(|place| PageToken::new(place, &self.order, false))
                .transpose()
        };
        let (first, last) = (token(places.first())?, token(places.last())?);
        let more = |edge: Option<PageToken>| edge.filter(|_| has_more);
        let page = match &self.start {
            None => Page {
                items,
                next: more(last),
                previous: None,
                has_more,
            },
            Some(start) => {
                // Behind an empty page is what its own token stands at.
                let here = match first.is_none() {
                    true => Some(PageToken::new(&start.place, &self.order, true)?),
                    false => None,
                };
                match start.before {
                    false => Page {
                        items,
                        next: more(last),
                        previous: first.or(here),
                        has_more,
                    },
                    true => {
                        items.reverse();
                        Page {
                            items,
                            // The first that was found is the last of the page.
                            next: first.or(here),
                            previous: more(last),
                            has_more,
                        }
                    }
                }
            }
        };
        Ok(page)
    }
}

runs!([D: 'static, P: Send + 'static] FindPage<D, P> => Page<P>);

impl<D, P> Clone for FindPage<D, P> {
    fn clone(&self) -> Self {
        FindPage {
            find: self.find.clone(),
            size: self.size,
            from: self.from.clone(),
        }
    }
}

impl<D, P> fmt::Debug for FindPage<D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FindPage")
            .field("find", &self.find)
            .field("size", &self.size)
            .field("from", &self.from)
            .finish()
    }
}
