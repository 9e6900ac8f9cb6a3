//! Plans in the words of `explain`.

mod choices;
mod scan;

use self::choices::Part;
use self::scan::{direction, scan, shown_bounds};
use super::super::aggregate::expression::compared::Compared;
use super::super::document::{Owned, Value};
use super::super::index::Order;
use super::super::matcher::ast::Node;
use super::super::matcher::shown::Arrangement;
use super::candidate::{Candidate, Conjunct};
use super::residue;
use super::stage::{Stage, figure};
use super::{Access, Hint, IndexView, Plan, PlanRequest, Stream, TextPlan};

/// The memory limit that MongoDB gives for a sort, in bytes.
const SORT_MEMORY: i32 = 104_857_600;

fn text(text: &str) -> Owned {
    Owned::String(text.to_owned())
}

/// What is made of what a plan finds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finish {
    pub(crate) skip: u64,
    /// 0 is no limit.
    pub(crate) limit: u64,
    pub(crate) projection: Option<Shaping>,
    /// Whether documents are looked for to be changed.
    pub(crate) writes: bool,
    /// Whether keys are given in place of documents.
    pub(crate) returns_keys: bool,
}

/// What a projection makes of documents.
#[derive(Clone, Debug)]
pub(crate) struct Shaping {
    pub(crate) by: Owned,
    /// Whether it only keeps fields.
    pub(crate) is_simple: bool,
    /// The paths that it keeps, if it keeps or leaves out fields as they are.
    pub(crate) kept: Option<Vec<String>>,
    /// The paths that it leaves out, as that.
    pub(crate) left_out: Option<Vec<String>>,
    /// The stage, where it is none by itself.
    pub(crate) stage: Option<&'static str>,
}

impl Plan {
    /// The stages of a find, as MongoDB names them.
    /// `root` is the filter in its normal form.
    pub(crate) fn stages(&self, request: &PlanRequest<'_>, root: &Node, finish: &Finish) -> Stage {
        let is_subplanned = self.is_subplanned(request, root);
        let is_by_id = self.by_id && finish.skip == 0 && request.hint.is_none();
        let mut is_sorted = self.sorted;
        let (mut stage, is_fetched) = match &self.access {
            _ if is_by_id => (Stage::new("IDHACK"), true),
            Access::Nothing => {
                let (stage, is_in_order) = self.impossible(request, root);
                is_sorted = is_in_order;
                (stage, true)
            }
            _ => self.source(request, root, finish),
        };
        let mut skip = finish.skip;
        if skip > 0 && self.passes_over(&stage) {
            stage = pass_over(stage, skip);
            skip = 0;
        }
        if let Some(index) = self.near_index(request) {
            stage = near(index, stage);
        }
        let sort = request.sort.filter(|sort| !is_sorted && !sort.fields.is_empty());
        let sort = sort.filter(|_| !is_by_id);
        let mut shaping = finish.projection.as_ref();
        if let Some(sort) = sort {
            if finish.limit == 0
                && let Some(own) = shaping
                && sort.fields.iter().all(|field| own.keeps(&field.path))
            {
                stage = self.shaped(own, is_fetched, stage);
                shaping = None;
            }
            let mut sorted = Stage::new("SORT")
                .with("sortPattern", Value::Document(sort.spec()).into())
                .with("memLimit", Owned::Int32(SORT_MEMORY));
            if finish.limit > 0 {
                let most = finish.limit.saturating_add(finish.skip);
                sorted = sorted.with(
                    "limitAmount",
                    Owned::Int64(i64::try_from(most).unwrap_or(i64::MAX)),
                );
            }
            let is_simple = is_fetched && !finish.writes && sort.wanted().is_empty();
            stage = sorted
                .with("type", text(if is_simple { "simple" } else { "default" }))
                .over(stage);
        }
        if skip > 0 {
            stage = Stage::new("SKIP").with("skipAmount", figure(skip)).over(stage);
        }
        if let Some(own) = shaping {
            stage = self.shaped(own, is_fetched, stage);
        }
        if finish.limit > 0 && sort.is_none() && !is_by_id && stage.name() != "EOF" {
            stage = Stage::new("LIMIT")
                .with("limitAmount", figure(finish.limit))
                .over(stage);
        }
        match is_subplanned {
            true => Stage::new("SUBPLAN").over(stage),
            false => stage,
        }
    }

