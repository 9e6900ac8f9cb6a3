//! Where a component ends.

use super::super::document::compare::rank;
use super::{NAN, NEGATIVE, POSITIVE};

/// How many bytes the component has that the key begins with; `None` where it begins with none.
pub(crate) fn length(key: &[u8], descending: bool) -> Option<usize> {
    Bytes {
        key,
        flip: if descending { 0xFF } else { 0 },
    }
    .component(0)
}

/// The bytes as those of an ascending component. Each function gives where what begins at a position ends.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    key: &'a [u8],
    flip: u8,
}

impl Bytes<'_> {
    fn byte(self, at: usize) -> Option<u8> {
        self.key.get(at).map(|byte| byte ^ self.flip)
    }

    fn component(self, at: usize) -> Option<usize> {
        let body = at + 1;
        let end = match self.byte(at)? {
            rank::MIN_KEY | rank::UNDEFINED | rank::NULL | rank::MAX_KEY | NAN => body,
            first if first == rank::BOOL || first == rank::BOOL + 1 => body,
            NEGATIVE => self.number(body, 0xFF)?,
            POSITIVE => self.number(body, 0)?,
            rank::STRING | rank::CODE => self.text(body)?,
            rank::DOCUMENT => self.document(body)?,
            rank::ARRAY => self.array(body)?,
            rank::BINARY => self.binary(body)?,
            rank::OBJECT_ID => body + 12,
            rank::DATE_TIME | rank::TIMESTAMP => body + 8,
            rank::REGEX => {
                let options = self.name(body)?;
                self.name(options)?
            }
            rank::DB_POINTER => body + 4 + self.count(body)? + 12,
            rank::CODE_WITH_SCOPE => {
                let scope = self.text(body)?;
                self.document(scope)?
            }
            _ => return None,
        };
        (end <= self.key.len()).then_some(end)
    }

    /// A magnitude and its tail.
    fn number(self, at: usize, complement: u8) -> Option<usize> {
        let tail = at + 8;
        match self.byte(tail)? ^ complement {
            0 => Some(tail + 1),
            _ => Some(tail + 1 + 2 + 15),
        }
    }

    /// Text whose zeros are followed by `FF`.
    fn text(self, mut at: usize) -> Option<usize> {
        loop {
            at = self.name(at)?;
            if self.byte(at) != Some(0xFF) {
                return Some(at);
            }
        }
    }

    /// Text that ends with the first zero.
    fn name(self, at: usize) -> Option<usize> {
        let rest = self.key.get(at..)?;
        let zero = rest.iter().position(|byte| *byte == self.flip)?;
        Some(at + zero + 1)
    }

    fn document(self, mut at: usize) -> Option<usize> {
        while self.byte(at)? != 0 {
            at = self.name(at + 1)?;
            at = self.component(at)?;
        }
        Some(at + 1)
    }

    fn array(self, mut at: usize) -> Option<usize> {
        while self.byte(at)? != 0 {
            at = self.component(at)?;
        }
        Some(at + 1)
    }

    fn binary(self, at: usize) -> Option<usize> {
        let subtype = self.byte(at + 4)?;
        // That of subtype 2 counts the length within.
        let within = if subtype == 2 { 4 } else { 0 };
        Some(at + 5 + self.count(at)?.checked_sub(within)?)
    }

    fn count(self, at: usize) -> Option<usize> {
        let bytes = [
            self.byte(at)?,
            self.byte(at + 1)?,
            self.byte(at + 2)?,
            self.byte(at + 3)?,
        ];
        usize::try_from(u32::from_be_bytes(bytes)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::document::sample::Sample;
    use super::super::super::document::{Owned, Value};
    use super::super::{END, encode};
    use super::*;

    fn check(values: &[Owned]) {
        for descending in [false, true] {
            let mut key = Vec::new();
            let mut ends = Vec::new();
            for value in values {
                encode(&value.as_value(), descending, &mut key);
                ends.push(key.len());
            }
            key.push(END);
            let mut at = 0;
            for (value, end) in values.iter().zip(ends) {
                let length = length(&key[at..], descending);
                assert_eq!(length, Some(end - at), "{value:?} {descending} {key:x?}");
                at = end;
            }
        }
    }

    #[test]
    fn every_component_ends_where_the_next_begins() {
        for seed in 0..20 {
            let mut sample = Sample::new(seed);
            for _ in 0..200 {
                let values: Vec<Owned> = (0..3).map(|_| sample.value(3)).collect();
                check(&values);
                check(&[sample.number(), Owned::String(sample.text()), sample.number()]);
            }
        }
        let old = Owned::from(Value::Binary {
            subtype: 2,
            bytes: &[1, 2],
        });
        check(&[
            old.clone(),
            Owned::Array(vec![old.clone(), Owned::Array(vec![])]),
            old,
        ]);
    }

    #[test]
    fn what_is_cut_off_is_no_component() {
        let mut sample = Sample::new(7);
        for _ in 0..500 {
            let mut key = Vec::new();
            encode(&sample.value(3).as_value(), false, &mut key);
            for cut in 0..key.len() {
                assert!(length(&key[..cut], false).is_none_or(|length| length <= cut));
            }
        }
    }
}
