//! The models of a program against a database: options, indexes, fingerprints, drift.

use bson::doc;
use odm::{CollectionDeclaration, Db, ErrorKind, Id, IndexDeclaration, Model, Models, Ref};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_database_becomes_what_is_declared,
    drift_is_found_and_readable,
    a_shard_key_is_held_to,
    a_collation_is_the_collections,
    missing_indexes_are_built_before_unknown_ones_are_dropped,
    models_are_shown_as_a_table_and_a_diagram,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "books", options = book_options)]
struct Book {
    #[serde(rename = "_id")]
    id: Id<Book>,
    #[odm(unique)]
    title: String,
    #[odm(validate(min = 1))]
    pages: i32,
    by: Ref<Author>,
}

#[derive(Serialize, Deserialize, Model)]
struct Author {
    #[serde(rename = "_id")]
    id: Id<Author>,
    name: String,
}

fn book_options() -> CollectionDeclaration {
    CollectionDeclaration::new().capped(1 << 20).validated()
}

/// The same model, some time later.
mod later {
    use super::*;

    #[derive(Serialize, Deserialize, Model)]
    #[odm(collection = "books", schema_version = 1)]
    pub(super) struct Book {
        #[serde(rename = "_id")]
        id: Id<Book>,
        #[odm(index)]
        title: String,
        pages: i64,
        year: Option<i32>,
    }
}

fn models() -> Models {
    Models::new().with::<Book>().with::<Author>()
}

async fn a_database_becomes_what_is_declared(db: &Db) {
    db.sync_models(&models()).await.unwrap();
    db.sync_models(&models()).await.unwrap();
    let books = db.collection::<Book>();
    let book = |title: &str, pages| Book {
        id: Id::new(),
        title: title.to_owned(),
        pages,
        by: Ref::new(Id::new()),
    };
    books.insert(book("Emma", 1)).await.unwrap();
    let again = books.insert(book("Emma", 1)).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::DuplicateKey);
    let listed = db.list_collections().await.unwrap();
    let listed = listed
        .iter()
        .find(|collection| collection.name == "books")
        .unwrap();
    assert_eq!(listed.options.get_bool("capped").ok(), Some(true), "{listed:?}");
    let raw = doc! {"_id": 1, "title": "Sense", "pages": 0};
    assert_eq!(
        books.raw().insert(raw).await.unwrap_err().kind(),
        ErrorKind::Validation
    );
    assert!(db.check_models(&models()).await.unwrap().is_empty());
}

async fn drift_is_found_and_readable(db: &Db) {
    let unknown = db.check_models(&models()).await.unwrap();
    assert_eq!(unknown.len(), 2);
    assert_eq!(unknown[0].to_string(), "Book: not known to the database");
    db.store_models(&models()).await.unwrap();
    assert!(db.check_models(&models()).await.unwrap().is_empty());
    let drift = db
        .check_models(&Models::new().with::<later::Book>())
        .await
        .unwrap();
    let expected = [
        r#"fields.pages: was "i32", is "i64""#,
        r#"fields.by: was "Ref<Author>", is not declared now"#,
        r#"fields.year: is new, "Option<i32>""#,
        "indexes.title_1.unique: was true, is not declared now",
        "rules.properties: was",
        "options: was",
        "version: is new, 1",
    ];
    assert_eq!(drift[0].differences.len(), expected.len(), "{}", drift[0]);
    for (line, start) in drift[0].differences.iter().zip(expected) {
        assert!(line.starts_with(start), "{line} does not start with {start}");
    }
    assert!(drift[0].stored.is_some() && drift[0].to_string().starts_with("Book, as stored at "));
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "orders", options = by_customer)]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    customer: String,
    total: i32,
}

fn by_customer() -> CollectionDeclaration {
    CollectionDeclaration::new()
        .shard_key::<Order>(|o| IndexDeclaration::new().asc(&o.customer).hashed(&o.id))
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "wrong", options = by_name)]
struct Wrong {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[odm(unique)]
    email: String,
}

