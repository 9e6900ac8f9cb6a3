//! What keeps a database in order: check, repair, backup, compaction, figures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use odm::bson::{Document, doc};
use odm::{ChangeEvent, Db, Error, ErrorKind};

crate::on_every_backend! {
    a_sound_database_needs_no_repair,
    the_store_is_not_maintained_in_a_transaction,
    backups_are_commit_points_while_writers_go_on,
    a_backup_is_restored_by_opening_it,
    compaction_gives_space_back,
    figures_of_the_store,
    writes_are_flushed_and_a_database_is_closed,
}

async fn writes_are_flushed_and_a_database_is_closed(db: &Db) {
    let books = db.raw_collection("books");
    books.insert(doc! {"_id": 1}).await.unwrap();
    db.flush().await.unwrap();
    let tx = db.begin().await.unwrap();
    let error = tx.flush().await.unwrap_err();
    assert!(
        error.is_unsupported() && error.operation() == Some("flush"),
        "{error}"
    );
    tx.abort().await;
    db.clone().close().await.unwrap();
    // Another handle goes on.
    books.insert(doc! {"_id": 2}).await.unwrap();
    assert_eq!(books.count(doc! {}).await.unwrap(), 2);
}

/// A path that nothing is at yet.
fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("copy");
    (directory, path)
}

async fn open(path: &Path) -> Db {
    Db::open(&format!("native:{}", path.display()))
        .await
        .expect("the copy opens")
}

/// Whether the backend keeps its store in order itself; if not, says why the case ends here.
async fn maintains(db: &Db) -> bool {
    if db.capabilities().maintenance {
        return true;
    }
    eprintln!(
        "skipped on {}: the server has its own commands for this",
        db.backend_name()
    );
    let (_directory, path) = place();
    refused(db, "repair", db.repair().await.map(drop));
    refused(db, "backup", db.backup(&path).await.map(drop));
    refused(db, "compact", db.compact().await.map(drop));
    refused(db, "storeStatistics", db.store_statistics().await.map(drop));
    refused(db, "check", db.check().await.map(drop));
    assert!(!path.exists());
    false
}

fn refused(db: &Db, operation: &str, result: Result<(), Error>) {
    let error = result.expect_err("it is refused");
    assert!(error.is_unsupported(), "{error}");
    assert_eq!(
        (error.operation(), error.backend()),
        (Some(operation), Some(db.backend_name()))
    );
}

async fn a_sound_database_needs_no_repair(db: &Db) {
    if !maintains(db).await {
        return;
    }
    let books = db.raw_collection("books");
    books
        .insert_many((0..60).map(|n| doc! {"_id": n, "title": format!("t{}", n % 7), "tags": [n, n + 1]}))
        .await
        .unwrap();
    db.run_command(doc! {"createIndexes": "books", "indexes": [
        {"key": {"title": 1}, "name": "title_1"},
        {"key": {"tags": 1}, "name": "tags_1"},
        {"key": {"_id": 1, "title": 1}, "name": "both", "unique": true},
    ]})
    .await
    .unwrap();
    db.create_collection("log")
        .capped(4096)
        .max_documents(3)
        .await
        .unwrap();
    let log = db.raw_collection("log");
    for n in 0..9 {
        log.insert(doc! {"_id": n}).await.unwrap();
    }
    db.create_collection("shown").view_on("books", []).await.unwrap();
    for report in [db.repair().dry_run().await.unwrap(), db.repair().await.unwrap()] {
        assert!(report.is_clean() && report.is_repaired(), "{:?}", report.findings);
        // The views have a collection too.
        assert_eq!((report.collections, report.documents), (3, 63));
        assert_eq!(report.index_entries, 60 * 3 + 120 + 3);
    }
    let one = db.repair().collection("log").await.unwrap();
    assert_eq!((one.collections, one.documents), (1, 3));
    let none = db.database("elsewhere").unwrap().repair().await.unwrap();
    assert_eq!(none.documents, 0);
    assert_eq!(db.repair().every_database().await.unwrap().documents, 63);
    assert!(db.check().await.unwrap().is_clean());
}

async fn the_store_is_not_maintained_in_a_transaction(db: &Db) {
    let (_directory, path) = place();
    for attempt in 0..3 {
        let tx = db.begin().await.unwrap();
        let result = match attempt {
            0 => tx.repair().await.map(drop),
            1 => tx.backup(&path).await.map(drop),
            _ => tx.compact().await.map(drop),
        };
        assert!(result.unwrap_err().is_unsupported());
        tx.abort().await;
    }
    assert!(!path.exists());
}

