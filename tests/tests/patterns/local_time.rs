//! Local time in collections.

use bson::{Bson, DateTime, RawBson, RawDocument, doc};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use odm::expr::count;
use odm::{CopyOf, Db, Derivation, Derived, Embedded, ErrorKind, Model, Ref};
use odm_patterns::time::{
    Appointment, Choice, Happened, LocalTime, OwnOffset, Period, ScriptTime, TimeError, Unit, Zones,
    revalidate,
};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    both_kinds_are_stored_as_said,
    the_manuals_documents_are_read_and_written,
    local_days_are_ranges_of_an_index,
    groups_by_the_database_are_the_same_periods,
    every_change_of_a_day_groups_as_the_server_groups_it,
    things_group_by_their_own_clocks,
    appointments_follow_new_rules,
    what_cannot_be_moved_is_reported,
    a_revalidation_is_resumed,
    appointments_in_lists_follow_new_rules,
    a_refused_appointment_stops_no_other,
    appointments_change_as_the_model_changes_them,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "time_events")]
#[odm(index(keys(at.date)))]
struct Event {
    #[serde(rename = "_id")]
    id: i32,
    at: Happened,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "time_meetings")]
#[odm(index(keys(at.tzdb)))]
struct Meeting {
    #[serde(rename = "_id")]
    id: i32,
    at: Appointment,
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn zone(name: &str) -> TimeZone {
    Zones::bundled().get(name).unwrap()
}

fn millis(text: &str) -> DateTime {
    DateTime::from_millis(at(text).as_millisecond())
}

async fn both_kinds_are_stored_as_said(db: &Db) {
    let events = db.collection::<Event>();
    let event: Happened = "2026-07-01T09:30:00.123456789-04:00[America/New_York]"
        .parse()
        .unwrap();
    events
        .insert(Event {
            id: 1,
            at: event.clone(),
        })
        .await
        .unwrap();
    let plain = Happened::at_offset(at("2026-01-01T00:00:00Z"), jiff::tz::offset(5));
    events
        .insert(Event {
            id: 2,
            at: plain.clone(),
        })
        .await
        .unwrap();
    let stored = events.raw().find_all().sort_raw(doc! {"_id": 1}).await.unwrap();
    let expected = [
        doc! {"_id": 1, "at": {"date": millis("2026-07-01T13:30:00.123Z"), "offset": -14_400, "zone": "America/New_York", "nanos": 456_789}},
        doc! {"_id": 2, "at": {"date": millis("2026-01-01T00:00:00Z"), "offset": 18_000}},
    ];
    assert_eq!(stored, expected);
    assert_eq!(events.get(1).required().await.unwrap().at, event);
    assert_eq!(
        events
            .count(|e| e.at.zone.eq("America/New_York") & e.at.date.lt(millis("2027-01-01T00:00:00Z")))
            .await
            .unwrap(),
        1
    );
    // By the database's clock.
    let clocked = db.with_clock(|| millis("2026-10-25T00:30:00Z"));
    assert_eq!(
        Happened::now(&clocked, &zone("Europe/Berlin"))
            .unwrap()
            .to_string(),
        "2026-10-25T02:30:00+02:00[Europe/Berlin]"
    );

    let meetings = db.collection::<Meeting>();
    let zones = Zones::bundled();
    let meeting = Appointment::new(
        "2026-10-25T02:30".parse().unwrap(),
        "Europe/Berlin",
        Choice::Later,
        &zones,
    )
    .unwrap();
    meetings
        .insert(Meeting {
            id: 1,
            at: meeting.clone(),
        })
        .await
        .unwrap();
    let stored = meetings.raw().find_one(doc! {"_id": 1}).required().await.unwrap();
    let expected = doc! {
        "civil": millis("2026-10-25T02:30:00Z"),
        "zone": "Europe/Berlin",
        "choose": "later",
        "date": millis("2026-10-25T01:30:00Z"),
        "offset": 3600,
        "tzdb": zones.version(),
    };
    assert_eq!(stored, doc! {"_id": 1, "at": expected});
    assert_eq!(meetings.get(1).required().await.unwrap().at, meeting);
    assert_eq!(
        meeting.happened().to_string(),
        "2026-10-25T02:30:00+01:00[Europe/Berlin]"
    );
    let fine = Appointment::new(
        "2026-10-25T02:30:00.0001".parse().unwrap(),
        "Europe/Berlin",
        Choice::Later,
        &zones,
    );
    assert_eq!(fine, Err(TimeError::TooFine));
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "time_manual")]
struct Manual {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(flatten)]
    at: ScriptTime,
}

