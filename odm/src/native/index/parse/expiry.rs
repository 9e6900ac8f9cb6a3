//! How long documents live.

use super::super::super::document::{Doc, Value, number};
use super::super::super::fault::Result;
use super::cannot;

/// The largest `expireAfterSeconds`, 68 years.
const MAX_EXPIRY: i64 = i32::MAX as i64;

pub(super) fn parse_expiry(spec: Doc<'_>, value: &Value<'_>, fields: usize) -> Result<i64> {
    let seconds = match value {
        number if number::is_nan(number) => MAX_EXPIRY,
        other => number::whole(other).ok_or_else(|| {
            cannot(format!(
                "TTL index 'expireAfterSeconds' option must be numeric, but received a type of '{}'. Index \
                 spec: {spec}",
                other.kind().alias()
            ))
        })?,
    };
    if seconds < 0 {
        return Err(cannot(format!(
            "TTL index 'expireAfterSeconds' option cannot be less than 0. Index spec: {spec}"
        )));
    }
    if seconds > MAX_EXPIRY {
        return Err(cannot(format!(
            "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number. \
             Index spec: {spec}"
        )));
    }
    if fields > 1 {
        return Err(cannot(format!(
            "TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: {spec}"
        )));
    }
    Ok(seconds)
}
