//! What a query would do, or did: the plan and what it examined.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::document::owned::fields_of;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::Result;
use super::super::needs::Needs;
use super::super::plan::{self, Access, Choice, IndexView, Plan, Trial};
use super::super::projection::Projection;
use super::super::storage::Read;
use super::aggregate::AggregateRequest;
use super::cursor::{Extras, RECORD_ID};
use super::query::Query;
use super::search::{self, Limits};
use super::trial::Race;
use super::{Deadline, Namespace, view};

/// What is explained.
#[derive(Clone, Debug)]
pub(crate) struct ExplainRequest {
    pub(crate) namespace: Namespace,
    pub(crate) query: Query,
    /// That of a find.
    pub(crate) projection: Option<Arc<Projection>>,
    /// The filter's bytes, to show.
    pub(crate) filter: Vec<u8>,
    /// Whether the documents are only counted.
    pub(crate) counts: bool,
    /// Whether documents would be changed or removed.
    pub(crate) writes: bool,
    /// Whether the answer would have figures in place of documents.
    pub(crate) figures: bool,
    pub(crate) skip: u64,
    /// 0 is no limit.
    pub(crate) limit: u64,
    /// What each document becomes.
    pub(crate) extras: Extras,
    /// Whether to run the query and count.
    pub(crate) execute: bool,
    pub(crate) deadline: Deadline,
}

/// The stage that makes of each document what is asked for in its place or beside it.
fn shaped(extras: Extras, winning: Owned) -> Owned {
    let meta = |name: &str| Owned::Document(vec![field("$meta", Owned::String(name.to_owned()))]);
    if extras.return_key {
        return Owned::Document(vec![
            field("stage", Owned::String("RETURN_KEY".to_owned())),
            field("inputStage", winning),
        ]);
    }
    if extras.record_id {
        let by = Owned::Document(vec![field(RECORD_ID, meta("recordId"))]);
        return Owned::Document(vec![
            field("stage", Owned::String("PROJECTION_DEFAULT".to_owned())),
            field("transformBy", by),
            field("inputStage", winning),
        ]);
    }
    winning
}

/// The stage that gives of each document what the projection makes of it.
fn projected(request: &ExplainRequest, query: &Query, plan: &Plan, found: Owned) -> Owned {
    let (stage, by) = match (&request.projection, query.given_projection()) {
        (Some(projection), Some(given)) => {
            let stage = match (projection.is_simple(), &plan.cover, &plan.access) {
                (true, None, _) => "PROJECTION_SIMPLE",
                (true, Some(_), Access::Index { .. }) => "PROJECTION_COVERED",
                _ => "PROJECTION_DEFAULT",
            };
            (stage, Value::Document(given).into())
        }
        // What a pipeline asks for.
        (None, _) if plan.cover.is_some() => {
            let needed = query.needs().into_iter().flat_map(Needs::paths);
            let mut by: Vec<(String, Owned)> = needed
                .filter(|path| *path != "_id")
                .map(|path| field(path, Owned::Int32(1)))
                .collect();
            let has_id = query.needs().is_some_and(|needs| needs.has("_id"));
            by.push(field("_id", Owned::Int32(i32::from(has_id))));
            ("PROJECTION_COVERED", Owned::Document(by))
        }
        _ => return found,
    };
    Owned::Document(vec![
        field("stage", Owned::String(stage.to_owned())),
        field("transformBy", by),
        field("inputStage", found),
    ])
}

