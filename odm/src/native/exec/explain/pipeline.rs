//! What a pipeline would do, or did: the read of a collection that it begins with, and its stages.

use super::super::super::aggregate::pipeline::{Pipeline, Ran};
use super::super::super::aggregate::transform::Projection;
use super::super::super::document::owned::field;
use super::super::super::document::{Doc, Fields, Owned};
use super::super::super::fault::Result;
use super::super::super::needs::Needs;
use super::super::super::plan::Shaping;
use super::super::super::storage::Read;
use super::super::aggregate::{AggregateRequest, Prepared};
use super::super::cursor::FindRequest;
use super::stages::{CURSOR, Telling, counted, read_of};
use super::{ExplainRequest, Explained, explain};

/// What is told of a read that a pipeline begins with.
#[derive(Clone, Debug)]
pub(crate) struct Piped {
    /// Whether the read stands for the pipeline, which is no more than that.
    pub(super) replaces: bool,
    /// How many documents are taken of it, where that is less than it would give.
    pub(super) taken: Option<u64>,
    /// What is made of its documents.
    pub(super) shaped: Option<Shaping>,
}

/// The explanation, in the shape of the server's: that of the read where the pipeline is no more than that.
pub(crate) fn explain_aggregate(
    read: &dyn Read,
    request: &AggregateRequest,
    execute: bool,
) -> Result<Vec<u8>> {
    explain_stages(read, request, execute, false)
}

/// The same, be it of a pipeline that is a part of another one.
pub(super) fn explain_stages(
    read: &dyn Read,
    request: &AggregateRequest,
    execute: bool,
    is_part: bool,
) -> Result<Vec<u8>> {
    let request = &*request.by_default(read)?;
    let prepared = request.prepare(read)?;
    let under = prepared.find.as_ref().map(|find| Under::of(find, &prepared));
    let is_all = under.as_ref().is_some_and(|under| {
        prepared.pipeline.is_over_at(under.first) && !prepared.pipeline.reads_by_distance()
    });
    // What is read is counted by itself. Only what orders or computes may fail.
    let may_fail = |under: &Under| under.find.query.sort.is_some() || under.computes;
    let ran = match execute && (!is_all || under.as_ref().is_some_and(may_fail)) {
        true => request.count_stages(read, &prepared)?,
        false => Vec::new(),
    };
    let mut stages = Vec::new();
    // The stage that makes the first documents, if there is no read.
    let mut first = 0;
    if let Some(mut under) = under {
        first = under.first;
        let own = ran.get(first - prepared.first);
        let shaped = under.shaped.take();
        let under = ExplainRequest {
            filter: None,
            namespace: under.find.namespace,
            query: under.find.query,
            projection: None,
            what: under.what,
            skip: under.find.skip,
            limit: under.find.limit,
            extras: under.find.extras,
            piped: Some(Piped {
                replaces: is_all && !is_part,
                taken: own.filter(|own| !own.has_ended()).map(Ran::given),
                shaped,
            }),
            execute,
            deadline: under.find.deadline,
        };
        let explained = explain(read, &under)?;
        if is_all {
            return Ok(explained);
        }
        let (name, own) = match prepared.pipeline.reads_by_distance() {
            // It takes its documents from the read one by one.
            true => {
                first += 1;
                ("$geoNearCursor", ran.get(first - prepared.first))
            }
            false => (CURSOR, own),
        };
        stages.push(counted(read_of(name, Doc::Raw(&explained)), own.map(Ran::given)));
    }
    let telling = Telling {
        read,
        request,
        collation: prepared.collation(),
        execute,
    };
    stages.extend(telling.stages(&prepared.pipeline, first, prepared.first, &ran)?);
    if let Some(output) = prepared.pipeline.shown_output(&request.namespace.database) {
        stages.push(counted(output, execute.then_some(0)));
    }
    let answer = vec![
        field("explainVersion", Owned::String("1".to_owned())),
        field("stages", Owned::Array(stages)),
        field("ok", Owned::Double(1.0)),
    ];
    Ok(Doc::Fields(&answer).to_bytes())
}

