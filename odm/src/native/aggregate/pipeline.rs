//! Pipelines: parsed once, run over streams of documents.
//!
//! Documents pass between stages as BSON bytes. A stage that must see all its input before it gives any
//! output (`$sort`, `$group`, ...) takes it while [`Pipeline::run`] runs; the others are lazy.

mod arrange;
mod asked;
mod counted;
mod early;
mod left;
pub(super) mod length;
mod looks;
mod memory;
mod shown;

use super::super::collation::Collation;
use super::super::document::{Doc, Owned, Value, compare};
use super::super::fault::{Class, Fault, Result, code};
use super::super::matcher::Matcher;
use super::super::metadata::Wanted;
use super::super::needs::{Needs, Values};
use super::super::sort::SortSpec;
use super::Names;
use super::expression::Scope;
use super::row::Row;
use super::stage::{self, Gathered, GeoNear, Group, Stage, Statistics};
use super::transform::{Projection, TransformStage, stage_parts};

pub(crate) use self::asked::no_order;
pub(crate) use self::counted::Ran;
pub(crate) use self::early::Read;
pub(crate) use self::left::Beginning;
pub(crate) use self::memory::{MEMORY_LIMIT, Memory};
pub(crate) use self::memory::{OVER_MEMORY, SORT_OVER_MEMORY};

/// Gives documents one after another to what it is given.
pub(crate) type Feed<'a> = dyn FnMut(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> + 'a;

/// A stream of documents.
pub(crate) type Rows<'a> = Box<dyn Iterator<Item = Result<Row>> + 'a>;

/// Other collections of the same database, for the stages that read them.
pub(crate) trait Source {
    /// The documents of a collection that are asked for, and how many stages of the pipeline behind them are done
    /// with that. A collection that does not exist is empty.
    fn find<'a>(&'a self, collection: &str, asked: Asked<'_>) -> Result<(Rows<'a>, usize)>;

    /// Whether a collection is read whole for the documents that have a value at the path.
    fn is_scanned(&self, _collection: &str, _path: &str) -> bool {
        false
    }

    /// The documents of a collection by distance, as the stage shows them, which has these variables.
    ///
    /// # Errors
    /// MongoDB's, for a collection without a geo index; unsupported where there are no other collections.
    fn near(
        &self,
        collection: &str,
        _stage: &GeoNear,
        _variables: &[(String, Option<Owned>)],
        _wanted: Wanted,
    ) -> Result<Vec<Row>> {
        Err(Fault::unsupported(format!(
            "the documents of {collection} by distance cannot be asked for here"
        )))
    }
}

/// What is asked of another collection.
pub(crate) struct Asked<'q> {
    pub(crate) filter: Doc<'q>,
    /// The stages behind it: those that an index answers need not run.
    pub(crate) behind: Option<&'q Pipeline>,
    /// The values of their variables.
    pub(crate) variables: &'q [(String, Option<Owned>)],
    /// The metadata that the documents are to have.
    pub(crate) wanted: Wanted,
}

/// What a run sees.
#[derive(Clone)]
pub(crate) struct Context<'a> {
    pub(crate) source: &'a dyn Source,
    /// The values of the names given to [`Pipeline::parse`].
    pub(crate) variables: Vec<(String, Option<Owned>)>,
    /// `$$NOW`, milliseconds since the epoch.
    pub(crate) now: i64,
    /// How many bytes a stage may hold.
    pub(crate) memory: Memory,
    /// How strings compare.
    pub(crate) collation: Collation,
    /// The metadata that the stages ask for.
    pub(crate) wanted: Wanted,
}

/// What precedes the message of a fault of constants.
pub(crate) const NOT_OPTIMIZED: &str = "Failed to optimize pipeline :: caused by :: ";
/// What was running, as the faults of a run tell it.
pub(crate) const IN_RUN: &str = "PlanExecutor error during aggregation";

/// Refuses a search behind other stages.
pub(crate) fn text_not_first() -> Fault {
    let message = "$match with $text is only allowed as the first pipeline stage";
    Fault::new(17313, message)
}

/// How deep pipelines nest in stages that read other collections.
const MAX_NESTED: usize = 20;

/// A parsed pipeline.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    stages: Vec<Stage>,
    output: Option<Output>,
    wanted: Wanted,
}

