//! Schema-design patterns for `odm`: ready, crash-safe implementations on its public API.

pub mod attributes;
pub mod clock;
pub mod computed;
pub mod counter;
#[cfg(doctest)]
mod doctests;
mod dotted;
pub mod gridfs;
mod hexadecimal;
pub mod hold;
pub mod idempotency;
mod later;
#[cfg(feature = "money")]
pub mod money;
pub mod outbox;
pub mod period;
pub mod queue;
pub mod saga;
#[cfg(feature = "time")]
pub mod time;
pub mod sequence;
#[cfg(feature = "search")]
pub mod search;
pub mod tree;
pub mod version;
