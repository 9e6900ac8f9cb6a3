//! The cases: plain async functions over `&Db`.

pub mod traps;
