//! A database as it was at one moment.

use bson::{Document, doc};
use odm::backend::ReadPreference;
use odm::{Db, ErrorKind, Id, Model, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    every_read_is_of_one_moment,
    related_documents_are_of_the_same_moment,
    sums_agree_while_others_write,
    a_snapshot_is_read_and_nothing_else,
    what_is_dropped_can_still_be_read,
    a_server_reads_no_capped_collections,
    other_databases_are_of_the_same_moment,
    a_snapshot_can_be_copied,
    a_snapshot_reads_where_its_database_does,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "authors", referred_by(Book))]
struct Author {
    #[serde(rename = "_id")]
    id: Id<Author>,
    name: String,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "books", index(keys(year)))]
struct Book {
    #[serde(rename = "_id")]
    id: Id<Book>,
    title: String,
    year: i32,
    #[odm(inverse = by_author)]
    author: Ref<Author>,
}

async fn library(db: &Db) -> Author {
    let author = Author {
        id: Id::new(),
        name: "Woolf".into(),
    };
    db.collection::<Author>().insert(&author).await.unwrap();
    let books = db.collection::<Book>();
    books.sync_indexes().await.unwrap();
    let several = (0..10).map(|n| Book {
        id: Id::new(),
        title: format!("{n}"),
        year: 1920 + n,
        author: author.id.into(),
    });
    books.insert_many(several.collect::<Vec<_>>()).await.unwrap();
    author
}

async fn every_read_is_of_one_moment(db: &Db) {
    library(db).await;
    let then = db.snapshot().await.unwrap();
    assert_eq!((then.name(), then.backend_name()), (db.name(), db.backend_name()));
    let books = db.collection::<Book>();
    books
        .update_many(|b| b.year.lt(1925), |b| b.title.set("gone"))
        .await
        .unwrap();
    books.delete_many(|b| b.year.gte(1928)).await.unwrap();
    let old = then.collection::<Book>();
    for _ in 0..2 {
        assert_eq!(old.find_all().await.unwrap().len(), 10);
        assert_eq!(old.find(|b| b.title.eq("gone")).await.unwrap().len(), 0);
        assert_eq!(
            old.find(|b| b.year.gte(1922))
                .sort(|b| b.year.desc())
                .limit(3)
                .await
                .unwrap()[0]
                .year,
            1929
        );
        assert_eq!(old.count(|b| b.year.gte(1928)).await.unwrap(), 2);
        assert_eq!(old.estimated_count().await.unwrap(), 10);
        assert!(old.exists(|b| b.year.eq(1929)).await.unwrap());
        assert_eq!(old.distinct(|b| b.title).await.unwrap().len(), 10);
        let mut stream = old.find_all().batch_size(3).stream();
        let mut count = 0;
        while stream.try_next().await.unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 10);
        let sums = old
            .aggregate_raw([doc! {"$group": {"_id": null, "n": {"$sum": 1}}}])
            .await
            .unwrap();
        assert_eq!(sums[0].get_i32("n").unwrap(), 10);
        let page = old.find_all().sort(|b| b.year.asc()).page(4).await.unwrap();
        assert_eq!(page.items.len(), 4);
        let next = old
            .find_all()
            .sort(|b| b.year.asc())
            .page(4)
            .after(page.next.unwrap())
            .await
            .unwrap();
        assert_eq!(next.items[0].title, "4");
        assert!(old.find(|b| b.year.eq(1921)).explain().await.is_ok());
        // What is read later of now, is of now.
        assert_eq!(books.count(|b| b.title.eq("gone")).await.unwrap(), 5);
    }
}

async fn related_documents_are_of_the_same_moment(db: &Db) {
    let author = library(db).await;
    let then = db.snapshot().await.unwrap();
    db.collection::<Book>()
        .delete_many(|b| b.year.gte(1921))
        .await
        .unwrap();
    db.collection::<Author>()
        .delete_one(|a| a.id.eq(author.id))
        .await
        .unwrap();
    let authors = then.collection::<Author>();
    let loaded = authors.find_all().with(Book::by_author()).await.unwrap();
    assert_eq!((loaded.len(), loaded[0].1.len()), (1, 10));
    let books = then
        .collection::<Book>()
        .find(|b| b.year.eq(1925))
        .load(|b| b.author)
        .await
        .unwrap();
    assert_eq!(books[0].1.as_ref().unwrap().name, "Woolf");
    let books = then.collection::<Book>();
    let named = books.whose(|b| b.author.some(|a| a.name.eq("Woolf"))).find_all();
    assert_eq!(named.await.unwrap().len(), 10);
    assert_eq!(then.verify_relations::<Book>().await.unwrap(), []);
}

async fn sums_agree_while_others_write(db: &Db) {
    let accounts = db.raw_collection("accounts");
    accounts
        .insert_many((0..20).map(|n| doc! {"_id": n, "balance": 100}))
        .await
        .unwrap();
    let writer = {
        let db = db.clone();
        tokio::spawn(async move {
            for n in 0..60_i32 {
                let moved = db.transaction(async |tx| {
                    let accounts = tx.raw_collection("accounts");
                    accounts
                        .update_one(doc! {"_id": n % 20}, doc! {"$inc": {"balance": -7}})
                        .await?;
                    accounts
                        .update_one(doc! {"_id": (n + 11) % 20}, doc! {"$inc": {"balance": 7}})
                        .await
                });
                moved.await.unwrap();
            }
        })
    };
    for _ in 0..15 {
        let then = db.snapshot().await.unwrap();
        let accounts = then.raw_collection("accounts");
        let of = async |filter: Document| {
            let found = accounts.find(filter).await.unwrap();
            found
                .iter()
                .map(|one| one.get_i32("balance").unwrap())
                .sum::<i32>()
        };
        // Two finds that agree with each other, and with a third.
        let (low, high) = (
            of(doc! {"_id": {"$lt": 10}}).await,
            of(doc! {"_id": {"$gte": 10}}).await,
        );
        assert_eq!(low + high, 2_000);
        assert_eq!(of(doc! {"_id": {"$lt": 10}}).await, low);
    }
    writer.await.unwrap();
}

