//! A parsed query: filter, sort, hint, and what they cost to choose a plan for.

use std::sync::Arc;

use super::super::catalog::Collection;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::matcher::Matcher;
use super::super::plan::{self, Access, IndexView, Plan, PlanRequest};
use super::super::sort::SortSpec;

/// A parsed filter with sort and hint; made once, planned against each collection state it meets.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) matcher: Arc<Matcher>,
    pub(crate) sort: Option<SortSpec>,
    /// `$natural` as sort or hint: `true` is backwards.
    natural: Option<bool>,
    hint: Option<Owned>,
}

impl Query {
    /// Parses the parts; the documents have passed the gate.
    pub(crate) fn parse(filter: Doc<'_>, sort: Option<Doc<'_>>, hint: Option<Value<'_>>) -> Result<Query> {
        let matcher = Arc::new(Matcher::parse(filter)?);
        let sort = sort.map(SortSpec::parse).transpose()?;
        let mut natural = sort.as_ref().and_then(|sort| sort.natural);
        let sort = sort.filter(|sort| !sort.fields.is_empty());
        let mut kept = None;
        if let Some(hint) = hint {
            match hint.as_document().map(natural_direction).transpose()?.flatten() {
                Some(backwards) => natural = Some(natural.unwrap_or(backwards)),
                None => kept = Some(Owned::from(hint)),
            }
        }
        Ok(Query { matcher, sort, natural, hint: kept })
    }

    /// Chooses how to answer the query on this collection.
    pub(crate) fn plan(&self, collection: &Collection) -> Result<Plan> {
        if let Some(reverse) = self.natural {
            return Ok(Plan::collection(reverse, self.sort.is_none()));
        }
        let indexes: Vec<IndexView<'_>> = collection
            .indexes
            .iter()
            .map(|entry| IndexView { definition: &entry.definition, multikey: &entry.multikey })
            .collect();
        plan::choose(PlanRequest {
            matcher: &self.matcher,
            sort: self.sort.as_ref(),
            indexes: &indexes,
            hint: self.hint.as_ref().map(Owned::as_value),
        })
    }
}

/// `Some(backwards)` when the document is `{$natural: ±1}`.
fn natural_direction(spec: Doc<'_>) -> Result<Option<bool>> {
    let Some(value) = spec.get("$natural") else { return Ok(None) };
    match value {
        Value::Int32(1) | Value::Int64(1) => Ok(Some(false)),
        Value::Int32(-1) | Value::Int64(-1) => Ok(Some(true)),
        Value::Double(x) if x == 1.0 => Ok(Some(false)),
        Value::Double(x) if x == -1.0 => Ok(Some(true)),
        _ => Err(Fault::new(code::BAD_VALUE, "$natural hint must be either 1 or -1")),
    }
}

/// Whether any part of the access goes through an index that may give a record twice.
pub(crate) fn may_repeat(access: &Access, collection: &Collection) -> bool {
    match access {
        Access::Nothing | Access::Collection { .. } => false,
        Access::Index { index, .. } => {
            collection.indexes.get(*index).is_some_and(|entry| entry.multikey.iter().any(|own| *own))
        }
        Access::Union(parts) => parts.len() > 1 || parts.iter().any(|part| may_repeat(part, collection)),
    }
}
