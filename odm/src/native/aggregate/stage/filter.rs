//! `$match`.

use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::super::matcher::Matcher;
use super::{Context, Rows, Scope};

/// A filter. Its variables get their values when it runs.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    matcher: Matcher,
    /// The filter as given, if it may use variables or searches texts.
    correlated: Option<Vec<u8>>,
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
        let matcher = Matcher::parse_with(filter, unknown)?;
        let keep = !variables.is_empty() || matcher.text().is_some();
        Ok(Match {
            matcher,
            correlated: keep.then(|| filter.to_bytes()),
        })
    }

    /// The filter, variables without values.
    pub(crate) fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// The filter as given, if it searches texts: only a collection can answer it.
    pub(crate) fn text_filter(&self) -> Option<&[u8]> {
        self.matcher.text().and(self.correlated.as_deref())
    }

    /// The filter with the values of the run's variables.
    pub(crate) fn bound(&self, variables: &[(String, Option<Owned>)]) -> Result<Option<Matcher>> {
        self.correlated
            .as_ref()
            .map(|filter| Matcher::parse_with(Doc::Raw(filter), variables.to_vec()))
            .transpose()
    }

    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.matcher.fold(known)
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        self.matcher = self.matcher.clone().collated(collation);
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        let bound = match self.bound(&context.variables)? {
            Some(matcher) => Some(matcher.collated(&context.collation).at(context.now).settled()?),
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
