//! What the index of `_id` may be.

use super::super::super::document::{Doc, number};
use super::super::super::fault::{Fault, Result, code};
use super::super::ID_INDEX;
use super::options::Options;

/// Options that a specification of `_id`'s index may have.
const ID_OPTIONS: &[&str] = &["key", "name", "v", "ns", "collation"];

/// The rules for `_id`'s index; gives whether the specification is of it.
pub(super) fn check_id(spec: Doc<'_>, options: &Options<'_>) -> Result<bool> {
    let mut elements = options.key.elements();
    let (first, second) = (elements.next(), elements.next());
    let order = match (first, second) {
        (Some(element), None) if element.name() == b"_id" => Some(element.value()),
        _ => None,
    };
    let on_id = order.is_some_and(|value| value.is_number() && number::as_f64(&value) == Some(1.0));
    if let Some(value) = order
        && value.is_number()
        && !on_id
    {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!(
                "The field 'key' for an _id index must be {{_id: 1}}, but got {}",
                options.key
            ),
        ));
    }
    if on_id {
        if !options.clustered
            && let Some(extra) = spec
                .elements()
                .find(|element| !ID_OPTIONS.contains(&element.name_str()))
        {
            return Err(Fault::new(
                197,
                format!(
                    "The field '{}' is not valid for an _id index specification. Specification: {spec}",
                    extra.name_str()
                ),
            ));
        }
    } else if options.name == ID_INDEX {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!(
                "The index name '_id_' is reserved for the _id index, which must have key pattern {{_id: 1}}, \
                 found key: {}",
                options.key
            ),
        ));
    }
    if options.name == "*" && !options.clustered {
        return Err(Fault::new(code::BAD_VALUE, "The index name '*' is not valid."));
    }
    Ok(on_id)
}
