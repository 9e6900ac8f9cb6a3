//! Copies that are not what their sources are: interrupted, found, repaired, filled.

use bson::{Bson, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, RelationProblemKind};

use super::consistency_copies_models::*;
use odm_tests::plain::Plain;

crate::on_every_backend! {
    a_crash_at_any_write_of_a_change_is_repaired,
    a_crash_at_any_write_of_a_propagation_is_repaired,
    stale_copies_are_found_and_repaired,
    an_interrupted_repair_of_copies_is_started_again,
    new_documents_are_filled,
    the_fan_out_is_counted_before_a_change,
}

async fn a_crash_at_any_write_of_a_change_is_repaired(db: &Db) {
    for with_transactions in [true, false] {
        let base = match with_transactions {
            true => db.clone(),
            false => Plain::db(db),
        };
        for is_after in [false, true] {
            let mut crashes = 0;
            loop {
                presses(&base).await;
                let (faulty, faults) = base.faulty();
                let fault = Fault::nth_write(crashes + 1);
                let lost = Error::new(ErrorKind::Network, "the answer was lost");
                faults.add(match is_after {
                    false => fault.crash(),
                    true => fault.after(lost).times(u64::MAX),
                });
                let outcome = faulty
                    .collection::<Press>()
                    .update_one(|p| p.id.eq(1), |p| p.name.set("new"))
                    .await;
                let changed = base
                    .collection::<Press>()
                    .get(1)
                    .required()
                    .await
                    .unwrap()
                    .version
                    == 1;
                if with_transactions && !changed {
                    assert_eq!(pending(&base).await, 0);
                    assert_copies(&base, "press 1", "city 1", Some("motto"), 0).await;
                }
                if with_transactions && changed {
                    assert_copies(&base, "new", "city 1", Some("motto"), 1).await;
                }
                // What was written says itself that it is not done.
                base.collection::<Press>().propagate_pending().await.unwrap();
                is_clean(&base).await;
                if changed {
                    assert_copies(&base, "new", "city 1", Some("motto"), 1).await;
                }
                clear(&base).await;
                if outcome.is_ok() {
                    break;
                }
                crashes += 1;
            }
            // The press, each place with immediate copies (two of volumes, five of parcels), and the commit. The mark
            // stays for the diaries.
            assert_eq!(crashes, 8 + u64::from(with_transactions), "{is_after}");
        }
    }
}

async fn a_crash_at_any_write_of_a_propagation_is_repaired(db: &Db) {
    let mut crashes = 0;
    loop {
        presses(db).await;
        db.raw_collection("presses")
            .update_many(
                doc! {},
                doc! { "$set": { "fullName": "raw", "version": 4_i64, "copies_pending": bson::oid::ObjectId::new() } },
            )
            .await
            .unwrap();
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(crashes + 1).crash());
        let outcome = faulty
            .collection::<Press>()
            .propagate_pending()
            .batch_size(2)
            .await;
        if outcome.is_ok() {
            break;
        }
        db.collection::<Press>()
            .propagate_pending()
            .batch_size(2)
            .await
            .unwrap();
        is_clean(db).await;
        let volume = db.collection::<Volume>().get(1).required().await.unwrap();
        assert_eq!((volume.press.name.as_str(), volume.press.version), ("raw", 4));
        clear(db).await;
        crashes += 1;
    }
    assert!(crashes > 10, "{crashes}");
}

