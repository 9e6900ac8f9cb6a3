//! The engine against a model: random jobs, transactions and restarts.

mod cost;
mod crash;
mod damage;
mod disk;
#[cfg(target_os = "linux")]
mod full;
mod golden;
mod group;
mod interrupted;
mod keep;
#[cfg(target_os = "linux")]
mod kill;
mod log;
mod repair;
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
use crate::native::storage::format::{check_entry, hex, seal, seal_entry, unseal};
use crate::native::storage::{ALL, Read, TreeId};

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
        .create_collection("db", name, &[5, 0, 0, 0, 0], id_index)
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
            for mut entry in index.definition.keys(Doc::Raw(&document))?.keys {
                entry.extend(key);
                writer.put(index.tree, &entry, &seal_entry(index.tree, &entry))?;
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

type Model = BTreeMap<(u32, Vec<u8>), Vec<u8>>;

#[derive(Clone, Debug)]
enum Change {
    Put(TreeId, Vec<u8>, Vec<u8>),
    Remove(TreeId, Vec<u8>),
}

impl Change {
    fn random(random: &mut Random, trees: &[TreeId]) -> Change {
        let tree = trees[random.below(trees.len() as u64) as usize];
        match random.below(40) {
            0..13 => Change::Remove(tree, random.key()),
            _ => Change::Put(tree, random.key(), random.value()),
        }
    }

    fn on_model(&self, model: &mut Model) {
        match self {
            Change::Put(tree, key, value) => {
                model.insert((tree.0, key.clone()), value.clone());
            }
            Change::Remove(tree, key) => {
                model.remove(&(tree.0, key.clone()));
            }
        }
    }

    fn on_writer(&self, writer: &mut dyn Write) -> Result<()> {
        match self {
            Change::Put(tree, key, value) => writer.put(*tree, key, value),
            Change::Remove(tree, key) => writer.remove(*tree, key),
        }
    }
}

fn assert_same(read: &dyn Read, model: &Model, trees: &[TreeId], random: &mut Random) {
    for tree in trees {
        let (from, to) = (random.bound(), random.bound());
        let range = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
        let reverse = random.below(2) == 0;
        let limit = 1 + random.below(80) as usize;
        let mut expected: Vec<(Vec<u8>, Vec<u8>)> = model
            .iter()
            .filter(|((in_tree, key), _)| {
                *in_tree == tree.0 && std::ops::RangeBounds::contains(&(from.clone(), to.clone()), key)
            })
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect();
        if reverse {
            expected.reverse();
        }
        expected.truncate(limit);
        let mut found = Vec::new();
        read.scan(*tree, range, reverse, &mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            Ok(if found.len() == limit {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })
        .unwrap();
        assert!(
            found == expected,
            "scan of {tree:?} {range:?} reverse {reverse} limit {limit}"
        );
        let key = random.key();
        assert_eq!(
            value(read, *tree, &key).as_ref(),
            model.get(&(tree.0, key)),
            "get"
        );
    }
}

fn against_model(mut engine: Engine, reopen: impl Fn() -> Option<Engine>, seed: u64, steps: usize) {
    let mut random = Random(seed);
    // Records' keys are of a fixed form; indexes' are any.
    let id = collection(&engine, "c").id;
    wait(engine.write(move |writer| writer.catalog_mut().add_index(id, definition("x_1", "x")))).unwrap();
    let trees = index_trees(&engine);
    let mut model = Model::new();
    for step in 0..steps {
        let changes: Vec<Change> = (0..1 + random.below(6))
            .map(|_| Change::random(&mut random, &trees))
            .collect();
        let fails = random.below(8) == 0;
        let mut after = model.clone();
        changes.iter().for_each(|change| change.on_model(&mut after));
        let seen = Arc::new((after.clone(), trees.clone(), random.below(u64::MAX / 2)));
        let apply = move |writer: &mut dyn Write| {
            for change in &changes {
                change.on_writer(writer)?;
            }
            assert_same(writer, &seen.0, &seen.1, &mut Random(seen.2 | 1));
            if fails {
                return Err(Fault::new(code::BAD_VALUE, "refused"));
            }
            Ok(())
        };
        let result = if random.below(4) == 0 {
            let mut transaction = engine.begin().unwrap();
            match apply(&mut transaction) {
                Ok(()) => wait(engine.commit(transaction, CommitOptions::default())),
                refused => refused,
            }
        } else {
            wait(engine.write(apply))
        };
        assert_eq!(result.is_err(), fails, "{result:?}");
        if !fails {
            model = after;
        }
        assert_same(&*engine.view().unwrap(), &model, &trees, &mut random);
        if step % 40 == 39 {
            drop(engine);
            let Some(opened) = reopen() else { return };
            engine = opened;
            assert_eq!(index_trees(&engine), trees);
        }
    }
}

fn index_trees(engine: &Engine) -> Vec<TreeId> {
    let view = engine.view().unwrap();
    let collection = view.catalog().collection("db", "c").unwrap();
    collection.indexes.iter().map(|index| index.tree).collect()
}

#[test]
fn memory_agrees_with_a_model() {
    for seed in 1..20 {
        against_model(memory(), || None, seed, 40);
    }
}

#[test]
fn files_agree_with_a_model_over_restarts() {
    for (seed, durability) in [
        (5, Durability::Immediate),
        (6, Durability::Interval(Duration::from_millis(1))),
        (7, Durability::None),
    ] {
        let directory = Directory::new();
        let reopen = || Some(open_with(&directory, durability).unwrap());
        against_model(open_with(&directory, durability).unwrap(), reopen, seed, 300);
    }
}

#[test]
fn views_keep_their_state() {
    for (engine, _directory) in engines() {
        let tree = collection(&engine, "c").records;
        put(&engine, tree, b"a", b"1").unwrap();
        let before = engine.view().unwrap();
        assert!(
            Arc::ptr_eq(&before, &engine.view().unwrap()),
            "shared until the next commit"
        );
        put(&engine, tree, b"a", b"2").unwrap();
        collection(&engine, "later");
        assert_eq!(value(&*before, tree, b"a").unwrap(), b"1");
        assert!(before.catalog().collection("db", "later").is_none());
        let after = engine.view().unwrap();
        assert_eq!(value(&*after, tree, b"a").unwrap(), b"2");
        assert!(after.catalog().collection("db", "later").is_some());
    }
}

#[test]
fn failed_and_panicking_jobs_leave_nothing() {
    for (engine, _directory) in engines() {
        let tree = collection(&engine, "c").records;
        let failed: Result<()> = wait(engine.write(move |writer| {
            writer.put(tree, b"a", b"1")?;
            create(writer, "half")?;
            Err(Fault::new(code::BAD_VALUE, "no"))
        }));
        assert_eq!(failed.unwrap_err().code(), code::BAD_VALUE);
        let panicked: Result<()> = wait(engine.write(move |writer| {
            writer.put(tree, b"a", b"1")?;
            panic!("on purpose")
        }));
        assert!(panicked.unwrap_err().message().contains("on purpose"));
        let view = engine.view().unwrap();
        assert_eq!(value(&*view, tree, b"a"), None);
        assert!(view.catalog().collection("db", "half").is_none());
        put(&engine, tree, b"a", b"2").unwrap();
    }
}

#[test]
fn transactions_see_their_snapshot_and_their_own_writes() {
    for (engine, _directory) in engines() {
        let tree = collection(&engine, "c").records;
        put(&engine, tree, b"a", b"1").unwrap();
        let mut transaction = engine.begin().unwrap();
        transaction.put(tree, b"b", b"own").unwrap();
        put(&engine, tree, b"c", b"later").unwrap();
        put(&engine, tree, b"a", b"2").unwrap();
        assert_eq!(
            entries(&transaction, tree),
            [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"own".to_vec())]
        );
        assert_eq!(value(&*engine.view().unwrap(), tree, b"b"), None);
        wait(engine.commit(transaction, CommitOptions::default())).unwrap();
        let view = engine.view().unwrap();
        assert_eq!(value(&*view, tree, b"b").unwrap(), b"own");
        assert_eq!(value(&*view, tree, b"a").unwrap(), b"2");
    }
}

#[test]
fn the_first_writer_of_a_key_wins() {
    for (engine, _directory) in engines() {
        let tree = collection(&engine, "c").records;
        let mut first = engine.begin().unwrap();
        let mut second = engine.begin().unwrap();
        first.claim(tree, b"a").unwrap();
        first.claim(tree, b"a").unwrap();
        first.put(tree, b"a", b"first").unwrap();
        let conflict = second.claim(tree, b"a").unwrap_err();
        assert_eq!(conflict.class(), Class::Conflict);
        assert_eq!(conflict.labels(), ["TransientTransactionError"]);
        wait(engine.commit(first, CommitOptions::default())).unwrap();
        assert!(second.claim(tree, b"a").is_err(), "written since the snapshot");
        second.claim(tree, b"b").unwrap();
        drop(second);
        let mut third = engine.begin().unwrap();
        third.claim(tree, b"a").unwrap();
        third.claim(tree, b"b").unwrap();
        // A single operation's write counts as well.
        put(&engine, tree, b"z", b"1").unwrap();
        assert!(third.claim(tree, b"z").is_err());
        let mut fourth = engine.begin().unwrap();
        fourth.claim(tree, b"z").unwrap();
    }
}

#[test]
fn single_operations_wait_for_the_transaction_that_holds_their_key() {
    for (engine, _directory) in engines() {
        for commits in [true, false] {
            let tree = collection(&engine, if commits { "c" } else { "d" }).records;
            let mut transaction = engine.begin().unwrap();
            transaction.claim(tree, b"a").unwrap();
            transaction.put(tree, b"a", b"transaction").unwrap();
            let mut blocked = Box::pin(engine.write(move |writer| {
                writer.claim(tree, b"a")?;
                let seen = writer.get(tree, b"a")?;
                writer.put(tree, b"a", b"single")?;
                Ok(seen)
            }));
            assert!(poll(&mut blocked).is_pending());
            // Others are not held up.
            put(&engine, tree, b"b", b"other").unwrap();
            assert!(poll(&mut blocked).is_pending());
            if commits {
                wait(engine.commit(transaction, CommitOptions::default())).unwrap();
            } else {
                drop(transaction);
            }
            let seen = wait(blocked).unwrap();
            assert_eq!(seen.as_deref(), commits.then_some(&b"transaction"[..]));
            assert_eq!(value(&*engine.view().unwrap(), tree, b"a").unwrap(), b"single");
        }
    }
}

#[test]
fn a_dropped_write_does_not_wait_for_ever() {
    let engine = memory();
    let tree = collection(&engine, "c").records;
    let mut transaction = engine.begin().unwrap();
    transaction.claim(tree, b"a").unwrap();
    let mut blocked = Box::pin(engine.write(move |writer| {
        writer.claim(tree, b"a")?;
        writer.put(tree, b"a", b"never")
    }));
    assert!(poll(&mut blocked).is_pending());
    drop(blocked);
    drop(transaction);
    assert_eq!(value(&*engine.view().unwrap(), tree, b"a"), None);
}

#[test]
fn catalogs_of_transactions_are_merged() {
    for (engine, _directory) in engines() {
        let old = collection(&engine, "old");
        let mut first = engine.begin().unwrap();
        let mut second = engine.begin().unwrap();
        let mut third = engine.begin().unwrap();
        let created = create(&mut first, "new").unwrap();
        first.put(created.records, b"a", b"1").unwrap();
        create(&mut second, "other").unwrap();
        let flagged = old.indexes[0].tree;
        first
            .catalog_mut()
            .set_multikey(old.id, flagged, &[true])
            .unwrap();
        second
            .catalog_mut()
            .set_multikey(old.id, flagged, &[false, true])
            .unwrap();
        create(&mut third, "new").unwrap();
        wait(engine.commit(first, CommitOptions::default())).unwrap();
        wait(engine.commit(second, CommitOptions::default())).unwrap();
        assert_eq!(
            wait(engine.commit(third, CommitOptions::default()))
                .unwrap_err()
                .class(),
            Class::Conflict
        );
        let view = engine.view().unwrap();
        let names: Vec<&str> = view.catalog().collections("db").map(|c| &*c.name).collect();
        assert_eq!(names, ["new", "old", "other"]);
        assert_eq!(
            view.catalog().by_id(old.id).unwrap().indexes[0].multikey,
            [true, true]
        );
        let trees: std::collections::BTreeSet<TreeId> =
            view.catalog().all().flat_map(|c| c.trees()).collect();
        assert_eq!(trees.len(), 6, "no tree is used twice");

        // Writing to a collection that is dropped meanwhile.
        let mut late = engine.begin().unwrap();
        late.put(created.records, b"b", b"2").unwrap();
        wait(engine.write(|writer| {
            writer.catalog_mut().drop_collection("db", "new");
            Ok(())
        }))
        .unwrap();
        assert_eq!(
            value(&late, created.records, b"a").unwrap(),
            b"1",
            "the snapshot has it"
        );
        assert_eq!(
            wait(engine.commit(late, CommitOptions::default()))
                .unwrap_err()
                .class(),
            Class::Conflict
        );
        assert!(
            entries(&*engine.view().unwrap(), created.records).is_empty(),
            "cleared with the drop"
        );
    }
}

#[test]
fn record_ids_are_never_given_twice() {
    let directory = Directory::new();
    let engine = open(&directory);
    let collection = collection(&engine, "c");
    let id = collection.id;
    let mut first = engine.begin().unwrap();
    let mut second = engine.begin().unwrap();
    let mut ids = vec![
        first.next_record(id).unwrap(),
        second.next_record(id).unwrap(),
        first.next_record(id).unwrap(),
    ];
    let records = collection.records;
    let last = wait(engine.write(move |writer| {
        let record = writer.next_record(id)?;
        writer.put(records, &record.to_be_bytes(), b"x")?;
        Ok(record)
    }))
    .unwrap();
    ids.push(last);
    assert_eq!(ids, [1, 2, 3, 4]);
    drop((first, second, engine));
    let engine = open(&directory);
    assert_eq!(
        wait(engine.write(move |writer| writer.next_record(id))).unwrap(),
        last + 1
    );
}

#[test]
fn a_directory_is_opened_once() {
    let directory = Directory::new();
    let engine = open(&directory);
    let fault = open_with(&directory, Durability::Immediate).unwrap_err();
    assert_eq!(fault.class(), Class::Locked, "{fault:?}");
    drop(engine);
    open(&directory);
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let _engine = open(&directory);
    for name in [
        crate::native::storage::file::FILE_NAME,
        crate::native::storage::file::LOG_FILE_NAME,
    ] {
        let file = std::fs::metadata(directory.path().join(name)).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(
        std::fs::metadata(directory.path()).unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[test]
fn other_files_are_refused() {
    use redb::{Database, TableDefinition};
    let file = crate::native::storage::file::FILE_NAME;
    let refused = |directory: &Directory| open_with(directory, Durability::Immediate).unwrap_err();

    let directory = Directory::new();
    std::fs::create_dir(directory.path()).unwrap();
    std::fs::write(directory.path().join(file), vec![b'x'; 100_000]).unwrap();
    let fault = refused(&directory);
    assert_eq!(fault.class(), Class::Unsupported, "{fault:?}");

    let directory = Directory::new();
    std::fs::create_dir(directory.path()).unwrap();
    let database = Database::create(directory.path().join(file)).unwrap();
    let write = database.begin_write().unwrap();
    write
        .open_table(TableDefinition::<u32, u32>::new("strange"))
        .unwrap()
        .insert(1, 2)
        .unwrap();
    write.commit().unwrap();
    drop(database);
    let fault = refused(&directory);
    assert!(fault.message().contains("not written by odm"), "{fault:?}");

    let directory = Directory::new();
    drop(open(&directory));
    let path = directory.path().join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    for slot in [0, 4096] {
        bytes[slot + 8] = 9;
    }
    std::fs::write(&path, bytes).unwrap();
    let fault = refused(&directory);
    assert!(
        fault.message().contains("format 9") && fault.message().contains("format 2"),
        "{fault:?}"
    );
}

#[test]
fn concurrent_increments_are_all_counted() {
    const THREADS: u64 = 8;
    const EACH: u64 = 200;
    for (engine, _directory) in engines() {
        let tree = collection(&engine, "c").records;
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let engine = engine.clone();
                scope.spawn(move || {
                    for n in 0..EACH {
                        if thread % 2 == 0 {
                            wait(engine.write(move |writer| {
                                writer.claim(tree, b"n")?;
                                increment(writer, tree)
                            }))
                            .unwrap();
                        } else {
                            let own = (thread * EACH + n).to_be_bytes();
                            while !transaction_increment(&engine, tree, &own) {
                                std::thread::yield_now();
                            }
                        }
                    }
                });
            }
        });
        let total = value(&*engine.view().unwrap(), tree, b"n").unwrap();
        assert_eq!(total, (THREADS * EACH).to_be_bytes());
        assert_eq!(
            entries(&*engine.view().unwrap(), tree).len() as u64,
            THREADS / 2 * EACH + 1
        );
    }
}

fn increment(writer: &mut dyn Write, tree: TreeId) -> Result<()> {
    let now = match writer.get(tree, b"n")? {
        Some(bytes) => u64::from_be_bytes(bytes.try_into().unwrap()),
        None => 0,
    };
    writer.put(tree, b"n", &(now + 1).to_be_bytes())
}

fn transaction_increment(engine: &Engine, tree: TreeId, own: &[u8]) -> bool {
    let mut transaction = engine.begin().unwrap();
    transaction.put(tree, own, b"mine").unwrap();
    if transaction.claim(tree, b"n").is_err() {
        return false;
    }
    increment(&mut transaction, tree).unwrap();
    wait(engine.commit(transaction, CommitOptions::default())).is_ok()
}

#[test]
fn handles_and_futures_cross_threads() {
    fn check<T: Send + Sync>(_: &T) {}
    fn check_send<T: Send>(_: &T) {}
    let engine = memory();
    check(&engine);
    check(&*engine.view().unwrap());
    check_send(&engine.write(|_| Ok(())));
    let transaction = engine.begin().unwrap();
    check_send(&transaction);
    check_send(&engine.commit(transaction, CommitOptions::default()));
}

#[test]
fn a_check_finds_what_does_not_agree() {
    for (engine, _directory) in engines() {
        let id = collection(&engine, "c").id;
        wait(engine.write(move |writer| writer.catalog_mut().add_index(id, definition("x_1", "x")))).unwrap();
        let collection = engine.view().unwrap().catalog().by_id(id).unwrap().clone();
        for n in 0..100 {
            insert(&engine, &collection, n).unwrap();
        }
        let kept = engine.view().unwrap();
        let report = engine.check().unwrap();
        assert_eq!(report.problems, []);
        assert_eq!(
            (report.collections, report.records, report.index_entries),
            (1, 100, 200)
        );
        drop(kept);

        let (records, index) = (collection.records, collection.indexes[1].tree);
        let key = |n: i32| {
            let definition = &collection.indexes[1].definition;
            definition.keys(Doc::Raw(&document(n))).unwrap().keys.remove(0)
        };
        let entry = |n: i32, record: u64| [&key(n)[..], &record.to_be_bytes()].concat();
        let lacks = format!("record 0000000000000007 lacks the entry {}", hex(&key(6)));
        let stray = format!("no document has the entry {}", hex(&entry(6, 8)));
        let damage: [(Change, &str); 5] = [
            (Change::Remove(index, entry(6, 7)), &lacks),
            (Change::Put(index, entry(6, 8), vec![0; 4]), &stray),
            (
                Change::Put(index, entry(9, 10), vec![0; 4]),
                "check value of an index entry",
            ),
            (
                Change::Put(records, 11u64.to_be_bytes().to_vec(), vec![0; 40]),
                "record 000000000000000b: checksum",
            ),
            (
                Change::Put(
                    records,
                    12u64.to_be_bytes().to_vec(),
                    seal(records, &12u64.to_be_bytes(), b"no"),
                ),
                "record 000000000000000c: not BSON",
            ),
        ];
        for (change, expected) in damage {
            let engine_before = engine.view().unwrap();
            let undo = match &change {
                Change::Put(tree, key, _) | Change::Remove(tree, key) => {
                    match engine_before.get(*tree, key).unwrap() {
                        Some(value) => Change::Put(*tree, key.clone(), value),
                        None => Change::Remove(*tree, key.clone()),
                    }
                }
            };
            wait(engine.write(move |writer| change.on_writer(writer))).unwrap();
            let problems = engine.check().unwrap().problems;
            assert!(
                problems.iter().any(|problem| problem.message.contains(expected)
                    && problem.namespace.as_deref() == Some("db.c")),
                "{expected}: {problems:?}"
            );
            wait(engine.write(move |writer| undo.on_writer(writer))).unwrap();
            assert_eq!(engine.check().unwrap().problems, []);
        }
    }
}
