//! `aggregate` of a pipeline that begins with `$changeStream`.

use super::super::aggregate::stage::{CHANGE_STREAM, ChangeStream};
use super::super::document::{Doc, Value};
use super::super::exec::Namespace;
use super::super::exec::aggregate::{AggregateRequest, NO_COLLECTION};
use super::super::exec::watch::{
    After, Before, Scope, Setting, Start, WatchCursor, WatchRequest, check_watchable, stages,
};
use super::super::fault::{Fault, Result, code};
use super::super::storage::Read;
use super::cursor::{Opened, Rows};
use super::{Call, Job};

/// The options that ask for what is not logged here; version 1 of the stable interface does not have them either.
const NOT_LOGGED: [&str; 3] = [
    "showExpandedEvents",
    "showRawUpdateDescription",
    "showSystemEvents",
];

/// A change stream that is to be opened.
#[derive(Debug)]
pub(crate) struct Watching {
    namespace: Namespace,
    /// What is wrong with it is told when it is known that it is of a collection.
    request: Result<WatchRequest>,
    batch_size: Option<usize>,
}

/// Whether a pipeline reads changes.
pub(super) fn is_begun(stages: &[Doc<'_>]) -> bool {
    let first = stages.first().and_then(|stage| stage.elements().next());
    first.is_some_and(|first| first.name_str() == CHANGE_STREAM)
}

/// Parses a pipeline that begins so.
///
/// # Errors
/// Code 72 for a level of reading that is not `majority`. What else is wrong waits.
pub(super) fn open(call: &Call<'_>, request: &AggregateRequest, batch_size: Option<usize>) -> Result<Job> {
    check_concern(call)?;
    Ok(Job::Watch(Box::new(Watching {
        namespace: request.namespace.clone(),
        request: parse(request),
        batch_size,
    })))
}

/// Refuses what version 1 of MongoDB's stable interface does not have.
///
/// # Errors
/// Code 323.
pub(super) fn check_strict(spec: Doc<'_>) -> Result<()> {
    match NOT_LOGGED.into_iter().find(|name| spec.get(name).is_some()) {
        None => Ok(()),
        Some(name) => Err(Fault::new(
            323,
            format!("The '{name}' parameter to $changeStream is not supported in API Version 1"),
        )),
    }
}

fn check_concern(call: &Call<'_>) -> Result<()> {
    let concern = call.doc.get("readConcern");
    let concern = concern.as_ref().and_then(Value::as_document);
    match concern.and_then(|concern| concern.get("level")) {
        None | Some(Value::String("majority")) => Ok(()),
        Some(level) => {
            let level = level.as_str().unwrap_or_default();
            Err(super::aggregate::refused_concern(
                level,
                &format!(
                    "Aggregation stage $changeStream cannot run with a readConcern other than 'majority'. Current \
                     readConcern: {level}"
                ),
            ))
        }
    }
}

fn parse(request: &AggregateRequest) -> Result<WatchRequest> {
    let all: Vec<Doc<'_>> = request.stages.iter().map(|stage| Doc::Raw(stage)).collect();
    let first = all.first().and_then(|stage| stage.get(CHANGE_STREAM));
    let spec = ChangeStream::parse(&first.unwrap_or(Value::Null))?;
    let scope = scope(&spec, &request.namespace)?;
    check_here(&spec, &scope)?;
    scope.check_names()?;
    let start = Start::of(
        spec.part("resumeAfter"),
        spec.part("startAfter"),
        spec.timestamp("startAtOperationTime"),
    )?;
    let setting = Setting {
        variables: request.variables.clone(),
        collation: request.collation.clone().unwrap_or_default(),
        now: request.now,
        deadline: request.deadline,
    };
    Ok(WatchRequest {
        pipeline: stages(all.get(1..).unwrap_or_default(), &setting)?,
        scope,
        after: match spec.text("fullDocument") {
            Some("updateLookup") => After::Lookup,
            Some("whenAvailable") => After::WhenAvailable,
            Some("required") => After::Required,
            _ => After::Nothing,
        },
        before: match spec.text("fullDocumentBeforeChange") {
            Some("whenAvailable") => Before::WhenAvailable,
            Some("required") => Before::Required,
            _ => Before::Nothing,
        },
        start,
        batch_size: None,
        setting,
    })
}

fn scope(spec: &ChangeStream<'_>, namespace: &Namespace) -> Result<Scope> {
    let is_of_database = namespace.collection == NO_COLLECTION;
    match spec.flag("allChangesForCluster") {
        false if is_of_database => Ok(Scope::Database(namespace.database.clone())),
        false => Ok(Scope::Collection(namespace.clone())),
        true if is_of_database && namespace.database == "admin" => Ok(Scope::Everything),
        true => Err(Fault::new(
            code::INVALID_OPTIONS,
            format!(
                "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' database, and with \
                 no collection name; found {namespace}"
            ),
        )),
    }
}

/// Refuses to show what is not logged. Nothing migrates here: there are no events of that to show.
fn check_here(spec: &ChangeStream<'_>, scope: &Scope) -> Result<()> {
    let internal = ["allowToRunOnConfigDB", "allowToRunOnSystemNS"];
    let asked = |name: &&str| spec.flag(name);
    let of_internal = || {
        internal
            .into_iter()
            .find(asked)
            .filter(|_| scope.check_names().is_err())
    };
    match NOT_LOGGED.into_iter().find(asked).or_else(of_internal) {
        None => Ok(()),
        Some(name) => Err(Fault::unsupported(format!(
            "the embedded engine does not log what {name} of $changeStream asks for"
        ))),
    }
}

impl Watching {
    /// Says what is wrong with it.
    ///
    /// # Errors
    /// Code 166 for what is no collection, and before all else.
    pub(crate) fn check(&self, read: &dyn Read) -> Result<()> {
        check_watchable(read, &self.namespace)?;
        match &self.request {
            Ok(_) => Ok(()),
            Err(fault) => Err(fault.clone()),
        }
    }

    /// Finds the place to begin; changes are logged.
    ///
    /// # Errors
    /// Those of [`WatchCursor::open`].
    pub(crate) fn open(self, read: &dyn Read) -> Result<Opened> {
        let cursor = WatchCursor::open(read, self.request?)?;
        Ok(Opened {
            ns: self.namespace.to_string(),
            rows: Rows::Changes(Box::new(cursor)),
            batch_size: self.batch_size,
            single: false,
            listing: false,
            stays: false,
        })
    }
}