async fn stale_copies_are_found_and_repaired(db: &Db) {
    presses(db).await;
    is_clean(db).await;
    // Raw writes go around it.
    let raw = db.raw_collection("presses");
    raw.update_one(
        doc! { "_id": 1 },
        doc! { "$set": { "fullName": "raw", "version": 5_i64 } },
    )
    .await
    .unwrap();
    raw.delete_one(doc! { "_id": 2 }).await.unwrap();
    let stale = db.collection::<Parcel>().stale_copies().await.unwrap();
    let paths: Vec<_> = stale
        .iter()
        .filter(|copy| copy.id == Bson::Int32(1) && !copy.is_missing())
        .map(|copy| copy.path.as_str())
        .collect();
    let expected = [
        "lines.0.press",
        "lines.3.press",
        "rooms.a.b",
        "rows.0.0",
        "rows.2.1",
        "sender.press",
        "sheets.0.marks.1",
        "sheets.2.marks.0",
    ];
    let mut sorted = paths.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    let missing = stale.iter().find(|copy| copy.is_missing()).unwrap();
    assert_eq!(
        (missing.key.clone(), missing.source_version),
        (Bson::Int32(2), None)
    );
    let text = missing.to_string();
    assert!(
        text.starts_with("what was copied is not there (model: Parcel"),
        "{text}"
    );

    let problems = db.verify_relations::<Press>().await.unwrap();
    let of = |kind: RelationProblemKind, model: &str| {
        let problems = problems.iter();
        problems
            .filter(|problem| problem.kind == kind && problem.model == model)
            .count()
    };
    assert_eq!(of(RelationProblemKind::StaleCopy, "Volume"), 2);
    assert_eq!(of(RelationProblemKind::Dangling, "Volume"), 2);
    assert_eq!(of(RelationProblemKind::StaleCopy, "Parcel"), 16);
    assert!(problems.iter().any(|problem| problem.field == "rooms.*"));
    let report = db.verify_relations::<Volume>().repair().await.unwrap();
    assert_eq!(
        report.left as usize,
        problems
            .iter()
            .filter(|p| p.kind == RelationProblemKind::Dangling)
            .count()
    );
    assert_eq!((report.repaired + report.left) as usize, problems.len());
    assert_copies(db, "raw", "city 1", Some("motto"), 5).await;

    // A source that was made anew counts from the beginning: repairs go by what they saw.
    raw.update_one(
        doc! { "_id": 1 },
        doc! { "$set": { "fullName": "again", "version": 1_i64 } },
    )
    .await
    .unwrap();
    let report = db.collection::<Parcel>().stale_copies().repair().await.unwrap();
    assert_eq!((report.repaired, report.left), (16, 8));
    let report = db
        .collection::<Volume>()
        .refresh_copies(|v| v.id.eq(1))
        .await
        .unwrap();
    assert_eq!((report.repaired, report.left), (1, 1));
    let left = db.collection::<Volume>().stale_copies().await.unwrap();
    assert_eq!(left.iter().filter(|copy| !copy.is_missing()).count(), 1);
    db.collection::<Volume>()
        .refresh_copies(|v| v.id.eq(2))
        .await
        .unwrap();
    assert_copies(db, "again", "city 1", Some("motto"), 1).await;
}

async fn an_interrupted_repair_of_copies_is_started_again(db: &Db) {
    let mut crashes = 0;
    loop {
        presses(db).await;
        let raw = db.raw_collection("presses");
        raw.update_many(doc! {}, doc! { "$set": { "fullName": "raw" } })
            .await
            .unwrap();
        let (faulty, faults) = db.faulty();
        faults.add(Fault::nth_write(crashes + 1).crash());
        let outcome = faulty.verify_relations::<Press>().repair().await;
        if outcome.is_ok() {
            break;
        }
        assert_ne!(db.verify_relations::<Press>().repair().await.unwrap().repaired, 0);
        is_clean(db).await;
        clear(db).await;
        crashes += 1;
    }
    assert!(crashes > 10, "{crashes}");
}

async fn new_documents_are_filled(db: &Db) {
    presses(db).await;
    db.collection::<Press>()
        .update_one(|p| p.id.eq(1), |p| p.name.set("new") & p.motto.unset())
        .await
        .unwrap();
    let mut parcels = [parcel(7)];
    let (logged, log) = db.logged();
    let report = logged
        .collection::<Parcel>()
        .fill_copies(&mut parcels)
        .await
        .unwrap();
    assert_eq!((report.repaired, report.left), (12, 0));
    // One query for each place.
    assert_eq!(log.round_trips(), 5);
    assert_eq!(parcels[0].rooms["a.b"].name, "new");
    assert_eq!(parcels[0].rooms["a.b"].motto, None);
    assert_eq!(
        (parcels[0].rows[2][1].version, parcels[0].rows[2][0].version),
        (1, 0)
    );
    let mut volumes = [Volume {
        press: copy(77),
        ..volume_of_nobody(9)
    }];
    let report = db.collection::<Volume>().fill_copies(&mut volumes).await.unwrap();
    assert_eq!((report.repaired, report.left), (0, 1));
    assert_eq!(volumes[0].press, copy(77));
}

async fn the_fan_out_is_counted_before_a_change(db: &Db) {
    presses(db).await;
    let fan_out = db
        .collection::<Press>()
        .copy_fan_out(|p| p.id.eq(1))
        .await
        .unwrap();
    let fan_out: Vec<_> = fan_out
        .iter()
        .map(|place| {
            (
                place.model,
                place.path.as_str(),
                place.documents,
                place.is_eventual,
                place.is_indexed,
            )
        })
        .collect();
    assert_eq!(
        fan_out,
        [
            ("Volume", "press", 2, false, true),
            ("Volume", "second", 0, false, false),
            ("Parcel", "lines.press", 2, false, false),
            ("Parcel", "sheets.marks", 2, false, false),
            ("Parcel", "rows", 2, false, false),
            ("Parcel", "rooms.*", 2, false, false),
            ("Parcel", "sender.press", 2, false, false),
            ("Diary", "press", 2, true, true),
        ]
    );
    let all = db
        .collection::<Press>()
        .copy_fan_out(|p| p.id.gt(0))
        .await
        .unwrap();
    assert_eq!(
        all.iter().map(|place| place.documents).sum::<u64>(),
        3 + 1 + 2 * 4 + 2 + 5
    );
}
