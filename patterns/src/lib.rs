//! Schema-design patterns for `odm`: ready, crash-safe implementations on its public API.

pub mod approximation;
pub mod archive;
pub mod attributes;
mod beside;
pub mod bucket;
pub mod clock;
pub mod computed;
pub mod counter;
#[cfg(doctest)]
mod doctests;
mod dotted;
mod exact;
#[allow(
    clippy::result_large_err,
    reason = "errors name the file by its id, and are rare"
)]
pub mod gridfs;
mod hexadecimal;
#[allow(
    clippy::result_large_err,
    reason = "errors name the document by its `_id`, and are rare"
)]
pub mod history;
pub mod hold;
pub mod idempotency;
mod identity;
mod keyed;
mod later;
pub mod lifecycle;
#[cfg(feature = "money")]
pub mod money;
mod numbered;
pub mod outbox;
pub mod outlier;
mod own;
pub mod period;
pub mod queue;
pub mod recent;
pub mod saga;
#[cfg(feature = "search")]
pub mod search;
pub mod sequence;
mod still;
pub mod subset;
#[cfg(feature = "time")]
pub mod time;
pub mod tree;
mod value;
pub mod version;
