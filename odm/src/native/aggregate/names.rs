//! The variables that the stages of a pipeline see.

use std::ops::Deref;

use super::expression::Scope;

/// The names of variables, and what is known of them where stages are read: the constants of a command are, those that a
/// `$lookup` binds are not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    all: &'a [String],
    known: Option<&'a Scope<'a>>,
}

impl<'a> Names<'a> {
    /// Names of which nothing is known.
    pub(crate) fn of(all: &'a [String]) -> Names<'a> {
        Names { all, known: None }
    }

    /// Names, and the values of those that are known.
    pub(crate) fn known(all: &'a [String], known: Option<&'a Scope<'a>>) -> Names<'a> {
        Names { all, known }
    }

    /// What is known.
    pub(super) fn scope(&self) -> Option<&'a Scope<'a>> {
        self.known
    }

    /// What is known where other variables are bound, which hide those of their names.
    pub(super) fn hidden_by<T>(&self, bound: &[(String, T)]) -> Option<Scope<'a>> {
        let mut scope = self.known.cloned()?;
        scope
            .variables
            .retain(|(name, _)| bound.iter().all(|(other, _)| other != name));
        Some(scope)
    }
}

impl Deref for Names<'_> {
    type Target = [String];

    fn deref(&self) -> &[String] {
        self.all
    }
}
