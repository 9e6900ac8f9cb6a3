//! Filters on the variants of enums.

use super::filter::Filter;
use crate::codec::encode_value;
use crate::model::{Field, Handle, Variant, VariantTest};

impl<R, F> Variant<R, F> {
    /// The value is of this variant: `p.contact.email.is()`.
    pub fn is(&self) -> Filter<R> {
        match self.test() {
            VariantTest::Exists(path) => Field::<R, ()>::new(path.clone()).exists(),
            VariantTest::Tag(path, name) => Filter::from_result(
                encode_value(*name).and_then(|name| Field::<R, ()>::new(path.clone()).equal(false, name)),
            ),
        }
    }

    /// The value is of this variant and its fields meet the condition:
    /// `p.contact.email.matches(|e| e.address.eq("ann@example.org"))`.
    ///
    /// A condition on a field alone also holds for another variant with a field of the same stored name, where serde
    /// keeps the variants' fields in the same place.
    pub fn matches(&self, condition: impl FnOnce(&F) -> Filter<R>) -> Filter<R>
    where
        F: Handle,
    {
        self.is() & condition(self)
    }
}
