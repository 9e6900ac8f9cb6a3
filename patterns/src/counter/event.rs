//! What happened.

use std::collections::BTreeMap;

use odm::bson::DateTime;

use super::key::Key;

/// Something that happened, to be counted.
///
/// ```
/// # use odm_patterns::counter::{Event, Key};
/// let event: Event = Event::of(Key::of("page", "/")).times(2).id("request 7");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Event<T = i64> {
    pub(super) key: Key,
    pub(super) at: Option<DateTime>,
    pub(super) times: i64,
    pub(super) values: BTreeMap<String, T>,
    pub(super) id: Option<String>,
    pub(super) is_taken_back: bool,
}

impl<T> Event<T> {
    /// One event, now.
    pub fn of(key: Key) -> Event<T> {
        Event {
            key,
            at: None,
            times: 1,
            values: BTreeMap::new(),
            id: None,
            is_taken_back: false,
        }
    }

    /// When it happened, which may be long ago, unless the counters
    /// [close](super::Shape::closed_after) their documents.
    pub fn at(mut self, time: DateTime) -> Event<T> {
        self.at = Some(time);
        self
    }

    /// How many of them; below zero to take some away.
    pub fn times(mut self, times: i64) -> Event<T> {
        self.times = times;
        self
    }

    /// What was measured: the value goes once into the figures of the measure of this name.
    pub fn value(mut self, measure: impl Into<String>, value: T) -> Event<T> {
        self.values.insert(measure.into(), value);
        self
    }

    /// What tells this event apart: sent again, it is not counted again, as long as it is
    /// [remembered](super::Shape::remember), and the number of [shards](super::Shape::shards) is the same. An id is that of
    /// one event of one key and time.
    pub fn id(mut self, id: impl Into<String>) -> Event<T> {
        self.id = Some(id.into());
        self
    }

    /// Takes back an event that was counted: numbers, sums and histograms are as they were before it. Minimum and maximum
    /// stay, and say that they may not be exact any more.
    pub fn taken_back(mut self) -> Event<T> {
        self.is_taken_back = true;
        self
    }
}
