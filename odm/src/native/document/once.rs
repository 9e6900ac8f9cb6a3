//! Fields that may stand in a document once.

use std::collections::HashSet;

use super::super::fault::{Fault, Result};
use super::doc::Element;

/// How many names are compared one by one.
const FEW: usize = 24;

/// The fields seen in a document with declared fields.
#[derive(Debug)]
pub(crate) struct Once<'a, 'n> {
    /// By what name errors call the document.
    within: &'n str,
    few: Vec<&'a [u8]>,
    many: HashSet<&'a [u8]>,
}

impl<'a, 'n> Once<'a, 'n> {
    pub(crate) fn within(within: &'n str) -> Once<'a, 'n> {
        Once {
            within,
            few: Vec::new(),
            many: HashSet::new(),
        }
    }

    /// Takes the next field.
    ///
    /// # Errors
    /// Code 40413 when there was one of this name.
    pub(crate) fn see(&mut self, field: &Element<'a>) -> Result<()> {
        let name = field.name();
        let is_new = match self.few.contains(&name) {
            true => false,
            false if self.few.len() < FEW => {
                self.few.push(name);
                true
            }
            false => self.many.insert(name),
        };
        match is_new {
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
