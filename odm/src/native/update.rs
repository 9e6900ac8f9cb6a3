//! Updates: parsed once, applied to one document at a time.
