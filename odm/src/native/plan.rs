//! Choosing how a filter and a sort are answered.
//!
//! What a plan selects is always a superset of what matches; unless the plan is exact, the filter is checked
//! again on every document.

use std::ops::Bound;
use std::sync::Arc;

use self::candidate::{Candidate, Conjunct};
use self::hint::Hint;
use self::interval::Intervals;
use super::collation::Collation;
use super::document::Value;
use super::fault::{Fault, Result, code};
use super::index::IndexDefinition;
use super::index::arrays::{Arrays, is_multikey};
use super::matcher::ast::Node;
use super::matcher::{Matcher, Scoring};
use super::needs::Needs;
use super::sort::SortSpec;

pub(crate) use self::by_id::is_plain;
pub(crate) use self::cover::{Cover, Leap, Made};
pub(crate) use self::edges::Edges;
pub(crate) use self::explain::{Finish, Shaping};
pub(crate) use self::hint::{check_hint, check_natural, is_backwards};
pub(crate) use self::merge::Stream;
pub(crate) use self::sieve::Sieve;
pub(crate) use self::stage::{Stage, figure};
pub(crate) use self::tail::{Spot, Tail};
pub(crate) use self::text::{required as text_required, with_hint as text_with_hint};
pub(crate) use self::trial::Trial;

mod bounds;
mod by_id;
mod candidate;
mod computed;
mod cover;
mod edges;
mod explain;
mod hint;
mod imply;
pub(crate) mod interval;
mod merge;
mod narrow;
mod near;
mod residue;
mod sieve;
pub(crate) mod stage;
mod tail;
mod text;
mod trial;
mod union;
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
    /// Who tries plans; without one guesses decide.
    pub(crate) trial: Option<&'a dyn Trial>,
    /// What is asked of what is found, if that is less than all.
    pub(crate) needs: Option<&'a Needs>,
}

/// An index as the planner sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexView<'a> {
    pub(crate) definition: &'a IndexDefinition,
    /// Per field, where on its path documents have ever had arrays; what is not there has met none.
    pub(crate) multikey: &'a [Arrays],
    /// Whether an index filter leaves it out.
    pub(crate) is_left_out: bool,
}

impl IndexView<'_> {
    /// Whether a document may have several keys.
    pub(crate) fn is_multikey(&self) -> bool {
        is_multikey(self.multikey)
    }

    /// Where arrays were met on the path of a field.
    fn arrays(&self, field: usize) -> Arrays {
        self.multikey.get(field).copied().unwrap_or_default()
    }

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
    /// What makes documents of keys, where these have all that is asked for.
    pub(crate) cover: Option<Arc<Cover>>,
    /// What is asked of keys before documents are read, if anything.
    pub(crate) sieve: Option<Arc<Sieve>>,
    /// How its scan passes over documents of the same value, where one of each is enough.
    pub(crate) leap: Option<Arc<Leap>>,
}

/// A plan, and those that did worse in a trial.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) plan: Plan,
    pub(crate) beaten: Vec<Plan>,
}

impl From<Plan> for Choice {
    fn from(plan: Plan) -> Choice {
        Choice {
            plan,
            beaten: Vec::new(),
        }
    }
}

/// A text search with the index that answers it.
#[derive(Clone, Debug)]
pub(crate) struct TextPlan {
    /// The filter, whose text search knows the index.
    pub(crate) matcher: Matcher,
    pub(crate) scoring: Arc<Scoring>,
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
        /// What the keys in the ranges have to hold besides.
        tail: Option<Arc<Tail>>,
    },
    /// Several parts one after the other, for `$or`.
    Union(Vec<UnionPart>),
    /// Several parts of indexes that have one order, in this order.
    Merge(Vec<Stream>),
}

