//! Wrappers around a backend: an operation log and fault injection.
