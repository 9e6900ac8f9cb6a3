//! Putting an entry in the place of another one.

use odm::bson::doc;
use odm::{Error, ErrorKind, Result};
use serde::Serialize;

use super::buckets::{BUCKETS, Buckets, Kind};
use super::encoded::Encoded;
use crate::computed::Amount;
use crate::value;

impl<S: Serialize, E: Serialize, V: Amount, K> Buckets<S, E, V, K> {
    /// Puts an entry in the place of the one with its [unique](Buckets::unique) key, and into the figures; whether there was
    /// one. It stays where it is among the entries of its bucket. One round trip.
    ///
    /// It is one update of one bucket: of two at the same time the later one holds, an entry that is removed meanwhile is not
    /// put back, and done again it changes nothing more. By count the entry may have another time than before. By span it
    /// is looked for in the bucket of its time, as [`record`](Buckets::record) does: to move it to another one, remove and
    /// record it in one transaction.
    ///
    /// # Errors
    /// `InvalidArgument` when the buckets have no unique key, or the entry has none. `Encode` as [`record`](Buckets::record).
    /// Those of the database, also when the bucket's figures cannot hold the value exactly. Nothing is changed then.
    pub async fn replace(&self, series: &S, entry: &E) -> Result<bool> {
        let series = value::to_bson(series)?;
        let path = self.unique_path()?;
        let entry: Encoded<V> = self.names.encode(entry)?;
        let Some(key) = entry.unique else {
            let error = Error::new(ErrorKind::InvalidArgument, "the entry has no unique key");
            return Err(error.with_path(path.to_owned()));
        };
        let mut condition = match self.kind {
            Kind::Span(span) => {
                let number = entry.at.timestamp_millis().div_euclid(span);
                doc! { "_id": BUCKETS.key(&series, number) }
            }
            Kind::Count(_) => BUCKETS.of(&series),
        };
        condition.insert(format!("entries.{path}"), doc! { "$eq": &key });
        let is_it = doc! { "$eq": [format!("$$this.{path}"), { "$literal": &key }] };
        let replaced = doc! { "$cond": [is_it, { "$literal": entry.document }, "$$this"] };
        let mut stages = vec![
            doc! { "$set": { "entries": { "$map": { "input": "$entries", "in": replaced } } } },
            self.recount()?,
        ];
        stages.extend(self.exact()?);
        Ok(self.buckets.update_one(condition, stages).await?.matched == 1)
    }
}
