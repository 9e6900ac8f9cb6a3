//! Plans of filters with a text search: its terms are looked up in the collection's text index.

use std::ops::Bound;
use std::sync::Arc;

use super::super::collation::Collation;
use super::super::document::{Doc, Value};
use super::super::fault::{Fault, Result, code};
use super::super::index::{IndexDefinition, kept_term};
use super::super::key;
use super::super::matcher::ast::{Node, Predicate};
use super::candidate::Conjunct;
use super::interval::Intervals;
use super::{Access, KeyRange, Plan, PlanRequest, TextPlan, UnionPart, by_index, flatten, holds_partial};

/// The code of a filter that no plan answers.
const NO_PLAN: i32 = 291;

/// Chooses the plan of a filter with a text search.
///
/// # Errors
/// 27 without a text index, 2 for a hint, 291 where the index cannot answer.
pub(super) fn choose(request: &PlanRequest<'_>, hinted: bool) -> Result<Plan> {
    let index = request
        .indexes
        .iter()
        .position(|view| view.definition.text.is_some())
        .ok_or_else(|| required(None))?;
    if hinted {
        return Err(with_hint());
    }
    let definition = request.indexes[index].definition;
    if definition.hidden {
        // That nothing can match is seen before an index is looked for.
        return match request.matcher.root().is_never() {
            true => Ok(Plan::nothing()),
            false => Err(Fault::unplanned(
                NO_PLAN,
                "need exactly one text index for $text query",
            )),
        };
    }
    let spec = definition.text.as_ref().ok_or_else(|| required(None))?;
    let (matcher, scoring) = request.matcher.over_text(spec).ok_or_else(|| required(None))?;
    let text = TextPlan {
        matcher,
        scoring,
        index,
    };
    let root = text.matcher.root();
    let mut accesses = Vec::new();
    access(request, &text, root, &mut accesses)?;
    let exact =
        matches!(root, Node::Text(_)) && text.scoring.search.is_plain() && definition.partial.is_none();
    Ok(Plan {
        access: Access::Union(accesses.into_iter().map(UnionPart::from).collect()),
        sorted: request.sort.is_none_or(|sort| sort.fields.is_empty()),
        exact,
        repeats: true,
        covered_count: exact,
        by_id: false,
        text: Some(Arc::new(text)),
        asked: None,
        cover: None,
        sieve: None,
        leap: None,
    })
}

/// The fault of a search with a hint.
pub(crate) fn with_hint() -> Fault {
    Fault::new(code::BAD_VALUE, "text and hint not allowed in same query")
}

/// The fault of a search without an index; `missing` is the collection, if it is not there.
pub(crate) fn required(missing: Option<&str>) -> Fault {
    let message = "text index required for $text query";
    let whole = match missing {
        Some(ns) => format!("{message} (no such collection '{ns}')"),
        None => message.to_owned(),
    };
    Fault::new(code::INDEX_NOT_FOUND, whole)
}

fn has_text(node: &Node) -> bool {
    match node {
        Node::Text(_) => true,
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().any(has_text),
        _ => false,
    }
}

/// Adds where the documents of a filter come from.
fn access(request: &PlanRequest<'_>, text: &TextPlan, root: &Node, into: &mut Vec<Access>) -> Result<()> {
    let parts = match root {
        Node::And(parts) => parts.as_slice(),
        only => std::slice::from_ref(only),
    };
    if parts.iter().any(|part| matches!(part, Node::Text(_))) {
        return terms(request, text, root, into);
    }
    let Some((at, Node::Or(branches))) = parts.iter().enumerate().find(|(_, part)| has_text(part)) else {
        return Err(unanswered());
    };
    for branch in branches {
        let rest = parts.iter().enumerate().filter(|(other, _)| *other != at);
        let mut whole = vec![branch.clone()];
        whole.extend(rest.map(|(_, part)| part.clone()));
        let whole = flatten(whole);
        if has_text(branch) {
            access(request, text, &whole, into)?;
            continue;
        }
        match by_index(request, &whole)? {
            Some(plan) if matches!(plan.access, Access::Nothing) => {}
            Some(plan) => into.push(plan.access),
            None => {
                return Err(Fault::unplanned(
                    NO_PLAN,
                    "Failed to produce a solution for TEXT under OR - other non-TEXT clauses under OR have to be \
                     indexed as well.",
                ));
            }
        }
    }
    Ok(())
}

/// Adds a range of the text index for each term.
fn terms(request: &PlanRequest<'_>, text: &TextPlan, root: &Node, into: &mut Vec<Access>) -> Result<()> {
    let definition = request.indexes[text.index].definition;
    if !holds_partial(definition, root) {
        return Err(unanswered());
    }
    let prefix = prefix(definition, &Conjunct::of(root))?;
    for term in text.scoring.search.terms() {
        let mut component = prefix.clone();
        key::encode(&Value::String(&kept_term(term)), false, &mut component);
        let edge = |side: u8| [component.as_slice(), &[side]].concat();
        let range = KeyRange {
            from: Bound::Included(edge(key::BEFORE)),
            to: Bound::Excluded(edge(key::AFTER)),
        };
        into.push(Access::Index {
            index: text.index,
            ranges: vec![range],
            // The greatest score first.
            reverse: true,
            bounds: vec![Intervals::all(); definition.keys.len()],
            tail: None,
        });
    }
    Ok(())
}

/// The components before the term: each has to be one value.
fn prefix(definition: &IndexDefinition, conjuncts: &[Conjunct<'_>]) -> Result<Vec<u8>> {
    let mut components = Vec::new();
    let before = definition.term_position().unwrap_or(0);
    for field in &definition.keys[..before] {
        let value = conjuncts.iter().find_map(|conjunct| match conjunct.predicate {
            _ if conjunct.path != field.path || conjunct.group != 0 => None,
            Predicate::Equal(value) => Some(value),
            // One of a single value is that value.
            Predicate::In { values, patterns } if patterns.is_empty() => match values.as_slice() {
                [only] => Some(only),
                _ => None,
            },
            _ => None,
        });
        let value = value.ok_or_else(unanswered)?.as_value();
        field.order.encode(&value, Collation::simple(), &mut components);
    }
    Ok(components)
}

fn unanswered() -> Fault {
    Fault::unplanned(
        NO_PLAN,
        "failed to use text index to satisfy $text query (if text index is compound, are equality predicates given for all prefix fields?)",
    )
}

impl Plan {
    /// How well a document answers the filter's text search, if there is one.
    pub(crate) fn score(&self, doc: Doc<'_>) -> Result<Option<f64>> {
        match &self.text {
            Some(text) => text.scoring.score(doc),
            None => Ok(None),
        }
    }
}

impl TextPlan {
    /// The position of the index in the request.
    pub(super) fn index(&self) -> usize {
        self.index
    }
}
