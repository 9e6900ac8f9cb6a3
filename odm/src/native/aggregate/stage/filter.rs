//! `$match`.

use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::super::matcher::{Changes, Matcher};
use super::{Context, Rows, Scope};

/// A filter. Its variables get their values when it runs.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    matcher: Matcher,
    /// The filter as given, if it searches texts.
    search: Option<Vec<u8>>,
    /// Whether it may use variables.
    is_correlated: bool,
}

impl Match {
    pub(super) fn parse(value: &Value<'_>, variables: &[String]) -> Result<Match> {
        let Value::Document(filter) = *value else {
            return Err(Fault::new(
                15959,
                "the match filter must be an expression in an object",
            ));
        };
        let unknown = variables.iter().map(|name| (name.clone(), None)).collect();
        let matcher = Matcher::parse_stage(filter, unknown)?;
        Ok(Match {
            search: matcher.text().is_some().then(|| filter.to_bytes()),
            is_correlated: !variables.is_empty() && matcher.computes(),
            matcher,
        })
    }

    /// A stage that asks what a query asks, which knows its variables.
    pub(in super::super) fn of(matcher: Matcher) -> Match {
        Match {
            matcher,
            search: None,
            is_correlated: false,
        }
    }

    /// The filter, variables without values.
    pub(crate) fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// The filter as given, if it searches texts: only a collection can answer it.
    pub(crate) fn text_filter(&self) -> Option<&[u8]> {
        self.search.as_deref()
    }

    /// The filter with the values of the run's variables.
    pub(crate) fn bound(&self, variables: &[(String, Option<Owned>)]) -> Option<Matcher> {
        self.is_correlated
            .then(|| self.matcher.clone().with_variables(variables.to_vec()))
    }

    /// The filter that both of these are.
    pub(in super::super) fn and(&self, other: &Match) -> Match {
        Match {
            matcher: self.matcher.and(&other.matcher),
            search: None,
            is_correlated: self.is_correlated || other.is_correlated,
        }
    }

    /// The part that may be asked before the changes, and the part that may not.
    pub(in super::super) fn split(self, changes: &Changes) -> (Option<Match>, Option<Match>) {
        let (ahead, behind) = self.matcher.split(changes);
        let part = |matcher| Match {
            matcher,
            search: None,
            is_correlated: self.is_correlated,
        };
        (ahead.map(part), behind.map(part))
    }

    /// The part that a document has matched of which a part matches.
    pub(in super::super) fn lasting(&self) -> Option<Match> {
        Some(Match {
            matcher: self.matcher.lasting()?,
            search: None,
            is_correlated: self.is_correlated,
        })
    }

    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.matcher.fold(known)?;
        self.matcher.simplify();
        Ok(())
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        self.matcher = self.matcher.clone().collated(collation);
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        let bound = match self.bound(&context.variables) {
            Some(matcher) => {
                let mut matcher = matcher.collated(&context.collation).at(context.now).settled()?;
                matcher.simplify();
                Some(matcher)
            }
            None if self.matcher.computes() => Some(self.matcher.clone().at(context.now)),
            None => None,
        };
        Ok(Box::new(input.filter_map(move |row| {
            let row = match row {
                Ok(row) => row,
                Err(fault) => return Some(Err(fault)),
            };
            let matcher = bound.as_ref().unwrap_or(&self.matcher);
            match matcher.matches(Doc::Raw(&row)) {
                Ok(true) => Some(Ok(row)),
                Ok(false) => None,
                Err(fault) => Some(Err(fault)),
            }
        })))
    }
}
