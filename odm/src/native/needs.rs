//! The paths at which documents are looked at.

/// What is asked of documents, where it is no more than what they have at some paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Sorted, distinct.
    paths: Vec<String>,
    /// Whether a document around a field is asked for, be the field missing.
    has_around: bool,
}

impl Needs {
    /// What is at one path.
    pub(crate) fn of(path: &str) -> Needs {
        Needs {
            paths: vec![path.to_owned()],
            has_around: false,
        }
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

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }
}
