//! Exact counts.

use super::super::aggregate::pipeline::text_not_first;
use super::super::fault::Result;
use super::super::needs::Needs;
use super::super::storage::Read;
use super::query::Query;
use super::search;
use super::view::{self, Through};
use super::walk::{Flow, Walk};
use super::{Deadline, Namespace};

/// Counts the documents of a query behind `skip`, up to `limit` (0 is no limit). Where the plan's bounds are exact
/// no document is read.
pub(crate) fn count(
    read: &dyn Read,
    ns: &Namespace,
    query: &Query,
    skip: u64,
    limit: u64,
    deadline: Deadline,
) -> Result<u64> {
    if query.searches_text() && view::view_of(read.catalog(), ns).is_some() {
        let own = view::collation_asked(read.catalog(), ns, query.collation())?;
        let resolved = view::resolve(read.catalog(), ns)?;
        if !resolved.stages.is_empty() {
            return Err(text_not_first());
        }
        let query = query.by_default(&own);
        return on_collection(read, &resolved.base, &query, (skip, limit), deadline);
    }
    match view::through(read, ns, query, None, (skip, limit), (deadline, true))? {
        Some(Through::Query(base, merged)) => on_collection(read, &base, &merged, (skip, limit), deadline),
        Some(Through::Rows(rows)) => Ok(rows.len() as u64),
        None => on_collection(read, ns, query, (skip, limit), deadline),
    }
}

/// How many documents are counted.
fn most(skip: u64, limit: u64) -> u64 {
    match limit {
        0 => u64::MAX,
        limit => skip.saturating_add(limit),
    }
}

/// The same of what is known to be no view.
pub(super) fn on_collection(
    read: &dyn Read,
    ns: &Namespace,
    query: &Query,
    (skip, limit): (u64, u64),
    deadline: Deadline,
) -> Result<u64> {
    let most = most(skip, limit);
    if let Some(rows) = view::list::found(read.catalog(), ns, query)? {
        return Ok((rows.len() as u64).min(most).saturating_sub(skip));
    }
    let Some(collection) = read.catalog().collection(&ns.database, &ns.collection) else {
        query.check_count_without_collection()?;
        return Ok(0);
    };
    let query = query.by_default(&collection.rules.collation);
    // Beside the filter nothing is asked of documents.
    let query = &query.settled()?.into_owned().needing(Some(Needs::default()));
    if query.is_everything() {
        return Ok(read.entries(collection.records)?.min(most).saturating_sub(skip));
    }
    let plan = query.plan(read, collection, (most < u64::MAX).then_some(most), deadline)?;
    let mut walk = Walk::new(&plan, collection, deadline);
    let mut count = 0u64;
    if plan.covered_count {
        count = walk.count(read, collection, most)?;
    } else {
        let walked = walk.documents(read, collection, &mut |_, document| {
            if search::test(query, &plan, document)? {
                count += 1;
            }
            Ok(if count >= most { Flow::Stop } else { Flow::Continue })
        });
        walked.map_err(|fault| query.in_run(fault))?;
    }
    Ok(count.min(most).saturating_sub(skip))
}
