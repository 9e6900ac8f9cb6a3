//! What a query would do, or did: the plan and what it examined.

mod pipeline;
mod ran;
mod stages;

use std::borrow::Cow;
use std::sync::Arc;

use self::pipeline::Piped;
pub(crate) use self::pipeline::explain_aggregate;
use self::ran::{Ran, run};
use super::super::document::owned::{field, fields_of};
use super::super::document::{Doc, Owned, Value};
use super::super::fault::Result;
use super::super::matcher::Matcher;
use super::super::matcher::ast::Node;
use super::super::matcher::shown::Arrangement;
use super::super::needs::Needs;
use super::super::plan::{
    self, Access, Choice, Finish, IndexView, Plan, PlanRequest, Shaping, Stage, Trial, figure,
};
use super::super::projection::Projection;
use super::super::storage::Read;
use super::aggregate::AggregateRequest;
use super::cursor::{Extras, RECORD_ID};
use super::query::Query;
use super::trial::Race;
use super::{Deadline, Namespace, view};

/// What is explained.
#[derive(Clone, Debug)]
pub(crate) struct ExplainRequest {
    pub(crate) namespace: Namespace,
    pub(crate) query: Query,
    /// That of a find, or of the document that is changed.
    pub(crate) projection: Option<Arc<Projection>>,
    /// The filter's bytes; a pipeline's is put together of its stages' and has none.
    pub(crate) filter: Option<Vec<u8>>,
    pub(crate) what: Explained,
    pub(crate) skip: u64,
    /// 0 is no limit.
    pub(crate) limit: u64,
    /// What each document becomes.
    pub(crate) extras: Extras,
    /// Whether it is what a pipeline begins with.
    pub(crate) piped: Option<Piped>,
    /// Whether to run the query and count.
    pub(crate) execute: bool,
    pub(crate) deadline: Deadline,
}

/// What is done with what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explained {
    Find,
    Count,
    Distinct,
    Update,
    Delete,
    /// A document is changed, or removed, and given.
    FindAndModify {
        removes: bool,
    },
}

impl Explained {
    fn writes(self) -> bool {
        matches!(
            self,
            Explained::Update | Explained::Delete | Explained::FindAndModify { .. }
        )
    }

    /// The stage that changes documents.
    fn change(self) -> Option<&'static str> {
        match self {
            Explained::Update | Explained::FindAndModify { removes: false } => Some("UPDATE"),
            Explained::Delete | Explained::FindAndModify { removes: true } => Some("DELETE"),
            Explained::Find | Explained::Count | Explained::Distinct => None,
        }
    }
}

