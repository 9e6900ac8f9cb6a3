//! The rate at which jobs are claimed.
//!
//! One document holds when the bucket of permits is full again. All that a claim does to it is one conditional update by
//! a pipeline, so that workers anywhere share it.

use odm::Result;
use odm::bson::{Bson, doc};

use super::Queue;
use super::order;

const ID: &str = "rate";

impl<J> Queue<J> {
    /// How many of so many jobs may be claimed now. One round trip where there is a rate.
    pub(super) async fn permits(&self, wanted: u32) -> Result<u32> {
        let Some(rate) = self.options.rate else {
            return Ok(wanted);
        };
        let now = order::at(self.now()) as f64;
        let window = order::millis(rate.per) as f64;
        let each = window / f64::from(rate.count);
        // Further ahead than a whole bucket it can only be by a clock that was ahead.
        let full_at = doc! { "$cond": [{ "$gt": ["$full_at", now + window + 1.0] }, now, { "$max": ["$full_at", now] }] };
        let room = doc! { "$floor": { "$add": [{ "$divide": [{ "$subtract": [now + window, "$full_at"] }, each] }, 1e-6] } };
        let granted = self
            .control
            .find_one_and_update(
                doc! { "_id": ID },
                [
                    doc! { "$set": { "full_at": { "$ifNull": ["$full_at", now] } } },
                    doc! { "$set": { "full_at": full_at } },
                    doc! { "$set": { "granted": { "$max": [0.0, { "$min": [f64::from(wanted), room] }] } } },
                    doc! { "$set": { "full_at": { "$add": ["$full_at", { "$multiply": ["$granted", each] }] } } },
                ],
            )
            .upsert()
            .return_new()
            .await?;
        let granted = granted.and_then(|rate| rate.get("granted").and_then(Bson::as_f64));
        // Not more than was asked for, so that it fits.
        Ok(granted.unwrap_or(0.0) as u32)
    }

    /// Gives permits back that were not used. One round trip where there is a rate and something to give back.
    pub(super) async fn give_back(&self, unused: u32) -> Result<()> {
        let Some(rate) = self.options.rate.filter(|_| unused > 0) else {
            return Ok(());
        };
        let each = order::millis(rate.per) as f64 / f64::from(rate.count);
        self.control
            .update_one(
                doc! { "_id": ID },
                doc! { "$inc": { "full_at": -each * f64::from(unused) } },
            )
            .await?;
        Ok(())
    }
}
