//! What the index of `_id` may be.

use super::super::super::document::{Doc, number};
use super::super::super::fault::{Fault, Result, code};
use super::super::{ID_INDEX, Origin};
use super::options::Options;
use super::with_version;

/// Options that a specification of `_id`'s index may have.
const ID_OPTIONS: &[&str] = &["key", "name", "v", "ns", "collation", "_id"];

/// The rules for `_id`'s index; gives whether the specification is of it.
pub(super) fn check_id(spec: Doc<'_>, options: &Options<'_>, origin: Origin) -> Result<bool> {
    let mut elements = options.key.elements();
    let order = match (elements.next(), elements.next()) {
        (Some(element), None) if element.name() == b"_id" => number::as_i32_whole(&element.value()),
        _ => None,
    };
    // Any other number is that of an index beside it.
    let may_be = match origin {
        Origin::Given => true,
        Origin::GivenToSeries => false,
        // A time series may have one by another name.
        Origin::Stored => options.clustered || options.name == ID_INDEX,
    };
    let on_id = may_be && matches!(order, Some(1 | -1));
    if on_id {
        if !options.clustered
            && let Some(extra) = spec
                .elements()
                .find(|element| !ID_OPTIONS.contains(&element.name_str()))
        {
            return Err(Fault::new(
                197,
                format!(
                    "The field '{}' is not valid for an _id index specification. Specification: {}",
                    extra.name_str(),
                    Doc::Fields(&with_version(spec, options))
                ),
            ));
        }
        let exact = options
            .key
            .get("_id")
            .and_then(|order| number::as_i64_exact(&order));
        if exact != Some(1) {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!(
                    "The field 'key' for an _id index must be {{_id: 1}}, but got {}",
                    options.key
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
    if options.name == "*" && !on_id {
        return Err(Fault::new(code::BAD_VALUE, "The index name '*' is not valid."));
    }
    Ok(on_id)
}
