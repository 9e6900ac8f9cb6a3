//! Running pipelines: what leads them goes to the planner, the rest streams over documents.

mod counted;
mod head;
mod look;
mod near;
mod sampled;
mod source;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use self::head::Head;
pub(crate) use self::look::look_through;
use self::near::{filters_ahead, filters_before_near, no_collection, settle_near};
use self::source::{Collections, Input, Known};
use super::super::aggregate::expression::Scope;
use super::super::aggregate::pipeline::{
    self as aggregate, Beginning, Context, Memory, ONLY_LAST, Pipeline, Rows,
};
use super::super::aggregate::stage::{self, ONLY_FIRST};
use super::super::aggregate::{Group, Names, Row, Statistics, constants};
use super::super::collation::Collation;
use super::super::document::size::check_buildable;
use super::super::document::{Doc, Owned};
use super::super::fault::{Class, Fault, Result, code};
use super::super::matcher::Matcher;
use super::super::metadata::{Kind, Wanted};
use super::super::needs::Needs;
use super::super::sort::SortSpec;
use super::super::storage::Read;
use super::cursor::{Extras, FindCursor, FindRequest, Packed};
use super::query::{Part, Query};
use super::{Deadline, Namespace, count, series};
use super::{statistics, view};

/// The name that stands for a database instead of a collection.
pub(crate) const NO_COLLECTION: &str = "$cmd.aggregate";

/// A query of what stages give.
#[derive(Clone, Debug)]
pub(crate) struct Above {
    pub(crate) filter: Arc<Matcher>,
    pub(crate) order: Option<SortSpec>,
    pub(crate) skip: u64,
    /// 0: all.
    pub(crate) limit: u64,
    /// What is asked of what is found, where that is not all.
    pub(crate) needs: Option<Needs>,
}

impl From<Arc<Matcher>> for Above {
    /// All that match.
    fn from(filter: Arc<Matcher>) -> Above {
        Above {
            filter,
            order: None,
            skip: 0,
            limit: 0,
            needs: None,
        }
    }
}

/// What an aggregate asks for.
#[derive(Clone, Debug)]
pub(crate) struct AggregateRequest {
    pub(crate) namespace: Namespace,
    /// The stages as given.
    pub(crate) stages: Vec<Vec<u8>>,
    /// What is asked of the documents that the stages give.
    pub(crate) above: Option<Box<Above>>,
    /// What `let` gives, where strings compare by the request's own collation.
    pub(crate) variables: Vec<(String, Option<Owned>)>,
    /// The `let` as given.
    pub(crate) constants: Vec<u8>,
    /// How strings compare, if it is said.
    pub(crate) collation: Option<Collation>,
    pub(crate) hint: Option<Owned>,
    pub(crate) batch_size: Option<u32>,
    pub(crate) allow_disk_use: bool,
    /// Whether documents that a last stage writes pass by the collection's validator.
    pub(crate) unvalidated: bool,
    /// Milliseconds since the epoch.
    pub(crate) now: i64,
    pub(crate) deadline: Deadline,
}

/// The stages, the input they are to have, and where in them the run begins.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) pipeline: Arc<Pipeline>,
    /// `None` where the stages read no collection.
    pub(crate) find: Option<FindRequest>,
    pub(crate) first: usize,
    /// The order in which the find reads.
    sort: Option<SortSpec>,
    /// How strings compare.
    collation: Collation,
}

impl Prepared {
    /// How strings compare.
    pub(crate) fn collation(&self) -> &Collation {
        &self.collation
    }
}

/// What stays the same for all of a run.
#[derive(Clone, Debug)]
struct Setting {
    database: String,
    variables: Vec<(String, Option<Owned>)>,
    memory: Memory,
    now: i64,
    deadline: Deadline,
    collation: Collation,
}

