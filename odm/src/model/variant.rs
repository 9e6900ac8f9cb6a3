//! Handles of enum variants.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use super::field_type::Handle;
use super::path::Path;

/// A variant of an embedded enum: tells whether a value is of this variant, and derefs to the variant's fields
/// (`b.contact.email.address`).
pub struct Variant<R, F> {
    fields: F,
    test: VariantTest,
    marker: PhantomData<fn() -> R>,
}

/// How a stored value shows which variant it is; serde's tagging decides.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum VariantTest {
    /// The field here holds this name.
    Tag(Path, &'static str),
    /// The field here exists.
    Exists(Path),
}

impl<R, F> Variant<R, F> {
    /// The variant with these fields.
    pub fn new(fields: F, test: VariantTest) -> Variant<R, F> {
        Variant {
            fields,
            test,
            marker: PhantomData,
        }
    }

    /// How a stored value shows that it is of this variant.
    pub fn test(&self) -> &VariantTest {
        &self.test
    }

    /// The fields by value.
    pub fn fields(self) -> F {
        self.fields
    }
}

impl<R, F: Handle> Deref for Variant<R, F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.fields
    }
}

impl<R, F> fmt::Debug for Variant<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Variant({:?})", self.test)
    }
}
