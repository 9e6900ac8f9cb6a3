//! Dates: their parts, arithmetic with them, in UTC or as clocks somewhere show them.

use bson::RawBson;
use bson::raw::{CStr, cstr};

use super::{DateTerm, Encoding, Expr, Number, NumberTerm, TextTerm, call, call_named, constant};
use crate::error::Result;
use crate::model::{Date, Text};
use crate::query::{TimeUnit, Weekday};

/// A date as the clocks of a time zone show it; made by [`Expr::in_zone`].
///
/// Its parts, beginnings of units, sums and differences are those of that zone, changes between summer and winter time
/// counted.
#[derive(Debug)]
#[must_use]
pub struct Zoned<R, T> {
    date: Expr<R, T>,
    zone: Result<RawBson>,
}

impl<R, T> Clone for Zoned<R, T> {
    fn clone(&self) -> Self {
        Zoned {
            date: self.date.clone(),
            zone: self.zone.clone(),
        }
    }
}

/// An argument with its name.
type Argument = (&'static CStr, Result<RawBson>);

/// A date, where it is one of a zone with that.
struct Local<T> {
    date: Result<RawBson>,
    zone: Option<Result<RawBson>>,
    encoding: Encoding<T>,
}

impl<T> Local<T> {
    fn part<R>(self, operator: &'static CStr) -> Expr<R, Number> {
        Expr::new(match self.zone {
            None => self.date.map(|date| call(operator, date)),
            Some(_) => self.call(operator, cstr!("date"), []),
        })
    }

    /// The operator with the date under this name, the others and the zone.
    fn call<const N: usize>(
        self,
        operator: &'static CStr,
        name: &'static CStr,
        others: [Argument; N],
    ) -> Result<RawBson> {
        let zone = self.zone.map(|zone| (cstr!("timezone"), zone));
        call_named(
            operator,
            [(name, self.date)].into_iter().chain(others).chain(zone),
        )
    }

    /// The same for what gives a date of the same type.
    fn changed<R, const N: usize>(
        self,
        operator: &'static CStr,
        name: &'static CStr,
        others: [Argument; N],
    ) -> Expr<R, T> {
        let encoding = self.encoding;
        Expr::new(self.call(operator, name, others)).stored(encoding)
    }

    fn shifted<R>(self, operator: &'static CStr, amount: impl NumberTerm<R>, unit: TimeUnit) -> Expr<R, T> {
        let amount = (cstr!("amount"), amount.number());
        self.changed(operator, cstr!("startDate"), [unit_of(unit), amount])
    }
}

fn unit_of(unit: TimeUnit) -> Argument {
    (cstr!("unit"), Ok(RawBson::String(unit.as_str().to_owned())))
}

fn weeks_from(first: Weekday) -> Argument {
    let first = Ok(RawBson::String(first.as_str().to_owned()));
    (cstr!("startOfWeek"), first)
}

impl<R, T: Date> Expr<R, T> {
    /// The same date as clocks in a time zone show it: `Europe/Oslo`, an offset such as `+05:30`, or a field or expression
    /// that has one of these in each document.
    ///
    /// ```
    /// # use odm::{Db, Embedded, Model, bson::DateTime};
    /// # use odm::expr::count;
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Sale {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     at: DateTime,
    /// # }
    /// # #[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
    /// # struct Day {
    /// #     #[serde(rename = "_id")]
    /// #     day: DateTime,
    /// #     sales: i32,
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use odm::expr::TimeUnit;
    ///
    /// let sales = Db::open("memory:").await?.collection::<Sale>();
    /// for (id, at) in [(1, "2026-07-01T21:59:00Z"), (2, "2026-07-01T22:01:00Z")] {
    ///     sales.insert(Sale { id, at: DateTime::parse_rfc3339_str(at)? }).await?;
    /// }
    /// // Midnight is at 22:00 UTC.
    /// let days = sales
    ///     .aggregate()
    ///     .group::<Day>(|s, d| {
    ///         d.day.by(s.at.value().in_zone("Europe/Oslo").truncated(TimeUnit::Day)) & d.sales.is(count())
    ///     })
    ///     .await?;
    /// assert_eq!(days.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A zone that there is not is an error of the server, null is null.
    pub fn in_zone(self, zone: impl TextTerm<R>) -> Zoned<R, T> {
        Zoned {
            date: self,
            zone: zone.text(),
        }
    }

    fn local(self) -> Local<T> {
        Local {
            date: self.value,
            zone: None,
            encoding: self.encoding,
        }
    }
}

impl<R, T: Date> Zoned<R, T> {
    fn local(self) -> Local<T> {
        Local {
            date: self.date.value,
            zone: Some(self.zone),
            encoding: self.date.encoding,
        }
    }
}

/// The methods of dates, for those in UTC and those in a zone.
macro_rules! dates {
    ($type:ident, $where:literal) => {
        impl<R, T: Date> $type<R, T> {
            parts! {
                $where
                year "$year" "The year";
                month "$month" "The month, 1 to 12";
                day "$dayOfMonth" "The day of the month, 1 to 31";
                hour "$hour" "The hour, 0 to 23";
                minute "$minute" "The minute, 0 to 59";
                second "$second" "The second, 0 to 60";
                millisecond "$millisecond" "The millisecond, 0 to 999";
                day_of_week "$dayOfWeek" "The day of the week, 1 (Sunday) to 7";
                day_of_year "$dayOfYear" "The day of the year, 1 to 366";
                week "$week" "The week of the year, 0 to 53, beginning on Sundays";
                iso_week "$isoWeek" "The week of the year by ISO 8601, 1 to 53";
                iso_year "$isoWeekYear" "The year of the week by ISO 8601";
                iso_day_of_week "$isoDayOfWeek" "The day of the week by ISO 8601, 1 (Monday) to 7";
            }

            #[doc = concat!("The beginning of its unit, ", $where, "; that of weeks is a Sunday, see ")]
            #[doc = concat!("[`truncated_to_week`](", stringify!($type), "::truncated_to_week).")]
            pub fn truncated(self, unit: TimeUnit) -> Expr<R, T> {
                self.local()
                    .changed(cstr!("$dateTrunc"), cstr!("date"), [unit_of(unit)])
            }

            #[doc = concat!("The beginning of so many units together, ", $where, ": of the quarter of an hour, of two weeks. ")]
            /// They are counted from the beginning of the year 2000. Below 1 is an error of the server.
            pub fn truncated_by(self, count: i64, unit: TimeUnit) -> Expr<R, T> {
                let count = (cstr!("binSize"), Ok(RawBson::Int64(count)));
                self.local()
                    .changed(cstr!("$dateTrunc"), cstr!("date"), [unit_of(unit), count])
            }

            #[doc = concat!("The beginning of its week, ", $where, ", if that begins on this day.")]
            pub fn truncated_to_week(self, first: Weekday) -> Expr<R, T> {
                let unit = unit_of(TimeUnit::Week);
                self.local()
                    .changed(cstr!("$dateTrunc"), cstr!("date"), [unit, weeks_from(first)])
            }

            #[doc = concat!("So much later, ", $where, ": ")]
            /// the same day of a later month, or its last one where it has fewer days. The amount is a whole number; a
            /// date that does not fit is an error of the server.
            pub fn plus(self, amount: impl NumberTerm<R>, unit: TimeUnit) -> Expr<R, T> {
                self.local().shifted(cstr!("$dateAdd"), amount, unit)
            }

            #[doc = concat!("So much earlier, ", $where, "; as ")]
            #[doc = concat!("[`plus`](", stringify!($type), "::plus).")]
            pub fn minus(self, amount: impl NumberTerm<R>, unit: TimeUnit) -> Expr<R, T> {
                self.local().shifted(cstr!("$dateSubtract"), amount, unit)
            }

            #[doc = concat!("How many units begin after this date until the other, ", $where, ": ")]
            /// from 23:59 to 00:01 it is a day. Negative when the other is earlier, null when one of them is null or
            /// missing. Weeks begin on Sundays.
            pub fn until(self, other: impl DateTerm<R>, unit: TimeUnit) -> Expr<R, Number> {
                let other = (cstr!("endDate"), other.date());
                let local = self.local();
                Expr::new(local.call(cstr!("$dateDiff"), cstr!("startDate"), [other, unit_of(unit)]))
            }

            #[doc = concat!("How many weeks begin after this date until the other, ", $where, ", if weeks begin on this day.")]
            pub fn weeks_until(self, other: impl DateTerm<R>, first: Weekday) -> Expr<R, Number> {
                let other = (cstr!("endDate"), other.date());
                let arguments = [other, unit_of(TimeUnit::Week), weeks_from(first)];
                Expr::new(self.local().call(cstr!("$dateDiff"), cstr!("startDate"), arguments))
            }

            #[doc = concat!("As text, ", $where, ", in MongoDB's format: `%Y-%m-%d`. Null of null.")]
            pub fn format(self, format: &str) -> Expr<R, String> {
                let format = Ok(constant(RawBson::String(format.to_owned())));
                let format = (cstr!("format"), format);
                Expr::new(self.local().call(cstr!("$dateToString"), cstr!("date"), [format]))
            }
        }
    };
}

macro_rules! parts {
    ($where:literal $($method:ident $operator:literal $doc:literal;)*) => {$(
        #[doc = concat!($doc, ", ", $where, ".")]
        pub fn $method(self) -> Expr<R, Number> {
            self.local().part(cstr!($operator))
        }
    )*};
}

dates!(Expr, "in UTC");
dates!(Zoned, "in the zone");

impl<R, T: Text> Expr<R, T> {
    /// The date that is written, by ISO 8601 or one of the other forms that MongoDB takes, in UTC where it names no zone.
    /// Null of null; a text that is no date is an error of the server.
    pub fn to_date(self) -> Expr<R, bson::DateTime> {
        let date = [(cstr!("dateString"), self.value)];
        Expr::new(call_named(cstr!("$dateFromString"), date))
    }

    /// The date that is written in this format of MongoDB's, such as `%d.%m.%Y`; null of null, and of a text that is no such
    /// date.
    pub fn parse_date(self, format: &str) -> Expr<R, Option<bson::DateTime>> {
        let format = Ok(constant(RawBson::String(format.to_owned())));
        let null = || Ok(RawBson::Null);
        Expr::new(call_named(
            cstr!("$dateFromString"),
            [
                (cstr!("dateString"), self.value),
                (cstr!("format"), format),
                (cstr!("onError"), null()),
                (cstr!("onNull"), null()),
            ],
        ))
    }
}

/// The time at which the server begins the operation, the same in all of it, as a date of the type that stands beside it.
///
/// ```
/// # use odm::{Model, bson::DateTime};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize, Model)]
/// # struct Loan {
/// #     #[serde(rename = "_id")]
/// #     id: i32,
/// #     begun: DateTime,
/// # }
/// use odm::expr::{TimeUnit, now};
///
/// let l = Loan::fields();
/// let overdue = l.begun.value().plus(4, TimeUnit::Week).lt(now()).holds();
/// # overdue.to_document()?;
/// # Ok::<(), odm::Error>(())
/// ```
pub fn now<R, T: Date>() -> Expr<R, T> {
    Expr::variable("NOW")
}

/// Midnight of a day in UTC; months and days that there are not count on, as the 32nd of a month does.
///
/// Null where a part is null or missing. The year is 1 to 9999, anything else an error of the server.
pub fn date<R>(
    year: impl NumberTerm<R>,
    month: impl NumberTerm<R>,
    day: impl NumberTerm<R>,
) -> Expr<R, bson::DateTime> {
    Expr::new(call_named(
        cstr!("$dateFromParts"),
        [
            (cstr!("year"), year.number()),
            (cstr!("month"), month.number()),
            (cstr!("day"), day.number()),
        ],
    ))
}
