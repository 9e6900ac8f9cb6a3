//! Projections of `find` and `findAndModify`: parsed once, applied to borrowed documents.

mod apply;
mod parse;
#[cfg(test)]
mod tests;

pub(crate) use self::parse::check_key;

use std::borrow::Cow;

use super::aggregate::expression::{Expression, Scope};
use super::collation::Collation;
use super::document::places::Places;
use super::document::{Doc, Owned};
use super::fault::{Fault, Result};
use super::matcher::ElementMatcher;
use super::metadata::{Kind, Wanted};
use super::needs::Needs;

/// A parsed projection.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    mode: Mode,
    tree: Tree,
    positional: bool,
    /// Which metadata are asked for.
    wanted: Wanted,
    /// `$$NOW` for expressions, milliseconds since the epoch.
    now: i64,
    /// How strings compare in expressions; conditions know it themselves.
    collation: Collation,
    /// What `let` gives.
    variables: Vec<(String, Option<Owned>)>,
}

/// What happens to fields that the projection does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// They are dropped.
    Inclusion,
    /// They are kept.
    Exclusion,
}

/// What happens to the fields of one document.
#[derive(Clone, Debug, Default)]
struct Tree {
    /// In the order of the specification.
    children: Vec<(String, Rule)>,
    places: Places,
    /// Whether something is computed here or below.
    computes: bool,
    /// Whether the path of the positional `$` leads through here.
    positional: bool,
}

/// What happens to one field.
#[derive(Clone, Debug)]
enum Rule {
    Include,
    Exclude,
    /// `.$`: of the first array on the path, only the element at which the filter matched.
    Positional,
    /// Only some items of an array; anything else as it is.
    Slice(Slice),
    /// Only the first element that matches; nothing when there is none.
    Element(Box<ElementMatcher>),
    Computed(Box<Expression>),
    Fields(Tree),
}

/// `$slice`: a negative `skip` counts from the end; `limit` is at least 0.
#[derive(Clone, Copy, Debug)]
struct Slice {
    skip: i64,
    limit: i64,
    /// Whether it was written with both numbers.
    skips: bool,
}

impl Tree {
    /// Adds the paths that are kept, or left out; `false` where something else is done.
    fn add_plain(&self, outer: &str, paths: &mut Vec<String>, keeps: bool) -> bool {
        self.children.iter().all(|(name, rule)| {
            let path = match outer {
                "" => name.clone(),
                outer => format!("{outer}.{name}"),
            };
            match rule {
                Rule::Include => {
                    paths.extend(keeps.then_some(path));
                    true
                }
                Rule::Exclude => {
                    paths.extend((!keeps).then_some(path));
                    true
                }
                Rule::Fields(inner) => inner.add_plain(&path, paths, keeps),
                _ => false,
            }
        })
    }
}

impl Projection {
    /// The projection with strings compared by the collation, the variables that it was parsed with given their values, and
    /// all computed that depends on no document.
    ///
    /// # Errors
    /// What is wrong with constants.
    pub(crate) fn settled(
        &self,
        collation: &Collation,
        variables: &[(String, Option<Owned>)],
    ) -> Result<Cow<'_, Projection>> {
        if collation.is_simple() && !self.tree.computes {
            return Ok(Cow::Borrowed(self));
        }
        let mut settled = self.clone();
        if !collation.is_simple() {
            settled.tree.collate(collation);
            settled.collation = collation.clone();
        }
        let mut known = Scope::new(Doc::empty(), self.now);
        known.collation = collation.clone();
        known.variables = variables.to_vec();
        settled.tree.fold(&known)?;
        settled.variables = known.variables;
        Ok(Cow::Owned(settled))
    }

    /// Whether [`Projection::apply`] needs the position at which the filter matched.
    pub(crate) fn needs_position(&self) -> bool {
        self.positional
    }

    /// The projection as that of a view, which is a pipeline's: of metadata alone it is an inclusion.
    ///
    /// # Errors
    /// As the server: 28724 for what only a find of a collection has, and no pipeline computes.
    pub(crate) fn on_view(&self) -> Result<Cow<'_, Projection>> {
        self.tree.refuse_computing()?;
        let mut rules = self.tree.children.iter().map(|(_, rule)| rule);
        if self.mode == Mode::Inclusion || !rules.all(|rule| matches!(rule, Rule::Computed(_))) {
            return Ok(Cow::Borrowed(self));
        }
        let mut own = self.clone();
        own.mode = Mode::Inclusion;
        own.tree.children.push(("_id".to_owned(), Rule::Include));
        own.tree.prepare();
        Ok(Cow::Owned(own))
    }

    /// Refuses what only a find of a collection has.
    ///
    /// # Errors
    /// As the server: 168, 28667 and 31324.
    pub(crate) fn refuse_on_view(&self) -> Result<()> {
        if self.positional {
            return Err(Fault::new(
                31324,
                "Invalid $project :: caused by :: Cannot use positional projection in aggregation projection",
            ));
        }
        self.tree.refuse_on_view()
    }

    /// Whether it only keeps fields of the document itself.
    pub(crate) fn is_simple(&self) -> bool {
        let keeps = |(_, rule): &(String, Rule)| matches!(rule, Rule::Include | Rule::Exclude);
        self.mode == Mode::Inclusion && self.tree.children.iter().all(keeps)
    }

    /// The paths that it keeps, where it does nothing else.
    pub(crate) fn kept(&self) -> Option<Vec<String>> {
        let mut paths = Vec::new();
        let is_plain = self.mode == Mode::Inclusion && self.tree.add_plain("", &mut paths, true);
        is_plain.then_some(paths)
    }

    /// The paths that it leaves out, where it does nothing else.
    pub(crate) fn left_out(&self) -> Option<Vec<String>> {
        let mut paths = Vec::new();
        let is_plain = self.mode == Mode::Exclusion && self.tree.add_plain("", &mut paths, false);
        is_plain.then_some(paths)
    }

    /// What it asks of documents, where that is less than all.
    pub(crate) fn needs(&self) -> Option<Needs> {
        let mut needs = Needs::default();
        let is_all = self.mode == Mode::Inclusion
            && !self.positional
            && self.wanted.is_empty()
            && self.tree.add_needs("", &mut needs);
        is_all.then_some(needs)
    }

    /// The paths at which it puts the values that the order goes by.
    pub(crate) fn sort_keys(&self) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        self.tree.add_sort_keys(&[], &mut paths);
        paths
    }

    /// The metadata that [`Projection::apply_to`] needs.
    pub(crate) fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// Whether the field is one that the projection leaves out by its name.
    pub(crate) fn drops(&self, name: &str) -> bool {
        matches!(self.tree.child(name.as_bytes()), Some(Rule::Exclude))
    }
}

