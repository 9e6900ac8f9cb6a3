//! Figures held against each other, and counted anew.

use std::collections::BTreeMap;
use std::ops::Range;

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Error, ErrorKind, Result, Tx};

use super::change::{Change, Place};
use super::counters::Counters;
use super::event::Event;
use super::key::Key;
use super::report::Cell;
use crate::computed::Amount;
use crate::dotted::value_at;
use crate::period::Unit;

/// Figures by the collection and the `_id` of their document.
type Anew<T> = BTreeMap<(String, String), Change<T>>;

/// What is wrong with a document of counters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CounterProblem {
    /// The collection.
    pub collection: String,
    /// The document.
    pub id: Bson,
    /// What is wrong.
    pub kind: CounterProblemKind,
}

/// Kinds of problems.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CounterProblemKind {
    /// The figures of a level do not add up to the total.
    Disagreement {
        /// The field of the level.
        level: String,
        /// The number of events by the total.
        total: i64,
        /// The number of events by the level.
        sum: i64,
    },
    /// The sums of a measure do not add up.
    MeasureDisagreement {
        /// The field of the level.
        level: String,
        /// The measure.
        measure: String,
    },
    /// The document's id is not that of its key and period.
    Misplaced,
    /// A figure is no number.
    NotANumber {
        /// Where.
        path: String,
    },
}

