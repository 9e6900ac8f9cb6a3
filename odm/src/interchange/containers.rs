//! Options, vectors, sets and maps of what is stored as its BSON type.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::AsBson;

/// A borrowed value on its way out.
struct Out<'a, T>(&'a T);

impl<T: AsBson> Serialize for Out<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_as_bson(serializer)
    }
}

/// A value that came in.
struct In<T>(T);

impl<'de, T: AsBson> Deserialize<'de> for In<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<In<T>, D::Error> {
        T::deserialize_as_bson(deserializer).map(In)
    }
}

impl<T: AsBson> AsBson for Option<T> {
    fn serialize_as_bson<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(Out).serialize(serializer)
    }

    fn deserialize_as_bson<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        let value = Option::<In<T>>::deserialize(deserializer)?;
        Ok(value.map(|value| value.0))
    }
}

impl<T: AsBson> AsBson for Box<T> {
    fn serialize_as_bson<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize_as_bson(serializer)
    }

    fn deserialize_as_bson<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<T>, D::Error> {
        T::deserialize_as_bson(deserializer).map(Box::new)
    }
}

macro_rules! sequences {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> AsBson for $type {
            fn serialize_as_bson<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
                serializer.collect_seq(self.iter().map(Out))
            }

            fn deserialize_as_bson<'de, Z: Deserializer<'de>>(deserializer: Z) -> Result<Self, Z::Error> {
                let values = Vec::<In<T>>::deserialize(deserializer)?;
                Ok(values.into_iter().map(|value| value.0).collect())
            }
        }
    )*};
}

sequences! {
    [T: AsBson] Vec<T>;
    [T: AsBson] VecDeque<T>;
    [T: AsBson + Ord] BTreeSet<T>;
    [T: AsBson + Eq + Hash, S: BuildHasher + Default] HashSet<T, S>;
}

macro_rules! maps {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> AsBson for $type {
            fn serialize_as_bson<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
                serializer.collect_map(self.iter().map(|(key, value)| (key, Out(value))))
            }

            fn deserialize_as_bson<'de, Z: Deserializer<'de>>(deserializer: Z) -> Result<Self, Z::Error> {
                let values = BTreeMap::<K, In<T>>::deserialize(deserializer)?;
                Ok(values.into_iter().map(|(key, value)| (key, value.0)).collect())
            }
        }
    )*};
}

maps! {
    [K: Serialize + for<'k> Deserialize<'k> + Ord, T: AsBson] BTreeMap<K, T>;
    [K: Serialize + for<'k> Deserialize<'k> + Ord + Hash, T: AsBson, S: BuildHasher + Default] HashMap<K, T, S>;
}
