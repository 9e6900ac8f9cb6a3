//! Choosing how a filter and a sort are answered.
//!
//! What a plan selects is always a superset of what matches; unless the plan is exact, the filter is checked
//! again on every document.

use std::ops::Bound;
use std::sync::Arc;

use self::candidate::{Candidate, Conjunct};
use self::interval::Intervals;
pub(crate) use self::near::refuse_natural;
use super::collation::Collation;
use super::document::{Doc, Value, compare::compare_documents, number::as_f64};
use super::fault::{Fault, Result, code};
use super::index::IndexDefinition;
use super::matcher::Matcher;
use super::matcher::ast::Node;
use super::sort::SortSpec;
use super::text::TextSearch;

pub(crate) use self::by_id::is_plain;
pub(crate) use self::edges::Edges;
pub(crate) use self::text::required as text_required;

mod bounds;
mod by_id;
mod candidate;
mod computed;
mod edges;
mod explain;
mod imply;
pub(crate) mod interval;
mod narrow;
mod near;
mod text;
mod wildcard;

/// What is asked, and what there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanRequest<'a> {
    pub(crate) matcher: &'a Matcher,
    pub(crate) sort: Option<&'a SortSpec>,
    pub(crate) indexes: &'a [IndexView<'a>],
    /// An index's name or key pattern, or `{$natural: ±1}`.
    pub(crate) hint: Option<Value<'a>>,
    /// How many documents are wanted, skipped ones included.
    pub(crate) limit: Option<u64>,
    /// The part of the hinted index to look at, and how strings compare.
    pub(crate) edges: Option<(&'a Edges, &'a Collation)>,
}

/// An index as the planner sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexView<'a> {
    pub(crate) definition: &'a IndexDefinition,
    /// Per field, whether any document ever met an array on its path; what is not there is false.
    pub(crate) multikey: &'a [bool],
    /// Whether an index filter leaves it out.
    pub(crate) is_left_out: bool,
}

impl IndexView<'_> {
    /// Whether the strings of the request compare otherwise than its own.
    fn is_foreign_to(&self, request: &PlanRequest<'_>) -> bool {
        self.definition.collation != *request.matcher.collation()
    }
}

/// How a request is answered.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) access: Access,
    /// Documents come in the order that was asked for.
    pub(crate) sorted: bool,
    /// Everything selected matches: the filter need not be checked.
    pub(crate) exact: bool,
    /// A record may come more than once; only its first time counts.
    pub(crate) repeats: bool,
    /// Matches can be counted from the index alone (by distinct record when `repeats`).
    pub(crate) covered_count: bool,
    /// One document is asked for by its `_id`.
    pub(crate) by_id: bool,
    /// What the filter's text search became.
    pub(crate) text: Option<Arc<TextPlan>>,
    /// The filter in the order in which it is asked of what an index leads to, where that is another.
    pub(crate) asked: Option<Arc<Matcher>>,
}

/// A text search with the index that answers it.
#[derive(Clone, Debug)]
pub(crate) struct TextPlan {
    /// The filter, whose text search knows the index.
    pub(crate) matcher: Matcher,
    pub(crate) search: Arc<TextSearch>,
    /// The index's position in the request.
    index: usize,
}

/// Where documents come from.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    /// Nothing can match.
    Nothing,
    /// All documents in insertion order.
    Collection { reverse: bool },
    /// Parts of an index.
    Index {
        /// Its position in the request.
        index: usize,
        /// Disjoint, in stored order; `reverse` visits the last one first, each from its end.
        ranges: Vec<KeyRange>,
        reverse: bool,
        /// What each field is bounded to.
        bounds: Vec<Intervals>,
    },
    /// Several parts one after the other, for `$or`.
    Union(Vec<Access>),
}

/// A range of an index. The bounds hold for keys with and without the record id behind them: no key is equal
/// to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) from: Bound<Vec<u8>>,
    pub(crate) to: Bound<Vec<u8>>,
}

