//! Projections from bytes to bytes: what stays is copied as it is.

use super::super::super::super::document::doc::{decimal, framed};
use super::super::super::super::document::raw::{RawField, RawFields};
use super::super::super::super::document::{Doc, Kind, Value};
use super::super::super::super::fault::Result;
use super::super::super::expression::{Answer, Scope};
use super::super::{MAX_RESULT_DEPTH, check_field_depth, nests_within};
use super::{Branch, Entry, Mode};

impl Branch {
    /// Whether what is computed inside of fields cannot fail, and is the same in all elements of an array.
    pub(super) fn is_written_straight(&self) -> bool {
        self.entries.iter().all(|(_, entry)| match entry {
            Entry::Named | Entry::Computed(_) => true,
            Entry::Inner(inner) => inner.is_plain(),
        })
    }

    fn is_plain(&self) -> bool {
        self.entries.iter().all(|(_, entry)| match entry {
            Entry::Named => true,
            Entry::Computed(expression) => expression.is_plain(),
            Entry::Inner(inner) => inner.is_plain(),
        })
    }

    /// The bytes of the projected document, of a branch that is written straight; `None` where it may nest too deep.
    ///
    /// # Errors
    /// What is wrong with values, and one that nests too deep.
    pub(super) fn write(&self, document: &[u8], mode: Mode, scope: &Scope<'_>) -> Result<Option<Vec<u8>>> {
        let known = self.known(scope)?;
        for known in &known {
            match known {
                Known::Nothing => {}
                Known::Answer(answer) => answer.value().as_ref().map_or(Ok(()), check_field_depth)?,
                Known::Within(inner) if inner.iter().any(Known::nests) => return Ok(None),
                Known::Within(_) => {}
            }
        }
        let mut out = Vec::with_capacity(document.len() + ROOM * known.len());
        framed(&mut out, |out| {
            self.write_fields(Some(document), &known, mode, out)
        });
        let is_within = known.iter().any(|known| matches!(known, Known::Within(_)));
        let fits = !is_within || nests_within(&Value::Document(Doc::Raw(&out)), MAX_RESULT_DEPTH);
        Ok(fits.then_some(out))
    }