    /// The stages of a count.
    pub(crate) fn count_stages(&self, request: &PlanRequest<'_>, root: &Node) -> Stage {
        let input = match &self.access {
            _ if self.by_id && request.hint.is_none() => Stage::new("IDHACK"),
            Access::Index {
                index,
                ranges,
                reverse,
                bounds,
                tail,
            } if self.covered_count && ranges.len() == 1 && tail.is_none() => {
                scan("COUNT_SCAN", &request.indexes[*index], *reverse, bounds)
            }
            _ => self.source(request, root, &Finish::default()).0,
        };
        let input = match self.covered_count {
            true => unread(input),
            false => input,
        };
        match self.is_subplanned(request, root) {
            true => Stage::new("COUNT").over(Stage::new("SUBPLAN").over(input)),
            false => Stage::new("COUNT").over(input),
        }
    }

    /// Whether a server plans each choice of the filter by itself.
    fn is_subplanned(&self, request: &PlanRequest<'_>, root: &Node) -> bool {
        matches!(root, Node::Or(_))
            && request.hint.is_none()
            && request.edges.is_none()
            && request.sort.is_none_or(|sort| sort.natural.is_none())
            && self.text.is_none()
    }

    fn shaped(&self, own: &Shaping, is_fetched: bool, input: Stage) -> Stage {
        let name = match own.stage {
            Some(name) => name,
            None if own.is_simple && !is_fetched => "PROJECTION_COVERED",
            None if own.is_simple => "PROJECTION_SIMPLE",
            None => "PROJECTION_DEFAULT",
        };
        Stage::new(name).with("transformBy", own.by.clone()).over(input)
    }

    /// Whether what is skipped is skipped before documents are read.
    fn passes_over(&self, source: &Stage) -> bool {
        let is_scan = matches!(
            self.access,
            Access::Index { .. } | Access::Union(..) | Access::Merge(_)
        );
        is_scan
            && self.sorted
            && self.exact
            && self.leap.is_none()
            && self.text.is_none()
            && !source.has_filter()
    }

