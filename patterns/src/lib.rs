//! Schema-design patterns for `odm`.
