//! Views: what they are on, and the stages that make them.

use super::super::catalog::Catalog;
use super::super::catalog::rules::View;
use super::super::document::Doc;
use super::super::fault::{Fault, Result, code};
use super::super::matcher;
use super::super::storage::Read;
use super::aggregate::{self, AggregateRequest};
use super::query::Query;
use super::{Deadline, Namespace};

/// How deep views may stand on views.
const MAX_DEPTH: usize = 20;

/// A name, followed to the collection under it.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// Where the documents are stored.
    pub(crate) base: Namespace,
    /// What makes the view of them, the innermost view's stages first. Empty for a collection.
    pub(crate) stages: Vec<Vec<u8>>,
    pub(crate) is_view: bool,
}

impl Resolved {
    /// A name that is not followed.
    pub(crate) fn itself(ns: &Namespace) -> Resolved {
        Resolved {
            base: ns.clone(),
            stages: Vec::new(),
            is_view: false,
        }
    }
}

/// Follows views down to a collection, which need not exist.
///
/// # Errors
/// Code 165 when more than 20 views stand on each other.
pub(crate) fn resolve(catalog: &Catalog, ns: &Namespace) -> Result<Resolved> {
    let mut resolved = Resolved::itself(ns);
    let mut depth = 0;
    while let Some(view) = view_of(catalog, &resolved.base) {
        depth += 1;
        if depth > MAX_DEPTH {
            return Err(Fault::new(
                165,
                format!("View depth too deep or view cycle detected; maximum depth is {MAX_DEPTH}"),
            ));
        }
        resolved.is_view = true;
        let above = std::mem::take(&mut resolved.stages);
        resolved.stages = view.pipeline.iter().cloned().chain(above).collect();
        resolved.base.collection = view.on.clone();
    }
    Ok(resolved)
}

/// The view of this name.
pub(crate) fn view_of<'a>(catalog: &'a Catalog, ns: &Namespace) -> Option<&'a View> {
    catalog
        .collection(&ns.database, &ns.collection)?
        .rules
        .view
        .as_deref()
}

/// Refuses what only a collection takes.
pub(crate) fn refuse(catalog: &Catalog, ns: &Namespace) -> Result<()> {
    match view_of(catalog, ns) {
        None => Ok(()),
        Some(_) => Err(Fault::new(
            code::COMMAND_NOT_SUPPORTED_ON_VIEW,
            format!("Namespace {ns} is a view, not a collection"),
        )),
    }
}

/// Refuses a view that would stand on itself.
///
/// # Errors
/// Code 5, as the server.
pub(crate) fn refuse_cycle(catalog: &Catalog, ns: &Namespace, on: &str) -> Result<()> {
    let mut path = vec![ns.to_string()];
    let mut next = Namespace {
        database: ns.database.clone(),
        collection: on.to_owned(),
    };
    for _ in 0..=MAX_DEPTH {
        path.push(next.to_string());
        if next == *ns {
            // The server names the view twice where the circle begins.
            path.insert(0, ns.to_string());
            return Err(Fault::new(
                5,
                format!("View cycle detected: {}", path.join(" => ")),
            ));
        }
        match view_of(catalog, &next) {
            Some(view) => next.collection = view.on.clone(),
            None => return Ok(()),
        }
    }
    Err(Fault::new(
        165,
        format!("View depth limit exceeded; maximum depth is {MAX_DEPTH}"),
    ))
}

/// How a query on a view is answered.
pub(crate) enum Through {
    /// As a query on the collection under it.
    Query(Namespace, Query),
    /// Of the view's documents.
    Rows(Vec<Vec<u8>>),
}

/// How a query on this name is answered if it is a view; `None` for a collection.
pub(crate) fn through(
    read: &dyn Read,
    ns: &Namespace,
    query: &Query,
    deadline: Deadline,
) -> Result<Option<Through>> {
    if view_of(read.catalog(), ns).is_none() {
        return Ok(None);
    }
    if query.near().is_some() {
        return Err(matcher::near::not_allowed());
    }
    let request = AggregateRequest {
        namespace: ns.clone(),
        stages: Vec::new(),
        variables: Vec::new(),
        hint: query.hint().cloned(),
        batch_size: None,
        allow_disk_use: true,
        unvalidated: false,
        now: matcher::now(),
        deadline,
    };
    let prepared = request.prepare(read)?;
    if let Some(find) = prepared.find
        && prepared.first == prepared.pipeline.len()
        && find.skip == 0
        && find.limit == 0
        && find.query.sort.is_none()
    {
        let both = find.query.matcher.and(&query.matcher);
        let merged = Query::of(both, query.sort.clone(), query.hint().cloned());
        return Ok(Some(Through::Query(find.namespace, merged)));
    }
    let mut rows = aggregate::rows(read, &request)?;
    let mut failed = None;
    rows.retain(|row| match query.matcher.matches(Doc::Raw(row)) {
        Ok(matches) => matches,
        Err(fault) => {
            failed.get_or_insert(fault);
            false
        }
    });
    match failed {
        Some(fault) => Err(fault),
        None => Ok(Some(Through::Rows(rows))),
    }
}