    /// The index that answers nearness.
    fn near_index<'a>(&self, request: &PlanRequest<'a>) -> Option<&'a IndexView<'a>> {
        request.matcher.near()?;
        match &self.access {
            Access::Index { index, .. } => request.indexes.get(*index),
            _ => None,
        }
    }

    /// Where documents come from, and whether they are read.
    fn source(&self, request: &PlanRequest<'_>, root: &Node, finish: &Finish) -> (Stage, bool) {
        if let Some(plan) = &self.text {
            return (text_match(plan, request, root, &self.access), true);
        }
        match &self.access {
            Access::Nothing => (self.impossible(request, root).0, true),
            Access::Collection { reverse } => {
                let stage = Stage::new("COLLSCAN")
                    .asking(residue::filter(&all(residue::members(root)), Arrangement::Kinds))
                    .with("direction", text(direction(*reverse)));
                (stage, true)
            }
            Access::Index {
                index,
                bounds,
                reverse,
                ..
            } if request.indexes[*index].definition.clustered => {
                let view = &request.indexes[*index];
                let stage = Stage::new("CLUSTERED_IXSCAN")
                    .asking(residue::filter(&all(residue::members(root)), Arrangement::Kinds))
                    .with("direction", text(direction(*reverse)))
                    .with("indexBounds", shown_bounds(view, bounds, *reverse));
                (stage, true)
            }
            access => {
                let is_covered = self.cover.is_some();
                // Which part answers which branch is known of the filter that was planned.
                let planned = match access {
                    Access::Union(..) | Access::Merge(_) => Some(request.matcher.root().planned()),
                    _ => None,
                };
                let root = planned.as_deref().unwrap_or(root);
                let (stage, left) = self.looked(access, request, root, is_covered);
                // What each branch has read is not read again.
                let is_read = left.is_empty()
                    && !stage.inputs().is_empty()
                    && stage.inputs().iter().all(|input| input.name() == "FETCH");
                if is_covered || (finish.returns_keys && left.is_empty()) {
                    (stage, false)
                } else if is_read {
                    (stage, true)
                } else {
                    let left = self.left(access, request, &left);
                    (Stage::new("FETCH").asking(left).over(stage), true)
                }
            }
        }
    }

    /// What would be read, were there anything in the bounds, and whether that is in the order that is asked for.
    fn impossible(&self, request: &PlanRequest<'_>, root: &Node) -> (Stage, bool) {
        let conjuncts = Conjunct::of(root);
        let hinted = match request.hint.map(Hint::parse) {
            Some(Ok(Hint::Index(hint))) => hint.find(request.indexes).ok(),
            _ => None,
        };
        let found = super::useful(request, root, &conjuncts)
            .into_iter()
            .filter(|found| hinted.is_none_or(|hinted| found.index() == hinted))
            .find(Candidate::is_impossible);
        let Some(found) = found.filter(|_| !root.is_never()) else {
            return (Stage::new("EOF"), true);
        };
        let is_in_order = found.is_in_order() || request.sort.is_none();
        let index = found.index();
        let (_, bounds) = found.into_ranges();
        let (stage, left) = self.looked(
            &Access::Index {
                index,
                ranges: Vec::new(),
                reverse: false,
                bounds,
                tail: None,
            },
            request,
            root,
            false,
        );
        let stage = Stage::new("FETCH")
            .asking(residue::filter(&all(&left), Arrangement::Paths(&[])))
            .over(stage);
        (stage, is_in_order)
    }

    /// What is asked of the documents that a part leads to.
    fn left(&self, access: &Access, request: &PlanRequest<'_>, nodes: &[Node]) -> Option<Owned> {
        let nodes = &all(nodes);
        match access {
            Access::Index { index, bounds, .. } => {
                let is_answered =
                    |compared: &Compared<'_>| residue::answers(request, *index, bounds, compared);
                let bounded = residue::bounded(&request.indexes[*index], bounds, nodes);
                // All of an index is read for its order alone.
                let by = match bounded.is_empty() {
                    true => Arrangement::Kinds,
                    false => Arrangement::Paths(&bounded),
                };
                residue::filter_beside(nodes, by, &is_answered)
            }
            _ => residue::filter(nodes, Arrangement::Paths(&[])),
        }
    }

    /// The stage that looks into indexes, and what it leaves to be asked of documents.
    fn looked(
        &self,
        access: &Access,
        request: &PlanRequest<'_>,
        root: &Node,
        is_covered: bool,
    ) -> (Stage, Vec<Node>) {
        match access {
            Access::Nothing | Access::Collection { .. } => (Stage::new("EOF"), Vec::new()),
            Access::Index {
                index,
                reverse,
                bounds,
                ..
            } => {
                let name = if self.leap.is_some() {
                    "DISTINCT_SCAN"
                } else {
                    "IXSCAN"
                };
                let nodes = all(residue::members(root));
                let residue = residue::of_scan(request, *index, bounds, &nodes, is_covered);
                let stage = scan(name, &request.indexes[*index], *reverse, bounds);
                (
                    stage.asking(residue::filter(&residue.keys, Arrangement::Paths(&[]))),
                    residue.documents.into_iter().cloned().collect(),
                )
            }
            Access::Union(parts) => {
                let parts = parts.iter().map(|part| (&part.access, part.answered.as_slice()));
                let parts: Vec<Part<'_>> = parts.collect();
                let (stages, left) = self.branches(&parts, request, root, is_covered);
                (Stage::new("OR").joining(stages), left)
            }
            Access::Merge(streams) => {
                let answered: Vec<Option<usize>> = streams.iter().map(Stream::branch).collect();
                let accesses = streams.iter().map(|stream| &stream.access);
                let parts = accesses.zip(answered.iter().map(Option::as_slice));
                let parts: Vec<Part<'_>> = parts.collect();
                let (stages, left) = self.branches(&parts, request, root, is_covered);
                let mut stage = Stage::new("SORT_MERGE");
                if let Some(sort) = request.sort {
                    stage = stage.with("sortPattern", Value::Document(sort.spec()).into());
                }
                (stage.joining(stages), left)
            }
        }
    }
}

