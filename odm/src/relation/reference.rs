//! References by a key.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::key::{ById, ReferenceKey};
use crate::codec;
use crate::lifecycle::Declared;
use crate::model::{Field, FieldType, Id, Model, Newtype};
use crate::query::Operand;

/// A reference to a document of `T`: its `_id` and nothing else.
///
/// It is stored exactly as the `_id` is, so it cannot be "unloaded": what it refers to is
/// [loaded](crate::action::Find::load) where it is wanted, and is not there when it is missing. It is `Copy` when the
/// `_id` is.
///
/// `Ref<T, K>` holds another unique field of `T`, which the key `K` names: `#[odm(unique, key = BookIsbn)]` on the
/// field `isbn` of `Book` declares the key of `Ref<Book, BookIsbn>`.
///
/// ```
/// # use odm::{Db, Id, Model, Ref};
/// # use serde::{Deserialize, Serialize};
/// #[derive(Debug, Serialize, Deserialize, Model)]
/// struct Publisher {
///     #[serde(rename = "_id")]
///     id: Id<Publisher>,
///     name: String,
/// }
///
/// #[derive(Debug, Serialize, Deserialize, Model)]
/// struct Book {
///     #[serde(rename = "_id")]
///     id: Id<Book>,
///     title: String,
///     publisher: Ref<Publisher>,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// # let db = Db::open("memory:").await?;
/// let penguin = Publisher { id: Id::new(), name: "Penguin".into() };
/// db.collection::<Publisher>().insert(&penguin).await?;
/// let books = db.collection::<Book>();
/// books.insert(Book { id: Id::new(), title: "Emma".into(), publisher: Ref::to(&penguin) }).await?;
///
/// let found = books.find(|b| b.publisher.eq(&penguin)).load(|b| b.publisher).await?;
/// let (book, publisher) = &found[0];
/// assert_eq!((book.title.as_str(), publisher.as_ref().unwrap().name.as_str()), ("Emma", "Penguin"));
/// # Ok(())
/// # }
/// ```
pub struct Ref<T: Model, K: ReferenceKey<T> = ById> {
    key: K::Value,
    marker: PhantomData<fn() -> (T, K)>,
}

impl<T: Model> Ref<T> {
    /// The reference to the document with this `_id`, whether it is there or not.
    pub fn new(id: T::Key) -> Ref<T> {
        Ref::keyed(id)
    }

    /// The reference to this document.
    pub fn to(document: &T) -> Ref<T> {
        Ref::new(document.key().clone())
    }
}

impl<T: Model, K: ReferenceKey<T>> Ref<T, K> {
    /// The reference to the document whose key has this value.
    pub fn keyed(key: K::Value) -> Ref<T, K> {
        Ref {
            key,
            marker: PhantomData,
        }
    }

    /// The reference to this document, by the key `K`.
    pub fn by(document: &T) -> Ref<T, K> {
        Ref::keyed(K::of(document).clone())
    }

    /// The value of the key: the `_id` for a plain `Ref<T>`.
    pub fn key(&self) -> &K::Value {
        &self.key
    }

    /// The value of the key.
    pub fn into_key(self) -> K::Value {
        self.key
    }

    /// Whether this refers to the document.
    pub fn is(&self, document: &T) -> bool
    where
        K::Value: PartialEq,
    {
        self.key == *K::of(document)
    }
}

impl<T: Model, K: ReferenceKey<T>> FieldType for Ref<T, K> {
    type Handle<R> = Field<R, Ref<T, K>>;
    type Optional<R> = Field<R, Option<Ref<T, K>>>;

    const DECLARED: &'static Declared = &Declared::refers::<Ref<T, K>>();
}

impl<T: Model, K: ReferenceKey<T>> Newtype for Ref<T, K> {
    type Inner = K::Value;

    const IS_REFERENCE: bool = true;
}

impl<T: Model, K: ReferenceKey<T>> From<&T> for Ref<T, K> {
    fn from(document: &T) -> Ref<T, K> {
        Ref::by(document)
    }
}

