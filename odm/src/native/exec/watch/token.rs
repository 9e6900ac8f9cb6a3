//! Resume tokens: places in the log, in order.

use super::super::super::aggregate::print;
use super::super::super::document::doc::framed;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::storage::format::{ChangeKey, hex};

/// A place in a log of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) key: ChangeKey,
    pub(crate) place: Place,
    /// Which log.
    pub(crate) log: [u8; 8],
}

/// Where at its key, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// After the change itself.
    Change = 1,
    /// After the end of the stream that came with it.
    Invalidate = 2,
    /// After all that was committed up to it.
    Past = 3,
}

/// The first byte of a token; those of other servers begin otherwise.
const VERSION: u8 = 1;

const BYTES: usize = 1 + ChangeKey::BYTES + 1 + 8;

impl Point {
    /// `{_data: hex}`: version, key, place, log. The order of texts is that of places.
    pub(crate) fn token(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.key.to_bytes());
        bytes.push(self.place as u8);
        bytes.extend_from_slice(&self.log);
        let text = hex(&bytes).to_uppercase();
        let mut token = Vec::new();
        framed(&mut token, |out| {
            Value::String(&text).write_element(b"_data", out);
        });
        token
    }

    /// Reads a token.
    ///
    /// # Errors
    /// As the server: 40647 without a text, 40649 for an empty one, 9 when it is not hexadecimal, 40648 when beside it are
    /// bits that are none; 260 when it is no token of this engine.
    pub(crate) fn parse(token: Doc<'_>) -> Result<Point> {
        let Some(Value::String(text)) = token.get("_data") else {
            return Err(Fault::new(
                40647,
                format!(
                    "Bad resume token: _data of missing or of wrong type. Expected string, got {}",
                    print::value(&Value::Document(token))
                ),
            ));
        };
        if let Some(bits) = token.get("_typeBits")
            && !matches!(bits, Value::Binary { .. })
        {
            return Err(Fault::new(
                40648,
                format!(
                    "Bad resume token: _typeBits of wrong type {}",
                    print::value(&Value::Document(token))
                ),
            ));
        }
        let bytes = unhex(text).ok_or_else(|| {
            Fault::new(
                code::FAILED_TO_PARSE,
                "resume token string was not a valid hex string",
            )
        })?;
        if bytes.is_empty() {
            return Err(Fault::new(40649, "invalid empty resume token"));
        }
        read(&bytes).ok_or_else(|| Fault::new(260, "the resume token is not one of the embedded engine's"))
    }
}

fn read(bytes: &[u8]) -> Option<Point> {
    let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
    let (version, rest) = bytes.split_first()?;
    let (key, rest) = rest.split_at_checked(ChangeKey::BYTES)?;
    let (place, log) = rest.split_first()?;
    let place = match place {
        1 => Place::Change,
        2 => Place::Invalidate,
        3 => Place::Past,
        _ => return None,
    };
    (*version == VERSION).then_some(Point {
        key: ChangeKey::from_bytes(key)?,
        place,
        log: log.try_into().ok()?,
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty()
        .then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(increment: u32, place: Place) -> Point {
        Point {
            key: ChangeKey {
                seconds: 0x6b01_57aa,
                increment,
                position: 0,
            },
            place,
            log: [0xAB; 8],
        }
    }

    fn text(point: Point) -> String {
        let token = point.token();
        match Doc::Raw(&token).get("_data") {
            Some(Value::String(text)) => text.to_owned(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tokens_are_golden_ordered_and_read_back() {
        assert_eq!(
            text(point(3, Place::Change)),
            "016B0157AA000000030000000001ABABABABABABABAB"
        );
        let points = [
            point(3, Place::Change),
            point(3, Place::Invalidate),
            point(3, Place::Past),
            point(4, Place::Change),
        ];
        assert!(points.map(text).is_sorted());
        for point in points {
            assert_eq!(Point::parse(Doc::Raw(&point.token())).unwrap(), point);
        }
    }

    #[test]
    fn other_tokens_are_refused() {
        let refused = |text: &str| {
            let mut token = Vec::new();
            framed(&mut token, |out| Value::String(text).write_element(b"_data", out));
            Point::parse(Doc::Raw(&token)).unwrap_err().code()
        };
        assert_eq!(refused("zz"), 9);
        assert_eq!(refused("826B0157AA000000032B0229296E04"), 260);
        assert_eq!(refused("016B0157AA000000030000000009ABABABABABABABAB"), 260);
        assert_eq!(Point::parse(Doc::empty()).unwrap_err().code(), 40647);
    }
}
