//! What is stored of copies that are out.

use odm::Embedded;
use odm::bson::DateTime;
use serde::{Deserialize, Serialize};

/// Copies that are out: the manual's `{by, date}`, and what a hold adds to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Checkout {
    /// Who has them.
    pub by: String,
    /// Since when.
    pub date: DateTime,
    /// The hold's id; none for what was taken without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// When the hold ends; none for what is lent until it is given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime>,
    /// How many copies.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub quantity: i32,
}

impl Checkout {
    /// Copies taken by somebody until they are given back.
    pub fn new(by: impl Into<String>, date: DateTime) -> Checkout {
        Checkout {
            by: by.into(),
            date,
            hold: None,
            until: None,
            quantity: 1,
        }
    }
}

fn one() -> i32 {
    1
}

fn is_one(quantity: &i32) -> bool {
    *quantity == 1
}

/// How a hold ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Settled {
    /// The hold's id.
    pub hold: String,
    /// How.
    pub ending: Ending,
    /// When.
    pub at: DateTime,
    /// How many of its copies were confirmed, where that was said: the others came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<i32>,
}

/// The ways in which a hold ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// The copies are sold.
    Confirmed,
    /// The copies came back before the end.
    Released,
    /// The time was over.
    Expired,
}
