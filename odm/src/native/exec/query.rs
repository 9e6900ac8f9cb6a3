//! A parsed query: filter, sort, hint, and what they cost to choose a plan for.

use std::sync::Arc;

use super::super::catalog::Collection;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::Result;
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
        if let Some(id) = self.id()
            && collection
                .indexes
                .first()
                .is_some_and(|entry| entry.definition.is_id())
            && let Some(plan) = Plan::of_id(id)
        {
            return Ok(plan);
        }
        plan::choose(self.request(&views(collection), limit))
    }

    /// The `_id` when one document is asked for by it, in no order and by no index that is asked for.
    fn id(&self) -> Option<&Owned> {
        match self.matcher.root() {
            Node::Field {
                path,
                predicate: Predicate::Equal(id),
            } if path.as_str() == "_id" && self.sort.is_none() && self.hint.is_none() => Some(id),
            _ => None,
        }
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