/// Chooses a plan.
///
/// # Errors
/// 2 for a hint that names no index or comes with a `$natural` sort, 9 for one that is neither a string nor
/// a document.
pub(crate) fn choose(request: PlanRequest<'_>) -> Result<Plan> {
    let natural = request.sort.and_then(|sort| sort.natural);
    if natural.is_some() && request.matcher.text().is_some() {
        text::choose(&request, false)?;
        return Err(Fault::new(
            code::BAD_VALUE,
            "text expression not allowed with $natural sort order",
        ));
    }
    let hint = request.hint.map(Hint::parse).transpose()?.unwrap_or(Hint::Free);
    if let Some(sort) = request.sort {
        hint.check_order(sort.spec())?;
    }
    let no_sort = request.sort.is_none_or(|sort| sort.fields.is_empty());
    if let Some(field) = request.matcher.near() {
        return near::choose(&request, field, &hint);
    }
    if request.matcher.text().is_some() {
        return text::choose(&request, !matches!(hint, Hint::Free));
    }
    if let Some(edges) = request.edges {
        return edges::choose(&request, edges, &hint);
    }
    if let Some(reverse) = natural {
        return Ok(Plan::collection(reverse, true));
    }
    let root = request.matcher.root();
    let only = match hint {
        Hint::Free => None,
        Hint::Natural { reverse, .. } => return Ok(Plan::collection(reverse, no_sort)),
        Hint::Index(hint) => Some(hint.find(request.indexes)?),
    };
    if let Node::Never = root {
        return Ok(Plan::nothing());
    }
    let conjuncts = Conjunct::of(root);
    let best = match only {
        Some(index) if request.indexes[index].definition.wildcard.is_some() => {
            let best = best_of(wildcard::candidates(&request, index, root, &conjuncts));
            match best {
                None if wildcard::answers_on_server(&request, index, root) => {
                    return Ok(Plan::collection(false, no_sort));
                }
                best => Some(best.ok_or_else(no_solution)?),
            }
        }
        Some(index) => Some(Candidate::new(&request, index, root, &conjuncts)),
        None => best(&request, root, &conjuncts),
    };
    // A plan without a bound only serves the sort; the branches of an `$or` may still be bounded.
    let bounded = best.as_ref().is_some_and(Candidate::is_bounded);
    if only.is_none()
        && !bounded
        && (no_sort || best.is_none())
        && let Some(union) = union(&request, root)
    {
        return Ok(Plan {
            sorted: no_sort,
            ..union
        });
    }
    match best {
        Some(best) if best.is_impossible() => Ok(Plan::nothing()),
        Some(best) => {
            Ok(narrow::narrow(&request, root, &best).unwrap_or_else(|| best.into_plan(no_sort, root)))
        }
        None => Ok(Plan::collection(false, no_sort)),
    }
}

/// The best index that the filter and the index's own kind allow, if any is of use.
fn best<'a>(request: &PlanRequest<'a>, root: &Node, conjuncts: &[Conjunct<'_>]) -> Option<Candidate<'a>> {
    let computed = computed::comparisons(root);
    let asks = |path: &str| {
        conjuncts.iter().any(|conjunct| conjunct.path == path)
            || computed.iter().any(|compared| compared.path == path)
    };
    let candidates = request
        .indexes
        .iter()
        .enumerate()
        .filter(|(_, view)| view.definition.text.is_none())
        .filter(|(_, view)| may_serve(view.definition, request, &asks))
        .filter(|(_, view)| !view.definition.hidden && !view.is_left_out)
        .filter(|(_, view)| holds_matches(view.definition, root))
        .flat_map(|(index, view)| match view.definition.wildcard {
            None => vec![Candidate::new(request, index, root, conjuncts)],
            Some(_) => wildcard::candidates(request, index, root, conjuncts),
        });
    best_of(candidates.filter(Candidate::is_useful))
}

/// Whether the index's first field is asked for, or the order begins with it: without that an index is of no use, unless
/// its keys are of another kind.
fn may_serve(definition: &IndexDefinition, request: &PlanRequest<'_>, asks: &dyn Fn(&str) -> bool) -> bool {
    let Some(first) = definition.keys.first() else {
        return true;
    };
    let sorted = request.sort.and_then(|sort| sort.fields.first());
    definition.wildcard.is_some()
        || first.order.is_geo()
        || request.matcher.near().is_some()
        || asks(&first.path)
        || sorted.is_some_and(|field| field.path == first.path)
}

fn best_of<'a>(candidates: impl IntoIterator<Item = Candidate<'a>>) -> Option<Candidate<'a>> {
    // The first of equals is kept.
    candidates
        .into_iter()
        .reduce(|best, next| if next.is_better_than(&best) { next } else { best })
}

/// The hinted index cannot answer the query.
fn no_solution() -> Fault {
    Fault::new(
        291,
        "error processing query: planner returned error :: caused by :: No query solutions",
    )
}

/// Whether every document that matches is in the index.
fn holds_matches(definition: &IndexDefinition, root: &Node) -> bool {
    if !holds_partial(definition, root) {
        return false;
    }
    let geo: Vec<_> = definition
        .keys
        .iter()
        .filter(|field| field.order.is_geo())
        .collect();
    if !geo.is_empty() {
        return geo.iter().any(|field| imply::implies_geometry(root, &field.path));
    }
    !definition.sparse
        || definition
            .keys
            .iter()
            .any(|field| imply::implies_exists(root, &field.path))
}

/// Whether every document that matches is among those that a partial index holds.
fn holds_partial(definition: &IndexDefinition, root: &Node) -> bool {
    let partial = definition.partial.as_ref();
    partial.is_none_or(|partial| imply::implies(root, partial.root()))
}