/// The explanation, in the shape of the server's.
pub(crate) fn explain(read: &dyn Read, request: &ExplainRequest) -> Result<Vec<u8>> {
    if request.writes {
        view::refuse(read.catalog(), &request.namespace)?;
        view::refuse_buckets(read.catalog(), &request.namespace)?;
    }
    let resolved = view::resolve(read.catalog(), &request.namespace)?;
    let query = request.query.settled_by(&resolved.collation)?;
    if let Some(projection) = &request.projection {
        projection.settled(query.collation_in(&resolved.collation), query.matcher.variables())?;
    }
    if resolved.is_view {
        request.extras.refuse_on_view(&query)?;
        view::refuse_asked(&request.namespace, &query, request.projection.as_deref())?;
        let aggregate = AggregateRequest {
            namespace: request.namespace.clone(),
            stages: behind_view(request, &query),
            above: None,
            variables: query.matcher.variables().to_vec(),
            constants: Doc::empty().to_bytes(),
            collation: request.query.collation().cloned(),
            hint: request.query.hint().cloned(),
            batch_size: None,
            allow_disk_use: true,
            unvalidated: false,
            now: super::super::matcher::now(),
            deadline: request.deadline,
        };
        let explained = explain_aggregate(read, &aggregate, request.execute)?;
        if let Some(projection) = &request.projection {
            projection.on_view()?;
        }
        return Ok(explained);
    }
    let query = match &request.projection {
        Some(projection) if !request.extras.return_key && !request.counts => {
            Cow::Owned(query.into_owned().needing(projection.needs()))
        }
        _ if request.counts => Cow::Owned(query.into_owned().needing(Some(Needs::default()))),
        _ => query,
    };
    let ns = &request.namespace;
    let collection = read.catalog().collection(&ns.database, &ns.collection).cloned();
    match (&collection, request.counts) {
        (Some(_), _) => {}
        (None, true) => query.check_count_without_collection()?,
        (None, false) => query.check_without_collection(ns)?,
    }
    let wanted = (request.limit > 0).then(|| request.limit.saturating_add(request.skip));
    let (views, is_filtered) = match &collection {
        Some(collection) => query.views(collection),
        None => (Vec::new(), false),
    };
    let race = collection.as_ref().map(|collection| Race {
        read,
        collection,
        query: &query,
        deadline: request.deadline,
    });
    let mut asked = query.request(&views, wanted, &resolved.collation, is_filtered);
    asked.trial = race.as_ref().map(|race| race as &dyn Trial);
    let filter = Doc::Raw(&request.filter);
    let choice = match &collection {
        Some(collection) => Some(plan::choose(asked).map_err(|fault| query.told(collection, fault))?),
        None => None,
    };
    let shown = |plan: &Plan| match request.counts {
        true => plan.explain_count(&asked, filter),
        false => {
            let found = plan.explain(&asked, filter);
            shaped(request.extras, projected(request, &query, plan, found))
        }
    };
    let winning = match &choice {
        None => Owned::Document(vec![field("stage", Owned::String("EOF".to_owned()))]),
        Some(choice) => shown(&choice.plan),
    };
    // The documents of a clustered collection have no keys, and those that are counted by keys are not read.
    let reads_keys = choice
        .as_ref()
        .is_some_and(|choice| has_keys(&choice.plan.access, &views));
    let reads_documents = !shows(&winning, "COUNT_SCAN");
    let beaten = choice.iter().flat_map(|choice| &choice.beaten);
    let rejected = beaten.map(shown).collect();
    let mut planner = vec![
        field("namespace", Owned::String(ns.to_string())),
        field("indexFilterSet", Owned::Bool(is_filtered)),
        field("winningPlan", winning),
        field("rejectedPlans", Owned::Array(rejected)),
    ];
    if let Some(collation) = query.collation_in(&resolved.collation).spec() {
        planner.insert(2, field("collation", Owned::RawDocument(collation.to_bytes())));
    }
    let planner = Owned::Document(planner);
    let mut answer = vec![
        field("explainVersion", Owned::String("1".to_owned())),
        field("queryPlanner", planner),
    ];
    if request.execute {
        let start = std::time::Instant::now();
        let (returned, examined) = match (&collection, &choice) {
            (Some(collection), Some(Choice { plan, .. })) => {
                let limit = (request.limit > 0).then_some(request.limit);
                let limits = Limits {
                    skip: request.skip,
                    limit,
                };
                let (found, examined) =
                    search::all(read, collection, &query, plan, limits, request.deadline)?;
                (found.len() as u64, examined)
            }
            _ => (0, super::Examined::default()),
        };
        let count = |n: u64| Owned::Int64(i64::try_from(n).unwrap_or(i64::MAX));
        let counted = |n: u64, is_counted: bool| count(if is_counted { n } else { 0 });
        answer.push(field(
            "executionStats",
            Owned::Document(vec![
                field("executionSuccess", Owned::Bool(true)),
                field("nReturned", counted(returned, !request.figures)),
                field("executionTimeMillis", count(start.elapsed().as_millis() as u64)),
                field("totalKeysExamined", counted(examined.keys, reads_keys)),
                field("totalDocsExamined", counted(examined.documents, reads_documents)),
            ]),
        ));
    }
    answer.push(field("ok", Owned::Double(1.0)));
    Ok(Doc::Fields(&answer).to_bytes())
}

