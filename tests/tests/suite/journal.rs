//! Writes that are to be on the disk before they are acknowledged, whatever the database was opened with.

use odm::Db;
use odm::backend::{TransactionOptions, WriteConcern};
use odm::bson::{Document, doc};

crate::on_every_backend! {
    a_command_is_on_the_disk_when_it_asks_for_that,
    a_journaled_write_that_changes_nothing_waits_for_those_before_it,
    a_journaled_transaction_that_only_reads_waits_for_what_it_read,
}

/// An empty database that puts nothing on the disk of itself, and its directory.
async fn relaxed() -> (Db, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("native:{}?durability=none", directory.path().join("db").display());
    (Db::open(&url).await.unwrap(), directory)
}

async fn fsyncs(db: &Db) -> u64 {
    db.store_statistics().await.unwrap().file.unwrap().fsyncs
}

fn commands() -> Vec<Document> {
    vec![
        doc! { "insert": "c", "documents": [{ "_id": 1 }] },
        doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "a": 1 } } }] },
        doc! { "findAndModify": "c", "query": { "_id": 1 }, "update": { "$set": { "a": 2 } } },
        doc! { "aggregate": "c", "pipeline": [{ "$out": "copy" }], "cursor": {} },
        doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a" }] },
        doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 0 }] },
        doc! { "drop": "c" },
    ]
}

async fn a_command_is_on_the_disk_when_it_asks_for_that(db: &Db) {
    let with = |command: &Document, concern: Document| {
        let mut command = command.clone();
        command.insert("writeConcern", concern);
        command
    };
    let asking = [
        doc! { "j": true },
        doc! { "w": 1, "j": 1 },
        doc! { "w": "majority", "j": true },
        doc! { "w": 0, "j": true },
        doc! { "fsync": true },
        doc! { "fsync": true, "j": false },
    ];
    let others = [
        doc! {},
        doc! { "w": 1 },
        doc! { "w": 1, "j": false },
        doc! { "fsync": false },
    ];
    if db.backend_name() == "native" {
        let (db, _directory) = relaxed().await;
        for concern in asking {
            for command in commands() {
                let before = fsyncs(&db).await;
                db.run_command(with(&command, concern.clone())).await.unwrap();
                assert!(fsyncs(&db).await > before, "{command} {concern}");
            }
        }
        let safe = db
            .with_write_concern(WriteConcern::majority().journal(true))
            .unwrap();
        for concern in others {
            for command in commands() {
                let before = fsyncs(&db).await;
                db.run_command(with(&command, concern.clone())).await.unwrap();
                assert_eq!(fsyncs(&db).await, before, "{command} {concern}");
            }
            // What the handle asks for holds where the command says nothing else.
            let said = concern.get("j").or(concern.get("fsync")).is_some();
            let before = fsyncs(&db).await;
            safe.run_command(with(&commands()[0], concern)).await.unwrap();
            assert_eq!(fsyncs(&db).await > before, !said);
            safe.run_command(doc! { "drop": "c" }).await.unwrap();
        }
        return;
    }
    for concern in asking {
        for command in commands() {
            db.run_command(with(&command, concern.clone())).await.unwrap();
        }
    }
    let list = doc! { "listCollections": 1, "filter": { "name": "c" } };
    let listed = db.run_command(list).await.unwrap();
    let listed = listed
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert!(listed.is_empty());
    for concern in others {
        for command in commands() {
            db.run_command(with(&command, concern.clone())).await.unwrap();
        }
    }
}

async fn a_journaled_write_that_changes_nothing_waits_for_those_before_it(db: &Db) {
    let same = doc! {
        "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "a": 1 } } }], "writeConcern": { "j": true },
    };
    if db.backend_name() != "native" {
        let reply = db.run_command(same).await.unwrap();
        assert_eq!(reply.get_i32("n").unwrap(), 0);
        return;
    }
    let (db, _directory) = relaxed().await;
    let items = db.raw_collection("c");
    items.insert(doc! { "_id": 1, "a": 1 }).await.unwrap();
    let before = fsyncs(&db).await;
    let reply = db.run_command(same.clone()).await.unwrap();
    assert_eq!(
        (reply.get_i32("n").unwrap(), reply.get_i32("nModified").unwrap()),
        (1, 0)
    );
    let after = fsyncs(&db).await;
    assert!(after > before);
    // Nothing is left to be waited for.
    db.run_command(same).await.unwrap();
    assert_eq!(fsyncs(&db).await, after);
}

async fn a_journaled_transaction_that_only_reads_waits_for_what_it_read(db: &Db) {
    if db.backend_name() != "native" {
        return;
    }
    let (db, _directory) = relaxed().await;
    db.raw_collection("c").insert(doc! { "_id": 1 }).await.unwrap();
    let read = async |journaled: bool| {
        let concern = WriteConcern::majority().journal(journaled);
        let options = TransactionOptions::new().write_concern(concern);
        let tx = db.begin_with(options).await.unwrap();
        assert_eq!(tx.raw_collection("c").count(doc! {}).await.unwrap(), 1);
        tx.commit().await.unwrap();
        fsyncs(&db).await
    };
    let before = fsyncs(&db).await;
    assert_eq!(read(false).await, before);
    let after = read(true).await;
    assert!(after > before);
    assert_eq!(read(true).await, after);
}
