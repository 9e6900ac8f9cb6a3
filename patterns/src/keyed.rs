//! Documents whose `_id` is whose they are and which of them: `{series: .., number: ..}`.

use odm::bson::{Bson, Document, doc};

/// The names of the two parts of the `_id`s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    pub(crate) owner: &'static str,
    pub(crate) number: &'static str,
}

impl Keyed {
    /// The `_id` of one.
    pub(crate) fn key(self, owner: &Bson, number: impl Into<Bson>) -> Document {
        doc! { self.owner: owner, self.number: number.into() }
    }

    /// The condition of all of an owner: a range of the index on `_id`, that needs no other.
    pub(crate) fn of(self, owner: &Bson) -> Document {
        self.between(owner, Bson::MinKey, Bson::MaxKey)
    }

    /// The condition of those from one number to another, both included.
    pub(crate) fn between(self, owner: &Bson, from: impl Into<Bson>, to: impl Into<Bson>) -> Document {
        doc! { "_id": { "$gte": self.key(owner, from), "$lte": self.key(owner, to) } }
    }

    /// The number in a stored document.
    pub(crate) fn number_of(self, document: &Document) -> i64 {
        let key = document.get_document("_id");
        key.ok()
            .and_then(|key| integer(key.get(self.number)?))
            .unwrap_or(0)
    }

    /// Whose a stored document is.
    pub(crate) fn owner_of(self, document: &Document) -> Bson {
        let key = document.get_document("_id");
        key.ok()
            .and_then(|key| key.get(self.owner))
            .cloned()
            .unwrap_or(Bson::Null)
    }
}

/// A whole number of any type.
pub(crate) fn integer(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        // What a shell has written.
        Bson::Double(number) => whole(*number),
        _ => None,
    }
}

/// The whole number that a double is.
pub(crate) fn whole(number: f64) -> Option<i64> {
    // Up to here doubles hold every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}
