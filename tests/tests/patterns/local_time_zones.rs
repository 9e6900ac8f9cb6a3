//! Every change of every clock. Nothing of a database.

use bson::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use odm_patterns::time::{Appointment, Choice, Happened, Period, ScriptTime, TimeError, Unit, Zones};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The zones, each with the instants from 1970 to 2037 at which its clocks change; every twelfth zone, unless
/// `ODM_TEST_ALL_ZONES` is set.
fn changes() -> Vec<(String, TimeZone, Vec<Timestamp>)> {
    let zones = Zones::bundled();
    let (first, last) = (at("1970-01-01T00:00:00Z"), at("2038-01-01T00:00:00Z"));
    let of = |name: String| {
        let zone = zones.get(&name).unwrap();
        let changes = zone.following(first).map(|change| change.timestamp());
        let changes = changes.take_while(|change| *change < last).collect();
        (name, zone, changes)
    };
    let step = match std::env::var_os("ODM_TEST_ALL_ZONES") {
        Some(_) => 1,
        None => 12,
    };
    Zones::names().into_iter().step_by(step).map(of).collect()
}

#[test]
fn every_transition_goes_there_and_back() {
    let (mut count, mut gaps, mut folds) = (0, 0, 0);
    let zones = Zones::bundled();
    for (name, zone, changes) in changes() {
        for change in changes {
            count += 1;
            for offset in [
                -1_000_000_001_i64,
                -1_000_000_000,
                -1,
                0,
                1,
                1_000_000_000,
                1_800_000_000_000,
            ] {
                let instant = change.checked_add(SignedDuration::from_nanos(offset)).unwrap();
                let happened = Happened::at(instant, &zone);
                assert_eq!(happened.timestamp(), Ok(instant), "{name}");
                let stored = bson::serialize_to_vec(&happened).unwrap();
                let back: Happened = bson::deserialize_from_slice(&stored).unwrap();
                assert_eq!(back, happened);
                let civil = happened.civil().unwrap();
                assert_eq!(civil, zone.to_datetime(instant), "{name}");
                assert_eq!(
                    happened.to_string().parse::<Happened>().as_ref(),
                    Ok(&happened),
                    "{happened}"
                );
                match ScriptTime::try_from(&happened) {
                    Ok(script) => {
                        let back = Happened::try_from(&script).unwrap();
                        assert_eq!((back.date, back.offset), (happened.date, happened.offset));
                    }
                    Err(error) => {
                        assert_eq!(
                            error,
                            TimeError::NotWholeMinutes {
                                offset: happened.offset
                            }
                        );
                        assert_ne!(happened.offset % 60, 0);
                    }
                }
                // What the clock showed is this instant, or the other one at which it showed that.
                let [earlier, later] =
                    [Choice::Earlier, Choice::Later].map(|choice| choice.instant(civil, &zone).unwrap());
                assert!(earlier == instant || later == instant, "{name} {civil}");
                assert!(earlier <= later);
                assert_eq!(Choice::Compatible.instant(civil, &zone), Ok(earlier));
                match Choice::Reject.instant(civil, &zone) {
                    Ok(only) => assert_eq!((only, earlier, later), (instant, instant, instant)),
                    Err(error) => assert_eq!(error, TimeError::Repeated { civil }),
                }
            }
            // The times that were skipped, or come twice.
            let before = zone
                .to_offset(change.checked_sub(SignedDuration::from_nanos(1)).unwrap())
                .seconds();
            let jump = zone.to_offset(change).seconds() - before;
            let first = zone.to_datetime(change.checked_sub(SignedDuration::from_secs(1)).unwrap());
            let skipped = first.checked_add(SignedDuration::from_secs(2)).unwrap();
            if jump > 2 {
                gaps += 1;
                assert_eq!(
                    Choice::Reject.instant(skipped, &zone),
                    Err(TimeError::Skipped { civil: skipped }),
                    "{name}"
                );
                let [earlier, later] =
                    [Choice::Earlier, Choice::Later].map(|choice| choice.instant(skipped, &zone).unwrap());
                assert_eq!(earlier.duration_until(later).as_secs(), i64::from(jump), "{name}");
                assert_eq!(Choice::Compatible.instant(skipped, &zone), Ok(later));
                let appointment = Appointment::new(skipped, &name, Choice::Compatible, &zones).unwrap();
                assert_eq!(appointment.happened().timestamp(), Ok(later));
            } else if jump < 0 {
                folds += 1;
                assert_eq!(
                    Choice::Reject.instant(first, &zone),
                    Err(TimeError::Repeated { civil: first }),
                    "{name}"
                );
            }
        }
    }
    println!("{count} transitions, {gaps} gaps, {folds} folds");
    assert!(
        count > 1_000 && gaps > 400 && folds > 400,
        "{count} {gaps} {folds}"
    );
}

#[test]
fn periods_cover_all_time() {
    for (name, zone, changes) in changes() {
        // Each third change is enough: there are many of one kind.
        for change in changes.into_iter().step_by(3) {
            for unit in [
                Unit::Hour,
                Unit::Day,
                Unit::Week,
                Unit::Month,
                Unit::Quarter,
                Unit::Year,
            ] {
                let before = Period::of(
                    unit,
                    change.checked_sub(SignedDuration::from_nanos(1)).unwrap(),
                    &zone,
                )
                .unwrap();
                let period = Period::of(unit, change, &zone).unwrap();
                assert!(period.contains(change) && period.start() < period.end(), "{name}");
                if before != period {
                    assert_eq!(
                        (before.end(), before.next().as_ref()),
                        (period.start(), Ok(&period)),
                        "{name} {change} {unit:?}"
                    );
                    assert_eq!(
                        period.previous().as_ref(),
                        Ok(&before),
                        "{name} {change} {unit:?}"
                    );
                    assert_ne!(before.key(), period.key(), "{name} {change}");
                }
                let next = period.next().unwrap();
                assert_eq!(
                    (next.start(), next.previous()),
                    (period.end(), Ok(period)),
                    "{name} {change} {unit:?}"
                );
                if unit == Unit::Hour {
                    let shown = zone.to_datetime(change);
                    assert!(
                        next.start() <= change.checked_add(SignedDuration::from_hours(1)).unwrap(),
                        "{name} {shown}"
                    );
                }
            }
        }
    }
}

