//! Local time.
