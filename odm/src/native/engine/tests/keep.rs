//! Backups and compactions.

use super::workload::{self, stored};
use super::*;

fn on(_: &Copied) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn class(result: Result<Copied>) -> Class {
    result.unwrap_err().class()
}

fn partial(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap().display();
    target.with_file_name(format!(".{name}.partial"))
}

#[test]
fn a_backup_is_what_was_committed() {
    for (engine, _directory) in engines() {
        for step in workload::fixed() {
            step.run(&engine).unwrap();
        }
        let copy = Directory::new();
        let mut last = 0;
        let copied = engine
            .backup(copy.path(), false, &mut |copied| {
                assert!(copied.records >= last);
                last = copied.records;
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(
            (copied.records, copied.collections),
            (last, copied.of_collections)
        );
        let names = std::fs::read_dir(copy.path()).unwrap();
        assert_eq!(names.count(), 1);
        let own = std::fs::metadata(copy.path().join("odm.db")).unwrap().len();
        assert_eq!(own, copied.file_bytes);
        let before = stored(&engine).unwrap();
        // Whoever goes on writing does not change the copy.
        collection(&engine, "later");
        let restored = open(&copy);
        assert_eq!(stored(&restored).unwrap(), before);
        let report = restored.check().unwrap();
        assert_eq!((report.problems, report.records), (vec![], copied.records));
        assert!(!partial(copy.path()).exists());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(copy.path()), 0o700);
            assert_eq!(mode(&copy.path().join("odm.db")), 0o600);
        }
        // It goes on where it was.
        collection(&restored, "later");
    }
}

#[test]
fn a_backup_takes_only_an_empty_place() {
    let engine = memory();
    collection(&engine, "c");
    let copy = Directory::new();
    // The directory itself may be there, and those above it may be missing.
    std::fs::create_dir_all(copy.path()).unwrap();
    engine.backup(copy.path(), false, &mut on).unwrap();
    let before = std::fs::read(copy.path().join("odm.db")).unwrap();
    let refused = engine.backup(copy.path(), false, &mut on).unwrap_err();
    assert_eq!((refused.class(), refused.code()), (Class::Request, 2));
    assert!(refused.message().contains(&copy.path().display().to_string()));
    assert_eq!(std::fs::read(copy.path().join("odm.db")).unwrap(), before);
    assert_eq!(
        class(engine.backup(&copy.path().join("odm.db"), false, &mut on)),
        Class::Request
    );
    assert_eq!(
        class(engine.backup(Path::new("/"), false, &mut on)),
        Class::Request
    );
    let below = copy.path().join("a/b/c");
    engine.backup(&below, false, &mut on).unwrap();
    assert!(below.join("odm.db").exists());
}