impl Setting {
    fn context<'a>(&self, source: &'a Collections<'a>) -> Context<'a> {
        Context {
            source,
            variables: self.variables.clone(),
            now: self.now,
            memory: self.memory,
            collation: self.collation.clone(),
            wanted: Wanted::default(),
        }
    }
}

/// A running aggregate.
#[derive(Debug)]
pub(crate) struct AggregateCursor {
    pipeline: Arc<Pipeline>,
    first: usize,
    setting: Setting,
    /// The input that is not read yet; `None` when the results are all there.
    input: Option<FindCursor>,
    results: VecDeque<Vec<u8>>,
    /// The fault of what comes behind the results.
    fault: Option<Fault>,
    /// Where what the stages ask for is found.
    known: Known,
    batch_size: Option<u32>,
    batches: u64,
}

/// How many documents the first batch carries when nobody says.
const FIRST_BATCH: usize = 101;

impl AggregateRequest {
    fn setting(&self, collation: Collation) -> Setting {
        Setting {
            database: self.namespace.database.clone(),
            variables: self.variables.clone(),
            memory: Memory::of(self.allow_disk_use),
            now: self.now,
            deadline: self.deadline,
            collation,
        }
    }

    /// The request with its `let` computed by the collation of what it reads, unless it has one of its own.
    ///
    /// # Errors
    /// What is wrong with the constants.
    pub(crate) fn by_default(&self, read: &dyn Read) -> Result<Cow<'_, AggregateRequest>> {
        if self.collation.is_some() || self.variables.is_empty() {
            return Ok(Cow::Borrowed(self));
        }
        let own = view::collation_of(read.catalog(), &self.namespace);
        Ok(match own.is_simple() {
            true => Cow::Borrowed(self),
            false => Cow::Owned(AggregateRequest {
                variables: constants::of(Doc::Raw(&self.constants), self.now, &own)?,
                ..self.clone()
            }),
        })
    }

    /// How strings compare in a run over what the name stands for.
    ///
    /// # Errors
    /// Code 167 for a collation that is not a view's own.
    pub(crate) fn collation(&self, read: &dyn Read) -> Result<Collation> {
        view::collation_asked(read.catalog(), &self.namespace, self.collation.as_ref())
    }

    /// The names that `let` gives values to.
    pub(crate) fn names(&self) -> Vec<String> {
        self.variables.iter().map(|(name, _)| name.clone()).collect()
    }

    /// What is known before there are documents.
    fn scope(&self, collation: Option<&Collation>) -> Scope<'_> {
        Scope {
            variables: self.variables.clone(),
            collation: collation.cloned().unwrap_or_default(),
            ..Scope::new(Doc::empty(), self.now)
        }
    }

    /// Parses the stages alone, for their complaints and for the one that writes.
    pub(crate) fn parse(&self) -> Result<Pipeline> {
        let stages: Vec<Doc<'_>> = self.stages.iter().map(|stage| Doc::Raw(stage)).collect();
        look_through(&stages, &self.namespace.database)?;
        self.parse_seen()
    }

    /// The same of stages that were looked through.
    pub(crate) fn parse_seen(&self) -> Result<Pipeline> {
        let stages: Vec<Doc<'_>> = self.stages.iter().map(|stage| Doc::Raw(stage)).collect();
        let (names, known) = (self.names(), self.scope(self.collation.as_ref()));
        let names = Names::known(&names, Some(&known));
        let mut pipeline = Pipeline::parse_with(&stages, &names).or_else(|fault| {
            // Of a time series, that may be right: it is looked up later.
            match filters_before_near(&stages) {
                0 => Err(self.refused(fault)),
                count => Pipeline::parse_with(&stages[count..], &names),
            }
        })?;
        // They are computed before it is looked where the results go.
        if pipeline.output().is_some() {
            pipeline.optimize(None)?;
        }
        let whole_database = self.is_of_database();
        if pipeline.starts_with_documents() && !whole_database {
            return Err(Fault::new(
                code::INVALID_NAMESPACE,
                "'$documents' can only be run with {aggregate: 1}",
            ));
        }
        if whole_database && !pipeline.starts_with_documents() {
            return Err(self.without_collection());
        }
        Ok(pipeline)
    }

    /// Computes the constant parts of the stages, as far as they are known without what they read.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn settle(&self, pipeline: &mut Pipeline) -> Result<()> {
        pipeline.settle(&self.scope(self.collation.as_ref()))
    }

    /// Whether it is of a database, and reads no collection of its own.
    fn is_of_database(&self) -> bool {
        self.namespace.collection == NO_COLLECTION
    }

    /// What is said of stages in the wrong places: first of all that they read a collection where there is none.
    fn refused(&self, fault: Fault) -> Fault {
        let is_place = [ONLY_LAST, ONLY_FIRST].contains(&fault.code());
        let begins = self.stages.first().map(|stage| Doc::Raw(stage));
        let makes_documents = begins.is_some_and(|stage| stage.get("$documents").is_some());
        match self.is_of_database() && is_place && !makes_documents {
            true => self.without_collection(),
            false => fault,
        }
    }

    /// The fault of stages that read a collection where there is none.
    fn without_collection(&self) -> Fault {
        let what = match self.stages.first().map(|stage| Doc::Raw(stage)) {
            None => "an empty pipeline.".to_owned(),
            Some(stage) => {
                let name = stage.elements().next().map_or("", |first| first.name_str());
                format!("'{name}'; a collection is required.")
            }
        };
        Fault::new(
            code::INVALID_NAMESPACE,
            format!("{{aggregate: 1}} is not valid for {what}"),
        )
    }

    /// What a pipeline that begins with figures describes: what has its name, or what a view with that beginning is on.
    fn described(&self, read: &dyn Read) -> Result<Namespace> {
        match self.asks_for_statistics() {
            true => Ok(self.namespace.clone()),
            false => Ok(view::resolve(read.catalog(), &self.namespace)?.base),
        }
    }

    /// Whether the pipeline describes what has its name, be it a view.
    fn asks_for_statistics(&self) -> bool {
        self.stages.first().is_some_and(|stage| view::describes(stage))
    }

    /// Follows views and gives the planner what it can do: the leading `$match`, a `$sort` that an index has,
    /// `$skip` and `$limit`.
    pub(crate) fn prepare(&self, read: &dyn Read) -> Result<Prepared> {
        let resolved = match self.asks_for_statistics() {
            true => view::Resolved::itself(&self.namespace),
            false => view::resolve(read.catalog(), &self.namespace)?,
        };
        if !resolved.is_view {
            view::refuse_buckets(read.catalog(), &self.namespace)?;
        }
        let mut stages: Vec<Doc<'_>> = resolved
            .stages
            .iter()
            .chain(&self.stages)
            .map(|stage| Doc::Raw(stage))
            .collect();
        let ahead = filters_ahead(read, &resolved.base, &mut stages);
        view::refuse_in_facets(read.catalog(), &resolved.base.database, &stages)?;
        let collation = self.collation(read);
        let (names, known) = (self.names(), self.scope(collation.as_ref().ok()));
        let mut pipeline = Pipeline::parse_with(&stages, &Names::known(&names, Some(&known)))?;
        // The stage by which a server unpacks buckets stands before all others.
        if matches!(pipeline.statistics(), Some(Statistics::Plans))
            && resolved.is_view
            && series::has_series(read.catalog(), &resolved.base)
        {
            return Err(stage::only_first("$planCacheStats"));
        }
        if let Some(above) = &self.above {
            pipeline.filter_by(&above.filter);
            pipeline.order_by(above.order.as_ref(), (above.skip, above.limit));
        }
        if constants::go_with_early_stages(Doc::Raw(&self.constants)) {
            pipeline.mark_early(&resolved.base.collection, &|name| match read
                .catalog()
                .collection(&resolved.base.database, name)
            {
                Some(found) if found.rules.view.is_some() => aggregate::Read::View,
                Some(found) if found.rules.clustered.is_some() => aggregate::Read::Clustered,
                _ => aggregate::Read::Collection,
            });
        }
        let collation = collation?;
        view::refuse_joined(read.catalog(), &resolved.base.database, &stages, &collation)?;
        pipeline.settle(&known)?;
        let near = self.nearest(read, &resolved.base, &mut pipeline, ahead)?;
        // Measurements are unpacked with all that is in their fields; what a view gives is not known here.
        let keeps_whole = |name: &str| {
            let namespace = Namespace {
                database: resolved.base.database.clone(),
                collection: name.to_owned(),
            };
            let catalog = read.catalog();
            series::has_series(catalog, &namespace) || view::view_of(catalog, &namespace).is_some()
        };
        let beginning = Beginning {
            first: 0,
            is_bounded: false,
            is_whole: true,
            behind: self.above.as_ref().and_then(|above| above.needs.as_ref()),
            keeps_whole: &keeps_whole,
        };
        if pipeline.starts_with_documents() || pipeline.statistics().is_some() {
            pipeline.keep_inside(&beginning);
            let first = usize::from(pipeline.statistics().is_some());
            return Ok(Prepared {
                pipeline: Arc::new(pipeline),
                find: None,
                first,
                sort: None,
                collation,
            });
        }
        let mut first = 0;
        // `$geoNear` runs over the documents found: a limit behind it is theirs too.
        let nearest = pipeline.limit_at(1).filter(|_| pipeline.reads_by_distance());
        let matcher = match near {
            Some(matcher) => matcher,
            None => self.leading(&pipeline, &mut first)?,
        };
        let matcher = matcher.collated(&collation).at(self.now).settled()?;
        let query = Query::of(matcher, None, self.hint.clone(), collation.clone());
        let base = &resolved.base;
        let collection = read.catalog().collection(&base.database, &base.collection);
        let head = Head::of(query, read, collection, (&pipeline, first), self.deadline)?;
        let first = head.first;
        pipeline.keep_for_orders(&Beginning {
            first,
            is_bounded: head.skip > 0 || head.limit > 0,
            is_whole: series::has_series(read.catalog(), base),
            ..beginning
        });
        // Of how documents were found, a key does not tell all.
        let needs = match pipeline.wanted().is_empty() {
            true => pipeline.needs_from(first),
            false => None,
        };
        let needs = match head.skip > 0 || head.limit > 0 {
            true => needs.and_then(Needs::of_each),
            false => needs,
        };
        let part = Part {
            limit: head.limit,
            skip: head.skip,
            ..Part::piped()
        };
        let find = FindRequest {
            namespace: resolved.base.clone(),
            query: head
                .query
                .part(part)
                .needing(needs)
                .keeping(pipeline.kept_from(first)),
            projection: None,
            skip: head.skip,
            limit: nearest.unwrap_or(head.limit),
            batch_size: None,
            tail: None,
            extras: Extras::default(),
            deadline: self.deadline,
        };
        Ok(Prepared {
            pipeline: Arc::new(pipeline),
            find: Some(find),
            first,
            sort: head.sort,
            collation,
        })
    }
}

