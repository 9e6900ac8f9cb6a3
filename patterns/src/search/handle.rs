//! The handle of a search.

use std::fmt;

use odm::action::Rederive;
use odm::bson::oid::ObjectId;
use odm::bson::{Document, doc};
use odm::{Collection, DERIVED_PENDING, Db, Filter};

use super::clause::Compiled;
use super::counts::Counts;
use super::error::Result;
use super::find::RankedFind;
use super::keywords::{LENGTH, MADE, SCHEME, TERMS};
use super::query::Query;
use super::scheme::{Resolved, Searchable};
use super::statistics::Statistics;
use super::synonyms::AnalyzedSynonyms;
use crate::own;

/// The search of a model's documents by their words. Cheap to clone.
///
/// See the [module](super) for what it can do, and an example.
pub struct Search<M: Searchable> {
    pub(super) collection: Collection<M>,
    pub(super) scheme: &'static Resolved,
    pub(super) statistics: Statistics,
    is_live: bool,
}

/// What searches know of how common terms are, and how old that is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Knowledge {
    /// When the last count began; never where nothing was counted yet.
    pub counted: Option<odm::bson::DateTime>,
    /// How many documents there were.
    pub documents: u64,
    /// How many different terms.
    pub terms: u64,
    /// How long the texts were on average, in words, by their weights.
    pub mean_length: f64,
    /// How many documents there are now.
    pub documents_now: u64,
    /// How many documents got keywords since the count began, by the clocks of those who wrote them.
    pub changed: u64,
    /// Whether it was counted by the present scheme.
    pub is_of_scheme: bool,
}

impl Knowledge {
    /// Which part of the documents was written or deleted since: 0 where all is as it was counted.
    pub fn staleness(&self) -> f64 {
        if self.counted.is_none() || !self.is_of_scheme {
            return 1.0;
        }
        let came = self.changed as f64;
        let gone = (self.documents as f64 + came - self.documents_now as f64)
            .max(0.0)
            .min(self.documents as f64);
        // A changed document is counted among both.
        came.max(gone) / (self.documents.max(self.documents_now).max(1) as f64)
    }
}

impl<M: Searchable> Search<M> {
    /// The search in a database, or in a running transaction. No round trip.
    ///
    /// What is wrong with the scheme comes out of every operation.
    pub fn new(db: &Db) -> Search<M> {
        Search::named(db, M::DESCRIPTOR.collection)
    }

    /// The same in another collection of the model.
    pub fn named(db: &Db, collection: &str) -> Search<M> {
        let scheme = Resolved::of::<M>();
        let collection = db.collection_named(collection);
        Search {
            statistics: Statistics::new::<M>(db, &collection, &scheme.field),
            collection,
            scheme,
            is_live: false,
        }
    }

    /// The same on another executor: in a running transaction.
    pub fn within(&self, db: &Db) -> Search<M> {
        Search {
            is_live: self.is_live,
            ..Search::named(db, self.collection.name())
        }
    }

    /// The same, counting how common terms are for each search: never stale, one more round trip for each term, and as
    /// many keys of the index read as the term has documents.
    pub fn live(mut self) -> Search<M> {
        self.is_live = true;
        self
    }

    /// Builds the indexes of the model, and counts terms if they never were. Not inside a transaction.
    ///
    /// # Errors
    /// A wrong scheme, and those of the database.
    pub async fn prepare(&self) -> Result<()> {
        self.scheme.check()?;
        self.collection.create_indexes().await?;
        match self.statistics.totals().await? {
            Some(_) => Ok(()),
            None => self.recount().await,
        }
    }

    /// What the scheme is called in the documents: its analyzer and fields.
    pub fn scheme_id(&self) -> &str {
        &self.scheme.id
    }

    /// The documents that a query finds, the best first.
    pub fn find(&self, query: impl Into<Query>) -> RankedFind<M> {
        RankedFind::new(self.clone(), query.into())
    }

    /// The filter of the documents that a query finds, for any other operation of the collection. It finds by keywords
    /// alone: where the query has phrases, documents with all their words. A query without words finds nothing.
    ///
    /// # Errors
    /// A wrong scheme; a query that says only what is not wanted, is too long, too deep or has too many terms.
    pub fn filter(&self, query: impl Into<Query>) -> Result<Filter<M>> {
        self.scheme.check()?;
        let compiled = Compiled::new(&query.into(), &self.scheme.analyzer, &AnalyzedSynonyms::default())?;
        Ok(match compiled.clause {
            Some(clause) => Filter::raw(clause.filter(&self.path(TERMS), &|_| 0.0)),
            None => Filter::none(),
        })
    }

    /// The documents whose keywords were made by another scheme, are missing, or wait to be made, as after an update that
    /// was interrupted.
    pub fn stale(&self) -> Filter<M> {
        let scheme = self.path(SCHEME);
        Filter::raw(doc! { "$or": [
            { &scheme: { "$lt": &self.scheme.id } },
            { &scheme: { "$gt": &self.scheme.id } },
            { &scheme: null },
            { DERIVED_PENDING: { "$gte": ObjectId::from_bytes([0; 12]) } },
        ] })
    }