async fn a_snapshot_is_read_and_nothing_else(db: &Db) {
    library(db).await;
    let then = db.snapshot().await.unwrap();
    let items = then.raw_collection("books");
    let out = items.aggregate_raw([doc! {"$out": "copy"}]).await.map(drop);
    let errors = [
        items.insert(doc! {"_id": 1}).await.map(drop).unwrap_err(),
        items
            .insert_many([doc! {"_id": 1}, doc! {"_id": 2}])
            .await
            .map(drop)
            .unwrap_err(),
        items
            .update_many(doc! {}, doc! {"$set": {"a": 1}})
            .await
            .map(drop)
            .unwrap_err(),
        items.delete_many(doc! {}).await.map(drop).unwrap_err(),
        items.find_one_and_delete(doc! {}).await.map(drop).unwrap_err(),
        items.drop().await.unwrap_err(),
        then.begin().await.map(drop).unwrap_err(),
        then.run_command(doc! {"ping": 1}).await.map(drop).unwrap_err(),
        then.drop().await.unwrap_err(),
        items.watch().await.map(drop).unwrap_err(),
        then.with_read_preference(ReadPreference::Primary)
            .map(drop)
            .unwrap_err(),
        out.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    assert_eq!(db.collection::<Book>().find_all().await.unwrap().len(), 10);
    // It is as causal as can be.
    let session = then.causal_session().await.unwrap();
    assert_eq!(session.raw_collection("books").count(doc! {}).await.unwrap(), 10);
}

async fn what_is_dropped_can_still_be_read(db: &Db) {
    if db.backend_name() == "mongodb" {
        // A server forgets the past of what is dropped.
        return;
    }
    library(db).await;
    let then = db.snapshot().await.unwrap();
    db.collection::<Book>().drop().await.unwrap();
    db.raw_collection("books")
        .insert(doc! {"_id": "new"})
        .await
        .unwrap();
    assert_eq!(then.collection::<Book>().find_all().await.unwrap().len(), 10);
    assert_eq!(then.collection::<Book>().list_indexes().await.unwrap().len(), 2);
    // Another snapshot of it is of the same moment.
    let again = then.snapshot().await.unwrap();
    assert_eq!(again.raw_collection("books").count(doc! {}).await.unwrap(), 10);
}

async fn a_server_reads_no_capped_collections(db: &Db) {
    db.create_collection("log").capped(1 << 16).await.unwrap();
    db.raw_collection("log").insert(doc! {"_id": 1}).await.unwrap();
    let read = async || {
        let then = db.snapshot().await?;
        then.raw_collection("log").find_all().await
    };
    let found = read().await;
    let expected = match db.backend_name() {
        "mongodb" => Err(Some(246)),
        _ => Ok(1),
    };
    assert_eq!(
        found.map(|found| found.len()).map_err(|error| error.code()),
        expected
    );
    let command = doc! {"find": "log", "readConcern": {"level": "snapshot"}};
    let found = db.run_command(command).await;
    assert_eq!(found.map(|_| 1).map_err(|error| error.code()), expected);
}

async fn other_databases_are_of_the_same_moment(db: &Db) {
    let name = format!("{}_2", db.name());
    let other = db.database(&name).unwrap();
    other
        .raw_collection("items")
        .insert(doc! {"_id": 1})
        .await
        .unwrap();
    let then = db.snapshot().await.unwrap();
    other
        .raw_collection("items")
        .insert(doc! {"_id": 2})
        .await
        .unwrap();
    let old = then.database(&name).unwrap();
    assert_eq!(old.raw_collection("items").count(doc! {}).await.unwrap(), 1);
    other.drop().await.unwrap();
}

async fn a_snapshot_can_be_copied(db: &Db) {
    library(db).await;
    let then = db.snapshot().await.unwrap();
    db.collection::<Book>()
        .delete_many(|b| b.year.gte(1925))
        .await
        .unwrap();
    let target = Db::open("memory:").await.unwrap();
    let report = then.copy_to(&target).await.unwrap();
    assert_eq!(report.is_snapshot, db.backend_name() != "mongodb");
    assert_eq!(target.collection::<Book>().find_all().await.unwrap().len(), 10);
}

async fn a_snapshot_reads_where_its_database_does(db: &Db) {
    library(db).await;
    let near = db
        .with_read_preference(ReadPreference::SecondaryPreferred)
        .unwrap();
    let then = near.snapshot().await.unwrap();
    db.collection::<Book>()
        .delete_many(|b| b.year.gte(1925))
        .await
        .unwrap();
    assert_eq!(then.collection::<Book>().find_all().await.unwrap().len(), 10);
    let session = db.causal_session().await.unwrap();
    session
        .raw_collection("books")
        .insert(doc! {"_id": 1})
        .await
        .unwrap();
    let then = session.snapshot().await.unwrap();
    assert_eq!(then.raw_collection("books").count(doc! {}).await.unwrap(), 6);
}
