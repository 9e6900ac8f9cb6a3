//! Schema-design patterns for `odm`: ready, crash-safe implementations on its public API.

pub mod attributes;
pub mod clock;
pub mod computed;
pub mod counter;
#[cfg(doctest)]
mod doctests;
mod dotted;
pub mod hold;
pub mod idempotency;
mod later;
pub mod outbox;
pub mod period;
pub mod queue;
pub mod saga;
pub mod sequence;
pub mod tree;
pub mod version;
