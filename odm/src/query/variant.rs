//! Filters on the variants of enums.

use super::filter::{Filter, Node};
use crate::codec::encode_value;
use crate::model::{Field, Variant, VariantTest};

impl<R, F> Variant<R, F> {
    /// The value is of this variant: `p.contact.email.is()`.
    pub fn is(&self) -> Filter<R> {
        match self.test() {
            VariantTest::Exists(path) => Field::<R, ()>::new(path.clone()).exists(),
            VariantTest::Tag(path, name) => Filter::from_result(
                Field::<R, ()>::new(path.clone())
                    .query_path()
                    .and_then(|path| Ok(Node::equal(path, encode_value(*name)?))),
            ),
        }
    }
}