/// The read with what a server has it do of the stages behind it.
struct Under {
    find: FindRequest,
    what: Explained,
    /// The first stage that is left.
    first: usize,
    shaped: Option<Shaping>,
    /// Whether that computes fields.
    computes: bool,
}

impl Under {
    fn of(find: &FindRequest, prepared: &Prepared) -> Under {
        let pipeline = &*prepared.pipeline;
        let mut under = Under {
            find: find.clone(),
            what: Explained::Find,
            first: prepared.first,
            shaped: None,
            computes: false,
        };
        let has_bounds = find.skip > 0 || find.limit > 0;
        if has_bounds {
            under.take_bounds(pipeline);
        }
        if pipeline.count_at(under.first).is_some() && !has_bounds {
            under.what = match find.query.is_everything() {
                true => Explained::Find,
                false => Explained::Count,
            };
            return under;
        }
        if !has_bounds && find.query.sort.is_none() && !find.query.asks_near() {
            under.take_order(pipeline);
        }
        if !pipeline.wanted().is_empty() {
            return under;
        }
        let is_plain = under.first == prepared.first && !has_bounds && under.find.query.sort.is_none();
        let may_compute = |own: &&Projection| own.only_keeps() || (is_plain && !own.has_parts());
        if let Some(projection) = pipeline.inclusion_at(under.first).filter(may_compute) {
            let kept = projection
                .only_keeps()
                .then(|| needs(pipeline, under.first))
                .flatten();
            under.shaped = Some(shaped(
                Owned::Document(projection.shown()),
                projection.is_flat(),
                kept.as_ref(),
            ));
            under.computes = !projection.only_keeps();
            under.first += 1;
            return under;
        }
        let needs = match find.query.needs().filter(|_| under.first == prepared.first) {
            Some(needs) => Some(needs.clone()),
            None => needs(pipeline, under.first),
        };
        if let Some(needs) = needs.as_ref().filter(|needs| needs.paths().next().is_some()) {
            let mut by: Fields = needs
                .outermost()
                .map(|path| field(path, Owned::Int32(1)))
                .collect();
            let is_flat = by.iter().all(|(path, _)| !path.contains('.'));
            if !needs.has("_id") {
                by.push(field("_id", Owned::Int32(0)));
            }
            under.shaped = Some(shaped(Owned::Document(by), is_flat, Some(needs)));
        }
        under
    }

    /// Takes over the order behind the read, and the bounds behind that.
    fn take_order(&mut self, pipeline: &Pipeline) {
        let Some((order, _)) = pipeline.sort_at(self.first) else {
            return;
        };
        self.find.query = self.find.query.sorted(order.clone());
        self.first += 1;
        self.take_bounds(pipeline);
    }

    /// Takes over bounds, as one part of what is read.
    fn take_bounds(&mut self, pipeline: &Pipeline) {
        let find = &mut self.find;
        loop {
            if let Some(count) = pipeline.skip_at(self.first) {
                if find.limit > 0 && find.limit <= count {
                    return;
                }
                find.skip = find.skip.saturating_add(count);
                find.limit = find.limit.saturating_sub(count);
            } else if let Some(count) = pipeline.limit_at(self.first) {
                find.limit = match find.limit {
                    0 => count,
                    limit => limit.min(count),
                };
            } else {
                return;
            }
            self.first += 1;
        }
    }
}

/// What a projection leaves, which keeps these paths and does nothing else, if they are given.
fn shaped(by: Owned, is_flat: bool, kept: Option<&Needs>) -> Shaping {
    Shaping {
        by,
        is_simple: is_flat,
        kept: kept.map(|kept| kept.outermost().map(str::to_owned).collect()),
        left_out: None,
        stage: None,
    }
}

/// The paths at which the stages from this position on look at documents, where these are not all.
fn needs(pipeline: &Pipeline, first: usize) -> Option<Needs> {
    let mut needs = Needs::default();
    pipeline.add_needs(first, &mut needs).then_some(needs)
}