#[test]
fn a_backup_that_ends_early_leaves_nothing() {
    let engine = memory();
    let c = collection(&engine, "c");
    for n in 0..50 {
        insert(&engine, &c, n).unwrap();
    }
    let copy = Directory::new();
    let broken = engine.backup(copy.path(), false, &mut |_| ControlFlow::Break(()));
    assert_eq!(class(broken), Class::Request);
    assert!(!copy.path().exists() && !partial(copy.path()).exists());

    // What a killed process leaves is no hindrance, what a running one holds is.
    std::fs::create_dir(partial(copy.path())).unwrap();
    std::fs::write(partial(copy.path()).join("odm.db.partial"), b"half of it").unwrap();
    let mut held = None;
    engine
        .backup(copy.path(), false, &mut |_| {
            held.get_or_insert_with(|| class(engine.backup(copy.path(), false, &mut on)));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(held, Some(Class::Locked));
    assert_eq!(open(&copy).check().unwrap().records, 50);
}

#[test]
fn a_backup_of_damaged_documents_is_an_error_unless_they_are_wanted() {
    let engine = memory();
    let c = collection(&engine, "c");
    wait(engine.begin_log()).unwrap();
    for n in 0..50 {
        insert(&engine, &c, n).unwrap();
    }
    let place = 3u64.to_be_bytes();
    let mut bad = value(&*engine.view().unwrap(), c.records, &place).unwrap();
    bad[5] ^= 8;
    put(&engine, c.records, &place, &bad).unwrap();
    let copy = Directory::new();
    assert_eq!(class(engine.backup(copy.path(), false, &mut on)), Class::Corrupt);
    assert!(!copy.path().exists());
    put(&engine, TreeId::CHANGES, &[0x70; 12], b"not a change").unwrap();
    let copied = engine.backup(copy.path(), true, &mut on).unwrap();
    assert_eq!((copied.damaged.len(), copied.changes), (2, 0));
    let restored = open(&copy);
    assert_eq!(value(&*restored.view().unwrap(), c.records, &place).unwrap(), bad);
    assert_eq!(restored.check().unwrap().problems.len(), 1);
    assert!(!restored.0.shared.changes.is_on());
}

#[test]
fn a_backup_has_the_log_of_changes_under_another_name() {
    let engine = memory();
    wait(engine.begin_log()).unwrap();
    for n in 0..5 {
        wait(engine.write(move |writer| {
            writer.put(TreeId(50), &[n as u8], b"")?;
            writer.log(document(n));
            Ok(())
        }))
        .unwrap();
    }
    let copy = Directory::new();
    assert_eq!(engine.backup(copy.path(), false, &mut on).unwrap().changes, 5);
    let restored = open(&copy);
    let (own, other) = (entries(&*engine.view().unwrap(), TreeId::CHANGES), {
        entries(&*restored.view().unwrap(), TreeId::CHANGES)
    });
    assert_eq!(own[1..], other[1..]);
    assert_ne!(own[0], other[0]);
    let (first, second) = (
        engine.statistics(false).unwrap(),
        restored.statistics(false).unwrap(),
    );
    let (first, second) = (first.changes.unwrap(), second.changes.unwrap());
    assert_ne!(first.log, second.log);
    assert_eq!(
        (first.entries, first.last, first.bytes),
        (second.entries, second.last, second.bytes)
    );
}

#[test]
fn compaction_gives_space_back() {
    for durability in [
        Durability::Immediate,
        Durability::Interval(Duration::from_millis(5)),
        Durability::None,
    ] {
        let directory = Directory::new();
        let file = directory.path().join("odm.db");
        let engine = open_with(&directory, durability).unwrap();
        let c = collection(&engine, "c");
        let records = c.records;
        wait(engine.write(move |writer| {
            for n in 0..4_000u64 {
                writer.put(
                    records,
                    &n.to_be_bytes(),
                    &seal(records, &n.to_be_bytes(), &[7; 1000]),
                )?;
            }
            Ok(())
        }))
        .unwrap();
        // What was removed before it came to the file would take no space there.
        engine.check().unwrap();
        wait(
            engine.write(move |writer| {
                (40..4_000u64).try_for_each(|n| writer.remove(records, &n.to_be_bytes()))
            }),
        )
        .unwrap();
        // Somebody reads, and somebody is in the middle of a transaction.
        let view = engine.view().unwrap();
        let mut transaction = engine.begin().unwrap();
        transaction.put(TreeId(90), b"k", b"before").unwrap();
        let before = std::fs::metadata(&file).unwrap().len();
        let compacted = engine.compact().unwrap();
        let after = std::fs::metadata(&file).unwrap().len();
        println!("{durability:?}: {before} -> {after} bytes ({compacted:?})");
        assert!(compacted.before >= before && compacted.after >= after);
        assert!(after * 10 < before, "{before} -> {after}");
        assert_eq!(entries(&*view, records).len(), 40);
        wait(engine.commit(transaction, CommitOptions::default())).unwrap();
        put(&engine, TreeId(91), b"k", b"after").unwrap();
        assert_eq!(
            entries(&*engine.view().unwrap(), records),
            entries(&*view, records)
        );
        drop(view);
        // Once more; nothing is left to give back but what was written since.
        let again = engine.compact().unwrap();
        assert!(again.after <= again.before);
        assert!(!directory.path().join("odm.db.compact").exists());
        assert_eq!(
            open_with(&directory, durability).unwrap_err().class(),
            Class::Locked
        );
        drop(engine);
        std::fs::write(directory.path().join("odm.db.compact"), b"half of it").unwrap();
        let engine = open_with(&directory, durability).unwrap();
        assert!(!directory.path().join("odm.db.compact").exists());
        let view = engine.view().unwrap();
        assert_eq!(entries(&*view, records).len(), 40);
        assert_eq!(value(&*view, TreeId(90), b"k").unwrap(), b"before");
        assert_eq!(value(&*view, TreeId(91), b"k").unwrap(), b"after");
    }
    assert_eq!(memory().compact().unwrap_err().class(), Class::Unsupported);
}

#[test]
fn writers_wait_for_a_compaction_and_lose_nothing() {
    for durability in [Durability::Immediate, Durability::None] {
        let directory = Directory::new();
        let engine = open_with(&directory, durability).unwrap();
        let c = collection(&engine, "c");
        let done = std::sync::atomic::AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let mut own = 0;
                        while !done.load(Ordering::Relaxed) {
                            insert(&engine, &c, own).unwrap();
                            own += 1;
                        }
                        own as usize
                    })
                })
                .collect();
            for _ in 0..8 {
                engine.compact().unwrap();
            }
            done.store(true, Ordering::Relaxed);
            writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .sum::<usize>()
        });
        assert_eq!(entries(&*engine.view().unwrap(), c.records).len(), written);
        drop(engine);
        let engine = open_with(&directory, durability).unwrap();
        assert_eq!(entries(&*engine.view().unwrap(), c.records).len(), written);
    }
}

