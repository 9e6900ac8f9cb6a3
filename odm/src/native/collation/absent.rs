//! The rules of languages in a build without the feature `collation`: none.

use std::cmp::Ordering;

use super::super::fault::{Fault, Result};
use super::settings::Settings;

/// No language's rules.
pub(super) enum Rules {}

/// No keys are made.
pub(super) const KEYS: &str = "";

impl Rules {
    pub(super) fn new(settings: &Settings) -> Result<Rules> {
        Err(Fault::unsupported(format!(
            "the collation '{}' needs the feature 'collation' of the crate odm, which this program is built without",
            settings.locale.with_variant(settings.variant)
        )))
    }

    pub(super) fn compare(&self, _: &str, _: &str) -> Ordering {
        match *self {}
    }

    pub(super) fn write_key(&self, _: &str, _: &mut Vec<u8>) {
        match *self {}
    }
}
