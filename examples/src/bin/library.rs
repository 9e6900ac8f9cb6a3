//! A lending library.
fn main() {}
