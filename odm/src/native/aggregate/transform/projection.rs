//! The projections of aggregation: inclusion, exclusion and added fields, as one tree of names.

use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::expression::{Expression, Scope, is_operator, truth};
use super::{path, print};

/// A parsed `$project`, `$addFields` or `$unset`.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    mode: Mode,
    root: Branch,
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
}

#[derive(Clone, Debug)]
enum Entry {
    /// The field is kept (or dropped, when excluding).
    Named,
    Computed(Expression),
    Inner(Branch),
}

impl Projection {
    /// Parses the specification of `$project`.
    pub(crate) fn parse(spec: Doc<'_>, variables: &[String]) -> Result<Projection> {
        if spec.is_empty() {
            return Err(Fault::new(
                51272,
                "projection specification must have at least one field",
            ));
        }
        let mut reader = Reader {
            variables,
            mode: None,
            id: None,
            root: Branch::default(),
        };
        for element in spec.elements() {
            let name = element.name_str();
            let segments = path::parse_projected(name)?;
            reader.read(segments, name, &element.value())?;
        }
        reader.finish()
    }

    /// Parses the specification of `$addFields`.
    pub(crate) fn parse_added(spec: Doc<'_>, variables: &[String]) -> Result<Projection> {
        let mut adder = Adder {
            variables,
            spec,
            seen: Vec::new(),
            root: Branch::default(),
        };
        for element in spec.elements() {
            let segments = path::parse(element.name_str())?;
            adder.read(segments, &element.value(), None)?;
        }
        Ok(Projection {
            mode: Mode::Add,
            root: adder.root,
        })
    }

    /// The projection that drops the named paths.
    pub(crate) fn exclude(names: &[String]) -> Result<Projection> {
        let mut root = Branch::default();
        for name in names {
            root.insert(&path::parse_projected(name)?, name, Entry::Named)?;
        }
        Ok(Projection {
            mode: Mode::Exclude,
            root,
        })
    }

    /// Whether only what it names stays.
    pub(crate) fn is_inclusive(&self) -> bool {
        self.mode == Mode::Include
    }

    /// Whether only what it names stays, and nothing is computed.
    pub(crate) fn only_keeps(&self) -> bool {
        self.is_inclusive() && !self.root.has_computed()
    }

    /// The fields that stay whole.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &str> {
        let entries = self.root.entries.iter();
        entries.filter_map(|(name, entry)| matches!(entry, Entry::Named).then_some(name.as_str()))
    }

    /// Computes the constant parts.
    pub(crate) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.root.fold(known)
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
        self.entries
            .iter()
            .find(|(other, _)| other.as_bytes() == name)
            .map(|(_, entry)| entry)
    }

    fn insert(&mut self, segments: &[String], whole: &str, entry: Entry) -> Result<()> {
        let Some((name, rest)) = segments.split_first() else {
            return Ok(());
        };
        let position = self.entries.iter().position(|(other, _)| other == name);
        match (position, rest.is_empty()) {
            (None, true) => self.entries.push((name.clone(), entry)),
            (None, false) => {
                let mut inner = Branch::default();
                inner.insert(rest, whole, entry)?;
                self.entries.push((name.clone(), Entry::Inner(inner)));
            }
            (Some(_), true) => {
                return Err(Fault::new(31250, format!("Path collision at {whole}")));
            }
            (Some(at), false) => match &mut self.entries[at].1 {
                Entry::Inner(inner) => inner.insert(rest, whole, entry)?,
                _ => {
                    return Err(Fault::new(
                        31249,
                        format!("Path collision at {whole} remaining portion {}", rest.join(".")),
                    ));
                }
            },
        }
        Ok(())
    }

    fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        for (_, entry) in &mut self.entries {
            match entry {
                Entry::Named => {}
                Entry::Computed(expression) => expression.fold(known)?,
                Entry::Inner(inner) => inner.fold(known)?,
            }
        }
        Ok(())
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

/// Reads `$project`.
struct Reader<'v> {
    variables: &'v [String],
    /// Known from the first field that tells.
    mode: Option<Mode>,
    /// What was said of `_id` itself.
    id: Option<bool>,
    root: Branch,
}

