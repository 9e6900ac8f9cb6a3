//! Documents of older shapes: read, written back, migrated.

use std::sync::{Arc, Mutex};

use bson::{Bson, Document, doc};
use futures_util::future::BoxFuture;
use odm::backend::{Backend, Capabilities, Operation, Response, Transaction, TransactionOptions};
use odm::{Collection, Db, Error, ErrorKind, Model, Result};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    old_documents_are_read_in_the_present_shape,
    every_write_writes_the_version,
    a_tracked_document_is_migrated_when_it_is_saved,
    a_newer_version_is_an_error_of_its_own,
    a_newer_version_is_not_replaced,
    a_batch_tells_of_nothing_that_it_has_replaced,
    a_newer_version_is_not_changed_by_what_gives_it,
    what_was_read_can_be_written_back,
    a_batch_migrates_all_and_can_be_run_again,
    versions_of_other_types_are_read_or_told,
    a_migration_that_was_cut_goes_on,
    a_document_that_changed_is_not_overwritten,
    a_migration_that_changes_the_id_is_refused,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "people", schema_version = 3, migrate(split_name, count_visits))]
#[odm(index(keys(last)))]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
    first: String,
    last: String,
    visits: i64,
}

/// From 1 to 2: `name` becomes `first` and `last`.
fn split_name(document: &mut Document) -> Result<()> {
    let name = document
        .remove("name")
        .and_then(|name| name.as_str().map(str::to_owned));
    let name =
        name.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "a person has a name").with_path("name"))?;
    let (first, last) = name.split_once(' ').unwrap_or((&name, ""));
    document.insert("first", first);
    document.insert("last", last);
    Ok(())
}

/// From 2 to 3: the list of visits becomes their number.
fn count_visits(document: &mut Document) -> Result<()> {
    let visits = document.get_array("visits").map_or(0, Vec::len);
    document.insert("visits", i64::try_from(visits).unwrap_or(i64::MAX));
    Ok(())
}

fn ann(id: i32, visits: i64) -> Person {
    Person {
        id,
        first: "Ann".to_owned(),
        last: "Lee".to_owned(),
        visits,
    }
}

async fn old_documents(db: &Db) {
    let documents = [
        doc! {"_id": 1, "name": "Ann Lee", "visits": [1, 2]},
        doc! {"_id": 2, "first": "Ann", "last": "Lee", "visits": [1], "schema_version": 2},
        doc! {"_id": 3, "first": "Ann", "last": "Lee", "visits": 0_i64, "schema_version": 3_i64},
    ];
    db.raw_collection("people").insert_many(documents).await.unwrap();
}

async fn versions(db: &Db) -> Vec<Bson> {
    let stored = db
        .raw_collection("people")
        .find(doc! {})
        .sort_raw(doc! {"_id": 1})
        .await
        .unwrap();
    stored
        .iter()
        .map(|person| person.get("schema_version").cloned().unwrap_or(Bson::Null))
        .collect()
}

async fn old_documents_are_read_in_the_present_shape(db: &Db) {
    old_documents(db).await;
    let people = db.collection::<Person>();
    let all = people.find_all().sort(|p| p.id.asc()).await.unwrap();
    assert_eq!(all, [ann(1, 2), ann(2, 1), ann(3, 0)]);
    assert_eq!(people.get(1).await.unwrap(), Some(ann(1, 2)));
    let mut stream = people.find(|p| p.id.eq(2)).stream();
    assert_eq!(stream.try_next().await.unwrap(), Some(ann(2, 1)));
    assert_eq!(
        versions(db).await,
        [Bson::Null, 2.into(), 3_i64.into()],
        "reading writes nothing"
    );
}

async fn every_write_writes_the_version(db: &Db) {
    let people = db.collection::<Person>();
    people.insert(ann(1, 0)).await.unwrap();
    people.insert_many([ann(2, 0)]).await.unwrap();
    people.save(ann(3, 0)).await.unwrap();
    let new = |p: PersonFields| p.first.set("Ann") & p.last.set("Lee") & p.visits.set(0_i64);
    people.upsert(|p| p.id.eq(4), new).await.unwrap();
    people.bulk_write().insert(ann(5, 0)).await.unwrap();
    people
        .find_one_and_update(|p| p.id.eq(6), new)
        .upsert()
        .await
        .unwrap();
    people
        .find_one_and_replace(|p| p.id.eq(7), ann(7, 0))
        .upsert()
        .await
        .unwrap();
    people.replace(ann(1, 5)).await.unwrap();
    assert_eq!(versions(db).await, vec![Bson::Int32(3); 7]);
    let raw = doc! {"$set": {"schema_version": 1}};
    let error = people
        .update_one(|p| p.id.eq(1), |_| odm::Update::raw(raw))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("schema_version"))
    );
}