impl Tree {
    /// Adds what is asked of documents; `false` where that is not known.
    fn add_needs(&self, outer: &str, needs: &mut Needs) -> bool {
        self.children.iter().all(|(name, rule)| {
            let path = match outer {
                "" => name.clone(),
                outer => format!("{outer}.{name}"),
            };
            match rule {
                Rule::Exclude => true,
                Rule::Include => {
                    needs.keep(&path);
                    true
                }
                Rule::Computed(expression) => {
                    if !outer.is_empty() {
                        needs.add(outer);
                    }
                    expression.add_needs(needs)
                }
                Rule::Fields(inner) => inner.add_needs(&path, needs),
                Rule::Positional | Rule::Slice(_) | Rule::Element(_) => false,
            }
        })
    }

    fn add_sort_keys(&self, outer: &[String], paths: &mut Vec<Vec<String>>) {
        for (name, rule) in &self.children {
            let path = || [outer, std::slice::from_ref(name)].concat();
            match rule {
                Rule::Computed(expression) if expression.as_meta() == Some(Kind::SortKey) => {
                    paths.push(path());
                }
                Rule::Fields(inner) => inner.add_sort_keys(&path(), paths),
                _ => {}
            }
        }
    }

    fn refuse_on_view(&self) -> Result<()> {
        for (_, rule) in &self.children {
            match rule {
                Rule::Element(_) => {
                    return Err(Fault::new(
                        168,
                        "Unsupported in view pipeline: Invalid $project :: caused by :: Cannot use $elemMatch in this context",
                    ));
                }
                Rule::Slice(slice) if !slice.skips => {
                    return Err(Fault::new(
                        28667,
                        "Invalid $project :: caused by :: Expression $slice takes at least 2 arguments, and at most 3, but 1 were passed in.",
                    ));
                }
                Rule::Fields(below) => below.refuse_on_view()?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses the `$slice` that is an expression of a pipeline, whose first argument is no array.
    fn refuse_computing(&self) -> Result<()> {
        for (_, rule) in &self.children {
            match rule {
                Rule::Slice(slice) if slice.skips => {
                    return Err(Fault::new(
                        28724,
                        "Failed to optimize pipeline :: caused by :: First argument to $slice must be an array, but is of type: int",
                    ));
                }
                Rule::Fields(below) => below.refuse_computing()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn collate(&mut self, collation: &Collation) {
        for (_, rule) in &mut self.children {
            match rule {
                Rule::Element(matcher) => **matcher = matcher.as_ref().clone().collated(collation),
                Rule::Fields(inner) => inner.collate(collation),
                _ => {}
            }
        }
    }

    fn fold(&mut self, known: &Scope<'_>) -> Result<()> {
        for (_, rule) in &mut self.children {
            match rule {
                Rule::Computed(expression) => expression.fold(Some(known))?,
                Rule::Fields(inner) => inner.fold(known)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn child(&self, name: &[u8]) -> Option<&Rule> {
        let at = self.places.find(&self.children, name)?;
        Some(&self.children[at].1)
    }
}

impl Slice {
    /// The positions that stay, of an array of this length.
    fn range(self, length: usize) -> std::ops::Range<usize> {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let start = if self.skip < 0 {
            length.saturating_add(self.skip).max(0)
        } else {
            self.skip.min(length)
        };
        let end = start.saturating_add(self.limit).min(length);
        let position = |number: i64| usize::try_from(number).unwrap_or(0);
        position(start)..position(end)
    }
}
