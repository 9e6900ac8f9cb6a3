//! How common terms are, as searches know it.

use std::collections::HashMap;

/// What the order of a search depends on beside the documents that it finds.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// How many documents have keywords.
    pub(super) documents: f64,
    /// How long their texts are, on average.
    pub(super) mean_length: f64,
    /// In how many documents each term stands; those that are missing in none.
    pub(super) terms: HashMap<String, f64>,
}

impl Counts {
    /// In how many documents a term stands.
    pub(super) fn of(&self, term: &str) -> f64 {
        self.terms.get(term).copied().unwrap_or_default()
    }

    /// How much a term says, the rarer the more. Never negative.
    pub(super) fn rarity(&self, term: &str) -> f64 {
        let documents = self.documents.max(1.0);
        let count = self.of(term).min(documents);
        (1.0 + (documents - count + 0.5) / (count + 0.5)).ln()
    }
}