async fn a_tracked_document_is_migrated_when_it_is_saved(db: &Db) {
    old_documents(db).await;
    let people = db.collection::<Person>();
    let mut one = people.get(1).tracked().required().await.unwrap();
    one.last = "Ray".to_owned();
    assert!(one.save(&people).await.unwrap());
    let expected = Person {
        last: "Ray".to_owned(),
        ..ann(1, 2)
    };
    assert_eq!(people.get(1).await.unwrap(), Some(expected));
    assert_eq!(versions(db).await[0], Bson::Int32(3));
    let mut two = people.get(2).tracked().required().await.unwrap();
    people
        .raw()
        .update_one(doc! {"_id": 2}, doc! {"$push": {"visits": 5}})
        .await
        .unwrap();
    two.last = "Ray".to_owned();
    let error = two.save(&people).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.current::<Person>().unwrap(), Some(ann(2, 2)));
}

async fn a_newer_version_is_an_error_of_its_own(db: &Db) {
    let people = db.collection::<Person>();
    let raw = people.raw();
    raw.insert(doc! {"_id": 1, "schema_version": 4}).await.unwrap();
    let error = people.get(1).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::NewerVersion, Some("schema_version"))
    );
    assert_eq!(
        (error.id(), error.model()),
        (Some(&Bson::Int32(1)), Some("Person"))
    );
    assert!(error.to_string().contains("version 4"), "{error}");
    for wrong in [Bson::from("3"), 0.into(), 1.5.into()] {
        raw.update_one(doc! {"_id": 1}, doc! {"$set": {"schema_version": wrong}})
            .await
            .unwrap();
        let error = people.get(1).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Decode, Some("schema_version"))
        );
    }
}

async fn what_was_read_can_be_written_back(db: &Db) {
    old_documents(db).await;
    let people = db.collection::<Person>();
    let (logged, log) = db.logged();
    let read = logged
        .collection::<Person>()
        .find(|p| p.id.lte(2))
        .sort(|p| p.id.asc())
        .write_back();
    assert_eq!(read.await.unwrap(), [ann(1, 2), ann(2, 1)]);
    assert_eq!(log.counts(), [("find", 1), ("bulkWrite", 1)]);
    assert_eq!(versions(db).await, [3.into(), 3.into(), Bson::Int64(3)]);
    log.take();
    let again = logged
        .collection::<Person>()
        .find_all()
        .write_back()
        .await
        .unwrap();
    assert_eq!(
        (again.len(), log.round_trips()),
        (3, 1),
        "nothing is left to write"
    );
    assert_eq!(people.get(1).await.unwrap(), Some(ann(1, 2)));
}

async fn a_batch_migrates_all_and_can_be_run_again(db: &Db) {
    let raw = db.raw_collection("people");
    let old = |id: i32| doc! {"_id": id, "name": "Ann Lee", "visits": [1]};
    raw.insert_many((0..25).map(old)).await.unwrap();
    raw.insert_many([doc! {"_id": 30, "name": 5}, doc! {"_id": 31, "schema_version": 9}])
        .await
        .unwrap();
    let people = db.collection::<Person>();
    let dry = people.migrate().dry_run().await.unwrap();
    assert_eq!((dry.examined, dry.migrated, dry.failed.len()), (26, 25, 1));
    assert_eq!(versions(db).await[0], Bson::Null);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let done = people
        .migrate()
        .batch_size(10)
        .on_progress(move |so_far| told.lock().unwrap().push(so_far.migrated))
        .await
        .unwrap();
    assert_eq!((done.examined, done.migrated, done.raced), (26, 25, 0));
    let (id, error) = &done.failed[0];
    assert_eq!((id, error.kind()), (&Bson::Int32(30), ErrorKind::Decode));
    assert!(error.to_string().contains("version 1 to 2"), "{error}");
    assert_eq!(seen.lock().unwrap().last(), Some(&25));
    assert!(seen.lock().unwrap().len() >= 3);
    assert_eq!(
        raw.count(doc! {"schema_version": 3, "last": "Lee"})
            .await
            .unwrap(),
        25
    );
    let again = people.migrate().await.unwrap();
    assert_eq!((again.migrated, again.failed.len()), (0, 1));
    assert_eq!(
        raw.count(doc! {"schema_version": 9}).await.unwrap(),
        1,
        "a newer document is left alone"
    );
}