impl Shaping {
    /// Whether the values at the path are kept.
    fn keeps(&self, path: &str) -> bool {
        let is_in = |path: &str, outer: &str| {
            path.strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        match (&self.kept, &self.left_out) {
            (Some(kept), _) => kept.iter().any(|kept| is_in(path, kept)),
            (None, Some(left_out)) => !left_out.iter().any(|own| is_in(path, own) || is_in(own, path)),
            (None, None) => false,
        }
    }
}

fn all(nodes: &[Node]) -> Vec<&Node> {
    nodes.iter().collect()
}

/// The scan with what is skipped under what reads documents.
fn pass_over(mut stage: Stage, skip: u64) -> Stage {
    let above = |stage: Stage| Stage::new("SKIP").with("skipAmount", figure(skip)).over(stage);
    match (stage.name(), stage.inputs_mut()) {
        ("FETCH", [input]) => {
            let inner = std::mem::replace(input, Stage::new("EOF"));
            *input = above(inner);
            stage
        }
        _ => above(stage),
    }
}

/// The same without a stage that only reads documents.
fn unread(mut stage: Stage) -> Stage {
    match (stage.name(), stage.has_filter(), stage.inputs_mut()) {
        ("FETCH", false, [input]) => std::mem::replace(input, Stage::new("EOF")),
        _ => stage,
    }
}

/// The stage that gives documents by distance.
fn near(view: &IndexView<'_>, input: Stage) -> Stage {
    let definition = view.definition;
    let spherical = definition.keys.iter().any(|key| key.order == Order::Sphere);
    Stage::new(if spherical {
        "GEO_NEAR_2DSPHERE"
    } else {
        "GEO_NEAR_2D"
    })
    .with("keyPattern", Value::Document(definition.key_pattern()).into())
    .with("indexName", text(&definition.name))
    .with("indexVersion", Owned::Int32(2))
    .joining(vec![input])
}

/// The stages of a text search.
fn text_match(plan: &TextPlan, request: &PlanRequest<'_>, root: &Node, access: &Access) -> Stage {
    let parsed = plan.scoring.search.described().map(|(name, items)| {
        let items = items.into_iter().map(text).collect();
        (name.to_owned(), Owned::Array(items))
    });
    let definition = request.indexes[plan.index()].definition;
    let mut left = all(residue::members(root));
    left.retain(|node| !matches!(node, Node::Text(_)));
    let parts: Vec<&Access> = match access {
        Access::Union(parts) => parts.iter().map(|part| &part.access).collect(),
        single => vec![single],
    };
    let mut scans: Vec<Stage> = parts
        .into_iter()
        .filter_map(|part| match part {
            Access::Index {
                index,
                reverse,
                bounds,
                ..
            } => Some(scan("IXSCAN", &request.indexes[*index], *reverse, bounds)),
            _ => None,
        })
        .collect();
    let found = match scans.len() {
        1 => scans.swap_remove(0),
        _ => Stage::new("TEXT_OR").joining(scans),
    };
    let found = Stage::new("FETCH").over(found);
    Stage::new("TEXT_MATCH")
        .asking(residue::filter(&left, Arrangement::Paths(&[])))
        .with("indexPrefix", Owned::Document(Vec::new()))
        .with("indexName", text(&definition.name))
        .with("parsedTextQuery", Owned::Document(parsed.to_vec()))
        .with("textIndexVersion", Owned::Int32(3))
        .over(found)
}