impl AggregateRequest {
    /// The filter of a leading `$match`, which the run starts behind.
    fn leading(&self, pipeline: &Pipeline, first: &mut usize) -> Result<Matcher> {
        match pipeline.leading_filter(&self.variables) {
            Some(matcher) => {
                *first += 1;
                Ok(matcher.at(self.now))
            }
            None => Matcher::parse(Doc::empty()),
        }
    }

    /// The filter of a leading `$geoNear`, which gets its field from the collection's index.
    fn nearest(
        &self,
        read: &dyn Read,
        base: &Namespace,
        pipeline: &mut Pipeline,
        ahead: Option<Vec<u8>>,
    ) -> Result<Option<Matcher>> {
        let Some(stage) = pipeline.geo_near() else {
            return Ok(None);
        };
        let Some(collection) = read.catalog().collection(&base.database, &base.collection) else {
            return Err(no_collection(base));
        };
        settle_near(stage, collection, base, ahead)?;
        stage.matcher(&self.variables, self.now).map(Some)
    }
}

impl AggregateCursor {
    /// Plans the run on this state of the database. Stages that must see all their input have seen it when this
    /// returns; otherwise documents are read as batches are asked for.
    pub(crate) fn open(read: &dyn Read, request: &AggregateRequest) -> Result<AggregateCursor> {
        let request = &*request.by_default(read)?;
        let Prepared {
            pipeline,
            find,
            first,
            sort,
            collation,
            ..
        } = request.prepare(read)?;
        let mut cursor = AggregateCursor {
            pipeline: pipeline.clone(),
            first,
            setting: request.setting(collation),
            input: None,
            results: VecDeque::new(),
            fault: None,
            known: Known {
                wanted: pipeline.wanted(),
                text: None,
                keys: None,
                sort,
            },
            batch_size: request.batch_size,
            batches: 0,
        };
        match find {
            None => {
                let rows = match pipeline.statistics() {
                    Some(asked) => {
                        let described = request.described(read)?;
                        statistics::described(read, &described, asked, request.now)
                            .map_err(|fault| fault.while_running(aggregate::IN_RUN))?
                    }
                    None => Vec::new(),
                };
                cursor.run(read, Box::new(rows.into_iter().map(|row| Ok(Row::from(row)))))?;
            }
            Some(find) => match pipeline.count_at(first) {
                Some(name) if find.skip == 0 && find.limit == 0 => {
                    let total =
                        count::on_collection(read, &find.namespace, &find.query, (0, 0), find.deadline)?;
                    if let Ok(total) = i64::try_from(total)
                        && total > 0
                    {
                        let number = i32::try_from(total).map_or(Owned::Int64(total), Owned::Int32);
                        let row = vec![(name.to_owned(), number)];
                        cursor.results.push_back(Doc::Fields(&row).to_bytes());
                    }
                }
                _ => {
                    if let Some(drawn) = drawn(read, &find, pipeline.sample_at(first))? {
                        let rows = drawn.into_iter().map(|document| Ok(Row::from(document)));
                        cursor.run(read, Box::new(rows))?;
                        return Ok(cursor);
                    }
                    let input = FindCursor::on_collection(read, find)?;
                    cursor.known.text = input.text();
                    if pipeline.wanted().has(Kind::IndexKey) {
                        cursor.known.keys = input.index_keys();
                    }
                    if pipeline.is_streaming_from(first) {
                        cursor.input = Some(input);
                    } else if let (Some(group), true) =
                        (pipeline.group_at(first), pipeline.wanted().is_empty())
                    {
                        cursor.group(read, group, input)?;
                    } else {
                        cursor.run(read, Box::new(Input::new(read, input)))?;
                    }
                }
            },
        }
        Ok(cursor)
    }

