//! The field that says whose a document is.

use std::any::Any;
use std::fmt;

use bson::RawBson;
use serde::Serialize;

use crate::codec::encode_value;
use crate::db::Tenancy;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{SerializeWith, TenantType, encode_with};

/// What a model declares of its tenants.
#[derive(Clone, Copy)]
pub(crate) struct Tenant {
    /// The stored name of the field.
    pub(crate) name: &'static str,
    ty: fn() -> &'static str,
    encode: EncodeTenant,
}

/// The tenant that a database is bound to, as a field stores it; nothing for one of another type.
pub(crate) type EncodeTenant = fn(&dyn Any) -> Option<Result<RawBson>>;

impl Tenant {
    pub(super) const fn new<T>(name: &'static str, encode: EncodeTenant) -> Tenant {
        Tenant {
            name,
            ty: std::any::type_name::<T>,
            encode,
        }
    }

    /// The value that the field has in the documents that a database shows; none where it shows those of all tenants.
    ///
    /// # Errors
    /// `Tenant` for a database that is bound to no tenant or to one of another type, naming the field; `Encode`.
    pub(crate) fn value(&self, tenancy: &Tenancy) -> Result<Option<RawBson>> {
        let bound = match tenancy {
            Tenancy::Across => return Ok(None),
            Tenancy::Unbound => {
                let message = "the documents belong to tenants, and the database is bound to none: take \
                               `for_tenant(..)`, or `across_tenants()` for those of all";
                return Err(self.problem(message));
            }
            Tenancy::Of(bound) => bound,
        };
        let Some(value) = (self.encode)(bound.value()) else {
            let message = format!(
                "the database is bound to a tenant of type `{}`, and the field that says whose a document is has the type \
                 `{}`",
                bound.type_name(),
                (self.ty)()
            );
            return Err(self.problem(message));
        };
        match value.map_err(|error| error.with_path(self.name))? {
            RawBson::Null
            | RawBson::Undefined
            | RawBson::Array(_)
            | RawBson::Document(_)
            | RawBson::RegularExpression(_) => Err(self.problem(format!(
                "a tenant is one plain value, and this `{}` is stored as another",
                bound.type_name()
            ))),
            value => Ok(Some(value)),
        }
    }

    /// An error about the field.
    pub(crate) fn problem(&self, message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::Tenant, message).with_path(self.name)
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tenant")
            .field("name", &self.name)
            .field("type", &(self.ty)())
            .finish()
    }
}

/// The tenant of a database as a field of this type stores it.
///
/// # Errors
/// `Encode` when the type refuses it.
pub fn tenant<T: TenantType>(tenant: &dyn Any) -> Option<Result<RawBson>> {
    T::encode_tenant(tenant)
}

/// As [`tenant`], for a field whose type says nothing of itself.
///
/// # Errors
/// As [`tenant`].
pub fn tenant_opaque<T: Serialize + 'static>(tenant: &dyn Any) -> Option<Result<RawBson>> {
    tenant.downcast_ref::<T>().map(encode_value)
}

/// As [`tenant`], for a field with its own codec.
///
/// # Errors
/// As [`tenant`].
pub fn tenant_with<T: 'static, W: SerializeWith<T>>(tenant: &dyn Any) -> Option<Result<RawBson>> {
    tenant.downcast_ref::<T>().map(encode_with::<T, W>)
}
