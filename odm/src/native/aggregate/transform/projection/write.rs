//! Projections from bytes to bytes: what stays is copied as it is.

use super::super::super::super::document::Kind;
use super::super::super::super::document::doc::{decimal, framed};
use super::super::super::super::document::raw::{RawField, RawFields};
use super::super::super::super::fault::Result;
use super::super::super::expression::{Answer, Scope};
use super::super::check_field_depth;
use super::{Branch, Entry, Mode};

impl Branch {
    /// Whether fields are computed on this level alone.
    pub(super) fn computes_here(&self) -> bool {
        self.entries.iter().all(|(_, entry)| match entry {
            Entry::Named | Entry::Computed(_) => true,
            Entry::Inner(inner) => !inner.has_computed(),
        })
    }

    /// The bytes of the projected document, of a branch that computes on its own level alone.
    ///
    /// # Errors
    /// What is wrong with values, and one that nests too deep.
    pub(super) fn write(&self, document: &[u8], mode: Mode, scope: &Scope<'_>) -> Result<Vec<u8>> {
        let mut computed = Vec::with_capacity(self.entries.len());
        for (_, entry) in &self.entries {
            computed.push(match entry {
                Entry::Computed(expression) => Some(expression.answer(scope)?),
                Entry::Named | Entry::Inner(_) => None,
            });
        }
        for value in computed.iter().flatten().filter_map(Answer::value) {
            check_field_depth(&value)?;
        }
        let mut out = Vec::with_capacity(document.len() + ROOM * computed.len());
        framed(&mut out, |out| {
            let mut fields = RawFields::new(document);
            while let Some(field) = fields.next() {
                match self.at(field.name).map(|at| (at, &self.entries[at].1)) {
                    // Of several fields of a name the first is computed.
                    Some((at, Entry::Computed(_))) if mode != Mode::Include => match computed[at].take() {
                        Some(answer) => write_answer(&answer, field.name, out),
                        None => out.extend_from_slice(field.element()),
                    },
                    found => keep(found.map(|(_, entry)| entry), &field, mode, out),
                }
            }
            for ((name, _), answer) in self.entries.iter().zip(&computed) {
                if let Some(answer) = answer {
                    write_answer(answer, name.as_bytes(), out);
                }
            }
        });
        Ok(out)
    }

    fn at(&self, name: &[u8]) -> Option<usize> {
        self.entries
            .iter()
            .position(|(other, _)| other.as_bytes() == name)
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
