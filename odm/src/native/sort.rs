//! Sorting documents by a sort specification.