fn by_name() -> CollectionDeclaration {
    CollectionDeclaration::new().shard_key::<Wrong>(|w| IndexDeclaration::new().asc(&w.name))
}

async fn a_shard_key_is_held_to(db: &Db) {
    let command = db.shard_command::<Order>().unwrap().unwrap();
    let expected = doc! {
        "shardCollection": format!("{}.orders", db.name()),
        "key": {"customer": 1, "_id": "hashed"},
        "unique": false,
    };
    assert_eq!(command, expected);
    assert_eq!(db.shard_command::<Book>().unwrap(), None);
    let orders = db.collection::<Order>();
    let error = orders
        .upsert(|o| o.id.eq(1), |o| o.total.set(1))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("customer"))
    );
    let key = |o: OrderFields| o.customer.eq("ann") & o.id.eq(1);
    orders.upsert(key, |o| o.total.set(1)).await.unwrap();
    assert_eq!(orders.find(key).await.unwrap()[0].total, 1);
    orders
        .update_one(|o| o.id.eq(1), |o| o.total.inc(1))
        .await
        .unwrap();
    for error in [
        db.shard_command::<Wrong>().unwrap_err(),
        db.sync_models(&Models::new().with::<Wrong>()).await.unwrap_err(),
    ] {
        assert_eq!(
            (error.kind(), error.index()),
            (ErrorKind::Schema, Some("email_1"))
        );
    }
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "names", options = ignoring_case)]
struct Name {
    #[serde(rename = "_id")]
    id: String,
}

fn ignoring_case() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(doc! {"locale": "en", "strength": 2})
}

async fn a_collation_is_the_collections(db: &Db) {
    let names = db.collection::<Name>();
    names.create_declared().await.unwrap();
    names.insert(Name { id: "Emma".into() }).await.unwrap();
    assert_eq!(names.count(|n| n.id.eq("EMMA")).await.unwrap(), 1);
    let error = names.insert(Name { id: "EMMA".into() }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
}

async fn missing_indexes_are_built_before_unknown_ones_are_dropped(db: &Db) {
    let books = db.collection::<Book>();
    let raw = books.raw();
    let spec = doc! {"createIndexes": "books", "indexes": [{"key": {"year": 1}, "name": "old"}]};
    db.run_command(spec).await.unwrap();
    let (logged, log) = db.logged();
    let plan = books.sync_indexes().drop_unknown(true).plan().await.unwrap();
    assert_eq!((plan.missing.len(), plan.unknown.len()), (1, 1));
    let synced = logged
        .collection::<Book>()
        .sync_indexes()
        .drop_unknown(true)
        .await
        .unwrap();
    assert_eq!(synced.dropped, ["old"]);
    assert_eq!(synced.created, ["title_1"]);
    let asked: Vec<_> = log.entries().iter().map(|entry| entry.operation).collect();
    assert_eq!(asked, ["listIndexes", "createIndexes", "dropIndexes"]);
    assert_eq!(raw.list_indexes().await.unwrap().len(), 2);
}

async fn models_are_shown_as_a_table_and_a_diagram(db: &Db) {
    db.store_models(&models()).await.unwrap();
    let expected = "\
model             field  type         refers to  indexes
Book (books)
                  _id    Id<Book>
                  title  String                  title_1 unique
                  pages  i32
                  by     Ref<Author>  Author
Author (authors)
                  _id    Id<Author>
                  name   String
";
    assert_eq!(models().table(), expected);
    let expected = "\
erDiagram
    Book {
        Id-Book _id PK
        String title
        i32 pages
        Ref-Author by FK
    }
    Author {
        Id-Author _id PK
        String name
    }
    Book }o--o| Author : \"by\"
";
    assert_eq!(models().mermaid(), expected);
}
