//! What is stored of accounts.

use odm::Model;
use odm::bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::money::Money;

/// An account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "accounts")]
pub struct Account {
    /// Its name, as whoever opened it chose it.
    #[serde(rename = "_id")]
    pub id: String,
    /// What is in it.
    pub balance: Money,
    /// The least that may be in it, in minor units: 0 for a purse, below 0 for credit; none for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<i64>,
    /// Since when.
    pub opened: DateTime,
}

/// A transfer that was made. It is never changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "account_transfers")]
#[allow(clippy::duplicated_attributes, reason = "two indexes end with the same field")]
#[odm(index(keys(from, at, key)))]
#[odm(index(keys(to, at, key)))]
pub struct Transfer {
    /// The key that whoever made it chose.
    #[serde(rename = "_id")]
    pub key: String,
    /// The account that has less.
    pub from: String,
    /// The account that has more.
    pub to: String,
    /// How much.
    pub money: Money,
    /// When.
    pub at: DateTime,
}
