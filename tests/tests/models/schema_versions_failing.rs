//! Documents of older shapes that cannot be brought into the present one, and reads whose writing back fails.

use bson::{Bson, DateTime, Document, RawBson, RawDocument, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Derivation, Derived, Error, ErrorKind, Model, Result};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    what_cannot_be_derived_is_reported_and_left,
    what_cannot_be_derived_is_read_and_left,
    a_read_gives_its_documents_whatever_the_write_says,
    a_read_in_a_transaction_writes_nothing_back,
}

/// The number of letters of the name.
#[derive(Debug)]
struct Letters;

impl Derivation for Letters {
    type Value = i32;

    fn sources() -> Vec<String> {
        vec!["name".to_owned()]
    }

    fn derive(document: &RawDocument, _now: DateTime) -> Result<RawBson> {
        match document.get_str("name") {
            Ok("") => Err(Error::new(ErrorKind::Validation, "has no letters")),
            Ok(name) => Ok(RawBson::Int32(i32::try_from(name.len()).unwrap_or(i32::MAX))),
            Err(error) => Err(Error::new(ErrorKind::Decode, "has no name").with_source(error)),
        }
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "lettered", schema_version = 2, migrate(rename))]
#[odm(index(unique, keys(code)))]
struct Lettered {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[serde(default)]
    code: i32,
    letters: Derived<Letters>,
}

fn rename(document: &mut Document) -> Result<()> {
    let name = document.remove("called").unwrap_or(Bson::Null);
    document.insert("name", name);
    Ok(())
}

/// Of 9, the one in the middle of each batch of three has no letters.
async fn old(db: &Db) -> odm::Collection<Lettered> {
    let lettered = db.collection::<Lettered>();
    let old = |id: i32| doc! { "_id": id, "code": id, "called": if id % 3 == 2 { "" } else { "abc" } };
    lettered.raw().insert_many((1..=9).map(old)).await.unwrap();
    lettered
}

async fn migrated(lettered: &odm::Collection<Lettered>) -> Vec<i32> {
    let present = lettered.raw().find(doc! { "schema_version": 2 });
    let present = present.sort_raw(doc! { "_id": 1 }).await.unwrap();
    for one in &present {
        assert_eq!(one.get_i32("letters").unwrap(), 3);
    }
    present.iter().map(|one| one.get_i32("_id").unwrap()).collect()
}

async fn what_cannot_be_derived_is_reported_and_left(db: &Db) {
    let lettered = old(db).await;
    for is_dry in [true, false, false] {
        let done = match is_dry {
            true => lettered.migrate().batch_size(3).dry_run().await.unwrap(),
            false => lettered.migrate().batch_size(3).await.unwrap(),
        };
        let failed: Vec<_> = done.failed.iter().map(|(id, _)| id.clone()).collect();
        assert_eq!(failed, [2, 5, 8].map(Bson::Int32));
        for (id, error) in &done.failed {
            assert_eq!(
                (error.kind(), error.message()),
                (ErrorKind::Validation, "has no letters")
            );
            assert_eq!(
                (error.id(), error.path(), error.model()),
                (Some(id), Some("letters"), Some("Lettered"))
            );
        }
        let present = migrated(&lettered).await;
        assert_eq!(present, if is_dry { vec![] } else { vec![1, 3, 4, 6, 7, 9] });
    }
    let left = lettered.raw().find_one(doc! { "_id": 5 }).await.unwrap().unwrap();
    assert_eq!(left, doc! { "_id": 5, "code": 5, "called": "" });
    // One by itself says so too.
    let mut one = lettered.get(5).tracked().required().await.unwrap();
    one.code = 50;
    let error = one.save(&lettered).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.id(), error.path(), error.model()),
        (
            ErrorKind::Validation,
            Some(&Bson::Int32(5)),
            Some("letters"),
            Some("Lettered")
        )
    );
}

async fn what_cannot_be_derived_is_read_and_left(db: &Db) {
    let lettered = old(db).await;
    let read = lettered.find_all().write_back().await.unwrap();
    assert_eq!(read.len(), 9);
    assert_eq!(migrated(&lettered).await, [1, 3, 4, 6, 7, 9]);
}

async fn a_read_gives_its_documents_whatever_the_write_says(db: &Db) {
    let lettered = old(db).await;
    let (faulty, faults) = db.faulty();
    faults.add(Fault::nth("bulkWrite", 1).before(Error::new(ErrorKind::Network, "lost")));
    let read = faulty
        .collection::<Lettered>()
        .find_all()
        .write_back()
        .await
        .unwrap();
    assert_eq!(read.len(), 9);
    assert!(migrated(&lettered).await.is_empty());
    // A read that fails is an error as ever.
    faults.add(Fault::nth("find", 1).before(Error::new(ErrorKind::Network, "lost")));
    let failed = faulty.collection::<Lettered>().find_all().write_back().await;
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Network);
}

async fn a_read_in_a_transaction_writes_nothing_back(db: &Db) {
    let lettered = old(db).await;
    // The new shape has something that a unique index refuses: a write that fails ends a transaction.
    let unique = doc! {
        "key": { "name": 1 },
        "name": "name_1",
        "unique": true,
        "partialFilterExpression": { "name": { "$exists": true } },
    };
    db.run_command(doc! { "createIndexes": "lettered", "indexes": [unique] })
        .await
        .unwrap();
    let read = db.transaction(async |tx| {
        let inside = tx.collection::<Lettered>();
        let read = inside.find_all().write_back().await?;
        inside
            .raw()
            .insert(doc! { "_id": 100, "code": 100, "called": "xyz" })
            .await?;
        Ok::<_, Error>(read.len())
    });
    assert_eq!(read.await.unwrap(), 9);
    assert!(
        lettered
            .raw()
            .find_one(doc! { "_id": 100 })
            .await
            .unwrap()
            .is_some()
    );
    assert!(migrated(&lettered).await.is_empty());
    // Outside, what is refused is left, and read.
    assert_eq!(lettered.find_all().write_back().await.unwrap().len(), 10);
    assert_eq!(migrated(&lettered).await.len(), 2);
}
