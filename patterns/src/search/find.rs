//! A ranked search, put together and run.

mod prune;

use std::collections::HashSet;
use std::fmt;
use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use odm::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use odm::{Cursor, Error, ErrorKind, Filter};

use super::clause::{Clause, Compiled, MAX_TERMS};
use super::counts::Counts;
use super::error::{Result, SearchError};
use super::handle::Search;
use super::highlight::{Highlight, highlights};
use super::keywords::TERMS;
use super::query::Query;
use super::rank::Formula;
use super::scheme::Searchable;
use super::synonyms::Synonyms;

/// How many of the terms that begin as asked count for the order.
const EXPANSIONS: u64 = 32;

/// The documents that a query finds, the best first: `.await` gives them.
///
/// Documents of the same score come in the order of their `_id`s. A query without words finds nothing.
///
/// Round trips: one for what is known of the terms, one for the documents; one more where those with the rarest terms are
/// looked at first (two where others have the same scores), and for each beginning of words. A document that is changed
/// between these may be missed, as by any query that reads while others write.
#[must_use = "a search does nothing until it is awaited"]
pub struct RankedFind<M: Searchable> {
    search: Search<M>,
    query: Query,
    filter: Result<Option<Document>>,
    synonyms: Synonyms,
    limit: usize,
    skip: usize,
    formula: Formula,
    highlights: bool,
}

/// A document that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hit<M> {
    /// The document.
    pub document: M,
    /// How well it answers the query; only to be compared with others of the same search.
    pub score: f64,
    /// Where the words stand, if it was asked for.
    pub highlights: Vec<Highlight>,
}

/// A query with all that is known about it.
struct Plan {
    clause: Clause,
    leaves: Vec<Clause>,
    worth: Vec<(String, f64)>,
    counts: Counts,
}

impl Plan {
    /// Terms of which each document that is found has one at least.
    fn cover(&self) -> Option<Vec<&str>> {
        self.clause.cover(&|term| self.counts.of(term))
    }
}

impl<M: Searchable> RankedFind<M> {
    pub(super) fn new(search: Search<M>, query: Query) -> RankedFind<M> {
        RankedFind {
            search,
            query,
            filter: Ok(None),
            synonyms: Synonyms::new(),
            limit: 10,
            skip: 0,
            formula: Formula { k1: 1.2, b: 0.75 },
            highlights: false,
        }
    }

    /// How many documents: 10 unless said otherwise.
    pub fn limit(mut self, documents: usize) -> Self {
        self.limit = documents;
        self
    }

    /// How many of the best are left out.
    pub fn skip(mut self, documents: usize) -> Self {
        self.skip = documents;
        self
    }

