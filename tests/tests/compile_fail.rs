//! What does not compile, and what rustc says about it: one golden for each rule, by theme.
//!
//! `TRYBUILD=overwrite cargo test -p odm-tests --test compile_fail` writes the goldens anew.

#[test]
fn what_is_wrong_is_said_where_it_is_wrong() {
    trybuild::TestCases::new().compile_fail("tests/ui/*/*.rs");
}
