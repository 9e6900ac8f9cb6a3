//! Words that are searched for in place of others.

use std::collections::HashMap;

use super::analyzer::Analyzer;
use super::error::{Result, SearchError};

/// Words that mean the same, for [`RankedFind::synonyms`](super::RankedFind::synonyms): what is stored does not know of
/// them, so that they can change at any time.
///
/// ```
/// use odm_patterns::search::Synonyms;
///
/// let synonyms = Synonyms::new().group(["ship", "vessel", "boat"]).also("whale", ["leviathan"]).worth(0.5);
/// # let _ = synonyms;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Synonyms {
    also: Vec<(String, Vec<String>)>,
    factor: f64,
}

impl Default for Synonyms {
    fn default() -> Synonyms {
        Synonyms::new()
    }
}

impl Synonyms {
    /// None.
    pub fn new() -> Synonyms {
        Synonyms {
            also: Vec::new(),
            factor: 0.7,
        }
    }

    /// Each of these words finds the others.
    pub fn group<I>(mut self, words: I) -> Synonyms
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        for (index, word) in words.iter().enumerate() {
            let mut others = words.clone();
            others.remove(index);
            self.also.push((word.clone(), others));
        }
        self
    }

    /// This word finds those too, and not the other way round.
    pub fn also<I>(mut self, word: impl Into<String>, finds: I) -> Synonyms
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.also
            .push((word.into(), finds.into_iter().map(Into::into).collect()));
        self
    }

    /// How much a synonym counts for the order, where the word itself counts 1. 0.7 unless said otherwise.
    pub fn worth(mut self, factor: f64) -> Synonyms {
        self.factor = factor;
        self
    }

    /// The synonyms as terms.
    pub(super) fn analyzed(&self, analyzer: &Analyzer) -> Result<AnalyzedSynonyms> {
        let one = |text: &String| match analyzer.tokens(text).as_slice() {
            [token] => Ok(token.term.clone()),
            _ => Err(SearchError::Synonym { text: text.clone() }),
        };
        let mut also: HashMap<String, Vec<String>> = HashMap::new();
        for (word, finds) in &self.also {
            let term = one(word)?;
            let found = also.entry(term.clone()).or_default();
            for other in finds {
                let other = one(other)?;
                if other != term && !found.contains(&other) {
                    found.push(other);
                }
            }
        }
        match self.factor.is_finite() && self.factor >= 0.0 {
            true => Ok(AnalyzedSynonyms {
                also,
                factor: self.factor,
            }),
            false => Err(SearchError::InvalidOption {
                option: "synonyms",
                reason: "what a synonym is worth is a number from 0 on",
            }),
        }
    }
}

/// Synonyms as terms.
#[derive(Debug, Default)]
pub(super) struct AnalyzedSynonyms {
    also: HashMap<String, Vec<String>>,
    pub(super) factor: f64,
}

impl AnalyzedSynonyms {
    pub(super) fn of(&self, term: &str) -> &[String] {
        self.also.get(term).map_or(&[], Vec::as_slice)
    }
}
