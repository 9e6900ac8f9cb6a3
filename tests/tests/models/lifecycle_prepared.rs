//! Prepared writes: what a batch would send.

use bson::{Document, RawDocumentBuf, doc};
use odm::action::BulkWrite;
use odm::backend::{Modification, WriteStatement};
use odm::{Collection, Db, ErrorKind, Model, RawUpdate, Result};
use serde::{Deserialize, Serialize};

use super::lifecycle_models::{Bin, Page};

crate::on_every_backend! {
    a_prepared_save_brings_nothing_back,
    a_prepared_upsert_inserts_nothing_beside_a_full_document,
    a_prepared_upsert_inserts_nothing_beside_a_newer_document,
    prepared_saves_of_what_is_stored_or_new_are_made,
}

fn decoded(document: &RawDocumentBuf) -> Document {
    Document::try_from(document.clone()).unwrap()
}

/// Prepares the writes, and makes them as somebody else would.
async fn made<M: Model>(collection: &Collection<M>, writes: BulkWrite<M>) -> Result<()> {
    let prepared = writes.prepared().await?;
    let raw = collection.raw();
    for statement in prepared.statements() {
        let WriteStatement::Update(update) = statement else {
            panic!("an update: {statement:?}")
        };
        let filter = update.filter.clone();
        let changes = match &update.modification {
            Modification::Replacement(document) => {
                let replaced = raw.replace_one(filter, decoded(document));
                match update.upsert {
                    true => replaced.upsert().await?,
                    false => replaced.await?,
                };
                continue;
            }
            Modification::Pipeline(stages) => RawUpdate::new(stages.clone()),
            Modification::Operators(operators) => RawUpdate::new(operators.clone()),
        };
        match update.upsert {
            true => raw.upsert(filter, changes).await?,
            false => raw.update_one(filter, changes).await?,
        };
    }
    prepared.written().await
}

async fn a_prepared_save_brings_nothing_back(db: &Db) {
    let pages = db.collection::<Page>();
    let gone = Page {
        version: 3,
        ..Page::new(1, "a")
    };
    let writes = || pages.bulk_write().save(&gone);
    made(&pages, writes()).await.unwrap_err();
    made(&pages, writes().save(Page::new(2, "b"))).await.unwrap_err();
    made(
        &pages,
        pages.bulk_write().upsert_replacement(|p| p.id.eq(1), &gone),
    )
    .await
    .unwrap_err();
    assert_eq!(pages.count(|_| odm::Filter::all()).await.unwrap(), 0);
    // Of a stale document nothing is written either.
    pages.insert(Page::new(1, "theirs")).await.unwrap();
    made(&pages, writes()).await.unwrap_err();
    assert_eq!(pages.get(1).required().await.unwrap().text, "theirs");
}

async fn prepared_saves_of_what_is_stored_or_new_are_made(db: &Db) {
    let pages = db.collection::<Page>();
    let writes = pages.bulk_write().save(Page::new(1, "a")).save(Page::new(2, "b"));
    made(&pages, writes).await.unwrap();
    let mut page = pages.get(1).required().await.unwrap();
    assert_eq!(page.version, 0);
    for version in 1..=2 {
        made(&pages, pages.bulk_write().save(&page)).await.unwrap();
        page = pages.get(1).required().await.unwrap();
        assert_eq!((page.version, page.text.as_str()), (version, "a"));
    }
}

async fn a_prepared_upsert_inserts_nothing_beside_a_full_document(db: &Db) {
    let bins = db.collection::<Bin>();
    bins.insert(Bin::new(1, &[1, 2, 3])).await.unwrap();
    let by_name = bins
        .bulk_write()
        .upsert(|b| b.name.eq("bin 1"), |b| b.items.push(4));
    let error = made(&bins, by_name).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let by_id = bins.bulk_write().upsert(|b| b.id.eq(1), |b| b.items.push(4));
    assert!(made(&bins, by_id).await.unwrap_err().is_duplicate_key());
    assert_eq!(bins.count(|_| odm::Filter::all()).await.unwrap(), 1);
    assert_eq!(bins.get(1).required().await.unwrap().items, [1, 2, 3]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shelves", schema_version = 2, migrate(nothing))]
struct Shelf {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

#[allow(clippy::unnecessary_wraps, reason = "migrations may fail")]
fn nothing(_: &mut Document) -> Result<()> {
    Ok(())
}

async fn a_prepared_upsert_inserts_nothing_beside_a_newer_document(db: &Db) {
    let shelves = db.collection::<Shelf>();
    let newer = doc! {"_id": 1, "name": "a", "schema_version": 3};
    shelves.raw().insert(newer).await.unwrap();
    let shelf = Shelf {
        id: 2,
        name: "a".to_owned(),
    };
    let writes = shelves
        .bulk_write()
        .upsert_replacement(|s| s.name.eq("a"), &shelf);
    let error = made(&shelves, writes).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert_eq!(shelves.raw().count(doc! {}).await.unwrap(), 1);
}
