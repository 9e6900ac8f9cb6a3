//! The order of what is found: BM25 as an expression of the database.

use odm::bson::{Bson, Document, doc};

use super::counts::Counts;
use super::keywords::{LENGTH, TERMS, WEIGHTS};
use super::weight::frequencies;

/// How the order is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Formula {
    /// How soon another time of the same term says nothing more.
    pub(super) k1: f64,
    /// How much longer texts are held to say less by each word, from 0 to 1.
    pub(super) b: f64,
}

impl Formula {
    /// The most that a term can give.
    pub(super) fn most(self, counts: &Counts, term: &str, worth: f64) -> f64 {
        worth * counts.rarity(term) * (self.k1 + 1.0)
    }

    /// The expression of a document's score.
    pub(super) fn score(self, field: &str, counts: &Counts, worth: &[(&str, f64)]) -> Document {
        let mean = match counts.mean_length > 0.0 {
            true => counts.mean_length,
            false => 1.0,
        };
        let path = |name: &str| format!("${field}.{name}");
        let array = |name: &str| doc! { "$cond": [{ "$isArray": [path(name)] }, path(name), []] };
        let length = doc! { "$ifNull": [path(LENGTH), mean] };
        // What the length makes of the formula is the same for all terms of a document.
        let saturation = doc! { "$add": [
            self.k1 * (1.0 - self.b),
            { "$multiply": [self.k1 * self.b / mean, length] },
        ] };
        let frequencies: Vec<Bson> = frequencies()
            .iter()
            .map(|frequency| Bson::Double(*frequency))
            .collect();
        let parts = worth.iter().map(|(term, worth)| {
            let most = self.most(counts, term, *worth);
            let part = doc! { "$multiply": [most, { "$divide": ["$$f", { "$add": ["$$f", "$$k"] }] }] };
            let weight = doc! { "$arrayElemAt": ["$$w", "$$p"] };
            let frequency = doc! { "$arrayElemAt": [{ "$literal": &frequencies }, weight] };
            let found = doc! { "$let": { "vars": { "f": frequency }, "in": part } };
            Bson::Document(doc! { "$let": {
                "vars": { "p": { "$indexOfArray": ["$$t", { "$literal": *term }] } },
                "in": { "$cond": [{ "$lt": ["$$p", 0] }, 0.0, found] },
            } })
        });
        let sum: Vec<Bson> = [Bson::Double(0.0)].into_iter().chain(parts).collect();
        doc! { "$let": {
            "vars": { "t": array(TERMS), "w": array(WEIGHTS), "k": saturation },
            "in": { "$add": sum },
        } }
    }
}
