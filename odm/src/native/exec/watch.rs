//! Reading the log of changes as a change stream.

mod event;
mod token;

use std::ops::{Bound, ControlFlow};

use super::super::aggregate::expression;
use super::super::aggregate::pipeline::{self, IN_RUN, NOT_OPTIMIZED, Pipeline, Rows};
use super::super::aggregate::stage::{self, CHANGE_STREAM, READS_CHANGES, Stage};
use super::super::aggregate::{Names, Row, print};
use super::super::collation::Collation;
use super::super::document::{Doc, Owned, Value, equal};
use super::super::fault::{Class, Fault, Result, code};
use super::super::metadata::Wanted;
use super::super::storage::format::{self, ChangeKey, LogHead};
use super::super::storage::{Read, TreeId};
use super::cursor::Packed;
use super::{Deadline, Namespace, check_database, view};

use self::event::Change;
pub(crate) use self::token::{Place, Point};

/// What is watched.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    Collection(Namespace),
    Database(String),
    Everything,
}

/// How an update's event gets the document after the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Nothing,
    Lookup,
    WhenAvailable,
    Required,
}

/// How an event gets the document before the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    WhenAvailable,
    Required,
}

/// Where a stream begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    Now,
    /// After this point; with `invalidated`, also after the end of a stream.
    After {
        point: Point,
        invalidated: bool,
    },
    /// Seconds and increment of the first commit.
    At(u32, u32),
}

impl Start {
    /// What the options say, of which there may be one.
    ///
    /// # Errors
    /// 50865 and 40674 for more than one; those of tokens.
    pub(crate) fn of(
        resume_after: Option<Doc<'_>>,
        start_after: Option<Doc<'_>>,
        at: Option<(u32, u32)>,
    ) -> Result<Start> {
        match (resume_after, start_after, at) {
            (Some(_), Some(_), _) => Err(Fault::new(
                50865,
                "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage",
            )),
            (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => Err(Fault::new(
                40674,
                "Only one type of resume option is allowed, but multiple were found",
            )),
            (Some(token), None, None) => Ok(Start::After {
                point: Point::parse(token)?,
                invalidated: false,
            }),
            (None, Some(token), None) => Ok(Start::After {
                point: Point::parse(token)?,
                invalidated: true,
            }),
            (None, None, Some((seconds, increment))) => Ok(Start::At(seconds, increment)),
            (None, None, None) => Ok(Start::Now),
        }
    }
}

/// What a watch asks for, parsed.
#[derive(Clone, Debug)]
pub(crate) struct WatchRequest {
    pub(crate) scope: Scope,
    pub(crate) pipeline: Pipeline,
    pub(crate) after: After,
    pub(crate) before: Before,
    pub(crate) start: Start,
    pub(crate) batch_size: Option<u32>,
    pub(crate) setting: Setting,
}

/// What the stages of a stream are given.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) variables: Vec<(String, Option<Owned>)>,
    pub(crate) collation: Collation,
    /// When the stream was opened: milliseconds since the epoch.
    pub(crate) now: i64,
    pub(crate) deadline: Deadline,
}

impl Setting {
    /// That of a stream of which no more is said.
    pub(crate) fn at(now: i64) -> Setting {
        Setting {
            variables: Vec::new(),
            collation: Collation::default(),
            now,
            deadline: Deadline::default(),
        }
    }
}

/// How many changes one batch looks at, so that a reader of few among many gives way to others.
const EXAMINED: usize = 4_096;

/// The stages that a change stream may have.
const STAGES: &[&str] = &[
    "$match",
    "$project",
    "$addFields",
    "$set",
    "$unset",
    "$replaceRoot",
    "$replaceWith",
    "$redact",
];

