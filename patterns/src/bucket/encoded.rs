//! Entries on their way to a bucket.

use odm::bson::{Bson, DateTime, Document, RawBson, doc};
use odm::{Error, ErrorKind, Result};
use serde::Serialize;

use crate::computed::{Amount, Running};
use crate::dotted::value_at;
use crate::value;

/// The fields of entries that buckets know.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) at: String,
    pub(super) value: Option<String>,
    pub(super) unique: Option<String>,
}

/// An entry as it will be stored, and what buckets know of it.
pub(super) struct Encoded<V> {
    pub(super) document: Document,
    /// How large it is.
    pub(super) bytes: usize,
    pub(super) at: DateTime,
    pub(super) value: Option<V>,
    /// By what it is known; nothing where there is none, or null.
    pub(super) unique: Option<Bson>,
}

impl Names {
    pub(super) fn encode<E: Serialize, V: Amount>(&self, entry: &E) -> Result<Encoded<V>> {
        let RawBson::Document(encoded) = value::encode(entry)? else {
            return Err(Error::new(ErrorKind::Encode, "an entry is not a document"));
        };
        let bytes = encoded.as_bytes().len();
        let document = value::document(encoded)?;
        let Some(Bson::DateTime(at)) = value_at(&document, &self.at) else {
            let error = Error::new(ErrorKind::Encode, "an entry's time is not stored as a date");
            return Err(error.with_path(self.at.clone()));
        };
        let amount = self.value.as_deref().map(|path| {
            let amount = value_at(&document, path).cloned().unwrap_or(Bson::Null);
            let amount = value::from_bson::<V>(amount).map_err(|error| error.with_path(path.to_owned()))?;
            match amount.squared() {
                Some(_) => Ok(amount),
                None => Err(inexact(path)),
            }
        });
        let unique = self.unique.as_deref().and_then(|path| value_at(&document, path));
        if let (Some(Bson::Array(_)), Some(path)) = (unique, &self.unique) {
            let error = Error::new(ErrorKind::Encode, "an entry's unique key is an array");
            return Err(error.with_path(path.clone()));
        }
        Ok(Encoded {
            bytes,
            at: *at,
            value: amount.transpose()?,
            unique: unique.filter(|key| **key != Bson::Null).cloned(),
            document,
        })
    }

    /// The condition that none of these entries is in a bucket.
    pub(super) fn absent<V>(&self, entries: &[Encoded<V>]) -> Document {
        let keys = Names::keys(entries);
        match &self.unique {
            Some(unique) if !keys.is_empty() => doc! { format!("entries.{unique}"): { "$nin": keys } },
            _ => Document::new(),
        }
    }

    /// The unique keys of entries that have one.
    pub(super) fn keys<V>(entries: &[Encoded<V>]) -> Vec<&Bson> {
        entries.iter().filter_map(|entry| entry.unique.as_ref()).collect()
    }
}

/// The update that puts entries into a bucket.
pub(super) fn push<V: Amount>(entries: &[Encoded<V>]) -> Result<Document> {
    let documents: Vec<&Document> = entries.iter().map(|entry| &entry.document).collect();
    let count = i64::try_from(documents.len()).unwrap_or(i64::MAX);
    let times = entries.iter().map(|entry| entry.at);
    let (from, to) = (times.clone().min(), times.max());
    let mut least = doc! { "from": from };
    let mut greatest = doc! { "to": to };
    let mut sums = doc! { "count": count };
    let values: Vec<V> = entries.iter().filter_map(|entry| entry.value).collect();
    if !values.is_empty() {
        let figures = Running::of(values).ok_or_else(|| inexact("figures.squares"))?;
        sums.insert("figures.count", figures.count);
        sums.insert("figures.sum", value::to_bson(&figures.sum)?);
        sums.insert("figures.squares", value::to_bson(&figures.squares)?);
        least.insert("figures.min", value::to_bson(&figures.min)?);
        greatest.insert("figures.max", value::to_bson(&figures.max)?);
    }
    Ok(doc! {
        "$push": { "entries": { "$each": documents } },
        "$inc": sums,
        "$min": least,
        "$max": greatest,
    })
}

fn inexact(path: &str) -> Error {
    Error::new(ErrorKind::Encode, "the value's square cannot be held exactly").with_path(path.to_owned())
}
