//! The field types of the standard library and of `bson`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::Arc;

use super::field::Field;
use super::field_type::FieldType;
use super::id::Id;
use super::key::IdType;
use super::kind::{ArrayType, Date, MapKey, MapType, Numeric, Ordered, Text};
use super::lazy::Lazy;
use crate::lifecycle::{Declared, Untyped};

/// A type that is one plain value: its handle is a [`Field`].
macro_rules! plain {
    ([$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> FieldType for $type {
            type Handle<R> = Field<R, $type>;
            type Optional<R> = Field<R, Option<$type>>;
        }
    };
}

macro_rules! values {
    ($($type:ty: $($kind:ident)*;)*) => {$(
        plain!([] $type);
        $(impl $kind for $type {})*
    )*};
}

values! {
    bool: Ordered IdType;
    i8: Ordered IdType;
    i16: Ordered IdType;
    i32: Ordered IdType;
    i64: Ordered IdType;
    isize: Ordered IdType;
    u8: Ordered IdType;
    u16: Ordered IdType;
    u32: Ordered IdType;
    u64: Ordered IdType;
    usize: Ordered IdType;
    f32: Ordered IdType;
    f64: Ordered IdType;
    std::num::NonZeroI8: Ordered IdType;
    std::num::NonZeroI16: Ordered IdType;
    std::num::NonZeroI32: Ordered IdType;
    std::num::NonZeroI64: Ordered IdType;
    std::num::NonZeroU8: Ordered IdType;
    std::num::NonZeroU16: Ordered IdType;
    std::num::NonZeroU32: Ordered IdType;
    std::num::NonZeroU64: Ordered IdType;
    char: Ordered Text IdType;
    String: Ordered Text IdType;
    Box<str>: Ordered Text IdType;
    Arc<str>: Ordered Text IdType;
    Rc<str>: Ordered Text IdType;
    std::path::PathBuf: Ordered Text IdType;
    std::time::Duration: Ordered;
    std::time::SystemTime: Ordered;
    std::net::IpAddr: ;
    std::net::Ipv4Addr: ;
    std::net::Ipv6Addr: ;
    std::net::SocketAddr: ;
    bson::oid::ObjectId: Ordered IdType;
    bson::DateTime: Ordered Date IdType;
    bson::Timestamp: Ordered IdType;
    bson::Decimal128: Ordered Numeric IdType;
    bson::Uuid: Ordered IdType;
    bson::Binary: Ordered IdType;
    bson::Regex: ;
    bson::JavaScriptCodeWithScope: ;
    bson::RawArrayBuf: ;
}

/// The types of values that no type says anything of.
macro_rules! untyped {
    ($($type:ty: $($kind:ident)*;)*) => {$(
        impl FieldType for $type {
            type Handle<R> = Field<R, $type>;
            type Optional<R> = Field<R, Option<$type>>;

            const DECLARED: &'static Declared = <$type as Untyped>::UNTYPED;
        }
        $(impl $kind for $type {})*
    )*};
}

untyped! {
    bson::Bson: Ordered Numeric Text Date IdType;
    bson::RawBson: Ordered Numeric Text Date IdType;
    bson::Document: IdType;
    bson::RawDocumentBuf: IdType;
}

impl Numeric for f32 {
    const DECIMALS: bool = false;
}

impl Numeric for f64 {
    const DECIMALS: bool = false;
}

/// Integers and what they hold, of which no more can be stored than 64 bits with a sign.
macro_rules! integers {
    ($($type:ty: $least:expr, $most:expr;)*) => {$(
        impl Numeric for $type {
            const RANGE: Option<(i64, i64)> = Some(($least, $most));
            const DECIMALS: bool = false;
        }
    )*};
}

integers! {
    i8: i8::MIN as i64, i8::MAX as i64;
    i16: i16::MIN as i64, i16::MAX as i64;
    i32: i32::MIN as i64, i32::MAX as i64;
    i64: i64::MIN, i64::MAX;
    isize: isize::MIN as i64, isize::MAX as i64;
    u8: 0, u8::MAX as i64;
    u16: 0, u16::MAX as i64;
    u32: 0, u32::MAX as i64;
    u64: 0, i64::MAX;
    usize: 0, i64::MAX;
    std::num::NonZeroI8: i8::MIN as i64, i8::MAX as i64;
    std::num::NonZeroI16: i16::MIN as i64, i16::MAX as i64;
    std::num::NonZeroI32: i32::MIN as i64, i32::MAX as i64;
    std::num::NonZeroI64: i64::MIN, i64::MAX;
    std::num::NonZeroU8: 1, u8::MAX as i64;
    std::num::NonZeroU16: 1, u16::MAX as i64;
    std::num::NonZeroU32: 1, u32::MAX as i64;
    std::num::NonZeroU64: 1, i64::MAX;
}

plain!([M] Id<M>);
impl<M> Ordered for Id<M> {}
impl<M> IdType for Id<M> {}

impl ArrayType for bson::Bson {
    type Item = bson::Bson;
}

impl ArrayType for bson::RawBson {
    type Item = bson::RawBson;
}

impl ArrayType for bson::RawArrayBuf {
    type Item = bson::RawBson;
}

impl MapType for bson::Bson {
    type Value = bson::Bson;
}

impl MapType for bson::RawBson {
    type Value = bson::RawBson;
}

impl MapType for bson::Document {
    type Value = bson::Bson;
}

impl MapType for bson::RawDocumentBuf {
    type Value = bson::RawBson;
}

macro_rules! arrays {
    ($($type:ident<T $(, $other:ident)?> where [$($bounds:tt)*];)*) => {$(
        plain!([T $(, $other)?] $type<T $(, $other)?>);

        impl<T $(, $other)?> ArrayType for $type<T $(, $other)?>
        where
            $($bounds)*
        {
            type Item = T;

            fn one(element: T) -> Option<Self> {
                Some(Self::from_iter([element]))
            }
        }

        impl<T: Date $(, $other)?> Date for $type<T $(, $other)?> {}
    )*};
}

arrays! {
    Vec<T> where [];
    VecDeque<T> where [];
    LinkedList<T> where [];
    BinaryHeap<T> where [T: Ord];
    BTreeSet<T> where [T: Ord];
    HashSet<T, S> where [T: Eq + Hash, S: BuildHasher + Default];
}

plain!([T, const N: usize] [T; N]);

impl<T, const N: usize> ArrayType for [T; N] {
    type Item = T;
}

macro_rules! boxed_slices {
    ($($type:ident)*) => {$(
        plain!([T] $type<[T]>);

        impl<T> ArrayType for $type<[T]> {
            type Item = T;

            fn one(element: T) -> Option<Self> {
                Some([element].into())
            }
        }
    )*};
}

boxed_slices!(Box Arc Rc);

plain!([K, V] BTreeMap<K, V>);
plain!([K, V, S] HashMap<K, V, S>);

impl<K, V> MapType for BTreeMap<K, V> {
    type Value = V;
}

impl<K, V> MapKey for BTreeMap<K, V> {
    type Key = K;
}

impl<K, V, S> MapType for HashMap<K, V, S> {
    type Value = V;
}

impl<K, V, S> MapKey for HashMap<K, V, S> {
    type Key = K;
}

/// Tuples are stored as arrays of mixed type, so they are compared and set whole.
macro_rules! tuples {
    ($(($($element:ident),+))*) => {$(
        plain!([$($element),+] ($($element,)+));
    )*};
}

tuples! {
    (A)
    (A, B)
    (A, B, C)
    (A, B, C, D)
    (A, B, C, D, E)
    (A, B, C, D, E, F)
    (A, B, C, D, E, F, G)
    (A, B, C, D, E, F, G, H)
}

impl<T: FieldType> FieldType for Option<T> {
    type Handle<R> = T::Optional<R>;
    type Optional<R> = Field<R, Option<Option<T>>>;

    fn declared() -> &'static Declared {
        T::declared()
    }
}

impl<T: FieldType> FieldType for Box<T> {
    type Handle<R> = Lazy<T::Handle<R>>;
    type Optional<R> = Lazy<T::Optional<R>>;

    fn declared() -> &'static Declared {
        T::declared()
    }
}

impl<T: FieldType> FieldType for Arc<T> {
    type Handle<R> = T::Handle<R>;
    type Optional<R> = T::Optional<R>;

    fn declared() -> &'static Declared {
        T::declared()
    }
}

impl<T: FieldType> FieldType for Rc<T> {
    type Handle<R> = T::Handle<R>;
    type Optional<R> = T::Optional<R>;

    fn declared() -> &'static Declared {
        T::declared()
    }
}

impl<T: ToOwned<Owned: FieldType> + ?Sized> FieldType for Cow<'static, T> {
    type Handle<R> = <T::Owned as FieldType>::Handle<R>;
    type Optional<R> = <T::Owned as FieldType>::Optional<R>;

    fn declared() -> &'static Declared {
        <T::Owned as FieldType>::declared()
    }
}
