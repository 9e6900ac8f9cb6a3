//! Types of other crates: stored as what they are, matched by filters, read back.

use std::collections::BTreeMap;
use std::time::Duration;

use bson::{Bson, DateTime, doc};
use odm::{ChangeKind, Db, Embedded, ErrorKind, Model};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

crate::on_every_backend! {
    each_type_is_stored_as_its_bson_type,
    filters_match_what_is_stored,
    updates_store_what_inserts_store,
    expressions_store_constants_as_their_fields_are,
    literals_and_encoded_fields_are_kept_apart,
    keys_of_events_and_errors_are_those_that_are_stored,
    finer_times_are_rounded_down_alike,
    what_does_not_fit_names_its_place,
    json_is_for_people,
    the_times_of_writes_can_be_of_other_crates,
}

// The documents are of 2023: they are not to expire while a case looks at them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shipments", index(keys(packed), expire_after = "20000d"))]
struct Shipment {
    #[serde(rename = "_id", with = "odm::as_bson")]
    id: Uuid,
    #[serde(with = "odm::as_bson")]
    packed: chrono::DateTime<chrono::Utc>,
    #[serde(with = "odm::as_bson")]
    sent: Option<time::OffsetDateTime>,
    #[serde(with = "odm::as_bson")]
    seen: Vec<jiff::Timestamp>,
    #[serde(with = "odm::as_bson")]
    due: jiff::civil::Date,
    #[serde(with = "odm::as_bson")]
    took: chrono::TimeDelta,
    #[serde(with = "odm::as_bson")]
    #[odm(index)]
    price: Decimal,
    #[serde(with = "odm::as_bson")]
    prices: BTreeMap<String, Decimal>,
    label: Label,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Label {
    #[serde(with = "odm::as_bson")]
    printed: time::Date,
    #[serde(with = "odm::as_bson")]
    serial: Uuid,
}

const MOMENT: i64 = 1_700_000_000_123;

fn shipment(number: u8) -> Shipment {
    let later = i64::from(number) * 1_000;
    Shipment {
        id: Uuid::from_bytes([number; 16]),
        packed: chrono::DateTime::from_timestamp_millis(MOMENT + later).unwrap(),
        sent: time::OffsetDateTime::from_unix_timestamp(1_700_000_000 + i64::from(number)).ok(),
        seen: vec![jiff::Timestamp::from_millisecond(MOMENT + later).unwrap()],
        due: jiff::civil::date(2024, 2, i8::try_from(number).unwrap()),
        took: chrono::TimeDelta::milliseconds(later),
        price: Decimal::new(i64::from(number) * 1_010, 2),
        prices: [("eur".to_owned(), Decimal::new(15, 1))].into(),
        label: Label {
            printed: time::Date::from_ordinal_date(2024, u16::from(number)).unwrap(),
            serial: Uuid::from_bytes([100 + number; 16]),
        },
    }
}

async fn each_type_is_stored_as_its_bson_type(db: &Db) {
    let shipments = db.collection::<Shipment>();
    shipments.create_indexes().await.unwrap();
    shipments.insert(shipment(2)).await.unwrap();
    let uuid = |byte| Bson::from(bson::Uuid::from_bytes([byte; 16]));
    let stored = shipments.raw().find_one(doc! {}).await.unwrap().unwrap();
    let expected = doc! {
        "_id": uuid(2),
        "packed": DateTime::from_millis(MOMENT + 2_000),
        "sent": DateTime::from_millis(1_700_000_002_000),
        "seen": [DateTime::from_millis(MOMENT + 2_000)],
        "due": DateTime::parse_rfc3339_str("2024-02-02T00:00:00Z").unwrap(),
        "took": 2_000_i64,
        "price": "20.20".parse::<bson::Decimal128>().unwrap(),
        "prices": { "eur": "1.5".parse::<bson::Decimal128>().unwrap() },
        "label": {
            "printed": DateTime::parse_rfc3339_str("2024-01-02T00:00:00Z").unwrap(),
            "serial": uuid(102),
        },
    };
    assert_eq!(stored, expected);
    assert_eq!(shipments.get(shipment(2).id).await.unwrap(), Some(shipment(2)));
}

async fn filters_match_what_is_stored(db: &Db) {
    let shipments = db.collection::<Shipment>();
    shipments.insert_many([1, 2, 3].map(shipment)).await.unwrap();
    let two = shipment(2);
    assert_eq!(shipments.count(|s| s.id.eq(two.id)).await.unwrap(), 1);
    assert_eq!(shipments.count(|s| s.packed.eq(two.packed)).await.unwrap(), 1);
    assert_eq!(shipments.count(|s| s.packed.lt(two.packed)).await.unwrap(), 1);
    assert_eq!(
        shipments.count(|s| s.sent.gte(two.sent.unwrap())).await.unwrap(),
        2
    );
    assert_eq!(shipments.count(|s| s.sent.is_null()).await.unwrap(), 0);
    assert_eq!(shipments.count(|s| s.seen.has(two.seen[0])).await.unwrap(), 1);
    assert_eq!(
        shipments
            .count(|s| s.due.is_in([two.due, shipment(3).due]))
            .await
            .unwrap(),
        2
    );
    assert_eq!(shipments.count(|s| s.took.gt(two.took)).await.unwrap(), 1);
    assert_eq!(shipments.count(|s| s.price.lte(two.price)).await.unwrap(), 2);
    assert_eq!(
        shipments
            .count(|s| s.label.printed.eq(two.label.printed))
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        shipments
            .count(|s| s.label.serial.eq(two.label.serial))
            .await
            .unwrap(),
        1
    );
    let sorted = shipments.find_all().sort(|s| s.price.desc()).await.unwrap();
    assert_eq!(sorted, [3, 2, 1].map(shipment));
    let gone = shipments.get_many([shipment(1).id, two.id]).await.unwrap();
    assert_eq!(gone.len(), 2);
}

async fn keys_of_events_and_errors_are_those_that_are_stored(db: &Db) {
    let shipments = db.collection::<Shipment>();
    let mut changes = shipments.watch().await.unwrap();
    let one = shipment(1);
    shipments.insert(&one).await.unwrap();
    shipments
        .update_one(|s| s.id.eq(one.id), |s| s.price.inc(Decimal::ONE))
        .await
        .unwrap();
    shipments.save(&one).await.unwrap();
    shipments.delete(one.id).await.unwrap();
    let kinds = [
        ChangeKind::Insert,
        ChangeKind::Update,
        ChangeKind::Replace,
        ChangeKind::Delete,
    ];
    for kind in kinds {
        let change = changes.try_next().await.unwrap().unwrap();
        assert_eq!(change.event.kind(), Some(kind));
        assert_eq!(change.event.key(), Some(&one.id));
        let has_document = matches!(kind, ChangeKind::Insert | ChangeKind::Replace);
        assert_eq!(change.event.document().is_some(), has_document);
    }
    // Another type in its place.
    db.raw_collection("shipments")
        .insert(doc! { "_id": "x" })
        .await
        .unwrap();
    let odd = changes.try_next().await.unwrap_err();
    assert_eq!(
        (odd.kind(), odd.model(), odd.path(), odd.id()),
        (
            ErrorKind::Decode,
            Some("Shipment"),
            Some("_id"),
            Some(&Bson::from("x"))
        )
    );
    let twice = [shipment(1), shipment(2), shipment(2)];
    let partial = shipments.insert_many(&twice).await.unwrap_err();
    let stored = |number: u8| Bson::from(bson::Uuid::from_bytes([number; 16]));
    assert_eq!(
        partial.partial_write().unwrap().inserted,
        [(0, stored(1)), (1, stored(2))]
    );
}

async fn expressions_store_constants_as_their_fields_are(db: &Db) {
    let shipments = db.collection::<Shipment>();
    let all = [1, 2, 3, 4].map(shipment);
    shipments.insert_many(&all).await.unwrap();
    let (one, two, three) = (&all[0], &all[1], &all[2]);
    for (condition, expected) in [
        (Shipment::fields().packed.value().gt(two.packed), 2),
        (Shipment::fields().packed.value().lte(two.packed), 2),
        (Shipment::fields().id.value().eq(two.id), 1),
        (Shipment::fields().sent.value().lt(three.sent), 2),
        (Shipment::fields().sent.value().lt(three.sent.unwrap()), 2),
        (Shipment::fields().due.value().ne(two.due), 3),
        (Shipment::fields().took.value().eq(two.took), 1),
        (Shipment::fields().price.value().gte(two.price), 3),
        (Shipment::fields().label.serial.value().eq(two.label.serial), 1),
        (Shipment::fields().label.value().eq(two.label.clone()), 1),
        (
            Shipment::fields()
                .packed
                .constant(two.packed)
                .lt(Shipment::fields().packed),
            2,
        ),
    ] {
        let text = format!("{condition:?}");
        assert_eq!(
            shipments.count(|_| condition.holds()).await.unwrap(),
            expected,
            "{text}"
        );
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
    struct Span {
        #[serde(rename = "_id", with = "odm::as_bson")]
        from: chrono::DateTime<chrono::Utc>,
        count: i64,
    }
    let spans = shipments
        .aggregate()
        .bucket(|s| s.packed, [one.packed, three.packed, shipment(9).packed])
        .output::<Span>(|_, o| o.count.is(odm::expr::count()))
        .await
        .unwrap();
    let expected = [(one.packed, 2), (three.packed, 2)].map(|(from, count)| Span { from, count });
    assert_eq!(spans, expected);

    #[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
    struct Sent {
        #[serde(with = "odm::as_bson")]
        known: time::OffsetDateTime,
        #[serde(with = "odm::as_bson")]
        serial: Option<Uuid>,
        #[serde(with = "odm::as_bson")]
        near: chrono::DateTime<chrono::Utc>,
        number: i32,
    }
    let unsent = two.sent.unwrap();
    shipments
        .update_one(|s| s.id.eq(one.id), |s| s.sent.set(None))
        .await
        .unwrap();
    let sent = shipments
        .aggregate()
        .filter(|s| s.id.is_in([one.id, three.id]))
        .sort(|s| s.packed.asc())
        .project::<Sent>(|s, o| {
            let near = odm::expr::cond(s.packed.value().lt(two.packed), s.packed, two.packed);
            o.known.of(s.sent.value().if_null(unsent))
                & o.serial.of(two.label.serial)
                & o.near.of(near)
                & o.number.of(7)
        })
        .await
        .unwrap();
    let expected = [(unsent, one.packed), (three.sent.unwrap(), two.packed)];
    let expected = expected.map(|(known, near)| Sent {
        known,
        serial: Some(two.label.serial),
        near,
        number: 7,
    });
    assert_eq!(sent, expected);
    // The value without what may be missing is compared in the same way.
    let late = shipments.count(|s| s.sent.value().if_null(unsent).gt(unsent).holds());
    assert_eq!(late.await.unwrap(), 2);
}

async fn literals_and_encoded_fields_are_kept_apart(db: &Db) {
    use odm::expr::{cond, literal, switch};

    let shipments = db.collection::<Shipment>();
    let one = shipment(1);
    shipments.insert(&one).await.unwrap();
    let s = Shipment::fields();
    let is_new = || s.packed.value().gt(one.packed);
    for (condition, path) in [
        (s.packed.value().gt(literal(one.packed)), "packed"),
        (literal(one.packed).lt(s.packed.value()), "packed"),
        (
            s.label.serial.value().eq(literal(one.label.serial)),
            "label.serial",
        ),
        (
            s.sent
                .value()
                .if_null(literal(one.sent.unwrap()))
                .gt(one.sent.unwrap()),
            "sent",
        ),
        (
            cond(is_new(), &s.packed, literal(one.packed)).eq(one.packed),
            "packed",
        ),
        (
            switch([(is_new(), literal(one.packed))], &s.packed).eq(one.packed),
            "packed",
        ),
        (
            switch(
                [(is_new(), literal(one.packed)), (is_new(), s.packed.value())],
                one.packed,
            )
            .eq(one.packed),
            "",
        ),
        // The elements of an array with a codec are reached, but what is like them is not known.
        (s.seen.value().at(0).eq(one.seen[0]), ""),
        (s.seen.value().contains(one.seen[0]), "seen"),
    ] {
        let text = format!("{condition:?}");
        let refused = shipments.count(|_| condition.holds()).await.unwrap_err();
        let is_clear = matches!(
            refused.kind(),
            ErrorKind::InvalidArgument | ErrorKind::Unsupported
        );
        assert!(
            is_clear && refused.to_string().contains("serde codec"),
            "{text}: {refused}"
        );
        assert_eq!(refused.path().unwrap_or_default(), path, "{text}: {refused}");
    }
    let set = shipments.aggregate().set(|s| s.packed.of(literal(one.packed)));
    let refused = set.await.unwrap_err();
    assert_eq!(
        (refused.kind(), refused.model(), refused.path()),
        (ErrorKind::InvalidArgument, Some("Shipment"), Some("packed"))
    );
    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Count {
        count: i64,
    }
    let bucket = shipments
        .aggregate()
        .bucket(|s| s.packed, [literal(one.packed), literal(shipment(2).packed)])
        .output::<Count>(|_, o| o.count.is(odm::expr::count()));
    assert_eq!(bucket.await.unwrap_err().path(), Some("packed"));
}

async fn updates_store_what_inserts_store(db: &Db) {
    let shipments = db.collection::<Shipment>();
    shipments.insert(shipment(1)).await.unwrap();
    let (one, two) = (shipment(1), shipment(2));
    shipments
        .update_one(
            |s| s.id.eq(one.id),
            |s| {
                s.price.inc(Decimal::new(25, 1))
                    & s.packed.set(two.packed)
                    & s.seen.push(two.seen[0])
                    & s.label.serial.set(two.label.serial)
            },
        )
        .await
        .unwrap();
    shipments
        .update_one(|s| s.id.eq(one.id), |s| s.price.mul(Decimal::new(2, 0)))
        .await
        .unwrap();
    let changed = shipments.get(one.id).await.unwrap().unwrap();
    assert_eq!(changed.price, Decimal::new(2520, 2));
    assert_eq!(changed.packed, two.packed);
    assert_eq!(changed.seen, [one.seen[0], two.seen[0]]);
    assert_eq!(changed.label.serial, two.label.serial);
    let types = doc! {"price": {"$type": "decimal"}, "packed": {"$type": "date"}, "seen": {"$type": "date"}};
    assert_eq!(shipments.raw().count(types).await.unwrap(), 1);
    shipments
        .update_one(|s| s.id.eq(one.id), |s| s.packed.current_date())
        .await
        .unwrap();
    let clock = shipments.get(one.id).await.unwrap().unwrap().packed;
    assert!(
        (chrono::DateTime::<chrono::Utc>::from(std::time::SystemTime::now()) - clock).abs()
            < chrono::TimeDelta::hours(1)
    );
}

async fn finer_times_are_rounded_down_alike(db: &Db) {
    let shipments = db.collection::<Shipment>();
    let mut fine = shipment(1);
    fine.packed += chrono::TimeDelta::nanoseconds(999_999);
    fine.sent = Some(time::OffsetDateTime::UNIX_EPOCH - Duration::from_nanos(1));
    fine.seen = vec!["1969-12-31T23:59:59.9999Z".parse().unwrap()];
    shipments.insert(&fine).await.unwrap();
    assert_eq!(shipments.count(|s| s.packed.eq(fine.packed)).await.unwrap(), 1);
    assert_eq!(
        shipments.count(|s| s.sent.eq(fine.sent.unwrap())).await.unwrap(),
        1
    );
    let read = shipments.get(fine.id).await.unwrap().unwrap();
    assert_eq!(read.packed, shipment(1).packed);
    assert_eq!(read.sent.unwrap().unix_timestamp_nanos(), -1_000_000);
    assert_eq!(read.seen[0].as_millisecond(), -1);
}

async fn what_does_not_fit_names_its_place(db: &Db) {
    let shipments = db.collection::<Shipment>();
    let raw = shipments.raw();
    let id = bson::Uuid::from_bytes([1; 16]);
    let wrong = [
        ("packed", Bson::from("2024-01-01T00:00:00Z")),
        ("due", DateTime::from_millis(1).into()),
        ("due", DateTime::from_millis(i64::MAX).into()),
        ("price", "1E+40".parse::<bson::Decimal128>().unwrap().into()),
        ("price", 1.5.into()),
        ("label.serial", Bson::from("66666666-6666-6666-6666-666666666666")),
    ];
    for (path, value) in wrong {
        shipments.save(shipment(1)).await.unwrap();
        let set = doc! {"$set": {path: value.clone()}};
        raw.update_one(doc! {"_id": id}, set).await.unwrap();
        let error = shipments.get(shipment(1).id).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Decode, Some(path)),
            "{value}"
        );
        assert_eq!(error.id(), Some(&Bson::from(id)));
        assert!(
            error.namespace().is_some_and(|name| name.ends_with(".shipments")),
            "{error}"
        );
        assert_eq!(error.model(), Some("Shipment"));
    }
    let mut long = shipment(1);
    long.due = jiff::civil::Date::MAX;
    let error = shipments.save(&long).await.unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Encode, Some("due")));
}

