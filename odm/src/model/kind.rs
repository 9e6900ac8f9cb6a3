//! What can be done with the values of a field's type.

use super::field_type::FieldType;

/// A type whose values MongoDB orders in a way that is useful to ask for: `lt`, `gte`, `min`, `max`.
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` have no useful order",
    label = "cannot be compared by order",
    note = "numbers, strings, dates, ids, bools and newtypes of them can; for a nested document compare one of its fields",
    note = "an array is compared and sorted by its elements: `a.any()`"
)]
pub trait Ordered {}

/// A type stored as a number: `inc`, `mul`, `modulo`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number",
    label = "arithmetic needs a number",
    note = "integers, floats, `bson::Decimal128` and newtypes of them are numbers"
)]
pub trait Numeric {
    /// The least and the greatest value, where these are integers.
    #[doc(hidden)]
    const RANGE: Option<(i64, i64)> = None;

    /// Whether values can be stored as decimals, which can be greater than any double.
    #[doc(hidden)]
    const DECIMALS: bool = true;
}

/// A type stored as a string: `starts_with`, `contains`, `regex`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not text",
    label = "text operators need a string",
    note = "strings, enums without data, and newtypes of them are text"
)]
pub trait Text {}

/// A type stored as a date: what an index with `expire_after` needs.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not stored as a date",
    label = "documents expire by a date",
    note = "use `bson::DateTime` (or a vector of them, an option or a newtype)"
)]
pub trait Date {}

/// A type stored as an array.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array",
    label = "array operators need a `Vec` or a set",
    note = "for a nested array reach its element first: `.any()`, `.at(0)`"
)]
pub trait ArrayType {
    /// The type of the elements.
    type Item;

    /// An array of this one element, where one can be made: for arrays with their own serde codec.
    #[doc(hidden)]
    fn one(element: Self::Item) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = element;
        None
    }
}

/// A type stored as a document whose field names are data.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a map",
    label = "only maps have keys",
    note = "the fields of an embedded document are reached by name: `b.address.city`"
)]
pub trait MapType {
    /// The type of the values.
    type Value;
}

/// A map whose keys are known by their type.
#[diagnostic::on_unimplemented(
    message = "the keys of `{Self}` have no type",
    label = "not a `BTreeMap` or `HashMap`"
)]
pub trait MapKey: MapType {
    /// The type of the keys.
    type Key;
}

/// A type that is stored as another one: a newtype, or an enum without data (stored as a string).
///
/// Whatever can be done with values of `Inner` can be done with those of the newtype.
// Reported where an operator needs the element type of an array, the value type of a map or the step of a number.
#[diagnostic::on_unimplemented(
    message = "fields of type `{Self}` do not have this operator",
    label = "not for `{Self}`",
    note = "`inc` and `mul` are for numbers; `push`, `has`, `size`, `any` and their like for arrays; `key` for maps"
)]
pub trait Newtype: FieldType {
    /// What is stored.
    type Inner;

    /// Whether it refers to a document, by the value that it holds.
    #[doc(hidden)]
    const IS_REFERENCE: bool = false;
}

#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: Ordered>> Ordered for T {}
#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: Numeric>> Numeric for T {
    const RANGE: Option<(i64, i64)> = T::Inner::RANGE;
    const DECIMALS: bool = T::Inner::DECIMALS;
}
#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: Text>> Text for T {}
#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: Date>> Date for T {}

#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: ArrayType>> ArrayType for T {
    type Item = <T::Inner as ArrayType>::Item;
}

#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: MapType>> MapType for T {
    type Value = <T::Inner as MapType>::Value;
}

impl<T: Ordered> Ordered for Option<T> {}
impl<T: Numeric> Numeric for Option<T> {
    const RANGE: Option<(i64, i64)> = T::RANGE;
    const DECIMALS: bool = T::DECIMALS;
}
impl<T: Text> Text for Option<T> {}
impl<T: Date> Date for Option<T> {}

impl<T: ArrayType> ArrayType for Option<T> {
    type Item = T::Item;

    fn one(element: T::Item) -> Option<Option<T>> {
        T::one(element).map(Some)
    }
}

impl<T: MapType> MapType for Option<T> {
    type Value = T::Value;
}

impl<T: MapKey> MapKey for Option<T> {
    type Key = T::Key;
}
