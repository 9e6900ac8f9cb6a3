//! Databases whose URL asks for a concern of its own.

use std::time::Duration;

use bson::{Bson, doc};
use odm::backend::{ReadConcern, ReadPreference, TransactionOptions, WriteConcern};
use odm::{Db, Id, Model, Ref};
use odm_tests::harness::{mongodb_uri, with_database};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_snapshot_is_one_whatever_the_url_reads,
    changes_are_told_whatever_the_url_reads,
    a_transaction_asks_the_primary_whatever_is_preferred,
    writes_that_are_a_transaction_ask_the_primary,
    a_transaction_reads_as_it_may,
    a_session_reads_as_it_may,
    a_collection_is_counted_whatever_the_url_reads,
    handles_tell_what_they_ask_for,
    urls_tell_what_they_ask_for,
}

const LEVELS: [(&str, ReadConcern); 5] = [
    ("local", ReadConcern::Local),
    ("available", ReadConcern::Available),
    ("majority", ReadConcern::Majority),
    ("linearizable", ReadConcern::Linearizable),
    ("snapshot", ReadConcern::Snapshot),
];

/// The same database by a URL with this option, where there are such URLs.
async fn with_option(db: &Db, option: &str) -> Option<Db> {
    if db.backend_name() != "mongodb" {
        return None;
    }
    let url = with_database(&mongodb_uri().expect("a server"), db.name());
    let separator = if url.contains('?') { '&' } else { '?' };
    Some(Db::open(&format!("{url}{separator}{option}")).await.unwrap())
}

/// The same database by a URL that reads at this level, and by a handle that does.
async fn reading(db: &Db, (name, level): (&str, ReadConcern)) -> Vec<Db> {
    let by_url = with_option(db, &format!("readConcernLevel={name}")).await;
    let by_handle = db.with_read_concern(level).unwrap();
    by_url.into_iter().chain([by_handle]).collect()
}

/// The same database by a URL that prefers a secondary, and by a handle that does.
async fn elsewhere(db: &Db) -> Vec<Db> {
    let by_url = with_option(db, "readPreference=secondaryPreferred").await;
    let by_handle = db
        .with_read_preference(ReadPreference::SecondaryPreferred)
        .unwrap();
    by_url.into_iter().chain([by_handle]).collect()
}

async fn a_snapshot_is_one_whatever_the_url_reads(db: &Db) {
    db.raw_collection("items").insert(doc! {"_id": 0}).await.unwrap();
    let mut stored = 1;
    for level in LEVELS {
        for own in reading(db, level).await {
            let then = own
                .snapshot()
                .await
                .unwrap_or_else(|e| panic!("{level:?}: {e:?}"));
            db.raw_collection("items")
                .insert(doc! {"_id": stored})
                .await
                .unwrap();
            let items = then.raw_collection("items");
            assert_eq!(items.count(doc! {}).await.unwrap(), stored as u64, "{level:?}");
            assert_eq!(items.find(doc! {}).await.unwrap().len(), stored as usize);
            assert_eq!(items.distinct("_id").await.unwrap().len(), stored as usize);
            assert_eq!(items.estimated_count().await.unwrap(), stored as u64);
            assert_eq!(items.list_indexes().await.unwrap().len(), 1);
            assert_eq!(then.list_collections().await.unwrap().len(), 1);
            assert!(items.find(doc! {"_id": 0}).explain().await.is_ok());
            stored += 1;
            let session = own.causal_session().await.unwrap();
            let then = session.snapshot().await.unwrap();
            let again = then.snapshot().await.unwrap();
            for then in [then, again] {
                let seen = then.raw_collection("items").count(doc! {}).await.unwrap();
                assert_eq!(seen, stored as u64);
            }
        }
    }
}

async fn changes_are_told_whatever_the_url_reads(db: &Db) {
    let mut id = 0;
    for level in LEVELS {
        for own in reading(db, level).await {
            let mut one = own.raw_collection("items").watch().await.unwrap();
            let mut all = own.watch().await.unwrap();
            db.raw_collection("items").insert(doc! {"_id": id}).await.unwrap();
            for changes in [one.next().await, all.next().await] {
                let change = changes
                    .expect("a change")
                    .unwrap_or_else(|e| panic!("{level:?}: {e:?}"));
                assert_eq!(change.event.key(), Some(&Bson::Int32(id)));
            }
            id += 1;
        }
    }
}

