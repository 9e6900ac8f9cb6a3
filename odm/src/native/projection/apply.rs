//! Writing the projected document.

use super::super::aggregate::expression::{Expression, Scope};
use super::super::collation::Collation;
use super::super::document::doc::{decimal, framed};
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result};
use super::super::metadata::Metadata;
use super::{Mode, Projection, Rule, Slice, Tree};

impl Projection {
    /// The projected document's BSON bytes. `matched` is the position that the filter recorded, for the
    /// positional `$`.
    pub(crate) fn apply(&self, doc: Doc<'_>, matched: Option<usize>) -> Result<Vec<u8>> {
        self.apply_to(doc, matched, None)
    }

    /// The same of a document of which it is known how it was found.
    pub(crate) fn apply_to(
        &self,
        doc: Doc<'_>,
        matched: Option<usize>,
        metadata: Option<&Metadata>,
    ) -> Result<Vec<u8>> {
        let writer = Writer {
            mode: self.mode,
            root: doc,
            matched,
            metadata,
            now: self.now,
            collation: &self.collation,
            variables: &self.variables,
        };
        let mut out = Vec::new();
        writer.document(&self.tree, doc, Place::Outside, &mut out)?;
        Ok(out)
    }
}

/// Which arrays were entered on the way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    InArray,
    /// An array that is itself an item of an array, where `$slice` does not reach.
    InNestedArray,
}

struct Writer<'a> {
    mode: Mode,
    root: Doc<'a>,
    matched: Option<usize>,
    metadata: Option<&'a Metadata>,
    now: i64,
    collation: &'a Collation,
    variables: &'a [(String, Option<Owned>)],
}

