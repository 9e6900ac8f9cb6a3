//! What happened: units of work and commits.

use std::collections::BTreeMap;

/// A document: which of the two collections, and its `_id`.
pub type Key = (u8, i32);

/// What a document says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which write made it: no two writes have the same stamp.
    pub stamp: i64,
    /// A counter.
    pub count: i64,
    /// An indexed field.
    pub tag: i32,
}

/// How many stamps a unit of work has.
pub const STAMPS: i64 = 64;

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// A document by its `_id`.
    One(Key),
    /// The documents of a collection with an `_id` from the first to the second number.
    Range(u8, i32, i32),
    /// The documents of a collection with a tag, by the index.
    Tag(u8, i32),
    /// How many documents a collection has.
    Count(u8),
    /// How many documents of a collection have a tag.
    CountTag(u8, i32),
}

/// What a read gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Documents by `_id`.
    Rows(Vec<(Key, Row)>),
    Count(u64),
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Insert(Key, Row),
    /// Adds to the counter.
    Add(Key, i64, i64),
    /// Sets the tag.
    Tag(Key, i32, i64),
    Replace(Key, Row),
    Delete(Key),
}

impl Change {
    /// The document that it is about.
    pub fn key(&self) -> Key {
        match self {
            Change::Insert(key, _)
            | Change::Add(key, ..)
            | Change::Tag(key, ..)
            | Change::Replace(key, _)
            | Change::Delete(key) => *key,
        }
    }
}

/// What a write answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    /// There was no such document, so that nothing was written.
    Missing,
    /// There was such a document, so that nothing was inserted.
    Duplicate,
    /// The document as it was.
    Before(Row),
    /// The document as it is.
    After(Row),
}

/// One thing that a unit of work did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Read(Query, Found),
    Write(Change, Answer),
}

/// What a unit of work is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// One operation.
    Single(Step),
    /// Steps in a transaction, and whether it was committed.
    Transaction(Vec<Step>, bool),
    /// Adds to the counters of all documents of a collection with a tag; how many there were.
    Multi {
        collection: u8,
        tag: i32,
        add: i64,
        stamp: i64,
        count: u64,
    },
}

/// A unit of work; its times are ticks of one counter.
#[derive(Clone, Debug)]
pub struct Unit {
    pub id: i64,
    /// Before it began.
    pub start: u64,
    /// After what it saw was fixed.
    pub seen: u64,
    /// After it was acknowledged.
    pub end: u64,
    pub work: Work,
}

/// A commit as the change stream has it: each changed document, and what it says then.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    pub changes: Vec<(Key, Option<Row>)>,
}

/// All that happened.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What was there before.
    pub before: BTreeMap<Key, Row>,
    pub units: Vec<Unit>,
    /// In their order.
    pub commits: Vec<Commit>,
    /// Whether a read of several documents, and a write to several, is promised to be at one point in time.
    pub statements_are_atomic: bool,
}
