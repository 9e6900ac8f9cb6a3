//! The public test data beside the checkout.

use std::path::PathBuf;

/// A file or folder of the shared data; `None`, with a line that says so, where it is absent.
pub fn path(name: &str) -> Option<PathBuf> {
    let root = match std::env::var_os("ODM_TEST_DATA") {
        Some(root) => PathBuf::from(root),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
    };
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!(
        "skipped: the public test data is not here ({}); ODM_TEST_DATA can name its folder",
        path.display()
    );
    None
}
