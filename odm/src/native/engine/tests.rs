//! The engine: what it keeps, in whatever order things happen. Here is what its tests share.

mod check;
mod cost;
mod crash;
mod damage;
mod disk;
#[cfg(target_os = "linux")]
mod full;
mod golden;
mod group;
mod held;
mod interrupted;
mod jobs;
mod keep;
#[cfg(target_os = "linux")]
mod kill;
mod log;
mod model;
mod opening;
mod recent;
mod repair;
mod transactions;
mod workload;

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::*;
use crate::native::catalog::Collection;
use crate::native::document::Doc;
use crate::native::document::Value;
use crate::native::document::doc::framed;
use crate::native::index::IndexDefinition;
use crate::native::index::arrays::Arrays;
use crate::native::key::types::Types;
use crate::native::storage::format::{seal, seal_entry, unseal, unseal_entry};
use crate::native::storage::recent::RecentLimits;
use crate::native::storage::{ALL, Read, TreeId};

/// So little that a workload brings what is recent to redb again and again, of itself and for its size.
const SMALL_RECENT: RecentLimits = RecentLimits {
    flush: 2 * 1024,
    most: 8 * 1024,
    largest: 6 * 1024,
    waiting: 64 * 1024,
    passed: 20,
};

/// Runs a future to its end on this thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Polls once.
fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// A directory of its own, removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Directory {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "odm-engine-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Directory(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open_with(directory: &Directory, durability: Durability) -> Result<Engine> {
    Engine::open(
        Location::Directory(directory.path().to_owned()),
        EngineOptions {
            durability,
            ..EngineOptions::default()
        },
    )
}

fn open(directory: &Directory) -> Engine {
    open_with(directory, Durability::Immediate).unwrap()
}

fn memory() -> Engine {
    Engine::open(Location::Memory, EngineOptions::default()).unwrap()
}

/// Every kind of engine; the directories must live as long as the engines.
fn engines() -> Vec<(Engine, Option<Directory>)> {
    let mut engines = vec![(memory(), None)];
    for durability in [
        Durability::Immediate,
        Durability::Interval(Duration::from_millis(5)),
        Durability::None,
    ] {
        let directory = Directory::new();
        engines.push((open_with(&directory, durability).unwrap(), Some(directory)));
    }
    engines
}

fn definition(name: &str, field: &str) -> IndexDefinition {
    let mut key = Vec::new();
    framed(&mut key, |out| {
        Value::Int32(1).write_element(field.as_bytes(), out)
    });
    let mut spec = Vec::new();
    framed(&mut spec, |out| {
        Value::Int32(2).write_element(b"v", out);
        Value::Document(Doc::Raw(&key)).write_element(b"key", out);
        Value::String(name).write_element(b"name", out);
    });
    IndexDefinition::parse(Doc::Raw(&spec)).unwrap()
}

fn create(writer: &mut dyn Write, name: &str) -> Result<Arc<Collection>> {
    let id_index = definition("_id_", "_id");
    writer
        .catalog_mut()
        .create_collection("db", name, &[5, 0, 0, 0, 0], Some(id_index))
}

/// Creates a collection; its trees serve as trees of bytes.
fn collection(engine: &Engine, name: &'static str) -> Arc<Collection> {
    wait(engine.write(move |writer| create(writer, name))).unwrap()
}

fn put(engine: &Engine, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
    let (key, value) = (key.to_vec(), value.to_vec());
    wait(engine.write(move |writer| {
        writer.claim(tree, &key)?;
        writer.put(tree, &key, &value)
    }))
}

fn entries(read: &dyn Read, tree: TreeId) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries = Vec::new();
    read.scan(tree, ALL, false, &mut |key, value| {
        entries.push((key.to_vec(), value.to_vec()));
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    entries
}

fn value(read: &dyn Read, tree: TreeId, key: &[u8]) -> Option<Vec<u8>> {
    read.get(tree, key).unwrap()
}

/// The document `{_id: n, x: n}`.
fn document(n: i32) -> Vec<u8> {
    let mut document = Vec::new();
    framed(&mut document, |out| {
        Value::Int32(n).write_element(b"_id", out);
        Value::Int32(n).write_element(b"x", out);
    });
    document
}

/// Inserts a document as the executor does: record, and an entry in every index.
fn insert(engine: &Engine, collection: &Arc<Collection>, n: i32) -> Result<u64> {
    let collection = collection.clone();
    let document = document(n);
    wait(engine.write(move |writer| {
        let record = writer.next_record(collection.id)?;
        let key = record.to_be_bytes();
        for index in &collection.indexes {
            let keys = index.definition.keys(Doc::Raw(&document))?;
            for mut entry in keys.keys {
                entry.extend(key);
                writer.put(index.tree, &entry, &seal_entry(index.tree, &entry, &keys.types))?;
            }
        }
        writer.put(
            collection.records,
            &key,
            &seal(collection.records, &key, &document),
        )?;
        Ok(record)
    }))
}

/// A small generator, good enough to choose operations.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn key(&mut self) -> Vec<u8> {
        let number = self.below(60);
        let mut key = number.to_be_bytes()[7 - self.below(2) as usize..].to_vec();
        if self.below(20) == 0 {
            key.extend([0xff; 200]);
        }
        key
    }

    fn value(&mut self) -> Vec<u8> {
        let length = [3, 30, 300, 9000][self.below(4) as usize];
        vec![self.below(256) as u8; length]
    }

    fn bound(&mut self) -> Bound<Vec<u8>> {
        match self.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(self.key()),
            _ => Bound::Excluded(self.key()),
        }
    }
}
