//! Fields that may stand in a document once.

use std::collections::HashSet;

use super::super::fault::{Fault, Result};
use super::doc::Element;

/// The fields seen in a document with declared fields.
#[derive(Debug)]
pub(crate) struct Once<'a, 'n> {
    /// By what name errors call the document.
    within: &'n str,
    seen: HashSet<&'a [u8]>,
}

impl<'a, 'n> Once<'a, 'n> {
    pub(crate) fn within(within: &'n str) -> Once<'a, 'n> {
        Once {
            within,
            seen: HashSet::new(),
        }
    }

    /// Takes the next field.
    ///
    /// # Errors
    /// Code 40413 when there was one of this name.
    pub(crate) fn see(&mut self, field: &Element<'a>) -> Result<()> {
        match self.seen.insert(field.name()) {
            true => Ok(()),
            false => Err(Fault::new(
                40413,
                format!(
                    "BSON field '{}.{}' is a duplicate field",
                    self.within,
                    field.name_str()
                ),
            )),
        }
    }
}
