//! Asks the target whether it can have what is to be copied, before anything is.

use super::create_indexes;
use super::plan::{Planned, Step};
use crate::backend;
use crate::codec::encode_untyped;
use crate::collection::Target;
use crate::db::Db;
use crate::error::Result;

/// The collection that is created, indexed and dropped again; never copied.
pub(super) const NAME: &str = "odm.copying";

/// Makes an empty collection like each that is to be copied, but for plain ones, and those that the target has.
///
/// # Errors
/// What the target cannot have, naming the collection to be copied.
pub(super) async fn run(target: &Db, plan: &[Planned]) -> Result<()> {
    let trial = Target::untyped(target, NAME);
    let mut is_clean = false;
    for planned in plan {
        let is_known = match &planned.step {
            Step::Leave => true,
            Step::Fill(present) => planned.indexes.iter().all(|index| present.has(index)),
            Step::Create | Step::Replace => planned.source.options.is_empty() && planned.indexes.is_empty(),
        };
        if is_known {
            continue;
        }
        if !std::mem::replace(&mut is_clean, true) {
            // What a copy left that did not come to its end.
            drop_trial(&trial).await?;
        }
        let made = make(&trial, planned).await;
        let dropped = drop_trial(&trial).await;
        let real = Target::untyped(target, &planned.source.name);
        made.map_err(|error| error.with_namespace(real.namespace().to_string()))?;
        dropped?;
    }
    Ok(())
}

async fn make(trial: &Target, planned: &Planned) -> Result<()> {
    let create = backend::CreateCollection {
        namespace: trial.namespace().clone(),
        options: encode_untyped(&planned.source.options)?,
    };
    trial.execute(create.into()).await?.done()?;
    match planned.indexes.is_empty() {
        true => Ok(()),
        false => create_indexes(trial, &planned.indexes).await,
    }
}

async fn drop_trial(trial: &Target) -> Result<()> {
    let namespace = trial.namespace().clone();
    trial
        .execute(backend::DropCollection { namespace }.into())
        .await?
        .done()
}
