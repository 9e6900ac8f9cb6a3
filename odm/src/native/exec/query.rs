//! A parsed query: filter, sort, hint, and what they cost to choose a plan for.

use std::sync::Arc;

use super::super::catalog::Collection;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result};
use super::super::matcher::Matcher;
use super::super::matcher::ast::{Node, Predicate};
use super::super::plan::{self, IndexView, Plan, PlanRequest};
use super::super::sort::SortSpec;

/// A parsed filter with sort and hint; made once, planned against each collection state it meets.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) matcher: Arc<Matcher>,
    pub(crate) sort: Option<SortSpec>,
    hint: Option<Owned>,
}

impl Query {
    /// Parses the parts; the documents have passed the gate.
    pub(crate) fn parse(filter: Doc<'_>, sort: Option<Doc<'_>>, hint: Option<Value<'_>>) -> Result<Query> {
        Query::parse_with(filter, sort, hint, Vec::new())
    }

    /// Parses the parts of an operation that gives variables to its expressions.
    pub(crate) fn parse_with(
        filter: Doc<'_>,
        sort: Option<Doc<'_>>,
        hint: Option<Value<'_>>,
        variables: Vec<(String, Option<Owned>)>,
    ) -> Result<Query> {
        let matcher = Arc::new(Matcher::parse_with(filter, variables)?);
        let sort = sort
            .map(SortSpec::parse)
            .transpose()?
            .filter(|sort| !sort.is_empty());
        if sort.as_ref().is_some_and(SortSpec::needs_score) && matcher.text().is_none() {
            return Err(no_score());
        }
        Ok(Query {
            matcher,
            sort,
            hint: hint.map(Owned::from),
        })
    }

    /// A query of parts that are parsed already.
    pub(crate) fn of(matcher: Matcher, sort: Option<SortSpec>, hint: Option<Owned>) -> Query {
        Query {
            matcher: Arc::new(matcher),
            sort,
            hint,
        }
    }

    /// The same query in another order.
    pub(crate) fn sorted(&self, sort: SortSpec) -> Query {
        Query {
            sort: Some(sort).filter(|sort| !sort.is_empty()),
            ..self.clone()
        }
    }

    /// The hint as given.
    pub(crate) fn hint(&self) -> Option<&Owned> {
        self.hint.as_ref()
    }

    /// Chooses how to answer the query on this collection. `limit` is how many documents are wanted, those that are
    /// skipped included.
    pub(crate) fn plan(&self, collection: &Collection, limit: Option<u64>) -> Result<Plan> {
        let mut views = views(collection);
        if self.is_by_id() && views.first().is_some_and(|view| view.definition.is_id()) {
            // No other index finds one document faster: they need not be weighed.
            views.truncate(1);
        }
        plan::choose(self.request(&views, limit))
    }

    /// Whether one document is asked for by its `_id`, and no index is asked for.
    fn is_by_id(&self) -> bool {
        let by_id = match self.matcher.root() {
            Node::Field {
                path,
                predicate: Predicate::Equal(_),
            } => path.as_str() == "_id",
            _ => false,
        };
        by_id && self.hint.is_none()
    }

    /// What the planner is asked.
    pub(crate) fn request<'a>(&'a self, indexes: &'a [IndexView<'a>], limit: Option<u64>) -> PlanRequest<'a> {
        PlanRequest {
            matcher: &self.matcher,
            sort: self.sort.as_ref(),
            indexes,
            hint: self.hint.as_ref().map(Owned::as_value),
            limit,
        }
    }

    /// The sort that is left to do when the access does not give the order.
    pub(crate) fn sort_after(&self, plan: &Plan) -> Option<&SortSpec> {
        self.sort
            .as_ref()
            .filter(|sort| !plan.sorted && !sort.fields.is_empty())
    }

    /// Whether every document matches, and no index is asked for.
    pub(crate) fn is_everything(&self) -> bool {
        let all = match self.matcher.root() {
            Node::Always => true,
            Node::And(parts) => parts.is_empty(),
            _ => false,
        };
        all && self.hint.is_none()
    }
}

/// The fault of a score where nothing is searched.
pub(crate) fn no_score() -> Fault {
    Fault::new(
        40218,
        "query requires text score metadata, but it is not available",
    )
}

/// The indexes of a collection as the planner sees them.
pub(crate) fn views(collection: &Collection) -> Vec<IndexView<'_>> {
    collection
        .indexes
        .iter()
        .map(|entry| IndexView {
            definition: &entry.definition,
            multikey: &entry.multikey,
        })
        .collect()
}
