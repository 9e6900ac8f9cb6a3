//! Loading what documents in memory refer to.

use std::fmt;
use std::marker::PhantomData;

use bson::{RawDocument, RawDocumentBuf};

use super::setters::runs;
use crate::backend::ReadOptions;
use crate::collection::{Record, Target};
use crate::error::Result;
use crate::model::Model;
use crate::relation::Relation;

/// Loads what belongs to documents in memory: `.await` gives a list in their order. One query for each relation.
#[must_use = "an action does nothing until it is awaited"]
pub struct LoadStored<M, L> {
    target: Target,
    documents: Result<Vec<RawDocumentBuf>>,
    relation: L,
    marker: PhantomData<fn() -> M>,
}

impl<M: Model, L: Relation<M>> LoadStored<M, L> {
    pub(crate) fn new(target: &Target, documents: &[M], relation: L) -> LoadStored<M, L> {
        LoadStored {
            target: target.clone(),
            documents: documents.iter().map(Record::encode).collect(),
            relation,
            marker: PhantomData,
        }
    }

    async fn run(self) -> Result<Vec<L::Output>> {
        let target = &self.target;
        let explain = |error| target.explain(error, "find");
        if let Some(failure) = target.failure() {
            return Err(explain(failure));
        }
        let documents = self.documents.map_err(explain)?;
        let documents: Vec<&RawDocument> = documents.iter().map(AsRef::as_ref).collect();
        let plan = self.relation.plan().map_err(explain)?;
        let shelf = plan
            .fetch(target, &documents, &ReadOptions::default())
            .await
            .map_err(explain)?;
        let loaded = documents
            .iter()
            .map(|document| self.relation.take(&shelf, document));
        loaded.collect::<Result<_>>().map_err(explain)
    }
}

runs!([M: Model, L: Relation<M>] LoadStored<M, L> => Vec<L::Output>);

impl<M, L> fmt::Debug for LoadStored<M, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadStored")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
