//! Reading the projections of stages.

use super::super::super::super::document::{Doc, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::expression::{Expression, is_operator, truth};
use super::super::{path, print};
use super::{Branch, Entry, Mode, Projection};

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
            reader.read(element.name_str(), &element.value(), &[])?;
        }
        reader.finish()
    }

    /// Parses the specification of `$addFields`.
    pub(crate) fn parse_added(spec: Doc<'_>, variables: &[String]) -> Result<Projection> {
        let read = |is_form: bool| {
            let mut adder = Adder {
                variables,
                spec,
                is_form,
                seen: Vec::new(),
                root: Branch::default(),
            };
            for element in spec.elements() {
                let segments = path::parse(element.name_str())?;
                adder.read(segments, &element.value(), None)?;
            }
            Ok(adder.root)
        };
        // What is wrong with the form of any of them is told before what is wrong with an expression.
        read(true)?;
        Ok(Projection::new(Mode::Add, read(false)?))
    }

    /// The projection that drops the named paths.
    pub(crate) fn exclude(names: &[String]) -> Result<Projection> {
        let mut root = Branch::default();
        for name in names {
            root.insert(&Target::read(name, &[])?, Entry::Named)?;
        }
        Ok(Projection::new(Mode::Exclude, root))
    }
}

impl Branch {
    /// Adds an entry at a path; a path may neither repeat nor pass through another's end.
    fn insert(&mut self, target: &Target<'_>, entry: Entry) -> Result<()> {
        let Some((last, parents)) = target.path.split_last() else {
            return Ok(());
        };
        let branch = self.descend(target, parents)?;
        if branch.position(last).is_some() {
            return Err(target.collision());
        }
        branch.entries.push((last.clone(), entry));
        Ok(())
    }

    /// Makes sure that a path leads to a branch.
    fn reserve(&mut self, target: &Target<'_>) -> Result<()> {
        let Some((last, parents)) = target.path.split_last() else {
            return Ok(());
        };
        let branch = self.descend(target, parents)?;
        match branch.position(last).map(|at| &branch.entries[at].1) {
            Some(Entry::Inner(_)) => Ok(()),
            Some(_) => Err(target.collision()),
            None => {
                let inner = Entry::Inner(Branch::default());
                branch.entries.push((last.clone(), inner));
                Ok(())
            }
        }
    }

    fn descend(&mut self, target: &Target<'_>, names: &[String]) -> Result<&mut Branch> {
        let mut branch = self;
        for name in names {
            let position = branch.position(name).unwrap_or_else(|| {
                let inner = Entry::Inner(Branch::default());
                branch.entries.push((name.clone(), inner));
                branch.entries.len() - 1
            });
            let Entry::Inner(inner) = &mut branch.entries[position].1 else {
                return Err(target.passage());
            };
            branch = inner;
        }
        Ok(branch)
    }
}

/// Where an entry stands.
struct Target<'s> {
    /// As written, relative to the document that it stands in.
    name: &'s str,
    /// The whole path.
    path: Vec<String>,
}

