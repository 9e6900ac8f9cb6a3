//! What a query would do, or did: the plan and what it examined.

use super::super::document::{Doc, Owned};
use super::super::fault::Result;
use super::super::plan::Plan;
use super::super::storage::Read;
use super::query::Query;
use super::search::{self, Limits};
use super::{Deadline, Namespace};

/// What is explained.
#[derive(Clone, Debug)]
pub(crate) struct ExplainRequest {
    pub(crate) namespace: Namespace,
    pub(crate) query: Query,
    pub(crate) skip: u64,
    /// 0 is no limit.
    pub(crate) limit: u64,
    /// Whether to run the query and count.
    pub(crate) execute: bool,
    pub(crate) deadline: Deadline,
}

/// The explanation, in the shape of the server's.
pub(crate) fn explain(read: &dyn Read, request: &ExplainRequest) -> Result<Vec<u8>> {
    let ns = &request.namespace;
    let collection = read.catalog().collection(&ns.database, &ns.collection).cloned();
    let plan = match &collection {
        Some(collection) => request.query.plan(collection)?,
        None => Plan::nothing(),
    };
    let definitions: Vec<_> =
        collection.iter().flat_map(|collection| collection.indexes.iter().map(|entry| &*entry.definition)).collect();
    let planner = Owned::Document(vec![
        field("namespace", Owned::String(ns.to_string())),
        field("indexFilterSet", Owned::Bool(false)),
        field("winningPlan", plan.explain(&definitions, request.query.sort.as_ref())),
        field("rejectedPlans", Owned::Array(Vec::new())),
    ]);
    let mut answer = vec![field("explainVersion", Owned::String("1".to_owned())), field("queryPlanner", planner)];
    if request.execute {
        let start = std::time::Instant::now();
        let (returned, examined) = match &collection {
            None => (0, super::Examined::default()),
            Some(collection) => {
                let limit = (request.limit > 0).then_some(request.limit);
                let limits = Limits { skip: request.skip, limit, positions: false };
                let (found, examined) =
                    search::all(read, collection, &request.query, &plan, limits, request.deadline)?;
                (found.len() as u64, examined)
            }
        };
        let count = |n: u64| Owned::Int64(i64::try_from(n).unwrap_or(i64::MAX));
        answer.push(field(
            "executionStats",
            Owned::Document(vec![
                field("executionSuccess", Owned::Bool(true)),
                field("nReturned", count(returned)),
                field("executionTimeMillis", count(start.elapsed().as_millis() as u64)),
                field("totalKeysExamined", count(examined.keys)),
                field("totalDocsExamined", count(examined.documents)),
            ]),
        ));
    }
    answer.push(field("ok", Owned::Double(1.0)));
    Ok(Doc::Fields(&answer).to_bytes())
}

fn field(name: &str, value: Owned) -> (String, Owned) {
    (name.to_owned(), value)
}
