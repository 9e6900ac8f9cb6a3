//! Jobs and the views that they leave.

use super::*;

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

/// A part is taken back alone, whatever was there before it: nothing, the job's own writes, those of other jobs of the
/// commit, and a key that the part wrote twice.
#[test]
fn a_part_of_a_job_is_taken_back_alone() {
    for (engine, _directory) in engines() {
        for name in ["first", "second"] {
            let tree = collection(&engine, name).records;
            put(&engine, tree, b"old", b"0").unwrap();
            let job = move |writer: &mut dyn Write| {
                writer.put(tree, b"a", b"1")?;
                writer.begin_part();
                writer.claim(tree, b"a")?;
                writer.put(tree, b"a", b"2")?;
                writer.put(tree, b"b", b"2")?;
                writer.put(tree, b"b", b"3")?;
                writer.remove(tree, b"old")?;
                create(writer, &format!("{name} half"))?;
                writer.end_part(false);
                writer.put(tree, b"c", b"4")?;
                writer.begin_part();
                writer.put(tree, b"d", b"5")?;
                writer.end_part(true);
                Ok(entries(writer, tree))
            };
            let expected: Vec<(Vec<u8>, Vec<u8>)> = [(b"a", b"1"), (b"c", b"4"), (b"d", b"5")]
                .map(|(k, v)| (k.to_vec(), v.to_vec()))
                .into();
            let old = vec![(b"old".to_vec(), b"0".to_vec())];
            let expected = [expected, old].concat();
            // Beside others of the same commit, and alone.
            let writes = [wait(engine.write(job)).unwrap(), wait(engine.write(job)).unwrap()];
            assert_eq!(writes, [expected.clone(), expected.clone()]);
            let view = engine.view().unwrap();
            assert_eq!(entries(&*view, tree), expected);
            assert!(view.catalog().collection("db", &format!("{name} half")).is_none());
            let only_a_part = move |writer: &mut dyn Write| {
                writer.begin_part();
                writer.put(tree, b"a", b"9")?;
                writer.end_part(false);
                Ok(())
            };
            wait(engine.write(only_a_part)).unwrap();
            assert_eq!(entries(&*engine.view().unwrap(), tree), expected);
        }
    }
}

/// The same, where the job's writes come after those of another job of the commit.
#[test]
fn a_part_is_taken_back_beside_other_jobs() {
    let engine = memory();
    let tree = collection(&engine, "c").records;
    let mut others = Vec::new();
    let mut holder = engine.begin().unwrap();
    holder.claim(tree, b"gate").unwrap();
    for value in [&b"1"[..], b"2"] {
        let mut job = Box::pin(engine.write(move |writer| {
            writer.claim(tree, b"gate")?;
            writer.put(tree, b"a", value)?;
            writer.begin_part();
            writer.put(tree, b"a", b"never")?;
            writer.remove(tree, b"a")?;
            writer.put(tree, b"b", b"never")?;
            writer.end_part(false);
            writer.put(tree, value, b"x")
        }));
        assert!(poll(&mut job).is_pending());
        others.push(job);
    }
    drop(holder);
    others.into_iter().for_each(|job| wait(job).unwrap());
    let expected = [(&b"1"[..], &b"x"[..]), (b"2", b"x"), (b"a", b"2")];
    let expected = expected.map(|(key, value)| (key.to_vec(), value.to_vec()));
    assert_eq!(entries(&*engine.view().unwrap(), tree), expected);
}

/// Where the disk is waited for that is the engine's thread, and not whoever awaits the job.
#[test]
fn who_writes_with_relaxed_durability_waits_for_no_fsync() {
    for durability in [Durability::Interval(Duration::from_secs(3600)), Durability::None] {
        let directory = Directory::new();
        let engine = open_with(&directory, durability).unwrap();
        let runs_on = |engine: &Engine| {
            let job = |writer: &mut dyn Write| {
                writer.put(TreeId(9), b"a", b"1")?;
                Ok(std::thread::current().name().map(str::to_owned))
            };
            wait(engine.write(job)).unwrap()
        };
        let thread = Some("odm-writer".to_owned());
        // When it has answered, the thread goes back to sleep.
        let comes_back = || {
            (0..1_000).any(|_| {
                std::thread::sleep(Duration::from_millis(1));
                runs_on(&engine) != thread
            })
        };
        // The first one begins the log, if there is one.
        assert_eq!(runs_on(&engine) == thread, durability != Durability::None);
        assert!(comes_back());
        assert_eq!(runs_on(&engine.acknowledging(true)), thread);
        assert!(comes_back());
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
