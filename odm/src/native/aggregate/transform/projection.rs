//! The projections of aggregation: inclusion, exclusion and added fields, as one tree of names.

mod read;
mod write;

use super::super::super::document::owned::field;
use super::super::super::document::places::Places;
use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::Result;
use super::super::super::matcher::Changes;
use super::super::super::needs::Needs;
use super::super::expression::{Expression, Scope};
use super::written;

/// A parsed `$project`, `$addFields` or `$unset`.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    mode: Mode,
    root: Branch,
    /// Whether a server runs it by other means than the later stages.
    is_early: bool,
    /// Whether it is written as `$set`, which it is shown as then.
    is_set: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Only what is named stays.
    Include,
    /// What is named goes.
    Exclude,
    /// All stays, named fields are set.
    Add,
}

/// The names on one level, in the order of the specification.
#[derive(Clone, Debug, Default)]
struct Branch {
    entries: Vec<(String, Entry)>,
    places: Places,
}

#[derive(Clone, Debug)]
enum Entry {
    /// The field is kept (or dropped, when excluding).
    Named,
    Computed(Expression),
    Inner(Branch),
}

impl Projection {
    fn new(mode: Mode, root: Branch) -> Projection {
        Projection {
            mode,
            root,
            is_early: false,
            is_set: false,
        }
    }

    /// The same, written under this name.
    pub(crate) fn written_as(self, name: &str) -> Projection {
        Projection {
            is_set: name == "$set",
            ..self
        }
    }

    /// The name that it is shown under.
    pub(crate) fn name(&self) -> &'static str {
        match self.mode {
            Mode::Add if self.is_set => "$set",
            Mode::Add => "$addFields",
            Mode::Include | Mode::Exclude => "$project",
        }
    }

    /// Whether only what it names stays.
    pub(crate) fn is_inclusive(&self) -> bool {
        self.mode == Mode::Include
    }

    /// Whether only what it names stays, and nothing is computed.
    pub(crate) fn only_keeps(&self) -> bool {
        self.is_inclusive() && !self.root.has_computed()
    }

    /// Whether only what it names stays, and that are fields of the document itself, as they are.
    pub(crate) fn is_flat(&self) -> bool {
        let is_named = |(_, entry): &(String, Entry)| matches!(entry, Entry::Named);
        self.is_inclusive() && self.root.entries.iter().all(is_named)
    }

    /// Whether it names fields inside of fields.
    pub(crate) fn has_parts(&self) -> bool {
        let is_inner = |(_, entry): &(String, Entry)| matches!(entry, Entry::Inner(_));
        self.root.entries.iter().any(is_inner)
    }

    /// Whether all operators in what it computes pass.
    pub(crate) fn all_operators(&self, test: &dyn Fn(&str) -> bool) -> bool {
        self.root.all_operators(test)
    }

    /// Says that a server runs it with the early group or lookup behind it.
    pub(crate) fn set_early(&mut self) {
        self.is_early = true;
    }

    /// Whether a server runs it with the early group or lookup behind it.
    pub(crate) fn is_early(&self) -> bool {
        self.is_early
    }

    /// Adds the paths at which it looks at documents; `false` where these are not all.
    pub(crate) fn add_needs(&self, needs: &mut Needs) -> bool {
        self.is_inclusive() && self.root.add_needs("", needs)
    }

    /// Adds the paths at which it looks to compute fields; `false` where these are not all.
    pub(crate) fn add_computed_needs(&self, needs: &mut Needs) -> bool {
        self.root.add_computed_needs(None, needs)
    }

    /// What it does to the paths of a document.
    pub(crate) fn changes(&self) -> Changes {
        // A field that is set in what is there already is set in the elements of arrays, and nowhere in an empty one.
        let renames = self.root.entries.iter().filter_map(|(name, entry)| match entry {
            Entry::Computed(expression) => Some((name.clone(), expression.as_field()?.to_owned())),
            _ => None,
        });
        let renames: Vec<(String, String)> = renames.collect();
        let mut paths = Vec::new();
        self.root.add_paths(None, self.mode == Mode::Include, &mut paths);
        let changes = match self.mode {
            Mode::Include => Changes::all_but(paths),
            Mode::Exclude | Mode::Add => {
                paths.retain(|path| !renames.iter().any(|(new, _)| new == path));
                Changes::only(paths)
            }
        };
        changes.renaming(renames)
    }

    /// Computes the constant parts.
    pub(crate) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.root.fold(known)?;
        if known.is_some() && self.is_early {
            self.root.set_early();
        }
        Ok(())
    }

    /// The bytes of the projected root document.
    ///
    /// # Errors
    /// What is wrong with values, and a result that nests too deep.
    pub(crate) fn write(&self, scope: &Scope<'_>) -> Result<Vec<u8>> {
        match scope.root {
            Doc::Raw(document) if self.root.is_written_straight() => {
                match self.root.write(document, self.mode, scope)? {
                    Some(written) => Ok(written),
                    None => written(Owned::Document(self.apply(scope)?)),
                }
            }
            _ => written(Owned::Document(self.apply(scope)?)),
        }
    }

    /// The fields that it names, as `explain` shows them: `_id` first where only what is named stays, last where it is said of
    /// it what is said of nothing else.
    pub(crate) fn shown(&self) -> Fields {
        let mut fields = self.root.shown(self.mode);
        match (self.mode, self.root.get(b"_id")) {
            (Mode::Include | Mode::Exclude, Some(Entry::Named)) => {
                let at = fields.iter().position(|(name, _)| name == "_id");
                fields[..=at.unwrap_or(0)].rotate_right(1);
            }
            (Mode::Include, None) => fields.push(field("_id", Owned::Bool(false))),
            (Mode::Exclude, None) => fields.push(field("_id", Owned::Bool(true))),
            _ => {}
        }
        fields
    }

    /// The fields of the projected root document.
    pub(crate) fn apply(&self, scope: &Scope<'_>) -> Result<Fields> {
        let mut fields = self.root.keep(scope.root, self.mode);
        self.root.compute(&mut fields, scope)?;
        Ok(fields)
    }
}