    /// Only documents that match this as well.
    pub fn filter(mut self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> Self {
        let more = filter(M::fields()).to_document().map_err(SearchError::from);
        self.filter = self.filter.and_then(|known| {
            let more = document(&more?)?;
            Ok(Some(match known {
                Some(known) => doc! { "$and": [known, more] },
                None => more,
            }))
        });
        self
    }

    /// Searches for these words too.
    pub fn synonyms(mut self, synonyms: &Synonyms) -> Self {
        self.synonyms = synonyms.clone();
        self
    }

    /// Says where the words stand.
    pub fn highlight(mut self) -> Self {
        self.highlights = true;
        self
    }

    /// The constants of BM25: 1.2 and 0.75 unless said otherwise. A greater `k1` (from 0 on) lets more of the same word
    /// count for more; a greater `b` (0 to 1) lets words of long texts count for less.
    pub fn bm25(mut self, k1: f64, b: f64) -> Self {
        self.formula = Formula { k1, b };
        self
    }

    /// The `_id`s of the documents with their scores, without reading the documents into the program.
    ///
    /// # Errors
    /// As the search.
    pub async fn scores(self) -> Result<Vec<(M::Key, f64)>> {
        let Some(plan) = self.plan().await?.filter(|_| self.limit > 0) else {
            return Ok(Vec::new());
        };
        if plan.clause.has_phrase() {
            let hits = self.checked(&plan).await?;
            return Ok(hits
                .into_iter()
                .map(|hit| (hit.document.key().clone(), hit.score))
                .collect());
        }
        let wanted = self.skip.saturating_add(self.limit);
        let stages = self.stages(&plan, None, wanted, doc! {})?;
        let found: Vec<RawDocumentBuf> = self.search.collection.aggregate_raw(stages).encoded().await?;
        let scores = found.iter().skip(self.skip).map(|found| {
            let id = found
                .get("_id")
                .ok()
                .flatten()
                .and_then(|id| Bson::try_from(id).ok());
            let id = id.unwrap_or(Bson::Null);
            Ok((self.search.collection.decode_key(&id)?, score_of(found)))
        });
        scores.collect()
    }

    /// How many documents the query finds, whatever the limit.
    ///
    /// # Errors
    /// As the search.
    pub async fn count(self) -> Result<u64> {
        let Some(plan) = self.plan().await? else {
            return Ok(0);
        };
        let filter = self.matching(&plan, None)?;
        if !plan.clause.has_phrase() {
            return Ok(self.search.collection.count(|_| Filter::raw(filter)).await?);
        }
        let stages = [doc! { "$match": filter }];
        let mut found = self.search.collection.aggregate_raw(stages).encoded().stream();
        let mut count = 0;
        while let Some(stored) = found.try_next().await? {
            count += u64::from(self.holds(&plan, &stored));
        }
        Ok(count)
    }

    /// How the database executes the search: MongoDB's `explain` of the last pipeline, with the documents that it examined.
    ///
    /// # Errors
    /// As the search.
    pub async fn explain(self) -> Result<Document> {
        let Some(plan) = self.plan().await? else {
            return Ok(Document::new());
        };
        let stages = self.stages(&plan, None, self.limit, whole())?;
        Ok(self
            .search
            .collection
            .aggregate_raw(stages)
            .explain()
            .executed()
            .await?)
    }

    async fn run(self) -> Result<Vec<Hit<M>>> {
        let Some(plan) = self.plan().await?.filter(|_| self.limit > 0) else {
            return Ok(Vec::new());
        };
        if plan.clause.has_phrase() {
            return self.checked(&plan).await;
        }
        let wanted = self.skip.saturating_add(self.limit);
        let found = match self.first_terms(&plan, wanted) {
            Some(first) => self.pruned(&plan, &first, wanted).await?,
            None => self.ranked(&plan, None, wanted).await?,
        };
        let hits = found.iter().skip(self.skip).take(self.limit);
        hits.map(|found| self.hit(&plan, found)).collect()
    }

    async fn ranked(
        &self,
        plan: &Plan,
        terms: Option<&[&str]>,
        wanted: usize,
    ) -> Result<Vec<RawDocumentBuf>> {
        let stages = self.stages(plan, terms, wanted, whole())?;
        Ok(self.search.collection.aggregate_raw(stages).encoded().await?)
    }

    /// The best documents whose texts hold the phrases.
    async fn checked(&self, plan: &Plan) -> Result<Vec<Hit<M>>> {
        let stages = self.stages(plan, None, usize::MAX, whole())?;
        let mut found: Cursor<RawDocumentBuf> =
            self.search.collection.aggregate_raw(stages).encoded().stream();
        let (mut hits, mut skipped) = (Vec::new(), 0);
        while let Some(candidate) = found.try_next().await? {
            if !self.holds(plan, stored_of(&candidate)?) {
                continue;
            }
            if skipped < self.skip {
                skipped += 1;
                continue;
            }
            hits.push(self.hit(plan, &candidate)?);
            if hits.len() == self.limit {
                break;
            }
        }
        Ok(hits)
    }

    fn holds(&self, plan: &Plan, stored: &RawDocument) -> bool {
        let passages = self.search.scheme.passages(stored);
        let tokens = passages.iter().flat_map(|passage| &passage.tokens);
        let terms: HashSet<&str> = tokens.map(|token| token.term.as_str()).collect();
        plan.clause.holds(&passages, &terms)
    }

    fn hit(&self, plan: &Plan, found: &RawDocument) -> Result<Hit<M>> {
        let stored = stored_of(found)?;
        let scheme = self.search.scheme;
        Ok(Hit {
            document: self.search.collection.decode(stored)?,
            score: score_of(found),
            highlights: match self.highlights {
                true => highlights(scheme, &plan.leaves, &scheme.passages(stored)),
                false => Vec::new(),
            },
        })
    }

    /// What is searched for; nothing where the query has no words.
    async fn plan(&self) -> Result<Option<Plan>> {
        let search = &self.search;
        search.scheme.check()?;
        if !(self.formula.k1 >= 0.0 && self.formula.k1.is_finite() && (0.0..=1.0).contains(&self.formula.b)) {
            return Err(SearchError::InvalidOption {
                option: "bm25",
                reason: "`k1` is not negative, and `b` lies between 0 and 1",
            });
        }
        let analyzer = &search.scheme.analyzer;
        let synonyms = self.synonyms.analyzed(analyzer)?;
        let compiled = Compiled::new(&self.query, analyzer, &synonyms)?;
        let Some(clause) = compiled.clause else {
            self.filter.clone()?;
            return Ok(None);
        };
        let mut worth = compiled.worth;
        for (beginning, factor) in &compiled.prefixes {
            for (term, _) in search.statistics.beginning(beginning, EXPANSIONS).await? {
                // A term is not worth more because it begins as asked in several ways.
                let known = worth.entry(term).or_default();
                *known = known.max(*factor);
            }
        }
        worth.retain(|_, worth| *worth > 0.0);
        let most = MAX_TERMS * 4;
        if worth.len() > most {
            return Err(SearchError::TooManyTerms {
                terms: worth.len(),
                limit: most,
            });
        }
        let terms: Vec<&str> = worth.keys().map(String::as_str).collect();
        let counts = search.counts(&terms).await?;
        Ok(Some(Plan {
            clause,
            leaves: compiled.leaves,
            worth: worth.into_iter().collect(),
            counts,
        }))
    }

    /// The filter of what is found; of that what has one of these terms, where they are said.
    fn matching(&self, plan: &Plan, terms: Option<&[&str]>) -> Result<Document> {
        let path = self.search.path(TERMS);
        let mut conditions: Vec<Document> = terms
            .map(|terms| doc! { &path: { "$in": terms } })
            .into_iter()
            .collect();
        // Where any of the terms is enough, these are.
        if terms.is_none() || plan.clause.any_of().is_none() {
            conditions.push(plan.clause.filter(&path, &|term| plan.counts.of(term)));
        }
        conditions.extend(self.filter.clone()?);
        Ok(match conditions.len() {
            1 => conditions.remove(0),
            _ => doc! { "$and": conditions },
        })
    }

    /// The stages that give the `_id`, the score and these fields.
    fn stages(
        &self,
        plan: &Plan,
        terms: Option<&[&str]>,
        wanted: usize,
        mut fields: Document,
    ) -> Result<Vec<Document>> {
        let worth: Vec<(&str, f64)> = plan
            .worth
            .iter()
            .map(|(term, worth)| (term.as_str(), *worth))
            .collect();
        let score = self
            .formula
            .score(&self.search.scheme.field, &plan.counts, &worth);
        fields.insert("score", score);
        let mut stages = vec![
            doc! { "$match": self.matching(plan, terms)? },
            doc! { "$project": fields },
            doc! { "$sort": { "score": -1, "_id": 1 } },
        ];
        if let Ok(wanted) = i64::try_from(wanted) {
            stages.push(doc! { "$limit": wanted });
        }
        Ok(stages)
    }
}

impl<M: Searchable> IntoFuture for RankedFind<M> {
    type Output = Result<Vec<Hit<M>>>;
    type IntoFuture = BoxFuture<'static, Result<Vec<Hit<M>>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<M: Searchable> Clone for RankedFind<M> {
    fn clone(&self) -> Self {
        RankedFind {
            search: self.search.clone(),
            query: self.query.clone(),
            filter: self.filter.clone(),
            synonyms: self.synonyms.clone(),
            limit: self.limit,
            skip: self.skip,
            formula: self.formula,
            highlights: self.highlights,
        }
    }
}

impl<M: Searchable> fmt::Debug for RankedFind<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RankedFind")
            .field("search", &self.search)
            .field("query", &self.query)
            .field("limit", &self.limit)
            .field("skip", &self.skip)
            .finish_non_exhaustive()
    }
}

/// The field with the document as it is stored.
fn whole() -> Document {
    doc! { "document": "$$ROOT" }
}

fn document(raw: &RawDocument) -> Result<Document> {
    Document::try_from(raw).map_err(|error| {
        let error = Error::new(ErrorKind::Encode, "the filter is malformed").with_source(error);
        SearchError::Database(error)
    })
}

/// The stored document in what the pipeline gave.
fn stored_of(found: &RawDocument) -> Result<&RawDocument> {
    found.get_document("document").map_err(|error| {
        let error = Error::new(ErrorKind::Decode, "the search gave no document").with_source(error);
        SearchError::Database(error)
    })
}

fn score_of(found: &RawDocument) -> f64 {
    let score = found.get("score").ok().flatten();
    score
        .and_then(|score| Bson::try_from(score).ok())
        .map_or(0.0, |score| super::statistics::as_f64(&score))
}
