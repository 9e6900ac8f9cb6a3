//! Ordered trees of bytes with snapshots and atomic commits: what the engine stands on.
