//! The driver beside this crate: its client, and its session inside a transaction.

use odm::bson::{Document, doc};
use odm::mongodb::driver::bson as driver_bson;
use odm::mongodb::error;
use odm::{Db, ErrorKind};
use odm_tests::command::run;

crate::on_every_backend! {
    the_drivers_client_is_that_of_the_database,
    the_driver_writes_inside_a_transaction,
    a_transaction_that_the_driver_begins_can_be_given_up,
    the_drivers_errors_become_errors,
}

fn is_driven(db: &Db) -> bool {
    db.backend_name() == "mongodb"
}

async fn the_drivers_client_is_that_of_the_database(db: &Db) {
    let client = odm::mongodb::client(db);
    if !is_driven(db) {
        assert_eq!(client.unwrap_err().kind(), ErrorKind::Unsupported);
        let tx = db.begin().await.unwrap();
        assert_eq!(
            odm::mongodb::session(&tx).await.unwrap_err().kind(),
            ErrorKind::Unsupported
        );
        return;
    }
    let own = client.unwrap().database(db.name()).collection::<Document>("c");
    own.insert_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(db.raw_collection("c").count(doc! {}).await.unwrap(), 1);
    let (watched, _) = db.watch_scans();
    odm::mongodb::client(&watched).expect("through what watches it");
}

async fn the_driver_writes_inside_a_transaction(db: &Db) {
    if !is_driven(db) {
        return;
    }
    run(db, doc! { "create": "c" }).await;
    run(db, doc! { "create": "d" }).await;
    let driven = odm::mongodb::client(db).unwrap().database(db.name());
    let theirs = driven.collection::<Document>("d");
    for fails in [false, true] {
        let done = db
            .transaction(async |tx| {
                tx.raw_collection("c").insert(doc! { "a": 1 }).await?;
                let mut session = odm::mongodb::session(&tx).await?;
                theirs
                    .insert_one(doc! { "b": 1 })
                    .session(&mut *session)
                    .await
                    .map_err(error)?;
                let seen = theirs
                    .count_documents(doc! {})
                    .session(&mut *session)
                    .await
                    .map_err(error)?;
                drop(session);
                // Each sees what the other wrote.
                assert_eq!(tx.raw_collection("d").count(doc! {}).await?, seen);
                assert_eq!(db.raw_collection("d").count(doc! {}).await?, seen - 1);
                match fails {
                    true => Err(odm::Error::new(ErrorKind::InvalidArgument, "given up")),
                    false => Ok(()),
                }
            })
            .await;
        assert_eq!(done.is_err(), fails);
        for name in ["c", "d"] {
            assert_eq!(db.raw_collection(name).count(doc! {}).await.unwrap(), 1, "{name}");
        }
    }
    let tx = db.begin().await.unwrap();
    tx.abort().await;
    assert_eq!(
        odm::mongodb::session(&tx).await.unwrap_err().kind(),
        ErrorKind::Locked
    );
}

async fn a_transaction_that_the_driver_begins_can_be_given_up(db: &Db) {
    if !is_driven(db) {
        return;
    }
    run(db, doc! { "create": "c" }).await;
    let theirs = odm::mongodb::client(db)
        .unwrap()
        .database(db.name())
        .collection::<Document>("c");
    let tx = db.begin().await.unwrap();
    {
        let mut session = odm::mongodb::session(&tx).await.unwrap();
        theirs
            .insert_one(doc! { "_id": 1 })
            .session(&mut *session)
            .await
            .unwrap();
    }
    drop(tx);
    // The server holds nothing of it any more.
    run(
        db,
        doc! { "insert": "c", "documents": [{ "_id": 1 }], "maxTimeMS": 5_000 },
    )
    .await;
}

async fn the_drivers_errors_become_errors(db: &Db) {
    if !is_driven(db) {
        return;
    }
    let theirs = odm::mongodb::client(db)
        .unwrap()
        .database(db.name())
        .collection::<Document>("c");
    let twice = async || -> odm::Result<()> {
        theirs
            .insert_one(doc! { "_id": driver_bson::Bson::Int32(1) })
            .await
            .map_err(error)?;
        theirs.insert_one(doc! { "_id": 1 }).await.map_err(error)?;
        Ok(())
    };
    let refused = twice().await.unwrap_err();
    assert_eq!(
        (refused.kind(), refused.code()),
        (ErrorKind::DuplicateKey, Some(11000)),
        "{refused}"
    );
}
