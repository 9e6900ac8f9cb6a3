//! Views: what they are on, and the stages that make them.

mod facets;
mod graph;
pub(crate) mod list;

use super::super::aggregate::pipeline::no_order;
use super::super::catalog::Catalog;
use super::super::catalog::rules::View;
use super::super::collation::{self, Collation};
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::matcher;
use super::super::metadata::Kind;
use super::super::plan::text_required;
use super::super::projection::Projection;
use super::super::storage::Read;
use super::aggregate::{self, Above, AggregateRequest};
use super::query::Query;
use super::{Deadline, Namespace, series};

pub(crate) use self::facets::refuse_in_facets;
use self::graph::read_by;
pub(crate) use self::graph::{refuse_cycle, refuse_other_above};

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
    /// How strings compare where an operation does not say: that of the name itself.
    pub(crate) collation: Collation,
}

impl Resolved {
    /// A name that is not followed.
    pub(crate) fn itself(ns: &Namespace) -> Resolved {
        Resolved {
            base: ns.clone(),
            stages: Vec::new(),
            is_view: false,
            collation: Collation::default(),
        }
    }
}

/// Whether a stage describes what has the name that it is run on, be it a view.
pub(crate) fn describes(stage: &[u8]) -> bool {
    let first = Doc::Raw(stage).elements().next();
    first.is_some_and(|stage| stage.name_str() == "$collStats")
}

/// Follows views down to a collection, which need not exist, or to what a first stage describes.
///
/// # Errors
/// Code 165 when 20 views stand on each other: the last one can be made and not be read.
pub(crate) fn resolve(catalog: &Catalog, ns: &Namespace) -> Result<Resolved> {
    let mut resolved = Resolved {
        collation: collation_of(catalog, ns),
        ..Resolved::itself(ns)
    };
    let mut depth = 0;
    while let Some(view) = view_of(catalog, &resolved.base) {
        depth += 1;
        if depth >= MAX_DEPTH {
            return Err(Fault::new(
                165,
                format!("View depth too deep or view cycle detected; maximum depth is {MAX_DEPTH}"),
            ));
        }
        resolved.is_view = true;
        let above = std::mem::take(&mut resolved.stages);
        resolved.stages = view.pipeline.iter().cloned().chain(above).collect();
        resolved.base.collection = view.on.clone();
        if resolved.stages.first().is_some_and(|stage| describes(stage)) {
            break;
        }
    }
    Ok(resolved)
}

/// How strings compare in what has this name, where an operation does not say.
pub(crate) fn collation_of(catalog: &Catalog, ns: &Namespace) -> Collation {
    catalog
        .collection(&ns.database, &ns.collection)
        .map(|found| found.rules.collation.clone())
        .unwrap_or_default()
}

/// How strings compare in a read of what has this name: as is asked, or by its own rules.
///
/// # Errors
/// Code 167 for a collation that is not a view's own. A time series is read by any, and joined by its own.
pub(crate) fn collation_asked(
    catalog: &Catalog,
    ns: &Namespace,
    asked: Option<&Collation>,
) -> Result<Collation> {
    let own = collation_of(catalog, ns);
    if view_of(catalog, ns).is_some() && !series::is_series(catalog, ns) {
        collation::refuse_other(asked, &own)?;
    }
    Ok(asked.cloned().unwrap_or(own))
}

/// The view of this name.
pub(crate) fn view_of<'a>(catalog: &'a Catalog, ns: &Namespace) -> Option<&'a View> {
    catalog
        .collection(&ns.database, &ns.collection)?
        .rules
        .view
        .as_deref()
}

/// Looks through a view's stages: what is wrong there is told before that no view may write.
///
/// # Errors
/// What is found.
pub(crate) fn check_output(options: Doc<'_>, database: &str) -> Result<()> {
    let Some(Value::Array(stages)) = options.get("pipeline") else {
        return Ok(());
    };
    let stages: Vec<Doc<'_>> = stages.values().filter_map(|stage| stage.as_document()).collect();
    aggregate::look_through(&stages, database)
}

/// Refuses what only a collection takes.
pub(crate) fn refuse(catalog: &Catalog, ns: &Namespace) -> Result<()> {
    let Some(found) = catalog.collection(&ns.database, &ns.collection) else {
        return Ok(());
    };
    let text = match (&found.rules.view, &found.rules.series) {
        (None, _) => return Ok(()),
        (Some(_), None) => format!("Namespace {ns} is a view, not a collection"),
        (Some(_), Some(_)) => format!("Namespace {ns} is a timeseries collection"),
    };
    Err(Fault::new(code::COMMAND_NOT_SUPPORTED_ON_VIEW, text))
}

