//! The types of the fields that say whose a document is.

use std::any::Any;
use std::borrow::Cow;

use bson::RawBson;
use serde::Serialize;

use super::id::Id;
use super::kind::Newtype;
use crate::codec::encode_value;
use crate::error::Result;

/// A type that says whose a document is: what `#[odm(tenant)]` needs. One plain value: integers, strings, ids, UUIDs,
/// [references](crate::Ref), newtypes of them, enums without data, and an `Option` of any of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot say whose a document is",
    label = "not one plain value",
    note = "a tenant is an id, a number, a string, a UUID, a reference, a newtype of one of them, or an `Option` of it",
    note = "a type of another crate: `#[odm(opaque)]` or `#[serde(with = ..)]` on the field; what it is stored as is looked at when a database is bound"
)]
pub trait TenantType: Serialize + Sized + 'static {
    /// The tenant that a database is bound to, as it is stored in a field of this type; nothing for one of another type.
    #[doc(hidden)]
    fn encode_tenant(tenant: &dyn Any) -> Option<Result<RawBson>> {
        tenant.downcast_ref::<Self>().map(encode_value)
    }
}

macro_rules! tenants {
    ($($type:ty)*) => {
        $(impl TenantType for $type {})*
    };
}

tenants! {
    i8 i16 i32 i64 isize u8 u16 u32 u64 usize
    std::num::NonZeroI8 std::num::NonZeroI16 std::num::NonZeroI32 std::num::NonZeroI64
    std::num::NonZeroU8 std::num::NonZeroU16 std::num::NonZeroU32 std::num::NonZeroU64
    char bool
    bson::oid::ObjectId bson::Uuid
}

impl<M: 'static> TenantType for Id<M> {}

/// Texts, for which a literal may stand.
macro_rules! texts {
    ($($type:ty)*) => {$(
        impl TenantType for $type {
            fn encode_tenant(tenant: &dyn Any) -> Option<Result<RawBson>> {
                match tenant.downcast_ref::<&'static str>() {
                    Some(text) => Some(encode_value(text)),
                    None => tenant.downcast_ref::<$type>().map(encode_value),
                }
            }
        }
    )*};
}

texts!(String Box<str> Cow<'static, str>);

impl<T: TenantType> TenantType for Option<T> {
    fn encode_tenant(tenant: &dyn Any) -> Option<Result<RawBson>> {
        T::encode_tenant(tenant)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: TenantType> + Serialize + 'static> TenantType for T {
    fn encode_tenant(tenant: &dyn Any) -> Option<Result<RawBson>> {
        let own = tenant.downcast_ref::<T>().map(encode_value);
        match T::IS_REFERENCE {
            true => own.or_else(|| T::Inner::encode_tenant(tenant)),
            false => own,
        }
    }
}
