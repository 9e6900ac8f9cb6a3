//! Executing plans and writes.
