//! Values of `_id` as keys of maps.

use odm::bson::{Bson, RawDocumentBuf, doc};

/// An `_id`, equal to others as the database has it: 1, 1L and 1.0 are the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Identity(Vec<u8>);

impl Identity {
    pub(super) fn of(id: &Bson) -> Identity {
        let number = match id {
            Bson::Int32(number) => Some(i64::from(*number)),
            Bson::Int64(number) => Some(*number),
            Bson::Double(number) if number.fract() == 0.0 && number.abs() < 9.0e15 => Some(*number as i64),
            Bson::Decimal128(number) => number.to_string().parse().ok(),
            _ => None,
        };
        match (number, id) {
            (Some(number), _) => {
                let mut key = vec![b'n'];
                key.extend(number.to_be_bytes());
                Identity(key)
            }
            (None, Bson::String(text)) => {
                let mut key = vec![b's'];
                key.extend(text.as_bytes());
                Identity(key)
            }
            (None, Bson::ObjectId(id)) => {
                let mut key = vec![b'o'];
                key.extend(id.bytes());
                Identity(key)
            }
            (None, other) => {
                let mut key = vec![b'b'];
                if let Ok(document) = RawDocumentBuf::try_from(&doc! { "": other }) {
                    key.extend(document.as_bytes());
                }
                Identity(key)
            }
        }
    }
}

/// Whether the database takes two values of `_id` for the same.
pub(super) fn same(one: &Bson, other: &Bson) -> bool {
    one == other || Identity::of(one) == Identity::of(other)
}
