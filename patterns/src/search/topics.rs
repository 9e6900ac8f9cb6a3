//! The simplest form: an array of words that the program fills itself.

use std::fmt;
use std::marker::PhantomData;

use odm::{ArrayType, Field, Filter, Text};

use super::analyzer::Analyzer;
use super::clause::Compiled;
use super::error::Result;
use super::query::Query;
use super::synonyms::{AnalyzedSynonyms, Synonyms};

/// An array of words in the documents of a model, as the MongoDB manual has it: `topics: ["whaling", "allegory"]`. The
/// program puts in what it wants, and one multikey index finds it. Nothing is derived, and nothing is ranked.
///
/// ```
/// use odm::{Db, Model};
/// use odm_patterns::search::{Query, Topics};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Volume {
///     #[serde(rename = "_id")]
///     id: i32,
///     #[odm(index)]
///     topics: Vec<String>,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let volumes = Db::open("memory:").await?.collection::<Volume>();
/// volumes.sync_indexes().await?;
/// let topics = Topics::of(&Volume::fields().topics);
/// volumes.insert(Volume { id: 1, topics: topics.words(["Whaling", "allegory", "Revenge"]) }).await?;
/// volumes.insert(Volume { id: 2, topics: topics.words(["whaling", "New England"]) }).await?;
///
/// let filter = topics.filter("+WHALING -revenge")?;
/// let found = volumes.find(|_| filter).await?;
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].topics, ["whaling", "new", "england"]);
/// # Ok(())
/// # }
/// ```
pub struct Topics<R> {
    path: String,
    analyzer: Analyzer,
    synonyms: Synonyms,
    marker: PhantomData<fn() -> R>,
}

impl<R> Topics<R> {
    /// The words in this field, of any language.
    pub fn of<T: ArrayType<Item: Text>>(field: &Field<R, T>) -> Topics<R> {
        Topics {
            path: field.path().to_string(),
            analyzer: Analyzer::new(),
            synonyms: Synonyms::new(),
            marker: PhantomData,
        }
    }

    /// Words made by this analyzer. What is stored does not say by which it was made.
    pub fn analyzer(mut self, analyzer: Analyzer) -> Topics<R> {
        self.analyzer = analyzer;
        self
    }

    /// Searches for these words too.
    pub fn synonyms(mut self, synonyms: Synonyms) -> Topics<R> {
        self.synonyms = synonyms;
        self
    }

    /// The words of these texts as they are stored: each once, in order.
    pub fn words<I>(&self, texts: I) -> Vec<String>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut words = Vec::new();
        for text in texts {
            for token in self.analyzer.tokens(text.as_ref()) {
                if !words.contains(&token.term) {
                    words.push(token.term);
                }
            }
        }
        words
    }

    /// The documents that a query finds. An array does not say where the words stood: a phrase finds all with its
    /// words. A query without words finds nothing.
    ///
    /// # Errors
    /// When the query says only what is not wanted, is too long or too deep, or a synonym is no word.
    pub fn filter(&self, query: impl Into<Query>) -> Result<Filter<R>> {
        let synonyms: AnalyzedSynonyms = self.synonyms.analyzed(&self.analyzer)?;
        let compiled = Compiled::new(&query.into(), &self.analyzer, &synonyms)?;
        Ok(match compiled.clause {
            Some(clause) => Filter::raw(clause.filter(&self.path, &|_| 0.0)),
            None => Filter::none(),
        })
    }
}

impl<R> Clone for Topics<R> {
    fn clone(&self) -> Self {
        Topics {
            path: self.path.clone(),
            analyzer: self.analyzer.clone(),
            synonyms: self.synonyms.clone(),
            marker: PhantomData,
        }
    }
}

impl<R> fmt::Debug for Topics<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topics")
            .field("path", &self.path)
            .field("analyzer", &self.analyzer)
            .finish_non_exhaustive()
    }
}
