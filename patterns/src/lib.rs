//! Schema-design patterns for `odm`: ready, crash-safe implementations on its public API.

pub mod clock;
#[cfg(doctest)]
mod doctests;
pub mod queue;
pub mod tree;