async fn a_transaction_asks_the_primary_whatever_is_preferred(db: &Db) {
    let mut count = 0;
    for own in elsewhere(db).await {
        let session = own.causal_session().await.unwrap();
        for own in [&own, &*session] {
            let seen = own.transaction(async |tx| {
                let items = tx.raw_collection("items");
                items.insert(doc! {"_id": count}).await?;
                items.count(doc! {}).await
            });
            assert_eq!(seen.await.unwrap(), count as u64 + 1);
            count += 1;
        }
        // What its own options say goes before.
        let options = TransactionOptions::new().read_preference(ReadPreference::Secondary);
        let tx = own.begin_with(options).await.unwrap();
        let error = tx.raw_collection("items").count(doc! {}).await.unwrap_err();
        assert!(error.to_string().contains("must be primary"), "{error}");
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "authors", referred_by(Book))]
struct Author {
    #[serde(rename = "_id")]
    id: Id<Author>,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "books")]
struct Book {
    #[serde(rename = "_id")]
    id: Id<Book>,
    #[odm(on_delete = cascade)]
    author: Ref<Author>,
}

async fn writes_that_are_a_transaction_ask_the_primary(db: &Db) {
    for own in elsewhere(db).await {
        let author = Author { id: Id::new() };
        own.collection::<Author>().insert(&author).await.unwrap();
        let book = Book {
            id: Id::new(),
            author: author.id.into(),
        };
        own.collection::<Book>().insert(&book).await.unwrap();
        let deleted = own
            .collection::<Author>()
            .delete_one(|a| a.id.eq(author.id))
            .await
            .unwrap();
        assert_eq!(deleted.deleted, 1);
        assert!(db.collection::<Book>().find_all().await.unwrap().is_empty());
    }
}

async fn a_transaction_reads_as_it_may(db: &Db) {
    let mut count = 0;
    for level in LEVELS {
        for own in reading(db, level).await {
            let seen = own.transaction(async |tx| {
                let items = tx.raw_collection("items");
                items.insert(doc! {"_id": count}).await?;
                items.count(doc! {}).await
            });
            let seen = seen.await.unwrap_or_else(|e| panic!("{level:?}: {e:?}"));
            assert_eq!(seen, count as u64 + 1);
            count += 1;
        }
    }
}

async fn a_session_reads_as_it_may(db: &Db) {
    let mut count = 0;
    for level in LEVELS {
        for own in reading(db, level).await {
            let session = own.causal_session().await.unwrap();
            let again = session.with_read_concern(level.1).unwrap();
            let items = session.raw_collection("items");
            items.insert(doc! {"_id": count}).await.unwrap();
            count += 1;
            let again = again.raw_collection("items");
            for seen in [items.count(doc! {}).await, again.count(doc! {}).await] {
                match (level.1, db.backend_name()) {
                    (ReadConcern::Linearizable, "mongodb") => assert_eq!(seen.unwrap_err().code(), Some(72)),
                    _ => assert_eq!(seen.unwrap_or_else(|e| panic!("{level:?}: {e:?}")), count as u64),
                }
            }
        }
    }
}

async fn a_collection_is_counted_whatever_the_url_reads(db: &Db) {
    db.raw_collection("items").insert(doc! {"_id": 1}).await.unwrap();
    for level in LEVELS {
        for own in reading(db, level).await {
            let count = own.raw_collection("items").estimated_count().await;
            assert_eq!(count.unwrap_or_else(|e| panic!("{level:?}: {e:?}")), 1);
        }
    }
}

async fn handles_tell_what_they_ask_for(db: &Db) {
    let concern = WriteConcern::majority().timeout(Duration::from_secs(9));
    let safe = db
        .with_write_concern(concern)
        .unwrap()
        .with_read_concern(ReadConcern::Majority)
        .unwrap();
    let (logged, _) = safe.logged();
    let session = safe.causal_session().await.unwrap();
    for own in [&safe, &logged, &*session] {
        let asked = own.concerns();
        match db.backend_name() {
            "mongodb" => {
                assert_eq!(asked.write_concern, Some(concern));
                assert_eq!(asked.read_concern, Some(ReadConcern::Majority));
            }
            _ => assert_eq!(asked.write_concern, None),
        }
        assert_eq!(asked.read_preference, None);
    }
    if db.backend_name() == "native" {
        let journaled = WriteConcern::majority().journal(true);
        let own = db.with_write_concern(journaled).unwrap();
        assert_eq!(own.concerns().write_concern, Some(journaled));
    }
}

async fn urls_tell_what_they_ask_for(db: &Db) {
    let options = "readConcernLevel=majority&readPreference=nearest&w=1&journal=true&wtimeoutMS=9000";
    let Some(own) = with_option(db, options).await else {
        return;
    };
    let asked = own.concerns();
    let concern = WriteConcern::members(1).journal(true);
    assert_eq!(asked.write_concern, Some(concern.timeout(Duration::from_secs(9))));
    assert_eq!(asked.read_concern, Some(ReadConcern::Majority));
    assert_eq!(asked.read_preference, Some(ReadPreference::Nearest));
    let local = own.with_read_concern(ReadConcern::Local).unwrap();
    assert_eq!(local.concerns().read_concern, Some(ReadConcern::Local));
}