    /// Makes the keywords of all [stale](Search::stale) documents anew: `.await` says of how many. What was done is not
    /// stale any more, so that a run that was interrupted is simply started again;
    /// [`on_progress`](Rederive::on_progress) tells how far it is. Then [recount](Search::recount).
    pub fn reindex(&self) -> Rederive {
        self.collection.rederive(|_| self.stale())
    }

    /// How many documents are [stale](Search::stale).
    ///
    /// # Errors
    /// Those of the database.
    pub async fn stale_count(&self) -> Result<u64> {
        self.scheme.check()?;
        Ok(self
            .collection
            .count(|_| self.stale())
            .with_deleted()
            .unscoped()
            .await?)
    }

    /// Counts in how many documents each term stands. Not inside a transaction.
    ///
    /// Reads all keywords, on the server, while writes go on: each figure is right for some moment of the count. A run
    /// that was interrupted, or one beside another, does no harm.
    ///
    /// # Errors
    /// A wrong scheme, and those of the database.
    pub async fn recount(&self) -> Result<()> {
        self.scheme.check()?;
        let (field, scheme) = (&self.scheme.field, &self.scheme.id);
        self.statistics.recount(&self.collection, field, scheme).await
    }

    /// What is known of how common terms are, and how old it is. Four round trips.
    ///
    /// # Errors
    /// A wrong scheme, and those of the database.
    pub async fn knowledge(&self) -> Result<Knowledge> {
        self.scheme.check()?;
        let totals = self.statistics.totals().await?;
        let (scheme, made) = (self.path(SCHEME), self.path(MADE));
        let documents_now = own::count(&self.collection, doc! { &scheme: { "$gt": "" } }).await?;
        let changed = match &totals {
            Some(totals) => {
                let of_scheme = doc! { &scheme: &self.scheme.id, &made: { "$gte": totals.begun } };
                own::count(&self.collection, of_scheme).await?
            }
            None => documents_now,
        };
        let positive = |number: i64| u64::try_from(number).unwrap_or_default();
        Ok(Knowledge {
            counted: totals.as_ref().map(|totals| totals.begun),
            documents: totals.as_ref().map_or(0, |totals| positive(totals.documents)),
            terms: totals.as_ref().map_or(0, |totals| positive(totals.terms)),
            mean_length: totals
                .as_ref()
                .map_or(0.0, |totals| totals.length / (totals.documents as f64).max(1.0)),
            documents_now,
            changed,
            is_of_scheme: totals.is_some_and(|totals| totals.scheme == self.scheme.id),
        })
    }

    /// What is to be done now and then: makes the keywords of stale documents anew, and counts when more than a tenth of
    /// the documents changed since the last time. Says how many documents were stale.
    ///
    /// # Errors
    /// The first document that has no keywords, as with too many terms; those of the database.
    pub async fn tend(&self) -> Result<u64> {
        let done = self.reindex().await?;
        if self.knowledge().await?.staleness() > 0.1 {
            self.recount().await?;
        }
        match done.failed.into_iter().next() {
            Some((_, error)) => Err(error.into()),
            None => Ok(done.examined),
        }
    }

    /// The collection of the documents.
    pub fn collection(&self) -> &Collection<M> {
        &self.collection
    }

    pub(super) fn path(&self, name: &str) -> String {
        format!("{}.{name}", self.scheme.field)
    }

    /// How common these terms are.
    pub(super) async fn counts(&self, terms: &[&str]) -> Result<Counts> {
        if !self.is_live
            && let Some(counts) = self.statistics.counts(terms).await?
        {
            return Ok(counts);
        }
        let (documents, length) = self.sampled().await?;
        let mut counts = Counts {
            documents,
            mean_length: length,
            ..Counts::default()
        };
        let path = self.path(TERMS);
        for term in terms {
            let count = own::count(&self.collection, doc! { &path: *term }).await?;
            counts.terms.insert((*term).to_owned(), count as f64);
        }
        Ok(counts)
    }

    /// How many documents there are, and how long the first thousand are on average.
    async fn sampled(&self) -> Result<(f64, f64)> {
        let all = doc! { self.path(SCHEME): { "$gt": "" } };
        let documents = own::count(&self.collection, all).await?;
        let stages = [
            doc! { "$match": own::of_kind::<M>(Document::new()) },
            doc! { "$limit": 1000 },
            doc! { "$group": { "_id": null, "mean": { "$avg": format!("${}", self.path(LENGTH)) } } },
        ];
        let found = self.collection.raw().aggregate_raw(stages).await?;
        let mean = found.first().and_then(|found| found.get("mean"));
        Ok((documents as f64, mean.map_or(0.0, super::statistics::as_f64)))
    }
}

impl<M: Searchable> Clone for Search<M> {
    fn clone(&self) -> Self {
        Search {
            collection: self.collection.clone(),
            scheme: self.scheme,
            statistics: self.statistics.clone(),
            is_live: self.is_live,
        }
    }
}

impl<M: Searchable> fmt::Debug for Search<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search")
            .field("collection", &self.collection)
            .field("scheme", &self.scheme.id)
            .finish_non_exhaustive()
    }
}