/// Explains the find under a pipeline; its stages are named where it is not all of the find's.
pub(crate) fn explain_aggregate(
    read: &dyn Read,
    request: &AggregateRequest,
    execute: bool,
) -> Result<Vec<u8>> {
    let prepared = request.by_default(read)?.prepare(read)?;
    let Some(find) = prepared.find else {
        let stages = Owned::Array(vec![Owned::Document(vec![field(
            "$documents",
            Owned::Document(Vec::new()),
        )])]);
        return Ok(Doc::Fields(&[field("stages", stages), field("ok", Owned::Double(1.0))]).to_bytes());
    };
    let under = ExplainRequest {
        filter: prepared.filter,
        namespace: find.namespace,
        query: find.query,
        projection: None,
        counts: false,
        writes: false,
        figures: false,
        skip: find.skip,
        limit: find.limit,
        extras: find.extras,
        execute,
        deadline: find.deadline,
    };
    let explained = explain(read, &under)?;
    let rest = prepared.left;
    if rest.is_empty() {
        return Ok(explained);
    }
    let mut shown = fields_of(Doc::Raw(&explained));
    shown.retain(|(name, _)| !matches!(name.as_str(), "explainVersion" | "ok"));
    let mut stages = vec![Owned::Document(vec![field("$cursor", Owned::Document(shown))])];
    stages.extend(
        rest.into_iter()
            .map(|name| Owned::Document(vec![field(name, Owned::Document(Vec::new()))])),
    );
    let answer = vec![
        field("explainVersion", Owned::String("1".to_owned())),
        field("stages", Owned::Array(stages)),
        field("ok", Owned::Double(1.0)),
    ];
    Ok(Doc::Fields(&answer).to_bytes())
}

/// The stages that a find is behind those of a view, but for its projection.
fn behind_view(request: &ExplainRequest, query: &Query) -> Vec<Vec<u8>> {
    let number = |count: u64| Owned::Int64(i64::try_from(count).unwrap_or(i64::MAX));
    let filter = Doc::Raw(&request.filter);
    let filter = (!filter.is_empty()).then(|| field("$match", Owned::RawDocument(filter.to_bytes())));
    let order = query.sort.as_ref().filter(|sort| sort.natural.is_none());
    let order = order.map(|sort| field("$sort", Value::Document(sort.spec()).into()));
    let skip = (request.skip > 0).then(|| field("$skip", number(request.skip)));
    let limit = (request.limit > 0).then(|| field("$limit", number(request.limit)));
    let stages = [filter, order, skip, limit].into_iter().flatten();
    stages.map(|stage| Doc::Fields(&[stage]).to_bytes()).collect()
}

/// Whether a plan reads the keys of an index, and not documents in their own order alone.
fn has_keys(access: &Access, views: &[IndexView<'_>]) -> bool {
    match access {
        Access::Nothing | Access::Collection { .. } => false,
        Access::Index { index, .. } => views.get(*index).is_none_or(|view| !view.definition.clustered),
        Access::Union(parts) => parts.iter().any(|part| has_keys(part, views)),
        Access::Merge(streams) => streams.iter().any(|stream| has_keys(&stream.access, views)),
    }
}

/// Whether a plan has a stage of this name.
fn shows(plan: &Owned, name: &str) -> bool {
    let Value::Document(stage) = plan.as_value() else {
        return false;
    };
    let inner = stage.get("inputStage").into_iter();
    let inputs = stage.get("inputStages").and_then(|inputs| inputs.as_array());
    stage.get("stage").is_some_and(|own| own.as_str() == Some(name))
        || inner
            .chain(inputs.into_iter().flat_map(Doc::values))
            .any(|input| shows(&Owned::from(input), name))
}

fn field(name: &str, value: Owned) -> (String, Owned) {
    (name.to_owned(), value)
}
