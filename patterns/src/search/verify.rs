//! Keywords and counts held against the texts.

use odm::bson::{Bson, RawDocument, RawDocumentBuf};
use odm::{DERIVED_PENDING, Error, Filter};

use super::error::{Result, SearchError};
use super::handle::Search;
use super::keywords::{LENGTH, SCHEME, TERMS, WEIGHTS, encoded};
use super::scheme::Searchable;

/// Something that is not as the texts say.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SearchProblem {
    /// A document has no keywords.
    NotIndexed {
        /// Its `_id`.
        id: Bson,
    },
    /// The keywords of a document were made by another scheme.
    Outdated {
        /// Its `_id`.
        id: Bson,
        /// The other scheme.
        scheme: String,
    },
    /// The keywords of a document wait to be made.
    Pending {
        /// Its `_id`.
        id: Bson,
    },
    /// The keywords of a document are not those of its texts: something went around the model.
    Differs {
        /// Its `_id`.
        id: Bson,
    },
    /// A document can have no keywords.
    Refused {
        /// Its `_id`.
        id: Bson,
        /// Why.
        error: SearchError,
    },
    /// In how many documents a term stands is not what was counted. No damage: it says how stale the count is.
    Count {
        /// The term.
        term: String,
        /// What was counted.
        stored: i64,
        /// What it is now.
        actual: i64,
    },
    /// How many documents there are is not what was counted, or how long they are.
    Totals {
        /// How many were counted, and how long they were.
        stored: (i64, f64),
        /// What it is now.
        actual: (i64, f64),
    },
}

impl SearchProblem {
    /// The document, if it is about one.
    pub fn id(&self) -> Option<&Bson> {
        match self {
            SearchProblem::NotIndexed { id }
            | SearchProblem::Outdated { id, .. }
            | SearchProblem::Pending { id }
            | SearchProblem::Differs { id }
            | SearchProblem::Refused { id, .. } => Some(id),
            SearchProblem::Count { .. } | SearchProblem::Totals { .. } => None,
        }
    }
}

/// What was mended.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SearchRepair {
    /// How many documents got their keywords anew.
    pub documents: u64,
    /// Whether terms were counted anew.
    pub recounted: bool,
    /// The documents that can have no keywords, and why.
    pub failed: Vec<(Bson, Error)>,
}

impl<M: Searchable> Search<M> {
    /// Reads all documents and counts, and says what is not as the texts say. Softly deleted documents are among them.
    ///
    /// # Errors
    /// A wrong scheme, and those of the database.
    pub async fn verify(&self) -> Result<Vec<SearchProblem>> {
        self.scheme.check()?;
        let mut problems = Vec::new();
        let mut all = self
            .collection
            .find_all()
            .with_deleted()
            .unscoped()
            .encoded()
            .stream();
        while let Some(stored) = all.try_next().await? {
            problems.extend(self.problem_of(&stored));
        }
        let field = &self.scheme.field;
        for (term, stored, actual) in self.statistics.differences(&self.collection, field).await? {
            problems.push(SearchProblem::Count { term, stored, actual });
        }
        let totals = self.statistics.totals().await?;
        let stored = totals.map_or((0, 0.0), |totals| (totals.documents, totals.length));
        let actual = self.statistics.measured(&self.collection, field).await?;
        // Sums of floats depend on their order.
        if stored.0 != actual.0 || (stored.1 - actual.1).abs() > 1e-9 * actual.1.abs() {
            problems.push(SearchProblem::Totals { stored, actual });
        }
        Ok(problems)
    }

    /// Makes anew what [`verify`](Search::verify) finds.
    ///
    /// # Errors
    /// As [`verify`](Search::verify).
    pub async fn repair(&self) -> Result<SearchRepair> {
        let problems = self.verify().await?;
        let ids: Vec<Bson> = problems.iter().filter_map(SearchProblem::id).cloned().collect();
        let mut repair = SearchRepair::default();
        for ids in ids.chunks(1000) {
            let filter = odm::bson::doc! { "_id": { "$in": ids } };
            let done = self.collection.rederive(|_| Filter::raw(filter)).await?;
            repair.documents += done.derived;
            repair.failed.extend(done.failed);
        }
        if !problems.is_empty() {
            self.recount().await?;
            repair.recounted = true;
        }
        Ok(repair)
    }

    fn problem_of(&self, stored: &RawDocumentBuf) -> Option<SearchProblem> {
        let id = stored.get("_id").ok().flatten();
        let id = id.and_then(|id| Bson::try_from(id).ok()).unwrap_or(Bson::Null);
        let terms = match self.scheme.terms(stored) {
            Ok(terms) => terms,
            Err(error) => return Some(SearchProblem::Refused { id, error }),
        };
        if matches!(stored.get(DERIVED_PENDING), Ok(Some(_))) {
            return Some(SearchProblem::Pending { id });
        }
        let Ok(keywords) = stored.get_document(self.scheme.field.as_str()) else {
            return Some(SearchProblem::NotIndexed { id });
        };
        let scheme = keywords.get_str(SCHEME).unwrap_or_default();
        if scheme != self.scheme.id {
            let scheme = scheme.to_owned();
            return Some(SearchProblem::Outdated { id, scheme });
        }
        let expected = encoded(&self.scheme.id, &terms, odm::bson::DateTime::from_millis(0));
        let same = |name: &str| part(keywords, name) == part(&expected, name);
        match [LENGTH, TERMS, WEIGHTS].into_iter().all(same) {
            true => None,
            false => Some(SearchProblem::Differs { id }),
        }
    }
}

fn part(keywords: &RawDocument, name: &str) -> Option<Bson> {
    let value = keywords.get(name).ok().flatten()?;
    Bson::try_from(value).ok()
}
