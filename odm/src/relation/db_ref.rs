//! References that name their collection.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use bson::{Bson, Document, RawBsonRef, RawDocument};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::link::{Aim, Link, Pointer};
use super::stored::malformed;
use crate::collection::{Record, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::Declared;
use crate::model::{Field, FieldType, Model};
use crate::schema::ModelDescriptor;

/// A reference that carries the collection's name, and a database's if it is another one: MongoDB's DBRef,
/// `{"$ref": "books", "$id": .., "$db": ..}`.
///
/// Written in that order, read in any; further fields that a stored one has are kept. `DbRef<Book>` refers to books,
/// perhaps in several collections; `DbRef` alone to any document. Where all targets are in one collection, a
/// [`Ref`](crate::Ref) is smaller and can be joined.
///
/// `#[odm(on_delete = ..)]` on a field of `DbRef<Book>` is about the references that name the collection of `Book`, in the
/// database of the document that holds them. A `DbRef` alone has no rule. Neither can be one side of a two-way reference,
/// or the source of a copy.
///
/// ```
/// use odm::DbRef;
/// use odm::bson::{Bson, doc, serialize_to_document};
///
/// let reference: DbRef = DbRef::new("books", Bson::Int32(7)).in_database("archive");
/// let stored = serialize_to_document(&reference).unwrap();
/// assert_eq!(stored, doc! { "$ref": "books", "$id": 7, "$db": "archive" });
/// ```
pub struct DbRef<D: Record = Document> {
    collection: String,
    id: D::Key,
    database: Option<String>,
    extra: Document,
    marker: PhantomData<fn() -> D>,
}

impl<D: Record> DbRef<D> {
    /// The reference to the document with this `_id` in this collection.
    pub fn new(collection: impl Into<String>, id: D::Key) -> DbRef<D> {
        DbRef {
            collection: collection.into(),
            id,
            database: None,
            extra: Document::new(),
            marker: PhantomData,
        }
    }

    /// The same reference into another database of the same server or engine.
    pub fn in_database(mut self, database: impl Into<String>) -> DbRef<D> {
        self.database = Some(database.into());
        self
    }

    /// The collection's name.
    pub fn collection(&self) -> &str {
        &self.collection
    }

    /// The `_id`.
    pub fn id(&self) -> &D::Key {
        &self.id
    }

    /// The database's name; none when it is that of the document that holds the reference.
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The fields that a stored reference had besides.
    pub fn extra(&self) -> &Document {
        &self.extra
    }
}

impl<M: Model> DbRef<M> {
    /// The reference to this document in the model's own collection.
    pub fn to(document: &M) -> DbRef<M> {
        DbRef::new(M::DESCRIPTOR.collection, document.key().clone())
    }
}

impl<D: Record> FieldType for DbRef<D> {
    type Handle<R> = Field<R, DbRef<D>>;
    type Optional<R> = Field<R, Option<DbRef<D>>>;

    const DECLARED: &'static Declared = &Declared::refers::<DbRef<D>>();
}

impl<D: Record> Link for DbRef<D> {
    type Document = D;

    fn targets() -> Vec<&'static ModelDescriptor> {
        D::descriptor().into_iter().collect()
    }

    fn pointer(value: RawBsonRef<'_>) -> Result<Option<Pointer<'_>>> {
        pointer(value)
    }

    fn aim(collection: Option<&str>) -> Result<Aim> {
        let own = D::descriptor().map(|model| model.collection);
        match collection.or(own) {
            Some(collection) => Ok(Aim {
                collection: collection.to_owned(),
                open: Target::named::<D>,
            }),
            None => Err(Error::new(ErrorKind::Decode, "the reference names no collection")),
        }
    }

    fn decode(_collection: &str, document: &RawDocument) -> Result<D> {
        D::decode(document)
    }
}

/// Takes a stored DBRef apart.
pub(super) fn pointer(value: RawBsonRef<'_>) -> Result<Option<Pointer<'_>>> {
    let document = match value {
        RawBsonRef::Null => return Ok(None),
        RawBsonRef::Document(document) => document,
        _ => return Err(Error::new(ErrorKind::Decode, "the value is no DBRef")),
    };
    let (mut collection, mut key, mut database) = (None, None, None);
    for field in document {
        let (name, value) = field.map_err(malformed)?;
        match name.as_str() {
            "$ref" => collection = value.as_str(),
            "$db" => database = value.as_str(),
            "$id" => key = Some(value),
            _ => {}
        }
    }
    match (collection, key) {
        (Some(_), Some(key)) => Ok(Some(Pointer {
            database,
            collection,
            key,
        })),
        _ => Err(Error::new(
            ErrorKind::Decode,
            "a DBRef has a text in `$ref` and a value in `$id`",
        )),
    }
}

impl<D: Record> Serialize for DbRef<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_readable = serializer.is_human_readable();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("$ref", &self.collection)?;
        let shown = is_readable.then(|| D::show_key(&self.id)).flatten();
        match (shown, D::encode_key(&self.id)) {
            (Some(id), _) => map.serialize_entry("$id", &id.map_err(serde::ser::Error::custom)?)?,
            (None, None) => map.serialize_entry("$id", &self.id)?,
            (None, Some(id)) => map.serialize_entry("$id", &id.map_err(serde::ser::Error::custom)?)?,
        }
        if let Some(database) = &self.database {
            map.serialize_entry("$db", database)?;
        }
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de, D: Record> Deserialize<'de> for DbRef<D> {
    fn deserialize<S: Deserializer<'de>>(deserializer: S) -> Result<DbRef<D>, S::Error> {
        let is_readable = deserializer.is_human_readable();
        deserializer.deserialize_map(Read {
            is_readable,
            marker: PhantomData,
        })
    }
}

