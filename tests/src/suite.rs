//! The cases: plain async functions over `&Db`. Each theme is a module; `registry` lists the cases.

mod models;

pub mod traps;
pub mod writes;
pub mod filters;
pub mod updates;
pub mod reads;
pub mod indexes;
pub mod transactions;
pub mod collections;
