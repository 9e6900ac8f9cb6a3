//! Opening what is not there, and with options.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bson::{DateTime, doc};
use odm::{Db, ErrorKind};

#[tokio::test]
async fn a_directory_without_a_database_is_not_found_when_none_may_be_made() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("native:{}?create=false", directory.path().display());
    let error = Db::open(&url).await.expect_err("there is no database");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains(&directory.path().display().to_string()));
    drop(
        Db::open(&url.replace("?create=false", ""))
            .await
            .expect("a new database"),
    );
    Db::open(&url).await.expect("the database is there now");
}

/// A transaction that was forgotten is aborted when its time is over, and what it held is free again.
#[tokio::test]
async fn a_transaction_lives_as_long_as_it_was_said() {
    let limit = Duration::from_millis(20);
    let db = Db::options()
        .transaction_lifetime(limit)
        .open("memory:")
        .await
        .unwrap();
    let books = db.raw_collection("books");
    books.insert(doc! {"_id": 1, "available": 1}).await.unwrap();

    let tx = db.begin().await.unwrap();
    let inside = tx.raw_collection("books");
    inside
        .update_one(doc! {"_id": 1}, doc! {"$set": {"available": 5}})
        .await
        .unwrap();
    // Waits for the transaction, which nobody ends.
    let update = books.update_one(doc! {"_id": 1}, doc! {"$inc": {"available": 1}});
    assert_eq!(update.await.unwrap().modified, 1);
    for error in [
        inside.find(doc! {}).await.unwrap_err(),
        tx.commit().await.unwrap_err(),
    ] {
        assert_eq!(error.code(), Some(251), "{error:?}");
        assert!(error.has_label("TransientTransactionError"));
    }
    assert_eq!(
        books.find(doc! {}).await.unwrap(),
        [doc! {"_id": 1, "available": 2}]
    );
}

/// A collection in the order of `_id` is the same when its files are read again.
#[tokio::test]
async fn a_clustered_collection_is_read_again() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("native:{}", directory.path().join("db").display());
    let spec = doc! {"key": {"_id": 1}, "unique": true, "name": ""};
    for round in 0..2 {
        let db = Db::open(&url).await.unwrap();
        if round == 0 {
            let create = doc! {"create": "c", "clusteredIndex": spec.clone(), "expireAfterSeconds": 1_000};
            db.run_command(create).await.unwrap();
        }
        let c = db.raw_collection("c");
        c.insert(doc! {"_id": 9 - round}).await.unwrap();
        assert!(c.insert(doc! {"_id": 9}).await.unwrap_err().is_duplicate_key());
        let indexes = db.run_command(doc! {"listIndexes": "c"}).await.unwrap();
        assert!(indexes.to_string().contains("\"clustered\": true"), "{indexes}");
        let found = c.find(doc! {}).await.unwrap();
        assert_eq!(found.first(), Some(&doc! {"_id": 9 - round}));
        assert!(db.check().await.unwrap().is_clean());
    }
}

/// A time series has its documents, its order and its indexes when its files are read again.
#[tokio::test]
async fn a_time_series_is_read_again() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("native:{}", directory.path().join("db").display());
    let at = |minutes: i64| DateTime::from_millis(1_767_225_600_000 + minutes * 60_000);
    for round in 0..3 {
        let db = Db::open(&url).await.unwrap();
        if round == 0 {
            let series = doc! {"timeField": "t", "metaField": "m"};
            db.run_command(doc! {"create": "s", "timeseries": series, "expireAfterSeconds": 1_000_000_000})
                .await
                .unwrap();
            let index = doc! {"key": {"v": 1}, "name": "v_1"};
            db.run_command(doc! {"createIndexes": "s", "indexes": [index]})
                .await
                .unwrap();
        }
        let s = db.raw_collection("s");
        for source in ["a", "b"] {
            s.insert(doc! {"_id": 1, "t": at(0), "m": source, "v": round})
                .await
                .unwrap();
            s.insert(doc! {"_id": 2, "t": at(30), "m": source, "v": round})
                .await
                .unwrap();
        }
        let found = s.find(doc! {}).await.unwrap();
        // A new bucket for each source and opening.
        let sources: String = found.iter().map(|one| one.get_str("m").unwrap()).collect();
        assert_eq!(sources, "aabb".repeat(round as usize + 1));
        assert_eq!(s.count(doc! {"v": round}).await.unwrap(), 4);
        assert_eq!(s.list_indexes().await.unwrap().len(), 1);
        let listed = db.list_collections().await.unwrap();
        assert_eq!(listed.iter().filter(|own| own.kind == "timeseries").count(), 1);
        let report = db.check().await.unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
    }
}

/// The names of the files in a directory and what they hold.
fn content(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(directory).expect("a directory");
    let files = files.map(|file| file.expect("a file").path());
    files
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).expect("a file"))
        })
        .collect()
}

fn copied(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().expect("a temporary directory");
    for (name, bytes) in content(from) {
        std::fs::write(to.path().join(name), bytes).expect("a file");
    }
    to
}

