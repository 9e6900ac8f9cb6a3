//! The paths at which documents are looked at.

/// What is asked of documents, where that is no more than what they have at some paths, or not asked of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Sorted, distinct.
    paths: Vec<String>,
    /// Whether the documents are asked for as they are.
    is_whole: bool,
    /// Whether a document around a field is asked for, be the field missing.
    has_around: bool,
    /// Where it only matters which values there are.
    values: Option<(String, Values)>,
}

/// Which of the values at a path are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// Those that there are.
    There,
    /// The same, and whether one is missing.
    OrMissing,
    /// The first document of each; what is missing is null.
    First,
}

impl Needs {
    /// Which values there are at a path.
    pub(crate) fn of_values(path: &str, values: Values) -> Needs {
        Needs {
            paths: vec![path.to_owned()],
            values: Some((path.to_owned(), values)),
            ..Needs::default()
        }
    }

    /// All of documents.
    pub(crate) fn whole() -> Needs {
        Needs {
            is_whole: true,
            ..Needs::default()
        }
    }

    /// The same of the first document of each value at a path.
    pub(crate) fn of_first(self, path: &str) -> Needs {
        Needs {
            values: Some((path.to_owned(), Values::First)),
            ..self
        }
    }

    /// The same of each document; `None` where that is all.
    pub(crate) fn of_each(self) -> Option<Needs> {
        (!self.is_whole).then_some(Needs { values: None, ..self })
    }

    /// The path at which it only matters which values there are.
    pub(crate) fn values(&self) -> Option<(&str, Values)> {
        let (path, values) = self.values.as_ref()?;
        Some((path, *values))
    }

    /// Whether there is more to it than the paths.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Adds the value at a dotted path, whole.
    pub(crate) fn add(&mut self, path: &str) {
        if let Err(place) = self.paths.binary_search_by(|own| own.as_str().cmp(path)) {
            self.paths.insert(place, path.to_owned());
        }
    }

    /// Adds what a projection keeps of a path: without the field at its end, the documents around that.
    pub(crate) fn keep(&mut self, path: &str) {
        self.has_around |= path.contains('.');
        self.add(path);
    }

    /// Whether a document around a field is asked for, be the field missing.
    pub(crate) fn has_around(&self) -> bool {
        self.has_around
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.binary_search_by(|own| own.as_str().cmp(path)).is_ok()
    }

    /// The paths, without those inside of others.
    pub(crate) fn outermost(&self) -> impl Iterator<Item = &str> {
        self.paths().filter(|path| self.reaching(path) == Some(path))
    }

    /// The path, or the outermost one around it, if what it leads to is asked for.
    pub(crate) fn reaching<'p>(&self, path: &'p str) -> Option<&'p str> {
        let mut around = path.match_indices('.').map(|(at, _)| &path[..at]);
        let outermost = around.find(|outer| self.has(outer));
        outermost.or_else(|| self.has(path).then_some(path))
    }

    /// The same beside what these ask for.
    pub(crate) fn and(mut self, other: &Needs) -> Needs {
        other.paths().for_each(|path| self.add(path));
        self
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }
}
