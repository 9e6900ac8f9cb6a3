//! The store below the engine, used by hand: what the engine is allowed to cost is measured against this.

use std::path::Path;

use odm::OpenOptions;
use redb::{Database, Durability, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use super::Thing;

const RECORDS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("records");
const IDS: TableDefinition<'static, i64, u64> = TableDefinition::new("ids");
const RANKS: TableDefinition<'static, (i64, u64), ()> = TableDefinition::new("ranks");

/// A hand-written store of things: records, an index of their ids, an index of their ranks.
#[derive(Debug)]
pub struct Bare {
    database: Database,
    next: u64,
}

impl Bare {
    /// Creates it in a directory, with as much of a cache as our engine takes.
    pub fn create(directory: &Path) -> Bare {
        let database = Database::builder()
            .set_cache_size(OpenOptions::new().chosen_cache_size())
            .create(directory.join("bare.redb"))
            .expect("the bare store is created");
        Bare { database, next: 1 }
    }

    /// Stores things in one commit, durable or not.
    pub fn insert(&mut self, things: &[Thing], durable: bool) {
        let mut write = self.database.begin_write().expect("a transaction");
        let durability = if durable {
            Durability::Immediate
        } else {
            Durability::None
        };
        write
            .set_durability(durability)
            .expect("no savepoints are in use");
        {
            let mut records = write.open_table(RECORDS).expect("a table");
            let mut ids = write.open_table(IDS).expect("a table");
            let mut ranks = write.open_table(RANKS).expect("a table");
            for thing in things {
                let bytes = bson::serialize_to_vec(thing).expect("a thing encodes");
                assert!(ids.get(thing.id).expect("a look-up").is_none(), "ids are unique");
                records.insert(self.next, bytes.as_slice()).expect("a record");
                ids.insert(thing.id, self.next).expect("an entry");
                ranks.insert((thing.rank, self.next), ()).expect("an entry");
                self.next += 1;
            }
        }
        write.commit().expect("the commit");
    }

    /// Finds a thing by its id.
    pub fn get(&self, id: i64) -> Option<Thing> {
        let read = self.database.begin_read().expect("a transaction");
        let record = read
            .open_table(IDS)
            .expect("a table")
            .get(id)
            .expect("a look-up")?;
        let records = read.open_table(RECORDS).expect("a table");
        let bytes = records.get(record.value()).expect("a look-up")?;
        Some(decode(bytes.value()))
    }

    /// All things, in the order of their insertion.
    pub fn all(&self) -> Vec<Thing> {
        let read = self.database.begin_read().expect("a transaction");
        let records = read.open_table(RECORDS).expect("a table");
        let records = records.range::<u64>(..).expect("a scan");
        records
            .map(|record| decode(record.expect("a record").1.value()))
            .collect()
    }

    /// Things of a rank or more, in the order of their ranks.
    pub fn ranked_from(&self, rank: i64, count: usize) -> Vec<Thing> {
        let read = self.database.begin_read().expect("a transaction");
        let records = read.open_table(RECORDS).expect("a table");
        let ranks = read.open_table(RANKS).expect("a table");
        let entries = ranks.range((rank, 0)..).expect("a scan").take(count);
        entries
            .map(|entry| {
                let (_, number) = entry.expect("an entry").0.value();
                let record = records.get(number).expect("a look-up").expect("a record");
                decode(record.value())
            })
            .collect()
    }
}

fn decode(bytes: &[u8]) -> Thing {
    bson::deserialize_from_slice(bytes).expect("a thing decodes")
}