async fn the_manuals_documents_are_read_and_written(db: &Db) {
    let documents = db.collection::<Manual>();
    let date = millis("2026-07-01T13:30:00Z");
    // The shell's own, of New York: 240.
    documents
        .raw()
        .insert(doc! {"_id": 1, "date": date, "offset": 240.0})
        .await
        .unwrap();
    let read = documents.get(1).required().await.unwrap();
    let happened = Happened::try_from(&read.at).unwrap();
    assert_eq!(happened.to_string(), "2026-07-01T09:30:00-04:00");
    documents
        .insert(Manual {
            id: 2,
            at: ScriptTime::try_from(&happened).unwrap(),
        })
        .await
        .unwrap();
    let stored = documents
        .raw()
        .find_one(doc! {"_id": 2})
        .required()
        .await
        .unwrap();
    assert_eq!(stored, doc! {"_id": 2, "date": date, "offset": 240});
    documents
        .raw()
        .insert(doc! {"_id": 3, "date": date, "offset": 1.5})
        .await
        .unwrap();
    assert_eq!(documents.get(3).await.unwrap_err().kind(), ErrorKind::Decode);
    // Seconds taken for minutes are found.
    let wrong = ScriptTime { date, offset: 14_400 };
    assert_eq!(Happened::try_from(&wrong), Err(TimeError::OutOfRange));
}

async fn hourly(db: &Db, name: &str, from: &str, to: &str) {
    let zone = zone(name);
    let (mut instant, to) = (at(from), at(to));
    let mut events = Vec::new();
    while instant < to {
        events.push(Event {
            id: events.len() as i32,
            at: Happened::at(instant, &zone),
        });
        instant = instant.checked_add(jiff::SignedDuration::from_mins(60)).unwrap();
    }
    db.collection::<Event>().insert_many(&events).await.unwrap();
}

async fn local_days_are_ranges_of_an_index(db: &Db) {
    db.collection::<Event>().sync_indexes().await.unwrap();
    hourly(
        db,
        "Europe/Berlin",
        "2026-10-23T00:00:00Z",
        "2026-10-28T00:00:00Z",
    )
    .await;
    let (watched, scans) = db.watch_scans();
    let events = watched.collection::<Event>();
    for (day, hours) in [("2026-10-24", 24), ("2026-10-25", 25), ("2026-10-26", 24)] {
        let day = Period::day(day.parse().unwrap(), &zone("Europe/Berlin")).unwrap();
        assert_eq!(
            events.find(|e| e.at.date.in_period(&day)).await.unwrap().len(),
            hours
        );
    }
    assert!(scans.entries().is_empty());
    hourly_again(db).await;
}

