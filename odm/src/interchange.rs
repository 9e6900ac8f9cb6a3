//! The types of other crates, stored as what they are.
//!
//! Their own `Serialize` writes most of them as texts, lists or plain bytes, which MongoDB neither orders nor expires
//! nor calculates with. [`as_bson`] writes the BSON type instead.

#[cfg(feature = "chrono")]
mod chrono;
mod containers;
#[cfg(feature = "rust_decimal")]
mod decimal;
#[cfg(feature = "jiff")]
mod jiff;
mod leaf;
mod standard;
#[cfg(feature = "time")]
mod time;
#[cfg(feature = "uuid")]
mod uuid;

use serde::{Deserializer, Serializer};

/// A type that [`as_bson`] stores as its proper BSON type.
///
/// Implemented for the types of the cargo features `chrono`, `jiff`, `rust_decimal`, `time` and `uuid`, for
/// [`bson::DateTime`], [`SystemTime`](std::time::SystemTime) and [`Duration`](std::time::Duration), and for options,
/// boxes, vectors, sets and maps of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no BSON type of its own",
    label = "`odm::as_bson` cannot store it",
    note = "dates, durations, UUIDs and decimals of other crates need the cargo feature of `odm` that is named after the crate"
)]
pub trait AsBson: Sized {
    /// Writes the BSON type; in formats for people, such as JSON, a text.
    ///
    /// # Errors
    /// When the value does not fit the BSON type.
    fn serialize_as_bson<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Reads what [`serialize_as_bson`](AsBson::serialize_as_bson) writes.
    ///
    /// # Errors
    /// For any other type, and for a value that the Rust type cannot hold.
    fn deserialize_as_bson<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// For `#[serde(with = "odm::as_bson")]`: stores dates, durations, UUIDs and decimals of other crates as the BSON types
/// that they are, alone and inside options, vectors and maps. Operands of filters and updates go the same way.
///
/// ```
/// use std::time::SystemTime;
/// use odm::{Model, bson::doc};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Loan {
///     #[serde(rename = "_id")]
///     id: i32,
///     #[serde(with = "odm::as_bson")]
///     due: SystemTime,
///     #[serde(with = "odm::as_bson")]
///     returned: Option<SystemTime>,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let loans = odm::Db::open("memory:").await?.collection::<Loan>();
/// loans.insert(Loan { id: 1, due: SystemTime::UNIX_EPOCH, returned: None }).await?;
/// assert_eq!(loans.count(|l| l.due.lt(SystemTime::now()) & l.returned.is_null()).await?, 1);
/// assert_eq!(loans.raw().count(doc! {"due": {"$type": "date"}}).await?, 1);
/// # Ok(())
/// # }
/// ```
pub mod as_bson {
    use serde::{Deserializer, Serializer};

    use super::AsBson;

    /// Writes the value as its BSON type.
    ///
    /// # Errors
    /// As [`AsBson::serialize_as_bson`].
    pub fn serialize<T: AsBson, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize_as_bson(serializer)
    }

    /// Reads the value from its BSON type.
    ///
    /// # Errors
    /// As [`AsBson::deserialize_as_bson`].
    pub fn deserialize<'de, T: AsBson, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::deserialize_as_bson(deserializer)
    }
}