struct Read<D> {
    is_readable: bool,
    marker: PhantomData<D>,
}

impl<'de, D: Record> Visitor<'de> for Read<D> {
    type Value = DbRef<D>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a DBRef: a document with `$ref` and `$id`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DbRef<D>, A::Error> {
        let (mut collection, mut id, mut database) = (None, None, None);
        let mut extra = Document::new();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "$ref" => collection = Some(map.next_value()?),
                "$id" => {
                    let stored: Bson = map.next_value()?;
                    let key = match self.is_readable {
                        true => D::parse_key(stored),
                        false => D::decode_key(&stored),
                    };
                    id = Some(key.map_err(serde::de::Error::custom)?);
                }
                "$db" => database = Some(map.next_value()?),
                _ => {
                    extra.insert(name, map.next_value::<Bson>()?);
                }
            }
        }
        Ok(DbRef {
            collection: collection.ok_or_else(|| serde::de::Error::missing_field("$ref"))?,
            id: id.ok_or_else(|| serde::de::Error::missing_field("$id"))?,
            database,
            extra,
            marker: PhantomData,
        })
    }
}

impl<D: Record> Clone for DbRef<D> {
    fn clone(&self) -> DbRef<D> {
        DbRef {
            collection: self.collection.clone(),
            id: self.id.clone(),
            database: self.database.clone(),
            extra: self.extra.clone(),
            marker: PhantomData,
        }
    }
}

impl<D: Record<Key: PartialEq>> PartialEq for DbRef<D> {
    fn eq(&self, other: &DbRef<D>) -> bool {
        self.collection == other.collection
            && self.id == other.id
            && self.database == other.database
            && self.extra == other.extra
    }
}

impl<D: Record<Key: Eq>> Eq for DbRef<D> {}

impl<D: Record<Key: Hash>> Hash for DbRef<D> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.collection.hash(state);
        self.id.hash(state);
        self.database.hash(state);
    }
}

impl<D: Record<Key: fmt::Debug>> fmt::Debug for DbRef<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DbRef")
            .field("collection", &self.collection)
            .field("id", &self.id)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}
