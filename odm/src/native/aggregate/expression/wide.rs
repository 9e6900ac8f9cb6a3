//! Where the fields of a document are: whoever asks it for many, or for one again and again, would go through it each time.

use std::cell::{Cell, RefCell};

use xxhash_rust::xxh3::xxh3_64;

use super::super::super::document::raw::RawFields;
use super::super::super::document::{Doc, Value};

/// The fields of one document by the hashes of their names, known when some were asked for. It must not be taken along to
/// another document, whose bytes may have the place of this one's in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wide {
    last: Cell<Last>,
    asked: RefCell<Asked>,
}

/// What was asked for last, by the places in memory of document and name, and where it was found.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    document: usize,
    name: usize,
    at: usize,
}

#[derive(Clone, Debug, Default)]
struct Asked {
    /// Where the bytes of the document are, and how many.
    bytes: (usize, usize),
    count: usize,
    /// Hashes and places, in order: of equal names the first field is the first.
    fields: Vec<(u64, usize)>,
}

/// Shorter documents are gone through each time.
const SHORT: usize = 128;

/// Shorter ones are gone through for what was not asked for last.
const LONG: usize = 1024;

/// So many fields are looked for by going through one, and those of one that has no more.
const FEW: usize = 8;

impl Wide {
    /// The value of the document's first field of this name.
    #[inline]
    pub(super) fn get<'a>(&self, document: Doc<'a>, name: &str) -> Option<Value<'a>> {
        let bytes = match document {
            Doc::Raw(bytes) if bytes.len() >= LONG => {
                return self.looked_up(document, (bytes.as_ptr().addr(), bytes.len()), name);
            }
            Doc::Raw(bytes) if bytes.len() > SHORT => bytes,
            _ => return document.get(name),
        };
        let last = self.last.get();
        let own = bytes.as_ptr().addr();
        if (last.document, last.name) == (own, name.as_ptr().addr())
            && let Some(field) = document.placed_at(last.at)
            && field.name() == name.as_bytes()
        {
            return Some(field.value());
        }
        let (at, value) = RawFields::new(bytes).find_placed(name)?;
        self.last.set(Last {
            document: own,
            name: name.as_ptr().addr(),
            at,
        });
        Some(value)
    }

    fn looked_up<'a>(&self, document: Doc<'a>, own: (usize, usize), name: &str) -> Option<Value<'a>> {
        let mut asked = self.asked.borrow_mut();
        if asked.bytes != own {
            *asked = Asked {
                bytes: own,
                ..Asked::default()
            };
        }
        asked.count += 1;
        if asked.count <= FEW {
            return document.get(name);
        }
        if asked.fields.is_empty() {
            asked.fields = fields_of(document);
        }
        if asked.fields.len() <= FEW {
            return document.get(name);
        }
        let hash = xxh3_64(name.as_bytes());
        let first = asked.fields.partition_point(|(other, _)| *other < hash);
        let mut equal = asked.fields[first..]
            .iter()
            .take_while(|(other, _)| *other == hash);
        equal.find_map(|(_, at)| {
            let field = document.placed_at(*at)?;
            (field.name() == name.as_bytes()).then(|| field.value())
        })
    }
}

fn fields_of(document: Doc<'_>) -> Vec<(u64, usize)> {
    let fields = document.placed().map(|(at, field)| (xxh3_64(field.name()), at));
    let mut fields: Vec<_> = fields.collect();
    fields.sort_unstable();
    fields
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::super::super::super::document::doc::framed;
    use super::*;

    #[test]
    fn first_fields_are_found_on_every_asking() {
        let mut document = Vec::new();
        framed(&mut document, |out| {
            for n in 0..100 {
                // Some names come twice.
                let name = format!("field {}", n % 90);
                Value::Int32(n).write_element(name.as_bytes(), out);
            }
            Value::String(&"x".repeat(LONG)).write_element(b"", out);
        });
        let other = rawdoc! { "field 1": "y".repeat(LONG), "field 2": 2 };
        let few = rawdoc! { "field 1": 1 };
        let mut short = Vec::new();
        framed(&mut short, |out| {
            for n in 0..30 {
                Value::Int32(n).write_element(format!("field {}", n % 20).as_bytes(), out);
            }
        });
        assert!(short.len() > SHORT && short.len() < LONG);
        let wide = Wide::default();
        for _ in 0..3 {
            for document in [&document, other.as_bytes(), few.as_bytes(), &short] {
                let document = Doc::Raw(document);
                for n in 0..110 {
                    let name = format!("field {n}");
                    // The last name comes twice from one place.
                    for name in ["", &name, &name] {
                        assert_eq!(
                            format!("{:?}", wide.get(document, name)),
                            format!("{:?}", document.get(name)),
                            "{name}"
                        );
                    }
                }
            }
        }
    }
}
