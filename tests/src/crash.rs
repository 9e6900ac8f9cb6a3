//! What the process that is killed and the one that looks afterwards agree on: models and protocol.
//!
//! The writer says on its standard output what it is about to do and, once the write is acknowledged, that it
//! did it. A worker has one step under way at a time, so after a kill at most one step per worker is in doubt.

use std::fmt;
use std::str::FromStr;

use odm::Model;
use serde::{Deserialize, Serialize};

/// How many tasks write at once.
pub const WORKERS: i64 = 4;

/// How many accounts there are, and what each begins with.
pub const ACCOUNTS: i64 = 6;
/// What each account begins with.
pub const OPENING_BALANCE: i64 = 1_000;

/// How many documents a [`Step::Batch`] inserts.
pub const BATCH: i64 = 5;

/// A document whose parts all follow from its id and its version, so that a torn one is seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "parcels")]
pub struct Parcel {
    #[serde(rename = "_id")]
    pub id: i64,
    pub version: i64,
    #[odm(index)]
    pub label: String,
    pub body: Vec<String>,
}

impl Parcel {
    /// The parcel of this id in this version.
    pub fn new(id: i64, version: i64) -> Parcel {
        Parcel {
            id,
            version,
            label: label(id, version),
            body: body(id, version),
        }
    }
}

/// The label in a version.
pub fn label(id: i64, version: i64) -> String {
    format!("parcel {id} version {version}")
}

/// The body in a version: its size differs from version to version.
pub fn body(id: i64, version: i64) -> Vec<String> {
    let lines = (id * 7 + version * 3) % 20;
    (0..lines).map(|line| format!("{id}/{version}/{line}")).collect()
}

/// An account that transactions move money between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "accounts")]
pub struct Account {
    #[serde(rename = "_id")]
    pub id: i64,
    pub balance: i64,
}

/// The record of one transaction, written by it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "transfers")]
pub struct Transfer {
    #[serde(rename = "_id")]
    pub id: i64,
    pub from: i64,
    pub to: i64,
    pub amount: i64,
}

/// One write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Inserts a parcel in its first version.
    Insert { id: i64 },
    /// Inserts parcels of consecutive ids with one call.
    Batch { first: i64 },
    /// Brings a parcel to a version.
    Update { id: i64, version: i64 },
    /// Deletes a parcel.
    Delete { id: i64 },
    /// Moves money and records it, in one transaction.
    Transfer {
        id: i64,
        from: i64,
        to: i64,
        amount: i64,
    },
}

/// A line of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The database is open.
    Ready,
    /// The worker begins a step.
    Begun(i64, Step),
    /// The worker's step is acknowledged.
    Done(i64),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Line::Ready => writeln!(f, "ready;"),
            Line::Done(worker) => writeln!(f, "done {worker};"),
            Line::Begun(worker, step) => match step {
                Step::Insert { id } => writeln!(f, "insert {worker} {id};"),
                Step::Batch { first } => writeln!(f, "batch {worker} {first};"),
                Step::Update { id, version } => writeln!(f, "update {worker} {id} {version};"),
                Step::Delete { id } => writeln!(f, "delete {worker} {id};"),
                Step::Transfer { id, from, to, amount } => {
                    writeln!(f, "transfer {worker} {id} {from} {to} {amount};")
                }
            },
        }
    }
}

impl FromStr for Line {
    type Err = String;

    /// Reads a line; one that the kill cut short is an error.
    fn from_str(text: &str) -> Result<Line, String> {
        let cut = || format!("cut short: {text}");
        let mut words = text.strip_suffix(';').ok_or_else(cut)?.split(' ');
        let verb = words.next().ok_or_else(cut)?;
        let numbers: Result<Vec<i64>, _> = words.map(str::parse).collect();
        Ok(match (verb, numbers.map_err(|_| cut())?.as_slice()) {
            ("ready", []) => Line::Ready,
            ("done", &[worker]) => Line::Done(worker),
            ("insert", &[worker, id]) => Line::Begun(worker, Step::Insert { id }),
            ("batch", &[worker, first]) => Line::Begun(worker, Step::Batch { first }),
            ("update", &[worker, id, version]) => Line::Begun(worker, Step::Update { id, version }),
            ("delete", &[worker, id]) => Line::Begun(worker, Step::Delete { id }),
            ("transfer", &[worker, id, from, to, amount]) => {
                Line::Begun(worker, Step::Transfer { id, from, to, amount })
            }
            _ => return Err(cut()),
        })
    }
}
