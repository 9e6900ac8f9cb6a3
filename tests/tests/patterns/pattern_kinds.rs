//! Patterns on one of several models that share a collection: they leave the documents of the others alone.

use bson::{Bson, DateTime, doc};
use odm::{Db, Filter, Model};
use odm_patterns::archive::Archive;
use odm_patterns::attributes::{
    AttributeFields, Attributed, Attributes, Catalog, Definition, Listed, ProductType, Scoped, Units,
};
use odm_patterns::history::{History, HistoryError};
use odm_patterns::money::{Arbitrary, Minor, Money, convert};
use odm_patterns::time::jiff::tz::TimeZone;
use odm_patterns::time::{Appointment, Choice, Zones, revalidate};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    money_of_one_kind_is_converted,
    attributes_of_one_kind_are_converted,
    appointments_of_one_kind_follow_new_rules,
    versions_are_of_a_kind,
    archives_are_of_a_kind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "kinds_entries", kind = "fee")]
struct Fee {
    #[serde(rename = "_id")]
    id: i32,
    price: Money<Arbitrary>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "kinds_entries", kind = "payment")]
struct Payment {
    #[serde(rename = "_id")]
    id: i32,
    price: Money,
}

async fn money_of_one_kind_is_converted(db: &Db) {
    let (fees, payments) = (db.collection::<Fee>(), db.collection::<Payment>());
    let price: Money = "4 EUR".parse().unwrap();
    payments
        .insert(Payment {
            id: 2,
            price: price.clone(),
        })
        .await
        .unwrap();
    let fee = doc! {"_id": 3, "price": {"amount": 500_i64, "currency": "EUR"}, "kind": "fee"};
    fees.raw().insert(fee).await.unwrap();
    let done = convert(&fees, |f| f.price.in_form::<Minor>(), |f| f.price, None)
        .await
        .unwrap();
    assert_eq!(done.converted, 1);
    assert_eq!(
        fees.get(3).required().await.unwrap().price.to_string(),
        "5.00 EUR"
    );
    assert_eq!(payments.get(2).required().await.unwrap().price, price);
}

macro_rules! product {
    ($name:ident, $fields:ident, $kind:literal, $form:ident) => {
        #[derive(Debug, Serialize, Deserialize, Model)]
        #[odm(collection = "kinds_articles", kind = $kind)]
        struct $name {
            #[serde(rename = "_id")]
            id: i32,
            sort: String,
            attributes: Attributes<$form>,
            #[odm(version)]
            version: i64,
        }

        impl Attributed for $name {
            type Form = $form;

            fn attribute_fields(fields: $fields) -> AttributeFields<$name> {
                AttributeFields::new(&fields.sort, &fields.attributes)
            }

            fn product_type(&self) -> &str {
                &self.sort
            }

            fn attributes(&self) -> &Attributes<$form> {
                &self.attributes
            }

            fn attributes_mut(&mut self) -> &mut Attributes<$form> {
                &mut self.attributes
            }
        }
    };
}
product!(Drug, DrugFields, "drug", Listed);
product!(Device, DeviceFields, "device", Scoped);

async fn attributes_of_one_kind_are_converted(db: &Db) {
    let sized = |name: &str| ProductType::new(name).attribute(Definition::integer("size"));
    let drugs = Catalog::<Drug>::new(db, [sized("d")], Units::new()).unwrap();
    let devices = Catalog::<Device>::new(db, [sized("v")], Units::new()).unwrap();
    let (id, version, sort) = (1, 0, "d".to_owned());
    let attributes = Attributes::new().with("size", 5);
    let drug = Drug {
        id,
        sort,
        attributes,
        version,
    };
    drugs.insert(drug).await.unwrap();
    let attributes = Attributes::new().with("size", 6);
    let (id, sort) = (2, "v".to_owned());
    let device = Device {
        id,
        sort,
        attributes,
        version,
    };
    devices.insert(device).await.unwrap();
    // One of the other form, of its own.
    let listed = doc! {"_id": 3, "kind": "device", "sort": "v", "attributes": [{"n": "size", "v": 6}], "version": 0_i64};
    devices.collection().raw().insert(listed).await.unwrap();
    assert_eq!(drugs.unconverted().await.unwrap(), 0);
    assert!(drugs.verify().await.unwrap().is_empty());
    assert_eq!(drugs.convert().await.unwrap().changed, 0);
    assert_eq!(drugs.repair().await.unwrap().changed, 0);
    assert_eq!(devices.unconverted().await.unwrap(), 1);
    assert_eq!(devices.convert().await.unwrap().changed, 1);
    let six = || devices.attribute("size").unwrap().eq(6).unwrap();
    assert_eq!(devices.collection().count(|_| six()).await.unwrap(), 2);
    // It is a change of the model.
    let device = devices.collection().get(3).required().await.unwrap();
    assert_eq!(device.version, 1);
    assert_eq!(devices.collection().get(2).required().await.unwrap().version, 0);
}

macro_rules! plan {
    ($name:ident, $kind:literal) => {
        #[derive(Clone, Debug, Serialize, Deserialize, Model)]
        #[odm(collection = "kinds_plans", kind = $kind)]
        struct $name {
            #[serde(rename = "_id")]
            id: i32,
            at: Appointment,
        }
    };
}
plan!(Visit, "visit");
plan!(Call, "call");

