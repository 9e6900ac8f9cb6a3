//! When two stored keys are the same.

use bson::{RawBson, RawBsonRef, RawDocumentBuf};

/// A key in a form in which equal keys have equal bytes.
///
/// Numbers that MongoDB takes for equal are equal here too when they are whole: a reference stored as an int32 finds
/// an `_id` stored as an int64 or a double. Inside documents the types must agree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Identity(Box<[u8]>);

impl Identity {
    pub(super) fn of(value: RawBsonRef<'_>) -> Identity {
        if let Some(whole) = whole(value) {
            return Identity::tagged(0, &whole.to_le_bytes());
        }
        match value {
            RawBsonRef::ObjectId(id) => Identity::tagged(7, &id.bytes()),
            RawBsonRef::String(text) | RawBsonRef::Symbol(text) => Identity::tagged(2, text.as_bytes()),
            value => {
                let mut lone = RawDocumentBuf::new();
                lone.append(bson::cstr!(""), RawBson::from(value));
                Identity(lone.as_bytes().into())
            }
        }
    }

    fn tagged(tag: u8, bytes: &[u8]) -> Identity {
        let mut all = Vec::with_capacity(1 + bytes.len());
        all.push(tag);
        all.extend_from_slice(bytes);
        Identity(all.into())
    }

    /// About how many bytes the key takes in a query.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The number, when it is a whole one that fits.
fn whole(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int32(number) => Some(number.into()),
        RawBsonRef::Int64(number) => Some(number),
        RawBsonRef::Double(number) => {
            let whole = number as i64;
            (whole as f64 == number && whole != i64::MAX).then_some(whole)
        }
        RawBsonRef::Decimal128(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    #[test]
    fn whole_numbers_of_all_types_are_one_key() {
        let five: bson::Decimal128 = "5".parse().unwrap();
        let keys = rawdoc! { "a": 5, "b": 5_i64, "c": 5.0, "d": five };
        let identities: Vec<Identity> = keys.iter().map(|key| Identity::of(key.unwrap().1)).collect();
        assert!(identities.iter().all(|key| *key == identities[0]));
    }

    #[test]
    fn other_values_are_themselves() {
        let keys =
            rawdoc! { "a": "5", "b": 5.5, "c": true, "d": { "x": 1 }, "e": { "x": 2 }, "f": f64::INFINITY };
        let mut identities: Vec<Identity> = Vec::new();
        for key in &keys {
            let identity = Identity::of(key.unwrap().1);
            assert!(!identities.contains(&identity));
            identities.push(identity);
        }
    }
}
