//! What does not compile, and what rustc says about it: one golden for each rule, by theme.
//!
//! `TRYBUILD=overwrite cargo test -p odm-tests --test compile_fail` writes the goldens anew.

/// Set where these cases run by themselves, beside all others: they wait for one compiler after the other.
const BESIDE: &str = "ODM_TEST_COMPILE_FAIL_BESIDE";

#[test]
fn what_is_wrong_is_said_where_it_is_wrong() {
    if std::env::var_os(BESIDE).is_some() {
        eprintln!("skipped: {BESIDE} says that these cases run by themselves");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*/*.rs");
}
