//! Replacements in a batch that documents of later schema versions kept from being made.

use bson::RawBson;

use super::document;
use super::pipeline::Sending;
use super::stages::Terms;
use super::write::Batch;
use crate::backend;
use crate::db::Answer;
use crate::error::Result;

impl Sending<'_> {
    /// Tells of the replacements in a batch that did not find their documents because these are of a later schema version.
    pub(super) async fn with_newer(&self, answer: Answer, batch: &Batch, has_many: bool) -> Result<Answer> {
        let (Some(versions), Some(result)) = (self.plan.lifecycle.versions, answer.as_write()) else {
            return Ok(answer);
        };
        if self.terms.len() < 2 || !self.terms.iter().any(|terms| terms.not_newer) {
            return Ok(answer);
        }
        let summary = &result.summary;
        let done = summary.matched + summary.deleted + summary.inserted;
        let done = done + (result.upserted.len() + result.errors.len()) as u64;
        let is_over = self.target.db().guard().is_some() && !result.errors.is_empty();
        if is_over || (!has_many && done >= self.terms.len() as u64) {
            return Ok(answer);
        }
        let mut result = result.clone();
        let failed = result.errors.iter().map(|(index, _)| *index);
        let end = match batch.is_ordered() {
            true => failed.min().unwrap_or(self.terms.len()),
            false => self.terms.len(),
        };
        // Without an `_id` a later document that matches says nothing of the one that was replaced.
        let asked = self.terms.iter().enumerate().take(end).filter(|(index, terms)| {
            terms.not_newer
                && backend::id_of(&terms.filter).is_some()
                && !result.errors.iter().any(|(failed, _)| failed == index)
                && !result.upserted.iter().any(|(upserted, _)| upserted == index)
        });
        let asked: Vec<_> = asked.collect();
        let mut ids = bson::RawArrayBuf::new();
        for id in asked
            .iter()
            .filter_map(|(_, terms)| backend::id_of(&terms.filter))
        {
            ids.push(RawBson::from(id));
        }
        let among = document::single(bson::cstr!("$in"), ids);
        let filter = document::narrowed(&document::single(bson::cstr!("_id"), among), &versions.newer())?;
        // By its own collation each is asked by itself.
        let is_one_search = asked.iter().all(|(_, terms)| terms.collation.is_none());
        let plain = Terms::default();
        // What was written was written, whether or not it can be told now what was not.
        if asked.is_empty() || (is_one_search && !matches!(self.stored(&plain, &filter).await, Ok(Some(_)))) {
            return Ok(answer);
        }
        let mut refused = Vec::new();
        for (index, terms) in asked {
            let filter = document::narrowed(&terms.filter, &versions.newer())?;
            if let Ok(Some(newer)) = self.stored(terms, &filter).await
                && let Some(error) = versions.refusal(&newer)
            {
                refused.push((index, self.target.explain(error, batch.carrier.name())));
            }
        }
        result.errors.extend(refused);
        result.errors.sort_by_key(|(index, _)| *index);
        Ok(answer.with_write(result))
    }
}