impl<'s> Target<'s> {
    fn read(name: &'s str, parents: &[String]) -> Result<Target<'s>> {
        let mut path = parents.to_vec();
        path.extend(path::parse_projected(name)?);
        Ok(Target { name, path })
    }

    fn is_id(&self) -> bool {
        self.path == ["_id"]
    }

    fn collision(&self) -> Fault {
        Fault::new(31250, format!("Path collision at {}", self.name))
    }

    /// The refusal of a path that goes through the end of another.
    fn passage(&self) -> Fault {
        match self.name.split_once('.') {
            Some((_, rest)) => Fault::new(
                31249,
                format!("Path collision at {} remaining portion {rest}", self.name),
            ),
            None => self.collision(),
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
    fn read(&mut self, name: &str, value: &Value<'_>, parents: &[String]) -> Result<()> {
        // What is to be there is looked at before the name.
        match *value {
            Value::Document(doc) if doc.is_empty() => {
                return Err(Fault::new(
                    51270,
                    "An empty sub-projection is not a valid value. Found empty object at path",
                ));
            }
            Value::String(_) | Value::Array(_) => drop(Expression::parse_unfolded(value, self.variables)?),
            _ => {}
        }
        let target = Target::read(name, parents)?;
        match *value {
            Value::Bool(_) | Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
                let include = truth(value);
                self.root.insert(&target, Entry::Named)?;
                if target.is_id() {
                    self.id = Some(include);
                    return Ok(());
                }
                self.turn(if include { Mode::Include } else { Mode::Exclude }, name)
            }
            Value::Document(doc) => {
                let first = doc.elements().next();
                let operator = first.is_some_and(|first| {
                    first.name().first() == Some(&b'$') && !path::is_reserved(first.name_str())
                });
                if operator && doc.count() == 1 {
                    return self.operate(&target, doc);
                }
                self.root.reserve(&target)?;
                for element in doc.elements() {
                    self.read(element.name_str(), &element.value(), &target.path)?;
                }
                Ok(())
            }
            _ => self.literal(&target, value),
        }
    }

    fn operate(&mut self, target: &Target<'_>, operation: Doc<'_>) -> Result<()> {
        if let Some(first) = operation.elements().next()
            && !is_operator(first.name_str())
        {
            let name = first.name_str();
            return Err(match name {
                "$elemMatch" | "$slice" => Fault::new(168, format!("Cannot use {name} in this context")),
                _ => Fault::new(31325, format!("Unknown expression {name}")),
            });
        }
        // Metadata go with either mode and decide none.
        let is_metadata = operation.get("$meta").is_some();
        if self.mode == Some(Mode::Exclude) && !is_metadata {
            return Err(Fault::new(
                31252,
                "Cannot use expression other than $meta in exclusion projection",
            ));
        }
        self.compute(target, &Value::Document(operation))?;
        if !is_metadata {
            self.mode = Some(Mode::Include);
        }
        Ok(())
    }

    fn literal(&mut self, target: &Target<'_>, value: &Value<'_>) -> Result<()> {
        self.compute(target, value)?;
        if self.mode == Some(Mode::Exclude) {
            return Err(Fault::new(
                31310,
                format!(
                    "Cannot use an expression {}: {} in an exclusion projection",
                    target.name,
                    print::bson_value(value)
                ),
            ));
        }
        self.mode = Some(Mode::Include);
        Ok(())
    }

    fn compute(&mut self, target: &Target<'_>, value: &Value<'_>) -> Result<()> {
        let expression = Expression::parse_unfolded(value, self.variables)?;
        self.root.insert(target, Entry::Computed(expression))?;
        if target.is_id() {
            self.id = Some(true);
        }
        Ok(())
    }

    fn turn(&mut self, mode: Mode, name: &str) -> Result<()> {
        match (self.mode, mode) {
            (Some(Mode::Include), Mode::Exclude) => Err(Fault::new(
                31254,
                format!("Cannot do exclusion on field {name} in inclusion projection"),
            )),
            (Some(Mode::Exclude), Mode::Include) => Err(Fault::new(
                31253,
                format!("Cannot do inclusion on field {name} in exclusion projection"),
            )),
            _ => {
                self.mode = Some(mode);
                Ok(())
            }
        }
    }

    fn finish(mut self) -> Result<Projection> {
        let mode = self.mode.unwrap_or(match self.id {
            Some(false) if !self.root.has_computed() => Mode::Exclude,
            _ => Mode::Include,
        });
        let is_named = match mode {
            Mode::Include => self.id.unwrap_or(true),
            _ => self.id == Some(false),
        };
        match self.root.position("_id") {
            None if is_named => self.root.entries.push(("_id".to_owned(), Entry::Named)),
            Some(at) if !is_named && matches!(self.root.entries[at].1, Entry::Named) => {
                self.root.entries.remove(at);
            }
            _ => {}
        }
        Ok(Projection::new(mode, self.root))
    }
}

/// Reads `$addFields`.
struct Adder<'v, 'd> {
    variables: &'v [String],
    spec: Doc<'d>,
    /// Whether only the form is looked at.
    is_form: bool,
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
                            print::bson(self.spec),
                        ),
                    ));
                }
                let inner = path::parse(&format!("{whole}.{name}"))?;
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
        if self.is_form {
            self.seen.push(whole);
            return Ok(());
        }
        let expression = Expression::parse_unfolded(value, self.variables)?;
        let target = Target {
            name: &whole,
            path: segments,
        };
        self.root.insert(&target, Entry::Computed(expression))?;
        self.seen.push(whole);
        Ok(())
    }
}

fn is_prefix(short: &str, long: &str) -> bool {
    long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'))
}