    /// The values of what is computed.
    fn known<'a>(&'a self, scope: &'a Scope<'a>) -> Result<Vec<Known<'a>>> {
        let known = self.entries.iter().map(|(_, entry)| {
            Ok(match entry {
                Entry::Computed(expression) => Known::Answer(expression.answer(scope)?),
                Entry::Inner(inner) if inner.has_computed() => Known::Within(inner.known(scope)?),
                Entry::Named | Entry::Inner(_) => Known::Nothing,
            })
        });
        known.collect()
    }

    /// Writes the fields of a document, which there need not be, with what is computed of them.
    fn write_fields(&self, document: Option<&[u8]>, known: &[Known<'_>], mode: Mode, out: &mut Vec<u8>) {
        // Of several fields of a name the first is computed.
        let mut done = Marks::new(known.len());
        let mut fields = document.map(RawFields::new);
        while let Some(field) = fields.as_mut().and_then(RawFields::next) {
            let at = self.at(field.name);
            match at.map(|at| (at, &self.entries[at].1, &known[at])) {
                Some((at, _, Known::Answer(answer))) if mode != Mode::Include && done.add(at) => {
                    write_answer(answer, field.name, out);
                }
                Some((at, Entry::Inner(inner), Known::Within(known))) if done.add(at) => {
                    let value = Some((field.kind(), field.payload()));
                    inner.write_computed(field.name, value, known, mode, out);
                }
                found => keep(found.map(|(_, entry, _)| entry), &field, mode, out),
            }
        }
        for (at, ((name, entry), known)) in self.entries.iter().zip(known).enumerate() {
            match (entry, known) {
                (_, Known::Nothing) => {}
                (_, Known::Answer(answer)) if done.add(at) => write_answer(answer, name.as_bytes(), out),
                (Entry::Inner(inner), Known::Within(known)) if done.add(at) => {
                    inner.write_computed(name.as_bytes(), None, known, mode, out);
                }
                _ => {}
            }
        }
    }

    /// Writes a field in which fields are computed: in a document, in every element of an array; anything else gives way to
    /// a new document.
    fn write_computed(
        &self,
        name: &[u8],
        value: Option<(u8, &[u8])>,
        known: &[Known<'_>],
        mode: Mode,
        out: &mut Vec<u8>,
    ) {
        const ARRAY: u8 = Kind::Array as u8;
        const DOCUMENT: u8 = Kind::Document as u8;
        out.push(match value {
            Some((ARRAY, _)) => ARRAY,
            _ => DOCUMENT,
        });
        out.extend_from_slice(name);
        out.push(0);
        framed(out, |out| match value {
            Some((ARRAY, items)) => {
                let mut items = RawFields::new(items);
                let (mut digits, mut next) = ([0; 20], 0);
                while let Some(item) = items.next() {
                    let value = Some((item.kind(), item.payload()));
                    self.write_computed(decimal(next, &mut digits), value, known, mode, out);
                    next += 1;
                }
            }
            Some((DOCUMENT, document)) => self.write_fields(Some(document), known, mode, out),
            _ => self.write_fields(None, known, mode, out),
        });
    }

    /// Writes what stays of a field that has entries of its own.
    fn write_within(&self, (kind, name, payload): (u8, &[u8], &[u8]), mode: Mode, out: &mut Vec<u8>) {
        let is_document = kind == Kind::Document as u8;
        if !is_document && kind != Kind::Array as u8 {
            // What is named is in documents.
            if mode != Mode::Include {
                write_element(kind, name, payload, out);
            }
            return;
        }
        out.push(kind);
        out.extend_from_slice(name);
        out.push(0);
        framed(out, |out| {
            let mut fields = RawFields::new(payload);
            let (mut digits, mut next) = ([0; 20], 0);
            while let Some(field) = fields.next() {
                if is_document {
                    let entry = self.at(field.name).map(|at| &self.entries[at].1);
                    keep(entry, &field, mode, out);
                    continue;
                }
                let before = out.len();
                let item = (field.kind(), decimal(next, &mut digits), field.payload());
                self.write_within(item, mode, out);
                next += usize::from(out.len() > before);
            }
        });
    }
}

/// What is known of an entry before fields are written.
enum Known<'a> {
    Nothing,
    Answer(Answer<'a>),
    /// Of what is computed inside of the field.
    Within(Vec<Known<'a>>),
}

impl Known<'_> {
    /// Whether a value nests.
    fn nests(&self) -> bool {
        match self {
            Known::Nothing => false,
            Known::Answer(answer) => matches!(answer.value(), Some(Value::Document(_) | Value::Array(_))),
            Known::Within(inner) => inner.iter().any(Known::nests),
        }
    }
}

/// Places that are marked.
struct Marks {
    few: u64,
    /// From the 64th on.
    more: Vec<bool>,
}

impl Marks {
    fn new(count: usize) -> Marks {
        Marks {
            few: 0,
            more: vec![false; count.saturating_sub(64)],
        }
    }

    /// Marks a place, unless it is.
    fn add(&mut self, at: usize) -> bool {
        match at.checked_sub(64).and_then(|at| self.more.get_mut(at)) {
            Some(mark) => !std::mem::replace(mark, true),
            None => {
                let before = self.few;
                self.few |= 1 << at;
                self.few != before
            }
        }
    }
}

/// So many bytes are expected of a computed field.
const ROOM: usize = 24;

/// Writes what stays of a field, of which this is said.
fn keep(entry: Option<&Entry>, field: &RawField<'_>, mode: Mode, out: &mut Vec<u8>) {
    let stays = match entry {
        None => mode != Mode::Include,
        Some(Entry::Named) => mode != Mode::Exclude,
        Some(Entry::Computed(_)) => mode != Mode::Include,
        Some(Entry::Inner(inner)) => {
            let field = (field.kind(), field.name, field.payload());
            return inner.write_within(field, mode, out);
        }
    };
    if stays {
        out.extend_from_slice(field.element());
    }
}

fn write_element(kind: u8, name: &[u8], payload: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(name);
    out.push(0);
    out.extend_from_slice(payload);
}

fn write_answer(answer: &Answer<'_>, name: &[u8], out: &mut Vec<u8>) {
    if let Some(value) = answer.value() {
        value.write_element(name, out);
    }
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::super::super::super::super::document::sample::Sample;
    use super::super::super::super::super::document::{Fields, Owned};
    use super::super::super::written;
    use super::super::Projection;
    use super::*;

    #[test]
    fn bytes_are_those_of_the_fields() {
        let added = [
            doc! { "a.b": 1 },
            doc! { "a": "$b", "b.a": "$aa", "aa.b.a": "$$REMOVE" },
            doc! { "a.a.a": "$b.a", "a.b": "$$ROOT.b", "é": { "$type": "$a" } },
            doc! { "a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i.a": 9, "aa.b": "$a" },
        ];
        let named = [
            doc! { "a": 1, "b.a": 1, "b.b": { "$literal": 5 } },
            doc! { "a.b": "$b", "a.a": 1, "é": 1 },
            doc! { "a": 0, "b.a": 0 },
        ];
        let parse = |spec: &bson::Document, is_added: bool| {
            let spec = bson::serialize_to_vec(spec).unwrap();
            let projection = match is_added {
                true => Projection::parse_added(Doc::Raw(&spec), &[]),
                false => Projection::parse(Doc::Raw(&spec), &[]),
            };
            let mut projection = projection.unwrap();
            projection.fold(None).unwrap();
            projection
        };
        let projections: Vec<Projection> = added
            .iter()
            .map(|spec| parse(spec, true))
            .chain(named.iter().map(|spec| parse(spec, false)))
            .collect();
        let mut sample = Sample::new(11);
        let mut straight = 0;
        for _ in 0..20_000 {
            let mut fields: Fields = Vec::new();
            for name in ["a", "b", "aa"] {
                if sample.below(4) > 0 {
                    fields.push((name.to_owned(), sample.value(3)));
                }
            }
            let document = Owned::Document(fields)
                .as_value()
                .as_document()
                .unwrap()
                .to_bytes();
            let scope = Scope::new(Doc::Raw(&document), 0);
            for projection in &projections {
                straight += usize::from(projection.root.is_written_straight());
                let expected = projection
                    .apply(&scope)
                    .and_then(|fields| written(Owned::Document(fields)));
                let got = projection.write(&scope);
                assert_eq!(got.ok(), expected.ok(), "{projection:?} of {document:?}");
            }
        }
        assert!(straight > 100_000, "{straight}");
    }
}