    /// Runs the stages over the input and adds what they give to the results.
    fn run(&mut self, read: &dyn Read, input: Rows<'_>) -> Result<()> {
        let source = Collections {
            read,
            setting: &self.setting,
        };
        let mut context = self.setting.context(&source);
        context.wanted = self.known.wanted;
        let input = self.known.of(input);
        let rows = self.pipeline.run_from(self.first, input, &context)?;
        keep(rows, self.setting.deadline, &mut self.results)
    }

    /// The same where the first stage is a group, which needs no copies of its documents.
    fn group(&mut self, read: &dyn Read, group: &Group, mut input: FindCursor) -> Result<()> {
        let source = Collections {
            read,
            setting: &self.setting,
        };
        let context = self.setting.context(&source);
        let mut feed = |visit: &mut dyn FnMut(&[u8]) -> Result<()>| input.each(read, visit);
        let rows = self
            .pipeline
            .run_from_group((self.first, group), &mut feed, &context)?;
        keep(rows, self.setting.deadline, &mut self.results)
    }

    /// The next results, from the same state of the database; `None` after the last.
    pub(crate) fn next_batch(&mut self, read: &dyn Read) -> Result<Option<Packed>> {
        let most = match self.batch_size {
            Some(0) | None => (self.batches == 0).then_some(FIRST_BATCH),
            Some(size) => usize::try_from(size).ok(),
        };
        self.batches += 1;
        self.next_batch_of(read, most)
    }

