//! How many documents a change would have to write.

use bson::RawDocumentBuf;

use super::setters::runs;
use crate::backend::{self, Operation, ReadOptions};
use crate::collection::Target;
use crate::error::Result;
use crate::lifecycle::{Scope, narrow, narrow_kind};
use crate::relation::{CopyKeys, DeclaredCopy, find_sources, read_sources};
use crate::schema::ModelDescriptor;

/// Counts the documents that hold copies of the matching ones: what a change of these would have to write.
///
/// Cost: one read of the matching documents, and one count for each place with copies.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct FanOut {
    model: &'static ModelDescriptor,
    target: Target,
    filter: Result<RawDocumentBuf>,
}

/// How many documents hold copies in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyFanOut {
    /// The model that holds the copies, by its Rust name.
    pub model: &'static str,
    /// Where in its documents they are: `lines.product`.
    pub path: String,
    /// How many of its documents hold a copy.
    pub documents: u64,
    /// Whether they wait for [`propagate_pending`](crate::Collection::propagate_pending).
    pub is_eventual: bool,
    /// Whether a declared index of the model finds them. Without one, every change reads its whole collection; copies
    /// in the values of a map cannot have one.
    pub is_indexed: bool,
}

impl FanOut {
    pub(crate) fn new(
        model: &'static ModelDescriptor,
        target: &Target,
        filter: Result<RawDocumentBuf>,
    ) -> FanOut {
        FanOut {
            model,
            target: target.clone(),
            filter,
        }
    }

    async fn run(self) -> Result<Vec<CopyFanOut>> {
        let target = &self.target;
        if let Some(failure) = target.failure() {
            return Err(target.explain(failure, "find"));
        }
        let places = self.model.copied();
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let filter = self.filter.map_err(|error| target.explain(error, "find"))?;
        let mut find = Operation::Find(find_sources(target, filter));
        if let Some(plan) = target.plan() {
            narrow(plan, &mut find, Scope::default())?;
        }
        let Operation::Find(find) = find else {
            return Ok(Vec::new());
        };
        let sources = read_sources(target, &places, find).await?.all()?;
        let mut all = Vec::with_capacity(places.len());
        for place in places {
            all.push(CopyFanOut {
                model: place.model.name,
                path: place.path.clone(),
                documents: count(place, target, &sources).await?,
                is_eventual: place.copy.is_eventual,
                is_indexed: place.is_indexed(),
            });
        }
        Ok(all)
    }
}

async fn count(place: &DeclaredCopy, target: &Target, sources: &[RawDocumentBuf]) -> Result<u64> {
    let mut keys = CopyKeys::default();
    for source in sources {
        if let Some(key) = place.key_of(source)? {
            keys.add(key.as_raw_bson_ref());
        }
    }
    let holder = (place.model.open)(target, None, place.model.collection)?;
    let mut documents = 0;
    for keys in keys.chunks() {
        let mut operation = Operation::Count(backend::Count {
            namespace: holder.namespace().clone(),
            filter: place.referring(keys)?,
            skip: 0,
            limit: 0,
            estimated: false,
            options: ReadOptions::default(),
        });
        if let Some(plan) = holder.plan() {
            narrow_kind(plan, &mut operation)?;
        }
        documents += holder.execute(operation).await?.count()?;
    }
    Ok(documents)
}

runs!([] FanOut => Vec<CopyFanOut>);
