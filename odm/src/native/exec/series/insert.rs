//! Inserting into time series: documents go into the buckets of their sources, and what a command has for a bucket goes
//! in as one, or not at all.

use std::collections::HashMap;
use std::ops::{Bound, ControlFlow};

use super::super::super::catalog::Collection;
use super::super::super::catalog::buckets::{Arrival, BucketId};
use super::super::super::catalog::rules::Series;
use super::super::super::document::{BUILDABLE_BYTES, Doc, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::index::IndexKeys;
use super::super::super::storage::{Read, Write, format};
use super::super::statement::{Batch, Outcome, Statement};
use super::super::{Namespace, record};
use super::{arrange, index};

/// Runs the insertions from this one on as one command; gives how many these are.
///
/// Of those in order, what came before a document without its time is inserted, and all count as inserted, as on the
/// server. Where a document does not go into an index, they are tried one by one.
pub(in super::super) fn insert(
    write: &mut dyn Write,
    batch: &Batch,
    start: usize,
    (collection, series): (&Collection, &Series),
    outcome: &mut Outcome,
) -> Result<usize> {
    let statements = batch.statements.iter().enumerate().skip(start);
    let statements = statements.take_while(|(_, statement)| statement.inserts());
    let mut own = Insertion {
        write,
        namespace: &batch.namespace,
        collection,
        series,
    };
    let (mut count, mut timed, mut untimed) = (0, Vec::new(), Vec::new());
    for (at, statement) in statements {
        count += 1;
        if batch.ordered && !untimed.is_empty() {
            continue;
        }
        match own.read(at, statement) {
            Ok(document) => timed.push(document),
            Err(fault) => untimed.push((at, fault)),
        }
    }
    let all_fit = timed.iter().all(|document| document.keys.is_ok());
    let is_cut = batch.ordered && !untimed.is_empty();
    outcome.errors.append(&mut untimed);
    match (all_fit, batch.ordered) {
        (true, _) => {
            let inserted = own.put_all(&timed)?;
            outcome.inserted += if is_cut { count as u64 } else { inserted };
        }
        (false, true) => own.put_one_by_one(&timed, is_cut, outcome)?,
        (false, false) => own.put_fitting_buckets(&timed, outcome)?,
    }
    Ok(count)
}

/// A document on its way into a bucket.
struct Timed {
    /// That of its statement.
    at: usize,
    document: Vec<u8>,
    source: Vec<u8>,
    millis: i64,
    /// Its keys by the collection's indexes, or why it has none.
    keys: Result<Vec<IndexKeys>>,
}

impl Timed {
    fn arrival<'a>(&'a self, series: &'a Series, command: u64) -> Arrival<'a> {
        Arrival {
            source: &self.source,
            millis: self.millis,
            span: series.granularity.span() * 1000,
            document: Doc::Raw(&self.document),
            meta: series.meta.as_deref(),
            command,
        }
    }
}

struct Insertion<'a> {
    write: &'a mut dyn Write,
    namespace: &'a Namespace,
    collection: &'a Collection,
    series: &'a Series,
}

