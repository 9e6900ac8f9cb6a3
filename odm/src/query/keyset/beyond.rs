//! The filter of what is behind a place.
//!
//! Comparisons in filters stay within a type's class, and none but equality finds NaN, so that "greater in the order"
//! is several conditions: greater in the class, of a class above, null or missing where that is above, NaN.

use bson::raw::{CStr, cstr};
use bson::{RawArrayBuf, RawBson, RawDocumentBuf};

use super::class::Class;
use super::place::is_nan;
use crate::error::Result;
use crate::query::encode::path_text;

/// The alternatives of an `$or`, each of which has every path once.
#[derive(Debug, Default)]
pub(super) struct Alternatives(Vec<RawDocumentBuf>);

impl Alternatives {
    /// Equal in all fields.
    pub(super) fn equal<'p>(
        &mut self,
        paths: impl Iterator<Item = &'p str>,
        values: &[&RawBson],
    ) -> Result<()> {
        let mut alternative = RawDocumentBuf::new();
        for (path, value) in paths.zip(values) {
            alternative.append(path_text(path.to_owned())?, equal(value));
        }
        self.0.push(alternative);
        Ok(())
    }

    /// Equal in the first fields, and less (or greater) in the next.
    pub(super) fn beyond(
        &mut self,
        equals: &[(&str, &RawBson)],
        path: &str,
        value: &RawBson,
        less: bool,
    ) -> Result<()> {
        for condition in conditions(value, less, path == "_id") {
            let mut alternative = RawDocumentBuf::new();
            for (path, value) in equals {
                alternative.append(path_text((*path).to_owned())?, equal(value));
            }
            alternative.append(path_text(path.to_owned())?, condition);
            self.0.push(alternative);
        }
        Ok(())
    }

    pub(super) fn into_filter(self) -> RawDocumentBuf {
        let alternatives: RawArrayBuf = self.0.into_iter().collect();
        match alternatives.is_empty() {
            // Nothing is beyond the end.
            true => operator(
                cstr!("$nor"),
                [RawDocumentBuf::new()].into_iter().collect::<RawArrayBuf>(),
            ),
            false => operator(cstr!("$or"), alternatives),
        }
    }
}

/// An `_id` is never missing: null is one more type, and no equality, for which MongoDB would leave the index over the
/// order for that on `_id`, and sort in memory.
fn conditions(value: &RawBson, less: bool, is_id: bool) -> Vec<RawDocumentBuf> {
    let class = Class::of(value);
    let mut conditions = Vec::new();
    match (class, less) {
        (class, _) if class.is_single() => {}
        (Class::Number, true) if is_nan(value) => {}
        // NaN is the least number, and no comparison finds it.
        (Class::Number, true) => {
            conditions.push(operator(cstr!("$lt"), value.clone()));
            let mut nan = operator(cstr!("$type"), "number");
            nan.append(cstr!("$not"), operator(cstr!("$gte"), f64::NEG_INFINITY));
            conditions.push(nan);
        }
        (Class::Number, false) if is_nan(value) => {
            conditions.push(operator(cstr!("$gte"), f64::NEG_INFINITY))
        }
        (_, true) => conditions.push(operator(cstr!("$lt"), value.clone())),
        (_, false) => conditions.push(operator(cstr!("$gt"), value.clone())),
    }
    let mut others = class.others(less);
    if class != Class::Null && (class > Class::Null) == less {
        match is_id {
            true => others.push("null"),
            false => conditions.push(equal(&RawBson::Null)),
        }
    }
    if !others.is_empty() {
        conditions.push(operator(
            cstr!("$type"),
            others.into_iter().collect::<RawArrayBuf>(),
        ));
    }
    conditions
}

fn equal(value: &RawBson) -> RawDocumentBuf {
    match value {
        // Equality with null finds undefined too, which comes before it in the order.
        RawBson::Null => {
            let mut condition = operator(cstr!("$eq"), RawBson::Null);
            condition.append(cstr!("$not"), operator(cstr!("$type"), "undefined"));
            condition
        }
        RawBson::Undefined => operator(cstr!("$type"), "undefined"),
        value => operator(cstr!("$eq"), value.clone()),
    }
}

fn operator(name: &'static CStr, value: impl Into<RawBson>) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    document.append(name, value.into());
    document
}