    /// Whether it has given a batch.
    pub(crate) fn has_begun(&self) -> bool {
        self.batches > 0
    }

    /// Whether there is nothing left; `false` when that is not known yet, as it never is of stages: they are asked.
    pub(crate) fn is_done(&self) -> bool {
        let reads_alone = self.pipeline.is_over_at(self.first);
        let is_read = self.input.as_ref().is_some_and(FindCursor::is_done);
        reads_alone && is_read && self.results.is_empty() && self.fault.is_none()
    }

    /// The next results, at most so many.
    pub(crate) fn next_batch_of(&mut self, read: &dyn Read, most: Option<usize>) -> Result<Option<Packed>> {
        self.setting.deadline.resume();
        let batch = self.read_batch(read, most);
        self.setting.deadline.pause();
        batch
    }

    fn read_batch(&mut self, read: &dyn Read, most: Option<usize>) -> Result<Option<Packed>> {
        let mut packed = Packed::default();
        // At first no more than are asked for, since what comes behind them may fail.
        let mut wanted = most;
        while !packed.is_full(most) {
            if let Some(row) = self.results.pop_front() {
                packed.push(&row);
            } else if let Some(fault) = self.fault.take() {
                return Err(fault);
            } else if let Some(mut input) = self.input.take() {
                if let Some(batch) = input.next_batch_of(read, wanted)? {
                    wanted = wanted.map(|wanted| wanted.saturating_mul(2));
                    let rows = (0..batch.len()).filter_map(|at| batch.get(at));
                    match self.run(read, Box::new(rows.map(|row| Ok(Row::from(row.to_vec()))))) {
                        Ok(()) => self.input = Some(input),
                        // The results before it come first.
                        Err(fault) if fault.class() == Class::Request => self.fault = Some(fault),
                        Err(fault) => return Err(fault),
                    }
                }
            } else {
                break;
            }
        }
        Ok((packed.len() > 0).then_some(packed))
    }
}

