//! Dates.

use bson::RawBson;
use bson::raw::cstr;

use super::{Expr, Number, call, call_named, constant};
use crate::model::Date;

macro_rules! parts {
    ($($method:ident $operator:literal $doc:literal;)*) => {
        impl<R, T: Date> Expr<R, T> {$(
            #[doc = $doc]
            pub fn $method(self) -> Expr<R, Number> {
                Expr::new(self.value.map(|value| call(cstr!($operator), value)))
            }
        )*}
    };
}

parts! {
    year "$year" "The year, in UTC.";
    month "$month" "The month, 1 to 12, in UTC.";
    day "$dayOfMonth" "The day of the month, 1 to 31, in UTC.";
    hour "$hour" "The hour, 0 to 23, in UTC.";
    minute "$minute" "The minute, 0 to 59.";
    second "$second" "The second, 0 to 60.";
    day_of_week "$dayOfWeek" "The day of the week, 1 (Sunday) to 7, in UTC.";
    day_of_year "$dayOfYear" "The day of the year, 1 to 366, in UTC.";
    iso_week "$isoWeek" "The week of the year by ISO 8601, 1 to 53, in UTC.";
}

impl<R, T: Date> Expr<R, T> {
    /// The beginning of its `year`, `quarter`, `month`, `week`, `day`, `hour`, `minute` or `second`, in UTC.
    pub fn truncated(self, unit: &str) -> Expr<R, bson::DateTime> {
        let unit = Ok(constant(RawBson::String(unit.to_owned())));
        Expr::new(call_named(
            cstr!("$dateTrunc"),
            [(cstr!("date"), self.value), (cstr!("unit"), unit)],
        ))
    }

    /// As text, in MongoDB's format: `"%Y-%m-%d"`; in UTC.
    pub fn format(self, format: &str) -> Expr<R, String> {
        let format = Ok(constant(RawBson::String(format.to_owned())));
        Expr::new(call_named(
            cstr!("$dateToString"),
            [(cstr!("date"), self.value), (cstr!("format"), format)],
        ))
    }
}