#[test]
fn days_are_as_long_as_they_are() {
    let zones = Zones::bundled();
    let day = |zone: &str, day: &str| Period::day(day.parse().unwrap(), &zones.get(zone).unwrap());
    for (zone, date, hours) in [
        ("Europe/Berlin", "2026-03-29", 23.0),
        ("Europe/Berlin", "2026-10-25", 25.0),
        ("Europe/Berlin", "2026-10-26", 24.0),
        ("Australia/Lord_Howe", "2026-04-05", 24.5),
        ("Australia/Lord_Howe", "2026-10-04", 23.5),
        // Midnight is skipped: the day begins at 1 o'clock.
        ("America/Sao_Paulo", "2018-11-04", 23.0),
        ("Pacific/Apia", "2011-12-31", 24.0),
        ("Asia/Tokyo", "2026-03-29", 24.0),
    ] {
        assert_eq!(day(zone, date).unwrap().hours(), hours, "{zone} {date}");
    }
    assert!(matches!(
        day("Pacific/Apia", "2011-12-30"),
        Err(TimeError::Skipped { .. })
    ));
    let apia = zones.get("Pacific/Apia").unwrap();
    let next = day("Pacific/Apia", "2011-12-29").unwrap().next().unwrap();
    assert_eq!(
        (next.key(), Period::day("2011-12-31".parse().unwrap(), &apia)),
        ("2011-12-31".to_owned(), Ok(next))
    );
    // An hour that comes twice has two names, and one in which the clock is changed is short.
    let berlin = zones.get("Europe/Berlin").unwrap();
    let night = at("2026-10-25T00:00:00Z")..at("2026-10-25T02:00:00Z");
    let dates = DateTime::from_millis(night.start.as_millisecond())
        ..DateTime::from_millis(night.end.as_millisecond());
    let keys: Vec<String> = Period::covering(Unit::Hour, dates, &berlin)
        .unwrap()
        .iter()
        .map(Period::key)
        .collect();
    assert_eq!(keys, ["2026-10-25T02+02:00", "2026-10-25T02+01:00"]);
    let howe = zones.get("Australia/Lord_Howe").unwrap();
    let short = Period::of(Unit::Hour, at("2026-04-04T15:10:00Z"), &howe).unwrap();
    assert_eq!(
        (short.key(), short.hours()),
        ("2026-04-05T01+10:30".to_owned(), 0.5)
    );
    for (unit, key) in [
        (Unit::Week, "2026-W43"),
        (Unit::SundayWeek, "2026-10-25"),
        (Unit::Month, "2026-10"),
        (Unit::Quarter, "2026-Q4"),
        (Unit::Year, "2026"),
    ] {
        assert_eq!(
            Period::of(unit, at("2026-10-25T12:00:00Z"), &berlin)
                .unwrap()
                .key(),
            key
        );
    }
    assert_eq!(
        Period::of(Unit::Month, at("2026-10-25T12:00:00Z"), &berlin)
            .unwrap()
            .hours(),
        745.0
    );
}

#[test]
fn texts_are_rfc_3339_and_9557() {
    for text in [
        "2026-10-25T02:30:00+02:00[Europe/Berlin]",
        "2026-10-25T02:30:00+01:00[Europe/Berlin]",
        "1969-12-31T23:59:59.999999999+00:00",
        "2026-07-01T09:30:00.000000001-04:00",
        "1971-01-01T00:00:00-00:44:30[Africa/Monrovia]",
        "2026-01-01T00:00:00+05:45",
    ] {
        assert_eq!(text.parse::<Happened>().unwrap().to_string(), text);
    }
    // The offset of what happened counts, whatever the rules say today, unless the text insists.
    let odd: Happened = "2026-07-01T12:00:00+05:00[Europe/Berlin]".parse().unwrap();
    assert_eq!((odd.offset, odd.zone.as_deref()), (18_000, Some("Europe/Berlin")));
    let critical = "2026-07-01T12:00:00+05:00[!Europe/Berlin]".parse::<Happened>();
    assert_eq!(
        critical,
        Err(TimeError::OffsetMismatch {
            zone: "Europe/Berlin".to_owned()
        })
    );
    assert!(
        "2026-07-01T12:00:00+02:00[!Europe/Berlin]"
            .parse::<Happened>()
            .is_ok()
    );
    assert!(
        "2026-07-01T12:00:00+02:00[!Europe/Nowhere]"
            .parse::<Happened>()
            .is_err()
    );
    assert_eq!("2026-07-01T12:00:00Z".parse::<Happened>().unwrap().offset, 0);
    for text in [
        "",
        "2026-07-01",
        "2026-07-01T12:00:00",
        "2026-13-01T00:00:00Z",
        "12:00Z",
        "2026-07-01T12:00:00[Europe/Berlin]",
        "x",
    ] {
        assert!(text.parse::<Happened>().is_err(), "{text}");
    }
}
