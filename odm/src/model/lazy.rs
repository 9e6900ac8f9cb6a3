//! Handles that are made when they are used.

use std::cell::OnceCell;
use std::fmt;
use std::ops::Deref;

use super::field_type::Handle;
use super::path::Path;

/// The handle of a boxed field. It is made on first use, so that a type may contain a box of itself.
///
/// It derefs to the handle of what is in the box: `b.left.value`, `b.left.left.value`.
pub struct Lazy<H> {
    path: Path,
    cell: OnceCell<Box<H>>,
}

impl<H: Handle> Lazy<H> {
    /// The handle of what is in the box.
    pub fn get(self) -> H {
        H::at(self.path)
    }
}

impl<H> Handle for Lazy<H> {
    fn at(path: Path) -> Lazy<H> {
        Lazy {
            path,
            cell: OnceCell::new(),
        }
    }
}

impl<H: Handle> Deref for Lazy<H> {
    type Target = H;

    fn deref(&self) -> &H {
        self.cell.get_or_init(|| Box::new(H::at(self.path.clone())))
    }
}

impl<H> Clone for Lazy<H> {
    fn clone(&self) -> Lazy<H> {
        Handle::at(self.path.clone())
    }
}

impl<H> fmt::Debug for Lazy<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lazy({})", self.path)
    }
}
