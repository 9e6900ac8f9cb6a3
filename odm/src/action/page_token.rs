//! The token of a place between two pages.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bson::{RawDocument, RawDocumentBuf};
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::query::{Keyset, Place};

const VERSION: u8 = 1;
const INCLUSIVE: u8 = 1;
/// Version, flags, the order's sum, the whole token's sum.
const HEAD: usize = 1 + 1 + 8 + 8;

/// The token of a place in an order, to begin a page at: opaque text that is safe in URLs.
///
/// It holds the sort's values of one document, and fits only the sort (and collation) that it was made by; the filter
/// may be another. It is no secret and not signed: who has it can read those values, and who knows the format can
/// make one for another place in the order, but never one that changes the filter or reads other documents.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageToken(String);

impl PageToken {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The token of what is behind or before a place; `inclusive` where the document at it may be wanted too.
    pub(super) fn new(place: &Place, order: &Order, inclusive: bool) -> Result<PageToken> {
        let values = place.to_document()?;
        let flags = if inclusive { INCLUSIVE } else { 0 };
        let mut bytes = vec![VERSION, flags];
        bytes.extend(order.sum()?.to_be_bytes());
        bytes.extend(sum(&[&bytes, values.as_bytes()]).to_be_bytes());
        bytes.extend(values.as_bytes());
        Ok(PageToken(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The place, and whether the document at it is wanted too.
    pub(super) fn read(text: &str, order: &Order) -> Result<(Place, bool)> {
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|error| damaged().with_source(error))?;
        let (Some(head), Some(values)) = (bytes.get(..HEAD), bytes.get(HEAD..)) else {
            return Err(damaged());
        };
        let (signed, own_sum) = head.split_at(HEAD - 8);
        if head[0] != VERSION {
            return Err(Error::new(
                ErrorKind::PageToken,
                "the page token is of another version; begin at the first page",
            ));
        }
        if own_sum != sum(&[signed, values]).to_be_bytes() {
            return Err(damaged());
        }
        if signed[2..] != order.sum()?.to_be_bytes() {
            return Err(Error::new(
                ErrorKind::PageToken,
                "the page token was made by another sort; begin at the first page",
            ));
        }
        codec::check_depth(values).map_err(|error| damaged().with_source(error))?;
        let values = RawDocument::from_bytes(values).map_err(|error| damaged().with_source(error))?;
        let place = Place::read(values, order.keyset.len()).ok_or_else(damaged)?;
        Ok((place, signed[1] & INCLUSIVE != 0))
    }
}

/// What a token is bound to.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) keyset: Keyset,
    pub(super) collation: Option<RawDocumentBuf>,
}

impl Order {
    fn sum(&self) -> Result<u64> {
        let sort = self.keyset.sort(false)?;
        let collation = self
            .collation
            .as_ref()
            .map_or(&[][..], |collation| collation.as_bytes());
        Ok(sum(&[sort.as_bytes(), collation]))
    }
}

/// FNV-1a: tells apart what differs by accident.
fn sum(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    bytes.fold(0xCBF2_9CE4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

fn damaged() -> Error {
    Error::new(
        ErrorKind::PageToken,
        "the page token is damaged; begin at the first page",
    )
}

impl fmt::Display for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for PageToken {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<String> for PageToken {
    /// Text is looked at when it is used.
    fn from(text: String) -> PageToken {
        PageToken(text)
    }
}

impl From<PageToken> for String {
    fn from(token: PageToken) -> String {
        token.0
    }
}

impl FromStr for PageToken {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<PageToken, Infallible> {
        Ok(PageToken(text.to_owned()))
    }
}
