//! Models of an existing database: the source is what it was, compiles, and holds every document.
//!
//! `ODM_INFERRED=overwrite` writes the sources anew.

use std::path::Path;

use bson::{Bson, Document};
use odm::{Db, Model, Models};
use odm_tests::inferred;
use odm_tests::raw::RawCollection;

crate::on_every_backend! {
    the_source_is_golden,
    every_document_reads_and_is_written_back,
    kinds_and_texts_read_and_are_written_back,
    models_are_what_the_database_is,
}

/// The models of the golden source.
mod plain {
    #![allow(dead_code)]
    include!("inferred_models/plain.rs");
}

/// The models of the golden source with what is only shown when asked.
mod shown {
    #![allow(dead_code)]
    include!("inferred_models/shown.rs");
}

/// Calls this for each of these models.
macro_rules! each {
    ($call:ident $given:tt $module:ident: $($model:ident),*) => {
        $(each!(@ $call $given $module::$model);)*
    };
    (@ $call:ident ($($given:expr),*) $model:path) => {
        $call::<$model>($($given),*).await
    };
}

/// The source is the file of this name.
#[track_caller]
fn check_source(source: &str, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/suite/inferred_models")
        .join(name);
    if std::env::var("ODM_INFERRED").is_ok_and(|wish| wish == "overwrite") {
        std::fs::write(&path, source).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert!(source == golden, "{name} is otherwise:\n{source}");
}

async fn the_source_is_golden(db: &Db) {
    inferred::fill(db).await;
    let models = db.infer_models().all_documents().await.unwrap();
    check_source(&models.to_rust(), "plain.rs");
    let models = db
        .infer_models()
        .all_documents()
        .show_values(true)
        .exact_numbers(true)
        .await
        .unwrap();
    check_source(&models.to_rust(), "shown.rs");
}

/// Reads all documents into the model and writes them into another collection, where they are as they were.
async fn check_model<M: Model>(db: &Db, exact: bool) {
    let name = M::DESCRIPTOR.collection;
    let stored = by_id(db, name).await;
    let read = db
        .collection::<M>()
        .find_all()
        .await
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(read.len(), stored.len(), "{name}");
    let copy = db.collection_named::<M>("copy");
    copy.drop().await.unwrap();
    if !read.is_empty() {
        copy.insert_many(read)
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let written = by_id(db, "copy").await;
    for (stored, written) in stored.iter().zip(&written) {
        assert!(
            is_same_document(stored, written, exact),
            "{name}: {stored}\nis written as {written}"
        );
        // Within `_id` the order of fields counts.
        let id = |document: &Document| document.get("_id").map(ToString::to_string);
        assert_eq!(id(stored), id(written), "{name}");
    }
    copy.drop().await.unwrap();
    let drift = db.collection::<M>().index_drift().await.unwrap();
    assert!(drift.is_empty(), "{name}: {drift}");
}

async fn by_id(db: &Db, name: &str) -> Vec<Document> {
    let all = RawCollection::new(db, name).everything().await.unwrap();
    let mut all: Vec<Document> = all
        .iter()
        .map(|raw| Document::try_from(raw.as_ref()).unwrap())
        .collect();
    all.sort_by_key(|document| {
        (
            document.get("_id").map(ToString::to_string),
            document.get("at").map(ToString::to_string),
        )
    });
    all
}

/// The same fields with the same values; numbers of equal value are the same unless their types count.
fn is_same_document(one: &Document, other: &Document, exact: bool) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .all(|(name, value)| other.get(name).is_some_and(|other| is_same(value, other, exact)))
}

fn is_same(one: &Bson, other: &Bson, exact: bool) -> bool {
    let number = |value: &Bson| match value {
        Bson::Int32(number) => Some(f64::from(*number)),
        Bson::Int64(number) => Some(*number as f64),
        Bson::Double(number) => Some(*number),
        _ => None,
    };
    match (one, other) {
        (Bson::Document(one), Bson::Document(other)) => is_same_document(one, other, exact),
        (Bson::Array(one), Bson::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other, exact))
        }
        (Bson::Double(one), Bson::Double(other)) => one == other || (one.is_nan() && other.is_nan()),
        _ => match (number(one), number(other)) {
            (Some(number), Some(others)) if !exact => number == others,
            _ => one == other,
        },
    }
}

async fn every_document_reads_and_is_written_back(db: &Db) {
    inferred::fill(db).await;
    each!(check_model(db, false) plain: Animal, Author, Book, Climate, Comment, CompoundId, Customer, Event, Folded, Form, Log,
        LooseId, Odd, Order, Planned, Session, Spot, Talk, Visit, WeirdName);
}

async fn kinds_and_texts_read_and_are_written_back(db: &Db) {
    inferred::fill(db).await;
    each!(check_model(db, true) shown: Animal, Author, Book, Climate, Comment, CompoundId, Customer, Event, Folded, Form, Log,
        LooseId, Odd, Order, Planned, Session, Spot, Talk, Visit, WeirdName);
    let cats = db.collection::<shown::CatAnimal>().find_all().await.unwrap();
    assert_eq!((cats.len(), cats[0].lives), (1, 9));
}

async fn models_are_what_the_database_is(db: &Db) {
    inferred::fill(db).await;
    let models = Models::new()
        .with::<plain::Book>()
        .with::<plain::Climate>()
        .with::<plain::Folded>()
        .with::<plain::Log>();
    let models = models
        .with::<plain::Planned>()
        .with::<plain::Customer>()
        .with::<plain::WeirdName>()
        .with::<plain::Odd>();
    let synced = db.sync_models(&models).await.unwrap();
    assert!(
        synced.created.is_empty() && synced.modified.is_empty(),
        "{synced:?}"
    );
    assert!(
        synced.is_complete()
            && synced
                .indexes
                .iter()
                .all(|model| model.indexes.created.is_empty()),
        "{synced:?}"
    );
    let drift = db.check_models(&models).await.unwrap();
    assert!(drift.is_empty(), "{drift:?}");
}
