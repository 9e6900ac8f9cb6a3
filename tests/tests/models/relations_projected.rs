//! Relations whose documents are read as another type, which may take all fields that it does not name.

use std::collections::BTreeMap;

use bson::{Bson, DateTime, Document, RawBson, RawDocument, doc};
use odm::{Db, Derivation, Derived, Embedded, Model, Ref, Result};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    what_is_kept_beside_the_fields_is_in_no_map,
}

#[derive(Debug)]
struct Loud;

impl Derivation for Loud {
    type Value = String;

    fn sources() -> Vec<String> {
        vec!["name".to_owned()]
    }

    fn derive(document: &RawDocument, _now: DateTime) -> Result<RawBson> {
        Ok(document.get_str("name").unwrap_or_default().to_uppercase().into())
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(
    collection = "projected_houses",
    kind = "house",
    schema_version = 2,
    migrate(as_it_is)
)]
#[odm(copied_to(Print))]
struct House {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    loud: Derived<Loud>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(House))]
struct HouseCopy {
    #[odm(source)]
    id: Ref<House>,
    name: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(
    collection = "projected_prints",
    kind = "print",
    schema_version = 2,
    migrate(as_it_is)
)]
#[odm(copied_to(Review))]
struct Print {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    loud: Derived<Loud>,
    #[odm(inverse = prints)]
    house: Ref<House>,
    #[serde(default)]
    copy: Option<HouseCopy>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Print))]
struct PrintCopy {
    #[odm(source)]
    id: Ref<Print>,
    name: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "projected_reviews")]
struct Review {
    #[serde(rename = "_id")]
    id: i32,
    print: Option<PrintCopy>,
}

fn as_it_is(_: &mut Document) -> Result<()> {
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Rest {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Bson>,
}

async fn stored(db: &Db) {
    let houses = db.collection::<House>();
    let house = |id: i32| House {
        id,
        name: format!("house {id}"),
        loud: Derived::default(),
    };
    houses.insert_many([house(1), house(2)]).await.unwrap();
    let print = |id: i32| Print {
        id,
        name: format!("print {id}"),
        loud: Derived::default(),
        house: Ref::new(1),
        copy: None,
    };
    let prints = db.collection::<Print>();
    prints.insert_many([print(1), print(2)]).await.unwrap();
    // What a write leaves that was interrupted.
    let token = bson::oid::ObjectId::new();
    let pending = doc! { "$set": { "derived_pending": token, "copies_pending": token } };
    for raw in [houses.raw(), prints.raw()] {
        raw.update_many(doc! {}, pending.clone()).await.unwrap();
        let one = raw.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
        for beside in ["kind", "schema_version", "copies_version"] {
            assert!(one.contains_key(beside), "{one}");
        }
    }
}

fn rest(name: &str, rest: Document) -> Rest {
    Rest {
        name: name.to_owned(),
        rest: rest.into_iter().collect(),
    }
}

async fn what_is_kept_beside_the_fields_is_in_no_map(db: &Db) {
    stored(db).await;
    let house = rest("house 1", doc! { "_id": 1, "loud": "HOUSE 1" });
    let print = |id: i32| {
        let loud = format!("PRINT {id}");
        let fields = doc! { "_id": id, "loud": loud, "house": 1, "copy": null };
        rest(&format!("print {id}"), fields)
    };
    let houses = db.collection::<House>();
    let prints = db.collection::<Print>();
    // As a find has it.
    let found = houses.find(|h| h.id.eq(1)).project::<Rest>().await.unwrap();
    assert_eq!(found, std::slice::from_ref(&house));
    let inverse = || Print::prints().sort(|p| p.id.asc()).project::<Rest>();
    let loaded = houses.find(|h| h.id.eq(1)).with(inverse()).await.unwrap();
    assert_eq!(loaded[0].1, [print(1), print(2)]);
    let loaded = houses.find(|h| h.id.eq(1)).with(inverse().first()).await.unwrap();
    assert_eq!(loaded[0].1, Some(print(1)));
    let loaded = houses
        .find(|h| h.id.eq(1))
        .with(inverse().limit(1))
        .await
        .unwrap();
    assert_eq!(loaded[0].1, [print(1)]);
    let joined = houses.find(|h| h.id.eq(1)).join(|_| inverse()).await.unwrap();
    assert_eq!(joined[0].1, [print(1), print(2)]);
    let loaded = prints
        .find(|p| p.id.eq(1))
        .load(|p| p.house.project::<Rest>())
        .await
        .unwrap();
    assert_eq!(loaded[0].1, Some(house.clone()));
    let joined = prints
        .find(|p| p.id.eq(1))
        .join(|p| p.house.project::<Rest>())
        .await
        .unwrap();
    assert_eq!(joined[0].1, Some(house.clone()));
    let nested = prints
        .find(|p| p.id.eq(1))
        .load(|p| p.house.with(inverse()).project::<Rest>())
        .await
        .unwrap();
    assert_eq!(nested[0].1, Some((house, vec![print(1), print(2)])));
}