/// The documents of a `$sample` of so many of all of a collection, where they need not be looked for.
fn drawn(read: &dyn Read, find: &FindRequest, size: Option<u64>) -> Result<Option<Vec<Vec<u8>>>> {
    let Some(size) = size.filter(|_| find.query.is_everything() && find.skip == 0 && find.limit == 0) else {
        return Ok(None);
    };
    let named = &find.namespace;
    match read.catalog().collection(&named.database, &named.collection) {
        Some(collection) => sampled::drawn(read, collection, size, find.deadline),
        None => Ok(None),
    }
}

/// Adds rows to the results.
fn keep(rows: Rows<'_>, mut deadline: Deadline, results: &mut VecDeque<Vec<u8>>) -> Result<()> {
    for row in rows {
        deadline.tick()?;
        let row = row?;
        check_buildable(&row).map_err(|fault| fault.while_running(aggregate::IN_RUN))?;
        results.push_back(row.into_document());
    }
    Ok(())
}

/// All results of an aggregate at once.
pub(crate) fn rows(read: &dyn Read, request: &AggregateRequest) -> Result<Vec<Vec<u8>>> {
    let mut cursor = AggregateCursor::open(read, request)?;
    let mut rows = Vec::from(std::mem::take(&mut cursor.results));
    while let Some(batch) = cursor.next_batch(read)? {
        rows.extend((0..batch.len()).filter_map(|at| batch.get(at).map(<[u8]>::to_vec)));
    }
    Ok(rows)
}
