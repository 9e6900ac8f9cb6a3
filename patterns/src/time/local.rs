//! Local time in filters and pipelines.

use odm::bson::{Bson, DateTime, bson, doc};
use odm::expr::Expr;
use odm::{Date, Field, Filter};

use super::happened::Happened;
use super::period::Period;
use super::unit::Unit;

/// Local time of a field that is stored as a date: `l.lent.date.in_period(&day)`.
pub trait LocalTime<R> {
    /// In this local hour, day, week, month or year: a range that an index on the date answers.
    fn in_period(&self, period: &Period) -> Filter<R>;

    /// The beginning of its local hour, day, week, month or year in the zone of this IANA name, for pipelines: what to
    /// group by. By the rules of the database, which may be of another version.
    ///
    /// The beginnings of days, weeks, months, quarters and years are those of [`Period`]s, but for a day whose midnight comes
    /// twice (Azores and Havana in autumn): a period begins with the first, and this gives the second for all of it, even for
    /// what came before; so for the week, month, quarter or year that begins with such a day. Hours are counted evenly from
    /// the beginning of the year 2000 there, and so are not those of the clock in a zone whose clocks change by half hours.
    fn truncated_in(&self, unit: Unit, zone: &str) -> Expr<R, DateTime>;
}

impl<R, T: Date> LocalTime<R> for Field<R, T> {
    fn in_period(&self, period: &Period) -> Filter<R> {
        let range = period.range();
        let bounds = doc! { "$gte": range.start, "$lt": range.end };
        Filter::raw(doc! { self.path().to_string(): bounds })
    }

    fn truncated_in(&self, unit: Unit, zone: &str) -> Expr<R, DateTime> {
        let (unit, first_day) = unit.in_pipelines();
        let mut arguments = doc! {
            "date": format!("${}", self.path()),
            "unit": unit,
            "timezone": { "$literal": zone },
        };
        if let Some(day) = first_day {
            arguments.insert("startOfWeek", day);
        }
        Expr::raw(doc! { "$dateTrunc": arguments })
    }
}

/// What the clock showed when something [`Happened`], in pipelines: each by its own offset.
pub trait OwnOffset<R> {
    /// The local time as a date as if the clock showed UTC: its `hour()`, `truncated(TimeUnit::Day)` and `format(..)` are local.
    ///
    /// ```
    /// # use odm::{Db, Embedded, Model};
    /// # use odm_patterns::time::{Happened, OwnOffset};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Sale {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     at: Happened,
    /// # }
    /// # #[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
    /// # struct Hour {
    /// #     #[serde(rename = "_id")]
    /// #     hour: i32,
    /// #     sales: i32,
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let sales = Db::open("memory:").await?.collection::<Sale>();
    /// for (id, at) in [(1, "2026-07-01T09:30:00-04:00"), (2, "2026-07-02T09:59:00+09:00")] {
    ///     sales.insert(Sale { id, at: at.parse()? }).await?;
    /// }
    /// let hours: Vec<Hour> = sales
    ///     .aggregate()
    ///     .group::<Hour>(|s, h| h.hour.by(s.at.local().hour()) & h.sales.is(odm::expr::count()))
    ///     .await?;
    /// assert_eq!(hours, [Hour { hour: 9, sales: 2 }]);
    /// # Ok(())
    /// # }
    /// ```
    fn local(&self) -> Expr<R, DateTime>;
}

impl<R> OwnOffset<R> for Field<R, Happened> {
    fn local(&self) -> Expr<R, DateTime> {
        let at = |name: &str| match self.path().is_root() {
            true => Bson::String(format!("${name}")),
            false => Bson::String(format!("${}.{name}", self.path())),
        };
        let offset = bson!({ "$multiply": [at("offset"), 1000] });
        Expr::raw(doc! { "$add": [at("date"), offset] })
    }
}
