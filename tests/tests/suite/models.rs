//! The models that the cases use.

use std::collections::BTreeMap;

use bson::{DateTime, Decimal128};
use odm::{Embedded, Id, Model};
use serde::{Deserialize, Serialize};

/// Something sold: a string for its key, one field of most kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "items")]
#[odm(index(keys(category, desc(price))))]
pub struct Item {
    #[serde(rename = "_id")]
    pub id: String,
    #[odm(index)]
    pub name: String,
    pub category: String,
    pub price: f64,
    pub stock: i32,
    pub sold: i64,
    pub tags: Vec<String>,
    pub scores: Vec<i32>,
    pub note: Option<String>,
    pub active: bool,
    pub maker: Maker,
    pub reviews: Vec<Review>,
    pub labels: BTreeMap<String, String>,
    pub added: DateTime,
    pub cost: Decimal128,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Maker {
    pub name: String,
    pub city: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Review {
    pub by: String,
    pub stars: i32,
}

impl Item {
    /// An item with plain values.
    pub fn new(id: &str, stock: i32) -> Item {
        Item {
            id: id.to_owned(),
            name: format!("item {id}"),
            category: "tools".to_owned(),
            price: f64::from(stock) / 2.0,
            stock,
            sold: 0,
            tags: Vec::new(),
            scores: Vec::new(),
            note: None,
            active: true,
            maker: Maker {
                name: "Acme".to_owned(),
                city: None,
            },
            reviews: Vec::new(),
            labels: BTreeMap::new(),
            added: DateTime::from_millis(0),
            cost: "1.50".parse().expect("a decimal"),
        }
    }

    /// The same with tags.
    pub fn tagged(mut self, tags: &[&str]) -> Item {
        self.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        self
    }

    /// The same with scores.
    pub fn scored(mut self, scores: &[i32]) -> Item {
        self.scores = scores.to_vec();
        self
    }

    /// The same with reviews.
    pub fn reviewed(mut self, reviews: &[(&str, i32)]) -> Item {
        self.reviews = reviews
            .iter()
            .map(|(by, stars)| Review {
                by: (*by).to_owned(),
                stars: *stars,
            })
            .collect();
        self
    }
}

/// An account with a generated id and a unique address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "accounts")]
pub struct Account {
    #[serde(rename = "_id")]
    pub id: Id<Account>,
    #[odm(unique)]
    pub email: String,
    pub balance: i64,
}

impl Account {
    pub fn new(email: &str, balance: i64) -> Account {
        Account {
            id: Id::new(),
            email: email.to_owned(),
            balance,
        }
    }
}
