//! How much collections and indexes hold, counted.

use std::ops::ControlFlow;

use super::super::aggregate;
use super::super::catalog::Collection;
use super::super::catalog::buckets::BucketId;
use super::super::document::owned::fields_of;
use super::super::document::{Doc, Fields, Owned};
use super::super::fault::{Fault, Result, code};
use super::super::storage::{ALL, Read};
use super::{Namespace, series, view};

/// The figures of a collection, or of a database's together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statistics {
    pub(crate) collections: u64,
    pub(crate) views: u64,
    pub(crate) documents: u64,
    /// Bytes of documents.
    pub(crate) size: u64,
    /// Bytes of records with their keys and checksums.
    pub(crate) storage: u64,
    /// Bytes of each index's entries, by the index's name.
    pub(crate) indexes: Vec<(String, u64)>,
    /// The bounds of a capped collection: bytes, and documents if they are bounded.
    pub(crate) capped: Option<(u64, Option<u64>)>,
    /// Where the documents of a time series are, and in how many buckets.
    pub(crate) buckets: Option<(String, u64)>,
}

/// How many buckets the documents of a time series are in.
fn buckets(read: &dyn Read, collection: &Collection) -> Result<u64> {
    let (mut last, mut number) = (None, 0);
    read.scan(collection.records, ALL, false, &mut |key, _| {
        let bucket = key
            .try_into()
            .ok()
            .map(|key| BucketId::of(u64::from_be_bytes(key)));
        number += u64::from(bucket != last);
        last = bucket;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(number)
}

/// Counts one collection; nothing where there is none. Reads everything that it holds.
///
/// # Errors
/// Code 166 for a view.
pub(crate) fn of_collection(read: &dyn Read, ns: &Namespace) -> Result<Statistics> {
    let stored_in = series::stored_in(read.catalog(), ns);
    view::refuse(read.catalog(), &stored_in)?;
    let mut statistics = Statistics::default();
    if let Some(collection) = read
        .catalog()
        .collection(&stored_in.database, &stored_in.collection)
    {
        statistics.add(read, collection)?;
        if collection.rules.series.is_some() {
            statistics.buckets = Some((stored_in.to_string(), buckets(read, collection)?));
        }
        statistics.capped = collection.rules.capped.map(|capped| {
            let unbounded = capped.max >= i32::MAX as u64;
            (capped.size, (!unbounded).then_some(capped.max))
        });
    }
    Ok(statistics)
}

/// Counts a database; the indexes' names have their collection's before them.
pub(crate) fn of_database(read: &dyn Read, database: &str) -> Result<Statistics> {
    let mut statistics = Statistics::default();
    for collection in read.catalog().collections(database) {
        if collection.rules.view.is_some() {
            statistics.views += 1;
        } else {
            let before = statistics.indexes.len();
            statistics.add(read, collection)?;
            for (name, _) in &mut statistics.indexes[before..] {
                name.insert(0, '.');
                name.insert_str(0, &collection.name);
            }
        }
    }
    Ok(statistics)
}

/// What a stage describes: its indexes and plans are those of the collection under a view.
fn described_by(read: &dyn Read, ns: &Namespace, asked: &aggregate::Statistics) -> Result<Namespace> {
    let is_series = *series::stored_in(read.catalog(), ns) != *ns;
    match asked {
        aggregate::Statistics::Indexes | aggregate::Statistics::Plans if !is_series => {
            Ok(view::resolve(read.catalog(), ns)?.base)
        }
        _ => Ok(ns.clone()),
    }
}

/// The documents of a stage that describes a collection.
///
/// # Errors
/// Code 166 for a view, 26 and 50933 where there is no collection.
pub(crate) fn described(
    read: &dyn Read,
    ns: &Namespace,
    asked: &aggregate::Statistics,
    now: i64,
) -> Result<Vec<Vec<u8>>> {
    let described = described_by(read, ns, asked)?;
    let stored_in = series::stored_in(read.catalog(), &described);
    let collection = read
        .catalog()
        .collection(&stored_in.database, &stored_in.collection);
    match asked {
        aggregate::Statistics::Plans if collection.is_none() => {
            Err(Fault::new(50933, format!("collection '{ns}' does not exist")))
        }
        aggregate::Statistics::Plans => Ok(Vec::new()),
        aggregate::Statistics::Indexes => Ok(collection
            .into_iter()
            .flat_map(|collection| &collection.indexes)
            .filter(|index| !index.definition.clustered)
            .map(|index| {
                let spec = as_kept(Doc::Raw(index.definition.spec()));
                let key = index.definition.key_pattern().to_bytes();
                Doc::Fields(&[
                    text("name", &index.definition.name),
                    ("key".to_owned(), Owned::RawDocument(key)),
                    text("host", HOST),
                    // Uses are not counted: none are known since now.
                    (
                        "accesses".to_owned(),
                        Owned::Document(vec![
                            ("ops".to_owned(), Owned::Int64(0)),
                            ("since".to_owned(), Owned::DateTime(now)),
                        ]),
                    ),
                    ("spec".to_owned(), Owned::Document(spec)),
                ])
                .to_bytes()
            })
            .collect()),
        aggregate::Statistics::Collection {
            storage,
            count,
            executions,
        } => {
            if *count || *executions {
                view::refuse(read.catalog(), ns)?;
            }
            let found = match storage.is_some() || *count {
                true => of_collection(read, ns)?,
                false => Statistics::default(),
            };
            let mut fields: Fields = vec![
                text("ns", &ns.to_string()),
                text("host", HOST),
                ("localTime".to_owned(), Owned::DateTime(now)),
            ];
            if (storage.is_some() || *count || *executions) && collection.is_none() {
                let which = match (storage, *count) {
                    (Some(_), _) => "storageStats",
                    (None, true) => "count",
                    (None, false) => "queryExecStats",
                };
                return Err(Fault::new(
                    code::NAMESPACE_NOT_FOUND,
                    format!(
                        "Unable to retrieve {which} in $collStats stage :: caused by :: Collection [{ns}] not found."
                    ),
                ));
            }
            if let Some(scale) = storage {
                fields.push(("storageStats".to_owned(), Owned::Document(found.stored(*scale))));
            }
            if *count {
                fields.push(number("count", found.documents));
            }
            if let Some(collection) = collection.filter(|_| *executions) {
                let scans = Owned::Int64(i64::try_from(collection.scans()).unwrap_or(i64::MAX));
                let scans = ["total", "nonTailable"].map(|name| (name.to_owned(), scans.clone()));
                let scans = ("collectionScans".to_owned(), Owned::Document(scans.to_vec()));
                fields.push(("queryExecStats".to_owned(), Owned::Document(vec![scans])));
            }
            Ok(vec![Doc::Fields(&fields).to_bytes()])
        }
    }
}

/// A specification in the order in which the server keeps it: some options stand before the key.
fn as_kept(spec: Doc<'_>) -> Fields {
    const FIRST: &[&str] = &["v", "unique", "prepareUnique", "hidden"];
    let mut fields = fields_of(spec);
    fields.sort_by_key(|(name, _)| {
        FIRST
            .iter()
            .position(|first| first == name)
            .unwrap_or(FIRST.len())
    });
    fields
}

/// What stands for the machine.
const HOST: &str = "embedded";

fn text(name: &str, text: &str) -> (String, Owned) {
    (name.to_owned(), Owned::String(text.to_owned()))
}

fn number(name: &str, count: u64) -> (String, Owned) {
    let number = match i32::try_from(count) {
        Ok(count) => Owned::Int32(count),
        Err(_) => Owned::Int64(i64::try_from(count).unwrap_or(i64::MAX)),
    };
    (name.to_owned(), number)
}

impl Statistics {
    /// Bytes of all the indexes' entries.
    pub(crate) fn index_bytes(&self) -> u64 {
        self.indexes.iter().map(|(_, bytes)| bytes).sum()
    }

    /// The sizes as `storageStats` gives them.
    pub(crate) fn stored(&self, scale: u64) -> Fields {
        let scale = scale.max(1);
        let indexes = self.index_bytes();
        let sizes = self
            .indexes
            .iter()
            .map(|(name, bytes)| number(name, bytes / scale));
        // Of what is not there a server says less.
        if self.collections == 0 {
            return vec![
                number("size", 0),
                number("count", 0),
                number("numOrphanDocs", 0),
                number("storageSize", 0),
                number("totalSize", 0),
                number("nindexes", 0),
                number("totalIndexSize", 0),
                ("indexDetails".to_owned(), Owned::Document(Vec::new())),
                ("indexSizes".to_owned(), Owned::Document(Vec::new())),
                number("scaleFactor", scale),
            ];
        }
        let mut fields = vec![number("size", self.size / scale)];
        if let Some((ns, buckets)) = &self.buckets {
            let mut series = vec![text("bucketsNs", ns), number("bucketCount", *buckets)];
            if let Some(average) = self.size.checked_div(*buckets) {
                series.push(number("avgBucketSize", average));
            }
            fields.push(("timeseries".to_owned(), Owned::Document(series)));
        } else {
            fields.push(number("count", self.documents));
            if let Some(average) = self.size.checked_div(self.documents) {
                fields.push(number("avgObjSize", average));
            }
        }
        fields.extend([
            number("numOrphanDocs", 0),
            number("storageSize", self.storage / scale),
            number("freeStorageSize", 0),
            ("capped".to_owned(), Owned::Bool(self.capped.is_some())),
        ]);
        if let Some((bytes, documents)) = self.capped {
            fields.push(number("max", documents.unwrap_or(i32::MAX as u64)));
            fields.push(number("maxSize", bytes / scale));
        }
        fields.extend([
            number("nindexes", self.indexes.len() as u64),
            ("indexBuilds".to_owned(), Owned::Array(Vec::new())),
            number("totalIndexSize", indexes / scale),
            number("totalSize", (self.storage + indexes) / scale),
            ("indexSizes".to_owned(), Owned::Document(sizes.collect())),
            number("scaleFactor", scale),
        ]);
        fields
    }

    fn add(&mut self, read: &dyn Read, collection: &Collection) -> Result<()> {
        self.collections += 1;
        let overhead = super::super::storage::format::CHECKSUM_BYTES;
        read.scan(collection.records, ALL, false, &mut |key, stored| {
            self.documents += 1;
            self.size += stored.len().saturating_sub(overhead) as u64;
            self.storage += (key.len() + stored.len()) as u64;
            Ok(ControlFlow::Continue(()))
        })?;
        if view::list::is_list_of(collection) {
            let views = view::list::documents(read.catalog(), &collection.database);
            self.documents += views.len() as u64;
            self.size += views.iter().map(|view| view.len() as u64).sum::<u64>();
        }
        for index in collection
            .indexes
            .iter()
            .filter(|index| !index.definition.clustered)
        {
            let mut bytes = 0;
            read.scan(index.tree, ALL, false, &mut |key, stored| {
                bytes += (key.len() + stored.len()) as u64;
                Ok(ControlFlow::Continue(()))
            })?;
            self.indexes.push((index.definition.name.clone(), bytes));
        }
        Ok(())
    }
}
