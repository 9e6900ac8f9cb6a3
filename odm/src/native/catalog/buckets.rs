//! Where the documents of a time series go.
//!
//! The documents of a source that are close in time stand together, in buckets, as the server keeps them: a record id is
//! the begin of the bucket in seconds (32 bits), its number among those that begin then (22 bits), and the document's
//! place in it (10 bits). So the order of records is the order in which the server reads the collection.

mod shape;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::shape::{Shape, position};
use super::super::document::Doc;
use super::super::document::doc::Element;

/// The bits of a record id that are a document's place in its bucket.
const PLACE_BITS: u32 = 10;

/// The bits that are a bucket's number among those that begin in one second.
const NUMBER_BITS: u32 = 22;

/// The most documents of a bucket.
const MOST_DOCUMENTS: u64 = 1_000;

/// The most bytes of a bucket, as the server counts them, unless it has one document only.
const MOST_BYTES: usize = 125 << 10;

/// So many sources have an open bucket; with one more, all begin anew.
const MOST_OPEN: usize = 10_000;

/// The first record id of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BucketId(u64);

impl BucketId {
    /// The bucket that a record is in.
    pub(crate) fn of(record: u64) -> BucketId {
        BucketId(record >> PLACE_BITS << PLACE_BITS)
    }

    /// The first bucket that begins at these seconds since the epoch.
    pub(crate) fn first_at(seconds: i64) -> BucketId {
        // As on the server, whose ids have 32 bits of them.
        BucketId(u64::from(seconds as u32) << (PLACE_BITS + NUMBER_BITS))
    }

    /// A bucket that is in no store: one of the last second that there is.
    pub(crate) fn nowhere(number: u64) -> BucketId {
        BucketId(!(number << PLACE_BITS) >> PLACE_BITS << PLACE_BITS)
    }

    /// The last record id of the buckets that begin when this one does.
    pub(crate) fn last_record_then(self) -> u64 {
        self.0 | ((1 << (PLACE_BITS + NUMBER_BITS)) - 1)
    }

    /// The bucket behind this one, perhaps of the next second; none behind the last.
    pub(crate) fn next(self) -> Option<BucketId> {
        self.0.checked_add(1 << PLACE_BITS).map(BucketId)
    }

    /// The last record id that it may have.
    pub(crate) fn last_record(self) -> u64 {
        self.0 | ((1 << PLACE_BITS) - 1)
    }

    /// The first record id.
    pub(crate) fn first_record(self) -> u64 {
        self.0
    }

    /// When it begins, in seconds since the epoch as far as 32 bits say it.
    pub(crate) fn begin(self) -> u32 {
        (self.0 >> (PLACE_BITS + NUMBER_BITS)) as u32
    }
}

/// A document that looks for a place in a bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    /// Whose it is.
    pub(crate) source: &'a [u8],
    /// Its time, in milliseconds since the epoch.
    pub(crate) millis: i64,
    /// How many milliseconds a bucket is about.
    pub(crate) span: i64,
    pub(crate) document: Doc<'a>,
    /// The field that says whose it is.
    pub(crate) meta: Option<&'a str>,
    /// The command that it came with.
    pub(crate) command: u64,
}

impl<'a> Arrival<'a> {
    /// The fields that are in the bucket for each document.
    fn fields(&self) -> impl Iterator<Item = Element<'a>> {
        let meta = self.meta.map(str::as_bytes);
        let fields = self.document.elements();
        fields.filter(move |field| Some(field.name()) != meta)
    }
}

/// The open bucket of each source.
#[derive(Debug, Default)]
pub(crate) struct OpenBuckets {
    inner: Mutex<Inner>,
}

#[derive(Clone, Debug, Default)]
struct Inner {
    by_source: HashMap<Vec<u8>, Open>,
    /// How many commands there were.
    commands: u64,
}

#[derive(Clone, Debug)]
struct Open {
    id: BucketId,
    /// Milliseconds since the epoch.
    begin: i64,
    /// The time of the last document.
    last: i64,
    /// Whether no document is older than one before it.
    in_order: bool,
    documents: u64,
    /// As the server counts them.
    bytes: usize,
    fields: Vec<Field>,
}

/// A field of the documents in a bucket.
#[derive(Clone, Debug)]
struct Field {
    name: Box<[u8]>,
    /// The command that brought it.
    since: u64,
    shape: Shape,
}

