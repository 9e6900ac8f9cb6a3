//! Embedded documents, maps of them, and enums with data.

use std::collections::BTreeMap;

use bson::doc;
use odm::{Db, Embedded, Filter, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    nested_documents_are_reached_by_name,
    variants_are_asked_for_under_every_tagging,
    variants_in_arrays_are_asked_for_and_changed,
}

macro_rules! contact {
    ($name:ident, $($serde:tt)*) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
        #[serde($($serde)* rename_all = "snake_case")]
        pub enum $name {
            Email { address: String, verified: bool },
            Post(Place),
            Visit { address: String },
            Nothing,
        }
    };
}

contact!(External,);
contact!(Internal, tag = "kind",);
contact!(Adjacent, tag = "kind", content = "of",);

/// Told apart by its fields alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(untagged)]
pub enum Untagged {
    Email { mail: String },
    Post(Place),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Place {
    pub street: String,
    pub city: Option<City>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct City {
    pub name: String,
    pub zip: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "people")]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: i32,
    pub home: Place,
    pub work: Option<Place>,
    pub places: Vec<Place>,
    pub named: BTreeMap<String, Place>,
    pub external: External,
    pub internal: Internal,
    pub adjacent: Adjacent,
    pub untagged: Untagged,
    pub contacts: Vec<Internal>,
    pub others: Vec<External>,
}

fn place(street: &str, zip: Option<i32>) -> Place {
    Place {
        street: street.to_owned(),
        city: zip.map(|zip| City {
            name: format!("city {zip}"),
            zip,
        }),
    }
}

fn people() -> Vec<Person> {
    let email = |address: &str| address.to_owned();
    let first = Person {
        id: 1,
        home: place("a", Some(1)),
        work: Some(place("w", None)),
        places: vec![place("p", Some(10)), place("q", Some(20))],
        named: BTreeMap::from([("sea".to_owned(), place("s", Some(7)))]),
        external: External::Email {
            address: email("x"),
            verified: true,
        },
        internal: Internal::Email {
            address: email("x"),
            verified: true,
        },
        adjacent: Adjacent::Email {
            address: email("x"),
            verified: true,
        },
        untagged: Untagged::Email { mail: email("x") },
        contacts: vec![
            Internal::Visit { address: email("x") },
            Internal::Email {
                address: email("y"),
                verified: false,
            },
            Internal::Email {
                address: email("z"),
                verified: true,
            },
        ],
        others: vec![
            External::Nothing,
            External::Email {
                address: email("y"),
                verified: false,
            },
        ],
    };
    let mut second = Person {
        id: 2,
        home: place("b", None),
        work: None,
        places: Vec::new(),
        named: BTreeMap::new(),
        external: External::Post(place("b", Some(5))),
        internal: Internal::Post(place("b", Some(5))),
        adjacent: Adjacent::Post(place("b", Some(5))),
        untagged: Untagged::Post(place("b", Some(5))),
        contacts: vec![Internal::Nothing],
        others: vec![External::Post(place("b", None))],
    };
    let mut third = second.clone();
    third.id = 3;
    third.external = External::Visit { address: email("x") };
    third.internal = Internal::Visit { address: email("x") };
    third.adjacent = Adjacent::Visit { address: email("x") };
    second.places.push(place("p", Some(20)));
    let mut fourth = second.clone();
    fourth.id = 4;
    fourth.external = External::Nothing;
    fourth.internal = Internal::Nothing;
    fourth.adjacent = Adjacent::Nothing;
    vec![first, second, third, fourth]
}

async fn ids(db: &Db, filter: impl FnOnce(PersonFields) -> Filter<Person>) -> Vec<i32> {
    let found = db
        .collection::<Person>()
        .find(filter)
        .sort(|p| p.id.asc())
        .await
        .unwrap();
    found.iter().map(|person| person.id).collect()
}

async fn nested_documents_are_reached_by_name(db: &Db) {
    let people = people();
    let collection = db.collection::<Person>();
    collection.insert_many(&people).await.unwrap();
    assert_eq!(collection.get(1).await.unwrap().as_ref(), Some(&people[0]));
    assert_eq!(ids(db, |p| p.home.city.zip.eq(1)).await, [1]);
    assert_eq!(ids(db, |p| p.work.street.eq("w")).await, [1]);
    assert_eq!(ids(db, |p| p.work.is_none()).await, [2, 3, 4]);
    assert_eq!(ids(db, |p| p.home.city.is_none()).await, [2, 3, 4]);
    assert_eq!(ids(db, |p| p.named.key("sea").city.zip.gt(6)).await, [1]);
    assert_eq!(ids(db, |p| p.places.any().city.zip.eq(20)).await, [1, 2, 4]);
    assert_eq!(
        ids(db, |p| p
            .places
            .elem_match(|e| e.street.eq("p") & e.city.zip.eq(20)))
        .await,
        [2, 4]
    );
    assert_eq!(ids(db, |p| p.home.eq(place("b", None))).await, [2, 3, 4]);
    let update = |id: i32| move |p: PersonFields| p.id.eq(id);
    collection
        .update_one(update(1), |p| {
            p.home.city.zip.inc(1)
                & p.named.key("hill").set(place("h", None))
                & p.places.filtered(|e| e.city.zip.gt(15)).street.set("r")
                & p.work.set(None)
        })
        .await
        .unwrap();
    let changed = collection.get(1).required().await.unwrap();
    assert_eq!(changed.home, place("a", Some(1)).clone_with_zip(2));
    assert_eq!(changed.named.keys().collect::<Vec<_>>(), ["hill", "sea"]);
    assert_eq!(
        (
            changed.places[0].street.as_str(),
            changed.places[1].street.as_str()
        ),
        ("p", "r")
    );
    assert_eq!(changed.work, None);
}

