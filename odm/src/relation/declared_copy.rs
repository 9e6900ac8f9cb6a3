//! Where models hold copies.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::copy_circle::is_circular;
use super::copy_of::CopyDeclaration;
use super::place::{Step, names, needs_expressions};
use super::stored::Steps;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::Declared;
use crate::schema::ModelDescriptor;
use bson::{RawBson, RawDocument};

/// A place in the documents of a model where copies of another model's fields are.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeclaredCopy {
    /// The model that holds the copies.
    pub model: &'static ModelDescriptor,
    /// Where they are: `lines.product`, `rooms.*.owner` for the values of a map.
    pub path: String,
    /// What is copied.
    pub copy: CopyDeclaration,
    pub(super) steps: Vec<Step>,
}

/// The copies that the documents of a model hold.
#[derive(Debug, Default)]
struct Copies {
    all: Vec<DeclaredCopy>,
    /// A place that goes on for ever.
    endless: Option<String>,
}

impl DeclaredCopy {
    /// The path of the references, as filters have it.
    pub(crate) fn reference_path(&self) -> String {
        let mut path = names(&self.steps);
        path.push(&self.copy.reference);
        path.join(".")
    }

    /// What references to a stored source hold; nothing of one without it.
    pub(crate) fn key_of(&self, source: &RawDocument) -> Result<Option<RawBson>> {
        let key = Steps::dotted(&self.copy.key).one(source)?;
        Ok(key.map(RawBson::from))
    }

    /// Whether a declared index of the model finds the copies of a source.
    pub fn is_indexed(&self) -> bool {
        let path = self.reference_path();
        !self.needs_expressions()
            && (path == "_id"
                || self.model.all_indexes().iter().any(|index| {
                    let first = index.keys().first();
                    !index.is_partial() && first.is_some_and(|(key, _)| key.to_string() == path)
                }))
    }

    /// Whether neither filters nor positions of updates reach all of the copies, but expressions do.
    pub(super) fn needs_expressions(&self) -> bool {
        needs_expressions(&self.steps)
    }

    /// The field of the document that the copies are in; none where they are not in one field.
    pub(super) fn root(&self) -> Option<&str> {
        match self.steps.first() {
            Some(Step::Name(name)) => Some(name),
            _ => None,
        }
    }
}

impl ModelDescriptor {
    /// The places where documents of the model hold copies of other models' fields.
    pub fn copies(&'static self) -> &'static [DeclaredCopy] {
        &copies(self).all
    }

    /// The places where other models hold copies of this model's fields, of those that `#[odm(copied_to(..))]` names.
    pub fn copied(&'static self) -> Vec<&'static DeclaredCopy> {
        let mut all: Vec<&'static DeclaredCopy> = Vec::new();
        for holder in self.copied_to {
            all.extend(holder().copies().iter().filter(|copy| copy.copy.source.is(self)));
        }
        all
    }

    /// Whether the sources of all copies know of them.
    ///
    /// # Errors
    /// `Schema` for a copy whose source does not, and for one that no update can reach.
    pub(crate) fn check_copies(&'static self) -> Result<()> {
        let problem = |text, path: &str| {
            Err(Error::new(ErrorKind::Schema, text)
                .with_model(self.name)
                .with_path(path))
        };
        let copies = copies(self);
        if let Some(path) = &copies.endless {
            let text = "a copy inside of a type that holds itself cannot be reached by an update";
            return problem(text, path);
        }
        for copy in &copies.all {
            copy.copy.check()?;
            if is_circular(copy) {
                return problem(
                    "copies of copies go in a circle, so that a change would never end",
                    &copy.path,
                );
            }
            let knows = |holder: &&'static ModelDescriptor| {
                holder.is(self)
                    || holder.kinds.iter().any(|kind| kind.model.is(self))
                    || self.kinds.iter().any(|kind| kind.model.is(holder))
            };
            let mut holders = copy.copy.source.copied_to.iter().map(|holder| holder());
            if !holders.any(|holder| knows(&holder)) {
                let text = format!(
                    "a change of a `{0}` does not know of this copy; name the model on `{0}`: `#[odm(copied_to({1}))]`",
                    copy.copy.source.name, self.name
                );
                return Err(Error::new(ErrorKind::Schema, text)
                    .with_model(self.name)
                    .with_path(&copy.path));
            }
        }
        Ok(())
    }
}

/// Found at the first use of a model, and kept as long as the process.
fn copies(model: &'static ModelDescriptor) -> &'static Copies {
    /// Models of one name and one collection can be two: those with the same function are the same.
    type Known = HashMap<(&'static str, &'static str, usize), &'static Copies>;
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    let key = (model.name, model.collection, model.declared as usize);
    known.entry(key).or_insert_with(|| {
        let mut search = Search {
            model,
            steps: Vec::new(),
            above: Vec::new(),
            loops: Vec::new(),
            found: Copies::default(),
        };
        search.walk((model.declared)());
        &*Box::leak(Box::new(search.found))
    })
}

struct Search {
    model: &'static ModelDescriptor,
    steps: Vec<Step>,
    /// The types that are being looked into.
    above: Vec<*const Declared>,
    /// Those that hold themselves.
    loops: Vec<*const Declared>,
    found: Copies,
}

impl Search {
    fn walk(&mut self, declared: &'static Declared) {
        let here = std::ptr::from_ref(declared);
        if self.above.contains(&here) {
            self.loops.push(here);
            return;
        }
        self.above.push(here);
        let before = self.found.all.len();
        match declared {
            Declared::Nothing | Declared::Untyped | Declared::Refers(_) | Declared::Derived(_) => {}
            Declared::Document { fields, copy, .. } => {
                if let Some(copy) = copy {
                    self.add(copy());
                }
                for field in *fields {
                    self.step(
                        (!field.name.is_empty()).then(|| Step::Name(field.name.to_owned())),
                        field.nested(),
                    );
                }
            }
            Declared::Array(inner) => self.step(Some(Step::Each), inner()),
            Declared::Map(inner) => self.step(Some(Step::Values), inner()),
            Declared::Variants {
                content, variants, ..
            } => {
                for variant in *variants {
                    self.step(
                        (!content.is_empty()).then(|| Step::Name((*content).to_owned())),
                        variant.nested(),
                    );
                }
            }
        }
        self.above.pop();
        if let (true, Some(copy)) = (self.loops.contains(&here), self.found.all.get(before)) {
            self.found.endless.get_or_insert_with(|| copy.path.clone());
        }
    }

    fn step(&mut self, step: Option<Step>, declared: &'static Declared) {
        let deeper = step.is_some();
        self.steps.extend(step);
        self.walk(declared);
        if deeper {
            self.steps.pop();
        }
    }

    fn add(&mut self, copy: CopyDeclaration) {
        let same = |known: &DeclaredCopy| known.steps == self.steps && known.copy.source.is(copy.source);
        if self.found.all.iter().any(same) {
            return;
        }
        let path = self.steps.iter().filter_map(|step| match step {
            Step::Name(name) => Some(name.as_str()),
            Step::Each => None,
            Step::Values => Some("*"),
        });
        self.found.all.push(DeclaredCopy {
            model: self.model,
            path: path.collect::<Vec<_>>().join("."),
            copy,
            steps: self.steps.clone(),
        });
    }
}
