//! Typed ObjectIds.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use bson::Bson;
use bson::oid::ObjectId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, ErrorKind};

/// The ObjectId of a document of model `M`, so that the id of a book is not taken for that of a patron.
///
/// Stored in BSON as an ObjectId, in JSON and other human-readable formats as 24 hexadecimal digits; read from
/// either.
///
/// ```
/// # struct Book;
/// # struct Edition;
/// use odm::Id;
///
/// let id = Id::<Book>::new();
/// assert_eq!(id.to_string().len(), 24);
/// assert_eq!(id.to_string().parse::<Id<Book>>()?, id);
/// let edition: Id<Edition> = id.cast();
/// assert_eq!(edition.object_id(), id.object_id());
/// # Ok::<(), odm::Error>(())
/// ```
pub struct Id<M> {
    id: ObjectId,
    marker: PhantomData<fn() -> M>,
}

impl<M> Id<M> {
    /// A new id: the time in seconds, this process, a counter.
    #[allow(
        clippy::new_without_default,
        reason = "a default that differs each time surprises"
    )]
    pub fn new() -> Id<M> {
        Id::from(ObjectId::new())
    }

    /// The untyped ObjectId.
    pub fn object_id(&self) -> ObjectId {
        self.id
    }

    /// The same ObjectId as the id of another model, for documents that share their ids.
    pub fn cast<N>(self) -> Id<N> {
        Id::from(self.id)
    }
}

impl<M> From<ObjectId> for Id<M> {
    fn from(id: ObjectId) -> Id<M> {
        Id {
            id,
            marker: PhantomData,
        }
    }
}

impl<M> From<Id<M>> for ObjectId {
    fn from(id: Id<M>) -> ObjectId {
        id.id
    }
}

impl<M> From<Id<M>> for Bson {
    fn from(id: Id<M>) -> Bson {
        Bson::ObjectId(id.id)
    }
}

impl<M> FromStr for Id<M> {
    type Err = Error;

    /// Reads 24 hexadecimal digits.
    fn from_str(text: &str) -> Result<Id<M>, Error> {
        let id = ObjectId::parse_str(text).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, "an id is 24 hexadecimal digits").with_source(error)
        })?;
        Ok(Id::from(id))
    }
}

impl<M> fmt::Display for Id<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.id.to_hex())
    }
}

impl<M> fmt::Debug for Id<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.id.to_hex())
    }
}

impl<M> Copy for Id<M> {}

impl<M> Clone for Id<M> {
    fn clone(&self) -> Id<M> {
        *self
    }
}

impl<M> PartialEq for Id<M> {
    fn eq(&self, other: &Id<M>) -> bool {
        self.id == other.id
    }
}

impl<M> Eq for Id<M> {}

impl<M> PartialOrd for Id<M> {
    fn partial_cmp(&self, other: &Id<M>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<M> Ord for Id<M> {
    fn cmp(&self, other: &Id<M>) -> Ordering {
        self.id.cmp(&other.id)
    }
}

impl<M> Hash for Id<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl<M> Serialize for Id<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(self),
            false => self.id.serialize(serializer),
        }
    }
}

impl<'de, M> Deserialize<'de> for Id<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Id<M>, D::Error> {
        ObjectId::deserialize(deserializer).map(Id::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Book;

    #[derive(Serialize, Deserialize)]
    struct Wrapped {
        id: Id<Book>,
    }

    #[test]
    fn an_id_is_an_object_id_in_bson() {
        let id = Id::<Book>::new();
        let document = bson::serialize_to_raw_document_buf(&Wrapped { id }).unwrap();
        assert_eq!(document.get_object_id("id").unwrap(), id.object_id());
        let back: Wrapped = bson::deserialize_from_slice(document.as_bytes()).unwrap();
        assert_eq!(back.id, id);
    }

    #[test]
    fn hexadecimal_digits_are_read_from_bson() {
        let id = Id::<Book>::new();
        let document = bson::rawdoc! { "id": id.to_string() };
        let back: Wrapped = bson::deserialize_from_slice(document.as_bytes()).unwrap();
        assert_eq!(back.id, id);
    }

    #[test]
    fn human_readable_formats_hold_hexadecimal_digits() {
        let id = Id::<Book>::new();
        assert_eq!(
            bson::serialize_to_bson(&id).unwrap(),
            Bson::String(id.to_string())
        );
        let back: Id<Book> = bson::deserialize_from_bson(Bson::ObjectId(id.object_id())).unwrap();
        assert_eq!(back, id);
    }

    #[test]
    fn anything_else_is_refused() {
        let error = "xyz".parse::<Id<Book>>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}
