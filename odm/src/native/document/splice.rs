//! The place of a value in the bytes of a document, into which others are put without the rest being read.

use std::ops::Range;

use super::raw::{length, name_length};

/// Where the value at a path stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Splice {
    /// Where the documents around it begin, outermost first.
    frames: Vec<usize>,
    /// Where its element begins, with the byte of its type.
    element: usize,
    value: Range<usize>,
}

impl Splice {
    /// Where the value at a path stands of which the names are fields of documents; arrays are not entered.
    pub(crate) fn at(document: &[u8], path: &[String]) -> Option<Splice> {
        let mut frames = Vec::with_capacity(path.len());
        let (mut frame, mut end) = (0, document.len());
        let mut found = None;
        for name in path {
            if let Some(Splice { element, value, .. }) = found {
                if document[element] != super::Kind::Document as u8 {
                    return None;
                }
                (frame, end) = (value.start, value.end);
            }
            frames.push(frame);
            let (element, value) = field(document, frame..end, name)?;
            found = Some(Splice {
                frames: Vec::new(),
                element,
                value,
            });
        }
        found.map(|found| Splice { frames, ..found })
    }

    /// Where the bytes of the value are.
    pub(crate) fn value(&self) -> Range<usize> {
        self.value.clone()
    }

    /// The document with another value there, of this type and with these bytes.
    pub(crate) fn with(&self, document: &[u8], kind: u8, payload: &[u8]) -> Vec<u8> {
        let (head, tail) = (&document[..self.value.start], &document[self.value.end..]);
        let mut out = Vec::with_capacity(head.len() + payload.len() + tail.len());
        out.extend_from_slice(head);
        out.extend_from_slice(payload);
        out.extend_from_slice(tail);
        out[self.element] = kind;
        let (gone, come) = (self.value.len() as i64, payload.len() as i64);
        for frame in &self.frames {
            if let Some(length) = out.get_mut(*frame..frame + 4)
                && let Ok(old) = <[u8; 4]>::try_from(&*length)
            {
                let new = i64::from(i32::from_le_bytes(old)) - gone + come;
                length.copy_from_slice(&(new as i32).to_le_bytes());
            }
        }
        out
    }
}

/// The first field of this name in the document that is there: where its element begins, and where its value is.
fn field(document: &[u8], place: Range<usize>, name: &str) -> Option<(usize, Range<usize>)> {
    let mut at = place.start + 4;
    let end = place.end.checked_sub(1)?;
    while at < end {
        let (&kind, after) = document.get(at..end)?.split_first()?;
        let named = name_length(after)?;
        let value = at + 1 + named + 1;
        let size = length(kind, document.get(value..end)?)?;
        if after[..named] == *name.as_bytes() {
            return Some((at, value..value + size));
        }
        at = value + size;
    }
    None
}

/// The type and the bytes of the value of the element at this place, and where the next one begins.
pub(crate) fn element(document: &[u8], at: usize) -> Option<(u8, Range<usize>)> {
    let (&kind, after) = document.get(at..)?.split_first()?;
    if kind == 0 {
        return None;
    }
    let value = at + 1 + name_length(after)? + 1;
    let size = length(kind, document.get(value..)?)?;
    Some((kind, value..value + size))
}

#[cfg(test)]
mod tests {
    use bson::{Bson, Document, RawDocumentBuf, bson, doc, rawdoc};

    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    fn read(bytes: Vec<u8>) -> Document {
        let raw = RawDocumentBuf::from_bytes(bytes).unwrap();
        Document::try_from(&*raw).unwrap()
    }

    #[test]
    fn values_change_in_their_places() {
        let document =
            doc! { "x": 1, "a": { "y": "z", "b": { "c": [1, "two", { "d": 3 }], "e": null } }, "f": "g" };
        let bytes = bson::serialize_to_vec(&document).unwrap();
        let items = rawdoc! { "0": 7_i64, "1": "longer than what was there by far", "2": { "n": {} } };
        for (text, at) in [("x", "x"), ("a.b.c", "c"), ("a.b.e", "e"), ("a", "a"), ("f", "f")] {
            let splice = Splice::at(&bytes, &path(text)).unwrap();
            let mut next = 4;
            let mut given = Vec::new();
            while let Some((kind, value)) = element(items.as_bytes(), next) {
                let changed = read(splice.with(&bytes, kind, &items.as_bytes()[value.clone()]));
                let inner = match text.split('.').count() {
                    1 => &changed,
                    _ => changed.get_document("a").unwrap().get_document("b").unwrap(),
                };
                given.push(inner.get(at).unwrap().clone());
                // All else stays.
                let mut back = changed.clone();
                let mut expected = document.clone();
                for document in [&mut back, &mut expected] {
                    let inner = match text.split('.').count() {
                        1 => document,
                        _ => document
                            .get_document_mut("a")
                            .unwrap()
                            .get_document_mut("b")
                            .unwrap(),
                    };
                    inner.insert(at, Bson::Null);
                }
                assert_eq!(back, expected);
                next = value.end;
            }
            assert_eq!(
                Bson::Array(given),
                bson!([7_i64, "longer than what was there by far", { "n": {} }])
            );
        }
    }

    #[test]
    fn paths_lead_through_documents_alone() {
        let document = rawdoc! { "a": [{ "b": 1 }], "c": 1, "d": {} };
        for text in ["a.b", "a.0", "a.0.b", "c.x", "d.x", "e", "e.f"] {
            assert_eq!(Splice::at(document.as_bytes(), &path(text)), None, "{text}");
        }
    }
}