impl<T: Amount> Counters<T> {
    /// Looks through all documents: whether the figures of the granularities agree. Reads everything, once.
    ///
    /// # Errors
    /// As any operation.
    pub async fn verify(&self) -> Result<Vec<CounterProblem>> {
        let mut problems = Vec::new();
        for collection in self.collections().await? {
            let mut documents = self.db.raw_collection(&collection).find_all().stream();
            while let Some(document) = documents.try_next().await? {
                let problem = |kind| CounterProblem {
                    collection: collection.clone(),
                    id: document.get("_id").cloned().unwrap_or(Bson::Null),
                    kind,
                };
                match self.problems_of(&document) {
                    Ok(found) => problems.extend(found.into_iter().map(problem)),
                    Err(error) if error.kind() == ErrorKind::Decode => {
                        let path = error.path().unwrap_or_default().to_owned();
                        problems.push(problem(CounterProblemKind::NotANumber { path }));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(problems)
    }

    fn problems_of(&self, document: &Document) -> Result<Vec<CounterProblemKind>> {
        let name = document.get_str("span").unwrap_or_default();
        let Some(index) = self.shape.layouts.iter().position(|layout| layout.name() == name) else {
            // Of other counters in the same collection.
            return Ok(Vec::new());
        };
        let layout = &self.shape.layouts[index];
        let mut problems = Vec::new();
        let key = Key::read(document.get_document("by").unwrap_or(&Document::new()));
        let from = document.get_datetime("from").copied();
        let from = from.unwrap_or(DateTime::from_millis(0));
        let shard = document.get_i32("shard").unwrap_or(0);
        let place = self.place(index, &key, from, u16::try_from(shard).unwrap_or(0));
        let is_placed = place.is_ok_and(|place| document.get_str("_id").ok() == Some(&place.id));
        if !is_placed {
            problems.push(CounterProblemKind::Misplaced);
        }
        let total = Cell::read(&self.shape, document, &layout.total)?;
        for (depth, level) in layout.levels.iter().enumerate() {
            let mut sum = Cell::zero(&self.shape);
            let mut paths = Vec::new();
            let mut collect = |value: Option<&Bson>| slots(value, depth + 1, &level.name, &mut paths);
            collect(document.get(&level.name));
            for measure in &self.shape.measures {
                collect(value_at(document, &format!("{}.{}", measure.name, level.name)));
            }
            paths.sort();
            paths.dedup();
            for path in paths {
                sum.add(&Cell::read(&self.shape, document, &path)?)?;
            }
            if sum.count != total.count {
                problems.push(CounterProblemKind::Disagreement {
                    level: level.name.clone(),
                    total: total.count,
                    sum: sum.count,
                });
            }
            for (name, summary) in &sum.values {
                let whole = &total.values[name];
                let agrees = summary.count == whole.count
                    && summary.histogram == whole.histogram
                    && summary.sum.agrees(whole.sum);
                if !agrees {
                    problems.push(CounterProblemKind::MeasureDisagreement {
                        level: level.name.clone(),
                        measure: name.clone(),
                    });
                }
            }
        }
        Ok(problems)
    }

    /// Makes the documents of a key anew from the events of a range, which must be all that are of this key in the periods
    /// of the documents: the range is widened to those. In one transaction, in which `events` reads them: what is counted
    /// meanwhile conflicts with it, and it runs again, reading anew. The documents remember the ids of these events, the
    /// last so many of each, and no others.
    ///
    /// Cost: a transaction that deletes and writes each document of the range once.
    ///
    /// # Errors
    /// `InvalidArgument` for an event that is of another key or out of the range, for layouts of all time, and as
    /// [`record`](Counters::record); those of `events`; `Unsupported` where there are no transactions.
    ///
    /// ```
    /// # use odm::{Db, bson::{DateTime, doc}};
    /// use odm_patterns::counter::{Counters, Event, Key, Layout, Shape};
    /// use odm_patterns::period::Unit;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// let views = Counters::new(&db, "views", Shape::new(Layout::per(Unit::Day)))?;
    /// let (home, now) = (Key::of("page", "/"), DateTime::now());
    /// db.raw_collection("visits").insert(doc! { "_id": "v1", "at": now }).await?;
    /// views
    ///     .recount(&home, now..now, async |tx| {
    ///         let visits = tx.raw_collection("visits").find(doc! {}).await?;
    ///         let event = |visit: &odm::bson::Document| {
    ///             let id = visit.get_str("_id").unwrap_or_default();
    ///             Event::of(home.clone()).at(now).id(id)
    ///         };
    ///         Ok(visits.iter().map(event).collect())
    ///     })
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn recount<F, Fut>(&self, key: &Key, range: Range<DateTime>, mut events: F) -> Result<()>
    where
        F: FnMut(Tx) -> Fut,
        Fut: Future<Output = Result<Vec<Event<T>>>>,
    {
        let range = self.widened(range)?;
        let places = self.places(key, &range)?;
        let (places, range) = (&places, &range);
        self.db
            .transaction(|tx| {
                let events = events(tx.clone());
                async move {
                    let anew = self.counted_anew(key, range, events.await?)?;
                    for place in places {
                        let ids = doc! { "_id": { "$in": self.shards_of(&place.id) } };
                        tx.raw_collection(&place.collection).delete_many(ids).await?;
                    }
                    let inner = self.on(&tx);
                    for change in anew.values() {
                        inner.apply(change).await?;
                    }
                    Ok(())
                }
            })
            .await
    }

    /// What events of a key come to, by the documents that they are counted in.
    fn counted_anew(&self, key: &Key, range: &Range<DateTime>, events: Vec<Event<T>>) -> Result<Anew<T>> {
        let mut anew = Anew::new();
        for event in events {
            let at = event.at.unwrap_or_else(|| self.db.now());
            if event.key != *key || !range.contains(&at) {
                let text = "the event is of another key, or out of the range";
                return Err(Error::new(ErrorKind::InvalidArgument, text));
            }
            let cell = Cell::of_event(&self.shape, &event)?;
            let shard = event.id.as_deref().map_or(0, |id| self.shard_of(id));
            for layout in 0..self.shape.layouts.len() {
                let place = self.place(layout, key, at, shard)?;
                let name = (place.collection.clone(), place.id.clone());
                let change = anew.entry(name).or_insert_with(|| Change::of(place));
                self.add(change, at, &cell)?;
                change.seen.extend(event.id.clone());
            }
        }
        Ok(anew)
    }

    /// A range widened until it consists of whole documents of every layout.
    fn widened(&self, range: Range<DateTime>) -> Result<Range<DateTime>> {
        let zone = &self.shape.zone;
        let wrong = |text| Error::new(ErrorKind::InvalidArgument, text);
        let spans: Option<Vec<Unit>> = self.shape.layouts.iter().map(|layout| layout.span).collect();
        let spans = spans.ok_or_else(|| wrong("documents of all time are not counted anew"))?;
        let longest = spans.iter().copied().max().unwrap_or(Unit::Day);
        if spans.iter().any(|span| *span != longest && !longest.holds(*span)) {
            return Err(wrong("the documents' periods are not within each other"));
        }
        let start = zone.start(longest, range.start)?;
        let last = DateTime::from_millis(range.end.timestamp_millis().saturating_sub(1));
        Ok(start..zone.next(longest, last.max(start))?)
    }

    fn places(&self, key: &Key, range: &Range<DateTime>) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        for (index, layout) in self.shape.layouts.iter().enumerate() {
            let Some(span) = layout.span else { continue };
            let mut at = range.start;
            while at < range.end {
                places.push(self.place(index, key, at, 0)?);
                at = self.shape.zone.next(span, at)?;
            }
        }
        Ok(places)
    }
}

/// The paths of a level's figures.
fn slots(value: Option<&Bson>, depth: usize, path: &str, paths: &mut Vec<String>) {
    let Some(Bson::Document(slots_of)) = value else {
        return;
    };
    for (name, value) in slots_of {
        let path = format!("{path}.{name}");
        match depth {
            1 => paths.push(path),
            depth => slots(Some(value), depth - 1, &path, paths),
        }
    }
}