impl Open {
    /// Whether the document is one for this bucket.
    fn takes(&mut self, arrival: &Arrival<'_>) -> bool {
        let end = self.begin.saturating_add(arrival.span);
        let in_time = (self.begin..end).contains(&arrival.millis);
        if !in_time || self.documents >= MOST_DOCUMENTS {
            return false;
        }
        let bytes = self.bytes + self.bytes_of(arrival);
        if bytes > MOST_BYTES {
            return false;
        }
        if !self.takes_types_of(arrival) {
            return false;
        }
        self.bytes = bytes;
        self.documents += 1;
        self.in_order &= arrival.millis >= self.last;
        self.last = arrival.millis;
        true
    }

    /// The bytes that a document adds: its values under their places in the bucket, and the names of fields that no
    /// earlier command brought.
    fn bytes_of(&self, arrival: &Arrival<'_>) -> usize {
        const EMPTY_FIELD: usize = 12;
        let digits = match self.documents {
            0 => 0,
            documents => documents.ilog10() as usize + 1,
        };
        let mut expected = 0;
        let sizes = arrival.fields().map(|field| {
            let found = position(&self.fields, expected, |own| *own.name == *field.name());
            if let Some(at) = found {
                expected = at + 1;
            }
            let is_known = found.is_some_and(|at| self.fields[at].since != arrival.command);
            let name = match is_known {
                true => 0,
                false => EMPTY_FIELD + field.name().len(),
            };
            // The type and the end of the name beside the place and the value.
            name + digits + 2 + value_bytes(&field)
        });
        sizes.sum()
    }

    /// Takes in the types of the document's fields; `false` where they are others.
    fn takes_types_of(&mut self, arrival: &Arrival<'_>) -> bool {
        let mut expected = 0;
        let fields = &mut self.fields;
        arrival.fields().all(
            |field| match position(fields, expected, |own| *own.name == *field.name()) {
                Some(at) => {
                    expected = at + 1;
                    fields[at].shape.takes(&field.value())
                }
                None => {
                    fields.push(Field {
                        name: field.name().into(),
                        since: arrival.command,
                        shape: Shape::of(&field.value()),
                    });
                    true
                }
            },
        )
    }
}

fn value_bytes(field: &Element<'_>) -> usize {
    match field {
        Element::Raw { payload, .. } => payload.len(),
        Element::Field { .. } | Element::Item { .. } => {
            let mut payload = Vec::new();
            field.value().write_payload(&mut payload);
            payload.len()
        }
    }
}

impl OpenBuckets {
    /// The number of the next command.
    pub(crate) fn next_command(&self) -> u64 {
        let mut inner = self.lock();
        inner.commands += 1;
        inner.commands
    }

    /// The next record id of a document's source, if its open bucket takes it.
    pub(crate) fn next(&self, arrival: &Arrival<'_>) -> Option<u64> {
        let mut inner = self.lock();
        let own = inner.by_source.get_mut(arrival.source)?;
        let record = own.id.first_record() + own.documents;
        own.takes(arrival).then_some(record)
    }

    /// The open bucket of a source, if documents in it are older than others before them.
    pub(crate) fn out_of_order(&self, source: &[u8]) -> Option<BucketId> {
        let inner = self.lock();
        let open = inner.by_source.get(source)?;
        (!open.in_order).then_some(open.id)
    }

    /// Opens a bucket for a document, in place of the one that its source has; gives its first record id. `begin` is in
    /// milliseconds.
    pub(crate) fn open(&self, arrival: &Arrival<'_>, id: BucketId, begin: i64) -> u64 {
        let mut open = Open {
            id,
            begin,
            last: arrival.millis,
            in_order: true,
            documents: 0,
            bytes: 0,
            fields: Vec::new(),
        };
        open.bytes = open.bytes_of(arrival);
        open.documents = 1;
        open.takes_types_of(arrival);
        let mut inner = self.lock();
        if inner.by_source.len() >= MOST_OPEN {
            inner.by_source.clear();
        }
        inner.by_source.insert(arrival.source.to_vec(), open);
        id.first_record()
    }

    /// Closes the bucket that a changed or removed record is in.
    pub(crate) fn close(&self, record: u64) {
        let id = BucketId::of(record);
        self.lock().by_source.retain(|_, open| open.id != id);
    }

    /// Closes the bucket of a source.
    pub(crate) fn close_source(&self, source: &[u8]) {
        self.lock().by_source.remove(source);
    }

