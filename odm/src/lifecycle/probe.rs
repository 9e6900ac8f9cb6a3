//! What is declared of any type: of the elements of arrays and the values of maps too, where they declare something.

use std::marker::PhantomData;

use super::declared::Declared;
use crate::model::{ArrayType, FieldType, MapType};

/// Asks a type what it declares, by method resolution: the most telling of the traits below that it has answers
/// `(&&&&&Probe::<T>::NEW).declared()`. A trait bound could not, because the elements of an array may be of any type.
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
