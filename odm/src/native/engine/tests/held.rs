//! What happens while a store is at work: in the middle of a commit, and of a sync beside the writer.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;
use crate::native::storage::memory::MemoryStore;
use crate::native::storage::{Failure, Finish, Snapshot, Store, Transaction, Trees};

/// A store whose next commit, or whose next sync, tells that it has begun and goes on when it is told to.
struct Held {
    store: MemoryStore,
    of_commit: Gate,
    of_sync: Gate,
    /// The disk fails, for whoever writes to it from now on.
    broken: std::sync::atomic::AtomicBool,
}

#[derive(Default)]
struct Gate(Mutex<Option<(Sender<()>, Receiver<()>)>>);

impl Gate {
    /// What tells that it was reached, and what opens it.
    fn close(&self) -> (Receiver<()>, Sender<()>) {
        let (reached, is_reached) = channel();
        let (open, is_open) = channel();
        *self.0.lock().unwrap() = Some((reached, is_open));
        (is_reached, open)
    }

    fn pass(&self) {
        let taken = self.0.lock().unwrap().take();
        if let Some((reached, is_open)) = taken {
            reached.send(()).unwrap();
            let _ = is_open.recv();
        }
    }
}

fn broken() -> Fault {
    Fault::of(Class::Io, code::INTERNAL, "the disk is broken")
}

impl Held {
    fn new() -> Arc<Held> {
        Arc::new(Held {
            store: MemoryStore::default(),
            of_commit: Gate::default(),
            of_sync: Gate::default(),
            broken: false.into(),
        })
    }

    fn check(&self) -> Result<()> {
        match self.broken.load(Ordering::SeqCst) {
            true => Err(broken()),
            false => Ok(()),
        }
    }
}

impl Store for Held {
    fn snapshot(&self) -> Result<Snapshot> {
        self.store.snapshot()
    }

    fn write(&self, body: &mut dyn FnMut(&mut dyn Transaction) -> Result<Finish>) -> Result<(), Failure> {
        self.store.write(&mut |transaction| {
            let finish = body(transaction)?;
            self.of_commit.pass();
            if finish == Finish::Durable {
                self.check()?;
            }
            Ok(finish)
        })
    }

    fn checkpoint(&self) -> Result<(), Failure> {
        self.store.checkpoint()
    }

    fn sync(&self) -> Result<bool, Failure> {
        self.of_sync.pass();
        self.check().map_err(Failure::InDoubt)?;
        Ok(true)
    }

    fn inspect(&self, body: &mut dyn FnMut(&dyn Trees) -> Result<()>) -> Result<()> {
        self.store.inspect(body)
    }
}

/// Once the second found the log begun, and a state without it.
#[test]
fn two_who_begin_the_log_at_once_both_find_it() {
    let store = Held::new();
    let engine = Engine::with_store(store.clone(), None).unwrap();
    let (reached, open) = store.of_commit.close();
    let first = std::thread::spawn({
        let engine = engine.clone();
        move || wait(engine.begin_log())
    });
    reached.recv().unwrap();
    let mut second = Box::pin(engine.begin_log());
    if poll(&mut second).is_ready() {
        let view = engine.view().unwrap();
        assert!(value(&*view, TreeId::CHANGES, LogHead::KEY).is_some());
    }
    drop(open);
    first.join().unwrap().unwrap();
    wait(second).unwrap();
    let view = engine.view().unwrap();
    assert!(value(&*view, TreeId::CHANGES, LogHead::KEY).is_some());
    let commits = engine.statistics(false).unwrap().commits;
    wait(engine.begin_log()).unwrap();
    assert_eq!(engine.statistics(false).unwrap().commits, commits);
}

/// Once it said that all was durable while that was still being tried.
#[test]
fn a_flush_waits_for_the_sync_that_has_begun() {
    for is_broken in [false, true] {
        let store = Held::new();
        let interval = Duration::from_millis(1);
        let engine = Engine::with_store(store.clone(), Some(Durability::Interval(interval))).unwrap();
        let tree = collection(&engine, "c").records;
        engine.flush().unwrap();
        let (reached, open) = store.of_sync.close();
        put(&engine, tree, b"a", b"1").unwrap();
        reached.recv().unwrap();
        store.broken.store(is_broken, Ordering::SeqCst);
        let flushed = engine.flush();
        assert_eq!(flushed.is_err(), is_broken, "{flushed:?}");
        drop(open);
        let after = engine.flush();
        assert_eq!(after.is_err(), is_broken, "{after:?}");
    }
}

/// A commit that must be on the disk and changes nothing rests on those before it, which may not be there yet.
#[test]
fn what_is_to_be_durable_and_writes_nothing_makes_earlier_commits_durable() {
    for durability in [Durability::Interval(Duration::from_secs(3600)), Durability::None] {
        let store = Held::new();
        let engine = Engine::with_store(store.clone(), Some(durability)).unwrap();
        let tree = collection(&engine, "c").records;
        put(&engine, tree, b"a", b"1").unwrap();
        let durable = engine.acknowledging(true);
        let looks = || durable.write(move |writer| writer.get(tree, b"a"));
        assert_eq!(wait(looks()).unwrap().as_deref(), Some(&b"1"[..]));
        // All is durable: nothing is asked of the disk.
        store.broken.store(true, Ordering::SeqCst);
        wait(looks()).unwrap();
        let options = CommitOptions {
            durable: true,
            until: None,
        };
        wait(engine.commit(engine.begin().unwrap(), options)).unwrap();
        put(&engine, tree, b"a", b"2").unwrap();
        let transaction = engine.begin().unwrap();
        wait(engine.commit(transaction, CommitOptions::default())).unwrap();
        let fault = wait(engine.commit(engine.begin().unwrap(), options)).unwrap_err();
        assert!(fault.message().contains("broken"), "{fault:?}");
    }
}