/// A last stage that writes: its document as given, for the executor.
#[derive(Clone, Debug)]
pub(crate) enum Output {
    /// `$out`: the collection, and the database if it is another.
    Out {
        database: Option<String>,
        collection: String,
    },
    /// `$merge`: the value of the stage, wrapped as `{"$merge": value}`.
    Merge(Vec<u8>),
}

/// Where a pipeline stands, for the stages that are not allowed everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Top,
    Facet,
    Lookup,
    Union,
}

/// The stages without the one before a `$geoNear` that lets everything through.
fn without_idle_stage<'s, 'd>(stages: &'s [Doc<'d>]) -> &'s [Doc<'d>] {
    let Some((idle, rest @ [next, ..])) = stages.split_first() else {
        return stages;
    };
    let is_idle = match (idle.get("$match"), idle.get("$skip")) {
        (Some(Value::Document(filter)), None) => filter.is_empty(),
        (None, Some(count)) => count.is_number() && compare(&count, &Value::Int32(0)).is_eq(),
        _ => false,
    };
    match is_idle && idle.count() == 1 && next.get("$geoNear").is_some() {
        true => rest,
        false => stages,
    }
}

/// The code of a stage that stands before others and may not.
pub(crate) const ONLY_LAST: i32 = 40601;

/// What is said of such a stage.
pub(super) fn not_last(name: &str) -> Fault {
    Fault::new(
        ONLY_LAST,
        format!("{name} can only be the final stage in the pipeline"),
    )
}

