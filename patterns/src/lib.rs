//! Schema-design patterns for `odm`: ready, crash-safe implementations on its public API.

pub mod clock;
pub mod computed;
#[cfg(doctest)]
mod doctests;
mod dotted;
pub mod hold;
pub mod idempotency;
mod later;
pub mod outbox;
pub mod queue;
pub mod saga;
#[cfg(feature = "search")]
pub mod search;
pub mod tree;
pub mod version;