impl Place {
    fn clone_with_zip(&self, zip: i32) -> Place {
        let mut place = self.clone();
        place.city.iter_mut().for_each(|city| city.zip = zip);
        place
    }
}

async fn variants_are_asked_for_under_every_tagging(db: &Db) {
    let people = people();
    db.collection::<Person>().insert_many(&people).await.unwrap();
    assert_eq!(ids(db, |p| p.external.email.is()).await, [1]);
    assert_eq!(ids(db, |p| p.internal.email.is()).await, [1]);
    assert_eq!(ids(db, |p| p.adjacent.email.is()).await, [1]);
    assert_eq!(ids(db, |p| p.external.nothing.is()).await, [4]);
    assert_eq!(ids(db, |p| p.internal.nothing.is()).await, [4]);
    assert_eq!(ids(db, |p| p.adjacent.nothing.is()).await, [4]);
    assert_eq!(ids(db, |p| p.external.post.city.zip.eq(5)).await, [2]);
    assert_eq!(ids(db, |p| p.internal.post.city.zip.eq(5)).await, [2]);
    assert_eq!(ids(db, |p| p.adjacent.post.city.zip.eq(5)).await, [2]);
    assert_eq!(ids(db, |p| p.untagged.post.city.zip.eq(5)).await, [2, 3, 4]);
    assert_eq!(ids(db, |p| p.untagged.email.mail.eq("x")).await, [1]);
    // Variants with a field of the same name: told apart by `matches`.
    assert_eq!(ids(db, |p| p.internal.email.address.eq("x")).await, [1, 3]);
    assert_eq!(
        ids(db, |p| p.internal.email.matches(|e| e.address.eq("x"))).await,
        [1]
    );
    assert_eq!(
        ids(db, |p| p.adjacent.visit.matches(|v| v.address.eq("x"))).await,
        [3]
    );
    assert_eq!(
        ids(db, |p| p.external.visit.matches(|v| v.address.eq("x"))).await,
        [3]
    );
    assert_eq!(ids(db, |p| p.internal.eq(Internal::Nothing)).await, [4]);
    assert_eq!(ids(db, |p| !p.external.email.is()).await, [2, 3, 4]);
}

async fn variants_in_arrays_are_asked_for_and_changed(db: &Db) {
    let people = people();
    let collection = db.collection::<Person>();
    collection.insert_many(&people).await.unwrap();
    assert_eq!(ids(db, |p| p.contacts.any().email.is()).await, [1]);
    assert_eq!(ids(db, |p| p.contacts.any().nothing.is()).await, [2, 3, 4]);
    assert_eq!(ids(db, |p| p.others.any().nothing.is()).await, [1]);
    assert_eq!(ids(db, |p| p.others.any().post.street.eq("b")).await, [2, 3, 4]);
    let verified = |address: &'static str| {
        ids(db, move |p| {
            p.contacts
                .elem_match(|c| c.email.matches(|e| e.address.eq(address) & e.verified.eq(true)))
        })
    };
    assert_eq!(verified("z").await, [1]);
    assert_eq!(verified("y").await, [] as [i32; 0]);
    assert_eq!(verified("x").await, [] as [i32; 0], "that is a visit");
    collection
        .update_one(
            |p| p.id.eq(1) & p.internal.email.is() & p.external.email.is(),
            |p| {
                p.internal.email.address.set("new")
                    & p.external.email.verified.set(false)
                    & p.adjacent.set(Adjacent::Nothing)
                    & p.contacts.filtered(|c| c.email.is()).email.verified.set(true)
                    & p.others.push(External::Visit {
                        address: "here".to_owned(),
                    })
            },
        )
        .await
        .unwrap();
    let changed = collection.get(1).required().await.unwrap();
    assert_eq!(
        changed.internal,
        Internal::Email {
            address: "new".to_owned(),
            verified: true
        }
    );
    assert_eq!(
        changed.external,
        External::Email {
            address: "x".to_owned(),
            verified: false
        }
    );
    assert_eq!(changed.adjacent, Adjacent::Nothing);
    assert_eq!(changed.contacts[0], people[0].contacts[0]);
    assert_eq!(
        changed.contacts[1],
        Internal::Email {
            address: "y".to_owned(),
            verified: true
        }
    );
    assert_eq!(changed.others.len(), 3);
    let raw = db
        .raw_collection("people")
        .find_one(doc! { "_id": 1 })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(raw.get_document("adjacent").unwrap(), &doc! { "kind": "nothing" });
}
