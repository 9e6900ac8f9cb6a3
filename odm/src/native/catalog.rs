//! Which collections and indexes exist.
