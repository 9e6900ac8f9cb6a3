//! Schema-design patterns for `odm`: ready, crash-safe implementations on its public API.

#[cfg(doctest)]
mod doctests;
mod dotted;
pub mod hold;
pub mod idempotency;
mod later;
pub mod saga;
