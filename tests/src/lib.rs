//! The test suite of `odm`.
