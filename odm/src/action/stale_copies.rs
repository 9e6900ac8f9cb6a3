//! Finding copies that are not what their sources are.

use bson::{RawDocument, RawDocumentBuf, rawdoc};

use super::setters::runs;
use super::verify_relations::RepairReport;
use crate::backend::{BatchCursor, Operation, UpdateStatement};
use crate::collection::Target;
use crate::cursor::{documents, next_batch};
use crate::error::Result;
use crate::lifecycle::{Scope, narrow, write_copies};
use crate::relation::{DeclaredCopy, FoundCopy, StaleCopy, find_sources};
use crate::schema::ModelDescriptor;

/// How many documents are looked at together.
const BATCH: u32 = 500;

/// Looks for copies that differ from their sources, and for those whose source is not there: `.await` gives them,
/// [`repair`](StaleCopies::repair) makes them what their sources are.
///
/// The documents are read, and for each place that holds copies and 500 documents one query their sources. Only so
/// much is in memory at once, beside what `.await` gives.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct StaleCopies {
    model: &'static ModelDescriptor,
    target: Target,
    filter: Result<RawDocumentBuf>,
}

impl StaleCopies {
    pub(crate) fn new(
        model: &'static ModelDescriptor,
        target: &Target,
        filter: Result<RawDocumentBuf>,
    ) -> StaleCopies {
        StaleCopies {
            model,
            target: target.clone(),
            filter,
        }
    }

    /// Makes stale copies what their sources are. Each write says again which version it found, so that it never
    /// undoes what somebody else has written meanwhile, and a repair that was interrupted is simply started again.
    /// Copies whose source is not there are left.
    ///
    /// # Errors
    /// As any read and any write. What was repaired before stays repaired.
    pub async fn repair(self) -> Result<RepairReport> {
        let mut report = RepairReport::default();
        let mut reading = self.begin().await?;
        while let Some(found) = reading.next().await? {
            let mut statements: Vec<UpdateStatement> = Vec::new();
            for FoundCopy { copy, repair } in found {
                match copy.is_missing() {
                    true => report.left += 1,
                    false => report.repaired += 1,
                }
                statements.extend(repair);
            }
            write_copies(&reading.target, statements).await?;
        }
        Ok(report)
    }

    async fn run(self) -> Result<Vec<StaleCopy>> {
        let mut all = Vec::new();
        let mut reading = self.begin().await?;
        while let Some(found) = reading.next().await? {
            all.extend(found.into_iter().map(|found| found.copy));
        }
        Ok(all)
    }

    async fn begin(self) -> Result<Reading> {
        let target = self.target;
        if let Some(failure) = target.failure() {
            return Err(target.explain(failure, "find"));
        }
        let filter = self.filter.map_err(|error| target.explain(error, "find"))?;
        let places = self.model.copies();
        for place in places {
            // What another tenant has would be taken for gone.
            let reach = target.check_reach(place.copy.source);
            reach.map_err(|error| target.explain(error, "find"))?;
        }
        let mut reading = Reading {
            target,
            places,
            cursor: None,
        };
        if places.is_empty() {
            return Ok(reading);
        }
        let target = &reading.target;
        let mut find = find_sources(target, filter);
        find.batch_size = Some(BATCH);
        find.sort = Some(rawdoc! { "_id": 1 });
        let mut find = Operation::Find(find);
        if let Some(plan) = target.plan() {
            narrow(plan, &mut find, Scope::LIVING)?;
        }
        reading.cursor = Some(target.execute(find).await?.cursor()?);
        Ok(reading)
    }
}

/// The documents that are looked at.
struct Reading {
    target: Target,
    places: &'static [DeclaredCopy],
    /// None where there is nothing to be read.
    cursor: Option<Box<dyn BatchCursor>>,
}

impl Reading {
    /// What is stale in the next documents; nothing after the last.
    async fn next(&mut self) -> Result<Option<Vec<FoundCopy>>> {
        let Some(cursor) = &mut self.cursor else {
            return Ok(None);
        };
        let Some(batch) = next_batch(&self.target, "find", &mut **cursor).await? else {
            return Ok(None);
        };
        let documents: Vec<&RawDocument> = documents(&self.target, "find", &*batch).collect::<Result<_>>()?;
        let mut all = Vec::new();
        for place in self.places {
            all.extend(place.stale(&self.target, &documents).await?);
        }
        Ok(Some(all))
    }
}

runs!([] StaleCopies => Vec<StaleCopy>);