impl Pipeline {
    /// Parses the stages of an `aggregate` command; `variables` are the names that `let` gives. Constants are computed by
    /// [`Pipeline::settle`].
    pub(crate) fn parse(stages: &[Doc<'_>], variables: &[String]) -> Result<Pipeline> {
        Pipeline::parse_with(stages, &Names::of(variables))
    }

    /// The same, where values of variables are known.
    pub(crate) fn parse_with(stages: &[Doc<'_>], variables: &Names<'_>) -> Result<Pipeline> {
        check_nesting(stages)?;
        let stages = without_idle_stage(stages);
        let mut pipeline = Pipeline::parse_within(stages, variables, Place::Top)?;
        pipeline.ask(stages)?;
        if pipeline.depth() > MAX_NESTED {
            return Err(Fault::new(
                232,
                format!("Maximum number of nested sub-pipelines exceeded. Limit is {MAX_NESTED}"),
            ));
        }
        Ok(pipeline)
    }

    /// Parses stages at this place.
    pub(super) fn parse_within(stages: &[Doc<'_>], variables: &Names<'_>, place: Place) -> Result<Pipeline> {
        let mut pipeline = Pipeline {
            stages: Vec::with_capacity(stages.len()),
            output: None,
            wanted: Wanted::default(),
        };
        // Where stages stand is looked at when all are read.
        let mut misplaced = None;
        for (index, doc) in stages.iter().enumerate() {
            let (name, value) = stage_parts(*doc)?;
            if let Err(fault) = stage::check_place(name, place, index) {
                misplaced.get_or_insert(fault);
            }
            if matches!(name, "$out" | "$merge") {
                pipeline.output = Some(stage::parse_output(name, &value)?);
                if index + 1 != stages.len() {
                    misplaced.get_or_insert_with(|| not_last(name));
                }
                continue;
            }
            let stage = match Stage::parse(name, &value, variables) {
                // What may be wrong inside of it is not known.
                Err(fault) if fault.class() == Class::Unsupported => return Err(misplaced.unwrap_or(fault)),
                stage => stage?,
            };
            if let Stage::Match(own) = &stage
                && own.matcher().text().is_some()
                && index > 0
            {
                return Err(text_not_first());
            }
            // One that asks nothing is left out.
            let is_idle = matches!(&value, Value::Document(filter) if name == "$match" && filter.is_empty());
            if !is_idle {
                pipeline.stages.push(stage);
            }
        }
        length::check(stages)?;
        if let Some(fault) = misplaced {
            return Err(fault);
        }
        pipeline.rearrange();
        if place != Place::Facet {
            pipeline.bound_reads();
        }
        pipeline.bound_sorts();
        Ok(pipeline)
    }

    /// Computes the constant parts, stage by stage.
    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.stages.iter_mut().try_for_each(|stage| stage.fold(known))
    }

    /// Computes the constant parts, and says so where they are wrong.
    pub(crate) fn optimize(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.fold(known).map_err(|fault| fault.prefixed(NOT_OPTIMIZED))
    }

    /// Compares strings by the collation, in all stages, and computes what waited for it, for the time, or for variables.
    ///
    /// # Errors
    /// What is wrong with constants.
    pub(crate) fn settle(&mut self, known: &Scope<'_>) -> Result<()> {
        self.collate(&known.collation);
        self.optimize(Some(known))
    }

    /// Refuses a search for words, which is of the collection that a pipeline reads.
    ///
    /// # Errors
    /// Code 17313.
    pub(crate) fn refuse_text(&self) -> Result<()> {
        match self.searches_text() {
            true => Err(text_not_first()),
            false => Ok(()),
        }
    }

    /// Whether words are searched for.
    pub(super) fn searches_text(&self) -> bool {
        let searches = |stage: &Stage| matches!(stage, Stage::Match(own) if own.matcher().text().is_some());
        self.stages.iter().any(searches)
    }

    /// Compares strings by the collation, in all stages.
    pub(super) fn collate(&mut self, collation: &Collation) {
        if !collation.is_simple() {
            self.stages.iter_mut().for_each(|stage| stage.collate(collation));
        }
    }

    /// The `$sort` at this position, with the number of documents wanted of it: when the input comes in
    /// its order, the run may start after it.
    pub(crate) fn sort_at(&self, position: usize) -> Option<(&SortSpec, Option<u64>)> {
        match self.stages.get(position) {
            Some(Stage::Sort(sort)) => Some((sort.spec(), sort.limit)),
            _ => None,
        }
    }

    /// The filter of the first stage, if it is a `$match`, with the values of variables: the run may start
    /// after it.
    pub(crate) fn leading_filter(&self, variables: &[(String, Option<Owned>)]) -> Option<Matcher> {
        match self.stages.first() {
            Some(Stage::Match(stage)) => Some(
                stage
                    .bound(variables)
                    .unwrap_or_else(|| stage.matcher().clone())
                    .sorted(),
            ),
            _ => None,
        }
    }

    /// The first stage, if it is `$geoNear`: the run starts with it, over the documents in its order.
    pub(crate) fn geo_near(&mut self) -> Option<&mut GeoNear> {
        match self.stages.first_mut() {
            Some(Stage::GeoNear(stage)) => Some(stage),
            _ => None,
        }
    }

    /// The same of a pipeline inside a stage, whose documents the source gives: the run starts after it.
    pub(super) fn nested_geo_near(&self) -> Option<&GeoNear> {
        match self.stages.first() {
            Some(Stage::GeoNear(stage)) => Some(stage),
            _ => None,
        }
    }

    /// Whether the first stage is `$geoNear` and gives the documents in the order in which it gets them.
    pub(crate) fn reads_by_distance(&self) -> bool {
        self.nested_geo_near().is_some_and(|stage| !stage.measures_all())
    }

    /// The filter of a first stage that searches texts: the collection answers it, and the run starts after it.
    pub(crate) fn text_filter(&self) -> Option<&[u8]> {
        match self.stages.first() {
            Some(Stage::Match(stage)) => stage.text_filter(),
            _ => None,
        }
    }

    /// The metadata that the stages ask for.
    pub(crate) fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// Whether every stage from this position on makes its output of one input document at a time and
    /// remembers none, so that the input may be given in parts.
    pub(crate) fn is_streaming_from(&self, position: usize) -> bool {
        self.stages.iter().skip(position).all(|stage| match stage {
            Stage::Match(_)
            | Stage::Transform(_)
            | Stage::Unwind(_)
            | Stage::Redact(_)
            | Stage::Lookup(_)
            | Stage::GraphLookup(_) => true,
            Stage::GeoNear(stage) => !stage.measures_all(),
            _ => false,
        })
    }

    /// What the stages from this position on ask of documents, where that is less than all.
    pub(crate) fn needs_from(&self, position: usize) -> Option<Needs> {
        if let Some(path) = self.group_at(position).and_then(Group::only_path) {
            return Some(Needs::of_values(&path, Values::OrMissing));
        }
        if let Some((path, group)) = self
            .group_at(position)
            .and_then(|own| Some((own.first_path()?, own)))
        {
            let mut needs = Needs::default();
            let needs = match group.add_needs(&mut needs) {
                true => needs,
                false => Needs::whole(),
            };
            return Some(needs.of_first(&path));
        }
        let mut needs = Needs::default();
        for stage in self.stages.iter().skip(position) {
            let (is_known, is_last) = match stage {
                Stage::Skip(_) | Stage::Limit(_) | Stage::Sample(_) => (true, false),
                Stage::Match(own) => (own.matcher().root().add_needs(&mut needs), false),
                Stage::Sort(own) => (own.spec().add_needs(&mut needs), false),
                Stage::Group(own) => (own.add_needs(&mut needs), true),
                Stage::Transform(TransformStage::Project(own)) => (own.add_needs(&mut needs), true),
                _ => return None,
            };
            if !is_known {
                return None;
            }
            if is_last {
                return Some(needs);
            }
        }
        None
    }

    /// The `$skip` at this position.
    pub(crate) fn skip_at(&self, position: usize) -> Option<u64> {
        match self.stages.get(position) {
            Some(Stage::Skip(count)) => Some(*count),
            _ => None,
        }
    }

    /// The `$project` at this position that keeps no more than it names.
    pub(crate) fn inclusion_at(&self, position: usize) -> Option<&Projection> {
        match self.stages.get(position) {
            Some(Stage::Transform(TransformStage::Project(own))) => {
                Some(&**own).filter(|own| own.is_inclusive())
            }
            _ => None,
        }
    }

    /// The `$limit` at this position.
    pub(crate) fn limit_at(&self, position: usize) -> Option<u64> {
        match self.stages.get(position) {
            Some(Stage::Limit(count)) => Some(*count),
            _ => None,
        }
    }

    /// Whether the pipeline makes its own first documents and reads no collection.
    pub(crate) fn starts_with_documents(&self) -> bool {
        matches!(self.stages.first(), Some(Stage::Documents(_)))
    }

    /// What the first stage asks of the collection, if it does not read it: the run starts after it.
    pub(crate) fn statistics(&self) -> Option<&Statistics> {
        match self.stages.first() {
            Some(Stage::Statistics(statistics)) => Some(statistics),
            _ => None,
        }
    }

    /// Whether the pipeline is the `$count` of its input from this position on, under this name.
    pub(crate) fn count_at(&self, position: usize) -> Option<&str> {
        match (self.stages.get(position), self.stages.get(position + 1)) {
            (Some(Stage::Count(name)), None) => Some(name),
            _ => None,
        }
    }

    /// How many documents the `$sample` at this position takes.
    pub(crate) fn sample_at(&self, position: usize) -> Option<u64> {
        match self.stages.get(position) {
            Some(Stage::Sample(size)) => Some(*size),
            _ => None,
        }
    }

    /// The last stage, if it writes: the run gives the documents to write.
    pub(crate) fn output(&self) -> Option<&Output> {
        self.output.as_ref()
    }

    /// The stage that may not stand in a `$facet`, or holds one that may not.
    pub(super) fn refused_in_facet(&self) -> Option<&'static str> {
        self.stages.iter().find_map(|stage| match stage {
            Stage::Facet(_) => Some("$facet"),
            Stage::Documents(_) => Some("$documents"),
            Stage::GeoNear(_) => Some("$geoNear"),
            Stage::Statistics(statistics) => Some(statistics.name()),
            stage => stage
                .nested()
                .and_then(|(name, inner)| inner.refused_in_facet().map(|_| name)),
        })
    }

    /// How deep pipelines that read other collections nest.
    fn depth(&self) -> usize {
        let deepest = self
            .stages
            .iter()
            .filter_map(Stage::nested)
            .map(|(_, inner)| 1 + inner.depth())
            .max();
        deepest.unwrap_or(0)
    }

    /// Whether no stage is left at this position.
    pub(crate) fn is_over_at(&self, position: usize) -> bool {
        position >= self.stages.len() && self.output.is_none()
    }

    /// How many stages there are, the writing one not counted.
    pub(crate) fn len(&self) -> usize {
        self.stages.len()
    }

    /// Runs all stages over the input.
    pub(crate) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        self.run_from(0, input, context)
    }

