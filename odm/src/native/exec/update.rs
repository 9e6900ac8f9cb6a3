//! Update statements.

use super::super::catalog::Collection;
use super::super::document::{Doc, Owned};
use super::super::fault::{Fault, Result, code};
use super::super::matcher::Asked;
use super::super::storage::Write;
use super::record;
use super::search;
use super::series;
use super::statement::{Batch, Outcome, UpdateStatement};

/// Runs one update. Of many documents, those before an error stay changed, as on the server.
pub(crate) fn run(
    write: &mut dyn Write,
    batch: &Batch,
    collection: &Collection,
    statement: &UpdateStatement,
    index: usize,
    outcome: &mut Outcome,
) -> Result<()> {
    let series = collection.rules.series.as_deref();
    if let Some(series) = series {
        series::check_update(series, statement)?;
    }
    let own = &collection.rules.collation;
    let query = statement.query.by_default(own);
    let updater = statement.updater.by_default(statement.query.collation(), own);
    let (found, ended) = search::to_write(write, collection, &query, statement.multi, batch.deadline)?;
    if found.is_empty() {
        ended?;
        if statement.upsert {
            let updater = statement.supplied.as_ref().unwrap_or(&updater);
            let document = updater.upsert(
                Doc::Raw(&statement.filter),
                batch.now,
                statement.query.collation(),
            )?;
            record::insert(write, &batch.namespace, collection, &document)?;
            let id = Doc::Raw(&document).get("_id").map_or(Owned::Null, Owned::from);
            outcome.upserted.push((index, id));
        }
        return Ok(());
    }
    // A statement that a running transaction blocks must not have written before.
    for one in &found {
        write.claim(collection.records, &one.record.to_be_bytes())?;
    }
    // A statement that fails counts nothing, whatever it changed before.
    let (mut matched, mut modified) = (0, 0);
    let touched = updater.touched();
    let places = updater
        .needs_position()
        .then(|| query.matcher.places(Asked::ByKind));
    for one in &found {
        let matched_at = places
            .as_ref()
            .and_then(|places| places.at(Doc::Raw(&one.document)));
        let new = updater.apply(Doc::Raw(&one.document), matched_at, batch.now)?;
        if let Some(mut new) = new {
            if let Some(series) = series {
                new = series::in_order(series, &new);
                series.open.close(one.record);
            }
            check_id(&one.document, &new)?;
            record::update(
                write,
                &batch.namespace,
                collection,
                (one.record, &one.document, matched_at),
                &new,
                (&updater, touched.as_deref()),
            )?;
            modified += 1;
        }
        matched += 1;
    }
    ended?;
    outcome.matched += matched;
    outcome.modified += modified;
    Ok(())
}

/// Updates keep `_id`; the updater has checked already, this holds whatever it does.
pub(crate) fn check_id(old: &[u8], new: &[u8]) -> Result<()> {
    let (old, new) = (Doc::Raw(old).get("_id"), Doc::Raw(new).get("_id"));
    match (old, new) {
        (Some(old), Some(new)) if super::super::document::equal(&old, &new) => Ok(()),
        (None, None) => Ok(()),
        _ => Err(Fault::new(
            code::IMMUTABLE_FIELD,
            "Performing an update on the path '_id' would modify the immutable field '_id'",
        )),
    }
}