/// The day of 23 hours.
async fn hourly_again(db: &Db) {
    db.collection::<Event>().drop().await.unwrap();
    hourly(
        db,
        "Europe/Berlin",
        "2026-03-28T00:00:00Z",
        "2026-03-31T00:00:00Z",
    )
    .await;
    let events = db.collection::<Event>();
    let day = Period::day("2026-03-29".parse().unwrap(), &zone("Europe/Berlin")).unwrap();
    assert_eq!(events.count(|e| e.at.date.in_period(&day)).await.unwrap(), 23);
    let hours = Period::covering(Unit::Hour, day.range(), &zone("Europe/Berlin")).unwrap();
    assert_eq!(hours.len(), 23);
    for hour in hours {
        assert_eq!(
            events.count(|e| e.at.date.in_period(&hour)).await.unwrap(),
            1,
            "{}",
            hour.key()
        );
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Group {
    #[serde(rename = "_id")]
    start: DateTime,
    events: i32,
}

async fn groups(db: &Db, unit: Unit, zone: &str) -> Vec<(DateTime, i32)> {
    let groups: Vec<Group> = db
        .collection::<Event>()
        .aggregate()
        .group::<Group>(|e, g| g.start.by(e.at.date.truncated_in(unit, zone)) & g.events.is(count()))
        .sort(|g| g.start.asc())
        .await
        .unwrap();
    groups
        .into_iter()
        .map(|group| (group.start, group.events))
        .collect()
}

async fn groups_by_the_database_are_the_same_periods(db: &Db) {
    hourly(
        db,
        "Europe/Berlin",
        "2026-10-22T00:00:00Z",
        "2026-11-02T00:00:00Z",
    )
    .await;
    let berlin = zone("Europe/Berlin");
    let all = millis("2026-10-22T00:00:00Z")..millis("2026-11-02T00:00:00Z");
    for unit in [
        Unit::Hour,
        Unit::Day,
        Unit::Week,
        Unit::SundayWeek,
        Unit::Month,
        Unit::Quarter,
        Unit::Year,
    ] {
        let periods = Period::covering(unit, all.clone(), &berlin).unwrap();
        let found = groups(db, unit, "Europe/Berlin").await;
        assert_eq!(found.len(), periods.len(), "{unit:?}");
        for ((start, events), period) in found.into_iter().zip(periods) {
            assert_eq!(start, period.range().start, "{unit:?}");
            let counted = db
                .collection::<Event>()
                .count(|e| e.at.date.in_period(&period))
                .await
                .unwrap();
            assert_eq!(events as u64, counted, "{unit:?} {}", period.key());
        }
    }
}

async fn every_change_of_a_day_groups_as_the_server_groups_it(db: &Db) {
    for (name, from, to, longest) in [
        (
            "Europe/Berlin",
            "2026-03-27T00:00:00Z",
            "2026-04-01T00:00:00Z",
            23,
        ),
        (
            "Europe/Berlin",
            "2026-10-23T00:00:00Z",
            "2026-10-28T00:00:00Z",
            25,
        ),
        (
            "America/New_York",
            "2026-03-06T00:00:00Z",
            "2026-03-11T00:00:00Z",
            23,
        ),
        (
            "America/New_York",
            "2026-10-30T00:00:00Z",
            "2026-11-04T00:00:00Z",
            25,
        ),
        (
            "Australia/Sydney",
            "2020-04-03T00:00:00Z",
            "2020-04-08T00:00:00Z",
            25,
        ),
        (
            "Asia/Kathmandu",
            "2020-04-03T00:00:00Z",
            "2020-04-06T00:00:00Z",
            24,
        ),
    ] {
        db.collection::<Event>().drop().await.unwrap();
        hourly(db, name, from, to).await;
        let found = groups(db, Unit::Day, name).await;
        let periods = Period::covering(Unit::Day, millis(from)..millis(to), &zone(name)).unwrap();
        let starts: Vec<DateTime> = periods.iter().map(|period| period.range().start).collect();
        assert_eq!(
            found.iter().map(|(start, _)| *start).collect::<Vec<_>>(),
            starts,
            "{name}"
        );
        assert!(
            found.iter().any(|(_, events)| *events == longest),
            "{name} {found:?}"
        );
        for ((_, events), period) in found.iter().zip(&periods) {
            let counted = db
                .collection::<Event>()
                .count(|e| e.at.date.in_period(period))
                .await
                .unwrap();
            assert_eq!(*events as u64, counted, "{name}");
        }
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Named {
    #[serde(rename = "_id")]
    day: String,
    events: i32,
}

async fn things_group_by_their_own_clocks(db: &Db) {
    let events = db.collection::<Event>();
    for (id, text) in [
        (1, "2026-07-01T23:30:00-04:00"),
        (2, "2026-07-02T00:30:00+09:00"),
        (3, "2026-07-01T00:10:00+05:45"),
    ] {
        events
            .insert(Event {
                id,
                at: text.parse().unwrap(),
            })
            .await
            .unwrap();
    }
    let days: Vec<Named> = events
        .aggregate()
        .group::<Named>(|e, n| n.day.by(e.at.local().format("%Y-%m-%dT%H")) & n.events.is(count()))
        .sort(|n| n.day.asc())
        .await
        .unwrap();
    let days: Vec<&str> = days.iter().map(|day| day.day.as_str()).collect();
    assert_eq!(days, ["2026-07-01T00", "2026-07-01T23", "2026-07-02T00"]);
}

fn rules(version: &str, posix: &'static str) -> Zones {
    Zones::new(version, move |name| match name {
        "Europe/Berlin" => TimeZone::posix(posix).ok(),
        _ => None,
    })
}

async fn meetings(db: &Db, civil: &[&str]) -> odm::Collection<Meeting> {
    let meetings = db.collection::<Meeting>();
    let zones = Zones::bundled();
    for (id, civil) in (0..).zip(civil) {
        let at = Appointment::new(civil.parse().unwrap(), "Europe/Berlin", Choice::Reject, &zones).unwrap();
        meetings.insert(Meeting { id, at }).await.unwrap();
    }
    meetings
}

async fn appointments_follow_new_rules(db: &Db) {
    let meetings = meetings(db, &["2030-01-10T10:00", "2030-07-10T10:00"]).await;
    meetings.sync_indexes().await.unwrap();
    let unchanged = revalidate(&meetings, |m| m.at.clone(), &Zones::bundled())
        .await
        .unwrap();
    assert_eq!((unchanged.moved.len(), unchanged.confirmed), (0, 0));
    // Summer time is abolished: ten o'clock in July is an hour later in UTC.
    let abolished = rules("2029a", "CET-1");
    let report = revalidate(&meetings, |m| m.at.clone(), &abolished).await.unwrap();
    assert_eq!(
        (report.moved.len(), report.confirmed, report.refused.len()),
        (1, 1, 0)
    );
    let moved = &report.moved[0];
    assert_eq!(
        (&moved.id, moved.from, moved.to),
        (
            &Bson::Int32(1),
            millis("2030-07-10T08:00:00Z"),
            millis("2030-07-10T09:00:00Z")
        )
    );
    let july = meetings.get(1).required().await.unwrap().at;
    assert_eq!(
        (july.civil.to_string(), july.offset, july.tzdb.as_str()),
        ("2030-07-10T10:00:00".to_owned(), 3600, "2029a")
    );
    assert_eq!(
        meetings
            .count(|m| m.at.date.eq(millis("2030-07-10T09:00:00Z")))
            .await
            .unwrap(),
        1
    );
}

async fn what_cannot_be_moved_is_reported(db: &Db) {
    let meetings = meetings(db, &["2030-07-10T10:00", "2030-02-10T02:30"]).await;
    // Clocks jump on the tenth of February by these rules, over the second meeting.
    let jumping = rules("2029b", "CET-1CEST,J41/2,J300/3");
    let report = revalidate(&meetings, |m| m.at.clone(), &jumping).await.unwrap();
    assert_eq!((report.moved.len(), report.confirmed), (0, 1));
    let civil = "2030-02-10T02:30".parse().unwrap();
    let (id, refused) = &report.refused[0];
    assert_eq!((report.refused.len(), id), (1, &Bson::Int32(1)));
    let why = std::error::Error::source(refused).and_then(|why| why.downcast_ref());
    assert_eq!(why, Some(&TimeError::Skipped { civil }));
    assert_eq!(
        (refused.model(), refused.id(), refused.path()),
        (Some("Meeting"), Some(id), Some("at"))
    );
    assert_eq!(
        meetings.get(1).required().await.unwrap().at.tzdb,
        Zones::bundled().version()
    );
    let nowhere = Zones::new("2029c", |_| None);
    let report = revalidate(&meetings, |m| m.at.clone(), &nowhere).await.unwrap();
    assert_eq!(report.refused.len(), 2);
}

async fn a_revalidation_is_resumed(db: &Db) {
    let days: Vec<String> = (1..=20).map(|day| format!("2030-07-{day:02}T10:00")).collect();
    let days: Vec<&str> = days.iter().map(String::as_str).collect();
    let all = meetings(db, &days).await;
    let (faulty, faults) = db.faulty();
    faults.add(odm::backend::wrap::Fault::nth_write(7).crash());
    let abolished = rules("2029a", "CET-1");
    assert!(
        revalidate(&faulty.collection::<Meeting>(), |m| m.at.clone(), &abolished)
            .await
            .is_err()
    );
    let report = revalidate(&all, |m| m.at.clone(), &abolished).await.unwrap();
    assert_eq!(report.moved.len(), 14);
    assert_eq!(
        all.count(|m| m.at.offset.eq(3600) & m.at.tzdb.eq("2029a"))
            .await
            .unwrap(),
        20
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Slot {
    at: Appointment,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "time_courses")]
struct Course {
    #[serde(rename = "_id")]
    id: i32,
    slots: Vec<Slot>,
    breaks: Vec<Appointment>,
    #[odm(version)]
    version: i64,
}

async fn appointments_in_lists_follow_new_rules(db: &Db) {
    let courses = db.collection::<Course>();
    let by = |zones: &Zones, civil: &str| {
        Appointment::new(civil.parse().unwrap(), "Europe/Berlin", Choice::Reject, zones).unwrap()
    };
    let bundled = Zones::bundled();
    let abolished = rules("2029a", "CET-1");
    let slots = vec![
        Slot {
            at: by(&bundled, "2030-01-10T10:00"),
        },
        Slot {
            at: by(&abolished, "2030-07-09T10:00"),
        },
        Slot {
            at: by(&bundled, "2030-07-10T10:00"),
        },
    ];
    let course = Course {
        id: 1,
        slots,
        breaks: vec![by(&bundled, "2030-07-10T11:00")],
        version: 0,
    };
    courses.insert(&course).await.unwrap();
    let report = revalidate(&courses, |c| c.slots.any().at.clone(), &abolished)
        .await
        .unwrap();
    let moved: Vec<&str> = report.moved.iter().map(|moved| moved.path.as_str()).collect();
    assert_eq!((moved, report.confirmed), (vec!["slots.2.at"], 1));
    let report = revalidate(&courses, |c| c.breaks.any().clone(), &abolished)
        .await
        .unwrap();
    assert_eq!(
        (report.moved[0].path.as_str(), report.moved.len()),
        ("breaks.0", 1)
    );
    let now = courses.get(1).required().await.unwrap();
    assert_eq!(now.version, 2);
    assert!(
        now.slots
            .iter()
            .all(|slot| slot.at.tzdb == "2029a" && slot.at.offset == 3600)
    );
    // By these rules clocks jump over one of two: the other one moves.
    let jumping = rules("2029b", "CET-1CEST,J10/10,J300/3");
    let report = revalidate(&courses, |c| c.slots.any().at.clone(), &jumping)
        .await
        .unwrap();
    let (_, refused) = &report.refused[0];
    assert_eq!(
        (report.refused.len(), refused.path(), report.moved.len()),
        (1, Some("slots.0.at"), 2)
    );
    let all = revalidate(&courses, |c| c.slots.each().at.clone(), &jumping)
        .await
        .unwrap_err();
    assert_eq!(
        (all.kind(), all.path(), all.model()),
        (ErrorKind::Unsupported, Some("slots.$[].at"), Some("Course"))
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "time_visits", index(keys(room, at.date), unique))]
struct Visit {
    #[serde(rename = "_id")]
    id: i32,
    room: i32,
    at: Appointment,
    #[odm(version)]
    version: i64,
}

async fn a_refused_appointment_stops_no_other(db: &Db) {
    let visits = db.collection::<Visit>();
    visits.sync_indexes().await.unwrap();
    let new = Zones::new("2029a", |name| match name {
        "Europe/Berlin" => TimeZone::posix("CET-1").ok(),
        _ => TimeZone::get(name).ok(),
    });
    let insert = async |id: i32, civil: &str, zone: &str| {
        let civil = civil.parse().unwrap();
        let at = Appointment::new(civil, zone, Choice::Compatible, &Zones::bundled()).unwrap();
        let (room, version) = (1, 0);
        visits
            .insert(Visit {
                id,
                room,
                at,
                version,
            })
            .await
            .unwrap();
    };
    insert(1, "2030-07-01T18:00", "Europe/Berlin").await;
    insert(2, "2030-07-01T17:00", "Etc/UTC").await;
    for id in 3..=8 {
        insert(id, &format!("2030-07-0{id}T10:00"), "Europe/Berlin").await;
    }
    let refused = &visits.raw();
    let nothing = doc! {"_id": 9, "room": 2, "at": {"civil": DateTime::from_millis(0), "tzdb": "0"}};
    refused.insert(nothing).await.unwrap();
    for moved in [6, 0] {
        let mut report = revalidate(&visits, |v| v.at.clone(), &new).await.unwrap();
        assert_eq!(report.moved.len(), moved);
        report.refused.sort_by_key(|(id, _)| id.as_i32());
        let [(one, taken), (nine, none)] = &report.refused[..] else {
            panic!("{report:?}")
        };
        assert_eq!((one, nine), (&Bson::Int32(1), &Bson::Int32(9)));
        assert_eq!(
            (taken.kind(), none.kind()),
            (ErrorKind::DuplicateKey, ErrorKind::Decode)
        );
        assert_eq!(
            (taken.model(), taken.id(), taken.path()),
            (Some("Visit"), Some(one), Some("at"))
        );
        assert_eq!(taken.index(), Some("room_1_at.date_1"));
    }
    // The place is free: the next run goes on.
    visits
        .update_one(|v| v.id.eq(2), |v| v.room.set(3))
        .await
        .unwrap();
    let report = revalidate(&visits, |v| v.at.clone(), &new).await.unwrap();
    assert_eq!((report.moved.len(), report.refused.len()), (1, 1));
}

#[derive(Debug)]
struct Day;

impl Derivation for Day {
    type Value = DateTime;

    fn sources() -> Vec<String> {
        vec!["at".into()]
    }

    fn derive(document: &RawDocument, _: DateTime) -> odm::Result<RawBson> {
        let date = document.get_document("at").and_then(|at| at.get_datetime("date"));
        Ok(RawBson::DateTime(date.unwrap_or(DateTime::from_millis(0))))
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "time_stays", copied_to(Reminder))]
struct Stay {
    #[serde(rename = "_id")]
    id: i32,
    at: Appointment,
    day: Derived<Day>,
    #[odm(version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Stay))]
struct StayCopy {
    #[odm(source)]
    id: Ref<Stay>,
    at: Appointment,
    #[odm(source_version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "time_reminders", index(keys(stay.id)))]
struct Reminder {
    #[serde(rename = "_id")]
    id: i32,
    stay: StayCopy,
}

async fn appointments_change_as_the_model_changes_them(db: &Db) {
    let stays = db.collection::<Stay>();
    let civil = "2030-07-10T10:00".parse().unwrap();
    let at = Appointment::new(civil, "Europe/Berlin", Choice::Reject, &Zones::bundled()).unwrap();
    let stay = Stay {
        id: 1,
        at,
        day: Derived::default(),
        version: 0,
    };
    stays.insert(&stay).await.unwrap();
    let loaded = stays.get(1).required().await.unwrap();
    let stay = StayCopy::copy_of(&loaded).unwrap();
    db.collection::<Reminder>()
        .insert(Reminder { id: 1, stay })
        .await
        .unwrap();
    let report = revalidate(&stays, |s| s.at.clone(), &rules("2029a", "CET-1"))
        .await
        .unwrap();
    assert_eq!(report.moved.len(), 1);
    let now = stays.get(1).required().await.unwrap();
    let moved = millis("2030-07-10T09:00:00Z");
    assert_eq!(
        (now.version, now.at.date, now.day.get()),
        (1, moved, Some(&moved))
    );
    let copy = db.collection::<Reminder>().get(1).required().await.unwrap().stay;
    assert_eq!((copy.version, copy.at.date), (1, moved));
    // A form that was loaded before does not bring the old instant back.
    assert!(stays.save(&loaded).await.unwrap_err().is_conflict());
}