#[tokio::test]
async fn a_database_is_opened_for_reading_only() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("native:{}", directory.path().display());
    let read_only = format!("{url}?readOnly=true");
    let db = Db::open(&url).await.unwrap();
    let books = db.raw_collection("books");
    books
        .create_indexes()
        .index_raw(doc! {"key": {"n": 1}, "name": "n_1"})
        .await
        .unwrap();
    books
        .insert_many((0..50).map(|n| doc! {"_id": n, "n": n}))
        .await
        .unwrap();
    // Whoever writes has it alone.
    assert_eq!(Db::open(&read_only).await.unwrap_err().kind(), ErrorKind::Locked);
    // As a crash leaves it: with commits that are in the log alone.
    let crashed = copied(directory.path());
    drop((books, db));

    for directory in [directory.path(), crashed.path()] {
        let before = content(directory);
        let url = format!("native:{}", directory.display());
        let one = Db::open(&format!("{url}?readOnly=true")).await.unwrap();
        let other = Db::options().read_only(true).open(&url).await.unwrap();
        for db in [&one, &other] {
            let books = db.raw_collection("books");
            assert_eq!(books.count(doc! {"n": {"$gte": 10}}).await.unwrap(), 40);
            assert!(db.check().await.unwrap().is_clean());
            for error in [
                books.insert(doc! {"_id": 99}).await.unwrap_err(),
                books.delete_many(doc! {}).await.unwrap_err(),
                db.create_collection("other").await.unwrap_err(),
                db.compact().await.unwrap_err(),
            ] {
                assert!(error.is_unsupported(), "{error}");
                assert!(error.message().contains("for reading only"), "{error}");
            }
            let tx = db.begin().await.unwrap();
            tx.raw_collection("books").insert(doc! {"_id": 99}).await.unwrap();
            assert!(tx.commit().await.unwrap_err().is_unsupported());
            assert_eq!(books.count(doc! {}).await.unwrap(), 50);
            db.flush().await.unwrap();
        }
        assert_eq!(Db::open(&url).await.unwrap_err().kind(), ErrorKind::Locked);
        one.close().await.unwrap();
        drop(other);
        assert!(content(directory) == before, "a file was changed");
        let db = Db::open(&url).await.unwrap();
        db.raw_collection("books").insert(doc! {"_id": 99}).await.unwrap();
    }

    let missing = directory.path().join("missing");
    let url = format!("native:{}?readOnly=true", missing.display());
    assert_eq!(Db::open(&url).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!missing.exists());
    let error = Db::open("memory:?readOnly=true").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(
        Db::open("memory:?readOnly=maybe").await.unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
}

#[tokio::test]
async fn closing_makes_what_was_acknowledged_durable() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("native:{}?durability=none", directory.path().display());
    let db = Db::open(&url).await.unwrap();
    let books = db.raw_collection("books");
    books.insert(doc! {"_id": 1}).await.unwrap();
    let open = copied(directory.path());
    db.flush().await.unwrap();
    let flushed = copied(directory.path());
    books.insert(doc! {"_id": 2}).await.unwrap();
    // The collection keeps the database open; what there was is on the disk all the same.
    db.close().await.unwrap();
    let closed = copied(directory.path());
    for (copy, expected) in [(open, 0), (flushed, 1), (closed, 2)] {
        let copy = Db::open(&format!("native:{}", copy.path().display()))
            .await
            .unwrap();
        assert_eq!(
            copy.raw_collection("books").count(doc! {}).await.unwrap(),
            expected
        );
    }
}

/// A file system in memory, unmounted at the end.
struct Disk(tempfile::TempDir);

impl Disk {
    fn mount(options: &str) -> Option<Disk> {
        let disk = Disk(tempfile::tempdir().expect("a temporary directory"));
        disk.run("mount", &["-t", "tmpfs", "-o", options, "tmpfs"])
            .then_some(disk)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> bool {
        let mut command = std::process::Command::new(program);
        let command = command.args(arguments).arg(self.0.path());
        command
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.run("umount", &[]);
    }
}

#[tokio::test]
async fn a_full_disk_is_told_of_and_its_database_read() {
    let Some(disk) = Disk::mount("size=8m") else {
        println!("skipped: mounting a file system is not permitted here");
        return;
    };
    let directory = disk.0.path().join("database");
    let url = format!("native:{}", directory.display());
    let db = Db::open(&url).await.unwrap();
    db.raw_collection("books").insert(doc! {"_id": -1}).await.unwrap();
    db.close().await.unwrap();

    let db = Db::open(&format!("{url}?durability=none")).await.unwrap();
    let books = db.raw_collection("books");
    for n in 0..2500 {
        if books
            .insert(doc! {"_id": n, "text": "x".repeat(8000)})
            .await
            .is_err()
        {
            break;
        }
    }
    let error = db.flush().await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Io | ErrorKind::InDoubt),
        "{error}"
    );
    assert_eq!(error.operation(), Some("flush"));
    drop(books);
    assert!(db.close().await.is_err());

    // Nothing fits beside it.
    std::fs::write(disk.0.path().join("other"), vec![1; 8 << 20]).unwrap_err();
    if let Err(error) = Db::open(&url).await {
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(
            error.message().contains(&directory.display().to_string()),
            "{error}"
        );
    }
    for options in ["size=8m", "ro"] {
        assert!(disk.run("mount", &["-o", &format!("remount,{options}")]));
        let db = Db::open(&format!("{url}?readOnly=true")).await.unwrap();
        assert!(db.raw_collection("books").count(doc! {"_id": -1}).await.unwrap() == 1);
        assert!(db.check().await.unwrap().is_clean());
    }
    let error = Db::open(&url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(
        error.message().contains(&directory.display().to_string()),
        "{error}"
    );
}
