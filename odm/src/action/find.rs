//! Finding documents.

use std::fmt;

use bson::{Document, RawDocumentBuf};

use super::setters::{runs, setters};
use super::whose::{Narrowed, Related};
use super::write_back::WriteBack;
use super::{Draft, Explain, FindOne, Join, Load};
use crate::backend::{self, Operation, Tail};
use crate::codec::{self, Raw};
use crate::collection::{Record, Target, encode, projected};
use crate::cursor::{self, Cursor, Decode};
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{Tracked, Versions};
use crate::model::{Embedded, Model};
use crate::query::Sort;
use crate::relation::{Joinable, Plan, Relation, with_needed};
use crate::schema::names;

/// Finds documents: `.await` gives all of them, [`stream`](Find::stream) one after another.
///
/// `D` is what the collection holds, `P` what comes out: the same, unless [`project`](Find::project) chose
/// another type. Round trips: one per batch.
#[must_use = "an action does nothing until it is awaited"]
pub struct Find<D, P = D> {
    draft: Draft<backend::Find>,
    decode: Decode<P>,
    marker: std::marker::PhantomData<fn() -> D>,
}

impl<D: Record> Find<D> {
    pub(crate) fn new(target: &Target, filter: Result<RawDocumentBuf>) -> Find<D> {
        let namespace = target.namespace().clone();
        let draft = Draft::with_filter(target, filter, |filter| backend::Find::new(namespace, filter));
        Find {
            draft,
            decode: D::decode,
            marker: std::marker::PhantomData,
        }
    }
}

impl<D, P> Find<D, P> {
    /// How many documents to pass over.
    pub fn skip(mut self, count: u64) -> Self {
        self.draft.operation.skip = count;
        self
    }

    /// How many documents to give at the most; 0 is no limit.
    pub fn limit(mut self, count: u64) -> Self {
        self.draft.operation.limit = count;
        self
    }

    /// How many documents to fetch in one round trip, where the backend lets one choose.
    pub fn batch_size(mut self, count: u32) -> Self {
        self.draft.operation.batch_size = Some(count);
        self
    }

    /// The order, in MongoDB's words: `{year: -1, title: 1}`.
    pub fn sort_raw(mut self, sort: impl Into<Raw>) -> Self {
        self.draft.operation.sort = self.draft.keep(encode::raw(sort));
        self
    }

    /// Fetches only the stored fields of another type, and decodes that. The model's
    /// [`after_load`](crate::Hooks::after_load) does not run on it.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// # let db = odm::Db::open("memory:").await?;
    /// # let books = db.raw_collection("books");
    /// # books.insert(doc! {"title": "Emma", "year": 1815, "text": "Emma Woodhouse, handsome, clever ..."}).await?;
    /// #[derive(Debug, Serialize, Deserialize, odm::Embedded)]
    /// struct Spine {
    ///     title: String,
    ///     year: i32,
    /// }
    ///
    /// let spines: Vec<Spine> = books.find(doc! {}).project::<Spine>().await?;
    /// assert_eq!((spines[0].title.as_str(), spines[0].year), ("Emma", 1815));
    /// # Ok(())
    /// # }
    /// ```
    pub fn project<Q: Embedded>(self) -> Find<D, Q>
    where
        D: Record,
    {
        let mut found: Find<D, Q> = self.decoded(projected::<D, Q>());
        found.draft.operation.projection = found.draft.keep(projection::<Q>()).flatten();
        found
    }

    /// Fetches what a projection in MongoDB's words leaves, as untyped documents.
    pub fn project_raw(self, projection: impl Into<Raw>) -> Find<D, Document> {
        let mut found = self.untyped();
        found.draft.operation.projection = found.draft.keep(encode::raw(projection));
        found
    }

    /// Gives the documents untyped.
    pub fn untyped(self) -> Find<D, Document> {
        self.decoded(codec::decode_untyped)
    }

    /// Gives the documents as the bytes that are stored; [`Collection::decode`](crate::Collection::decode) makes values
    /// of them.
    pub fn encoded(self) -> Find<D, RawDocumentBuf> {
        self.decoded(|document| Ok(document.to_owned()))
    }

    fn decoded<Q>(self, decode: Decode<Q>) -> Find<D, Q> {
        Find {
            draft: self.draft,
            decode,
            marker: std::marker::PhantomData,
        }
    }

    /// The documents of a capped collection, those that are there and those to come, in the order in which they
    /// were inserted: at the end the stream waits for the next document, and never ends by itself.
    ///
    /// ```no_run
    /// # async fn example(db: odm::Db) -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// db.create_collection("log").capped(1 << 20).await?;
    /// let mut entries = db.raw_collection("log").find_all().tail();
    /// while let Some(entry) = entries.next().await {
    ///     println!("{}", entry?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Errors of the stream: code 2 when the collection is not capped, 136 when the reader was so slow that
    /// documents it had not seen made room for newer ones. A collection that does not exist, and on MongoDB one
    /// without documents, ends the stream at once. On MongoDB a stream that begins without documents costs two more
    /// round trips: the server keeps some cursors open that never go on, and they are told apart.
    pub fn tail(mut self) -> Cursor<P> {
        self.draft.operation.tail = Some(Tail::Await);
        self.stream()
    }

    /// The documents one after another; nothing is asked before the first is.
    pub fn stream(self) -> Cursor<P> {
        Cursor::new(self.draft, "find", self.decode)
    }

    /// The first document.
    pub fn first(mut self) -> FindOne<D, P> {
        self.draft.operation.limit = 1;
        FindOne::new(self)
    }

