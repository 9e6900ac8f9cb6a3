//! What the store costs under the engine: a few operations, the stores in turn, medians.

use std::time::Instant;

use super::*;
use crate::native::storage::Store;

/// How a store for a directory is made.
type Make = fn(&Path) -> Arc<dyn Store>;

const CACHE: usize = 64 << 20;

fn stores() -> Vec<(&'static str, Make)> {
    vec![
        ("redb", |path| {
            Arc::new(FileStore::bare(path, CACHE, false).unwrap())
        }),
        ("redb, checked pages", |path| {
            Arc::new(FileStore::bare(path, CACHE, true).unwrap())
        }),
        ("redb, checked pages, log", |path| {
            Arc::new(FileStore::open(path, CACHE).unwrap())
        }),
    ]
}

/// A 250-byte document `{_id: n, x: n % 1000, pad: ..}`.
fn document_250(n: i32) -> Vec<u8> {
    let mut document = Vec::new();
    framed(&mut document, |out| {
        Value::Int32(n).write_element(b"_id", out);
        Value::Int32(n % 1000).write_element(b"x", out);
        Value::String(&"p".repeat(210)).write_element(b"pad", out);
    });
    document
}

/// Stores a document under a record id, with an entry in every index.
fn store(writer: &mut dyn Write, collection: &Collection, record: u64, document: &[u8]) -> Result<()> {
    let key = record.to_be_bytes();
    for index in &collection.indexes {
        let keys = index.definition.keys(Doc::Raw(document))?;
        for mut entry in keys.keys {
            entry.extend(key);
            writer.put(index.tree, &entry, &seal_entry(index.tree, &entry, &keys.types))?;
        }
    }
    writer.put(
        collection.records,
        &key,
        &seal(collection.records, &key, document),
    )
}

struct Bench {
    engine: Engine,
    collection: Arc<Collection>,
    /// The last record, and the first that was not claimed.
    last: u64,
    unclaimed: u64,
    _directory: Directory,
}

impl Bench {
    fn new(make: Make, durability: Durability) -> Bench {
        let directory = Directory::new();
        let engine = Engine::with_store(make(directory.path()), Some(durability)).unwrap();
        let id = collection(&engine, "c").id;
        wait(engine.write(move |writer| writer.catalog_mut().add_index(id, definition("x_1", "x")))).unwrap();
        let collection = engine.view().unwrap().catalog().by_id(id).unwrap().clone();
        let mut bench = Bench {
            engine,
            collection,
            last: 0,
            unclaimed: 1,
            _directory: directory,
        };
        for _ in 0..20 {
            bench.insert_many(1000);
        }
        bench
    }

    fn insert_many(&mut self, count: u64) {
        let (collection, from) = (self.collection.clone(), self.last + 1);
        wait(self.engine.write(move |writer| {
            (from..from + count).try_for_each(|record| {
                let document = document_250(record as i32);
                store(writer, &collection, record, &document)
            })
        }))
        .unwrap();
        self.last += count;
    }

    /// Documents of 64 callers, each in a write of its own.
    fn insert_at_once(&mut self) {
        let writes: Vec<_> = (self.last + 1..=self.last + 64)
            .map(|record| {
                let collection = self.collection.clone();
                self.engine
                    .write(move |writer| store(writer, &collection, record, &document_250(record as i32)))
            })
            .collect();
        for written in wait(futures_util::future::join_all(writes)) {
            written.unwrap();
        }
        self.last += 64;
    }

    fn increment(&mut self, random: &mut Random) {
        let (collection, record) = (self.collection.clone(), 1 + random.below(self.last));
        wait(self.engine.write(move |writer| {
            let key = record.to_be_bytes();
            writer.claim(collection.records, &key)?;
            let stored = writer.get(collection.records, &key)?.unwrap();
            let mut document = unseal(collection.records, &key, &stored)?.to_vec();
            *document.last_mut().unwrap() ^= 0;
            document[20] = document[20].wrapping_add(1);
            writer.put(
                collection.records,
                &key,
                &seal(collection.records, &key, &document),
            )
        }))
        .unwrap();
    }

    /// Takes the first entry out of an index and puts it back at its end, as a queue does with a job's state.
    fn claim(&mut self) {
        let collection = self.collection.clone();
        wait(self.engine.write(move |writer| {
            let tree = collection.indexes[1].tree;
            let mut first = None;
            writer.scan(tree, ALL, false, &mut |entry, _| {
                first = Some(entry.to_vec());
                Ok(ControlFlow::Break(()))
            })?;
            let entry = first.unwrap();
            let record = entry[entry.len() - 8..].to_vec();
            writer.claim(collection.records, &record)?;
            let stored = writer.get(collection.records, &record)?.unwrap();
            writer.remove(tree, &entry)?;
            let moved = [&[0xf0], &entry[..]].concat();
            writer.put(tree, &moved, &seal_entry(tree, &moved, &Types::UNKNOWN))?;
            writer.put(collection.records, &record, &stored)
        }))
        .unwrap();
        self.unclaimed += 1;
    }