/// What the journal says that the accounts of both collections hold after its first `count` entries.
fn replayed(journal: &[Document]) -> BTreeMap<(String, i32), i64> {
    let mut accounts = BTreeMap::new();
    for side in ["left", "right"] {
        for account in 0..ACCOUNTS {
            accounts.insert((side.to_owned(), account), START);
        }
    }
    for entry in journal {
        let (from, to) = (entry.get_i32("from").unwrap(), entry.get_i32("to").unwrap());
        let amount = entry.get_i64("amount").unwrap();
        *accounts.get_mut(&("left".to_owned(), from)).unwrap() -= amount;
        *accounts.get_mut(&("right".to_owned(), to)).unwrap() += amount;
    }
    accounts
}

const ACCOUNTS: i32 = 8;
const START: i64 = 1_000;

/// Moves money from one collection to the other and writes the journal, whose numbers are in commit order.
async fn transfer(db: &Db, number: u64) -> odm::Result<()> {
    db.transaction(async |tx| {
        let counter = tx
            .raw_collection("counter")
            .find_one_and_update(doc! {"_id": 0}, doc! {"$inc": {"n": 1_i64}})
            .return_new()
            .await?
            .expect("the counter");
        let (from, to) = ((number % 8) as i32, (number / 8 % 8) as i32);
        let amount = (number % 97) as i64;
        tx.raw_collection("left")
            .update_one(doc! {"_id": from}, doc! {"$inc": {"balance": -amount}})
            .await?;
        tx.raw_collection("right")
            .update_one(doc! {"_id": to}, doc! {"$inc": {"balance": amount}})
            .await?;
        tx.database("other")?
            .raw_collection("journal")
            .insert(doc! {"_id": counter.get_i64("n").unwrap(), "from": from, "to": to, "amount": amount})
            .await?;
        Ok(())
    })
    .await
}

