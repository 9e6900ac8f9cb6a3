//! The request of a find.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::super::collation::Collation;
use super::super::super::fault::{Fault, Result};
use super::super::super::matcher::{Asked, Places};
use super::super::super::projection::Projection;
use super::super::super::storage::Read;
use super::super::query::Query;
use super::super::tail::Tail;
use super::super::{Deadline, Namespace, series};

/// What a find asks for.
#[derive(Clone, Debug)]
pub(crate) struct FindRequest {
    pub(crate) namespace: Namespace,
    pub(crate) query: Query,
    pub(crate) projection: Option<Arc<Projection>>,
    pub(crate) skip: u64,
    /// 0 is no limit.
    pub(crate) limit: u64,
    pub(crate) batch_size: Option<u32>,
    /// Whether the cursor waits at the end of a capped collection for more.
    pub(crate) tail: Option<Tail>,
    pub(crate) extras: Extras,
    pub(crate) deadline: Deadline,
}

/// What is asked of each document beside its fields.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extras {
    /// In place of the document the key of the index by which it was found.
    pub(crate) return_key: bool,
    /// The record's id, in a field of its own.
    pub(crate) record_id: bool,
    /// Whether what is put in order is to be held in the memory that there is for it.
    pub(crate) in_memory: bool,
    /// Another option that only cursors of collections have.
    pub(crate) of_collections: Option<&'static str>,
}

/// The field of a record's id.
pub(crate) const RECORD_ID: &str = "$recordId";

impl Extras {
    /// Refuses what only a collection answers.
    ///
    /// # Errors
    /// Code 168.
    pub(crate) fn refuse_on_view(self, query: &Query) -> Result<()> {
        let refused = match (query.edges(), self.return_key, self.record_id) {
            (Some(edges), _, _) => edges.name(),
            (None, true, _) => "returnKey",
            (None, false, true) => "showRecordId",
            (None, false, false) => match self.of_collections {
                Some(name) => name,
                None => return Ok(()),
            },
        };
        Err(Fault::new(
            168,
            format!("Option {refused} not supported in aggregation."),
        ))
    }
}

/// How many documents the first batch carries when nobody says: few, as the server's.
const FIRST_BATCH: usize = 101;

impl FindRequest {
    /// How many documents a batch carries at most that comes behind so many.
    pub(in super::super) fn most_of_batch(&self, batches: u64) -> Option<usize> {
        match self.batch_size {
            Some(0) | None => (batches == 0).then_some(FIRST_BATCH),
            Some(size) => usize::try_from(size).ok(),
        }
    }

    /// What tells where documents match, if the projection needs it.
    pub(in super::super) fn places(&self) -> Option<Places> {
        let projection = self.projection.as_ref()?;
        let matcher = &self.query.matcher;
        projection
            .needs_position()
            .then(|| matcher.places(Asked::AsWritten))
    }

    /// Orders what the projection leaves, where that has all that the order goes by: as a server does where the projection does
    /// no more than that, or the find is a pipeline.
    pub(super) fn order_what_is_left(&mut self, read: &dyn Read, is_piped: bool) {
        let Some(projection) = self
            .projection
            .as_ref()
            .filter(|own| is_piped || own.kept().is_some())
        else {
            return;
        };
        if let (Some(needs), Some(sort)) = (projection.needs(), &self.query.sort)
            && self.limit == 0
            && !self.extras.record_id
            && sort.is_within(&needs)
            && !series::has_series(read.catalog(), &self.namespace)
        {
            self.query.sort = Some(sort.clone().of_left(&needs));
        }
    }

    /// Compares strings as what it reads does, unless it says how.
    ///
    /// # Errors
    /// What is wrong with the constants of expressions.
    pub(in super::super) fn settle(&mut self, own: &Collation) -> Result<()> {
        if let Cow::Owned(query) = self.query.settled_by(own)? {
            self.query = query;
        }
        if let Some(projection) = &mut self.projection
            && let Cow::Owned(settled) =
                projection.settled(self.query.collation_in(own), self.query.matcher.variables())?
        {
            *projection = Arc::new(settled);
        }
        Ok(())
    }
}