async fn versions_of_other_types_are_read_or_told(db: &Db) {
    let raw = db.raw_collection("people");
    let old =
        |id: i32, version: Bson| doc! {"_id": id, "schema_version": version, "name": "Ann Lee", "visits": []};
    let wrong = [
        Bson::from("1"),
        1.5.into(),
        doc! {}.into(),
        true.into(),
        Bson::Array(vec![]),
    ];
    let all = [Bson::Double(1.0), Bson::Int64(1)].into_iter().chain(wrong);
    let all: Vec<_> = (1..).zip(all).map(|(id, version)| old(id, version)).collect();
    raw.insert_many(all).await.unwrap();
    raw.insert(doc! {"_id": 20, "schema_version": 3.0, "first": "Ann", "last": "Lee", "visits": 4_i64})
        .await
        .unwrap();
    let people = db.collection::<Person>();
    assert_eq!(people.get(1).await.unwrap(), Some(ann(1, 0)));
    assert_eq!(people.get(20).await.unwrap(), Some(ann(20, 4)));
    let done = people.migrate().await.unwrap();
    assert_eq!((done.migrated, done.failed.len()), (2, 5));
    for (_, error) in &done.failed {
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Decode, Some("schema_version"))
        );
    }
}

async fn a_migration_that_was_cut_goes_on(db: &Db) {
    let raw = db.raw_collection("people");
    let old = |id: i32| doc! {"_id": id, "name": "Ann Lee", "visits": []};
    raw.insert_many((0..30).map(old)).await.unwrap();
    let (faulty, faults) = db.faulty();
    faults.add(odm::backend::wrap::Fault::nth("bulkWrite", 2).before(Error::new(ErrorKind::Network, "lost")));
    let people = faulty.collection::<Person>();
    assert!(people.migrate().batch_size(10).await.is_err());
    assert_eq!(raw.count(doc! {"schema_version": 3}).await.unwrap(), 10);
    let rest = people.migrate().batch_size(10).await.unwrap();
    assert_eq!((rest.migrated, rest.failed.len()), (20, 0));
    assert_eq!(raw.count(doc! {"schema_version": 3}).await.unwrap(), 30);
}

async fn a_document_that_changed_is_not_overwritten(db: &Db) {
    let raw = db.raw_collection("people");
    raw.insert(doc! {"_id": 1, "name": "Ann Lee", "visits": [1]})
        .await
        .unwrap();
    let racing = Racing {
        inner: Arc::clone(db.backend()),
        race: Mutex::new(Some(raw.clone())),
    };
    let racing = Db::from_backend(Arc::new(racing), db.name());
    let done = racing.collection::<Person>().migrate().await.unwrap();
    assert_eq!((done.migrated, done.raced), (1, 1));
    assert_eq!(db.collection::<Person>().get(1).await.unwrap(), Some(ann(1, 2)));
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "moved", schema_version = 2, migrate(other_id))]
struct Moved {
    #[serde(rename = "_id")]
    id: i32,
}

fn other_id(document: &mut Document) -> Result<()> {
    if document.get_i32("_id").is_ok_and(|id| id > 1) {
        document.insert("_id", 100);
    }
    Ok(())
}

async fn a_migration_that_changes_the_id_is_refused(db: &Db) {
    let raw = db.raw_collection("moved");
    raw.insert_many((1..4).map(|id| doc! {"_id": id})).await.unwrap();
    let moved = db.collection::<Moved>();
    let done = moved.migrate().await.unwrap();
    assert_eq!((done.migrated, done.failed.len()), (1, 2));
    for (index, (id, error)) in done.failed.iter().enumerate() {
        assert_eq!(id, &Bson::from(index as i32 + 2));
        assert_eq!((error.kind(), error.id()), (ErrorKind::InvalidArgument, Some(id)));
        assert_eq!((error.path(), error.model()), (Some("_id"), Some("Moved")));
    }
    let error = moved.get(2).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.id()),
        (ErrorKind::InvalidArgument, Some(&2.into()))
    );
    assert_eq!(raw.count(doc! {"_id": 100}).await.unwrap(), 0);
}

/// A backend on which somebody else changes the document before the first write.
#[derive(Debug)]
struct Racing {
    inner: Arc<dyn Backend>,
    race: Mutex<Option<Collection<Document>>>,
}

impl Backend for Racing {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        let race = match &operation {
            Operation::BulkWrite(_) => self.race.lock().unwrap().take(),
            _ => None,
        };
        Box::pin(async move {
            if let Some(people) = race {
                people
                    .update_one(doc! {"_id": 1}, doc! {"$push": {"visits": 2}})
                    .await?;
            }
            self.inner.execute(operation).await
        })
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        self.inner.begin(options)
    }
}

