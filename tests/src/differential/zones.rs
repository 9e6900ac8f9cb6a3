//! Dates in time zones: the same moments, places and units on both backends.

use bson::{Bson, DateTime, Document, doc};
use odm::Db;

use super::Report;
use crate::random::Random;

/// Places whose rules no later release of the time zone database has changed, neither from 1970 to 2022 nor for later
/// years; the last few have no name there.
const PLACES: &[&str] = &[
    "UTC",
    "America/New_York",
    "America/Los_Angeles",
    "America/St_Johns",
    "America/Sao_Paulo",
    "America/Havana",
    "America/Caracas",
    "America/Santiago",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Tehran",
    "Asia/Tokyo",
    "Asia/Pyongyang",
    "Asia/Jerusalem",
    "Africa/Johannesburg",
    "Africa/Windhoek",
    "Australia/Adelaide",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Europe/Amsterdam",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/Istanbul",
    "Europe/London",
    "Europe/Moscow",
    "Pacific/Apia",
    "Pacific/Auckland",
    "Pacific/Chatham",
    "Pacific/Kiritimati",
    "EST",
    "EST5EDT",
    "Etc/GMT+5",
    "GB",
    "US/Pacific",
    "+05:30",
    "-0930",
    "+14",
    "america/new_york",
    "Nowhere/Else",
    "",
];

/// The units of dates.
pub(super) const UNITS: &[&str] = &[
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "millisecond",
];

/// How many dates one command holds.
const BATCH: u64 = 40;

/// Compares so many random dates in random places.
pub async fn compare_zones(ours: &Db, theirs: &Db, seed: u64, dates: u64, most: usize) -> Report {
    let mut random = Random::new(seed);
    let mut report = Report::default();
    while report.operations < dates && report.differences.len() < most {
        let documents: Vec<Document> = (0..BATCH).map(|_| document(&mut random)).collect();
        report.operations += BATCH;
        for document in documents {
            let (own, their) = (asked(ours, &document).await, asked(theirs, &document).await);
            if own != their {
                report
                    .differences
                    .push(format!("{document}\n  ours   {own}\n  mongod {their}"));
            }
        }
    }
    report
}

/// A moment from 1970 to 2022; every other one within a day of where clocks are changed in many places.
fn moment(random: &mut Random) -> DateTime {
    const HALF_YEAR: i64 = 182 * 86_400_000;
    let ms = match random.below(2) {
        0 => random.below(1_640_000_000) as i64 * 1000 + random.below(1000) as i64,
        _ => {
            let year = random.below(52) as i64;
            let spring = year * 365 * 86_400_000 + 80 * 86_400_000;
            let around = random.below(14 * 24 * 2) as i64 * 1_800_000;
            spring + random.below(2) as i64 * HALF_YEAR + around
        }
    };
    DateTime::from_millis(ms)
}

fn document(random: &mut Random) -> Document {
    doc! {
        "d": moment(random),
        "e": moment(random),
        "z": *random.pick(PLACES),
        "u": *random.pick(UNITS),
        "n": random.below(60) as i32 - 30,
        "b": 1 + random.below(9) as i32,
        "w": *random.pick(&["sunday", "mon", "saturday"]),
        "y": 1970 + random.below(52) as i32,
        "m": 1 + random.below(12) as i32,
        "h": random.below(30) as i32 - 2,
        "t": random.below(60) as i32,
    }
}

/// What the backend makes of the dates, as text; the code of a refusal.
async fn asked(db: &Db, document: &Document) -> String {
    let text = "%Y-%m-%dT%H:%M:%S.%L %z %Z %j %u %V %G";
    let made = doc! {
        "parts": { "$dateToParts": { "date": "$d", "timezone": "$z" } },
        "iso": { "$dateToParts": { "date": "$d", "timezone": "$z", "iso8601": true } },
        "text": { "$dateToString": { "date": "$d", "timezone": "$z", "format": text } },
        "day": { "$dayOfYear": { "date": "$d", "timezone": "$z" } },
        "week": { "$week": { "date": "$d", "timezone": "$z" } },
        "made": { "$dateFromParts": {
            "year": "$y", "month": "$m", "day": "$b", "hour": "$h", "minute": "$t", "timezone": "$z",
        } },
        "read": { "$dateFromString": {
            "dateString": { "$dateToString": { "date": "$d", "timezone": "$z", "format": "%Y-%m-%dT%H:%M:%S" } },
            "timezone": "$z",
        } },
        "added": { "$dateAdd": { "startDate": "$d", "unit": "$u", "amount": "$n", "timezone": "$z" } },
        "taken": { "$dateSubtract": { "startDate": "$d", "unit": "$u", "amount": "$n", "timezone": "$z" } },
        "apart": { "$dateDiff": {
            "startDate": "$d", "endDate": "$e", "unit": "$u", "timezone": "$z", "startOfWeek": "$w",
        } },
        "cut": { "$dateTrunc": {
            "date": "$d", "unit": "$u", "binSize": "$b", "timezone": "$z", "startOfWeek": "$w",
        } },
    };
    let command = doc! {
        "aggregate": 1,
        "pipeline": [
            { "$documents": [document] },
            { "$project": made },
        ],
        "cursor": {},
    };
    match db.run_command(command).await {
        Ok(reply) => match reply
            .get_document("cursor")
            .and_then(|own| own.get_array("firstBatch"))
        {
            Ok(rows) => rows.iter().map(Bson::to_string).collect(),
            Err(_) => format!("no rows: {reply}"),
        },
        Err(error) => format!("{:?}", error.code()),
    }
}
