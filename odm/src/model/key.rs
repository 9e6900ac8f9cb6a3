//! The types of `_id`.

use super::kind::Newtype;

/// A type that `_id` can have: anything but an array.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an `_id`",
    label = "not a type for `_id`",
    note = "`_id` can be any value but an array, and is always there: `odm::Id<Self>`, a number, a string, a UUID, an embedded document, a newtype of one of them"
)]
pub trait IdType {}

#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: IdType>> IdType for T {}
