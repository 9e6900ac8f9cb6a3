//! Transactions, and how they and single operations meet.

use super::*;

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
            .set_multikey(old.id, flagged, &[Arrays::at(0)])
            .unwrap();
        second
            .catalog_mut()
            .set_multikey(old.id, flagged, &[Arrays::at(2), Arrays::UNKNOWN])
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
            [Arrays::at(0).with(Arrays::at(2)), Arrays::UNKNOWN]
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
