//! Comparing decimal texts in the database, digit by digit, whatever their length.

use odm::bson::{Bson, Document, bson, doc};

use super::decimal::Decimal;

/// One of the six comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Eq,
    Gt,
    Gte,
    Lt,
    Lte,
}

impl Comparison {
    pub(super) fn operator(self) -> &'static str {
        match self {
            Comparison::Eq => "$eq",
            Comparison::Gt => "$gt",
            Comparison::Gte => "$gte",
            Comparison::Lt => "$lt",
            Comparison::Lte => "$lte",
        }
    }

    /// The same for numbers below 0, whose digits grow the other way.
    fn mirrored(self) -> Comparison {
        match self {
            Comparison::Eq => Comparison::Eq,
            Comparison::Gt => Comparison::Lt,
            Comparison::Gte => Comparison::Lte,
            Comparison::Lt => Comparison::Gt,
            Comparison::Lte => Comparison::Gte,
        }
    }
}

/// Whether the plain decimal text at a path compares so with a number. A field that is no text does not.
///
/// Two texts of digits compare as the numbers do by their length in front of the point, then by those digits, then by
/// those behind it, without zeros at both ends; so does the array of the three.
pub(super) fn compares(path: &str, comparison: Comparison, with: &Decimal) -> Document {
    let (whole, fraction) = with.parts();
    let length = i32::try_from(whole.len()).unwrap_or(i32::MAX);
    let operand = bson!({ "$literal": [length, whole, fraction] });
    let by = |comparison: Comparison| bson!({ comparison.operator(): ["$$key", operand.clone()] });
    let nothing = bson!({ "$literal": [0, "", ""] });
    let is_zero = bson!({ "$eq": ["$$key", nothing] });
    let positive = bson!({ "$not": ["$$negative"] });
    let side = with.side();
    let verdict = match (comparison, side.is_lt(), side.is_eq()) {
        (Comparison::Eq, _, true) => is_zero,
        (Comparison::Gte, _, true) => bson!({ "$or": [positive, is_zero] }),
        (Comparison::Gt, _, true) => bson!({ "$and": [positive, { "$not": [is_zero] }] }),
        (Comparison::Lte, _, true) => bson!({ "$or": ["$$negative", is_zero] }),
        (Comparison::Lt, _, true) => bson!({ "$and": ["$$negative", { "$not": [is_zero] }] }),
        (Comparison::Eq | Comparison::Gt | Comparison::Gte, false, _) => {
            bson!({ "$and": [positive, by(comparison)] })
        }
        (Comparison::Lt | Comparison::Lte, false, _) => bson!({ "$or": ["$$negative", by(comparison)] }),
        (Comparison::Gt | Comparison::Gte, true, _) => {
            bson!({ "$or": [positive, by(comparison.mirrored())] })
        }
        (Comparison::Eq | Comparison::Lt | Comparison::Lte, true, _) => {
            bson!({ "$and": ["$$negative", by(comparison.mirrored())] })
        }
    };
    let text = format!("${path}");
    let key = bson!([{ "$strLenBytes": "$$whole" }, "$$whole", "$$fraction"]);
    let digits = bson!({
        "whole": { "$ltrim": { "input": { "$arrayElemAt": ["$$halves", 0] }, "chars": "0" } },
        "fraction": { "$rtrim": {
            "input": { "$ifNull": [{ "$arrayElemAt": ["$$halves", 1] }, ""] },
            "chars": "0",
        } },
    });
    let halves = bson!({
        "negative": { "$eq": [{ "$substrCP": [text.clone(), 0, 1] }, "-"] },
        "halves": { "$split": [{ "$ltrim": { "input": text.clone(), "chars": "-+" } }, "."] },
    });
    let compared = within(halves, within(digits, within(bson!({ "key": key }), verdict)));
    doc! { "$cond": [{ "$eq": [{ "$type": text }, "string"] }, compared, false] }
}

fn within(variables: Bson, value: Bson) -> Bson {
    bson!({ "$let": { "vars": variables, "in": value } })
}