/// Refuses to read or write the buckets of a time series themselves: there are none here, only its documents.
///
/// # Errors
/// Unsupported.
pub(crate) fn refuse_buckets(catalog: &Catalog, ns: &Namespace) -> Result<()> {
    match catalog.collection(&ns.database, &ns.collection) {
        Some(found) if found.rules.series.is_some() && found.rules.view.is_none() => Err(Fault::unsupported(
            format!("the embedded engine keeps no buckets: {ns} is read and written as its time series only"),
        )),
        _ => Ok(()),
    }
}

/// Refuses stages that read a view which compares strings by other rules than they do, whether or not they come to
/// read it.
///
/// # Errors
/// Code 167, as the server.
pub(crate) fn refuse_joined(
    catalog: &Catalog,
    database: &str,
    stages: &[Doc<'_>],
    collation: &Collation,
) -> Result<()> {
    let mut joined = Vec::new();
    for stage in stages {
        read_by(*stage, &mut joined);
    }
    for collection in joined {
        let other = Namespace {
            database: database.to_owned(),
            collection,
        };
        refuse_other(catalog, &other, collation)?;
    }
    Ok(())
}

/// Refuses a view that compares strings by other rules.
///
/// # Errors
/// Code 167, as the server.
pub(super) fn refuse_other(catalog: &Catalog, other: &Namespace, collation: &Collation) -> Result<()> {
    if view_of(catalog, other).is_some() && collation_of(catalog, other) != *collation {
        return Err(Fault::new(
            code::OPTION_NOT_SUPPORTED_ON_VIEW,
            format!("Cannot override a view's default collation{other}"),
        ));
    }
    Ok(())
}

/// How a query on a view is answered.
pub(crate) enum Through {
    /// As a query on the collection under it.
    Query(Namespace, Box<Query>),
    /// By the view's documents that are wanted, in order.
    Rows(Vec<Vec<u8>>),
}

/// The hint that the natural order of a view is: that of what its first stage reads.
fn natural(query: &Query) -> Option<Owned> {
    let reverse = query.sort.as_ref()?.natural?;
    let direction = Owned::Int32(if reverse { -1 } else { 1 });
    Some(Owned::Document(vec![("$natural".to_owned(), direction)]))
}

/// Refuses what no view is asked for.
///
/// # Errors
/// 5626500, 27 and those of [`Projection::refuse_on_view`].
pub(crate) fn refuse_asked(ns: &Namespace, query: &Query, projection: Option<&Projection>) -> Result<()> {
    if query.asks_near() {
        return Err(matcher::near::not_allowed());
    }
    if query.searches_text() {
        return Err(text_required(Some(&ns.to_string())));
    }
    let Some(projection) = projection else {
        return Ok(());
    };
    projection.refuse_on_view()?;
    // The natural order of a view is a hint.
    let is_natural = query.sort.as_ref().is_some_and(|sort| sort.natural.is_some());
    match is_natural && projection.wanted().has(Kind::SortKey) {
        true => Err(no_order()),
        false => Ok(()),
    }
}

/// How a query on this name is answered if it is a view; `None` for a collection. Of a view's documents it wants so many,
/// all of them if 0, behind so many.
pub(crate) fn through(
    read: &dyn Read,
    ns: &Namespace,
    query: &Query,
    projection: Option<&Projection>,
    (skip, limit): (u64, u64),
    (deadline, allow_disk_use): (Deadline, bool),
) -> Result<Option<Through>> {
    if let Some(rows) = list::found(read.catalog(), ns, query)? {
        let most = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let limit = if limit == 0 { usize::MAX } else { most(limit) };
        let wanted = rows.into_iter().skip(most(skip)).take(limit);
        return Ok(Some(Through::Rows(wanted.collect())));
    }
    if view_of(read.catalog(), ns).is_none() {
        refuse_buckets(read.catalog(), ns)?;
        return Ok(None);
    }
    let own = collation_asked(read.catalog(), ns, query.collation())?;
    let query = query.by_default(&own);
    let query = &*query;
    refuse_asked(ns, query, projection)?;
    let mut request = AggregateRequest {
        namespace: ns.clone(),
        stages: Vec::new(),
        above: Some(Box::new(query.matcher.clone().into())),
        variables: Vec::new(),
        constants: Doc::empty().to_bytes(),
        collation: Some(own.clone()),
        hint: query.hint().cloned().or_else(|| natural(query)),
        batch_size: None,
        allow_disk_use,
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
        let both = (*find.query.matcher).clone();
        let merged = Query::of(both, query.sort.clone(), query.hint().cloned(), own);
        return Ok(Some(Through::Query(find.namespace, Box::new(merged))));
    }
    request.above = Some(Box::new(Above {
        order: query.sort.clone().filter(|sort| sort.natural.is_none()),
        skip,
        limit,
        filter: query.matcher.clone(),
        needs: projection.and_then(Projection::needs),
    }));
    Ok(Some(Through::Rows(aggregate::rows(read, &request)?)))
}