    /// Runs the stages from `first` on: those before are done already.
    pub(crate) fn run_from<'a>(
        &'a self,
        first: usize,
        input: Rows<'a>,
        context: &'a Context<'a>,
    ) -> Result<Rows<'a>> {
        self.check_counts(first, context).map_err(in_run)?;
        let rows = self.flow(first, input, context).map_err(in_run)?;
        Ok(Box::new(rows.map(|row| row.map_err(in_run))))
    }

    /// The `$group` at this position.
    pub(crate) fn group_at(&self, position: usize) -> Option<&Group> {
        match self.stages.get(position) {
            Some(Stage::Group(group)) => Some(group),
            _ => None,
        }
    }

    /// Runs the stages from a `$group` on; `feed` gives each of its documents, which need not be kept.
    pub(crate) fn run_from_group<'a>(
        &'a self,
        (position, group): (usize, &'a Group),
        feed: &mut Feed<'_>,
        context: &'a Context<'a>,
    ) -> Result<Rows<'a>> {
        self.check_counts(position + 1, context).map_err(in_run)?;
        let mut gathered = Gathered::default();
        feed(&mut |document| group.add(&mut gathered, (document, None), context)).map_err(in_run)?;
        let rows = group.finish(gathered, context).map_err(in_run)?;
        self.run_from(position + 1, rows, context)
    }

    /// The documents that the first stage makes.
    pub(super) fn made<'a>(&'a self, context: &'a Context<'a>) -> Result<Rows<'a>> {
        let nothing: Rows<'a> = Box::new(std::iter::empty());
        match self.stages.first() {
            Some(stage) => stage.run(nothing, context),
            None => Ok(nothing),
        }
    }

    /// Refuses windows that take a wrong number of values: a server makes its stages ready from the last to the first.
    pub(super) fn check_counts(&self, first: usize, context: &Context<'_>) -> Result<()> {
        let stages = self.stages.get(first..).unwrap_or_default().iter().rev();
        for stage in stages {
            match stage {
                Stage::Windows(windows) => windows.check_counts(context)?,
                // Its first pipeline asks for documents before another is made ready.
                Stage::Facet(facet) => {
                    if let Some((_, pipeline)) = facet.each().next() {
                        pipeline.check_counts(0, context)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Runs as a part of another pipeline.
    pub(super) fn flow<'a>(
        &'a self,
        first: usize,
        input: Rows<'a>,
        context: &'a Context<'a>,
    ) -> Result<Rows<'a>> {
        self.stages
            .iter()
            .skip(first)
            .try_fold(input, |rows, stage| stage.run(rows, context))
    }
}

/// A fault of the data, as the server reports it while running.
fn in_run(fault: Fault) -> Fault {
    fault.while_running(IN_RUN)
}

/// How deep pipelines may stand in one another.
const MAX_PIPELINES: usize = 20;

/// Refuses pipelines in pipelines in pipelines. Iterative.
fn check_nesting(stages: &[Doc<'_>]) -> Result<()> {
    let mut open: Vec<(Doc<'_>, usize)> = stages.iter().map(|stage| (*stage, 0)).collect();
    while let Some((stage, depth)) = open.pop() {
        let Some(element) = stage.elements().next() else {
            continue;
        };
        let Value::Document(spec) = element.value() else {
            continue;
        };
        let (inner, depth) = match element.name_str() {
            "$lookup" | "$unionWith" => (spec.get("pipeline").into_iter().collect(), depth + 1),
            "$facet" => (spec.values().collect::<Vec<_>>(), depth),
            _ => continue,
        };
        for pipeline in inner {
            let Value::Array(stages) = pipeline else {
                continue;
            };
            if depth > MAX_PIPELINES {
                return Err(Fault::new(
                    232,
                    "Maximum number of nested sub-pipelines exceeded. Limit is 20",
                ));
            }
            open.extend(stages.values().filter_map(|stage| match stage {
                Value::Document(stage) => Some((stage, depth)),
                _ => None,
            }));
        }
    }
    Ok(())
}

/// Reads the stages of a nested pipeline.
pub(super) fn nested_stages<'a>(items: Doc<'a>) -> Result<Vec<Doc<'a>>> {
    items
        .values()
        .map(|stage| match stage {
            Value::Document(doc) => Ok(doc),
            _ => Err(Fault::new(
                code::TYPE_MISMATCH,
                "Each element of the 'pipeline' array must be an object",
            )),
        })
        .collect()
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("variables", &self.variables)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
