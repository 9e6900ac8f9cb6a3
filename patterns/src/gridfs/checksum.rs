//! Sums over contents: SHA-256 of our files, MD5 of old ones.

use md5::Md5;
use sha2::{Digest, Sha256};

use super::{GridFsError, StoredFile};
use crate::hexadecimal::hexadecimal;

/// Which sum a file carries, and what of the content went by.
#[derive(Clone, Debug)]
pub(super) enum Checksum {
    Sha256(Box<Sha256>),
    Md5(Box<Md5>),
    None,
}

impl Checksum {
    /// That of a file's document.
    pub(super) fn of(file: &StoredFile) -> Checksum {
        match (&file.sha256, &file.md5) {
            (Some(_), _) => Checksum::sha256(),
            (None, Some(_)) => Checksum::Md5(Box::default()),
            (None, None) => Checksum::None,
        }
    }

    pub(super) fn sha256() -> Checksum {
        Checksum::Sha256(Box::default())
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Checksum::Sha256(sum) => sum.update(bytes),
            Checksum::Md5(sum) => sum.update(bytes),
            Checksum::None => {}
        }
    }

    /// The sum in hexadecimal digits.
    pub(super) fn finish(self) -> Option<String> {
        match self {
            Checksum::Sha256(sum) => Some(hexadecimal(&sum.finalize())),
            Checksum::Md5(sum) => Some(hexadecimal(&sum.finalize())),
            Checksum::None => None,
        }
    }

    /// Whether it is what the file's document says.
    pub(super) fn check(self, file: &StoredFile) -> Result<(), GridFsError> {
        let expected = file.sha256.as_ref().or(file.md5.as_ref());
        match (self.finish(), expected) {
            (Some(found), Some(expected)) if !found.eq_ignore_ascii_case(expected) => {
                Err(GridFsError::Checksum {
                    id: file.id.clone(),
                    expected: expected.clone(),
                    found,
                })
            }
            _ => Ok(()),
        }
    }
}