async fn backups_are_commit_points_while_writers_go_on(db: &Db) {
    if !maintains(db).await {
        return;
    }
    for side in ["left", "right"] {
        let accounts = db.raw_collection(side);
        accounts
            .insert_many((0..ACCOUNTS).map(|n| doc! {"_id": n, "balance": START}))
            .await
            .unwrap();
        db.run_command(
            doc! {"createIndexes": side, "indexes": [{"key": {"balance": 1}, "name": "balance_1"}]},
        )
        .await
        .unwrap();
    }
    db.raw_collection("counter")
        .insert(doc! {"_id": 0, "n": 0_i64})
        .await
        .unwrap();
    let (acknowledged, started) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..3u64)
        .map(|writer| {
            let (db, over) = (db.clone(), over.clone());
            let (acknowledged, started) = (acknowledged.clone(), started.clone());
            tokio::spawn(async move {
                for number in (writer..).step_by(3) {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    started.fetch_add(1, Ordering::SeqCst);
                    transfer(&db, number).await.unwrap();
                    acknowledged.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let mut last = 0;
    for round in 0..12 {
        while acknowledged.load(Ordering::SeqCst) < round * 5 {
            tokio::task::yield_now().await;
        }
        let (_directory, path) = place();
        let least = acknowledged.load(Ordering::SeqCst);
        let told = Arc::new(AtomicU64::new(0));
        let teller = told.clone();
        let report = db
            .backup(&path)
            .on_progress(move |progress| teller.store(progress.documents, Ordering::SeqCst))
            .await
            .unwrap();
        let most = started.load(Ordering::SeqCst);
        assert_eq!(told.load(Ordering::SeqCst), report.documents);

        let copy = open(&path).await.database(db.name()).unwrap();
        assert!(copy.check().await.unwrap().is_clean());
        let other = copy.database("other").unwrap();
        let journal = other
            .raw_collection("journal")
            .find(doc! {})
            .sort_raw(doc! {"_id": 1})
            .await
            .unwrap();
        let count = journal.len() as u64;
        // All that was acknowledged before, in commit order without a gap, and nothing begun after.
        assert!(
            (least..=most).contains(&count) && count >= last,
            "{least}..={most}: {count}"
        );
        for (at, entry) in journal.iter().enumerate() {
            assert_eq!(entry.get_i64("_id").unwrap(), at as i64 + 1);
        }
        let mut found = BTreeMap::new();
        for side in ["left", "right"] {
            for account in copy.raw_collection(side).find(doc! {}).await.unwrap() {
                let key = (side.to_owned(), account.get_i32("_id").unwrap());
                found.insert(key, account.get_i64("balance").unwrap());
            }
        }
        assert_eq!(found, replayed(&journal));
        assert_eq!(report.documents, 2 * ACCOUNTS as u64 + 1 + count);
        last = count;
    }
    over.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }
    db.database("other").unwrap().drop().await.unwrap();
}

async fn a_backup_is_restored_by_opening_it(db: &Db) {
    if !maintains(db).await {
        return;
    }
    let books = db.raw_collection("books");
    books.insert(doc! {"_id": 1, "title": "Emma"}).await.unwrap();
    let mut changes = db.watch().await.unwrap();
    books
        .insert(doc! {"_id": 2, "title": "Persuasion"})
        .await
        .unwrap();
    let change = changes.try_next().await.unwrap().expect("a change");
    assert!(matches!(change.event, ChangeEvent::Insert { .. }));
    let token = changes.resume_token().expect("a token").clone();

    let (_directory, path) = place();
    let report = db.backup(&path).await.unwrap();
    assert_eq!(
        (report.documents, report.changes, report.damaged.len()),
        (2, 1, 0)
    );
    books.insert(doc! {"_id": 3}).await.unwrap();
    let refused = db.backup(&path).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert_eq!(refused.operation(), Some("backup"));

    let copy = open(&path).await.database(db.name()).unwrap();
    let kept = copy.raw_collection("books");
    assert_eq!(kept.count(doc! {}).await.unwrap(), 2);
    // The original's token: what came after it there is not here.
    let error = copy.watch().resume_after(&token).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::InvalidArgument, Some(280)),
        "{error}"
    );
    // The log itself is here, under its own tokens.
    let window = copy.store_statistics().await.unwrap().change_log.expect("a log");
    assert_eq!(window.entries, 1);
    let mut again = copy.watch().resume_after(&window.oldest).await.unwrap();
    let change = again.try_next().await.unwrap().expect("the logged change");
    assert!(matches!(change.event, ChangeEvent::Insert { .. }));
    kept.insert(doc! {"_id": 4}).await.unwrap();
    let change = again.try_next().await.unwrap().expect("a new change");
    assert!(matches!(change.event, ChangeEvent::Insert { .. }));
    // One process has it.
    let error = Db::open(&format!("native:{}", path.display())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.message().contains(&path.display().to_string()), "{error}");
}

async fn compaction_gives_space_back(db: &Db) {
    if !db.capabilities().compaction {
        eprintln!("skipped on {}: there is no file to compact", db.backend_name());
        refused(db, "compact", db.compact().await.map(drop));
        return;
    }
    let items = db.raw_collection("items");
    items
        .insert_many((0..3_000).map(|n| doc! {"_id": n, "text": "x".repeat(500)}))
        .await
        .unwrap();
    let mut cursor = items.find(doc! {}).batch_size(10).stream();
    cursor.try_next().await.unwrap();
    items.delete_many(doc! {"_id": {"$gte": 30}}).await.unwrap();
    let full = db.store_statistics().await.unwrap();
    assert!(full.views >= 1 && full.oldest_view.is_some());
    let report = db.compact().await.unwrap();
    assert!(report.bytes_after * 5 < report.bytes_before, "{report:?}");
    let figures = db.statistics().await.unwrap();
    let file = figures.store.expect("figures").file.expect("a file");
    assert_eq!(file.size, report.bytes_after);
    // The cursor goes on where it was, in the state that it had.
    let mut rest = 1;
    while cursor.try_next().await.unwrap().is_some() {
        rest += 1;
    }
    assert_eq!(rest, 3_000);
    assert_eq!(items.count(doc! {}).await.unwrap(), 30);
    items.insert(doc! {"_id": -1}).await.unwrap();
    assert!(db.check().await.unwrap().is_clean());
}

async fn figures_of_the_store(db: &Db) {
    let items = db.raw_collection("items");
    items.insert_many((0..20).map(|n| doc! {"_id": n})).await.unwrap();
    let figures = db.statistics().await.unwrap();
    assert_eq!(figures.database.documents, 20);
    assert_eq!(figures.database.collections, 1);
    let Some(before) = figures.store else {
        assert!(!db.capabilities().maintenance);
        return;
    };
    items.insert(doc! {"_id": 20}).await.unwrap();
    let tx = db.begin().await.unwrap();
    tx.raw_collection("items").insert(doc! {"_id": 21}).await.unwrap();
    let during = db.store_statistics().await.unwrap();
    assert_eq!((during.commits, during.transactions), (before.commits + 1, 1));
    assert!(during.readers >= 1 && during.oldest_view.is_some() && during.largest_group >= 1);
    tx.commit().await.unwrap();
    let after = db.statistics().await.unwrap().store.expect("figures");
    assert_eq!((after.commits, after.transactions), (before.commits + 2, 0));
    assert!(after.average_group() >= 1.0);
    assert_eq!(after.file.is_some(), db.backend_name() == "native");
    if let (Some(before), Some(after)) = (before.file, after.file) {
        assert_eq!(after.fsyncs, before.fsyncs + 2);
        let space = after.space.expect("what it is used for");
        assert!(space.content > 0 && space.free <= after.size);
        assert!(after.page_size * after.pages <= after.size);
    }
    let cursor = db
        .run_command(doc! {"find": "items", "batchSize": 2})
        .await
        .unwrap();
    assert_eq!(db.store_statistics().await.unwrap().command_cursors, 1);
    let id = cursor.get_document("cursor").unwrap().get_i64("id").unwrap();
    db.run_command(doc! {"killCursors": "items", "cursors": [id]})
        .await
        .unwrap();
    assert_eq!(db.store_statistics().await.unwrap().command_cursors, 0);
}
