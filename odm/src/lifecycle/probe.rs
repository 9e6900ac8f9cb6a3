//! What is declared of any type: of the elements of arrays and the values of maps too, where they declare something.

use std::marker::PhantomData;

use super::declared::Declared;
use crate::model::{ArrayType, FieldType, MapType};

/// A value of BSON of which no type says what is in it.
pub trait Untyped {
    /// What is declared of it.
    const UNTYPED: &'static Declared;
}

impl Untyped for bson::Bson {
    const UNTYPED: &'static Declared = &Declared::Untyped;
}

impl Untyped for bson::RawBson {
    const UNTYPED: &'static Declared = &Declared::Untyped;
}

impl Untyped for bson::Document {
    const UNTYPED: &'static Declared = &Declared::Map(|| &Declared::Untyped);
}

impl Untyped for bson::RawDocumentBuf {
    const UNTYPED: &'static Declared = &Declared::Map(|| &Declared::Untyped);
}

impl<T: Untyped> Untyped for Option<T> {
    const UNTYPED: &'static Declared = T::UNTYPED;
}

/// Asks a type what it declares, by method resolution: the most telling of the traits below that it has answers
/// `(&&&&&&&&&&Probe::<T>::NEW).declared()`. A trait bound could not, because the elements of an array may be of any type.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// The probe.
    pub const NEW: Probe<T> = Probe(PhantomData);
}

macro_rules! probes {
    ($($trait:ident: $level:ty, [$($bound:tt)+] => $declared:expr;)+) => {$(
        /// One of the traits that [`Probe`] is asked by.
        pub trait $trait {
            /// What the type declares.
            fn declared(&self) -> &'static Declared;
        }

        impl<T> $trait for $level
        where
            $($bound)+
        {
            fn declared(&self) -> &'static Declared {
                $declared
            }
        }
    )+};
}

probes! {
    OfUntyped: &&&&&&&&&Probe<T>, [T: Untyped] => T::UNTYPED;
    OfMapOfUntyped: &&&&&&&&Probe<T>, [T: MapType<Value: Untyped>] =>
        const { &Declared::Map(|| <T::Value as Untyped>::UNTYPED) };
    OfMapOfMapsOfUntyped: &&&&&&&Probe<T>, [T: MapType<Value: MapType<Value: Untyped>>] =>
        const { &Declared::Map(|| const { &Declared::Map(|| <<T::Value as MapType>::Value as Untyped>::UNTYPED) }) };
    OfMapOfMapsOfMaps: &&&&&&Probe<T>, [T: MapType<Value: MapType<Value: MapType<Value: FieldType>>>] =>
        const {
            &Declared::Map(|| const {
                &Declared::Map(|| const {
                    &Declared::Map(<<<T::Value as MapType>::Value as MapType>::Value as FieldType>::declared)
                })
            })
        };
    OfMapOfMaps: &&&&&Probe<T>, [T: MapType<Value: MapType<Value: FieldType>>] =>
        const { &Declared::Map(|| const { &Declared::Map(<<T::Value as MapType>::Value as FieldType>::declared) }) };
    OfMapOfArrays: &&&&Probe<T>, [T: MapType<Value: ArrayType<Item: FieldType>>] =>
        const { &Declared::Map(|| const { &Declared::Array(<<T::Value as ArrayType>::Item as FieldType>::declared) }) };
    OfArrayOfArrays: &&&Probe<T>, [T: ArrayType<Item: ArrayType<Item: FieldType>>] =>
        const { &Declared::Array(|| const { &Declared::Array(<<T::Item as ArrayType>::Item as FieldType>::declared) }) };
    OfMap: &&Probe<T>, [T: MapType<Value: FieldType>] =>
        const { &Declared::Map(<T::Value as FieldType>::declared) };
    OfArray: &Probe<T>, [T: ArrayType<Item: FieldType>] =>
        const { &Declared::Array(<T::Item as FieldType>::declared) };
    OfField: Probe<T>, [T: FieldType] => T::declared();
}

/// A type that is no field: nothing is known of it.
pub trait OfAny {
    /// Nothing.
    fn declared(self) -> &'static Declared;
}

impl<T> OfAny for Probe<T> {
    fn declared(self) -> &'static Declared {
        Declared::nothing()
    }
}

impl<T> Clone for Probe<T> {
    fn clone(&self) -> Probe<T> {
        *self
    }
}

impl<T> Copy for Probe<T> {}