/// A plan that answers each branch of an `$or` from an index.
fn union(request: &PlanRequest<'_>, root: &Node) -> Option<Plan> {
    let (branches, rest): (&[Node], Vec<&Node>) = match root {
        Node::Or(branches) => (branches, Vec::new()),
        Node::And(parts) => {
            let position = parts.iter().position(|part| matches!(part, Node::Or(_)))?;
            let Node::Or(branches) = &parts[position] else {
                return None;
            };
            let rest = parts
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != position)
                .map(|(_, part)| part)
                .collect();
            (branches, rest)
        }
        _ => return None,
    };
    let unsorted = PlanRequest {
        sort: None,
        ..*request
    };
    let mut accesses = Vec::with_capacity(branches.len());
    let mut exact = rest.is_empty();
    for branch in branches {
        let mut parts: Vec<Node> = vec![branch.clone()];
        parts.extend(rest.iter().map(|part| (*part).clone()));
        let whole = flatten(parts);
        let conjuncts = Conjunct::of(&whole);
        let best = match best(&unsorted, &whole, &conjuncts) {
            Some(best) if best.is_selective() => best,
            _ => {
                let nested = union(&unsorted, &whole)?;
                exact &= nested.exact;
                accesses.push(nested.access);
                continue;
            }
        };
        if !best.is_impossible() {
            let plan = best.into_plan(true, &whole);
            exact &= plan.exact;
            accesses.push(plan.access);
        }
    }
    if accesses.is_empty() {
        return Some(Plan::nothing());
    }
    Some(Plan {
        access: Access::Union(accesses),
        sorted: true,
        exact,
        repeats: true,
        covered_count: exact,
        by_id: false,
        text: None,
        asked: None,
    })
}

/// One `And` without an `And` inside.
fn flatten(parts: Vec<Node>) -> Node {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Node::And(inner) => flat.extend(inner),
            other => flat.push(other),
        }
    }
    Node::And(flat)
}

/// Refuses a hint that no collection has an index for.
///
/// # Errors
/// Code 2.
pub(crate) fn check_hint(hint: &Value<'_>) -> Result<()> {
    Hint::parse(*hint).map(drop)
}

enum Hint<'a> {
    Free,
    Natural {
        reverse: bool,
        /// The direction as it is written.
        given: Value<'a>,
    },
    Index(IndexHint<'a>),
}

enum IndexHint<'a> {
    Name(&'a str),
    Pattern(Doc<'a>),
}

impl<'a> Hint<'a> {
    fn parse(value: Value<'a>) -> Result<Hint<'a>> {
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
    fn check_order(&self, sort: Doc<'_>) -> Result<()> {
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

/// Refuses a hint that is wrong whatever the collection: the server does so before it looks for it.
///
/// # Errors
/// 2 for other fields beside `$natural`, and beside a `$natural` sort for an index or another direction.
pub(crate) fn check_natural(hint: Option<Value<'_>>, sort: Option<Doc<'_>>) -> Result<()> {
    match hint {
        Some(hint @ (Value::String(_) | Value::Document(_))) => {
            Hint::parse(hint)?.check_order(sort.unwrap_or(Doc::empty()))
        }
        _ => Ok(()),
    }
}

impl IndexHint<'_> {
    fn find(&self, indexes: &[IndexView<'_>]) -> Result<usize> {
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
            (None, _) => Err(Fault::new(
                code::BAD_VALUE,
                "hint provided does not correspond to an existing index",
            )),
            (Some((_, one)), Some((_, other))) => Err(Fault::new(
                code::INDEX_NOT_FOUND,
                format!(
                    "error processing query: planner returned error :: caused by :: Hint matched multiple indexes, \
                     must hint by index name. Matched: {} and {}",
                    Doc::Raw(one.definition.spec()),
                    Doc::Raw(other.definition.spec())
                ),
            )),
        }
    }
}

impl Plan {
    /// The plan with the filter in the order in which it is asked.
    pub(crate) fn asking(mut self, matcher: &Matcher) -> Plan {
        let is_bounded = match &self.access {
            Access::Index { bounds, .. } => !bounds.iter().all(Intervals::is_all),
            _ => false,
        };
        if is_bounded && matcher.computes() {
            self.asked = Some(Arc::new(matcher.clone().behind_index()));
        }
        self
    }

    fn nothing() -> Plan {
        Plan {
            access: Access::Nothing,
            sorted: true,
            exact: true,
            repeats: false,
            covered_count: true,
            by_id: false,
            text: None,
            asked: None,
        }
    }

    /// All documents in insertion order.
    pub(crate) fn scan() -> Plan {
        Plan::collection(false, true)
    }

    /// All documents in the collection's own order.
    pub(crate) fn collection(reverse: bool, sorted: bool) -> Plan {
        Plan {
            access: Access::Collection { reverse },
            sorted,
            exact: false,
            repeats: false,
            covered_count: false,
            by_id: false,
            text: None,
            asked: None,
        }
    }
}

#[cfg(test)]
mod tests;