impl Insertion<'_> {
    /// Reads a document.
    ///
    /// # Errors
    /// Code 2 for one without its time.
    fn read(&self, at: usize, statement: &Statement) -> Result<Timed> {
        let (document, made_id) = match statement {
            Statement::Insert { document, made_id } => (document.as_slice(), *made_id),
            Statement::InsertAsSent { document, .. } => (document.as_slice(), false),
            _ => (&[][..], false),
        };
        let (series, doc) = (self.series, Doc::Raw(document));
        let Some(Value::DateTime(millis)) = doc.get(&series.time) else {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!(
                    "'{}' must be present and contain a valid BSON UTC datetime value",
                    series.time
                ),
            ));
        };
        let source = arrange::source(series, doc);
        let document = arrange::arranged(series, doc, &source, made_id);
        let keys = check_bucket(series, Doc::Raw(&document)).and_then(|()| self.keys(&document));
        Ok(Timed {
            at,
            document,
            source,
            millis,
            keys,
        })
    }

    fn keys(&self, document: &[u8]) -> Result<Vec<IndexKeys>> {
        let entries = self.collection.indexes.iter();
        entries
            .map(|entry| index::keys(self.series, &entry.definition, Doc::Raw(document)))
            .collect()
    }

    /// Inserts documents of one command that have their keys; gives how many.
    fn put_all(&mut self, documents: &[Timed]) -> Result<u64> {
        let command = self.series.open.next_command();
        let mut inserted = 0;
        for document in documents {
            if let Ok(keys) = &document.keys {
                self.put(document, keys, command)?;
                inserted += 1;
            }
        }
        Ok(inserted)
    }

    /// Inserts documents up to the first that has no keys, each as a command of its own; no more than one, which does not
    /// count, where there is an error already.
    fn put_one_by_one(&mut self, documents: &[Timed], is_cut: bool, outcome: &mut Outcome) -> Result<()> {
        let open = &self.series.open;
        documents
            .iter()
            .for_each(|document| open.close_source(&document.source));
        for document in documents {
            match &document.keys {
                Ok(keys) => self.put(document, keys, open.next_command())?,
                Err(fault) => {
                    open.close_source(&document.source);
                    outcome.errors.push((document.at, fault.clone()));
                    return Ok(());
                }
            }
            if is_cut {
                return Ok(());
            }
            outcome.inserted += 1;
        }
        Ok(())
    }

    /// Inserts the documents of the buckets before the first with a document that has no keys, in the order in which the
    /// documents come to them.
    fn put_fitting_buckets(&mut self, documents: &[Timed], outcome: &mut Outcome) -> Result<()> {
        let buckets = self.buckets(documents);
        let mut first: Option<(usize, &Fault)> = None;
        for (document, bucket) in documents.iter().zip(&buckets) {
            if let Err(fault) = &document.keys
                && first.is_none_or(|(before, _)| *bucket < before)
            {
                first = Some((*bucket, fault));
            }
        }
        let command = self.series.open.next_command();
        for (document, bucket) in documents.iter().zip(&buckets) {
            let fault = first.filter(|(from, _)| bucket >= from).map(|(_, fault)| fault);
            match (&document.keys, fault) {
                (Ok(keys), None) => {
                    self.put(document, keys, command)?;
                    outcome.inserted += 1;
                }
                (Err(fault), None) | (_, Some(fault)) => {
                    self.series.open.close_source(&document.source);
                    outcome.errors.push((document.at, fault.clone()));
                }
            }
        }
        Ok(())
    }

    /// Per document, which of the buckets it goes into, counted as documents come to them.
    fn buckets(&self, documents: &[Timed]) -> Vec<usize> {
        let trial = self.series.open.copied();
        let command = trial.next_command();
        let mut numbers: HashMap<BucketId, usize> = HashMap::new();
        let documents = documents.iter().zip(0..);
        documents
            .map(|(document, number)| {
                let arrival = document.arrival(self.series, command);
                let record = trial.next(&arrival).unwrap_or_else(|| {
                    let begin = self.begin_of_bucket(document.millis) * 1000;
                    trial.open(&arrival, BucketId::nowhere(number), begin)
                });
                let next = numbers.len();
                *numbers.entry(BucketId::of(record)).or_insert(next)
            })
            .collect()
    }

    fn put(&mut self, document: &Timed, keys: &[IndexKeys], command: u64) -> Result<()> {
        let record = self.place(&document.arrival(self.series, command))?;
        record::put_new(self.write, self.collection, record, &document.document, keys)
    }

    /// The next record in the open bucket of a document's source, or the first of a bucket that is opened.
    fn place(&mut self, arrival: &Arrival<'_>) -> Result<u64> {
        let (series, records) = (self.series, self.collection.records);
        if let Some(record) = series.open.next(arrival)
            && self.write.get(records, &record.to_be_bytes())?.is_none()
        {
            return Ok(record);
        }
        if let Some(full) = series.open.out_of_order(arrival.source) {
            self.bring_in_order(full)?;
        }
        let begin = self.begin_of_bucket(arrival.millis);
        let id = unused_bucket(self.write, self.collection, begin)?;
        Ok(series.open.open(arrival, id, begin.saturating_mul(1000)))
    }

    /// When a bucket begins that is opened for this time, in seconds since the epoch.
    fn begin_of_bucket(&self, millis: i64) -> i64 {
        let step = self.series.granularity.rounding();
        millis.div_euclid(1000).div_euclid(step).saturating_mul(step)
    }

    /// Orders the documents of a bucket by their times, as the server does when one is full.
    fn bring_in_order(&mut self, bucket: BucketId) -> Result<()> {
        let records = self.collection.records;
        let (from, to) = (
            bucket.first_record().to_be_bytes(),
            bucket.last_record().to_be_bytes(),
        );
        let range = (Bound::Included(&from[..]), Bound::Included(&to[..]));
        let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
        self.write.scan(records, range, false, &mut |key, stored| {
            let document = format::unseal(records, key, stored)?;
            if let Ok(record) = key.try_into() {
                found.push((u64::from_be_bytes(record), document.to_vec()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let time = |document: &[u8]| match Doc::Raw(document).get(&self.series.time) {
            Some(Value::DateTime(millis)) => millis,
            _ => i64::MIN,
        };
        let mut ordered: Vec<&[u8]> = found.iter().map(|(_, document)| document.as_slice()).collect();
        ordered.sort_by_key(|document| time(document));
        for ((record, old), new) in found.iter().zip(ordered) {
            if old != new {
                let at = (*record, old.as_slice());
                record::replace(self.write, self.namespace, self.collection, at, new, None)?;
            }
        }
        Ok(())
    }
}

/// Refuses a document whose bucket could not be: without a name for its time, or larger than a document may be, as it has
/// the values three times.
fn check_bucket(series: &Series, document: Doc<'_>) -> Result<()> {
    // What the server has in a bucket beside values and names: its own names, types and lengths.
    const BUCKET: usize = 80;
    const SOURCE: usize = 6;
    const FIELD_IN_BOUNDS: usize = 2;
    const FIELD_IN_DATA: usize = 10;
    if series.time.is_empty() {
        return Err(Fault::new(
            6_781_402,
            "Time series bucket document does not have a valid min time element",
        ));
    }
    let Doc::Raw(bytes) = document else {
        return Ok(());
    };
    // Far from it, nothing needs to be counted.
    if bytes.len() < BUILDABLE_BYTES / 4 {
        return Ok(());
    }
    let mut size = BUCKET;
    for field in document.elements() {
        let mut value = Vec::new();
        field.value().write_payload(&mut value);
        size += match series.meta.as_deref() == Some(field.name_str()) {
            true => SOURCE + value.len(),
            false => {
                let named = field.name().len() + value.len();
                2 * (FIELD_IN_BOUNDS + named) + FIELD_IN_DATA + named
            }
        };
    }
    match size > BUILDABLE_BYTES {
        false => Ok(()),
        true => Err(Fault::new(
            10334,
            format!(
                "time-series insert failed: BSONObj size: {size} is invalid. Size must be between 0 and {BUILDABLE_BYTES}(16MB)"
            ),
        )),
    }
}

/// A bucket behind all those that begin at these seconds.
fn unused_bucket(read: &dyn Read, collection: &Collection, begin: i64) -> Result<BucketId> {
    let mut id = BucketId::first_at(begin);
    loop {
        let (from, to) = (
            id.first_record().to_be_bytes(),
            id.last_record_then().to_be_bytes(),
        );
        let mut last = None;
        let range = (Bound::Included(&from[..]), Bound::Included(&to[..]));
        read.scan(collection.records, range, true, &mut |key, _| {
            last = key.try_into().ok().map(u64::from_be_bytes);
            Ok(ControlFlow::Break(()))
        })?;
        let Some(last) = last else {
            return Ok(id);
        };
        let next = BucketId::of(last).next().ok_or_else(|| {
            Fault::new(
                code::INTERNAL,
                format!("{} has no room for another source", collection.namespace()),
            )
        })?;
        if next.begin() == id.begin() {
            return Ok(next);
        }
        // All that the second has are taken.
        id = next;
    }
}