/// The explanation, in the shape of the server's.
pub(crate) fn explain(read: &dyn Read, request: &ExplainRequest) -> Result<Vec<u8>> {
    let counts = request.what == Explained::Count;
    if request.what.writes() {
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
        Some(projection) if request.what == Explained::Find && !request.extras.return_key => {
            Cow::Owned(query.into_owned().needing(projection.needs()))
        }
        _ if counts => Cow::Owned(query.into_owned().needing(Some(Needs::default()))),
        _ => query,
    };
    let ns = &request.namespace;
    let collection = read.catalog().collection(&ns.database, &ns.collection).cloned();
    match (&collection, counts) {
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
    let choice = match &collection {
        Some(collection) => Some(plan::choose(asked).map_err(|fault| query.told(collection, fault))?),
        None => None,
    };
    let is_counted_whole = counts && query.is_everything() && collection.is_some();
    let root = match &request.filter {
        Some(filter) => Matcher::normal(Doc::Raw(filter), &query.matcher)?,
        None => query.matcher.root().normal(),
    };
    let staged = |plan: &Plan| match is_counted_whole {
        true => Stage::new("RECORD_STORE_FAST_COUNT"),
        false => stages(request, &query, &asked, &root, plan),
    };
    let winning = match &choice {
        None if counts && request.piped.is_none() => Stage::new("COUNT").over(Stage::new("EOF")),
        None => Stage::new("EOF"),
        Some(choice) => staged(&choice.plan),
    };
    let beaten = choice.iter().flat_map(|choice| &choice.beaten);
    let rejected = beaten.map(|plan| staged(plan).shown()).collect();
    let mut planner = vec![
        field("namespace", Owned::String(ns.to_string())),
        field("indexFilterSet", Owned::Bool(is_filtered)),
    ];
    let is_parsed = match request.what {
        Explained::Count => choice.is_some() && !is_counted_whole,
        // Without a look at the filter.
        _ => !(request.what.writes() && winning.has("IDHACK") && request.projection.is_none()),
    };
    if is_parsed {
        planner.push(field("parsedQuery", root.shown(Arrangement::Kinds)));
    }
    if request.piped.as_ref().is_some_and(|piped| piped.replaces) {
        planner.push(field("optimizedPipeline", Owned::Bool(true)));
    }
    if let Some(collation) = query.collation_in(&resolved.collation).spec() {
        planner.push(field("collation", Owned::RawDocument(collation.to_bytes())));
    }
    planner.push(field("winningPlan", winning.clone().shown()));
    planner.push(field("rejectedPlans", Owned::Array(rejected)));
    let mut answer = vec![
        field("explainVersion", Owned::String("1".to_owned())),
        field("queryPlanner", Owned::Document(planner)),
    ];
    if request.execute {
        let start = std::time::Instant::now();
        let mut ran = match (&collection, &choice) {
            (Some(collection), Some(Choice { plan, .. })) => {
                run(read, request, collection, &query, (plan, &winning))?
            }
            _ => Ran::default(),
        };
        // The documents of a clustered collection have no keys, and those that are counted by keys are not read.
        let reads_keys = choice
            .as_ref()
            .is_some_and(|choice| has_keys(&choice.plan.access, &views));
        let reads_documents = !winning.has("COUNT_SCAN") && !is_counted_whole;
        let mut executed = winning;
        ran.tell(&mut executed);
        let returned = match request.what {
            Explained::Count if request.piped.is_none() => 0,
            Explained::Update | Explained::Delete => 0,
            _ => executed.returned(),
        };
        let counted = |n: u64, is_counted: bool| figure(if is_counted { n } else { 0 });
        answer.push(field(
            "executionStats",
            Owned::Document(vec![
                field("executionSuccess", Owned::Bool(true)),
                field("nReturned", figure(returned)),
                field("executionTimeMillis", figure(start.elapsed().as_millis() as u64)),
                field("totalKeysExamined", counted(ran.examined.keys, reads_keys)),
                field(
                    "totalDocsExamined",
                    counted(ran.examined.documents, reads_documents),
                ),
                field("executionStages", executed.shown()),
            ]),
        ));
    }
    answer.push(field("ok", Owned::Double(1.0)));
    Ok(Doc::Fields(&answer).to_bytes())
}

/// What a plan does for the operation.
fn stages(
    request: &ExplainRequest,
    query: &Query,
    asked: &PlanRequest<'_>,
    root: &Node,
    plan: &Plan,
) -> Stage {
    if request.what == Explained::Count {
        let counting = plan.count_stages(asked, root);
        // A stage of the pipeline counts.
        return match request.piped {
            Some(_) => counting.into_input(),
            None => counting,
        };
    }
    let shaping = shaping(request, query, asked, root, plan);
    let writes = request.what.writes();
    let finish = Finish {
        skip: request.skip,
        // What is changed by itself is not counted, but for the first in an order.
        limit: match writes && asked.sort.is_none() {
            true => 0,
            false => request.limit,
        },
        projection: shaping.clone().filter(|_| !writes),
        writes,
        returns_keys: request.extras.return_key,
    };
    let found = plan.stages(asked, root, &finish);
    let Some(change) = request.what.change() else {
        return match request.extras.return_key {
            true => Stage::new("RETURN_KEY").over(found),
            false => found,
        };
    };
    let changed = Stage::new(change).over(found);
    match shaping {
        Some(own) => Stage::new("PROJECTION_DEFAULT")
            .with("transformBy", own.by)
            .over(changed),
        None => changed,
    }
}

/// What the projection makes of documents, if there is one.
fn shaping(
    request: &ExplainRequest,
    query: &Query,
    asked: &PlanRequest<'_>,
    root: &Node,
    plan: &Plan,
) -> Option<Shaping> {
    let named = |stage: &'static str, by: Owned| Shaping {
        by,
        is_simple: true,
        kept: None,
        left_out: None,
        stage: Some(stage),
    };
    if request.extras.return_key {
        return None;
    }
    if request.what == Explained::Distinct {
        let (path, _) = asked.needs?.values()?;
        let has = |view: &&IndexView<'_>| view.definition.keys.iter().any(|key| key.path == path);
        let mut able = asked.indexes.iter().filter(has).peekable();
        let stage = match &plan.leap {
            Some(_) => "PROJECTION_COVERED",
            None => {
                // Where such an index answers the filter, but not by itself, the server goes on without it.
                able.peek()?;
                let answers = |view: &IndexView<'_>| {
                    let first = view.definition.keys.first();
                    first.is_some_and(|first| root.asks(&first.path))
                };
                if able.any(answers) {
                    return None;
                }
                "PROJECTION_SIMPLE"
            }
        };
        return Some(named(stage, Owned::Document(Vec::new())));
    }
    let shows_id = request.extras.record_id;
    match (&request.projection, query.given_projection()) {
        (Some(projection), Some(given)) => {
            let mut by = fields_of(given);
            if shows_id {
                by.push(record_id());
            }
            let is_simple = projection.is_simple() && !shows_id;
            Some(Shaping {
                by: Owned::Document(by),
                is_simple,
                kept: projection.kept().filter(|_| !shows_id),
                left_out: projection.left_out().filter(|_| !shows_id),
                stage: None,
            })
        }
        _ if shows_id => Some(named("PROJECTION_DEFAULT", Owned::Document(vec![record_id()]))),
        // What a pipeline asks for.
        (None, _) => {
            // The first document of each value is read as it is.
            let is_whole = plan.leap.is_some() && plan.cover.is_none();
            let piped = request.piped.as_ref().filter(|_| !is_whole)?;
            piped.shaped.clone()
        }
        _ => None,
    }
}

fn record_id() -> (String, Owned) {
    let meta = Owned::Document(vec![field("$meta", Owned::String("recordId".to_owned()))]);
    field(RECORD_ID, meta)
}

/// The stages that a find is behind those of a view, but for its projection.
fn behind_view(request: &ExplainRequest, query: &Query) -> Vec<Vec<u8>> {
    let number = |count: u64| Owned::Int64(i64::try_from(count).unwrap_or(i64::MAX));
    let filter = request.filter.as_deref().map_or(Doc::empty(), Doc::Raw);
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
        Access::Union(parts) => parts.iter().any(|part| has_keys(&part.access, views)),
        Access::Merge(streams) => streams.iter().any(|stream| has_keys(&stream.access, views)),
    }
}