/// The same people, of a later release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(
    collection = "people",
    schema_version = 4,
    migrate(to_second, to_third, to_fourth)
)]
struct Later {
    #[serde(rename = "_id")]
    id: i32,
    first: String,
    last: String,
    visits: i64,
    title: Option<String>,
}

fn as_it_is(_: &mut Document) -> Result<()> {
    Ok(())
}

fn to_second(_: &mut Document) -> Result<()> {
    Ok(())
}

fn to_third(_: &mut Document) -> Result<()> {
    Ok(())
}

fn to_fourth(_: &mut Document) -> Result<()> {
    Ok(())
}

fn later(id: i32) -> Later {
    let Person { first, last, .. } = ann(id, 0);
    Later {
        id,
        first,
        last,
        visits: 7,
        title: Some("Dr".to_owned()),
    }
}

/// With the optimistic version beside that of the schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pages", schema_version = 2, migrate(as_it_is))]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    #[odm(version)]
    version: i64,
}

fn is_newer(error: &Error, id: i32, model: &str) {
    assert_eq!(error.kind(), ErrorKind::NewerVersion, "{error}");
    assert_eq!(
        (error.id(), error.model(), error.path()),
        (Some(&Bson::Int32(id)), Some(model), Some("schema_version"))
    );
}

async fn a_newer_version_is_not_replaced(db: &Db) {
    let (people, laters) = (db.collection::<Person>(), db.collection::<Later>());
    for id in 1..=2 {
        laters.insert(later(id)).await.unwrap();
    }
    is_newer(&people.save(ann(1, 1)).await.unwrap_err(), 1, "Person");
    is_newer(&people.replace(ann(1, 1)).await.unwrap_err(), 1, "Person");
    let replaced = people.replace_one(|p| p.last.eq("Lee") & p.id.eq(2), ann(2, 1));
    is_newer(&replaced.await.unwrap_err(), 2, "Person");
    let upserted = people.replace_one(|p| p.first.eq("Ann"), ann(9, 1)).upsert();
    assert_eq!(upserted.await.unwrap_err().kind(), ErrorKind::NewerVersion);
    let found = people.find_one_and_replace(|p| p.id.eq(1), ann(1, 1));
    is_newer(&found.await.unwrap_err(), 1, "Person");
    let found = people.find_one_and_replace(|p| p.id.eq(1), ann(1, 1)).untyped();
    is_newer(&found.await.unwrap_err(), 1, "Person");
    // In a transaction, and in batches beside others.
    let tx = db.begin().await.unwrap();
    let saved = tx.collection::<Person>().save(ann(1, 1)).await;
    is_newer(&saved.unwrap_err(), 1, "Person");
    tx.abort().await;
    let batch = people
        .bulk_write()
        .unordered()
        .replace_one(|p| p.id.eq(1), ann(1, 1))
        .save(ann(2, 1))
        .save(ann(3, 1))
        .insert(ann(4, 1));
    let error = batch.await.unwrap_err();
    let mut errors: Vec<&odm::WriteError> = error.write_errors().iter().collect();
    errors.sort_by_key(|one| one.index);
    assert_eq!(errors.len(), 2, "{error}");
    for (place, one) in errors.into_iter().enumerate() {
        assert_eq!(one.index, place);
        assert_eq!(one.error.kind(), ErrorKind::NewerVersion);
        assert_eq!(one.error.id(), Some(&Bson::Int32(place as i32 + 1)));
    }
    assert_eq!(people.count(|p| p.id.gte(3)).await.unwrap(), 2);
    for id in 1..=2 {
        assert_eq!(laters.get(id).required().await.unwrap(), later(id));
    }
    assert_eq!(laters.count(|_| odm::Filter::all()).await.unwrap(), 4);
    // What is not newer is replaced as ever, and what is not there is inserted, or is none.
    assert_eq!(people.save(ann(3, 2)).await.unwrap().matched, 1);
    assert_eq!(people.save(ann(5, 2)).await.unwrap().upserted_id, Some(5));
    assert_eq!(people.replace(ann(6, 2)).await.unwrap().matched, 0);
    // A page that another release has loaded, changed and migrated.
    let pages = db.collection::<Page>();
    let mut page = Page {
        id: 1,
        text: "a".to_owned(),
        version: 0,
    };
    pages.insert(&page).await.unwrap();
    let mut tracked = pages.get(1).tracked().required().await.unwrap();
    let stored = doc! {"$set": {"schema_version": 3, "version": 1_i64, "text": "new"}};
    pages.raw().update_one(doc! {"_id": 1}, stored).await.unwrap();
    is_newer(&pages.save(&page).await.unwrap_err(), 1, "Page");
    page.version = 1;
    is_newer(&pages.save(&page).await.unwrap_err(), 1, "Page");
    is_newer(&pages.replace(&page).await.unwrap_err(), 1, "Page");
    let both = pages.bulk_write().unordered().save(&page);
    let both = both.replace_one(|p| p.id.eq(1), &page);
    let error = both.await.unwrap_err();
    let kinds: Vec<ErrorKind> = error.write_errors().iter().map(|one| one.error.kind()).collect();
    assert_eq!(kinds, [ErrorKind::NewerVersion; 2]);
    tracked.text = "mine".to_owned();
    is_newer(&tracked.save(&pages).await.unwrap_err(), 1, "Page");
    let stored = pages.raw().find_one(doc! {"_id": 1}).await.unwrap().unwrap();
    assert_eq!(stored.get_str("text").unwrap(), "new");
}