impl Reader<'_> {
    fn read(&mut self, segments: Vec<String>, whole: &str, value: &Value<'_>) -> Result<()> {
        match *value {
            Value::Bool(_) | Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
                let include = truth(value);
                if whole == "_id" && self.id.is_none() {
                    self.id = Some(include);
                    return Ok(());
                }
                self.turn(if include { Mode::Include } else { Mode::Exclude }, whole)?;
                self.root.insert(&segments, whole, Entry::Named)
            }
            Value::Document(doc) => {
                let Some(first) = doc.elements().next() else {
                    return Err(Fault::new(
                        51270,
                        "An empty sub-projection is not a valid value. Found empty object at path",
                    ));
                };
                let operator = first.name().first() == Some(&b'$') && !path::is_reserved(first.name_str());
                if operator && doc.count() == 1 {
                    return self.compute(segments, whole, value);
                }
                for element in doc.elements() {
                    let mut inner = segments.clone();
                    inner.extend(path::parse_projected(element.name_str())?);
                    let whole = format!("{whole}.{}", element.name_str());
                    self.read(inner, &whole, &element.value())?;
                }
                Ok(())
            }
            _ => self.compute(segments, whole, value),
        }
    }

    fn compute(&mut self, segments: Vec<String>, whole: &str, value: &Value<'_>) -> Result<()> {
        if let Value::Document(doc) = *value
            && let Some(first) = doc.elements().next()
            && !is_operator(first.name_str())
        {
            let name = first.name_str();
            return Err(match name {
                "$elemMatch" | "$slice" => Fault::new(168, format!("Cannot use {name} in this context")),
                _ => Fault::new(31325, format!("Unknown expression {name}")),
            });
        }
        // Metadata go with either mode and decide none.
        let is_metadata = matches!(*value, Value::Document(doc) if doc.get("$meta").is_some());
        if self.mode == Some(Mode::Exclude) && !is_metadata && matches!(value, Value::Document(_)) {
            return Err(Fault::new(
                31252,
                "Cannot use expression other than $meta in exclusion projection",
            ));
        }
        if self.mode == Some(Mode::Exclude) && !is_metadata {
            return Err(Fault::new(
                31310,
                format!(
                    "Cannot use an expression {whole}: {} in an exclusion projection",
                    print::bson_value(value)
                ),
            ));
        }
        if whole == "_id" {
            self.id = Some(true);
        }
        if !is_metadata {
            self.mode = Some(Mode::Include);
        }
        let expression = Expression::parse_unfolded(value, self.variables)?;
        self.root.insert(&segments, whole, Entry::Computed(expression))
    }

    fn turn(&mut self, mode: Mode, whole: &str) -> Result<()> {
        match (self.mode, mode) {
            (Some(Mode::Include), Mode::Exclude) => Err(Fault::new(
                31254,
                format!("Cannot do exclusion on field {whole} in inclusion projection"),
            )),
            (Some(Mode::Exclude), Mode::Include) => Err(Fault::new(
                31253,
                format!("Cannot do inclusion on field {whole} in exclusion projection"),
            )),
            _ => {
                self.mode = Some(mode);
                Ok(())
            }
        }
    }

    fn finish(mut self) -> Result<Projection> {
        let has_id = self.root.get(b"_id").is_some();
        let mode = self.mode.unwrap_or(match self.id {
            Some(false) if !self.root.has_computed() => Mode::Exclude,
            _ => Mode::Include,
        });
        let named = match mode {
            Mode::Include => self.id.unwrap_or(true),
            _ => self.id == Some(false),
        };
        if named && !has_id {
            self.root.entries.push(("_id".to_owned(), Entry::Named));
        }
        Ok(Projection {
            mode,
            root: self.root,
        })
    }
}

/// Reads `$addFields`.
struct Adder<'v, 'd> {
    variables: &'v [String],
    spec: Doc<'d>,
    seen: Vec<String>,
    root: Branch,
}

impl Adder<'_, '_> {
    fn read(&mut self, segments: Vec<String>, value: &Value<'_>, parent: Option<Doc<'_>>) -> Result<()> {
        let whole = segments.join(".");
        if let Value::Document(doc) = *value {
            if doc.is_empty() {
                return Err(Fault::new(
                    40180,
                    format!("an empty object is not a valid value. Found empty object at path {whole}"),
                ));
            }
            if doc
                .elements()
                .any(|element| element.name().first() == Some(&b'$'))
            {
                if doc.count() != 1 {
                    return Err(Fault::new(
                        40181,
                        format!(
                            "an expression specification must contain exactly one field, the name of the expression. Found {} fields in {}, while parsing object {}",
                            doc.count(),
                            print::bson(doc),
                            print::bson(parent.unwrap_or(self.spec)),
                        ),
                    ));
                }
                return self.add(segments, whole, value);
            }
            for element in doc.elements() {
                let name = element.name_str();
                if name.contains('.') {
                    return Err(Fault::new(
                        40183,
                        format!(
                            "cannot use dotted field name '{name}' in a sub object: {}",
                            print::bson(parent.unwrap_or(self.spec)),
                        ),
                    ));
                }
                let mut inner = segments.clone();
                inner.extend(path::parse(name)?);
                self.read(inner, &element.value(), Some(doc))?;
            }
            return Ok(());
        }
        self.add(segments, whole, value)
    }

    fn add(&mut self, segments: Vec<String>, whole: String, value: &Value<'_>) -> Result<()> {
        for other in &self.seen {
            if *other == whole || is_prefix(other, &whole) || is_prefix(&whole, other) {
                return Err(Fault::new(
                    40176,
                    format!(
                        "specification contains two conflicting paths. Cannot specify both '{whole}' and '{other}': {}",
                        print::bson(self.spec)
                    ),
                ));
            }
        }
        let expression = Expression::parse_unfolded(value, self.variables)?;
        self.root.insert(&segments, &whole, Entry::Computed(expression))?;
        self.seen.push(whole);
        Ok(())
    }
}

fn is_prefix(short: &str, long: &str) -> bool {
    long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'))
}
