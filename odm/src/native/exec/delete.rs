//! Delete statements.

use super::super::catalog::Collection;
use super::super::fault::Result;
use super::super::storage::Write;
use super::record;
use super::search::{self, Limits};
use super::series;
use super::statement::{Batch, DeleteStatement, Outcome};

/// Runs one deletion.
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
    let plan = query.plan(collection, (!statement.multi).then_some(1))?;
    let limits = Limits {
        skip: 0,
        limit: (!statement.multi).then_some(1),
    };
    let (found, _) = search::all(write, collection, &query, &plan, limits, batch.deadline)?;
    for one in &found {
        write.claim(collection.records, &one.record.to_be_bytes())?;
    }
    for one in &found {
        record::remove(write, collection, one.record, &one.document)?;
        if let Some(series) = series {
            series.open.close(one.record);
        }
        outcome.deleted += 1;
    }
    Ok(())
}
