//! Dates in typed pipelines.

use bson::DateTime;
use odm::expr::{TimeUnit, Weekday, count, date, literal, now};
use odm::{Db, Embedded, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    parts_are_of_utc_or_of_a_zone,
    units_begin_where_they_do_there,
    sums_and_differences_follow_the_calendar,
    dates_are_written_read_and_made,
    dates_of_other_libraries_are_constants_and_fields,
    what_is_no_date_is_an_error,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "loans")]
struct Loan {
    #[serde(rename = "_id")]
    id: i32,
    begun: DateTime,
    ended: Option<DateTime>,
    zone: String,
    days: i64,
    noted: String,
}

fn at(text: &str) -> DateTime {
    DateTime::parse_rfc3339_str(text).unwrap()
}

async fn loans(db: &Db) -> odm::Collection<Loan> {
    let loans = db.collection::<Loan>();
    let loan = |id, begun, ended: Option<&str>, zone: &str, days, noted: &str| Loan {
        id,
        begun: at(begun),
        ended: ended.map(at),
        zone: zone.to_owned(),
        days,
        noted: noted.to_owned(),
    };
    loans
        .insert_many([
            loan(
                1,
                "2026-01-31T22:30:15.250Z",
                Some("2026-03-01T00:10:00Z"),
                "Europe/Oslo",
                28,
                "2026-02-03",
            ),
            loan(2, "2025-12-31T23:30:00Z", None, "+05:30", 14, "03.02.2026"),
            // The night when clocks in Oslo go forward: 02:00 is 03:00.
            loan(
                3,
                "2026-03-28T12:00:00Z",
                Some("2026-03-30T11:00:00Z"),
                "Europe/Oslo",
                1,
                "soon",
            ),
        ])
        .await
        .unwrap();
    loans
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Parts {
    #[serde(rename = "_id")]
    id: i32,
    utc: Vec<i32>,
    there: Vec<i32>,
}

async fn parts_are_of_utc_or_of_a_zone(db: &Db) {
    let parts = loans(db)
        .await
        .aggregate()
        .filter(|l| l.id.lte(2))
        .project::<Parts>(|l, p| {
            let (utc, there) = (l.begun.value(), l.begun.value().in_zone(&l.zone));
            let all = |parts: Vec<odm::expr::Expr<Loan, odm::expr::Number>>| {
                let parts: Vec<_> = parts.into_iter().map(|part| part.to_bson().unwrap()).collect();
                odm::expr::Expr::<Loan, Vec<i32>>::raw(bson::doc! { "$concatArrays": [parts] })
            };
            p.id.of(l.id)
                & p.utc.of(all(vec![
                    utc.clone().year(),
                    utc.clone().month(),
                    utc.clone().day(),
                    utc.clone().hour(),
                    utc.clone().minute(),
                    utc.clone().second(),
                    utc.clone().millisecond(),
                    utc.clone().day_of_week(),
                    utc.clone().day_of_year(),
                    utc.clone().week(),
                    utc.clone().iso_week(),
                    utc.clone().iso_year(),
                    utc.iso_day_of_week(),
                ]))
                & p.there.of(all(vec![
                    there.clone().year(),
                    there.clone().month(),
                    there.clone().day(),
                    there.clone().hour(),
                    there.clone().minute(),
                    there.clone().second(),
                    there.clone().millisecond(),
                    there.clone().day_of_week(),
                    there.clone().day_of_year(),
                    there.clone().week(),
                    there.clone().iso_week(),
                    there.clone().iso_year(),
                    there.iso_day_of_week(),
                ]))
        })
        .sort(|p| p.id.asc())
        .await
        .unwrap();
    assert_eq!(parts[0].utc, [2026, 1, 31, 22, 30, 15, 250, 7, 31, 4, 5, 2026, 6]);
    assert_eq!(
        parts[0].there,
        [2026, 1, 31, 23, 30, 15, 250, 7, 31, 4, 5, 2026, 6]
    );
    assert_eq!(parts[1].utc, [2025, 12, 31, 23, 30, 0, 0, 4, 365, 52, 1, 2026, 3]);
    assert_eq!(parts[1].there, [2026, 1, 1, 5, 0, 0, 0, 5, 1, 0, 1, 2026, 4]);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Beginnings {
    day: DateTime,
    there: DateTime,
    quarter: DateTime,
    fortnight: DateTime,
    hours: DateTime,
    sunday: DateTime,
    monday: DateTime,
    ended: Option<DateTime>,
}

async fn units_begin_where_they_do_there(db: &Db) {
    let found = loans(db)
        .await
        .aggregate()
        .filter(|l| l.id.eq(2))
        .project::<Beginnings>(|l, b| {
            b.day.of(l.begun.value().truncated(TimeUnit::Day))
                & b.there
                    .of(l.begun.value().in_zone("Asia/Kolkata").truncated(TimeUnit::Day))
                & b.quarter.of(l.begun.value().truncated(TimeUnit::Quarter))
                & b.fortnight.of(l.begun.value().truncated_by(2, TimeUnit::Week))
                & b.hours.of(l
                    .begun
                    .value()
                    .in_zone("Europe/Oslo")
                    .truncated_by(6, TimeUnit::Hour))
                & b.sunday.of(l.begun.value().truncated(TimeUnit::Week))
                & b.monday.of(l
                    .begun
                    .value()
                    .in_zone("Europe/Oslo")
                    .truncated_to_week(Weekday::Monday))
                & b.ended.of(l.ended.value().truncated(TimeUnit::Day))
        })
        .await
        .unwrap();
    assert_eq!(
        found,
        [Beginnings {
            day: at("2025-12-31T00:00:00Z"),
            there: at("2025-12-31T18:30:00Z"),
            quarter: at("2025-10-01T00:00:00Z"),
            fortnight: at("2025-12-28T00:00:00Z"),
            hours: at("2025-12-31T23:00:00Z"),
            sunday: at("2025-12-28T00:00:00Z"),
            monday: at("2025-12-28T23:00:00Z"),
            ended: None,
        }]
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Spans {
    #[serde(rename = "_id")]
    id: i32,
    due: DateTime,
    month: DateTime,
    before: DateTime,
    hours: Option<i64>,
    days: Option<i32>,
    weeks: Option<i32>,
}

async fn sums_and_differences_follow_the_calendar(db: &Db) {
    let loans = loans(db).await;
    let spans = loans
        .aggregate()
        .project::<Spans>(|l, s| {
            s.id.of(l.id)
                & s.due
                    .of(l.begun.value().in_zone(&l.zone).plus(&l.days, TimeUnit::Day))
                & s.month.of(l.begun.value().plus(1, TimeUnit::Month))
                & s.before.of(l
                    .begun
                    .value()
                    .in_zone("UTC")
                    .minus(l.days.value() + 1, TimeUnit::Hour))
                & s.hours.of(l.begun.value().until(&l.ended, TimeUnit::Hour))
                & s.days.of(l
                    .begun
                    .value()
                    .in_zone(&l.zone)
                    .until(l.ended.value(), TimeUnit::Day))
                & s.weeks.of(l.begun.value().weeks_until(&l.ended, Weekday::Monday))
        })
        .sort(|s| s.id.asc())
        .await
        .unwrap();
    assert_eq!(
        spans,
        [
            Spans {
                id: 1,
                due: at("2026-02-28T22:30:15.250Z"),
                month: at("2026-02-28T22:30:15.250Z"),
                before: at("2026-01-30T17:30:15.250Z"),
                hours: Some(674),
                days: Some(29),
                weeks: Some(4),
            },
            Spans {
                id: 2,
                due: at("2026-01-14T23:30:00Z"),
                month: at("2026-01-31T23:30:00Z"),
                before: at("2025-12-31T08:30:00Z"),
                hours: None,
                days: None,
                weeks: None,
            },
            Spans {
                id: 3,
                due: at("2026-03-29T11:00:00Z"),
                month: at("2026-04-28T12:00:00Z"),
                before: at("2026-03-28T10:00:00Z"),
                hours: Some(47),
                days: Some(2),
                weeks: Some(1),
            },
        ]
    );
    // In the filter of a find, beside constants and the time that it is.
    let long = loans
        .find(|l| {
            l.begun
                .value()
                .until(at("2026-02-01T00:00:00Z"), TimeUnit::Month)
                .at_least(1)
                .holds()
        })
        .sort(|l| l.id.asc())
        .await
        .unwrap();
    assert_eq!(long.iter().map(|loan| loan.id).collect::<Vec<_>>(), [1, 2]);
    let late = loans.count(|l| l.begun.value().plus(100, TimeUnit::Year).lt(now()).holds());
    assert_eq!(late.await.unwrap(), 0);
    let begun = loans.count(|l| l.begun.value().minus(100, TimeUnit::Year).lt(now()).holds());
    assert_eq!(begun.await.unwrap(), 3);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Written {
    #[serde(rename = "_id")]
    id: i32,
    local: String,
    iso: DateTime,
    noted: Option<DateTime>,
    new_year: DateTime,
}

async fn dates_are_written_read_and_made(db: &Db) {
    let written = loans(db)
        .await
        .aggregate()
        .filter(|l| l.id.ne(1))
        .project::<Written>(|l, w| {
            w.id.of(l.id)
                & w.local
                    .of(l.begun.value().in_zone(&l.zone).format("%d.%m.%Y %H:%M"))
                & w.iso
                    .of(literal("2026-02-03T04:05:06+01:00".to_owned()).to_date())
                & w.noted.of(l.noted.value().parse_date("%d.%m.%Y"))
                & w.new_year.of(date(l.begun.value().year() + 1, 1, 1))
        })
        .sort(|w| w.id.asc())
        .await
        .unwrap();
    let iso = at("2026-02-03T03:05:06Z");
    assert_eq!(
        written,
        [
            Written {
                id: 2,
                local: "01.01.2026 05:00".into(),
                iso,
                noted: Some(at("2026-02-03T00:00:00Z")),
                new_year: at("2026-01-01T00:00:00Z"),
            },
            Written {
                id: 3,
                local: "28.03.2026 13:00".into(),
                iso,
                noted: None,
                new_year: at("2027-01-01T00:00:00Z"),
            },
        ]
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "visits")]
struct Visit {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(with = "odm::as_bson")]
    came: chrono::DateTime<chrono::Utc>,
    #[serde(with = "odm::as_bson")]
    went: Option<chrono::DateTime<chrono::Utc>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Stay {
    #[serde(with = "odm::as_bson")]
    day: chrono::DateTime<chrono::Utc>,
    minutes: Option<i32>,
    since: i32,
}

async fn dates_of_other_libraries_are_constants_and_fields(db: &Db) {
    let utc = |text: &str| text.parse::<chrono::DateTime<chrono::Utc>>().unwrap();
    let visits = db.collection::<Visit>();
    let (came, went) = (utc("2026-05-05T10:20:00Z"), utc("2026-05-05T11:00:30Z"));
    visits
        .insert(Visit {
            id: 1,
            came,
            went: Some(went),
        })
        .await
        .unwrap();
    visits
        .insert(Visit {
            id: 2,
            came,
            went: None,
        })
        .await
        .unwrap();
    let stays = visits
        .aggregate()
        .sort(|v| v.id.asc())
        .project::<Stay>(|v, s| {
            s.day.of(v.came.value().truncated(TimeUnit::Day))
                & s.minutes.of(v.came.value().until(&v.went, TimeUnit::Minute))
                & s.since
                    .of(v.came.value().until(utc("2026-05-07T00:00:00Z"), TimeUnit::Day))
        })
        .await
        .unwrap();
    let day = utc("2026-05-05T00:00:00Z");
    assert_eq!(
        stays,
        [
            Stay {
                day,
                minutes: Some(40),
                since: 2
            },
            Stay {
                day,
                minutes: None,
                since: 2
            }
        ]
    );
    // Constants beside what is computed are stored as the field's values are.
    let due = visits.count(|v| {
        v.came
            .value()
            .plus(1, TimeUnit::Hour)
            .gt(utc("2026-05-05T11:19:00Z"))
            .holds()
    });
    assert_eq!(due.await.unwrap(), 2);
}

async fn what_is_no_date_is_an_error(db: &Db) {
    let loans = loans(db).await;
    let zoned = |zone: &str| loans.count(|l| l.begun.value().in_zone(zone).hour().equals(1).holds());
    assert_eq!(zoned("Europe/Atlantis").await.unwrap_err().code(), Some(40485));
    assert_eq!(zoned("Europe/Oslo").await.unwrap(), 0);
    let group = loans.aggregate().group::<Month>(|l, m| {
        m.month.by(l.noted.value().to_date().truncated(TimeUnit::Month)) & m.loans.is(count())
    });
    assert_eq!(group.await.unwrap_err().code(), Some(241));
    let none = loans.count(|l| l.begun.value().truncated_by(0, TimeUnit::Day).lt(now()).holds());
    assert_eq!(none.await.unwrap_err().code(), Some(5439018));
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Month {
    #[serde(rename = "_id")]
    month: DateTime,
    loans: i32,
}
