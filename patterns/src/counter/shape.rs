//! How counters are stored.

use std::time::Duration;

use odm::{Error, ErrorKind, Result};

use super::layout::Layout;
use crate::computed::Amount;
use crate::period::{Unit, Zone};

/// How counters are stored: their granularities, what is measured, and how.
#[derive(Clone, Debug)]
#[must_use]
pub struct Shape<T = i64> {
    pub(super) layouts: Vec<Layout>,
    pub(super) zone: Zone,
    pub(super) measures: Vec<Measure<T>>,
    pub(super) shards: u16,
    pub(super) scope: Option<Unit>,
    pub(super) remember: u16,
    pub(super) closed_after: Option<Duration>,
}

/// A value that events have, whose sum is kept beside the numbers of events; and more when asked.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Measure<T = i64> {
    pub(super) name: String,
    pub(super) has_extremes: bool,
    pub(super) bounds: Vec<T>,
}

impl<T: Amount> Measure<T> {
    /// The value of this name.
    pub fn new(name: impl Into<String>) -> Measure<T> {
        Measure {
            name: name.into(),
            has_extremes: false,
            bounds: Vec::new(),
        }
    }

    /// Minimum and maximum too.
    pub fn extremes(mut self) -> Measure<T> {
        self.has_extremes = true;
        self
    }

    /// A histogram too: how many values are at most the first bound, how many of the others at most the second, and so on,
    /// and how many are above the last.
    pub fn histogram(mut self, bounds: impl IntoIterator<Item = T>) -> Measure<T> {
        self.bounds = bounds.into_iter().collect();
        self
    }

    /// The place of a value in the histogram.
    pub(super) fn bucket(&self, value: T) -> usize {
        self.bounds
            .iter()
            .take_while(|bound| value.order(**bound).is_gt())
            .count()
    }
}

impl Shape<i64> {
    /// Counters of one granularity, whose measures are whole numbers.
    pub fn new(layout: Layout) -> Shape<i64> {
        Shape::measuring(layout)
    }
}

impl<T: Amount> Shape<T> {
    /// Counters of one granularity, whose measures are of any [`Amount`].
    pub fn measuring(layout: Layout) -> Shape<T> {
        Shape {
            layouts: vec![layout],
            zone: Zone::UTC,
            measures: Vec::new(),
            shards: 1,
            scope: None,
            remember: 100,
            closed_after: None,
        }
    }

    /// Documents of another granularity too. Every event then is one transaction that writes one document of each.
    pub fn also(mut self, layout: Layout) -> Shape<T> {
        self.layouts.push(layout);
        self
    }

    /// Where the periods are reckoned: in UTC unless said otherwise. It must stay the same.
    pub fn zone(mut self, zone: Zone) -> Shape<T> {
        self.zone = zone;
        self
    }

    /// A value that events have.
    pub fn measure(mut self, measure: Measure<T>) -> Shape<T> {
        self.measures.push(measure);
        self
    }

    /// Spreads every document over so many, from 1 to 1000, which are added up when they are read: for figures that are
    /// written more often than one document can be. The number may grow, but not shrink.
    ///
    /// An event's [id](super::Event::id) chooses its shard. One that was counted before the number grew, and is sent again
    /// after that, may go into another shard, which does not know the id, and is counted again: let the number grow when no
    /// event is in doubt, in all programs at the same time.
    pub fn shards(mut self, shards: u16) -> Shape<T> {
        self.shards = shards;
        self
    }

    /// A collection for each of these periods: `views_2026_11`. Old ones are dropped as a whole.
    pub fn collection_per(mut self, unit: Unit) -> Shape<T> {
        self.scope = Some(unit);
        self
    }

    /// How many ids of events each document remembers: the last 100 unless said otherwise. An event that is sent again
    /// after that many others with ids went into the same document is counted again.
    pub fn remember(mut self, events: u16) -> Shape<T> {
        self.remember = events;
        self
    }

    /// Leaves out events that are later than this. Counters that are [rolled up](super::Counters::roll_up), and count events
    /// with ids, need it: an event that is sent again when its document, and with that its id, is gone is then left out
    /// instead of counted again.
    pub fn closed_after(mut self, time: Duration) -> Shape<T> {
        self.closed_after = Some(time);
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        let measures: Vec<String> = self.measures.iter().map(|measure| measure.name.clone()).collect();
        for (at, layout) in self.layouts.iter().enumerate() {
            layout.check(&measures)?;
            if self.layouts[..at].iter().any(|other| other.span == layout.span) {
                return Err(wrong("two layouts have documents for the same periods"));
            }
            let is_within = match (self.scope, layout.span) {
                (None, _) => true,
                (Some(scope), Some(span)) => scope == span || scope.holds(span),
                (Some(_), None) => false,
            };
            if !is_within {
                return Err(wrong("a document's period is not within that of its collection"));
            }
        }
        for measure in &self.measures {
            if measure.bounds.iter().any(|bound| bound.as_f64().is_nan()) {
                let error = wrong("the bounds of a histogram are numbers");
                return Err(error.with_path(measure.name.as_str()));
            }
            let is_rising = measure
                .bounds
                .windows(2)
                .all(|pair| pair[0].order(pair[1]).is_lt());
            if !is_rising {
                let error = wrong("the bounds of a histogram rise");
                return Err(error.with_path(measure.name.as_str()));
            }
        }
        if !(1..=1000).contains(&self.shards) {
            return Err(wrong("counters have from 1 to 1000 shards"));
        }
        match self.scope {
            Some(Unit::Minute | Unit::Hour) => Err(wrong("collections are for days or longer")),
            _ => Ok(()),
        }
    }
}

fn wrong(text: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, text)
}