async fn appointments_of_one_kind_follow_new_rules(db: &Db) {
    let civil = "2030-07-01T18:00".parse().unwrap();
    let at = Appointment::new(civil, "Europe/Berlin", Choice::Compatible, &Zones::bundled()).unwrap();
    let (visits, calls) = (db.collection::<Visit>(), db.collection::<Call>());
    visits
        .insert(Visit {
            id: 1,
            at: at.clone(),
        })
        .await
        .unwrap();
    calls
        .insert(Call {
            id: 2,
            at: at.clone(),
        })
        .await
        .unwrap();
    let abolished = Zones::new("2029a", |_| TimeZone::posix("CET-1").ok());
    let report = revalidate(&visits, |v| v.at.clone(), &abolished).await.unwrap();
    let moved: Vec<&Bson> = report.moved.iter().map(|moved| &moved.id).collect();
    assert_eq!(moved, [&Bson::Int32(1)]);
    assert_eq!(calls.get(2).required().await.unwrap().at, at);
}

macro_rules! paper {
    ($name:ident, $kind:literal) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
        #[odm(collection = "kinds_papers", kind = $kind)]
        struct $name {
            #[serde(rename = "_id")]
            id: i32,
            text: String,
            #[odm(version)]
            version: i64,
        }

        impl $name {
            fn new(id: i32) -> $name {
                $name {
                    id,
                    text: "0".to_owned(),
                    version: 0,
                }
            }
        }
    };
}
paper!(Letter, "letter");
paper!(Memo, "memo");

#[derive(Debug, PartialEq, Serialize, Deserialize, Model)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[odm(collection = "kinds_papers")]
enum Paper {
    Letter(Letter),
    Memo(Memo),
}

async fn versions_are_of_a_kind(db: &Db) {
    let (letters, memos) = (History::<Letter>::new(db), History::<Memo>::new(db));
    letters.insert(&Letter::new(1)).await.unwrap();
    memos.insert(&Memo::new(2)).await.unwrap();
    for text in ["1", "2", "3"] {
        letters.update(1, |l| l.text.set(text)).await.unwrap();
        memos.update(2, |m| m.text.set(text)).await.unwrap();
    }
    // What one has the other does not see.
    assert!(letters.versions(2).await.unwrap().is_empty());
    assert!(matches!(
        letters.get(2, 0).await,
        Err(HistoryError::NoSuchVersion { version: 0, .. })
    ));
    assert!(matches!(
        letters.get(2, 3).await,
        Err(HistoryError::NoSuchVersion { version: 3, .. })
    ));
    let missing = |result: Result<(), HistoryError>| match result {
        Err(HistoryError::NotFound { model, id }) => assert_eq!((model, id), ("Letter", Bson::Int32(2))),
        other => panic!("{other:?}"),
    };
    missing(letters.as_of(2, db.now()).await.map(drop));
    missing(letters.update(2, |l| l.text.set("x")).await.map(drop));
    missing(letters.change(2, |_| Ok(())).await);
    missing(letters.replace(&Letter::new(2)).await.map(drop));
    missing(letters.revert(2, 0).await.map(drop));
    missing(letters.delete(2).await);
    missing(letters.restore(2).await.map(drop));
    assert_eq!(letters.forget(2).await.unwrap(), 0);
    let clash = letters.insert(&Letter::new(2)).await.unwrap_err();
    assert!(
        matches!(clash, HistoryError::Clash { version: 2, .. }),
        "{clash:?}"
    );
    // Nor is it forgotten with its own.
    assert_eq!(letters.keep_last(1).await.unwrap(), 2);
    let far = DateTime::from_millis(i64::MAX / 2);
    assert_eq!(letters.forget_before(far).await.unwrap(), 1);
    assert_eq!(memos.versions(2).await.unwrap().len(), 4);
    memos.records().delete_one(doc! {"_id.version": 1}).await.unwrap();
    assert!(letters.verify().await.unwrap().is_empty());
    assert!(letters.repair().await.unwrap().is_empty());
    assert_eq!(memos.verify().await.unwrap().len(), 1);
    // The history of all kinds has those of each.
    let papers = History::<Paper>::new(db);
    assert_eq!(papers.versions(2).await.unwrap().len(), 3);
    match papers.get(2, 0).await.unwrap() {
        Paper::Memo(memo) => assert_eq!(memo, Memo::new(2)),
        other => panic!("{other:?}"),
    }
    // A deleted one whose `_id` another kind has taken.
    memos.delete(2).await.unwrap();
    db.collection::<Letter>().insert(Letter::new(2)).await.unwrap();
    let there = memos.restore(2).await.unwrap_err();
    assert!(matches!(there, HistoryError::AlreadyThere { .. }), "{there:?}");
}

async fn archives_are_of_a_kind(db: &Db) {
    let old = db.database(&format!("{}_old", db.name())).unwrap();
    let (letters, memos) = (Archive::<Letter>::new(db, &old), Archive::<Memo>::new(db, &old));
    db.collection::<Letter>().insert(Letter::new(1)).await.unwrap();
    db.collection::<Memo>().insert(Memo::new(2)).await.unwrap();
    assert_eq!(memos.store(|_| Filter::all()).await.unwrap().moved, 1);
    // The place of the memo is taken, and its archived copy is no copy of a letter.
    db.collection::<Letter>().insert(Letter::new(2)).await.unwrap();
    assert!(letters.verify().await.unwrap().is_empty());
    assert!(memos.verify().await.unwrap().is_empty());
    assert!(letters.repair().await.unwrap().is_empty());
    assert!(memos.repair().await.unwrap().is_empty());
    let stored = letters.store(|_| Filter::all()).await.unwrap();
    assert_eq!((stored.moved, stored.kept), (1, 1));
    assert_eq!(memos.archived().get(2).await.unwrap(), Some(Memo::new(2)));
    assert_eq!(letters.archived().get(1).await.unwrap(), Some(Letter::new(1)));
    old.drop().await.unwrap();
}
