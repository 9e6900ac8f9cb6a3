//! Jobs that share a commit.

use super::*;

/// Queues jobs while the writer is taken, so that they run together.
fn together<T>(
    engine: &Engine,
    mut jobs: Vec<Pin<Box<dyn Future<Output = Result<T>> + Send>>>,
) -> Vec<Result<T>> {
    engine.0.shared.alone(|_| {
        for job in &mut jobs {
            assert!(poll(job).is_pending());
        }
    });
    jobs.into_iter().map(wait).collect()
}

#[test]
fn jobs_of_one_commit_see_those_before_them() {
    for (engine, _directory) in engines() {
        let tree = collection(&engine, "c").records;
        put(&engine, tree, b"a", b"old").unwrap();
        let commits = engine.statistics(false).unwrap().commits;
        let first = engine.write(move |writer| {
            writer.put(tree, b"a", b"1")?;
            writer.put(tree, b"b", b"1")
        });
        let failed = engine.write(move |writer| {
            writer.put(tree, b"b", b"never")?;
            writer.put(tree, b"c", b"never")?;
            Err::<(), _>(Fault::new(code::BAD_VALUE, "no"))
        });
        let third = engine.write(move |writer| {
            let expected = [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"1".to_vec())];
            assert_eq!(entries(&*writer, tree), expected);
            assert_eq!(value(&*writer, tree, b"c"), None);
            writer.remove(tree, b"a")?;
            writer.put(tree, b"b", b"3")
        });
        let other = engine.write(move |writer| create(writer, "d").map(|_| ()));
        let last = engine.write(move |writer| {
            assert!(writer.catalog().collection("db", "d").is_some());
            assert_eq!(value(&*writer, tree, b"a"), None);
            writer.put(tree, b"e", b"5")
        });
        let jobs: Vec<Pin<Box<dyn Future<Output = Result<()>> + Send>>> = vec![
            Box::pin(first),
            Box::pin(failed),
            Box::pin(third),
            Box::pin(other),
            Box::pin(last),
        ];
        let ended: Vec<bool> = together(&engine, jobs).iter().map(Result::is_ok).collect();
        assert_eq!(ended, [true, false, true, true, true]);
        assert_eq!(engine.statistics(false).unwrap().commits, commits + 1);
        let view = engine.view().unwrap();
        let expected = [(b"b".to_vec(), b"3".to_vec()), (b"e".to_vec(), b"5".to_vec())];
        assert_eq!(entries(&*view, tree), expected);
    }
}

#[test]
fn a_dropped_tree_forgets_what_was_written_before_it_in_the_same_commit() {
    for (engine, _directory) in engines() {
        let old = collection(&engine, "c").records;
        put(&engine, old, b"a", b"1").unwrap();
        let write = engine.write(move |writer| writer.put(old, b"b", b"1"));
        let dropped = engine.write(move |writer| {
            writer.catalog_mut().drop_collection("db", "c");
            Ok(())
        });
        let created = engine.write(move |writer| {
            let new = create(writer, "c")?;
            writer.put(new.records, b"c", b"1")
        });
        let jobs: Vec<Pin<Box<dyn Future<Output = Result<()>> + Send>>> =
            vec![Box::pin(write), Box::pin(dropped), Box::pin(created)];
        for ended in together(&engine, jobs) {
            ended.unwrap();
        }
        let view = engine.view().unwrap();
        assert!(entries(&*view, old).is_empty());
        let new = view.catalog().collection("db", "c").unwrap().records;
        assert_eq!(entries(&*view, new), [(b"c".to_vec(), b"1".to_vec())]);
    }
}

#[test]
fn who_needs_the_writer_alone_goes_before_those_who_wait_to_write() {
    for (engine, _directory) in engines() {
        let tree = collection(&engine, "c").records;
        let shared = &engine.0.shared;
        let (enter, entered) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let first = scope.spawn(move || {
                shared.alone(|_| {
                    enter.send(()).unwrap();
                    released.recv().unwrap();
                });
            });
            entered.recv().unwrap();
            let second = scope.spawn(|| shared.alone(|_| entries(&*engine.view().unwrap(), tree).is_empty()));
            while shared.turns.wanted() < 2 {
                std::thread::yield_now();
            }
            let mut write: Pin<Box<dyn Future<Output = Result<()>> + Send>> =
                Box::pin(engine.write(move |writer| writer.put(tree, b"a", b"1")));
            assert!(poll(&mut write).is_pending());
            release.send(()).unwrap();
            wait(write).unwrap();
            first.join().unwrap();
            assert!(second.join().unwrap());
        });
        assert_eq!(entries(&*engine.view().unwrap(), tree).len(), 1);
    }
}

#[test]
fn what_lies_between_two_keys_is_known_to_be_absent() {
    for (engine, _directory) in engines() {
        let tree = collection(&engine, "c").records;
        put(&engine, tree, b"b", b"1").unwrap();
        put(&engine, tree, b"y", b"1").unwrap();
        let asked = engine.write(move |writer| {
            assert!(writer.is_absent(tree, b"c")?);
            assert!(!writer.is_absent(tree, b"b")?);
            writer.put(tree, b"d", b"1")?;
            assert!(!writer.is_absent(tree, b"d")?);
            writer.put(tree, b"dd", b"1")?;
            assert!(!writer.is_absent(tree, b"d")?);
            assert!(writer.is_absent(tree, b"e")? && writer.is_absent(tree, b"da")?);
            assert!(!writer.is_absent(tree, b"y")?);
            writer.is_absent(tree, b"z")
        });
        assert!(wait(asked).unwrap());
    }
}

#[test]
fn a_gap_that_was_found_by_way_of_a_removal_goes_with_it() {
    for (engine, _directory) in engines() {
        let tree = collection(&engine, "c").records;
        put(&engine, tree, b"b", b"1").unwrap();
        put(&engine, tree, b"y", b"1").unwrap();
        let failed = engine.write(move |writer| {
            writer.remove(tree, b"y")?;
            assert!(writer.is_absent(tree, b"c")? && writer.is_absent(tree, b"y")?);
            Err::<(), _>(Fault::new(code::BAD_VALUE, "no"))
        });
        assert!(wait(failed).is_err());
        let asked = engine.write(move |writer| writer.is_absent(tree, b"y"));
        assert!(!wait(asked).unwrap());
        put(&engine, tree, b"z", b"1").unwrap();
        let asked =
            engine.write(move |writer| Ok((writer.is_absent(tree, b"z")?, writer.is_absent(tree, b"zz")?)));
        assert_eq!(wait(asked).unwrap(), (false, true));
    }
}
