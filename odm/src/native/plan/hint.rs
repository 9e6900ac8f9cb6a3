//! Hints: the index that is to be read.

use super::super::document::{Doc, Value, compare::compare_documents, number::as_f64};
use super::super::fault::{Fault, Result, code};
use super::super::sort::SortSpec;
use super::IndexView;
use super::near::refuse_natural;

/// Refuses a hint that no collection has an index for.
///
/// # Errors
/// Code 2.
pub(crate) fn check_hint(hint: &Value<'_>) -> Result<()> {
    Hint::parse(*hint).map(drop)
}

/// Whether it is a hint to go through the collection from its end.
pub(crate) fn is_backwards(hint: Value<'_>) -> bool {
    matches!(Hint::parse(hint), Ok(Hint::Natural { reverse: true, .. }))
}

pub(super) enum Hint<'a> {
    Free,
    Natural {
        reverse: bool,
        /// The direction as it is written.
        given: Value<'a>,
    },
    Index(IndexHint<'a>),
}

pub(super) enum IndexHint<'a> {
    Name(&'a str),
    Pattern(Doc<'a>),
}

impl<'a> Hint<'a> {
    pub(super) fn parse(value: Value<'a>) -> Result<Hint<'a>> {
        match value {
            Value::String(name) => Ok(Hint::Index(IndexHint::Name(name))),
            Value::Document(pattern) if pattern.is_empty() => Ok(Hint::Free),
            Value::Document(pattern) => match pattern.get("$natural") {
                Some(_) if pattern.count() > 1 => Err(Fault::new(
                    code::BAD_VALUE,
                    format!("Cannot include '$natural' in compound hint: {pattern}"),
                )),
                Some(direction) => Ok(Hint::Natural {
                    given: direction,
                    reverse: as_f64(&direction).is_some_and(|direction| direction < 0.0),
                }),
                None => Ok(Hint::Index(IndexHint::Pattern(pattern))),
            },
            _ => Err(Fault::new(
                code::FAILED_TO_PARSE,
                "Hint must be a string or an object",
            )),
        }
    }

    /// Refuses, with a `$natural` sort, an index and another direction. As whole numbers: 2 is another than 1.
    pub(super) fn check_order(&self, sort: Doc<'_>) -> Result<()> {
        let Some(own) = sort.get("$natural") else {
            return Ok(());
        };
        let direction = |value: &Value<'_>| as_f64(value).map_or(0, |number| number as i32);
        match self {
            Hint::Natural { given, .. } if direction(given) != direction(&own) => Err(Fault::new(
                code::BAD_VALUE,
                "$natural hint must be in the same direction as $natural sort order",
            )),
            Hint::Index(_) => Err(Fault::new(
                code::BAD_VALUE,
                "index hint not allowed with $natural sort order",
            )),
            _ => Ok(()),
        }
    }
}

/// Refuses what is wrong with `$natural` in a hint and in an order, whatever the collection: the server does so when it has
/// read the filter. `asks_near`: of what is near.
///
/// # Errors
/// 2 for other fields beside `$natural`, for one of what is near, and beside a `$natural` sort for an index or another
/// direction.
pub(crate) fn check_natural(hint: Option<&Value<'_>>, sort: Option<Doc<'_>>, asks_near: bool) -> Result<()> {
    let sort = sort.unwrap_or(Doc::empty());
    SortSpec::check_natural(sort)?;
    let parsed = hint.copied().map(Hint::parse).transpose()?;
    if asks_near {
        refuse_natural(sort.get("$natural").is_some(), hint)?;
    }
    parsed.map_or(Ok(()), |hint| hint.check_order(sort))
}

/// The index as the server's planner tells it.
fn shown(view: &IndexView<'_>) -> String {
    let definition = view.definition;
    let mut told = format!("kp: {}", definition.key_pattern());
    let states = [
        (" multikey", view.is_multikey() || definition.wildcard.is_some()),
        (" sparse", definition.sparse),
        (" unique", definition.unique),
    ];
    told.extend(states.into_iter().filter(|(_, is)| *is).map(|(state, _)| state));
    told.push_str(&format!(" name: '({}, )'", definition.name));
    if let Some(partial) = &definition.partial {
        told.push_str(&format!(" filterExpr: {}", partial.root().tree()));
    }
    format!("{told} io: {}", definition.shown())
}

impl IndexHint<'_> {
    pub(super) fn find(&self, indexes: &[IndexView<'_>]) -> Result<usize> {
        let mut meant = indexes.iter().enumerate().filter(|(_, view)| {
            !view.definition.hidden
                && match self {
                    IndexHint::Name(name) => view.definition.name == *name,
                    IndexHint::Pattern(pattern) => {
                        compare_documents(view.definition.key_pattern(), *pattern).is_eq()
                    }
                }
        });
        match (meant.next(), meant.next()) {
            (Some((index, _)), None) => Ok(index),
            (None, _) => Err(Fault::unplanned(
                code::BAD_VALUE,
                "hint provided does not correspond to an existing index",
            )),
            (Some((_, one)), Some((_, other))) => Err(Fault::unplanned(
                code::INDEX_NOT_FOUND,
                format!(
                    "Hint matched multiple indexes, must hint by index name. Matched: {} and {}",
                    shown(one),
                    shown(other)
                ),
            )),
        }
    }
}