    /// The same buckets apart, to see where documents would go.
    pub(crate) fn copied(&self) -> OpenBuckets {
        OpenBuckets {
            inner: Mutex::new(self.lock().clone()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::document::Owned;
    use super::*;

    #[test]
    fn a_record_id_says_its_bucket_and_when_that_begins() {
        let first = BucketId::first_at(1_700_000_040);
        let bucket = first.next().unwrap();
        let record = bucket.first_record() + 999;
        assert_eq!(BucketId::of(record), bucket);
        assert_eq!(bucket.begin(), 1_700_000_040);
        assert!(record < bucket.next().unwrap().first_record());
        assert!(bucket.last_record_then() >= bucket.first_record() + 1023);
        assert_eq!(
            bucket.last_record_then() + 1,
            BucketId::first_at(1_700_000_041).first_record()
        );
        assert_eq!(BucketId::of(u64::MAX).next(), None);
    }

    fn arrival<'a>(source: &'a [u8], millis: i64, document: Doc<'a>) -> Arrival<'a> {
        Arrival {
            source,
            millis,
            span: 3_600_000,
            document,
            meta: Some("m"),
            command: 1,
        }
    }

    #[test]
    fn a_bucket_takes_what_is_in_its_time_until_it_is_full() {
        let open = OpenBuckets::default();
        let id = BucketId::first_at(60);
        let at = |millis| arrival(b"a", millis, Doc::empty());
        assert_eq!(open.next(&at(60_000)), None);
        assert_eq!(open.open(&at(60_000), id, 60_000), id.first_record());
        assert_eq!(open.next(&at(60_000)), Some(id.first_record() + 1));
        assert_eq!(open.out_of_order(b"a"), None);
        assert_eq!(open.next(&at(3_659_999)), Some(id.first_record() + 2));
        assert_eq!(open.next(&at(3_660_000)), None);
        assert_eq!(open.next(&at(59_999)), None);
        assert_eq!(open.next(&arrival(b"b", 60_000, Doc::empty())), None);
        for place in 3..MOST_DOCUMENTS {
            assert_eq!(open.next(&at(60_000)), Some(id.first_record() + place));
        }
        assert_eq!(open.next(&at(60_000)), None);
        assert_eq!(open.out_of_order(b"a"), Some(id));
        assert_eq!(open.out_of_order(b"b"), None);
        open.close(id.first_record() + 5);
        assert!(open.lock().by_source.is_empty());
    }

    #[test]
    fn a_bucket_takes_documents_of_its_types() {
        let document = |fields: &[(&str, Owned)]| {
            let fields = fields
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()));
            Doc::Fields(&fields.collect::<Vec<_>>()).to_bytes()
        };
        let text = || Owned::String("x".to_owned());
        let inner = |name: &str, value: Owned| Owned::Document(vec![(name.to_owned(), value)]);
        let one = || Owned::Int32(1);
        let array = |items: &[Owned]| Owned::Array(items.to_vec());
        let cases = [
            (one(), Owned::Double(1.5), true),
            (one(), text(), false),
            (Owned::Null, Owned::Undefined, false),
            (inner("a", one()), inner("b", text()), true),
            (inner("a", one()), inner("a", text()), false),
            (inner("a", one()), Owned::Undefined, true),
            (array(&[one()]), array(&[]), true),
            (array(&[one(), text()]), array(&[text(), one()]), false),
            (array(&[one()]), array(&[one(), text()]), true),
            (array(&[]), Owned::Document(Vec::new()), false),
        ];
        for (first, second, is_taken) in cases {
            let open = OpenBuckets::default();
            // The source is apart: it may have any type.
            let first = document(&[("m", one()), ("v", first)]);
            let second = document(&[("m", text()), ("v", second)]);
            let id = BucketId::first_at(60);
            open.open(&arrival(b"a", 0, Doc::Raw(&first)), id, 0);
            let next = open.next(&arrival(b"a", 0, Doc::Raw(&second)));
            assert_eq!(next.is_some(), is_taken, "{}", Doc::Raw(&second));
            assert!(open.copied().next(&arrival(b"b", 0, Doc::Raw(&first))).is_none());
        }
    }

    #[test]
    fn a_bucket_takes_so_many_bytes() {
        // Two documents of one command, with names twice; then of two commands.
        for (length, second, is_taken) in [
            (63_956, 1, true),
            (63_957, 1, false),
            (63_969, 2, true),
            (63_970, 2, false),
        ] {
            let fields = [
                ("t".to_owned(), Owned::DateTime(0)),
                ("v".to_owned(), Owned::String("x".repeat(length))),
            ];
            let document = Doc::Fields(&fields).to_bytes();
            let open = OpenBuckets::default();
            let mut own = arrival(b"a", 0, Doc::Raw(&document));
            open.open(&own, BucketId::first_at(60), 0);
            own.command = second;
            assert_eq!(open.next(&own).is_some(), is_taken, "{length}");
        }
    }
}