async fn a_batch_tells_of_nothing_that_it_has_replaced(db: &Db) {
    let (people, laters) = (db.collection::<Person>(), db.collection::<Later>());
    people.insert(ann(1, 1)).await.unwrap();
    // Of the same name, and of a later release.
    laters.insert(later(2)).await.unwrap();
    let name = || laters.get(2).required();
    let newer = name().await.unwrap();
    assert_eq!(newer.last, ann(1, 1).last);
    for visits in [7, 8] {
        let replace = async |people: &Collection<Person>| {
            let batch = people
                .bulk_write()
                .update_many(|p| p.id.gt(100), |p| p.visits.inc(1))
                .replace_one(|p| p.last.eq(&newer.last), ann(1, visits));
            batch.await
        };
        let done = match visits {
            7 => replace(&people).await,
            _ => {
                let tx = db.begin().await.unwrap();
                let done = replace(&tx.collection::<Person>()).await;
                tx.commit().await.unwrap();
                done
            }
        };
        assert_eq!(done.unwrap().matched, 1);
        assert_eq!(people.get(1).required().await.unwrap(), ann(1, visits));
        assert_eq!(name().await.unwrap(), newer);
    }
}

async fn a_newer_version_is_not_changed_by_what_gives_it(db: &Db) {
    let (people, laters) = (db.collection::<Person>(), db.collection::<Later>());
    laters.insert(later(1)).await.unwrap();
    let changed = people.find_one_and_update(|p| p.id.eq(1), |p| p.visits.inc(1));
    is_newer(&changed.await.unwrap_err(), 1, "Person");
    let changed = people.find_one_and_update(|p| p.last.eq("Lee"), |p| p.visits.inc(1));
    is_newer(&changed.return_new().await.unwrap_err(), 1, "Person");
    let upserted = people.find_one_and_update(
        |p| p.last.eq("Lee"),
        |p| p.visits.inc(1) & p.id.set_on_insert(8) & p.first.set_on_insert("Ann"),
    );
    is_newer(&upserted.upsert().return_new().await.unwrap_err(), 1, "Person");
    is_newer(
        &people.find_one_and_delete(|p| p.id.eq(1)).await.unwrap_err(),
        1,
        "Person",
    );
    assert_eq!(laters.find_all().await.unwrap(), [later(1)]);
    // A tracked document that was migrated since.
    people.insert(ann(2, 1)).await.unwrap();
    let mut tracked = people.get(2).tracked().required().await.unwrap();
    let newer = doc! {"$set": {"schema_version": 4}};
    people.raw().update_one(doc! {"_id": 2}, newer).await.unwrap();
    tracked.visits += 1;
    is_newer(&tracked.save(&people).await.unwrap_err(), 2, "Person");
    assert_eq!(laters.get(2).required().await.unwrap().visits, 1);
    // What need not be read may be newer.
    let untyped = people.find_one_and_update(|p| p.id.eq(1), |p| p.visits.inc(1));
    assert!(untyped.untyped().await.unwrap().is_some());
    assert_eq!(laters.get(1).required().await.unwrap().visits, 8);
    // One that matches beside it is taken, and none is none.
    people.insert(ann(3, 1)).await.unwrap();
    let taken = people.find_one_and_delete(|p| p.last.eq("Lee")).await.unwrap();
    assert_eq!(taken, Some(ann(3, 1)));
    assert_eq!(people.find_one_and_delete(|p| p.id.eq(3)).await.unwrap(), None);
}
