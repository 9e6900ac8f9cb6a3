//! Arrays that are made item by item, as their bytes.

use super::doc::{Element, framed_element};
use super::owned::Owned;
use super::value::{Kind, Value};

/// An array that grows. Its items are bytes at once: they need neither a place in memory of their own nor to be written
/// later.
#[derive(Clone, Debug)]
pub(crate) struct Items {
    /// A length to be known at the end, and the elements.
    bytes: Vec<u8>,
    numerals: Numerals,
    count: usize,
}

impl Default for Items {
    fn default() -> Items {
        Items {
            bytes: vec![0; LENGTH],
            numerals: Numerals::default(),
            count: 0,
        }
    }
}

/// The bytes of the length in front of the elements.
const LENGTH: usize = 4;

impl Items {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Appends a value.
    pub(crate) fn push(&mut self, value: &Value<'_>) {
        self.push_with(|name, out| value.write_element(name, out));
    }

    /// Appends the value of an element, which is not decoded.
    pub(crate) fn push_element(&mut self, element: &Element<'_>) {
        self.push_with(|name, out| element.write(name, out));
    }

    /// Appends the element that `write` writes under the name that it is given.
    pub(crate) fn push_with<T>(&mut self, write: impl FnOnce(&[u8], &mut Vec<u8>) -> T) -> T {
        let written = write(self.numerals.name(), &mut self.bytes);
        self.numerals.advance();
        self.count += 1;
        written
    }

    /// Appends an array.
    pub(crate) fn push_array<'a>(&mut self, values: impl Iterator<Item = Value<'a>>) {
        self.push_with(|name, out| {
            framed_element(Kind::Array, name, out, |out| {
                let mut numerals = Numerals::default();
                for value in values {
                    value.write_element(numerals.name(), out);
                    numerals.advance();
                }
            });
        });
    }

    /// The array.
    pub(crate) fn into_owned(mut self) -> Owned {
        end(&mut self.bytes);
        Owned::RawArray(self.bytes)
    }

    /// The array by now; it may grow on.
    pub(crate) fn to_owned(&self) -> Owned {
        let mut bytes = Vec::with_capacity(self.bytes.len() + 1);
        bytes.extend_from_slice(&self.bytes);
        end(&mut bytes);
        Owned::RawArray(bytes)
    }
}

fn end(bytes: &mut Vec<u8>) {
    bytes.push(0);
    let length = bytes.len() as i32;
    bytes[..LENGTH].copy_from_slice(&length.to_le_bytes());
}

impl<'a> FromIterator<Value<'a>> for Items {
    fn from_iter<I: IntoIterator<Item = Value<'a>>>(values: I) -> Items {
        let mut items = Items::default();
        values.into_iter().for_each(|value| items.push(&value));
        items
    }
}

impl<'a> FromIterator<Element<'a>> for Items {
    fn from_iter<I: IntoIterator<Item = Element<'a>>>(elements: I) -> Items {
        let mut items = Items::default();
        elements
            .into_iter()
            .for_each(|element| items.push_element(&element));
        items
    }
}

/// The names of an array's elements: "0", "1", ...
#[derive(Clone, Debug)]
pub(crate) struct Numerals {
    digits: [u8; Numerals::MOST],
    start: usize,
}

impl Default for Numerals {
    fn default() -> Numerals {
        Numerals {
            digits: [b'0'; Numerals::MOST],
            start: Numerals::MOST - 1,
        }
    }
}

impl Numerals {
    /// More than an array in memory can have items.
    const MOST: usize = 20;

    /// The name by now.
    pub(crate) fn name(&self) -> &[u8] {
        &self.digits[self.start..]
    }

    /// Goes on to the next one.
    pub(crate) fn advance(&mut self) {
        for at in (0..Numerals::MOST).rev() {
            if self.digits[at] < b'9' {
                self.digits[at] += 1;
                self.start = self.start.min(at);
                return;
            }
            self.digits[at] = b'0';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::doc::Doc;
    use super::super::sample::Sample;
    use super::*;

    #[test]
    fn names_count_on() {
        let mut numerals = Numerals::default();
        for number in 0..12_345 {
            assert_eq!(numerals.name(), number.to_string().as_bytes());
            numerals.advance();
        }
    }

    #[test]
    fn arrays_are_those_of_their_values() {
        let mut sample = Sample::new(7);
        for count in 0..200 {
            let values: Vec<Owned> = (0..count).map(|_| sample.value(3)).collect();
            let expected = Doc::Items(&values).to_bytes();
            let pushed: Items = values.iter().map(Owned::as_value).collect();
            assert_eq!(pushed.len(), count);
            let Owned::RawArray(by_now) = pushed.to_owned() else {
                panic!("an array");
            };
            assert_eq!(by_now, expected);
            // Of trees and of bytes.
            for doc in [Doc::Items(&values), Doc::Raw(&expected)] {
                let copied: Items = doc.elements().collect();
                let Owned::RawArray(copied) = copied.into_owned() else {
                    panic!("an array");
                };
                assert_eq!(copied, expected);
            }
        }
    }
}