#[test]
fn figures_say_what_happened_and_what_is_open() {
    let directory = Directory::new();
    let engine = open(&directory);
    let c = collection(&engine, "c");
    let before = engine.statistics(false).unwrap();
    for n in 0..10 {
        insert(&engine, &c, n).unwrap();
    }
    let after = engine.statistics(true).unwrap();
    assert_eq!(after.commits - before.commits, 10);
    assert_eq!(after.writes - before.writes, 10);
    let (old, file) = (before.store.file.unwrap(), after.store.file.unwrap());
    assert_eq!(file.syncs - old.syncs, 10, "one fsync for each commit");
    assert_eq!(
        file.bytes,
        std::fs::metadata(directory.path().join("odm.db")).unwrap().len()
    );
    assert!(file.pages * file.page_bytes < file.bytes && file.written > old.written);
    assert_eq!(
        after.store.log_bytes,
        Some(std::fs::metadata(directory.path().join("odm.log")).unwrap().len())
    );
    let space = after.space.unwrap();
    assert!(space.content > 0 && space.content < file.bytes);
    assert_eq!((after.readers, after.views, after.transactions), (0, 0, 0));
    assert!(after.oldest_view.is_none() && after.changes.is_none());

    let view = engine.view().unwrap();
    let second = view.clone();
    let transaction = engine.begin().unwrap();
    insert(&engine, &c, 10).unwrap();
    let newer = engine.view().unwrap();
    let open = engine.statistics(false).unwrap();
    assert_eq!((open.readers, open.views, open.transactions), (4, 2, 1));
    assert!(open.oldest_view.unwrap() >= newer.since.elapsed());
    drop((view, second, newer));
    drop(transaction);
    let closed = engine.statistics(false).unwrap();
    assert_eq!((closed.readers, closed.views, closed.transactions), (0, 0, 0));
}

#[test]
fn a_locked_directory_is_named() {
    let directory = Directory::new();
    let _engine = open(&directory);
    let fault = open_with(&directory, Durability::Immediate).unwrap_err();
    assert_eq!(fault.class(), Class::Locked);
    assert!(fault.message().contains(&directory.path().display().to_string()));
}
