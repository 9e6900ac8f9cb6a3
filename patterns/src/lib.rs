//! Schema-design patterns for `odm`: ready, crash-safe implementations on its public API.

pub mod approximation;
pub mod archive;
pub mod bucket;
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
pub mod lifecycle;
mod numbered;
pub mod outbox;
pub mod outlier;
pub mod queue;
pub mod recent;
pub mod saga;
pub mod subset;
pub mod tree;
mod value;
pub mod version;
