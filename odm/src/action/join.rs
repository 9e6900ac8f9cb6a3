//! Finding documents joined with what they refer to.

use std::fmt;

use bson::{RawDocument, RawDocumentBuf, rawdoc};

use super::setters::{loads_more, runs};
use super::{Draft, Find};
use crate::backend::{self, Operation};
use crate::collection::Target;
use crate::cursor::{self, Decode};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::relation::{
    DOCUMENT, Joinable, Joining, Loads, Plan, With, declared_collation, said_collation, with_needed,
};

/// Finds documents joined with what belongs to them: as [`Load`](super::Load), by one pipeline with a `$lookup` for
/// each relation.
///
/// Round trips: one per batch for all together. The targets come once for each document that refers to them, and a
/// document with all that is joined to it must fit 16 MB. Same database only; on a sharded cluster as `$lookup` allows.
#[must_use = "an action does nothing until it is awaited"]
pub struct Join<M, P, L> {
    find: Find<M, P>,
    relations: L,
}

impl<M: Model, P, L> Join<M, P, L> {
    pub(super) fn new(find: Find<M, P>, relations: L) -> Join<M, P, L> {
        Join { find, relations }
    }
}

loads_more!(Join, find, Joinable, join, join_with, "Joins");

impl<M: Model, P: Send + 'static, L: Loads<M>> Join<M, P, L> {
    async fn run(self) -> Result<Vec<L::Row<P>>> {
        let decode = self.find.decode();
        let mut draft = self.find.into_draft().settled().await?;
        let plan = draft.keep(self.relations.plan());
        let said = draft.operation.options.collation.as_ref().map(said_collation);
        let joining = Joining {
            collation: match said.transpose() {
                Ok(said) => said.unwrap_or_else(|| declared_collation(M::DESCRIPTOR)),
                Err(error) => draft.keep(Err(error)),
            },
        };
        let (target, operation) = pipeline(draft, &joining, plan.as_ref())?;
        // Without a plan the draft has failed.
        let Some(plan) = plan else { return Ok(Vec::new()) };
        let mut cursor = target.execute(operation).await?.cursor()?;
        let mut rows = Vec::new();
        while let Some(batch) = cursor::next_batch(&target, "aggregate", &mut *cursor).await? {
            for document in cursor::documents(&target, "aggregate", &*batch) {
                let row = row::<M, P, L>(&self.relations, decode, &joining, &plan, &target, document?);
                rows.push(row.map_err(|error| target.explain(error, "aggregate"))?);
            }
        }
        Ok(rows)
    }
}

fn row<M: Model, P: Send, L: Loads<M>>(
    relations: &L,
    decode: Decode<P>,
    joining: &Joining,
    plan: &Plan,
    target: &Target,
    document: &RawDocument,
) -> Result<L::Row<P>> {
    let stored = document.get_document(DOCUMENT).map_err(|error| {
        Error::new(ErrorKind::Corrupt, "the stored document is malformed").with_source(error)
    })?;
    let shelf = joining.joined(plan, target, stored, document)?;
    relations.row(decode(stored)?, &shelf, stored)
}

/// The find as a pipeline, with the stages that join.
fn pipeline(
    draft: Draft<backend::Find>,
    joining: &Joining,
    plan: Option<&Plan>,
) -> Result<(Target, Operation)> {
    let mut draft = draft;
    let target = draft.target.clone();
    let joins = plan.map(|plan| joining.stages(plan, &target));
    let joins = joins.and_then(|joins| draft.keep(joins)).unwrap_or_default();
    let mut needed = Vec::new();
    if let Some(plan) = plan {
        plan.needs(&mut needed);
    }
    let projection = draft.operation.projection.take();
    let projection = draft.keep(with_needed(projection, &needed)).flatten();
    let aggregate = draft.map(|find| {
        let mut pipeline: Vec<RawDocumentBuf> = vec![rawdoc! { "$match": find.filter }];
        pipeline.extend(find.sort.map(|sort| rawdoc! { "$sort": sort }));
        if find.skip > 0 {
            pipeline.push(rawdoc! { "$skip": i64::try_from(find.skip).unwrap_or(i64::MAX) });
        }
        if find.limit > 0 {
            pipeline.push(rawdoc! { "$limit": i64::try_from(find.limit).unwrap_or(i64::MAX) });
        }
        pipeline.extend(projection.map(|projection| rawdoc! { "$project": projection }));
        pipeline.extend(joins);
        backend::Aggregate {
            namespace: find.namespace,
            pipeline,
            batch_size: find.batch_size,
            allow_disk_use: false,
            options: find.options,
        }
    });
    aggregate.ready()
}

runs!([M: Model, P: Send + 'static, L: Loads<M>] Join<M, P, L> => Vec<L::Row<P>>);

impl<M, P, L> fmt::Debug for Join<M, P, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Join").field(&self.find).finish()
    }
}
