//! Nothing: the cases are `tests/compile_fail.rs`.