impl Writer<'_> {
    /// Appends the projected document.
    fn document(&self, tree: &Tree, doc: Doc<'_>, place: Place, out: &mut Vec<u8>) -> Result<()> {
        within(out, |out| {
            let mut written = Written::default();
            for element in doc.elements() {
                let name = element.name();
                match tree.child(name) {
                    None if self.mode == Mode::Exclusion => element.value().write_element(name, out),
                    None => {}
                    // Metadata take the place of what is there; an inclusion appends what it computes.
                    Some(Rule::Computed(expression)) if self.mode == Mode::Exclusion => {
                        if let Some(value) = self.evaluate(expression)? {
                            value.as_value().write_element(name, out);
                        }
                        written.add(name);
                    }
                    Some(rule) => {
                        let wrote = self.field(rule, name, element.value(), place, out)?;
                        if wrote && tree.computes {
                            written.add(name);
                        }
                    }
                }
            }
            if self.mode == Mode::Inclusion || tree.computes {
                self.additions(tree, doc, place, &written, out)?;
            }
            Ok(())
        })
    }

    /// Appends what an inclusion computes in this document, in the order of the specification.
    fn additions(
        &self,
        tree: &Tree,
        doc: Doc<'_>,
        place: Place,
        written: &Written,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        for (name, rule) in &tree.children {
            match rule {
                Rule::Computed(expression) if !written.has(name.as_bytes()) => {
                    if let Some(value) = self.evaluate(expression)? {
                        value.as_value().write_element(name.as_bytes(), out);
                    }
                }
                Rule::Element(matcher) if place == Place::Outside && self.mode == Mode::Inclusion => {
                    if let Some(Value::Array(items)) = doc.get(name)
                        && let Some(item) = matcher.first(items).and_then(|position| items.at(position))
                    {
                        only(item, name.as_bytes(), out);
                    }
                }
                Rule::Fields(inner) if inner.computes && !written.has(name.as_bytes()) => {
                    header(0x03, name.as_bytes(), out);
                    self.document(inner, Doc::empty(), place, out)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn evaluate(&self, expression: &Expression) -> Result<Option<Owned>> {
        expression.evaluate(&Scope {
            variables: self.variables.to_vec(),
            metadata: self.metadata,
            collation: self.collation.clone(),
            ..Scope::new(self.root, self.now)
        })
    }

    /// Appends one named field; gives whether anything was written.
    fn field(
        &self,
        rule: &Rule,
        name: &[u8],
        value: Value<'_>,
        place: Place,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        match (rule, value) {
            (Rule::Exclude | Rule::Computed(_), _) => return Ok(false),
            (Rule::Positional, Value::Array(items)) if place == Place::Outside => {
                only(self.matched_item(items)?, name, out);
            }
            (Rule::Slice(slice), Value::Array(items)) if place != Place::InNestedArray => {
                header(0x04, name, out);
                sliced(*slice, items, out);
            }
            (Rule::Include | Rule::Positional | Rule::Slice(_), value) => value.write_element(name, out),
            (Rule::Element(matcher), Value::Array(items)) if self.mode == Mode::Exclusion => {
                match matcher.first(items).and_then(|position| items.at(position)) {
                    Some(item) => only(item, name, out),
                    None => return Ok(false),
                }
            }
            (Rule::Element(_), _) => return Ok(false),
            (Rule::Fields(tree), Value::Document(doc)) => {
                header(0x03, name, out);
                self.document(tree, doc, place, out)?;
            }
            (Rule::Fields(tree), Value::Array(items)) => {
                header(0x04, name, out);
                if tree.positional && place == Place::Outside {
                    let item = self.matched_item(items)?;
                    within(out, |out| {
                        match self.item(tree, b"0", item, Place::InArray, out)? {
                            true => Ok(()),
                            false => Err(mismatch()),
                        }
                    })?;
                } else {
                    let place = match place {
                        Place::InNestedArray => Place::InNestedArray,
                        Place::Outside | Place::InArray => Place::InArray,
                    };
                    self.array(tree, items, place, out)?;
                }
            }
            (Rule::Fields(tree), value) if self.mode == Mode::Exclusion && !tree.computes => {
                value.write_element(name, out)
            }
            // Computed fields replace what is no document.
            (Rule::Fields(tree), _) if tree.computes => {
                header(0x03, name, out);
                self.document(tree, Doc::empty(), place, out)?;
            }
            (Rule::Fields(_), _) => return Ok(false),
        }
        Ok(true)
    }

    /// Appends an array whose documents, at any depth of nested arrays, are projected.
    fn array(&self, tree: &Tree, items: Doc<'_>, place: Place, out: &mut Vec<u8>) -> Result<()> {
        within(out, |out| {
            let mut buffer = [0; 20];
            let mut index = 0;
            for value in items.values() {
                if self.item(tree, decimal(index, &mut buffer), value, place, out)? {
                    index += 1;
                }
            }
            Ok(())
        })
    }

    /// Appends one item of an array; gives whether anything was written.
    fn item(
        &self,
        tree: &Tree,
        name: &[u8],
        value: Value<'_>,
        place: Place,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        match value {
            Value::Document(doc) => {
                header(0x03, name, out);
                self.document(tree, doc, place, out)?;
            }
            Value::Array(items) => {
                header(0x04, name, out);
                self.array(tree, items, Place::InNestedArray, out)?;
            }
            value if self.mode == Mode::Exclusion && !tree.computes => value.write_element(name, out),
            _ if tree.computes => {
                header(0x03, name, out);
                self.document(tree, Doc::empty(), place, out)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn matched_item<'v>(&self, items: Doc<'v>) -> Result<Value<'v>> {
        let position = self.matched.ok_or_else(|| {
            Fault::new(
                51246,
                "positional operator '.$' couldn't find a matching element in the array",
            )
        })?;
        items.at(position).ok_or_else(mismatch)
    }
}

fn mismatch() -> Fault {
    Fault::new(51247, "positional operator '.$' element mismatch")
}

/// The names of fields that were written, where later additions have to know.
#[derive(Default)]
struct Written(Vec<Vec<u8>>);

impl Written {
    fn add(&mut self, name: &[u8]) {
        self.0.push(name.to_vec());
    }

    fn has(&self, name: &[u8]) -> bool {
        self.0.iter().any(|own| own == name)
    }
}

/// Appends an element's type and name.
fn header(kind: u8, name: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(name);
    out.push(0);
}

/// A frame around what a body that can fail appends.
fn within(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let mut result = Ok(());
    framed(out, |out| result = body(out));
    result
}

/// Appends an array of one item.
fn only(item: Value<'_>, name: &[u8], out: &mut Vec<u8>) {
    header(0x04, name, out);
    framed(out, |out| item.write_element(b"0", out));
}

fn sliced(slice: Slice, items: Doc<'_>, out: &mut Vec<u8>) {
    let range = slice.range(items.count());
    framed(out, |out| {
        let mut buffer = [0; 20];
        let kept = items.values().skip(range.start).take(range.len());
        for (index, value) in kept.enumerate() {
            value.write_element(decimal(index, &mut buffer), out);
        }
    });
}