    fn get(&self, random: &mut Random) {
        let view = self.engine.view().unwrap();
        let key = (1 + random.below(self.last)).to_be_bytes();
        assert!(
            Read::get(&*view, self.collection.records, &key)
                .unwrap()
                .is_some()
        );
    }

    /// A hundred index entries and their documents.
    fn scan(&self, random: &mut Random) {
        let view = self.engine.view().unwrap();
        let (tree, records) = (self.collection.indexes[0].tree, self.collection.records);
        let mut from = Vec::new();
        let start = random.below(self.last - 200) as i32;
        let keys = self.collection.indexes[0]
            .definition
            .keys(Doc::Raw(&document_250(start)))
            .unwrap();
        from.extend(&keys.keys[0]);
        let mut found = Vec::new();
        let range = (Bound::Included(&from[..]), Bound::Unbounded);
        Read::scan(&*view, tree, range, false, &mut |entry, _| {
            found.push(entry[entry.len() - 8..].to_vec());
            Ok(if found.len() == 100 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })
        .unwrap();
        for record in found {
            assert!(Read::get(&*view, records, &record).unwrap().is_some());
        }
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Prints the longest durable commits of a client that keeps the log full: those are the checkpoints.
#[test]
fn print_what_checkpoints_cost() {
    if std::env::var_os("ODM_STORE_COST").is_none() {
        return;
    }
    for (what, run) in [
        ("insert", (|bench, _| bench.insert_many(1)) as Run),
        ("increment", Bench::increment),
    ] {
        let mut bench = Bench::new(
            |path| Arc::new(FileStore::open(path, 512 << 20).unwrap()),
            Durability::Immediate,
        );
        let mut random = Random(77);
        let mut times: Vec<f64> = (0..60_000)
            .map(|_| {
                let start = Instant::now();
                run(&mut bench, &mut random);
                start.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        let sum: f64 = times.iter().sum();
        times.sort_by(f64::total_cmp);
        let longest: Vec<String> = times
            .iter()
            .rev()
            .take(8)
            .map(|time| format!("{time:.0}"))
            .collect();
        println!(
            "{what}: mean {:.1}, median {:.1}, 99.9 % {:.0}, longest {} us",
            sum / times.len() as f64,
            times[times.len() / 2],
            times[times.len() / 1000 * 999],
            longest.join(" ")
        );
    }
}

/// An operation of a bench.
type Run = fn(&mut Bench, &mut Random);

/// Prints µs per operation. Runs only with `ODM_STORE_COST`, in a release build of the tests.
#[test]
fn print_what_stores_cost() {
    if std::env::var_os("ODM_STORE_COST").is_none() {
        return;
    }
    let relaxed: [(&str, usize, Run); 6] = [
        ("insert", 2000, |bench, _| bench.insert_many(1)),
        ("bulk insert of 1000", 5, |bench, _| bench.insert_many(1000)),
        ("increment", 2000, Bench::increment),
        ("claim", 2000, |bench, _| bench.claim()),
        ("get", 20_000, |bench, random| bench.get(random)),
        ("scan 100 + fetch", 300, |bench, random| bench.scan(random)),
    ];
    let durable: [(&str, usize, Run); 4] = [
        ("durable insert", 200, |bench, _| bench.insert_many(1)),
        ("64 durable inserts", 20, |bench, _| bench.insert_at_once()),
        ("durable increment", 200, Bench::increment),
        ("durable claim", 200, |bench, _| bench.claim()),
    ];
    for (durability, runs) in [
        (Durability::None, &relaxed[..]),
        (Durability::Interval(Duration::from_millis(100)), &relaxed[..4]),
        (Durability::Immediate, &durable[..]),
    ] {
        println!("{durability:?}");
        let mut benches: Vec<(&str, Bench)> = stores()
            .into_iter()
            .map(|(name, make)| (name, Bench::new(make, durability)))
            .collect();
        for (what, count, run) in runs {
            let mut times = vec![Vec::new(); benches.len()];
            for round in 0..9 {
                for (at, (_, bench)) in benches.iter_mut().enumerate() {
                    let mut random = Random(round * 2 + 1);
                    let start = Instant::now();
                    for _ in 0..*count {
                        run(bench, &mut random);
                    }
                    times[at].push(start.elapsed().as_secs_f64() * 1e6 / *count as f64);
                }
            }
            for (times, (name, _)) in times.into_iter().zip(&benches) {
                println!("{what:20} {name:24} {:8.2} us", median(times));
            }
        }
    }
}
