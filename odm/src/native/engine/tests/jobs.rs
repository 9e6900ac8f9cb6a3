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