/// Parses the stages; those that a change stream may not have are refused (20).
pub(crate) fn stages(stages: &[Doc<'_>], setting: &Setting) -> Result<Pipeline> {
    let names: Vec<String> = setting.variables.iter().map(|(name, _)| name.clone()).collect();
    let known = expression::Scope {
        variables: setting.variables.clone(),
        collation: setting.collation.clone(),
        ..expression::Scope::new(Doc::empty(), setting.now)
    };
    let names = Names::known(&names, Some(&known));
    let parsed = Pipeline::parse_with(stages, &names);
    for stage in stages {
        let Some(element) = stage.elements().next() else {
            continue;
        };
        if element.name_str() == CHANGE_STREAM && parsed.as_ref().is_err_and(is_of_stage) {
            return Err(stage::only_first(READS_CHANGES));
        }
        let Some(refused) = refused(element.name_str(), &element.value(), &names) else {
            continue;
        };
        // What is wrong with a stage itself comes first.
        if parsed.as_ref().err().is_none_or(is_of_stage) {
            return Err(Fault::new(
                code::ILLEGAL_OPERATION,
                format!("{refused} is not permitted in a $changeStream pipeline"),
            ));
        }
    }
    let mut pipeline = parsed?;
    pipeline.refuse_text()?;
    // A server comes by them twice, and says so.
    pipeline
        .settle(&known)
        .map_err(|fault| fault.prefixed(NOT_OPTIMIZED))?;
    Ok(pipeline)
}

/// Whether it is told of a stage alone that it is not here.
fn is_of_stage(fault: &Fault) -> bool {
    fault.class() == Class::Unsupported
}

/// What the server calls the stage that a change stream may not have, or that part of it.
fn refused<'a>(name: &'a str, value: &Value<'_>, names: &Names<'_>) -> Option<&'a str> {
    match name {
        "$count" | "$bucket" | "$sortByCount" => Some("$group"),
        "$setWindowFields" | "$fill" | "$densify" => match Stage::parse(name, value, names) {
            Ok(stage) => stage.made_of_sorts_and_windows(),
            Err(_) => Some(name),
        },
        name if STAGES.contains(&name) => None,
        name => Some(name),
    }
}

impl Scope {
    /// Refuses what is not watched, whatever there is.
    ///
    /// # Errors
    /// Code 73.
    pub(crate) fn check_names(&self) -> Result<()> {
        let internal = |what: String| {
            Err(Fault::new(
                code::INVALID_NAMESPACE,
                format!("$changeStream may not be opened on the internal {what}"),
            ))
        };
        let database = match self {
            Scope::Everything => return Ok(()),
            Scope::Database(database) => database,
            Scope::Collection(ns) => &ns.database,
        };
        check_database(database)?;
        if matches!(database.as_str(), "admin" | "local" | "config") {
            return internal(format!("{database} database"));
        }
        let Scope::Collection(ns) = self else {
            return Ok(());
        };
        ns.check()?;
        if ns.collection.starts_with("system.") {
            return internal(format!("{ns} collection"));
        }
        Ok(())
    }

    /// Checks names, and that there are changes to be had.
    fn check(&self, read: &dyn Read) -> Result<()> {
        self.check_names()?;
        match self {
            Scope::Collection(ns) => check_watchable(read, ns),
            Scope::Database(_) | Scope::Everything => Ok(()),
        }
    }

    /// Whether a change is among those watched.
    fn covers(&self, change: &Change<'_>) -> bool {
        match self {
            Scope::Everything => !change.is_internal(),
            Scope::Database(database) => change.is_in(database, None) && !change.is_internal(),
            Scope::Collection(ns) => {
                change.is_in(&ns.database, Some(&ns.collection))
                    || change.goes_to(&ns.database, &ns.collection)
            }
        }
    }

    /// Whether the stream ends with a change that it covers.
    fn ends_with(&self, change: &Change<'_>) -> bool {
        match self {
            Scope::Everything => false,
            Scope::Database(_) => change.kind() == "dropDatabase",
            Scope::Collection(_) => matches!(change.kind(), "drop" | "rename"),
        }
    }
}

/// Refuses what has no changes of its own.
///
/// # Errors
/// Code 166.
pub(crate) fn check_watchable(read: &dyn Read, ns: &Namespace) -> Result<()> {
    view::refuse(read.catalog(), ns)
}

/// A change stream: a place in the log.
#[derive(Debug)]
pub(crate) struct WatchCursor {
    request: WatchRequest,
    log: [u8; 8],
    point: Point,
    over: bool,
}

