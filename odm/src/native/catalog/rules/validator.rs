//! What documents are held against.

use super::wrong_type;
use crate::native::collation::Collation;
use crate::native::document::{Doc, Owned, Value};
use crate::native::fault::{Fault, Result, code};
use crate::native::matcher::Matcher;

/// Of a validator that no document can be compared with.
const BROKEN: &str = "the collection's validator cannot be read :: caused by :: ";

/// What a document must match to be stored.
#[derive(Clone, Debug)]
pub(crate) struct Validator {
    /// As given.
    pub(crate) filter: Vec<u8>,
    /// Why it cannot be read, where another version has stored it.
    matcher: Result<Matcher>,
    /// Documents that do not match already may stay that way.
    pub(crate) moderate: bool,
}

impl Validator {
    /// As a catalog has it.
    pub(super) fn stored(filter: Doc<'_>, collation: &Collation, moderate: bool) -> Validator {
        Validator {
            filter: filter.to_bytes(),
            matcher: Matcher::parse_as_written(filter)
                .map(|matcher| matcher.collated(collation).without_clock())
                .map_err(|fault| fault.prefixed(BROKEN)),
            moderate,
        }
    }

    /// Whether a document is as it should be. One that an expression cannot be evaluated on is not.
    ///
    /// # Errors
    /// Those of the filter, where it cannot be read: nothing is written until `collMod` gives another.
    pub(crate) fn accepts(&self, doc: Doc<'_>) -> Result<bool> {
        let matcher = self.matcher.as_ref().map_err(Fault::clone)?;
        Ok(matcher.matches(doc).unwrap_or(false))
    }
}

/// A validator's filter, checked; none when it is empty.
pub(crate) fn validator(field: &str, value: Value<'_>) -> Result<Option<Owned>> {
    let Value::Document(filter) = value else {
        return Err(wrong_type(field, value, "type 'object'"));
    };
    refuse_place(filter, true)?;
    if Matcher::parse(filter)?.is_random() {
        return Err(Fault::new(
            3_040_500,
            "$rand not allowed inside collection validators",
        ));
    }
    Ok((!filter.is_empty()).then(|| Owned::RawDocument(filter.to_bytes())))
}

/// Operators that need an index of their own, or a session, have no place in a validator.
fn refuse_place(filter: Doc<'_>, is_whole: bool) -> Result<()> {
    for element in filter.elements() {
        match (element.name_str(), element.value()) {
            (name @ ("$text" | "$where"), _) => {
                return Err(Fault::new(
                    code::BAD_VALUE,
                    format!("{name} is not allowed in this context"),
                ));
            }
            // About the document it is no operator at all.
            ("$near" | "$nearSphere" | "$geoNear", _) if !is_whole => {
                return Err(Fault::new(
                    5_626_500,
                    "$geoNear, $near, and $nearSphere are not allowed in this context",
                ));
            }
            ("$jsonSchema", _) => {}
            ("$and" | "$or" | "$nor", Value::Array(branches)) => {
                let mut branches = branches.values().filter_map(|branch| branch.as_document());
                branches.try_for_each(|branch| refuse_place(branch, is_whole))?;
            }
            (_, Value::Document(inner) | Value::Array(inner)) => refuse_place(inner, false)?,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Rules;
    use super::*;

    /// A file stays readable when a later version refuses a validator that it has.
    #[test]
    fn a_validator_that_cannot_be_read_refuses_writes_alone() {
        let options = bson::serialize_to_vec(&bson::doc! { "validator": { "a": { "$later": 1 } } }).unwrap();
        let rules = Rules::parse(Doc::Raw(&options)).unwrap();
        let fault = rules.validator.unwrap().accepts(Doc::empty()).unwrap_err();
        assert_eq!(fault.code(), code::BAD_VALUE);
        assert_eq!(
            fault.message(),
            "the collection's validator cannot be read :: caused by :: unknown operator: $later"
        );
        let Value::Document(filter) = Doc::Raw(&options).get("validator").unwrap() else {
            panic!("no filter");
        };
        validator("create.validator", Value::Document(filter)).unwrap_err();
    }
}
