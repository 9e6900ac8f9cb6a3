//! A bucket as it is stored.

use odm::bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::computed::Running;

/// Which bucket of which series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketKey<S> {
    /// The series.
    pub series: S,
    /// Which of its buckets: the time divided by the span, or counted from 0.
    pub number: i64,
}

/// A bucket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Bucket<S, E, V> {
    /// Which one.
    #[serde(rename = "_id")]
    pub key: BucketKey<S>,
    /// The time of its oldest entry.
    pub from: DateTime,
    /// The time of its newest entry.
    pub to: DateTime,
    /// How many entries.
    pub count: i64,
    /// The figures of their values, where [`value`](super::Buckets::value) says what these are.
    #[serde(default = "none")]
    pub figures: Option<Running<V>>,
    /// The entries, in the order in which they came.
    pub entries: Vec<E>,
}

fn none<T>() -> Option<T> {
    None
}
