//! The engine's answers and faults in the seam's words.

use bson::{Bson, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::super::document::Owned;
use super::super::document::doc::framed;
use super::super::engine;
use super::super::exec::statement::{Outcome, Statement};
use super::super::exec::statistics::Statistics;
use super::super::fault::{Class, Fault};
use crate::backend::{CheckProblem, CheckReport, CollectionStatistics, IndexStatistics, WriteResult};
use crate::error::{Error, ErrorKind};

/// What the engine found damaged, in the seam's words; of one database, or of all.
pub(super) fn check_report(report: engine::CheckReport, database: Option<&str>) -> CheckReport {
    let concerns = |namespace: &Option<String>| match (namespace, database) {
        (Some(namespace), Some(database)) => namespace.split('.').next() == Some(database),
        _ => true,
    };
    let problems = report
        .problems
        .into_iter()
        .filter(|problem| concerns(&problem.namespace))
        .map(|problem| CheckProblem::new(problem.namespace, problem.message))
        .collect();
    CheckReport::new(report.collections, report.records, report.index_entries, problems)
}

/// Figures in the seam's words.
pub(super) fn counted(found: Statistics) -> CollectionStatistics {
    let mut own = CollectionStatistics::default();
    own.collections = found.collections;
    own.views = found.views;
    own.documents = found.documents;
    own.size = found.size;
    own.storage_size = found.storage;
    own.index_size = found.indexes.iter().map(|(_, size)| size).sum();
    own.indexes = found
        .indexes
        .into_iter()
        .map(|(name, size)| IndexStatistics::new(name, size))
        .collect();
    if let Some((size, max)) = found.capped {
        own.capped_size = Some(size);
        own.capped_max = max;
    }
    own
}

/// The result of statements, in the seam's words.
pub(super) fn written(outcome: Outcome, statements: &[Statement], name: &'static str) -> WriteResult {
    let mut result = WriteResult::default();
    result.summary.inserted = outcome.inserted;
    result.summary.matched = outcome.matched;
    result.summary.modified = outcome.modified;
    result.summary.upserted = outcome.upserted.len() as u64;
    result.summary.deleted = outcome.deleted;
    result.upserted = outcome
        .upserted
        .into_iter()
        .map(|(index, id)| (index, raw_bson(&id)))
        .collect();
    result.errors = outcome
        .errors
        .into_iter()
        .map(|(index, fault)| {
            let error = translate(fault, name);
            let error = match statements.get(index) {
                Some(Statement::Insert { document, .. }) => with_key_in(error, document),
                _ => error,
            };
            (index, error)
        })
        .collect();
    result
}

/// A value as the seam's owned raw value.
pub(super) fn raw_bson(value: &Owned) -> RawBson {
    let mut bytes = Vec::new();
    framed(&mut bytes, |out| value.as_value().write_element(b"v", out));
    RawDocumentBuf::from_bytes(bytes)
        .ok()
        .and_then(|wrapped| wrapped.get("v").ok().flatten().map(|value| value.into()))
        .unwrap_or(RawBson::Null)
}

/// A fault of the engine with where it happened.
pub(super) fn located(
    fault: Fault,
    backend: &'static str,
    operation: &'static str,
    namespace: Option<String>,
) -> Error {
    let error = translate(fault, backend).with_operation(operation);
    match namespace {
        Some(namespace) => error.with_namespace(namespace),
        None => error,
    }
}

/// A fault of the engine, as the crate's error.
pub(super) fn translate(fault: Fault, backend: &'static str) -> Error {
    let kind = match fault.class() {
        Class::Request => ErrorKind::of_code(fault.code()),
        Class::Unsupported => ErrorKind::Unsupported,
        Class::Conflict | Class::Blocked => ErrorKind::Conflict,
        Class::Corrupt => ErrorKind::Corrupt,
        Class::Io => ErrorKind::Io,
        Class::InDoubt => ErrorKind::InDoubt,
        Class::Locked => ErrorKind::Locked,
        Class::Timeout => ErrorKind::Timeout,
    };
    let mut error = Error::new(kind, fault.message().to_owned())
        .with_code(fault.code())
        .with_backend(backend);
    for label in fault.labels() {
        error = error.with_label(*label);
    }
    let decode = |bytes: &[u8]| {
        RawDocument::from_bytes(bytes)
            .ok()
            .and_then(|raw| bson::Document::try_from(raw).ok())
            .unwrap_or_default()
    };
    if let Some(details) = fault.details() {
        error = error.with_details(decode(details));
    }
    if let Some(key) = fault.duplicate_key() {
        let (pattern, value) = (decode(&key.pattern), decode(&key.value));
        // What strings are sorted by says nothing to who reads it.
        let is_shown = key.collated.is_none() || !value.values().any(holds_text);
        error = error.with_index(key.index.clone());
        error = match is_shown {
            true => error.with_key(pattern, value),
            false => error.with_key_pattern(pattern),
        };
    }
    error
}

fn holds_text(value: &Bson) -> bool {
    matches!(
        value,
        Bson::String(_) | Bson::Symbol(_) | Bson::Document(_) | Bson::Array(_)
    )
}

/// With the key of a unique index, of which only the pattern is known, as the document has it.
fn with_key_in(error: Error, document: &[u8]) -> Error {
    let (Some(pattern), None) = (error.key_pattern().cloned(), error.key_value()) else {
        return error;
    };
    let Ok(document) = RawDocument::from_bytes(document) else {
        return error;
    };
    let value = pattern.keys().map(|path| (path.clone(), at(document, path)));
    let value = value.collect();
    error.with_key(pattern, value)
}

/// The value at a dotted path; null where there is none.
fn at(document: &RawDocument, path: &str) -> Bson {
    let (first, rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    match (document.get(first).ok().flatten(), rest) {
        (Some(RawBsonRef::Document(inner)), Some(rest)) => at(inner, rest),
        (Some(value), None) => Bson::try_from(value).unwrap_or(Bson::Null),
        _ => Bson::Null,
    }
}
