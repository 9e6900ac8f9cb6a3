//! Schema-design patterns for `odm`: ready, crash-safe implementations on its public API.

pub mod archive;
pub mod clock;
pub mod computed;
#[cfg(doctest)]
mod doctests;
mod dotted;
pub mod history;
pub mod hold;
pub mod idempotency;
mod keyed;
mod later;
pub mod outbox;
pub mod queue;
pub mod saga;
pub mod tree;
mod value;
pub mod version;
