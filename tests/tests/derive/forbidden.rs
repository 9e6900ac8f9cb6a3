//! Lints that users forbid. Public and private types, fields that nobody asks for.

#![forbid(missing_docs, dead_code, unreachable_pub, missing_debug_implementations)]
// Groups that serde's own derive lifts for its code: they cannot be forbidden, only denied.
#![deny(unused, nonstandard_style, clippy::all)]
#![forbid(unsafe_code, single_use_lifetimes, trivial_casts, trivial_numeric_casts)]

use odm::{Embedded, Model};
use serde::{Deserialize, Serialize};

/// A book.
#[derive(Debug, Serialize, Deserialize, Model)]
pub struct Book {
    /// The number.
    #[serde(rename = "_id")]
    pub id: i32,
    /// The title.
    #[odm(index)]
    pub title: String,
    /// Where it can be had.
    pub source: Source,
    pub(crate) note: String,
    pub(in crate::forbidden) shelf: Shelf,
}

/// A source.
#[derive(Debug, Serialize, Deserialize, Embedded)]
#[serde(tag = "type")]
pub enum Source {
    /// A shop.
    Shop {
        /// Its name.
        name: String,
    },
    /// Nowhere.
    Nowhere,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
pub(crate) struct Shelf {
    mark: String,
    row: i32,
}

#[test]
fn forbidden_lints_are_kept() {
    let shelf = Shelf {
        mark: "A".to_owned(),
        row: 1,
    };
    assert_eq!((shelf.mark.as_str(), shelf.row), ("A", 1));
    assert_eq!(Book::fields().shelf.row.path().to_string(), "shelf.row");
}
