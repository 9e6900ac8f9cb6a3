//! The models of the lifecycle cases.

use std::collections::BTreeMap;

use bson::DateTime;
use odm::{Embedded, Model};
use serde::{Deserialize, Serialize};

/// Dates and a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "notes")]
pub struct Note {
    #[serde(rename = "_id")]
    pub id: i32,
    pub text: String,
    #[odm(created)]
    pub created: DateTime,
    #[odm(updated)]
    pub updated: Option<DateTime>,
}

impl Note {
    pub fn new(id: i32, text: &str) -> Note {
        Note {
            id,
            text: text.to_owned(),
            created: DateTime::from_millis(-1),
            updated: None,
        }
    }
}

/// A bounded array, at the top and nested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "boxes")]
pub struct Bin {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    #[odm(max = 3)]
    pub items: Vec<i32>,
    pub inner: Inner,
    #[odm(validate(min = 0, max = 10))]
    pub weight: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Inner {
    #[odm(max = 2)]
    pub labels: Vec<String>,
}

impl Bin {
    pub fn new(id: i32, items: &[i32]) -> Bin {
        Bin {
            id,
            name: format!("bin {id}"),
            items: items.to_vec(),
            inner: Inner { labels: Vec::new() },
            weight: 5,
        }
    }
}

/// Rules of every kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "people", validate = adults_have_mail)]
pub struct Person {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(validate(length(min = 1, max = 8)))]
    pub name: String,
    #[odm(validate(min = 0, max = MAX_AGE))]
    pub age: i32,
    #[odm(validate(email))]
    pub mail: Option<String>,
    #[odm(validate(url))]
    pub site: Option<String>,
    #[odm(validate(pattern = r"^\d{4}$"))]
    pub zip: Option<String>,
    #[odm(validate(one_of("new", "old")))]
    pub state: String,
    #[odm(validate(finite, min = -1.5))]
    pub score: f64,
    #[odm(validate(non_empty, each(length(max = 5)), custom = no_duplicates))]
    pub tags: Vec<String>,
    #[odm(validate(values(min = 1)))]
    pub counts: BTreeMap<String, i32>,
    pub home: Address,
    pub others: Vec<Address>,
    pub places: BTreeMap<String, Address>,
    pub contact: Contact,
}

const MAX_AGE: i32 = 150;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Address {
    #[odm(validate(non_empty))]
    pub city: String,
    #[odm(validate(min = 1))]
    pub number: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Contact {
    Phone {
        #[odm(validate(length = 3))]
        number: String,
    },
    Nobody,
}

fn no_duplicates(tags: &[String]) -> Result<(), String> {
    match tags
        .iter()
        .enumerate()
        .find(|(at, tag)| tags[..*at].contains(tag))
    {
        Some((_, tag)) => Err(format!("holds {tag:?} twice")),
        None => Ok(()),
    }
}

fn adults_have_mail(person: &Person) -> Result<(), &'static str> {
    match person.age >= 18 && person.mail.is_none() {
        true => Err("an adult has an e-mail address"),
        false => Ok(()),
    }
}

impl Person {
    /// Breaks no rule.
    pub fn new(id: i32) -> Person {
        Person {
            id,
            name: "ann".to_owned(),
            age: 30,
            mail: Some("ann@example.org".to_owned()),
            site: Some("https://example.org/ann".to_owned()),
            zip: Some("1234".to_owned()),
            state: "new".to_owned(),
            score: 0.5,
            tags: vec!["x".to_owned()],
            counts: BTreeMap::from([("a".to_owned(), 1)]),
            home: Address::new("Paris"),
            others: vec![Address::new("Rome")],
            places: BTreeMap::from([("work".to_owned(), Address::new("Bonn"))]),
            contact: Contact::Phone {
                number: "112".to_owned(),
            },
        }
    }
}

impl Address {
    pub fn new(city: &str) -> Address {
        Address {
            city: city.to_owned(),
            number: None,
        }
    }
}

/// A version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pages")]
pub struct Page {
    #[serde(rename = "_id")]
    pub id: i32,
    pub text: String,
    #[odm(version)]
    #[serde(default)]
    pub version: i64,
}

impl Page {
    pub fn new(id: i32, text: &str) -> Page {
        Page {
            id,
            text: text.to_owned(),
            version: 0,
        }
    }
}

/// Deleted softly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "files")]
pub struct File {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(index(unique, partial = |f| f.deleted.is_none()))]
    pub name: String,
    #[odm(soft_delete)]
    pub deleted: Option<DateTime>,
}

impl File {
    pub fn new(id: i32, name: &str) -> File {
        File {
            id,
            name: name.to_owned(),
            deleted: None,
        }
    }
}

/// Saved by what was changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "profiles")]
pub struct Profile {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
    pub home: Address,
    pub note: Option<String>,
    #[odm(save = push)]
    pub log: Vec<String>,
    #[odm(save = add_to_set)]
    pub tags: Vec<String>,
    #[odm(save = increment)]
    pub visits: i32,
    pub list: Vec<i32>,
    pub counts: BTreeMap<String, i32>,
    #[odm(version)]
    pub version: i32,
}

impl Profile {
    pub fn new(id: i32) -> Profile {
        Profile {
            id,
            name: "ann".to_owned(),
            home: Address::new("Paris"),
            note: None,
            log: vec!["a".to_owned()],
            tags: vec!["x".to_owned()],
            visits: 1,
            list: vec![1, 2],
            counts: BTreeMap::new(),
            version: 0,
        }
    }
}
