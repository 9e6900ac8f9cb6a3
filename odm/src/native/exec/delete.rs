//! Delete statements.

use super::super::catalog::Collection;
use super::super::fault::Result;
use super::super::storage::Write;
use super::record;
use super::search;
use super::series;
use super::statement::{Batch, DeleteStatement, Outcome};

/// Runs one deletion. Of many documents, those before an error stay removed, as on the server.
pub(crate) fn run(
    write: &mut dyn Write,
    batch: &Batch,
    collection: &Collection,
    statement: &DeleteStatement,
    outcome: &mut Outcome,
) -> Result<()> {
    let series = collection.rules.series.as_deref();
    if let Some(series) = series {
        series::check_delete(series, statement)?;
    }
    let query = statement.query.by_default(&collection.rules.collation);
    let (found, ended) = search::to_write(write, collection, &query, statement.multi, batch.deadline)?;
    for one in &found {
        write.claim(collection.records, &one.record.to_be_bytes())?;
    }
    for one in &found {
        record::remove(write, collection, one.record, &one.document)?;
        if let Some(series) = series {
            series.open.close(one.record);
        }
    }
    // A statement that fails counts nothing, whatever it removed before.
    ended?;
    outcome.deleted += found.len() as u64;
    Ok(())
}
