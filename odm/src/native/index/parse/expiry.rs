//! How long documents live.

use super::super::super::document::decimal::Decimal;
use super::super::super::document::{Doc, Value, number};
use super::super::super::fault::Result;
use super::cannot;

/// The largest `expireAfterSeconds`, 68 years.
const MAX_EXPIRY: i64 = i32::MAX as i64;

pub(super) fn parse_expiry(spec: Doc<'_>, value: &Value<'_>, fields: usize) -> Result<i64> {
    let seconds = match value {
        number if number::is_nan(number) => MAX_EXPIRY,
        Value::Double(x) => *x as i64,
        Value::Decimal128(bytes) => {
            let decimal = Decimal::from_bytes(*bytes);
            let limit = if decimal.is_negative() { i64::MIN } else { i64::MAX };
            decimal.to_i64_truncated().unwrap_or(limit)
        }
        Value::Int32(x) => i64::from(*x),
        Value::Int64(x) => *x,
        other => {
            return Err(cannot(format!(
                "TTL index 'expireAfterSeconds' option must be numeric, but received a type of '{}'. Index \
                 spec: {spec}",
                other.kind().alias()
            )));
        }
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
