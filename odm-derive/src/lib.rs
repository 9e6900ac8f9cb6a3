//! Derive macros of `odm`.
