//! What is written only if it is still what was read tells strings apart that the collection's collation does not.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use bson::{Bson, Document, doc};
use futures_util::future::BoxFuture;
use odm::backend::{
    Backend, BulkWrite, Capabilities, Operation, Response, Transaction, TransactionOptions, UpdateStatement,
    WriteStatement,
};
use odm::{CollectionDeclaration, Db, ErrorKind, Model, Result};
use odm_patterns::archive::Archive;
use serde::{Deserialize, Serialize};

use crate::attributes_model::{ListedProduct, ScopedProduct, catalog, shoes};

crate::on_every_backend! {
    a_migration_does_not_overwrite_what_differs_in_case,
    a_migration_does_not_overwrite_what_differs_in_order,
    an_unchanged_document_is_found_by_its_id,
    a_tracked_document_that_differs_in_case_is_a_conflict,
    a_merged_set_does_not_overwrite_what_differs_in_case,
    an_archive_keeps_what_differs_in_case,
    a_conversion_of_attributes_reads_again_what_differs_in_case,
    a_batch_compares_by_the_collation_it_says,
}

fn caseless() -> Document {
    doc! { "locale": "en", "strength": 2 }
}

fn collated() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(caseless())
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "people", schema_version = 2, migrate(same), options = collated)]
struct Person {
    #[serde(rename = "_id")]
    id: Key,
    name: String,
    #[serde(default)]
    tags: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "people", options = collated)]
struct Reader {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(save = add_to_set)]
    tags: BTreeSet<String>,
}

/// An `_id` of any type.
type Key = Bson;

fn same(_: &mut Document) -> Result<()> {
    Ok(())
}

/// An `_id` that any index finds, and two that only one of the same collation does.
fn keys() -> [Bson; 3] {
    [1.into(), "ann".into(), doc! { "a": "x", "b": 1 }.into()]
}

/// The database, where somebody else makes this update before the first write of it; and that write.
fn racing(db: &Db, collection: &str, update: Document) -> (Db, Arc<Racing>) {
    let racing = Arc::new(Racing {
        inner: Arc::clone(db.backend()),
        race: Mutex::new(Some((db.raw_collection(collection), update))),
        skipped: Mutex::default(),
        written: Mutex::default(),
    });
    (Db::from_backend(Arc::clone(&racing) as _, db.name()), racing)
}

async fn a_migration_does_not_overwrite_what_differs_in_case(db: &Db) {
    let people = db.collection::<Person>();
    people.create_declared().await.unwrap();
    for id in keys() {
        people.raw().delete_many(doc! {}).await.unwrap();
        people
            .raw()
            .insert(doc! { "_id": &id, "name": "ann" })
            .await
            .unwrap();
        let (racing, _) = racing(db, "people", doc! { "$set": { "name": "ANN" } });
        let done = racing.collection::<Person>().migrate().await.unwrap();
        assert_eq!((done.migrated, done.raced), (1, 1), "{id}");
        let stored = people.raw().find_one(doc! {}).await.unwrap().unwrap();
        assert_eq!(stored.get_str("name").unwrap(), "ANN", "{id}");
    }
}

async fn a_migration_does_not_overwrite_what_differs_in_order(db: &Db) {
    let people = db.collection::<Person>();
    people.create_declared().await.unwrap();
    for id in keys() {
        people.raw().delete_many(doc! {}).await.unwrap();
        let stored = doc! { "_id": &id, "name": "ann", "place": { "a": 1, "b": 2 } };
        people.raw().insert(stored).await.unwrap();
        let other = doc! { "$set": { "place": { "b": 2, "a": 1 } } };
        let (racing, _) = racing(db, "people", other);
        let done = racing.collection::<Person>().migrate().await.unwrap();
        assert_eq!((done.migrated, done.raced), (1, 1), "{id}");
        let stored = people.raw().find_one(doc! {}).await.unwrap().unwrap();
        let place = stored.get_document("place").unwrap();
        assert_eq!(place, &doc! { "b": 2, "a": 1 }, "{id}");
    }
}

async fn an_unchanged_document_is_found_by_its_id(db: &Db) {
    let people = db.collection::<Person>();
    for is_collated in [true, false] {
        people.raw().drop().await.unwrap();
        if is_collated {
            people.create_declared().await.unwrap();
        }
        for id in keys() {
            people
                .raw()
                .insert(doc! { "_id": id, "name": "ann" })
                .await
                .unwrap();
        }
        let (racing, race) = racing(db, "people", doc! { "$set": { "other": 1 } });
        racing.collection::<Person>().migrate().await.unwrap();
        let written = race.written.lock().unwrap().clone();
        assert_eq!(written.len(), 3);
        for update in written {
            let raw = people.raw();
            let mut found = raw.find(Document::try_from(update.filter).unwrap());
            if let Some(collation) = update.collation {
                found = found.collation(Document::try_from(collation).unwrap());
            }
            let plan = format!("{:?}", found.explain().await.unwrap());
            assert!(plan.contains("IXSCAN") && !plan.contains("COLLSCAN"), "{plan}");
        }
    }
}

async fn a_tracked_document_that_differs_in_case_is_a_conflict(db: &Db) {
    let people = db.collection::<Person>();
    people.create_declared().await.unwrap();
    for id in keys() {
        people.raw().delete_many(doc! {}).await.unwrap();
        people
            .raw()
            .insert(doc! { "_id": &id, "name": "ann" })
            .await
            .unwrap();
        let mut person = people.get(&id).tracked().required().await.unwrap();
        let shout = doc! { "$set": { "name": "ANN" } };
        people.raw().update_one(doc! {}, shout).await.unwrap();
        person.tags.insert("new".to_owned());
        let error = person.save(&people).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.model()),
            (ErrorKind::Conflict, Some("Person"))
        );
        let stored = people.raw().find_one(doc! {}).await.unwrap().unwrap();
        assert_eq!(stored.get_str("name").unwrap(), "ANN");
    }
}