impl WatchCursor {
    /// Finds the place to begin; the log has begun.
    ///
    /// # Errors
    /// Code 286 when the log does not reach back so far, 280 when the point is not in it, 260 after the end of
    /// another stream.
    pub(crate) fn open(read: &dyn Read, request: WatchRequest) -> Result<WatchCursor> {
        request.scope.check(read)?;
        let head = head(read)?;
        let point = match request.start {
            Start::Now => Point {
                place: Place::Past,
                ..last(read, &head)?
            },
            Start::At(seconds, increment) => {
                let first = ChangeKey {
                    seconds,
                    increment,
                    position: 0,
                };
                if first <= head.floor {
                    return Err(history_lost());
                }
                Point {
                    key: before(first),
                    place: Place::Past,
                    log: head.id,
                }
            }
            Start::After { point, invalidated } => {
                if point.log != head.id {
                    return Err(not_found(&point));
                }
                if point.place == Place::Invalidate && !invalidated {
                    return Err(Fault::new(
                        260,
                        "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate \
                         notification",
                    ));
                }
                if point.key < head.floor {
                    return Err(history_lost());
                }
                point
            }
        };
        let mut cursor = WatchCursor {
            log: head.id,
            request,
            point,
            over: false,
        };
        if point.place == Place::Change && point.key > head.floor {
            cursor.look_again(read)?;
        }
        Ok(cursor)
    }

    /// Looks at the change after which the stream goes on: it may have ended the one before.
    fn look_again(&mut self, read: &dyn Read) -> Result<()> {
        let key = self.point.key.to_bytes();
        let Some(stored) = read.get(TreeId::CHANGES, &key)? else {
            return Err(not_found(&self.point));
        };
        let (key, stored) = format::unseal_change(&key, &stored)?;
        let change = Change::new(key, stored);
        if !(self.request.scope.covers(&change) && self.request.scope.ends_with(&change)) {
            self.point.place = Place::Past;
        }
        Ok(())
    }

    /// Where the stream is: what to begin after to miss nothing and to get nothing twice.
    pub(crate) fn token(&self) -> Vec<u8> {
        self.point.token()
    }

    /// Whether the stream has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// The next events; none when there are none now, or `more` is to be looked at.
    ///
    /// # Errors
    /// Code 286 when changes were removed that were not read yet; those of the pipeline and of images.
    pub(crate) fn next_batch(&mut self, read: &dyn Read) -> Result<Events> {
        let most = self.request.batch_size.filter(|size| *size > 0).unwrap_or(1_000);
        self.next_batch_of(read, Some(most as usize))
    }

    /// The same, about so many.
    pub(crate) fn next_batch_of(&mut self, read: &dyn Read, most: Option<usize>) -> Result<Events> {
        self.request.setting.deadline.resume();
        let events = self.read_batch(read, most);
        self.request.setting.deadline.pause();
        events.map_err(|fault| fault.while_running(IN_RUN))
    }

