//! Writes about which nobody asks whether they found a document: those of a batch, and those that somebody else makes.

use super::condition::existing_stage;
use super::document;
use super::pipeline::names_id;
use super::plan::Plan;
use super::stages::Terms;
use super::violation;
use super::write::{Kind, Write};
use crate::codec::Raw;
use crate::error::{Error, ErrorKind, Result};
use crate::query::update::Form;

/// Makes the writes such that they need not be asked about.
///
/// # Errors
/// `Validation` and `InvalidArgument` for upserts of which it cannot be told without asking whether they insert.
pub(super) fn unasked(plan: &Plan, writes: &mut [Write], terms: &[Terms]) -> Result<()> {
    let refused = terms.iter().flat_map(|terms| terms.insertion.clone());
    violation::finish(refused.collect())?;
    for (write, terms) in writes.iter_mut().zip(terms) {
        let may_insert = write.upsert && !names_id(&terms.filter);
        if may_insert && !terms.conditions.is_empty() {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "in a batch, an upsert that adds to what has a bound, or takes from it, must find its document by `_id`",
            ));
        }
        if terms.computes {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "in a batch, an upsert cannot depend on which elements an array with a bound holds: make it by itself",
            ));
        }
        if may_insert && terms.not_newer {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "in a batch, an upsert that replaces a document with a schema version must find it by `_id`",
            ));
        }
        if terms.was_stored.is_some() {
            only_replace(plan, write)?;
        }
    }
    Ok(())
}

/// Makes an upsert that would insert an error of its own.
fn only_replace(plan: &Plan, write: &mut Write) -> Result<()> {
    let Some(version) = plan.lifecycle.version else {
        return Ok(());
    };
    let mut stages = vec![Raw::from(existing_stage(version)).into_document()?];
    match std::mem::replace(&mut write.kind, Kind::Delete) {
        Kind::Replace(document) => {
            let literal = document::single(bson::cstr!("$literal"), document);
            stages.push(document::single(bson::cstr!("$replaceWith"), literal));
        }
        Kind::Update(Form::Pipeline(own)) => stages.extend(own),
        other => {
            write.kind = other;
            return Ok(());
        }
    }
    write.kind = Kind::Update(Form::Pipeline(stages));
    Ok(())
}