/// A part of what answers an `$or`.
#[derive(Clone, Debug)]
pub(crate) struct UnionPart {
    pub(crate) access: Access,
    /// The branches that it answers.
    answered: Vec<usize>,
    /// What is asked of the documents that it leads to: another part may give one that it does not. `None` where it leads to
    /// nothing else.
    pub(crate) asked: Option<Arc<Matcher>>,
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
/// a document; what ends a trial.
pub(crate) fn choose(request: PlanRequest<'_>) -> Result<Choice> {
    let choice = found(request)?;
    Ok(Choice {
        plan: choice.plan.covering(&request).sieving(&request),
        beaten: choice
            .beaten
            .into_iter()
            .map(|plan| plan.covering(&request).sieving(&request))
            .collect(),
    })
}

/// The same, without what is asked of the documents.
fn found(request: PlanRequest<'_>) -> Result<Choice> {
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
        return near::choose(&request, field, &hint).map(Choice::from);
    }
    if request.matcher.text().is_some() {
        return text::choose(&request, !matches!(hint, Hint::Free)).map(Choice::from);
    }
    if let Some(edges) = request.edges {
        return edges::choose(&request, edges, &hint).map(Choice::from);
    }
    if let Some(reverse) = natural {
        return Ok(Plan::collection(reverse, true).into());
    }
    let planned = request.matcher.root().planned();
    let root = &*planned;
    let only = match hint {
        Hint::Free => None,
        Hint::Natural { reverse, .. } => return Ok(Plan::collection(reverse, no_sort).into()),
        Hint::Index(hint) => Some(hint.find(request.indexes)?),
    };
    if let Node::Never = root {
        return Ok(Plan::nothing().into());
    }
    if only.is_none()
        && no_sort
        && root.is_always()
        && let Some(plan) = Plan::of_values(&request)
    {
        return Ok(plan.into());
    }
    let conjuncts = Conjunct::of(root);
    let rivals = match only {
        Some(index) if request.indexes[index].definition.wildcard.is_some() => {
            let best = best_of(wildcard::candidates(&request, index, root, &conjuncts));
            match best {
                None if wildcard::answers_on_server(&request, index, root) => {
                    return Ok(Plan::collection(false, no_sort).into());
                }
                best => vec![best.ok_or_else(no_solution)?],
            }
        }
        Some(index) => vec![Candidate::new(&request, index, root, &conjuncts)],
        None => trial::rivals(&request, useful(&request, root, &conjuncts)),
    };
    let Some(first) = rivals.first() else {
        let mut plans = union::plans(&request, root)?;
        if plans.is_empty() {
            plans.push(Plan::collection(false, no_sort));
        }
        return trial::decide(plans, request.trial, request.limit);
    };
    // A plan without a bound only serves the sort; the branches of an `$or` may still be bounded.
    let is_bounded = first.is_bounded();
    let may_unite = match request.trial {
        Some(_) => !first.is_unbeatable(),
        None => !is_bounded && no_sort,
    };
    let mut is_narrowed = false;
    let mut plans = Vec::with_capacity(rivals.len());
    for rival in rivals {
        let narrowed = narrow::narrow(&request, root, &rival);
        is_narrowed |= narrowed.is_some();
        plans.push(narrowed.unwrap_or_else(|| rival.into_plan(&request, root)));
    }
    if only.is_none() && may_unite && !is_narrowed {
        let united = union::plans(&request, root)?;
        if !united.is_empty() && !is_bounded && no_sort {
            plans.clear();
        }
        plans.extend(united);
    }
    trial::decide(plans, request.trial, request.limit)
}

/// The indexes that the filter and their own kind allow, with what the request makes of them where that is of use.
fn useful<'a>(request: &PlanRequest<'a>, root: &Node, conjuncts: &[Conjunct<'_>]) -> Vec<Candidate<'a>> {
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
    candidates.filter(Candidate::is_useful).collect()
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

/// The one that is guessed to cost least, the first of equals.
fn best_of<'a>(candidates: impl IntoIterator<Item = Candidate<'a>>) -> Option<Candidate<'a>> {
    candidates.into_iter().min_by(Candidate::compare)
}

/// The hinted index cannot answer the query.
fn no_solution() -> Fault {
    Fault::unplanned(291, "No query solutions")
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

/// A plan that answers a filter in no order from an index.
fn by_index(request: &PlanRequest<'_>, root: &Node) -> Result<Option<Plan>> {
    let alone = PlanRequest {
        sort: None,
        limit: None,
        ..*request
    };
    let rivals = trial::rivals(&alone, useful(&alone, root, &Conjunct::of(root)));
    let plans: Vec<Plan> = rivals
        .into_iter()
        .map(|rival| rival.into_plan(&alone, root))
        .collect();
    match plans.is_empty() {
        true => Ok(None),
        false => trial::decide(plans, alone.trial, None).map(|choice| Some(choice.plan)),
    }
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
            cover: None,
            sieve: None,
            leap: None,
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
            cover: None,
            sieve: None,
            leap: None,
        }
    }
}

#[cfg(test)]
mod tests;
