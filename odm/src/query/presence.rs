//! Filters by presence and stored type.

use bson::RawBson;
use bson::raw::cstr;

use super::bson_type::BsonType;
use super::encode::Tested;
use super::filter::{Filter, array};
use super::traits::Nullable;
use crate::model::Field;

impl<R, T> Field<R, T> {
    /// The document has the field, be it null.
    pub fn exists(&self) -> Filter<R> {
        Filter::from_result(self.operator(Tested::Value, cstr!("$exists"), Ok(RawBson::Boolean(true))))
    }

    /// The document has no such field.
    pub fn missing(&self) -> Filter<R> {
        !self.exists()
    }

    /// The value is stored with this type, or is an array with such an element.
    pub fn has_type(&self, kind: BsonType) -> Filter<R> {
        let tested = Tested::by(false, kind == BsonType::Array);
        Filter::from_result(self.operator(tested, cstr!("$type"), Ok(RawBson::from(kind.alias()))))
    }

    /// The value is stored with one of these types.
    pub fn has_type_in(&self, kinds: impl IntoIterator<Item = BsonType>) -> Filter<R> {
        let kinds: Vec<BsonType> = kinds.into_iter().collect();
        let tested = Tested::by(false, kinds.contains(&BsonType::Array));
        let kinds = array(kinds.into_iter().map(|kind| RawBson::from(kind.alias())));
        Filter::from_result(self.operator(tested, cstr!("$type"), Ok(kinds)))
    }
}

impl<R, T> Field<R, T> {
    /// A null is stored. See [`is_none`](Field::is_none) for null or missing.
    pub fn is_null(&self) -> Filter<R>
    where
        T: Nullable,
    {
        self.has_type(BsonType::Null)
    }

    /// There is no value: null is stored, or the field is missing.
    pub fn is_none(&self) -> Filter<R>
    where
        T: Nullable,
    {
        Filter::from_result(self.equal(false, RawBson::Null))
    }

    /// There is a value: the exact complement of [`is_none`](Field::is_none).
    pub fn is_some(&self) -> Filter<R>
    where
        T: Nullable,
    {
        !self.is_none()
    }
}