async fn json_is_for_people(db: &Db) {
    let json = serde_json::to_value(shipment(2)).unwrap();
    let expected = serde_json::json!({
        "_id": "02020202-0202-0202-0202-020202020202",
        "packed": "2023-11-14T22:13:22.123Z",
        "sent": "2023-11-14T22:13:22Z",
        "seen": ["2023-11-14T22:13:22.123Z"],
        "due": "2024-02-02",
        "took": 2000,
        "price": "20.20",
        "prices": { "eur": "1.5" },
        "label": { "printed": "2024-01-02", "serial": "66666666-6666-6666-6666-666666666666" },
    });
    assert_eq!(json, expected);
    let back: Shipment = serde_json::from_value(json).unwrap();
    assert_eq!(back, shipment(2));
    db.collection::<Shipment>().insert(back).await.unwrap();
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
struct Dated {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(with = "odm::as_bson")]
    #[odm(created)]
    made: chrono::DateTime<chrono::Utc>,
    #[serde(with = "odm::as_bson")]
    #[odm(updated)]
    changed: jiff::Timestamp,
    #[serde(with = "odm::as_bson")]
    #[odm(soft_delete)]
    gone: Option<time::OffsetDateTime>,
}

async fn the_times_of_writes_can_be_of_other_crates(db: &Db) {
    let all = db.collection::<Dated>();
    let old = Dated {
        id: 1,
        made: chrono::DateTime::UNIX_EPOCH,
        changed: jiff::Timestamp::UNIX_EPOCH,
        gone: None,
    };
    all.insert(&old).await.unwrap();
    let new = all.get(1).await.unwrap().unwrap();
    assert_eq!(new.made.timestamp_millis(), new.changed.as_millisecond());
    assert!(new.made > old.made);
    all.delete(1).await.unwrap();
    assert_eq!(all.count(|_| odm::Filter::all()).await.unwrap(), 0);
    let deleted = all.find_all().with_deleted().await.unwrap();
    assert!(deleted[0].gone.is_some());
}