    fn read_batch(&mut self, read: &dyn Read, most: Option<usize>) -> Result<Events> {
        let mut events = Events::default();
        if self.over {
            return Ok(events);
        }
        if self.point.place == Place::Change {
            let key = self.point.key.to_bytes();
            let stored = read.get(TreeId::CHANGES, &key)?.ok_or_else(history_lost)?;
            let (key, stored) = format::unseal_change(&key, &stored)?;
            self.invalidate(&Change::new(key, stored), &mut events)?;
            return Ok(events);
        }
        if self.point.key < head(read)?.floor {
            return Err(history_lost());
        }
        let from = self.point.key.to_bytes();
        let mut deadline = self.request.setting.deadline;
        let mut examined = 0;
        let range = (Bound::Excluded(&from[..]), Bound::Unbounded);
        read.scan(TreeId::CHANGES, range, false, &mut |key, stored| {
            deadline.tick()?;
            if events.batch.is_full(most) || examined == EXAMINED {
                events.more = true;
                return Ok(ControlFlow::Break(()));
            }
            examined += 1;
            let (key, stored) = format::unseal_change(key, stored)?;
            let change = Change::new(key, stored);
            self.point = Point {
                key,
                place: Place::Past,
                log: self.log,
            };
            if !self.request.scope.covers(&change) {
                return Ok(ControlFlow::Continue(()));
            }
            let token = Point {
                place: Place::Change,
                ..self.point
            }
            .token();
            let event = change.event(read, &token, self.request.after, self.request.before)?;
            self.give(event, &token, &mut events)?;
            if self.request.scope.ends_with(&change) {
                self.invalidate(&change, &mut events)?;
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(events)
    }

    fn invalidate(&mut self, change: &Change<'_>, events: &mut Events) -> Result<()> {
        self.point = Point {
            key: change.key(),
            place: Place::Invalidate,
            log: self.log,
        };
        let token = self.point.token();
        self.over = true;
        self.give(change.invalidate(&token), &token, events)
    }

    /// Runs an event through the pipeline, which must leave its `_id` alone.
    fn give(&self, event: Vec<u8>, token: &[u8], events: &mut Events) -> Result<()> {
        if self.request.pipeline.len() == 0 {
            events.batch.push(&event);
            return Ok(());
        }
        let setting = &self.request.setting;
        let context = pipeline::Context {
            source: &NoSource,
            variables: setting.variables.clone(),
            now: setting.now,
            memory: pipeline::Memory::Usual,
            collation: setting.collation.clone(),
            wanted: Wanted::default(),
        };
        let input: Rows<'_> = Box::new(std::iter::once(Ok(Row::from(event))));
        for row in self.request.pipeline.run(input, &context)? {
            let row = row?;
            let expected = Value::Document(Doc::Raw(token));
            let id = Doc::Raw(&row).get("_id");
            if !id.is_some_and(|id| equal(&id, &expected)) {
                return Err(identity_changed(&expected, id.as_ref()));
            }
            events.batch.push(&row);
        }
        Ok(())
    }
}

/// What a reading of the log gave.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) batch: Packed,
    /// Whether there is more to look at now.
    pub(crate) more: bool,
}

/// No stage of a change stream reads a collection.
struct NoSource;

impl pipeline::Source for NoSource {
    fn find<'a>(&'a self, _collection: &str, _asked: pipeline::Asked<'_>) -> Result<(Rows<'a>, usize)> {
        Ok((Box::new(std::iter::empty()), 0))
    }
}

fn head(read: &dyn Read) -> Result<LogHead> {
    match read.get(TreeId::CHANGES, LogHead::KEY)? {
        Some(stored) => LogHead::unseal(&stored),
        None => Err(history_lost()),
    }
}

/// The last change of this state.
fn last(read: &dyn Read, head: &LogHead) -> Result<Point> {
    let mut key = head.floor.max(head.last);
    let changes = (Bound::Excluded(LogHead::KEY), Bound::Unbounded);
    read.scan(TreeId::CHANGES, changes, true, &mut |found, _| {
        key = ChangeKey::from_bytes(found).map_or(key, |found| found.max(key));
        Ok(ControlFlow::Break(()))
    })?;
    Ok(Point {
        key,
        place: Place::Past,
        log: head.id,
    })
}

/// The key before the first of a commit.
fn before(first: ChangeKey) -> ChangeKey {
    let (seconds, increment) = match first.increment.checked_sub(1) {
        Some(increment) => (first.seconds, increment),
        None => (first.seconds.saturating_sub(1), u32::MAX),
    };
    ChangeKey {
        seconds,
        increment,
        position: u32::MAX,
    }
}

/// The label of errors after which a stream cannot go on where it was.
const NOT_RESUMABLE: &str = "NonResumableChangeStreamError";

fn history_lost() -> Fault {
    const CHANGE_STREAM_HISTORY_LOST: i32 = 286;
    Fault::new(
        CHANGE_STREAM_HISTORY_LOST,
        "Resume of change stream was not possible, as the resume point may no longer be in the oplog.",
    )
    .while_running(IN_RUN)
    .labelled(NOT_RESUMABLE)
}

const CHANGE_STREAM_FATAL: i32 = 280;

fn not_found(point: &Point) -> Fault {
    let token = point.token();
    Fault::new(
        CHANGE_STREAM_FATAL,
        format!(
            "cannot resume stream; the resume token was not found. {}",
            print::value(&Value::Document(Doc::Raw(&token)))
        ),
    )
    .while_running(IN_RUN)
    .labelled(NOT_RESUMABLE)
}

fn identity_changed(expected: &Value<'_>, found: Option<&Value<'_>>) -> Fault {
    let found = found.map_or_else(|| "{}".to_owned(), |id| format!("{{ _id: {id} }}"));
    Fault::new(
        CHANGE_STREAM_FATAL,
        format!(
            "Encountered an event whose _id field, which contains the resume token, was modified by the pipeline. \
             Modifying the _id field of an event makes it impossible to resume the stream from that point. Only \
             transformations that retain the unmodified _id field are allowed. Expected: {{ _id: {expected} }} but \
             found: {found}"
        ),
    )
    .labelled(NOT_RESUMABLE)
}