macro_rules! keys {
    ($([$($generics:tt)*] $key:ty;)*) => {$(
        impl<T: Model, K: ReferenceKey<T, Value = $key> $($generics)*> From<$key> for Ref<T, K> {
            fn from(key: $key) -> Ref<T, K> {
                Ref::keyed(key)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: Model, K: ReferenceKey<T, Value = $key> $($generics)*> Operand<Ref<T, K>> for $key {
            fn with_operand<O>(self, take: impl FnOnce(&Ref<T, K>) -> O) -> O {
                take(&Ref::keyed(self))
            }

            fn into_operand(self) -> Option<Ref<T, K>> {
                Some(Ref::keyed(self))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: Model, K: ReferenceKey<T, Value = $key> $($generics)*> Operand<Option<Ref<T, K>>> for $key {
            fn with_operand<O>(self, take: impl FnOnce(&Option<Ref<T, K>>) -> O) -> O {
                take(&Some(Ref::keyed(self)))
            }

            fn into_operand(self) -> Option<Option<Ref<T, K>>> {
                Some(Some(Ref::keyed(self)))
            }
        }
    )*};
}

keys! {
    [, M] Id<M>;
    [] String;
    [] i32;
    [] i64;
    [] u32;
    [] u64;
    [] bson::oid::ObjectId;
    [] bson::Uuid;
}

#[diagnostic::do_not_recommend]
impl<T: Model, K: ReferenceKey<T, Value = String>> Operand<Ref<T, K>> for &str {
    fn with_operand<O>(self, take: impl FnOnce(&Ref<T, K>) -> O) -> O {
        take(&Ref::keyed(self.to_owned()))
    }

    fn into_operand(self) -> Option<Ref<T, K>> {
        Some(Ref::keyed(self.to_owned()))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Model, K: ReferenceKey<T, Value = String>> Operand<Option<Ref<T, K>>> for &str {
    fn with_operand<O>(self, take: impl FnOnce(&Option<Ref<T, K>>) -> O) -> O {
        take(&Some(Ref::keyed(self.to_owned())))
    }

    fn into_operand(self) -> Option<Option<Ref<T, K>>> {
        Some(Some(Ref::keyed(self.to_owned())))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Model, K: ReferenceKey<T>> Operand<Ref<T, K>> for &T {
    fn with_operand<O>(self, take: impl FnOnce(&Ref<T, K>) -> O) -> O {
        take(&Ref::by(self))
    }

    fn into_operand(self) -> Option<Ref<T, K>> {
        Some(Ref::by(self))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Model, K: ReferenceKey<T>> Operand<Option<Ref<T, K>>> for &T {
    fn with_operand<O>(self, take: impl FnOnce(&Option<Ref<T, K>>) -> O) -> O {
        take(&Some(Ref::by(self)))
    }

    fn into_operand(self) -> Option<Option<Ref<T, K>>> {
        Some(Some(Ref::by(self)))
    }
}

impl<T: Model, K: ReferenceKey<T, Value: Copy>> Copy for Ref<T, K> {}

impl<T: Model, K: ReferenceKey<T>> Clone for Ref<T, K> {
    fn clone(&self) -> Ref<T, K> {
        Ref::keyed(self.key.clone())
    }
}

impl<T: Model, K: ReferenceKey<T, Value: PartialEq>> PartialEq for Ref<T, K> {
    fn eq(&self, other: &Ref<T, K>) -> bool {
        self.key == other.key
    }
}

impl<T: Model, K: ReferenceKey<T, Value: Eq>> Eq for Ref<T, K> {}

impl<T: Model, K: ReferenceKey<T, Value: PartialOrd>> PartialOrd for Ref<T, K> {
    fn partial_cmp(&self, other: &Ref<T, K>) -> Option<Ordering> {
        self.key.partial_cmp(&other.key)
    }
}

impl<T: Model, K: ReferenceKey<T, Value: Ord>> Ord for Ref<T, K> {
    fn cmp(&self, other: &Ref<T, K>) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl<T: Model, K: ReferenceKey<T, Value: Hash>> Hash for Ref<T, K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl<T: Model, K: ReferenceKey<T, Value: fmt::Debug>> fmt::Debug for Ref<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ref").field(&self.key).finish()
    }
}

impl<T: Model, K: ReferenceKey<T, Value: fmt::Display>> fmt::Display for Ref<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

impl<T: Model, K: ReferenceKey<T>> Serialize for Ref<T, K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (K::CODEC, K::SHOW) {
            (None, _) => self.key.serialize(serializer),
            (_, Some(show)) if serializer.is_human_readable() => show(&self.key)
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
            (Some(codec), _) => codec(&self.key)
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
        }
    }
}

impl<'de, T: Model, K: ReferenceKey<T>> Deserialize<'de> for Ref<T, K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ref<T, K>, D::Error> {
        let Some(read) = K::READER else {
            return K::Value::deserialize(deserializer).map(Ref::keyed);
        };
        let is_readable = deserializer.is_human_readable();
        let stored = bson::Bson::deserialize(deserializer)?;
        let decode = |stored: &bson::Bson| {
            let key = codec::encode_value(stored)?;
            read(key.as_raw_bson_ref())
        };
        let key = match K::PARSE.filter(|_| is_readable) {
            None => decode(&stored),
            // Extended JSON is what was stored.
            Some(parse) => parse(stored.clone()).or_else(|error| decode(&stored).map_err(|_| error)),
        };
        key.map(Ref::keyed).map_err(serde::de::Error::custom)
    }
}