    /// How the documents would be found.
    pub fn explain(self) -> Explain {
        Explain::new(self.draft.map(Operation::Find))
    }

    async fn run(self) -> Result<Vec<P>> {
        let (target, operation) = self.draft.asked().await?;
        let cursor = target.execute(operation).await?.cursor()?;
        cursor::collect(&target, "find", cursor, self.decode).await
    }

    pub(super) async fn run_first(self) -> Result<Option<P>> {
        let (target, operation) = self.draft.asked().await?;
        let cursor = target.execute(operation).await?.cursor()?;
        cursor::first(&target, "find", cursor, self.decode).await
    }

    pub(super) fn decode(&self) -> Decode<P> {
        self.decode
    }

    pub(super) fn into_draft(self) -> Draft<backend::Find> {
        self.draft
    }

    /// The same with the fields that relations need, and what they load.
    pub(super) fn planned(mut self, plan: Result<Plan>) -> (Find<D, P>, Plan) {
        let plan = self.draft.keep(plan).unwrap_or_else(Plan::nothing);
        let mut needed = Vec::new();
        plan.needs(&mut needed);
        let projection = self.draft.operation.projection.take();
        self.draft.operation.projection = self.draft.keep(with_needed(projection, &needed)).flatten();
        (self, plan)
    }

    /// The filter, for the error of a document that was not found.
    pub(super) fn draft(&self) -> &Draft<backend::Find> {
        &self.draft
    }
}

impl<M: Model, P> Find<M, P> {
    /// The shapes of the model's documents, where it reads whole ones.
    pub(super) fn versions(&self) -> Option<Versions> {
        match self.draft.operation.projection {
            None => M::LIFECYCLE.versions,
            Some(_) => None,
        }
    }
}

impl<M: Model> Find<M> {
    /// Stores documents of older schema versions as what they are read as, each only if it is still what was read.
    pub fn write_back(self) -> WriteBack<M> {
        WriteBack::new(self.draft)
    }
}

impl<M: Model, P> Find<M, P> {
    /// The order: `|b| b.year.desc() & b.title.asc()`.
    pub fn sort(mut self, sort: impl FnOnce(M::Fields<M>) -> Sort<M>) -> Self {
        self.draft.operation.sort = self.draft.keep(sort(M::fields()).to_document());
        self
    }

    /// Loads what a field of each document refers to: `books.find_all().load(|b| b.publisher)` gives
    /// `(Book, Option<Publisher>)`; loads after it, or a tuple, add more. See [`Relation`].
    ///
    /// A reference to a document that is not there gives `None`.
    ///
    /// Cost: one query for each relation, however many documents are found, plus one for each 50,000 different
    /// keys. The whole result is in memory; [`Load::stream`] loads batch by batch.
    pub fn load<L: Relation<M>>(self, relation: impl FnOnce(M::Fields<M>) -> L) -> Load<M, P, (L,)> {
        self.with(relation(M::fields()))
    }

    /// Loads what refers to each document: `publishers.find_all().with(Book::by_publisher())` gives
    /// `(Publisher, Vec<Book>)`. The same as [`load`](Find::load), with a relation that is no field of the model.
    pub fn with<L: Relation<M>>(self, relation: L) -> Load<M, P, (L,)> {
        Load::new(self, (relation,))
    }

    /// As [`load`](Find::load), in one round trip for all together: by a `$lookup` for each relation.
    ///
    /// Worth it for few documents far away. For many, `load` is mostly faster, as it fetches every target once.
    pub fn join<L: Joinable<M>>(self, relation: impl FnOnce(M::Fields<M>) -> L) -> Join<M, P, (L,)> {
        self.join_with(relation(M::fields()))
    }

    /// As [`with`](Find::with), by a `$lookup`.
    pub fn join_with<L: Joinable<M>>(self, relation: L) -> Join<M, P, (L,)> {
        Join::new(self, (relation,))
    }
}

impl<M: Model> Find<M> {
    /// Gives the documents with what they were when they were loaded, so that they can be changed and
    /// [saved](Tracked::save) by what is different.
    pub fn tracked(self) -> Find<M, Tracked<M>> {
        self.decoded(Tracked::decode)
    }
}

setters!([D, P] Find<D, P>: hint, comment, max_time, collation, variables, scope);
runs!([D: 'static, P: Send + 'static] Find<D, P> => Vec<P>);

impl<D, P> Narrowed for Find<D, P> {
    fn related(&mut self) -> &mut Option<Box<Related>> {
        &mut self.draft.related
    }
}

/// The projection that fetches the stored fields of a type; `None` where serde does not tell them.
pub(crate) fn projection<Q: Embedded>() -> Result<Option<RawDocumentBuf>> {
    names::<Q>().map(project).transpose()
}

fn project(names: &[&str]) -> Result<RawDocumentBuf> {
    let mut projection = RawDocumentBuf::new();
    for name in names {
        let key = bson::raw::CString::try_from(*name).map_err(|error| {
            Error::new(ErrorKind::Schema, "a field's name holds a NUL")
                .with_path(*name)
                .with_source(error)
        })?;
        projection.append(key, 1);
    }
    if !names.contains(&"_id") {
        projection.append(bson::cstr!("_id"), 0);
    }
    Ok(projection)
}

impl<D, P> Clone for Find<D, P> {
    fn clone(&self) -> Self {
        Find {
            draft: self.draft.clone(),
            decode: self.decode,
            marker: std::marker::PhantomData,
        }
    }
}

impl<D, P> fmt::Debug for Find<D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Find").field(&self.draft).finish()
    }
}
