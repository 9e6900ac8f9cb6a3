//! Exact arithmetic and comparison over the four numeric types.