impl Branch {
    fn get(&self, name: &[u8]) -> Option<&Entry> {
        self.at(name).map(|at| &self.entries[at].1)
    }

    fn at(&self, name: &[u8]) -> Option<usize> {
        self.places.find(&self.entries, name)
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|(other, _)| other == name)
    }

    /// Adds the paths of what is named, or of what is named or computed.
    fn add_paths(&self, outer: Option<&str>, only_named: bool, paths: &mut Vec<String>) {
        for (name, entry) in &self.entries {
            let path = outer.map_or_else(|| name.clone(), |outer| format!("{outer}.{name}"));
            match entry {
                Entry::Inner(inner) => inner.add_paths(Some(&path), only_named, paths),
                Entry::Computed(_) if only_named => {}
                Entry::Named | Entry::Computed(_) => paths.push(path),
            }
        }
    }

    /// What is kept or dropped, and then what is computed, or named inside of it.
    fn shown(&self, mode: Mode) -> Fields {
        let named = Owned::Bool(mode != Mode::Exclude);
        let is_named = |entry: &Entry| matches!(entry, Entry::Named);
        let own = self.entries.iter().filter(|(_, entry)| is_named(entry));
        let other = self.entries.iter().filter(|(_, entry)| !is_named(entry));
        let shown = own.chain(other).map(|(name, entry)| {
            let value = match entry {
                Entry::Named => named.clone(),
                Entry::Computed(expression) => expression.described(),
                Entry::Inner(inner) => Owned::Document(inner.shown(mode)),
            };
            field(name, value)
        });
        shown.collect()
    }

    fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        // As on a server, which shows in what fails first: what is computed here, and then what is inside.
        for (_, entry) in &mut self.entries {
            if let Entry::Computed(expression) = entry {
                expression.fold(known)?;
            }
        }
        for (_, entry) in &mut self.entries {
            if let Entry::Inner(inner) = entry {
                inner.fold(known)?;
            }
        }
        Ok(())
    }

    fn all_operators(&self, test: &dyn Fn(&str) -> bool) -> bool {
        self.entries.iter().all(|(_, entry)| match entry {
            Entry::Named => true,
            Entry::Computed(expression) => expression.all_operators(test),
            Entry::Inner(inner) => inner.all_operators(test),
        })
    }

    fn add_needs(&self, outer: &str, needs: &mut Needs) -> bool {
        self.entries.iter().all(|(name, entry)| {
            let path = match outer {
                "" => name.clone(),
                outer => format!("{outer}.{name}"),
            };
            match entry {
                Entry::Named => {
                    needs.keep(&path);
                    true
                }
                Entry::Computed(expression) => {
                    // What is around it stays.
                    if !outer.is_empty() {
                        needs.add(outer);
                    }
                    expression.add_needs(needs)
                }
                Entry::Inner(inner) => inner.add_needs(&path, needs),
            }
        })
    }

    /// The same of what is computed inside of a field, whose shape tells how often.
    fn add_computed_needs(&self, outer: Option<&str>, needs: &mut Needs) -> bool {
        self.entries.iter().all(|(name, entry)| match entry {
            Entry::Named => true,
            Entry::Computed(expression) => {
                outer.into_iter().for_each(|outer| needs.add(outer));
                expression.add_needs(needs)
            }
            Entry::Inner(inner) => inner.add_computed_needs(outer.or(Some(name)), needs),
        })
    }

    fn set_early(&mut self) {
        for (_, entry) in &mut self.entries {
            match entry {
                Entry::Named => {}
                Entry::Computed(expression) => expression.set_early(),
                Entry::Inner(inner) => inner.set_early(),
            }
        }
    }

    /// What stays of the document, before anything is computed.
    fn keep(&self, doc: Doc<'_>, mode: Mode) -> Fields {
        let mut fields = Vec::new();
        for element in doc.elements() {
            let value = match self.get(element.name()) {
                None if mode == Mode::Include => continue,
                None => Some(element.value().into()),
                Some(Entry::Named) if mode == Mode::Exclude => continue,
                Some(Entry::Named) => Some(element.value().into()),
                // Overwritten in its place; an inclusion appends it instead.
                Some(Entry::Computed(_)) if mode == Mode::Include => continue,
                Some(Entry::Computed(_)) => Some(element.value().into()),
                Some(Entry::Inner(inner)) => inner.keep_value(element.value(), mode),
            };
            if let Some(value) = value {
                fields.push((element.name_str().to_owned(), value));
            }
        }
        fields
    }

    fn keep_value(&self, value: Value<'_>, mode: Mode) -> Option<Owned> {
        match value {
            Value::Document(doc) => Some(Owned::Document(self.keep(doc, mode))),
            Value::Array(items) => Some(Owned::Array(
                items
                    .values()
                    .filter_map(|item| self.keep_value(item, mode))
                    .collect(),
            )),
            // What is computed below takes the place of the scalar.
            _ if mode == Mode::Include => self.has_computed().then_some(Owned::Null),
            other => Some(other.into()),
        }
    }

    fn has_computed(&self) -> bool {
        self.entries.iter().any(|(_, entry)| match entry {
            Entry::Named => false,
            Entry::Computed(_) => true,
            Entry::Inner(inner) => inner.has_computed(),
        })
    }

    fn compute(&self, fields: &mut Fields, scope: &Scope<'_>) -> Result<()> {
        for (name, entry) in &self.entries {
            let position = fields.iter().position(|(other, _)| other == name);
            let value = match entry {
                Entry::Named => continue,
                Entry::Computed(expression) => expression.evaluate(scope)?,
                Entry::Inner(inner) => {
                    if !inner.has_computed() {
                        continue;
                    }
                    let mut value = position.map(|at| std::mem::replace(&mut fields[at].1, Owned::Null));
                    inner.compute_value(&mut value, scope)?;
                    value
                }
            };
            match (position, value) {
                (Some(at), Some(value)) => fields[at].1 = value,
                (Some(at), None) => {
                    fields.remove(at);
                }
                (None, Some(value)) => fields.push((name.clone(), value)),
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Sets the computed fields below `value`: in a document, in every element of an array; anything else
    /// gives way to a new document.
    fn compute_value(&self, value: &mut Option<Owned>, scope: &Scope<'_>) -> Result<()> {
        if let Some(value) = value {
            value.open();
        }
        match value {
            Some(Owned::Document(fields)) => self.compute(fields, scope),
            Some(Owned::Array(items)) => {
                for item in items {
                    let mut inner = Some(std::mem::replace(item, Owned::Null));
                    self.compute_value(&mut inner, scope)?;
                    *item = inner.unwrap_or(Owned::Null);
                }
                Ok(())
            }
            other => {
                let mut fields = Vec::new();
                self.compute(&mut fields, scope)?;
                *other = Some(Owned::Document(fields));
                Ok(())
            }
        }
    }
}