async fn a_merged_set_does_not_overwrite_what_differs_in_case(db: &Db) {
    let readers = db.collection::<Reader>();
    readers.create_declared().await.unwrap();
    let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<BTreeSet<_>>();
    let reader = Reader {
        id: 1,
        tags: tags(&["go", "rust"]),
    };
    readers.insert(reader).await.unwrap();
    let mut reader = readers.get(1).tracked().required().await.unwrap();
    let shout = doc! { "$set": { "tags": ["GO", "rust"] } };
    readers.raw().update_one(doc! {}, shout).await.unwrap();
    reader.tags = tags(&["go", "c"]);
    assert!(reader.save(&readers).await.unwrap());
    let stored = readers.get(1).await.unwrap().unwrap();
    assert_eq!(stored.tags, tags(&["GO", "c"]));
}

async fn an_archive_keeps_what_differs_in_case(db: &Db) {
    let people = db.collection::<Person>();
    people.create_declared().await.unwrap();
    let archive = Archive::<Person>::new(db, db);
    archive.archived().create_declared().await.unwrap();
    for id in keys() {
        people.raw().delete_many(doc! {}).await.unwrap();
        archive.archived().raw().delete_many(doc! {}).await.unwrap();
        people
            .raw()
            .insert(doc! { "_id": &id, "name": "ann" })
            .await
            .unwrap();
        // Behind the mark and the copy comes somebody else, and then the deletion.
        for writes in [0, 2] {
            let (racing, race) = racing(db, "people", doc! { "$set": { "name": "ANN" } });
            race.skip(writes);
            let moving = Archive::<Person>::new(&racing, &racing);
            let moved = moving.store(|_| odm::Filter::all()).await.unwrap();
            assert_eq!((moved.moved, moved.kept), (0, 1), "{id} {writes}");
            let stored = people.raw().find_one(doc! {}).await.unwrap().unwrap();
            assert_eq!(stored.get_str("name").unwrap(), "ANN", "{id}");
            let back = doc! { "$set": { "name": "ann" } };
            people.raw().update_one(doc! {}, back).await.unwrap();
        }
        let moved = archive.store(|_| odm::Filter::all()).await.unwrap();
        assert_eq!((moved.moved, moved.kept), (1, 0), "{id}");
    }
}

async fn a_conversion_of_attributes_reads_again_what_differs_in_case(db: &Db) {
    let create = db.create_collection("products").collation(caseless());
    create.await.unwrap();
    let old = catalog::<ScopedProduct>(db);
    let product = shoes::<ScopedProduct>(1).remove(0);
    old.insert(product).await.unwrap();
    let shout = doc! { "$set": { "attributes.color": "WHITE" } };
    let white = doc! { "$set": { "attributes.color": "white" } };
    old.collection().raw().update_one(doc! {}, white).await.unwrap();
    let (racing, _) = racing(db, "products", shout);
    let new = catalog::<ListedProduct>(db).in_both_forms();
    new.on(&racing).convert().await.unwrap();
    let stored = old.collection().raw().find_one(doc! {}).await.unwrap().unwrap();
    assert!(stored.to_string().contains("WHITE"), "{stored}");
}

async fn a_batch_compares_by_the_collation_it_says(db: &Db) {
    let names = db.raw_collection("names");
    names.insert(doc! { "_id": 1, "name": "ann" }).await.unwrap();
    let batch = || {
        let shout = doc! { "$set": { "seen": true } };
        names.bulk_write().update_one(doc! { "name": "ANN" }, shout)
    };
    assert_eq!(batch().await.unwrap().matched, 0);
    assert_eq!(batch().collation(caseless()).await.unwrap().matched, 1);
    let batch = names.bulk_write().delete_one(doc! { "name": "ANN" });
    assert_eq!(batch.collation(caseless()).await.unwrap().deleted, 1);
}

/// A backend on which somebody else changes the only document before a write.
#[derive(Debug)]
struct Racing {
    inner: Arc<dyn Backend>,
    race: Mutex<Option<Race>>,
    /// How many writes come before.
    skipped: Mutex<u32>,
    /// The updates of the first batch.
    written: Mutex<Vec<UpdateStatement>>,
}

type Race = (odm::Collection<Document>, Document);

impl Racing {
    /// Not before the first write but before one behind so many.
    fn skip(&self, writes: u32) {
        *self.skipped.lock().unwrap() = writes;
    }

    fn due(&self, operation: &Operation) -> Option<Race> {
        let mut skipped = self.skipped.lock().unwrap();
        match (operation.is_write(), *skipped) {
            (false, _) => None,
            (true, 0) => self.race.lock().unwrap().take(),
            (true, _) => {
                *skipped -= 1;
                None
            }
        }
    }
}

impl Backend for Racing {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        let race = self.due(&operation);
        if let (Some(_), Operation::BulkWrite(BulkWrite { statements, .. })) = (&race, &operation) {
            let updates = statements.iter().filter_map(|statement| match statement {
                WriteStatement::Update(update) => Some(update.clone()),
                _ => None,
            });
            *self.written.lock().unwrap() = updates.collect();
        }
        Box::pin(async move {
            if let Some((collection, update)) = race {
                collection.update_one(doc! {}, update).await?;
            }
            self.inner.execute(operation).await
        })
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        self.inner.begin(options)
    }
}
