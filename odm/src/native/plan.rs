//! Choosing how a filter and a sort are answered.
