//! Where the elements of long arrays are: whoever asks a document for one place of an array often asks for others.

use std::cell::RefCell;

use super::super::super::super::document::{Doc, Value};

/// The arrays of one document of which a place was asked for. It must not be taken along to another document, whose bytes
/// may have the place of this one's in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offsets(RefCell<Vec<Array>>);

#[derive(Clone, Debug)]
struct Array {
    /// Where its bytes are, and how many: no other array of the document has the same.
    bytes: (usize, usize),
    /// The elements, from its beginning; none until it is asked for again.
    elements: Vec<usize>,
}

/// Shorter arrays are walked.
pub(crate) const LONG: usize = 256;

/// Of so many arrays it is known.
const MOST: usize = 8;

/// One place of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    FromStart(usize),
    /// The last one is one from the end.
    FromEnd(usize),
}

impl Place {
    /// The place of a position, which counts from the end if it is negative.
    pub(crate) fn of(position: i32) -> Place {
        match usize::try_from(position) {
            Ok(position) => Place::FromStart(position),
            Err(_) => Place::FromEnd(position.unsigned_abs() as usize),
        }
    }
}

impl Offsets {
    /// The value at a place of an array, which is looked up where the array is one of the document's.
    pub(crate) fn at<'a>(&self, root: Doc<'_>, array: Doc<'a>, place: Place) -> Option<Value<'a>> {
        match (root, array) {
            (Doc::Raw(root), Doc::Raw(bytes)) if bytes.len() >= LONG && holds(root, bytes) => {
                self.looked_up(bytes, place)
            }
            _ => walked(array, place),
        }
    }

    fn looked_up<'a>(&self, bytes: &'a [u8], place: Place) -> Option<Value<'a>> {
        let own = (bytes.as_ptr().addr(), bytes.len());
        let mut arrays = self.0.borrow_mut();
        let Some(array) = arrays.iter_mut().find(|array| array.bytes == own) else {
            if arrays.len() >= MOST {
                arrays.remove(0);
            }
            arrays.push(Array {
                bytes: own,
                elements: Vec::new(),
            });
            return walked(Doc::Raw(bytes), place);
        };
        if array.elements.is_empty() {
            array.elements = Doc::Raw(bytes).placed().map(|(at, _)| at).collect();
        }
        let at = match place {
            Place::FromStart(at) => at,
            Place::FromEnd(back) => array.elements.len().checked_sub(back)?,
        };
        let element = Doc::Raw(bytes).placed_at(*array.elements.get(at)?)?;
        Some(element.value())
    }
}

/// Whether a part of a document's bytes is that part in memory.
fn holds(root: &[u8], part: &[u8]) -> bool {
    let (root, part) = (root.as_ptr_range(), part.as_ptr_range());
    root.start <= part.start && part.end <= root.end
}

fn walked(array: Doc<'_>, place: Place) -> Option<Value<'_>> {
    match place {
        Place::FromStart(at) => array.at(at),
        Place::FromEnd(back) => array.at(array.count().checked_sub(back)?),
    }
}

#[cfg(test)]
mod tests {
    use bson::{Bson, doc};

    use super::*;

    #[test]
    fn places_are_found_on_every_asking() {
        let many: Vec<Bson> = (0..300)
            .map(|n| match n % 3 {
                0 => Bson::Int32(n),
                1 => Bson::String("x".repeat(n as usize)),
                _ => Bson::Document(doc! { "n": n }),
            })
            .collect();
        let arrays: Vec<Bson> = (0..10).map(|n| Bson::Array(many[n..].to_vec())).collect();
        let root = bson::serialize_to_vec(&doc! { "few": [1, 2], "arrays": arrays }).unwrap();
        let root = Doc::Raw(&root);
        let Some(Value::Array(arrays)) = root.get("arrays") else {
            panic!("an array");
        };
        let offsets = Offsets::default();
        for _ in 0..3 {
            for array in arrays.values().chain(root.get("few")) {
                let Value::Array(array) = array else {
                    panic!("an array");
                };
                for place in [
                    Place::FromStart(0),
                    Place::FromStart(1),
                    Place::FromStart(250),
                    Place::FromStart(300),
                    Place::FromEnd(1),
                    Place::FromEnd(2),
                    Place::FromEnd(250),
                    Place::FromEnd(301),
                ] {
                    let found = offsets.at(root, array, place);
                    assert_eq!(
                        format!("{found:?}"),
                        format!("{:?}", walked(array, place)),
                        "{place:?}"
                    );
                }
            }
        }
    }
}
